//! Values: reading them from a state file, and what the kernel will make of them.

use super::{Attribute, Expect, Kind, Limits, Place, Rounding};
use crate::knowledge::{Scheduler, Value, legacy, nearest};

/// The largest nr_requests with a scheduler: `MAX_SCHED_RQ` of block/blk-mq.h.
const MOST_SCHEDULED_REQUESTS: i128 = 2048;

/// The longest jiffy is 10 ms (HZ=100), so no rounding up adds more.
const LONGEST_JIFFY_MS: i128 = 10;

impl Attribute {
    /// Reads a value as a state file has it, and gives it as the kernel wants it: plain decimal
    /// without leading zeros (mq-deadline takes `010` for 8), or a scheduler's name.
    ///
    /// # Errors
    /// Says what is allowed.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        match self.kind {
            Kind::Scheduler => scheduler(text),
            Kind::Boolean => match text {
                "0" | "false" => Ok(0.into()),
                "1" | "true" => Ok(1.into()),
                _ => Err(self.allowed()),
            },
            Kind::Number { min, max } => self.number(text, |number| (min..=max).contains(&number)),
            Kind::OneOf(numbers) => self.number(text, |number| numbers.contains(&number)),
        }
    }

    /// Reads a number, `valid` or not.
    fn number(&self, text: &str, valid: impl Fn(i128) -> bool) -> Result<Value, String> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'));
        let number = if plain { text.parse().ok() } else { None };
        match number {
            Some(number) if valid(number) => Ok(number.into()),
            Some(number) => Err(self
                .refused
                .iter()
                .find(|(refused, _)| *refused == number)
                .map_or_else(
                    || self.allowed(),
                    |(_, why)| format!("`{}`: {why}", self.key()),
                )),
            None => Err(self.allowed()),
        }
    }

    /// What a value may be: "`read_ahead_kb` is a whole number of KiB from 0 to 1048576".
    pub fn allowed(&self) -> String {
        let key = self.key();
        match self.kind {
            Kind::Boolean => format!("`{key}` is `true` or `false`"),
            Kind::Number { min, max } if self.unit.is_empty() => {
                format!("`{key}` is a whole number from {min} to {max}")
            }
            Kind::Number { min, max } => {
                format!(
                    "`{key}` is a whole number of {} from {min} to {max}",
                    self.unit
                )
            }
            Kind::OneOf(numbers) => {
                let words: Vec<_> = numbers.iter().map(|n| format!("`{n}`")).collect();
                format!("`{key}` is one of {}", words.join(", "))
            }
            Kind::Scheduler => {
                format!("`{key}` is one of `none`, `mq-deadline`, `kyber`, `bfq`")
            }
        }
    }

    /// What reading back `value` should give on a device with these limits.
    ///
    /// A bound that cannot be seen refuses nothing: then the kernel decides, and verify says so.
    pub fn expect(&self, value: &Value, limits: &Limits) -> Expect {
        let Some(number) = value.number() else {
            return Expect::Exactly(value.clone());
        };
        if let Some(why) = self.beyond(number, limits) {
            return Expect::Refused(why);
        }
        match self.rounding {
            Rounding::Exact => Expect::Exactly(number.into()),
            Rounding::PageDown => self.page_down(number, limits),
            Rounding::SectorsDown => self.sectors_down(number, limits),
            Rounding::JiffyUp => jiffy_up(number, limits.hz),
        }
    }

    /// Why the kernel would refuse or cap `number`, where that is certain.
    fn beyond(&self, number: i128, limits: &Limits) -> Option<String> {
        match (self.place, self.name) {
            (Place::Queue, "nr_requests") => {
                let scheduler = limits.scheduler.filter(|s| *s != Scheduler::None)?;
                (number > MOST_SCHEDULED_REQUESTS).then(|| {
                    format!(
                        "`nr_requests` goes up to {MOST_SCHEDULED_REQUESTS} with {scheduler}: \
                         write that, or less"
                    )
                })
            }
            (Place::Queue, "async_depth") => {
                if limits.scheduler == Some(Scheduler::None) {
                    return Some(
                        "`async_depth` cannot be set with `none`: write it under a scheduler's \
                         name, such as `mq-deadline.async_depth`"
                            .to_owned(),
                    );
                }
                let most = limits
                    .nr_requests
                    .filter(|most| number > i128::from(*most))?;
                Some(format!(
                    "`async_depth` goes up to nr_requests, here {most}: write that, or less"
                ))
            }
            _ => None,
        }
    }

    fn page_down(&self, number: i128, limits: &Limits) -> Expect {
        let page = i128::from(limits.page_kb.max(1));
        if number != 0 && number < page {
            return Expect::Refused(format!(
                "`{}` = {number} is less than a page of {page} KiB, so the kernel would make it \
                 0: write 0 or {page}",
                self.name
            ));
        }
        Expect::Exactly((number - number % page).into())
    }

    fn sectors_down(&self, number: i128, limits: &Limits) -> Expect {
        let block = i128::from(
            limits
                .logical_block_size
                .unwrap_or(512)
                .div_ceil(1024)
                .max(1),
        );
        if let Some(most) = limits.max_hw_sectors_kb
            && number > i128::from(most)
        {
            return Expect::Refused(format!(
                "`{}` goes up to {most} on this device (max_hw_sectors_kb): write that, or less",
                self.name
            ));
        }
        if number < block {
            return Expect::Refused(format!(
                "`{}` = {number} is less than one logical block of {block} KiB: write at least \
                 {block}",
                self.name
            ));
        }
        Expect::Exactly((number - number % block).into())
    }

    /// The value that a switch to the scheduler `to` leaves here, as a forecast.
    ///
    /// A tunable of `to` gets its default, where that is the same on every machine. nr_requests
    /// gets twice `hardware_depth`, at most 256, with a scheduler (256 is typical and taken where
    /// the depth is unknown), and the depth itself with `none`. None: it stays, or who knows.
    pub fn after_switch(&self, to: Scheduler, hardware_depth: Option<u32>) -> Option<Value> {
        match self.place {
            Place::Iosched(scheduler) if scheduler == to => {
                self.default.parse::<i128>().ok().map(Value::from)
            }
            Place::Queue if self.name == "nr_requests" => match (to, hardware_depth) {
                (Scheduler::None, depth) => depth.map(|depth| i128::from(depth).into()),
                (_, depth) => Some((2 * i128::from(depth.unwrap_or(128).min(128))).into()),
            },
            _ => None,
        }
    }
}

