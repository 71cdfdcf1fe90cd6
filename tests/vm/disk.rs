//! Emulated disks: how each is attached, and what it says of itself.

/// How a disk is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    Nvme,
    SataSsd,
    ScsiSsd,
    ScsiHdd,
    Usb,
    Virtio,
}

/// An emulated disk; its serial number names it in reports.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    pub bus: Bus,
    pub serial: &'static str,
    wwn: Option<u64>,
}

impl Disk {
    pub const fn new(bus: Bus, serial: &'static str) -> Self {
        Self {
            bus,
            serial,
            wwn: None,
        }
    }

    /// The same with a World Wide Name; SATA and SCSI disks have one.
    pub const fn with_wwn(mut self, wwn: u64) -> Self {
        self.wwn = Some(wwn);
        self
    }

    /// QEMU's `-device` for it; `at` is its place on its bus.
    pub fn device(&self, at: usize) -> String {
        let serial = self.serial;
        let kind = match self.bus {
            Bus::Nvme => "nvme".to_owned(),
            Bus::SataSsd => format!("ide-hd,bus=ide.{at},model=Test SSD,rotation_rate=1"),
            Bus::ScsiSsd => {
                format!("scsi-hd,bus=scsi.0,scsi-id={at},vendor=TEST,product=FLASH,rotation_rate=1")
            }
            Bus::ScsiHdd => format!(
                "scsi-hd,bus=scsi.0,scsi-id={at},vendor=TEST,product=SPINNING,rotation_rate=7200"
            ),
            Bus::Usb => "usb-storage,bus=usb.0".to_owned(),
            Bus::Virtio => "virtio-blk-pci".to_owned(),
        };
        let wwn = self
            .wwn
            .map_or(String::new(), |wwn| format!(",wwn={wwn:#x}"));
        format!("{kind},drive=d{serial},serial={serial},id={serial}{wwn}")
    }
}

/// The place of a disk on its bus: SATA has six ports, counted from 0, whatever else there is.
pub fn place(disks: &[Disk], at: usize) -> usize {
    let bus = disks[at].bus;
    match bus {
        Bus::SataSsd => disks[..at].iter().filter(|disk| disk.bus == bus).count(),
        _ => at,
    }
}
