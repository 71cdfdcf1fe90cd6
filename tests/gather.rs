//! Gathering: from roots made for the test, and from this machine.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ssdtune::facts::select::{Matcher, Taken};
use ssdtune::facts::stack::{Top, stack_of};
use ssdtune::facts::{Facts, Recorded, Scope, gather};
use ssdtune::format::text::Text;
use ssdtune::knowledge::attributes;
use ssdtune::state::{self, DesiredState, Source};
use tempfile::TempDir;

/// Adds files to a root; `-> TARGET` is a link.
fn add(root: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let full = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        match content.strip_prefix("-> ") {
            Some(target) => symlink(target, full).unwrap(),
            None => fs::write(full, content).unwrap(),
        }
    }
}

/// Adds a disk to a root's sysfs; `path` is its folder below /sys.
fn disk(root: &Path, path: &str, number: &str, files: &[(&str, &str)]) {
    let name = path.rsplit('/').next().unwrap();
    let common = [
        ("dev", number),
        ("removable", "0\n"),
        ("size", "2048\n"),
        ("diskseq", "7\n"),
        ("queue/rotational", "0\n"),
        ("queue/zoned", "none\n"),
        ("queue/read_ahead_kb", "128\n"),
        ("queue/nr_requests", "64\n"),
        ("queue/max_sectors_kb", "1280\n"),
        ("queue/max_hw_sectors_kb", "2560\n"),
        ("queue/logical_block_size", "512\n"),
        ("queue/discard_granularity", "512\n"),
        ("queue/discard_max_bytes", "1024\n"),
        ("queue/scheduler", "none [mq-deadline] \n"),
        ("queue/iosched/fifo_batch", "16\n"),
        ("queue/iosched/new_in_7", "1\n"),
    ];
    for (file, content) in common.iter().chain(files) {
        add(root, &[(&format!("sys{path}/{file}"), content)]);
    }
    let up = format!("-> ..{path}");
    add(root, &[(&format!("sys/block/{name}"), &up)]);
    link_number(root, path, number);
}

/// Adds the links of /sys/dev/block and /sys/class/block.
fn link_number(root: &Path, path: &str, number: &str) {
    let name = path.rsplit('/').next().unwrap();
    let up = format!("-> ../..{path}");
    let number = number.trim();
    add(root, &[(&format!("sys/dev/block/{number}"), &up)]);
    add(root, &[(&format!("sys/class/block/{name}"), &up)]);
}

fn partition(root: &Path, disk: &str, name: &str, number: &str) {
    let path = format!("{disk}/{name}");
    add(
        root,
        &[
            (&format!("sys{path}/partition"), "1\n"),
            (&format!("sys{path}/dev"), number),
        ],
    );
    link_number(root, &path, number);
}

/// A machine: sda (SATA) with ext4 on /, sdb (USB), loop0, and ext4 on LUKS on sdc2 at /data.
fn machine() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let at = root.path();
    let sda = "/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
    let sdb = "/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/block/sdb";
    let sdc = "/devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block/sdc";
    let dm = "/devices/virtual/block/dm-0";
    disk(at, sda, "8:0\n", &[]);
    partition(at, sda, "sda1", "8:1\n");
    disk(
        at,
        sdb,
        "8:16\n",
        &[("removable", "1\n"), ("device/model", "Flash Disk      \n")],
    );
    disk(at, sdc, "8:32\n", &[]);
    partition(at, sdc, "sdc2", "8:34\n");
    disk(at, "/devices/virtual/block/loop0", "7:0\n", &[]);
    disk(
        at,
        dm,
        "254:0\n",
        &[
            ("dm/name", "data\n"),
            ("dm/uuid", "CRYPT-LUKS2-x\n"),
            ("slaves/sdc2", "-> ../../sdc2"),
        ],
    );
    add(
        at,
        &[
            (
                "run/udev/data/b8:0",
                "S:disk/by-id/ata-X_1\nE:ID_SERIAL_SHORT=1\nE:ID_MODEL=X\n",
            ),
            ("dev/disk/by-uuid/aa", "-> ../../sda1"),
            ("dev/mapper/data", "-> ../dm-0"),
            (
                "proc/self/mountinfo",
                "28 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
                 29 28 254:0 / /data rw,relatime - ext4 /dev/mapper/data rw\nnonsense\n",
            ),
            ("proc/sys/kernel/hostname", "lab\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-38-amd64\n"),
            ("proc/sys/kernel/random/boot_id", "b-o-o-t\n"),
            ("proc/meminfo", "MemTotal:        4010124 kB\n"),
            ("proc/cmdline", "quiet elevator=noop\n"),
            ("etc/machine-id", "m-i-d\n"),
            (
                "etc/fstab",
                "UUID=aa / ext4 defaults 0 1\n/dev/mapper/data /data ext4 defaults 0 2\n",
            ),
            (
                "lib/modules/6.1.0-38-amd64/modules.dep",
                "kernel/block/bfq.ko: \n",
            ),
            (
                "boot/config-6.1.0-38-amd64",
                "CONFIG_HZ_250=y\nCONFIG_HZ=250\n",
            ),
        ],
    );
    root
}

