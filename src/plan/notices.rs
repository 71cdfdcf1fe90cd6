//! The sentences of a plan, as they come up: alike ones are folded into one.

use std::collections::{BTreeSet, HashMap};

use super::Notice;

/// Names that a folded sentence lists before it counts the rest.
const SHOWN: usize = 8;

/// What a sentence is about, put before it; those that differ in nothing else are folded.
enum About {
    /// The sentence says so itself.
    Itself,
    /// Things by name: `sda`, `/home`.
    Names(Vec<String>),
    /// Lines of a file.
    Lines(String, Vec<u32>),
}

struct Sentence {
    name: String,
    about: About,
    text: String,
    origin: Option<String>,
}

/// Sentences in the order in which they came up.
#[derive(Default)]
struct List {
    sentences: Vec<Sentence>,
    /// By name, text and place.
    known: HashMap<(String, String, Option<String>), usize>,
}

/// The sentences of a plan.
#[derive(Default)]
pub(super) struct Notices {
    errors: List,
    warnings: List,
    notes: List,
}

/// Errors, warnings and notes, as a plan has them.
pub(super) type Finished = (Vec<Notice>, Vec<Notice>, Vec<Notice>);

impl Notices {
    /// Why the plan cannot be applied.
    pub fn error(
        &mut self,
        subject: impl Into<String>,
        text: impl Into<String>,
        origin: Option<String>,
    ) {
        self.errors
            .push(subject.into(), About::Itself, text.into(), origin);
    }

    /// The same of one of many things; the text goes on after "`NAME`: ".
    pub fn error_of(&mut self, name: &str, text: impl Into<String>, origin: Option<String>) {
        self.errors
            .fold("", About::Names(vec![name.to_owned()]), text.into(), origin);
    }

    /// The same of one of many lines of a file.
    pub fn error_on(
        &mut self,
        path: &str,
        line: u32,
        text: impl Into<String>,
        origin: Option<String>,
    ) {
        let about = About::Lines(path.to_owned(), vec![line]);
        self.errors.fold("fstab", about, text.into(), origin);
    }

    /// A warning by its name, unless the rule behind it says that it is known.
    pub fn warn(
        &mut self,
        name: &str,
        allow: &BTreeSet<String>,
        text: impl Into<String>,
        origin: Option<String>,
    ) {
        if !allow.contains(name) {
            self.warnings
                .push(name.to_owned(), About::Itself, text.into(), origin);
        }
    }

    /// The same of one of many things.
    pub fn warn_of(
        &mut self,
        name: &str,
        allow: &BTreeSet<String>,
        of: &str,
        text: impl Into<String>,
        origin: Option<String>,
    ) {
        if !allow.contains(name) {
            let about = About::Names(vec![of.to_owned()]);
            self.warnings.fold(name, about, text.into(), origin);
        }
    }

    /// The same of one of many lines of a file.
    pub fn warn_on(
        &mut self,
        name: &str,
        allow: &BTreeSet<String>,
        (path, line): (&str, u32),
        text: impl Into<String>,
    ) {
        if !allow.contains(name) {
            let about = About::Lines(path.to_owned(), vec![line]);
            self.warnings.fold(name, about, text.into(), None);
        }
    }

    /// What is worth a line.
    pub fn note(
        &mut self,
        subject: impl Into<String>,
        text: impl Into<String>,
        origin: Option<String>,
    ) {
        self.notes
            .push(subject.into(), About::Itself, text.into(), origin);
    }

    /// The same of one of many things.
    pub fn note_of(&mut self, name: &str, text: impl Into<String>, origin: Option<String>) {
        self.notes
            .fold("", About::Names(vec![name.to_owned()]), text.into(), origin);
    }

    /// All that was said.
    pub fn finish(self) -> Finished {
        (
            self.errors.finish(),
            self.warnings.finish(),
            self.notes.finish(),
        )
    }
}

impl List {
    fn push(&mut self, name: String, about: About, text: String, origin: Option<String>) {
        self.sentences.push(Sentence {
            name,
            about,
            text,
            origin,
        });
    }

    /// Adds to a sentence that says the same of something else, or says it anew.
    fn fold(&mut self, name: &str, about: About, text: String, origin: Option<String>) {
        let key = (name.to_owned(), text, origin);
        if let Some(sentence) = self
            .known
            .get(&key)
            .and_then(|index| self.sentences.get_mut(*index))
        {
            match (&mut sentence.about, about) {
                (About::Names(all), About::Names(more)) => all.extend(more),
                (About::Lines(_, all), About::Lines(_, more)) => all.extend(more),
                _ => {}
            }
            return;
        }
        self.push(key.0.clone(), about, key.1.clone(), key.2.clone());
        self.known.insert(key, self.sentences.len() - 1);
    }

    fn finish(self) -> Vec<Notice> {
        self.sentences.into_iter().map(Sentence::finish).collect()
    }
}

impl Sentence {
    fn finish(self) -> Notice {
        let text = match &self.about {
            About::Itself => self.text,
            About::Names(names) => format!("{}: {}", quoted(names), self.text),
            About::Lines(path, lines) => {
                let text = self.text;
                match lines[..] {
                    [line] => format!("`{path}` line {line}: {text}"),
                    _ => format!("`{path}` {}: {text}", numbers(lines)),
                }
            }
        };
        let name = match &self.about {
            About::Names(names) if self.name.is_empty() => {
                names.first().cloned().unwrap_or_default()
            }
            _ => self.name,
        };
        Notice {
            name,
            text,
            origin: self.origin,
        }
    }
}

/// `` `sda`, `sdb` and 98 more ``.
fn quoted(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}

/// `lines 1, 2 and 3`.
pub(super) fn numbers(lines: &[u32]) -> String {
    let shown: Vec<String> = lines.iter().take(SHOWN).map(u32::to_string).collect();
    if let Some(more @ 1..) = lines.len().checked_sub(SHOWN) {
        return format!("lines {} and {more} more", shown.join(", "));
    }
    match shown.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("lines {} and {last}", rest.join(", ")),
        _ => format!("line {}", shown.concat()),
    }
}

/// A few names, and how many more.
pub(super) fn short(names: &[&str]) -> String {
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", names[..SHOWN].join(" ")),
        _ => names.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_sentences_are_one() {
        let mut notices = Notices::default();
        for name in ["sda", "sdb"] {
            notices.error_of(name, "no", Some("a:1".to_owned()));
            notices.error_of(name, "never", Some("a:1".to_owned()));
        }
        for line in 1..=20 {
            notices.error_on("/etc/fstab", line, "odd", None);
        }
        let (errors, _, _) = notices.finish();
        let texts: Vec<&str> = errors.iter().map(|notice| notice.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "`sda`, `sdb`: no",
                "`sda`, `sdb`: never",
                "`/etc/fstab` lines 1, 2, 3, 4, 5, 6, 7, 8 and 12 more: odd"
            ]
        );
        assert_eq!(errors[0].name, "sda");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(numbers(&[3]), "line 3");
        assert_eq!(numbers(&[1, 2, 3]), "lines 1, 2 and 3");
    }
}
