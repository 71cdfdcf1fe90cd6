//! Pass one: each rule of the state becomes guards that jump over it, then what it wants.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::pin::Pins;
use super::{Key, LONGEST, WANTED, variable, words};
use crate::facts::{Facts, select};
use crate::format::udev_rules::{self, Refusal};
use crate::knowledge::attributes;
use crate::state::ignore::covers;
use crate::state::{At, DesiredState, DeviceRule, DeviceSelector, Ignore, Pattern, Places};

/// The longest list of alternatives in one line, in bytes.
const LONGEST_LIST: usize = 1 << 10;

/// Writes rules, and knows what those before may have asked for.
pub(super) struct Collector<'a> {
    places: Places<'a>,
    pins: Pins<'a>,
    settings: BTreeSet<Key>,
    scheduler: bool,
    count: usize,
}

impl<'a> Collector<'a> {
    pub fn new(state: &'a DesiredState, facts: &'a Facts) -> Self {
        Self {
            places: Places::new(&state.sources),
            pins: Pins::new(facts),
            settings: BTreeSet::new(),
            scheduler: false,
            count: 0,
        }
    }

    /// True where no rule has a line yet that udev would heed.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The lines of one rule; none where there is nothing for it to do.
    ///
    /// # Errors
    /// Why udev could not be made to understand it.
    pub fn block(&mut self, rule: &DeviceRule) -> Result<String, String> {
        let next = format!("ssdtune_rule_{}", self.count + 1);
        let mut wishes = self.cleared(rule);
        let pinned = !rule.select.mount.is_empty();
        let pins = if pinned {
            self.pins.of(rule).map_err(|refusal| refusal.to_string())?
        } else {
            Default::default()
        };
        self.wanted(&mut wishes, rule, pins.gates())?;
        self.scheduler |= rule.scheduler.is_some();
        let keys = rule.settings.iter();
        self.settings
            .extend(keys.map(|setting| (setting.attribute, setting.under)));
        if wishes.is_empty() {
            return Ok(String::new());
        }

        let about = words::about(rule, &self.places.name(rule.at));
        if pinned && pins.is_empty() {
            return Ok(format!(
                "\n# {about}: no such device when this was written\n"
            ));
        }
        let mut text = format!("\n# {about}\n");
        if pinned {
            pins.write(&mut text, &next);
        } else {
            guards(&mut text, &rule.select, &next).map_err(|refusal| refusal.to_string())?;
        }
        text.push_str(&wishes);
        let _ = writeln!(text, "LABEL=\"{next}\"");
        if let Some(line) = text.lines().find(|line| line.len() > LONGEST) {
            let front: String = line.chars().take(40).collect();
            return Err(format!(
                "a line of {} bytes (`{front}…`) is longer than udev reads",
                line.len()
            ));
        }
        self.count += 1;
        Ok(text)
    }

    /// Takes back what the rule ignores, as far as some rule before may have asked for it.
    fn cleared(&self, rule: &DeviceRule) -> String {
        let mut text = String::new();
        let keys = match &rule.ignore {
            Ignore::Nothing => return text,
            Ignore::Everything => None,
            Ignore::Keys(keys) => Some(keys),
        };
        if self.scheduler && keys.is_none_or(|keys| keys.iter().any(|at| at.value == "scheduler")) {
            let _ = writeln!(text, "ENV{WANTED}=\"\"");
        }
        for key in &self.settings {
            let covered = |at: &At<String>| covers(&at.value, key.1, key.0);
            if keys.is_none_or(|keys| keys.iter().any(covered)) {
                let _ = writeln!(text, "ENV{}=\"\"", variable(*key));
            }
        }
        text
    }

