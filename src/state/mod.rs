//! Floor 2: the desired state, read from TOML. Every value knows where it was written.
//!
//! [`parse`] turns state files into a [`DesiredState`] or into every [`Problem`] they have;
//! [`merge::Wanted`] says which of several rules wins; [`schema`](schema()) describes the files to
//! an editor. What is here says what a file may say; how it reads is in the rooms below.

mod device_check;
mod device_rule;
mod device_teach;
mod fields;
pub mod ignore;
mod matching;
pub mod merge;
mod mount_rule;
mod option_list;
mod parse;
mod pattern;
mod reader;
mod rule;
mod schema;
mod selector;
mod source;
mod tmpfs_rule;
mod trim_rule;
mod visible;
mod when;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use parse::parse;
pub use pattern::Refused;
pub use schema::schema;
pub use source::{Lines, Places, Position};
pub use trim_rule::TrimRule;
pub(crate) use visible::{is_plain, push_visible};
pub use when::is_container;

use crate::knowledge::attributes::Attribute;
use crate::knowledge::{Kernel, Scheduler, Value};

/// Where state files are looked for when no argument names any: its `*.toml`, in name order.
pub const DEFAULT_DIR: &str = "/etc/ssdtune";

/// The word in `allow` that accepts what may lose data.
pub const DATA_LOSS: &str = "data-loss";

/// Warnings that a rule may silence with `allow`, and what each says.
pub const WARNINGS: &[(&str, &str)] = &[
    ("rival", "another program or rule writes the same setting"),
    (
        "no-discard",
        "the device below drops discards, so that `discard` has no effect",
    ),
    (
        "trim-twice",
        "`discard` next to an enabled fstrim.timer trims twice",
    ),
    (
        "sync-discard",
        "plain `discard` replaces btrfs' asynchronous default by a synchronous one",
    ),
    (
        "no-sudo",
        "`nosuid` where programs are started from takes their rights from sudo, su and passwd",
    ),
    (
        "noexec-tmp",
        "`noexec` on a temporary directory breaks installers and builds",
    ),
    ("nodev-root", "`nodev` on `/` stops its device nodes"),
    (
        "mount-needs",
        "with an option, a filesystem mounts only where something else holds",
    ),
    (
        "kernel-name",
        "a kernel name such as `sda` may be another disk after the next boot",
    ),
    (
        "crlf",
        "systemd passes the carriage return of a CRLF line on with the last option",
    ),
    (
        "hard-link",
        "the file has another hard link, which keeps the old content",
    ),
    (
        "bad-line",
        "mount(8) and systemd read a line of fstab differently, or not at all",
    ),
    (
        "wont-mount",
        "a line of fstab has an option that the running kernel refuses",
    ),
    (
        "sticky",
        "a world-writable directory without the sticky bit lets users delete each other's files",
    ),
    (
        "read-only",
        "a filesystem is mounted read-only, though fstab does not say so",
    ),
    (
        "no-effect",
        "an option has no effect on this type of filesystem",
    ),
    (
        "live-differs",
        "a filesystem is mounted with an option that fstab does not have",
    ),
    (
        "zoned",
        "a zoned disk gets another scheduler than mq-deadline",
    ),
    (
        "hidden-path",
        "no udev rule reaches a hidden path, so that its values are gone after a reboot",
    ),
    (
        "short-timeout",
        "a request timeout this short fails requests that a slow disk would finish",
    ),
];

/// Where a value was written: a file of [`DesiredState::sources`] and a range of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Origin {
    /// Index into the sources.
    pub file: u16,
    /// First byte.
    pub start: u32,
    /// Byte after the last.
    pub end: u32,
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub origin: Origin,
}

/// One state file, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The path as it is shown.
    pub name: String,
    /// The text.
    pub text: String,
}

/// What is wrong with a state file, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub origin: Origin,
    /// What, in lower case, values in backticks, no full stop.
    pub message: String,
    /// What is allowed, or what to write instead.
    pub help: Option<String>,
}

/// A pattern on a name: a literal, or a glob of `* ? [a-z] [!a]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// As it was written; in patterns on `model` and `vendor` with blanks as `_`, in those on
    /// mount points without a trailing slash.
    pub text: String,
    /// True where it has no wildcard.
    pub literal: bool,
}

/// The conditions under which a rule counts at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct When {
    /// Patterns on the host name; empty: any host.
    pub host: Vec<At<Pattern>>,
    /// Bounds on the kernel release; all must hold.
    pub kernel: Vec<At<(Comparison, Kernel)>>,
    /// Words of systemd-detect-virt; empty: any. `none` is bare metal.
    pub virtualization: Vec<At<Pattern>>,
}

