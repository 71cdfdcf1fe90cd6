//! Which of several rules wins: later ones, setting by setting.

use std::collections::BTreeMap;

use super::ignore::covers;
use super::{At, DeviceRule, Ignore, Origin, Setting};
use crate::knowledge::Scheduler;
use crate::knowledge::attributes::{self, Attribute};

/// What is wanted and where that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Winner<'a, T> {
    /// What is wanted.
    pub wanted: &'a T,
    /// The rule that says so.
    pub rule: &'a DeviceRule,
    /// Earlier values that it replaced, in their order.
    pub overridden: Vec<Origin>,
}

/// The part of a rule that concerns one device: a rule by mount point has settings for the disks
/// at the bottom, and read-ahead for the layer that the filesystem reads through.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The rule.
    pub rule: &'a DeviceRule,
    /// Its choice of a scheduler counts.
    pub scheduler: bool,
    /// Its settings but read-ahead count.
    pub queue: bool,
    /// Its read-ahead counts.
    pub read_ahead: bool,
}

impl Part<'_> {
    fn has(&self, setting: &Setting) -> bool {
        if setting.attribute.name == "read_ahead_kb" {
            self.read_ahead
        } else {
            self.queue
        }
    }
}

impl<'a> From<&'a DeviceRule> for Part<'a> {
    /// All of a rule.
    fn from(rule: &'a DeviceRule) -> Self {
        Self {
            rule,
            scheduler: true,
            queue: true,
            read_ahead: true,
        }
    }
}

/// A setting's identity: the attribute, and the scheduler's table that it stands in. Ordered as
/// attributes are written.
type Key = (&'static Attribute, Option<Scheduler>);

/// What the rules that take one device want of it.
#[derive(Debug, Clone, Default)]
pub struct Wanted<'a> {
    /// Schedulers in order of preference.
    pub scheduler: Option<Winner<'a, At<Vec<Scheduler>>>>,
    settings: BTreeMap<Key, Winner<'a, Setting>>,
    /// Rules that say to leave something alone.
    ignoring: Vec<&'a DeviceRule>,
}

impl<'a> Wanted<'a> {
    /// Merges the rules that take a device, in the order in which they were read.
    ///
    /// `ignore` drops what earlier rules collected; later rules may set it again.
    pub fn new(parts: impl IntoIterator<Item = impl Into<Part<'a>>>) -> Self {
        let mut wanted = Self::default();
        for part in parts {
            wanted.add(part.into());
        }
        wanted
    }

    fn add(&mut self, part: Part<'a>) {
        let rule = part.rule;
        match &rule.ignore {
            Ignore::Nothing => {}
            Ignore::Everything => {
                self.scheduler = None;
                self.settings.clear();
                self.ignoring.push(rule);
            }
            Ignore::Keys(keys) => {
                if keys.iter().any(|key| key.value == "scheduler") {
                    self.scheduler = None;
                }
                self.settings.retain(|_, winner| {
                    !keys
                        .iter()
                        .any(|key| covers(&key.value, winner.wanted.under, winner.wanted.attribute))
                });
                self.ignoring.push(rule);
            }
        }
        if let Some(wanted) = rule.scheduler.as_ref().filter(|_| part.scheduler) {
            let before = self.scheduler.take();
            let overridden = before.map_or_else(Vec::new, |before| {
                replaced(before.overridden, before.wanted.origin)
            });
            self.scheduler = Some(Winner {
                wanted,
                rule,
                overridden,
            });
        }
        for wanted in rule.settings.iter().filter(|setting| part.has(setting)) {
            let key = (wanted.attribute, wanted.under);
            // Two names of one variable: the later wish replaces the earlier one under either.
            let twin = attributes::twin(wanted.attribute);
            let before = self
                .settings
                .remove(&key)
                .or_else(|| self.settings.remove(&(twin?, wanted.under)));
            let overridden = before.map_or_else(Vec::new, |before| {
                replaced(before.overridden, before.wanted.value.origin)
            });
            self.settings.insert(
                key,
                Winner {
                    wanted,
                    rule,
                    overridden,
                },
            );
        }
    }

