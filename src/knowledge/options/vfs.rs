//! Options that every filesystem has: flags of one mount, and flags of the superblock.

use super::{Gone, Level, Live, MountOption, Unseen, ValueKind};
use crate::knowledge::Kernel;

/// A flag of one mount.
const FLAG: MountOption = MountOption {
    level: Level::PerMount,
    source: "mount(8), fs/proc_namespace.c; tried on 6.18",
    ..MountOption::BLANK
};

/// The access time family. To mount(2) they are bits, strictatime beating noatime beating relatime
/// whatever their order; to mount_setattr(2) the last one wins: so never more than one of them.
const ATIME: MountOption = MountOption {
    slot: "atime",
    unseen: Unseen::Token("strictatime"),
    ..FLAG
};

/// A flag of the superblock.
const SUPERBLOCK: MountOption = MountOption {
    level: Level::Superblock,
    ..FLAG
};

/// A flag of one mount, its slot, and the token that means its absence.
const fn flag(
    name: &'static str,
    slot: &'static str,
    unseen: &'static str,
    meaning: &'static str,
) -> MountOption {
    MountOption {
        name,
        slot,
        unseen: Unseen::Token(unseen),
        meaning,
        ..FLAG
    }
}

const READ_ONLY_STAYS: &str = "a change between read-only and read-write is left to the next boot: a filesystem that is \
     read-only now may be so because of an error";

pub(super) const OPTIONS: &[MountOption] = &[
    MountOption {
        name: "noatime",
        meaning: "never write access times, of directories neither",
        ..ATIME
    },
    MountOption {
        name: "relatime",
        meaning: "write an access time only where it is older than the last change, or than a day",
        ..ATIME
    },
    MountOption {
        name: "strictatime",
        meaning: "write the access time at every read",
        ..ATIME
    },
    MountOption {
        name: "atime",
        alias: &[("", "relatime")],
        meaning: "not noatime: the kernel's default, relatime",
        ..ATIME
    },
    MountOption {
        name: "norelatime",
        alias: &[("", "relatime")],
        meaning: "of no effect: the kernel's default is relatime all the same",
        ..ATIME
    },
    MountOption {
        name: "nostrictatime",
        alias: &[("", "relatime")],
        meaning: "not strictatime: the kernel's default, relatime",
        ..ATIME
    },
    flag(
        "nodiratime",
        "diratime",
        "diratime",
        "never write access times of directories; noatime covers it",
    ),
    flag(
        "diratime",
        "diratime",
        "diratime",
        "directories have access times as files do",
    ),
    flag("nosuid", "suid", "suid", "set-user-ID bits have no effect"),
    flag("suid", "suid", "suid", "set-user-ID bits have their effect"),
    flag("nodev", "dev", "dev", "device nodes have no effect"),
    flag("dev", "dev", "dev", "device nodes have their effect"),
    flag("noexec", "exec", "exec", "no program is started from here"),
    flag("exec", "exec", "exec", "programs may be started from here"),
    MountOption {
        since: Some(Kernel(5, 10)),
        ..flag(
            "nosymfollow",
            "symfollow",
            "symfollow",
            "symbolic links are not followed",
        )
    },
    flag(
        "symfollow",
        "symfollow",
        "symfollow",
        "symbolic links are followed",
    ),
    MountOption {
        live: Live::Refused(READ_ONLY_STAYS),
        ..flag("ro", "rw", "rw", "read-only")
    },
    MountOption {
        live: Live::Refused(READ_ONLY_STAYS),
        ..flag("rw", "rw", "rw", "read-write")
    },
    MountOption {
        name: "lazytime",
        slot: "lazytime",
        unseen: Unseen::Token("nolazytime"),
        meaning: "keep changes of times alone in memory until the inode is written, synced or \
                  evicted, or a day has passed",
        ..SUPERBLOCK
    },
    MountOption {
        name: "nolazytime",
        slot: "lazytime",
        unseen: Unseen::Token("nolazytime"),
        meaning: "write changed times as soon as other changes",
        ..SUPERBLOCK
    },
    MountOption {
        name: "sync",
        slot: "sync",
        unseen: Unseen::Token("async"),
        meaning: "every write waits for the disk: very slow, and wears flash",
        ..SUPERBLOCK
    },
    MountOption {
        name: "async",
        slot: "sync",
        unseen: Unseen::Token("async"),
        meaning: "writes are collected in memory",
        ..SUPERBLOCK
    },
    MountOption {
        name: "dirsync",
        unseen: Unseen::Unset,
        live: Live::Refused("a remount refuses dirsync, or ignores it"),
        meaning: "changes of directories wait for the disk",
        ..SUPERBLOCK
    },
    MountOption {
        name: "iversion",
        slot: "iversion",
        meaning: "count changes of each inode; ext4, xfs and btrfs always do",
        ..SUPERBLOCK
    },
    MountOption {
        name: "noiversion",
        slot: "iversion",
        meaning: "do not count changes of inodes",
        ..SUPERBLOCK
    },
    MountOption {
        name: "mand",
        slot: "mand",
        gone: Some(Gone {
            since: Kernel(5, 15),
            ignored: true,
            instead: "mandatory locks are gone, leave it out",
        }),
        meaning: "allow mandatory locks",
        ..SUPERBLOCK
    },
    MountOption {
        name: "nomand",
        slot: "mand",
        unseen: Unseen::Token("nomand"),
        meaning: "no mandatory locks, as on every kernel since 5.15",
        ..SUPERBLOCK
    },
    MountOption {
        name: "silent",
        slot: "silent",
        level: Level::Fstab,
        live: Live::Ignored("it only keeps the kernel from logging while it mounts"),
        meaning: "log less while mounting",
        ..FLAG
    },
    MountOption {
        name: "loud",
        slot: "silent",
        level: Level::Fstab,
        live: Live::Ignored("it only lets the kernel log while it mounts"),
        meaning: "log as usual while mounting",
        ..FLAG
    },
    // SELinux: given when the filesystem is mounted, and never changed by a remount.
    context("context", "the label of every file"),
    context("fscontext", "the label of the filesystem"),
    context("defcontext", "the label of files that have none"),
    context("rootcontext", "the label of the root inode"),
];

const fn context(name: &'static str, meaning: &'static str) -> MountOption {
    MountOption {
        name,
        value: ValueKind::Text,
        level: Level::Fstab,
        live: Live::Ignored("SELinux labels are given when the filesystem is mounted"),
        meaning,
        source: "mount(8)",
        ..MountOption::BLANK
    }
}
