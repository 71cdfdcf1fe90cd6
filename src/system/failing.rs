//! A machine on which the nth effect fails, for tests of every way out.

use std::io;

use super::{Effect, System};
use crate::facts::Facts;
use crate::facts::Scope;

/// How the nth effect fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is not performed, and fails with EIO; what comes after works again.
    Before,
    /// It is performed, and fails with EIO all the same.
    After,
    /// It is not performed and neither is anything after it: the power is gone.
    Dead,
    /// It is performed, then the power is gone.
    DeadAfter,
}

/// A machine whose nth effect fails.
#[doc(hidden)]
#[derive(Debug)]
pub struct Failing<S> {
    /// The machine below.
    pub inner: S,
    /// Which effect fails, counted from 1; 0: none.
    pub at: usize,
    /// How.
    pub mode: Mode,
    /// How many effects were asked for so far.
    pub count: usize,
}

impl<S> Failing<S> {
    /// A machine whose effect number `at` (from 1) fails; with 0 it only counts.
    pub fn new(inner: S, at: usize, mode: Mode) -> Self {
        Self {
            inner,
            at,
            mode,
            count: 0,
        }
    }
}

impl<S: System> System for Failing<S> {
    fn facts(&mut self, scope: &Scope) -> Facts {
        self.inner.facts(scope)
    }

    fn perform(&mut self, effect: &Effect) -> io::Result<()> {
        self.count += 1;
        let lost = || Err(rustix::io::Errno::IO.into());
        if self.at == 0 || self.count < self.at {
            return self.inner.perform(effect);
        }
        match (self.mode, self.count == self.at) {
            (Mode::After | Mode::DeadAfter, true) => {
                self.inner.perform(effect)?;
                lost()
            }
            (Mode::Before | Mode::After, false) => self.inner.perform(effect),
            (Mode::Before, true) | (Mode::Dead | Mode::DeadAfter, _) => lost(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Counting(usize);

    impl System for Counting {
        fn facts(&mut self, _: &Scope) -> Facts {
            Facts::default()
        }

        fn perform(&mut self, _: &Effect) -> io::Result<()> {
            self.0 += 1;
            Ok(())
        }
    }

    #[test]
    fn each_mode_fails_where_it_says() {
        for (mode, results, performed) in [
            (Mode::Before, [true, false, true, true], 3),
            (Mode::After, [true, false, true, true], 4),
            (Mode::Dead, [true, false, false, false], 1),
            (Mode::DeadAfter, [true, false, false, false], 2),
        ] {
            let mut system = Failing::new(Counting::default(), 2, mode);
            let seen = [(); 4].map(|()| system.perform(&Effect::Settle).is_ok());
            assert_eq!(seen, results, "{mode:?}");
            assert_eq!((system.inner.0, system.count), (performed, 4), "{mode:?}");
        }
    }
}
