//! A machine that is simulated: facts that change as the kernel would change them.
//!
//! What a queue and a mounted filesystem do to what is written to them is told here a second time,
//! from the measurements, not from the tables in `knowledge`: a test in which both sides read the
//! same table proves nothing. It knows what apply and rollback need to be tried against; it is no
//! kernel.

mod mount;
mod queue;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use super::words::{failed, refused};
use super::{Effect, Live, System, read_file, stand};
use crate::facts::{Facts, File, Image, Scope, Unit};
use crate::format::text::Text;
use queue::Hidden;

/// A simulated machine.
#[doc(hidden)]
#[derive(Debug)]
pub struct Simulated {
    /// What it is now; files apart, whose content is kept beside.
    facts: Facts,
    /// What sysfs does not show, by kernel name.
    hidden: BTreeMap<String, Hidden>,
    files: Files,
    /// Devices whose nodes are locked.
    pub locked: BTreeSet<String>,
    /// Every effect that was performed, in order.
    pub log: Vec<Effect>,
}

/// Where the files are.
#[derive(Debug)]
enum Files {
    /// In a map.
    Memory(BTreeMap<Text, Image>),
    /// Below a root, so that a [`crate::snapshot::Store`] can be read from it.
    Disk(PathBuf, Live),
}

impl Simulated {
    /// A machine that starts with these facts, its files in memory.
    pub fn new(facts: Facts) -> Self {
        let files = [&facts.fstab, &facts.rules, &facts.record]
            .into_iter()
            .filter_map(|file| Some((file.resolved.clone(), file.image.clone()?)))
            .collect();
        let mut machine = Self {
            hidden: BTreeMap::new(),
            facts,
            files: Files::Memory(files),
            locked: BTreeSet::new(),
            log: Vec::new(),
        };
        machine.boot();
        machine
    }

    /// The same with its files below a root: what stands there is what it has; what its facts have
    /// of files is passed over.
    pub fn on_disk(facts: Facts, root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let live = Live::new(&root);
        let mut machine = Self::new(facts);
        machine.files = Files::Disk(root, live);
        machine
    }

    /// As after the power was lost: locks are gone, files stay; live values do too, so that a test
    /// can say with [`Simulated::set_facts`] what the boot brought.
    pub fn boot(&mut self) {
        self.locked.clear();
        let facts = &mut self.facts;
        let machine = queue::Machine::of(facts);
        self.hidden = facts
            .devices
            .iter_mut()
            .map(|(name, device)| (name.clone(), Hidden::of(device, machine)))
            .collect();
    }

    /// Replaces what it is, files apart.
    pub fn set_facts(&mut self, facts: Facts) {
        self.facts = facts;
        self.boot();
    }

    /// Somebody else's write to a queue.
    ///
    /// # Errors
    /// As the kernel would.
    pub fn write(&mut self, device: &str, file: &str, value: &str) -> io::Result<()> {
        let machine = queue::Machine::of(&self.facts);
        let (Some(found), Some(hidden)) = (
            self.facts.devices.get_mut(device),
            self.hidden.get_mut(device),
        ) else {
            return Err(refused(
                io::ErrorKind::NotFound,
                format_args!("cannot set `{file}` of `{device}` to `{value}`: the device is gone"),
            ));
        };
        queue::write(found, hidden, machine, file, value).map_err(|cause| {
            failed(
                format_args!("cannot set `{file}` of `{device}` to `{value}`"),
                cause,
            )
        })
    }

    /// A file as it is now.
    pub fn file(&self, path: &Text) -> Option<Image> {
        match &self.files {
            Files::Memory(files) => files.get(path).cloned(),
            Files::Disk(root, _) => read_file(root, path).ok().flatten(),
        }
    }

    /// The unit of a mount point, as systemd names it; blanks and the like are not tried here.
    fn target_of(unit: &str) -> String {
        let name = unit.strip_suffix(".mount").unwrap_or(unit);
        format!("/{}", name.replace('-', "/").replace("\\x2d", "-"))
    }
}

impl System for Simulated {
    fn facts(&mut self, _: &Scope) -> Facts {
        let mut facts = self.facts.clone();
        for file in [&mut facts.fstab, &mut facts.rules, &mut facts.record] {
            file.image = self.file(&file.resolved);
        }
        facts
    }

