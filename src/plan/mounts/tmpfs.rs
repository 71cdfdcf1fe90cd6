//! `[[tmpfs]]`: wishes on a line that is there, or a line of its own.

use std::collections::HashSet;

use super::lines::Lines;
use super::list::List;
use super::wishes::{Rules, Wish};
use super::{Context, Deciding, Outcome, line, option};
use crate::facts::InTheWay;
use crate::format::fstab::{Edit, Fstab, Kind, NewEntry};
use crate::format::mount_options;
use crate::format::octal;
use crate::format::text::Text;
use crate::plan::notices::Notices;
use crate::plan::record::Record;
use crate::plan::{LineChange, MountChange, OptionChange, Pending, When};
use crate::state::{At, TmpfsRule};

/// All options of a rule, as they are written: those it lists, then mode and size.
pub(super) fn options(rule: &TmpfsRule) -> Vec<At<String>> {
    let mut all = rule.options.clone();
    let keyed = |key: &str, at: &At<String>| At {
        value: format!("{key}={}", at.value),
        origin: at.origin,
    };
    all.extend(rule.mode.iter().map(|mode| keyed("mode", mode)));
    all.extend(rule.size.iter().map(|size| keyed("size", size)));
    all
}

/// Adds the lines that are not there, and checks what is in their way.
pub(super) fn add<'a>(
    cx: &Context<'a>,
    rules: &Rules<'a>,
    lines: &Lines<'_>,
    deciding: &mut Deciding<'_>,
    out: &mut Outcome,
) {
    let mut done: HashSet<&str> = HashSet::new();
    for rule in &cx.state.tmpfs {
        let target = rule.target.value.as_str();
        if !rule.when.holds(&cx.machine) || !done.insert(target) {
            continue;
        }
        let origin = Some(cx.place(rule.target.origin));
        if let Some(line) = lines.about(target.as_bytes()).first() {
            another_type(lines.fstab(), line, target, origin, deciding.notices);
            out.pending
                .extend(not_mounted(cx, lines.fstab(), line, out, target));
            continue;
        }
        if unit_in_the_way(cx, target, origin.clone(), deciding.notices)
            || no_directory(cx, target, origin, deciding.notices)
        {
            continue;
        }
        if cx.only.files() {
            new_line(cx, rules, target, deciding, out);
        }
    }
}

/// What a line that is there waits for: systemd mounts it at the next boot, and nothing before.
fn not_mounted(
    cx: &Context<'_>,
    fstab: &Fstab,
    line: &crate::format::fstab::Line,
    out: &Outcome,
    target: &str,
) -> Option<Pending> {
    let entry = fstab.entry(line).filter(|e| *e.fstype() == *b"tmpfs")?;
    let by_hand = mount_options::split(entry.options()).any(|option| option == b"noauto");
    let mounted = cx.layers.mount_at(target.as_bytes());
    let changes = out
        .changes
        .iter()
        .any(|change| change.target.as_bytes() == target.as_bytes());
    let unit = cx.facts.units.get(target);
    let in_the_way = unit.is_some_and(|unit| (unit.masked || unit.overrides_fstab) && !unit.ours);
    let waits = !(cx.facts.offline
        || by_hand
        || in_the_way
        || changes
        || mounted.is_some_and(|mount| mount.fstype == "tmpfs"));
    waits.then(|| Pending {
        target: Text::from(target),
        option: "tmpfs".to_owned(),
        now: None,
        why: "nothing is mounted there yet".to_owned(),
    })
}

