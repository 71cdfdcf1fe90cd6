//! The JSON Schema of state files, for editors: made from the tables that the parser reads.
//!
//! Draft 7, which Taplo and Even Better TOML understand. It is a help in writing, not the law: what
//! depends on several keys at once only [`parse`](super::parse()) knows.

use serde_json::{Map, Value, json};

use super::when::VIRTUALIZATION;
use super::{DATA_LOSS, WARNINGS};
use crate::knowledge::attributes::{ATTRIBUTES, Attribute, Kind, Place, Settable};
use crate::knowledge::transport::TRANSPORTS;
use crate::knowledge::{Scheduler, options};

/// The schema of a state file.
pub fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "ssdtune state file",
        "description": "How a machine's storage should be set up. Later rules win, setting by setting.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "version": { "const": 1, "description": "Version of this format; 1 where absent." },
            "mount": rules("mount", "Rules that edit lines which /etc/fstab has."),
            "tmpfs": rules("tmpfs", "tmpfs lines of /etc/fstab, edited or added."),
            "device": rules("device", "Rules that set I/O schedulers and queue attributes."),
            "trim": reference("trim"),
        },
        "definitions": definitions(),
    })
}

fn rules(name: &str, description: &str) -> Value {
    json!({
        "type": "array",
        "description": description,
        "items": { "$ref": format!("#/definitions/{name}") },
    })
}

fn definitions() -> Value {
    let mut all = Map::new();
    all.insert("mount".into(), mount());
    all.insert("tmpfs".into(), tmpfs());
    all.insert("device".into(), device());
    all.insert("trim".into(), trim());
    all.insert("when".into(), when());
    all.insert("allow".into(), allow());
    all.insert("options".into(), mount_options());
    for attribute in settable(Place::Queue) {
        all.insert(attribute.name.into(), value(attribute));
    }
    Value::Object(all)
}

/// A table that has these keys and no others.
fn table(description: &str, required: &[&str], properties: Value) -> Value {
    let mut table = json!({
        "type": "object",
        "description": description,
        "additionalProperties": false,
        "properties": properties,
    });
    if !required.is_empty() {
        table["required"] = json!(required);
    }
    table
}

/// A string, or a list of strings, each as `item` says.
fn one_or_more(description: &str, item: Value) -> Value {
    json!({
        "description": description,
        "anyOf": [item, { "type": "array", "items": item, "minItems": 1 }],
    })
}

fn patterns(description: &str) -> Value {
    let description = format!("{description} Literals or globs of `*`, `?`, `[a-z]`, `[!a]`.");
    one_or_more(&description, json!({ "type": "string", "minLength": 1 }))
}

fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{name}") })
}

fn when() -> Value {
    let bound = json!({ "type": "string", "pattern": r"^\s*(<|<=|=|==|>=|>)?\s*\d+\.\d+\s*$" });
    let machine =
        json!({ "anyOf": [{ "enum": VIRTUALIZATION }, { "type": "string", "minLength": 1 }] });
    table(
        "The rule counts only where all of this holds.",
        &[],
        json!({
            "host": patterns("Host name."),
            "kernel": one_or_more("Bounds on the kernel release, major and minor: \">=6.6\". All must hold.", bound),
            "virtualization": one_or_more("Words of systemd-detect-virt(1); `none` is bare metal.", machine),
        }),
    )
}

fn allow() -> Value {
    let mut words = vec![DATA_LOSS];
    words.extend(WARNINGS.iter().map(|(name, _)| *name));
    let mut description = String::from("What is accepted here.");
    description.push_str("\n- `data-loss`: what may lose data");
    for (name, meaning) in WARNINGS {
        description.push_str(&format!("\n- `{name}`: {meaning}"));
    }
    one_or_more(&description, json!({ "enum": words }))
}

fn trim() -> Value {
    table(
        "Whether fstrim.timer trims every filesystem once a week; absent: left alone.",
        &["timer"],
        json!({
            "timer": flag("true: enabled and started; false: disabled and stopped."),
            "when": reference("when"),
            "allow": reference("allow"),
        }),
    )
}

fn mount_options() -> Value {
    let mut names: Vec<&str> = options::all().map(|option| option.name).collect();
    names.sort_unstable();
    names.dedup();
    one_or_more(
        "Mount options that must be there, each a string of its own. A new one takes the place of those it replaces.",
        json!({ "anyOf": [{ "enum": names }, { "type": "string", "minLength": 1 }] }),
    )
}

fn mount() -> Value {
    let matching = table(
        "Which lines of /etc/fstab: all given keys must hold.",
        &[],
        json!({
            "target": patterns("Mount point, the second field."),
            "source": patterns("The first field, or the device that it stands for."),
            "fstype": patterns("Filesystem type; \"*\" is every local disk filesystem."),
        }),
    );
    table(
        "Edits the options of lines that /etc/fstab has.",
        &["match"],
        json!({
            "match": matching,
            "when": reference("when"),
            "optional": flag("No error where a literal target is not in fstab."),
            "options": reference("options"),
            "without": one_or_more(
                "Options that are taken off: names, whatever their value.",
                json!({ "type": "string", "minLength": 1 }),
            ),
            "allow": reference("allow"),
        }),
    )
}

