//! Restores properties of annotations that an edited text leaves open, from the
//! stored game.
//!
//! One tag says which language most annotations have, and which texts are about
//! the next move. A program or a person that drops the tag must not change the
//! annotations by that. So a text keeps language and place if the same words
//! had them before. A text with new words gets the language of the one that it
//! replaces, unless the text is of another game. Other new texts have no
//! language.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::Matched;
use super::merge::{text_of, words};
use crate::cbh::edit::diff::compare;
use crate::game::{
    Annotation, Annotations, Game, MoveTree, Nation, Open, PlyId, ShownWord, Text, shown_words,
};

/// Returns the edited game with nothing left open.
pub(in crate::cbh) fn settled<'g>(read: &Game, edited: &'g Game) -> Cow<'g, Game> {
    let open = &edited.open;
    let usual = Usual {
        language: Some(read.annotations.main_language())
            .filter(|language| open.language && *language != Nation::NONE),
        lead: Some(read.annotations.main_lead()).filter(|lead| open.lead && *lead != 0),
    };
    let is_before = |(_, remark): (PlyId, &Annotation)| matches!(remark, Annotation::TextBefore(_));
    let moves_texts = read.annotations.iter().any(is_before);
    if usual == Usual::default() && !moves_texts {
        return Cow::Borrowed(edited);
    }
    let matched = Matched::new(&read.tree, &edited.tree);
    let remarks = edited.annotations.iter();
    let mut remarks: Vec<(PlyId, Annotation)> =
        remarks.map(|(ply, remark)| (ply, remark.clone())).collect();
    if moves_texts {
        remarks = Places::new(read, edited, &matched).restore(remarks);
    }
    usual.restore(read, &matched, &mut remarks);
    remarks.dedup_by(|(ply, remark), (before, last)| ply == before && last.join(remark));
    let mut game = edited.clone();
    game.open = Open::default();
    game.annotations = Annotations::default();
    game.annotations.append(remarks);
    for (position, remark) in edited.annotations.stray() {
        game.annotations.add_stray(position, remark.clone());
    }
    Cow::Owned(game)
}

/// The texts that stood before moves.
struct Places<'g> {
    read: &'g Game,
    edited: &'g Game,
    matched: &'g Matched,
    /// Bytes of texts that were held against each other.
    compared: Cell<usize>,
}

impl<'g> Places<'g> {
    fn new(read: &'g Game, edited: &'g Game, matched: &'g Matched) -> Places<'g> {
        Places {
            read,
            edited,
            matched,
            compared: Cell::new(0),
        }
    }

    fn restore(&self, remarks: Vec<(PlyId, Annotation)>) -> Vec<(PlyId, Annotation)> {
        let namesakes = self.namesakes();
        let mut lost = self.lost();
        if namesakes.is_empty() && lost.is_empty() {
            return remarks;
        }
        let mut restored = Vec::with_capacity(remarks.len());
        for (ply, remark) in remarks {
            match remark {
                Annotation::TextBefore(text) if namesakes.contains(&ply) => {
                    let parent = self.edited.tree.parent(ply).unwrap_or(PlyId::START);
                    restored.push((parent, Annotation::TextAfter(text)));
                }
                Annotation::TextAfter(text) if lost.contains_key(&ply) => {
                    let texts = lost.entry(ply).or_default();
                    let (after, before) = self.parted(texts, ply, text);
                    restored.extend(after.map(|text| (ply, Annotation::TextAfter(text))));
                    restored
                        .extend(before.map(|(next, text)| (next, Annotation::TextBefore(text))));
                }
                remark => restored.push((ply, remark)),
            }
        }
        // Texts before come first on their ply, as a reader gives them.
        restored.sort_by_key(|(ply, remark)| (*ply, !matches!(remark, Annotation::TextBefore(_))));
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
            remarks.filter(|(_, remark)| matches!(remark, Annotation::TextBefore(_)))
        };
        let names = Names::new(&self.read.tree);
        let names: HashSet<Name> = befores().filter_map(|(ply, _)| names.of(ply)).collect();
        let said: HashSet<String> = befores().map(|(_, text)| words(text.text())).collect();
        let edited = Names::new(&self.edited.tree);
        let is_namesake = |ply: &PlyId| {
            let has_one = self
                .matched
                .read_of(*ply)
                .is_some_and(|was| texts_before(self.read, was).next().is_some());
            let mut texts = texts_before(self.edited, *ply);
            !has_one
                && edited.of(*ply).is_some_and(|name| names.contains(&name))
                && !texts.any(|text| said.contains(&words([text])))
        };
        named.iter().copied().filter(is_namesake).collect()
    }

