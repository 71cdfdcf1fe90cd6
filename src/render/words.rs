//! Small pieces of text that several pages share.

/// Columns that a page is set for.
pub const WIDTH: usize = 80;

/// Breaks words into lines of at most `width` characters; a longer word stands alone.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
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
            let tenths = kib * 10 / unit;
            return match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                rest => format!("{}.{rest} {name}", tenths / 10),
            };
        }
    }
    format!("{kib} KiB")
}

/// Text with control characters made visible: nothing a file holds may steer a terminal.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\t' {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Options whose value is a secret, or tells where one is kept.
const SECRETS: [&str; 7] = [
    "password",
    "pass",
    "passwd",
    "credentials",
    "cred",
    "secret",
    "key",
];

/// A line of fstab, or an option, with the values of such options replaced by `***`.
pub fn masked(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    // An item ends at a comma or blank; a password may hold neither in fstab.
    while let Some(end) = rest.find([',', ' ', '\t']) {
        mask_item(&mut out, &rest[..end]);
        out.push_str(&rest[end..=end]);
        rest = &rest[end + 1..];
    }
    mask_item(&mut out, rest);
    out
}

fn mask_item(out: &mut String, item: &str) {
    match item.split_once('=') {
        Some((name, _)) if SECRETS.contains(&name.trim_start_matches(['+', '-', '"'])) => {
            out.push_str(name);
            out.push_str("=***");
        }
        _ => out.push_str(item),
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
        assert_eq!(masked("keyfile=1,monkey=2"), "keyfile=1,monkey=2");
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(12), "12 KiB");
        assert_eq!(size(4_089_446), "3.8 GiB");
        assert_eq!(size(2 << 20), "2 GiB");
    }

    #[test]
    fn words_wrap() {
        assert_eq!(wrap("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
