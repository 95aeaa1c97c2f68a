//! Merges the annotations of an edited game with the stored ones: pairs them
//! and orders them.
//!
//! On each ply an edited annotation is paired with a free stored one: first
//! with an equal one; a question with one of which it says all that is shown;
//! then with one of the same kind, for texts in the same
//! language; then with a text of the same kind in any language. It takes the
//! place of that one, and unchanged words of a text keep their bytes; a question
//! keeps what its command does not show. A text that was moved to another ply keeps
//! its bytes, too.
//!
//! Adjacent stored texts of one language look like one text in PGN; they are
//! split again.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::{MergedRemark, OldRemark};
use crate::cbh::CodePage;
use crate::cbh::annotations::{
    CommentText as _, divide, encode_edited, encode_remark, encode_training, shown_and_rest,
};
use crate::cbh::layout::foreign_tags::tags_in;
use crate::game::{Annotation, AnnotationText, shown_words};

/// Merges the annotations of one game.
pub(super) struct AnnotationMerge<'m> {
    old: &'m [OldRemark<'m>],
    page: CodePage,
    /// By index of the stored annotation: whether it is paired.
    is_taken: Vec<bool>,
    merged: Vec<MergedRemark>,
    /// Added texts, with their index in `merged`.
    added: Vec<(usize, &'m AnnotationText)>,
}

/// An edited annotation and the stored ones it is paired with.
struct Pair<'m> {
    edited: &'m Annotation,
    old: Vec<usize>,
    is_same: bool,
}

/// The criterion for pairing a stored and an edited annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    /// All that PGN shows is equal.
    Same,
    /// A question says no more than is shown of the stored one.
    Shown,
    /// Kind and language are equal.
    Language,
    /// The kind is equal.
    Kind,
}

/// The value that must be equal in a pair: kind, whether it is a text, and the
/// rest depending on [`Likeness`].
type MergeKey = (u8, bool, Vec<u8>);

