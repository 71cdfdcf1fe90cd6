//! The house: imports go downwards only, crates stay in their rooms, files stay readable.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// The floors, lowest first; rooms of one floor may use each other.
const FLOORS: [&[&str]; 10] = [
    &["format"],
    &["knowledge"],
    &["state"],
    &["facts"],
    &["plan", "verify"],
    &["system"],
    &["snapshot"],
    &["apply", "rollback"],
    &["render"],
    &["cli"],
];

/// Crates, and where they may be named. What is not listed may be named anywhere.
const CONFINED: [(&str, &[&str]); 9] = [
    ("toml", &["state"]),
    ("clap", &["cli"]),
    ("dialoguer", &["cli"]),
    // Merging three versions of a file is a diff of two pairs.
    ("similar", &["render/diff.rs", "rollback/merge.rs"]),
    // Pages are made with styles, and whoever prints them strips those.
    ("anstyle", &["render"]),
    ("anstream", &["render", "cli"]),
    ("chrono", &["system", "snapshot", "render"]),
    // System calls that read the machine, and those that change it; who asks for root asks who
    // it is, and a snapshot's extended attributes are compared with those of the file.
    ("nix", &["facts", "system", "cli"]),
    ("rustix", &["facts", "system", "snapshot"]),
];

/// Lines that a source file may have.
const LONGEST: usize = 350;

/// Files that are still longer, and by how much at most: to be split, never to grow.
const LONGER: [(&str, usize); 3] = [
    ("knowledge/options/btrfs.rs", 370),
    ("knowledge/options/mod.rs", 380),
    ("system/simulated/queue.rs", 400),
];

struct File {
    /// From `src/` on.
    path: String,
    text: String,
}

impl File {
    fn room(&self) -> &str {
        let first = self.path.split('/').next().unwrap();
        first.trim_end_matches(".rs")
    }

    /// Holds tests only.
    fn is_test(&self) -> bool {
        ["tests.rs", "on_linux.rs", "fake.rs"]
            .iter()
            .any(|name| self.path.ends_with(name))
    }

    /// What is compiled into the program: without comments, and without the tests at its end.
    fn code(&self) -> String {
        let end = self.text.find("#[cfg(test)]\nmod tests {");
        let text = &self.text[..end.unwrap_or(self.text.len())];
        text.lines()
            .map(|line| line.split_once("//").map_or(line, |(code, _)| code))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn walk(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

fn files() -> Vec<File> {
    let mut paths = Vec::new();
    walk(Path::new("src"), &mut paths);
    paths.sort();
    let files: Vec<File> = paths
        .iter()
        .map(|path| File {
            path: path.strip_prefix("src").unwrap().display().to_string(),
            text: fs::read_to_string(path).unwrap(),
        })
        .collect();
    assert!(files.len() > 50, "the house is gone");
    files
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

/// The identifier at the beginning of a text.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The rooms that a text names: `crate::plan::…`, and each of `crate::{facts, plan::…}`.
fn rooms(code: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let Some(list) = rest.strip_prefix('{') else {
            rooms.push(word(rest).to_owned());
            continue;
        };
        // Names at depth one of the braces.
        let mut depth = 1;
        let mut fresh = true;
        for (at, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => fresh = true,
                c if c.is_whitespace() => {}
                _ if fresh && depth == 1 => {
                    rooms.push(word(&list[at..]).to_owned());
                    fresh = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    rooms
}

#[test]
fn imports_go_downwards() {
    let mut wrong = Vec::new();
    for file in files() {
        if matches!(file.path.as_str(), "lib.rs" | "main.rs") {
            continue;
        }
        let own = floor(file.room());
        let own = own.unwrap_or_else(|| panic!("{} is on no floor", file.path));
        for room in rooms(&file.code()) {
            match floor(&room) {
                Some(other) if other <= own => {}
                Some(_) => wrong.push(format!("{} imports `{room}` from above", file.path)),
                None => wrong.push(format!("{}: `crate::{room}` is no room", file.path)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_search_for_imports_finds_them() {
    let found = rooms(
        "use crate::plan::{Plan, crate_::x};\nuse crate::{facts::{Facts, gather}, cli, render};\n\
         let x = crate::system::clock::now(); mycrate::snapshot",
    );
    assert_eq!(found, ["plan", "facts", "cli", "render", "system"]);
}

#[test]
fn crates_stay_in_their_rooms() {
    let mut wrong = Vec::new();
    for file in files().iter().filter(|file| !file.is_test()) {
        let code = file.code();
        for (name, allowed) in CONFINED {
            let path = format!("{name}::");
            let named = code.match_indices(&path).any(|(at, _)| {
                !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:\"`".contains(c))
            });
            let here = allowed
                .iter()
                .any(|room| file.path == *room || file.room() == *room);
            if named && !here {
                wrong.push(format!(
                    "{} names `{name}`, which belongs in {allowed:?}",
                    file.path
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_system_writes_starts_processes_and_reads_the_clock() {
    // Clippy watches over the calls; this watches over clippy.
    let list = fs::read_to_string(".clippy.toml").unwrap();
    for method in [
        "std::fs::write",
        "std::fs::rename",
        "std::fs::remove_file",
        "std::fs::remove_dir_all",
        "std::fs::create_dir",
        "std::fs::create_dir_all",
        "std::fs::copy",
        "std::fs::File::create",
        "fs_err::write",
        "fs_err::rename",
        "std::process::Command::new",
        "std::time::SystemTime::now",
        "chrono::Utc::now",
    ] {
        assert!(
            list.contains(&format!("\"{method}\"")),
            "{method} is not watched"
        );
    }
    for file in files() {
        let may = file.room() == "system" || file.is_test();
        let excused = file.code().contains("clippy::disallowed_methods");
        assert!(may || !excused, "{} switches the watch off", file.path);
    }
}

#[test]
fn files_stay_readable() {
    let mut wrong = Vec::new();
    for file in files().iter().filter(|file| !file.is_test()) {
        let lines = file.text.lines().count();
        let most = LONGER
            .iter()
            .find(|(path, _)| *path == file.path)
            .map_or(LONGEST, |(_, most)| *most);
        if lines > most {
            wrong.push(format!(
                "src/{}: {lines} lines of at most {most}",
                file.path
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let main = fs::read_to_string("src/main.rs").unwrap();
    assert!(main.lines().count() < 30, "main.rs parses, runs, exits");
}

#[test]
fn no_longer_file_is_forgotten_in_the_list() {
    for (path, _) in LONGER {
        let lines =
            fs::read_to_string(format!("src/{path}")).map_or(0, |text| text.lines().count());
        assert!(
            lines > LONGEST,
            "src/{path} has {lines} lines: take it off the list"
        );
    }
}
