//! Rules that name a mount point or a source which fstab does not have.

use std::collections::BTreeSet;

use super::lines::Lines;
use super::{Context, Rules};
use crate::format::fstab::Kind;
use crate::plan::notices::Notices;

/// What each rule found, by its number: whether any line, and the mount points of those lines that
/// it names.
#[derive(Default)]
pub(super) struct Matches {
    any: BTreeSet<usize>,
    targets: BTreeSet<(usize, String)>,
}

impl Matches {
    /// Notes that these rules match the line of a mount point.
    pub fn note(&mut self, rules: &Rules<'_>, matched: &[usize], target: &str) {
        for rule in matched {
            self.any.insert(*rule);
            if rules.names_targets(*rule) {
                self.targets.insert((*rule, target.to_owned()));
            }
        }
    }
}

/// An error for each literal target without a line, and for a literal source that no line has; a
/// note for a rule by kind that matches none.
pub(super) fn targets(
    cx: &Context<'_>,
    rules: &Rules<'_>,
    matches: &Matches,
    lines: &Lines<'_>,
    notices: &mut Notices,
) {
    for (index, rule) in rules.all() {
        if rule.optional {
            continue;
        }
        let origin = Some(cx.place(rule.at));
        let mut literals = false;
        for at in rule.select.target.iter().filter(|at| at.value.literal) {
            literals = true;
            let target = &at.value.text;
            if !matches.targets.contains(&(index, target.clone()))
                && let Some(text) = why(cx, lines, target)
            {
                notices.error(target.clone(), text, Some(cx.place(at.origin)));
            }
        }
        if literals || matches.any.contains(&index) {
            continue;
        }
        match rule.select.source.iter().find(|at| at.value.literal) {
            Some(at) => notices.error(
                at.value.text.clone(),
                no_source(lines, &at.value.text),
                Some(cx.place(at.origin)),
            ),
            None => notices.note("fstab", "no line of fstab matches this rule", origin),
        }
    }
}

/// Why a source is not found: it is swap, or nowhere.
fn no_source(lines: &Lines<'_>, source: &str) -> String {
    let swap = lines.fstab().entries().find(|(_, entry)| {
        !entry.is_mount() && String::from_utf8_lossy(&entry.source()).replace('"', "") == source
    });
    match swap {
        Some((line, _)) => format!(
            "`{source}` is swap or has no mount point (line {} of fstab): swap has no inodes, and takes no mount options",
            line.number
        ),
        None => format!(
            "no line of fstab that this rule could match has the source `{source}`: `ssdtune facts` shows which names stand for one device; or set `optional = true`"
        ),
    }
}

/// Why a target is not found: disabled, mounted by something else, another type, or nowhere. None
/// where its lines are judged elsewhere.
fn why(cx: &Context<'_>, lines: &Lines<'_>, target: &str) -> Option<String> {
    match lines.about(target.as_bytes()) {
        [line] if matches!(line.kind, Kind::Entry(_)) => Some(format!(
            "`{target}` stands on line {} of fstab, but not with the type or source that this rule matches",
            line.number
        )),
        [_, ..] => None,
        [] => Some(match lines.disabled(target.as_bytes()) {
            Some(line) => {
                format!("fstab has no active entry for `{target}`: line {line} is commented out")
            }
            None => match cx.layers.mount_at(target.as_bytes()) {
                Some(mount) => format!(
                    "`{target}` is mounted ({}), but fstab has no line for it: it comes from `{}` or from what made that; add a line to fstab, or set `optional = true`",
                    mount.fstype,
                    crate::facts::mount_unit(target.as_bytes())
                ),
                None => {
                    format!("fstab has no line for `{target}`: add one, or set `optional = true`")
                }
            },
        }),
    }
}
