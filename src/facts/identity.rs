//! Who a disk is: udev's database where it has an entry, else what sysfs says.
//!
//! | property | from sysfs |
//! |---|---|
//! | ID_SERIAL_SHORT | NVMe and virtio: `serial`; MMC: `device/serial`; SCSI and ATA: `device/vpd_pg80` without its four header bytes |
//! | ID_WWN | NVMe: `wwid`; SCSI and ATA: `device/wwid`, `naa.5…` written as `0x5…` |
//! | ID_MODEL | NVMe, SCSI, ATA: `device/model` (SCSI cuts it to 16 characters); MMC: `device/name` |
//! | ID_VENDOR | SCSI: `device/vendor`, which for ATA disks is only `ATA` and is left out, as udev does |
//!
//! Values from sysfs are written as udev would: blanks at the ends off, others and what does not
//! belong in a name as `_`. The links of /dev/disk/by-id and ID_PATH come from udev only.

use std::os::fd::BorrowedFd;

use super::Device;
use super::read::attribute;
use crate::format::text::Text;
use crate::format::udev_db;

/// Fills in the identity from udev's database.
pub(super) fn from_udev(bytes: &[u8], device: &mut Device) {
    let database = udev_db::parse(bytes);
    let property = |key: &str| {
        let value = database.property(key).filter(|value| !value.is_empty());
        value.map(Text::from)
    };
    device.udev = true;
    device.ids = database.ids().map(Text::from).collect();
    device.ids.sort_unstable();
    device.serial = property("ID_SERIAL_SHORT");
    device.wwn = property("ID_WWN");
    device.model = property("ID_MODEL");
    device.vendor = property("ID_VENDOR");
    device.id_path = property("ID_PATH");
    device.multipath_member |= database.property("DM_MULTIPATH_DEVICE_PATH") == Some(b"1");
}

/// Fills in the identity from sysfs.
pub(super) fn from_sysfs(
    name: &str,
    folder: BorrowedFd<'_>,
    device: &mut Device,
    buffer: &mut [u8; 4096],
) {
    let mut value = |path: &str| match attribute(folder, path, buffer) {
        Ok(text) => udev_name(text.as_bytes()),
        Err(_) => None,
    };
    if name.starts_with("nvme") {
        device.serial = value("device/serial");
        device.model = value("device/model");
        device.wwn = value("wwid");
    } else if name.starts_with("vd") {
        device.serial = value("serial");
    } else if name.starts_with("mmcblk") {
        device.serial = value("device/serial");
        device.model = value("device/name");
    } else if name.starts_with("sd") || name.starts_with("sr") {
        device.model = value("device/model");
        device.vendor = value("device/vendor").filter(|vendor| vendor.as_bytes() != b"ATA");
        device.wwn = value("device/wwid").and_then(|wwid| wwn(wwid.as_bytes()));
        device.serial = vpd_serial(folder, buffer);
    }
}

/// The unit serial number page (SPC-4, 7.8.15): four bytes of header, then the number.
fn vpd_serial(folder: BorrowedFd<'_>, buffer: &mut [u8; 4096]) -> Option<Text> {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let mode = rustix::fs::Mode::empty();
    let file = rustix::fs::openat(folder, "device/vpd_pg80", flags, mode).ok()?;
    let length = rustix::io::read(&file, &mut buffer[..]).ok()?;
    let page = &buffer[..length];
    let number = page.get(4..)?;
    let declared = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    udev_name(&number[..declared.min(number.len())])
}

/// `naa.5002538e40a1b2c3` is udev's `0x5002538e40a1b2c3`; of longer ones, the first half.
fn wwn(wwid: &[u8]) -> Option<Text> {
    let hex = wwid.strip_prefix(b"naa.")?;
    let half = hex.get(..16).unwrap_or(hex);
    Some(Text([b"0x", half].concat()))
}

/// A value as udev makes it a property: trimmed, runs of blanks as one `_`, and what udev keeps
/// out of names as `_` too. None where nothing is left.
fn udev_name(value: &[u8]) -> Option<Text> {
    let value = value.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut name = Vec::with_capacity(value.len());
    for chunk in value.trim_ascii().utf8_chunks() {
        for character in chunk.valid().chars() {
            let plain = character.is_ascii_alphanumeric() || !character.is_ascii();
            if plain || "#+-.:=@_".contains(character) {
                name.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            } else if !(character.is_ascii_whitespace() && name.ends_with(b"_")) {
                name.push(b'_');
            }
        }
        name.extend(chunk.invalid().iter().map(|_| b'_'));
    }
    (!name.is_empty()).then_some(Text(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysfs_values_are_written_as_udev_would() {
        let name = |text: &str| udev_name(text.as_bytes()).map(|name| name.to_string());
        assert_eq!(name("  Samsung SSD 860  "), Some("Samsung_SSD_860".into()));
        assert_eq!(name("a  b"), Some("a_b".into()));
        assert_eq!(name("S3Z\0\0junk"), Some("S3Z".into()));
        assert_eq!(name("a/b\"c"), Some("a_b_c".into()));
        assert_eq!(name("   "), None);
        assert_eq!(udev_name(b"\xffx"), Some(Text::from("_x")));
    }

    #[test]
    fn a_wwid_becomes_a_wwn() {
        let wwn = |text: &str| wwn(text.as_bytes()).map(|wwn| wwn.to_string());
        assert_eq!(
            wwn("naa.5002538e40a1b2c3"),
            Some("0x5002538e40a1b2c3".into())
        );
        assert_eq!(
            wwn("naa.600605b00d4e2f602a1b2c3d4e5f6071"),
            Some("0x600605b00d4e2f60".into())
        );
        assert_eq!(wwn("t10.ATA_QEMU_HARDDISK"), None);
    }

    #[test]
    fn udev_is_taken_at_its_word() {
        let mut device = Device::default();
        let text = b"S:disk/by-id/wwn-0x5\nS:disk/by-id/ata-X_1\nS:disk/by-path/p\n\
            E:ID_SERIAL_SHORT=1\nE:ID_MODEL=X Y\nE:ID_WWN=0x5\nE:ID_VENDOR=\n\
            E:DM_MULTIPATH_DEVICE_PATH=1\n";
        from_udev(text, &mut device);
        assert_eq!(device.ids, [Text::from("ata-X_1"), Text::from("wwn-0x5")]);
        assert_eq!(device.model, Some(Text::from("X Y")));
        assert_eq!(device.vendor, None);
        assert!(device.multipath_member && device.udev);
    }
}
