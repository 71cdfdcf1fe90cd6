//! f2fs's options. mountinfo shows nearly all of them, defaults too. Read in the kernel's source,
//! not tried.

use super::{Gone, Live, MountOption, Risk, Unseen, ValueKind};
use crate::knowledge::Kernel;

const F2FS: MountOption = MountOption {
    fs: &["f2fs"],
    source: "fs/f2fs/super.c of 6.1 and 7.3, read",
    ..MountOption::BLANK
};

const fn flag(name: &'static str, slot: &'static str, meaning: &'static str) -> MountOption {
    MountOption {
        name,
        slot,
        meaning,
        ..F2FS
    }
}

const fn value(name: &'static str, value: ValueKind, meaning: &'static str) -> MountOption {
    MountOption {
        name,
        value,
        meaning,
        ..F2FS
    }
}

/// Refused by a remount.
const fn fresh(option: MountOption) -> MountOption {
    MountOption {
        live: Live::Refused("f2fs decides it when it is mounted"),
        ..option
    }
}

const fn deprecated(name: &'static str, value: ValueKind, ignored: bool) -> MountOption {
    MountOption {
        name,
        value,
        gone: Some(Gone {
            since: if ignored { Kernel(6, 9) } else { Kernel(7, 0) },
            ignored,
            instead: "leave it out",
        }),
        meaning: "deprecated",
        ..F2FS
    }
}

const NUMBER: ValueKind = ValueKind::Number {
    min: 0,
    max: i32::MAX as u64,
};

const NO_FLUSH: &str = "without cache flushes a power failure loses data, unless every cache below \
                        is protected by a battery";

