//! Annotations on the plies of a game.
//!
//! The annotation kinds are those of ChessBase, which has the most: the
//! comments, NAGs and `[%…]` commands of PGN are a part of them. A value holds
//! all information of its stored form, so a conversion between formats loses
//! nothing. A stored form that no other variant fits is kept as
//! [`Annotation::Opaque`].

use std::collections::BTreeMap;

use shakmaty::{Color, Square};

use super::{Nation, PlyId, shown_in_quotes};

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
    pub fn text(&self) -> Option<&AnnotationText> {
        match self {
            Annotation::TextBefore(text) | Annotation::TextAfter(text) => Some(text),
            _ => None,
        }
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
    pub fn has_words(&self) -> bool {
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

/// A training question with its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Training {
    /// Time to think, in seconds.
    pub seconds: u16,
    /// Unknown; 0 in all known games.
    pub unknown: u16,
    /// Points for the right answer.
    pub points: u16,
    /// Question, reply to a wrong answer, first hint, second hint: each a list
    /// of texts with their languages.
    pub texts: [Vec<(u16, String)>; 4],
    /// The correct moves.
    pub answers: Vec<Answer>,
    /// The stored bytes, if they hold more than a [plain](Training::is_plain)
    /// question.
    pub payload: Vec<u8>,
}

impl Training {
    /// What ChessBase's command of a question says of it: the question, hints
    /// and replies in each language, and the answers, in words that it can
    /// show. Of two questions that say the same one may hold more.
    pub fn shown(&self) -> Vec<String> {
        let [question, _, hint, second_hint] = &self.texts;
        let in_language = |texts: &[(u16, String)], language: u16| {
            let found = texts.iter().find(|(other, _)| *other == language);
            shown_between_quotes(found.map_or("", |(_, text)| text))
        };
        let mut shown = Vec::new();
        let languages = question.iter().map(|(language, _)| *language);
        let is_unsaid = question.is_empty() && !self.answers.is_empty();
        for language in languages.chain(is_unsaid.then_some(0)) {
            shown.push(language.to_string());
            for texts in [question, hint, second_hint] {
                shown.push(in_language(texts, language));
            }
            for answer in &self.answers {
                let (from, to, points) = (answer.from, answer.to, answer.points);
                shown.push(format!("{from}{to} {points}"));
                shown.push(in_language(&answer.text, language));
            }
        }
        shown
    }

    /// The question with what `stored` says besides that its command does not show: this
    /// was made from it by an edit of the command.
    #[must_use]
    pub fn over(&self, stored: &Training) -> Training {
        let [asked, ..] = &stored.texts;
        // Where no question is asked, the command says so in the first language.
        let is_shown = |language| {
            let found = asked.iter().any(|(other, _)| *other == language);
            found || asked.is_empty() && language == 0
        };
        let [question, _, hint, second_hint] = &self.texts;
        let [was, wrong, hint_was, second_was] = &stored.texts;
        let over = |edited: &[_], stored: &[_]| texts_over(edited, stored, is_shown);
        let is_best = stored.points == best_points(&stored.answers);
        Training {
            seconds: stored.seconds,
            unknown: stored.unknown,
            points: if is_best { self.points } else { stored.points },
            texts: [
                over(question, was),
                wrong.clone(),
                over(hint, hint_was),
                over(second_hint, second_was),
            ],
            answers: answers_over(&self.answers, &stored.answers, over),
            payload: Vec::new(),
        }
    }

    /// Returns whether this is only one question in one language with its hints
    /// and answers, in words that any text can show: without a time, a reply to a
    /// wrong answer, or points of its own.
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
        !words.is_empty()
            && is_shown(words)
            && wrong.is_empty()
            && is_said(hint)
            && is_said(second_hint)
            && (self.seconds, self.unknown) == (0, 0)
            && self.points == best_points(&self.answers)
            && self
                .answers
                .iter()
                .all(|answer| answer.unknown == 0 && is_said(&answer.text))
    }
}

