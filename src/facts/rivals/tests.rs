use super::*;
use std::path::Path;

use crate::facts::fake::{add_bytes, root};

/// `kind path:line settings device`, a line each.
fn told(root: &Path, command_line: &str) -> Vec<String> {
    let mut reader = Reader::new(root).unwrap();
    let all = rivals(&mut reader, command_line.as_bytes());
    assert_eq!(reader.unread, []);
    all.iter()
        .map(|rival| {
            format!(
                "{:?} {}:{} {} {}",
                rival.kind,
                rival.path,
                rival.line.unwrap_or(0),
                rival.settings.join("+"),
                rival.device.as_deref().unwrap_or("-"),
            )
        })
        .collect()
}

#[test]
fn scripts_services_and_tables_of_values() {
    let root = root(&[
        (
            "etc/rc.local",
            "#!/bin/sh\n# echo noop > /sys/block/sda/queue/scheduler\n\
             echo deadline > /sys/block/sda/queue/scheduler\nexit 0\n",
        ),
        ("etc/rc.d/rc.local", "-> /etc/rc.local"),
        (
            "etc/tmpfiles.d/disk.conf",
            "w /sys/block/sda/queue/read_ahead_kb - - - - 64\nd /tmp 1777\n\
             w! \"/sys/block/sdb/queue/scheduler\" - - - - bfq\n",
        ),
        (
            "usr/lib/tmpfiles.d/disk.conf",
            "w /sys/block/hidden/queue/nomerges - - - - 2\n",
        ),
        (
            "etc/sysfs.conf",
            "block/sda/queue/scheduler = noop\nmode block/sda/queue/nomerges = 0644\n",
        ),
        (
            "etc/systemd/system/tune.service",
            "[Service]\nExecStart=/bin/sh -c 'echo 1 > /sys/block/sda/queue/nomerges'\n\
             ExecStart=/bin/true\n",
        ),
        ("etc/systemd/system/masked.service", "-> /dev/null"),
    ]);
    assert_eq!(
        told(root.path(), "quiet elevator=noop"),
        [
            "Elevator /proc/cmdline:0 scheduler -",
            "RcLocal /etc/rc.local:3 scheduler sda",
            "Tmpfiles /etc/tmpfiles.d/disk.conf:1 read_ahead_kb sda",
            "Tmpfiles /etc/tmpfiles.d/disk.conf:3 scheduler sdb",
            "SysfsConf /etc/sysfs.conf:1 scheduler sda",
            "Service /etc/systemd/system/tune.service:2 nomerges sda",
        ]
    );
}

#[test]
fn udev_rules_before_and_after_ours() {
    let root = root(&[
        (
            "usr/lib/udev/rules.d/60-ioschedulers.rules",
            "# HDD\nACTION==\"add|change\", KERNEL==\"sd[a-z]*\", \\\n  \
             ATTR{queue/rotational}==\"1\", ATTR{queue/scheduler}=\"bfq\", \
             ATTR{queue/iosched/low_latency}=\"1\"\n",
        ),
        (
            "usr/lib/udev/rules.d/60-hidden.rules",
            "ATTR{queue/nomerges}=\"2\"\n",
        ),
        ("etc/udev/rules.d/60-hidden.rules", "-> /dev/null"),
        (
            "etc/udev/rules.d/90-ssdtune.rules",
            "ATTR{queue/scheduler}=\"bfq\"\n",
        ),
        (
            "etc/udev/rules.d/99-mine.rules",
            "KERNEL==\"sda\", RUN+=\"/bin/sh -c 'echo none > /sys/block/%k/queue/scheduler'\"\n\
             KERNEL==\"sdb\", ATTR{bdi/read_ahead_kb}=\"1024\"\n",
        ),
        (
            "usr/lib/udev/rules.d/99-plain.rules",
            "KERNEL==\"sda\", ATTR{queue/rotational}==\"1\"\n",
        ),
    ]);
    assert_eq!(
        told(root.path(), ""),
        [
            "UdevRuleBefore /usr/lib/udev/rules.d/60-ioschedulers.rules:2 scheduler+low_latency -",
            "UdevRuleAfter /etc/udev/rules.d/99-mine.rules:1 scheduler sda",
            "UdevRuleAfter /etc/udev/rules.d/99-mine.rules:2 read_ahead_kb sdb",
        ]
    );
}

#[test]
fn power_savers_and_tuned_profiles() {
    let root = root(&[
        ("etc/tuned/active_profile", "mine\n"),
        (
            "etc/tuned/mine/tuned.conf",
            "[main]\ninclude=throughput-performance, mine\n",
        ),
        (
            "usr/lib/tuned/throughput-performance/tuned.conf",
            "[main]\nsummary=x\n\n[disk]\nreadahead=>4096\n[off]\nelevator=noop\nenabled=false\n\
             [one]\ntype=disk\nelevator=bfq\ndevices=sdb\n\
             [sysfs]\n/sys/block/sda/queue/nomerges=2\n",
        ),
        ("etc/tlp.d/10.conf", "DISK_IOSCHED=\"keep keep\"\n"),
        (
            "etc/tlp.conf",
            "DISK_DEVICES=\"sda\"\n#DISK_IOSCHED=x\nDISK_IOSCHED=\"bfq keep\" # c\n",
        ),
        (
            "etc/laptop-mode/laptop-mode.conf",
            "CONTROL_READAHEAD=1\nCONTROL_NOATIME=0\nCONTROL_MOUNT_OPTIONS=\"1\"\n",
        ),
    ]);
    let profile = "/usr/lib/tuned/throughput-performance/tuned.conf";
    assert_eq!(
        told(root.path(), ""),
        [
            &format!("Tuned {profile}:5 read_ahead_kb -"),
            &format!("Tuned {profile}:11 scheduler sdb"),
            &format!("Tuned {profile}:14 nomerges sda"),
            "Tlp /etc/tlp.conf:3 scheduler sda",
            "LaptopMode /etc/laptop-mode/laptop-mode.conf:1 read_ahead_kb -",
            "LaptopMode /etc/laptop-mode/laptop-mode.conf:3 commit -",
        ]
    );
}

#[test]
fn hostile_files_neither_stop_nor_hold_the_reading() {
    let root = root(&[
        ("etc/sysfs.conf", "-> sysfs.conf"),
        ("etc/tuned/active_profile", "../../../etc/shadow a"),
        (
            "etc/tuned/a/tuned.conf",
            "[main]\ninclude=a b\n[\n=\nelevator",
        ),
        ("etc/tuned/b/tuned.conf", "[main\ninclude=a\n"),
        ("etc/tlp.conf/", ""),
        ("etc/rc.local", "|"),
    ]);
    let bytes = [&b"queue/"[..], &[0xff; 3 << 20]].concat();
    add_bytes(root.path(), "etc/udev/rules.d/10-x.rules", &bytes);
    assert_eq!(told(root.path(), ""), [""; 0]);
}
