//! The tables against the running kernel: as root, in a mount namespace of the test's own.

#![allow(
    clippy::disallowed_methods,
    reason = "filesystems are made and mounted for the test"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::CWD;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, FsPickFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    UnmountFlags, fsconfig_create, fsconfig_reconfigure, fsconfig_set_flag, fsconfig_set_string,
    fsmount, fsopen, fspick, mount_change, move_mount, unmount,
};

use super::*;

/// Sets an option as `fsconfig` has it; the error with what the kernel says about it.
fn set(filesystem: impl AsFd, item: &str) -> Result<(), String> {
    let done = match item.split_once('=') {
        Some((name, value)) => fsconfig_set_string(&filesystem, name, value),
        None => fsconfig_set_flag(&filesystem, item),
    };
    done.map_err(|error| {
        let mut message = [0; 512];
        let length = rustix::io::read(&filesystem, &mut message).unwrap_or(0);
        format!("{error}: {}", String::from_utf8_lossy(&message[..length]))
    })
}

/// Options as somebody might write them, one or more for a row.
fn examples(option: &MountOption) -> Vec<String> {
    fn values(kind: &ValueKind) -> Vec<String> {
        match kind {
            ValueKind::Flag | ValueKind::Text => vec![],
            ValueKind::Optional(kind) => values(kind),
            ValueKind::Number { min, max } => {
                vec![min.to_string(), (min + (max - min).min(3)).to_string()]
            }
            ValueKind::PowerOfTwo(_) => vec!["64".to_owned()],
            ValueKind::Size { min, max, .. } => {
                vec![min.to_string(), max.min(&(1 << 30)).to_string()]
            }
            ValueKind::SizeOrPercent => vec!["40%".to_owned(), "8m".to_owned()],
            ValueKind::Count => vec!["1k".to_owned()],
            ValueKind::Octal => vec!["0755".to_owned()],
            ValueKind::OneOf(words) => words.iter().map(|word| (*word).to_owned()).collect(),
            ValueKind::Leveled(words) => words
                .iter()
                .flat_map(|(word, bounds)| {
                    let level = bounds.map(|(_, max)| format!("{word}:{max}"));
                    [Some((*word).to_owned()), level].into_iter().flatten()
                })
                .collect(),
        }
    }
    let name = option.name;
    let valued = values(&option.value)
        .into_iter()
        .map(|value| format!("{name}={value}"));
    let bare = matches!(option.value, ValueKind::Flag | ValueKind::Optional(_));
    bare.then(|| name.to_owned())
        .into_iter()
        .chain(valued)
        .collect()
}

fn running() -> Kernel {
    Kernel::parse(&fs::read_to_string("/proc/sys/kernel/osrelease").unwrap()).unwrap()
}

/// The options that this kernel should have.
fn expected(fstype: &str) -> impl Iterator<Item = &'static MountOption> {
    let kernel = running();
    all().filter(move |option| {
        (option.is_of(fstype))
            && option.level == Level::Superblock
            && option.since.is_none_or(|since| kernel >= since)
    })
}

#[test]
fn the_kernel_knows_what_the_tables_know() {
    for fstype in ["ext4", "xfs", "btrfs", "tmpfs", "f2fs", "vfat"] {
        let Ok(_) = fsopen(fstype, FsOpenFlags::empty()) else {
            eprintln!("skipped {fstype}: not root, or this kernel does not have it");
            continue;
        };
        for option in expected(fstype).filter(|option| !option.fs.is_empty()) {
            for item in examples(option) {
                let filesystem = fsopen(fstype, FsOpenFlags::empty()).unwrap();
                let answer = set(&filesystem, &item);
                // Whether quota are there is a matter of the kernel's configuration.
                if item.contains("quota") {
                    continue;
                }
                let unknown = matches!(&answer, Err(why) if why.contains("Unknown parameter"));
                let fatal = option
                    .gone
                    .is_some_and(|gone| !gone.ignored && running() >= gone.since);
                assert_eq!(unknown, fatal, "{fstype} {item}: {answer:?}");
            }
        }
    }
}

/// A filesystem mounted in a namespace that goes with the thread.
struct Lab {
    fstype: &'static str,
    folder: tempfile::TempDir,
    loop_device: Option<PathBuf>,
}

