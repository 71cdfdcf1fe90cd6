//! The schemas that are shipped are those that the code makes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::fs;
use std::path::Path;

use serde_json::Value;
use ssdtune::state::{Source, parse, schema};

#[test]
fn the_state_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/state.schema.json");
    let made = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, made).unwrap();
        return;
    }
    assert!(
        fs::read_to_string(&path).is_ok_and(|shipped| shipped == made),
        "schemas/state.schema.json is not what the code makes: \
         run `UPDATE_SCHEMAS=1 cargo test --test schemas` and commit it"
    );
}

/// A value that a schema describes, as TOML.
fn example(schema: &Value, all: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return example(all.pointer(&reference[1..]).unwrap(), all);
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.to_string();
    }
    if let Some(first) = schema["anyOf"].get(0) {
        return example(first, all);
    }
    match schema["type"].as_str().unwrap() {
        "boolean" => "true".into(),
        "integer" => schema["maximum"].to_string(),
        "object" => {
            let (name, inner) = schema["properties"]
                .as_object()
                .unwrap()
                .iter()
                .next()
                .unwrap();
            format!("{{ {name} = {} }}", example(inner, all))
        }
        "string" => "\"/x\"".into(),
        other => panic!("no example of {other}"),
    }
}

fn check(text: &str) {
    let sources = [Source {
        name: "state.toml".into(),
        text: text.into(),
    }];
    if let Err(problems) = parse(&sources) {
        panic!(
            "{}",
            ssdtune::render::problem::problems(&sources, &problems)
        );
    }
}

#[test]
fn what_the_schema_offers_is_accepted() {
    let all = schema();
    let device = &all["definitions"]["device"]["properties"];
    for (name, property) in device.as_object().unwrap() {
        if matches!(name.as_str(), "match" | "ignore") {
            continue;
        }
        let base = match name.as_str() {
            "nomerges" => "",
            _ => "nomerges = 0",
        };
        // The value that may lose data is not among the examples.
        let value = example(property, &all);
        check(&format!(
            "[[device]]\nmatch.name = \"*\"\n{base}\n{name} = {value}\n"
        ));
        for (inner, property) in property["properties"].as_object().into_iter().flatten() {
            if name == "when" {
                continue;
            }
            let value = example(property, &all);
            check(&format!(
                "[[device]]\nmatch.name = \"*\"\n{name}.{inner} = {value}\n"
            ));
        }
    }
    for (name, property) in device["match"]["properties"].as_object().unwrap() {
        let value = match name.as_str() {
            "name" | "id" => "\"sda\"".to_owned(),
            _ => example(property, &all),
        };
        check(&format!(
            "[[device]]\nmatch.{name} = {value}\nnomerges = 0\n"
        ));
    }
    for word in device["ignore"]["anyOf"][1]["items"]["anyOf"][0]["enum"]
        .as_array()
        .unwrap()
    {
        check(&format!(
            "[[device]]\nmatch.name = \"*\"\nignore = [{word}]\n"
        ));
    }
}
