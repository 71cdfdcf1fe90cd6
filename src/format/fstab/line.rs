//! Lines and fields.
//!
//! libmount: `mnt_table_parse_next()` and `mnt_parse_table_line()` in libmount/src/tab_parse.c,
//! `unmangle()` in lib/mangle.c. glibc: `__getmntent_r()` in misc/mntent_r.c. Checked against
//! findmnt 2.38.1, glibc 2.36 and systemd-fstab-generator 252.

use super::{Fields, Kind, Line, Reason, Span};
use crate::format::{mount_options, octal};

/// The most bytes of a line, without its LF, that glibc reads (`BUFFER_SIZE` in misc/mntent.c).
pub(super) const LONGEST: usize = 4095;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Takes a file apart; the lines cover all of it.
pub(super) fn parse(bytes: &[u8]) -> Vec<Line> {
    let count = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let mut lines = Vec::with_capacity(count);
    let (mut start, mut number, mut after_nul) = (0, 0, false);
    while start < bytes.len() {
        let rest = &bytes[start..];
        let feed = rest.iter().position(|&byte| byte == b'\n');
        let next = start + feed.map_or(rest.len(), |at| at + 1);
        let mut end = start + feed.unwrap_or(rest.len());
        let length = end - start;
        let content = &bytes[start..end];
        // libmount takes one carriage return off, at the end of the file too.
        let carriage_return = content.last() == Some(&b'\r');
        end -= usize::from(carriage_return);
        number += 1;

        let nul = content.contains(&b'\0');
        let whole = Span { start, end };
        let kind = kind(bytes, whole, length, nul, after_nul);
        lines.push(Line {
            number,
            start,
            end,
            next,
            carriage_return,
            kind,
        });
        after_nul = nul;
        start = next;
    }
    lines
}

/// Tells what a line is.
fn kind(bytes: &[u8], whole: Span, length: usize, nul: bool, after_nul: bool) -> Kind {
    let mut content = whole;
    content.start += whole
        .of(bytes)
        .iter()
        .take_while(|&&byte| is_blank(byte))
        .count();
    if !nul {
        match bytes[content.start..content.end].first() {
            None => return Kind::Blank,
            Some(b'#') => {
                return Kind::Comment {
                    disabled: disabled(bytes, content),
                };
            }
            Some(_) => {}
        }
    }
    let (found, count) = split(bytes, content);
    let problem = if nul {
        Some(Reason::Nul)
    } else if after_nul {
        Some(Reason::AfterNul)
    } else if length > LONGEST {
        Some(Reason::TooLong)
    } else if whole.start == 0 && whole.of(bytes).starts_with(BYTE_ORDER_MARK) {
        Some(Reason::ByteOrderMark)
    } else {
        None
    };
    match problem.map_or_else(|| fields(bytes, &found[..count]), Err) {
        Ok(fields) => Kind::Entry(fields),
        Err(reason) => {
            let target = match reason {
                // `LABEL="My Disk" /mnt`: the mount point has slipped to field 3.
                Reason::OpenQuote { field: 1 } => found[..count]
                    .iter()
                    .skip(1)
                    .find(|span| span.of(bytes).starts_with(b"/")),
                _ => found[..count].get(1),
            };
            Kind::Bad {
                reason,
                target: target.copied(),
            }
        }
    }
}

/// The entry that a comment hides, if its text reads as one.
fn disabled(bytes: &[u8], mut content: Span) -> Option<Fields> {
    let marks = content
        .of(bytes)
        .iter()
        .take_while(|&&byte| byte == b'#' || is_blank(byte));
    content.start += marks.count();
    let (found, count) = split(bytes, content);
    fields(bytes, &found[..count]).ok()
}

/// The first six fields between blanks and tabs, and how many there are.
fn split(bytes: &[u8], content: Span) -> ([Span; 6], usize) {
    let mut found = [Span::default(); 6];
    let mut count = 0;
    let mut at = content.start;
    while count < found.len() {
        at += bytes[at..content.end]
            .iter()
            .take_while(|&&byte| is_blank(byte))
            .count();
        if at == content.end {
            break;
        }
        let start = at;
        at += bytes[at..content.end]
            .iter()
            .take_while(|&&byte| !is_blank(byte))
            .count();
        found[count] = Span { start, end: at };
        count += 1;
    }
    (found, count)
}

