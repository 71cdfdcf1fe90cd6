//! Lines of fstab and the mounts that they stand for: what the rules wish, what differs.

mod bad;
mod between;
mod line;
mod lines;
mod live;
mod masks;
mod missing;
mod tmpfs;
mod wishes;

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::notices::Notices;
use super::record::{Found, Record};
use super::{LineChange, MountChange, OptionChange, Pending};
use crate::format::fstab::{Edit, Fstab, Kind};
use crate::format::text::Text;
pub(crate) use between::between;
use lines::Lines;
pub(crate) use live::same_flags;
pub(crate) use masks::{masks, unmasks};
use wishes::Rules;
pub(super) use wishes::Wish;

/// What came of the rules on mounts.
#[derive(Default)]
pub(super) struct Outcome {
    pub changes: Vec<MountChange>,
    pub pending: Vec<Pending>,
    pub edits: Vec<Edit>,
}

/// What deciding over one line leaves for the others.
struct Deciding<'d> {
    record: &'d mut Record,
    notices: &'d mut Notices,
    superblocks: Superblocks,
    matches: missing::Matches,
}

/// Decides over every line that a rule, a tmpfs rule or the record names.
pub(super) fn decide(
    cx: &Context<'_>,
    fstab: &Fstab,
    record: &mut Record,
    notices: &mut Notices,
) -> Outcome {
    let mut out = Outcome::default();
    let rules = Rules::new(cx);
    let lines = Lines::new(fstab);
    let mut deciding = Deciding {
        record,
        notices,
        superblocks: Superblocks::default(),
        matches: missing::Matches::default(),
    };
    let mut said = BTreeSet::new();
    for fstab_line in fstab.lines() {
        if let Kind::Bad { reason, target } = fstab_line.kind {
            let target = target.map(|span| span.of(fstab.bytes()));
            bad::line(
                cx,
                &rules,
                fstab,
                fstab_line,
                reason,
                target,
                deciding.notices,
            );
            continue;
        }
        let Some(entry) = fstab.entry(fstab_line).filter(|entry| entry.is_mount()) else {
            continue;
        };
        let target = Text(entry.target().into_owned());
        let (wishes, matched) = rules.of_line(cx, &entry, &target.to_string());
        deciding.matches.note(&matched, &target.to_string());
        if !wishes.is_empty()
            && let [first, _, ..] = lines.about(target.as_bytes())
        {
            if said.insert(first.number) {
                let all = lines.about(target.as_bytes()).iter();
                let numbers: Vec<u32> = all.map(|line| line.number).collect();
                deciding.notices.error(
                    target.to_string(),
                    format!(
                        "`{target}` stands on {} of fstab: mount(8) and systemd use the first; keep one",
                        crate::plan::notices::numbers(&numbers)
                    ),
                    wishes
                        .iter()
                        .find_map(|wish| wish.origin)
                        .map(|origin| cx.place(origin)),
                );
            }
            continue;
        }
        if wishes.is_empty() && !cx.record.options.contains_key(&target.to_string()) {
            continue;
        }
        let wishes = wishes::with_dropped(cx, &entry, &target, wishes);
        let subject = line::Subject {
            line: fstab_line,
            entry,
            target: &target,
        };
        let decided = line::decide(cx, &subject, &wishes, &mut deciding);
        remember(deciding.record, &target, &wishes);
        let Some(decided) = decided else { continue };
        out.pending.extend(decided.pending);
        out.edits.extend(decided.edit);
        out.changes.extend(decided.change);
    }
    tmpfs::add(cx, &rules, &lines, &mut deciding, &mut out);
    missing::targets(cx, &rules, &deciding.matches, &lines, deciding.notices);
    tmpfs::take_back(cx, &rules, &lines, record, &mut out);
    out
}

/// Filesystem options per superblock: subvolumes of one btrfs share them.
#[derive(Default)]
struct Superblocks(BTreeMap<(String, String), (String, Text)>);

impl Superblocks {
    /// Notes a wish; the mount point that wished something else before, if there is one.
    fn wish(
        &mut self,
        device: &str,
        slot: &str,
        token: &str,
        target: &Text,
    ) -> Option<(String, Text)> {
        let key = (device.to_owned(), slot.to_owned());
        match self.0.get(&key) {
            Some((other, at)) if other != token => Some((other.clone(), at.clone())),
            Some(_) => None,
            None => {
                self.0.insert(key, (token.to_owned(), target.clone()));
                None
            }
        }
    }
}

/// Keeps in the record what is wished now, with the value first found; forgets what is given back.
///
/// What was so before ssdtune came is nobody's to give back, and not kept.
fn remember(record: &mut Record, target: &Text, wishes: &[Wish<'_>]) {
    let target = target.to_string();
    let slots: BTreeSet<&str> = wishes
        .iter()
        .filter(|wish| !wish.dropped)
        .map(|wish| wish.slot.as_str())
        .collect();
    let known = record.options.contains_key(&target);
    let as_found = |wish: &Wish<'_>| wish.dropped || wish.found == wish.token;
    if !known && wishes.iter().all(as_found) {
        return;
    }
    let managed = record.options.entry(target.clone()).or_default();
    managed.retain(|slot, _| slots.contains(slot.as_str()));
    for wish in wishes.iter().filter(|wish| !wish.dropped) {
        let wrote = wish.token.clone();
        managed
            .entry(wish.slot.clone())
            .or_insert_with(|| Found {
                found: wish.found.clone(),
                wrote: None,
                under: None,
            })
            .wrote = wrote;
    }
    if managed.is_empty() {
        record.options.remove(&target);
    }
}

/// Sorts what changes before what does not; used where both halves report.
fn line_change(edited: bool) -> LineChange {
    if edited {
        LineChange::Edit
    } else {
        LineChange::Keep
    }
}

/// One changed option.
fn option(from: Option<String>, to: Option<String>) -> OptionChange {
    OptionChange {
        from,
        to,
        when: super::When::NowAndBoot,
        why: None,
        origin: None,
        kib: None,
    }
}
