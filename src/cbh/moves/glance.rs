//! A glance at a main line: where its pieces come, without a question whether
//! its moves are legal.
//!
//! This takes a fraction of the time of decoding, and tells most games that a
//! search does not want. The main line stands in front of all variations, up to
//! the first end of a line.

use shakmaty::{Bitboard, CastlingSide, Color, File, Move, Rank, Role, Square};

use super::decode::{Encoding, MoveDecoder};
use super::opcode::{OPCODES, Opcode, stepped};
use super::pieces::{PieceList, Slot};
use super::{HEAD_BYTES, SET_UP, word};
use crate::bytes::ByteReader;
use crate::game::{Glimpse, MoveEffect, Placement};

impl MoveDecoder {
    /// Shows each placement of the main line of `blob`, which is exactly one
    /// game, from the start on, until `show` returns false. Those up to the last
    /// ply that [`decode`](MoveDecoder::decode) reads are as it reads them; more
    /// may follow in a damaged game.
    ///
    /// Returns false if the game cannot be followed that way, because it begins
    /// with a set-up position, is Chess960, has the simple encoding, or does what
    /// no game does. What was shown then tells nothing.
    pub(in crate::cbh) fn glance(
        &self,
        blob: &[u8],
        show: &mut dyn FnMut(Glimpse<'_>) -> bool,
    ) -> bool {
        self.follow(blob, show).is_ok()
    }

    fn follow(
        &self,
        blob: &[u8],
        show: &mut dyn FnMut(Glimpse<'_>) -> bool,
    ) -> Result<(), Unclear> {
        let flags = *blob.first().ok_or(Unclear)?;
        let encoding = Encoding::of_mode(flags & 0x3f).map_err(|_| Unclear)?;
        if flags & SET_UP != 0 || encoding.is_chess960 || !encoding.is_compact {
            return Err(Unclear);
        }
        let mut reader = ByteReader::new(blob);
        reader.skip(HEAD_BYTES).map_err(|_| Unclear)?;
        let [from_a1, from_h8] = &self.usual;
        let pieces = if encoding.from_h8 { from_h8 } else { from_a1 };
        let mut line = MainLine {
            encoding,
            reader,
            count: 0,
            pieces: pieces.clone(),
            placement: self.usual_placement,
        };
        let mut effect = MoveEffect::Material;
        loop {
            let shown = Glimpse {
                placement: &line.placement,
                effect,
                most_left: line.reader.rest().len(),
            };
            if !show(shown) {
                return Ok(());
            }
            let Some(next) = line.next_move()? else {
                return Ok(());
            };
            effect = next;
        }
    }
}

/// The main line cannot be followed without the rules.
struct Unclear;

/// A main line that is followed.
struct MainLine<'a> {
    encoding: Encoding,
    reader: ByteReader<'a>,
    /// Moves so far, modulo 256.
    count: u8,
    pieces: PieceList,
    placement: Placement,
}

impl MainLine<'_> {
    #[inline]
    fn next(&mut self) -> Option<u8> {
        let byte = self.reader.u8().ok()?;
        Some(self.encoding.cipher.decode(byte, self.count))
    }

    /// Plays the next move; tells what it changes. `None` at the end of the line.
    #[inline]
    fn next_move(&mut self) -> Result<Option<MoveEffect>, Unclear> {
        let effect = loop {
            let Some(code) = self.next() else {
                return Ok(None);
            };
            match OPCODES.get(usize::from(code)).copied().ok_or(Unclear)? {
                Opcode::Step(slot, files, ranks) => break self.step(slot, files, ranks)?,
                Opcode::PawnStep(slot, files, ranks) => {
                    let sign = self.placement.turn.fold_wb(1, -1);
                    break self.step(slot, files * sign, ranks * sign)?;
                }
                Opcode::CastleShort => break self.castle(CastlingSide::KingSide)?,
                Opcode::CastleLong => break self.castle(CastlingSide::QueenSide)?,
                Opcode::Null => {
                    self.placement.play(None);
                    break MoveEffect::Squares;
                }
                Opcode::TwoBytes => break self.two_bytes()?,
                Opcode::Ignore | Opcode::Push => {}
                Opcode::Pop => return Ok(None),
                Opcode::Unused => return Err(Unclear),
            }
        };
        self.count = self.count.wrapping_add(1);
        Ok(Some(effect))
    }

