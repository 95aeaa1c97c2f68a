//! Blob → start position and move tree.

use std::convert::Infallible;
use std::sync::LazyLock;

use shakmaty::{Bitboard, CastlingMode, CastlingSide, Color, File, Move, Rank, Role, Square};

use super::cipher::Cipher;
use super::opcode::{OPCODES, Opcode, Step};
use super::pieces::PieceList;
use super::setup::{CastlingRooks, StoredSetup};
use super::word;
use super::{HEAD_BYTES, MAX_DEPTH, SET_UP};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::base::facts::move_count;
use crate::game::{Branch, Game, MAX_PLIES, PlyId, Position, Start, TreeBuilder};

/// The size of the blob that begins with `head`, its four bytes included.
///
/// # Errors
///
/// [`Malformed`] if fewer than four bytes are there or the size is less.
pub(in crate::cbh) fn blob_size(head: &[u8]) -> Result<usize, Malformed> {
    let mut reader = ByteReader::new(head);
    reader.skip(1)?;
    let size = reader.u24_be()? as usize;
    if size < HEAD_BYTES {
        return Err(Malformed::new(1, format!("blob size is {size}")));
    }
    Ok(size)
}

/// Decodes blobs of games; its memory is reused from game to game.
#[derive(Debug, Default)]
pub struct MoveDecoder {
    /// Places to come back to, with the piece numbers there.
    stack: Vec<(Branch, PieceList)>,
    irregularities: Irregularities,
}

/// The piece numbers of the usual start, from a1 and from h8.
pub(super) static USUAL: LazyLock<[PieceList; 2]> = LazyLock::new(|| {
    let start = Position::default();
    [false, true].map(|from_h8| PieceList::new(start.board(), from_h8))
});

/// Harmless deviations of a stream from the format, which ChessBase never
/// writes.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cbh) struct Irregularities {
    /// Where in the blob the first opcode to ignore stands.
    pub(in crate::cbh) ignored: Option<usize>,
    /// The game ends with the data, without its last pop.
    pub(in crate::cbh) lacks_end: bool,
    /// Bytes after the end of the game, which are damage.
    surplus: usize,
}

/// Why decoding ended before the end of the game.
#[derive(Clone, Copy)]
enum DecodeStop {
    IllegalMove,
    /// The piece of the slot has left the board.
    NoPiece,
    EmptySquare,
    /// From and to are the same square, and it is no castling.
    Nowhere,
    /// A side castled with this rook without the right to.
    NoRight(Square),
    InsideMove,
    InsideVariations,
    TooDeep,
    TooLong,
    /// The game is complete, but an opcode was passed over.
    PassedOver,
}

impl MoveDecoder {
    /// Those of the game that was decoded last, if it was whole.
    pub(in crate::cbh) fn irregularities(&self) -> Irregularities {
        self.irregularities
    }

    /// Decodes `blob`, which is exactly one game, into `game`'s start and
    /// tree. `move_count` is the number of moves that the header claims for
    /// the main line, 255 if that many or unknown; it decides between two
    /// readings of Chess960 games, and whether moves are missing where there
    /// is no end marker.
    ///
    /// Time and memory are linear in the blob.
    ///
    /// # Errors
    ///
    /// [`Malformed`] where decoding ended, also if more follows the end of the
    /// game; what could be read stands in `game`.
    pub fn decode(
        &mut self,
        blob: &[u8],
        move_count: u8,
        game: &mut Game,
    ) -> Result<(), Malformed> {
        self.irregularities = Irregularities::default();
        self.read(blob, move_count, game)?;
        let Irregularities {
            lacks_end, surplus, ..
        } = self.irregularities;
        if surplus > 0 {
            let what = format!("{surplus} bytes after the end marker");
            return Err(Malformed::new(blob.len().saturating_sub(surplus), what));
        }
        if lacks_end && move_count < u8::MAX {
            let count = main_line_count(game);
            if count < move_count {
                let what = format!("the data end after {count} moves of {move_count}");
                return Err(Malformed::new(blob.len(), what));
            }
        }
        Ok(())
    }

