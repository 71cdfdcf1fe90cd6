//! Our reading of fstab against libmount's, through findmnt(8), on files made up at random.
//!
//! An entry of ours must be one of findmnt's, with the same fields; what findmnt ignores must be
//! bad for us too. The reverse does not hold: lines that only glibc reads differently are bad.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may stop, and starts the program that it compares with"
)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use ssdtune::format::fstab::{Entry, Fstab, Kind, Reason, canonical};
use ssdtune::format::octal;

/// What findmnt says about a file: its rows, and the lines that it ignored.
struct Findmnt {
    rows: Vec<[Vec<u8>; 6]>,
    ignored: Vec<u32>,
}

fn findmnt(file: &Path) -> Option<Findmnt> {
    let output = Command::new("findmnt")
        .args([
            "--raw",
            "--noheadings",
            "-o",
            "SOURCE,TARGET,FSTYPE,OPTIONS,FREQ,PASSNO",
        ])
        .args([OsStr::new("--tab-file"), file.as_os_str()])
        .env("LC_ALL", "C")
        .output()
        .ok()?;
    let rows = output
        .stdout
        .split(|&byte| byte == b'\n')
        .filter(|row| !row.is_empty())
        .map(|row| {
            let mut cells = row.split(|&byte| byte == b' ').map(decode);
            std::array::from_fn(|_| cells.next().expect("a row of findmnt has six cells"))
        });
    let stderr = String::from_utf8_lossy(&output.stderr);
    let ignored = stderr.lines().map(|line| {
        let number = line
            .split_once("parse error at line ")
            .and_then(|(_, rest)| rest.split_once(' '));
        number
            .and_then(|(number, _)| number.parse().ok())
            .unwrap_or_else(|| panic!("findmnt: {line}"))
    });
    Some(Findmnt {
        rows: rows.collect(),
        ignored: ignored.collect(),
    })
}

/// Undoes the `\xNN` of findmnt's raw output.
fn decode(cell: &[u8]) -> Vec<u8> {
    let mut parts = cell.split(|&byte| byte == b'\\');
    let mut out = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let hex = part
            .strip_prefix(b"x")
            .and_then(|rest| std::str::from_utf8(rest.get(..2)?).ok());
        out.push(u8::from_str_radix(hex.expect("findmnt escapes as \\xNN"), 16).unwrap());
        out.extend_from_slice(&part[3..]);
    }
    out
}

fn agree(entry: &Entry<'_>, row: &[Vec<u8>; 6]) -> bool {
    let number = |text: Option<&[u8]>| {
        text.map_or(0, |text| {
            std::str::from_utf8(text).unwrap().parse::<i32>().unwrap()
        })
    };
    *entry.source() == row[0]
        && entry.target() == canonical(&row[1])
        && *entry.fstype() == row[2]
        && *octal::decode(entry.options()) == row[3]
        && number(entry.freq()).to_string().as_bytes() == row[4]
        && number(entry.passno()).to_string().as_bytes() == row[5]
}

/// Compares one file; findmnt is not there where this is false.
fn compare(bytes: &[u8], file: &Path) -> bool {
    fs::write(file, bytes).unwrap();
    let Some(theirs) = findmnt(file) else {
        return false;
    };
    let ours = Fstab::parse(bytes);
    let mut rows = theirs.rows.iter();
    for line in ours.lines() {
        let text = bytes[line.start..line.end].escape_ascii();
        if theirs.ignored.contains(&line.number) {
            assert!(
                matches!(line.kind, Kind::Bad { .. }),
                "findmnt ignores {text}: {line:?}"
            );
        } else if matches!(
            line.kind,
            Kind::Bad {
                reason: Reason::Nul,
                ..
            }
        ) {
            // Only where no line end follows does libmount read what stands before the NUL.
            assert!(!bytes.ends_with(b"\n"), "findmnt does not ignore {text}");
            rows.next();
        } else if !matches!(line.kind, Kind::Blank | Kind::Comment { .. }) {
            let row = rows
                .next()
                .unwrap_or_else(|| panic!("findmnt has nothing for {text}"));
            if let Some(entry) = ours.entry(line) {
                let shown = OsStr::from_bytes(&row.join(&b" "[..])).to_owned();
                assert!(agree(&entry, row), "{text} is {shown:?} to findmnt");
            }
        }
    }
    assert_eq!(rows.next(), None, "findmnt reads more than there is");
    true
}

fn line() -> impl Strategy<Value = String> {
    let text = |choices: &'static [&'static str]| proptest::sample::select(choices);
    let source = text(&[
        "/dev/sda1",
        "UUID=a-b",
        "LABEL=\"x\\040y\"",
        "tmpfs",
        "//s/p\\040q",
        "a#b",
        "LABEL=\"x",
    ]);
    let target = text(&[
        "/", "/a", "/a/", "//b", "/c\\040d", "/e\\043", "none", "swap", "f", "/g/../h", "/é\\134",
    ]);
    let fstype = text(&[
        "ext4",
        "swap",
        "udf,iso9660",
        "none",
        "a\\011b",
        "ext4\u{c}",
    ]);
    let options = text(&[
        "rw",
        "rw,",
        ",",
        "a=\"b,c\"",
        "rw,noatime",
        "a\"b",
        "x\\054y",
        "#",
        "rw\r",
        "\\\\",
    ]);
    let number = text(&[
        "0", "1", "2", "-1", "+3", "x", "#", "0,ssd", "1.5", "010", "# remark",
    ]);
    let blank = || text(&[" ", "\t", "  ", " \t "]);
    let fields = (source, target, fstype, options, number.clone(), number);
    let blanks = (blank(), blank(), blank(), blank(), blank(), blank());
    let shaped = (
        fields,
        blanks,
        1_usize..8,
        text(&["", "", " ", "\r", " \r"]),
    )
        .prop_map(|((a, b, c, d, e, f), (i, j, k, l, m, n), count, end)| {
            let all = [a, i, b, j, c, k, d, l, e, m, f, n, "# more"];
            all[..(2 * count - 1).min(all.len())].concat() + end
        });
    prop_oneof![
        8 => shaped,
        1 => "[ \t]{0,3}(#.{0,20})?\r?",
        1 => "[ \t/a#,0\"\\\\1\r\u{b}]{0,24}",
    ]
}

#[test]
fn findmnt_reads_what_we_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fstab");
    if !compare(b"/dev/a / ext4 rw 0 1\n", &file) {
        println!("skipped: findmnt is not installed");
        return;
    }
    let config = ProptestConfig {
        cases: 50,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let lines = proptest::collection::vec(
        (line(), prop_oneof![9 => Just("\n"), 1 => Just("\r\n")]),
        1..60,
    );
    proptest!(config, |(lines in lines, unterminated in line())| {
        // The first entry keeps findmnt from taking the file for a mountinfo (two numbers).
        let mut text = "/dev/first /first ext4 rw 0 0\n".to_owned();
        for (line, end) in lines {
            text += &line;
            text += end;
        }
        text += &unterminated;
        compare(text.as_bytes(), &file);
    });
}