    #[inline]
    fn step(&mut self, slot: Slot, files: i8, ranks: i8) -> Result<MoveEffect, Unclear> {
        let us = self.placement.turn;
        let from = self.pieces.square(us, slot).ok_or(Unclear)?;
        let to = stepped(from, files, ranks);
        let m = self.move_of(slot.role(), from, to, None)?;
        self.placement.play(Some(m));
        self.pieces.take(us, m);
        self.pieces.relocate_slot(us, slot, to);
        Ok(MoveEffect::by(m))
    }

    /// From, to and promotion in two bytes.
    #[cold]
    fn two_bytes(&mut self) -> Result<MoveEffect, Unclear> {
        let (Some(high), Some(low)) = (self.next(), self.next()) else {
            return Err(Unclear);
        };
        let word = u16::from_be_bytes([high, low]);
        let (from, to) = word::squares(word);
        let role = self.placement.role_at(from).ok_or(Unclear)?;
        let castles = role == Role::King && from.file().distance(to.file()) > 1;
        if castles || !self.placement.side(self.placement.turn).contains(from) {
            return Err(Unclear);
        }
        let promotes = role == Role::Pawn && Bitboard::BACKRANKS.contains(to);
        let promotion = promotes.then(|| word::promotion(word));
        let m = self.move_of(role, from, to, promotion)?;
        self.play(m);
        Ok(MoveEffect::by(m))
    }

    /// The move of a piece, which goes to no square of its own side, and takes no
    /// king.
    #[inline]
    fn move_of(
        &self,
        role: Role,
        from: Square,
        to: Square,
        promotion: Option<Role>,
    ) -> Result<Move, Unclear> {
        let (us, them) = (self.placement.turn, !self.placement.turn);
        if self.placement.side(us).contains(to) {
            return Err(Unclear);
        }
        let is_taken = self.placement.side(them).contains(to);
        if !is_taken && role == Role::Pawn && from.file() != to.file() {
            let passed = Square::from_coords(to.file(), from.rank());
            self.ensure(them, Role::Pawn, passed)?;
            return Ok(Move::EnPassant { from, to });
        }
        let capture = match self.placement.role_at(to).filter(|_| is_taken) {
            Some(Role::King) => return Err(Unclear),
            capture => capture,
        };
        Ok(Move::Normal {
            role,
            from,
            capture,
            to,
            promotion,
        })
    }

    #[cold]
    fn castle(&mut self, side: CastlingSide) -> Result<MoveEffect, Unclear> {
        let us = self.placement.turn;
        let rank = us.fold_wb(Rank::First, Rank::Eighth);
        let from = if side.is_king_side() {
            File::H
        } else {
            File::A
        };
        let king = Square::from_coords(File::E, rank);
        let rook = Square::from_coords(from, rank);
        self.ensure(us, Role::King, king)?;
        self.ensure(us, Role::Rook, rook)?;
        self.play(Move::Castle { king, rook });
        Ok(MoveEffect::Squares)
    }

    fn ensure(&self, side: Color, role: Role, on: Square) -> Result<(), Unclear> {
        let is_there =
            self.placement.side(side).contains(on) && self.placement.role_at(on) == Some(role);
        is_there.then_some(()).ok_or(Unclear)
    }

