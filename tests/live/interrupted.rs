//! Runs that were cut off: everybody says so, and one command puts everything back.

use std::fs;

use nix::mount::MsFlags;
use ssdtune::facts::{Facts, Scope};
use ssdtune::rollback::To;
use ssdtune::snapshot::Store;
use ssdtune::system::failing::{Failing, Mode};
use ssdtune::system::{Effect, Live, System};

use crate::support::bench;
use crate::support::machine::{Machine, World, alone};

/// Kills an apply at the first effect that is meant; the state file, and the world before.
fn killed(machine: &Machine, meant: fn(&Effect) -> bool) -> Option<(String, World)> {
    let disk = machine.disk("ext4", MsFlags::empty(), "")?;
    let target = disk.target.display();
    let fstab = format!("{} {target} ext4 defaults 0 2\n", disk.node.display());
    fs::write("/etc/fstab", fstab).unwrap();
    let text = format!(
        "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\", \"commit=60\"]\n\
         [[device]]\nmatch.name = \"{}\"\nscheduler = \"mq-deadline\"\nread_ahead_kb = 64\n",
        disk.name
    );
    let path = machine.state(&text);
    let before = machine.world();
    let (state, store) = (bench::state(&text), Store::open("/"));
    // Once to the end, to see which step it is.
    let mut spy = Spy {
        live: Live::new("/"),
        meant,
        count: 0,
        first: None,
    };
    bench::apply(&mut spy, &store, &state).unwrap();
    let at = spy.first.unwrap();
    bench::rollback(&mut spy, &store, &To::Last)
        .unwrap()
        .unwrap();
    drop(spy);
    let mut system = Failing::new(Live::new("/"), at, Mode::DeadAfter);
    bench::apply(&mut system, &store, &state).unwrap_err();
    Some((path, before))
}

/// Counts the effects until one goes by that is meant.
struct Spy {
    live: Live,
    meant: fn(&Effect) -> bool,
    count: usize,
    first: Option<usize>,
}

impl System for Spy {
    fn facts(&mut self, scope: &Scope<'_>) -> Facts {
        self.live.facts(scope)
    }

    fn perform(&mut self, effect: &Effect) -> std::io::Result<()> {
        self.count += 1;
        if (self.meant)(effect) {
            self.first.get_or_insert(self.count);
        }
        self.live.perform(effect)
    }
}

fn everybody_says_so(machine: &Machine, state: &str) {
    let said =
        "was interrupted: `ssdtune rollback` puts back what it did, `ssdtune apply` does that";
    let world = machine.world();
    machine.ssdtune(&["status", state]).ends(3).says(said);
    machine.ssdtune(&["plan", state]).ends(0).says(said);
    machine.ssdtune(&["history"]).ends(0).shows("interrupted");
    machine.world().is(&world);
}

/// What stands half-way is not put back unasked.
fn an_apply_asks_first(machine: &Machine, state: &str) {
    let world = machine.world();
    machine
        .ssdtune(&["apply", state])
        .ends(1)
        .says("is put back first")
        .says("there is no terminal to ask on");
    machine.world().is(&world);
}

fn all_is_well(machine: &Machine, state: &str, before: &World) {
    let hidden = |world: &World| world.0.keys().filter(|name| name.contains("/.")).count();
    let world = machine.world();
    world.of_the_user().is(&before.of_the_user());
    assert_eq!(hidden(&world), 0);
    machine.ssdtune(&["apply", "--yes", state]).ends(0);
    machine.ssdtune(&["rollback", "--yes"]).ends(0);
    machine.world().of_the_user().is(&before.of_the_user());
}

#[test]
fn cut_off_while_live_values_change() {
    alone(|machine| {
        let meant = |effect: &Effect| matches!(effect, Effect::SetAttribute { .. });
        let Some((state, before)) = killed(machine, meant) else {
            return;
        };
        everybody_says_so(machine, &state);
        an_apply_asks_first(machine, &state);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        all_is_well(machine, &state, &before);
    });
}

#[test]
fn cut_off_between_two_files() {
    alone(|machine| {
        let meant = |effect: &Effect| match effect {
            Effect::Commit { target, .. } => target.as_bytes().ends_with(b"90-ssdtune.rules"),
            _ => false,
        };
        let Some((state, before)) = killed(machine, meant) else {
            return;
        };
        assert!(fs::exists("/etc/udev/rules.d/90-ssdtune.rules").unwrap());
        assert!(
            !fs::read_to_string("/etc/fstab")
                .unwrap()
                .contains("noatime")
        );
        everybody_says_so(machine, &state);
        an_apply_asks_first(machine, &state);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        all_is_well(machine, &state, &before);
    });
}

