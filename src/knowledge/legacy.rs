//! Names from old guides, and what to write today.

/// Answers a scheduler's name that is none today.
pub fn scheduler(name: &str) -> Option<String> {
    let (gone, write) = match name {
        "noop" => ("is gone since Linux 5.0", "`none`"),
        _ => return None,
    };
    Some(format!("`{name}` {gone}: write {write}"))
}
