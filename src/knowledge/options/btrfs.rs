//! btrfs's options. Nearly all change live, and all subvolumes share them: the last remount wins.

use super::{Gone, Live, MountOption, Risk, Unseen, ValueKind};
use crate::knowledge::Kernel;

const BTRFS: MountOption = MountOption {
    fs: &["btrfs"],
    source: "btrfs(5), fs/btrfs/super.c; tried on 6.18",
    ..MountOption::BLANK
};

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
        ..BTRFS
    }
}

/// Decided when the filesystem is mounted.
const fn fresh(name: &'static str, value: ValueKind, meaning: &'static str) -> MountOption {
    MountOption {
        name,
        value,
        live: Live::Ignored("it is read when the filesystem is mounted"),
        meaning,
        ..BTRFS
    }
}

/// Set by a remount, and by none taken back.
const fn for_good(name: &'static str, value: ValueKind, meaning: &'static str) -> MountOption {
    MountOption {
        name,
        value,
        live: Live::OneWay("no option takes it back"),
        unseen: Unseen::Unset,
        meaning,
        ..BTRFS
    }
}

/// Unknown today: the mount fails.
const fn removed(
    name: &'static str,
    value: ValueKind,
    since: Kernel,
    instead: &'static str,
) -> MountOption {
    MountOption {
        name,
        value,
        gone: Some(Gone {
            since,
            ignored: false,
            instead,
        }),
        meaning: "removed",
        ..BTRFS
    }
}

/// Levels beyond these the kernel clamps without a word; 0 is the default, 3.
const COMPRESSION: ValueKind = ValueKind::Leveled(&[
    ("zstd", Some((-15, 15))),
    ("zlib", Some((0, 9))),
    ("lzo", None),
    ("no", None),
    ("none", None),
]);

const NUMBER: ValueKind = ValueKind::Number {
    min: 0,
    max: u32::MAX as u64,
};

const LEAVE_OUT: &str = "leave it out, or the filesystem will not mount";
const NO_FLUSH: &str = "without cache flushes a power failure may leave a filesystem that cannot \
                        be mounted, unless every cache below is protected by a battery";
const SPACE_CACHE: Live =
    Live::Refused("the free-space tree is made or dropped at a fresh mount only");