    fn perform(&mut self, effect: &Effect) -> io::Result<()> {
        self.log.push(effect.clone());
        match effect {
            Effect::SetAttribute {
                device,
                file,
                value,
            } => self.write(device, file, value),
            Effect::RemountFlags { target, flags } => {
                mount::remount_flags(&mut self.facts, target, flags)
                    .map_err(|cause| failed(format_args!("cannot change `{target}`"), cause))
            }
            Effect::Reconfigure { target, options } => {
                mount::reconfigure(&mut self.facts, target, options).map_err(|cause| {
                    let options = options.join(",");
                    failed(format_args!("cannot set `{options}` on `{target}`"), cause)
                })
            }
            Effect::LockNode { device } => {
                self.locked.insert(device.clone());
                Ok(())
            }
            Effect::UnlockNodes => {
                self.locked.clear();
                Ok(())
            }
            Effect::MaskUnit { unit } => {
                let path = Text(format!("/run/systemd/system/{unit}").into_bytes());
                let mask = Unit {
                    path,
                    masked: true,
                    overrides_fstab: true,
                    ours: true,
                };
                self.facts.units.insert(Self::target_of(unit), mask);
                Ok(())
            }
            Effect::UnmaskUnit { unit } => {
                let target = Self::target_of(unit);
                if self.facts.units.get(&target).is_some_and(|unit| unit.ours) {
                    self.facts.units.remove(&target);
                }
                Ok(())
            }
            Effect::Link { path, from, to } => {
                let links = &mut self.facts.trim_timer.links;
                let now = links.get(path);
                if now != from.as_ref() && now != to.as_ref() {
                    return Err(refused(
                        io::ErrorKind::Other,
                        format_args!("`{path}` was changed by somebody else in the meantime"),
                    ));
                }
                match to {
                    Some(to) => drop(links.insert(path.clone(), to.clone())),
                    None => drop(links.remove(path)),
                }
                self.files.perform(effect)
            }
            Effect::RunUnit { run, .. } => {
                self.facts.trim_timer.running = Some(*run);
                Ok(())
            }
            Effect::ReloadSystemd | Effect::ReloadUdev | Effect::Settle => Ok(()),
            Effect::Commit { target, .. } => {
                self.files.perform(effect)?;
                // Another file stands there now.
                let facts = &mut self.facts;
                for file in [&mut facts.fstab, &mut facts.rules, &mut facts.record] {
                    touched(file, target);
                }
                Ok(())
            }
            Effect::MakeDir { .. }
            | Effect::Record { .. }
            | Effect::Stage { .. }
            | Effect::Remove { .. }
            | Effect::RemoveDir { .. } => self.files.perform(effect),
        }
    }
}

/// Gives a file that was replaced another inode.
fn touched(file: &mut File, target: &Text) {
    if file.resolved == *target {
        file.inode += 1;
    }
}

impl Files {
    fn perform(&mut self, effect: &Effect) -> io::Result<()> {
        let files = match self {
            Self::Disk(_, live) => return live.perform(effect),
            Self::Memory(files) => files,
        };
        let is = |found: Option<&Image>, expected: Option<&Image>| stand(expected, found);
        let rival = |path: &Text| {
            refused(
                io::ErrorKind::Other,
                format_args!("`{path}` was changed by somebody else in the meantime"),
            )
        };
        match effect {
            Effect::Record { path, image } => {
                files.insert(path.clone(), image.clone());
            }
            Effect::Stage { path, .. } if files.contains_key(path) => {
                return Err(failed(format_args!("cannot write `{path}`"), Errno::EXIST));
            }
            Effect::Stage { path, image } => {
                files.insert(path.clone(), image.clone());
            }
            Effect::Commit {
                staged,
                target,
                expected,
            } => {
                if !is(files.get(target), expected.as_ref()) {
                    return Err(rival(target));
                }
                let Some(image) = files.remove(staged) else {
                    return Err(failed(format_args!("cannot read `{staged}`"), Errno::NOENT));
                };
                files.insert(target.clone(), image);
            }
            Effect::Remove { path, expected } => {
                let found = files.get(path);
                if expected.is_some() && found.is_some() && !is(found, expected.as_ref()) {
                    return Err(rival(path));
                }
                files.remove(path);
            }
            Effect::RemoveDir { path } => {
                let below = [path.as_bytes(), b"/"].concat();
                files.retain(|path, _| !path.as_bytes().starts_with(&below));
            }
            // A map has no folders.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
