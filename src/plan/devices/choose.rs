//! The scheduler of a device.

use super::Context;
use crate::facts::stack;
use crate::facts::{Device, Module};
use crate::knowledge::{Kernel, Scheduler};
use crate::plan::notices::Notices;
use crate::state::merge::Wanted;

/// The first scheduler of the winning list that the kernel can give this device.
pub(super) fn choose(
    cx: &Context<'_>,
    name: &str,
    device: &Device,
    wanted: &Wanted<'_>,
    notices: &mut Notices,
) -> Option<Scheduler> {
    let winner = wanted.scheduler.as_ref()?;
    let list = &winner.wanted.value;
    let named = winner.rule.select.is_named();
    let origin = Some(cx.place(winner.wanted.origin));
    if !device.queue.contains_key("scheduler") {
        let text = no_scheduler(cx, name, device);
        if named {
            notices.error_of(name, text, origin);
        } else {
            notices.note_of(name, text, origin);
        }
        return None;
    }
    let chosen = list
        .iter()
        .copied()
        .find(|scheduler| cx.facts.can_have(device, *scheduler));
    let Some(chosen) = chosen else {
        let names: Vec<String> = list.iter().map(|s| format!("`{s}`")).collect();
        notices.error_of(
            name,
            format!(
                "cannot have {}: this kernel offers {}, and no module brings another; add one of these to the list",
                names.join(" or "),
                offered(cx, device)
            ),
            origin,
        );
        return None;
    };
    if device.zoned() && chosen != Scheduler::MqDeadline {
        if cx.kernel.is_some_and(|kernel| kernel < Kernel(6, 10)) {
            notices.error_of(
                name,
                "zoned, and before Linux 6.10 only mq-deadline keeps the writes in order: write that",
                origin,
            );
            return None;
        }
        notices.warn_of(
            "zoned",
            &winner.rule.allow,
            name,
            format!("zoned, for which mq-deadline is expected, not {chosen}"),
            origin,
        );
    }
    Some(chosen)
}

/// Why a device has none, to go on after its name.
fn no_scheduler(cx: &Context<'_>, name: &str, device: &Device) -> String {
    let below = cx.layers.disks_of(name);
    if device.slaves.is_empty() || below.is_empty() || below == [name] {
        let heads = stack::paths_of_head(cx.facts, name);
        if heads.is_empty() {
            return "no scheduler there".to_owned();
        }
        return format!(
            "no scheduler here: its paths {} have one, but no udev rule reaches them",
            heads.join(", ")
        );
    }
    format!(
        "no scheduler here: those of {} below count",
        below.join(", ")
    )
}

fn offered(cx: &Context<'_>, device: &Device) -> String {
    let mut names: Vec<&str> = device.offered().iter().map(|s| s.name()).collect();
    for (scheduler, module) in &cx.facts.modules {
        if *module != Module::Absent && !names.contains(&scheduler.name()) {
            names.push(scheduler.name());
        }
    }
    names.join(", ")
}
