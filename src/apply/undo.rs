//! The way back from a failure, by the same effects.

use std::io;

use super::files::{clear, image, link, way_back};
use super::live::{reload, run_timer, write_queues};
use super::{Failure, Job};
use crate::facts::{Facts, Image, Scope};
use crate::plan::{FileEdit, Plan, mounts};
use crate::rollback::still_holds;
use crate::snapshot::Snapshot;
use crate::system::{Effect, System, stand};
use crate::verify;

/// Puts everything back: files first, so that udev and systemd read the old ones, then the
/// running system in the order of making (the scheduler first: it resets the rest).
///
/// `tried` says how many of the files, and then of the links, were put in their places; the last of
/// them may not have got there. Where all is back, the snapshot goes too. Otherwise it stays as it
/// is, interrupted, and a rollback goes on from there.
pub(super) fn undo(job: Job<'_>, snapshot: &Snapshot, cause: String, tried: usize) -> Failure {
    let Job {
        system,
        store,
        scope,
        warnings: mut said,
    } = job;
    let scope = &scope;
    let plan = &snapshot.plan;
    let mut left = Vec::new();
    let facts = system.facts(scope);
    let links = &facts.trim_timer.links;
    let tried_links = tried.saturating_sub(plan.files.len());
    for edit in plan.links().iter().take(tried_links).rev() {
        // One that did not get there needs nothing; one that somebody else leads elsewhere is his.
        if links.get(&edit.path) == edit.after.as_ref()
            && let Err(error) = link(system, edit, true)
        {
            left.push(error.to_string());
        }
    }
    for (at, edit) in plan.files.iter().enumerate().rev() {
        if at < tried {
            let sure = at + 1 < tried;
            if let Err(error) = uncommit(system, edit, snapshot.number, image(&facts, edit), sure) {
                left.push(error.to_string());
                continue;
            }
        }
        if let Err(error) = clear(system, edit, snapshot.number) {
            left.push(error.to_string());
        }
    }
    if tried > 0 {
        // Harmless where nothing was told yet.
        said.extend(reload(system, plan, false));
    }
    if let Err(error) = live_back(system, scope, plan, &facts) {
        left.push(error.to_string());
    }
    let _ = system.perform(&Effect::UnlockNodes);
    let _ = system.perform(&Effect::Settle);
    let wrong = verify::undone(plan, &system.facts(scope));
    if wrong.is_empty() && left.is_empty() {
        return match store.discard(system, snapshot) {
            Ok(()) => Failure::Undone {
                cause,
                warnings: said,
            },
            Err(error) => Failure::Incomplete {
                cause,
                left: vec![format!("everything is as before, but {error}")],
            },
        };
    }
    left.extend(wrong);
    left.extend(said);
    Failure::Incomplete { cause, left }
}

/// Takes one file back, where what was committed stands in it.
fn uncommit(
    system: &mut dyn System,
    edit: &FileEdit,
    number: u32,
    now: Option<&Image>,
    sure: bool,
) -> io::Result<()> {
    if stand(edit.before.as_ref(), now) {
        return Ok(());
    }
    if !stand(edit.after.as_ref(), now) {
        // A rival was faster, and nothing of ours came into the file. Or he built on what was ours.
        if !sure && !still_holds(edit, now) {
            return Ok(());
        }
        return Err(io::Error::other(format!(
            "`{}` was changed by somebody else after it was written, and is left as he has it; snapshot {number} has what was there before",
            edit.path
        )));
    }
    match &edit.before {
        Some(_) => system.perform(&Effect::Commit {
            staged: way_back(&edit.resolved, number),
            target: edit.resolved.clone(),
            expected: edit.after.clone(),
        }),
        None => system.perform(&Effect::Remove {
            path: edit.resolved.clone(),
            expected: edit.after.clone(),
        }),
    }
}

/// The running system as it was; a filesystem that is not mounted any more is none of it.
fn live_back(
    system: &mut dyn System,
    scope: &Scope<'_>,
    plan: &Plan,
    facts: &Facts,
) -> io::Result<()> {
    let mut first = Ok(());
    for change in &plan.mounts {
        let Some(live) = &change.live else { continue };
        let Some(mount) = live.still(facts.mount_at(change.target.as_bytes())) else {
            continue;
        };
        if !mounts::same_flags(&mount.flags, &live.before) {
            first = first.and(system.perform(&Effect::RemountFlags {
                target: change.target.clone(),
                flags: live.before.clone(),
            }));
        }
        if mount.options != live.options_before && !live.undo.is_empty() {
            first = first.and(system.perform(&Effect::Reconfigure {
                target: change.target.clone(),
                options: live.undo.clone(),
            }));
        }
    }
    first = first.and(write_queues(system, scope, plan, true));
    let running = plan.timer.as_ref().and_then(|change| change.running);
    if running.is_some() && facts.trim_timer.running == running {
        first = first.and(run_timer(system, plan, true));
    }
    first
}
