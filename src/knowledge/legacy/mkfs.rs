//! What is fixed when a filesystem is made, and the tool that can still change it.

/// One row of [`mkfs`]: names, the filesystem, the option of its mkfs, and the tool that can still
/// change it.
type MadeOnce = (
    &'static [&'static str],
    &'static str,
    &'static str,
    Option<&'static str>,
);

const MADE_ONCE: &[MadeOnce] = &[
    (
        &["agcount", "agsize"],
        "xfs",
        "mkfs.xfs -d agcount=… or agsize=…",
        Some("xfs_growfs adds groups of the same size"),
    ),
    (
        &["sector_size", "sectsize", "sectsz"],
        "xfs",
        "mkfs.xfs -s size=…",
        None,
    ),
    (
        // xfs has mount options of these names: one mount with them rewrites the superblock.
        &["sunit", "swidth"],
        "xfs",
        "mkfs.xfs -d su=…,sw=…",
        Some("one mount by hand with both rewrites the superblock for good"),
    ),
    (
        &["imaxpct", "maxpct"],
        "xfs",
        "mkfs.xfs -i maxpct=…",
        Some("xfs_growfs -m"),
    ),
    (
        &["log_size", "logblocks"],
        "xfs",
        "mkfs.xfs -l size=…",
        None,
    ),
    (&["log_sunit", "logsunit"], "xfs", "mkfs.xfs -l su=…", None),
    (
        &["lazy_count", "lazy-count"],
        "xfs",
        "mkfs.xfs -l lazy-count=…; always on today",
        None,
    ),
    (
        &["crc", "reflink", "rmapbt", "finobt", "sparse"],
        "xfs",
        "mkfs.xfs -m … (sparse: -i sparse=…)",
        None,
    ),
    (
        &["bigtime", "inobtcount", "nrext64"],
        "xfs",
        "mkfs.xfs -m … (nrext64: -i nrext64=…)",
        Some("xfs_admin -O"),
    ),
    (
        &["ftype", "dir_block_size", "naming"],
        "xfs",
        "mkfs.xfs -n …",
        None,
    ),
    (
        &["block_size", "blocksize", "bsize"],
        "a filesystem",
        "mkfs.ext4 -b …, mkfs.xfs -b size=…",
        None,
    ),
    (
        &["inode_size", "isize"],
        "a filesystem",
        "mkfs.ext4 -I …, mkfs.xfs -i size=…",
        Some("tune2fs -I enlarges it on an unmounted ext4"),
    ),
    (
        &["inode_ratio", "bytes_per_inode", "inode_count"],
        "ext4",
        "mkfs.ext4 -i … or -N …",
        None,
    ),
    (
        &["journal_size", "journal_location"],
        "ext4",
        "mkfs.ext4 -J size=…",
        Some("tune2fs -O ^has_journal, then tune2fs -J size=…, unmounted"),
    ),
    (
        &["has_journal"],
        "ext4",
        "mkfs.ext4 -O has_journal",
        Some("tune2fs -O, unmounted"),
    ),
    (
        &["stride", "stripe_width", "stripe-width"],
        "ext4",
        "mkfs.ext4 -E stride=…,stripe_width=…",
        Some("tune2fs -E, or the mount option `stripe=…`"),
    ),
    (&["flex_bg", "flex_bg_size"], "ext4", "mkfs.ext4 -G …", None),
    (&["bigalloc"], "ext4", "mkfs.ext4 -O bigalloc -C …", None),
    (
        &["reserved_blocks", "reserved_percent", "reserved-blocks"],
        "ext4",
        "mkfs.ext4 -m …",
        Some("tune2fs -m, while it is mounted"),
    ),
    (
        &[
            "extent",
            "64bit",
            "metadata_csum",
            "dir_index",
            "sparse_super2",
            "fast_commit",
        ],
        "ext4",
        "mkfs.ext4 -O …",
        Some("tune2fs -O, mostly unmounted"),
    ),
    (
        &["lazy_itable_init"],
        "ext4",
        "mkfs.ext4 -E lazy_itable_init=…; the mount option `init_itable` says how fast it is made \
         good",
        None,
    ),
    (&["nodesize"], "btrfs", "mkfs.btrfs -n …", None),
    (&["sectorsize"], "btrfs", "mkfs.btrfs -s …", None),
    (
        &["checksum", "csum"],
        "btrfs",
        "mkfs.btrfs --csum …",
        Some("btrfstune --csum, unmounted and experimental"),
    ),
    (
        &["profile", "data_profile", "metadata_profile"],
        "btrfs",
        "mkfs.btrfs -d … -m …",
        Some("btrfs balance -dconvert=… -mconvert=…, while it is mounted"),
    ),
    (&["mixed_bg", "mixed"], "btrfs", "mkfs.btrfs -M", None),
    (
        &["free_space_tree", "free-space-tree"],
        "btrfs",
        "mkfs.btrfs",
        Some("a fresh mount with `clear_cache,space_cache=v2`"),
    ),
    (
        &["block_group_tree", "block-group-tree"],
        "btrfs",
        "mkfs.btrfs -O block-group-tree",
        Some("btrfstune --convert-to-block-group-tree, unmounted"),
    ),
    (
        &["no_holes", "no-holes", "skinny_metadata"],
        "btrfs",
        "mkfs.btrfs -O …",
        Some("btrfstune -n or -x, unmounted"),
    ),
    (
        &["segs_per_sec", "secs_per_zone"],
        "f2fs",
        "mkfs.f2fs -s … -z …",
        None,
    ),
    (
        &["overprovision"],
        "f2fs",
        "mkfs.f2fs -o …",
        Some("resize.f2fs"),
    ),
    (
        &["cluster_size"],
        "a filesystem",
        "mkfs.fat -s …, mkfs.ext4 -C … (bigalloc)",
        None,
    ),
    (&["fat_bits", "fat_size"], "vfat", "mkfs.fat -F …", None),
    (&["reserved_sectors"], "vfat", "mkfs.fat -R …", None),
];

/// Answers a parameter that is fixed when a filesystem is made, with or without a value.
pub fn mkfs(item: &str) -> Option<String> {
    let name = item.split_once('=').map_or(item, |(name, _)| name);
    let (_, filesystem, option, tool) =
        MADE_ONCE.iter().find(|(names, ..)| names.contains(&name))?;
    let fixed = format!("`{name}` is fixed when {filesystem} is made: {option}");
    Some(match tool {
        Some(tool) => format!("{fixed}; afterwards: {tool}"),
        None => format!("{fixed}; afterwards only by making it anew"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mkfs_decides_is_told_with_the_tool_that_can_still_change_it() {
        assert_eq!(
            mkfs("agcount=4").unwrap(),
            "`agcount` is fixed when xfs is made: mkfs.xfs -d agcount=… or agsize=…; afterwards: \
             xfs_growfs adds groups of the same size"
        );
        assert!(mkfs("inode_size").unwrap().contains("mkfs.ext4 -I"));
        assert_eq!(mkfs("noatime"), None);
    }

    #[test]
    fn no_name_stands_twice() {
        let names: Vec<_> = MADE_ONCE.iter().flat_map(|row| row.0).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name}");
        }
    }
}
