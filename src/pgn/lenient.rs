//! PGN as programs and people really write it, for imports.
//!
//! A game is read strictly first; only one that is refused is read again with
//! some [`Liberty`]. Each is told: what a game says is understood, never made
//! up. Some are taken of strict PGN too: what says the same in another form
//! than we write is told. Piece letters of another language count only where the whole game is
//! legal with them, and is not in English.

use std::borrow::Cow;
use std::fmt;

use encoding_rs::{Encoding, WINDOWS_1252};

use super::decode::{Games, read_game};
use super::error::{Error, quoted};
use super::lexer::{Lexer, Token};
use super::notation::Notation;
use super::place::Place;
use crate::game::{Game, GameResult, Position};

/// What of a game was understood in another way than strict PGN has it.
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
    /// A tag twice, with one value.
    TagTwice,
    /// `01`, `5(2)`, nothing, as a round; strict PGN too.
    RoundForm,
    /// `-`, nothing, as a date; strict PGN too.
    DateForm,
    /// A FEN that says the same in another form; strict PGN too.
    FenForm,
    /// `SetUp` without a set-up position; strict PGN too.
    NoSetUp,
    /// A tab in a tag; strict PGN too.
    TagBlanks,
    /// NAGs that stand otherwise than they are written; strict PGN too.
    NagOrder,
    /// A command of ours that says nothing; strict PGN too.
    Misread,
    /// What an export says of damage.
    Damage,
}

impl fmt::Display for Liberty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Liberty::NoResult => "no result at the end; that of the tag is taken, or *",
            Liberty::OpenResultTag => "the tag Result says *; the result at the end is taken",
            Liberty::OpenEnd => "* at the end; the result of the tag is taken",
            Liberty::ResultSpelling => {
                "a result in other words, such as 1:0 or +-; read as 1-0, 0-1 or 1/2-1/2"
            }
            Liberty::UnequalResult => "a result such as 1/2-0; kept as *, with the tag CbhResult",
            Liberty::Letters(language) => return write!(f, "{language}; read as piece letters"),
            Liberty::Marks => "signs such as +/-, = or RR as words; read as NAGs",
            Liberty::Signs => "signs such as \u{2013} or \u{d7} in moves; read as - and x",
            Liberty::CommentBehind => "a comment behind the result; kept at the last move",
            Liberty::TagTwice => "a tag twice with the same value; kept once",
            Liberty::RoundForm => "a round such as 01, 5(2) or nothing; stored as 1, 5.2 or ?",
            Liberty::DateForm => "a date such as - or nothing; stored as unknown",
            Liberty::FenForm => "a FEN in another form, such as castling letters of files, move number 0 or an en passant square that no pawn can take on; stored in the usual form",
            Liberty::NoSetUp => "a tag SetUp without a position; left out",
            Liberty::TagBlanks => "a tab or line break in a tag; shown as a blank",
            Liberty::NagOrder => {
                "NAGs in another order than ChessBase's: on the move, on the position, prefixes; stored in that"
            }
            Liberty::Misread => {
                "a command of cbfs that says nothing, such as [%cblang xx]; kept as text"
            }
            Liberty::Damage => {
                "[%cbdefect \u{2026}] or [%cbpos \u{2026}], which say what an export lacks of a damaged game; left out"
            }
        })
    }
}

/// How a game is read, and which liberties it took.
#[derive(Debug, Default)]
pub(super) struct Leniency {
    is_on: bool,
    language: Option<&'static Language>,
    others: Others,
    pub(super) taken: Vec<Liberty>,
    /// What `1/2-0` was.
    pub(super) unequal: Option<&'static str>,
}

/// What is known of other languages than the one that a game is read in, a bit
/// for each of [`LANGUAGES`].
#[derive(Clone, Copy, Debug, Default)]
struct Others {
    /// In them all moves so far are the same.
    same: u16,
    /// In them a move is another one, which is legal there too.
    apart: u16,
}

/// Piece letters: those of king, queen, rook, bishop, knight, in each way
/// they are written.
#[derive(Debug)]
struct Language {
    name: &'static str,
    letters: [&'static [&'static str]; 5],
}

const ENGLISH: [u8; 5] = *b"KQRBN";

