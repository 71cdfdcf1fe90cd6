//! The examples that are shipped: each is right, says what it is, and plans on a machine that fits.
//!
//! `tests/examples/NAME.txt` is the plan of `examples/NAME.toml` (or of the folder of that name).
//! `UPDATE=1 cargo test --test examples` writes them anew: read the diff before it is committed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that may renew the files it looks at"
)]

use std::fs;
use std::path::{Path, PathBuf};

use ssdtune::facts::Facts;
use ssdtune::plan::{Only, Plan, plan};
use ssdtune::render::plan::{Detail, NOT_YET, page};
use ssdtune::state::{Source, parse};

/// An example, and the machine that it is planned on.
const CASES: [(&str, &str); 7] = [
    ("classic", "tests/machines/desktop.json"),
    ("laptop-sata-ssd", "tests/machines/desktop.json"),
    ("workstation-nvme-luks-btrfs", "tests/machines/laptop.json"),
    ("server-mixed", "tests/examples/server-mixed.json"),
    ("database-xfs-lvm", "tests/examples/database-xfs-lvm.json"),
    ("raspberry-pi-sd", "tests/machines/raspberry-pi.json"),
    ("fleet", "tests/machines/desktop.json"),
];

/// The files of an example, as ssdtune is given them.
fn files(name: &str) -> Vec<PathBuf> {
    let file = PathBuf::from(format!("examples/{name}.toml"));
    if file.exists() {
        return vec![file];
    }
    let mut files: Vec<PathBuf> = fs::read_dir(format!("examples/{name}"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn sources(files: &[PathBuf]) -> Vec<Source> {
    let source = |path: &PathBuf| Source {
        name: path.to_str().unwrap().to_owned(),
        text: fs::read_to_string(path).unwrap(),
    };
    files.iter().map(source).collect()
}

fn planned(name: &str, machine: &str) -> Plan {
    let sources = sources(&files(name));
    let state = parse(&sources).unwrap_or_else(|found| {
        panic!("{}", ssdtune::render::problem::problems(&sources, &found));
    });
    let facts = Facts::read(&fs::read(machine).unwrap()).unwrap();
    plan(&state, &facts, Only::Both)
}

#[test]
fn each_example_plans_as_written_down() {
    let mut wrong = Vec::new();
    for (name, machine) in CASES {
        let plan = planned(name, machine);
        assert_eq!(plan.errors, [], "{name}");
        assert!(!plan.is_empty(), "{name} changes nothing on {machine}");
        let shown =
            anstream::adapter::strip_str(&page(&plan, Detail::default(), NOT_YET)).to_string();
        let golden = format!("tests/examples/{name}.txt");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(golden, shown).unwrap();
        } else if fs::read_to_string(&golden).unwrap_or_default() != shown {
            wrong.push(format!("{golden} differs:\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_rule_of_each_example_is_at_work_on_some_machine() {
    // A rule by kind that takes nothing here is a note; that would make a poor example.
    for (name, machine) in CASES {
        if name == "fleet" {
            continue;
        }
        let idle: Vec<_> = planned(name, machine)
            .notes
            .into_iter()
            .filter(|note| note.text.contains("matches this rule"))
            .collect();
        assert_eq!(idle, [], "{name} on {machine}");
    }
}

/// All state files under a folder.
fn all(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all(&path, into);
        } else {
            into.push(path);
        }
    }
}

#[test]
fn none_is_forgotten_and_each_names_the_schema_for_its_reader() {
    let mut found = Vec::new();
    all(Path::new("examples"), &mut found);
    let mut known: Vec<PathBuf> = CASES.iter().flat_map(|(name, _)| files(name)).collect();
    found.sort();
    known.sort();
    assert_eq!(found, known);
    for path in found {
        let text = fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        let schema = lines.next().unwrap().strip_prefix("#:schema ").unwrap();
        assert!(
            path.parent().unwrap().join(schema).is_file(),
            "{}: {schema}",
            path.display()
        );
        assert_eq!(
            lines.next(),
            Some("#"),
            "{}: says what it is",
            path.display()
        );
        assert!(!text.contains("allow"), "{} silences", path.display());
        for (number, line) in text.lines().enumerate() {
            let place = format!("{}:{}", path.display(), number + 1);
            assert!(line.chars().count() <= 100, "{place} is too long");
            assert_eq!(line.trim_end(), line, "{place} ends in blanks");
        }
    }
}
