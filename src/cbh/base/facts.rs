//! Facts about the content of a game in its record, beside the headers: kinds
//! and number of remarks, medals, number of moves. All of them are computed
//! here from moves and remarks, both for saving a game and for checking a base.
//!
//! Flags (u32 at 39 of the record):
//!
//! | bit | the game has | kind of remark (hexadecimal) |
//! |---|---|---|
//! | 0 | a set-up start position | |
//! | 1 | variations | |
//! | 2 | texts | 02, 82 |
//! | 3, 4, 5 | symbols, squares, arrows | 03, 04, 05 |
//! | 7 | time spent | 07 |
//! | 8 | remarks of kind 08 | 08 |
//! | 9 | training questions | 09 |
//! | 16, 17, 18 | sound, pictures, video | 10, 11, 20 |
//! | 19, 20, 21 | quotations, pawn structures, piece paths | 13, 14, 15 |
//! | 22, 23 | White's clock, Black's clock | 16, 17 |
//! | 24 | critical positions | 18 |
//! | 25, 26 | correspondence, kind 1a; not always set | 61, 1a |
//! | 27 | rules other than the usual: Chess960 | |
//! | 28 | web links | 1c |
//!
//! Magnitudes (u16 at 43); a bit whose flag is clear may be anything:
//!
//! | bits | set when there are |
//! |---|---|
//! | 0–1 | more than 50 plies in variations; 2: more than 300; 3: more than 1000 |
//! | 2 | more than 200 bytes of text |
//! | 3, 4 | 10 symbols, 10 squares |
//! | 5 | 6 arrows |
//! | 7, 9 | 10 times spent, 6 training questions; older sources say 11 |
//!
//! `tests/check.rs` holds the rules against all games of the real bases.

use crate::bytes::{ByteReader, Malformed};
use crate::cbh::annotations;
use crate::game::Game;

/// Where the facts begin in a record: medals u16, flags u32, magnitudes u16,
/// number of moves u8.
const AT: usize = 37;

const SET_UP: u32 = 1;
const VARIATIONS: u32 = 1 << 1;
const UNORTHODOX: u32 = 1 << 27;

/// The flags that the content decides, with what they are called; the others
/// stay as they are found.
const DECIDED: [(u32, &str); 20] = [
    (SET_UP, "set-up start"),
    (VARIATIONS, "variations"),
    (1 << 2, "texts"),
    (1 << 3, "symbols"),
    (1 << 4, "coloured squares"),
    (1 << 5, "arrows"),
    (1 << 7, "times spent"),
    (1 << 8, "remarks of kind 08"),
    (1 << 9, "training questions"),
    (1 << 16, "sounds"),
    (1 << 17, "pictures"),
    (1 << 18, "videos"),
    (1 << 19, "quotations"),
    (1 << 20, "pawn structures"),
    (1 << 21, "piece paths"),
    (1 << 22, "clock of White"),
    (1 << 23, "clock of Black"),
    (1 << 24, "critical positions"),
    (UNORTHODOX, "unusual rules"),
    (1 << 28, "web links"),
];

/// The magnitudes of each flag for which the number is known from where on
/// they are set.
const MEASURED: [(u32, u16); 5] = [
    (VARIATIONS, 0b11),
    (1 << 2, 1 << 2),
    (1 << 3, 1 << 3),
    (1 << 4, 1 << 4),
    (1 << 5, 1 << 5),
];

/// Magnitudes for which sources disagree on that number, with their flags.
const UNSURE: [(u32, u16); 2] = [(1 << 7, 1 << 7), (1 << 9, 1 << 9)];

/// Flags of the contents that a search can ask for.
impl GameFacts {
    /// There are variations.
    pub const VARIATIONS: u32 = VARIATIONS;
    /// There are texts, of words or not.
    pub const TEXTS: u32 = 1 << 2;
    /// There are symbols.
    pub const SYMBOLS: u32 = 1 << 3;
    /// There are arrows.
    pub const ARROWS: u32 = 1 << 5;
    /// There are clock times, or times spent.
    pub const CLOCKS: u32 = 1 << 7 | 1 << 22 | 1 << 23;
    /// There are training questions.
    pub const TRAINING: u32 = 1 << 9;
}

/// What a record says of the content of its game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GameFacts {
    /// Bit set of medals; of a content: those that its remarks award.
    pub medals: u16,
    /// Which kinds of content there are.
    pub flags: u32,
    /// How much there is of some kinds.
    pub magnitudes: u16,
    /// Moves of the main line, 255 for more.
    pub move_count: u8,
}

