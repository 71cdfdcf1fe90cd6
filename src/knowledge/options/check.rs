//! Whether an option may be asked for: known, spelt right, with a value that makes sense.

use super::{Found, MountOption, all, farewell, lookup, name_of, named, row, values};
use crate::knowledge::{Kernel, legacy};

/// The oldest kernel that anyone is expected to run: what it lacks already is gone for good.
const OLDEST: Kernel = Kernel(4, 19);

/// Checks an option that somebody wants: on a filesystem type or, without one, on any; on a kernel
/// or, without one, on any that is still in use.
///
/// # Errors
/// Says what is wrong and what to write instead.
pub fn check(fstype: Option<&str>, item: &str, kernel: Option<Kernel>) -> Result<(), String> {
    spelling(item)?;
    if let Some(answer) = legacy::mkfs(item) {
        return Err(answer);
    }
    match fstype {
        Some(fstype) => match row(fstype, item) {
            Some(option) => usable(option, item, kernel),
            None => Err(unknown(fstype, item)),
        },
        None => anywhere(item, kernel),
    }
}

/// Checks an option on every filesystem that has it: one that takes it is enough.
fn anywhere(item: &str, kernel: Option<Kernel>) -> Result<(), String> {
    let name = name_of(item);
    let mut first = None;
    for option in named(name) {
        match usable(option, item, kernel) {
            Ok(()) => return Ok(()),
            // What a living option says is worth more than the farewell of a dead one.
            Err(why) if first.is_none() || option.gone.is_none() => first = Some(why),
            Err(_) => {}
        }
    }
    Err(first.unwrap_or_else(|| unknown("", item)))
}

/// Checks an option on a filesystem that has, or had it.
fn usable(option: &MountOption, item: &str, kernel: Option<Kernel>) -> Result<(), String> {
    if let Some(gone) = option.gone
        && option.missing_from(kernel.unwrap_or(OLDEST))
    {
        return Err(farewell(option, gone));
    }
    if let (Some(since), Some(kernel)) = (option.since, kernel)
        && kernel < since
    {
        return Err(format!(
            "`{}` came to {} with Linux {since}, and this is {kernel}: leave it out",
            option.name,
            option.owner()
        ));
    }
    values::validate(option, item)
}

/// What fstab's fourth field, and the readers of it, cannot hold as one option.
fn spelling(item: &str) -> Result<(), String> {
    if item.is_empty() {
        return Err("an option cannot be empty: leave it out".to_owned());
    }
    if item.chars().any(|c| c.is_whitespace() && !c.is_control()) {
        return Err(format!(
            "`{item}` has a blank, which would end the field: write `\\040` within quotes, or \
             one string for each option"
        ));
    }
    if item.chars().any(char::is_control) {
        return Err(format!(
            "`{}` has a control character: leave it out",
            item.escape_debug()
        ));
    }
    let pieces = outside_quotes(item).ok_or_else(|| {
        format!(
            "`{item}` is quoted where it must not be: only a whole value may be, as in \
             `context=\"…\"`"
        )
    })?;
    if pieces.len() > 1 {
        let pieces: Vec<_> = pieces
            .into_iter()
            .filter(|piece| !piece.is_empty())
            .collect();
        let array: Vec<_> = pieces.iter().map(|piece| format!("{piece:?}")).collect();
        let count = match pieces.len() {
            0 | 1 => "has a comma too many".to_owned(),
            2 => "is two options".to_owned(),
            3 => "is three options".to_owned(),
            4 => "is four options".to_owned(),
            many => format!("is {many} options"),
        };
        return Err(format!("`{item}` {count}: write [{}]", array.join(", ")));
    }
    Ok(())
}

