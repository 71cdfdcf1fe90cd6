//! Names from old guides, and what to write today.

use super::Scheduler;
use super::attributes::{self, ATTRIBUTES, Place, Settable};

mod mkfs;

pub use mkfs::mkfs;

/// Answers a scheduler's name that the kernel does not take today.
pub fn scheduler(name: &str) -> Option<String> {
    let (gone, write) = match name {
        "noop" => ("left the kernel in Linux 5.0", "write `none`"),
        "cfq" => (
            "left the kernel in Linux 5.0",
            "write `bfq`, which is closest, or `mq-deadline` or `none` for an SSD",
        ),
        "anticipatory" | "as" => ("left the kernel in Linux 2.6.33", "write `bfq`"),
        "sio" => (
            "was never part of Linux, only of patched Android kernels",
            "write `mq-deadline` or `none`",
        ),
        "bfq-sq" | "bfq-mq" | "bfqv2" | "bfq_sq" => {
            ("was a patch before bfq came with Linux 4.12", "write `bfq`")
        }
        "vr" | "row" | "fiops" | "fios" | "zen" | "maple" | "tripndroid" | "zen-iosched" => (
            "was never part of Linux",
            "write `none`, `mq-deadline` or `bfq`",
        ),
        "adios" => (
            "is not part of Linux, only of some patched kernels",
            "write `mq-deadline`, `kyber` or `bfq`",
        ),
        "mq_deadline" | "mqdeadline" | "mq-dl" => ("is a slip", "write `mq-deadline`"),
        _ => return None,
    };
    Some(format!("the scheduler `{name}` {gone}: {write}"))
}

/// Answers a key that is not an attribute where it stands: at the top of a rule, or under a
/// scheduler's name. Answers too what is an attribute, but never written.
pub fn attribute(name: &str, under: Option<Scheduler>) -> Option<String> {
    let place = under.map_or(Place::Queue, Place::Iosched);
    let found = attributes::find(name, place).or_else(|| attributes::queue(name));
    if let Some(found) = found {
        return match found.settable {
            Settable::No(why) => Some(format!("`{name}` cannot be set: {why}")),
            _ => None,
        };
    }
    renamed(name).or_else(|| misplaced(name, under))
}

/// Names that went with the schedulers of old, never were queue attributes, or belong elsewhere.
fn renamed(name: &str) -> Option<String> {
    let answer = match name {
        "quantum" => "was cfq's and left with it in Linux 5.0; the nearest knob is `nr_requests`",
        "slice_sync" => {
            "was cfq's and left with it in Linux 5.0: write `bfq.timeout_sync` (another unit) or \
             leave it out"
        }
        "slice_async" | "slice_async_rq" | "group_idle" | "group_idle_us" => {
            "was cfq's and left with it in Linux 5.0; bfq has nothing like it: leave it out"
        }
        "target_latency" | "target_latency_us" => {
            "was cfq's and left with it in Linux 5.0; the nearest idea is `kyber.read_lat_nsec`"
        }
        "antic_expire" | "read_batch_expire" | "write_batch_expire" => {
            "was the anticipatory scheduler's and left with it in Linux 2.6.33: leave it out"
        }
        "timeout_async" | "max_budget_async_rq" | "wr_max_time" | "wr_coeff" | "weights" => {
            "was in bfq before it came with Linux 4.12, and is gone: leave it out"
        }
        "sync_expire" | "async_expire" | "sync_read_expire" | "sync_write_expire"
        | "async_read_expire" | "async_write_expire" => {
            "belonged to schedulers of patched Android kernels: write `mq-deadline.read_expire` \
             and `mq-deadline.write_expire`"
        }
        "elevator" => "is a boot parameter without effect since Linux 5.4: write `scheduler`",
        "use_blk_mq" => "is a boot parameter that went in Linux 5.0, always on: leave it out",
        "max_ratio" | "min_ratio" | "strict_limit" => {
            "belongs to the backing device (/sys/class/bdi), not to the queue, and ssdtune does \
             not set it"
        }
        "stable_pages_required" => {
            "is a stub that always reads 0 since Linux 5.10: the setting is `stable_writes`"
        }
        "queue_depth" => {
            "belongs to the SCSI device (device/queue_depth), not to the queue, and ssdtune does \
             not set it; the queue's own is `nr_requests`"
        }
        "timeout" | "eh_timeout" => {
            "belongs to the SCSI device, in seconds: write `io_timeout`, in milliseconds"
        }
        "queue_type" => "is ignored by the kernel: leave it out",
        "link_power_management_policy" | "lpm" => {
            "belongs to the SATA port (/sys/class/scsi_host), which several disks may share, and \
             ssdtune does not set it"
        }
        "ncq_prio_enable" | "cache_type" => {
            "belongs to the SCSI device, not to the queue, and ssdtune does not set it"
        }
        "read_ahead" | "readahead" | "setra" | "ra" => {
            "is another name of `read_ahead_kb`, which is in KiB: blockdev --setra counts 512-byte \
             sectors, so write half of that"
        }
        "stripe_cache_size" => "belongs to md (md/stripe_cache_size), and ssdtune does not set it",
        _ => return None,
    };
    Some(format!("`{name}` {answer}"))
}

