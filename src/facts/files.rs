//! Files that ssdtune may write: content, metadata, and what stands in the way.

use rustix::fs::{FileType, IFlags, OFlags, Stat, StatVfsMountFlags};
use rustix::io::Errno;

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use super::mounts::mount_of;
use super::read::{self, Failure, LARGEST, Reader, words};
use super::{File, Image, InTheWay, Mount, Obstacle};
use crate::format::text::Text;

/// Links that a path may go through, as the kernel has it (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// Where a path leads.
struct Resolution {
    /// The path without links; its end may be missing.
    path: Vec<u8>,
    /// Every link passed and everything that one named, to see where they come from.
    passed: Vec<Vec<u8>>,
    /// The last part of the path was a link.
    by_link: bool,
    /// What stands there.
    found: Result<Stat, Errno>,
}

/// Reads a file that may be replaced later, without changing anything.
///
/// Links are resolved inside the root: what is replaced is the file at their end (the link stays).
/// A file that is missing has no image; the obstacles of its folder are told all the same.
pub(super) fn file(reader: &mut Reader, mounts: &[Mount], path: &[u8]) -> File {
    let resolution = resolve(reader, path);
    let mut file = File {
        path: Text::from(path),
        resolved: Text::from(&resolution.path[..]),
        ..File::default()
    };
    let store = b"/nix/store/";
    if resolution.path.starts_with(store) || resolution.passed.iter().any(|p| p.starts_with(store))
    {
        file.obstacles.push(Obstacle::Nix);
    }
    match &resolution.found {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
            file.obstacles.push(Obstacle::NotAFile);
        }
        Ok(_) => regular(reader, &resolution.path, &mut file),
        Err(Errno::NOENT) if resolution.by_link => file.obstacles.push(Obstacle::DanglingLink),
        Err(Errno::NOENT | Errno::NOTDIR) => {}
        Err(errno) => unreadable(reader, &mut file, words(*errno)),
    }
    surroundings(reader, mounts, &resolution.path, &mut file);
    file
}

/// What keeps a path from being a plain directory; none where it is one, or is not there yet.
pub(super) fn in_the_way(reader: &Reader, path: &[u8]) -> Option<InTheWay> {
    let resolution = resolve(reader, path);
    match resolution.found {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
            Some(InTheWay::NotADirectory)
        }
        Err(Errno::NOTDIR) => Some(InTheWay::NotADirectory),
        Ok(_) | Err(Errno::NOENT) if !resolution.passed.is_empty() => {
            Some(InTheWay::Link(Text::from(&resolution.path[..])))
        }
        _ => None,
    }
}

/// Walks a path part by part, links included, inside the root.
fn resolve(reader: &Reader, path: &[u8]) -> Resolution {
    let mut ahead: Vec<Vec<u8>> = Vec::new();
    let push = |ahead: &mut Vec<Vec<u8>>, path: &[u8]| {
        let parts = path.split(|byte| *byte == b'/').rev();
        ahead.extend(parts.filter(|part| !part.is_empty()).map(<[u8]>::to_vec));
    };
    push(&mut ahead, path);
    let mut at = Resolution {
        path: Vec::new(),
        passed: Vec::new(),
        by_link: false,
        found: Err(Errno::NOENT),
    };
    while let Some(part) = ahead.pop() {
        if part == b"." {
            continue;
        }
        let parent = at.path.len();
        if part == b".." {
            let end = at.path.iter().rposition(|byte| *byte == b'/');
            at.path.truncate(end.unwrap_or(0));
            continue;
        }
        at.path.push(b'/');
        at.path.extend_from_slice(&part);
        match reader.link(&at.path) {
            Ok(target) => {
                // The last part is a link where nothing, or only what came from it, is ahead.
                at.by_link |= ahead.is_empty();
                if at.passed.len() >= 2 * MOST_LINKS {
                    at.found = Err(Errno::LOOP);
                    return at;
                }
                at.passed.push(at.path.clone());
                at.path
                    .truncate(if target.starts_with(b"/") { 0 } else { parent });
                push(&mut ahead, &target);
                at.passed.push(target);
            }
            Err(Errno::INVAL) => {}
            Err(errno) => {
                // Missing or not allowed: the rest of the way is only text.
                while let Some(part) = ahead.pop() {
                    at.path.push(b'/');
                    at.path.extend_from_slice(&part);
                }
                at.found = Err(errno);
                return at;
            }
        }
    }
    if at.path.is_empty() {
        at.path.push(b'/');
    }
    at.found = reader.look(&at.path);
    at
}

