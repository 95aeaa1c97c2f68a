//! Move numbers, held against the moves.
//!
//! Many programs number wrongly, so a number alone refuses no move: an import
//! tells that some do not fit. Numbers that go on counting as they began, from
//! 1 in a study or with Black's first move, fit after that. But where two
//! numbers in a row prove that a half-move is missing before them, or that
//! the moves begin again, what would be read is no game that was played.
//!
//! | numbers | are |
//! |---|---|
//! | `1. Kf8 2. Qh8` where Black begins, `1. e4` where the FEN says 30 | counted from there on |
//! | `1. e4 1. c5 2. Nf3`, `(1. c5 2. Nf3)` | Black's moves with one dot |
//! | `12. Nf3 Nc6 31. Bb5 a6 14. O-O` | slips |
//! | `12. Nf3 13. Bb5 a6 14. O-O` | a proof that a half-move is missing |
//! | `12. Nf3 Nc6 1. d4 d5 2. c4`, `1. d4` behind an empty line | a proof that the moves begin again |
//! | `21. Qxc7 {x} 21. Qxc7 {y} Rf8` | the same move twice |
//! | `1. Nf3 Nf6 2. Ng1 Ng8 1. Nf3` | played again, since the position is that again |
//! | `12. Nf3 {x Nc6 13. Bb5 {y} a6 14. O-O` | a proof that the first comment has moves in it |

use super::notation::Notation;
use super::place::TextPlace;
use crate::game::{PlyId, Position, Start, USUAL_PLIES};

/// A move number as it is written, `12.` or `12...`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MoveNumber {
    /// Absent where there are dots only.
    pub(super) number: Option<u32>,
    pub(super) dots: usize,
}

/// A defect in the moves that move numbers prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disproof {
    pub(super) place: TextPlace,
    pub(super) found: String,
    pub(super) expected: &'static str,
}

/// A number of half-moves from the start on: twice that of the move, one more
/// for Black.
type HalfMove = i64;

/// How one line is numbered.
#[derive(Clone, Copy, Debug)]
struct LineNumbers {
    /// The next half-move.
    next: HalfMove,
    /// Offset of the written numbers.
    shift: HalfMove,
    /// Whether there was one.
    has_begun: bool,
    /// Whether the last move had a number with one dot.
    has_one_dot: bool,
    doubt: Option<Doubt>,
}

/// A number that does not fit. The next number decides what it means.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    place: TextPlace,
    written: MoveNumber,
    shift: HalfMove,
    means: Means,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// The numbers of this line begin so.
    Begin,
    /// A half-move is missing.
    Gap,
    /// The moves begin again.
    Again,
}

/// The numbers of one game as they are read.
#[derive(Debug)]
pub(super) struct MoveNumbers {
    first: HalfMove,
    line: LineNumbers,
    outer: Vec<LineNumbers>,
    /// Number since the last move, with its place.
    read: Option<(TextPlace, MoveNumber)>,
    /// A comment with a `{` that nothing closes; no number was read since.
    open_brace: Option<TextPlace>,
    /// The moves of the main line.
    played: Vec<(Notation, PlyId)>,
    /// The last of them that is written again.
    again: Option<usize>,
    /// The positions before them, and before the one that is read, where moves
    /// that are written twice are read once.
    positions: Vec<u64>,
    pub(super) counted: NumberCounts,
}

/// Statistics of the move numbers of a game.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NumberCounts {
    /// Where one did not fit first.
    pub(super) first_misfit: Option<TextPlace>,
    pub(super) misfits: usize,
    /// How many of them are those of the other side.
    pub(super) of_other_side: usize,
    /// Whether moves may be written twice.
    pub(super) may_repeat: bool,
    /// Whether there was any.
    pub(super) has_any: bool,
}

/// How a game stands behind another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    /// Behind its result, with no empty line between.
    Closely,
    /// Behind an empty line, or behind one that has no numbers.
    Apart,
}

