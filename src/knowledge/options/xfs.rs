//! xfs's options. A remount acts on inode32, inode64, max_atomic_write and the flags of every
//! filesystem; all others it checks, reports success for, and ignores.

use super::{Gone, Live, MountOption, Risk, Unseen, ValueKind};
use crate::knowledge::Kernel;

const XFS: MountOption = MountOption {
    fs: &["xfs"],
    live: Live::Ignored("a remount of xfs reports success and leaves it as it is"),
    source: "fs/xfs/xfs_super.c, xfs_fs_reconfigure; tried on 6.18",
    ..MountOption::BLANK
};

const fn flag(
    name: &'static str,
    slot: &'static str,
    unseen: Unseen,
    meaning: &'static str,
) -> MountOption {
    MountOption {
        name,
        slot,
        unseen,
        meaning,
        ..XFS
    }
}

/// A spelling of a quota option, and the one that mountinfo shows.
const fn quota(name: &'static str, shown: &'static [(&'static str, &'static str)]) -> MountOption {
    MountOption {
        name,
        alias: shown,
        repeatable: true,
        meaning: "quota",
        source: "fs/xfs/xfs_super.c",
        ..XFS
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
        ..XFS
    }
}

/// Taken with a line in the log, and without effect.
const fn ignored(name: &'static str) -> MountOption {
    MountOption {
        name,
        gone: Some(Gone {
            since: Kernel(6, 18),
            ignored: true,
            instead: "leave it out",
        }),
        meaning: "of no effect",
        ..XFS
    }
}

const FLUSHES: &str = "xfs always flushes where the drive needs it, leave it out";
const LEAVE_OUT: &str = "leave it out, or the filesystem will not mount";
const ANY: ValueKind = ValueKind::Optional(&ValueKind::Text);
const USER: &[(&str, &str)] = &[("", "usrquota")];
const GROUP: &[(&str, &str)] = &[("", "grpquota")];
const PROJECT: &[(&str, &str)] = &[("", "prjquota")];

