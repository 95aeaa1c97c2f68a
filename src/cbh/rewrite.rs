//! An edited game back into the bytes of a base, keeping what the edit does
//! not concern.
//!
//! The text of a game shows less than its bytes: double blanks, the order of
//! remarks, bytes of a code page, an old encoding mode. So an edited game is
//! held against the one the bytes were read as, part by part, and each part
//! that says the same keeps its bytes.

use std::collections::{HashMap, VecDeque};

use shakmaty::Move;

use super::annotations::{self, StoredRemark};
use super::moves::{self, EncodeError, Encoded};
use super::{CodePage, GameId, StoredGame};
use crate::game::{Annotation, Game, MoveTree, PlyId, Start, Text};

/// The bytes of a new game.
///
/// # Errors
///
/// [`EncodeError`] if the format cannot hold it.
pub fn write(id: GameId, game: &Game, page: CodePage) -> Result<StoredGame, EncodeError> {
    write_encoded(id, game, moves::encode(game)?, page)
}

/// As [`write`], of a game whose moves are encoded already.
pub(super) fn write_encoded(
    id: GameId,
    game: &Game,
    encoded: Encoded,
    page: CodePage,
) -> Result<StoredGame, EncodeError> {
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
        moves: encoded.blob,
        annotations: annotations::encode(id.0, &remarks)?,
    })
}

/// The bytes of `edited`, which was made from the text of `read`, which is
/// what `stored` says. An edit that changes nothing gives `stored` again,
/// byte for byte.
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
    let matched = Matched::new(&read.tree, &edited.tree);
    let keeps_moves = matched.is_same && starts_alike(&read.start, &edited.start);
    let (moves, sequence) = if keeps_moves {
        (stored.moves.clone(), None)
    } else {
        let encoded = moves::encode(edited)?;
        (encoded.blob, Some(encoded.sequence))
    };
    let position = |ply: PlyId| match &sequence {
        Some(sequence) => sequence.position(ply).unwrap_or(i32::MAX),
        None => position_of(matched.read_of(ply).unwrap_or(ply)),
    };
    let record = stored.annotations.as_deref().unwrap_or_default();
    let old = OldRemarks::new(record, &read.tree, page);
    let mut remarks = Vec::new();
    for index in 0..=edited.tree.len() {
        let Some(ply) = edited.tree.place(index) else {
            continue;
        };
        let kept = matched.read_of(ply).map_or(&[][..], |read| old.on(read));
        let merged = merge(kept, edited.annotations.on(ply), page);
        let at = position(ply);
        remarks.extend(
            merged
                .into_iter()
                .map(|(kind, payload)| (at, kind, payload)),
        );
    }
    merge_stray(&old, edited, page, &mut remarks);
    remarks.sort_by_key(|(position, ..)| *position);
    let annotations = if old.are(&remarks) {
        stored.annotations.clone()
    } else {
        annotations::encode(id.0, &remarks)?
    };
    Ok(StoredGame { moves, annotations })
}

/// Whether both trees have the same moves, in the same order everywhere.
pub(super) fn has_same_moves(one: &MoveTree, other: &MoveTree) -> bool {
    Matched::new(one, other).is_same
}

/// The position of a ply of a decoded tree, whose ids are in the order of
/// the stream.
fn position_of(ply: PlyId) -> i32 {
    i32::try_from(ply.index()).map_or(i32::MAX, |index| index - 1)
}

/// Whether both starts have the same text.
pub(super) fn starts_alike(a: &Start, b: &Start) -> bool {
    let fen = |start: &Start| {
        let mut fen = Vec::new();
        start.append_fen_to(&mut fen);
        fen
    };
    a.is_set_up == b.is_set_up && a.is_chess960 == b.is_chess960 && fen(a) == fen(b)
}

/// Which ply of the game that was read each ply of the edited one was.
struct Matched {
    /// By index of the edited ply; the start is matched with the start.
    read: Vec<Option<PlyId>>,
    /// The same moves, in the same order everywhere.
    is_same: bool,
}

