//! What must hold between the keys of a device rule.

use super::ignore::covers;
use super::reader::Reader;
use super::{DeviceRule, Ignore};

/// Refuses a rule that contradicts itself.
pub(super) fn consistent(rule: &DeviceRule, reader: &mut Reader) {
    tables_can_count(rule, reader);
    match &rule.ignore {
        Ignore::Nothing => {}
        Ignore::Everything => {
            let set = rule.scheduler.as_ref().map(|at| at.origin);
            let set = set.or(rule.settings.first().map(|setting| setting.value.origin));
            if let Some(origin) = set {
                reader.report(
                    origin,
                    "this rule both ignores the device and sets something",
                    "remove `ignore = true`, or list the keys to ignore: `ignore = [\"scheduler\"]`",
                );
            }
        }
        Ignore::Keys(keys) => {
            for key in keys {
                let set = rule
                    .settings
                    .iter()
                    .any(|setting| covers(&key.value, setting.under, setting.attribute));
                if set || (key.value == "scheduler" && rule.scheduler.is_some()) {
                    reader.report(
                        key.origin,
                        format!("this rule both ignores and sets `{}`", key.value),
                        "remove one of the two",
                    );
                }
            }
        }
    }
}

/// Refuses tables of schedulers that the rule's own list excludes.
fn tables_can_count(rule: &DeviceRule, reader: &mut Reader) {
    let Some(list) = &rule.scheduler else {
        return;
    };
    let mut told = Vec::new();
    for setting in &rule.settings {
        if let Some(under) = setting.under
            && !list.value.contains(&under)
            && !told.contains(&under)
        {
            told.push(under);
            reader.report(
                setting.value.origin,
                format!("`{under}` is not in this rule's `scheduler`, so its table never counts"),
                format!("add `{under}` to the list, or set this in a rule without `scheduler`"),
            );
        }
    }
}

/// Refuses a rule without effect.
pub(super) fn sets_something(rule: &DeviceRule, reader: &mut Reader) {
    if rule.ignore == Ignore::Nothing && rule.scheduler.is_none() && rule.settings.is_empty() {
        reader.report(
            rule.at,
            "this rule sets nothing",
            "set e.g. `scheduler` or `read_ahead_kb`, or write `ignore = true` to keep earlier \
             rules off these devices",
        );
    }
}
