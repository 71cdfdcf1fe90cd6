//! Links by which systemd starts a unit at boot: what `systemctl enable` makes and `disable` removes.
//!
//! Made here, not by systemctl: symlink(2) is atomic and the folder is synced, so that a power cut
//! leaves the old or the new, and a system that does not run is written to alike.

use std::io;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::folder;
use super::place::Place;
use super::words::{failed, refused};
use crate::format::text::Text;

/// Below it, and nowhere else, links are made and removed.
const UNITS: &str = "/etc/systemd/system/";

/// Leads a link from where it leads to where it shall; none: there is no link.
///
/// # Errors
/// Somebody else has made something of it that is neither.
pub(super) fn lead(
    root: &Path,
    path: &Text,
    from: Option<&Text>,
    to: Option<&Text>,
) -> io::Result<()> {
    let folder = folder_of(path)?;
    if to.is_some() {
        folder::make(root, &folder, 0o755)?;
    }
    let place = match Place::open(root, path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && to.is_none() => return Ok(()),
        place => place?,
    };
    let cannot = |cause: Errno| failed(format_args!("cannot change the link `{path}`"), cause);
    let rival = || {
        refused(
            io::ErrorKind::Other,
            format_args!(
                "`{path}` was changed by somebody else in the meantime: run `ssdtune plan` again"
            ),
        )
    };
    let now = match rustix::fs::readlinkat(&place.folder, place.name, Vec::new()) {
        Ok(now) => Some(Text(now.into_bytes())),
        Err(Errno::NOENT) => None,
        // No link, but something.
        Err(Errno::INVAL) => return Err(rival()),
        Err(cause) => return Err(cannot(cause)),
    };
    if now.as_ref() != to {
        if now.as_ref() != from {
            return Err(rival());
        }
        if now.is_some() {
            place.unlink(place.name)?;
        }
        if let Some(to) = to {
            match rustix::fs::symlinkat(to.as_path(), &place.folder, place.name) {
                Ok(()) => {}
                Err(Errno::EXIST) => return Err(rival()),
                Err(cause) => return Err(cannot(cause)),
            }
        }
    }
    place.sync()?;
    drop(place);
    if to.is_none() {
        sweep(root, &folder)?;
    }
    Ok(())
}

/// Removes the folder of a link that is gone, if nothing else is in it: systemctl does so too.
fn sweep(root: &Path, folder: &Text) -> io::Result<()> {
    let place = Place::open(root, folder)?;
    match rustix::fs::unlinkat(&place.folder, place.name, AtFlags::REMOVEDIR) {
        Ok(()) => place.sync(),
        // An empty folder harms nobody.
        Err(_) => Ok(()),
    }
}

/// The folder that a link stands in: one that systemd takes dependencies from.
fn folder_of(path: &Text) -> io::Result<Text> {
    let odd = || {
        refused(
            io::ErrorKind::InvalidInput,
            format_args!("`{path}` is no link by which systemd starts a unit"),
        )
    };
    let rest = path.as_bytes().strip_prefix(UNITS.as_bytes());
    let mut parts = rest.ok_or_else(odd)?.split(|byte| *byte == b'/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(folder), Some(name), None)
            if (folder.ends_with(b".wants") || folder.ends_with(b".requires"))
                && !name.is_empty()
                && !name.starts_with(b".") =>
        {
            Ok(Text([UNITS.as_bytes(), folder].concat()))
        }
        _ => Err(odd()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const LINK: &str = "/etc/systemd/system/timers.target.wants/fstrim.timer";
    const UNIT: &str = "/usr/lib/systemd/system/fstrim.timer";

    #[test]
    fn a_link_comes_and_goes_with_its_folder() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("etc/systemd/system")).unwrap();
        let (path, unit) = (LINK.into(), UNIT.into());
        // Twice: what is so already, is well.
        for _ in 0..2 {
            lead(root.path(), &path, None, Some(&unit)).unwrap();
            let found = std::fs::read_link(root.path().join(&LINK[1..])).unwrap();
            assert_eq!(found, Path::new(UNIT));
        }
        for _ in 0..2 {
            lead(root.path(), &path, Some(&unit), None).unwrap();
            assert!(
                !root
                    .path()
                    .join("etc/systemd/system/timers.target.wants")
                    .exists()
            );
        }
        // What else is in the folder, keeps it.
        lead(root.path(), &path, None, Some(&unit)).unwrap();
        let other = root
            .path()
            .join("etc/systemd/system/timers.target.wants/x.timer");
        symlink("/x", &other).unwrap();
        lead(root.path(), &path, Some(&unit), None).unwrap();
        assert!(std::fs::symlink_metadata(other).is_ok());
    }

    #[test]
    fn what_somebody_else_made_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let (path, unit, other) = (LINK.into(), UNIT.into(), "/elsewhere".into());
        lead(root.path(), &path, None, Some(&other)).unwrap();
        for (from, to) in [(None, Some(&unit)), (Some(&unit), None)] {
            let error = lead(root.path(), &path, from, to).unwrap_err();
            assert!(error.to_string().contains("somebody else"), "{error}");
        }
        let found = std::fs::read_link(root.path().join(&LINK[1..])).unwrap();
        assert_eq!(found, Path::new("/elsewhere"));
        let file = root.path().join(&LINK[1..]);
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "").unwrap();
        assert!(lead(root.path(), &path, None, Some(&unit)).is_err());
        assert!(lead(root.path(), &path, Some(&unit), None).is_err());
        assert!(file.is_file());
    }

    #[test]
    fn links_are_made_where_systemd_looks_for_them_only() {
        let root = tempfile::tempdir().unwrap();
        for odd in [
            "/etc/fstab",
            "/etc/systemd/system/fstrim.timer",
            "/etc/systemd/system/x/fstrim.timer",
            "/etc/systemd/system/x.wants/y/fstrim.timer",
            "/etc/systemd/system/x.wants/",
        ] {
            assert!(lead(root.path(), &odd.into(), None, Some(&"/x".into())).is_err());
        }
    }
}
