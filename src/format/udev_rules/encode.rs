//! Values for the rules that ssdtune writes, such that udev takes them as they are meant.
//!
//! All of them go between plain double quotes, where only `\"` is an escape. They may not hold
//! what ends the string or the line.

use std::fmt;

/// Why a text cannot be a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// An empty value matches what is not there at all.
    Empty,
    /// A double quote, which ends the string in releases that do not know `\"`.
    Quote,
    /// A line end, NUL or another control character.
    Control,
    /// A bar: udev splits alternatives at it before it looks at brackets.
    Bar,
    /// A backslash in a glob, or at the end of an assigned value, where it takes the quote.
    Backslash,
    /// A bracket expression that readers of globs take differently: not closed, empty, with `^`,
    /// a class, a range that runs backwards, or other than ASCII.
    Bracket,
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty, which would match what is not there",
            Self::Quote => "it has a double quote in it, which udev rules cannot hold",
            Self::Control => "it has a control character in it, which udev rules cannot hold",
            Self::Bar => "it has a `|` in it, at which udev splits alternatives",
            Self::Backslash => "it has a backslash in it, which udev would not take for itself",
            Self::Bracket => "its brackets are none of `[a-z]`, `[abc]` and `[!a]`",
        })
    }
}

/// What no value may have in it.
fn check(text: &str) -> Result<(), Refusal> {
    if text.contains('"') {
        return Err(Refusal::Quote);
    }
    if text.chars().any(char::is_control) {
        return Err(Refusal::Control);
    }
    Ok(())
}

/// The value of `==` or `!=` that matches this text only.
///
/// Wildcards and backslashes are put into brackets; without any, udev compares byte for byte.
/// Not for `TEST`, `PROGRAM` and `IMPORT`, whose values udev expands.
///
/// # Errors
///
/// Where no value does.
pub fn literal_match(text: &str) -> Result<String, Refusal> {
    check(text)?;
    if text.is_empty() {
        return Err(Refusal::Empty);
    }
    let mut out = String::with_capacity(text.len() + 4);
    for c in text.chars() {
        match c {
            '|' => return Err(Refusal::Bar),
            '*' | '?' | '[' => out.extend(['[', c, ']']),
            // fnmatch(3) takes a backslash for an escape in brackets too. Outside of them, one
            // at the end would protect the closing quote.
            '\\' => out.push_str("[\\\\]"),
            _ => out.push(c),
        }
    }
    Ok(out)
}

/// The value of `==` or `!=` for a glob of `*`, `?`, `[a-z]`, `[abc]` and `[!a]`.
///
/// # Errors
///
/// Where the glob has more in it, or what no value may have.
pub fn glob_match(pattern: &str) -> Result<String, Refusal> {
    check(pattern)?;
    if pattern.is_empty() {
        return Err(Refusal::Empty);
    }
    if pattern.contains('|') {
        return Err(Refusal::Bar);
    }
    if pattern.contains('\\') {
        return Err(Refusal::Backslash);
    }
    let mut rest = pattern;
    while let Some(at) = rest.find('[') {
        let (set, tail) = rest[at + 1..].split_once(']').ok_or(Refusal::Bracket)?;
        if !is_plain_set(set.strip_prefix('!').unwrap_or(set).as_bytes()) {
            return Err(Refusal::Bracket);
        }
        rest = tail;
    }
    Ok(pattern.to_owned())
}

/// Whether what stands in brackets is characters and ranges only.
fn is_plain_set(set: &[u8]) -> bool {
    let mut rest = set;
    loop {
        rest = match rest {
            [] => return !set.is_empty(),
            // The one way to write a bracket; with more behind it, it may begin a class.
            [b'[', tail @ ..] if !matches!(tail, [b':' | b'.' | b'=' | b'-', ..]) => tail,
            [b'-' | b'!' | b'^' | b'[', ..] => return false,
            [low, b'-', high, tail @ ..] if low <= high && high.is_ascii_alphanumeric() => tail,
            [_, b'-', ..] => return false,
            [byte, tail @ ..] if byte.is_ascii() => tail,
            _ => return false,
        }
    }
}

/// The value of `=` that assigns this text: `$` and `%` are doubled, as udev expands them.
///
/// # Errors
///
/// Where no value does.
pub fn assigned(text: &str) -> Result<String, Refusal> {
    check(text)?;
    if text.ends_with('\\') {
        return Err(Refusal::Backslash);
    }
    Ok(text.replace('$', "$$").replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{glob::glob, udev_rules::parse};

    #[test]
    fn literals() {
        assert_eq!(literal_match("SSD0001").as_deref(), Ok("SSD0001"));
        assert_eq!(literal_match("a*b?[c]").as_deref(), Ok("a[*]b[?][[]c]"));
        assert_eq!(literal_match("a\\").as_deref(), Ok("a[\\\\]"));
        assert_eq!(literal_match("a|b"), Err(Refusal::Bar));
        assert_eq!(literal_match("a\"b"), Err(Refusal::Quote));
        assert_eq!(literal_match("a\nb"), Err(Refusal::Control));
        assert_eq!(literal_match(""), Err(Refusal::Empty));
    }

    #[test]
    fn globs() {
        for pattern in [
            "WDC WD40EFRX*",
            "sd[a-z]",
            "x[!0-9a]?",
            "é*",
            "]",
            "a-b",
            "a[[]*",
            "[!x[]",
        ] {
            assert_eq!(glob_match(pattern).as_deref(), Ok(pattern));
        }
        for pattern in [
            "[",
            "[]",
            "[]a]",
            "[!]",
            "[^a]",
            "[z-a]",
            "[[:alpha:]]",
            "[[.a.]]",
            "[[-a]",
            "[é]",
            "[a-]",
            "[-a]",
        ] {
            assert_eq!(glob_match(pattern), Err(Refusal::Bracket), "{pattern}");
        }
        assert_eq!(glob_match("a\\*"), Err(Refusal::Backslash));
        assert_eq!(glob_match("a|b"), Err(Refusal::Bar));
    }

    #[test]
    fn assigned_values() {
        assert_eq!(assigned("50% of $x").as_deref(), Ok("50%% of $$x"));
        assert_eq!(assigned("a\\b").as_deref(), Ok("a\\b"));
        assert_eq!(assigned("a\\"), Err(Refusal::Backslash));
    }

    proptest::proptest! {
        #[test]
        fn a_literal_matches_itself_and_nothing_else(text in "[a\\*?\\[\\]\\\\|!^é-]{1,8}", other in "[a\\*?\\[\\]\\\\!]{1,8}") {
            if let Ok(value) = literal_match(&text) {
                let rule = format!("ENV{{X}}==\"{value}\", ENV{{Y}}=\"1\"");
                let rules = parse(rule.as_bytes());
                proptest::prop_assert_eq!(&*rules[0].tokens[0].value, &*value);
                proptest::prop_assert!(glob(&value, &text));
                proptest::prop_assert_eq!(glob(&value, &other), text == other);
            }
        }

        #[test]
        fn no_value_leaves_its_quotes(text: String) {
            for value in [literal_match(&text), glob_match(&text), assigned(&text)].into_iter().flatten() {
                let rule = format!("A==\"{value}\", B=\"1\"");
                let rules = parse(rule.as_bytes());
                proptest::prop_assert_eq!(rules[0].tokens.len(), 2);
                proptest::prop_assert_eq!(&*rules[0].tokens[0].value, &*value);
            }
        }
    }
}
