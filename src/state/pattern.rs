//! Patterns on names: only the part of globs that udev, fnmatch(3) and ssdtune read alike.

use std::borrow::Cow;

use super::Pattern;
use super::visible::{has_hidden, quoted};
use crate::format::glob::glob;

/// Why a text is refused, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong, in lower case.
    pub message: String,
    /// What to write.
    pub help: Option<String>,
}

impl Refused {
    /// A refusal that says what to do.
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: Some(help.into()),
        }
    }
}

/// The longest pattern in bytes: a path has no more (PATH_MAX).
const LONGEST: usize = 4096;

impl Pattern {
    /// Reads a literal, or a glob of `* ? [a-z] [!a]`.
    pub fn new(text: impl Into<String>) -> Result<Self, Refused> {
        let text = text.into();
        if text.len() > LONGEST {
            return Err(Refused::new(
                format!("a pattern of {} bytes", text.len()),
                format!("write at most {LONGEST}: no name or path is longer"),
            ));
        }
        check_characters(&text)?;
        let literal = check_wildcards(&text)?;
        Ok(Self { text, literal })
    }

    /// True where the pattern stands for this name, upper and lower case told apart.
    pub fn matches(&self, name: &str) -> bool {
        if self.literal {
            self.text == name
        } else {
            glob(&self.text, name)
        }
    }

    /// What stands before the first wildcard.
    pub fn prefix(&self) -> &str {
        if self.literal {
            return &self.text;
        }
        let end = self.text.find(['*', '?', '[']);
        &self.text[..end.unwrap_or(self.text.len())]
    }
}

