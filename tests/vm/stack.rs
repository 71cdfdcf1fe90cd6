//! Filesystems on layers: queue settings land on the disks, read-ahead on the layer that is read.

use crate::check::Check;
use crate::disk::{Bus, Disk};
use crate::machine::Machine;

const DISKS: &[Disk] = &[
    Disk::new(Bus::SataSsd, "MIRROR1"),
    Disk::new(Bus::ScsiHdd, "MIRROR2"),
    Disk::new(Bus::Nvme, "BTRFS1"),
    Disk::new(Bus::ScsiHdd, "XFS1"),
    Disk::new(Bus::ScsiHdd, "XFSLOG"),
];

const WANTED: &[(&str, &str)] = &[
    ("MIRROR1 scheduler", "bfq"),
    ("MIRROR1 iosched/slice_idle", "0"),
    ("MIRROR2 scheduler", "bfq"),
    ("MIRROR2 iosched/slice_idle", "0"),
    ("crypt read_ahead_kb", "2048"),
    ("XFS1 scheduler", "mq-deadline"),
    ("XFS1 nr_requests", "96"),
    ("XFS1 read_ahead_kb", "512"),
];

pub fn a_mount_point_stands_for_the_disks_under_it(suite: &str) {
    let mut machine = Machine::new(suite, "stack", DISKS);
    machine.run();
    let mut check = Check::new(&machine);
    check.exit(1, "apply", 0);
    check.exit(2, "status", 0);
    check.exit(2, "rollback", 0);
    check.values(1, "queues-applied", WANTED);
    check.values(2, "queues", WANTED);
    check.same((1, "queues"), (2, "queues-rolled-back"));
    for stage in 1..=3 {
        check.no_failed_unit(stage, "failed");
    }
    for (stage, key) in [(1, "mounts-applied"), (2, "mounts")] {
        for line in machine.text(stage, key).lines() {
            let right = match line.split(' ').next() {
                Some("/srv/luks" | "/srv/xfs") => line.contains("noatime"),
                Some("/srv/btrfs") => line.contains("noatime") && line.contains("compress=zstd:3"),
                _ => true,
            };
            check.that(right, || format!("stage {stage}, {key}: {line}"));
        }
    }
    for key in ["queues", "mounts", "fstab", "etc"] {
        check.same((1, key), (3, key));
    }
    check.verdict();
}
