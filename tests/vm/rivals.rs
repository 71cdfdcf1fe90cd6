//! Others write the same settings: `status` names them and says who wins, and a boot shows it.

use crate::check::Check;
use crate::disk::{Bus, Disk};
use crate::machine::Machine;

const DISKS: &[Disk] = &[
    Disk::new(Bus::SataSsd, "SSD0001"),
    Disk::new(Bus::ScsiHdd, "HDD0001"),
    Disk::new(Bus::Nvme, "NVME0001"),
    Disk::new(Bus::Virtio, "VIRTIO0001"),
];

const WANTED: &[(&str, &str)] = &[
    ("SSD0001 scheduler", "mq-deadline"),
    ("SSD0001 read_ahead_kb", "256"),
    ("NVME0001 scheduler", "mq-deadline"),
    ("NVME0001 read_ahead_kb", "256"),
    ("HDD0001 scheduler", "bfq"),
    ("HDD0001 nr_requests", "96"),
];

pub fn who_else_writes_is_told_and_wins_as_told(suite: &str) {
    let mut machine = Machine::new(suite, "rivals", DISKS);
    machine.run();
    let mut check = Check::new(&machine);
    let virtio = |value| [("VIRTIO0001 nr_requests", value)];

    // A rule before ours: told, and it loses.
    check.values(1, "queues", &[("SSD0001 scheduler", "kyber")]);
    check.exit(1, "apply", 0);
    check.exit(1, "status", 0);
    check.says(
        1,
        "status",
        "60-ioschedulers.rules:1` writes scheduler too, before our rule, which wins",
    );
    check.values(1, "queues-applied", WANTED);
    check.values(1, "queues-applied", &virtio("32"));

    // Four that come after ours: each is told by its line, and has won.
    check.exit(2, "status", 3);
    for line in [
        "60-ioschedulers.rules:1` writes scheduler too, before our rule, which wins",
        "95-late.rules:1` writes nr_requests too, after our rule, and wins",
        "/etc/rc.local:4` writes nr_requests at every boot, after our rule: delete that line",
        "/etc/sysfs.conf:1` writes nvme0n1's read_ahead_kb at boot, after our rule: delete that line",
        "tuned (`/etc/tuned/test/tuned.conf:6`) writes nvme0n1's scheduler whenever its profile is applied: take it out of the profile",
    ] {
        check.says(2, "status", line);
    }
    check.values(
        2,
        "queues",
        &[
            ("SSD0001 scheduler", "mq-deadline"),
            ("NVME0001 scheduler", "none"),
            ("HDD0001 scheduler", "bfq"),
            ("HDD0001 nr_requests", "64"),
            ("NVME0001 read_ahead_kb", "4096"),
        ],
    );
    check.values(2, "queues", &virtio("16"));

    // What was in the way is gone.
    check.exit(2, "apply", 0);
    check.exit(2, "status-applied", 0);
    check.exit(3, "status", 0);
    for (stage, key) in [(2, "queues-applied"), (3, "queues")] {
        check.values(stage, key, WANTED);
        check.values(stage, key, &virtio("32"));
    }
    for stage in 1..=3 {
        check.no_failed_unit(stage, "failed");
    }
    check.verdict();
}
