//! The program on the real kernel: loop devices with ext4, xfs and btrfs, mounted from an fstab of
//! the test's own, in a mount namespace of the test's own. All of it needs root; what cannot be
//! tried says so and is skipped.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test sets up what the program is then asked to change"
)]

mod support;

#[path = "live/drift.rs"]
mod drift;
#[path = "live/history.rs"]
mod history;
#[path = "live/interrupted.rs"]
mod interrupted;
#[path = "live/killed.rs"]
mod killed;
#[path = "live/mounts.rs"]
mod mounts;
#[path = "live/recipe.rs"]
mod recipe;
#[path = "live/refusals.rs"]
mod refusals;
#[path = "live/rivals.rs"]
mod rivals;
#[path = "live/saved.rs"]
mod saved;
#[path = "live/trim.rs"]
mod trim;
