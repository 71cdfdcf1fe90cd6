//! Putting back: a plan like any other, made from snapshots and facts, carried out by apply.
//!
//! Pure. Snapshots are undone from the latest to the one that was asked for. What somebody else
//! changed since stays; where both changed the same lines, that is a conflict.

mod merge;
mod mounts;
mod queues;
mod timer;

use crate::facts::{Facts, File, Image, Recorded};
use crate::format::text::Text;
use crate::plan::{self, FileEdit, Notice, Plan, Reload, VERSION, When, record, rules};
use crate::snapshot::{Phase, Snapshot};
use crate::system::stand;

pub use crate::snapshot::standing;

/// What to go back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// As before the last apply that still stands.
    Last,
    /// As before snapshot N; later ones are undone too.
    Before(u32),
    /// As before ssdtune's first apply.
    Original,
}

/// The snapshots that a rollback undoes, latest first, and the number it goes back before.
///
/// An apply and the rollback that undid it cancel out.
pub fn choose(snapshots: &[Snapshot], to: &To) -> Result<(u32, Vec<Snapshot>), String> {
    let standing = standing(snapshots);
    let number = match to {
        To::Last => {
            standing
                .last()
                .ok_or("nothing to roll back: no apply stands")?
                .number
        }
        To::Original => {
            snapshots
                .first()
                .ok_or("nothing to roll back: there are no snapshots")?
                .number
        }
        To::Before(number) => *number,
    };
    if !snapshots.iter().any(|snapshot| snapshot.number == number) {
        return Err(format!(
            "there is no snapshot {number}: `ssdtune history` lists those that are there"
        ));
    }
    let in_standing =
        standing.iter().any(|snapshot| snapshot.number == number) || *to == To::Original;
    let undone: Vec<Snapshot> = if in_standing {
        standing
            .into_iter()
            .filter(|snapshot| snapshot.number >= number)
            .rev()
            .cloned()
            .collect()
    } else {
        snapshots
            .iter()
            .filter(|snapshot| snapshot.number >= number && snapshot.phase != Phase::Undone)
            .rev()
            .cloned()
            .collect()
    };
    if undone.is_empty() {
        return Err("nothing to roll back: no apply stands".to_owned());
    }
    Ok((number, undone))
}

/// The plan that undoes snapshots, latest first.
///
/// With `force`, conflicts are decided for the snapshots, and one of another machine is taken.
pub fn plan(undone: &[Snapshot], facts: &Facts, force: bool) -> Plan {
    let mut plan = blank(facts);
    for file in [&facts.rules, &facts.fstab, &facts.record] {
        match file_back(undone, file, force) {
            Ok(Some(edit)) => plan.files.push(edit),
            Ok(None) => {}
            Err(conflict) => plan.errors.push(notice(&file.path.to_string(), conflict)),
        }
    }
    mounts::back(undone, facts, &mut plan);
    queues::back(undone, facts, &mut plan);
    timer::back(undone, facts, &mut plan, force);
    finish(&mut plan, facts, undone, force);
    plan
}

/// The plan that makes fstab what a hand-made copy says.
pub fn plan_copy(copy: &[u8], facts: &Facts) -> Plan {
    let mut plan = blank(facts);
    let Some(image) = &facts.fstab.image else {
        plan.errors.push(notice(
            "fstab",
            format!("`{}` is not there: copy the file by hand", facts.fstab.path),
        ));
        return plan;
    };
    let after = Image {
        bytes: Text(copy.to_vec()),
        ..image.clone()
    };
    mounts::check_copy(copy, facts, &mut plan);
    if after != *image {
        plan.files.push(FileEdit {
            path: facts.fstab.path.clone(),
            resolved: facts.fstab.resolved.clone(),
            before: Some(image.clone()),
            after: Some(after),
        });
    }
    mounts::back(&[], facts, &mut plan);
    finish(&mut plan, facts, &[], false);
    plan
}

fn blank(facts: &Facts) -> Plan {
    Plan {
        version: VERSION,
        host: facts.host.clone(),
        kernel: facts.kernel.clone(),
        machine_id: facts.machine_id.clone(),
        boot_id: facts.boot_id.clone(),
        ..Plan::default()
    }
}

