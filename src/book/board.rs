//! The normalized board of book formats.
//!
//! A book stores one position for those that differ only by colour or by a
//! mirror image:
//!
//! 1. If Black is to move, colours are swapped and ranks turned, a1 to a8.
//! 2. If no castling rights are left and the white king stands on files a to d,
//!    the files are mirrored, a1 to h1.
//!
//! "We" are the side to move, which is White after step 1.

use shakmaty::{
    Bitboard, CastlingMode, CastlingSide, Color, File, Move, Piece, Rank, Role, Setup, Square,
};

use xxhash_rust::xxh3::xxh3_128;

use super::RelativeMove;
use crate::game::{PieceMove, Position};

/// The 64 squares: files a to h, each from rank 1 to 8. A byte is 0 for an
/// empty square, or the number of the role, from 1, plus 8 for a piece of the
/// other side.
pub type Squares = [[u8; 8]; 8];

/// Flag of a piece of the other side.
const THEIRS: u8 = 8;

/// Rank index of our pawns that may capture en passant.
const FIFTH: usize = 4;

/// Castling rights, one bit each, as books store them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Castling(pub u8);

impl Castling {
    /// Returns the bit of a right; "ours" is the side to move.
    pub fn bit(is_ours: bool, side: CastlingSide) -> u8 {
        match (is_ours, side) {
            (false, CastlingSide::KingSide) => 8,
            (false, CastlingSide::QueenSide) => 4,
            (true, CastlingSide::KingSide) => 2,
            (true, CastlingSide::QueenSide) => 1,
        }
    }

    /// All rights: whether they are ours, and the side of the board.
    fn each() -> impl Iterator<Item = (bool, CastlingSide)> {
        let sides = [CastlingSide::KingSide, CastlingSide::QueenSide];
        sides
            .into_iter()
            .flat_map(|side| [(false, side), (true, side)])
    }
}

/// A normalized board, and how it was normalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanonicalBoard {
    files: Squares,
    en_passant: Option<u8>,
    castling: Castling,
    is_black_to_move: bool,
    is_mirrored: bool,
}

impl CanonicalBoard {
    /// Normalizes the board of a position. `None` if no book can hold it:
    /// without exactly one king on each side, or with the castling of Chess960.
    pub fn of(position: &Position) -> Option<CanonicalBoard> {
        let board = position.board();
        let mut files = [[0; 8]; 8];
        for role in Role::ALL {
            for color in Color::ALL {
                let theirs = color.fold_wb(0, THEIRS);
                for square in board.by_piece(role.of(color)) {
                    *place(&mut files, square)? = role as u8 | theirs;
                }
            }
        }
        let castling = castling_of(position.castling_rights())?;
        let stepped = position
            .en_passant_square()
            .map(|square| square.file() as u8);
        let is_black = position.turn().is_black();
        CanonicalBoard::turned(files, castling, stepped, is_black)
    }

    /// Normalizes the board of a FEN, from its fields up to the en passant
    /// square. Faster than through a [`Position`], and with fewer checks.
    pub fn from_fen(fen: &[u8]) -> Option<CanonicalBoard> {
        let mut fields = fen.split(|&byte| byte == b' ');
        let files = files_of_fen(fields.next()?)?;
        let is_black = match fields.next()? {
            b"w" => false,
            b"b" => true,
            _ => return None,
        };
        let castling = fields.next()?.iter().try_fold(0, |rights, letter| {
            Some(match letter {
                b'K' => rights | 2,
                b'Q' => rights | 1,
                b'k' => rights | 8,
                b'q' => rights | 4,
                b'-' => rights,
                _ => return None,
            })
        })?;
        let stepped = match fields.next()? {
            [file @ b'a'..=b'h', _] => Some(file - b'a'),
            b"-" => None,
            _ => return None,
        };
        CanonicalBoard::turned(files, castling, stepped, is_black)
    }

    /// Returns a board that a book stores. `None` for an impossible position:
    /// without exactly one king on each side, with a pawn on the first or last
    /// rank, or with an en passant file without a pawn.
    pub fn stored(
        files: Squares,
        en_passant: Option<u8>,
        castling: Castling,
    ) -> Option<CanonicalBoard> {
        the_king(&files, Role::King as u8)?;
        the_king(&files, Role::King as u8 | THEIRS)?;
        let is_pawn = |piece: &u8| piece & !THEIRS == Role::Pawn as u8;
        let mut ends = files
            .iter()
            .flat_map(|ranks| ranks.first().into_iter().chain(ranks.last()));
        if ends.any(is_pawn) || en_passant.is_some_and(|file| file > 7 || !has_taker(&files, file))
        {
            return None;
        }
        Some(CanonicalBoard {
            files,
            en_passant,
            castling,
            is_black_to_move: false,
            is_mirrored: false,
        })
    }

