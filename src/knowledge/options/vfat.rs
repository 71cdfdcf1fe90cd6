//! vfat's options. A remount reports success for every one of them and changes none. Read in the
//! kernel's source, not tried.

use super::{Gone, Live, MountOption, Unseen, ValueKind};
use crate::knowledge::Kernel;

const VFAT: MountOption = MountOption {
    fs: &["vfat", "msdos"],
    live: Live::Ignored("a remount of vfat reports success and leaves it as it is"),
    source: "fs/fat/inode.c of 6.12 and 7.3, read",
    ..MountOption::BLANK
};

const fn flag(name: &'static str, meaning: &'static str) -> MountOption {
    MountOption {
        name,
        unseen: Unseen::Unset,
        meaning,
        ..VFAT
    }
}

const fn value(name: &'static str, value: ValueKind, meaning: &'static str) -> MountOption {
    MountOption {
        name,
        value,
        meaning,
        ..VFAT
    }
}

const fn obsolete(name: &'static str) -> MountOption {
    MountOption {
        name,
        value: ValueKind::Optional(&ValueKind::Text),
        gone: Some(Gone {
            since: Kernel(4, 19),
            ignored: true,
            instead: "leave it out",
        }),
        meaning: "of no effect",
        ..VFAT
    }
}

const NUMBER: ValueKind = ValueKind::Number {
    min: 0,
    max: u32::MAX as u64,
};

pub(super) const OPTIONS: &[MountOption] = &[
    flag("discard", "trim freed clusters"),
    flag("flush", "write out early, for media that are pulled"),
    value(
        "errors",
        ValueKind::OneOf(&["continue", "panic", "remount-ro"]),
        "what happens when damage is found",
    ),
    value(
        "umask",
        ValueKind::Octal,
        "permission bits that are taken away",
    ),
    value(
        "fmask",
        ValueKind::Octal,
        "permission bits taken away from files",
    ),
    value(
        "dmask",
        ValueKind::Octal,
        "permission bits taken away from directories",
    ),
    value("allow_utime", ValueKind::Octal, "who may set times"),
    MountOption {
        unseen: Unseen::Token("uid=0"),
        ..value("uid", NUMBER, "owner of every file, by number")
    },
    MountOption {
        unseen: Unseen::Token("gid=0"),
        ..value("gid", NUMBER, "group of every file, by number")
    },
    value("codepage", NUMBER, "code page of short names"),
    value("iocharset", ValueKind::Text, "character set of long names"),
    value(
        "shortname",
        ValueKind::OneOf(&["lower", "win95", "winnt", "mixed"]),
        "how short names are shown and made",
    ),
    value(
        "check",
        ValueKind::OneOf(&["r", "relaxed", "n", "normal", "s", "strict"]),
        "how strictly names are checked",
    ),
    value(
        "nfs",
        ValueKind::Optional(&ValueKind::OneOf(&["stale_rw", "nostale_ro"])),
        "for export over NFS",
    ),
    value("tz", ValueKind::OneOf(&["UTC"]), "times on disk are in UTC"),
    value(
        "time_offset",
        ValueKind::Text,
        "times on disk are off by so many minutes",
    ),
    value(
        "utf8",
        ValueKind::Optional(&ValueKind::Text),
        "names are shown in UTF-8",
    ),
    value(
        "uni_xlate",
        ValueKind::Optional(&ValueKind::Text),
        "names that cannot be shown are escaped",
    ),
    value(
        "nonumtail",
        ValueKind::Optional(&ValueKind::Text),
        "short names without a number where it can be",
    ),
    flag("usefree", "trust the number of free clusters on disk"),
    flag("quiet", "no error where owners cannot be changed"),
    flag("showexec", "only programs by their name are executable"),
    flag("debug", "log more"),
    flag("sys_immutable", "system files are immutable"),
    flag("rodir", "read-only directories are so"),
    flag("dos1xfloppy", "guess the layout of very old disks"),
    flag("nocase", "short names keep their case"),
    flag("dots", "hidden files begin with a dot"),
    flag("nodots", "hidden files do not begin with a dot"),
    obsolete("conv"),
    obsolete("fat"),
    obsolete("blocksize"),
    obsolete("cvf_format"),
    obsolete("cvf_options"),
    obsolete("posix"),
];
