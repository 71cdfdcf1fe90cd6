//! What lies below a mount point: partition, device mapper, software RAID, disks.
//!
//! Two layers matter (case S09). Read-ahead is taken from the device that the filesystem is mounted
//! on, or from btrfs' own; schedulers and queue limits work at the bottom, on the disks.

use std::collections::{BTreeMap, BTreeSet};

use super::{Device, Facts, Mount};
use crate::format::fstab::{Entry, Fstab};
use crate::format::text::Text;

/// The layer whose read-ahead counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Top {
    /// The queue of this device of /sys/block.
    Device(String),
    /// btrfs' own, in /sys/fs/btrfs/UUID/bdi; it is there while the filesystem is mounted.
    Btrfs(String),
    /// There is none, and why.
    None(&'static str),
}

/// A mount point's layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Where read-ahead is set.
    pub top: Top,
    /// The disks at the bottom, by name, each once.
    pub disks: Vec<String>,
}

/// The layers below a mount point; none where neither mounts nor fstab know it.
pub fn stack_of(facts: &Facts, target: &[u8]) -> Option<Stack> {
    let mut found = stacks(facts, |other| other.as_bytes() == target);
    found.pop().map(|(_, stack)| stack)
}

/// The layers below each mount point that is wanted, in the order of their names: of what is
/// mounted there last, else of its line in fstab.
///
/// One that stands on no device that can be seen (tmpfs, NFS, a disk that is not there) has no disks
/// and [`Top::None`].
pub fn stacks(facts: &Facts, wanted: impl Fn(&Text) -> bool) -> Vec<(Text, Stack)> {
    let mut mounted: BTreeMap<&Text, &Mount> = BTreeMap::new();
    for mount in facts.mounts.iter().filter(|mount| wanted(&mount.target)) {
        mounted.insert(&mount.target, mount);
    }
    let mut found: BTreeMap<Text, Stack> = mounted
        .into_iter()
        .map(|(target, mount)| (target.clone(), of_mount(facts, mount)))
        .collect();
    if let Some(image) = &facts.fstab.image {
        let fstab = Fstab::parse(image.bytes.as_bytes());
        for (_, entry) in fstab.entries().filter(|(_, entry)| entry.is_mount()) {
            let target = Text(entry.target().into_owned());
            if wanted(&target) && !found.contains_key(&target) {
                found.insert(target, of_entry(facts, &entry));
            }
        }
    }
    found.into_iter().collect()
}

/// The layers below something mounted.
pub fn of_mount(facts: &Facts, mount: &Mount) -> Stack {
    // btrfs, NFS and tmpfs have numbers of major 0, which name no device.
    if !mount.device.starts_with("0:") {
        return match facts.device_by_number(&mount.device) {
            Some((name, _)) => of_device(facts, name),
            None => Stack::none("its device is not in /sys/block"),
        };
    }
    match mount.fstype.as_str() {
        "btrfs" => of_btrfs(facts, mount.source.as_bytes()),
        "zfs" | "bcachefs" => Stack::none("its filesystem has a read-ahead of its own"),
        "tmpfs" | "ramfs" => Stack::none("it is in memory"),
        "overlay" => Stack::none("it is an overlay: name the mount point of its upper folder"),
        _ => Stack::none("it stands on no block device"),
    }
}

/// The layers below a line of fstab that is not mounted.
fn of_entry(facts: &Facts, entry: &Entry<'_>) -> Stack {
    let source = entry.source();
    let fstype = entry.fstype();
    if matches!(&*fstype, b"tmpfs" | b"ramfs") {
        return Stack::none("it is in memory");
    }
    let Some(name) = resolve(facts, &source).and_then(|node| facts.disk_of(node)) else {
        return Stack::none("it is not mounted, and the device of its line is not there");
    };
    let mut stack = of_device(facts, name);
    if &*fstype == b"btrfs" {
        stack.top = Top::None("a btrfs has its read-ahead only while it is mounted");
    }
    stack
}

