//! The line of a mount point, or why there is none to edit.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::fmt;

use super::{Entry, Fstab, Kind, Line, Reason, canonical};
use crate::format::{octal, text::Text};

impl Fstab {
    /// The lines about a mount point, compared in canonical form: entries, and bad lines, which
    /// must neither be edited nor get a second line beside them.
    ///
    /// swap and other lines without a mount point never match.
    pub fn entries_for(&self, target: &[u8]) -> Vec<&Line> {
        let wanted = canonical(target);
        self.lines
            .iter()
            .filter(|line| self.is_about(line, &wanted))
            .collect()
    }

    /// The same of all mount points at once: who asks for many of them looks them up here.
    pub fn by_target(&self) -> ByTarget<'_> {
        let mut found = ByTarget::default();
        for line in &self.lines {
            match line.kind {
                Kind::Entry(_) => {
                    if let Some(entry) = self.entry(line).filter(Entry::is_mount) {
                        found.add(entry.target(), line);
                    }
                }
                Kind::Bad {
                    target: Some(span), ..
                } => {
                    // Readers may differ in what they decode: as written counts too.
                    let raw = span.of(&self.bytes);
                    let decoded = canonical(&octal::decode(raw)).into_owned();
                    let written = canonical(raw);
                    if *written != *decoded {
                        found.add(written, line);
                    }
                    found.add(Cow::Owned(decoded), line);
                }
                _ => {}
            }
        }
        found
    }

    /// The one entry for a mount point that may be edited.
    ///
    /// # Errors
    ///
    /// Where there is none, more than one, or one that readers read differently.
    pub fn find(&self, target: &[u8]) -> Result<(&Line, Entry<'_>), NotFound> {
        let fail = |why| NotFound {
            target: target.into(),
            why,
        };
        let found = self.entries_for(target);
        match found[..] {
            [line] => match (self.entry(line), line.kind) {
                (Some(entry), _) => Ok((line, entry)),
                (None, Kind::Bad { reason, .. }) => Err(fail(WhyNot::Bad {
                    line: line.number,
                    reason,
                })),
                (None, _) => Err(fail(WhyNot::Missing)),
            },
            [] => {
                let wanted = canonical(target);
                let disabled = self.lines.iter().find(|line| {
                    self.disabled(line)
                        .is_some_and(|entry| entry.is_mount_of(&wanted))
                });
                Err(fail(disabled.map_or(WhyNot::Missing, |line| {
                    WhyNot::Disabled { line: line.number }
                })))
            }
            _ => Err(fail(WhyNot::Twice {
                lines: found.iter().map(|line| line.number).collect(),
            })),
        }
    }

    /// Whether a line is an entry for a canonical mount point, or a bad line about it.
    fn is_about(&self, line: &Line, wanted: &[u8]) -> bool {
        match line.kind {
            Kind::Entry(fields) => Entry {
                bytes: &self.bytes,
                fields,
            }
            .is_mount_of(wanted),
            Kind::Bad {
                target: Some(span), ..
            } => {
                let raw = span.of(&self.bytes);
                // Readers may differ in what they decode: as written counts too.
                *canonical(&octal::decode(raw)) == *wanted || *canonical(raw) == *wanted
            }
            _ => false,
        }
    }
}

/// The lines of an fstab by mount point.
#[derive(Debug, Default)]
pub struct ByTarget<'f> {
    /// The first line about each.
    first: HashMap<Cow<'f, [u8]>, [&'f Line; 1]>,
    /// All lines, where there are several.
    several: HashMap<Cow<'f, [u8]>, Vec<&'f Line>>,
}

impl<'f> ByTarget<'f> {
    fn add(&mut self, target: Cow<'f, [u8]>, line: &'f Line) {
        match self.first.entry(target) {
            Slot::Vacant(free) => {
                free.insert([line]);
            }
            Slot::Occupied(first) => self
                .several
                .entry(first.key().clone())
                .or_insert_with(|| first.get().to_vec())
                .push(line),
        }
    }

    /// The lines about a mount point in canonical form: entries, and bad lines.
    pub fn about(&self, target: &[u8]) -> &[&'f Line] {
        if let Some(several) = self.several.get(target) {
            return several;
        }
        self.first.get(target).map_or(&[], |first| &first[..])
    }
}

/// Why there is no line to edit for a mount point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The mount point.
    pub target: Text,
    /// Why.
    pub why: WhyNot,
}

/// The kinds of [`NotFound`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyNot {
    /// No line has it.
    Missing,
    /// The only line that has it is commented out.
    Disabled {
        /// That line.
        line: u32,
    },
    /// Several lines have it: mount(8) and systemd use the first.
    Twice {
        /// Those lines.
        lines: Vec<u32>,
    },
    /// Readers read its line differently, or not at all.
    Bad {
        /// That line.
        line: u32,
        /// What is wrong with it.
        reason: Reason,
    },
}

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = &self.target;
        match &self.why {
            WhyNot::Missing => write!(f, "no active entry for `{target}`"),
            WhyNot::Disabled { line } => {
                write!(
                    f,
                    "no active entry for `{target}`: line {line} is commented out"
                )
            }
            WhyNot::Twice { lines } => {
                write!(f, "target `{target}` is defined on lines ")?;
                for (at, line) in lines.iter().enumerate() {
                    let joint = match at {
                        0 => "",
                        _ if at + 1 == lines.len() => " and ",
                        _ => ", ",
                    };
                    write!(f, "{joint}{line}")?;
                }
                write!(f, ": only the first is used; take the others out by hand")
            }
            WhyNot::Bad { line, reason } => write!(f, "line {line} (`{target}`): {reason}"),
        }
    }
}
