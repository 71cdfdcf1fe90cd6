//! Making, marking and removing snapshots: through effects only.

use std::io;
use std::path::Path;

use super::layout::{HOME, SNAPSHOTS, backup, copies, copy_of_fstab, folder, manifest, staged};
use super::{Kind, Phase, Snapshot, Store, standing};
use crate::facts::Image;
use crate::format::text::Text;
use crate::system::{Effect, System, read_file, stands};

impl Store {
    /// Makes a snapshot: copies of the files first, the manifest last. Nothing is overwritten.
    ///
    /// # Errors
    /// With nothing left behind, as far as the disk lets it.
    pub fn create(&self, system: &mut dyn System, snapshot: &Snapshot) -> io::Result<()> {
        let number = snapshot.number;
        if self.numbers().map_err(io::Error::other)?.contains(&number) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("there is a snapshot {number} already: run this again"),
            ));
        }
        let made = self.make(system, snapshot);
        if made.is_err() {
            // The error that stopped us is the one to report.
            let _ = self.discard(system, snapshot);
        }
        made
    }

    fn make(&self, system: &mut dyn System, snapshot: &Snapshot) -> io::Result<()> {
        let number = snapshot.number;
        for (path, mode) in [
            (HOME.into(), 0o755),
            (SNAPSHOTS.into(), 0o700),
            (folder(number), 0o700),
        ] {
            system.perform(&Effect::MakeDir { path, mode })?;
        }
        for (path, image) in copies(snapshot) {
            let image = image.clone();
            system.perform(&Effect::Stage { path, image })?;
        }
        if let Some(image) = snapshot.fstab_before() {
            appear(system, backup(number), image.clone())?;
        }
        appear(system, manifest(number), image_of(snapshot)?)
    }

    /// Makes a phase durable; the snapshot has it afterwards.
    ///
    /// # Errors
    /// The snapshot keeps its phase; the manifest on disk has that one or the new one, whole.
    pub fn mark(
        &self,
        system: &mut dyn System,
        snapshot: &mut Snapshot,
        phase: Phase,
    ) -> io::Result<()> {
        let before = std::mem::replace(&mut snapshot.phase, phase);
        let marked = image_of(snapshot).and_then(|image| {
            let path = manifest(snapshot.number);
            system.perform(&Effect::Record { path, image })
        });
        if marked.is_err() {
            snapshot.phase = before;
        }
        marked
    }

    /// Removes a snapshot of which there is nothing to tell: of an apply that changed nothing, or
    /// was undone completely.
    ///
    /// # Errors
    /// `AlreadyExists` where another snapshot has its number: that one stays. Otherwise, what is
    /// left of it is whole, or has no manifest and goes with the next [`Store::prune`].
    pub fn discard(&self, system: &mut dyn System, snapshot: &Snapshot) -> io::Result<()> {
        if let Ok(found) = self.read(snapshot.number)
            && (found.at, &found.plan) != (snapshot.at, &snapshot.plan)
        {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("snapshot {} is another one: it stays", snapshot.number),
            ));
        }
        self.forget(system, snapshot.number, snapshot.fstab_before())
    }

    /// Removes what is no longer needed, and says which snapshots that were: all but the first and
    /// the newest `keep` (at least one), unfinished ones, and the copies of fstab in /etc between
    /// the first and the last.
    ///
    /// A snapshot that cannot be read, or waits to be finished, stays; so do the last apply that
    /// stands, a rollback without which the first would seem to stand, and a copy of fstab that
    /// somebody has edited. The caller holds the machine's lock.
    ///
    /// # Errors
    /// The rest waits for the next time.
    pub fn prune(&self, system: &mut dyn System, keep: usize) -> io::Result<Vec<u32>> {
        let numbers = self.numbers().map_err(io::Error::other)?;
        let made = |&number: &u32| !matches!(read_file(self.root(), &manifest(number)), Ok(None));
        let (made, unfinished): (Vec<u32>, Vec<u32>) = numbers.into_iter().partition(made);
        for number in unfinished {
            // Its copy of fstab came before the one in /etc.
            let copy = read_file(self.root(), &copy_of_fstab(number));
            self.forget(system, number, copy.ok().flatten().as_ref())?;
        }
        let mut gone = Vec::new();
        let old = made.len().saturating_sub(keep.max(1));
        if let Some(newest) = made.get(old).filter(|_| old > 1) {
            let all: Vec<Snapshot> = made
                .iter()
                .filter_map(|&number| self.read(number).ok())
                .collect();
            let old = all.partition_point(|snapshot| snapshot.number < *newest);
            let last = standing(&all).last().map(|snapshot| snapshot.number);
            let needed = [canceller(&all[..old]), last];
            for snapshot in all[..old].iter().skip(1) {
                if snapshot.phase.is_final() && !needed.contains(&Some(snapshot.number)) {
                    self.discard(system, snapshot)?;
                    gone.push(snapshot.number);
                }
            }
        }
        self.prune_backups(system, &made)?;
        Ok(gone)
    }

    /// Removes our copies of fstab in /etc between the first and the last.
    fn prune_backups(&self, system: &mut dyn System, ours: &[u32]) -> io::Result<()> {
        let mut backups = self.backups().map_err(io::Error::other)?;
        backups.retain(|number| ours.binary_search(number).is_ok());
        let [_, between @ .., _] = backups.as_slice() else {
            return Ok(());
        };
        for &number in between {
            if let Ok(snapshot) = self.read(number)
                && let Some(image) = snapshot.fstab_before()
            {
                remove_copy(self.root(), system, backup(number), image)?;
            }
        }
        Ok(())
    }

    /// Removes a snapshot's files, the manifest first: without one, it never was.
    fn forget(
        &self,
        system: &mut dyn System,
        number: u32,
        fstab: Option<&Image>,
    ) -> io::Result<()> {
        remove(system, manifest(number), None)?;
        remove(system, staged(&backup(number)), None)?;
        if let Some(image) = fstab {
            remove_copy(self.root(), system, backup(number), image)?;
        }
        system.perform(&Effect::RemoveDir {
            path: folder(number),
        })
    }
}

