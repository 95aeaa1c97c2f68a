//! Remarks on the plies of a game.
//!
//! The vocabulary is ChessBase's, which is the richest of the formats: what
//! PGN has as comments, NAGs and `[%…]` commands are a part of it. A value is
//! exact: it says everything its stored form says, so nothing is lost between
//! formats. What no type here fits is [`Annotation::Opaque`].

use std::collections::BTreeMap;

use shakmaty::{Color, Square};

use super::{Nation, PlyId};

/// The most remarks of a game that are read: far more than any game has (the
/// longest record seen has 45 KB), and few enough to be held in memory.
pub const MAX_REMARKS: usize = 1 << 18;

/// One remark. A game has many of them, so what is large and rare is boxed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// A text that follows its ply; on the start, one about the game.
    TextAfter(Text),
    /// A text that stands before its ply.
    TextBefore(Text),
    /// Up to three NAGs: on the move, on the position, a prefix. 0 is none.
    Symbols([u8; 3]),
    /// Coloured squares.
    Squares(Vec<ColoredSquare>),
    /// Coloured arrows.
    Arrows(Vec<Arrow>),
    /// Time spent on the ply.
    TimeSpent(TimeSpent),
    /// A question to the reader.
    Training(Box<Training>),
    /// A game quoted.
    Quotation(Box<Quotation>),
    /// Time that a player had left at the end, in hundredths of a second.
    Clock(Color, i32),
    /// A critical position.
    Critical(Phase),
    /// A link into the web.
    WebLink {
        /// Where it leads.
        url: Box<str>,
        /// What it is called.
        caption: Box<str>,
    },
    /// A video about the position.
    Video {
        /// Language number, as in training questions.
        language: u8,
        /// What it is called, or where it lies.
        caption: String,
    },
    /// An engine's judgement.
    Evaluation(Evaluation),
    /// Medals, one bit each.
    Medals(u32),
    /// The colour of a variation.
    VariationColor(VariationColor),
    /// A pawn structure worth looking at; the number is 3 wherever seen.
    PawnStructure(u8),
    /// The path of a piece that ends on a square; the number is 3 wherever
    /// seen.
    PiecePath(u8, Square),
    /// The time control of the game.
    TimeControl([Stage; 3]),
    /// Where in a video stream the ply is, in milliseconds.
    VideoTime(i32),
    /// The evaluation after each ply of the main line, from the start on.
    Profile(Vec<ProfilePoint>),
    /// A remark of another kind, or one whose stored form is unusual.
    Opaque {
        /// ChessBase's number of the kind.
        kind: u8,
        /// As stored.
        payload: Vec<u8>,
    },
}

impl Annotation {
    /// The text before or after a ply, if that is what it is.
    pub fn text(&self) -> Option<&Text> {
        match self {
            Annotation::TextBefore(text) | Annotation::TextAfter(text) => Some(text),
            _ => None,
        }
    }

    /// Appends a text to this one, if both are of the same kind and language;
    /// whether it has. One without words stays by itself: a base holds it, or
    /// a `[%cblang]` or `[%cblead]` of PGN says it.
    pub fn join(&mut self, second: &Annotation) -> bool {
        match (self, second) {
            (Annotation::TextAfter(first), Annotation::TextAfter(second))
            | (Annotation::TextBefore(first), Annotation::TextBefore(second))
                if (first.language, first.lead) == (second.language, second.lead)
                    && !first.text.is_empty()
                    && !second.text.is_empty() =>
            {
                first.text.push(' ');
                first.text.push_str(&second.text);
                true
            }
            _ => false,
        }
    }
}

/// A text in one language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The language as the number of a country: 0 any, 42 English, 53
    /// German …
    pub language: Nation,
    /// The text. Line breaks are `\n`; chess signs are Unicode.
    pub text: String,
    /// A number that is 0 nearly everywhere; its meaning is not known.
    pub lead: u8,
}

impl Text {
    /// Whether there is more than blanks and control codes.
    pub fn has_words(&self) -> bool {
        let is_blank = |c: char| c.is_whitespace() || c.is_control();
        !self.text.chars().all(is_blank)
    }
}

/// A square and its colour: 2 green, 3 yellow, 4 red; others occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColoredSquare {
    /// ChessBase's number of the colour.
    pub color: u8,
    /// The square.
    pub square: Square,
}

/// An arrow and its colour, as of [`ColoredSquare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// ChessBase's number of the colour.
    pub color: u8,
    /// Where it begins.
    pub from: Square,
    /// Where it points.
    pub to: Square,
}

/// Time spent on a ply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpent {
    /// Whole hours.
    pub hours: u8,
    /// Minutes, 0 to 59 where the record is sound.
    pub minutes: u8,
    /// Seconds, 0 to 59 where the record is sound.
    pub seconds: u8,
    /// 0, or 30 on the first moves of some games; its meaning is not known.
    pub extra: u8,
}

/// The phase of the game that a critical position belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The opening.
    Opening,
    /// The middlegame.
    Middlegame,
    /// The endgame.
    Endgame,
}

/// An engine's judgement of a position, seen by White.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// Centipawns, or moves to mate, by `kind`.
    pub value: i16,
    /// 0 centipawns, 1 mate; others occur.
    pub kind: i16,
    /// Depth of the search in plies.
    pub depth: i16,
}

/// The colour of a variation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariationColor {
    /// Bit 0: its main line only; bit 1: moves only.
    pub flags: u8,
    /// Red, green, blue.
    pub rgb: [u8; 3],
}

/// One stage of a time control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Time at its begin, in hundredths of a second.
    pub time: u32,
    /// Added per move, in hundredths of a second.
    pub increment: u32,
    /// How many moves; 1000 is the rest of the game.
    pub moves: u16,
    /// 1 a number of moves, 0 and 3 the rest, 5 a filler.
    pub kind: u8,
}