/// The pieces between commas outside quotes; none where quotes stand elsewhere than around a whole
/// value.
fn outside_quotes(item: &str) -> Option<Vec<&str>> {
    let (mut pieces, mut start, mut quoted) = (Vec::new(), 0, false);
    let bytes = item.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' if quoted => {
                quoted = false;
                if !matches!(bytes.get(at + 1), None | Some(b',')) {
                    return None;
                }
            }
            b'"' => {
                quoted = true;
                if at == start || bytes[at - 1] != b'=' || name_of(&item[start..at]).is_empty() {
                    return None;
                }
            }
            b',' if !quoted => {
                pieces.push(&item[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&item[start..]);
    (!quoted).then_some(pieces)
}

/// Answers a name that the filesystem does not have.
fn unknown(fstype: &str, item: &str) -> String {
    let name = name_of(item);
    let lower = name.to_lowercase();
    if lower != name && all().any(|option| option.name == lower) {
        let rest = &item[name.len()..];
        return format!("`{name}` is not a mount option, case matters: write `{lower}{rest}`");
    }
    match lookup(fstype, item) {
        Found::OtherFilesystem(other) if !fstype.is_empty() => {
            format!("`{name}` is an option of {other}, not of {fstype}: leave it out here")
        }
        Found::Unknown {
            nearest: Some(nearest),
        } => format!("`{name}` is not a mount option: did you mean `{nearest}`?"),
        _ if fstype.is_empty() => {
            let nearest = crate::knowledge::nearest(
                name,
                all()
                    .filter(|option| option.gone.is_none())
                    .map(|option| option.name),
            );
            match nearest {
                Some(nearest) => {
                    format!("`{name}` is not a mount option: did you mean `{nearest}`?")
                }
                None => format!(
                    "`{name}` is not a mount option that ssdtune knows: if it is right, write it \
                     into fstab by hand"
                ),
            }
        }
        _ => format!(
            "`{name}` is not a mount option that ssdtune knows for {fstype}: if it is right, write \
             it into fstab by hand"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(fstype: Option<&str>, item: &str) -> String {
        match check(fstype, item, Some(Kernel(6, 18))) {
            Err(why) => why,
            Ok(()) => panic!("{fstype:?} takes {item}"),
        }
    }

    #[test]
    fn what_is_right_is_taken() {
        for item in [
            "noatime",
            "defaults",
            "commit=60",
            "errors=remount-ro",
            "nobarrier",
            "compress=zstd:3",
            "size=25%",
            "size=1G",
            "mode=1777",
            "x-systemd.device-timeout=10s",
            "X-mount.mkdir",
            "x-gvfs-show",
            "nofail",
            "user",
            "context=\"system_u:object_r:tmp_t:s0:c127,c456\"",
            "uid=1000",
        ] {
            assert_eq!(check(None, item, None), Ok(()), "{item}");
        }
        assert_eq!(check(Some("nfs4"), "noatime", None), Ok(()));
        assert_eq!(check(Some("udf,iso9660"), "ro", None), Ok(()));
        assert_eq!(check(Some("ext4,xfs"), "logbufs=8", None), Ok(()));
        assert_eq!(check(Some("auto"), "flush", None), Ok(()));
    }

    #[test]
    fn o05_what_the_kernel_no_longer_knows_is_refused() {
        assert_eq!(
            refusal(Some("xfs"), "nobarrier"),
            "`nobarrier` was removed from xfs in Linux 4.19: xfs always flushes where the drive \
             needs it, leave it out"
        );
        assert_eq!(
            refusal(Some("xfs"), "errors=remount-ro"),
            "`errors` is an option of ext4, f2fs and vfat, not of xfs: leave it out here"
        );
        assert!(refusal(Some("btrfs"), "inode_cache").contains("5.11"));
        assert!(refusal(Some("ext4"), "noacl").contains("will not mount"));
        assert!(refusal(Some("ext4"), "bh").contains("does nothing on ext4"));
        // An older kernel still has it; an unknown kernel is taken for one that may.
        assert_eq!(
            check(Some("btrfs"), "inode_cache", Some(Kernel(5, 10))),
            Ok(())
        );
        assert_eq!(check(Some("xfs"), "ikeep", None), Ok(()));
        assert!(check(Some("xfs"), "nobarrier", None).is_err());
        assert!(check(Some("tmpfs"), "noswap", Some(Kernel(6, 1))).is_err());
        assert_eq!(check(Some("tmpfs"), "noswap", None), Ok(()));
    }

    #[test]
    fn slips_are_answered_with_what_to_write() {
        assert!(refusal(None, "NOATIME").ends_with("write `noatime`"));
        assert!(refusal(None, "Commit=60").ends_with("write `commit=60`"));
        assert!(refusal(Some("ext4"), "noatim").contains("did you mean `noatime`"));
        assert!(refusal(None, "default").contains("did you mean `defaults`"));
        assert_eq!(
            refusal(None, "noatime,nodiratime"),
            "`noatime,nodiratime` is two options: write [\"noatime\", \"nodiratime\"]"
        );
        assert!(refusal(None, "noatime,").contains("write [\"noatime\"]"));
        assert!(refusal(None, "agcount=4").contains("mkfs.xfs"));
        assert!(refusal(Some("xfs"), "sunit=8").contains("superblock"));
        assert!(refusal(Some("ext4"), "sw").contains("sw"));
    }

    #[test]
    fn what_would_break_a_line_of_fstab_is_refused() {
        for item in [
            "",
            "no atime",
            "noatime\n",
            "noatime\t",
            "noatime\u{1b}[31m",
            "\"noatime\"",
            "context=\"a",
            "context=a\"b\"",
            "context=\"a\"b",
            "=\"a\"",
            "noatime\u{a0}",
        ] {
            assert!(check(None, item, None).is_err(), "{item:?}");
        }
    }

    #[test]
    fn values_are_checked_and_errors_say_what_is_allowed() {
        assert_eq!(
            refusal(Some("ext4"), "commit=abc"),
            "`commit=abc`: the value of `commit` is a whole number of seconds from 0 to 2147483"
        );
        assert_eq!(
            refusal(Some("xfs"), "logbsize=100k"),
            "`logbsize=100k`: the value of `logbsize` is a power of two of bytes from 16k to 256k"
        );
        assert_eq!(
            refusal(Some("tmpfs"), "mode=0999"),
            "`mode=0999`: the value of `mode` is an octal number from 0 to 7777"
        );
        assert_eq!(
            refusal(Some("ext4"), "noatime=1"),
            "`noatime` takes no value: write `noatime` alone"
        );
        assert!(refusal(Some("btrfs"), "compress=foo").contains("`zstd`"));
        for (fstype, item) in [
            ("tmpfs", "size=12q"),
            ("tmpfs", "size=-1"),
            ("tmpfs", "size=1.5g"),
            ("tmpfs", "size="),
            ("tmpfs", "size"),
            ("tmpfs", "huge=deny"),
            ("tmpfs", "uid=root"),
            ("btrfs", "compress=zstd:16"),
            ("btrfs", "compress=zlib:10"),
            ("btrfs", "compress=lzo:3"),
            ("btrfs", "commit=301"),
            ("xfs", "allocsize=3m"),
            ("xfs", "allocsize=2k"),
            ("xfs", "logbufs=9"),
            ("ext4", "journal_ioprio=8"),
            ("ext4", "inode_readahead_blks=33"),
            ("ext4", "commit=010"),
            ("ext4", "commit=-1"),
            ("ext4", "errors=remount"),
        ] {
            refusal(Some(fstype), item);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(item: String) {
            let _ = check(None, &item, None);
            let _ = check(Some("ext4"), &item, Some(Kernel(6, 18)));
        }
    }
}
