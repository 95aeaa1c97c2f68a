//! The moves of a position with their successor positions: which one is the
//! main line, and how often a program would play each.

use shakmaty::Color;

use super::{Book, BookEntry, BookMove, BookStatistics, Error};
use crate::game::{Position, San, rating_difference};

/// NAGs of moves that are not to be played: `?` and `??`.
const BAD: [u8; 2] = [2, 4];

/// A move of a position, with its consequences.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The move in the entry of the position.
    pub book_move: BookMove,
    /// Its notation, with check or mate mark.
    pub san: San,
    /// The position after it.
    pub after: Position,
    /// The entry of the position after it, without moves; `None` if the book
    /// has none.
    pub child: Option<BookEntry>,
    /// Its weight in a Polyglot book: how often a program plays it, relative to
    /// the other moves.
    pub weight: u16,
    /// The weight in percent of all moves; `None` if all weights are 0.
    pub share: Option<f64>,
}

impl Choice {
    /// Number of games with the move.
    pub fn games(&self) -> u32 {
        self.child
            .as_ref()
            .map_or(0, |child| child.statistics.games)
    }

    /// The annotation of the move as it is written after it, such as `!`; empty
    /// if it has none.
    pub fn mark(&self) -> &'static str {
        match self.book_move.annotation {
            1 => "!",
            2 => "?",
            3 => "!!",
            4 => "??",
            5 => "!?",
            6 => "?!",
            _ => "",
        }
    }

    /// Returns whether the book or its annotator marks the move as not to be
    /// played.
    pub fn is_refused(&self) -> bool {
        BAD.contains(&self.book_move.annotation)
            || self
                .child
                .as_ref()
                .is_some_and(|child| child.flags.is_red())
    }

    /// Returns whether the book recommends it.
    pub fn is_recommended(&self) -> bool {
        !self.is_refused()
            && self
                .child
                .as_ref()
                .is_some_and(|child| child.flags.is_green())
    }

    /// Average rating of the players who made the move.
    pub fn average(&self) -> Option<f64> {
        self.statistics()?.average(self.mover())
    }

    /// Performance rating of the players who made the move: the average rating
    /// of their opponents plus the rating difference of their score.
    pub fn performance(&self) -> Option<f64> {
        let statistics = self.statistics()?;
        let opponents = statistics.average(!self.mover())?;
        let score = statistics.white_score()?;
        let score = self.mover().fold_wb(score, 1.0 - score);
        Some(opponents + rating_difference(score))
    }

    fn statistics(&self) -> Option<&BookStatistics> {
        self.child.as_ref().map(|child| &child.statistics)
    }

    fn mover(&self) -> Color {
        !self.after.turn()
    }
}

/// Returns the moves of an entry, sorted by games; moves with equal numbers
/// stay in the order of the book.
///
/// # Errors
///
/// As [`Book::find`].
pub fn choices(
    book: &dyn Book,
    position: &Position,
    entry: &BookEntry,
) -> Result<Vec<Choice>, Error> {
    let mut choices = Vec::with_capacity(entry.moves.len());
    for &book_move in &entry.moves {
        let mut after = position.clone();
        // All moves of an entry are legal.
        let Ok(san) = after.play(book_move.m) else {
            continue;
        };
        choices.push(Choice {
            child: book.without_moves(&after)?,
            book_move,
            san,
            after,
            weight: 0,
            share: None,
        });
    }
    choices.sort_by_key(|choice| std::cmp::Reverse(choice.games()));
    weigh(&mut choices);
    Ok(choices)
}

/// Sets the weights: two per game that the mover won, one per draw. If that is
/// 0 for all moves that may be played, one per game. Moves that are not to be
/// played get 0.
fn weigh(choices: &mut [Choice]) {
    let points = |choice: &Choice| {
        choice.statistics().map_or(0, |statistics| {
            2 * u64::from(statistics.wins_of(choice.mover())) + u64::from(statistics.draws)
        })
    };
    let mut wanted = choices.iter().filter(|choice| !choice.is_refused());
    let are_known = wanted.any(|choice| points(choice) > 0);
    let raw = |choice: &Choice| match (choice.is_refused(), are_known) {
        (true, _) => 0,
        (false, true) => points(choice),
        (false, false) => u64::from(choice.games()),
    };
    let most = choices.iter().map(raw).max().unwrap_or(0);
    let sum: u64 = choices.iter().map(raw).sum();
    for choice in choices {
        let raw = raw(choice);
        choice.weight = scaled(raw, most);
        choice.share = (sum > 0).then(|| percent(raw, sum));
    }
}