/// Reads a regular file and its metadata from one descriptor, so that both belong together.
fn regular(reader: &mut Reader, path: &[u8], file: &mut File) {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = match reader.open(path, flags | OFlags::NOCTTY) {
        Ok(opened) => opened,
        Err(errno) => return unreadable(reader, file, words(errno)),
    };
    let stat = match rustix::fs::fstat(&opened) {
        Ok(stat) => stat,
        Err(errno) => return unreadable(reader, file, words(errno)),
    };
    file.inode = stat.st_ino;
    // nlink_t is 32 bits on some machines.
    #[allow(clippy::useless_conversion)]
    {
        file.links = u64::from(stat.st_nlink);
    }
    if frozen(&opened) {
        file.obstacles.push(Obstacle::Immutable);
    }
    let bytes = match read::content(&opened, LARGEST) {
        Ok(bytes) => bytes,
        Err(Failure::NotAFile) => return file.obstacles.push(Obstacle::NotAFile),
        Err(failure) => return unreadable(reader, file, failure.to_string()),
    };
    let xattrs = match xattrs(&opened) {
        Ok(xattrs) => xattrs,
        Err(errno) => {
            let why = format!("its extended attributes: {}", words(errno));
            return unreadable(reader, file, why);
        }
    };
    file.image = Some(Image {
        bytes: Text(bytes),
        uid: stat.st_uid,
        gid: stat.st_gid,
        mode: stat.st_mode & 0o7777,
        xattrs,
    });
}

fn unreadable(reader: &mut Reader, file: &mut File, why: String) {
    reader.note(file.path.as_bytes(), &why);
    file.obstacles.push(Obstacle::Unreadable(why));
}

/// What the folder, the mount and the filesystem of a path have against a replacement.
fn surroundings(reader: &mut Reader, mounts: &[Mount], path: &[u8], file: &mut File) {
    if mounts.iter().any(|mount| mount.target.as_bytes() == path) {
        file.obstacles.push(Obstacle::MountPoint);
    }
    let folder = match path.iter().rposition(|byte| *byte == b'/') {
        Some(end) if end > 0 => &path[..end],
        _ => b"/",
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = reader.open(folder, flags).ok();
    // A frozen folder refuses the rename like a frozen file does.
    if opened.as_ref().is_some_and(frozen) && !file.obstacles.contains(&Obstacle::Immutable) {
        file.obstacles.push(Obstacle::Immutable);
    }
    let mount = mount_of(mounts, path);
    let read_only = opened
        .and_then(|opened| rustix::fs::fstatvfs(&opened).ok())
        .is_some_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY));
    if read_only || mount.is_some_and(Mount::read_only) {
        file.obstacles.push(Obstacle::ReadOnly);
    }
    if mount.is_some_and(|mount| thrown_away(mounts, mount)) {
        file.obstacles.push(Obstacle::ThrowAwayOverlay);
    }
}

/// Whether what is written to an overlay is lost at reboot: its upper folder is in memory.
fn thrown_away(mounts: &[Mount], mount: &Mount) -> bool {
    let mut mount = mount;
    // Overlays may lie upon overlays; a chain of them cannot be longer than the table.
    for _ in 0..mounts.len() {
        if mount.fstype != "overlay" {
            return false;
        }
        let Some(below) = mount
            .option("upperdir")
            .and_then(|upper| mount_of(mounts, upper))
        else {
            return false;
        };
        if matches!(below.fstype.as_str(), "tmpfs" | "ramfs") {
            return true;
        }
        mount = below;
    }
    false
}

/// FS_IMMUTABLE_FL or FS_APPEND_FL; false where the filesystem has no such flags.
fn frozen(file: impl AsFd) -> bool {
    rustix::fs::ioctl_getflags(file)
        .is_ok_and(|flags| flags.intersects(IFlags::IMMUTABLE | IFlags::APPEND))
}

/// All extended attributes but those that are bound to the content.
fn xattrs(file: impl AsFd) -> rustix::io::Result<BTreeMap<String, Text>> {
    let file = file.as_fd();
    let list = match grow(|buffer| rustix::fs::flistxattr(file, buffer)) {
        Ok(list) => list,
        Err(Errno::NOTSUP) => return Ok(BTreeMap::new()),
        Err(errno) => return Err(errno),
    };
    let mut found = BTreeMap::new();
    for name in list
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        if matches!(name, b"security.ima" | b"security.evm") {
            continue;
        }
        match grow(|buffer| rustix::fs::fgetxattr(file, name, buffer)) {
            Ok(value) => {
                found.insert(Text::from(name).to_string(), Text(value));
            }
            // Taken away since, or another program's business (trusted.*).
            Err(Errno::NODATA | Errno::PERM | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(found)
}

/// Asks with a larger and larger buffer until the answer fits (XATTR_LIST_MAX is 64 KiB).
fn grow(
    mut ask: impl FnMut(&mut [u8]) -> rustix::io::Result<usize>,
) -> rustix::io::Result<Vec<u8>> {
    let mut buffer = vec![0; 1024];
    loop {
        match ask(&mut buffer) {
            Err(Errno::RANGE) if buffer.len() < 1 << 20 => buffer.resize(buffer.len() * 4, 0),
            answer => {
                buffer.truncate(answer?);
                return Ok(buffer);
            }
        }
    }
}

#[cfg(test)]
mod tests;
