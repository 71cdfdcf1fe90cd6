//! `match`: reads which devices and which lines a rule takes.

use std::borrow::Cow;

use super::fields::Fields;
use super::pattern::{Refused, fold_blanks, fold_slashes};
use super::reader::Reader;
use super::visible::{array, in_quotes, quoted};
use super::{At, DeviceSelector, MountSelector, Pattern};
use crate::knowledge::transport::TRANSPORTS;

/// Reads the key `match` of a device rule.
pub(super) fn read_device(mut fields: Fields<'_>, reader: &mut Reader) -> DeviceSelector {
    refuse_empty(&fields, "match.name = \"*\"", reader);
    let select = DeviceSelector {
        name: patterns("match.name", &mut fields, reader, kernel_name),
        id: patterns("match.id", &mut fields, reader, id_name),
        serial: patterns("match.serial", &mut fields, reader, as_is),
        wwn: patterns("match.wwn", &mut fields, reader, as_is),
        model: patterns("match.model", &mut fields, reader, |text| {
            Ok(fold_blanks(text))
        }),
        vendor: patterns("match.vendor", &mut fields, reader, |text| {
            Ok(fold_blanks(text))
        }),
        transport: transports(&mut fields, reader),
        rotational: fields.flag("match.rotational", reader),
        removable: fields.flag("match.removable", reader),
        zoned: fields.flag("match.zoned", reader),
        mount: patterns("match.mount", &mut fields, reader, mount_point),
    };
    fields.finish_with("match.", reader, |key| match key {
        "size" | "ssd" | "hdd" | "type" => Some(Refused::new(
            format!("unknown key `match.{key}`"),
            "flash has `match.rotational = false`, hard disks `true`",
        )),
        "target" => Some(Refused::new(
            "unknown key `match.target`",
            "a mount point is `match.mount` here: it takes the disks below it",
        )),
        "bus" => Some(Refused::new(
            "unknown key `match.bus`",
            "write `match.transport`: it tells sata, nvme, usb and others apart",
        )),
        _ => None,
    });
    select
}

/// Reads the key `match` of a mount rule.
pub(super) fn read_mount(mut fields: Fields<'_>, reader: &mut Reader) -> MountSelector {
    refuse_empty(&fields, "match.target = \"/home\"", reader);
    let select = MountSelector {
        target: patterns("match.target", &mut fields, reader, mount_point),
        source: patterns("match.source", &mut fields, reader, as_is),
        fstype: patterns("match.fstype", &mut fields, reader, fstype),
    };
    fields.finish_with("match.", reader, |key| match key {
        "mount" | "mountpoint" | "path" | "dir" => Some(Refused::new(
            format!("unknown key `match.{key}`"),
            "the mount point is `match.target`, as in fstab(5)",
        )),
        "device" | "spec" | "uuid" | "label" => Some(Refused::new(
            format!("unknown key `match.{key}`"),
            "the first field is `match.source`, as it stands in fstab: `UUID=...`",
        )),
        "type" | "vfstype" => Some(Refused::new(
            format!("unknown key `match.{key}`"),
            "the filesystem type is `match.fstype`",
        )),
        _ => None,
    });
    select
}

/// Refuses a `match` without keys.
fn refuse_empty(fields: &Fields<'_>, example: &str, reader: &mut Reader) {
    if fields.is_empty() {
        reader.report(
            reader.origin(fields.header.clone()),
            "`match` asks for nothing",
            format!("write e.g. `{example}`"),
        );
    }
}

/// Takes a key that is a pattern or a list of them; `fix` folds or refuses the text first.
fn patterns(
    name: &'static str,
    fields: &mut Fields<'_>,
    reader: &mut Reader,
    fix: fn(&str) -> Result<Cow<'_, str>, Refused>,
) -> Vec<At<Pattern>> {
    let Some(texts) = fields.strings(name, reader) else {
        return Vec::new();
    };
    let mut list = Vec::with_capacity(texts.len());
    for At { value, origin } in texts {
        match fix(&value).and_then(Pattern::new) {
            Ok(value) => list.push(At { value, origin }),
            Err(refused) => reader.refuse(origin, refused),
        }
    }
    list
}

fn transports(fields: &mut Fields<'_>, reader: &mut Reader) -> Vec<At<String>> {
    let mut list = fields
        .strings("match.transport", reader)
        .unwrap_or_default();
    list.retain(|at| {
        let known = TRANSPORTS
            .iter()
            .any(|transport| transport.name == at.value);
        if !known {
            let allowed: Vec<&str> = TRANSPORTS.iter().map(|transport| transport.name).collect();
            if ["ssd", "hdd", "flash"].contains(&at.value.as_str()) {
                reader.report(
                    at.origin,
                    format!("`{}` is no transport", at.value),
                    "flash has `match.rotational = false`, hard disks `true`",
                );
            } else {
                reader.unknown_word("transport", at, &allowed);
            }
        }
        known
    });
    list
}

