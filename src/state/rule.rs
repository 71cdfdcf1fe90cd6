//! What rules of all kinds have: `when` and `allow`, and most of them `optional`.

use std::collections::BTreeSet;

use super::fields::Fields;
use super::reader::Reader;
use super::{DATA_LOSS, WARNINGS, When, when};

/// The keys that any rule may have.
#[derive(Debug)]
pub(super) struct Common {
    /// When it counts.
    pub(super) when: When,
    /// Accepted warnings and risks.
    pub(super) allow: BTreeSet<String>,
}

/// Takes them from a rule.
pub(super) fn common(fields: &mut Fields<'_>, reader: &mut Reader) -> Common {
    Common {
        when: when::read(fields, reader),
        allow: allow(fields, reader),
    }
}

/// Takes the word that it is no error where what a rule names is not there.
pub(super) fn optional(fields: &mut Fields<'_>, reader: &mut Reader) -> bool {
    fields
        .flag("optional", reader)
        .is_some_and(|optional| optional.value)
}

fn allow(fields: &mut Fields<'_>, reader: &mut Reader) -> BTreeSet<String> {
    let mut allowed = BTreeSet::new();
    for at in fields.strings("allow", reader).unwrap_or_default() {
        let known = at.value == DATA_LOSS || WARNINGS.iter().any(|(name, _)| *name == at.value);
        if known {
            allowed.insert(at.value);
        } else {
            let words: Vec<&str> = std::iter::once(DATA_LOSS)
                .chain(WARNINGS.iter().map(|(name, _)| *name))
                .collect();
            reader.unknown_word("warning", &at, &words);
        }
    }
    allowed
}
