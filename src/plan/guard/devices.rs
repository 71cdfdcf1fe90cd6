//! Rules that take nothing, too much, or the wrong disk after the next boot.

use crate::facts::stack::Top;
use crate::plan::context::Context;
use crate::plan::devices::Rule;
use crate::plan::notices::{Notices, short};
use crate::plan::rules::by_kernel_name;
use crate::state::Pattern;

/// Looks at each rule and what it took.
pub(in crate::plan) fn rules<'a>(cx: &Context<'a>, rules: &[Rule<'a>], notices: &mut Notices) {
    for rule in rules {
        named(cx, rule, notices);
        let origin = cx.place(rule.rule.at);
        if rule.took.is_empty() && !rule.rule.select.is_named() {
            notices.note(
                "devices",
                "no device matches this rule now; its boot rule is written all the same",
                Some(origin.clone()),
            );
        }
        for (kind, names) in &rule.passed {
            notices.note(
                "devices",
                format!(
                    "left alone, for a rule takes {kind} only when it asks: {}",
                    short(names)
                ),
                Some(origin.clone()),
            );
        }
        if !rule.zoned.is_empty() {
            notices.note(
                "devices",
                format!(
                    "the scheduler of zoned disks is left alone, for a rule sets it only when it asks for them: {}",
                    short(&rule.zoned)
                ),
                Some(origin.clone()),
            );
        }
        own_read_ahead(cx, rule, notices);
        hidden(cx, rule, notices);
        unstable(cx, rule, notices);
    }
}

/// Of an offline system nothing is known of what lies below a mount point, which a boot rule must
/// name.
pub(in crate::plan) fn offline(cx: &Context<'_>, rules: &[Rule<'_>], notices: &mut Notices) {
    for rule in rules.iter().filter(|rule| !rule.rule.optional) {
        if let Some(at) = rule.rule.select.mount.first() {
            notices.error(
                at.value.text.clone(),
                format!(
                    "what lies below `{}` is known on the running system only: name the disk, or set `optional = true`",
                    at.value.text
                ),
                Some(cx.place(at.origin)),
            );
        }
    }
}

/// A filesystem that does not read through a device's queue has no use for that queue's read-ahead
/// (case S09).
fn own_read_ahead(cx: &Context<'_>, rule: &Rule<'_>, notices: &mut Notices) {
    let mut settings = rule.rule.settings.iter();
    let Some(setting) = settings.find(|setting| setting.attribute.name == "read_ahead_kb") else {
        return;
    };
    let origin = Some(cx.place(setting.value.origin));
    for (target, stack) in rule.matcher.stacks() {
        match &stack.top {
            Top::Device(_) => {}
            Top::Btrfs(uuid) => notices.error_of(
                &target.to_string(),
                format!(
                    "btrfs has a read-ahead of its own, which no queue setting touches: set /sys/fs/btrfs/{uuid}/bdi/read_ahead_kb instead, which lasts until it is unmounted, and take read_ahead_kb out of this rule"
                ),
                origin.clone(),
            ),
            // Where nothing is below at all, that is said of the rule as a whole.
            Top::None(why) if !stack.disks.is_empty() => notices.error_of(
                &target.to_string(),
                format!("no queue setting touches its read-ahead: {why}"),
                origin.clone(),
            ),
            Top::None(_) => {}
        }
    }
}

/// What is written to a hidden path is gone when it comes back.
fn hidden(cx: &Context<'_>, rule: &Rule<'_>, notices: &mut Notices) {
    for name in &rule.took {
        if cx
            .facts
            .devices
            .get(*name)
            .is_some_and(|device| device.hidden)
        {
            notices.warn_of(
                "hidden-path",
                &rule.rule.allow,
                name,
                "a hidden path, which no udev rule reaches: the values are gone after a reboot or a reconnection",
                Some(cx.place(rule.rule.at)),
            );
        }
    }
}

