//! The apply protocol: snapshot, stage, live, verify, commit, reload, verify again.
//!
//! Each step consumes the one before it, so that the order cannot be had wrong: what is prepared
//! can go live, what is live can be verified, what is verified can be committed. Until the commit
//! a crash and a reboot lead to the old system; from it on, to the new one. A failure undoes what
//! was done, by the same effects, and reports the error that caused it.

mod close;
mod files;
mod live;
mod steps;
mod undo;

use crate::facts::{Facts, Scope};
use crate::plan::{Notice, Plan};
use crate::rollback::touched;
use crate::snapshot::{Snapshot, Store, var_is_there};
use crate::system::System;

pub use close::{close, tidy};

/// How many snapshots are kept without being asked; the first is kept beside them.
pub const KEPT: usize = 50;

/// Why an apply did not end in the new state.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The plan holds errors.
    #[error("the plan has errors")]
    Refused(Vec<Notice>),
    /// The machine is not the one that the plan was made for any more.
    #[error("{0}")]
    Stale(String),
    /// It failed before anything was changed.
    #[error("{0}")]
    Untouched(String),
    /// It failed and everything is as before.
    #[error("{cause}")]
    Undone {
        /// The first error.
        cause: String,
        /// What went wrong on the way back, without harm.
        warnings: Vec<String>,
    },
    /// It failed, and not everything could be put back.
    #[error("{cause}")]
    Incomplete {
        /// The first error.
        cause: String,
        /// What stands where.
        left: Vec<String>,
    },
}

/// What an apply did.
#[derive(Debug)]
pub struct Report {
    /// The snapshot that takes it back.
    pub number: u32,
    /// What went wrong without harm.
    pub warnings: Vec<String>,
}

/// Carries out the plan of a snapshot that is not on disk yet.
///
/// The caller holds the lock. `replan` makes the plan anew from fresh facts: the same plan must
/// come out, or the machine has moved since.
///
/// # Errors
/// Each kind of [`Failure`]; the error in it is the first one, which caused it.
pub fn run(
    system: &mut dyn System,
    store: &Store,
    scope: &Scope<'_>,
    snapshot: Snapshot,
    replan: &dyn Fn(&Facts) -> Plan,
) -> Result<Report, Failure> {
    if !snapshot.plan.errors.is_empty() {
        return Err(Failure::Refused(snapshot.plan.errors));
    }
    let facts = system.facts(scope);
    if let Some(what) = moved(&snapshot.plan, &replan(&facts)) {
        return Err(Failure::Stale(format!(
            "{what} changed since the plan was made: look at a new plan first"
        )));
    }
    if !var_is_there(&facts) {
        return Err(Failure::Untouched(
            "fstab has a filesystem for `/var`, or for a folder below it, that is not mounted: \
             mount it first, or the snapshot is out of sight after the next boot"
                .to_owned(),
        ));
    }
    let warnings = files::sweep(system, store, &facts);
    // A setting that the record gives back is not in it any more once that is committed.
    let also = touched(std::slice::from_ref(&snapshot));
    let timer = snapshot.plan.timer.is_some();
    let job = Job {
        system,
        store,
        scope: scope.with(&also).with_timer(timer),
        warnings,
    };
    job.prepare(snapshot)?.go_live()?.verify()?.commit()
}

/// The first part of a plan that differs from the same plan made anew.
pub fn moved(plan: &Plan, fresh: &Plan) -> Option<String> {
    if plan == fresh {
        return None;
    }
    if plan.machine_id != fresh.machine_id || plan.host != fresh.host {
        return Some("the machine".to_owned());
    }
    if plan.boot_id != fresh.boot_id {
        return Some("the machine was started again, and something may have".to_owned());
    }
    for change in &plan.mounts {
        if !fresh.mounts.contains(change) {
            return Some(format!("the mount of `{}`", change.target));
        }
    }
    for change in &plan.devices {
        if !fresh.devices.contains(change) {
            return Some(format!("the queue of `{}`", change.device.name));
        }
    }
    if plan.timer != fresh.timer {
        return Some("fstrim.timer".to_owned());
    }
    // Last: what files shall hold follows from the rest.
    for edit in &plan.files {
        if !fresh.files.contains(edit) {
            return Some(format!("`{}`", edit.path));
        }
    }
    Some("something that it depends on".to_owned())
}

/// The tools of one run.
struct Job<'a> {
    system: &'a mut dyn System,
    store: &'a Store,
    scope: Scope<'a>,
    warnings: Vec<String>,
}
