//! Values of options: what is allowed, and one canonical spelling for what means the same.

use std::borrow::Cow;

use super::{MountOption, ValueKind};

/// What tmpfs counts blocks in. Larger pages only round a size up.
const PAGE: u64 = 4096;

/// Name and value of an option; quotes around the value belong to fstab's spelling.
fn split(item: &str) -> (&str, Option<&str>) {
    match item.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (item, None),
    }
}

/// Checks the value of an option.
pub(super) fn validate(option: &MountOption, item: &str) -> Result<(), String> {
    let (name, value) = split(item);
    let (kind, optional) = match option.value {
        ValueKind::Optional(kind) => (*kind, true),
        kind => (kind, false),
    };
    match value {
        None if optional || kind == ValueKind::Flag => Ok(()),
        None => Err(format!(
            "`{name}` needs a value, {}",
            allowed(&kind, option.unit)
        )),
        Some(_) if kind == ValueKind::Flag => {
            Err(format!("`{name}` takes no value: write `{name}` alone"))
        }
        Some(value) if holds(&kind, value) => Ok(()),
        Some(_) => Err(format!(
            "`{item}`: the value of `{name}` is {}",
            allowed(&kind, option.unit)
        )),
    }
}

/// Whether a value is one of its kind.
fn holds(kind: &ValueKind, value: &str) -> bool {
    match kind {
        ValueKind::Flag => false,
        ValueKind::Optional(kind) => holds(kind, value),
        ValueKind::Number { min, max } => {
            decimal(value).is_some_and(|number| (*min..=*max).contains(&number))
        }
        ValueKind::PowerOfTwo(max) => decimal(value)
            .is_some_and(|number| number == 0 || number.is_power_of_two() && number <= *max),
        ValueKind::Size {
            min,
            max,
            power_of_two,
        } => size(value).is_some_and(|bytes| {
            (*min..=*max).contains(&bytes) && (!power_of_two || bytes.is_power_of_two())
        }),
        ValueKind::SizeOrPercent => match value.strip_suffix('%') {
            Some(percent) => decimal(percent).is_some_and(|percent| percent > 0 && percent <= 1000),
            None => size(value).is_some(),
        },
        ValueKind::Count => size(value).is_some(),
        ValueKind::Octal => octal(value).is_some_and(|bits| bits <= 0o7777),
        ValueKind::OneOf(words) => words.contains(&value),
        ValueKind::Leveled(words) => {
            let (word, level) = leveled(value);
            words.iter().any(|(name, bounds)| {
                *name == word
                    && match (level, bounds) {
                        (None, _) => true,
                        (Some(level), Some((min, max))) => signed(level).is_some_and(|level| {
                            (i64::from(*min)..=i64::from(*max)).contains(&level)
                        }),
                        (Some(_), None) => false,
                    }
            })
        }
        ValueKind::Text => !value.is_empty(),
    }
}

/// What a value may be, in words.
fn allowed(kind: &ValueKind, unit: &str) -> String {
    let of = if unit.is_empty() {
        String::new()
    } else {
        format!(" of {unit}")
    };
    match kind {
        ValueKind::Flag => "nothing".to_owned(),
        ValueKind::Optional(kind) => allowed(kind, unit),
        ValueKind::Number { min, max } => format!("a whole number{of} from {min} to {max}"),
        ValueKind::PowerOfTwo(max) => format!("0 or a power of two{of}, up to {max}"),
        ValueKind::Size {
            min,
            max,
            power_of_two,
        } => {
            let kind = if *power_of_two {
                "a power of two of bytes"
            } else {
                "a number of bytes"
            };
            if *max == u64::MAX {
                format!("{kind}, with `k`, `m` or `g` if need be")
            } else {
                format!("{kind} from {} to {}", in_units(*min), in_units(*max))
            }
        }
        ValueKind::SizeOrPercent => {
            "a number of bytes, with `k`, `m` or `g` if need be, or a share of memory such as `25%`"
                .to_owned()
        }
        ValueKind::Count => format!("a whole number{of}, with `k`, `m` or `g` if need be"),
        ValueKind::Octal => "an octal number from 0 to 7777".to_owned(),
        ValueKind::OneOf(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
            match words.as_slice() {
                [only] => only.clone(),
                _ => format!("one of {}", words.join(", ")),
            }
        }
        ValueKind::Leveled(words) => {
            let words: Vec<_> = words
                .iter()
                .map(|(word, bounds)| match bounds {
                    Some((min, max)) => format!("`{word}` (or `{word}:{min}` to `{word}:{max}`)"),
                    None => format!("`{word}`"),
                })
                .collect();
            format!("one of {}", words.join(", "))
        }
        ValueKind::Text => "not empty".to_owned(),
    }
}