/// btrfs shows one of its devices as the source; the others are found through its UUID.
fn of_btrfs(facts: &Facts, source: &[u8]) -> Stack {
    let node = resolve(facts, source);
    let name = node.and_then(|node| node_name(facts, node));
    let known = name.and_then(|name| {
        let mut all = facts.btrfs.iter();
        all.find(|(_, btrfs)| btrfs.devices.iter().any(|device| device == name))
    });
    match (known, node.and_then(|node| facts.disk_of(node))) {
        (Some((uuid, btrfs)), _) => Stack {
            top: Top::Btrfs(uuid.clone()),
            disks: bottom(facts, btrfs.devices.iter().map(String::as_str)),
        },
        (None, Some(disk)) => Stack {
            top: Top::None("its UUID is not in /sys/fs/btrfs"),
            disks: bottom(facts, [disk]),
        },
        (None, None) => Stack::none("its device is not in /sys/block"),
    }
}

fn of_device(facts: &Facts, name: &str) -> Stack {
    Stack {
        top: Top::Device(name.to_owned()),
        disks: bottom(facts, [name]),
    }
}

impl Stack {
    fn none(why: &'static str) -> Self {
        Self {
            top: Top::None(why),
            disks: Vec::new(),
        }
    }
}

/// What a source of fstab or mountinfo stands for: a `major:minor` or a kernel name.
fn resolve<'f>(facts: &'f Facts, source: &'f [u8]) -> Option<&'f str> {
    if let Some(number) = facts.sources.get(&Text::from(source)) {
        return Some(number);
    }
    let node = source.strip_prefix(b"/dev/")?;
    if let Some(mapped) = node.strip_prefix(b"mapper/") {
        let named = |device: &Device| {
            let name = device.dm_name.as_ref();
            name.is_some_and(|name| *name == Text::from(mapped))
        };
        let mut devices = facts.devices.iter();
        return devices
            .find(|(_, device)| named(device))
            .map(|(name, _)| name.as_str());
    }
    // What sysfs writes as `!` is a slash below /dev (cciss!c0d0).
    let node = std::str::from_utf8(node).ok()?;
    match facts.disk_of(node) {
        Some(_) => Some(node),
        None => facts.disk_of(&node.replace('/', "!")),
    }
}

/// The kernel name, of a disk or partition, with this `major:minor` or name.
fn node_name<'f>(facts: &'f Facts, node: &'f str) -> Option<&'f str> {
    if !node.contains(':') {
        return Some(node);
    }
    let (name, device) = facts.device_by_number(node)?;
    if device.number == node {
        return Some(name);
    }
    let mut partitions = device.partitions.iter();
    partitions
        .find(|(_, number)| *number == node)
        .map(|(name, _)| name.as_str())
}

/// The disks below some devices, in the order of finding, each once.
///
/// A device without slaves is a disk. Each device is entered once, so that a table in which
/// devices lie upon one another in a circle ends too.
pub fn bottom<'n>(facts: &'n Facts, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let mut ahead: Vec<&str> = names.into_iter().collect();
    ahead.reverse();
    let mut entered = BTreeSet::new();
    let mut disks = Vec::new();
    while let Some(node) = ahead.pop() {
        let Some(name) = facts.disk_of(node) else {
            continue;
        };
        if !entered.insert(name) {
            continue;
        }
        let slaves = &facts.devices[name].slaves;
        if slaves.is_empty() {
            disks.push(name.to_owned());
        }
        ahead.extend(slaves.iter().rev().map(String::as_str));
    }
    disks
}

/// The hidden paths of an NVMe multipath head: `nvme0c1n1` is a path of `nvme0n1`.
///
/// Requests wait in the paths' queues, but the paths raise no uevents: what is written there does
/// not outlast a reboot or a reconnection.
pub fn paths_of_head<'f>(facts: &'f Facts, head: &str) -> Vec<&'f str> {
    let Some((subsystem, namespace)) = head
        .strip_prefix("nvme")
        .and_then(|rest| rest.split_once('n'))
    else {
        return Vec::new();
    };
    let is_path = |name: &str| {
        name.strip_prefix("nvme")
            .and_then(|rest| rest.strip_prefix(subsystem))
            .and_then(|rest| rest.strip_prefix('c'))
            .and_then(|rest| rest.split_once('n'))
            .is_some_and(|(controller, same)| {
                same == namespace && controller.bytes().all(|byte| byte.is_ascii_digit())
            })
    };
    let devices = facts.devices.iter();
    devices
        .filter(|(name, device)| device.hidden && is_path(name))
        .map(|(name, _)| name.as_str())
        .collect()
}
