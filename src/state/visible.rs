//! Text of a state file inside a message.

use std::fmt::Write as _;

/// Characters of a text that a message shows at most.
const LONGEST: usize = 60;

/// Text of a state file inside a message: in backticks, nothing invisible, not endless.
pub(crate) fn quoted(text: &str) -> String {
    between('`', text)
}

/// A text as one would write it in the file, for help lines.
pub(super) fn in_quotes(text: &str) -> String {
    between(if text.contains('"') { '\'' } else { '"' }, text)
}

fn between(mark: char, text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST) + 2);
    out.push(mark);
    match text.char_indices().nth(LONGEST) {
        None => push_visible(&mut out, text),
        Some((end, _)) => {
            push_visible(&mut out, &text[..end]);
            out.push('…');
        }
    }
    out.push(mark);
    out
}

/// A list as one would write it in the file.
pub(super) fn array(items: &[&str]) -> String {
    let items: Vec<String> = items.iter().take(20).map(|item| in_quotes(item)).collect();
    format!("[{}]", items.join(", "))
}

/// Adds a text on one line; characters on which a terminal would act, or which show nothing, are
/// escaped.
pub(crate) fn push_visible(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || is_invisible(c) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

/// True for printable ASCII, which most text is: it needs no closer look.
pub(crate) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Whether a text has a character that cannot be seen.
pub(super) fn has_hidden(text: &str) -> bool {
    !is_plain(text) && text.chars().any(|c| c.is_control() || is_invisible(c))
}

/// Characters that show nothing, or turn the text around them: they can make a name look like
/// another one.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_harmless() {
        assert_eq!(
            quoted("a\u{1b}[2J\nb\u{202e}"),
            "`a\\u{1b}[2J\\nb\\u{202e}`"
        );
        assert!(quoted(&"x".repeat(1 << 20)).len() < 100);
    }
}