/// A rule that names one thing must find it, and only it.
fn named<'a>(cx: &Context<'a>, rule: &Rule<'a>, notices: &mut Notices) {
    for (key, at) in rule.rule.select.named() {
        let origin = Some(cx.place(at.origin));
        let found = bearers(cx, rule, key, &at.value);
        match found.as_slice() {
            [] if rule.rule.optional => {}
            [] => notices.error(
                at.value.text.clone(),
                not_found(cx, rule, key, &at.value),
                origin,
            ),
            [_] => {}
            [..] if matches!(key, "serial" | "wwn" | "id") => notices.error(
                at.value.text.clone(),
                format!(
                    "{key} `{}` is that of {}: it does not tell them apart; match on another key too",
                    at.value.text,
                    short(&found)
                ),
                origin,
            ),
            [..] => {}
        }
    }
}

/// The devices of a rule that bear a name under this key.
fn bearers<'a>(cx: &Context<'a>, rule: &Rule<'a>, key: &str, pattern: &Pattern) -> Vec<&'a str> {
    rule.took
        .iter()
        .copied()
        .filter(|name| {
            let Some(device) = cx.facts.devices.get(*name) else {
                return false;
            };
            let matches = |text: Option<String>| text.is_some_and(|text| pattern.matches(&text));
            match key {
                "name" => pattern.matches(name),
                "serial" => matches(device.serial.as_ref().map(ToString::to_string)),
                "wwn" => matches(device.wwn.as_ref().map(ToString::to_string)),
                "id" => device.ids.iter().any(|id| pattern.matches(&id.to_string())),
                _ => true,
            }
        })
        .collect()
}

fn not_found(cx: &Context<'_>, rule: &Rule<'_>, key: &str, pattern: &Pattern) -> String {
    let text = &pattern.text;
    if key == "mount" {
        let mut stacks = rule.matcher.stacks().iter();
        let found = stacks.find(|(target, _)| target.as_bytes() == text.as_bytes());
        return match (found, cx.layers.mount_at(text.as_bytes())) {
            (Some((_, stack)), Some(mount)) => match &stack.top {
                Top::None(why) => {
                    format!(
                        "`{text}` is {}, and no disk queue is below it: {why}",
                        mount.fstype
                    )
                }
                _ => format!("the rule's other keys do not hold for what is below `{text}`"),
            },
            (Some((_, stack)), None) => match &stack.top {
                Top::None(why) => format!("no disk is known below `{text}`: {why}"),
                _ => format!("the rule's other keys do not hold for what is below `{text}`"),
            },
            (None, _) => {
                format!("nothing is mounted on `{text}`: mount it, or set `optional = true`")
            }
        };
    }
    if key == "name" && cx.facts.devices.contains_key(text) {
        return format!("`{text}` is there, but the rule's other keys do not hold for it");
    }
    format!(
        "no device has the {key} `{text}`: `ssdtune devices` shows what there is; or set `optional = true`"
    )
}

/// Kernel names follow the order of probing.
fn unstable(cx: &Context<'_>, rule: &Rule<'_>, notices: &mut Notices) {
    let counted = |name: &str| {
        ["sd", "vd", "xvd", "nvme", "mmcblk", "md", "dm-"]
            .iter()
            .any(|kind| name.starts_with(kind))
    };
    if let [mount, ..] = rule.rule.select.mount.as_slice() {
        for name in rule.took.iter().filter(|name| counted(name)) {
            if by_kernel_name(&cx.facts.devices[*name]) {
                notices.warn(
                    "kernel-name",
                    &rule.rule.allow,
                    format!("the boot rule knows `{name}` by this name only, which may be another disk's after the next boot: udev says nothing else of it"),
                    Some(cx.place(mount.origin)),
                );
            }
        }
    }
    for at in &rule.rule.select.name {
        let prefix = at.value.text.as_str();
        if !at.value.literal || !counted(prefix) || !rule.took.contains(&prefix) {
            continue;
        }
        let device = &cx.facts.devices[prefix];
        if device.hidden {
            continue;
        }
        let better = match (&device.serial, &device.wwn) {
            (Some(serial), _) => format!("write `match.serial = \"{serial}\"`"),
            (None, Some(wwn)) => format!("write `match.wwn = \"{wwn}\"`"),
            (None, None) => "match on what does not change".to_owned(),
        };
        notices.warn(
            "kernel-name",
            &rule.rule.allow,
            format!("`{prefix}` may be another disk after the next boot: {better}"),
            Some(cx.place(at.origin)),
        );
    }
}
