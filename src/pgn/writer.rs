//! Words into lines of at most 79 characters.

/// No line is longer, unless a single word is.
const LINE_CHARS: usize = 79;

/// Writes words with a blank between them. A word that passes the margin
/// moves to the next line whole: the blank before it becomes a line break, so
/// the length of the text does not depend on where lines end.
pub(super) struct LineWriter<'o> {
    out: &'o mut Vec<u8>,
    /// Where the last word begins.
    word: usize,
    /// Where the line would begin if its characters had a byte each.
    line: usize,
    /// The next word belongs to the last one, or is the first of its line.
    is_glued: bool,
}

impl<'o> LineWriter<'o> {
    /// Begins at the start of a line.
    pub(super) fn new(out: &'o mut Vec<u8>) -> LineWriter<'o> {
        let end = out.len();
        LineWriter {
            out,
            word: end,
            line: end,
            is_glued: true,
        }
    }

    /// Begins a new word with `text`, which holds no blank.
    #[inline]
    pub(super) fn word(&mut self, text: &[u8]) {
        self.begin_word();
        self.glue(text);
    }

    /// Writes the blank before a word, where one belongs.
    #[inline]
    fn begin_word(&mut self) {
        if !std::mem::take(&mut self.is_glued) {
            self.out.push(b' ');
            self.word = self.out.len();
        }
    }

    /// Writes ASCII words with one blank between them, the first one behind `opening`: as
    /// [`word`](LineWriter::word) for each, but a line at a time. All are copied at once;
    /// then the last blank that fits on each line becomes a line break, or the next one
    /// behind a word longer than a line.
    pub(super) fn ascii_words(&mut self, opening: &[u8], words: &[u8]) {
        self.begin_word();
        self.out.extend_from_slice(opening);
        self.out.extend_from_slice(words);
        // The blank before the first word counts, a line break does not.
        let mut before = self.word.saturating_sub(1);
        while self.column() > LINE_CHARS {
            let margin = (self.line + LINE_CHARS).max(before);
            let fitting = self.out.get(before..=margin);
            let is_blank = |&byte: &u8| byte == b' ';
            let last_fitting = fitting.unwrap_or_default().iter().rposition(is_blank);
            let end = last_fitting.map(|at| before + at).or_else(|| {
                let rest = self.out.get(before + 1..).unwrap_or_default();
                let next = rest.iter().position(is_blank);
                next.map(|at| before + 1 + at)
            });
            let Some(end) = end else {
                break;
            };
            self.end_line(end);
            before = end;
        }
        let added = self.out.get(self.word..).unwrap_or_default();
        let is_between = |byte: &u8| matches!(byte, b' ' | b'\n');
        let last = added.iter().rposition(is_between);
        self.word += last.map_or(0, |blank| blank + 1);
    }

    /// Begins a new word of `len` ASCII bytes, given after a blank in eight
    /// bytes: a copy of fixed size is several times as fast as one of a few
    /// bytes.
    #[expect(clippy::inline_always, reason = "for every move and number")]
    #[inline(always)]
    pub(super) fn short_word(&mut self, after_blank: [u8; 8], len: usize) {
        let end = self.out.len();
        if std::mem::take(&mut self.is_glued) {
            let text = u64::from_le_bytes(after_blank) >> 8;
            self.out.extend_from_slice(&text.to_le_bytes());
            self.out.truncate(end + len);
        } else {
            self.out.extend_from_slice(&after_blank);
            self.out.truncate(end + 1 + len);
            self.word = end + 1;
        }
        if self.column() > LINE_CHARS {
            self.wrap();
        }
    }

    /// As [`short_word`](LineWriter::short_word) for each; faster if no line ends between
    /// them.
    #[expect(clippy::inline_always, reason = "for every second move")]
    #[inline(always)]
    pub(super) fn two_short_words(&mut self, words: [([u8; 8], usize); 2]) {
        let [(first, first_len), (second, second_len)] = words;
        let end = self.out.len();
        let second_at = first_len.min(7) + 1;
        let all = second_at + 1 + second_len;
        if self.is_glued || self.column() + all > LINE_CHARS {
            self.short_word(first, first_len);
            return self.short_word(second, second_len);
        }
        // What stands behind the first word goes.
        let first = u64::from_le_bytes(first) & u64::MAX >> (64 - 8 * second_at);
        let second = u128::from(u64::from_le_bytes(second)) << (8 * second_at);
        self.out
            .extend_from_slice(&(u128::from(first) | second).to_le_bytes());
        self.out.truncate(end + all);
        self.word = end + second_at + 1;
    }

    /// Writes up to `count` words at once, those that `write` gives: as
    /// [`short_word`](LineWriter::short_word) for each, but room is made once.
    #[inline]
    pub(super) fn short_words(&mut self, count: usize, write: impl FnOnce(&mut ShortWords<'_>)) {
        let end = self.out.len();
        // Each word is written as eight bytes, and takes no more.
        self.out.resize(end + 8 * count, 0);
        let mut words = ShortWords {
            text: self.out,
            end,
            word: self.word,
            line: self.line,
        };
        write(&mut words);
        let ShortWords {
            end, word, line, ..
        } = words;
        self.out.truncate(end);
        (self.word, self.line) = (word, line);
    }

    /// Writes `text` so that the next word follows it without a blank.
    pub(super) fn open(&mut self, text: &[u8]) {
        self.word(text);
        self.is_glued = true;
    }

    /// How much has been written.
    pub(super) fn position(&self) -> usize {
        self.out.len()
    }

    /// Appends `text` to the last word.
    #[inline]
    pub(super) fn glue(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
        self.line += text.len() - characters(text);
        if self.column() > LINE_CHARS {
            self.wrap();
        }
    }

    /// Characters in the current line.
    #[inline]
    fn column(&self) -> usize {
        self.out.len().wrapping_sub(self.line)
    }

    /// Moves the last word to a line of its own.
    #[cold]
    fn wrap(&mut self) {
        let blank = self.word.checked_sub(1);
        if let Some(blank) = blank.filter(|blank| self.out.get(*blank) == Some(&b' ')) {
            self.end_line(blank);
            let word = self.out.get(self.word..).unwrap_or_default();
            self.line += word.len() - characters(word);
        }
    }

    /// Makes the blank there a line break.
    fn end_line(&mut self, blank: usize) {
        if let Some(blank) = self.out.get_mut(blank) {
            *blank = b'\n';
        }
        self.line = blank + 1;
    }
}

/// Room for words of at most seven ASCII bytes behind another word.
pub(super) struct ShortWords<'o> {
    text: &'o mut [u8],
    /// Where the next word and its blank go.
    end: usize,
    /// As in [`LineWriter`].
    word: usize,
    line: usize,
}

impl ShortWords<'_> {
    /// Writes a word, given after a blank in eight bytes, and its length.
    #[inline]
    pub(super) fn write(&mut self, (after_blank, len): ([u8; 8], usize)) {
        let room = self.text.get_mut(self.end..);
        let Some(place) = room.and_then(<[u8]>::first_chunk_mut) else {
            return;
        };
        *place = after_blank;
        self.word = self.end.wrapping_add(1);
        self.end = self.word.wrapping_add(len);
        if self.end.wrapping_sub(self.line) > LINE_CHARS {
            place[0] = b'\n';
            self.line = self.word;
        }
    }

