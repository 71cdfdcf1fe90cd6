//! The lines of an fstab by mount point.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::format::fstab::{Fstab, Kind, Line, canonical};
use crate::format::octal;

/// An index over an fstab: made once, each question is then cheap.
pub(super) struct Lines<'f> {
    fstab: &'f Fstab,
    by_target: HashMap<Vec<u8>, Vec<&'f Line>>,
    disabled: OnceCell<HashMap<Vec<u8>, u32>>,
}

impl<'f> Lines<'f> {
    /// Indexes a file.
    pub fn new(fstab: &'f Fstab) -> Self {
        let mut by_target: HashMap<Vec<u8>, Vec<&Line>> = HashMap::new();
        for line in fstab.lines() {
            match line.kind {
                Kind::Entry(_) => {
                    if let Some(entry) = fstab.entry(line).filter(|entry| entry.is_mount()) {
                        let target = entry.target().into_owned();
                        by_target.entry(target).or_default().push(line);
                    }
                }
                Kind::Bad {
                    target: Some(span), ..
                } => {
                    // Readers may differ in what they decode: as written counts too.
                    let raw = span.of(fstab.bytes());
                    let decoded = octal::decode(raw);
                    let decoded = canonical(&decoded).into_owned();
                    let written = canonical(raw).into_owned();
                    if written != decoded {
                        by_target.entry(written).or_default().push(line);
                    }
                    by_target.entry(decoded).or_default().push(line);
                }
                _ => {}
            }
        }
        Self {
            fstab,
            by_target,
            disabled: OnceCell::new(),
        }
    }

    /// The file.
    pub fn fstab(&self) -> &'f Fstab {
        self.fstab
    }

    /// The lines about a mount point in canonical form: entries, and bad lines.
    pub fn about(&self, target: &[u8]) -> &[&'f Line] {
        self.by_target.get(target).map_or(&[], Vec::as_slice)
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
