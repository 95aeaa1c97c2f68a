//! The payload of a text that was edited: what the edit did not touch keeps
//! its bytes.
//!
//! The edit was made in a comment, which shows words only. So the words of the
//! stored text are aligned with those of the edited one, and in a stretch of
//! words that differ, their characters. What is aligned is copied as it is
//! stored, with the blanks, line breaks and control codes between.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::text::{encode_in_utf8, page_to_utf8, shown_and_rest};
use super::{CommentText, text};
use crate::cbh::CodePage;
use crate::cbh::edit::diff::{Stretch, compare};
use crate::game::{AnnotationText, ShownWord, shown_characters, shown_words};

/// Longer texts are no remarks: a payload has 64 KB at most.
const MOST_BYTES: usize = 1 << 20;

/// The payload of `edited`, which was made from the text that is stored in
/// `payload`. What stands behind a zero byte there is shown nowhere and stays.
pub(in crate::cbh) fn encode_edited(
    payload: &[u8],
    edited: &AnnotationText,
    page: CodePage,
) -> Vec<u8> {
    let (stored, rest) = shown_and_rest(payload);
    let is_short = stored.len().max(edited.text.len()) <= MOST_BYTES;
    let stored = is_short.then(|| StoredText::new(stored, page));
    let kept = stored.and_then(|stored| {
        // The parts of one long word stay joined if that shows the same.
        [true, false].into_iter().find_map(|joins| {
            let pieces = Alignment::new(&stored.text, &edited.text, joins).pieces();
            stored.assemble(&pieces, &edited.text)
        })
    });
    let mut payload = match kept {
        Some(bytes) => [vec![edited.lead, edited.language.0], bytes].concat(),
        None => text::encode(edited, page),
    };
    payload.extend(rest);
    payload
}

