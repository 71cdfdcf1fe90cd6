#![allow(
    clippy::disallowed_methods,
    reason = "a test sets up what the store then reads"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::facts::Image;
use crate::plan::{FileEdit, Plan};
use crate::snapshot::Kind;
use crate::system::failing::{Failing, Mode};
use crate::system::{Effect, Live, System};

/// An offline machine with an fstab.
struct Machine {
    root: tempfile::TempDir,
    store: Store,
    system: Live,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let root = root.unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        Self {
            store: Store::open(root.path()),
            system: Live::new(root.path()),
            root,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn image(&self, text: &str) -> Image {
        let meta = fs::metadata(self.root.path()).unwrap();
        Image {
            bytes: text.into(),
            uid: meta.uid(),
            gid: meta.gid(),
            mode: 0o644,
            ..Image::default()
        }
    }

    /// The receipt of an edit of fstab and of a new rules file.
    fn snapshot(&self, number: u32) -> Snapshot {
        let file = |path: &str, before: Option<Image>| FileEdit {
            path: path.into(),
            resolved: path.into(),
            before,
            after: Some(self.image("after")),
        };
        let fstab = self.image(&format!("fstab {number}"));
        let plan = Plan {
            files: vec![
                file("/etc/udev/rules.d/90-ssdtune.rules", None),
                file("/etc/fstab", Some(fstab)),
            ],
            ..Plan::default()
        };
        let at = "2026-11-30T12:03:07Z".parse().unwrap();
        Snapshot::new(number, at, Kind::Apply, plan)
    }

    fn create(&mut self, number: u32, phase: Phase) -> Snapshot {
        let mut snapshot = self.snapshot(number);
        self.store.create(&mut self.system, &snapshot).unwrap();
        if phase != Phase::Prepared {
            let store = self.store.clone();
            store.mark(&mut self.system, &mut snapshot, phase).unwrap();
        }
        snapshot
    }

    /// Every file below the root, and its mode.
    fn tree(&self) -> Vec<String> {
        let mut tree = Vec::new();
        let mut folders = vec![self.root.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let (path, meta) = {
                    let entry = entry.unwrap();
                    (entry.path(), entry.metadata().unwrap())
                };
                let shown = path.strip_prefix(self.root.path()).unwrap();
                tree.push(format!("{:o} {}", meta.mode() & 0o7777, shown.display()));
                if meta.is_dir() {
                    folders.push(path);
                }
            }
        }
        tree.sort();
        tree
    }

    fn backups(&self) -> Vec<u32> {
        self.store.backups().unwrap()
    }
}

