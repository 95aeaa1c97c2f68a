//! Words into moves: short and long algebraic notation, UCI, castling with
//! letters or zeros, and the ways programs write a null move.

use shakmaty::{CastlingMode, CastlingSide, File, Move, Rank, Role, Square};

use crate::game::{NoSuchMove, PieceMove, Position};

/// What a word says about a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    /// `--`, `Z0`, `null`, `pass`, `@@@@`, `0000`
    Null,
    /// `O-O`, `0-0-0`
    Castling(CastlingSide),
    /// `Nf3`, `Nbd2`, `Ng1-f3`, `exd5`, `e8=Q`, `exd6e.p.`
    Piece {
        wanted: PieceMove,
        /// `x`: something is taken.
        takes: bool,
        /// `e.p.`: a pawn is taken in passing.
        in_passing: bool,
    },
    /// `e2e4`, `e2-e4`, `e7e8q`: whatever stands there, castling too.
    Squares {
        from: Square,
        to: Square,
        promotion: Option<Role>,
        takes: bool,
        in_passing: bool,
    },
}

impl Notation {
    /// `None` if the word is no move in any position.
    pub(super) fn parse(word: &[u8]) -> Option<Notation> {
        if is_null(word) {
            return Some(Notation::Null);
        }
        let (word, in_passing) = without_marks(word);
        castling_side(word)
            .map(Notation::Castling)
            .or_else(|| parse_piece_move(word, in_passing))
    }

    /// As [`parse`](Notation::parse) for what nearly all moves look like; `None`
    /// says nothing of others.
    pub(super) fn parse_plain(word: &[u8]) -> Option<Notation> {
        let word = match word {
            [rest @ .., b'+' | b'#'] => rest,
            _ => word,
        };
        match word {
            b"O-O" => return Some(Notation::Castling(CastlingSide::KingSide)),
            b"O-O-O" => return Some(Notation::Castling(CastlingSide::QueenSide)),
            _ => {}
        }
        let (&letter, rest) = word.split_first()?;
        let (role, rest) = match piece_of(letter) {
            Some(role) => (role, rest),
            None => (Role::Pawn, word),
        };
        let (rest, promotion) = match rest {
            [rest @ .., b'=', letter @ (b'Q' | b'R' | b'B' | b'N')] => {
                (rest, Some(Role::from_char(char::from(*letter))?))
            }
            _ => (rest, None),
        };
        let (origin, [file, rank]) = rest.split_last_chunk()?;
        let to = Square::from_coords(file_of(*file)?, rank_of(*rank)?);
        let (origin, takes) = match origin {
            [origin @ .., b'x'] => (origin, true),
            _ => (origin, false),
        };
        let (file, rank) = match (origin, role) {
            ([], _) => (None, None),
            ([file @ b'a'..=b'h'], _) => (file_of(*file), None),
            ([_], Role::Pawn) => return None,
            ([rank], _) => (None, Some(rank_of(*rank)?)),
            _ => return None,
        };
        let wanted = PieceMove {
            role,
            file,
            rank,
            to,
            promotion,
        };
        Some(Notation::Piece {
            wanted,
            takes,
            in_passing: false,
        })
    }

    /// The move in this position; `None` is the null move.
    ///
    /// # Errors
    ///
    /// [`NoSuchMove`] if no legal move fits, or more than one.
    pub(super) fn find(self, position: &Position) -> Result<Option<Move>, NoSuchMove> {
        let (found, takes, in_passing) = match self {
            Notation::Null => return Ok(None),
            Notation::Castling(side) => (castling(position, side)?, false, false),
            Notation::Piece {
                wanted,
                takes,
                in_passing,
            } => (position.find_move(wanted)?, takes, in_passing),
            Notation::Squares {
                from,
                to,
                promotion,
                takes,
                in_passing,
            } => (
                find_between(position, from, to, promotion)?,
                takes,
                in_passing,
            ),
        };
        let is_in_passing = matches!(found, Move::EnPassant { .. });
        if (takes && !found.is_capture()) || (in_passing && !is_in_passing) {
            return Err(NoSuchMove::Illegal);
        }
        Ok(Some(found))
    }
}

