//! Annotations on the plies of a game.
//!
//! The annotation kinds are those of ChessBase, which has the most: the
//! comments, NAGs and `[%…]` commands of PGN are a part of them. A value holds
//! all information of its stored form, so a conversion between formats loses
//! nothing. A stored form that no other variant fits is kept as
//! [`Annotation::Opaque`].

use std::collections::BTreeMap;

use shakmaty::{Color, Square};

use super::{Nation, PlyId, Training};

/// Maximum number of annotations read per game. It is far above any real game
/// (the longest record seen has 45 KB) and bounds the memory.
pub const MAX_ANNOTATIONS: usize = 1 << 18;

/// One annotation. Games have many of them, so large and rare variants are
/// boxed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// A text shown after its ply; on the start, a text about the game.
    TextAfter(AnnotationText),
    /// A text shown before its ply.
    TextBefore(AnnotationText),
    /// Up to three NAGs: for the move, for the position, and a prefix; 0 for
    /// none.
    Symbols([u8; 3]),
    /// Coloured squares.
    Squares(Vec<ColoredSquare>),
    /// Coloured arrows.
    Arrows(Vec<Arrow>),
    /// Time spent on the ply.
    TimeSpent(TimeSpent),
    /// A training question.
    Training(Box<Training>),
    /// A quoted game.
    Quotation(Box<Quotation>),
    /// Remaining time of a player at the end, in hundredths of a second.
    Clock(Color, i32),
    /// A critical position.
    Critical(Phase),
    /// A hyperlink.
    WebLink {
        /// The address.
        url: Box<str>,
        /// The shown text.
        caption: Box<str>,
    },
    /// A video about the position.
    Video {
        /// Language number, as in training questions.
        language: u8,
        /// Title or path of the video.
        caption: String,
    },
    /// An engine evaluation.
    Evaluation(Evaluation),
    /// Medals, one bit each.
    Medals(u32),
    /// The colour of a variation.
    VariationColor(VariationColor),
    /// A highlighted pawn structure; the number is 3 in all known games.
    PawnStructure(u8),
    /// The path of a piece that ends on a square; the number is 3 in all known
    /// games.
    PiecePath(u8, Square),
    /// The time control of the game.
    TimeControl([Stage; 3]),
    /// Time of the ply in a video stream, in milliseconds.
    VideoTime(i32),
    /// The evaluation after each ply of the main line, beginning with the start
    /// position.
    Profile(Vec<ProfilePoint>),
    /// An annotation of an unknown kind, or in an unusual stored form.
    Opaque {
        /// ChessBase's number of the annotation kind.
        kind: u8,
        /// The stored bytes.
        payload: Vec<u8>,
    },
}

impl Annotation {
    /// Returns the text, if this is a text before or after a ply.
    #[inline]
    pub fn text(&self) -> Option<&AnnotationText> {
        match self {
            Annotation::TextBefore(text) | Annotation::TextAfter(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether this is a text before a ply.
    #[inline]
    pub fn is_text_before(&self) -> bool {
        matches!(self, Annotation::TextBefore(_))
    }

    /// Appends the text `second` to this one, if both are of the same kind and
    /// language. Returns whether it did. A text without words is never joined:
    /// it comes from a base, or from a `[%cblang]` or `[%cblead]` of PGN.
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
pub struct AnnotationText {
    /// The language, as a ChessBase nation number: 0 any, 42 English, 53 German
    /// …
    pub language: Nation,
    /// The text. Line breaks are `\n`; chess signs are Unicode.
    pub text: String,
    /// A stored byte of unknown meaning, nearly always 0.
    pub lead: u8,
}

impl AnnotationText {
    /// Returns whether the text has characters other than blanks and controls.
    #[inline]
    pub fn has_words(&self) -> bool {
        let begins_with_one = |first: &u8| first.is_ascii_graphic();
        self.text.as_bytes().first().is_some_and(begins_with_one) || self.has_words_behind()
    }

    /// Whether it has such characters at all.
    #[cold]
    fn has_words_behind(&self) -> bool {
        let is_blank = |c: char| c.is_whitespace() || c.is_control();
        !self.text.chars().all(is_blank)
    }
}

/// A square and its colour: 2 green, 3 yellow, 4 red; others occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColoredSquare {
    /// ChessBase's number of the colour.
    pub color: u8,
    /// The square.
    pub square: Square,
}

/// An arrow; its colour is numbered as that of [`ColoredSquare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arrow {
    /// ChessBase's number of the colour.
    pub color: u8,
    /// The square where it begins.
    pub from: Square,
    /// The square that it points to.
    pub to: Square,
}

/// Time spent on a ply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpent {
    /// Whole hours.
    pub hours: u8,
    /// Minutes, 0 to 59 in intact records.
    pub minutes: u8,
    /// Seconds, 0 to 59 in intact records.
    pub seconds: u8,
    /// 0, or 30 on the first moves of some games; meaning unknown.
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

/// An engine's evaluation of a position, from White's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// Centipawns or number of moves to mate, depending on `kind`.
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
    /// Base time of the stage, in hundredths of a second.
    pub time: u32,
    /// Increment per move, in hundredths of a second.
    pub increment: u32,
    /// Number of moves; 1000 means the rest of the game.
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
    /// Value from White's point of view.
    pub value: i16,
}

/// A game quoted in an annotation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quotation {
    /// Players, event and result on one line, as ChessBase shows them.
    pub caption: String,
    /// The stored bytes: moves and details that are not shown.
    pub payload: Vec<u8>,
}

