//! `[[device]]`: reads a rule on queue attributes.

use toml::de::{DeTable, DeValue};

use super::device_teach::{unknown, unknown_scheduler, unknown_tunable};
use super::fields::{Fields, Key, Raw, number, strings};
use super::reader::Reader;
use super::rule::{self, Common};
use super::{
    At, DATA_LOSS, DeviceRule, DeviceSelector, Setting, device_check as check, ignore, matching,
};
use crate::knowledge::Scheduler;
use crate::knowledge::attributes::{self, ATTRIBUTES, Attribute, Kind, Place, Settable};

/// Reads one rule; what is wrong goes to the reader.
pub(super) fn read(mut fields: Fields<'_>, reader: &mut Reader) -> DeviceRule {
    let at = reader.origin(fields.header.clone());
    let before = reader.count();
    let Common { when, allow } = rule::common(&mut fields, reader);
    let optional = rule::optional(&mut fields, reader);
    let has_match = fields.has("match");
    let select = fields
        .table("match", reader)
        .map_or_else(DeviceSelector::default, |fields| {
            matching::read_device(fields, reader)
        });
    let mut rule = DeviceRule {
        at,
        when,
        select,
        optional,
        ignore: ignore::read(&mut fields, reader),
        scheduler: fields
            .take("scheduler")
            .and_then(|field| schedulers(field.raw, reader)),
        settings: Vec::new(),
        allow,
    };

    let mut misspelt = false;
    let (rest, known) = fields.rest();
    for (key, value) in rest {
        if let Some(scheduler) = Scheduler::ALL
            .into_iter()
            .find(|s| s.name() == key.get_ref())
        {
            table(scheduler, key, value, reader, &mut rule);
        } else if let Some(attribute) = attributes::queue(key.get_ref()) {
            setting(attribute, None, &value, reader, &mut rule);
        } else {
            misspelt = true;
            unknown(&key, &value, &known, reader);
        }
    }
    rule.settings.sort_by_key(|setting| setting.value.origin);
    // What is missing may just be misspelt.
    if !has_match && !misspelt {
        reader.report(
            rule.at,
            "this rule does not say which devices it takes",
            SAY_WHICH,
        );
    }
    let clean = reader.count() == before;
    check::consistent(&rule, reader);
    if clean {
        check::sets_something(&rule, reader);
    }
    rule
}

/// How a rule says which devices it takes.
const SAY_WHICH: &str = "write e.g. `match.rotational = false` or `match.name = \"*\"`; keys: `name`, \
    `id`, `serial`, `wwn`, `model`, `vendor`, `transport`, `rotational`, `removable`, `zoned`, `mount`";

/// Reads the schedulers in order of preference.
fn schedulers(raw: Raw<'_>, reader: &mut Reader) -> Option<At<Vec<Scheduler>>> {
    let origin = reader.origin(raw.span());
    let mut list: Vec<Scheduler> = Vec::new();
    let before = reader.count();
    for at in strings("scheduler", raw, reader) {
        let Some(scheduler) = Scheduler::from_name(&at.value) else {
            unknown_scheduler(&at, reader);
            continue;
        };
        if list.contains(&scheduler) {
            reader.report(
                at.origin,
                format!("`{scheduler}` is already in the list"),
                "name each scheduler once, the one you prefer first",
            );
        } else if list.contains(&Scheduler::None) {
            reader.report(
                at.origin,
                format!("`{scheduler}` after `none` is never reached: `none` can always be had"),
                "put `none` last",
            );
        }
        list.push(scheduler);
    }
    (reader.count() == before).then_some(At {
        value: list,
        origin,
    })
}

