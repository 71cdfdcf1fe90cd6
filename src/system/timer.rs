//! Facts of the machine, and of what only systemd itself can tell: whether fstrim.timer runs.

use std::path::Path;

use super::run::{LIMIT, ask};
use crate::facts::{Facts, Scope, TIMER, Unread, gather};
use crate::format::text::Text;
use crate::plan::record;

/// Reads the facts that a scope asks for.
///
/// systemd shows nowhere in a file whether a timer runs: systemctl is asked, where systemd runs and
/// a rule, the record, or what is taken back has to do with the timer.
pub fn facts(root: &Path, scope: &Scope<'_>) -> Facts {
    let mut facts = gather(root, scope);
    let here = root == Path::new("/") && scope.live && facts.systemd;
    let timer = &facts.trim_timer;
    // Without a unit file it may still run, if that was removed a moment ago; systemd knows.
    if here && (scope.asks_for_timer() || record::holds_timer(&facts.record)) {
        match ask("systemctl", &["is-active", "--quiet", TIMER], LIMIT) {
            Ok(0) => facts.trim_timer.running = Some(true),
            // 3: it does not run; 4: there is no such unit (systemctl(1), "exit status").
            Ok(3 | 4) => facts.trim_timer.running = Some(false),
            Ok(other) => unread(
                &mut facts,
                format!("systemctl is-active ended with {other}"),
            ),
            // Nothing there is nothing to be told of.
            Err(_) if timer.unit.is_none() && timer.links.is_empty() => {}
            Err(error) => unread(&mut facts, error.to_string()),
        }
    }
    facts
}

fn unread(facts: &mut Facts, why: String) {
    facts.unread.push(Unread {
        path: Text::from(TIMER),
        why,
    });
}
