//! Restores language and lead of texts that do not name theirs.
//!
//! Each text is held against one stored text: one of its place and words, one
//! of its words from elsewhere, or, with new words, the one that it replaces.
//! Equal texts are paired in order, the first edited one with the first stored one, so
//! texts with the same words keep the language and lead that each of them had.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::Matched;
use crate::cbh::edit::rewrite::merge::{text_of, words};
use crate::game::{Annotation, AnnotationText, Game, Nation, PlyId};

/// The language and lead that the texts of the stored game usually have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usual {
    pub(super) language: Option<Nation>,
    pub(super) lead: Option<u8>,
}

/// Maximum number of old texts at one place that are compared with a new text.
const MOST_LEFT: usize = 8;

/// Language and lead that a text gets.
type Given = (Option<Nation>, Option<u8>);

impl Usual {
    pub(super) fn restore(
        self,
        read: &Game,
        matched: &Matched,
        remarks: &mut [(PlyId, Annotation)],
    ) {
        let given = self.given(read, matched, remarks);
        for ((_, remark), (language, lead)) in remarks.iter_mut().zip(given) {
            if let Annotation::TextBefore(text) | Annotation::TextAfter(text) = remark {
                text.language = language.unwrap_or(text.language);
                text.lead = lead.unwrap_or(text.lead);
            }
        }
    }

    /// Returns the language and lead for each remark.
    fn given(self, read: &Game, matched: &Matched, remarks: &[(PlyId, Annotation)]) -> Vec<Given> {
        let stored = said(read.annotations.iter(), Some);
        let edited = remarks.iter().map(|(ply, remark)| (*ply, remark));
        let edited = said(edited, |ply| matched.stored_ply(ply));
        let mut pairs = Pairs {
            is_free: vec![true; stored.len()],
            stored_of: vec![None; edited.len()],
        };
        let is_said = |text: &ComparedText<'_>| text.text.language != Nation::NONE;
        let unsaid = |text: &ComparedText<'_>| text.text.language == Nation::NONE;
        let exact = |text: &ComparedText<'_>| (text.place, text.text.language, text.words.clone());
        pairs.pair(&stored, &edited, |text| is_said(text).then(|| exact(text)));
        pairs.pair(&stored, &edited, |text| {
            Some((text.place?, text.words.clone()))
        });
        // Of texts of the same words from elsewhere one that is in no language
        // counts.
        pairs.pair(&stored, &edited, |text| {
            unsaid(text).then(|| text.words.clone())
        });
        pairs.pair(&stored, &edited, |text| Some(text.words.clone()));
        let is_same_game =
            matched.is_same || matched.keeps_most || pairs.stored_of.iter().any(Option::is_some);
        let mut given = vec![Given::default(); remarks.len()];
        let left = pairs.left(&stored);
        for (text, was) in edited.iter().zip(&pairs.stored_of) {
            let was = was.and_then(|was| stored.get(was));
            let left = text
                .place
                .filter(|_| is_same_game)
                .and_then(|place| left.get(&place));
            let of = match (was, left) {
                (Some(was), _) => vec![was.text],
                (None, left) => left.map_or(Vec::new(), |left| self.replaced(text.text, left)),
            };
            if let Some(given) = given.get_mut(text.index) {
                *given = self.of(text.text, &of);
            }
        }
        given
    }

    /// Those of some stored texts that a new one may replace: those in its
    /// language, which it names unless it is the usual one.
    fn replaced<'t>(
        self,
        text: &AnnotationText,
        left: &[&'t AnnotationText],
    ) -> Vec<&'t AnnotationText> {
        let may_be = |old: &&&AnnotationText| {
            let is_unsaid = text.language == Nation::NONE && Some(old.language) == self.language;
            is_unsaid || old.language == text.language
        };
        let alike: Vec<&AnnotationText> = left.iter().filter(may_be).copied().collect();
        if alike.is_empty() {
            left.to_vec()
        } else {
            alike
        }
    }

    /// Returns the language and lead that a text gets from some stored ones,
    /// unless one of them differs.
    fn of(self, text: &AnnotationText, old: &[&AnnotationText]) -> Given {
        let language = self.language.filter(|language| {
            text.language == Nation::NONE
                && old.iter().any(|old| old.language == *language)
                && old.iter().all(|old| old.language != Nation::NONE)
        });
        let lead = self.lead.filter(|lead| {
            text.lead == 0
                && old.iter().any(|old| old.lead == *lead)
                && old.iter().all(|old| old.lead != 0)
        });
        (language, lead)
    }
}

/// The stored ply, and whether a text stands before it.
type PlyPlace = (PlyId, bool);

/// A text of a game.
struct ComparedText<'t> {
    /// Index among the remarks.
    index: usize,
    place: Option<PlyPlace>,
    text: &'t AnnotationText,
    words: String,
}

fn said<'t>(
    remarks: impl Iterator<Item = (PlyId, &'t Annotation)>,
    stored: impl Fn(PlyId) -> Option<PlyId>,
) -> Vec<ComparedText<'t>> {
    let texts = remarks.enumerate().filter_map(|(index, (ply, remark))| {
        let text = text_of(remark)?;
        let is_before = remark.is_text_before();
        Some(ComparedText {
            index,
            place: stored(ply).map(|ply| (ply, is_before)),
            text,
            words: words([text]),
        })
    });
    texts.collect()
}

/// Which stored text each of the edited ones is.
struct Pairs {
    /// Whether each stored text is that of no edited one.
    is_free: Vec<bool>,
    stored_of: Vec<Option<usize>>,
}

impl Pairs {
    /// By their places the stored texts that none of the edited ones is.
    fn left<'t>(&self, stored: &[ComparedText<'t>]) -> HashMap<PlyPlace, Vec<&'t AnnotationText>> {
        let mut left: HashMap<PlyPlace, Vec<&AnnotationText>> = HashMap::new();
        for (text, _) in stored.iter().zip(&self.is_free).filter(|(_, free)| **free) {
            if let Some(place) = text.place {
                let there = left.entry(place).or_default();
                // More texts of one place are not told apart.
                if there.len() < MOST_LEFT {
                    there.push(text.text);
                }
            }
        }
        left
    }

    /// Pairs those of the same key that have none yet, the first with the first.
    fn pair<K: Hash + Eq>(
        &mut self,
        stored: &[ComparedText<'_>],
        edited: &[ComparedText<'_>],
        key: impl Fn(&ComparedText<'_>) -> Option<K>,
    ) {
        let mut free: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (at, text) in stored.iter().enumerate() {
            if let Some(key) = key(text).filter(|_| self.is_free.get(at) == Some(&true)) {
                free.entry(key).or_default().push_back(at);
            }
        }
        for (text, was) in edited.iter().zip(&mut self.stored_of) {
            if was.is_none() && !free.is_empty() {
                *was = key(text).and_then(|key| free.get_mut(&key)?.pop_front());
                if let Some(is_free) = was.and_then(|was| self.is_free.get_mut(was)) {
                    *is_free = false;
                }
            }
        }
    }
}
