//! The files of `queue/` that ssdtune writes.

use super::{Attribute, Kind, Rounding, Settable, step};
use crate::knowledge::Kernel;

/// Every successful write of a queue limit or flag, even of the value it has, makes the kernel
/// compute the read-ahead floor again (`blk_apply_bdi_limits`): it may rise.
const READ_AHEAD: &[&str] = &["read_ahead_kb"];

/// What a switch of the scheduler sets back: the size of its request pool, what it decides about
/// writeback throttling, and its whole folder, which is made anew.
pub(super) const BY_SWITCH: &[&str] = &[
    "nr_requests",
    "wbt_lat_usec",
    "async_depth",
    "fifo_batch",
    "front_merges",
    "prio_aging_expire",
    "read_expire",
    "write_expire",
    "writes_starved",
    "read_lat_nsec",
    "write_lat_nsec",
    "back_seek_max",
    "back_seek_penalty",
    "fifo_expire_async",
    "fifo_expire_sync",
    "low_latency",
    "max_budget",
    "slice_idle",
    "slice_idle_us",
    "strict_guarantees",
    "timeout_sync",
];

/// Written before the tunables.
pub(super) const BEFORE: &[Attribute] = &[
    Attribute {
        name: "rotational",
        step: step::ROTATIONAL,
        kind: Kind::Boolean,
        default: "what the driver reports; many virtual disks and USB bridges wrongly say 1",
        resets: READ_AHEAD,
        meaning: "tells the kernel and programs whether the medium spins: bfq, writeback \
                  throttling, swap and, at the next mount, btrfs behave accordingly",
        risk: "a rule that selects by `rotational` cannot also set it",
        source: "block/blk-sysfs.c; tried on 6.18",
        ..Attribute::BLANK
    },
    Attribute {
        name: "scheduler",
        step: step::SCHEDULER,
        kind: Kind::Scheduler,
        default: "`none` on devices with several hardware queues, else mq-deadline",
        resets: BY_SWITCH,
        meaning: "the algorithm that orders requests before they reach the driver",
        risk: "a switch freezes the queue for about 20 ms and sets back its tunables",
        source: "block/elevator.c; tried on 6.18",
        ..Attribute::BLANK
    },
    Attribute {
        name: "nr_requests",
        step: step::NR_REQUESTS,
        // BLK_MQ_MAX_DEPTH; with a scheduler the kernel stops at 2048, see `expect`.
        kind: Kind::Number { min: 4, max: 10240 },
        unit: "requests",
        default: "twice the hardware depth, at most 256; with `none` the hardware depth",
        resets: &["async_depth"],
        meaning: "how many requests may be queued, per hardware queue: the pool the scheduler \
                  sorts",
        risk: "low values throttle parallel work, high ones add latency; with `none` on a host \
               adapter with shared tags it counts for all its disks",
        source: "block/blk-mq.c, blk_mq_update_nr_requests; tried on 6.18",
        ..Attribute::BLANK
    },
];

