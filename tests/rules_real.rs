//! The udev rules through the udev that is installed: 252's `udevadm test` really writes.
//!
//! As root, in a mount namespace in which no other rules are, on loop devices. Skipped, with the
//! reason printed, where that cannot be had.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test sets up what it looks at, and fails by panicking"
)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::mount::MsFlags;
use ssdtune::facts::{Facts, Scope, gather};
use ssdtune::plan::rules::{PATH, compile};
use ssdtune::plan::{Only, plan, record};
use ssdtune::state::{self, DesiredState, Source};
use support::{Loop, mount_at, privately};

/// Queue files that the tests change and a loop device keeps from one file to the next.
const CHANGED: &[&str] = &["max_sectors_kb", "nomerges", "rq_affinity", "iostats"];

/// A loop device that is as it was when it is dropped.
struct Disk {
    device: Loop,
    before: Vec<String>,
}

impl Disk {
    fn new(folder: &Path, megabytes: u64) -> Option<Self> {
        let device = Loop::new(folder, megabytes)?;
        let before = CHANGED.iter().map(|name| device.queue(name)).collect();
        Some(Self { device, before })
    }

    /// Runs the installed rules over an event, and says what udev complained of.
    fn event(&self, action: &str) {
        let output = Command::new("udevadm")
            .args(["test", "-a", action])
            .arg(format!("/sys/block/{}", self.device.name))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        for line in said
            .lines()
            .filter(|line| line.contains("90-ssdtune.rules:"))
        {
            let wrong = ["nvalid", "nknown", "gnoring", "ailed", "ould not"];
            assert!(!wrong.iter().any(|word| line.contains(word)), "{line}");
        }
    }

    fn set(&self, name: &str, value: &str) {
        fs::write(
            format!("/sys/block/{}/queue/{name}", self.device.name),
            value,
        )
        .unwrap();
    }

