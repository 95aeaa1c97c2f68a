//! The games of texts into a base, and what is told of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Cursor, Read as _, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::UnpackedText;
use super::known::{GameMark, Known};
use super::page::Sample;
use super::page::TextPages;
use crate::cbh::moves::EncodeError;
use crate::cbh::{Appended, ChangeError, Imported, Importer, PreparedGame, SaveError, Unfit};
use crate::escape::Escaped;
use crate::game::Game;
use crate::openings;
use crate::pgn::{
    self, BAD_GAME, EightBitPage, Extent, GamePart, Liberty, Prepared, Section, Skipped,
    VariantName, article_of,
};

/// A game that is not imported, and why. Its text is that of the section from
/// the game's begin on.
#[derive(Debug)]
pub struct BadGame {
    /// Its number in the text, from 1; 0 if it is not known.
    pub number: usize,
    /// Who plays, if the text says so.
    pub players: Option<String>,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What was found, and what was expected.
    pub why: String,
}

impl fmt::Display for BadGame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.number == 0 {
            return f.write_str(&self.why);
        }
        write!(f, "game {}", self.number)?;
        if let Some(players) = &self.players {
            write!(f, " ({players})")?;
        }
        write!(f, ": {}", self.why)
    }
}

/// Text of a bad game.
#[derive(Clone, Copy, Debug)]
pub struct BadText<'t> {
    /// The bytes.
    pub bytes: &'t [u8],
    /// Whether more follows.
    pub has_more: bool,
}

/// Why an import ends early.
#[derive(Debug)]
pub enum ImportStop {
    /// A game is none, or cannot be stored.
    Bad(BadGame),
    /// A file cannot be read; [`io::ErrorKind::InvalidData`] if what is in it
    /// is at fault.
    Medium(io::Error),
    /// The base cannot be changed.
    Base(ChangeError),
    /// It was to end.
    Interrupted,
}

impl From<SaveError> for ImportStop {
    fn from(error: SaveError) -> ImportStop {
        ImportStop::Base(error.into())
    }
}

impl From<io::Error> for ImportStop {
    fn from(error: io::Error) -> ImportStop {
        ImportStop::Medium(error)
    }
}

/// Observer of an import.
pub trait Watch {
    /// Takes note of a game that was appended.
    fn appended(&mut self, appended: &Appended);

    /// Takes a bad game with its text, the import goes on without it; or
    /// gives it back, and the import ends. Of a game that is too long
    /// [`more_of_bad`](Watch::more_of_bad) gives what follows.
    ///
    /// # Errors
    ///
    /// [`ImportStop`].
    fn bad(&mut self, bad: BadGame, text: BadText<'_>) -> Result<(), ImportStop>;

    /// Takes more of the text of the last bad game.
    ///
    /// # Errors
    ///
    /// [`ImportStop`].
    fn more_of_bad(&mut self, text: BadText<'_>) -> Result<(), ImportStop>;
}

/// A liberty taken in reading a text, with the place of its first use.
#[derive(Debug)]
pub struct Understood {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What, and in how many games.
    pub what: String,
}

/// A count of games, with the place of the first one.
#[derive(Debug, Default)]
struct CountedGames {
    games: usize,
    line: usize,
    column: usize,
    /// What stands there.
    shown: Option<String>,
    /// The last thing that was counted.
    last: (usize, usize),
}

impl CountedGames {
    fn add(&mut self, line: usize, column: usize) {
        if self.games == 0 {
            (self.line, self.column) = (line, column);
        }
        let is_new = self.games == 0 || self.last != (line, column);
        self.games += usize::from(is_new);
        self.last = (line, column);
    }

    /// Counts a game, which may have two of a kind, as the names of its players.
    /// `place` is asked where the first is.
    fn add_game(&mut self, game: &Extent, place: impl FnOnce() -> Option<(usize, usize)>) {
        let is_first = self.games == 0;
        self.add(game.line, game.bytes.start);
        if is_first {
            (self.line, self.column) = place().unwrap_or((game.line, 1));
        }
    }

    fn told(&self, what: impl fmt::Display) -> Understood {
        let games = match self.games {
            1 => "1 game".to_owned(),
            games => format!("{games} games"),
        };
        Understood {
            line: self.line,
            column: self.column,
            what: match &self.shown {
                Some(shown) => format!("{what} ({games}); first {shown}"),
                None => format!("{what} ({games})"),
            },
        }
    }
}

/// How games are imported.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions {
    /// Whether tags are left out that the base has no place for.
    pub drops_foreign_tags: bool,
    /// Whether games without an opening code get that of their moves.
    pub sets_eco: bool,
    /// The page of texts that are no UTF-8; otherwise they tell it.
    pub page: Option<EightBitPage>,
}

/// Appends the games of any number of texts to a base: all, or those that are
/// not bad, or not known.
#[derive(Debug)]
pub struct Session<'a> {
    importer: Importer<'a>,
    wishes: ImportOptions,
    is_interrupted: &'a AtomicBool,
    /// The games that are not to be appended.
    known: Option<Known<'a>>,
    left_out: usize,
    eco_set: usize,
}