    /// Reads the game, up to its end marker if there is one.
    fn read(&mut self, blob: &[u8], move_count: u8, game: &mut Game) -> Result<(), Malformed> {
        let flags = blob.first().copied().unwrap_or(0);
        let encoding = Encoding::of_mode(flags & 0x3f)?;
        let mut reader = ByteReader::new(blob);
        reader.skip(HEAD_BYTES)?;
        if flags & SET_UP == 0 {
            game.start = Start::default();
            let [from_a1, from_h8] = &*USUAL;
            let pieces = if encoding.from_h8 { from_h8 } else { from_a1 }.clone();
            let read = self.stream(encoding, pieces, &reader, game);
            return read.map_err(|(_, fault)| fault);
        }
        let stored = StoredSetup::decode(&mut reader)?;
        if !encoding.is_chess960 {
            return self.set_up(encoding, &stored, CastlingRooks::USUAL, &reader, game);
        }
        let long = self.chess960(encoding, &stored, reader.clone(), false, game);
        if long.is_ok() && claims_fit(game, move_count) {
            return long;
        }
        let short = self.chess960(encoding, &stored, reader.clone(), true, game);
        if short.is_ok() && claims_fit(game, move_count) {
            return short;
        }
        self.chess960(encoding, &stored, reader, false, game)
    }

    fn chess960(
        &mut self,
        encoding: Encoding,
        stored: &StoredSetup,
        mut reader: ByteReader<'_>,
        short: bool,
        game: &mut Game,
    ) -> Result<(), Malformed> {
        let rooks = CastlingRooks::decode(&mut reader, short)?;
        self.set_up(encoding, stored, rooks, &reader, game)
    }

    /// Decodes a game from a set-up position. Some old games castle without
    /// the right: where king and rook stand at home at the start, the right
    /// is added and the game read again.
    fn set_up(
        &mut self,
        encoding: Encoding,
        stored: &StoredSetup,
        rooks: CastlingRooks,
        reader: &ByteReader<'_>,
        game: &mut Game,
    ) -> Result<(), Malformed> {
        let mode = CastlingMode::from_chess960(encoding.is_chess960);
        let mut added = Bitboard::EMPTY;
        loop {
            let setup = stored.with_castling(rooks, added);
            game.start = Start::set_up(setup, mode, u16::from(stored.move_number));
            let pieces = PieceList::new(game.start.position.board(), encoding.from_h8);
            match self.stream(encoding, pieces, reader, game) {
                Err((DecodeStop::NoRight(rook), fault)) if !added.contains(rook) => {
                    let more = stored.with_castling(rooks, added.with(rook));
                    let position = Position::from_setup(more, mode);
                    if !position.castling_rights().contains(rook) {
                        return Err(fault);
                    }
                    added.add(rook);
                }
                other => return other.map_err(|(_, fault)| fault),
            }
        }
    }

    /// Reads the moves from `game`'s start on, whose `pieces` are numbered.
    fn stream(
        &mut self,
        encoding: Encoding,
        pieces: PieceList,
        reader: &ByteReader<'_>,
        game: &mut Game,
    ) -> Result<(), (DecodeStop, Malformed)> {
        self.stack.clear();
        let mut stream = StreamReader {
            pieces,
            line: TreeBuilder::new(&mut game.tree, &game.start.position),
            reader: reader.clone(),
            encoding,
            count: 0,
            stack: &mut self.stack,
            passed_over: None,
            irregularities: Irregularities::default(),
        };
        let read = if encoding.is_compact {
            stream.compact()
        } else {
            stream.simple()
        };
        stream.irregularities.surplus = stream.reader.rest().len();
        self.irregularities = stream.irregularities;
        read.map_err(|stop| (stop, stream.fault(stop)))
    }
}

/// Whether the main line has as many moves as the header claims; a claim of
/// 255 means that many or more.
fn claims_fit(game: &Game, claimed: u8) -> bool {
    main_line_count(game) == claimed
}

fn main_line_count(game: &Game) -> u8 {
    let black_begins = game.start.position.turn().is_black();
    move_count(game.tree.main_line_len(), black_begins)
}

/// The meaning of an encoding mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoding {
    pub(super) cipher: Cipher,
    pub(super) is_compact: bool,
    pub(super) is_chess960: bool,
    /// Pieces are numbered from h8 instead of a1.
    pub(super) from_h8: bool,
}