/// Refuses what a udev rule cannot carry, or a reader would not see.
pub(super) fn check_characters(text: &str) -> Result<(), Refused> {
    if text.is_empty() {
        return Err(Refused::new(
            "an empty name stands for nothing",
            "write a name or a pattern, or leave the key out",
        ));
    }
    if has_hidden(text) {
        return Err(Refused::new(
            format!("{} has a character that cannot be seen", quoted(text)),
            "remove it: names have no control characters or line breaks",
        ));
    }
    for c in text.chars() {
        match c {
            '"' => {
                return Err(Refused::new(
                    format!("{} has a double quote", quoted(text)),
                    "write the bare value: neither tags nor names need quotes of their own",
                ));
            }
            '\\' => {
                return Err(Refused::new(
                    format!("{} has a backslash", quoted(text)),
                    "write the character itself (a blank for fstab's `\\040`); a wildcard is made \
                     literal by brackets: `[*]`",
                ));
            }
            '|' => {
                return Err(Refused::new(
                    format!("{} has a `|`, which udev reads as \"or\"", quoted(text)),
                    "write a list: [\"a\", \"b\"]",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Says whether a text is literal; refuses wildcards that not all readers agree on.
fn check_wildcards(text: &str) -> Result<bool, Refused> {
    let mut literal = true;
    let mut rest = text.chars();
    let mut last = None;
    while let Some(c) = rest.next() {
        match c {
            '*' if last == Some('*') => {
                return Err(Refused::new(
                    format!("{} has `**`", quoted(text)),
                    "write one `*`: it stands for any characters, slashes too",
                ));
            }
            '*' | '?' => literal = false,
            '[' => {
                literal = false;
                check_class(text, &mut rest)?;
            }
            _ => {}
        }
        last = Some(c);
    }
    Ok(literal)
}

/// Reads a class up to its bracket.
fn check_class(text: &str, rest: &mut std::str::Chars<'_>) -> Result<(), Refused> {
    let refuse = |what: &str, help: &str| {
        Err(Refused::new(
            format!("{} has {what}", quoted(text)),
            help.to_owned(),
        ))
    };
    if rest.as_str().starts_with('^') {
        return refuse(
            "`[^`, which some readers take for \"not\" and others for a character",
            "write `[!a]` for any character but `a`",
        );
    }
    if rest.as_str().starts_with('!') {
        rest.next();
    }
    let members = rest.as_str();
    let Some(end) = members.find(']') else {
        return refuse(
            "a `[` that is not closed",
            "close it, or write `[[]` for the character",
        );
    };
    let class = &members[..end];
    if class.is_empty() {
        return refuse(
            "a class without characters",
            "write what it stands for: `[0-9]`",
        );
    }
    if !class.is_ascii() {
        return refuse(
            "a class of characters that are not ASCII, which readers count differently",
            "write `*` in its place",
        );
    }
    if class.contains("[:") || class.contains("[.") || class.contains("[=") {
        return refuse(
            "a class by name, which udev does not know",
            "write a range: `[0-9]`",
        );
    }
    let bytes = class.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes.get(at + 1) == Some(&b'-') && at + 2 < bytes.len() {
            if bytes[at] > bytes[at + 2] {
                return refuse("a range that runs backwards", "write the smaller end first");
            }
            at += 3;
        } else {
            at += 1;
        }
    }
    *rest = members[end + 1..].chars();
    Ok(())
}

/// Writes blanks as udev does in ID_MODEL and ID_VENDOR: none at the ends, `_` for a run.
pub(super) fn fold_blanks(text: &str) -> Cow<'_, str> {
    if !text.contains(' ') {
        return Cow::Borrowed(text);
    }
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    Cow::Owned(words.join("_"))
}

/// Writes a mount point as the kernel does: one slash between names, none at the end.
pub(super) fn fold_slashes(text: &str) -> Cow<'_, str> {
    if text.len() < 2 || !(text.contains("//") || text.ends_with('/')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '/' || !out.ends_with('/') {
            out.push(c);
        }
    }
    if out.len() > 1 && out.ends_with('/') {
        out.pop();
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Option<bool> {
        Pattern::new(text).ok().map(|pattern| pattern.literal)
    }

    #[test]
    fn what_all_readers_agree_on_is_accepted() {
        for text in [
            "sda",
            "ata-Samsung_SSD (1)",
            "cciss!c0d0",
            "UUID=a-b",
            "é",
            "a^b",
            "x-]",
        ] {
            assert_eq!(literal(text), Some(true), "{text}");
        }
        for text in [
            "sd*", "sd[a-z]", "nvme?n1", "[!a]*", "[[]x", "[*]", "[-a]", "[a-]", "[]a",
        ] {
            assert_eq!(literal(text), (text != "[]a").then_some(false), "{text}");
        }
    }

    #[test]
    fn what_readers_disagree_on_is_refused() {
        for text in [
            "",
            "[^a]",
            "a**",
            "a\\*",
            "a|b",
            "sd[a",
            "[]",
            "[!]",
            "[z-a]",
            "[é]",
            "[[:alpha:]]",
            "a\nb",
            "a\u{0}",
            "a\tb",
            "a\"",
            "a\u{202e}b",
        ] {
            assert_eq!(literal(text), None, "{text:?}");
        }
    }

    #[test]
    fn no_pattern_is_longer_than_a_path() {
        assert!(Pattern::new("a".repeat(LONGEST)).is_ok());
        for unit in ["a", "[a]", "*a", " "] {
            let refused = Pattern::new(unit.repeat(1 << 20)).unwrap_err();
            assert!(refused.message.len() < 80, "{}", refused.message);
        }
    }

    #[test]
    fn patterns_match_whole_names() {
        let matches =
            |pattern: &str, name: &str| Pattern::new(pattern).map(|pattern| pattern.matches(name));
        assert_eq!(matches("sda", "sda"), Ok(true));
        assert_eq!(matches("sda", "sdaa"), Ok(false));
        assert_eq!(matches("sd[a-z]", "sdaa"), Ok(false));
        assert_eq!(matches("WDC_WD40EFRX*", "WDC_WD40EFRX-68N32N0"), Ok(true));
        assert_eq!(matches("[!s]*", "sda"), Ok(false));
    }

    #[test]
    fn blanks_and_slashes_are_folded() {
        assert_eq!(fold_blanks(" WDC  WD40* "), "WDC_WD40*");
        assert_eq!(fold_slashes("//srv//a/"), "/srv/a");
        assert_eq!(fold_slashes("/"), "/");
        assert_eq!(fold_slashes("//"), "/");
    }
}
