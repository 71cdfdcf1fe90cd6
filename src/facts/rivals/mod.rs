//! Who else writes the settings that ssdtune knows (case U03).
//!
//! Found by reading configuration, not by watching: a rival is a line that will write, whether or
//! not its program runs today. Its text is another's: bytes, bounded, and read line by line.

mod power;
mod shell;
mod tuned;
mod udev;

use super::read::{LARGE, Reader};
use super::{Rival, RivalKind};
use crate::format::text::Text;

/// A setting that some line writes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Write {
    /// The attribute's file name; none where the line leaves it open.
    setting: Option<String>,
    /// The kernel name; none where the line leaves it open.
    device: Option<String>,
}

/// Lines found so far; those that write several settings of one device become one rival.
#[derive(Default)]
struct Found(Vec<Rival>);

impl Found {
    fn add(&mut self, kind: RivalKind, path: &[u8], line: Option<usize>, writes: Vec<Write>) {
        let line = line.and_then(|line| u32::try_from(line).ok());
        let start = self.0.len();
        for write in writes {
            let mut same = self.0[start..].iter_mut();
            match same.find(|rival| rival.device == write.device) {
                Some(rival) => {
                    let known = &mut rival.settings;
                    known.extend(write.setting.filter(|setting| !known.contains(setting)));
                }
                None => self.0.push(Rival {
                    kind,
                    path: Text::from(path),
                    line,
                    settings: write.setting.into_iter().collect(),
                    device: write.device,
                }),
            }
        }
    }
}

/// All rivals below the root.
pub(super) fn rivals(reader: &mut Reader, command_line: &[u8]) -> Vec<Rival> {
    let mut found = Found::default();
    elevator(command_line, &mut found);
    rc_local(reader, &mut found);
    udev::rules(reader, &mut found);
    tmpfiles(reader, &mut found);
    sysfs_conf(reader, &mut found);
    services(reader, &mut found);
    tuned::tuned(reader, &mut found);
    power::tlp(reader, &mut found);
    power::laptop_mode(reader, &mut found);
    found.0
}

/// Lines with their numbers, comments and empty ones left out.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    text.split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .enumerate()
        .filter(|(_, line)| !line.is_empty() && !line.starts_with(b"#"))
        .map(|(index, line)| (index + 1, line))
}

/// Files of a folder whose names end so, with their paths, sorted by name.
fn files_of(reader: &mut Reader, folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let mut names = reader.names(folder.as_bytes());
    names.retain(|name| name.ends_with(ending.as_bytes()));
    let path = |name: Vec<u8>| [folder.as_bytes(), b"/", &name].concat();
    names.into_iter().map(path).collect()
}

/// A file of a rival's; what is no readable file of a sane size is no rival we can name.
fn text(reader: &mut Reader, path: &[u8]) -> Option<Vec<u8>> {
    reader.content(path, LARGE).ok()
}

/// What a path below /sys is for: `…/sda/queue/scheduler`, `…/8:0/bdi/read_ahead_kb`.
fn target(path: &[u8]) -> Option<Write> {
    let (device, attribute) = if let Some(at) = find(path, b"/queue/") {
        (last_part(&path[..at]), &path[at + 7..])
    } else {
        let at = find(path, b"/bdi/")?;
        match &path[at + 5..] {
            b"read_ahead_kb" => (last_part(&path[..at]), &b"read_ahead_kb"[..]),
            // /sys/class/bdi names devices by number.
            rest if rest.ends_with(b"/read_ahead_kb") => (&b""[..], &b"read_ahead_kb"[..]),
            _ => return None,
        }
    };
    let attribute = attribute.strip_prefix(b"iosched/").unwrap_or(attribute);
    Some(Write {
        setting: plain(attribute, b"_"),
        device: plain(device, b"-!_"),
    })
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// A name of letters, digits and the given marks; none where a glob or a variable stands for it.
fn plain(name: &[u8], marks: &[u8]) -> Option<String> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || marks.contains(byte);
    let fits = !name.is_empty() && name.len() <= 64 && name.iter().all(is_plain);
    fits.then(|| String::from_utf8_lossy(name).into_owned())
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len())
        .position(|window| window == needle)
}

