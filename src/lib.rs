//! ssdtune keeps a machine's storage set-up in a file: plan what differs, apply it, roll it back.
//!
//! The house has floors, and imports go downwards only: [`mod@format`] (text formats),
//! [`knowledge`] (the kernel's knobs), [`state`] (what is wanted), [`facts`] (what is), [`plan`],
//! [`system`] (the only writer), [`snapshot`], then the words and the command line.

pub mod facts;
pub mod format;
pub mod knowledge;
pub mod plan;
pub mod render;
pub mod snapshot;
pub mod state;
pub mod system;
