//! Reading the files of `queue/` and `queue/iosched/`.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Device;
use super::read::{FOLDER, attribute, names};
use crate::knowledge::Scheduler;
use crate::knowledge::attributes::{self, Attribute, Place};

/// The files of a queue that are needed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Asked {
    queue: BTreeSet<&'static str>,
    tunables: BTreeSet<&'static str>,
    /// All of `iosched/`, those unknown here too: a switch of the scheduler wipes the folder, and
    /// undoing it needs what was there.
    all_tunables: bool,
}

impl Asked {
    /// Adds what a change of the scheduler touches.
    pub fn scheduler(&mut self) {
        self.all_tunables = true;
        if let Some(scheduler) = attributes::queue("scheduler") {
            self.attribute(scheduler);
        }
    }

    /// Adds an attribute, all that a write of it can reset, and what bounds it.
    pub fn attribute(&mut self, attribute: &'static Attribute) {
        let is_new = match attribute.place {
            Place::Queue => self.queue.insert(attribute.name),
            Place::Iosched(_) => {
                // Which tunables there are is a question of the scheduler in effect.
                self.queue.insert("scheduler");
                self.tunables.insert(attribute.name)
            }
        };
        if !is_new {
            return;
        }
        match attribute.name {
            "scheduler" => self.all_tunables = true,
            "max_sectors_kb" => {
                self.queue.insert("max_hw_sectors_kb");
                self.queue.insert("logical_block_size");
            }
            // Their ceiling depends on the scheduler and on the size of its pool.
            "nr_requests" | "async_depth" => {
                if attribute.name == "async_depth" {
                    // Linux 7.0 moved mq-deadline's here: the plan looks where it is.
                    self.queue.insert("async_depth");
                }
                self.queue.insert("scheduler");
                self.queue.insert("nr_requests");
            }
            _ => {}
        }
        for name in attribute.resets {
            if let Some(reset) = attributes::queue(name) {
                self.attribute(reset);
            }
            for scheduler in Scheduler::ALL {
                if let Some(reset) = attributes::tunable(scheduler, name) {
                    self.attribute(reset);
                }
            }
        }
    }

    /// Adds one file that is only looked at.
    pub fn look_at(&mut self, name: &'static str) {
        self.queue.insert(name);
    }

    /// Adds what another asks for.
    pub fn join(&mut self, other: &Self) {
        self.queue.extend(&other.queue);
        self.tunables.extend(&other.tunables);
        self.all_tunables |= other.all_tunables;
    }

    /// True where nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.tunables.is_empty() && !self.all_tunables
    }
}

/// Called with the path below the device and the error of what should be readable and is not.
pub(super) type Note<'n> = dyn FnMut(&str, Errno) + 'n;

/// Reads the files asked for; what a device does not have is left out.
pub(super) fn read(
    device_folder: BorrowedFd<'_>,
    asked: &Asked,
    device: &mut Device,
    buffer: &mut [u8; 4096],
    note: &mut Note<'_>,
) {
    let Some(folder) = open(device_folder, "queue", note) else {
        return;
    };
    for name in &asked.queue {
        if !device.queue.contains_key(*name) {
            one(&folder, "queue", name, &mut device.queue, buffer, note);
        }
    }
    let has_tunables = device
        .scheduler()
        .is_some_and(|active| active != Scheduler::None);
    if !(has_tunables && (asked.all_tunables || !asked.tunables.is_empty())) {
        return;
    }
    let Some(folder) = open(folder.as_fd(), "iosched", note) else {
        return;
    };
    if asked.all_tunables {
        all(&folder, "queue/iosched", &mut device.iosched, buffer, note);
    } else {
        for name in &asked.tunables {
            one(
                &folder,
                "queue/iosched",
                name,
                &mut device.iosched,
                buffer,
                note,
            );
        }
    }
}

