//! One setting of one device: what is wanted, and what the kernel will make of it.

use super::Context;
use crate::facts::Device;
use crate::knowledge::attributes::{self, Attribute, Expect, Limits, Place};
use crate::knowledge::{Scheduler, Value};
use crate::plan::notices::Notices;
use crate::plan::queue::Queue;
use crate::plan::{SettingChange, When};
use crate::state::Setting;
use crate::state::merge::Winner;

/// One value that somebody wants, with what reading it back should give.
pub(super) struct Goal<'a> {
    pub attribute: &'static Attribute,
    pub wanted: &'a str,
    pub expect: Expect,
    pub origin: Option<String>,
}

/// What each goal comes to: the value that will be read back, or the live one that is right already.
pub(super) fn goals_map(goals: &[Goal<'_>], before: &Queue) -> Vec<(&'static Attribute, Value)> {
    goals
        .iter()
        .map(|goal| {
            let now = before.get(goal.attribute);
            let value = match (&goal.expect, now) {
                (expect, Some(now)) if satisfied(expect, Some(now)) => now.clone(),
                (Expect::Exactly(value), _) => value.clone(),
                _ => Value::from(goal.wanted),
            };
            (goal.attribute, value)
        })
        .collect()
}

pub(super) fn satisfied(expect: &Expect, now: Option<&Value>) -> bool {
    match (expect, now) {
        (Expect::Exactly(value), Some(now)) => value == now,
        (Expect::Between(low, high), Some(now)) => now
            .number()
            .is_some_and(|number| (*low..=*high).contains(&number)),
        _ => false,
    }
}

pub(super) fn changed(
    cx: &Context<'_>,
    goal: &Goal<'_>,
    now: Option<&Value>,
    hidden: bool,
) -> SettingChange {
    let remark = match &goal.expect {
        Expect::Exactly(value) if value.0 != goal.wanted => {
            Some(format!("the kernel makes {value} of {}", goal.wanted))
        }
        Expect::Between(..) => Some("rounded up to the kernel's tick".to_owned()),
        _ if goal.origin.is_none() => Some("no longer in the state".to_owned()),
        _ => None,
    };
    SettingChange {
        key: goal.attribute.key(),
        from: now.map(|value| value.0.clone()),
        to: Some(match &goal.expect {
            Expect::Exactly(value) => value.0.clone(),
            _ => goal.wanted.to_owned(),
        }),
        side_effect: false,
        when: match goal.origin {
            // No rule of ours sets it at boot any more, or udev hears nothing of the device.
            None => When::Now,
            Some(_) if hidden => When::Now,
            Some(_) => cx.only.when(),
        },
        origin: goal.origin.clone(),
        remark,
    }
}

/// Where a setting's file is on this kernel: 7.0 moved mq-deadline's async_depth up a folder.
pub(super) fn placed(
    device: &Device,
    setting: &Setting,
    next: Option<Scheduler>,
) -> Option<&'static Attribute> {
    let attribute = setting.attribute;
    if let Place::Iosched(owner) = attribute.place {
        if Some(owner) != next {
            return None;
        }
        if attribute.name == "async_depth"
            && !device.iosched.contains_key("async_depth")
            && device.queue.contains_key("async_depth")
        {
            return attributes::queue("async_depth");
        }
    }
    Some(attribute)
}

/// Where a wish meets a device.
pub(super) struct Site<'s> {
    pub name: &'s str,
    pub device: &'s Device,
    pub before: &'s Queue,
    pub next: Option<Scheduler>,
    pub limits: &'s Limits,
}

pub(super) fn goal<'a>(
    cx: &Context<'_>,
    site: &Site<'_>,
    attribute: &'static Attribute,
    winner: &Winner<'a, Setting>,
    notices: &mut Notices,
) -> Option<Goal<'a>> {
    let Site {
        name,
        device,
        before,
        next,
        limits,
    } = *site;
    let setting = winner.wanted;
    let origin = cx.place(setting.value.origin);
    let appears = matches!(attribute.place, Place::Iosched(owner) if Some(owner) == next && before.scheduler() != next);
    if before.get(attribute).is_none() && !appears {
        let text = absent(cx, name, device, attribute);
        if winner.rule.select.is_named() {
            notices.error_of(name, text, Some(origin));
        } else {
            notices.note_of(name, text, Some(origin));
        }
        return None;
    }
    match attribute.expect(&setting.value.value, limits) {
        Expect::Refused(why) => {
            notices.error_of(name, why, Some(origin));
            None
        }
        expect => Some(Goal {
            attribute,
            wanted: &setting.value.value.0,
            expect,
            origin: Some(cx.places(setting.value.origin, &winner.overridden)),
        }),
    }
}

/// Why a device does not have an attribute, to go on after its name.
pub(super) fn absent(
    cx: &Context<'_>,
    name: &str,
    device: &Device,
    attribute: &'static Attribute,
) -> String {
    let path = format!("/sys/block/{name}/{}", attribute.path());
    let unread = &mut cx.facts.unread.iter();
    if let Some(unread) = unread.find(|unread| unread.path.as_bytes() == path.as_bytes()) {
        return format!("`{}` could not be read: {}", attribute.path(), unread.why);
    }
    let key = attribute.key();
    if !device.slaves.is_empty() {
        return format!(
            "no `{key}` here, for it is stacked on {}",
            cx.layers.disks_of(name).join(", ")
        );
    }
    match (attribute.since, attribute.gone) {
        (Some(since), _) if cx.kernel.is_some_and(|kernel| kernel < since) => {
            format!("no `{key}` there: it came with Linux {since}")
        }
        (_, Some(gone)) if cx.kernel.is_some_and(|kernel| kernel >= gone) => {
            format!("no `{key}` there: it went with Linux {gone}")
        }
        _ => format!("no `{key}` there: the driver does not offer it"),
    }
}

pub(super) fn limits(cx: &Context<'_>, device: &Device, next: Option<Scheduler>) -> Limits {
    let number = |name: &str| device.queue.get(name).and_then(|text| text.parse().ok());
    Limits {
        page_kb: cx.facts.page_kb,
        hz: cx.facts.hz,
        max_hw_sectors_kb: number("max_hw_sectors_kb"),
        logical_block_size: number("logical_block_size"),
        scheduler: next,
        nr_requests: None,
    }
}