/// The points of the best of these answers.
fn best_points(answers: &[Answer]) -> u16 {
    let points = answers.iter().map(|answer| u16::from(answer.points));
    points.max().unwrap_or_default()
}

/// Texts in several languages, as edited where they are shown. One of which the same is
/// shown stays as it is stored.
fn texts_over(
    edited: &[(u16, String)],
    stored: &[(u16, String)],
    is_shown: impl Fn(u16) -> bool,
) -> Vec<(u16, String)> {
    let mut left: Vec<&(u16, String)> = edited.iter().collect();
    let mut seen = Vec::new();
    let mut texts = Vec::new();
    for (language, text) in stored {
        // Of two texts in one language the first is shown.
        if !is_shown(*language) || seen.contains(language) {
            texts.push((*language, text.clone()));
            continue;
        }
        seen.push(*language);
        let place = left.iter().position(|(other, _)| other == language);
        let new = place.map(|at| left.remove(at).1.as_str());
        if shown_between_quotes(text) == new.map(shown_between_quotes).unwrap_or_default() {
            texts.push((*language, text.clone()));
        } else if let Some(new) = new {
            texts.push((*language, new.to_owned()));
        }
    }
    texts.extend(left.into_iter().cloned());
    texts
}

/// Answers as edited; each with what is stored of it besides, which is found by its move,
/// or else by its place.
fn answers_over(
    edited: &[Answer],
    stored: &[Answer],
    over: impl Fn(&[(u16, String)], &[(u16, String)]) -> Vec<(u16, String)>,
) -> Vec<Answer> {
    let squares = |answer: &Answer| (answer.from, answer.to);
    let has_move = |answers: &[Answer], answer: &Answer| {
        let mut squares_there = answers.iter().map(squares);
        squares_there.any(|there| there == squares(answer))
    };
    let mut is_taken = vec![false; stored.len()];
    let mut of_edit = |at: usize, answer: &Answer| {
        let alike = |(place, was): (usize, &Answer)| {
            let is_free = is_taken.get(place) == Some(&false);
            is_free && squares(was) == squares(answer)
        };
        let place = stored.iter().enumerate().position(alike).or_else(|| {
            let was = stored.get(at).filter(|_| edited.len() == stored.len())?;
            let is_new = !has_move(stored, answer) && !has_move(edited, was);
            is_new.then_some(at)
        });
        if let Some(taken) = place.and_then(|at| is_taken.get_mut(at)) {
            *taken = true;
        }
        let Some(was) = place.and_then(|at| stored.get(at)) else {
            return answer.clone();
        };
        Answer {
            unknown: if squares(was) == squares(answer) {
                was.unknown
            } else {
                answer.unknown
            },
            text: over(&answer.text, &was.text),
            ..answer.clone()
        }
    };
    let answers = edited.iter().enumerate();
    answers.map(|(at, answer)| of_edit(at, answer)).collect()
}

/// The words that a text between quotes shows, a blank between them.
fn shown_between_quotes(text: &str) -> String {
    let words: String = text.chars().map(shown_in_quotes).collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A correct answer to a training question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Origin of the move.
    pub from: Square,
    /// Destination of the move.
    pub to: Square,
    /// Unknown, 0 in all known games; perhaps a promotion.
    pub unknown: u8,
    /// Points for this answer.
    pub points: u8,
    /// Reply, as a list of texts with their languages.
    pub text: Vec<(u16, String)>,
}

#[cfg(test)]
impl Training {
    /// A question with so many answers that are alike.
    pub(crate) fn of_answers(count: usize) -> Training {
        let answer = Answer {
            from: Square::E2,
            to: Square::E4,
            unknown: 0,
            points: 1,
            text: Vec::new(),
        };
        Training {
            answers: vec![answer; count],
            ..Training::default()
        }
    }
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
    pub fn on(&self, ply: PlyId) -> impl Iterator<Item = &Annotation> {
        let first = self.entries.partition_point(|(other, _)| *other < ply);
        let rest = self.entries.get(first..).unwrap_or_default();
        rest.iter()
            .take_while(move |(other, _)| *other == ply)
            .map(|(_, annotation)| annotation)
    }

