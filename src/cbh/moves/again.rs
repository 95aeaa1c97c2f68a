//! Moves that were just encoded, held against the line that they are of.
//!
//! Nearly all games are one line from the usual start. Decoding one again asks for
//! each move whether it is legal and how it is written; here it need only be the
//! move of the line, which is legal.

use shakmaty::{CastlingSide, Color, Move, Role};

use super::cipher::Cipher;
use super::decode::USUAL;
use super::opcode::{self, NULL, POP, Step, TWO_BYTES};
use super::pieces::PieceList;
use super::{HEAD_BYTES, word};
use crate::game::Ply;

/// Whether [`decode`](super::MoveDecoder::decode) gives this line of legal moves from
/// the usual start for `blob`, in mode 0. If not, nothing is said: a blob may have the
/// line in another form.
pub(in crate::cbh) fn reads_as(blob: &[u8], line: &[Ply]) -> bool {
    let Some((head, bytes)) = blob.split_first_chunk::<HEAD_BYTES>() else {
        return false;
    };
    let [from_a1, _] = &*USUAL;
    let mut codes = Codes {
        cipher: Cipher::CHESS,
        bytes: bytes.iter(),
        count: 0,
        turn: Color::White,
        pieces: from_a1.clone(),
    };
    u32::try_from(blob.len()).is_ok_and(|size| *head == size.to_be_bytes())
        && line.iter().all(|ply| codes.next_is(ply.mv))
        && codes.next() == Some(POP)
        && codes.bytes.as_slice().is_empty()
}

/// The codes of one line.
struct Codes<'a> {
    cipher: Cipher,
    bytes: std::slice::Iter<'a, u8>,
    /// Moves so far, modulo 256.
    count: u8,
    turn: Color,
    pieces: PieceList,
}

