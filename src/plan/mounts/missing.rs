//! Rules that name a mount point which fstab does not have.

use super::{Context, wishes};
use crate::format::fstab::{Fstab, WhyNot};
use crate::format::text::Text;
use crate::plan::context::Notices;
use crate::state::Pattern;

/// An error for each literal target without a line; a note for a rule by kind that matches none.
pub(super) fn targets(cx: &Context<'_>, fstab: &Fstab, notices: &mut Notices) {
    for rule in &cx.state.mounts {
        if !rule.when.holds(&cx.machine) || rule.optional {
            continue;
        }
        let origin = Some(cx.place(rule.at));
        let matched: Vec<String> = fstab
            .entries()
            .filter(|(_, entry)| entry.is_mount() && wishes::matches(cx, rule, entry))
            .map(|(_, entry)| Text(entry.target().into_owned()).to_string())
            .collect();
        let literals: Vec<&Pattern> = rule
            .select
            .target
            .iter()
            .map(|at| &at.value)
            .filter(|pattern| pattern.literal)
            .collect();
        if literals.is_empty() && matched.is_empty() {
            notices.note(
                "fstab",
                "no line of fstab matches this rule",
                origin.clone(),
            );
        }
        for target in literals
            .into_iter()
            .filter(|target| !matched.contains(&target.text))
        {
            if let Some(text) = why(cx, fstab, &target.text) {
                notices.error(target.text.clone(), text, origin.clone());
            }
        }
    }
}

/// Why a target is not found: disabled, mounted by something else, another type, or nowhere. None
/// where its lines are judged elsewhere.
fn why(cx: &Context<'_>, fstab: &Fstab, target: &str) -> Option<String> {
    match fstab.find(target.as_bytes()).map_err(|not| not.why) {
        Ok((line, _)) => Some(format!(
            "`{target}` stands on line {} of fstab, but not with the type or source that this rule matches",
            line.number
        )),
        Err(WhyNot::Disabled { line }) => Some(format!(
            "fstab has no active entry for `{target}`: line {line} is commented out"
        )),
        Err(WhyNot::Missing) => Some(match cx.facts.mount_at(target.as_bytes()) {
            Some(mount) => format!(
                "`{target}` is mounted ({}), but fstab has no line for it: it comes from `{}` or from what made that; add a line to fstab, or set `optional = true`",
                mount.fstype,
                crate::facts::mount_unit(target.as_bytes())
            ),
            None => format!("fstab has no line for `{target}`: add one, or set `optional = true`"),
        }),
        Err(WhyNot::Twice { .. } | WhyNot::Bad { .. }) => None,
    }
}
