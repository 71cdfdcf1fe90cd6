//! How devices lie on each other, for the order of a plan and for people.

use std::collections::BTreeSet;

use crate::facts::Facts;
use crate::facts::stack;
use crate::format::text::Text;

/// Deeper stacks than this are loops.
const DEEPEST: usize = 16;

/// How many layers are below a device: 0 for a disk.
pub fn depth(facts: &Facts, name: &str) -> usize {
    fn go(facts: &Facts, name: &str, left: usize) -> usize {
        let Some(device) = facts.devices.get(name).filter(|_| left > 0) else {
            return 0;
        };
        let below = device
            .slaves
            .iter()
            .filter_map(|slave| facts.disk_of(slave));
        below
            .map(|slave| 1 + go(facts, slave, left - 1))
            .max()
            .unwrap_or(0)
    }
    go(facts, name, DEEPEST)
}

/// The disks at the bottom of a device; itself where it is one.
pub fn disks_of(facts: &Facts, name: &str) -> Vec<String> {
    stack::bottom(facts, [name])
}

/// Mount points of filesystems that stand on a device or on a partition of it.
pub fn mounts_over(facts: &Facts, name: &str) -> Vec<Text> {
    let Some(device) = facts.devices.get(name) else {
        return Vec::new();
    };
    let numbers: BTreeSet<&str> = device
        .partitions
        .values()
        .map(String::as_str)
        .chain([device.number.as_str()])
        .collect();
    let mut seen = BTreeSet::new();
    facts
        .mounts
        .iter()
        .filter(|mount| numbers.contains(mount.device.as_str()) && seen.insert(&mount.target))
        .map(|mount| mount.target.clone())
        .collect()
}
