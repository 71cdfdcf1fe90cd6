//! Reads state files: every error of meaning at once, of broken syntax the first of each file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fields::{Fields, Raw, whole};
use super::pattern::Refused;
use super::reader::{Reader, kind};
use super::visible::{array, in_quotes};
use super::{DesiredState, Origin, Places, Problem, Source, device_rule, mount_rule};
use crate::knowledge::attributes;

/// The longest state file, in bytes. A person writes some kilobytes; offsets must fit 32 bits.
const LONGEST: usize = 64 << 20;

/// The version of the format that this program reads.
const VERSION: i128 = 1;

/// Reads state files in their order: later rules win.
///
/// # Errors
/// All problems of all files, by file and place.
pub fn parse(sources: &[Source]) -> Result<DesiredState, Vec<Problem>> {
    let mut state = DesiredState::default();
    let mut problems = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let Ok(file) = u16::try_from(index) else {
            problems.push(whole_file(
                u16::MAX,
                "there are more than 65536 state files",
            ));
            break;
        };
        if source.text.len() > LONGEST {
            problems.push(whole_file(file, "the file is longer than 64 MiB"));
            continue;
        }
        let mut reader = Reader::new(file);
        read(&source.text, &mut reader, &mut state);
        problems.extend(reader.into_problems());
    }
    matched_and_set(&state, sources, &mut problems);
    if problems.is_empty() {
        state.sources = sources.to_vec();
        Ok(state)
    } else {
        problems.sort_by_key(|problem| problem.origin);
        Err(problems)
    }
}

fn whole_file(file: u16, message: &str) -> Problem {
    Problem {
        origin: Origin {
            file,
            ..Origin::default()
        },
        message: message.to_owned(),
        help: Some("split it, or check that it is the file you mean".to_owned()),
    }
}

/// Reads one file.
fn read(text: &str, reader: &mut Reader, state: &mut DesiredState) {
    let (document, errors) = DeTable::parse_recoverable(text);
    // What follows the first error is the parser's guess: an unclosed bracket makes dozens.
    let first = errors
        .iter()
        .min_by_key(|error| error.span().map_or(usize::MAX, |span| span.start));
    if let Some(error) = first {
        let span = error.span().unwrap_or(text.len()..text.len());
        let origin = reader.origin(span.clone());
        match syntax_help(error.message(), text.get(span.start..).unwrap_or_default()) {
            Some(help) => reader.report(origin, error.message(), help),
            None => reader.say(origin, error.message()),
        }
        return;
    }

    let mut fields = Fields::new(document.into_inner(), 0..0);
    version(&mut fields, reader);
    for table in tables("mount", &mut fields, reader) {
        state.mounts.push(mount_rule::read_mount(table, reader));
    }
    for table in tables("tmpfs", &mut fields, reader) {
        state.tmpfs.extend(mount_rule::read_tmpfs(table, reader));
    }
    for table in tables("device", &mut fields, reader) {
        state.devices.push(device_rule::read(table, reader));
    }
    if let Some(trim) = fields.take_refused("trim") {
        reader.report(
            reader.origin(trim.at),
            "`[trim]` cannot be set yet",
            "run `systemctl enable --now fstrim.timer`, or write `discard` as a mount option",
        );
    }
    fields.finish_with("", reader, outside_rules);
}

/// What the TOML parser's words leave open; `rest` is the text from the error on.
fn syntax_help(message: &str, rest: &str) -> Option<String> {
    if message == "duplicate key" {
        return Some(
            "each key stands once in a table; a further rule begins with its own `[[device]]`"
                .into(),
        );
    }
    // `options = noatime,nodiratime`: a word is taken for a number such as `nan`.
    let bare = rest.starts_with(|c: char| c.is_ascii_alphabetic())
        && (message.starts_with("string values must be quoted")
            || message.starts_with("invalid float")
            || message.starts_with("invalid boolean"));
    let line = rest.lines().next().filter(|line| line.len() < 200)?;
    if !bare {
        return None;
    }
    let words: Vec<&str> = line
        .split(['#', ']'])
        .next()?
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    Some(match words.as_slice() {
        [word] => format!("a string stands in double quotes: {}", in_quotes(word)),
        words => format!("write a list of strings: {}", array(words)),
    })
}

