//! PGN as programs and people really write it, for imports.
//!
//! A game is read strictly first. Only if it is refused, it is read again with
//! liberties. Each [`Liberty`] is reported; nothing is made up. A strict read also
//! reports some: where the text means the same as ours but is written in another form.
//! Piece letters of another language are accepted only if the whole game is legal with
//! them and not in English, and if more tells the language than a few moves with letters
//! that English has, too.

mod language;
mod words;

use std::borrow::Cow;
use std::fmt;

use self::language::{LANGUAGES, Language};
use self::words::{
    bishop_in_small, may_have_letters, pawn_files, pawn_in_capitals, usual_form, without_sign,
};
use super::decode::{GameTexts, read_game};
use super::error::{Error, quoted};
use super::lexer::{Lexer, TagPair, Token};
use super::notation::Notation;
use super::numbers::{Follows, NumberCounts};
use super::page::EightBitPage;
use super::place::TextPlace;
use crate::game::{Game, GameResult, Position};

pub(super) use self::words::{
    InPassing, LONGEST_RESULT, in_letters, in_passing, is_descriptive, is_drop, is_of_check,
    is_position, loose_result, nag_of, unequal_result, with_plain_signs,
};

/// A deviation from strict PGN that was accepted in a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Liberty {
    /// The moves end without a result.
    NoResult,
    /// The moves end with a result and the tag says `*`.
    OpenResultTag,
    /// The moves end with `*` and the tag has a result.
    OpenEnd,
    /// `1:0`, `½-½`, `+-`
    ResultSpelling,
    /// `1/2-0`, which is no result of two players.
    UnequalResult,
    /// Piece letters of a language.
    Letters(&'static str),
    /// `=`, `+/-`, `N` as words.
    Marks,
    /// `–` for `-`, `×` for `x`.
    Signs,
    /// A comment behind the result.
    CommentBehind,
    /// `1-0 Black resigns`, `1-0 (time)`
    WordsBehind,
    /// `1-0 (`
    SignsBehind,
    /// A tag twice, with one value.
    TagTwice,
    /// `01`, `5(2)`, nothing, as a round; strict PGN too.
    RoundForm,
    /// `-`, nothing, as a date; strict PGN too.
    DateForm,
    /// `24.02.2004`, `2/24/2004`
    DateOrder,
    /// `2/3/2004`
    DateUnsure,
    /// A FEN with what only a variant has.
    FenOfVariant,
    /// A FEN in which a side has not one king.
    NoKing,
    /// Castling rights in a FEN without king and rook in place.
    VoidCastling,
    /// A FEN that says the same in another form; strict PGN too.
    FenForm,
    /// `SetUp` or `FEN` without a set-up position.
    NoSetUp,
    /// A tab in a tag; strict PGN too.
    TagBlanks,
    /// NAGs that stand otherwise than they are written; strict PGN too.
    NagOrder,
    /// A command of ours that says nothing where it stands; strict PGN too.
    Misread,
    /// `[%cbgame …]` in other words than its game.
    QuotedGame,
    /// A tag `CbhExact…` to which no question fits, as it was edited.
    QuestionForm,
    /// The comments of an export about damage.
    Damage,
    /// A result twice.
    ResultTwice,
    /// A result between the tags and the moves; strict PGN too.
    ResultInFront,
    /// `(1... c5 1-0)`; at the end of a variation strict PGN too.
    ResultInVariation,
    /// `e4 e5 +-` at the end of moves, where no result says so.
    Judgement,
    /// `ed`, `OO`, `nf3`, `5254`, `Qd8ch`, `e4=`
    MoveForm,
    /// `$300`, `$`
    OtherNag,
    /// `<diagram>`
    Angles,
    /// Characters that no text has.
    Controls,
    /// `[White Carlsen]`, `[WHITE "Carlsen"]`, `[White-Elo "2800"]`
    TagForm,
    /// A value that the header of this name cannot hold.
    TagKept(&'static str),
    /// A second tag of a header, with another value.
    TagAgain,
    /// A FEN of Chess960 without a tag that says so.
    Chess960,
    /// A variant all moves of which are legal in chess.
    OtherVariant(VariantName),
    /// Move numbers that do not fit.
    Numbers,
    /// Moves that are written again under their numbers.
    MovesTwice,
    /// `4. Qd4 Qe7 (4. Qd6)`
    OtherSide,
    /// A NAG before the first move of a game or variation.
    NagBefore,
    /// `[%emt 0:00:01.5]`; strict PGN too.
    PartsOfSeconds,
    /// `l.e4`, `1O.`
    NumberLetters,
    /// `$0`, `$1 $1`; strict PGN too.
    NagTwice,
    /// `{a { b}`; strict PGN too.
    Braces,
    /// `( )`; strict PGN too.
    NoMoves,
}

/// The name of a variant as a tag has it, or its begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantName {
    bytes: [u8; VariantName::MOST],
    len: usize,
}

