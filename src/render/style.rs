//! Colours, never the only carrier of a meaning. Whoever prints strips them where they do not belong.

use anstyle::{AnsiColor, Style};

/// Section titles and device names.
pub const TITLE: Style = Style::new().bold();
/// What comes.
pub const ADD: Style = AnsiColor::Green.on_default();
/// What goes.
pub const REMOVE: Style = AnsiColor::Red.on_default();
/// What changes.
pub const CHANGE: Style = AnsiColor::Yellow.on_default();
/// What is only mentioned.
pub const QUIET: Style = Style::new().dimmed();
/// Errors.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Text in a style.
pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// The page without its styles; a page of thousands of lines is most of what is printed.
pub fn plain(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut pieces = page.split('\x1b');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let style = piece
            .strip_prefix('[')
            .and_then(|rest| rest.split_once('m'))
            .filter(|(codes, _)| codes.bytes().all(|b| b.is_ascii_digit() || b == b';'));
        match style {
            Some((_, text)) => out.push_str(text),
            None => {
                out.push('\x1b');
                out.push_str(piece);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_come_off() {
        let page = format!("{}m {} é", paint(ERROR, "a[m"), paint(Style::new(), "b"));
        assert_eq!(plain(&page), "a[mm b é");
        for other in ["", "\x1b", "a\x1b[2Jb", "\x1b[1;xm"] {
            assert_eq!(plain(other), other);
        }
    }
}
