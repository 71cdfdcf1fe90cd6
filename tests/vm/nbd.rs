//! A disk that loses what was not flushed: an NBD server on a unix socket.
//!
//! Writes are held, sector by sector, until the guest flushes. At a cut the machine is killed, and
//! of what is held a random subset reaches the disk, as a drive's cache may have written any of it.
//! The protocol is <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>, as far as
//! QEMU speaks it to a server that offers flush and FUA only.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A disk writes a sector whole or not at all.
const SECTOR: usize = 512;

type Sector = [u8; SECTOR];

/// What is on the disk, and what is on its way there.
#[derive(Clone, Default)]
pub struct Content {
    /// Sectors that differ from the image.
    durable: BTreeMap<u64, Sector>,
    /// Since the last flush, in the order of writing.
    held: BTreeMap<u64, Vec<Sector>>,
}

/// When to kill which process.
pub struct Cut {
    pub pid: i32,
    /// So many writes and flushes from now on.
    pub after: u64,
    /// And so much later.
    pub delay: Duration,
}

struct State {
    image: fs::File,
    size: u64,
    content: Content,
    /// Writes and flushes so far.
    requests: u64,
    cut: Option<Cut>,
    /// The power is off: nothing is read or written any more.
    is_off: bool,
}

/// A server over an image that it only reads.
#[derive(Clone)]
pub struct Server(Arc<Mutex<State>>);

impl Server {
    /// Serves `image` on the socket `path` until the test ends.
    pub fn start(image: &Path, path: &Path) -> Self {
        let image = fs::File::open(image).unwrap();
        let size = image.metadata().unwrap().len();
        let server = Self(Arc::new(Mutex::new(State {
            image,
            size,
            content: Content::default(),
            requests: 0,
            cut: None,
            is_off: false,
        })));
        let _ = fs::remove_file(path);
        let listener = UnixListener::bind(path).unwrap();
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // QEMU going away in the midst of a word is what this is for.
                let _ = serving.serve(stream);
            }
        });
        server
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Writes and flushes so far.
    pub fn requests(&self) -> u64 {
        self.state().requests
    }

    /// What the disk and its cache hold; QEMU is paused.
    pub fn content(&self) -> Content {
        self.state().content.clone()
    }

    /// Turns the power on, with this on the disk.
    pub fn power_on(&self, content: Content) {
        let mut state = self.state();
        state.content = content;
        state.cut = None;
        state.is_off = false;
    }

    /// Cuts the power then.
    pub fn cut(&self, cut: Cut) {
        let mut state = self.state();
        let after = state.requests + cut.after;
        state.cut = Some(Cut { after, ..cut });
    }

    /// Cuts the power now, if that has not happened yet.
    pub fn cut_now(&self, pid: i32) {
        self.state().power_off(pid);
    }

    /// True after a cut.
    pub fn is_off(&self) -> bool {
        self.state().is_off
    }

    /// Writes the disk's content to a copy of the image.
    pub fn save(content: &Content, image: &Path) {
        let file = fs::OpenOptions::new().write(true).open(image).unwrap();
        for (&sector, bytes) in &content.durable {
            file.write_all_at(bytes, sector * SECTOR as u64).unwrap();
        }
    }

    fn serve(&self, mut stream: UnixStream) -> io::Result<()> {
        let size = self.state().size;
        if !greet(&mut stream, size)? {
            return Ok(());
        }
        loop {
            let mut head = [0; 28];
            stream.read_exact(&mut head)?;
            let flags = u16::from_be_bytes([head[4], head[5]]);
            let command = u16::from_be_bytes([head[6], head[7]]);
            let handle = &head[8..16];
            let offset = number(&head[16..24]);
            let length = usize::try_from(number(&head[24..28])).unwrap();
            let mut bytes = vec![0; length];
            match command {
                WRITE => stream.read_exact(&mut bytes)?,
                READ | FLUSH => {}
                _ => return Ok(()), // DISC
            }
            let answered = self.answer(command, flags & FUA != 0, offset, &mut bytes)?;
            if !answered {
                return Ok(());
            }
            stream.write_all(&[&0x6744_6698_u32.to_be_bytes()[..], &[0; 4], handle].concat())?;
            if command == READ {
                stream.write_all(&bytes)?;
            }
        }
    }

    /// Does what was asked; false where the power is off.
    fn answer(&self, command: u16, fua: bool, offset: u64, bytes: &mut [u8]) -> io::Result<bool> {
        let mut state = self.state();
        if state.is_off {
            return Ok(false);
        }
        let first = offset / SECTOR as u64;
        match command {
            READ => {
                state.image.read_exact_at(bytes, offset)?;
                state.content.overlay(first, bytes);
            }
            WRITE => state.content.write(first, bytes, fua),
            _ => {}
        }
        if command != READ {
            state.requests += 1;
            let requests = state.requests;
            if let Some(cut) = state.cut.take_if(|cut| requests >= cut.after) {
                if cut.delay.is_zero() {
                    // Before it is answered, and a flush has not taken place.
                    state.power_off(cut.pid);
                    return Ok(false);
                }
                let later = self.clone();
                std::thread::spawn(move || {
                    std::thread::sleep(cut.delay);
                    later.cut_now(cut.pid);
                });
            }
        }
        if command == FLUSH {
            state.content.flush();
        }
        Ok(true)
    }
}