const LANGUAGES: [Language; 13] = [
    language(
        "figurines",
        [
            &["♔", "♚"],
            &["♕", "♛"],
            &["♖", "♜"],
            &["♗", "♝"],
            &["♘", "♞"],
        ],
    ),
    language("German letters", [&["K"], &["D"], &["T"], &["L"], &["S"]]),
    language("French letters", [&["R"], &["D"], &["T"], &["F"], &["C"]]),
    language(
        "Spanish or Italian letters",
        [&["R"], &["D"], &["T"], &["A"], &["C"]],
    ),
    language(
        "Portuguese letters",
        [&["R"], &["D"], &["T"], &["B"], &["C"]],
    ),
    language("Dutch letters", [&["K"], &["D"], &["T"], &["L"], &["P"]]),
    language("Russian letters", [&["Кр"], &["Ф"], &["Л"], &["С"], &["К"]]),
    language("Polish letters", [&["K"], &["H"], &["W"], &["G"], &["S"]]),
    language("Czech letters", [&["K"], &["D"], &["V"], &["S"], &["J"]]),
    language(
        "Hungarian letters",
        [&["K"], &["V"], &["B"], &["F"], &["H"]],
    ),
    language("Finnish letters", [&["K"], &["D"], &["T"], &["L"], &["R"]]),
    language("Romanian letters", [&["R"], &["D"], &["T"], &["N"], &["C"]]),
    language(
        "Ukrainian letters",
        [&["Кр"], &["Ф"], &["Т"], &["С"], &["К"]],
    ),
];

const fn language(name: &'static str, letters: [&'static [&'static str]; 5]) -> Language {
    Language { name, letters }
}

impl Language {
    /// A move with English letters; `None` if it has letters that the
    /// language has not.
    fn in_english<'w>(&self, word: &'w [u8]) -> Option<Cow<'w, [u8]>> {
        for (ways, english) in self.letters.iter().zip(ENGLISH) {
            let rest = ways
                .iter()
                .find_map(|way| word.strip_prefix(way.as_bytes()));
            if let Some(rest) = rest {
                return Some([&[english], rest].concat().into());
            }
        }
        if word.first().is_some_and(|first| ENGLISH.contains(first)) {
            return None;
        }
        let pawn = ["♙", "♟"]
            .iter()
            .find_map(|pawn| word.strip_prefix(pawn.as_bytes()));
        Some(self.promotion_in_english(pawn.unwrap_or(word)))
    }

    /// `e8=D+` as `e8=Q+`.
    fn promotion_in_english<'w>(&self, word: &'w [u8]) -> Cow<'w, [u8]> {
        let is_mark = |byte: &&u8| matches!(byte, b'+' | b'#' | b')');
        let marks = word.iter().rev().take_while(is_mark).count();
        let (body, marks) = word.split_at(word.len() - marks);
        for (ways, english) in self.letters.iter().zip(ENGLISH) {
            let rest = ways
                .iter()
                .find_map(|way| body.strip_suffix(way.as_bytes()));
            if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
                return [rest, &[english], marks].concat().into();
            }
        }
        Cow::Borrowed(word)
    }
}

