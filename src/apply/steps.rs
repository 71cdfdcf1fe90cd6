//! The steps in their order, each a type that the one before it becomes.

use std::io;
use std::os::unix::ffi::OsStrExt;

use super::files::{self, clear, commit, staged, way_back};
use super::live::{reload, remounts, run_timer, write_queues};
use super::undo::undo;
use super::{Failure, Job, KEPT, Report, close};
use crate::format::text::Text;
use crate::snapshot::{Phase, Snapshot};
use crate::system::Effect;
use crate::verify;

/// Everything is on disk beside its place; nothing is changed.
pub(super) struct Prepared<'a> {
    job: Job<'a>,
    snapshot: Snapshot,
}

/// The running system is changed.
pub(super) struct Changed<'a> {
    job: Job<'a>,
    snapshot: Snapshot,
}

/// The running system reads back as planned.
pub(super) struct Verified<'a> {
    job: Job<'a>,
    snapshot: Snapshot,
}

impl<'a> Job<'a> {
    /// Makes the snapshot, stages the files, holds the nodes.
    pub(super) fn prepare(self, snapshot: Snapshot) -> Result<Prepared<'a>, Failure> {
        // It leaves nothing behind where it fails, and takes nothing away that was there before.
        if let Err(error) = self.store.create(self.system, &snapshot) {
            return Err(Failure::Untouched(format!(
                "the snapshot could not be made: {error}"
            )));
        }
        let mut prepared = Prepared {
            job: self,
            snapshot,
        };
        match prepared.stage().and_then(|()| prepared.hold()) {
            Ok(()) => Ok(prepared),
            Err(error) => Err(prepared.give_up(&error)),
        }
    }
}

impl<'a> Prepared<'a> {
    fn stage(&mut self) -> io::Result<()> {
        let number = self.snapshot.number;
        for edit in &self.snapshot.plan.files {
            let new = edit.before.is_none();
            if let Some(folder) = edit.resolved.as_path().parent().filter(|_| new) {
                self.job.system.perform(&Effect::MakeDir {
                    path: Text::from(folder.as_os_str().as_bytes()),
                    mode: 0o755,
                })?;
            }
            let names = [
                (staged(&edit.resolved, number), &edit.after),
                (way_back(&edit.resolved, number), &edit.before),
            ];
            for (path, image) in names {
                if let Some(image) = image.clone() {
                    self.job.system.perform(&Effect::Stage { path, image })?;
                }
            }
        }
        Ok(())
    }

    /// udev must not answer a write with the old rule.
    fn hold(&mut self) -> io::Result<()> {
        for change in &self.snapshot.plan.devices {
            self.job.system.perform(&Effect::LockNode {
                device: change.device.name.clone(),
            })?;
        }
        Ok(())
    }

    /// Clears away what was prepared. What cannot be, waits for the next run: the snapshot is kept,
    /// and says so.
    fn give_up(self, error: &io::Error) -> Failure {
        let Prepared { job, snapshot } = self;
        let _ = job.system.perform(&Effect::UnlockNodes);
        let mut cleared = Ok(());
        for edit in &snapshot.plan.files {
            cleared = cleared.and(clear(job.system, edit, snapshot.number));
        }
        let cleared = cleared.and_then(|()| job.store.discard(job.system, &snapshot));
        Failure::Untouched(match cleared {
            Ok(()) => error.to_string(),
            Err(left) => format!("{error}; and {left}: `ssdtune rollback` clears it away"),
        })
    }

    /// Changes the running system: mounts, then queues from the disks upwards.
    pub(super) fn go_live(self) -> Result<Changed<'a>, Failure> {
        let Prepared { job, mut snapshot } = self;
        let mut live = || {
            job.store.mark(job.system, &mut snapshot, Phase::Live)?;
            for effect in remounts(&snapshot.plan) {
                job.system.perform(&effect)?;
            }
            write_queues(job.system, &job.scope, &snapshot.plan, false)?;
            // Last: a timer that was off for a week may trim as soon as it is started.
            run_timer(job.system, &snapshot.plan, false)
        };
        match live() {
            Ok(()) => Ok(Changed { job, snapshot }),
            Err(error) => Err(undo(job, &snapshot, error.to_string(), 0)),
        }
    }
}

impl<'a> Changed<'a> {
    /// Success is what was read back.
    pub(super) fn verify(self) -> Result<Verified<'a>, Failure> {
        let Changed { job, snapshot } = self;
        let wrong = verify::live(&snapshot.plan, &job.system.facts(&job.scope));
        if wrong.is_empty() {
            return Ok(Verified { job, snapshot });
        }
        Err(undo(job, &snapshot, wrong.join("; "), 0))
    }
}

impl Verified<'_> {
    /// Makes it last: the files in their places, everybody told, read back once more.
    pub(super) fn commit(self) -> Result<Report, Failure> {
        let Verified {
            mut job,
            mut snapshot,
        } = self;
        let mut tried = 0;
        let mut committed = || {
            job.store
                .mark(job.system, &mut snapshot, Phase::Committing)?;
            for edit in &snapshot.plan.files {
                tried += 1;
                commit(job.system, edit, snapshot.number)?;
            }
            for edit in snapshot.plan.links() {
                tried += 1;
                files::link(job.system, edit, false)?;
            }
            Ok::<(), io::Error>(())
        };
        if let Err(error) = committed() {
            return Err(undo(job, &snapshot, error.to_string(), tried));
        }
        let mut warnings = reload(job.system, &snapshot.plan, true);
        let _ = job.system.perform(&Effect::UnlockNodes);
        if let Err(error) = job.system.perform(&Effect::Settle) {
            warnings.push(error.to_string());
        }
        let facts = job.system.facts(&job.scope);
        let mut wrong = verify::live(&snapshot.plan, &facts);
        wrong.extend(files::rivals(&snapshot.plan, &facts));
        if !wrong.is_empty() {
            let cause = format!("after the commit, {}", wrong.join("; "));
            return Err(undo(job, &snapshot, cause, tried));
        }
        if let Err(error) = job.store.mark(job.system, &mut snapshot, Phase::Applied) {
            return Err(undo(job, &snapshot, error.to_string(), tried));
        }
        job.warnings.extend(warnings);
        Ok(job.finish(&snapshot))
    }
}

impl Job<'_> {
    /// Takes away what is not needed any more; nothing of it can undo the success.
    fn finish(self, snapshot: &Snapshot) -> Report {
        let Job {
            system,
            store,
            mut warnings,
            ..
        } = self;
        // Until here these were the way back.
        for edit in &snapshot.plan.files {
            if let Err(error) = clear(system, edit, snapshot.number) {
                warnings.push(error.to_string());
            }
        }
        if let Err(error) = close::mark(system, store, snapshot.kind, snapshot.number) {
            warnings.push(error.to_string());
        }
        if let Err(error) = store.prune(system, KEPT) {
            warnings.push(format!("old snapshots could not be removed: {error}"));
        }
        Report {
            number: snapshot.number,
            warnings,
        }
    }
}
