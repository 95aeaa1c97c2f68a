//! The entry of a position, from the point of view of White and Black, with
//! moves on the real board.

use std::fmt;

use shakmaty::{ByColor, Color, Move};

use super::{CanonicalBoard, GameReference, PositionRecord, RatingSum, StoredMove};
use crate::game::Position;

/// Flag of a move that the book recommends.
const GREEN: u8 = 0x80;

/// Flag of a move that is not to be played.
const RED: u8 = 0x40;

/// The content of a book for one position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookEntry {
    /// The legal moves in the order of the book, each once.
    pub moves: Vec<BookMove>,
    /// Stored moves that are not legal.
    pub refused: Vec<RefusedMove>,
    /// The statistics of the position.
    pub statistics: BookStatistics,
    /// Whether the book recommends the move that led here.
    pub flags: Flags,
    /// How much the program likes that move, −125 to 125, as stored. It is not
    /// known for which side. `None` if the format has no weights.
    pub weight: Option<i8>,
    /// A NAG on the position; 0 for none.
    pub comment: u8,
    /// A comment on the position, or an opening: `E98|Name|Variation`.
    pub text: Option<String>,
    /// Games that leave the book here.
    pub last_here: Vec<GameReference>,
    /// A sample game with the position.
    pub sample: Option<GameReference>,
}

/// A move of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookMove {
    /// The move.
    pub m: Move,
    /// Its byte in the book.
    pub code: u8,
    /// The annotation byte as stored; see [`nag`](BookMove::nag).
    pub annotation: u8,
}

impl BookMove {
    /// Returns the annotation, if it is a NAG.
    pub fn nag(&self) -> Option<u8> {
        is_nag(self.annotation).then_some(self.annotation)
    }
}

/// A stored move that is not playable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedMove {
    /// Its byte in the book.
    pub code: u8,
    /// The reason.
    pub why: Refusal,
    /// The annotation byte as stored.
    pub annotation: u8,
}

/// The reason why a stored move is not playable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The code has no meaning.
    UnknownCode,
    /// There is no such piece, or the move is illegal.
    Illegal,
    /// The entry already has the move.
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

/// The statistics of a position. Games without a result may be missing in all
/// fields but `games`, so the fields may not add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BookStatistics {
    /// Number of games with the position.
    pub games: u32,
    /// Number of games won by White.
    pub white: u32,
    /// Number of drawn games.
    pub draws: u32,
    /// Number of games won by Black.
    pub black: u32,
    /// White's points in tenths, 0 to 10 per game, evaluated lines included;
    /// `None` if the format has no points.
    pub score: Option<u32>,
    /// Ratings of the players of both sides; `None` if the format has none.
    pub ratings: Option<ByColor<RatingSum>>,
}

/// An average rating.
pub type Rating = f64;

impl BookStatistics {
    /// White's share of the points, 0 to 1; `None` if unknown.
    pub fn white_score(&self) -> Option<f64> {
        if let Some(tenths) = self.score.filter(|_| self.games > 0) {
            return Some((f64::from(tenths) / (10.0 * f64::from(self.games))).min(1.0));
        }
        let won = f64::from(self.white) + f64::from(self.draws) / 2.0;
        let decided = f64::from(self.white) + f64::from(self.draws) + f64::from(self.black);
        (decided > 0.0).then(|| won / decided)
    }

    /// Number of games won by `color`.
    pub fn wins_of(&self, color: Color) -> u32 {
        color.fold_wb(self.white, self.black)
    }

    /// Average rating of the players of one side; `None` if no rating is known.
    pub fn average(&self, color: Color) -> Option<Rating> {
        let RatingSum { players, sum } = *self.ratings.as_ref()?.get(color);
        (players > 0).then(|| f64::from(sum) / f64::from(players))
    }
}

/// Recommendation flags of the move that leads to a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Returns whether the move is not to be played. A move with both flags is
    /// red.
    pub fn is_red(self) -> bool {
        self.0 & RED != 0
    }

    /// Returns whether the move is recommended.
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

impl BookEntry {
    /// Decodes `record` for `position`, whose normalized board is `board`.
    pub fn new(
        position: &Position,
        board: &CanonicalBoard,
        mut record: PositionRecord,
    ) -> BookEntry {
        let stored = std::mem::take(&mut record.moves);
        let mut entry = BookEntry::without_moves(position.turn(), record);
        entry.moves.reserve_exact(stored.len());
        for stored in stored {
            entry.add_move(position, board, stored);
        }
        entry
    }

