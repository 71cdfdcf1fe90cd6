//! What the rules wish of one line, slot by slot: the last rule wins, at the place of the first.

use std::collections::{BTreeSet, HashMap};

use super::Context;
use crate::format::fstab::Entry;
use crate::format::mount_options;
use crate::format::text::Text;
use crate::knowledge::options;
use crate::state::{At, MountRule, Origin, Pattern, TmpfsRule};

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
    /// What that overrode, in its order.
    pub overridden: Vec<Origin>,
    /// Warnings that the rule accepts.
    pub allow: Option<&'a BTreeSet<String>>,
    /// What the line has in this slot now.
    pub found: Option<String>,
    /// It is not asked for any more: the value first found comes back.
    pub dropped: bool,
}

/// The rules on mounts that count on this machine, so ordered that a line meets few of them.
pub(super) struct Rules<'a> {
    rules: Vec<&'a MountRule>,
    /// Rules that name their mount points outright, by each of them.
    by_target: HashMap<&'a str, Vec<usize>>,
    /// All other rules.
    others: Vec<usize>,
    /// Rules on tmpfs, by mount point.
    tmpfs: HashMap<&'a str, Vec<&'a TmpfsRule>>,
}

impl<'a> Rules<'a> {
    pub fn new(cx: &Context<'a>) -> Self {
        let rules: Vec<&MountRule> = cx
            .state
            .mounts
            .iter()
            .filter(|rule| rule.when.holds(&cx.machine))
            .collect();
        let mut by_target: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut others = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            let targets = &rule.select.target;
            if targets.is_empty() || targets.iter().any(|at| !at.value.literal) {
                others.push(index);
                continue;
            }
            for at in targets {
                by_target.entry(&at.value.text).or_default().push(index);
            }
        }
        let mut tmpfs: HashMap<&str, Vec<&TmpfsRule>> = HashMap::new();
        for rule in &cx.state.tmpfs {
            if rule.when.holds(&cx.machine) {
                tmpfs.entry(&rule.target.value).or_default().push(rule);
            }
        }
        Self {
            rules,
            by_target,
            others,
            tmpfs,
        }
    }

    /// All of them, with the number by which [`Rules::of_line`] speaks of each.
    pub fn all(&self) -> impl Iterator<Item = (usize, &'a MountRule)> {
        self.rules.iter().copied().enumerate()
    }

    /// The rules on the tmpfs of a mount point.
    pub fn tmpfs(&self, target: &str) -> &[&'a TmpfsRule] {
        self.tmpfs.get(target).map_or(&[], Vec::as_slice)
    }

    /// The rules that may match a mount point, in their order.
    pub fn about(&self, target: &str) -> Vec<(usize, &'a MountRule)> {
        let named = self.by_target.get(target).map_or(&[][..], Vec::as_slice);
        let mut indices: Vec<usize> = named.iter().chain(&self.others).copied().collect();
        indices.sort_unstable();
        indices.dedup();
        indices
            .into_iter()
            .map(|index| (index, self.rules[index]))
            .collect()
    }

    /// The wishes of all rules that match a line, and the numbers of those rules on mounts.
    pub fn of_line(
        &self,
        cx: &Context<'a>,
        entry: &Entry<'_>,
        target: &str,
    ) -> (Vec<Wish<'a>>, Vec<usize>) {
        let fstype = String::from_utf8_lossy(&entry.fstype()).into_owned();
        let mut wishes: Vec<Wish<'a>> = Vec::new();
        let mut matched = Vec::new();
        let mut names = None;
        for (index, rule) in self.about(target) {
            if !matches(cx, rule, entry, target, &fstype, &mut names) {
                continue;
            }
            matched.push(index);
            for option in &rule.options {
                put(&mut wishes, Wish::of(&fstype, option, &rule.allow));
            }
            for option in &rule.without {
                put(
                    &mut wishes,
                    Wish {
                        token: None,
                        without: Some(option.value.clone()),
                        ..Wish::of(&fstype, option, &rule.allow)
                    },
                );
            }
        }
        // A tmpfs rule on a line of another type is an error of its own.
        if fstype == "tmpfs" {
            for rule in self.tmpfs(target) {
                for option in super::tmpfs::options(rule) {
                    put(&mut wishes, Wish::of(&fstype, &option, &rule.allow));
                }
            }
        }
        fill(&mut wishes, &fstype, entry.options());
        (wishes, matched)
    }
}

