//! `ssdtune devices`: what selectors can see.

use super::{Common, Error, Exit, output};
use crate::facts::{Scope, gather};

/// Show the disks as a rule's `match` sees them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ssdtune devices
  ssdtune devices -v                       empty loop and RAM disks too
  ssdtune devices --json | jq .sda.serial")]
pub struct Args {}

pub fn run(_args: &Args, common: &Common) -> Result<Exit, Error> {
    if common.root.is_some() {
        return Err(Error::usage(
            "an offline system has no devices: leave out `--root`",
        ));
    }
    let facts = gather(&common.root(), &Scope::everything());
    if common.json {
        output::json(&facts.devices)?;
    } else {
        output::page(&crate::render::devices::page(&facts, common.verbose))?;
    }
    Ok(Exit::Done)
}
