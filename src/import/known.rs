//! Which games a base has already: for imports of new ones only.
//!
//! The same game is one of the same players, date and result, with the same
//! moves of the main line from the same position. Variations and remarks are
//! not compared, and a FEN of the usual position is none. Short games, and those
//! without moves, are the same only if they are of one event and round too:
//! the same players may well have agreed to a draw twice in one day.
//!
//! A game is looked for by what the records of `.cbh` say, the begins of both
//! names, date and result; only games that agree in that are read, once, and
//! compared. The marks of all games, 16 bytes each, are held sorted: up to a
//! million in memory, the others in unlinked files, each with a filter of ten
//! bits a game, so that most questions read nothing. Ten million games take
//! some 60 MB of memory and 160 MB of `$TMPDIR`.

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::ImportStop;
use crate::cbh::{Database, Decoded, EntityKind, GameId, SaveError, Summary};
use crate::game::{Date, Game, GameResult};

/// So many marks are held in memory before they go to a file.
const MARKS_AT_ONCE: usize = 1 << 20;

/// Bytes of a mark in a file.
const MARK_BYTES: usize = 16;

/// So many records are read at once.
const RECORDS_AT_ONCE: u32 = 4096;

/// So many letters of each name are compared before a game is read.
const LETTERS: usize = 6;

/// So many bytes of a last name, a first name and a title does each base hold in
/// their fields, whatever its page. What follows may have been cut.
const LAST_NAME_BYTES: usize = 28;
const FIRST_NAME_BYTES: usize = 18;
const TITLE_BYTES: usize = 38;

/// Games of fewer half-moves are told apart by event and round too.
const SHORT_PLIES: usize = 20;

/// Digests that identify a game, see [`Known::has`].
#[derive(Clone, Copy, Debug)]
pub(super) struct GameMark {
    /// Digest of what a record says too.
    key: u64,
    /// Digest of all that is compared.
    whole: u64,
}

impl GameMark {
    pub(super) fn of(game: &Game) -> GameMark {
        let headers = &game.headers;
        let (white, black) = (headers.white.joined(), headers.black.joined());
        let key = key_of(&white, &black, headers.date, Some(headers.result));
        let mut whole = Xxh3::with_seed(key);
        for name in [&white, &black] {
            hash_letters(letters_of_player(name), &mut whole);
        }
        let mut fen = Vec::new();
        game.start.append_fen_to(&mut fen);
        fen.hash(&mut whole);
        let mut plies = 0;
        for ply in game.tree.main_line() {
            plies += 1;
            game.tree.ply(ply).and_then(|ply| ply.mv).hash(&mut whole);
        }
        if plies < SHORT_PLIES {
            let mut tags = game.foreign_tags.iter();
            let round = tags.find(|(name, _)| name == "Round");
            (headers.round, headers.subround, round).hash(&mut whole);
            let title = &headers.tournament.title;
            hash_letters(letters(title, TITLE_BYTES), &mut whole);
        }
        GameMark {
            key,
            whole: whole.finish(),
        }
    }
}

/// The letters of a name as `Last, First`, small, as far as every base has them: a
/// game is the same as its own copy with names that were cut, and blanks and signs
/// make no other player.
fn letters_of_player(name: &str) -> impl Iterator<Item = char> {
    let (last, first) = name.split_once(',').unwrap_or((name, ""));
    letters(last, LAST_NAME_BYTES).chain(letters(first.trim_start(), FIRST_NAME_BYTES))
}

/// The letters among so many bytes of a name, small.
fn letters(name: &str, most: usize) -> impl Iterator<Item = char> {
    let cut = name
        .char_indices()
        .take_while(move |(at, c)| at + c.len_utf8() <= most);
    let letters = cut.map(|(_, c)| c).filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase)
}

fn hash_letters(letters: impl Iterator<Item = char>, hasher: &mut Xxh3) {
    letters.for_each(|letter| letter.hash(hasher));
    '\n'.hash(hasher);
}

/// Digest of the begins of the names, the date and the result.
fn key_of(white: &str, black: &str, date: Date, result: Option<GameResult>) -> u64 {
    let mut text = String::new();
    for name in [white, black] {
        text.extend(letters_of_player(name).take(LETTERS));
        text.push('\n');
    }
    let result = result.map(|result| result.beyond_pgn().unwrap_or(result.pgn()));
    text.push_str(result.unwrap_or_default());
    let mut bytes = text.into_bytes();
    date.append_to(&mut bytes);
    xxh3_64(&bytes)
}