    /// Normalizes a board. `castling` and `files` are as if White were to move;
    /// `stepped` is the file of the last double step.
    fn turned(
        mut files: Squares,
        mut castling: u8,
        stepped: Option<u8>,
        is_black_to_move: bool,
    ) -> Option<CanonicalBoard> {
        if is_black_to_move {
            files = files.map(with_colors_swapped);
            castling = (castling & 3) << 2 | castling >> 2;
        }
        let king_file = the_king(&files, Role::King as u8)?;
        the_king(&files, Role::King as u8 | THEIRS)?;
        let is_mirrored = castling == 0 && king_file < 4;
        if is_mirrored {
            files.reverse();
        }
        let stepped = stepped.map(|file| if is_mirrored { 7 - file } else { file });
        Some(CanonicalBoard {
            en_passant: stepped.filter(|&file| has_taker(&files, file)),
            files,
            castling: Castling(castling),
            is_black_to_move,
            is_mirrored,
        })
    }

    /// The squares, file by file.
    pub fn squares(&self) -> &Squares {
        &self.files
    }

    /// File index of a pawn that has just made a double step, if one of our
    /// pawns stands beside it, even if the capture is not legal.
    pub fn en_passant(&self) -> Option<u8> {
        self.en_passant
    }

    /// The same board without the en passant file.
    #[must_use]
    pub fn without_en_passant(self) -> CanonicalBoard {
        CanonicalBoard {
            en_passant: None,
            ..self
        }
    }

    /// The castling rights.
    pub fn castling(&self) -> Castling {
        self.castling
    }

    /// Whether colours and ranks were swapped.
    pub fn is_black_to_move(&self) -> bool {
        self.is_black_to_move
    }

    /// Whether files were mirrored.
    pub fn is_mirrored(&self) -> bool {
        self.is_mirrored
    }

    /// A 128-bit hash of the normalized board.
    pub fn key(&self) -> u128 {
        let mut bytes = [0; 66];
        let (squares, rest) = bytes.split_at_mut(64);
        squares.copy_from_slice(self.files.as_flattened());
        rest.copy_from_slice(&[self.en_passant.map_or(0, |file| file + 1), self.castling.0]);
        xxh3_128(&bytes)
    }

    /// Restores the position. It is irregular if the rules forbid it.
    pub fn to_position(&self) -> Position {
        let mut setup = Setup::empty();
        setup.turn = Color::from_white(!self.is_black_to_move);
        for (square, piece) in self.pieces() {
            let role = Role::try_from(u32::from(piece & !THEIRS));
            let color = if piece & THEIRS == 0 {
                setup.turn
            } else {
                !setup.turn
            };
            if let Ok(role) = role {
                setup.board.set_piece_at(square, Piece { color, role });
            }
        }
        for (is_ours, side) in Castling::each() {
            if self.castling.0 & Castling::bit(is_ours, side) != 0 {
                let color = if is_ours { setup.turn } else { !setup.turn };
                let rank = color.fold_wb(Rank::First, Rank::Eighth);
                let file = if side.is_king_side() {
                    File::H
                } else {
                    File::A
                };
                setup.castling_rights.add(Square::from_coords(file, rank));
            }
        }
        setup.ep_square = self.en_passant.and_then(|file| self.real(file, 5));
        Position::from_setup(setup, CastlingMode::Standard)
    }

    /// All pieces on their original squares.
    fn pieces(&self) -> impl Iterator<Item = (Square, u8)> {
        let places = (0..8).flat_map(|file| (0..8).map(move |rank| (file, rank)));
        let pieces = self.files.iter().flatten().zip(places);
        pieces.filter_map(|(&piece, (file, rank))| {
            (piece != 0).then_some((self.real(file, rank)?, piece))
        })
    }

    /// Returns the original square of a normalized one; file and rank from 0.
    fn real(&self, file: u8, rank: u8) -> Option<Square> {
        let file = if self.is_mirrored { 7 - file } else { file };
        let rank = if self.is_black_to_move {
            7 - rank
        } else {
            rank
        };
        let file = File::try_from(u32::from(file)).ok()?;
        let rank = Rank::try_from(u32::from(rank)).ok()?;
        Some(Square::from_coords(file, rank))
    }

