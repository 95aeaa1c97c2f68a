//! Merges of players, teams, annotators and sources: what each changed, in a file of
//! text, to take it back by.
//!
//! ```text
//! cbfs merge 2    players
//! pair    0   <record of the one that went, hexadecimal>   <that of the one that stays>    Kasparov, G
//! game    17  white   0   2b07c4f1
//! ```
//!
//! Fields are separated by tabs. Each `game` names the pair whose first it named, and its
//! [stamp](Saver::stamp_of): in another base, or after a copy that left games out, another
//! game has the number.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use shakmaty::Color;
use tempfile::NamedTempFile;

use crate::cbh::{EntityId, EntityKind, Error, GameId, ReferenceSite, SaveError, Saver};
use crate::storage::{name_of_set_elsewhere, open_regular, sync_folder};

/// The first field of the first line.
const HEAD: &str = "cbfs merge 2";

/// More merges of a base are not kept: the oldest goes.
const MOST_KEPT: usize = 100;

/// All numbers of games.
pub const ALL_GAMES: Range<u32> = 0..u32::MAX;

/// A larger file is none of ours.
const MOST_BYTES: u64 = 1 << 30;

/// An entity that went, and the one that stays.
#[derive(Debug, PartialEq, Eq)]
pub struct MergedPair {
    /// Record data.
    from: Vec<u8>,
    into: Vec<u8>,
    /// The name that went, to be shown.
    pub name: String,
}

/// A place in a game that named an entity that went.
#[derive(Debug, PartialEq, Eq)]
pub struct MergedMention {
    game: GameId,
    side: Option<Color>,
    /// The number of the pair.
    pair: u32,
    /// That of the game.
    stamp: u32,
}

/// A merge, as far as it can be taken back.
#[derive(Debug)]
pub struct Merged {
    kind: EntityKind,
    /// Pairs of the entity that was removed and the one that stays.
    pub pairs: Vec<MergedPair>,
    /// In the order of the games.
    pub mentions: Vec<MergedMention>,
}

impl Merged {
    /// Notes what the merge of pairs changes, each the one that goes and the one that
    /// stays, which must not go itself. Nothing is changed yet.
    ///
    /// # Errors
    ///
    /// [`SaveError`], also if no entity has such an id.
    pub fn of(
        saver: &mut Saver<'_>,
        kind: EntityKind,
        pairs: &[(EntityId, EntityId)],
    ) -> Result<Merged, SaveError> {
        let mut kept = Vec::new();
        let mut numbers = HashMap::new();
        for ((from, into), number) in pairs.iter().zip(0_u32..) {
            kept.push(MergedPair {
                from: saver.entity_data(kind, *from)?,
                into: saver.entity_data(kind, *into)?,
                name: saver.entity_name(kind, *from)?,
            });
            numbers.insert(*from, number);
        }
        let mut mentions = Vec::new();
        saver.replace_references(kind, ALL_GAMES, &mut |mention| {
            let ReferenceSite { game, side, entity } = mention;
            let merged = |pair: &u32| MergedMention {
                game,
                side,
                pair: *pair,
                stamp: 0,
            };
            mentions.extend(numbers.get(&entity).map(merged));
            None
        })?;
        for mention in &mut mentions {
            mention.stamp = saver.stamp_of(mention.game)?;
        }
        Ok(Merged {
            kind,
            pairs: kept,
            mentions,
        })
    }

    /// Plans it for the games with these numbers; `pairs` are those that it was made
    /// of.
    ///
    /// # Errors
    ///
    /// [`SaveError`].
    pub fn plan(
        &self,
        saver: &mut Saver<'_>,
        pairs: &[(EntityId, EntityId)],
        games: Range<u32>,
    ) -> Result<(), SaveError> {
        let from: Vec<_> = pairs.iter().map(|(from, _)| Some(*from)).collect();
        let into = |pair: usize| pairs.get(pair).map(|(_, into)| *into);
        self.find(saver, games, &from, &mut |pair| into(pair))?;
        Ok(())
    }

