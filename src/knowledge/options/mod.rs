//! Mount options: slots, values, whether a remount changes them, and how mountinfo shows them.
//!
//! Options that replace one another share a slot. Each slot has one value in effect: what mountinfo
//! shows, or what it means that it shows nothing. Whether a wish is in effect is asked by comparing
//! canonical spellings within the slot.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::{Kernel, nearest};

mod btrfs;
mod check;
mod ext4;
mod ext4_rare;
mod f2fs;
mod filesystems;
mod fstab;
mod needs;
#[cfg(test)]
mod on_linux;
mod standing;
mod tmpfs;
mod values;
mod vfat;
mod vfs;
mod xfs;

pub use check::check;
pub use filesystems::{foreign, has_atime, is_local_disk, is_network};
pub use needs::needs;
pub use standing::{Mounted, Standing, repeated, standing, undo};

/// One mount option.
#[derive(Debug, Clone, Copy)]
pub struct MountOption {
    /// Filesystem types that have it; empty: every one.
    pub fs: &'static [&'static str],
    /// Its name, without a value; `x-*` stands for all that begin so.
    pub name: &'static str,
    /// What it shares with the options that replace it; empty: its own name.
    pub slot: &'static str,
    /// True where several of them stand side by side, each a slot of its own.
    pub repeatable: bool,
    /// What may stand after `=`.
    pub value: ValueKind,
    /// Unit of a number, empty where it has none.
    pub unit: &'static str,
    /// Who acts on it.
    pub level: Level,
    /// Whether a remount changes it.
    pub live: Live,
    /// What is in effect where mountinfo shows nothing of the slot.
    pub unseen: Unseen,
    /// Values (empty: none written) that mean the same as another token of the slot.
    pub alias: &'static [(&'static str, &'static str)],
    /// First kernel that has it, where later than 4.19.
    pub since: Option<Kernel>,
    /// Since when it is no longer there.
    pub gone: Option<Gone>,
    /// What may be lost with it.
    pub risk: Risk,
    /// What it does.
    pub meaning: &'static str,
    /// Where that is written: man page or kernel file, and how it was checked.
    pub source: &'static str,
}

/// What may stand after `=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Nothing, and no `=` either.
    Flag,
    /// Nothing, or a value of this kind.
    Optional(&'static ValueKind),
    /// A whole decimal number within bounds.
    Number {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// 0, or a power of two up to this one.
    PowerOfTwo(u64),
    /// Bytes, or with a suffix k, m, g, t, p, e.
    Size {
        /// Smallest, in bytes.
        min: u64,
        /// Largest, in bytes.
        max: u64,
        /// Powers of two only.
        power_of_two: bool,
    },
    /// A size, or `N%` of memory.
    SizeOrPercent,
    /// A count with a suffix k, m, g (powers of 1024).
    Count,
    /// Permission bits in octal.
    Octal,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words, with `:LEVEL` within bounds where they are given.
    Leveled(&'static [(&'static str, Option<(i32, i32)>)]),
    /// Any text.
    Text,
}

/// Who acts on an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The kernel, for one mount (mountinfo's sixth field).
    PerMount,
    /// The kernel, for the filesystem and all its mounts (mountinfo's last field).
    Superblock,
    /// mount(8), systemd or another reader of fstab: never shown.
    Fstab,
}

/// Whether a remount changes an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    /// Yes, both ways.
    Yes,
    /// The kernel refuses the whole remount.
    Refused(&'static str),
    /// The kernel reports success and changes nothing.
    Ignored(&'static str),
    /// A remount sets it, and none takes it back.
    OneWay(&'static str),
}

/// What is in effect where mountinfo shows nothing of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// What this token would give; a remount with it is the way back.
    Token(&'static str),
    /// The option is not set, and no token says so.
    Unset,
    /// It cannot be told.
    Unknown,
}

/// Since when an option is no longer there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    /// First kernel without it.
    pub since: Kernel,
    /// True where it is taken and does nothing; else the mount fails.
    pub ignored: bool,
    /// What to do instead.
    pub instead: &'static str,
}

/// What may be lost with an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Risk {
    /// Nothing.
    None,
    /// Data, and why.
    DataLoss(&'static str),
    /// Data with these values, and why; a value with `:` is met by its front.
    DataLossWith(&'static [&'static str], &'static str),
}

/// What is known of an option on a filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It is there.
    Known(&'static MountOption),
    /// It was, on older kernels.
    Gone {
        /// Its name.
        name: &'static str,
        /// First kernel without it.
        since: Kernel,
        /// True where the kernel takes it and does nothing; else the mount fails.
        ignored: bool,
        /// That, in words, and what to do instead.
        what: String,
    },
    /// Not on this filesystem, but on these.
    OtherFilesystem(String),
    /// Nowhere.
    Unknown {
        /// The name that was probably meant.
        nearest: Option<&'static str>,
    },
}

impl MountOption {
    /// What rows are made from.
    const BLANK: Self = Self {
        fs: &[],
        name: "",
        slot: "",
        repeatable: false,
        value: ValueKind::Flag,
        unit: "",
        level: Level::Superblock,
        live: Live::Yes,
        unseen: Unseen::Unknown,
        alias: &[],
        since: None,
        gone: None,
        risk: Risk::None,
        meaning: "",
        source: "",
    };

    /// What it shares with the options that replace it.
    pub fn slot(&self) -> &'static str {
        if self.slot.is_empty() {
            self.name
        } else {
            self.slot
        }
    }

    fn is_of(&self, fstype: &str) -> bool {
        self.fs.is_empty() || fstype.split(',').any(|name| self.fs.contains(&name))
    }

    /// Whether it goes by this name (the part before `=`).
    fn is_named(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(front) => name.starts_with(front),
            None => self.name == name,
        }
    }

    /// The filesystem, as an error names it.
    fn owner(&self) -> &'static str {
        self.fs.first().copied().unwrap_or("Linux")
    }

    fn missing_from(&self, kernel: Kernel) -> bool {
        self.gone.is_some_and(|gone| kernel >= gone.since)
    }
}