fn tmpfs() -> Value {
    table(
        "A tmpfs line of /etc/fstab, edited or added; it takes effect at the next boot.",
        &["target"],
        json!({
            "target": {
                "type": "string",
                "pattern": "^/.",
                "description": "Mount point: an absolute path such as /tmp.",
            },
            "when": reference("when"),
            "size": {
                "type": "string",
                "pattern": "^[0-9]+([kKmMgG]|%)?$",
                "description": "Upper limit: bytes with k, m or g, or percent of RAM. The kernel's default is 50%.",
            },
            "mode": {
                "type": "string",
                "pattern": "^[0-7]{3,5}$",
                "description": "Permission bits in octal; the kernel's default is 1777.",
            },
            "options": reference("options"),
            "allow": reference("allow"),
        }),
    )
}

fn device() -> Value {
    let name = json!({ "enum": Scheduler::ALL.map(Scheduler::name) });
    let mut properties = Map::new();
    properties.insert("match".into(), device_match());
    properties.insert("when".into(), reference("when"));
    properties.insert("allow".into(), reference("allow"));
    properties.insert(
        "optional".into(),
        flag("No error where the one thing that the rule names is not found."),
    );
    properties.insert("ignore".into(), ignore());
    properties.insert(
        "scheduler".into(),
        one_or_more(
            "I/O schedulers; the first that the kernel can give the device is taken.",
            name,
        ),
    );
    for attribute in settable(Place::Queue) {
        properties.insert(attribute.name.into(), reference(attribute.name));
    }
    for scheduler in Scheduler::ALL {
        properties.insert(scheduler.name().into(), scheduler_table(scheduler));
    }
    table(
        "Sets I/O schedulers and queue attributes.",
        &["match"],
        Value::Object(properties),
    )
}

fn device_match() -> Value {
    let transports: Vec<&str> = TRANSPORTS.iter().map(|transport| transport.name).collect();
    table(
        "Which devices: all given keys must hold.",
        &[],
        json!({
            "name": patterns("Kernel name such as `sda`, which may be another disk after the next boot."),
            "id": patterns("Name of a link under /dev/disk/by-id."),
            "serial": patterns("Serial number: udev's ID_SERIAL_SHORT."),
            "wwn": patterns("World wide name: udev's ID_WWN."),
            "model": patterns("Model: udev's ID_MODEL; a blank is as good as `_`."),
            "vendor": patterns("Vendor: udev's ID_VENDOR; a blank is as good as `_`."),
            "transport": one_or_more("How the disk is attached.", json!({ "enum": transports })),
            "rotational": flag("False for flash, true for hard disks."),
            "removable": flag("Whether the medium can be taken out."),
            "zoned": flag("Whether the disk has zones that must be written in order."),
            "mount": patterns("Mount point: its disks, and for read-ahead the layer that the filesystem reads through."),
        }),
    )
}

fn ignore() -> Value {
    let mut keys = vec![String::from("scheduler")];
    for place in std::iter::once(Place::Queue).chain(Scheduler::ALL.map(Place::Iosched)) {
        keys.extend(settable(place).map(Attribute::key));
    }
    json!({
        "description": "Leaves the device alone, or these settings of it, whatever earlier rules say.",
        "anyOf": [
            { "type": "boolean" },
            { "type": "array", "minItems": 1, "items": { "anyOf": [{ "enum": keys }, { "type": "string" }] } },
        ],
    })
}

/// A scheduler's table: its tunables, and any queue attribute.
fn scheduler_table(scheduler: Scheduler) -> Value {
    let mut properties = Map::new();
    for attribute in settable(Place::Queue) {
        properties.insert(attribute.name.into(), reference(attribute.name));
    }
    for attribute in settable(Place::Iosched(scheduler)) {
        properties.insert(attribute.name.into(), value(attribute));
    }
    table(
        &format!("What counts while `{scheduler}` is in effect."),
        &[],
        Value::Object(properties),
    )
}

/// Attributes of one place that a rule can set, the scheduler apart, which has its list.
fn settable(place: Place) -> impl Iterator<Item = &'static Attribute> {
    ATTRIBUTES.iter().filter(move |attribute| {
        attribute.place == place
            && attribute.kind != Kind::Scheduler
            && !matches!(attribute.settable, Settable::No(_))
    })
}

/// What an attribute takes, with its meaning.
fn value(attribute: &Attribute) -> Value {
    let mut schema = match attribute.kind {
        Kind::Number { min, max } => json!({
            "type": "integer",
            "minimum": json_number(min),
            "maximum": json_number(max),
        }),
        Kind::OneOf(numbers) => {
            json!({ "enum": numbers.iter().copied().map(json_number).collect::<Vec<_>>() })
        }
        Kind::Boolean => json!({ "enum": [true, false, 0, 1] }),
        Kind::Scheduler => json!({ "type": "string" }),
    };
    schema["description"] = Value::String(explained(attribute));
    schema
}

/// Meaning, unit, default, kernels and risk, a line each.
fn explained(attribute: &Attribute) -> String {
    let mut text = attribute.meaning.to_owned();
    if !attribute.unit.is_empty() {
        text.push_str(&format!("\nUnit: {}", attribute.unit));
    }
    text.push_str(&format!("\nDefault: {}", attribute.default));
    if let Some(since) = attribute.since {
        text.push_str(&format!("\nSince Linux {since}"));
    }
    if let Some(gone) = attribute.gone {
        text.push_str(&format!("\nGone in Linux {gone}"));
    }
    if !attribute.risk.is_empty() {
        text.push_str(&format!("\nRisk: {}", attribute.risk));
    }
    text
}

/// A number as JSON has it: the table's widest is kyber's, of 64 bits.
fn json_number(number: i128) -> Value {
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => Value::Null,
    }
}
