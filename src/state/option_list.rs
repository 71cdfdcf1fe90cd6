//! `options` and `without`: lists of mount options.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::fields::Fields;
use super::pattern::Refused;
use super::reader::Reader;
use super::visible::{array, has_hidden, in_quotes, quoted};
use super::{At, DATA_LOSS, Origin};
use crate::knowledge::options;

/// What the options of a rule are checked against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Filesystem types that the rule names.
    pub(super) types: &'a [&'a str],
    /// The rule may meet other types too.
    pub(super) others: bool,
    /// What the rule's author accepts.
    pub(super) allow: &'a BTreeSet<String>,
}

/// Reads `options`; `own` are options that have a key of their own in this rule.
pub(super) fn wanted(
    fields: &mut Fields<'_>,
    scope: Scope<'_>,
    own: &[&str],
    reader: &mut Reader,
) -> Vec<At<String>> {
    let list = fields.strings("options", reader).unwrap_or_default();
    let mut wanted: Vec<At<String>> = Vec::with_capacity(list.len());
    let mut slots: HashMap<Rc<str>, usize> = HashMap::with_capacity(list.len());
    for at in list {
        match check(&at.value, scope, own, reader) {
            Err(refused) => reader.refuse(at.origin, refused),
            Ok(slot) => {
                match slots.entry(slot) {
                    Entry::Occupied(first) => clash(&wanted[*first.get()], &at, reader),
                    Entry::Vacant(slot) => {
                        slot.insert(wanted.len());
                    }
                }
                wanted.push(at);
            }
        }
    }
    wanted
}

/// Two options of which only one can hold.
fn clash(first: &At<String>, second: &At<String>, reader: &mut Reader) {
    let message = if first.value == second.value {
        format!("{} is already in the list", quoted(&second.value))
    } else {
        format!(
            "{} and {} replace one another",
            quoted(&first.value),
            quoted(&second.value)
        )
    };
    reader.report(second.origin, message, "keep one of the two");
}

/// Reads `without`: names of options that are taken off, whatever their value.
pub(super) fn unwanted(
    fields: &mut Fields<'_>,
    options: &[At<String>],
    reader: &mut Reader,
) -> Vec<At<String>> {
    let mut list = fields.strings("without", reader).unwrap_or_default();
    let wanted: HashMap<&str, Origin> = options
        .iter()
        .map(|at| (name(&at.value), at.origin))
        .collect();
    let mut seen = HashSet::new();
    list.retain(|at| {
        let refused = match shape(&at.value) {
            Err(refused) => refused,
            Ok(()) if at.value.contains('=') => Refused::new(
                format!("{} has a value", quoted(&at.value)),
                format!(
                    "write {}: an option is taken off whatever its value",
                    in_quotes(name(&at.value))
                ),
            ),
            Ok(()) if wanted.contains_key(at.value.as_str()) => Refused::new(
                format!(
                    "{} is both in `options` and in `without`",
                    quoted(&at.value)
                ),
                "remove one of the two",
            ),
            Ok(()) if !seen.insert(at.value.clone()) => Refused::new(
                format!("{} is already in the list", quoted(&at.value)),
                "name it once",
            ),
            Ok(()) => return true,
        };
        reader.refuse(at.origin, refused);
        false
    });
    list
}

/// The name of an option, without its value.
fn name(item: &str) -> &str {
    item.split_once('=').map_or(item, |(name, _)| name)
}

/// Checks an option and gives its slot.
fn check(
    item: &str,
    scope: Scope<'_>,
    own: &[&str],
    reader: &mut Reader,
) -> Result<Rc<str>, Refused> {
    shape(item)?;
    if let Some((name, value)) = item.split_once('=')
        && own.contains(&name)
    {
        return Err(Refused::new(
            format!("`{name}` has a key of its own"),
            format!("write `{name} = {}`", in_quotes(value)),
        ));
    }
    let accepted = accept(item, scope, reader)?;
    match accepted.risk {
        Some(why) if !scope.allow.contains(DATA_LOSS) => Err(Refused::new(
            format!("{} may lose data: {why}", quoted(item)),
            "if that is meant, add `allow = [\"data-loss\"]` to the rule",
        )),
        _ => Ok(accepted.slot),
    }
}

/// What is known of an option that may be asked for.
#[derive(Debug, Clone)]
pub(super) struct Accepted {
    /// What it shares with the options that it replaces.
    slot: Rc<str>,
    /// What may be lost with it.
    risk: Option<&'static str>,
}

