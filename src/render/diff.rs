//! Unified diffs of files, safe for a terminal and without secrets.

use similar::TextDiff;

use super::style::{ADD, QUIET, REMOVE, paint};
use super::words::{masked, visible};

/// The hunks that lead from one text to another, a line each, `context` lines around them.
pub fn hunks(before: &[u8], after: &[u8], context: usize) -> Vec<String> {
    let diff = TextDiff::from_lines(before, after);
    let mut unified = diff.unified_diff();
    unified.context_radius(context);
    let mut lines = Vec::new();
    for hunk in unified.iter_hunks() {
        lines.push(paint(QUIET, hunk.header()));
        for change in hunk.iter_changes() {
            let (text, ended) = match change.value().strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (change.value(), false),
            };
            let text = visible(&masked(&shown(text)));
            lines.push(match change.tag() {
                similar::ChangeTag::Equal => format!(" {text}"),
                similar::ChangeTag::Delete => paint(REMOVE, format!("-{text}")),
                similar::ChangeTag::Insert => paint(ADD, format!("+{text}")),
            });
            if !ended {
                lines.push(paint(QUIET, "\\ No newline at end of file"));
            }
        }
    }
    lines
}

/// A line as it is, but for what is no UTF-8, which is shown as `\xNN`.
fn shown(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_final_newline_is_said() {
        let lines = hunks(b"a\nb", b"a\nb\nc\n", 1);
        let plain = anstream::adapter::strip_str(&lines.join("\n")).to_string();
        assert_eq!(
            plain,
            "@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c"
        );
    }
}
