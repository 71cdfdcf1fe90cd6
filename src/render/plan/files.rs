//! The section on files: fstab's diff, generated files in a line, links that decide over the boot.

use super::{Detail, mark, title};
use crate::plan::{FileEdit, LinkEdit, Plan, record, rules};
use crate::render::diff;
use crate::render::style::{QUIET, paint};
use crate::render::words::{count, visible};

pub(super) fn section(page: &mut String, plan: &Plan, detail: Detail) {
    let mut files: Vec<&FileEdit> = plan
        .files
        .iter()
        .filter(|edit| detail.verbose || edit.path.as_bytes() != record::PATH.as_bytes())
        .collect();
    // What people wrote before what is generated, in whatever order they are committed.
    files.sort_by_key(|edit| {
        (
            edit.path.as_bytes() == record::PATH.as_bytes(),
            generated(edit),
        )
    });
    if !(files.is_empty() && plan.links().is_empty()) {
        title(page, "Files");
        for edit in files {
            file(page, edit, detail);
        }
        for edit in plan.links() {
            link(page, edit);
        }
    }
}

/// A link, and where it leads; systemd reads it at boot.
fn link(page: &mut String, edit: &LinkEdit) {
    let sign = match (&edit.before, &edit.after) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    };
    let target = edit.after.as_ref().or(edit.before.as_ref());
    let target = target.map_or(String::new(), ToString::to_string);
    let path = edit.path.to_string();
    page.push_str(&format!("  {} {}\n", mark(sign), visible(&path)));
    page.push_str(&format!("    -> {}\n", visible(&target)));
}

/// Files that nobody writes by hand.
fn generated(edit: &FileEdit) -> bool {
    let path = edit.path.as_bytes();
    path == rules::PATH.as_bytes() || path == record::PATH.as_bytes()
}

fn file(page: &mut String, edit: &FileEdit, detail: Detail) {
    let path = edit.path.to_str();
    let path = visible(&path);
    let sign = match (&edit.before, &edit.after) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    };
    let mut line = format!("  {} {path}", mark(sign));
    if edit.path != edit.resolved {
        line.push_str(&format!(" -> {}", visible(&edit.resolved.to_string())));
    }
    let [before, after] = [&edit.before, &edit.after].map(|image| {
        let bytes = image.as_ref().map(|image| image.bytes.as_bytes());
        bytes.unwrap_or_default()
    });
    if generated(edit) && !detail.diff {
        let about = if edit.path.as_bytes() == rules::PATH.as_bytes() {
            let rules = after
                .windows(b"\nLABEL=\"ssdtune_rule_".len())
                .filter(|window| *window == b"\nLABEL=\"ssdtune_rule_")
                .count();
            match edit.after {
                Some(_) => format!("{} (exact text: plan --diff)", count(rules, "rule")),
                None => String::new(),
            }
        } else {
            "what ssdtune first found".to_owned()
        };
        if !about.is_empty() {
            line.push_str("   ");
            line.push_str(&paint(QUIET, &about));
        }
        page.push_str(&line);
        page.push('\n');
        return;
    }
    page.push_str(&line);
    page.push('\n');
    let context = if detail.diff { 3 } else { 1 };
    diff::hunks(page, "    ", before, after, context);
}
