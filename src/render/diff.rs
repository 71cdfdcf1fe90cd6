//! Unified diffs of files, safe for a terminal and without secrets.

use std::borrow::Cow;

use anstyle::Style;
use similar::TextDiff;

use super::style::{ADD, QUIET, REMOVE};
use super::words::discreet;

/// The hunks that lead from one text to another, each line behind `indent`, with `context` lines
/// around them.
pub fn hunks(page: &mut String, indent: &str, before: &[u8], after: &[u8], context: usize) {
    let diff = TextDiff::from_lines(before, after);
    let mut unified = diff.unified_diff();
    unified.context_radius(context);
    let [quiet, plain, gone, new] = [QUIET, Style::new(), REMOVE, ADD].map(Painted::new);
    let mut line = |style: &Painted, sign: &str, text: &str| {
        for part in [indent, &style.on, sign, text, &style.off, "\n"] {
            page.push_str(part);
        }
    };
    for hunk in unified.iter_hunks() {
        line(&quiet, "", &hunk.header().to_string());
        for change in hunk.iter_changes() {
            let (text, ended) = match change.value().strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (change.value(), false),
            };
            let (style, sign) = match change.tag() {
                similar::ChangeTag::Equal => (&plain, " "),
                similar::ChangeTag::Delete => (&gone, "-"),
                similar::ChangeTag::Insert => (&new, "+"),
            };
            line(style, sign, &discreet(&shown(text)));
            if !ended {
                line(&quiet, "", "\\ No newline at end of file");
            }
        }
    }
}

/// What a style writes before a text and behind it: made once, there may be thousands of lines.
struct Painted {
    on: String,
    off: String,
}

impl Painted {
    fn new(style: Style) -> Self {
        Self {
            on: style.to_string(),
            off: format!("{style:#}"),
        }
    }
}

/// A line as it is, but for what is no UTF-8, which is shown as `\xNN`.
fn shown(line: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(line) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_final_newline_is_said() {
        let mut page = String::new();
        hunks(&mut page, "  ", b"a\nb", b"a\nb\nc\n", 1);
        let plain = crate::render::style::plain(&page);
        assert_eq!(
            plain,
            "  @@ -1,2 +1,3 @@\n   a\n  -b\n  \\ No newline at end of file\n  +b\n  +c\n"
        );
    }
}
