//! Changes of an fstab, and why one is refused.

use std::fmt;

use super::Reason;
use super::line::LONGEST;
use crate::format::mount_options::Refusal;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Gives a line other options; nothing else of it changes.
    Options {
        /// The line.
        line: u32,
        /// The whole of field 4, as fstab writes it; `defaults` is written where it is empty.
        list: Vec<u8>,
    },
    /// Adds a line at the end.
    Append {
        /// What stands on it.
        fields: NewEntry,
    },
    /// Takes a line away.
    Remove {
        /// The line.
        line: u32,
    },
}

/// The fields of a line to come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewEntry {
    /// Field 1, decoded.
    pub source: Vec<u8>,
    /// Field 2, decoded: an absolute path, or `none`.
    pub target: Vec<u8>,
    /// Field 3, decoded.
    pub fstype: Vec<u8>,
    /// Field 4, as fstab writes it; `defaults` is written where it is empty.
    pub options: Vec<u8>,
    /// Field 5.
    pub freq: u32,
    /// Field 6.
    pub passno: u32,
}

/// Why a change was refused; the file is then as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// There is no such line.
    NoLine {
        /// Its number.
        line: u32,
    },
    /// The line is no entry, but blank or a comment.
    NoEntry {
        /// The line.
        line: u32,
    },
    /// Readers read the line differently.
    Bad {
        /// The line.
        line: u32,
        /// Why.
        reason: Reason,
    },
    /// Two changes are about one line.
    Twice {
        /// The line.
        line: u32,
    },
    /// A field cannot be written.
    Refused {
        /// The line, none where it is one to come.
        line: Option<u32>,
        /// The field.
        field: u8,
        /// Why.
        why: Refusal,
    },
    /// A line about the mount point of a line to come is there already.
    Exists {
        /// That line.
        line: u32,
    },
    /// The line would be longer than glibc reads.
    TooLong {
        /// The line, none where it is one to come.
        line: Option<u32>,
    },
    /// Reading the result back did not give what was wanted.
    NotAsWanted {
        /// The first line of the result where it shows.
        line: u32,
    },
}

impl std::error::Error for EditError {}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |line: &Option<u32>| match line {
            Some(line) => format!("line {line}"),
            None => "the new line".to_owned(),
        };
        match self {
            Self::NoLine { line } => write!(f, "there is no line {line}"),
            Self::NoEntry { line } => write!(f, "line {line} is no entry"),
            Self::Bad { line, reason } => write!(f, "line {line}: {reason}"),
            Self::Twice { line } => write!(f, "line {line} is to be changed twice"),
            Self::Refused { line, field, why } => {
                write!(f, "{}: field {field} cannot be written: {why}", place(line))
            }
            Self::Exists { line } => {
                write!(f, "line {line} is about the new line's target already")
            }
            Self::TooLong { line } => write!(
                f,
                "{} would be longer than {LONGEST} bytes, of which systemd reads no more",
                place(line)
            ),
            Self::NotAsWanted { line } => write!(
                f,
                "line {line} of the new file would not be read as intended; change the file by hand"
            ),
        }
    }
}
