//! udev rules: reading what others wrote, and writing values that udev takes literally.
//!
//! udev(7); `udev_rules_parse_file()`, `parse_line()` and `udev_rule_parse_value()` in systemd's
//! src/udev/udev-rules.c and udev-event.c.

mod encode;
mod unescape;

use std::borrow::Cow;

pub use encode::{Refusal, assigned, glob_match, literal_match};

/// The most bytes of a rule, continuation lines and all (`UDEV_LINE_SIZE`).
const LONGEST: usize = 16384;

/// One rule: its tokens in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule<'a> {
    /// The line where it starts, from 1.
    pub line: u32,
    /// What it asks and does.
    pub tokens: Vec<Token<'a>>,
}

/// `KEY{attribute}op"value"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'a> {
    /// `ATTR`, `ENV`, `GOTO`.
    pub key: Cow<'a, str>,
    /// What stands in braces.
    pub attribute: Option<Cow<'a, str>>,
    /// The operator.
    pub op: Op,
    /// The value; of an `e"..."` string, escapes decoded. What is no UTF-8 is U+FFFD.
    pub value: Cow<'a, str>,
    /// True for an `i"..."` string, which matches in any case.
    pub any_case: bool,
}

/// Operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `==`
    Match,
    /// `!=`
    NoMatch,
    /// `=`
    Assign,
    /// `+=`
    Add,
    /// `-=`
    Remove,
    /// `:=`
    AssignFinal,
}

impl Op {
    /// Whether the token asks, and does nothing.
    pub const fn is_match(self) -> bool {
        matches!(self, Self::Match | Self::NoMatch)
    }
}

/// Reads a rules file; rules that udev would ignore are left out.
///
/// Not all of udev's checks are made: a key that udev does not know is still a token here.
pub fn parse(bytes: &[u8]) -> Vec<Rule<'_>> {
    let mut rules = Vec::new();
    let mut open: Option<(u32, String)> = None;
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = line.trim_ascii_start();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Comments may stand between the lines of a rule.
        if line.starts_with(b"#") {
            continue;
        }
        let text = String::from_utf8_lossy(line);
        let (front, goes_on) = match text.strip_suffix('\\') {
            Some(front) => (front, true),
            None => (&*text, false),
        };
        match open.as_mut() {
            // What is too long is dropped as a whole; there is no need to collect it.
            Some((_, joined)) if joined.len() < LONGEST => joined.push_str(front),
            Some(_) => {}
            None if goes_on => open = Some((number, front.to_owned())),
            None => rules.extend(rule(number, text)),
        }
        if !goes_on {
            rules.extend(
                open.take()
                    .and_then(|(start, joined)| rule(start, Cow::Owned(joined))),
            );
        }
    }
    rules
}

/// Reads the tokens of a whole rule.
fn rule(line: u32, text: Cow<'_, str>) -> Option<Rule<'_>> {
    if text.len() >= LONGEST || text.contains('\0') {
        return None;
    }
    let tokens = match text {
        Cow::Borrowed(text) => tokens(text)?,
        Cow::Owned(text) => tokens(&text)?.into_iter().map(Token::into_owned).collect(),
    };
    (!tokens.is_empty()).then_some(Rule { line, tokens })
}

fn tokens(mut rest: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return Some(tokens);
        }
        let (token, tail) = token(rest)?;
        tokens.push(token);
        rest = tail;
    }
}

/// Reads one token; also gives what is behind it.
fn token(text: &str) -> Option<(Token<'_>, &str)> {
    let is_end = |(at, byte)| match byte {
        b'+' | b'-' | b'!' | b':' => text.as_bytes().get(at + 1) == Some(&b'='),
        _ => matches!(byte, b'=' | b'{' | b' ' | b'\t' | b'\r'),
    };
    let end = text.bytes().enumerate().position(is_end)?;
    let (key, rest) = text.split_at(end);
    let (attribute, rest) = match rest.strip_prefix('{') {
        Some(rest) => {
            let (attribute, rest) = rest.split_once('}')?;
            (Some(attribute), rest)
        }
        None => (None, rest),
    };
    let (op, rest) = op(rest.trim_ascii_start())?;
    let rest = rest.trim_ascii_start();
    let quote = rest.find('"')?;
    let (escaped, any_case) = match &rest[..quote] {
        "" => (false, false),
        "e" => (true, false),
        "i" => (false, true),
        "ei" | "ie" => (true, true),
        _ => return None,
    };
    let (value, tail) = value(&rest[quote + 1..], escaped)?;
    let (key, attribute) = (Cow::Borrowed(key), attribute.map(Cow::Borrowed));
    Some((
        Token {
            key,
            attribute,
            op,
            value,
            any_case,
        },
        tail,
    ))
}

fn op(text: &str) -> Option<(Op, &str)> {
    const OPS: [(&str, Op); 6] = [
        ("==", Op::Match),
        ("!=", Op::NoMatch),
        ("+=", Op::Add),
        ("-=", Op::Remove),
        (":=", Op::AssignFinal),
        ("=", Op::Assign),
    ];
    OPS.into_iter()
        .find_map(|(sign, op)| Some((op, text.strip_prefix(sign)?)))
}

/// Reads up to the closing quote. In a plain string a backslash protects a quote and is itself
/// elsewhere; in an escaped one it is C's.
fn value(text: &str, escaped: bool) -> Option<(Cow<'_, str>, &str)> {
    let bytes = text.as_bytes();
    let mut end = 0;
    let mut quotes = false;
    while *bytes.get(end)? != b'"' {
        if bytes[end] == b'\\' && (escaped || bytes.get(end + 1) == Some(&b'"')) {
            quotes = true;
            end += 1;
        }
        end += 1;
    }
    // A backslash may have skipped into a character of several bytes, but quotes are one.
    let (raw, tail) = (text.get(..end)?, text.get(end + 1..)?);
    let value = match (quotes, escaped) {
        (false, _) => Cow::Borrowed(raw),
        (true, false) => Cow::Owned(raw.replace("\\\"", "\"")),
        (true, true) => Cow::Owned(unescape::unescape(raw)?),
    };
    Some((value, tail))
}

impl Token<'_> {
    fn into_owned(self) -> Token<'static> {
        Token {
            key: Cow::Owned(self.key.into_owned()),
            attribute: self.attribute.map(|text| Cow::Owned(text.into_owned())),
            op: self.op,
            value: Cow::Owned(self.value.into_owned()),
            any_case: self.any_case,
        }
    }
}

#[cfg(test)]
mod tests;