/// How `when.kernel` compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `=` or none written
    Equal,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
}

/// The machine that `when` is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a> {
    /// Host name.
    pub host: &'a str,
    /// Kernel release (`uname -r`).
    pub kernel: &'a str,
    /// What systemd-detect-virt would say.
    pub virtualization: &'a str,
}

/// Which lines of fstab a mount rule edits. Empty lists match anything; `fstype = "*"` stands for
/// every local disk filesystem.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountSelector {
    /// Mount points.
    pub target: Vec<At<Pattern>>,
    /// First fields, or the devices they stand for.
    pub source: Vec<At<Pattern>>,
    /// Filesystem types.
    pub fstype: Vec<At<Pattern>>,
}

/// `[[mount]]`: edits lines that fstab has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountRule {
    /// The table's header.
    pub at: Origin,
    /// When it counts.
    pub when: When,
    /// Which lines.
    pub select: MountSelector,
    /// No error where a literal target is not found.
    pub optional: bool,
    /// Options that must be there.
    pub options: Vec<At<String>>,
    /// Options that must not be there: a name, with any value.
    pub without: Vec<At<String>>,
    /// Names of warnings and risks that the author accepts.
    pub allow: BTreeSet<String>,
}

/// `[[tmpfs]]`: edits the tmpfs line of a target, or adds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmpfsRule {
    /// The table's header.
    pub at: Origin,
    /// When it counts.
    pub when: When,
    /// Mount point, absolute and clean.
    pub target: At<String>,
    /// `size=`, as the kernel takes it.
    pub size: Option<At<String>>,
    /// `mode=`, octal.
    pub mode: Option<At<String>>,
    /// Other options.
    pub options: Vec<At<String>>,
    /// Names of warnings and risks that the author accepts.
    pub allow: BTreeSet<String>,
}

/// Which devices a rule takes: all given keys must hold, a list means any of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceSelector {
    /// Kernel names (`sda`).
    pub name: Vec<At<Pattern>>,
    /// Names under /dev/disk/by-id.
    pub id: Vec<At<Pattern>>,
    /// udev's ID_SERIAL_SHORT.
    pub serial: Vec<At<Pattern>>,
    /// udev's ID_WWN.
    pub wwn: Vec<At<Pattern>>,
    /// udev's ID_MODEL; blanks are `_`.
    pub model: Vec<At<Pattern>>,
    /// udev's ID_VENDOR; blanks are `_`.
    pub vendor: Vec<At<Pattern>>,
    /// Names of [`crate::knowledge::transport::TRANSPORTS`].
    pub transport: Vec<At<String>>,
    /// `queue/rotational`.
    pub rotational: Option<At<bool>>,
    /// `removable`.
    pub removable: Option<At<bool>>,
    /// `queue/zoned` is not `none`.
    pub zoned: Option<At<bool>>,
    /// Mount points whose device, and the disks below it, are meant.
    pub mount: Vec<At<Pattern>>,
}

/// What a rule leaves alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Ignore {
    /// Nothing.
    #[default]
    Nothing,
    /// The device.
    Everything,
    /// These settings of it (`scheduler`, `read_ahead_kb`, `bfq.low_latency`).
    Keys(Vec<At<String>>),
}

/// One value for one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The scheduler's table that it stands in: it counts while that scheduler is in effect.
    pub under: Option<Scheduler>,
    /// The attribute; never `scheduler`, which has its list.
    pub attribute: &'static Attribute,
    /// The value wanted.
    pub value: At<Value>,
}

/// `[[device]]`: sets queue attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRule {
    /// The table's header.
    pub at: Origin,
    /// When it counts.
    pub when: When,
    /// Which devices.
    pub select: DeviceSelector,
    /// No error where the one thing that it names is not found.
    pub optional: bool,
    /// What it leaves alone.
    pub ignore: Ignore,
    /// Schedulers in order of preference; the first that the kernel can give is taken.
    pub scheduler: Option<At<Vec<Scheduler>>>,
    /// All other values.
    pub settings: Vec<Setting>,
    /// Names of warnings and risks that the author accepts.
    pub allow: BTreeSet<String>,
}

/// Everything that the state files ask for, rules in the order in which they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DesiredState {
    /// The files.
    pub sources: Vec<Source>,
    /// Rules on lines of fstab.
    pub mounts: Vec<MountRule>,
    /// tmpfs lines.
    pub tmpfs: Vec<TmpfsRule>,
    /// Rules on devices.
    pub devices: Vec<DeviceRule>,
    /// fstrim.timer, a rule a file at most; the last that counts wins.
    pub trim: Vec<TrimRule>,
}
