//! The places of remarks on a move: one for each kind, as in the older format.
//!
//! The newer format may hold several remarks of a kind on one move. Squares,
//! arrows and symbols are joined then. Another second one has no place in the
//! values of a game, nor have symbols on the game as a whole: they are kept as
//! the older format stores them.

use crate::cbh::{CodePage, encode_remark};
use crate::game::{Annotation, PlyId};

const SYMBOLS: u8 = 0x03;
const SQUARES: u8 = 0x04;
const ARROWS: u8 = 0x05;

/// Remarks with their plies, of which those on one ply follow each other.
#[derive(Debug, Default)]
pub(super) struct RemarkPlaces {
    remarks: Vec<(PlyId, Annotation)>,
    ply: Option<PlyId>,
    /// A bit for each kind that the ply has.
    taken: [u64; 4],
    /// Where the first of the kinds that can be joined is, among the remarks.
    first: [Option<usize>; 3],
}

impl RemarkPlaces {
    /// Adds a remark, which is stored with this number of its kind.
    pub(super) fn add(&mut self, ply: PlyId, kind: u8, remark: Annotation) {
        if self.ply != Some(ply) {
            self.ply = Some(ply);
            self.taken = [0; 4];
            self.first = [None; 3];
        }
        let remark = match remark {
            // What stands before the first move is about the game.
            Annotation::TextBefore(text) if ply == PlyId::START => Annotation::TextAfter(text),
            remark => remark,
        };
        let has_place = remark.text().is_some() || self.take(kind);
        if !has_place && self.joins(kind, &remark) {
            return;
        }
        let is_of_game = ply == PlyId::START && kind == SYMBOLS;
        let remark = if has_place && !is_of_game {
            self.note(kind);
            remark
        } else {
            let (kind, payload) = encode_remark(&remark, CodePage::WESTERN);
            Annotation::Opaque { kind, payload }
        };
        self.remarks.push((ply, remark));
    }

    /// All remarks, in the order in which they were added.
    pub(super) fn into_remarks(self) -> Vec<(PlyId, Annotation)> {
        self.remarks
    }

    /// Takes the place of a kind; `false` if it is taken.
    fn take(&mut self, kind: u8) -> bool {
        let bit = 1 << (kind % 64);
        let Some(taken) = self.taken.get_mut(usize::from(kind / 64)) else {
            return false;
        };
        std::mem::replace(taken, *taken | bit) & bit == 0
    }

    fn first(&mut self, kind: u8) -> Option<&mut Option<usize>> {
        let kinds = [SYMBOLS, SQUARES, ARROWS];
        let at = kinds.into_iter().position(|known| known == kind)?;
        self.first.get_mut(at)
    }

    /// Notes that the next remark is the first of its kind.
    fn note(&mut self, kind: u8) {
        let at = self.remarks.len();
        if let Some(first) = self.first(kind) {
            *first = Some(at);
        }
    }

    /// Joins a remark with the first of its kind. Returns whether it could.
    fn joins(&mut self, kind: u8, remark: &Annotation) -> bool {
        let first = self.first(kind).and_then(|first| *first);
        let first = first.and_then(|at| self.remarks.get_mut(at));
        match (first, remark) {
            (Some((_, Annotation::Squares(all))), Annotation::Squares(more)) => all.extend(more),
            (Some((_, Annotation::Arrows(all))), Annotation::Arrows(more)) => all.extend(more),
            (Some((_, Annotation::Symbols(all))), Annotation::Symbols(more)) => {
                return join_symbols(all, *more);
            }
            _ => return false,
        }
        true
    }
}

/// Adds symbols whose places are free. Returns whether all are.
fn join_symbols(all: &mut [u8; 3], more: [u8; 3]) -> bool {
    let is_free = |(all, more): (&u8, &u8)| *all == 0 || *more == 0 || all == more;
    if !all.iter().zip(&more).all(is_free) {
        return false;
    }
    for (all, more) in all.iter_mut().zip(more) {
        *all |= more;
    }
    true
}

#[cfg(test)]
mod tests {
    use shakmaty::Square;

    use super::*;
    use crate::game::{AnnotationText, ColoredSquare, Game};

    #[test]
    fn remarks_of_one_kind_are_joined_or_kept_as_stored() {
        let squares = |square| {
            let color = 2;
            Annotation::Squares(vec![ColoredSquare { color, square }])
        };
        let text = AnnotationText::default();
        let mut places = RemarkPlaces::default();
        for (kind, remark) in [
            (0x82, Annotation::TextBefore(text.clone())),
            (0x04, squares(Square::A1)),
            (0x14, Annotation::PawnStructure(3)),
            (0x04, squares(Square::H8)),
            (0x14, Annotation::PawnStructure(4)),
            (0x03, Annotation::Symbols([1, 0, 0])),
        ] {
            places.add(PlyId::START, kind, remark);
        }
        let mut game = Game::default();
        for (ply, remark) in places.into_remarks() {
            game.annotations.add(ply, remark);
        }
        let on: Vec<Annotation> = game.annotations.on(PlyId::START).cloned().collect();
        let opaque = |kind, byte| Annotation::Opaque {
            kind,
            payload: vec![byte],
        };
        let (a1, h8) = (Square::A1, Square::H8);
        let both = [a1, h8].map(|square| ColoredSquare { color: 2, square });
        assert_eq!(
            on,
            [
                Annotation::TextAfter(text),
                Annotation::Squares(both.to_vec()),
                Annotation::PawnStructure(3),
                opaque(0x14, 4),
                opaque(0x03, 1),
            ]
        );
    }

    #[test]
    fn symbols_are_joined_where_there_is_room() {
        let mut all = [1, 0, 0];
        assert!(join_symbols(&mut all, [1, 14, 0]));
        assert_eq!(all, [1, 14, 0]);
        assert!(!join_symbols(&mut all, [2, 0, 140]));
        assert_eq!(all, [1, 14, 0]);
    }
}
