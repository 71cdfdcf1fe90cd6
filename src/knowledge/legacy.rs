//! Names from old guides, and what to write today.
