//! Devices that udev cannot find by itself: those under a mount point, named one by one.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::collect::of_kernel;
use crate::facts::select::{Layer, Matcher, Taken};
use crate::facts::{Device, Facts};
use crate::format::text::Text;
use crate::format::udev_rules::{self, Refusal};
use crate::state::{DeviceRule, Ignore};

/// Names devices.
pub(super) struct Pins<'a> {
    facts: &'a Facts,
    /// How many devices each identity stands for: cheap sticks share their serial numbers.
    bearers: OnceCell<BTreeMap<String, usize>>,
}

/// The devices that one rule is about.
#[derive(Default)]
pub(super) struct Pinned {
    /// The match that tells a device, and what of the rule is for it; each once.
    devices: BTreeSet<(String, Layer)>,
    /// Not all of the rule is for all devices.
    mixed: bool,
}

/// What stands before a line that is for some of the devices only.
#[derive(Clone, Copy, Default)]
pub(super) struct Gates {
    /// Before queue settings.
    pub disk: &'static str,
    /// Before read-ahead.
    pub top: &'static str,
}

impl<'a> Pins<'a> {
    pub fn new(facts: &'a Facts) -> Self {
        Self {
            facts,
            bearers: OnceCell::new(),
        }
    }

    /// The devices that a rule by mount point has something for.
    pub fn of(&self, rule: &DeviceRule) -> Result<Pinned, Refusal> {
        let is_ahead = |name: &str| name == "read_ahead_kb";
        let all = rule.ignore != Ignore::Nothing;
        let mut names = rule.settings.iter().map(|setting| setting.attribute.name);
        let for_top = all || names.clone().any(is_ahead);
        let for_disk = all || rule.scheduler.is_some() || names.any(|name| !is_ahead(name));
        let matcher = Matcher::new(&rule.select, self.facts);
        let mut pinned = Pinned::default();
        for (name, device) in &self.facts.devices {
            if matcher.takes(name, device) != Taken::Yes {
                continue;
            }
            let layer = matcher.layer(name);
            let concerned = match layer {
                Layer::Disk => for_disk,
                Layer::Top => for_top,
                Layer::Both => true,
            };
            if concerned {
                pinned.mixed |= !all && for_disk && for_top && layer != Layer::Both;
                pinned.devices.insert((self.identity(name, device)?, layer));
            }
        }
        Ok(pinned)
    }

    /// The match that tells this device from all others: the most durable that it has.
    fn identity(&self, name: &str, device: &Device) -> Result<String, Refusal> {
        let bearers = self.bearers.get_or_init(|| {
            let mut bearers = BTreeMap::new();
            let devices = self.facts.devices.iter();
            for identity in devices.filter_map(|(_, device)| own(device)) {
                *bearers.entry(identity).or_default() += 1;
            }
            bearers
        });
        let path = place(device);
        if let Some(identity) = own(device) {
            // Paths of one disk share all but their place, and get the same from the rule; other
            // disks that share a serial number need not.
            if bearers.get(&identity) == Some(&1) || device.multipath_member {
                return Ok(identity);
            }
            if let Some(path) = path {
                return Ok(format!("{identity}, {path}"));
            }
        } else if let Some(path) = path {
            return Ok(path);
        }
        Ok(format!("KERNEL==\"{}\"", kernel(name)?))
    }
}

/// Whether nothing but its kernel name, which the next boot may give to another one, tells a
/// device.
pub(in crate::plan) fn by_kernel_name(device: &Device) -> bool {
    own(device).is_none() && place(device).is_none()
}

/// What a device is by itself.
fn own(device: &Device) -> Option<String> {
    if let Some(uuid) = &device.dm_uuid {
        return exact("ATTR{dm/uuid}", uuid);
    }
    let serial = device.serial.as_ref();
    let serial = serial.and_then(|serial| exact("ENV{ID_SERIAL_SHORT}", serial));
    let wwn = device.wwn.as_ref();
    let wwn = wwn.and_then(|wwn| exact("ENV{ID_WWN}", wwn));
    match (serial, wwn) {
        (Some(serial), Some(wwn)) => Some(format!("{serial}, {wwn}")),
        (Some(one), None) | (None, Some(one)) => Some(one),
        (None, None) => {
            let array = |id: &&Text| id.as_bytes().starts_with(b"md-uuid-");
            let id = device.ids.iter().find(array)?;
            exact("SYMLINK", &Text::from(format!("disk/by-id/{id}").as_str()))
        }
    }
}

/// Where a device is plugged in.
fn place(device: &Device) -> Option<String> {
    if let Some(path) = &device.id_path {
        return exact("ENV{ID_PATH}", path);
    }
    // Without udev's word: the folder that the device is in, where that is one of hardware.
    let (folder, _) = device.path.rsplit_once('/')?;
    if !folder.starts_with("/devices/") || folder.starts_with("/devices/virtual/") {
        return None;
    }
    let folder = udev_rules::literal_match(folder).ok()?;
    Some(format!("DEVPATH==\"{folder}/*\""))
}

fn kernel(name: &str) -> Result<String, Refusal> {
    udev_rules::literal_match(name).map(|name| of_kernel(&name))
}

/// None where no value of a rule is this one.
fn exact(key: &str, value: &Text) -> Option<String> {
    let text = std::str::from_utf8(value.as_bytes()).ok()?;
    let text = udev_rules::literal_match(text).ok()?;
    Some(format!("{key}==\"{text}\""))
}

impl Pinned {
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    pub fn gates(&self) -> Gates {
        if !self.mixed {
            return Gates::default();
        }
        Gates {
            disk: "ENV{.SSDTUNE_PIN}==\"disk|both\", ",
            top: "ENV{.SSDTUNE_PIN}==\"top|both\", ",
        }
    }

    /// One line a device, so that no line grows with their number; others jump to `next`.
    pub fn write(&self, text: &mut String, next: &str) {
        text.push_str("ENV{.SSDTUNE_PIN}=\"\"\n");
        for (identity, layer) in &self.devices {
            let role = match layer {
                _ if !self.mixed => "1",
                Layer::Disk => "disk",
                Layer::Top => "top",
                Layer::Both => "both",
            };
            let _ = writeln!(text, "{identity}, ENV{{.SSDTUNE_PIN}}=\"{role}\"");
        }
        let _ = writeln!(text, "ENV{{.SSDTUNE_PIN}}==\"\", GOTO=\"{next}\"");
    }
}
