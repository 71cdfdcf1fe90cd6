//! Rules that take nothing, too much, or the wrong disk after the next boot.

use crate::plan::context::{Context, Notices};
use crate::plan::devices::Rule;
use crate::plan::rules::by_kernel_name;
use crate::state::Pattern;

/// Looks at each rule and what it took.
pub(in crate::plan) fn rules(cx: &Context<'_>, rules: &[Rule<'_>], notices: &mut Notices) {
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
        unstable(cx, rule, notices);
    }
}

/// A rule that names one thing must find it, and only it.
fn named(cx: &Context<'_>, rule: &Rule<'_>, notices: &mut Notices) {
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
        return match cx.facts.mount_at(text.as_bytes()) {
            Some(mount) => format!(
                "`{text}` is {}, and no disk queue is below it ({})",
                mount.fstype, mount.source
            ),
            None => format!("nothing is mounted on `{text}`: mount it, or set `optional = true`"),
        };
    }
    if key == "name" && cx.facts.devices.contains_key(text) {
        let device = &cx.facts.devices[text];
        if device.hidden {
            return format!(
                "`{text}` is a hidden path of an NVMe multipath head: no udev rule reaches it; name the head"
            );
        }
        return format!("`{text}` is there, but the rule's other keys do not hold for it");
    }
    let _ = rule;
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

/// A few names, and how many more.
fn short(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    if names.len() <= SHOWN {
        return names.join(" ");
    }
    format!(
        "{} and {} more",
        names[..SHOWN].join(" "),
        names.len() - SHOWN
    )
}