impl VariantName {
    const MOST: usize = 24;

    /// Where there are too many to name each.
    pub const ANY: VariantName = VariantName {
        bytes: [0; VariantName::MOST],
        len: 0,
    };

    pub(super) fn of(name: &str) -> VariantName {
        let mut named = VariantName::ANY;
        for c in name.trim().chars().filter(|c| !c.is_control()) {
            let rest = named.bytes.get_mut(named.len..).unwrap_or_default();
            if c.len_utf8() > rest.len() {
                break;
            }
            named.len += c.encode_utf8(rest).len();
        }
        named
    }
}

impl fmt::Display for VariantName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.bytes.get(..self.len).unwrap_or_default();
        match std::str::from_utf8(name) {
            Ok(name) if !name.is_empty() => write!(f, "\"{name}\""),
            _ => f.write_str("another variant"),
        }
    }
}

/// `an` before the name of a tag that begins with a vowel.
pub fn article_of(tag: &str) -> &'static str {
    if tag.starts_with(['A', 'E', 'O']) {
        "an"
    } else {
        "a"
    }
}

/// As it is told of an import; in its alternate form of one that leaves out
/// tags without a field.
impl fmt::Display for Liberty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = if f.alternate() {
            "left out"
        } else {
            "kept as another tag"
        };
        f.write_str(match self {
            Liberty::NoResult => "no result at the end; that of the tag is taken, or *",
            Liberty::OpenResultTag => "the tag Result says *; the result at the end is taken",
            Liberty::OpenEnd => "* at the end; the result of the tag is taken",
            Liberty::ResultSpelling => {
                "a result in other words, such as 1:0 or +-; read as 1-0, 0-1 or 1/2-1/2"
            }
            Liberty::UnequalResult if f.alternate() => "a result such as 1/2-0; read as *",
            Liberty::UnequalResult => "a result such as 1/2-0; kept as *, with the tag CbhResult",
            Liberty::Letters(language) => return write!(f, "{language}; read as piece letters"),
            Liberty::Marks => "signs such as +/-, =, RR or !??; read as NAGs",
            Liberty::Signs => "signs such as \u{2013} or \u{d7} in moves; read as - and x",
            Liberty::CommentBehind => "a comment behind the result; kept at the last move",
            Liberty::WordsBehind => "words behind the result; kept as a remark at the last move",
            Liberty::SignsBehind => "signs without words behind the result, such as ( or ---; left out",
            Liberty::TagTwice => "a tag twice with the same value; kept once",
            Liberty::RoundForm => "a round such as 01, 5(2) or nothing; stored as 1, 5.2 or ?",
            Liberty::DateForm => "a date such as - or nothing; stored as unknown",
            Liberty::DateOrder => "a date in another form, such as 24.02.2004, 20040224 or Feb 24, 2004; year, month and day put in order",
            Liberty::DateUnsure => {
                return write!(
                    f,
                    "a date such as 2/3/2004, whose day and month may be either; its year is stored, the date {kept}"
                );
            }
            Liberty::FenOfVariant => {
                return write!(
                    f,
                    "a FEN with counters of checks or pieces in hand, which chess has not; its position is stored, the FEN {kept}"
                );
            }
            Liberty::NoKing => "a FEN in which a side has not one king; stored so",
            Liberty::VoidCastling => {
                "castling rights in a FEN without king and rook in place; no move uses them"
            }
            Liberty::FenForm => "a FEN in another form, such as castling letters of files, move number 0 or an en passant square that no pawn can take on; stored in the usual form",
            Liberty::TagBlanks => "a tab or line break in a tag; shown as a blank",
            Liberty::NagOrder => {
                "NAGs in another order than ChessBase's (move, position, prefix); stored in ChessBase's order"
            }
            Liberty::Misread => {
                "a command that says nothing there, such as [%cblang xx], or [%csl Ge4] in front of a move; kept as text"
            }
            Liberty::QuotedGame => {
                "the line of a quoted game, [%cbgame \u{2026}], in other words; shown as the game is stored"
            }
            Liberty::QuestionForm => {
                "a tag CbhExact that fits no training question, since it was edited or is gone; left out, the question is stored as it is shown"
            }
            Liberty::Damage => {
                "[%cbdefect \u{2026}] or [%cbpos \u{2026}], which say what an export lacks of a damaged game; left out"
            }
            Liberty::NoSetUp => "a tag SetUp or FEN without a position; left out",
            Liberty::ResultTwice => "a result twice; read as one",
            Liberty::ResultInFront => {
                "moves without tags behind a game that has tags and no moves; read as a game of their own"
            }
            Liberty::ResultInVariation => "a result in a variation; left out",
            Liberty::Judgement => "+- or -+ behind the last move, where no result says so; read as a NAG",
            Liberty::MoveForm => "moves in another form, such as ed, OO, nf3, 5254, Qd8ch or e4=; read as moves",
            Liberty::OtherNag => "a NAG above $255, or without a number; kept as a remark",
            Liberty::Angles => "text in <>; kept as a remark, or as a null move if it is <> or <null>",
            Liberty::Controls => "control characters; read as blanks",
            Liberty::TagForm => "tags in another form, such as in other letters, without quotes or with - in the name; read as [Name \"value\"]",
            Liberty::TagKept(name) => {
                let article = article_of(name);
                return write!(f, "{article} {name} that its field cannot hold; {kept}");
            }
            Liberty::Chess960 => "castling rights of Chess960 in a FEN, and no tag Variant; read as Chess960",
            Liberty::OtherVariant(variant) => {
                let tag = if f.alternate() { "" } else { ", with the tag" };
                return write!(f, "{variant} as Variant, and moves that are legal in chess; stored as chess{tag}");
            }
            Liberty::Numbers => "move numbers that do not fit the moves; the moves are read as they follow each other",
            Liberty::MovesTwice => "moves that are written twice, under the same numbers; read once",
            Liberty::OtherSide => "a variation with the number of White's move behind Black's; given to White's move",
            Liberty::PartsOfSeconds => "parts of a second in [%emt \u{2026}]; a database stores whole seconds, the parts are left out",
            Liberty::NagTwice => "$0, or a NAG twice at one move; a database stores each once, and no $0",
            Liberty::Braces => "braces within a remark; shown as parentheses, since PGN ends a remark at the first",
            Liberty::NoMoves => "a variation without moves; left out, its remarks are kept",
            Liberty::NumberLetters => "letters in move numbers, such as l. or 1O.; read as digits",
            Liberty::NagBefore => "a NAG before the first move of a game or variation, or in parentheses; given to the move beside it",
            Liberty::TagAgain => return write!(f, "a tag twice with two values; the second is {kept}"),
        })
    }
}