impl Matched {
    /// Matches plies that are reached by the same moves; of equal
    /// alternatives the first with the first.
    fn new(read: &MoveTree, edited: &MoveTree) -> Matched {
        let mut matched = Matched {
            read: vec![None; edited.len() + 1],
            is_same: read.len() == edited.len(),
        };
        let mut open = vec![(PlyId::START, PlyId::START)];
        while let Some((old, new)) = open.pop() {
            if let Some(place) = matched.read.get_mut(new.index()) {
                *place = Some(old);
            }
            let mut left = children_by_move(read, old);
            for (at, child) in children(edited, new).enumerate() {
                let same_move = left.get_mut(&move_of(edited, child));
                match same_move.and_then(VecDeque::pop_front) {
                    Some((place, was)) => {
                        matched.is_same &= place == at;
                        open.push((was, child));
                    }
                    None => matched.is_same = false,
                }
            }
        }
        matched
    }

    fn read_of(&self, edited: PlyId) -> Option<PlyId> {
        *self.read.get(edited.index())?
    }
}

fn children(tree: &MoveTree, parent: PlyId) -> impl Iterator<Item = PlyId> + '_ {
    std::iter::successors(tree.first_child(parent), |&child| tree.next_sibling(child))
}

fn move_of(tree: &MoveTree, ply: PlyId) -> Option<Move> {
    tree.ply(ply)?.mv
}

/// The children of a ply, with their place among them, by their move.
fn children_by_move(
    tree: &MoveTree,
    parent: PlyId,
) -> HashMap<Option<Move>, VecDeque<(usize, PlyId)>> {
    let mut by_move: HashMap<_, VecDeque<_>> = HashMap::new();
    for (at, child) in children(tree, parent).enumerate() {
        by_move
            .entry(move_of(tree, child))
            .or_default()
            .push_back((at, child));
    }
    by_move
}

/// A remark to be stored: position, kind, payload.
type Remark = (i32, u8, Vec<u8>);

/// The remarks of the stored record, with what they say.
struct OldRemarks<'a> {
    /// In order of their positions; those of one position as stored.
    remarks: Vec<(StoredRemark<'a>, Annotation)>,
    /// Number of plies of the game.
    plies: usize,
}

