//! fstrim.timer: whether the next boot starts it, and whether it runs now. Two facts, that `[trim]`
//! wants alike.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::When;
use super::context::{Context, Only};
use super::notices::{Notices, short};
use super::record::{Found, Record};
use crate::facts::{Facts, TIMER, TIMER_LINK, TrimTimer};
use crate::format::fstab::Fstab;
use crate::format::mount_options;
use crate::format::text::Text;
use crate::state::{Origin, TrimRule, is_container};

/// The change of fstrim.timer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TimerChange {
    /// True: the next boot will start it, and would not have; false: the other way round; none: that
    /// stays.
    pub enabled: Option<bool>,
    /// True: it is started; false: it is stopped; none: that stays, or systemd does not run.
    pub running: Option<bool>,
    /// The links that decide over the next boot, in the order in which they change.
    pub links: Vec<LinkEdit>,
    /// Why not now, where it could have been expected.
    pub why: Option<String>,
    /// Where it was asked for, and what that overrode; none for what comes back from the record.
    pub origin: Option<String>,
}

/// A link before and after. None: there is no such link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LinkEdit {
    /// Where it stands.
    pub path: Text,
    /// Where it leads now.
    pub before: Option<Text>,
    /// Where it will lead.
    pub after: Option<Text>,
}

impl TimerChange {
    /// When it takes effect.
    pub fn when(&self) -> When {
        match (self.enabled, self.running) {
            (Some(_), Some(_)) => When::NowAndBoot,
            (None, Some(_)) => When::Now,
            (_, None) => When::Boot,
        }
    }

    /// The half that was asked for; none where nothing is left of it.
    pub fn only(mut self, only: Only) -> Option<Self> {
        if !only.live() {
            self.running = None;
        }
        if !only.files() {
            self.enabled = None;
            self.links.clear();
        }
        (self.running.is_some() || self.enabled.is_some() || !self.links.is_empty()).then_some(self)
    }
}

/// What the timer was, key by key in the record.
const ENABLED: &str = "enabled";
const RUNNING: &str = "running";

/// The rule that counts, and those that it overrode.
fn wanted<'a>(cx: &Context<'a>) -> Option<(&'a TrimRule, Vec<Origin>)> {
    let rules = cx.state.trim.iter();
    let mut rules: Vec<&TrimRule> = rules.filter(|rule| rule.when.holds(&cx.machine)).collect();
    let last = rules.pop()?;
    Some((last, rules.iter().map(|rule| rule.timer.origin).collect()))
}

/// Whether `[trim]` wants the timer; none where it says nothing here.
pub(super) fn wished(cx: &Context<'_>) -> Option<bool> {
    wanted(cx).map(|(rule, _)| rule.timer.value)
}

/// Decides over the timer, and what the record keeps of it.
pub(super) fn decide(
    cx: &Context<'_>,
    record: &mut Record,
    notices: &mut Notices,
) -> Option<TimerChange> {
    let timer = &cx.facts.trim_timer;
    let Some((rule, overridden)) = wanted(cx) else {
        return give_back(cx, record);
    };
    let on = rule.timer.value;
    let place = || Some(cx.place(rule.timer.origin));
    if let Some(why) = refused(cx.facts, on) {
        notices.error(TIMER, why, place());
        return None;
    }
    if on {
        nothing_to_trim(cx.facts, place(), notices);
    }
    if timer.running.is_none() && cx.only == Only::Now {
        let why = format!(
            "fstrim.timer is neither started nor stopped: {}",
            unknown(cx.facts)
        );
        notices.note("trim", why, place());
    }
    remember(record, ENABLED, Some(timer.enabled()), on);
    if cx.only.live() {
        remember(record, RUNNING, timer.running, on);
    }
    let mut change = change(cx, on, timer.running.map(|_| on))?;
    change.origin = Some(cx.places(rule.timer.origin, &overridden));
    Some(change)
}

/// What leads to these two facts; none where both hold.
fn change(cx: &Context<'_>, enabled: bool, running: Option<bool>) -> Option<TimerChange> {
    let timer = &cx.facts.trim_timer;
    let boot = enabled != timer.enabled();
    let now = running.filter(|running| timer.running == Some(!running));
    let why = if !cx.only.live() || cx.facts.offline {
        None
    } else if timer.running == Some(enabled) {
        Some("in effect already".to_owned())
    } else {
        timer
            .running
            .is_none()
            .then(|| unknown(cx.facts).to_owned())
    };
    let change = TimerChange {
        enabled: boot.then_some(enabled),
        running: now,
        links: if boot { links(timer, enabled) } else { vec![] },
        why,
        origin: None,
    };
    let mut change = change.only(cx.only)?;
    if change.when() != When::Boot {
        change.why = None;
    }
    Some(change)
}

/// Why nobody knows whether it runs.
pub(crate) fn unknown(facts: &Facts) -> &'static str {
    match facts.systemd {
        true => "systemd did not say if it runs",
        false => "systemd does not run here",
    }
}

