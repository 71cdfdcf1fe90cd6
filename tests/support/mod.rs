//! Real things for tests that run as root: a private mount namespace, loop devices.

#![allow(dead_code, reason = "each test file takes what it needs")]
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test sets up what system/ is then asked to change"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

pub mod bench;
pub mod machine;

/// Runs a test in a mount namespace of its own, with a tmpfs as its working folder; whatever it
/// mounts is gone with it. Skipped, with the reason printed, where that cannot be had.
pub fn privately(test: impl FnOnce(&Path) + Send + 'static) {
    let thread = std::thread::spawn(|| {
        // The namespace is the thread's; the folder's file descriptors are unshared with it.
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNS) {
            eprintln!("skipped: no private mount namespace: {error} (run as root)");
            return;
        }
        let none = None::<&str>;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(none, "/", none, private, none).unwrap();
        let folder = tempfile::tempdir().unwrap();
        mount(
            Some("tmpfs"),
            folder.path(),
            Some("tmpfs"),
            MsFlags::empty(),
            none,
        )
        .unwrap();
        test(folder.path());
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Mounts in the thread's namespace.
pub fn mount_at(source: &Path, target: &Path, fstype: &str, flags: MsFlags, options: &str) {
    fs::create_dir_all(target).unwrap();
    mount(Some(source), target, Some(fstype), flags, Some(options)).unwrap();
}

/// Per-mount flags, and the filesystem's options, of the last mount at a target: what the thread's
/// own mountinfo has, `/proc/self` being that of the first thread.
pub fn mounted(target: &Path) -> (String, String) {
    let target: Vec<u8> = target
        .as_os_str()
        .as_bytes()
        .iter()
        .flat_map(|&byte| match byte {
            b' ' => b"\\040".to_vec(),
            _ => vec![byte],
        })
        .collect();
    let text = fs::read("/proc/thread-self/mountinfo").unwrap();
    let line = text
        .split(|&byte| byte == b'\n')
        .rfind(|line| line.split(|&byte| byte == b' ').nth(4) == Some(&target))
        .expect("nothing is mounted there");
    let line = String::from_utf8_lossy(line).into_owned();
    let (front, back) = line.split_once(" - ").unwrap();
    let word = |text: &str, at| text.split(' ').nth(at).unwrap().to_owned();
    (word(front, 5), word(back, 2))
}

/// Runs a command of the test's own; its failure is the test's.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A loop device over a sparse file, detached when it is dropped, its queue as it was.
pub struct Loop {
    /// `/dev/loop3`
    pub node: PathBuf,
    /// `loop3`
    pub name: String,
    before: BTreeMap<String, String>,
}

/// Every file of a queue by name, `iosched/` ones too; of schedulers, the active one.
pub fn queue_of(name: &str) -> BTreeMap<String, String> {
    let queue = Path::new("/sys/block").join(name).join("queue");
    let mut values = BTreeMap::new();
    for (folder, prefix) in [(queue.join("iosched"), "iosched/"), (queue, "")] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let file = entry.file_name().into_string().unwrap();
            // Folders, and files that are for writing only, have no value.
            if let Ok(text) = fs::read_to_string(entry.path()) {
                let value = match file.as_str() {
                    "scheduler" => text.split(['[', ']']).nth(1).unwrap_or(&text),
                    _ => &text,
                };
                values.insert(format!("{prefix}{file}"), value.trim().to_owned());
            }
        }
    }
    values
}

/// The order in which values are put back: what resets others comes before them.
fn rank(file: &str) -> usize {
    match file {
        "rotational" => 0,
        "scheduler" => 1,
        "nr_requests" => 2,
        "read_ahead_kb" => 5,
        _ if file.starts_with("iosched/") => 3,
        _ => 4,
    }
}

impl Loop {
    /// A new one over a file in `folder`; none, with the reason printed, where there is no losetup.
    pub fn new(folder: &Path, megabytes: u64) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = folder.join(format!("disk-{count}"));
        fs::File::create(&file)
            .unwrap()
            .set_len(megabytes << 20)
            .unwrap();
        let losetup = Command::new("losetup")
            .args(["-f", "--show"])
            .arg(&file)
            .output();
        let node = match losetup {
            Ok(output) if output.status.success() => output.stdout,
            other => {
                eprintln!("skipped: no loop device: {other:?}");
                return None;
            }
        };
        let node = PathBuf::from(String::from_utf8(node).unwrap().trim());
        let name = node.file_name().unwrap().to_str().unwrap().to_owned();
        let mut device = Self {
            node,
            name,
            before: BTreeMap::new(),
        };
        device.before = queue_of(&device.name);
        Some(device)
    }

    /// A file of its queue; of a scheduler, the active one.
    pub fn queue(&self, name: &str) -> String {
        let path = format!("/sys/block/{}/queue/{name}", self.name);
        let text = fs::read_to_string(path).unwrap();
        let active = text.split(['[', ']']).nth(1).unwrap_or(text.trim());
        active.to_owned()
    }

    /// Writes a file of its queue, as somebody with a shell would.
    pub fn write(&self, name: &str, value: &str) {
        let path = format!("/sys/block/{}/queue/{name}", self.name);
        fs::write(path, value).unwrap();
    }

    /// The same with a filesystem in it; none, with the reason printed, without the tool.
    pub fn formatted(folder: &Path, megabytes: u64, fstype: &str) -> Option<Self> {
        let device = Self::new(folder, megabytes)?;
        let mkfs = Command::new(format!("mkfs.{fstype}"))
            .args(["-q".as_ref(), device.node.as_os_str()])
            .output();
        match mkfs {
            Ok(output) if output.status.success() => Some(device),
            other => {
                eprintln!("skipped: no mkfs.{fstype}: {other:?}");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // A loop device keeps its queue from one file to the next.
        let mut files: Vec<_> = self.before.iter().collect();
        files.sort_by_key(|(file, _)| rank(file));
        for (file, value) in files {
            // Even the same value resets others.
            if queue_of(&self.name).get(file) != Some(value) {
                let _ = fs::write(format!("/sys/block/{}/queue/{file}", self.name), value);
            }
        }
        // Mounts in a namespace that is about to go keep it busy: it goes when they do.
        let _ = Command::new("losetup").arg("-d").arg(&self.node).output();
    }
}
