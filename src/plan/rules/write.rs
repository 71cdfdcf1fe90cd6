//! Pass two: which scheduler it will be, then every setting once, in the kernel's order.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{CHOSEN, Key, WANTED, Wishes, capitals, variable};
use crate::knowledge::Scheduler;
use crate::knowledge::attributes::{self, Attribute, Place};
use crate::state::DeviceRule;

/// Appends pass two for everything that `rules` may have asked for.
pub(super) fn second_pass(text: &mut String, rules: &[&DeviceRule], wishes: &Wishes<'_>) {
    choose(text, &wishes.lists);
    adopt(text, &wishes.settings);
    tables(text, &wishes.settings);
    keep_read_ahead(text, &wishes.settings);
    text.push_str("\n# Each setting once, in order: what resets others comes before them.\n");
    let switch_step = attributes::queue("scheduler").map_or(0, |scheduler| scheduler.step);
    let mut attributes: Vec<&'static Attribute> = wishes
        .settings
        .iter()
        .map(|(attribute, _)| *attribute)
        .collect();
    attributes.dedup();
    let raised = attributes
        .iter()
        .any(|attribute| attribute.resets.contains(&"read_ahead_kb"));
    let ahead = attributes::queue("read_ahead_kb").filter(|_| raised);
    if attributes.last().copied() != ahead {
        attributes.extend(ahead);
    }
    let writer = Writer {
        rules,
        switches: !wishes.lists.is_empty(),
    };
    let at = attributes.partition_point(|attribute| attribute.step < switch_step);
    for attribute in &attributes[..at] {
        writer.one(text, attribute);
    }
    switch(text, &wishes.lists);
    for attribute in &attributes[at..] {
        writer.one(text, attribute);
    }
}

/// True, in a rule, where the device can have schedulers: one stands in brackets. Old kernels
/// print a bare `none` where it cannot, new ones have no such file.
const HAS_CHOICE: &str = "ATTR{queue/scheduler}==\"*[[]*\"";

/// Finds the first scheduler of the winning list that the kernel can give.
///
/// A module is loaded where the scheduler is not offered. What it brings is not in the list that
/// udev has read by then, so its folder in /sys/module is looked at.
fn choose(text: &mut String, lists: &BTreeSet<&[Scheduler]>) {
    if lists.is_empty() {
        return;
    }
    text.push_str("\n# The scheduler: the first of the list that the kernel can give.\n");
    let named: BTreeSet<Scheduler> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    for scheduler in named {
        let can = format!("ENV{}=\"1\"", can(scheduler));
        let Some(module) = scheduler.module() else {
            let _ = writeln!(text, "{HAS_CHOICE}, {can}");
            continue;
        };
        let _ = writeln!(
            text,
            "ENV{WANTED}==\"*{scheduler}*\", {HAS_CHOICE}, ATTR{{queue/scheduler}}!=\"*{scheduler}*\", IMPORT{{builtin}}=\"kmod load {module}\""
        );
        let _ = writeln!(
            text,
            "{HAS_CHOICE}, TEST==\"/sys/module/{}\", {can}",
            module.replace('-', "_")
        );
        let _ = writeln!(text, "ATTR{{queue/scheduler}}==\"*{scheduler}*\", {can}");
    }
    for list in lists {
        let names: Vec<&str> = list.iter().map(|s| s.name()).collect();
        let names = names.join(" ");
        for scheduler in list.iter().rev() {
            let _ = writeln!(
                text,
                "ENV{WANTED}==\"{names}\", ENV{}==\"1\", ENV{CHOSEN}=\"{scheduler}\"",
                can(*scheduler)
            );
        }
    }
}

/// The variable that says that a scheduler can be had, in braces.
fn can(scheduler: Scheduler) -> String {
    format!("{{.SSDTUNE_CAN_{}}}", capitals(scheduler.name()))
}

/// The match that holds while a scheduler is in effect, or while it is not.
///
/// Each scheduler has a tunable that no other has. TEST looks anew, where ATTR has what was read
/// first: a rule of the distribution may have looked at the scheduler and switched it since.
fn in_effect(scheduler: Scheduler, holds: bool) -> String {
    let (file, there) = match scheduler {
        Scheduler::None => ("queue/iosched", false),
        Scheduler::MqDeadline => ("queue/iosched/writes_starved", true),
        Scheduler::Kyber => ("queue/iosched/read_lat_nsec", true),
        Scheduler::Bfq => ("queue/iosched/low_latency", true),
    };
    let operator = if there == holds { "==" } else { "!=" };
    format!("TEST{operator}\"{file}\"")
}

/// Where no rule's wish for a scheduler came to anything, tables count for the one in effect.
fn adopt(text: &mut String, settings: &BTreeSet<Key>) {
    let tables: BTreeSet<Scheduler> = settings.iter().filter_map(|(_, under)| *under).collect();
    if tables.is_empty() {
        return;
    }
    text.push_str("\n# A scheduler's table counts while it is in effect, and wins then.\n");
    for scheduler in tables {
        // Without a choice there are no tunables either, which is no `none` yet.
        let choice = match scheduler {
            Scheduler::None => format!("{HAS_CHOICE}, "),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "ENV{CHOSEN}==\"\", {choice}{}, ENV{CHOSEN}=\"{scheduler}\"",
            in_effect(scheduler, true)
        );
    }
}

