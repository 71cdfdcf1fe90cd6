//! Options that will not do what their author hopes.

use std::collections::BTreeSet;

use crate::facts::Mount;
use crate::format::mount_options;
use crate::format::text::Text;
use crate::knowledge::options::{self, Found as Known};
use crate::plan::context::Context;
use crate::plan::mounts::{List, Wish};
use crate::plan::notices::Notices;
use crate::plan::timer;

/// Directories that hold what every start of the machine runs.
const RUN_FROM: &[&[u8]] = &[
    b"/",
    b"/bin",
    b"/lib",
    b"/lib32",
    b"/lib64",
    b"/nix",
    b"/nix/store",
    b"/sbin",
    b"/usr",
    b"/usr/bin",
    b"/usr/lib",
    b"/usr/lib32",
    b"/usr/lib64",
    b"/usr/libexec",
    b"/usr/sbin",
];

/// Refuses what would keep the machine from starting: it is known before the first boot fails.
pub(in crate::plan) fn boots(
    cx: &Context<'_>,
    target: &Text,
    source: &[u8],
    list: &List<'_>,
    notices: &mut Notices,
) {
    let no_program = RUN_FROM.contains(&target.as_bytes())
        && mount_options::split(&list.after)
            .filter(|item| *item == b"exec" || stops_programs(item))
            .last()
            .is_some_and(stops_programs);
    let device = source.starts_with(b"/dev/")
        || [
            &b"UUID="[..],
            b"LABEL=",
            b"PARTUUID=",
            b"PARTLABEL=",
            b"ID=",
        ]
        .iter()
        .any(|tag| source.starts_with(tag));
    for wish in &list.wishes {
        let Some(token) = wish.token.as_deref() else {
            continue;
        };
        let key = token.split_once('=').map_or(token, |(key, _)| key);
        let text = if no_program && stops_programs(token.as_bytes()) {
            let implied = if key == "noexec" {
                ""
            } else {
                " implies noexec and"
            };
            format!(
                "`{token}` on `{target}`{implied} lets no program start from there: the machine would stop working at once, and not boot again"
            )
        } else if device && matches!(key, "bind" | "rbind") {
            format!(
                "`{token}` is for a directory that is shown elsewhere, and `{target}` is on a disk: it would not be mounted any more, and the boot would stop there"
            )
        } else if device && matches!(key, "offset" | "sizelimit") {
            format!(
                "`{token}` is for a filesystem inside a file, and `{target}` is on a disk: it would not be mounted any more, and the boot would stop there"
            )
        } else {
            continue;
        };
        notices.error(target.to_string(), text, wish.place(cx));
    }
}

/// True for `noexec`, and what mount(8) takes for it.
fn stops_programs(item: &[u8]) -> bool {
    matches!(item, b"noexec" | b"user" | b"users") || item.starts_with(b"user=")
}

/// Looks at a line as it will be.
pub(in crate::plan) fn line(
    cx: &Context<'_>,
    target: &Text,
    list: &List<'_>,
    mounted: Option<&Mount>,
    notices: &mut Notices,
) {
    let List { fstype, wishes, .. } = list;
    // Of warnings on the line as a whole, what any of its rules accepts.
    let any = || -> BTreeSet<String> {
        let allowed = wishes.iter().filter_map(|wish| wish.allow);
        allowed.flatten().cloned().collect()
    };
    if let Some(mount) = mounted {
        read_only(target, &list.after, &any(), mount, notices);
    }
    for what in &list.refused {
        notices.warn(
            "wont-mount",
            &any(),
            format!("`{target}` will not mount on the running kernel: {what}"),
            None,
        );
    }
    for wish in wishes {
        match wish.token.as_deref() {
            Some(token @ ("discard" | "discard=sync" | "discard=async")) => {
                discard(cx, target, fstype, token, wish, mounted, notices);
            }
            Some("noexec") if matches!(target.as_bytes(), b"/tmp" | b"/var/tmp") => {
                temporary(cx, target, wish, notices);
            }
            Some(token) if token.starts_with("mode=") => mode(cx, target, token, wish, notices),
            Some(token) => system(cx, target, token, list, wish, notices),
            None => {}
        }
        let needs = wish.token.as_deref();
        if let Some((token, what)) =
            needs.and_then(|token| Some((token, options::needs(fstype, token)?)))
        {
            let text = format!("with `{token}`, `{target}` will only mount {what}");
            wish.warn(cx, "mount-needs", text, notices);
        }
    }
}

