//! A Debian guest under QEMU: its disks, its boots, and what it reported.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Deserialize;

/// How long one stage may take: emulation on a busy machine is slow, and a hang must still end.
const STAGE_LIMIT: Duration = Duration::from_secs(20 * 60);

/// How a disk is attached.
#[derive(Clone, Copy, Debug)]
pub enum Bus {
    Nvme,
    SataSsd,
    ScsiSsd,
    ScsiHdd,
    Usb,
    Virtio,
}

/// An emulated disk; its serial number names it in reports.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    bus: Bus,
    serial: &'static str,
}

/// A guest whose disks last over boots.
pub struct Machine {
    folder: PathBuf,
    image: PathBuf,
    disks: Vec<Disk>,
    reports: Vec<Line>,
    /// The initial RAM disk to boot with.
    pub initrd: PathBuf,
}

/// One line that the guest reported.
#[derive(Clone, Debug, Deserialize)]
struct Line {
    stage: u32,
    key: String,
    out: String,
    #[serde(default)]
    err: String,
    #[serde(default)]
    status: Option<i32>,
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

    fn arguments(&self) -> Vec<String> {
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
            (
                "-drive",
                format!("file={folder}/root.img,if=none,id=root,format=raw,cache=unsafe"),
            ),
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
            let device = disk.device(at);
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
        let report = self.folder.join("report");
        let mut at = fs::metadata(&report).map_or(0, |before| before.len());
        fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&report)
            .unwrap();
        let child = Command::new("setpriv") // QEMU ends with the test, however that ends
            .args(["--pdeathsig", "KILL", "qemu-system-x86_64"])
            .args(self.arguments())
            .stdin(Stdio::null())
            .spawn()
            .expect("`setpriv` is there: it is util-linux'");
        let mut guest = Guest(child);
        let mut monitor = Monitor {
            folder: self.folder.clone(),
            stream: None,
        };
        let mut file = fs::File::open(&report).unwrap();
        let mut begin = Instant::now();
        loop {
            let over = guest.0.try_wait().unwrap();
            file.seek(SeekFrom::Start(at)).unwrap();
            let mut text = Vec::new();
            file.read_to_end(&mut text).unwrap();
            let whole = text
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(0, |end| end + 1);
            for line in text[..whole]
                .split(|&byte| byte == b'\n')
                .filter(|line| !line.is_empty())
            {
                let line: Line = serde_json::from_slice(line)
                    .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(line)));
                hear(&line.key, &mut monitor);
                if line.key == "end" {
                    eprintln!(
                        "  stage {} took {} s, then {}",
                        line.stage,
                        begin.elapsed().as_secs(),
                        line.out
                    );
                    begin = Instant::now();
                }
                self.reports.push(line);
            }
            at += whole as u64;
            if let Some(status) = over {
                assert!(status.success(), "qemu ended with {status}");
                break;
            }
            let console = fs::read(self.folder.join("console")).unwrap_or_default();
            assert!(
                !String::from_utf8_lossy(&console).contains("Kernel panic"),
                "the guest's kernel panicked; the console is {}",
                self.folder.join("console").display()
            );
            assert!(
                begin.elapsed() < STAGE_LIMIT,
                "the guest is stuck; the console is {}",
                self.folder.join("console").display()
            );
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

impl Disk {
    pub const fn new(bus: Bus, serial: &'static str) -> Self {
        Self { bus, serial }
    }

    /// QEMU's `-device` for it; `at` is its place on its bus.
    fn device(&self, at: usize) -> String {
        let serial = self.serial;
        match self.bus {
            Bus::Nvme => format!("nvme,drive=d{serial},serial={serial},id={serial}"),
            Bus::SataSsd => format!(
                "ide-hd,bus=ide.{at},drive=d{serial},serial={serial},model=Test SSD,rotation_rate=1,id={serial}"
            ),
            Bus::ScsiSsd => format!(
                "scsi-hd,bus=scsi.0,scsi-id={at},drive=d{serial},serial={serial},vendor=TEST,product=FLASH,rotation_rate=1,id={serial}"
            ),
            Bus::ScsiHdd => format!(
                "scsi-hd,bus=scsi.0,scsi-id={at},drive=d{serial},serial={serial},vendor=TEST,product=SPINNING,rotation_rate=7200,id={serial}"
            ),
            Bus::Usb => {
                format!("usb-storage,bus=usb.0,drive=d{serial},serial={serial},id={serial}")
            }
            Bus::Virtio => format!("virtio-blk-pci,drive=d{serial},serial={serial},id={serial}"),
        }
    }
}

/// QEMU, ended with the test that started it.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// QEMU's monitor (QMP), for what happens to a running guest.
pub struct Monitor {
    folder: PathBuf,
    stream: Option<UnixStream>,
}

impl Monitor {
    /// Runs a command of QEMU's human monitor, such as `device_del NAME`.
    pub fn command(&mut self, line: &str) {
        let folder = &self.folder;
        let stream = self.stream.get_or_insert_with(|| {
            let mut stream = UnixStream::connect(folder.join("qmp")).unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(60)))
                .unwrap();
            stream
                .write_all(b"{\"execute\":\"qmp_capabilities\"}\n")
                .unwrap();
            stream
        });
        let request = serde_json::json!({
            "execute": "human-monitor-command",
            "arguments": { "command-line": line },
        });
        writeln!(stream, "{request}").unwrap();
    }

    /// Plugs a disk in.
    pub fn plug(&mut self, disk: &Disk, at: usize) {
        let serial = disk.serial;
        let path = self.folder.join(format!("{serial}.img"));
        fs::File::create(&path).unwrap().set_len(512 << 20).unwrap();
        let path = path.display();
        self.command(&format!(
            "drive_add 0 file={path},if=none,id=d{serial},format=raw,cache=unsafe"
        ));
        self.command(&format!("device_add {}", disk.device(at)));
    }
}

fn tool(name: &str, arguments: &[&std::ffi::OsStr]) {
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
