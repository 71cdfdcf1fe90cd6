//! A machine of the test's own: its /etc, /run and /var/lib, its disks, in a process of its own.
//!
//! The test runs its own executable again, in a private mount namespace, and nothing of the real
//! /etc, /run or /var/lib is written to: /etc is an overlay whose upper folder is on a disk (one in
//! memory is refused by ssdtune, with reason), the others are the test's own folders. Mounts go with
//! the process, however it ends; loop devices are detached also where the test panics.

use std::any::type_name;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use super::{Loop, mounted, queue_of};

/// Says to the second run which test it is.
const INSIDE: &str = "SSDTUNE_TEST_INSIDE";

/// Runs a test on a machine of its own; skipped, with the reason printed, where that cannot be had.
///
/// The test's name is that of the function in which the closure stands.
pub fn alone<F: FnOnce(&Machine)>(test: F) {
    let name = type_name::<F>();
    let name = name.split_once("::").map_or(name, |(_, name)| name);
    let name = name.trim_end_matches("::{{closure}}");
    if std::env::var(INSIDE).as_deref() == Ok(name) {
        if let Some(machine) = Machine::new() {
            test(&machine);
        }
        return;
    }
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: {name} needs root");
        return;
    }
    // What a thread unshares, its children inherit.
    let output = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).ok()?;
            let run = Command::new(std::env::current_exe().unwrap())
                .args([name, "--exact", "--nocapture", "--test-threads=1"])
                .env(INSIDE, name)
                .stdin(Stdio::null())
                .output();
            Some(run.unwrap())
        });
        thread.join().unwrap()
    });
    let Some(output) = output else {
        eprintln!("skipped: {name} needs a private mount namespace");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    eprintln!("{said}");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{name} failed\n{told}");
    assert!(told.contains("1 passed"), "{name} was not run\n{told}");
}

/// The machine that the process is on.
pub struct Machine {
    /// Images of disks.
    images: PathBuf,
    /// The mounted disk that holds everything else, and it.
    folder: PathBuf,
    own: RefCell<Vec<Loop>>,
    mounts: RefCell<Vec<PathBuf>>,
    loops: RefCell<Vec<Loop>>,
    count: Cell<u32>,
}

/// A disk with a filesystem, mounted.
pub struct Disk {
    /// `loop3`
    pub name: String,
    /// `/dev/loop3`
    pub node: PathBuf,
    /// Where it is mounted.
    pub target: PathBuf,
}

/// How a run of the program ended.
#[derive(Debug)]
pub struct Run {
    /// Exit status; -1 where it was killed.
    pub status: i32,
    /// What it wrote to stdout.
    pub out: String,
    /// What it wrote to stderr.
    pub err: String,
}

impl Run {
    /// Requires an exit status.
    #[track_caller]
    pub fn ends(self, status: i32) -> Self {
        assert_eq!(
            self.status, status,
            "stdout:\n{}\nstderr:\n{}",
            self.out, self.err
        );
        self
    }

    /// Requires a text on stderr.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text), "`{text}` is not in\n{}", self.err);
        self
    }

    /// Requires a text on stdout.
    #[track_caller]
    pub fn shows(self, text: &str) -> Self {
        assert!(self.out.contains(text), "`{text}` is not in\n{}", self.out);
        self
    }
}

const NONE: Option<&str> = None;

fn bind(from: &Path, to: &str) {
    mount(Some(from), to, NONE, MsFlags::MS_BIND, NONE).unwrap();
}

impl Machine {
    /// The namespace is ours already.
    fn new() -> Option<Self> {
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(NONE, "/", NONE, private, NONE).unwrap();
        // Images in memory: a test syncs some hundred times.
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("ssdtune-live-");
        let images = builder
            .tempdir_in("/dev/shm")
            .or_else(|_| builder.tempdir_in("/var/tmp"))
            .unwrap();
        let images = images.keep();
        let machine = Self {
            folder: images.join("disk"),
            images,
            mounts: RefCell::default(),
            loops: RefCell::default(),
            own: RefCell::default(),
            count: Cell::new(0),
        };
        let disk = Loop::formatted(&machine.images, 512, "ext4")?;
        machine.mount(&disk.node, &machine.folder, "ext4", MsFlags::empty(), "");
        machine.own.borrow_mut().push(disk);
        for name in ["upper", "work", "lib", "run"] {
            fs::create_dir(machine.at(name)).unwrap();
        }
        let shown = machine.folder.display();
        let options = format!("lowerdir=/etc,upperdir={shown}/upper,workdir={shown}/work");
        let overlay = Some("overlay");
        if let Err(error) = mount(overlay, "/etc", overlay, MsFlags::empty(), Some(&*options)) {
            eprintln!("skipped: no overlay over /etc: {error}");
            return None;
        }
        machine.mounts.borrow_mut().push("/etc".into());
        bind(&machine.at("lib"), "/var/lib");
        machine.mounts.borrow_mut().push("/var/lib".into());
        let tmpfs = Some("tmpfs");
        mount(tmpfs, "/run", tmpfs, MsFlags::empty(), Some("mode=755")).unwrap();
        machine.mounts.borrow_mut().push("/run".into());
        fs::create_dir_all("/etc/udev/rules.d").unwrap();
        Some(machine)
    }

