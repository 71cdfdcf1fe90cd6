//! From the desired state, the facts and the record to a plan.

use std::collections::BTreeSet;

use super::context::{Context, Only};
use super::notices::Notices;
use super::record::{self, Record};
use super::{FileEdit, Plan, Reload, VERSION, devices, guard, mounts, rules, timer};
use crate::facts::{Facts, File, Image};
use crate::format::fstab::Fstab;
use crate::format::text::Text;
use crate::state::DesiredState;

/// The plan that leads from the facts to the desired state.
pub fn plan(state: &DesiredState, facts: &Facts, only: Only) -> Plan {
    let mut notices = Notices::default();
    let recorded = Record::read(&facts.record).unwrap_or_else(|problem| {
        notices.error("record", problem, None);
        Record::default()
    });
    let cx = Context::new(state, facts, &recorded, only);
    let mut next = recorded.clone();
    next.version = record::VERSION;

    let bytes = facts
        .fstab
        .image
        .as_ref()
        .map_or(&[][..], |image| image.bytes.as_bytes());
    let fstab = Fstab::parse(bytes.to_vec());
    let mounts = if guard::readable(&facts.fstab) {
        mounts::decide(&cx, &fstab, &mut next, &mut notices)
    } else {
        // Nothing can be said of lines that nobody could read.
        if !(state.mounts.is_empty() && state.tmpfs.is_empty() && recorded.options.is_empty()) {
            guard::obstacles(&facts.fstab, &mut notices);
        }
        mounts::Outcome::default()
    };
    let devices = devices::decide(&cx, &mut next, &mut notices);
    let timer = timer::decide(&cx, &mut next, &mut notices);

    let mut files = Vec::new();
    if only.files() {
        files.extend(rules_edit(&cx, &mut notices));
        if !mounts.edits.is_empty() {
            files.extend(fstab_edit(&cx, &fstab, &mounts.edits, &mut notices));
        }
        let changes = !(mounts.changes.is_empty()
            && devices.is_empty()
            && timer.is_none()
            && files.is_empty());
        if changes && next != recorded {
            files.extend(record_edit(&facts.record, &next));
        }
    }
    files_guarded(&cx, &files, &mut notices);
    guard::sysfs(facts, &devices, &mut notices);
    timer::twice(&cx, to_be(&facts.fstab, &files), &mut notices);
    let written: BTreeSet<&str> = state
        .devices
        .iter()
        .filter(|rule| rule.when.holds(&cx.machine))
        .flat_map(|rule| {
            let scheduler = rule.scheduler.is_some().then_some("scheduler");
            rule.settings
                .iter()
                .map(|setting| setting.attribute.name)
                .chain(scheduler)
        })
        .collect();
    guard::rivals(&cx, &written, &devices, &mut notices);

    let (errors, warnings, notes) = notices.finish();
    let edits = |path: &str| {
        files
            .iter()
            .any(|file| file.path.as_bytes() == path.as_bytes())
    };
    let reload = Reload {
        systemd: files.iter().any(|file| file.path == facts.fstab.path)
            || timer
                .as_ref()
                .is_some_and(|change| !change.links.is_empty()),
        udev: edits(rules::PATH),
        masks: mounts::masks(facts, &mounts.changes),
        unmasks: mounts::unmasks(facts, &mounts.changes),
    };
    Plan {
        version: VERSION,
        host: facts.host.clone(),
        kernel: facts.kernel.clone(),
        machine_id: facts.machine_id.clone(),
        boot_id: facts.boot_id.clone(),
        state: state
            .sources
            .iter()
            .map(|source| source.name.clone())
            .collect(),
        mounts: mounts.changes,
        devices,
        timer,
        files,
        reload,
        pending: mounts.pending,
        errors,
        warnings,
        notes,
    }
}

/// Adds what stands in the way of a plan's files and queues, for a plan that was made elsewhere.
pub fn obstacles(plan: &mut Plan, facts: &Facts) {
    let (state, record) = (DesiredState::default(), Record::default());
    let cx = Context::new(&state, facts, &record, Only::Both);
    let mut notices = Notices::default();
    files_guarded(&cx, &plan.files, &mut notices);
    guard::sysfs(facts, &plan.devices, &mut notices);
    let (errors, warnings, _) = notices.finish();
    plan.errors.extend(errors);
    plan.warnings.extend(warnings);
}

