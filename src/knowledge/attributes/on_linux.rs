//! The table against the running kernel: as root, on a loop device of the test's own.

#![allow(
    clippy::disallowed_methods,
    reason = "the test writes to a device of its own"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::*;

/// A loop device; dropped, it is as it was found.
struct Lab {
    folder: tempfile::TempDir,
    device: String,
    before: BTreeMap<&'static Attribute, String>,
}

impl Lab {
    /// None where it cannot be had, which is said.
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let file = fs::File::create(&image).unwrap();
        file.set_len(16 << 20).unwrap();
        let losetup = Command::new("losetup")
            .args(["-f", "--show"])
            .arg(&image)
            .output();
        let Some(output) = losetup.ok().filter(|output| output.status.success()) else {
            eprintln!("skipped: no loop device to be had");
            return None;
        };
        let device = String::from_utf8(output.stdout).unwrap();
        let mut lab = Self {
            folder,
            device: device.trim().trim_start_matches("/dev/").to_owned(),
            before: BTreeMap::new(),
        };
        lab.before = lab.settable().collect();
        Some(lab)
    }

    fn path(&self, attribute: &Attribute) -> PathBuf {
        PathBuf::from(format!("/sys/block/{}/{}", self.device, attribute.path()))
    }

    fn read(&self, attribute: &Attribute) -> Option<String> {
        let text = fs::read_to_string(self.path(attribute)).ok()?;
        let active = text.split(['[', ']']).nth(1);
        Some(active.unwrap_or(text.trim()).to_owned())
    }

    fn write(&self, attribute: &Attribute, value: &Value) {
        let path = self.path(attribute);
        if let Err(error) = fs::write(&path, &value.0) {
            panic!("{} = {value}: {error}", path.display());
        }
    }

    fn active(&self) -> Scheduler {
        let scheduler = queue("scheduler").unwrap();
        Scheduler::from_name(&self.read(scheduler).unwrap()).unwrap()
    }

    /// The settable attributes that are there now, and their values.
    fn settable(&self) -> impl Iterator<Item = (&'static Attribute, String)> {
        let active = self.active();
        ATTRIBUTES
            .iter()
            .filter(|attribute| !matches!(attribute.settable, Settable::No(_)))
            .filter(move |a| a.place == Place::Queue || a.place == Place::Iosched(active))
            .filter_map(|attribute| Some((attribute, self.read(attribute)?)))
    }

    fn limits(&self) -> Limits {
        let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE);
        let page = page.unwrap().unwrap();
        let number = |name: &str| self.read(queue(name).unwrap())?.parse().ok();
        Limits {
            page_kb: page as u64 / 1024,
            hz: None,
            max_hw_sectors_kb: number("max_hw_sectors_kb"),
            logical_block_size: number("logical_block_size"),
            scheduler: Some(self.active()),
            nr_requests: number("nr_requests"),
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A loop device remembers what was written to its queue after its file has gone.
        for (attribute, value) in &self.before {
            if self.read(attribute).as_ref() != Some(value) {
                let _ = fs::write(self.path(attribute), value);
            }
        }
        let device = format!("/dev/{}", self.device);
        let _ = Command::new("losetup").arg("-d").arg(device).status();
        let _ = &self.folder;
    }
}

/// Values that a state file may have: the bounds, and what lies between them.
fn examples(attribute: &Attribute) -> Vec<i128> {
    match attribute.kind {
        Kind::Boolean => vec![1, 0],
        Kind::OneOf(numbers) => numbers.to_vec(),
        Kind::Number { min, max } => {
            let between = [1, 5, 37, 131, 499, 2049, 100_003];
            let between = between.into_iter().filter(|n| (min..=max).contains(n));
            [min, max].into_iter().chain(between).collect()
        }
        Kind::Scheduler => vec![],
    }
}

#[test]
fn what_is_written_reads_back_as_expected() {
    let Some(lab) = Lab::new() else { return };
    let scheduler = queue("scheduler").unwrap();
    let offered = fs::read_to_string(lab.path(scheduler)).unwrap();
    // With `none` nr_requests ends at the hardware's depth, which only switching to it tells.
    lab.write(scheduler, &Scheduler::None.name().into());
    let depth = lab.read(queue("nr_requests").unwrap()).unwrap();
    let depth: u32 = depth.parse().unwrap();
    for to in Scheduler::ALL {
        if !offered.contains(to.name()) {
            continue;
        }
        lab.write(scheduler, &to.name().into());
        for (attribute, value) in lab.settable() {
            if let Some(forecast) = attribute.after_switch(to, Some(depth)) {
                assert_eq!(forecast.0, value, "{} after {to}", attribute.key());
            }
        }
        for (attribute, _) in lab.settable() {
            // bfq has switched the throttling off by itself, and hides what it was.
            let hidden = attribute.name == "wbt_lat_usec" && to == Scheduler::Bfq;
            for number in examples(attribute) {
                let beyond = attribute.name == "nr_requests"
                    && to == Scheduler::None
                    && number > i128::from(depth);
                let value = attribute.parse(&number.to_string()).unwrap();
                let expected = attribute.expect(&value, &lab.limits());
                if hidden || beyond || matches!(expected, Expect::Refused(_)) {
                    continue;
                }
                lab.write(attribute, &value);
                let read = Value(lab.read(attribute).unwrap());
                let met = match expected {
                    Expect::Exactly(exactly) => read == exactly,
                    Expect::Between(low, high) => (low..=high).contains(&read.number().unwrap()),
                    Expect::Refused(_) => false,
                };
                assert!(met, "{} = {value} under {to} reads {read}", attribute.key());
            }
        }
    }
}

#[test]
fn every_file_of_a_queue_is_known() {
    let Ok(devices) = fs::read_dir("/sys/block") else {
        eprintln!("skipped: no /sys/block");
        return;
    };
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    if Kernel::parse(&release) > Some(Kernel(6, 18)) {
        eprintln!("skipped: a kernel newer than the one that was looked at");
        return;
    }
    for device in devices {
        let queue_folder = device.unwrap().path().join("queue");
        for file in fs::read_dir(queue_folder).into_iter().flatten() {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            if file.file_type().unwrap().is_file() {
                assert!(queue(&name).is_some(), "queue/{name} is not known");
            }
        }
    }
}
