//! The apply protocol: snapshot, stage, live, verify, commit, reload, verify again.
//!
//! Each step consumes the one before it, so that the order cannot be had wrong: what is prepared
//! can go live, what is live can be verified, what is verified can be committed. Until the commit
//! a crash and a reboot lead to the old system; from it on, to the new one. A failure undoes what
//! was done, by the same effects, and reports the error that caused it.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::facts::Facts;
use crate::facts::Scope;
use crate::format::text::Text;
use crate::plan::{FileEdit, Notice, Plan};
use crate::snapshot::{Phase, Snapshot, Store};
use crate::system::{Effect, System};
use crate::verify;

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
    let fresh = replan(&system.facts(scope));
    if let Some(what) = moved(&snapshot.plan, &fresh) {
        return Err(Failure::Stale(format!(
            "{what} changed since the plan was made: look at a new plan first"
        )));
    }
    let job = Job {
        system,
        store,
        scope,
    };
    let prepared = job.prepare(snapshot)?;
    let changed = prepared.go_live()?;
    let verified = changed.verify()?;
    verified.commit()
}

/// The first part of a plan that differs from another.
fn moved(plan: &Plan, fresh: &Plan) -> Option<String> {
    if plan.machine_id != fresh.machine_id || plan.host != fresh.host {
        return Some("the machine".to_owned());
    }
    for edit in &plan.files {
        if !fresh.files.contains(edit) {
            return Some(format!("`{}`", edit.path));
        }
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
    (plan != fresh).then(|| "something that it depends on".to_owned())
}

/// The tools of one run.
struct Job<'a> {
    system: &'a mut dyn System,
    store: &'a Store,
    scope: &'a Scope<'a>,
}

/// Everything is on disk beside its place; nothing is changed.
struct Prepared<'a> {
    job: Job<'a>,
    snapshot: Snapshot,
}

/// The running system is changed.
struct Changed<'a> {
    job: Job<'a>,
    snapshot: Snapshot,
}

/// The running system reads back as planned.
struct Verified<'a> {
    job: Job<'a>,
    snapshot: Snapshot,
}

/// The name of a staged file: beside its place, ours by its number.
pub fn staged(resolved: &Text, number: u32) -> Text {
    beside(resolved, &format!(".ssdtune-{number}"))
}

/// The name of the staged way back: what stands there now, so that no full disk can stop an undo.
pub fn way_back(resolved: &Text, number: u32) -> Text {
    beside(resolved, &format!(".ssdtune-{number}-before"))
}

fn beside(resolved: &Text, ending: &str) -> Text {
    let path = resolved.as_path();
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(ending);
    Text(path.with_file_name(name).into_os_string().into_vec())
}

impl<'a> Job<'a> {
    fn prepare(self, snapshot: Snapshot) -> Result<Prepared<'a>, Failure> {
        if let Err(error) = self.store.create(self.system, &snapshot) {
            let _ = self.store.discard(self.system, &snapshot);
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
            Err(error) => {
                let Prepared { job, snapshot } = prepared;
                let _ = job.system.perform(&Effect::UnlockNodes);
                for edit in &snapshot.plan.files {
                    let _ = clear(job.system, edit, snapshot.number);
                }
                let _ = job.store.discard(job.system, &snapshot);
                Err(Failure::Untouched(error.to_string()))
            }
        }
    }
}

