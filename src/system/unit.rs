//! Masks of mount units that last until the next boot, and the note that they are ours.
//!
//! After a daemon-reload systemd would mount a new tmpfs line of fstab over a directory in use, as
//! soon as the next service asks for it. A link to /dev/null in /run keeps it from that, and goes
//! with the reboot.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::folder;
use super::place::Place;
use super::words::{failed, refused};
use crate::format::text::Text;

/// Where systemd looks for units that last until the next boot.
const UNITS: &str = "/run/systemd/system";

/// Empty files, named as the units that ssdtune masked. Others may list them, so that `plan` needs
/// no root to tell our mask from the administrator's.
pub const MASKS: &str = "/run/ssdtune/masks";

/// Masks a unit until the next boot.
///
/// # Errors
/// `AlreadyExists` where a unit file or a mask of somebody else's is there.
pub(super) fn mask(root: &Path, unit: &str) -> io::Result<()> {
    let (link, note) = paths(unit)?;
    folder::make(root, &UNITS.into(), 0o755)?;
    folder::make(root, &MASKS.into(), 0o755)?;
    let (link, note) = (Place::open(root, &link)?, Place::open(root, &note)?);
    let cannot = |cause: Errno| failed(format_args!("cannot mask `{unit}`"), cause);
    // The note first: a mask without one would pass for the administrator's.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let noted = match rustix::fs::openat(
        &note.folder,
        note.name,
        flags,
        Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH,
    ) {
        Ok(_) => true,
        Err(Errno::EXIST) => false,
        Err(cause) => return Err(cannot(cause)),
    };
    match rustix::fs::symlinkat("/dev/null", &link.folder, link.name) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) if !noted && is_mask(&link) => Ok(()),
        Err(cause) => {
            if noted {
                // The error that stopped us is the one to report.
                let _ = note.unlink(note.name);
            }
            Err(match cause {
                Errno::EXIST => refused(
                    io::ErrorKind::AlreadyExists,
                    format_args!("cannot mask `{unit}`: `{}` is there already", link.path),
                ),
                _ => cannot(cause),
            })
        }
    }
}

/// Takes our own mask of a unit away; one of somebody else's stays, and none is fine.
pub(super) fn unmask(root: &Path, unit: &str) -> io::Result<()> {
    let (link, note) = paths(unit)?;
    let note = match Place::open(root, &note) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        place => place?,
    };
    match rustix::fs::statat(
        &note.folder,
        note.name,
        rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
    ) {
        Ok(_) => {}
        Err(Errno::NOENT) => return Ok(()),
        Err(cause) => return Err(failed(format_args!("cannot unmask `{unit}`"), cause)),
    }
    match Place::open(root, &link) {
        Ok(link) if is_mask(&link) => drop(link.unlink(link.name)?),
        Ok(_) => {}
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(cause),
    }
    note.unlink(note.name).map(drop)
}

/// True where the link leads to /dev/null.
fn is_mask(link: &Place<'_>) -> bool {
    rustix::fs::readlinkat(&link.folder, link.name, Vec::new())
        .is_ok_and(|to| to.as_bytes() == b"/dev/null")
}

/// The paths of the mask and of the note.
fn paths(unit: &str) -> io::Result<(Text, Text)> {
    // A unit's name has no slash (systemd.unit(5)); what else is odd in it, is systemd's matter.
    if !unit.ends_with(".mount") || unit.starts_with('.') || unit.contains(['/', '\0']) {
        return Err(refused(
            io::ErrorKind::InvalidInput,
            format_args!("`{unit}` is no name of a mount unit"),
        ));
    }
    let below = |folder: &str| {
        let mut path = OsString::from(folder);
        path.push("/");
        path.push(unit);
        Text(path.into_encoded_bytes())
    };
    Ok((below(UNITS), below(MASKS)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn our_mask_comes_and_goes() {
        let root = tempfile::tempdir().unwrap();
        unmask(root.path(), "tmp.mount").unwrap();
        mask(root.path(), "tmp.mount").unwrap();
        mask(root.path(), "tmp.mount").unwrap();
        let link = root.path().join("run/systemd/system/tmp.mount");
        let note = root.path().join("run/ssdtune/masks/tmp.mount");
        assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("/dev/null"));
        assert!(note.is_file());
        unmask(root.path(), "tmp.mount").unwrap();
        assert!(std::fs::symlink_metadata(&link).is_err() && !note.exists());
    }

    #[test]
    fn a_mask_of_somebody_else_s_is_neither_taken_nor_removed() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join("run/systemd/system/tmp.mount");
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink("/dev/null", &link).unwrap();
        let error = mask(root.path(), "tmp.mount").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(!root.path().join("run/ssdtune/masks/tmp.mount").exists());
        unmask(root.path(), "tmp.mount").unwrap();
        assert!(std::fs::symlink_metadata(&link).is_ok());
        // Ours, then made a real unit by somebody: the unit stays.
        std::fs::remove_file(&link).unwrap();
        mask(root.path(), "tmp.mount").unwrap();
        std::fs::remove_file(&link).unwrap();
        std::fs::write(&link, "[Mount]\n").unwrap();
        unmask(root.path(), "tmp.mount").unwrap();
        assert!(link.is_file());
    }

    #[test]
    fn a_unit_has_a_unit_s_name() {
        let root = tempfile::tempdir().unwrap();
        for odd in ["../x.mount", "tmp", "a/b.mount", ".mount", "x.service"] {
            assert!(mask(root.path(), odd).is_err(), "{odd}");
        }
    }
}