    /// Notes what the rule asks for.
    fn wanted(
        &self,
        text: &mut String,
        rule: &DeviceRule,
        gates: super::pin::Gates,
    ) -> Result<(), String> {
        if let Some(wanted) = &rule.scheduler {
            let names: Vec<&str> = wanted.value.iter().map(|s| s.name()).collect();
            // A zoned disk needs mq-deadline; the attribute is there on every kernel since 4.10.
            let zoned = if select::asks_for_zoned(&rule.select) {
                ""
            } else {
                "ATTR{queue/zoned}==\"none\", "
            };
            let gate = gates.disk;
            let _ = writeln!(text, "{gate}{zoned}ENV{WANTED}=\"{}\"", names.join(" "));
        }
        for setting in &rule.settings {
            let key = (setting.attribute, setting.under);
            let gate = match setting.attribute.name {
                "read_ahead_kb" => gates.top,
                _ => gates.disk,
            };
            if let Some(twin) = attributes::twin(setting.attribute)
                && self.settings.contains(&(twin, setting.under))
            {
                let _ = writeln!(text, "{gate}ENV{}=\"\"", variable((twin, setting.under)));
            }
            let value =
                udev_rules::assigned(&setting.value.value.0).map_err(|why| why.to_string())?;
            let _ = writeln!(text, "{gate}ENV{}=\"{value}\"", variable(key));
        }
        Ok(())
    }
}

/// Jumps to `next` unless each key of the selector holds.
///
/// `!=` also holds where udev has no such property, but not where sysfs has no such attribute:
/// `rotational`, `removable` and `zoned` are there on every disk since Linux 4.10.
fn guards(text: &mut String, select: &DeviceSelector, next: &str) -> Result<(), Refusal> {
    if !select.asks_for_unusual() {
        let _ = writeln!(text, "ENV{{.SSDTUNE_UNUSUAL}}==\"1\", GOTO=\"{next}\"");
    }
    let names = written(&select.name, |text| of_kernel(&text))?;
    unless(text, "KERNEL", &names, next);
    let ids = written(&select.id, |text| format!("disk/by-id/{text}"))?;
    unless(text, "SYMLINK", &ids, next);
    for (property, patterns, folded) in [
        ("ENV{ID_SERIAL_SHORT}", &select.serial, false),
        ("ENV{ID_WWN}", &select.wwn, false),
        ("ENV{ID_MODEL}", &select.model, true),
        ("ENV{ID_VENDOR}", &select.vendor, true),
    ] {
        let patterns = written(patterns, |text| match folded {
            true => or_blank(&text),
            false => text,
        })?;
        unless(text, property, &patterns, next);
    }
    let transports = select.transport.iter().map(|at| at.value.clone());
    let transports: Vec<String> = transports.collect();
    unless(text, "ENV{.SSDTUNE_TRANSPORT}", &transports, next);
    let number = |flag: bool| vec![u8::from(flag).to_string()];
    if let Some(wanted) = &select.rotational {
        unless(text, "ATTR{queue/rotational}", &number(wanted.value), next);
    }
    if let Some(wanted) = &select.removable {
        unless(text, "ATTR{removable}", &number(wanted.value), next);
    }
    if let Some(wanted) = &select.zoned {
        let operator = if wanted.value { "==" } else { "!=" };
        let _ = writeln!(
            text,
            "ATTR{{queue/zoned}}{operator}\"none\", GOTO=\"{next}\""
        );
    }
    Ok(())
}

/// Jumps unless the key matches any of the patterns; nothing where there are none.
fn unless(text: &mut String, key: &str, patterns: &[String], next: &str) {
    if patterns.is_empty() {
        return;
    }
    let joined = patterns.join("|");
    if joined.len() <= LONGEST_LIST {
        let _ = writeln!(text, "{key}!=\"{joined}\", GOTO=\"{next}\"");
        return;
    }
    // Too many for one line.
    text.push_str("ENV{.SSDTUNE_ANY}=\"\"\n");
    let mut rest = patterns;
    while !rest.is_empty() {
        let mut length = 0;
        let fits = rest.iter().take_while(|pattern| {
            length += pattern.len() + 1;
            length <= LONGEST_LIST
        });
        let (front, back) = rest.split_at(fits.count().max(1));
        let _ = writeln!(
            text,
            "{key}==\"{}\", ENV{{.SSDTUNE_ANY}}=\"1\"",
            front.join("|")
        );
        rest = back;
    }
    let _ = writeln!(text, "ENV{{.SSDTUNE_ANY}}!=\"1\", GOTO=\"{next}\"");
}

