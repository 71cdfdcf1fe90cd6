//! The udev rules: their text, and that they do at boot what the plan does now.
//!
//! A case of `tests/rules` holds `state.toml`, `machine`, a name of `tests/machines`, and the file
//! that comes of them. `UPDATE=1 cargo test --test rules` writes it anew: read the diff before it
//! is committed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and may renew the files it looks at"
)]

#[path = "support/udev.rs"]
mod udev;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use proptest::prelude::*;
use ssdtune::facts::select::{Matcher, Taken};
use ssdtune::facts::{Device, Facts};
use ssdtune::format::udev_rules;
use ssdtune::plan::queue::Key;
use ssdtune::plan::rules::compile;
use ssdtune::plan::{Only, plan};
use ssdtune::state::{self, DesiredState, Source};
use udev::Booted;

fn machine(name: &str) -> Facts {
    let path = format!("tests/machines/{name}.json");
    Facts::read(&fs::read(&path).unwrap()).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn machines() -> BTreeMap<String, Facts> {
    let entries = fs::read_dir("tests/machines").unwrap();
    let names = entries.filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        Some(name.strip_suffix(".json")?.to_owned())
    });
    let machines = names.map(|name| (name.clone(), machine(&name)));
    machines.chain([("zoo".to_owned(), zoo())]).collect()
}

/// Devices that the machines of the fixtures do not have, on a kernel to come.
fn zoo() -> Facts {
    let mut facts = machine("server-raid");
    facts.kernel = "7.1.0".to_owned();
    let disk = facts.devices["sda"].clone();
    let mut add = |name: &str, change: &dyn Fn(&mut Device)| {
        let mut device = disk.clone();
        device.path = format!("/devices/platform/zoo/block/{name}");
        device.number = format!("300:{}", facts.devices.len());
        device.partitions.clear();
        device.holders.clear();
        device.id_path = None;
        device.serial = Some(format!("S-{name}").as_str().into());
        change(&mut device);
        facts.devices.insert(name.to_owned(), device);
    };
    let put = |device: &mut Device, name: &str, value: &str| {
        device.queue.insert(name.to_owned(), value.to_owned());
    };
    add("sdx", &|device| {
        put(device, "zoned", "host-managed");
        put(device, "rotational", "1");
    });
    add("sdy", &|device| device.multipath_member = true);
    // No throttling of writeback is built up: it cannot be read.
    add("sdz", &|device| {
        device.queue.remove("wbt_lat_usec");
    });
    add("cciss!c0d0", &|device| {
        device.model = Some("LOGICAL VOLUME _x".into())
    });
    add("rbd0", &|device| device.serial = None);
    add("bcache0", &|device| {
        device.path = "/devices/virtual/block/bcache0".to_owned();
        device.serial = None;
        device.wwn = None;
        device.ids.clear();
        put(device, "scheduler", "none");
        device.iosched.clear();
    });
    for name in ["drbd0", "zd16", "fd0", "nullb0", "ublkb0"] {
        add(name, &|device| {
            device.serial = None;
            device.path = format!("/devices/virtual/block/{name}");
        });
    }
    add("nvme7n1", &|device| {
        put(device, "scheduler", "[none] mq-deadline");
        put(device, "nr_requests", "1023");
        device.iosched.clear();
        device.model = Some("Samsung SSD_ 970".into());
        device.serial = Some("S*?[x]".into());
    });
    for device in facts.devices.values_mut() {
        // Since 6.17 disks that spin begin with more.
        if device.rotational() == Some(true) {
            put(device, "read_ahead_kb", "2560");
        }
        // Since 7.0 it is the queue's.
        if let (Some(_), Some(requests)) = (device.scheduler(), device.queue.get("nr_requests")) {
            let requests = requests.clone();
            put(device, "async_depth", &requests);
            device.iosched.remove("async_depth");
        }
    }
    facts
}

fn parsed(text: &str) -> Option<DesiredState> {
    let source = Source {
        name: "state.toml".to_owned(),
        text: text.to_owned(),
    };
    state::parse(&[source]).ok()
}

fn compiled(state: &DesiredState, facts: &Facts) -> String {
    compile(state, facts).unwrap_or_else(|why| panic!("{why:?}"))
}

