//! Merges of players, teams, annotators and sources: what each changed, in a file of
//! text, to take it back by.
//!
//! ```text
//! cbfs merge 1    players
//! pair    0   <record of the one that went, hexadecimal>   <that of the one that stays>    Kasparov, G
//! game    17  white   0
//! ```
//!
//! Fields are separated by tabs. Each `game` names the pair whose first it named.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use shakmaty::Color;
use xxhash_rust::xxh3::xxh3_64;

use crate::cbh::{EntityId, EntityKind, GameId, Mention, SaveError, Saver};

/// The first field of the first line.
const HEAD: &str = "cbfs merge 1";

/// More merges of a base are not kept: the oldest goes.
const MOST_KEPT: usize = 100;

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

/// A merge, as far as it can be taken back.
#[derive(Debug)]
pub struct Merged {
    kind: EntityKind,
    /// Pairs of the entity that was removed and the one that stays.
    pub pairs: Vec<MergedPair>,
    /// The game, the side, the pair.
    pub mentions: Vec<(GameId, Option<Color>, usize)>,
}

impl Merged {
    /// Plans the merge of pairs, each the one that goes and the one that stays,
    /// which must not go itself.
    ///
    /// # Errors
    ///
    /// [`SaveError`], also if no entity has such an id.
    pub fn plan(
        saver: &mut Saver<'_>,
        kind: EntityKind,
        pairs: &[(EntityId, EntityId)],
    ) -> Result<Merged, SaveError> {
        let mut kept = Vec::new();
        for (from, into) in pairs {
            kept.push(MergedPair {
                from: saver.entity_data(kind, *from)?,
                into: saver.entity_data(kind, *into)?,
                name: saver.entity_name(kind, *from)?,
            });
        }
        let pair_of = |id: EntityId| pairs.iter().position(|(from, _)| *from == id);
        let into_of = |id| pairs.get(pair_of(id)?).map(|(_, into)| *into);
        let changed = saver.mention_others(kind, &mut |mention| into_of(mention.entity))?;
        let mentions = changed.into_iter().filter_map(|mention| {
            let Mention { game, side, entity } = mention;
            Some((game, side, pair_of(entity)?))
        });
        Ok(Merged {
            kind,
            mentions: mentions.collect(),
            pairs: kept,
        })
    }

    /// How many games it changed.
    pub fn games(&self) -> usize {
        self.mentions
            .chunk_by(|(one, ..), (next, ..)| one == next)
            .count()
    }

