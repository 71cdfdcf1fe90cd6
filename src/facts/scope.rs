//! What to read: everything, or only what some rules and the managed record need.

/// How far gathering reaches.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Look at the running system; where false, only the files of the root are read.
    pub live: bool,
    _wanted: Option<&'a ()>,
}

impl Scope<'_> {
    /// All that is known how to read.
    pub fn everything() -> Self {
        Self {
            live: true,
            _wanted: None,
        }
    }
}
