//! Queues: which rules take a device, what they come to, and what the kernel makes of it.

mod choose;
mod given_back;
mod goal;
mod taking;

use std::collections::BTreeMap;

use super::context::Context;
use super::notices::Notices;
use super::queue::Queue;
use super::record::{self, Found, Record, Settings};
use super::{DeviceChange, Identity, forecast};
use crate::facts::Device;
use crate::facts::select::Matcher;
use crate::format::text::Text;
use crate::knowledge::attributes::{self, Attribute, Expect};
use crate::knowledge::{Scheduler, Value};
use crate::state::merge::Wanted;
use choose::choose;
use given_back::{back, dropped_goals};
use goal::{Goal, Site, changed, goal, goals_map, limits, placed, satisfied};
pub(super) use taking::Rule;
use taking::{Candidates, taking};

/// Decides over all devices.
pub(super) fn decide<'a>(
    cx: &Context<'a>,
    record: &mut Record,
    notices: &mut Notices,
) -> Vec<DeviceChange> {
    let mut rules: Vec<Rule<'a>> = cx
        .state
        .devices
        .iter()
        .filter(|rule| rule.when.holds(&cx.machine))
        .map(|rule| Rule {
            rule,
            matcher: Matcher::new(&rule.select, cx.facts),
            took: Vec::new(),
            passed: BTreeMap::new(),
            zoned: Vec::new(),
        })
        .collect();
    if rules.is_empty() && cx.record.queues.is_empty() {
        return Vec::new();
    }
    if cx.facts.offline {
        super::guard::devices::offline(cx, &rules, notices);
        return Vec::new();
    }
    let keys = record::device_keys(&cx.facts.devices);
    let candidates = Candidates::new(&rules);
    let mut changes = Vec::new();
    for (name, device) in &cx.facts.devices {
        let taking = taking(&mut rules, &candidates, name, device);
        let untaken = taking.is_empty();
        let key = &keys[name.as_str()];
        let dropped = cx.record.queues.get(key);
        if untaken && dropped.is_none() {
            continue;
        }
        let wanted = Wanted::new(taking);
        let decided = one(cx, name, device, &wanted, dropped, notices);
        if decided.managed.is_empty() {
            record.queues.remove(key);
        } else {
            let known = record.queues.entry(key.clone()).or_default();
            known.note(decided.managed);
        }
        changes.extend(decided.change);
    }
    super::guard::devices::rules(cx, &rules, notices);
    changes.sort_by_cached_key(|change| cx.layers.depth(&change.device.name));
    if cx.only.live() { changes } else { Vec::new() }
}

struct Decided {
    change: Option<DeviceChange>,
    managed: Vec<(String, Found)>,
}

