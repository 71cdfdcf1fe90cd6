//! Somebody else writes at the same time.

use std::fs;
use std::io;
use std::path::Path;

use nix::mount::MsFlags;
use ssdtune::apply::{self, Failure};
use ssdtune::facts::{Facts, Scope, gather};
use ssdtune::plan::{self, Only, record};
use ssdtune::snapshot::{Kind, Snapshot, Store};
use ssdtune::state::{Source, parse};
use ssdtune::system::{Effect, Live, System, clock};

use crate::support::bench;
use crate::support::machine::alone;

/// The real machine, on which somebody edits fstab just before one of our effects.
struct Rival<F> {
    live: Live,
    before: F,
}

impl<F: FnMut(&Effect)> System for Rival<F> {
    fn facts(&mut self, scope: &Scope<'_>) -> Facts {
        self.live.facts(scope)
    }

    fn perform(&mut self, effect: &Effect) -> io::Result<()> {
        (self.before)(effect);
        self.live.perform(effect)
    }
}

fn is_commit_of_fstab(effect: &Effect) -> bool {
    matches!(effect, Effect::Commit { target, .. } if target.as_bytes() == b"/etc/fstab")
}

#[test]
fn w04_an_edit_between_plan_and_commit_is_kept_and_all_else_undone() {
    alone(|machine| {
        let Some(disk) = machine.disk("ext4", MsFlags::empty(), "") else {
            return;
        };
        let target = disk.target.display();
        let fstab = format!("{} {target} ext4 defaults 0 2\n", disk.node.display());
        let text = format!(
            "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\", \"commit=60\"]\n\
             [[device]]\nmatch.name = \"{}\"\nread_ahead_kb = 64\n",
            disk.name
        );
        let state = parse(&[Source {
            name: "state.toml".to_owned(),
            text,
        }])
        .map_err(|problems| problems.len())
        .unwrap();
        let scope = Scope::of(&state, &record::recorded);
        let store = Store::open("/");
        let edited = format!("{fstab}srv:/x /x nfs4 noauto 0 0\n");
        let appended = |_: &str| edited.clone();
        let built_on = |now: &str| format!("{now}srv:/x /x nfs4 noauto 0 0\n");

        // Before the commit: his edit stands, ours is nowhere.
        fs::write("/etc/fstab", &fstab).unwrap();
        let before = machine.world();
        let run = |system: &mut dyn System| {
            let facts = gather(Path::new("/"), &scope);
            let plan = plan::plan(&state, &facts, Only::Both);
            let number = store.next_number().unwrap();
            let snapshot = Snapshot::new(number, clock::now(), Kind::Apply, plan);
            let replan = |facts: &Facts| plan::plan(&state, facts, Only::Both);
            apply::run(system, &store, &scope, snapshot, &replan)
        };
        let edit = |now: &dyn Fn(&str) -> String| {
            let text = fs::read_to_string("/etc/fstab").unwrap();
            fs::write("/etc/fstab", now(&text)).unwrap();
        };
        let mut rival = Rival {
            live: Live::new("/"),
            before: |effect: &Effect| {
                if is_commit_of_fstab(effect) {
                    edit(&appended);
                }
            },
        };
        match run(&mut rival) {
            Err(Failure::Undone { cause, .. }) => assert_eq!(
                cause,
                "`/etc/fstab` was changed by somebody else in the meantime: run `ssdtune plan` again"
            ),
            other => panic!("{other:?}"),
        }
        assert_eq!(fs::read_to_string("/etc/fstab").unwrap(), edited);
        fs::write("/etc/fstab", &fstab).unwrap();
        machine.world().of_the_user().is(&before);
        assert_eq!(store.numbers().unwrap(), Vec::<u32>::new());

        // After the commit, on top of it: nobody can tell what he wants; it is said, and rollback
        // takes back what is ours.
        let mut rival = Rival {
            live: Live::new("/"),
            before: |effect: &Effect| {
                if *effect == Effect::Settle && fs::read_to_string("/etc/fstab").unwrap() != fstab {
                    edit(&built_on);
                }
            },
        };
        match run(&mut rival) {
            Err(Failure::Incomplete { cause, left }) => {
                assert_eq!(
                    cause,
                    "after the commit, `/etc/fstab` was changed by somebody else"
                );
                assert!(left[0].contains("left as he has it"), "{left:?}");
            }
            other => panic!("{other:?}"),
        }
        machine.ssdtune(&["history"]).ends(0).shows("interrupted");
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        let now = fs::read_to_string("/etc/fstab").unwrap();
        assert!(now.starts_with(&fstab) && now.contains("srv:/x"), "{now}");
        fs::write("/etc/fstab", &fstab).unwrap();
        machine.world().of_the_user().is(&before);
        assert!(store.interrupted().unwrap().is_none());
    });
}

