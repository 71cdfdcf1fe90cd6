//! Printing: the plan and machine output to stdout, the rest to stderr. A reader that goes away
//! early (`| head`) is no error.

use std::io::Write as _;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};

use super::Error;
use crate::render::style::{ERROR, paint};

/// Prints a page to stdout, without styles where they do not belong.
pub fn page(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    let styled = AutoStream::choice(&out) != ColorChoice::Never;
    // In one piece: a stream that strips writes every piece between two styles by itself.
    let plain;
    let text = if styled {
        text
    } else {
        plain = strip_str(text).to_string();
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
    say(&format!("{}: {message}", paint(ERROR, "error")));
}

/// Says what went wrong without harm.
pub fn warning(message: &str) {
    say(&format!(
        "{}: {message}",
        paint(crate::render::style::CHANGE, "warning")
    ));
}

fn finish(result: std::io::Result<()>) -> Result<(), Error> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::failed(format!("stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}