/// For what a game is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// A save: what is not understood is refused.
    #[default]
    Save,
    /// An import that finds strict PGN; tags that do not fit are no obstacle.
    Strictly,
    /// An import that takes all liberties.
    Freely,
}

/// How a game is read, and which liberties it took.
#[derive(Debug, Default)]
pub(super) struct Leniency {
    mode: Mode,
    language: Option<&'static Language>,
    others: Others,
    letters: LettersSeen,
    /// Pieces in small letters.
    small: SmallPieces,
    /// Whether the last word in capitals is a move of a pawn and of a bishop.
    pub(super) is_ambiguous: bool,
    pub(super) taken: TakenLiberties,
    /// The token that is read.
    pub(super) here: TextPlace,
    /// Whether `+-` or its like was taken for a forfeit in the tags.
    pub(super) has_forfeit_in_words: bool,
    /// The result that `1/2-0` was read as.
    pub(super) unequal: Option<&'static str>,
    /// The game before this one, if tags need not part them.
    pub(super) follows: Option<Follows>,
    /// Whether moves that are written twice are read once.
    pub(super) reads_repeats: bool,
    /// Statistics of the move numbers.
    pub(super) counted: NumberCounts,
}

/// The evidence that a game is written in the letters of a language.
#[derive(Clone, Copy, Debug, Default)]
struct LettersSeen {
    /// The moves that its letters make others than English ones.
    moves: u32,
    last: Option<TextPlace>,
    /// Whether one has a letter that no English move has.
    has_foreign: bool,
}

