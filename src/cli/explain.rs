//! `ssdtune explain`: what a setting does.

use super::{Common, Error, Exit, output};

/// Explain a queue attribute, a tunable or a mount option
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ssdtune explain read_ahead_kb
  ssdtune explain mq-deadline.fifo_batch
  ssdtune explain bfq                      a scheduler and its tunables
  ssdtune explain commit                   a mount option
  ssdtune explain --list                   all names")]
pub struct Args {
    /// Its name, as in a state file or in fstab
    key: Option<String>,
    /// List all names
    #[arg(long)]
    list: bool,
}

pub fn run(args: &Args, common: &Common) -> Result<Exit, Error> {
    if common.json {
        return Err(Error::usage("`explain` is for people: it has no JSON"));
    }
    match &args.key {
        Some(key) if !args.list => match crate::render::explain::page(key) {
            Ok(page) => output::page(&page)?,
            Err(answer) => return Err(Error::usage(answer)),
        },
        None if !args.list => {
            return Err(Error::usage(
                "explain what? `ssdtune explain read_ahead_kb`, say; `ssdtune explain --list` lists all names",
            ));
        }
        _ => output::page(&crate::render::explain::list())?,
    }
    Ok(Exit::Done)
}
