//! The real kernel: mounts, loop devices and full disks, in a mount namespace of the test's own.
//!
//! All of it needs root; what cannot be tried says so and is skipped.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test sets up what system/ is then asked to change"
)]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::mount::MsFlags;
use ssdtune::facts::Image;
use ssdtune::format::text::Text;
use ssdtune::system::{Effect, Live, System, read_file};
use support::{Loop, mount_at, mounted, privately, run};

fn text(path: &Path) -> Text {
    Text(path.as_os_str().as_bytes().to_vec())
}

fn words(list: &str) -> Vec<String> {
    list.split(',').map(str::to_owned).collect()
}

fn remount(target: &Path, flags: &str) -> std::io::Result<()> {
    Live::new("/").perform(&Effect::RemountFlags {
        target: text(target),
        flags: words(flags),
    })
}

fn reconfigure(target: &Path, options: &str) -> std::io::Result<()> {
    Live::new("/").perform(&Effect::Reconfigure {
        target: text(target),
        options: words(options),
    })
}

fn set(device: &Loop, file: &str, value: &str) -> std::io::Result<()> {
    Live::new("/").perform(&Effect::SetAttribute {
        device: device.name.clone(),
        file: file.to_owned(),
        value: value.to_owned(),
    })
}

fn image(bytes: impl Into<Vec<u8>>) -> Image {
    Image {
        bytes: Text(bytes.into()),
        mode: 0o644,
        ..Image::default()
    }
}

fn stage(root: &Path, path: &str, image: Image) -> std::io::Result<()> {
    let path = path.into();
    Live::new(root).perform(&Effect::Stage { path, image })
}

