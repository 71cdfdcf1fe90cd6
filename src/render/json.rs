//! Plans for programs, with secrets masked. Only what `facts` and snapshots hold is complete.

use std::borrow::Cow;

use crate::facts::Image;
use crate::format::text::Text;
use crate::plan::Plan;
use crate::render::words::masked;

/// A plan in which no line of fstab tells a password or where one is kept.
pub fn plan(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for edit in &mut plan.files {
        mask(&mut edit.before);
        mask(&mut edit.after);
    }
    for notice in plan
        .errors
        .iter_mut()
        .chain(&mut plan.warnings)
        .chain(&mut plan.notes)
    {
        hide(&mut notice.text);
        hide(&mut notice.name);
    }
    for pending in &mut plan.pending {
        hide(&mut pending.option);
        pending.now.iter_mut().for_each(hide);
    }
    for option in plan
        .mounts
        .iter_mut()
        .flat_map(|change| &mut change.options)
    {
        [&mut option.from, &mut option.to]
            .into_iter()
            .flatten()
            .for_each(hide);
    }
    for change in &mut plan.mounts {
        let Some(live) = &mut change.live else {
            continue;
        };
        for option in &mut live.options_before {
            *option = Text::unescape(&masked(&option.to_str()));
        }
        live.set.iter_mut().chain(&mut live.undo).for_each(hide);
    }
    plan
}

fn hide(text: &mut String) {
    if let Cow::Owned(masked) = masked(text) {
        *text = masked;
    }
}

fn mask(image: &mut Option<Image>) {
    if let Some(image) = image {
        let text = image.bytes.to_string();
        let lines: Vec<_> = text.split('\n').map(masked).collect();
        image.bytes = Text::unescape(&lines.join("\n"));
    }
}
