//! Which devices a rule takes.
//!
//! A selector means here what its compiled udev rule means at boot: strings are globs on udev's
//! values, all keys must hold, a list means any of. Some kinds of device are left alone unless the
//! rule asks for them (case S03); eMMC boot and replay-protected parts are never taken.

use std::collections::HashMap;

use super::stack::{Stack, Top, stacks};
use super::{Device, Facts};
use crate::format::glob::glob;
use crate::format::text::Text;
use crate::knowledge::transport::{NEVER, TRANSPORTS};
use crate::state::{At, DeviceSelector, Pattern};

/// Whether a rule takes a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Yes.
    Yes,
    /// No: some key does not hold, or it is of a kind that no rule takes.
    No,
    /// All keys hold, but it is of a kind that a rule must ask for; which.
    NotWithoutAsking(&'static str),
}

/// Which settings of a rule by mount point are for a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Everything but read-ahead: it is a disk below the layer that the filesystem reads through.
    Disk,
    /// Read-ahead alone: the filesystem reads through it.
    Top,
    /// Everything: the filesystem is on the disk or a partition of it, or the rule does not ask
    /// by mount point.
    Both,
}

/// A selector made ready for many devices: its mount points are resolved once.
#[derive(Debug)]
pub struct Matcher<'a> {
    selector: &'a DeviceSelector,
    /// It asks for kinds that are left alone otherwise.
    asks: bool,
    stacks: Vec<(Text, Stack)>,
    /// What each device is in these, by kernel name.
    layers: HashMap<String, Layer>,
}

/// The device's transport, a name of [`TRANSPORTS`]; none where it has no name there.
pub fn transport_of(name: &str, device: &Device) -> Option<&'static str> {
    let path = device.path.as_str();
    TRANSPORTS
        .iter()
        .find(|transport| {
            transport.kernel.iter().any(|pattern| glob(pattern, name))
                && transport.path.is_none_or(|pattern| glob(pattern, path))
                && !transport.not_path.iter().any(|pattern| glob(pattern, path))
        })
        .map(|transport| transport.name)
}

/// Whether a rule that takes a device may set its scheduler: a zoned disk needs mq-deadline, and
/// only a rule that asks for zoned disks, or names the disk, may change that (case S12).
pub fn scheduler_allowed(selector: &DeviceSelector, device: &Device) -> bool {
    !device.zoned() || asks_for_zoned(selector)
}

/// Whether a selector asks for zoned disks: by `zoned`, or by naming a disk.
pub fn asks_for_zoned(selector: &DeviceSelector) -> bool {
    selector.zoned.is_some() || selector.is_named()
}

/// Whether devices of a transport can have this kernel name.
fn kernel_fits(transport: &str, name: &str) -> bool {
    TRANSPORTS
        .iter()
        .any(|row| row.name == transport && row.kernel.iter().any(|pattern| glob(pattern, name)))
}

/// A kernel name, and what it tells about its device to every rule alike.
pub(super) struct Name<'n> {
    text: &'n str,
    /// No rule takes it.
    never: bool,
    /// Its kind is left alone unless a rule asks for it.
    unusual: bool,
}

impl<'n> Name<'n> {
    pub fn new(text: &'n str) -> Self {
        let by_name = TRANSPORTS
            .iter()
            .find(|row| row.path.is_none() && row.kernel.iter().any(|pattern| glob(pattern, text)));
        Self {
            text,
            never: is_never_taken(text),
            unusual: by_name.is_some_and(|row| row.on_request),
        }
    }

    /// True for a name of the kinds that any rule may take.
    pub fn is_usual(&self) -> bool {
        !self.never && !self.unusual
    }
}

