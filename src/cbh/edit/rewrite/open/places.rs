//! Restores which texts are about the next move.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::Matched;
use crate::cbh::edit::diff::compare;
use crate::cbh::edit::rewrite::merge::{text_of, words};
use crate::game::{Annotation, AnnotationText, Game, MoveTree, PlyId, ShownWord, shown_words};

/// The texts that stood before moves.
pub(super) struct TextPlaces<'g> {
    read: &'g Game,
    edited: &'g Game,
    matched: &'g Matched,
    /// Bytes of texts that were held against each other.
    compared: Cell<usize>,
}

impl<'g> TextPlaces<'g> {
    pub(super) fn new(read: &'g Game, edited: &'g Game, matched: &'g Matched) -> TextPlaces<'g> {
        TextPlaces {
            read,
            edited,
            matched,
            compared: Cell::new(0),
        }
    }

    pub(super) fn restore(&self, remarks: Vec<(PlyId, Annotation)>) -> Vec<(PlyId, Annotation)> {
        let namesakes = self.namesakes();
        let mut lost = self.lost();
        let displaced = self.displaced(&namesakes);
        if namesakes.is_empty() && lost.is_empty() && displaced.is_empty() {
            return remarks;
        }
        let is_same_game = self.matched.is_same || self.matched.keeps_most;
        let replaced = if is_same_game {
            self.replaced(&lost)
        } else {
            HashMap::new()
        };
        let mut restored = Vec::with_capacity(remarks.len());
        for (ply, remark) in remarks {
            match remark {
                Annotation::TextAfter(text) if displaced.contains_key(&ply) => {
                    let (after, before) = self.split_displaced(displaced.get(&ply), text);
                    restored.extend(after.map(|text| (ply, Annotation::TextAfter(text))));
                    restored
                        .extend(before.map(|(next, text)| (next, Annotation::TextBefore(text))));
                }
                Annotation::TextBefore(text) if namesakes.contains(&ply) => {
                    let parent = self.edited.tree.parent(ply).unwrap_or(PlyId::START);
                    restored.push((parent, Annotation::TextAfter(text)));
                }
                Annotation::TextAfter(text) if lost.contains_key(&ply) => {
                    let texts = lost.entry(ply).or_default();
                    let (after, before) = match (self.parted(texts, ply, text), replaced.get(&ply))
                    {
                        ((Some(text), None), Some(next)) => (None, Some((*next, text))),
                        (parted, _) => parted,
                    };
                    restored.extend(after.map(|text| (ply, Annotation::TextAfter(text))));
                    restored
                        .extend(before.map(|(next, text)| (next, Annotation::TextBefore(text))));
                }
                remark => restored.push((ply, remark)),
            }
        }
        // Texts before come first on their ply, as a reader gives them.
        restored.sort_by_key(|(ply, remark)| (*ply, !remark.is_text_before()));
        restored
    }

    /// The plies that got a text by a name that was given for another one.
    fn namesakes(&self) -> HashSet<PlyId> {
        let named = &self.edited.open.named;
        if named.is_empty() {
            return HashSet::new();
        }
        let befores = || {
            let remarks = self.read.annotations.iter();
            remarks.filter(|(_, remark)| remark.is_text_before())
        };
        let names = MoveNames::new(&self.read.tree);
        let names: HashSet<Name> = befores().filter_map(|(ply, _)| names.of(ply)).collect();
        let said: HashSet<String> = befores().map(|(_, text)| words(text.text())).collect();
        let edited = MoveNames::new(&self.edited.tree);
        let is_namesake = |ply: &PlyId| {
            let has_one = self
                .matched
                .stored_ply(*ply)
                .is_some_and(|was| texts_before(self.read, was).next().is_some());
            let mut texts = texts_before(self.edited, *ply);
            !has_one
                && edited.of(*ply).is_some_and(|name| names.contains(&name))
                && !texts.any(|text| said.contains(&words([text])))
        };
        let placed: HashSet<&PlyId> = self.edited.open.placed.iter().collect();
        let by_name = named.iter().filter(|ply| !placed.contains(ply));
        by_name.copied().filter(is_namesake).collect()
    }

    /// Returns the stored texts before plies that have another text before them now, by
    /// the parent of the ply: a comment was inserted after the stored text, and
    /// `CbhBefore` names the ply only once, for the last text.
    fn displaced(&self, namesakes: &HashSet<PlyId>) -> HashMap<PlyId, (PlyId, &'g AnnotationText)> {
        let named = self.edited.open.named.iter();
        let displaced = named
            .filter(|ply| !namesakes.contains(ply))
            .filter_map(|ply| {
                let was = self.matched.stored_ply(*ply)?;
                let old = texts_before(self.read, was).next()?;
                let said = words([old]);
                let mut now = texts_before(self.edited, *ply);
                let parent = self.edited.tree.parent(*ply).unwrap_or(PlyId::START);
                (!now.any(|text| words([text]) == said)).then_some((parent, (*ply, old)))
            });
        displaced.collect()
    }

    /// Parts a text after a ply before the words of one about the next ply that
    /// it ends in.
    fn split_displaced(
        &self,
        displaced: Option<&(PlyId, &AnnotationText)>,
        text: AnnotationText,
    ) -> (Option<AnnotationText>, Option<(PlyId, AnnotationText)>) {
        let is_short = |old: &AnnotationText| self.affords(text.text.len() + old.text.len());
        let Some((next, old)) = displaced.filter(|(_, old)| is_short(old)) else {
            return (Some(text), None);
        };
        if words([&text]) == words([*old]) {
            return (None, Some((*next, text)));
        }
        match parted_at_end(&text, old) {
            Some((after, before)) => (Some(after), Some((*next, before))),
            None => (Some(text), None),
        }
    }

    /// The plies after which the only text between two moves stands now that
    /// stood before the second, with that: new words take the place of the old
    /// ones.
    fn replaced(
        &self,
        lost: &HashMap<PlyId, Vec<(PlyId, &AnnotationText)>>,
    ) -> HashMap<PlyId, PlyId> {
        if lost.is_empty() {
            return HashMap::new();
        }
        let stored = self.read.annotations.iter();
        let stored = stored.filter_map(|(_, remark)| text_of(remark));
        let stored: HashSet<String> = stored.map(|text| words([text])).collect();
        let is_replaced = |ply: PlyId| {
            let was = self.matched.stored_ply(ply);
            let had_none = was.is_some_and(|was| texts_after(self.read, was).next().is_none());
            let mut now = texts_after(self.edited, ply);
            let is_new = now
                .next()
                .is_some_and(|text| !stored.contains(&words([text])));
            had_none && is_new && now.next().is_none()
        };
        let lost = lost
            .iter()
            .filter_map(|(ply, texts)| match texts.as_slice() {
                [(next, _)] if is_replaced(*ply) => Some((*ply, *next)),
                _ => None,
            });
        lost.collect()
    }

    /// The stored texts before plies that have none now, by the ply after
    /// which they would stand.
    fn lost(&self) -> HashMap<PlyId, Vec<(PlyId, &'g AnnotationText)>> {
        let mut lost: HashMap<PlyId, Vec<(PlyId, &AnnotationText)>> = HashMap::new();
        let tree = &self.edited.tree;
        let (read_names, names) = (MoveNames::new(&self.read.tree), MoveNames::new(tree));
        for ply in (1..=tree.len()).filter_map(|index| tree.place(index)) {
            let Some(was) = self.matched.stored_ply(ply).filter(|_| is_inner(tree, ply)) else {
                continue;
            };
            let has_some = texts_before(self.read, was).next().is_some();
            if !has_some || texts_before(self.edited, ply).next().is_some() {
                continue;
            }
            // A text at the begin of a variation needs no name until that is
            // promoted; and the tag has another name for a move that was
            // changed.
            let is_open = self.edited.open.places
                || !is_inner(&self.read.tree, was)
                || read_names.of(was) != names.of(ply);
            if !is_open {
                continue;
            }
            let texts = texts_before(self.read, was).map(|text| (ply, text));
            let texts = texts.take(MOST_BEFORE);
            let parent = tree.parent(ply).unwrap_or(PlyId::START);
            lost.entry(parent).or_default().extend(texts);
        }
        lost.retain(|_, texts| !texts.is_empty());
        lost
    }

    /// Parts what stands after `ply` into what is about it and what was one of
    /// `texts`, which are about the next ply, or was made from it: that may be
    /// all of it, or its end, where a program glued both together.
    fn parted(
        &self,
        texts: &mut Vec<(PlyId, &AnnotationText)>,
        ply: PlyId,
        text: AnnotationText,
    ) -> (Option<AnnotationText>, Option<(PlyId, AnnotationText)>) {
        let was = self.matched.stored_ply(ply).into_iter();
        let stood_there = was.flat_map(|was| texts_after(self.read, was));
        let stood_there = stood_there.take(MOST_BEFORE);
        let said = words([&text]);
        let stood_there = stood_there.map(|old| self.likeness(old, &said)).max();
        if stood_there == Some(SAME) {
            return (Some(text), None);
        }
        for (at, (next, old)) in texts.iter().enumerate() {
            let is_short = self.affords(text.text.len() + old.text.len());
            if is_short && let Some((after, before)) = parted_at_end(&text, old) {
                let next = *next;
                texts.remove(at);
                return (Some(after), Some((next, before)));
            }
        }
        let alike = texts.iter().map(|(_, old)| self.likeness(old, &said));
        // Of equals the first.
        let most = alike.enumerate().rev().max_by_key(|(_, much)| *much);
        let is_it = |much: usize| much >= LIKE && stood_there.is_none_or(|there| there < much);
        match most.filter(|(_, much)| is_it(*much)) {
            Some((at, _)) => {
                let (next, _) = texts.remove(at);
                (None, Some((next, text)))
            }
            None => (Some(text), None),
        }
    }

    /// As the function of this name, of texts of bounded length; [`SAME`] if the
    /// words are the same.
    fn likeness(&self, old: &AnnotationText, new: &str) -> usize {
        if !self.affords(old.text.len() + new.len()) {
            return 0;
        }
        let old = words([old]);
        if old == new {
            return SAME;
        }
        likeness(&old, new)
    }

    /// Whether so many bytes more may be looked at.
    fn affords(&self, bytes: usize) -> bool {
        let compared = self.compared.get().saturating_add(bytes);
        self.compared.set(compared);
        compared <= MOST_COMPARED
    }
}

/// Depth in the tree and notation of a move, which other moves may have too.
type Name = (usize, String);

/// The names of the moves of a tree.
struct MoveNames<'g> {
    tree: &'g MoveTree,
    depths: Vec<usize>,
}

