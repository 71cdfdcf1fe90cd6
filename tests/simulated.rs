//! Properties on the simulated machine: whatever it was and whatever is wanted, apply ends in a
//! state of which a second plan has nothing to say, and rollback in what was there at first.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test sets up what the program is then asked to change"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};
use ssdtune::apply::Failure;
use ssdtune::facts::{Device, Facts, File, Mount, Scope, TIMER_LINK, TrimTimer};
use ssdtune::format::text::Text;
use ssdtune::rollback::To;
use ssdtune::snapshot::Store;
use ssdtune::system::System;
use ssdtune::system::simulated::Simulated;
use support::bench::{apply, plan, rollback, state};

/// Writes to a queue, by somebody or by a rule: the scheduler, and other files and values.
#[derive(Debug, Clone)]
struct Wish {
    scheduler: Option<&'static str>,
    values: BTreeMap<&'static str, i64>,
}

/// What is wished for each of the three disks, for each of the two mounts, and of fstrim.timer.
#[derive(Debug, Clone)]
struct Wanted {
    disks: Vec<Option<Wish>>,
    mounts: Vec<Vec<&'static str>>,
    tmpfs: bool,
    timer: Option<bool>,
}

const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

fn value() -> impl Strategy<Value = (&'static str, i64)> {
    prop_oneof![
        (4i64..=128).prop_map(|n| ("nr_requests", n)),
        (0i64..=1024).prop_map(|n| ("read_ahead_kb", n * 4)),
        (1i64..=320).prop_map(|n| ("max_sectors_kb", n * 4)),
        (0i64..=1).prop_map(|n| ("iostats", n)),
        (0i64..=1).prop_map(|n| ("rotational", n)),
        (0i64..=2).prop_map(|n| ("rq_affinity", n)),
        (0i64..=1).prop_map(|n| ("nomerges", n)),
        (1i64..=64).prop_map(|n| ("mq-deadline.fifo_batch", n)),
        (1i64..=900).prop_map(|n| ("mq-deadline.read_expire", n)),
        (1i64..=9).prop_map(|n| ("mq-deadline.writes_starved", n)),
        (0i64..=1).prop_map(|n| ("bfq.low_latency", n)),
        (0i64..=1).prop_map(|n| ("bfq.strict_guarantees", n)),
        (0i64..=20).prop_map(|n| ("bfq.slice_idle", n)),
        (1i64..=9_000_000).prop_map(|n| ("kyber.read_lat_nsec", n)),
    ]
}

fn wish() -> impl Strategy<Value = Wish> {
    let scheduler = proptest::option::of(proptest::sample::select(&SCHEDULERS[..]));
    let values = proptest::collection::vec(value(), 0..6);
    (scheduler, values).prop_map(|(scheduler, values)| Wish {
        scheduler,
        values: values.into_iter().collect(),
    })
}

fn wanted() -> impl Strategy<Value = Wanted> {
    const OPTIONS: [&str; 11] = [
        "noatime",
        "relatime",
        "nodiratime",
        "nosuid",
        "nodev",
        "lazytime",
        "commit=60",
        "commit=9",
        "discard",
        "nobarrier",
        "nofail",
    ];
    let mounts = proptest::sample::subsequence(&OPTIONS[..], 0..4).prop_map(one_of_each);
    (
        proptest::collection::vec(proptest::option::of(wish()), 3),
        proptest::collection::vec(mounts, 2),
        any::<bool>(),
        any::<Option<bool>>(),
    )
        .prop_map(|(disks, mounts, tmpfs, timer)| Wanted {
            disks,
            mounts,
            tmpfs,
            timer,
        })
}