/// What a file will hold.
fn to_be<'f>(file: &'f File, edits: &'f [FileEdit]) -> &'f [u8] {
    let edit = edits.iter().find(|edit| edit.path == file.path);
    let image = edit.map_or(&file.image, |edit| &edit.after);
    image.as_ref().map_or(&[], |image| image.bytes.as_bytes())
}

fn files_guarded(cx: &Context<'_>, files: &[FileEdit], notices: &mut Notices) {
    for edit in files {
        if let Some(file) = cx.facts.file(&edit.path) {
            guard::file(cx, file, edit, notices);
        }
    }
}

/// The udev rules, where they are not what they should be.
fn rules_edit(cx: &Context<'_>, notices: &mut Notices) -> Option<FileEdit> {
    let text = match rules::compile(cx.state, cx.facts) {
        Ok(text) => text,
        Err(unwritable) => {
            for rule in unwritable {
                notices.error(
                    "udev",
                    format!("no udev rule can say this: {}", rule.why),
                    Some(cx.place(rule.at)),
                );
            }
            return None;
        }
    };
    let file = &cx.facts.rules;
    let ours = file
        .image
        .as_ref()
        .is_none_or(|image| image.bytes.as_bytes().starts_with(rules::HEADER.as_bytes()));
    if !ours && !text.is_empty() {
        notices.error(
            file.path.to_string(),
            format!(
                "`{}` is not ssdtune's: give it another name first",
                file.path
            ),
            None,
        );
        return None;
    }
    if !ours {
        return None;
    }
    if let Some(image) = &file.image
        && same_rules(image.bytes.as_bytes(), text.as_bytes())
    {
        return None;
    }
    let after = (!text.is_empty()).then(|| image_like(file, text.into_bytes(), 0o644));
    edit(file, after)
}

/// True where two files hold the same rules. Comments name the state file as it was called, and its
/// lines: a file that was moved, or got a comment more, asks for nothing else.
fn same_rules(now: &[u8], wanted: &[u8]) -> bool {
    fn rules(text: &[u8]) -> impl Iterator<Item = &[u8]> {
        let lines = text.split(|byte| *byte == b'\n');
        lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"))
    }
    !wanted.is_empty() && rules(now).eq(rules(wanted))
}

/// fstab with the edits made, checked by reading it back.
fn fstab_edit(
    cx: &Context<'_>,
    fstab: &Fstab,
    edits: &[crate::format::fstab::Edit],
    notices: &mut Notices,
) -> Option<FileEdit> {
    match fstab.edited(edits) {
        Ok(bytes) => edit(
            &cx.facts.fstab,
            Some(image_like(&cx.facts.fstab, bytes, 0o644)),
        ),
        Err(error) => {
            notices.error("fstab", format!("`{}`: {error}", cx.facts.fstab.path), None);
            None
        }
    }
}

fn record_edit(file: &File, record: &Record) -> Option<FileEdit> {
    let after = (!record.is_empty()).then(|| image_like(file, record.write(), 0o644));
    edit(file, after)
}

/// New bytes with the metadata of what is there.
fn image_like(file: &File, bytes: Vec<u8>, mode: u32) -> Image {
    let bytes = Text(bytes);
    match &file.image {
        Some(image) => Image {
            bytes,
            ..image.clone()
        },
        None => Image {
            bytes,
            mode,
            ..Image::default()
        },
    }
}

/// The edit of a file; none where it is that already.
fn edit(file: &File, after: Option<Image>) -> Option<FileEdit> {
    (file.image != after).then(|| FileEdit {
        path: file.path.clone(),
        resolved: file.resolved.clone(),
        before: file.image.clone(),
        after,
    })
}

#[cfg(test)]
mod tests {
    use super::same_rules;

    #[test]
    fn comments_are_no_rules() {
        let now = b"# state.toml:3\nA==\"1\"\n\nB=\"2\"\n";
        assert!(same_rules(
            now,
            b"# /etc/ssdtune/state.toml:4: disks\nA==\"1\"\nB=\"2\"\n"
        ));
        assert!(!same_rules(now, b"A==\"1\"\nB=\"3\"\n"));
        assert!(!same_rules(b"", b""));
    }
}