impl LettersSeen {
    /// Single moves with letters that English has may as well be mistakes: `Kg1` of a
    /// king that cannot go there is no Turkish rook.
    const ENOUGH: u32 = 4;

    fn see(&mut self, word: &[u8], place: TextPlace) {
        let is_foreign = |byte: &u8| match byte {
            b'A'..=b'Z' => !language::ENGLISH.contains(byte) && *byte != b'O',
            _ => !byte.is_ascii(),
        };
        self.has_foreign |= word.iter().any(is_foreign);
        self.moves += u32::from(self.last.replace(place) != Some(place));
    }

    fn are_enough(self) -> bool {
        self.has_foreign || self.moves >= LettersSeen::ENOUGH
    }
}

/// Piece letters in lower case: `nf3`, `bb5`.
#[derive(Clone, Copy, Debug, Default)]
struct SmallPieces {
    has_pieces: bool,
    /// The first move that a pawn and a bishop have.
    either: Option<TextPlace>,
}

/// The liberties that were taken, each with the place where it was first.
#[derive(Clone, Debug, Default)]
pub(super) struct TakenLiberties(Vec<(Liberty, TextPlace)>);

impl TakenLiberties {
    pub(super) fn note(&mut self, liberty: Liberty, place: TextPlace) {
        if !self.has(liberty) {
            self.0.push((liberty, place));
        }
    }

    fn has(&self, liberty: Liberty) -> bool {
        self.0.iter().any(|(taken, _)| *taken == liberty)
    }

    fn append(&mut self, other: TakenLiberties) {
        for (liberty, place) in other.0 {
            self.note(liberty, place);
        }
    }

    /// Each with its place, in the order in which they were taken.
    pub(super) fn list(&self) -> &[(Liberty, TextPlace)] {
        &self.0
    }

    pub(super) fn liberties(&self) -> Vec<Liberty> {
        self.0.iter().map(|(liberty, _)| *liberty).collect()
    }
}

/// Which other languages fit the moves so far, one bit for each of
/// [`LANGUAGES`].
#[derive(Clone, Copy, Debug, Default)]
struct Others {
    /// In them all moves so far are the same.
    same: u32,
    /// In them a move is another one, which is legal there too.
    apart: u32,
}

impl Leniency {
    /// With all liberties.
    fn freely(reading: LenientReading) -> Leniency {
        Leniency {
            mode: Mode::Freely,
            language: reading.language,
            others: Others {
                same: reading.others,
                apart: 0,
            },
            follows: reading.follows,
            ..Leniency::default()
        }
    }

    /// Whether all liberties are allowed.
    pub(super) fn is_on(&self) -> bool {
        self.mode == Mode::Freely
    }

    /// Whether it is no save.
    pub(super) fn is_import(&self) -> bool {
        self.mode != Mode::Save
    }

    /// Takes a liberty if this is allowed.
    pub(super) fn accept(&mut self, liberty: Liberty) -> bool {
        if self.is_on() {
            self.notes(liberty);
        }
        self.is_on()
    }

