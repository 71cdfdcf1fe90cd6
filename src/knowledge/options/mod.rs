//! Mount options: slots, values, whether a remount changes them, and how mountinfo shows them.
//!
//! Options that replace one another share a slot. Each slot has one value in effect: what mountinfo
//! shows, or what it means that it shows nothing. Whether a wish is in effect is asked by comparing
//! canonical spellings within the slot.

use std::borrow::Cow;

use super::{Kernel, nearest};

mod btrfs;
mod check;
mod ext4;
mod f2fs;
mod filesystems;
mod fstab;
mod standing;
mod tmpfs;
mod values;
mod vfat;
mod vfs;
mod xfs;

pub use check::check;
pub use filesystems::{foreign, has_atime, is_local_disk, is_network};
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
    /// Not on this filesystem, but on this one.
    OtherFilesystem(&'static str),
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
const TABLES: [&[MountOption]; 8] = [
    ext4::OPTIONS,
    xfs::OPTIONS,
    btrfs::OPTIONS,
    f2fs::OPTIONS,
    tmpfs::OPTIONS,
    vfat::OPTIONS,
    vfs::OPTIONS,
    fstab::OPTIONS,
];

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
    let name = name_of(item);
    all()
        .filter(|option| fstype == "auto" || option.is_of(fstype))
        .find(|option| option.is_named(name))
}

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
        None => match all().find(|option| option.is_named(name) && option.gone.is_none()) {
            Some(elsewhere) => Found::OtherFilesystem(elsewhere.owner()),
            None => Found::Unknown {
                nearest: nearest(
                    name,
                    all()
                        .filter(|option| option.is_of(fstype) && option.gone.is_none())
                        .map(|option| option.name),
                ),
            },
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
mod tests {
    use super::*;

    /// Every option with every filesystem type that has it.
    fn rows() -> impl Iterator<Item = (&'static str, &'static MountOption)> {
        all().flat_map(|option| {
            let types = if option.fs.is_empty() {
                &["none"][..]
            } else {
                option.fs
            };
            types.iter().map(move |fstype| (*fstype, option))
        })
    }

    #[test]
    fn every_row_is_found_by_its_name_and_says_what_it_is() {
        for (fstype, option) in rows() {
            let name = option.name.replace('*', "systemd.automount");
            assert_eq!(row(fstype, &name), Some(option), "{fstype} {name}");
            assert!(!option.meaning.is_empty(), "{fstype} {name}");
            assert!(!option.source.is_empty(), "{fstype} {name}");
        }
    }

    #[test]
    fn the_rows_of_a_slot_agree_and_their_other_spellings_stay_in_it() {
        for (fstype, option) in rows().filter(|(_, option)| option.gone.is_none()) {
            for (_, other) in rows().filter(|(other, _)| *other == fstype) {
                if other.slot() == option.slot() && other.gone.is_none() {
                    assert_eq!(other.level, option.level, "{fstype} {}", option.name);
                    assert_eq!(other.unseen, option.unseen, "{fstype} {}", option.name);
                }
            }
            let unseen = match option.unseen {
                Unseen::Token(token) => Some(token),
                _ => None,
            };
            let tokens = option.alias.iter().map(|(_, token)| *token).chain(unseen);
            for token in tokens {
                let target = row(fstype, token).unwrap();
                assert_eq!(slot(fstype, token), target.slot(), "{token}");
                if !option.repeatable {
                    assert_eq!(target.slot(), option.slot(), "{fstype} {token}");
                }
                assert_eq!(values::validate(target, token), Ok(()), "{token}");
                let spelling = values::canonical(target, token, 1 << 20);
                if !token.starts_with("size=") && !token.starts_with("max_inline=") {
                    assert_eq!(spelling, token);
                }
            }
        }
    }

    #[test]
    fn what_belongs_to_mkfs_is_no_mount_option_but_for_the_stripe() {
        for option in all().filter(|option| option.gone.is_none()) {
            let belongs = crate::knowledge::legacy::mkfs(option.name).is_some();
            assert_eq!(
                belongs,
                ["sunit", "swidth"].contains(&option.name),
                "{}",
                option.name
            );
        }
    }

    #[test]
    fn o02_the_atime_family_is_one_slot_and_its_neighbours_are_not() {
        for name in [
            "atime",
            "noatime",
            "relatime",
            "norelatime",
            "strictatime",
            "nostrictatime",
        ] {
            assert_eq!(slot("ext4", name), "atime");
            assert_eq!(slot("nfs4", name), "atime");
        }
        assert_eq!(slot("ext4", "nodiratime"), "diratime");
        assert_eq!(slot("ext4", "lazytime"), slot("ext4", "nolazytime"));
        assert_ne!(slot("ext4", "lazytime"), "atime");
    }

    #[test]
    fn what_replaces_what() {
        let same = |fstype, a: &str, b: &str| slot(fstype, a) == slot(fstype, b);
        assert!(same("ext4", "commit=5", "commit=60"));
        assert!(same("btrfs", "discard=async", "nodiscard"));
        assert!(same("btrfs", "compress=zstd", "compress-force=lzo"));
        assert!(same("ext4", "barrier=0", "nobarrier"));
        assert!(same("ext4", "errors=panic", "errors=continue"));
        assert!(same("tmpfs", "size=1g", "nr_blocks=5"));
        assert!(same("ext4", "ro", "rw"));
        assert!(same("ext4", "suid", "nosuid"));
        assert!(same("ext4", "noauto", "auto"));
        assert!(same("ext4", "unheard=1", "unheard=2"));
        assert!(same(
            "ext4",
            "x-systemd.device-timeout=1",
            "x-systemd.device-timeout=2"
        ));
        assert!(!same("ext4", "x-systemd.after=a", "x-systemd.after=b"));
        assert!(!same("btrfs", "device=/dev/a", "device=/dev/b"));
        assert!(!same("ext4", "x-gvfs-show", "x-gvfs-name=a"));
        assert!(!same("xfs", "usrquota", "grpquota"));
    }

    #[test]
    fn options_are_looked_up_per_filesystem() {
        let known = |fstype, item| matches!(lookup(fstype, item), Found::Known(_));
        assert!(known("ext4", "nobarrier") && known("btrfs", "nobarrier"));
        assert!(known("zfs", "noatime") && known("fuse.x", "nofail"));
        assert!(known("ext4", "x-anything=1") && known("ext4", "X-mount.mkdir"));
        assert!(known("udf,iso9660", "user"));
        assert_eq!(
            lookup("xfs", "errors=remount-ro"),
            Found::OtherFilesystem("ext4")
        );
        assert_eq!(lookup("nfs4", "logbufs=8"), Found::OtherFilesystem("xfs"));
        assert_eq!(
            lookup("ext4", "noatme"),
            Found::Unknown {
                nearest: Some("noatime")
            }
        );
        assert_eq!(
            lookup("nfs4", "proto=tcp"),
            Found::Unknown { nearest: None }
        );
        assert!(matches!(
            lookup("xfs", "nobarrier"),
            Found::Gone {
                since: Kernel(4, 19),
                ignored: false,
                ..
            }
        ));
        assert!(matches!(
            lookup("ext4", "orlov"),
            Found::Gone { ignored: true, .. }
        ));
    }

    #[test]
    fn data_loss_is_told_by_option_and_by_value() {
        for (fstype, item) in [
            ("ext4", "nobarrier"),
            ("ext4", "barrier=0"),
            ("ext4", "data=writeback"),
            ("btrfs", "nobarrier"),
            ("f2fs", "fsync_mode=nobarrier"),
            ("f2fs", "checkpoint=disable:10%"),
        ] {
            assert!(risk(fstype, item).is_some(), "{fstype} {item}");
        }
        for (fstype, item) in [
            ("ext4", "barrier"),
            ("ext4", "barrier=1"),
            ("ext4", "data=ordered"),
            ("f2fs", "checkpoint=enable"),
            ("ext4", "noatime"),
            ("zfs", "unheard"),
        ] {
            assert_eq!(risk(fstype, item), None, "{fstype} {item}");
        }
    }

    #[test]
    fn the_root_needs_a_fresh_mount_for_what_a_remount_refuses_or_ignores() {
        for (fstype, item) in [
            ("ext4", "data=writeback"),
            ("ext4", "nodelalloc"),
            ("xfs", "logbsize=256k"),
            ("xfs", "discard"),
            ("btrfs", "subvol=@"),
            ("btrfs", "space_cache=v2"),
            ("ext4", "dirsync"),
        ] {
            assert!(needs_fresh_mount_on_root(fstype, item), "{fstype} {item}");
        }
        for (fstype, item) in [
            ("ext4", "noatime"),
            ("ext4", "commit=60"),
            ("xfs", "noatime"),
            ("xfs", "lazytime"),
            ("xfs", "inode32"),
            ("ext4", "ro"),
            ("ext4", "nofail"),
            ("ext4", "x-systemd.growfs"),
            ("btrfs", "compress=zstd"),
        ] {
            assert!(!needs_fresh_mount_on_root(fstype, item), "{fstype} {item}");
        }
    }
}
