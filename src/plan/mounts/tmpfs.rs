//! `[[tmpfs]]`: wishes on a line that is there, or a line of its own.

use super::wishes::Wish;
use super::{Context, Outcome, option};
use crate::format::fstab::{Edit, Entry, Fstab, NewEntry};
use crate::format::text::Text;
use crate::knowledge::options;
use crate::plan::context::Notices;
use crate::plan::record::{Found, Record};
use crate::plan::{LineChange, MountChange, When};
use crate::state::TmpfsRule;

/// All tokens of a rule, options first, as they are written.
fn tokens(rule: &TmpfsRule) -> Vec<(String, crate::state::Origin)> {
    let mut tokens: Vec<(String, crate::state::Origin)> = rule
        .options
        .iter()
        .map(|option| (option.value.clone(), option.origin))
        .collect();
    if let Some(mode) = &rule.mode {
        tokens.push((format!("mode={}", mode.value), mode.origin));
    }
    if let Some(size) = &rule.size {
        tokens.push((format!("size={}", size.value), size.origin));
    }
    tokens
}

fn rules<'a>(cx: &Context<'a>, target: &str) -> impl Iterator<Item = &'a TmpfsRule> {
    let machine = cx.machine;
    let target = target.to_owned();
    cx.state
        .tmpfs
        .iter()
        .filter(move |rule| rule.target.value == target && rule.when.holds(&machine))
}

/// The wishes of tmpfs rules for a line that is there.
pub(super) fn of_line<'a>(cx: &Context<'a>, entry: &Entry<'_>) -> Vec<Wish<'a>> {
    let target = Text(entry.target().into_owned()).to_string();
    let mut wishes: Vec<Wish<'a>> = Vec::new();
    for rule in rules(cx, &target) {
        for (token, origin) in tokens(rule) {
            let wish = Wish {
                slot: options::slot("tmpfs", &token).into_owned(),
                token: Some(token),
                without: None,
                origin: Some(origin),
                allow: Some(&rule.allow),
                found: None,
                dropped: false,
            };
            match wishes.iter_mut().find(|other| other.slot == wish.slot) {
                Some(other) => *other = wish,
                None => wishes.push(wish),
            }
        }
    }
    wishes
}

/// Adds the lines that are not there, and checks what is in their way.
pub(super) fn add(
    cx: &Context<'_>,
    fstab: &Fstab,
    record: &mut Record,
    notices: &mut Notices,
    out: &mut Outcome,
) {
    let mut done: Vec<&str> = Vec::new();
    for rule in &cx.state.tmpfs {
        let target = rule.target.value.as_str();
        if !rule.when.holds(&cx.machine) || done.contains(&target) {
            continue;
        }
        done.push(target);
        let origin = Some(cx.place(rule.target.origin));
        if let Some(line) = fstab.entries_for(target.as_bytes()).first() {
            // A line that readers read differently was refused already.
            if let Some(entry) = fstab
                .entry(line)
                .filter(|entry| *entry.fstype() != *b"tmpfs")
            {
                notices.error(
                    target,
                    format!(
                        "`{target}` is {} on line {} of fstab, not tmpfs: take that line out first, or this rule",
                        Text(entry.fstype().into_owned()),
                        line.number
                    ),
                    origin,
                );
            }
            continue;
        }
        if unit_in_the_way(cx, target, notices) {
            continue;
        }
        new_line(cx, target, record, out);
    }
}

/// A masked unit disables the fstab line too; a unit file of the administrator's wins over it.
fn unit_in_the_way(cx: &Context<'_>, target: &str, notices: &mut Notices) -> bool {
    let Some(unit) = cx.facts.units.get(target) else {
        return false;
    };
    let name = crate::facts::mount_unit(target.as_bytes());
    if unit.masked && !unit.ours {
        notices.error(
            target,
            format!(
                "`{name}` is masked by `{}`, and a masked unit disables the fstab line too: run `systemctl unmask {name}` first",
                unit.path
            ),
            None,
        );
        return true;
    }
    if unit.overrides_fstab && !unit.masked {
        notices.error(
            target,
            format!(
                "`{}` wins over a line of fstab: take it away, or put the options there",
                unit.path
            ),
            None,
        );
        return true;
    }
    false
}

/// `tmpfs TARGET tmpfs defaults,OPTIONS,mode=,size= 0 0`, from the next boot on.
fn new_line(cx: &Context<'_>, target: &str, record: &mut Record, out: &mut Outcome) {
    if !cx.only.files() {
        return;
    }
    let mut list = b"defaults".to_vec();
    let mut rows = Vec::new();
    let mut wished: Vec<(String, String, crate::state::Origin)> = Vec::new();
    for rule in rules(cx, target) {
        for (token, origin) in tokens(rule) {
            let slot = options::slot("tmpfs", &token).into_owned();
            match wished.iter_mut().find(|(other, ..)| *other == slot) {
                Some(other) => *other = (slot, token, origin),
                None => wished.push((slot, token, origin)),
            }
        }
    }
    // As tokens() orders them within a rule, so over all rules: options, mode, size.
    wished.sort_by_key(|(slot, ..)| match slot.as_str() {
        "mode" => 1,
        "size" => 2,
        _ => 0,
    });
    let managed = record.options.entry(target.to_owned()).or_default();
    for (slot, token, origin) in wished {
        // The line is ours: an option that the rule drops later simply goes.
        managed.insert(
            slot,
            Found {
                found: None,
                wrote: Some(token.clone()),
            },
        );
        list.push(b',');
        list.extend_from_slice(token.as_bytes());
        let mut row = option(None, Some(token));
        row.when = When::Boot;
        row.origin = Some(cx.place(origin));
        rows.push(row);
    }
    out.edits.push(Edit::Append {
        fields: NewEntry {
            source: b"tmpfs".to_vec(),
            target: target.as_bytes().to_vec(),
            fstype: b"tmpfs".to_vec(),
            options: list,
            freq: 0,
            passno: 0,
        },
    });
    out.changes.push(MountChange {
        target: Text::from(target),
        fstype: "tmpfs".to_owned(),
        line: LineChange::Add,
        options: rows,
        live: None,
    });
    if !record.added.iter().any(|added| added == target) {
        record.added.push(target.to_owned());
    }
}

/// Takes out the lines that ssdtune added and nobody asks for any more.
pub(super) fn take_back(cx: &Context<'_>, fstab: &Fstab, record: &mut Record, out: &mut Outcome) {
    for target in &cx.record.added {
        if rules(cx, target).next().is_some() || !cx.only.files() {
            continue;
        }
        record.added.retain(|added| added != target);
        record.options.remove(target);
        let found = fstab.find(target.as_bytes()).ok();
        let Some((line, _)) = found.filter(|(_, entry)| *entry.fstype() == *b"tmpfs") else {
            continue;
        };
        out.edits.retain(
            |edit| !matches!(edit, Edit::Options { line: number, .. } if *number == line.number),
        );
        out.changes
            .retain(|change| change.target.to_string() != *target);
        out.edits.push(Edit::Remove { line: line.number });
        out.changes.push(MountChange {
            target: Text::from(target.as_str()),
            fstype: "tmpfs".to_owned(),
            line: LineChange::Remove,
            options: vec![{
                let mut row = option(Some("tmpfs".to_owned()), None);
                row.when = When::Boot;
                row
            }],
            live: None,
        });
    }
}
