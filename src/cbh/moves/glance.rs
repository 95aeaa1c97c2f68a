//! A glance at a main line: where its pieces come, without a question whether
//! its moves are legal.
//!
//! This takes a sixth of the time of decoding, and tells most games that a
//! search does not want. The main line stands in front of all variations, up to
//! the first end of a line.

use shakmaty::{Bitboard, CastlingSide, File, Move, Rank, Role, Square};

use super::decode::{Encoding, MoveDecoder};
use super::opcode::{OPCODES, Opcode, stepped};
use super::pieces::{PieceList, Slot};
use super::{HEAD_BYTES, SET_UP, word};
use crate::bytes::ByteReader;
use crate::game::{Glimpse, Placement};

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
        let mut is_irreversible = true;
        loop {
            let shown = Glimpse {
                placement: &line.placement,
                is_irreversible,
                most_left: line.reader.rest().len(),
            };
            if !show(shown) {
                return Ok(());
            }
            let Some(next) = line.next_move()? else {
                return Ok(());
            };
            is_irreversible = next;
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

    /// Plays the next move; tells whether it takes something or moves a pawn.
    /// `None` at the end of the line.
    #[inline]
    fn next_move(&mut self) -> Result<Option<bool>, Unclear> {
        let is_irreversible = loop {
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
                Opcode::Null => break false,
                Opcode::TwoBytes => break self.two_bytes()?,
                Opcode::Ignore | Opcode::Push => {}
                Opcode::Pop => return Ok(None),
                Opcode::Unused => return Err(Unclear),
            }
        };
        self.count = self.count.wrapping_add(1);
        self.placement.turn = !self.placement.turn;
        Ok(Some(is_irreversible))
    }

    #[inline]
    fn step(&mut self, slot: Slot, files: i8, ranks: i8) -> Result<bool, Unclear> {
        let color = self.placement.turn;
        let from = self.pieces.square(color, slot).ok_or(Unclear)?;
        let to = stepped(from, files, ranks);
        let role = slot.role();
        let is_irreversible = self.relocate(role, from, to, role)?;
        self.pieces.relocate_slot(color, slot, to);
        Ok(is_irreversible)
    }

    /// From, to and promotion in two bytes.
    #[cold]
    fn two_bytes(&mut self) -> Result<bool, Unclear> {
        let (Some(high), Some(low)) = (self.next(), self.next()) else {
            return Err(Unclear);
        };
        let word = u16::from_be_bytes([high, low]);
        let (from, to) = word::squares(word);
        let color = self.placement.turn;
        let role = self.placement.role_at(from).ok_or(Unclear)?;
        let castles = role == Role::King && from.file().distance(to.file()) > 1;
        if castles || !self.placement.side(color).contains(from) {
            return Err(Unclear);
        }
        let promotes = role == Role::Pawn && Bitboard::BACKRANKS.contains(to);
        let promotion = promotes.then(|| word::promotion(word));
        let is_irreversible = self.relocate(role, from, to, promotion.unwrap_or(role))?;
        let m = Move::Normal {
            role,
            from,
            capture: None,
            to,
            promotion,
        };
        self.pieces.advance(color, m);
        Ok(is_irreversible)
    }

    /// Moves a piece, which becomes another or stays what it is, and takes what
    /// stands there. It goes to no square of its own side, and takes no king.
    #[inline]
    fn relocate(
        &mut self,
        role: Role,
        from: Square,
        to: Square,
        becomes: Role,
    ) -> Result<bool, Unclear> {
        let (us, them) = (self.placement.turn, !self.placement.turn);
        if self.placement.side(us).contains(to) {
            return Err(Unclear);
        }
        let takes = self.placement.side(them).contains(to);
        if takes {
            self.take(to)?;
        } else if role == Role::Pawn && from.file() != to.file() {
            let passed = Square::from_coords(to.file(), from.rank());
            let is_pawn = self.placement.role_at(passed) == Some(Role::Pawn);
            if !is_pawn || !self.placement.side(them).contains(passed) {
                return Err(Unclear);
            }
            self.take(passed)?;
        }
        self.placement.toggle(us, role, from);
        self.placement.toggle(us, becomes, to);
        Ok(takes || role == Role::Pawn)
    }

    fn take(&mut self, on: Square) -> Result<(), Unclear> {
        let them = !self.placement.turn;
        let role = self.placement.role_at(on).ok_or(Unclear)?;
        if role == Role::King {
            return Err(Unclear);
        }
        self.placement.toggle(them, role, on);
        self.pieces.capture(them, role, on);
        Ok(())
    }

    #[cold]
    fn castle(&mut self, side: CastlingSide) -> Result<bool, Unclear> {
        let us = self.placement.turn;
        let rank = us.fold_wb(Rank::First, Rank::Eighth);
        let rook = if side.is_king_side() {
            File::H
        } else {
            File::A
        };
        let (king, rook) = (File::E, rook);
        let (king, rook) = (
            Square::from_coords(king, rank),
            Square::from_coords(rook, rank),
        );
        for (role, square) in [(Role::King, king), (Role::Rook, rook)] {
            let is_own = self.placement.side(us).contains(square);
            if !is_own || self.placement.role_at(square) != Some(role) {
                return Err(Unclear);
            }
        }
        let m = Move::Castle { king, rook };
        self.placement.play(Some(m));
        // The turn passes as after any move.
        self.placement.turn = us;
        self.pieces.advance(us, m);
        Ok(false)
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
