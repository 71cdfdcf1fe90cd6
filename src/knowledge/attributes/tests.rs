use super::*;

#[test]
fn the_table_is_in_the_order_of_writing_and_has_no_row_twice() {
    assert!(ATTRIBUTES.windows(2).all(|pair| pair[0] < pair[1]));
    for attribute in ATTRIBUTES {
        assert_eq!(find(attribute.name, attribute.place), Some(attribute));
        assert_eq!(by_key(&attribute.key()), Some(attribute));
    }
}

#[test]
fn what_is_written_has_a_step_and_what_is_not_has_a_reason() {
    for attribute in ATTRIBUTES {
        assert!(!attribute.meaning.is_empty(), "{}", attribute.name);
        assert!(!attribute.source.is_empty(), "{}", attribute.name);
        assert!(!attribute.default.is_empty(), "{}", attribute.name);
        match attribute.settable {
            Settable::No(why) => {
                assert!(!why.is_empty() && !why.ends_with('.'), "{}", attribute.name);
                assert_eq!(attribute.step, step::NEVER, "{}", attribute.name);
            }
            _ => assert_ne!(attribute.step, step::NEVER, "{}", attribute.name),
        }
    }
}

#[test]
fn what_a_write_resets_is_written_after_it() {
    for attribute in ATTRIBUTES {
        for name in attribute.resets {
            let others: Vec<_> = ATTRIBUTES.iter().filter(|a| a.name == *name).collect();
            assert!(!others.is_empty(), "{} resets {name}", attribute.name);
            // slice_idle and slice_idle_us are one variable.
            let same_variable = attribute.step == step::IDLING;
            for other in others {
                assert!(
                    same_variable || attribute.step < other.step,
                    "{} resets {name}",
                    attribute.name
                );
            }
        }
    }
}

#[test]
fn a_switch_resets_every_tunable_and_no_other_setting_than_three() {
    for attribute in ATTRIBUTES {
        let expected = matches!(attribute.place, Place::Iosched(_))
            || ["nr_requests", "wbt_lat_usec", "async_depth"].contains(&attribute.name);
        assert_eq!(
            attribute.reset_by_scheduler_switch(),
            expected,
            "{}",
            attribute.name
        );
    }
}

#[test]
fn s06_limits_and_flags_come_before_read_ahead() {
    let raising = [
        "rotational",
        "iostats",
        "add_random",
        "stable_writes",
        "iostats_passthrough",
        "max_sectors_kb",
    ];
    for attribute in ATTRIBUTES {
        assert_eq!(
            attribute.resets.contains(&"read_ahead_kb"),
            raising.contains(&attribute.name),
            "{}",
            attribute.name
        );
    }
    assert_eq!(ATTRIBUTES.last().map(|a| a.name), Some("read_ahead_kb"));
}

#[test]
fn mq_deadlines_async_depth_moved_to_the_queue_in_7_0() {
    let old = tunable(Scheduler::MqDeadline, "async_depth").unwrap();
    let new = queue("async_depth").unwrap();
    assert!(old.exists_in(Kernel(6, 18)) && !new.exists_in(Kernel(6, 18)));
    assert!(!old.exists_in(Kernel(7, 0)) && new.exists_in(Kernel(7, 0)));
    assert!(!old.exists_in(Kernel(5, 10)));
}

#[test]
fn paths_and_keys_are_spelt_as_the_kernel_and_a_state_file_do() {
    let fifo_batch = tunable(Scheduler::MqDeadline, "fifo_batch").unwrap();
    assert_eq!(fifo_batch.path(), "queue/iosched/fifo_batch");
    assert_eq!(fifo_batch.key(), "mq-deadline.fifo_batch");
    assert_eq!(queue("nr_requests").unwrap().path(), "queue/nr_requests");
    assert!(queue("fifo_batch").is_none());
    assert!(by_key("none.fifo_batch").is_none());
}
