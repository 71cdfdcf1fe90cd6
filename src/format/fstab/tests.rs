//! Properties; the cases are in tests/fstab.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::format::mount_options;

/// Files of which most lines are entries, with all that is odd in between.
fn files() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[ \t]{0,2}(/dev/[ab]|UUID=\"x\"|tmpfs)[ \t]{1,2}/[a-c/]{0,3}[ \t](ext4|swap)\
              ([ \t]{1,2}(rw|rw,|a=\"b,c\"|relatime,x)([ \t]0([ \t]1( # x)?)?)?)?[ \t]?",
        1 => "[ \t#/a,\"\\\\01\u{0}]{0,20}",
    ];
    let lines = prop::collection::vec((line, prop::sample::select(&["\n", "\r\n"][..])), 0..12);
    (lines, "(/dev/z /z ext4|# end|)").prop_map(|(lines, end)| {
        lines
            .into_iter()
            .flat_map(|(line, end)| [line, end.to_owned()])
            .collect::<String>()
            + &end
    })
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

proptest! {
    #[test]
    fn any_bytes_are_kept(bytes: Vec<u8>) {
        let fstab = Fstab::parse(&*bytes);
        prop_assert_eq!(fstab.bytes(), &*bytes);
        let joined: Vec<u8> =
            fstab.lines().iter().flat_map(|line| &bytes[line.start..line.next]).copied().collect();
        prop_assert_eq!(joined, bytes.clone());
        prop_assert_eq!(fstab.edited(&[]), Ok(bytes));
    }

    #[test]
    fn an_edit_changes_field_4_only(file in files()) {
        let fstab = Fstab::parse(&*file);
        let edits: Vec<Edit> = fstab
            .entries()
            .map(|(line, entry)| Edit::Options {
                line: line.number,
                list: mount_options::set(entry.options(), b"noatime", |item| item == b"relatime"),
            })
            .collect();
        let out = fstab.edited(&edits).unwrap();
        let new = Fstab::parse(&*out);
        prop_assert_eq!(new.lines().len(), fstab.lines().len());
        for (old, line) in fstab.lines().iter().zip(new.lines()) {
            let was = &file.as_bytes()[old.start..old.next];
            let is = &out[line.start..line.next];
            let (Some(a), Some(b)) = (fstab.entry(old), new.entry(line)) else {
                prop_assert_eq!(text(was), text(is));
                continue;
            };
            prop_assert_eq!((a.source(), a.target(), a.fstype()), (b.source(), b.target(), b.fstype()));
            prop_assert_eq!((a.freq(), a.passno()), (b.freq(), b.passno()));
            let at = b.fields().options.unwrap();
            let mut back = is.to_vec();
            match a.fields().options {
                Some(_) => drop(back.splice(at.start - line.start..at.end - line.start, a.options().iter().copied())),
                None => drop(back.drain(at.start - 1 - line.start..at.end - line.start)),
            }
            prop_assert_eq!(text(&back), text(was));
        }
    }

    #[test]
    fn what_is_appended_is_read_back(
        file in files(),
        source: Vec<u8>,
        target: Vec<u8>,
        fstype: Vec<u8>,
        options: Vec<u8>,
    ) {
        let fstab = Fstab::parse(&*file);
        let fields = NewEntry { source, target: [b"/", &*target].concat(), fstype, options, ..NewEntry::default() };
        if let Ok(out) = fstab.edited(&[Edit::Append { fields: fields.clone() }]) {
            prop_assert!(out.starts_with(file.as_bytes()) && out.ends_with(b"\n"));
            let new = Fstab::parse(out);
            let last = new.lines().last().unwrap();
            prop_assert_eq!(new.lines().len(), fstab.lines().len() + 1);
            let entry = new.entry(last).unwrap();
            prop_assert_eq!(entry.target(), canonical(&fields.target));
            prop_assert_eq!(&*entry.source(), &*fields.source);
            let removed = new.edited(&[Edit::Remove { line: last.number }]).unwrap();
            prop_assert!(removed.starts_with(file.as_bytes()));
        }
    }

    #[test]
    fn a_list_cannot_break_out(list in "[a,\"\\\\ \t\n\r#\u{0}é0]{0,12}") {
        let fstab = Fstab::parse(&b"/dev/a /a ext4 rw 0 0\n/dev/b /b ext4"[..]);
        let list = list.into_bytes();
        if let Ok(out) = fstab.edited(&[Edit::Options { line: 1, list: list.clone() }]) {
            let new = Fstab::parse(out);
            prop_assert_eq!(new.lines().len(), 2);
            let wanted = if list.is_empty() { b"defaults" } else { &*list };
            prop_assert_eq!(new.entry(&new.lines()[0]).unwrap().options(), wanted);
        }
    }
}