/// A game on its way into the base.
struct Passing {
    game: PreparedGame,
    /// Only if it may be known.
    mark: Option<GameMark>,
    is_eco_set: bool,
}

type PreparedResult = Result<Passing, SaveError>;

impl<'a> Session<'a> {
    /// Begins to append; ends with [`ImportStop::Interrupted`] before the next game
    /// when `is_interrupted` is set.
    pub fn new(
        importer: Importer<'a>,
        wishes: ImportOptions,
        is_interrupted: &'a AtomicBool,
    ) -> Session<'a> {
        Session {
            importer,
            wishes,
            is_interrupted,
            known: None,
            left_out: 0,
            eco_set: 0,
        }
    }

    /// The same that leaves out known games.
    #[must_use]
    pub fn without(self, known: Known<'a>) -> Session<'a> {
        Session {
            known: Some(known),
            ..self
        }
    }

    /// How many games were left out because they are known.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// How many of the games that were appended got an opening code.
    pub fn eco_set(&self) -> usize {
        self.eco_set
    }

    /// Appends the games of one text; gives what of it was understood in
    /// another way than it is written.
    ///
    /// # Errors
    ///
    /// [`ImportStop`]; then nothing may be committed.
    pub fn read(
        &mut self,
        text: UnpackedText<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Vec<Understood>, ImportStop> {
        let (wishes, is_interrupted) = (self.wishes, self.is_interrupted);
        let marks = self.known.is_some();
        let mut reading = TextReading {
            session: self,
            watch,
            games: 0,
            liberties: BTreeMap::new(),
            pages: BTreeMap::new(),
            kept: BTreeMap::new(),
            cut: BTreeMap::new(),
            skipped: Vec::new(),
            more_skipped: 0,
        };
        let was_utf16 = text.was_utf16;
        let (head, rest) = text.split();
        let mut pages = TextPages::new(wishes.page, &head);
        let page_of = |text: &[u8]| pages.page_of(text);
        let prepare = |game: Game| prepared(game, wishes, marks);
        let take = |section: &mut _| reading.take(section);
        let read = match rest {
            None if head.len() <= pgn::BATCH_BYTES => {
                pgn::for_each_game_of_short(&head, page_of, prepare, is_interrupted, take)
            }
            rest => {
                let source = Cursor::new(head).chain(rest.unwrap_or_else(|| Box::new(io::empty())));
                pgn::for_each_game_in_order(source, page_of, prepare, is_interrupted, take)
            }
        };
        match read {
            Err(ImportStop::Medium(_)) if is_interrupted.load(Relaxed) => {
                return Err(ImportStop::Interrupted);
            }
            read => read?,
        }
        reading.ensure_games()?;
        Ok(reading.understood(was_utf16))
    }

    /// Makes all of it part of the base.
    ///
    /// # Errors
    ///
    /// [`ChangeError`]: then none is.
    pub fn commit(self) -> Result<Imported, ChangeError> {
        self.importer.commit()
    }
}

impl Session<'_> {
    /// Appends one game, unless it is known.
    fn append(&mut self, passing: &Passing) -> Result<Option<Appended>, ImportStop> {
        let Passing {
            game,
            mark,
            is_eco_set,
        } = passing;
        if let (Some(known), Some(mark)) = (&mut self.known, *mark)
            && known.has(mark)?
        {
            self.left_out += 1;
            return Ok(None);
        }
        let appended = self.importer.append(game).map_err(ImportStop::Base)?;
        self.eco_set += usize::from(*is_eco_set);
        Ok(Some(appended))
    }
}

