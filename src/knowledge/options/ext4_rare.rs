//! ext4's options that tuning leaves alone, and those that are gone.

use super::ext4::{EXT4, NUMBER};
use super::{Gone, Live, MountOption, ValueKind};
use crate::knowledge::Kernel;

/// An option that a remount takes (quota of `/` come that way at boot); that there is a way back
/// was not tried.
const fn other(name: &'static str, value: ValueKind, meaning: &'static str) -> MountOption {
    MountOption {
        name,
        value,
        live: Live::OneWay("no way back was tried"),
        meaning,
        source: "fs/ext4/super.c",
        ..EXT4
    }
}

/// Decided when the filesystem is mounted.
const fn fresh(name: &'static str, meaning: &'static str) -> MountOption {
    MountOption {
        live: Live::Refused("the journal is found when the filesystem is mounted"),
        ..other(name, ValueKind::Text, meaning)
    }
}

/// Taken with a line in the log, and without effect.
const fn ignored(name: &'static str, value: ValueKind) -> MountOption {
    MountOption {
        name,
        value,
        gone: Some(Gone {
            since: Kernel(4, 19),
            ignored: true,
            instead: "leave it out",
        }),
        meaning: "of no effect",
        ..EXT4
    }
}

/// Unknown to newer kernels: the mount fails.
const fn removed(name: &'static str) -> MountOption {
    MountOption {
        name,
        gone: Some(Gone {
            since: Kernel(6, 0),
            ignored: false,
            instead: "access control lists and extended attributes are always on, leave it out, or \
                      the filesystem will not mount",
        }),
        meaning: "removed",
        ..EXT4
    }
}

pub(super) const OPTIONS: &[MountOption] = &[
    other(
        "bsddf",
        ValueKind::Flag,
        "df leaves out the filesystem's own blocks",
    ),
    other(
        "minixdf",
        ValueKind::Flag,
        "df counts the filesystem's own blocks",
    ),
    other(
        "grpid",
        ValueKind::Flag,
        "new files take the directory's group",
    ),
    other(
        "bsdgroups",
        ValueKind::Flag,
        "new files take the directory's group",
    ),
    other(
        "nogrpid",
        ValueKind::Flag,
        "new files take the writer's group",
    ),
    other(
        "sysvgroups",
        ValueKind::Flag,
        "new files take the writer's group",
    ),
    other("resuid", NUMBER, "who may use reserved blocks"),
    other("resgid", NUMBER, "whose group may use reserved blocks"),
    other("sb", NUMBER, "which copy of the superblock is read"),
    other("nouid32", ValueKind::Flag, "16-bit user and group numbers"),
    other("debug", ValueKind::Flag, "log more"),
    other("abort", ValueKind::Flag, "as if an error had been found"),
    fresh("journal_dev", "the journal's device, by number"),
    fresh("journal_path", "the journal's device, by path"),
    other(
        "usrjquota",
        ValueKind::Optional(&ValueKind::Text),
        "user quota file",
    ),
    other(
        "grpjquota",
        ValueKind::Optional(&ValueKind::Text),
        "group quota file",
    ),
    other(
        "jqfmt",
        ValueKind::OneOf(&["vfsold", "vfsv0", "vfsv1"]),
        "format of quota files",
    ),
    other("quota", ValueKind::Flag, "user quota"),
    other("usrquota", ValueKind::Flag, "user quota"),
    other("grpquota", ValueKind::Flag, "group quota"),
    other("prjquota", ValueKind::Flag, "project quota"),
    other("noquota", ValueKind::Flag, "no quota"),
    other(
        "warn_on_error",
        ValueKind::Flag,
        "a kernel warning with each error",
    ),
    other(
        "nowarn_on_error",
        ValueKind::Flag,
        "no kernel warning with errors",
    ),
    other("max_dir_size_kb", NUMBER, "the largest directory, in KiB"),
    other(
        "debug_want_extra_isize",
        NUMBER,
        "extra room in new inodes, in bytes",
    ),
    other(
        "test_dummy_encryption",
        ValueKind::Optional(&ValueKind::Text),
        "for testing encryption",
    ),
    other(
        "inlinecrypt",
        ValueKind::Flag,
        "encrypt in the drive's controller",
    ),
    ignored("bh", ValueKind::Flag),
    ignored("nobh", ValueKind::Flag),
    ignored("oldalloc", ValueKind::Flag),
    ignored("orlov", ValueKind::Flag),
    ignored("i_version", ValueKind::Flag),
    ignored("mblk_io_submit", ValueKind::Flag),
    ignored("nomblk_io_submit", ValueKind::Flag),
    ignored("prefetch_block_bitmaps", ValueKind::Flag),
    ignored("check", ValueKind::Text),
    ignored("nocheck", ValueKind::Flag),
    ignored("reservation", ValueKind::Flag),
    ignored("noreservation", ValueKind::Flag),
    ignored("journal", ValueKind::Text),
    removed("noacl"),
    removed("nouser_xattr"),
];