/// What must hold of any text that we give udev.
fn sound(text: &str) {
    let mut gone_to = BTreeSet::new();
    let mut labels = BTreeSet::new();
    let lines = text.lines().filter(|line| !line.is_empty());
    let mut rules = 0;
    for line in lines {
        assert!(line.len() <= 8192, "too long: {line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert!(!line.ends_with('\\'), "goes on: {line}");
        if line.starts_with('#') {
            continue;
        }
        rules += 1;
        let read = udev_rules::parse(line.as_bytes());
        let [rule] = read.as_slice() else {
            panic!("no rule: {line}");
        };
        for token in &rule.tokens {
            let label = token.value.to_string();
            match &*token.key {
                "GOTO" => {
                    assert!(!labels.contains(&label), "goes back: {line}");
                    gone_to.insert(label);
                }
                "LABEL" => assert!(labels.insert(label), "twice: {line}"),
                _ => {}
            }
        }
    }
    assert_eq!(udev_rules::parse(text.as_bytes()).len(), rules);
    assert_eq!(gone_to, labels);
}

#[test]
fn the_text_is_as_it_was_read() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut cases = 0;
    for entry in fs::read_dir("tests/rules").unwrap() {
        let case = entry.unwrap().path();
        let read = |name: &str| fs::read_to_string(case.join(name)).unwrap();
        let facts = machines().remove(read("machine").trim()).unwrap();
        let state = parsed(&read("state.toml")).unwrap_or_else(|| panic!("{}", case.display()));
        let text = compiled(&state, &facts);
        sound(&text);
        same_now_and_at_boot(&state, &facts, &text);
        let path = case.join("90-ssdtune.rules");
        if update {
            fs::write(&path, &text).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(expected == text, "{}:\n{text}", path.display());
        cases += 1;
    }
    assert!(cases > 10);
}

/// A device's values by key, as a plan has them.
fn values(device: &Device) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, String> = device
        .queue
        .iter()
        .filter(|(name, _)| *name != "scheduler")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(scheduler) = device.scheduler() {
        values.insert("scheduler".to_owned(), scheduler.to_string());
        for (name, value) in &device.iosched {
            values.insert(format!("{scheduler}.{name}"), value.clone());
        }
    }
    values
}

/// Proves that an event at boot ends in the values that apply ends in, and a second one changes
/// nothing. Devices that the plan refuses are passed over: with an error nothing is applied.
fn same_now_and_at_boot(state: &DesiredState, facts: &Facts, text: &str) {
    let plan = plan(state, facts, Only::Both);
    let rules = state
        .devices
        .iter()
        .filter(|rule| rule.when.holds(&facts.machine()));
    let rules: Vec<_> = rules.collect();
    let settings = rules.iter().flat_map(|rule| &rule.settings);
    let mut keys: BTreeSet<String> = settings.map(|setting| setting.attribute.key()).collect();
    keys.extend(["scheduler", "read_ahead_kb"].map(str::to_owned));
    // An error of many devices names the first of them.
    let refused = |name: &str| {
        let mut texts = plan.errors.iter().map(|error| &error.text);
        texts.any(|text| text.contains(&format!("`{name}`")) || text.contains(" more"))
    };
    for (name, device) in &facts.devices {
        // Nobody hears of hidden paths.
        if device.hidden || refused(name) {
            continue;
        }
        let taken = rules
            .iter()
            .any(|rule| Matcher::new(&rule.select, facts).takes(name, device) == Taken::Yes);
        let mut booted = Booted::new(facts, name);
        let before = booted.device().clone();
        let writes = booted.event(text, "add");
        if !taken {
            assert_eq!(writes, [], "{name} is left alone\n{text}");
            continue;
        }
        let change = plan
            .devices
            .iter()
            .find(|change| change.device.name == *name);
        let wanted: BTreeMap<String, String> = match change {
            Some(change) => {
                let after = change.after.0.iter();
                after
                    .map(|(Key(attribute), value)| (attribute.key(), value.0.clone()))
                    .collect()
            }
            None => values(&before),
        };
        let found = values(booted.device());
        for (key, value) in wanted.iter().filter(|(key, _)| keys.contains(*key)) {
            assert_eq!(
                found.get(key),
                Some(value),
                "{key} of {name} at boot and now\n{writes:#?}\n{text}"
            );
        }
        let after = booted.device().clone();
        let again = booted.event(text, "change");
        assert_eq!(booted.device(), &after, "a second event of {name}\n{text}");
        for (file, value) in again {
            let cheap = file.starts_with("queue/iosched/") || file == "queue/read_ahead_kb";
            assert!(cheap, "written again: {file} = {value} of {name}\n{text}");
        }
    }
}