    /// Takes note of what says the same in another form, also strictly.
    pub(super) fn notes(&mut self, liberty: Liberty) {
        self.taken.note(liberty, self.here);
    }

    /// Takes back a liberty.
    pub(super) fn forgets(&mut self, liberty: Liberty) {
        self.taken.0.retain(|(taken, _)| *taken != liberty);
    }

    /// Parses a word as a move in a position, with a NAG attached to it.
    /// Returns `None` if it is no move.
    pub(super) fn notation(
        &mut self,
        word: &[u8],
        position: &Position,
    ) -> Option<(Notation, Option<u8>)> {
        let found = self.plain_notation(word, position);
        if !self.is_on() {
            return found.map(|found| (found, None));
        }
        if let Some(bishop) = self.small_bishop(word, found, position) {
            return Some((bishop, None));
        }
        if found.is_some_and(|found| !found.is_impossible()) {
            return found.map(|found| (found, None));
        }
        self.other_notation(word, position)
    }

    /// The move of a bishop in small letters, where no pawn has it. What is a move
    /// of both is the pawn's, if the game has no pieces in small letters.
    fn small_bishop(
        &mut self,
        word: &[u8],
        found: Option<Notation>,
        position: &Position,
    ) -> Option<Notation> {
        if word.first() != Some(&b'b') || self.language.is_some() {
            return None;
        }
        let bishop = Notation::parse(&bishop_in_small(word)?)?;
        bishop.find(position).ok()?;
        if found.is_some_and(|found| found.find(position).is_ok()) {
            self.small.either = self.small.either.or(Some(self.here));
            return None;
        }
        self.small.has_pieces = true;
        self.notes(Liberty::MoveForm);
        Some(bishop)
    }

    /// Where a word first is a move of a pawn and of a bishop, in a game that has
    /// pieces in small letters.
    pub(super) fn unclear_bishop(&self) -> Option<TextPlace> {
        self.small.either.filter(|_| self.small.has_pieces)
    }

    fn plain_notation(&mut self, word: &[u8], position: &Position) -> Option<Notation> {
        let found = self
            .in_english(word)
            .and_then(|word| Notation::parse(&word));
        if self.others.same != 0 && may_have_letters(word) {
            self.compare(word, found, position);
        }
        found
    }

    /// The same of a move in another form.
    #[cold]
    fn other_notation(
        &mut self,
        word: &[u8],
        position: &Position,
    ) -> Option<(Notation, Option<u8>)> {
        let mut nag = None;
        let mut bare = Cow::Borrowed(word);
        if let Some((rest, sign)) = without_sign(&with_plain_signs(word)) {
            bare = Cow::Owned(rest.to_vec());
            nag = sign;
        }
        let is_bare = bare.len() < word.len();
        let mut found = is_bare
            .then(|| self.plain_notation(&bare, position))
            .flatten();
        found = found.or_else(|| {
            let usual = usual_form(&bare)?;
            let pawn = pawn_in_capitals(&bare).and_then(|pawn| Notation::parse(&pawn));
            let is_pawn = pawn.is_some_and(|pawn| pawn.find(position).is_ok());
            let found = self.plain_notation(&usual, position);
            self.small.has_pieces |= matches!(
                (bare.first(), usual.first()),
                (Some(b'n' | b'q' | b'r' | b'k'), Some(b'A'..=b'Z'))
            );
            let is_found = found.is_some_and(|found| found.find(position).is_ok());
            self.is_ambiguous = is_pawn && is_found && pawn != found;
            pawn.filter(|_| is_pawn).or(found)
        });
        found = found.filter(|found| !found.is_impossible());
        let found = found.or_else(|| pawn_takes(pawn_files(&bare)?, position));
        if found.is_some() {
            self.notes(Liberty::MoveForm);
        }
        found.map(|found| (found, nag))
    }

