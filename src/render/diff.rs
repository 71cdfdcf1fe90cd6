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
            let text = String::from_utf8_lossy(change.value());
            let ended = text.ends_with('\n');
            let text = visible(&masked(text.trim_end_matches('\n')));
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