#[test]
fn w05_a_snapshot_is_a_folder_for_root_with_plain_copies() {
    let mut machine = Machine::new();
    let snapshot = machine.create(1, Phase::Prepared);
    fs::set_permissions(machine.at("etc"), PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(
        machine.tree(),
        [
            "600 var/lib/ssdtune/snapshots/1/manifest.json",
            "644 etc/fstab.bak-1",
            "644 var/lib/ssdtune/snapshots/1/fstab",
            "700 var/lib/ssdtune/snapshots",
            "700 var/lib/ssdtune/snapshots/1",
            "755 etc",
            "755 var",
            "755 var/lib",
            "755 var/lib/ssdtune",
        ]
    );
    for copy in ["etc/fstab.bak-1", "var/lib/ssdtune/snapshots/1/fstab"] {
        assert_eq!(fs::read(machine.at(copy)).unwrap(), b"fstab 1");
    }
    assert_eq!(machine.store.read(1).unwrap(), snapshot);
}

#[test]
fn numbers_are_numbers_and_none_is_used_twice() {
    let mut machine = Machine::new();
    assert_eq!(machine.store.numbers().unwrap(), Vec::<u32>::new());
    assert_eq!(machine.store.next_number().unwrap(), 1);
    for number in [10, 9] {
        machine.create(number, Phase::Applied);
    }
    for odd in ["007", "+8", "x", "99999999999"] {
        fs::create_dir(machine.at("var/lib/ssdtune/snapshots").join(odd)).unwrap();
    }
    let listed = machine.store.list().unwrap();
    assert_eq!(
        listed.iter().map(|entry| entry.number).collect::<Vec<_>>(),
        [9, 10]
    );
    assert_eq!(machine.store.next_number().unwrap(), 11);
    // A copy of fstab that an administrator made is not overwritten either.
    fs::write(machine.at("etc/fstab.bak-20"), "precious").unwrap();
    assert_eq!(machine.store.next_number().unwrap(), 21);
    let snapshot = machine.snapshot(20);
    let error = machine
        .store
        .create(&mut machine.system, &snapshot)
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(
        fs::read(machine.at("etc/fstab.bak-20")).unwrap(),
        b"precious"
    );
    assert_eq!(machine.store.numbers().unwrap(), [9, 10]);
    for number in [4_000_000_000, u32::MAX - 1, u32::MAX] {
        fs::write(machine.at(&format!("etc/fstab.bak-{number}")), "").unwrap();
        assert_eq!(machine.store.next_number().unwrap(), 21, "{number}");
    }
    fs::write(machine.at("etc/fstab.bak-999999"), "").unwrap();
    let error = machine.store.next_number().unwrap_err().to_string();
    assert!(error.contains("`/etc/fstab.bak-999999`"), "{error}");
}

#[test]
fn a_manifest_that_its_copies_gainsay_is_not_trusted() {
    let mut machine = Machine::new();
    machine.create(1, Phase::Applied);
    let manifest = machine.at("var/lib/ssdtune/snapshots/1/manifest.json");
    let copy = machine.at("var/lib/ssdtune/snapshots/1/fstab");
    let sound = fs::read_to_string(&manifest).unwrap();
    let damaged = sound.replace("fstab 1", "fstab 3");
    assert_ne!(sound, damaged);
    fs::write(&manifest, damaged).unwrap();
    let refused = |why: &str| {
        // Whoever only looks is not kept from it.
        let snapshot = machine.store.read(1).unwrap();
        let error = machine.store.check(&snapshot).unwrap_err().to_string();
        let path = "/var/lib/ssdtune/snapshots/1/manifest.json";
        assert!(error.contains(path) && error.contains(why), "{error}");
    };
    refused("`/var/lib/ssdtune/snapshots/1/fstab`");
    fs::write(&manifest, &sound).unwrap();
    assert!(machine.store.check(&machine.store.read(1).unwrap()).is_ok());
    fs::write(&copy, "fstab 2").unwrap();
    refused("one of the two is damaged");
    fs::remove_file(&copy).unwrap();
    refused("one of the two is damaged");
}

#[test]
fn a_snapshot_that_is_there_is_never_overwritten() {
    let mut machine = Machine::new();
    let snapshot = machine.create(1, Phase::Applied);
    let error = machine
        .store
        .create(&mut machine.system, &snapshot)
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(machine.store.read(1).unwrap(), snapshot);
    assert_eq!(machine.backups(), [1]);
}

#[test]
fn phases_are_durable_and_the_newest_open_one_is_found() {
    let mut machine = Machine::new();
    assert!(machine.store.interrupted().unwrap().is_none());
    machine.create(1, Phase::Applied);
    machine.create(2, Phase::Committing);
    machine.create(3, Phase::Undone);
    let open = machine.store.interrupted().unwrap().unwrap();
    assert_eq!((open.number, open.phase), (2, Phase::Committing));
}

#[test]
fn a_mark_that_fails_leaves_the_phase_as_it_was() {
    let mut machine = Machine::new();
    let mut snapshot = machine.create(1, Phase::Prepared);
    let mut failing = Failing::new(Live::new(machine.root.path()), 1, Mode::Before);
    let marked = machine.store.mark(&mut failing, &mut snapshot, Phase::Live);
    assert!(marked.is_err());
    assert_eq!(snapshot.phase, Phase::Prepared);
    assert_eq!(machine.store.read(1).unwrap(), snapshot);
}

#[test]
fn what_cannot_be_read_is_reported() {
    let mut machine = Machine::new();
    let first = machine.create(1, Phase::Applied);
    let folder = |number: u32| format!("var/lib/ssdtune/snapshots/{number}");
    for number in 2..=6 {
        fs::create_dir(machine.at(&folder(number))).unwrap();
    }
    let file = |number| machine.at(&format!("{}/manifest.json", folder(number)));
    fs::write(file(2), first.to_json().unwrap()).unwrap();
    fs::write(file(3), "{").unwrap();
    symlink("../1/manifest.json", file(4)).unwrap();
    fs::create_dir(file(5)).unwrap();
    let texts: Vec<_> = machine
        .store
        .list()
        .unwrap()
        .into_iter()
        .filter_map(|entry| entry.snapshot.err())
        .map(|error| error.to_string())
        .collect();
    assert_eq!(
        texts,
        [
            "`/var/lib/ssdtune/snapshots/2/manifest.json` cannot be read as a snapshot: it says \
             that it is number 1",
            "`/var/lib/ssdtune/snapshots/3/manifest.json` cannot be read as a snapshot: EOF while \
             parsing an object at line 1 column 1",
            "cannot read `/var/lib/ssdtune/snapshots/4/manifest.json`: it is a link",
            "cannot read `/var/lib/ssdtune/snapshots/5/manifest.json`: it is no regular file",
            "snapshot 6 was interrupted while it was made, before anything was changed",
        ]
    );
    assert!(matches!(machine.store.read(7), Err(Error::Missing(7))));
    // 6 is unfinished and does not count; 5 might be anything.
    assert!(machine.store.interrupted().is_err());
}

#[test]
fn pruning_keeps_the_first_the_newest_and_what_is_open() {
    let mut machine = Machine::new();
    for number in 1..=6 {
        let phase = if number == 3 {
            Phase::Live
        } else {
            Phase::Applied
        };
        machine.create(number, phase);
    }
    fs::create_dir(machine.at("var/lib/ssdtune/snapshots/7")).unwrap();
    fs::write(machine.at("etc/fstab.bak-5"), "edited by hand").unwrap();
    fs::write(machine.at("etc/fstab.bak-99"), "somebody else's").unwrap();
    let gone = machine.store.prune(&mut machine.system, 2).unwrap();
    assert_eq!(gone, [2, 4]);
    assert_eq!(machine.store.numbers().unwrap(), [1, 3, 5, 6]);
    assert_eq!(machine.backups(), [1, 5, 6, 99]);
    let gone = machine.store.prune(&mut machine.system, 0).unwrap();
    assert_eq!(gone, [5]);
    assert_eq!(machine.store.numbers().unwrap(), [1, 3, 6]);
}

#[test]
fn pruning_keeps_the_rollback_without_which_the_first_would_stand() {
    let mut machine = Machine::new();
    for number in 1..=6 {
        let kind = match number {
            2 => Kind::Rollback { to: Some(1) },
            _ => Kind::Apply,
        };
        let mut snapshot = machine.snapshot(number);
        snapshot.kind = kind;
        snapshot.phase = Phase::Applied;
        machine
            .store
            .create(&mut machine.system, &snapshot)
            .unwrap();
    }
    let gone = machine.store.prune(&mut machine.system, 2).unwrap();
    assert_eq!(gone, [3, 4]);
    let list = machine.store.list().unwrap();
    let left: Vec<_> = list
        .into_iter()
        .map(|entry| entry.snapshot.unwrap())
        .collect();
    let standing: Vec<_> = crate::snapshot::standing(&left)
        .iter()
        .map(|s| s.number)
        .collect();
    assert_eq!(standing, [5, 6]);
}

#[test]
fn pruning_keeps_the_last_apply_that_stands() {
    let mut machine = Machine::new();
    for number in 1..=8 {
        let mut snapshot = machine.snapshot(number);
        (snapshot.kind, snapshot.phase) = match number {
            // The second and later ones were cut off, and each was taken back.
            1 | 2 => (Kind::Apply, Phase::Applied),
            odd if odd % 2 == 1 => (Kind::Rollback { to: Some(2) }, Phase::Undone),
            even => (Kind::Rollback { to: Some(even - 1) }, Phase::Applied),
        };
        machine
            .store
            .create(&mut machine.system, &snapshot)
            .unwrap();
    }
    let gone = machine.store.prune(&mut machine.system, 2).unwrap();
    assert_eq!(gone, [3, 4, 5, 6]);
    assert_eq!(machine.store.numbers().unwrap(), [1, 2, 7, 8]);
}

#[test]
fn what_a_later_rollback_took_back_is_not_open() {
    let mut machine = Machine::new();
    machine.create(1, Phase::Applied);
    machine.create(2, Phase::Live);
    let mut back = machine.snapshot(3);
    back.kind = Kind::Rollback { to: Some(2) };
    machine.store.create(&mut machine.system, &back).unwrap();
    let open = machine.store.interrupted().unwrap().unwrap();
    assert_eq!(open.number, 3, "the rollback itself");
    let store = machine.store.clone();
    store
        .mark(&mut machine.system, &mut back, Phase::Applied)
        .unwrap();
    assert!(machine.store.interrupted().unwrap().is_none());
}

#[test]
fn an_unfinished_snapshot_takes_its_copy_of_fstab_with_it() {
    let mut machine = Machine::new();
    machine.create(1, Phase::Applied);
    machine.create(2, Phase::Applied);
    for number in [1, 2] {
        let manifest = format!("var/lib/ssdtune/snapshots/{number}/manifest.json");
        fs::remove_file(machine.at(&manifest)).unwrap();
    }
    fs::write(machine.at("etc/fstab.bak-2"), "edited by hand").unwrap();
    machine.store.prune(&mut machine.system, 5).unwrap();
    assert_eq!(machine.store.numbers().unwrap(), Vec::<u32>::new());
    assert_eq!(machine.backups(), [2]);
}

#[test]
fn a_snapshot_that_is_discarded_leaves_nothing() {
    let mut machine = Machine::new();
    let snapshot = machine.create(1, Phase::Undone);
    machine
        .store
        .discard(&mut machine.system, &snapshot)
        .unwrap();
    machine
        .store
        .discard(&mut machine.system, &snapshot)
        .unwrap();
    assert_eq!(machine.store.numbers().unwrap(), Vec::<u32>::new());
    assert_eq!(machine.backups(), Vec::<u32>::new());
}

#[test]
fn another_snapshot_of_that_number_is_not_discarded() {
    let mut machine = Machine::new();
    let snapshot = machine.create(1, Phase::Applied);
    let mut other = machine.snapshot(1);
    other.at += chrono::TimeDelta::seconds(1);
    let error = machine
        .store
        .discard(&mut machine.system, &other)
        .unwrap_err();
    assert_eq!(error.to_string(), "snapshot 1 is another one: it stays");
    assert_eq!(machine.store.read(1).unwrap(), snapshot);
    assert_eq!(machine.backups(), [1]);
}

/// How many effects a snapshot takes.
fn steps() -> usize {
    let mut machine = Machine::new();
    let snapshot = machine.snapshot(1);
    let mut counting = Failing::new(machine.system, 0, Mode::Before);
    machine.store.create(&mut counting, &snapshot).unwrap();
    machine.system = counting.inner;
    counting.count
}

#[test]
fn w05_whichever_step_fails_nothing_is_left_behind() {
    for mode in [Mode::Before, Mode::After] {
        for step in 1..=steps() {
            let machine = Machine::new();
            let snapshot = machine.snapshot(1);
            let mut failing = Failing::new(Live::new(machine.root.path()), step, mode);
            let error = machine.store.create(&mut failing, &snapshot);
            assert!(error.is_err(), "step {step}");
            let left = machine.tree();
            assert!(
                left.iter().all(|file| !file.contains("fstab")),
                "{step}: {left:?}"
            );
            assert_eq!(
                machine.store.numbers().unwrap(),
                Vec::<u32>::new(),
                "step {step}"
            );
        }
    }
}

#[test]
fn wherever_the_power_goes_the_store_can_be_read_and_cleaned() {
    for mode in [Mode::Dead, Mode::DeadAfter] {
        for step in 1..=steps() {
            let mut machine = Machine::new();
            let snapshot = machine.snapshot(1);
            let mut failing = Failing::new(Live::new(machine.root.path()), step, mode);
            assert!(machine.store.create(&mut failing, &snapshot).is_err());
            match machine.store.interrupted().unwrap() {
                Some(found) => assert_eq!(found, snapshot, "step {step}"),
                None => {
                    // The next one takes another number, and leaves no hidden file behind.
                    let number = machine.store.next_number().unwrap();
                    machine.create(number, Phase::Applied);
                    machine.store.prune(&mut machine.system, 5).unwrap();
                    let hidden: Vec<_> = machine
                        .tree()
                        .into_iter()
                        .filter(|file| file.contains("/."))
                        .collect();
                    assert_eq!(hidden, Vec::<String>::new(), "step {step}");
                }
            }
        }
    }
}

#[test]
fn a_manifest_has_no_place_for_a_path_that_leads_out() {
    let mut machine = Machine::new();
    let path = "/var/lib/ssdtune/snapshots/../../../../etc".into();
    assert!(machine.system.perform(&Effect::RemoveDir { path }).is_err());
    let mut snapshot = machine.snapshot(1);
    for (path, copy) in [("/..", "-.."), ("/a/manifest.json", "-a-manifest.json")] {
        snapshot.plan.files[1].path = path.into();
        snapshot.number += 1;
        machine
            .store
            .create(&mut machine.system, &snapshot)
            .unwrap();
        let folder = format!("var/lib/ssdtune/snapshots/{}", snapshot.number);
        assert_eq!(
            fs::read(machine.at(&folder).join(copy)).unwrap(),
            b"fstab 1"
        );
    }
}
