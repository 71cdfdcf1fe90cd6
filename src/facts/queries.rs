//! Small questions about facts that the plan asks.

use super::{Device, Facts, Module};
use crate::format::sysfs;
use crate::knowledge::Scheduler;

impl Facts {
    /// The disk with this `major:minor`, or the disk that has a partition with it.
    pub fn device_by_number(&self, number: &str) -> Option<(&str, &Device)> {
        self.devices
            .iter()
            .find(|(_, device)| {
                device.number == number || device.partitions.values().any(|part| part == number)
            })
            .map(|(name, device)| (name.as_str(), device))
    }

    /// The disk that a `major:minor`, or the kernel name of a disk or partition, stands on.
    pub fn disk_of(&self, number_or_name: &str) -> Option<&str> {
        if number_or_name.contains(':') {
            return self.device_by_number(number_or_name).map(|(name, _)| name);
        }
        if let Some((name, _)) = self.devices.get_key_value(number_or_name) {
            return Some(name);
        }
        self.devices
            .iter()
            .find(|(_, device)| device.partitions.contains_key(number_or_name))
            .map(|(name, _)| name.as_str())
    }

    /// Size of a disk in bytes, none where it was not asked for.
    pub fn size_of(&self, name: &str) -> Option<u64> {
        let device = self.devices.get(name)?;
        (device.sectors > 0).then(|| device.sectors.saturating_mul(512))
    }

    /// Whether a scheduler can be had on a device: offered by it, or a module could bring it.
    ///
    /// `none` can be had wherever there is a choice at all; where there is none (no `scheduler`
    /// file, or old kernels' bare `none`), nothing can be set.
    pub fn can_have(&self, device: &Device, scheduler: Scheduler) -> bool {
        let offered = device.offered();
        if offered.is_empty() {
            return false;
        }
        scheduler == Scheduler::None
            || offered.contains(&scheduler)
            || matches!(
                self.modules.get(&scheduler),
                Some(Module::Present | Module::Loadable)
            )
    }

    /// Whether the device with this `major:minor`, the one that is mounted, passes discards on;
    /// none where that was not read.
    ///
    /// A layer that drops them (dm-crypt without allow-discards) says 0 here, whatever its disk
    /// says (case O07).
    pub fn supports_discard(&self, number: &str) -> Option<bool> {
        let (_, device) = self.device_by_number(number)?;
        let value = |name: &str| {
            let text = device.queue.get(name)?;
            sysfs::number(text)
        };
        match (value("discard_granularity"), value("discard_max_bytes")) {
            (None, None) => None,
            (granularity, most) => Some(granularity != Some(0) && most != Some(0)),
        }
    }
}

impl Device {
    /// The scheduler in effect; none where the device has no choice, or one that is unknown here.
    pub fn scheduler(&self) -> Option<Scheduler> {
        let (_, active) = sysfs::schedulers(self.queue.get("scheduler")?);
        Scheduler::from_name(active?)
    }

    /// The schedulers that the device offers now, those unknown here left out.
    pub fn offered(&self) -> Vec<Scheduler> {
        let Some(text) = self.queue.get("scheduler") else {
            return Vec::new();
        };
        let (offered, _) = sysfs::schedulers(text);
        offered
            .into_iter()
            .filter_map(Scheduler::from_name)
            .collect()
    }

    /// True where `queue/zoned` says that the disk has zones.
    pub fn zoned(&self) -> bool {
        self.queue.get("zoned").is_some_and(|zoned| zoned != "none")
    }

    /// `queue/rotational`, where it was read.
    pub fn rotational(&self) -> Option<bool> {
        self.queue
            .get("rotational")
            .and_then(|text| sysfs::flag(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(scheduler: Option<&str>) -> Device {
        let mut device = Device::default();
        if let Some(text) = scheduler {
            device.queue.insert("scheduler".into(), text.into());
        }
        device
    }

    #[test]
    fn a_scheduler_can_be_had_where_there_is_a_choice() {
        let mut facts = Facts::default();
        facts.modules.insert(Scheduler::Bfq, Module::Loadable);
        facts.modules.insert(Scheduler::Kyber, Module::Absent);
        let disk = device(Some("none [mq-deadline]"));
        assert_eq!(disk.scheduler(), Some(Scheduler::MqDeadline));
        assert!(facts.can_have(&disk, Scheduler::None));
        assert!(facts.can_have(&disk, Scheduler::MqDeadline));
        assert!(facts.can_have(&disk, Scheduler::Bfq));
        assert!(!facts.can_have(&disk, Scheduler::Kyber));
        // Bio-based: an old kernel's bare `none`, or no file at all.
        for bio in [device(Some("none")), device(None)] {
            assert_eq!(bio.scheduler(), None);
            assert!(!facts.can_have(&bio, Scheduler::None));
            assert!(!facts.can_have(&bio, Scheduler::Bfq));
        }
        assert!(facts.can_have(&device(Some("[none] ")), Scheduler::Bfq));
    }

    #[test]
    fn the_mounted_layer_decides_over_discards() {
        let mut crypt = Device {
            number: "253:0".into(),
            ..Device::default()
        };
        let mut facts = Facts::default();
        facts.devices.insert("dm-0".into(), crypt.clone());
        assert_eq!(facts.supports_discard("253:0"), None);
        crypt.queue.insert("discard_granularity".into(), "0".into());
        crypt.queue.insert("discard_max_bytes".into(), "0".into());
        facts.devices.insert("dm-0".into(), crypt);
        assert_eq!(facts.supports_discard("253:0"), Some(false));
        assert_eq!(facts.supports_discard("8:1"), None);
    }

    #[test]
    fn a_partition_leads_to_its_disk() {
        let mut facts = Facts::default();
        let mut disk = Device {
            number: "8:0".into(),
            ..Device::default()
        };
        disk.partitions.insert("sda1".into(), "8:1".into());
        facts.devices.insert("sda".into(), disk);
        for name in ["8:0", "8:1", "sda", "sda1"] {
            assert_eq!(facts.disk_of(name), Some("sda"), "{name}");
        }
        assert_eq!(facts.disk_of("8:2"), None);
    }
}