/// The games of a base, and those that were imported.
pub struct Known<'a> {
    database: Option<&'a Database>,
    /// The number of each game of the base, by its key.
    stored: Marks,
    /// The key of each game that was imported or read, by its whole digest; and the
    /// inverse of each key all of whose games were read, by that key.
    seen: Marks,
    found: Vec<u64>,
    decoded: Decoded,
}

impl<'a> Known<'a> {
    /// Looks at all games of a base; those that carry the deleted flag do not
    /// count.
    ///
    /// # Errors
    ///
    /// [`ImportStop`], if the base cannot be read or there is no room for the marks.
    pub fn new(database: Option<&'a Database>) -> Result<Known<'a>, ImportStop> {
        let mut known = Known {
            database,
            stored: Marks::new(MARKS_AT_ONCE),
            seen: Marks::new(MARKS_AT_ONCE),
            found: Vec::new(),
            decoded: Decoded::default(),
        };
        if let Some(database) = database {
            known.add_all(database)?;
        }
        Ok(known)
    }

    fn add_all(&mut self, database: &Database) -> Result<(), ImportStop> {
        let names = database.entity_names(EntityKind::Player).map_err(of_base)?;
        let mut summaries: Vec<Summary> = Vec::new();
        let mut first = 1;
        while first <= database.last_id() {
            summaries.clear();
            database
                .summaries(GameId(first), RECORDS_AT_ONCE, &mut summaries)
                .map_err(of_base)?;
            for game in summaries.iter().filter(|game| !game.is_deleted) {
                let name = |id| names.get(id).unwrap_or_default();
                let (white, black) = (name(game.white), name(game.black));
                let key = key_of(white, black, game.date, game.result);
                self.stored.insert(key, game.id.0.into())?;
            }
            first = first.saturating_add(RECORDS_AT_ONCE);
        }
        Ok(())
    }

    /// Whether there is the same game; else this is one from now on.
    ///
    /// # Errors
    ///
    /// As [`new`](Known::new).
    pub(super) fn has(&mut self, mark: GameMark) -> Result<bool, ImportStop> {
        if !self.has_seen(mark.key, !mark.key)? {
            self.see_stored(mark.key)?;
        }
        let is_known = self.has_seen(mark.whole, mark.key)?;
        if !is_known {
            self.seen.insert(mark.whole, mark.key)?;
        }
        Ok(is_known)
    }

    fn has_seen(&mut self, digest: u64, value: u64) -> Result<bool, ImportStop> {
        self.found.clear();
        self.seen.find(digest, &mut self.found)?;
        Ok(self.found.contains(&value))
    }

    /// Reads the games of the base with this key.
    fn see_stored(&mut self, key: u64) -> Result<(), ImportStop> {
        self.found.clear();
        self.stored.find(key, &mut self.found)?;
        let Some(database) = self.database.filter(|_| !self.found.is_empty()) else {
            return Ok(());
        };
        let ids = self.found.iter().filter_map(|id| u32::try_from(*id).ok());
        for id in ids {
            let read = database.read_game(GameId(id), &mut self.decoded);
            // A game that cannot be read is not known to be the same.
            if read.is_ok() && self.decoded.defects.is_empty() {
                let GameMark { whole, .. } = GameMark::of(&self.decoded.game);
                self.seen.insert(whole, key)?;
            }
        }
        self.seen.insert(key, !key)?;
        Ok(())
    }
}

impl std::fmt::Debug for Known<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}

fn of_base(error: crate::cbh::Error) -> ImportStop {
    ImportStop::Base(SaveError::from(error).into())
}

/// Pairs of a key and a value, any number in little memory.
struct Marks {
    recent: BTreeSet<(u64, u64)>,
    runs: Vec<MarkRun>,
    at_once: usize,
}

impl Marks {
    fn new(at_once: usize) -> Marks {
        Marks {
            recent: BTreeSet::new(),
            runs: Vec::new(),
            at_once,
        }
    }

    fn insert(&mut self, key: u64, value: u64) -> io::Result<()> {
        self.recent.insert((key, value));
        if self.recent.len() >= self.at_once {
            let run = MarkRun::write(&self.recent)?;
            self.runs.push(run);
            self.recent.clear();
        }
        Ok(())
    }