fn in_units(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        _ if bytes.is_multiple_of(1 << 30) => format!("{}g", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        _ => bytes.to_string(),
    }
}

/// The one spelling of what means the same: `compress=zstd` is `compress=zstd:3`, `barrier=0` is
/// `nobarrier`, `commit=0` of ext4 is `commit=5`, and sizes are bytes. A value that is none of its
/// kind stays as it is.
pub(super) fn canonical<'a>(option: &MountOption, item: &'a str, memory_kb: u64) -> Cow<'a, str> {
    let (name, value) = split(item);
    let kind = match option.value {
        ValueKind::Optional(kind) => *kind,
        kind => kind,
    };
    let normal = value.and_then(|value| normal(&kind, value, memory_kb));
    let value = normal.as_deref().or(value);
    let alias = option
        .alias
        .iter()
        .find(|(from, _)| *from == "*" || *from == value.unwrap_or(""));
    if let Some((_, token)) = alias {
        return Cow::Borrowed(token);
    }
    if option.slot() == "compress" {
        return compression(name, value);
    }
    if name == "nr_blocks" {
        let bytes = value
            .and_then(decimal)
            .and_then(|blocks| blocks.checked_mul(PAGE));
        return bytes.map_or(Cow::Borrowed(item), |bytes| format!("size={bytes}").into());
    }
    match normal {
        Some(normal) => format!("{name}={normal}").into(),
        None => Cow::Borrowed(item),
    }
}

/// A number in plain decimal, a size in bytes, a mode without leading zeros.
fn normal(kind: &ValueKind, value: &str, memory_kb: u64) -> Option<String> {
    Some(match kind {
        ValueKind::Number { .. } | ValueKind::PowerOfTwo(_) => decimal(value)?.to_string(),
        ValueKind::Size { .. } | ValueKind::Count => size(value)?.to_string(),
        ValueKind::SizeOrPercent => bytes(value, memory_kb)?.to_string(),
        ValueKind::Octal => format!("{:o}", octal(value)?),
        _ => return None,
    })
}

/// The bytes that a size, or a share of memory, stands for.
pub(super) fn bytes(value: &str, memory_kb: u64) -> Option<u64> {
    match value.strip_suffix('%') {
        Some(percent) if memory_kb > 0 => Some(
            memory_kb
                .checked_mul(1024)?
                .checked_mul(decimal(percent)?)?
                / 100,
        ),
        Some(_) => None,
        None => size(value),
    }
}

/// btrfs shows the algorithm's level always, and clamps it: `compress` is `compress=zlib:3`.
fn compression<'a>(name: &str, value: Option<&str>) -> Cow<'a, str> {
    let (word, level) = leveled(value.unwrap_or("zlib"));
    let level = level
        .and_then(signed)
        .filter(|level| *level != 0)
        .unwrap_or(3);
    match word {
        "no" | "none" => Cow::Borrowed("compress=no"),
        "zlib" => format!("{name}=zlib:{}", level.clamp(1, 9)).into(),
        "zstd" => format!("{name}=zstd:{}", level.clamp(-15, 15)).into(),
        word => format!("{name}={word}").into(),
    }
}

fn leveled(value: &str) -> (&str, Option<&str>) {
    match value.split_once(':') {
        Some((word, level)) => (word, Some(level)),
        None => (value, None),
    }
}

/// A plain decimal number: the kernel takes `010` for octal, so leading zeros are none.
fn decimal(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    (plain && (text.len() == 1 || !text.starts_with('0'))).then(|| text.parse().ok())?
}

