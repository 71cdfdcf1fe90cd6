//! The lines of an fstab by mount point.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::format::fstab::{ByTarget, Fstab, Line};

/// An index over an fstab: made once, each question is then cheap.
pub(super) struct Lines<'f> {
    fstab: &'f Fstab,
    by_target: ByTarget<'f>,
    disabled: OnceCell<HashMap<Vec<u8>, u32>>,
}

impl<'f> Lines<'f> {
    /// Indexes a file.
    pub fn new(fstab: &'f Fstab) -> Self {
        Self {
            fstab,
            by_target: fstab.by_target(),
            disabled: OnceCell::new(),
        }
    }

    /// The file.
    pub fn fstab(&self) -> &'f Fstab {
        self.fstab
    }

    /// The lines about a mount point in canonical form: entries, and bad lines.
    pub fn about(&self, target: &[u8]) -> &[&'f Line] {
        self.by_target.about(target)
    }

    /// The first line about a mount point that was commented out.
    pub fn disabled(&self, target: &[u8]) -> Option<u32> {
        let disabled = self.disabled.get_or_init(|| {
            let mut found = HashMap::new();
            for line in self.fstab.lines() {
                let entry = self.fstab.disabled(line);
                if let Some(entry) = entry.filter(|entry| entry.is_mount()) {
                    found
                        .entry(entry.target().into_owned())
                        .or_insert(line.number);
                }
            }
            found
        });
        disabled.get(target).copied()
    }
}
