//! `.cbg`: the moves of each game.
//!
//! The file begins with a header of 26 bytes (10 in old bases) whose first
//! two bytes are its length, big-endian. Then blobs, found by the offsets in
//! `.cbh`:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 1 | bits 0–5 encoding mode, bit 6 a start position follows, bit 7 a text |
//! | 1 | 3 | size of the blob, these four bytes included, big-endian |
//! | 4 | 28 | start position, see [`setup`], if bit 6 is set |
//! | | 8 or 4 | kings and rooks of a Chess960 game, modes 10 and 11 |
//! | | … | the move stream |
//!
//! # The move stream
//!
//! Every byte is enciphered ([`cipher`]) and stands for an opcode
//! ([`opcode`]) that names a piece by its number ([`pieces`]) and how far it
//! goes. The tree is written depth first, **main move first**: a push before
//! every move that is not the last alternative of its position, a pop at the
//! end of every line. So the line after a push is the earlier one, and after
//! the pop come its alternatives:
//!
//! ```text
//! 1.e4 c5 (1...c6 2.d4) (1...Nf6 2.e5) 2.Nf3
//! e4 push c5 Nf3 pop push c6 d4 pop Nf6 e5 pop
//! ```
//!
//! The odd modes of 0 to 7 have the simple encoding instead: two bytes a
//! move, with bits for push and end of line.
//!
//! | mode | opcodes | shift | pieces numbered |
//! |---|---|---|---|
//! | 0, 1 | compact, simple | before look-up | from a1 |
//! | 2, 3 | compact, simple | before look-up | from h8 |
//! | 4, 5 | compact, simple | after look-up | from a1 |
//! | 6, 7 | compact, simple | after look-up | from h8 |
//! | 8, 9 | losing chess: other rules, not read | | |
//! | 10, 11 | compact, Chess960 | after look-up | from a1, from h8 |
//!
//! Plies are numbered in the order of the stream; annotations name them by
//! that number ([`Sequence`]), and it is the order of the ids in the decoded
//! tree.
//!
//! # Writing
//!
//! [`encode()`] writes mode 0, or 10 for Chess960, and gives what ChessBase
//! wrote in these modes byte for byte again, but for: operations to ignore
//! and what follows the end; a start number that is wrong; castling rights
//! and en passant files that do not fit the position.

mod again;
mod chess960;
mod cipher;
mod decode;
mod encode;
mod glance;
mod numbered;
mod opcode;
mod pieces;
mod quoted;
mod sequence;
mod setup;
mod word;

pub(in crate::cbh) use again::reads_as;
pub(crate) use chess960::first_rank;
pub(in crate::cbh) use chess960::start_number;
pub use decode::MoveDecoder;
pub(super) use decode::{Irregularities, blob_size};
pub use encode::{EncodeError, Encoded, encode};
pub(in crate::cbh) use glance::glance;
pub(super) use pieces::{number, square};
pub(crate) use quoted::encode_quoted;
pub(super) use quoted::{decode_quoted, quoted_start};
pub use sequence::Sequence;

/// Bytes before the start position or the moves.
pub(super) const HEAD_BYTES: usize = 4;

/// The flag of a start position, in the first byte.
const SET_UP: u8 = 0x40;

/// How deep variations may nest. The deepest seen in real bases is 74; a
/// remembered place takes a few hundred bytes, so this bounds the memory.
const MAX_DEPTH: usize = 1024;

/// Plays a move that is no castling, no promotion and not en passant, such as `e2e4`.
#[cfg(test)]
fn play(line: &mut crate::game::TreeBuilder<'_>, uci: &str) {
    use shakmaty::{Move, uci::UciMove};
    let Ok(UciMove::Normal { from, to, .. }) = uci.parse() else {
        panic!("{uci}");
    };
    let board = line.position().board();
    let m = Move::Normal {
        role: board.role_at(from).unwrap(),
        from,
        capture: board.role_at(to),
        to,
        promotion: None,
    };
    line.play(m).unwrap();
}
