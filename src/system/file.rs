//! Files: staged beside their target, put in its place, recorded, removed.
//!
//! What each promises over a power cut is said at each. None of them follows a link, and none
//! truncates or writes into a file that was there before.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::image::{fill, read, stands};
use super::place::Place;
use super::words::{failed, refused};
use crate::facts::Image;
use crate::format::text::Text;

/// Writes a new file whole: content, owner, mode, extended attributes, synced with its folder.
///
/// It is read back before it counts. On any error nothing is left behind.
pub(super) fn stage(root: &Path, path: &Text, image: &Image) -> io::Result<()> {
    let place = Place::open(root, path)?;
    create(&place, place.name, image)?;
    place.sync()
}

/// Writes one of our own records: a new file beside it, renamed over it.
///
/// After a power cut the old or the new one is there, whole. A leftover of an earlier crash is
/// removed first.
pub(super) fn record(root: &Path, path: &Text, image: &Image) -> io::Result<()> {
    let place = Place::open(root, path)?;
    let new = beside(place.name, "new");
    place.unlink(&new)?;
    create(&place, &new, image)?;
    place
        .rename(&new, place.name, RenameFlags::empty())
        .map_err(|cause| {
            // The error that stopped us is the one to report.
            let _ = place.unlink(&new);
            failed(format_args!("cannot write `{path}`"), cause)
        })?;
    place.sync()
}

/// Puts a staged file in the place of `target` if `expected` stands there.
///
/// With `exchange`, the file that was displaced is looked at afterwards, so that an edit that came
/// in between is seen and put back; without it (a filesystem that cannot), the target is read just
/// before the rename, and an edit in the microseconds between the two is lost.
pub(super) fn commit(
    root: &Path,
    staged: &Text,
    target: &Text,
    expected: Option<&Image>,
    exchange: bool,
) -> io::Result<()> {
    let place = Place::open(root, target)?;
    let staged = name_beside(staged, target)?;
    let wanted = look(&place, staged)?.ok_or_else(|| {
        refused(
            io::ErrorKind::NotFound,
            format_args!("`{}` beside `{target}` is gone", staged.display()),
        )
    })?;
    match expected {
        Some(expected) => replace(&place, staged, &wanted, expected, exchange)?,
        None => appear(&place, staged, exchange)?,
    }
    place.sync()?;
    match look(&place, place.name)? {
        Some(found) if stands(&wanted, &found) => Ok(()),
        _ => Err(refused(
            io::ErrorKind::Other,
            format_args!("`{target}` was changed by somebody else right after it was written"),
        )),
    }
}

/// Removes a file if `expected` stands there, or whatever stands there; gone is fine.
pub(super) fn remove(root: &Path, path: &Text, expected: Option<&Image>) -> io::Result<()> {
    let place = match Place::open(root, path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        place => place?,
    };
    let gone = match expected {
        None => place.unlink(place.name)?,
        Some(expected) => take_away(&place, expected)?,
    };
    if gone { place.sync() } else { Ok(()) }
}

/// Reads a file below a root, following no link; none where there is no such file.
///
/// # Errors
/// `NotFound` where its folder is missing; whatever is not a regular file of at most 64 MiB.
pub fn read_file(root: &Path, path: &Text) -> io::Result<Option<Image>> {
    let place = Place::open(root, path)?;
    read(&place.folder, place.name)
        .map_err(|cause| failed(format_args!("cannot read `{path}`"), cause))
}

/// Creates a file that must not exist and fills it; on an error it is removed again.
fn create(place: &Place<'_>, name: &OsStr, image: &Image) -> io::Result<()> {
    let what =
        format_args!("cannot write `{}` beside `{}`", name.display(), place.path).to_string();
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDWR;
    let fd = rustix::fs::openat(&place.folder, name, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|cause| failed(&what, cause))?;
    fill(fd, image).map_err(|cause| {
        // The error that stopped us is the one to report.
        let _ = place.unlink(name);
        failed(&what, cause)
    })
}

