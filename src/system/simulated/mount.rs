//! Mounts that change as Linux changes them.

use rustix::io::Errno;

use crate::facts::{Facts, Mount};
use crate::format::text::Text;

/// Flags in the order in which mountinfo prints them (fs/proc_namespace.c).
const FLAGS: [&str; 9] = [
    "rw",
    "ro",
    "nosuid",
    "nodev",
    "noexec",
    "noatime",
    "nodiratime",
    "relatime",
    "nosymfollow",
];

/// Options that ext4 has on when nothing is said, and does not show.
const ON: [&str; 6] = [
    "barrier",
    "delalloc",
    "auto_da_alloc",
    "dioread_nolock",
    "block_validity",
    "init_itable",
];

/// Options with a value that are not shown when they have it, by filesystem type.
const UNSEEN: [(&str, &str); 5] = [
    ("ext4", "commit=5"),
    ("ext4", "stripe=0"),
    ("ext4", "inode_readahead_blks=32"),
    ("ext4", "max_batch_time=15000"),
    ("btrfs", "commit=30"),
];

/// MS_REMOUNT | MS_BIND on the topmost mount of a target.
pub(super) fn remount_flags(
    facts: &mut Facts,
    target: &Text,
    flags: &[String],
) -> Result<(), Errno> {
    let mount = top(facts, target)?;
    let known = |flag: &String| FLAGS.contains(&flag.as_str()) || flag == "strictatime";
    if !flags.iter().all(known) {
        return Err(Errno::INVAL);
    }
    let wanted = |flag: &str| match flag {
        "rw" => !flags.iter().any(|flag| flag == "ro"),
        _ => flags.iter().any(|wanted| wanted == flag),
    };
    mount.flags = FLAGS
        .iter()
        .filter(|flag| wanted(flag))
        .map(|&flag| flag.to_owned())
        .collect();
    Ok(())
}

/// fspick(2) and fsconfig(2): all mounts of the superblock show it.
pub(super) fn reconfigure(
    facts: &mut Facts,
    target: &Text,
    options: &[String],
) -> Result<(), Errno> {
    let memory_kb = facts.memory_kb;
    let mount = top(facts, target)?;
    let (device, fstype) = (mount.device.clone(), mount.fstype.clone());
    let mut shown = mount.options.clone();
    if fstype == "xfs" && !options.iter().any(|option| option == "inode32") {
        // Any reconfiguration does it.
        set(&mut shown, "inode64", &["inode32", "inode64"]);
    }
    for option in options {
        apply(&mut shown, &fstype, option, memory_kb)?;
    }
    for mount in &mut facts.mounts {
        if mount.device == device {
            mount.options.clone_from(&shown);
        }
    }
    Ok(())
}

/// One option.
fn apply(shown: &mut Vec<Text>, fstype: &str, option: &str, memory_kb: u64) -> Result<(), Errno> {
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    match (fstype, name) {
        (_, "ro" | "rw") => {
            shown.retain(|option| !matches!(option.as_bytes(), b"ro" | b"rw"));
            shown.insert(0, option.into());
        }
        (_, "lazytime" | "nolazytime" | "sync" | "async") => {
            let (on, off) = if name.ends_with("time") {
                ("lazytime", "nolazytime")
            } else {
                ("sync", "async")
            };
            shown.retain(|option| option.as_bytes() != on.as_bytes());
            if name != off {
                shown.insert(1.min(shown.len()), on.into());
            }
        }
        ("xfs", "inode32") => set(shown, "inode32", &["inode32", "inode64"]),
        // Checked, accepted, and without effect.
        ("xfs", _) => {}
        (_, "data" | "dax") => return Err(Errno::INVAL),
        ("tmpfs", "size") => {
            let kib = kib(value.unwrap_or_default(), memory_kb).ok_or(Errno::INVAL)?;
            set(shown, &format!("size={kib}k"), &["size"]);
        }
        ("tmpfs", "mode" | "uid" | "gid") => {}
        ("ext4", "commit") if value == Some("0") => take(shown, &["commit"]),
        _ if value.is_some() => match UNSEEN.contains(&(fstype, option)) {
            true => take(shown, &[name]),
            false => set(shown, option, &[name]),
        },
        _ => match name.strip_prefix("no") {
            Some(on) if ON.contains(&on) => set(shown, name, &[name]),
            Some(on) => take(shown, &[on]),
            None if ON.contains(&name) => take(shown, &[format!("no{name}").as_str()]),
            None => set(shown, name, &[name, &format!("no{name}")]),
        },
    }
    Ok(())
}

/// Shows an option in the place of the others of its kind, or at the end.
fn set(shown: &mut Vec<Text>, option: &str, kind: &[&str]) {
    let at = shown.iter().position(|shown| is(shown, kind));
    take(shown, kind);
    let at = at.unwrap_or(shown.len()).min(shown.len());
    shown.insert(at, option.into());
}

/// Shows none of these any more.
fn take(shown: &mut Vec<Text>, kind: &[&str]) {
    shown.retain(|shown| !is(shown, kind));
}

/// True where the option has one of these names.
fn is(shown: &Text, names: &[&str]) -> bool {
    let name = shown.as_bytes().split(|&byte| byte == b'=').next();
    names.iter().any(|wanted| name == Some(wanted.as_bytes()))
}

/// tmpfs' size in KiB.
fn kib(size: &str, memory_kb: u64) -> Option<u64> {
    let (digits, unit) = size.split_at(
        size.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(size.len()),
    );
    let number: u64 = digits.parse().ok()?;
    match unit {
        "" => Some(number.div_ceil(4096) * 4),
        "k" | "K" => Some(number),
        "m" | "M" => number.checked_mul(1 << 10),
        "g" | "G" => number.checked_mul(1 << 20),
        "%" => Some(memory_kb.checked_mul(number)? / 100 / 4 * 4),
        _ => None,
    }
}

/// The mount that hides the others of its target.
fn top<'a>(facts: &'a mut Facts, target: &Text) -> Result<&'a mut Mount, Errno> {
    facts
        .mounts
        .iter_mut()
        .rfind(|mount| mount.target == *target)
        .ok_or(Errno::INVAL)
}
