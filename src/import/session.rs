//! The games of texts into a base, and what is told of them.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use super::Text;
use crate::cbh::{Appended, ChangeError, Imported, Importer, PreparedGame, SaveError};
use crate::escape::Escaped;
use crate::game::Game;
use crate::pgn::{self, BAD_GAME, Liberty, Part, Prepared, Section};

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
pub enum Stop {
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

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Medium(error)
    }
}

/// Who imports, and is told of it.
pub trait Watch {
    /// Whether to end.
    fn is_over(&self) -> bool {
        false
    }

    /// Takes note of a game that was appended.
    fn appended(&mut self, appended: &Appended);

    /// Takes a bad game with its text, the import goes on without it; or
    /// gives it back, and the import ends. Of a game that is too long
    /// [`more_of_bad`](Watch::more_of_bad) gives what follows.
    ///
    /// # Errors
    ///
    /// [`Stop`].
    fn bad(&mut self, bad: BadGame, text: BadText<'_>) -> Result<(), Stop>;

    /// Takes more of the text of the last bad game.
    ///
    /// # Errors
    ///
    /// [`Stop`].
    fn more_of_bad(&mut self, text: BadText<'_>) -> Result<(), Stop>;
}

/// What of a text was understood in another way than it is written: the
/// place where that is so first, and a line that says it.
#[derive(Debug)]
pub struct Understood {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What, and in how many games.
    pub what: String,
}

/// Counts games, with the first place.
#[derive(Debug, Default)]
struct Counted {
    games: usize,
    line: usize,
    column: usize,
}

impl Counted {
    fn add(&mut self, line: usize, column: usize) {
        if self.games == 0 {
            (self.line, self.column) = (line, column);
        }
        self.games += 1;
    }

    fn told(&self, what: impl fmt::Display) -> Understood {
        let games = match self.games {
            1 => "1 game".to_owned(),
            games => format!("{games} games"),
        };
        Understood {
            line: self.line,
            column: self.column,
            what: format!("{what} ({games})"),
        }
    }
}

/// Appends the games of any number of texts to a base: all, or those that are
/// not bad.
#[derive(Debug)]
pub struct Session<'a> {
    importer: Importer<'a>,
    /// Whether tags are left out that the base has no place for.
    drops_foreign_tags: bool,
}

type PreparedResult = Result<PreparedGame, SaveError>;

impl<'a> Session<'a> {
    /// Begins to append.
    pub fn new(importer: Importer<'a>, drops_foreign_tags: bool) -> Session<'a> {
        Session {
            importer,
            drops_foreign_tags,
        }
    }

    /// Appends the games of one text; gives what of it was understood in
    /// another way than it is written.
    ///
    /// # Errors
    ///
    /// [`Stop`]; then nothing may be committed.
    pub fn read(&mut self, text: Text<'_>, watch: &mut dyn Watch) -> Result<Vec<Understood>, Stop> {
        let drops = self.drops_foreign_tags;
        let mut reading = Reading {
            importer: &mut self.importer,
            watch,
            games: 0,
            liberties: BTreeMap::new(),
            western: Counted::default(),
        };
        let prepare = |mut game: Game| {
            if drops {
                game.foreign_tags.clear();
            }
            PreparedGame::new(game)
        };
        pgn::for_each_game_in_order(text.reader, prepare, |section| reading.take(section))?;
        Ok(reading.understood(text.was_utf16))
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

/// One text as it is read.
struct Reading<'s, 'a> {
    importer: &'s mut Importer<'a>,
    watch: &'s mut dyn Watch,
    games: usize,
    liberties: BTreeMap<Liberty, Counted>,
    /// Games that are no UTF-8.
    western: Counted,
}

impl Reading<'_, '_> {
    /// Appends the games of a section.
    fn take(&mut self, prepared: Prepared<PreparedResult>) -> Result<(), Stop> {
        if self.watch.is_over() {
            return Err(Stop::Interrupted);
        }
        let section = prepared.section;
        if let Some((line, column)) = prepared.not_utf8 {
            self.western.add(line, column);
        }
        for (begin, liberty) in prepared.liberties {
            let counted = self.liberties.entry(liberty).or_default();
            counted.add(section.line_at(begin), 1);
        }
        let failed_at = prepared.failure.as_ref().map(|failure| failure.begin);
        let last = failed_at.unwrap_or(section.text.len());
        let mut games = prepared.games.into_iter().peekable();
        while let Some((begin, game)) = games.next() {
            let end = games.peek().map_or(last, |(begin, _)| *begin);
            self.games += 1;
            let appended = game.map_err(ChangeError::from);
            match appended.and_then(|game| self.importer.append(game)) {
                Ok(appended) => self.watch.appended(&appended),
                Err(ChangeError::Save(error)) if error.is_of_game() => {
                    let bad = self.unstorable(&section, begin, &error);
                    let bytes = section.text.get(begin..end).unwrap_or_default();
                    let has_more = false;
                    self.watch.bad(bad, BadText { bytes, has_more })?;
                }
                Err(error) => return Err(Stop::Base(error)),
            }
        }
        let has_more = matches!(section.part, Part::Begin | Part::Middle);
        let Some(failure) = prepared.failure else {
            if section.part == Part::Whole {
                return Ok(());
            }
            let bytes = &section.text;
            return self.watch.more_of_bad(BadText { bytes, has_more });
        };
        self.games += 1;
        let error = failure.error;
        let bad = BadGame {
            number: self.games,
            players: section.players_at(failure.begin),
            line: error.line,
            column: error.column,
            why: format!("{}; expected {}", error.found, error.expected),
        };
        let bytes = section.text.get(failure.begin..).unwrap_or_default();
        self.watch.bad(bad, BadText { bytes, has_more })
    }

    fn unstorable(&self, section: &Section, begin: usize, error: &SaveError) -> BadGame {
        let place = match error {
            SaveError::DoesNotFit { field, .. } | SaveError::NoPlace { field, .. } => {
                section.place_of_tag(begin, field)
            }
            _ => None,
        };
        let (line, column) = place.unwrap_or((section.line_at(begin), 1));
        BadGame {
            number: self.games,
            players: section.players_at(begin),
            line,
            column,
            why: format!("this game cannot be stored: {error}"),
        }
    }

    fn understood(self, was_utf16: bool) -> Vec<Understood> {
        let utf16 = was_utf16.then(|| Understood {
            line: 1,
            column: 1,
            what: "read as UTF-16".to_owned(),
        });
        let western =
            (self.western.games > 0).then(|| self.western.told("not UTF-8; read as Windows-1252"));
        let liberties = self.liberties.iter();
        let liberties = liberties.map(|(liberty, counted)| counted.told(liberty));
        utf16.into_iter().chain(western).chain(liberties).collect()
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
