//! Where a snapshot's files stand.

use std::ffi::OsStr;

use super::Snapshot;
use crate::facts::Image;
use crate::format::text::Text;

/// All that is ssdtune's own. Others may enter it: the managed record in it is for all to read.
pub(super) const HOME: &str = "/var/lib/ssdtune";

/// The snapshots' folder. For root alone: an fstab may hold passwords.
pub(super) const SNAPSHOTS: &str = "/var/lib/ssdtune/snapshots";

/// The one file of a snapshot that this program reads.
const MANIFEST: &str = "manifest.json";

/// Where the copies of fstab stand that are found without knowing of ssdtune.
pub(super) const BACKUPS: &str = "/etc";

/// What they are called, before the number.
pub(super) const BACKUP: &str = "fstab.bak-";

/// The folder of a snapshot.
pub(super) fn folder(number: u32) -> Text {
    Text(format!("{SNAPSHOTS}/{number}").into_bytes())
}

/// Its manifest.
pub(super) fn manifest(number: u32) -> Text {
    Text(format!("{SNAPSHOTS}/{number}/{MANIFEST}").into_bytes())
}

/// Its copy of fstab, under the name that [`copies`] gives it.
pub(super) fn copy_of_fstab(number: u32) -> Text {
    Text(format!("{SNAPSHOTS}/{number}/fstab").into_bytes())
}

/// Its copy of fstab in /etc.
pub(super) fn backup(number: u32) -> Text {
    Text(format!("{BACKUPS}/{BACKUP}{number}").into_bytes())
}

/// The name under which a file is made whole before it appears: `.NAME.ssdtune-new` beside it.
pub(super) fn staged(path: &Text) -> Text {
    let bytes = path.as_bytes();
    let slash = bytes.iter().rposition(|&byte| byte == b'/');
    let (folder, name) = bytes.split_at(slash.map_or(0, |at| at + 1));
    Text([folder, b".", name, b".ssdtune-new"].concat())
}

/// The files as they were, under their own names; where two share one, under the whole path.
pub(super) fn copies(snapshot: &Snapshot) -> Vec<(Text, &Image)> {
    let folder = folder(snapshot.number);
    let inside = |name: &[u8]| Text([folder.as_bytes(), b"/", name].concat());
    let mut copies = vec![];
    for file in &snapshot.plan.files {
        let Some(image) = &file.before else { continue };
        let name = file.path.as_path().file_name().map(OsStr::as_encoded_bytes);
        let mut path = inside(name.unwrap_or_default());
        let taken = |path: &Text| copies.iter().any(|(other, _)| other == path);
        if name.is_none_or(|name| name == MANIFEST.as_bytes()) || taken(&path) {
            let whole = file.path.as_bytes().iter();
            let flat = whole.map(|&byte| if byte == b'/' { b'-' } else { byte });
            path = inside(&flat.collect::<Vec<u8>>());
        }
        copies.push((path, image));
    }
    copies
}