/// The rollback without which the first snapshot, which is kept, would seem to stand.
fn canceller(old: &[Snapshot]) -> Option<u32> {
    let first = old.first()?.number;
    if standing(old)
        .iter()
        .any(|snapshot| snapshot.number == first)
    {
        return None;
    }
    let cancels = |snapshot: &&Snapshot| match snapshot.kind {
        Kind::Rollback { to: Some(to) } => to <= first && snapshot.phase == Phase::Applied,
        _ => false,
    };
    old.iter().rfind(cancels).map(|snapshot| snapshot.number)
}

/// The manifest as a file.
fn image_of(snapshot: &Snapshot) -> io::Result<Image> {
    Ok(Image {
        bytes: Text(snapshot.to_json().map_err(io::Error::other)?),
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        mode: 0o600,
        ..Image::default()
    })
}

/// Makes a file appear whole where there is none.
fn appear(system: &mut dyn System, target: Text, image: Image) -> io::Result<()> {
    let staged = staged(&target);
    let path = staged.clone();
    system.perform(&Effect::Stage { path, image })?;
    let appeared = system.perform(&Effect::Commit {
        staged: staged.clone(),
        target,
        expected: None,
    });
    if appeared.is_err() {
        // The error that stopped us is the one to report.
        let _ = remove(system, staged, None);
    }
    appeared
}

fn remove(system: &mut dyn System, path: Text, expected: Option<Image>) -> io::Result<()> {
    system.perform(&Effect::Remove { path, expected })
}

/// Removes a copy of fstab, unless somebody has edited it: then it is his.
fn remove_copy(root: &Path, system: &mut dyn System, path: Text, image: &Image) -> io::Result<()> {
    match read_file(root, &path) {
        Ok(Some(found)) if stands(image, &found) => remove(system, path, Some(image.clone())),
        _ => Ok(()),
    }
}
