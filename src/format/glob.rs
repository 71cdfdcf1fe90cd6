//! Patterns as udev matches them.
//!
//! udev(7) compares a value without `*`, `?` and `[` byte for byte, and hands others to fnmatch(3)
//! without flags, in the C locale: `*` takes slashes and leading dots, a character is a byte. A
//! value with `|` is a list of alternatives, split before anything else, inside brackets too
//! (`rule_line_add_token()` in systemd's src/udev/udev-rules.c).

/// Whether `text` matches `pattern` or one of its alternatives.
///
/// Takes time of the order of `pattern` times `text` at worst. Classes (`[[:alpha:]]`) are not
/// known: their characters are taken one by one.
pub fn glob(pattern: &str, text: &str) -> bool {
    let wild = is_wild(pattern);
    pattern.split('|').any(|alternative| {
        if wild {
            fnmatch(alternative.as_bytes(), text.as_bytes())
        } else {
            alternative == text
        }
    })
}

/// Whether udev takes `pattern` for one, and not for a literal.
pub fn is_wild(pattern: &str) -> bool {
    pattern.contains(['*', '?', '['])
}

/// What the front of a pattern asks of one byte.
enum Step {
    /// Any number of bytes.
    Star,
    /// One byte, fitting or not, and the length of the pattern's part.
    One(bool, usize),
}

/// fnmatch(3): after a mismatch only the last star needs to give way, so nothing is exponential.
fn fnmatch(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    loop {
        if p == pattern.len() && t == text.len() {
            return true;
        }
        let byte = text.get(t).copied();
        match pattern
            .get(p..)
            .filter(|rest| !rest.is_empty())
            .map(|rest| step(rest, byte))
        {
            Some(Step::Star) => {
                p += 1;
                star = Some((p, t));
                continue;
            }
            Some(Step::One(true, length)) => {
                p += length;
                t += 1;
                continue;
            }
            _ => {}
        }
        match star {
            Some((after, from)) if from < text.len() => {
                star = Some((after, from + 1));
                (p, t) = (after, from + 1);
            }
            _ => return false,
        }
    }
}

/// Compares the first part of a pattern that is not empty with a byte.
fn step(pattern: &[u8], byte: Option<u8>) -> Step {
    match pattern {
        [b'*', ..] => Step::Star,
        [b'?', ..] => Step::One(byte.is_some(), 1),
        [b'[', set @ ..] => match bracket(set, byte) {
            Some((fits, length)) => Step::One(fits, length + 1),
            // fnmatch takes a bracket that nothing closes for itself.
            None => Step::One(byte == Some(b'['), 1),
        },
        [b'\\', escaped, ..] => Step::One(byte == Some(*escaped), 2),
        // A backslash at the end escapes nothing: glibc matches nothing then.
        [b'\\'] => Step::One(false, 1),
        [plain, ..] => Step::One(byte == Some(*plain), 1),
        [] => Step::One(false, 0),
    }
}

/// Compares a bracket expression, without its opening bracket, with a byte; also gives its length.
fn bracket(set: &[u8], byte: Option<u8>) -> Option<(bool, usize)> {
    let negated = matches!(set.first(), Some(b'!' | b'^'));
    let mut at = usize::from(negated);
    let first = at;
    let mut found = false;
    loop {
        if set.get(at)? == &b']' && at > first {
            break;
        }
        let low = character(set, &mut at)?;
        let mut high = low;
        if set.get(at) == Some(&b'-') && set.get(at + 1).is_some_and(|&next| next != b']') {
            at += 1;
            high = character(set, &mut at)?;
        }
        found |= byte.is_some_and(|byte| (low..=high).contains(&byte));
    }
    Some((byte.is_some() && found != negated, at + 1))
}

/// One character of a bracket expression; a backslash takes the next one as it is.
fn character(set: &[u8], at: &mut usize) -> Option<u8> {
    if set.get(*at)? == &b'\\' {
        *at += 1;
    }
    let byte = *set.get(*at)?;
    *at += 1;
    Some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cases_of_u01() {
        assert!(glob("sd[a-z]", "sda") && !glob("sd[a-z]", "sdaa"));
        assert!(glob("sd[a-z]*", "sda1"));
        assert!(glob("nvme[0-9]*n[0-9]*", "nvme0n1p2") && glob("nvme[0-9]*n[0-9]*", "nvme0c0n1"));
        assert!(glob("mmcblk[0-9]*", "mmcblk0boot0"));
    }

    #[test]
    fn matching_is_whole_and_by_byte() {
        assert!(glob("", "") && glob("*", "") && glob("**", "a/.b") && !glob("?", ""));
        assert!(glob("a*b*c", "aXbbYc") && !glob("a*b*c", "aXbbY"));
        assert!(glob("*[[]mq-deadline]*", "none [mq-deadline] bfq"));
        assert!(!glob("*[[]bfq]*", "none [mq-deadline] bfq"));
        assert!(glob("[!a]", "b") && !glob("[!a]", "a") && !glob("[!a]", ""));
        assert!(glob("[]x]", "]") && glob("[a-]", "-") && !glob("[z-a]", "m"));
        assert!(glob("a[", "a[") && glob("x\\*[a]", "x*a") && glob("[*]", "*"));
        assert!(glob("??", "é") && !glob("?", "é"));
    }

    #[test]
    fn alternatives_are_split_first() {
        assert!(glob("add|change", "change") && !glob("add|change", "add|change"));
        assert!(glob("a|", "") && glob("sd*|x", "x") && !glob("[|]", "|"));
        assert!(
            glob("a\\b", "a\\b"),
            "without a wildcard a backslash is itself"
        );
    }

    #[test]
    fn many_stars_take_no_time() {
        let pattern = "*a".repeat(2_000);
        assert!(!glob(&format!("{pattern}b"), &"a".repeat(20_000)));
    }
}
