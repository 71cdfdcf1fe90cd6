//! Floor 7: the words and pages that people and programs read.

pub mod devices;
pub mod diff;
pub mod explain;
pub mod history;
pub mod json;
pub mod plan;
pub mod problem;
pub mod style;
pub mod words;
