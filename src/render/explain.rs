//! What a setting does, from the tables.

mod unknown;

use super::style::{TITLE, paint};
use super::words::{WIDTH, wrap};
use crate::knowledge::attributes::{ATTRIBUTES, Attribute, Kind, Place, Rounding, Settable};
use crate::knowledge::options::{self, Live, MountOption, Risk, ValueKind};
use crate::knowledge::{Scheduler, legacy};

/// Everything that the tables know under a name, today's or an old one; the error says that nothing
/// is called so, and what is.
pub fn page(key: &str) -> Result<String, String> {
    let name = key.split_once('=').map_or(key, |(name, _)| name);
    let name = name.to_ascii_lowercase();
    let name = name.as_str();
    let mut parts: Vec<String> = ATTRIBUTES
        .iter()
        .filter(|attribute| attribute.key() == name || attribute.name == name)
        .map(attribute)
        .collect();
    parts.extend(
        options::all()
            .filter(|option| option.name.eq_ignore_ascii_case(name))
            .map(option),
    );
    parts.extend(Scheduler::from_name(name).map(scheduler));
    if parts.is_empty() && TRIM_NAMES.contains(&name) {
        parts.push(prose(TRIM));
    }
    if parts.is_empty() {
        parts.extend(taught(name).map(|answer| prose(&answer)));
    }
    if parts.is_empty() {
        return Err(unknown::answer(key));
    }
    Ok(parts.join("\n"))
}

/// What `[trim]` and its key are looked for as.
const TRIM_NAMES: &[&str] = &["trim.timer", "trim", "timer", "fstrim.timer", "fstrim"];

const TRIM: &str = "`timer = true` below `[trim]` enables and starts fstrim.timer, which once a \
     week tells disks what is free on every mounted filesystem that can say so; `timer = false` \
     disables and stops it; without `[trim]` it is left alone. The mount option `discard` does the \
     same at each deletion: one of the two is enough. btrfs discards by itself since Linux 6.2 \
     (`discard=async`). A layer that drops discards, as dm-crypt does by default, makes both idle.";

/// What a name from an old guide, or one that belongs to mkfs, is answered with.
fn taught(name: &str) -> Option<String> {
    let (under, key) = match name.split_once('.') {
        Some((table, key)) => (Scheduler::from_name(table), key),
        None => (None, name),
    };
    legacy::scheduler(name)
        .or_else(|| legacy::attribute(key, under))
        .or_else(|| legacy::mkfs(key))
}

fn scheduler(scheduler: Scheduler) -> String {
    let meaning = match scheduler {
        Scheduler::None => {
            "requests go to the driver as they come: for NVMe disks, which order them themselves, \
             and virtual ones, whose host does"
        }
        Scheduler::MqDeadline => {
            "orders requests by place on the disk, and lets none wait past its deadline: a sound \
             choice for hard disks and SATA SSDs"
        }
        Scheduler::Kyber => {
            "holds back requests so that reads and writes keep to a latency target: for fast disks"
        }
        Scheduler::Bfq => {
            "shares the disk fairly and favours what a person waits for: for desktops and slow \
             disks; it takes more processor time than the others"
        }
    };
    let mut page = heading(scheduler.name(), "scheduler", meaning);
    let tunables: Vec<String> = ATTRIBUTES
        .iter()
        .filter(|attribute| attribute.place == Place::Iosched(scheduler))
        .map(Attribute::key)
        .collect();
    match tunables.as_slice() {
        [] => row(&mut page, "tunables", "it has none"),
        _ => row(&mut page, "tunables", &tunables.join(" ")),
    }
    page
}

fn prose(text: &str) -> String {
    wrap(text, WIDTH).join("\n") + "\n"
}

/// All names, by what they are.
pub fn list() -> String {
    let mut page = String::new();
    let mut section = |title: &str, names: Vec<String>| {
        page.push_str(&paint(TITLE, title));
        page.push('\n');
        for line in wrap(&names.join(" "), WIDTH - 2) {
            page.push_str("  ");
            page.push_str(&line);
            page.push('\n');
        }
    };
    let settable = |attribute: &&Attribute| !matches!(attribute.settable, Settable::No(_));
    section(
        "Queue attributes",
        ATTRIBUTES
            .iter()
            .filter(settable)
            .filter(|a| a.place == Place::Queue)
            .map(Attribute::key)
            .collect(),
    );
    section(
        "Tunables",
        ATTRIBUTES
            .iter()
            .filter(settable)
            .filter(|a| a.place != Place::Queue)
            .map(Attribute::key)
            .collect(),
    );
    section(
        "Queue attributes that are not set",
        ATTRIBUTES
            .iter()
            .filter(|a| !settable(a))
            .map(Attribute::key)
            .collect(),
    );
    section("Other switches", vec!["trim.timer".to_owned()]);
    let mut names: Vec<String> = options::all()
        .map(|option| option.name.to_owned())
        .collect();
    names.sort();
    names.dedup();
    section("Mount options", names);
    page
}