impl Encoding {
    pub(super) fn of_mode(mode: u8) -> Result<Encoding, Malformed> {
        let unsupported = || {
            let game = match mode {
                8 | 9 => " (losing chess)",
                63 => " (an illegal position)",
                _ => "",
            };
            Malformed::new(0, format!("encoding mode {mode}{game} is not supported"))
        };
        if matches!(mode, 8 | 9) {
            return Err(unsupported());
        }
        let is_chess960 = mode >= 10;
        Ok(Encoding {
            cipher: Cipher::of_mode(mode).ok_or_else(unsupported)?,
            is_compact: mode & 1 == 0 || is_chess960,
            is_chess960,
            from_h8: if is_chess960 {
                mode == 11
            } else {
                mode & 2 != 0
            },
        })
    }
}

/// Steps, of which the next one is looked up already.
struct StepsAhead<'a> {
    cipher: Cipher,
    /// Those behind the next one.
    bytes: std::slice::Iter<'a, u8>,
    next: Option<Step>,
}

impl StepsAhead<'_> {
    /// Looks up the next step, before which there are so many moves, modulo 256.
    #[inline]
    fn look_up(&mut self, color: Color, count: u8) {
        let step = |byte: &u8| Step::of(color, self.cipher.decode(*byte, count));
        self.next = self.bytes.next().map(step);
    }
}

/// A move stream on its way into a tree.
struct StreamReader<'a, 'g> {
    encoding: Encoding,
    reader: ByteReader<'a>,
    /// Moves so far, all lines together, modulo 256.
    count: u8,
    pieces: PieceList,
    line: TreeBuilder<'g>,
    stack: &'a mut Vec<(Branch, PieceList)>,
    /// The first opcode without a meaning, and its offset.
    passed_over: Option<(usize, u8)>,
    irregularities: Irregularities,
}

impl StreamReader<'_, '_> {
    #[inline]
    fn next(&mut self) -> Option<u8> {
        let byte = self.reader.u8().ok()?;
        Some(self.encoding.cipher.decode(byte, self.count))
    }

    /// The next two bytes; a single one is left unread.
    fn word(&mut self) -> Option<u16> {
        if self.reader.rest().len() < 2 {
            return None;
        }
        Some(u16::from_be_bytes([self.next()?, self.next()?]))
    }

    fn compact(&mut self) -> Result<(), DecodeStop> {
        while let Some(code) = self.steps()? {
            match OPCODES
                .get(usize::from(code))
                .copied()
                .unwrap_or(Opcode::Unused)
            {
                Opcode::Step(..) | Opcode::PawnStep(..) => return Err(self.no_piece()),
                Opcode::CastleShort => self.castle(CastlingSide::KingSide)?,
                Opcode::CastleLong => self.castle(CastlingSide::QueenSide)?,
                Opcode::Null => self.null()?,
                Opcode::TwoBytes => self.two_bytes()?,
                Opcode::Ignore => self.ignore(),
                Opcode::Push => self.push()?,
                Opcode::Pop => {
                    if !self.pop() {
                        return self.end();
                    }
                }
                Opcode::Unused => self.pass_over(code),
            }
        }
        self.end_of_data()
    }

    /// Plays steps. Returns the first opcode that is none, or moves no piece; `None`
    /// at the end of the data.
    fn steps(&mut self) -> Result<Option<u8>, DecodeStop> {
        let (bytes, room) = (self.reader.rest(), self.line.room());
        let color = self.line.position().turn();
        let mut ahead = StepsAhead {
            cipher: self.encoding.cipher,
            // A ply takes a byte, so these are no more than there is room for.
            bytes: bytes.get(..room).unwrap_or(bytes).iter(),
            next: None,
        };
        ahead.look_up(color, self.count);
        let Err(end) = self.play_all(color, &mut ahead);
        let played = room.saturating_sub(self.line.room());
        if played > 0 {
            self.line.mark_mate();
        }
        self.reader.skip(played).ok();
        let code = self.next();
        end.map_or(Ok(code), Err)
    }

    /// Plays steps from `first`'s on. Returns why the next one cannot be played, or
    /// `None` if it is no step.
    fn play_all(
        &mut self,
        first: Color,
        ahead: &mut StepsAhead<'_>,
    ) -> Result<Infallible, Option<DecodeStop>> {
        // The compiler makes code for each side, which needs no look-ups by side.
        if first.is_black() {
            self.step(Color::Black, ahead)?;
        }
        loop {
            self.step(Color::White, ahead)?;
            self.step(Color::Black, ahead)?;
        }
    }

