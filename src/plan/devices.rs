//! Queues: which rules take a device, what they come to, and what the kernel makes of it.

use std::collections::{BTreeMap, HashMap};

use super::context::Context;
use super::forecast;
use super::notices::Notices;
use super::queue::Queue;
use super::record::{self, Found, Record};
use super::{DeviceChange, Identity, SettingChange, When};
use crate::facts::select::{self, Layer, Matcher, Taken};
use crate::facts::stack;
use crate::facts::{Device, Module};
use crate::format::text::Text;
use crate::knowledge::attributes::{self, Attribute, Expect, Limits, Place};
use crate::knowledge::{Kernel, Scheduler, Value};
use crate::state::merge::{Part, Wanted, Winner};
use crate::state::{At, DeviceRule, Pattern, Setting};

/// A rule that counts on this machine, and what it found there.
pub(super) struct Rule<'a> {
    pub rule: &'a DeviceRule,
    pub matcher: Matcher<'a>,
    /// Devices that it took.
    pub took: Vec<&'a str>,
    /// Devices that it would have taken, had it asked; by kind.
    pub passed: BTreeMap<&'static str, Vec<&'a str>>,
    /// Zoned disks that it took, and whose scheduler it leaves alone.
    pub zoned: Vec<&'a str>,
}

/// Decides over all devices.
pub(super) fn decide<'a>(
    cx: &Context<'a>,
    record: &mut Record,
    notices: &mut Notices,
) -> Vec<DeviceChange> {
    let mut rules: Vec<Rule<'a>> = cx
        .state
        .devices
        .iter()
        .filter(|rule| rule.when.holds(&cx.machine))
        .map(|rule| Rule {
            rule,
            matcher: Matcher::new(&rule.select, cx.facts),
            took: Vec::new(),
            passed: BTreeMap::new(),
            zoned: Vec::new(),
        })
        .collect();
    if rules.is_empty() && cx.record.queues.is_empty() {
        return Vec::new();
    }
    if cx.facts.offline {
        super::guard::devices::offline(cx, &rules, notices);
        return Vec::new();
    }
    let keys = record::device_keys(&cx.facts.devices);
    let candidates = Candidates::new(&rules);
    let mut changes = Vec::new();
    for (name, device) in &cx.facts.devices {
        let taking = taking(&mut rules, &candidates, name, device);
        let untaken = taking.is_empty();
        let key = &keys[name.as_str()];
        let dropped = cx.record.queues.get(key);
        if untaken && dropped.is_none() {
            continue;
        }
        let wanted = Wanted::new(taking);
        let decided = one(cx, name, device, &wanted, dropped, notices);
        if untaken && decided.managed.is_empty() {
            record.queues.remove(key);
        } else {
            keep(record, key, decided.managed);
        }
        changes.extend(decided.change);
    }
    super::guard::devices::rules(cx, &rules, notices);
    changes.sort_by_cached_key(|change| cx.layers.depth(&change.device.name));
    if cx.only.live() { changes } else { Vec::new() }
}

/// The rules that take a device, in their order, each with the part that concerns it.
fn taking<'a>(
    rules: &mut [Rule<'a>],
    candidates: &Candidates<'a>,
    name: &'a str,
    device: &Device,
) -> Vec<Part<'a>> {
    let mut taking = Vec::new();
    for index in candidates.of(name, device) {
        let rule = &mut rules[index];
        match rule.matcher.takes(name, device) {
            Taken::Yes => {}
            Taken::No => continue,
            Taken::NotWithoutAsking(kind) => {
                rule.passed.entry(kind).or_default().push(name);
                continue;
            }
        }
        rule.took.push(name);
        let layer = rule.matcher.layer(name);
        let allowed = select::scheduler_allowed(&rule.rule.select, device);
        if !allowed && rule.rule.scheduler.is_some() {
            rule.zoned.push(name);
        }
        taking.push(Part {
            rule: rule.rule,
            scheduler: layer != Layer::Top && allowed,
            queue: layer != Layer::Top,
            read_ahead: layer != Layer::Disk,
        });
    }
    taking
}