    fn play(&mut self, m: Move) {
        self.pieces.play(self.placement.turn, m);
        self.placement.play(Some(m));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::cbh::{Database, Decoded, GameId, Options};
    use crate::game::{Game, PlyId};

    /// The placements of the main line as the rules have it.
    fn by_the_rules(game: &Game) -> Vec<Placement> {
        let mut position = game.start.position.clone();
        let mut all = vec![Placement::of(&position)];
        let mut at = PlyId::START;
        while let Some(next) = game.tree.first_child(at) {
            match game.tree.ply(next).unwrap().mv {
                Some(m) => drop(position.play(m).unwrap()),
                None => position.play_null(),
            }
            all.push(Placement::of(&position));
            at = next;
        }
        all
    }

    fn shown(blob: &[u8]) -> Option<Vec<(Placement, usize)>> {
        let mut all = Vec::new();
        let is_followed = MoveDecoder::default().glance(blob, &mut |shown| {
            all.push((*shown.placement, shown.most_left));
            true
        });
        is_followed.then_some(all)
    }

    /// Whether a game can be followed; then the placements are those of the
    /// rules, as far as these go.
    fn agrees(blob: &[u8]) -> bool {
        let mut game = Game::default();
        let is_whole = MoveDecoder::default()
            .decode(blob, u8::MAX, &mut game)
            .is_ok();
        let Some(shown) = shown(blob) else {
            return false;
        };
        let expected = by_the_rules(&game);
        assert!(shown.len() >= expected.len());
        assert!(!is_whole || shown.len() == expected.len());
        for (at, (expected, (placement, left))) in expected.iter().zip(&shown).enumerate() {
            assert_eq!(placement, expected, "after {at} plies");
            assert!(*left >= game.tree.main_line_len() - at);
        }
        true
    }

    fn blobs(of: &str) -> Vec<Vec<u8>> {
        let database = Database::open(Path::new(of), &Options::default()).unwrap();
        let ids = (1..=database.last_id()).map(GameId);
        let stored = ids.filter_map(|id| database.stored_game(id).ok());
        stored.map(|stored| stored.moves).collect()
    }

    #[test]
    fn a_glance_sees_what_decoding_sees() {
        let (mut followed, mut all) = (0, 0);
        for entry in std::fs::read_dir("fixtures/cbh").unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
            let base = folder.join(name).with_extension("cbh");
            if !base.exists() {
                continue;
            }
            let Ok(database) = Database::open(&base, &Options::default()) else {
                continue;
            };
            for id in (1..=database.last_id()).map(GameId) {
                if let Ok(stored) = database.stored_game(id) {
                    followed += usize::from(agrees(&stored.moves));
                    all += 1;
                }
            }
        }
        assert!(followed * 2 > all, "{followed} of {all}");
    }

    #[test]
    fn a_glance_ends_when_it_is_told() {
        let blob = blobs("fixtures/cbh/sample/sample.cbh").remove(0);
        let mut count = 0;
        assert!(MoveDecoder::default().glance(&blob, &mut |_| {
            count += 1;
            count < 5
        }));
        assert_eq!(count, 5);
    }

    #[test]
    fn a_game_is_glanced_at_without_its_headers() {
        let base = Path::new("fixtures/cbh/sample/sample.cbh");
        let database = Database::open(base, &Options::default()).unwrap();
        let mut decoded = Decoded::default();
        let mut count = 0;
        assert!(database.glance(GameId(2), &mut decoded, &mut |_| {
            count += 1;
            true
        }));
        assert_eq!(count, 46, "the start, and 45 plies");
        assert!(!database.glance(GameId(1 << 20), &mut decoded, &mut |_| true));
    }

    proptest! {
        #[test]
        fn a_damaged_game_is_seen_up_to_the_damage(
            which in any::<prop::sample::Index>(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let blobs = blobs("fixtures/cbh/sample/sample.cbh");
            let mut blob = blobs[which.index(blobs.len())].clone();
            for (at, byte) in changes {
                // The size of a blob is the storage's.
                let at = 4 + at.index(blob.len() - 4);
                blob[at] = byte;
            }
            agrees(&blob);
            blob.truncate(4 + cut.index(blob.len() - 3));
            agrees(&blob);
        }
    }
}