/// The place of an annotation on its ply: index of a stored annotation, the
/// side of it, and a number that orders added ones.
type MergePosition = (usize, MergeSide, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MergeSide {
    Before,
    At,
    Behind,
}

impl<'m> AnnotationMerge<'m> {
    pub(super) fn new(old: &'m [OldRemark<'m>], page: CodePage) -> AnnotationMerge<'m> {
        AnnotationMerge {
            old,
            page,
            is_taken: vec![false; old.len()],
            merged: Vec::new(),
            added: Vec::new(),
        }
    }

    /// Adds the edited annotations of a ply that had the annotations `old`.
    pub(super) fn ply(
        &mut self,
        position: i32,
        old: Range<usize>,
        edited: impl Iterator<Item = &'m Annotation>,
    ) {
        let pair = |edited| Pair {
            edited,
            old: Vec::new(),
            is_same: false,
        };
        let mut pairs: Vec<Pair<'m>> = edited.map(pair).collect();
        let mut free = self.units(old.clone());
        for likeness in [
            Likeness::Same,
            Likeness::Shown,
            Likeness::Language,
            Likeness::Kind,
        ] {
            self.pair(&mut free, &mut pairs, likeness);
        }
        let mut kept = Vec::new();
        for is_before in [false, true] {
            let is_such = |pair: &&Pair<'_>| {
                pair.edited.is_text_before() == is_before && text_of(pair.edited).is_some()
            };
            self.keep_texts(pairs.iter().filter(is_such), &mut kept);
        }
        self.keep_others(&pairs, &mut kept);
        let mut placed = self.places_of_added(old.start, &pairs, &kept);
        placed.extend(kept.into_iter().map(|(at, kind, payload)| {
            let remark = MergedRemark {
                position,
                kind,
                payload,
                was: Some(at),
            };
            ((at, MergeSide::At, 0), remark, None)
        }));
        placed.sort_by_key(|(place, ..)| *place);
        for (_, mut remark, text) in placed {
            remark.position = position;
            if let Some(taken) = remark.was.and_then(|at| self.is_taken.get_mut(at)) {
                *taken = true;
            }
            self.added
                .extend(text.map(|text| (self.merged.len(), text)));
            self.merged.push(remark);
        }
    }

    /// Returns all annotations, sorted by ply.
    pub(super) fn finish(mut self) -> Vec<MergedRemark> {
        let mut moved = self.moved_texts();
        if moved.is_empty() {
            return self.merged;
        }
        for (at, text) in std::mem::take(&mut self.added) {
            let from = moved.get_mut(&words([text]));
            let from = from.and_then(VecDeque::pop_front);
            let stored = from.and_then(|from| self.old.get(from)?.0.payload.get(2..));
            if let (Some(stored), Some(remark)) = (stored, self.merged.get_mut(at)) {
                remark.payload.truncate(2);
                remark.payload.extend(stored);
            }
        }
        self.merged
    }

    /// Indices of stored texts that left their ply, by their words.
    fn moved_texts(&self) -> HashMap<String, VecDeque<usize>> {
        let mut moved: HashMap<String, VecDeque<usize>> = HashMap::new();
        if self.added.is_empty() {
            return moved;
        }
        for (at, ((_, value), is_taken)) in self.old.iter().zip(&self.is_taken).enumerate() {
            if let Some(text) = text_of(value).filter(|_| !is_taken) {
                moved.entry(words([text])).or_default().push_back(at);
            }
        }
        moved
    }

    fn value(&self, at: usize) -> Option<&'m Annotation> {
        self.old.get(at).map(|(_, value)| value)
    }

    fn text(&self, at: usize) -> Option<&'m AnnotationText> {
        self.value(at).and_then(text_of)
    }

    /// Groups stored annotations as PGN shows them: texts of one kind, language
    /// and lead are one if no other text of the kind is between them. Texts
    /// without words stay alone.
    fn units(&self, old: Range<usize>) -> Vec<Vec<usize>> {
        let mut units: Vec<Vec<usize>> = Vec::new();
        let mut last: HashMap<u8, usize> = HashMap::new();
        for at in old {
            let Some((stored, value)) = self.old.get(at) else {
                continue;
            };
            if let Some(text) = text_of(value) {
                let unit = last.get(&stored.kind).and_then(|unit| units.get_mut(*unit));
                let joins = |unit: &&mut Vec<usize>| {
                    let last = unit.last().and_then(|at| self.text(*at));
                    last.is_some_and(|last| are_read_as_one(last, text))
                };
                if let Some(unit) = unit.filter(joins) {
                    unit.push(at);
                    continue;
                }
                last.insert(stored.kind, units.len());
            }
            units.push(vec![at]);
        }
        units
    }

    /// Returns the value that a group must share with an annotation to be
    /// paired with it; `None` if it cannot be paired.
    fn key<'a>(
        &self,
        mut remarks: impl Iterator<Item = &'a Annotation> + Clone,
        likeness: Likeness,
    ) -> Option<MergeKey> {
        if likeness == Likeness::Shown {
            return match remarks.next()? {
                Annotation::Training(question) => {
                    Some((0, false, question.shown().join("\n").into_bytes()))
                }
                _ => None,
            };
        }
        let texts: Vec<&AnnotationText> = remarks.clone().filter_map(text_of).collect();
        let first = remarks.next()?;
        let Some(text) = texts.first() else {
            let (kind, payload) = encode_remark(first, self.page);
            return match likeness {
                Likeness::Same => Some((kind, false, payload)),
                Likeness::Language => Some((kind, false, Vec::new())),
                Likeness::Kind | Likeness::Shown => None,
            };
        };
        let mut key = Vec::new();
        if likeness != Likeness::Kind {
            key.push(text.language.0);
        }
        if likeness == Likeness::Same {
            key.push(text.lead);
            key.extend(words(texts).into_bytes());
        }
        Some((kind_of_text(first), true, key))
    }

    /// Pairs equal keys in order. If a text is the last edited one of its
    /// language, all remaining stored ones belong to it.
    fn pair(&self, free: &mut Vec<Vec<usize>>, pairs: &mut [Pair<'m>], likeness: Likeness) {
        let mut by_key: HashMap<MergeKey, VecDeque<Vec<usize>>> = HashMap::new();
        let mut left = Vec::new();
        for unit in free.drain(..) {
            let values = unit.iter().filter_map(|at| self.value(*at));
            match self.key(values, likeness) {
                Some(key) => by_key.entry(key).or_default().push_back(unit),
                None => left.push(unit),
            }
        }
        let mut last = HashMap::new();
        for (index, pair) in pairs.iter_mut().enumerate() {
            let says_all =
                !matches!(pair.edited, Annotation::Training(new) if new.payload.is_empty());
            let is_other = likeness == Likeness::Shown && says_all;
            if by_key.is_empty() || !pair.old.is_empty() || is_other {
                continue;
            }
            let Some(key) = self.key(std::iter::once(pair.edited), likeness) else {
                continue;
            };
            if let Some(unit) = by_key.get_mut(&key).and_then(VecDeque::pop_front) {
                pair.old = unit;
                pair.is_same = matches!(likeness, Likeness::Same | Likeness::Shown);
                last.insert(key, index);
            }
        }
        for (key, units) in by_key {
            let owner = last.get(&key).and_then(|index| pairs.get_mut(*index));
            let is_whole = likeness == Likeness::Language;
            match owner.filter(|owner| is_whole && text_of(owner.edited).is_some()) {
                Some(owner) => owner.old.extend(units.into_iter().flatten()),
                None => left.extend(units),
            }
        }
        left.sort_unstable();
        *free = left;
    }

    /// Keeps the paired texts of one kind, in their new order, at the stored
    /// places.
    fn keep_texts<'p>(
        &self,
        texts: impl Iterator<Item = &'p Pair<'m>>,
        kept: &mut Vec<(usize, u8, Vec<u8>)>,
    ) where
        'm: 'p,
    {
        let (mut places, mut payloads) = (Vec::new(), Vec::new());
        for pair in texts {
            for (at, payload) in self.text_payloads(pair) {
                places.push(at);
                payloads.push((kind_of_text(pair.edited), payload));
            }
        }
        places.sort_unstable();
        let remarks = places.into_iter().zip(payloads);
        kept.extend(remarks.map(|(at, (kind, payload))| (at, kind, payload)));
    }

    /// Returns the payloads of the stored texts of a pair.
    fn text_payloads(&self, pair: &Pair<'m>) -> Vec<(usize, Vec<u8>)> {
        let mut payloads = self.payloads_by_words(pair);
        if let ([(_, payload)], Some(edited)) = (payloads.as_mut_slice(), text_of(pair.edited))
            && !self.has_tags_of(payload, edited)
        {
            let (_, rest) = shown_and_rest(payload);
            *payload = [&encode_remark(pair.edited, self.page).1, rest].concat();
        }
        payloads
    }

    /// Whether a payload has the tags of the game that an edited text ends in, with their
    /// blanks, which words do not tell.
    fn has_tags_of(&self, payload: &[u8], edited: &AnnotationText) -> bool {
        let wanted = tags_in(&edited.text);
        let stored = || self.page.decode_comment(shown_and_rest(payload).0);
        wanted.is_empty() || tags_in(&stored()) == wanted
    }

    /// The same, where the words that are shown of a text are all that counts.
    fn payloads_by_words(&self, pair: &Pair<'m>) -> Vec<(usize, Vec<u8>)> {
        let Some(edited) = text_of(pair.edited) else {
            return Vec::new();
        };
        let stored = |at: usize| Some(self.old.get(at)?.0.payload);
        if pair.is_same {
            let all = pair.old.iter();
            return all
                .filter_map(|&at| Some((at, stored(at)?.to_vec())))
                .collect();
        }
        let parts: Vec<&AnnotationText> = pair.old.iter().filter_map(|at| self.text(*at)).collect();
        let shares = match parts.as_slice() {
            [_] => vec![edited.text.clone()],
            parts => {
                let parts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
                divide(&parts, &edited.text)
            }
        };
        let mut payloads = Vec::new();
        let is_empty = shares.iter().all(String::is_empty);
        for ((&at, part), text) in pair.old.iter().zip(parts).zip(shares) {
            let is_first = payloads.is_empty();
            if let Some(stored) = stored(at).filter(|_| !text.is_empty() || (is_empty && is_first))
            {
                let text = AnnotationText {
                    text,
                    language: edited.language,
                    lead: if is_first { edited.lead } else { part.lead },
                };
                payloads.push((at, encode_edited(stored, &text, self.page)));
            }
        }
        payloads
    }

    /// Keeps the other paired annotations.
    fn keep_others(&self, pairs: &[Pair<'m>], kept: &mut Vec<(usize, u8, Vec<u8>)>) {
        for pair in pairs.iter().filter(|pair| text_of(pair.edited).is_none()) {
            let stored = pair
                .old
                .first()
                .and_then(|at| Some((*at, self.old.get(*at)?)));
            if let Some((at, (stored, value))) = stored {
                let (kind, payload) = match (pair.edited, value) {
                    _ if pair.is_same => (stored.kind, stored.payload.to_vec()),
                    (Annotation::Training(new), Annotation::Training(old))
                        if new.payload.is_empty() =>
                    {
                        (stored.kind, encode_training(&new.over(old), self.page))
                    }
                    (new, _) => encode_remark(new, self.page),
                };
                kept.push((at, kind, payload));
            }
        }
    }

    /// Returns the unpaired annotations with their places: behind the previous
    /// one of their kind, or before the next one, or else where ChessBase puts
    /// their kind.
    fn places_of_added(
        &self,
        start: usize,
        pairs: &[Pair<'m>],
        kept: &[(usize, u8, Vec<u8>)],
    ) -> Vec<(MergePosition, MergedRemark, Option<&'m AnnotationText>)> {
        let mut beside: HashMap<u8, (usize, MergeSide)> = HashMap::new();
        for (at, kind, _) in kept {
            let place = beside.entry(*kind).or_insert((*at, MergeSide::Before));
            place.0 = place.0.min(*at);
        }
        let mut added = Vec::new();
        for (index, pair) in pairs.iter().enumerate() {
            if let Some(last) = pair.old.iter().max() {
                beside.insert(kind_of(pair.edited, self.page), (*last, MergeSide::Behind));
                continue;
            }
            let (kind, payload) = encode_remark(pair.edited, self.page);
            let usual = || {
                let before = kept
                    .iter()
                    .filter(|(_, other, _)| rank(*other) <= rank(kind));
                let last = before.map(|(at, ..)| *at).max();
                last.map_or((start, MergeSide::Before), |at| (at, MergeSide::Behind))
            };
            let (at, side) = *beside.entry(kind).or_insert_with(usual);
            let remark = MergedRemark {
                position: 0,
                kind,
                payload,
                was: None,
            };
            added.push(((at, side, index), remark, text_of(pair.edited)));
        }
        added
    }
}

pub(super) fn text_of(remark: &Annotation) -> Option<&AnnotationText> {
    match remark {
        Annotation::TextAfter(text) | Annotation::TextBefore(text) => Some(text),
        _ => None,
    }
}

/// Returns whether PGN shows two adjacent texts of one kind as one.
fn are_read_as_one(first: &AnnotationText, second: &AnnotationText) -> bool {
    let has_words = |text: &AnnotationText| shown_words(&text.text).next().is_some();
    (first.language, first.lead) == (second.language, second.lead)
        && has_words(first)
        && has_words(second)
}

fn kind_of_text(text: &Annotation) -> u8 {
    match text {
        Annotation::TextBefore(_) => 0x82,
        _ => 0x02,
    }
}

fn kind_of(remark: &Annotation, page: CodePage) -> u8 {
    match text_of(remark) {
        Some(_) => kind_of_text(remark),
        None => encode_remark(remark, page).0,
    }
}

/// Returns the words of texts that PGN shows as one.
pub(super) fn words<'t>(texts: impl IntoIterator<Item = &'t AnnotationText>) -> String {
    let mut words = String::new();
    for text in texts {
        for word in shown_words(&text.text) {
            words.push_str(&word.word);
            words.push(' ');
        }
    }
    words
}

