//! Floor 3: what the machine is now. Plain data, written and read as JSON; gathering never writes.
//!
//! [`gather()`] reads, within a [`Scope`], what a plan needs; [`select`] tells which devices a rule
//! takes, [`stack`] what lies below a mount point. Nothing here starts a program, and nothing is
//! opened for writing.

mod block;
mod devices;
#[cfg(test)]
mod fake;
mod files;
mod gather;
mod identity;
mod json;
mod machine;
mod mounts;
mod queries;
mod queue;
mod read;
mod rivals;
mod scope;
pub mod select;
mod sources;
pub mod stack;
mod timer;
mod units;
mod views;

pub use gather::{FSTAB, RECORD, RULES, file, gather};
pub use json::LARGEST as LARGEST_FACTS;
pub use scope::{RecordKeys, Recorded, Scope};
pub use timer::{TIMER, TIMER_LINK, TrimTimer};
pub use units::{MASKS, mount_unit};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::format::text::Text;
use crate::knowledge::Scheduler;

/// The version of the facts format that this program writes.
pub const VERSION: u32 = 1;

/// A machine's storage set-up, as far as the asker's scope reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Version of this format.
    pub version: u32,
    /// True of an offline system, of which only files were read: nothing is known of its devices
    /// and mounts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
    /// Host name.
    pub host: String,
    /// Kernel release (`uname -r`).
    pub kernel: String,
    /// What systemd-detect-virt would say; `none` is bare metal.
    pub virtualization: String,
    /// /etc/machine-id.
    pub machine_id: String,
    /// /proc/sys/kernel/random/boot_id.
    pub boot_id: String,
    /// `CONFIG_HZ`, where a kernel configuration could be read.
    pub hz: Option<u32>,
    /// Page size in KiB.
    pub page_kb: u64,
    /// MemTotal of /proc/meminfo, in KiB.
    pub memory_kb: u64,
    /// True where systemd runs (/run/systemd/system).
    pub systemd: bool,
    /// True where udevd runs (/run/udev/control).
    pub udev: bool,
    /// /proc/cmdline.
    pub command_line: Text,
    /// Schedulers that a module could bring; a scheduler that a device offers is there already.
    pub modules: BTreeMap<Scheduler, Module>,
    /// /proc/self/mountinfo, in its order.
    pub mounts: Vec<Mount>,
    /// /sys/block, by kernel name (`!` as sysfs writes it).
    pub devices: BTreeMap<String, Device>,
    /// Mounted btrfs filesystems of /sys/fs/btrfs, by UUID.
    pub btrfs: BTreeMap<String, Btrfs>,
    /// First fields of fstab (and of rules) that name a block device: its `major:minor`.
    pub sources: BTreeMap<Text, String>,
    /// /etc/fstab.
    pub fstab: File,
    /// The rules file that ssdtune writes.
    pub rules: File,
    /// What ssdtune first found, and wrote.
    pub record: File,
    /// Unit files that decide over a mount point, by mount point.
    pub units: BTreeMap<String, Unit>,
    /// What stands where a tmpfs is asked for and is no plain directory, by mount point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub in_the_way: BTreeMap<String, InTheWay>,
    /// KiB in use on each tmpfs whose size a rule may change, by mount point.
    pub tmpfs_used_kb: BTreeMap<String, u64>,
    /// fstrim.timer.
    pub trim_timer: TrimTimer,
    /// Who else writes the same settings.
    pub rivals: Vec<Rival>,
    /// What could not be read, and why.
    pub unread: Vec<Unread>,
}

/// Why nothing can be mounted at a place, or not under that name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum InTheWay {
    /// It, or a part of the path to it, is a link: this is the same place without links.
    Link(Text),
    /// It, or a part of the path to it, is something else than a directory.
    NotADirectory,
}

/// Whether the running kernel could load a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Module {
    /// Built in or loaded.
    Present,
    /// A module file is there to be loaded.
    Loadable,
    /// Neither.
    Absent,
}

/// One line of mountinfo, escapes decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// Mount ID.
    pub id: u32,
    /// Parent's mount ID.
    pub parent: u32,
    /// `major:minor` of the superblock.
    pub device: String,
    /// The directory of the filesystem that is mounted.
    pub root: Text,
    /// Mount point.
    pub target: Text,
    /// Per-mount flags: `rw`, `nosuid`, `noatime`.
    pub flags: Vec<String>,
    /// Filesystem type.
    pub fstype: String,
    /// Source as the filesystem shows it.
    pub source: Text,
    /// Per-superblock options, escapes decoded.
    pub options: Vec<Text>,
}

