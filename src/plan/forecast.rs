//! What the kernel makes of a set of writes: the values that it resets by itself.

use super::queue::{Key, Queue};
use super::{SettingChange, When};
use crate::knowledge::Value;
use crate::knowledge::attributes::{Attribute, Place};

/// The queue after the goals are reached.
///
/// What a scheduler switch resets is left to the kernel, and so absent here, as it will be after a
/// reboot. read_ahead_kb, which a limit raises in passing, is kept as it was.
pub(super) fn after(before: &Queue, goals: &[(&'static Attribute, Value)]) -> Queue {
    let mut after = before.clone();
    let next = goals
        .iter()
        .find(|(attribute, _)| attribute.name == "scheduler")
        .and_then(|(_, value)| crate::knowledge::Scheduler::from_name(&value.0));
    if next.is_some() && next != before.scheduler() {
        after.0.retain(|key, _| {
            !key.0.reset_by_scheduler_switch() && !matches!(key.0.place, Place::Iosched(_))
        });
    }
    let changed: Vec<&'static Attribute> = goals
        .iter()
        .filter(|(attribute, value)| before.get(attribute) != Some(value))
        .map(|(attribute, _)| *attribute)
        .collect();
    for attribute in changed {
        for name in attribute
            .resets
            .iter()
            .filter(|name| **name != "read_ahead_kb")
        {
            after
                .0
                .retain(|key, _| key.0.name != *name || key.0 == attribute);
        }
    }
    for (attribute, value) in goals {
        after.set(attribute, value.clone());
    }
    after
}

/// Values that change though nobody asked: shown, so that the plan is the whole truth.
///
/// A tunable that stood at its default and goes with its scheduler is not worth a line.
pub(super) fn side_effects(
    before: &Queue,
    after: &Queue,
    asked: &[&'static Attribute],
) -> Vec<SettingChange> {
    let switched = before.scheduler() != after.scheduler();
    let mut rows = Vec::new();
    for (Key(attribute), now) in &before.0 {
        if asked.contains(attribute) || after.get(attribute).is_some() {
            continue;
        }
        let next = match attribute.place {
            Place::Iosched(_) if switched => {
                if now.0 == attribute.default_number() {
                    continue;
                }
                None
            }
            _ => after
                .scheduler()
                .filter(|_| switched)
                .and_then(|scheduler| attribute.after_switch(scheduler, None)),
        };
        if next.as_ref() == Some(now) {
            continue;
        }
        if next.is_none()
            && !matches!(attribute.place, Place::Iosched(_))
            && attribute.name != "nr_requests"
        {
            // Nobody can tell what wbt_lat_usec or async_depth will be; said only where it is lost.
            continue;
        }
        rows.push(SettingChange {
            key: attribute.key(),
            from: Some(now.0.clone()),
            to: next.map(|value| value.0),
            side_effect: true,
            when: When::Now,
            origin: None,
            remark: None,
        });
    }
    rows
}