/// Scales weights so that the largest, `most`, fits in 16 bits. Positive
/// weights stay positive.
fn scaled(raw: u64, most: u64) -> u16 {
    let all = u64::from(u16::MAX);
    let scaled = if most > all {
        (raw * all / most).max(u64::from(raw > 0))
    } else {
        raw
    };
    u16::try_from(scaled).unwrap_or(u16::MAX)
}

fn percent(part: u64, whole: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "both are sums of a few counters of 32 bits"
    )]
    let (part, whole) = (part as f64, whole as f64);
    100.0 * part / whole
}

#[cfg(test)]
mod tests {
    use super::super::{CanonicalBoard, PositionRecord};
    use super::*;

    #[test]
    fn large_weights_are_scaled_to_sixteen_bits() {
        assert_eq!(scaled(65_535, 65_535), 65_535);
        assert_eq!(scaled(131_070, 131_070), 65_535);
        assert_eq!(scaled(65_535, 131_070), 32_767);
        assert_eq!(scaled(1, 50_000_000), 1, "a move that was played stays one");
        assert_eq!(scaled(0, 50_000_000), 0);
    }

    /// A move with a mark, after which a number of games was won by White.
    fn choice(annotation: u8, games: u32, white: u32) -> Choice {
        let position = Position::default();
        let m = shakmaty::Move::Normal {
            role: shakmaty::Role::Pawn,
            from: shakmaty::Square::E2,
            capture: None,
            to: shakmaty::Square::E4,
            promotion: None,
        };
        let mut after = position.clone();
        let san = after.play(m).unwrap();
        let statistics = BookStatistics {
            games,
            white,
            ..BookStatistics::default()
        };
        let board = CanonicalBoard::of(&after).unwrap();
        let mut child = BookEntry::new(&after, &board, PositionRecord::default());
        child.statistics = statistics;
        Choice {
            book_move: BookMove {
                m,
                code: 0,
                annotation,
            },
            san,
            after,
            child: Some(child),
            weight: 0,
            share: None,
        }
    }

    #[test]
    fn six_annotations_have_a_mark_and_bad_ones_are_refused() {
        let all = [0, 1, 2, 3, 4, 5, 6, 7].map(|annotation| choice(annotation, 0, 0));
        let marks = all.each_ref().map(Choice::mark);
        assert_eq!(marks, ["", "!", "?", "!!", "??", "!?", "?!", ""]);
        let refused = all.iter().filter(|choice| choice.is_refused());
        assert!(refused.map(Choice::mark).eq(["?", "??"]));
    }

    #[test]
    fn moves_are_weighed_by_the_points_of_the_mover() {
        let mut choices = [choice(0, 10, 3), choice(4, 9, 9), choice(5, 6, 1)];
        if let Some(child) = &mut choices[2].child {
            child.statistics.draws = 4;
            child.statistics.black = 1;
        }
        weigh(&mut choices);
        assert_eq!(choices.each_ref().map(|choice| choice.weight), [6, 0, 6]);
        let shares = choices.each_ref().map(|choice| choice.share);
        assert_eq!(shares, [Some(50.0), Some(0.0), Some(50.0)]);
        assert_eq!(choices.each_ref().map(Choice::mark), ["", "??", "!?"]);
        assert_eq!(
            choices.map(|choice| choice.is_refused()),
            [false, true, false]
        );
        let mut unplayed = [choice(0, 0, 0)];
        weigh(&mut unplayed);
        assert_eq!((unplayed[0].weight, unplayed[0].share), (0, None));
    }

    #[test]
    fn a_performance_is_above_the_opponents_by_what_the_score_is_worth() {
        let mut choice = choice(0, 10, 5);
        let rated = |average: u32| crate::book::RatingSum {
            players: 2,
            sum: 2 * average,
        };
        assert_eq!((choice.average(), choice.performance()), (None, None));
        let statistics = &mut choice.child.as_mut().unwrap().statistics;
        statistics.black = 5;
        statistics.ratings = Some(shakmaty::ByColor {
            white: rated(2600),
            black: rated(2500),
        });
        assert_eq!(choice.average(), Some(2600.0));
        assert_eq!(choice.performance(), Some(2500.0));
        let statistics = &mut choice.child.as_mut().unwrap().statistics;
        (statistics.white, statistics.black) = (9, 1);
        let difference = rating_difference(0.9);
        assert!(difference > 100.0);
        assert_eq!(choice.performance(), Some(2500.0 + difference));
    }

    #[test]
    fn games_count_where_only_a_move_that_is_not_wanted_has_points() {
        let mut choices = [choice(2, 10, 8), choice(0, 6, 0), choice(0, 3, 0)];
        weigh(&mut choices);
        assert_eq!(choices.map(|choice| choice.weight), [0, 6, 3]);
    }
}