/// The rules so ordered that a device meets few of those that name another outright.
struct Candidates<'a> {
    by_name: HashMap<&'a str, Vec<usize>>,
    by_serial: HashMap<&'a str, Vec<usize>>,
    others: Vec<usize>,
}

impl<'a> Candidates<'a> {
    fn new(rules: &[Rule<'a>]) -> Self {
        let mut found = Self {
            by_name: HashMap::new(),
            by_serial: HashMap::new(),
            others: Vec::new(),
        };
        let literal = |list: &[At<Pattern>]| {
            !list.is_empty() && list.iter().all(|pattern| pattern.value.literal)
        };
        for (index, rule) in rules.iter().enumerate() {
            let select = &rule.rule.select;
            let (map, list) = if literal(&select.serial) {
                (&mut found.by_serial, &select.serial)
            } else if literal(&select.name) {
                (&mut found.by_name, &select.name)
            } else {
                found.others.push(index);
                continue;
            };
            for at in list {
                map.entry(at.value.text.as_str()).or_default().push(index);
            }
        }
        found
    }

    /// The rules that may take a device, in their order.
    fn of(&self, name: &str, device: &Device) -> Vec<usize> {
        let serial = device.serial.as_ref().map(Text::as_bytes);
        let serial = serial.and_then(|serial| std::str::from_utf8(serial).ok());
        let mut all = self.others.clone();
        all.extend(self.by_name.get(name).into_iter().flatten());
        all.extend(
            serial
                .and_then(|serial| self.by_serial.get(serial))
                .into_iter()
                .flatten(),
        );
        all.sort_unstable();
        all.dedup();
        all
    }
}

struct Decided {
    change: Option<DeviceChange>,
    managed: BTreeMap<String, Found>,
}

/// Keeps the value first found, notes the one written.
fn keep(record: &mut Record, key: &str, managed: BTreeMap<String, Found>) {
    if managed.is_empty() {
        record.queues.remove(key);
        return;
    }
    let known = record.queues.entry(key.to_owned()).or_default();
    known.retain(|setting, _| managed.contains_key(setting));
    for (setting, found) in managed {
        known
            .entry(setting)
            .and_modify(|old| old.wrote.clone_from(&found.wrote))
            .or_insert(found);
    }
}

/// One value that somebody wants, with what reading it back should give.
struct Goal<'a> {
    attribute: &'static Attribute,
    wanted: &'a str,
    expect: Expect,
    origin: Option<String>,
}

