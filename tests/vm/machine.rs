//! A Debian guest under QEMU: its disks, its boots, and what it reported.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::disk::{Disk, place};
use crate::guest::{Guest, Line};
use crate::monitor::Monitor;

/// A guest whose disks last over boots.
pub struct Machine {
    /// Where everything of it is.
    pub folder: PathBuf,
    image: PathBuf,
    disks: Vec<Disk>,
    reports: Vec<Line>,
    /// The initial RAM disk to boot with.
    pub initrd: PathBuf,
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vm")
}

/// The image of a Debian release, built where it is not there yet.
fn image(suite: &str) -> PathBuf {
    let run = Command::new(source().join("image"))
        .arg(suite)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(run.status.success(), "the image of {suite} was not built");
    PathBuf::from(String::from_utf8(run.stdout).unwrap().trim())
}

impl Machine {
    /// A machine fresh from the image of `suite`, with `disks`, that will run `scenario`.
    ///
    /// Everything of it is in a folder of cargo's target folder, left there for a look afterwards.
    pub fn new(suite: &str, scenario: &str, disks: &[Disk]) -> Self {
        let image = image(suite);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("vm/{suite}-{scenario}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("payload")).unwrap();
        // `cp` keeps the holes of the sparse image.
        tool(
            "cp",
            &[
                "--sparse=always".as_ref(),
                image.join("root.img").as_ref(),
                folder.join("root.img").as_ref(),
            ],
        );
        let payload = folder.join("payload");
        let scenario = source().join("scenarios").join(scenario);
        for entry in fs::read_dir(scenario).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), payload.join(entry.file_name())).unwrap();
        }
        fs::copy(source().join("stage"), payload.join("stage")).unwrap();
        let program = payload.join("ssdtune");
        let built = env!("CARGO_BIN_EXE_ssdtune");
        // A slip in a state file is told now, not after minutes of emulation.
        tool(
            built,
            &["check".as_ref(), payload.join("state.toml").as_ref()],
        );
        tool("strip", &["-o".as_ref(), program.as_ref(), built.as_ref()]);
        tool(
            "tar",
            &[
                "-C".as_ref(),
                payload.as_ref(),
                "-cf".as_ref(),
                folder.join("payload.tar").as_ref(),
                ".".as_ref(),
            ],
        );
        let request = format!(
            "write {} /opt/ssdtune-vm.tar",
            folder.join("payload.tar").display()
        );
        debugfs(&["-w", "-R", &request], &folder.join("root.img"));
        let machine = Self {
            initrd: image.join("initrd.img"),
            folder,
            image,
            disks: disks.to_vec(),
            reports: Vec::new(),
        };
        for disk in disks {
            machine.create(disk);
        }
        machine
    }

    /// The file behind a disk.
    fn file(&self, disk: &Disk) -> PathBuf {
        self.folder.join(format!("{}.img", disk.serial))
    }

    fn create(&self, disk: &Disk) {
        let file = fs::File::create(self.file(disk)).unwrap();
        file.set_len(512 << 20).unwrap();
    }

    /// The release and the scenario.
    pub fn name(&self) -> std::path::Display<'_> {
        Path::new(self.folder.file_name().unwrap_or_default()).display()
    }

    /// The same disks attached in another order from the next boot on.
    pub fn reverse_disks(&mut self) {
        self.disks.reverse();
    }

    /// The guest's file `path`, read from its root disk while it is off, for the next boots' `initrd`.
    pub fn take_initrd(&mut self, path: &str) {
        let out = self.folder.join("initrd.img");
        let request = format!("dump {path} {}", out.display());
        debugfs(&["-R", &request], &self.folder.join("root.img"));
        assert!(
            fs::metadata(&out).unwrap().len() > 1 << 20,
            "no initial RAM disk at {path}"
        );
        self.initrd = out;
    }

    fn arguments(&self, root: &str) -> Vec<String> {
        let folder = self.folder.display();
        let mut arguments: Vec<String> = [
            "-accel",
            "tcg,thread=multi",
            "-cpu",
            "max",
            "-smp",
            "1", // with two, TCG trips over the kernel patching its own code (QEMU 7.2),
            "-m",
            "1024",
            "-machine",
            "q35",
            "-nodefaults",
            "-display",
            "none",
            "-device",
            "virtio-serial-pci",
            "-device",
            "virtserialport,chardev=report,name=ssdtune",
            "-device",
            "virtio-scsi-pci,id=scsi",
            "-device",
            "qemu-xhci,id=usb",
            "-device",
            "virtio-blk-pci,drive=root,serial=ROOT",
        ]
        .map(str::to_owned)
        .to_vec();
        let append = "root=UUID=55d70000-0000-4000-8000-0000000000aa ro console=ttyS0 quiet systemd.show_status=no";
        for (option, value) in [
            ("-kernel", self.image.join("vmlinuz").display().to_string()),
            ("-initrd", self.initrd.display().to_string()),
            ("-append", append.to_owned()),
            ("-serial", format!("file:{folder}/console")),
            (
                "-chardev",
                format!("file,id=report,path={folder}/report,append=on"),
            ),
            ("-qmp", format!("unix:{folder}/qmp,server=on,wait=off")),
            ("-drive", root.to_owned()),
        ] {
            arguments.extend([option.to_owned(), value]);
        }
        for (at, disk) in self.disks.iter().enumerate() {
            let serial = disk.serial;
            let file = self.file(disk);
            let drive = format!(
                "file={},if=none,id=d{serial},format=raw,cache=unsafe,discard=unmap",
                file.display()
            );
            let device = disk.device(place(&self.disks, at));
            arguments.extend(["-drive".to_owned(), drive, "-device".to_owned(), device]);
        }
        arguments
    }

    /// Boots and waits until the guest powers off; it may reboot in between.
    pub fn run(&mut self) {
        self.run_with(|_, _| {});
    }

    /// As [`Machine::run`]; `hear` is told each key that the guest reports, and may use QEMU's monitor.
    pub fn run_with(&mut self, mut hear: impl FnMut(&str, &mut Monitor)) {
        let root = format!(
            "file={},if=none,id=root,format=raw,cache=unsafe",
            self.folder.join("root.img").display()
        );
        let mut guest = self.start(&root, &[]);
        let mut begin = Instant::now();
        let mut over = false;
        while !over {
            over = guest.is_over();
            for line in guest.reported() {
                hear(&line.key, &mut guest.monitor);
                if line.key == "end" {
                    eprintln!(
                        "  {}: stage {} took {} s, then {}",
                        self.name(),
                        line.stage,
                        begin.elapsed().as_secs(),
                        line.out
                    );
                    begin = Instant::now();
                }
                self.reports.push(line);
            }
            guest.look(begin);
            sleep(Duration::from_millis(200));
        }
        let last = self.reports.last().map(|line| line.key.as_str());
        assert_eq!(
            last,
            Some("end"),
            "the guest ended early; the console is {}",
            self.folder.join("console").display()
        );
    }

    /// Starts QEMU with this drive for the root disk.
    pub fn start(&self, root: &str, more: &[String]) -> Guest {
        let mut arguments = self.arguments(root);
        arguments.extend_from_slice(more);
        Guest::start(&self.folder, &arguments)
    }

    fn line(&self, stage: u32, key: &str) -> &Line {
        self.reports
            .iter()
            .find(|line| line.stage == stage && line.key == key)
            .unwrap_or_else(|| panic!("stage {stage} did not report `{key}`"))
    }

    /// What stage `stage` reported under `key`.
    pub fn text(&self, stage: u32, key: &str) -> &str {
        &self.line(stage, key).out
    }

    /// The exit status that stage `stage` reported under `key`.
    pub fn status(&self, stage: u32, key: &str) -> i32 {
        self.line(stage, key)
            .status
            .unwrap_or_else(|| panic!("`{key}` is no command"))
    }

    /// Everything said by the command `key`, for messages.
    pub fn said(&self, stage: u32, key: &str) -> String {
        let line = self.line(stage, key);
        let status = line
            .status
            .map_or(String::new(), |status| format!("exit status {status}\n"));
        format!("{status}{}{}", line.out, line.err)
    }

    /// Where all reports are.
    pub fn report_file(&self) -> PathBuf {
        self.folder.join("report")
    }

    /// Lines `a b=c` of a report as a map from `a b` to `c`.
    pub fn values(&self, stage: u32, key: &str) -> BTreeMap<&str, &str> {
        self.text(stage, key)
            .lines()
            .filter_map(|line| line.split_once('='))
            .collect()
    }
}

pub fn tool(name: &str, arguments: &[&std::ffi::OsStr]) {
    let run = Command::new(name).args(arguments).output().unwrap();
    assert!(
        run.status.success(),
        "`{name}` failed: {}",
        String::from_utf8_lossy(&run.stderr)
    );
}

/// Reads or writes a file of an ext4 image that nobody has mounted.
fn debugfs(arguments: &[&str], image: &Path) {
    let arguments = arguments.iter().map(std::ffi::OsStr::new);
    tool(
        "debugfs",
        &arguments.chain([image.as_os_str()]).collect::<Vec<_>>(),
    );
}
