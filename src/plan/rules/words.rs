//! What the comments say: for whoever opens the file at night.

use crate::state::{At, DeviceRule, DeviceSelector, Ignore, Pattern, push_visible};

/// The longest comment, in characters; a line that udev finds too long ends the file for it.
const LONGEST: usize = 100;

/// Where a rule was written, and what it takes: `state.toml:3: non-rotational disks on sata`.
pub(super) fn about(rule: &DeviceRule, place: &str) -> String {
    let which = which(&rule.select);
    let text = match &rule.ignore {
        Ignore::Nothing => format!("{place}: {which}"),
        Ignore::Everything => format!("{place}: leaves {which} alone"),
        Ignore::Keys(keys) => {
            let keys: Vec<&str> = keys.iter().map(|at| at.value.as_str()).collect();
            format!("{place}: leaves {} alone on {which}", keys.join(", "))
        }
    };
    comment(&text)
}

/// The devices of a selector, in words.
fn which(select: &DeviceSelector) -> String {
    let mut text = String::new();
    let flags = [
        (&select.rotational, "rotational ", "non-rotational "),
        (&select.removable, "removable ", "fixed "),
        (&select.zoned, "zoned ", "unzoned "),
    ];
    for (flag, yes, no) in flags {
        if let Some(at) = flag {
            text.push_str(if at.value { yes } else { no });
        }
    }
    text.push_str("disks");
    if !select.transport.is_empty() {
        let words: Vec<&str> = select
            .transport
            .iter()
            .map(|at| at.value.as_str())
            .collect();
        text.push_str(&format!(" on {}", words.join(" or ")));
    }
    let patterns = [
        (" named ", &select.name),
        (" by the id ", &select.id),
        (" with serial number ", &select.serial),
        (" with WWN ", &select.wwn),
        (" of model ", &select.model),
        (" made by ", &select.vendor),
        (" under ", &select.mount),
    ];
    for (words, patterns) in patterns {
        let any = matches!(patterns.as_slice(), [at] if at.value.text == "*");
        if words == " named " && any {
            text.insert_str(0, "all ");
        } else if !patterns.is_empty() {
            text.push_str(words);
            text.push_str(&listed(patterns));
        }
    }
    text
}

/// The first few patterns.
fn listed(patterns: &[At<Pattern>]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<&str> = patterns
        .iter()
        .take(SHOWN)
        .map(|at| at.value.text.as_str())
        .collect();
    match patterns.len().saturating_sub(SHOWN) {
        0 => shown.join(" or "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Text that is safe in a comment: one line, not endless, nothing that cannot be seen, and no
/// backslash at its end, by which a line goes on in the next.
pub(super) fn comment(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST));
    match text.char_indices().nth(LONGEST) {
        None => push_visible(&mut out, text),
        Some((end, _)) => {
            push_visible(&mut out, &text[..end]);
            out.push('…');
        }
    }
    if out.ends_with('\\') {
        out.push('.');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stay_comments() {
        assert_eq!(comment("a\nRUN+=\"x\""), "a\\nRUN+=\"x\"");
        assert_eq!(comment("state\\"), "state\\.");
        assert_eq!(comment("a\u{0}\u{202e}b"), "a\\u{0}\\u{202e}b");
        assert!(comment(&"x".repeat(1 << 20)).len() < 110);
        assert!(comment(&"\n".repeat(1 << 20)).len() < 1000);
    }
}