impl MoveNumbers {
    pub(super) fn new(start: &Start) -> MoveNumbers {
        let black_begins = HalfMove::from(start.position.turn().is_black());
        let first = HalfMove::from(start.first_move_number()) * 2 + black_begins;
        MoveNumbers {
            first,
            line: LineNumbers {
                next: first,
                shift: 0,
                has_begun: false,
                has_one_dot: false,
                doubt: None,
            },
            outer: Vec::new(),
            read: None,
            open_brace: None,
            played: Vec::with_capacity(USUAL_PLIES),
            again: None,
            positions: Vec::new(),
            counted: NumberCounts::default(),
        }
    }

    /// Takes note of a number, or of dots behind one.
    pub(super) fn read(&mut self, place: TextPlace, written: MoveNumber) {
        self.counted.has_any = true;
        match (&mut self.read, written.number) {
            (Some((_, before)), None) => before.dots += written.dots,
            (None, None) => {}
            (read, Some(_)) => *read = Some((place, written)),
        }
    }

    /// Takes note of a comment in which nothing closes a `{`.
    pub(super) fn note_open_brace(&mut self, place: TextPlace) {
        self.open_brace = Some(place);
    }

    /// Whether a number is that of the next move.
    pub(super) fn is_due(&self, number: u32) -> bool {
        (self.line.next + self.line.shift) >> 1 == HalfMove::from(number)
    }

    /// Counts a number that no move follows.
    pub(super) fn count_misfit(&mut self, place: TextPlace) {
        self.counted.misfits += 1;
        self.counted.first_misfit.get_or_insert(place);
    }

    /// Whether the first move, which is at a place, can begin a game behind
    /// another: with the number 1, or without one apart from that.
    ///
    /// # Errors
    ///
    /// It cannot.
    pub(super) fn follow(&self, game: Follows, place: TextPlace) -> Result<(), Disproof> {
        let written = self.read.map(|(_, written)| written);
        let is_begin = match written {
            Some(written) => written.number == Some(1) && written.dots < 3,
            None => game == Follows::Apart,
        };
        if is_begin {
            return Ok(());
        }
        let place = self.read.map_or(place, |(place, _)| place);
        Err(Disproof::behind(place, written))
    }

    /// The half-move that the number in front of a move says it is; where it does
    /// not say whose it is, it is of who is to move.
    fn said(&self, written: MoveNumber) -> Option<HalfMove> {
        let LineNumbers { next, shift, .. } = self.line;
        let number = HalfMove::from(written.number?) * 2;
        Some(match written.dots {
            1 => number,
            3.. => number + 1,
            _ => number + ((next + shift) & 1),
        })
    }

    /// The place in the main line of the move that the number says it is, if
    /// that was played and is the same.
    fn played_before(&self, said: HalfMove, notation: Notation) -> Option<usize> {
        let at = usize::try_from(said - self.line.shift - self.first).ok()?;
        let (played, _) = self.played.get(at)?;
        (*played == notation).then_some(at)
    }

    /// Whether the move at a place is one that was played, written again. Where
    /// the position is that again, it is played again.
    ///
    /// # Errors
    ///
    /// The one before it was, and this is another one.
    pub(super) fn is_again(
        &mut self,
        notation: Notation,
        place: TextPlace,
        position: &Position,
    ) -> Result<bool, Disproof> {
        if !self.outer.is_empty() {
            return Ok(false);
        }
        if let Some(last) = self.again.filter(|last| last + 1 < self.played.len()) {
            if self.played.get(last + 1).map(|(played, _)| *played) != Some(notation) {
                return Err(Disproof::other(place));
            }
            self.again = Some(last + 1);
            self.read = None;
            return Ok(true);
        }
        let position = position.key().without_rights().digest(0);
        let said = self.read.and_then(|(_, written)| self.said(written));
        let before = said.and_then(|said| self.played_before(said, notation));
        self.again = before.filter(|at| self.positions.get(*at) != Some(&position));
        self.positions.truncate(self.played.len());
        self.positions.push(position);
        if self.again.is_some() {
            self.read = None;
        }
        Ok(self.again.is_some())
    }