impl Notation {
    /// As [`find`](Notation::find), for who plays the move and so finds out whether it is
    /// legal.
    pub(super) fn presume(self, position: &Position) -> Option<Move> {
        match self {
            Notation::Piece {
                wanted,
                takes,
                in_passing: false,
            } => {
                let presumed = position.presumed_move(wanted);
                presumed.filter(|found| !takes || found.is_capture())
            }
            _ => self.find(position).ok()?,
        }
    }

    /// Whether no position has such a move: one of a piece that becomes another.
    pub(super) fn is_impossible(self) -> bool {
        match self {
            Notation::Piece { wanted, .. } => {
                wanted.role != Role::Pawn && wanted.promotion.is_some()
            }
            _ => false,
        }
    }

    /// Whether a pawn goes to its last rank and stays one.
    pub(super) fn lacks_promotion(self) -> bool {
        match self {
            Notation::Piece { wanted, .. } => {
                wanted.role == Role::Pawn
                    && wanted.promotion.is_none()
                    && matches!(wanted.to.rank(), Rank::First | Rank::Eighth)
            }
            _ => false,
        }
    }
}

/// The piece of a capital letter; `None` of a pawn and of any other sign.
#[inline]
fn piece_of(letter: u8) -> Option<Role> {
    /// A look at a table, where a choice of branches would be predicted wrongly for
    /// each move.
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    const PIECES: [Option<Role>; 256] = {
        let mut pieces = [None; 256];
        pieces[b'K' as usize] = Some(Role::King);
        pieces[b'Q' as usize] = Some(Role::Queen);
        pieces[b'R' as usize] = Some(Role::Rook);
        pieces[b'B' as usize] = Some(Role::Bishop);
        pieces[b'N' as usize] = Some(Role::Knight);
        pieces
    };
    PIECES.get(usize::from(letter)).copied()?
}

fn is_null(word: &[u8]) -> bool {
    const WORDS: [&[u8]; 6] = [b"--", b"Z0", b"null", b"pass", b"@@@@", b"0000"];
    WORDS.iter().any(|null| word.eq_ignore_ascii_case(null))
}

/// The word without marks of check and of taking in passing; and whether it
/// had the latter. Bases are full of wrong check marks, so they say nothing.
fn without_marks(word: &[u8]) -> (&[u8], bool) {
    let unchecked = without_check(word);
    for mark in [&b"e.p."[..], b"ep"] {
        if let Some(rest) = unchecked.strip_suffix(mark) {
            return (without_check(rest), true);
        }
    }
    (unchecked, false)
}

fn without_check(word: &[u8]) -> &[u8] {
    let marks: [&[u8]; 3] = [b"++", b"+", b"#"];
    let rest = marks.iter().find_map(|&mark| word.strip_suffix(mark));
    rest.unwrap_or(word)
}

fn castling_side(word: &[u8]) -> Option<CastlingSide> {
    match word {
        b"O-O" | b"0-0" | b"o-o" => Some(CastlingSide::KingSide),
        b"O-O-O" | b"0-0-0" | b"o-o-o" => Some(CastlingSide::QueenSide),
        _ => None,
    }
}

fn castling(position: &Position, side: CastlingSide) -> Result<Move, NoSuchMove> {
    let castling = position.castling_move(side);
    castling
        .filter(|&m| position.is_legal(m))
        .ok_or(NoSuchMove::Illegal)
}