/// Queue attributes of the chosen scheduler's table win over the general ones.
fn tables(text: &mut String, settings: &BTreeSet<Key>) {
    for key @ (attribute, under) in settings {
        if let Some(scheduler) = under
            && attribute.place == Place::Queue
        {
            let own = variable(*key);
            let _ = writeln!(
                text,
                "ENV{CHOSEN}==\"{scheduler}\", ENV{own}==\"?*\", ENV{}=\"$env{own}\"",
                variable((attribute, None)),
            );
        }
    }
}

/// Limits raise read-ahead in passing: where no rule sets it, it stays, as apply leaves it.
fn keep_read_ahead(text: &mut String, settings: &BTreeSet<Key>) {
    let Some(ahead) = attributes::queue("read_ahead_kb") else {
        return;
    };
    let own = variable((ahead, None));
    let mut raising: Vec<&'static Attribute> = settings
        .iter()
        .map(|(attribute, _)| *attribute)
        .filter(|attribute| attribute.resets.contains(&ahead.name))
        .collect();
    raising.dedup();
    for (index, attribute) in raising.into_iter().enumerate() {
        if index == 0 {
            text.push_str(
                "\n# Read-ahead as it is, where a write may raise it and no rule sets it.\n",
            );
        }
        let _ = writeln!(
            text,
            "ENV{}==\"?*\", ENV{own}==\"\", ENV{own}=\"$attr{{{}}}\"",
            variable((attribute, None)),
            ahead.path()
        );
    }
}

/// A switch freezes the queue for some 20 ms and resets nr_requests, so it is guarded, and noted.
fn switch(text: &mut String, lists: &BTreeSet<&[Scheduler]>) {
    let all: BTreeSet<Scheduler> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    for scheduler in all {
        let _ = writeln!(
            text,
            "ENV{CHOSEN}==\"{scheduler}\", {}, ENV{{.SSDTUNE_SWITCHED}}=\"1\", ATTR{{queue/scheduler}}=\"{scheduler}\"",
            in_effect(scheduler, false)
        );
    }
}

/// Writes settings.
struct Writer<'a> {
    rules: &'a [&'a DeviceRule],
    /// Some rule may switch the scheduler.
    switches: bool,
}

impl Writer<'_> {
    fn one(&self, text: &mut String, attribute: &'static Attribute) {
        let own = match attribute.place {
            Place::Queue => variable((attribute, None)),
            Place::Iosched(scheduler) => variable((attribute, Some(scheduler))),
        };
        let file = attribute.path();
        match attribute.place {
            Place::Iosched(scheduler) => {
                let gate = format!("ENV{CHOSEN}==\"{scheduler}\", ENV{own}==\"?*\"");
                if attribute.name == "async_depth" {
                    // Linux 7.0 moved it out of the scheduler's folder.
                    let moved = "queue/async_depth";
                    let _ = writeln!(
                        text,
                        "{gate}, TEST==\"{file}\", ATTR{{{file}}}=\"$env{own}\""
                    );
                    let gate = format!("ENV{CHOSEN}==\"{scheduler}\", ");
                    self.guarded(text, attribute, moved, &own, &gate);
                } else {
                    let _ = writeln!(text, "{gate}, ATTR{{{file}}}=\"$env{own}\"");
                }
            }
            // Cheap, and raised by the writes before it: last, and always.
            Place::Queue if attribute.name == "read_ahead_kb" => {
                let _ = writeln!(text, "ENV{own}==\"?*\", ATTR{{{file}}}=\"$env{own}\"");
            }
            Place::Queue if self.switches && attribute.reset_by_scheduler_switch() => {
                // A rule of the distribution may have read it before the switch reset it. It is
                // not written where it cannot be read (throttling of writeback that is not built
                // up), as the live plan does not.
                let _ = writeln!(
                    text,
                    "ENV{{.SSDTUNE_SWITCHED}}==\"1\", ENV{own}==\"?*\", ATTR{{{file}}}==\"?*\", ATTR{{{file}}}=\"$env{own}\""
                );
                self.guarded(
                    text,
                    attribute,
                    &file,
                    &own,
                    "ENV{.SSDTUNE_SWITCHED}!=\"1\", ",
                );
            }
            Place::Queue => self.guarded(text, attribute, &file, &own, ""),
        }
    }

    /// One line per distinct value: a match takes no substitutions, and an unguarded write of a
    /// value that is there already would freeze the queue at every event.
    fn guarded(
        &self,
        text: &mut String,
        attribute: &'static Attribute,
        file: &str,
        own: &str,
        gate: &str,
    ) {
        // By length first: numbers in their order.
        let values: BTreeSet<(usize, &str)> = self
            .rules
            .iter()
            .flat_map(|rule| &rule.settings)
            .filter(|setting| setting.attribute == attribute)
            .map(|setting| setting.value.value.0.as_str())
            .map(|value| (value.len(), value))
            .collect();
        for (_, value) in values {
            let _ = writeln!(
                text,
                "{gate}ENV{own}==\"{value}\", ATTR{{{file}}}!=\"{value}\", ATTR{{{file}}}=\"{value}\""
            );
        }
    }
}