/// One directory of /sys/block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Device {
    /// `major:minor`.
    pub number: String,
    /// Path below /sys: `/devices/pci0000:00/.../block/sda`.
    pub path: String,
    /// `hidden` is 1: a path of an NVMe multipath head, without a node.
    pub hidden: bool,
    /// `removable` is 1.
    pub removable: bool,
    /// Counts up with each disk the kernel has met.
    pub diskseq: Option<u64>,
    /// Size in 512-byte sectors.
    pub sectors: u64,
    /// Partitions: kernel name and `major:minor`.
    pub partitions: BTreeMap<String, String>,
    /// Devices below (kernel names of disks or partitions).
    pub slaves: Vec<String>,
    /// Devices above.
    pub holders: Vec<String>,
    /// device-mapper name (`dm/name`).
    pub dm_name: Option<Text>,
    /// device-mapper UUID (`dm/uuid`): `LVM-...`, `CRYPT-...`, `mpath-...`.
    pub dm_uuid: Option<Text>,
    /// True where udev's database has an entry, so that its properties are what rules will see.
    pub udev: bool,
    /// The names of its links under /dev/disk/by-id.
    pub ids: Vec<Text>,
    /// ID_SERIAL_SHORT, or what sysfs says.
    pub serial: Option<Text>,
    /// ID_WWN, or what sysfs says.
    pub wwn: Option<Text>,
    /// ID_MODEL, or what sysfs says with blanks as `_`.
    pub model: Option<Text>,
    /// ID_VENDOR, or what sysfs says with blanks as `_`.
    pub vendor: Option<Text>,
    /// ID_PATH, from udev only.
    pub id_path: Option<Text>,
    /// A path of a device-mapper multipath device.
    pub multipath_member: bool,
    /// Files of `queue/`, trimmed, by name: those that were asked for and could be read. `scheduler`
    /// is there as the kernel prints it, absent on devices that have none.
    pub queue: BTreeMap<String, String>,
    /// Files of `queue/iosched/`, of the active scheduler.
    pub iosched: BTreeMap<String, String>,
}

/// A mounted btrfs: it has a read-ahead of its own, and may stand on several devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Btrfs {
    /// Its devices: kernel names of disks or partitions.
    pub devices: Vec<String>,
    /// `bdi/read_ahead_kb`: what its files really use; the disks' own has no effect on them.
    pub read_ahead_kb: Option<String>,
}

/// A file that ssdtune may write, with what a replacement must keep.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The path by which it is known: /etc/fstab.
    pub path: Text,
    /// Where it really stands, links resolved; the same where it is no link.
    pub resolved: Text,
    /// Its content and metadata; none where there is no such file.
    pub image: Option<Image>,
    /// Inode number, to tell a replaced file from an edited one.
    pub inode: u64,
    /// Hard links: more than one keeps the old content elsewhere.
    pub links: u64,
    /// What stands in the way of replacing it.
    pub obstacles: Vec<Obstacle>,
}

/// A file's bytes and metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Content.
    pub bytes: Text,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
    /// Extended attributes, without `security.ima` and `security.evm`, which are bound to content.
    pub xattrs: BTreeMap<String, Text>,
}

/// Why a file cannot be replaced, or not to any lasting effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// FS_IMMUTABLE_FL or FS_APPEND_FL is set.
    Immutable,
    /// The file itself is a mount point: rename(2) onto it fails with EBUSY.
    MountPoint,
    /// Its filesystem is mounted read-only.
    ReadOnly,
    /// It stands on an overlay whose upper folder is lost at reboot.
    ThrowAwayOverlay,
    /// It is a link into /nix/store, or comes from one.
    Nix,
    /// It is a link to nothing.
    DanglingLink,
    /// It is something else than a regular file.
    NotAFile,
    /// Reading it failed, with this message.
    Unreadable(String),
}

/// A systemd unit file that decides over a mount point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// Its path.
    pub path: Text,
    /// It is a link to /dev/null, or empty.
    pub masked: bool,
    /// It wins over what the fstab generator makes (it stands in /etc or /run/systemd/system).
    pub overrides_fstab: bool,
    /// The mask is ssdtune's own, until the next boot.
    pub ours: bool,
}

/// Who else writes a setting that ssdtune knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rival {
    /// What kind of writer.
    pub kind: RivalKind,
    /// Where it says so.
    pub path: Text,
    /// On which line, where there is one.
    pub line: Option<u32>,
    /// What it writes: `scheduler`, `read_ahead_kb`; empty where it cannot be told.
    pub settings: Vec<String>,
    /// The kernel name it writes to, where it names one.
    pub device: Option<String>,
}

/// The kinds of rival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RivalKind {
    /// /etc/rc.local and its like: once, late at boot.
    RcLocal,
    /// A udev rule that sorts before ours, which therefore wins.
    UdevRuleBefore,
    /// A udev rule that sorts after ours and wins over it.
    UdevRuleAfter,
    /// tuned with an active profile.
    Tuned,
    /// TLP.
    Tlp,
    /// laptop-mode-tools.
    LaptopMode,
    /// A `w` line of tmpfiles.d: once, early at boot.
    Tmpfiles,
    /// sysfsutils' /etc/sysfs.conf.
    SysfsConf,
    /// A systemd service of the administrator's.
    Service,
    /// `elevator=` on the kernel command line, without effect since 5.4.
    Elevator,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Unread {
    /// The path.
    pub path: Text,
    /// Why.
    pub why: String,
}
