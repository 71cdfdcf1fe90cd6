//! /etc/fstab, lossless: fstab(5) as mount(8) (libmount) and systemd (glibc's getmntent) read it.
//!
//! [`Fstab`] keeps the file's bytes and marks where things stand in them, so what was read is what
//! is written, whatever it is. A change is a splice of the bytes ([`Fstab::edited`]). A line on
//! which the two readers do not agree, or that one of them ignores, is [`Kind::Bad`]: it is never
//! edited, as any edit would decide silently what boots.

mod edit;
mod find;
mod line;
mod reason;
mod splice;

use std::borrow::Cow;

pub use edit::{Edit, EditError, NewEntry};
pub use find::{ByTarget, NotFound, WhyNot};
pub use reason::Reason;

use super::octal;

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

#[cfg(test)]
mod tests;
