//! ext4's options; ext2 and ext3 are mounted by its driver too.
//!
//! mountinfo hides what equals the default in the superblock (`tune2fs -o`), which is nearly always
//! the kernel's own. /proc/fs/ext4/DEVICE/options has all of it.

use super::{Live, MountOption, Risk, Unseen, ValueKind};
use crate::knowledge::Kernel;

pub(super) const EXT4: MountOption = MountOption {
    fs: &["ext4", "ext3", "ext2"],
    source: "fs/ext4/super.c; tried on 6.18",
    ..MountOption::BLANK
};

/// A flag of a slot, with the token that is in effect where nothing is shown.
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
        ..EXT4
    }
}

pub(super) const NUMBER: ValueKind = ValueKind::Number {
    min: 0,
    max: i32::MAX as u64,
};

const NO_FLUSH: &str = "without cache flushes a power failure loses data and damages the \
                        filesystem, unless every cache below is protected by a battery";

pub(super) const OPTIONS: &[MountOption] = &[
    flag(
        "discard",
        "discard",
        "nodiscard",
        "trim freed blocks when the journal commits; fstrim.timer does it once a week instead",
    ),
    flag(
        "nodiscard",
        "discard",
        "nodiscard",
        "do not trim freed blocks at once",
    ),
    MountOption {
        name: "commit",
        // INT_MAX/HZ, for the largest HZ.
        value: ValueKind::Number {
            min: 0,
            max: 2_147_483,
        },
        unit: "seconds",
        alias: &[("0", "commit=5")],
        unseen: Unseen::Token("commit=5"),
        meaning: "how often the journal commits: what was not synced for that long may be lost in \
                  a crash",
        ..EXT4
    },
    MountOption {
        name: "barrier",
        slot: "barrier",
        value: ValueKind::Optional(&NUMBER),
        alias: &[("0", "nobarrier"), ("*", "barrier")],
        unseen: Unseen::Token("barrier"),
        risk: Risk::DataLossWith(&["0"], NO_FLUSH),
        meaning: "flush the drive's cache when the journal commits",
        ..EXT4
    },
    MountOption {
        risk: Risk::DataLoss(NO_FLUSH),
        ..flag(
            "nobarrier",
            "barrier",
            "barrier",
            "never flush the drive's cache",
        )
    },
    MountOption {
        name: "data",
        value: ValueKind::OneOf(&["ordered", "writeback", "journal"]),
        unseen: Unseen::Token("data=ordered"),
        live: Live::Refused("ext4 changes its journal mode only when it is mounted anew"),
        risk: Risk::DataLossWith(
            &["writeback"],
            "after a crash files may hold old or foreign blocks",
        ),
        meaning: "how file contents relate to the journal",
        ..EXT4
    },
    MountOption {
        name: "journal_async_commit",
        unseen: Unseen::Unset,
        live: Live::Refused("it needs data=writeback, and nothing takes it back but a fresh mount"),
        risk: Risk::DataLoss("a commit record may reach the disk before what it commits"),
        meaning: "commit without waiting for the blocks before",
        ..EXT4
    },
    MountOption {
        name: "journal_checksum",
        slot: "journal_checksum",
        live: Live::Ignored("a remount leaves the journal's checksums as they are"),
        meaning: "checksums in the journal",
        ..EXT4
    },
    MountOption {
        name: "nojournal_checksum",
        slot: "journal_checksum",
        live: Live::Ignored("a remount leaves the journal's checksums as they are"),
        meaning: "no checksums in the journal",
        ..EXT4
    },
    flag(
        "delalloc",
        "delalloc",
        "delalloc",
        "place blocks when they are written out, not before",
    ),
    MountOption {
        live: Live::Refused("newer kernels switch delayed allocation off only at a fresh mount"),
        ..flag(
            "nodelalloc",
            "delalloc",
            "delalloc",
            "place blocks at once: slower, and more fragments",
        )
    },
    MountOption {
        name: "stripe",
        value: NUMBER,
        unit: "filesystem blocks",
        unseen: Unseen::Token("stripe=0"),
        meaning: "alignment of allocations, for RAID; 0 for none",
        ..EXT4
    },
    MountOption {
        name: "inode_readahead_blks",
        value: ValueKind::PowerOfTwo(1 << 30),
        unit: "blocks",
        unseen: Unseen::Token("inode_readahead_blks=32"),
        meaning: "how much of the inode table is read ahead",
        ..EXT4
    },
    MountOption {
        name: "auto_da_alloc",
        slot: "auto_da_alloc",
        value: ValueKind::Optional(&NUMBER),
        alias: &[("0", "noauto_da_alloc"), ("*", "auto_da_alloc")],
        unseen: Unseen::Token("auto_da_alloc"),
        risk: Risk::DataLossWith(&["0"], ZERO_LENGTH),
        meaning: "write a file out when it replaces another by rename or truncation",
        ..EXT4
    },
    MountOption {
        risk: Risk::DataLoss(ZERO_LENGTH),
        ..flag(
            "noauto_da_alloc",
            "auto_da_alloc",
            "auto_da_alloc",
            "a file that replaces another is not written out first",
        )
    },
    flag(
        "dioread_nolock",
        "dioread_nolock",
        "dioread_nolock",
        "direct reads take no inode lock",
    ),
    flag(
        "nodioread_nolock",
        "dioread_nolock",
        "dioread_nolock",
        "direct reads take the inode lock",
    ),
    MountOption {
        alias: &[("", "nodioread_nolock")],
        ..flag(
            "dioread_lock",
            "dioread_nolock",
            "dioread_nolock",
            "direct reads take the inode lock",
        )
    },
    MountOption {
        name: "min_batch_time",
        value: NUMBER,
        unit: "microseconds",
        unseen: Unseen::Token("min_batch_time=0"),
        meaning: "how long a commit waits at least for others to join it",
        ..EXT4
    },
    MountOption {
        name: "max_batch_time",
        value: NUMBER,
        unit: "microseconds",
        unseen: Unseen::Token("max_batch_time=15000"),
        meaning: "how long a commit waits at most for others to join it",
        ..EXT4
    },
    MountOption {
        name: "journal_ioprio",
        value: ValueKind::Number { min: 0, max: 7 },
        // Never shown, whatever it is.
        meaning: "I/O priority of the journal, 0 the highest; 3 without it",
        ..EXT4
    },
    MountOption {
        name: "init_itable",
        slot: "init_itable",
        value: ValueKind::Optional(&NUMBER),
        alias: &[("", "init_itable=10")],
        unseen: Unseen::Token("init_itable=10"),
        meaning: "zero the inode tables in the background, waiting so many times what it took",
        ..EXT4
    },
    flag(
        "noinit_itable",
        "init_itable",
        "init_itable=10",
        "do not zero the inode tables in the background",
    ),
    MountOption {
        name: "mb_optimize_scan",
        value: ValueKind::OneOf(&["0", "1"]),
        since: Some(Kernel(5, 13)),
        meaning: "whether free space is found by tree rather than group by group",
        ..EXT4
    },
    flag(
        "block_validity",
        "block_validity",
        "block_validity",
        "check that file blocks are not metadata",
    ),
    flag(
        "noblock_validity",
        "block_validity",
        "block_validity",
        "do not check block numbers: less damage is noticed",
    ),
    MountOption {
        name: "nombcache",
        unseen: Unseen::Unset,
        live: Live::Refused("the cache is switched off only at a fresh mount"),
        meaning: "no cache of extended attribute blocks",
        ..EXT4
    },
    MountOption {
        name: "no_mbcache",
        slot: "nombcache",
        alias: &[("", "nombcache")],
        unseen: Unseen::Unset,
        live: Live::Refused("the cache is switched off only at a fresh mount"),
        meaning: "no cache of extended attribute blocks",
        ..EXT4
    },
    MountOption {
        name: "no_prefetch_block_bitmaps",
        unseen: Unseen::Unset,
        live: Live::OneWay("no option switches prefetching on again"),
        meaning: "do not read the block bitmaps ahead",
        ..EXT4
    },
    MountOption {
        name: "noload",
        slot: "noload",
        alias: &[("", "norecovery")],
        unseen: Unseen::Unset,
        live: Live::Ignored("the journal is replayed when the filesystem is mounted"),
        risk: Risk::DataLoss("a journal that is not replayed leaves the filesystem inconsistent"),
        meaning: "do not replay the journal",
        ..EXT4
    },
    MountOption {
        name: "norecovery",
        slot: "noload",
        unseen: Unseen::Unset,
        live: Live::Ignored("the journal is replayed when the filesystem is mounted"),
        risk: Risk::DataLoss("a journal that is not replayed leaves the filesystem inconsistent"),
        meaning: "do not replay the journal",
        ..EXT4
    },
    MountOption {
        name: "errors",
        value: ValueKind::OneOf(&["continue", "remount-ro", "panic"]),
        // Hidden where it equals the superblock's default, which tune2fs -e may have changed.
        meaning: "what happens when damage is found",
        ..EXT4
    },
    MountOption {
        name: "data_err",
        value: ValueKind::OneOf(&["ignore", "abort"]),
        unseen: Unseen::Token("data_err=ignore"),
        meaning: "what happens when file contents cannot be written",
        ..EXT4
    },
    MountOption {
        name: "dax",
        value: ValueKind::Optional(&ValueKind::OneOf(&["always", "never", "inode"])),
        alias: &[("", "dax=always")],
        unseen: Unseen::Token("dax=inode"),
        live: Live::Refused("direct access is decided when the filesystem is mounted"),
        meaning: "map the medium into memory directly",
        ..EXT4
    },
    flag("acl", "acl", "acl", "access control lists: always on"),
    flag(
        "user_xattr",
        "user_xattr",
        "user_xattr",
        "extended attributes of users: always on",
    ),
];

const ZERO_LENGTH: &str = "a program that replaces a file without syncing it may leave an empty \
                           one after a crash";