/// Written after the tunables; read-ahead last of all.
pub(super) const AFTER: &[Attribute] = &[
    Attribute {
        name: "async_depth",
        step: step::ASYNC_DEPTH,
        kind: Kind::Number { min: 1, max: 10240 },
        unit: "requests",
        default: "nr_requests with mq-deadline, three quarters of it with kyber and bfq",
        since: Some(Kernel(7, 0)),
        meaning: "how many writes and other asynchronous requests may be in flight, so that \
                  reads find room",
        risk: "1 throttles writeback hard",
        source: "block/blk-sysfs.c of 7.3, read",
        ..Attribute::BLANK
    },
    Attribute {
        name: "wbt_lat_usec",
        step: step::WBT,
        kind: Kind::Number {
            min: 0,
            max: 60_000_000,
        },
        unit: "microseconds",
        default: "2000, or 75000 where rotational",
        refused: &[(
            -1,
            "-1 asks for the kernel's default, which reads back as another number: write 2000, \
             or 75000 for a disk that spins",
        )],
        meaning: "read latency that writeback may cause before it is throttled; 0 switches the \
                  throttling off",
        risk: "sticky: once written, bfq no longer switches the throttling off by itself, until \
               the device is gone",
        source: "block/blk-sysfs.c and blk-wbt.c; tried on 6.18",
        ..Attribute::BLANK
    },
    Attribute {
        name: "add_random",
        step: step::LIMITS,
        kind: Kind::Boolean,
        default: "0; 1 on spinning SCSI and ATA disks",
        resets: READ_AHEAD,
        meaning: "whether the timing of this disk feeds the kernel's entropy pool",
        source: "block/blk-sysfs.c; tried on 6.18",
        ..Attribute::BLANK
    },
    Attribute {
        name: "io_timeout",
        step: step::LIMITS,
        // msecs_to_jiffies() takes anything above INT_MAX for "for ever".
        kind: Kind::Number {
            min: 1,
            max: i32::MAX as i128,
        },
        rounding: Rounding::JiffyUp,
        unit: "ms",
        default: "30000, or what the driver sets",
        since: Some(Kernel(5, 0)),
        meaning: "how long a command may run before error recovery starts; the same number as a \
                  SCSI disk's device/timeout in seconds",
        risk: "short values cause resets, failed paths and filesystems that turn read-only",
        source: "block/blk-sysfs.c, read in 6.12 and 7.3",
        ..Attribute::BLANK
    },
    Attribute {
        name: "iostats",
        step: step::LIMITS,
        kind: Kind::Boolean,
        default: "1; 0 on zram",
        resets: READ_AHEAD,
        meaning: "whether the counters of /proc/diskstats are kept",
        risk: "0 blinds iostat, sar and every other monitor",
        source: "block/blk-sysfs.c; tried on 6.18",
        ..Attribute::BLANK
    },
    Attribute {
        name: "iostats_passthrough",
        step: step::LIMITS,
        kind: Kind::Boolean,
        default: "0",
        resets: READ_AHEAD,
        since: Some(Kernel(6, 13)),
        meaning: "whether commands sent past the block layer (SG_IO, nvme ioctl) are counted too",
        source: "block/blk-sysfs.c; tried on 6.18",
        ..Attribute::BLANK
    },
    Attribute {
        name: "max_sectors_kb",
        step: step::LIMITS,
        // The kernel shifts the number left by one in 32 bits.
        kind: Kind::Number {
            min: 4,
            max: i32::MAX as i128,
        },
        rounding: Rounding::SectorsDown,
        unit: "KiB",
        default: "max_hw_sectors_kb, at most 1280 (4096 on newer kernels)",
        resets: READ_AHEAD,
        refused: &[(
            0,
            "0 asks for the kernel's default, which cannot be known and so not be verified: \
             write the size, or leave the key out",
        )],
        meaning: "the largest single request that the kernel builds",
        risk: "very small values cut throughput, very large ones raise latency",
        source: "block/blk-sysfs.c and blk-settings.c; tried on 6.18",
        ..Attribute::BLANK
    },
    Attribute {
        name: "nomerges",
        step: step::LIMITS,
        kind: Kind::OneOf(&[0, 1, 2]),
        default: "0",
        meaning: "0 merges requests freely, 1 only with the last one, 2 never",
        risk: "2 hurts sequential work on slow devices",
        source: "block/blk-sysfs.c; tried on 6.18",
        ..Attribute::BLANK
    },
    Attribute {
        name: "rq_affinity",
        step: step::LIMITS,
        kind: Kind::OneOf(&[0, 1, 2]),
        default: "1",
        meaning: "where a request completes: 0 on the processor that took the interrupt, 1 near \
                  the one that asked, 2 exactly there",
        source: "block/blk-sysfs.c; tried on 6.18",
        ..Attribute::BLANK
    },
    Attribute {
        name: "stable_writes",
        step: step::LIMITS,
        kind: Kind::Boolean,
        default: "0; 1 where the driver computes checksums (zram, raid5, dm-integrity, iSCSI)",
        resets: READ_AHEAD,
        settable: Settable::Risky {
            value: 0,
            why: "a driver that computes checksums needs pages that do not change while they \
                  are written: without that, checksum errors and wrong parity",
        },
        since: Some(Kernel(5, 10)),
        meaning: "whether a page under writeback is kept from being changed",
        source: "block/blk-sysfs.c; tried on 6.18",
        ..Attribute::BLANK
    },
    Attribute {
        name: "zoned_qd1_writes",
        step: step::LIMITS,
        kind: Kind::Boolean,
        default: "1 on zoned disks that spin",
        since: Some(Kernel(7, 0)),
        meaning: "whether each zone gets one write at a time; zoned disks only",
        source: "block/blk-sysfs.c of 7.3, read",
        ..Attribute::BLANK
    },
    Attribute {
        name: "read_ahead_kb",
        step: step::READ_AHEAD,
        // Above a gibibyte nobody means it, and one sequential reader could fill the memory.
        kind: Kind::Number {
            min: 0,
            max: 1 << 20,
        },
        rounding: Rounding::PageDown,
        unit: "KiB",
        default: "128, or twice optimal_io_size; since 6.17 more on spinning disks",
        meaning: "how far sequential reading may run ahead into the page cache; it counts on the \
                  device that the filesystem is mounted from, and for files opened afterwards",
        risk: "large values hurt random reads and cost memory; btrfs has a read-ahead of its own \
               (/sys/fs/btrfs/UUID/bdi) and ignores this one",
        source: "block/blk-sysfs.c and mm/readahead.c; tried on 6.18",
        ..Attribute::BLANK
    },
];