impl<'a> Wish<'a> {
    fn of(fstype: &str, option: &At<String>, allow: &'a BTreeSet<String>) -> Self {
        Self {
            slot: options::slot(fstype, &option.value).into_owned(),
            token: Some(option.value.clone()),
            without: None,
            origin: Some(option.origin),
            overridden: Vec::new(),
            allow: Some(allow),
            found: None,
            dropped: false,
        }
    }
}

/// A later wish takes the place of an earlier one of its slot.
fn put<'a>(wishes: &mut Vec<Wish<'a>>, wish: Wish<'a>) {
    match wishes.iter_mut().find(|other| other.slot == wish.slot) {
        Some(other) => {
            let mut overridden = std::mem::take(&mut other.overridden);
            overridden.extend(other.origin);
            *other = Wish { overridden, ..wish };
        }
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
            overridden: Vec::new(),
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

/// Whether a rule matches a line; `names` keeps the line's sources, once they were asked for.
fn matches(
    cx: &Context<'_>,
    rule: &MountRule,
    entry: &Entry<'_>,
    target: &str,
    fstype: &str,
    names: &mut Option<Names>,
) -> bool {
    let select = &rule.select;
    targets_match(&select.target, target)
        && types_match(&select.fstype, fstype)
        && (select.source.is_empty() || {
            let names = names.get_or_insert_with(|| Names::of(cx, entry));
            select.source.iter().any(|at| names.matches(cx, &at.value))
        })
}

/// True where no pattern is given, or any matches the mount point.
pub(super) fn targets_match(patterns: &[At<Pattern>], target: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|at| at.value.matches(target))
}

/// True where no pattern is given, or any matches the type; `*` is every local disk filesystem.
pub(super) fn types_match(patterns: &[At<Pattern>], fstype: &str) -> bool {
    patterns.is_empty()
        || patterns.iter().any(|at| match at.value.text.as_str() {
            "*" => options::is_local_disk(fstype),
            _ => at.value.matches(fstype),
        })
}

/// The names by which the device of a line is known: as it stands there, with its tag unquoted,
/// and those of the device that is mounted on its target.
struct Names {
    names: Vec<String>,
    /// `major:minor`, where the source could be resolved.
    number: Option<String>,
}

impl Names {
    fn of(cx: &Context<'_>, entry: &Entry<'_>) -> Self {
        let source = Text(entry.source().into_owned());
        let raw = source.to_string();
        let unquoted = raw.replace('"', "");
        let mut names = vec![unquoted];
        if raw != names[0] {
            names.push(raw);
        }
        let mut number = cx.facts.sources.get(&source).cloned();
        if let Some(mount) = cx.layers.mount_at(&entry.target()) {
            names.push(mount.source.to_string());
            // btrfs and network filesystems have numbers of major 0, which name no device.
            if number.is_none() && !mount.device.starts_with("0:") {
                number = Some(mount.device.clone());
            }
        }
        if let Some((name, device)) = number.as_deref().and_then(|n| cx.layers.device(n)) {
            let part = device
                .partitions
                .iter()
                .find(|(_, part)| Some(*part) == number.as_ref())
                .map_or(name, |(part, _)| part);
            names.push(format!("/dev/{}", part.replace('!', "/")));
            if device.number == number.as_deref().unwrap_or_default() {
                let mapped = device.dm_name.as_ref();
                names.extend(mapped.map(|dm| format!("/dev/mapper/{dm}")));
            }
        }
        Self {
            names: with_group_names(names),
            number,
        }
    }

    /// Whether a pattern is one of the names, or names the same device.
    fn matches(&self, cx: &Context<'_>, pattern: &Pattern) -> bool {
        if self.names.iter().any(|name| pattern.matches(name)) {
            return true;
        }
        if !pattern.literal {
            return false;
        }
        let number = cx.facts.sources.get(&Text::from(pattern.text.as_str()));
        number.is_some() && number == self.number.as_ref()
    }
}

/// LVM knows `/dev/mapper/VG-LV` also as `/dev/VG/LV`, a dash in a name doubled.
fn with_group_names(mut names: Vec<String>) -> Vec<String> {
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