/// Piece letter, origin, sign, destination, promotion: all but the
/// destination may be absent.
fn parse_piece_move(word: &[u8], in_passing: bool) -> Option<Notation> {
    let (role, rest) = match word {
        [letter @ (b'K' | b'Q' | b'R' | b'B' | b'N'), rest @ ..] => {
            (Role::from_char(char::from(*letter)), rest)
        }
        _ => (None, word),
    };
    let (rest, promotion) = split_promotion(rest);
    let (origin, [file, rank]) = rest.split_last_chunk()?;
    let to = Square::from_coords(file_of(*file)?, rank_of(*rank)?);
    let (origin, takes) = match origin {
        [origin @ .., b'x' | b':'] => (origin, true),
        [origin @ .., b'-'] => (origin, false),
        _ => (origin, false),
    };
    let (file, rank) = match origin {
        [] => (None, None),
        [file, rank] => (Some(file_of(*file)?), Some(rank_of(*rank)?)),
        [one] => match file_of(*one) {
            Some(file) => (Some(file), None),
            None => (None, Some(rank_of(*one)?)),
        },
        _ => return None,
    };
    if let (None, Some(file), Some(rank)) = (role, file, rank) {
        return Some(Notation::Squares {
            from: Square::from_coords(file, rank),
            to,
            promotion,
            takes,
            in_passing,
        });
    }
    Some(Notation::Piece {
        wanted: PieceMove {
            role: role.unwrap_or(Role::Pawn),
            file,
            rank,
            to,
            promotion,
        },
        takes,
        in_passing,
    })
}

/// Takes `=Q`, `Q`, `(Q)`, `/Q` off the end, in capitals or not.
fn split_promotion(word: &[u8]) -> (&[u8], Option<Role>) {
    let (rest, letter) = match word {
        [rest @ .., b'(', letter, b')']
        | [rest @ .., b'=' | b'/', letter]
        | [rest @ .., letter] => (rest, *letter),
        [] => return (word, None),
    };
    match Role::from_char(char::from(letter)) {
        Some(role @ (Role::Queen | Role::Rook | Role::Bishop | Role::Knight)) => (rest, Some(role)),
        _ => (word, None),
    }
}

/// The move of whatever stands on `from`.
fn find_between(
    position: &Position,
    from: Square,
    to: Square,
    promotion: Option<Role>,
) -> Result<Move, NoSuchMove> {
    let role = position.board().role_at(from).ok_or(NoSuchMove::Illegal)?;
    let found = position.find_move(PieceMove {
        role,
        file: Some(from.file()),
        rank: Some(from.rank()),
        to,
        promotion,
    });
    if found.is_ok() || role != Role::King || promotion.is_some() {
        return found;
    }
    castling_between(position, from, to)
}

/// Castling as UCI writes it: the king goes two files, or in Chess960 to its
/// rook.
fn castling_between(position: &Position, from: Square, to: Square) -> Result<Move, NoSuchMove> {
    let m = castling(position, CastlingSide::from_king_side(from < to))?;
    let Move::Castle { king, rook } = m else {
        return Err(NoSuchMove::Illegal);
    };
    let goes_two = position.castling_mode() == CastlingMode::Standard
        && king.rank() == to.rank()
        && king.file().distance(to.file()) == 2;
    if king == from && (goes_two || rook == to) {
        return Ok(m);
    }
    Err(NoSuchMove::Illegal)
}

fn file_of(byte: u8) -> Option<File> {
    File::from_char(char::from(byte))
}

fn rank_of(byte: u8) -> Option<Rank> {
    Rank::from_char(char::from(byte))
}

#[cfg(test)]
mod tests {
    use shakmaty::fen::Fen;

    use super::*;

    /// What a word means in a position: the move in UCI, or why it is none.
    fn meaning(fen: &str, word: &str) -> String {
        let setup = fen.parse::<Fen>().unwrap().into_setup();
        let position = Position::from_setup(setup, CastlingMode::Standard);
        match Notation::parse(word.as_bytes()).map(|notation| notation.find(&position)) {
            None => "no move".to_owned(),
            Some(Ok(None)) => "null".to_owned(),
            Some(Ok(Some(m))) => m.to_uci(CastlingMode::Standard).to_string(),
            Some(Err(error)) => format!("{error:?}").to_lowercase(),
        }
    }

    fn check(fen: &str, cases: &[(&str, &str)]) {
        for (word, expected) in cases {
            assert_eq!(meaning(fen, word), *expected, "{word}");
        }
    }

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

