//! Text of a state file inside a message.

use std::fmt::Write as _;

/// Text of a state file inside a message: in backticks, nothing invisible, not endless.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::from("`");
    for (count, c) in text.chars().enumerate() {
        if count == LONGEST {
            out.push('…');
            break;
        }
        push_visible(&mut out, c);
    }
    out.push('`');
    out
}

/// Adds a character, escaped where a terminal would act on it or show nothing.
pub(crate) fn push_visible(out: &mut String, c: char) {
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

/// Characters that show nothing, or turn the text around them: they can make a name look like
/// another one.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// A text as one would write it in the file, for help lines.
pub(super) fn in_quotes(text: &str) -> String {
    let visible = quoted(text);
    format!("\"{}\"", visible.trim_matches('`'))
}

/// A list as one would write it in the file.
pub(super) fn array(items: &[&str]) -> String {
    let items: Vec<String> = items.iter().take(20).map(|item| in_quotes(item)).collect();
    format!("[{}]", items.join(", "))
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
