//! Making changes: splices, checked by reading the result back.

use std::collections::BTreeMap;

use super::line::{LONGEST, has_ambiguous_escape};
use super::{ByTarget, Edit, EditError, Fields, Fstab, Kind, Line, NewEntry, Span, canonical};
use crate::format::{mount_options, mount_options::Refusal, octal};

impl Fstab {
    /// The file's bytes after some changes.
    ///
    /// Of the lines named only field 4 changes; all other lines stay byte for byte, except that
    /// appending ends a last line that had no line end. The result is read back and compared.
    ///
    /// # Errors
    ///
    /// Where a change cannot be made, or would be read as something else.
    pub fn edited(&self, edits: &[Edit]) -> Result<Vec<u8>, EditError> {
        let mut changes = BTreeMap::new();
        let mut appended = Vec::new();
        for edit in edits {
            let (line, change) = match edit {
                Edit::Options { line, list } => (*line, Some(checked(list, Some(*line))?)),
                Edit::Remove { line } => (*line, None),
                Edit::Append { fields } => {
                    appended.push(fields);
                    continue;
                }
            };
            let place = self.line(line).ok_or(EditError::NoLine { line })?;
            match place.kind {
                Kind::Entry(_) => {}
                Kind::Bad { reason, .. } => return Err(EditError::Bad { line, reason }),
                Kind::Blank | Kind::Comment { .. } => return Err(EditError::NoEntry { line }),
            }
            if changes.insert(line, change).is_some() {
                return Err(EditError::Twice { line });
            }
        }
        let mut out = Vec::with_capacity(self.bytes.len() + 64 * edits.len());
        for line in &self.lines {
            let whole = Span {
                start: line.start,
                end: line.next,
            };
            match (line.kind, changes.get(&line.number)) {
                (_, Some(None)) => {}
                (Kind::Entry(fields), Some(Some(list))) => {
                    let from = out.len();
                    splice(&self.bytes, whole, &fields, list, &mut out);
                    let length = out[from..]
                        .strip_suffix(b"\n")
                        .unwrap_or(&out[from..])
                        .len();
                    if length > LONGEST {
                        return Err(EditError::TooLong {
                            line: Some(line.number),
                        });
                    }
                }
                _ => out.extend_from_slice(whole.of(&self.bytes)),
            }
        }
        let known = match appended[..] {
            [] => ByTarget::default(),
            _ => self.by_target(),
        };
        let is_crlf = self.is_crlf();
        for entry in &appended {
            let mut rivals = known.about(&canonical(&entry.target)).iter();
            if let Some(line) = rivals.find(|line| !matches!(changes.get(&line.number), Some(None)))
            {
                return Err(EditError::Exists { line: line.number });
            }
            append(entry, is_crlf, &mut out)?;
        }
        self.check(&out, &changes, &appended)?;
        Ok(out)
    }

    /// Whether most lines end in CR LF.
    fn is_crlf(&self) -> bool {
        let crlf = self
            .lines
            .iter()
            .filter(|line| line.carriage_return)
            .count();
        crlf * 2 > self.lines.len()
    }

    /// Reads the result and compares it with this file and what was asked for.
    fn check(
        &self,
        out: &[u8],
        changes: &BTreeMap<u32, Option<&[u8]>>,
        appended: &[&NewEntry],
    ) -> Result<(), EditError> {
        let new = Self::parse(out);
        let mut lines = new.lines.iter();
        let mut number = 0;
        let mut next = || {
            number += 1;
            lines.next().ok_or(EditError::NotAsWanted { line: number })
        };
        for old in &self.lines {
            let change = match changes.get(&old.number) {
                Some(None) => continue,
                Some(Some(list)) => Some(*list),
                None => None,
            };
            let line = next()?;
            if !self.is_same(old, &new, line, change) {
                return Err(EditError::NotAsWanted { line: line.number });
            }
        }
        for wanted in appended {
            let line = next()?;
            let is_wanted = new.entry(line).is_some_and(|entry| {
                let fields = entry.fields();
                *octal::decode(fields.source.of(out)) == *wanted.source
                    && *octal::decode(fields.target.of(out)) == *wanted.target
                    && *octal::decode(fields.fstype.of(out)) == *wanted.fstype
                    && Ok(entry.options()) == checked(&wanted.options, None)
            });
            if !is_wanted || line.end == line.next {
                return Err(EditError::NotAsWanted { line: line.number });
            }
        }
        lines.next().map_or(Ok(()), |line| {
            Err(EditError::NotAsWanted { line: line.number })
        })
    }

