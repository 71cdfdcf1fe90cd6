//! Floor 4: what would change, decided without touching anything.
//!
//! A [`Plan`] holds all that apply will do, side effects too, and enough to undo it: the values
//! before beside the values after. It is plain data; a snapshot keeps it as the receipt.

mod context;
mod decide;
pub(crate) mod devices;
mod forecast;
mod guard;
pub mod layers;
pub(crate) mod mounts;
mod notices;
pub mod queue;
pub mod record;
pub mod rules;
mod saved;
pub(crate) mod timer;

pub use context::Only;
pub use decide::{obstacles, plan};
pub use guard::SYSFS;
pub use saved::{LARGEST, SAVED_VERSION, Saved};
pub use timer::{LinkEdit, TimerChange};

use serde::{Deserialize, Serialize};

use crate::facts::{Device, Image, Mount};
use crate::format::text::Text;
use queue::Queue;

/// The version of the plan format that this program writes.
pub const VERSION: u32 = 1;

/// Everything that one apply does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this format.
    pub version: u32,
    /// Host name of the machine it was made for.
    pub host: String,
    /// Its kernel release.
    pub kernel: String,
    /// Its /etc/machine-id.
    pub machine_id: String,
    /// The boot in which its live values were read.
    pub boot_id: String,
    /// The state files that it was made from.
    pub state: Vec<String>,
    /// Lines of fstab and the mounts that they stand for.
    pub mounts: Vec<MountChange>,
    /// Queues, bottom-up: disks before what is stacked on them.
    pub devices: Vec<DeviceChange>,
    /// fstrim.timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer: Option<TimerChange>,
    /// Files, in the order in which they are committed.
    pub files: Vec<FileEdit>,
    /// What is to be told of it.
    pub reload: Reload,
    /// Wanted, written in fstab already, in effect after the next boot or mount only.
    pub pending: Vec<Pending>,
    /// Why it cannot be applied; empty in a plan that can.
    pub errors: Vec<Notice>,
    /// What the reader should know before saying yes.
    pub warnings: Vec<Notice>,
    /// What is worth a line: rules that took nothing, devices that were passed over.
    pub notes: Vec<Notice>,
}

/// When a change takes effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// At once, and again at every boot.
    #[default]
    NowAndBoot,
    /// At once; the files say so already, or were left out.
    Now,
    /// From the next boot on; the live value is right already, or cannot be changed live.
    Boot,
}

/// The change of one mount point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MountChange {
    /// Mount point.
    pub target: Text,
    /// Filesystem type as fstab has it.
    pub fstype: String,
    /// What happens to its line of fstab.
    pub line: LineChange,
    /// Option by option.
    pub options: Vec<OptionChange>,
    /// What is done to the mounted filesystem.
    pub live: Option<Box<LiveMount>>,
}

/// What happens to a line of fstab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LineChange {
    /// It stays as it is; the live mount drifted.
    Keep,
    /// Its options change.
    Edit,
    /// It is added.
    Add,
    /// It is taken out.
    Remove,
}

/// The change of one option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OptionChange {
    /// What stands there, or is in effect; none where nothing says so.
    pub from: Option<String>,
    /// What is wanted; none where the option goes.
    pub to: Option<String>,
    /// When it takes effect.
    pub when: When,
    /// Why not now, where it could have been expected.
    pub why: Option<String>,
    /// Where it was asked for: `state.toml:4`, and what that overrode; none for what comes back from
    /// the record.
    pub origin: Option<String>,
    /// What a share of memory (`size=25%`) comes to, in KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kib: Option<u64>,
}

/// A live change of one mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LiveMount {
    /// `major:minor` of the superblock.
    pub device: String,
    /// Filesystem type.
    pub fstype: String,
    /// Per-mount flags now, all of them.
    pub before: Vec<String>,
    /// Per-mount flags wanted, all of them.
    pub after: Vec<String>,
    /// Filesystem options to set.
    pub set: Vec<String>,
    /// Filesystem options that take `set` back.
    pub undo: Vec<String>,
    /// Filesystem options now, as mountinfo shows them: what an undo must lead back to.
    pub options_before: Vec<Text>,
}

