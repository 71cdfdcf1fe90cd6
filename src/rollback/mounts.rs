//! Mounts on the way back: what fstab's old lines ask for, and what snapshots recorded of them.

use std::collections::{BTreeMap, HashMap};

use super::{notice, void};
use crate::facts::{Facts, Mount};
use crate::format::fstab::{Fstab, Kind};
use crate::format::text::Text;
use crate::knowledge::options::{self, Mounted, Standing};
use crate::plan::{LineChange, LiveMount, MountChange, OptionChange, Plan, When, mounts};
use crate::snapshot::Snapshot;

/// Adds the mounts to a plan whose files are decided.
pub(super) fn back(undone: &[Snapshot], facts: &Facts, plan: &mut Plan) {
    if let Some(edit) = plan.files.iter().find(|edit| edit.path == facts.fstab.path) {
        let bytes = |image: &Option<crate::facts::Image>| {
            image
                .as_ref()
                .map_or(Vec::new(), |image| image.bytes.0.clone())
        };
        let (changes, pending) = mounts::between(facts, &bytes(&edit.before), &bytes(&edit.after));
        plan.mounts = changes;
        plan.pending = pending;
    }
    // What was seen live before the apply counts for more than what fstab's words come to.
    let mut recorded: BTreeMap<Text, LiveMount> = BTreeMap::new();
    for snapshot in undone.iter().filter(|snapshot| !void(snapshot, facts)) {
        for change in &snapshot.plan.mounts {
            let Some(live) = &change.live else { continue };
            let Some(mount) = facts.mount_at(change.target.as_bytes()) else {
                continue;
            };
            if mount.fstype != live.fstype {
                continue;
            }
            let goal = recorded
                .entry(change.target.clone())
                .or_insert_with(|| as_it_is(mount));
            step(live, goal);
        }
    }
    // Where this boot's applies left a mount alone, it is left alone on the way back too: what it
    // is mounted with, was not theirs.
    let mut of_this_boot: HashMap<&Text, bool> = HashMap::new();
    for snapshot in undone {
        let here = snapshot.boot_id == facts.boot_id;
        for change in &snapshot.plan.mounts {
            let all = of_this_boot.entry(&change.target).or_insert(true);
            *all &= here;
        }
    }
    let files_only = |target: &Text| of_this_boot.get(target).is_some_and(|all| *all);
    for change in &mut plan.mounts {
        if !recorded.contains_key(&change.target) && files_only(&change.target) {
            change.live = None;
            for row in &mut change.options {
                row.when = When::Boot;
            }
        }
    }
    for (target, mut live) in recorded {
        if let Some(mount) = facts.mount_at(target.as_bytes()) {
            settle(&mut live, mount, facts);
        }
        let moves = !mounts::same_flags(&live.before, &live.after) || !live.set.is_empty();
        match plan
            .mounts
            .iter_mut()
            .find(|change| change.target == target)
        {
            Some(change) => change.live = moves.then(|| Box::new(live)),
            None if moves => plan.mounts.push(MountChange {
                target,
                fstype: live.fstype.clone(),
                line: LineChange::Keep,
                options: rows(&live),
                live: Some(Box::new(live)),
            }),
            None => {}
        }
    }
}

fn as_it_is(mount: &Mount) -> LiveMount {
    LiveMount {
        device: mount.device.clone(),
        fstype: mount.fstype.clone(),
        before: mount.flags.clone(),
        after: mount.flags.clone(),
        set: Vec::new(),
        undo: Vec::new(),
        options_before: mount.options.clone(),
    }
}

/// Takes one recorded change back: only the flags and options that it changed.
fn step(live: &LiveMount, goal: &mut LiveMount) {
    for flag in live.after.iter().filter(|flag| !live.before.contains(flag)) {
        goal.after.retain(|other| other != flag);
    }
    for flag in live.before.iter().filter(|flag| !live.after.contains(flag)) {
        if !goal.after.contains(flag) {
            goal.after.push(flag.clone());
        }
    }
    // Of several changes of one option, the oldest knows what was before all of them, the latest
    // what is now.
    let slot = |token: &str| options::slot(&live.fstype, token).into_owned();
    for token in &live.undo {
        goal.set.retain(|other| slot(other) != slot(token));
        goal.set.push(token.clone());
    }
    for token in &live.set {
        if !goal.undo.iter().any(|other| slot(other) == slot(token)) {
            goal.undo.push(token.clone());
        }
    }
}

/// Options that are all as they shall be need no remount.
fn settle(goal: &mut LiveMount, mount: &Mount, facts: &Facts) {
    let shown: Vec<String> = mount.options.iter().map(ToString::to_string).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    let mounted = Mounted {
        fstype: &mount.fstype,
        flags: &mount.flags,
        options: &shown,
        memory_kb: facts.memory_kb,
    };
    let differs =
        |token: &String| matches!(options::standing(token, &mounted), Standing::Differs { .. });
    if !goal.set.iter().any(differs) {
        goal.set.clear();
        goal.undo.clear();
    }
}

fn rows(live: &LiveMount) -> Vec<OptionChange> {
    let missing = |a: &[String], b: &[String]| -> Vec<String> {
        a.iter().filter(|flag| !b.contains(flag)).cloned().collect()
    };
    let gone = missing(&live.before, &live.after);
    let come = missing(&live.after, &live.before);
    let mut rows = Vec::new();
    let join = |flags: Vec<String>| (!flags.is_empty()).then(|| flags.join(","));
    if !gone.is_empty() || !come.is_empty() {
        rows.push((join(gone), join(come)));
    }
    rows.extend(live.set.iter().map(|token| (None, Some(token.clone()))));
    rows.into_iter()
        .map(|(from, to)| OptionChange {
            from,
            to,
            when: When::Now,
            why: None,
            origin: None,
            kib: None,
        })
        .collect()
}

/// A copy that is to become fstab: every line must be one that the readers agree on.
pub(super) fn check_copy(copy: &[u8], facts: &Facts, plan: &mut Plan) {
    let fstab = Fstab::parse(copy.to_vec());
    let mut entries = 0;
    for line in fstab.lines() {
        match &line.kind {
            Kind::Bad { reason, .. } => plan.errors.push(notice(
                "copy",
                format!("line {} of the copy: {reason}", line.number),
            )),
            Kind::Entry(_) => entries += 1,
            _ => {}
        }
    }
    let root = !fstab.entries_for(b"/").is_empty();
    let has_root = facts
        .fstab
        .image
        .as_ref()
        .map(|image| Fstab::parse(image.bytes.0.clone()))
        .is_some_and(|now| !now.entries_for(b"/").is_empty());
    if entries == 0 {
        plan.errors.push(notice(
            "copy",
            "the copy has no entry at all: is it an fstab?".to_owned(),
        ));
    } else if has_root && !root {
        plan.errors.push(notice(
            "copy",
            "the copy has no line for `/`, and fstab has one: is it this machine's?".to_owned(),
        ));
    }
}