    /// Appends the values of a key.
    fn find(&self, key: u64, values: &mut Vec<u64>) -> io::Result<()> {
        let recent = self.recent.range((key, 0)..=(key, u64::MAX));
        values.extend(recent.map(|(_, value)| *value));
        self.runs.iter().try_for_each(|run| run.find(key, values))
    }
}

/// Sorted pairs in a file that has no name.
struct MarkRun {
    file: File,
    count: u64,
    /// Three bits of each key, among ten times as many.
    filter: Vec<u64>,
}

impl MarkRun {
    fn write(marks: &BTreeSet<(u64, u64)>) -> io::Result<MarkRun> {
        let mut run = MarkRun {
            file: tempfile::tempfile()?,
            count: marks.len() as u64,
            filter: vec![0; (marks.len() * 10).div_ceil(64)],
        };
        let mut out = BufWriter::new(&run.file);
        for (key, value) in marks {
            out.write_all(&key.to_be_bytes())?;
            out.write_all(&value.to_be_bytes())?;
            for (word, bit) in bits_of(*key, run.filter.len()) {
                if let Some(word) = run.filter.get_mut(word) {
                    *word |= bit;
                }
            }
        }
        out.flush()?;
        drop(out);
        Ok(run)
    }

    fn find(&self, key: u64, values: &mut Vec<u64>) -> io::Result<()> {
        let is_set = |(word, bit)| self.filter.get(word).is_some_and(|word| word & bit != 0);
        if !bits_of(key, self.filter.len()).into_iter().all(is_set) {
            return Ok(());
        }
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.read(middle)?.0 < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        while low < self.count {
            let (found, value) = self.read(low)?;
            if found != key {
                break;
            }
            values.push(value);
            low += 1;
        }
        Ok(())
    }

    fn read(&self, at: u64) -> io::Result<(u64, u64)> {
        let (mut key, mut value) = ([0; MARK_BYTES / 2], [0; MARK_BYTES / 2]);
        let offset = at * MARK_BYTES as u64;
        self.file.read_exact_at(&mut key, offset)?;
        let behind = offset + key.len() as u64;
        self.file.read_exact_at(&mut value, behind)?;
        Ok((u64::from_be_bytes(key), u64::from_be_bytes(value)))
    }
}

/// Word and bit of the three bits of a key in a filter of so many words.
fn bits_of(key: u64, words: usize) -> [(usize, u64); 3] {
    let bits = (words as u64 * 64).max(1);
    [key, key.rotate_left(21), key.rotate_left(42)].map(|key| {
        let bit = key % bits;
        (usize::try_from(bit / 64).unwrap_or(0), 1 << (bit % 64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_in_files_are_found_as_those_in_memory_are() {
        let mut marks = Marks::new(100);
        let key = |number: u64| xxh3_64(&(number / 3).to_le_bytes());
        for number in 0..1000 {
            marks.insert(key(number), number).unwrap();
        }
        assert_eq!(marks.runs.len(), 10);
        for number in (0..999).step_by(3) {
            let mut found = Vec::new();
            marks.find(key(number), &mut found).unwrap();
            found.sort_unstable();
            assert_eq!(found, [number, number + 1, number + 2]);
        }
        let mut found = Vec::new();
        for number in 3000..6000 {
            marks.find(key(number), &mut found).unwrap();
        }
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn letters_of_a_name_are_those_that_every_field_holds() {
        let same = |one: &str, other: &str| letters_of_player(one).eq(letters_of_player(other));
        let whole = "Wolfeschlegelsteinhausenbergerdorff, Hubert Blaine Maximilian";
        assert!(same(
            whole,
            "Wolfeschlegelsteinhausenberge, Hubert Blaine Maxim"
        ));
        assert!(same("M\u{fc}ller,  J.", "m\u{fc}ller, J"));
        assert!(!same("M\u{fc}ller, Jan", "M\u{fc}ller, Jon"));
        assert!(!same("Ab, C", "A, bD"));
    }

    #[test]
    fn a_key_is_of_the_begins_of_names() {
        let key = |white: &str| key_of(white, "B", Date::UNKNOWN, None);
        assert_eq!(key("Carlsen, Magnus"), key("CARLSEN,M"));
        assert_ne!(key("Carlsen, Magnus"), key("Carlson, Magnus"));
        assert_eq!(key("?"), key(""));
    }
}
