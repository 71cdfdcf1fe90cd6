//! The machine's disks as selectors see them.

use super::style::{QUIET, TITLE, paint};
use super::words::{size, visible};
use crate::facts::{Device, Facts, select};
use crate::plan::layers::Layers;

/// A block a device; those that a rule takes only when it asks come after the others.
pub fn page(facts: &Facts, all: bool) -> String {
    let mut page = String::new();
    let mut hidden = Vec::new();
    let layers = Layers::new(facts);
    for (name, device) in &facts.devices {
        let unusual = select::unusual(name, device);
        // Loop and ram devices without anything in them are noise.
        if !all && unusual.is_some() && device.sectors == 0 {
            hidden.push(name.as_str());
            continue;
        }
        one(&mut page, name, device, &layers, unusual);
    }
    if !hidden.is_empty() {
        page.push_str(&paint(
            QUIET,
            format!("{} empty devices not shown (-v shows all)", hidden.len()),
        ));
        page.push('\n');
    }
    page
}

fn one(page: &mut String, name: &str, device: &Device, layers: &Layers<'_>, unusual: Option<&str>) {
    let shown = match &device.dm_name {
        Some(dm) => format!("{} ({})", visible(&dm.to_string()), name),
        None => name.replace('!', "/"),
    };
    page.push_str(&format!(
        "{}  {}",
        paint(TITLE, visible(&shown)),
        size(device.sectors / 2)
    ));
    if let Some(kind) = unusual {
        page.push_str(&paint(QUIET, format!("  ({kind}: only on request)")));
    }
    page.push('\n');
    let mut row = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            page.push_str(&format!("  {key:<12} {}\n", visible(&value)));
        }
    };
    let text = |text: &Option<crate::format::text::Text>| text.as_ref().map(ToString::to_string);
    row("model", text(&device.model));
    row("vendor", text(&device.vendor));
    row("serial", text(&device.serial));
    row("wwn", text(&device.wwn));
    row(
        "id",
        Some(
            device
                .ids
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" "),
        ),
    );
    row(
        "transport",
        select::transport_of(name, device).map(str::to_owned),
    );
    let flag = |value: &str| match value {
        "0" => Some("false".to_owned()),
        "1" => Some("true".to_owned()),
        _ => None,
    };
    row(
        "rotational",
        device.queue.get("rotational").and_then(|value| flag(value)),
    );
    row("removable", device.removable.then(|| "true".to_owned()));
    row(
        "zoned",
        device
            .queue
            .get("zoned")
            .filter(|zoned| *zoned != "none")
            .cloned(),
    );
    row("scheduler", device.queue.get("scheduler").cloned());
    row("on", Some(device.slaves.join(" ")));
    row(
        "mount",
        Some(
            layers
                .mounts_over(name)
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" "),
        ),
    );
}
