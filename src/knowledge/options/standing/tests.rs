use super::*;

/// 24 GiB and a bit, an odd number of pages, as the machine had on which shmem was tried.
const MEMORY_KB: u64 = 24_684_100;

/// Asks with flags and options as mountinfo has them.
fn ask<T>(fstype: &str, flags: &str, options: &str, question: impl Fn(&Mounted) -> T) -> T {
    let flags: Vec<String> = flags.split(',').map(str::to_owned).collect();
    let options: Vec<&str> = options.split(',').collect();
    question(&Mounted {
        fstype,
        flags: &flags,
        options: &options,
        memory_kb: MEMORY_KB,
    })
}

#[track_caller]
fn in_effect(fstype: &str, flags: &str, options: &str, items: &[&str]) {
    for item in items {
        let found = ask(fstype, flags, options, |mounted| standing(item, mounted));
        assert_eq!(found, Standing::InEffect, "{item}");
    }
}

#[track_caller]
fn differs(fstype: &str, flags: &str, options: &str, pairs: &[(&str, &str)]) {
    for (item, now) in pairs {
        let found = ask(fstype, flags, options, |mounted| standing(item, mounted));
        let now = (*now).to_owned();
        assert_eq!(found, Standing::Differs { now }, "{item}");
    }
}

#[track_caller]
fn unknowable(fstype: &str, flags: &str, options: &str, items: &[&str]) {
    for item in items {
        let found = ask(fstype, flags, options, |mounted| standing(item, mounted));
        assert_eq!(found, Standing::Unknowable, "{item}");
    }
}

#[track_caller]
fn back(fstype: &str, flags: &str, options: &str, pairs: &[(&str, Option<&str>)]) {
    for (item, token) in pairs {
        let found = ask(fstype, flags, options, |mounted| undo(item, mounted));
        assert_eq!(found.as_deref(), *token, "{item}");
    }
}

#[test]
fn strictatime_is_the_absence_of_the_others() {
    in_effect("ext4", "rw", "rw", &["strictatime", "diratime"]);
    in_effect(
        "ext4",
        "rw,relatime",
        "rw",
        &["relatime", "atime", "nostrictatime", "norelatime"],
    );
    differs(
        "ext4",
        "rw,relatime",
        "rw",
        &[("noatime", "relatime"), ("strictatime", "relatime")],
    );
    differs("ext4", "rw", "rw", &[("noatime", "strictatime")]);
    in_effect("zfs", "rw,noatime", "rw,xattr", &["noatime"]);
}

#[test]
fn per_mount_flags_are_read_from_the_mount_and_the_rest_from_the_superblock() {
    in_effect(
        "ext4",
        "rw,nosuid,relatime",
        "rw,lazytime",
        &["nosuid", "dev", "exec", "lazytime", "async", "rw"],
    );
    differs(
        "ext4",
        "rw,relatime",
        "rw",
        &[("nosuid", "suid"), ("lazytime", "nolazytime")],
    );
    in_effect("ext4", "ro,relatime", "rw", &["ro"]);
    differs("ext4", "rw,relatime", "ro", &[("rw", "ro")]);
    back("ext4", "ro,relatime", "rw", &[("rw", None)]);
}

#[test]
fn ext4_hides_its_defaults() {
    in_effect(
        "ext4",
        "rw,relatime",
        "rw",
        &[
            "commit=5",
            "commit=0",
            "barrier",
            "barrier=1",
            "delalloc",
            "data=ordered",
            "nodiscard",
            "acl",
            "user_xattr",
            "init_itable",
            "inode_readahead_blks=32",
        ],
    );
    differs(
        "ext4",
        "rw,relatime",
        "rw,nobarrier,commit=30",
        &[
            ("commit=60", "commit=30"),
            ("commit=5", "commit=30"),
            ("barrier", "nobarrier"),
            ("discard", "nodiscard"),
        ],
    );
    // What the superblock says about errors is not shown where it is in effect.
    unknowable(
        "ext4",
        "rw",
        "rw",
        &["errors=remount-ro", "journal_ioprio=3"],
    );
    in_effect("ext4", "rw", "rw,errors=remount-ro", &["errors=remount-ro"]);
}

#[test]
fn m03_what_only_fstab_has_is_never_seen() {
    unknowable(
        "ext4",
        "rw,relatime",
        "rw",
        &[
            "defaults",
            "nofail",
            "x-systemd.automount",
            "_netdev",
            "comment=x",
            "user",
            "noauto",
            "bind",
            "unheard=1",
            "bh",
        ],
    );
}

#[test]
fn btrfs_shows_levels_and_its_own_spellings() {
    let shown = "rw,compress=zstd:3,ssd,discard=async,space_cache=v2,subvolid=5,subvol=/";
    in_effect(
        "btrfs",
        "rw,relatime",
        shown,
        &[
            "compress=zstd",
            "compress=zstd:3",
            "compress=zstd:0",
            "discard=async",
            "ssd",
            "space_cache=v2",
            "commit=30",
            "subvol=/",
            "datacow",
        ],
    );
    differs(
        "btrfs",
        "rw,relatime",
        shown,
        &[
            ("compress=zstd:5", "compress=zstd:3"),
            ("compress-force=zstd", "compress=zstd:3"),
            ("compress=no", "compress=zstd:3"),
            ("discard", "discard=async"),
            ("nodiscard", "discard=async"),
            ("nossd", "ssd"),
        ],
    );
    in_effect(
        "btrfs",
        "rw",
        "rw,compress=zlib:3,discard",
        &["compress", "discard=sync"],
    );
    in_effect(
        "btrfs",
        "rw",
        "rw",
        &["compress=no", "nodiscard", "barrier"],
    );
    in_effect("btrfs", "rw", "rw,compress=lzo", &["compress=lzo"]);
    back(
        "btrfs",
        "rw,relatime",
        "rw,ssd,discard=async",
        &[
            ("compress=zstd", Some("compress=no")),
            ("discard", Some("discard=async")),
            ("commit=60", Some("commit=30")),
            ("nossd", Some("ssd")),
            ("ssd_spread", Some("ssd")),
            ("nodatacow", None),
            ("space_cache=v2", None),
            ("thread_pool=4", None),
            ("subvol=/a", None),
        ],
    );
}

