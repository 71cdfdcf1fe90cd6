//! TLP and laptop-mode-tools: shell-like `KEY=value` files.

use super::{Found, Write, files_of, lines, plain, text};
use crate::facts::RivalKind;
use crate::facts::read::Reader;

/// A `KEY=value` line, quotes off.
fn assignment(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == b'=')?;
    let value = line[at + 1..].trim_ascii();
    let value = match value.first() {
        Some(quote @ (b'"' | b'\'')) => value[1..].split(|byte| byte == quote).next()?,
        _ => value.split(|byte| *byte == b'#').next()?.trim_ascii(),
    };
    Some((line[..at].trim_ascii(), value))
}

/// `DISK_IOSCHED`, unless it only says `keep`; the last definition counts, /etc/tlp.conf last.
pub(super) fn tlp(reader: &mut Reader, found: &mut Found) {
    let mut paths = files_of(reader, "/etc/tlp.d", ".conf");
    paths.push(b"/etc/tlp.conf".to_vec());
    let (mut scheduler, mut devices, mut enabled) = (None, Vec::new(), true);
    for path in paths {
        let content = text(reader, &path).unwrap_or_default();
        for (number, line) in lines(&content) {
            match assignment(line) {
                Some((b"DISK_IOSCHED", value)) => {
                    let mut words = value.split(u8::is_ascii_whitespace);
                    let writes = words.any(|word| !word.is_empty() && word != b"keep");
                    scheduler = writes.then(|| (path.clone(), number));
                }
                Some((b"DISK_DEVICES", value)) => devices = value.to_vec(),
                Some((b"TLP_ENABLE", value)) => enabled = value != b"0",
                _ => {}
            }
        }
    }
    if let (true, Some((path, number))) = (enabled, scheduler) {
        let mut words = devices
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        // One device by its kernel name; several, or a name of /dev/disk/by-id, are left open.
        let device = match (words.next(), words.next()) {
            (Some(one), None) => plain(one, b"!").filter(|name| name.len() <= 16),
            _ => None,
        };
        let write = Write {
            setting: Some("scheduler".to_owned()),
            device,
        };
        found.add(RivalKind::Tlp, &path, Some(number), vec![write]);
    }
}

/// What laptop-mode-tools control where their switch is on: mount options too.
const LAPTOP_MODE: &[(&[u8], &str)] = &[
    (b"CONTROL_READAHEAD", "read_ahead_kb"),
    (b"CONTROL_NOATIME", "noatime"),
    (b"CONTROL_MOUNT_OPTIONS", "commit"),
];

pub(super) fn laptop_mode(reader: &mut Reader, found: &mut Found) {
    let path = b"/etc/laptop-mode/laptop-mode.conf";
    for (number, line) in lines(&text(reader, path).unwrap_or_default()) {
        let Some((key, b"1")) = assignment(line) else {
            continue;
        };
        let writes = LAPTOP_MODE.iter().filter(|(name, _)| *name == key);
        let writes = writes.map(|(_, setting)| Write {
            setting: Some((*setting).to_owned()),
            device: None,
        });
        found.add(RivalKind::LaptopMode, path, Some(number), writes.collect());
    }
}