impl<'a> OldRemarks<'a> {
    fn new(record: &'a [u8], tree: &MoveTree, page: CodePage) -> OldRemarks<'a> {
        let stored = annotations::remarks(record).map_while(Result::ok);
        let mut remarks: Vec<_> = stored
            .map(|remark| {
                let value = annotations::decode_remark(remark.kind, remark.payload, page);
                (remark, value)
            })
            .collect();
        remarks.sort_by_key(|(remark, _)| remark.position);
        OldRemarks {
            remarks,
            plies: tree.len(),
        }
    }

    /// Those of one ply.
    fn on(&self, ply: PlyId) -> &[(StoredRemark<'a>, Annotation)] {
        let position = position_of(ply);
        let before = |limit| {
            self.remarks
                .partition_point(move |(remark, _)| remark.position < limit)
        };
        let range = before(position)..before(position.saturating_add(1));
        self.remarks.get(range).unwrap_or_default()
    }

    /// Those at positions without a ply.
    fn stray(&self) -> impl Iterator<Item = &(StoredRemark<'a>, Annotation)> {
        let last = i64::try_from(self.plies).unwrap_or(i64::MAX) - 1;
        let is_stray = move |position: i32| position < -1 || i64::from(position) > last;
        self.remarks
            .iter()
            .filter(move |(remark, _)| is_stray(remark.position))
    }

    /// Whether these are the remarks, byte for byte.
    fn are(&self, remarks: &[Remark]) -> bool {
        let old = self.remarks.iter().map(|(remark, _)| remark);
        old.map(|remark| (remark.position, remark.kind, remark.payload))
            .eq(remarks
                .iter()
                .map(|(position, kind, payload)| (*position, *kind, payload.as_slice())))
    }
}

/// The remarks of one ply: stored ones that the edit left, in their order,
/// with their bytes; then the others, each where ChessBase has its kind.
fn merge<'e>(
    old: &[(StoredRemark<'_>, Annotation)],
    edited: impl Iterator<Item = &'e Annotation>,
    page: CodePage,
) -> Vec<(u8, Vec<u8>)> {
    let mut keeps = vec![false; old.len()];
    let mut added = Vec::new();
    for remark in edited {
        let same = unchanged(old, &keeps, remark, page);
        if same.is_empty() {
            added.push(annotations::encode_remark(remark, page));
        }
        for at in same {
            if let Some(keep) = keeps.get_mut(at) {
                *keep = true;
            }
        }
    }
    let kept = old.iter().zip(&keeps).filter(|(_, keep)| **keep);
    let mut merged: Vec<_> = kept
        .map(|((remark, _), _)| (remark.kind, remark.payload.to_vec()))
        .collect();
    for remark in added {
        let after = merged
            .iter()
            .rposition(|(kind, _)| rank(*kind) <= rank(remark.0));
        merged.insert(after.map_or(0, |at| at + 1), remark);
    }
    merged
}

/// Which stored remarks, not taken yet, say together what `remark` says:
/// one, or texts of one language, which are one text to a reader.
fn unchanged(
    old: &[(StoredRemark<'_>, Annotation)],
    taken: &[bool],
    remark: &Annotation,
    page: CodePage,
) -> Vec<usize> {
    let free = || {
        let all = old.iter().zip(taken).enumerate();
        all.filter(|(_, (_, taken))| !**taken)
            .map(|(at, ((_, value), _))| (at, value))
    };
    if let Some((at, _)) = free().find(|(_, value)| says_the_same(value, remark, page)) {
        return vec![at];
    }
    let Some(text) = text_of(remark) else {
        return Vec::new();
    };
    let is_part = |value: &Annotation| {
        std::mem::discriminant(value) == std::mem::discriminant(remark)
            && text_of(value).is_some_and(|part| part.language == text.language)
    };
    let parts: Vec<_> = free().filter(|(_, value)| is_part(value)).collect();
    let joined: Vec<&str> = parts
        .iter()
        .filter_map(|(_, value)| Some(text_of(value)?.text.as_str()))
        .collect();
    let whole = Text {
        text: joined.join(" "),
        ..text.clone()
    };
    if whole.shows_the_same(text) {
        parts.into_iter().map(|(at, _)| at).collect()
    } else {
        Vec::new()
    }
}

fn text_of(remark: &Annotation) -> Option<&Text> {
    match remark {
        Annotation::TextAfter(text) | Annotation::TextBefore(text) => Some(text),
        _ => None,
    }
}

fn says_the_same(old: &Annotation, new: &Annotation, page: CodePage) -> bool {
    match (old, new) {
        (Annotation::TextAfter(old), Annotation::TextAfter(new))
        | (Annotation::TextBefore(old), Annotation::TextBefore(new)) => old.shows_the_same(new),
        _ => {
            old == new
                || annotations::encode_remark(old, page) == annotations::encode_remark(new, page)
        }
    }
}

/// The usual order of kinds on one ply: text before, symbols, text after,
/// the rest.
fn rank(kind: u8) -> u8 {
    match kind {
        0x82 => 0,
        0x03 => 1,
        0x02 => 2,
        _ => 3,
    }
}

/// Remarks at positions without a ply stay at their positions.
fn merge_stray(old: &OldRemarks<'_>, edited: &Game, page: CodePage, remarks: &mut Vec<Remark>) {
    let mut left: Vec<_> = old.stray().collect();
    for (position, remark) in edited.annotations.stray() {
        let same = left.iter().position(|(old, value)| {
            old.position == position && says_the_same(value, remark, page)
        });
        let (kind, payload) = match same.map(|at| left.remove(at)) {
            Some((old, _)) => (old.kind, old.payload.to_vec()),
            None => annotations::encode_remark(remark, page),
        };
        remarks.push((position, kind, payload));
    }
}
