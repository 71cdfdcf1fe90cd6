//! systemd unit files that decide over mount points.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use rustix::fs::FileType;

use super::Unit;
use super::read::Reader;
use crate::format::text::Text;

/// Where unit files stand, the first that has a name wins (systemd.unit(5)); what the fstab
/// generator makes (/run/systemd/generator) comes after the first two.
pub(super) const FOLDERS: &[(&str, bool)] = &[
    ("/etc/systemd/system", true),
    ("/run/systemd/system", true),
    ("/usr/local/lib/systemd/system", false),
    ("/usr/lib/systemd/system", false),
    ("/lib/systemd/system", false),
];

/// Marks the masks that ssdtune made until the next boot.
pub const MASKS: &str = "/run/ssdtune/masks";

/// The unit of a mount point: `/var/tmp` is `var-tmp.mount` (systemd.unit(5), "path escaping").
pub fn mount_unit(target: &[u8]) -> String {
    let mut name = String::with_capacity(target.len() + 6);
    let parts = target.split(|byte| *byte == b'/');
    for part in parts.filter(|part| !part.is_empty() && *part != b".") {
        if !name.is_empty() {
            name.push('-');
        }
        for &byte in part {
            let plain = byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'.');
            if plain && !(byte == b'.' && name.is_empty()) {
                name.push(char::from(byte));
            } else {
                // Writing to a String cannot fail.
                let _ = write!(name, "\\x{byte:02x}");
            }
        }
    }
    if name.is_empty() {
        name.push('-');
    }
    name.push_str(".mount");
    name
}

/// The unit files that decide over these mount points, by mount point.
pub(super) fn units<'t>(
    reader: &mut Reader,
    targets: impl IntoIterator<Item = &'t [u8]>,
) -> BTreeMap<String, Unit> {
    // The folders are listed once: looking up every name in each would cost a system call for
    // every line of fstab and folder.
    let there: BTreeSet<Vec<u8>> = FOLDERS
        .iter()
        .flat_map(|(folder, _)| reader.names(folder.as_bytes()))
        .filter(|name| name.ends_with(b".mount"))
        .collect();
    let mut found = BTreeMap::new();
    for target in targets {
        let key = Text::from(target).to_string();
        if found.contains_key(&key) {
            continue;
        }
        let name = mount_unit(target);
        if there.contains(name.as_bytes())
            && let Some(unit) = unit(reader, &name)
        {
            found.insert(key, unit);
        }
    }
    found
}

fn unit(reader: &mut Reader, name: &str) -> Option<Unit> {
    FOLDERS.iter().find_map(|(folder, overrides_fstab)| {
        let path = format!("{folder}/{name}");
        let stat = reader.look(path.as_bytes()).ok()?;
        let masked = masked(reader, path.as_bytes(), &stat);
        let mark = format!("{MASKS}/{name}");
        Some(Unit {
            path: Text::from(path.as_str()),
            masked,
            overrides_fstab: *overrides_fstab,
            ours: masked && folder.starts_with("/run") && reader.there(mark.as_bytes()),
        })
    })
}

/// A link to /dev/null, however long its way, or an empty file.
pub(super) fn masked(reader: &Reader, path: &[u8], stat: &rustix::fs::Stat) -> bool {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            let direct = reader.link(path).is_ok_and(|target| target == b"/dev/null");
            let null = |stat: rustix::fs::Stat| {
                FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
                    && (
                        rustix::fs::major(stat.st_rdev),
                        rustix::fs::minor(stat.st_rdev),
                    ) == (1, 3)
            };
            direct
                || reader.stat(path).is_ok_and(|stat| {
                    null(stat)
                        || stat.st_size == 0
                            && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                })
        }
        FileType::RegularFile => stat.st_size == 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn unit_names_are_escaped_as_systemd_does() {
        // Each checked with `systemd-escape -p --suffix=mount`.
        for (target, unit) in [
            ("/", "-.mount"),
            ("/tmp", "tmp.mount"),
            ("/var/tmp/", "var-tmp.mount"),
            ("//srv//x", "srv-x.mount"),
            ("/mnt/my-disk", "mnt-my\\x2ddisk.mount"),
            ("/mnt/a b", "mnt-a\\x20b.mount"),
            ("/.snapshots", "\\x2esnapshots.mount"),
            ("/a/.b", "a-.b.mount"),
            ("/é", "\\xc3\\xa9.mount"),
        ] {
            assert_eq!(mount_unit(target.as_bytes()), unit, "{target}");
        }
    }

    #[test]
    fn masks_and_overrides_are_told_apart() {
        let root = fake::root(&[
            ("etc/systemd/system/tmp.mount", "-> /dev/null"),
            ("run/systemd/system/srv.mount", "-> /dev/null"),
            ("run/ssdtune/masks/srv.mount", ""),
            ("etc/systemd/system/empty.mount", ""),
            ("etc/systemd/system/data.mount", "[Mount]\n"),
            ("usr/lib/systemd/system/data.mount", ""),
            ("usr/lib/systemd/system/var-tmp.mount", "[Mount]\n"),
            ("etc/systemd/system/dangling.mount", "-> nowhere"),
        ]);
        let mut reader = Reader::new(root.path()).unwrap();
        let targets: [&[u8]; 7] = [
            b"/tmp",
            b"/srv",
            b"/empty",
            b"/data",
            b"/var/tmp",
            b"/none",
            b"/dangling",
        ];
        let units = units(&mut reader, targets);
        let told = |target: &str| {
            let unit = &units[target];
            (unit.masked, unit.overrides_fstab, unit.ours)
        };
        assert_eq!(told("/tmp"), (true, true, false));
        assert_eq!(told("/srv"), (true, true, true));
        assert_eq!(told("/empty"), (true, true, false));
        assert_eq!(told("/data"), (false, true, false));
        assert_eq!(told("/var/tmp"), (false, false, false));
        assert_eq!(told("/dangling"), (false, true, false));
        assert!(!units.contains_key("/none"));
        assert_eq!(
            units["/tmp"].path,
            Text::from("/etc/systemd/system/tmp.mount")
        );
    }
}
