//! Reading without waiting: every open here is read-only, bounded, and never blocks.
//!
//! A path is looked up below the root that was given. For `/` that is the plain lookup; for any
//! other root it is openat2(2) with `RESOLVE_IN_ROOT`, so that a link such as
//! `/etc/fstab -> /config/fstab` stays inside.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::Unread;
use crate::format::text::Text;

/// Files that a person writes are smaller; what is larger is not read.
pub(super) const LARGEST: usize = 16 << 20;

/// Files of rivals and tables of the kernel build: larger ones are left alone.
pub(super) const LARGE: usize = 4 << 20;

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Opens a directory only to look things up in it.
pub(super) const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Why something could not be read.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no such file, or a link to nothing.
    Missing,
    /// It is there, but not a regular file.
    NotAFile,
    /// It is larger than the given number of bytes.
    TooLarge(usize),
    /// What the system call said.
    System(Errno),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::Missing,
            errno => Self::System(errno),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::TooLarge(limit) => write!(f, "it is larger than {} MiB", limit >> 20),
            Self::System(errno) => f.write_str(&words(*errno)),
        }
    }
}

/// An error of the system in the words that strerror(3) has for it.
pub(super) fn words(errno: Errno) -> String {
    let mut text = std::io::Error::from(errno).to_string();
    if let Some(at) = text.find(" (os error") {
        text.truncate(at);
    }
    if text.starts_with(|c: char| c.is_ascii_uppercase()) {
        text[..1].make_ascii_lowercase();
    }
    text
}

/// A root folder and the list of what could not be read below it.
pub(super) struct Reader {
    folder: OwnedFd,
    /// The root is `/`.
    pub system: bool,
    /// What could not be read, in the order of asking.
    pub unread: Vec<Unread>,
}

impl Reader {
    /// Opens the root.
    pub fn new(root: &Path) -> Result<Self, Errno> {
        let folder = rustix::fs::openat(CWD, root, FOLDER, Mode::empty())?;
        Ok(Self {
            folder,
            system: root == Path::new("/"),
            unread: Vec::new(),
        })
    }

    /// Opens an absolute path below the root.
    pub fn open(&self, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let path = OsStr::from_bytes(path);
        if self.system {
            return rustix::fs::openat(&self.folder, path, flags, Mode::empty());
        }
        // EAGAIN: a rename somewhere raced with a `..`; the kernel asks to try again.
        let mut again = 8;
        loop {
            match rustix::fs::openat2(
                &self.folder,
                path,
                flags,
                Mode::empty(),
                ResolveFlags::IN_ROOT,
            ) {
                Err(Errno::AGAIN) if again > 0 => again -= 1,
                opened => return opened,
            }
        }
    }

    /// Opens a folder to look things up in it.
    pub fn folder(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        self.open(path, FOLDER)
    }

    /// The content of a regular file of at most `limit` bytes, links followed.
    pub fn content(&self, path: &[u8], limit: usize) -> Result<Vec<u8>, Failure> {
        let file = self.open(path, FILE)?;
        content(&file, limit)
    }

    /// Like [`Reader::content`]; what is missing is none, what fails otherwise is noted as well.
    pub fn text(&mut self, path: &[u8], limit: usize) -> Option<Vec<u8>> {
        match self.content(path, limit) {
            Ok(bytes) => Some(bytes),
            Err(Failure::Missing) => None,
            Err(failure) => {
                self.note(path, &failure);
                None
            }
        }
    }

    /// Notes that a path could not be read.
    pub fn note(&mut self, path: &[u8], why: &dyn std::fmt::Display) {
        self.unread.push(Unread {
            path: Text::from(path),
            why: why.to_string(),
        });
    }

    /// What a path is, a link at its end not followed.
    pub fn look(&self, path: &[u8]) -> rustix::io::Result<Stat> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::fstat(self.open(path, flags)?)
    }

    /// What a path is, links followed.
    pub fn stat(&self, path: &[u8]) -> rustix::io::Result<Stat> {
        rustix::fs::fstat(self.open(path, OFlags::PATH | OFlags::CLOEXEC)?)
    }

    /// True where a path is there, whatever it is; a link to nothing counts.
    pub fn there(&self, path: &[u8]) -> bool {
        self.look(path).is_ok()
    }

    /// Where a link points, `EINVAL` where the path is no link.
    pub fn link(&self, path: &[u8]) -> rustix::io::Result<Vec<u8>> {
        if self.system {
            let path = OsStr::from_bytes(path);
            return rustix::fs::readlinkat(&self.folder, path, Vec::new())
                .map(|to| to.into_bytes());
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let link = self.open(path, flags)?;
        // readlinkat(2) with an empty path reads the link that was opened; ENOENT: it is none.
        match rustix::fs::readlinkat(&link, "", Vec::new()) {
            Err(Errno::NOENT) => Err(Errno::INVAL),
            other => other.map(|to| to.into_bytes()),
        }
    }

    /// The names in a folder, sorted; none where it is missing, noted where it cannot be read.
    pub fn names(&mut self, path: &[u8]) -> Vec<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match self.open(path, flags).and_then(names) {
            Ok(names) => names,
            Err(Errno::NOENT | Errno::NOTDIR) => Vec::new(),
            Err(errno) => {
                self.note(path, &words(errno));
                Vec::new()
            }
        }
    }
}

