//! By which names a line's device is known.

use super::Context;
use crate::format::fstab::Entry;
use crate::format::text::Text;
use crate::state::Pattern;

/// The names by which the device of a line is known: as it stands there, with its tag unquoted,
/// and those of the device that is mounted on its target.
pub(super) struct Names {
    names: Vec<String>,
    /// `major:minor`, where the source could be resolved.
    number: Option<String>,
}

impl Names {
    /// Of a line.
    pub fn of(cx: &Context<'_>, entry: &Entry<'_>) -> Self {
        let source = Text(entry.source().into_owned());
        let raw = source.to_string();
        let unquoted = raw.replace('"', "");
        let mut names = vec![unquoted];
        if raw != names[0] {
            names.push(raw);
        }
        let mut number = cx.facts.sources.get(&source).cloned();
        if let Some(mount) = cx.layers.mount_at(&entry.target()) {
            names.push(mount.source.to_string());
            // btrfs and network filesystems have numbers of major 0, which name no device.
            if number.is_none() && !mount.device.starts_with("0:") {
                number = Some(mount.device.clone());
            }
        }
        if let Some((name, device)) = number.as_deref().and_then(|n| cx.layers.device(n)) {
            let part = device
                .partitions
                .iter()
                .find(|(_, part)| Some(*part) == number.as_ref())
                .map_or(name, |(part, _)| part);
            names.push(format!("/dev/{}", part.replace('!', "/")));
            if device.number == number.as_deref().unwrap_or_default() {
                let mapped = device.dm_name.as_ref();
                names.extend(mapped.map(|dm| format!("/dev/mapper/{dm}")));
            }
        }
        Self {
            names: with_group_names(names),
            number,
        }
    }

    /// Whether a pattern is one of the names, or names the same device.
    pub fn matches(&self, cx: &Context<'_>, pattern: &Pattern) -> bool {
        if self.names.iter().any(|name| pattern.matches(name)) {
            return true;
        }
        if !pattern.literal {
            return false;
        }
        let number = cx.facts.sources.get(&Text::from(pattern.text.as_str()));
        number.is_some() && number == self.number.as_ref()
    }
}

/// LVM knows `/dev/mapper/VG-LV` also as `/dev/VG/LV`, a dash in a name doubled.
fn with_group_names(mut names: Vec<String>) -> Vec<String> {
    let short: Vec<String> = names
        .iter()
        .filter_map(|name| name.strip_prefix("/dev/mapper/"))
        .filter_map(|name| {
            let marked = name.replace("--", "\0");
            let (group, volume) = marked.split_once('-')?;
            Some(format!("/dev/{group}/{volume}").replace('\0', "-"))
        })
        .collect();
    names.extend(short);
    names
}
