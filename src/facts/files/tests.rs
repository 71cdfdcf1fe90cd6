//! Files that ssdtune may write, read from roots made for it.

use super::*;
use crate::facts::fake;

fn mount(target: &str, fstype: &str, options: &[&str]) -> Mount {
    Mount {
        target: target.into(),
        fstype: fstype.to_owned(),
        options: options.iter().map(|option| Text::from(*option)).collect(),
        ..Mount::default()
    }
}

fn look(root: &tempfile::TempDir, mounts: &[Mount]) -> File {
    let mut reader = Reader::new(root.path()).unwrap();
    file(&mut reader, mounts, b"/etc/fstab")
}

#[test]
fn a_plain_file_has_bytes_owner_and_mode() {
    let root = fake::root(&[("etc/fstab", "# base\n")]);
    let file = look(&root, &[]);
    let image = file.image.unwrap();
    assert_eq!(image.bytes, Text::from("# base\n"));
    assert_eq!(image.mode & 0o600, 0o600);
    assert_eq!(image.uid, nix::unistd::geteuid().as_raw());
    assert_eq!(file.resolved, file.path);
    assert_eq!((file.links, file.obstacles), (1, vec![]));
    assert_ne!(file.inode, 0);
}

#[test]
fn a_missing_file_is_no_obstacle() {
    let file = look(&fake::root(&[("etc/", "")]), &[]);
    assert_eq!((file.image, file.obstacles), (None, vec![]));
    assert_eq!(file.resolved, Text::from("/etc/fstab"));
    let file = look(&fake::root(&[("x", "")]), &[]);
    assert_eq!((file.image, file.obstacles), (None, vec![]));
}

#[test]
fn a_link_is_followed_inside_the_root() {
    let root = fake::root(&[
        ("etc/fstab", "-> ../config/./a/../fstab"),
        ("config", "-> /cfg"),
        ("cfg/fstab", "x\n"),
        ("cfg/a/", ""),
    ]);
    let file = look(&root, &[]);
    assert_eq!(file.resolved, Text::from("/cfg/fstab"));
    assert_eq!(file.image.unwrap().bytes, Text::from("x\n"));
    assert_eq!(file.obstacles, []);
}

#[test]
fn obstacles_are_told() {
    let one = |files: &[(&str, &str)]| look(&fake::root(files), &[]).obstacles;
    assert_eq!(one(&[("etc/fstab/", "")]), [Obstacle::NotAFile]);
    assert_eq!(one(&[("etc/fstab", "|")]), [Obstacle::NotAFile]);
    assert_eq!(
        one(&[("etc/fstab", "-> nowhere")]),
        [Obstacle::DanglingLink]
    );
    assert_eq!(
        one(&[("etc/fstab", "-> /config/fstab")]),
        [Obstacle::DanglingLink]
    );
    assert_eq!(
        one(&[("etc/fstab", "-> fstab")]),
        [Obstacle::Unreadable(
            "too many levels of symbolic links".into()
        )]
    );
}

#[test]
fn nixos_makes_its_own_fstab() {
    let root = fake::root(&[
        ("etc/fstab", "-> /etc/static/fstab"),
        ("etc/static", "-> /nix/store/abc-etc/etc"),
        ("nix/store/abc-etc/etc/fstab", "-> /nix/store/def-etc-fstab"),
        ("nix/store/def-etc-fstab", "x\n"),
    ]);
    let file = look(&root, &[]);
    assert_eq!(file.obstacles, [Obstacle::Nix]);
    assert_eq!(file.resolved, Text::from("/nix/store/def-etc-fstab"));
    assert!(file.image.is_some());
}

#[test]
fn mounts_stand_in_the_way() {
    let root = fake::root(&[("etc/fstab", "x\n")]);
    let obstacles = |mounts: &[Mount]| look(&root, mounts).obstacles;
    let disk = mount("/", "ext4", &["rw"]);
    assert_eq!(obstacles(std::slice::from_ref(&disk)), []);
    assert_eq!(
        obstacles(&[mount("/", "ext4", &["ro"])]),
        [Obstacle::ReadOnly]
    );
    let bound = mount("/etc/fstab", "ext4", &["rw"]);
    assert_eq!(obstacles(&[disk.clone(), bound]), [Obstacle::MountPoint]);
    let overlay = mount(
        "/etc",
        "overlay",
        &["rw", "lowerdir=/etc", "upperdir=/run/up/etc"],
    );
    let memory = mount("/run", "tmpfs", &["rw"]);
    let on_disk = [disk.clone(), overlay.clone()];
    assert_eq!(obstacles(&on_disk), []);
    let in_memory = [disk, memory, overlay];
    assert_eq!(obstacles(&in_memory), [Obstacle::ThrowAwayOverlay]);
    // An overlay whose upper folder is hidden below itself: nothing is known, nothing said.
    assert_eq!(obstacles(&[mount("/", "overlay", &["upperdir=/up"])]), []);
}

#[test]
fn extended_attributes_are_kept_but_those_bound_to_content() {
    let root = fake::root(&[("etc/fstab", "x\n")]);
    let path = root.path().join("etc/fstab");
    let flags = rustix::fs::XattrFlags::empty();
    let long = vec![b'v'; 3000];
    for (name, value) in [
        ("user.a", &b"\xff\0b"[..]),
        ("user.long", &long),
        ("user.e", b""),
    ] {
        if rustix::fs::setxattr(&path, name, value, flags).is_err() {
            eprintln!(
                "skipped: no user attributes on the filesystem of {}",
                path.display()
            );
            return;
        }
    }
    let xattrs = look(&root, &[]).image.unwrap().xattrs;
    assert_eq!(xattrs["user.a"], Text::from(&b"\xff\0b"[..]));
    assert_eq!(xattrs["user.long"].as_bytes(), long);
    assert_eq!(xattrs["user.e"], Text::default());
}

#[test]
fn a_frozen_file_or_folder_is_an_obstacle() {
    let root = fake::root(&[("etc/fstab", "x\n")]);
    for path in ["etc/fstab", "etc"] {
        let path = root.path().join(path);
        let open = rustix::fs::OFlags::RDONLY;
        let opened = rustix::fs::open(&path, open, rustix::fs::Mode::empty()).unwrap();
        let before = rustix::fs::ioctl_getflags(&opened).unwrap_or(IFlags::empty());
        if rustix::fs::ioctl_setflags(&opened, before | IFlags::APPEND).is_err() {
            eprintln!("skipped: flags need root and a filesystem that has them");
            return;
        }
        let obstacles = look(&root, &[]).obstacles;
        rustix::fs::ioctl_setflags(&opened, before).unwrap();
        assert_eq!(obstacles, [Obstacle::Immutable], "{}", path.display());
    }
}

#[test]
fn a_tmpfs_needs_a_plain_directory_or_nothing() {
    let root = fake::root(&[
        ("var/tmp/", ""),
        ("run/", ""),
        ("var/run", "-> ../run"),
        ("var/file", "x"),
    ]);
    let reader = Reader::new(root.path()).unwrap();
    let found = |path: &str| in_the_way(&reader, path.as_bytes());
    assert_eq!(found("/var/tmp"), None);
    assert_eq!(found("/var/new/deep"), None);
    assert_eq!(found("/var/file"), Some(InTheWay::NotADirectory));
    assert_eq!(found("/var/file/x"), Some(InTheWay::NotADirectory));
    assert_eq!(found("/var/run"), Some(InTheWay::Link("/run".into())));
    assert_eq!(found("/var/run/x"), Some(InTheWay::Link("/run/x".into())));
}