impl Codes<'_> {
    #[inline]
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.next()?;
        Some(self.cipher.decode(byte, self.count))
    }

    /// Whether the next code is this move, a null move if `None`.
    #[inline]
    fn next_is(&mut self, mv: Option<Move>) -> bool {
        let is_next = self.next().is_some_and(|code| match mv {
            Some(m) => self.is_move(code, m),
            None => code == NULL,
        });
        self.count = self.count.wrapping_add(1);
        self.turn = !self.turn;
        is_next
    }

    /// Whether a code is this move; if so, follows its pieces.
    #[inline]
    fn is_move(&mut self, code: u8, m: Move) -> bool {
        let step = Step::of(self.turn, code);
        let Some(from) = self.pieces.square(self.turn, step.slot) else {
            let is_move = match m {
                Move::Castle { king, rook } => {
                    code == opcode::castling(CastlingSide::from_king_side(king < rook))
                }
                _ => code == TWO_BYTES && self.is_in_two_bytes(m),
            };
            self.pieces.play(self.turn, m);
            return is_move;
        };
        let to = step.target(from);
        let is_step = match m {
            Move::Normal {
                role,
                from: begin,
                to: end,
                promotion: None,
                ..
            } => (role, begin, end) == (step.role, from, to),
            Move::EnPassant {
                from: begin,
                to: end,
            } => (step.role, begin, end) == (Role::Pawn, from, to),
            _ => false,
        };
        self.pieces.take(self.turn, m);
        self.pieces.relocate_slot(self.turn, step.slot, to);
        is_step
    }

    /// Whether the next two bytes are this move.
    #[cold]
    fn is_in_two_bytes(&mut self, m: Move) -> bool {
        let (Some(from), Some(high), Some(low)) = (m.from(), self.next(), self.next()) else {
            return false;
        };
        u16::from_be_bytes([high, low]) == word::encode(from, m.to(), m.promotion())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use shakmaty::san::{San, SanPlus};
    use shakmaty::{Chess, Position as _};

    use super::*;
    use crate::cbh::edit::rewrite::has_same_moves;
    use crate::cbh::moves::{MoveDecoder, encode};
    use crate::cbh::{Database, Decoded, GameId, Options};
    use crate::game::{Game, Start, TreeBuilder};

    /// A game with moves of all kinds.
    fn of_all_kinds() -> Game {
        let words = "e4 a6 e5 d5 exd6 Nf6 dxe7 Be6 exd8=N Kxd8 Nf3 h5 Be2 h4 O-O h3 b3 hxg2 \
                     Bb2 gxf1=Q+ Bxf1 -- Nc3 Nc6 h4 g5 h5 g4 h6 g3 h7";
        let (mut game, mut chess) = (Game::default(), Chess::default());
        let mut line = TreeBuilder::new(&mut game.tree, &game.start.position);
        for word in words.split_whitespace() {
            if word == "--" {
                line.play_null();
                chess = chess.swap_turn().unwrap();
                continue;
            }
            let san: San = word.parse::<SanPlus>().unwrap().san;
            let m = san.to_move(&chess).unwrap();
            line.play(m).unwrap();
            chess.play_unchecked(m);
        }
        game
    }

    /// Games of one line from the usual start, encoded anew.
    fn lines() -> Vec<(Vec<u8>, Game)> {
        let game = of_all_kinds();
        let mut lines = vec![(encode(&game).unwrap().blob, game)];
        let mut decoded = Decoded::default();
        for name in crate::cbh::base::samples::names() {
            let path = format!("fixtures/cbh/{name}/{name}.cbh");
            let database = Database::open(Path::new(&path), &Options::default()).unwrap();
            for id in (1..=database.last_id()).map(GameId) {
                if database.read_game(id, &mut decoded).is_ok()
                    && decoded.game.tree.only_line().is_some()
                    && decoded.game.start.is_stored_as(&Start::default())
                {
                    let blob = encode(&decoded.game).unwrap().blob;
                    lines.push((blob, decoded.game.clone()));
                }
            }
        }
        lines
    }

    /// Whether a blob is the line of a game as decoding has it.
    fn decodes_as(blob: &[u8], game: &Game) -> bool {
        let mut again = Game::default();
        let read = MoveDecoder::default().decode(blob, u8::MAX, &mut again);
        read.is_ok() && has_same_moves(&game.tree, &again.tree)
    }

    fn reads(blob: &[u8], game: &Game) -> bool {
        reads_as(blob, game.tree.only_line().unwrap())
    }

    #[test]
    fn lines_of_real_bases_read_as_themselves_and_as_no_other() {
        let lines = lines();
        assert!(lines.len() > 20, "{}", lines.len());
        let has = |is_it: fn(&Move) -> bool| {
            let games = lines.iter().filter_map(|(_, game)| game.tree.only_line());
            games.flatten().filter_map(|ply| ply.mv).any(|m| is_it(&m))
        };
        assert!(has(|m| m.is_castle()) && has(|m| m.is_promotion()) && has(|m| m.is_en_passant()));
        for (blob, game) in &lines {
            assert!(reads(blob, game));
            for (_, other) in &lines {
                assert_eq!(reads(blob, other), has_same_moves(&game.tree, &other.tree));
            }
            // More and less.
            assert!(!reads(&blob[..blob.len() - 1], game));
            assert!(!reads(&[blob, &[0x0c][..]].concat(), game));
            let mut longer = blob.clone();
            longer.insert(4, 0);
            assert!(!reads(&longer, game));
        }
    }

    proptest! {
        #[test]
        fn what_reads_as_a_line_is_decoded_as_it(
            game in 0_usize..1000,
            at in 0_usize..1000,
            bits in 1_u8..,
        ) {
            static LINES: std::sync::LazyLock<Vec<(Vec<u8>, Game)>> =
                std::sync::LazyLock::new(lines);
            let (blob, game) = &LINES[game % LINES.len()];
            let mut blob = blob.clone();
            let at = at % blob.len();
            blob[at] ^= bits;
            prop_assert!(!reads(&blob, game) || decodes_as(&blob, game));
        }
    }
}
