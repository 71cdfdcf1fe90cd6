//! The table of exit statuses, and its text in every `--help`.

/// What `--help` says of them.
pub const HELP: &str = "\
Exit status:
  0  done, or in sync
  1  failed, declined, or an error in the plan: nothing changed
  2  wrong usage, or an error in a state file
  3  changes pending (plan --detailed-exitcode, status)
  4  failed, and everything was put back
  5  failed, and not everything could be put back: it says what stands where
  6  status: only waiting for the next boot";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_has_every_status_once() {
        let all = [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::Pending,
            Exit::RolledBack,
            Exit::Incomplete,
            Exit::Waiting,
        ];
        let listed: Vec<u8> = HELP
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next()?.parse().ok())
            .collect();
        assert_eq!(listed, all.map(Exit::status));
    }
}
