//! The README says what is so: its commands are taken, its state files are sound, its plan is made.
//!
//! `UPDATE=1 cargo test --test readme` writes the plan in it anew.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that may renew what it looks at"
)]

use std::fs;

use clap::Parser as _;
use ssdtune::cli::Cli;
use ssdtune::facts::Facts;
use ssdtune::knowledge::transport::TRANSPORTS;
use ssdtune::plan::{Only, plan};
use ssdtune::render::plan::{Detail, NOT_YET, page};
use ssdtune::state::{Source, WARNINGS, parse, schema};

fn readme() -> String {
    fs::read_to_string("README.md").unwrap()
}

/// The texts between fences of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn its_state_files_are_sound() {
    let blocks = blocks(&readme(), "toml");
    assert!(blocks.len() >= 5);
    for text in blocks {
        let sources = [Source {
            name: "README.md".into(),
            text,
        }];
        if let Err(found) = parse(&sources) {
            panic!("{}", ssdtune::render::problem::problems(&sources, &found));
        }
    }
}

/// Every `ssdtune …` that the README shows, in a block or in a line.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for block in blocks(text, "sh") {
        commands.extend(block.lines().map(|line| {
            let line = line.split(" #").next().unwrap();
            line.replace("cargo run --release --", "ssdtune")
                .trim()
                .to_owned()
        }));
    }
    let lines = text.lines().filter(|line| !line.starts_with("```"));
    for line in lines {
        commands.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
    }
    commands
        .into_iter()
        .map(|command| command.trim_start_matches("sudo ").to_owned())
        .filter(|command| command.starts_with("ssdtune "))
        .map(|command| command.split(" > ").next().unwrap().to_owned())
        .collect()
}

#[test]
fn its_commands_are_taken() {
    let commands = commands(&readme());
    assert!(commands.len() > 20, "{commands:?}");
    for command in &commands {
        if let Err(error) = Cli::try_parse_from(command.split_whitespace()) {
            panic!("{command}: {error}");
        }
    }
    for verb in [
        "plan", "apply", "rollback", "status", "history", "check", "devices", "explain", "facts",
    ] {
        let shown = commands
            .iter()
            .any(|command| command.split(' ').nth(1) == Some(verb));
        assert!(shown, "no example of {verb}");
    }
}

#[test]
fn the_plan_in_it_is_the_plan_of_that_machine() {
    let text = readme();
    let start = text.find("<!-- plan of ").unwrap();
    let (marker, rest) = text[start..].split_once(" -->\n```text\n").unwrap();
    let (example, machine) = marker["<!-- plan of ".len()..].split_once(" on ").unwrap();
    let (shown, after) = rest.split_once("```\n").unwrap();

    let sources = [Source {
        name: example.into(),
        text: fs::read_to_string(example).unwrap(),
    }];
    let facts = Facts::read(&fs::read(machine).unwrap()).unwrap();
    let plan = plan(&parse(&sources).unwrap(), &facts, Only::Both);
    let made = anstream::adapter::strip_str(&page(&plan, Detail::default(), NOT_YET)).to_string();
    if std::env::var_os("UPDATE").is_some() {
        let anew = format!(
            "{}{marker} -->\n```text\n{made}```\n{after}",
            &text[..start]
        );
        fs::write("README.md", anew).unwrap();
        return;
    }
    assert!(
        shown == made,
        "the README shows\n{shown}\nand it is\n{made}"
    );
}

/// The first cells of table rows, without their backticks.
fn cells(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("| "))
        .filter_map(|line| line.split(" |").next())
        .map(|cell| cell.trim_matches('`'))
        .collect()
}

#[test]
fn its_tables_are_complete() {
    let text = readme();
    let cells = cells(&text);
    for (name, _) in WARNINGS {
        assert!(cells.contains(name), "no row on the warning {name}");
    }
    for name in schema()["definitions"]["device"]["properties"]["match"]["properties"]
        .as_object()
        .unwrap()
        .keys()
    {
        assert!(cells.contains(&name.as_str()), "no row on match.{name}");
    }
    for transport in TRANSPORTS {
        assert!(
            text.contains(&format!("`{}`", transport.name)),
            "{}",
            transport.name
        );
    }
    for line in ssdtune::cli::EXIT_STATUSES.lines().skip(1) {
        let status = line.split_whitespace().next().unwrap();
        assert!(cells.contains(&status), "no row on status {status}");
    }
}

#[test]
fn what_it_links_to_is_there() {
    for part in readme().split("](").skip(1) {
        let link = part.split(')').next().unwrap();
        if !link.starts_with("http") {
            assert!(fs::exists(link).unwrap(), "{link}");
        }
    }
}
