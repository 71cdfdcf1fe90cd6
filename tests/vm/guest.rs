//! One run of QEMU, and what the guest in it reports.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::monitor::Monitor;

/// How long one stage may take: emulation on a busy machine is slow, and a hang must still end.
const STAGE_LIMIT: Duration = Duration::from_secs(20 * 60);

/// One line that the guest reported.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    pub stage: u32,
    pub key: String,
    pub out: String,
    #[serde(default)]
    pub err: String,
    #[serde(default)]
    pub status: Option<i32>,
}

/// QEMU, ended with the test that started it.
pub struct Guest {
    child: Child,
    folder: PathBuf,
    report: fs::File,
    /// How much of the report was read.
    at: u64,
    /// QEMU's monitor.
    pub monitor: Monitor,
}

impl Guest {
    /// Starts QEMU; the guest's reports go to the file `report` of `folder`, behind what is there.
    pub fn start(folder: &Path, arguments: &[String]) -> Self {
        let path = folder.join("report");
        let report = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(path)
            .unwrap();
        let at = report.metadata().unwrap().len();
        // A socket of a run before would be taken for this one's.
        let _ = fs::remove_file(folder.join("qmp"));
        let child = Command::new("setpriv") // QEMU ends with the test, however that ends
            .args(["--pdeathsig", "KILL", "qemu-system-x86_64"])
            .args(arguments)
            .stdin(Stdio::null())
            .spawn()
            .expect("`setpriv` is there: it is util-linux'");
        Self {
            child,
            folder: folder.to_owned(),
            report,
            at,
            monitor: Monitor::new(folder),
        }
    }

    /// Its process, which `setpriv` has become.
    pub fn pid(&self) -> i32 {
        self.child.id().try_into().unwrap()
    }

    /// True where QEMU has ended, well; it must not end otherwise.
    pub fn is_over(&mut self) -> bool {
        let status = self.child.try_wait().unwrap();
        assert!(
            status.is_none_or(|status| status.success()),
            "qemu ended with {status:?}"
        );
        status.is_some()
    }

    /// Waits until QEMU has ended, however.
    pub fn ended(&mut self) {
        self.child.wait().unwrap();
    }

    /// What the guest has reported since the last look.
    pub fn reported(&mut self) -> Vec<Line> {
        self.report.seek(SeekFrom::Start(self.at)).unwrap();
        let mut text = Vec::new();
        self.report.read_to_end(&mut text).unwrap();
        let whole = text
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |end| end + 1);
        self.at += whole as u64;
        let lines = text[..whole].split(|&byte| byte == b'\n');
        lines
            .filter(|line| !line.is_empty())
            .map(|line| {
                serde_json::from_slice(line)
                    .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(line)))
            })
            .collect()
    }

    /// Fails where the kernel has panicked, the boot has not come up, or a stage that began then
    /// takes too long.
    pub fn look(&self, begin: Instant) {
        let path = self.folder.join("console");
        let console = fs::read(&path).unwrap_or_default();
        let console = String::from_utf8_lossy(&console);
        for ending in ["Kernel panic", "You are in emergency mode", "(initramfs)"] {
            assert!(
                !console.contains(ending),
                "the guest did not come up: {ending}; the console is {}",
                path.display()
            );
        }
        assert!(
            begin.elapsed() < STAGE_LIMIT,
            "the guest is stuck; the console is {}",
            path.display()
        );
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
