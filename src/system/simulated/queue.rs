//! A queue that does to a write what Linux does: rounds, clamps, resets what hangs together.

use std::collections::BTreeMap;

use rustix::io::Errno;

use crate::facts::{Device, Facts, Module};
use crate::knowledge::{Kernel, Scheduler};

/// What all queues of a machine share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine {
    kernel: Kernel,
    hz: i128,
    page_kb: i128,
    /// Schedulers that a write of their name would load, one bit each.
    loadable: [bool; 4],
}

impl Machine {
    pub(super) fn of(facts: &Facts) -> Self {
        Self {
            kernel: Kernel::parse(&facts.kernel).unwrap_or(Kernel(6, 18)),
            hz: facts.hz.map_or(250, i128::from).max(1),
            page_kb: i128::from(facts.page_kb).max(4),
            loadable: Scheduler::ALL
                .map(|scheduler| facts.modules.get(&scheduler) == Some(&Module::Loadable)),
        }
    }

    /// Milliseconds, kept in jiffies: up to the next whole one.
    fn jiffies(self, ms: i128) -> i128 {
        (ms * self.hz + 999) / 1000 * 1000 / self.hz
    }
}

/// What sysfs does not show of a queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Hidden {
    /// Tags of the hardware.
    depth: i128,
    /// The latency target of writeback throttling, also while bfq has it off.
    wbt_target: i128,
    /// Somebody has set it: then bfq leaves it alone.
    wbt_manual: bool,
}

impl Hidden {
    /// Guesses it, and completes the tunables of the active scheduler by their defaults.
    pub(super) fn of(device: &mut Device, machine: Machine) -> Self {
        let none = active(device) == Some(Scheduler::None);
        let depth = match number(device, "nr_requests") {
            Some(requests) if none => requests,
            _ => 128,
        };
        if let Some(scheduler) = active(device) {
            for (name, value) in defaults(device, scheduler, machine) {
                device.iosched.entry(name).or_insert(value);
            }
        }
        let rotational = number(device, "rotational") == Some(1);
        let target = number(device, "wbt_lat_usec").filter(|&target| target > 0);
        Self {
            depth,
            wbt_target: target.unwrap_or(if rotational { 75_000 } else { 2_000 }),
            wbt_manual: false,
        }
    }
}

/// One write(2) to a file below `/sys/block/DEVICE`.
pub(super) fn write(
    device: &mut Device,
    hidden: &mut Hidden,
    machine: Machine,
    file: &str,
    value: &str,
) -> Result<(), Errno> {
    if let Some(name) = file.strip_prefix("queue/iosched/") {
        return tunable(device, machine, name, value);
    }
    let name = file.strip_prefix("queue/").ok_or(Errno::NOENT)?;
    if !device.queue.contains_key(name) {
        return Err(Errno::NOENT);
    }
    match name {
        "scheduler" => return switch(device, hidden, machine, value),
        "write_cache" => {
            let cache = match value {
                "write back" => "write back",
                "write through" | "none" => "write through",
                _ => return Err(Errno::INVAL),
            };
            device.queue.insert(name.to_owned(), cache.to_owned());
            raise(device, machine, Kernel(6, 11));
            return Ok(());
        }
        _ => {}
    }
    let wanted = value.parse::<i128>().map_err(|_| Errno::INVAL)?;
    if name != "wbt_lat_usec" && !(0..=i128::from(u32::MAX)).contains(&wanted) {
        return Err(Errno::INVAL);
    }
    let now = number(device, name).unwrap_or(0);
    let flag = i128::from(wanted != 0);
    let (value, raises) = match name {
        "read_ahead_kb" => (wanted / machine.page_kb * machine.page_kb, None),
        "nr_requests" => {
            let most = match active(device) {
                Some(Scheduler::None) | None => hidden.depth,
                Some(_) => 2048,
            };
            if wanted > most {
                return Err(Errno::INVAL);
            }
            (wanted.max(4), None)
        }
        "async_depth" => match wanted {
            0 => return Err(Errno::INVAL),
            _ => (
                wanted.min(number(device, "nr_requests").unwrap_or(wanted)),
                None,
            ),
        },
        "rq_affinity" => (if wanted > 2 { now } else { wanted }, None),
        "nomerges" => (if wanted > 2 { 1 } else { wanted }, None),
        "rotational" | "iostats" | "add_random" | "stable_writes" | "iostats_passthrough" => {
            (flag, Some(Kernel(6, 11)))
        }
        "max_sectors_kb" => (sectors(device, machine, wanted)?, Some(Kernel(6, 9))),
        "discard_max_bytes" => (discard(device, wanted)?, Some(Kernel(6, 9))),
        "io_timeout" if wanted == 0 => return Err(Errno::INVAL),
        "io_timeout" => (machine.jiffies(wanted), None),
        "wbt_lat_usec" => return throttle(device, hidden, wanted),
        // All others are read-only.
        _ => return Err(Errno::ACCESS),
    };
    put(device, name, value);
    if name == "nr_requests" && value != now {
        // The scheduler's own cap follows the number of requests.
        if active(device) == Some(Scheduler::MqDeadline)
            && let Some(depth) = device.iosched.get_mut("async_depth")
        {
            *depth = value.to_string();
        }
        async_depth(device, hidden);
    }
    if let Some(since) = raises {
        raise(device, machine, since);
    }
    Ok(())
}

