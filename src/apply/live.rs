//! The running system: mounts, queues, and those who have to read the files again.

use std::io;

use crate::facts::{Scope, TIMER};
use crate::plan::{DeviceChange, Plan, devices};
use crate::system::{Effect, System};

/// Mounts, in the order of the plan.
pub(super) fn remounts(plan: &Plan) -> Vec<Effect> {
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

/// fstrim.timer started or stopped, or the other way round on the way back.
pub(super) fn run_timer(system: &mut dyn System, plan: &Plan, back: bool) -> io::Result<()> {
    let running = plan.timer.as_ref().and_then(|change| change.running);
    match running {
        Some(run) => system.perform(&Effect::RunUnit {
            unit: TIMER.to_owned(),
            run: run != back,
        }),
        None => Ok(()),
    }
}

/// Leads each queue to `after`, or back to `before`, from where it stands now.
///
/// Going back, as much as can be is put back, and a device that is gone is none of it; the first
/// error is the one returned.
pub(super) fn write_queues(
    system: &mut dyn System,
    scope: &Scope<'_>,
    plan: &Plan,
    back: bool,
) -> io::Result<()> {
    if plan.devices.is_empty() {
        return Ok(());
    }
    let facts = system.facts(scope);
    let mut first = Ok(());
    for change in &plan.devices {
        let device = facts
            .devices
            .get(&change.device.name)
            .filter(|device| change.device.is(device));
        match device {
            Some(device) => {
                let written = write_queue(system, change, &devices::current(device), back);
                if back {
                    first = first.and(written);
                } else {
                    written?;
                }
            }
            None if back => {}
            None => {
                return Err(io::Error::other(format!(
                    "`{}` is gone, or is another device than a moment ago",
                    change.device.name
                )));
            }
        }
    }
    first
}

fn write_queue(
    system: &mut dyn System,
    change: &DeviceChange,
    now: &crate::plan::queue::Queue,
    back: bool,
) -> io::Result<()> {
    let goal = if back { &change.before } else { &change.after };
    let mut first = Ok(());
    for (attribute, value) in goal.writes_from(now) {
        let written = system.perform(&Effect::SetAttribute {
            device: change.device.name.clone(),
            file: attribute.path(),
            value: value.0.clone(),
        });
        if back {
            first = first.and(written);
        } else {
            written?;
        }
    }
    first
}

/// Tells systemd and udevd; their refusal harms nothing, the files are right.
///
/// Masks change before systemd reads fstab again: it must not see a new line without its mask, and
/// a mask that goes is noticed by that reload only.
pub(super) fn reload(system: &mut dyn System, plan: &Plan, forward: bool) -> Vec<String> {
    let (come, go) = match forward {
        true => (&plan.reload.masks, &plan.reload.unmasks),
        false => (&plan.reload.unmasks, &plan.reload.masks),
    };
    let mask = |unit: &String| Effect::MaskUnit { unit: unit.clone() };
    let unmask = |unit: &String| Effect::UnmaskUnit { unit: unit.clone() };
    let mut effects: Vec<Effect> = come.iter().map(mask).collect();
    effects.extend(go.iter().map(unmask));
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
