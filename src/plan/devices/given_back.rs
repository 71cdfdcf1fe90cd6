//! Settings that nobody asks for any more: what they go back to.

use crate::knowledge::Scheduler;
use crate::knowledge::attributes::{self, Attribute, Place};
use crate::plan::queue::Queue;
use crate::plan::record::{Found, Settings};

/// The value first found, where what ssdtune wrote still stands.
pub(super) fn back(dropped: Option<&Settings>, key: &str, now: Option<&str>) -> Option<String> {
    let found = dropped?.get(key)?;
    (found.wrote.as_deref() == now)
        .then(|| found.found.clone())
        .flatten()
}

/// Settings of the record that nobody asks for any more, and the values they go back to.
pub(super) fn dropped_goals(
    dropped: Option<&Settings>,
    before: &Queue,
    asked: &[&'static Attribute],
    next: Option<Scheduler>,
) -> Vec<(&'static Attribute, String)> {
    let mut goals = Vec::new();
    for (key, found) in dropped.into_iter().flat_map(Settings::iter) {
        let Some(attribute) = attributes::by_key(key) else {
            continue;
        };
        if attribute.name == "scheduler" || asked.contains(&attribute) {
            continue;
        }
        let now = before.get(attribute).map(|value| value.0.as_str());
        if now.is_some()
            && found.wrote.as_deref() == now
            && let Some(value) = first_found(attribute, found, before.scheduler(), next)
        {
            goals.push((attribute, value));
        }
    }
    goals
}

/// The value that a setting goes back to; none where a switch of the scheduler takes care of it, or
/// nobody can tell.
fn first_found(
    attribute: &Attribute,
    found: &Found,
    active: Option<Scheduler>,
    next: Option<Scheduler>,
) -> Option<String> {
    if let Place::Iosched(owner) = attribute.place {
        // It was not there before its scheduler came, which came with the default.
        let default = Some(attribute.default_number()).filter(|number| !number.is_empty());
        return match &found.found {
            _ if next != Some(owner) => None,
            Some(value) => Some(value.clone()),
            None => default.map(str::to_owned),
        };
    }
    if !attribute.reset_by_scheduler_switch() {
        return found.found.clone();
    }
    let under = found.under.as_deref().and_then(Scheduler::from_name);
    if under == next {
        return found.found.clone();
    }
    // A number of requests means something under its scheduler only: `none` takes no more than the
    // hardware has, and has those by default.
    if active != next {
        return None;
    }
    let depth = found.found.as_ref().and_then(|value| value.parse().ok());
    let depth = depth.filter(|_| under == Some(Scheduler::None));
    match attribute.after_switch(next?, depth) {
        Some(value) => Some(value.0),
        None if attribute.name == "nr_requests" => None,
        None => found.found.clone(),
    }
}
