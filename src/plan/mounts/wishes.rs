//! What the rules wish of one line, slot by slot: the last rule wins, at the place of the first.

use std::collections::BTreeSet;

use super::Context;
use crate::format::fstab::Entry;
use crate::format::mount_options;
use crate::format::text::Text;
use crate::knowledge::options;
use crate::state::{At, MountRule, Origin, Pattern};

/// One slot of a line's options, as it shall be.
#[derive(Debug, Clone)]
pub(in crate::plan) struct Wish<'a> {
    /// Options of one slot replace each other.
    pub slot: String,
    /// The option; none where it shall go.
    pub token: Option<String>,
    /// What `without` named: that option goes, others of its slot stay.
    pub without: Option<String>,
    /// Where it was asked for; none for what comes back from the record.
    pub origin: Option<Origin>,
    /// Warnings that the rule accepts.
    pub allow: Option<&'a BTreeSet<String>>,
    /// What the line has in this slot now.
    pub found: Option<String>,
    /// It is not asked for any more: the value first found comes back.
    pub dropped: bool,
}

/// The wishes of all rules that match a line.
pub(super) fn of_line<'a>(cx: &Context<'a>, entry: &Entry<'_>) -> Vec<Wish<'a>> {
    let fstype = String::from_utf8_lossy(&entry.fstype()).into_owned();
    let mut wishes: Vec<Wish<'a>> = Vec::new();
    let rules = cx
        .state
        .mounts
        .iter()
        .filter(|rule| rule.when.holds(&cx.machine) && matches(cx, rule, entry));
    for rule in rules {
        for option in &rule.options {
            put(
                &mut wishes,
                Wish {
                    slot: options::slot(&fstype, &option.value).into_owned(),
                    token: Some(option.value.clone()),
                    without: None,
                    origin: Some(option.origin),
                    allow: Some(&rule.allow),
                    found: None,
                    dropped: false,
                },
            );
        }
        for option in &rule.without {
            put(
                &mut wishes,
                Wish {
                    slot: options::slot(&fstype, &option.value).into_owned(),
                    token: None,
                    without: Some(option.value.clone()),
                    origin: Some(option.origin),
                    allow: Some(&rule.allow),
                    found: None,
                    dropped: false,
                },
            );
        }
    }
    wishes.extend(super::tmpfs::of_line(cx, entry));
    fill(&mut wishes, &fstype, entry.options());
    wishes
}

/// A later wish takes the place of an earlier one of its slot.
fn put<'a>(wishes: &mut Vec<Wish<'a>>, wish: Wish<'a>) {
    match wishes.iter_mut().find(|other| other.slot == wish.slot) {
        Some(other) => *other = wish,
        None => wishes.push(wish),
    }
}

/// Notes what the line has in the slot of each wish.
fn fill(wishes: &mut [Wish<'_>], fstype: &str, list: &[u8]) {
    for wish in wishes {
        let members: Vec<String> = mount_options::split(list)
            .map(|item| String::from_utf8_lossy(item).into_owned())
            .filter(|item| options::slot(fstype, item) == wish.slot)
            .collect();
        wish.found = (!members.is_empty()).then(|| members.join(","));
    }
}

/// Adds what the record says was set and is wished no more: back to the value first found, where
/// the line still has what ssdtune wrote.
pub(super) fn with_dropped<'a>(
    cx: &Context<'a>,
    entry: &Entry<'_>,
    target: &Text,
    mut wishes: Vec<Wish<'a>>,
) -> Vec<Wish<'a>> {
    let fstype = String::from_utf8_lossy(&entry.fstype()).into_owned();
    let Some(managed) = cx.record.options.get(&target.to_string()) else {
        return wishes;
    };
    let mut dropped = Vec::new();
    for (slot, found) in managed {
        if wishes.iter().any(|wish| wish.slot == *slot) {
            continue;
        }
        dropped.push(Wish {
            slot: slot.clone(),
            token: found.found.clone(),
            without: None,
            origin: None,
            allow: None,
            found: None,
            dropped: true,
        });
    }
    fill(&mut dropped, &fstype, entry.options());
    dropped.retain(|wish| {
        managed
            .get(&wish.slot)
            .is_some_and(|record| record.wrote == wish.found)
    });
    wishes.extend(dropped);
    wishes
}

/// A line's fields as far as a rule can match them.
pub(super) fn matches(cx: &Context<'_>, rule: &MountRule, entry: &Entry<'_>) -> bool {
    let select = &rule.select;
    let target = Text(entry.target().into_owned()).to_string();
    let fstype = entry.fstype();
    let fstype = String::from_utf8_lossy(&fstype);
    let any = |patterns: &[At<Pattern>], name: &str| {
        patterns.is_empty() || patterns.iter().any(|at| at.value.matches(name))
    };
    any(&select.target, &target)
        && (select.fstype.is_empty()
            || select.fstype.iter().any(|at| {
                if at.value.text == "*" {
                    options::is_local_disk(&fstype)
                } else {
                    at.value.matches(&fstype)
                }
            }))
        && (select.source.is_empty()
            || sources(cx, entry)
                .iter()
                .any(|name| any(&select.source, name)))
}

/// The names by which the device of a line is known: as it stands there, with its tag unquoted,
/// and those of the device that is mounted on its target.
fn sources(cx: &Context<'_>, entry: &Entry<'_>) -> Vec<String> {
    let raw = Text(entry.source().into_owned()).to_string();
    let unquoted = raw.replace('"', "");
    let mut names = vec![unquoted];
    if raw != names[0] {
        names.push(raw);
    }
    let Some(mount) = cx.facts.mount_at(&entry.target()) else {
        return with_mapper_names(names);
    };
    names.push(mount.source.to_string());
    if let Some(device) = cx.facts.device_by_number(&mount.device) {
        names.push(format!("/dev/{}", device.0.replace('!', "/")));
    }
    with_mapper_names(names)
}

/// LVM knows `/dev/VG/LV` also as `/dev/mapper/VG-LV`, a dash in a name doubled.
fn with_mapper_names(mut names: Vec<String>) -> Vec<String> {
    let short: Vec<String> = names
        .iter()
        .filter_map(|name| name.strip_prefix("/dev/mapper/"))
        .filter_map(|name| {
            let marked = name.replace("--", "\0");
            let (group, volume) = marked.split_once('-')?;
            Some(format!("/dev/{group}/{volume}").replace('\0', "-"))
        })
        .collect();
    names.extend(short);
    names
}
