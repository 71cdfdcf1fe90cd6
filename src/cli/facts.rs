//! `ssdtune facts`: the machine as JSON.

use super::{Common, Error, Exit, output};
use crate::facts::{Scope, gather};

/// Write all that ssdtune can see of the machine as JSON, for `plan --facts` elsewhere
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  ssdtune facts > lab-3.json                then, in a reviewer's CI: ssdtune plan --facts lab-3.json state.toml

Serial numbers and fstab with all its options are in it: keep the file as private as those.")]
pub struct Args {}

pub fn run(_args: &Args, common: &Common) -> Result<Exit, Error> {
    let scope = match common.root {
        Some(_) => Scope::everything().offline(),
        None => Scope::everything(),
    };
    let facts = gather(&common.root(), &scope);
    output::json(&facts)?;
    Ok(Exit::Done)
}
