//! apply → reboot → rollback → reboot.

use crate::check::Check;
use crate::disk::{Bus, Disk};
use crate::machine::Machine;

const DISKS: &[Disk] = &[
    Disk::new(Bus::SataSsd, "SSD0001"),
    Disk::new(Bus::ScsiHdd, "HDD0001"),
    Disk::new(Bus::Nvme, "NVME0001"),
    Disk::new(Bus::Usb, "USB0001"),
    Disk::new(Bus::Virtio, "VIRTIO0001"),
];

/// What the state file asks for, as the kernel shows it.
const WANTED: &[(&str, &str)] = &[
    ("NVME0001 scheduler", "bfq"),
    ("NVME0001 iosched/slice_idle", "0"),
    ("NVME0001 read_ahead_kb", "256"),
    ("SSD0001 scheduler", "mq-deadline"),
    ("SSD0001 nr_requests", "48"),
    ("SSD0001 iosched/fifo_batch", "1"),
    ("HDD0001 scheduler", "bfq"),
    ("HDD0001 read_ahead_kb", "1024"),
];

pub fn values_come_back_after_a_boot_and_go_with_a_rollback(suite: &str) {
    let mut machine = Machine::new(suite, "reboot", DISKS);
    machine.run();
    let mut check = Check::new(&machine);
    check.exit(1, "plan", 3);
    check.exit(1, "apply", 0);
    check.exit(1, "second-plan", 0);
    // /tmp waits for the boot where it was a folder; Debian 13 has it on tmpfs already.
    let waits = if suite == "bookworm" { 6 } else { 0 };
    check.exit(1, "status", waits);
    check.exit(1, "private-tmp", 0);
    check.exit(2, "status", 0);
    check.exit(2, "plan", 0);
    check.exit(2, "rollback", 0);
    check.no_failed_unit(1, "failed");
    check.no_failed_unit(1, "failed-applied");
    check.no_failed_unit(2, "failed");
    check.no_failed_unit(2, "failed-rolled-back");
    check.no_failed_unit(3, "failed");

    for (stage, key) in [(1, "queues-applied"), (1, "queues-burst"), (2, "queues")] {
        check.values(stage, key, WANTED);
    }
    let others = |stage, key| {
        let text = machine.text(stage, key);
        let of_no_rule = |line: &&str| {
            ["USB", "VIRTIO", "ROOT"]
                .iter()
                .any(|name| line.starts_with(name))
        };
        text.lines().filter(of_no_rule).collect::<Vec<_>>()
    };
    check.that(others(1, "queues") == others(2, "queues"), || {
        "disks of no rule changed".to_owned()
    });

    for stage in [1, 2] {
        let said = machine.said(stage, "hint");
        check.that(!said.contains("modified"), || {
            format!("stage {stage}: systemd has not read the new fstab: {said}")
        });
    }

    mounts(&mut check, &machine, suite);

    check.same((1, "queues"), (2, "queues-rolled-back"));
    for key in ["queues", "mounts", "fstab", "etc"] {
        check.same((1, key), (3, key));
    }
    check.verdict();
}

/// At once where that can be; /tmp at the boot and not before.
fn mounts(check: &mut Check<'_>, machine: &Machine, suite: &str) {
    for (stage, key) in [
        (1, "mounts-applied"),
        (1, "mounts-private-tmp"),
        (2, "mounts"),
    ] {
        for line in machine.text(stage, key).lines() {
            let fields: Vec<_> = line.split(' ').collect();
            let options: Vec<_> = fields[2].split(',').collect();
            let has = |option| options.contains(&option);
            let right = match fields[0] {
                "/tmp" => true,
                "/srv/ssd" => {
                    has("noatime") && has("commit=60") && has("nosuid") && !has("discard")
                }
                _ => has("noatime"),
            };
            check.that(right, || format!("stage {stage}, {key}: {line}"));
        }
    }
    let tmp = |stage, key| {
        let mut lines = machine.text(stage, key).lines();
        lines
            .find(|line| line.starts_with("/tmp "))
            .unwrap_or("/tmp is a folder")
    };
    if suite == "bookworm" {
        for key in ["mounts-applied", "mounts-private-tmp"] {
            check.that(tmp(1, key) == "/tmp is a folder", || {
                format!("{key}: {} is mounted before the boot", tmp(1, key))
            });
        }
    }
    let after = tmp(2, "mounts");
    check.that(
        after.starts_with("/tmp tmpfs ") && after.contains("noatime"),
        || format!("after the boot: {after}"),
    );
}
