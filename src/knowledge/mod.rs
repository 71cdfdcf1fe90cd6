//! Floor 1: what the kernel's knobs are and how they behave, as constant tables.
//!
//! One table serves `check` (ranges), `plan` (resets, rounding), `verify` (normalised read-back),
//! `explain` and the schema generator. Each row names its source.

pub mod attributes;
pub mod legacy;
pub mod options;
pub mod transport;

use std::fmt;

use serde::{Deserialize, Serialize};

/// An I/O scheduler of the multi-queue block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// No scheduler: requests go to the driver in order of arrival.
    None,
    /// Deadlines per direction, sorted batches.
    MqDeadline,
    /// Latency targets by limiting queue depth.
    Kyber,
    /// Budget fair queueing.
    Bfq,
}

impl Scheduler {
    /// All of them, `none` first.
    pub const ALL: [Self; 4] = [Self::None, Self::MqDeadline, Self::Kyber, Self::Bfq];

    /// The kernel's own name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::MqDeadline => "mq-deadline",
            Self::Kyber => "kyber",
            Self::Bfq => "bfq",
        }
    }

    /// Reads the kernel's name, or `deadline`, its alias of mq-deadline.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "deadline" => Some(Self::MqDeadline),
            _ => Self::ALL.into_iter().find(|s| s.name() == name),
        }
    }

    /// The module that provides it (`block/`), none for [`Scheduler::None`].
    pub const fn module(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::MqDeadline => Some("mq-deadline"),
            Self::Kyber => Some("kyber-iosched"),
            Self::Bfq => Some("bfq"),
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value as the kernel's file would print it: plain decimal, or a word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Value(pub String);

impl Value {
    /// The value as a number; wide enough for kyber's u64.
    pub fn number(&self) -> Option<i128> {
        self.0.parse().ok()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<i128> for Value {
    fn from(number: i128) -> Self {
        Self(number.to_string())
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Self(word.to_owned())
    }
}

/// A kernel release as far as it matters here: major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel(pub u16, pub u16);

impl Kernel {
    /// Reads `6.12`, or the front of a release such as `6.1.0-38-amd64`.
    pub fn parse(release: &str) -> Option<Self> {
        let mut parts = release.split(|c: char| !c.is_ascii_digit());
        Some(Self(
            parts.next()?.parse().ok()?,
            parts.next()?.parse().ok()?,
        ))
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The name of `known` that `word` is probably a slip for.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let budget = 1 + word.chars().count() / 4;
    known
        .into_iter()
        .map(|name| (distance(word, name), name))
        .filter(|(distance, _)| *distance <= budget)
        .min()
        .map(|(_, name)| name)
}

/// Edit distance in which a swap of neighbours counts as one slip.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // A name is short; a megabyte of junk is no slip for one.
    if a.len().abs_diff(b.len()) > 8 || a.len() > 64 {
        return usize::MAX;
    }
    let width = b.len() + 1;
    let mut table = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let same = usize::from(a[i - 1] != b[j - 1]);
                let mut best = (table[(i - 1) * width + j] + 1)
                    .min(table[i * width + j - 1] + 1)
                    .min(table[(i - 1) * width + j - 1] + same);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(table[(i - 2) * width + j - 2] + 1);
                }
                best
            };
        }
    }
    table[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name() {
        let known = ["read_ahead_kb", "nr_requests", "scheduler"];
        assert_eq!(nearest("read_ahead", known), Some("read_ahead_kb"));
        assert_eq!(nearest("read_ahed_kb", known), Some("read_ahead_kb"));
        assert_eq!(nearest("shceduler", known), Some("scheduler"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"x".repeat(1 << 20), known), None);
    }

    #[test]
    fn a_release_is_read_from_its_front() {
        assert_eq!(Kernel::parse("6.1.0-38-amd64"), Some(Kernel(6, 1)));
        assert_eq!(Kernel::parse("7.3"), Some(Kernel(7, 3)));
        assert_eq!(Kernel::parse("six"), None);
    }
}
