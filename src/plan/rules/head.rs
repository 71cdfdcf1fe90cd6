//! The head of the file: which events count, and what the rules ask of a device again and again.

use std::fmt::Write as _;

use super::{HEADER, PATH, words};
use crate::knowledge::transport::{NEVER, TRANSPORTS, Transport};
use crate::state::{DesiredState, DeviceRule};

/// Everything before the first rule of the state.
pub(super) fn head(state: &DesiredState, rules: &[&DeviceRule]) -> String {
    let mut text = format!("{HEADER}\n");
    for source in &state.sources {
        let _ = writeln!(text, "#   {}", words::comment(&source.name));
    }
    text.push_str(concat!(
        "#\n",
        "# First each rule of the state files notes in ENV{.SSDTUNE_...} what it wants, a later rule\n",
        "# over an earlier one. Then each setting is written once, in the order that the kernel needs,\n",
        "# where it is not what it should be. A line never sees what a line before it wrote.\n",
        "ACTION!=\"add|change\", GOTO=\"ssdtune_end\"\n",
        "SUBSYSTEM!=\"block\", GOTO=\"ssdtune_end\"\n",
        "ENV{DEVTYPE}!=\"disk\", GOTO=\"ssdtune_end\"\n",
        "# An initramfs may hold an old copy of this file.\n",
        "TEST==\"/etc/initrd-release\", GOTO=\"ssdtune_end\"\n",
    ));
    let _ = writeln!(text, "TEST!=\"{PATH}\", GOTO=\"ssdtune_end\"");
    text.push_str("# Boot and replay-protected parts of eMMC.\n");
    let never = NEVER.join("|");
    let _ = writeln!(text, "KERNEL==\"{never}\", GOTO=\"ssdtune_end\"");
    if rules.iter().any(|rule| rule.select.asks_for_unusual()) {
        text.push_str(concat!(
            "# device mapper says that nobody should look: suspended, without paths, or a part.\n",
            "ENV{DM_UDEV_DISABLE_OTHER_RULES_FLAG}==\"1\", GOTO=\"ssdtune_end\"\n",
        ));
    }
    transports(&mut text, rules);
    unusual(&mut text, rules);
    text
}

/// How the disk is attached, as far as some rule asks.
fn transports(text: &mut String, rules: &[&DeviceRule]) {
    let asked = |transport: &&Transport| {
        let words = rules.iter().flat_map(|rule| &rule.select.transport);
        words.into_iter().any(|at| at.value == transport.name)
    };
    for (index, transport) in TRANSPORTS.iter().filter(asked).enumerate() {
        if index == 0 {
            text.push_str("\n# How the disk is attached.\n");
        }
        let _ = write!(text, "KERNEL==\"{}\"", transport.kernel.join("|"));
        if let Some(path) = transport.path {
            let _ = write!(text, ", DEVPATH==\"{path}\"");
        }
        for path in transport.not_path {
            let _ = write!(text, ", DEVPATH!=\"{path}\"");
        }
        let _ = writeln!(text, ", ENV{{.SSDTUNE_TRANSPORT}}=\"{}\"", transport.name);
    }
}

/// What a rule takes only when it asks.
fn unusual(text: &mut String, rules: &[&DeviceRule]) {
    if rules.iter().all(|rule| rule.select.asks_for_unusual()) {
        return;
    }
    text.push_str(
        "\n# Taken only by a rule that asks for it: what is plugged in, stacked, or no disk at all.\n",
    );
    let on_request = || TRANSPORTS.iter().filter(|transport| transport.on_request);
    let by_name: Vec<&str> = on_request()
        .filter(|transport| transport.path.is_none())
        .flat_map(|transport| transport.kernel)
        .copied()
        .collect();
    let mark = "ENV{.SSDTUNE_UNUSUAL}=\"1\"";
    let _ = writeln!(text, "KERNEL==\"{}\", {mark}", by_name.join("|"));
    for transport in on_request() {
        if let Some(path) = transport.path {
            let kernel = transport.kernel.join("|");
            let _ = writeln!(text, "KERNEL==\"{kernel}\", DEVPATH==\"{path}\", {mark}");
        }
    }
    let _ = writeln!(text, "ATTR{{removable}}==\"1\", {mark}");
    let _ = writeln!(text, "ENV{{DM_MULTIPATH_DEVICE_PATH}}==\"1\", {mark}");
}
