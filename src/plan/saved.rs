//! A plan kept in a file: read by others today, carried out tomorrow, exactly as it stands or not at
//! all.
//!
//! It holds the state that it was made from. To be carried out, it is made anew from that and from
//! the machine as it is by then, and must come out the same: fstab's bytes, the devices and every
//! live value are so bound.

use serde::{Deserialize, Serialize};

use super::{Only, Plan};
use crate::state::Source;

/// The version of the format that this program writes.
pub const SAVED_VERSION: u32 = 1;

/// A file larger than this is no saved plan.
pub const LARGEST: usize = 256 << 20;

/// A plan, and what it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// Version of this format.
    pub version: u32,
    /// Which half of the work was asked for.
    pub only: Only,
    /// True where it was made from facts of the whole machine (`plan --facts`), and not only from
    /// those that its rules ask for.
    pub whole: bool,
    /// The state files, whole.
    pub state: Vec<Source>,
    /// What is to be done.
    pub plan: Plan,
}

impl Saved {
    /// True where a plan does the same to the same things in the same boot.
    pub fn is_work_of(&self, other: &Plan) -> bool {
        let plan = &self.plan;
        let queues = |plan: &Plan| -> Vec<_> {
            let devices = plan.devices.iter();
            devices
                .map(|change| (change.device.clone(), change.settings.clone()))
                .collect()
        };
        plan.boot_id == other.boot_id
            && plan.mounts == other.mounts
            && plan.timer == other.timer
            && plan.files == other.files
            && queues(plan) == queues(other)
    }

    /// As it is written: JSON, indented, with a final newline.
    ///
    /// # Errors
    /// None that is known: all keys are strings. The type of serde_json has one.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut json = serde_json::to_vec_pretty(self)?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads what [`Saved::to_json`] wrote.
    ///
    /// # Errors
    /// In words, without the path: no JSON, another version, a field that is unknown or missing.
    pub fn from_json(json: &[u8]) -> Result<Self, String> {
        /// What every version of the format has.
        #[derive(Deserialize)]
        struct Front {
            version: u32,
        }
        let Front { version } = serde_json::from_slice(json)
            .map_err(|error| format!("this is no plan that `plan --out` wrote: {error}"))?;
        if version != SAVED_VERSION {
            return Err(format!(
                "it has version {version} of the format, and ssdtune {} knows version {SAVED_VERSION} \
                 only: make the plan anew",
                env!("CARGO_PKG_VERSION")
            ));
        }
        serde_json::from_slice(json).map_err(|error| format!("in the saved plan: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_reads_back_and_nothing_else() {
        let saved = Saved {
            version: SAVED_VERSION,
            only: Only::Boot,
            whole: false,
            state: vec![Source {
                name: "state.toml".to_owned(),
                text: "version = 1\n".to_owned(),
            }],
            plan: Plan::default(),
        };
        let json = saved.to_json().unwrap();
        assert_eq!(Saved::from_json(&json).unwrap(), saved);
        let text = String::from_utf8(json).unwrap();
        for (from, to, said) in [
            ("\"version\": 1", "\"version\": 9", "version 9"),
            (
                "\"only\": \"boot\"",
                "\"only\": \"soon\"",
                "unknown variant `soon`",
            ),
            ("\"state\"", "\"estate\"", "unknown field `estate`"),
            ("\"plan\"", "\"plans\"", "unknown field `plans`"),
            ("{", "", "this is no plan"),
        ] {
            let error = Saved::from_json(text.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
