//! State files and what is said about them: each folder of `tests/check` is a case.
//!
//! A case holds state files, read in name order, and `stderr`, the problems as they are shown; an
//! empty one says that the files are right. `UPDATE=1 cargo test --test check` writes `stderr` anew:
//! read the diff before it is committed.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::fs;
use std::path::Path;

use ssdtune::render::problem::problems;
use ssdtune::state::{Source, parse};

/// What `ssdtune check` would say.
fn said(sources: &[Source]) -> String {
    match parse(sources) {
        Ok(_) => String::new(),
        Err(found) => problems(sources, &found),
    }
}

fn one(text: impl Into<String>) -> Vec<Source> {
    vec![Source {
        name: "state.toml".into(),
        text: text.into(),
    }]
}

fn sources(case: &Path) -> Vec<Source> {
    let mut files: Vec<_> = fs::read_dir(case)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    let source = |path: &std::path::PathBuf| Source {
        name: path.file_name().unwrap().to_str().unwrap().into(),
        text: fs::read_to_string(path).unwrap(),
    };
    files.iter().map(source).collect()
}

#[test]
fn each_case_is_answered_word_for_word() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check");
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in fs::read_dir(root).unwrap() {
        let case = case.unwrap().path();
        let expected = case.join("stderr");
        let out = said(&sources(&case));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&expected, &out).unwrap();
        } else if fs::read_to_string(&expected).unwrap() != out {
            wrong.push(format!("{}:\n{out}", case.display()));
        }
        count += 1;
    }
    assert!(count > 10, "the cases are gone");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_makes_it_panic() {
    let deep = 100_000;
    for text in [
        "\0".to_owned(),
        "a = \0".to_owned(),
        "\u{feff}".to_owned(),
        "\r".to_owned(),
        "[".repeat(deep),
        "[[".repeat(deep),
        format!("a = {}", "[".repeat(deep)),
        format!("a = {}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("a = {}", "{a=".repeat(deep)),
        format!("{}a = 1", "a.".repeat(deep)),
        format!("[{}a]", "a.".repeat(deep)),
        format!("[[device]]\nmatch.name = \"{}\"", "x".repeat(1 << 20)),
        format!("[[device]]\nmatch.name = \"{}\"", "[".repeat(1 << 16)),
        format!("[[device]]\nmatch.name = \"{}\"", "*?".repeat(1 << 16)),
        format!("[[device]]\nread_ahead_kb = {}", "9".repeat(1 << 20)),
        format!("[[device]]\nscheduler = \"{}\"", "é".repeat(1 << 20)),
        format!("{} = 1", "k".repeat(1 << 20)),
        format!("[[mount]]\noptions = [\"{}\"]", ",".repeat(1 << 20)),
        format!("[[mount]]\nwithout = [\"{}\"]", "\\u0001".repeat(1 << 16)),
        format!("[[tmpfs]]\ntarget = \"{}\"", "/..".repeat(1 << 18)),
        format!(
            "[[tmpfs]]\ntarget = \"/tmp\"\nsize = \"{}\"",
            "1".repeat(1 << 20)
        ),
        "[[device]]\nmatch = 1\nwhen = []\nignore = {}\nbfq = 1\nscheduler = {}".to_owned(),
        "[[mount]]\nmatch = { target = [1, [], {}, 1.5, 1979-05-27, nan, inf] }".to_owned(),
        "version = [[[]]]\nmount = 1\ntmpfs = \"\"\ndevice = [1, {}]\ntrim = 1".to_owned(),
    ] {
        let sources = one(text);
        let out = said(&sources);
        assert!(out.len() < 1 << 16, "too much said: {} bytes", out.len());
        assert!(
            !out.chars().any(|c| c.is_control() && c != '\n'),
            "a control character reaches the terminal"
        );
    }
    assert_eq!(said(&[]), "");
    assert_eq!(said(&one("")), "");
}

/// So many that quadratic time would not end.
#[test]
fn many_rules_and_many_errors_are_answered() {
    let rule = "[[device]]\nmatch.model = \"WDC WD40*\"\nscheduler = [\"bfq\", \"none\"]\n\
                bfq.low_latency = true\nread_ahead_kb = 256\n";
    assert_eq!(said(&one(rule.repeat(10_000))), "");

    let in_one_line = format!("mount = [{}]", "1,".repeat(100_000));
    let in_many =
        "[[device]]\nmatch.name = \"a|b\"\nread_ahed_kb = -1\nnomerges = 9\n".repeat(33_000);
    let keys: String = (0..100_000)
        .map(|n| format!("read_ahead_{n} = 1\n"))
        .collect();
    for text in [in_one_line, in_many, keys] {
        let sources = one(text);
        let out = said(&sources);
        assert!(out.ends_with(" errors\n"), "{}", &out[out.len() - 40..]);
        assert!(out.matches("\nerror: ").count() > 90_000);
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_answered(text in "(?s).{0,200}") {
        said(&one(text));
    }

    #[test]
    fn anything_that_looks_like_a_state_file_is_answered(
        text in r#"((\[\[(mount|tmpfs|device)\]\]|match|when|bfq|none|scheduler|options|without|allow|ignore|size|target|read_ahead_kb|[a-z]{1,3}|\.|=|"|'|\[|\]|\{|\}|,|1|true| |\n|é|#)){0,60}"#
    ) {
        let sources = one(text);
        let out = said(&sources);
        proptest::prop_assert!(out.is_empty() || out.starts_with("error: "));
    }
}
