//! Options with which a filesystem mounts only where something else holds.

/// What must hold where a filesystem of this type is mounted with this option, to be said behind
/// "will only mount"; none where it mounts in any case.
///
/// From the kernel's fs/ext4/super.c, fs/xfs/xfs_super.c, fs/btrfs/super.c and selinux(8).
pub fn needs(fstype: &str, item: &str) -> Option<&'static str> {
    let (key, value) = item.split_once('=').unwrap_or((item, ""));
    let extended = matches!(fstype, "ext2" | "ext3" | "ext4");
    Some(match key {
        // xfs and dax=inode go without it where the disk cannot.
        "dax" if extended && matches!(value, "" | "always") => {
            "on memory that keeps its content (pmem), with blocks of the size of a page"
        }
        "sb" if extended => {
            "where a copy of the superblock stands at that place, in units of 1 KiB"
        }
        "journal_dev" | "journal_path" if extended => {
            "where it was made with a journal on another device, and that device is there"
        }
        "logdev" if fstype == "xfs" => {
            "where it was made with a log on another device, and that device is there"
        }
        "rtdev" if fstype == "xfs" => {
            "where it was made with a real-time section, and that device is there"
        }
        "subvol" | "subvolid" if fstype == "btrfs" => "where it has that subvolume",
        "context" | "fscontext" | "defcontext" | "rootcontext" => {
            "where SELinux is on, and its policy knows that label"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::needs;

    #[test]
    fn an_option_needs_something_where_it_is_one() {
        for (fstype, item) in [
            ("ext4", "dax"),
            ("ext4", "dax=always"),
            ("ext4", "sb=32768"),
            ("ext3", "journal_path=/dev/sdb1"),
            ("xfs", "logdev=/dev/sdb1"),
            ("btrfs", "subvol=@home"),
            ("xfs", "context=\"system_u:object_r:tmp_t:s0\""),
        ] {
            assert!(needs(fstype, item).is_some(), "{fstype} {item}");
        }
        for (fstype, item) in [
            ("ext4", "dax=inode"),
            ("xfs", "dax"),
            ("btrfs", "sb=1"),
            ("ext4", "noatime"),
        ] {
            assert_eq!(needs(fstype, item), None, "{fstype} {item}");
        }
    }
}
