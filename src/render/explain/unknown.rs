//! What a name is answered with that the tables do not know.

use crate::knowledge::attributes::{ATTRIBUTES, Attribute};
use crate::knowledge::{nearest, options};
use crate::render::words::visible;

/// How many names that hold a word are given before the rest is counted.
const PARTS: usize = 8;

/// Nothing is called so; but a near name is, or some that have it in them.
pub(super) fn answer(key: &str) -> String {
    let keys: Vec<String> = ATTRIBUTES.iter().map(Attribute::key).collect();
    let names: Vec<&str> = keys
        .iter()
        .map(String::as_str)
        .chain(options::all().map(|option| option.name))
        .collect();
    let word = key.to_ascii_lowercase();
    let holds = |name: &&str| word.len() > 2 && name.contains(&word);
    let mut parts: Vec<&str> = names.iter().copied().filter(holds).collect();
    parts.sort_unstable();
    parts.dedup();
    let key = visible(key);
    match nearest(&key, names) {
        None if !parts.is_empty() => {
            let more = match parts.len().checked_sub(PARTS) {
                Some(more @ 1..) => format!(" and {more} more"),
                _ => String::new(),
            };
            parts.truncate(PARTS);
            format!(
                "nothing is called `{key}`, but `{}`{more} have it in their names: `ssdtune explain --list` lists all names",
                parts.join("`, `")
            )
        }
        Some(near) => format!(
            "nothing is called `{key}`: did you mean `{near}`? `ssdtune explain --list` lists all names"
        ),
        None => format!("nothing is called `{key}`: `ssdtune explain --list` lists all names"),
    }
}
