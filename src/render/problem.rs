//! What is wrong with state files, shown in their text.

use std::fmt::Write as _;

use crate::state::{Lines, Places, Problem, Source, is_plain, push_visible};

/// Columns of a line that are shown at most; a longer line is cut around the caret.
const WIDEST: usize = 100;

/// Columns kept in front of the caret where a line is cut.
const LEAD: usize = 40;

/// Shows problems in the lines they are in, by file and place, and counts them.
///
/// ```text
/// error: unknown key `read_ahed_kb`
///  --> /etc/ssdtune/state.toml:4:1
///   |
/// 4 | read_ahed_kb = 256
///   | ^^^^^^^^^^^^
///   help: did you mean `read_ahead_kb`?
/// ```
///
/// Plain text without colours. Characters that a terminal would act on are shown escaped.
pub fn problems(sources: &[Source], problems: &[Problem]) -> String {
    let places = Places::new(sources);
    let mut order: Vec<&Problem> = problems.iter().collect();
    order.sort_by_key(|problem| problem.origin);
    let mut out = String::with_capacity(order.len().saturating_mul(160));
    for problem in &order {
        out.push_str("error: ");
        push_visible(&mut out, &problem.message);
        out.push('\n');
        match places.file(problem.origin) {
            Some((source, _)) if source.text.is_empty() => {
                out.push_str(" --> ");
                push_visible(&mut out, &source.name);
                out.push('\n');
            }
            Some((source, lines)) => place(&mut out, source, lines, problem),
            None => {}
        }
        if let Some(help) = &problem.help {
            out.push_str("  help: ");
            push_visible(&mut out, help);
            out.push('\n');
        }
        out.push('\n');
    }
    let count = order.len();
    let files = {
        let mut files: Vec<u16> = order.iter().map(|problem| problem.origin.file).collect();
        files.dedup();
        files.len()
    };
    let errors = if count == 1 { "error" } else { "errors" };
    // Writing to a String cannot fail, here and below.
    let _ = match files {
        0 | 1 => writeln!(out, "{count} {errors}"),
        files => writeln!(out, "{count} {errors} in {files} files"),
    };
    out
}

/// Adds the place, the line and the carets.
fn place(out: &mut String, source: &Source, lines: &Lines<'_>, problem: &Problem) {
    let start = problem.origin.start as usize;
    let at = lines.position(start);
    let (line_start, line) = lines.line(at.line);
    let gutter = decimal_width(at.line);

    push_times(out, ' ', gutter);
    out.push_str("--> ");
    push_visible(out, &source.name);
    let _ = writeln!(out, ":{}:{}", at.line, at.column);

    // A span over several lines is underlined in its first.
    let from = floor(line, start.saturating_sub(line_start));
    let to = (problem.origin.end as usize).saturating_sub(line_start);
    let to = floor(line, to).max(from);
    let cut = Cut::new(line, from, to);

    push_times(out, ' ', gutter);
    let _ = write!(out, " |\n{} | ", at.line);
    if cut.start > 0 {
        out.push('…');
    }
    let mut before = usize::from(cut.start > 0);
    before += push_text(out, &line[cut.start..from]);
    let under = push_text(out, &line[from..cut.marked]);
    push_text(out, &line[cut.marked..cut.end]);
    if cut.end < line.len() {
        out.push('…');
    }
    while out.ends_with(' ') {
        out.pop();
    }
    out.push('\n');
    push_times(out, ' ', gutter);
    out.push_str(" | ");
    push_times(out, ' ', before);
    // At the end of a line there is nothing to underline but the place.
    push_times(out, '^', under.max(1));
    out.push('\n');
}

/// The part of a line that is shown.
struct Cut {
    /// First byte.
    start: usize,
    /// Byte after the last that is underlined.
    marked: usize,
    /// Byte after the last.
    end: usize,
}

impl Cut {
    /// Keeps [`WIDEST`] characters, [`LEAD`] of them before the span; looks no further than that.
    fn new(line: &str, from: usize, to: usize) -> Self {
        let fits = line.len() <= WIDEST;
        let start = if fits {
            0
        } else {
            let whole = line[..from].char_indices().rev().nth(LEAD - 1);
            whole.map_or(0, |(at, _)| at)
        };
        let end = line[start..]
            .char_indices()
            .nth(WIDEST)
            .map_or(line.len(), |(at, _)| start + at);
        Self {
            start,
            marked: to.min(end),
            end,
        }
    }
}

/// Adds text as it is shown and says how many columns it takes: a tab is a blank, as is its place
/// under it.
fn push_text(out: &mut String, text: &str) -> usize {
    if is_plain(text) {
        out.push_str(text);
        return text.len();
    }
    let mut columns = 0;
    let mut bytes = [0; 4];
    for c in text.chars() {
        let before = out.len();
        match c {
            '\t' => out.push(' '),
            c => push_visible(out, c.encode_utf8(&mut bytes)),
        }
        columns += out[before..].chars().map(width).sum::<usize>();
    }
    columns
}

/// Columns of a character on a terminal: two for the wide ones of East Asia and for emoji, none
/// for marks on the character before.
fn width(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

fn push_times(out: &mut String, c: char, times: usize) {
    out.extend(std::iter::repeat_n(c, times));
}

fn decimal_width(number: usize) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The last character boundary at or before an offset.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Origin;

    fn shown(text: &str, start: usize, end: usize) -> String {
        let source = Source {
            name: "state.toml".into(),
            text: text.into(),
        };
        let problem = Problem {
            origin: Origin {
                file: 0,
                start: start as u32,
                end: end as u32,
            },
            message: "no".into(),
            help: None,
        };
        problems(&[source], &[problem])
    }

    #[test]
    fn the_caret_stands_under_the_span() {
        assert_eq!(
            shown("version = 1\n\tnmae = 2\n", 13, 17),
            "error: no\n --> state.toml:2:2\n  |\n2 |  nmae = 2\n  |  ^^^^\n\n1 error\n"
        );
        // Wide characters take two columns, control characters their escape.
        assert_eq!(
            shown("名\u{1b} = x", 7, 8),
            "error: no\n --> state.toml:1:6\n  |\n1 | 名\\u{1b} = x\n  |            ^\n\n1 error\n"
        );
    }

    #[test]
    fn an_end_of_file_and_a_long_span_are_shown_in_one_line() {
        assert_eq!(
            shown("a = [", 5, 5),
            "error: no\n --> state.toml:1:6\n  |\n1 | a = [\n  |      ^\n\n1 error\n"
        );
        assert_eq!(
            shown("a = [\r\n1]\r\n", 4, 9),
            "error: no\n --> state.toml:1:5\n  |\n1 | a = [\n  |     ^\n\n1 error\n"
        );
        assert_eq!(shown("", 0, 0), "error: no\n --> state.toml\n\n1 error\n");
        assert!(shown("a", 900, 1000).contains(":1:2\n"));
    }

    #[test]
    fn a_megabyte_line_is_cut_around_the_caret() {
        let text = "é".repeat(1 << 19) + "x" + &"y".repeat(1 << 20);
        let out = shown(&text, 1 << 20, (1 << 20) + 1);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[1], " --> state.toml:1:524289");
        assert_eq!(
            lines[3],
            format!("1 | …{}x{}…", "é".repeat(40), "y".repeat(59))
        );
        assert_eq!(lines[4], format!("  | {:41}^", ""));
        // A span longer than what is shown ends where the line does.
        let out = shown(&text, 1 << 20, text.len());
        assert_eq!(out.matches('^').count(), 60);
    }
}