fn as_is(text: &str) -> Result<Cow<'_, str>, Refused> {
    Ok(Cow::Borrowed(text))
}

/// A kernel name: no path, no partition.
fn kernel_name(text: &str) -> Result<Cow<'_, str>, Refused> {
    if let Some(under_dev) = text.strip_prefix("/dev/") {
        let help = match under_dev.strip_prefix("disk/by-id/") {
            Some(id) => format!("write `match.id = {}`", in_quotes(id)),
            None if under_dev.starts_with("disk/") || under_dev.starts_with("mapper/") => {
                "write `match.mount`, or `match.id` with a name from /dev/disk/by-id".to_owned()
            }
            // The kernel writes the slash of /dev/cciss/c0d0 as an exclamation mark.
            None => format!(
                "write the kernel's name: {}",
                in_quotes(&under_dev.replace('/', "!"))
            ),
        };
        return Err(Refused::new(format!("{} is a path", quoted(text)), help));
    }
    if text.contains('/') {
        return Err(Refused::new(
            format!("{} is no kernel name", quoted(text)),
            "write a name as it stands in /sys/block: \"sda\"",
        ));
    }
    if let Some(disk) = disk_of_partition(text) {
        return Err(Refused::new(
            format!(
                "{} is a partition, and only whole disks have a queue",
                quoted(text)
            ),
            format!("write {}", in_quotes(disk)),
        ));
    }
    Ok(Cow::Borrowed(text))
}

/// The disk of a literal partition name. Not `xvda1`, which can be a whole disk.
fn disk_of_partition(name: &str) -> Option<&str> {
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if disk.len() == name.len() {
        return None;
    }
    let letters = |prefix: &str| {
        disk.strip_prefix(prefix).is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_lowercase())
        })
    };
    if letters("sd") || letters("vd") {
        return Some(disk);
    }
    let disk = disk.strip_suffix('p')?;
    let numbered = |prefix: &str| {
        disk.starts_with(prefix)
            && disk.ends_with(|c: char| c.is_ascii_digit())
            && !disk.contains(['*', '?', '['])
    };
    (numbered("nvme") || numbered("mmcblk") || numbered("nbd")).then_some(disk)
}

/// A name of a link under /dev/disk/by-id.
fn id_name(text: &str) -> Result<Cow<'_, str>, Refused> {
    if let Some(id) = text.strip_prefix("/dev/disk/by-id/") {
        return Err(Refused::new(
            format!("{} is a path", quoted(text)),
            format!("write the name alone: {}", in_quotes(id)),
        ));
    }
    if text.contains('/') {
        return Err(Refused::new(
            format!("{} is no name of /dev/disk/by-id", quoted(text)),
            "write a name as `ls /dev/disk/by-id` shows it",
        ));
    }
    Ok(Cow::Borrowed(text))
}

/// A mount point: absolute, or a pattern that can be.
fn mount_point(text: &str) -> Result<Cow<'_, str>, Refused> {
    if matches!(text, "swap" | "none") {
        return Err(Refused::new(
            format!(
                "{} is no mount point: swap has no inodes and no mount options",
                quoted(text)
            ),
            "leave it out",
        ));
    }
    if !text.is_empty() && !text.starts_with(['/', '*', '?', '[']) {
        return Err(Refused::new(
            format!("{} is no absolute path", quoted(text)),
            "write the mount point from the root: \"/home\"",
        ));
    }
    if text.split('/').any(|part| part == "." || part == "..") {
        return Err(Refused::new(
            format!("{} has `.` or `..` in it", quoted(text)),
            "write the mount point as /proc/self/mountinfo shows it",
        ));
    }
    Ok(fold_slashes(text))
}

/// A filesystem type.
fn fstype(text: &str) -> Result<Cow<'_, str>, Refused> {
    if text == "swap" {
        return Err(Refused::new(
            "`swap` lines take no mount options: swap has no inodes",
            "leave it out",
        ));
    }
    if text.contains(',') {
        let types: Vec<&str> = text.split(',').map(str::trim).collect();
        return Err(Refused::new(
            format!("{} is more than one type", quoted(text)),
            format!("write {}", array(&types)),
        ));
    }
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(Refused::new(
            format!(
                "{} is no filesystem type: the kernel's names are in lower case",
                quoted(text)
            ),
            format!("write {}", in_quotes(&text.to_ascii_lowercase())),
        ));
    }
    Ok(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_told_from_disks() {
        for (name, disk) in [
            ("sda1", Some("sda")),
            ("vdb12", Some("vdb")),
            ("nvme0n1p2", Some("nvme0n1")),
            ("mmcblk0p1", Some("mmcblk0")),
            ("nvme0n1", None),
            ("xvda1", None),
            ("dm-0", None),
            ("md127", None),
            ("loop0", None),
            ("sda", None),
            ("sd[a-z]1", None),
        ] {
            assert_eq!(disk_of_partition(name), disk, "{name}");
        }
    }
}