impl Leniency {
    /// `others` are the languages to be compared with this one.
    fn with(language: Option<&'static Language>, others: u16) -> Leniency {
        Leniency {
            is_on: true,
            language,
            others: Others {
                same: others,
                apart: 0,
            },
            ..Leniency::default()
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Takes a liberty if this is allowed.
    pub(super) fn takes(&mut self, liberty: Liberty) -> bool {
        if self.is_on && !self.taken.contains(&liberty) {
            self.taken.push(liberty);
        }
        self.is_on
    }

    /// Takes note of what says the same in another form, also strictly.
    pub(super) fn notes(&mut self, liberty: Liberty) {
        if !self.taken.contains(&liberty) {
            self.taken.push(liberty);
        }
    }

    /// What a word says of a move that is to be played in a position; `None` if
    /// it is no move.
    pub(super) fn notation(&mut self, word: &[u8], position: &Position) -> Option<Notation> {
        let found = self
            .in_english(word)
            .and_then(|word| Notation::parse(&word));
        if self.others.same != 0 && may_have_letters(word) {
            self.compare(word, found, position);
        }
        found
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
        if !self.is_on {
            return Some(Cow::Borrowed(word));
        }
        let plain = with_plain_signs(word);
        if matches!(plain, Cow::Owned(_)) {
            self.takes(Liberty::Signs);
        }
        match (self.language, plain) {
            (None, plain) => Some(plain),
            (Some(language), Cow::Borrowed(word)) => language.in_english(word),
            (Some(language), Cow::Owned(word)) => {
                let english = language.in_english(&word)?;
                Some(Cow::Owned(english.into_owned()))
            }
        }
    }

    /// The result that a word of no result of PGN says.
    pub(super) fn result(&mut self, word: &[u8]) -> Option<GameResult> {
        if !self.is_on {
            return None;
        }
        if let Some(unequal) = unequal_result(word) {
            self.unequal = Some(unequal);
            self.takes(Liberty::UnequalResult);
            return Some(GameResult::Line);
        }
        let result = loose_result(word)?;
        self.takes(Liberty::ResultSpelling);
        Some(result)
    }
}

/// Whether a word has letters that languages differ in.
fn may_have_letters(word: &[u8]) -> bool {
    let is_letter = |&byte: &u8| byte != b'O' && (byte.is_ascii_uppercase() || !byte.is_ascii());
    word.iter().any(is_letter)
}

/// `–` and its like as `-`, `×` as `x`; without what selects how a figurine
/// looks.
fn with_plain_signs(word: &[u8]) -> Cow<'_, [u8]> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let Ok(text) = std::str::from_utf8(word) else {
        return Cow::Borrowed(word);
    };
    let is_other = |c: char| {
        matches!(
            c,
            '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{d7}' | '\u{fe0e}' | '\u{fe0f}'
        )
    };
    if !text.contains(is_other) {
        return Cow::Borrowed(word);
    }
    let plain = text.chars().filter_map(|c| match c {
        '\u{d7}' => Some('x'),
        '\u{fe0e}' | '\u{fe0f}' => None,
        c if is_other(c) => Some('-'),
        c => Some(c),
    });
    Cow::Owned(plain.collect::<String>().into_bytes())
}

/// A result of two sides that do not add up to one, as the tag `CbhResult`
/// keeps it.
pub(super) fn unequal_result(word: &[u8]) -> Option<&'static str> {
    let word = with_plain_result(word);
    ["1/2-0", "0-1/2"]
        .into_iter()
        .find(|unequal| word == *unequal)
}

fn with_plain_result(word: &[u8]) -> String {
    let text = super::place::characters(word, WINDOWS_1252);
    let plain = with_plain_signs(text.as_bytes());
    String::from_utf8_lossy(&plain)
        .replace('½', "1/2")
        .replace(':', "-")
}

fn loose_result(word: &[u8]) -> Option<GameResult> {
    Some(match with_plain_result(word).as_str() {
        "1-0" => GameResult::WhiteWon,
        "0-1" => GameResult::BlackWon,
        "1/2-1/2" | "1/2" | "0.5-0.5" | ".5-.5" => GameResult::Draw,
        "+-" | "+--" => GameResult::WhiteWonByForfeit,
        "-+" | "--+" => GameResult::BlackWonByForfeit,
        "=-=" => GameResult::DrawByForfeit,
        _ => return None,
    })
}

/// The NAG that a sign of Informants stands for.
pub(super) fn nag_of(word: &[u8]) -> Option<u8> {
    Some(match std::str::from_utf8(word).ok()? {
        "=" => 10,
        "\u{221e}" | "~" => 13,
        "+=" | "+/=" | "\u{2a72}" => 14,
        "=+" | "=/+" | "\u{2a71}" => 15,
        "+/-" | "\u{b1}" => 16,
        "-/+" | "\u{2213}" => 17,
        "+-" => 18,
        "-+" => 19,
        "\u{25a1}" => 7,
        "\u{2206}" | "\u{25b3}" => 140,
        "\u{2313}" => 142,
        "RR" => 145,
        "N" => 146,
        // A diagram, as Scid writes it.
        "D" => 201,
        _ => return None,
    })
}

/// A game that was understood.
#[derive(Debug)]
pub(super) struct Understood {
    pub(super) game: Game,
    pub(super) liberties: Vec<Liberty>,
}

