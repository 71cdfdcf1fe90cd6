//! What a wish means for a filesystem that is mounted: already so, at once, or after a fresh mount.
//!
//! Per-mount flags change by a bind-remount that repeats all of them, filesystem options through
//! fspick(2) and fsconfig(2). `mount -o remount` is never used: it merges the whole fstab line, and
//! may turn a read-only filesystem writable or drop nosuid.

use super::Context;
use super::wishes::Wish;
use crate::facts::Mount;
use crate::format::text::Text;
use crate::knowledge::options::{
    self, Found as Known, Level, Live, MountOption, Mounted, Standing, Unseen,
};
use crate::plan::LiveMount;
use crate::plan::notices::Notices;

/// How a wish reaches the running system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// It is so already.
    Same,
    /// It concerns who mounts, not the mount: nothing to see there.
    FstabOnly,
    /// Nothing is mounted there.
    NotMounted,
    /// By a remount; in effect now is the other thing.
    Now { now: Option<String> },
    /// Only a fresh mount takes it.
    Wait { now: Option<String>, why: String },
}

/// The live change of one mount point, wish by wish.
pub(super) struct Remount<'a> {
    mount: &'a Mount,
    options: Vec<String>,
    memory_kb: u64,
    used_kb: Option<u64>,
    after: Vec<String>,
    set: Vec<String>,
    undo: Vec<String>,
}

impl<'a> Remount<'a> {
    pub fn new(cx: &Context<'a>, mount: &'a Mount) -> Self {
        Self {
            mount,
            options: mount.options.iter().map(ToString::to_string).collect(),
            memory_kb: cx.facts.memory_kb,
            used_kb: cx
                .facts
                .tmpfs_used_kb
                .get(&mount.target.to_string())
                .copied(),
            after: mount.flags.clone(),
            set: Vec::new(),
            undo: Vec::new(),
        }
    }

    /// Finds the way of one wish, and takes it.
    pub fn wish(
        &mut self,
        cx: &Context<'_>,
        target: &Text,
        fstype: &str,
        wish: &Wish<'_>,
        notices: &mut Notices,
    ) -> Way {
        let Some(token) = wanted_live(fstype, wish) else {
            return Way::FstabOnly;
        };
        let options = self.options.clone();
        let shown: Vec<&str> = options.iter().map(String::as_str).collect();
        let mounted = mounted(self.mount, &shown, self.memory_kb);
        let now = match options::standing(&token, &mounted) {
            Standing::InEffect => return Way::Same,
            Standing::Unknowable => return Way::FstabOnly,
            Standing::Differs { now } => Some(now).filter(|now| !now.is_empty()),
        };
        let Known::Known(option) = options::lookup(&self.mount.fstype, &token) else {
            return Way::FstabOnly;
        };
        // Only what is changed now is ever changed back.
        if let Some(now) = &now
            && option.live == Live::Yes
            && Self::unsaid(option, wish, now, &mounted)
        {
            let text = format!(
                "`{target}` is mounted with `{now}`, which fstab does not say: a rollback goes back to that"
            );
            wish.warn(cx, "live-differs", text, notices);
        }
        if matches!(token.as_str(), "discard" | "discard=sync")
            && self.mount.fstype != "btrfs"
            && cx.facts.discards_end_at(self.mount).is_some()
        {
            // The filesystem takes the option and switches it off again: there is nothing to wait
            // for, and nothing that a remount could do.
            return Way::FstabOnly;
        }
        if matches!(token.as_str(), "ro" | "rw") {
            return Way::Wait {
                now,
                why: "a mounted filesystem keeps its ro or rw".to_owned(),
            };
        }
        if target.as_bytes() == b"/"
            && options::needs_fresh_mount_on_root(&self.mount.fstype, &token)
        {
            notices.error(
                target.to_string(),
                format!(
                    "`{token}` on `/` is taken by a fresh mount only, and / is only remounted at boot: write `rootflags={token}` on the kernel command line instead"
                ),
                wish.place(cx),
            );
            return Way::Wait {
                now,
                why: "needs rootflags=".to_owned(),
            };
        }
        match (&option.level, &option.live) {
            (Level::Fstab, _) => Way::FstabOnly,
            (_, Live::Refused(why) | Live::Ignored(why) | Live::OneWay(why)) => Way::Wait {
                now,
                why: (*why).to_owned(),
            },
            (Level::PerMount, Live::Yes) => {
                set_flag(&mut self.after, &token);
                Way::Now { now }
            }
            (Level::Superblock, Live::Yes) => self.superblock(&token, &mounted, now),
        }
    }

    /// True where what is in effect is neither the kernel's default nor what the line says: somebody
    /// has changed it since (a laptop on battery), and the value before is not fstab's.
    ///
    /// Subvolumes share options, so that another's line may be behind one of btrfs; a tmpfs may
    /// come from a unit file.
    fn unsaid(option: &MountOption, wish: &Wish<'_>, now: &str, mounted: &Mounted<'_>) -> bool {
        let Unseen::Token(default) = option.unseen else {
            return false;
        };
        let said = wish.found.as_deref().is_some_and(|found| {
            found
                .split(',')
                .any(|item| options::standing(item, mounted) == Standing::InEffect)
        });
        wish.origin.is_some()
            && !matches!(option.slot(), "rw" | "atime")
            && now != default
            && !said
            && !matches!(mounted.fstype, "btrfs" | "tmpfs")
    }

