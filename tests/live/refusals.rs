//! What is refused before anything is done.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::mount::{MsFlags, mount};

use crate::support::machine::{Disk, Machine, alone};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ssdtune");

/// A disk, its line in fstab, and a state that asks for noatime on it.
fn one(machine: &Machine) -> Option<(Disk, String)> {
    let disk = machine.disk("ext4", MsFlags::empty(), "")?;
    let target = disk.target.display();
    let fstab = format!("{} {target} ext4 defaults 0 2\n", disk.node.display());
    fs::write("/etc/fstab", fstab).unwrap();
    let state = machine.state(&format!(
        "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\"]\n"
    ));
    Some((disk, state))
}

#[test]
fn without_a_terminal_and_without_yes_nothing_is_done() {
    alone(|machine| {
        let Some((_, state)) = one(machine) else {
            return;
        };
        let before = machine.world();
        let run = machine.ssdtune(&["apply", &state]).ends(1);
        assert_eq!(
            run.err,
            "error: there is no terminal to ask on: `ssdtune apply --yes` goes ahead without asking\n"
        );
        machine.world().is(&before);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let applied = machine.world();
        machine
            .ssdtune(&["rollback"])
            .ends(1)
            .says("`ssdtune rollback --yes`");
        machine.world().is(&applied);
    });
}

#[test]
fn a_sysfs_that_is_read_only_is_found_before_a_mount_is_changed() {
    alone(|machine| {
        let Some((disk, mut state)) = one(machine) else {
            return;
        };
        let text = fs::read_to_string(&state).unwrap();
        let name = &disk.name;
        state = machine.state(&format!(
            "{text}\n[[device]]\nmatch.name = \"{name}\"\nread_ahead_kb = 64\n"
        ));
        let remount = |flags| {
            let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags;
            mount(None::<&str>, "/sys", None::<&str>, flags, None::<&str>).unwrap();
        };
        let before = machine.world();
        remount(MsFlags::MS_RDONLY);
        let refused = machine.ssdtune(&["apply", "--yes", &state]).ends(1);
        refused.shows("`/sys` is mounted read-only");
        remount(MsFlags::empty());
        machine.world().is(&before);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let applied = machine.world();
        remount(MsFlags::MS_RDONLY);
        let refused = machine.ssdtune(&["rollback", "--yes"]).ends(1);
        refused.shows("`/sys` is mounted read-only");
        remount(MsFlags::empty());
        machine.world().is(&applied);
        remount(MsFlags::MS_RDONLY);
        machine
            .ssdtune(&["rollback", "--yes", "--only", "boot"])
            .ends(0);
        remount(MsFlags::empty());
    });
}

#[test]
fn w04_the_second_of_two_is_told_who_is_at_it() {
    alone(|machine| {
        let Some((_, state)) = one(machine) else {
            return;
        };
        let before = machine.world();
        let lock = ssdtune::system::lock::Lock::take(Path::new("/")).unwrap();
        let run = machine.ssdtune(&["apply", "--yes", &state]).ends(1);
        let start = format!(
            "error: another ssdtune (pid {}) has been at work since ",
            std::process::id()
        );
        assert!(run.err.starts_with(&start), "{}", run.err);
        assert!(
            run.err
                .ends_with(" UTC: wait for it, then run this again\n"),
            "{}",
            run.err
        );
        machine
            .ssdtune(&["rollback", "--yes"])
            .ends(1)
            .says("another ssdtune");
        machine
            .ssdtune(&["history", "prune"])
            .ends(1)
            .says("another ssdtune");
        // Who only looks needs no lock.
        machine
            .ssdtune(&["plan", "--detailed-exitcode", &state])
            .ends(3);
        drop(lock);
        machine.world().is(&before);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
    });
}

#[test]
fn not_root_is_one_line_and_plan_works() {
    alone(|machine| {
        let Some((_, state)) = one(machine) else {
            return;
        };
        let before = machine.world();
        // The test's folder is root's alone.
        let open = PermissionsExt::from_mode(0o755);
        fs::set_permissions(machine.at(""), open).unwrap();
        let program = machine.at("ssdtune");
        fs::copy(PROGRAM, &program).unwrap();
        let nobody = |arguments: &[&str]| {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            machine.run(command.arg(&program).args(arguments))
        };
        for verb in ["apply", "rollback"] {
            let state = (verb == "apply").then_some(state.as_str());
            let arguments: Vec<_> = [verb, "--yes"].into_iter().chain(state).collect();
            let run = nobody(&arguments).ends(1);
            assert!(run.err.starts_with(&format!(
                "error: `ssdtune {verb}` changes the system: run it as root"
            )));
            assert_eq!(
                (run.err.lines().count(), run.out.as_str()),
                (1, ""),
                "{run:?}"
            );
        }
        nobody(&["plan", "--detailed-exitcode", &state])
            .ends(3)
            .shows("noatime");
        machine.world().is(&before);
    });
}