pub(super) const OPTIONS: &[MountOption] = &[
    flag("discard", "discard", "trim freed segments"),
    flag("nodiscard", "discard", "do not trim freed segments"),
    fresh(value(
        "discard_unit",
        ValueKind::OneOf(&["block", "segment", "section"]),
        "unit of trimming",
    )),
    value(
        "background_gc",
        ValueKind::OneOf(&["on", "off", "sync"]),
        "whether segments are cleaned when idle",
    ),
    flag(
        "gc_merge",
        "gc_merge",
        "the background cleaner does foreground work too",
    ),
    flag("nogc_merge", "gc_merge", "each writer cleans for itself"),
    flag(
        "flush_merge",
        "flush_merge",
        "cache flushes of several writers are merged",
    ),
    flag(
        "noflush_merge",
        "flush_merge",
        "each writer flushes for itself",
    ),
    MountOption {
        unseen: Unseen::Token("barrier"),
        ..flag("barrier", "barrier", "flush the drive's cache")
    },
    MountOption {
        unseen: Unseen::Token("barrier"),
        risk: Risk::DataLoss(NO_FLUSH),
        ..flag("nobarrier", "barrier", "never flush the drive's cache")
    },
    MountOption {
        risk: Risk::DataLossWith(&["nobarrier"], NO_FLUSH),
        ..value(
            "fsync_mode",
            ValueKind::OneOf(&["posix", "strict", "nobarrier"]),
            "what fsync promises",
        )
    },
    flag(
        "checkpoint_merge",
        "checkpoint_merge",
        "checkpoints of several writers are merged",
    ),
    flag(
        "nocheckpoint_merge",
        "checkpoint_merge",
        "each writer waits for a checkpoint of its own",
    ),
    fresh(MountOption {
        risk: Risk::DataLossWith(
            &["disable"],
            "without checkpoints everything written since is lost in a crash",
        ),
        ..value(
            "checkpoint",
            ValueKind::Text,
            "`enable`, or `disable` with room to leave",
        )
    }),
    fresh(value(
        "mode",
        ValueKind::OneOf(&["adaptive", "lfs", "fragment:segment", "fragment:block"]),
        "how blocks are allocated",
    )),
    value(
        "alloc_mode",
        ValueKind::OneOf(&["default", "reuse"]),
        "which free segment is taken first",
    ),
    fresh(value(
        "active_logs",
        ValueKind::OneOf(&["2", "4", "6"]),
        "how many logs are written at once",
    )),
    fresh(value(
        "compress_algorithm",
        ValueKind::Leveled(&[
            ("lzo", None),
            ("lzo-rle", None),
            ("lz4", Some((3, 12))),
            ("zstd", Some((1, 22))),
        ]),
        "how files are compressed; needs mkfs.f2fs -O compression,extra_attr",
    )),
    fresh(value(
        "compress_log_size",
        ValueKind::Number { min: 2, max: 8 },
        "size of a compressed cluster, as a power of two of pages",
    )),
    fresh(MountOption {
        repeatable: true,
        ..value(
            "compress_extension",
            ValueKind::Text,
            "files of this extension are compressed",
        )
    }),
    fresh(MountOption {
        repeatable: true,
        ..value(
            "nocompress_extension",
            ValueKind::Text,
            "files of this extension are not compressed",
        )
    }),
    fresh(flag(
        "compress_chksum",
        "",
        "checksums of compressed clusters",
    )),
    fresh(value(
        "compress_mode",
        ValueKind::OneOf(&["fs", "user"]),
        "who decides what is compressed",
    )),
    fresh(flag("compress_cache", "", "compressed blocks are cached")),
    flag(
        "inline_data",
        "inline_data",
        "small files are kept within the inode",
    ),
    flag(
        "noinline_data",
        "inline_data",
        "small files get blocks of their own",
    ),
    flag(
        "inline_dentry",
        "inline_dentry",
        "small directories are kept within the inode",
    ),
    flag(
        "noinline_dentry",
        "inline_dentry",
        "small directories get blocks of their own",
    ),
    flag(
        "inline_xattr",
        "inline_xattr",
        "extended attributes are kept within the inode",
    ),
    flag(
        "noinline_xattr",
        "inline_xattr",
        "extended attributes get blocks of their own",
    ),
    fresh(value(
        "inline_xattr_size",
        NUMBER,
        "room for extended attributes in the inode",
    )),
    fresh(flag("extent_cache", "extent_cache", "extents are cached")),
    fresh(flag(
        "noextent_cache",
        "extent_cache",
        "extents are not cached",
    )),
    fresh(flag("age_extent_cache", "", "extents are sorted by age")),
    fresh(flag("atgc", "", "cleaning prefers old segments")),
    value(
        "memory",
        ValueKind::OneOf(&["normal", "low"]),
        "whether memory is scarce",
    ),
    value(
        "errors",
        ValueKind::OneOf(&["continue", "remount-ro", "panic"]),
        "what happens when damage is found",
    ),
    flag(
        "data_flush",
        "",
        "file contents are written before checkpoints",
    ),
    flag(
        "fastboot",
        "",
        "checkpoints when unmounting allow a faster mount",
    ),
    fresh(flag("nat_bits", "", "free node numbers are kept as bits")),
    fresh(value(
        "lookup_mode",
        ValueKind::OneOf(&["perf", "compat", "auto"]),
        "how names are looked up regardless of case",
    )),
    flag("acl", "acl", "access control lists"),
    flag("noacl", "acl", "no access control lists"),
    flag("user_xattr", "user_xattr", "extended attributes of users"),
    flag(
        "nouser_xattr",
        "user_xattr",
        "no extended attributes of users",
    ),
    fresh(flag(
        "disable_ext_identify",
        "",
        "files are not sorted by extension",
    )),
    fresh(MountOption {
        risk: Risk::DataLoss("what was synced since the last checkpoint is lost after a crash"),
        ..flag("disable_roll_forward", "", "no recovery of synced files")
    }),
    fresh(MountOption {
        risk: Risk::DataLoss("what was synced since the last checkpoint is lost after a crash"),
        ..flag("norecovery", "", "no recovery of synced files")
    }),
    fresh(value("reserve_root", NUMBER, "blocks reserved for root")),
    fresh(value("resuid", NUMBER, "who may use reserved blocks")),
    fresh(value(
        "resgid",
        NUMBER,
        "whose group may use reserved blocks",
    )),
    fresh(flag("usrquota", "", "user quota")),
    fresh(flag("grpquota", "", "group quota")),
    fresh(flag("prjquota", "", "project quota")),
    fresh(flag("quota", "", "user quota")),
    fresh(flag("noquota", "", "no quota")),
    fresh(flag("inlinecrypt", "", "encrypt in the drive's controller")),
    deprecated("heap", ValueKind::Flag, true),
    deprecated("no_heap", ValueKind::Flag, true),
    deprecated("io_bits", NUMBER, false),
];