impl PartialEq for MountOption {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.fs == other.fs
    }
}

impl Eq for MountOption {}

/// A filesystem's own options come before those of every filesystem, which they may override.
const TABLES: [&[MountOption]; 9] = [
    ext4::OPTIONS,
    ext4_rare::OPTIONS,
    xfs::OPTIONS,
    btrfs::OPTIONS,
    f2fs::OPTIONS,
    tmpfs::OPTIONS,
    vfat::OPTIONS,
    vfs::OPTIONS,
    fstab::OPTIONS,
];

/// The size in KiB that a tmpfs option asks for, shares of memory counted.
pub fn size_kb(item: &str, memory_kb: u64) -> Option<u64> {
    let bytes = values::bytes(item.strip_prefix("size=")?, memory_kb)?;
    Some(bytes.div_ceil(1024))
}

/// Every option of every filesystem, those that are gone included.
pub fn all() -> impl Iterator<Item = &'static MountOption> {
    TABLES.into_iter().flatten()
}

/// The name of an option: the part before `=`.
pub(crate) fn name_of(item: &str) -> &str {
    item.split_once('=').map_or(item, |(name, _)| name)
}

/// The row of an option that is there, or was, on a filesystem type (or one of several, with
/// commas between them; `auto` may be any).
fn row(fstype: &str, item: &str) -> Option<&'static MountOption> {
    named(name_of(item)).find(|option| fstype == "auto" || option.is_of(fstype))
}

/// Every option, by name, those of one name in the order of the tables: an fstab of thousands of
/// lines asks for thousands of names.
static BY_NAME: LazyLock<Vec<&MountOption>> = LazyLock::new(|| {
    let mut options: Vec<&MountOption> = all().collect();
    options.sort_by_key(|option| option.name);
    options
});

/// The options that go by a name, in the order of the tables.
fn named(name: &str) -> impl Iterator<Item = &'static MountOption> {
    let start = BY_NAME.partition_point(|option| option.name < name);
    let exact = BY_NAME[start..]
        .iter()
        .take_while(move |option| option.name == name);
    let families = FAMILIES.iter().filter(move |option| option.is_named(name));
    exact.chain(families).copied()
}

/// Those that stand for all names of one beginning (`x-*`).
static FAMILIES: LazyLock<Vec<&MountOption>> =
    LazyLock::new(|| all().filter(|option| option.name.ends_with('*')).collect());

/// What is known of an option (`noatime`, `commit=60`) on a filesystem type.
///
/// Of types without a table (nfs4, zfs, fuse) only the options of every filesystem are known.
pub fn lookup(fstype: &str, item: &str) -> Found {
    let name = name_of(item);
    match row(fstype, item) {
        Some(option) => match option.gone {
            Some(gone) => Found::Gone {
                name: option.name,
                since: gone.since,
                ignored: gone.ignored,
                what: farewell(option, gone),
            },
            None => Found::Known(option),
        },
        None => match filesystems::owners(name) {
            Some(elsewhere) => Found::OtherFilesystem(elsewhere),
            None => {
                let ours = all().filter(|option| option.is_of(fstype) && option.gone.is_none());
                Found::Unknown {
                    nearest: nearest(name, ours.map(|option| option.name)),
                }
            }
        },
    }
}

/// "`nobarrier` was removed from xfs in Linux 4.19: leave it out …".
fn farewell(option: &MountOption, gone: Gone) -> String {
    let (name, owner, since) = (option.name, option.owner(), gone.since);
    let instead = gone.instead;
    if gone.ignored {
        format!("`{name}` does nothing on {owner} since Linux {since}: {instead}")
    } else {
        format!("`{name}` was removed from {owner} in Linux {since}: {instead}")
    }
}

/// The slot of an option: what replaces what. An unknown option's slot is its name; of those that
/// stand side by side, each is its own.
pub fn slot<'a>(fstype: &str, item: &'a str) -> Cow<'a, str> {
    Cow::Borrowed(match row(fstype, item) {
        Some(option) if option.repeatable => item,
        Some(option) if !option.name.ends_with('*') => option.slot(),
        _ => name_of(item),
    })
}

/// Why data may be lost with this option on this filesystem.
pub fn risk(fstype: &str, item: &str) -> Option<&'static str> {
    let option = row(fstype, item)?;
    match option.risk {
        Risk::None => None,
        Risk::DataLoss(why) => Some(why),
        Risk::DataLossWith(values, why) => {
            let value = item.split_once('=').map_or("", |(_, value)| value);
            let front = value.split(':').next().unwrap_or(value);
            (values.contains(&value) || values.contains(&front)).then_some(why)
        }
    }
}

/// True where `/` takes the option only when it is mounted for the first time, so that it belongs
/// to `rootflags=` on the kernel's command line: at boot fstab's options reach `/` by a remount,
/// which refuses them (and leaves `/` read-only) or ignores them.
pub fn needs_fresh_mount_on_root(fstype: &str, item: &str) -> bool {
    row(fstype, item).is_some_and(|option| {
        option.level == Level::Superblock
            && matches!(option.live, Live::Refused(_) | Live::Ignored(_))
    })
}

#[cfg(test)]
mod tests;