    fn simple(&mut self) -> Result<(), DecodeStop> {
        while let Some(word) = self.word() {
            if word & 0x8000 != 0 {
                self.push()?;
            }
            let (mut from, mut to) = word::squares(word);
            if (from, to) == (Square::A1, Square::A1) {
                self.null()?;
            } else {
                if self.encoding.from_h8 {
                    (from, to) = (to, from);
                }
                self.play_squares(from, to, word::promotion(word))?;
            }
            if word & 0x4000 != 0 && !self.pop() {
                return self.end();
            }
        }
        self.end_of_data()
    }

    /// The data may end without an end marker; but not inside a variation.
    fn end_of_data(&mut self) -> Result<(), DecodeStop> {
        match self.stack.len() {
            0 => {
                // A game without moves has no bytes in the simple encoding.
                self.irregularities.lacks_end =
                    self.encoding.is_compact || self.line.at() != PlyId::START;
                self.end()
            }
            _ => Err(DecodeStop::InsideVariations),
        }
    }

    /// The game is complete; but opcodes passed over must be told.
    fn end(&self) -> Result<(), DecodeStop> {
        match self.passed_over {
            None => Ok(()),
            Some(_) => Err(DecodeStop::PassedOver),
        }
    }

    #[cold]
    fn ignore(&mut self) {
        let at = self.reader.position().saturating_sub(1);
        self.irregularities.ignored.get_or_insert(at);
    }

    #[cold]
    fn pass_over(&mut self, code: u8) {
        let at = self.reader.position().saturating_sub(1);
        self.passed_over.get_or_insert((at, code));
    }

    fn push(&mut self) -> Result<(), DecodeStop> {
        if self.stack.len() == MAX_DEPTH {
            return Err(DecodeStop::TooDeep);
        }
        self.stack.push((self.line.branch(), self.pieces.clone()));
        Ok(())
    }

    /// Goes back to the last remembered place; false if there is none left.
    fn pop(&mut self) -> bool {
        match self.stack.pop() {
            Some((branch, pieces)) => {
                self.line.resume(branch);
                self.pieces = pieces;
                true
            }
            None => false,
        }
    }

    fn null(&mut self) -> Result<(), DecodeStop> {
        if self.line.is_full() {
            return Err(DecodeStop::TooLong);
        }
        self.line.play_null();
        self.count = self.count.wrapping_add(1);
        Ok(())
    }

    fn castle(&mut self, side: CastlingSide) -> Result<(), DecodeStop> {
        let position = self.line.position();
        let color = position.turn();
        let Some(m) = position.castling_move(side) else {
            let rank = color.fold_wb(Rank::First, Rank::Eighth);
            let file = if side.is_king_side() {
                File::H
            } else {
                File::A
            };
            return Err(DecodeStop::NoRight(Square::from_coords(file, rank)));
        };
        self.play(m)?;
        self.pieces.play(color, m);
        Ok(())
    }

    /// From, to and promotion in two bytes. Chess960 castling has from and to
    /// alike, on the square where the king ends.
    fn two_bytes(&mut self) -> Result<(), DecodeStop> {
        let Some(word) = self.word() else {
            return Err(DecodeStop::InsideMove);
        };
        let (from, to) = word::squares(word);
        if from == to {
            return match to {
                Square::G1 | Square::G8 => self.castle(CastlingSide::KingSide),
                Square::C1 | Square::C8 => self.castle(CastlingSide::QueenSide),
                _ => Err(DecodeStop::Nowhere),
            };
        }
        self.play_squares(from, to, word::promotion(word))
    }

    /// Plays a move given by its squares; `promotion` counts only for a pawn
    /// that reaches the last rank.
    fn play_squares(
        &mut self,
        from: Square,
        to: Square,
        promotion: Role,
    ) -> Result<(), DecodeStop> {
        let position = self.line.position();
        let Some(role) = position.board().role_at(from) else {
            return Err(DecodeStop::EmptySquare);
        };
        let files = from.file().distance(to.file());
        if role == Role::King && files == 2 && !self.encoding.is_chess960 {
            return self.castle(CastlingSide::from_king_side(from < to));
        }
        let promotes = role == Role::Pawn && Bitboard::BACKRANKS.contains(to);
        let promotion = promotes.then_some(promotion);
        let color = position.turn();
        let m = self.move_of(role, from, to, promotion);
        self.play(m)?;
        self.pieces.play(color, m);
        Ok(())
    }

