//! Facts as JSON: written the same way each time, and read with suspicion.

use serde::Deserialize;

use super::{Facts, VERSION};

/// Facts of the largest machines are a few MiB.
pub const LARGEST: usize = 64 << 20;

impl Facts {
    /// The facts as JSON, indented, keys in a fixed order, with a newline at the end.
    pub fn write(&self) -> String {
        // Plain data: every key is a string, every value has a form in JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads facts of this version.
    ///
    /// # Errors
    ///
    /// Says what is wrong and where: no JSON, another version, an unknown or missing field, or a
    /// name that would lead out of its folder.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            version: Option<u32>,
        }
        if bytes.len() > LARGEST {
            return Err(format!("facts are larger than {} MiB", LARGEST >> 20));
        }
        // The version first: of a later format, no field need be as it is here.
        let version: Version = serde_json::from_slice(bytes)
            .map_err(|error| format!("this is no facts file: {error}"))?;
        match version.version {
            Some(VERSION) => {}
            Some(version) => {
                return Err(format!(
                    "facts of version {version}: this ssdtune reads version {VERSION}; \
                     gather them with the same release"
                ));
            }
            None => return Err("this is no facts file: it has no `version`".to_owned()),
        }
        let facts: Self =
            serde_json::from_slice(bytes).map_err(|error| format!("in the facts: {error}"))?;
        facts.check()?;
        Ok(facts)
    }

    /// Refuses names that would lead elsewhere when they are made part of a path.
    fn check(&self) -> Result<(), String> {
        for (name, device) in &self.devices {
            check_name("device", name)?;
            let lists = [&device.slaves, &device.holders];
            let names = lists.into_iter().flatten().chain(device.partitions.keys());
            for other in names {
                check_name("device", other)?;
            }
            for attribute in device.queue.keys().chain(device.iosched.keys()) {
                check_name("attribute", attribute)?;
            }
            let numbers = device.partitions.values().chain([&device.number]);
            for number in numbers.filter(|number| !number.is_empty()) {
                check_number(name, number)?;
            }
            if device.path.split('/').any(|part| part == "..") {
                return Err(format!(
                    "in the facts: the path of `{name}` leads out of /sys: `{}`",
                    shown(&device.path)
                ));
            }
        }
        for (uuid, btrfs) in &self.btrfs {
            check_name("btrfs", uuid)?;
            for device in &btrfs.devices {
                check_name("device", device)?;
            }
        }
        Ok(())
    }
}

fn check_name(kind: &str, name: &str) -> Result<(), String> {
    let leads_elsewhere =
        name.is_empty() || name == "." || name.contains('/') || name.contains("..");
    if leads_elsewhere || name.len() > 255 || name.chars().any(char::is_control) {
        return Err(format!("in the facts: `{}` is no {kind} name", shown(name)));
    }
    Ok(())
}

fn check_number(name: &str, number: &str) -> Result<(), String> {
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    match number.split_once(':') {
        Some((major, minor)) if is_number(major) && is_number(minor) => Ok(()),
        _ => Err(format!(
            "in the facts: `{name}` has no device number but `{}`: write `major:minor`",
            shown(number)
        )),
    }
}

/// What a message shows of a text from elsewhere: its front, without control characters.
fn shown(text: &str) -> String {
    let front: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    front
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Device;

    fn facts() -> Facts {
        Facts {
            version: VERSION,
            ..Facts::default()
        }
    }

    fn refused(facts: &Facts) -> String {
        Facts::read(facts.write().as_bytes()).unwrap_err()
    }

    #[test]
    fn what_is_written_reads_back() {
        let facts = facts();
        assert_eq!(Facts::read(facts.write().as_bytes()), Ok(facts));
    }

    #[test]
    fn another_version_is_named_before_its_fields() {
        let error = Facts::read(b"{\"version\": 9, \"new\": 1}").unwrap_err();
        assert!(error.starts_with("facts of version 9"), "{error}");
        let error = Facts::read(b"{}").unwrap_err();
        assert_eq!(error, "this is no facts file: it has no `version`");
    }

    #[test]
    fn hostile_files_are_refused() {
        let text = facts().write();
        let unknown = text.replace("\"host\"", "\"hots\"");
        assert!(
            Facts::read(unknown.as_bytes())
                .unwrap_err()
                .contains("unknown field `hots`")
        );
        let wrong = text.replace("\"memory_kb\": 0", "\"memory_kb\": \"much\"");
        assert!(
            Facts::read(wrong.as_bytes())
                .unwrap_err()
                .contains("invalid type")
        );
        let deep = format!("{{\"version\":{}", "[".repeat(1 << 20));
        assert!(Facts::read(deep.as_bytes()).is_err());
        assert!(Facts::read(b"\xff\xfe").is_err());
        assert!(Facts::read(format!("{text}x").as_bytes()).is_err());
    }

    #[test]
    fn names_cannot_lead_elsewhere() {
        for name in ["../../etc", "a/b", "", ".", "..", "a\nb"] {
            let mut device = facts();
            device.devices.insert(name.to_owned(), Device::default());
            assert!(refused(&device).contains("is no device name"), "{name:?}");
            let mut attribute = facts();
            let mut disk = Device::default();
            disk.queue.insert(name.to_owned(), "1".to_owned());
            attribute.devices.insert("sda".to_owned(), disk);
            assert!(
                refused(&attribute).contains("is no attribute name"),
                "{name:?}"
            );
        }
        let mut path = facts();
        let disk = Device {
            path: "/devices/../../x".to_owned(),
            ..Device::default()
        };
        path.devices.insert("sda".to_owned(), disk);
        assert!(refused(&path).contains("leads out of /sys"));
        let mut number = facts();
        let disk = Device {
            number: "8".to_owned(),
            ..Device::default()
        };
        number.devices.insert("sda".to_owned(), disk);
        assert!(refused(&number).contains("write `major:minor`"));
    }
}
