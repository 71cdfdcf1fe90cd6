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
    hz: Option<u32>,
) -> Vec<SettingChange> {
    let switched = before.scheduler() != after.scheduler();
    let mut rows = Vec::new();
    for (Key(attribute), now) in &before.0 {
        if asked.contains(attribute) || after.get(attribute).is_some() {
            continue;
        }
        let tunable = matches!(attribute.place, Place::Iosched(_));
        if tunable && switched && is_default(attribute, now, before, hz) {
            continue;
        }
        let next = if tunable {
            None
        } else {
            after
                .scheduler()
                .filter(|_| switched)
                .and_then(|scheduler| attribute.after_switch(scheduler, None))
        };
        if next.as_ref() == Some(now) {
            continue;
        }
        if next.is_none() && !tunable && attribute.name != "nr_requests" {
            // Nobody can tell what wbt_lat_usec or async_depth will be; said only where it is lost.
            continue;
        }
        let cause = cause(attribute, asked, switched);
        let gone = tunable && switched;
        rows.push(SettingChange {
            key: attribute.key(),
            from: Some(now.0.clone()),
            to: next
                .map(|value| value.0)
                .or_else(|| gone.then(|| "gone".to_owned())),
            side_effect: true,
            when: When::Now,
            origin: None,
            remark: Some(format!("side effect of {cause}")),
        });
    }
    rows
}

/// What brings a side effect about.
fn cause(attribute: &Attribute, asked: &[&'static Attribute], switched: bool) -> String {
    let by_switch =
        attribute.reset_by_scheduler_switch() || matches!(attribute.place, Place::Iosched(_));
    if switched && by_switch {
        return "the switch".to_owned();
    }
    let writer = asked
        .iter()
        .find(|writer| writer.resets.contains(&attribute.name));
    writer.map_or_else(|| "another write".to_owned(), |writer| writer.key())
}

/// True where a tunable is as its scheduler brought it.
///
/// Times are kept in jiffies, so a default of 125 ms reads as 124 where a jiffy is 4 ms; the depth
/// of asynchronous requests starts at a share of nr_requests that differs between kernels.
fn is_default(attribute: &Attribute, now: &Value, before: &Queue, hz: Option<u32>) -> bool {
    if now.0 == attribute.default_number() {
        return true;
    }
    let Some(number) = now.number() else {
        return false;
    };
    if attribute.name == "async_depth" {
        let requests = before
            .0
            .iter()
            .find(|(key, _)| key.0.name == "nr_requests")
            .and_then(|(_, value)| value.number());
        return requests.is_some_and(|all| number == all || number == (all * 3 / 4).max(1));
    }
    let default = match attribute.name {
        // An eighth of a second.
        "timeout_sync" => Some(125),
        _ => Value::from(attribute.default_number()).number(),
    };
    let Some(default) = default else {
        return false;
    };
    let jiffy = i128::from(1000_u32.div_ceil(hz.unwrap_or(100).max(1)));
    attribute.unit == "ms" && (number - default).abs() < jiffy
}
