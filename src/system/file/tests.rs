//! Files in a folder of their own; where an owner or a label needs root, it is left out without.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Barrier;

use rustix::fs::XattrFlags;

use super::*;

/// A root with an /etc/fstab of mode 0640.
struct Machine {
    root: tempfile::TempDir,
}

const STAGED: &str = "/etc/.fstab.ssdtune-1";
const TARGET: &str = "/etc/fstab";

impl Machine {
    fn new() -> Self {
        // Memory where there is some: the races below go round hundreds of times, each with syncs.
        let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let machine = Self {
            root: root.unwrap(),
        };
        fs::create_dir(machine.at("/etc")).unwrap();
        machine.write("old");
        machine
    }

    fn path(&self) -> &Path {
        self.root.path()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(&path[1..])
    }

    fn write(&self, text: &str) {
        fs::write(self.at(TARGET), text).unwrap();
        fs::set_permissions(self.at(TARGET), PermissionsExt::from_mode(0o640)).unwrap();
    }

    fn image(&self, text: &str) -> Image {
        let meta = fs::metadata(self.at("/etc")).unwrap();
        Image {
            bytes: text.into(),
            uid: meta.uid(),
            gid: meta.gid(),
            mode: 0o640,
            ..Image::default()
        }
    }

    fn stage(&self, text: &str) {
        stage(self.path(), &STAGED.into(), &self.image(text)).unwrap();
    }

