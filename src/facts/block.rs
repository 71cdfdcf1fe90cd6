//! Reading /sys/block: one folder opened for a device, small files read below it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::queue::{self, Asked};
use super::read::{FOLDER, Reader, attribute, content, look_at, names, words};
use super::{Btrfs, Device, identity};
use crate::format::text::Text;

/// udev's entries are a few KiB; one is never larger than this.
const ENTRY: usize = 1 << 20;

/// /sys/block and udev's database, held open while devices are read.
pub(super) struct Block {
    folder: OwnedFd,
    /// udev's database; none where udev does not run.
    database: Option<OwnedFd>,
    buffer: Box<[u8; 4096]>,
}

impl Block {
    /// Opens /sys/block; none where there is none.
    pub fn open(reader: &mut Reader) -> Option<Self> {
        let folder = match reader.folder(b"/sys/block") {
            Ok(folder) => folder,
            Err(errno) => {
                reader.note(b"/sys/block", &words(errno));
                return None;
            }
        };
        Some(Self {
            folder,
            database: reader.folder(b"/run/udev/data").ok(),
            buffer: Box::new([0; 4096]),
        })
    }

    /// The kernel names of all devices, sorted; a name that is not UTF-8 is none.
    pub fn names(&self, reader: &mut Reader) -> Vec<String> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = rustix::fs::openat(&self.folder, ".", flags, Mode::empty()).and_then(names);
        match listed {
            Ok(names) => names
                .into_iter()
                .filter_map(|name| String::from_utf8(name).ok())
                .collect(),
            Err(errno) => {
                reader.note(b"/sys/block", &words(errno));
                Vec::new()
            }
        }
    }

    /// Opens a device's folder; one that has gone since it was listed is none.
    pub fn device(&self, reader: &mut Reader, name: &str) -> Option<OwnedFd> {
        match rustix::fs::openat(&self.folder, name, FOLDER, Mode::empty()) {
            Ok(folder) => Some(folder),
            Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => None,
            Err(errno) => {
                reader.note(format!("/sys/block/{name}").as_bytes(), &words(errno));
                None
            }
        }
    }

    /// Reads what every device has.
    pub fn header(&mut self, name: &str, folder: &OwnedFd, device: &mut Device) {
        let buffer = &mut *self.buffer;
        device.path = match rustix::fs::readlinkat(&self.folder, name, Vec::new()) {
            // ../devices/pci0000:00/…
            Ok(link) => match link.to_string_lossy().trim_start_matches("../") {
                path if path.starts_with('/') => path.to_owned(),
                path => format!("/{path}"),
            },
            Err(_) => format!("/block/{name}"),
        };
        let number = attribute(folder, "dev", buffer);
        device.number = number.map(str::to_owned).unwrap_or_default();
        device.removable = attribute(folder, "removable", buffer) == Ok("1");
        // Only NVMe hides disks (GENHD_FL_HIDDEN): the paths of a multipath head.
        device.hidden = name.starts_with("nvme") && attribute(folder, "hidden", buffer) == Ok("1");
        device.diskseq = parsed(attribute(folder, "diskseq", buffer));
        device.sectors = parsed(attribute(folder, "size", buffer)).unwrap_or(0);
        if name.starts_with("dm-") {
            let mut text = |path: &str| {
                let value = attribute(folder, path, &mut *buffer).ok()?;
                (!value.is_empty()).then(|| Text::from(value))
            };
            device.dm_name = text("dm/name");
            device.dm_uuid = text("dm/uuid");
        }
    }

    /// Reads serial, WWN, model and links; the header must have been read.
    pub fn identity(&mut self, name: &str, folder: &OwnedFd, device: &mut Device) {
        let entry = self.database.as_ref().and_then(|database| {
            let entry = format!("b{}", device.number);
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let file = rustix::fs::openat(database, entry.as_str(), flags, Mode::empty()).ok()?;
            content(&file, ENTRY).ok()
        });
        match entry {
            Some(bytes) => identity::from_udev(&bytes, device),
            None => identity::from_sysfs(name, folder.as_fd(), device, &mut self.buffer),
        }
    }

    /// Reads partitions, slaves and holders.
    pub fn topology(&mut self, name: &str, folder: &OwnedFd, device: &mut Device) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let list = |path: &str| {
            let opened = rustix::fs::openat(folder, path, flags, Mode::empty());
            let listed = opened.and_then(names).unwrap_or_default();
            listed
                .into_iter()
                .filter_map(|name| String::from_utf8(name).ok())
        };
        device.slaves = list("slaves").collect();
        device.holders = list("holders").collect();
        for entry in list(".").filter(|entry| entry.starts_with(name)) {
            // A partition says its number; an eMMC's boot parts stand here too and do not.
            if look_at(folder, &format!("{entry}/partition")).is_err() {
                continue;
            }
            if let Ok(number) = attribute(folder, &format!("{entry}/dev"), &mut self.buffer) {
                device.partitions.insert(entry, number.to_owned());
            }
        }
    }

    /// The devices below a device-mapper multipath device; none where it is something else.
    pub fn multipath_slaves(&mut self, name: &str) -> Vec<String> {
        let uuid = format!("{name}/dm/uuid");
        let is_multipath = attribute(&self.folder, &uuid, &mut self.buffer)
            .is_ok_and(|uuid| uuid.starts_with("mpath-"));
        if !is_multipath {
            return Vec::new();
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let slaves = format!("{name}/slaves");
        let listed = rustix::fs::openat(&self.folder, slaves.as_str(), flags, Mode::empty());
        let listed = listed.and_then(names).unwrap_or_default();
        listed
            .into_iter()
            .filter_map(|name| String::from_utf8(name).ok())
            .collect()
    }

    /// Reads the files of the queue that are asked for, or all.
    pub fn queue(
        &mut self,
        reader: &mut Reader,
        name: &str,
        folder: &OwnedFd,
        asked: Option<&Asked>,
        device: &mut Device,
    ) {
        let mut note = |path: &str, errno: Errno| {
            reader.note(
                format!("/sys/block/{name}/{path}").as_bytes(),
                &words(errno),
            );
        };
        match asked {
            Some(asked) => queue::read(folder.as_fd(), asked, device, &mut self.buffer, &mut note),
            None => queue::read_all(folder.as_fd(), device, &mut self.buffer, &mut note),
        }
    }
}

