//! The facts from an asker's side.

use super::{Facts, File, Mount};
use crate::format::text::Text;
use crate::state::Machine;

/// A layer at which discards end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoDiscard {
    /// Its name.
    pub name: String,
    /// It is dm-crypt.
    pub crypt: bool,
}

impl Facts {
    /// The machine that `when` is asked about.
    pub fn machine(&self) -> Machine<'_> {
        Machine {
            host: &self.host,
            kernel: &self.kernel,
            virtualization: &self.virtualization,
        }
    }

    /// The file that is known by a path, of those that ssdtune writes.
    pub fn file(&self, path: &Text) -> Option<&File> {
        [&self.fstab, &self.rules, &self.record]
            .into_iter()
            .find(|file| file.path == *path)
    }

    /// The layer below a mount that takes no discards; none where they pass, or nobody can tell.
    ///
    /// The device that is mounted decides: a disk below it may well take them.
    pub fn discards_end_at(&self, mount: &Mount) -> Option<NoDiscard> {
        if self.supports_discard(&mount.device)? {
            return None;
        }
        let name = self.disk_of(&mount.device)?;
        let device = self.devices.get(name)?;
        let crypt = |device: &super::Device| {
            device
                .dm_uuid
                .as_ref()
                .is_some_and(|uuid| uuid.as_bytes().starts_with(b"CRYPT-"))
        };
        let mut layer = (name, device);
        // Say the name of the layer that drops them, where one below it is dm-crypt.
        for _ in 0..16 {
            if crypt(layer.1) {
                return Some(NoDiscard {
                    name: shown(layer.0, layer.1),
                    crypt: true,
                });
            }
            let below = layer.1.slaves.iter().find_map(|slave| {
                let disk = self.disk_of(slave)?;
                let device = self.devices.get(disk)?;
                let passes = self.supports_discard(&device.number)?;
                (!passes).then_some((disk, device))
            });
            match below {
                Some(next) => layer = next,
                None => break,
            }
        }
        Some(NoDiscard {
            name: shown(layer.0, layer.1),
            crypt: false,
        })
    }
}

fn shown(name: &str, device: &super::Device) -> String {
    match &device.dm_name {
        Some(dm) => format!("{dm} ({name})"),
        None => name.to_owned(),
    }
}
