//! What a book says of a position, as people see it: White's and Black's
//! numbers, moves on the real board.

use std::fmt;

use shakmaty::{ByColor, Color, Move};

use super::{CanonicalBoard, GameReference, RatingSum, Record, StoredMove};
use crate::game::Position;

/// The flag of a move that the book wants played.
const GREEN: u8 = 0x80;

/// The flag of a move that it does not want played.
const RED: u8 = 0x40;

/// What a book says of a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The legal moves of the book in its order, each once.
    pub moves: Vec<BookMove>,
    /// What the book lists as moves and the rules do not allow.
    pub refused: Vec<RefusedMove>,
    /// The numbers of the position.
    pub statistics: Statistics,
    /// Whether the book recommends the move that led here.
    pub flags: Flags,
    /// How much the book's program likes that move, −125 to 125, as stored:
    /// whose view it is nobody knows. `None` if the format has no such number.
    pub weight: Option<i8>,
    /// A NAG on the position; 0 is none.
    pub comment: u8,
    /// What is written about the position, or an opening: `E98|Name|Variation`.
    pub text: Option<String>,
    /// Games that end their way through the book here.
    pub last_here: Vec<GameReference>,
    /// One game with the position.
    pub sample: Option<GameReference>,
}

/// A move of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookMove {
    /// The move.
    pub m: Move,
    /// The byte that means it.
    pub code: u8,
    /// The byte beside it as stored; [`nag`](BookMove::nag) if it is one.
    pub annotation: u8,
}

impl BookMove {
    /// The annotation, if it is a NAG.
    pub fn nag(&self) -> Option<u8> {
        is_nag(self.annotation).then_some(self.annotation)
    }
}

/// A move of the book that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedMove {
    /// The byte in the book.
    pub code: u8,
    /// Why it is no move.
    pub why: Refusal,
    /// The byte beside it.
    pub annotation: u8,
}

/// Why a stored move is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its code has no meaning.
    UnknownCode,
    /// The piece is not there, or the rules forbid the move.
    Illegal,
    /// The entry has the move already.
    Twice,
}

impl fmt::Display for RefusedMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code;
        match self.why {
            Refusal::UnknownCode => write!(f, "move code {code:#04x} has no meaning"),
            Refusal::Illegal => write!(f, "move code {code:#04x} is no legal move here"),
            Refusal::Twice => write!(f, "move code {code:#04x} is listed twice"),
        }
    }
}

/// The numbers of a position. Games without a result need not be counted
/// anywhere but in `games`, and no sum is to be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Games with the position.
    pub games: u32,
    /// Games that White won.
    pub white: u32,
    /// Drawn games.
    pub draws: u32,
    /// Games that Black won.
    pub black: u32,
    /// White's points in tenths, evaluated lines included, 0 to 10 a game;
    /// `None` if the format has no such number.
    pub score: Option<u32>,
    /// Ratings of White's and of Black's players; `None` if there are none.
    pub ratings: Option<ByColor<RatingSum>>,
}

/// An average of ratings.
pub type Rating = f64;

impl Statistics {
    /// White's share of the points, 0 to 1; `None` if nothing is known.
    pub fn white_score(&self) -> Option<f64> {
        if let Some(tenths) = self.score.filter(|_| self.games > 0) {
            return Some((f64::from(tenths) / (10.0 * f64::from(self.games))).min(1.0));
        }
        let won = f64::from(self.white) + f64::from(self.draws) / 2.0;
        let decided = f64::from(self.white) + f64::from(self.draws) + f64::from(self.black);
        (decided > 0.0).then(|| won / decided)
    }

    /// Games that `color` won.
    pub fn wins_of(&self, color: Color) -> u32 {
        color.fold_wb(self.white, self.black)
    }

    /// The average rating of one side's players; `None` without any.
    pub fn average(&self, color: Color) -> Option<Rating> {
        let RatingSum { players, sum } = *self.ratings.as_ref()?.get(color);
        (players > 0).then(|| f64::from(sum) / f64::from(players))
    }
}

/// What the book's program is to play, of the position that a move leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Do not play. A move with both flags is red.
    pub fn is_red(self) -> bool {
        self.0 & RED != 0
    }

    /// Play.
    pub fn is_green(self) -> bool {
        self.0 & (GREEN | RED) == GREEN
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_green(), self.is_red()) {
            (true, _) => "green",
            (_, true) => "red",
            _ => "",
        })
    }
}

impl Entry {
    /// What `record`, which is that of `board`, says of `position`.
    pub fn new(position: &Position, board: &CanonicalBoard, mut record: Record) -> Entry {
        let stored = std::mem::take(&mut record.moves);
        let mut entry = Entry::without_moves(position.turn(), record);
        entry.moves.reserve_exact(stored.len());
        for stored in stored {
            entry.add_move(position, board, stored);
        }
        entry
    }

    /// As [`new`](Entry::new), without the moves.
    pub fn without_moves(turn: Color, record: Record) -> Entry {
        Entry {
            moves: Vec::new(),
            refused: Vec::new(),
            statistics: statistics(turn, &record),
            flags: Flags(record.flags),
            weight: record.weight,
            comment: turned_nag(record.comment, turn),
            text: record.text,
            last_here: record.last_here,
            sample: record.sample,
        }
    }

    fn add_move(&mut self, position: &Position, board: &CanonicalBoard, stored: StoredMove) {
        let StoredMove {
            code, annotation, ..
        } = stored;
        let meanings = [stored.way, stored.otherwise];
        let mut legal = meanings.into_iter().flatten();
        let why = match legal.find_map(|way| board.legal_move(position, way)) {
            Some(m) if self.moves.iter().any(|known| known.m == m) => Refusal::Twice,
            Some(m) => {
                self.moves.push(BookMove {
                    m,
                    code,
                    annotation,
                });
                return;
            }
            None if stored.way.is_none() => Refusal::UnknownCode,
            None => Refusal::Illegal,
        };
        self.refused.push(RefusedMove {
            code,
            why,
            annotation,
        });
    }

    /// The comment, if it is a NAG.
    pub fn nag(&self) -> Option<u8> {
        is_nag(self.comment).then_some(self.comment)
    }
}

fn statistics(turn: Color, record: &Record) -> Statistics {
    let (ours, theirs) = (record.wins, record.losses);
    let score = record.score.map(|ours| {
        let all = u64::from(record.games) * 10;
        let theirs = u32::try_from(all.saturating_sub(u64::from(ours))).unwrap_or(u32::MAX);
        turn.fold_wb(ours, theirs)
    });
    let ratings = record.our_ratings.zip(record.their_ratings);
    Statistics {
        games: record.games,
        white: turn.fold_wb(ours, theirs),
        draws: record.draws,
        black: turn.fold_wb(theirs, ours),
        score,
        ratings: ratings.map(|(ours, theirs)| ByColor {
            white: turn.fold_wb(ours, theirs),
            black: turn.fold_wb(theirs, ours),
        }),
    }
}

/// Whether PGN has the number as a NAG, and ChessBase writes it.
fn is_nag(nag: u8) -> bool {
    matches!(nag, 1..=140 | 142 | 145 | 146)
}

/// A NAG given as if the side to move were White, for the side that is.
pub fn turned_nag(nag: u8, turn: Color) -> u8 {
    match nag {
        // Pairs of White and Black, the even one White's.
        14..=21 | 32 | 33 | 36 | 37 | 40 | 41 | 44 | 45 | 132 | 133 | 138 | 139
            if turn.is_black() =>
        {
            nag ^ 1
        }
        _ => nag,
    }
}