    /// Forgets what it changed in games whose numbers other games have now.
    ///
    /// # Errors
    ///
    /// [`SaveError`].
    pub fn keep_same_games(&mut self, saver: &Saver<'_>) -> Result<(), SaveError> {
        let mut failed = Ok(());
        self.mentions
            .retain(|mention| match saver.stamp_of(mention.game) {
                Ok(stamp) => stamp == mention.stamp,
                // There is no record of the number.
                Err(SaveError::Base(Error::NotUsed(_))) => false,
                Err(error) => {
                    failed = Err(error);
                    false
                }
            });
        failed
    }

    /// How many of the games with these numbers it changes.
    pub fn count_games(&self, numbers: &Range<u32>) -> usize {
        let games = self
            .mentions
            .chunk_by(|one, next| one.game == next.game)
            .filter_map(|of_game| of_game.first());
        games
            .filter(|first| numbers.contains(&first.game.0))
            .count()
    }

    /// Ranges of the numbers of its games, of about so many mentions each.
    pub fn parts(&self, at_once: usize) -> impl Iterator<Item = Range<u32>> + '_ {
        let mut start = 0;
        self.mentions.chunks(at_once).filter_map(move |some| {
            let end = some.last()?.game.0.saturating_add(1);
            // Both sides of a game are changed together.
            let part = start..end;
            start = end;
            (!part.is_empty()).then_some(part)
        })
    }

    /// How many of its mentions are still as it made them; and as they were before, since
    /// it was broken off.
    ///
    /// # Errors
    ///
    /// [`SaveError`].
    pub fn count_left(&self, saver: &mut Saver<'_>) -> Result<[usize; 2], SaveError> {
        let into = self.ids(saver, |pair| &pair.into)?;
        let mut from = self.ids(saver, |pair| &pair.from)?;
        for (from, into) in from.iter_mut().zip(&into) {
            // Of two of one name, that which stays is found for both.
            *from = from.filter(|from| Some(*from) != *into);
        }
        let mut counts = [0; 2];
        for (ids, count) in [into, from].iter().zip(&mut counts) {
            self.find(saver, ALL_GAMES, ids, &mut |_| {
                *count += 1;
                None
            })?;
        }
        Ok(counts)
    }

    /// Plans to take it back in the games with these numbers, where the mentions are
    /// still as it made them.
    ///
    /// # Errors
    ///
    /// [`SaveError`].
    pub fn take_back(&self, saver: &mut Saver<'_>, games: Range<u32>) -> Result<(), SaveError> {
        let into = self.ids(saver, |pair| &pair.into)?;
        let mut is_left = vec![false; into.len()];
        self.find(saver, games.clone(), &into, &mut |pair| {
            if let Some(is_left) = is_left.get_mut(pair) {
                *is_left = true;
            }
            None
        })?;
        let mut from = Vec::new();
        // What no game would name is not brought back.
        for (pair, is_left) in self.pairs.iter().zip(is_left) {
            from.push(if is_left {
                Some(saver.entity_of_data(self.kind, &pair.from)?)
            } else {
                None
            });
        }
        self.find(saver, games, &into, &mut |pair| *from.get(pair)?)?;
        Ok(())
    }

    /// The entities that have these records, one of each pair.
    fn ids(
        &self,
        saver: &mut Saver<'_>,
        record: impl Fn(&MergedPair) -> &[u8],
    ) -> Result<Vec<Option<EntityId>>, SaveError> {
        let records = self.pairs.iter().map(record);
        records
            .map(|data| saver.find_entity_data(self.kind, data))
            .collect()
    }

    /// Goes through the mentions in games with these numbers that name what `named`
    /// has for their pairs; `other` says for each, by its pair, what is to be named
    /// there.
    fn find(
        &self,
        saver: &mut Saver<'_>,
        games: Range<u32>,
        named: &[Option<EntityId>],
        other: &mut dyn FnMut(usize) -> Option<EntityId>,
    ) -> Result<Vec<ReferenceSite>, SaveError> {
        // They come in the order of the games, as they were noted.
        let before = |it: &MergedMention| it.game.0 < games.start;
        let first = self.mentions.partition_point(before);
        let mut rest = self.mentions.get(first..).unwrap_or_default();
        saver.replace_references(self.kind, games, &mut |mention| {
            while let [first, others @ ..] = rest
                && first.game < mention.game
            {
                rest = others;
            }
            let mut of_game = rest.iter().take_while(|it| it.game == mention.game);
            let merged = of_game.find(|it| it.side == mention.side)?;
            let pair = merged.pair as usize;
            let is_named = *named.get(pair)? == Some(mention.entity);
            is_named.then(|| other(pair)).flatten()
        })
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{HEAD}\t{}", word_of(self.kind))?;
        for (number, MergedPair { from, into, name }) in self.pairs.iter().enumerate() {
            let name = name.replace(['\t', '\n', '\r'], " ");
            writeln!(out, "pair\t{number}\t{}\t{}\t{name}", hex(from), hex(into))?;
        }
        for mention in &self.mentions {
            let side = mention
                .side
                .map_or("-", |side| side.fold_wb("white", "black"));
            let MergedMention {
                game, pair, stamp, ..
            } = mention;
            writeln!(out, "game\t{}\t{side}\t{pair}\t{stamp:08x}", game.0)?;
        }
        Ok(())
    }

    fn read(text: impl BufRead) -> io::Result<Merged> {
        let mut merged: Option<Merged> = None;
        for line in text.lines() {
            let line = line?;
            let fields: Vec<_> = line.split('\t').collect();
            let read = match &mut merged {
                None => Merged::begin(&fields).map(|begun| merged = Some(begun)),
                Some(merged) => merged.add(&fields),
            };
            read.ok_or_else(no_record)?;
        }
        merged.ok_or_else(no_record)
    }

    /// The merge that the first line begins.
    fn begin(fields: &[&str]) -> Option<Merged> {
        let [HEAD, kind] = fields else {
            return None;
        };
        let mut kinds = EntityKind::ALL.into_iter();
        Some(Merged {
            kind: kinds.find(|it| word_of(*it) == *kind)?,
            pairs: Vec::new(),
            mentions: Vec::new(),
        })
    }

    /// Adds what a line says.
    fn add(&mut self, fields: &[&str]) -> Option<()> {
        match fields {
            ["pair", number, from, into, name] => {
                let is_next = number.parse() == Ok(self.pairs.len());
                let pair = MergedPair {
                    from: bytes(from)?,
                    into: bytes(into)?,
                    name: (*name).to_owned(),
                };
                is_next.then(|| self.pairs.push(pair))
            }
            ["game", game, side, pair, stamp] => {
                let side = match *side {
                    "white" => Some(Color::White),
                    "black" => Some(Color::Black),
                    "-" => None,
                    _ => return None,
                };
                let pair: u32 = pair.parse().ok()?;
                let mention = MergedMention {
                    game: GameId(game.parse().ok()?),
                    side,
                    pair,
                    stamp: u32::from_str_radix(stamp, 16).ok()?,
                };
                let is_known = (pair as usize) < self.pairs.len();
                is_known.then(|| self.mentions.push(mention))
            }
            _ => None,
        }
    }
}