    /// Whether a line is the old one, but for a line end and, where given, its options.
    fn is_same(&self, old: &Line, new: &Self, line: &Line, options: Option<&[u8]>) -> bool {
        let same = |old: Span, is: Span| old.of(&self.bytes) == is.of(&new.bytes);
        let front = |line: &Line, fields: &Fields| Span {
            start: line.start,
            end: fields.fstype.end,
        };
        let behind = |line: &Line, fields: &Fields| Span {
            start: fields.options.unwrap_or(fields.fstype).end,
            end: line.end,
        };
        let whole = |line: &Line| Span {
            start: line.start,
            end: line.end,
        };
        match (options, old.kind, line.kind) {
            (Some(list), Kind::Entry(was), Kind::Entry(is)) => {
                same(front(old, &was), front(line, &is))
                    && is.options.map(|span| span.of(&new.bytes)) == Some(list)
                    && same(behind(old, &was), behind(line, &is))
            }
            (Some(_), ..) => false,
            // What stands on other lines must also mean what it meant: a NUL byte eats its
            // neighbour, a byte order mark is one only at the start.
            (None, was, is) => {
                std::mem::discriminant(&was) == std::mem::discriminant(&is)
                    && same(whole(old), whole(line))
            }
        }
    }
}

/// Adds one line, after ending the last one where it has no end.
fn append(entry: &NewEntry, is_crlf: bool, out: &mut Vec<u8>) -> Result<(), EditError> {
    let refuse = |field, why| {
        Err(EditError::Refused {
            line: None,
            field,
            why,
        })
    };
    for (field, text) in (1..).zip([&entry.source, &entry.target, &entry.fstype]) {
        if text.is_empty() {
            return refuse(field, Refusal::Empty);
        }
        if text.iter().any(|byte| matches!(byte, b'\0' | b'\r')) {
            return refuse(field, Refusal::Control);
        }
    }
    if entry.source.starts_with(b"#") {
        return refuse(1, Refusal::Comment);
    }
    if !entry.target.starts_with(b"/") && entry.target != b"none" {
        return refuse(2, Refusal::Relative);
    }
    let list = checked(&entry.options, None)?;
    let line_end: &[u8] = if is_crlf { b"\r\n" } else { b"\n" };
    if !out.is_empty() && !out.ends_with(b"\n") {
        // A carriage return at the end of the file is half of a line end already.
        out.extend_from_slice(if out.ends_with(b"\r") {
            b"\n"
        } else {
            line_end
        });
    }
    let from = out.len();
    for field in [&entry.source, &entry.target, &entry.fstype] {
        out.extend_from_slice(&octal::encode(field));
        out.push(b' ');
    }
    out.extend_from_slice(list);
    out.extend_from_slice(format!(" {} {}", entry.freq, entry.passno).as_bytes());
    out.extend_from_slice(line_end);
    if out.len() - from - 1 > LONGEST {
        return Err(EditError::TooLong { line: None });
    }
    Ok(())
}

/// Writes a line with other options; where it has none, after field 3 and one blank.
fn splice(bytes: &[u8], line: Span, fields: &Fields, list: &[u8], out: &mut Vec<u8>) {
    let gap = fields.options.unwrap_or(Span {
        start: fields.fstype.end,
        end: fields.fstype.end,
    });
    out.extend_from_slice(&bytes[line.start..gap.start]);
    if fields.options.is_none() {
        out.push(b' ');
    }
    out.extend_from_slice(list);
    out.extend_from_slice(&bytes[gap.end..line.end]);
}

/// A list that can stand as field 4: never empty, one field, and read alike by all.
fn checked(list: &[u8], line: Option<u32>) -> Result<&[u8], EditError> {
    let why = if list.is_empty() {
        return Ok(b"defaults");
    } else if list
        .iter()
        .any(|byte| matches!(byte, b'\0' | b'\n' | b'\r' | b' ' | b'\t'))
    {
        Refusal::Control
    } else if has_ambiguous_escape(list) {
        Refusal::Escape
    } else if mount_options::is_open(list) {
        Refusal::OpenQuote
    } else {
        return Ok(list);
    };
    Err(EditError::Refused {
        line,
        field: 4,
        why,
    })
}
