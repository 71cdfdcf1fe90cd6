use super::*;

/// Every option with every filesystem type that has it.
fn rows() -> impl Iterator<Item = (&'static str, &'static MountOption)> {
    all().flat_map(|option| {
        let types = if option.fs.is_empty() {
            &["none"][..]
        } else {
            option.fs
        };
        types.iter().map(move |fstype| (*fstype, option))
    })
}

#[test]
fn every_row_is_found_by_its_name_and_says_what_it_is() {
    for (fstype, option) in rows() {
        let name = option.name.replace('*', "systemd.automount");
        assert_eq!(row(fstype, &name), Some(option), "{fstype} {name}");
        assert!(!option.meaning.is_empty(), "{fstype} {name}");
        assert!(!option.source.is_empty(), "{fstype} {name}");
    }
}

#[test]
fn the_rows_of_a_slot_agree_and_their_other_spellings_stay_in_it() {
    for (fstype, option) in rows().filter(|(_, option)| option.gone.is_none()) {
        for (_, other) in rows().filter(|(other, _)| *other == fstype) {
            if other.slot() == option.slot() && other.gone.is_none() {
                assert_eq!(other.level, option.level, "{fstype} {}", option.name);
                assert_eq!(other.unseen, option.unseen, "{fstype} {}", option.name);
            }
        }
        let unseen = match option.unseen {
            Unseen::Token(token) => Some(token),
            _ => None,
        };
        let tokens = option.alias.iter().map(|(_, token)| *token).chain(unseen);
        for token in tokens {
            let target = row(fstype, token).unwrap();
            assert_eq!(slot(fstype, token), target.slot(), "{token}");
            if !option.repeatable {
                assert_eq!(target.slot(), option.slot(), "{fstype} {token}");
            }
            assert_eq!(values::validate(target, token), Ok(()), "{token}");
            let spelling = values::canonical(target, token, 1 << 20);
            if !token.starts_with("size=") && !token.starts_with("max_inline=") {
                assert_eq!(spelling, token);
            }
        }
    }
}

#[test]
fn what_belongs_to_mkfs_is_no_mount_option_but_for_the_stripe() {
    for option in all().filter(|option| option.gone.is_none()) {
        let belongs = crate::knowledge::legacy::mkfs(option.name).is_some();
        assert_eq!(
            belongs,
            ["sunit", "swidth"].contains(&option.name),
            "{}",
            option.name
        );
    }
}

#[test]
fn o02_the_atime_family_is_one_slot_and_its_neighbours_are_not() {
    for name in [
        "atime",
        "noatime",
        "relatime",
        "norelatime",
        "strictatime",
        "nostrictatime",
    ] {
        assert_eq!(slot("ext4", name), "atime");
        assert_eq!(slot("nfs4", name), "atime");
    }
    assert_eq!(slot("ext4", "nodiratime"), "diratime");
    assert_eq!(slot("ext4", "lazytime"), slot("ext4", "nolazytime"));
    assert_ne!(slot("ext4", "lazytime"), "atime");
}

#[test]
fn what_replaces_what() {
    let same = |fstype, a: &str, b: &str| slot(fstype, a) == slot(fstype, b);
    assert!(same("ext4", "commit=5", "commit=60"));
    assert!(same("btrfs", "discard=async", "nodiscard"));
    assert!(same("btrfs", "compress=zstd", "compress-force=lzo"));
    assert!(same("ext4", "barrier=0", "nobarrier"));
    assert!(same("ext4", "errors=panic", "errors=continue"));
    assert!(same("tmpfs", "size=1g", "nr_blocks=5"));
    assert!(same("ext4", "ro", "rw"));
    assert!(same("ext4", "suid", "nosuid"));
    assert!(same("ext4", "noauto", "auto"));
    assert!(same("ext4", "unheard=1", "unheard=2"));
    assert!(same(
        "ext4",
        "x-systemd.device-timeout=1",
        "x-systemd.device-timeout=2"
    ));
    assert!(!same("ext4", "x-systemd.after=a", "x-systemd.after=b"));
    assert!(!same("btrfs", "device=/dev/a", "device=/dev/b"));
    assert!(!same("ext4", "x-gvfs-show", "x-gvfs-name=a"));
    assert!(!same("xfs", "usrquota", "grpquota"));
}

#[test]
fn options_are_looked_up_per_filesystem() {
    let known = |fstype, item| matches!(lookup(fstype, item), Found::Known(_));
    assert!(known("ext4", "nobarrier") && known("btrfs", "nobarrier"));
    assert!(known("zfs", "noatime") && known("fuse.x", "nofail"));
    assert!(known("ext4", "x-anything=1") && known("ext4", "X-mount.mkdir"));
    assert!(known("udf,iso9660", "user"));
    assert_eq!(
        lookup("xfs", "errors=remount-ro"),
        Found::OtherFilesystem("ext4, f2fs and vfat".to_owned())
    );
    assert_eq!(
        lookup("nfs4", "logbufs=8"),
        Found::OtherFilesystem("xfs".to_owned())
    );
    assert_eq!(
        lookup("ext4", "noatme"),
        Found::Unknown {
            nearest: Some("noatime")
        }
    );
    assert_eq!(
        lookup("nfs4", "proto=tcp"),
        Found::Unknown { nearest: None }
    );
    assert!(matches!(
        lookup("xfs", "nobarrier"),
        Found::Gone {
            since: Kernel(4, 19),
            ignored: false,
            ..
        }
    ));
    assert!(matches!(
        lookup("ext4", "orlov"),
        Found::Gone { ignored: true, .. }
    ));
}

#[test]
fn data_loss_is_told_by_option_and_by_value() {
    for (fstype, item) in [
        ("ext4", "nobarrier"),
        ("ext4", "barrier=0"),
        ("ext4", "data=writeback"),
        ("btrfs", "nobarrier"),
        ("f2fs", "fsync_mode=nobarrier"),
        ("f2fs", "checkpoint=disable:10%"),
    ] {
        assert!(risk(fstype, item).is_some(), "{fstype} {item}");
    }
    for (fstype, item) in [
        ("ext4", "barrier"),
        ("ext4", "barrier=1"),
        ("ext4", "data=ordered"),
        ("f2fs", "checkpoint=enable"),
        ("ext4", "noatime"),
        ("zfs", "unheard"),
    ] {
        assert_eq!(risk(fstype, item), None, "{fstype} {item}");
    }
}

#[test]
fn the_root_needs_a_fresh_mount_for_what_a_remount_refuses_or_ignores() {
    for (fstype, item) in [
        ("ext4", "data=writeback"),
        ("ext4", "nodelalloc"),
        ("xfs", "logbsize=256k"),
        ("xfs", "discard"),
        ("btrfs", "subvol=@"),
        ("btrfs", "space_cache=v2"),
        ("ext4", "dirsync"),
    ] {
        assert!(needs_fresh_mount_on_root(fstype, item), "{fstype} {item}");
    }
    for (fstype, item) in [
        ("ext4", "noatime"),
        ("ext4", "commit=60"),
        ("xfs", "noatime"),
        ("xfs", "lazytime"),
        ("xfs", "inode32"),
        ("ext4", "ro"),
        ("ext4", "nofail"),
        ("ext4", "x-systemd.growfs"),
        ("ext4", "usrquota"),
        ("btrfs", "compress=zstd"),
    ] {
        assert!(!needs_fresh_mount_on_root(fstype, item), "{fstype} {item}");
    }
}
