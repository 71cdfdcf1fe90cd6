//! From one fstab to another that is given whole: the rows of a plan, and what is changed live.

use std::collections::BTreeMap;

use super::live::{Remount, Way};
use super::wishes::Wish;
use super::{Context, line, option};
use crate::facts::Facts;
use crate::format::fstab::Fstab;
use crate::format::mount_options;
use crate::format::text::Text;
use crate::knowledge::options;
use crate::plan::context::Only;
use crate::plan::notices::Notices;
use crate::plan::record::Record;
use crate::plan::{LineChange, MountChange, Pending, When};
use crate::state::DesiredState;

/// Type and options of one mount point.
type Line = (String, Vec<u8>);

/// Every mount point whose line differs, with the live change that its options allow.
pub(crate) fn between(
    facts: &Facts,
    before: &[u8],
    after: &[u8],
) -> (Vec<MountChange>, Vec<Pending>) {
    let (state, record) = (DesiredState::default(), Record::default());
    let cx = Context::new(&state, facts, &record, Only::Both);
    let (before, after) = (lines(before), lines(after));
    let mut changes = Vec::new();
    let mut pending = Vec::new();
    let mut targets: Vec<&Vec<u8>> = before.keys().chain(after.keys()).collect();
    targets.sort();
    targets.dedup();
    for target in targets {
        let change = match (before.get(target), after.get(target)) {
            (Some(old), Some(new)) if old == new => None,
            (Some(old), Some(new)) if old.0 == new.0 => edited(&cx, target, old, new, &mut pending),
            (None, Some((fstype, list))) => {
                Some(whole(target, fstype, LineChange::Add, None, Some(list)))
            }
            (Some((fstype, list)), None) => {
                Some(whole(target, fstype, LineChange::Remove, Some(list), None))
            }
            (Some(old), Some(new)) => Some(whole(
                target,
                &new.0,
                LineChange::Edit,
                Some(&old.1),
                Some(&new.1),
            )),
            (None, None) => None,
        };
        changes.extend(change);
    }
    (changes, pending)
}

/// The first line of each mount point: the one that counts.
fn lines(bytes: &[u8]) -> BTreeMap<Vec<u8>, Line> {
    let fstab = Fstab::parse(bytes.to_vec());
    let mut lines = BTreeMap::new();
    for (_, entry) in fstab.entries().filter(|(_, entry)| entry.is_mount()) {
        lines.entry(entry.target().into_owned()).or_insert_with(|| {
            (
                String::from_utf8_lossy(&entry.fstype()).into_owned(),
                entry.options().to_vec(),
            )
        });
    }
    lines
}

fn whole(
    target: &[u8],
    fstype: &str,
    line: LineChange,
    from: Option<&Vec<u8>>,
    to: Option<&Vec<u8>>,
) -> MountChange {
    let text = |list: Option<&Vec<u8>>| list.map(|list| String::from_utf8_lossy(list).into_owned());
    let mut row = option(text(from), text(to));
    row.when = When::Boot;
    MountChange {
        target: Text(target.to_vec()),
        fstype: fstype.to_owned(),
        line,
        options: vec![row],
        live: None,
    }
}

fn edited(
    cx: &Context<'_>,
    target: &[u8],
    old: &Line,
    new: &Line,
    pending: &mut Vec<Pending>,
) -> Option<MountChange> {
    let target = Text(target.to_vec());
    let fstype = &new.0;
    let mounted = cx
        .layers
        .mount_at(target.as_bytes())
        .filter(|mount| super::live::same_type(fstype, &mount.fstype));
    let mut remount = mounted.map(|mount| Remount::new(cx, mount));
    let (old, new) = (slots(fstype, &old.1), slots(fstype, &new.1));
    let mut names: Vec<&String> = new.iter().chain(&old).map(|(slot, _)| slot).collect();
    let mut seen = Vec::new();
    names.retain(|slot| {
        let fresh = !seen.contains(slot);
        seen.push(*slot);
        fresh
    });
    let mut rows = Vec::new();
    let mut notices = Notices::default();
    for slot in names {
        let find = |list: &[(String, String)]| {
            list.iter()
                .find(|(other, _)| other == slot)
                .map(|(_, items)| items.clone())
        };
        let (from, to) = (find(&old), find(&new));
        if from == to || slot == "defaults" {
            continue;
        }
        let wish = Wish {
            slot: slot.clone(),
            without: if to.is_none() { from.clone() } else { None },
            token: to,
            origin: None,
            overridden: Vec::new(),
            allow: None,
            found: from,
            dropped: true,
        };
        let way = match &mut remount {
            Some(remount) => remount.wish(cx, &target, fstype, &wish, &mut notices),
            None => Way::NotMounted,
        };
        line::row(cx, &target, &wish, true, way, &mut rows, pending);
    }
    (!rows.is_empty()).then(|| MountChange {
        target,
        fstype: fstype.clone(),
        line: LineChange::Edit,
        options: rows,
        live: remount.and_then(Remount::finish),
    })
}

/// A list's items by slot, in order.
fn slots(fstype: &str, list: &[u8]) -> Vec<(String, String)> {
    let mut slots: Vec<(String, String)> = Vec::new();
    for item in mount_options::split(list) {
        let item = String::from_utf8_lossy(item).into_owned();
        let slot = options::slot(fstype, &item).into_owned();
        match slots.iter_mut().find(|(other, _)| *other == slot) {
            Some((_, items)) => {
                items.push(',');
                items.push_str(&item);
            }
            None => slots.push((slot, item)),
        }
    }
    slots
}
