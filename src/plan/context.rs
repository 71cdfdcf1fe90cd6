//! What every part of planning looks at, and where it leaves its sentences.

use std::collections::BTreeSet;

use super::record::Record;
use super::{Notice, When};
use crate::facts::Facts;
use crate::knowledge::Kernel;
use crate::state::{DesiredState, Machine, Origin, Places};

/// Which half of the work is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    pub places: Places<'a>,
    pub kernel: Option<Kernel>,
    pub machine: Machine<'a>,
}

impl<'a> Context<'a> {
    pub fn new(state: &'a DesiredState, facts: &'a Facts, record: &'a Record, only: Only) -> Self {
        Self {
            state,
            facts,
            record,
            only,
            places: Places::new(&state.sources),
            kernel: Kernel::parse(&facts.kernel),
            machine: facts.machine(),
        }
    }

    /// `state.toml:4`.
    pub fn place(&self, origin: Origin) -> String {
        self.places.name(origin)
    }
}

/// The sentences of a plan, as they come up.
#[derive(Default)]
pub(super) struct Notices {
    pub errors: Vec<Notice>,
    pub warnings: Vec<Notice>,
    pub notes: Vec<Notice>,
}

impl Notices {
    pub fn error(
        &mut self,
        subject: impl Into<String>,
        text: impl Into<String>,
        origin: Option<String>,
    ) {
        push(&mut self.errors, subject, text, origin);
    }

    /// A warning by its name, unless the rule behind it says that it is known.
    pub fn warn(
        &mut self,
        name: &str,
        allow: &BTreeSet<String>,
        text: impl Into<String>,
        origin: Option<String>,
    ) {
        if !allow.contains(name) {
            push(&mut self.warnings, name, text, origin);
        }
    }

    pub fn note(
        &mut self,
        subject: impl Into<String>,
        text: impl Into<String>,
        origin: Option<String>,
    ) {
        push(&mut self.notes, subject, text, origin);
    }
}

/// Each sentence once, in the order in which they came up.
fn push(
    list: &mut Vec<Notice>,
    name: impl Into<String>,
    text: impl Into<String>,
    origin: Option<String>,
) {
    list.push(Notice {
        name: name.into(),
        text: text.into(),
        origin,
    });
}