    /// The ply that was written last, if it is one that was written again.
    pub(super) fn again(&self) -> Option<PlyId> {
        let (_, ply) = self.played.get(self.again?)?;
        Some(*ply)
    }

    /// Whether the next move may be played at the end of the main line.
    pub(super) fn is_at_end(&self) -> bool {
        self.again.is_none_or(|last| last + 1 == self.played.len())
    }

    /// Holds the number in front of a move against it; `is_apart` says whether a place is
    /// behind an empty line.
    ///
    /// # Errors
    ///
    /// The defect that this number proves, or it and the one before it.
    pub(super) fn check(
        &mut self,
        notation: Notation,
        is_apart: impl FnOnce(TextPlace) -> bool,
    ) -> Result<(), Disproof> {
        let read = self.read.take();
        self.line.has_one_dot = read.is_some_and(|(_, written)| written.dots == 1);
        let Some((place, written)) = read else {
            return Ok(());
        };
        let Some(said) = self.said(written) else {
            return Ok(());
        };
        let shift = said - self.line.next;
        let has_begun = std::mem::replace(&mut self.line.has_begun, true);
        let open_brace = self.open_brace.take();
        if shift == self.line.shift {
            self.line.doubt = None;
            return Ok(());
        }
        if let Some(comment) = open_brace.filter(|_| has_begun) {
            return Err(Disproof::in_comment(comment, written));
        }
        self.misfit(place, written, (said, shift), has_begun, notation)?;
        match &self.line.doubt {
            Some(doubt) if doubt.means == Means::Again && is_apart(place) => {
                Err(Disproof::again(place, written))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn misfit(
        &mut self,
        place: TextPlace,
        written: MoveNumber,
        (said, shift): (HalfMove, HalfMove),
        has_begun: bool,
        notation: Notation,
    ) -> Result<(), Disproof> {
        let is_same = self.outer.is_empty() && self.played_before(said, notation).is_some();
        self.counted.may_repeat |= is_same;
        let doubt = self.line.doubt.take().filter(|doubt| doubt.shift == shift);
        match doubt.map(|doubt| (doubt, doubt.means)) {
            Some((_, Means::Begin)) => {
                self.line.shift = shift;
                return Ok(());
            }
            Some((doubt, Means::Gap)) => return Err(Disproof::gap(doubt.place, doubt.written)),
            Some((doubt, Means::Again)) => {
                return Err(Disproof::again(doubt.place, doubt.written));
            }
            None => {}
        }
        self.counted.misfits += 1;
        self.counted.first_misfit.get_or_insert(place);
        let is_of_other_side = (shift - self.line.shift) % 2 != 0;
        self.counted.of_other_side += usize::from(is_of_other_side);
        let may_begin = self.outer.is_empty() && !is_same;
        let means = match (has_begun, is_of_other_side) {
            (false, true) => Means::Begin,
            (true, true) => Means::Gap,
            (true, false) if may_begin && said - self.line.shift == self.first => Means::Again,
            (_, false) => {
                self.line.shift = shift;
                return Ok(());
            }
        };
        self.line.doubt = Some(Doubt {
            place,
            written,
            shift,
            means,
        });
        Ok(())
    }

    /// Whether no number waits for its move, and no move may be written again.
    pub(super) fn awaits_plain_moves(&self) -> bool {
        self.read.is_none() && self.again.is_none()
    }

    /// Whether the number in front of the next move, if there is one, is that move's.
    pub(super) fn fits(&self, written: Option<MoveNumber>) -> bool {
        let due = self.line.next + self.line.shift;
        written.is_none_or(|written| self.said(written) == Some(due) && written.dots != 2)
    }

    /// As [`read`](MoveNumbers::read) and [`check`](MoveNumbers::check) of a number that
    /// [fits](MoveNumbers::fits).
    pub(super) fn take_fitting(&mut self, written: Option<MoveNumber>) {
        self.line.has_one_dot = written.is_some_and(|written| written.dots == 1);
        if written.is_some() {
            self.counted.has_any = true;
            self.open_brace = None;
            self.line.has_begun = true;
            self.line.doubt = None;
        }
    }

    /// Takes note of a move that was played.
    pub(super) fn played(&mut self, notation: Notation, ply: PlyId) {
        self.line.next += 1;
        if self.outer.is_empty() {
            self.played.push((notation, ply));
            self.again = None;
        }
    }

    /// Goes into a variation of the last move.
    pub(super) fn open(&mut self) {
        self.read = None;
        self.outer.push(self.line);
        self.line = LineNumbers {
            next: self.line.next - 1,
            has_begun: false,
            has_one_dot: false,
            doubt: None,
            ..self.line
        };
    }

    /// Whether the number in front of a variation's first move, with one dot, is
    /// that of White's move, where the variation stands behind Black's. If
    /// Black's move had its own number with one dot, this says nothing.
    pub(super) fn is_of_white_behind_black(&self) -> bool {
        let number = self.read.filter(|(_, written)| written.dots == 1);
        let said = number.and_then(|(_, written)| self.said(written));
        let LineNumbers { next, shift, .. } = self.line;
        let outer = self.outer.last();
        said == Some(next + shift - 1)
            && (next + shift) & 1 == 1
            && outer.is_some_and(|outer| !outer.has_one_dot)
    }

    /// Goes from Black's move to White's before.
    pub(super) fn go_back(&mut self) {
        self.line.next -= 1;
    }

    /// Goes back to the line outside.
    pub(super) fn close(&mut self) {
        self.read = None;
        if let Some(outer) = self.outer.pop() {
            self.line = outer;
        }
    }
}

impl MoveNumber {
    fn shown(self) -> String {
        let number = self.number.unwrap_or_default();
        format!("\"{number}{}\"", ".".repeat(self.dots.min(3)))
    }
}

impl Disproof {
    fn gap(place: TextPlace, written: MoveNumber) -> Disproof {
        Disproof {
            place,
            found: format!(
                "{}, which shows that a half-move is missing or one too many before it",
                written.shown()
            ),
            expected: "numbers that fit the moves",
        }
    }

    fn again(place: TextPlace, written: MoveNumber) -> Disproof {
        Disproof {
            place,
            found: format!("{}, where moves begin again", written.shown()),
            expected: "the next move, or the result and another game",
        }
    }

    fn other(place: TextPlace) -> Disproof {
        Disproof {
            place,
            found: "a move that differs from the earlier one with the same number".to_owned(),
            expected: "the same move",
        }
    }

    /// Moves are missing behind a comment that another seems to begin in.
    fn in_comment(comment: TextPlace, written: MoveNumber) -> Disproof {
        Disproof {
            place: comment,
            found: format!(
                "a comment with a {{ in it, and behind it {}, which shows that moves are missing",
                written.shown()
            ),
            expected: "} before the moves",
        }
    }

    /// Moves without tags behind a result, which no game begins with.
    fn behind(place: TextPlace, written: Option<MoveNumber>) -> Disproof {
        let found = match written {
            Some(written) => format!("{} behind the result of a game", written.shown()),
            None => "moves behind the result of a game".to_owned(),
        };
        Disproof {
            place,
            found,
            expected: "the tags of the next game, or its move 1",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::pgn::lenient::Liberty::{self, MovesTwice};
    use crate::pgn::{GameTexts, encode};

    /// The moves of each game of a text with the liberties taken, or its error.
    fn read(text: &str) -> Vec<(String, Vec<Liberty>)> {
        let mut games = GameTexts::new(text.as_bytes());
        let mut read = Vec::new();
        while let Some(next) = games.next_leniently() {
            read.push(match next {
                Ok(understood) => {
                    let mut out = Vec::new();
                    encode(&understood.game, &[], &mut out);
                    let shown = String::from_utf8(out).unwrap();
                    let (_, moves) = shown.split_once("\n\n").unwrap();
                    (
                        moves.trim_end().replace('\n', " "),
                        understood.taken.liberties(),
                    )
                }
                Err(error) => (error.to_string(), Vec::new()),
            });
        }
        read
    }

    fn check(cases: &[(&str, &str, &[Liberty])]) {
        for (text, expected, liberties) in cases {
            let expected = ((*expected).to_owned(), liberties.to_vec());
            assert_eq!(read(text), [expected], "{text}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_told_and_the_moves_are_read() {
        let told = &[Liberty::Numbers][..];
        let ending = "4k3/8/8/8/8/8/8/R3K3 b - - 0 30";
        let black_first = format!("[FEN \"{ending}\"]\n\n1. Kd8 Ra8 2. Kd7 Ra7 3. Kd6 *");
        let ended = "30... Kd8 31. Ra8+ Kd7 32. Ra7+ Kd6 *";
        check(&[
            ("1. e4 e5 2. Nf3 *", "1. e4 e5 2. Nf3 *", &[]),
            (
                "1.e4 1...e5 2.Nf3 2. ... Nc6 *",
                "1. e4 e5 2. Nf3 Nc6 *",
                &[],
            ),
            ("1 e4 e5 2 Nf3 ... Nc6 *", "1. e4 e5 2. Nf3 Nc6 *", &[]),
            ("e4 e5 Nf3 *", "1. e4 e5 2. Nf3 *", &[]),
            ("1. e4 e5 5. Nf3 *", "1. e4 e5 2. Nf3 *", told),
            (
                "1. e4 e5 5. Nf3 Nc6 6. Bb5 *",
                "1. e4 e5 2. Nf3 Nc6 3. Bb5 *",
                told,
            ),
            ("11. e4 e5 12. Nf3 *", "1. e4 e5 2. Nf3 *", told),
            (
                "1. e4 e5 1. Nf3 Nc6 1. Bb5 *",
                "1. e4 e5 2. Nf3 Nc6 3. Bb5 *",
                told,
            ),
            ("1. e4 2. e5 3. Nf3 4. Nc6 *", "1. e4 e5 2. Nf3 Nc6 *", told),
            ("1. e4 1. c5 2. Nf3 2. d6 *", "1. e4 c5 2. Nf3 d6 *", told),
            (
                "1. e4 e5 (1. c5 2. Nf3 d6 3. d4) *",
                "1. e4 e5 (1... c5 2. Nf3 d6 3. d4) *",
                told,
            ),
            (
                "1. e4 e5 2. Nf3 (1. d4 d5) *",
                "1. e4 e5 2. Nf3 (2. d4 d5) *",
                told,
            ),
            (&black_first, ended, told),
        ]);
        let mut games = GameTexts::from_line(b"1. e4 e5\n2. d4 d5\n4. Nc3 *", 7);
        let game = games.next_leniently().unwrap().unwrap();
        let places = game.taken.list().iter();
        let places: Vec<_> = places.map(|(taken, place)| (*taken, place.line)).collect();
        assert_eq!(places, [(Liberty::Numbers, 9)]);
    }

    #[test]
    fn moves_that_numbers_disprove_are_refused() {
        let no_half_move = "which shows that a half-move is missing or one too many before it";
        for (text, place, why) in [
            ("1. d4 d5 2. c4 3. c6 Nf3 4. Nf6 *", "1:16: ", no_half_move),
            ("1. d4 d5 2. c4 2. c6 Nf3 3. Nf6 *", "1:16: ", no_half_move),
            (
                "1. e4 c5 2. Nf3 Nc6 1. d4 d5 2. c4 *",
                "1:21: ",
                "\"1.\", where moves begin again",
            ),
            (
                "1. e4 e5\r\n\r\n1. d4 d5",
                "3:1: ",
                "\"1.\", where moves begin again",
            ),
            (
                "1. e4 e5 1-0 2. d4 d5 *",
                "1:14: ",
                "\"2.\" behind the result",
            ),
            (
                "1. e4 e5 1-0\n\n1... e5 *",
                "3:1: ",
                "\"1...\" behind the result",
            ),
            (
                "1. e4 e5 1-0 Nf3 Nc6 *",
                "1:14: ",
                "moves behind the result",
            ),
        ] {
            let games = read(text);
            let (error, _) = games.last().unwrap();
            assert!(
                error.starts_with(place) && error.contains(why),
                "{text}: {games:?}"
            );
        }
        // A slip, a game without numbers behind another, the number of one with tags.
        for (text, games) in [
            ("1. e4 c5 2. Nf3 Nc6 1. d4 cxd4 4. Nxd4 *", 1),
            ("e4 e5 1-0\nd4 d5 0-1\n", 2),
            ("1. e4 e5 1-0\n\nd4 d5 0-1\n", 2),
            ("1. e4 1-0 1. d4 0-1", 2),
            ("1. e4 1-0\n\n[White \"A\"]\n\n2. e4 e5 1-0", 2),
        ] {
            let read = read(text);
            assert_eq!(read.len(), games, "{text}: {read:?}");
            assert!(
                read.iter().all(|(moves, _)| !moves.contains("expected")),
                "{text}: {read:?}"
            );
        }
    }

    #[test]
    fn moves_of_a_position_that_is_there_again_are_played_again() {
        let told = &[Liberty::Numbers][..];
        let twice = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8";
        let rooks = "1. Rb1 Kd8 2. Ra1 Ke8 3. Rb1 Kd8 4. Ra1 *";
        let ending = "[FEN \"4k3/8/8/8/8/8/8/R3K3 w Q - 0 1\"]\n\n";
        check(&[
            (
                "1. Nf3 Nf6 2. Ng1 Ng8 1. Nf3 Nf6 2. Ng1 Ng8 1-0",
                &format!("{twice} 1-0"),
                told,
            ),
            (
                "1. Nf3 Nf6 2. Ng1 Ng8 2. Nf3 Nf6 2. Ng1 Ng8 *",
                &format!("{twice} *"),
                told,
            ),
            (
                "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 *",
                &format!("{twice} 5. Nf3 *"),
                told,
            ),
            (
                &format!("{ending}1. Rb1 Kd8 2. Ra1 Ke8 1. Rb1 Kd8 2. Ra1 *"),
                rooks,
                told,
            ),
        ]);
    }

    #[test]
    fn moves_that_are_written_twice_are_read_once() {
        let sicilian = "1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Qxd4";
        for (end, read_as) in [
            (" {x} 4. Qxd4 {y} Nf6", " {x y} 4... Nf6"),
            (" 4. Qxd4+ $1 4... Nf6 5. Nc3", " $1 Nf6 5. Nc3"),
            ("\n3. d4 {x} cxd4 4. Qxd4 {y} Nf6", " {y} 4... Nf6"),
            (" Nf6 4... Nf6 {y} (4... Nc6)", " Nf6 {y} (4... Nc6)"),
        ] {
            let start = if end.contains("3. d4 {x}") {
                "1. e4 c5 2. Nf3 d6 3. d4 {x} cxd4 4. Qxd4"
            } else {
                sicilian
            };
            let found = read(&format!("{sicilian}{end} *"));
            let shown = start.replace("{x} cxd4", "{x} 3... cxd4");
            assert_eq!(found[0].0, format!("{shown}{read_as} *"), "{end}");
            assert!(found[0].1.contains(&MovesTwice), "{end}: {found:?}");
        }
        // Legal for Black too; what follows tells which it is.
        let castled = "1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5 4. O-O";
        check(&[
            (
                &format!("{castled} 4. O-O *"),
                &format!("{castled} *"),
                &[MovesTwice],
            ),
            (
                &format!("{castled} 4. O-O 5. Re1 Re8 6. h3 *"),
                &format!("{castled} O-O 5. Re1 Re8 6. h3 *"),
                &[Liberty::Numbers],
            ),
            (
                "1. e4 1. e5 2. Nf3 2. Nf6 3. Bc4 3. Bc5 4. O-O 4. O-O *",
                &format!("{castled} O-O *"),
                &[Liberty::Numbers],
            ),
        ]);
        let other = &read(&format!("{sicilian} 3. d4 Nf6 4. Nc3 *"))[0].0;
        assert!(other.contains("expected"), "{other}");
    }
}