/// A line of another type is not turned into a tmpfs; one that readers read differently was
/// refused already.
fn another_type(
    fstab: &Fstab,
    line: &crate::format::fstab::Line,
    target: &str,
    origin: Option<String>,
    notices: &mut Notices,
) {
    if !matches!(line.kind, Kind::Entry(_)) {
        return;
    }
    let Some(entry) = fstab.entry(line).filter(|e| *e.fstype() != *b"tmpfs") else {
        return;
    };
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

/// systemd cannot mount over a file, and a mount that fails stops the boot; what is mounted over a
/// link has another name afterwards, under which nobody would find it.
fn no_directory(
    cx: &Context<'_>,
    target: &str,
    origin: Option<String>,
    notices: &mut Notices,
) -> bool {
    let text = match cx.facts.in_the_way.get(target) {
        None => return false,
        Some(InTheWay::Link(to)) => {
            format!("`{target}` leads through a link to `{to}`: write that name")
        }
        Some(InTheWay::NotADirectory) => format!(
            "`{target}` is no directory, and nothing can be mounted there: the boot would stop at that"
        ),
    };
    notices.error(target, text, origin);
    true
}

/// A masked unit disables the fstab line too; a unit file of the administrator's wins over it.
pub(super) fn unit_in_the_way(
    cx: &Context<'_>,
    target: &str,
    origin: Option<String>,
    notices: &mut Notices,
) -> bool {
    let Some(unit) = cx.facts.units.get(target) else {
        return false;
    };
    let name = crate::facts::mount_unit(target.as_bytes());
    let text = if unit.masked && !unit.ours {
        format!(
            "`{name}` is masked by `{}`, and a masked unit disables the fstab line too: run `systemctl unmask {name}` first",
            unit.path
        )
    } else if unit.overrides_fstab && !unit.masked {
        format!(
            "`{}` wins over a line of fstab: take it away, or put the options there",
            unit.path
        )
    } else {
        return false;
    };
    notices.error(target, text, origin);
    true
}

/// `tmpfs TARGET tmpfs defaults,OPTIONS,mode=,size= 0 0`: never mounted live over a folder in use.
///
/// The line is decided over as if it stood there with `defaults`, so that rules on mounts that
/// match it count too, and the next plan finds nothing more to do.
fn new_line<'a>(
    cx: &Context<'a>,
    rules: &Rules<'a>,
    target: &str,
    deciding: &mut Deciding<'_>,
    out: &mut Outcome,
) {
    let blank = [
        b"tmpfs ",
        &*octal::encode(target.as_bytes()),
        b" tmpfs defaults 0 0\n",
    ]
    .concat();
    let fstab = Fstab::parse(blank);
    let Some((line, entry)) = fstab.entries().next() else {
        let at = cx
            .state
            .tmpfs
            .iter()
            .find(|rule| rule.target.value == target);
        deciding.notices.error(
            target,
            format!(
                "the line of fstab for `{target}` would be longer than 4095 bytes, of which systemd reads no more"
            ),
            at.map(|rule| cx.place(rule.target.origin)),
        );
        return;
    };
    let matched = rules.matching(cx, &entry, target, "tmpfs");
    deciding.matches.note(rules, &matched, target);
    let list = entry.options();
    let mut wishes = rules.wishes(&matched, rules.tmpfs(target), "tmpfs", list);
    // As options() orders them within a rule, so over all rules: options, mode, size.
    wishes.sort_by_key(|wish| match wish.slot.as_str() {
        "mode" => 1,
        "size" => 2,
        _ => 0,
    });
    // The line is ours: an option that the rule drops later simply goes.
    for wish in &mut wishes {
        wish.found = None;
    }
    let name = Text::from(target);
    let subject = line::Subject {
        line,
        entry,
        target: &name,
    };
    let list = List::new(cx, "tmpfs", list, wishes);
    let wishes = &list.wishes;
    let Some(decided) = line::decide(cx, &subject, &list, deciding) else {
        return;
    };
    super::remember(cx, deciding.record, &name, wishes);
    if !deciding.record.added.iter().any(|added| added == target) {
        deciding.record.added.push(target.to_owned());
    }
    let options = match decided.edit {
        Some(Edit::Options { list, .. }) => list,
        _ => b"defaults".to_vec(),
    };
    out.edits.push(Edit::Append {
        fields: NewEntry {
            source: b"tmpfs".to_vec(),
            target: target.as_bytes().to_vec(),
            fstype: b"tmpfs".to_vec(),
            options,
            freq: 0,
            passno: 0,
        },
    });
    let (options, live) = match decided.change {
        Some(change) => (rows(change.options, wishes), change.live),
        None => (Vec::new(), None),
    };
    out.changes.push(MountChange {
        target: name,
        fstype: "tmpfs".to_owned(),
        line: LineChange::Add,
        options,
        live,
    });
}

/// The rows of a new line: that it is not mounted yet goes without saying, and what it is like
/// comes first.
fn rows(mut rows: Vec<OptionChange>, wishes: &[Wish<'_>]) -> Vec<OptionChange> {
    let rank = |row: &OptionChange| {
        let wish = wishes.iter().find(|wish| wish.token == row.to);
        match wish.map(|wish| wish.slot.as_str()) {
            Some("size") => 0,
            Some("mode") => 1,
            _ => 2,
        }
    };
    rows.sort_by_key(rank);
    for row in rows.iter_mut().filter(|row| row.when == When::Boot) {
        row.why = None;
    }
    rows
}

/// Takes out the lines that ssdtune added and nobody asks for any more.
pub(super) fn take_back(
    cx: &Context<'_>,
    rules: &Rules<'_>,
    lines: &Lines<'_>,
    record: &mut Record,
    out: &mut Outcome,
) {
    if !cx.only.files() {
        return;
    }
    let mut gone: HashSet<&str> = HashSet::new();
    let mut removed = HashSet::new();
    for target in &cx.record.added {
        if !rules.tmpfs(target).is_empty() {
            continue;
        }
        gone.insert(target);
        record.options.remove(target);
        let [line] = lines.about(target.as_bytes()) else {
            continue;
        };
        let entry = lines.fstab().entry(line);
        if entry.is_none_or(|entry| *entry.fstype() != *b"tmpfs") {
            continue;
        }
        removed.insert(line.number);
    }
    record.added.retain(|added| !gone.contains(added.as_str()));
    if removed.is_empty() {
        return;
    }
    out.edits
        .retain(|edit| !matches!(edit, Edit::Options { line, .. } if removed.contains(line)));
    out.changes
        .retain(|change| !gone.contains(change.target.to_string().as_str()));
    for target in &cx.record.added {
        let [line] = lines.about(target.as_bytes()) else {
            continue;
        };
        if !removed.remove(&line.number) {
            continue;
        }
        out.edits.push(Edit::Remove { line: line.number });
        let mut row = option(Some("tmpfs".to_owned()), None);
        row.when = When::Boot;
        row.why = Some("no longer in the state".to_owned());
        out.changes.push(MountChange {
            target: Text::from(target.as_str()),
            fstype: "tmpfs".to_owned(),
            line: LineChange::Remove,
            options: vec![row],
            live: None,
        });
    }
}