/// Switches the scheduler: requests, tunables and throttling start anew.
fn switch(
    device: &mut Device,
    hidden: &mut Hidden,
    machine: Machine,
    value: &str,
) -> Result<(), Errno> {
    let name = if value.starts_with("none") {
        "none"
    } else {
        value.trim()
    };
    let wanted = Scheduler::from_name(name).ok_or(Errno::INVAL)?;
    let printed = device.queue.get("scheduler").cloned().unwrap_or_default();
    let mut offered: Vec<&str> = printed
        .split_whitespace()
        .map(|word| word.trim_matches(['[', ']']))
        .collect();
    if !offered.contains(&wanted.name()) {
        let at = Scheduler::ALL.iter().position(|&known| known == wanted);
        if !at.is_some_and(|at| machine.loadable[at]) {
            return Err(Errno::INVAL);
        }
        offered.push(wanted.name());
    }
    let before = active(device);
    if before == Some(wanted) {
        return Ok(());
    }
    let printed: Vec<String> = offered
        .iter()
        .map(|&name| match name == wanted.name() {
            true => format!("[{name}]"),
            false => name.to_owned(),
        })
        .collect();
    device
        .queue
        .insert("scheduler".to_owned(), printed.join(" "));
    if device.queue.contains_key("nr_requests") {
        let requests = match wanted {
            Scheduler::None => hidden.depth,
            _ => 2 * hidden.depth.min(128),
        };
        put(device, "nr_requests", requests);
    }
    async_depth(device, hidden);
    device.iosched = defaults(device, wanted, machine);
    if device.queue.contains_key("wbt_lat_usec") && !hidden.wbt_manual {
        if wanted == Scheduler::Bfq {
            put(device, "wbt_lat_usec", 0);
        } else if before == Some(Scheduler::Bfq) {
            put(device, "wbt_lat_usec", hidden.wbt_target);
        }
    }
    Ok(())
}

/// Writeback throttling: a write that has an effect makes it the administrator's for good.
fn throttle(device: &mut Device, hidden: &mut Hidden, wanted: i128) -> Result<(), Errno> {
    let target = match wanted {
        -1 if number(device, "rotational") == Some(1) => 75_000,
        -1 => 2_000,
        0.. => wanted,
        _ => return Err(Errno::INVAL),
    };
    // Compared with the remembered target, even while bfq has it off and the file reads 0.
    if target != hidden.wbt_target {
        hidden.wbt_target = target;
        hidden.wbt_manual = true;
        put(device, "wbt_lat_usec", target);
    }
    Ok(())
}

/// `queue/async_depth` of Linux 7.0 and later.
fn async_depth(device: &mut Device, hidden: &Hidden) {
    if !device.queue.contains_key("async_depth") {
        return;
    }
    let requests = number(device, "nr_requests").unwrap_or(hidden.depth);
    let depth = match active(device) {
        Some(Scheduler::Kyber | Scheduler::Bfq) => requests * 3 / 4,
        Some(Scheduler::MqDeadline) => requests,
        Some(Scheduler::None) | None => hidden.depth,
    };
    put(device, "async_depth", depth);
}

/// A limit was committed: read-ahead is raised to its floor, never lowered.
fn raise(device: &mut Device, machine: Machine, since: Kernel) {
    let Some(now) = number(device, "read_ahead_kb").filter(|_| machine.kernel >= since) else {
        return;
    };
    let optimal = number(device, "optimal_io_size").unwrap_or(0);
    let mut floor = (2 * optimal / 1024).max(128);
    let rotational = number(device, "rotational") == Some(1);
    if machine.kernel >= Kernel(6, 17) && rotational && optimal == 0 {
        floor = floor.max(2 * number(device, "max_sectors_kb").unwrap_or(0));
    }
    put(device, "read_ahead_kb", now.max(floor));
}

/// `max_sectors_kb`: clamped, and a whole number of logical blocks.
fn sectors(device: &Device, machine: Machine, wanted: i128) -> Result<i128, Errno> {
    let most = number(device, "max_hw_sectors_kb").unwrap_or(i128::from(u32::MAX) / 2);
    let new = machine.kernel >= Kernel(6, 9);
    let block_kb = number(device, "logical_block_size").unwrap_or(512) / 1024;
    let value = match wanted {
        0 if new => most.min(1280),
        _ if wanted < 4 || (wanted > most && !new) => return Err(Errno::INVAL),
        _ => wanted.min(most),
    };
    Ok(if block_kb > 1 {
        value / block_kb * block_kb
    } else {
        value
    })
}

