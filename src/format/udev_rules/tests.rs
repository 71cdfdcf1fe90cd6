//! Rules as udev reads them.

use super::*;

fn shown(text: &str) -> Vec<String> {
    let show = |token: &Token<'_>| {
        let attribute = token
            .attribute
            .as_ref()
            .map_or(String::new(), |text| format!("{{{text}}}"));
        format!("{}{attribute} {:?} {}", token.key, token.op, token.value)
    };
    parse(text.as_bytes())
        .iter()
        .flat_map(|rule| rule.tokens.iter().map(show))
        .collect()
}

#[test]
fn tokens_of_a_rule() {
    let rules = parse(
        b"# x\n\n ACTION!=\"add|change\", GOTO=\"end\"\n\
        KERNEL==\"sd[a-z]\",ATTR{queue/rotational}==\"0\" ATTR{queue/scheduler}=\"bfq\"\n",
    );
    assert_eq!(
        rules.iter().map(|rule| rule.line).collect::<Vec<_>>(),
        [3, 4]
    );
    let token = &rules[1].tokens[2];
    assert_eq!(
        (&*token.key, token.attribute.as_deref()),
        ("ATTR", Some("queue/scheduler"))
    );
    assert_eq!((token.op, &*token.value), (Op::Assign, "bfq"));
    assert!(matches!(token.value, Cow::Borrowed(_)));
}

#[test]
fn every_operator() {
    let text = r#"A=="1", B!="2", C="3", D+="4", E-="5", F:="6" G{x} = "7""#;
    let wanted = [
        "A Match 1",
        "B NoMatch 2",
        "C Assign 3",
        "D Add 4",
        "E Remove 5",
        "F AssignFinal 6",
        "G{x} Assign 7",
    ];
    assert_eq!(shown(text), wanted);
    assert_eq!(
        shown(r#"A {x}="1""#),
        Vec::<String>::new(),
        "a blank ends the key"
    );
}

#[test]
fn lines_go_on_behind_a_backslash() {
    let text = "A==\"1\", \\\n# in between\n  B=\"2\"\nC=\"3\"\\\n\nD=\"4\"";
    assert_eq!(
        shown(text),
        ["A Match 1", "B Assign 2", "C Assign 3", "D Assign 4"]
    );
    let lines: Vec<_> = parse(text.as_bytes())
        .iter()
        .map(|rule| rule.line)
        .collect();
    assert_eq!(lines, [1, 4, 6]);
}

#[test]
fn strings() {
    assert_eq!(shown(r#"A="a\"b\n""#), [r#"A Assign a"b\n"#]);
    assert_eq!(shown(r#"A=e"a\"b\n\x41\101""#), ["A Assign a\"b\nAA"]);
    assert_eq!(
        shown(r#"A="\\", B="x""#),
        Vec::<String>::new(),
        "the second backslash takes the quote"
    );
    assert!(parse(br#"A==i"x""#)[0].tokens[0].any_case);
}

#[test]
fn bad_lines_are_left_out() {
    for text in [
        "A",
        "A=",
        "A=x",
        "A=\"x",
        "A{x=\"y\"",
        "A=e\"\\q\"",
        "A=\"1\", B",
        "A=x\"1\"",
        "A\0=\"1\"",
    ] {
        assert_eq!(shown(text), Vec::<String>::new(), "{text}");
    }
    let long = format!("A=\"{}\"", "x".repeat(LONGEST));
    assert_eq!(shown(&long), Vec::<String>::new());
    assert_eq!(
        shown(&format!("A=\"{}\\\n\"\nB=\"1\"", "x\\\n".repeat(LONGEST))),
        ["B Assign 1"]
    );
}

/// Every rule of the machine that runs the test, where it has udev.
#[test]
fn the_systems_rules_are_understood() {
    let Ok(folder) = std::fs::read_dir("/usr/lib/udev/rules.d") else {
        return;
    };
    for path in folder.map(|entry| entry.unwrap().path()) {
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'));
        let (mut count, mut goes_on) = (0, false);
        for line in lines {
            count += usize::from(!goes_on && !line.is_empty());
            goes_on = line.ends_with('\\');
        }
        assert_eq!(parse(&bytes).len(), count, "{}", path.display());
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>) {
        parse(&bytes);
    }

    #[test]
    fn any_rule_is_survived(text in "(A|[{}=!+:\"e\\\\, \n#é]){0,40}") {
        parse(text.as_bytes());
    }
}
