//! `ssdtune history`: the snapshots.

use super::{Common, Error, Exit, carry_out, output};
use crate::render::diff;
use crate::render::plan::{Detail, page};
use crate::rollback::standing;
use crate::snapshot::store::Error as StoreError;
use crate::snapshot::{Snapshot, Store};
use crate::system::{Live, read_file};

/// List the snapshots; show, compare or prune them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sudo ssdtune history
  sudo ssdtune history show 3              what apply 3 did
  sudo ssdtune history diff 3              files before apply 3, and as they are
  sudo ssdtune history prune --keep 10     and the first, and the last that
                                           stands")]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Show the plan that a snapshot was taken for
    #[command(after_help = "Example:\n  sudo ssdtune history show 3")]
    Show {
        /// Its number
        number: u32,
    },
    /// Compare the files of a snapshot with those of today
    #[command(after_help = "Example:\n  sudo ssdtune history diff 3")]
    Diff {
        /// Its number
        number: u32,
    },
    /// Remove old snapshots, but not the first, and not the last that stands
    #[command(after_help = "Example:\n  sudo ssdtune history prune --keep 10")]
    Prune {
        /// How many to keep, the first not counted
        #[arg(long, value_name = "N", default_value_t = 20)]
        keep: usize,
    },
}

pub fn run(args: &Args, common: &Common) -> Result<Exit, Error> {
    let store = Store::open(common.root());
    match &args.verb {
        None => {
            let mut snapshots = Vec::new();
            for entry in store
                .list()
                .map_err(|error| carry_out::unreadable(&error))?
            {
                match entry.snapshot {
                    Ok(snapshot) => snapshots.push(snapshot),
                    Err(StoreError::Unfinished(_)) => {}
                    // The others are worth seeing all the same.
                    Err(error) => output::warning(&carry_out::unreadable(&error).message),
                }
            }
            if common.json {
                output::json(&snapshots)?;
            } else {
                let standing: Vec<u32> = standing(&snapshots)
                    .iter()
                    .map(|snapshot| snapshot.number)
                    .collect();
                output::page(&crate::render::history::list(&snapshots, &standing))?;
            }
        }
        Some(Verb::Show { number }) => {
            let snapshot = store
                .read(*number)
                .map_err(|error| Error::failed(error.to_string()))?;
            if common.json {
                output::json(&snapshot)?;
            } else {
                output::page(&shown(&snapshot, common))?;
            }
        }
        Some(Verb::Diff { number }) => {
            let snapshot = store
                .read(*number)
                .map_err(|error| Error::failed(error.to_string()))?;
            output::page(&compared(&snapshot, common)?)?;
        }
        Some(Verb::Prune { keep }) => {
            carry_out::need_root("history prune")?;
            let _lock = carry_out::lock(common)?;
            let removed = store
                .prune(&mut Live::new(common.root()), *keep)
                .map_err(|error| Error::failed(error.to_string()))?;
            if !common.quiet {
                output::say(&format!(
                    "Removed {}.",
                    crate::render::words::count(removed.len(), "snapshot")
                ));
            }
        }
    }
    Ok(Exit::Done)
}

fn shown(snapshot: &Snapshot, common: &Common) -> String {
    let detail = Detail {
        verbose: common.verbose,
        diff: true,
    };
    // A snapshot tells what was done.
    crate::render::history::heading(snapshot) + &page(&snapshot.plan, detail, "")
}

fn compared(snapshot: &Snapshot, common: &Common) -> Result<String, Error> {
    let mut page = String::new();
    for edit in &snapshot.plan.files {
        // As apply reads it: following no link, waiting for no pipe.
        let now = match read_file(&common.root(), &edit.resolved) {
            Ok(image) => image.map(|image| image.bytes.0).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::failed(error.to_string())),
        };
        let before = edit
            .before
            .as_ref()
            .map_or(&[][..], |image| image.bytes.as_bytes());
        if before == now {
            continue;
        }
        page.push_str(&format!(
            "--- {} before apply {}\n+++ {} now\n",
            edit.path, snapshot.number, edit.path
        ));
        diff::hunks(&mut page, "", before, &now, 3);
    }
    if page.is_empty() {
        page.push_str("The files are as they were before it.\n");
    }
    Ok(page)
}
