//! ssdtune keeps a machine's storage set-up in a file: plan what differs, apply it, roll it back.
//!
//! The house has floors, and imports go downwards only: [`format`] (text formats), [`knowledge`]
//! (the kernel's knobs), [`state`] (what is wanted), [`facts`] (what is), then the plan, the
//! writers, the words and the command line.

pub mod facts;
pub mod format;
pub mod knowledge;
pub mod render;
pub mod state;