fn attribute(attribute: &Attribute) -> String {
    let place = match attribute.place {
        Place::Queue => "queue attribute".to_owned(),
        Place::Iosched(scheduler) => format!("tunable of {scheduler}"),
    };
    let mut page = heading(&attribute.key(), &place, attribute.meaning);
    row(
        &mut page,
        "file",
        &format!("/sys/block/DEVICE/{}", attribute.path()),
    );
    if let Settable::No(why) = attribute.settable {
        row(&mut page, "not set", why);
    } else {
        row(&mut page, "value", &range(attribute));
    }
    if let Settable::Risky { value, why } = attribute.settable {
        row(
            &mut page,
            "risk",
            &format!("{value}: {why}; needs `allow = [\"data-loss\"]`"),
        );
    }
    row(&mut page, "default", attribute.default);
    let rounding = match attribute.rounding {
        Rounding::Exact => "",
        Rounding::PageDown => "down to a multiple of the page size",
        Rounding::SectorsDown => "down to the logical block size",
        Rounding::JiffyUp => "up to a whole jiffy (4 ms with CONFIG_HZ=250)",
    };
    row(&mut page, "rounded", rounding);
    row(&mut page, "resets", &attribute.resets.join(" "));
    if attribute.reset_by_scheduler_switch() {
        row(&mut page, "reset by", "a switch of the scheduler");
    }
    since(
        &mut page,
        attribute.since.map(|kernel| kernel.to_string()),
        attribute.gone.map(|kernel| kernel.to_string()),
    );
    row(&mut page, "beware", attribute.risk);
    row(&mut page, "source", attribute.source);
    page
}

fn range(attribute: &Attribute) -> String {
    let unit = if attribute.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", attribute.unit)
    };
    match attribute.kind {
        Kind::Boolean => "true or false".to_owned(),
        Kind::Number { min, max } => format!("{min} to {max}{unit}"),
        Kind::OneOf(numbers) => numbers
            .iter()
            .map(i128::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        Kind::Scheduler => {
            "none, mq-deadline, kyber, bfq, or a list of them in order of preference".to_owned()
        }
    }
}

fn option(option: &MountOption) -> String {
    let place = match option.fs {
        [] => "mount option of every filesystem".to_owned(),
        names => format!("mount option of {}", names.join(", ")),
    };
    let mut page = heading(option.name, &place, option.meaning);
    row(&mut page, "value", &value(option.value, option.unit));
    if let Some(gone) = option.gone {
        let how = if gone.ignored { "ignored" } else { "refused" };
        row(
            &mut page,
            "gone",
            &format!("{how} since Linux {}: {}", gone.since, gone.instead),
        );
    }
    match option.live {
        Live::Yes if option.level == options::Level::Fstab => row(
            &mut page,
            "live",
            "nothing to see: mount(8) and systemd read it, the kernel does not",
        ),
        Live::Yes => row(&mut page, "live", "changed at once"),
        Live::Refused(why) | Live::Ignored(why) | Live::OneWay(why) => row(
            &mut page,
            "live",
            &format!("not before the next mount: {why}"),
        ),
    }
    match option.risk {
        Risk::None => {}
        Risk::DataLoss(why) => row(
            &mut page,
            "risk",
            &format!("{why}; needs `allow = [\"data-loss\"]`"),
        ),
        Risk::DataLossWith(values, why) => row(
            &mut page,
            "risk",
            &format!(
                "with {}: {why}; needs `allow = [\"data-loss\"]`",
                values.join(", ")
            ),
        ),
    }
    since(
        &mut page,
        option.since.map(|kernel| kernel.to_string()),
        None,
    );
    row(&mut page, "source", option.source);
    page
}

fn value(kind: ValueKind, unit: &str) -> String {
    let unit = if unit.is_empty() {
        String::new()
    } else {
        format!(" {unit}")
    };
    match kind {
        ValueKind::Flag => "takes none".to_owned(),
        ValueKind::Optional(inner) => format!("may be left out; else {}", value(*inner, "")),
        ValueKind::Number { min, max: u64::MAX } => format!("a number from {min}{unit}"),
        ValueKind::Number { min, max } => format!("{min} to {max}{unit}"),
        ValueKind::PowerOfTwo(max) => format!("0, or a power of two up to {max}"),
        ValueKind::Size {
            power_of_two: true, ..
        } => "a size that is a power of two: 64k, 1m".to_owned(),
        ValueKind::Size { .. } => "a size: bytes, or with k, m, g".to_owned(),
        ValueKind::SizeOrPercent => "a size (2g), or a share of memory (25%)".to_owned(),
        ValueKind::Count => "a count, or with k, m, g".to_owned(),
        ValueKind::Octal => "permission bits in octal: 1777".to_owned(),
        ValueKind::OneOf(words) => words.join(", "),
        ValueKind::Leveled(words) => words
            .iter()
            .map(|(word, levels)| match levels {
                Some((low, high)) => format!("{word}[:{low} to {high}]"),
                None => (*word).to_owned(),
            })
            .collect::<Vec<_>>()
            .join(", "),
        ValueKind::Text => "text".to_owned(),
    }
}

fn heading(name: &str, place: &str, meaning: &str) -> String {
    let mut page = format!("{}  {place}\n", paint(TITLE, name));
    for line in wrap(meaning, WIDTH - 2) {
        page.push_str("  ");
        page.push_str(&line);
        page.push('\n');
    }
    page
}

fn since(page: &mut String, since: Option<String>, gone: Option<String>) {
    if let Some(since) = since {
        row(page, "since", &format!("Linux {since}"));
    }
    if let Some(gone) = gone {
        row(page, "gone", &format!("with Linux {gone}"));
    }
}

fn row(page: &mut String, name: &str, text: &str) {
    const NAME: usize = 12;
    if text.is_empty() {
        return;
    }
    for (index, line) in wrap(text, WIDTH - NAME - 4).iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        page.push_str(&format!("  {name:<NAME$}  {line}\n"));
    }
}