impl<'a> Prepared<'a> {
    fn stage(&mut self) -> io::Result<()> {
        for edit in &self.snapshot.plan.files {
            if let Some(folder) = edit
                .resolved
                .as_path()
                .parent()
                .filter(|_| edit.before.is_none())
            {
                self.job.system.perform(&Effect::MakeDir {
                    path: Text::from(folder.as_os_str().as_bytes()),
                    mode: 0o755,
                })?;
            }
            let number = self.snapshot.number;
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

    fn go_live(self) -> Result<Changed<'a>, Failure> {
        let Prepared { job, mut snapshot } = self;
        if let Err(error) = job.store.mark(job.system, &mut snapshot, Phase::Live) {
            return Err(undo(job, snapshot, error.to_string()));
        }
        let mut result = Ok(());
        for effect in live_effects(&snapshot.plan) {
            result = job.system.perform(&effect);
            if result.is_err() {
                break;
            }
        }
        let result =
            result.and_then(|()| write_queues(&mut *job.system, job.scope, &snapshot.plan, false));
        match result {
            Ok(()) => Ok(Changed { job, snapshot }),
            Err(error) => Err(undo(job, snapshot, error.to_string())),
        }
    }
}

impl<'a> Changed<'a> {
    fn verify(self) -> Result<Verified<'a>, Failure> {
        let facts = self.job.system.facts(self.job.scope);
        let wrong = verify::live(&self.snapshot.plan, &facts);
        if wrong.is_empty() {
            return Ok(Verified {
                job: self.job,
                snapshot: self.snapshot,
            });
        }
        Err(undo(self.job, self.snapshot, wrong.join("; ")))
    }
}

impl Verified<'_> {
    fn commit(self) -> Result<Report, Failure> {
        let Verified { job, mut snapshot } = self;
        if let Err(error) = job.store.mark(job.system, &mut snapshot, Phase::Committing) {
            return Err(undo(job, snapshot, error.to_string()));
        }
        for edit in &snapshot.plan.files {
            if let Err(error) = commit(job.system, edit, snapshot.number) {
                return Err(undo(job, snapshot, error.to_string()));
            }
        }
        let mut warnings = reload(job.system, &snapshot.plan, true);
        let _ = job.system.perform(&Effect::UnlockNodes);
        if let Err(error) = job.system.perform(&Effect::Settle) {
            warnings.push(error.to_string());
        }
        let wrong = verify::live(&snapshot.plan, &job.system.facts(job.scope));
        if !wrong.is_empty() {
            return Err(undo(
                job,
                snapshot,
                format!("after the commit, {}", wrong.join("; ")),
            ));
        }
        if let Err(error) = job.store.mark(job.system, &mut snapshot, Phase::Applied) {
            return Err(undo(job, snapshot, error.to_string()));
        }
        // Until here the displaced files were the way back.
        for edit in &snapshot.plan.files {
            if let Err(error) = clear(job.system, edit, snapshot.number) {
                warnings.push(error.to_string());
            }
        }
        Ok(Report {
            number: snapshot.number,
            warnings,
        })
    }
}

/// Mounts, in the order of the plan.
fn live_effects(plan: &Plan) -> Vec<Effect> {
    let mut effects = Vec::new();
    for change in &plan.mounts {
        let Some(live) = &change.live else { continue };
        if live.before != live.after {
            effects.push(Effect::RemountFlags {
                target: change.target.clone(),
                flags: live.after.clone(),
            });
        }
        if !live.set.is_empty() {
            effects.push(Effect::Reconfigure {
                target: change.target.clone(),
                options: live.set.clone(),
            });
        }
    }
    effects
}

/// Leads each queue to `after`, or back to `before`, from where it stands now.
fn write_queues(
    system: &mut dyn System,
    scope: &Scope<'_>,
    plan: &Plan,
    back: bool,
) -> io::Result<()> {
    let facts = system.facts(scope);
    let mut first = Ok(());
    for change in &plan.devices {
        let goal = if back { &change.before } else { &change.after };
        let Some(device) = facts.devices.get(&change.device.name) else {
            continue;
        };
        let now = crate::plan::devices::current(device);
        for (attribute, value) in goal.writes_from(&now) {
            let result = system.perform(&Effect::SetAttribute {
                device: change.device.name.clone(),
                file: attribute.path(),
                value: value.0.clone(),
            });
            match result {
                // Going back, as much as can be is put back.
                Err(error) if back => first = first.and(Err(error)),
                other => other?,
            }
        }
    }
    first
}

