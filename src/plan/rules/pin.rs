//! Devices that udev cannot find by itself: those under a mount point, named one by one.

use std::fmt::Write as _;

use crate::facts::select::{Layer, Matcher, Taken};
use crate::facts::{Device, Facts};
use crate::format::text::Text;
use crate::format::udev_rules::{self, Refusal};
use crate::state::DeviceRule;

/// One line a device: `disk` takes the queue settings, `top` the read-ahead, `both` both.
pub(super) fn lines(
    text: &mut String,
    facts: &Facts,
    rule: &DeviceRule,
    next: &str,
) -> Result<(), Refusal> {
    text.push_str("ENV{.SSDTUNE_PIN}=\"\"\n");
    let matcher = Matcher::new(&rule.select, facts);
    for (name, device) in &facts.devices {
        if matcher.takes(name, device) == Taken::Yes {
            let role = match matcher.layer(name) {
                Layer::Disk => "disk",
                Layer::Top => "top",
                Layer::Both => "both",
            };
            let _ = writeln!(
                text,
                "{}, ENV{{.SSDTUNE_PIN}}=\"{role}\"",
                identity(name, device)?
            );
        }
    }
    let _ = writeln!(text, "ENV{{.SSDTUNE_PIN}}==\"\", GOTO=\"{next}\"");
    Ok(())
}

/// The matches that tell this device from all others, the most durable that it has.
fn identity(name: &str, device: &Device) -> Result<String, Refusal> {
    let exact = |key: &str, value: &Text| -> Result<String, Refusal> {
        Ok(format!(
            "{key}==\"{}\"",
            udev_rules::literal_match(&value.to_string())?
        ))
    };
    if let Some(uuid) = &device.dm_uuid {
        return exact("ENV{DM_UUID}", uuid);
    }
    match (&device.serial, &device.wwn, &device.id_path) {
        (Some(serial), Some(wwn), _) => Ok(format!(
            "{}, {}",
            exact("ENV{ID_SERIAL_SHORT}", serial)?,
            exact("ENV{ID_WWN}", wwn)?
        )),
        (Some(serial), None, _) => exact("ENV{ID_SERIAL_SHORT}", serial),
        (None, Some(wwn), _) => exact("ENV{ID_WWN}", wwn),
        (None, None, Some(path)) => exact("ENV{ID_PATH}", path),
        (None, None, None) => exact("KERNEL", &Text::from(name)),
    }
}
