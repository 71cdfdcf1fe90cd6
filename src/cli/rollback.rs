//! `ssdtune rollback`: put it back.

use std::path::{Path, PathBuf};

use super::{Common, Error, Exit, carry_out, load, output};
use crate::apply;
use crate::facts::Scope;
use crate::plan::Plan;
use crate::rollback::{self, To};
use crate::snapshot::{Kind, Store};
use crate::state::DesiredState;
use crate::system::Live;

/// Put the machine back as it was before an apply
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A rollback is a plan like any other: it is shown, asked about and verified, and
can itself be rolled back. Lines of fstab that somebody else changed since stay
as they are; where both changed the same lines, it stops: see --force.

Examples:
  sudo ssdtune rollback                    undo the last apply
  sudo ssdtune rollback 3                  undo apply 3 and all later ones
  sudo ssdtune rollback --original         as before ssdtune's first apply
  sudo ssdtune rollback /etc/fstab.bak     make fstab what this copy says
  sudo ssdtune --root /mnt rollback        rescue a system mounted at /mnt")]
pub struct Args {
    /// A snapshot's number (as before that apply), or a copy of fstab
    #[arg(value_name = "N|FILE", conflicts_with = "original")]
    to: Option<String>,
    /// As before ssdtune's first apply
    #[arg(long)]
    original: bool,
    /// Lose changes that somebody else made in the same place
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// A copy of fstab larger than this is none.
const LARGEST: usize = 16 << 20;

/// Undoes the run that was cut off, as `ssdtune rollback` does.
pub fn interrupted(yes: bool, common: &Common) -> Result<Exit, Error> {
    let last = Args {
        to: None,
        original: false,
        force: false,
        yes,
    };
    // What was asked for is the apply: of this, nothing on stdout.
    let common = Common {
        json: false,
        quiet: common.quiet || common.json,
        only: None,
        ..common.clone()
    };
    run(&last, &common)
}

pub fn run(args: &Args, common: &Common) -> Result<Exit, Error> {
    carry_out::need_root("rollback")?;
    let _lock = carry_out::lock(common)?;
    let store = Store::open(common.root());
    let to = match &args.to {
        _ if args.original => To::Original,
        None => To::Last,
        Some(word) => match word.parse::<u32>() {
            Ok(number) => To::Before(number),
            Err(_) => return copy(Path::new(word), args, &store, common),
        },
    };
    let snapshots = carry_out::snapshots(&store)?;
    let (number, undone) = match rollback::choose(&snapshots, &to) {
        Ok(chosen) => chosen,
        Err(why) => {
            tidy(&store, common);
            return Err(Error::failed(why));
        }
    };
    if !args.force {
        for snapshot in &undone {
            store
                .check(snapshot)
                .map_err(|error| carry_out::unreadable(&error))?;
        }
    }
    let touched = rollback::touched(&undone);
    let keys = |_: &[u8]| touched.clone();
    let state = DesiredState::default();
    let timer = undone.iter().any(|snapshot| snapshot.plan.timer.is_some());
    let scope = load::reaching(Scope::of(&state, &keys).with_timer(timer), common);
    let force = args.force;
    let boot = common.only();
    let replan = |facts: &crate::facts::Facts| only(rollback::plan(&undone, facts, force), boot);
    let plan = replan(&crate::system::facts(&common.root(), &scope));
    carry_out::run(
        carry_out::Job {
            verb: "rollback",
            kind: Kind::Rollback { to: Some(number) },
            plan,
            scope,
            replan: &replan,
            yes: args.yes,
        },
        &store,
        common,
    )
}

/// Clears away what runs have left that were cut off before they changed anything.
fn tidy(store: &Store, common: &Common) {
    let (state, keys) = (DesiredState::default(), |_: &[u8]| Vec::new());
    let scope = load::reaching(Scope::of(&state, &keys), common);
    let facts = crate::system::facts(&common.root(), &scope);
    for warning in apply::tidy(&mut Live::new(common.root()), store, &facts) {
        output::warning(&warning);
    }
}

fn copy(path: &Path, args: &Args, store: &Store, common: &Common) -> Result<Exit, Error> {
    let copy = PathBuf::from(path);
    let unread = |error: std::io::Error| {
        Error::usage(if error.kind() == std::io::ErrorKind::NotFound {
            format!(
                "`{}` is neither a snapshot's number nor a file: `ssdtune history` lists the snapshots",
                copy.display()
            )
        } else {
            let why = load::plain(&error);
            format!("copy of fstab `{}`: {why}", copy.display())
        })
    };
    if !copy.metadata().map_err(unread)?.is_file() {
        return Err(Error::usage(format!(
            "copy of fstab `{}`: it is no regular file",
            copy.display()
        )));
    }
    let bytes = load::bounded(&copy, LARGEST).map_err(unread)?;
    let keys = |_: &[u8]| Vec::new();
    let state = DesiredState::default();
    let scope = load::reaching(Scope::of(&state, &keys), common);
    let boot = common.only();
    let replan = |facts: &crate::facts::Facts| only(rollback::plan_copy(&bytes, facts), boot);
    let plan = replan(&crate::system::facts(&common.root(), &scope));
    carry_out::run(
        carry_out::Job {
            verb: "rollback",
            kind: Kind::Rollback { to: None },
            plan,
            scope,
            replan: &replan,
            yes: args.yes,
        },
        store,
        common,
    )
}

/// The half of a plan that was asked for.
fn only(mut plan: Plan, only: crate::plan::Only) -> Plan {
    plan.timer = plan.timer.and_then(|change| change.only(only));
    if !only.live() {
        plan.devices.clear();
        plan.errors.retain(|error| error.name != crate::plan::SYSFS);
        for change in &mut plan.mounts {
            change.live = None;
        }
        plan.mounts
            .retain(|change| change.line != crate::plan::LineChange::Keep);
    }
    if !only.files() {
        plan.files.clear();
        plan.mounts.retain(|change| change.live.is_some());
        plan.reload = crate::plan::Reload::default();
    }
    plan
}
