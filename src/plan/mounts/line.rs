//! One line of fstab: what its wishes make of it, in the file and on the mounted filesystem.

use super::live::{self, Way};
use super::wishes::Wish;
use super::{Context, Deciding, line_change, option};
use crate::format::fstab::{Edit, Entry, Line};
use crate::format::mount_options;
use crate::format::text::Text;
use crate::knowledge::options::{self, Found as Known};
use crate::plan::notices::Notices;
use crate::plan::{MountChange, OptionChange, Pending, When};

/// What is to be done about one line.
pub(super) struct Decided {
    pub change: Option<MountChange>,
    pub edit: Option<Edit>,
    pub pending: Vec<Pending>,
}

/// The line that is decided over.
pub(super) struct Subject<'a> {
    pub line: &'a Line,
    pub entry: Entry<'a>,
    pub target: &'a Text,
}

/// Decides over a line; none where an error stands in the way.
pub(super) fn decide(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    wishes: &[Wish<'_>],
    deciding: &mut Deciding<'_>,
) -> Option<Decided> {
    let Deciding {
        notices,
        superblocks,
        ..
    } = deciding;
    let Subject {
        line,
        entry,
        target,
    } = subject;
    let fstype = String::from_utf8_lossy(&entry.fstype()).into_owned();
    let before = entry.options();
    let mounted = cx
        .layers
        .mount_at(target.as_bytes())
        .filter(|mount| live::same_type(&fstype, &mount.fstype));
    let mut sound = true;
    for wish in wishes {
        sound &= known(cx, target, &fstype, wish, notices);
    }
    if !sound {
        return None;
    }

    let mut after = before.to_vec();
    let mut rows: Vec<OptionChange> = Vec::new();
    let mut pending = Vec::new();
    let mut remount = mounted.map(|mount| live::Remount::new(cx, mount));
    for wish in wishes {
        let list = apply(&after, &fstype, wish);
        let edited = list != after;
        after = list;
        let way = match &mut remount {
            Some(remount) => remount.wish(cx, target, &fstype, wish, notices),
            None => Way::NotMounted,
        };
        if let (Some(mount), Some(token)) = (mounted, &wish.token)
            && live::per_superblock(&fstype, token)
            && let Some((other, at)) = superblocks.wish(&mount.device, &wish.slot, token, target)
        {
            notices.error(
                target.to_string(),
                format!(
                    "`{at}` and `{target}` are one filesystem and share its options: `{other}` for one and `{token}` for the other cannot both be"
                ),
                wish.origin.map(|origin| cx.place(origin)),
            );
        }
        let from = rows.len();
        row(cx, target, wish, edited, way, &mut rows, &mut pending);
        for row in rows[from..].iter_mut().filter(|_| wish.dropped) {
            row.why.get_or_insert("no longer in the state".to_owned());
        }
    }
    let edited = after != before && cx.only.files();
    let live = remount
        .filter(|_| cx.only.live())
        .and_then(live::Remount::finish);
    rows.retain(|row| match row.when {
        When::NowAndBoot => true,
        When::Now => live.is_some(),
        When::Boot => edited,
    });
    let first = wishes.iter().find_map(|wish| wish.origin);
    if edited
        && super::tmpfs::unit_in_the_way(
            cx,
            &target.to_string(),
            first.map(|origin| cx.place(origin)),
            notices,
        )
    {
        return None;
    }
    let source = subject.entry.source();
    crate::plan::guard::mounts::boots(cx, target, &source, &after, wishes, notices);
    crate::plan::guard::mounts::line(cx, target, &fstype, &after, wishes, mounted, notices);
    line_notices(cx, line, wishes, edited, notices);
    let change = (!rows.is_empty()).then(|| MountChange {
        target: (*target).clone(),
        fstype,
        line: line_change(edited),
        options: rows,
        live,
    });
    Some(Decided {
        edit: edited.then_some(Edit::Options {
            line: line.number,
            list: after,
        }),
        change,
        pending,
    })
}

/// The list with one wish fulfilled; the same bytes where it is already.
fn apply(list: &[u8], fstype: &str, wish: &Wish<'_>) -> Vec<u8> {
    let in_slot = |item: &[u8]| options::slot(fstype, &String::from_utf8_lossy(item)) == wish.slot;
    match (&wish.token, &wish.without) {
        (Some(token), _) => {
            let members: Vec<&[u8]> = mount_options::split(list)
                .filter(|item| in_slot(item))
                .collect();
            if live::list_means(&members, token) {
                return list.to_vec();
            }
            // The record may bring back several members of a slot; they stand as they stood.
            mount_options::set(list, token.as_bytes(), in_slot)
        }
        (None, Some(name)) => mount_options::remove(list, |item| {
            mount_options::name(item) == name.as_bytes() || item == name.as_bytes()
        }),
        (None, None) => mount_options::remove(list, in_slot),
    }
}

/// Writes the row of one wish, and what waits.
pub(super) fn row(
    cx: &Context<'_>,
    target: &Text,
    wish: &Wish<'_>,
    edited: bool,
    way: Way,
    rows: &mut Vec<OptionChange>,
    pending: &mut Vec<Pending>,
) {
    if !edited && matches!(way, Way::Same | Way::FstabOnly | Way::NotMounted) {
        return;
    }
    let wanted = wish.token.clone();
    let gone = if wish.token.is_none() {
        wish.found.clone().or_else(|| wish.without.clone())
    } else {
        wish.found.clone()
    };
    let mut row = option(gone, wanted.clone());
    row.origin = wish
        .origin
        .map(|origin| cx.places(origin, &wish.overridden));
    let (when, why) = match (edited, way) {
        (false, Way::Same | Way::FstabOnly | Way::NotMounted) => return,
        (false, Way::Now { now }) => {
            row.from = now;
            (When::Now, None)
        }
        (false, Way::Wait { now, why }) => {
            if let Some(option) =
                wanted.or_else(|| wish.without.clone().map(|name| format!("no {name}")))
            {
                pending.push(Pending {
                    target: target.clone(),
                    option,
                    now,
                    why,
                });
            }
            return;
        }
        // It is so now, and will be at every boot.
        (true, Way::Same) => (cx.only.when(), None),
        (true, Way::FstabOnly) => (When::Boot, None),
        // Of an offline system nothing is known to be mounted, or not.
        (true, Way::NotMounted) if cx.facts.offline => (When::Boot, None),
        (true, Way::NotMounted) => (When::Boot, Some("not mounted now".to_owned())),
        (true, Way::Wait { why, .. }) => (When::Boot, Some(why)),
        (true, Way::Now { now }) => {
            if row.from.is_none() && wish.token.is_none() {
                row.from = now;
            }
            (cx.only.when(), None)
        }
    };
    row.when = when;
    row.why = why;
    row.kib = row
        .to
        .as_deref()
        .filter(|token| token.ends_with('%') && cx.facts.memory_kb > 0)
        .and_then(|token| options::size_kb(token, cx.facts.memory_kb));
    rows.push(row);
}

/// Is the option one of this filesystem, on this kernel?
fn known(
    cx: &Context<'_>,
    target: &Text,
    fstype: &str,
    wish: &Wish<'_>,
    notices: &mut Notices,
) -> bool {
    let Some(token) = &wish.token else {
        return true;
    };
    if wish.dropped {
        return true;
    }
    let origin = || wish.origin.map(|origin| cx.place(origin));
    let atime = wish.slot == options::slot(fstype, "noatime");
    if atime && !options::has_atime(fstype) && options::foreign(fstype).is_none() {
        let none = std::collections::BTreeSet::new();
        notices.warn(
            "no-effect",
            wish.allow.unwrap_or(&none),
            format!(
                "`{token}` on `{target}` has no effect: {fstype} keeps no access times on a disk"
            ),
            origin(),
        );
        return true;
    }
    if atime && let Some(answer) = options::foreign(fstype) {
        if options::is_network(fstype) {
            if let Some(allow) = wish.allow {
                notices.warn(
                    "no-effect",
                    allow,
                    format!("`{token}` on `{target}` ({fstype}): {answer}"),
                    origin(),
                );
            }
            return true;
        }
        notices.error(
            target.to_string(),
            format!("`{token}` on `{target}` ({fstype}): {answer}"),
            origin(),
        );
        return false;
    }
    let problem = match options::lookup(fstype, token) {
        Known::Known(_) => options::check(Some(fstype), token, cx.kernel).err(),
        Known::Gone { ignored: true, .. } => None,
        Known::Gone { .. } => options::check(Some(fstype), token, cx.kernel)
            .err()
            .or_else(|| Some(format!("`{token}` is gone from {fstype}"))),
        Known::OtherFilesystem(other) => Some(format!(
            "`{token}` is an option of {other}, and {fstype} refuses to mount with it: narrow the rule with `match.fstype`"
        )),
        Known::Unknown { nearest } => Some(match nearest {
            Some(nearest) => format!("{fstype} has no option `{token}`: did you mean `{nearest}`?"),
            None => format!(
                "{fstype} has no option `{token}` that ssdtune knows, and would not mount with an unknown one"
            ),
        }),
    };
    if let Some(problem) = problem {
        notices.error_of(&target.to_string(), problem, origin());
        return false;
    }
    true
}

/// The harm that CRLF does on a line that is edited.
fn line_notices(
    cx: &Context<'_>,
    line: &Line,
    wishes: &[Wish<'_>],
    edited: bool,
    notices: &mut Notices,
) {
    let Some(text) = line.crlf_warning() else {
        return;
    };
    if !edited {
        return;
    }
    let allow = wishes.iter().find_map(|wish| wish.allow);
    let none = std::collections::BTreeSet::new();
    notices.warn(
        "crlf",
        allow.unwrap_or(&none),
        format!("`{}` {text}", cx.facts.fstab.path),
        None,
    );
}
