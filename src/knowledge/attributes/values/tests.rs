use super::super::{ATTRIBUTES, Settable, by_key};
use super::*;

fn row(key: &str) -> &'static Attribute {
    by_key(key).unwrap()
}

fn read_back(key: &str, value: i128, limits: &Limits) -> Expect {
    row(key).expect(&value.into(), limits)
}

fn exactly(value: i128) -> Expect {
    Expect::Exactly(value.into())
}

fn refusal(key: &str, value: i128, limits: &Limits) -> String {
    match read_back(key, value, limits) {
        Expect::Refused(why) => why,
        other => panic!("{key} = {value}: {other:?}"),
    }
}

fn limits() -> Limits {
    Limits {
        page_kb: 4,
        hz: Some(250),
        max_hw_sectors_kb: Some(1280),
        logical_block_size: Some(512),
        ..Limits::default()
    }
}

#[test]
fn read_ahead_is_floored_to_the_page() {
    assert_eq!(read_back("read_ahead_kb", 131, &limits()), exactly(128));
    assert_eq!(read_back("read_ahead_kb", 5, &limits()), exactly(4));
    assert_eq!(read_back("read_ahead_kb", 0, &limits()), exactly(0));
    let big = Limits {
        page_kb: 64,
        ..limits()
    };
    assert_eq!(read_back("read_ahead_kb", 131, &big), exactly(128));
    assert_eq!(
        refusal("read_ahead_kb", 3, &limits()),
        "`read_ahead_kb` = 3 is less than a page of 4 KiB, so the kernel would make it 0: \
         write 0 or 4"
    );
}

#[test]
fn max_sectors_is_floored_to_the_logical_block_and_never_clamped() {
    let big_blocks = Limits {
        logical_block_size: Some(4096),
        ..limits()
    };
    assert_eq!(read_back("max_sectors_kb", 1279, &limits()), exactly(1279));
    assert_eq!(
        read_back("max_sectors_kb", 1279, &big_blocks),
        exactly(1276)
    );
    assert_eq!(read_back("max_sectors_kb", 5, &big_blocks), exactly(4));
    assert_eq!(
        refusal("max_sectors_kb", 1281, &limits()),
        "`max_sectors_kb` goes up to 1280 on this device (max_hw_sectors_kb): write that, or \
         less"
    );
    let huge_blocks = Limits {
        logical_block_size: Some(16384),
        ..limits()
    };
    assert!(refusal("max_sectors_kb", 8, &huge_blocks).contains("at least 16"));
    assert_eq!(
        row("max_sectors_kb").parse("0").unwrap_err(),
        "`max_sectors_kb`: 0 asks for the kernel's default, which cannot be known and so not \
         be verified: write the size, or leave the key out"
    );
}

#[test]
fn times_are_rounded_up_to_a_jiffy() {
    for (hz, wanted, shown) in [
        (250, 1, 4),
        (250, 5, 8),
        (250, 101, 104),
        (250, 499, 500),
        (250, 500, 500),
        (250, 0, 0),
        (1000, 499, 499),
        (100, 499, 500),
        (100, 1, 10),
        (300, 100, 100),
        (300, 101, 104),
        (1024, 1, 2),
    ] {
        let limits = Limits {
            hz: Some(hz),
            ..limits()
        };
        assert_eq!(
            read_back("mq-deadline.read_expire", wanted, &limits),
            exactly(shown),
            "HZ={hz} {wanted}"
        );
    }
    assert_eq!(read_back("bfq.timeout_sync", 125, &limits()), exactly(128));
    assert_eq!(read_back("bfq.timeout_sync", 124, &limits()), exactly(124));
    assert_eq!(read_back("io_timeout", 30001, &limits()), exactly(30004));
    assert_eq!(
        read_back("bfq.fifo_expire_sync", 125, &limits()),
        exactly(125)
    );
}

#[test]
fn a_jiffy_of_unknown_length_gives_a_range_that_holds_every_one() {
    let unknown = Limits::default();
    for ms in 0..1000 {
        for hz in [100, 250, 300, 1000] {
            let Expect::Exactly(exact) = jiffy_up(ms, Some(hz)) else {
                panic!()
            };
            let exact = exact.number().unwrap();
            match read_back("mq-deadline.read_expire", ms, &unknown) {
                Expect::Between(low, high) => assert!((low..=high).contains(&exact)),
                other => assert_eq!(other, exactly(exact)),
            }
        }
    }
}

#[test]
fn nr_requests_ends_at_2048_with_a_scheduler() {
    let with = |scheduler| Limits {
        scheduler: Some(scheduler),
        ..limits()
    };
    assert!(refusal("nr_requests", 2049, &with(Scheduler::Bfq)).contains("2048 with bfq"));
    assert_eq!(
        read_back("nr_requests", 2048, &with(Scheduler::Bfq)),
        exactly(2048)
    );
    assert_eq!(
        read_back("nr_requests", 4096, &with(Scheduler::None)),
        exactly(4096)
    );
    assert!(row("nr_requests").parse("3").is_err());
}

