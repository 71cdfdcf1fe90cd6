//! Lines of fstab and the mounts that they stand for: what the rules wish, what differs.

mod bad;
mod between;
mod line;
mod lines;
mod list;
mod live;
mod masks;
mod missing;
mod names;
mod tmpfs;
mod wishes;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::context::Context;
use super::notices::Notices;
use super::record::{Found, Record};
use super::{MountChange, OptionChange, Pending};
use crate::format::fstab::{Edit, Fstab, Kind};
use crate::format::text::Text;
pub(crate) use between::between;
use lines::Lines;
pub(super) use list::List;
use list::Lists;
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
    let mut lists = Lists::default();
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
        let (name, fstype) = (target.to_str(), entry.fstype());
        let fstype = String::from_utf8_lossy(&fstype);
        let before = entry.options();
        let matched = rules.matching(cx, &entry, &name, &fstype);
        deciding.matches.note(&rules, &matched, &name);
        // A tmpfs rule on a line of another type is an error of its own.
        let tmpfs = match &*fstype {
            "tmpfs" => rules.tmpfs(&name),
            _ => &[],
        };
        let managed = cx.record.options.contains_key(&*name);
        if matched.is_empty() && tmpfs.is_empty() && !managed {
            continue;
        }
        let mut list = if tmpfs.is_empty() {
            lists.of(cx, &rules, &matched, &fstype, before)
        } else {
            let wishes = rules.wishes(&matched, tmpfs, &fstype, before);
            Rc::new(List::new(cx, &fstype, before, wishes))
        };
        if !list.wishes.is_empty()
            && let [first, _, ..] = lines.about(target.as_bytes())
        {
            if said.insert(first.number) {
                twice(cx, &lines, &target, &list.wishes, deciding.notices);
            }
            continue;
        }
        let dropped = wishes::dropped(cx, &name, &fstype, before, &list.wishes);
        if !dropped.is_empty() {
            let wishes = list.wishes.iter().cloned().chain(dropped).collect();
            list = Rc::new(List::new(cx, &fstype, before, wishes));
        }
        let subject = line::Subject {
            line: fstab_line,
            entry,
            target: &target,
        };
        let decided = line::decide(cx, &subject, &list, &mut deciding);
        remember(cx, deciding.record, &target, &list.wishes);
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

/// Of a mount point with several lines none is edited.
fn twice(
    cx: &Context<'_>,
    lines: &Lines<'_>,
    target: &Text,
    wishes: &[Wish<'_>],
    notices: &mut Notices,
) {
    let all = lines.about(target.as_bytes()).iter();
    let numbers: Vec<u32> = all.map(|line| line.number).collect();
    notices.error(
        target.to_string(),
        format!(
            "`{target}` stands on {} of fstab: mount(8) and systemd use the first; keep one",
            crate::plan::notices::numbers(&numbers)
        ),
        wishes.iter().find_map(|wish| wish.place(cx)),
    );
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
fn remember(cx: &Context<'_>, record: &mut Record, target: &Text, wishes: &[Wish<'_>]) {
    let target = target.to_str();
    let known = cx.record.options.contains_key(&*target);
    let as_found = |wish: &Wish<'_>| wish.dropped || wish.found == wish.token;
    if !known && wishes.iter().all(as_found) {
        return;
    }
    let wished = wishes.iter().filter(|wish| !wish.dropped);
    let now: Vec<(String, Found)> = wished
        .map(|wish| {
            let found = Found {
                found: wish.found.clone(),
                wrote: wish.token.clone(),
                under: None,
            };
            (wish.slot.clone(), found)
        })
        .collect();
    if now.is_empty() {
        record.options.remove(&*target);
    } else {
        let managed = record.options.entry(target.into_owned()).or_default();
        managed.note(now);
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
