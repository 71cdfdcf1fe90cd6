//! What every part of planning looks at.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::When;
use super::layers::Layers;
use super::record::Record;
use crate::facts::Facts;
use crate::knowledge::Kernel;
use crate::state::{DesiredState, Machine, Origin, Places};

/// Which half of the work is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Only {
    /// The running system and the files.
    #[default]
    Both,
    /// The running system.
    Now,
    /// The files: what the next boot makes of them.
    Boot,
}

impl Only {
    /// The running system may be changed.
    pub fn live(self) -> bool {
        self != Self::Boot
    }

    /// The files may be changed.
    pub fn files(self) -> bool {
        self != Self::Now
    }

    /// When a change takes effect that could be made in both places.
    pub fn when(self) -> When {
        match self {
            Self::Both => When::NowAndBoot,
            Self::Now => When::Now,
            Self::Boot => When::Boot,
        }
    }
}

/// The inputs of a plan.
pub(super) struct Context<'a> {
    pub state: &'a DesiredState,
    pub facts: &'a Facts,
    pub record: &'a Record,
    pub only: Only,
    places: Places<'a>,
    allowed: OnceCell<BTreeSet<String>>,
    pub kernel: Option<Kernel>,
    pub machine: Machine<'a>,
    pub layers: Layers<'a>,
}

impl<'a> Context<'a> {
    pub fn new(state: &'a DesiredState, facts: &'a Facts, record: &'a Record, only: Only) -> Self {
        Self {
            state,
            facts,
            record,
            only,
            places: Places::new(&state.sources),
            allowed: OnceCell::new(),
            kernel: Kernel::parse(&facts.kernel),
            machine: facts.machine(),
            layers: Layers::new(facts),
        }
    }

    /// Every warning that some rule accepts: for warnings that concern no single rule.
    pub fn allowed(&self) -> &BTreeSet<String> {
        self.allowed.get_or_init(|| {
            let state = self.state;
            let mounts = state.mounts.iter().map(|rule| &rule.allow);
            let tmpfs = state.tmpfs.iter().map(|rule| &rule.allow);
            let devices = state.devices.iter().map(|rule| &rule.allow);
            let trim = state.trim.iter().map(|rule| &rule.allow);
            let all = mounts.chain(tmpfs).chain(devices).chain(trim);
            all.flatten().cloned().collect()
        })
    }

    /// `state.toml:4`.
    pub fn place(&self, origin: Origin) -> String {
        self.places.name(origin)
    }

    /// `20-host.toml:3, over 10-base.toml:4`: where a value was asked for, and what it overrode,
    /// the last first.
    pub fn places(&self, origin: Origin, overridden: &[Origin]) -> String {
        const SHOWN: usize = 3;
        let mut text = self.place(origin);
        for (index, earlier) in overridden.iter().rev().take(SHOWN).enumerate() {
            text.push_str(if index == 0 { ", over " } else { " and " });
            text.push_str(&self.place(*earlier));
        }
        if let Some(more @ 1..) = overridden.len().checked_sub(SHOWN) {
            // Writing to a String cannot fail.
            let _ = write!(text, " and {more} more");
        }
        text
    }
}
