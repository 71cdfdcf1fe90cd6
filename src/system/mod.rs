//! Floor 5: the only writer and the only process runner.
//!
//! Everything above decides; here it happens, one [`Effect`] at a time, so that a test can fail
//! any of them and a simulated machine can stand in for the real one.

// The one floor on which what clippy.toml forbids is done; what it decides, is decided above.
#![allow(clippy::disallowed_methods)]

mod attribute;
pub mod clock;
pub mod failing;
mod file;
mod folder;
mod image;
mod link;
mod live;
pub mod lock;
mod mount;
mod node;
mod place;
mod run;
pub mod simulated;
mod timer;
mod unit;
mod words;

pub use file::read_file;
pub use image::{stand, stands};
pub use live::Live;
pub use timer::facts;
pub(crate) use words::failed;

use std::io;

use crate::facts::Scope;
use crate::facts::{Facts, Image};
use crate::format::text::Text;

/// One step that changes the machine. Each is atomic as far as the kernel allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Makes a folder, and those above it, with this mode; no error where it is there.
    MakeDir {
        /// Its path.
        path: Text,
        /// Permission bits of those that are made.
        mode: u32,
    },
    /// Writes one of ssdtune's own records whole: a new file beside it, synced, renamed over it,
    /// the folder synced.
    Record {
        /// Its path.
        path: Text,
        /// Content and metadata.
        image: Image,
    },
    /// Writes a new file that must not exist yet, with all its metadata, and syncs it.
    Stage {
        /// Its path.
        path: Text,
        /// Content and metadata.
        image: Image,
    },
    /// Puts a staged file in the place of `target`, if what is there still is `expected`.
    ///
    /// With RENAME_EXCHANGE where the filesystem has it, then a look at what was displaced; it is
    /// exchanged back, and the error says so, where a rival was faster. The displaced file is
    /// removed, the folder synced. `expected: None`: there must be no file.
    Commit {
        /// The staged file.
        staged: Text,
        /// The file it becomes.
        target: Text,
        /// What must stand there.
        expected: Option<Image>,
    },
    /// Removes a file if it still is `expected` (any content where none is given), and syncs the
    /// folder; no error where it is gone.
    Remove {
        /// Its path.
        path: Text,
        /// What must stand there.
        expected: Option<Image>,
    },
    /// Removes a folder of ssdtune's own with all that is in it.
    RemoveDir {
        /// Its path.
        path: Text,
    },
    /// Holds udev off a device: flock(LOCK_EX) on its node, until [`Effect::UnlockNodes`].
    LockNode {
        /// Kernel name, `!` for `/`.
        device: String,
    },
    /// Releases all nodes.
    UnlockNodes,
    /// Writes one file below `/sys/block/DEVICE`, in one write(2), again while it is EBUSY.
    SetAttribute {
        /// Kernel name.
        device: String,
        /// `queue/scheduler`.
        file: String,
        /// The value.
        value: String,
    },
    /// Sets all per-mount flags of a mount point with a bind-remount.
    RemountFlags {
        /// Mount point.
        target: Text,
        /// All flags it shall have: `nosuid`, `relatime`.
        flags: Vec<String>,
    },
    /// Sets filesystem options through fspick(2) and fsconfig(2).
    Reconfigure {
        /// Mount point.
        target: Text,
        /// Options in order: `commit=60`, `nodiscard`.
        options: Vec<String>,
    },
    /// Masks a unit until the next boot, and notes that the mask is ours.
    MaskUnit {
        /// `tmp.mount`.
        unit: String,
    },
    /// Takes such a mask away.
    UnmaskUnit {
        /// `tmp.mount`.
        unit: String,
    },
    /// Makes a link below /etc/systemd/system, or removes it with its folder if that is empty then,
    /// and syncs the folder. What stands there must be `from`, or already what is wanted.
    Link {
        /// Its path: `/etc/systemd/system/timers.target.wants/fstrim.timer`.
        path: Text,
        /// Where it leads; none where there must be none.
        from: Option<Text>,
        /// Where it is to lead; none where it goes.
        to: Option<Text>,
    },
    /// `systemctl start` or `stop`.
    RunUnit {
        /// `fstrim.timer`
        unit: String,
        /// Start it, or stop it.
        run: bool,
    },
    /// `systemctl daemon-reload`, where systemd runs.
    ReloadSystemd,
    /// `udevadm control --reload`, where udevd runs.
    ReloadUdev,
    /// `udevadm settle`, where udevd runs.
    Settle,
}

/// The machine: reads facts, performs effects.
pub trait System {
    /// Reads the facts that a scope asks for.
    fn facts(&mut self, scope: &Scope<'_>) -> Facts;

    /// Performs one effect. The error says what, on which path, and why.
    fn perform(&mut self, effect: &Effect) -> io::Result<()>;
}