/// Why the kernel refuses items of a list, but for those that wishes put there: these were judged
/// as errors already.
pub(in crate::plan) fn refused(fstype: &str, list: &[u8], wishes: &[Wish<'_>]) -> Vec<String> {
    let wished = |item: &str| {
        wishes
            .iter()
            .any(|wish| wish.token.as_deref() == Some(item))
    };
    mount_options::split(list)
        .map(String::from_utf8_lossy)
        .filter(|item| !wished(item))
        .filter_map(|item| refusal(fstype, &item))
        .collect()
}

/// Why the kernel refuses an option that stands on a line; none where it does not, or nobody knows.
///
/// Of a filesystem without a table any option may be right.
fn refusal(fstype: &str, item: &str) -> Option<String> {
    let has_table = || options::all().any(|option| option.fs.contains(&fstype));
    match options::lookup(fstype, item) {
        Known::Gone {
            ignored: false,
            what,
            ..
        } => Some(what),
        Known::OtherFilesystem(other) if has_table() => Some(format!(
            "`{item}` is an option of {other}, which {fstype} refuses"
        )),
        Known::Unknown {
            nearest: Some(nearest),
        } if has_table() => Some(format!(
            "{fstype} has no option `{item}`: was `{nearest}` meant?"
        )),
        _ => None,
    }
}

/// What is mounted read-only, though its line says nothing of it, stays so: it may be an error that
/// made it so, and a remount that turned it back would write to a damaged filesystem.
fn read_only(
    target: &Text,
    list: &[u8],
    allow: &BTreeSet<String>,
    mount: &Mount,
    notices: &mut Notices,
) {
    if !mount.read_only() || mount_options::split(list).any(|item| item == b"ro") {
        return;
    }
    notices.warn(
        "read-only",
        allow,
        format!(
            "`{target}` is mounted read-only, though fstab does not say so, and stays so: find out why before it is written to again"
        ),
        None,
    );
}

/// noexec where installers unpack and run.
fn temporary(cx: &Context<'_>, target: &Text, wish: &Wish<'_>, notices: &mut Notices) {
    let text = format!(
        "`noexec` on `{target}` breaks what unpacks and runs there: debconf, dpkg-buildpackage, installers"
    );
    wish.warn(cx, "noexec-tmp", text, notices);
}

/// Rights that the system's own folders cannot do without.
fn system(
    cx: &Context<'_>,
    target: &Text,
    token: &str,
    list: &List<'_>,
    wish: &Wish<'_>,
    notices: &mut Notices,
) {
    let ours = |flag: &str, against: fn(&[u8]) -> bool| {
        against(token.as_bytes())
            && mount_options::split(&list.after)
                .filter(|item| *item == flag.as_bytes() || against(item))
                .last()
                .is_some_and(against)
    };
    let path = target.as_bytes();
    if RUN_FROM.contains(&path) && ours("suid", takes_rights) {
        let implied = if token == "nosuid" {
            ""
        } else {
            " implies nosuid and"
        };
        let text = format!(
            "`{token}` on `{target}`{implied} takes their rights from sudo, su and passwd there: who is not root already does not become it any more"
        );
        wish.warn(cx, "no-sudo", text, notices);
    }
    if path == b"/" && token == "nodev" && ours("dev", |item| item == b"nodev") {
        let text = format!(
            "`nodev` on `{target}`: no device node on it works any more, such as those of a chroot, or of a `/dev` that is no mount of its own"
        );
        wish.warn(cx, "nodev-root", text, notices);
    }
}

/// True for `nosuid`, and what mount(8) takes for it.
fn takes_rights(item: &[u8]) -> bool {
    matches!(item, b"nosuid" | b"user" | b"users" | b"owner" | b"group")
        || item.starts_with(b"user=")
}

/// A folder for everyone needs the sticky bit.
fn mode(cx: &Context<'_>, target: &Text, token: &str, wish: &Wish<'_>, notices: &mut Notices) {
    let bits = token
        .strip_prefix("mode=")
        .and_then(|mode| u32::from_str_radix(mode, 8).ok())
        .unwrap_or(0o1777);
    let shared = matches!(target.as_bytes(), b"/tmp" | b"/var/tmp" | b"/dev/shm");
    if bits & 0o002 != 0 && bits & 0o1000 == 0 || shared && bits != 0o1777 {
        let text =
            format!("`{token}` on `{target}`: a folder that everyone writes to needs `mode=1777`");
        wish.warn(cx, "sticky", text, notices);
    }
}

/// Discards that come too often, or nowhere.
fn discard(
    cx: &Context<'_>,
    target: &Text,
    fstype: &str,
    token: &str,
    wish: &Wish<'_>,
    mounted: Option<&Mount>,
    notices: &mut Notices,
) {
    if fstype == "btrfs" && token != "discard=async" {
        let text = format!(
            "`{token}` on `{target}` replaces btrfs' `discard=async`, its default since Linux 6.2, by the slower synchronous one: write `discard=async`, or nothing"
        );
        wish.warn(cx, "sync-discard", text, notices);
    }
    // Where `[trim]` says what is to be, that is looked at with every line of fstab.
    if timer::wished(cx).is_none() && cx.facts.trim_timer.trims() {
        let text =
            format!("`{token}` on `{target}` and fstrim.timer both trim: one of them is enough");
        wish.warn(cx, "trim-twice", text, notices);
    }
    if let Some(layer) = mounted.and_then(|mount| cx.facts.discards_end_at(mount)) {
        let text = format!(
            "`{token}` on `{target}` has no effect: {} is below it, and {}",
            layer.name, layer.why
        );
        wish.warn(cx, "no-discard", text, notices);
    }
}
