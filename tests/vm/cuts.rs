//! Power cuts in the midst of an apply and of a rollback, and the boot after each.
//!
//! The machine is booted once, and kept paused right before the apply and right before the
//! rollback. Each cut goes on from there, kills it at a random write or flush (or a little later),
//! lets a random part of what was not flushed reach the disk, and boots from that.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::disk::{Bus, Disk};
use crate::guest::{Guest, Line};
use crate::machine::Machine;
use crate::nbd::{Content, Cut, Server};

const DISKS: &[Disk] = &[
    Disk::new(Bus::SataSsd, "SSD0001"),
    Disk::new(Bus::ScsiHdd, "HDD0001"),
];

/// A machine paused before a command.
struct Ready {
    name: &'static str,
    memory: PathBuf,
    disk: Content,
    /// Writes and flushes that the command took.
    requests: u64,
}

/// What the files and queues are, before and after an apply.
struct Known {
    lines: Vec<Line>,
}

pub fn a_cut_leaves_the_old_or_the_new_and_one_command_puts_it_right(suite: &str) {
    let number = |name, default| {
        let set = std::env::var(name).ok();
        set.map_or(default, |text: String| {
            text.parse().expect("a number is set")
        })
    };
    let cuts = number("SSDTUNE_VM_CUTS", 2);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let seed = number("SSDTUNE_VM_SEED", now);
    let first = number("SSDTUNE_VM_FIRST", 1);

    let machine = Machine::new(suite, "cuts", DISKS);
    eprintln!("  {}: seed {seed}, {cuts} cuts of each", machine.name());
    let socket = machine.folder.join("nbd");
    let server = Server::start(&machine.folder.join("root.img"), &socket);
    let bench = Bench {
        root: format!(
            "driver=nbd,server.type=unix,server.path={},if=none,id=root,cache=none",
            socket.display()
        ),
        machine,
        server,
    };
    let (known, ready) = bench.prepare();
    let mut faults = Vec::new();
    let mut tally = std::collections::BTreeMap::<String, u32>::new();
    for ready in &ready {
        for cut in first..first + cuts {
            let random = Random(seed ^ cut << 32 ^ u64::from(ready.name == "rollback"));
            let begin = Instant::now();
            let (what, wrong) = bench.cut(ready, random, &known, cut);
            eprintln!(
                "  {}: {} {cut}, {what} ({} s)",
                bench.machine.name(),
                ready.name,
                begin.elapsed().as_secs()
            );
            let ending = what.rsplit("; ").next().unwrap_or_default();
            *tally
                .entry(format!("{}: {ending}", ready.name))
                .or_default() += 1;
            for fault in wrong {
                eprintln!("  WRONG {fault}");
                faults.push(format!("{} {cut}: {fault}", ready.name));
            }
        }
    }
    for (what, count) in tally {
        eprintln!("  {}: {count} of {what}", bench.machine.name());
    }
    for ready in &ready {
        fs::remove_file(&ready.memory).unwrap();
    }
    assert!(
        faults.is_empty(),
        "{} faults with the seed {seed}; the disks are in {}\n\n{}",
        faults.len(),
        bench.machine.folder.display(),
        faults.join("\n")
    );
}

struct Bench {
    machine: Machine,
    server: Server,
    /// The root disk, for QEMU.
    root: String,
}

