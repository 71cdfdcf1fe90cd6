//! A three-way merge of lines: takes one change back, keeps what somebody else changed since.

use std::ops::Range;

use similar::{DiffOp, TextDiff};

/// Leads `theirs`, which came from `base`, through the change from `base` to `target`.
///
/// The error names the lines of `base` that both changed.
pub fn three_way(base: &[u8], target: &[u8], theirs: &[u8]) -> Result<Vec<u8>, String> {
    let (base_lines, target_lines, their_lines) = (lines(base), lines(target), lines(theirs));
    let wanted = TextDiff::from_slices(&base_lines, &target_lines);
    let rival = TextDiff::from_slices(&base_lines, &their_lines);
    let mut places: Vec<Option<usize>> = vec![None; base_lines.len()];
    for op in rival.ops() {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = *op
        {
            for step in 0..len {
                places[old_index + step] = Some(new_index + step);
            }
        }
    }
    // Edits of `theirs`: a range of lines, and what takes its place.
    let mut edits: Vec<(usize, usize, &[&[u8]])> = Vec::new();
    for op in wanted.ops() {
        let (old, new) = (op.old_range(), op.new_range());
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let start = if old.is_empty() {
            insertion(&places, old.start, their_lines.len())
        } else {
            contiguous(&places, old.start, old.end)
        };
        let Some(start) = start else {
            return Err(rivals(&places, old));
        };
        edits.push((start, start + old.len(), &target_lines[new]));
    }
    let mut merged = Vec::with_capacity(theirs.len());
    let mut at = 0;
    for (start, end, lines) in edits {
        for line in &their_lines[at..start] {
            push(&mut merged, line);
        }
        for line in lines {
            push(&mut merged, line);
        }
        at = end;
    }
    for line in &their_lines[at..] {
        push(&mut merged, line);
    }
    Ok(merged)
}

/// Lines with their ends.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Where lines of the base that are to be changed stand in theirs, if untouched and together.
fn contiguous(places: &[Option<usize>], start: usize, end: usize) -> Option<usize> {
    let first = places[start]?;
    (start..end)
        .all(|line| places[line] == Some(first + line - start))
        .then_some(first)
}

/// The lines of a range that both changed; where only something came between them, or they are to
/// come where nothing of the surroundings is left, the whole range.
fn rivals(places: &[Option<usize>], range: Range<usize>) -> String {
    let changed = range.clone().filter(|line| places[*line].is_none());
    let mut lines: Vec<usize> = changed.map(|line| line + 1).collect();
    if lines.is_empty() {
        lines = range.clone().map(|line| line + 1).collect();
    }
    match lines.as_slice() {
        [] => format!("line {}", range.start + 1),
        [line] => format!("line {line}"),
        [first, .., last] if last - first + 1 == lines.len() => format!("lines {first} to {last}"),
        lines => {
            let words: Vec<String> = lines.iter().map(usize::to_string).collect();
            format!("lines {}", words.join(", "))
        }
    }
}

/// Where a line that was before base line `at` goes in theirs.
fn insertion(places: &[Option<usize>], at: usize, end: usize) -> Option<usize> {
    if at == 0 && places.is_empty() {
        return Some(end);
    }
    match at.checked_sub(1).and_then(|before| places[before]) {
        Some(before) => Some(before + 1),
        None => places.get(at).copied().flatten(),
    }
}

/// Never glues a line to one that had no newline.
fn push(text: &mut Vec<u8>, line: &[u8]) {
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    text.extend_from_slice(line);
}

#[cfg(test)]
mod tests {
    use super::three_way;

    fn merged(base: &str, target: &str, theirs: &str) -> Result<String, String> {
        three_way(base.as_bytes(), target.as_bytes(), theirs.as_bytes())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn a_line_added_elsewhere_stays() {
        let (base, target) = ("/ noatime\n/tmp tmpfs\n", "/ defaults\n");
        assert_eq!(merged(base, target, base).unwrap(), target);
        assert_eq!(
            merged(base, target, "# theirs\n/ noatime\n/tmp tmpfs\nnfs\n").unwrap(),
            "# theirs\n/ defaults\nnfs\n"
        );
    }

    #[test]
    fn the_same_line_changed_is_a_conflict() {
        assert_eq!(
            merged(
                "/ noatime\n/home x\n",
                "/ defaults\n/home x\n",
                "/ noatime,ro\n/home x\n"
            ),
            Err("line 1".to_owned())
        );
        // Of all that was to change, only what somebody else changed too.
        let (base, target) = ("a 1\nb 1\nc 1\nd 1\n", "a 0\nb 0\nc 0\nd 0\n");
        let lines = |theirs| merged(base, target, theirs).unwrap_err();
        assert_eq!(lines("a 1\nb 1\nc 2\nd 1\n"), "line 3");
        assert_eq!(lines("a 2\nb 1\nc 2\nd 1\n"), "lines 1, 3");
        assert_eq!(lines("a 1\nb 2\nc 2\nd 1\n"), "lines 2 to 3");
        assert_eq!(lines("a 1\nb 1\nx\nc 1\nd 1\n"), "lines 1 to 4");
    }

    #[test]
    fn lines_are_never_glued() {
        assert_eq!(merged("a\nb\n", "a", "a\nb\nc\n").unwrap(), "a\nc\n");
        assert_eq!(merged("", "a\n", "b").unwrap(), "b\na\n");
    }

    #[test]
    fn a_removed_line_comes_back_in_its_place() {
        assert_eq!(
            merged("a\nc\n", "a\nb\nc\n", "a\nc\nd\n").unwrap(),
            "a\nb\nc\nd\n"
        );
    }
}