    /// Plans to take it back. Returns how many mentions that concerns: those that
    /// are still as the merge made them.
    ///
    /// # Errors
    ///
    /// [`SaveError`].
    pub fn take_back(&self, saver: &mut Saver<'_>) -> Result<usize, SaveError> {
        let mut into = Vec::new();
        for pair in &self.pairs {
            into.push(saver.find_entity_data(self.kind, &pair.into)?);
        }
        let mut is_left = vec![false; into.len()];
        self.find(saver, &into, &mut |pair| {
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
        let changed = self.find(saver, &into, &mut |pair| *from.get(pair)?)?;
        Ok(changed.len())
    }

    /// Goes through the mentions that are still as the merge made them; `other`
    /// says for each, by its pair, what is to be named there.
    fn find(
        &self,
        saver: &mut Saver<'_>,
        into: &[Option<EntityId>],
        other: &mut dyn FnMut(usize) -> Option<EntityId>,
    ) -> Result<Vec<Mention>, SaveError> {
        // They come in the order of the games, as they were noted.
        let mut rest = self.mentions.as_slice();
        saver.mention_others(self.kind, &mut |mention| {
            while let [(game, ..), others @ ..] = rest
                && *game < mention.game
            {
                rest = others;
            }
            let mut of_game = rest.iter().take_while(|(game, ..)| *game == mention.game);
            let (.., pair) = of_game.find(|(_, side, _)| *side == mention.side)?;
            let is_as_made = *into.get(*pair)? == Some(mention.entity);
            is_as_made.then(|| other(*pair)).flatten()
        })
    }

    fn write(&self) -> String {
        let mut text = format!("{HEAD}\t{}\n", word_of(self.kind));
        for (number, MergedPair { from, into, name }) in self.pairs.iter().enumerate() {
            let name = name.replace(['\t', '\n', '\r'], " ");
            let _ = writeln!(text, "pair\t{number}\t{}\t{}\t{name}", hex(from), hex(into));
        }
        for (game, side, pair) in &self.mentions {
            let side = side.map_or("-", |side| side.fold_wb("white", "black"));
            let _ = writeln!(text, "game\t{}\t{side}\t{pair}", game.0);
        }
        text
    }

    fn read(text: &str) -> Option<Merged> {
        let mut lines = text
            .lines()
            .map(|line| line.split('\t').collect::<Vec<_>>());
        let head = lines.next()?;
        let [HEAD, kind] = head.as_slice() else {
            return None;
        };
        let mut merged = Merged {
            kind: EntityKind::ALL
                .into_iter()
                .find(|it| word_of(*it) == *kind)?,
            pairs: Vec::new(),
            mentions: Vec::new(),
        };
        for line in lines {
            match line.as_slice() {
                ["pair", number, from, into, name] => {
                    if number.parse() != Ok(merged.pairs.len()) {
                        return None;
                    }
                    merged.pairs.push(MergedPair {
                        from: bytes(from)?,
                        into: bytes(into)?,
                        name: (*name).to_owned(),
                    });
                }
                ["game", game, side, pair] => {
                    let side = match *side {
                        "white" => Some(Color::White),
                        "black" => Some(Color::Black),
                        "-" => None,
                        _ => return None,
                    };
                    let pair = pair.parse().ok().filter(|it| *it < merged.pairs.len())?;
                    merged
                        .mentions
                        .push((GameId(game.parse().ok()?), side, pair));
                }
                _ => return None,
            }
        }
        Some(merged)
    }
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

/// Where the merges of one base are kept.
#[derive(Debug)]
pub struct Merges {
    folder: PathBuf,
}

impl Merges {
    /// Below the directory `state`; whichever file of the base is named.
    pub fn of(state: &Path, base: &Path) -> Merges {
        let whole = base.canonicalize().unwrap_or_else(|_| base.to_path_buf());
        let whole = whole.with_extension("");
        let stem = whole.file_stem().unwrap_or_default().to_string_lossy();
        let stem: String = stem.chars().take(40).collect();
        let hash = xxh3_64(whole.as_os_str().as_encoded_bytes());
        Merges {
            folder: state.join("merges").join(format!("{stem}-{hash:016x}")),
        }
    }

    /// The files, the oldest first.
    fn all(&self) -> Vec<(u32, PathBuf)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_suffix(".txt")?.parse().ok()?, entry.path()))
        });
        let mut files: Vec<_> = files.collect();
        files.sort_unstable();
        files
    }

    /// Writes a merge to a file, which is on the disk afterwards.
    ///
    /// # Errors
    ///
    /// That of the file, with its name.
    pub fn keep(&self, merged: &Merged) -> io::Result<PathBuf> {
        let all = self.all();
        let next = all.last().map_or(1, |(number, _)| number.saturating_add(1));
        let path = self.folder.join(format!("{next}.txt"));
        let kept = self.write(&path, merged.write().as_bytes());
        kept.map_err(|error| about(&path, &error))?;
        for (_, old) in all.iter().take((all.len() + 1).saturating_sub(MOST_KEPT)) {
            // One too many is no reason not to merge.
            let _ = fs::remove_file(old);
        }
        Ok(path)
    }

    fn write(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let written = file.write_all(text).and_then(|()| file.sync_all());
        if written.is_err() {
            let _ = fs::remove_file(path);
        }
        written
    }

    /// The last merge that is kept.
    ///
    /// # Errors
    ///
    /// That of the file, with its name.
    pub fn last(&self) -> io::Result<Option<(PathBuf, Merged)>> {
        let Some((_, path)) = self.all().pop() else {
            return Ok(None);
        };
        let read = || {
            let bytes = fs::metadata(&path)?.len();
            let text = (bytes <= MOST_BYTES).then(|| fs::read_to_string(&path));
            let merged = text.transpose()?.as_deref().and_then(Merged::read);
            merged.ok_or_else(|| io::Error::other("this is no record of a merge"))
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
            mentions: vec![(GameId(7), Some(Color::Black), 0), (GameId(9), None, 0)],
        };
        let again = Merged::read(&merged.write()).unwrap();
        assert_eq!(again.write(), merged.write());
        assert_eq!(again.mentions, merged.mentions);
        assert_eq!(again.pairs[0].from, merged.pairs[0].from);
    }

    #[test]
    fn an_invalid_record_is_rejected() {
        for text in [
            "",
            "cbfs merge 2\tplayers\n",
            "cbfs merge 1\tgames\n",
            "cbfs merge 1\tplayers\ngame\t1\twhite\t0\n",
            "cbfs merge 1\tplayers\npair\t1\t\t\tx\n",
            "cbfs merge 1\tplayers\npair\t0\t0\t\tx\n",
            "cbfs merge 1\tplayers\npair\t0\t\u{e9}\t\tx\n",
        ] {
            assert!(Merged::read(text).is_none(), "{text:?}");
        }
    }
}
