//! `ignore`: what a device rule leaves alone.

use toml::Spanned;
use toml::de::DeValue;

use super::Ignore;
use super::device_teach::unknown_setting;
use super::fields::{Fields, string};
use super::reader::Reader;
use crate::knowledge::Scheduler;
use crate::knowledge::attributes::{self, Attribute, Kind, Place, Settable};

/// Reads `ignore`: a flag, or a list of keys.
pub(super) fn read(fields: &mut Fields<'_>, reader: &mut Reader) -> Ignore {
    let Some(field) = fields.take("ignore") else {
        return Ignore::Nothing;
    };
    let span = field.raw.span();
    match field.raw.into_inner() {
        DeValue::Boolean(true) => Ignore::Everything,
        DeValue::Boolean(false) => Ignore::Nothing,
        DeValue::Array(list) => {
            if list.is_empty() {
                reader.report(
                    reader.origin(span),
                    "`ignore` is an empty list",
                    "write `ignore = true` for all of the device, or list keys",
                );
            }
            let mut keys = Vec::with_capacity(list.len());
            for item in list {
                let Some(at) = string("ignore", item, "`true` or a list of keys", reader) else {
                    continue;
                };
                if is_setting(&at.value) {
                    keys.push(at);
                } else {
                    unknown_setting(&at, reader);
                }
            }
            Ignore::Keys(keys)
        }
        other => {
            let help = match &other {
                DeValue::String(text) if is_setting(text) => {
                    Some(format!("write `ignore = [\"{text}\"]`"))
                }
                _ => None,
            };
            let raw = Spanned::new(span, other);
            reader.mistyped("ignore", "`true` or a list of keys", &raw, help);
            Ignore::Nothing
        }
    }
}

/// Whether a key of `ignore` is one that a rule could set.
fn is_setting(key: &str) -> bool {
    let found = match key.split_once('.') {
        Some((table, name)) => Scheduler::ALL
            .into_iter()
            .find(|scheduler| scheduler.name() == table)
            .and_then(|scheduler| {
                attributes::tunable(scheduler, name).or_else(|| attributes::queue(name))
            })
            .filter(|attribute| attribute.kind != Kind::Scheduler),
        None => attributes::queue(key),
    };
    found.is_some_and(|attribute| !matches!(attribute.settable, Settable::No(_)))
}

/// Whether a key of `ignore` stands for a setting: `nr_requests` for that in any table,
/// `bfq.nr_requests` for that in bfq's.
pub fn covers(key: &str, under: Option<Scheduler>, attribute: &Attribute) -> bool {
    match key.split_once('.') {
        Some((table, name)) => {
            name == attribute.name && under.is_some_and(|under| under.name() == table)
        }
        // async_depth is one thing as a queue attribute and another as mq-deadline's tunable.
        None => key == attribute.name && attribute.place == Place::Queue,
    }
}
