use super::*;
use crate::facts::Mount;

fn snapshot() -> Snapshot {
    let at = "2026-11-30T12:03:07Z".parse().unwrap();
    Snapshot::new(3, at, Kind::Rollback { to: Some(2) }, Plan::default())
}

#[test]
fn a_snapshot_reads_back() {
    let mut snapshot = snapshot();
    for phase in [
        Phase::Prepared,
        Phase::Live,
        Phase::Committing,
        Phase::Applied,
        Phase::Undone,
    ] {
        snapshot.phase = phase;
        let json = snapshot.to_json().unwrap();
        assert_eq!(Snapshot::from_json(&json), Ok(snapshot.clone()));
    }
}

#[test]
fn hostile_json_is_an_error_with_words() {
    let json = String::from_utf8(snapshot().to_json().unwrap()).unwrap();
    let newer = json.replacen("\"version\": 1", "\"version\": 2, \"new\": 1", 1);
    let error = Snapshot::from_json(newer.as_bytes()).unwrap_err();
    assert!(
        error.starts_with("it has version 2 of the format"),
        "{error}"
    );
    let unknown = json.replacen("\"number\"", "\"nmuber\": 1, \"number\"", 1);
    let error = Snapshot::from_json(unknown.as_bytes()).unwrap_err();
    assert!(error.starts_with("unknown field `nmuber`"), "{error}");
    let deep = "[".repeat(1 << 20);
    for junk in ["", "[", "{}", "null", "\0", "\u{feff}{}", &deep] {
        assert!(Snapshot::from_json(junk.as_bytes()).is_err());
    }
}

#[test]
fn a_var_that_is_not_mounted_is_noticed() {
    let mount = |target: &str| Mount {
        target: target.into(),
        ..Mount::default()
    };
    let mut facts = Facts {
        mounts: vec![mount("/")],
        ..Facts::default()
    };
    assert!(var_is_there(&facts), "no fstab");
    let fstab = |text: &str| {
        Some(Image {
            bytes: text.into(),
            ..Image::default()
        })
    };
    facts.fstab.image = fstab("UUID=a / ext4 rw 0 1\nUUID=b /var/ ext4 rw 0 2\n#c /var/lib ext4\n");
    assert!(!var_is_there(&facts));
    facts.mounts.push(mount("/var"));
    assert!(var_is_there(&facts));
    facts.fstab.image = fstab("UUID=b /var/lib xfs rw 0 2\n");
    assert!(!var_is_there(&facts));
    facts.mounts.clear();
    assert!(var_is_there(&facts), "offline");
}