    /// The annotations of each ply of a tree of so many, found at once.
    pub fn by_ply(&self, plies: usize) -> ByPly<'_> {
        let mut ends = vec![0; plies + 1];
        for (ply, _) in &self.entries {
            if let Some(count) = ends.get_mut(ply.index()) {
                *count += 1;
            }
        }
        let mut end = 0;
        for place in &mut ends {
            end += *place;
            *place = end;
        }
        ByPly {
            entries: &self.entries,
            ends,
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
    pub fn main_language(&self) -> Nation {
        self.most(|text| text.language)
    }

    /// Returns the most frequent `lead` of the texts with words; of equally
    /// frequent ones the lowest.
    pub fn main_lead(&self) -> u8 {
        self.most(|text| text.lead)
    }

    fn most<K: Ord + Default>(&self, key: impl Fn(&AnnotationText) -> K) -> K {
        let texts = self.entries.iter().filter_map(|(_, remark)| remark.text());
        let mut keys = texts.filter(|text| text.has_words()).map(key);
        let Some(first) = keys.next() else {
            return K::default();
        };
        let mut counts: BTreeMap<K, usize> = BTreeMap::new();
        let mut of_first = 1;
        for key in keys {
            if key == first {
                // As nearly all are.
                of_first += 1;
            } else {
                *counts.entry(key).or_default() += 1;
            }
        }
        if counts.is_empty() {
            return first;
        }
        counts.insert(first, of_first);
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
    /// How many annotations there are up to each ply.
    ends: Vec<usize>,
}

impl<'a> ByPly<'a> {
    /// The annotations of one ply, or of the whole game at the start, each with
    /// its ply.
    #[inline]
    pub fn on(&self, ply: PlyId) -> &'a [(PlyId, Annotation)] {
        let first = ply.index().checked_sub(1).and_then(|at| self.ends.get(at));
        let end = self.ends.get(ply.index()).copied().unwrap_or(0);
        let first = first.copied().unwrap_or(0);
        self.entries.get(first..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Square;

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

    /// A question in English and German, of which English is shown.
    fn question_in_part() -> Training {
        let text = |language: u16, text: &str| (language, text.to_owned());
        let answer = |from, to, unknown, reply: &str| Answer {
            from,
            to,
            unknown,
            points: 5,
            text: vec![text(0, reply), text(1, "Ja.")],
        };
        Training {
            seconds: 180,
            unknown: 1,
            points: 5,
            texts: [
                vec![text(0, "Who  [wins]?")],
                vec![text(0, "No.")],
                vec![text(0, "Left."), text(1, "Links.")],
                Vec::new(),
            ],
            answers: vec![
                answer(Square::E2, Square::E4, 7, "Yes."),
                answer(Square::D2, Square::D4, 8, "Too."),
            ],
            payload: vec![1],
        }
    }

    /// What a command of that question says.
    fn shown_in_part() -> Training {
        let mut shown = question_in_part();
        let of_english = |texts: &mut Vec<(u16, String)>| texts.retain(|(of, _)| *of == 0);
        shown.texts.iter_mut().for_each(of_english);
        shown.texts[0][0].1 = "Who (wins)?".to_owned();
        shown.texts[1].clear();
        for answer in &mut shown.answers {
            of_english(&mut answer.text);
            answer.unknown = 0;
        }
        (shown.seconds, shown.unknown) = (0, 0);
        shown.payload.clear();
        shown
    }

    #[test]
    fn an_edited_question_keeps_what_its_command_does_not_show() {
        let stored = question_in_part();
        let edited = |edit: &dyn Fn(&mut Training)| {
            let (mut edited, mut expected) = (shown_in_part(), question_in_part());
            expected.payload.clear();
            edit(&mut edited);
            edit(&mut expected);
            (edited.over(&stored), expected)
        };
        let edits: [&dyn Fn(&mut Training); 6] = [
            &|_| {},
            &|it| it.texts[0][0].1 = "Who loses?".to_owned(),
            &|it| it.texts[3].push((0, "Further left.".to_owned())),
            &|it| it.answers[1].text[0].1 = "As well.".to_owned(),
            &|it| {
                it.answers.remove(0);
            },
            &|it| it.answers.swap(0, 1),
        ];
        for edit in edits {
            let (over, expected) = edited(edit);
            assert_eq!(over, expected);
        }
        let (over, mut expected) = edited(&|it| it.answers[0].to = Square::E3);
        expected.answers[0].unknown = 0;
        assert_eq!(over, expected, "the move of an answer");
        let (over, mut expected) = edited(&|it| {
            it.answers[0].points = 9;
            it.points = 9;
        });
        assert_eq!(over, expected, "the points are those of the best answer");
        let mut own = stored.clone();
        own.points = 6;
        expected = own.clone();
        expected.payload.clear();
        assert_eq!(shown_in_part().over(&own), expected, "points of its own");
        let (over, expected) = edited(&|it| it.texts[2].retain(|(of, _)| *of != 0));
        assert_eq!(over, expected, "a hint is taken away");
    }

    #[test]
    fn a_question_says_its_words_hints_and_answers_in_each_language() {
        let said = |texts: &[(u16, &str)]| -> Vec<(u16, String)> {
            let texts = texts.iter();
            texts
                .map(|&(language, text)| (language, text.to_owned()))
                .collect()
        };
        let mut question = Training {
            texts: [
                said(&[(42, "Who  [wins]?"), (53, "Wer gewinnt?")]),
                said(&[(42, "No.")]),
                said(&[(53, "Links.")]),
                Vec::new(),
            ],
            answers: vec![Answer {
                from: shakmaty::Square::E2,
                to: shakmaty::Square::E4,
                unknown: 0,
                points: 5,
                text: said(&[(42, "Right.")]),
            }],
            ..Training::default()
        };
        let english = ["42", "Who (wins)?", "", "", "e2e4 5", "Right."];
        let german = ["53", "Wer gewinnt?", "Links.", "", "e2e4 5", ""];
        assert_eq!(question.shown(), [english, german].concat());
        question.texts = Default::default();
        assert_eq!(question.shown(), ["0", "", "", "", "e2e4 5", ""]);
        question.answers.clear();
        assert!(question.shown().is_empty());
    }

    #[test]
    fn a_plain_question_has_nothing_that_a_text_cannot_show() {
        let said = |text: &str| vec![(42, text.to_owned())];
        let plain = Training {
            points: 5,
            texts: [
                said("Who wins?"),
                Vec::new(),
                said("Look left."),
                Vec::new(),
            ],
            answers: vec![Answer {
                from: shakmaty::Square::E2,
                to: shakmaty::Square::E4,
                unknown: 0,
                points: 5,
                text: said("Right."),
            }],
            ..Training::default()
        };
        assert!(plain.is_plain());
        let but = |change: &dyn Fn(&mut Training)| {
            let mut question = plain.clone();
            change(&mut question);
            question.is_plain()
        };
        assert!(but(&|question| question.texts[2].clear()));
        let changes: [&dyn Fn(&mut Training); 12] = [
            &|question| question.seconds = 1,
            &|question| question.unknown = 1,
            &|question| question.points = 6,
            &|question| question.answers[0].points = 4,
            &|question| question.answers[0].unknown = 1,
            &|question| question.answers[0].text = said("a  gap"),
            &|question| question.answers[0].text = vec![(53, "Richtig.".to_owned())],
            &|question| question.texts[0] = said(""),
            &|question| question.texts[0] = said("Who [wins]?"),
            &|question| question.texts[1] = said("Wrong."),
            &|question| question.texts[2] = said(""),
            &|question| question.texts[3] = said("a\ttab"),
        ];
        for (at, change) in changes.iter().enumerate() {
            assert!(!but(change), "change {at}");
        }
    }
}
