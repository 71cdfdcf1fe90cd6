//! Kinds of filesystem types.

/// Filesystems on a disk of this machine: what `fstype = "*"` means. Read-only media (`iso9660`)
/// have no access times to tune, and a list of types (`udf,iso9660`) is a removable one.
const LOCAL_DISK: &[&str] = &[
    "ext4", "ext3", "ext2", "xfs", "btrfs", "f2fs", "vfat", "msdos", "exfat", "ntfs3", "reiserfs",
    "jfs", "nilfs2", "bcachefs", "ufs", "hfs", "hfsplus", "minix", "affs",
];

const NETWORK: &[&str] = &[
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ceph",
    "9p",
    "virtiofs",
    "afs",
    "ncpfs",
    "ncp",
    "glusterfs",
    "fuse.glusterfs",
    "fuse.sshfs",
    "sshfs",
    "fuse.s3fs",
    "davfs",
    "lustre",
    "orangefs",
    "pvfs2",
    "beegfs",
];

/// Filesystems whose files are not on a disk, or not written at all.
const NO_ATIME: &[&str] = &[
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "bpf",
    "pstore",
    "efivarfs",
    "mqueue",
    "hugetlbfs",
    "autofs",
    "binfmt_misc",
    "rpc_pipefs",
    "fusectl",
    "selinuxfs",
    "devpts",
    "iso9660",
    "squashfs",
    "erofs",
    "cramfs",
    "romfs",
    "swap",
];

/// True for filesystems on a disk of this machine: what `fstype = "*"` means.
pub fn is_local_disk(fstype: &str) -> bool {
    LOCAL_DISK.contains(&fstype)
}

/// True for filesystems of another machine, or the host of a virtual one.
pub fn is_network(fstype: &str) -> bool {
    NETWORK.contains(&fstype)
}

/// True where `noatime` and its kind have an effect.
pub fn has_atime(fstype: &str) -> bool {
    foreign(fstype).is_none() && !NO_ATIME.contains(&fstype)
}

/// Why tuning by mount options has no effect on this type, and what to do instead.
pub fn foreign(fstype: &str) -> Option<&'static str> {
    match fstype {
        "zfs" => Some("zfs keeps it as a property: set atime=off on the dataset (zfs set)"),
        "nfs" | "nfs4" => {
            Some("access times of nfs are kept by the server: the option has no effect here")
        }
        "cifs" | "smb3" | "smbfs" => {
            Some("access times of cifs are kept by the server: the option has no effect here")
        }
        _ if is_network(fstype) => {
            Some("its access times are kept on the other side: the option has no effect here")
        }
        "swap" => Some("swap has no inodes"),
        _ => None,
    }
}

/// The filesystems that have an option of this name, in words: `ext4, btrfs and f2fs`.
pub(super) fn owners(name: &str) -> Option<String> {
    let mut owners: Vec<&str> = Vec::new();
    for option in super::named(name).filter(|option| option.gone.is_none()) {
        if !owners.contains(&option.owner()) {
            owners.push(option.owner());
        }
    }
    let last = owners.pop()?;
    Some(match owners.is_empty() {
        true => last.to_owned(),
        false => format!("{} and {last}", owners.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o10_local_disks_are_told_from_the_rest() {
        for local in ["ext4", "xfs", "btrfs", "f2fs", "vfat"] {
            assert!(is_local_disk(local), "{local}");
            assert!(has_atime(local), "{local}");
            assert_eq!(foreign(local), None, "{local}");
        }
        for other in [
            "nfs4",
            "cifs",
            "zfs",
            "proc",
            "udf,iso9660",
            "swap",
            "tmpfs",
            "none",
        ] {
            assert!(!is_local_disk(other), "{other}");
        }
        assert!(foreign("zfs").unwrap().contains("atime=off"));
        assert!(foreign("cifs").unwrap().contains("no effect"));
        assert!(has_atime("tmpfs") && !has_atime("proc") && !has_atime("nfs"));
    }

    #[test]
    fn no_type_is_both_here_and_elsewhere() {
        for fstype in LOCAL_DISK {
            assert!(
                !is_network(fstype) && !NO_ATIME.contains(fstype),
                "{fstype}"
            );
        }
    }
}
