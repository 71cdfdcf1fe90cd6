//! What the rules wish of one line, slot by slot: the last rule wins, at the place of the first.

use std::collections::{BTreeSet, HashMap};

use super::Context;
use super::names::Names;
use crate::format::fstab::Entry;
use crate::format::mount_options;
use crate::knowledge::options;
use crate::plan::notices::Notices;
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
                let named = by_target.entry(&at.value.text).or_default();
                if named.last() != Some(&index) {
                    named.push(index);
                }
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

    /// All of them, with the number by which [`Rules::matching`] speaks of each.
    pub fn all(&self) -> impl Iterator<Item = (usize, &'a MountRule)> {
        self.rules.iter().copied().enumerate()
    }

    /// The rules on the tmpfs of a mount point.
    pub fn tmpfs(&self, target: &str) -> &[&'a TmpfsRule] {
        self.tmpfs.get(target).map_or(&[], Vec::as_slice)
    }

    /// The rules that may match a mount point, in their order.
    pub fn about(&self, target: &str) -> impl Iterator<Item = (usize, &'a MountRule)> {
        // Each rule is in one of the two, and either is in order.
        let mut named = self.by_target.get(target).into_iter().flatten().peekable();
        let mut others = self.others.iter().peekable();
        std::iter::from_fn(move || {
            let index = match (named.peek(), others.peek()) {
                (Some(a), Some(b)) if a < b => named.next(),
                (Some(_), None) => named.next(),
                _ => others.next(),
            }?;
            Some((*index, self.rules[*index]))
        })
    }

    /// The numbers of the rules on mounts that match a line.
    pub fn matching(
        &self,
        cx: &Context<'a>,
        entry: &Entry<'_>,
        target: &str,
        fstype: &str,
    ) -> Vec<usize> {
        let mut names = None;
        self.about(target)
            .filter(|(_, rule)| matches(cx, rule, entry, target, fstype, &mut names))
            .map(|(index, _)| index)
            .collect()
    }

    /// The wishes of these rules on mounts and on tmpfs for a list of options.
    pub fn wishes(
        &self,
        matched: &[usize],
        tmpfs: &[&'a TmpfsRule],
        fstype: &str,
        list: &[u8],
    ) -> Vec<Wish<'a>> {
        let mut wishes: Vec<Wish<'a>> = Vec::new();
        for rule in matched.iter().map(|index| self.rules[*index]) {
            for option in &rule.options {
                put(&mut wishes, Wish::of(fstype, option, &rule.allow));
            }
            for option in &rule.without {
                put(
                    &mut wishes,
                    Wish {
                        token: None,
                        without: Some(option.value.clone()),
                        ..Wish::of(fstype, option, &rule.allow)
                    },
                );
            }
        }
        for rule in tmpfs {
            for option in super::tmpfs::options(rule) {
                put(&mut wishes, Wish::of(fstype, &option, &rule.allow));
            }
        }
        fill(&mut wishes, fstype, list);
        wishes
    }

    /// True where a rule names mount points.
    pub fn names_targets(&self, index: usize) -> bool {
        !self.rules[index].select.target.is_empty()
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

    /// Where it was asked for, in words.
    pub fn place(&self, cx: &Context<'_>) -> Option<String> {
        self.origin.map(|origin| cx.place(origin))
    }

    /// Warns of it, unless its rule says that this is known.
    pub fn warn(
        &self,
        cx: &Context<'_>,
        name: &str,
        text: impl Into<String>,
        notices: &mut Notices,
    ) {
        if self.allow.is_none_or(|allow| !allow.contains(name)) {
            notices.warn(name, &BTreeSet::new(), text, self.place(cx));
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

/// What the record says was set and these wishes ask for no more: back to the value first found,
/// where the line still has what ssdtune wrote.
pub(super) fn dropped<'a>(
    cx: &Context<'a>,
    target: &str,
    fstype: &str,
    list: &[u8],
    wishes: &[Wish<'a>],
) -> Vec<Wish<'a>> {
    let Some(managed) = cx.record.options.get(target) else {
        return Vec::new();
    };
    let mut dropped = Vec::new();
    for (slot, found) in managed.iter() {
        if wishes.iter().any(|wish| wish.slot == slot) {
            continue;
        }
        dropped.push(Wish {
            slot: slot.to_owned(),
            token: found.found.clone(),
            without: None,
            origin: None,
            overridden: Vec::new(),
            allow: None,
            found: None,
            dropped: true,
        });
    }
    fill(&mut dropped, fstype, list);
    dropped.retain(|wish| {
        managed
            .get(&wish.slot)
            .is_some_and(|record| record.wrote == wish.found)
    });
    dropped
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