#[test]
fn an_immutable_fstab_is_refused_in_the_plan() {
    alone(|machine| {
        let Some((_, state)) = one(machine) else {
            return;
        };
        let chattr = |flag: &str| Command::new("chattr").args([flag, "/etc/fstab"]).status();
        if !chattr("+i").is_ok_and(|status| status.success()) {
            eprintln!("skipped: fstab cannot be made immutable here");
            return;
        }
        let before = machine.world();
        let runs = [
            machine.ssdtune(&["plan", &state]),
            machine.ssdtune(&["apply", "--yes", &state]),
        ];
        chattr("-i").unwrap();
        for run in runs {
            run.ends(1)
                .shows("`/etc/fstab` or its folder is immutable: `lsattr -d /etc /etc/fstab`");
        }
        machine.world().is(&before);
    });
}

#[test]
fn a_bind_mounted_fstab_is_refused_in_the_plan() {
    alone(|machine| {
        let Some((_, state)) = one(machine) else {
            return;
        };
        let copy = machine.at("fstab");
        fs::copy("/etc/fstab", &copy).unwrap();
        let none = None::<&str>;
        mount(Some(&copy), "/etc/fstab", none, MsFlags::MS_BIND, none).unwrap();
        let before = machine.world();
        machine
            .ssdtune(&["apply", "--yes", &state])
            .ends(1)
            .shows("is a mount point itself");
        machine.world().is(&before);
        nix::mount::umount("/etc/fstab").unwrap();
    });
}

#[test]
fn w01_a_link_stays_a_link_and_the_real_file_is_written() {
    alone(|machine| {
        let Some((_, state)) = one(machine) else {
            return;
        };
        let real = machine.at("config");
        fs::create_dir(&real).unwrap();
        let real = real.join("fstab");
        fs::rename("/etc/fstab", machine.at("moved"))
            .or_else(|_| fs::copy("/etc/fstab", machine.at("moved")).map(drop))
            .unwrap();
        fs::rename(machine.at("moved"), &real).unwrap();
        let _ = fs::remove_file("/etc/fstab");
        symlink(&real, "/etc/fstab").unwrap();
        let before = (fs::read(&real).unwrap(), machine.world());
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        assert_eq!(fs::read_link("/etc/fstab").unwrap(), real);
        assert!(
            fs::read_to_string(&real)
                .unwrap()
                .contains("defaults,noatime")
        );
        let names = |folder: &Path| fs::read_dir(folder).unwrap().count();
        assert_eq!(names(real.parent().unwrap()), 1, "no stray file");
        machine
            .ssdtune(&["plan", "--detailed-exitcode", &state])
            .ends(0);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&before.1);
        assert_eq!(fs::read(&real).unwrap(), before.0);
        // A link to nothing is an error.
        fs::remove_file(&real).unwrap();
        machine.ssdtune(&["apply", "--yes", &state]).ends(1);
        assert!(!real.exists());
    });
}

#[test]
fn w03_owner_mode_label_and_attributes_are_kept() {
    alone(|machine| {
        let Some((_, state)) = one(machine) else {
            return;
        };
        fs::set_permissions("/etc/fstab", PermissionsExt::from_mode(0o604)).unwrap();
        chown("/etc/fstab", Some(5), Some(6)).unwrap();
        let mut tried = 0;
        for (name, value) in [
            ("user.note", &b"made by \xff"[..]),
            ("security.selinux", b"system_u:object_r:etc_t:s0\0"),
            ("trusted.ssdtune", b"1"),
        ] {
            let flags = rustix::fs::XattrFlags::empty();
            match rustix::fs::setxattr("/etc/fstab", name, value, flags) {
                Ok(()) => tried += 1,
                Err(error) => eprintln!("skipped: no {name} here: {error}"),
            }
        }
        assert!(tried > 0);
        let before = machine.world();
        let first = |world: &crate::support::machine::World| {
            world
                .get("file /etc/fstab")
                .split_once('\n')
                .unwrap()
                .0
                .to_owned()
        };
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let after = machine.world();
        assert_eq!(first(&after), first(&before));
        assert_eq!(
            after.get("file /etc/fstab.bak-1"),
            before.get("file /etc/fstab")
        );
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&before);
        assert_eq!(fs::metadata("/etc/fstab").unwrap().uid(), 5);
    });
}

