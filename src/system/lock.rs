//! One ssdtune at a time.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::place::{Place, open_root};
use super::words::failed;
use super::{clock, folder};
use crate::format::text::Text;

/// Readable by root alone: who can open a file can lock it, and keep us out.
const LOCK: &str = "/run/ssdtune/lock";

/// The machine's lock, held until it is dropped or the program ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
    /// On an offline root the root folder itself is locked, and nothing is left in it.
    named: bool,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// Somebody else has it.
    #[error("{}: wait for it, then run this again", who(*pid, *since))]
    Held {
        /// Who, where it could be told.
        pid: Option<u32>,
        /// Since when.
        since: Option<DateTime<Utc>>,
    },
    /// It could not be made.
    #[error(transparent)]
    Failed(#[from] io::Error),
}

/// `another ssdtune (pid 123) has been at work since 12:03:07 UTC`
fn who(pid: Option<u32>, since: Option<DateTime<Utc>>) -> String {
    match (pid, since) {
        (Some(pid), Some(since)) => format!(
            "another ssdtune (pid {pid}) has been at work since {} UTC",
            since.format("%H:%M:%S")
        ),
        _ => "another ssdtune is at work".to_owned(),
    }
}

impl Lock {
    /// Takes the lock of the machine whose root this is, without waiting.
    ///
    /// # Errors
    /// [`NotTaken::Held`] where another ssdtune has it.
    pub fn take(root: &Path) -> Result<Self, NotTaken> {
        let named = root == Path::new("/");
        let file = if named {
            open(root)?
        } else {
            open_root(root)?.into()
        };
        Self::hold(file, named)
    }

    /// Locks an open file; where `named`, says in it who has it.
    fn hold(file: File, named: bool) -> Result<Self, NotTaken> {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let (pid, since) = if named { holder(file) } else { (None, None) };
                return Err(NotTaken::Held { pid, since });
            }
            Err(cause) => return Err(failed("cannot lock the machine", cause).into()),
        }
        let mut lock = Self { file, named };
        if named {
            lock.sign()
                .map_err(|cause| failed(format_args!("cannot write `{LOCK}`"), cause))?;
        }
        Ok(lock)
    }

    /// Writes who holds it; for the message of the one who comes next, nothing rests on it.
    fn sign(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        writeln!(
            self.file,
            "{} {}",
            std::process::id(),
            clock::now().to_rfc3339_opts(SecondsFormat::Secs, true)
        )
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.named {
            // Closing the file releases the lock; the name of who had it goes with it.
            let _ = self.file.set_len(0);
        }
    }
}

/// Opens the lock file, and makes it where it is not there.
fn open(root: &Path) -> io::Result<File> {
    let path = Text::from(LOCK);
    folder::make(root, &"/run/ssdtune".into(), 0o755)?;
    let place = Place::open(root, &path)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(&place.folder, place.name, flags, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(|cause| failed(format_args!("cannot open `{path}`"), cause))
}

/// Who signed it.
fn holder(mut file: File) -> (Option<u32>, Option<DateTime<Utc>>) {
    let mut text = String::new();
    if Read::by_ref(&mut file)
        .take(128)
        .read_to_string(&mut text)
        .is_err()
    {
        return (None, None);
    }
    let mut words = text.split_whitespace();
    (
        words.next().and_then(|pid| pid.parse().ok()),
        words.next().and_then(|since| since.parse().ok()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_has_it_until_it_is_dropped() {
        let root = tempfile::tempdir().unwrap();
        let take = || Lock::hold(open(root.path()).unwrap(), true);
        let first = take().unwrap();
        let Err(held) = take() else {
            panic!("taken twice");
        };
        let text = held.to_string();
        let start = format!(
            "another ssdtune (pid {}) has been at work since ",
            std::process::id()
        );
        assert!(text.starts_with(&start), "{text}");
        assert!(
            text.ends_with(" UTC: wait for it, then run this again"),
            "{text}"
        );
        drop(first);
        take().unwrap();
    }

    #[test]
    fn junk_in_the_file_is_nobody_s_name() {
        let root = tempfile::tempdir().unwrap();
        let _first = Lock::hold(open(root.path()).unwrap(), true).unwrap();
        std::fs::write(root.path().join("run/ssdtune/lock"), [0xff; 4096]).unwrap();
        let error = Lock::hold(open(root.path()).unwrap(), true).unwrap_err();
        assert!(error.to_string().starts_with("another ssdtune is at work"));
    }

    #[test]
    fn an_offline_root_is_locked_and_nothing_left_in_it() {
        let root = tempfile::tempdir().unwrap();
        let first = Lock::take(root.path()).unwrap();
        assert!(matches!(
            Lock::take(root.path()),
            Err(NotTaken::Held {
                pid: None,
                since: None
            })
        ));
        drop(first);
        Lock::take(root.path()).unwrap();
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_in_its_place_is_refused() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("run/ssdtune")).unwrap();
        std::fs::write(root.path().join("victim"), "precious").unwrap();
        let link = root.path().join("run/ssdtune/lock");
        std::os::unix::fs::symlink(root.path().join("victim"), link).unwrap();
        assert!(open(root.path()).is_err());
        let victim = std::fs::read(root.path().join("victim")).unwrap();
        assert_eq!(victim, b"precious");
    }
}