/// Looks an option up for all types that a rule may meet. Files repeat a few options in many rules,
/// so the reader keeps what was found.
fn accept(item: &str, scope: Scope<'_>, reader: &mut Reader) -> Result<Accepted, Refused> {
    let mut key = item.to_owned();
    for fstype in scope
        .types
        .iter()
        .copied()
        .chain(scope.others.then_some(""))
    {
        key.push('\n'); // neither an option nor a type has one
        key.push_str(fstype);
    }
    if let Some(accepted) = reader.accepted.get(&key) {
        return Ok(accepted.clone());
    }
    let mut risky = None;
    let types = scope.types.iter().copied().map(Some);
    for fstype in types.chain(scope.others.then_some(None)) {
        known(fstype, item, reader)?;
        risky = risky.or_else(|| risk(fstype, item));
    }
    // `auto` is any filesystem: an option replaces the same others wherever it is known.
    let fstype = scope.types.first().copied().unwrap_or("auto");
    let accepted = Accepted {
        slot: options::slot(fstype, item).as_ref().into(),
        risk: risky,
    };
    reader.accepted.insert(key, accepted.clone());
    Ok(accepted)
}

/// Checks an option on one type, or on any.
fn known(fstype: Option<&str>, item: &str, reader: &mut Reader) -> Result<(), Refused> {
    let atime = || options::slot("auto", item) == options::slot("auto", "noatime");
    if fstype == Some("zfs") && atime() {
        return Err(Refused {
            message: format!("`{item}` has no effect on zfs"),
            help: options::foreign("zfs").map(str::to_owned),
        });
    }
    if !reader.may_guess() && !options::all().any(|option| option.name == name(item)) {
        // Names with a star in the table (`x-*`) are rare enough to look at them in full.
        let starred = item.starts_with(['x', 'X']);
        if !starred {
            return Err(Refused {
                message: format!("{} is not a mount option", quoted(item)),
                help: None,
            });
        }
    }
    options::check(fstype, item, None).map_err(|message| {
        reader.guessed();
        Refused {
            message,
            help: None,
        }
    })
}

/// What may be lost with an option on one type, or on any that has it.
fn risk(fstype: Option<&str>, item: &str) -> Option<&'static str> {
    match fstype {
        Some(fstype) => options::risk(fstype, item),
        None => options::all()
            .filter(|option| option.name == name(item))
            .find_map(|option| options::risk(option.fs.first().copied().unwrap_or("auto"), item)),
    }
}

/// The longest option, in bytes: getmntent(3) cuts a line at 4095, and more than options stands in it.
const LONGEST: usize = 3500;

/// Refuses what is not one option.
fn shape(item: &str) -> Result<(), Refused> {
    if item.is_empty() {
        return Err(Refused::new(
            "an empty option stands for nothing",
            "remove it",
        ));
    }
    if has_hidden(item) {
        return Err(Refused::new(
            format!("{} has a character that cannot be seen", quoted(item)),
            "remove it",
        ));
    }
    if item.len() > LONGEST {
        return Err(Refused::new(
            format!("{} is too long for fstab", quoted(item)),
            "a line of fstab has at most 4095 bytes",
        ));
    }
    let mut quotes = false;
    let mut comma = false;
    for c in item.chars() {
        quotes ^= c == '"';
        comma |= c == ',' && !quotes;
    }
    if quotes {
        return Err(Refused::new(
            format!("{} has a double quote that is not closed", quoted(item)),
            "quote a whole value, and only one that has a comma: 'context=\"a:b,c\"'",
        ));
    }
    if comma {
        let parts: Vec<&str> = item
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        let help = if item.contains('"') {
            "write each option as a string of its own".to_owned()
        } else {
            format!("write {}", array(&parts))
        };
        let what = if parts.len() > 1 {
            "is more than one option"
        } else {
            "has a comma"
        };
        return Err(Refused::new(format!("{} {what}", quoted(item)), help));
    }
    if item.contains(' ') {
        return Err(Refused::new(
            format!("{} has a blank", quoted(item)),
            if item.contains('"') {
                "write `\\\\040` for it".to_owned()
            } else if item.trim().contains(' ') {
                "write each option as a string of its own".to_owned()
            } else {
                format!("write {}", in_quotes(item.trim()))
            },
        ));
    }
    Ok(())
}
