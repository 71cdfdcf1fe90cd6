//! How an error of the kernel is said: what was tried, on what, and why it failed.

use std::fmt::Display;
use std::io;

/// An error that names what was tried and where; its kind stays that of the cause.
pub(crate) fn failed(what: impl Display, cause: impl Into<io::Error>) -> io::Error {
    let cause = cause.into();
    io::Error::new(cause.kind(), format!("{what}: {}", reason(&cause)))
}

/// An error of ours, with its whole text.
pub(super) fn refused(kind: io::ErrorKind, text: impl Display) -> io::Error {
    io::Error::new(kind, text.to_string())
}

/// The cause in the style of our messages: lower case, without Rust's "(os error 28)".
pub(super) fn reason(cause: &io::Error) -> String {
    let text = cause.to_string();
    if cause.raw_os_error().is_none() {
        return text;
    }
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        // "Input/output error" becomes lower case, an acronym in front would not be a word of it.
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errno_is_said_in_our_style_and_keeps_its_kind() {
        let error = failed("cannot write `/etc/x`", rustix::io::Errno::NOSPC);
        assert_eq!(
            error.to_string(),
            "cannot write `/etc/x`: no space left on device"
        );
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let outer = failed("cannot stage", error);
        assert_eq!(
            outer.to_string(),
            "cannot stage: cannot write `/etc/x`: no space left on device"
        );
    }
}
