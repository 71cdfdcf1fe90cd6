//! What is wrong with one file, collected.

use std::collections::HashMap;
use std::ops::Range;

use toml::de::DeValue;

use super::fields::{Key, Raw};
use super::option_list::Accepted;
use super::pattern::Refused;
use super::visible::quoted;
use super::{At, Origin, Problem};
use crate::knowledge::nearest;

/// Collects what is wrong with one file.
#[derive(Debug)]
pub(super) struct Reader {
    file: u16,
    problems: Vec<Problem>,
    /// Slips still to be looked for: comparing names is slow beside all else, and nobody reads the
    /// thousandth suggestion.
    guesses: u32,
    /// Mount options that were found right, with the filesystems they were asked on.
    pub(super) accepted: HashMap<String, Accepted>,
}

impl Reader {
    /// Starts on a file.
    pub(super) fn new(file: u16) -> Self {
        Self {
            file,
            problems: Vec::new(),
            guesses: 200,
            accepted: HashMap::new(),
        }
    }

    /// What was found.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// How many problems there are so far.
    pub(super) fn count(&self) -> usize {
        self.problems.len()
    }

    /// A range of this file.
    pub(super) fn origin(&self, span: Range<usize>) -> Origin {
        // Files are shorter than 4 GiB: `parse` has looked.
        Origin {
            file: self.file,
            start: u32::try_from(span.start).unwrap_or(u32::MAX),
            end: u32::try_from(span.end).unwrap_or(u32::MAX),
        }
    }

    /// Notes a problem.
    pub(super) fn report(
        &mut self,
        origin: Origin,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems.push(Problem {
            origin,
            message: message.into(),
            help: Some(help.into()),
        });
    }

    /// Notes a problem whose message says what to do.
    pub(super) fn say(&mut self, origin: Origin, message: impl Into<String>) {
        self.problems.push(Problem {
            origin,
            message: message.into(),
            help: None,
        });
    }

    /// Notes a refused text.
    pub(super) fn refuse(&mut self, origin: Origin, refused: Refused) {
        self.problems.push(Problem {
            origin,
            message: refused.message,
            help: refused.help,
        });
    }

    /// Notes a value of another type than the key takes.
    pub(super) fn mistyped(
        &mut self,
        key: &str,
        expected: &str,
        found: &Raw<'_>,
        help: Option<String>,
    ) {
        let message = format!(
            "`{key}`: expected {expected}, found {}",
            kind(found.get_ref())
        );
        let origin = self.origin(found.span());
        self.problems.push(Problem {
            origin,
            message,
            help,
        });
    }

    /// The known name that a word is probably a slip for.
    pub(super) fn guess<'a>(
        &mut self,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        if !self.may_guess() {
            return None;
        }
        self.guessed();
        nearest(word, known)
    }

    /// Whether another slip may be looked for.
    pub(super) fn may_guess(&self) -> bool {
        self.guesses > 0
    }

    /// Counts one, where somebody else has looked for it.
    pub(super) fn guessed(&mut self) {
        self.guesses = self.guesses.saturating_sub(1);
    }

    /// Notes a word that is none of those allowed.
    pub(super) fn unknown_word(&mut self, what: &str, at: &At<String>, allowed: &[&str]) {
        let help = match self.guess(&at.value, allowed.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("allowed: {}", listed(allowed)),
        };
        self.report(
            at.origin,
            format!("unknown {what} {}", quoted(&at.value)),
            help,
        );
    }

    /// Notes a key that nobody took.
    pub(super) fn unknown_key(&mut self, prefix: &str, key: &Key<'_>, known: &[&str]) {
        let help = match self.guess(key.get_ref(), known.iter().copied()) {
            Some(near) => format!("did you mean `{prefix}{near}`?"),
            None => format!("allowed here: {}", listed(known)),
        };
        let name = quoted(&format!("{prefix}{}", key.get_ref()));
        self.report(self.origin(key.span()), format!("unknown key {name}"), help);
    }
}

/// The type of a value, as people say it.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(true) => "`true`",
        DeValue::Boolean(false) => "`false`",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Names in backticks, with commas.
pub(super) fn listed(names: &[&str]) -> String {
    let mut out = String::new();
    for (count, name) in names.iter().enumerate() {
        if count > 0 {
            out.push_str(", ");
        }
        out.push('`');
        out.push_str(name);
        out.push('`');
    }
    out
}
