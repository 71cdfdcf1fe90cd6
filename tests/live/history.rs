//! Many applies, and every way back from them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use nix::mount::MsFlags;

use crate::support::machine::{Disk, Machine, World, alone};

/// One ext4 disk in fstab, and hand-tuned values in its queue.
fn one(machine: &Machine) -> Option<Disk> {
    let disk = machine.disk("ext4", MsFlags::MS_NOSUID, "")?;
    let fstab = format!(
        "# first\n{} {} ext4 nosuid 0 2\n",
        disk.node.display(),
        disk.target.display()
    );
    fs::write("/etc/fstab", fstab).unwrap();
    let queue = format!("/sys/block/{}/queue", disk.name);
    fs::write(format!("{queue}/scheduler"), "mq-deadline").unwrap();
    fs::write(format!("{queue}/iosched/fifo_batch"), "9").unwrap();
    Some(disk)
}

/// The nth state of three that each differ in all that is managed.
fn state(machine: &Machine, disk: &Disk, nth: usize) -> String {
    let options = [
        "\"noatime\"",
        "\"noatime\", \"commit=60\"",
        "\"relatime\", \"commit=30\", \"nodiscard\"",
    ][nth];
    let device = [
        "scheduler = \"kyber\"\nread_ahead_kb = 64",
        "scheduler = \"mq-deadline\"\nnr_requests = 32\nmq-deadline.fifo_batch = 1",
        "scheduler = \"none\"\nmax_sectors_kb = 256",
    ][nth];
    let tmpfs = match nth {
        1 => "[[tmpfs]]\ntarget = \"/tmp\"\nsize = \"1g\"\nmode = \"1777\"\n",
        _ => "",
    };
    machine.state(&format!(
        "[[mount]]\nmatch.target = \"{}\"\noptions = [{options}]\n{tmpfs}[[device]]\nmatch.name = \"{}\"\n{device}\n",
        disk.target.display(),
        disk.name
    ))
}

/// The worlds before the first and after each of three applies.
fn three(machine: &Machine, disk: &Disk) -> [World; 4] {
    let mut worlds = vec![machine.world().of_the_user()];
    for nth in 0..3 {
        let state = state(machine, disk, nth);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        machine
            .ssdtune(&["plan", "--detailed-exitcode", &state])
            .ends(0);
        worlds.push(machine.world().of_the_user());
    }
    worlds.try_into().unwrap()
}

#[test]
fn w05_three_applies_and_three_rollbacks_end_as_at_first() {
    alone(|machine| {
        let Some(disk) = one(machine) else { return };
        fs::set_permissions("/etc/fstab", PermissionsExt::from_mode(0o640)).unwrap();
        chown("/etc/fstab", Some(5), Some(6)).unwrap();
        let worlds = three(machine, &disk);
        for world in worlds[..3].iter().rev() {
            machine.ssdtune(&["rollback", "--yes"]).ends(0);
            machine.world().of_the_user().is(world);
        }
        machine
            .ssdtune(&["rollback", "--yes"])
            .ends(1)
            .says("nothing to roll back");
        machine.world().of_the_user().is(&worlds[0]);
        // Copies beside fstab: of the first and of the last.
        let world = machine.world();
        let copies: Vec<_> = world
            .0
            .keys()
            .filter(|name| name.contains("fstab.bak"))
            .collect();
        assert_eq!(copies, ["file /etc/fstab.bak-1", "file /etc/fstab.bak-6"]);
        let bytes = |name: &str| world.get(name).split_once('\n').unwrap().1.to_owned();
        assert_eq!(bytes("file /etc/fstab.bak-1"), bytes("file /etc/fstab"));
    });
}

#[test]
fn w05_original_n_and_a_rollback_of_a_rollback() {
    alone(|machine| {
        let Some(disk) = one(machine) else { return };
        let worlds = three(machine, &disk);
        machine
            .ssdtune(&["rollback", "--yes", "--original"])
            .ends(0);
        machine.world().of_the_user().is(&worlds[0]);
        // 4 was that rollback.
        machine.ssdtune(&["rollback", "--yes", "4"]).ends(0);
        machine.world().of_the_user().is(&worlds[3]);
        // What it took back stands again, and its last is the last.
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&worlds[2]);
        machine.ssdtune(&["rollback", "--yes", "2"]).ends(0);
        machine.world().of_the_user().is(&worlds[1]);
        machine
            .ssdtune(&["rollback", "--yes", "99"])
            .ends(1)
            .says("there is no snapshot 99");
        machine.ssdtune(&["rollback", "--yes", "1"]).ends(0);
        machine.world().of_the_user().is(&worlds[0]);
    });
}

#[test]
fn a_copy_made_by_hand_is_taken_and_a_foreign_one_refused() {
    alone(|machine| {
        let Some(disk) = one(machine) else { return };
        let before = machine.world().of_the_user();
        let copy = machine.at("fstab.bak");
        fs::copy("/etc/fstab", &copy).unwrap();
        let copy = copy.to_str().unwrap();
        let applied = state(machine, &disk, 1);
        let applied = {
            machine
                .ssdtune(&["apply", "--yes", "--only", "boot", &applied])
                .ends(0);
            machine.world().of_the_user()
        };
        let own = ["file /var/lib/ssdtune/managed.json", "file /etc/udev"];
        machine.ssdtune(&["rollback", "--yes", copy]).ends(0);
        machine
            .world()
            .of_the_user()
            .without(&own)
            .is(&before.without(&own));
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&applied);
        for (text, why) in [
            ("", "has no entry at all"),
            ("/dev/sda1 /x ext4 rw, noatime 0 0\n", "line 1 of the copy"),
        ] {
            fs::write(copy, text).unwrap();
            machine
                .ssdtune(&["rollback", "--yes", copy])
                .ends(1)
                .shows(why);
        }
        machine
            .ssdtune(&["rollback", "--yes", "/nowhere/fstab"])
            .ends(2);
        machine.world().of_the_user().is(&applied);
    });
}

