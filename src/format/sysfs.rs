//! Values of sysfs attributes.

/// The most that one sysfs attribute can hold: a page.
const LONGEST: usize = 4096;

/// The text of an attribute without the white space around it.
///
/// None where it is longer than a page or no UTF-8: it is then no attribute of the block layer.
pub fn value(bytes: &[u8]) -> Option<&str> {
    if bytes.len() > LONGEST {
        return None;
    }
    std::str::from_utf8(bytes).ok().map(str::trim)
}

/// The number that an attribute holds; `0x` is read too, as the kernel prints bit masks with it.
pub fn number(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(hex) if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            i128::from_str_radix(hex, 16).ok()
        }
        Some(_) => None,
        // `parse` takes a plus, which the kernel never prints.
        None => text
            .strip_prefix('+')
            .is_none()
            .then(|| text.parse().ok())?,
    }
}

/// The truth that an attribute holds: `0` or `1`.
pub fn flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// The schedulers that `queue/scheduler` offers, in its order, and the one in brackets.
///
/// A bare `none` is what kernels print for a device that can have no scheduler at all (bio-based
/// drivers, `elv_iosched_show()` in block/elevator.c): nothing is offered then, and none is active.
pub fn schedulers(text: &str) -> (Vec<&str>, Option<&str>) {
    let mut active = None;
    let mut offered = Vec::new();
    for word in text.split_ascii_whitespace() {
        match word
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            Some(name) => {
                active = Some(name);
                offered.push(name);
            }
            None => offered.push(word),
        }
    }
    if offered == ["none"] && active.is_none() {
        offered.clear();
    }
    (offered, active)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_trimmed_text() {
        assert_eq!(value(b"128\n"), Some("128"));
        assert_eq!(value(b"WDC WD40EFRX-68N \n"), Some("WDC WD40EFRX-68N"));
        assert_eq!(value(b""), Some(""));
        assert_eq!(value(b"\xff\n"), None);
        assert_eq!(value(&[b'a'; 4097]), None);
    }

    #[test]
    fn numbers_are_the_kernels() {
        assert_eq!(number("18446744073709551615"), Some(u64::MAX.into()));
        assert_eq!(number("-1"), Some(-1));
        assert_eq!(number("0x1f"), Some(31));
        for text in ["", "+1", "0x", "0x+1", "1 2", "write back"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(
            (flag("0"), flag("1"), flag("2")),
            (Some(false), Some(true), None)
        );
    }

    #[test]
    fn the_active_scheduler_stands_in_brackets() {
        assert_eq!(
            schedulers("none [mq-deadline] bfq"),
            (vec!["none", "mq-deadline", "bfq"], Some("mq-deadline"))
        );
        assert_eq!(schedulers("[none]"), (vec!["none"], Some("none")));
        assert_eq!(
            schedulers("[none] kyber"),
            (vec!["none", "kyber"], Some("none"))
        );
        assert_eq!(schedulers("none"), (vec![], None));
        assert_eq!(schedulers(""), (vec![], None));
    }
}
