//! Bytes that are nearly always text: paths, options, labels.
//!
//! The kernel and fstab deal in bytes, JSON and terminals in UTF-8. [`Text`] keeps the bytes and
//! is written reversibly: a byte that is not UTF-8 becomes `\xNN`, and so does a backslash that
//! would otherwise read as the start of one. fstab's own `\040` stays as it is.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes of a path, an option or a label, in the spelling of their source.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(pub Vec<u8>);

impl Text {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as a path.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// What [`fmt::Display`] writes; nearly always the bytes as they are.
    pub fn to_str(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) if !self.0.contains(&b'\\') => Cow::Borrowed(text),
            _ => Cow::Owned(self.to_string()),
        }
    }

    /// Reads back what [`fmt::Display`] wrote.
    pub fn unescape(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            let escaped = bytes[at..]
                .strip_prefix(b"\\x")
                .and_then(|rest| rest.get(..2))
                .and_then(|hex| std::str::from_utf8(hex).ok())
                .and_then(|hex| u8::from_str_radix(hex, 16).ok());
            match escaped {
                Some(byte) => {
                    out.push(byte);
                    at += 4;
                }
                None => {
                    out.push(bytes[at]);
                    at += 1;
                }
            }
        }
        Self(out)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            let mut rest = chunk.valid();
            while let Some(at) = rest.find("\\x") {
                f.write_str(&rest[..at])?;
                f.write_str("\\x5cx")?;
                rest = &rest[at + 2..];
            }
            f.write_str(rest)?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::unescape(&text))
    }
}

#[cfg(feature = "docgen")]
impl schemars::JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "bytes; one that is not UTF-8 is written \\xNN, and so is a backslash before an x"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn written_text_reads_back(bytes: Vec<u8>) {
            let text = Text(bytes);
            proptest::prop_assert_eq!(&Text::unescape(&text.to_string()), &text);
            proptest::prop_assert_eq!(&*text.to_str(), text.to_string());
        }
    }

    #[test]
    fn only_what_needs_it_is_escaped() {
        assert_eq!(Text::from("/mnt/a\\040b é").to_string(), "/mnt/a\\040b é");
        assert_eq!(Text::from(&b"a\xffb"[..]).to_string(), "a\\xffb");
        assert_eq!(Text::from("\\xff").to_string(), "\\x5cxff");
    }
}
