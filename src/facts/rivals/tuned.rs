//! tuned: the active profile, and those that it includes.

use std::collections::BTreeSet;

use super::{Found, Write, lines, plain, target, text};
use crate::facts::RivalKind;
use crate::facts::read::Reader;

/// Where profiles stand; the administrator's hide the distribution's.
const FOLDERS: &[&str] = &[
    "/etc/tuned/profiles",
    "/etc/tuned",
    "/usr/lib/tuned/profiles",
    "/usr/lib/tuned",
];

/// Profiles include one another; more than this is a mistake.
const MOST_PROFILES: usize = 64;

pub(super) fn tuned(reader: &mut Reader, found: &mut Found) {
    let active = text(reader, b"/etc/tuned/active_profile").unwrap_or_default();
    let mut ahead = profile_names(&active);
    let mut read = BTreeSet::new();
    while let Some(name) = ahead.pop() {
        if read.len() >= MOST_PROFILES || !read.insert(name.clone()) {
            continue;
        }
        let mut paths = FOLDERS
            .iter()
            .map(|folder| format!("{folder}/{name}/tuned.conf"));
        let profile = paths.find_map(|path| Some((text(reader, path.as_bytes())?, path)));
        if let Some((content, path)) = profile {
            ahead.extend(self::profile(&content, path.as_bytes(), found));
        }
    }
}

/// Names of profiles, separated by blanks or commas; what could lead elsewhere is none.
fn profile_names(text: &[u8]) -> Vec<String> {
    let names = text.split(|byte| byte.is_ascii_whitespace() || *byte == b',');
    names.filter_map(|name| plain(name, b"-_")).collect()
}

/// Reads one profile; returns the names that it includes.
fn profile(content: &[u8], path: &[u8], found: &mut Found) -> Vec<String> {
    let mut included = Vec::new();
    let mut section = Section::default();
    let mut rows: Vec<(usize, Write)> = Vec::new();
    // Rows of a section are known to count only at its end: it may be disabled, or name devices.
    let mut finish = |section: &Section, rows: &mut Vec<(usize, Write)>| {
        for (number, mut write) in rows.drain(..).filter(|_| !section.disabled) {
            if write.device.is_none() {
                write.device.clone_from(&section.device);
            }
            found.add(RivalKind::Tuned, path, Some(number), vec![write]);
        }
    };
    for (number, line) in lines(content).filter(|(_, line)| !line.starts_with(b";")) {
        if let Some(name) = line.strip_prefix(b"[") {
            finish(&section, &mut rows);
            section = Section {
                name: name.split(|byte| *byte == b']').next().unwrap_or_default(),
                ..Section::default()
            };
            continue;
        }
        let Some(at) = line.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        let (key, value) = (line[..at].trim_ascii(), line[at + 1..].trim_ascii());
        let write = |setting: &str| Write {
            setting: Some(setting.to_owned()),
            device: None,
        };
        match key {
            b"include" if section.name == b"main" => included.extend(profile_names(value)),
            b"enabled" => section.disabled = matches!(value, b"0" | b"false" | b"False"),
            b"devices" => section.device = plain(value, b"-!_"),
            b"elevator" => rows.push((number, write("scheduler"))),
            b"readahead" => rows.push((number, write("read_ahead_kb"))),
            key if key.starts_with(b"/sys/") => rows.extend(target(key).map(|w| (number, w))),
            _ => {}
        }
    }
    finish(&section, &mut rows);
    included
}

#[derive(Default)]
struct Section<'a> {
    name: &'a [u8],
    disabled: bool,
    /// `devices=sda`: one, by its kernel name.
    device: Option<String>,
}