/// The words of `edited`, the comment that shows all of `stored` together,
/// divided among them. A new word goes where the one is that it replaces or
/// follows.
pub(in crate::cbh) fn divide(stored: &[&str], edited: &str) -> Vec<String> {
    let mut shares = vec![String::new(); stored.len()];
    if edited.len() > MOST_BYTES {
        if let Some(share) = shares.first_mut() {
            edited.clone_into(share);
        }
        return shares;
    }
    let words = stored.iter().enumerate().flat_map(|(owner, text)| {
        let words = shown_words(text);
        words.map(move |word| (owner, word.word))
    });
    let (owners, old): (Vec<usize>, Vec<Cow<'_, str>>) = words.unzip();
    let parts: Vec<ShownWord<'_>> = shown_words(edited).collect();
    let new: Vec<Cow<'_, str>> = parts.iter().map(|part| part.word.clone()).collect();
    for Stretch { old, new: at, .. } in compare(&old, &new) {
        let last = old.end.saturating_sub(1);
        for (count, (at, word)) in new
            .iter()
            .enumerate()
            .take(at.end)
            .skip(at.start)
            .enumerate()
        {
            let owner = owners.get(last.min(old.start + count));
            if let Some(share) = shares.get_mut(owner.copied().unwrap_or(0)) {
                if !share.is_empty() && !goes_on(&parts, at) {
                    share.push(' ');
                }
                share.push_str(word);
            }
        }
    }
    shares
}

/// Whether a part of a text goes on with the long word of the part before, without
/// a blank.
fn goes_on(parts: &[ShownWord<'_>], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| parts.get(before));
    let pair = before.zip(parts.get(at));
    pair.is_some_and(|(before, part)| before.range.end == part.range.start)
}

/// A piece of the new text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EditedPiece<'t> {
    /// A part of the stored text, by its place in what is shown of it.
    Kept(Range<usize>),
    /// Written anew.
    New(&'t str),
}

/// The words of the stored text and of the edited one, held against each
/// other.
struct Alignment<'t> {
    stored: &'t str,
    edited: &'t str,
    old: Vec<ShownWord<'t>>,
    new: Vec<ShownWord<'t>>,
    /// Whether old words that nothing stands between are joined where one of
    /// them is edited.
    joins: bool,
    /// Places of old words that are gone from there: they may have moved.
    gone: HashMap<Cow<'t, str>, VecDeque<Range<usize>>>,
    pieces: Vec<EditedPiece<'t>>,
}

impl<'t> Alignment<'t> {
    fn new(stored: &'t str, edited: &'t str, joins: bool) -> Alignment<'t> {
        Alignment {
            stored,
            edited,
            old: shown_words(stored).collect(),
            new: shown_words(edited).collect(),
            joins,
            gone: HashMap::new(),
            pieces: Vec::new(),
        }
    }

    /// The new text, piece by piece.
    fn pieces(mut self) -> Vec<EditedPiece<'t>> {
        let words = |words: &[ShownWord<'t>]| -> Vec<Cow<'t, str>> {
            words.iter().map(|word| word.word.clone()).collect()
        };
        let stretches = compare(&words(&self.old), &words(&self.new));
        let is_kept = |stretch: Option<&Stretch>| stretch.is_none_or(|found| found.is_same);
        for removed in stretches.iter().filter(|stretch| stretch.new.is_empty()) {
            self.note_gone(removed.old.clone());
        }
        if is_kept(stretches.first()) {
            self.keep(self.gap(0));
        }
        for Stretch { old, new, is_same } in &stretches {
            if *is_same {
                self.keep(span(&self.old, old));
            } else if old.is_empty() {
                self.insert(old.start, new.clone());
            } else if new.is_empty() {
                self.remove(old);
            } else {
                self.keep_gap(old.start);
                self.replace(old, new);
                self.keep_gap(old.end);
            }
        }
        if is_kept(stretches.last()) && !self.old.is_empty() {
            self.keep(self.gap(self.old.len()));
        }
        self.pieces
    }

    fn note_gone(&mut self, words: Range<usize>) {
        for word in self.old.get(words).unwrap_or_default() {
            let places = self.gone.entry(word.word.clone()).or_default();
            places.push_back(word.range.clone());
        }
    }

    /// What stands before this word of the stored text; after the last, what
    /// stands behind it.
    fn gap(&self, word: usize) -> Range<usize> {
        let before = word.checked_sub(1).and_then(|at| self.old.get(at));
        let start = before.map_or(0, |word| word.range.end);
        let end = self.old.get(word);
        start..end.map_or(self.stored.len(), |word| word.range.start)
    }

    /// Whether a gap lies between two words.
    fn is_inner(&self, gap: usize) -> bool {
        gap > 0 && gap < self.old.len()
    }

    fn keep(&mut self, part: Range<usize>) {
        match self.pieces.last_mut() {
            _ if part.is_empty() => {}
            Some(EditedPiece::Kept(last)) if last.end == part.start => last.end = part.end,
            _ => self.pieces.push(EditedPiece::Kept(part)),
        }
    }

    fn write(&mut self, part: &'t str) {
        if !part.is_empty() {
            self.pieces.push(EditedPiece::New(part));
        }
    }

    /// Keeps a gap beside an edited word; between parts of one long word there
    /// is none.
    fn keep_gap(&mut self, word: usize) {
        let gap = self.gap(word);
        if gap.is_empty() && self.is_inner(word) && !self.joins {
            self.write(" ");
        } else {
            self.keep(gap);
        }
    }

    /// Inserts words before this one of the stored text: before the line break
    /// that stands there.
    fn insert(&mut self, word: usize, words: Range<usize>) {
        let gap = self.gap(word);
        let Range { start: first, end } = words;
        if word == 0 {
            self.keep(gap.clone());
        } else {
            self.part_from(first);
        }
        for at in words {
            if at > first {
                self.part_from(at);
            }
            self.insert_word(at);
        }
        if word > 0 && !(gap.is_empty() && self.is_inner(word)) {
            self.keep(gap);
        } else if !self.old.is_empty() {
            self.part_from(end);
        }
    }

    /// Writes a blank before this word of the edited text, unless it goes on with
    /// a long one.
    fn part_from(&mut self, word: usize) {
        if !goes_on(&self.new, word) {
            self.write(" ");
        }
    }

    /// A word that moved here keeps its bytes.
    fn insert_word(&mut self, at: usize) {
        let Some(word) = self.new.get(at) else {
            return;
        };
        let moved = self.gone.get_mut(&word.word);
        match moved.and_then(VecDeque::pop_front) {
            Some(place) => self.keep(place),
            None => self.write(self.edited.get(word.range.clone()).unwrap_or_default()),
        }
    }

    /// Removes words. Of the gaps between which they stood the one at an end of
    /// the text stays, else the one with most in it; and control codes.
    fn remove(&mut self, words: &Range<usize>) {
        let gaps = words.start..=words.end;
        let edge = gaps.clone().find(|&gap| !self.is_inner(gap));
        let text = |gap: usize| self.stored.get(self.gap(gap)).unwrap_or_default();
        let weight = |gap: &usize| (text(*gap).matches('\n').count(), text(*gap).len());
        let kept = edge.or_else(|| gaps.clone().rev().max_by_key(weight));
        let has_code = |gap: usize| text(gap).contains(|c: char| !c.is_whitespace());
        let kept: Vec<usize> = gaps
            .filter(|&gap| kept == Some(gap) || has_code(gap))
            .collect();
        for gap in kept {
            self.keep_gap(gap);
        }
    }

    /// Replaces words by others, which keep the characters that they share.
    fn replace(&mut self, old: &Range<usize>, new: &Range<usize>) {
        let joins = self.joins;
        let old = letters(self.stored, self.old.get(old.clone()), joins);
        let new = letters(self.edited, self.new.get(new.clone()), false);
        let shown = |letters: &[Letter]| -> Vec<char> {
            letters.iter().map(|letter| letter.shown).collect()
        };
        for stretch in compare(&shown(&old), &shown(&new)) {
            if stretch.is_same {
                self.keep(span(&old, &stretch.old));
            } else {
                let written = span(&new, &stretch.new);
                self.write(self.edited.get(written).unwrap_or_default());
            }
        }
    }
}