    /// Finds the languages that read a word otherwise. A game is in one of them
    /// only if what it says there is legal: so far they say the same.
    #[cold]
    fn compare(&mut self, word: &[u8], found: Option<Notation>, position: &Position) {
        let word = with_plain_signs(word);
        for (at, language) in LANGUAGES.iter().enumerate() {
            let bit = 1 << at;
            if self.others.same & bit == 0 {
                continue;
            }
            let english = language.in_english(&word);
            let other = english.and_then(|word| Notation::parse(&word));
            if other != found {
                self.others.same &= !bit;
                if other.is_some_and(|other| other.find(position).is_ok()) {
                    self.others.apart |= bit;
                }
            }
        }
    }

    /// A word as a move is written in English; `None` if it is none.
    fn in_english<'w>(&mut self, word: &'w [u8]) -> Option<Cow<'w, [u8]>> {
        if !self.is_on() {
            return Some(Cow::Borrowed(word));
        }
        let plain = with_plain_signs(word);
        if matches!(plain, Cow::Owned(_)) {
            self.accept(Liberty::Signs);
        }
        let Some(language) = self.language else {
            return Some(plain);
        };
        let english = language.in_english(&plain)?.into_owned();
        if english != *plain {
            self.accept(Liberty::Letters(language.name));
            self.letters.see(&plain, self.here);
        }
        Some(Cow::Owned(english))
    }

    /// The result that a word of no result of PGN says.
    pub(super) fn result(&mut self, word: &[u8]) -> Option<GameResult> {
        if !self.is_on() {
            return None;
        }
        if let Some(unequal) = unequal_result(word) {
            self.unequal = Some(unequal);
            self.accept(Liberty::UnequalResult);
            return Some(GameResult::Line);
        }
        let result = loose_result(word)?;
        self.accept(Liberty::ResultSpelling);
        Some(result)
    }
}

/// The move of a pawn that takes from one file to another, if there is one.
fn pawn_takes([from, to]: [u8; 2], position: &Position) -> Option<Notation> {
    let ranks = b'2'..=b'7';
    let moves = ranks.filter_map(|rank| Notation::parse(&[from, b'x', to, rank]));
    let mut legal = moves.filter(|notation| notation.find(position).is_ok());
    legal.next().filter(|_| legal.next().is_none())
}

/// A game that was understood.
#[derive(Debug)]
pub(super) struct Understood {
    pub(super) game: Game,
    pub(super) taken: TakenLiberties,
    counted: NumberCounts,
}

impl GameTexts<'_> {
    /// The next game, strictly if that is possible; places after an error
    /// are not gone to.
    pub(super) fn next_leniently(&mut self) -> Option<Result<Understood, Error>> {
        if self.has_failed || self.lexer.is_at_nothing() {
            return None;
        }
        self.lexer.begin_game();
        if self.lexer.here().line > self.last_line + 1 {
            self.follows = self.follows.map(|_| Follows::Apart);
        }
        let begin = self.lexer.clone();
        let mut strictly = Leniency {
            mode: Mode::Strictly,
            follows: self.follows,
            here: begin.here(),
            ..Leniency::default()
        };
        let strict = read_game(&mut self.lexer, &mut strictly);
        let read = match strict {
            Ok(game) if !strictly.counted.may_repeat && !self.lexer.is_at_more() => {
                Ok(Understood {
                    game,
                    taken: strictly.taken,
                    counted: strictly.counted,
                })
            }
            _ => read_leniently(begin.clone(), self.follows).map(|(understood, lexer)| {
                self.lexer = lexer;
                understood
            }),
        };
        let doubtful = self
            .doubted
            .and_then(|page| begin.doubtful_byte(self.lexer.offset(), page));
        let read = doubtful.map_or(read, Err);
        self.has_failed = read.is_err();
        self.last_line = self.lexer.here().line;
        let is_unnumbered = read.as_ref().is_ok_and(|read| !read.counted.has_any);
        self.follows = Some(if is_unnumbered {
            Follows::Apart
        } else {
            Follows::Closely
        });
        Some(read)
    }
}

/// How a game is read.
#[derive(Clone, Copy, Debug, Default)]
struct LenientReading {
    language: Option<&'static Language>,
    /// The languages to be compared with this one.
    others: u32,
    follows: Option<Follows>,
}

