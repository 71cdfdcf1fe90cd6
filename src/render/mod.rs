//! Floor 7: the words and pages that people and programs read.

pub mod problem;