    /// The stored texts before plies that have none now, by the ply after
    /// which they would stand.
    fn lost(&self) -> HashMap<PlyId, Vec<(PlyId, &'g Text)>> {
        let mut lost: HashMap<PlyId, Vec<(PlyId, &Text)>> = HashMap::new();
        let tree = &self.edited.tree;
        for ply in (1..=tree.len()).filter_map(|index| tree.place(index)) {
            let Some(was) = self.matched.read_of(ply).filter(|_| is_inner(tree, ply)) else {
                continue;
            };
            // A text at the begin of a variation needs no name until that is
            // promoted.
            let is_open = self.edited.open.places || !is_inner(&self.read.tree, was);
            if !is_open || texts_before(self.edited, ply).next().is_some() {
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
        texts: &mut Vec<(PlyId, &Text)>,
        ply: PlyId,
        text: Text,
    ) -> (Option<Text>, Option<(PlyId, Text)>) {
        let was = self.matched.read_of(ply).into_iter();
        let stood_there = was
            .flat_map(|was| self.read.annotations.on(was))
            .filter(|old| matches!(old, Annotation::TextAfter(_)))
            .filter_map(text_of)
            .take(MOST_BEFORE);
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
    fn likeness(&self, old: &Text, new: &str) -> usize {
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
struct Names<'g> {
    tree: &'g MoveTree,
    depths: Vec<usize>,
}

impl<'g> Names<'g> {
    fn new(tree: &'g MoveTree) -> Names<'g> {
        Names {
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

fn texts_before(game: &Game, ply: PlyId) -> impl Iterator<Item = &Text> {
    let remarks = game.annotations.on(ply);
    remarks.filter_map(|remark| match remark {
        Annotation::TextBefore(text) => Some(text),
        _ => None,
    })
}

/// More texts of one place are not told apart.
const MOST_BEFORE: usize = 8;

/// A text that ends in the words of another, parted before them.
fn parted_at_end(text: &Text, end: &Text) -> Option<(Text, Text)> {
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
    let part = |part: &str| Text {
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

/// The language and lead that the texts of the stored game usually have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usual {
    language: Option<Nation>,
    lead: Option<u8>,
}

impl Usual {
    fn restore(self, read: &Game, matched: &Matched, remarks: &mut [(PlyId, Annotation)]) {
        let texts = read.annotations.iter();
        let texts = texts.filter_map(|(_, remark)| text_of(remark));
        // Of texts of the same words one that is in no language counts.
        let mut anywhere: HashMap<String, &Text> = HashMap::new();
        for text in texts {
            let known = anywhere.entry(words([text])).or_insert(text);
            if text.language == Nation::NONE {
                *known = text;
            }
        }
        let mut edited = remarks.iter().filter_map(|(_, remark)| text_of(remark));
        let is_same_game =
            matched.is_same || edited.any(|text| anywhere.contains_key(&words([text])));
        for (ply, remark) in remarks {
            let is_before = matches!(remark, Annotation::TextBefore(_));
            let (Annotation::TextBefore(text) | Annotation::TextAfter(text)) = remark else {
                continue;
            };
            let was = matched.read_of(*ply).into_iter();
            let there: Vec<&Text> = was
                .flat_map(|was| read.annotations.on(was))
                .filter(|old| matches!(old, Annotation::TextBefore(_)) == is_before)
                .filter_map(text_of)
                .collect();
            let said = words([&*text]);
            let same = there.iter().copied().find(|old| words([*old]) == said);
            if let Some(old) = same.or_else(|| anywhere.get(&said).copied()) {
                self.give(text, &[old]);
            } else if is_same_game {
                self.give(text, &there);
            }
        }
    }

    /// Gives a text what some stored ones have, if none of them says otherwise.
    fn give(self, text: &mut Text, old: &[&Text]) {
        if let Some(language) = self.language.filter(|_| text.language == Nation::NONE)
            && old.iter().any(|old| old.language == language)
            && old.iter().all(|old| old.language != Nation::NONE)
        {
            text.language = language;
        }
        if let Some(lead) = self.lead.filter(|_| text.lead == 0)
            && old.iter().any(|old| old.lead == lead)
            && old.iter().all(|old| old.lead != 0)
        {
            text.lead = lead;
        }
    }
}
