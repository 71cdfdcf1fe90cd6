//! The section on fstrim.timer: whether the next boot starts it, and whether it runs.

use super::{Detail, mark, tag, tagged};
use crate::facts::TIMER;
use crate::plan::TimerChange;
use crate::render::words::{WIDTH, visible, width, wrap};

pub(super) fn section(page: &mut String, change: &TimerChange, detail: Detail) {
    let enabled = change.enabled.map(|to| match to {
        true => "disabled -> enabled",
        false => "enabled -> disabled",
    });
    let running = change.running.map(|to| match (to, change.enabled) {
        (true, Some(_)) => "started",
        (false, Some(_)) => "stopped",
        (true, None) => "stopped -> started",
        (false, None) => "started -> stopped",
    });
    let links = (enabled.is_none() && running.is_none()).then_some("other links");
    let words: Vec<&str> = enabled.into_iter().chain(running).chain(links).collect();
    let mut text = words.join(", ");
    let mut below = String::new();
    if detail.verbose
        && let Some(origin) = &change.origin
    {
        let origin = format!("({})", visible(origin));
        if 6 + TIMER.len() + width(&text) + 1 + width(&origin) <= WIDTH {
            text.push(' ');
            text.push_str(&origin);
        } else {
            below = origin;
        }
    }
    let line = format!("  {} {TIMER}  {text}", mark('~'));
    let used = 6 + TIMER.len() + width(&text);
    tagged(
        page,
        &line,
        used,
        &tag(change.when(), change.why.as_deref()),
    );
    if !below.is_empty() {
        for part in wrap(&below, WIDTH - 8) {
            page.push_str(&format!("        {part}\n"));
        }
    }
}
