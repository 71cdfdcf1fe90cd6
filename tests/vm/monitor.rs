//! QEMU's monitor (QMP), for what happens to a running guest.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::disk::Disk;

/// How long QEMU may take for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// A connection to it, made when it is first used.
pub struct Monitor {
    folder: PathBuf,
    stream: Option<BufReader<UnixStream>>,
}

impl Monitor {
    /// The monitor of the guest in `folder`.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            stream: None,
        }
    }

    /// Runs a command of QEMU's human monitor, such as `device_del NAME`.
    pub fn command(&mut self, line: &str) {
        self.ask("human-monitor-command", json!({ "command-line": line }));
    }

    /// Runs a command of QMP; what it returned.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Value {
        if self.stream.is_none() {
            self.stream = Some(self.connect());
            self.ask("qmp_capabilities", json!({}));
        }
        let stream = self.stream.as_mut().unwrap();
        let request = json!({ "execute": command, "arguments": arguments });
        writeln!(stream.get_mut(), "{request}").unwrap();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            let mut answer: Value = serde_json::from_str(&line).unwrap();
            // The rest is greetings and events.
            if let Some(error) = answer.get("error") {
                panic!("QEMU refuses {request}: {error}");
            }
            if let Some(answer) = answer.get_mut("return") {
                return answer.take();
            }
        }
    }

    fn connect(&self) -> BufReader<UnixStream> {
        let begin = Instant::now();
        loop {
            match UnixStream::connect(self.folder.join("qmp")) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(PATIENCE)).unwrap();
                    return BufReader::new(stream);
                }
                Err(error) => assert!(begin.elapsed() < PATIENCE, "no monitor: {error}"),
            }
            sleep(Duration::from_millis(50));
        }
    }

    /// Asks until an answer has one of these words as its `status`; which one.
    pub fn wait(&mut self, command: &str, words: &[&str]) -> String {
        let begin = Instant::now();
        loop {
            let answer = self.ask(command, json!({}));
            let status = answer["status"].as_str().unwrap_or_default();
            if words.contains(&status) {
                return status.to_owned();
            }
            assert!(begin.elapsed() < PATIENCE, "{command} stays {answer}");
            sleep(Duration::from_millis(50));
        }
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