fn parsed<T: std::str::FromStr>(text: rustix::io::Result<&str>) -> Option<T> {
    text.ok()?.parse().ok()
}

/// The disk that a `major:minor` or the name of a partition stands on, by sysfs' links.
pub(super) fn disk_by_link(reader: &Reader, number_or_name: &str) -> Option<String> {
    let folder = if number_or_name.contains(':') {
        "dev/block"
    } else {
        "class/block"
    };
    let path = format!("/sys/{folder}/{number_or_name}");
    // …/block/sda, …/nvme0/nvme0n1, or, for a partition, …/block/sda/sda1.
    let link = String::from_utf8(reader.link(path.as_bytes()).ok()?).ok()?;
    let mut parts = link.rsplit('/');
    let (last, parent) = (parts.next()?, parts.next()?);
    let is_partition = reader.there(format!("{path}/partition").as_bytes());
    Some(if is_partition { parent } else { last }.to_owned())
}

/// The mounted btrfs filesystems: their devices, and the read-ahead that their files use.
pub(super) fn btrfs(reader: &mut Reader) -> Vec<(String, Btrfs)> {
    let mut found = Vec::new();
    for name in reader.names(b"/sys/fs/btrfs") {
        let Some(uuid) = String::from_utf8(name).ok().filter(|name| name.len() == 36) else {
            continue; // `features`, `debug`
        };
        let folder = format!("/sys/fs/btrfs/{uuid}");
        let devices = reader.names(format!("{folder}/devices").as_bytes());
        let read_ahead = reader.text(format!("{folder}/bdi/read_ahead_kb").as_bytes(), 4096);
        let btrfs = Btrfs {
            devices: devices
                .into_iter()
                .filter_map(|name| String::from_utf8(name).ok())
                .collect(),
            read_ahead_kb: read_ahead.and_then(|bytes| {
                let text = std::str::from_utf8(&bytes).ok()?;
                Some(text.trim_ascii().to_owned())
            }),
        };
        found.push((uuid, btrfs));
    }
    found
}
