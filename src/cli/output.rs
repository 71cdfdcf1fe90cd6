//! Printing: the plan and machine output to stdout, the rest to stderr. A reader that goes away
//! early (`| head`) is no error.

use std::io::Write as _;

use anstream::{AutoStream, ColorChoice};

use super::Error;
use crate::render::style::{self, ERROR, paint};
use crate::render::words::visible;

/// Prints a page to stdout, without styles where they do not belong.
pub fn page(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    let styled = AutoStream::choice(&out) != ColorChoice::Never;
    // In one piece: a stream that strips writes every piece between two styles by itself.
    let plain;
    let text = if styled {
        text
    } else {
        plain = style::plain(text);
        &plain
    };
    finish(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints JSON to stdout.
pub fn json(value: &impl serde::Serialize) -> Result<(), Error> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::failed(format!("the output cannot be written as JSON: {error}")))?;
    text.push('\n');
    let mut out = std::io::stdout().lock();
    finish(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Says a line on stderr; where stderr is closed, nobody listens.
pub fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Says what went wrong.
pub fn error(message: &str) {
    say(&format!("{}: {}", paint(ERROR, "error"), plain(message)));
}

/// A message may quote what others wrote (a name, a key of a file): it must not steer the terminal.
fn plain(message: &str) -> String {
    let lines: Vec<_> = message.split('\n').map(visible).collect();
    lines.join("\n")
}

/// Says what went wrong without harm.
pub fn warning(message: &str) {
    say(&format!(
        "{}: {}",
        paint(crate::render::style::CHANGE, "warning"),
        plain(message)
    ));
}

fn finish(result: std::io::Result<()>) -> Result<(), Error> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::failed(format!("stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_message_does_not_steer_the_terminal() {
        assert_eq!(
            plain("unknown field `\u{1b}[2J\u{202e}x`\nline 2"),
            "unknown field `\\u{1b}[2J\\u{202e}x`\nline 2"
        );
    }
}
