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
mod tests;
