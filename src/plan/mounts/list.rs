//! What wishes make of a list of options: the same on every line that has this type and this list,
//! so that thousands of alike lines are thought over once.

use std::collections::HashMap;
use std::rc::Rc;

use super::live;
use super::wishes::{Rules, Wish};
use super::{Context, Notices};
use crate::format::mount_options;
use crate::format::text::Text;
use crate::knowledge::Kernel;
use crate::knowledge::options::{self, Found as Known};
use crate::plan::guard;

/// A list of options as it shall be.
pub(in crate::plan) struct List<'a> {
    /// Filesystem type of the line.
    pub fstype: String,
    /// Slot by slot.
    pub wishes: Vec<Wish<'a>>,
    /// Of each wish, whether the list is edited for it.
    pub edits: Vec<bool>,
    /// Of each wish, where it was asked for and what that overrode, in words.
    pub places: Vec<Option<String>>,
    /// The list with all of them fulfilled.
    pub after: Vec<u8>,
    /// Of each wish, what is to be said before it is followed.
    verdicts: Vec<Verdict>,
    /// Why the kernel refuses what else stands in the list.
    pub refused: Vec<String>,
}

/// Whether an option is one of the filesystem, on this kernel.
enum Verdict {
    /// It is.
    Sound,
    /// It does nothing there, and why, to be said behind "`TOKEN` on `TARGET`".
    NoEffect(String),
    /// What it is for is set elsewhere.
    Elsewhere(&'static str),
    /// It is wrong.
    Wrong(String),
}

impl<'a> List<'a> {
    /// Follows wishes on a list.
    pub fn new(cx: &Context<'_>, fstype: &str, before: &[u8], wishes: Vec<Wish<'a>>) -> Self {
        let verdicts = wishes
            .iter()
            .map(|wish| verdict(cx.kernel, fstype, wish))
            .collect();
        let places = wishes
            .iter()
            .map(|wish| Some(cx.places(wish.origin?, &wish.overridden)))
            .collect();
        let mut after = before.to_vec();
        let mut edits = Vec::with_capacity(wishes.len());
        for wish in &wishes {
            let list = apply(&after, fstype, wish);
            edits.push(list != after);
            after = list;
        }
        Self {
            refused: guard::mounts::refused(fstype, &after, &wishes),
            fstype: fstype.to_owned(),
            wishes,
            edits,
            places,
            after,
            verdicts,
        }
    }

    /// Says what is to be said of the wishes on a mount point; false where one is wrong.
    pub fn is_sound(&self, cx: &Context<'_>, target: &Text, notices: &mut Notices) -> bool {
        let fstype = &self.fstype;
        let mut sound = true;
        for (wish, verdict) in self.wishes.iter().zip(&self.verdicts) {
            if matches!(verdict, Verdict::Sound) {
                continue;
            }
            let token = wish.token.as_deref().unwrap_or_default();
            match verdict {
                Verdict::Sound => {}
                Verdict::NoEffect(why) => {
                    let text = format!("`{token}` on `{target}`{why}");
                    wish.warn(cx, "no-effect", text, notices);
                }
                Verdict::Elsewhere(answer) => {
                    sound = false;
                    notices.error(
                        target.to_string(),
                        format!("`{token}` on `{target}` ({fstype}): {answer}"),
                        wish.place(cx),
                    );
                }
                Verdict::Wrong(problem) => {
                    sound = false;
                    notices.error_of(&target.to_string(), problem.as_str(), wish.place(cx));
                }
            }
        }
        sound
    }
}

/// Lists that were thought over already, by the rules that match, type and list.
#[derive(Default)]
pub(super) struct Lists<'a> {
    known: HashMap<Vec<u8>, Rc<List<'a>>>,
    key: Vec<u8>,
}

impl<'a> Lists<'a> {
    /// What these rules on mounts (and no others) make of a list.
    pub fn of(
        &mut self,
        cx: &Context<'a>,
        rules: &Rules<'a>,
        matched: &[usize],
        fstype: &str,
        before: &[u8],
    ) -> Rc<List<'a>> {
        self.key.clear();
        for index in matched {
            self.key.extend_from_slice(&index.to_ne_bytes());
        }
        // Neither a type nor a list of fstab holds a NUL.
        for part in [b"\0", fstype.as_bytes(), b"\0", before] {
            self.key.extend_from_slice(part);
        }
        if let Some(list) = self.known.get(self.key.as_slice()) {
            return Rc::clone(list);
        }
        let wishes = rules.wishes(matched, &[], fstype, before);
        let list = Rc::new(List::new(cx, fstype, before, wishes));
        self.known.insert(self.key.clone(), Rc::clone(&list));
        list
    }
}

/// The list with one wish fulfilled; the same bytes where it is already.
fn apply(list: &[u8], fstype: &str, wish: &Wish<'_>) -> Vec<u8> {
    let in_slot = |item: &[u8]| options::slot(fstype, &String::from_utf8_lossy(item)) == wish.slot;
    match (&wish.token, &wish.without) {
        (Some(token), _) => {
            let members: Vec<&[u8]> = mount_options::split(list)
                .filter(|item| in_slot(item))
                .collect();
            if live::list_means(&members, token) {
                return list.to_vec();
            }
            // The record may bring back several members of a slot; they stand as they stood.
            mount_options::set(list, token.as_bytes(), in_slot)
        }
        (None, Some(name)) => mount_options::remove(list, |item| {
            mount_options::name(item) == name.as_bytes() || item == name.as_bytes()
        }),
        (None, None) => mount_options::remove(list, in_slot),
    }
}

/// Is the option one of this filesystem, on this kernel?
fn verdict(kernel: Option<Kernel>, fstype: &str, wish: &Wish<'_>) -> Verdict {
    let Some(token) = wish.token.as_deref().filter(|_| !wish.dropped) else {
        return Verdict::Sound;
    };
    let atime = wish.slot == options::slot(fstype, "noatime");
    let foreign = options::foreign(fstype).filter(|_| atime);
    match foreign {
        None if atime && !options::has_atime(fstype) => {
            return Verdict::NoEffect(format!(
                " has no effect: {fstype} keeps no access times on a disk"
            ));
        }
        Some(answer) if options::is_network(fstype) => {
            return Verdict::NoEffect(format!(" ({fstype}): {answer}"));
        }
        Some(answer) => return Verdict::Elsewhere(answer),
        None => {}
    }
    let problem = match options::lookup(fstype, token) {
        Known::Known(_) => options::check(Some(fstype), token, kernel).err(),
        Known::Gone { ignored: true, .. } => None,
        Known::Gone { .. } => options::check(Some(fstype), token, kernel)
            .err()
            .or_else(|| Some(format!("`{token}` is gone from {fstype}"))),
        Known::OtherFilesystem(other) => Some(format!(
            "`{token}` is an option of {other}, and {fstype} refuses to mount with it: narrow the rule with `match.fstype`"
        )),
        Known::Unknown { nearest } => Some(match nearest {
            Some(nearest) => format!("{fstype} has no option `{token}`: did you mean `{nearest}`?"),
            None => format!(
                "{fstype} has no option `{token}` that ssdtune knows, and would not mount with an unknown one"
            ),
        }),
    };
    problem.map_or(Verdict::Sound, Verdict::Wrong)
}