fn state(text: &str) -> DesiredState {
    let source = Source {
        name: "state.toml".to_owned(),
        text: text.to_owned(),
    };
    state::parse(&[source]).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn gathered(root: &Path, text: &str) -> Facts {
    gather(root, &Scope::of(&state(text), &|_| Vec::new()))
}

fn names(facts: &Facts) -> Vec<&str> {
    facts.devices.keys().map(String::as_str).collect()
}

fn queue<'f>(facts: &'f Facts, device: &str) -> Vec<&'f str> {
    facts.devices[device]
        .queue
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn everything_is_read() {
    let root = machine();
    let facts = gather(root.path(), &Scope::everything());
    assert_eq!(
        (facts.host.as_str(), facts.kernel.as_str()),
        ("lab", "6.1.0-38-amd64")
    );
    assert_eq!(
        (facts.machine_id.as_str(), facts.boot_id.as_str()),
        ("m-i-d", "b-o-o-t")
    );
    assert_eq!((facts.memory_kb, facts.hz), (4_010_124, Some(250)));
    assert_eq!(names(&facts), ["dm-0", "loop0", "sda", "sdb", "sdc"]);
    let sda = &facts.devices["sda"];
    assert_eq!(sda.number, "8:0");
    assert!(sda.path.starts_with("/devices/pci0000:00") && sda.path.ends_with("/block/sda"));
    assert_eq!((sda.sectors, sda.diskseq, sda.udev), (2048, Some(7), true));
    assert_eq!(sda.partitions["sda1"], "8:1");
    assert_eq!(sda.serial, Some(Text::from("1")));
    assert_eq!(sda.queue["scheduler"], "none [mq-deadline]");
    assert_eq!(sda.iosched["new_in_7"], "1");
    let sdb = &facts.devices["sdb"];
    assert!(sdb.removable && !sdb.udev);
    assert_eq!(sdb.model, Some(Text::from("Flash_Disk")));
    assert_eq!(facts.devices["dm-0"].slaves, ["sdc2"]);
    assert_eq!(facts.devices["dm-0"].dm_name, Some(Text::from("data")));
    assert_eq!(facts.sources[&Text::from("UUID=aa")], "8:1");
    assert_eq!(facts.sources[&Text::from("/dev/mapper/data")], "254:0");
    assert_eq!(facts.rivals.len(), 1);
    let unread: Vec<String> = facts
        .unread
        .iter()
        .map(|one| one.path.to_string())
        .collect();
    assert_eq!(unread, ["/proc/self/mountinfo"]);
    assert_eq!(Facts::read(facts.write().as_bytes()), Ok(facts));
}

#[test]
fn without_device_rules_sysfs_is_not_touched() {
    let root = machine();
    fs::remove_dir_all(root.path().join("sys")).unwrap();
    let facts = gathered(
        root.path(),
        "[[mount]]\nmatch.target = \"/\"\noptions = [\"noatime\"]\n",
    );
    assert!(facts.devices.is_empty() && facts.sources.is_empty() && facts.rivals.is_empty());
    assert!(
        facts
            .unread
            .iter()
            .all(|one| !one.path.to_string().starts_with("/sys"))
    );
    assert!(facts.fstab.image.is_some());
}

