//! The `\NNN` escapes of fstab, mountinfo and /proc/swaps.

use std::borrow::Cow;

/// Decodes every backslash that three octal digits up to `\377` follow; all else stays.
///
/// The kernel writes blanks, tabs, newlines, backslashes and more this way (`seq_escape()` in
/// fs/proc_namespace.c); fstab(5) asks for the same.
pub fn decode(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = bytes.iter().position(|&byte| byte == b'\\') else {
        return Cow::Borrowed(bytes);
    };
    let mut out = Vec::with_capacity(bytes.len());
    out.extend_from_slice(&bytes[..first]);
    let mut rest = &bytes[first..];
    while let Some((&byte, tail)) = rest.split_first() {
        match escape(rest) {
            Some(decoded) => {
                out.push(decoded);
                rest = &rest[4..];
            }
            None => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    Cow::Owned(out)
}

/// The byte that the escape at the start of `bytes` stands for, if there is one.
pub(crate) fn escape(bytes: &[u8]) -> Option<u8> {
    match bytes {
        &[b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
            Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
        }
        _ => None,
    }
}

/// Writes blank, tab, newline and backslash as fstab(5) wants them.
pub fn encode(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes
        .iter()
        .any(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\\'))
    {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len() + 8);
    for &byte in bytes {
        match byte {
            b' ' => out.extend_from_slice(b"\\040"),
            b'\t' => out.extend_from_slice(b"\\011"),
            b'\n' => out.extend_from_slice(b"\\012"),
            b'\\' => out.extend_from_slice(b"\\134"),
            _ => out.push(byte),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_octal_digits_are_an_escape() {
        assert_eq!(*decode(b"/a\\040b"), *b"/a b");
        assert_eq!(*decode(b"\\134040"), *b"\\040");
        assert_eq!(*decode(b"\\04"), *b"\\04");
        assert_eq!(*decode(b"\\048"), *b"\\048");
        assert_eq!(*decode(b"\\400\\\\"), *b"\\400\\\\");
        assert!(matches!(decode(b"/plain"), Cow::Borrowed(_)));
    }

    proptest::proptest! {
        #[test]
        fn what_is_encoded_decodes_to_itself(bytes: Vec<u8>) {
            let encoded = encode(&bytes).into_owned();
            proptest::prop_assert_eq!(&*decode(&encoded), &*bytes);
            proptest::prop_assert!(!encoded.iter().any(|b| matches!(b, b' ' | b'\t' | b'\n')));
        }
    }
}
