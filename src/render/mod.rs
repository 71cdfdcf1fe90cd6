//! Words for people and programs: what other floors found, as text.

pub mod problem;
