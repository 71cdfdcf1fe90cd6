//! Success is what was read back: a plan against facts gathered after it was carried out.

use crate::facts::{Device, Facts, Mount};
use crate::knowledge::attributes::{Expect, Limits};
use crate::knowledge::options::{self, Mounted, Standing};
use crate::plan::queue::Queue;
use crate::plan::{DeviceChange, LiveMount, MountChange, Plan, devices, mounts};

/// What of a plan's live part did not come out as planned; a sentence each.
pub fn live(plan: &Plan, facts: &Facts) -> Vec<String> {
    let mut wrong = Vec::new();
    for change in &plan.mounts {
        if let Some(live) = &change.live {
            mount(change, live, facts, &mut wrong);
        }
    }
    for change in &plan.devices {
        device(change, facts, &mut wrong);
    }
    wrong.extend(running(plan, facts, false));
    wrong
}

/// What of a plan's links is not as planned; a sentence each.
pub fn links(plan: &Plan, facts: &Facts) -> Vec<String> {
    plan.links()
        .iter()
        .filter(|edit| facts.trim_timer.links.get(&edit.path) != edit.after.as_ref())
        .map(|edit| format!("the link `{}` was changed by somebody else", edit.path))
        .collect()
}

/// A sentence if fstrim.timer does not run, or runs, as planned, or as before.
fn running(plan: &Plan, facts: &Facts, before: bool) -> Option<String> {
    let wanted = plan.timer.as_ref()?.running? != before;
    let word = |running| if running { "runs" } else { "does not run" };
    match facts.trim_timer.running {
        Some(now) if now == wanted => None,
        Some(now) if before => Some(format!(
            "fstrim.timer {}, and was otherwise before",
            word(now)
        )),
        Some(now) => Some(format!(
            "fstrim.timer {} all the same: `systemctl status fstrim.timer` says why",
            word(now)
        )),
        None => Some("whether fstrim.timer runs cannot be told".to_owned()),
    }
}

/// What of a plan's live part is not as it was before; a sentence each.
pub fn undone(plan: &Plan, facts: &Facts) -> Vec<String> {
    let mut wrong = Vec::new();
    for change in &plan.mounts {
        let Some(live) = &change.live else { continue };
        let Some(mount) = live.still(facts.mount_at(change.target.as_bytes())) else {
            continue;
        };
        if !mounts::same_flags(&mount.flags, &live.before) {
            wrong.push(format!(
                "`{}` is mounted with {}, and was with {}",
                change.target,
                mount.flags.join(","),
                live.before.join(",")
            ));
        }
        if sorted(&mount.options) != sorted(&live.options_before) {
            wrong.push(format!(
                "`{}` has other filesystem options than before",
                change.target
            ));
        }
    }
    for change in &plan.devices {
        let device = facts.devices.get(&change.device.name);
        let Some(device) = device.filter(|device| change.device.is(device)) else {
            continue;
        };
        for (key, now, was) in differences(&change.before, &devices::current(device)) {
            wrong.push(format!(
                "`{}`: {key} is {now}, and was {was}",
                change.device.name
            ));
        }
    }
    wrong.extend(running(plan, facts, true));
    for edit in plan.links() {
        if facts.trim_timer.links.get(&edit.path) != edit.before.as_ref() {
            wrong.push(format!("the link `{}` is not as it was", edit.path));
        }
    }
    wrong
}

fn sorted<T: Ord>(list: &[T]) -> Vec<&T> {
    let mut list: Vec<&T> = list.iter().collect();
    list.sort();
    list
}

fn mount(change: &MountChange, live: &LiveMount, facts: &Facts, wrong: &mut Vec<String>) {
    let target = &change.target;
    let Some(mount) = live.still(facts.mount_at(target.as_bytes())) else {
        wrong.push(format!("`{target}` is not mounted any more"));
        return;
    };
    if !mounts::same_flags(&mount.flags, &live.after) {
        wrong.push(format!(
            "`{target}` is mounted with {}, not with {}",
            mount.flags.join(","),
            live.after.join(",")
        ));
    }
    let shown: Vec<String> = mount.options.iter().map(ToString::to_string).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    let mounted = mounted(mount, &shown, facts);
    for token in &live.set {
        if let Standing::Differs { now } = options::standing(token, &mounted) {
            wrong.push(format!(
                "`{target}`: `{token}` was accepted, but {now} is in effect"
            ));
        }
    }
    lost(change, live, mount, wrong);
}

/// Options that were there and were not meant must still be there.
fn lost(change: &MountChange, live: &LiveMount, mount: &Mount, wrong: &mut Vec<String>) {
    let slots: Vec<String> = live
        .set
        .iter()
        .map(|token| options::slot(&live.fstype, token).into_owned())
        .collect();
    for option in &live.options_before {
        let text = option.to_string();
        let meant = slots
            .iter()
            .any(|slot| *slot == options::slot(&live.fstype, &text));
        if !meant && !mount.options.contains(option) {
            wrong.push(format!("`{}` lost its option {text}", change.target));
        }
    }
}

fn mounted<'a>(mount: &'a Mount, shown: &'a [&'a str], facts: &Facts) -> Mounted<'a> {
    Mounted {
        fstype: &mount.fstype,
        flags: &mount.flags,
        options: shown,
        memory_kb: facts.memory_kb,
    }
}

fn device(change: &DeviceChange, facts: &Facts, wrong: &mut Vec<String>) {
    let name = &change.device.name;
    let device = facts.devices.get(name);
    let Some(device) = device.filter(|device| change.device.is(device)) else {
        wrong.push(format!("`{name}` is gone"));
        return;
    };
    let now = devices::current(device);
    let limits = limits(device, facts, &now);
    for (key, value) in &change.after.0 {
        let read = now.get(key.0);
        let right = match (key.0.expect(value, &limits), read) {
            (_, Some(read)) if read == value => true,
            (Expect::Exactly(expected), Some(read)) => expected == *read,
            (Expect::Between(low, high), Some(read)) => read
                .number()
                .is_some_and(|number| (low..=high).contains(&number)),
            _ => false,
        };
        if !right {
            let read = read.map_or_else(|| "not there".to_owned(), |read| format!("{read}"));
            wrong.push(format!(
                "`{name}`: {} reads back {read}, not {value}",
                key.0.key()
            ));
        }
    }
}

fn limits(device: &Device, facts: &Facts, now: &Queue) -> Limits {
    let number = |name: &str| device.queue.get(name).and_then(|text| text.parse().ok());
    Limits {
        page_kb: facts.page_kb,
        hz: facts.hz,
        max_hw_sectors_kb: number("max_hw_sectors_kb"),
        logical_block_size: number("logical_block_size"),
        scheduler: now.scheduler(),
        nr_requests: None,
    }
}

/// Values that differ: key, value now, value wanted.
fn differences(wanted: &Queue, now: &Queue) -> Vec<(String, String, String)> {
    wanted
        .0
        .iter()
        .filter(|(key, value)| now.get(key.0) != Some(value))
        .map(|(key, value)| {
            let read = now
                .get(key.0)
                .map_or_else(|| "not there".to_owned(), ToString::to_string);
            (key.0.key(), read, value.to_string())
        })
        .collect()
}
