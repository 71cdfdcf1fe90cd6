//! fstrim.timer: the link that enables it, on a machine and on an offline system. Whether it runs
//! only systemd can tell, which does not run here: `tests/vm` has that.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::machine::{Machine, World, alone, walk};

const LINK: &str = "etc/systemd/system/timers.target.wants/fstrim.timer";
const UNIT: &str = "usr/lib/systemd/system/fstrim.timer";

/// An offline system with an fstab and the unit.
fn offline(machine: &Machine) -> String {
    let root = machine.at("offline");
    for folder in [
        "etc/systemd/system",
        "usr/lib/systemd/system",
        "var/lib",
        "run",
    ] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("etc/fstab"), "/dev/sda1 / ext4 defaults 0 1\n").unwrap();
    fs::write(
        root.join("etc/machine-id"),
        "0123456789abcdef0123456789abcdef\n",
    )
    .unwrap();
    fs::write(root.join(UNIT), "[Timer]\nOnCalendar=weekly\n").unwrap();
    root.to_str().unwrap().to_owned()
}

fn world(root: &str) -> World {
    let mut files = Default::default();
    walk(&mut files, Path::new(root));
    let files = files.into_iter();
    World(
        files
            .map(|(name, text)| (name.replace(root, ""), text))
            .collect(),
    )
    .of_the_user()
    .without(&["file /run/ssdtune"])
}

#[test]
fn an_offline_system_s_timer_is_enabled_and_taken_back() {
    alone(|machine| {
        let root = offline(machine);
        let before = world(&root);
        let on = machine.state("[trim]\ntimer = true\n");
        let ssdtune =
            |arguments: &[&str]| machine.ssdtune(&[&["--root", &root], arguments].concat());
        ssdtune(&["status", &on]).ends(3);
        let run = ssdtune(&["apply", "--yes", &on]).ends(0);
        run.shows("~ fstrim.timer  disabled -> enabled")
            .shows("at next boot");
        let link = Path::new(&root).join(LINK);
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("/").join(UNIT));
        ssdtune(&["status", &on]).ends(0);
        ssdtune(&["plan", "--detailed-exitcode", &on]).ends(0);
        ssdtune(&["rollback", "--yes"])
            .ends(0)
            .shows("enabled -> disabled");
        world(&root).is(&before);
        assert!(!link.parent().unwrap().exists());

        // The same by dropping it from the state, and the way back from that.
        ssdtune(&["apply", "--yes", &on]).ends(0);
        let applied = world(&root);
        let none = machine.state("version = 1\n");
        ssdtune(&["apply", "--yes", &none])
            .ends(0)
            .shows("enabled -> disabled");
        world(&root).is(&before);
        ssdtune(&["plan", "--detailed-exitcode", &none]).ends(0);
        ssdtune(&["rollback", "--yes"])
            .ends(0)
            .shows("disabled -> enabled");
        world(&root).is(&applied);
        ssdtune(&["rollback", "--original", "--yes"]).ends(0);
        world(&root).is(&before);
    });
}

#[test]
fn links_of_every_kind_go_and_come_back_as_they_were() {
    alone(|machine| {
        let root = offline(machine);
        let at = |path: &str| Path::new(&root).join(path);
        let other = "etc/systemd/system/basic.target.requires/fstrim.timer";
        for (path, target) in [
            (LINK, "/lib/systemd/system/fstrim.timer"),
            (other, "../fstrim.timer"),
        ] {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            symlink(target, at(path)).unwrap();
        }
        let before = world(&root);
        let off = machine.state("[trim]\ntimer = false\n");
        let ssdtune =
            |arguments: &[&str]| machine.ssdtune(&[&["--root", &root], arguments].concat());
        ssdtune(&["apply", "--yes", &off]).ends(0);
        assert!(
            fs::symlink_metadata(at(LINK)).is_err() && fs::symlink_metadata(at(other)).is_err()
        );
        ssdtune(&["status", &off]).ends(0);
        ssdtune(&["rollback", "--yes"]).ends(0);
        world(&root).is(&before);

        // Who enabled it in his own way meanwhile is not overruled without a word.
        ssdtune(&["apply", "--yes", &off]).ends(0);
        fs::create_dir_all(at(LINK).parent().unwrap()).unwrap();
        symlink("/somewhere/else", at(LINK)).unwrap();
        let run = ssdtune(&["rollback", "--yes"]).ends(1);
        run.shows("mend it by hand");
        assert_eq!(
            fs::read_link(at(LINK)).unwrap(),
            Path::new("/somewhere/else")
        );
        ssdtune(&["rollback", "--yes", "--force"]).ends(0);
        world(&root).is(&before);
    });
}

#[test]
fn what_cannot_be_switched_is_an_error_and_nothing_is_changed() {
    alone(|machine| {
        let root = offline(machine);
        let at = |path: &str| Path::new(&root).join(path);
        let refused = |wanted: bool, word: &str| {
            let before = world(&root);
            let state = machine.state(&format!("[trim]\ntimer = {wanted}\n"));
            let run = machine.ssdtune(&["--root", &root, "apply", "--yes", &state]);
            run.ends(1).shows(word);
            world(&root).is(&before);
        };
        let mask = at("etc/systemd/system/fstrim.timer");
        symlink("/dev/null", &mask).unwrap();
        refused(true, "systemctl unmask fstrim.timer");
        fs::remove_file(&mask).unwrap();
        let vendor = at("usr/lib/systemd/system/timers.target.wants");
        fs::create_dir(&vendor).unwrap();
        symlink("../fstrim.timer", vendor.join("fstrim.timer")).unwrap();
        refused(false, "systemctl mask");
        fs::remove_dir_all(&vendor).unwrap();
        fs::remove_file(at(UNIT)).unwrap();
        refused(true, "util-linux");
    });
}