    fn has(&self, expected: &[(&str, &str)]) {
        for (name, value) in expected {
            assert_eq!(
                self.device.queue(name),
                *value,
                "{name} of {}",
                self.device.name
            );
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Before the device itself puts back scheduler, requests and, last, read-ahead.
        for (name, value) in CHANGED.iter().zip(&self.before) {
            let _ = fs::write(
                format!("/sys/block/{}/queue/{name}", self.device.name),
                value,
            );
        }
    }
}

/// Runs a test with two loop devices, where udev has no rules but those that the test installs.
fn with_udev(test: impl FnOnce(&[Disk; 2]) + Send + 'static) {
    if let Err(error) = Command::new("udevadm").arg("--version").output() {
        eprintln!("skipped: no udevadm: {error}");
        return;
    }
    if !Path::new("/etc/udev/rules.d").is_dir() {
        eprintln!("skipped: no /etc/udev/rules.d");
        return;
    }
    privately(move |folder| {
        let (Some(one), Some(other)) = (Disk::new(folder, 8), Disk::new(folder, 9)) else {
            return;
        };
        for hidden in [
            "/etc/udev/rules.d",
            "/usr/lib/udev/rules.d",
            "/lib/udev/rules.d",
            "/run",
        ] {
            if Path::new(hidden).is_dir() {
                mount_at(
                    Path::new("none"),
                    Path::new(hidden),
                    "tmpfs",
                    MsFlags::empty(),
                    "",
                );
            }
        }
        // The values that a fresh device has.
        for disk in [&one, &other] {
            for (name, value) in [
                ("scheduler", "none"),
                ("nr_requests", "128"),
                ("read_ahead_kb", "128"),
            ] {
                disk.set(name, value);
            }
        }
        // Newer versions only tell what they would write.
        let probe = "/etc/udev/rules.d/10-probe.rules";
        fs::write(probe, "ATTR{queue/read_ahead_kb}=\"124\"\n").unwrap();
        one.event("add");
        fs::remove_file(probe).unwrap();
        if one.device.queue("read_ahead_kb") != "124" {
            eprintln!("skipped: this `udevadm test` writes nothing");
            return;
        }
        one.set("read_ahead_kb", "128");
        test(&[one, other]);
    });
}

fn parsed(text: &str) -> DesiredState {
    let source = Source {
        name: "state.toml".to_owned(),
        text: text.to_owned(),
    };
    state::parse(&[source]).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn facts(state: &DesiredState) -> Facts {
    gather(Path::new("/"), &Scope::of(state, &record::recorded))
}

fn install(state: &DesiredState) {
    let text = compile(state, &facts(state)).unwrap();
    fs::write(PATH, &text).unwrap();
    // From 254 on.
    let verify = Command::new("udevadm")
        .args(["verify", "--no-style", PATH])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&verify.stderr).into_owned();
    if !said.contains("nrecognized") && !said.contains("nknown") {
        assert!(verify.status.success(), "{said}\n{text}");
    }
}

/// Nothing differs from what the live plan wants.
fn is_as_planned(state: &DesiredState) {
    let plan = plan(state, &facts(state), Only::Now);
    assert_eq!(plan.errors, []);
    assert_eq!(plan.devices, []);
}

#[test]
fn overlapping_rules_are_right_after_the_first_event_and_stay_so() {
    with_udev(|[one, other]| {
        let (a, b) = (&one.device.name, &other.device.name);
        let state = parsed(&format!(
            "[[device]]\nmatch.name = [\"{a}\", \"{b}\"]\nscheduler = \"mq-deadline\"\nnr_requests = 200\n\
             mq-deadline.fifo_batch = 1\nread_ahead_kb = 64\nmax_sectors_kb = 512\nnomerges = 1\n\
             [[device]]\nmatch.name = \"{a}\"\nscheduler = \"kyber\"\nkyber.read_lat_nsec = 1000000\niostats = false\n\
             [[device]]\nmatch.name = \"{b}\"\nmq-deadline.nr_requests = 64\nignore = [\"nomerges\"]\nrq_affinity = 2\n",
        ));
        install(&state);
        for action in ["add", "change"] {
            one.event(action);
            other.event(action);
            one.has(&[
                ("scheduler", "kyber"),
                ("nr_requests", "200"),
                ("iosched/read_lat_nsec", "1000000"),
                ("read_ahead_kb", "64"),
                ("max_sectors_kb", "512"),
                ("nomerges", "1"),
                ("iostats", "0"),
            ]);
            other.has(&[
                ("scheduler", "mq-deadline"),
                ("nr_requests", "64"),
                ("iosched/fifo_batch", "1"),
                ("read_ahead_kb", "64"),
                ("max_sectors_kb", "512"),
                ("nomerges", "0"),
                ("rq_affinity", "2"),
            ]);
            is_as_planned(&state);
        }
    });
}

#[test]
fn the_first_event_alone_is_enough() {
    with_udev(|[one, other]| {
        let state = parsed(&format!(
            "[[device]]\nmatch.name = \"{}\"\nscheduler = [\"bfq\", \"mq-deadline\"]\nnr_requests = 64\n\
             bfq.slice_idle = 0\nbfq.strict_guarantees = true\nbfq.low_latency = false\nread_ahead_kb = 16\niostats = true\n",
            one.device.name
        ));
        if !facts(&state).devices[&one.device.name].queue["scheduler"].contains("bfq") {
            eprintln!("skipped: no bfq");
            return;
        }
        install(&state);
        one.event("add");
        one.has(&[
            ("scheduler", "bfq"),
            ("nr_requests", "64"),
            ("iosched/slice_idle", "0"),
            ("iosched/strict_guarantees", "1"),
            ("iosched/low_latency", "0"),
            ("read_ahead_kb", "16"),
        ]);
        is_as_planned(&state);
        // Another device is none of its business.
        other.event("add");
        other.has(&[("scheduler", "none"), ("read_ahead_kb", "128")]);
    });
}

#[test]
fn what_another_rule_wrote_before_does_not_mislead_ours() {
    with_udev(|[one, _]| {
        // As SUSE's does: it looks, and then writes.
        fs::write(
            "/etc/udev/rules.d/60-rival.rules",
            "SUBSYSTEM!=\"block\", GOTO=\"rival_end\"\n\
             ATTR{queue/scheduler}==\"none\", GOTO=\"rival_end\"\n\
             ATTR{queue/nr_requests}==\"1\", GOTO=\"rival_end\"\n\
             ATTR{queue/scheduler}=\"kyber\"\nLABEL=\"rival_end\"\n",
        )
        .unwrap();
        let state = parsed(&format!(
            "[[device]]\nmatch.name = \"{}\"\nscheduler = \"mq-deadline\"\nnr_requests = 64\n",
            one.device.name
        ));
        install(&state);
        for action in ["add", "change", "change"] {
            one.event(action);
            one.has(&[("scheduler", "mq-deadline"), ("nr_requests", "64")]);
        }
    });
}

#[test]
fn removal_events_copies_and_a_removed_file_change_nothing() {
    with_udev(|[one, _]| {
        let state = parsed(&format!(
            "[[device]]\nmatch.name = \"{}\"\nread_ahead_kb = 64\n",
            one.device.name
        ));
        install(&state);
        one.event("remove");
        one.has(&[("read_ahead_kb", "128")]);
        // What an initramfs may have kept: the rules without the file in /etc.
        fs::rename(PATH, "/etc/udev/rules.d/91-copy.rules").unwrap();
        one.event("add");
        one.has(&[("read_ahead_kb", "128")]);
        fs::rename("/etc/udev/rules.d/91-copy.rules", PATH).unwrap();
        one.event("add");
        one.has(&[("read_ahead_kb", "64")]);
        fs::remove_file(PATH).unwrap();
        one.set("read_ahead_kb", "96");
        one.event("change");
        one.has(&[("read_ahead_kb", "96")]);
    });
}

#[test]
fn a_long_list_and_odd_names_do_no_harm() {
    with_udev(|[one, _]| {
        let many: Vec<String> = (0..3000)
            .map(|number| format!("\"X{number:06}\""))
            .collect();
        let state = parsed(&format!(
            "[[device]]\nmatch.serial = [{}]\noptional = true\nread_ahead_kb = 32\n\
             [[device]]\nmatch.name = [{}, \"{}\"]\noptional = true\nread_ahead_kb = 64\n\
             [[device]]\nmatch.serial = \"*\"\nread_ahead_kb = 16\n\
             [[device]]\nmatch.model = [\"$kernel 50% {{x}} 'a' #\", \"x[!a][[]\"]\nread_ahead_kb = 16\n",
            many.join(", "),
            many.join(", "),
            one.device.name
        ));
        let text = compile(&state, &Facts::default()).unwrap();
        fs::write(PATH, text).unwrap();
        one.event("add");
        one.has(&[("read_ahead_kb", "64")]);
    });
}
