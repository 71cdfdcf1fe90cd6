//! The table of exit statuses.

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or in sync.
    Done,
    /// Failed or declined; nothing changed.
    Failed,
    /// Wrong usage, or an error in a state file.
    Usage,
    /// Changes are pending.
    Pending,
    /// Failed, and everything was put back.
    RolledBack,
    /// Failed, and not everything could be put back.
    Incomplete,
    /// In sync but for what waits for the next boot.
    Waiting,
}

impl Exit {
    /// The number.
    pub const fn status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Pending => 3,
            Self::RolledBack => 4,
            Self::Incomplete => 5,
            Self::Waiting => 6,
        }
    }
}
