//! Folders of ssdtune's own: made, and removed with all that is in them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode};
use rustix::io::Errno;

use super::place::{Place, components, open_root, step};
use super::words::{failed, refused};
use crate::format::text::Text;

/// Below it, and nowhere else, folders are removed.
const OURS: [&str; 3] = ["var", "lib", "ssdtune"];

/// Snapshots are two levels deep; more than this is none of ours.
const DEEPEST: usize = 8;

/// Makes a folder and those above it; what is there stays as it is.
///
/// # Errors
/// A component that is a link or no folder, or belongs neither to root nor to the caller: whoever
/// owns a folder can replace what is in it.
pub(super) fn make(root: &Path, path: &Text, mode: u32) -> io::Result<()> {
    let mode = Mode::from_raw_mode(mode);
    let mut folder = open_root(root)?;
    let cannot = |cause: Errno| failed(format_args!("cannot make the folder `{path}`"), cause);
    for name in components(path)? {
        let made = match rustix::fs::mkdirat(&folder, name, mode) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            // A read-only filesystem says so before it says that the folder is there.
            Err(cause) if step(&folder, name).is_err() => return Err(cannot(cause)),
            Err(_) => false,
        };
        let inner = step(&folder, name).map_err(|cause| match cause {
            Errno::NOTDIR | Errno::LOOP => refused(
                io::ErrorKind::NotADirectory,
                format_args!("`{}` of `{path}` is a link or no folder", name.display()),
            ),
            _ => cannot(cause),
        })?;
        if made {
            // mkdir(2) took the umask off.
            rustix::fs::fchmod(&inner, mode).map_err(cannot)?;
            rustix::fs::fsync(&folder).map_err(cannot)?;
        } else {
            let owner = rustix::fs::fstat(&inner).map_err(cannot)?.st_uid;
            if owner != 0 && owner != rustix::process::geteuid().as_raw() {
                return Err(refused(
                    io::ErrorKind::PermissionDenied,
                    format_args!(
                        "`{}` of `{path}` belongs to user {owner}: give it to root",
                        name.display()
                    ),
                ));
            }
        }
        folder = inner;
    }
    Ok(())
}

/// Removes a folder below `/var/lib/ssdtune` with all that is in it; gone is fine.
pub(super) fn remove(root: &Path, path: &Text) -> io::Result<()> {
    let names = components(path)?;
    if names.len() <= OURS.len() || names[..OURS.len()] != OURS {
        return Err(refused(
            io::ErrorKind::InvalidInput,
            format_args!("`{path}` is not below `/var/lib/ssdtune`, where our own folders are"),
        ));
    }
    let place = match Place::open(root, path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        place => place?,
    };
    let cannot = |cause: Errno| failed(format_args!("cannot remove the folder `{path}`"), cause);
    match remove_tree(&place.folder, place.name, 0) {
        Ok(()) => place.sync(),
        Err(Errno::NOENT) => Ok(()),
        Err(cause) => Err(cannot(cause)),
    }
}

/// Removes a folder; links in it are removed, not followed.
fn remove_tree(folder: &OwnedFd, name: &OsStr, depth: usize) -> Result<(), Errno> {
    if depth > DEEPEST {
        return Err(Errno::NAMETOOLONG);
    }
    let inner = step(folder, name)?;
    let names: Vec<OsString> = Dir::read_from(&inner)?
        .map(|entry| entry.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned()))
        .collect::<Result<_, _>>()?;
    for entry in names {
        if entry == "." || entry == ".." {
            continue;
        }
        match rustix::fs::unlinkat(&inner, &entry, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            // EISDIR on Linux; POSIX has EPERM.
            Err(Errno::ISDIR | Errno::PERM) => remove_tree(&inner, &entry, depth + 1)?,
            Err(cause) => return Err(cause),
        }
    }
    rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn folders_get_their_mode_whatever_the_umask_and_keep_it() {
        let root = tempfile::tempdir().unwrap();
        make(root.path(), &"/var/lib".into(), 0o755).unwrap();
        make(root.path(), &"/var/lib/ssdtune/snapshots".into(), 0o700).unwrap();
        make(root.path(), &"/var/lib/ssdtune/snapshots".into(), 0o755).unwrap();
        assert_eq!(mode(&root.path().join("var/lib")), 0o755);
        assert_eq!(mode(&root.path().join("var/lib/ssdtune")), 0o700);
        assert_eq!(mode(&root.path().join("var/lib/ssdtune/snapshots")), 0o700);
    }

    #[test]
    fn a_planted_link_or_a_foreign_owner_is_refused() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("elsewhere")).unwrap();
        symlink("elsewhere", root.path().join("run")).unwrap();
        let error = make(root.path(), &"/run/ssdtune".into(), 0o700).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert!(!root.path().join("elsewhere/ssdtune").exists());
        if rustix::process::geteuid().is_root() {
            std::fs::create_dir(root.path().join("var")).unwrap();
            std::os::unix::fs::chown(root.path().join("var"), Some(1000), None).unwrap();
            let error = make(root.path(), &"/var/lib".into(), 0o700).unwrap_err();
            assert_eq!(
                error.to_string(),
                "`var` of `/var/lib` belongs to user 1000: give it to root"
            );
        }
    }

    #[test]
    fn only_our_own_folders_are_removed_and_links_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let snapshot = root.path().join("var/lib/ssdtune/snapshots/1");
        std::fs::create_dir_all(snapshot.join("inner")).unwrap();
        std::fs::write(snapshot.join("inner/file"), "x").unwrap();
        std::fs::create_dir(root.path().join("precious")).unwrap();
        std::fs::write(root.path().join("precious/file"), "x").unwrap();
        symlink(root.path().join("precious"), snapshot.join("link")).unwrap();
        for foreign in [
            "/etc",
            "/var/lib",
            "/var/lib/ssdtune",
            "/var/lib/ssdtune-2/a",
        ] {
            assert!(remove(root.path(), &foreign.into()).is_err(), "{foreign}");
        }
        let escape = "/var/lib/ssdtune/../../../precious";
        assert!(remove(root.path(), &escape.into()).is_err());
        assert!(remove(root.path(), &"/var/lib/ssdtune/".into()).is_err());
        remove(root.path(), &"/var/lib/ssdtune/snapshots/1".into()).unwrap();
        remove(root.path(), &"/var/lib/ssdtune/snapshots/1".into()).unwrap();
        assert!(!snapshot.exists());
        assert!(root.path().join("precious/file").exists());
    }
}