/// The links that make the next boot start it, or not.
fn links(timer: &TrimTimer, enabled: bool) -> Vec<LinkEdit> {
    let gone = |(path, target): (&Text, &Text)| LinkEdit {
        path: path.clone(),
        before: Some(target.clone()),
        after: None,
    };
    match &timer.unit {
        _ if !enabled => timer.links.iter().map(gone).collect(),
        Some(unit) if timer.links.is_empty() => vec![LinkEdit {
            path: TIMER_LINK.into(),
            before: None,
            after: Some(unit.clone()),
        }],
        _ => Vec::new(),
    }
}

/// Why the timer cannot be switched so; none where it can.
fn refused(facts: &Facts, on: bool) -> Option<String> {
    let timer = &facts.trim_timer;
    if !on {
        let vendor = timer.vendor.as_ref().filter(|_| timer.enabled())?;
        return Some(format!(
            "`{vendor}` makes every boot start fstrim.timer, and is the distribution's: `systemctl disable` would not remove it; `systemctl mask --now fstrim.timer` keeps the timer from starting"
        ));
    }
    if is_container(&facts.virtualization) {
        return Some(format!(
            "this is a container ({}), in which fstrim.timer does not start: let the host trim, and take `timer` out here",
            facts.virtualization
        ));
    }
    if let Some(mask) = &timer.masked {
        let runtime = if mask.as_bytes().starts_with(b"/run/") {
            "--runtime "
        } else {
            ""
        };
        return Some(format!(
            "fstrim.timer is masked by `{mask}`: find out why, then `systemctl unmask {runtime}fstrim.timer`"
        ));
    }
    timer.unit.is_none().then(|| {
        "there is no fstrim.timer here: install the package util-linux, or one of its parts that has it; without systemd, let cron run `fstrim --all`".to_owned()
    })
}

/// Keeps what is wanted, with the value first found.
///
/// What was so before ssdtune came is nobody's to give back, and not kept.
fn remember(record: &mut Record, key: &str, now: Option<bool>, wanted: bool) {
    let Some(now) = now else { return };
    if now == wanted && !record.timer.contains_key(key) {
        return;
    }
    let found = Found {
        found: Some(now.to_string()),
        ..Found::default()
    };
    record.timer.entry(key.to_owned()).or_insert(found).wrote = Some(wanted.to_string());
}

/// Gives back what was first found, unless somebody else has changed it since.
fn give_back(cx: &Context<'_>, record: &mut Record) -> Option<TimerChange> {
    let timer = &cx.facts.trim_timer;
    let found = |key: &str, now: Option<bool>| {
        let kept = cx.record.timer.get(key)?;
        let ours = kept.wrote == now.map(|now| now.to_string());
        ours.then(|| kept.found.as_deref() == Some("true"))
    };
    let enabled = found(ENABLED, Some(timer.enabled()));
    let running = found(RUNNING, timer.running);
    if cx.only.files() {
        record.timer.remove(ENABLED);
    }
    if cx.only.live() || timer.running.is_none() {
        record.timer.remove(RUNNING);
    }
    // A unit that is gone, or was masked since, can be neither started nor enabled.
    let can = timer.unit.is_some() && timer.masked.is_none();
    let possible = |on: &bool| !*on || can;
    let enabled = enabled.filter(possible).unwrap_or(timer.enabled());
    change(cx, enabled, running.filter(possible))
}

/// Lines of fstab, as they will be, that discard at once what the timer would trim once a week.
pub(super) fn twice(cx: &Context<'_>, fstab: &[u8], notices: &mut Notices) {
    let Some((rule, _)) = wanted(cx).filter(|(rule, _)| rule.timer.value) else {
        return;
    };
    let place = cx.place(rule.timer.origin);
    let fstab = Fstab::parse(fstab.to_vec());
    for (_, entry) in fstab.entries().filter(|(_, entry)| entry.is_mount()) {
        let token = mount_options::split(entry.options())
            .filter(|item| *item == b"nodiscard" || item.starts_with(b"discard"))
            .last();
        let Some(token) = token.filter(|token| *token != b"nodiscard") else {
            continue;
        };
        let target = Text::from(&*entry.target()).to_string();
        let text = format!(
            "`{}` there and fstrim.timer both trim: one of them is enough",
            String::from_utf8_lossy(token)
        );
        notices.warn_of(
            "trim-twice",
            cx.allowed(),
            &target,
            text,
            Some(place.clone()),
        );
    }
}

/// Says so where everything that is mounted from a disk drops discards; where nobody can tell of
/// one (btrfs and ZFS show no device of their own), nothing.
fn nothing_to_trim(facts: &Facts, place: Option<String>, notices: &mut Notices) {
    let mut dropped = BTreeSet::new();
    for mount in &facts.mounts {
        if matches!(mount.fstype.as_str(), "btrfs" | "zfs" | "bcachefs") {
            return;
        }
        match facts.supports_discard(&mount.device) {
            Some(true) => return,
            Some(false) => dropped.extend(facts.discards_end_at(mount).map(|layer| layer.name)),
            // In memory, or on another machine. A disk that was not read may well be trimmed.
            None if mount.device.starts_with("0:") => {}
            None => return,
        }
    }
    if !dropped.is_empty() {
        let names: Vec<&str> = dropped.iter().map(String::as_str).collect();
        let text = format!(
            "fstrim.timer will find nothing to trim: discards end at {}",
            short(&names)
        );
        notices.note("trim", text, place);
    }
}
