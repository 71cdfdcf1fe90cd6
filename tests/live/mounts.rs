//! Mounted filesystems: what stays, what waits, what comes back.

use std::fs;

use nix::mount::MsFlags;

use crate::support::machine::{Disk, Machine, alone};
use crate::support::mounted;

fn line(disk: &Disk, fstype: &str, options: &str) -> String {
    let [node, target] = [&disk.node, &disk.target].map(|path| path.display());
    format!("{node} {target} {fstype} {options} 0 2\n")
}

fn rule(machine: &Machine, options: &str) -> String {
    machine.state(&format!(
        "[[mount]]\nmatch.target = \"{}/*\"\noptions = [{options}]\n",
        machine.at("").display().to_string().trim_end_matches('/')
    ))
}

#[test]
fn m01_read_only_stays_and_flags_that_fstab_does_not_have() {
    alone(|machine| {
        let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
        for fstype in ["ext4", "xfs", "btrfs"] {
            let Some(disk) = machine.disk(fstype, flags, "") else {
                continue;
            };
            fs::write("/etc/fstab", line(&disk, fstype, "defaults")).unwrap();
            let before = machine.world();
            let (flags, options) = mounted(&disk.target);
            assert_eq!(flags, "ro,nosuid,noexec,relatime");
            let extra = if fstype == "ext4" {
                ", \"commit=60\""
            } else {
                ""
            };
            let state = rule(machine, &format!("\"noatime\"{extra}"));
            machine.ssdtune(&["apply", "--yes", &state]).ends(0);
            let (now, shown) = mounted(&disk.target);
            assert_eq!(now, "ro,nosuid,noexec,noatime", "{fstype}");
            assert!(shown.starts_with("ro"), "{fstype} {shown}");
            if extra.is_empty() {
                assert_eq!(shown, options);
            }
            machine
                .ssdtune(&["plan", "--detailed-exitcode", &state])
                .ends(0);
            machine.ssdtune(&["rollback", "--yes"]).ends(0);
            machine.world().of_the_user().is(&before.of_the_user());
        }
    });
}

#[test]
fn m02_a_rollback_takes_options_off_that_a_remount_would_keep() {
    alone(|machine| {
        let Some(disk) = machine.disk("ext4", MsFlags::empty(), "commit=30,errors=remount-ro")
        else {
            return;
        };
        fs::write(
            "/etc/fstab",
            line(&disk, "ext4", "commit=30,errors=remount-ro"),
        )
        .unwrap();
        let before = machine.world();
        let state = rule(
            machine,
            r#""noatime", "commit=60", "lazytime", "nosuid", "discard", "errors=continue""#,
        );
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let (flags, options) = mounted(&disk.target);
        assert_eq!(flags, "rw,nosuid,noatime");
        for option in ["commit=60", "lazytime", "discard"] {
            assert!(options.split(',').any(|shown| shown == option), "{options}");
        }
        assert!(!options.contains("errors=remount-ro"), "{options}");
        machine
            .ssdtune(&["plan", "--detailed-exitcode", &state])
            .ends(0);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&before);
    });
}

#[test]
fn m03_what_only_a_fresh_mount_takes_waits_and_is_not_planned_again() {
    alone(|machine| {
        let Some(disk) = machine.disk("xfs", MsFlags::empty(), "") else {
            return;
        };
        let options = "defaults,nofail,x-systemd.automount,_netdev,comment=x";
        fs::write("/etc/fstab", line(&disk, "xfs", options)).unwrap();
        let before = machine.world();
        let state = rule(machine, r#""discard", "logbsize=256k""#);
        let shown = mounted(&disk.target);
        machine
            .ssdtune(&["apply", "--yes", &state])
            .ends(0)
            .says("at the next boot");
        assert_eq!(mounted(&disk.target), shown);
        machine
            .ssdtune(&["plan", "--detailed-exitcode", &state])
            .ends(0);
        machine.ssdtune(&["status", &state]).ends(6);
        let json = machine.ssdtune(&["status", "--json", &state]).ends(6).out;
        assert!(json.contains("\"waiting_for_boot\": true"), "{json}");
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&before);
    });
}

#[test]
fn xfs_keeps_inode32_and_lazytime_over_a_reconfiguration() {
    alone(|machine| {
        let Some(disk) = machine.disk("xfs", MsFlags::empty(), "inode32") else {
            return;
        };
        fs::write("/etc/fstab", line(&disk, "xfs", "inode32")).unwrap();
        let before = machine.world();
        assert!(mounted(&disk.target).1.contains("inode32"));
        let state = rule(machine, r#""lazytime", "nodiratime""#);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let (_, options) = mounted(&disk.target);
        assert!(
            options.contains("inode32") && options.contains("lazytime"),
            "{options}"
        );
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&before);
    });
}

#[test]
fn m05_t01_systemd_is_told_and_a_mask_of_ours_goes_with_its_line() {
    alone(|machine| {
        // The sign that systemd runs; its socket is not there, so the reload says that it failed.
        fs::create_dir_all("/run/systemd/system").unwrap();
        fs::write("/etc/fstab", "# none\n").unwrap();
        let state = machine
            .state("[[tmpfs]]\ntarget = \"/var/cache/thumbs\"\nsize = \"1m\"\nmode = \"0755\"\n");
        let before = machine.world();
        let run = machine.ssdtune(&["apply", "--yes", &state]);
        let run = run.ends(0);
        let reloads = |run: &crate::support::machine::Run| run.err.matches("daemon-reload").count();
        assert_eq!(reloads(&run), 1, "{run:?}");
        let mask = "file /run/systemd/system/var-cache-thumbs.mount";
        let note = "file /run/ssdtune/masks/var-cache-thumbs.mount";
        assert!(machine.world().get(mask).ends_with("-> /dev/null"));
        machine
            .ssdtune(&["plan", "--detailed-exitcode", &state])
            .ends(0);
        let run = machine.ssdtune(&["rollback", "--yes"]).ends(0);
        assert_eq!(reloads(&run), 1, "{run:?}");
        let world = machine.world();
        assert_eq!((world.get(mask), world.get(note)), ("nothing", "nothing"));
        world.of_the_user().is(&before);
        // A rollback of that rollback brings the line again, and the mask with it.
        machine.ssdtune(&["rollback", "--yes", "2"]).ends(0);
        assert!(machine.world().get(mask).ends_with("-> /dev/null"));
        // Dropped from the state, both go.
        let empty = machine.state("");
        machine.ssdtune(&["apply", "--yes", &empty]).ends(0);
        machine.world().of_the_user().is(&before);
    });
}