#[test]
fn a_rule_of_the_distribution_does_not_mislead_ours() {
    // It looks, and then writes: what udev has read is stale from there on (SUSE's
    // 60-io-scheduler.rules).
    let rival = "ACTION==\"add|change\", ATTR{queue/scheduler}==\"none\", GOTO=\"rival_end\"\n\
                 ATTR{queue/scheduler}=\"none\"\nLABEL=\"rival_end\"\n";
    let state = parsed(
        "[[device]]\nmatch.name = \"*\"\nscheduler = [\"bfq\", \"mq-deadline\"]\nnr_requests = 64\n",
    )
    .unwrap();
    for (machine, name, expected) in [
        ("desktop", "sda", "bfq"),
        ("raspberry-pi", "mmcblk0", "mq-deadline"),
    ] {
        let facts = self::machine(machine);
        let text = format!("{rival}{}", compiled(&state, &facts));
        let mut booted = Booted::new(&facts, name);
        for action in ["add", "change", "change"] {
            booted.event(&text, action);
            assert_eq!(values(booted.device())["scheduler"], expected, "{text}");
            assert_eq!(values(booted.device())["nr_requests"], "64", "{text}");
        }
    }
}

#[test]
fn ten_thousand_rules_take_no_time() {
    let mut text = String::new();
    for number in 0..10_000 {
        text.push_str(&format!(
            "[[device]]\nmatch.serial = \"S{number}\"\noptional = true\n"
        ));
        text.push_str(match number % 3 {
            0 => "ignore = true\n",
            1 => "bfq.nr_requests = 64\nread_ahead_kb = 128\n",
            _ => "scheduler = [\"bfq\", \"none\"]\nnr_requests = 64\n",
        });
    }
    let state = parsed(&text).unwrap();
    let text = compiled(&state, &machine("server-raid"));
    sound(&text);
}

fn pick(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

/// One key of `match`.
fn selector() -> impl Strategy<Value = String> {
    let strings: &'static [&'static str] = &[
        "name = \"*\"",
        "name = \"*\"",
        "name = \"sd*\"",
        "name = \"sd[ab]\"",
        "name = [\"sda\", \"nvme*\"]",
        "name = \"nvme0n1\"",
        "name = [\"loop*\", \"md0\", \"zram0\"]",
        "name = \"dm-*\"",
        "name = \"mmcblk*\"",
        "name = \"vd[!a]\"",
        "name = [\"cciss!*\", \"rbd0\", \"bcache0\"]",
        "name = \"sd[xyz]\"",
        "name = \"sdy\"",
        "transport = [\"sata\", \"nvme\"]",
        "transport = \"usb\"",
        "transport = [\"virtio\", \"mmc\", \"sas\"]",
        "transport = [\"dm\", \"md\", \"loop\"]",
        "transport = [\"bcache\", \"zvol\", \"nullb\"]",
        "rotational = false",
        "rotational = true",
        "removable = true",
        "removable = false",
        "zoned = false",
        "zoned = true",
        "model = \"*\"",
        "model = \"Samsung SSD*\"",
        "model = \"Samsung_SSD_970_EVO_Plus_1TB\"",
        "model = [\"ST4000*\", \"INTEL_SSDSC2KB480G8\", \"SAMSUNG?MZ*\"]",
        "model = \"*[_]*\"",
        "model = \"[!_]*[!a-z]SSD*\"",
        "vendor = \"SanDisk\"",
        "vendor = \"*\"",
        "serial = \"*\"",
        "serial = \"S*\"",
        "serial = \"S-*\"",
        "serial = \"*[*]*[[]x]\"",
        "model = \"LOGICAL VOLUME*\"",
        "serial = [\"ZGY1A2B3\", \"PHYF948204AB480BGN\"]",
        "wwn = \"0x5*\"",
        "id = \"ata-*\"",
        "id = \"*\"",
        "id = [\"nvme-*\", \"wwn-0x5000c500b1c2d4?0\"]",
        "mount = \"/\"",
        "mount = \"/home\"",
        "mount = \"/srv/data\"",
        "mount = [\"/srv/*\", \"/mnt*\"]",
    ];
    pick(strings)
}