/// A character of a stretch of words, or the gap between two.
struct Letter {
    shown: char,
    range: Range<usize>,
}

/// The characters of words, with a blank for each gap, also for one without
/// any bytes if `joins`.
fn letters(text: &str, words: Option<&[ShownWord<'_>]>, joins: bool) -> Vec<Letter> {
    let mut letters: Vec<Letter> = Vec::new();
    for word in words.unwrap_or_default() {
        if let Some(last) = letters.last() {
            let range = last.range.end..word.range.start;
            if joins || !range.is_empty() {
                letters.push(Letter { shown: ' ', range });
            }
        }
        let part = text.get(word.range.clone()).unwrap_or_default();
        letters.extend(shown_characters(part).map(|(at, shown)| {
            let start = word.range.start + at;
            let len = part.get(at..).and_then(|rest| rest.chars().next());
            let range = start..start + len.map_or(0, char::len_utf8);
            Letter { shown, range }
        }));
    }
    letters
}

/// Something that has a place in a text.
trait Placed {
    fn range(&self) -> Range<usize>;
}

impl Placed for ShownWord<'_> {
    fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

impl Placed for Letter {
    fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

/// The part of the text from the first to the last of some items.
fn span<P: Placed>(items: &[P], part: &Range<usize>) -> Range<usize> {
    let part = items.get(part.clone()).unwrap_or_default();
    let first = part.first().map_or(0, |first| first.range().start);
    first..part.last().map_or(first, |last| last.range().end)
}

/// A stored text, with the way from what is shown back to the bytes.
struct StoredText<'b> {
    bytes: &'b [u8],
    /// As shown, with line breaks as stored.
    text: String,
    /// Where characters end: in the bytes, in the text.
    ends: Vec<(usize, usize)>,
    page: CodePage,
    is_utf8: bool,
}

impl<'b> StoredText<'b> {
    fn new(bytes: &'b [u8], page: CodePage) -> StoredText<'b> {
        let mut text = String::with_capacity(bytes.len());
        let mut ends = vec![(0, 0)];
        page.decode_characters(bytes, &mut text, |byte, shown| ends.push((byte, shown)));
        StoredText {
            bytes,
            text,
            ends,
            page,
            is_utf8: std::str::from_utf8(bytes).is_ok(),
        }
    }

    /// The bytes of a text of these pieces: in the page if the stored text is,
    /// all new words are in it, and it would be detected again; else in UTF-8.
    /// `None` if they would not be shown as `edited`.
    fn assemble(&self, pieces: &[EditedPiece<'_>], edited: &str) -> Option<Vec<u8>> {
        let in_page = (!self.is_utf8 || self.bytes.is_ascii())
            .then(|| self.join(pieces, |text| self.page.encode_in_page(text), false))
            .flatten();
        let in_utf8 = || self.join(pieces, |text| Some(encode_in_utf8(text)), !self.is_utf8);
        let edited: Vec<ShownWord<'_>> = shown_words(edited).collect();
        let is_edited = |bytes: &Vec<u8>| {
            let shown = self.page.decode_comment(bytes);
            let shown: Vec<ShownWord<'_>> = shown_words(&shown).collect();
            let mut pairs = shown.iter().zip(&edited);
            let is_same = shown.len() == edited.len() && pairs.all(|(a, b)| a.word == b.word);
            // A long word that is one stays one.
            let is_whole = |at: usize| goes_on(&shown, at) || !goes_on(&edited, at);
            let are_whole = (0..edited.len()).all(is_whole);
            !bytes.is_empty() && !bytes.contains(&0) && is_same && are_whole
        };
        in_page
            .filter(|bytes| self.page.is_kept_by_edit(self.bytes, bytes))
            .filter(is_edited)
            .or_else(|| in_utf8().filter(is_edited))
    }

    fn join(
        &self,
        pieces: &[EditedPiece<'_>],
        encode: impl Fn(&str) -> Option<Vec<u8>>,
        is_recoded: bool,
    ) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for piece in pieces {
            match piece {
                EditedPiece::New(text) => bytes.extend(encode(text)?),
                EditedPiece::Kept(part) => {
                    let (head, kept, tail) = self.whole_characters(part);
                    bytes.extend(encode(self.text.get(head)?)?);
                    if is_recoded {
                        bytes.extend(self.recoded(kept));
                    } else {
                        bytes.extend(self.bytes.get(self.stored(kept))?);
                    }
                    bytes.extend(encode(self.text.get(tail)?)?);
                }
            }
        }
        Some(bytes)
    }

    /// A part of the text as the stored characters that lie wholly in it, by
    /// their indices, and what of others is before and behind them: the mark of
    /// a diagram is shown as three characters.
    fn whole_characters(&self, part: &Range<usize>) -> (Range<usize>, Range<usize>, Range<usize>) {
        let first = self.ends.partition_point(|(_, end)| *end < part.start);
        let last = self.ends.partition_point(|(_, end)| *end <= part.end);
        let last = last.saturating_sub(1).max(first);
        let shown = |at: usize| self.ends.get(at).map_or(part.end, |(_, end)| *end);
        let start = shown(first).min(part.end);
        let end = shown(last).clamp(start, part.end);
        (part.start..start, first..last, end..part.end)
    }

    /// The bytes of some characters.
    fn stored(&self, characters: Range<usize>) -> Range<usize> {
        let byte = |at: usize| self.ends.get(at).map_or(self.bytes.len(), |(end, _)| *end);
        byte(characters.start)..byte(characters.end)
    }

    /// Characters that are stored in the page, in UTF-8.
    fn recoded(&self, characters: Range<usize>) -> Vec<u8> {
        let mut utf8 = Vec::new();
        for at in characters {
            let character = self.ends.get(at..).and_then(<[_]>::first_chunk);
            if let Some(&[(at, start), (_, end)]) = character
                && let Some(&byte) = self.bytes.get(at)
            {
                let shown = self.text.get(start..end).unwrap_or_default();
                utf8.extend(page_to_utf8(byte, shown));
            }
        }
        utf8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bytes after an edit of a text in the page.
    fn edited(page: &str, stored: &[u8], text: &str) -> Vec<u8> {
        let text = AnnotationText {
            text: text.to_owned(),
            ..AnnotationText::default()
        };
        let payload = [&[0, 0], stored].concat();
        let page = CodePage::from_label(page).unwrap();
        encode_edited(&payload, &text, page)[2..].to_vec()
    }

    #[test]
    fn a_long_word_that_is_added_stays_one() {
        let long = "y".repeat(250);
        for (stored, text) in [
            ("ab", format!("ab {long}")),
            ("ab c", format!("ab {long} c")),
            ("ab c", format!("{long}{long} ab c")),
            ("", long.clone()),
            (&long, format!("{long}zz")),
            (&long, format!("{long}{long}")),
            (&long, format!("zz{long}")),
            ("x y", "漢".repeat(91)),
            ("x y z", format!("{} z", "漢".repeat(191))),
            ("a b c d", "é".repeat(450)),
        ] {
            let after = edited("1252", stored.as_bytes(), &text);
            assert_eq!(String::from_utf8(after).unwrap(), text);
        }
        let shares = divide(&["ab", "c"], &format!("ab {long} c"));
        assert_eq!(shares.concat(), format!("ab {long}c"));
    }

    #[test]
    fn a_word_that_speaks_for_another_page_is_written_in_utf8() {
        // Bytes that would be Cyrillic letters in Windows-1251.
        let (word, bytes) = ("éééé", b"\xe9\xe9\xe9\xe9");
        let expected = format!("ab {word}").into_bytes();
        assert_eq!(edited("1252", b"ab", &format!("ab {word}")), expected);
        assert_eq!(edited("1252", b"ab c", "ab café"), b"ab caf\xe9");
        // What spoke for it before stays as it is.
        let stored = [bytes, &b" ab"[..]].concat();
        let expected = [bytes, &b" b"[..]].concat();
        assert_eq!(edited("1252", &stored, &format!("{word} b")), expected);
    }

    #[test]
    fn only_the_edited_words_change() {
        for (stored, text, expected) in [
            (&b" a\r\nb  c\t"[..], "a x c", &b" a\r\nx  c\t"[..]),
            (b"a\r\nb  c ", "x b c", b"x\r\nb  c "),
            (b"a\r\nb  c ", "a b x", b"a\r\nb  x "),
            (b"a\x01 b\r\nc", "a x y c", b"a\x01 x y\r\nc"),
            (b"{a} {b}\r\nc", "(a) (x) c", b"{a} {x}\r\nc"),
            (b"one\x04more  now", "one[#]less now", b"one\x04less  now"),
            (b"\x04\r\nnow", "[#] then", b"\x04\r\nthen"),
            (
                b"M\xfcller\x9e  \xa4f3",
                "Müller[#] ♘c3",
                b"M\xfcller\x9e  \xa4c3",
            ),
        ] {
            assert_eq!(edited("1252", stored, text), expected, "{text}");
        }
    }

    #[test]
    fn words_are_added_and_removed() {
        for (stored, text, expected) in [
            (&b"a\r\nb"[..], "a x b", &b"a x\r\nb"[..]),
            (b" a\r\nb ", "x a b", b" x a\r\nb "),
            (b" a\r\nb ", "a b x", b" a\r\nb x "),
            (b"a  b\r\nc", "a c", b"a\r\nc"),
            (b"a \x02 b c", "a c", b"a \x02 c"),
            (b" a  b\r\n", "b", b" b\r\n"),
            (b" a  b\r\n", "a", b" a\r\n"),
            (b"  ", "a", b"  a"),
            (b"a  b", "", b""),
        ] {
            assert_eq!(edited("1252", stored, text), expected, "{text}");
        }
    }

    #[test]
    fn a_word_that_moves_keeps_its_bytes() {
        let moved = edited("1252", b"\x04  {a} b\r\nc d", "(a) b c [#] d");
        assert_eq!(moved, b"{a} b\r\nc \x04 d");
    }

    #[test]
    fn long_words_stay_whole() {
        let long = "x".repeat(450);
        let shown: Vec<String> = shown_words(&long)
            .map(|word| word.word.into_owned())
            .collect();
        let text = format!("  {long}\r\nhere ");
        let new = edited(
            "1252",
            text.as_bytes(),
            &format!("{} there", shown.join(" ")),
        );
        assert_eq!(new, format!("  {long}\r\nthere ").into_bytes());
        let other = [&shown[0], &shown[1], "y here"].join(" ");
        let expected = format!("  {}y\r\nhere ", "x".repeat(400));
        assert_eq!(edited("1252", text.as_bytes(), &other), expected.as_bytes());
        // A blank that was typed is stored, and none besides.
        let other = [&shown[0], "y", &shown[1], &shown[2], "here"].join(" ");
        let expected = format!("  {} y {}\r\nhere ", "x".repeat(200), "x".repeat(250));
        assert_eq!(edited("1252", text.as_bytes(), &other), expected.as_bytes());
    }

    #[test]
    fn what_the_page_lacks_brings_all_into_utf8() {
        let stored = b"M\xfcller  {\xa4f3}\x9e\r\n\x04\xa0\xb2 a";
        let expected = "Müller  {\u{e028}f3}\u{e005}\r\n\u{4}\u{a0}\u{e02f} Łódź";
        let new = edited("1252", stored, "Müller (♘f3)[#] [#] ⩲ Łódź");
        assert_eq!(String::from_utf8(new).unwrap(), expected);
        let kept = edited("1251", b"\xc1\xe5\xeb\xfb\xe5  a\r\n", "Белые да");
        assert_eq!(kept, b"\xc1\xe5\xeb\xfb\xe5  \xe4\xe0\r\n");
        let utf8 = "Белые  \u{e005}\r\na".as_bytes();
        let expected = "Белые  \u{e005}\r\nда".as_bytes();
        assert_eq!(edited("1251", utf8, "Белые [#] да"), expected);
    }

    #[test]
    fn a_comment_of_several_texts_is_divided() {
        let stored = ["one  two", "three", "four\r\nfive"];
        for (edited, expected) in [
            ("one two three four five", ["one two", "three", "four five"]),
            ("one x three four y", ["one x", "three", "four y"]),
            ("one two z four five", ["one two", "z", "four five"]),
            ("four five", ["", "", "four five"]),
            (
                "a one two three b four five c",
                ["a one two", "three b", "four five c"],
            ),
        ] {
            assert_eq!(divide(&stored, edited), expected, "{edited}");
        }
    }

    #[test]
    fn a_text_that_is_wholly_other_is_bounded() {
        let stored = "a b ".repeat(16_000);
        let other = "c d ".repeat(60_000);
        let new = edited("1252", stored.as_bytes(), other.trim_end());
        assert_eq!(
            shown_words(std::str::from_utf8(&new).unwrap()).count(),
            120_000
        );
    }

    proptest! {
        /// Whatever is stored and whatever was edited: it is shown as edited,
        /// and a word that is edited alone leaves the bytes around it.
        #[test]
        fn what_is_written_shows_what_was_edited(
            stored in "[a-c {}\\[%#\\]\r\n\t\u{1}\u{4}\u{a0}\u{e005}\u{e024}é♘Л]{0,40}",
            text in "[a-c {}\\[%#\\]é♘ŁЛ]{0,40}",
            page in prop::sample::select(vec!["1252", "1251"]),
            at in 0_usize..40,
        ) {
            let page = CodePage::from_label(page).unwrap();
            let bytes = page.encode_comment(&stored);
            let words = |text: &str| -> Vec<String> {
                shown_words(text).map(|word| word.word.into_owned()).collect()
            };
            let after = |text: &str| {
                let text = AnnotationText { text: text.to_owned(), ..AnnotationText::default() };
                encode_edited(&[&[0, 0], bytes.as_slice()].concat(), &text, page)[2..].to_vec()
            };
            prop_assert_eq!(words(&page.decode_comment(&after(&text))), words(&text));
            let shown = page.decode_comment(&bytes);
            let mut new = words(&shown);
            if let Some(word) = new.get_mut(at) {
                let old = std::mem::replace(word, "ab".to_owned());
                let new = after(&new.join(" "));
                let start = bytes.iter().zip(&new).take_while(|(a, b)| a == b).count();
                let end = bytes.iter().rev().zip(new.iter().rev());
                let end = end.take_while(|(a, b)| a == b).count();
                prop_assert!(bytes.len().saturating_sub(start + end) <= 3 * old.len());
                prop_assert!(new.len().saturating_sub(start + end) <= 2, "{:?} {:?}", bytes, new);
            }
        }
    }
}