/// The annotations of one game, each with its ply, sorted by ply. Annotations
/// of the same ply are in stored order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    entries: Vec<(PlyId, Annotation)>,
    /// Annotations whose position is behind the last ply, with that position.
    stray: Vec<(i32, Annotation)>,
}

impl Annotations {
    /// Removes all annotations.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.stray.clear();
    }

    /// Adds an annotation as the last one of its ply. The caller must call
    /// [`sort`](Annotations::sort) after the last one.
    #[expect(clippy::inline_always, reason = "where each kind of value is made")]
    #[inline(always)]
    pub fn add(&mut self, ply: PlyId, annotation: Annotation) {
        self.entries.push((ply, annotation));
    }

    /// Adds annotations that are sorted by ply, each as
    /// [`add`](Annotations::add) does.
    pub fn append(&mut self, mut remarks: Vec<(PlyId, Annotation)>) {
        if self.entries.is_empty() {
            self.entries = remarks;
        } else {
            self.entries.append(&mut remarks);
        }
    }

    /// Sorts the annotations by ply. The order on one ply stays.
    pub fn sort(&mut self) {
        if !self.entries.is_sorted_by_key(|(ply, _)| *ply) {
            self.entries.sort_by_key(|(ply, _)| *ply);
        }
    }

    /// Adds an annotation at a position that has no ply.
    pub fn add_stray(&mut self, position: i32, annotation: Annotation) {
        self.stray.push((position, annotation));
    }

    /// Removes the annotations at positions that have no ply.
    pub fn clear_stray(&mut self) {
        self.stray.clear();
    }

    /// Returns whether there are no annotations at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.stray.is_empty()
    }

    /// Annotations of one ply; those of the whole game are on [`PlyId::START`].
    pub fn on(&self, ply: PlyId) -> impl Iterator<Item = &Annotation> + Clone {
        let first = self.entries.partition_point(|(other, _)| *other < ply);
        let rest = self.entries.get(first..).unwrap_or_default();
        rest.iter()
            .take_while(move |(other, _)| *other == ply)
            .map(|(_, annotation)| annotation)
    }

    /// The annotations of each ply of a tree of so many, found at once.
    pub fn by_ply(&self, plies: usize) -> ByPly<'_> {
        let mut runs = vec![(0, 0); plies + 1];
        // They are sorted by ply, and as few as `MAX_ANNOTATIONS`, which a u32 holds.
        for ((ply, _), at) in self.entries.iter().zip(0..) {
            if let Some((first, count)) = runs.get_mut(ply.index()) {
                *first = if *count == 0 { at } else { *first };
                *count += 1;
            }
        }
        ByPly {
            entries: &self.entries,
            runs,
        }
    }

    /// All annotations on plies, in order.
    pub fn iter(&self) -> impl Iterator<Item = (PlyId, &Annotation)> {
        self.entries
            .iter()
            .map(|(ply, annotation)| (*ply, annotation))
    }

    /// Returns the most frequent language of the texts with words; of equally
    /// frequent ones the lowest.
    fn main_language(&self) -> Nation {
        self.most(|text| text.language)
    }

    /// Returns the most frequent `lead` of the texts with words; of equally
    /// frequent ones the lowest.
    fn main_lead(&self) -> u8 {
        self.most(|text| text.lead)
    }

    /// Returns the most frequent language and the most frequent `lead` of the texts with
    /// words; of equally frequent ones the lowest.
    pub fn main_style(&self) -> (Nation, u8) {
        let mut first = None;
        for (_, remark) in &self.entries {
            if let Some(text) = remark.text().filter(|text| text.has_words()) {
                let style = (text.language, text.lead);
                if *first.get_or_insert(style) != style {
                    // In few games.
                    return (self.main_language(), self.main_lead());
                }
            }
        }
        first.unwrap_or_default()
    }

    fn most<K: Ord + Default>(&self, key: impl Fn(&AnnotationText) -> K) -> K {
        let mut counts: BTreeMap<K, usize> = BTreeMap::new();
        let texts = self.entries.iter().filter_map(|(_, remark)| remark.text());
        for key in texts.filter(|text| text.has_words()).map(key) {
            *counts.entry(key).or_default() += 1;
        }
        // `max_by_key` returns the last of equal ones.
        let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
        most.map(|(key, _)| key).unwrap_or_default()
    }

    /// Annotations behind the last ply, with their positions.
    pub fn stray(&self) -> impl Iterator<Item = (i32, &Annotation)> {
        self.stray.iter().map(|(at, annotation)| (*at, annotation))
    }
}