pub(super) const OPTIONS: &[MountOption] = &[
    // Where nothing is shown btrfs has decided against ssd, and no token leaves that to it again.
    MountOption {
        name: "ssd",
        unseen: Unseen::Unset,
        meaning: "allocate as suits an SSD; the default where no disk of it is rotational",
        ..BTRFS
    },
    MountOption {
        name: "nossd",
        slot: "ssd",
        unseen: Unseen::Unset,
        meaning: "allocate as suits a spinning disk",
        ..BTRFS
    },
    MountOption {
        name: "ssd_spread",
        slot: "ssd",
        unseen: Unseen::Unset,
        meaning: "allocate in large unused areas: fragments free space",
        ..BTRFS
    },
    MountOption {
        name: "nossd_spread",
        meaning: "not ssd_spread",
        ..BTRFS
    },
    MountOption {
        name: "discard",
        slot: "discard",
        value: ValueKind::Optional(&ValueKind::OneOf(&["sync", "async"])),
        alias: &[("sync", "discard")],
        unseen: Unseen::Token("nodiscard"),
        meaning: "trim freed extents: at once (`discard`), or later and in bulk (`discard=async`, \
                  the default since 6.2 where the device can)",
        ..BTRFS
    },
    flag(
        "nodiscard",
        "discard",
        "nodiscard",
        "do not trim freed extents",
    ),
    MountOption {
        name: "compress",
        slot: "compress",
        value: ValueKind::Optional(&COMPRESSION),
        unseen: Unseen::Token("compress=no"),
        meaning: "compress what is written from now on, where it helps",
        ..BTRFS
    },
    MountOption {
        name: "compress-force",
        slot: "compress",
        value: ValueKind::Optional(&COMPRESSION),
        unseen: Unseen::Token("compress=no"),
        meaning: "compress what is written from now on, even where it seems not to help",
        ..BTRFS
    },
    MountOption {
        live: Live::OneWay("`datacow` leaves the checksums off, and compression was lost"),
        risk: Risk::DataLoss(
            "without checksums damage goes unnoticed, and copies cannot repair each other",
        ),
        ..flag(
            "nodatacow",
            "datacow",
            "datacow",
            "write new files in place, without checksums and compression",
        )
    },
    MountOption {
        live: Live::OneWay("`nodatacow` would take checksums and compression with it"),
        ..flag("datacow", "datacow", "datacow", "write new data elsewhere")
    },
    MountOption {
        risk: Risk::DataLoss(
            "without checksums damage goes unnoticed, and copies cannot repair each other",
        ),
        ..flag(
            "nodatasum",
            "datasum",
            "datasum",
            "no checksums for new files",
        )
    },
    flag("datasum", "datasum", "datasum", "checksums for new files"),
    flag(
        "autodefrag",
        "autodefrag",
        "noautodefrag",
        "defragment small random writes: bad for databases, images and snapshots",
    ),
    flag(
        "noautodefrag",
        "autodefrag",
        "noautodefrag",
        "do not defragment by itself",
    ),
    MountOption {
        name: "space_cache",
        slot: "space_cache",
        value: ValueKind::Optional(&ValueKind::OneOf(&["v1", "v2"])),
        alias: &[("", "space_cache=v1")],
        live: SPACE_CACHE,
        meaning: "how free space is remembered; v2 is kept on disk and needs no option",
        ..BTRFS
    },
    MountOption {
        name: "nospace_cache",
        slot: "space_cache",
        live: SPACE_CACHE,
        meaning: "do not remember free space: slow",
        ..BTRFS
    },
    fresh(
        "clear_cache",
        ValueKind::Flag,
        "build the free-space cache anew",
    ),
    MountOption {
        name: "commit",
        value: ValueKind::Number { min: 0, max: 300 },
        unit: "seconds",
        alias: &[("0", "commit=30")],
        unseen: Unseen::Token("commit=30"),
        meaning: "how often a transaction commits: what was not synced for that long may be lost \
                  in a crash",
        ..BTRFS
    },
    flag(
        "barrier",
        "barrier",
        "barrier",
        "flush the drive's cache at commits",
    ),
    MountOption {
        risk: Risk::DataLoss(NO_FLUSH),
        ..flag(
            "nobarrier",
            "barrier",
            "barrier",
            "never flush the drive's cache",
        )
    },
    flag(
        "treelog",
        "treelog",
        "treelog",
        "fsync writes a log of its own",
    ),
    flag(
        "notreelog",
        "treelog",
        "treelog",
        "every fsync is a full commit: slow",
    ),
    flag(
        "flushoncommit",
        "flushoncommit",
        "noflushoncommit",
        "a commit writes out all file contents before",
    ),
    flag(
        "noflushoncommit",
        "flushoncommit",
        "noflushoncommit",
        "a commit does not wait for file contents",
    ),
    MountOption {
        name: "max_inline",
        // The kernel clamps to the sector size.
        value: ValueKind::Size {
            min: 0,
            max: 4096,
            power_of_two: false,
        },
        unseen: Unseen::Token("max_inline=2048"),
        meaning: "the largest file that is kept within metadata",
        ..BTRFS
    },
    MountOption {
        name: "thread_pool",
        value: ValueKind::Number {
            min: 1,
            max: u32::MAX as u64,
        },
        // Hidden where it equals the number of processors and two, at most 8.
        meaning: "worker threads",
        ..BTRFS
    },
    MountOption {
        name: "metadata_ratio",
        value: NUMBER,
        unseen: Unseen::Token("metadata_ratio=0"),
        meaning: "a metadata chunk after so many data chunks; 0 as needed",
        ..BTRFS
    },
    flag("acl", "acl", "acl", "access control lists"),
    flag("noacl", "acl", "acl", "no access control lists"),
    flag(
        "enospc_debug",
        "enospc_debug",
        "noenospc_debug",
        "log more when space runs out",
    ),
    flag(
        "noenospc_debug",
        "enospc_debug",
        "noenospc_debug",
        "log as usual when space runs out",
    ),
    fresh("subvol", ValueKind::Text, "the subvolume, by path"),
    fresh("subvolid", ValueKind::Text, "the subvolume, by number"),
    MountOption {
        repeatable: true,
        ..fresh(
            "device",
            ValueKind::Text,
            "a device to look at before mounting",
        )
    },
    for_good(
        "degraded",
        ValueKind::Flag,
        "mount although devices are missing",
    ),
    fresh(
        "rescue",
        ValueKind::Text,
        "leave out what is damaged: for rescuing files",
    ),
    fresh(
        "usebackuproot",
        ValueKind::Flag,
        "try older roots: for rescuing files",
    ),
    MountOption {
        risk: Risk::DataLoss("a log that is not replayed loses what was synced last"),
        ..fresh("norecovery", ValueKind::Flag, "do not replay the log")
    },
    for_good(
        "skip_balance",
        ValueKind::Flag,
        "do not go on with an interrupted balance",
    ),
    for_good(
        "user_subvol_rm_allowed",
        ValueKind::Flag,
        "users may delete their subvolumes",
    ),
    for_good(
        "fatal_errors",
        ValueKind::OneOf(&["bug", "panic"]),
        "what happens when damage is found",
    ),
    removed("inode_cache", ValueKind::Flag, Kernel(5, 11), LEAVE_OUT),
    removed(
        "recovery",
        ValueKind::Flag,
        Kernel(6, 8),
        "write `rescue=usebackuproot`",
    ),
    removed(
        "nologreplay",
        ValueKind::Flag,
        Kernel(6, 8),
        "write `rescue=nologreplay` with `ro`",
    ),
    removed("check_int", ValueKind::Flag, Kernel(6, 7), LEAVE_OUT),
    removed("check_int_data", ValueKind::Flag, Kernel(6, 7), LEAVE_OUT),
    removed(
        "check_int_print_mask",
        ValueKind::Text,
        Kernel(6, 7),
        LEAVE_OUT,
    ),
    removed("alloc_start", ValueKind::Text, Kernel(6, 8), LEAVE_OUT),
    removed("subvolrootid", ValueKind::Text, Kernel(6, 8), LEAVE_OUT),
];
