//! `when`: the conditions under which a rule counts.

use super::fields::Fields;
use super::pattern::Refused;
use super::reader::Reader;
use super::visible::quoted;
use super::{At, Comparison, Machine, Pattern, When};
use crate::knowledge::Kernel;

/// Words of systemd-detect-virt(1), `none` being bare metal.
pub(super) const VIRTUALIZATION: &[&str] = &[
    "none",
    "qemu",
    "kvm",
    "amazon",
    "zvm",
    "vmware",
    "microsoft",
    "oracle",
    "powervm",
    "xen",
    "bochs",
    "uml",
    "parallels",
    "bhyve",
    "qnx",
    "acrn",
    "apple",
    "sre",
    "google",
    "vm-other",
    "openvz",
    "lxc",
    "lxc-libvirt",
    "systemd-nspawn",
    "docker",
    "podman",
    "rkt",
    "wsl",
    "proot",
    "pouch",
    "container-other",
];

/// Words of systemd-detect-virt that stand for a container, for `ConditionVirtualization=container`.
const CONTAINERS: &[&str] = &[
    "openvz",
    "lxc",
    "lxc-libvirt",
    "systemd-nspawn",
    "docker",
    "podman",
    "rkt",
    "wsl",
    "proot",
    "pouch",
    "container-other",
];

/// True where a word of systemd-detect-virt stands for a container, not a machine.
pub fn is_container(word: &str) -> bool {
    CONTAINERS.contains(&word)
}

impl When {
    /// True where nothing is asked.
    pub fn is_always(&self) -> bool {
        self.host.is_empty() && self.kernel.is_empty() && self.virtualization.is_empty()
    }

    /// True where a rule under these conditions counts on this machine.
    ///
    /// A kernel whose release cannot be read meets no bound.
    pub fn holds(&self, machine: &Machine<'_>) -> bool {
        let any = |patterns: &[At<Pattern>], name: &str| {
            patterns.is_empty() || patterns.iter().any(|at| at.value.matches(name))
        };
        any(&self.host, machine.host)
            && any(&self.virtualization, machine.virtualization)
            && (self.kernel.is_empty()
                || Kernel::parse(machine.kernel).is_some_and(|kernel| {
                    self.kernel.iter().all(|at| {
                        let (comparison, bound) = at.value;
                        comparison.holds(kernel, bound)
                    })
                }))
    }
}

impl Comparison {
    /// True where the kernel stands so to the bound; both count as major and minor only.
    pub fn holds(self, kernel: Kernel, bound: Kernel) -> bool {
        match self {
            Self::Less => kernel < bound,
            Self::LessOrEqual => kernel <= bound,
            Self::Equal => kernel == bound,
            Self::GreaterOrEqual => kernel >= bound,
            Self::Greater => kernel > bound,
        }
    }

    /// Reads `>=6.6`.
    pub(super) fn parse(text: &str) -> Result<(Self, Kernel), Refused> {
        let text = text.trim();
        let (comparison, bound) = [
            ("<=", Self::LessOrEqual),
            (">=", Self::GreaterOrEqual),
            ("<", Self::Less),
            (">", Self::Greater),
            ("==", Self::Equal),
            ("=", Self::Equal),
            ("", Self::Equal),
        ]
        .into_iter()
        .find_map(|(sign, comparison)| Some((comparison, text.strip_prefix(sign)?.trim_start())))
        .unwrap_or((Self::Equal, text));
        let number = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse().ok()).flatten()
        };
        let kernel = bound
            .split_once('.')
            .and_then(|(major, minor)| Some(Kernel(number(major)?, number(minor)?)));
        match kernel {
            Some(kernel) => Ok((comparison, kernel)),
            None => Err(Refused::new(
                format!("{} is no bound on a kernel release", quoted(text)),
                "write one of `<` `<=` `=` `>=` `>` and the major and minor number: \">=6.6\"",
            )),
        }
    }
}

