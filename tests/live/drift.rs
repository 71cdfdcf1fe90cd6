//! Somebody else changes a value: it is seen, and mended.

use std::fs;

use nix::mount::MsFlags;

use crate::support::machine::alone;
use crate::support::queue_of;

#[test]
fn s08_a_value_changed_by_hand_is_planned_for_now_and_mended() {
    alone(|machine| {
        let Some(disk) = machine.disk("ext4", MsFlags::empty(), "") else {
            return;
        };
        let target = disk.target.display();
        let fstab = format!("{} {target} ext4 defaults 0 2\n", disk.node.display());
        fs::write("/etc/fstab", fstab).unwrap();
        let state = machine.state(&format!(
            "[[mount]]\nmatch.target = \"{target}\"\noptions = [\"noatime\"]\n\
             [[device]]\nmatch.name = \"{}\"\nscheduler = \"mq-deadline\"\nmq-deadline.fifo_batch = 1\n",
            disk.name
        ));
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        let good = machine.world().of_the_user();
        let file = format!("/sys/block/{}/queue/iosched/fifo_batch", disk.name);
        fs::write(&file, "33").unwrap();
        let run = machine
            .ssdtune(&["plan", "--detailed-exitcode", &state])
            .ends(3);
        let row = run
            .out
            .lines()
            .find(|line| line.contains("fifo_batch"))
            .unwrap();
        assert!(row.contains("33 -> 1"), "{}", run.out);
        machine.ssdtune(&["status", &state]).ends(3);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        assert_eq!(queue_of(&disk.name)["iosched/fifo_batch"], "1");
        machine.world().of_the_user().is(&good);

        let remount = nix::mount::mount(
            None::<&str>,
            &disk.target,
            None::<&str>,
            MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_STRICTATIME,
            None::<&str>,
        );
        remount.unwrap();
        machine
            .ssdtune(&["plan", "--detailed-exitcode", &state])
            .ends(3);
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        machine.world().of_the_user().is(&good);
        // Each of the three is a snapshot; the way back passes all of them.
        machine
            .ssdtune(&["rollback", "--yes", "--original"])
            .ends(0);
        assert!(
            !fs::read_to_string("/etc/fstab")
                .unwrap()
                .contains("noatime")
        );
    });
}

#[test]
fn a_value_that_the_kernel_rounds_is_named_and_planned_once() {
    alone(|machine| {
        let Some(disk) = machine.disk("ext4", MsFlags::empty(), "") else {
            return;
        };
        let before = machine.world();
        let state = |text: &str| {
            machine.state(&format!(
                "[[device]]\nmatch.name = \"{}\"\n{text}\n",
                disk.name
            ))
        };
        // 131 is no whole number of pages.
        let odd = state("read_ahead_kb = 131");
        let run = machine.ssdtune(&["apply", "--yes", &odd]);
        match run.status {
            0 => {
                machine
                    .ssdtune(&["plan", "--detailed-exitcode", &odd])
                    .ends(0);
                machine.ssdtune(&["rollback", "--yes"]).ends(0);
            }
            _ => assert!(
                run.out.contains("128") || run.err.contains("128"),
                "{run:?}"
            ),
        }
        machine.world().of_the_user().is(&before);
        let jiffies = state("scheduler = \"mq-deadline\"\nmq-deadline.read_expire = 101");
        machine.ssdtune(&["apply", "--yes", &jiffies]).ends(0);
        machine
            .ssdtune(&["plan", "--detailed-exitcode", &jiffies])
            .ends(0);
        machine.ssdtune(&["rollback", "--yes"]).ends(0);
        machine.world().of_the_user().is(&before);
    });
}

#[test]
fn s10_a_device_that_was_exchanged_is_left_alone_by_a_rollback() {
    alone(|machine| {
        let Some(disk) = machine.disk("ext4", MsFlags::empty(), "") else {
            return;
        };
        let state = machine.state(&format!(
            "[[device]]\nmatch.name = \"{}\"\nread_ahead_kb = 64\n",
            disk.name
        ));
        machine.ssdtune(&["apply", "--yes", &state]).ends(0);
        nix::mount::umount(&disk.target).unwrap();
        let node = disk.node.to_str().unwrap();
        crate::support::run("losetup", &["-d", node]);
        let file = machine.at("disk-other");
        fs::File::create(&file).unwrap().set_len(1 << 25).unwrap();
        let file = file.to_str().unwrap();
        // Somebody else may have taken the number meanwhile: then there is nothing to try.
        let again = std::process::Command::new("losetup")
            .args([node, file])
            .status()
            .unwrap();
        if !again.success() {
            eprintln!("skipped: {node} was taken by somebody else");
            return;
        }
        let queue = queue_of(&disk.name);
        machine
            .ssdtune(&["rollback", "--yes"])
            .ends(0)
            .shows("is another disk now");
        assert_eq!(queue_of(&disk.name), queue);
    });
}