/// The fields as an entry, or why readers would not agree on it.
fn fields(bytes: &[u8], found: &[Span]) -> Result<Fields, Reason> {
    let text = |field: usize| found.get(field).map(|span| span.of(bytes));
    if text(0)
        .and_then(tag)
        .is_some_and(|(_, value)| is_half_quoted(value))
    {
        return Err(Reason::OpenQuote { field: 1 });
    }
    let &[source, target, fstype, ref rest @ ..] = found else {
        return Err(Reason::TooFewFields {
            fields: if found.len() == 1 { 1 } else { 2 },
        });
    };
    let whole = Span {
        start: source.start,
        end: found.last().unwrap_or(&fstype).end,
    };
    if whole.of(bytes).contains(&b'\r') {
        return Err(Reason::CarriageReturn);
    }
    for (field, number) in (5..).zip(rest.iter().skip(1)) {
        let number = number.of(bytes);
        if !is_number(number) {
            let split_options =
                field == 5 && text(3).is_some_and(|options| options.ends_with(b","));
            return Err(match number.first() {
                Some(b'#') => Reason::Remark { field },
                _ if split_options => Reason::SplitOptions,
                _ => Reason::NotANumber { field },
            });
        }
    }
    // Few lines have a backslash at all.
    if whole.of(bytes).contains(&b'\\') {
        let mut fields = (1..=4).zip(found);
        if let Some((field, _)) = fields.find(|(_, span)| has_ambiguous_escape(span.of(bytes))) {
            return Err(Reason::Escape { field });
        }
    }
    let mount_point = target.of(bytes);
    let is_swap = fstype.of(bytes) == b"swap";
    if !mount_point.starts_with(b"/") && !matches!(mount_point, b"none" | b"swap") && !is_swap {
        return Err(Reason::RelativeTarget);
    }
    let has_dots = mount_point.contains(&b'.');
    let mut parts = mount_point.split(|&byte| byte == b'/');
    if has_dots && parts.any(|part| part == b"..") {
        return Err(Reason::ParentInTarget);
    }
    if text(3).is_some_and(mount_options::is_open) {
        return Err(Reason::OpenQuote { field: 4 });
    }
    Ok(Fields {
        source,
        target,
        fstype,
        options: rest.first().copied(),
        freq: rest.get(1).copied(),
        passno: rest.get(2).copied(),
    })
}

/// Name and raw value of a tag.
pub(super) fn tag(source: &[u8]) -> Option<(&'static str, &[u8])> {
    ["UUID", "LABEL", "PARTUUID", "PARTLABEL", "ID"]
        .into_iter()
        .find_map(|name| {
            Some((
                name,
                source.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?,
            ))
        })
}

/// Whether a tag's value has a quote on one side only.
fn is_half_quoted(value: &[u8]) -> bool {
    value.starts_with(b"\"") && (value.len() == 1 || !value.ends_with(b"\""))
}

/// Whether libmount and glibc decode a field differently.
///
/// libmount decodes three octal digits behind any backslash, glibc four of these codes and `\\`.
pub(super) fn has_ambiguous_escape(field: &[u8]) -> bool {
    let mut ends = (0..field.len()).map(|at| &field[at..]);
    ends.any(is_ambiguous)
}

/// Whether readers differ on the backslash at the start of `tail`.
fn is_ambiguous(tail: &[u8]) -> bool {
    match tail {
        // Behind a backslash some releases of libmount do not count a quote (`ul_optstr_next()`).
        [b'\\', b'\\' | b'"', ..] => true,
        [b'\\', b'0'..=b'7', b'0'..=b'7', b'0'..=b'7', ..] => {
            !matches!(octal::escape(tail), Some(b' ' | b'\t' | b'\n' | b'\\'))
        }
        _ => false,
    }
}

/// Whether both readers take a field for a number and nothing else.
fn is_number(field: &[u8]) -> bool {
    let digits = field
        .strip_prefix(b"-")
        .or(field.strip_prefix(b"+"))
        .unwrap_or(field);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