fn finish(plan: &mut Plan, facts: &Facts, undone: &[Snapshot], force: bool) {
    let edits = |path: &[u8]| plan.files.iter().any(|edit| edit.path.as_bytes() == path);
    plan.reload = Reload {
        systemd: edits(facts.fstab.path.as_bytes()) || !plan.links().is_empty(),
        udev: edits(rules::PATH.as_bytes()),
        masks: plan::mounts::masks(facts, &plan.mounts),
        unmasks: plan::mounts::unmasks(facts, &plan.mounts),
    };
    if plan.reload.udev {
        // The rules go back too, so that every boot gives the same.
        let rows = plan
            .devices
            .iter_mut()
            .flat_map(|change| &mut change.settings);
        rows.for_each(|row| row.when = When::NowAndBoot);
    }
    for snapshot in undone {
        if snapshot.machine_id != facts.machine_id {
            let what = format!(
                "snapshot {} was made on another machine (`{}`)",
                snapshot.number, snapshot.plan.host
            );
            if force {
                plan.warnings.push(notice("machine", what));
            } else {
                plan.errors.push(notice(
                    "machine",
                    format!("{what}: its files would not boot this one; `--force` takes them all the same"),
                ));
            }
        }
    }
    crate::plan::obstacles(plan, facts);
}

fn notice(name: &str, text: String) -> Notice {
    Notice {
        name: name.to_owned(),
        text,
        origin: None,
    }
}

/// One file as it was, with what others changed since.
fn file_back(undone: &[Snapshot], file: &File, force: bool) -> Result<Option<FileEdit>, String> {
    let mut image = file.image.clone();
    for snapshot in undone {
        let Some(edit) = snapshot
            .plan
            .files
            .iter()
            .find(|edit| edit.path == file.path)
        else {
            continue;
        };
        image = step_back(edit, image, &file.path, snapshot.number, force)?;
    }
    Ok((image != file.image).then(|| FileEdit {
        path: file.path.clone(),
        resolved: file.resolved.clone(),
        before: file.image.clone(),
        after: image,
    }))
}

fn step_back(
    edit: &FileEdit,
    now: Option<Image>,
    path: &Text,
    number: u32,
    force: bool,
) -> Result<Option<Image>, String> {
    // Not compared bit by bit: a file that was made has the label of its folder since.
    if stand(edit.before.as_ref(), now.as_ref()) {
        return Ok(now);
    }
    if stand(edit.after.as_ref(), now.as_ref()) || path.as_bytes() == record::PATH.as_bytes() {
        return Ok(edit.before.clone());
    }
    match (&edit.before, &edit.after, &now) {
        (Some(before), Some(after), Some(now)) => {
            let merged = merge::three_way(
                after.bytes.as_bytes(),
                before.bytes.as_bytes(),
                now.bytes.as_bytes(),
            );
            match merged {
                // Owner, mode and attributes are those of today: somebody set them.
                Ok(bytes) => Ok(Some(Image {
                    bytes: Text(bytes),
                    ..now.clone()
                })),
                Err(_) if force => Ok(Some(before.clone())),
                Err(lines) => Err(format!(
                    "`{path}` was changed since apply {number} in the same place ({lines} as it was left then): mend it by hand, or say `--force` to lose that change"
                )),
            }
        }
        _ if force => Ok(edit.before.clone()),
        (None, Some(_), Some(_)) => Err(format!(
            "`{path}` was changed since apply {number} made it: say `--force` to remove it all the same"
        )),
        _ => Err(format!(
            "`{path}` was removed or made anew since apply {number}: say `--force` to put back what was there"
        )),
    }
}

/// True where a file that somebody else has changed still holds what an edit brought into it.
pub(crate) fn still_holds(edit: &FileEdit, now: Option<&Image>) -> bool {
    let (Some(before), Some(after), Some(now)) = (&edit.before, &edit.after, now) else {
        // Made anew, or removed, by somebody else.
        return false;
    };
    let [before, after, now] = [before, after, now].map(|image| image.bytes.as_bytes());
    merge::three_way(after, before, now).is_ok_and(|merged| merged != now)
}

/// True where a snapshot's live changes went with the boot in which they were made.
///
/// What was committed comes again at every boot; what was not, is gone.
fn void(snapshot: &Snapshot, facts: &Facts) -> bool {
    snapshot.boot_id != facts.boot_id && matches!(snapshot.phase, Phase::Prepared | Phase::Live)
}

/// The devices and attributes that snapshots changed: what a rollback needs to read.
pub fn touched(undone: &[Snapshot]) -> Vec<Recorded> {
    undone
        .iter()
        .flat_map(|snapshot| &snapshot.plan.devices)
        .map(|change| Recorded {
            name: change.device.name.clone(),
            serial: change.device.serial.clone(),
            wwn: change.device.wwn.clone(),
            dm_uuid: change.device.dm_uuid.clone(),
            id_path: None,
            attributes: change
                .before
                .0
                .keys()
                .chain(change.after.0.keys())
                .map(|key| key.0)
                .collect(),
        })
        .collect()
}