#[test]
fn xfs_shows_sizes_in_its_own_units_and_ignores_remounts() {
    let shown = "rw,attr2,inode64,allocsize=1024k,logbufs=8,logbsize=256k,noquota";
    in_effect(
        "xfs",
        "rw,relatime",
        shown,
        &[
            "logbsize=262144",
            "logbsize=256K",
            "allocsize=1m",
            "logbufs=8",
            "inode64",
            "nodiscard",
            "noquota",
        ],
    );
    differs(
        "xfs",
        "rw,relatime",
        shown,
        &[
            ("logbsize=32k", "logbsize=256k"),
            ("discard", "nodiscard"),
            ("swalloc", ""),
            ("inode32", "inode64"),
        ],
    );
    back(
        "xfs",
        "rw,relatime",
        shown,
        &[
            ("discard", None),
            ("logbsize=32k", None),
            ("inode32", Some("inode64")),
            ("lazytime", Some("nolazytime")),
            ("noatime", Some("relatime")),
        ],
    );
    assert_eq!(
        ask("xfs", "rw", "rw,inode32,logbufs=8", repeated),
        Some("inode32")
    );
    assert_eq!(ask("xfs", "rw", shown, repeated), None);
}

#[test]
fn tmpfs_sizes_are_compared_as_bytes_of_memory() {
    in_effect(
        "tmpfs",
        "rw,relatime",
        "rw,size=1048576k,mode=755,nr_inodes=10240,inode64",
        &[
            "size=1g",
            "size=1048576k",
            "mode=0755",
            "nr_inodes=10k",
            "uid=0",
        ],
    );
    in_effect("tmpfs", "rw", "rw,size=4000k", &["nr_blocks=1000"]);
    in_effect("tmpfs", "rw", "rw,size=8k", &["size=4097"]);
    // A share, rounded to pages; and the default, which is hidden.
    in_effect("tmpfs", "rw", "rw,size=6171028k", &["size=25%"]);
    in_effect(
        "tmpfs",
        "rw",
        "rw",
        &["size=50%", "mode=1777", "huge=never"],
    );
    differs(
        "tmpfs",
        "rw",
        "rw,size=6171028k",
        &[("size=26%", "size=6171028k"), ("size=0", "size=6171028k")],
    );
    differs("tmpfs", "rw", "rw", &[("size=25%", "size=50%")]);
    differs("tmpfs", "rw", "rw", &[("noswap", "")]);
    differs("tmpfs", "rw", "rw,size=0k", &[("size=4k", "size=0k")]);
}

#[test]
fn tmpfs_may_shrink_and_grow_back_but_not_the_other_way_round() {
    back(
        "tmpfs",
        "rw",
        "rw,size=1048576k",
        &[
            ("size=512m", Some("size=1048576k")),
            ("size=2g", None),
            ("size=0", None),
            ("mode=755", None),
            ("noswap", None),
            ("huge=always", Some("huge=never")),
        ],
    );
    // The default is half the pages, rounded down.
    back("tmpfs", "rw", "rw", &[("size=25%", Some("size=12342048k"))]);
    back("tmpfs", "rw", "rw,size=0k", &[("size=1g", None)]);
}

#[test]
fn m02_the_way_back_names_what_was_in_effect() {
    back(
        "ext4",
        "rw,nosuid,relatime",
        "rw",
        &[
            ("noatime", Some("relatime")),
            ("commit=60", Some("commit=5")),
            ("lazytime", Some("nolazytime")),
            ("nobarrier", Some("barrier")),
            ("discard", Some("nodiscard")),
            ("suid", Some("nosuid")),
            ("noexec", Some("exec")),
            ("data=writeback", None),
            ("nodelalloc", None),
            ("errors=panic", None),
            ("journal_ioprio=1", None),
            ("nofail", None),
        ],
    );
    back("ext4", "rw", "rw", &[("noatime", Some("strictatime"))]);
    back(
        "ext4",
        "rw",
        "rw,commit=30,errors=remount-ro",
        &[
            ("commit=60", Some("commit=30")),
            ("errors=panic", Some("errors=remount-ro")),
        ],
    );
    // Delayed allocation can be switched on, but not off again.
    back("ext4", "rw", "rw,nodelalloc", &[("delalloc", None)]);
    back("vfat", "rw,relatime", "rw,fmask=0022", &[("flush", None)]);
}

#[test]
fn what_is_in_effect_is_its_own_way_back() {
    for option in super::super::all().filter(|option| option.gone.is_none()) {
        let fstype = option.fs.first().copied().unwrap_or("ext4");
        if let Unseen::Token(token) = option.unseen {
            in_effect(fstype, "rw", "rw", &[token]);
        }
    }
}