impl Bench {
    /// Boots once, and keeps the machine before the apply and before the rollback.
    fn prepare(&self) -> (Known, Vec<Ready>) {
        let mut guest = self.machine.start(&self.root, &[]);
        let mut lines = Vec::new();
        let mut ready: Vec<Ready> = Vec::new();
        for name in ["apply", "rollback"] {
            lines.extend(hear(&mut guest, &format!("ready-{name}")));
            guest.monitor.ask("stop", json!({}));
            let memory = self.machine.folder.join(format!("memory-{name}"));
            let _ = fs::remove_file(&memory);
            let limit = json!({ "max-bandwidth": 10_u64 << 30 });
            guest.monitor.ask("migrate-set-parameters", limit);
            let to = json!({ "uri": format!("exec:cat >{}", memory.display()) });
            guest.monitor.ask("migrate", to);
            let kept = guest
                .monitor
                .wait("query-migrate", &["completed", "failed"]);
            assert_eq!(kept, "completed", "the machine could not be kept");
            let disk = self.server.content();
            guest.monitor.ask("cont", json!({}));
            lines.extend(hear(&mut guest, &format!("begin-{name}")));
            let begin = self.server.requests();
            lines.extend(hear(&mut guest, "done"));
            let requests = self.server.requests() - begin;
            eprintln!(
                "  {}: {name} takes {requests} writes and flushes",
                self.machine.name()
            );
            ready.push(Ready {
                name,
                memory,
                disk,
                requests,
            });
        }
        lines.extend(hear(&mut guest, "end"));
        let known = Known { lines };
        for (what, was, is) in [
            ("fstab", "old", "back"),
            ("rules", "old", "back"),
            ("queues", "old", "back"),
        ] {
            let (was, is) = (known.text(what, was), known.text(what, is));
            assert_eq!(was, is, "a rollback without a cut leaves other {what}");
        }
        assert_ne!(known.text("fstab", "old"), known.text("fstab", "new"));
        (known, ready)
    }

    /// Cuts once. What happened, its last part how it ended; and what is wrong.
    fn cut(
        &self,
        ready: &Ready,
        mut random: Random,
        known: &Known,
        number: u64,
    ) -> (String, Vec<String>) {
        self.server.power_on(ready.disk.clone());
        let from = format!("exec:cat {}", ready.memory.display());
        let incoming = ["-incoming".to_owned(), from];
        let mut guest = self.machine.start(&self.root, &incoming);
        let status = &["paused", "running", "postmigrate"];
        guest.monitor.wait("query-status", status);
        guest.monitor.ask("cont", json!({}));
        hear(&mut guest, &format!("begin-{}", ready.name));
        let after = 1 + random.below(ready.requests + 1);
        let delay = random.below(2) * random.below(400);
        let pid = guest.pid();
        self.server.cut(Cut {
            pid,
            after,
            delay: Duration::from_millis(delay),
        });
        let begin = Instant::now();
        let mut is_done = false;
        while !self.server.is_off() {
            is_done |= guest.reported().iter().any(|line| line.key == "done");
            if is_done || begin.elapsed() > Duration::from_secs(600) {
                self.server.cut_now(pid);
            }
            sleep(Duration::from_millis(5));
        }
        guest.ended();
        drop(guest);

        let mut disk = self.server.content();
        let chance = [0, 10, 50, 90, 100][usize::try_from(random.below(5)).unwrap()];
        let (reached, held) = disk.settle(|| random.below(100) < chance);
        let mut what = format!(
            "at write {after} of {}, {delay} ms later; {reached} of {held} sectors",
            ready.requests
        );
        self.server.power_on(disk.clone());
        let mut guest = self.machine.start(&self.root, &[]);
        let lines = hear(&mut guest, "end");
        drop(guest);
        let found = Known { lines };
        let (ending, wrong) = judge(ready.name, known, &found);
        what.push_str("; ");
        what.push_str(&ending);
        if !wrong.is_empty() {
            let name = format!("{}-{number}.img", ready.name);
            let image = self.machine.folder.join(name);
            let root = self.machine.folder.join("root.img");
            let arguments = ["--sparse=always".as_ref(), root.as_os_str()];
            crate::machine::tool("cp", &[&arguments[..], &[image.as_os_str()]].concat());
            Server::save(&disk, &image);
        }
        (what, wrong)
    }
}