impl GameFacts {
    /// Computes the facts of a game from its start, its tree, and the stored
    /// record of its remarks, empty if there is none. A damaged record counts
    /// up to the damage.
    pub fn of(game: &Game, remarks: &[u8]) -> GameFacts {
        let main_line = game.tree.main_line_len();
        let in_variations = game.tree.len() - main_line;
        let mut tally = Tally::default();
        for remark in annotations::remarks(remarks) {
            tally.add(remark.kind, remark.payload);
        }
        let starts = [
            (game.start.is_set_up, SET_UP),
            (in_variations > 0, VARIATIONS),
            (game.start.is_chess960, UNORTHODOX),
        ];
        let flags = starts.into_iter().filter(|(is_so, _)| *is_so);
        GameFacts {
            medals: tally.medals,
            flags: tally.flags | flags.fold(0, |flags, (_, flag)| flags | flag),
            magnitudes: tally.magnitudes() | magnitude_of_variations(in_variations),
            move_count: move_count(main_line, game.start.position.turn().is_black()),
        }
    }

    /// What a record of `.cbh` says.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if it is too short.
    pub fn stored(record: &[u8]) -> Result<GameFacts, Malformed> {
        let mut reader = ByteReader::new(record);
        reader.skip(AT)?;
        Ok(GameFacts {
            medals: reader.u16_be()?,
            flags: reader.u32_be()?,
            magnitudes: reader.u16_be()?,
            move_count: reader.u8()?,
        })
    }

    /// Returns the facts to store in a record that had `stored` (zeros for a
    /// new one): these, and the bits of `stored` that the content does not
    /// decide.
    #[must_use]
    pub fn over(self, stored: GameFacts) -> GameFacts {
        let decided = DECIDED.iter().fold(0, |bits, (bit, _)| bits | bit);
        // Where sources disagree, what stands there is not touched.
        let unsure = |flag| stored.flags & self.flags & flag != 0;
        let measured = mask(&MEASURED, |flag| self.flags & flag != 0);
        let new = mask(&UNSURE, |flag| self.flags & flag != 0 && !unsure(flag));
        let updated = measured | new;
        GameFacts {
            medals: self.medals | stored.medals,
            flags: self.flags | stored.flags & !decided,
            magnitudes: self.magnitudes & updated | stored.magnitudes & !updated,
            move_count: self.move_count,
        }
    }

    /// The place in a record of `.cbh` and the bytes that say this.
    pub(in crate::cbh) fn encode(self) -> (usize, Vec<u8>) {
        let mut bytes = self.medals.to_be_bytes().to_vec();
        bytes.extend(self.flags.to_be_bytes());
        bytes.extend(self.magnitudes.to_be_bytes());
        bytes.push(self.move_count);
        (AT, bytes)
    }

    /// Returns the facts of `stored` that are wrong, each with its offset in
    /// the record.
    pub(in crate::cbh) fn differences(self, stored: GameFacts) -> Vec<(usize, String)> {
        let mut differences = Vec::new();
        let should = self.over(stored);
        let missing = should.medals & !stored.medals;
        if missing != 0 {
            let what = format!("lacks the medals {missing:#x} of its remarks");
            differences.push((AT, what));
        }
        let claimed = names(stored.flags & !should.flags);
        if !claimed.is_empty() {
            differences.push((AT + 2, format!("has no {claimed}, though flagged so")));
        }
        let silent = names(should.flags & !stored.flags);
        if !silent.is_empty() {
            differences.push((AT + 2, format!("has {silent}, but is not flagged so")));
        }
        // Magnitudes of a kind whose flag is wrong are not worth a word.
        let agreed = mask(&MEASURED, |flag| stored.flags & should.flags & flag != 0);
        if (stored.magnitudes ^ should.magnitudes) & agreed != 0 {
            let (is, should) = (stored.magnitudes, should.magnitudes);
            differences.push((
                AT + 6,
                format!("has magnitudes {is:#06x}, should be {should:#06x}"),
            ));
        }
        if stored.move_count != should.move_count {
            let (is, should) = (stored.move_count, should.move_count);
            differences.push((AT + 8, format!("claims {is} moves, there are {should}")));
        }
        differences
    }
}

/// The magnitudes of the flags that `counts`.
fn mask(of: &[(u32, u16)], counts: impl Fn(u32) -> bool) -> u16 {
    let counting = of.iter().filter(|(flag, _)| counts(*flag));
    counting.fold(0, |bits, (_, bit)| bits | bit)
}

