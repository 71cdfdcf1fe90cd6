//! One line of fstab: what its wishes make of it, in the file and on the mounted filesystem.

use super::list::List;
use super::live::{self, Way};
use super::wishes::Wish;
use super::{Context, Deciding, option};
use crate::format::fstab::{Edit, Entry, Line};
use crate::format::text::Text;
use crate::knowledge::options;
use crate::plan::guard;
use crate::plan::notices::Notices;
use crate::plan::{LineChange, MountChange, OptionChange, Pending, When};

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
    list: &List<'_>,
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
    let fstype = list.fstype.as_str();
    if !list.is_sound(cx, target, notices) {
        return None;
    }

    let mounted = cx
        .layers
        .mount_at(target.as_bytes())
        .filter(|mount| live::same_type(fstype, &mount.fstype));
    let mut rows: Vec<OptionChange> = Vec::with_capacity(list.wishes.len());
    let mut pending = Vec::new();
    let mut remount = mounted.map(|mount| live::Remount::new(cx, mount));
    let wishes = list.wishes.iter().zip(&list.edits).zip(&list.places);
    for ((wish, edited), place) in wishes {
        let way = match &mut remount {
            Some(remount) => remount.wish(cx, target, fstype, wish, notices),
            None => Way::NotMounted,
        };
        if let (Some(mount), Some(token)) = (mounted, &wish.token)
            && live::per_superblock(fstype, token)
            && let Some((other, at)) = superblocks.wish(&mount.device, &wish.slot, token, target)
        {
            notices.error(
                target.to_string(),
                format!(
                    "`{at}` and `{target}` are one filesystem and share its options: `{other}` for one and `{token}` for the other cannot both be"
                ),
                wish.place(cx),
            );
        }
        let from = rows.len();
        row(cx, target, wish, *edited, way, &mut rows, &mut pending);
        for row in &mut rows[from..] {
            row.origin.clone_from(place);
            if wish.dropped {
                row.why.get_or_insert("no longer in the state".to_owned());
            }
        }
    }
    let edited = list.after != entry.options() && cx.only.files();
    let live = remount
        .filter(|_| cx.only.live())
        .and_then(live::Remount::finish);
    rows.retain(|row| match row.when {
        When::NowAndBoot => true,
        When::Now => live.is_some(),
        When::Boot => edited,
    });
    if edited && cx.facts.units.contains_key(&*target.to_str()) {
        let place = list.wishes.iter().find_map(|wish| wish.place(cx));
        if super::tmpfs::unit_in_the_way(cx, &target.to_str(), place, notices) {
            return None;
        }
    }
    guard::mounts::boots(cx, target, &entry.source(), list, notices);
    guard::mounts::line(cx, target, list, mounted, notices);
    if edited {
        crlf(cx, line, &list.wishes, notices);
    }
    let change = (!rows.is_empty()).then(|| MountChange {
        target: (*target).clone(),
        fstype: fstype.to_owned(),
        line: if edited {
            LineChange::Edit
        } else {
            LineChange::Keep
        },
        options: rows,
        live,
    });
    Some(Decided {
        edit: edited.then(|| Edit::Options {
            line: line.number,
            list: list.after.clone(),
        }),
        change,
        pending,
    })
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

/// The harm that CRLF does on a line that is edited.
fn crlf(cx: &Context<'_>, line: &Line, wishes: &[Wish<'_>], notices: &mut Notices) {
    let Some(text) = line.crlf_warning() else {
        return;
    };
    let allow = wishes.iter().find_map(|wish| wish.allow);
    let none = std::collections::BTreeSet::new();
    notices.warn(
        "crlf",
        allow.unwrap_or(&none),
        format!("`{}` {text}", cx.facts.fstab.path),
        None,
    );
}