fn commit(system: &mut dyn System, edit: &FileEdit, number: u32) -> io::Result<()> {
    match &edit.after {
        Some(_) => system.perform(&Effect::Commit {
            staged: staged(&edit.resolved, number),
            target: edit.resolved.clone(),
            expected: edit.before.clone(),
        }),
        None => system.perform(&Effect::Remove {
            path: edit.resolved.clone(),
            expected: edit.before.clone(),
        }),
    }
}

/// Removes staged files.
fn clear(system: &mut dyn System, edit: &FileEdit, number: u32) -> io::Result<()> {
    let mut first = Ok(());
    for path in [
        staged(&edit.resolved, number),
        way_back(&edit.resolved, number),
    ] {
        first = first.and(system.perform(&Effect::Remove {
            path,
            expected: None,
        }));
    }
    first
}

/// Tells systemd and udevd; their refusal harms nothing, the files are right.
fn reload(system: &mut dyn System, plan: &Plan, forward: bool) -> Vec<String> {
    let mut effects = Vec::new();
    for unit in &plan.reload.masks {
        let unit = unit.clone();
        effects.push(if forward {
            Effect::MaskUnit { unit }
        } else {
            Effect::UnmaskUnit { unit }
        });
    }
    // A mask is there before systemd reads the new line, and goes after it read the old one.
    if plan.reload.systemd {
        effects.push(Effect::ReloadSystemd);
    }
    if plan.reload.udev {
        effects.push(Effect::ReloadUdev);
    }
    effects
        .iter()
        .filter_map(|effect| system.perform(effect).err())
        .map(|error| error.to_string())
        .collect()
}

/// Puts everything back: files first, so that udev and systemd read the old ones, then the
/// running system in the order of making (the scheduler first: it resets the rest).
fn undo(job: Job<'_>, mut snapshot: Snapshot, cause: String) -> Failure {
    let Job {
        system,
        store,
        scope,
    } = job;
    let mut left = Vec::new();
    let facts = system.facts(scope);
    let committed = snapshot.phase == Phase::Committing;
    for edit in snapshot.plan.files.iter().rev() {
        if committed && let Err(error) = uncommit(system, edit, snapshot.number, &facts) {
            left.push(error.to_string());
            continue;
        }
        if let Err(error) = clear(system, edit, snapshot.number) {
            left.push(error.to_string());
        }
    }
    if committed {
        // Harmless where nothing was reloaded yet.
        reload(system, &snapshot.plan, false);
    }
    if let Err(error) = live_back(system, scope, &snapshot.plan, &facts) {
        left.push(error.to_string());
    }
    let _ = system.perform(&Effect::UnlockNodes);
    let _ = system.perform(&Effect::Settle);
    left.extend(verify::undone(&snapshot.plan, &system.facts(scope)));
    if left.is_empty() {
        let gone = store.discard(system, &snapshot);
        return match gone {
            Ok(()) => Failure::Undone { cause },
            Err(error) => Failure::Incomplete {
                cause,
                left: vec![format!("everything is as before, but {error}")],
            },
        };
    }
    let _ = store.mark(system, &mut snapshot, Phase::Undone);
    Failure::Incomplete { cause, left }
}

/// Takes one file back, where it is the one that was committed.
fn uncommit(
    system: &mut dyn System,
    edit: &FileEdit,
    number: u32,
    facts: &Facts,
) -> io::Result<()> {
    let now = facts.file(&edit.path).and_then(|file| file.image.as_ref());
    if now == edit.before.as_ref() {
        return Ok(());
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

/// The running system as it was.
fn live_back(
    system: &mut dyn System,
    scope: &Scope<'_>,
    plan: &Plan,
    facts: &Facts,
) -> io::Result<()> {
    let mut first = Ok(());
    for change in &plan.mounts {
        let (Some(live), Some(mount)) = (&change.live, facts.mount_at(change.target.as_bytes()))
        else {
            continue;
        };
        if !crate::plan::mounts::same_flags(&mount.flags, &live.before) {
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
    first.and(write_queues(system, scope, plan, true))
}
