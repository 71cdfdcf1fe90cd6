//! Queue attributes and scheduler tunables of `/sys/block/*/queue`.
//!
//! Rows stand in `queue`, `tunables` and `read_only`; how a value is read from a state file, and what
//! the kernel makes of it, in `values`.

use std::cmp::Ordering;

use super::{Kernel, Scheduler, Value};

#[cfg(test)]
mod on_linux;
mod queue;
mod read_only;
mod tunables;
mod values;

/// The order of writing within one device: what resets others comes before them.
mod step {
    pub const NEVER: u8 = 0;
    /// Moves defaults of writeback throttling and the read-ahead floor.
    pub const ROTATIONAL: u8 = 1;
    /// Sets back all of [`super::queue::BY_SWITCH`].
    pub const SCHEDULER: u8 = 2;
    /// Sets back async_depth.
    pub const NR_REQUESTS: u8 = 3;
    pub const TUNABLES: u8 = 4;
    /// bfq's slice_idle, which strict_guarantees raises.
    pub const IDLING: u8 = 5;
    /// async_depth of mq-deadline before 7.0, of the queue since.
    pub const SCHEDULER_DEPTH: u8 = 6;
    pub const ASYNC_DEPTH: u8 = 7;
    /// After the scheduler, because bfq switches it.
    pub const WBT: u8 = 8;
    /// Each write may raise read-ahead.
    pub const LIMITS: u8 = 9;
    /// Always last.
    pub const READ_AHEAD: u8 = 10;
}

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
#[derive(Debug, Clone, Copy)]
pub struct Attribute {
    /// The kernel's name.
    pub name: &'static str,
    /// Where the file stands.
    pub place: Place,
    /// Write order within a device: lower first; 0 is never written.
    pub step: u8,
    /// What a value is made of.
    pub kind: Kind,
    /// How the kernel changes it.
    pub rounding: Rounding,
    /// Unit of the number, empty where it has none.
    pub unit: &'static str,
    /// Numbers outside the range that people write, and what to write instead.
    pub refused: &'static [(i128, &'static str)],
    /// The kernel's default: a plain number where it is the same everywhere, else words.
    pub default: &'static str,
    /// Names of attributes that a write of this one may change too.
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
    /// `queue/nr_requests` as it will be when the value is written.
    pub nr_requests: Option<u64>,
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

/// Every attribute, in the order of writing ([`Ord`]); those that are never written come first.
pub const ATTRIBUTES: &[Attribute] = &TABLE;

static TABLE: [Attribute; COUNT] = joined();

const PARTS: [&[Attribute]; 4] = [
    read_only::READ_ONLY,
    queue::BEFORE,
    tunables::TUNABLES,
    queue::AFTER,
];

const COUNT: usize = PARTS[0].len() + PARTS[1].len() + PARTS[2].len() + PARTS[3].len();

const fn joined() -> [Attribute; COUNT] {
    let mut all = [Attribute::BLANK; COUNT];
    let (mut part, mut filled) = (0, 0);
    while part < PARTS.len() {
        let mut row = 0;
        while row < PARTS[part].len() {
            all[filled] = PARTS[part][row];
            filled += 1;
            row += 1;
        }
        part += 1;
    }
    all
}

/// The attribute with this name at this place.
pub fn find(name: &str, place: Place) -> Option<&'static Attribute> {
    ATTRIBUTES
        .iter()
        .find(|attribute| attribute.place == place && attribute.name == name)
}

/// The attribute `queue/NAME`.
pub fn queue(name: &str) -> Option<&'static Attribute> {
    find(name, Place::Queue)
}

/// The attribute `queue/iosched/NAME` of a scheduler.
pub fn tunable(scheduler: Scheduler, name: &str) -> Option<&'static Attribute> {
    find(name, Place::Iosched(scheduler))
}

/// The attribute with this key of a state file: the inverse of [`Attribute::key`].
pub fn by_key(key: &str) -> Option<&'static Attribute> {
    match key.split_once('.') {
        Some((scheduler, name)) => tunable(Scheduler::from_name(scheduler)?, name),
        None => queue(key),
    }
}

/// The other name of an attribute's variable, where the kernel gives it two files (bfq's slice_idle
/// and slice_idle_us): each sets the other.
pub fn twin(attribute: &Attribute) -> Option<&'static Attribute> {
    let mut others = attribute
        .resets
        .iter()
        .filter_map(|name| find(name, attribute.place));
    others.find(|other| other.resets.contains(&attribute.name))
}

impl Attribute {
    /// What rows are made from.
    const BLANK: Self = Self {
        name: "",
        place: Place::Queue,
        step: step::NEVER,
        kind: Kind::Boolean,
        rounding: Rounding::Exact,
        unit: "",
        refused: &[],
        default: "",
        resets: &[],
        settable: Settable::Yes,
        since: None,
        gone: None,
        meaning: "",
        risk: "",
        source: "",
    };

    /// The path below the device's folder: `queue/nr_requests`, `queue/iosched/fifo_batch`.
    pub fn path(&self) -> String {
        match self.place {
            Place::Queue => format!("queue/{}", self.name),
            Place::Iosched(_) => format!("queue/iosched/{}", self.name),
        }
    }

    /// The key as a state file has it: `nr_requests`, `mq-deadline.fifo_batch`.
    pub fn key(&self) -> String {
        match self.place {
            Place::Queue => self.name.to_owned(),
            Place::Iosched(scheduler) => format!("{scheduler}.{}", self.name),
        }
    }

    /// The default where it is one number everywhere, else nothing.
    pub fn default_number(&self) -> &'static str {
        if self.default.bytes().all(|byte| byte.is_ascii_digit()) {
            self.default
        } else {
            ""
        }
    }

    /// True where a switch of the scheduler sets it back.
    pub fn reset_by_scheduler_switch(&self) -> bool {
        queue::BY_SWITCH.contains(&self.name)
    }

    /// True where a running kernel of this release can have it.
    pub fn exists_in(&self, kernel: Kernel) -> bool {
        self.since.is_none_or(|since| kernel >= since) && self.gone.is_none_or(|gone| kernel < gone)
    }
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

#[cfg(test)]
mod tests;