    /// File and rank of our `nth` piece of a role, counted from 1.
    fn find(&self, role: Role, nth: u8) -> Option<(u8, u8)> {
        let squares = self.files.iter().flatten().zip(0_u8..64);
        let mut kind = squares.filter(|&(&piece, _)| piece == role as u8);
        let (_, at) = kind.nth(usize::from(nth.checked_sub(1)?))?;
        Some((at / 8, at % 8))
    }

    /// Returns the move that `stored` means in `position`, the position of this
    /// board; `None` if it means none, or an illegal one.
    pub fn legal_move(&self, position: &Position, stored: RelativeMove) -> Option<Move> {
        let (role, nth, files, ranks) = match stored {
            RelativeMove::Castle(side) => {
                let castling = position.castling_move(side)?;
                return position.is_legal(castling).then_some(castling);
            }
            RelativeMove::Step {
                role,
                nth,
                files,
                ranks,
            } => (role, nth, files, ranks),
        };
        let (file, rank) = self.find(role, nth)?;
        let (to_file, to_rank) = ((file + files) % 8, (rank + ranks) % 8);
        let (from, to) = (self.real(file, rank)?, self.real(to_file, to_rank)?);
        let promotes = role == Role::Pawn && to_rank == 7;
        let wanted = PieceMove {
            role,
            file: Some(from.file()),
            rank: Some(from.rank()),
            to,
            promotion: promotes.then_some(Role::Queen),
        };
        position.find_move(wanted).ok()
    }
}

fn place(files: &mut Squares, square: Square) -> Option<&mut u8> {
    let file = files.get_mut(square.file() as usize)?;
    file.get_mut(square.rank() as usize)
}

/// Castling rights of rooks in the corners; `None` if other rooks have them.
fn castling_of(rooks: Bitboard) -> Option<u8> {
    let corners = [
        (Square::H1, 2),
        (Square::A1, 1),
        (Square::H8, 8),
        (Square::A8, 4),
    ];
    let known = corners.iter().filter(|(corner, _)| rooks.contains(*corner));
    let rights = known.clone().fold(0, |rights, (_, bit)| rights | bit);
    (known.count() == rooks.count()).then_some(rights)
}

/// Reverses the ranks of a file and swaps the colours.
fn with_colors_swapped(file: [u8; 8]) -> [u8; 8] {
    // Only the bytes of pieces have one of the low three bits set.
    let pieces = u64::from_be_bytes(file);
    let low = 0x0101_0101_0101_0101;
    let occupied = (pieces | pieces >> 1 | pieces >> 2) & low;
    (pieces ^ occupied << 3).to_le_bytes()
}

/// File index of the only king of this kind; `None` if there are several.
fn the_king(files: &Squares, king: u8) -> Option<usize> {
    let squares = files.as_flattened();
    let at = squares.iter().position(|&piece| piece == king)?;
    let is_only = !squares.get(at + 1..)?.contains(&king);
    is_only.then_some(at / 8)
}

/// Returns whether one of our pawns stands beside the pawn that stepped on
/// `file`.
fn has_taker(files: &Squares, file: u8) -> bool {
    let file = usize::from(file);
    let is_ours = |file: usize| {
        let rank = files.get(file).and_then(|ranks| ranks.get(FIFTH));
        rank.is_some_and(|&piece| piece == Role::Pawn as u8)
    };
    file.checked_sub(1).is_some_and(is_ours) || is_ours(file + 1)
}

/// The piece of each FEN letter; 0 for none.
#[expect(
    clippy::indexing_slicing,
    reason = "a constant: wrong indices do not compile"
)]
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    letters[b'P' as usize] = Role::Pawn as u8;
    letters[b'N' as usize] = Role::Knight as u8;
    letters[b'B' as usize] = Role::Bishop as u8;
    letters[b'R' as usize] = Role::Rook as u8;
    letters[b'Q' as usize] = Role::Queen as u8;
    letters[b'K' as usize] = Role::King as u8;
    letters[b'p' as usize] = Role::Pawn as u8 | THEIRS;
    letters[b'n' as usize] = Role::Knight as u8 | THEIRS;
    letters[b'b' as usize] = Role::Bishop as u8 | THEIRS;
    letters[b'r' as usize] = Role::Rook as u8 | THEIRS;
    letters[b'q' as usize] = Role::Queen as u8 | THEIRS;
    letters[b'k' as usize] = Role::King as u8 | THEIRS;
    letters
};

