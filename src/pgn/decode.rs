//! Tokens into games. Every move must be legal, and every word known: what
//! a person meant is not guessed.

mod plain;

use std::borrow::Cow;

use shakmaty::Move;

use super::error::{Error, quoted};
use super::lenient::{
    InPassing, Leniency, Liberty, in_letters, in_passing, is_descriptive, is_drop, is_of_check,
    is_position, nag_of, with_plain_signs,
};
use super::lexer::{self, Lexer, Token};
use super::long_words;
use super::notation::Notation;
use super::numbers::{Disproof, Follows, MoveNumber, MoveNumbers};
use super::page::EightBitPage;
use super::place::TextPlace;
use super::private_tags::{Front, PendingComment, settle};
use super::remarks::{Remarks, Subject, is_flagged_before, unglued, without_damage};
use super::stream::{InPage, are_words};
use super::tags;
use crate::game::{
    Branch, Game, GameResult, MAX_ANNOTATIONS, MAX_PLIES, NoSuchMove, PlyId, Position, TreeBuilder,
};

/// The longest text of one game.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// How deep variations may nest.
const MAX_DEPTH: usize = 1024;

/// The text that [`decode`] expects after a game. This error means that the text has
/// several games.
pub const END_OF_ONE_GAME: &str = "the end of the text after one game";

/// The most tag pairs of a game. Those that a base has no field for stand in
/// one remark of at most 64 KiB, so that it cannot hold as many.
const MAX_TAGS: usize = 1 << 13;

/// Most games have no more.
const USUAL_TAGS: usize = 20;

const MOVE_OR_RESULT: &str = "a move, a comment or the result";

/// Reads the text of exactly one game.
///
/// # Errors
///
/// The first defect in the text, with line and column: an unknown word, an
/// illegal or ambiguous move, a comment, variation or tag pair without end, a
/// missing result or one that contradicts the Result tag, invalid UTF-8, an
/// invalid FEN or date, a number out of range, a repeated tag of those for
/// players, place and time, a second game, no game, or more than 16 MiB,
/// [`MAX_PLIES`] moves or [`MAX_ANNOTATIONS`] remarks.
pub fn decode(text: &[u8]) -> Result<Game, Error> {
    decode_with_liberties(text).map(|(game, _)| game)
}

/// As [`decode`], but also returns the [`Liberty`] of each form in the text that
/// differs from the form that [`encode`](super::encode) writes, although it means the
/// same.
///
/// # Errors
///
/// As of [`decode`].
pub fn decode_with_liberties(text: &[u8]) -> Result<(Game, Vec<Liberty>), Error> {
    let mut lexer = GameTexts::new(text).lexer;
    if lexer.is_at_text_end() {
        return Err(lexer.unexpected("a game"));
    }
    let mut strictly = Leniency::default();
    let game = read_game(&mut lexer, &mut strictly)?;
    // In which page it is would be a guess, and other letters be stored.
    if let Err(error) = std::str::from_utf8(text) {
        let at = error.valid_up_to();
        let byte = text.get(at).copied().unwrap_or_default();
        let mut lexer = GameTexts::new(text).lexer;
        lexer.go_on_to(at);
        let found = format!("the byte {byte:#04x}, which is no UTF-8");
        return Err(lexer.error(lexer.here(), found, "a text in UTF-8"));
    }
    if lexer.is_at_text_end() {
        return Ok((game, strictly.taken.liberties()));
    }
    lexer.skip_blanks();
    Err(lexer.unexpected(END_OF_ONE_GAME))
}

/// The games of a text, one after the other; none after the first error.
/// Lines are counted over the whole text.
#[derive(Debug)]
pub struct GameTexts<'t> {
    pub(super) lexer: Lexer<'t>,
    pub(super) has_failed: bool,
    /// The page, if some of the text is no UTF-8.
    pub(super) doubted: Option<InPage>,
    /// How the next game stands behind the last one.
    pub(super) follows: Option<Follows>,
    /// The line in which the last one ends.
    pub(super) last_line: usize,
}

impl<'t> GameTexts<'t> {
    /// Begins at the start of `text`.
    pub fn new(text: &'t [u8]) -> GameTexts<'t> {
        GameTexts::from_line(text, TextPlace::START.line)
    }

    /// As [`new`](GameTexts::new), where the first line of `text` is counted as
    /// `line`.
    pub fn from_line(text: &'t [u8], line: usize) -> GameTexts<'t> {
        GameTexts {
            lexer: Lexer::from_line(text, line),
            has_failed: false,
            doubted: None,
            follows: None,
            last_line: 0,
        }
    }

    /// The same, where what is no UTF-8 is in a page; otherwise that is
    /// Windows-1252.
    #[must_use]
    pub fn in_page(self, page: EightBitPage) -> GameTexts<'t> {
        let lexer = self.lexer.in_page(page);
        GameTexts { lexer, ..self }
    }
}

impl GameTexts<'_> {
    /// Goes on at an offset behind a place, after an error.
    pub(super) fn go_on_at(&mut self, place: TextPlace, offset: usize) {
        self.lexer.go_to(place);
        self.lexer.go_on_to(offset);
        self.has_failed = false;
    }
}