fn commit(root: &Path, expected: Option<Image>) -> std::io::Result<()> {
    Live::new(root).perform(&Effect::Commit {
        staged: "/etc/.fstab.ssdtune-1".into(),
        target: "/etc/fstab".into(),
        expected,
    })
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn m01_flags_change_and_all_others_stay() {
    privately(|folder| {
        let target = folder.join("a b");
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount_at(Path::new("x"), &target, "tmpfs", flags, "size=1m");
        assert_eq!(mounted(&target).0, "rw,nosuid,nodev,noexec,relatime");
        remount(&target, "rw,nosuid,nodev,noexec,noatime").unwrap();
        assert_eq!(mounted(&target).0, "rw,nosuid,nodev,noexec,noatime");
        remount(&target, "ro,nosuid,nodiratime,nosymfollow").unwrap();
        let (shown, options) = mounted(&target);
        assert_eq!(
            shown, "ro,nosuid,nodiratime,nosymfollow",
            "strictatime shows as nothing"
        );
        assert!(options.starts_with("rw,size=1024k"), "{options}");
        remount(&target, "rw,nosuid,nodev,noexec,relatime").unwrap();
        assert_eq!(mounted(&target).0, "rw,nosuid,nodev,noexec,relatime");
    });
}

#[test]
fn a_target_that_is_not_utf_8_is_remounted() {
    privately(|folder| {
        let target = folder.join(OsStr::from_bytes(b"\xff\xfe"));
        mount_at(Path::new("x"), &target, "tmpfs", MsFlags::empty(), "");
        remount(&target, "rw,noatime").unwrap();
        reconfigure(&target, "size=2m").unwrap();
        let (_, options) = {
            let info = fs::read("/proc/thread-self/mountinfo").unwrap();
            let end = &info[info.len() - 120..];
            ((), String::from_utf8_lossy(end).into_owned())
        };
        assert!(
            options.contains("noatime") && options.contains("size=2048k"),
            "{options}"
        );
    });
}

#[test]
fn nothing_mounted_is_said() {
    privately(|folder| {
        let plain = folder.join("plain");
        fs::create_dir(&plain).unwrap();
        let shown = plain.display();
        assert_eq!(
            remount(&plain, "rw,noatime").unwrap_err().to_string(),
            format!("cannot change the flags of `{shown}`: nothing is mounted there")
        );
        assert_eq!(
            reconfigure(&plain, "commit=60").unwrap_err().to_string(),
            format!("cannot change options of `{shown}`: nothing is mounted there")
        );
    });
}

#[test]
fn m02_ext4_options_change_and_come_back_flags_stay() {
    privately(|folder| {
        let Some(disk) = Loop::formatted(folder, 16, "ext4") else {
            return;
        };
        let target = folder.join("data");
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_RDONLY;
        mount_at(&disk.node, &target, "ext4", flags, "");
        let before = mounted(&target);
        reconfigure(&target, "commit=60,discard").unwrap();
        assert_eq!(
            mounted(&target),
            (before.0.clone(), format!("{},discard,commit=60", before.1))
        );
        remount(&target, "ro,nosuid,nodev,noatime").unwrap();
        let (shown, options) = mounted(&target);
        assert_eq!(shown, "ro,nosuid,nodev,noatime");
        assert!(options.contains("commit=60"), "{options}");
        reconfigure(&target, "commit=0,nodiscard").unwrap();
        remount(&target, "ro,nosuid,nodev,relatime").unwrap();
        assert_eq!(mounted(&target), before);
        nix::mount::umount(&target).unwrap();
    });
}

#[test]
fn o05_a_refusal_has_the_kernel_s_own_words_and_changes_nothing() {
    privately(|folder| {
        let Some(disk) = Loop::formatted(folder, 16, "ext4") else {
            return;
        };
        let target = folder.join("data");
        mount_at(&disk.node, &target, "ext4", MsFlags::empty(), "");
        let before = mounted(&target);
        let shown = target.display();
        assert_eq!(
            reconfigure(&target, "commit=60,bogus")
                .unwrap_err()
                .to_string(),
            format!("cannot set `bogus` on `{shown}`: ext4: Unknown parameter 'bogus'")
        );
        let error = reconfigure(&target, "commit=many").unwrap_err().to_string();
        assert!(error.starts_with("cannot set `commit=many` on"), "{error}");
        let error = reconfigure(&target, "commit=60,data=writeback").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert_eq!(mounted(&target), before);
        nix::mount::umount(&target).unwrap();
    });
}

#[test]
fn m01_a_filesystem_that_is_read_only_stays_so() {
    privately(|folder| {
        for (fstype, megabytes) in [("ext4", 16), ("xfs", 400), ("btrfs", 200)] {
            let Some(disk) = Loop::formatted(folder, megabytes, fstype) else {
                continue;
            };
            let target = folder.join(fstype);
            mount_at(&disk.node, &target, fstype, MsFlags::MS_RDONLY, "");
            // This mount may be written to, were it not for the filesystem.
            remount(&target, "rw,noatime").unwrap();
            let before = mounted(&target);
            assert!(before.1.starts_with("ro"), "{before:?}");
            reconfigure(&target, "lazytime").unwrap();
            let after = mounted(&target);
            assert!(after.1.starts_with("ro,lazytime"), "{fstype}: {after:?}");
            reconfigure(&target, "nolazytime").unwrap();
            assert_eq!(mounted(&target), before, "{fstype}");
            // And whoever asks for it gets it.
            reconfigure(&target, "rw").unwrap();
            assert!(mounted(&target).1.starts_with("rw"), "{fstype}");
            nix::mount::umount(&target).unwrap();
        }
    });
}

#[test]
fn xfs_flips_inode32_unless_it_is_named() {
    privately(|folder| {
        let Some(disk) = Loop::formatted(folder, 400, "xfs") else {
            return;
        };
        let target = folder.join("data");
        mount_at(&disk.node, &target, "xfs", MsFlags::empty(), "inode32");
        reconfigure(&target, "inode32,lazytime").unwrap();
        let options = mounted(&target).1;
        assert!(
            options.contains("inode32") && options.contains("lazytime"),
            "{options}"
        );
        let error = reconfigure(&target, "nobarrier").unwrap_err().to_string();
        assert!(
            error.ends_with("xfs: Unknown parameter 'nobarrier'"),
            "{error}"
        );
        nix::mount::umount(&target).unwrap();
    });
}

#[test]
fn attributes_of_a_real_queue_are_set_and_refused_in_words() {
    privately(|folder| {
        let Some(disk) = Loop::new(folder, 1) else {
            return;
        };
        for (file, value) in [
            ("queue/scheduler", "mq-deadline"),
            ("queue/nr_requests", "64"),
            ("queue/iosched/fifo_batch", "1"),
            ("queue/read_ahead_kb", "64"),
        ] {
            set(&disk, file, value).unwrap();
            let name = file.strip_prefix("queue/").unwrap();
            assert_eq!(disk.queue(name), value);
        }
        let refusal = |file: &str, value: &str| {
            let error = set(&disk, file, value).unwrap_err();
            let text = error.to_string();
            let front = format!("cannot set `{file}` of `{}` to `{value}`: ", disk.name);
            (error.kind(), text.strip_prefix(&front).unwrap().to_owned())
        };
        assert_eq!(
            refusal("queue/scheduler", "noop"),
            (
                ErrorKind::InvalidInput,
                "the kernel refuses this value".to_owned()
            )
        );
        let (kind, why) = refusal("queue/logical_block_size", "512");
        assert_eq!(kind, ErrorKind::PermissionDenied);
        assert!(why.starts_with("the attribute is read-only"), "{why}");
        set(&disk, "queue/scheduler", "none").unwrap();
        let (kind, why) = refusal("queue/iosched/fifo_batch", "1");
        assert_eq!(kind, ErrorKind::NotFound);
        assert!(why.ends_with("has no such attribute"), "{why}");
    });
}

#[test]
fn a_sysfs_that_is_read_only_is_said() {
    privately(|folder| {
        let Some(disk) = Loop::new(folder, 1) else {
            return;
        };
        remount(Path::new("/sys"), "ro,relatime").unwrap();
        let error = set(&disk, "queue/read_ahead_kb", "64").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnlyFilesystem);
        assert!(
            error.to_string().contains("/sys is mounted read-only"),
            "{error}"
        );
        remount(Path::new("/sys"), "rw,relatime").unwrap();
    });
}

