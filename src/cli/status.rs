//! `ssdtune status`: is the machine what the state says?

use std::path::PathBuf;

use serde_json::json;

use super::{Common, Error, Exit, load, output};
use crate::render::plan::{Detail, page};
use crate::render::words::visible;
use crate::snapshot::Store;
use crate::snapshot::store::Error as StoreError;

/// Say whether the machine is what the state says
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For monitoring: changes nothing, needs no root.
Exit status: 0 in sync, 3 something differs, 6 only the next boot is awaited.

Examples:
  ssdtune status
  ssdtune status -q; echo $?
  ssdtune status --json state.toml")]
pub struct Args {
    /// State files or folders, later ones win; else /etc/ssdtune
    state: Vec<PathBuf>,
}

pub fn run(args: &Args, common: &Common) -> Result<Exit, Error> {
    let state = load::state(&args.state, load::Purpose::Show, common)?;
    let scope = load::scope(&state, common);
    let facts = load::facts(None, &scope, common)?;
    let plan = crate::plan::plan(&state, &facts, common.only());
    // Whoever is not root cannot look into the snapshots, and need not.
    let interrupted = match Store::open(common.root()).interrupted() {
        Ok(interrupted) => interrupted,
        Err(error @ StoreError::Malformed { .. }) => {
            return Err(super::carry_out::unreadable(&error));
        }
        Err(_) => None,
    };
    let exit = if interrupted.is_some() || !plan.is_empty() || !plan.errors.is_empty() {
        Exit::Pending
    } else if plan.pending.is_empty() {
        Exit::Done
    } else {
        Exit::Waiting
    };
    if common.json {
        output::json(&json!({
            "in_sync": exit == Exit::Done,
            "waiting_for_boot": !plan.pending.is_empty(),
            "interrupted": interrupted.as_ref().map(|snapshot| snapshot.number),
            "plan": crate::render::json::plan(&plan),
        }))?;
        return Ok(exit);
    }
    if let Some(snapshot) = interrupted {
        output::warning(&super::carry_out::was_interrupted(&snapshot));
    }
    if common.quiet {
        super::plan::errors(&plan);
    } else {
        let detail = Detail {
            verbose: common.verbose,
            diff: false,
        };
        // Nobody is about to change anything.
        let last = format!("`{}` makes it so.\n", apply(&args.state, common));
        output::page(&page(&plan, detail, &last))?;
        super::plan::unread(&facts, common);
    }
    Ok(exit)
}

/// The apply of what was asked about.
fn apply(state: &[PathBuf], common: &Common) -> String {
    let mut words = vec!["ssdtune".to_owned(), "apply".to_owned()];
    if let Some(root) = &common.root {
        words.push(format!("--root {}", root.display()));
    }
    words.extend(state.iter().map(|path| path.display().to_string()));
    visible(&words.join(" ")).into_owned()
}
