//! A file's bytes and metadata, read from and put on an open file.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Gid, Mode, OFlags, Uid, XattrFlags};
use rustix::io::Errno;

use super::words::{failed, refused};
use crate::facts::Image;
use crate::format::text::Text;

/// Larger files are none of ours (bytes).
const LARGEST: u64 = 64 << 20;

/// Permission bits of `st_mode`.
const PERMISSIONS: u32 = 0o7777;

/// Bound to content or inode by the kernel: neither copied nor compared.
const BOUND: [&str; 2] = ["security.ima", "security.evm"];

/// Reads a file; none where there is none.
///
/// # Errors
/// A link, or anything else that is not a regular file of at most 64 MiB.
pub(super) fn read(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<Image>> {
    // O_NONBLOCK: opening a FIFO must not hang; it changes nothing for a regular file.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => {
            return Err(refused(io::ErrorKind::InvalidInput, "it is a link"));
        }
        Err(cause) => return Err(cause.into()),
    };
    image_of(file).map(Some)
}

/// Reads an open file from its start.
fn image_of(mut file: File) -> io::Result<Image> {
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(refused(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        ));
    }
    let mut bytes = Vec::new();
    file.rewind()?;
    Read::by_ref(&mut file)
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(refused(io::ErrorKind::FileTooLarge, "it is over 64 MiB"));
    }
    Ok(Image {
        bytes: Text(bytes),
        uid: stat.st_uid,
        gid: stat.st_gid,
        mode: stat.st_mode & PERMISSIONS,
        xattrs: xattrs(&file)?,
    })
}

/// The extended attributes that a copy must have.
fn xattrs(file: &File) -> io::Result<BTreeMap<String, Text>> {
    let mut found = BTreeMap::new();
    for name in xattr_names(file)? {
        if BOUND.contains(&name.as_str()) {
            continue;
        }
        let value = loop {
            let mut value = vec![0; rustix::fs::fgetxattr_query(file, name.as_str())?];
            match rustix::fs::fgetxattr(file, name.as_str(), value.as_mut_slice()) {
                Ok(length) => {
                    value.truncate(length);
                    break value;
                }
                // It grew in between.
                Err(Errno::RANGE) => {}
                Err(cause) => return Err(cause.into()),
            }
        };
        found.insert(name, Text(value));
    }
    Ok(found)
}

/// The names of all extended attributes; none where the filesystem has no such thing.
fn xattr_names(file: &File) -> io::Result<Vec<String>> {
    let list = loop {
        let mut list = match rustix::fs::flistxattr_query(file) {
            Ok(length) => vec![0; length],
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
            Err(cause) => return Err(cause.into()),
        };
        // With an empty buffer the call asks for the length again, which is not wanted here.
        if list.is_empty() {
            return Ok(Vec::new());
        }
        match rustix::fs::flistxattr(file, list.as_mut_slice()) {
            Ok(length) => {
                list.truncate(length);
                break list;
            }
            Err(Errno::RANGE) => {}
            Err(cause) => return Err(cause.into()),
        }
    };
    list.split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| {
            String::from_utf8(name.to_vec()).map_err(|_| {
                refused(
                    io::ErrorKind::InvalidData,
                    format_args!(
                        "the name of its extended attribute `{}` is not UTF-8",
                        Text::from(name)
                    ),
                )
            })
        })
        .collect()
}

/// True where `found` is the file that was expected, byte for byte, metadata too.
///
/// A `security.` attribute that the expected image does not name is passed over: it is the label
/// that a new file got from its folder.
pub fn stands(expected: &Image, found: &Image) -> bool {
    expected.bytes == found.bytes
        && (expected.uid, expected.gid, expected.mode) == (found.uid, found.gid, found.mode)
        && expected
            .xattrs
            .iter()
            .all(|(name, value)| found.xattrs.get(name) == Some(value))
        && found
            .xattrs
            .keys()
            .all(|name| expected.xattrs.contains_key(name) || name.starts_with("security."))
}

/// The same of a file that may be absent, as it may be expected to be.
pub fn stand(expected: Option<&Image>, found: Option<&Image>) -> bool {
    match (expected, found) {
        (Some(expected), Some(found)) => stands(expected, found),
        (expected, found) => expected.is_none() && found.is_none(),
    }
}

/// Fills a new, empty file, reads it back and syncs it.
pub(super) fn fill(fd: OwnedFd, image: &Image) -> io::Result<()> {
    let mut file = File::from(fd);
    file.write_all(image.bytes.as_bytes())?;
    rustix::fs::fchown(
        &file,
        Some(Uid::from_raw(image.uid)),
        Some(Gid::from_raw(image.gid)),
    )
    .map_err(|cause| failed("cannot give it its owner", cause))?;
    put_xattrs(&file, image)?;
    // After the owner, whose change clears set-id bits, and after an ACL, which sets mode bits.
    rustix::fs::fchmod(&file, Mode::from_raw_mode(image.mode))
        .map_err(|cause| failed("cannot give it its mode", cause))?;
    file.sync_all()?;
    let found = image_of(file)?;
    if !stands(image, &found) {
        return Err(refused(
            io::ErrorKind::InvalidData,
            "what was read back is not what was written",
        ));
    }
    Ok(())
}

/// Gives a new file the attributes of its image, and takes those away that it inherited.
fn put_xattrs(file: &File, image: &Image) -> io::Result<()> {
    for name in xattr_names(file)? {
        // A default ACL of the folder gives a new file an ACL that the old one did not have.
        if !image.xattrs.contains_key(&name) && !name.starts_with("security.") {
            rustix::fs::fremovexattr(file, name.as_str())
                .map_err(|cause| failed(format_args!("cannot take its `{name}` away"), cause))?;
        }
    }
    for (name, value) in &image.xattrs {
        rustix::fs::fsetxattr(file, name.as_str(), value.as_bytes(), XattrFlags::empty())
            .map_err(|cause| failed(format_args!("cannot give it its `{name}`"), cause))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(bytes: &str) -> Image {
        Image {
            bytes: bytes.into(),
            mode: 0o644,
            ..Image::default()
        }
    }

    #[test]
    fn a_label_from_the_folder_is_no_difference_anything_else_is() {
        let expected = image("a");
        assert!(stands(&expected, &expected));
        let mut labelled = expected.clone();
        labelled
            .xattrs
            .insert("security.selinux".into(), "etc_t".into());
        assert!(stands(&expected, &labelled));
        assert!(!stands(&labelled, &expected), "a label that was lost");
        let mut relabelled = labelled.clone();
        relabelled
            .xattrs
            .insert("security.selinux".into(), "tmp_t".into());
        assert!(!stands(&labelled, &relabelled));
        let mut user = expected.clone();
        user.xattrs.insert("user.a".into(), "1".into());
        assert!(!stands(&expected, &user) && !stands(&user, &expected));
        assert!(!stands(&expected, &image("b")));
        let mut open = expected.clone();
        open.mode = 0o666;
        assert!(!stands(&expected, &open));
    }
}