/// The names of the flags that content decides.
fn names(flags: u32) -> String {
    let set = DECIDED.iter().filter(|(flag, _)| flags & flag != 0);
    set.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

/// Number of moves of a main line, as a record has it: a move of Black alone
/// is one, and 255 means that many or more.
pub(in crate::cbh) fn move_count(plies: usize, black_begins: bool) -> u8 {
    if plies == 0 {
        return 0;
    }
    let moves = (plies + 1 + usize::from(black_begins)) / 2;
    u8::try_from(moves).unwrap_or(u8::MAX)
}

fn magnitude_of_variations(plies: usize) -> u16 {
    match plies {
        0..=50 => 0,
        51..=300 => 1,
        301..=1000 => 2,
        _ => 3,
    }
}

/// How many remarks of each kind that is counted.
#[derive(Debug, Default)]
struct Tally {
    flags: u32,
    medals: u16,
    text_bytes: usize,
    symbols: usize,
    squares: usize,
    arrows: usize,
    times: usize,
    questions: usize,
}

impl Tally {
    fn add(&mut self, kind: u8, payload: &[u8]) {
        self.flags |= flag_of(kind);
        match kind {
            // Before the text stand two bytes.
            0x02 | 0x82 => self.text_bytes += payload.len().saturating_sub(2),
            0x03 => self.symbols += 1,
            0x04 => self.squares += 1,
            0x05 => self.arrows += 1,
            0x07 => self.times += 1,
            0x09 => self.questions += 1,
            0x22 => self.medals |= medals(payload),
            _ => {}
        }
    }

    fn magnitudes(&self) -> u16 {
        let reached = [
            (self.text_bytes > 200, 2),
            (self.symbols >= 10, 3),
            (self.squares >= 10, 4),
            (self.arrows >= 6, 5),
            (self.times >= 10, 7),
            (self.questions >= 6, 9),
        ];
        reached.into_iter().fold(0, |bits, (is_reached, bit)| {
            bits | u16::from(is_reached) << bit
        })
    }
}

/// The medals of a remark of four bytes; the record has place for the lower
/// two. A remark of another length is none that says medals.
fn medals(payload: &[u8]) -> u16 {
    match payload {
        &[_, _, high, low] => u16::from_be_bytes([high, low]),
        _ => 0,
    }
}

/// The flag of a kind of remark, which most often has its number; some kinds
/// have none.
fn flag_of(kind: u8) -> u32 {
    match kind {
        0x02 | 0x82 => 1 << 2,
        0x20 => 1 << 18,
        0x61 => 1 << 25,
        0x03..=0x05 | 0x07..=0x09 | 0x10 | 0x11 | 0x13..=0x18 | 0x1a | 0x1c => 1 << kind,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::TreeBuilder;

    /// A record of so many remarks of each kind, all with this payload.
    fn remarks(of: &[(u8, usize)], payload: &[u8]) -> Vec<u8> {
        let remarks: Vec<_> = of
            .iter()
            .flat_map(|&(kind, count)| vec![(-1, kind, payload.to_vec()); count])
            .collect();
        annotations::encode(1, &remarks).unwrap().unwrap()
    }

    fn facts(of: &[(u8, usize)]) -> GameFacts {
        GameFacts::of(&Game::default(), &remarks(of, &[0; 4]))
    }

    #[test]
    fn each_kind_of_remark_has_its_flag() {
        assert_eq!(GameFacts::of(&Game::default(), &[]), GameFacts::default());
        assert_eq!(facts(&[(0x02, 1), (0x82, 1)]).flags, 0x04);
        assert_eq!(facts(&[(0x03, 1), (0x04, 2), (0x05, 1)]).flags, 0x38);
        assert_eq!(facts(&[(0x20, 1), (0x10, 1), (0x11, 1)]).flags, 0x0007_0000);
        assert_eq!(facts(&[(0x61, 1), (0x1a, 1), (0x1c, 1)]).flags, 0x1600_0000);
        for kind in 0x21..=0x27 {
            assert_eq!(facts(&[(kind, 1)]).flags, 0, "{kind:#x}");
        }
    }

    #[test]
    fn magnitudes_change_at_their_numbers() {
        // Each text has two bytes behind the two that lead.
        for (kind, least, bit) in [
            (0x02, 101, 2),
            (0x82, 101, 2),
            (0x03, 10, 3),
            (0x04, 10, 4),
            (0x05, 6, 5),
            (0x07, 10, 7),
            (0x09, 6, 9),
        ] {
            assert_eq!(facts(&[(kind, least - 1)]).magnitudes, 0, "{kind:#x}");
            assert_eq!(facts(&[(kind, least)]).magnitudes, 1 << bit, "{kind:#x}");
        }
        let of_variations = [0, 50, 51, 300, 301, 1000, 1001].map(magnitude_of_variations);
        assert_eq!(of_variations, [0, 0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_black_move_alone_is_a_move_and_no_record_counts_beyond_255() {
        let counts = [(0, false), (0, true), (1, false), (1, true), (2, true)];
        assert_eq!(
            counts.map(|(plies, black)| move_count(plies, black)),
            [0, 0, 1, 1, 2]
        );
        assert_eq!(move_count(509, false), 255);
        assert_eq!(move_count(100_000, false), 255);
    }

    #[test]
    fn undecided_bits_are_kept() {
        let stored = GameFacts {
            medals: 0x41,
            flags: 0x0400_0044,
            magnitudes: 0x0018,
            move_count: 9,
        };
        let record = remarks(&[(0x22, 1), (0x03, 1)], &[0, 0, 0x01, 0x02]);
        let should = GameFacts::of(&Game::default(), &record).over(stored);
        let expected = GameFacts {
            medals: 0x0143,
            // Bits 6 and 26 stand for nothing that content decides.
            flags: 0x0400_0048,
            // One symbol is few; bit 4 is of a kind that is not there.
            magnitudes: 0x0010,
            move_count: 0,
        };
        assert_eq!(should, expected);
        assert_eq!(should.over(should), should);
    }

    #[test]
    fn magnitudes_on_which_sources_disagree_are_set_once_and_then_kept() {
        for (kind, least) in [(0x07, 10), (0x09, 6)] {
            let many = facts(&[(kind, least)]);
            assert_eq!(many.over(GameFacts::default()).magnitudes, 1 << kind);
            let stored = GameFacts {
                flags: 1 << kind,
                ..GameFacts::default()
            };
            assert_eq!(many.over(stored).magnitudes, 0);
            assert!(many.differences(stored).is_empty());
        }
    }

    #[test]
    fn differences_have_a_place_in_the_record_and_a_sentence() {
        let mut record = [0; 46];
        record[37..].copy_from_slice(&[0, 0, 0, 0, 0, 0b1_0100, 0, 0b1_0000, 7]);
        let stored = GameFacts::stored(&record).unwrap();
        let content = remarks(&[(0x22, 1), (0x04, 1), (0x05, 1)], &[0, 0, 0, 8]);
        let differences = GameFacts::of(&Game::default(), &content).differences(stored);
        let expected = [
            (37, "lacks the medals 0x8 of its remarks"),
            (39, "has no texts, though flagged so"),
            (39, "has arrows, but is not flagged so"),
            (43, "has magnitudes 0x0010, should be 0x0000"),
            (45, "claims 7 moves, there are 0"),
        ];
        assert_eq!(
            differences,
            expected.map(|(at, what)| (at, what.to_owned()))
        );
        assert!(GameFacts::stored(&record[..45]).is_err());
    }

    #[test]
    fn content_decides_twenty_flags_and_leaves_the_others() {
        let is_decided = |bit: &u32| {
            let stored = GameFacts {
                flags: 1 << bit,
                ..GameFacts::default()
            };
            GameFacts::default().over(stored).flags == 0
        };
        let decided: Vec<u32> = (0..32).filter(is_decided).collect();
        let usual = [0, 1, 2, 3, 4, 5, 7, 8, 9].into_iter();
        assert!(usual.chain(16..=24).chain([27, 28]).eq(decided));
    }

    #[test]
    fn a_search_can_ask_for_the_flags_of_some_kinds() {
        for (flags, kinds) in [
            (GameFacts::TEXTS, &[0x02, 0x82][..]),
            (GameFacts::SYMBOLS, &[0x03]),
            (GameFacts::ARROWS, &[0x05]),
            (GameFacts::CLOCKS, &[0x07, 0x16, 0x17]),
            (GameFacts::TRAINING, &[0x09]),
        ] {
            let all = (0..=u8::MAX).filter(|kind| facts(&[(*kind, 1)]).flags & flags != 0);
            assert_eq!(all.collect::<Vec<u8>>(), kinds);
        }
    }

    #[test]
    fn a_start_and_variations_have_their_flags() {
        let mut game = Game::default();
        game.start.is_set_up = true;
        assert_eq!(GameFacts::of(&game, &[]).flags, 1);
        game.start.is_chess960 = true;
        assert_eq!(GameFacts::of(&game, &[]).flags, 1 << 27 | 1);
        // A line of one move, and another move in its place.
        for (moves, flags) in [(1, 0), (2, GameFacts::VARIATIONS)] {
            let mut game = Game::default();
            let mut line = TreeBuilder::new(&mut game.tree, &game.start.position);
            let start = line.branch();
            for _ in 0..moves {
                line.resume(start.clone());
                line.play_null();
            }
            let facts = GameFacts::of(&game, &[]);
            assert_eq!((facts.flags, facts.move_count), (flags, 1));
        }
        assert_eq!(GameFacts::VARIATIONS, 2);
    }
}
