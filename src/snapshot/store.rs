//! The snapshots of a machine: `/var/lib/ssdtune/snapshots/N/`, for root alone.
//!
//! Beside the manifest stand plain copies of the files as they were, with owner, mode and extended
//! attributes, so that `cp` from a rescue system is enough; of fstab there is one more in /etc. A
//! folder without a manifest is a snapshot that was not finished, before anything was changed.
//!
//! This file reads them, as hostile input; writing goes through effects, in the one beside it.

use std::io;
use std::path::{Path, PathBuf};

use super::layout::{BACKUP, BACKUPS, SNAPSHOTS, backup, copies, folder, manifest};
use super::{Kind, Phase, Snapshot};
use crate::system::{failed, read_file};

/// The highest number of a snapshot: one an hour for a hundred years. `fstab.bak-20261130` is above
/// it, and stands in nobody's way.
const HIGHEST: u32 = 999_999;

/// The snapshots of one machine.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// One folder of the store.
#[derive(Debug)]
pub struct Entry {
    /// Its number.
    pub number: u32,
    /// What it holds, or why that cannot be told.
    pub snapshot: Result<Snapshot, Error>,
}

/// Why a snapshot cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none of that number.
    #[error("there is no snapshot {0}: `ssdtune history` lists those that are there")]
    Missing(u32),
    /// The folder is there, its manifest is not: nothing was changed.
    #[error("snapshot {0} was interrupted while it was made, before anything was changed")]
    Unfinished(u32),
    /// The manifest is not what this program writes.
    #[error("`{path}` cannot be read as a snapshot: {why}")]
    Malformed {
        /// The manifest.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The highest number is taken; by what.
    #[error("the numbers of snapshots end at {HIGHEST}, and `{0}` has that or more: move it away")]
    UsedUp(String),
    /// The disk said no; with the path.
    #[error(transparent)]
    Unreadable(io::Error),
}

impl Store {
    /// The store of the machine whose root this is. It need not be there yet.
    pub fn open(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The machine's root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The numbers of all folders, in order.
    ///
    /// # Errors
    /// [`Error::Unreadable`], mostly because the caller is not root; that there is no store, is none.
    pub fn numbers(&self) -> Result<Vec<u32>, Error> {
        self.numbers_in(SNAPSHOTS, "")
    }

    /// The numbers of all copies of fstab in /etc, in order, whoever made them.
    pub(super) fn backups(&self) -> Result<Vec<u32>, Error> {
        self.numbers_in(BACKUPS, BACKUP)
    }

    /// All snapshots in the order of their numbers, those that cannot be read too.
    ///
    /// # Errors
    /// Where the store itself cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, Error> {
        let entry = |number| Entry {
            number,
            snapshot: self.read(number),
        };
        Ok(self.numbers()?.into_iter().map(entry).collect())
    }

    /// Reads one.
    ///
    /// # Errors
    /// Each kind of [`Error`].
    pub fn read(&self, number: u32) -> Result<Snapshot, Error> {
        let path = manifest(number);
        let malformed = |why| Error::Malformed {
            path: path.to_string(),
            why,
        };
        let image = match read_file(&self.root, &path) {
            Ok(Some(image)) => image,
            Ok(None) => return Err(Error::Unfinished(number)),
            // The folder is missing.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return Err(Error::Missing(number));
            }
            Err(cause) => return Err(Error::Unreadable(cause)),
        };
        let snapshot = Snapshot::from_json(image.bytes.as_bytes()).map_err(malformed)?;
        if snapshot.number != number {
            let why = format!("it says that it is number {}", snapshot.number);
            return Err(malformed(why));
        }
        Ok(snapshot)
    }

    /// Compares what a snapshot says of the files before it with its copies of them: what is rolled
    /// back to is written into /etc.
    ///
    /// # Errors
    /// Where a copy is missing, or holds something else.
    pub fn check(&self, snapshot: &Snapshot) -> Result<(), Error> {
        for (path, image) in copies(snapshot) {
            let copy = match read_file(&self.root, &path) {
                Ok(copy) => copy,
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
                Err(cause) => return Err(Error::Unreadable(cause)),
            };
            if copy.is_none_or(|copy| copy.bytes != image.bytes) {
                return Err(Error::Malformed {
                    path: manifest(snapshot.number).to_string(),
                    why: format!("it does not say what `{path}` holds: one of the two is damaged"),
                });
            }
        }
        Ok(())
    }

    /// The newest that somebody has to finish or to undo.
    ///
    /// What a later rollback took back is not among them, though a crash right after it may have
    /// kept its mark from being made.
    ///
    /// # Errors
    /// Where a newer one cannot be read, so that it cannot be told.
    pub fn interrupted(&self) -> Result<Option<Snapshot>, Error> {
        let mut taken_back = u32::MAX;
        for number in self.numbers()?.into_iter().rev() {
            let snapshot = match self.read(number) {
                Ok(snapshot) => snapshot,
                // Missing: another ssdtune has pruned it meanwhile.
                Err(Error::Unfinished(_) | Error::Missing(_)) => continue,
                Err(error) => return Err(error),
            };
            match snapshot.kind {
                Kind::Rollback { to: Some(to) } if snapshot.phase == Phase::Applied => {
                    taken_back = taken_back.min(to);
                }
                // It began when nothing was open.
                Kind::Apply if snapshot.phase == Phase::Applied => return Ok(None),
                _ if !snapshot.phase.is_final() && number < taken_back => {
                    return Ok(Some(snapshot));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The number of the next snapshot: above all that are there, and above all copies of fstab in
    /// /etc, whoever made them; but for numbers that no count of applies comes to, such as dates.
    ///
    /// # Errors
    /// Where a folder cannot be read, or the numbers are used up.
    pub fn next_number(&self) -> Result<u32, Error> {
        let (snapshots, mut backups) = (self.numbers()?, self.backups()?);
        backups.retain(|&number| number <= HIGHEST);
        let (made, copied) = (snapshots.last().copied(), backups.last().copied());
        let highest = made.max(copied).unwrap_or(0);
        if highest < HIGHEST {
            return Ok(highest + 1);
        }
        let path = if made >= copied {
            folder(highest)
        } else {
            backup(highest)
        };
        Err(Error::UsedUp(path.to_string()))
    }

    /// The numbers of names `PREFIXnumber` in a folder, in order.
    fn numbers_in(&self, folder: &str, prefix: &str) -> Result<Vec<u32>, Error> {
        let path = self.root.join(folder.trim_start_matches('/'));
        let unreadable = |cause: io::Error| {
            Error::Unreadable(failed(format_args!("cannot read `{folder}`"), cause))
        };
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(unreadable(cause)),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry.map_err(unreadable)?.file_name();
            let digits = name.to_str().and_then(|name| name.strip_prefix(prefix));
            // As we write them: neither `007` nor `+7`.
            if let Some(digits) = digits
                && let Ok(number) = digits.parse::<u32>()
                && number.to_string() == digits
            {
                numbers.push(number);
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests;
