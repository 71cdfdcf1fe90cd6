//! What a person at a terminal sees: each file of `tests/cmd` is a transcript.
//!
//! A command follows `$`, then comes what it writes to stdout, then each line of stderr behind
//! `2> `, then the exit status behind `? ` where it is not 0. All run in this folder, without a
//! terminal. `UPDATE=1 cargo test --test cmd` writes the transcripts anew: read the diff before it
//! is committed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test starts what it tests"
)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ssdtune::facts::Facts;
use ssdtune::plan::Plan;

/// The program, with nothing of the caller's that could change what it says.
fn ssdtune(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssdtune"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    // Root follows no state file of another user: whoever owns this folder counts as who asks.
    let owner = fs::metadata("Cargo.toml").unwrap().uid();
    command.env("SUDO_UID", owner.to_string());
    command
}

fn output(arguments: &[&str]) -> Output {
    ssdtune(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// What a command writes, as a transcript has it.
fn transcript(line: &str) -> String {
    let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
    let output = output(&arguments);
    let mut shown = text(&output.stdout);
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push_str("(no newline)\n");
    }
    for line in text(&output.stderr).lines() {
        shown.push_str(format!("2> {line}").trim_end());
        shown.push('\n');
    }
    match output.status.code() {
        Some(0) => {}
        code => shown.push_str(
            &format!("? {code:?}\n")
                .replace("Some(", "")
                .replace(')', ""),
        ),
    }
    shown
}

/// The file anew: its commands, and the remarks right above them.
fn again(file: &str) -> String {
    let mut anew = String::new();
    let mut remarks = Vec::new();
    for line in file.lines() {
        if line.starts_with('#') {
            remarks.push(line);
            continue;
        }
        if let Some(command) = line.strip_prefix("$ ") {
            assert!(command.starts_with("ssdtune"), "{command}");
            if !anew.is_empty() {
                anew.push('\n');
            }
            for remark in &remarks {
                anew.push_str(&format!("{remark}\n"));
            }
            anew.push_str(&format!("{line}\n{}", transcript(command)));
        }
        remarks.clear();
    }
    anew
}

#[test]
fn each_transcript_is_what_happens() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir("tests/cmd").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        count += 1;
        let before = fs::read_to_string(&path).unwrap();
        let anew = again(&before);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, anew).unwrap();
            continue;
        }
        let differs = before
            .lines()
            .zip(anew.lines())
            .position(|(was, is)| was != is)
            .or_else(|| (before != anew).then(|| before.lines().count().min(anew.lines().count())));
        if let Some(line) = differs {
            wrong.push(format!(
                "{}:{}: now {:?}",
                path.display(),
                line + 1,
                anew.lines().nth(line)
            ));
        }
    }
    assert!(count >= 5, "the transcripts are gone");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_help_has_examples_and_fits_80_columns() {
    for verb in [
        "",
        "plan",
        "apply",
        "rollback",
        "status",
        "history",
        "check",
        "devices",
        "explain",
        "facts",
        "history show",
        "history diff",
        "history prune",
    ] {
        let mut arguments: Vec<&str> = verb.split_whitespace().collect();
        arguments.push("--help");
        let help = text(&output(&arguments).stdout);
        assert!(help.contains("ssdtune"), "{verb}");
        assert!(help.contains("Example"), "{verb} --help has no example");
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{verb} --help: {line}");
        }
    }
}

#[test]
fn plans_in_json_read_back_and_hold_no_secrets() {
    for machine in ["desktop", "laptop", "server-raid", "cloud-vm"] {
        let path = format!("tests/machines/{machine}.json");
        let output = output(&["plan", "--json", "--facts", &path, "examples/classic.toml"]);
        assert!(output.status.success());
        assert!(output.stderr.is_empty());
        let plan: Plan = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!plan.is_empty());
    }
}

#[test]
fn facts_lead_to_the_plan_of_the_machine_that_they_are_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("facts.json");
    let file = file.to_str().unwrap();
    // Other tests, and other people, change the machine meanwhile.
    for attempt in 0..5 {
        let facts = output(&["facts"]);
        assert!(facts.status.success(), "{}", text(&facts.stderr));
        Facts::read(&facts.stdout).unwrap();
        fs::write(file, &facts.stdout).unwrap();
        let here = output(&["plan", "-v", "--diff", "examples/classic.toml"]);
        let there = output(&[
            "plan",
            "-v",
            "--diff",
            "--facts",
            file,
            "examples/classic.toml",
        ]);
        if here.stdout == there.stdout && here.status == there.status {
            return;
        }
        eprintln!(
            "attempt {attempt}: {}\n{}",
            text(&here.stdout),
            text(&there.stdout)
        );
    }
    panic!("the two plans differ");
}

#[test]
fn this_machine_s_devices_are_shown() {
    let shown = output(&["devices"]);
    assert!(shown.status.success());
    let json = output(&["devices", "--json"]);
    let devices: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let shown = text(&shown.stdout);
    for line in shown.lines() {
        assert!(
            line.chars().count() <= 80 || line.starts_with("  "),
            "{line}"
        );
    }
    // Whatever has a size is shown by name.
    for (name, device) in devices.as_object().unwrap() {
        // Loop devices come and go between the two runs, where other tests are at work.
        if device["sectors"].as_u64().unwrap() > 0 && !name.starts_with("loop") {
            assert!(shown.contains(name.as_str()), "{name} is missing");
        }
    }
}

