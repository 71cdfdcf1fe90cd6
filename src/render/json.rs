//! Plans for programs, with secrets masked. Only what `facts` and snapshots hold is complete.

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
        notice.text = masked(&notice.text);
        notice.name = masked(&notice.name);
    }
    for pending in &mut plan.pending {
        pending.option = masked(&pending.option);
        pending.now = pending.now.as_deref().map(masked);
    }
    for option in plan
        .mounts
        .iter_mut()
        .flat_map(|change| &mut change.options)
    {
        for text in [&mut option.from, &mut option.to].into_iter().flatten() {
            *text = masked(text);
        }
    }
    for change in &mut plan.mounts {
        let Some(live) = &mut change.live else {
            continue;
        };
        for option in &mut live.options_before {
            *option = Text::unescape(&masked(&option.to_string()));
        }
        for option in live.set.iter_mut().chain(&mut live.undo) {
            *option = masked(option);
        }
    }
    plan
}

fn mask(image: &mut Option<Image>) {
    if let Some(image) = image {
        let text = image.bytes.to_string();
        let lines: Vec<String> = text.split('\n').map(masked).collect();
        image.bytes = Text::unescape(&lines.join("\n"));
    }
}