#[test]
fn a_rule_reads_the_devices_that_it_can_take_and_what_a_write_resets() {
    let root = machine();
    let rule = "[[device]]\nmatch.transport = \"sata\"\nread_ahead_kb = 256\n";
    let facts = gathered(root.path(), rule);
    assert_eq!(
        names(&facts),
        ["sda", "sdb", "sdc"],
        "sdb only its path tells apart"
    );
    assert_eq!(queue(&facts, "sda"), ["read_ahead_kb"]);
    assert!(queue(&facts, "sdb").is_empty());
    assert_eq!(
        facts.devices["sda"].serial,
        Some(Text::from("1")),
        "to record who it is"
    );
    assert!(facts.devices["sdb"].model.is_none());

    let rule = "[[device]]\nmatch.name = \"sda\"\nscheduler = [\"bfq\", \"none\"]\n";
    let facts = gathered(root.path(), rule);
    assert_eq!(names(&facts), ["sda"]);
    assert_eq!(queue(&facts, "sda"), ["nr_requests", "scheduler", "zoned"]);
    assert_eq!(
        facts.devices["sda"].iosched.len(),
        2,
        "unknown tunables are wiped too"
    );
    assert_eq!(facts.modules.len(), 2);

    let rule = "[[device]]\nmatch.name = \"sda\"\nmax_sectors_kb = 512\n";
    let facts = gathered(root.path(), rule);
    let expected = [
        "logical_block_size",
        "max_hw_sectors_kb",
        "max_sectors_kb",
        "read_ahead_kb",
    ];
    assert_eq!(queue(&facts, "sda"), expected);
    assert!(facts.devices["sda"].iosched.is_empty());
}

#[test]
fn kinds_left_alone_are_not_even_opened() {
    let root = machine();
    let rule = "[[device]]\nmatch.rotational = false\nread_ahead_kb = 256\n";
    let facts = gathered(root.path(), rule);
    assert_eq!(names(&facts), ["sda", "sdb", "sdc"]);
    assert_eq!(
        queue(&facts, "sdb"),
        ["rotational"],
        "USB: looked at, not read"
    );
    let rule = "[[device]]\nmatch.name = \"loop*\"\nread_ahead_kb = 256\n";
    assert_eq!(names(&gathered(root.path(), rule)), ["loop0"]);
}

#[test]
fn a_mount_point_leads_through_the_layers() {
    let root = machine();
    let rule = "[[device]]\nmatch.mount = \"/data\"\nread_ahead_kb = 256\nscheduler = \"none\"\n";
    let facts = gathered(root.path(), rule);
    let stack = stack_of(&facts, b"/data").unwrap();
    assert_eq!(stack.top, Top::Device("dm-0".to_owned()));
    assert_eq!(stack.disks, ["sdc"]);
    let state = state(rule);
    let matcher = Matcher::new(&state.devices[0].select, &facts);
    let taken: Vec<&str> = facts
        .devices
        .iter()
        .filter(|(name, device)| matcher.takes(name, device) == Taken::Yes)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(taken, ["dm-0", "sdc"]);
    for name in taken {
        assert!(queue(&facts, name).contains(&"read_ahead_kb"), "{name}");
    }
}

#[test]
fn what_is_not_mounted_is_found_by_its_line() {
    let root = machine();
    fs::write(
        root.path().join("proc/self/mountinfo"),
        "28 1 8:1 / / rw - ext4 /dev/sda1 rw\n",
    )
    .unwrap();
    let rule = "[[device]]\nmatch.mount = \"/data\"\nread_ahead_kb = 256\n";
    let facts = gathered(root.path(), rule);
    assert_eq!(stack_of(&facts, b"/data").unwrap().disks, ["sdc"]);
}

#[test]
fn a_wish_for_discard_asks_the_device_that_is_mounted() {
    let root = machine();
    let path = root
        .path()
        .join("sys/devices/virtual/block/dm-0/queue/discard_max_bytes");
    fs::write(path, "0\n").unwrap();
    let rule = "[[mount]]\nmatch.target = \"/data\"\noptions = [\"discard\"]\n";
    let facts = gathered(root.path(), rule);
    assert_eq!(facts.supports_discard("254:0"), Some(false));
    assert_eq!(facts.supports_discard("8:1"), Some(true));
    assert!(facts.devices["sda"].queue.len() == 2);
}

#[test]
fn the_record_is_read_even_where_no_rule_asks() {
    let root = machine();
    add(
        root.path(),
        &[("var/lib/ssdtune/managed.json", "1 read_ahead_kb")],
    );
    let keys = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).unwrap();
        let (serial, attribute) = text.split_once(' ').unwrap();
        vec![Recorded {
            name: "sdz".to_owned(),
            serial: Some(Text::from(serial)),
            wwn: None,
            dm_uuid: None,
            id_path: None,
            attributes: vec![attributes::by_key(attribute).unwrap()],
        }]
    };
    let nothing = DesiredState::default();
    let facts = gather(root.path(), &Scope::of(&nothing, &keys));
    assert_eq!(
        queue(&facts, "sda"),
        ["read_ahead_kb"],
        "recorded as sdz, known by its serial"
    );
    assert!(queue(&facts, "sdc").is_empty());
}

