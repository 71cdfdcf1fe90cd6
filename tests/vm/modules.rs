//! bfq as a module: absent, back again, and in an initramfs that also holds a copy of the rules.

use crate::check::Check;
use crate::disk::{Bus, Disk};
use crate::machine::Machine;

const DISKS: &[Disk] = &[
    Disk::new(Bus::SataSsd, "SSD0001"),
    Disk::new(Bus::Nvme, "NVME0001"),
];

const SECOND_BEST: &[(&str, &str)] = &[
    ("SSD0001 scheduler", "mq-deadline"),
    ("SSD0001 iosched/fifo_batch", "4"),
    ("NVME0001 scheduler", "mq-deadline"),
    ("NVME0001 iosched/fifo_batch", "4"),
    ("NVME0001 read_ahead_kb", "256"),
];

const BEST: &[(&str, &str)] = &[
    ("SSD0001 scheduler", "bfq"),
    ("SSD0001 iosched/slice_idle", "0"),
    ("NVME0001 scheduler", "bfq"),
    ("NVME0001 iosched/slice_idle", "0"),
    ("NVME0001 read_ahead_kb", "256"),
];

pub fn the_next_scheduler_is_taken_where_a_module_is_absent(suite: &str) {
    let mut machine = Machine::new(suite, "no-module", DISKS);
    machine.run();
    let mut check = Check::new(&machine);
    check.exit(1, "apply", 0);
    for stage in 1..=3 {
        check.exit(stage, "status", 0);
        check.no_failed_unit(stage, "failed");
    }
    check.values(1, "queues-applied", SECOND_BEST);
    check.values(2, "queues", SECOND_BEST);
    check.values(3, "queues", BEST);
    check.verdict();
}

pub fn an_initramfs_with_old_rules_brings_nothing_back(suite: &str) {
    let mut machine = Machine::new(suite, "initramfs", DISKS);
    machine.run();
    machine.take_initrd("/opt/initrd.img");
    machine.run();
    let mut check = Check::new(&machine);
    check.exit(1, "apply", 0);
    check.exit(1, "initramfs", 0);
    let files = machine.text(1, "initramfs-files");
    check.that(
        files.contains("90-ssdtune.rules") && files.contains("bfq"),
        || format!("the initramfs holds no copy of the rules, or no bfq: {files}"),
    );
    check.values(2, "queues", BEST);
    check.exit(2, "status", 0);
    check.exit(2, "rollback", 0);
    check.same((1, "queues"), (2, "queues-rolled-back"));
    check.same((1, "queues"), (3, "queues"));
    check.same((1, "etc"), (3, "etc"));
    check.no_failed_unit(3, "failed");
    check.verdict();
}
