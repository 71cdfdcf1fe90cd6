//! The section on mounts: a line each, exceptions on lines of their own.

use super::{Detail, mark, tag, tagged};
use crate::plan::{LineChange, MountChange, OptionChange, Plan, When};
use crate::render::words::{WIDTH, discreet, padded, size, visible, width};

pub(super) fn section(page: &mut String, plan: &Plan, detail: Detail) {
    let column = plan
        .mounts
        .iter()
        .map(|change| width(&visible(&change.target.to_str())))
        .max()
        .unwrap_or(0)
        .min(30);
    for change in &plan.mounts {
        one(page, change, column, detail);
    }
}

fn one(page: &mut String, change: &MountChange, column: usize, detail: Detail) {
    let sign = match change.line {
        LineChange::Add => '+',
        LineChange::Remove => '-',
        LineChange::Edit | LineChange::Keep => '~',
    };
    let target = change.target.to_str();
    let target = visible(&target);
    let lead = format!("  {} {}  ", mark(sign), padded(&target, column));
    let indent = 6 + column.max(width(&target));
    let mut first = true;
    let mut groups = groups(change);
    if groups.is_empty() {
        // A line with nothing but `defaults`.
        groups.push((tag(When::Boot, None), Vec::new()));
    }
    for (tag, group) in groups {
        let mut line = if first {
            lead.clone()
        } else {
            " ".repeat(indent)
        };
        let mut used = indent;
        if change.line == LineChange::Add && first {
            let fstype = format!("{} ", visible(&change.fstype));
            used += width(&fstype);
            line.push_str(&fstype);
        }
        first = false;
        let mut fresh = true;
        for option in group {
            let piece = piece(change, option, detail);
            let length = width(&piece);
            if !fresh && used + 2 + length > WIDTH {
                page.push_str(line.trim_end());
                page.push('\n');
                line = " ".repeat(indent);
                used = indent;
                fresh = true;
            }
            if !fresh {
                let gap = if change.line == LineChange::Add {
                    " "
                } else {
                    "  "
                };
                line.push_str(gap);
                used += gap.len();
            }
            line.push_str(&piece);
            used += length;
            fresh = false;
        }
        tagged(page, line.trim_end(), used, &tag);
    }
}

/// Options that share a tag, in their order.
fn groups(change: &MountChange) -> Vec<(String, Vec<&OptionChange>)> {
    let mut groups: Vec<(String, Vec<&OptionChange>)> = Vec::new();
    for option in &change.options {
        // What only concerns who mounts is never in effect live, and needs no remark.
        let plain =
            option.when == When::Boot && option.why.is_none() && change.line == LineChange::Edit;
        let tag = if plain {
            String::new()
        } else {
            tag(option.when, option.why.as_deref())
        };
        match groups.iter_mut().find(|(other, _)| *other == tag) {
            Some((_, group)) => group.push(option),
            None => groups.push((tag, vec![option])),
        }
    }
    groups
}

fn piece(change: &MountChange, option: &OptionChange, detail: Detail) -> String {
    let mut piece = match (&option.from, &option.to) {
        (Some(from), Some(to)) => format!("{} -> {}", discreet(from), discreet(to)),
        (None, Some(to)) if change.line == LineChange::Add => discreet(to).into_owned(),
        (None, Some(to)) => format!("+ {}", discreet(to)),
        (Some(from), None) if change.line == LineChange::Remove => discreet(from).into_owned(),
        (Some(from), None) => format!("- {}", discreet(from)),
        (None, None) => String::new(),
    };
    if let Some(kib) = option.kib {
        piece.push_str(&format!(" ({})", size(kib)));
    }
    if detail.verbose
        && let Some(origin) = &option.origin
    {
        piece.push_str(&format!(" ({})", visible(origin)));
    }
    piece
}
