//! Applies and rollbacks without the command line, on any system.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use ssdtune::apply::{self, Failure, Report};
use ssdtune::facts::{Facts, Scope};
use ssdtune::plan::{self, Only, Plan, record};
use ssdtune::rollback::{self, To, choose, touched};
use ssdtune::snapshot::{Kind, Snapshot, Store};
use ssdtune::state::{DesiredState, Source, parse};
use ssdtune::system::System;

/// Reads a state.
pub fn state(text: &str) -> DesiredState {
    let sources = [Source {
        name: "state.toml".to_owned(),
        text: text.to_owned(),
    }];
    match parse(&sources) {
        Ok(state) => state,
        Err(found) => panic!("{}", ssdtune::render::problem::problems(&sources, &found)),
    }
}

/// The plan for a state.
pub fn plan(system: &mut dyn System, state: &DesiredState) -> Plan {
    let scope = Scope::of(state, &record::recorded);
    plan::plan(state, &system.facts(&scope), Only::Both)
}

fn snapshot(store: &Store, kind: Kind, plan: Plan) -> Snapshot {
    let at = "2026-11-30T12:03:07Z".parse().unwrap();
    Snapshot::new(store.next_number().unwrap(), at, kind, plan)
}

/// `ssdtune apply --yes`; the plan may not be empty.
pub fn apply(
    system: &mut dyn System,
    store: &Store,
    state: &DesiredState,
) -> Result<Report, Failure> {
    let plan = plan(system, state);
    assert!(!plan.is_empty(), "there is nothing to apply");
    let scope = Scope::of(state, &record::recorded);
    let replan = |facts: &Facts| plan::plan(state, facts, Only::Both);
    apply::run(
        system,
        store,
        &scope,
        snapshot(store, Kind::Apply, plan),
        &replan,
    )
}

/// `ssdtune rollback --yes`; none where nothing stands that it could take back, or nothing of it is
/// left to be put back.
pub fn rollback(
    system: &mut dyn System,
    store: &Store,
    to: &To,
) -> Option<Result<Report, Failure>> {
    let entries = store.list().unwrap();
    let snapshots: Vec<_> = entries
        .into_iter()
        .filter_map(|entry| entry.snapshot.ok())
        .collect();
    let (number, undone) = choose(&snapshots, to).ok()?;
    let touched = touched(&undone);
    let keys = |_: &[u8]| touched.clone();
    let state = DesiredState::default();
    let scope = Scope::of(&state, &keys);
    let replan = |facts: &Facts| rollback::plan(&undone, facts, false);
    let facts = system.facts(&scope);
    let plan = replan(&facts);
    assert!(plan.errors.is_empty(), "{:?}", plan.errors);
    if plan.is_empty() {
        let said = apply::close(system, store, &facts, number).unwrap();
        assert_eq!(said, Vec::<String>::new());
        return None;
    }
    let kind = Kind::Rollback { to: Some(number) };
    Some(apply::run(
        system,
        store,
        &scope,
        snapshot(store, kind, plan),
        &replan,
    ))
}