/// Parses the first field of a FEN.
fn files_of_fen(field: &[u8]) -> Option<Squares> {
    let mut files = [[0; 8]; 8];
    let squares = files.as_flattened_mut();
    let (mut file, mut rank) = (0_usize, 7_usize);
    for &byte in field {
        let piece = LETTERS.get(usize::from(byte)).copied().unwrap_or(0);
        if piece != 0 && file < 8 {
            *squares.get_mut(8 * file + rank)? = piece;
            file += 1;
        } else if matches!(byte, b'1'..=b'8') {
            file += usize::from(byte - b'0');
        } else if byte == b'/' && file == 8 {
            rank = rank.checked_sub(1)?;
            file = 0;
        } else {
            return None;
        }
    }
    (rank == 0 && file == 8).then_some(files)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shakmaty::fen::Fen;
    use shakmaty::{Chess, EnPassantMode, Position as _};

    use super::*;

    fn position(fen: &str) -> Position {
        let fen: Fen = fen.parse().unwrap();
        Position::from_setup(fen.into_setup(), CastlingMode::Standard)
    }

    #[test]
    fn boards_that_differ_in_one_thing_have_different_keys() {
        let fens = [
            "4k3/8/8/Pp6/8/8/8/R3K2R w KQ - 0 1",
            "4k3/8/8/Pp6/8/8/8/R3K2R w K - 0 1",
            "4k3/8/8/1pP5/8/8/8/R3K2R w KQ - 0 1",
            "4k3/8/8/Pp6/8/8/8/R3K2R w KQ b6 0 1",
            "4k3/8/8/pP6/8/8/8/R3K2R w KQ - 0 1",
            "4k3/8/8/pP6/8/8/8/R3K2R w KQ a6 0 1",
        ];
        let keys = fens.map(|fen| CanonicalBoard::of(&position(fen)).unwrap().key());
        let mut distinct = keys.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), keys.len());
    }

    #[test]
    fn only_pawns_on_the_last_rank_become_queens() {
        let at = position("4k3/2P5/8/8/8/8/8/R3K3 w Q - 0 1");
        let board = CanonicalBoard::of(&at).unwrap();
        let step = |role, files, ranks| RelativeMove::Step {
            role,
            nth: 1,
            files,
            ranks,
        };
        let found = |meaning| {
            board
                .legal_move(&at, meaning)
                .map(|m| m.to_uci(CastlingMode::Standard).to_string())
        };
        assert_eq!(found(step(Role::Rook, 0, 7)).as_deref(), Some("a1a8"));
        assert_eq!(found(step(Role::Rook, 0, 5)).as_deref(), Some("a1a6"));
        assert_eq!(found(step(Role::Pawn, 0, 1)).as_deref(), Some("c7c8q"));
        assert_eq!(found(step(Role::Rook, 1, 7)), None);
        let castles = RelativeMove::Castle(shakmaty::CastlingSide::QueenSide);
        assert_eq!(found(castles).as_deref(), Some("e1c1"));
    }

    #[test]
    fn colours_are_swapped_square_by_square() {
        let file = [1, 9, 0, 6, 14, 0, 5, 13];
        assert_eq!(with_colors_swapped(file), [5, 13, 0, 6, 14, 0, 1, 9]);
    }

    #[test]
    fn positions_that_mirror_each_other_have_one_board() {
        let fens = [
            "4k3/8/8/8/8/2p5/P7/5K2 w - - 0 1",
            "3k4/8/8/8/8/5p2/7P/2K5 w - - 0 1",
            "5k2/p7/2P5/8/8/8/8/4K3 b - - 0 1",
            "2k5/7p/5P2/8/8/8/8/3K4 b - - 0 1",
        ];
        let boards = fens.map(|fen| CanonicalBoard::of(&position(fen)).unwrap());
        for (board, fen) in boards.iter().zip(fens) {
            assert_eq!(board.squares(), boards[0].squares(), "{fen}");
            assert_eq!(board.key(), boards[0].key(), "{fen}");
            let again = CanonicalBoard::of(&board.to_position());
            assert_eq!(again.as_ref(), Some(board), "{fen}");
        }
        let castling = "r3k3/8/8/8/8/8/8/2K5 w q - 0 1";
        let board = CanonicalBoard::of(&position(castling)).unwrap();
        assert!(!board.is_mirrored(), "the other side may castle");
    }

    #[test]
    fn a_capture_in_passing_needs_a_pawn_beside_and_no_more() {
        for (fen, file) in [
            ("8/8/8/K2pP2r/8/8/8/7k w - d6 0 1", Some(4)), // mirrored
            ("8/8/8/2KpP2r/8/8/8/7k w - - 0 1", None),
            ("4k3/8/8/3p1P2/8/8/8/4K3 w - d6 0 1", None),
            ("4k3/8/8/8/6Pp/8/8/4K3 b - g3 0 1", Some(6)),
        ] {
            let board = CanonicalBoard::from_fen(fen.as_bytes()).unwrap();
            assert_eq!(board.en_passant(), file, "{fen}");
        }
    }

    #[test]
    fn a_stored_step_of_a_pawn_needs_one_that_can_take_it() {
        let board = CanonicalBoard::from_fen(b"4k3/8/8/Pp6/8/8/8/R3K2R w KQ b6").unwrap();
        let stored =
            |file| CanonicalBoard::stored(*board.squares(), Some(file), board.castling()).is_some();
        assert_eq!([1, 0, 6, 8].map(stored), [true, false, false, false]);
    }

    #[test]
    fn boards_that_no_book_holds_are_none() {
        for fen in [
            "8/8/8/8/8/8/8/8 w - - 0 1",
            "4k3/8/8/8/8/8/8/KK6 w - - 0 1",
            "4k3/8/8/8/8/8/8/4K2 w - - 0 1",
            "4k3/8/8/8/8/8/8/9 w - - 0 1",
            "4k3/8/8/8/8/8/8/8/4K3 w - - 0 1",
            "4k3/8/8/8/8/8/8/4K3 x - - 0 1",
            "4k3/8/8/8/8/8/8/4K3 w HA - 0 1",
            "4k3/8/8/8/8/8/8/4K3",
            "",
        ] {
            assert_eq!(CanonicalBoard::from_fen(fen.as_bytes()), None, "{fen}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_board_goes_back_to_its_position(choices in prop::collection::vec(any::<u16>(), 1..120)) {
            let mut rules = Chess::new();
            for choice in choices {
                let legal = rules.legal_moves();
                if legal.is_empty() {
                    break;
                }
                rules.play_unchecked(legal[usize::from(choice) % legal.len()]);
                let setup = rules.to_setup(EnPassantMode::Always);
                let fen = Fen::from_position(&rules, EnPassantMode::PseudoLegal).to_string();
                let position = Position::from_setup(setup, CastlingMode::Standard);
                let board = CanonicalBoard::of(&position).unwrap();
                prop_assert_eq!(CanonicalBoard::from_fen(fen.as_bytes()), Some(board));
                let again = CanonicalBoard::of(&board.to_position());
                prop_assert_eq!(again, Some(board), "{}", fen);
            }
        }
    }

    #[test]
    fn a_board_without_its_step_of_a_pawn_is_as_if_there_had_been_none() {
        let board = |fen: &str| CanonicalBoard::from_fen(fen.as_bytes()).unwrap();
        let stepped = board("4k3/8/8/Pp6/8/8/8/R3K2R w KQ b6");
        assert_eq!(stepped.en_passant(), Some(1));
        let without = board("4k3/8/8/Pp6/8/8/8/R3K2R w KQ -");
        assert_eq!(stepped.without_en_passant(), without);
    }

    #[test]
    fn a_stored_board_has_a_king_of_each_side_and_no_pawn_at_an_end() {
        let squares = *CanonicalBoard::from_fen(b"4k3/8/8/8/8/8/8/4K3 w - -")
            .unwrap()
            .squares();
        let (pawn, king) = (Role::Pawn as u8, Role::King as u8);
        for (piece, rank, is_possible) in [
            (0, 0, true),
            (pawn, 1, true),
            (pawn, 0, false),
            (pawn, 7, false),
            (pawn | THEIRS, 6, true),
            (pawn | THEIRS, 0, false),
            (pawn | THEIRS, 7, false),
            (king, 3, false),
            (king | THEIRS, 3, false),
        ] {
            let mut files = squares;
            files[0][rank] = piece;
            let stored = CanonicalBoard::stored(files, None, Castling(0));
            assert_eq!(stored.is_some(), is_possible, "{piece} {rank}");
        }
    }
}
