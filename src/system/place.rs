//! Where a file stands: its folder, opened without following a link, and its name.
//!
//! Every path is walked component by component from the root with `O_NOFOLLOW`, so that it cannot
//! leave an offline root and no link planted on the way is followed. What is done afterwards is
//! done relative to the open folder, which cannot be swapped any more. (openat2(2) would do the
//! same in one call, but Linux has it since 5.6 only, and sandboxes often lack it.)

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::words::{failed, refused};
use crate::format::text::Text;

/// An open folder and the name of a file in it, which may be there or not.
#[derive(Debug)]
pub(super) struct Place<'a> {
    /// The folder, open for reading, so that it can be synced.
    pub folder: OwnedFd,
    /// The file's name.
    pub name: &'a OsStr,
    /// The whole path, for messages.
    pub path: &'a Text,
}

/// The components of an absolute path.
///
/// # Errors
/// A path that is relative, is the root itself, or holds `.`, `..` or NUL.
pub(super) fn components(path: &Text) -> io::Result<Vec<&OsStr>> {
    let odd = || {
        refused(
            io::ErrorKind::InvalidInput,
            format_args!("`{path}` is no absolute path without `.` and `..`"),
        )
    };
    let bytes = path.as_bytes().strip_prefix(b"/").ok_or_else(odd)?;
    let mut names = Vec::new();
    for name in bytes.split(|&byte| byte == b'/') {
        match name {
            b"" => {}
            b"." | b".." => return Err(odd()),
            _ if name.contains(&0) => return Err(odd()),
            _ => names.push(OsStr::from_bytes(name)),
        }
    }
    if names.is_empty() {
        return Err(odd());
    }
    Ok(names)
}

/// Opens the root; it is given by the user, links in it are his.
pub(super) fn open_root(root: &Path) -> io::Result<OwnedFd> {
    rustix::fs::openat(
        CWD,
        root,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|cause| failed(format_args!("cannot open `{}`", root.display()), cause))
}

/// Opens a folder in a folder; a link is refused.
pub(super) fn step(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(
        folder,
        name,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

impl<'a> Place<'a> {
    /// Opens the folder of `path` below `root`.
    ///
    /// # Errors
    /// `NotFound` where a folder on the way is missing; `NotADirectory` where it is a link.
    pub(super) fn open(root: &Path, path: &'a Text) -> io::Result<Self> {
        let mut names = components(path)?;
        let name = names.pop().unwrap_or_default();
        let mut folder = open_root(root)?;
        for step_name in names {
            folder = step(&folder, step_name).map_err(|cause| match cause {
                Errno::NOTDIR | Errno::LOOP => refused(
                    io::ErrorKind::NotADirectory,
                    format_args!(
                        "`{}`, on the way to `{path}`, is a link or no folder",
                        step_name.display()
                    ),
                ),
                _ => failed(
                    format_args!(
                        "cannot open `{}` on the way to `{path}`",
                        step_name.display()
                    ),
                    cause,
                ),
            })?;
        }
        Ok(Self { folder, name, path })
    }

    /// Makes what happened in the folder last over a power cut.
    pub(super) fn sync(&self) -> io::Result<()> {
        rustix::fs::fsync(&self.folder).map_err(|cause| {
            failed(
                format_args!("cannot sync the folder of `{}`", self.path),
                cause,
            )
        })
    }

    /// Removes a file, or a link itself; false where there was none.
    pub(super) fn unlink(&self, name: &OsStr) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(cause) => {
                let path = self.path.as_path().with_file_name(name);
                Err(failed(
                    format_args!("cannot remove `{}`", path.display()),
                    cause,
                ))
            }
        }
    }

    /// renameat2(2) within the folder.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr, flags: RenameFlags) -> Result<(), Errno> {
        if flags.is_empty() {
            rustix::fs::renameat(&self.folder, from, &self.folder, to)
        } else {
            rustix::fs::renameat_with(&self.folder, from, &self.folder, to, flags)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clean_absolute_paths_are_walked() {
        assert_eq!(
            components(&"//etc//fstab".into()).unwrap(),
            ["etc", "fstab"]
        );
        for odd in [
            "",
            "/",
            "etc/fstab",
            "/etc/../fstab",
            "/etc/./fstab",
            "/a\0b",
        ] {
            assert!(components(&odd.into()).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn a_link_on_the_way_is_refused() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.path().join("etc")).unwrap();
        let error = Place::open(root.path(), &"/etc/fstab".into()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert_eq!(
            error.to_string(),
            "`etc`, on the way to `/etc/fstab`, is a link or no folder"
        );
        assert!(Place::open(root.path(), &"/real/fstab".into()).is_ok());
    }
}
