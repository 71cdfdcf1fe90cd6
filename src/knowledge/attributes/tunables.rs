//! The files of `queue/iosched/`, per scheduler.

use super::{Attribute, Kind, Place, Rounding, step};
use crate::knowledge::{Kernel, Scheduler};

/// A blank row of a scheduler.
const fn blank(scheduler: Scheduler) -> Attribute {
    Attribute {
        place: Place::Iosched(scheduler),
        step: step::TUNABLES,
        ..Attribute::BLANK
    }
}

/// mq-deadline keeps its times in jiffies and its numbers in an int.
const MQ_DEADLINE: Attribute = Attribute {
    kind: Kind::Number {
        min: 0,
        max: i32::MAX as i128,
    },
    source: "block/mq-deadline.c; tried on 6.18",
    ..blank(Scheduler::MqDeadline)
};

/// Very large times overflow when they are turned into jiffies and back: an hour is plenty.
const MQ_DEADLINE_TIME: Attribute = Attribute {
    kind: Kind::Number {
        min: 0,
        max: 3_600_000,
    },
    rounding: Rounding::JiffyUp,
    unit: "ms",
    ..MQ_DEADLINE
};

const KYBER: Attribute = Attribute {
    kind: Kind::Number {
        min: 0,
        max: u64::MAX as i128,
    },
    unit: "ns",
    source: "block/kyber-iosched.c; tried on 6.18",
    ..blank(Scheduler::Kyber)
};

/// bfq clamps at INT_MAX without a word, and 0 to 1 where 0 makes no sense.
const BFQ: Attribute = Attribute {
    kind: Kind::Number {
        min: 1,
        max: i32::MAX as i128,
    },
    source: "block/bfq-iosched.c; tried on 6.18",
    ..blank(Scheduler::Bfq)
};

/// In the order of writing.
pub(super) const TUNABLES: &[Attribute] = &[
    Attribute {
        name: "fifo_batch",
        unit: "requests",
        default: "16",
        meaning: "requests of one direction that are served in sorted order before deadlines are \
                  looked at; 1 comes close to first in, first out",
        ..MQ_DEADLINE
    },
    Attribute {
        name: "front_merges",
        kind: Kind::Boolean,
        default: "1",
        meaning: "whether a request may be merged in front of another one",
        ..MQ_DEADLINE
    },
    Attribute {
        name: "prio_aging_expire",
        default: "10000",
        since: Some(Kernel(5, 17)),
        meaning: "how long requests of a higher I/O priority may hold back lower ones",
        ..MQ_DEADLINE_TIME
    },
    Attribute {
        name: "read_expire",
        default: "500",
        meaning: "age at which a queued read is served before the sorted order",
        ..MQ_DEADLINE_TIME
    },
    Attribute {
        name: "write_expire",
        default: "5000",
        meaning: "age at which a queued write is served before the sorted order",
        ..MQ_DEADLINE_TIME
    },
    Attribute {
        name: "writes_starved",
        unit: "read batches",
        default: "2",
        meaning: "read batches that may pass before a batch of writes must be served",
        risk: "large values can hold writes back until write_expire",
        ..MQ_DEADLINE
    },
    Attribute {
        name: "read_lat_nsec",
        default: "2000000",
        meaning: "latency of reads that kyber aims at by limiting the depth of its queues",
        risk: "tiny values throttle hard",
        ..KYBER
    },
    Attribute {
        name: "write_lat_nsec",
        default: "10000000",
        meaning: "latency of synchronous writes that kyber aims at",
        risk: "tiny values throttle hard",
        ..KYBER
    },
    Attribute {
        name: "back_seek_max",
        kind: Kind::Number {
            min: 0,
            max: i32::MAX as i128,
        },
        unit: "KiB",
        default: "16384",
        meaning: "the longest backward seek that counts as near; of no effect on an SSD",
        ..BFQ
    },
    Attribute {
        name: "back_seek_penalty",
        default: "2",
        meaning: "how much dearer a backward seek is than a forward one; of no effect on an SSD",
        ..BFQ
    },
    Attribute {
        name: "fifo_expire_async",
        unit: "ms",
        default: "250",
        meaning: "age at which an asynchronous request is served first; kept in nanoseconds, so \
                  not rounded",
        ..BFQ
    },
    Attribute {
        name: "fifo_expire_sync",
        unit: "ms",
        default: "125",
        meaning: "age at which a synchronous request is served first",
        ..BFQ
    },
    Attribute {
        name: "low_latency",
        kind: Kind::Boolean,
        default: "1",
        meaning: "whether interactive and soft real-time programs are favoured; 0 for throughput",
        ..BFQ
    },
    Attribute {
        name: "max_budget",
        kind: Kind::Number {
            min: 0,
            max: i32::MAX as i128,
        },
        unit: "512-byte sectors",
        default: "0",
        meaning: "what a queue may be served per turn; 0 lets bfq find it out",
        ..BFQ
    },
    Attribute {
        name: "strict_guarantees",
        kind: Kind::Boolean,
        default: "0",
        // bfq_strict_guarantees_store raises a shorter slice_idle to 8 ms.
        resets: &["slice_idle", "slice_idle_us"],
        meaning: "one request at a time and always idling: exact shares of bandwidth",
        risk: "a severe loss of throughput",
        ..BFQ
    },
    Attribute {
        name: "timeout_sync",
        kind: Kind::Number {
            min: 1,
            max: 3_600_000,
        },
        rounding: Rounding::JiffyUp,
        unit: "ms",
        default: "an eighth of a second in whole jiffies: 124 at HZ=250, 125 at HZ=1000",
        meaning: "the longest turn of one queue, asynchronous ones included despite the name",
        ..BFQ
    },
    Attribute {
        name: "slice_idle",
        step: step::IDLING,
        // Kept in 32-bit nanoseconds: above 4294 ms it wraps.
        kind: Kind::Number { min: 0, max: 1000 },
        unit: "ms",
        default: "8",
        resets: &["slice_idle_us"],
        meaning: "how long to wait for the next request of a synchronous queue before others are \
                  served; 0 never waits",
        risk: "0 gives up fairness between programs",
        ..BFQ
    },
    Attribute {
        name: "slice_idle_us",
        step: step::IDLING,
        kind: Kind::Number {
            min: 0,
            max: 1_000_000,
        },
        unit: "microseconds",
        default: "8000",
        resets: &["slice_idle"],
        meaning: "slice_idle in microseconds: the same variable, so write one of the two",
        risk: "0 gives up fairness between programs",
        ..BFQ
    },
    Attribute {
        name: "async_depth",
        step: step::SCHEDULER_DEPTH,
        kind: Kind::Number { min: 1, max: 10240 },
        unit: "requests",
        default: "nr_requests",
        since: Some(Kernel(5, 14)),
        gone: Some(Kernel(7, 0)),
        meaning: "how many writes and other asynchronous requests may be in flight; since 7.0 it \
                  is `async_depth` of the queue",
        risk: "1 throttles writeback hard; from 5.14 to 5.18 the file was front_merges by mistake",
        ..MQ_DEADLINE
    },
];
