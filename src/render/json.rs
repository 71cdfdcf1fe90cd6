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
        for option in change
            .live
            .iter_mut()
            .flat_map(|live| &mut live.options_before)
        {
            *option = Text::from(masked(&option.to_string()).as_str());
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