    /// All settings in the order of writing; those of a scheduler's table count only while it is in
    /// effect.
    pub fn settings(&self) -> impl Iterator<Item = &Winner<'a, Setting>> {
        self.settings.values()
    }

    /// What is wanted of an attribute while a scheduler is in effect: its table wins over the
    /// general key, whichever was written later.
    pub fn value(
        &self,
        attribute: &'static Attribute,
        active: Scheduler,
    ) -> Option<&Winner<'a, Setting>> {
        self.settings
            .get(&(attribute, Some(active)))
            .or_else(|| self.settings.get(&(attribute, None)))
    }

    /// What is wanted while a scheduler is in effect, in the order of writing: each attribute once.
    pub fn in_effect(
        &self,
        active: Option<Scheduler>,
    ) -> impl Iterator<Item = &Winner<'a, Setting>> {
        self.settings
            .iter()
            .filter(move |((attribute, under), _)| match under {
                Some(under) => Some(*under) == active,
                None => active.is_none() || !self.settings.contains_key(&(*attribute, active)),
            })
            .map(|(_, winner)| winner)
    }

    /// The rule that says to leave an attribute alone, where no later rule sets it again; the
    /// attribute `scheduler` stands for the choice of one.
    pub fn ignored(&self, attribute: &'static Attribute) -> Option<&'a DeviceRule> {
        let set = match attribute.name {
            "scheduler" => self.scheduler.is_some(),
            _ => self.settings.keys().any(|(key, _)| *key == attribute),
        };
        if set {
            return None;
        }
        let mut rules = self.ignoring.iter().rev().copied();
        rules.find(|rule| match &rule.ignore {
            Ignore::Nothing => false,
            Ignore::Everything => true,
            Ignore::Keys(keys) => keys.iter().any(|key| key.value == attribute.key()),
        })
    }

    /// True where the rules want nothing.
    pub fn is_empty(&self) -> bool {
        self.scheduler.is_none() && self.settings.is_empty()
    }
}

