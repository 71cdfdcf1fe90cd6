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
