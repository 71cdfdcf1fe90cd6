//! `[[mount]]`: reads a rule on lines of fstab.

use super::fields::Fields;
use super::option_list::{self, Scope};
use super::pattern::Refused;
use super::reader::Reader;
use super::rule::{self, Common};
use super::visible::array;
use super::{At, MountRule, MountSelector, Pattern, matching};
use crate::knowledge::options::ValueKind;
use crate::knowledge::{attributes, legacy, options};

/// Reads a `[[mount]]`; what is wrong goes to the reader.
pub(super) fn read(mut fields: Fields<'_>, reader: &mut Reader) -> MountRule {
    let at = reader.origin(fields.header.clone());
    let before = reader.count();
    let Common { when, allow } = rule::common(&mut fields, reader);
    let optional = rule::optional(&mut fields, reader);
    let has_match = fields.has("match");
    let select = fields
        .table("match", reader)
        .map_or_else(MountSelector::default, |fields| {
            matching::read_mount(fields, reader)
        });
    let types = literals(&select.fstype);
    let scope = Scope {
        types: &types,
        others: types.len() < select.fstype.len() || types.is_empty(),
        allow: &allow,
    };
    let options = option_list::wanted(&mut fields, scope, &[], reader);
    let without = option_list::unwanted(&mut fields, &options, reader);
    let clean = fields.finish_with("", reader, |key| {
        misplaced(key, &["target", "source", "fstype"])
    });
    // What is missing may just be misspelt.
    if !has_match && clean {
        reader.report(
            at,
            "this rule does not say which lines of fstab it edits",
            "write e.g. `match.target = \"/home\"`, or `match.fstype = \"*\"` for every local disk \
             filesystem",
        );
    }
    if reader.count() == before && options.is_empty() && without.is_empty() {
        reader.report(
            at,
            "this rule sets nothing",
            "write `options = [...]`, or `without = [...]` for options to take off",
        );
    }
    MountRule {
        at,
        when,
        select,
        optional,
        options,
        without,
        allow,
    }
}

/// Filesystem types that a rule names outright.
fn literals(types: &[At<Pattern>]) -> Vec<&str> {
    types
        .iter()
        .filter(|at| at.value.literal)
        .map(|at| at.value.text.as_str())
        .collect()
}

/// Answers keys that belong elsewhere.
pub(super) fn misplaced(key: &str, selectors: &[&str]) -> Option<Refused> {
    if selectors.contains(&key) {
        return Some(Refused::new(
            format!("unknown key `{key}`"),
            format!("to select lines write `match.{key} = ...`"),
        ));
    }
    if let Some(answer) = legacy::mkfs(key) {
        return Some(Refused {
            message: answer,
            help: None,
        });
    }
    if attributes::queue(key).is_some() {
        return Some(Refused::new(
            format!("`{key}` is a setting of a device"),
            "write it in a `[[device]]` rule; `match.mount` selects the disks of a mount point",
        ));
    }
    if matches!(key, "size" | "mode") {
        return Some(Refused::new(
            format!("`{key}` is a key of `[[tmpfs]]`"),
            "write `[[tmpfs]]` with `target = \"/tmp\"` for a directory in memory",
        ));
    }
    if let Some(option) = options::all().find(|option| option.name == key) {
        let word = match option.value {
            ValueKind::Flag | ValueKind::Optional(_) => key.to_owned(),
            _ => format!("{key}=..."),
        };
        return Some(Refused::new(
            format!("`{key}` is a mount option"),
            format!("write it in a list: `options = {}`", array(&[&word])),
        ));
    }
    None
}
