//! Live changes of mounted filesystems, by system call.
//!
//! Never `mount -o remount`: mount(8) merges fstab into it, and mount(2) without MS_BIND takes
//! every flag off that is not repeated.

use std::fmt::Write as _;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    FsPickFlags, MountFlags, fsconfig_reconfigure, fsconfig_set_flag, fsconfig_set_string, fspick,
    mount_remount,
};

use super::words::{failed, refused};
use crate::format::mountinfo;
use crate::format::text::Text;

/// Names of per-mount flags as mountinfo has them.
const FLAGS: [(&str, MountFlags); 10] = [
    ("rw", MountFlags::empty()),
    ("ro", MountFlags::RDONLY),
    ("nosuid", MountFlags::NOSUID),
    ("nodev", MountFlags::NODEV),
    ("noexec", MountFlags::NOEXEC),
    ("nodiratime", MountFlags::NODIRATIME),
    ("nosymfollow", MountFlags::NOSYMFOLLOW),
    // Shown, but a remount neither sets it nor takes it off.
    ("idmapped", MountFlags::empty()),
    ("noatime", MountFlags::NOATIME),
    ("relatime", MountFlags::RELATIME),
];

/// Sets all per-mount flags of the topmost mount at `target`; those not named are taken off.
///
/// The filesystem's own options, and its other mounts, stay as they are.
pub(super) fn remount_flags(target: &Text, flags: &[String]) -> io::Result<()> {
    let flags = bits(target, flags)?;
    mount_remount(target.as_bytes(), MountFlags::BIND | flags, c"").map_err(|cause| match cause {
        Errno::INVAL => refused(
            io::ErrorKind::InvalidInput,
            format_args!("cannot change the flags of `{target}`: nothing is mounted there"),
        ),
        Errno::BUSY => failed(
            format_args!("cannot make `{target}` read-only: files are open for writing"),
            cause,
        ),
        _ => failed(format_args!("cannot change the flags of `{target}`"), cause),
    })
}

/// The flags of mount(2).
fn bits(target: &Text, names: &[String]) -> io::Result<MountFlags> {
    let mut flags = MountFlags::empty();
    let mut atime = None;
    for name in names {
        let flag = match name.as_str() {
            "strictatime" => MountFlags::STRICTATIME,
            name => match FLAGS.iter().find(|(known, _)| *known == name) {
                Some((_, flag)) => *flag,
                None => {
                    return Err(refused(
                        io::ErrorKind::InvalidInput,
                        format_args!(
                            "`{name}` of `{target}` is a mount flag that ssdtune does not know"
                        ),
                    ));
                }
            },
        };
        let family = MountFlags::NOATIME | MountFlags::RELATIME | MountFlags::STRICTATIME;
        if flag.intersects(family) && atime.replace(flag).is_some_and(|before| before != flag) {
            return Err(refused(
                io::ErrorKind::InvalidInput,
                format_args!(
                    "`{}` for `{target}` names two kinds of access times",
                    names.join(",")
                ),
            ));
        }
        flags |= flag;
    }
    // Without any of the three the kernel keeps what is set now; mountinfo shows strictatime by
    // showing none of them.
    Ok(if atime.is_none() {
        flags | MountFlags::STRICTATIME
    } else {
        flags
    })
}