#[test]
fn edits_that_make_no_sense_are_refused() {
    let fstab = Fstab::parse(&b"# a\n/dev/a /a ext4\n"[..]);
    let set = |line| Edit::Options {
        line,
        list: b"ro".to_vec(),
    };
    assert_eq!(fstab.edited(&[set(0)]), Err(EditError::NoLine { line: 0 }));
    assert_eq!(fstab.edited(&[set(3)]), Err(EditError::NoLine { line: 3 }));
    assert_eq!(fstab.edited(&[set(1)]), Err(EditError::NoEntry { line: 1 }));
    assert_eq!(
        fstab.edited(&[set(2), Edit::Remove { line: 2 }]),
        Err(EditError::Twice { line: 2 })
    );
}

#[test]
fn a_line_may_be_replaced() {
    let fstab = Fstab::parse(&b"tmpfs /t tmpfs rw\n# b\n"[..]);
    let fields = NewEntry {
        source: b"tmpfs".to_vec(),
        target: b"/t".to_vec(),
        fstype: b"tmpfs".to_vec(),
        ..NewEntry::default()
    };
    let edits = [Edit::Append { fields }, Edit::Remove { line: 1 }];
    assert_eq!(
        text(&fstab.edited(&edits).unwrap()),
        "# b\\ntmpfs /t tmpfs defaults 0 0\\n"
    );
}

#[test]
fn tags_lose_their_quotes() {
    let fstab = Fstab::parse(&b"LABEL=\"My\\040Disk\" /b ext4\n/dev/a /a ext4\nUUID=x /c ext4"[..]);
    let tags: Vec<_> = fstab.entries().map(|(_, entry)| entry.tag()).collect();
    assert_eq!(tags[0], Some(("LABEL", Cow::Borrowed(&b"My Disk"[..]))));
    assert_eq!(tags[1], None);
    assert_eq!(tags[2], Some(("UUID", Cow::Borrowed(&b"x"[..]))));
}

#[test]
fn canonical_targets() {
    for (target, wanted) in [
        ("/", "/"),
        ("//", "/"),
        ("/./", "/"),
        ("/a/", "/a"),
        ("//a//b/.", "/a/b"),
        ("/.a", "/.a"),
        ("none", "none"),
    ] {
        assert_eq!(text(&canonical(target.as_bytes())), wanted);
    }
}

#[test]
fn big_files_take_linear_time() {
    let start = Instant::now();
    for line in [
        "\\".repeat(2 << 20),
        "/dev/a /a ext4 ".to_owned() + &",".repeat(2 << 20),
        "\t#".repeat(1 << 20),
    ] {
        Fstab::parse(line);
    }
    let many: String = (0..10_000)
        .map(|n| format!("/dev/d{n} /mnt/d{n} ext4 defaults 0 2\n"))
        .collect();
    let fstab = Fstab::parse(many);
    let edits: Vec<_> = (1..=10_000)
        .map(|line| Edit::Options {
            line,
            list: b"defaults,noatime".to_vec(),
        })
        .collect();
    assert!(fstab.edited(&edits).is_ok());
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}
