//! Reading the machine, within a scope.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use super::read::{Reader, words};
use super::{Device, Facts, File, Recorded, Scope, VERSION};
use super::{devices, files, machine, mounts, rivals, sources, timer, units};
use crate::format::fstab::Fstab;
use crate::format::text::Text;
use crate::knowledge::Scheduler;

/// The file that mount(8) and systemd read.
pub const FSTAB: &str = "/etc/fstab";
/// The udev rules that ssdtune writes.
pub const RULES: &str = "/etc/udev/rules.d/90-ssdtune.rules";
/// What ssdtune first found and wrote: the managed record.
pub const RECORD: &str = "/var/lib/ssdtune/managed.json";

/// Reads the machine below `root`, only reading, as far as the scope reaches.
///
/// Nothing stops it: what cannot be read is in [`Facts::unread`], with the reason. A file is opened
/// at most once; without device rules /sys is not touched at all.
pub fn gather(root: &Path, scope: &Scope<'_>) -> Facts {
    let mut facts = Facts {
        version: VERSION,
        offline: !scope.live,
        ..Facts::default()
    };
    let mut reader = match Reader::new(root) {
        Ok(reader) => reader,
        Err(errno) => {
            facts.unread.push(super::Unread {
                path: Text::from(root.as_os_str().as_encoded_bytes()),
                why: words(errno),
            });
            return facts;
        }
    };
    let reader = &mut reader;
    machine::identity(reader, scope.live, &mut facts);
    if scope.live {
        facts.mounts = mounts::mounts(reader);
        if scope.asks_for_virtualization() {
            facts.virtualization = machine::virtualization(reader);
        }
    }
    facts.fstab = files::file(reader, &facts.mounts, FSTAB.as_bytes());
    facts.rules = files::file(reader, &facts.mounts, RULES.as_bytes());
    facts.record = files::file(reader, &facts.mounts, RECORD.as_bytes());
    let recorded = recorded(scope, &facts.record);
    let fstab = Fstab::parse(content(&facts.fstab));
    let targets = targets(scope, &fstab);
    let targets = targets.iter().map(|target| &**target);
    facts.units = units::units(reader, targets.clone());
    if let Some((state, _)) = scope.wanted {
        let asked = state.tmpfs.iter().map(|rule| &rule.target.value);
        facts.in_the_way = asked
            .filter_map(|path| Some((path.clone(), files::in_the_way(reader, path.as_bytes())?)))
            .collect();
    }
    facts.trim_timer = timer::timer(reader);
    let asks_for_devices = scope.asks_for_devices(&recorded);
    if scope.live {
        facts.tmpfs_used_kb = mounts::tmpfs_used(reader, &facts, targets)
            .into_iter()
            .collect();
        if scope.asks_for_sources() {
            facts.sources = sources::resolve(reader, named_sources(scope, &fstab));
        }
        if asks_for_devices || scope.asks_for_discard() {
            devices::devices(reader, scope, &recorded, &mut facts);
        }
        modules(reader, scope, &mut facts);
    }
    if asks_for_devices {
        facts.rivals = rivals::rivals(reader, facts.command_line.as_bytes());
    }
    facts.unread = std::mem::take(&mut reader.unread);
    facts
}

/// Reads one file that ssdtune may write, without the rest.
pub fn file(root: &Path, path: &[u8]) -> std::io::Result<File> {
    let mut reader = Reader::new(root)?;
    let mounts = mounts::mounts(&mut reader);
    Ok(files::file(&mut reader, &mounts, path))
}

fn content(file: &File) -> &[u8] {
    file.image
        .as_ref()
        .map_or(&[], |image| image.bytes.as_bytes())
}

fn recorded(scope: &Scope<'_>, record: &File) -> Vec<Recorded> {
    match scope.wanted {
        Some((_, keys)) => {
            let mut recorded = keys(content(record));
            recorded.extend_from_slice(scope.also);
            recorded
        }
        None => Vec::new(),
    }
}

/// Mount points whose units matter: those of fstab, and those that tmpfs rules name.
fn targets<'f>(scope: &Scope<'f>, fstab: &'f Fstab) -> Vec<Cow<'f, [u8]>> {
    let entries = fstab.entries().filter(|(_, entry)| entry.is_mount());
    let mut targets: Vec<Cow<'_, [u8]>> = entries.map(|(_, entry)| entry.target()).collect();
    match scope.wanted {
        Some((state, _)) => {
            let rules = state.tmpfs.iter().map(|rule| rule.target.value.as_bytes());
            targets.extend(rules.map(Cow::Borrowed));
        }
        None => targets.push(Cow::Borrowed(b"/tmp")),
    }
    let mut seen = HashSet::new();
    targets.retain(|target| seen.insert(target.clone()));
    targets
}

/// Sources of fstab and of rules.
fn named_sources<'f>(
    scope: &Scope<'f>,
    fstab: &'f Fstab,
) -> impl Iterator<Item = Cow<'f, [u8]>> + use<'f> {
    let lines = fstab.entries().map(|(_, entry)| entry.source());
    let rules = scope
        .literal_sources()
        .map(|text| Cow::Borrowed(text.as_bytes()));
    lines.chain(rules)
}

/// Modules of the schedulers that some device may need and none offers yet.
fn modules(reader: &mut Reader, scope: &Scope<'_>, facts: &mut Facts) {
    let offered: BTreeSet<Scheduler> = facts.devices.values().flat_map(Device::offered).collect();
    let offered: Vec<Scheduler> = offered.into_iter().collect();
    let asked = scope.schedulers();
    if !asked.is_empty() {
        facts.modules = machine::modules(reader, &facts.kernel, asked, &offered);
    }
    if scope.asks_for_hz() {
        facts.hz = machine::hz(reader, &facts.kernel);
    }
}