/// Reads every file of the queue.
pub(super) fn read_all(
    device_folder: BorrowedFd<'_>,
    device: &mut Device,
    buffer: &mut [u8; 4096],
    note: &mut Note<'_>,
) {
    let Some(folder) = open(device_folder, "queue", note) else {
        return;
    };
    all(&folder, "queue", &mut device.queue, buffer, note);
    if let Ok(tunables) = rustix::fs::openat(&folder, "iosched", FOLDER, Mode::empty()) {
        all(
            &tunables,
            "queue/iosched",
            &mut device.iosched,
            buffer,
            note,
        );
    }
}

fn open(folder: BorrowedFd<'_>, name: &str, note: &mut Note<'_>) -> Option<rustix::fd::OwnedFd> {
    match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
        Ok(folder) => Some(folder),
        Err(errno) => {
            if !is_absence(errno) {
                note(name, errno);
            }
            None
        }
    }
}

/// Errors that mean: this device, kernel or scheduler has no such value. `EINVAL` is what
/// `wbt_lat_usec` says where writeback throttling was never set up, `ENODEV` what a tunable says
/// whose scheduler has just left.
fn is_absence(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT
            | Errno::NOTDIR
            | Errno::INVAL
            | Errno::NODEV
            | Errno::NXIO
            | Errno::OPNOTSUPP
            | Errno::ISDIR
    )
}

fn one(
    folder: impl AsFd,
    place: &str,
    name: &str,
    into: &mut BTreeMap<String, String>,
    buffer: &mut [u8; 4096],
    note: &mut Note<'_>,
) {
    match attribute(folder, name, buffer) {
        Ok(text) => {
            into.insert(name.to_owned(), text.to_owned());
        }
        Err(errno) if is_absence(errno) => {}
        Err(errno) => note(&format!("{place}/{name}"), errno),
    }
}

fn all(
    folder: impl AsFd,
    place: &str,
    into: &mut BTreeMap<String, String>,
    buffer: &mut [u8; 4096],
    note: &mut Note<'_>,
) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed = rustix::fs::openat(&folder, ".", flags, Mode::empty()).and_then(names);
    let listed = match listed {
        Ok(listed) => listed,
        Err(errno) => return note(place, errno),
    };
    for name in listed {
        let Ok(name) = std::str::from_utf8(&name) else {
            continue;
        };
        let is_file = super::read::look_at(&folder, name).is_ok_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                && stat.st_mode & 0o444 != 0
        });
        if is_file && !into.contains_key(name) {
            one(&folder, place, name, into, buffer, note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(keys: &[&str]) -> Asked {
        let mut asked = Asked::default();
        for key in keys {
            asked.attribute(attributes::by_key(key).unwrap());
        }
        asked
    }

    #[test]
    fn a_scheduler_asks_for_all_that_a_switch_resets() {
        let mut by_list = Asked::default();
        by_list.scheduler();
        assert!(by_list.all_tunables);
        for name in ["scheduler", "nr_requests", "wbt_lat_usec", "async_depth"] {
            assert!(by_list.queue.contains(name), "{name}");
        }
        assert!(!by_list.queue.contains("read_ahead_kb"));
    }

    #[test]
    fn a_limit_asks_for_read_ahead_and_its_bounds() {
        let asked = asked(&["max_sectors_kb"]);
        let names: Vec<&str> = asked.queue.iter().copied().collect();
        let expected = [
            "logical_block_size",
            "max_hw_sectors_kb",
            "max_sectors_kb",
            "read_ahead_kb",
        ];
        assert_eq!(names, expected);
        assert!(asked.tunables.is_empty());
    }

    #[test]
    fn read_ahead_asks_for_nothing_else() {
        let asked = asked(&["read_ahead_kb"]);
        assert_eq!(
            asked.queue.iter().copied().collect::<Vec<_>>(),
            ["read_ahead_kb"]
        );
    }

    #[test]
    fn a_tunable_asks_for_the_scheduler_and_its_twin() {
        let asked = asked(&["bfq.slice_idle"]);
        assert_eq!(
            asked.queue.iter().copied().collect::<Vec<_>>(),
            ["scheduler"]
        );
        let tunables: Vec<&str> = asked.tunables.iter().copied().collect();
        assert_eq!(tunables, ["slice_idle", "slice_idle_us"]);
        assert!(!asked.all_tunables);
    }
}
