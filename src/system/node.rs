//! Device nodes, locked so that udev leaves the device alone.
//!
//! systemd-udevd takes a shared flock(2) on the node of a disk before it handles an event of it,
//! and puts the event off while somebody holds an exclusive one
//! (<https://systemd.io/BLOCK_DEVICE_LOCKING>). Without it, an event in the midst of an apply
//! makes the old rule put its values back.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::clock::nap;
use super::words::{failed, refused};

/// How long somebody else may hold a node: udevd runs blkid under its lock.
const PATIENCE: Duration = Duration::from_secs(5);

/// The nodes that are held.
#[derive(Debug, Default)]
pub(super) struct Nodes(BTreeMap<String, OwnedFd>);

impl Nodes {
    /// Locks the node of a device below `dev` (`/dev`), for as long as it is held.
    ///
    /// A device-mapper node is passed over: udevd does not honour a lock on it. Opened read-only,
    /// so that closing it makes no `change` event.
    ///
    /// # Errors
    /// `NotFound` without a node, `WouldBlock` where it stays locked for five seconds.
    pub(super) fn lock(&mut self, dev: &Path, device: &str) -> io::Result<()> {
        if device.starts_with("dm-") || self.0.contains_key(device) {
            return Ok(());
        }
        // sysfs writes `cciss/c0d0` as `cciss!c0d0`.
        let name = device.replace('!', "/");
        if name.split('/').any(|part| matches!(part, "" | "." | "..")) || name.contains('\0') {
            return Err(refused(
                io::ErrorKind::InvalidInput,
                format_args!("`{device}` is no kernel name of a device"),
            ));
        }
        let path = dev.join(name);
        let what = format_args!("cannot lock `{}`", path.display()).to_string();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let node = rustix::fs::openat(CWD, &path, flags, Mode::empty())
            .map_err(|cause| failed(&what, cause))?;
        let stat = rustix::fs::fstat(&node).map_err(|cause| failed(&what, cause))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
            return Err(refused(
                io::ErrorKind::InvalidInput,
                format_args!("{what}: it is no block device"),
            ));
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            match rustix::fs::flock(&node, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if Instant::now() < deadline => {
                    nap(Duration::from_millis(20));
                }
                Err(Errno::WOULDBLOCK) => {
                    return Err(refused(
                        io::ErrorKind::WouldBlock,
                        format_args!(
                            "{what}: another program has held it for {} s, which one cannot be \
                             told: try again later",
                            PATIENCE.as_secs()
                        ),
                    ));
                }
                Err(cause) => return Err(failed(&what, cause)),
            }
        }
        self.0.insert(device.to_owned(), node);
        Ok(())
    }

    /// Releases all of them.
    pub(super) fn unlock(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_node_or_a_plain_file_is_an_error_dm_is_passed_over() {
        let dev = tempfile::tempdir().unwrap();
        std::fs::write(dev.path().join("sda"), "").unwrap();
        let mut nodes = Nodes::default();
        nodes.lock(dev.path(), "dm-0").unwrap();
        let error = nodes.lock(dev.path(), "sda").unwrap_err();
        assert!(error.to_string().ends_with("it is no block device"));
        let error = nodes.lock(dev.path(), "sdb").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        for odd in ["..!sda", "", "!", "a\0"] {
            assert!(nodes.lock(dev.path(), odd).is_err(), "{odd:?}");
        }
    }
}
