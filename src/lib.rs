//! ssdtune keeps a machine's storage set-up in a file: plan what differs, apply it, roll it back.
//!
//! The house has floors, and imports go downwards only:
//!
//! | floor | module | what |
//! |---|---|---|
//! | 0 | [`mod@format`] | text formats of the field, text in, text out |
//! | 1 | [`knowledge`] | the kernel's knobs as constant tables |
//! | 2 | [`state`] | what is wanted, from TOML |
//! | 3 | [`facts`] | what is; reads, never writes |
//! | 4 | [`plan`], [`verify`] | what would change, and whether it did; pure |
//! | 5 | [`system`] | the only writer and process runner |
//! | 6 | [`snapshot`], [`mod@apply`], [`rollback`] | the store, the protocol, the way back |
//! | 7 | [`render`] | words and pages |
//! | 8 | [`cli`] | a file a verb |

pub mod apply;
pub mod cli;
pub mod facts;
pub mod format;
pub mod knowledge;
pub mod plan;
pub mod render;
pub mod rollback;
pub mod snapshot;
pub mod state;
pub mod system;
pub mod verify;
