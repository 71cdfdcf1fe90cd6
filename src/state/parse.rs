//! Reads state files: every error of meaning at once, of broken syntax the first of each file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fields::{Fields, Raw, whole};
use super::pattern::Refused;
use super::reader::{Reader, kind};
use super::visible::{array, in_quotes};
use super::{DesiredState, Origin, Places, Problem, Source};
use super::{device_rule, mount_rule, tmpfs_rule, trim_rule};
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
        state.mounts.push(mount_rule::read(table, reader));
    }
    for table in tables("tmpfs", &mut fields, reader) {
        state.tmpfs.extend(tmpfs_rule::read(table, reader));
    }
    for table in tables("device", &mut fields, reader) {
        state.devices.push(device_rule::read(table, reader));
    }
    if let Some(table) = fields.table("trim", reader) {
        state.trim.extend(trim_rule::read(table, reader));
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
    let bare = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '*')
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
        "timer" | "fstrim" | "fstrim.timer" => {
            return Some(Refused::new(
                format!("`{key}` stands outside of a rule"),
                "write `[trim]`, and below it `timer = true` or `timer = false`",
            ));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Scheduler;
    use crate::state::{Comparison, Ignore};

    fn source(text: &str) -> Source {
        Source {
            name: "state.toml".into(),
            text: text.into(),
        }
    }

    #[test]
    fn a_file_means_what_it_says_and_every_value_knows_its_place() {
        let sources = [
            source(
                "[[mount]]\nmatch.fstype = \"*\"\noptions = [\"noatime\"]\nwithout = \"discard\"\n",
            ),
            source(
                "[[tmpfs]]\ntarget = \"/tmp\"\nsize = \"25%\"\nmode = \"1777\"\nallow = \"sticky\"\n\
                 [[device]]\nwhen.kernel = \">=6.6\"\nmatch.model = \"WDC  WD40*\"\n\
                 match.rotational = true\nscheduler = [\"bfq\", \"deadline\"]\nread_ahead_kb = 0x100\n\
                 optional = true\n[device.bfq]\nlow_latency = false\nnr_requests = 1_28\n\
                 [[device]]\nmatch.mount = \"/data/\"\nignore = [\"scheduler\"]\n",
            ),
        ];
        let state = parse(&sources).unwrap();
        let text = |origin: Origin| {
            let text = &sources[usize::from(origin.file)].text;
            &text[origin.start as usize..origin.end as usize]
        };

        let mount = &state.mounts[0];
        assert!(mount.select.is_every_local_disk());
        assert_eq!(mount.options[0].value, "noatime");
        assert_eq!(text(mount.options[0].origin), "\"noatime\"");
        assert_eq!(mount.without[0].value, "discard");
        assert_eq!(text(mount.at), "[[mount]]");

        let tmpfs = &state.tmpfs[0];
        assert_eq!(tmpfs.target.value, "/tmp");
        assert_eq!(tmpfs.size.as_ref().unwrap().value, "25%");
        assert_eq!(tmpfs.mode.as_ref().unwrap().value, "1777");
        assert!(tmpfs.allow.contains("sticky"));

        let [first, second] = state.devices.as_slice() else {
            panic!("{:?}", state.devices)
        };
        assert_eq!(first.when.kernel[0].value.0, Comparison::GreaterOrEqual);
        assert_eq!(first.select.model[0].value.text, "WDC_WD40*");
        assert!(first.optional && first.select.rotational.as_ref().unwrap().value);
        let schedulers = first.scheduler.as_ref().unwrap();
        assert_eq!(schedulers.value, [Scheduler::Bfq, Scheduler::MqDeadline]);
        let settings: Vec<_> = first
            .settings
            .iter()
            .map(|s| {
                (
                    s.under,
                    s.attribute.name,
                    s.value.value.0.as_str(),
                    text(s.value.origin),
                )
            })
            .collect();
        assert_eq!(
            settings,
            [
                (None, "read_ahead_kb", "256", "0x100"),
                (Some(Scheduler::Bfq), "low_latency", "0", "false"),
                (Some(Scheduler::Bfq), "nr_requests", "128", "1_28"),
            ]
        );
        assert_eq!(second.select.mount[0].value.text, "/data");
        assert!(matches!(&second.ignore, Ignore::Keys(keys) if keys[0].value == "scheduler"));
    }

    #[test]
    fn files_have_a_longest_length_and_a_highest_number() {
        let long = source(&" ".repeat(LONGEST + 1));
        let problems = parse(&[source(""), long]).unwrap_err();
        assert_eq!(problems[0].message, "the file is longer than 64 MiB");
        assert_eq!(problems[0].origin.file, 1);
        let many = vec![source(""); 1 << 16];
        assert!(parse(&many).is_ok());
        let more = vec![source("x"); (1 << 16) + 1];
        assert!(
            parse(&more)
                .unwrap_err()
                .iter()
                .any(|p| p.message.contains("65536"))
        );
    }
}
