//! Which rules take a device, found without asking each of them.

use std::collections::{BTreeMap, HashMap};

use crate::facts::Device;
use crate::facts::select::{self, Layer, Matcher, Taken};
use crate::format::text::Text;
use crate::state::merge::Part;
use crate::state::{At, DeviceRule, Pattern};

/// A rule that counts on this machine, and what it found there.
pub(in crate::plan) struct Rule<'a> {
    pub rule: &'a DeviceRule,
    pub matcher: Matcher<'a>,
    /// Devices that it took.
    pub took: Vec<&'a str>,
    /// Devices that it would have taken, had it asked; by kind.
    pub passed: BTreeMap<&'static str, Vec<&'a str>>,
    /// Zoned disks that it took, and whose scheduler it leaves alone.
    pub zoned: Vec<&'a str>,
}

/// The rules that take a device, in their order, each with the part that concerns it.
pub(super) fn taking<'a>(
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
pub(super) struct Candidates<'a> {
    by_name: HashMap<&'a str, Vec<usize>>,
    by_serial: HashMap<&'a str, Vec<usize>>,
    others: Vec<usize>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(rules: &[Rule<'a>]) -> Self {
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
