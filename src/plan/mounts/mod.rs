//! Lines of fstab and the mounts that they stand for: what the rules wish, what differs.

mod between;
mod line;
mod live;
mod masks;
mod missing;
mod tmpfs;
mod wishes;

use std::collections::{BTreeMap, BTreeSet};

use super::context::{Context, Notices};
use super::record::{Found, Record};
use super::{LineChange, MountChange, OptionChange, Pending};
use crate::format::fstab::{Edit, Fstab, Kind};
use crate::format::text::Text;
pub(crate) use between::between;
pub(crate) use live::same_flags;
pub(crate) use masks::{masks, unmasks};
pub(super) use wishes::Wish;

/// What came of the rules on mounts.
pub(super) struct Outcome {
    pub changes: Vec<MountChange>,
    pub pending: Vec<Pending>,
    pub edits: Vec<Edit>,
}

/// Decides over every line that a rule, a tmpfs rule or the record names.
pub(super) fn decide(
    cx: &Context<'_>,
    fstab: &Fstab,
    record: &mut Record,
    notices: &mut Notices,
) -> Outcome {
    let mut out = Outcome {
        changes: Vec::new(),
        pending: Vec::new(),
        edits: Vec::new(),
    };
    let mut superblocks = Superblocks::default();
    let duplicates = duplicates(fstab);
    missing::targets(cx, fstab, notices);
    for fstab_line in fstab.lines() {
        if let Kind::Bad { reason, target } = fstab_line.kind {
            let target = target.map(|span| span.of(fstab.bytes()));
            line::bad(cx, fstab_line, reason, target, notices);
            continue;
        }
        let Some(entry) = fstab.entry(fstab_line).filter(|entry| entry.is_mount()) else {
            continue;
        };
        let wishes = wishes::of_line(cx, &entry);
        let target = Text(entry.target().into_owned());
        if let Some(lines) = duplicates.get(target.as_bytes()) {
            if !wishes.is_empty() && lines[0] == fstab_line.number {
                notices.error(
                    target.to_string(),
                    format!(
                        "`{target}` stands on {} of fstab: mount(8) and systemd use the first; keep one",
                        numbers(lines)
                    ),
                    None,
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
        let decided = line::decide(cx, &subject, &wishes, &mut superblocks, notices);
        remember(record, &target, &wishes);
        let Some(decided) = decided else { continue };
        out.pending.extend(decided.pending);
        if let Some(edit) = decided.edit {
            out.edits.push(edit);
        }
        out.changes.extend(decided.change);
    }
    tmpfs::add(cx, fstab, record, notices, &mut out);
    tmpfs::take_back(cx, fstab, record, &mut out);
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

/// Mount points that stand on more than one line, and those lines.
fn duplicates(fstab: &Fstab) -> BTreeMap<Vec<u8>, Vec<u32>> {
    let mut lines: BTreeMap<Vec<u8>, Vec<u32>> = BTreeMap::new();
    for (line, entry) in fstab.entries().filter(|(_, entry)| entry.is_mount()) {
        lines
            .entry(entry.target().into_owned())
            .or_default()
            .push(line.number);
    }
    lines.retain(|_, numbers| numbers.len() > 1);
    lines
}

/// `lines 1, 2 and 3`.
fn numbers(lines: &[u32]) -> String {
    let all: Vec<String> = lines.iter().map(u32::to_string).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("lines {} and {last}", rest.join(", ")),
        _ => format!("line {}", all.join("")),
    }
}

/// Keeps in the record what is wished now, with the value first found; forgets what is given back.
fn remember(record: &mut Record, target: &Text, wishes: &[Wish<'_>]) {
    let target = target.to_string();
    let slots: BTreeSet<&str> = wishes
        .iter()
        .filter(|wish| !wish.dropped)
        .map(|wish| wish.slot.as_str())
        .collect();
    let managed = record.options.entry(target.clone()).or_default();
    managed.retain(|slot, _| slots.contains(slot.as_str()));
    for wish in wishes.iter().filter(|wish| !wish.dropped) {
        let wrote = wish.token.clone();
        managed
            .entry(wish.slot.clone())
            .or_insert_with(|| Found {
                found: wish.found.clone(),
                wrote: None,
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
    }
}