/// A tunable written at the top of a rule, or under a scheduler that is not its own.
fn misplaced(name: &str, under: Option<Scheduler>) -> Option<String> {
    let owners: Vec<Scheduler> = ATTRIBUTES
        .iter()
        .filter(|attribute| attribute.name == name)
        .filter_map(|attribute| match attribute.place {
            Place::Iosched(owner) => Some(owner),
            Place::Queue => None,
        })
        .collect();
    let owner = owners.first()?;
    Some(match under {
        None => format!("`{name}` is a tunable of {owner}: write `{owner}.{name} = …`"),
        Some(Scheduler::None) => format!(
            "`none` has no tunables, `{name}` belongs to {owner}: write `{owner}.{name} = …`"
        ),
        Some(wrong) => {
            format!("`{name}` is a tunable of {owner}, not of {wrong}: write `{owner}.{name} = …`")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s01_schedulers_of_old_are_answered_with_todays() {
        assert_eq!(
            scheduler("noop").unwrap(),
            "the scheduler `noop` left the kernel in Linux 5.0: write `none`"
        );
        assert!(scheduler("cfq").unwrap().contains("`bfq`"));
        assert!(scheduler("sio").unwrap().contains("never part of Linux"));
        // Those that are taken, and words that nobody knows, need no answer.
        for name in ["none", "deadline", "nonexistent", "colour", ""] {
            assert_eq!(scheduler(name), None, "{name}");
        }
    }

    #[test]
    fn a_tunable_in_the_wrong_place_is_answered_with_the_right_one() {
        assert_eq!(
            attribute("fifo_batch", None).unwrap(),
            "`fifo_batch` is a tunable of mq-deadline: write `mq-deadline.fifo_batch = …`"
        );
        assert_eq!(
            attribute("fifo_batch", Some(Scheduler::Bfq)).unwrap(),
            "`fifo_batch` is a tunable of mq-deadline, not of bfq: write \
             `mq-deadline.fifo_batch = …`"
        );
        assert!(
            attribute("low_latency", Some(Scheduler::None))
                .unwrap()
                .contains("`none` has no tunables")
        );
        // What can be set where it stands is no business of this module.
        assert_eq!(attribute("fifo_batch", Some(Scheduler::MqDeadline)), None);
        assert_eq!(attribute("nr_requests", None), None);
        assert_eq!(attribute("nr_requests", Some(Scheduler::Bfq)), None);
        assert_eq!(attribute("colour", None), None);
    }

    #[test]
    fn names_of_old_guides_are_answered_wherever_they_stand() {
        for under in [None, Some(Scheduler::Bfq)] {
            assert!(attribute("quantum", under).unwrap().contains("nr_requests"));
            assert!(attribute("queue_depth", under).unwrap().contains("SCSI"));
            assert!(attribute("max_ratio", under).unwrap().contains("bdi"));
        }
        assert!(
            attribute("write_cache", None)
                .unwrap()
                .starts_with("`write_cache` cannot be set: ")
        );
        assert!(
            attribute("discard_zeroes_data", None)
                .unwrap()
                .contains("4.12")
        );
    }

    #[test]
    fn no_answer_hides_what_is_there() {
        for attribute in ATTRIBUTES {
            assert_eq!(renamed(attribute.name), None, "{}", attribute.name);
        }
        for scheduler_name in Scheduler::ALL.map(Scheduler::name) {
            assert_eq!(scheduler(scheduler_name), None);
        }
    }
}
