//! The program killed at every system call that may change something, and every such call refused:
//! one command, or none, leads to exactly the state before or exactly the state after, and nothing
//! is left lying about.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use nix::mount::MsFlags;

use crate::support::machine::{Machine, Run, World, alone};

/// Calls that change something, or make it last. Between two of them all look alike, but for files
/// that are created: these are filled by one of them next.
const CHANGES: &str = "write,writev,pwrite64,?mkdir,mkdirat,?rename,renameat,renameat2,?unlink,\
                       unlinkat,?rmdir,?link,linkat,?symlink,symlinkat,fsync,fdatasync,ftruncate,\
                       ?chmod,fchmod,fchmodat,?chown,fchown,fchownat,setxattr,lsetxattr,fsetxattr,\
                       removexattr,fremovexattr,flock,mount,mount_setattr,fspick,fsconfig,sync,\
                       syncfs";

/// Calls that may be refused besides. How many there are depends on what other disks the machine has.
const OPENS: &str = "?open,openat,ioctl";

/// One call of a run: its name, and the how manieth of that name it is, as strace counts.
type Call = (String, usize);

/// Runs the program under strace.
fn traced(machine: &Machine, arguments: &[&str], options: &[&str]) -> Run {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]).args(options);
    command.arg(env!("CARGO_BIN_EXE_ssdtune")).args(arguments);
    machine.run(&mut command)
}

/// Runs the program, and something happens at a call.
fn injected(machine: &Machine, arguments: &[&str], (name, n): &Call, what: &str) -> Run {
    let trace = format!("trace={name}");
    let inject = format!("inject={name}:{what}:when={n}");
    let options = ["-o", "/dev/null", "-e", &trace, "-e", &inject];
    traced(machine, arguments, &options)
}

/// Such calls of a run in their order, but for those that only read.
fn calls(machine: &Machine, arguments: &[&str], set: &str) -> Vec<Call> {
    let log = machine.at("trace");
    let trace = format!("trace={set}");
    traced(
        machine,
        arguments,
        &["-e", &trace, "-o", log.to_str().unwrap()],
    )
    .ends(0);
    let text = fs::read_to_string(&log).unwrap();
    let reads = |line: &str| {
        let opens = line.contains(" open(") || line.contains(" openat(");
        let asks = line.contains(" ioctl(") && line.contains("GET");
        asks || opens
            && !["O_CREAT", "O_WRONLY", "O_RDWR"]
                .iter()
                .any(|flag| line.contains(flag))
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((name, _)) = line.split_once('(') else {
            continue;
        };
        let name = name.rsplit(' ').next().unwrap();
        let count = counts.entry(name).or_default();
        *count += 1;
        if !reads(line) {
            calls.push((name.to_owned(), *count));
        }
    }
    assert!(calls.len() > 50, "{calls:?}");
    calls
}

/// A machine before an apply and after it.
struct Scene<'m> {
    machine: &'m Machine,
    state: String,
    before: World,
    after: World,
}

impl<'m> Scene<'m> {
    /// A disk, its fstab, and a state that edits that, writes udev rules, remounts and sets a queue.
    fn new(machine: &'m Machine) -> Option<Self> {
        if Command::new("strace").arg("-V").output().is_err() {
            eprintln!("skipped: strace is not installed");
            return None;
        }
        let disk = machine.disk("ext4", MsFlags::empty(), "")?;
        let target = disk.target.display();
        let fstab = format!("{} {target} ext4 defaults 0 2\n", disk.node.display());
        fs::write("/etc/fstab", fstab).unwrap();
        let state = machine.state(&format!(
            "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\", \"commit=60\"]\n\
             [[device]]\nmatch.name = \"{}\"\nscheduler = \"mq-deadline\"\n\
             mq-deadline.fifo_batch = 1\nread_ahead_kb = 64\n",
            disk.name
        ));
        let before = seen(machine);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let after = seen(machine);
        Some(Self {
            machine,
            state,
            before,
            after,
        })
    }

    /// The machine as it was at first, without any record; then, for a rollback, applied to. So each
    /// run makes the same calls.
    fn start(&self, verb: &str) {
        if seen(self.machine) != self.before {
            self.machine.ssdtune(&["rollback", "--yes"]);
        }
        if fs::exists("/var/lib/ssdtune").unwrap() {
            fs::remove_dir_all("/var/lib/ssdtune").unwrap();
        }
        for entry in fs::read_dir("/etc").unwrap() {
            let path = entry.unwrap().path();
            if path.to_str().unwrap().starts_with("/etc/fstab.bak-") {
                fs::remove_file(path).unwrap();
            }
        }
        seen(self.machine).is(&self.before);
        if verb == "rollback" {
            self.machine
                .ssdtune(&["apply", "--yes", &self.state])
                .ends(0);
        }
    }