    /// As [`write`](ShortWords::write) for each; faster if no line ends between them.
    #[expect(clippy::inline_always, reason = "for every second move")]
    #[inline(always)]
    pub(super) fn write_three(&mut self, words: [([u8; 8], usize); 3]) {
        let room = self.text.get_mut(self.end..);
        let Some(room) = room.and_then(<[u8]>::first_chunk_mut::<24>) else {
            return;
        };
        let [first, second, third] = words;
        let second_at = first.1.wrapping_add(1);
        let third_at = second_at.wrapping_add(1).wrapping_add(second.1);
        let end = third_at.wrapping_add(1).wrapping_add(third.1);
        if self.end.wrapping_add(end).wrapping_sub(self.line) > LINE_CHARS {
            return words.into_iter().for_each(|word| self.write(word));
        }
        for (at, (after_blank, _)) in [(0, first), (second_at, second), (third_at, third)] {
            // A word and its blank take eight bytes at most.
            let place = room.get_mut(at.min(16)..);
            if let Some(place) = place.and_then(<[u8]>::first_chunk_mut) {
                *place = after_blank;
            }
        }
        self.end = self.end.wrapping_add(end);
        self.word = self.end.wrapping_sub(third.1);
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
        let begins: [fn(&mut LineWriter<'_>); 4] = [
            |_| {},
            |writer| writer.word(b"word"),
            |writer| {
                writer.word("é".repeat(100).as_bytes());
                writer.open(b"(");
            },
            |writer| {
                writer.word("é".repeat(70).as_bytes());
                writer.open(b"(");
            },
        ];
        for length in 1..100 {
            for (count, begin) in [1, 2, 7, 40]
                .into_iter()
                .zip(begins.iter().cycle().skip(length))
            {
                let words: Vec<String> = (0..count)
                    .map(|at| "w".repeat(1 + (at * 37 + length) % length))
                    .collect();
                let (mut each, mut at_once) = (Vec::new(), Vec::new());
                let mut writer = LineWriter::new(&mut each);
                begin(&mut writer);
                for (opening, word) in std::iter::once("{")
                    .chain(std::iter::repeat(""))
                    .zip(&words)
                {
                    writer.word(opening.as_bytes());
                    writer.glue(word.as_bytes());
                }
                writer.glue(b"}");
                writer.word(b"last");
                let mut writer = LineWriter::new(&mut at_once);
                begin(&mut writer);
                writer.ascii_words(b"{", words.join(" ").as_bytes());
                writer.glue(b"}");
                writer.word(b"last");
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
