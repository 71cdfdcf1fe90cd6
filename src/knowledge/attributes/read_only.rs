//! The files of `queue/` that ssdtune never writes, and what to do instead.

use super::{Attribute, Kind, Settable};
use crate::knowledge::Kernel;

/// What the device is: the file has mode 0444, and opening it for writing fails even for root.
const fn limit(name: &'static str, unit: &'static str, meaning: &'static str) -> Attribute {
    Attribute {
        name,
        kind: Kind::Number {
            min: 0,
            max: u64::MAX as i128,
        },
        unit,
        default: "what the device reports",
        settable: Settable::No("it tells what the device is, and the kernel lets nobody write it"),
        meaning,
        source: "block/blk-sysfs.c; tried on 6.18",
        ..Attribute::BLANK
    }
}

/// A row of [`limit`] with a reason of its own.
const fn never(name: &'static str, why: &'static str, meaning: &'static str) -> Attribute {
    Attribute {
        settable: Settable::No(why),
        ..limit(name, "", meaning)
    }
}

/// Sorted by name.
pub(super) const READ_ONLY: &[Attribute] = &[
    limit(
        "atomic_write_boundary_bytes",
        "bytes",
        "a line that no atomic write may cross",
    ),
    limit(
        "atomic_write_max_bytes",
        "bytes",
        "the largest atomic write",
    ),
    limit(
        "atomic_write_unit_max_bytes",
        "bytes",
        "the largest unit of an atomic write",
    ),
    limit(
        "atomic_write_unit_min_bytes",
        "bytes",
        "the smallest unit of an atomic write",
    ),
    limit(
        "chunk_sectors",
        "512-byte sectors",
        "a line that no request crosses: a RAID chunk, a zone",
    ),
    limit(
        "dax",
        "",
        "whether the medium can be mapped into memory directly",
    ),
    limit(
        "discard_granularity",
        "bytes",
        "the smallest unit that can be trimmed; 0 where the device cannot trim",
    ),
    never(
        "discard_max_bytes",
        "what was there often cannot be written back, and 0 is a trap: on newer kernels discard \
         stays off until the device is gone; to stop trimming leave `discard` out of the mount \
         options and set `timer = false` under `[trim]`",
        "the largest single discard that the kernel sends",
    ),
    limit(
        "discard_max_hw_bytes",
        "bytes",
        "the largest discard that the hardware takes",
    ),
    never(
        "discard_zeroes_data",
        "it always reads 0 since 4.12 and means nothing: leave it out",
        "once: whether trimmed blocks read as zeroes",
    ),
    limit(
        "dma_alignment",
        "bytes",
        "alignment of memory for transfers",
    ),
    limit(
        "fua",
        "",
        "whether the device has a volatile cache and can write past it",
    ),
    limit(
        "hw_sector_size",
        "bytes",
        "the old name of logical_block_size",
    ),
    never(
        "io_poll",
        "since 5.16 the kernel takes the write and ignores it: the driver decides when it is \
         loaded, for NVMe by the parameter nvme.poll_queues=N",
        "whether completion can be polled (RWF_HIPRI, io_uring IOPOLL)",
    ),
    never(
        "io_poll_delay",
        "it takes anything, ignores it and always reads -1: leave it out",
        "once: how long a polling reader slept first",
    ),
    limit(
        "logical_block_size",
        "bytes",
        "the smallest unit that the device addresses",
    ),
    limit("max_active_zones", "zones", "zones that may be active"),
    limit("max_discard_segments", "segments", "ranges in one discard"),
    never(
        "max_hw_sectors_kb",
        "it is the hardware's ceiling: set `max_sectors_kb`, which goes up to it",
        "the largest request that the hardware takes, in KiB",
    ),
    limit(
        "max_integrity_segments",
        "segments",
        "memory segments of integrity information in one request",
    ),
    limit("max_open_zones", "zones", "zones that may be open"),
    limit(
        "max_segment_size",
        "bytes",
        "the largest memory segment of a request",
    ),
    limit("max_segments", "segments", "memory segments in one request"),
    limit("max_write_streams", "streams", "write streams"),
    limit(
        "minimum_io_size",
        "bytes",
        "the smallest request without a penalty: a RAID chunk",
    ),
    limit("nr_zones", "zones", "zones of a zoned disk"),
    limit(
        "optimal_io_size",
        "bytes",
        "the size of requests that the device likes best: a RAID stripe",
    ),
    limit(
        "physical_block_size",
        "bytes",
        "the smallest unit that the device writes at once",
    ),
    limit(
        "virt_boundary_mask",
        "",
        "alignment of memory segments, as a mask",
    ),
    never(
        "write_cache",
        "it changes only what the kernel believes, and `write through` makes it drop every flush, \
         which loses data when the power fails; set the drive's own cache: hdparm -W, sdparm or \
         nvme set-feature",
        "whether the kernel takes the drive for one with a volatile cache",
    ),
    never(
        "write_same_max_bytes",
        "it always reads 0 since 5.18 and means nothing: leave it out",
        "once: the largest WRITE SAME",
    ),
    limit(
        "write_stream_granularity",
        "bytes",
        "size of a write stream",
    ),
    limit(
        "write_zeroes_max_bytes",
        "bytes",
        "the largest request to write zeroes",
    ),
    Attribute {
        since: Some(Kernel(6, 17)),
        ..never(
            "write_zeroes_unmap_max_bytes",
            "it takes 0 or the hardware's limit only, and what was there often cannot be written \
             back; leave the device's own value",
            "the largest request to write zeroes that the device may answer by unmapping",
        )
    },
    limit(
        "write_zeroes_unmap_max_hw_bytes",
        "bytes",
        "the hardware's limit of write_zeroes_unmap_max_bytes",
    ),
    limit("zone_append_max_bytes", "bytes", "the largest zone append"),
    limit(
        "zone_write_granularity",
        "bytes",
        "alignment of writes to a zone",
    ),
    never(
        "zoned",
        "it tells what the device is; to select zoned disks write `match.zoned = true`",
        "whether the disk is made of zones that are written in sequence",
    ),
];
