//! The facts from an asker's side.

use super::{Facts, File, Mount};
use crate::format::text::Text;
use crate::state::Machine;

/// A layer at which discards end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoDiscard {
    /// Its name.
    pub name: String,
    /// Why, as far as its kind tells.
    pub why: &'static str,
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
        let mut layer = (name, self.devices.get(name)?);
        // The lowest one that drops them: those above it say 0 because it does.
        for _ in 0..16 {
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
            why: why(layer.0, layer.1),
        })
    }
}

/// Why a layer drops discards.
fn why(name: &str, device: &super::Device) -> &'static str {
    let uuid = |front: &[u8]| {
        let uuid = device.dm_uuid.as_ref();
        uuid.is_some_and(|uuid| uuid.as_bytes().starts_with(front))
    };
    if uuid(b"CRYPT-") {
        "dm-crypt drops discards unless crypttab has `discard` (it tells what is free)"
    } else if uuid(b"LVM-") {
        "it does not take discards (`lvs -o +discards` shows what its thin pool does with them)"
    } else if name.starts_with("md") {
        "RAID 4, 5 and 6 drop discards unless the kernel is told \
         `raid456.devices_handle_discard_safely=1`"
    } else if device.path.contains("/usb") {
        "its USB bridge does not take discards"
    } else {
        "it does not take discards"
    }
}

fn shown(name: &str, device: &super::Device) -> String {
    match &device.dm_name {
        Some(dm) => format!("{dm} ({name})"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Device;

    /// Layers from the mounted one down; each says whether it passes discards.
    fn stacked(layers: &[(&str, &str, bool)]) -> Option<NoDiscard> {
        let mut facts = Facts::default();
        for (at, (name, uuid, passes)) in layers.iter().enumerate() {
            let most = if *passes { "4294966784" } else { "0" };
            let mut device = Device {
                number: format!("1:{at}"),
                dm_uuid: (!uuid.is_empty()).then(|| (*uuid).into()),
                slaves: layers
                    .iter()
                    .skip(at + 1)
                    .take(1)
                    .map(|next| next.0.into())
                    .collect(),
                ..Device::default()
            };
            device.queue.insert("discard_max_bytes".into(), most.into());
            facts.devices.insert((*name).into(), device);
        }
        facts.discards_end_at(&Mount {
            device: "1:0".into(),
            ..Mount::default()
        })
    }

    #[test]
    fn the_lowest_layer_that_drops_discards_is_named() {
        let lvm = |passes| ("dm-1", "LVM-a", passes);
        let crypt = |passes| ("dm-0", "CRYPT-LUKS2-a", passes);
        let (md, disk) = (|passes| ("md0", "", passes), |passes| ("sda", "", passes));
        assert_eq!(stacked(&[lvm(true), crypt(true), disk(true)]), None);
        for (layers, name, word) in [
            (
                vec![lvm(false), crypt(false), disk(true)],
                "dm-0",
                "crypttab",
            ),
            (
                vec![lvm(false), crypt(true), disk(true)],
                "dm-1",
                "thin pool",
            ),
            (vec![crypt(false), md(false), disk(true)], "md0", "raid456"),
            (
                vec![crypt(false), md(false), disk(false)],
                "sda",
                "it does not",
            ),
        ] {
            let found = stacked(&layers).unwrap();
            assert_eq!(found.name, name, "{layers:?}");
            assert!(found.why.contains(word), "{}", found.why);
        }
    }
}