    /// A path in the test's own folder, which is on a disk.
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Mounts, until the test ends.
    pub fn mount(&self, source: &Path, target: &Path, fstype: &str, flags: MsFlags, options: &str) {
        super::mount_at(source, target, fstype, flags, options);
        self.mounts.borrow_mut().push(target.to_owned());
    }

    /// A loop device with a filesystem, mounted; none, with the reason printed, without the tools.
    pub fn disk(&self, fstype: &str, flags: MsFlags, options: &str) -> Option<Disk> {
        let size = match fstype {
            "xfs" => 320,
            "btrfs" => 128,
            _ => 32,
        };
        let device = Loop::formatted(&self.images, size, fstype)?;
        // A loop device keeps what was set under its number before.
        let scheduler = format!("/sys/block/{}/queue/scheduler", device.name);
        fs::write(scheduler, "none").unwrap();
        self.count.set(self.count.get() + 1);
        let target = self.at(&format!("{fstype}-{}", self.count.get()));
        self.mount(&device.node, &target, fstype, flags, options);
        let disk = Disk {
            name: device.name.clone(),
            node: device.node.clone(),
            target,
        };
        self.loops.borrow_mut().push(device);
        Some(disk)
    }

    /// Writes a state file; the path to it.
    pub fn state(&self, text: &str) -> String {
        let path = self.at("state.toml");
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs the program.
    pub fn ssdtune(&self, arguments: &[&str]) -> Run {
        self.run(Command::new(env!("CARGO_BIN_EXE_ssdtune")).args(arguments))
    }

    /// Runs a command to its end, with nothing on stdin.
    pub fn run(&self, command: &mut Command) -> Run {
        let command = command.env_remove("SUDO_UID").env("NO_COLOR", "1");
        let output = command.stdin(Stdio::null()).output().unwrap();
        Run {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Everything that ssdtune may change: files with owner, mode and attributes, queues, mounts.
    pub fn world(&self) -> World {
        let mut world = BTreeMap::new();
        for entry in fs::read_dir("/etc").unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.starts_with("fstab") || name.starts_with(".fstab") {
                file(&mut world, &Path::new("/etc").join(name));
            }
        }
        for folder in ["/etc/udev/rules.d", "/var/lib", "/run"] {
            walk(&mut world, Path::new(folder));
        }
        // The lock's file stays, and is empty while nobody has it.
        world.remove("file /run/ssdtune/lock");
        for device in self.loops.borrow().iter() {
            for (name, value) in queue_of(&device.name) {
                world.insert(format!("queue {} {name}", device.name), value);
            }
        }
        for target in self.mounts.borrow().iter() {
            let (flags, options) = mounted(target);
            world.insert(
                format!("mount {}", target.display()),
                flags + " " + &options,
            );
        }
        World(world)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for target in self.mounts.borrow().iter().rev() {
            if umount2(target, MntFlags::empty()).is_err() {
                let _ = umount2(target, MntFlags::MNT_DETACH);
            }
        }
        self.loops.borrow_mut().clear();
        self.own.borrow_mut().clear();
        let _ = fs::remove_dir_all(&self.images);
    }
}

/// What there is, by a name for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World(pub BTreeMap<String, String>);

impl World {
    /// Without ssdtune's own records: what a user has after a successful run.
    #[must_use]
    pub fn of_the_user(&self) -> Self {
        let own = ["file /etc/fstab.bak-", "file /var/lib/ssdtune/snapshots/"];
        self.without(&own)
    }

    /// Without all that starts with one of these.
    #[must_use]
    pub fn without(&self, starts: &[&str]) -> Self {
        let mut world = self.0.clone();
        world.retain(|name, _| !starts.iter().any(|start| name.starts_with(start)));
        Self(world)
    }

    /// Requires that nothing is different.
    #[track_caller]
    pub fn is(&self, other: &Self) {
        let mut text = String::new();
        let names: std::collections::BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        for name in names {
            let (now, was) = (self.0.get(name), other.0.get(name));
            if now != was {
                let _ = writeln!(text, "{name}\n   now {now:?}\n   was {was:?}");
            }
        }
        assert!(text.is_empty(), "different:\n{text}");
    }

    /// The value of a name.
    #[track_caller]
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("nothing", String::as_str)
    }
}

/// All files below a folder, with owner, mode and attributes; folders themselves are passed over.
pub fn walk(world: &mut BTreeMap<String, String>, folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => walk(world, &entry.path()),
            false => file(world, &entry.path()),
        }
    }
}

fn file(world: &mut BTreeMap<String, String>, path: &Path) {
    let meta = fs::symlink_metadata(path).unwrap();
    let mut text = format!("{:o} {}:{}", meta.mode(), meta.uid(), meta.gid());
    if meta.is_symlink() {
        let _ = write!(text, " -> {}", fs::read_link(path).unwrap().display());
    } else if meta.is_file() {
        let mut names = [0; 4096];
        let length = rustix::fs::listxattr(path, &mut names).unwrap_or(0);
        let mut names: Vec<_> = names[..length].split(|&byte| byte == 0).collect();
        names.sort_unstable();
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let mut value = [0; 4096];
            let length = rustix::fs::getxattr(path, name, &mut value).unwrap();
            let name = String::from_utf8_lossy(name);
            let _ = write!(text, " {name}={:?}", &value[..length]);
        }
        let bytes = fs::read(path).unwrap();
        let _ = write!(text, "\n{}", String::from_utf8_lossy(&bytes));
    }
    world.insert(format!("file {}", path.display()), text);
}
