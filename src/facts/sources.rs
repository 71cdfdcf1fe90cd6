//! Which device a first field of fstab stands for, by the links that udev keeps under /dev.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustix::fs::FileType;

use super::block::disk_by_link;
use super::read::Reader;
use crate::format::text::Text;

/// Resolves sources that name a block device; those that name none, or one that is not there, are
/// left out.
///
/// Only paths below /dev are looked at: a network or automount source may hang.
pub(super) fn resolve<'s>(
    reader: &mut Reader,
    sources: impl IntoIterator<Item = Cow<'s, [u8]>>,
) -> BTreeMap<Text, String> {
    let mut found = BTreeMap::new();
    for source in sources {
        let key = Text::from(&*source);
        if found.contains_key(&key) {
            continue;
        }
        if let Some(number) = node_path(&source).and_then(|path| number(reader, &path)) {
            found.insert(key, number);
        }
    }
    found
}

/// The path under /dev that a source stands for (mount(8), "Indicating the device").
fn node_path(source: &[u8]) -> Option<Cow<'_, [u8]>> {
    if source.starts_with(b"/dev/") {
        return Some(Cow::Borrowed(source));
    }
    let at = source.iter().position(|byte| *byte == b'=')?;
    let folder: &[u8] = match &source[..at] {
        b"UUID" => b"uuid",
        b"LABEL" => b"label",
        b"PARTUUID" => b"partuuid",
        b"PARTLABEL" => b"partlabel",
        b"ID" => b"id",
        _ => return None,
    };
    let value = &source[at + 1..];
    let bare = value
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let link = encoded(bare.unwrap_or(value));
    Some(Cow::Owned([b"/dev/disk/by-", folder, b"/", &link].concat()))
}

/// A label as udev names its link: what is no letter, digit or `#+-.:=@_` is `\xNN`.
fn encoded(label: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(label.len());
    let hex = |name: &mut Vec<u8>, byte: u8| name.extend(format!("\\x{byte:02x}").bytes());
    for chunk in label.utf8_chunks() {
        for character in chunk.valid().chars() {
            let plain = character.is_ascii_alphanumeric() || "#+-.:=@_".contains(character);
            if plain || !character.is_ascii() {
                name.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                hex(&mut name, character as u8);
            }
        }
        for byte in chunk.invalid() {
            hex(&mut name, *byte);
        }
    }
    name
}

/// `major:minor` of a device node. In a root that is a copy, a link to a node that is not there
/// still names the device.
fn number(reader: &Reader, path: &[u8]) -> Option<String> {
    if let Ok(stat) = reader.stat(path)
        && FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice
    {
        let (major, minor) = (
            rustix::fs::major(stat.st_rdev),
            rustix::fs::minor(stat.st_rdev),
        );
        return Some(format!("{major}:{minor}"));
    }
    if reader.system {
        return None;
    }
    let end = reader.link(path).unwrap_or_else(|_| path.to_vec());
    let name = end.rsplit(|byte| *byte == b'/').next()?;
    let name = std::str::from_utf8(name)
        .ok()
        .filter(|name| !name.is_empty())?;
    disk_by_link(reader, name)?;
    let number = reader
        .content(format!("/sys/class/block/{name}/dev").as_bytes(), 4096)
        .ok()?;
    let number = std::str::from_utf8(&number).ok()?;
    Some(number.trim_ascii().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_lead_to_links() {
        let path = |source: &str| {
            let path = node_path(source.as_bytes())?.into_owned();
            Some(Text(path).to_string())
        };
        assert_eq!(path("UUID=ab-1").as_deref(), Some("/dev/disk/by-uuid/ab-1"));
        assert_eq!(
            path("UUID=\"ab-1\"").as_deref(),
            Some("/dev/disk/by-uuid/ab-1")
        );
        assert_eq!(
            path("LABEL=My Disk/é").as_deref(),
            Some("/dev/disk/by-label/My\\x5cx20Disk\\x5cx2fé")
        );
        assert_eq!(path("/dev/vg0/data").as_deref(), Some("/dev/vg0/data"));
        for other in ["tmpfs", "server:/exp", "//s/p", "none", "", "=", "A=b"] {
            assert_eq!(path(other), None, "{other}");
        }
    }
}