    fn commit(&self, expected: Option<&str>, exchange: bool) -> io::Result<()> {
        let expected = expected.map(|text| self.image(text));
        commit(
            self.path(),
            &STAGED.into(),
            &TARGET.into(),
            expected.as_ref(),
            exchange,
        )
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// The names in /etc, which say whether something was left behind.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.at("/etc"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

const CHANGED: &str =
    "`/etc/fstab` was changed by somebody else in the meantime: run `ssdtune plan` again";

#[test]
fn w03_a_staged_file_has_bytes_owner_mode_and_attributes() {
    let machine = Machine::new();
    let mut image = machine.image("a\nb\\x\u{e9}\n");
    image.bytes.0.push(0xff);
    image.mode = 0o4604;
    image.xattrs.insert("user.note".into(), "1".into());
    image.xattrs.insert("user.empty".into(), "".into());
    if root() {
        (image.uid, image.gid) = (5, 6);
        image.xattrs.insert("trusted.note".into(), "2".into());
    }
    stage(machine.path(), &STAGED.into(), &image).unwrap();
    let place = STAGED.into();
    let place = Place::open(machine.path(), &place).unwrap();
    let found = look(&place, place.name).unwrap().unwrap();
    assert_eq!(found, image);
}

#[test]
fn an_inherited_acl_is_taken_off() {
    let machine = Machine::new();
    let acl = acl_of([7, 7, 5, 7, 5]);
    let name = "system.posix_acl_default";
    if rustix::fs::setxattr(machine.at("/etc"), name, &acl, XattrFlags::empty()).is_err() {
        eprintln!("skipped: no ACLs on this filesystem");
        return;
    }
    machine.stage("new");
    assert_eq!(
        fs::metadata(machine.at(STAGED)).unwrap().mode() & 0o7777,
        0o640
    );
    machine.commit(Some("old"), true).unwrap();
    // And one that the file had is kept.
    let mut image = machine.image("with acl");
    image.mode = 0o674;
    image.xattrs.insert(
        "system.posix_acl_access".into(),
        Text(acl_of([6, 4, 4, 7, 4])),
    );
    stage(machine.path(), &STAGED.into(), &image).unwrap();
    let staged = STAGED.into();
    let place = Place::open(machine.path(), &staged).unwrap();
    assert_eq!(look(&place, place.name).unwrap().unwrap(), image);
}

/// An ACL of owner, user 1, group, mask and others, as the kernel stores it (acl(5)).
fn acl_of(permissions: [u16; 5]) -> Vec<u8> {
    let tags = [
        (0x01u16, u32::MAX),
        (0x02, 1),
        (0x04, u32::MAX),
        (0x10, u32::MAX),
        (0x20, u32::MAX),
    ];
    let mut acl = 2u32.to_le_bytes().to_vec();
    for ((tag, id), permissions) in tags.into_iter().zip(permissions) {
        acl.extend(tag.to_le_bytes());
        acl.extend(permissions.to_le_bytes());
        acl.extend(id.to_le_bytes());
    }
    acl
}

#[test]
fn staging_never_writes_into_what_is_there() {
    let machine = Machine::new();
    symlink(machine.at(TARGET), machine.at(STAGED)).unwrap();
    let error = stage(machine.path(), &STAGED.into(), &machine.image("new")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(machine.text(TARGET), "old");
    assert!(machine.at(STAGED).is_symlink(), "not ours, not removed");
}

#[test]
fn a_staged_file_that_cannot_be_whole_is_removed_again() {
    let machine = Machine::new();
    let mut image = machine.image("new");
    image.xattrs.insert("nonsense.name".into(), "1".into());
    let error = stage(machine.path(), &STAGED.into(), &image).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("cannot give it its `nonsense.name`"),
        "{text}"
    );
    assert_eq!(machine.names(), ["fstab"]);
}

#[test]
fn a_commit_replaces_what_was_expected_and_leaves_nothing_behind() {
    for exchange in [true, false] {
        let machine = Machine::new();
        machine.stage("new");
        machine.commit(Some("old"), exchange).unwrap();
        assert_eq!(machine.text(TARGET), "new");
        assert_eq!(machine.names(), ["fstab"]);
    }
}

#[test]
fn w04_a_commit_over_a_rival_s_edit_is_refused_and_the_edit_kept() {
    for exchange in [true, false] {
        let machine = Machine::new();
        machine.stage("new");
        machine.write("rival");
        let error = machine.commit(Some("old"), exchange).unwrap_err();
        assert_eq!(error.to_string(), CHANGED);
        assert_eq!(machine.text(TARGET), "rival");
        // The same bytes with another mode are an edit too.
        machine.write("old");
        fs::set_permissions(machine.at(TARGET), PermissionsExt::from_mode(0o600)).unwrap();
        let error = machine.commit(Some("old"), exchange).unwrap_err();
        assert_eq!(error.to_string(), CHANGED);
        assert_eq!(machine.text(STAGED), "new", "the caller's, to remove");
    }
}

#[test]
fn w04_in_a_race_the_rival_s_edit_is_there_in_the_end() {
    let machine = Machine::new();
    let rival = machine.at("/etc/rival");
    for round in 0..500 {
        machine.write("old");
        machine.stage("new");
        fs::write(&rival, "rival").unwrap();
        let start = Barrier::new(2);
        let ours = std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                // Spread over the whole commit.
                for _ in 0..(round * 37) % 4000 {
                    std::hint::spin_loop();
                }
                fs::rename(&rival, machine.at(TARGET)).unwrap();
            });
            start.wait();
            machine.commit(Some("old"), true)
        });
        assert_eq!(machine.text(TARGET), "rival", "round {round}: {ours:?}");
        let _ = fs::remove_file(machine.at(STAGED));
    }
}

#[test]
fn a_new_file_appears_only_where_there_is_none() {
    for exchange in [true, false] {
        let machine = Machine::new();
        machine.stage("new");
        let error = machine.commit(None, exchange).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(machine.text(TARGET), "old");
        fs::remove_file(machine.at(TARGET)).unwrap();
        machine.commit(None, exchange).unwrap();
        assert_eq!(machine.text(TARGET), "new");
        assert_eq!(machine.names(), ["fstab"]);
    }
}