/// `discard_max_bytes`: 0 cannot be taken back.
fn discard(device: &mut Device, wanted: i128) -> Result<i128, Errno> {
    let granularity = number(device, "discard_granularity").unwrap_or(512);
    let most = number(device, "discard_max_hw_bytes").unwrap_or(wanted);
    if wanted == 0 {
        if device.queue.contains_key("discard_granularity") {
            put(device, "discard_granularity", 0);
        }
        return Ok(0);
    }
    if granularity == 0 || wanted % granularity != 0 {
        return Err(Errno::INVAL);
    }
    Ok(wanted.min(most))
}

/// A tunable of the active scheduler.
fn tunable(device: &mut Device, machine: Machine, name: &str, value: &str) -> Result<(), Errno> {
    if !device.iosched.contains_key(name) {
        return Err(Errno::NOENT);
    }
    let wanted = value.parse::<i128>().map_err(|_| Errno::INVAL)?;
    let mq = active(device) == Some(Scheduler::MqDeadline);
    if !mq && wanted < 0 {
        return Err(Errno::INVAL);
    }
    let ceiling = match active(device) {
        Some(Scheduler::Kyber) => i128::from(u64::MAX),
        _ => i128::from(i32::MAX),
    };
    if wanted > ceiling && active(device) != Some(Scheduler::Bfq) {
        return Err(Errno::RANGE);
    }
    let wanted = wanted.min(ceiling);
    let value = match name {
        "read_expire" | "write_expire" | "prio_aging_expire" => machine.jiffies(wanted.max(0)),
        "timeout_sync" => machine.jiffies(wanted.max(1)),
        "front_merges" | "low_latency" | "strict_guarantees" => wanted.clamp(0, 1),
        "fifo_batch" => wanted.max(0),
        "async_depth" | "back_seek_penalty" | "fifo_expire_sync" | "fifo_expire_async" => {
            wanted.max(1)
        }
        _ => wanted,
    };
    let turned_on = name == "strict_guarantees"
        && value == 1
        && device.iosched.get(name).is_some_and(|before| before == "0");
    device.iosched.insert(name.to_owned(), value.to_string());
    // Two files of one value, in milliseconds and microseconds.
    let idle_us = match name {
        "slice_idle" => Some(value * 1000),
        "slice_idle_us" => Some(value),
        _ if turned_on => device
            .iosched
            .get("slice_idle_us")
            .and_then(|us| us.parse::<i128>().ok())
            .map(|us| us.max(8000)),
        _ => None,
    };
    if let Some(us) = idle_us {
        device
            .iosched
            .insert("slice_idle".to_owned(), (us / 1000).to_string());
        device
            .iosched
            .insert("slice_idle_us".to_owned(), us.to_string());
    }
    Ok(())
}

/// `queue/iosched/` of a scheduler that was just chosen.
fn defaults(device: &Device, scheduler: Scheduler, machine: Machine) -> BTreeMap<String, String> {
    let requests = number(device, "nr_requests").unwrap_or(256);
    let eighth = machine.hz / 8 * 1000 / machine.hz;
    let list: &[(&str, i128)] = match scheduler {
        Scheduler::None => &[],
        Scheduler::MqDeadline => &[
            ("read_expire", 500),
            ("write_expire", 5000),
            ("prio_aging_expire", 10_000),
            ("writes_starved", 2),
            ("front_merges", 1),
            ("fifo_batch", 16),
            ("async_depth", requests),
        ],
        Scheduler::Kyber => &[("read_lat_nsec", 2_000_000), ("write_lat_nsec", 10_000_000)],
        Scheduler::Bfq => &[
            ("slice_idle", 8),
            ("slice_idle_us", 8000),
            ("low_latency", 1),
            ("back_seek_max", 16_384),
            ("back_seek_penalty", 2),
            ("fifo_expire_sync", 125),
            ("fifo_expire_async", 250),
            ("timeout_sync", eighth),
            ("max_budget", 0),
            ("strict_guarantees", 0),
        ],
    };
    list.iter()
        .filter(|(name, _)| *name != "async_depth" || machine.kernel < Kernel(7, 0))
        .map(|&(name, value)| (name.to_owned(), value.to_string()))
        .collect()
}

/// The scheduler in brackets; none on a device without one.
fn active(device: &Device) -> Option<Scheduler> {
    let printed = device.queue.get("scheduler")?;
    let name = printed.split(['[', ']']).nth(1)?;
    Scheduler::from_name(name)
}

fn number(device: &Device, name: &str) -> Option<i128> {
    device.queue.get(name)?.parse().ok()
}

fn put(device: &mut Device, name: &str, value: i128) {
    device.queue.insert(name.to_owned(), value.to_string());
}