#[test]
fn a_busy_queue_is_waited_for() {
    privately(|folder| {
        let Some(disk) = Loop::new(folder, 1) else {
            return;
        };
        let file = format!("/sys/block/{}/queue/scheduler", disk.name);
        let end = Instant::now() + Duration::from_millis(300);
        let busy = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // While schedulers are switched without a pause, every write is EBUSY.
                for scheduler in ["mq-deadline", "none"].into_iter().cycle() {
                    let _ = fs::write(&file, scheduler);
                    busy.store(true, Ordering::Relaxed);
                    if Instant::now() > end {
                        break;
                    }
                }
            });
            while !busy.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            set(&disk, "queue/nr_requests", "32").unwrap();
        });
        assert!(Instant::now() > end, "it was not waited for");
    });
}

#[test]
fn a_node_is_held_until_it_is_released_and_waited_for() {
    privately(|folder| {
        let Some(disk) = Loop::new(folder, 1) else {
            return;
        };
        let lock = Effect::LockNode {
            device: disk.name.clone(),
        };
        let open = || fs::File::open(&disk.node).unwrap();
        let mut system = Live::new("/");
        system.perform(&lock).unwrap();
        system.perform(&lock).unwrap();
        assert!(open().try_lock().is_err());
        system.perform(&Effect::UnlockNodes).unwrap();
        let rival = open();
        rival.try_lock().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                rival.unlock().unwrap();
            });
            system.perform(&lock).unwrap();
        });
        system.perform(&Effect::UnlockNodes).unwrap();
        rival.try_lock().unwrap();
        let start = Instant::now();
        let error = system.perform(&lock).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        assert!(start.elapsed() < Duration::from_secs(60));
    });
}

