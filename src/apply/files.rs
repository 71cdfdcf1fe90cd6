//! Files: staged beside their places, committed, cleared away; and leftovers of runs cut off.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::facts::{Facts, Image};
use crate::format::text::Text;
use crate::plan::{FileEdit, LinkEdit, Plan};
use crate::snapshot::store::Error as StoreError;
use crate::snapshot::{Snapshot, Store};
use crate::system::{Effect, System, read_file, stand};
use crate::verify;

/// What follows the name of a file in the names of those that stand beside it for a while.
const ENDING: &str = ".ssdtune-";

/// The name of a staged file: beside its place, ours by its number.
pub(super) fn staged(resolved: &Text, number: u32) -> Text {
    beside(resolved, &format!("{ENDING}{number}"))
}

/// The name of the staged way back: what stands there now, so that no full disk can stop an undo.
pub(super) fn way_back(resolved: &Text, number: u32) -> Text {
    beside(resolved, &format!("{ENDING}{number}-before"))
}

fn beside(resolved: &Text, ending: &str) -> Text {
    let path = resolved.as_path();
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(ending);
    Text(path.with_file_name(name).into_os_string().into_vec())
}

/// Puts the new file in its place, or takes the old one away.
pub(super) fn commit(system: &mut dyn System, edit: &FileEdit, number: u32) -> io::Result<()> {
    match &edit.after {
        Some(_) => system.perform(&Effect::Commit {
            staged: staged(&edit.resolved, number),
            target: edit.resolved.clone(),
            expected: edit.before.clone(),
        }),
        None => system.perform(&Effect::Remove {
            path: edit.resolved.clone(),
            expected: edit.before.clone(),
        }),
    }
}

/// Makes a link, or takes it away.
pub(super) fn link(system: &mut dyn System, edit: &LinkEdit, back: bool) -> io::Result<()> {
    let (from, to) = match back {
        false => (&edit.before, &edit.after),
        true => (&edit.after, &edit.before),
    };
    system.perform(&Effect::Link {
        path: edit.path.clone(),
        from: from.clone(),
        to: to.clone(),
    })
}

/// Removes staged files.
pub(super) fn clear(system: &mut dyn System, edit: &FileEdit, number: u32) -> io::Result<()> {
    let mut first = Ok(());
    for path in [
        staged(&edit.resolved, number),
        way_back(&edit.resolved, number),
    ] {
        first = first.and(system.perform(&Effect::Remove {
            path,
            expected: None,
        }));
    }
    first
}

/// Files that are not what was committed a moment ago; a sentence each.
pub(super) fn rivals(plan: &Plan, facts: &Facts) -> Vec<String> {
    plan.files
        .iter()
        .filter(|edit| !stand(edit.after.as_ref(), image(facts, edit)))
        .map(|edit| format!("`{}` was changed by somebody else", edit.path))
        .chain(verify::links(plan, facts))
        .collect()
}

/// The file of an edit as it is now.
pub(super) fn image<'a>(facts: &'a Facts, edit: &FileEdit) -> Option<&'a Image> {
    facts.file(&edit.path).and_then(|file| file.image.as_ref())
}

/// Removes what runs that were cut off left beside the files; what it cannot remove, it says.
///
/// After a crash in the midst of a commit the hidden name may hold what somebody else had written
/// at that very moment: only what is known to be ours is removed. The caller holds the lock, so
/// that nobody needs them now.
pub(super) fn sweep(system: &mut dyn System, store: &Store, facts: &Facts) -> Vec<String> {
    let mut said = Vec::new();
    for file in [&facts.rules, &facts.fstab, &facts.record] {
        for (path, number) in leftovers(store.root(), &file.resolved) {
            if !ours(store, &path, number, &file.resolved) {
                said.push(format!(
                    "`{path}` was left by an interrupted run and is no file of ssdtune's: look at it, then remove it"
                ));
                continue;
            }
            let removed = system.perform(&Effect::Remove {
                path,
                expected: None,
            });
            if let Err(error) = removed {
                said.push(error.to_string());
            }
        }
    }
    said
}

/// Hidden files that belong to one, with the numbers in their names.
fn leftovers(root: &Path, resolved: &Text) -> Vec<(Text, Option<u32>)> {
    let path = resolved.as_path();
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let start = [b".", name.as_bytes(), ENDING.as_bytes()].concat();
    let below = root.join(folder.strip_prefix("/").unwrap_or(folder));
    // A folder that is not there has nothing in it; one that cannot be read fails soon enough.
    let entries = std::fs::read_dir(below).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let rest = name.as_bytes().strip_prefix(start.as_slice())?;
            let rest = std::str::from_utf8(rest).ok()?;
            let digits = rest.strip_suffix("-before").unwrap_or(rest);
            let path = path.with_file_name(&name).into_os_string().into_vec();
            Some((Text(path), digits.parse().ok()))
        })
        .collect();
    found.sort();
    found
}

/// True where the leftover holds what a snapshot had before or was to have after, or a part of it.
fn ours(store: &Store, path: &Text, number: Option<u32>, resolved: &Text) -> bool {
    let Ok(found) = read_file(store.root(), path) else {
        return false;
    };
    let Some(found) = found else { return true };
    let known = |snapshot: &Snapshot| {
        let edits = snapshot.plan.files.iter();
        edits
            .filter(|edit| edit.resolved == *resolved)
            .flat_map(|edit| [&edit.before, &edit.after])
            .flatten()
            .any(|image| {
                let whole = image.bytes.as_bytes();
                whole.starts_with(found.bytes.as_bytes())
            })
    };
    match number.map(|number| store.read(number)) {
        Some(Ok(snapshot)) => known(&snapshot),
        // A run leaves no snapshot only where it failed and everything was seen to be as before.
        Some(Err(StoreError::Missing(_) | StoreError::Unfinished(_))) => true,
        Some(Err(_)) => false,
        None => {
            let list = store.list().unwrap_or_default();
            let mut snapshots = list.iter().filter_map(|entry| entry.snapshot.as_ref().ok());
            snapshots.any(known)
        }
    }
}
