//! A base of games, in whichever format it is stored: what everything that
//! shows, exports or describes games asks of it.
//!
//! The words are those of [`crate::cbh`], which the newer format shares.
//! Each answer is a whole one — a game, a stretch of records, all names — so
//! that the cost of asking through a trait does not count.

mod archived;
mod family;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

pub use self::archived::{open_any, open_archived};
pub use self::family::Family;
use crate::cbh::{
    self, CodePage, Crossref, Decoded, EntityKind, EntityNames, Entry, Error, GameId, GameMention,
    Grouping, GuidingText, Listed, Options, Summary,
};
use crate::cbh2;
use crate::game::Defect;
use crate::storage::Tree;

/// A base of games, to be read. Any number of threads read at once.
///
/// What a method does not say of itself is said of that of
/// [`cbh::Database`]. Its errors are [`Error::Io`] and, where a number is
/// given, [`Error::NotUsed`].
pub trait Base: fmt::Debug + Send + Sync {
    /// Where its files lie.
    fn location(&self) -> Location<'_>;

    /// Its files, as they are now.
    fn files(&self) -> Vec<File>;

    /// The name, for people, of the file with this extension that a defect is
    /// about, without the extension: that of the base, or of the archive it
    /// lies in.
    fn name_for(&self, extension: &str) -> String;

    /// What to say of the format, where it is young.
    fn advice(&self) -> Option<&'static str>;

    /// Number of records; games and texts are numbered from 1 to here.
    fn last_id(&self) -> u32;

    /// When the file of headers was last changed.
    fn modified(&self) -> SystemTime;

    /// Versions of its files, by extension.
    fn versions(&self) -> Vec<(&'static str, u32)>;

    /// The page of what is not UTF-8, and whether it was given.
    fn code_page(&self) -> (CodePage, bool);

    /// Bytes of all its files together, as they are now.
    fn size_on_disk(&self) -> u64;

    /// Whether something was saved since it was opened: what is read of it may
    /// be of both states.
    fn is_over(&self) -> bool;

    /// Whether all that is shown of it lies in its files.
    fn is_as_stored(&self) -> bool;

    /// What is wrong with it as a whole.
    fn defects(&self) -> &[Defect];

    /// Reports everything that is wrong, decoding all games.
    fn check(&self, progress: &dyn Fn(u64), report: &mut dyn FnMut(Defect)) -> Result<(), Error>;

    /// Reports everything that is wrong but with its games.
    fn check_whole(&self, report: &mut dyn FnMut(Defect)) -> Result<(), Error>;

    /// Appends the used records of a stretch.
    fn entries(&self, first: GameId, count: u32, entries: &mut Vec<Entry>) -> Result<(), Error>;

    /// Appends the used records of a stretch with what those of games say.
    fn listed(&self, first: GameId, count: u32, listed: &mut Vec<Listed>) -> Result<(), Error>;

    /// What the records of one game say.
    fn summary(&self, id: GameId) -> Result<Summary, Error>;

    /// Appends what the records of the games of a stretch say.
    fn summaries(&self, first: GameId, count: u32, all: &mut Vec<Summary>) -> Result<(), Error>;

    /// Decodes one game.
    fn read_game(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error>;

    /// Bytes that the moves and remarks of one game take in their files.
    fn stored_bytes(&self, id: GameId, decoded: &mut Decoded) -> Result<u64, Error>;

    /// Reads one guiding text.
    fn read_text(&self, id: GameId, text: &mut GuidingText) -> Result<(), Error>;

    /// Appends the numbers of all guiding texts.
    fn texts(&self, texts: &mut Vec<GameId>) -> Result<(), Error>;

    /// The game that each mention means, where it is the only one.
    fn find_games<'m>(
        &self,
        mentions: &'m HashSet<GameMention>,
    ) -> Result<HashMap<&'m GameMention, GameId>, Error>;

    /// The names of all players, tournaments …
    fn entity_names(&self, kind: EntityKind) -> Result<Arc<EntityNames>, Error>;

    /// How many of them there are, as their file claims.
    fn entities_claimed(&self, kind: EntityKind) -> u32;

    /// The games of every player, opening …
    fn crossref(&self, grouping: Grouping) -> Result<Arc<Crossref>, Error>;
}

/// Where the files of a base lie.
#[derive(Clone, Debug)]
pub struct Location<'b> {
    /// The folder; an archive if they lie in one.
    pub directory: &'b Path,
    /// The name they share, for people.
    pub name: Cow<'b, str>,
    /// Where the pictures of texts are said to lie.
    pub media_folders: &'b [PathBuf],
    /// The inside of the archive.
    pub archive: Option<&'b Arc<dyn Tree>>,
}

/// A file of a base.
#[derive(Clone, Debug)]
pub struct File {
    /// What it holds.
    pub holds: &'static str,
    /// Its extension, lower case.
    pub extension: &'static str,
    /// Where it lies or would lie.
    pub path: PathBuf,
    /// Its length in bytes; `None` if the base has none.
    pub bytes: Option<u64>,
    /// Whether nothing is missed where there is none.
    pub is_rare: bool,
}

/// Where the file of this extension lies or would lie; that of headers, the
/// first, for an extension that none has.
pub fn path_of<'f>(files: &'f [File], extension: &str) -> &'f Path {
    let mut all = files.iter();
    let file = all.find(|file| file.extension.eq_ignore_ascii_case(extension));
    file.or(files.first())
        .map_or(Path::new(""), |file| &file.path)
}

