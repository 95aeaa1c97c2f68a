//! Words into lines of at most 79 characters.

/// No line is longer, unless a single word is.
const LINE_CHARS: usize = 79;

/// Writes words with a blank between them. A word that passes the margin
/// moves to the next line whole: the blank before it becomes a line break, so
/// the length of the text does not depend on where lines end.
///
/// Words are written into room made ahead: so one of a few bytes costs a copy
/// of eight. What is left of the room goes when the writer does.
pub(super) struct LineWriter<'o> {
    out: &'o mut Vec<u8>,
    /// Where the text ends; room lies behind.
    end: usize,
    /// Where the last word begins.
    word: usize,
    /// Characters in the current line.
    column: usize,
    /// The next word belongs to the last one.
    is_opening: bool,
}

/// Room made at a time.
const ROOM: usize = 1024;

impl<'o> LineWriter<'o> {
    /// Begins at the start of a line.
    pub(super) fn new(out: &'o mut Vec<u8>) -> LineWriter<'o> {
        let end = out.len();
        LineWriter {
            out,
            end,
            word: end,
            column: 0,
            is_opening: false,
        }
    }

    /// Begins a new word with `text`, which holds no blank.
    #[inline]
    pub(super) fn word(&mut self, text: &[u8]) {
        if std::mem::take(&mut self.is_opening) {
            return self.glue(text);
        }
        if self.column > 0 {
            self.append(b" ");
            self.column += 1;
        }
        self.word = self.end;
        self.glue(text);
    }

    /// Writes bytes as they are.
    #[inline]
    fn append(&mut self, text: &[u8]) {
        let end = self.end + text.len();
        if self.out.len() < end {
            self.make_room(end);
        }
        if let Some(place) = self.out.get_mut(self.end..end) {
            place.copy_from_slice(text);
        }
        self.end = end;
    }

    #[cold]
    fn make_room(&mut self, end: usize) {
        self.out.resize(end + ROOM, 0);
    }

    /// Writes ASCII words with one blank between them, after another word: as
    /// [`word`](LineWriter::word) for each, but a line at a time. All are
    /// copied at once; then the last blank that fits on each line becomes a
    /// line break, or the next one behind a word longer than a line.
    pub(super) fn ascii_words(&mut self, words: &[u8]) {
        self.append(b" ");
        let mut line = self.end;
        let mut room = LINE_CHARS.saturating_sub(self.column + 1);
        self.append(words);
        self.column += 1 + words.len();
        while self.end - line > room {
            // The blank before the first word counts, a line break does not.
            let before = line - 1;
            let fitting = self.out.get(before..=line + room).unwrap_or_default();
            let is_blank = |&byte: &u8| byte == b' ';
            let rest = self.out.get(line..self.end).unwrap_or_default();
            let end = fitting
                .iter()
                .rposition(is_blank)
                .map(|at| before + at)
                .or_else(|| rest.iter().position(is_blank).map(|at| line + at));
            self.column = self.end - line;
            let Some(blank) = end.and_then(|end| self.out.get_mut(end)) else {
                break;
            };
            *blank = b'\n';
            line = end.map_or(line, |end| end + 1);
            room = LINE_CHARS;
            self.column = self.end - line;
        }
        let written = self.out.get(..self.end).unwrap_or_default();
        let last = written
            .iter()
            .rposition(|byte| matches!(byte, b' ' | b'\n'));
        self.word = last.map_or(0, |blank| blank + 1);
    }

    /// Begins a new word of `len` ASCII bytes, given after a blank in eight
    /// bytes: a copy of fixed size is several times as fast as one of a few
    /// bytes.
    #[expect(clippy::inline_always, reason = "for every move and number")]
    #[inline(always)]
    pub(super) fn short_word(&mut self, after_blank: [u8; 8], len: usize) {
        let place = self.out.get_mut(self.end..);
        let place = place.and_then(|room| room.first_chunk_mut());
        match place {
            Some(place) if self.column > 0 && !self.is_opening => *place = after_blank,
            _ => return self.word(after_blank.get(1..=len).unwrap_or_default()),
        }
        self.word = self.end + 1;
        self.end = self.word + len;
        self.column += len + 1;
        if self.column > LINE_CHARS {
            self.wrap();
        }
    }

    /// Writes `text` so that the next word follows it without a blank.
    pub(super) fn open(&mut self, text: &[u8]) {
        self.word(text);
        self.is_opening = true;
    }

    /// How much has been written.
    pub(super) fn position(&self) -> usize {
        self.end
    }

    /// Appends `text` to the last word.
    #[inline]
    pub(super) fn glue(&mut self, text: &[u8]) {
        self.append(text);
        self.column += characters(text);
        if self.column > LINE_CHARS {
            self.wrap();
        }
    }

    /// Moves the last word to a line of its own.
    #[cold]
    fn wrap(&mut self) {
        let blank = self.word.checked_sub(1).and_then(|at| self.out.get_mut(at));
        if let Some(blank) = blank.filter(|blank| **blank == b' ') {
            *blank = b'\n';
            self.column = characters(self.out.get(self.word..self.end).unwrap_or_default());
        }
    }
}

impl Drop for LineWriter<'_> {
    fn drop(&mut self) {
        self.out.truncate(self.end);
    }
}

/// Number of characters of UTF-8 text.
#[inline]
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(words: &[(&str, &str)]) -> String {
        let mut out = Vec::new();
        let mut writer = LineWriter::new(&mut out);
        for (word, glued) in words {
            writer.word(word.as_bytes());
            writer.glue(glued.as_bytes());
        }
        drop(writer);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_has_at_most_79_characters() {
        let (first, second) = ("x".repeat(70), "y".repeat(8));
        assert_eq!(
            written(&[(&first, ""), (&second, "")]),
            format!("{first} {second}"),
            "79 fit"
        );
        assert_eq!(
            written(&[(&first, ""), (&second, ")")]),
            format!("{first}\n{second})"),
            "what is glued to a word moves with it"
        );
        let accented = "é".repeat(8);
        assert_eq!(
            written(&[(&first, ""), (&accented, "")]),
            format!("{first} {accented}"),
            "characters count, not bytes"
        );
    }

    #[test]
    fn many_words_at_once_are_written_as_each_alone() {
        for length in 1..100 {
            for count in [1, 2, 7, 40] {
                let words: Vec<String> = (0..count)
                    .map(|at| "w".repeat(1 + (at * 37 + length) % length))
                    .collect();
                let (mut each, mut at_once) = (Vec::new(), Vec::new());
                let mut writer = LineWriter::new(&mut each);
                writer.word(b"{first");
                for word in &words {
                    writer.word(word.as_bytes());
                }
                writer.glue(b"}");
                writer.word(b"last");
                drop(writer);
                let mut writer = LineWriter::new(&mut at_once);
                writer.word(b"{first");
                writer.ascii_words(words.join(" ").as_bytes());
                writer.glue(b"}");
                writer.word(b"last");
                drop(writer);
                let texts = [each, at_once].map(|text| String::from_utf8(text).unwrap());
                assert_eq!(texts[0], texts[1]);
            }
        }
    }

    #[test]
    fn a_longer_word_stands_alone() {
        let long = "z".repeat(100);
        assert_eq!(
            written(&[("a", ""), (&long, ""), ("b", "")]),
            format!("a\n{long}\nb")
        );
    }
}