impl Iterator for GameTexts<'_> {
    type Item = Result<Game, Error>;

    fn next(&mut self) -> Option<Result<Game, Error>> {
        if self.has_failed || self.lexer.is_at_text_end() {
            return None;
        }
        let game = read_game(&mut self.lexer, &mut Leniency::default());
        self.has_failed = game.is_err();
        Some(game)
    }
}

/// Reads one game, from its first token to its result.
pub(super) fn read_game(lexer: &mut Lexer<'_>, leniency: &mut Leniency) -> Result<Game, Error> {
    let mut game = Game::default();
    let mut remarks = Remarks::default();
    let start = lexer.here();
    let begin = start.offset;
    let mut pairs = Vec::with_capacity(USUAL_TAGS);
    let mut opening = Vec::new();
    let first = loop {
        let next = match lexer.plain_tag() {
            Some((place, pair)) => (place, Token::Tag(pair)),
            None => lexer.next()?,
        };
        ensure_short(lexer, begin, next.0)?;
        match next {
            (place, Token::Tag(pair)) => {
                if pairs.len() == MAX_TAGS {
                    let found = format!("more than {MAX_TAGS} tag pairs");
                    return Err(lexer.error(place, found, "a game with fewer"));
                }
                pairs.push(pair);
            }
            (place, Token::Comment(comment)) => {
                ensure_few(&remarks, opening.len(), lexer, place)?;
                opening.push((place, comment));
            }
            other => break other,
        }
    };
    let has_tags = !pairs.is_empty();
    let follows = leniency.follows.filter(|_| !has_tags);
    let stated = tags::decode(lexer.text(), pairs, &mut game, &mut remarks, leniency)?;
    let mut moves = MoveText {
        line: TreeBuilder::new(&mut game.tree, &game.start.position),
        before: None,
        earlier: None,
        took_in_passing: false,
        is_behind_number: false,
        has_digits: false,
        bare: None,
        is_behind_variation: false,
        stated,
        waiting: Vec::new(),
        held: Vec::new(),
        fronts: Vec::new(),
        postponed: 0,
        nags: Vec::new(),
        outer: Vec::new(),
        numbers: MoveNumbers::new(&game.start),
        remarks: &mut remarks,
        leniency,
        has_tags,
        follows,
    };
    let place = first.0;
    // Comments between and after the tags: what the tags say comes before.
    for (place, comment) in opening {
        moves.comment(comment, lexer, place)?;
    }
    let result = moves.read(lexer, begin, first);
    moves.leniency.counted = moves.numbers.counted;
    let result = result?;
    if let Some(place) = moves.leniency.unclear_bishop() {
        let found = "a move of the b pawn or of a bishop in small letters".to_owned();
        return Err(lexer.error(place, found, "B for a bishop"));
    }
    let unequal = moves.leniency.unequal.take();
    let fronts = moves.fronts;
    let names = std::mem::take(&mut remarks.names);
    let settled = settle((&game.tree, &game.start), names, fronts, &mut remarks);
    game.open.places |= settled.has_stale_names;
    game.open.named = settled.named;
    game.open.placed = settled.placed;
    ensure_few(&remarks, 0, lexer, place)?;
    if let Some(place) = leniency.counted.first_misfit {
        leniency.taken.note(Liberty::Numbers, place);
    }
    tell_liberties(&remarks, start, lexer, leniency)?;
    if !remarks.move_into(&mut game.annotations) {
        leniency.taken.note(Liberty::NagOrder, start);
    }
    game.headers.medals |= tags::medals_of(&game.annotations);
    game.headers.result = result;
    if result != GameResult::Line {
        game.headers.line_evaluation = 0;
    }
    if let Some(unequal) = unequal {
        let kept = ("CbhResult".to_owned(), unequal.to_owned());
        game.foreign_tags.push(kept);
    }
    Ok(game)
}

/// Notes what remarks say otherwise than they were written.
///
/// # Errors
///
/// If a save would show other words of a quoted game than it was given.
fn tell_liberties(
    remarks: &Remarks,
    start: TextPlace,
    lexer: &Lexer<'_>,
    leniency: &mut Leniency,
) -> Result<(), Error> {
    if let Some(place) = remarks.misread {
        leniency.taken.note(Liberty::Misread, place);
    }
    if let Some(place) = remarks.requoted {
        leniency.here = place;
        if !leniency.accept(Liberty::QuotedGame) {
            let found = "the line of a quoted game in other words than it was written with";
            return Err(lexer.error(place, found.to_owned(), "the words as they were"));
        }
    }
    // A save into its game keeps what is stored of an edited question.
    if remarks.exact.has_unused() && leniency.is_import() {
        leniency.taken.note(Liberty::QuestionForm, start);
    }
    if let Some(place) = remarks.parts {
        leniency.taken.note(Liberty::PartsOfSeconds, place);
    }
    Ok(())
}

