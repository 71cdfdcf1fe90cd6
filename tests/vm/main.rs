//! Real boots: Debian guests under QEMU with systemd, udev and disks of every kind.
//!
//! Each test is ignored by a plain `cargo test`, because it takes minutes: `tests/vm/run` runs them.
//! A scenario is a folder of `scenarios/`, run in the guest in stages with a boot before each; the
//! tests here look at what the guest reported. `README.md` says more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)]

mod check;
mod cuts;
mod disk;
mod disks;
mod guest;
mod machine;
mod modules;
mod monitor;
mod nbd;
mod reboot;
mod rivals;
mod stack;
mod tmp;
mod trim;

/// A module of tests for each Debian release.
macro_rules! on_each_release {
    ($($test:path as $name:ident),+ $(,)?) => {
        mod bookworm { $(#[test] #[ignore = "boots a virtual machine: see tests/vm/run"] fn $name() { $test("bookworm"); })+ }
        mod trixie { $(#[test] #[ignore = "boots a virtual machine: see tests/vm/run"] fn $name() { $test("trixie"); })+ }
    };
}

on_each_release! {
    crate::reboot::values_come_back_after_a_boot_and_go_with_a_rollback as reboot,
    crate::disks::each_disk_has_its_own_values_in_any_order as disks,
    crate::modules::the_next_scheduler_is_taken_where_a_module_is_absent as no_module,
    crate::modules::an_initramfs_with_old_rules_brings_nothing_back as initramfs,
    crate::stack::a_mount_point_stands_for_the_disks_under_it as stack,
    crate::rivals::who_else_writes_is_told_and_wins_as_told as rivals,
    crate::cuts::a_cut_leaves_the_old_or_the_new_and_one_command_puts_it_right as cuts,
    crate::tmp::tmp_is_the_line_s_and_changes_now_where_it_can as tmp,
    crate::trim::the_timer_goes_and_comes_with_the_state as trim,
}
