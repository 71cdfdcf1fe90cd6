//! The escapes of `e"..."` strings (`cunescape_one()` in systemd's src/basic/escape.c).

/// Decodes C's escapes; none where one of them is not known, which makes udev drop the rule.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let letter = rest.chars().next()?;
        rest = &rest[letter.len_utf8()..];
        let mut digits = |count: usize, radix: u32| {
            let digits = rest.get(..count)?;
            rest = &rest[count..];
            // `from_str_radix` takes a sign.
            let all = digits.chars().all(|c| c.is_digit(radix));
            all.then(|| u32::from_str_radix(digits, radix).ok())
                .flatten()
        };
        let simple = match letter {
            'a' => b'\x07',
            'b' => b'\x08',
            'f' => b'\x0c',
            'n' => b'\n',
            'r' => b'\r',
            's' => b' ',
            't' => b'\t',
            'v' => b'\x0b',
            '\\' | '"' | '\'' => u8::try_from(letter).ok()?,
            'x' => u8::try_from(digits(2, 16)?).ok()?,
            'u' | 'U' => {
                let code = char::from_u32(digits(if letter == 'u' { 4 } else { 8 }, 16)?)?;
                out.extend_from_slice(code.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            '0'..='7' => {
                let code = letter.to_digit(8)? * 64 + digits(2, 8)?;
                u8::try_from(code).ok()?
            }
            _ => return None,
        };
        if simple == 0 {
            return None;
        }
        out.push(simple);
    }
    out.extend_from_slice(rest.as_bytes());
    Some(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn escapes_are_those_of_c() {
        assert_eq!(
            unescape(r#"\a\b\f\n\r\s\t\v\\\"\'"#).as_deref(),
            Some("\x07\x08\x0c\n\r \t\x0b\\\"'")
        );
        assert_eq!(
            unescape(r"\x41\u00e9\U0001F600\101é").as_deref(),
            Some("Aé😀Aé")
        );
        assert_eq!(unescape(r"\xe9").as_deref(), Some("\u{fffd}"));
        for text in [
            r"\", r"\q", r"\x4", r"\x+1", r"\u12", r"\400", r"\1é", r"\000", r"\ud800", r"\é",
        ] {
            assert_eq!(unescape(text), None, "{text}");
        }
    }
}