/// One game in one language, and the languages in which it may be another one.
struct ReadIn<'t> {
    read: Result<(Understood, Lexer<'t>), Error>,
    others: Others,
    /// How far it was read.
    reached: usize,
    counted: NumberCounts,
}

/// Reads one game with all liberties, in English or else in another language:
/// only in those that its moves differ in, and are legal as far as they do not.
fn read_leniently(
    begin: Lexer<'_>,
    follows: Option<Follows>,
) -> Result<(Understood, Lexer<'_>), Error> {
    let reading = |language, others| LenientReading {
        language,
        others,
        follows,
    };
    let all = (1_u32 << LANGUAGES.len()) - 1;
    let in_english = read_in(&begin, reading(None, all));
    let mut furthest = match in_english.read {
        Ok(read) => return Ok(read),
        Err(error) => (in_english.reached, error),
    };
    let mut left = in_english.others.apart;
    let mut found = None;
    for (at, language) in LANGUAGES.iter().enumerate() {
        let bit = 1 << at;
        if left & bit == 0 {
            continue;
        }
        left &= !bit;
        let ReadIn {
            read,
            others,
            reached,
            ..
        } = read_in(&begin, reading(Some(language), left));
        left = others.apart;
        match read {
            Ok(read) if found.is_none() && left == 0 => return Ok(read),
            // It is read again, since two take too much memory.
            Ok(_) if found.is_none() => found = Some(language),
            Ok(_) => {
                let what = "a game whose piece letters are those of more than one language";
                return Err(begin.error(begin.here(), what.to_owned(), "English piece letters"));
            }
            Err(error) => {
                if reached > furthest.0 {
                    furthest = (reached, error);
                }
            }
        }
    }
    match found {
        Some(language) => read_in(&begin, reading(Some(language), 0)).read,
        None => Err(variant_error(begin).unwrap_or(furthest.1)),
    }
}

/// Reads a game in a language, and compares it with others meanwhile. Moves
/// that may be written twice are read once if that is a game and its
/// numbers fit better.
fn read_in<'t>(begin: &Lexer<'t>, reading: LenientReading) -> ReadIn<'t> {
    let first = read_once(begin, reading, false);
    if !first.counted.may_repeat {
        return first;
    }
    let misfits = first.read.is_ok().then_some(first.counted.misfits);
    // It may be read again, since two take too much memory.
    drop(first);
    let other = read_once(begin, reading, true);
    let numbers = other.counted;
    let is_better = misfits.is_none_or(|misfits| numbers.misfits < misfits);
    if other.read.is_ok() && is_better && numbers.of_other_side == 0 {
        return other;
    }
    drop(other);
    read_once(begin, reading, false)
}

fn read_once<'t>(begin: &Lexer<'t>, reading: LenientReading, reads_repeats: bool) -> ReadIn<'t> {
    let mut lexer = begin.clone().freely();
    let mut leniency = Leniency {
        reads_repeats,
        here: begin.here(),
        ..Leniency::freely(reading)
    };
    let read = read_game(&mut lexer, &mut leniency);
    let mut taken = leniency.taken;
    taken.append(lexer.taken());
    let mut reached = lexer.offset();
    let mut read = read;
    if let Some(language) = reading.language {
        taken.note(Liberty::Letters(language.name), begin.here());
        if !leniency.letters.are_enough() {
            // What is wrong with it in English is told.
            let found = format!("no more than a letter that could be of {}", language.name);
            read =
                read.and_then(|_| Err(begin.error(begin.here(), found, "English piece letters")));
            reached = 0;
        }
    }
    let counted = leniency.counted;
    let understood = |game| Understood {
        game,
        taken,
        counted,
    };
    ReadIn {
        read: read.map(|game| (understood(game), lexer)),
        others: leniency.others,
        reached,
        counted,
    }
}

