//! Snapshots as a list, and one in full.

use super::style::{QUIET, paint};
use super::words::{count, visible};
use crate::plan::Plan;
use crate::snapshot::{Kind, Phase, Snapshot};

/// A line a snapshot, oldest first; those that still stand are marked.
pub fn list(snapshots: &[Snapshot], standing: &[u32]) -> String {
    if snapshots.is_empty() {
        return "No snapshots: nothing was applied yet.\n".to_owned();
    }
    let mut page = String::new();
    for snapshot in snapshots {
        let what = match snapshot.kind {
            Kind::Apply => "apply".to_owned(),
            Kind::Rollback { to: Some(to) } => format!("rollback to before {to}"),
            Kind::Rollback { to: None } => "rollback to a copy of fstab".to_owned(),
        };
        let state = match snapshot.phase {
            Phase::Applied
                if snapshot.kind == Kind::Apply && !standing.contains(&snapshot.number) =>
            {
                "rolled back"
            }
            Phase::Applied => "",
            Phase::Undone => "interrupted, undone",
            _ => "interrupted",
        };
        let line = format!(
            "{:>4}  {}  {what:<27}  {}",
            snapshot.number,
            snapshot.at.format("%Y-%m-%d %H:%M:%S UTC"),
            changes(&snapshot.plan),
        );
        if state.is_empty() {
            page.push_str(&line);
        } else {
            // The changes fill up to `100 changes`.
            page.push_str(&format!("{line:<71}  {}", paint(QUIET, state)));
        }
        page.push('\n');
    }
    page
}

fn changes(plan: &Plan) -> String {
    let options: usize = plan.mounts.iter().map(|change| change.options.len()).sum();
    let settings: usize = plan
        .devices
        .iter()
        .flat_map(|change| &change.settings)
        .filter(|row| !row.side_effect)
        .count();
    count(options + settings, "change")
}

/// What a snapshot is, before its plan.
pub fn heading(snapshot: &Snapshot) -> String {
    format!(
        "Snapshot {} of {}, {}\n",
        snapshot.number,
        visible(&snapshot.plan.host),
        snapshot.at.format("%Y-%m-%d %H:%M:%S UTC")
    )
}
