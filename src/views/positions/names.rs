//! Positions, moves and lines as file names.

use crate::fs::Error;
use crate::game::Position;
use crate::{pgn, search};
use shakmaty::Move;

/// The position that a name in `fen/` means: a FEN of four fields or six, with
/// `:` for `/` and `_` for blanks.
///
/// # Errors
///
/// [`Error::NotFound`] of a hidden name, which no one types; [`Error::Invalid`]
/// of any other that is no position, and why that is in the log.
pub(super) fn position(name: &[u8]) -> Result<Position, Error> {
    if name.starts_with(b".") {
        return Err(Error::NotFound);
    }
    let text = String::from_utf8_lossy(name);
    search::position(&text).map_err(|why| {
        let short: String = text.chars().take(100).collect();
        log::warn!("fen/{short}: {why}");
        Error::Invalid
    })
}

/// The name of the position with these four fields of a FEN. `None` if it is
/// one that no name means.
pub(super) fn name(fields: &str) -> Option<String> {
    let name = fields.replace('/', ":").replace(' ', "_");
    search::position(&name).is_ok().then_some(name)
}

/// The position after a line of moves, which blanks stand between; numbers of
/// moves are passed over. `None` if it is none.
pub(super) fn after(start: &Position, line: &[u8]) -> Option<Position> {
    let mut position = start.clone();
    let words = line.split(|byte| *byte == b' ');
    let words = words.filter(|word| !word.is_empty());
    let mut moves = words.map(without_number).peekable();
    moves.peek()?;
    for word in moves.filter(|word| !word.is_empty()) {
        let m = pgn::parse_move(&position, word)?;
        play(&mut position, m)?;
    }
    Some(position)
}

/// A word without the number of a move in front of it: `1.e4`, `2...Nc6`.
fn without_number(word: &[u8]) -> &[u8] {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = word.get(digits..).unwrap_or_default();
    let dots = rest.iter().take_while(|byte| **byte == b'.').count();
    match rest.get(dots..) {
        Some(rest) if digits > 0 && dots > 0 => rest,
        _ => word,
    }
}

/// Plays a move; gives its notation without a mark of check or mate.
pub(super) fn play(position: &mut Position, m: Option<Move>) -> Option<String> {
    let Some(m) = m else {
        position.play_null();
        return Some("--".to_owned());
    };
    let san = position.play(m).ok()?.to_string();
    Some(san.trim_end_matches(['+', '#']).to_owned())
}