impl State {
    fn power_off(&mut self, pid: i32) {
        if !self.is_off {
            self.is_off = true;
            // It may have ended by itself.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

impl Content {
    /// What a guest reads: the newest of each sector over the image's bytes.
    fn overlay(&self, first: u64, bytes: &mut [u8]) {
        let range = first..first + (bytes.len() / SECTOR) as u64;
        let mut put = |sector: u64, found: &Sector| {
            let at = usize::try_from(sector - first).unwrap() * SECTOR;
            bytes[at..at + SECTOR].copy_from_slice(found);
        };
        for (&sector, found) in self.durable.range(range.clone()) {
            put(sector, found);
        }
        for (&sector, found) in self.held.range(range) {
            put(sector, found.last().unwrap());
        }
    }

    fn write(&mut self, first: u64, bytes: &[u8], fua: bool) {
        for (sector, bytes) in (first..).zip(bytes.chunks_exact(SECTOR)) {
            let bytes = bytes.try_into().unwrap();
            if fua {
                self.held.remove(&sector);
                self.durable.insert(sector, bytes);
            } else {
                self.held.entry(sector).or_default().push(bytes);
            }
        }
    }

    fn flush(&mut self) {
        for (sector, versions) in std::mem::take(&mut self.held) {
            self.durable.insert(sector, *versions.last().unwrap());
        }
    }

    /// Of what is held, each sector of each write reached the disk where `reaches` says so; how
    /// many of how many did.
    pub fn settle(&mut self, mut reaches: impl FnMut() -> bool) -> (usize, usize) {
        let mut count = (0, 0);
        for (sector, versions) in std::mem::take(&mut self.held) {
            for version in versions {
                count.1 += 1;
                if reaches() {
                    count.0 += 1;
                    self.durable.insert(sector, version);
                }
            }
        }
        count
    }
}

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const FUA: u16 = 1;

/// Transmission flags: there are flags, FLUSH and FUA are known.
const OFFERED: u16 = 0b1101;

/// Agrees with the client; false where it leaves.
fn greet(stream: &mut UnixStream, size: u64) -> io::Result<bool> {
    const OPTION: &[u8] = b"IHAVEOPT";
    let reply = |option: u32, kind: u32, body: &[u8]| {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let magic = 0x0003_e889_0455_65a9_u64.to_be_bytes();
        let (option, kind) = (option.to_be_bytes(), kind.to_be_bytes());
        [&magic[..], &option, &kind, &length, body].concat()
    };
    stream.write_all(&[b"NBDMAGIC", OPTION, &[0, 3]].concat())?; // fixed, without zeroes
    stream.read_exact(&mut [0; 4])?;
    loop {
        let mut head = [0; 16];
        stream.read_exact(&mut head)?;
        let option = u32::try_from(number(&head[8..12])).unwrap();
        let mut body = vec![0; usize::try_from(number(&head[12..])).unwrap()];
        stream.read_exact(&mut body)?;
        match option {
            2 => return Ok(false), // ABORT
            7 => {
                // GO: the size and the flags, then an acknowledgement.
                let export = [&[0, 0][..], &size.to_be_bytes(), &OFFERED.to_be_bytes()].concat();
                stream.write_all(&reply(option, 3, &export))?;
                stream.write_all(&reply(option, 1, &[]))?;
                return Ok(true);
            }
            _ => stream.write_all(&reply(option, 0x8000_0001, &[]))?, // not supported
        }
    }
}

/// A number in the protocol's byte order.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// What the tests rest on: held, flushed, and lost.
#[test]
fn what_was_flushed_stays_and_what_was_not_may_be_lost() {
    let sector = |byte| [byte; SECTOR];
    let read = |content: &Content| {
        let mut bytes = [0; 3 * SECTOR];
        content.overlay(8, &mut bytes);
        [bytes[0], bytes[SECTOR], bytes[2 * SECTOR]]
    };
    let mut content = Content::default();
    content.write(8, &[sector(1), sector(2)].concat(), false);
    content.flush();
    content.write(9, &[sector(3), sector(4)].concat(), false);
    content.write(9, &sector(5), false);
    assert_eq!(read(&content), [1, 5, 4]);
    for (reaches, left) in [
        (vec![false, false, false], [1, 2, 0]),
        (vec![true, false, true], [1, 3, 4]),
        (vec![true, true, false], [1, 5, 0]),
    ] {
        let mut cut = content.clone();
        let mut reaches = reaches.into_iter();
        assert_eq!(cut.settle(|| reaches.next().unwrap()).1, 3);
        assert_eq!(read(&cut), left);
    }
    content.write(9, &sector(6), true);
    content.settle(|| false);
    assert_eq!(
        read(&content),
        [1, 6, 0],
        "with FUA it is on the disk at once"
    );
}
