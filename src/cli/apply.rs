//! `ssdtune apply`: make it so.

use std::path::PathBuf;

use super::{Common, Error, Exit, carry_out, load, output, rollback, saved};
use crate::facts::Scope;
use crate::snapshot::{Kind, Snapshot, Store};
use crate::system;

/// Make the machine what the state says, now and at every boot
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shows the plan and asks. Takes a snapshot, changes the running system, reads
everything back, and only then replaces /etc/fstab and the udev rules. If
anything fails, all of it is undone.

Examples:
  sudo ssdtune apply                       the state files of /etc/ssdtune
  sudo ssdtune apply --yes state.toml      in a script
  sudo ssdtune apply --only boot           the files only: for the next boot
  sudo ssdtune apply --plan p.json         what `plan --out p.json` has kept, if
                                           the machine has not moved since")]
pub struct Args {
    /// State files or folders, later ones win; else /etc/ssdtune
    state: Vec<PathBuf>,
    /// Carry out the plan in FILE, that `plan --out` has kept
    #[arg(long, value_name = "FILE", conflicts_with_all = ["state", "only"])]
    plan: Option<PathBuf>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub fn run(args: &Args, common: &Common) -> Result<Exit, Error> {
    carry_out::need_root("apply")?;
    let (saved, state) = match &args.plan {
        Some(path) => {
            let (saved, state) = saved::read(path)?;
            (Some(saved), state)
        }
        None => {
            let state = load::state(&args.state, load::Purpose::CarryOut, common)?;
            (None, state)
        }
    };
    let only = saved.as_ref().map_or(common.only(), |saved| saved.only);
    let store = Store::open(common.root());
    let mut lock = carry_out::lock(common)?;
    if let Some(snapshot) = interrupted(&store)? {
        output::say(&format!(
            "{} {} was interrupted, and is put back first.",
            carry_out::verb(snapshot.kind),
            snapshot.number
        ));
        drop(lock);
        let exit = rollback::interrupted(args.yes, common)?;
        if exit != Exit::Done {
            return Ok(exit);
        }
        lock = carry_out::lock(common)?;
        if let Some(snapshot) = interrupted(&store)? {
            return Err(Error::failed(carry_out::was_interrupted(&snapshot)));
        }
    }
    let scope = load::scope(&state, common);
    let facts = system::facts(&common.root(), &scope);
    let plan = crate::plan::plan(&state, &facts, only);
    match &saved {
        Some(saved) if saved.whole => {
            let everything = load::reaching(Scope::everything(), common);
            let all = system::facts(&common.root(), &everything);
            saved::still_holds(saved, &crate::plan::plan(&state, &all, only), &store)?;
        }
        Some(saved) => saved::still_holds(saved, &plan, &store)?,
        None => {}
    }
    let done = carry_out::run(
        carry_out::Job {
            verb: "apply",
            kind: Kind::Apply,
            plan,
            scope,
            replan: &|facts| crate::plan::plan(&state, facts, only),
            yes: args.yes,
        },
        &store,
        common,
    );
    drop(lock);
    done
}

fn interrupted(store: &Store) -> Result<Option<Snapshot>, Error> {
    store
        .interrupted()
        .map_err(|error| carry_out::unreadable(&error))
}