#[test]
fn an_apply_puts_back_what_was_cut_off_and_starts_over() {
    alone(|machine| {
        let meant = |effect: &Effect| matches!(effect, Effect::SetAttribute { .. });
        let Some((state, before)) = killed(machine, meant) else {
            return;
        };
        machine
            .ssdtune(&["apply", "--yes", &state])
            .ends(0)
            .says("apply 3 was interrupted, and is put back first.")
            .says("Rolled back, and read back")
            .says("Applied, and read back");
        machine.ssdtune(&["status", &state]).ends(0);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        all_is_well(machine, &state, &before);
    });
}

#[test]
fn cut_off_before_anything_was_changed_there_is_nothing_to_put_back() {
    alone(|machine| {
        let meant = |effect: &Effect| matches!(effect, Effect::LockNode { .. });
        let Some((state, before)) = killed(machine, meant) else {
            return;
        };
        everybody_says_so(machine, &state);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        all_is_well(machine, &state, &before);
    });
}

#[test]
fn after_a_boot_live_values_that_were_not_committed_are_nobody_s() {
    alone(|machine| {
        let meant = |effect: &Effect| matches!(effect, Effect::SetAttribute { .. });
        let Some((state, _)) = killed(machine, meant) else {
            return;
        };
        // As if the snapshot were of an earlier boot: what is live now came with this one.
        let number = Store::open("/").interrupted().unwrap().unwrap().number;
        let manifest = format!("/var/lib/ssdtune/snapshots/{number}/manifest.json");
        let text = fs::read_to_string(&manifest).unwrap();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let text = text.replace(boot.trim(), "11111111-2222-3333-4444-555555555555");
        fs::write(&manifest, text).unwrap();
        let world = machine.world();
        everybody_says_so(machine, &state);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        let live = ["file"];
        machine.world().without(&live).is(&world.without(&live));
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
    });
}

#[test]
fn w05_a_snapshot_of_another_machine_asks_for_force() {
    alone(|machine| {
        let Some(disk) = machine.disk("ext4", MsFlags::empty(), "") else {
            return;
        };
        let target = disk.target.display();
        let fstab = format!("{} {target} ext4 defaults 0 2\n", disk.node.display());
        fs::write("/etc/fstab", &fstab).unwrap();
        let state = machine.state(&format!(
            "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\"]\n"
        ));
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        fs::write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n").unwrap();
        let world = machine.world();
        machine
            .ssdtune(&["rollback", "--yes"])
            .ends(1)
            .shows("was made on another machine");
        machine.world().is(&world);
        machine.ssdtune(&["rollback", "--yes", "--force"]).ends(0);
        assert_eq!(fs::read_to_string("/etc/fstab").unwrap(), fstab);
    });
}

#[test]
fn a_damaged_snapshot_is_not_rolled_back_to() {
    alone(|machine| {
        let Some(disk) = machine.disk("ext4", MsFlags::empty(), "") else {
            return;
        };
        let target = disk.target.display();
        let fstab = format!("{} {target} ext4 defaults 0 2\n", disk.node.display());
        fs::write("/etc/fstab", &fstab).unwrap();
        let state = machine.state(&format!(
            "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\"]\n"
        ));
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let manifest = "/var/lib/ssdtune/snapshots/1/manifest.json";
        let text = fs::read_to_string(manifest).unwrap();
        // Still JSON, and still an fstab.
        let damaged = text.replacen("ext4 defaults 0 2", "ext4 defaultS 0 2", 1);
        assert_ne!(damaged, text);
        fs::write(manifest, damaged).unwrap();
        let world = machine.world();
        machine
            .ssdtune(&["rollback", "--yes"])
            .ends(1)
            .says("it does not say what `/var/lib/ssdtune/snapshots/1/fstab` holds");
        machine.world().is(&world);
        fs::write(manifest, text).unwrap();
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        assert_eq!(fs::read_to_string("/etc/fstab").unwrap(), fstab);
    });
}

#[test]
fn a_var_that_is_not_mounted_is_said() {
    alone(|machine| {
        let Some(disk) = machine.disk("ext4", MsFlags::empty(), "") else {
            return;
        };
        let target = disk.target.display();
        let node = disk.node.display();
        let fstab = format!("{node} {target} ext4 defaults 0 2\nUUID=x /var ext4 defaults 0 2\n");
        fs::write("/etc/fstab", fstab).unwrap();
        let state = machine.state(&format!(
            "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\"]\n"
        ));
        let world = machine.world();
        let run = machine.ssdtune(&["apply", "--yes", &state]).ends(1);
        assert!(run.err.contains("mount it first"), "{run:?}");
        machine.world().is(&world);
    });
}
