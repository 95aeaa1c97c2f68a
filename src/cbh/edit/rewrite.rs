//! Encodes an edited game, and keeps the stored bytes of unchanged parts.
//!
//! The PGN of a game shows less than its bytes: not double blanks, the order of
//! annotations, bytes of a code page or an old encoding mode. So each part of
//! an edited game is compared with the decoded stored game, and keeps its
//! stored bytes if it is equal.

mod matched;
mod merge;
mod open;

use std::ops::Range;

use crate::cbh::annotations::{self, StoredRemark};
use crate::cbh::moves::{self, EncodeError, Encoded};
use crate::cbh::{CodePage, GameId, StoredGame};
use crate::game::{Annotation, Game, MoveTree, Ply, PlyId};
use matched::Matched;
use merge::AnnotationMerge;
pub(in crate::cbh) use open::settled;

/// Encodes a new game.
///
/// # Errors
///
/// [`EncodeError`] if the format cannot hold it.
pub fn write(id: GameId, game: &Game, page: CodePage) -> Result<StoredGame, EncodeError> {
    write_encoded(id, game, &moves::encode(game)?, page)
}

/// As [`fn@write`], for a game with encoded moves.
pub(in crate::cbh) fn write_encoded(
    id: GameId,
    game: &Game,
    encoded: &Encoded,
    page: CodePage,
) -> Result<StoredGame, EncodeError> {
    annotations::ensure_room(game, page)?;
    let remarks = game.annotations.iter().map(|(ply, remark)| {
        let position = encoded.sequence.position(ply).unwrap_or(i32::MAX);
        (position, remark)
    });
    let mut remarks: Vec<Remark> = remarks
        .chain(game.annotations.stray())
        .map(|(position, remark)| {
            let (kind, payload) = annotations::encode_remark(remark, page);
            (position, kind, payload)
        })
        .collect();
    remarks.sort_by_key(|(position, ..)| *position);
    Ok(StoredGame {
        moves: encoded.blob.clone(),
        annotations: annotations::encode(id.0, &remarks)?,
    })
}

/// Encodes `edited`, an edit of `read`, which is the decoded form of `stored`.
/// Without any change the result is `stored`, byte for byte.
///
/// # Errors
///
/// [`EncodeError`] if the format cannot hold the edited game.
pub fn rewrite(
    id: GameId,
    stored: &StoredGame,
    read: &Game,
    edited: &Game,
    page: CodePage,
) -> Result<StoredGame, EncodeError> {
    rewrite_settled(id, stored, read, &settled(read, edited), page)
}

/// As [`rewrite`], for an edit that is [`settled`]. The tags that have no field may be
/// in its text about the game: that is not to be settled as words of the user.
pub(in crate::cbh) fn rewrite_settled(
    id: GameId,
    stored: &StoredGame,
    read: &Game,
    edited: &Game,
    page: CodePage,
) -> Result<StoredGame, EncodeError> {
    annotations::ensure_room(edited, page)?;
    let matched = Matched::new(&read.tree, &edited.tree);
    let keeps_moves = matched.is_same && read.start.is_stored_as(&edited.start);
    let (moves, sequence) = if keeps_moves {
        (stored.moves.clone(), None)
    } else {
        let encoded = moves::encode(edited)?;
        (encoded.blob, Some(encoded.sequence))
    };
    let position = |ply: PlyId| match &sequence {
        Some(sequence) => sequence.position(ply).unwrap_or(i32::MAX),
        None => position_of(matched.stored_ply(ply).unwrap_or(ply)),
    };
    let record = stored.annotations.as_deref().unwrap_or_default();
    let old = OldRemarks::new(record, &read.tree, page);
    let mut merge = AnnotationMerge::new(&old.remarks, page);
    for index in 0..=edited.tree.len() {
        if let Some(ply) = edited.tree.place(index) {
            let kept = matched.stored_ply(ply).map_or(0..0, |read| old.on(read));
            merge.ply(position(ply), kept, edited.annotations.on(ply));
        }
    }
    let mut remarks = merge.finish();
    // Such a game has defects and is never written, but nothing is dropped
    // here.
    remarks.extend(old.stray().map(|remark| MergedRemark {
        position: remark.position,
        kind: remark.kind,
        payload: remark.payload.to_vec(),
        was: None,
    }));
    remarks.sort_by_key(|remark| remark.position);
    let annotations = if old.are(&remarks) {
        stored.annotations.clone()
    } else {
        if keeps_moves {
            remarks = old.in_record_order(remarks);
        }
        let remarks: Vec<Remark> = remarks.into_iter().map(MergedRemark::stored).collect();
        annotations::encode(id.0, &remarks)?
    };
    Ok(StoredGame { moves, annotations })
}

/// Returns whether both trees have the same moves in the same order.
pub(in crate::cbh) fn has_same_moves(one: &MoveTree, other: &MoveTree) -> bool {
    match (one.only_line(), other.only_line()) {
        (Some(one), Some(other)) => {
            let is_same = |(one, other): (&Ply, &Ply)| one.mv == other.mv;
            one.len() == other.len() && one.iter().zip(other).all(is_same)
        }
        _ => Matched::new(one, other).is_same,
    }
}

