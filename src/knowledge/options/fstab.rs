//! What only readers of fstab act on: mount(8), systemd, swapon(8). The kernel never sees it.

use super::{Level, Live, MountOption, ValueKind};

const WORD: MountOption = MountOption {
    level: Level::Fstab,
    live: Live::Ignored("mount(8) and systemd read it from fstab, the kernel never sees it"),
    source: "mount(8), systemd.mount(5); mount(8) of 2.38 tried",
    ..MountOption::BLANK
};

const fn word(name: &'static str, slot: &'static str, meaning: &'static str) -> MountOption {
    MountOption {
        name,
        slot,
        meaning,
        ..WORD
    }
}

/// A word with a value.
const fn text(name: &'static str, meaning: &'static str) -> MountOption {
    MountOption {
        value: ValueKind::Text,
        ..word(name, "", meaning)
    }
}

/// A word with a value that may stand several times.
const fn several(name: &'static str, meaning: &'static str) -> MountOption {
    MountOption {
        repeatable: true,
        ..text(name, meaning)
    }
}

pub(super) const OPTIONS: &[MountOption] = &[
    word(
        "defaults",
        "",
        "a placeholder where no option is needed: adds nothing",
    ),
    word("auto", "auto", "mounted at boot and by mount -a"),
    word("noauto", "auto", "not mounted at boot, nor by mount -a"),
    word(
        "nofail",
        "nofail",
        "the boot goes on where the device is missing",
    ),
    word("fail", "nofail", "the boot waits for the device"),
    word("_netdev", "_netdev", "mounted when the network is up"),
    MountOption {
        value: ValueKind::Optional(&ValueKind::Text),
        ..word(
            "user",
            "user",
            "any user may mount it; implies nosuid, nodev and noexec",
        )
    },
    word(
        "users",
        "user",
        "any user may mount and unmount it; implies nosuid, nodev and noexec",
    ),
    word("nouser", "user", "only root may mount it"),
    word("nousers", "user", "only root may mount it"),
    word(
        "owner",
        "owner",
        "the device's owner may mount it; implies nosuid and nodev",
    ),
    word("noowner", "owner", "the device's owner may not mount it"),
    word(
        "group",
        "group",
        "the device's group may mount it; implies nosuid and nodev",
    ),
    word("nogroup", "group", "the device's group may not mount it"),
    word("bind", "bind", "another view of a directory"),
    word(
        "rbind",
        "bind",
        "another view of a directory and what is mounted in it",
    ),
    word("private", "propagation", "mounts are not shared"),
    word(
        "rprivate",
        "propagation",
        "mounts are not shared, here and below",
    ),
    word("shared", "propagation", "mounts are shared"),
    word(
        "rshared",
        "propagation",
        "mounts are shared, here and below",
    ),
    word("slave", "propagation", "mounts are taken over, not given"),
    word(
        "rslave",
        "propagation",
        "mounts are taken over, not given, here and below",
    ),
    word("unbindable", "propagation", "cannot be bound elsewhere"),
    word(
        "runbindable",
        "propagation",
        "cannot be bound elsewhere, here and below",
    ),
    MountOption {
        value: ValueKind::Optional(&ValueKind::Text),
        ..word("loop", "loop", "mount a file through a loop device")
    },
    text("offset", "where in the file the filesystem begins"),
    text("sizelimit", "how much of the file is the filesystem"),
    text("comment", "a remark"),
    text("uhelper", "the program that unmounts it"),
    text("helper", "the program that mounts it"),
    text("pri", "priority of a swap area"),
    several("x-systemd.requires", "a unit that must be started"),
    several(
        "x-systemd.requires-mounts-for",
        "a path whose mounts must be there",
    ),
    several(
        "x-systemd.wants-mounts-for",
        "a path whose mounts should be there",
    ),
    several("x-systemd.before", "a unit that starts later"),
    several("x-systemd.after", "a unit that starts earlier"),
    several("x-systemd.wanted-by", "a unit that wants it"),
    several("x-systemd.required-by", "a unit that requires it"),
    MountOption {
        value: ValueKind::Optional(&ValueKind::Text),
        ..word("x-*", "", "for programs that read the mount table")
    },
    MountOption {
        value: ValueKind::Optional(&ValueKind::Text),
        ..word("X-*", "", "for programs that read fstab")
    },
];
