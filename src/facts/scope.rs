//! What to read: everything, or only what some rules and the managed record need.

use std::collections::BTreeSet;

use super::queue::Asked;
use crate::format::text::Text;
use crate::knowledge::Scheduler;
use crate::knowledge::attributes::{Attribute, Rounding};
use crate::state::{DesiredState, DeviceRule, DeviceSelector};

/// Settings of one device that the managed record holds: they are read even where no rule asks for
/// them any more, because the plan gives back what was first found.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// The kernel name when it was recorded, where that was recorded; it counts where no identity
    /// is known.
    pub name: String,
    /// ID_SERIAL_SHORT when it was recorded.
    pub serial: Option<Text>,
    /// ID_WWN when it was recorded.
    pub wwn: Option<Text>,
    /// Device-mapper UUID when it was recorded.
    pub dm_uuid: Option<Text>,
    /// ID_PATH, where nothing better was known.
    pub id_path: Option<Text>,
    /// The attributes recorded.
    pub attributes: Vec<&'static Attribute>,
}

/// Tells from the bytes of the managed record which settings it holds.
///
/// The record is read once, while gathering; its format belongs to a floor above.
pub type RecordKeys<'a> = &'a dyn Fn(&[u8]) -> Vec<Recorded>;

/// How far gathering reaches.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// Look at the running system: /proc, /sys, /run. Where false, the root is an offline system
    /// and only its files are read: below a rescue system's bind mounts, DIR/proc and DIR/sys are
    /// the rescuer's own.
    pub live: bool,
    pub(super) wanted: Option<(&'a DesiredState, RecordKeys<'a>)>,
    pub(super) also: &'a [Recorded],
    /// Whether fstrim.timer runs is asked for in any case, rules and record or not.
    timer: bool,
}

impl<'a> Scope<'a> {
    /// All that is known how to read: for `facts`, `devices` and `import`.
    pub fn everything() -> Self {
        Self {
            live: true,
            wanted: None,
            also: &[],
            timer: false,
        }
    }

    /// What these rules need, and what the managed record holds.
    pub fn of(state: &'a DesiredState, record_keys: RecordKeys<'a>) -> Self {
        Self {
            live: true,
            wanted: Some((state, record_keys)),
            also: &[],
            timer: false,
        }
    }

    /// The same, and these settings of devices, which the record may not hold any more.
    pub fn with(self, also: &'a [Recorded]) -> Self {
        Self { also, ..self }
    }

    /// The same, and whether fstrim.timer runs: what is taken back may be in no record any more.
    pub fn with_timer(self, timer: bool) -> Self {
        Self {
            timer: self.timer || timer,
            ..self
        }
    }

    /// The same of an offline system: files only.
    pub fn offline(self) -> Self {
        Self {
            live: false,
            ..self
        }
    }

    /// The device rules; none where everything is wanted.
    pub(super) fn rules(&self) -> &'a [DeviceRule] {
        self.wanted.map_or(&[], |(state, _)| &state.devices)
    }

    /// Whether anything of a device may be needed.
    pub(super) fn asks_for_devices(&self, recorded: &[Recorded]) -> bool {
        self.wanted
            .is_none_or(|(state, _)| !state.devices.is_empty() || !recorded.is_empty())
    }

    /// Whether it matters if fstrim.timer runs, the record apart.
    pub fn asks_for_timer(&self) -> bool {
        let Some((state, _)) = self.wanted else {
            return true;
        };
        self.timer || !state.trim.is_empty()
    }

    /// Whether some rule wants fstrim.timer to run.
    fn wants_timer(&self) -> bool {
        let Some((state, _)) = self.wanted else {
            return true;
        };
        state.trim.iter().any(|rule| rule.timer.value)
    }

    /// Whether some rule depends on what the machine runs on; fstrim.timer does: it is not started
    /// in a container.
    pub(super) fn asks_for_virtualization(&self) -> bool {
        let Some((state, _)) = self.wanted else {
            return true;
        };
        if self.wants_timer() {
            return true;
        }
        let trim = state.trim.iter().map(|rule| &rule.when);
        let mounts = state.mounts.iter().map(|rule| &rule.when);
        let tmpfs = state.tmpfs.iter().map(|rule| &rule.when);
        let devices = state.devices.iter().map(|rule| &rule.when);
        let mut all = mounts.chain(tmpfs).chain(devices).chain(trim);
        all.any(|when| !when.virtualization.is_empty())
    }

    /// Whether a length of jiffies matters.
    pub(super) fn asks_for_hz(&self) -> bool {
        self.wanted.is_none_or(|(state, _)| {
            let settings = state.devices.iter().flat_map(|rule| &rule.settings);
            settings
                .into_iter()
                .any(|setting| setting.attribute.rounding == Rounding::JiffyUp)
        })
    }

    /// Whether some rule turns discard or the timer on, so that a device must be able to discard.
    pub(super) fn asks_for_discard(&self) -> bool {
        if self.wants_timer() {
            return true;
        }
        self.wanted.is_none_or(|(state, _)| {
            let options = state.mounts.iter().flat_map(|rule| &rule.options);
            options
                .into_iter()
                .any(|option| option.value == "discard" || option.value.starts_with("discard="))
        })
    }

    /// Schedulers whose modules matter.
    pub(super) fn schedulers(&self) -> BTreeSet<Scheduler> {
        match self.wanted {
            None => Scheduler::ALL.into(),
            Some((state, _)) => state
                .devices
                .iter()
                .filter_map(|rule| rule.scheduler.as_ref())
                .flat_map(|list| list.value.iter().copied())
                .collect(),
        }
    }

    /// The mount rules' literal sources (`/dev/vg0/data`), to be resolved like fstab's.
    pub(super) fn literal_sources(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mounts = self.wanted.map_or(&[][..], |(state, _)| &state.mounts);
        let patterns = mounts.iter().flat_map(|rule| &rule.select.source);
        patterns
            .filter(|pattern| pattern.value.literal)
            .map(|pattern| pattern.value.text.as_str())
    }

    /// Whether some rule is about sources or mount points, so that fstab's devices matter.
    pub(super) fn asks_for_sources(&self) -> bool {
        self.wanted.is_none_or(|(state, _)| {
            state
                .devices
                .iter()
                .any(|rule| !rule.select.mount.is_empty())
                || state
                    .mounts
                    .iter()
                    .any(|rule| !rule.select.source.is_empty())
        })
    }
}

/// What a rule needs of a device that it takes.
pub(super) fn asked_by(rule: &DeviceRule) -> Asked {
    let mut asked = Asked::default();
    if rule.scheduler.is_some() {
        asked.scheduler();
    }
    for setting in &rule.settings {
        asked.attribute(setting.attribute);
    }
    asked
}

/// Whether a selector looks at what udev's database says.
pub(super) fn asks_for_identity(selector: &DeviceSelector) -> bool {
    ![
        &selector.id,
        &selector.serial,
        &selector.wwn,
        &selector.model,
        &selector.vendor,
    ]
    .into_iter()
    .all(Vec::is_empty)
}
