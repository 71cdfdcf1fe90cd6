//! Closing what was interrupted, once nothing is left of it.

use std::io;

use super::KEPT;
use super::files::sweep;
use crate::facts::Facts;
use crate::snapshot::{Kind, Phase, Store};
use crate::system::System;

/// Closes interrupted runs from number `to` on, where a rollback found nothing to put back: clears
/// their leftovers away and marks them undone. Returns what could not be cleared.
///
/// # Errors
/// A mark that could not be made, old snapshots that could not be removed, or a store that cannot
/// be read.
pub fn close(
    system: &mut dyn System,
    store: &Store,
    facts: &Facts,
    to: u32,
) -> io::Result<Vec<String>> {
    let said = sweep(system, store, facts);
    mark_from(system, store, to, u32::MAX)?;
    store.prune(system, KEPT)?;
    Ok(said)
}

/// Clears away what runs that were cut off have left: before anything was changed, or after all was
/// done. Nothing may be interrupted, and the caller holds the lock. Returns what could not be cleared.
pub fn tidy(system: &mut dyn System, store: &Store, facts: &Facts) -> Vec<String> {
    let mut said = sweep(system, store, facts);
    if let Err(error) = store.drop_unfinished(system) {
        said.push(error.to_string());
    }
    said
}

/// After a rollback, what it took back is not open any more.
pub(super) fn mark(system: &mut dyn System, store: &Store, kind: Kind, own: u32) -> io::Result<()> {
    match kind {
        Kind::Rollback { to: Some(to) } => mark_from(system, store, to, own),
        _ => Ok(()),
    }
}

fn mark_from(system: &mut dyn System, store: &Store, to: u32, below: u32) -> io::Result<()> {
    for entry in store.list().map_err(io::Error::other)? {
        if !(to..below).contains(&entry.number) {
            continue;
        }
        // One that cannot be read is not ours to judge.
        let Ok(mut snapshot) = entry.snapshot else {
            continue;
        };
        if !snapshot.phase.is_final() {
            store.mark(system, &mut snapshot, Phase::Undone)?;
        }
    }
    Ok(())
}
