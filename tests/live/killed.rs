//! The program killed at every system call that may change something, and every such call refused:
//! one command, or none, leads to exactly the state before or exactly the state after, and nothing
//! is left lying about.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use nix::mount::MsFlags;

use crate::support::machine::{Machine, Run, World, alone};

/// Calls that may change something, and some that do not: between two of them nothing changes.
const CALLS: &str = "?open,openat,write,writev,pwrite64,?mkdir,mkdirat,?rename,renameat,renameat2,\
                     ?unlink,unlinkat,?rmdir,?link,linkat,?symlink,symlinkat,fsync,fdatasync,\
                     ftruncate,?chmod,fchmod,fchmodat,?chown,fchown,fchownat,setxattr,lsetxattr,\
                     fsetxattr,removexattr,fremovexattr,flock,ioctl,mount,mount_setattr,fspick,\
                     fsconfig,sync,syncfs,exit_group";

/// Runs the program under strace.
fn traced(machine: &Machine, log: &Path, inject: Option<&str>, arguments: &[&str]) -> Run {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", &format!("trace={CALLS}"), "-o"]);
    command.arg(log);
    if let Some(inject) = inject {
        command.args(["-e", &format!("inject={CALLS}:{inject}")]);
    }
    command.arg(env!("CARGO_BIN_EXE_ssdtune")).args(arguments);
    machine.run(&mut command)
}

/// The numbers of the calls that a run makes, but for those that only read.
fn calls(machine: &Machine, arguments: &[&str]) -> Vec<usize> {
    let log = machine.at("trace");
    traced(machine, &log, None, arguments).ends(0);
    let text = fs::read_to_string(&log).unwrap();
    let reads = |line: &str| {
        let opens = line.contains(" open(") || line.contains(" openat(");
        let asks = line.contains(" ioctl(") && (line.contains("GET") || line.contains("TCGETS"));
        asks || opens
            && !["O_CREAT", "O_WRONLY", "O_RDWR"]
                .iter()
                .any(|flag| line.contains(flag))
    };
    let calls = text.lines().filter(|line| line.contains('('));
    let numbered = (1..).zip(calls);
    numbered
        .filter(|(_, line)| !reads(line))
        .map(|(n, _)| n)
        .collect()
}

/// A disk, its fstab, and a state that edits that, writes udev rules, remounts and sets a queue.
fn scene(machine: &Machine) -> Option<String> {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: strace is not installed");
        return None;
    }
    let disk = machine.disk("ext4", MsFlags::empty(), "")?;
    let target = disk.target.display();
    let fstab = format!("{} {target} ext4 defaults 0 2\n", disk.node.display());
    fs::write("/etc/fstab", fstab).unwrap();
    Some(machine.state(&format!(
        "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\", \"commit=60\"]\n\
         [[device]]\nmatch.name = \"{}\"\nscheduler = \"mq-deadline\"\n\
         mq-deadline.fifo_batch = 1\nread_ahead_kb = 64\n",
        disk.name
    )))
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

/// Kills a run at each call in turn; one rollback leads to one of `ends` from there.
fn at_every_call(machine: &Machine, arguments: &[&str], prepare: &dyn Fn(), ends: [&World; 2]) {
    prepare();
    let calls = calls(machine, arguments);
    let mut counts = [0; 2];
    for n in &calls {
        prepare();
        let kill = format!("signal=KILL:when={n}");
        let run = traced(machine, Path::new("/dev/null"), Some(&kill), arguments);
        // The last calls of a run may be another number of them.
        if run.status == 0 && Some(n) == calls.last() {
            continue;
        }
        assert_eq!(run.status, -1, "call {n}: {run:?}");
        let recovery = machine.ssdtune(&["rollback", "--yes"]);
        let world = seen(machine);
        match ends.iter().position(|end| world == **end) {
            Some(end) => counts[end] += 1,
            None => {
                eprintln!("killed at call {n}, then {recovery:?}");
                world.is(ends[0]);
            }
        }
    }
    assert!(calls.len() > 50, "{calls:?}");
    let [old, new] = counts;
    eprintln!(
        "killed {} times: {old} ended as before, {new} as applied",
        old + new
    );
}

/// Errors that such calls really end with.
const ERRORS: [&str; 7] = [
    "EIO", "ENOSPC", "EACCES", "EROFS", "EBUSY", "EINVAL", "EINTR",
];

/// Refuses each call of a run in turn, with one error after the other; what the exit status promises
/// must be so. `ends` is where a run leads that does nothing, and one that does all.
fn refused_at_every_call(
    machine: &Machine,
    arguments: &[&str],
    prepare: &dyn Fn(),
    ends: [&World; 2],
) {
    prepare();
    let calls = calls(machine, arguments);
    let all = std::env::var_os("SSDTUNE_TEST_ALL").is_some();
    let mut counts: BTreeMap<i32, u32> = BTreeMap::new();
    for (at, n) in calls.iter().enumerate() {
        let errors = match all {
            true => &ERRORS[..],
            false => &ERRORS[at % ERRORS.len()..][..1],
        };
        for error in errors {
            prepare();
            let refuse = format!("error={error}:when={n}");
            let run = traced(machine, Path::new("/dev/null"), Some(&refuse), arguments);
            *counts.entry(run.status).or_default() += 1;
            let [nothing, everything] = ends;
            let world = seen(machine);
            let kept = match run.status {
                0 => world == *everything,
                1 | 4 => world == *nothing,
                5 => {
                    machine.ssdtune(&["rollback", "--yes"]).ends(0);
                    ends.contains(&&seen(machine))
                }
                _ => false,
            };
            if !kept {
                eprintln!("call {n} ended with {error}, then {run:?}");
                world.is(if run.status == 0 { everything } else { nothing });
            }
        }
    }
    eprintln!("runs by their exit status: {counts:?}");
}

#[test]
fn an_apply() {
    alone(|machine| {
        let Some(state) = scene(machine) else { return };
        let before = seen(machine);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let after = seen(machine);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        seen(machine).is(&before);
        let apply = ["apply", "--yes", &state];
        let prepare = || {
            if seen(machine) != before {
                machine.ssdtune(&["rollback", "--yes"]).ends(0);
            }
        };
        at_every_call(machine, &apply, &prepare, [&before, &after]);
    });
}

#[test]
fn a_rollback() {
    alone(|machine| {
        let Some(state) = scene(machine) else { return };
        let before = seen(machine);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let after = seen(machine);
        let prepare = || {
            if seen(machine) != after {
                machine.ssdtune(&["apply", "--yes", &state]).ends(0);
            }
        };
        at_every_call(machine, &["rollback", "--yes"], &prepare, [&before, &after]);
    });
}

#[test]
fn an_apply_whose_calls_are_refused() {
    alone(|machine| {
        let Some(state) = scene(machine) else { return };
        let before = seen(machine);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let after = seen(machine);
        let prepare = || {
            if seen(machine) != before {
                machine.ssdtune(&["rollback", "--yes"]).ends(0);
            }
        };
        let apply = ["apply", "--yes", &state];
        refused_at_every_call(machine, &apply, &prepare, [&before, &after]);
    });
}

#[test]
fn a_rollback_whose_calls_are_refused() {
    alone(|machine| {
        let Some(state) = scene(machine) else { return };
        let before = seen(machine);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let after = seen(machine);
        let prepare = || {
            if seen(machine) != after {
                machine.ssdtune(&["apply", "--yes", &state]).ends(0);
            }
        };
        let rollback = ["rollback", "--yes"];
        refused_at_every_call(machine, &rollback, &prepare, [&after, &before]);
    });
}