fn one(
    cx: &Context<'_>,
    name: &str,
    device: &Device,
    wanted: &Wanted<'_>,
    dropped: Option<&Settings>,
    notices: &mut Notices,
) -> Decided {
    let before = current(device);
    let mut decided = Decided {
        change: None,
        managed: Vec::new(),
    };
    let active = before.scheduler();
    let chosen = choose(cx, name, device, wanted, notices);
    let restored = chosen
        .is_none()
        .then(|| back(dropped, "scheduler", active.map(Scheduler::name)))
        .flatten();
    let next = chosen
        .or_else(|| restored.as_deref().and_then(Scheduler::from_name))
        .or(active);
    let mut limits = limits(cx, device, next);
    limits.nr_requests = wanted
        .in_effect(next)
        .find(|winner| winner.wanted.attribute.name == "nr_requests")
        .map(|winner| &winner.wanted.value.value.0)
        // A switch sets it to what nobody can tell.
        .or_else(|| device.queue.get("nr_requests").filter(|_| next == active))
        .and_then(|text| text.parse().ok());

    let mut goals: Vec<Goal<'_>> = Vec::new();
    if let (Some(next), Some(attribute)) = (next, attributes::queue("scheduler"))
        && next_is_wanted(chosen, &restored)
    {
        goals.push(Goal {
            attribute,
            wanted: next.name(),
            expect: Expect::Exactly(Value::from(next.name())),
            origin: wanted
                .scheduler
                .as_ref()
                .map(|winner| cx.places(winner.wanted.origin, &winner.overridden)),
        });
    }
    for winner in wanted.in_effect(next) {
        let Some(attribute) = placed(device, winner.wanted, next) else {
            continue;
        };
        let site = Site {
            name,
            device,
            before: &before,
            next,
            limits: &limits,
        };
        if let Some(goal) = goal(cx, &site, attribute, winner, notices) {
            goals.push(goal);
        }
    }
    let asked: Vec<&'static Attribute> = goals.iter().map(|goal| goal.attribute).collect();
    let given_back = dropped_goals(dropped, &before, &asked, next);
    for (attribute, value) in &given_back {
        goals.push(Goal {
            attribute,
            wanted: value.as_str(),
            expect: Expect::Exactly(Value(value.clone())),
            origin: None,
        });
    }

    let after = forecast::after(&before, &goals_map(&goals, &before));
    for goal in goals.iter().filter(|goal| goal.origin.is_some()) {
        let key = goal.attribute.key();
        let found = Found {
            found: before.get(goal.attribute).map(|value| value.0.clone()),
            wrote: after.get(goal.attribute).map(|value| value.0.clone()),
            under: active
                .filter(|_| goal.attribute.reset_by_scheduler_switch())
                .map(|scheduler| scheduler.name().to_owned()),
        };
        decided.managed.push((key, found));
    }
    let mut settings = Vec::new();
    for goal in &goals {
        let now = before.get(goal.attribute);
        if satisfied(&goal.expect, now) && after.get(goal.attribute) == now {
            continue;
        }
        // Where a scheduler comes with the very value that is wanted, nothing changes to speak of.
        if now.is_none() && goal.attribute.default_number() == goal.wanted {
            continue;
        }
        settings.push(changed(cx, goal, now, device.hidden));
    }
    if settings.is_empty() {
        return decided;
    }
    let written: Vec<&'static Attribute> = goals.iter().map(|goal| goal.attribute).collect();
    settings.extend(forecast::side_effects(
        &before,
        &after,
        &written,
        cx.facts.hz,
    ));
    decided.change = Some(DeviceChange {
        device: identity(name, device),
        under: cx.layers.mounts_over(name),
        on: if device.slaves.is_empty() {
            Vec::new()
        } else {
            cx.layers.disks_of(name)
        },
        before,
        after,
        settings,
    });
    decided
}

fn next_is_wanted(chosen: Option<Scheduler>, restored: &Option<String>) -> bool {
    chosen.is_some() || restored.is_some()
}

/// The values of a device that the tables know, as they are now.
pub(crate) fn current(device: &Device) -> Queue {
    let mut queue = Queue::default();
    let (_, active) = device
        .queue
        .get("scheduler")
        .map_or((Vec::new(), None), |text| {
            crate::format::sysfs::schedulers(text)
        });
    let active = active.and_then(Scheduler::from_name);
    for (name, text) in &device.queue {
        let Some(attribute) = attributes::queue(name) else {
            continue;
        };
        if name == "scheduler" {
            if let Some(active) = active {
                queue.set(attribute, Value::from(active.name()));
            }
        } else if matches!(attribute.settable, attributes::Settable::No(_)) {
        } else {
            queue.set(attribute, Value(text.clone()));
        }
    }
    if let Some(active) = active {
        for (name, text) in &device.iosched {
            if let Some(attribute) = attributes::tunable(active, name) {
                queue.set(attribute, Value(text.clone()));
            }
        }
    }
    queue
}

/// Which disk is meant.
pub(crate) fn identity(name: &str, device: &Device) -> Identity {
    Identity {
        name: name.to_owned(),
        number: device.number.clone(),
        diskseq: device.diskseq,
        serial: device.serial.clone(),
        wwn: device.wwn.clone(),
        model: device.model.clone(),
        dm_name: device.dm_name.clone().map(|name| Text(name.0)),
        dm_uuid: device.dm_uuid.clone(),
    }
}
