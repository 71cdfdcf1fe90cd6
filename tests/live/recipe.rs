//! The recipe of 2011, done right: noatime, discard, tmpfs /tmp, mq-deadline with fifo_batch 1.

use std::fs;

use nix::mount::MsFlags;

use crate::support::machine::{Disk, Machine, alone};
use crate::support::queue_of;

/// Three filesystems, an fstab that lists them, and queues that somebody has tuned by hand.
fn three(machine: &Machine) -> Option<[Disk; 3]> {
    let guarded = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let ext4 = machine.disk("ext4", guarded, "")?;
    let xfs = machine.disk("xfs", MsFlags::empty(), "")?;
    let btrfs = machine.disk("btrfs", MsFlags::MS_RDONLY, "")?;
    let line = |disk: &Disk, rest: &str| {
        format!(
            "{}  {}\t{rest}\n",
            disk.node.display(),
            disk.target.display()
        )
    };
    let fstab = [
        "# made by hand\n".to_owned(),
        line(&ext4, "ext4\tdefaults,nosuid,nodev\t0 2"),
        line(&xfs, "xfs  defaults  0 2 # the big one"),
        line(&btrfs, "btrfs ro 0 0"),
        "none swap swap sw 0 0".to_owned(),
    ];
    fs::write("/etc/fstab", fstab.concat()).unwrap();
    Some([ext4, xfs, btrfs])
}

fn write(disk: &Disk, file: &str, value: &str) {
    fs::write(format!("/sys/block/{}/queue/{file}", disk.name), value).unwrap();
}

fn recipe(disk: &Disk) -> String {
    format!(
        r#"
[[mount]]
match.fstype = "*"
options = ["noatime"]

[[mount]]
match.target = "{}"
options = ["discard", "commit=60"]

[[tmpfs]]
target = "/tmp"
size = "25%"
mode = "1777"
options = ["noatime"]

[[device]]
match.name = "{}"
scheduler = "mq-deadline"
mq-deadline.fifo_batch = 1
nr_requests = 64
max_sectors_kb = 512
read_ahead_kb = 64
"#,
        disk.target.display(),
        disk.name
    )
}

#[test]
fn s04_s06_m01_the_classic_recipe_comes_and_goes() {
    alone(|machine| {
        let Some([ext4, xfs, btrfs]) = three(machine) else {
            return;
        };
        let before = machine.world();
        let state = machine.state(&recipe(&ext4));
        machine
            .ssdtune(&["plan", &state, "--detailed-exitcode"])
            .ends(3);
        machine.ssdtune(&["status", &state]).ends(3);
        machine.world().is(&before);

        machine
            .ssdtune(&["apply", "--yes", &state])
            .ends(0)
            .says("Applied, and read back. Snapshot 1");
        let after = machine.world();
        let queue = queue_of(&ext4.name);
        for (file, value) in [
            ("scheduler", "mq-deadline"),
            ("iosched/fifo_batch", "1"),
            ("nr_requests", "64"),
            ("max_sectors_kb", "512"),
            ("read_ahead_kb", "64"),
        ] {
            assert_eq!(queue[file], value, "{file}");
        }
        let shown = |disk: &Disk| after.get(&format!("mount {}", disk.target.display()));
        assert_eq!(shown(&ext4), "rw,nosuid,nodev,noatime rw,discard,commit=60");
        assert!(shown(&xfs).starts_with("rw,noatime rw,"), "{}", shown(&xfs));
        let shown = shown(&btrfs);
        assert!(shown.starts_with("ro,noatime ro,"), "{shown}");
        let fstab = fs::read_to_string("/etc/fstab").unwrap();
        let [node, target] = [&ext4.node, &ext4.target].map(|path| path.display());
        let line = format!(
            "{node}  {target}\text4\tdefaults,nosuid,nodev,noatime,discard,commit=60\t0 2\n"
        );
        assert!(fstab.contains(&line), "{fstab}");
        assert!(
            fstab.contains("xfs  defaults,noatime  0 2 # the big one\n"),
            "{fstab}"
        );
        assert!(fstab.contains("btrfs ro,noatime 0 0\n"), "{fstab}");
        assert!(
            fstab.ends_with(
                "none swap swap sw 0 0\ntmpfs /tmp tmpfs defaults,noatime,mode=1777,size=25% 0 0\n"
            ),
            "{fstab}"
        );

        machine
            .ssdtune(&["plan", &state, "--detailed-exitcode"])
            .ends(0);
        // The tmpfs line waits.
        machine.ssdtune(&["status", &state]).ends(6);
        // A no-op makes no snapshot.
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        machine.world().is(&after);

        machine
            .ssdtune(&["rollback", "--yes"])
            .ends(0)
            .says("Rolled back, and read back. Snapshot 2");
        machine.world().of_the_user().is(&before);
        machine
            .ssdtune(&["plan", &state, "--detailed-exitcode"])
            .ends(3);
    });
}

#[test]
fn s04_what_a_switch_wipes_is_back_though_no_rule_names_it() {
    alone(|machine| {
        let Some([ext4, ..]) = three(machine) else {
            return;
        };
        for (file, value) in [
            ("scheduler", "mq-deadline"),
            ("nr_requests", "512"),
            ("iosched/fifo_batch", "7"),
            ("iosched/writes_starved", "5"),
            ("iosched/front_merges", "0"),
            ("max_sectors_kb", "256"),
            ("read_ahead_kb", "48"),
        ] {
            write(&ext4, file, value);
        }
        let before = machine.world();
        for scheduler in ["none", "kyber", "bfq"] {
            let state = machine.state(&format!(
                "[[device]]\nmatch.name = \"{}\"\nscheduler = \"{scheduler}\"\niostats = 0\n",
                ext4.name
            ));
            let plan = machine.ssdtune(&["plan", &state]);
            if plan.status == 1 && plan.out.contains("cannot have") {
                eprintln!("skipped: no {scheduler} in this kernel");
                continue;
            }
            plan.ends(0).shows("side effect");
            machine.ssdtune(&["apply", "--yes", &state]).ends(0);
            assert_eq!(queue_of(&ext4.name)["scheduler"], scheduler);
            machine
                .ssdtune(&["plan", &state, "--detailed-exitcode"])
                .ends(0);
            machine.ssdtune(&["rollback", "--yes"]).ends(0);
            machine.world().of_the_user().is(&before);
        }
    });
}

#[test]
fn only_now_changes_no_file_and_only_boot_nothing_that_runs() {
    alone(|machine| {
        let Some([ext4, ..]) = three(machine) else {
            return;
        };
        let state = machine.state(&recipe(&ext4));
        let before = machine.world();
        machine
            .ssdtune(&["apply", "--yes", "--only", "now", &state])
            .ends(0);
        let now = machine.world();
        let files = ["queue", "mount"];
        now.of_the_user()
            .without(&files)
            .is(&before.without(&files));
        assert_eq!(queue_of(&ext4.name)["scheduler"], "mq-deadline");
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&before);
        machine
            .ssdtune(&["apply", "--yes", "--only", "boot", &state])
            .ends(0);
        let boot = machine.world();
        boot.without(&["file"]).is(&before.without(&["file"]));
        assert!(boot.get("file /etc/fstab").contains("noatime"));
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&before);
    });
}