fn replaced(mut earlier: Vec<Origin>, last: Origin) -> Vec<Origin> {
    earlier.push(last);
    earlier
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::attributes::{queue, tunable};
    use crate::state::{DesiredState, Source, parse};

    fn state(text: &str) -> DesiredState {
        let source = Source {
            name: "state.toml".into(),
            text: text.into(),
        };
        parse(&[source]).unwrap()
    }

    /// The text behind what won, as the file has it.
    fn value(state: &DesiredState, key: &str, active: Scheduler) -> Option<String> {
        let attribute = crate::knowledge::attributes::by_key(key).unwrap();
        let wanted = Wanted::new(&state.devices);
        wanted
            .value(attribute, active)
            .map(|winner| winner.wanted.value.value.to_string())
    }

    #[test]
    fn later_rules_win_setting_by_setting() {
        let state = state(
            "[[device]]\nmatch.name = \"*\"\nscheduler = \"bfq\"\nread_ahead_kb = 64\nnomerges = 1\n\
             [[device]]\nmatch.name = \"sda\"\nread_ahead_kb = 256\n\
             [[device]]\nmatch.name = \"sda\"\nread_ahead_kb = 512\n",
        );
        let wanted = Wanted::new(&state.devices);
        let ahead = wanted
            .value(queue("read_ahead_kb").unwrap(), Scheduler::Bfq)
            .unwrap();
        assert_eq!(ahead.wanted.value.value.0, "512");
        assert_eq!(ahead.rule, &state.devices[2]);
        let text =
            |origin: &Origin| &state.sources[0].text[origin.start as usize..origin.end as usize];
        assert_eq!(
            ahead.overridden.iter().map(text).collect::<Vec<_>>(),
            ["64", "256"]
        );
        assert_eq!(
            value(&state, "nomerges", Scheduler::None).as_deref(),
            Some("1")
        );
        assert_eq!(
            wanted.scheduler.as_ref().unwrap().wanted.value,
            [Scheduler::Bfq]
        );
    }

    #[test]
    fn a_later_rule_wins_over_the_other_name_of_the_same_variable() {
        let state = state(
            "[[device]]\nmatch.name = \"*\"\nbfq.slice_idle_us = 500\n\
             [[device]]\nmatch.name = \"sda\"\nbfq.slice_idle = 0\n",
        );
        let wanted = Wanted::new(&state.devices);
        let left: Vec<_> = wanted.settings().collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].wanted.attribute.name, "slice_idle");
        assert_eq!(left[0].overridden.len(), 1);
    }

    #[test]
    fn a_schedulers_table_wins_while_it_is_in_effect() {
        let state = state(
            "[[device]]\nmatch.name = \"*\"\nbfq.nr_requests = 128\nbfq.low_latency = true\n\
             [[device]]\nmatch.name = \"*\"\nnr_requests = 64\n",
        );
        assert_eq!(
            value(&state, "nr_requests", Scheduler::Bfq).as_deref(),
            Some("128")
        );
        assert_eq!(
            value(&state, "nr_requests", Scheduler::None).as_deref(),
            Some("64")
        );
        assert_eq!(value(&state, "bfq.low_latency", Scheduler::None), None);
        let wanted = Wanted::new(&state.devices);
        let names = |active| -> Vec<_> {
            wanted
                .in_effect(Some(active))
                .map(|winner| {
                    (
                        winner.wanted.attribute.name,
                        winner.wanted.value.value.0.as_str(),
                    )
                })
                .collect()
        };
        assert_eq!(
            names(Scheduler::Bfq),
            [("nr_requests", "128"), ("low_latency", "1")]
        );
        assert_eq!(names(Scheduler::Kyber), [("nr_requests", "64")]);
    }

    #[test]
    fn ignoring_drops_what_came_before_and_later_rules_set_again() {
        let everything = state(
            "[[device]]\nmatch.name = \"*\"\nscheduler = \"bfq\"\nread_ahead_kb = 64\n\
             [[device]]\nmatch.name = \"sda\"\nignore = true\n\
             [[device]]\nmatch.name = \"sda\"\nnomerges = 1\n",
        );
        let wanted = Wanted::new(&everything.devices);
        assert_eq!(wanted.settings().count(), 1);
        assert!(wanted.scheduler.is_none());
        let rule = &everything.devices[1];
        assert_eq!(wanted.ignored(queue("read_ahead_kb").unwrap()), Some(rule));
        assert_eq!(wanted.ignored(queue("scheduler").unwrap()), Some(rule));
        assert_eq!(wanted.ignored(queue("nomerges").unwrap()), None);

        let keys = state(
            "[[device]]\nmatch.name = \"*\"\nscheduler = [\"bfq\", \"none\"]\nbfq.low_latency = true\n\
             bfq.nr_requests = 128\nnr_requests = 64\nnone.nr_requests = 32\n\
             [[device]]\nmatch.name = \"sda\"\nignore = [\"scheduler\", \"bfq.low_latency\", \"none.nr_requests\"]\n",
        );
        let keys = DesiredState {
            devices: keys.devices,
            ..DesiredState::default()
        };
        let wanted = Wanted::new(&keys.devices);
        assert!(wanted.scheduler.is_none());
        let left: Vec<_> = wanted
            .settings()
            .map(|w| (w.wanted.attribute.name, w.wanted.under))
            .collect();
        assert_eq!(
            left,
            [("nr_requests", None), ("nr_requests", Some(Scheduler::Bfq))]
        );
        let low_latency = tunable(Scheduler::Bfq, "low_latency").unwrap();
        assert!(wanted.ignored(low_latency).is_some());
        assert!(!wanted.is_empty());
        assert!(Wanted::default().is_empty());
    }
}