fn prepared(mut game: Game, wishes: ImportOptions, marks: bool) -> PreparedResult {
    if wishes.drops_foreign_tags {
        game.foreign_tags.clear();
    }
    let is_eco_set = wishes.sets_eco && sets_eco(&mut game);
    let game = PreparedGame::new(game)?;
    let mark = marks.then(|| GameMark::of(game.game()));
    Ok(Passing {
        game,
        mark,
        is_eco_set,
    })
}

/// Gives a game the opening code of its moves if it says none; whether it did.
fn sets_eco(game: &mut Game) -> bool {
    let says_one =
        game.headers.eco.is_some() || game.foreign_tags.iter().any(|(name, _)| name == "ECO");
    let opening = if says_one || game.start.is_chess960 {
        None
    } else {
        openings::of_game(game)
    };
    game.headers.eco = opening.map(|opening| opening.eco).or(game.headers.eco);
    opening.is_some()
}

/// One text as it is read.
struct TextReading<'s, 'a> {
    session: &'s mut Session<'a>,
    watch: &'s mut dyn Watch,
    games: usize,
    liberties: BTreeMap<Liberty, CountedGames>,
    /// Games that are no UTF-8, by the page that they are read in, with some words
    /// of the first.
    pages: BTreeMap<String, (CountedGames, Option<Sample>)>,
    /// Games with facts of their tournament or source that differ from those
    /// of the base.
    kept: BTreeMap<&'static str, (CountedGames, Unfit)>,
    /// Games with names that are not stored as they are, with the first of a kind.
    cut: BTreeMap<&'static str, (CountedGames, Unfit)>,
    /// The first places with text that is no game, and how many there are more.
    skipped: Vec<Skipped>,
    more_skipped: usize,
}

/// So many places are told at which text is no game.
const MOST_SKIPPED: usize = 10;

impl TextReading<'_, '_> {
    /// Appends the games of a section.
    fn take(&mut self, prepared: &mut Prepared<PreparedResult>) -> Result<(), ImportStop> {
        let section = &prepared.section;
        if let Some((line, column)) = prepared.not_utf8
            && let Some(in_page) = section.page
            && !section.is_of_another_page(&section.text)
        {
            let kind = self.pages.entry(in_page.page.to_string());
            let sample = || Sample::of(&section.text, in_page);
            let (counted, _) = kind.or_insert_with(|| (CountedGames::default(), sample()));
            counted.add(line, column);
        }
        for (spot, liberty) in std::mem::take(&mut prepared.liberties) {
            let counted = self.liberties.entry(self.kind(liberty)).or_default();
            if counted.games == 0 {
                counted.shown = section.shown_at(spot);
            }
            counted.add(spot.line, spot.column);
        }
        let room = MOST_SKIPPED - self.skipped.len();
        self.more_skipped += prepared.skipped.len().saturating_sub(room);
        let first = prepared.skipped.drain(..).take(room);
        self.skipped.extend(first);
        for (extent, game) in &prepared.games {
            if self.session.is_interrupted.load(Relaxed) {
                return Err(ImportStop::Interrupted);
            }
            self.games += 1;
            let bad = match game {
                Err(error) => self.no_game(section, extent, error),
                Ok(Err(error)) => self.unstorable(section, extent, error),
                Ok(Ok(passing)) => match self.session.append(passing) {
                    Err(ImportStop::Base(ChangeError::Save(error))) if error.is_of_game() => {
                        self.unstorable(section, extent, &error)
                    }
                    appended => {
                        if let Some(appended) = appended? {
                            self.note(section, extent, &appended);
                        }
                        continue;
                    }
                },
            };
            self.bad(section, bad, section.text_of(extent))?;
        }
        if matches!(section.part, GamePart::Whole | GamePart::Begin) {
            return Ok(());
        }
        let has_more = section.part == GamePart::Middle;
        let bytes = &section.text;
        self.watch.more_of_bad(BadText { bytes, has_more })
    }

    /// A text of words alone is not what was to be imported.
    fn ensure_games(&mut self) -> Result<(), ImportStop> {
        let first = self.skipped.first().filter(|_| self.games == 0);
        let Some(Skipped {
            lines,
            words,
            are_positions,
        }) = first
        else {
            return Ok(());
        };
        let bad = BadGame {
            number: 0,
            players: None,
            line: *lines.start(),
            column: 1,
            why: if *are_positions {
                format!("{words} is a position, as in an EPD file; expected a game")
            } else {
                format!("{words} is no game, nor is what follows; expected a game")
            },
        };
        let (bytes, has_more) = (&b""[..], false);
        self.watch.bad(bad, BadText { bytes, has_more })
    }