/// Patterns as udev takes them. One that would match nothing at all is tightened: `ENV{X}=="*"`
/// also holds where there is no X.
fn written(
    patterns: &[At<Pattern>],
    change: impl Fn(String) -> String,
) -> Result<Vec<String>, Refusal> {
    let one = |At { value: pattern, .. }: &At<Pattern>| {
        let text = if pattern.literal {
            udev_rules::literal_match(&pattern.text)?
        } else if pattern.text.bytes().all(|byte| byte == b'*') {
            "?*".to_owned()
        } else {
            udev_rules::glob_match(&pattern.text)?
        };
        Ok(change(text))
    };
    patterns.iter().map(one).collect()
}

/// A pattern on a name of sysfs as one on KERNEL, where udev has `/` for the kernel's `!`
/// (`device_set_sysname()` of systemd's sd-device.c): cciss!c0d0 is cciss/c0d0.
pub(super) fn of_kernel(pattern: &str) -> String {
    outside_and_in_sets(pattern, |c| if c == '!' { "/" } else { "" }, str::to_owned)
}

/// A pattern whose `_` also stands for a blank, as udev leaves blanks in the models of NVMe disks.
fn or_blank(pattern: &str) -> String {
    outside_and_in_sets(
        pattern,
        |c| if c == '_' { "[_ ]" } else { "" },
        |set| {
            let plain = set.strip_prefix('!').unwrap_or(set);
            if crate::format::glob::glob(&format!("[{plain}]"), "_") {
                format!("{set} ")
            } else {
                set.to_owned()
            }
        },
    )
}

/// Rewrites a pattern: characters by what `outside` has in their place, if anything, and what
/// stands in brackets.
fn outside_and_in_sets(
    pattern: &str,
    outside: impl Fn(char) -> &'static str,
    in_set: impl Fn(&str) -> String,
) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        // The encoders let no set begin with `]`, but write a lone `[` as `[[]`.
        match rest.split_once(']').filter(|_| c == '[') {
            Some((set, tail)) => {
                let _ = write!(out, "[{}]", in_set(set));
                rest = tail;
            }
            None => match outside(c) {
                "" => out.push(c),
                other => out.push_str(other),
            },
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_names_have_slashes_in_udev() {
        assert_eq!(of_kernel("cciss!c0d0"), "cciss/c0d0");
        assert_eq!(of_kernel("px!*[!a]"), "px/*[!a]");
        assert_eq!(of_kernel("sd[!ab]"), "sd[!ab]");
        assert_eq!(of_kernel("x[[]!"), "x[[]/");
    }

    #[test]
    fn an_underscore_stands_for_a_blank_too() {
        assert_eq!(or_blank("Samsung_SSD*"), "Samsung[_ ]SSD*");
        assert_eq!(or_blank("a[A-z]b"), "a[A-z ]b");
        assert_eq!(or_blank("a[!_x]b"), "a[!_x ]b");
        assert_eq!(or_blank("a[!xy]b"), "a[!xy]b");
        assert_eq!(or_blank("[*]_"), "[*][_ ]");
    }

    #[test]
    fn long_lists_are_split() {
        let many: Vec<String> = (0..300)
            .map(|number| format!("SERIAL{number:04}"))
            .collect();
        let mut text = String::new();
        unless(&mut text, "ENV{ID_SERIAL_SHORT}", &many, "next");
        assert!(text.lines().all(|line| line.len() < 1200), "{text}");
        let listed = text.matches("SERIAL").count() - text.matches("ID_SERIAL").count();
        assert_eq!(listed, 300);
        assert!(text.ends_with("ENV{.SSDTUNE_ANY}!=\"1\", GOTO=\"next\"\n"));
    }
}
