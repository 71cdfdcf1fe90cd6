//! Queue attributes and scheduler tunables of `/sys/block/*/queue`.

use std::cmp::Ordering;

use super::{Kernel, Scheduler, Value};

/// Where an attribute's file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// `queue/NAME`.
    Queue,
    /// `queue/iosched/NAME`, there while this scheduler is active.
    Iosched(Scheduler),
}

/// What a value is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number within bounds (those that make sense, not those the parser lets through).
    Number {
        /// Smallest.
        min: i128,
        /// Largest.
        max: i128,
    },
    /// 0 or 1; `true` and `false` in a state file.
    Boolean,
    /// One of a few numbers.
    OneOf(&'static [i128]),
    /// The name of a scheduler.
    Scheduler,
}

/// How the kernel changes a number that it accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Read back as written.
    Exact,
    /// Down to a multiple of the page size, in KiB.
    PageDown,
    /// Down to the logical block size, in KiB; above the hardware's limit, that limit.
    SectorsDown,
    /// Up to a whole jiffy: what that is, only `CONFIG_HZ` knows.
    JiffyUp,
}

/// Whether ssdtune writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settable {
    /// Yes.
    Yes,
    /// Only with `allow = ["data-loss"]` in the rule where the value is the given one.
    Risky {
        /// The value that endangers data.
        value: i128,
        /// What may happen.
        why: &'static str,
    },
    /// No, and why.
    No(&'static str),
}

/// One file of a queue.
#[derive(Debug)]
pub struct Attribute {
    /// The kernel's name.
    pub name: &'static str,
    /// Where the file stands.
    pub place: Place,
    /// Write order within a device: lower first.
    pub step: u8,
    /// What a value is made of.
    pub kind: Kind,
    /// How the kernel changes it.
    pub rounding: Rounding,
    /// Unit of the number, empty where it has none.
    pub unit: &'static str,
    /// The kernel's default, in words.
    pub default: &'static str,
    /// Names of attributes that a change of this one may change too.
    pub resets: &'static [&'static str],
    /// Whether ssdtune writes it.
    pub settable: Settable,
    /// First kernel that has it, where later than 4.19.
    pub since: Option<Kernel>,
    /// First kernel without it.
    pub gone: Option<Kernel>,
    /// What it does.
    pub meaning: &'static str,
    /// What may go wrong, empty where nothing.
    pub risk: &'static str,
    /// Where that is written: kernel file, and how it was checked.
    pub source: &'static str,
}

/// What a device allows, as far as it can be seen.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Page size in KiB.
    pub page_kb: u64,
    /// `CONFIG_HZ`, where it could be read.
    pub hz: Option<u32>,
    /// `queue/max_hw_sectors_kb`.
    pub max_hw_sectors_kb: Option<u64>,
    /// `queue/logical_block_size` in bytes.
    pub logical_block_size: Option<u64>,
    /// The scheduler that will be active when the value is written.
    pub scheduler: Option<Scheduler>,
}

/// What reading back a written value should give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// Exactly this.
    Exactly(Value),
    /// A number from the first to the second (jiffies of an unknown length).
    Between(i128, i128),
    /// The kernel would refuse it or change it beyond recognition; why, and what to write.
    Refused(String),
}

impl PartialEq for Attribute {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place && self.name == other.name
    }
}

impl Eq for Attribute {}

impl Ord for Attribute {
    /// The order in which attributes of one device are written.
    fn cmp(&self, other: &Self) -> Ordering {
        (self.step, self.place, self.name).cmp(&(other.step, other.place, other.name))
    }
}

impl PartialOrd for Attribute {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