fn no_record() -> io::Error {
    io::Error::other("this is no record of a merge that this version of cbfs can take back")
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn word_of(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::Player => "players",
        EntityKind::Tournament => "tournaments",
        EntityKind::Annotator => "annotators",
        EntityKind::Source => "sources",
        EntityKind::Team => "teams",
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = hex.bytes().collect();
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().map(byte).collect()
}

/// The number of a merge in the name of its file.
fn number_in(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_suffix(".txt")?.parse().ok()
}

/// Where the merges of one base are kept.
#[derive(Debug)]
pub struct Merges {
    folder: PathBuf,
}

impl Merges {
    /// Below the directory `state`; whichever file of the base is named.
    pub fn of(state: &Path, base: &Path) -> Merges {
        Merges {
            folder: state.join("merges").join(name_of_set_elsewhere(base)),
        }
    }

    /// The files, the oldest first.
    fn all(&self) -> io::Result<Vec<(u32, PathBuf)>> {
        self.list().map_err(|error| about(&self.folder, &error))
    }

    fn list(&self) -> io::Result<Vec<(u32, PathBuf)>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            if let Some(number) = number_in(&entry.file_name()) {
                files.push((number, entry.path()));
            }
        }
        files.sort_unstable();
        Ok(files)
    }

    /// Writes a merge to a file, which is on the disk afterwards.
    ///
    /// # Errors
    ///
    /// That of the file, with its name.
    pub fn keep(&self, merged: &Merged) -> io::Result<PathBuf> {
        let all = self.all()?;
        let next = all.last().map_or(1, |(number, _)| number.saturating_add(1));
        let path = self.folder.join(format!("{next}.txt"));
        let kept = self.write(&path, merged);
        kept.map_err(|error| about(&path, &error))?;
        for (_, old) in all.iter().take((all.len() + 1).saturating_sub(MOST_KEPT)) {
            // One too many is no reason not to merge.
            let _ = fs::remove_file(old);
        }
        Ok(path)
    }

    fn write(&self, path: &Path, merged: &Merged) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        // A part of a record would be in the way of those before.
        let file = NamedTempFile::new_in(&self.folder)?;
        let mut text = BufWriter::new(&file);
        merged.write(&mut text)?;
        text.flush()?;
        drop(text);
        file.as_file().sync_all()?;
        file.persist_noclobber(path)?;
        sync_folder(&self.folder)
    }

    /// The last merge that is kept.
    ///
    /// # Errors
    ///
    /// That of the file, with its name.
    pub fn last(&self) -> io::Result<Option<(PathBuf, Merged)>> {
        let Some((_, path)) = self.all()?.pop() else {
            return Ok(None);
        };
        let read = || {
            let file = open_regular(&path)?;
            if file.metadata()?.len() > MOST_BYTES {
                return Err(no_record());
            }
            Merged::read(BufReader::new(file))
        };
        let merged = read().map_err(|error| about(&path, &error))?;
        Ok(Some((path, merged)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let merged = Merged {
            kind: EntityKind::Team,
            pairs: vec![MergedPair {
                from: vec![0, 255, 16],
                into: Vec::new(),
                name: "SV\tA".to_owned(),
            }],
            mentions: [(7, Some(Color::Black)), (9, None)]
                .map(|(game, side)| MergedMention {
                    game: GameId(game),
                    side,
                    pair: 0,
                    stamp: 0x0a_bcde,
                })
                .into(),
        };
        let written = |merged: &Merged| {
            let mut text = Vec::new();
            merged.write(&mut text).unwrap();
            text
        };
        let again = Merged::read(written(&merged).as_slice()).unwrap();
        assert_eq!(written(&again), written(&merged));
        assert_eq!(again.mentions, merged.mentions);
        assert_eq!(again.pairs[0].from, merged.pairs[0].from);
    }

    #[test]
    fn an_invalid_record_is_rejected() {
        for text in [
            "",
            "cbfs merge 1\tplayers\n",
            "cbfs merge 2\tgames\n",
            "cbfs merge 2\tplayers\ngame\t1\twhite\t0\t0\n",
            "cbfs merge 2\tplayers\npair\t0\t\t\tx\ngame\t1\twhite\t0\n",
            "cbfs merge 2\tplayers\npair\t1\t\t\tx\n",
            "cbfs merge 2\tplayers\npair\t0\t0\t\tx\n",
            "cbfs merge 2\tplayers\npair\t0\t\u{e9}\t\tx\n",
        ] {
            assert!(Merged::read(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
