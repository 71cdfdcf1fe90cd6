use super::*;
use crate::facts::{Device, Mount};

/// A machine with one disk, as Linux 6.18 shows a loop device, and some mounts.
fn machine() -> Simulated {
    let strings = |list: &[(&str, &str)]| {
        list.iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    };
    let sda = Device {
        queue: strings(&[
            ("scheduler", "[none] mq-deadline kyber bfq"),
            ("nr_requests", "128"),
            ("read_ahead_kb", "128"),
            ("max_sectors_kb", "1280"),
            ("max_hw_sectors_kb", "2048"),
            ("rotational", "0"),
            ("iostats", "1"),
            ("nomerges", "0"),
            ("rq_affinity", "1"),
            ("wbt_lat_usec", "2000"),
            ("write_cache", "write back"),
        ]),
        ..Device::default()
    };
    let mount = |target: &str, fstype: &str, options: &[&str]| Mount {
        device: format!("0:{fstype}"),
        target: target.into(),
        flags: vec!["rw".into(), "nosuid".into(), "relatime".into()],
        fstype: fstype.into(),
        options: options.iter().map(|&option| option.into()).collect(),
        ..Mount::default()
    };
    Simulated::new(Facts {
        kernel: "6.18.44".into(),
        hz: Some(250),
        page_kb: 4,
        memory_kb: 4 << 20,
        devices: [("sda".to_owned(), sda)].into(),
        mounts: vec![
            mount("/", "ext4", &["rw", "errors=remount-ro"]),
            mount("/xfs", "xfs", &["rw", "inode32", "logbufs=8"]),
            mount("/tmp", "tmpfs", &["rw", "size=1024k"]),
        ],
        ..Facts::default()
    })
}

/// Writes, and reads another file of the queue: `SCHEDULER: nr_requests`.
fn after(writes: &[(&str, &str)], files: &[&str]) -> Vec<String> {
    let mut machine = machine();
    for (file, value) in writes {
        machine
            .write("sda", &format!("queue/{file}"), value)
            .unwrap();
    }
    let facts = machine.facts(&Scope::everything());
    let device = &facts.devices["sda"];
    files
        .iter()
        .map(|file| match file.strip_prefix("iosched/") {
            Some(name) => device.iosched.get(name).cloned(),
            None => device.queue.get(*file).cloned(),
        })
        .map(|value| value.unwrap_or_else(|| "none".to_owned()))
        .collect()
}

#[test]
fn s04_a_switch_resets_requests_and_tunables() {
    let files = ["nr_requests", "iosched/fifo_batch", "iosched/async_depth"];
    let mq = ("scheduler", "mq-deadline");
    assert_eq!(after(&[mq], &files), ["256", "16", "256"]);
    let tuned = [mq, ("nr_requests", "64"), ("iosched/fifo_batch", "1")];
    assert_eq!(after(&tuned, &files), ["64", "1", "64"]);
    let again = [&tuned[..], &[("scheduler", "deadline")]].concat();
    assert_eq!(after(&again, &files), ["64", "1", "64"], "no switch");
    let back = [&tuned[..], &[("scheduler", "none")]].concat();
    assert_eq!(after(&back, &files), ["128", "none", "none"]);
    assert_eq!(
        after(&back, &["scheduler"]),
        ["[none] mq-deadline kyber bfq"]
    );
}

#[test]
fn s06_a_limit_raises_read_ahead_and_never_lowers_it() {
    let ra = ["read_ahead_kb"];
    let set = |value| ("read_ahead_kb", value);
    assert_eq!(after(&[set("131")], &ra), ["128"]);
    assert_eq!(after(&[set("64"), ("iostats", "1")], &ra), ["128"]);
    assert_eq!(after(&[set("64"), ("nomerges", "1")], &ra), ["64"]);
    assert_eq!(
        after(&[set("4096"), ("max_sectors_kb", "512")], &ra),
        ["4096"]
    );
    assert_eq!(
        after(
            &[set("16"), ("max_sectors_kb", "512"), ("rotational", "1")],
            &ra
        ),
        ["1024"]
    );
}

#[test]
fn bfq_and_writeback_throttling_know_each_other() {
    let wbt = ["wbt_lat_usec"];
    let bfq = ("scheduler", "bfq");
    let none = ("scheduler", "none");
    assert_eq!(after(&[bfq], &wbt), ["0"]);
    assert_eq!(after(&[bfq, none], &wbt), ["2000"]);
    assert_eq!(
        after(&[bfq, ("wbt_lat_usec", "2000")], &wbt),
        ["0"],
        "the trap"
    );
    assert_eq!(after(&[("wbt_lat_usec", "500"), bfq], &wbt), ["500"]);
}