    #[test]
    fn a_move_may_be_written_in_many_ways() {
        check(
            START,
            &[
                ("Nf3", "g1f3"),
                ("Nf3+", "g1f3"),
                ("Ngf3", "g1f3"),
                ("N1f3", "g1f3"),
                ("Ng1f3", "g1f3"),
                ("Ng1-f3", "g1f3"),
                ("g1f3", "g1f3"),
                ("e4", "e2e4"),
                ("Pe4", "no move"),
                ("e2e4", "e2e4"),
                ("e2-e4", "e2e4"),
                ("e2-e4#", "e2e4"),
            ],
        );
    }

    #[test]
    fn plain_and_full_notation_parse_alike() {
        let parts: [&[&str]; 5] = [
            &["", "K", "Q", "N", "B", "P", "O-O", "O-O-O", "b", "n"],
            &["", "a", "h", "3", "a3", "B", "x", "-"],
            &["", "x", "ax", "-"],
            &["e4", "h8", "a1", "i3", "e9", "e", ""],
            &[
                "", "+", "#", "++", "=Q", "=Q+", "=K", "Q", "=b", "x", "e.p.",
            ],
        ];
        let mut plain = 0;
        let mut words = vec![String::new()];
        for part in parts {
            let longer = |word: &String| {
                part.iter()
                    .map(|next| format!("{word}{next}"))
                    .collect::<Vec<_>>()
            };
            words = words.iter().flat_map(longer).collect();
        }
        for word in words {
            if let Some(notation) = Notation::parse_plain(word.as_bytes()) {
                assert_eq!(Notation::parse(word.as_bytes()), Some(notation), "{word}");
                plain += 1;
            }
        }
        assert!(plain > 100, "{plain}");
    }

    #[test]
    fn passing_the_move_has_many_words() {
        for word in ["--", "Z0", "null", "pass", "@@@@", "0000"] {
            check(START, &[(word, "null")]);
        }
    }

    #[test]
    fn castling_is_written_with_letters_zeros_or_squares() {
        let fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
        check(
            fen,
            &[
                ("O-O", "e1g1"),
                ("0-0", "e1g1"),
                ("O-O-O", "e1c1"),
                ("0-0-0++", "e1c1"),
                ("e1g1", "e1g1"),
                ("e1c1", "e1c1"),
                ("e1h1", "e1g1"),
                ("e1b1", "illegal"),
            ],
        );
        check(START, &[("O-O", "illegal"), ("e1g1", "illegal")]);
    }

    #[test]
    fn a_promotion_names_the_new_piece() {
        let fen = "3r3k/4P3/8/8/8/8/8/7K w - - 0 1";
        check(
            fen,
            &[
                ("e8=Q", "e7e8q"),
                ("e8Q", "e7e8q"),
                ("e8(N)", "e7e8n"),
                ("e8/R", "e7e8r"),
                ("e7e8b", "e7e8b"),
                ("exd8=Q+", "e7d8q"),
                ("e8", "illegal"),
                ("e8=K", "no move"),
                ("Kg1=Q", "illegal"),
            ],
        );
    }

    #[test]
    fn a_named_captured_piece_must_exist() {
        let fen = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1";
        check(
            fen,
            &[
                ("exd6", "e5d6"),
                ("exd6e.p.", "e5d6"),
                ("e5xd6ep", "e5d6"),
                ("e5:d6", "e5d6"),
                ("ed6", "e5d6"),
                ("exf6", "illegal"),
                ("e6e.p.", "illegal"),
                ("Kxe2", "illegal"),
                ("d6", "illegal"),
            ],
        );
    }

    #[test]
    fn an_unclear_move_is_ambiguous() {
        let fen = "4k3/8/8/8/8/8/4K3/R6R w - - 0 1";
        check(
            fen,
            &[("Re1", "ambiguous"), ("Rae1", "a1e1"), ("Ra1", "illegal")],
        );
    }

    #[test]
    fn other_words_are_no_moves() {
        for word in [
            "Nf33", "N", "x", "", "e", "e9", "nf3", "O-O-O-O", "Qd1d2d3", "+", "é4",
        ] {
            check(START, &[(word, "no move")]);
        }
    }
}