/// One point of an evaluation profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfilePoint {
    /// 0 centipawns, 1 mate, 255 none.
    pub kind: u8,
    /// Depth of the search.
    pub depth: u8,
    /// Seen by White.
    pub value: i16,
}

/// A question to the reader, with its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Training {
    /// Seconds to think.
    pub seconds: u16,
    /// 0 wherever seen.
    pub unknown: u16,
    /// Points for the right answer.
    pub points: u16,
    /// Question, remark on a wrong answer, first and second hint: each in
    /// any number of languages.
    pub texts: [Vec<(u16, String)>; 4],
    /// The right moves.
    pub answers: Vec<Answer>,
    /// The stored form, if it has more than a [plain](Training::is_plain)
    /// question tells.
    pub payload: Vec<u8>,
}

impl Training {
    /// Whether nothing is told but one question in one language, its hints and
    /// answers, in words that any text can show: no time, no remark on a wrong
    /// answer, no points of its own.
    pub fn is_plain(&self) -> bool {
        let [question, wrong, hint, second_hint] = &self.texts;
        let [(language, words)] = question.as_slice() else {
            return false;
        };
        let is_shown = |text: &str| {
            let is_special = |c: char| c.is_control() || "\"[]{}".contains(c);
            let words = text.split_whitespace();
            !text.contains(is_special) && words.collect::<Vec<_>>().join(" ") == text
        };
        let is_said = |texts: &[(u16, String)]| match texts {
            [] => true,
            [(other, text)] => other == language && !text.is_empty() && is_shown(text),
            _ => false,
        };
        let points = self.answers.iter().map(|answer| u16::from(answer.points));
        !words.is_empty()
            && is_shown(words)
            && wrong.is_empty()
            && is_said(hint)
            && is_said(second_hint)
            && (self.seconds, self.unknown) == (0, 0)
            && self.points == points.max().unwrap_or_default()
            && self
                .answers
                .iter()
                .all(|answer| answer.unknown == 0 && is_said(&answer.text))
    }
}

/// A right answer to a training question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The piece on this square
    pub from: Square,
    /// goes here.
    pub to: Square,
    /// 0 wherever seen; perhaps a promotion.
    pub unknown: u8,
    /// Points.
    pub points: u8,
    /// A remark, in any number of languages.
    pub text: Vec<(u16, String)>,
}

/// A game quoted in an annotation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quotation {
    /// Players, event and result in one line, as ChessBase shows them.
    pub caption: String,
    /// The stored form: moves and details that are shown nowhere.
    pub payload: Vec<u8>,
}

/// The remarks of one game, each with its ply, in order of the plies; on one
/// ply in the order that the stored game has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    entries: Vec<(PlyId, Annotation)>,
    /// Remarks whose position is past the last ply, with that position.
    stray: Vec<(i32, Annotation)>,
}

impl Annotations {
    /// Removes all remarks.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.stray.clear();
    }

    /// Adds a remark as the last one of its ply. Whoever adds calls
    /// [`sort`](Annotations::sort) when done.
    pub fn add(&mut self, ply: PlyId, annotation: Annotation) {
        self.entries.push((ply, annotation));
    }

    /// Adds remarks that are in the order of their plies, as
    /// [`add`](Annotations::add) does with each.
    pub fn append(&mut self, mut remarks: Vec<(PlyId, Annotation)>) {
        if self.entries.is_empty() {
            self.entries = remarks;
        } else {
            self.entries.append(&mut remarks);
        }
    }

    /// Brings the remarks into the order of their plies; those of one ply
    /// stay in the order in which they were added.
    pub fn sort(&mut self) {
        if !self.entries.is_sorted_by_key(|(ply, _)| *ply) {
            self.entries.sort_by_key(|(ply, _)| *ply);
        }
    }

    /// Adds a remark at a position where there is no ply.
    pub fn add_stray(&mut self, position: i32, annotation: Annotation) {
        self.stray.push((position, annotation));
    }

    /// Whether there is no remark at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.stray.is_empty()
    }

    /// The remarks of one ply, or of the whole game at the start.
    pub fn on(&self, ply: PlyId) -> impl Iterator<Item = &Annotation> {
        let first = self.entries.partition_point(|(other, _)| *other < ply);
        let rest = self.entries.get(first..).unwrap_or_default();
        rest.iter()
            .take_while(move |(other, _)| *other == ply)
            .map(|(_, annotation)| annotation)
    }

    /// All remarks on plies, in order.
    pub fn iter(&self) -> impl Iterator<Item = (PlyId, &Annotation)> {
        self.entries
            .iter()
            .map(|(ply, annotation)| (*ply, annotation))
    }

    /// The language that most texts with words have; of several the lowest.
    pub fn main_language(&self) -> Nation {
        self.most(|text| text.language)
    }

    /// The lead that most texts with words have; of several the lowest.
    pub fn main_lead(&self) -> u8 {
        self.most(|text| text.lead)
    }

    fn most<K: Ord + Default>(&self, key: impl Fn(&Text) -> K) -> K {
        let texts = self.entries.iter().filter_map(|(_, remark)| remark.text());
        let mut counts: BTreeMap<K, usize> = BTreeMap::new();
        for text in texts.filter(|text| text.has_words()) {
            *counts.entry(key(text)).or_default() += 1;
        }
        // Of equal ones the last is found.
        let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
        most.map(|(key, _)| key).unwrap_or_default()
    }

    /// The remarks past the last ply, with their positions.
    pub fn stray(&self) -> impl Iterator<Item = (i32, &Annotation)> {
        self.stray.iter().map(|(at, annotation)| (*at, annotation))
    }
}