fn elevator(command_line: &[u8], found: &mut Found) {
    let mut words = command_line.split(u8::is_ascii_whitespace);
    if words.any(|word| word.starts_with(b"elevator=")) {
        let write = Write {
            setting: Some("scheduler".to_owned()),
            device: None,
        };
        found.add(RivalKind::Elevator, b"/proc/cmdline", None, vec![write]);
    }
}

/// Scripts that run once, late at boot.
fn rc_local(reader: &mut Reader, found: &mut Found) {
    let mut seen = Vec::new();
    let mut paths = files_of(reader, "/etc/local.d", ".start");
    paths.extend(
        [
            "/etc/rc.local",
            "/etc/rc.d/rc.local",
            "/etc/init.d/boot.local",
        ]
        .map(|path| path.as_bytes().to_vec()),
    );
    for path in &paths {
        let Some(script) = text(reader, path).filter(|script| !seen.contains(script)) else {
            continue; // missing, or a link to one that was read
        };
        for (number, line) in lines(&script) {
            found.add(RivalKind::RcLocal, path, Some(number), shell::writes(line));
        }
        seen.push(script);
    }
}

/// `w` lines of tmpfiles.d(5); of files with one name, the first folder's counts.
fn tmpfiles(reader: &mut Reader, found: &mut Found) {
    let mut names = Vec::new();
    for folder in [
        "/etc/tmpfiles.d",
        "/run/tmpfiles.d",
        "/usr/local/lib/tmpfiles.d",
        "/usr/lib/tmpfiles.d",
    ] {
        for path in files_of(reader, folder, ".conf") {
            let name = path[folder.len()..].to_vec();
            if names.contains(&name) {
                continue;
            }
            for (number, line) in lines(&text(reader, &path).unwrap_or_default()) {
                let mut fields = line
                    .split(u8::is_ascii_whitespace)
                    .filter(|f| !f.is_empty());
                let (Some(kind), Some(file)) = (fields.next(), fields.next()) else {
                    continue;
                };
                let file = file.strip_prefix(b"\"").unwrap_or(file);
                if kind.starts_with(b"w") && file.starts_with(b"/sys/") {
                    let writes = target(file.strip_suffix(b"\"").unwrap_or(file));
                    let writes = writes.into_iter().collect();
                    found.add(RivalKind::Tmpfiles, &path, Some(number), writes);
                }
            }
            names.push(name);
        }
    }
}

/// sysfsutils: `block/sda/queue/scheduler = noop`, paths below /sys.
fn sysfs_conf(reader: &mut Reader, found: &mut Found) {
    let mut paths = files_of(reader, "/etc/sysfs.d", ".conf");
    paths.insert(0, b"/etc/sysfs.conf".to_vec());
    for path in paths {
        for (number, line) in lines(&text(reader, &path).unwrap_or_default()) {
            let Some(at) = line.iter().position(|byte| *byte == b'=') else {
                continue;
            };
            let key = line[..at].trim_ascii();
            // `mode` and `owner` change permissions, not values.
            if !key.iter().any(u8::is_ascii_whitespace) {
                let writes = target(key).into_iter().collect();
                found.add(RivalKind::SysfsConf, &path, Some(number), writes);
            }
        }
    }
}

/// Services of the administrator's, and what drop-ins add to others.
fn services(reader: &mut Reader, found: &mut Found) {
    let folder = "/etc/systemd/system";
    let mut paths = files_of(reader, folder, ".service");
    for dropins in files_of(reader, folder, ".service.d") {
        paths.extend(files_of(
            reader,
            &String::from_utf8_lossy(&dropins),
            ".conf",
        ));
    }
    for path in paths {
        for (number, line) in lines(&text(reader, &path).unwrap_or_default()) {
            if line.starts_with(b"Exec") && line.contains(&b'=') {
                found.add(RivalKind::Service, &path, Some(number), shell::writes(line));
            }
        }
    }
}

#[cfg(test)]
mod tests;
