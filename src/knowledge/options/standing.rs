//! Whether an option is in effect now, by meaning, and the way back from changing it.

use std::borrow::Cow;

use super::{Level, Live, MountOption, Unseen, name_of, row, values};

/// A mounted filesystem as mountinfo shows it.
#[derive(Debug, Clone, Copy)]
pub struct Mounted<'a> {
    /// Filesystem type.
    pub fstype: &'a str,
    /// Flags of this mount: the sixth field.
    pub flags: &'a [String],
    /// Options of the superblock: the last field.
    pub options: &'a [&'a str],
    /// MemTotal in KiB, which shares of memory refer to; 0 where it is not known.
    pub memory_kb: u64,
}

/// How a wanted option stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is in effect.
    InEffect,
    /// Something else is in effect.
    Differs {
        /// The token of the slot that is in effect; empty where the option is simply not set.
        now: String,
    },
    /// mountinfo does not say: an option that only fstab has, or one that is never shown.
    Unknowable,
}

/// What a slot has in effect.
enum Current<'a> {
    /// What mountinfo shows.
    Shown(&'a str),
    /// What it means that mountinfo shows nothing.
    Unseen(&'static str),
    /// Nothing is set.
    Unset,
    /// It cannot be told.
    Unknown,
}

/// Whether the wanted option is in effect now.
pub fn standing(item: &str, mounted: &Mounted) -> Standing {
    let Some(option) = alive(item, mounted) else {
        return Standing::Unknowable;
    };
    match current(option, item, mounted) {
        Current::Unknown => Standing::Unknowable,
        Current::Unset => Standing::Differs { now: String::new() },
        Current::Shown(now) | Current::Unseen(now) => {
            if same(option, item, now, mounted) {
                Standing::InEffect
            } else {
                Standing::Differs {
                    now: now.to_owned(),
                }
            }
        }
    }
}

/// The token which, set by a live remount, gives back what is in effect now; none where there is no
/// proven way back.
pub fn undo(item: &str, mounted: &Mounted) -> Option<String> {
    let option = alive(item, mounted).filter(|option| option.live == Live::Yes)?;
    let now = match current(option, item, mounted) {
        Current::Shown(now) | Current::Unseen(now) => now,
        Current::Unset | Current::Unknown => return None,
    };
    row(mounted.fstype, now).filter(|back| back.live == Live::Yes)?;
    match option.slot() {
        "size" => {
            may_shrink(option, item, now, mounted)?;
            Some(half_of_memory(now, mounted).unwrap_or_else(|| now.to_owned()))
        }
        "nr_inodes" => {
            may_shrink(option, item, now, mounted)?;
            Some(now.to_owned())
        }
        _ => Some(now.to_owned()),
    }
}

/// A token that every live change of this filesystem must repeat, or the kernel drops it: any
/// reconfiguration of xfs without inode32 turns it into inode64.
pub fn repeated(mounted: &Mounted) -> Option<&'static str> {
    (mounted.fstype == "xfs" && mounted.options.contains(&"inode32")).then_some("inode32")
}

/// The row of an option that the kernel acts on.
fn alive(item: &str, mounted: &Mounted) -> Option<&'static MountOption> {
    row(mounted.fstype, item).filter(|option| option.gone.is_none() && option.level != Level::Fstab)
}

/// What the slot of `option` has in effect.
fn current<'a>(option: &MountOption, item: &str, mounted: &Mounted<'a>) -> Current<'a> {
    // Read-only may stand with the mount or with the superblock; either is enough.
    if option.slot() == "rw" {
        let flags = mounted.flags.iter().map(String::as_str);
        let read_only = flags
            .chain(mounted.options.iter().copied())
            .any(|o| o == "ro");
        return Current::Unseen(if read_only { "ro" } else { "rw" });
    }
    let in_slot = |token: &&'a str| {
        row(mounted.fstype, token).is_some_and(|shown| {
            shown.level == option.level
                && shown.slot() == option.slot()
                // Those that stand side by side are each a slot of their own.
                && (!option.repeatable || same(option, item, token, mounted))
        })
    };
    let shown = match option.level {
        Level::PerMount => mounted.flags.iter().map(String::as_str).rfind(in_slot),
        Level::Superblock => mounted.options.iter().copied().rfind(in_slot),
        Level::Fstab => None,
    };
    match (shown, option.unseen) {
        (Some(token), _) => Current::Shown(token),
        (None, Unseen::Token(token)) => Current::Unseen(token),
        (None, Unseen::Unset) => Current::Unset,
        (None, Unseen::Unknown) => Current::Unknown,
    }
}

/// Whether two tokens of a slot mean the same.
fn same(option: &MountOption, wanted: &str, now: &str, mounted: &Mounted) -> bool {
    let memory_kb = mounted.memory_kb;
    let wanted_spelling = values::canonical(option, wanted, memory_kb);
    let now_spelling = match row(mounted.fstype, now) {
        Some(shown) => values::canonical(shown, now, memory_kb),
        None => Cow::Borrowed(now),
    };
    if wanted_spelling == now_spelling {
        return true;
    }
    if option.slot() != "size" {
        return false;
    }
    match (amount(&wanted_spelling), amount(&now_spelling)) {
        (Some(wanted_bytes), Some(now_bytes)) => {
            same_size(wanted_bytes, now_bytes, wanted.ends_with('%'))
        }
        _ => false,
    }
}

/// Whether a tmpfs of the first size would show the second. The kernel rounds up to pages, of 64
/// KiB at most; a share is taken of what memory there was when it was mounted, and a balloon driver
/// may have moved it since.
fn same_size(wanted: u64, shown: u64, share: bool) -> bool {
    const LARGEST_PAGE: u64 = 64 << 10;
    if wanted == 0 || shown == 0 {
        return wanted == shown;
    }
    let rounded_up = shown >= wanted && shown - wanted < LARGEST_PAGE;
    rounded_up || share && wanted.abs_diff(shown) <= (wanted / 200).max(LARGEST_PAGE)
}

/// The number of a canonical spelling.
fn amount(spelling: &str) -> Option<u64> {
    spelling.split_once('=')?.1.parse().ok()
}

/// Some where a change from `now` to `item` can be taken back: what has grown may fill up and then
/// cannot shrink, and a limit never comes back once it is gone.
fn may_shrink(option: &MountOption, item: &str, now: &str, mounted: &Mounted) -> Option<()> {
    let wanted = amount(&values::canonical(option, item, mounted.memory_kb))?;
    let current = row(mounted.fstype, now)?;
    let now = amount(&values::canonical(current, now, mounted.memory_kb))?;
    (wanted != 0 && now != 0 && wanted <= now).then_some(())
}

/// tmpfs' default is half the pages of memory, rounded down; `size=50%` rounds up, and would be
/// shown.
fn half_of_memory(now: &str, mounted: &Mounted) -> Option<String> {
    let is_default = name_of(now) == "size" && now.ends_with('%');
    (is_default && mounted.memory_kb > 0).then(|| format!("size={}k", mounted.memory_kb / 8 * 4))
}

#[cfg(test)]
mod tests;