/// One setting of a rule; `@` is the scheduler whose table it stands in.
fn setting() -> impl Strategy<Value = String> {
    pick(&[
        "nr_requests = 4",
        "nr_requests = 64",
        "nr_requests = 100",
        "read_ahead_kb = 0",
        "read_ahead_kb = 16",
        "read_ahead_kb = 100",
        "read_ahead_kb = 4096",
        "max_sectors_kb = 64",
        "max_sectors_kb = 100",
        "nomerges = 2",
        "rq_affinity = 2",
        "iostats = false",
        "add_random = true",
        "wbt_lat_usec = 0",
        "wbt_lat_usec = 5000",
        "io_timeout = 60000",
        "rotational = false",
        "none.nr_requests = 32",
        "none.read_ahead_kb = 64",
        "bfq.nr_requests = 128",
        "bfq.rotational = true",
        "bfq.low_latency = false",
        "bfq.slice_idle = 0",
        "bfq.slice_idle_us = 2000",
        "bfq.strict_guarantees = true",
        "bfq.read_ahead_kb = 512",
        "mq-deadline.fifo_batch = 1",
        "mq-deadline.async_depth = 20",
        "kyber.async_depth = 30",
        "mq-deadline.max_sectors_kb = 32",
        "kyber.read_lat_nsec = 1000000",
        "kyber.nr_requests = 77",
    ])
}

fn schedulers() -> impl Strategy<Value = String> {
    pick(&[
        "scheduler = \"none\"",
        "scheduler = \"mq-deadline\"",
        "scheduler = [\"bfq\", \"mq-deadline\"]",
        "scheduler = [\"kyber\", \"none\"]",
        "scheduler = [\"bfq\", \"kyber\", \"none\"]",
        "scheduler = [\"mq-deadline\", \"bfq\"]",
    ])
}

fn rule() -> impl Strategy<Value = String> {
    let body = prop_oneof![
        1 => Just("ignore = true\n".to_owned()),
        1 => pick(&[
            "ignore = [\"scheduler\"]\n",
            "ignore = [\"nr_requests\", \"read_ahead_kb\"]\n",
            "ignore = [\"bfq.nr_requests\", \"bfq.slice_idle\", \"wbt_lat_usec\"]\n",
        ]),
        8 => (prop::option::of(schedulers()), prop::collection::vec(setting(), 0..5)).prop_map(|(list, settings)| {
            let mut lines = BTreeMap::new();
            for line in list.iter().chain(&settings) {
                let (key, _) = line.split_once(" = ").unwrap();
                // A table must be one of the rule's own list.
                let (table, _) = key.split_once('.').unwrap_or_default();
                let counts = list.as_ref().is_none_or(|list| list.contains(&format!("\"{table}\"")));
                if table.is_empty() || counts {
                    lines.insert(key.replace("_us", ""), line.clone());
                }
            }
            if lines.is_empty() {
                lines.insert(String::new(), "nomerges = 1".to_owned());
            }
            lines.into_values().map(|line| line + "\n").collect()
        }),
    ];
    (selector(), prop::option::of(selector()), body).prop_map(|(one, other, body)| {
        let key = |selector: &str| selector.split(' ').next().unwrap().to_owned();
        let other = other.filter(|other| key(other) != key(&one));
        let other = other.map_or(String::new(), |other| format!("match.{other}\n"));
        format!("[[device]]\noptional = true\nmatch.{one}\n{other}{body}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_applied_now_is_what_the_next_boot_brings(rules in prop::collection::vec(rule(), 1..6)) {
        // What is matched on cannot be set: some states are refused.
        if let Some(state) = parsed(&rules.concat()) {
            for facts in machines().values() {
                let text = compiled(&state, facts);
                sound(&text);
                same_now_and_at_boot(&state, facts, &text);
            }
        }
    }

    #[test]
    fn names_never_become_rules(name: String, serial: String) {
        let source = Source {
            name: name.clone(),
            text: format!("[[device]]\nmatch.serial = {}\nread_ahead_kb = 64\n", toml_string(&serial)),
        };
        if let Ok(state) = state::parse(&[source])
            && let Ok(text) = compile(&state, &machine("desktop"))
        {
            sound(&text);
        }
    }
}

/// A TOML string that holds this text.
fn toml_string(text: &str) -> String {
    let escaped = text.chars().map(|c| format!("\\U{:08X}", u32::from(c)));
    format!("\"{}\"", escaped.collect::<String>())
}