/// Reads the key `when` of a rule.
pub(super) fn read(rule: &mut Fields<'_>, reader: &mut Reader) -> When {
    let Some(mut fields) = rule.table("when", reader) else {
        return When::default();
    };
    let header = reader.origin(fields.header.clone());
    let before = reader.count();
    let mut when = When::default();
    for at in fields.strings("when.host", reader).unwrap_or_default() {
        match Pattern::new(at.value) {
            Ok(value) => when.host.push(At {
                value,
                origin: at.origin,
            }),
            Err(refused) => reader.refuse(at.origin, refused),
        }
    }
    for at in fields.strings("when.kernel", reader).unwrap_or_default() {
        match Comparison::parse(&at.value) {
            Ok(value) => when.kernel.push(At {
                value,
                origin: at.origin,
            }),
            Err(refused) => reader.refuse(at.origin, refused),
        }
    }
    for at in fields
        .strings("when.virtualization", reader)
        .unwrap_or_default()
    {
        match Pattern::new(at.value.as_str()) {
            Ok(pattern) if pattern.literal && !VIRTUALIZATION.contains(&pattern.text.as_str()) => {
                reader.unknown_word("virtualization", &at, VIRTUALIZATION);
            }
            Ok(value) => when.virtualization.push(At {
                value,
                origin: at.origin,
            }),
            Err(refused) => reader.refuse(at.origin, refused),
        }
    }
    if let Some(power) = fields.take_refused("power") {
        reader.report(
            reader.origin(power.at),
            "`when.power` cannot be asked yet",
            "leave it out: a rule counts on mains and on battery alike",
        );
    }
    fields.finish("when.", reader);
    if reader.count() == before {
        if when.is_always() {
            reader.report(
                header,
                "`when` asks for nothing",
                "write e.g. `when.host = \"lab-*\"`, or leave `when` out",
            );
        } else if !can_hold(&when.kernel) {
            reader.report(
                header,
                "no kernel meets all bounds of `when.kernel`",
                "all bounds of the list must hold: write e.g. [\">=6.1\", \"<6.6\"]",
            );
        }
    }
    when
}

/// Whether some kernel release meets all bounds.
fn can_hold(bounds: &[At<(Comparison, Kernel)>]) -> bool {
    // Where bounds can be met, they are met by a bound itself or by a release next to one.
    let beside = |kernel: Kernel| {
        let Kernel(major, minor) = kernel;
        let before = match minor.checked_sub(1) {
            Some(minor) => Kernel(major, minor),
            None => Kernel(major.saturating_sub(1), u16::MAX),
        };
        [before, kernel, Kernel(major, minor.saturating_add(1))]
    };
    // A person writes one or two bounds; hundreds would only make this slow.
    bounds.is_empty()
        || bounds.len() > 16
        || bounds
            .iter()
            .flat_map(|at| beside(at.value.1))
            .any(|kernel| bounds.iter().all(|at| at.value.0.holds(kernel, at.value.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(text: &str) -> Option<(Comparison, Kernel)> {
        Comparison::parse(text).ok()
    }

    #[test]
    fn bounds_are_read() {
        assert_eq!(
            bound(">=6.6"),
            Some((Comparison::GreaterOrEqual, Kernel(6, 6)))
        );
        assert_eq!(bound("< 6.12"), Some((Comparison::Less, Kernel(6, 12))));
        assert_eq!(bound("5.15"), Some((Comparison::Equal, Kernel(5, 15))));
        for text in ["", ">=", "6", ">=6.6.1", "=>6.6", "+6.1", "6.99999", "six"] {
            assert_eq!(bound(text), None, "{text}");
        }
    }

    #[test]
    fn bounds_count_major_and_minor() {
        let when = |bounds: &[&str]| When {
            kernel: bounds
                .iter()
                .filter_map(|text| bound(text))
                .map(|value| At {
                    value,
                    origin: Default::default(),
                })
                .collect(),
            ..When::default()
        };
        let on = |kernel| Machine {
            host: "lab-3",
            kernel,
            virtualization: "none",
        };
        assert!(when(&[">=6.1", "<6.12"]).holds(&on("6.1.0-38-amd64")));
        assert!(!when(&[">=6.1", "<6.12"]).holds(&on("6.12.1")));
        assert!(!when(&[">6.6"]).holds(&on("6.6.87")));
        assert!(!when(&[">=6.1"]).holds(&on("unknown")));
        assert!(when(&[]).holds(&on("unknown")));
        assert!(can_hold(&when(&[">6.1", "<6.3"]).kernel));
        assert!(!can_hold(&when(&[">6.1", "<6.2"]).kernel));
        assert!(!can_hold(&when(&["=6.1", "=6.2"]).kernel));
        assert!(can_hold(&when(&["<6.0"]).kernel));
    }

    #[test]
    fn hosts_and_machines_are_patterns() {
        let pattern = |text: &str| match Pattern::new(text) {
            Ok(value) => vec![At {
                value,
                origin: Default::default(),
            }],
            Err(refused) => panic!("{refused:?}"),
        };
        let when = When {
            host: pattern("lab-*"),
            virtualization: pattern("none"),
            ..When::default()
        };
        let on = |host, virtualization| Machine {
            host,
            kernel: "6.1",
            virtualization,
        };
        assert!(when.holds(&on("lab-3", "none")));
        assert!(!when.holds(&on("web-3", "none")));
        assert!(!when.holds(&on("lab-3", "kvm")));
    }
}
