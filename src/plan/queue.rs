//! A device's queue as one value, and the writes that lead from one to another.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::knowledge::attributes::{self, Attribute, Place};
use crate::knowledge::{Scheduler, Value};

/// An attribute of the tables, written as a state file writes it (`bfq.low_latency`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub &'static Attribute);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.key())
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.key())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        attributes::by_key(&key)
            .map(Self)
            .ok_or_else(|| D::Error::custom(format!("`{key}` is no queue attribute")))
    }
}

/// Values of a queue by attribute, in the order in which they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Queue(pub BTreeMap<Key, Value>);

impl Queue {
    /// The value of an attribute.
    pub fn get(&self, attribute: &'static Attribute) -> Option<&Value> {
        self.0.get(&Key(attribute))
    }

    /// Sets a value.
    pub fn set(&mut self, attribute: &'static Attribute, value: Value) {
        self.0.insert(Key(attribute), value);
    }

    /// The active scheduler.
    pub fn scheduler(&self) -> Option<Scheduler> {
        self.0
            .iter()
            .find(|(key, _)| key.0.name == "scheduler")
            .and_then(|(_, value)| Scheduler::from_name(&value.0))
    }

    /// The writes that lead from `now` to this queue, in the kernel's order.
    ///
    /// A write may reset what was right before: a scheduler switch wipes nr_requests and the
    /// tunables, a limit raises read_ahead_kb. What it resets is written again after it.
    pub fn writes_from(&self, now: &Self) -> Vec<(&'static Attribute, &Value)> {
        let mut stale: Vec<&'static str> = Vec::new();
        let mut writes = Vec::new();
        let switches = self.scheduler().is_some() && self.scheduler() != now.scheduler();
        for (key, value) in &self.0 {
            let attribute = key.0;
            if let Place::Iosched(owner) = attribute.place
                && self.scheduler().or(now.scheduler()) != Some(owner)
            {
                continue;
            }
            let wiped = stale.contains(&attribute.name)
                || (switches && attribute.reset_by_scheduler_switch());
            if now.get(attribute) == Some(value) && !wiped {
                continue;
            }
            stale.extend(attribute.resets);
            writes.push((attribute, value));
        }
        writes
    }
}

#[cfg(feature = "docgen")]
impl schemars::JsonSchema for Queue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "description": "values by queue attribute, named as in a state file",
            "additionalProperties": { "type": "string" }
        })
    }
}