    /// Returns the kind under which a liberty is reported. The number of kinds
    /// is limited, because a hostile text can name any number of variants.
    fn kind(&self, liberty: Liberty) -> Liberty {
        const MOST_KINDS: usize = 100;
        let is_known = self.liberties.contains_key(&liberty);
        match liberty {
            Liberty::OtherVariant(_) if !is_known && self.liberties.len() > MOST_KINDS => {
                Liberty::OtherVariant(VariantName::ANY)
            }
            liberty => liberty,
        }
    }

    fn no_game(&self, section: &Section, extent: &Extent, error: &pgn::Error) -> BadGame {
        BadGame {
            number: self.games,
            players: section.players_of(extent),
            line: error.line,
            column: error.column,
            why: format!("{}; expected {}", error.found, error.expected),
        }
    }

    /// Passes on a bad game as UTF-8. Its code page is detected from the whole
    /// text, not from the bad part. A game that is too long, or whose code page
    /// is unknown, keeps its bytes.
    fn bad(&mut self, section: &Section, bad: BadGame, bytes: &[u8]) -> Result<(), ImportStop> {
        if section.part != GamePart::Whole {
            let has_more = true;
            return self.watch.bad(bad, BadText { bytes, has_more });
        }
        if section.is_of_another_page(bytes) {
            let has_more = false;
            return self.watch.bad(bad, BadText { bytes, has_more });
        }
        let mut text = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if std::str::from_utf8(line).is_ok() {
                text.extend_from_slice(line);
            } else {
                let page = section.page.map_or(EightBitPage::WESTERN, |page| page.page);
                text.extend_from_slice(page.decode(line).as_bytes());
            }
        }
        let (bytes, has_more) = (&text[..], false);
        self.watch.bad(bad, BadText { bytes, has_more })
    }

    /// Takes note of what of an appended game is not stored as it is written.
    fn note(&mut self, section: &Section, game: &Extent, appended: &Appended) {
        for kept in &appended.kept {
            let (counted, _) = (self.kept.entry(kept.field))
                .or_insert_with(|| (CountedGames::default(), kept.clone()));
            counted.add_game(game, || section.place_of_tag(game, kept.field));
        }
        for unfit in &appended.unfit {
            let (counted, _) = (self.cut.entry(unfit.field))
                .or_insert_with(|| (CountedGames::default(), unfit.clone()));
            let place = || section.place_of_name(game, unfit.field, &unfit.whole);
            counted.add_game(game, place);
        }
        self.watch.appended(appended);
    }

    fn unstorable(&self, section: &Section, game: &Extent, error: &SaveError) -> BadGame {
        let place = match error {
            SaveError::DoesNotFit { field, .. } | SaveError::NoPlace { field, .. } => {
                section.place_of_tag(game, field)
            }
            SaveError::Name(unfit) => section.place_of_tag(game, unfit.field),
            SaveError::Moves(EncodeError::RemarkTooLong(_) | EncodeError::RemarksTooLong(_)) => {
                section.place_of_longest(game)
            }
            _ => section.place_of_tag(game, "FEN"),
        };
        let (line, column) = place.unwrap_or((game.line, 1));
        let variant = section.variant_of(game);
        let variant = variant.map(|name| format!("; {name} as Variant, which is not chess"));
        BadGame {
            number: self.games,
            players: section.players_of(game),
            line,
            column,
            why: format!(
                "this game cannot be stored: {error}{}",
                variant.unwrap_or_default()
            ),
        }
    }

    fn understood(self, was_utf16: bool) -> Vec<Understood> {
        let utf16 = was_utf16.then(|| of_whole_text("read as UTF-16".to_owned()));
        let pages = self.pages.iter();
        let pages = pages.map(|(page, (counted, sample))| match sample {
            Some(sample) => counted.told(format_args!(
                "not UTF-8; read as {page}, such as {sample}; `cbfs import --pgn-codepage` names another page"
            )),
            None => counted.told(format_args!("not UTF-8; read as {page}")),
        });
        let kept = self.kept.values();
        let kept = kept.map(|(counted, first)| counted.told(not_stored(first)));
        let liberties = self.liberties.iter();
        let drops_tags = self.session.wishes.drops_foreign_tags;
        let liberties = liberties.map(|(liberty, counted)| {
            if drops_tags {
                counted.told(format_args!("{liberty:#}"))
            } else {
                counted.told(liberty)
            }
        });
        let cut = self.cut.values();
        let cut = cut.map(|(counted, first)| counted.told(not_stored_whole(first)));
        let told = utf16.into_iter().chain(pages);
        let told = told.chain(told_skipped(&self.skipped, self.more_skipped));
        told.chain(liberties).chain(kept).chain(cut).collect()
    }
}

