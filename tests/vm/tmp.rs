//! /tmp on tmpfs: masked, from a vendor's unit, from the line; a size changed while it is in use.

use crate::check::Check;
use crate::machine::Machine;

pub fn tmp_is_the_line_s_and_changes_now_where_it_can(suite: &str) {
    let mut machine = Machine::new(suite, "tmp", &[]);
    machine.run();
    let mut check = Check::new(&machine);
    // Debian 13 has /tmp on tmpfs from a unit in /usr/lib; Debian 12 has a folder.
    let vendor = suite != "bookworm";

    check.exit(1, "plan-masked", 1);
    check.exit(1, "apply-masked", 1);
    check.exit(1, "status-masked", 3);
    check.says(
        1,
        "plan-masked",
        "`tmp.mount` is masked by `/etc/systemd/system/tmp.mount`",
    );
    check.exit(1, "apply", 0);
    check.exit(1, "status", if vendor { 0 } else { 6 });
    check.says(
        1,
        "unit",
        if vendor {
            "/tmp tmpfs"
        } else {
            "/tmp is a folder"
        },
    );
    check.says(
        1,
        "unit-applied",
        if vendor {
            "size=131072k"
        } else {
            "/tmp is a folder"
        },
    );

    // After the boot the line has it.
    check.exit(2, "status", 0);
    for line in [
        "SourcePath=/etc/fstab",
        "ActiveState=active",
        "/tmp tmpfs",
        "size=131072k",
        "noatime",
    ] {
        check.says(2, "unit", line);
    }
    check.says(2, "unit", "FragmentPath=/run/systemd/generator/tmp.mount");

    // What grows has no way back, and waits; what shrinks is made now, and what is in it stays.
    check.exit(2, "apply-larger", 0);
    check.exit(2, "status-larger", 6);
    check.says(2, "unit-larger", "size=131072k");
    check.exit(2, "rollback-larger", 0);
    check.exit(2, "plan-smaller", 3);
    check.exit(2, "apply-smaller", 0);
    check.exit(2, "status-smaller", 0);
    check.says(2, "unit-smaller", "size=65536k");
    check.exit(2, "rollback-smaller", 0);
    check.says(2, "unit-back", "size=131072k");
    check.says(2, "precious", "/tmp/precious 33554432");
    check.exit(2, "rollback", 0);

    check.same((1, "unit"), (3, "unit"));
    for key in ["fstab", "etc"] {
        check.same((1, key), (3, key));
    }
    for stage in 1..=3 {
        check.no_failed_unit(stage, "failed");
    }
    check.verdict();
}
