//! What a selector says of itself; what it takes, the facts and the plan find out.

use super::{At, DeviceSelector, MountSelector, Pattern};
use crate::knowledge::transport::TRANSPORTS;

impl DeviceSelector {
    /// True where the rule names one thing, which must then be there: a literal `name`, `id`,
    /// `serial`, `wwn` or `mount`.
    pub fn is_named(&self) -> bool {
        self.named().next().is_some()
    }

    /// The literals by which the rule names things, with the key that each stands under.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &At<Pattern>)> {
        self.names().filter(|(_, at)| at.value.literal)
    }

    /// Patterns on what tells one device from its like, with the key that each stands under.
    fn names(&self) -> impl Iterator<Item = (&'static str, &At<Pattern>)> {
        [
            ("name", &self.name),
            ("id", &self.id),
            ("serial", &self.serial),
            ("wwn", &self.wwn),
            ("mount", &self.mount),
        ]
        .into_iter()
        .flat_map(|(key, list)| list.iter().map(move |at| (key, at)))
    }

    /// True where the rule may take devices that are left alone unless asked for: USB and
    /// removable disks, loop, ram, zram, sr, dm and md devices, paths of a multipath device.
    ///
    /// It asks by a `transport`, by `removable = true` or `zoned = true`, by a name, and by a
    /// pattern that begins with more than a wildcard (`id = "usb-*"`). A pattern on kernel names
    /// asks only where it begins like the unusual ones (`loop*`): `sd*` says nothing about USB,
    /// and `*` is any ordinary disk.
    pub fn asks_for_unusual(&self) -> bool {
        let holds = |flag: &Option<At<bool>>| flag.as_ref().is_some_and(|at| at.value);
        !self.transport.is_empty()
            || holds(&self.removable)
            || holds(&self.zoned)
            || self.names().any(|(key, At { value, .. })| {
                value.literal
                    || match key {
                        "name" => is_unusual_prefix(value.prefix()),
                        _ => !value.prefix().is_empty(),
                    }
            })
    }

    /// True where nothing is asked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether names that begin so belong to a kind of device taken only on request.
fn is_unusual_prefix(prefix: &str) -> bool {
    TRANSPORTS
        .iter()
        .filter(|transport| transport.on_request && transport.path.is_none())
        .flat_map(|transport| transport.kernel)
        .any(|name| prefix.starts_with(name.trim_end_matches('*')))
}

impl MountSelector {
    /// True where nothing is asked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True where `fstype` is the lone `*`: every local disk filesystem.
    pub fn is_every_local_disk(&self) -> bool {
        matches!(self.fstype.as_slice(), [At { value, .. }] if value.text == "*")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<At<Pattern>> {
        match Pattern::new(text) {
            Ok(value) => vec![At {
                value,
                origin: Default::default(),
            }],
            Err(refused) => panic!("{refused:?}"),
        }
    }

    fn named(name: &str) -> DeviceSelector {
        DeviceSelector {
            name: list(name),
            ..Default::default()
        }
    }

    #[test]
    fn one_thing_is_named_by_a_literal() {
        assert!(named("sda").is_named());
        assert!(!named("sd*").is_named());
        assert!(
            DeviceSelector {
                mount: list("/data"),
                ..Default::default()
            }
            .is_named()
        );
        assert!(
            !DeviceSelector {
                model: list("X"),
                ..Default::default()
            }
            .is_named()
        );
    }

    #[test]
    fn wildcards_take_ordinary_disks_only() {
        assert!(!named("*").asks_for_unusual());
        assert!(!named("sd*").asks_for_unusual());
        assert!(named("sdb").asks_for_unusual());
        assert!(named("loop*").asks_for_unusual());
        assert!(named("dm-[0-9]").asks_for_unusual());
        let by_id = |id| DeviceSelector {
            id: list(id),
            ..Default::default()
        };
        assert!(by_id("usb-*").asks_for_unusual());
        assert!(!by_id("*").asks_for_unusual());
        let flag = |value| {
            Some(At {
                value,
                origin: Default::default(),
            })
        };
        assert!(
            DeviceSelector {
                removable: flag(true),
                ..Default::default()
            }
            .asks_for_unusual()
        );
        assert!(
            !DeviceSelector {
                removable: flag(false),
                ..Default::default()
            }
            .asks_for_unusual()
        );
        assert!(
            !DeviceSelector {
                rotational: flag(false),
                ..Default::default()
            }
            .asks_for_unusual()
        );
    }
}
