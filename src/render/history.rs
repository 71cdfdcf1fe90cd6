//! Snapshots as a list, and one in full.

use super::style::{QUIET, paint};
use super::words::{count, visible};
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
            "{:>4}  {}  {what:<27}  {:<11}",
            snapshot.number,
            snapshot.at.format("%Y-%m-%d %H:%M:%S UTC"),
            count(super::plan::changes(&snapshot.plan), "change"),
        );
        page.push_str(line.trim_end());
        if !state.is_empty() {
            // The columns of a line that goes on.
            let gap = line.chars().count() - line.trim_end().chars().count() + 1;
            page.push_str(&" ".repeat(gap));
            page.push_str(&paint(QUIET, state));
        }
        page.push('\n');
    }
    page
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