/// Returns the stream position of a ply of a decoded tree, whose ids are in
/// stream order.
fn position_of(ply: PlyId) -> i32 {
    i32::try_from(ply.index()).map_or(i32::MAX, |index| index - 1)
}

/// An annotation to be stored: position, kind, payload.
type Remark = (i32, u8, Vec<u8>);

/// An annotation of the edited game.
struct MergedRemark {
    position: i32,
    kind: u8,
    payload: Vec<u8>,
    /// Index of the stored annotation that it replaces.
    was: Option<usize>,
}

impl MergedRemark {
    fn stored(self) -> Remark {
        (self.position, self.kind, self.payload)
    }
}

/// A stored annotation, raw and decoded.
type OldRemark<'a> = (StoredRemark<'a>, Annotation);

/// The annotations of the stored record, raw and decoded.
struct OldRemarks<'a> {
    /// Sorted by position; those of one position in stored order.
    remarks: Vec<OldRemark<'a>>,
    /// Index of each in the record, if the record is not sorted by position.
    places: Option<Vec<usize>>,
    /// Number of plies of the game.
    plies: usize,
}

impl<'a> OldRemarks<'a> {
    fn new(record: &'a [u8], tree: &MoveTree, page: CodePage) -> OldRemarks<'a> {
        OldRemarks {
            remarks: annotations::decoded(record, page),
            places: places(record),
            plies: tree.len(),
        }
    }

    /// Indices of the annotations of one ply.
    fn on(&self, ply: PlyId) -> Range<usize> {
        let position = position_of(ply);
        let before = |limit| {
            self.remarks
                .partition_point(move |(remark, _)| remark.position < limit)
        };
        before(position)..before(position.saturating_add(1))
    }

    /// Annotations at positions without a ply.
    fn stray(&self) -> impl Iterator<Item = &StoredRemark<'a>> {
        let last = i64::try_from(self.plies).unwrap_or(i64::MAX) - 1;
        let is_stray = move |position: i32| position < -1 || i64::from(position) > last;
        let remarks = self.remarks.iter().map(|(remark, _)| remark);
        remarks.filter(move |remark| is_stray(remark.position))
    }

    /// Returns whether these are the annotations, byte for byte.
    fn are(&self, remarks: &[MergedRemark]) -> bool {
        let old = self.remarks.iter().map(|(remark, _)| remark);
        old.map(|remark| (remark.position, remark.kind, remark.payload))
            .eq(remarks
                .iter()
                .map(|remark| (remark.position, remark.kind, remark.payload.as_slice())))
    }

    /// Sorts annotations into the order of the record. A new one stays behind
    /// its predecessor.
    fn in_record_order(&self, remarks: Vec<MergedRemark>) -> Vec<MergedRemark> {
        let Some(places) = &self.places else {
            return remarks;
        };
        let mut last = 0;
        let with_place = |remark: MergedRemark| {
            let place = remark.was.and_then(|was| places.get(was));
            last = place.copied().unwrap_or(last);
            (last, remark)
        };
        let mut remarks: Vec<_> = remarks.into_iter().map(with_place).collect();
        remarks.sort_by_key(|(place, _)| *place);
        remarks.into_iter().map(|(_, remark)| remark).collect()
    }
}

/// Returns the index in the record of each annotation, sorted by position;
/// `None` if the record is sorted.
fn places(record: &[u8]) -> Option<Vec<usize>> {
    let stored = annotations::remarks(record);
    let positions: Vec<i32> = stored.map(|remark| remark.position).collect();
    if positions.is_sorted() {
        return None;
    }
    let mut places: Vec<usize> = (0..positions.len()).collect();
    places.sort_by_key(|&place| positions.get(place));
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::{Database, Decoded, Options};

    #[test]
    fn a_game_that_is_written_anew_is_read_as_it_was() {
        let path = "fixtures/cbh/sample/sample.cbh".as_ref();
        let database = Database::open(path, &Options::default()).unwrap();
        let (mut decoded, mut remarks) = (Decoded::default(), 0);
        for id in (1..=database.last_id()).map(GameId) {
            if database.read_game(id, &mut decoded).is_err() {
                continue;
            }
            let game = &decoded.game;
            let stored = write(id, game, database.code_page()).unwrap();
            let mut again = Game::default();
            stored.decode(database.code_page(), &mut again).unwrap();
            assert!(has_same_moves(&game.tree, &again.tree), "{}", id.0);
            assert_eq!(again.annotations, game.annotations, "{}", id.0);
            let number = stored.annotations.map(|record| record[..3].to_vec());
            remarks += usize::from(number.is_some());
            let wanted = [0, 0, u8::try_from(id.0).unwrap()];
            assert!(number.is_none_or(|number| number == wanted));
        }
        assert!(remarks > 0);
    }
}