#[test]
fn an_expected_file_that_is_gone_is_a_change_too() {
    let machine = Machine::new();
    machine.stage("new");
    fs::remove_file(machine.at(TARGET)).unwrap();
    assert_eq!(
        machine.commit(Some("old"), true).unwrap_err().to_string(),
        CHANGED
    );
    assert!(!machine.at(TARGET).exists());
}

#[test]
fn a_staged_file_must_be_there_and_stand_beside_its_target() {
    let machine = Machine::new();
    let error = machine.commit(Some("old"), true).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let error = commit(
        machine.path(),
        &"/.fstab".into(),
        &TARGET.into(),
        None,
        true,
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`/.fstab` does not stand beside `/etc/fstab`"
    );
}

#[test]
fn w01_a_link_in_the_target_s_place_is_not_replaced() {
    let machine = Machine::new();
    fs::rename(machine.at(TARGET), machine.at("/etc/real")).unwrap();
    symlink("real", machine.at(TARGET)).unwrap();
    machine.stage("new");
    assert!(machine.commit(Some("old"), true).is_err());
    assert!(machine.at(TARGET).is_symlink());
    assert_eq!(machine.text("/etc/real"), "old");
}

#[test]
fn a_record_is_replaced_whole_whatever_was_left_behind() {
    let machine = Machine::new();
    symlink("fstab", machine.at("/etc/.record.ssdtune-new")).unwrap();
    for text in ["one", "two"] {
        record(machine.path(), &"/etc/record".into(), &machine.image(text)).unwrap();
        assert_eq!(machine.text("/etc/record"), text);
    }
    assert_eq!(machine.text(TARGET), "old");
    assert_eq!(machine.names(), ["fstab", "record"]);
}

#[test]
fn only_the_expected_file_is_removed() {
    let machine = Machine::new();
    let (path, old) = (TARGET.into(), machine.image("old"));
    machine.write("rival");
    let error = remove(machine.path(), &path, Some(&old)).unwrap_err();
    assert_eq!(error.to_string(), CHANGED);
    machine.write("old");
    remove(machine.path(), &path, Some(&old)).unwrap();
    remove(machine.path(), &path, Some(&old)).unwrap();
    remove(machine.path(), &path, None).unwrap();
    remove(machine.path(), &"/no/such/folder".into(), Some(&old)).unwrap();
    assert_eq!(machine.names(), Vec::<String>::new());
    machine.write("anything");
    remove(machine.path(), &path, None).unwrap();
    assert_eq!(machine.names(), Vec::<String>::new());
}

#[test]
fn a_removal_that_was_interrupted_is_finished() {
    let machine = Machine::new();
    let hidden = machine.at("/etc/.fstab.ssdtune-old");
    fs::rename(machine.at(TARGET), &hidden).unwrap();
    remove(machine.path(), &TARGET.into(), Some(&machine.image("old"))).unwrap();
    assert_eq!(machine.names(), Vec::<String>::new());
    // What stands there is not ours: it stays, and is in nobody's way.
    fs::write(&hidden, "precious").unwrap();
    machine.write("old");
    remove(machine.path(), &TARGET.into(), Some(&machine.image("old"))).unwrap();
    assert_eq!(machine.names(), [".fstab.ssdtune-old"]);
}

#[test]
fn w04_in_a_race_a_removal_keeps_the_rival_s_edit() {
    let machine = Machine::new();
    let rival = machine.at("/etc/rival");
    for round in 0..300 {
        machine.write("old");
        fs::write(&rival, "rival").unwrap();
        let start = Barrier::new(2);
        let ours = std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                for _ in 0..(round * 37) % 4000 {
                    std::hint::spin_loop();
                }
                fs::rename(&rival, machine.at(TARGET)).unwrap();
            });
            start.wait();
            remove(machine.path(), &TARGET.into(), Some(&machine.image("old")))
        });
        assert_eq!(machine.text(TARGET), "rival", "round {round}: {ours:?}");
    }
}