fn signed(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(digits) => i64::try_from(decimal(digits)?).ok().map(|number| -number),
        None => i64::try_from(decimal(text)?).ok(),
    }
}

fn octal(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    plain.then(|| u32::from_str_radix(text, 8).ok())?
}

/// Bytes of a number with a suffix k, m, g, t, p or e, as the kernel's `memparse` reads them.
fn size(text: &str) -> Option<u64> {
    let last = text.chars().next_back()?;
    let power = match last.to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        'p' => 5,
        'e' => 6,
        _ => return decimal(text),
    };
    decimal(&text[..text.len() - 1])?.checked_mul(1 << (10 * power))
}

#[cfg(test)]
mod tests {
    use super::super::row;
    use super::*;

    fn spelling(fstype: &str, item: &str) -> String {
        canonical(row(fstype, item).unwrap(), item, 1 << 20).into_owned()
    }

    #[test]
    fn what_means_the_same_has_one_spelling() {
        for (fstype, item, expected) in [
            ("btrfs", "compress", "compress=zlib:3"),
            ("btrfs", "compress=zstd", "compress=zstd:3"),
            ("btrfs", "compress=zstd:0", "compress=zstd:3"),
            ("btrfs", "compress=zstd:99", "compress=zstd:15"),
            ("btrfs", "compress=zstd:-16", "compress=zstd:-15"),
            ("btrfs", "compress=lzo", "compress=lzo"),
            ("btrfs", "compress=lzo:3", "compress=lzo"),
            ("btrfs", "compress=none", "compress=no"),
            ("btrfs", "compress-force=zstd", "compress-force=zstd:3"),
            ("btrfs", "compress-force=no", "compress=no"),
            ("btrfs", "discard=sync", "discard"),
            ("btrfs", "discard=async", "discard=async"),
            ("btrfs", "commit=0", "commit=30"),
            ("ext4", "commit=0", "commit=5"),
            ("ext4", "commit=60", "commit=60"),
            ("ext4", "barrier=0", "nobarrier"),
            ("ext4", "barrier=1", "barrier"),
            ("ext4", "barrier=7", "barrier"),
            ("ext4", "barrier", "barrier"),
            ("ext4", "auto_da_alloc=0", "noauto_da_alloc"),
            ("ext4", "dioread_lock", "nodioread_nolock"),
            ("ext4", "init_itable", "init_itable=10"),
            ("ext4", "dax", "dax=always"),
            ("ext4", "noload", "norecovery"),
            ("ext4", "atime", "relatime"),
            ("xfs", "logbsize=262144", "logbsize=262144"),
            ("xfs", "logbsize=256K", "logbsize=262144"),
            ("xfs", "allocsize=1m", "allocsize=1048576"),
            ("xfs", "uquota", "usrquota"),
            ("tmpfs", "size=1g", "size=1073741824"),
            ("tmpfs", "size=25%", "size=268435456"),
            ("tmpfs", "nr_blocks=1000", "size=4096000"),
            ("tmpfs", "nr_inodes=10k", "nr_inodes=10240"),
            ("tmpfs", "mode=0755", "mode=755"),
            ("tmpfs", "size=12q", "size=12q"),
        ] {
            assert_eq!(spelling(fstype, item), expected, "{fstype} {item}");
        }
    }

    #[test]
    fn sizes_are_read_as_memparse_does_and_never_overflow() {
        assert_eq!(size("16k"), Some(16384));
        assert_eq!(size("1E"), Some(1 << 60));
        for bad in [
            "", "k", "1kb", "-1", "1.5g", "16E", "0x10", "010", "1é", "é",
        ] {
            assert_eq!(size(bad), None, "{bad}");
        }
        assert_eq!(bytes("50%", 0), None);
        assert_eq!(bytes("99999999999999999999%", 1 << 20), None);
    }

    proptest::proptest! {
        #[test]
        fn no_value_panics(name in 0usize..400, value: String) {
            let option = super::super::all().nth(name % super::super::all().count()).unwrap();
            let item = format!("{}={value}", option.name);
            let _ = validate(option, &item);
            let _ = canonical(option, &item, u64::MAX);
        }
    }
}
