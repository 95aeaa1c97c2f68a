//! Start position and move tree → blob.

use std::fmt;

use shakmaty::{CastlingSide, Color, Move, Role, Square};

use super::cipher::Cipher;
use super::opcode::{self, NULL, POP, PUSH, TWO_BYTES, opcode_of};
use super::pieces::{PieceList, Slot};
use super::sequence::Sequence;
use super::setup::{CastlingRooks, StoredSetup};
use super::word;
use super::{HEAD_BYTES, MAX_DEPTH, SET_UP};
use crate::cbh::annotations::MAX_RECORD_BYTES;
use crate::game::{Game, MoveTree, PlyId, Start};

/// The encoding mode of chess.
const CHESS: u8 = 0;

/// The encoding mode of Chess960.
const CHESS960: u8 = 10;

/// The largest size that the head of a blob can tell.
const MAX_BYTES: usize = 0xff_ffff;

/// The moves of a game as `.cbg` stores them.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The whole blob.
    pub blob: Vec<u8>,
    /// The order of the plies in it.
    pub sequence: Sequence,
}

/// Why a game cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The set-up position has so many pieces; 32 is the most.
    TooManyPieces(usize),
    /// More than 1024 variations are open at once, which no decoder of ours
    /// would read back.
    TooDeep,
    /// The blob would have so many bytes; its size has 24 bits.
    TooLong(usize),
    /// A remark would have so many bytes; its size has 16 bits.
    RemarkTooLong(usize),
    /// A part of a remark has no room where it is stored.
    NoRoom(&'static str),
    /// All remarks would take so many bytes; a longer record is not read.
    RemarksTooLong(usize),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::TooManyPieces(pieces) => write!(
                f,
                "the set-up position has {pieces} pieces; a base can store 32"
            ),
            EncodeError::TooDeep => {
                write!(f, "variations nest deeper than {MAX_DEPTH}")
            }
            EncodeError::RemarkTooLong(bytes) => write!(
                f,
                "a remark takes {bytes} bytes; a base can store 65529 of each"
            ),
            EncodeError::NoRoom(what) => write!(f, "{what}; a base has no room for it"),
            EncodeError::RemarksTooLong(bytes) => write!(
                f,
                "the remarks take {bytes} bytes; a base can store {MAX_RECORD_BYTES} per game"
            ),
            EncodeError::TooLong(bytes) => write!(
                f,
                "the moves take {bytes} bytes; a base can store {MAX_BYTES} per game"
            ),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Encodes start and tree of `game`: in mode 0, or in mode 10 if it is
/// Chess960, always with its start position then.
///
/// Whatever ChessBase wrote in these modes is encoded to the same bytes
/// again, as far as a [`Game`] holds it. Time and memory are linear in the
/// number of plies.
///
/// # Errors
///
/// [`EncodeError`] if the format cannot hold the game.
pub fn encode(game: &Game) -> Result<Encoded, EncodeError> {
    let start = &game.start;
    let mut flags = if start.is_chess960 { CHESS960 } else { CHESS };
    // Nearly all moves take a byte.
    let mut blob = Vec::with_capacity(HEAD_BYTES + game.tree.len() + 1);
    blob.resize(HEAD_BYTES, 0);
    if start.is_set_up || start.is_chess960 {
        flags |= SET_UP;
        encode_start(start, &mut blob)?;
    }
    let mut stream = StreamWriter::new(start, &game.tree, blob);
    stream.tree(&game.tree)?;
    let StreamWriter {
        mut blob, sequence, ..
    } = stream;
    write_head(flags, &mut blob)?;
    Ok(Encoded { blob, sequence })
}

/// Appends the start position, and kings and rooks of Chess960.
fn encode_start(start: &Start, blob: &mut Vec<u8>) -> Result<(), EncodeError> {
    let pieces = start.position.board().occupied().count();
    StoredSetup::of(start)
        .encode(blob)
        .ok_or(EncodeError::TooManyPieces(pieces))?;
    if start.is_chess960 {
        CastlingRooks::of(&start.position).encode(start.position.board(), blob);
    }
    Ok(())
}

/// Fills in the first four bytes: flags and size.
fn write_head(flags: u8, blob: &mut [u8]) -> Result<(), EncodeError> {
    let too_long = EncodeError::TooLong(blob.len());
    let size = u32::try_from(blob.len()).map_err(|_| too_long)?;
    let [0, high, middle, low] = size.to_be_bytes() else {
        return Err(too_long);
    };
    if let Some(head) = blob.first_chunk_mut() {
        *head = [flags, high, middle, low];
    }
    Ok(())
}

/// A move stream in the making.
struct StreamWriter {
    blob: Vec<u8>,
    sequence: Sequence,
    cipher: Cipher,
    is_chess960: bool,
    /// Moves so far, all lines together, modulo 256.
    count: u8,
    turn: Color,
    pieces: PieceList,
    /// The alternatives still to write, the next one last.
    stack: Vec<Alternative>,
}

/// A ply that waits for the line before it to end, with what was true there.
struct Alternative {
    ply: PlyId,
    turn: Color,
    pieces: PieceList,
}

impl StreamWriter {
    /// Begins after `blob`, which is all that stands before the moves.
    fn new(start: &Start, tree: &MoveTree, blob: Vec<u8>) -> StreamWriter {
        StreamWriter {
            blob,
            sequence: Sequence::of(tree),
            cipher: if start.is_chess960 {
                Cipher::CHESS960
            } else {
                Cipher::CHESS
            },
            is_chess960: start.is_chess960,
            count: 0,
            turn: start.position.turn(),
            pieces: PieceList::new(start.position.board(), false),
            stack: Vec::new(),
        }
    }

    /// Writes every line to its end before the alternatives to its moves.
    fn tree(&mut self, tree: &MoveTree) -> Result<(), EncodeError> {
        let mut next = tree.first_child(PlyId::START);
        loop {
            while let Some(ply) = next {
                if let Some(alternative) = tree.next_sibling(ply) {
                    self.push(alternative)?;
                }
                self.ply(ply, tree.ply(ply).and_then(|ply| ply.mv));
                next = tree.first_child(ply);
            }
            self.put(POP);
            let Some(alternative) = self.stack.pop() else {
                return Ok(());
            };
            self.turn = alternative.turn;
            self.pieces = alternative.pieces;
            next = Some(alternative.ply);
        }
    }

    fn push(&mut self, alternative: PlyId) -> Result<(), EncodeError> {
        if self.stack.len() == MAX_DEPTH {
            return Err(EncodeError::TooDeep);
        }
        self.stack.push(Alternative {
            ply: alternative,
            turn: self.turn,
            pieces: self.pieces.clone(),
        });
        self.put(PUSH);
        Ok(())
    }

    #[inline]
    fn ply(&mut self, ply: PlyId, mv: Option<Move>) {
        match mv {
            Some(m) => self.play(m),
            None => self.put(NULL),
        }
        self.sequence.push(ply);
        self.turn = !self.turn;
        self.count = self.count.wrapping_add(1);
    }

    /// Writes a move: by its opcode, but promotions and pieces without a number by their
    /// squares.
    #[inline]
    fn play(&mut self, m: Move) {
        let step = match m {
            Move::Normal {
                from,
                to,
                promotion: None,
                ..
            }
            | Move::EnPassant { from, to } => Some((from, to)),
            _ => None,
        };
        if let Some((from, to)) = step
            && let Some(slot) = self.pieces.slot(self.turn, from)
            && let Some(opcode) = self.opcode(slot, from, to)
        {
            self.put(opcode);
            self.pieces.take(self.turn, m);
            self.pieces.relocate_slot(self.turn, slot, to);
            return;
        }
        match m {
            Move::Castle { king, rook } => self.castle(king, rook),
            // Every move has a from; drops, which have none, are no chess.
            _ => self.two_bytes(m.from().unwrap_or(m.to()), m.to(), m.promotion()),
        }
        self.pieces.play(self.turn, m);
    }

    fn castle(&mut self, king: Square, rook: Square) {
        let side = CastlingSide::from_king_side(king < rook);
        if self.is_chess960 {
            let to = side.king_to(self.turn);
            self.two_bytes(to, to, None);
        } else {
            self.put(opcode::castling(side));
        }
    }

    /// The opcode of a step of the piece of a slot.
    #[inline]
    fn opcode(&self, slot: Slot, from: Square, to: Square) -> Option<u8> {
        let (files, ranks) = (
            i8::from(to.file()) - i8::from(from.file()),
            i8::from(to.rank()) - i8::from(from.rank()),
        );
        let sign = match slot.role() {
            Role::Pawn => self.turn.fold_wb(1, -1),
            _ => 1,
        };
        opcode_of(slot, sign * files, sign * ranks)
    }

    fn two_bytes(&mut self, from: Square, to: Square, promotion: Option<Role>) {
        self.put(TWO_BYTES);
        for byte in word::encode(from, to, promotion).to_be_bytes() {
            self.put(byte);
        }
    }

    /// Enciphers and appends one byte.
    #[inline]
    fn put(&mut self, value: u8) {
        self.blob.push(self.cipher.encode(value, self.count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::moves::play;
    use crate::game::TreeBuilder;

    #[test]
    fn a_game_without_moves_is_one_end_marker() {
        let encoded = encode(&Game::default()).unwrap();
        assert_eq!(encoded.blob, [0x00, 0x00, 0x00, 0x05, 0x0c]);
        assert_eq!(encoded.sequence.position(PlyId::START), Some(-1));
    }

    #[test]
    fn the_main_line_goes_to_its_end_before_its_variations() {
        // 1.e4 c5 (1...c6 2.d4) (1...Nf6 2.e5) 2.Nf3, added as a text has it.
        let mut game = Game::default();
        let mut line = TreeBuilder::new(&mut game.tree, &game.start.position);
        play(&mut line, "e2e4");
        let after_e4 = line.branch();
        play(&mut line, "c7c5");
        let after_c5 = line.branch();
        for variation in [["c7c6", "d2d4"], ["g8f6", "e4e5"]] {
            line.resume(after_e4.clone());
            for uci in variation {
                play(&mut line, uci);
            }
        }
        line.resume(after_c5);
        play(&mut line, "g1f3");

        let Encoded { blob, sequence } = encode(&game).unwrap();

        let positions = game
            .tree
            .places()
            .map(|ply| sequence.position(ply).unwrap());
        assert_eq!(positions.collect::<Vec<_>>(), [-1, 0, 1, 3, 4, 5, 6, 2]);
        // The moves count up in the cipher, the markers do not.
        let count = [0, 1, 1, 2, 3, 3, 3, 4, 5, 5, 6, 7];
        let opcodes: Vec<u8> = blob[HEAD_BYTES..]
            .iter()
            .zip(count)
            .map(|(&byte, count)| Cipher::CHESS.decode(byte, count))
            .collect();
        // e4 push c5 Nf3 pop push c6 d4 pop Nf6 e5 pop
        let expected = [128, 254, 120, 105, 255, 254, 119, 124, 255, 108, 127, 255];
        assert_eq!(opcodes, expected);
    }

    #[test]
    fn too_many_open_variations_are_refused() {
        let mut game = Game::default();
        let mut line = TreeBuilder::new(&mut game.tree, &game.start.position);
        for _ in 0..=MAX_DEPTH {
            let here = line.branch();
            line.play_null();
            line.resume(here);
            line.play_null();
        }
        // Each null move is the last but one; the first ones are leaves.
        assert!(encode(&game).is_ok());
        let mut line = TreeBuilder::new(&mut game.tree, &game.start.position);
        for _ in 0..=MAX_DEPTH {
            let here = line.branch();
            line.play_null();
            let main = line.branch();
            line.resume(here);
            line.play_null();
            line.resume(main);
        }
        assert_eq!(encode(&game).unwrap_err(), EncodeError::TooDeep);
    }

    #[test]
    fn a_head_has_24_bits_for_the_size() {
        let mut blob = vec![0; MAX_BYTES];
        write_head(CHESS, &mut blob).unwrap();
        assert_eq!(blob[..4], [0x00, 0xff, 0xff, 0xff]);
        blob.push(0);
        let too_long = EncodeError::TooLong(MAX_BYTES + 1);
        assert_eq!(write_head(CHESS, &mut blob), Err(too_long));
    }
}
