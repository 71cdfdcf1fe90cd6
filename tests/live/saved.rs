//! Plans that are kept: carried out as they stand, once, or refused by what has moved.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use nix::mount::MsFlags;

use crate::support::machine::{Disk, Machine, alone};

/// A disk, its fstab, and the names of a state file and of the plan that is kept of it.
fn scene(machine: &Machine) -> Option<(Disk, String, String)> {
    let disk = machine.disk("ext4", MsFlags::empty(), "")?;
    let target = disk.target.display();
    let fstab = format!("{} {target} ext4 defaults 0 2\n", disk.node.display());
    fs::write("/etc/fstab", fstab).unwrap();
    let state = machine.state(&format!(
        "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\"]\n\
         [[device]]\nmatch.name = \"{}\"\nscheduler = \"mq-deadline\"\n",
        disk.name
    ));
    let plan = machine.at("p.json").to_str().unwrap().to_owned();
    machine
        .ssdtune(&["plan", "--out", &plan, &state])
        .ends(0)
        .says("carries it out as it stands");
    Some((disk, state, plan))
}

#[test]
fn a_kept_plan_is_carried_out_once() {
    alone(|machine| {
        let Some((_, state, plan)) = scene(machine) else {
            return;
        };
        let mode = fs::metadata(&plan).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "it holds fstab whole");
        machine
            .ssdtune(&["apply", "--yes", "--plan", &plan])
            .ends(0);
        machine.ssdtune(&["status", &state]).ends(0);
        machine
            .ssdtune(&["apply", "--yes", "--plan", &plan])
            .ends(1)
            .says("this plan was carried out before, as apply 1");
        // The machine is then as it was when the plan was made, and still it is not the same.
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        let world = machine.world();
        machine
            .ssdtune(&["apply", "--yes", "--plan", &plan])
            .ends(1)
            .says("make a new plan");
        machine.world().is(&world);
    });
}

#[test]
fn a_machine_that_has_moved_refuses_it_by_name() {
    alone(|machine| {
        let Some((disk, state, plan)) = scene(machine) else {
            return;
        };
        let refused = |text: &str| {
            let world = machine.world();
            machine
                .ssdtune(&["apply", "--yes", "--plan", &plan])
                .ends(1)
                .says(text);
            machine.world().is(&world);
        };
        let fstab = fs::read("/etc/fstab").unwrap();
        fs::write("/etc/fstab", [&b"# mine\n"[..], &fstab].concat()).unwrap();
        refused("`/etc/fstab` changed since the plan was made");
        fs::write("/etc/fstab", &fstab).unwrap();

        let scheduler = format!("/sys/block/{}/queue/scheduler", disk.name);
        fs::write(&scheduler, "bfq").unwrap();
        refused(&format!("the queue of `{}` changed", disk.name));
        fs::write(&scheduler, "none").unwrap();

        let text = fs::read_to_string(&state).unwrap();
        fs::write(&state, text.replace("noatime", "lazytime")).unwrap();
        refused("state.toml` changed since the plan was made");
        // Without the file, what it said is in the plan.
        fs::remove_file(&state).unwrap();
        machine
            .ssdtune(&["apply", "--yes", "--plan", &plan])
            .ends(0);
    });
}

#[test]
fn only_root_s_own_plans_are_carried_out() {
    alone(|machine| {
        let Some((_, state, plan)) = scene(machine) else {
            return;
        };
        let refused = |status: i32, text: &str| {
            let world = machine.world();
            machine
                .ssdtune(&["apply", "--yes", "--plan", &plan])
                .ends(status)
                .says(text);
            machine.world().is(&world);
        };
        let mode = |mode| fs::set_permissions(&plan, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o666);
        refused(2, "can be written by others");
        mode(0o600);
        std::os::unix::fs::chown(&plan, Some(1000), None).unwrap();
        refused(2, "belongs to user 1000");
        std::os::unix::fs::chown(&plan, Some(0), None).unwrap();
        let json = fs::read_to_string(&plan).unwrap();
        fs::write(&plan, json.replace("\"mq-deadline\"", "\"bfq\"")).unwrap();
        refused(1, "changed since the plan was made");
        fs::write(&plan, "{}").unwrap();
        refused(2, "this is no plan that `plan --out` wrote");
        machine
            .ssdtune(&["apply", "--plan", &plan, &state])
            .ends(2)
            .says("cannot be used with");
        machine
            .ssdtune(&["plan", "--out", "/etc", &state])
            .ends(1)
            .says("it is a folder");
    });
}

#[test]
fn a_plan_that_was_made_elsewhere_from_facts_is_carried_out() {
    alone(|machine| {
        let Some((_, state, plan)) = scene(machine) else {
            return;
        };
        let facts = machine.at("facts.json");
        fs::write(&facts, machine.ssdtune(&["facts"]).ends(0).out).unwrap();
        let facts = facts.to_str().unwrap();
        machine
            .ssdtune(&["plan", "--facts", facts, "--out", &plan, &state])
            .ends(0);
        machine
            .ssdtune(&["apply", "--yes", "--plan", &plan])
            .ends(0);
        machine.ssdtune(&["status", &state]).ends(0);
    });
}
