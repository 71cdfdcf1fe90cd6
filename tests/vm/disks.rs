//! Selectors: disks in another order, a disk plugged in, disks without or with odd identities.

use crate::check::Check;
use crate::disk::{Bus, Disk};
use crate::machine::Machine;

const DISKS: &[Disk] = &[
    Disk::new(Bus::SataSsd, "SSD0001"),
    Disk::new(Bus::SataSsd, "SSD0002").with_wwn(0x5000_0000_0000_0002),
    Disk::new(Bus::ScsiHdd, "HDD0001"),
    Disk::new(Bus::Usb, "USB0001"),
    Disk::new(Bus::Virtio, "VIRTIO0001"),
    Disk::new(Bus::Virtio, "VIRTIO0002"), // the two of them swap for certain
    Disk::new(Bus::Nvme, "NVME0001"),
];

const WANTED: &[(&str, &str)] = &[
    ("SSD0001 scheduler", "mq-deadline"),
    ("SSD0001 nr_requests", "48"),
    ("SSD0001 read_ahead_kb", "64"),
    ("SSD0002 nr_requests", "16"),
    ("SSD0002 read_ahead_kb", "16"),
    ("HDD0001 scheduler", "bfq"),
    ("HDD0001 read_ahead_kb", "1024"),
    ("USB0001 scheduler", "mq-deadline"),
    ("USB0001 read_ahead_kb", "32"),
    ("VIRTIO0001 nr_requests", "32"),
];

pub fn each_disk_has_its_own_values_in_any_order(suite: &str) {
    let mut machine = Machine::new(suite, "disks", DISKS);
    machine.run();
    machine.reverse_disks();
    machine.run_with(|key, monitor| {
        if key == "plug" {
            monitor.plug(&Disk::new(Bus::ScsiSsd, "HOT0001"), 9);
        }
    });
    let mut check = Check::new(&machine);
    check.exit(1, "apply", 0);
    check.exit(1, "status", 0);
    check.exit(2, "status", 0);
    check.exit(2, "status-plugged", 0);
    check.exit(2, "plan-plugged", 0);
    let order = |stage| {
        machine
            .text(stage, "disks")
            .lines()
            .map(|line| line.split_whitespace().take(3).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    check.that(order(1) != order(2), || {
        "the disks came in the same order: the test shows nothing".to_owned()
    });
    for (stage, key) in [(1, "queues-applied"), (2, "queues"), (2, "queues-plugged")] {
        check.values(stage, key, WANTED);
    }
    check.values(
        2,
        "queues-plugged",
        &[
            ("HOT0001 scheduler", "bfq"),
            ("HOT0001 read_ahead_kb", "512"),
            ("zram0 read_ahead_kb", "8"),
        ],
    );
    let nvme = |stage, key| {
        machine
            .text(stage, key)
            .lines()
            .filter(|line| line.starts_with("NVME"))
            .collect::<Vec<_>>()
    };
    check.that(nvme(1, "queues") == nvme(2, "queues"), || {
        "a disk of no rule changed".to_owned()
    });
    check.no_failed_unit(2, "failed");
    check.verdict();
}
