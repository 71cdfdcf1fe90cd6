//! Why a line is left alone.

use std::fmt;

/// Why mount(8) and systemd read a line differently, or one of them not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Field 5 or 6 is no number: libmount drops the line, glibc keeps it.
    NotANumber {
        /// The field.
        field: u8,
    },
    /// Field 5 or 6 starts with `#`: a remark may follow only after field 6.
    Remark {
        /// The field.
        field: u8,
    },
    /// Field 4 ends in a comma and field 5 is no number: options with a blank in between.
    SplitOptions,
    /// One or two fields: libmount drops the line, glibc takes the type for empty.
    TooFewFields {
        /// How many there are.
        fields: u8,
    },
    /// glibc reads 4095 bytes of a line and drops the rest.
    TooLong,
    /// A NUL byte: libmount drops the line, glibc reads what is before, and drops the next line.
    Nul,
    /// The line before has a NUL byte.
    AfterNul,
    /// An escape in field 1 to 4 that libmount decodes and glibc does not, or (`\\`) the other
    /// way round.
    Escape {
        /// The field.
        field: u8,
    },
    /// Field 2 is neither an absolute path nor `none` or `swap`.
    RelativeTarget,
    /// Field 2 has a component `..`: mount(8) follows it, systemd makes no unit.
    ParentInTarget,
    /// A double quote in field 1 or 4 that nothing closes.
    OpenQuote {
        /// The field.
        field: u8,
    },
    /// A carriage return that belongs to no line end.
    CarriageReturn,
    /// U+FEFF at the start of the file, which all readers take for a part of field 1.
    ByteOrderMark,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SPLIT: &str = "mount(8) ignores this line, systemd does not; fix it by hand";
        match self {
            Self::NotANumber { field } => write!(f, "field {field} is not a number: {SPLIT}"),
            Self::Remark { field } => write!(
                f,
                "field {field} is not a number but a remark, which may stand only after field 6: {SPLIT}"
            ),
            Self::SplitOptions => {
                write!(
                    f,
                    "field 5 is not a number, the options have a blank in them: {SPLIT}"
                )
            }
            Self::TooFewFields { fields: 1 } => {
                f.write_str("there is only one field: nobody can mount this line; fix it by hand")
            }
            Self::TooFewFields { .. } => write!(f, "field 3, the type, is missing: {SPLIT}"),
            Self::TooLong => f.write_str(
                "the line is longer than 4095 bytes: mount(8) reads all of it, systemd only the \
                 beginning; fix it by hand",
            ),
            Self::Nul => f.write_str(
                "there is a NUL byte in the line: mount(8) ignores it, systemd reads its \
                 beginning; fix it by hand",
            ),
            Self::AfterNul => f.write_str(
                "there is a NUL byte in the line before: systemd skips this line with it; fix it \
                 by hand",
            ),
            Self::Escape { field } => write!(
                f,
                "field {field} has a backslash that mount(8) and systemd read differently: only \
                 `\\040`, `\\011`, `\\012` and `\\134` are safe; fix it by hand"
            ),
            Self::RelativeTarget => {
                f.write_str("field 2, the mount point, is no absolute path; fix it by hand")
            }
            Self::ParentInTarget => f.write_str(
                "field 2, the mount point, has `..` in it: mount(8) follows that, systemd ignores \
                 the line; fix it by hand",
            ),
            Self::OpenQuote { field: 1 } => f.write_str(
                "field 1 has a double quote that is not closed: quotes do not keep a blank \
                 together, `\\040` does; fix it by hand",
            ),
            Self::OpenQuote { field } => write!(
                f,
                "field {field} has a double quote that is not closed: all behind it is one option; \
                 fix it by hand"
            ),
            Self::CarriageReturn => f.write_str(
                "there is a carriage return inside the line, which no filesystem understands; fix \
                 it by hand",
            ),
            Self::ByteOrderMark => f.write_str(
                "the file starts with a byte order mark, which mount(8) and systemd take for a \
                 part of field 1; save it without",
            ),
        }
    }
}
