//! What a text leaves open of its remarks, told by the stored game.
//!
//! A tag says once what language most remarks have, and which texts are about
//! the next move. A program that does not know the tag may drop it, and so may
//! a person: nothing of that changes a remark. A text keeps language and place
//! where its words stood before; one whose words are new has the language of
//! the one in whose place it stands, unless the text is of another game. What is
//! new otherwise is in no language.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Matched;
use super::merge::{text_of, words};
use crate::game::{Annotation, Annotations, Game, Nation, Open, PlyId, Text};

/// The edited game, nothing left open.
pub(in crate::cbh) fn settled<'g>(read: &Game, edited: &'g Game) -> Cow<'g, Game> {
    let open = edited.open;
    let usual = Usual {
        language: Some(read.annotations.main_language())
            .filter(|language| open.language && *language != Nation::NONE),
        lead: Some(read.annotations.main_lead()).filter(|lead| open.lead && *lead != 0),
    };
    let is_before = |(_, remark): (PlyId, &Annotation)| matches!(remark, Annotation::TextBefore(_));
    let moves_texts = open.places && read.annotations.iter().any(is_before);
    if usual == Usual::default() && !moves_texts {
        return Cow::Borrowed(edited);
    }
    let matched = Matched::new(&read.tree, &edited.tree);
    let remarks = edited.annotations.iter();
    let mut remarks: Vec<(PlyId, Annotation)> =
        remarks.map(|(ply, remark)| (ply, remark.clone())).collect();
    if moves_texts {
        move_texts(read, edited, &matched, &mut remarks);
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

/// Gives texts after a ply to the next one, if that had them.
fn move_texts(read: &Game, edited: &Game, matched: &Matched, remarks: &mut [(PlyId, Annotation)]) {
    let mut befores: HashMap<PlyId, HashMap<String, PlyId>> = HashMap::new();
    for ply in (1..=edited.tree.len()).filter_map(|index| edited.tree.place(index)) {
        let parent = edited.tree.parent(ply).unwrap_or(PlyId::START);
        let has_one = |remark: &Annotation| matches!(remark, Annotation::TextBefore(_));
        let is_inner = edited.tree.first_child(parent) == Some(ply);
        let Some(was) = matched.read_of(ply).filter(|_| is_inner) else {
            continue;
        };
        if edited.annotations.on(ply).any(has_one) {
            continue;
        }
        for remark in read.annotations.on(was) {
            if let Annotation::TextBefore(text) = remark {
                befores
                    .entry(parent)
                    .or_default()
                    .insert(words([text]), ply);
            }
        }
    }
    if befores.is_empty() {
        return;
    }
    for (ply, remark) in &mut *remarks {
        let Annotation::TextAfter(text) = remark else {
            continue;
        };
        let said = words([&*text]);
        let mut there = matched
            .read_of(*ply)
            .into_iter()
            .flat_map(|was| read.annotations.on(was));
        let stood_there =
            there.any(|old| matches!(old, Annotation::TextAfter(old) if words([old]) == said));
        let next = befores.get(ply).and_then(|texts| texts.get(&said));
        if let Some(next) = next.filter(|_| !stood_there) {
            *ply = *next;
            *remark = Annotation::TextBefore(std::mem::take(text));
        }
    }
    // Texts before come first on their ply, as a reader gives them.
    remarks.sort_by_key(|(ply, remark)| (*ply, !matches!(remark, Annotation::TextBefore(_))));
}

/// What the stored game says of its texts once.
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