/// Rank of a kind in the usual order on one ply: text before, symbols, text
/// after, the rest.
fn rank(kind: u8) -> u8 {
    match kind {
        0x82 => 0,
        0x03 => 1,
        0x02 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::annotations::StoredRemark;
    use crate::game::{Nation, Training};

    #[test]
    fn texts_with_words_of_one_language_and_lead_are_read_as_one() {
        let text = |text: &str, language, lead| AnnotationText {
            text: text.to_owned(),
            language: Nation(language),
            lead,
        };
        let first = text("one", 0, 1);
        for (second, is_one) in [
            (text("two", 0, 1), true),
            (text("two", 1, 1), false),
            (text("two", 0, 0), false),
            (text(" ", 0, 1), false),
        ] {
            assert_eq!(are_read_as_one(&first, &second), is_one);
            assert_eq!(are_read_as_one(&second, &first), is_one);
        }
    }

    #[test]
    fn on_one_ply_texts_before_stand_first_and_other_remarks_last() {
        let ranks = [0x82, 0x03, 0x02, 0x04, 0x81].map(rank);
        assert_eq!(ranks, [0, 1, 2, 3, 3]);
    }

    #[test]
    fn an_edited_question_keeps_what_is_stored_of_it_besides() {
        let page = CodePage::WESTERN;
        let asked = |words: &str, seconds| Training {
            texts: [vec![(0, words.to_owned())], vec![], vec![], vec![]],
            seconds,
            ..Training::default()
        };
        let payload = encode_training(&asked("Win?", 180), page);
        let remark = StoredRemark {
            position: 0,
            kind: 0x09,
            payload: &payload,
        };
        let mut old = Vec::new();
        remark.decode(page, |value| old.push((remark, value)));
        for (words, now) in [("Draw?", asked("Draw?", 180)), ("Win?", asked("Win?", 180))] {
            let edited = Annotation::Training(Box::new(asked(words, 0)));
            let mut merge = AnnotationMerge::new(&old, page);
            merge.ply(0, 0..1, std::iter::once(&edited));
            let merged = merge.finish();
            assert_eq!(merged.len(), 1);
            assert_eq!(merged[0].payload, encode_training(&now, page), "{words}");
        }
    }

    #[test]
    fn remarks_of_a_ply_keep_what_is_stored_of_them() {
        let page = CodePage::WESTERN;
        let stored = |text: &[u8]| [&[0, 0], text].concat();
        for (was, edited, now) in [
            (&b"one  two"[..], "one two", Some(&b"one  two"[..])),
            (b"one  two three", "one two four", Some(b"one  two four")),
            (b"one\0 two", "one", Some(b"one\0 two")),
            (b"one\0 two", "one three", Some(b"one three\0 two")),
            (b"", "one two", None),
        ] {
            let payload = stored(was);
            let remark = StoredRemark {
                position: 3,
                kind: 0x02,
                payload: &payload,
            };
            let mut old = Vec::new();
            remark.decode(page, |value| old.push((remark, value)));
            let old = &old[usize::from(was.is_empty())..];
            let edited = Annotation::TextAfter(AnnotationText {
                text: edited.to_owned(),
                ..AnnotationText::default()
            });
            let mut merge = AnnotationMerge::new(old, page);
            merge.ply(3, 0..old.len(), std::iter::once(&edited));
            let merged = merge.finish();
            assert_eq!(merged.len(), 1);
            let wanted = stored(now.unwrap_or(b"one two"));
            assert_eq!((merged[0].position, &merged[0].payload), (3, &wanted));
            assert_eq!(merged[0].was, now.map(|_| 0));
        }
    }
}
