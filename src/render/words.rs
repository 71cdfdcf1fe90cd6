//! Small pieces of text that several pages share.

use std::borrow::Cow;

/// Columns that a page is set for.
pub const WIDTH: usize = 80;

/// Columns that a text takes in a terminal: ideographs and their like take two, marks that stand on
/// the character before take none.
///
/// Ranges as of Unicode's East Asian Width `W` and `F`, the blocks rounded outwards.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    match c as u32 {
        0..=0x2ff => 1,
        // Combining marks, joiners and selectors.
        0x300..=0x36f | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// A text filled up with blanks to so many columns.
pub fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Breaks words into lines of at most `columns` columns; a longer word stands alone.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = width(word);
        if used > 0 && used + 1 + length > columns {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
    }
    lines.push(line);
    lines
}

/// A host's name; the system below a `--root` may have none.
pub fn host(name: &str) -> String {
    match name {
        "" => "a system without a name".to_owned(),
        name => visible(name).into_owned(),
    }
}

/// `1 change`, `2 changes`.
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// A size in KiB as people say it: `3.9 GiB`.
pub fn size(kib: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TiB", 1 << 30),
        ("GiB", 1 << 20),
        ("MiB", 1 << 10),
        ("KiB", 1),
    ];
    for (name, unit) in UNITS {
        if kib >= unit && unit > 1 {
            let tenths = kib.saturating_mul(10).saturating_add(unit / 2) / unit;
            return match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                rest => format!("{}.{rest} {name}", tenths / 10),
            };
        }
    }
    format!("{kib} KiB")
}

/// Text with control characters made visible: nothing a file holds may steer a terminal.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Also the marks that turn the direction of what follows, and other ends of lines.
        let steers = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if c.is_control() && c != '\t' || steers {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The same of text that may hold a secret.
pub fn discreet(text: &str) -> Cow<'_, str> {
    match masked(text) {
        Cow::Borrowed(text) => visible(text),
        Cow::Owned(text) => Cow::Owned(visible(&text).into_owned()),
    }
}

/// Options whose value is a secret, or tells where one is kept.
const SECRETS: [&str; 11] = [
    "password",
    "password2",
    "pass",
    "passwd",
    "passphrase",
    "credentials",
    "cred",
    "secret",
    "secretfile",
    "key",
    "keyfile",
];

/// A line of fstab, an option, or a sentence about one, with what is secret in it replaced by
/// `***`: the values of such options, a password after a user's name (`user=anna%secret`), and one
/// in an address (`https://anna:secret@host/dav`).
pub fn masked(line: &str) -> Cow<'_, str> {
    // A secret stands behind the `=` of an option, or in an address.
    if !line.as_bytes().contains(&b'=') && !line.contains("://") {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    // An item ends at a comma or blank; a password may hold neither in fstab, unless it is quoted.
    while !rest.is_empty() {
        let end = rest.find([',', ' ', '\t']).unwrap_or(rest.len());
        let end = quoted(&rest[..end], rest).unwrap_or(end);
        mask_item(&mut out, &rest[..end]);
        let next = rest[end..].chars().next().map_or(0, char::len_utf8);
        out.push_str(&rest[end..end + next]);
        rest = &rest[end + next..];
    }
    Cow::Owned(out)
}

/// Where an item really ends whose value is in double quotes (`password="a,b"`).
fn quoted(item: &str, rest: &str) -> Option<usize> {
    let start = item.find("=\"")? + 2;
    let close = rest[start..].find('"')?;
    Some(start + close + 1)
}

fn mask_item(out: &mut String, item: &str) {
    let Some((name, value)) = item.split_once('=') else {
        return mask_address(out, item);
    };
    let bare = name.trim_start_matches(['+', '-', '"', '`', '(', '\'']);
    let bare = bare.to_ascii_lowercase();
    out.push_str(name);
    out.push('=');
    // What closes a sentence's quotation stays.
    let closing = &value[value.trim_end_matches([':', ')', '`']).len()..];
    let closing = if closing.contains('`') { closing } else { "" };
    if SECRETS.contains(&bare.as_str()) {
        out.push_str("***");
        out.push_str(closing);
        return;
    }
    if matches!(bare.as_str(), "user" | "username")
        && let Some((user, _)) = value.split_once('%')
    {
        out.push_str(user);
        out.push_str("%***");
        out.push_str(closing);
        return;
    }
    mask_address(out, value);
}

/// `scheme://user:secret@host`.
fn mask_address(out: &mut String, text: &str) {
    let parts = text.split_once("://").and_then(|(scheme, rest)| {
        let (login, host) = rest.split_once('@')?;
        let (user, _) = login.split_once(':')?;
        (!user.contains('/')).then_some((scheme, user, host))
    });
    match parts {
        Some((scheme, user, host)) => {
            for part in [scheme, "://", user, ":***@", host] {
                out.push_str(part);
            }
        }
        None => out.push_str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_nothing_else() {
        assert_eq!(
            masked("+//s/p /cf cifs credentials=/etc/cred,uid=1000,password=a=b,nofail 0 0"),
            "+//s/p /cf cifs credentials=***,uid=1000,password=***,nofail 0 0"
        );
        assert_eq!(masked("keyctl=1,monkey=2"), "keyctl=1,monkey=2");
        for (open, closed) in [
            (r#"password="a,b c",uid=1"#, "password=***,uid=1"),
            ("PASSWORD=x", "PASSWORD=***"),
            ("username=anna%geheim,ro", "username=anna%***,ro"),
            (
                "https://anna:geheim@host/dav /d",
                "https://anna:***@host/dav /d",
            ),
            ("http://host/a:b@c", "http://host/a:b@c"),
            ("`password=x`: no", "`password=***`: no"),
            (
                "has no option `pass=x` here",
                "has no option `pass=***` here",
            ),
            (r#"password="open"#, "password=***"),
        ] {
            assert_eq!(masked(open), closed, "{open}");
        }
    }

    #[test]
    fn columns_are_counted() {
        assert_eq!(width("sda"), 3);
        assert_eq!(width("磁盘é"), 5);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(padded("磁", 4), "磁  ");
        assert_eq!(visible("a\u{1b}[31m\u{202e}b"), "a\\u{1b}[31m\\u{202e}b");
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(12), "12 KiB");
        assert_eq!(size(4_089_446), "3.9 GiB");
        assert_eq!(size(2 << 20), "2 GiB");
    }

    #[test]
    fn words_wrap() {
        assert_eq!(wrap("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