    /// Plays the next step, which is `color`'s.
    #[expect(
        clippy::inline_always,
        reason = "once for each side in the loop over the moves of a game"
    )]
    #[inline(always)]
    fn step(&mut self, color: Color, ahead: &mut StepsAhead<'_>) -> Result<(), Option<DecodeStop>> {
        let step = ahead.next.ok_or(None)?;
        let from = self.pieces.square(color, step.slot).ok_or(None)?;
        // Looked up while this one is played, else each move would wait for that.
        ahead.look_up(!color, self.count.wrapping_add(1));
        let to = step.target(from);
        match self.line.play_step(color, step.role, from, to) {
            Ok(None) => {}
            Ok(Some(_)) => drop(self.pieces.capture(!color, to)),
            Err(_) => self.take_in_passing(color, step.role, from, to)?,
        }
        self.pieces.relocate_slot(color, step.slot, to);
        self.count = self.count.wrapping_add(1);
        Ok(())
    }

    /// Plays what is no legal step of `color`, if it is a pawn that takes en passant.
    #[cold]
    fn take_in_passing(
        &mut self,
        color: Color,
        role: Role,
        from: Square,
        to: Square,
    ) -> Result<(), DecodeStop> {
        if role != Role::Pawn {
            return Err(DecodeStop::IllegalMove);
        }
        let m = Move::EnPassant { from, to };
        self.line.play(m).map_err(|_| DecodeStop::IllegalMove)?;
        self.pieces.take(color, m);
        Ok(())
    }

    /// Why the step of a piece that is not there cannot be played.
    #[cold]
    fn no_piece(&self) -> DecodeStop {
        if self.line.is_full() {
            return DecodeStop::TooLong;
        }
        DecodeStop::NoPiece
    }

    /// The move, no castling, of a piece to `to` and what it takes there.
    #[inline]
    fn move_of(&self, role: Role, from: Square, to: Square, promotion: Option<Role>) -> Move {
        let board = self.line.position().board();
        // Most moves take nothing, which one look at all pieces tells.
        let capture = if board.occupied().contains(to) {
            board.role_at(to)
        } else {
            None
        };
        if role == Role::Pawn && capture.is_none() && from.file() != to.file() {
            return Move::EnPassant { from, to };
        }
        Move::Normal {
            role,
            from,
            capture,
            to,
            promotion,
        }
    }

    #[inline]
    fn play(&mut self, m: Move) -> Result<(), DecodeStop> {
        if self.line.is_full() {
            return Err(DecodeStop::TooLong);
        }
        self.line.play(m).map_err(|_| DecodeStop::IllegalMove)?;
        self.count = self.count.wrapping_add(1);
        Ok(())
    }

    /// Returns the defect at the place where decoding ended.
    #[cold]
    fn fault(&self, stop: DecodeStop) -> Malformed {
        let ply = self.line.at().index() + 1;
        let of_move = |what: &str| format!("{what} as ply {ply} of the stream");
        let what = match stop {
            DecodeStop::IllegalMove => of_move("an illegal move"),
            DecodeStop::NoPiece => of_move("a move of a piece that is not there"),
            DecodeStop::EmptySquare => of_move("a move from an empty square"),
            DecodeStop::Nowhere => of_move("a move that goes nowhere"),
            DecodeStop::NoRight(_) => of_move("castling without the right"),
            DecodeStop::InsideMove => "the data end inside a move".to_owned(),
            DecodeStop::InsideVariations => {
                format!("the data end inside {} variations", self.stack.len())
            }
            DecodeStop::TooDeep => format!("variations nest deeper than {MAX_DEPTH}"),
            DecodeStop::TooLong => format!("more than {MAX_PLIES} moves"),
            DecodeStop::PassedOver => {
                let (at, code) = self.passed_over.unwrap_or_default();
                return Malformed::new(at, format!("opcode {code} has no meaning"));
            }
        };
        Malformed::new(self.reader.position().saturating_sub(1), what)
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::fen::Fen;

    use super::*;
    use crate::cbh::moves::{encode, play};
    use crate::cbh::{Database, GameId, Options};

    #[test]
    fn only_moves_that_the_header_claims_are_missing_without_an_end_marker() {
        let path = "fixtures/cbh/sample/sample.cbh".as_ref();
        let database = Database::open(path, &Options::default()).unwrap();
        let (mut decoder, mut game) = (MoveDecoder::default(), Game::default());
        let mut stored = database.stored_game(GameId(5)).unwrap().moves;
        let mut decode = |blob: &[u8], claimed| {
            let read = decoder.decode(blob, claimed, &mut game);
            let Irregularities {
                lacks_end, surplus, ..
            } = decoder.irregularities();
            (read, lacks_end, surplus, main_line_count(&game))
        };
        let (read, lacks_end, surplus, count) = decode(&stored, u8::MAX);
        assert_eq!((read, lacks_end, surplus), (Ok(()), false, 0));
        assert!((10..100).contains(&count));
        assert_eq!(decode(&stored, count + 1).0, Ok(()));
        let len = stored.len();
        stored.extend([1, 2]);
        let (read, _, surplus, _) = decode(&stored, count);
        let told = Malformed::new(len, "2 bytes after the end marker".to_owned());
        assert_eq!((read, surplus), (Err(told), 2));
        stored.truncate(len - 1);
        for claimed in [0, count - 1, count, count + 1, u8::MAX - 1, u8::MAX] {
            let (read, lacks_end, ..) = decode(&stored, claimed);
            let is_missing = claimed > count && claimed < u8::MAX;
            let what = format!("the data end after {count} moves of {claimed}");
            let told = is_missing.then(|| Malformed::new(len - 1, what));
            assert_eq!((read.err(), lacks_end), (told, true), "{claimed}");
        }
    }

    #[test]
    fn a_move_of_the_simple_encoding_is_two_bytes_with_marks_of_variations() {
        let e4 = (Square::E2, Square::E4);
        let moves = [
            (0x8000, e4),
            (0x4000, (Square::E7, Square::E5)),
            (0x4000, (Square::A1, Square::A1)),
        ];
        for mode in [1, 3, 5, 7] {
            let encoding = Encoding::of_mode(mode).unwrap();
            let mut blob = vec![mode, 0, 0, 10];
            for (count, (marks, (from, to))) in (0..).zip(moves) {
                let (from, to) = if encoding.from_h8 {
                    (to, from)
                } else {
                    (from, to)
                };
                let word = marks | word::encode(from, to, None);
                let bytes = word.to_be_bytes();
                blob.extend(bytes.map(|byte| encoding.cipher.encode(byte, count)));
            }
            let mut game = Game::default();
            let read = MoveDecoder::default().decode(&blob, 2, &mut game);
            assert_eq!(read, Ok(()), "{mode}");
            let tree = &game.tree;
            let sans = |id| tree.ply(id).unwrap().san.to_string();
            assert!(tree.main_line().map(sans).eq(["e4", "e5"]), "{mode}");
            let other = tree.main_line().next().and_then(|e4| tree.next_sibling(e4));
            assert_eq!(other.map(sans).as_deref(), Some("--"), "{mode}");
            assert_eq!(tree.len(), 3, "{mode}");
        }
    }

    #[test]
    fn a_set_up_game_castles_without_the_right_where_king_and_rook_are_at_home() {
        let set_up = |fen: &str| {
            let fen: Fen = fen.parse().unwrap();
            let start = Start::set_up(fen.into_setup(), CastlingMode::Standard, 7);
            Game {
                start,
                ..Game::default()
            }
        };
        let with_right = "4k3/8/8/8/8/8/8/4K2R w K - 0 7";
        let mut game = set_up(with_right);
        let (king, rook) = (Square::E1, Square::H1);
        let mut line = TreeBuilder::new(&mut game.tree, &game.start.position);
        line.play(Move::Castle { king, rook }).unwrap();
        let castled = encode(&game).unwrap().blob;
        for (fen, is_read) in [
            (with_right, true),
            ("4k3/8/8/8/8/8/8/4K2R w - - 0 7", true),
            ("4k3/8/8/8/8/8/8/3K3R w - - 0 7", false),
        ] {
            let mut blob = encode(&set_up(fen)).unwrap().blob;
            blob.pop();
            blob.extend_from_slice(&castled[blob.len()..]);
            let read = MoveDecoder::default().decode(&blob, 1, &mut game);
            assert_eq!((read.is_ok(), game.tree.len() == 1), (is_read, is_read));
            let mut start = Vec::new();
            game.start.append_fen_to(&mut start);
            let expected = if is_read { with_right } else { fen };
            assert_eq!(start, expected.as_bytes());
        }
    }

    /// Plays moves given by their squares, such as `e2e4`; `--` is a null move.
    fn play_all(line: &mut TreeBuilder<'_>, moves: &str) {
        for word in moves.split_whitespace() {
            if word == "--" {
                line.play_null();
            } else {
                play(line, word);
            }
        }
    }

    #[test]
    fn mates_are_marked_wherever_a_line_ends_or_goes_on() {
        let mut game = Game::default();
        let mut line = TreeBuilder::new(&mut game.tree, &game.start.position);
        play_all(&mut line, "f2f3 e7e5 g2g4");
        let before_mate = line.branch();
        play_all(&mut line, "d8h4");
        let mated = line.branch();
        // Null moves are the only ones that follow a mate.
        play_all(&mut line, "-- h4h2");
        line.resume(mated);
        play_all(&mut line, "-- h4h5");
        line.resume(before_mate.clone());
        play_all(&mut line, "b8c6 h2h3 d8h4");
        line.resume(before_mate);
        play_all(&mut line, "f8c5 e2e3 d8h4");
        let sans = |game: &Game| -> Vec<String> {
            let plies = (1..=game.tree.len()).filter_map(|at| game.tree.place(at));
            plies
                .map(|ply| game.tree.ply(ply).unwrap().san.to_string())
                .collect()
        };
        let played = sans(&game);
        let count = |san: &str| played.iter().filter(|other| *other == san).count();
        assert_eq!((count("Qh4#"), count("Qh4+")), (2, 1), "{played:?}");
        let blob = encode(&game).unwrap().blob;
        let (mut decoder, mut read) = (MoveDecoder::default(), Game::default());
        decoder.decode(&blob, u8::MAX, &mut read).unwrap();
        let whole = sans(&read);
        let sorted = |mut sans: Vec<String>| {
            sans.sort();
            sans
        };
        assert_eq!(sorted(whole.clone()), sorted(played));
        // A game that is cut ends anywhere.
        for len in HEAD_BYTES..blob.len() {
            let _ = decoder.decode(blob.get(..len).unwrap(), u8::MAX, &mut read);
            let cut = sans(&read);
            assert_eq!(cut, whole[..cut.len()], "{len}");
        }
    }

    #[test]
    fn a_fault_knows_its_byte() {
        // 1.e4 e5 2.Nf3 of a base written by ChessBase, then what cannot be played.
        let moves = [128_u8, 128, 105];
        let king_to_the_left = 7;
        let queen_1 = 143;
        for (code, what) in [
            (king_to_the_left, "an illegal move as ply 4 of the stream"),
            (
                queen_1,
                "a move of a piece that is not there as ply 4 of the stream",
            ),
        ] {
            for behind in [&[][..], &[128, 128], &[5, 255]] {
                let codes = moves.iter().chain([&code]).chain(behind);
                let bytes = (0..).zip(codes);
                let bytes = bytes.map(|(count, code)| Cipher::CHESS.encode(*code, count));
                let mut blob = vec![0, 0, 0, 0];
                blob.extend(bytes);
                blob[3] = u8::try_from(blob.len()).unwrap();
                let read = MoveDecoder::default().decode(&blob, u8::MAX, &mut Game::default());
                let fault = read.unwrap_err();
                assert_eq!((fault.offset, fault.what.as_str()), (7, what), "{behind:?}");
            }
        }
    }

    #[test]
    fn encodings_differ_by_their_mode() {
        let modes = (0..=u8::MAX).filter_map(|mode| Some((mode, Encoding::of_mode(mode).ok()?)));
        let told = modes.map(|(mode, encoding)| {
            let marks = [
                (encoding.is_compact, 'c'),
                (encoding.is_chess960, '9'),
                (encoding.from_h8, 'h'),
            ];
            let marks: String = marks
                .iter()
                .filter(|mark| mark.0)
                .map(|mark| mark.1)
                .collect();
            format!("{mode}{marks}")
        });
        let told: Vec<String> = told.collect();
        assert_eq!(told.join(" "), "0c 1 2ch 3h 4c 5 6ch 7h 10c9 11c9h");
        let refused = |mode| Encoding::of_mode(mode).unwrap_err().what;
        assert_eq!(
            refused(8),
            "encoding mode 8 (losing chess) is not supported"
        );
        assert_eq!(
            refused(63),
            "encoding mode 63 (an illegal position) is not supported"
        );
        assert_eq!(refused(40), "encoding mode 40 is not supported");
    }
}