/// Whether a game may have as many remarks, and as many comments that wait for
/// their move.
fn ensure_few(
    remarks: &Remarks,
    waiting: usize,
    lexer: &Lexer<'_>,
    place: TextPlace,
) -> Result<(), Error> {
    if remarks.are_too_many() || waiting > MAX_ANNOTATIONS {
        let found = format!("more than {MAX_ANNOTATIONS} remarks");
        return Err(lexer.error(place, found, "a game with fewer"));
    }
    Ok(())
}

/// The next token of the game that began at `begin`.
fn next_token<'t>(lexer: &mut Lexer<'t>, begin: usize) -> Result<(TextPlace, Token<'t>), Error> {
    let (place, token) = lexer.next()?;
    ensure_short(lexer, begin, place)?;
    Ok((place, token))
}

/// Whether the game that began at `begin` is not too long, as far as it was read.
fn ensure_short(lexer: &Lexer<'_>, begin: usize, place: TextPlace) -> Result<(), Error> {
    if lexer.offset() - begin > MAX_BYTES {
        let found = "a game of more than 16 MiB".to_owned();
        return Err(lexer.error(place, found, "a shorter text"));
    }
    Ok(())
}

/// The moves of a game as they are read.
#[expect(
    clippy::struct_excessive_bools,
    reason = "what was read last, each asked for in one place"
)]
struct MoveText<'g, 't> {
    line: TreeBuilder<'g>,
    /// The place before the last move of this line, where variations of it
    /// begin; `None` before the line's first move.
    before: Option<Branch>,
    /// The place before the move before that, if this line has it.
    earlier: Option<Branch>,
    /// Whether the last move took a pawn in passing: `e.p.` may follow.
    took_in_passing: bool,
    /// Whether a move number was read last.
    is_behind_number: bool,
    /// Whether a move was written in digits.
    has_digits: bool,
    /// A number without dots that was read since the last move.
    bare: Option<(TextPlace, Option<u32>)>,
    /// Whether a variation of the last move was read behind it.
    is_behind_variation: bool,
    /// The result of the tags.
    stated: Option<GameResult>,
    /// Comments on the next move of this line.
    waiting: Vec<Cow<'t, str>>,
    /// Comments after the last move of this line, if the tags name moves that
    /// the comments in front of them are about.
    held: Vec<PendingComment<'t>>,
    /// Comments that were held, with the moves beside them.
    fronts: Vec<Front<'t>>,
    /// How many comments have waited or were held in any line.
    postponed: usize,
    /// NAGs before the first move of this line.
    nags: Vec<u8>,
    /// The lines that the present variation stands in, outermost first.
    outer: Vec<Outer<'t>>,
    numbers: MoveNumbers,
    remarks: &'g mut Remarks,
    leniency: &'g mut Leniency,
    has_tags: bool,
    /// The game before, if neither tags nor moves tell this one from it.
    follows: Option<Follows>,
}

/// A line that goes on when a variation ends.
struct Outer<'t> {
    line: Branch,
    before: Branch,
    earlier: Option<Branch>,
    waiting: Vec<Cow<'t, str>>,
    held: Vec<PendingComment<'t>>,
    /// Where the variation begins in the text.
    open: TextPlace,
}