#[test]
fn a_pipe_that_is_closed_early_is_no_error() {
    for arguments in [
        &["explain", "--list"][..],
        &[
            "plan",
            "--facts",
            "tests/machines/server-raid.json",
            "examples/classic.toml",
        ],
        &["facts"],
        &["--help"],
    ] {
        let mut child = ssdtune(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn colours_are_for_terminals_or_on_demand() {
    let base = [
        "plan",
        "--facts",
        "tests/machines/desktop.json",
        "examples/classic.toml",
    ];
    let plain = text(&output(&base).stdout);
    assert!(!plain.contains('\u{1b}'));
    let with = |when| text(&output(&[&base[..], &[when]].concat()).stdout);
    assert_eq!(with("--color=never"), plain);
    let painted = with("--color=always");
    assert!(painted.contains('\u{1b}'));
    assert_eq!(anstream::adapter::strip_str(&painted).to_string(), plain);
}

#[test]
fn without_a_state_file_the_default_folder_is_named() {
    if Path::new("/etc/ssdtune").exists() {
        eprintln!("skipped: this machine has /etc/ssdtune");
        return;
    }
    let output = output(&["plan"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`/etc/ssdtune`"));
    assert!(text(&output.stderr).contains("name a file"));
}

/// A state file in a folder of its own.
fn state(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("state.toml");
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    path
}

#[test]
fn hostile_state_and_facts_files_are_answered_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = state(folder.path(), b"version = 1\n# caf\xe9\n");
    let path = path.to_str().unwrap();
    let answer = output(&["check", path]);
    assert_eq!(answer.status.code(), Some(2));
    let line = format!("error: `{path}` line 2: not UTF-8, as TOML must be\n");
    assert_eq!(text(&answer.stderr), line);

    let named = output(&["check", folder.path().to_str().unwrap()]);
    assert_eq!(text(&named.stderr), line, "a folder's files are read alike");

    for (bytes, word) in [
        (&b"\xff\xfe"[..], "facts"),
        (b"{", "EOF"),
        (b"[]", "facts"),
        (b"{\"version\": 99}", "99"),
        (b"", "EOF"),
    ] {
        fs::write(path, bytes).unwrap();
        let answer = output(&["plan", "--facts", path, "examples/classic.toml"]);
        let said = text(&answer.stderr);
        assert_eq!(answer.status.code(), Some(2), "{bytes:?}");
        assert!(answer.stdout.is_empty());
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(
            said.starts_with("error: `") || said.contains(word),
            "{said}"
        );
    }

    let deep = "[".repeat(1 << 20);
    fs::write(path, &deep).unwrap();
    for arguments in [
        &["check", path][..],
        &["plan", "--facts", path, "examples/classic.toml"],
    ] {
        let answer = output(arguments);
        assert_eq!(answer.status.code(), Some(2));
        assert!(answer.stderr.len() < 2000);
    }
}

#[test]
fn what_may_not_be_read_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = state(folder.path(), b"version = 1\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = path.to_str().unwrap();
    let mut command = ssdtune(&["check", path]);
    if is_root() {
        command.uid(65534);
    }
    match command.output() {
        Ok(answer) => {
            assert_eq!(answer.status.code(), Some(2));
            assert_eq!(
                text(&answer.stderr),
                format!("error: state file `{path}`: it may not be read\n")
            );
        }
        Err(error) => eprintln!("skipped: nobody may not run the program here: {error}"),
    }
}

#[test]
fn root_carries_out_no_state_that_others_could_have_written() {
    if !is_root() {
        eprintln!("skipped: only root is told what to do (run as root)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = state(folder.path(), b"version = 1\n");
    let shown = path.to_str().unwrap();
    let run = |verb: &str, sudo: Option<&str>| {
        let mut command = ssdtune(&[verb, shown]);
        command
            .env_remove("SUDO_UID")
            .envs(sudo.map(|uid| ("SUDO_UID", uid)));
        let output = command.output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
    let why = format!(
        "`{shown}` belongs to user 12345, who could tell root what to do: `chown root {shown}`"
    );
    assert_eq!(run("apply", None), (Some(2), format!("error: {why}\n")));
    let (status, said) = run("plan", None);
    assert_eq!(status, Some(0));
    assert!(
        said.contains(&format!(
            "warning: `apply` will refuse this state file: {why}\n"
        )),
        "{said}"
    );
    assert_eq!(run("check", None), (Some(0), String::new()));
    let (_, said) = run("plan", Some("12345"));
    assert!(
        !said.contains("will refuse"),
        "who runs sudo is trusted: {said}"
    );

    std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let (status, said) = run("apply", None);
    assert_eq!(status, Some(2));
    assert!(said.contains(&format!("chmod go-w {shown}")), "{said}");
}

#[test]
fn who_is_not_root_is_told_so_before_anything_else() {
    for arguments in [
        &["apply", "examples/classic.toml"][..],
        &["rollback"],
        &["rollback", "3"],
        &["history", "prune"],
    ] {
        let mut command = ssdtune(arguments);
        if is_root() {
            command.uid(65534);
        }
        let Ok(answer) = command.output() else {
            eprintln!("skipped: nobody may not run the program here");
            return;
        };
        let said = text(&answer.stderr);
        assert_eq!(answer.status.code(), Some(1), "{arguments:?}");
        assert!(answer.stdout.is_empty());
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("root"), "{said}");
    }
}
