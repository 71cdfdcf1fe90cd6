//! Options that will not do what their author hopes.

use std::collections::BTreeSet;

use crate::facts::Mount;
use crate::format::mount_options;
use crate::format::text::Text;
use crate::knowledge::options::{self, Found as Known};
use crate::plan::context::{Context, Notices};
use crate::plan::mounts::Wish;

/// Looks at a line as it will be.
pub(in crate::plan) fn line(
    cx: &Context<'_>,
    target: &Text,
    fstype: &str,
    list: &[u8],
    wishes: &[Wish<'_>],
    mounted: Option<&Mount>,
    notices: &mut Notices,
) {
    let none = BTreeSet::new();
    let allow: &BTreeSet<String> = wishes.iter().find_map(|wish| wish.allow).unwrap_or(&none);
    let origin = |token: &str| {
        wishes
            .iter()
            .find(|wish| wish.token.as_deref() == Some(token))
            .and_then(|wish| wish.origin)
            .map(|origin| cx.place(origin))
    };
    for item in mount_options::split(list) {
        let item = String::from_utf8_lossy(item);
        // What a rule asks for was judged as an error already.
        if wishes
            .iter()
            .any(|wish| wish.token.as_deref() == Some(&*item))
        {
            continue;
        }
        if let Known::Gone {
            ignored: false,
            what,
            ..
        } = options::lookup(fstype, &item)
        {
            notices.warn(
                "wont-mount",
                allow,
                format!("`{target}` will not mount on the running kernel: {what}"),
                None,
            );
        }
    }
    for wish in wishes {
        match wish.token.as_deref() {
            Some(token @ ("discard" | "discard=sync" | "discard=async")) => {
                discard(
                    cx,
                    target,
                    fstype,
                    token,
                    allow,
                    mounted,
                    origin(token),
                    notices,
                );
            }
            Some("noexec") if matches!(target.as_bytes(), b"/tmp" | b"/var/tmp") => {
                temporary(target, allow, origin("noexec"), notices)
            }
            Some(token) if token.starts_with("mode=") => {
                mode(target, token, allow, origin(token), notices)
            }
            _ => {}
        }
    }
}

/// noexec where installers unpack and run.
pub(in crate::plan) fn temporary(
    target: &Text,
    allow: &BTreeSet<String>,
    origin: Option<String>,
    notices: &mut Notices,
) {
    notices.warn(
        "noexec-tmp",
        allow,
        format!("`noexec` on `{target}` breaks what unpacks and runs there: debconf, dpkg-buildpackage, installers"),
        origin,
    );
}

/// A folder for everyone needs the sticky bit.
pub(in crate::plan) fn mode(
    target: &Text,
    token: &str,
    allow: &BTreeSet<String>,
    origin: Option<String>,
    notices: &mut Notices,
) {
    let bits = token
        .strip_prefix("mode=")
        .and_then(|mode| u32::from_str_radix(mode, 8).ok())
        .unwrap_or(0o1777);
    let shared = matches!(target.as_bytes(), b"/tmp" | b"/var/tmp" | b"/dev/shm");
    if bits & 0o002 != 0 && bits & 0o1000 == 0 || shared && bits != 0o1777 {
        notices.warn(
            "sticky",
            allow,
            format!("`{token}` on `{target}`: a folder that everyone writes to needs `mode=1777`"),
            origin,
        );
    }
}

#[allow(
    clippy::too_many_arguments,
    reason = "one warning, and all that decides it"
)]
fn discard(
    cx: &Context<'_>,
    target: &Text,
    fstype: &str,
    token: &str,
    allow: &BTreeSet<String>,
    mounted: Option<&Mount>,
    origin: Option<String>,
    notices: &mut Notices,
) {
    if fstype == "btrfs" && token != "discard=async" {
        notices.warn(
            "sync-discard",
            allow,
            format!(
                "`{token}` on `{target}` replaces btrfs' `discard=async`, its default since Linux 6.2, by the slower synchronous one: write `discard=async`, or nothing"
            ),
            origin.clone(),
        );
    }
    if cx.facts.trim_timer {
        notices.warn(
            "trim-twice",
            allow,
            format!("`{token}` on `{target}` and fstrim.timer both trim: one of them is enough"),
            origin.clone(),
        );
    }
    let Some(mount) = mounted else { return };
    if let Some(layer) = cx.facts.discards_end_at(mount) {
        let why = if layer.crypt {
            "dm-crypt drops discards unless crypttab has `discard` (it tells what is free)"
        } else {
            "it does not take discards"
        };
        notices.warn(
            "no-discard",
            allow,
            format!(
                "`{token}` on `{target}` has no effect: {} is below it, and {why}",
                layer.name
            ),
            origin,
        );
    }
}
