//! Entries of udev's database: /run/udev/data/b8:0 (`device_update_db()` in systemd's
//! src/libsystemd/sd-device/device-private.c).
//!
//! One item a line, a letter and a colon in front: `S:` a link below /dev, `E:` a property,
//! `I:` when udev was done with the device, `G:` and `Q:` tags; others are of no interest here.

/// One device's entry.
#[derive(Debug, Clone, Copy)]
pub struct Database<'a> {
    bytes: &'a [u8],
}

/// Takes an entry as it was read.
pub fn parse(bytes: &[u8]) -> Database<'_> {
    Database { bytes }
}

impl<'a> Database<'a> {
    /// A property; where the key is there twice, the last one, as udev reads it.
    pub fn property(&self, key: &str) -> Option<&'a [u8]> {
        self.items(b'E')
            .rev()
            .find_map(|item| item.strip_prefix(key.as_bytes())?.strip_prefix(b"="))
    }

    /// All properties, in the order of the file.
    pub fn properties(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.items(b'E').filter_map(|item| {
            let at = item.iter().position(|&byte| byte == b'=')?;
            Some((&item[..at], &item[at + 1..]))
        })
    }

    /// Links to the device, relative to /dev: `disk/by-id/ata-...`.
    pub fn links(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.items(b'S')
    }

    /// The names of its links below /dev/disk/by-id.
    pub fn ids(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.links()
            .filter_map(|link| link.strip_prefix(b"disk/by-id/"))
    }

    fn items(&self, letter: u8) -> impl DoubleEndedIterator<Item = &'a [u8]> + use<'a> {
        self.bytes
            .split(|&byte| byte == b'\n')
            .filter_map(move |line| line.strip_prefix(&[letter, b':']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDA: &[u8] = b"\
S:disk/by-id/ata-Samsung_SSD_860_EVO_500GB_S3Z2NB0K
S:disk/by-path/pci-0000:00:17.0-ata-1
I:1234567
E:ID_SERIAL=Samsung_SSD_860_EVO_500GB_S3Z2NB0K
E:ID_SERIAL_SHORT=S3Z2NB0K
E:ID_MODEL_ENC=Samsung\\x20SSD=x
E:EMPTY=
E:BROKEN
G:systemd
";

    #[test]
    fn keys_are_whole() {
        let database = parse(SDA);
        assert_eq!(database.property("ID_SERIAL_SHORT"), Some(&b"S3Z2NB0K"[..]));
        assert_eq!(
            database.property("ID_MODEL_ENC"),
            Some(&b"Samsung\\x20SSD=x"[..])
        );
        assert_eq!(database.property("EMPTY"), Some(&b""[..]));
        assert_eq!(database.property("ID_SER"), None);
        assert_eq!(database.property("BROKEN"), None);
        assert_eq!(database.properties().count(), 4);
    }

    #[test]
    fn the_last_of_two_counts() {
        assert_eq!(parse(b"E:A=1\nE:A=2").property("A"), Some(&b"2"[..]));
    }

    #[test]
    fn links_are_below_dev() {
        let database = parse(SDA);
        assert_eq!(database.links().count(), 2);
        let ids: Vec<_> = database.ids().collect();
        assert_eq!(ids, [&b"ata-Samsung_SSD_860_EVO_500GB_S3Z2NB0K"[..]]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let database = parse(&bytes);
            database.property("A");
            database.properties().count();
            database.ids().count();
        }
    }
}
