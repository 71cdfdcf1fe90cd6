//! The clock: the only place that reads it, and that waits.

use std::thread;
use std::time::Duration;

use chrono::{DateTime, Utc};

/// The time of day.
pub fn now() -> DateTime<Utc> {
    Utc::now()
}

/// Waits.
pub(super) fn nap(pause: Duration) {
    thread::sleep(pause);
}