/// Returns one line for each of the first places with text that is no game, and
/// one line for all others.
fn told_skipped(first: &[Skipped], more: usize) -> Vec<Understood> {
    let understood = |line, what| Understood {
        line,
        column: 1,
        what,
    };
    let each = first.iter().map(|Skipped { lines, words, .. }| {
        let (first, last) = (lines.start(), lines.end());
        let what = if first == last {
            format!("line {first} is no game: skipped; {words}")
        } else {
            format!("lines {first}\u{2013}{last} are no game: skipped; first {words}")
        };
        understood(*first, what)
    });
    let others = first.last().filter(|_| more > 0).map(|last| {
        let places = if more == 1 { "place" } else { "places" };
        let what =
            format!("{more} more {places} behind this one with text that is no game: skipped");
        understood(*last.lines.start(), what)
    });
    each.chain(others).collect()
}

/// Returns one line for each kind of names that are stored differently.
pub fn cut_names(names: &[Unfit]) -> Vec<String> {
    let mut kinds: BTreeMap<&'static str, (usize, &Unfit)> = BTreeMap::new();
    for unfit in names {
        kinds.entry(unfit.field).or_insert((0, unfit)).0 += 1;
    }
    let names = |count: usize| if count == 1 { "name" } else { "names" };
    let kinds = kinds.into_values();
    let line = |(count, first)| format!("{} ({count} {})", not_stored_whole(first), names(count));
    kinds.map(line).collect()
}

/// Returns the line for details that the tournament or source in the base has
/// otherwise; `first` is the first of them.
fn not_stored(first: &Unfit) -> String {
    let of = if first.field.starts_with("Event") {
        "tournament"
    } else {
        "source"
    };
    let sample = match (first.whole.as_str(), first.stored.as_str()) {
        ("", stored) => format!("{stored:?}"),
        (whole, "") => format!("none instead of {:?}", cut(whole)),
        (whole, stored) => format!("{stored:?} instead of {:?}", cut(whole)),
    };
    format!(
        "{} differs from that of the same {of} in the base, which stays, such as {sample}",
        first.field
    )
}

/// Returns the line for names of one kind; `first` is the first of them.
fn not_stored_whole(first: &Unfit) -> String {
    let Unfit {
        field,
        stored,
        whole,
    } = first;
    let (article, whole) = (article_of(field), cut(whole));
    format!(
        "{article} {field} that its field cannot hold whole; stored as what it holds, with the whole in a tag, \
         such as {whole:?} as {stored:?}"
    )
}

/// The begin of a text that is too long for a line.
fn cut(text: &str) -> Cow<'_, str> {
    const MOST: usize = 120;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}\u{2026}", text.get(..at).unwrap_or_default()).into(),
        None => text.into(),
    }
}

fn of_whole_text(what: String) -> Understood {
    Understood {
        line: 1,
        column: 1,
        what,
    }
}

impl BadText<'_> {
    /// Writes a bad game, so that the text can be mended and imported: a line
    /// that is no part of PGN says from which place it comes and what is
    /// wrong.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write(self, out: &mut dyn Write, place: &str, bad: &BadGame) -> io::Result<()> {
        writeln!(out, "{BAD_GAME}{}: {}", Escaped(place), Escaped(bad))?;
        let bytes = self.bytes.trim_ascii_start();
        BadText { bytes, ..self }.write_more(out)
    }

    /// Writes more of a bad game.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_more(self, out: &mut dyn Write) -> io::Result<()> {
        if self.has_more {
            return out.write_all(self.bytes);
        }
        out.write_all(self.bytes.trim_ascii_end())?;
        out.write_all(b"\n\n")
    }
}