#[test]
fn w04_a_plan_that_is_stale_is_refused() {
    alone(|machine| {
        let Some(disk) = machine.disk("ext4", MsFlags::empty(), "") else {
            return;
        };
        let text = format!(
            "[[device]]\nmatch.name = \"{}\"\nread_ahead_kb = 64\n",
            disk.name
        );
        let sources = [Source {
            name: "state.toml".to_owned(),
            text,
        }];
        let state = parse(&sources).map_err(|problems| problems.len()).unwrap();
        let scope = Scope::of(&state, &record::recorded);
        let plan = plan::plan(&state, &gather(Path::new("/"), &scope), Only::Both);
        let file = format!("/sys/block/{}/queue/read_ahead_kb", disk.name);
        fs::write(file, "32").unwrap();
        let before = machine.world();
        let store = Store::open("/");
        let snapshot = Snapshot::new(1, clock::now(), Kind::Apply, plan);
        let replan = |facts: &Facts| plan::plan(&state, facts, Only::Both);
        match apply::run(&mut Live::new("/"), &store, &scope, snapshot, &replan) {
            Err(Failure::Stale(what)) => assert_eq!(
                what,
                format!(
                    "the queue of `{}` changed since the plan was made: look at a new plan first",
                    disk.name
                )
            ),
            other => panic!("{other:?}"),
        }
        machine.world().is(&before);
    });
}

#[test]
fn a_filesystem_that_goes_away_meanwhile_and_a_value_that_does_are_noticed() {
    alone(|machine| {
        let Some(disk) = machine.disk("ext4", MsFlags::empty(), "") else {
            return;
        };
        let target = disk.target.display();
        let fstab = format!("{} {target} ext4 defaults 0 2\n", disk.node.display());
        fs::write("/etc/fstab", &fstab).unwrap();
        let state = bench::state(&format!(
            "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\"]\n\
             [[device]]\nmatch.name = \"{}\"\nscheduler = \"mq-deadline\"\nread_ahead_kb = 64\n",
            disk.name
        ));
        let store = Store::open("/");
        let before = machine.world();
        let read_ahead = format!("/sys/block/{}/queue/read_ahead_kb", disk.name);

        // Somebody, a change event of udev say, writes after the commit.
        let mut rival = Rival {
            live: Live::new("/"),
            before: |effect: &Effect| {
                if *effect == Effect::Settle {
                    fs::write(&read_ahead, "32").unwrap();
                }
            },
        };
        match bench::apply(&mut rival, &store, &state) {
            Err(Failure::Undone { cause, .. }) => assert_eq!(
                cause,
                format!(
                    "after the commit, `{}`: read_ahead_kb reads back 32, not 64",
                    disk.name
                )
            ),
            // The last settle of the undo was followed by the same write.
            Err(Failure::Incomplete { left, .. }) => {
                assert!(left[0].contains("read_ahead_kb is 32"), "{left:?}");
                machine.ssdtune(&["rollback", "--yes"]).ends(0);
            }
            other => panic!("{other:?}"),
        }
        machine.world().of_the_user().is(&before);

        // The filesystem is unmounted between two writes.
        let mut rival = Rival {
            live: Live::new("/"),
            before: |effect: &Effect| {
                if matches!(effect, Effect::SetAttribute { .. }) {
                    let _ = nix::mount::umount(&disk.target);
                }
            },
        };
        match bench::apply(&mut rival, &store, &state) {
            Err(Failure::Undone { cause, .. }) => {
                assert_eq!(cause, format!("`{target}` is not mounted any more"))
            }
            other => panic!("{other:?}"),
        }
        machine.mount(&disk.node, &disk.target, "ext4", MsFlags::empty(), "");
        machine.world().of_the_user().is(&before);
    });
}