impl Lab {
    /// None where it cannot be had, which is said.
    fn new(fstype: &'static str, mkfs: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let skipped = |why: &str| eprintln!("skipped {fstype}: {why}");
        if !nix::unistd::geteuid().is_root() {
            skipped("not root");
            return None;
        }
        if nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).is_err() {
            skipped("no mount namespace of its own allowed");
            return None;
        }
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).unwrap();
        let target = folder.path().join("mnt");
        fs::create_dir(&target).unwrap();
        let mut lab = Self {
            fstype,
            folder,
            loop_device: None,
        };
        if let Some((program, arguments)) = mkfs.split_first() {
            let image = lab.folder.path().join("image");
            fs::File::create(&image)
                .unwrap()
                .set_len(400 << 20)
                .unwrap();
            match Command::new(program).args(arguments).arg(&image).output() {
                Ok(output) if output.status.success() => {}
                _ => {
                    skipped("its mkfs is not there");
                    return None;
                }
            }
            let losetup = Command::new("losetup")
                .args(["-f", "--show"])
                .arg(&image)
                .output();
            match losetup {
                Ok(output) if output.status.success() => {
                    let device = String::from_utf8(output.stdout).unwrap();
                    lab.loop_device = Some(PathBuf::from(device.trim()));
                }
                _ => {
                    skipped("no loop device");
                    return None;
                }
            }
        }
        let Ok(filesystem) = fsopen(fstype, FsOpenFlags::empty()) else {
            skipped("this kernel does not have it");
            return None;
        };
        if let Some(device) = &lab.loop_device {
            fsconfig_set_string(&filesystem, "source", device.as_path()).unwrap();
        }
        fsconfig_create(&filesystem).unwrap();
        let mount = fsmount(&filesystem, FsMountFlags::empty(), MountAttrFlags::empty()).unwrap();
        move_mount(
            &mount,
            "",
            CWD,
            &target,
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
        )
        .unwrap();
        Some(lab)
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }

    fn pick(&self) -> OwnedFd {
        fspick(CWD, self.target(), FsPickFlags::empty()).unwrap()
    }

    /// Changes an option live.
    fn change(&self, item: &str) -> Result<(), String> {
        let filesystem = self.pick();
        set(&filesystem, item)?;
        fsconfig_reconfigure(&filesystem).map_err(|error| error.to_string())
    }

    /// Flags and options as mountinfo shows them.
    fn shown(&self) -> (Vec<String>, Vec<String>) {
        let text = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
        let target = self.target();
        let line = text
            .lines()
            .rfind(|line| line.split(' ').nth(4).map(Path::new) == Some(&target))
            .unwrap();
        let list = |field: &str| field.split(',').map(str::to_owned).collect();
        let flags = line.split(' ').nth(5).unwrap();
        let options = line.rsplit(' ').next().unwrap();
        (list(flags), list(options))
    }

    /// Asks with what mountinfo shows now.
    fn ask<T>(&self, question: impl Fn(&Mounted) -> T) -> T {
        let (flags, options) = self.shown();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let memory = fs::read_to_string("/proc/meminfo").unwrap();
        let memory_kb = memory.split_whitespace().nth(1).unwrap().parse().unwrap();
        question(&Mounted {
            fstype: self.fstype,
            flags: &flags,
            options: &options,
            memory_kb,
        })
    }

    /// Changes every option live that the tables say can be, and back; lists what went otherwise.
    fn every_option_does_as_the_table_says(&self) -> Vec<String> {
        // Older kernels refuse less, newer ones more: what must not work is tried on this one only.
        let as_tried = running() == Kernel(6, 18);
        let mut wrong = Vec::new();
        for option in expected(self.fstype).filter(|option| option.gone.is_none()) {
            for item in examples(option) {
                let before = self.shown();
                let back = self.ask(|mounted| undo(&item, mounted));
                let differs = self.ask(|mounted| standing(&item, mounted)) != Standing::InEffect;
                match (option.live, back) {
                    (Live::Yes, Some(back)) => {
                        if let Err(why) = self.change(&item) {
                            wrong.push(format!("{item} is refused: {why}"));
                            continue;
                        }
                        let now = self.ask(|mounted| standing(&item, mounted));
                        if now != Standing::InEffect {
                            wrong.push(format!("{item} is taken, then {now:?}"));
                        }
                        if let Err(why) = self.change(&back) {
                            wrong.push(format!("{item}, then {back} is refused: {why}"));
                        }
                        if self.shown() != before {
                            wrong.push(format!("{item}, then {back}: {:?}", self.shown()));
                        }
                    }
                    (Live::Ignored(_), _) if differs && as_tried && option.slot() != "noload" => {
                        // Shown by ext4 as if it had been done: noload.
                        let _ = self.change(&item);
                        if self.shown() != before {
                            wrong.push(format!("{item} is not ignored: {:?}", self.shown()));
                        }
                    }
                    (Live::Refused(_), _)
                        if differs
                            && as_tried
                            && option.unseen != Unseen::Unknown
                            && self.change(&item).is_ok() =>
                    {
                        wrong.push(format!("{item} is not refused: {:?}", self.shown()));
                    }
                    _ => {}
                }
            }
        }
        wrong
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = unmount(self.target(), UnmountFlags::empty());
        if let Some(device) = &self.loop_device {
            let _ = Command::new("losetup").arg("-d").arg(device).status();
        }
    }
}

#[test]
fn tmpfs_does_as_the_table_says() {
    if let Some(lab) = Lab::new("tmpfs", &[]) {
        assert_eq!(lab.every_option_does_as_the_table_says(), [""; 0]);
    }
}

#[test]
fn ext4_does_as_the_table_says() {
    if let Some(lab) = Lab::new("ext4", &["mkfs.ext4", "-q"]) {
        assert_eq!(lab.every_option_does_as_the_table_says(), [""; 0]);
    }
}

#[test]
fn xfs_does_as_the_table_says() {
    if let Some(lab) = Lab::new("xfs", &["mkfs.xfs", "-q"]) {
        assert_eq!(lab.every_option_does_as_the_table_says(), [""; 0]);
    }
}

#[test]
fn btrfs_does_as_the_table_says() {
    if let Some(lab) = Lab::new("btrfs", &["mkfs.btrfs", "-q"]) {
        assert_eq!(lab.every_option_does_as_the_table_says(), [""; 0]);
    }
}