    fn arguments<'a>(&'a self, verb: &'a str) -> Vec<&'a str> {
        match verb {
            "apply" => vec!["apply", "--yes", &self.state],
            verb => vec![verb, "--yes"],
        }
    }
}

/// Without ssdtune's own records, but with what it may have left elsewhere.
fn seen(machine: &Machine) -> World {
    let world = machine.world();
    let number = world.0.keys().filter(|name| name.contains("/.")).count();
    let user = world.of_the_user();
    assert_eq!(
        number,
        user.0.keys().filter(|name| name.contains("/.")).count()
    );
    user
}

/// Kills a run at each call in turn; from there one rollback leads to before or after, one apply to
/// after.
fn at_every_call(scene: &Scene<'_>, verb: &str) {
    let machine = scene.machine;
    let arguments = scene.arguments(verb);
    scene.start(verb);
    let calls = calls(machine, &arguments, CHANGES);
    let [mut before, mut after] = [0; 2];
    for (at, call) in calls.iter().enumerate() {
        scene.start(verb);
        let run = injected(machine, &arguments, call, "signal=KILL");
        assert_eq!(run.status, -1, "{call:?}: {run:?}");
        let over = at % 4 == 3;
        let recovery = if over {
            machine.ssdtune(&["apply", "--yes", &scene.state]).ends(0)
        } else {
            machine.ssdtune(&["rollback", "--yes"])
        };
        let world = seen(machine);
        if world == scene.after {
            after += 1;
        } else if world == scene.before && !over {
            before += 1;
        } else {
            eprintln!("killed at {call:?}, then {recovery:?}");
            world.is(&scene.before);
        }
    }
    eprintln!(
        "{verb}: killed at {} calls, {before} times as before in the end, {after} times as after",
        calls.len()
    );
}

/// Errors that such calls really end with.
const ERRORS: [&str; 7] = [
    "EIO", "ENOSPC", "EACCES", "EROFS", "EBUSY", "EINVAL", "EINTR",
];

/// Refuses calls of a run in turn, with one error after the other; what the exit status promises
/// must be so. Every third call has a turn, and one error; all calls and all errors with
/// `SSDTUNE_TEST_ALL=1`.
fn refused_at_every_call(scene: &Scene<'_>, verb: &str) {
    let machine = scene.machine;
    let arguments = scene.arguments(verb);
    let [nothing, everything] = match verb {
        "apply" => [&scene.before, &scene.after],
        _ => [&scene.after, &scene.before],
    };
    scene.start(verb);
    let calls = calls(machine, &arguments, &format!("{CHANGES},{OPENS}"));
    let all = std::env::var_os("SSDTUNE_TEST_ALL").is_some();
    let mut counts: BTreeMap<i32, u32> = BTreeMap::new();
    for (at, call) in calls.iter().enumerate() {
        let errors = match all {
            true => &ERRORS[..],
            false if at % 3 == 0 => &ERRORS[at % ERRORS.len()..][..1],
            false => continue,
        };
        for error in errors {
            scene.start(verb);
            let run = injected(machine, &arguments, call, &format!("error={error}"));
            *counts.entry(run.status).or_default() += 1;
            // What could not be removed is named, and goes with the next run.
            let mut world = seen(machine);
            world.0.retain(|name, _| {
                let file = name.rsplit('/').next().unwrap();
                !(file.starts_with('.') && run.err.contains(file))
            });
            let kept = match run.status {
                0 => world == *everything,
                1 | 4 => world == *nothing,
                5 => {
                    machine.ssdtune(&["rollback", "--yes"]).ends(0);
                    [nothing, everything].contains(&&seen(machine))
                }
                _ => false,
            };
            if !kept {
                eprintln!("{call:?} ended with {error}, then {run:?}");
                world.is(if run.status == 0 { everything } else { nothing });
            }
            assert!(kept, "exit status {}", run.status);
        }
    }
    eprintln!("{verb}: calls refused, by exit status {counts:?}");
}

#[test]
fn an_apply() {
    alone(|machine| {
        let Some(scene) = Scene::new(machine) else {
            return;
        };
        at_every_call(&scene, "apply");
    });
}

#[test]
fn a_rollback() {
    alone(|machine| {
        let Some(scene) = Scene::new(machine) else {
            return;
        };
        at_every_call(&scene, "rollback");
    });
}

#[test]
fn an_apply_whose_calls_are_refused() {
    alone(|machine| {
        let Some(scene) = Scene::new(machine) else {
            return;
        };
        refused_at_every_call(&scene, "apply");
    });
}

#[test]
fn a_rollback_whose_calls_are_refused() {
    alone(|machine| {
        let Some(scene) = Scene::new(machine) else {
            return;
        };
        refused_at_every_call(&scene, "rollback");
    });
}
