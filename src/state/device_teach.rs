//! Answers to keys and names of a device rule that are not known.

use toml::de::DeValue;

use super::At;
use super::fields::{Key, Raw};
use super::reader::Reader;
use super::visible::{in_quotes, quoted};
use crate::knowledge::attributes::{ATTRIBUTES, Attribute, Place, Settable};
use crate::knowledge::{Scheduler, legacy};

/// Answers a name that is no scheduler's.
pub(super) fn unknown_scheduler(at: &At<String>, reader: &mut Reader) {
    let lower = at.value.to_ascii_lowercase();
    if let Some(answer) = legacy::scheduler(&lower) {
        reader.say(at.origin, answer);
    } else if let Some(scheduler) = Scheduler::from_name(&lower) {
        reader.report(
            at.origin,
            format!(
                "unknown scheduler {}: names are in lower case",
                quoted(&at.value)
            ),
            format!("write \"{scheduler}\""),
        );
    } else {
        reader.unknown_word("scheduler", at, &Scheduler::ALL.map(Scheduler::name));
    }
}

/// Notes a key of `ignore` that no rule can set.
pub(super) fn unknown_setting(at: &At<String>, reader: &mut Reader) {
    let keys: Vec<String> = settable().map(Attribute::key).collect();
    let help = match reader.guess(&at.value, keys.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "list keys such as `scheduler`, `read_ahead_kb` or `bfq.low_latency`".to_owned(),
    };
    let message = format!("{} is no setting of a device", quoted(&at.value));
    reader.report(at.origin, message, help);
}

/// Attributes that a rule can set.
pub(super) fn settable() -> impl Iterator<Item = &'static Attribute> {
    ATTRIBUTES
        .iter()
        .filter(|attribute| !matches!(attribute.settable, Settable::No(_)))
}

/// Answers a key of a rule that is no setting.
pub(super) fn unknown(key: &Key<'_>, value: &Raw<'_>, known: &[&'static str], reader: &mut Reader) {
    let name = key.get_ref();
    let origin = reader.origin(key.span());
    if let Some(answer) = legacy::attribute(name, None) {
        return reader.say(origin, answer);
    }
    if let Some(answer) = legacy::mkfs(name) {
        return reader.say(origin, answer);
    }
    if let (DeValue::Table(_), Some(scheduler)) = (value.get_ref(), Scheduler::from_name(name)) {
        return reader.report(
            origin,
            format!("the scheduler `{name}` is called `{scheduler}` today"),
            format!("write `{scheduler}.` in front of its tunables"),
        );
    }
    if let (DeValue::Table(_), Some(answer)) = (value.get_ref(), legacy::scheduler(name)) {
        return reader.say(origin, answer);
    }
    if SELECTORS.contains(&name.as_ref()) {
        return reader.report(
            origin,
            format!("unknown key `{name}`"),
            format!(
                "to select devices write `match.{name} = {}`",
                example(value)
            ),
        );
    }
    if matches!(
        name.as_ref(),
        "options" | "without" | "target" | "size" | "mode"
    ) {
        return reader.report(
            origin,
            format!("`{name}` is no key of a device"),
            "mount options belong in a `[[mount]]` or `[[tmpfs]]` rule",
        );
    }
    let all = known
        .iter()
        .copied()
        .chain(Scheduler::ALL.iter().map(|scheduler| scheduler.name()))
        .chain(
            settable()
                .filter(|a| a.place == Place::Queue)
                .map(|a| a.name),
        );
    let help = match reader.guess(name, all) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`ssdtune explain --list` lists what a device rule can set".to_owned(),
    };
    reader.report(origin, format!("unknown key {}", quoted(name)), help);
}

/// Keys of `match`, where people forget the `match.`.
const SELECTORS: &[&str] = &[
    "name",
    "id",
    "serial",
    "wwn",
    "model",
    "vendor",
    "transport",
    "removable",
    "zoned",
    "mount",
];

fn example(value: &Raw<'_>) -> String {
    match value.get_ref() {
        DeValue::Boolean(value) => value.to_string(),
        DeValue::String(text) => in_quotes(text),
        _ => "...".to_owned(),
    }
}

/// Answers a key of a scheduler's table that is no setting.
pub(super) fn unknown_tunable(scheduler: Scheduler, key: &Key<'_>, reader: &mut Reader) {
    let name = key.get_ref();
    let origin = reader.origin(key.span());
    if let Some(answer) = legacy::attribute(name, Some(scheduler)) {
        return reader.say(origin, answer);
    }
    let all = settable()
        .filter(|a| matches!(a.place, Place::Queue) || a.place == Place::Iosched(scheduler))
        .map(|a| a.name);
    let help = match reader.guess(name, all) {
        Some(near) => format!("did you mean `{scheduler}.{near}`?"),
        None => format!("`ssdtune explain {scheduler}` lists its tunables"),
    };
    let message = format!("unknown key {}", quoted(&format!("{scheduler}.{name}")));
    reader.report(origin, message, help);
}
