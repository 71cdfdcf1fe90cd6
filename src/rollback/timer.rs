//! fstrim.timer on the way back.

use std::collections::BTreeMap;

use super::{notice, void};
use crate::facts::Facts;
use crate::format::text::Text;
use crate::plan::timer::unknown;
use crate::plan::{LinkEdit, Plan, TimerChange};
use crate::snapshot::Snapshot;

/// The timer as it was: its links, and whether it ran.
pub(super) fn back(undone: &[Snapshot], facts: &Facts, plan: &mut Plan, force: bool) {
    let timer = &facts.trim_timer;
    let mut goals: BTreeMap<&Text, Option<&Text>> = BTreeMap::new();
    let mut running = timer.running;
    for snapshot in undone {
        let Some(change) = &snapshot.plan.timer else {
            continue;
        };
        for edit in &change.links {
            let now = goals
                .entry(&edit.path)
                .or_insert_with(|| timer.links.get(&edit.path));
            if *now == edit.before.as_ref() {
                continue;
            }
            if *now == edit.after.as_ref() || force {
                *now = edit.before.as_ref();
            } else {
                plan.errors.push(notice(
                    &edit.path.to_string(),
                    format!(
                        "the link `{}` leads elsewhere since apply {}: mend it by hand, or say `--force` to lose that change",
                        edit.path, snapshot.number
                    ),
                ));
            }
        }
        running = step(snapshot, change, facts, running);
    }
    let links: Vec<LinkEdit> = goals
        .into_iter()
        .map(|(path, goal)| LinkEdit {
            path: path.clone(),
            before: timer.links.get(path).cloned(),
            after: goal.cloned(),
        })
        .filter(|edit| edit.before != edit.after)
        .collect();
    let enabled = {
        let mut then = timer.clone();
        for edit in &links {
            match &edit.after {
                Some(to) => drop(then.links.insert(edit.path.clone(), to.clone())),
                None => drop(then.links.remove(&edit.path)),
            }
        }
        then.enabled()
    };
    let can_run = timer.unit.is_some() && timer.masked.is_none();
    let running = running.filter(|run| timer.running == Some(!run) && (!run || can_run));
    let enabled = (enabled != timer.enabled()).then_some(enabled);
    if !links.is_empty() || running.is_some() {
        let why = (running.is_none() && !facts.offline).then(|| match timer.running {
            Some(_) => "in effect already".to_owned(),
            None => unknown(facts).to_owned(),
        });
        plan.timer = Some(TimerChange {
            enabled,
            running,
            links,
            why,
            origin: None,
        });
    }
}

/// Whether it ran before an apply. A boot since then made of it what the links said.
fn step(
    snapshot: &Snapshot,
    change: &TimerChange,
    facts: &Facts,
    running: Option<bool>,
) -> Option<bool> {
    let was = if snapshot.boot_id == facts.boot_id {
        change.running
    } else if void(snapshot, facts) {
        None
    } else {
        change.enabled
    };
    running.map(|now| was.map_or(now, |after| !after))
}