/// The annotations of a game, found by their ply without a search.
#[derive(Debug)]
pub struct ByPly<'a> {
    entries: &'a [(PlyId, Annotation)],
    /// The first annotation of each ply, and how many it has.
    runs: Vec<(u32, u32)>,
}

impl<'a> ByPly<'a> {
    /// The annotations of one ply, or of the whole game at the start, each with
    /// its ply.
    #[inline]
    pub fn on(&self, ply: PlyId) -> &'a [(PlyId, Annotation)] {
        let (first, count) = self.runs.get(ply.index()).copied().unwrap_or_default();
        let of_ply = first as usize..(first + count) as usize;
        self.entries.get(of_ply).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str, language: u8) -> Annotation {
        Annotation::TextAfter(AnnotationText {
            language: Nation(language),
            text: text.to_owned(),
            lead: 0,
        })
    }

    #[test]
    fn texts_of_one_language_are_joined_and_others_are_not() {
        let mut text = after("One", 42);
        assert!(text.join(&after("two.", 42)));
        assert_eq!(text, after("One two.", 42));
        assert!(!text.join(&after("drei", 53)));
        assert!(!text.join(&after("", 42)));
        assert!(!after("", 42).join(&text));
        let Annotation::TextAfter(same) = text.clone() else {
            panic!("it is a text after a ply");
        };
        assert!(!text.join(&Annotation::TextBefore(same)));
    }

    #[test]
    fn annotations_are_found_by_their_ply() {
        let mut tree = crate::game::MoveTree::default();
        let mut line = crate::game::TreeBuilder::new(&mut tree, &crate::game::Position::default());
        let plies = [line.play_null(), line.play_null()];
        let mut annotations = Annotations::default();
        assert!(annotations.is_empty());
        annotations.add(plies[1], after("second", 0));
        annotations.add(plies[0], after("first", 0));
        annotations.sort();
        let all: Vec<_> = annotations.iter().map(|(ply, _)| ply).collect();
        assert_eq!(all, plies);
        assert!(annotations.on(plies[1]).eq([&after("second", 0)]));
        let by_ply = annotations.by_ply(2);
        assert_eq!(by_ply.on(PlyId::START), []);
        assert_eq!(by_ply.on(plies[0]), [(plies[0], after("first", 0))]);
        assert_eq!(by_ply.on(plies[1]), [(plies[1], after("second", 0))]);
        assert!(!annotations.is_empty());
        annotations.clear();
        assert_eq!(annotations.iter().count(), 0);
        annotations.add_stray(7, after("nowhere", 0));
        assert!(annotations.stray().eq([(7, &after("nowhere", 0))]));
        assert!(!annotations.is_empty());
        annotations.clear_stray();
        assert!(annotations.is_empty());
    }

    #[test]
    fn the_main_language_is_the_most_frequent_of_texts_with_words() {
        let mut annotations = Annotations::default();
        assert_eq!(annotations.main_language(), Nation::NONE);
        for (text, language) in [("gut", 53), ("good", 42), (" \n", 53), ("fort", 49)] {
            annotations.add(PlyId::START, after(text, language));
        }
        assert_eq!(annotations.main_language(), Nation(42));
        annotations.add(PlyId::START, after("besser", 53));
        assert_eq!(annotations.main_language(), Nation(53));
        assert_eq!(annotations.main_lead(), 0);
        for lead in [7, 7, 7, 7, 9] {
            let text = AnnotationText {
                text: "word".to_owned(),
                lead,
                ..AnnotationText::default()
            };
            annotations.add(PlyId::START, Annotation::TextBefore(text));
        }
        annotations.sort();
        assert_eq!(annotations.main_lead(), 0);
        assert_eq!(annotations.main_language(), Nation::NONE);
    }
}