fn version(fields: &mut Fields<'_>, reader: &mut Reader) {
    let Some(field) = fields.take("version") else {
        return;
    };
    let origin = reader.origin(field.raw.span());
    match field.raw.get_ref() {
        DeValue::Integer(number) => {
            if whole(number) != Some(VERSION) {
                reader.report(
                    origin,
                    "this version of the format is unknown",
                    format!("this program reads `version = {VERSION}`; a newer file needs a newer ssdtune"),
                );
            }
        }
        _ => reader.mistyped(
            "version",
            "a whole number",
            &field.raw,
            Some(format!("write `version = {VERSION}`")),
        ),
    }
}

/// Takes the rules of one kind: `[[device]]` tables.
fn tables<'i>(name: &'static str, fields: &mut Fields<'i>, reader: &mut Reader) -> Vec<Fields<'i>> {
    let Some(field) = fields.take(name) else {
        return Vec::new();
    };
    let span = field.raw.span();
    let wrong = |raw: &Raw<'_>, reader: &mut Reader| {
        reader.report(
            reader.origin(field.at.clone()),
            format!("`{name}`: expected rules, found {}", kind(raw.get_ref())),
            format!("begin each rule with `[[{name}]]`"),
        );
    };
    match field.raw.into_inner() {
        DeValue::Array(list) => list
            .into_iter()
            .filter_map(|item| {
                let header = item.span();
                match item.into_inner() {
                    DeValue::Table(table) => Some(Fields::new(table, header)),
                    other => {
                        wrong(&Spanned::new(header, other), reader);
                        None
                    }
                }
            })
            .collect(),
        other => {
            wrong(&Spanned::new(span, other), reader);
            Vec::new()
        }
    }
}

/// Answers a key at the top of a file that belongs into a rule.
fn outside_rules(key: &str) -> Option<Refused> {
    let rule = match key {
        "options" | "without" => "mount",
        "size" | "mode" | "target" => "tmpfs",
        "match" | "when" | "optional" | "ignore" | "allow" => "device",
        _ if attributes::queue(key).is_some() => "device",
        // Plurals and synonyms are further from the name than a slip is.
        "mounts" | "fstab" | "filesystem" => {
            return Some(table_name(key, "mount"));
        }
        "devices" | "disk" | "disks" | "queue" => {
            return Some(table_name(key, "device"));
        }
        _ => return None,
    };
    Some(Refused::new(
        format!("`{key}` stands outside of a rule"),
        format!("write it below a `[[{rule}]]`"),
    ))
}

fn table_name(key: &str, name: &str) -> Refused {
    Refused::new(
        format!("unknown table `{key}`"),
        format!("write `[[{name}]]`"),
    )
}

/// Refuses rules that match on what a rule sets: what they take would depend on whether the other
/// has been applied.
fn matched_and_set(state: &DesiredState, sources: &[Source], problems: &mut Vec<Problem>) {
    let mut settings = state.devices.iter().flat_map(|rule| &rule.settings);
    let Some(set) = settings.find(|setting| setting.attribute.name == "rotational") else {
        return;
    };
    let matches = state
        .devices
        .iter()
        .filter_map(|rule| rule.select.rotational.as_ref());
    let mut place = None;
    for at in matches {
        let place = place.get_or_insert_with(|| Places::new(sources).name(set.value.origin));
        problems.push(Problem {
            origin: at.origin,
            message: format!("this rule matches on `rotational`, which {place} sets"),
            help: Some(
                "match on something that stays: `match.model`, `match.transport`, `match.serial`"
                    .to_owned(),
            ),
        });
    }
}