/// Reads a scheduler's name. The kernel takes any word that starts with `none` for it; we do not.
fn scheduler(text: &str) -> Result<Value, String> {
    if let Some(scheduler) = Scheduler::from_name(text) {
        return Ok(scheduler.name().into());
    }
    Err(legacy::scheduler(text).unwrap_or_else(|| {
        let names = Scheduler::ALL.map(Scheduler::name);
        match nearest(text, names) {
            Some(name) => format!("`{text}` is not a scheduler: did you mean `{name}`?"),
            None => format!(
                "`{text}` is not a scheduler: there are `none`, `mq-deadline`, `kyber` and `bfq`"
            ),
        }
    }))
}

/// Milliseconds become whole jiffies, rounded up, and are printed as milliseconds, rounded up
/// (`msecs_to_jiffies` and `jiffies_to_msecs` of the kernel's time.c).
fn jiffy_up(ms: i128, hz: Option<u32>) -> Expect {
    match hz.map(i128::from).filter(|hz| *hz > 0) {
        Some(hz) => {
            let jiffies = ceiling(ms * hz, 1000);
            Expect::Exactly(ceiling(jiffies * 1000, hz).into())
        }
        None if ms == 0 => Expect::Exactly(0.into()),
        None => Expect::Between(ms, ms + LONGEST_JIFFY_MS),
    }
}

/// `number / by`, rounded up; `by` is positive.
fn ceiling(number: i128, by: i128) -> i128 {
    (number + by - 1).div_euclid(by)
}

#[cfg(test)]
mod tests {
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
}
