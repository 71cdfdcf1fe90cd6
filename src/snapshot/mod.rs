//! Floor 6: the receipt of an apply, written before it begins.
//!
//! A snapshot holds the whole plan, so it says what was there before and what was to be there
//! after; its phase says how far the apply came. Whoever comes after a crash needs nothing else.

mod layout;
mod standing;
pub mod store;
mod write;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::facts::{Facts, Image};
use crate::format::fstab::Fstab;
use crate::plan::Plan;

pub use standing::standing;
pub use store::Store;

/// The version of the snapshot format that this program writes.
pub const VERSION: u32 = 1;

/// One apply or rollback: what it was to do, and how far it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Version of this format.
    pub version: u32,
    /// Its number; they count up, and none is used again while it is kept.
    pub number: u32,
    /// When it was made.
    #[cfg_attr(
        feature = "docgen",
        schemars(with = "String", extend("format" = "date-time"))
    )]
    pub at: DateTime<Utc>,
    /// The machine's /etc/machine-id: on another machine it is none of its business.
    pub machine_id: String,
    /// The boot in which it was made: live values do not outlive it.
    pub boot_id: String,
    /// Host name, for people.
    pub host: String,
    /// The version of ssdtune that made it.
    pub program: String,
    /// What it is the receipt of.
    pub kind: Kind,
    /// How far it came.
    pub phase: Phase,
    /// What it was to do.
    pub plan: Plan,
}

/// What a snapshot is the receipt of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Kind {
    /// An apply.
    Apply,
    /// A rollback.
    Rollback {
        /// The number of the snapshot whose "before" it leads to; none where that came from a file.
        to: Option<u32>,
    },
}

/// How far an apply or a rollback came. Each is durable before what it names begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Phase {
    /// The plan is on disk; nothing has been changed.
    Prepared,
    /// Files may be staged and live values changed; no file of the system is.
    Live,
    /// Files of the system may be replaced. From here on a crash goes forward.
    Committing,
    /// All of it is done and verified.
    Applied,
    /// It was interrupted, and a rollback left nothing of it.
    Undone,
}

impl Phase {
    /// True where nobody has anything to finish or to undo.
    pub fn is_final(self) -> bool {
        match self {
            Self::Prepared | Self::Live | Self::Committing => false,
            Self::Applied | Self::Undone => true,
        }
    }
}

impl Snapshot {
    /// The receipt of a plan that is about to be carried out.
    pub fn new(number: u32, at: DateTime<Utc>, kind: Kind, plan: Plan) -> Self {
        Self {
            version: VERSION,
            number,
            at,
            machine_id: plan.machine_id.clone(),
            boot_id: plan.boot_id.clone(),
            host: plan.host.clone(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            kind,
            phase: Phase::Prepared,
            plan,
        }
    }

    /// The fstab that it found, where it is to change it.
    pub fn fstab_before(&self) -> Option<&Image> {
        let edit = |path: &[u8]| path == b"/etc/fstab";
        let files = &self.plan.files;
        let file = files.iter().find(|file| edit(file.path.as_bytes()))?;
        file.before.as_ref()
    }

    /// As it is written to disk: JSON, indented, with a final newline.
    ///
    /// # Errors
    /// None that is known: all keys are strings. The type of serde_json has one.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut json = serde_json::to_vec_pretty(self)?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads what [`Snapshot::to_json`] wrote.
    ///
    /// # Errors
    /// In words, without the path: another version, a field that is not known, no JSON at all.
    pub fn from_json(json: &[u8]) -> Result<Self, String> {
        /// What every version of the format has.
        #[derive(Deserialize)]
        struct Front {
            version: u32,
        }
        let foreign = |version| {
            format!(
                "it has version {version} of the format, and ssdtune {} knows version {VERSION} \
                 only: use the ssdtune that wrote it, or a newer one",
                env!("CARGO_PKG_VERSION")
            )
        };
        match serde_json::from_slice::<Self>(json) {
            Ok(snapshot) if snapshot.version == VERSION => Ok(snapshot),
            Ok(snapshot) => Err(foreign(snapshot.version)),
            // Another version is the better reason why a field is not known.
            Err(cause) => match serde_json::from_slice::<Front>(json) {
                Ok(Front { version }) if version != VERSION => Err(foreign(version)),
                _ => Err(cause.to_string()),
            },
        }
    }
}

/// False where fstab has the snapshots' folder on a filesystem of its own that is not mounted: what
/// is written there now is out of sight after the next boot.
///
/// Where the facts hold no mounts (an offline system) nobody can tell, and it is taken to be there.
pub fn var_is_there(facts: &Facts) -> bool {
    let Some(fstab) = &facts.fstab.image else {
        return true;
    };
    if facts.mounts.is_empty() {
        return true;
    }
    let fstab = Fstab::parse(fstab.bytes.as_bytes());
    let targets = ["/var", "/var/lib", "/var/lib/ssdtune"].map(str::as_bytes);
    targets.into_iter().all(|target| {
        let mounted = |mount: &crate::facts::Mount| mount.target.as_bytes() == target;
        fstab.entries_for(target).is_empty() || facts.mounts.iter().any(mounted)
    })
}

#[cfg(test)]
mod tests;
