//! Places in the text of state files.

use super::{Origin, Source};

/// A place in a text, both counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column in characters; a tab is one.
    pub column: usize,
}

impl Source {
    /// The place of a byte; for many places of one text, [`Source::lines`] is made once.
    pub fn position(&self, offset: usize) -> Position {
        self.lines().position(offset)
    }

    /// An index of the lines.
    pub fn lines(&self) -> Lines<'_> {
        Lines::new(&self.text)
    }
}

/// Bytes between two marks of the character count: a column is found by looking at two such
/// pieces, however long the line is.
const PIECE: usize = 256;

/// Where the lines of a text begin.
#[derive(Debug)]
pub struct Lines<'a> {
    text: &'a str,
    /// First byte of each line.
    starts: Vec<usize>,
    /// Characters that begin before each multiple of [`PIECE`].
    marks: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Indexes a text: one pass.
    pub fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let marks = text
            .as_bytes()
            .chunks(PIECE)
            .scan(0, |before, piece| {
                let mark = *before;
                *before += characters(piece);
                Some(mark)
            })
            .collect();
        Self {
            text,
            starts,
            marks,
        }
    }

    /// The place of a byte; beyond the end, the end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1]; // the first line starts at 0, so line is at least 1
        Position {
            line,
            column: self.characters_before(offset) - self.characters_before(start) + 1,
        }
    }

    /// The first byte of a line, counted from one, and its text without the line end.
    pub fn line(&self, number: usize) -> (usize, &'a str) {
        let index = number.clamp(1, self.starts.len()) - 1;
        let start = self.starts[index];
        let next = self.starts.get(index + 1).copied();
        let end = next.map_or(self.text.len(), |next| next - 1);
        let line = &self.text[start..end];
        (start, line.strip_suffix('\r').unwrap_or(line))
    }

    fn characters_before(&self, offset: usize) -> usize {
        let piece = offset / PIECE;
        match self.marks.get(piece) {
            Some(mark) => mark + characters(&self.text.as_bytes()[piece * PIECE..offset]),
            // The text ends exactly where a piece would begin.
            None => match piece.checked_sub(1) {
                Some(last) => {
                    self.marks[last] + characters(&self.text.as_bytes()[last * PIECE..offset])
                }
                None => 0,
            },
        }
    }
}

/// Characters of UTF-8 that begin in these bytes.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// The places of origins in several files.
#[derive(Debug)]
pub struct Places<'a> {
    files: Vec<(&'a Source, Lines<'a>)>,
}

impl<'a> Places<'a> {
    /// Indexes the files.
    pub fn new(sources: &'a [Source]) -> Self {
        Self {
            files: sources
                .iter()
                .map(|source| (source, source.lines()))
                .collect(),
        }
    }

    /// The file of an origin and its lines; none where there is no such file.
    pub fn file(&self, origin: Origin) -> Option<(&'a Source, &Lines<'a>)> {
        self.files
            .get(usize::from(origin.file))
            .map(|(source, lines)| (*source, lines))
    }

    /// `FILE:LINE`, as messages name a place.
    pub fn name(&self, origin: Origin) -> String {
        match self.file(origin) {
            Some((source, lines)) => {
                let line = lines.position(origin.start as usize).line;
                format!("{}:{line}", source.name)
            }
            None => String::from("?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, offset: usize) -> (usize, usize) {
        let Position { line, column } = Lines::new(text).position(offset);
        (line, column)
    }

    #[test]
    fn columns_count_characters() {
        let text = "a\té = 1\r\n\nx";
        assert_eq!(at(text, 0), (1, 1));
        assert_eq!(at(text, 4), (1, 4)); // after the two bytes of é
        assert_eq!(at(text, 10), (2, 1));
        assert_eq!(at(text, 11), (3, 1));
        assert_eq!(at(text, 12), (3, 2));
        assert_eq!(at(text, 9999), (3, 2));
        assert_eq!(at("", 0), (1, 1));
    }

    #[test]
    fn lines_come_without_their_end() {
        let text = "one\r\ntwo\n";
        let lines = Lines::new(text);
        assert_eq!(lines.line(1), (0, "one"));
        assert_eq!(lines.line(2), (5, "two"));
        assert_eq!(lines.line(3), (9, ""));
        assert_eq!(lines.line(99), (9, ""));
    }

    proptest::proptest! {
        #[test]
        fn the_index_agrees_with_counting(text in "([a-z]|é|€|\n|\t){0,900}") {
            let lines = Lines::new(&text);
            let (mut line, mut column) = (1, 1);
            for (offset, c) in text.char_indices() {
                proptest::prop_assert_eq!(lines.position(offset), Position { line, column });
                if c == '\n' {
                    (line, column) = (line + 1, 1);
                } else {
                    column += 1;
                }
            }
            proptest::prop_assert_eq!(lines.position(text.len()), Position { line, column });
        }
    }
}