#[test]
fn values_are_rounded_and_clamped_as_measured() {
    let bfq = ("scheduler", "bfq");
    let mq = ("scheduler", "mq-deadline");
    for (writes, file, value) in [
        (
            vec![mq, ("iosched/read_expire", "101")],
            "iosched/read_expire",
            "104",
        ),
        (vec![bfq], "iosched/timeout_sync", "124"),
        (
            vec![bfq, ("iosched/timeout_sync", "125")],
            "iosched/timeout_sync",
            "128",
        ),
        (
            vec![bfq, ("iosched/slice_idle_us", "1500")],
            "iosched/slice_idle",
            "1",
        ),
        (
            vec![
                bfq,
                ("iosched/slice_idle", "0"),
                ("iosched/strict_guarantees", "1"),
            ],
            "iosched/slice_idle",
            "8",
        ),
        (vec![("nr_requests", "1")], "nr_requests", "4"),
        (vec![("nomerges", "3")], "nomerges", "1"),
        (vec![("rq_affinity", "3")], "rq_affinity", "1"),
        (vec![("max_sectors_kb", "9999")], "max_sectors_kb", "2048"),
        (
            vec![("write_cache", "none")],
            "write_cache",
            "write through",
        ),
    ] {
        assert_eq!(after(&writes, &[file]), [value], "{writes:?}");
    }
}

#[test]
fn what_the_kernel_refuses_is_refused() {
    let mut machine = machine();
    for (file, value) in [
        ("queue/scheduler", "noop"),
        ("queue/nr_requests", "129"),
        ("queue/nr_requests", "many"),
        ("queue/iosched/fifo_batch", "1"),
        ("queue/max_hw_sectors_kb", "1"),
        ("queue/io_timeout", "30000"),
    ] {
        assert!(machine.write("sda", file, value).is_err(), "{file} {value}");
    }
    assert!(machine.write("sdb", "queue/scheduler", "none").is_err());
}

#[test]
fn mounts_show_what_linux_shows() {
    let mut machine = machine();
    let mut change = |target: &str, flags: Option<&str>, options: Option<&str>| {
        let words = |list: &str| list.split(',').map(str::to_owned).collect();
        if let Some(flags) = flags {
            let flags = words(flags);
            machine
                .perform(&Effect::RemountFlags {
                    target: target.into(),
                    flags,
                })
                .unwrap();
        }
        if let Some(options) = options {
            let options = words(options);
            machine
                .perform(&Effect::Reconfigure {
                    target: target.into(),
                    options,
                })
                .unwrap();
        }
        let facts = machine.facts(&Scope::everything());
        let mount = facts
            .mounts
            .iter()
            .find(|mount| mount.target == target.into())
            .unwrap();
        let options: Vec<_> = mount.options.iter().map(Text::to_string).collect();
        format!("{} {}", mount.flags.join(","), options.join(","))
    };
    assert_eq!(
        change(
            "/",
            Some("rw,nosuid,noatime"),
            Some("commit=60,nobarrier,discard")
        ),
        "rw,nosuid,noatime rw,errors=remount-ro,commit=60,nobarrier,discard"
    );
    assert_eq!(
        change(
            "/",
            Some("rw,nosuid,strictatime"),
            Some("commit=0,barrier,nodiscard")
        ),
        "rw,nosuid rw,errors=remount-ro"
    );
    assert_eq!(
        change("/xfs", None, Some("inode32,logbufs=4,lazytime")),
        "rw,nosuid,relatime rw,lazytime,inode32,logbufs=8"
    );
    assert_eq!(
        change("/xfs", None, Some("nolazytime")),
        "rw,nosuid,relatime rw,inode64,logbufs=8"
    );
    assert_eq!(
        change("/tmp", None, Some("size=25%")),
        "rw,nosuid,relatime rw,size=1048576k"
    );
}

#[test]
fn a_mask_is_a_fact() {
    let mut machine = machine();
    let unit = "var-tmp.mount".to_owned();
    machine
        .perform(&Effect::MaskUnit { unit: unit.clone() })
        .unwrap();
    let facts = machine.facts(&Scope::everything());
    assert!(facts.units["/var/tmp"].ours && facts.units["/var/tmp"].masked);
    machine.perform(&Effect::UnmaskUnit { unit }).unwrap();
    assert!(machine.facts(&Scope::everything()).units.is_empty());
}

#[test]
fn files_in_memory_behave_as_files_on_disk() {
    let disk = tempfile::tempdir().unwrap();
    std::fs::create_dir(disk.path().join("etc")).unwrap();
    let image = |text: &str| Image {
        bytes: text.into(),
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        mode: 0o644,
        ..Image::default()
    };
    let (staged, target): (Text, Text) = ("/etc/.a".into(), "/etc/a".into());
    let stage = |text| Effect::Stage {
        path: staged.clone(),
        image: image(text),
    };
    let commit = |expected: Option<&str>| Effect::Commit {
        staged: staged.clone(),
        target: target.clone(),
        expected: expected.map(image),
    };
    let remove = |expected: Option<&str>| Effect::Remove {
        path: target.clone(),
        expected: expected.map(image),
    };
    let effects = [
        commit(None),
        stage("1"),
        stage("2"),
        commit(Some("0")),
        commit(None),
        stage("2"),
        commit(None),
        commit(Some("0")),
        commit(Some("1")),
        remove(Some("1")),
        remove(Some("2")),
        remove(Some("2")),
        remove(None),
    ];
    let mut memory = Simulated::new(Facts::default());
    let mut disk = Simulated::on_disk(Facts::default(), disk.path());
    for (at, effect) in effects.iter().enumerate() {
        let results = [memory.perform(effect).is_ok(), disk.perform(effect).is_ok()];
        assert_eq!(results[0], results[1], "{at}: {effect:?}");
        assert_eq!(memory.file(&target), disk.file(&target), "{at}");
    }
}
