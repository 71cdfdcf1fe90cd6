//! The managed record: what ssdtune first found in each place that it set, and what it wrote there.
//!
//! A setting dropped from the state file goes back to the value first found, unless somebody else
//! has changed it since. Values only, readable by everyone.

mod settings;

use std::collections::BTreeMap;

pub use settings::Settings;

use serde::{Deserialize, Serialize};

use crate::facts::{Device, File, Recorded};
use crate::format::text::Text;
use crate::knowledge::attributes;

/// Where the record is kept.
pub const PATH: &str = "/var/lib/ssdtune/managed.json";

/// The version of the record's format that this program writes.
pub const VERSION: u32 = 1;

/// Everything that ssdtune has set and not given back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of this format.
    pub version: u32,
    /// Option slots of fstab lines, by mount point and slot.
    pub options: BTreeMap<String, Settings>,
    /// Mount points whose lines ssdtune added.
    pub added: Vec<String>,
    /// Queue settings, by device ([`device_key`]) and setting.
    pub queues: BTreeMap<String, Settings>,
    /// fstrim.timer: `enabled` and `running`, each `true` or `false`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timer: BTreeMap<String, Found>,
}

/// A value as it was first found, and as ssdtune left it. None: it was not there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Before ssdtune's first change.
    pub found: Option<String>,
    /// After its last one.
    pub wrote: Option<String>,
    /// The scheduler at the time of the first, where a switch of it would have set the value back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

impl Record {
    /// Reads the record of a machine; an empty one where there is none.
    pub fn read(file: &File) -> Result<Self, String> {
        let Some(image) = &file.image else {
            return Ok(Self {
                version: VERSION,
                ..Self::default()
            });
        };
        let record: Self = serde_json::from_slice(image.bytes.as_bytes())
            .map_err(|error| format!("`{}` is damaged: {error}", file.path))?;
        if record.version != VERSION {
            return Err(format!(
                "`{}` has version {}, this program reads version {VERSION}",
                file.path, record.version
            ));
        }
        Ok(record)
    }

    /// The record as it is kept.
    pub fn write(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }

    /// True where nothing is managed.
    pub fn is_empty(&self) -> bool {
        self.options.is_empty()
            && self.added.is_empty()
            && self.queues.is_empty()
            && self.timer.is_empty()
    }
}

/// What a device is called in the record: what survives reboots and another order of probing.
pub fn device_key(name: &str, device: &Device) -> String {
    if let Some(uuid) = &device.dm_uuid {
        return format!("dm {uuid}");
    }
    match (&device.serial, &device.wwn, &device.id_path) {
        (Some(serial), Some(wwn), _) => format!("serial {serial} wwn {wwn}"),
        (Some(serial), None, _) => format!("serial {serial}"),
        (None, Some(wwn), _) => format!("wwn {wwn}"),
        (None, None, Some(path)) => format!("path {path}"),
        (None, None, None) => format!("name {name}"),
    }
}

/// What each device is called in the record; where several would share a name (USB bridges of one
/// maker often have one serial), what tells them apart for now is added.
pub fn device_keys(devices: &BTreeMap<String, Device>) -> BTreeMap<&str, String> {
    let mut shared: BTreeMap<String, usize> = BTreeMap::new();
    let mut keys = BTreeMap::new();
    for (name, device) in devices {
        let key = device_key(name, device);
        *shared.entry(key.clone()).or_default() += 1;
        keys.insert(name.as_str(), key);
    }
    for (name, key) in &mut keys {
        if shared.get(key).is_some_and(|count| *count > 1) {
            let path = devices
                .get(*name)
                .and_then(|device| device.id_path.as_ref());
            *key = match path {
                Some(path) => format!("{key} at {path} {name}"),
                None => format!("{key} at {name}"),
            };
        }
    }
    keys
}

/// The settings that a record holds, for those who gather facts: its bytes, whatever they are.
pub fn recorded(bytes: &[u8]) -> Vec<Recorded> {
    let Ok(record) = serde_json::from_slice::<Record>(bytes) else {
        return Vec::new();
    };
    record
        .queues
        .iter()
        .map(|(key, settings)| {
            let key = key.split_once(" at ").map_or(key.as_str(), |(key, _)| key);
            let part = |name: &str| {
                let rest = key.split_once(name)?.1;
                Some(rest.split_once(" wwn ").map_or(rest, |(serial, _)| serial))
            };
            Recorded {
                name: key.strip_prefix("name ").unwrap_or_default().to_owned(),
                serial: part("serial ").map(Text::unescape),
                wwn: key.rsplit_once("wwn ").map(|(_, wwn)| Text::unescape(wwn)),
                dm_uuid: key.strip_prefix("dm ").map(Text::unescape),
                id_path: key.strip_prefix("path ").map(Text::unescape),
                attributes: settings
                    .iter()
                    .filter_map(|(key, _)| attributes::by_key(key))
                    .collect(),
            }
        })
        .collect()
}

/// Whether a record holds anything of fstrim.timer.
pub fn holds_timer(file: &File) -> bool {
    Record::read(file).is_ok_and(|record| !record.timer.is_empty())
}