#[test]
fn w04_lines_of_others_stay_and_a_conflict_asks_for_force() {
    alone(|machine| {
        let Some(disk) = one(machine) else { return };
        let before = fs::read_to_string("/etc/fstab").unwrap();
        let state = state(machine, &disk, 1);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let applied = fs::read_to_string("/etc/fstab").unwrap();
        let nfs = "srv:/x /x nfs4 noauto 0 0\n";
        fs::write("/etc/fstab", format!("# theirs\n{applied}{nfs}")).unwrap();
        fs::set_permissions("/etc/fstab", PermissionsExt::from_mode(0o600)).unwrap();
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        let merged = fs::read_to_string("/etc/fstab").unwrap();
        assert_eq!(merged, format!("# theirs\n{before}{nfs}"));
        let mode = fs::metadata("/etc/fstab").unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "that of today");

        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let applied = fs::read_to_string("/etc/fstab").unwrap();
        let edited = applied.replace("commit=60", "commit=61");
        assert_ne!(edited, applied);
        fs::write("/etc/fstab", &edited).unwrap();
        let world = machine.world();
        machine
            .ssdtune(&["rollback", "--yes"])
            .ends(1)
            .shows("was changed since apply 3 in the same place");
        machine.world().is(&world);
        machine.ssdtune(&["rollback", "--yes", "--force"]).ends(0);
        assert_eq!(fs::read_to_string("/etc/fstab").unwrap(), merged);
    });
}

#[test]
fn history_lists_shows_compares_and_prunes() {
    alone(|machine| {
        let Some(disk) = one(machine) else { return };
        machine.ssdtune(&["history"]).ends(0).shows("No snapshots");
        three(machine, &disk);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        let list = machine.ssdtune(&["history"]).ends(0).out;
        let lines: Vec<_> = list.lines().collect();
        assert_eq!(lines.len(), 4, "{list}");
        assert!(
            lines[2].contains("apply") && lines[2].ends_with("rolled back"),
            "{list}"
        );
        assert!(lines[3].contains("rollback to before 3"), "{list}");
        machine
            .ssdtune(&["history", "show", "2"])
            .ends(0)
            .shows("Snapshot 2 of ")
            .shows("commit=60");
        machine
            .ssdtune(&["history", "diff", "1"])
            .ends(0)
            .shows("-");
        machine
            .ssdtune(&["history", "show", "9"])
            .ends(1)
            .says("there is no snapshot 9");
        machine
            .ssdtune(&["history", "prune", "--keep", "1"])
            .ends(0)
            .says("Removed 1 snapshot.");
        let list = machine.ssdtune(&["history"]).ends(0).out;
        assert_eq!(list.lines().count(), 3, "{list}");
        // The first, the last that stands, and the rollback; before it a gap that it knows to pass.
        machine
            .ssdtune(&["rollback", "--yes", "--original", "--force"])
            .ends(0);
        let fstab = fs::read_to_string("/etc/fstab").unwrap();
        assert!(
            fstab.starts_with("# first\n") && fstab.ends_with("ext4 nosuid 0 2\n"),
            "{fstab}"
        );
    });
}

#[test]
fn a_setting_that_is_dropped_returns_to_what_was_first_found() {
    alone(|machine| {
        let Some(disk) = one(machine) else { return };
        let worlds = three(machine, &disk);
        let empty = machine.state("");
        machine.ssdtune(&["apply", "--yes", &empty]).ends(0);
        // A tunable that no rule named went with the first switch; the record does not know it.
        let unknown = format!("queue {} iosched/fifo_batch", disk.name);
        let unknown = [unknown.as_str()];
        let now = machine.world().of_the_user();
        now.without(&unknown).is(&worlds[0].without(&unknown));
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&worlds[3]);
    });
}

#[test]
fn a_damaged_snapshot_is_told_and_hides_no_other() {
    alone(|machine| {
        let size = |size| {
            machine.state(&format!(
                "[[tmpfs]]\ntarget = \"/tmp\"\nsize = \"{size}\"\nmode = \"1777\"\n"
            ))
        };
        machine.ssdtune(&["apply", "--yes", &size("1g")]).ends(0);
        machine.ssdtune(&["apply", "--yes", &size("2g")]).ends(0);
        let folder = "/var/lib/ssdtune/snapshots/1";
        fs::write(format!("{folder}/manifest.json"), "{").unwrap();
        machine
            .ssdtune(&["history"])
            .ends(0)
            .shows("   2  ")
            .says("move its folder out of the way");
        // What stands now is told by the newest.
        machine.ssdtune(&["status", &size("2g")]).ends(6);
        machine
            .ssdtune(&["rollback", "--yes"])
            .ends(1)
            .says("move its folder out of the way");
        fs::rename(folder, "/var/lib/ssdtune/damaged").unwrap();
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
    });
}