impl<'t> MoveText<'_, 't> {
    /// Reads tokens, from `first` on, up to the result.
    fn read(
        &mut self,
        lexer: &mut Lexer<'t>,
        begin: usize,
        first: (TextPlace, Token<'t>),
    ) -> Result<GameResult, Error> {
        let (mut place, mut token) = first;
        loop {
            self.leniency.here = place;
            token = self.move_in_digits(lexer, place, token)?;
            let is_number = matches!(token, Token::Number(_));
            self.bare_number(lexer, place, &token)?;
            match token {
                Token::Word(ref word) if self.is_both_lost(word, lexer) => {
                    return self.agreed(lexer, place, GameResult::BothLost);
                }
                Token::Word(word) => {
                    if let Some(result) = self.word(lexer, place, &word)? {
                        return self.agreed(lexer, place, result);
                    }
                }
                Token::Nag(nag) => self.nag(lexer, place, nag)?,
                // `1) e4`
                Token::Close if self.is_behind_number && self.is_free_of_variations() => {}
                Token::Comment(comment) => {
                    self.comment(comment, lexer, place)?;
                }
                Token::Open => self.open(lexer, place)?,
                Token::Close => self.close(lexer, place)?,
                Token::Result(result) if self.outer.is_empty() => {
                    if self.is_in_front_of_moves(lexer) {
                        self.leniency.notes(Liberty::ResultInFront);
                    }
                    return self.agreed(lexer, place, result);
                }
                Token::Number(written) => self.numbers.read(place, written),
                Token::Result(result) => self.result_in_variation(lexer, place, result)?,
                Token::Tag(ref pair) if self.before.is_some() && !tags::begins_game(pair.name) => {
                    let found = format!("a tag {} amid the moves", quoted(pair.name.as_bytes()));
                    return Err(lexer.error(place, found, MOVE_OR_RESULT));
                }
                Token::Tag(_) | Token::End => {
                    let is_game = self.has_tags || self.before.is_some();
                    let is_whole = is_game && self.outer.is_empty();
                    if !is_whole || !self.leniency.accept(Liberty::NoResult) {
                        return Err(self.unfinished(lexer, place));
                    }
                    lexer.go_to(place);
                    self.end();
                    return Ok(self.stated().unwrap_or(GameResult::Line));
                }
            }
            self.is_behind_number = is_number;
            self.plain_moves(lexer, begin);
            (place, token) = next_token(lexer, begin)?;
        }
    }

    /// The move that a bare number of an import says in the notation of
    /// correspondence chess, as a word; every other token as it is.
    fn move_in_digits(
        &mut self,
        lexer: &Lexer<'_>,
        place: TextPlace,
        token: Token<'t>,
    ) -> Result<Token<'t>, Error> {
        let Token::Number(MoveNumber {
            number: Some(number),
            dots: 0,
        }) = token
        else {
            return Ok(token);
        };
        let Some(word) = in_letters(number).filter(|_| self.leniency.is_import()) else {
            return Ok(token);
        };
        if self.numbers.is_due(number) {
            return Ok(token);
        }
        let notation = Notation::parse(&word);
        let is_legal = notation.is_some_and(|notation| notation.find(self.line.position()).is_ok());
        if is_legal && self.leniency.accept(Liberty::MoveForm) {
            self.has_digits = true;
            return Ok(Token::Word(Cow::Owned(word)));
        }
        // Where a number stands in front of it, or others were moves, it is one.
        if is_legal || self.has_digits || self.is_behind_number {
            let found = format!("\"{number}\" is illegal here");
            return Err(lexer.error(place, found, "a legal move"));
        }
        Ok(token)
    }

    /// Holds a number without dots against the move behind it: a save refuses
    /// one that is not due or has none, since it may be a move in digits.
    fn bare_number(
        &mut self,
        lexer: &Lexer<'_>,
        place: TextPlace,
        token: &Token<'_>,
    ) -> Result<(), Error> {
        let is_kept = matches!(token, Token::Comment(_) | Token::Nag(_));
        if let Some((at, number)) = self.bare.filter(|_| !is_kept) {
            self.bare = None;
            let is_dotted = matches!(
                token,
                Token::Number(MoveNumber {
                    number: None,
                    dots: 1..
                })
            );
            let is_followed = matches!(token, Token::Word(_))
                || *token == Token::Close && self.leniency.is_on() && self.outer.is_empty();
            let is_due = number.is_some_and(|number| self.numbers.is_due(number));
            if self.leniency.is_import() {
                // One that a move follows is held against that.
                if !is_followed && !is_dotted || number.is_none() {
                    self.numbers.count_misfit(at);
                }
            } else if !(is_dotted || is_followed && is_due) {
                let rest = lexer.text().get(at.offset..).unwrap_or_default();
                let len = rest.iter().take_while(|byte| byte.is_ascii_digit());
                let digits = quoted(rest.get(..len.count()).unwrap_or_default());
                let found = if is_followed {
                    format!("{digits} is not the number of the next move")
                } else {
                    format!("{digits} is a number that no move follows")
                };
                return Err(lexer.error(at, found, MOVE_OR_RESULT));
            }
        }
        if let Token::Number(MoveNumber { number, dots: 0 }) = token {
            self.bare = Some((place, *number));
        }
        Ok(())
    }

    /// Whether `0-0` says that both lost: as the last word of a game where
    /// castling is not legal, or whose tags say so.
    fn is_both_lost(&self, word: &[u8], lexer: &Lexer<'_>) -> bool {
        let is_castling = || {
            let notation = Notation::parse(word);
            notation.is_some_and(|notation| notation.find(self.line.position()).is_ok())
        };
        word == b"0-0"
            && self.outer.is_empty()
            && lexer.is_at_game_end()
            && (self.stated == Some(GameResult::BothLost) || !is_castling())
    }

    fn is_free_of_variations(&mut self) -> bool {
        self.outer.is_empty() && self.leniency.accept(Liberty::MoveForm)
    }

    /// Plays a move; gives the result if the word is one in other words.
    fn word(
        &mut self,
        lexer: &Lexer<'_>,
        place: TextPlace,
        word: &[u8],
    ) -> Result<Option<GameResult>, Error> {
        if self.took_in_passing && matches!(word, b"e.p." | b"ep") {
            self.took_in_passing = false;
            return Ok(None);
        }
        let error = |what: &str, expected| {
            let found = format!("{} is {what}", quoted(word));
            lexer.error(place, found, expected)
        };
        if self.before.is_none() && self.numbers.is_of_white_behind_black() {
            self.take_white_side(lexer, place, word)?;
        }
        let position = self.line.position();
        let Some((notation, nag)) = self.leniency.notation(word, position) else {
            let other = self.other_word(lexer, place, word);
            return other.unwrap_or_else(|| {
                let (what, expected) = no_move(word);
                Err(error(what, expected))
            });
        };
        if std::mem::take(&mut self.leniency.is_ambiguous) {
            return Err(error("ambiguous", "the square that the piece comes from"));
        }
        if self.is_written_again(lexer, place, notation)? {
            return nag.map_or(Ok(None), |nag| self.nag(lexer, place, nag).map(|()| None));
        }
        let illegal = || {
            let expected = if notation.lacks_promotion() {
                "the piece that the pawn becomes, as in e8=Q, or a legal move"
            } else {
                "a legal move"
            };
            error("illegal here", expected)
        };
        let found = notation
            .find(self.line.position())
            .map_err(|why| match why {
                NoSuchMove::Illegal => illegal(),
                NoSuchMove::Ambiguous => error("ambiguous", "the square that the piece comes from"),
            })?;
        if self.line.is_full() {
            let found = format!("more than {MAX_PLIES} moves");
            return Err(lexer.error(place, found, "a shorter game"));
        }
        let before = self.line.branch();
        let last = self.line.at();
        let ply = match found {
            Some(m) => self.line.play(m).map_err(|_| illegal())?,
            None => self.line.play_null(),
        };
        self.took_in_passing = matches!(found, Some(Move::EnPassant { .. }));
        self.is_behind_variation = false;
        self.earlier = self.before.replace(before);
        let begins = self.earlier.is_none();
        self.numbers.played(notation, ply);
        self.let_go(last, Some(ply));
        for comment in self.waiting.drain(..) {
            let subject = if is_flagged_before(&comment) {
                Subject::Before(ply)
            } else if begins {
                Subject::Opening(ply)
            } else {
                Subject::Named {
                    after: last,
                    next: ply,
                }
            };
            self.remarks.annotate(&comment, subject);
        }
        for nag in self.nags.drain(..) {
            self.remarks.nag(ply, nag);
        }
        if let Some(nag) = nag {
            self.nag(lexer, place, nag)?;
        }
        Ok(None)
    }

    /// Begins a variation behind Black's move, with White's number, at White's
    /// move before, where it is legal. Some programs number Black's moves so,
    /// too: what is legal for Black alone is Black's.
    #[cold]
    fn take_white_side(
        &mut self,
        lexer: &Lexer<'_>,
        place: TextPlace,
        word: &[u8],
    ) -> Result<(), Error> {
        let is_import = self.leniency.is_import();
        let mut is_legal = |position: &Position| {
            let found = self.leniency.notation(word, position);
            found.is_some_and(|(notation, _)| notation.find(position).is_ok())
        };
        let earlier = self.outer.last().and_then(|outer| outer.earlier.clone());
        let white = earlier.filter(|white| is_legal(white.position()));
        if white.is_none() && is_import && is_legal(self.line.position()) {
            return Ok(());
        }
        let Some(white) = white.filter(|_| self.leniency.accept(Liberty::OtherSide)) else {
            let found = format!(
                "{} with the number of White's move, in a variation behind Black's",
                quoted(word)
            );
            let expected = "a variation behind the move that it is instead of";
            return Err(lexer.error(place, found, expected));
        };
        self.line.resume(white);
        self.numbers.go_back();
        Ok(())
    }

    /// Holds the number in front of a move against it; whether it is one that
    /// was played, written again.
    fn is_written_again(
        &mut self,
        lexer: &Lexer<'_>,
        place: TextPlace,
        notation: Notation,
    ) -> Result<bool, Error> {
        let error = |disproof: Disproof| {
            let Disproof {
                place,
                found,
                expected,
            } = disproof;
            lexer.error(place, found, expected)
        };
        let follows = self.follows.take();
        let first = follows.map(|follows| self.numbers.follow(follows, place));
        first.unwrap_or(Ok(())).map_err(error)?;
        if self.leniency.reads_repeats {
            let position = self.line.position();
            let is_again = self.numbers.is_again(notation, place, position);
            if is_again.map_err(error)? {
                self.leniency.notes(Liberty::MovesTwice);
                return Ok(true);
            }
        }
        let is_apart = |place| lexer.is_behind_empty_line(place);
        self.numbers.check(notation, is_apart).map_err(error)?;
        Ok(false)
    }

    /// The ply that was written last.
    fn at(&self) -> PlyId {
        self.numbers.again().unwrap_or(self.line.at())
    }

    /// Reads a word that is no move. Returns `None` if it is not accepted,
    /// otherwise the result if it is one.
    #[cold]
    fn other_word(
        &mut self,
        lexer: &Lexer<'_>,
        place: TextPlace,
        word: &[u8],
    ) -> Option<Result<Option<GameResult>, Error>> {
        if !self.leniency.is_on() {
            return None;
        }
        if let Some(said) = in_passing(word).filter(|_| self.took_in_passing) {
            self.took_in_passing = said == InPassing::Begin;
            self.leniency.accept(Liberty::MoveForm);
            return Some(Ok(None));
        }
        if is_of_check(word) && self.before.is_some() {
            self.leniency.accept(Liberty::MoveForm);
            return Some(Ok(None));
        }
        if let Some(nag) = word.strip_prefix(b"$") {
            self.leniency.accept(Liberty::OtherNag);
            let remark = format!("${}", String::from_utf8_lossy(nag));
            if let Err(error) = self.comment(Cow::Owned(remark), lexer, place) {
                return Some(Err(error));
            }
            return Some(Ok(None));
        }
        // `12. N` is a move that was cut.
        let is_cut = self.is_behind_number && word.iter().all(u8::is_ascii_alphabetic);
        let nag = nag_of(&with_plain_signs(word)).filter(|_| !is_cut);
        let is_last = self.outer.is_empty() && lexer.is_at_game_end();
        if nag.is_none() || is_last {
            let result = self.result_in_words(word);
            // In variations it says nothing.
            if result.is_some() {
                return Some(Ok(result.filter(|_| self.outer.is_empty())));
            }
        }
        let nag = nag?;
        if !is_last || !matches!(nag, 18..=21) {
            self.leniency.accept(Liberty::Marks);
        }
        Some(self.nag(lexer, place, nag).map(|()| None))
    }

    /// The result of the tags; `+-` there is a forfeit where nothing was played.
    fn stated(&self) -> Option<GameResult> {
        let is_played = self.leniency.has_forfeit_in_words && self.before.is_some();
        self.stated.and_then(|stated| {
            if is_played {
                lexer::result(stated.pgn().as_bytes())
            } else {
                Some(stated)
            }
        })
    }

    /// The result that a word says. `+-` is a forfeit where nothing was played;
    /// behind moves it is the result that the tags have, or else judges them.
    fn result_in_words(&mut self, word: &[u8]) -> Option<GameResult> {
        let result = self.leniency.result(word)?;
        if self.before.is_none() || result.beyond_pgn().is_none() {
            return Some(result);
        }
        let plain = lexer::result(result.pgn().as_bytes());
        let stated = self.stated();
        let is_stated = stated.is_some_and(|stated| stated.pgn() == result.pgn());
        if is_stated {
            return stated;
        }
        if nag_of(&with_plain_signs(word)).is_none() {
            return plain;
        }
        self.leniency.forgets(Liberty::ResultSpelling);
        self.leniency.accept(Liberty::Judgement);
        None
    }

    fn nag(&mut self, lexer: &Lexer<'_>, place: TextPlace, nag: u8) -> Result<(), Error> {
        if self.before.is_none() {
            if !self.leniency.accept(Liberty::NagBefore) {
                let found = format!("a NAG (${nag}) before any move");
                return Err(lexer.error(place, found, "a move"));
            }
            self.nags.push(nag);
            self.postponed += 1;
            return ensure_few(self.remarks, self.postponed, lexer, place);
        }
        if nag == 0 || self.remarks.has_nag(self.at(), nag) {
            self.leniency.notes(Liberty::NagTwice);
        }
        self.remarks.nag(self.at(), nag);
        ensure_few(self.remarks, self.postponed, lexer, place)
    }

    fn comment(
        &mut self,
        comment: Cow<'t, str>,
        lexer: &Lexer<'_>,
        place: TextPlace,
    ) -> Result<(), Error> {
        let (comment, damage) = without_damage(long_words::joined(comment));
        if let Some(command) = damage
            && !self.leniency.accept(Liberty::Damage)
        {
            let found = format!(
                "{} marks a game that was exported damaged",
                quoted(command.as_bytes())
            );
            return Err(lexer.error(
                place,
                found,
                "the intact game, or its text without [%cbdefect …] and [%cbpos …]",
            ));
        }
        self.remarks.here = place;
        if comment.contains(['{', '}']) {
            self.leniency.taken.note(Liberty::Braces, place);
            if comment.matches('{').count() > comment.matches('}').count() {
                self.numbers.note_open_brace(place);
            }
        }
        for comment in unglued(comment) {
            self.one_comment(comment);
        }
        ensure_few(self.remarks, self.postponed, lexer, place)
    }

    fn one_comment(&mut self, comment: Cow<'t, str>) {
        let follows = self.before.is_some() || self.outer.is_empty();
        let is_behind_variation = self.is_behind_variation;
        if follows && !self.remarks.names.is_empty() {
            self.held.push(PendingComment {
                comment,
                is_behind_variation,
            });
            self.postponed += 1;
        } else if is_flagged_before(&comment) || !follows || is_behind_variation {
            self.waiting.push(comment);
            self.postponed += 1;
        } else if self.before.is_some() {
            self.remarks.annotate(&comment, Subject::After(self.at()));
        } else {
            self.remarks.annotate(&comment, Subject::Game);
        }
    }

    /// Leaves the comments that are held between two moves to be settled;
    /// those at the end of a line are about its last move.
    fn let_go(&mut self, after: PlyId, next: Option<PlyId>) {
        let comments = std::mem::take(&mut self.held);
        if let Some(next) = next.filter(|_| !comments.is_empty()) {
            self.fronts.push(Front {
                after,
                next,
                comments,
            });
            return;
        }
        for held in comments {
            self.remarks.annotate(&held.comment, Subject::After(after));
        }
    }

    fn open(&mut self, lexer: &Lexer<'_>, place: TextPlace) -> Result<(), Error> {
        let Some(before) = self.before.take() else {
            let found = "a variation before any move".to_owned();
            return Err(lexer.error(place, found, "a move"));
        };
        if self.outer.len() == MAX_DEPTH {
            let found = format!("a variation nested deeper than {MAX_DEPTH}");
            return Err(lexer.error(place, found, "a move or the end of a variation"));
        }
        if !self.numbers.is_at_end() {
            let found = "a variation amid moves that are written again".to_owned();
            return Err(lexer.error(place, found, "the rest of these moves"));
        }
        self.numbers.open();
        self.outer.push(Outer {
            line: self.line.branch(),
            before: before.clone(),
            earlier: self.earlier.take(),
            waiting: std::mem::take(&mut self.waiting),
            held: std::mem::take(&mut self.held),
            open: place,
        });
        self.line.resume(before);
        self.took_in_passing = false;
        self.is_behind_variation = false;
        Ok(())
    }

    fn close(&mut self, lexer: &Lexer<'_>, place: TextPlace) -> Result<(), Error> {
        let Some(outer) = self.outer.pop() else {
            let found = "a \")\" that closes nothing".to_owned();
            return Err(lexer.error(place, found, MOVE_OR_RESULT));
        };
        let last = self.before.is_some().then(|| self.line.at());
        if last.is_none() {
            self.leniency.taken.note(Liberty::NoMoves, outer.open);
        }
        self.let_go(self.line.at(), None);
        self.held = outer.held;
        let left = std::mem::replace(&mut self.waiting, outer.waiting);
        let nags = std::mem::take(&mut self.nags);
        self.numbers.close();
        self.line.resume(outer.line);
        self.before = Some(outer.before);
        // `e4 (!)`
        for nag in nags {
            if !self.remarks.has_nag(self.line.at(), nag) {
                self.remarks.nag(self.line.at(), nag);
            }
        }
        self.earlier = outer.earlier;
        self.took_in_passing = false;
        self.is_behind_variation = true;
        // A variation without moves may hold a comment: on what it follows.
        let subject = Subject::After(last.unwrap_or(self.line.at()));
        for comment in left {
            self.remarks.annotate(&comment, subject);
        }
        Ok(())
    }

    /// Ends the game with the result that its moves end with, in the words of
    /// the tags where these say more.
    fn agreed(
        &mut self,
        lexer: &mut Lexer<'t>,
        place: TextPlace,
        ending: GameResult,
    ) -> Result<GameResult, Error> {
        let mut ending = ending;
        if self.leniency.is_on() {
            ending = self.behind(lexer, ending)?;
            self.leniency.here = place;
        }
        self.end();
        let stated = self.stated().unwrap_or(ending);
        let says_more = ending.beyond_pgn().is_some();
        if stated.pgn() == ending.pgn() {
            return Ok(if says_more { ending } else { stated });
        }
        if stated == GameResult::Line && self.leniency.accept(Liberty::OpenResultTag) {
            return Ok(ending);
        }
        let is_open = ending == GameResult::Line && self.leniency.unequal.is_none();
        if is_open && self.leniency.accept(Liberty::OpenEnd) {
            return Ok(stated);
        }
        let (ending, stated) = (ending.pgn(), stated.pgn());
        let found = format!("the result {ending}, where the tag says {stated}");
        Err(lexer.error(place, found, "the same result in both"))
    }

    /// Whether moves without tags follow the result that ends a game of tags alone. They
    /// are a game of their own, as PGN has it, but may be meant as those of this one.
    fn is_in_front_of_moves(&self, lexer: &Lexer<'t>) -> bool {
        if !self.has_tags || self.before.is_some() {
            return false;
        }
        match lexer.clone().next() {
            Ok((_, Token::Number(_))) => true,
            Ok((_, Token::Word(word))) => Notation::parse(&word).is_some(),
            _ => false,
        }
    }

    /// Leaves out the result with which some programs end variations.
    fn result_in_variation(
        &mut self,
        lexer: &Lexer<'t>,
        place: TextPlace,
        result: GameResult,
    ) -> Result<(), Error> {
        if result == GameResult::Line {
            return Ok(());
        }
        self.leniency.notes(Liberty::ResultInVariation);
        let is_last = matches!(lexer.clone().next(), Ok((_, Token::Close)));
        if is_last || self.leniency.is_on() {
            return Ok(());
        }
        let found = format!("the result {} amid a variation", result.pgn());
        Err(lexer.error(place, found, "a move or )"))
    }

    /// Takes a second result, and gives what both say.
    fn result_again(
        &mut self,
        lexer: &mut Lexer<'t>,
        first: GameResult,
    ) -> Result<Option<GameResult>, Error> {
        let mut ahead = lexer.clone();
        let (place, second) = match ahead.next() {
            Ok((place, Token::Result(second))) => (place, second),
            // No game begins with castling.
            Ok((place, Token::Word(word))) if *word == *b"0-0" && ahead.is_at_game_end() => {
                (place, GameResult::BothLost)
            }
            _ => return Ok(None),
        };
        let line = lexer.text().get(place.offset..).unwrap_or_default();
        if place.line > lexer.here().line && are_words(line) {
            return Ok(None);
        }
        let adds_nothing = first.pgn() == second.pgn() && second != GameResult::BothLost;
        let is_same = adds_nothing || second == GameResult::Line || first == second;
        if !is_same && first != GameResult::Line {
            let [first, second] =
                [first, second].map(|result| result.beyond_pgn().unwrap_or(result.pgn()));
            let found = format!("the result {second} behind {first}");
            return Err(lexer.error(place, found, "one result, and the next game"));
        }
        *lexer = ahead;
        self.leniency.here = place;
        self.leniency.accept(Liberty::ResultTwice);
        Ok(Some(if is_same { first } else { second }))
    }

    /// Takes to the last move what follows the result on its line; gives what
    /// all results there say.
    fn behind(
        &mut self,
        lexer: &mut Lexer<'t>,
        mut ending: GameResult,
    ) -> Result<GameResult, Error> {
        loop {
            self.comments_behind(lexer)?;
            if let Some(again) = self.result_again(lexer, ending)? {
                ending = again;
            } else if !self.words_behind(lexer)? {
                return Ok(ending);
            }
        }
    }

    /// Takes the comments that follow on the line, or that end the text.
    fn comments_behind(&mut self, lexer: &mut Lexer<'t>) -> Result<(), Error> {
        // Marks of HTML on another line are of the page.
        let line = lexer.here().line;
        let text = lexer.text();
        let is_mark = |place: TextPlace| place.line > line && text.get(place.offset) == Some(&b'<');
        let mut ahead = lexer.clone();
        let is_last = loop {
            match ahead.next() {
                Ok((place, Token::Comment(_))) if is_mark(place) => break true,
                Ok((_, Token::Comment(_))) => {}
                Ok((_, Token::End)) => break true,
                _ => break false,
            }
        };
        loop {
            let mut ahead = lexer.clone();
            match ahead.next() {
                Ok((place, Token::Comment(comment)))
                    if (is_last && !is_mark(place)) || place.line == lexer.here().line =>
                {
                    *lexer = ahead;
                    self.leniency.here = place;
                    self.leniency.accept(Liberty::CommentBehind);
                    self.comment(comment, lexer, place)?;
                }
                // What is wrong there is told of the next game.
                _ => return Ok(()),
            }
        }
    }

    /// Takes words that follow on the line, or a NAG; whether there are any.
    fn words_behind(&mut self, lexer: &mut Lexer<'t>) -> Result<bool, Error> {
        let mut ahead = lexer.clone();
        if let Ok((place, Token::Nag(nag))) = ahead.next()
            && place.line == lexer.here().line
        {
            *lexer = ahead;
            self.leniency.here = place;
            self.leniency.accept(Liberty::WordsBehind);
            self.nag(lexer, place, nag)?;
            return Ok(true);
        }
        let Some((place, words)) = lexer.words_behind() else {
            return Ok(false);
        };
        self.leniency.here = place;
        if words.contains(char::is_alphanumeric) {
            self.leniency.accept(Liberty::WordsBehind);
            self.comment(words, lexer, place)?;
        } else {
            self.leniency.accept(Liberty::SignsBehind);
        }
        Ok(true)
    }

    /// Ends the main line: comments on a next move follow the last one.
    fn end(&mut self) {
        self.let_go(self.line.at(), None);
        let subject = match self.before {
            Some(_) => Subject::After(self.line.at()),
            None => Subject::Game,
        };
        let left = self.nags.drain(..).map(spelled);
        for comment in self.waiting.drain(..).chain(left) {
            self.remarks.annotate(&comment, subject);
        }
    }

    #[cold]
    fn unfinished(&self, lexer: &Lexer<'_>, place: TextPlace) -> Error {
        if let Some(outer) = self.outer.last() {
            let found = "a variation without end".to_owned();
            return lexer.error(outer.open, found, "\")\" somewhere after it");
        }
        let found = "the end of a game without its result".to_owned();
        lexer.error(place, found, "1-0, 0-1, 1/2-1/2 or *")
    }
}

/// A NAG without a move, as a remark.
fn spelled<'t>(nag: u8) -> Cow<'t, str> {
    Cow::Owned(format!("${nag}"))
}

/// Returns the kind of a word that is no move, and the expected text.
fn no_move(word: &[u8]) -> (&'static str, &'static str) {
    if is_descriptive(word) {
        (
            "a move in descriptive notation",
            "algebraic notation, as in e4 or Nf3",
        )
    } else if is_position(word) {
        (
            "a position, as in an EPD file",
            "a game; a position stands in its tag FEN",
        )
    } else if is_drop(word) {
        ("a drop, as in Crazyhouse", "a move of chess")
    } else {
        ("not a move", MOVE_OR_RESULT)
    }
}

#[cfg(test)]
mod tests;
