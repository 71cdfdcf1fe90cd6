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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{TIMER_LINK, TrimTimer};
    use crate::plan::When;
    use crate::snapshot::{Kind, Phase};

    const UNIT: &str = "/usr/lib/systemd/system/fstrim.timer";

    /// A machine in boot `b2` whose timer is enabled, and an apply of an earlier boot that did so.
    fn enabled(boot: &str, running: Option<bool>) -> (Facts, Snapshot) {
        let facts = Facts {
            boot_id: "b2".to_owned(),
            systemd: true,
            trim_timer: TrimTimer {
                unit: Some(UNIT.into()),
                links: [(TIMER_LINK.into(), UNIT.into())].into(),
                running: Some(true),
                ..TrimTimer::default()
            },
            ..Facts::default()
        };
        let plan = Plan {
            boot_id: boot.to_owned(),
            timer: Some(TimerChange {
                enabled: Some(true),
                running,
                links: vec![LinkEdit {
                    path: TIMER_LINK.into(),
                    before: None,
                    after: Some(UNIT.into()),
                }],
                ..TimerChange::default()
            }),
            ..Plan::default()
        };
        let at = "2026-11-30T12:03:07Z".parse().unwrap();
        let mut snapshot = Snapshot::new(1, at, Kind::Apply, plan);
        snapshot.phase = Phase::Applied;
        (facts, snapshot)
    }

    fn taken_back(facts: &Facts, snapshot: Snapshot) -> (Option<TimerChange>, usize) {
        let mut plan = Plan::default();
        back(&[snapshot], facts, &mut plan, false);
        (plan.timer, plan.errors.len())
    }

    #[test]
    fn what_a_boot_started_because_of_the_link_is_stopped_with_it() {
        // In its own boot only what was started live is stopped; made offline, the boot started it.
        for (boot, live, stopped) in [
            ("b2", Some(true), Some(false)),
            ("b2", None, None),
            ("b1", Some(true), Some(false)),
            ("", None, Some(false)),
        ] {
            let (facts, snapshot) = enabled(boot, live);
            let (change, errors) = taken_back(&facts, snapshot);
            let change = change.unwrap();
            assert_eq!((change.enabled, errors), (Some(false), 0));
            assert_eq!(change.running, stopped, "{boot} {live:?}");
            assert_eq!(change.links[0].after, None);
        }
    }

    #[test]
    fn an_apply_that_never_came_to_the_link_needs_nothing_after_a_boot() {
        let (mut facts, mut snapshot) = enabled("b1", Some(true));
        snapshot.phase = Phase::Live;
        facts.trim_timer.links.clear();
        facts.trim_timer.running = Some(false);
        assert_eq!(taken_back(&facts, snapshot), (None, 0));
    }

    #[test]
    fn a_timer_that_was_masked_since_is_not_started() {
        let (mut facts, mut snapshot) = enabled("b2", None);
        facts.trim_timer = TrimTimer {
            masked: Some("/etc/systemd/system/fstrim.timer".into()),
            links: BTreeMap::new(),
            running: Some(false),
            ..facts.trim_timer
        };
        let change = snapshot.plan.timer.as_mut().unwrap();
        (change.enabled, change.running) = (Some(false), Some(false));
        let edit = &mut change.links[0];
        std::mem::swap(&mut edit.before, &mut edit.after);
        let (change, errors) = taken_back(&facts, snapshot);
        let change = change.unwrap();
        assert_eq!((change.enabled, change.running, errors), (None, None, 0));
        assert_eq!(change.when(), When::Boot);
    }
}