/// Whether what the next boot found, and what one command made of it, is right.
fn judge(name: &str, known: &Known, found: &Known) -> (String, Vec<String>) {
    let mut wrong = Vec::new();
    let mut check = |right: bool, what: String| {
        if !right {
            wrong.push(what);
        }
    };
    // Each part is the old or the new, whole.
    let part = |what: &str, when: &str| {
        let text = found.text(what, when);
        let is = |which| text == known.text(what, which);
        match (is("old"), is("new")) {
            (true, _) => "old".to_owned(),
            (_, true) => "new".to_owned(),
            _ => format!("neither the old nor the new: {text}"),
        }
    };
    let [fstab, rules, queues] = ["fstab", "rules", "queues"].map(|what| part(what, "booted"));
    for (what, which) in [("fstab", &fstab), ("rules", &rules)] {
        check(which.len() == 3, format!("{what} is {which}"));
    }
    check(
        queues == rules,
        format!("the rules are the {rules} ones, the queues are {queues}"),
    );
    let failed = &found.line("failed").out;
    check(failed.is_empty(), format!("units failed: {failed}"));

    let status = found.line("status");
    let said = format!("{}{}", status.out, status.err);
    let json: Value = serde_json::from_str(&found.line("json").out).unwrap_or_default();
    let is_interrupted = said.contains("was interrupted");
    check(
        is_interrupted != json["interrupted"].is_null(),
        format!("status --json says {json}, status {said}"),
    );
    let exit = |key: &str, wanted: &[i32]| {
        let line = found.line(key);
        let right = line.status.is_some_and(|status| wanted.contains(&status));
        let what = format!(
            "{key}: not exit status {wanted:?} but {:?}\n{}{}",
            line.status, line.out, line.err
        );
        (right, what)
    };
    let both = if fstab == rules {
        format!("{fstab} files")
    } else {
        format!("fstab {fstab}, rules {rules}")
    };
    let ending = if is_interrupted {
        // What it puts back is what the command that was cut off had found.
        let before = if name == "apply" { "old" } else { "new" };
        for what in ["fstab", "rules", "queues"] {
            let which = part(what, "rolled-back");
            check(
                which == before,
                format!("after the rollback, {what} is {which}, not the {before} one"),
            );
        }
        let (right, what) = exit("status", &[3]);
        check(right, what);
        let (right, what) = exit("rollback", &[0]);
        check(right, what);
        // In sync again, but for a /tmp that waits for a boot.
        let wanted: &[i32] = if before == "old" { &[3] } else { &[0, 6] };
        let (right, what) = exit("status-rolled-back", wanted);
        check(right, what);
        format!("{both}, interrupted, rolled back")
    } else {
        check(fstab == rules, format!("nothing interrupted, but {both}"));
        let (right, what) = exit("status", if fstab == "old" { &[3] } else { &[0] });
        check(right, what);
        format!("{both}, nothing interrupted")
    };
    let (right, what) = exit("apply", &[0]);
    check(right, what);
    for what in ["fstab", "rules", "queues"] {
        let which = part(what, "applied");
        check(which == "new", format!("after an apply, {what} is {which}"));
    }
    // A run that was whole but for its last clearing away leaves that to the next that has to do.
    let left = &found.line("left").out;
    check(
        left.is_empty() || !is_interrupted && fstab == "new",
        format!("files are left: {left}"),
    );
    (ending, wrong)
}

impl Known {
    /// What was reported of `what` at that time.
    fn text(&self, what: &str, when: &str) -> &str {
        &self.line(&format!("{what}-{when}")).out
    }

    fn line(&self, key: &str) -> &Line {
        let mut lines = self.lines.iter();
        lines
            .find(|line| line.key == key)
            .unwrap_or_else(|| panic!("the guest did not report `{key}`"))
    }
}

/// Waits until the guest reports `key`; all that it reported until then.
fn hear(guest: &mut Guest, key: &str) -> Vec<Line> {
    let begin = Instant::now();
    let mut lines = Vec::new();
    loop {
        lines.extend(guest.reported());
        if lines.iter().any(|line| line.key == key) {
            return lines;
        }
        assert!(!guest.is_over(), "the guest ended before `{key}`");
        guest.look(begin);
        sleep(Duration::from_millis(5));
    }
}

/// Numbers that are the same for the same seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }
}
