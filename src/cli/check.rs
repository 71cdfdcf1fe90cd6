//! `ssdtune check`: are the state files sound?

use std::path::PathBuf;

use super::{Common, Error, Exit, load, output};
use crate::render::words::count;

/// Check state files, without looking at the machine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ssdtune check state.toml
  ssdtune check fleet/                     all *.toml of a folder, read together
                                           in name order; in a commit hook, say")]
pub struct Args {
    /// State files or folders, read together, later ones win
    #[arg(required = true)]
    state: Vec<PathBuf>,
}

pub fn run(args: &Args, common: &Common) -> Result<Exit, Error> {
    let state = load::state(&args.state, load::Purpose::Check, common)?;
    let rules = state.mounts.len() + state.tmpfs.len() + state.devices.len() + state.trim.len();
    if common.json {
        output::json(&serde_json::json!({ "sound": true, "rules": rules }))?;
    } else if !common.quiet {
        let nothing = match rules {
            0 => "; an apply would give back all that an earlier one has set",
            _ => "",
        };
        output::page(&format!("{}: sound{nothing}\n", count(rules, "rule")))?;
    }
    Ok(Exit::Done)
}
