//! /etc/fstab, lossless: fstab(5) as mount(8) (libmount) and systemd (glibc's getmntent) read it.
//!
//! [`Fstab`] keeps the file's bytes and marks where things stand in them, so what was read is what
//! is written, whatever it is. A change is a splice of the bytes ([`Fstab::edited`]). A line on
//! which the two readers do not agree, or that one of them ignores, is [`Kind::Bad`]: it is never
//! edited, as any edit would decide silently what boots.

mod edit;
mod line;
mod reason;

use std::borrow::Cow;
use std::fmt;

pub use edit::{Edit, EditError, NewEntry};
pub use reason::Reason;

use super::{octal, text::Text};

/// An fstab: its bytes, and what stands on each line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fstab {
    bytes: Vec<u8>,
    lines: Vec<Line>,
}

/// A range of the file's bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u32,
    /// First byte.
    pub start: usize,
    /// Byte after the content: where the line end stands, LF or CR LF.
    pub end: usize,
    /// First byte of the next line, or the file's length.
    pub next: usize,
    /// True where a carriage return belongs to the line end.
    pub carriage_return: bool,
    /// What it is.
    pub kind: Kind,
}

/// What stands on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Blanks and tabs, or nothing.
    Blank,
    /// `#` is the first byte that is no blank and no tab.
    Comment {
        /// The fields of an entry that was commented out.
        disabled: Option<Fields>,
    },
    /// An entry that all readers read alike.
    Entry(Fields),
    /// A line that readers ignore, or read differently.
    Bad {
        /// Why.
        reason: Reason,
        /// The mount point that it is probably about.
        target: Option<Span>,
    },
}

/// Where the fields of an entry stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// Field 1.
    pub source: Span,
    /// Field 2.
    pub target: Span,
    /// Field 3.
    pub fstype: Span,
    /// Field 4.
    pub options: Option<Span>,
    /// Field 5.
    pub freq: Option<Span>,
    /// Field 6.
    pub passno: Option<Span>,
}

/// An entry's fields, readable.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    bytes: &'a [u8],
    fields: Fields,
}

impl Fstab {
    /// Reads a file; any bytes will do.
    pub fn parse(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        let lines = line::parse(&bytes);
        Self { bytes, lines }
    }

    /// The file, as it was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its lines; end to end they are the file.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The line with this number.
    pub fn line(&self, number: u32) -> Option<&Line> {
        self.lines
            .get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// The entry on a line.
    pub fn entry(&self, line: &Line) -> Option<Entry<'_>> {
        match line.kind {
            Kind::Entry(fields) => Some(Entry {
                bytes: &self.bytes,
                fields,
            }),
            _ => None,
        }
    }

    /// The entry that is commented out on a line.
    pub fn disabled(&self, line: &Line) -> Option<Entry<'_>> {
        match line.kind {
            Kind::Comment {
                disabled: Some(fields),
            } => Some(Entry {
                bytes: &self.bytes,
                fields,
            }),
            _ => None,
        }
    }

    /// All entries, each with its line.
    pub fn entries(&self) -> impl Iterator<Item = (&Line, Entry<'_>)> {
        self.lines
            .iter()
            .filter_map(|line| Some((line, self.entry(line)?)))
    }

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

impl Span {
    /// These bytes of the file.
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

impl Line {
    /// What systemd makes of the line's CR LF, where that does harm.
    ///
    /// libmount takes one carriage return off, glibc does not: without white space or numbers in
    /// between it ends up in the last option, or in the type of an entry that has no options.
    pub fn crlf_warning(&self) -> Option<String> {
        let Kind::Entry(fields) = self.kind else {
            return None;
        };
        let part = match fields.options {
            Some(options) if options.end == self.end => "the last option",
            None if fields.fstype.end == self.end => "the type",
            None => "an option",
            Some(_) => return None,
        };
        self.carriage_return.then(|| {
            format!(
                "line {} ends in CR LF: systemd takes the carriage return for {}{part}; \
                 write the file with LF line ends",
                self.number,
                if part == "an option" {
                    ""
                } else {
                    "a part of "
                },
            )
        })
    }
}

impl<'a> Entry<'a> {
    /// Where the fields stand in the file.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Field 1, decoded: a device, a tag such as `UUID=...`, or a name of the filesystem's own.
    pub fn source(&self) -> Cow<'a, [u8]> {
        octal::decode(self.fields.source.of(self.bytes))
    }

    /// Name and value where the source is a tag (`LABEL`, `UUID`, `PARTLABEL`, `PARTUUID`, `ID`).
    ///
    /// One pair of double quotes around the value is no part of it (`UUID="..."`), as readers
    /// take it off before they look for the device.
    pub fn tag(&self) -> Option<(&'a str, Cow<'a, [u8]>)> {
        let (name, value) = line::tag(self.fields.source.of(self.bytes))?;
        let bare = value
            .strip_prefix(b"\"")
            .and_then(|rest| rest.strip_suffix(b"\""));
        Some((name, octal::decode(bare.unwrap_or(value))))
    }

    /// Field 2 as it is compared: decoded, without needless slashes and dots.
    pub fn target(&self) -> Cow<'a, [u8]> {
        match octal::decode(self.fields.target.of(self.bytes)) {
            Cow::Borrowed(bytes) => canonical(bytes),
            Cow::Owned(bytes) => Cow::Owned(canonical(&bytes).into_owned()),
        }
    }

    /// Field 3, decoded; may be a list (`udf,iso9660`).
    pub fn fstype(&self) -> Cow<'a, [u8]> {
        octal::decode(self.fields.fstype.of(self.bytes))
    }

    /// Field 4 as it is written, for [`super::mount_options`]; empty where there is none, which
    /// means the same as `defaults`.
    pub fn options(&self) -> &'a [u8] {
        self.fields.options.map_or(b"", |span| span.of(self.bytes))
    }

    /// Field 5 as it is written.
    pub fn freq(&self) -> Option<&'a [u8]> {
        self.fields.freq.map(|span| span.of(self.bytes))
    }

    /// Field 6 as it is written.
    pub fn passno(&self) -> Option<&'a [u8]> {
        self.fields.passno.map(|span| span.of(self.bytes))
    }

    /// Whether the entry has a mount point: swap, `ignore` and the targets `none` and `swap` have
    /// none, take no mount options, and are never found by target.
    pub fn is_mount(&self) -> bool {
        let target = self.fields.target.of(self.bytes);
        target.starts_with(b"/")
            && !matches!(self.fields.fstype.of(self.bytes), b"swap" | b"ignore")
    }

    fn is_mount_of(&self, wanted: &[u8]) -> bool {
        self.is_mount() && *self.target() == *wanted
    }
}

/// A mount point without doubled and trailing slashes and without `.` components, as systemd
/// compares them; what is no absolute path stays as it is.
pub fn canonical(target: &[u8]) -> Cow<'_, [u8]> {
    if !target.starts_with(b"/") || target == b"/" {
        return Cow::Borrowed(target);
    }
    if target[1..]
        .split(|&byte| byte == b'/')
        .all(|part| !matches!(part, b"" | b"."))
    {
        return Cow::Borrowed(target);
    }
    let mut out = Vec::with_capacity(target.len());
    for part in target
        .split(|&byte| byte == b'/')
        .filter(|part| !matches!(*part, b"" | b"."))
    {
        out.push(b'/');
        out.extend_from_slice(part);
    }
    if out.is_empty() {
        out.push(b'/');
    }
    Cow::Owned(out)
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
