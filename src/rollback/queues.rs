//! Queues on the way back.

use std::collections::BTreeMap;

use super::{notice, void};
use crate::facts::{Device, Facts};
use crate::knowledge::attributes::Place;
use crate::plan::layers::Layers;
use crate::plan::queue::Queue;
use crate::plan::{DeviceChange, Identity, Plan, SettingChange, When, devices};
use crate::snapshot::Snapshot;

/// Queues as they were: what the snapshots changed, and what that reset.
pub(super) fn back(undone: &[Snapshot], facts: &Facts, plan: &mut Plan) {
    let mut goals: BTreeMap<String, Queue> = BTreeMap::new();
    for snapshot in undone {
        if void(snapshot, facts) {
            continue;
        }
        let this_boot = snapshot.boot_id == facts.boot_id;
        for change in &snapshot.plan.devices {
            let Some((name, device)) = find(&change.device, facts, this_boot) else {
                plan.warnings.push(notice(
                    "gone",
                    format!("`{}` is not there any more, or is another disk now: its queue is left alone", change.device.name),
                ));
                continue;
            };
            let goal = goals
                .entry(name.to_owned())
                .or_insert_with(|| devices::current(device));
            step_queue(change, goal);
        }
    }
    let layers = Layers::new(facts);
    for (name, goal) in goals {
        let device = &facts.devices[&name];
        let before = devices::current(device);
        let settings = rows(&before, &goal);
        if settings.is_empty() {
            continue;
        }
        plan.devices.push(DeviceChange {
            device: devices::identity(&name, device),
            under: layers.mounts_over(&name),
            on: Vec::new(),
            before,
            after: goal,
            settings,
        });
    }
    plan.devices
        .sort_by_cached_key(|change| layers.depth(&change.device.name));
}

/// Takes one change back, in a queue that may have been changed again since.
fn step_queue(change: &DeviceChange, goal: &mut Queue) {
    let switched = change.before.scheduler() != change.after.scheduler();
    if switched {
        goal.0.retain(|key, _| {
            !key.0.reset_by_scheduler_switch() && !matches!(key.0.place, Place::Iosched(_))
        });
    }
    let touched: Vec<&str> = change.settings.iter().map(|row| row.key.as_str()).collect();
    for (key, value) in &change.before.0 {
        let reset = switched
            && (key.0.reset_by_scheduler_switch() || matches!(key.0.place, Place::Iosched(_)));
        if reset || touched.contains(&key.0.key().as_str()) {
            goal.0.insert(*key, value.clone());
        }
    }
}

/// The device that a snapshot means, under the name that it has now.
fn find<'a>(
    identity: &Identity,
    facts: &'a Facts,
    this_boot: bool,
) -> Option<(&'a str, &'a Device)> {
    let same = |device: &Device| {
        device.serial == identity.serial
            && device.wwn == identity.wwn
            && device.dm_uuid == identity.dm_uuid
            && device.model == identity.model
    };
    let unique = identity.serial.is_some() || identity.wwn.is_some() || identity.dm_uuid.is_some();
    if let Some((name, device)) = facts.devices.get_key_value(&identity.name)
        && same(device)
        // Without a serial number, within a boot the kernel's count tells a disk from the next one
        // under its name; over boots nothing does.
        && (unique || !this_boot || identity.is(device))
    {
        return Some((name, device));
    }
    unique
        .then(|| facts.devices.iter().find(|(_, device)| same(device)))
        .flatten()
        .map(|(name, device)| (name.as_str(), device))
}

fn rows(before: &Queue, after: &Queue) -> Vec<SettingChange> {
    let mut rows = Vec::new();
    for (key, value) in &after.0 {
        let now = before.get(key.0);
        if now == Some(value) {
            continue;
        }
        if now.is_none() && key.0.default_number() == value.0 {
            continue;
        }
        rows.push(SettingChange {
            key: key.0.key(),
            from: now.map(|now| now.0.clone()),
            to: Some(value.0.clone()),
            side_effect: false,
            when: When::Now,
            origin: None,
            remark: None,
        });
    }
    rows
}
