//! /proc/PID/mountinfo: proc(5), fs/proc_namespace.c.
//!
//! ```text
//! 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//! id parent device root target flags optional... - fstype source options
//! ```

use std::borrow::Cow;

use super::octal;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Mount ID.
    pub id: u32,
    /// Parent's mount ID.
    pub parent: u32,
    /// `major:minor` of the superblock.
    pub device: &'a str,
    /// The directory of the filesystem that is mounted.
    pub root: Cow<'a, [u8]>,
    /// Mount point.
    pub target: Cow<'a, [u8]>,
    /// Per-mount flags, separated by commas: see [`Entry::flags`].
    pub flag_list: &'a str,
    /// Filesystem type; the kernel's escapes in a fuse subtype stay.
    pub fstype: &'a str,
    /// Source as the filesystem shows it; may be empty.
    pub source: Cow<'a, [u8]>,
    /// Per-superblock options as the kernel prints them: see [`Entry::options`].
    pub option_list: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Per-mount flags: `rw`, `nosuid`, `noatime`.
    pub fn flags(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.flag_list.split(',').filter(|flag| !flag.is_empty())
    }

    /// Per-superblock options, escapes decoded.
    ///
    /// A comma inside a value is either escaped by the kernel (`\054`, overlay) or stands between
    /// double quotes (SELinux contexts, security/selinux/hooks.c), so both are left whole.
    pub fn options(&self) -> impl Iterator<Item = Cow<'a, [u8]>> + use<'a> {
        super::mount_options::split(self.option_list).map(octal::decode)
    }

    /// Reads one line, without its newline.
    fn parse(line: &'a [u8]) -> Option<Self> {
        // The kernel writes exactly one blank between fields, so two in a row are an empty field.
        let mut fields = line.splitn(7, |&byte| byte == b' ');
        let id = number(fields.next()?)?;
        let parent = number(fields.next()?)?;
        let device = device(fields.next()?)?;
        let root = fields.next()?;
        let target = fields.next()?;
        let flags = fields.next()?;
        let mut rest = fields.next()?;
        while !rest.starts_with(b"- ") {
            let blank = rest.iter().position(|&byte| byte == b' ')?;
            rest = &rest[blank + 1..];
        }
        // A filesystem that forgets to escape a blank does so in its options, which come last.
        let mut tail = rest[2..].splitn(3, |&byte| byte == b' ');
        let fstype = tail.next()?;
        let source = tail.next()?;
        let options = tail.next()?;
        if !root.starts_with(b"/") && !root.contains(&b':') || !target.starts_with(b"/") {
            return None;
        }
        Some(Self {
            id,
            parent,
            device,
            root: octal::decode(root),
            target: octal::decode(target),
            flag_list: std::str::from_utf8(flags).ok()?,
            fstype: std::str::from_utf8(fstype)
                .ok()
                .filter(|name| !name.is_empty())?,
            source: octal::decode(source),
            option_list: options,
        })
    }
}

/// Reads mountinfo in its order; the second value counts the lines that are none of it.
pub fn parse(bytes: &[u8]) -> (Vec<Entry<'_>>, usize) {
    let mut strange = 0;
    let mut entries = Vec::new();
    for line in bytes
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match Entry::parse(line) {
            Some(entry) => entries.push(entry),
            None => strange += 1,
        }
    }
    (entries, strange)
}

fn number(field: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(field).ok()?;
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

fn device(field: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(field).ok()?;
    let (major, minor) = text.split_once(':')?;
    number(major.as_bytes())?;
    number(minor.as_bytes())?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[u8] = b"\
22 28 0:20 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
28 1 8:1 / / rw,noatime - ext4 /dev/sda1 rw,errors=remount-ro,commit=60
40 28 0:33 /a\\040b /mnt/tab\\011x\\134 rw master:1 propagate_from:2 - overlay none rw,lowerdir=/x\\054y\\040z,context=\"a:c1,c2\"
41 28 0:34 / /e rw shared:3 -  rw
42 28 0:35 / /e rw shared:3 - tmpfs  rw,size=4k
4026531840 28 0:4 net:[4026531840] /run/netns/a rw shared:1 - nsfs nsfs rw
";

    #[test]
    fn fields_are_decoded_and_optional_ones_skipped() {
        let (entries, strange) = parse(LINES);
        assert_eq!((entries.len(), strange), (5, 1));
        let root = &entries[1];
        assert_eq!((root.id, root.parent, root.device), (28, 1, "8:1"));
        assert_eq!(root.flags().collect::<Vec<_>>(), ["rw", "noatime"]);
        assert_eq!(root.options().last().as_deref(), Some(&b"commit=60"[..]));
        assert!(matches!(root.target, Cow::Borrowed(b"/")));
        let overlay = &entries[2];
        assert_eq!(*overlay.root, *b"/a b");
        assert_eq!(*overlay.target, *b"/mnt/tab\tx\\");
        let options: Vec<_> = overlay.options().collect();
        assert_eq!(*options[1], *b"lowerdir=/x,y z");
        assert_eq!(*options[2], *b"context=\"a:c1,c2\"");
        assert_eq!(
            (entries[3].fstype, &*entries[3].source),
            ("tmpfs", &b""[..])
        );
        assert_eq!(*entries[4].root, *b"net:[4026531840]");
    }

    #[test]
    fn broken_lines_are_counted() {
        for line in [
            "x",
            "1 2 3 / / rw - ext4 a rw",
            "1 2 8:1 / / rw ext4 a rw",
            "+1 2 8:1 / / rw - e a rw",
        ] {
            assert_eq!(parse(line.as_bytes()).1, 1, "{line}");
        }
        assert_eq!(parse(b"").1, 0);
    }

    #[test]
    fn the_running_kernel_is_understood() {
        let Ok(bytes) = std::fs::read("/proc/self/mountinfo") else {
            return;
        };
        let (entries, strange) = parse(&bytes);
        assert_eq!(strange, 0);
        assert!(!entries.is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            parse(&bytes);
        }

        #[test]
        fn any_fields_are_survived(line in "1 2 3:4 [-/ \\\\0:a]{0,40}") {
            for entry in parse(line.as_bytes()).0 {
                entry.options().count();
            }
        }
    }
}
