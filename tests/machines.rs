//! Facts of real machines in `tests/machines`: they read back, selectors take what they should,
//! mount points lead to the right layers. Another machine is another file, another case a line of
//! `select.txt` or `stack.txt`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ssdtune::facts::select::{Layer, Matcher, Taken, scheduler_allowed, transport_of};
use ssdtune::facts::stack::{Stack, Top, paths_of_head, stack_of};
use ssdtune::facts::{Device, Facts};
use ssdtune::knowledge::Scheduler;
use ssdtune::state::{self, DesiredState, Source};

fn machines() -> BTreeMap<String, Facts> {
    let mut machines = BTreeMap::new();
    for entry in fs::read_dir("tests/machines").unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            machines.insert(name, machine(&path));
        }
    }
    assert!(machines.len() >= 7);
    machines
}

fn machine(path: &Path) -> Facts {
    Facts::read(&fs::read(path).unwrap())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A state with one device rule of these `match` keys.
fn rule(keys: &str) -> DesiredState {
    let keys = keys.split(';').map(|key| format!("match.{}\n", key.trim()));
    let text = format!(
        "[[device]]\n{}read_ahead_kb = 128\n",
        keys.collect::<String>()
    );
    let source = Source {
        name: "case.toml".to_owned(),
        text: text.clone(),
    };
    state::parse(&[source]).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

/// The devices taken, and in brackets those that must be asked for.
fn taken(facts: &Facts, keys: &str) -> String {
    let state = rule(keys);
    let matcher = Matcher::new(&state.devices[0].select, facts);
    let (mut yes, mut asked) = (Vec::new(), Vec::new());
    for (name, device) in &facts.devices {
        match matcher.takes(name, device) {
            Taken::Yes => yes.push(name.clone()),
            Taken::No => {}
            Taken::NotWithoutAsking(why) => asked.push(format!("{name}: {why}")),
        }
    }
    if !asked.is_empty() {
        yes.push(format!("[{}]", asked.join(", ")));
    }
    yes.join(" ")
}

fn cases(path: &str) -> Vec<(usize, String)> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim().to_owned()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

#[test]
fn every_machine_reads_back_and_is_written_the_same() {
    for (name, facts) in machines() {
        let path = format!("tests/machines/{name}.json");
        let text = fs::read_to_string(&path).unwrap();
        let written = facts.write();
        let mut pairs = text.lines().zip(written.lines()).enumerate();
        let differs = pairs.find(|(_, (was, is))| was != is);
        assert_eq!(differs, None, "{path}");
        assert_eq!(written.len(), text.len(), "{path}");
    }
}

#[test]
fn selectors_take_what_they_should() {
    let machines = machines();
    let path = "tests/machines/select.txt";
    let mut wrong = Vec::new();
    for (number, line) in cases(path) {
        let (front, expected) = line.split_once("->").unwrap();
        let (name, keys) = front.trim().split_once(' ').unwrap();
        let found = taken(&machines[name], keys);
        if found != expected.trim() {
            wrong.push(format!(
                "{path}:{number}: {name} {}: found {found}",
                keys.trim()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_no_disk_is_taken_only_when_it_is_asked_for() {
    let mut facts = machines().remove("desktop").unwrap();
    let disk = facts.devices["sda"].clone();
    for (name, kind) in [
        ("bcache0", "bcache"),
        ("rbd0", "rbd"),
        ("drbd1", "drbd"),
        ("zd16", "zvol"),
        ("fd0", "floppy"),
        ("nullb0", "nullb"),
        ("ublkb0", "ublk"),
        ("nbd0", "nbd"),
    ] {
        facts.devices = [(name.to_owned(), disk.clone())].into();
        for keys in ["name = \"*\"", "rotational = false", "removable = false"] {
            let found = taken(&facts, keys);
            assert!(found.starts_with(&format!("[{name}: ")), "{keys}: {found}");
        }
        assert_eq!(taken(&facts, &format!("transport = \"{kind}\"")), name);
        assert_eq!(taken(&facts, &format!("name = \"{name}\"")), name);
    }
}

#[test]
fn mount_points_lead_to_their_layers() {
    let machines = machines();
    let path = "tests/machines/stack.txt";
    for (number, line) in cases(path) {
        let (name, rest) = line.split_once(' ').unwrap();
        let (target, rest) = rest.trim().split_once(' ').unwrap();
        let target = target.replace("\\040", " ");
        let none = Stack {
            top: Top::None("no such mount point"),
            disks: Vec::new(),
        };
        let stack = stack_of(&machines[name], target.as_bytes()).unwrap_or(none);
        let top = match &stack.top {
            Top::Device(name) => name.clone(),
            Top::Btrfs(uuid) => format!("btrfs:{uuid}"),
            Top::None(why) => format!("({why})"),
        };
        let disks = match stack.disks.join(" ") {
            disks if disks.is_empty() => "-".to_owned(),
            disks => disks,
        };
        let squeezed = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(format!("{top} {disks}"), squeezed, "{path}:{number}");
    }
}

#[test]
fn by_mount_point_read_ahead_goes_to_the_top_and_the_rest_to_the_disks() {
    let machines = machines();
    let state = rule("mount = \"/srv/data\"");
    let matcher = Matcher::new(&state.devices[0].select, &machines["server-raid"]);
    assert_eq!(matcher.layer("dm-1"), Layer::Top);
    assert_eq!(matcher.layer("sda"), Layer::Disk);
    assert_eq!(matcher.stacks().len(), 1);
    let plain = rule("mount = \"/srv/bulk/1\"");
    let matcher = Matcher::new(&plain.devices[0].select, &machines["server-raid"]);
    assert_eq!(matcher.layer("sdc"), Layer::Both);
    // On a btrfs the disk gets no read-ahead: its own is what counts.
    let home = rule("mount = \"/home\"");
    let matcher = Matcher::new(&home.devices[0].select, &machines["laptop"]);
    assert_eq!(matcher.layer("nvme0n1"), Layer::Disk);
}

#[test]
fn transports_come_from_name_and_path() {
    let machines = machines();
    let told = |machine: &str, name: &str| transport_of(name, &machines[machine].devices[name]);
    assert_eq!(told("usb-enclosure", "sda"), Some("sata"));
    assert_eq!(told("usb-enclosure", "sdb"), Some("usb"));
    assert_eq!(told("server-raid", "sdc"), Some("sas"));
    assert_eq!(told("server-raid", "md0"), Some("md"));
    assert_eq!(told("laptop", "zram0"), Some("zram"));
    assert_eq!(told("raspberry-pi", "mmcblk1"), Some("mmc"));
    assert_eq!(transport_of("cciss!c0d0", &Device::default()), None);
}

#[test]
fn hidden_paths_belong_to_their_head() {
    let machines = machines();
    let facts = &machines["nvme-multipath"];
    assert_eq!(paths_of_head(facts, "nvme0n1"), ["nvme0c0n1"]);
    assert_eq!(paths_of_head(facts, "nvme1n1"), ["nvme1c1n1", "nvme1c2n1"]);
    assert!(paths_of_head(facts, "nvme0n2").is_empty());
    assert!(paths_of_head(facts, "sda").is_empty());
}

#[test]
fn a_zoned_disk_keeps_its_scheduler_unless_asked_for() {
    let mut disk = Device::default();
    disk.queue
        .insert("zoned".to_owned(), "host-managed".to_owned());
    let allowed = |keys: &str| scheduler_allowed(&rule(keys).devices[0].select, &disk);
    assert!(!allowed("name = \"*\""));
    assert!(!allowed("rotational = true"));
    assert!(allowed("zoned = true"));
    assert!(allowed("name = \"sda\""));
    assert!(allowed("serial = \"X1\""));
}

#[test]
fn questions_about_devices_are_answered() {
    let machines = machines();
    let server = &machines["server-raid"];
    // Case O07: dm-crypt drops discards, whatever the SSDs below can do.
    assert_eq!(server.supports_discard("254:1"), Some(false));
    assert_eq!(server.supports_discard("254:0"), Some(true));
    assert_eq!(server.disk_of("sdc1"), Some("sdc"));
    assert_eq!(server.size_of("sdc"), Some(4_000_787_030_016));
    let bio = &server.devices["md0"];
    assert_eq!((bio.scheduler(), bio.offered()), (None, vec![]));
    assert!(!server.can_have(bio, Scheduler::None));
    let ssd = &server.devices["sda"];
    assert_eq!(ssd.scheduler(), Some(Scheduler::MqDeadline));
    assert!(server.can_have(ssd, Scheduler::Bfq), "a module brings it");
    let pi = &machines["raspberry-pi"];
    assert!(!pi.can_have(&pi.devices["mmcblk0"], Scheduler::Bfq));
}
