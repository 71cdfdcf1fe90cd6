//! fstrim.timer with the systemd that runs: what files alone cannot show.

use crate::check::Check;
use crate::disk::{Bus, Disk};
use crate::machine::Machine;

const DISKS: &[Disk] = &[Disk::new(Bus::SataSsd, "SSD0001")];

/// Enabled and disabled, started and stopped, over boots and back.
pub fn the_timer_goes_and_comes_with_the_state(suite: &str) {
    let mut machine = Machine::new(suite, "trim", DISKS);
    machine.run();
    let mut check = Check::new(&machine);
    for (stage, command, status) in [
        (1, "plan-off", 3),
        (1, "off", 0),
        (1, "status-off", 0),
        (1, "back", 0),
        (1, "only-now", 0),
        (1, "only-boot", 0),
        (1, "original", 0),
        (1, "off-again", 0),
        (2, "status-off", 0),
        (2, "back", 0),
        (2, "status-on", 3),
        (2, "on", 0),
        (2, "again", 0),
        (2, "dropped", 0),
        (2, "dropped-back", 0),
        (2, "masked", 1),
        (2, "on-again", 0),
        (3, "status-on", 0),
        (3, "back", 0),
    ] {
        check.exit(stage, command, status);
    }
    for (stage, key, enabled, active) in [
        (1, "off", "disabled", "inactive"),
        (1, "only-now", "enabled", "inactive"),
        (1, "only-boot", "disabled", "inactive"),
        (2, "after-boot", "disabled", "inactive"),
        (2, "on", "enabled", "active"),
        (2, "dropped", "disabled", "inactive"),
        (2, "dropped-back", "enabled", "active"),
        (3, "after-boot", "enabled", "active"),
        (3, "back", "disabled", "inactive"),
    ] {
        let found: Vec<_> = machine
            .text(stage, &format!("timer-{key}"))
            .lines()
            .take(2)
            .collect();
        check.that(found == [enabled, active], || {
            format!("stage {stage}, {key}: {found:?}, not {enabled}, {active}")
        });
    }
    for (stage, key) in [(1, "timer-back"), (1, "timer-original"), (2, "timer-back")] {
        check.same((1, "timer-first"), (stage, key));
    }
    check.no_failed_unit(2, "failed");
    check.no_failed_unit(3, "failed");
    check.verdict();
}
