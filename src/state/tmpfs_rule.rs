//! `[[tmpfs]]`: reads a rule on a tmpfs line of fstab.

use super::fields::Fields;
use super::option_list::{self, Scope};
use super::pattern::{Refused, check_characters};
use super::reader::Reader;
use super::rule::{self, Common};
use super::visible::{in_quotes, quoted};
use super::{At, TmpfsRule, mount_rule};

/// Reads a `[[tmpfs]]`; none where it has no target.
pub(super) fn read(mut fields: Fields<'_>, reader: &mut Reader) -> Option<TmpfsRule> {
    let at = reader.origin(fields.header.clone());
    let before = reader.count();
    let Common { when, allow } = rule::common(&mut fields, reader);
    let target = fields
        .string("target", reader)
        .and_then(|at| checked(at, target, reader));
    let size = fields
        .string("size", reader)
        .and_then(|at| checked(at, size, reader));
    let mode = fields
        .string("mode", reader)
        .and_then(|at| checked(at, mode, reader));
    let scope = Scope {
        types: &["tmpfs"],
        others: false,
        allow: &allow,
    };
    let options = option_list::wanted(&mut fields, scope, &["size", "mode"], reader);
    fields.finish_with("", reader, |key| mount_rule::misplaced(key, &[]));
    if target.is_none() && reader.count() == before {
        reader.report(
            at,
            "this rule has no `target`",
            "write the directory that is to be a tmpfs: `target = \"/tmp\"`",
        );
    }
    Some(TmpfsRule {
        at,
        when,
        target: target?,
        size,
        mode,
        options,
        allow,
    })
}

/// Takes a value that a check lets pass.
fn checked(
    at: At<String>,
    check: fn(&str) -> Result<(), Refused>,
    reader: &mut Reader,
) -> Option<At<String>> {
    match check(&at.value) {
        Ok(()) => Some(at),
        Err(refused) => {
            reader.refuse(at.origin, refused);
            None
        }
    }
}

/// Directories that an empty tmpfs would hide, with all that a machine boots from.
const NEEDED: &[&str] = &[
    "/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/proc", "/sbin",
    "/sys", "/usr", "/var", "/var/lib",
];

/// Directories of which that is true of all that is in them too.
const NEEDED_BELOW: &[&str] = &[
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix",
    "/proc",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/sbin",
    "/var/lib/dpkg",
    "/var/lib/rpm",
    "/var/lib/ssdtune",
];

/// True where an empty directory in that place leaves a machine that does not start, or of which
/// nobody knows any more what is installed and how to put it back.
fn needed(text: &str) -> bool {
    let text = text.trim_end_matches('/');
    NEEDED.contains(&text)
        || NEEDED_BELOW.iter().any(|top| {
            text.strip_prefix(top)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

/// A mount point as it will be written to fstab: absolute, in the kernel's spelling.
fn target(text: &str) -> Result<(), Refused> {
    check_characters(text)?;
    if !text.starts_with('/') {
        return Err(Refused::new(
            format!("{} is no absolute path", quoted(text)),
            "write the directory from the root: \"/tmp\"",
        ));
    }
    if needed(text) || text.bytes().all(|byte| byte == b'/') {
        return Err(Refused::new(
            format!(
                "a tmpfs on {} would hide what the machine boots from",
                quoted(text)
            ),
            "choose a directory for temporary files: `/tmp`, `/var/tmp`",
        ));
    }
    if text.contains(['*', '?', '[']) {
        return Err(Refused::new(
            format!(
                "{} is a pattern, and a tmpfs needs one directory",
                quoted(text)
            ),
            "write one `[[tmpfs]]` for each directory",
        ));
    }
    let clean = text[1..]
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..");
    if !clean {
        let parts: Vec<&str> = text
            .split('/')
            .filter(|p| !p.is_empty() && *p != ".")
            .collect();
        let help = if parts.contains(&"..") {
            "write the directory without `..`".to_owned()
        } else {
            format!("write {}", in_quotes(&format!("/{}", parts.join("/"))))
        };
        return Err(Refused::new(
            format!("{} is not the plain name of a directory", quoted(text)),
            help,
        ));
    }
    Ok(())
}

/// A size as tmpfs takes it; 0 would mean no limit.
fn size(text: &str) -> Result<(), Refused> {
    const HELP: &str = "write bytes with `k`, `m` or `g`, or percent of RAM: \"2g\", \"25%\"";
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at(end);
    let shift = match unit {
        "" | "%" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => {
            return Err(Refused::new(format!("{} is no size", quoted(text)), HELP));
        }
    };
    let Ok(number) = digits.parse::<u64>() else {
        return Err(Refused::new(format!("{} is no size", quoted(text)), HELP));
    };
    if number == 0 {
        return Err(Refused::new(
            format!(
                "{} means no limit: the files could fill all memory",
                quoted(text)
            ),
            HELP,
        ));
    }
    if unit == "%" && number > 100 {
        return Err(Refused::new(
            format!("{} is more than there is", quoted(text)),
            "write a share of RAM from 1% to 100%, or bytes",
        ));
    }
    if number > u64::MAX >> shift {
        return Err(Refused::new(
            format!("{} is more bytes than the kernel can count", quoted(text)),
            HELP,
        ));
    }
    Ok(())
}

/// Permission bits in octal.
fn mode(text: &str) -> Result<(), Refused> {
    let octal =
        (3..=5).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    if octal && u32::from_str_radix(text, 8).is_ok_and(|mode| mode <= 0o7777) {
        return Ok(());
    }
    Err(Refused::new(
        format!("{} is no mode", quoted(text)),
        "write three or four octal digits: \"1777\" for a directory that all may write to",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_absolute_clean_and_not_needed_for_booting() {
        for text in [
            "/tmp",
            "/var/tmp",
            "/var/cache/apt archives",
            "/dev/shm",
            "/run",
            "/usr/local/tmp",
            "/var/lib/machines",
            "/library",
        ] {
            assert_eq!(target(text), Ok(()), "{text}");
        }
        for text in [
            "",
            "tmp",
            "/",
            "//",
            "/tmp/",
            "//tmp",
            "/var//tmp",
            "/var/./tmp",
            "/var/../etc",
            "/usr",
            "/etc/",
            "/etc/udev",
            "/usr/lib",
            "/lib/modules",
            "/var/lib/ssdtune/snapshots",
            "/tmp\n",
            "/t*",
            "/tmp\\040x",
            "/..",
        ] {
            assert!(target(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_what_the_kernel_takes_and_mean_a_limit() {
        for text in [
            "1",
            "64k",
            "512m",
            "2G",
            "25%",
            "100%",
            "18446744073709551615",
        ] {
            assert_eq!(size(text), Ok(()), "{text}");
        }
        for text in [
            "",
            "g",
            "0",
            "0%",
            "00m",
            "101%",
            "2gb",
            "2 g",
            "1.5g",
            "-1",
            "+1",
            "2t",
            "18446744073709551616",
            "99999999999g",
            "%",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn modes_are_octal() {
        for text in ["1777", "0755", "700", "01777"] {
            assert_eq!(mode(text), Ok(()), "{text}");
        }
        for text in ["", "17", "0999", "u+rwx", "10000", "17777", "0o1777"] {
            assert!(mode(text).is_err(), "{text}");
        }
    }
}
