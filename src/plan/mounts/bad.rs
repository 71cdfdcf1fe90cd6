//! Lines that mount(8) and systemd do not read alike.

use super::Context;
use super::wishes::{Rules, targets_match, types_match};
use crate::format::fstab::{Fstab, Line, Reason, canonical};
use crate::format::octal;
use crate::format::text::Text;
use crate::plan::notices::Notices;
use crate::state::Origin;

/// An error where a rule is about the line, as far as its fields can be told; else a warning.
pub(super) fn line(
    cx: &Context<'_>,
    rules: &Rules<'_>,
    fstab: &Fstab,
    line: &Line,
    reason: Reason,
    target: Option<&[u8]>,
    notices: &mut Notices,
) {
    let path = cx.facts.fstab.path.to_string();
    let asked = target.and_then(|raw| {
        let decoded = octal::decode(raw);
        let names = [canonical(&decoded), canonical(raw)].map(|name| Text(name.into_owned()));
        let fstype = type_of(&fstab.bytes()[line.start..line.end]);
        names
            .iter()
            .find_map(|name| asked(rules, &name.to_string(), &fstype))
    });
    match asked {
        Some(origin) => {
            notices.error_on(
                &path,
                line.number,
                reason.to_string(),
                Some(cx.place(origin)),
            );
        }
        None => notices.warn_on(
            "bad-line",
            cx.allowed(),
            (&path, line.number),
            reason.to_string(),
        ),
    }
}

/// The third field, as systemd reads it.
fn type_of(bytes: &[u8]) -> String {
    let mut fields = bytes
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|field| !field.is_empty());
    let fstype = octal::decode(fields.nth(2).unwrap_or_default());
    String::from_utf8_lossy(&fstype).into_owned()
}

/// Where a rule was written that is about this mount point.
fn asked(rules: &Rules<'_>, target: &str, fstype: &str) -> Option<Origin> {
    let mut mounts = rules.about(target).map(|(_, rule)| rule).filter(|rule| {
        let select = &rule.select;
        // A rule that names the mount point means it, whatever else it says.
        let named = !select.target.is_empty();
        targets_match(&select.target, target)
            && (named || select.source.is_empty() && types_match(&select.fstype, fstype))
    });
    let tmpfs = rules.tmpfs(target).first().map(|rule| rule.target.origin);
    mounts
        .next()
        .map(|rule| {
            let mut patterns = rule.select.target.iter();
            let pattern = patterns.find(|at| at.value.matches(target));
            pattern.map_or(rule.at, |at| at.origin)
        })
        .or(tmpfs)
}