#[test]
fn w05_a_full_etc_is_an_error_and_nothing_is_left() {
    alone(|machine| {
        let Some((_, state)) = one(machine) else {
            return;
        };
        let Some(small) = machine.disk("ext4", MsFlags::empty(), "") else {
            return;
        };
        for name in ["upper", "work"] {
            fs::create_dir(small.target.join(name)).unwrap();
        }
        fs::create_dir(machine.at("etc")).unwrap();
        fs::write(machine.at("etc/fstab"), fs::read("/etc/fstab").unwrap()).unwrap();
        fs::create_dir_all(machine.at("etc/udev/rules.d")).unwrap();
        fs::copy("/etc/machine-id", machine.at("etc/machine-id")).unwrap();
        let shown = small.target.display();
        let lower = machine.at("etc");
        let options = format!(
            "lowerdir={},upperdir={shown}/upper,workdir={shown}/work",
            lower.display()
        );
        machine.mount(
            Path::new("overlay"),
            Path::new("/etc"),
            "overlay",
            MsFlags::empty(),
            &options,
        );
        // fstab is in the upper folder already; then the disk is filled to its last block.
        fs::write("/etc/fstab", fs::read("/etc/fstab").unwrap()).unwrap();
        let mut fill = fs::File::create(small.target.join("fill")).unwrap();
        let block = [1; 1 << 16];
        while std::io::Write::write_all(&mut fill, &block).is_ok() {}
        for size in [4096, 1] {
            while std::io::Write::write_all(&mut fill, &block[..size]).is_ok() {}
        }
        drop(fill);
        let before = machine.world();
        let run = machine.ssdtune(&["apply", "--yes", &state]).ends(1);
        assert!(run.err.contains("no space left"), "{run:?}");
        assert!(run.err.contains("Nothing was changed."), "{run:?}");
        machine.world().is(&before);
        fs::remove_file(small.target.join("fill")).unwrap();
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&before);
    });
}

#[test]
fn s03_an_unfinished_snapshot_does_not_block_and_goes() {
    alone(|machine| {
        let Some((_, state)) = one(machine) else {
            return;
        };
        let before = machine.world();
        let folder = Path::new("/var/lib/ssdtune/snapshots/1");
        fs::create_dir_all(folder).unwrap();
        fs::copy("/etc/fstab", folder.join("fstab")).unwrap();
        fs::copy("/etc/fstab", "/etc/fstab.bak-1").unwrap();
        fs::write("/etc/.fstab.bak-1.ssdtune-new", "half").unwrap();
        fs::write("/etc/.fstab.ssdtune-2", "half").unwrap();
        machine
            .ssdtune(&["apply", "--yes", &state])
            .ends(0)
            .says("Snapshot 2");
        assert!(!folder.exists() && !Path::new("/etc/fstab.bak-1").exists());
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&before);
    });
}

#[test]
fn the_question_is_asked_on_a_terminal_and_no_is_no() {
    alone(|machine| {
        let Some((_, state)) = one(machine) else {
            return;
        };
        let before = machine.world();
        let ask = |answer: &str| {
            let mut command = Command::new("script");
            command.args(["-qec", &format!("{PROGRAM} apply {state}"), "/dev/null"]);
            let mut child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .ok()?;
            let mut stdin = child.stdin.take().unwrap();
            std::io::Write::write_all(&mut stdin, answer.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            drop(stdin);
            Some((
                output.status.code(),
                String::from_utf8_lossy(&output.stdout).into_owned(),
            ))
        };
        let Some((status, text)) = ask("n") else {
            eprintln!("skipped: no script(1)");
            return;
        };
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert!(
            text.contains(&format!("apply this to {}?", host.trim())),
            "{text}"
        );
        assert_eq!(status, Some(1), "{text}");
        machine.world().is(&before);
        let (status, text) = ask("y").unwrap();
        assert_eq!(status, Some(0), "{text}");
        assert!(text.contains("Applied, and read back."), "{text}");
    });
}
