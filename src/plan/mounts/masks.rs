//! Units masked until the next boot, and masks that are not needed any more.

use crate::facts::{Facts, mount_unit};
use crate::plan::{LineChange, MountChange};

/// The units of new tmpfs lines: after a reload, systemd would mount them over a directory in use
/// as soon as a service asks for it.
pub(crate) fn masks(facts: &Facts, changes: &[MountChange]) -> Vec<String> {
    changes
        .iter()
        .filter(|change| change.line == LineChange::Add && change.fstype == "tmpfs")
        .filter(|change| facts.systemd && facts.mount_at(change.target.as_bytes()).is_none())
        .map(|change| mount_unit(change.target.as_bytes()))
        .collect()
}

/// The units of lines that go in the boot in which they came: our mask goes with them.
pub(crate) fn unmasks(facts: &Facts, changes: &[MountChange]) -> Vec<String> {
    let ours = |target: &str| facts.units.get(target).is_some_and(|unit| unit.ours);
    changes
        .iter()
        .filter(|change| change.line == LineChange::Remove)
        .filter(|change| ours(&change.target.to_string()))
        .map(|change| mount_unit(change.target.as_bytes()))
        .collect()
}
