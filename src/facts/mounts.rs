//! What is mounted, from /proc/self/mountinfo.

use super::read::{LARGEST, Reader};
use super::{Facts, Mount};
use crate::format::mountinfo;
use crate::format::text::Text;

const MOUNTINFO: &[u8] = b"/proc/self/mountinfo";

/// Reads the mount table; lines that mean nothing to us are noted by their number.
pub(super) fn mounts(reader: &mut Reader) -> Vec<Mount> {
    let Some(bytes) = reader.text(MOUNTINFO, LARGEST) else {
        return Vec::new();
    };
    let (entries, strange) = mountinfo::parse(&bytes);
    if strange > 0 {
        let why = format!("{strange} of its lines could not be understood");
        reader.note(MOUNTINFO, &why);
    }
    entries.iter().map(Mount::from).collect()
}

impl From<&mountinfo::Entry<'_>> for Mount {
    fn from(entry: &mountinfo::Entry<'_>) -> Self {
        Self {
            id: entry.id,
            parent: entry.parent,
            device: entry.device.to_owned(),
            root: Text::from(&*entry.root),
            target: Text::from(&*entry.target),
            flags: entry.flags().map(str::to_owned).collect(),
            fstype: entry.fstype.to_owned(),
            source: Text::from(&*entry.source),
            options: entry.options().map(|item| Text::from(&*item)).collect(),
        }
    }
}

impl Mount {
    /// The value of an option of the superblock (`upperdir`), empty for a mere word.
    pub fn option(&self, name: &str) -> Option<&[u8]> {
        self.options.iter().find_map(|option| {
            match option.as_bytes().strip_prefix(name.as_bytes())? {
                [] => Some(&[][..]),
                [b'=', value @ ..] => Some(value),
                _ => None,
            }
        })
    }

    /// True where nothing can be written through this mount.
    pub fn read_only(&self) -> bool {
        self.flags.iter().any(|flag| flag == "ro") || self.option("ro").is_some()
    }
}

impl Facts {
    /// What is mounted on a directory; of mounts upon one another, the last.
    pub fn mount_at(&self, target: &[u8]) -> Option<&Mount> {
        self.mounts
            .iter()
            .rev()
            .find(|mount| mount.target.as_bytes() == target)
    }
}

/// The mount that a path stands on: the deepest target above it, of several there the last.
pub(super) fn mount_of<'a>(mounts: &'a [Mount], path: &[u8]) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| is_below(path, mount.target.as_bytes()))
        .max_by_key(|mount| mount.target.as_bytes().len())
}

/// Whether a clean absolute path is `folder` or stands below it.
fn is_below(path: &[u8], folder: &[u8]) -> bool {
    match path.strip_prefix(folder) {
        Some(rest) => folder == b"/" || rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }
}

/// KiB in use on each tmpfs among `targets`.
///
/// Only what mountinfo calls a tmpfs is asked: a statfs(2) of a network or automount target may
/// hang. Below a root other than `/`, the mount table is not the system's own: nothing is asked.
pub(super) fn tmpfs_used<'t>(
    reader: &mut Reader,
    facts: &Facts,
    targets: impl IntoIterator<Item = &'t [u8]>,
) -> Vec<(String, u64)> {
    let mut used = Vec::new();
    if !reader.system {
        return used;
    }
    for target in targets {
        if facts
            .mount_at(target)
            .is_none_or(|mount| mount.fstype != "tmpfs")
        {
            continue;
        }
        let asked = reader
            .folder(target)
            .and_then(|folder| rustix::fs::fstatvfs(&folder));
        match asked {
            Ok(stat) => {
                let blocks = stat.f_blocks.saturating_sub(stat.f_bfree);
                let kb = blocks.saturating_mul(stat.f_frsize) / 1024;
                used.push((Text::from(target).to_string(), kb));
            }
            Err(errno) => reader.note(target, &super::read::words(errno)),
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(target: &str, fstype: &str) -> Mount {
        Mount {
            target: target.into(),
            fstype: fstype.to_owned(),
            ..Mount::default()
        }
    }

    #[test]
    fn the_last_of_mounts_upon_one_another_counts() {
        let facts = Facts {
            mounts: vec![
                mount("/", "ext4"),
                mount("/tmp", "ext4"),
                mount("/tmp", "tmpfs"),
            ],
            ..Facts::default()
        };
        assert_eq!(facts.mount_at(b"/tmp").unwrap().fstype, "tmpfs");
        assert!(facts.mount_at(b"/tm").is_none());
        assert_eq!(mount_of(&facts.mounts, b"/tmp/x").unwrap().fstype, "tmpfs");
        assert_eq!(mount_of(&facts.mounts, b"/tmpx").unwrap().fstype, "ext4");
    }

    #[test]
    fn an_option_is_found_by_its_whole_name() {
        let mount = Mount {
            options: vec!["rw".into(), "upperdir=/up".into(), "upper=/no".into()],
            ..Mount::default()
        };
        assert_eq!(mount.option("upperdir"), Some(&b"/up"[..]));
        assert_eq!(mount.option("rw"), Some(&b""[..]));
        assert_eq!(mount.option("up"), None);
    }
}