/// Returns the error for a game of another variant than chess, by its tags.
fn variant_error(lexer: Lexer<'_>) -> Option<Error> {
    let mut lexer = lexer.freely();
    let pair = variant_tag(&mut lexer)?;
    let found = format!("{} as Variant", quoted(pair.value.as_bytes()));
    Some(lexer.error(pair.place, found, "chess or Chess960"))
}

fn variant_tag<'t>(lexer: &mut Lexer<'t>) -> Option<TagPair<'t>> {
    loop {
        match lexer.next() {
            Ok((_, Token::Tag(pair)))
                if pair.name.eq_ignore_ascii_case("Variant") && !is_chess(&pair.value) =>
            {
                return Some(pair);
            }
            Ok((_, Token::Tag(_) | Token::Comment(_))) => {}
            _ => return None,
        }
    }
}

/// The variant of the game that begins at `text`, if it is none that a base
/// has.
pub(super) fn variant_of(text: &[u8], page: EightBitPage) -> Option<VariantName> {
    let lexer = Lexer::from_line(text, TextPlace::START.line).in_page(page);
    let pair = variant_tag(&mut lexer.freely())?;
    Some(VariantName::of(&pair.value))
}

pub(super) fn is_chess(variant: &str) -> bool {
    const CHESS: [&str; 6] = ["", "?", "chess", "standard", "normal", "from position"];
    let variant = variant.trim().to_ascii_lowercase();
    CHESS.contains(&variant.as_str()) || super::tags::is_chess960(&variant)
}

/// Returns the players of the game that begins at `text`, as `White – Black`;
/// `None` if it names none.
pub(super) fn players_of(text: &[u8], page: EightBitPage) -> Option<String> {
    let lexer = Lexer::from_line(text, TextPlace::START.line).in_page(page);
    let mut lexer = lexer.freely();
    let (mut white, mut black) = (None, None);
    loop {
        match lexer.next() {
            Ok((_, Token::Tag(pair))) if pair.name.eq_ignore_ascii_case("White") => {
                white = Some(pair.value);
            }
            Ok((_, Token::Tag(pair))) if pair.name.eq_ignore_ascii_case("Black") => {
                black = Some(pair.value);
            }
            Ok((_, Token::Tag(_) | Token::Comment(_))) => {}
            _ => break,
        }
    }
    let shown = |name: Option<Cow<'_, str>>| {
        let name = name.unwrap_or_default();
        if name.is_empty() {
            "?".to_owned()
        } else {
            name.chars().take(40).collect()
        }
    };
    let names = |name: &Option<Cow<'_, str>>| {
        name.as_deref()
            .is_some_and(|name| !matches!(name, "" | "?"))
    };
    let is_known = names(&white) || names(&black);
    is_known.then(|| format!("{} \u{2013} {}", shown(white), shown(black)))
}

/// Line and column of the value of a tag of the game that begins at `text`.
pub(super) fn place_of_tag(text: &[u8], line: usize, name: &str) -> Option<(usize, usize)> {
    place_where(Lexer::from_line(text, line), |pair| pair.name == name)
}

/// Line and column of a name in the game that begins at `text`: of the value of
/// a tag, or of another one that has the name.
pub(super) fn place_of_name(
    text: &[u8],
    line: usize,
    page: EightBitPage,
    tag: &str,
    name: &str,
) -> Option<(usize, usize)> {
    let lexer = Lexer::from_line(text, line).in_page(page);
    let is_it = |pair: &TagPair<'_>| pair.name == tag && pair.value.contains(name);
    let place = place_where(lexer.clone(), is_it);
    place.or_else(|| place_where(lexer, |pair| pair.value.contains(name)))
}

/// Line and column of the value of the first tag that is the one.
fn place_where(lexer: Lexer<'_>, is_it: impl Fn(&TagPair<'_>) -> bool) -> Option<(usize, usize)> {
    let text = lexer.text();
    let mut lexer = lexer.freely();
    loop {
        match lexer.next() {
            Ok((_, Token::Tag(pair))) if is_it(&pair) => {
                return Some((pair.place.line, pair.place.column(text)));
            }
            Ok((_, Token::Tag(_) | Token::Comment(_))) => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests;
