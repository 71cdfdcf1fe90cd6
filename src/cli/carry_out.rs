//! Carrying out a plan: root, lock, snapshot, the question, the protocol, the report.

use std::io::IsTerminal as _;

use serde_json::json;

use super::{Common, Error, Exit, output};
use crate::apply::{self, Failure, Report};
use crate::facts::Facts;
use crate::facts::Scope;
use crate::plan::Plan;
use crate::render::plan::{Detail, NOT_YET, page};
use crate::snapshot::store::Error as StoreError;
use crate::snapshot::{Kind, Snapshot, Store};
use crate::system::clock;
use crate::system::lock::Lock;
use crate::system::{Live, System as _};

/// What is to be carried out.
pub struct Job<'a> {
    /// `apply` or `rollback`.
    pub verb: &'a str,
    /// What the snapshot is for.
    pub kind: Kind,
    /// The plan, as it was shown.
    pub plan: Plan,
    /// What to read.
    pub scope: Scope<'a>,
    /// Makes the plan anew.
    pub replan: &'a dyn Fn(&Facts) -> Plan,
    /// Nobody is to be asked.
    pub yes: bool,
}

/// Only root changes a machine.
pub fn need_root(verb: &str) -> Result<(), Error> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    Err(Error::failed(format!(
        "`ssdtune {verb}` changes the system: run it as root (sudo ssdtune {verb} ...); `plan` needs no root"
    )))
}

/// Takes the lock that every change of the machine needs.
pub fn lock(common: &Common) -> Result<Lock, Error> {
    Lock::take(&common.root()).map_err(|held| Error::failed(held.to_string()))
}

/// Shows the plan, asks, and carries it out.
pub fn run(job: Job<'_>, store: &Store, common: &Common) -> Result<Exit, Error> {
    let Job {
        verb,
        kind,
        plan,
        scope,
        replan,
        yes,
    } = job;
    if !common.json && !common.quiet {
        output::page(&page(
            &plan,
            Detail {
                verbose: common.verbose,
                diff: false,
            },
            // Where nobody is asked, it is on its way.
            if yes { "" } else { NOT_YET },
        ))?;
    }
    if !plan.errors.is_empty() {
        if common.json {
            output::json(
                &json!({ "changed": false, "reboot_needed": false, "errors": plan.errors }),
            )?;
        } else if common.quiet {
            super::plan::errors(&plan);
        }
        return Ok(Exit::Failed);
    }
    if plan.is_empty() {
        let mut system = Live::new(common.root());
        let facts = system.facts(&scope);
        let said = match kind {
            Kind::Rollback { to: Some(to) } => apply::close(&mut system, store, &facts, to)
                .map_err(|error| Error::failed(error.to_string()))?,
            _ => apply::tidy(&mut system, store, &facts),
        };
        for warning in &said {
            output::warning(warning);
        }
        if common.json {
            output::json(&json!({ "changed": false, "reboot_needed": !plan.pending.is_empty() }))?;
        }
        return Ok(Exit::Done);
    }
    if !yes && !agreed(verb, &plan)? {
        output::say("Nothing was changed.");
        return Ok(Exit::Failed);
    }
    let number = store
        .next_number()
        .map_err(|error| Error::failed(error.to_string()))?;
    let reboot = reboot_needed(&plan);
    let snapshot = Snapshot::new(number, clock::now(), kind, plan);
    let mut system = Live::new(common.root());
    let result = apply::run(&mut system, store, &scope, snapshot, replan);
    report(verb, result, reboot, common)
}

/// True where something of the plan takes effect at the next boot only.
fn reboot_needed(plan: &Plan) -> bool {
    const ALREADY: Option<&str> = Some("in effect already");
    let timer = plan.timer.as_ref();
    !plan.pending.is_empty()
        || timer.is_some_and(|change| {
            change.when() == crate::plan::When::Boot && change.why.as_deref() != ALREADY
        })
        || plan
            .mounts
            .iter()
            .flat_map(|change| &change.options)
            .any(|option| {
                option.when == crate::plan::When::Boot && option.why.as_deref() != ALREADY
            })
}