fn one(
    cx: &Context<'_>,
    name: &str,
    device: &Device,
    wanted: &Wanted<'_>,
    dropped: Option<&BTreeMap<String, Found>>,
    notices: &mut Notices,
) -> Decided {
    let before = current(device);
    let mut decided = Decided {
        change: None,
        managed: BTreeMap::new(),
    };
    let active = before.scheduler();
    let chosen = choose(cx, name, device, wanted, notices);
    let restored = chosen
        .is_none()
        .then(|| back(dropped, "scheduler", active.map(Scheduler::name)))
        .flatten();
    let next = chosen
        .or_else(|| restored.as_deref().and_then(Scheduler::from_name))
        .or(active);
    let mut limits = limits(cx, device, next);
    limits.nr_requests = wanted
        .in_effect(next)
        .find(|winner| winner.wanted.attribute.name == "nr_requests")
        .map(|winner| &winner.wanted.value.value.0)
        // A switch sets it to what nobody can tell.
        .or_else(|| device.queue.get("nr_requests").filter(|_| next == active))
        .and_then(|text| text.parse().ok());

    let mut goals: Vec<Goal<'_>> = Vec::new();
    if let (Some(next), Some(attribute)) = (next, attributes::queue("scheduler"))
        && next_is_wanted(chosen, &restored)
    {
        goals.push(Goal {
            attribute,
            wanted: next.name(),
            expect: Expect::Exactly(Value::from(next.name())),
            origin: wanted
                .scheduler
                .as_ref()
                .map(|winner| cx.places(winner.wanted.origin, &winner.overridden)),
        });
    }
    for winner in wanted.in_effect(next) {
        let Some(attribute) = placed(device, winner.wanted, next) else {
            continue;
        };
        let site = Site {
            name,
            device,
            before: &before,
            next,
            limits: &limits,
        };
        if let Some(goal) = goal(cx, &site, attribute, winner, notices) {
            goals.push(goal);
        }
    }
    let asked: Vec<&'static Attribute> = goals.iter().map(|goal| goal.attribute).collect();
    let given_back = dropped_goals(dropped, &before, &asked, next);
    for (attribute, value) in &given_back {
        goals.push(Goal {
            attribute,
            wanted: value.as_str(),
            expect: Expect::Exactly(Value(value.clone())),
            origin: None,
        });
    }

    let after = forecast::after(&before, &goals_map(&goals, &before));
    for goal in goals.iter().filter(|goal| goal.origin.is_some()) {
        let key = goal.attribute.key();
        decided.managed.insert(
            key,
            Found {
                found: before.get(goal.attribute).map(|value| value.0.clone()),
                wrote: after.get(goal.attribute).map(|value| value.0.clone()),
                under: active
                    .filter(|_| goal.attribute.reset_by_scheduler_switch())
                    .map(|scheduler| scheduler.name().to_owned()),
            },
        );
    }
    let mut settings = Vec::new();
    for goal in &goals {
        let now = before.get(goal.attribute);
        if satisfied(&goal.expect, now) && after.get(goal.attribute) == now {
            continue;
        }
        // Where a scheduler comes with the very value that is wanted, nothing changes to speak of.
        if now.is_none() && goal.attribute.default_number() == goal.wanted {
            continue;
        }
        settings.push(changed(cx, goal, now, device.hidden));
    }
    if settings.is_empty() {
        return decided;
    }
    let written: Vec<&'static Attribute> = goals.iter().map(|goal| goal.attribute).collect();
    settings.extend(forecast::side_effects(
        &before,
        &after,
        &written,
        cx.facts.hz,
    ));
    decided.change = Some(DeviceChange {
        device: identity(name, device),
        under: cx.layers.mounts_over(name),
        on: if device.slaves.is_empty() {
            Vec::new()
        } else {
            cx.layers.disks_of(name)
        },
        before,
        after,
        settings,
    });
    decided
}

fn next_is_wanted(chosen: Option<Scheduler>, restored: &Option<String>) -> bool {
    chosen.is_some() || restored.is_some()
}

/// The value first found, where what ssdtune wrote still stands.
fn back(dropped: Option<&BTreeMap<String, Found>>, key: &str, now: Option<&str>) -> Option<String> {
    let found = dropped?.get(key)?;
    (found.wrote.as_deref() == now)
        .then(|| found.found.clone())
        .flatten()
}