/// What a rollback needs of a device of device mapper, and what the record holds of devices whose
/// names it does not keep.
#[test]
fn who_is_recorded_is_found_under_any_name() {
    let root = machine();
    let read_ahead = || vec![attributes::by_key("read_ahead_kb").unwrap()];
    let nobody = Recorded {
        name: String::new(),
        serial: None,
        wwn: None,
        dm_uuid: None,
        id_path: None,
        attributes: read_ahead(),
    };
    let mapped = Recorded {
        name: "dm-7".to_owned(),
        dm_uuid: Some(Text::from("CRYPT-LUKS2-x")),
        ..nobody.clone()
    };
    let by_serial = Recorded {
        serial: Some(Text::from("1")),
        ..nobody
    };
    let keys = |_: &[u8]| vec![mapped.clone(), by_serial.clone()];
    let nothing = DesiredState::default();
    let facts = gather(root.path(), &Scope::of(&nothing, &keys));
    let uuid = &facts.devices["dm-0"].dm_uuid;
    assert_eq!(*uuid, Some(Text::from("CRYPT-LUKS2-x")));
    let read = facts
        .devices
        .keys()
        .filter(|name| !queue(&facts, name).is_empty());
    assert_eq!(read.collect::<Vec<_>>(), ["dm-0", "sda"]);
}

#[test]
fn an_offline_system_is_its_files() {
    let root = machine();
    let facts = gather(root.path(), &Scope::everything().offline());
    assert!(facts.devices.is_empty() && facts.mounts.is_empty() && facts.sources.is_empty());
    assert!(facts.kernel.is_empty() && facts.command_line.as_bytes().is_empty());
    assert!(facts.fstab.image.is_some());
    assert_eq!(facts.machine_id, "m-i-d");
    assert!(facts.unread.is_empty());
}

#[test]
fn a_hostile_sysfs_neither_stops_nor_holds_the_reading() {
    let root = machine();
    let queue = root.path().join("sys/devices/virtual/block/loop0/queue");
    for (name, content) in [
        ("wbt_lat_usec", &[0xff_u8; 10][..]),
        ("nomerges", &[b'1'; 100_000]),
    ] {
        fs::write(queue.join(name), content).unwrap();
    }
    fs::create_dir(queue.join("iostats")).unwrap();
    symlink("add_random", queue.join("add_random")).unwrap();
    symlink("nowhere", root.path().join("sys/block/gone")).unwrap();
    symlink("round", root.path().join("sys/block/round")).unwrap();
    let facts = gather(root.path(), &Scope::everything());
    assert_eq!(facts.devices["loop0"].queue["nomerges"].len(), 4096);
    let unread: Vec<String> = facts
        .unread
        .iter()
        .map(|one| format!("{}: {}", one.path, one.why))
        .collect();
    assert!(
        unread[0].starts_with("/proc/self/mountinfo: 1 of its lines"),
        "{unread:?}"
    );
    assert_eq!(
        unread[1..],
        [
            "/sys/block/loop0/queue/wbt_lat_usec: invalid or incomplete multibyte or wide character",
            "/sys/block/round: too many levels of symbolic links",
        ]
    );
}

#[test]
fn a_root_that_is_not_there_is_said() {
    let facts = gather(Path::new("/no/such/root"), &Scope::everything());
    assert_eq!(facts.unread[0].path, Text::from("/no/such/root"));
    assert_eq!(facts.unread[0].why, "no such file or directory");
}

#[test]
fn this_machine_can_be_read() {
    let facts = gather(Path::new("/"), &Scope::everything());
    assert!(!facts.kernel.is_empty() && !facts.mounts.is_empty() && facts.memory_kb > 0);
    assert_eq!(Facts::read(facts.write().as_bytes()), Ok(facts.clone()));
    if !Path::new("/sys/block/loop0").exists() {
        eprintln!("skipped: no /sys/block/loop0 here");
        return;
    }
    let device = &facts.devices["loop0"];
    assert_eq!(device.number, "7:0");
    assert!(device.path.ends_with("/virtual/block/loop0"));
    assert!(device.queue.contains_key("read_ahead_kb"));
}
