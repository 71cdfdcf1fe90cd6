//! Plans, case by case: each folder of `tests/plan` is one, and adding one needs no Rust.
//!
//! See `tests/README.md` for the files of a case. `UPDATE=1 cargo test --test plan` writes what
//! came out; read it before it is committed.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and renews its own files"
)]

#[path = "support/applied.rs"]
mod applied;
#[path = "support/plan_case.rs"]
mod plan_case;

use std::fs;
use std::path::Path;

use plan_case::Case;
use ssdtune::render::problem::problems;

/// Compares with a file, or renews it; none: there must be no such file.
fn golden(path: &Path, found: Option<&[u8]>, wrong: &mut Vec<String>) {
    let known = fs::read(path).ok();
    if known.as_deref() == found {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        match found {
            Some(bytes) => fs::write(path, bytes).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        return;
    }
    let text = |bytes: Option<&[u8]>| {
        bytes.map_or("(no such file)\n".to_owned(), |bytes| {
            String::from_utf8_lossy(bytes).replace('\r', "\\r")
        })
    };
    wrong.push(format!(
        "{}:\n--- expected\n{}--- found\n{}",
        path.display(),
        text(known.as_deref()),
        text(found)
    ));
}

#[test]
fn every_case_gives_its_plan() {
    let mut wrong = Vec::new();
    for case in Case::all() {
        let state = case.state();
        let (page, after, rules) = match &state {
            Ok(state) => {
                let plan = case.plan(state);
                let file = |path: &str| {
                    let edit = plan
                        .files
                        .iter()
                        .find(|edit| edit.path.to_string() == path)?;
                    Some(edit.after.as_ref()?.bytes.as_bytes().to_vec())
                };
                let page = case.page(&plan);
                (page, file("/etc/fstab"), file(ssdtune::plan::rules::PATH))
            }
            Err((sources, found)) => (problems(sources, found), None, None),
        };
        golden(&case.path("plan.txt"), Some(page.as_bytes()), &mut wrong);
        golden(&case.path("fstab.after"), after.as_deref(), &mut wrong);
        // The rules have tests of their own; a case that is about them has the file.
        if case.path("rules.txt").exists() {
            golden(&case.path("rules.txt"), rules.as_deref(), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_second_plan_is_empty() {
    for case in Case::all() {
        let Ok(state) = case.state() else { continue };
        let plan = case.plan(&state);
        if !plan.errors.is_empty() {
            continue;
        }
        let after = applied::applied(&case.facts, &plan);
        let again = case.plan_of(&state, &after);
        assert!(
            again.is_empty(),
            "{}: after apply, a second plan has\n{}",
            case.name,
            case.page(&again)
        );
    }
}

/// Every state of the cases on every machine: whatever may be applied leaves nothing to do.
#[test]
fn a_second_plan_is_empty_on_other_machines() {
    let machines = plan_case::machines();
    let cases = Case::all();
    let mut applied_plans = 0;
    for case in &cases {
        let Ok(state) = case.state() else { continue };
        for (name, facts) in &machines {
            let plan = case.plan_of(&state, facts);
            let _ = case.page(&plan);
            if !plan.errors.is_empty() || plan.is_empty() {
                continue;
            }
            applied_plans += 1;
            let again = case.plan_of(&state, &applied::applied(facts, &plan));
            assert!(
                again.is_empty(),
                "{} on {name}: after apply of\n{}a second plan has\n{}",
                case.name,
                case.page(&plan),
                case.page(&again)
            );
        }
    }
    assert!(applied_plans > 300, "only {applied_plans} plans");
}

#[test]
fn no_line_is_wider_than_a_page() {
    for case in Case::all() {
        let Ok(state) = case.state() else { continue };
        let page = case.page(&case.plan(&state));
        // Text of files is shown as it is.
        for line in page.lines().filter(|line| !line.starts_with("    ")) {
            let words = line.split_whitespace().map(|word| word.chars().count());
            let unbreakable = words.max().unwrap_or(0) > 60;
            assert!(
                line.chars().count() <= 80 || unbreakable,
                "{}: {line}",
                case.name
            );
        }
        assert!(!page.contains('\u{1b}'), "{}", case.name);
    }
}

/// Every case of the table in `tests/README.md` names tests that are there.
#[test]
fn the_table_of_cases_is_true() {
    let table = fs::read_to_string("tests/README.md").unwrap();
    let mut folders: Vec<String> = Vec::new();
    for parent in ["tests/plan", "tests/fstab"] {
        for entry in fs::read_dir(parent).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            folders.push(format!("{parent}/{name}"));
        }
    }
    let mut named = 0;
    for path in table.split('`').skip(1).step_by(2) {
        if !path.starts_with("tests/") && !path.starts_with("src/") {
            continue;
        }
        named += 1;
        let there = match path.strip_suffix('*') {
            Some(front) => folders.iter().any(|folder| folder.starts_with(front)),
            None => Path::new(path).exists(),
        };
        assert!(there, "tests/README.md names `{path}`, which is not there");
    }
    assert!(named > 60, "only {named}");
    for folder in folders {
        let name = folder.rsplit('/').next().unwrap();
        let id = name.get(..3).unwrap_or(name);
        let is_case = id.starts_with(|c: char| "FWOMTSU".contains(c))
            && id[1..].bytes().all(|byte| byte.is_ascii_digit());
        let listed = table.contains(&format!("| {id} |")) || folder.starts_with("tests/fstab");
        assert!(
            !is_case || listed,
            "{folder} is a case that the table has not"
        );
    }
}
