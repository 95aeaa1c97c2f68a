//! Restores properties of annotations that an edited text leaves open, from the
//! stored game.
//!
//! One tag says which language most annotations have, and which texts are about
//! the next move. A program or a person that drops the tag must not change the
//! annotations by that. So a text keeps language and place if the same words
//! had them before. A text with new words gets language and place of the one
//! that it replaces, unless the text is of another game. Other new texts have
//! no language.

mod places;
mod usual;

use std::borrow::Cow;

use super::Matched;
use crate::game::{Annotation, Annotations, Game, Nation, PlyId, Unspecified};
use places::TextPlaces;
use usual::Usual;

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
        remarks = TextPlaces::new(read, edited, &matched).restore(remarks);
    }
    usual.restore(read, &matched, &mut remarks);
    remarks.dedup_by(|(ply, remark), (before, last)| ply == before && last.join(remark));
    let mut game = edited.clone();
    game.open = Unspecified::default();
    game.annotations = Annotations::default();
    game.annotations.append(remarks);
    for (position, remark) in edited.annotations.stray() {
        game.annotations.add_stray(position, remark.clone());
    }
    Cow::Owned(game)
}