pub(super) const OPTIONS: &[MountOption] = &[
    flag(
        "discard",
        "discard",
        Unseen::Token("nodiscard"),
        "trim freed blocks; fstrim.timer does it once a week instead",
    ),
    flag(
        "nodiscard",
        "discard",
        Unseen::Token("nodiscard"),
        "do not trim freed blocks at once",
    ),
    MountOption {
        name: "logbufs",
        value: ValueKind::Number { min: 2, max: 8 },
        meaning: "how many log buffers are kept in memory; 8 without it",
        ..XFS
    },
    MountOption {
        name: "logbsize",
        value: ValueKind::Size {
            min: 16 << 10,
            max: 256 << 10,
            power_of_two: true,
        },
        meaning: "size of each log buffer: larger ones lose more unsynced metadata in a crash; 32k \
                  or the log's stripe unit without it",
        ..XFS
    },
    MountOption {
        name: "logdev",
        value: ValueKind::Text,
        meaning: "the device of an external log, needed at every mount",
        ..XFS
    },
    MountOption {
        name: "rtdev",
        value: ValueKind::Text,
        meaning: "the device of the realtime section",
        ..XFS
    },
    MountOption {
        name: "allocsize",
        // The kernel looks at the lowest bit only: 3m would become 1m without a word.
        value: ValueKind::Size {
            min: 4 << 10,
            max: 1 << 30,
            power_of_two: true,
        },
        unseen: Unseen::Unset,
        meaning: "how far space is allocated beyond the end of a growing file; xfs decides by \
                  itself without it",
        ..XFS
    },
    flag(
        "largeio",
        "largeio",
        Unseen::Token("nolargeio"),
        "stat reports the stripe width as the best request size",
    ),
    flag(
        "nolargeio",
        "largeio",
        Unseen::Token("nolargeio"),
        "stat reports the block size as the best request size",
    ),
    flag(
        "swalloc",
        "",
        Unseen::Unset,
        "align large allocations to the stripe width",
    ),
    MountOption {
        name: "sunit",
        value: ValueKind::Number {
            min: 0,
            max: i32::MAX as u64,
        },
        unit: "512-byte sectors",
        meaning: "stripe unit; one mount with it rewrites the superblock for good",
        ..XFS
    },
    MountOption {
        name: "swidth",
        value: ValueKind::Number {
            min: 0,
            max: i32::MAX as u64,
        },
        unit: "512-byte sectors",
        meaning: "stripe width; one mount with it rewrites the superblock for good",
        ..XFS
    },
    flag("noalign", "", Unseen::Unset, "do not align to stripes"),
    MountOption {
        live: Live::Yes,
        ..flag(
            "inode64",
            "inode64",
            Unseen::Unknown,
            "inodes may be anywhere",
        )
    },
    MountOption {
        live: Live::Yes,
        ..flag(
            "inode32",
            "inode64",
            Unseen::Unknown,
            "inode numbers stay below 32 bits; every remount must repeat it",
        )
    },
    flag(
        "wsync",
        "",
        Unseen::Unset,
        "metadata is written at once: slow",
    ),
    flag(
        "filestreams",
        "",
        Unseen::Unset,
        "each directory fills allocation groups of its own",
    ),
    MountOption {
        live: Live::Refused("the log is replayed when the filesystem is mounted"),
        risk: Risk::DataLoss("a log that is not replayed leaves the filesystem inconsistent"),
        ..flag(
            "norecovery",
            "",
            Unseen::Unset,
            "do not replay the log; read-only only",
        )
    },
    MountOption {
        name: "dax",
        value: ValueKind::Optional(&ValueKind::OneOf(&["always", "never", "inode"])),
        alias: &[("", "dax=always")],
        unseen: Unseen::Token("dax=inode"),
        meaning: "map the medium into memory directly",
        ..XFS
    },
    MountOption {
        name: "max_atomic_write",
        value: ValueKind::Size {
            min: 0,
            max: u64::MAX,
            power_of_two: false,
        },
        since: Some(Kernel(6, 16)),
        live: Live::Yes,
        meaning: "the largest atomic write that the log backs",
        ..XFS
    },
    MountOption {
        name: "max_open_zones",
        value: ValueKind::Number {
            min: 0,
            max: u32::MAX as u64,
        },
        since: Some(Kernel(6, 15)),
        meaning: "zones open at once; zoned filesystems only",
        ..XFS
    },
    MountOption {
        since: Some(Kernel(6, 15)),
        ..flag(
            "lifetime",
            "lifetime",
            Unseen::Token("lifetime"),
            "place files by their expected lifetime; zoned filesystems only",
        )
    },
    MountOption {
        since: Some(Kernel(6, 15)),
        ..flag(
            "nolifetime",
            "lifetime",
            Unseen::Token("lifetime"),
            "do not place files by their expected lifetime; zoned filesystems only",
        )
    },
    flag(
        "nouuid",
        "",
        Unseen::Unset,
        "mount even where another filesystem has the same UUID",
    ),
    flag(
        "grpid",
        "grpid",
        Unseen::Token("nogrpid"),
        "new files take the directory's group",
    ),
    flag(
        "nogrpid",
        "grpid",
        Unseen::Token("nogrpid"),
        "new files take the writer's group",
    ),
    MountOption {
        alias: &[("", "grpid")],
        ..flag(
            "bsdgroups",
            "grpid",
            Unseen::Token("nogrpid"),
            "new files take the directory's group",
        )
    },
    MountOption {
        alias: &[("", "nogrpid")],
        ..flag(
            "sysvgroups",
            "grpid",
            Unseen::Token("nogrpid"),
            "new files take the writer's group",
        )
    },
    quota("quota", USER),
    quota("usrquota", USER),
    quota("uquota", USER),
    quota("grpquota", GROUP),
    quota("gquota", GROUP),
    quota("prjquota", PROJECT),
    quota("pquota", PROJECT),
    quota("uqnoenforce", &[]),
    quota("qnoenforce", &[("", "uqnoenforce")]),
    quota("gqnoenforce", &[]),
    quota("pqnoenforce", &[]),
    quota("noquota", &[]),
    removed("barrier", ValueKind::Flag, Kernel(4, 19), FLUSHES),
    removed("nobarrier", ValueKind::Flag, Kernel(4, 19), FLUSHES),
    removed("delaylog", ValueKind::Flag, Kernel(4, 0), LEAVE_OUT),
    removed("nodelaylog", ValueKind::Flag, Kernel(4, 0), LEAVE_OUT),
    removed("ihashsize", ANY, Kernel(4, 0), LEAVE_OUT),
    removed("osyncisdsync", ValueKind::Flag, Kernel(4, 0), LEAVE_OUT),
    removed("osyncisosync", ValueKind::Flag, Kernel(4, 0), LEAVE_OUT),
    removed("irixsgid", ValueKind::Flag, Kernel(4, 0), LEAVE_OUT),
    removed("biosize", ANY, Kernel(5, 10), "write `allocsize`"),
    ignored("attr2"),
    ignored("noattr2"),
    ignored("ikeep"),
    ignored("noikeep"),
];
