//! `[trim]`: whether fstrim.timer trims once a week.

use std::collections::BTreeSet;

use super::fields::Fields;
use super::pattern::Refused;
use super::reader::Reader;
use super::rule::{self, Common};
use super::{At, Origin, When};

/// `[trim]`: switches fstrim.timer, now and at boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrimRule {
    /// The table's header.
    pub at: Origin,
    /// When it counts.
    pub when: When,
    /// Whether fstrim.timer is to be enabled and to run.
    pub timer: At<bool>,
    /// Names of warnings that the author accepts.
    pub allow: BTreeSet<String>,
}

/// Reads `[trim]`; what is wrong goes to the reader.
pub(super) fn read(mut fields: Fields<'_>, reader: &mut Reader) -> Option<TrimRule> {
    let at = reader.origin(fields.header.clone());
    let before = reader.count();
    let Common { when, allow } = rule::common(&mut fields, reader);
    let timer = fields.flag("timer", reader);
    fields.finish_with("", reader, misplaced);
    if timer.is_none() && reader.count() == before {
        reader.report(
            at,
            "this rule sets nothing",
            "write `timer = true` for a weekly trim by fstrim.timer, or `timer = false` for none",
        );
    }
    Some(TrimRule {
        at,
        when,
        timer: timer?,
        allow,
    })
}

/// Answers keys that belong elsewhere.
fn misplaced(key: &str) -> Option<Refused> {
    let help = match key {
        "discard" => {
            "`discard` is a mount option: write `options = [\"discard\"]` in a `[[mount]]` rule"
        }
        "schedule" | "calendar" | "interval" | "on_calendar" | "OnCalendar" | "weekly" => {
            "the timer's own unit says when it runs: `systemctl edit fstrim.timer` changes that"
        }
        "enabled" | "enable" | "fstrim" => "write `timer = true` or `timer = false`",
        _ => return None,
    };
    Some(Refused::new(format!("unknown key `{key}`"), help))
}