/// Settings of the record that nobody asks for any more, and the values they go back to.
fn dropped_goals(
    dropped: Option<&BTreeMap<String, Found>>,
    before: &Queue,
    asked: &[&'static Attribute],
    next: Option<Scheduler>,
) -> Vec<(&'static Attribute, String)> {
    let mut goals = Vec::new();
    for (key, found) in dropped.into_iter().flatten() {
        let Some(attribute) = attributes::by_key(key) else {
            continue;
        };
        if attribute.name == "scheduler" || asked.contains(&attribute) {
            continue;
        }
        let now = before.get(attribute).map(|value| value.0.as_str());
        if now.is_some()
            && found.wrote.as_deref() == now
            && let Some(value) = first_found(attribute, found, before.scheduler(), next)
        {
            goals.push((attribute, value));
        }
    }
    goals
}

/// The value that a setting goes back to; none where a switch of the scheduler takes care of it, or
/// nobody can tell.
fn first_found(
    attribute: &Attribute,
    found: &Found,
    active: Option<Scheduler>,
    next: Option<Scheduler>,
) -> Option<String> {
    if let Place::Iosched(owner) = attribute.place {
        // It was not there before its scheduler came, which came with the default.
        let default = Some(attribute.default_number()).filter(|number| !number.is_empty());
        return match &found.found {
            _ if next != Some(owner) => None,
            Some(value) => Some(value.clone()),
            None => default.map(str::to_owned),
        };
    }
    if !attribute.reset_by_scheduler_switch() {
        return found.found.clone();
    }
    let under = found.under.as_deref().and_then(Scheduler::from_name);
    if under == next {
        return found.found.clone();
    }
    // A number of requests means something under its scheduler only: `none` takes no more than the
    // hardware has, and has those by default.
    if active != next {
        return None;
    }
    let depth = found.found.as_ref().and_then(|value| value.parse().ok());
    let depth = depth.filter(|_| under == Some(Scheduler::None));
    match attribute.after_switch(next?, depth) {
        Some(value) => Some(value.0),
        None if attribute.name == "nr_requests" => None,
        None => found.found.clone(),
    }
}

/// What each goal comes to: the value that will be read back, or the live one that is right already.
fn goals_map(goals: &[Goal<'_>], before: &Queue) -> Vec<(&'static Attribute, Value)> {
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

fn satisfied(expect: &Expect, now: Option<&Value>) -> bool {
    match (expect, now) {
        (Expect::Exactly(value), Some(now)) => value == now,
        (Expect::Between(low, high), Some(now)) => now
            .number()
            .is_some_and(|number| (*low..=*high).contains(&number)),
        _ => false,
    }
}

fn changed(cx: &Context<'_>, goal: &Goal<'_>, now: Option<&Value>, hidden: bool) -> SettingChange {
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

/// The first scheduler of the winning list that the kernel can give this device.
fn choose(
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

/// Where a setting's file is on this kernel: 7.0 moved mq-deadline's async_depth up a folder.
fn placed(
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
struct Site<'s> {
    name: &'s str,
    device: &'s Device,
    before: &'s Queue,
    next: Option<Scheduler>,
    limits: &'s Limits,
}

fn goal<'a>(
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
fn absent(cx: &Context<'_>, name: &str, device: &Device, attribute: &'static Attribute) -> String {
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

/// The values of a device that the tables know, as they are now.
pub(crate) fn current(device: &Device) -> Queue {
    let mut queue = Queue::default();
    let (_, active) = device
        .queue
        .get("scheduler")
        .map_or((Vec::new(), None), |text| {
            crate::format::sysfs::schedulers(text)
        });
    let active = active.and_then(Scheduler::from_name);
    for (name, text) in &device.queue {
        let Some(attribute) = attributes::queue(name) else {
            continue;
        };
        if name == "scheduler" {
            if let Some(active) = active {
                queue.set(attribute, Value::from(active.name()));
            }
        } else if matches!(attribute.settable, attributes::Settable::No(_)) {
        } else {
            queue.set(attribute, Value(text.clone()));
        }
    }
    if let Some(active) = active {
        for (name, text) in &device.iosched {
            if let Some(attribute) = attributes::tunable(active, name) {
                queue.set(attribute, Value(text.clone()));
            }
        }
    }
    queue
}

fn limits(cx: &Context<'_>, device: &Device, next: Option<Scheduler>) -> Limits {
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

/// Which disk is meant.
pub(crate) fn identity(name: &str, device: &Device) -> Identity {
    Identity {
        name: name.to_owned(),
        number: device.number.clone(),
        diskseq: device.diskseq,
        serial: device.serial.clone(),
        wwn: device.wwn.clone(),
        model: device.model.clone(),
        dm_name: device.dm_name.clone().map(|name| Text(name.0)),
        dm_uuid: device.dm_uuid.clone(),
    }
}
