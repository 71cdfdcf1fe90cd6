//! tmpfs's options. Sizes may shrink down to what is in use, and unlimited stays unlimited.

use super::{Live, MountOption, Unseen, ValueKind};
use crate::knowledge::Kernel;

const TMPFS: MountOption = MountOption {
    fs: &["tmpfs"],
    source: "tmpfs(5), mm/shmem.c; tried on 6.18",
    ..MountOption::BLANK
};

const ROOT_DIRECTORY: Live =
    Live::Ignored("a remount leaves the root directory as it is: use chmod or chown");

const NUMBER: ValueKind = ValueKind::Number {
    min: 0,
    max: u32::MAX as u64,
};

pub(super) const OPTIONS: &[MountOption] = &[
    MountOption {
        name: "size",
        value: ValueKind::SizeOrPercent,
        // Hidden at half the memory: only who knows the memory can tell.
        unseen: Unseen::Token("size=50%"),
        meaning: "how much it may hold; 0 without limit, which a remount never takes back",
        ..TMPFS
    },
    MountOption {
        name: "nr_blocks",
        slot: "size",
        value: ValueKind::Count,
        unit: "pages",
        unseen: Unseen::Token("size=50%"),
        meaning: "size in pages",
        ..TMPFS
    },
    MountOption {
        name: "nr_inodes",
        value: ValueKind::Count,
        unit: "inodes",
        // Hidden at half the number of pages of memory.
        meaning: "how many files it may hold; 0 without limit, which a remount never takes back",
        ..TMPFS
    },
    MountOption {
        name: "mode",
        value: ValueKind::Octal,
        unseen: Unseen::Token("mode=1777"),
        live: ROOT_DIRECTORY,
        meaning: "permission bits of the root directory",
        ..TMPFS
    },
    MountOption {
        name: "uid",
        value: NUMBER,
        unseen: Unseen::Token("uid=0"),
        live: ROOT_DIRECTORY,
        meaning: "owner of the root directory, by number",
        ..TMPFS
    },
    MountOption {
        name: "gid",
        value: NUMBER,
        unseen: Unseen::Token("gid=0"),
        live: ROOT_DIRECTORY,
        meaning: "group of the root directory, by number",
        ..TMPFS
    },
    MountOption {
        name: "huge",
        value: ValueKind::OneOf(&["never", "always", "within_size", "advise"]),
        unseen: Unseen::Token("huge=never"),
        meaning: "whether files use huge pages",
        ..TMPFS
    },
    MountOption {
        name: "noswap",
        since: Some(Kernel(6, 4)),
        unseen: Unseen::Unset,
        live: Live::Refused("swapping is switched off at a fresh mount only"),
        meaning: "its pages are never swapped out, so memory cannot be reclaimed from it",
        ..TMPFS
    },
    MountOption {
        name: "mpol",
        value: ValueKind::Text,
        unseen: Unseen::Token("mpol=default"),
        meaning: "on which memory nodes its pages are",
        ..TMPFS
    },
    MountOption {
        name: "inode64",
        slot: "inode64",
        since: Some(Kernel(5, 9)),
        unseen: Unseen::Token("inode32"),
        meaning: "inode numbers have 64 bits",
        ..TMPFS
    },
    MountOption {
        name: "inode32",
        slot: "inode64",
        since: Some(Kernel(5, 9)),
        unseen: Unseen::Token("inode32"),
        meaning: "inode numbers have 32 bits",
        ..TMPFS
    },
    quota("quota"),
    quota("usrquota"),
    quota("grpquota"),
];

const fn quota(name: &'static str) -> MountOption {
    MountOption {
        name,
        since: Some(Kernel(6, 6)),
        live: Live::Refused("quota are switched on at a fresh mount only"),
        meaning: "quota",
        source: "tmpfs(5)",
        ..TMPFS
    }
}