/// Sets options of the filesystem that is mounted at `target`; those not named stay. All or nothing.
///
/// A filesystem that is read-only stays so: ext4 and xfs become writable by any reconfiguration
/// that does not name `ro` (seen on 6.18; fs/ext4/super.c compares with the context's flags, which
/// fspick(2) leaves empty). What else a kernel takes off by itself, the caller knows: xfs turns
/// inode32 into inode64 unless it is named again.
///
/// # Errors
/// With the kernel's own words where it gave any: `ext4: Unknown parameter 'bogus'`.
pub(super) fn reconfigure(target: &Text, options: &[String]) -> io::Result<()> {
    let flags = FsPickFlags::FSPICK_CLOEXEC | FsPickFlags::FSPICK_NO_AUTOMOUNT;
    let context = fspick(CWD, target.as_bytes(), flags).map_err(|cause| match cause {
        Errno::NOSYS => refused(
            io::ErrorKind::Unsupported,
            format_args!(
                "cannot change options of `{target}` live: that takes a kernel of 5.2 or later; \
                 they take effect at the next boot"
            ),
        ),
        Errno::INVAL => nothing_there(target),
        _ => failed(format_args!("cannot change options of `{target}`"), cause),
    })?;
    let refuse = |what: &str, cause: Errno| {
        let mut text = format!("cannot set {what} on `{target}`");
        let _ = match messages(&context) {
            said if said.is_empty() => write!(text, ": {}", super::words::reason(&cause.into())),
            said => write!(text, ": {said}"),
        };
        refused(io::Error::from(cause).kind(), text)
    };
    // Read as late as can be: after an error, ext4 makes itself read-only at any time.
    let keep = (!options
        .iter()
        .any(|option| option == "ro" || option == "rw")
        && is_read_only(target)?)
    .then(|| "ro".to_owned());
    for option in keep.iter().chain(options) {
        match option.split_once('=') {
            Some((key, value)) => fsconfig_set_string(&context, key, value),
            None => fsconfig_set_flag(&context, option.as_str()),
        }
        .map_err(|cause| refuse(&format!("`{option}`"), cause))?;
    }
    fsconfig_reconfigure(&context)
        .map_err(|cause| refuse(&format!("`{}`", options.join(",")), cause))
}

/// True where the filesystem itself is read-only, not just this mount of it.
fn is_read_only(target: &Text) -> io::Result<bool> {
    // The thread's: mount namespaces belong to threads.
    let path = "/proc/thread-self/mountinfo";
    let bytes = fs_err::read(path)?;
    let (mounts, _) = mountinfo::parse(&bytes);
    mounts
        .iter()
        // The last one hides those before it.
        .rfind(|mount| *mount.target == *target.as_bytes())
        .map(|mount| mount.options().any(|option| *option == *b"ro"))
        .ok_or_else(|| nothing_there(target))
}

fn nothing_there(target: &Text) -> io::Error {
    refused(
        io::ErrorKind::InvalidInput,
        format_args!("cannot change options of `{target}`: nothing is mounted there"),
    )
}

/// What the kernel says about the context: lines of `e `, `w ` or `i ` and a text, one a read.
fn messages(context: &OwnedFd) -> String {
    let mut said = String::new();
    let mut line = [0; 1024];
    // Its log holds eight lines; ENODATA ends them.
    for _ in 0..16 {
        let Ok(length @ 1..) = rustix::io::read(context, &mut line) else {
            break;
        };
        let text = String::from_utf8_lossy(&line[..length]);
        let text = text.trim_end();
        let text = text
            .strip_prefix("e ")
            .or_else(|| text.strip_prefix("w "))
            .or_else(|| text.strip_prefix("i "))
            .unwrap_or(text);
        if !said.is_empty() {
            said.push_str("; ");
        }
        said.push_str(text);
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Result<MountFlags, String> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        bits(&"/data".into(), &names).map_err(|error| error.to_string())
    }

    #[test]
    fn the_access_time_flag_is_always_named() {
        assert_eq!(
            of(&["rw", "nosuid", "relatime"]),
            Ok(MountFlags::NOSUID | MountFlags::RELATIME)
        );
        assert_eq!(of(&["rw"]), Ok(MountFlags::STRICTATIME));
        assert_eq!(
            of(&["ro", "nodiratime", "nosymfollow", "noatime"]),
            Ok(MountFlags::RDONLY
                | MountFlags::NODIRATIME
                | MountFlags::NOSYMFOLLOW
                | MountFlags::NOATIME)
        );
        assert_eq!(MountFlags::NOSYMFOLLOW.bits(), 256);
    }

    #[test]
    fn a_flag_that_is_not_known_is_never_dropped_silently() {
        assert_eq!(
            of(&["rw", "nofuture"]).unwrap_err(),
            "`nofuture` of `/data` is a mount flag that ssdtune does not know"
        );
        assert_eq!(
            of(&["rw", "noatime", "relatime"]).unwrap_err(),
            "`rw,noatime,relatime` for `/data` names two kinds of access times"
        );
    }
}
