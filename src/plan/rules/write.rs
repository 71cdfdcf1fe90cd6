//! Pass two: which scheduler it will be, then every setting once, in the kernel's order.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{variable, written};
use crate::knowledge::Scheduler;
use crate::knowledge::attributes::{Attribute, Place};
use crate::state::DeviceRule;

const CHOSEN: &str = "ENV{.SSDTUNE_SCHEDULER}";

/// Appends pass two for everything that `rules` may have collected.
pub(super) fn second_pass(text: &mut String, rules: &[&DeviceRule]) {
    let settings = written(rules);
    let lists: BTreeSet<&[Scheduler]> = rules
        .iter()
        .filter_map(|rule| rule.scheduler.as_ref())
        .map(|at| at.value.as_slice())
        .collect();
    text.push_str("\n# Pass two.\n");
    for (_, attribute) in settings.iter().filter(|(_, a)| a.step < SCHEDULER_STEP) {
        guarded(text, rules, attribute, "");
    }
    choose(text, &lists);
    adopt(text, &settings);
    switch(text, &lists);
    for (scheduler, attribute) in settings.iter().filter_map(|(u, a)| u.map(|u| (u, *a))) {
        if attribute.place == Place::Queue {
            let own = variable(Some(scheduler), attribute);
            let _ = writeln!(
                text,
                "{CHOSEN}==\"{scheduler}\", {own}==\"?*\", {}=\"$env{}\"",
                variable(None, attribute),
                &own["ENV".len()..],
            );
        }
    }
    let mut attributes: Vec<&'static Attribute> = settings
        .iter()
        .map(|(_, attribute)| *attribute)
        .filter(|attribute| attribute.step > SCHEDULER_STEP)
        .collect();
    attributes.dedup();
    for attribute in attributes {
        one(text, rules, attribute);
    }
}

/// Step of the scheduler in the write order of the tables.
const SCHEDULER_STEP: u8 = 2;

/// The first scheduler of the winning list that the kernel can give.
///
/// Modules are loaded before the list of offered schedulers is first looked at: udev reads it
/// once and keeps what it read.
fn choose(text: &mut String, lists: &BTreeSet<&[Scheduler]>) {
    let named = |list: &[Scheduler]| {
        let names: Vec<&str> = list.iter().map(|s| s.name()).collect();
        format!("ENV{{.SSDTUNE_SCHEDULERS}}==\"{}\"", names.join(" "))
    };
    for list in lists {
        for module in list.iter().filter_map(|s| s.module()) {
            let _ = writeln!(
                text,
                "{}, TEST==\"queue/scheduler\", IMPORT{{builtin}}=\"kmod load {module}\"",
                named(list)
            );
        }
    }
    for list in lists {
        for (index, scheduler) in list.iter().enumerate().rev() {
            let offered = if index + 1 == list.len() {
                String::new()
            } else {
                format!("ATTR{{queue/scheduler}}==\"*{scheduler}*\", ")
            };
            let _ = writeln!(text, "{}, {offered}{CHOSEN}=\"{scheduler}\"", named(list));
        }
    }
}

/// Where no rule names a scheduler, tables of tunables count for the one that is active.
fn adopt(text: &mut String, settings: &[(Option<Scheduler>, &'static Attribute)]) {
    let tables: BTreeSet<Scheduler> = settings.iter().filter_map(|(under, _)| *under).collect();
    for scheduler in tables {
        let _ = writeln!(
            text,
            "{CHOSEN}!=\"?*\", ATTR{{queue/scheduler}}==\"*[[]{scheduler}]*\", {CHOSEN}=\"{scheduler}\""
        );
    }
}

/// A switch freezes the queue for some 20 ms and resets nr_requests, so it is guarded, and noted.
fn switch(text: &mut String, lists: &BTreeSet<&[Scheduler]>) {
    let all: BTreeSet<Scheduler> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    for scheduler in all {
        let _ = writeln!(
            text,
            "{CHOSEN}==\"{scheduler}\", ATTR{{queue/scheduler}}!=\"*[[]{scheduler}]*\", ENV{{.SSDTUNE_SWITCHED}}=\"1\", ATTR{{queue/scheduler}}=\"{scheduler}\""
        );
    }
}

fn one(text: &mut String, rules: &[&DeviceRule], attribute: &'static Attribute) {
    let own = variable(None, attribute);
    let value = format!("$env{}", &own["ENV".len()..]);
    match attribute.place {
        Place::Iosched(scheduler) => {
            let file = attribute.path();
            let gate = format!("{CHOSEN}==\"{scheduler}\", {own}==\"?*\"");
            if attribute.name == "async_depth" {
                // Linux 7.0 moved it out of the scheduler's folder.
                let _ = writeln!(text, "{gate}, TEST==\"{file}\", ATTR{{{file}}}=\"{value}\"");
                let _ = writeln!(
                    text,
                    "{gate}, TEST!=\"{file}\", TEST==\"queue/async_depth\", ATTR{{queue/async_depth}}=\"{value}\""
                );
            } else {
                let _ = writeln!(text, "{gate}, ATTR{{{file}}}=\"{value}\"");
            }
        }
        // Cheap, and raised by the writes before it: last, and always.
        Place::Queue if attribute.name == "read_ahead_kb" => {
            let _ = writeln!(
                text,
                "{own}==\"?*\", ATTR{{{}}}=\"{value}\"",
                attribute.path()
            );
        }
        Place::Queue if attribute.reset_by_scheduler_switch() => {
            // udev may have read the value before the switch reset it: no guard then.
            let _ = writeln!(
                text,
                "{own}==\"?*\", ENV{{.SSDTUNE_SWITCHED}}==\"1\", ATTR{{{}}}=\"{value}\"",
                attribute.path()
            );
            guarded(text, rules, attribute, "ENV{.SSDTUNE_SWITCHED}!=\"1\", ");
        }
        Place::Queue => guarded(text, rules, attribute, ""),
    }
}

/// One line per distinct value: a match takes no substitutions, and an unguarded write of a value
/// that is there already would freeze the queue at every event.
fn guarded(text: &mut String, rules: &[&DeviceRule], attribute: &'static Attribute, gate: &str) {
    let own = variable(None, attribute);
    let file = attribute.path();
    let values: BTreeSet<&str> = rules
        .iter()
        .flat_map(|rule| &rule.settings)
        .filter(|setting| setting.attribute == attribute)
        .map(|setting| setting.value.value.0.as_str())
        .collect();
    for value in values {
        let _ = writeln!(
            text,
            "{own}==\"{value}\", {gate}ATTR{{{file}}}!=\"{value}\", ATTR{{{file}}}=\"{value}\""
        );
    }
}