impl<'g> MoveNames<'g> {
    fn new(tree: &'g MoveTree) -> MoveNames<'g> {
        MoveNames {
            tree,
            depths: depths(tree),
        }
    }

    fn of(&self, ply: PlyId) -> Option<Name> {
        let depth = self.depths.get(ply.index())?;
        Some((*depth, self.tree.ply(ply)?.san.to_string()))
    }
}

/// The number of moves before each ply, by its index.
fn depths(tree: &MoveTree) -> Vec<usize> {
    let mut depths = vec![0];
    for index in 1..=tree.len() {
        let parent = tree.place(index).and_then(|ply| tree.parent(ply));
        // A ply was added after the one that it follows.
        let before = depths.get(parent.map_or(0, PlyId::index)).copied();
        depths.push(before.unwrap_or(0) + 1);
    }
    depths
}

/// Whether a ply goes on with a line, rather than begin a variation.
fn is_inner(tree: &MoveTree, ply: PlyId) -> bool {
    let parent = tree.parent(ply).unwrap_or(PlyId::START);
    tree.first_child(parent) == Some(ply)
}

fn texts_before(game: &Game, ply: PlyId) -> impl Iterator<Item = &AnnotationText> {
    let remarks = game.annotations.on(ply);
    remarks.filter_map(|remark| match remark {
        Annotation::TextBefore(text) => Some(text),
        _ => None,
    })
}

fn texts_after(game: &Game, ply: PlyId) -> impl Iterator<Item = &AnnotationText> {
    let remarks = game.annotations.on(ply);
    remarks.filter_map(|remark| match remark {
        Annotation::TextAfter(text) => Some(text),
        _ => None,
    })
}

/// More texts of one place are not told apart.
const MOST_BEFORE: usize = 8;

/// A text that ends in the words of another, parted before them.
fn parted_at_end(
    text: &AnnotationText,
    end: &AnnotationText,
) -> Option<(AnnotationText, AnnotationText)> {
    let all: Vec<ShownWord<'_>> = shown_words(&text.text).collect();
    let end: Vec<ShownWord<'_>> = shown_words(&end.text).collect();
    let first = all
        .len()
        .checked_sub(end.len())
        .filter(|first| *first > 0)?;
    let tail = all.get(first..)?;
    let is_same = tail
        .iter()
        .zip(&end)
        .all(|(one, other)| one.word == other.word);
    let at = tail.first().filter(|_| is_same)?.range.start;
    let part = |part: &str| AnnotationText {
        text: part.trim().to_owned(),
        ..text.clone()
    };
    Some((part(text.text.get(..at)?), part(text.text.get(at..)?)))
}

/// More alike are texts of the same words.
const SAME: usize = 101;

/// So alike are texts one of which was made from the other.
const LIKE: usize = 50;

/// Texts of no more bytes may have hardly a word left.
const FEW_BYTES: usize = 24;

/// The bytes of a game's texts that are held against each other; what follows
/// stays where it stands.
const MOST_COMPARED: usize = 1 << 22;

/// How much of the shorter of two texts the other has, in percent: of its
/// words, or of a few short ones of all characters.
fn likeness(old: &str, new: &str) -> usize {
    let parts =
        |text: &'_ str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let (old_words, new_words) = (parts(old), parts(new));
    let shorter = old_words.len().min(new_words.len());
    // A word or two of a long text make it no other one.
    let longer = old_words.len().max(new_words.len());
    let by_words = shared(&old_words, &new_words, shorter.max(longer / 4));
    if old.len().max(new.len()) > FEW_BYTES {
        return by_words;
    }
    let characters = |text: &str| text.chars().collect::<Vec<char>>();
    let (old, new) = (characters(old), characters(new));
    by_words.max(shared(&old, &new, old.len().max(new.len())).saturating_sub(10))
}

/// The items that two sequences have in common, in percent of `all`.
fn shared<T: PartialEq>(old: &[T], new: &[T], all: usize) -> usize {
    let same = compare(old, new)
        .into_iter()
        .filter(|stretch| stretch.is_same);
    let same: usize = same.map(|stretch| stretch.old.len()).sum();
    100 * same / all.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_alike_by_words_and_short_ones_by_characters() {
        let letters = |count: usize| "abcdefghijklmnopqrstuvwxyz".get(..count).unwrap();
        for (old, new, percent) in [
            ("", "", 0),
            ("good", "good", 100),
            ("e4 is good", "e4 is bad", 66),
            ("Anand", "Anande", 73),
            ("one", "two", 23),
            // Of the shorter one, or of a quarter of the longer one.
            ("a longer text than that other", "longer that", 100),
            ("a longer text than that other, of eight", "longer", 50),
            ("a longer text than that other, of eight", "no longer", 50),
            // 24 bytes are short, 25 are not.
            (letters(24), letters(23), 85),
            (letters(25), letters(24), 0),
            (letters(24), letters(25), 0),
        ] {
            assert_eq!(likeness(old, new), percent, "{old} | {new}");
        }
    }

    #[test]
    fn a_text_is_parted_before_the_words_of_one_that_it_ends_in_if_few_were_compared() {
        let game = Game::default();
        let matched = Matched::new(&game.tree, &game.tree);
        let text_of = |text: &str| AnnotationText {
            text: text.to_owned(),
            ..AnnotationText::default()
        };
        for (compared, whole, end, parts) in [
            (0, "good, then bad", "then bad", ["good,", "then bad"]),
            (0, "then bad", "then bad", ["", "then bad"]),
            (0, "bad", "then bad", ["bad", ""]),
            (MOST_COMPARED - 10, "and bad", "bad", ["and", "bad"]),
            (MOST_COMPARED - 9, "and bad", "bad", ["and bad", ""]),
        ] {
            let places = TextPlaces::new(&game, &game, &matched);
            places.compared.set(compared);
            let end = text_of(end);
            let next = (PlyId::START, &end);
            let (after, before) = places.split_displaced(Some(&next), text_of(whole));
            let parted = [after, before.map(|(_, text)| text)];
            assert_eq!(parted.map(|part| part.unwrap_or_default().text), parts);
        }
    }
}
