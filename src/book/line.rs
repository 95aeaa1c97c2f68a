//! A line: moves from a start position to a position of a book.

use shakmaty::Move;

use super::{Book, CanonicalBoard};
use crate::game::{IllegalMove, Position, San, Start};

/// A start position and legal moves from there.
#[derive(Clone, Debug, Default)]
pub struct BookLine {
    start: Start,
    plies: Vec<(Move, San)>,
    position: Position,
}

impl BookLine {
    /// A line without moves.
    pub fn new(start: Start) -> BookLine {
        BookLine {
            position: start.position.clone(),
            plies: Vec::new(),
            start,
        }
    }

    /// A line without moves from the start of a book.
    pub fn from_start_of(book: &dyn Book) -> BookLine {
        let start = book.start();
        if start.key() == Position::default().key() {
            BookLine::default()
        } else {
            BookLine::set_up(start)
        }
    }

    /// A line without moves from a set-up position.
    pub fn set_up(position: Position) -> BookLine {
        BookLine::new(Start {
            position,
            is_set_up: true,
            ..Start::default()
        })
    }

    /// Adds a move.
    ///
    /// # Errors
    ///
    /// [`IllegalMove`] if the rules forbid it. The line is then unchanged.
    pub fn play(&mut self, m: Move) -> Result<San, IllegalMove> {
        let san = self.position.play(m)?;
        self.plies.push((m, san));
        Ok(san)
    }

    /// The start position.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// The moves with their notation, check and mate marks included.
    pub fn plies(&self) -> &[(Move, San)] {
        &self.plies
    }

    /// The position after the moves.
    pub fn position(&self) -> &Position {
        &self.position
    }
}

/// The first four fields of a position's FEN, those that EPD has: an en
/// passant square only if a pawn stands there that could take, though it may
/// be pinned. Books tell positions by that, so the FEN leads back to the one
/// it was printed for.
pub fn board_fields(position: &Position) -> String {
    let start = Start {
        position: position.clone(),
        ..Start::default()
    };
    let mut fen = Vec::new();
    start.append_fen_to(&mut fen);
    let fen = String::from_utf8_lossy(&fen);
    let mut fields: Vec<&str> = fen.split(' ').take(4).collect();
    let stepped = CanonicalBoard::of(position).and_then(|board| board.en_passant());
    let square = position.en_passant_square().filter(|_| stepped.is_some());
    let square = square.map(|square| square.to_string());
    if let (Some(square), Some(field)) = (&square, fields.get_mut(3)) {
        *field = square;
    }
    fields.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_square_of_a_pinned_capture_in_passing_is_told() {
        for (fen, expected) in [
            (
                "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
                "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -",
            ),
            (
                "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1",
                "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3",
            ),
        ] {
            let setup: shakmaty::fen::Fen = fen.parse().unwrap();
            let mode = shakmaty::CastlingMode::Standard;
            let position = Position::from_setup(setup.into_setup(), mode);
            assert_eq!(board_fields(&position), expected);
        }
    }
}