/// Asks by the host's name: many a terminal is not where one thinks.
fn agreed(verb: &str, plan: &Plan) -> Result<bool, Error> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Error::failed(format!(
            "there is no terminal to ask on: `ssdtune {verb} --yes` goes ahead without asking"
        )));
    }
    dialoguer::Confirm::new()
        .with_prompt(format!(
            "{verb} this to {}?",
            crate::render::words::visible(&plan.host)
        ))
        .default(false)
        .interact_opt()
        .map(|answer| answer.unwrap_or(false))
        .map_err(|error| Error::failed(format!("the question could not be asked: {error}")))
}

fn report(
    verb: &str,
    result: Result<Report, Failure>,
    reboot: bool,
    common: &Common,
) -> Result<Exit, Error> {
    match result {
        Ok(report) => {
            for warning in &report.warnings {
                output::warning(warning);
            }
            if common.json {
                output::json(
                    &json!({ "changed": true, "reboot_needed": reboot, "snapshot": report.number, "warnings": report.warnings }),
                )?;
            } else if !common.quiet {
                let done = if verb == "apply" {
                    "Applied"
                } else {
                    "Rolled back"
                };
                output::say(&format!(
                    "{done}, and read back. Snapshot {}: `ssdtune rollback {}` takes it back.",
                    report.number, report.number
                ));
                if reboot {
                    output::say("Some of it takes effect at the next boot.");
                }
            }
            Ok(Exit::Done)
        }
        Err(failure) => failed(failure, common),
    }
}

fn failed(failure: Failure, common: &Common) -> Result<Exit, Error> {
    if let Failure::Undone { warnings, .. } = &failure {
        for warning in warnings {
            output::warning(warning);
        }
    }
    let (exit, left) = match &failure {
        Failure::Refused(_) | Failure::Stale(_) | Failure::Untouched(_) => {
            (Exit::Failed, Vec::new())
        }
        Failure::Undone { .. } => (Exit::RolledBack, Vec::new()),
        Failure::Incomplete { left, .. } => (Exit::Incomplete, left.clone()),
    };
    output::error(&failure.to_string());
    for line in &left {
        output::say(&format!(
            "  not put back: {}",
            crate::render::words::visible(line)
        ));
    }
    match exit {
        Exit::RolledBack => output::say("Everything was put back as it was."),
        Exit::Incomplete => {
            output::say("Run `ssdtune rollback` to try again; the snapshot is kept.")
        }
        _ => output::say("Nothing was changed."),
    }
    if common.json {
        output::json(&json!({
            "changed": exit == Exit::Incomplete,
            "reboot_needed": false,
            "error": failure.to_string(),
            "left": left,
        }))?;
    }
    Ok(exit)
}

/// Says that a run was cut off, and what can be done about it.
pub fn was_interrupted(snapshot: &Snapshot) -> String {
    format!(
        "{} {} was interrupted: `ssdtune rollback` puts back what it did, `ssdtune apply` does that and starts over",
        verb(snapshot.kind),
        snapshot.number
    )
}

/// The verb that made a snapshot.
pub fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::Apply => "apply",
        Kind::Rollback { .. } => "rollback",
    }
}

/// All snapshots that can be read. One that was cut off before anything was changed is none.
pub fn snapshots(store: &Store) -> Result<Vec<Snapshot>, Error> {
    let mut snapshots = Vec::new();
    for entry in store
        .list()
        .map_err(|error| Error::failed(error.to_string()))?
    {
        match entry.snapshot {
            Ok(snapshot) => snapshots.push(snapshot),
            Err(StoreError::Unfinished(_)) => {}
            Err(error) => return Err(unreadable(&error)),
        }
    }
    Ok(snapshots)
}

/// A snapshot that cannot be read, and what to do about it.
pub fn unreadable(error: &StoreError) -> Error {
    let advice = match error {
        StoreError::Malformed { .. } => {
            "; move its folder out of the way to go on with the others, and see /etc/fstab.bak-* for fstab as it was"
        }
        _ => "",
    };
    Error::failed(format!("{error}{advice}"))
}
