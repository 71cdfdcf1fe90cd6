//! `ssdtune facts`: the machine as JSON.

use super::{Common, Error, Exit, load, output};
use crate::facts::Scope;
use crate::system;

/// Print all that is known of the machine, as JSON
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It holds serial numbers, and fstab with all its options: keep it private.

Examples:
  ssdtune facts > lab-3.json               here, and elsewhere, in CI say:
  ssdtune plan --facts lab-3.json state.toml")]
pub struct Args {}

pub fn run(_args: &Args, common: &Common) -> Result<Exit, Error> {
    let scope = load::reaching(Scope::everything(), common);
    let facts = system::facts(&common.root(), &scope);
    output::json(&facts)?;
    Ok(Exit::Done)
}
