//! Export to Polyglot: 16 bytes per move, sorted by the key of the position.
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 8 | key of the position |
//! | 8 | 2 | the move |
//! | 10 | 2 | its weight |
//! | 12 | 4 | learning data of engines, 0 |
//!
//! All numbers are big-endian. Castling is stored as the king's capture of the
//! rook. The key includes an en passant file only if a pawn stands beside the
//! one that stepped. Moves with weight 0 are in the book but never played.

use std::io::{self, Write};

use shakmaty::zobrist::{Zobrist64, ZobristValue};
use shakmaty::{CastlingSide, Color, File, Move, Role, Square};

use crate::book::CanonicalBoard;
use crate::book::walk::Visit;
use crate::game::Position;

/// The entries of a Polyglot book, which are kept in memory to be sorted.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Key of the position, what the weight lacks of the largest, and the move:
    /// within a position, the heaviest move comes first.
    all: Vec<(u64, u16, u16)>,
}

impl Entries {
    /// Adds the moves of a position.
    pub(super) fn add(&mut self, visit: &Visit) {
        let key = polyglot_key(&visit.position);
        self.all.extend(visit.choices.iter().map(|choice| {
            let m = polyglot_move(choice.book_move.m);
            (key, u16::MAX - choice.weight, m)
        }));
    }

    /// Writes the book.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub(super) fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.all.sort_unstable();
        for (key, lightness, m) in &self.all {
            out.write_all(&key.to_be_bytes())?;
            out.write_all(&m.to_be_bytes())?;
            out.write_all(&(u16::MAX - lightness).to_be_bytes())?;
            out.write_all(&[0; 4])?;
        }
        Ok(())
    }
}

/// Returns the Polyglot key of a position.
pub fn polyglot_key(position: &Position) -> u64 {
    let mut key = Zobrist64::default();
    let board = position.board();
    for square in board.occupied() {
        if let Some(piece) = board.piece_at(square) {
            key ^= Zobrist64::zobrist_for_piece(square, piece);
        }
    }
    let rights = position.castling_rights();
    for color in Color::ALL {
        for side in [CastlingSide::KingSide, CastlingSide::QueenSide] {
            let rank = color.fold_wb(shakmaty::Rank::First, shakmaty::Rank::Eighth);
            let file = if side.is_king_side() {
                File::H
            } else {
                File::A
            };
            if rights.contains(Square::from_coords(file, rank)) {
                key ^= Zobrist64::zobrist_for_castling_right(color, side);
            }
        }
    }
    let can_be_taken =
        CanonicalBoard::of(position).is_some_and(|board| board.en_passant().is_some());
    if let Some(square) = position.en_passant_square().filter(|_| can_be_taken) {
        key ^= Zobrist64::zobrist_for_en_passant_file(square.file());
    }
    if position.turn().is_white() {
        key ^= Zobrist64::zobrist_for_white_turn();
    }
    key.0
}

/// Encodes a move.
pub fn polyglot_move(m: Move) -> u16 {
    let from = m.from().unwrap_or(m.to());
    // In shakmaty, too, the destination of castling is the rook's square.
    let (from, to) = (u16::from(from), u16::from(m.to()));
    let promotion = match m.promotion() {
        Some(Role::Knight) => 1,
        Some(Role::Bishop) => 2,
        Some(Role::Rook) => 3,
        Some(Role::Queen) => 4,
        _ => 0,
    };
    promotion << 12 | from << 6 | to
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::book::ctg::CtgBook;
    use crate::book::export::ExportFormat;
    use crate::book::walk::Limits;

    #[test]
    fn keys_are_those_that_polyglot_publishes() {
        for (fen, key) in [
            (
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
                0x463b_9618_1691_fc9c,
            ),
            (
                "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
                0x823c_9b50_fd11_4196,
            ),
            (
                "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
                0x22a4_8b5a_8e47_ff78,
            ),
            (
                "rnbq1bnr/ppp1pkpp/8/3pPp2/8/8/PPPPKPPP/RNBQ1BNR w - - 0 4",
                0x00fd_d303_c946_bdd9,
            ),
            (
                "rnbqkbnr/p1pppppp/8/8/PpP4P/8/1P1PPPP1/RNBQKBNR b KQkq c3 0 3",
                0x3c81_23ea_7b06_7637,
            ),
            (
                "rnbqkbnr/p1pppppp/8/8/P6P/R1p5/1P1PPPP1/1NBQKBNR b Kkq - 0 4",
                0x5c3f_9b82_9b27_9560,
            ),
        ] {
            let fen: shakmaty::fen::Fen = fen.parse().unwrap();
            let position = Position::from_setup(fen.into_setup(), shakmaty::CastlingMode::Standard);
            assert_eq!(polyglot_key(&position), key);
        }
    }

    #[test]
    fn entries_are_sorted_by_position_and_weight() {
        let book = CtgBook::open(Path::new("fixtures/book/small/small.ctg")).unwrap();
        let mut bytes = Vec::new();
        let limits = Limits::positions(1000);
        let exported = ExportFormat::Polyglot.write(&book, limits, &mut bytes);
        assert!(!exported.unwrap().is_cut);
        let (entries, rest) = bytes.as_chunks::<16>();
        assert!(rest.is_empty() && entries.is_sorted_by_key(|entry| entry[..8].to_vec()));
        let start = polyglot_key(&Position::default()).to_be_bytes();
        let of_start = entries.iter().filter(|entry| entry[..8] == start);
        let moves: Vec<[u16; 4]> = of_start
            .map(|entry| [8, 10, 12, 14].map(|at| u16::from_be_bytes([entry[at], entry[at + 1]])))
            .collect();
        // The move that is marked as good, and those that are never played.
        let others = [0o625, 0o1030, 0o1232, 0o1333].map(|m| [m, 0, 0, 0]);
        assert_eq!(moves, [&[[0o1434, 8, 0, 0]], &others[..]].concat());
    }

    #[test]
    fn castling_is_the_king_taking_the_rook() {
        let castling = Move::Castle {
            king: Square::E1,
            rook: Square::H1,
        };
        assert_eq!(polyglot_move(castling), 0o407);
        let promotion = Move::Normal {
            role: Role::Pawn,
            from: Square::A7,
            capture: None,
            to: Square::A8,
            promotion: Some(Role::Queen),
        };
        assert_eq!(polyglot_move(promotion), 0o4_6070);
    }
}