/// Two values of one option are an error of meaning.
fn one_of_each(options: Vec<&'static str>) -> Vec<&'static str> {
    let kind = |option: &str| match option {
        "noatime" | "relatime" => "atime".to_owned(),
        option => option.split('=').next().unwrap().to_owned(),
    };
    let mut kept: Vec<&'static str> = Vec::new();
    for option in options {
        if !kept.iter().any(|other| kind(other) == kind(option)) {
            kept.push(option);
        }
    }
    kept
}

const TARGETS: [&str; 2] = ["/", "/data"];
const DISKS: [&str; 3] = ["sda", "sdb", "sdc"];

/// As a state file.
fn text(wanted: &Wanted) -> String {
    let mut text = String::new();
    if let Some(timer) = wanted.timer {
        text += &format!("[trim]\ntimer = {timer}\n");
    }
    for (target, options) in TARGETS.iter().zip(&wanted.mounts) {
        if !options.is_empty() {
            text += &format!(
                "[[mount]]\nmatch.target = \"{target}\"\noptions = {options:?}\nallow = [\"data-loss\"]\n"
            );
        }
    }
    if wanted.tmpfs {
        text += "[[tmpfs]]\ntarget = \"/tmp\"\nsize = \"1g\"\nmode = \"1777\"\n";
    }
    for (name, wish) in DISKS.iter().zip(&wanted.disks) {
        let Some(wish) = wish
            .as_ref()
            .filter(|wish| wish.scheduler.is_some() || !wish.values.is_empty())
        else {
            continue;
        };
        text += &format!("[[device]]\nmatch.serial = \"SERIAL-{name}\"\n");
        if let Some(scheduler) = wish.scheduler {
            text += &format!("scheduler = \"{scheduler}\"\n");
        }
        for (key, value) in &wish.values {
            // A table that could never count is an error of meaning.
            let owner = key.split_once('.').map(|(owner, _)| owner);
            if wish.scheduler.is_some() && owner.is_some() && owner != wish.scheduler {
                continue;
            }
            let value = match *key {
                "iostats" | "rotational" | "bfq.low_latency" | "bfq.strict_guarantees" => {
                    (*value != 0).to_string()
                }
                _ => value.to_string(),
            };
            text += &format!("{key} = {value}\n");
        }
    }
    text
}

/// Three disks and two mounts, tuned by hand.
fn machine(root: &Path, tuned: &Wanted) -> Simulated {
    let mut devices = BTreeMap::new();
    for (minor, name) in DISKS.iter().enumerate() {
        let queue = [
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
        ];
        let device = Device {
            number: format!("8:{}", 16 * minor),
            serial: Some(Text::from(format!("SERIAL-{name}").as_str())),
            queue: queue
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..Device::default()
        };
        devices.insert((*name).to_owned(), device);
    }
    let mounts = TARGETS.iter().zip(&tuned.mounts).enumerate();
    let mounts = mounts.map(|(at, (target, options))| {
        let mut flags = vec!["rw".to_owned()];
        let per_mount = ["nosuid", "nodev", "noatime", "nodiratime", "relatime"];
        let has = |flag: &str| match flag {
            "relatime" => !options.contains(&"noatime"),
            _ => options.contains(&flag),
        };
        flags.extend(
            per_mount
                .iter()
                .filter(|flag| has(flag))
                .map(|&flag| flag.to_owned()),
        );
        let mut shown = vec![Text::from("rw")];
        let fs = options
            .iter()
            .filter(|option| !per_mount.contains(option) && **option != "nofail");
        shown.extend(fs.map(|&option| Text::from(option)));
        Mount {
            device: format!("8:{}", at + 1),
            target: (*target).into(),
            flags,
            fstype: "ext4".to_owned(),
            options: shown,
            ..Mount::default()
        }
    });
    let file = |path: &str| File {
        path: path.into(),
        resolved: path.into(),
        links: 1,
        ..File::default()
    };
    let facts = Facts {
        kernel: "6.18.44".to_owned(),
        machine_id: "m".to_owned(),
        boot_id: "b".to_owned(),
        hz: Some(250),
        page_kb: 4,
        memory_kb: 4 << 20,
        mounts: mounts.collect(),
        devices,
        fstab: file("/etc/fstab"),
        rules: file("/etc/udev/rules.d/90-ssdtune.rules"),
        record: file("/var/lib/ssdtune/managed.json"),
        trim_timer: timer(root, tuned.timer == Some(true)),
        ..Facts::default()
    };
    fs::create_dir_all(root.join("etc/udev/rules.d")).unwrap();
    let lines: String = TARGETS
        .iter()
        .zip(&tuned.mounts)
        .enumerate()
        .map(|(at, (target, options))| {
            let options = match options.is_empty() {
                true => "defaults".to_owned(),
                false => options.join(","),
            };
            format!("/dev/sda{at} {target}\text4  {options} 0 1\n")
        })
        .collect();
    fs::write(root.join("etc/fstab"), lines).unwrap();
    let mut system = Simulated::on_disk(facts, root);
    for (name, wish) in DISKS.iter().zip(&tuned.disks) {
        let Some(wish) = wish else { continue };
        if let Some(scheduler) = wish.scheduler {
            system.write(name, "queue/scheduler", scheduler).unwrap();
        }
        for (key, value) in &wish.values {
            let file = match key.split_once('.') {
                Some((_, tunable)) => format!("queue/iosched/{tunable}"),
                None => format!("queue/{key}"),
            };
            // A tunable of another scheduler is not there.
            let _ = system.write(name, &file, &value.to_string());
        }
    }
    system
}

/// fstrim.timer, on or off, and its link where it is on.
fn timer(root: &Path, on: bool) -> TrimTimer {
    let unit = "/usr/lib/systemd/system/fstrim.timer";
    let mut links = BTreeMap::new();
    if on {
        let link = root.join(&TIMER_LINK[1..]);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(unit, link).unwrap();
        links.insert(TIMER_LINK.into(), unit.into());
    }
    TrimTimer {
        unit: Some(unit.into()),
        links,
        running: Some(on),
        ..TrimTimer::default()
    }
}

/// What counts: files, queues, mounts and the timer, whatever the order of options.
#[derive(Debug, PartialEq)]
struct Seen {
    files: Vec<Option<ssdtune::facts::Image>>,
    queues: BTreeMap<String, BTreeMap<String, String>>,
    mounts: Vec<(Text, Vec<String>, Vec<Text>)>,
    timer: TrimTimer,
}

fn seen(system: &mut Simulated) -> Seen {
    let facts = system.facts(&Scope::everything());
    let queues = facts.devices.into_iter().map(|(name, device)| {
        let tunables = device.iosched.into_iter();
        let tunables = tunables.map(|(name, value)| (format!("iosched/{name}"), value));
        (name, device.queue.into_iter().chain(tunables).collect())
    });
    let mounts = facts.mounts.into_iter().map(|mut mount| {
        mount.flags.sort();
        mount.options.sort();
        (mount.target, mount.flags, mount.options)
    });
    Seen {
        timer: facts.trim_timer,
        queues: queues.collect(),
        mounts: mounts.collect(),
        files: vec![facts.fstab.image, facts.rules.image, facts.record.image],
    }
}

/// Applies; false where that is refused, or ends in everything being as before.
fn applied(system: &mut Simulated, store: &Store, wanted: &Wanted) -> Result<bool, TestCaseError> {
    let text = text(wanted);
    let state = state(&text);
    let wish = plan(system, &state);
    if wish.is_empty() || !wish.errors.is_empty() {
        return Ok(false);
    }
    let before = seen(system);
    match apply(system, store, &state) {
        Ok(report) => {
            prop_assert!(report.warnings.is_empty(), "{:?}", report.warnings);
            let again = plan(system, &state);
            prop_assert!(again.is_empty(), "{text}\nleaves {again:#?}");
            Ok(true)
        }
        Err(Failure::Undone { cause, .. }) => {
            prop_assert_eq!(seen(system), before, "{}", cause);
            // A queue that the simulation makes otherwise than the tables say.
            prop_assert!(false, "{text}\nfailed: {cause}");
            Ok(false)
        }
        Err(other) => {
            prop_assert!(false, "{text}\nended as {other:?}");
            Ok(false)
        }
    }
}

fn taken_back(system: &mut Simulated, store: &Store, to: &To) -> Result<(), TestCaseError> {
    match rollback(system, store, to) {
        None | Some(Ok(_)) => Ok(()),
        Some(Err(failure)) => {
            prop_assert!(false, "the rollback ended as {failure:?}");
            Ok(())
        }
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

fn config() -> Config {
    Config {
        // A tree that syncs is slow to shrink on; the seed is printed.
        max_shrink_iters: 400,
        ..Config::with_cases(64)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_apply_is_whole_and_so_is_the_way_back(tuned in wanted(), first in wanted()) {
        let folder = folder();
        let store = Store::open(folder.path());
        let mut system = machine(folder.path(), &tuned);
        let at_first = seen(&mut system);
        if applied(&mut system, &store, &first)? {
            let after = seen(&mut system);
            taken_back(&mut system, &store, &To::Last)?;
            prop_assert_eq!(seen(&mut system), at_first);
            // And a rollback of that rollback.
            let last = *store.numbers().unwrap().last().unwrap();
            taken_back(&mut system, &store, &To::Before(last))?;
            prop_assert_eq!(seen(&mut system), after);
        }
    }

    #[test]
    fn several_applies_and_as_many_rollbacks_meet_again(
        tuned in wanted(),
        wanted in proptest::collection::vec(wanted(), 2..4),
    ) {
        let folder = folder();
        let store = Store::open(folder.path());
        let mut system = machine(folder.path(), &tuned);
        let at_first = seen(&mut system);
        let mut stations = Vec::new();
        for wanted in &wanted {
            let before = seen(&mut system);
            if applied(&mut system, &store, wanted)? {
                stations.push(before);
            }
        }
        let last = seen(&mut system);
        let applies = stations.len();
        for station in stations.into_iter().rev() {
            taken_back(&mut system, &store, &To::Last)?;
            prop_assert_eq!(seen(&mut system), station);
        }
        if applies > 1 {
            // All of it again, and at once.
            let number = *store.numbers().unwrap().last().unwrap();
            let back = u32::try_from(applies).unwrap() - 1;
            taken_back(&mut system, &store, &To::Before(number - back))?;
            prop_assert_eq!(seen(&mut system), last);
            taken_back(&mut system, &store, &To::Original)?;
            prop_assert_eq!(seen(&mut system), at_first);
        }
    }

    #[test]
    fn what_is_dropped_returns_to_what_was_first_found(tuned in wanted(), first in wanted()) {
        let folder = folder();
        let store = Store::open(folder.path());
        // Tunables that no rule names go with a switch, and the record does not know them.
        let mut tuned = tuned;
        for wish in tuned.disks.iter_mut().flatten() {
            wish.values.retain(|key, _| !key.contains('.') && *key != "nr_requests");
        }
        let mut system = machine(folder.path(), &tuned);
        let at_first = seen(&mut system);
        let nothing = Wanted { disks: vec![None, None, None], mounts: vec![vec![], vec![]], tmpfs: false, timer: None };
        if applied(&mut system, &store, &first)? {
            applied(&mut system, &store, &nothing)?;
            prop_assert_eq!(seen(&mut system), at_first);
        }
    }
}
