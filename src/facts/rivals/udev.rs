//! udev rules of others, before and after ours by name.

use std::collections::BTreeSet;

use super::{Found, Write, files_of, find, plain, shell, target, text};
use crate::facts::RivalKind;
use crate::facts::read::Reader;
use crate::format::udev_rules::{self, Op, Rule};

/// The name of the file that ssdtune writes.
const OURS: &[u8] = b"90-ssdtune.rules";

/// udev(7): a file hides those of the same name in later folders.
const FOLDERS: &[&str] = &[
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
];

pub(super) fn rules(reader: &mut Reader, found: &mut Found) {
    let mut names = BTreeSet::new();
    let mut files = Vec::new();
    for folder in FOLDERS {
        for path in files_of(reader, folder, ".rules") {
            let name = path[folder.len() + 1..].to_vec();
            if name != OURS && names.insert(name.clone()) {
                files.push((name, path));
            }
        }
    }
    files.sort_unstable();
    for (name, path) in files {
        let Some(content) = text(reader, &path) else {
            continue;
        };
        // Most of a distribution's files have nothing to do with queues.
        let is_about_queues = [&b"queue/"[..], b"read_ahead_kb", b"setra"]
            .iter()
            .any(|word| find(&content, word).is_some());
        if !is_about_queues {
            continue;
        }
        let kind = if *name < *OURS {
            RivalKind::UdevRuleBefore
        } else {
            RivalKind::UdevRuleAfter
        };
        for rule in udev_rules::parse(&content) {
            let line = usize::try_from(rule.line).ok();
            found.add(kind, &path, line, writes(&rule));
        }
    }
}

/// What a rule assigns to files of a queue, or lets a program write there.
fn writes(rule: &Rule<'_>) -> Vec<Write> {
    let mut found = Vec::new();
    for token in &rule.tokens {
        if token.op.is_match() {
            continue;
        }
        match (&*token.key, token.attribute.as_deref()) {
            ("ATTR", Some(path)) if path.starts_with("queue/") || path.starts_with("bdi/") => {
                found.extend(target(format!("/{path}").as_bytes()));
            }
            ("RUN" | "PROGRAM", _) => found.extend(shell::writes(token.value.as_bytes())),
            _ => {}
        }
    }
    let kernel = rule
        .tokens
        .iter()
        .find(|token| token.key == "KERNEL" && token.op == Op::Match);
    let device = kernel.and_then(|token| plain(token.value.as_bytes(), b"-!_"));
    for write in &mut found {
        if write.device.is_none() {
            write.device.clone_from(&device);
        }
    }
    found
}