/// Replaces what stands at the target, which must be `expected`.
fn replace(
    place: &Place<'_>,
    staged: &OsStr,
    wanted: &Image,
    expected: &Image,
    exchange: bool,
) -> io::Result<()> {
    if !is(look(place, place.name)?.as_ref(), expected) {
        return Err(rival(place));
    }
    let swap = || place.rename(staged, place.name, RenameFlags::EXCHANGE);
    match if exchange { swap() } else { Err(Errno::INVAL) } {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if !is(look(place, place.name)?.as_ref(), expected) {
                return Err(rival(place));
            }
            return place
                .rename(staged, place.name, RenameFlags::empty())
                .map_err(|cause| not_put(place, cause));
        }
        // Somebody removed the target since it was read.
        Err(Errno::NOENT) => return Err(rival(place)),
        Err(cause) => return Err(not_put(place, cause)),
    }
    // What was displaced now stands under the staged name. A rival that is read as unreadable
    // (a link, say) is a rival too.
    if is(look(place, staged).ok().flatten().as_ref(), expected) {
        place.unlink(staged)?;
        return Ok(());
    }
    // Put the rival's file back. If what comes out in exchange is not ours, then a second rival
    // replaced our file meanwhile: his is the newest, and goes back in turn.
    let not_back = |cause| {
        failed(
            format_args!(
                "`{}` was changed by somebody else in the meantime, and that edit could not be \
                 put back; it stands beside it as `{}`",
                place.path,
                staged.display()
            ),
            cause,
        )
    };
    swap().map_err(not_back)?;
    if !is(look(place, staged).ok().flatten().as_ref(), wanted) {
        swap().map_err(not_back)?;
    }
    place.sync()?;
    Err(rival(place))
}

/// Gives the staged file its name, where there must be no file.
fn appear(place: &Place<'_>, staged: &OsStr, exchange: bool) -> io::Result<()> {
    let taken = |cause| match cause {
        Errno::EXIST => refused(
            io::ErrorKind::AlreadyExists,
            format_args!(
                "`{}` was made by somebody else in the meantime: run `ssdtune plan` again",
                place.path
            ),
        ),
        _ => not_put(place, cause),
    };
    let renamed = if exchange {
        place.rename(staged, place.name, RenameFlags::NOREPLACE)
    } else {
        Err(Errno::INVAL)
    };
    match renamed {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            // link(2) does not replace either.
            let folder = &place.folder;
            rustix::fs::linkat(folder, staged, folder, place.name, AtFlags::empty())
                .map_err(taken)?;
            place.unlink(staged).map(drop)
        }
        result => result.map_err(taken),
    }
}

/// Takes the expected file away: out of sight first, then a look, so that no rival's edit goes.
fn take_away(place: &Place<'_>, expected: &Image) -> io::Result<bool> {
    let old = beside(place.name, "old");
    // A crash in here left it out of sight; whether the file itself is there again, is seen next.
    if is(look(place, &old).ok().flatten().as_ref(), expected) {
        place.unlink(&old)?;
    }
    let Some(found) = look(place, place.name)? else {
        return Ok(false);
    };
    if !stands(expected, &found) {
        return Err(rival(place));
    }
    match place.rename(place.name, &old, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(false),
        // The hidden name is taken, or a filesystem without NOREPLACE: it was read just now.
        Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            return place.unlink(place.name);
        }
        Err(cause) => {
            return Err(failed(
                format_args!("cannot remove `{}`", place.path),
                cause,
            ));
        }
    }
    if is(look(place, &old).ok().flatten().as_ref(), expected) {
        return place.unlink(&old);
    }
    place
        .rename(&old, place.name, RenameFlags::NOREPLACE)
        .map_err(|cause| {
            failed(
                format_args!(
                    "`{}` was changed by somebody else in the meantime; that edit stands beside \
                     it as `{}`",
                    place.path,
                    old.display()
                ),
                cause,
            )
        })?;
    Err(rival(place))
}

/// Reads a file of the folder; none where there is none.
fn look(place: &Place<'_>, name: &OsStr) -> io::Result<Option<Image>> {
    read(&place.folder, name).map_err(|cause| {
        failed(
            format_args!("cannot read `{}` of `{}`", name.display(), place.path),
            cause,
        )
    })
}

fn is(found: Option<&Image>, expected: &Image) -> bool {
    found.is_some_and(|found| stands(expected, found))
}

fn rival(place: &Place<'_>) -> io::Error {
    refused(
        io::ErrorKind::Other,
        format_args!(
            "`{}` was changed by somebody else in the meantime: run `ssdtune plan` again",
            place.path
        ),
    )
}

fn not_put(place: &Place<'_>, cause: Errno) -> io::Error {
    failed(
        format_args!("cannot put the new file in the place of `{}`", place.path),
        cause,
    )
}

/// `.NAME.ssdtune-WHAT`: hidden, and of no extension that udev or systemd would read.
fn beside(name: &OsStr, what: &str) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".ssdtune-");
    hidden.push(what);
    hidden
}

/// The name of `staged`, which must stand in the folder of `target`: rename(2) is atomic there only.
fn name_beside<'a>(staged: &'a Text, target: &Text) -> io::Result<&'a OsStr> {
    let (staged_path, target_path) = (staged.as_path(), target.as_path());
    match staged_path.file_name() {
        Some(name) if staged_path.parent() == target_path.parent() => Ok(name),
        _ => Err(refused(
            io::ErrorKind::InvalidInput,
            format_args!("`{staged}` does not stand beside `{target}`"),
        )),
    }
}

#[cfg(test)]
mod tests;
