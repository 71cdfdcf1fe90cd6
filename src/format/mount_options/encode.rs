//! Options as fstab writes them.

use std::borrow::Cow;
use std::fmt;

use super::{is_open, split};
use crate::format::octal;

/// Why a text cannot stand in fstab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing to write.
    Empty,
    /// A NUL byte or a line end; in a whole list a blank or tab too.
    Control,
    /// A comma outside double quotes: the item would be two.
    Comma,
    /// A double quote without a partner.
    OpenQuote,
    /// A backslash that readers take differently, as before a double quote.
    Escape,
    /// `#` at the start of field 1 makes the line a comment.
    Comment,
    /// A mount point that is no absolute path.
    Relative,
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty",
            Self::Control => "it has a byte in it that ends a field or a line",
            Self::Comma => "it has a comma in it: put the value between double quotes",
            Self::OpenQuote => "it has a double quote that is not closed",
            Self::Escape => "it has a backslash in it that mount(8) and systemd read differently",
            Self::Comment => "it starts with `#`, which makes the line a comment",
            Self::Relative => "it is no absolute path",
        })
    }
}

/// One item as fstab wants it: blanks, tabs and backslashes in octal.
///
/// # Errors
///
/// Where the item would not be read back as itself, and as one item.
pub fn encode(item: &[u8]) -> Result<Cow<'_, [u8]>, Refusal> {
    if item.is_empty() {
        return Err(Refusal::Empty);
    }
    if item
        .iter()
        .any(|byte| matches!(byte, b'\0' | b'\n' | b'\r'))
    {
        return Err(Refusal::Control);
    }
    if item.windows(2).any(|pair| pair == b"\\\"") {
        return Err(Refusal::Escape);
    }
    if is_open(item) {
        return Err(Refusal::OpenQuote);
    }
    if split(item).next() != Some(item) {
        return Err(Refusal::Comma);
    }
    Ok(octal::encode(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_smuggled_in() {
        assert_eq!(
            &*encode(b"context=\"a b,c\"").unwrap(),
            b"context=\"a\\040b,c\""
        );
        assert_eq!(&*encode(b"x=a\\b\t").unwrap(), b"x=a\\134b\\011");
        assert_eq!(encode(b"a,b"), Err(Refusal::Comma));
        assert_eq!(encode(b","), Err(Refusal::Comma));
        assert_eq!(encode(b"a\nb"), Err(Refusal::Control));
        assert_eq!(encode(b"a\0"), Err(Refusal::Control));
        assert_eq!(encode(b"a=\"b"), Err(Refusal::OpenQuote));
        assert_eq!(encode(b"a=\\\"\\\""), Err(Refusal::Escape));
        assert_eq!(encode(b""), Err(Refusal::Empty));
    }

    proptest::proptest! {
        #[test]
        fn what_is_encoded_is_one_item(item: Vec<u8>) {
            if let Ok(encoded) = encode(&item) {
                proptest::prop_assert_eq!(split(&encoded).collect::<Vec<_>>(), [&*encoded]);
                proptest::prop_assert_eq!(&*octal::decode(&encoded), &*item);
            }
        }
    }
}