/// The names in an open folder, sorted, without `.` and `..`.
pub(super) fn names(folder: OwnedFd) -> rustix::io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::new(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The content of an open regular file, at most `limit` bytes of it.
pub(super) fn content(file: impl AsFd, limit: usize) -> Result<Vec<u8>, Failure> {
    let file = file.as_fd();
    let stat = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Failure::NotAFile);
    }
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if size > limit {
        return Err(Failure::TooLarge(limit));
    }
    // /proc says 0, /sys says a page: start with a page, and leave room to see the end.
    let mut bytes = vec![0; size.max(4096) + 1];
    let mut filled = 0;
    loop {
        match rustix::io::read(file, &mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(Failure::System(errno)),
        }
        if filled > limit {
            return Err(Failure::TooLarge(limit));
        }
        if filled == bytes.len() {
            bytes.resize(filled * 2, 0);
        }
    }
    bytes.truncate(filled);
    bytes.shrink_to_fit();
    Ok(bytes)
}

/// Reads a small file of sysfs below an open folder: one open, one read, one close, no allocation.
///
/// The text is trimmed; what is not UTF-8 is `EILSEQ`.
pub(super) fn attribute<'b>(
    folder: impl AsFd,
    name: &str,
    buffer: &'b mut [u8; 4096],
) -> rustix::io::Result<&'b str> {
    let file = rustix::fs::openat(folder, name, FILE, Mode::empty())?;
    let read = loop {
        match rustix::io::read(&file, &mut buffer[..]) {
            Err(Errno::INTR) => {}
            read => break read?,
        }
    };
    let text = std::str::from_utf8(&buffer[..read]).map_err(|_| Errno::ILSEQ)?;
    Ok(text.trim_ascii())
}

/// What a name below an open folder is, a link not followed.
pub(super) fn look_at(folder: impl AsFd, name: &str) -> rustix::io::Result<Stat> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn links_stay_inside_the_root() {
        let root = fake::root(&[
            ("config/fstab", "inside"),
            ("etc/fstab", "-> /config/fstab"),
            ("etc/up", "-> ../../../../../../config/fstab"),
        ]);
        let reader = Reader::new(root.path()).unwrap();
        assert_eq!(reader.content(b"/etc/fstab", 100).unwrap(), b"inside");
        assert_eq!(reader.content(b"/etc/up", 100).unwrap(), b"inside");
        assert_eq!(reader.link(b"/etc/fstab").unwrap(), b"/config/fstab");
        assert_eq!(reader.link(b"/config/fstab"), Err(Errno::INVAL));
    }

    #[test]
    fn what_is_no_small_regular_file_is_refused_and_nothing_waits() {
        let root = fake::root(&[
            ("pipe", "|"),
            ("folder/", ""),
            ("large", &"x".repeat(101)),
            ("exact", &"x".repeat(100)),
            ("loop", "-> loop"),
            ("dangling", "-> nowhere"),
        ]);
        let mut reader = Reader::new(root.path()).unwrap();
        let failure = |name: &[u8]| reader.content(name, 100).unwrap_err();
        assert!(matches!(failure(b"/pipe"), Failure::NotAFile));
        assert!(matches!(failure(b"/folder"), Failure::NotAFile));
        assert!(matches!(failure(b"/large"), Failure::TooLarge(100)));
        assert!(matches!(failure(b"/loop"), Failure::System(Errno::LOOP)));
        assert!(matches!(failure(b"/dangling"), Failure::Missing));
        assert_eq!(reader.content(b"/exact", 100).unwrap().len(), 100);
        assert!(reader.text(b"/dangling", 100).is_none());
        assert!(reader.unread.is_empty());
        assert!(reader.text(b"/loop", 100).is_none());
        assert_eq!(reader.unread[0].path, Text::from("/loop"));
        assert_eq!(reader.unread[0].why, "too many levels of symbolic links");
    }

    #[test]
    fn a_file_of_unknown_size_is_read_to_its_end() {
        // /proc says 0 bytes and has more than a page.
        let reader = Reader::new(Path::new("/")).unwrap();
        let maps = reader.content(b"/proc/self/smaps", LARGE).unwrap();
        assert!(maps.len() > 4096);
    }
}
