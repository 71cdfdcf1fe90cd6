//! The JSON Schemas of plans, snapshots and facts say what the types say.
//!
//! `UPDATE_SCHEMAS=1 cargo test --all-features --test type_schemas` writes them anew.

#![cfg(feature = "docgen")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that may renew the files it looks at"
)]

use std::path::Path;

use schemars::{JsonSchema, schema_for};

/// Compares a schema with the file in `schemas/`, or writes that.
fn is_current<T: JsonSchema>(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("schemas")
        .join(format!("{name}.schema.json"));
    let mut schema = serde_json::to_string_pretty(&schema_for!(T)).unwrap();
    schema.push('\n');
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, schema).unwrap();
        return;
    }
    let shipped = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shipped == schema,
        "{} is out of date: UPDATE_SCHEMAS=1 cargo test --all-features --test type_schemas",
        path.display()
    );
}

#[test]
fn the_plan_s_schema_is_current() {
    is_current::<ssdtune::plan::Plan>("plan");
}

#[test]
fn the_snapshot_s_schema_is_current() {
    is_current::<ssdtune::snapshot::Snapshot>("snapshot");
}

#[test]
fn the_facts_schema_is_current() {
    is_current::<ssdtune::facts::Facts>("facts");
}

#[test]
fn the_saved_plan_s_schema_is_current() {
    is_current::<ssdtune::plan::Saved>("saved-plan");
}
