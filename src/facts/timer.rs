//! fstrim.timer, which trims every filesystem that can be trimmed, once a week.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::read::Reader;
use super::units::{self, FOLDERS};
use crate::format::text::Text;

/// The unit: util-linux brings it, with the service that it starts.
pub const TIMER: &str = "fstrim.timer";

/// The link that `systemctl enable fstrim.timer` makes: its `[Install]` says `WantedBy=timers.target`.
pub const TIMER_LINK: &str = "/etc/systemd/system/timers.target.wants/fstrim.timer";

/// Where the administrator's links stand.
const LINKS: &str = "/etc/systemd/system";

/// fstrim.timer, at boot and now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "docgen", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TrimTimer {
    /// Its unit file, masks apart: the first that systemd finds.
    pub unit: Option<Text>,
    /// What masks it: a link to /dev/null, or an empty file.
    pub masked: Option<Text>,
    /// Links of the administrator's that start it at boot (`systemctl enable` makes them), and where
    /// each leads.
    pub links: BTreeMap<Text, Text>,
    /// A link of the distribution's own that starts it at boot, which `systemctl disable` leaves
    /// there.
    pub vendor: Option<Text>,
    /// Whether it runs, so that it waits for its time; none where systemd does not run, or was not
    /// asked.
    pub running: Option<bool>,
}

impl TrimTimer {
    /// True where the next boot will start it.
    pub fn enabled(&self) -> bool {
        // A mask in /run goes with the reboot.
        let mask = self.masked.as_ref();
        let masked = mask.is_some_and(|path| !path.as_bytes().starts_with(b"/run/"));
        let linked = !self.links.is_empty() || self.vendor.is_some();
        self.unit.is_some() && linked && !masked
    }

    /// True where something is trimmed by it, now or after the next boot.
    pub fn trims(&self) -> bool {
        self.enabled() || self.running == Some(true)
    }
}

/// Reads what the unit files and their links say.
pub(super) fn timer(reader: &mut Reader) -> TrimTimer {
    let mut timer = TrimTimer::default();
    for (folder, _) in FOLDERS {
        let path = format!("{folder}/{TIMER}");
        let Ok(stat) = reader.look(path.as_bytes()) else {
            continue;
        };
        let path = Text::from(path.as_str());
        if units::masked(reader, path.as_bytes(), &stat) {
            timer.masked.get_or_insert(path);
        } else {
            timer.unit.get_or_insert(path);
        }
    }
    for folder in reader.names(LINKS.as_bytes()) {
        if !(folder.ends_with(b".wants") || folder.ends_with(b".requires")) {
            continue;
        }
        let path = [LINKS.as_bytes(), b"/", &folder, b"/", TIMER.as_bytes()].concat();
        // What is no link there, systemd passes over.
        if let Ok(target) = reader.link(&path) {
            timer.links.insert(Text(path), Text(target));
        }
    }
    timer.vendor = FOLDERS
        .iter()
        .map(|(folder, _)| format!("{folder}/timers.target.wants/{TIMER}"))
        .filter(|path| !path.starts_with("/etc/") && !path.starts_with("/run/"))
        .find(|path| reader.there(path.as_bytes()))
        .map(|path| Text::from(path.as_str()));
    timer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    const UNIT: (&str, &str) = ("usr/lib/systemd/system/fstrim.timer", "[Timer]\n");

    fn read(files: &[(&str, &str)]) -> TrimTimer {
        let root = fake::root(files);
        timer(&mut Reader::new(root.path()).unwrap())
    }

    #[test]
    fn a_timer_is_enabled_by_a_link_to_its_unit() {
        let link = (&TIMER_LINK[1..], "-> /lib/systemd/system/fstrim.timer");
        let found = read(&[UNIT]);
        assert_eq!(
            found.unit,
            Some("/usr/lib/systemd/system/fstrim.timer".into())
        );
        assert!(!found.enabled());
        let found = read(&[UNIT, link]);
        assert!(found.enabled() && found.trims());
        let target = "/lib/systemd/system/fstrim.timer".into();
        assert_eq!(found.links, [(TIMER_LINK.into(), target)].into());
        // A link to nothing starts nothing.
        assert!(!read(&[link]).enabled());
        let other = (
            "etc/systemd/system/multi-user.target.requires/fstrim.timer",
            link.1,
        );
        assert!(read(&[UNIT, other]).enabled());
    }

    #[test]
    fn a_mask_counts_unless_it_goes_with_the_reboot() {
        let link = (&TIMER_LINK[1..], "-> /lib/systemd/system/fstrim.timer");
        for (mask, enabled) in [
            ("etc/systemd/system/fstrim.timer", false),
            ("run/systemd/system/fstrim.timer", true),
        ] {
            let found = read(&[UNIT, link, (mask, "-> /dev/null")]);
            assert_eq!(found.masked, Some(format!("/{mask}").as_str().into()));
            assert_eq!(found.enabled(), enabled, "{mask}");
            assert!(found.unit.is_some());
        }
        // An administrator's own unit file comes before the distribution's.
        let own = (
            "etc/systemd/system/fstrim.timer",
            "[Timer]\nOnCalendar=daily\n",
        );
        let found = read(&[UNIT, own]);
        assert_eq!(found.unit, Some("/etc/systemd/system/fstrim.timer".into()));
        assert_eq!(found.masked, None);
    }

    #[test]
    fn a_link_of_the_distribution_s_counts_too() {
        let vendor = "usr/lib/systemd/system/timers.target.wants/fstrim.timer";
        let found = read(&[UNIT, (vendor, "-> ../fstrim.timer")]);
        assert!(found.enabled() && found.links.is_empty());
        assert_eq!(found.vendor, Some(format!("/{vendor}").as_str().into()));
    }
}