#[test]
fn async_depth_is_bound_by_nr_requests_and_needs_a_scheduler() {
    let limits = Limits {
        scheduler: Some(Scheduler::None),
        nr_requests: Some(64),
        ..limits()
    };
    assert!(refusal("async_depth", 32, &limits).contains("`none`"));
    let limits = Limits {
        scheduler: Some(Scheduler::MqDeadline),
        ..limits
    };
    assert!(refusal("async_depth", 65, &limits).contains("here 64"));
    assert_eq!(read_back("async_depth", 64, &limits), exactly(64));
    // mq-deadline's own file is not capped.
    assert_eq!(
        read_back("mq-deadline.async_depth", 65, &limits),
        exactly(65)
    );
}

#[test]
fn values_are_read_strictly_and_errors_say_what_is_allowed() {
    let read_ahead = row("read_ahead_kb");
    assert_eq!(read_ahead.parse("256"), Ok("256".into()));
    for bad in [
        "", "-", "-1", "0x10", "010", "+5", " 5", "5 ", "5k", "1048577", "1.5",
    ] {
        assert_eq!(
            read_ahead.parse(bad).unwrap_err(),
            "`read_ahead_kb` is a whole number of KiB from 0 to 1048576",
            "{bad:?}"
        );
    }
    assert!(read_ahead.parse(&"9".repeat(1 << 20)).is_err());
    assert_eq!(row("bfq.low_latency").parse("true"), Ok("1".into()));
    assert_eq!(row("iostats").parse("0"), Ok("0".into()));
    assert_eq!(
        row("iostats").parse("2").unwrap_err(),
        "`iostats` is `true` or `false`"
    );
    assert_eq!(
        row("nomerges").parse("3").unwrap_err(),
        "`nomerges` is one of `0`, `1`, `2`"
    );
    assert_eq!(
        row("kyber.read_lat_nsec").parse("18446744073709551615"),
        Ok("18446744073709551615".into())
    );
    assert!(row("bfq.slice_idle").parse("4295").is_err());
    assert!(
        row("wbt_lat_usec")
            .parse("-1")
            .unwrap_err()
            .contains("75000")
    );
}

#[test]
fn s01_scheduler_names_are_exact_and_deadline_is_an_alias() {
    let scheduler = row("scheduler");
    assert_eq!(scheduler.parse("deadline"), Ok("mq-deadline".into()));
    assert_eq!(scheduler.parse("bfq"), Ok("bfq".into()));
    assert!(scheduler.parse("noop").unwrap_err().contains("`none`"));
    for slip in ["nonexistent", "noneXYZ", "[bfq]", "BFQ", "none ", ""] {
        assert!(scheduler.parse(slip).is_err(), "{slip}");
    }
}

#[test]
fn every_bound_of_every_row_is_read_and_one_beyond_is_not() {
    for attribute in ATTRIBUTES {
        if let Kind::Number { min, max } = attribute.kind {
            for number in [min, max] {
                assert_eq!(attribute.parse(&number.to_string()), Ok(number.into()));
            }
            for number in [min - 1, max + 1] {
                assert!(attribute.parse(&number.to_string()).is_err());
            }
            for (number, _) in attribute.refused {
                assert!(!(min..=max).contains(number));
            }
        }
        // A default that is a number must be one that can be written.
        if attribute.default.parse::<i128>().is_ok()
            && !matches!(attribute.settable, Settable::No(_))
        {
            assert!(
                attribute.parse(attribute.default).is_ok(),
                "{}",
                attribute.name
            );
        }
    }
}

#[test]
fn s04_a_switch_is_forecast() {
    let after = |key: &str, to, depth| row(key).after_switch(to, depth).map(|value| value.0);
    assert_eq!(
        after("nr_requests", Scheduler::Bfq, None).as_deref(),
        Some("256")
    );
    assert_eq!(
        after("nr_requests", Scheduler::Bfq, Some(32)).as_deref(),
        Some("64")
    );
    assert_eq!(
        after("nr_requests", Scheduler::None, Some(1023)).as_deref(),
        Some("1023")
    );
    assert_eq!(after("nr_requests", Scheduler::None, None), None);
    assert_eq!(
        after("mq-deadline.fifo_batch", Scheduler::MqDeadline, None).as_deref(),
        Some("16")
    );
    assert_eq!(after("mq-deadline.fifo_batch", Scheduler::Bfq, None), None);
    assert_eq!(after("bfq.timeout_sync", Scheduler::Bfq, None), None);
    assert_eq!(after("read_ahead_kb", Scheduler::Bfq, None), None);
}