    /// As [`new`](BookEntry::new), but without the moves.
    pub fn without_moves(turn: Color, record: PositionRecord) -> BookEntry {
        BookEntry {
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
        let meanings = [stored.meaning, stored.alternative];
        let mut legal = meanings.into_iter().flatten();
        let why = match legal.find_map(|it| board.legal_move(position, it)) {
            Some(m) if self.moves.iter().any(|known| known.m == m) => Refusal::Twice,
            Some(m) => {
                self.moves.push(BookMove {
                    m,
                    code,
                    annotation,
                });
                return;
            }
            None if stored.meaning.is_none() => Refusal::UnknownCode,
            None => Refusal::Illegal,
        };
        self.refused.push(RefusedMove {
            code,
            why,
            annotation,
        });
    }

    /// Returns the comment, if it is a NAG.
    pub fn nag(&self) -> Option<u8> {
        is_nag(self.comment).then_some(self.comment)
    }
}

fn statistics(turn: Color, record: &PositionRecord) -> BookStatistics {
    let (ours, theirs) = (record.wins, record.losses);
    let score = record.score.map(|ours| {
        let all = u64::from(record.games) * 10;
        let theirs = u32::try_from(all.saturating_sub(u64::from(ours))).unwrap_or(u32::MAX);
        turn.fold_wb(ours, theirs)
    });
    let ratings = record.our_ratings.zip(record.their_ratings);
    BookStatistics {
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

/// Returns whether the number is a NAG of PGN that ChessBase writes.
fn is_nag(nag: u8) -> bool {
    matches!(nag, 1..=140 | 142 | 145 | 146)
}

/// Converts a NAG that is given as if White were to move.
pub fn turned_nag(nag: u8, turn: Color) -> u8 {
    match nag {
        // Pairs of NAGs for White and Black; White's is even.
        14..=21 | 32 | 33 | 36 | 37 | 40 | 41 | 44 | 45 | 132 | 133 | 138 | 139
            if turn.is_black() =>
        {
            nag ^ 1
        }
        _ => nag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::RelativeMove;

    #[test]
    fn scores_are_shares_of_the_points_or_else_of_the_results() {
        let statistics = BookStatistics {
            games: 10,
            white: 4,
            draws: 2,
            black: 2,
            ..BookStatistics::default()
        };
        assert_eq!(statistics.white_score(), Some(0.625));
        let scored = |score| BookStatistics {
            score: Some(score),
            ..statistics
        };
        assert_eq!(scored(25).white_score(), Some(0.25));
        assert_eq!(scored(250).white_score(), Some(1.0));
        assert_eq!(BookStatistics::default().white_score(), None);
        let wins = [Color::White, Color::Black].map(|color| statistics.wins_of(color));
        assert_eq!(wins, [4, 2]);
    }

    #[test]
    fn the_average_rating_counts_rated_players_alone() {
        let sum = |players, sum| RatingSum { players, sum };
        let rated = BookStatistics {
            ratings: Some(ByColor {
                white: sum(4, 10_002),
                black: sum(0, 0),
            }),
            ..BookStatistics::default()
        };
        assert_eq!(rated.average(Color::White), Some(2500.5));
        assert_eq!(rated.average(Color::Black), None);
        assert_eq!(BookStatistics::default().average(Color::White), None);
    }

    #[test]
    fn an_annotation_is_shown_if_it_is_a_nag() {
        let nag = |annotation| {
            let m = Move::Normal {
                role: shakmaty::Role::Pawn,
                from: shakmaty::Square::E2,
                capture: None,
                to: shakmaty::Square::E4,
                promotion: None,
            };
            let code = 0;
            BookMove {
                m,
                code,
                annotation,
            }
            .nag()
        };
        assert_eq!([0, 1, 140, 141].map(nag), [None, Some(1), Some(140), None]);
    }

    #[test]
    fn a_move_with_both_flags_is_red() {
        let flags = [0, GREEN, RED, GREEN | RED].map(Flags);
        let names = flags.map(|flags| flags.to_string());
        assert_eq!(names, ["", "green", "red", "red"]);
        assert_eq!(flags.map(Flags::is_green), [false, true, false, false]);
        assert_eq!(flags.map(Flags::is_red), [false, false, true, true]);
    }

    #[test]
    fn a_stored_move_is_refused_without_a_meaning_or_a_piece_and_the_second_time() {
        let position = Position::default();
        let board = CanonicalBoard::of(&position).unwrap();
        let pawn = |ranks| {
            Some(RelativeMove::Step {
                role: shakmaty::Role::Pawn,
                nth: 5,
                files: 0,
                ranks,
            })
        };
        let moves = [pawn(2), None, pawn(3), pawn(2)].map(|meaning| StoredMove {
            code: 0,
            meaning,
            alternative: None,
            annotation: 0,
        });
        let record = PositionRecord {
            moves: moves.to_vec(),
            ..PositionRecord::default()
        };
        let entry = BookEntry::new(&position, &board, record);
        assert_eq!(entry.moves.len(), 1);
        let why: Vec<Refusal> = entry.refused.iter().map(|refused| refused.why).collect();
        let wanted = [Refusal::UnknownCode, Refusal::Illegal, Refusal::Twice];
        assert_eq!(why, wanted);
    }

    #[test]
    fn a_refused_move_says_its_code_and_why() {
        let said = |why| {
            let (code, annotation) = (0x5F, 0);
            let refused = RefusedMove {
                code,
                why,
                annotation,
            };
            refused.to_string()
        };
        let all = [Refusal::UnknownCode, Refusal::Illegal, Refusal::Twice].map(said);
        assert_eq!(all[0], "move code 0x5f has no meaning");
        assert_eq!(all[1], "move code 0x5f is no legal move here");
        assert_eq!(all[2], "move code 0x5f is listed twice");
    }
}
