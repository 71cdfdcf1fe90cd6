//! Queue attributes: one value, one write(2).

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::clock::nap;
use super::words::{failed, refused};

/// How long a write is tried again while the kernel answers EBUSY (another switch of the
/// scheduler, say, is under way).
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes `value` to `file` (`queue/scheduler`) of `device`, below `sys_block` (`/sys/block`).
///
/// That the write succeeds does not mean that the value is in effect: the kernel rounds, clamps
/// and ignores. Whoever needs to know reads it back.
///
/// # Errors
/// `NotFound` where the kernel or the device has no such attribute, or the device is gone;
/// `ResourceBusy` where it was busy for two seconds; otherwise what the kernel said.
pub(super) fn set(sys_block: &Path, device: &str, file: &str, value: &str) -> io::Result<()> {
    check(device, file, value)?;
    let path = sys_block.join(device).join(file);
    let deadline = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(1);
    loop {
        match write(&path, value) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::BUSY) if Instant::now() < deadline => {
                nap(pause);
                pause = (pause * 2).min(Duration::from_millis(100));
            }
            Err(cause) => {
                let gone = !sys_block.join(device).exists();
                return Err(explain(cause, gone, device, file, value));
            }
        }
    }
}

/// Opens and writes once. Opened anew for each try: a descriptor of `queue/iosched/` dies with the
/// scheduler it was opened under. Never with O_CREAT, which turns "no such attribute" into EACCES.
fn write(path: &Path, value: &str) -> Result<(), Errno> {
    let file = rustix::fs::openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    match rustix::io::write(&file, value.as_bytes())? {
        length if length == value.len() => Ok(()),
        // A second write would be a second store, of the rest alone.
        _ => Err(Errno::IO),
    }
}

/// Refuses names that lead elsewhere, and values that are no value.
fn check(device: &str, file: &str, value: &str) -> io::Result<()> {
    let plain =
        |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
    let known = match file.split('/').collect::<Vec<_>>()[..] {
        ["queue", name] | ["queue", "iosched", name] => plain(name),
        _ => false,
    };
    if !plain(device) || !known {
        return Err(refused(
            io::ErrorKind::InvalidInput,
            format_args!("`{device}/{file}` is no attribute of a disk's queue"),
        ));
    }
    // An empty write succeeds and does nothing; what follows a NUL or a newline is ignored.
    if value.is_empty() || value.len() > 4095 || value.contains(|c: char| c.is_control()) {
        return Err(refused(
            io::ErrorKind::InvalidInput,
            format_args!("{value:?} is no value for `{file}` of `{device}`"),
        ));
    }
    Ok(())
}

/// What the kernel's answer means here.
fn explain(cause: Errno, gone: bool, device: &str, file: &str, value: &str) -> io::Error {
    let kind = io::Error::from(cause).kind();
    let what = format_args!("cannot set `{file}` of `{device}` to `{value}`").to_string();
    match cause {
        Errno::NOENT | Errno::NODEV | Errno::NXIO if gone => refused(
            io::ErrorKind::NotFound,
            format_args!("{what}: the device is gone"),
        ),
        Errno::NOENT => refused(
            kind,
            format_args!(
                "{what}: this kernel, this device or its active scheduler has no such attribute"
            ),
        ),
        Errno::NODEV => refused(
            io::ErrorKind::NotFound,
            format_args!("{what}: the scheduler it belongs to was switched off meanwhile"),
        ),
        Errno::INVAL | Errno::RANGE => {
            refused(kind, format_args!("{what}: the kernel refuses this value"))
        }
        Errno::ACCESS | Errno::PERM => refused(
            kind,
            format_args!("{what}: the attribute is read-only, or this is not run as root"),
        ),
        Errno::ROFS => refused(
            kind,
            format_args!(
                "{what}: /sys is mounted read-only, as in a container: run on the host itself"
            ),
        ),
        Errno::BUSY => refused(
            kind,
            format_args!("{what}: the queue was busy for {} s", PATIENCE.as_secs()),
        ),
        _ => failed(what, cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake() -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(sys.path().join("sda/queue/iosched")).unwrap();
        std::fs::write(sys.path().join("sda/queue/scheduler"), "").unwrap();
        sys
    }

    #[test]
    fn a_value_is_written_as_it_is() {
        let sys = fake();
        set(sys.path(), "sda", "queue/scheduler", "bfq").unwrap();
        let file = sys.path().join("sda/queue/scheduler");
        assert_eq!(std::fs::read(file).unwrap(), b"bfq");
    }

    #[test]
    fn a_missing_attribute_is_told_from_a_missing_device_and_never_made() {
        let sys = fake();
        let file = "queue/iosched/fifo_batch";
        let error = set(sys.path(), "sda", file, "1").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(
            error.to_string(),
            "cannot set `queue/iosched/fifo_batch` of `sda` to `1`: this kernel, this device or \
             its active scheduler has no such attribute"
        );
        assert!(!sys.path().join("sda").join(file).exists());
        let error = set(sys.path(), "sdb", file, "1").unwrap_err();
        assert!(error.to_string().ends_with("the device is gone"), "{error}");
    }

    #[test]
    fn names_cannot_lead_elsewhere() {
        let sys = fake();
        for (device, file) in [
            ("../sda", "queue/scheduler"),
            ("..", "queue/scheduler"),
            ("", "queue/scheduler"),
            ("sda", "queue/../../sdb/queue/scheduler"),
            ("sda", "queue/.."),
            ("sda", "device/delete"),
            ("sda", "/queue/scheduler"),
            ("sda", "queue/"),
            ("sda", "queue/iosched/../scheduler"),
        ] {
            let error = set(sys.path(), device, file, "1").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{device} {file}");
        }
        for value in ["", "1\n2", "1\0"] {
            let error = set(sys.path(), "sda", "queue/scheduler", value).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{value:?}");
        }
    }
}