impl Games<'_> {
    /// The next game, strictly if that is possible; places after an error
    /// are not gone to.
    pub(super) fn next_leniently(&mut self) -> Option<Result<Understood, Error>> {
        if self.has_failed || self.lexer.is_at_text_end() {
            return None;
        }
        self.lexer.begin_game();
        let begin = self.lexer.clone();
        let mut strictly = Leniency::default();
        let strict = read_game(&mut self.lexer, &mut strictly);
        let read = match strict {
            Ok(game) if !self.lexer.is_at_comment() => Ok(Understood {
                game,
                liberties: strictly.taken,
            }),
            _ => read_leniently(begin).map(|(understood, lexer)| {
                self.lexer = lexer;
                understood
            }),
        };
        self.has_failed = read.is_err();
        Some(read)
    }
}

/// One game in one language, and the languages in which it may be another one.
struct ReadIn<'t> {
    read: Result<(Understood, Lexer<'t>), Error>,
    others: Others,
}

/// Reads one game with all liberties, in English or else in another language:
/// only in those that its moves differ in, and are legal as far as they do not.
fn read_leniently(begin: Lexer<'_>) -> Result<(Understood, Lexer<'_>), Error> {
    let all = (1 << LANGUAGES.len()) - 1;
    let in_english = read_in(&begin, None, all);
    let mut furthest = match in_english.read {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    let mut left = in_english.others.apart;
    let mut found = None;
    for (at, language) in LANGUAGES.iter().enumerate() {
        let bit = 1 << at;
        if left & bit == 0 {
            continue;
        }
        left &= !bit;
        let ReadIn { read, others } = read_in(&begin, Some(language), left);
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
                if (error.line, error.column) > (furthest.line, furthest.column) {
                    furthest = error;
                }
            }
        }
    }
    match found {
        Some(language) => read_in(&begin, Some(language), 0).read,
        None => Err(variant_error(begin).unwrap_or(furthest)),
    }
}

/// Reads a game in a language, and compares it with others meanwhile.
fn read_in<'t>(begin: &Lexer<'t>, language: Option<&'static Language>, others: u16) -> ReadIn<'t> {
    let mut lexer = begin.clone();
    let mut leniency = Leniency::with(language, others);
    let read = read_game(&mut lexer, &mut leniency);
    let mut liberties = leniency.taken;
    if let Some(language) = language {
        liberties.push(Liberty::Letters(language.name));
    }
    ReadIn {
        read: read.map(|game| (Understood { game, liberties }, lexer)),
        others: leniency.others,
    }
}

/// What a game that is no chess says of itself.
fn variant_error(mut lexer: Lexer<'_>) -> Option<Error> {
    while let Ok((_, Token::Tag(pair))) = lexer.next() {
        if pair.name == "Variant" && !is_chess(&pair.value) {
            let found = format!("{} as Variant", quoted(pair.value.as_bytes()));
            return Some(lexer.error(pair.place, found, "chess or Chess960"));
        }
    }
    None
}

fn is_chess(variant: &str) -> bool {
    const CHESS: [&str; 6] = ["", "?", "chess", "standard", "normal", "from position"];
    let variant = variant.trim().to_ascii_lowercase();
    CHESS.contains(&variant.as_str()) || super::tags::is_chess960(&variant)
}

/// The players of the game that begins at `text`, as `White - Black`, if it
/// says so.
pub(super) fn players_of(text: &[u8], page: &'static Encoding) -> Option<String> {
    let mut lexer = Lexer::from_line(text, Place::START.line).in_page(page);
    let (mut white, mut black) = (None, None);
    loop {
        match lexer.next() {
            Ok((_, Token::Tag(pair))) => match pair.name {
                "White" => white = Some(pair.value),
                "Black" => black = Some(pair.value),
                _ => {}
            },
            Ok((_, Token::Comment(_))) => {}
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
    let mut lexer = Lexer::from_line(text, line);
    loop {
        match lexer.next() {
            Ok((_, Token::Tag(pair))) if pair.name == name => {
                return Some((pair.place.line, pair.place.column(text)));
            }
            Ok((_, Token::Tag(_) | Token::Comment(_))) => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests;
