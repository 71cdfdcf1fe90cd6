//! A table of a state file, taken key by key: what nobody took is an unknown key.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

use super::At;
use super::pattern::Refused;
use super::reader::Reader;

/// A key as it was written.
pub(super) type Key<'i> = Spanned<DeString<'i>>;
/// A value as it was written.
pub(super) type Raw<'i> = Spanned<DeValue<'i>>;

/// The keys of one table.
#[derive(Debug)]
pub(super) struct Fields<'i> {
    table: DeTable<'i>,
    /// Where the table was opened: its header, or the first key that brought it about.
    pub(super) header: Range<usize>,
    /// Keys that were asked for: those that are allowed.
    known: Vec<&'static str>,
}

/// A key that was there, and its value.
#[derive(Debug)]
pub(super) struct Field<'i> {
    /// Where the key stands.
    pub(super) at: Range<usize>,
    /// Its value.
    pub(super) raw: Raw<'i>,
}

impl<'i> Fields<'i> {
    /// The keys of a table that was opened at `header`.
    pub(super) fn new(table: DeTable<'i>, header: Range<usize>) -> Self {
        Self {
            table,
            header,
            known: Vec::new(),
        }
    }

    /// True where there is no key, or none is left.
    pub(super) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Whether a key is there, right or wrong.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Takes a key; `name` is the key with the tables that it stands in.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Field<'i>> {
        let key = name.rsplit('.').next().unwrap_or(name);
        self.known.push(key);
        let (at, raw) = self.table.remove_entry(key)?;
        Some(Field { at: at.span(), raw })
    }

    /// Takes a key that is known and cannot be used, and so is not offered.
    pub(super) fn take_refused(&mut self, key: &str) -> Option<Field<'i>> {
        let (at, raw) = self.table.remove_entry(key)?;
        Some(Field { at: at.span(), raw })
    }

    /// Takes a key that holds a table.
    pub(super) fn table(&mut self, name: &'static str, reader: &mut Reader) -> Option<Fields<'i>> {
        let field = self.take(name)?;
        let span = field.raw.span();
        match field.raw.into_inner() {
            DeValue::Table(table) => Some(Fields::new(table, field.at)),
            other => {
                let help = matches!(other, DeValue::Array(_))
                    .then(|| "it stands once, in single brackets, not in `[[ ]]`".to_owned());
                reader.mistyped(name, "a table", &Spanned::new(span, other), help);
                None
            }
        }
    }

    /// Takes a key that is true or false.
    pub(super) fn flag(&mut self, name: &'static str, reader: &mut Reader) -> Option<At<bool>> {
        let field = self.take(name)?;
        match field.raw.get_ref() {
            DeValue::Boolean(value) => Some(At {
                value: *value,
                origin: reader.origin(field.raw.span()),
            }),
            other => {
                let help = match number(other) {
                    Some(0) => Some("write `false`".to_owned()),
                    Some(1) => Some("write `true`".to_owned()),
                    _ => None,
                };
                reader.mistyped(name, "`true` or `false`", &field.raw, help);
                None
            }
        }
    }

    /// Takes a key that is a string.
    pub(super) fn string(&mut self, name: &'static str, reader: &mut Reader) -> Option<At<String>> {
        let field = self.take(name)?;
        string(name, field.raw, "a string", reader)
    }

    /// Takes a key that is a string or a list of strings; none where it is absent.
    pub(super) fn strings(
        &mut self,
        name: &'static str,
        reader: &mut Reader,
    ) -> Option<Vec<At<String>>> {
        let field = self.take(name)?;
        Some(strings(name, field.raw, reader))
    }

    /// What nobody took, and the keys that were asked for.
    pub(super) fn rest(self) -> (impl Iterator<Item = (Key<'i>, Raw<'i>)>, Vec<&'static str>) {
        (self.table.into_iter(), self.known)
    }

    /// Notes every key that nobody took; true where there was none.
    pub(super) fn finish(self, prefix: &str, reader: &mut Reader) -> bool {
        self.finish_with(prefix, reader, |_| None)
    }

    /// The same; some keys have a better answer than the nearest name.
    pub(super) fn finish_with(
        self,
        prefix: &str,
        reader: &mut Reader,
        teach: impl Fn(&str) -> Option<Refused>,
    ) -> bool {
        let (rest, known) = self.rest();
        let mut clean = true;
        for (key, _) in rest {
            clean = false;
            match teach(key.get_ref()) {
                Some(refused) => reader.refuse(reader.origin(key.span()), refused),
                None => reader.unknown_key(prefix, &key, &known),
            }
        }
        clean
    }
}

/// A value that must be a string.
pub(super) fn string(
    name: &str,
    raw: Raw<'_>,
    expected: &str,
    reader: &mut Reader,
) -> Option<At<String>> {
    let span = raw.span();
    match raw.into_inner() {
        DeValue::String(text) => Some(At {
            value: text.into_owned(),
            origin: reader.origin(span),
        }),
        other => {
            let help = match &other {
                DeValue::Integer(n) if n.radix() == 10 => {
                    Some(format!("write it in quotes: \"{}\"", shortened(n.as_str())))
                }
                _ => None,
            };
            reader.mistyped(name, expected, &Spanned::new(span, other), help);
            None
        }
    }
}

/// A value that must be a string or a list of them.
pub(super) fn strings(name: &str, raw: Raw<'_>, reader: &mut Reader) -> Vec<At<String>> {
    let span = raw.span();
    match raw.into_inner() {
        DeValue::Array(list) => {
            if list.is_empty() {
                reader.report(
                    reader.origin(span),
                    format!("`{name}` is an empty list"),
                    "list what it stands for, or leave the key out",
                );
            }
            list.into_iter()
                .filter_map(|item| string(name, item, "a list of strings", reader))
                .collect()
        }
        other => string(
            name,
            Spanned::new(span, other),
            "a string or a list of strings",
            reader,
        )
        .into_iter()
        .collect(),
    }
}

/// A whole number, where the value is one that fits.
pub(super) fn number(value: &DeValue<'_>) -> Option<i128> {
    match value {
        DeValue::Integer(number) => whole(number),
        _ => None,
    }
}

/// The number behind its digits.
pub(super) fn whole(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The front of a text that may be endless; for ASCII.
fn shortened(text: &str) -> Cow<'_, str> {
    match text.get(..40) {
        Some(front) if text.len() > 40 => Cow::Owned(format!("{front}…")),
        _ => Cow::Borrowed(text),
    }
}
