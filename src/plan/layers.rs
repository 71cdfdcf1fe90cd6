//! How devices lie on each other, for the order of a plan and for people.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use crate::facts::{Device, Facts, Mount};
use crate::format::text::Text;

/// Deeper stacks than this are loops.
const DEEPEST: usize = 16;

/// An index over the devices and mounts of a machine: made once, each question is then cheap.
pub struct Layers<'f> {
    facts: &'f Facts,
    /// Disks by their own number, and those of their partitions, and by their partitions' names.
    disks: HashMap<&'f str, &'f str>,
    /// Mount points that stand on a disk or a partition of it.
    over: HashMap<&'f str, Vec<&'f Text>>,
    /// What is mounted last on each mount point.
    mounts: HashMap<&'f [u8], &'f Mount>,
    depths: RefCell<HashMap<&'f str, usize>>,
}

impl<'f> Layers<'f> {
    /// Indexes a machine.
    pub fn new(facts: &'f Facts) -> Self {
        let mut disks = HashMap::new();
        for (name, device) in &facts.devices {
            if !device.number.is_empty() {
                disks.entry(device.number.as_str()).or_insert(name.as_str());
            }
            for (part, number) in &device.partitions {
                disks.entry(part.as_str()).or_insert(name.as_str());
                disks.entry(number.as_str()).or_insert(name.as_str());
            }
        }
        let mut over: HashMap<&str, Vec<&Text>> = HashMap::new();
        let mut mounts = HashMap::new();
        let mut seen = HashSet::new();
        for mount in &facts.mounts {
            mounts.insert(mount.target.as_bytes(), mount);
            if let Some(disk) = disks.get(mount.device.as_str())
                && seen.insert((*disk, &mount.target))
            {
                over.entry(*disk).or_default().push(&mount.target);
            }
        }
        Self {
            facts,
            disks,
            over,
            mounts,
            depths: RefCell::default(),
        }
    }

    /// The device with this kernel name, or the disk that has a partition of this name, or the one
    /// with this `major:minor`.
    pub fn device(&self, name_or_number: &str) -> Option<(&'f str, &'f Device)> {
        let devices = &self.facts.devices;
        devices
            .get_key_value(name_or_number)
            .or_else(|| devices.get_key_value(*self.disks.get(name_or_number)?))
            .map(|(name, device)| (name.as_str(), device))
    }

    /// What is mounted last on a mount point.
    pub fn mount_at(&self, target: &[u8]) -> Option<&'f Mount> {
        self.mounts.get(target).copied()
    }

    /// Mount points of filesystems that stand on a device or on a partition of it.
    pub fn mounts_over(&self, name: &str) -> Vec<Text> {
        let targets = self.over.get(name).map_or(&[][..], Vec::as_slice);
        targets.iter().map(|target| (*target).clone()).collect()
    }

    /// How many layers are below a device: 0 for a disk.
    pub fn depth(&self, name: &str) -> usize {
        match self.device(name) {
            Some((name, _)) => self.depth_of(name, DEEPEST),
            None => 0,
        }
    }

    fn depth_of(&self, name: &'f str, left: usize) -> usize {
        if let Some(known) = self.depths.borrow().get(name) {
            return *known;
        }
        // Whoever comes back here while it is being found lies on himself.
        self.depths.borrow_mut().insert(name, 0);
        let slaves = self.facts.devices.get(name).map_or(&[][..], |d| &d.slaves);
        let below = slaves.iter().filter_map(|slave| self.device(slave));
        let depth = match left.checked_sub(1) {
            Some(left) => below
                .map(|(slave, _)| 1 + self.depth_of(slave, left))
                .max()
                .unwrap_or(0),
            None => 0,
        };
        self.depths.borrow_mut().insert(name, depth);
        depth
    }

    /// The disks at the bottom of a device, each once; itself where it is one.
    pub fn disks_of(&self, name: &str) -> Vec<String> {
        let mut ahead: Vec<&str> = vec![name];
        let mut entered = HashSet::new();
        let mut disks = Vec::new();
        while let Some(node) = ahead.pop() {
            if let Some((name, device)) = self.device(node)
                && entered.insert(name)
            {
                if device.slaves.is_empty() {
                    disks.push(name.to_owned());
                }
                ahead.extend(device.slaves.iter().rev().map(String::as_str));
            }
        }
        disks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(slaves: &[(&str, &[&str])]) -> Facts {
        let mut facts = Facts::default();
        for (name, below) in slaves {
            let device = Device {
                slaves: below.iter().map(|name| (*name).to_owned()).collect(),
                partitions: [(format!("{name}1"), String::new())].into(),
                ..Device::default()
            };
            facts.devices.insert((*name).to_owned(), device);
        }
        facts
    }

    #[test]
    fn stacks_are_counted_from_the_bottom() {
        let facts = facts(&[
            ("sda", &[]),
            ("sdb", &[]),
            ("md0", &["sda1", "sdb1"]),
            ("dm-0", &["md0"]),
            ("dm-1", &["dm-0", "sda"]),
        ]);
        let layers = Layers::new(&facts);
        let depths = ["dm-1", "sda", "md0", "dm-0"].map(|name| layers.depth(name));
        assert_eq!(depths, [3, 0, 1, 2]);
        assert_eq!(layers.disks_of("dm-1"), ["sda", "sdb"]);
        assert_eq!(layers.disks_of("sda"), ["sda"]);
        assert_eq!(layers.disks_of("gone"), [""; 0]);
    }

    #[test]
    fn a_circle_ends() {
        let facts = facts(&[("dm-0", &["dm-1"]), ("dm-1", &["dm-0"])]);
        let layers = Layers::new(&facts);
        assert!(layers.depth("dm-0") <= DEEPEST);
        assert_eq!(layers.disks_of("dm-0"), [""; 0]);
    }
}