/// Reads a scheduler's table: its tunables, and any queue attribute.
fn table(
    scheduler: Scheduler,
    key: Key<'_>,
    raw: Raw<'_>,
    reader: &mut Reader,
    rule: &mut DeviceRule,
) {
    let DeValue::Table(table) = raw.get_ref() else {
        let help =
            format!("write `{scheduler}.nr_requests = 128`, or `scheduler = \"{scheduler}\"`");
        reader.mistyped(scheduler.name(), "a table", &raw, Some(help));
        return;
    };
    if table.is_empty() {
        reader.report(
            reader.origin(key.span()),
            format!("the table of `{scheduler}` sets nothing"),
            format!("write e.g. `{scheduler}.nr_requests = 128`, or leave it out"),
        );
    }
    for (key, value) in table {
        let name = key.get_ref();
        let found = attributes::tunable(scheduler, name).or_else(|| attributes::queue(name));
        match found {
            Some(attribute) if attribute.kind == Kind::Scheduler => reader.report(
                reader.origin(key.span()),
                "`scheduler` cannot depend on the scheduler in effect",
                "write it at the top of the rule",
            ),
            Some(attribute) => setting(attribute, Some(scheduler), value, reader, rule),
            None => unknown_tunable(scheduler, key, reader),
        }
    }
    one_variable(scheduler, table, reader);
}

/// Refuses two names of one variable (bfq's slice_idle and slice_idle_us) in one table.
fn one_variable(scheduler: Scheduler, table: &DeTable<'_>, reader: &mut Reader) {
    let place = Place::Iosched(scheduler);
    for attribute in ATTRIBUTES
        .iter()
        .filter(|attribute| attribute.place == place)
    {
        for other in attribute.resets {
            let mutual = *other < attribute.name
                && attributes::find(other, place)
                    .is_some_and(|other| other.resets.contains(&attribute.name));
            let both = table.get_key_value(attribute.name).zip(table.get(*other));
            if let Some(((key, _), _)) = both.filter(|_| mutual) {
                reader.report(
                    reader.origin(key.span()),
                    format!(
                        "`{}` and `{other}` are one variable of {scheduler}",
                        attribute.name
                    ),
                    "set one of the two",
                );
            }
        }
    }
}

/// Reads one value and adds it to the rule.
fn setting(
    attribute: &'static Attribute,
    under: Option<Scheduler>,
    raw: &Raw<'_>,
    reader: &mut Reader,
    rule: &mut DeviceRule,
) {
    let origin = reader.origin(raw.span());
    let key = written(attribute, under);
    if let Settable::No(why) = attribute.settable {
        reader.say(origin, format!("`{key}` cannot be set: {why}"));
        return;
    }
    let text = match (attribute.kind, raw.get_ref()) {
        (Kind::Boolean, DeValue::Boolean(value)) => value.to_string(),
        (_, DeValue::Integer(digits)) => match number(raw.get_ref()) {
            Some(number) => number.to_string(),
            None => digits.as_str().to_owned(),
        },
        (_, other) => {
            let help = match other {
                DeValue::String(text) if attribute.parse(text).is_ok() => {
                    format!("write it without quotes: `{key} = {text}`")
                }
                _ => attribute.allowed(),
            };
            let expected = match attribute.kind {
                Kind::Boolean => "`true` or `false`",
                _ => "a whole number",
            };
            reader.mistyped(&key, expected, raw, Some(help));
            return;
        }
    };
    match attribute.parse(&text) {
        Ok(value) => {
            if let Settable::Risky { value: risky, why } = attribute.settable
                && value.number() == Some(risky)
                && !rule.allow.contains(DATA_LOSS)
            {
                reader.report(
                    origin,
                    format!("`{key} = {text}` may lose data: {why}"),
                    "if that is meant, add `allow = [\"data-loss\"]` to the rule",
                );
            }
            rule.settings.push(Setting {
                under,
                attribute,
                value: At { value, origin },
            });
        }
        Err(message) => reader.say(origin, message),
    }
}

/// A setting's key as this file has it: `nr_requests`, `bfq.nr_requests`, `bfq.low_latency`.
pub(super) fn written(attribute: &Attribute, under: Option<Scheduler>) -> String {
    match under {
        Some(scheduler) => format!("{scheduler}.{}", attribute.name),
        None => attribute.name.to_owned(),
    }
}