    /// A filesystem option: only with a token that leads back.
    fn superblock(&mut self, token: &str, mounted: &Mounted<'_>, now: Option<String>) -> Way {
        if let (Some(used), Some(wanted)) = (self.used_kb, options::size_kb(token, self.memory_kb))
            && wanted < used
        {
            return Way::Wait {
                now,
                why: format!("{} MiB are in use", used.div_ceil(1024)),
            };
        }
        match options::undo(token, mounted) {
            Some(undo) => {
                self.set.push(token.to_owned());
                self.undo.insert(0, undo);
                Way::Now { now }
            }
            None => Way::Wait {
                now,
                why: if self.mount.fstype == "tmpfs" {
                    "what has grown may fill, and then not shrink back".to_owned()
                } else {
                    "there is no proven way back from it".to_owned()
                },
            },
        }
    }

    /// The live change; none where nothing is to be done.
    pub fn finish(self) -> Option<Box<LiveMount>> {
        let flags = !same_flags(&self.after, &self.mount.flags);
        if !flags && self.set.is_empty() {
            return None;
        }
        let (mut set, mut undo) = (self.set, self.undo);
        let shown: Vec<&str> = self.options.iter().map(String::as_str).collect();
        let kept = options::repeated(&mounted(self.mount, &shown, self.memory_kb));
        if let Some(token) =
            kept.filter(|_| !set.is_empty() && !set.iter().any(|token| token.starts_with("inode")))
        {
            set.push(token.to_owned());
            undo.push(token.to_owned());
        }
        Some(Box::new(LiveMount {
            device: self.mount.device.clone(),
            fstype: self.mount.fstype.clone(),
            before: self.mount.flags.clone(),
            after: self.after,
            set,
            undo,
            options_before: self.mount.options.clone(),
        }))
    }
}

fn mounted<'b>(mount: &'b Mount, options: &'b [&'b str], memory_kb: u64) -> Mounted<'b> {
    Mounted {
        fstype: &mount.fstype,
        flags: &mount.flags,
        options,
        memory_kb,
    }
}

/// The option that should be in effect: for one that goes, what the kernel does without it.
fn wanted_live(fstype: &str, wish: &Wish<'_>) -> Option<String> {
    if let Some(token) = &wish.token {
        // What the record brings back may be several members of a slot; the kernel heeds one.
        return Some(token.rsplit(',').next().unwrap_or(token).to_owned());
    }
    let gone = wish.without.clone().or_else(|| wish.found.clone())?;
    if wish.slot == options::slot(fstype, "noatime") {
        // Without any of them the kernel takes relatime, though mountinfo's silence is strictatime.
        return Some("relatime".to_owned());
    }
    match options::lookup(fstype, &gone) {
        Known::Known(option) => match option.unseen {
            Unseen::Token(token) => Some(token.to_owned()),
            Unseen::Unset | Unseen::Unknown => None,
        },
        _ => None,
    }
}

/// True where a list's members of one slot already come to what is wanted.
///
/// The atime family is read as the kernel does: strictatime beats noatime, which beats relatime,
/// in any order; `atime` takes back an earlier noatime; the `no...` forms add nothing to it.
pub(super) fn list_means(members: &[&[u8]], token: &str) -> bool {
    let Some(last) = members.last() else {
        return false;
    };
    if members.iter().all(|member| *member == token.as_bytes()) {
        return true;
    }
    let has = |name: &str| members.contains(&name.as_bytes());
    match token {
        "noatime" => {
            has("noatime")
                && members
                    .iter()
                    .all(|member| matches!(*member, b"noatime" | b"norelatime" | b"nostrictatime"))
        }
        _ => members.len() == 1 && *last == token.as_bytes(),
    }
}

/// True where an option belongs to the filesystem and not to one of its mounts.
pub(super) fn per_superblock(fstype: &str, token: &str) -> bool {
    matches!(options::lookup(fstype, token), Known::Known(option) if option.level == Level::Superblock)
}

/// `auto` is whatever is mounted; ext2 and ext3 are mounted by the driver of ext4.
pub(super) fn same_type(fstab: &str, mounted: &str) -> bool {
    fstab == "auto"
        || fstab == mounted
        || (matches!(fstab, "ext2" | "ext3" | "ext4")
            && matches!(mounted, "ext2" | "ext3" | "ext4"))
        || (fstab == "ntfs" && mounted == "ntfs3")
}

/// Puts one per-mount flag into the list, as mountinfo would show it.
fn set_flag(flags: &mut Vec<String>, token: &str) {
    let (drops, adds): (&[&str], Option<&str>) = match token {
        "noatime" => (&["relatime"], Some("noatime")),
        "relatime" | "atime" | "nostrictatime" => (&["noatime"], Some("relatime")),
        "strictatime" | "norelatime" => (&["noatime", "relatime"], None),
        "diratime" => (&["nodiratime"], None),
        "suid" => (&["nosuid"], None),
        "dev" => (&["nodev"], None),
        "exec" => (&["noexec"], None),
        "symfollow" => (&["nosymfollow"], None),
        other => (&[], Some(other)),
    };
    flags.retain(|flag| !drops.contains(&flag.as_str()));
    if let Some(flag) = adds
        && !flags.iter().any(|other| other == flag)
    {
        flags.push(flag.to_owned());
    }
}

/// Flags are a set; mountinfo's order is its own.
pub(crate) fn same_flags(a: &[String], b: &[String]) -> bool {
    let sorted = |flags: &[String]| {
        let mut flags = flags.to_vec();
        flags.sort_unstable();
        flags
    };
    sorted(a) == sorted(b)
}