#[test]
fn w05_a_full_disk_leaves_no_trace() {
    privately(|root| {
        let etc = root.join("etc");
        mount_at(Path::new("x"), &etc, "tmpfs", MsFlags::empty(), "size=64k");
        stage(root, "/etc/fstab", image("old")).unwrap();
        let error = stage(root, "/etc/.fstab.ssdtune-1", image(vec![b'#'; 100_000])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(
            error.to_string(),
            "cannot write `.fstab.ssdtune-1` beside `/etc/.fstab.ssdtune-1`: no space left on device"
        );
        let error = Live::new(root)
            .perform(&Effect::Record {
                path: "/etc/fstab".into(),
                image: image(vec![b'#'; 100_000]),
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(names(&etc), ["fstab"]);
        assert_eq!(fs::read(etc.join("fstab")).unwrap(), b"old");
    });
}

#[test]
fn w03_a_label_is_kept_and_one_that_cannot_be_is_an_error() {
    privately(|root| {
        let etc = root.join("etc");
        let mut labelled = image("new");
        let label = || {
            (
                "security.selinux".to_owned(),
                "system_u:object_r:etc_t:s0\0".into(),
            )
        };
        labelled.xattrs.extend([label()]);
        fs::create_dir(&etc).unwrap();
        stage(root, "/etc/fstab", labelled.clone()).unwrap();
        assert_eq!(
            read_file(root, &"/etc/fstab".into()).unwrap(),
            Some(labelled.clone())
        );
        // ramfs has no extended attributes at all.
        mount_at(Path::new("x"), &etc, "ramfs", MsFlags::empty(), "");
        let error = stage(root, "/etc/fstab", labelled).unwrap_err().to_string();
        assert!(
            error.contains("cannot give it its `security.selinux`"),
            "{error}"
        );
        assert_eq!(names(&etc), Vec::<String>::new());
        stage(root, "/etc/fstab", image("old")).unwrap();
        stage(root, "/etc/.fstab.ssdtune-1", image("new")).unwrap();
        commit(root, Some(image("old"))).unwrap();
        assert_eq!(
            read_file(root, &"/etc/fstab".into()).unwrap(),
            Some(image("new"))
        );
    });
}

#[test]
fn the_machine_s_own_fstab_is_replaced_on_an_overlay_too() {
    privately(|folder| {
        for part in ["lower", "upper", "work"] {
            fs::create_dir(folder.join(part)).unwrap();
        }
        fs::write(folder.join("lower/fstab"), "old").unwrap();
        let options = format!(
            "lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work",
            folder.display()
        );
        // The thread's own /etc: nobody else sees it.
        mount_at(
            Path::new("overlay"),
            Path::new("/etc"),
            "overlay",
            MsFlags::empty(),
            &options,
        );
        let root = Path::new("/");
        let before = read_file(root, &"/etc/fstab".into()).unwrap();
        stage(root, "/etc/.fstab.ssdtune-1", image("new")).unwrap();
        commit(root, before).unwrap();
        assert_eq!(fs::read(folder.join("upper/fstab")).unwrap(), b"new");
        assert_eq!(fs::read(folder.join("lower/fstab")).unwrap(), b"old");
        assert_eq!(names(Path::new("/etc")), ["fstab"]);
    });
}

#[test]
fn a_target_that_cannot_be_replaced_is_left_and_said() {
    privately(|root| {
        let Some(disk) = Loop::formatted(root, 16, "ext4") else {
            return;
        };
        let etc = root.join("etc");
        mount_at(&disk.node, &etc, "ext4", MsFlags::empty(), "");
        stage(root, "/etc/fstab", image("old")).unwrap();
        stage(root, "/etc/.fstab.ssdtune-1", image("new")).unwrap();
        let fstab = etc.join("fstab");
        run("chattr", &["+i", fstab.to_str().unwrap()]);
        let error = commit(root, Some(image("old"))).unwrap_err();
        run("chattr", &["-i", fstab.to_str().unwrap()]);
        assert_eq!(
            error.to_string(),
            "cannot put the new file in the place of `/etc/fstab`: operation not permitted"
        );
        let bind = MsFlags::MS_BIND;
        nix::mount::mount(Some(&fstab), &fstab, None::<&str>, bind, None::<&str>).unwrap();
        let error = commit(root, Some(image("old"))).unwrap_err();
        nix::mount::umount(&fstab).unwrap();
        assert_eq!(error.kind(), ErrorKind::ResourceBusy);
        assert_eq!(fs::read(&fstab).unwrap(), b"old");
        commit(root, Some(image("old"))).unwrap();
        assert_eq!(fs::read(&fstab).unwrap(), b"new");
        nix::mount::umount(&etc).unwrap();
    });
}

#[test]
fn a_unit_is_masked_until_the_next_boot() {
    privately(|_| {
        // The thread's own /run: nobody else sees it.
        mount_at(
            Path::new("x"),
            Path::new("/run"),
            "tmpfs",
            MsFlags::empty(),
            "mode=755",
        );
        let unit = "tmp.mount".to_owned();
        let mut system = Live::new("/");
        system
            .perform(&Effect::MaskUnit { unit: unit.clone() })
            .unwrap();
        let link = fs::read_link("/run/systemd/system/tmp.mount").unwrap();
        assert_eq!(link, Path::new("/dev/null"));
        system.perform(&Effect::UnmaskUnit { unit }).unwrap();
        assert_eq!(
            names(Path::new("/run/systemd/system")),
            Vec::<String>::new()
        );
    });
}