/// What a transport that is taken on request only is called in a sentence.
fn kind(transport: &'static str) -> &'static str {
    match transport {
        "usb" => "USB",
        "dm" => "device mapper",
        "md" => "software RAID",
        "ram" => "RAM disk",
        "cdrom" => "optical drive",
        "nbd" | "rbd" | "drbd" => "network block device",
        "bcache" => "disk with a cache",
        "zvol" => "ZFS volume",
        "nullb" | "ublk" => "disk made by software",
        other => other,
    }
}

/// eMMC boot and replay-protected parts.
fn is_never_taken(name: &str) -> bool {
    NEVER.iter().any(|pattern| glob(pattern, name))
}

impl<'a> Matcher<'a> {
    /// Makes a selector ready.
    pub fn new(selector: &'a DeviceSelector, facts: &Facts) -> Self {
        let stacks = match selector.mount[..] {
            [] => Vec::new(),
            _ => stacks(facts, |target| any_of(&selector.mount, Some(target))),
        };
        Self {
            selector,
            asks: selector.asks_for_unusual(),
            layers: layers(&stacks),
            stacks,
        }
    }

    /// The mount points that the rule's patterns found, with what lies below each.
    pub fn stacks(&self) -> &[(Text, Stack)] {
        &self.stacks
    }

    /// Whether the rule could take a device of this kernel name, as far as the name tells.
    ///
    /// Where it says no, nothing of the device need be read.
    pub(super) fn may_take(&self, name: &Name<'_>) -> bool {
        let selector = self.selector;
        if name.never || !any(&selector.name, Some(name.text)) {
            return false;
        }
        if !selector.mount.is_empty() && !self.is_below(name.text) {
            return false;
        }
        if !selector.transport.is_empty() {
            let mut asked = selector.transport.iter();
            return asked.any(|word| kernel_fits(&word.value, name.text));
        }
        !name.unusual || self.asks
    }

    /// Whether a kernel name tells more about the rule than that a kind is left alone.
    pub(super) fn is_picky_about_names(&self) -> bool {
        let selector = self.selector;
        self.asks
            || !(selector.name.is_empty()
                && selector.transport.is_empty()
                && selector.mount.is_empty())
    }

    /// Whether a device is in the layers of a mount point that the rule found.
    fn is_below(&self, name: &str) -> bool {
        self.layers.contains_key(name)
    }

    /// Whether the rule takes a device.
    pub fn takes(&self, name: &str, device: &Device) -> Taken {
        let selector = self.selector;
        if !self.holds(name, device) || is_never_taken(name) {
            return Taken::No;
        }
        let literally = selector.name.iter().any(|pattern| pattern.value.literal);
        if device.hidden && !literally {
            return Taken::NotWithoutAsking("hidden path");
        }
        match unusual(name, device) {
            Some(kind) if !self.asks => Taken::NotWithoutAsking(kind),
            _ => Taken::Yes,
        }
    }

    /// Which of the rule's settings are for a device that it takes.
    pub fn layer(&self, name: &str) -> Layer {
        self.layers.get(name).copied().unwrap_or(Layer::Both)
    }

    /// Whether every key of the selector holds.
    fn holds(&self, name: &str, device: &Device) -> bool {
        let selector = self.selector;
        any(&selector.name, Some(name))
            && any_of(&selector.id, device.ids.iter())
            && any_of(&selector.serial, device.serial.iter())
            && any_of(&selector.wwn, device.wwn.iter())
            && any_folded(&selector.model, device.model.as_ref())
            && any_folded(&selector.vendor, device.vendor.as_ref())
            && is(&selector.removable, Some(device.removable))
            && is(&selector.rotational, device.rotational())
            && is(
                &selector.zoned,
                device.queue.get("zoned").map(|_| device.zoned()),
            )
            && (selector.transport.is_empty()
                || transport_of(name, device).is_some_and(|transport| {
                    selector
                        .transport
                        .iter()
                        .any(|asked| asked.value == transport)
                }))
            && (selector.mount.is_empty() || self.is_below(name))
    }
}

/// What each device is in these layers. A disk below one filesystem and itself the top of another
/// gets all.
fn layers(stacks: &[(Text, Stack)]) -> HashMap<String, Layer> {
    let mut layers: HashMap<String, Layer> = HashMap::new();
    let mut note = |name: &str, layer: Layer| {
        layers
            .entry(name.to_owned())
            .and_modify(|known| {
                if *known != layer {
                    *known = Layer::Both;
                }
            })
            .or_insert(layer);
    };
    for (_, stack) in stacks {
        if let Top::Device(name) = &stack.top {
            note(name, Layer::Top);
        }
        for name in &stack.disks {
            note(name, Layer::Disk);
        }
    }
    layers
}

/// Why a device is left alone unless asked for, in words.
pub fn unusual(name: &str, device: &Device) -> Option<&'static str> {
    if device.multipath_member {
        return Some("member of a multipath device");
    }
    if let Some(transport) = transport_of(name, device)
        && TRANSPORTS
            .iter()
            .any(|row| row.name == transport && row.on_request)
    {
        return Some(kind(transport));
    }
    device.removable.then_some("removable")
}

/// True where no pattern is given, or any matches the value.
fn any(patterns: &[At<Pattern>], value: Option<&str>) -> bool {
    patterns.is_empty()
        || value.is_some_and(|value| patterns.iter().any(|at| at.value.matches(value)))
}

/// Like [`any`], of several values; one that is not UTF-8 matches nothing, as udev would never
/// have made it a property.
fn any_of<'t>(patterns: &[At<Pattern>], values: impl IntoIterator<Item = &'t Text>) -> bool {
    patterns.is_empty()
        || values.into_iter().any(|value| {
            std::str::from_utf8(value.as_bytes()).is_ok_and(|text| any(patterns, Some(text)))
        })
}

/// Like [`any_of`], of a name in which udev writes blanks as `_` for most disks, and as blanks for
/// NVMe: patterns have `_`, and either is meant.
fn any_folded(patterns: &[At<Pattern>], value: Option<&Text>) -> bool {
    match value {
        Some(value) if value.as_bytes().contains(&b' ') => {
            let folded = value.as_bytes().iter().map(|byte| match byte {
                b' ' => b'_',
                other => *other,
            });
            any_of(patterns, [&Text(folded.collect())])
        }
        value => any_of(patterns, value),
    }
}

/// True where the key is not given, or the device says the same; what it does not say, is not so.
fn is(asked: &Option<At<bool>>, value: Option<bool>) -> bool {
    asked
        .as_ref()
        .is_none_or(|asked| value == Some(asked.value))
}