/// The extension that a path has, as the files of the base do; that of headers
/// for others.
pub fn extension_of(files: &[File], path: &Path) -> &'static str {
    let extension = path.extension().unwrap_or_default();
    let mut all = files.iter();
    let file = all.find(|file| extension.eq_ignore_ascii_case(file.extension));
    file.or(files.first()).map_or("", |file| file.extension)
}

/// What is said of bases in the newer format.
const YOUNG: &str = "2CBH is read by published descriptions, without a whole base of ChessBase to \
try it on: if something looks wrong, please report the line of `cbfs check` with the bytes at its \
offset, never games";

/// Opens the base that `path`, any file of it, belongs to, to read it.
///
/// # Errors
///
/// [`Error`]: see [`cbh::Database::open`], [`cbh2::Database::open`].
pub fn open(path: &Path, options: &Options) -> Result<Box<dyn Base>, Error> {
    if cbh2::Family::owns(path) {
        return Ok(Box::new(cbh2::Database::open(path, options)?));
    }
    Ok(Box::new(cbh::Database::open(path, options)?))
}

/// The methods that both formats have under the same name.
macro_rules! same_in_both {
    () => {
        fn location(&self) -> Location<'_> {
            let family = self.family();
            Location {
                directory: family.directory(),
                name: family.name(),
                media_folders: family.media_folders(),
                archive: family.tree(),
            }
        }

        fn name_for(&self, extension: &str) -> String {
            self.family().name_for(extension)
        }

        fn last_id(&self) -> u32 {
            self.last_id()
        }

        fn modified(&self) -> SystemTime {
            self.modified()
        }

        fn code_page(&self) -> (CodePage, bool) {
            (self.code_page(), self.is_code_page_given())
        }

        fn size_on_disk(&self) -> u64 {
            self.size_on_disk()
        }

        fn defects(&self) -> &[Defect] {
            self.defects()
        }

        fn check(
            &self,
            progress: &dyn Fn(u64),
            report: &mut dyn FnMut(Defect),
        ) -> Result<(), Error> {
            self.check(progress, report)
        }

        fn check_whole(&self, report: &mut dyn FnMut(Defect)) -> Result<(), Error> {
            self.check_whole(report)
        }

        fn entries(
            &self,
            first: GameId,
            count: u32,
            entries: &mut Vec<Entry>,
        ) -> Result<(), Error> {
            self.entries(first, count, entries)
        }

        fn listed(&self, first: GameId, count: u32, listed: &mut Vec<Listed>) -> Result<(), Error> {
            self.listed(first, count, listed)
        }

        fn summary(&self, id: GameId) -> Result<Summary, Error> {
            self.summary(id)
        }

        fn summaries(
            &self,
            first: GameId,
            count: u32,
            all: &mut Vec<Summary>,
        ) -> Result<(), Error> {
            self.summaries(first, count, all)
        }

        fn read_game(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error> {
            self.read_game(id, decoded)
        }

        fn stored_bytes(&self, id: GameId, decoded: &mut Decoded) -> Result<u64, Error> {
            self.stored_bytes(id, decoded)
        }

        fn read_text(&self, id: GameId, text: &mut GuidingText) -> Result<(), Error> {
            self.read_text(id, text)
        }

        fn texts(&self, texts: &mut Vec<GameId>) -> Result<(), Error> {
            self.texts(texts)
        }

        fn find_games<'m>(
            &self,
            mentions: &'m HashSet<GameMention>,
        ) -> Result<HashMap<&'m GameMention, GameId>, Error> {
            self.find_games(mentions)
        }

        fn entity_names(&self, kind: EntityKind) -> Result<Arc<EntityNames>, Error> {
            self.entity_names(kind)
        }

        fn entities_claimed(&self, kind: EntityKind) -> u32 {
            self.entities_claimed(kind)
        }

        fn crossref(&self, grouping: Grouping) -> Result<Arc<Crossref>, Error> {
            self.crossref(grouping)
        }
    };
}

impl Base for cbh::Database {
    fn files(&self) -> Vec<File> {
        let family = self.family();
        let kinds = cbh::FileKind::ALL.into_iter();
        let file = |kind: cbh::FileKind| File {
            holds: kind.holds(),
            extension: kind.extension(),
            path: family.default_path(kind),
            bytes: family.length_and_time(kind).map(|(bytes, _)| bytes),
            is_rare: kind == cbh::FileKind::TopGames,
        };
        kinds.map(file).collect()
    }

    fn advice(&self) -> Option<&'static str> {
        None
    }

    fn versions(&self) -> Vec<(&'static str, u32)> {
        let (headers, extended) = self.versions();
        let mut versions = vec![("cbh", u32::from(headers))];
        versions.extend(extended.map(|version| ("cbj", version)));
        versions
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }

    fn is_as_stored(&self) -> bool {
        self.store().is_none_or(|store| {
            let is_ours = || store.changed_outside().is_ok_and(|files| files.is_empty());
            store.pending() == 0 && is_ours()
        })
    }

    same_in_both!();
}

impl Base for cbh2::Database {
    fn files(&self) -> Vec<File> {
        let family = self.family();
        let kinds = cbh2::FileKind::ALL.into_iter();
        let file = |kind: cbh2::FileKind| File {
            holds: kind.holds(),
            extension: kind.extension(),
            path: family.default_path(kind),
            bytes: family.length_and_time(kind).map(|(bytes, _)| bytes),
            is_rare: false,
        };
        kinds.map(file).collect()
    }

    fn advice(&self) -> Option<&'static str> {
        Some(YOUNG)
    }

    fn versions(&self) -> Vec<(&'static str, u32)> {
        vec![("2cbh", u32::from(self.version()))]
    }

    fn is_over(&self) -> bool {
        false
    }

    fn is_as_stored(&self) -> bool {
        true
    }

    same_in_both!();
}