/// Which disk is meant, so that another one is never written to or "restored".
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Kernel name, as sysfs writes it.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// Count of disks the kernel had met when this one came.
    pub diskseq: Option<u64>,
    /// ID_SERIAL_SHORT.
    pub serial: Option<Text>,
    /// ID_WWN.
    pub wwn: Option<Text>,
    /// ID_MODEL.
    pub model: Option<Text>,
    /// device-mapper name, for people.
    pub dm_name: Option<Text>,
    /// device-mapper UUID.
    pub dm_uuid: Option<Text>,
}

/// The change of one device's queue, as one value: the kernel resets parts of it together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceChange {
    /// Which one.
    pub device: Identity,
    /// Mount points that read through it, for people.
    pub under: Vec<Text>,
    /// Disks below it, for people.
    pub on: Vec<String>,
    /// All that a write may touch, as it is.
    pub before: Queue,
    /// The same as it will be; what is left to the kernel is absent.
    pub after: Queue,
    /// Setting by setting.
    pub settings: Vec<SettingChange>,
}

/// The change of one queue attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SettingChange {
    /// As a state file writes it: `bfq.low_latency`.
    pub key: String,
    /// The value now; none where the file is not there yet.
    pub from: Option<String>,
    /// The value after; none where the file will be gone, or nobody can tell.
    pub to: Option<String>,
    /// Nobody asked for it: another change brings it.
    pub side_effect: bool,
    /// When it takes effect.
    pub when: When,
    /// Where it was asked for, and what that overrode.
    pub origin: Option<String>,
    /// What the kernel makes of the value that was asked for, where that differs.
    pub remark: Option<String>,
}

/// A file before and after. None: there is no such file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FileEdit {
    /// The path by which it is known.
    pub path: Text,
    /// Where it really stands.
    pub resolved: Text,
    /// What is there now.
    pub before: Option<Image>,
    /// What will be there.
    pub after: Option<Image>,
}

/// Who has to read again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reload {
    /// systemd: fstab changed, or a link that starts a unit.
    pub systemd: bool,
    /// udevd: the rules changed.
    pub udev: bool,
    /// Mount units masked until the next boot, so that nothing mounts over a directory in use.
    pub masks: Vec<String>,
    /// Mount units whose mask of that kind goes, with the line of fstab that it was for.
    pub unmasks: Vec<String>,
}

/// An option that waits for a fresh mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// Mount point.
    pub target: Text,
    /// The option.
    pub option: String,
    /// What is in effect until then.
    pub now: Option<String>,
    /// Why it waits.
    pub why: String,
}

/// A sentence about the plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Notice {
    /// The warning's name, by which a rule's `allow` silences it; for errors and notes, the subject.
    pub name: String,
    /// What, where, and what to do.
    pub text: String,
    /// The place in the state file, where there is one.
    pub origin: Option<String>,
}

impl Identity {
    /// True where this is the same disk, as seen within one boot.
    ///
    /// A device that was taken out and put in again counts as another one: the kernel has given it
    /// a new diskseq, and a new queue.
    pub fn is(&self, device: &Device) -> bool {
        let same = match (self.diskseq, device.diskseq) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => self.number == device.number,
        };
        same && (&self.serial, &self.wwn, &self.dm_uuid)
            == (&device.serial, &device.wwn, &device.dm_uuid)
    }
}

impl LiveMount {
    /// The mount, where it still is the one that was meant.
    pub fn still<'m>(&self, mount: Option<&'m Mount>) -> Option<&'m Mount> {
        mount.filter(|mount| mount.device == self.device && mount.fstype == self.fstype)
    }
}

impl Plan {
    /// The links that it changes.
    pub fn links(&self) -> &[LinkEdit] {
        self.timer.as_ref().map_or(&[], |change| &change.links)
    }

    /// True where apply would do nothing.
    pub fn is_empty(&self) -> bool {
        self.mounts.is_empty()
            && self.devices.is_empty()
            && self.timer.is_none()
            && self.files.is_empty()
    }
}
