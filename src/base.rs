//! A base of games in any supported format, as the views, exports and reports
//! see it.
//!
//! The types are those of [`crate::cbh`]; the 2CBH format shares them. Each
//! method returns a large unit (a game, a range of records, all names), so the
//! cost of a call through the trait does not matter.

mod archived;
mod convert;
mod counts;
mod description;
mod explorer;
mod family;
mod folder;
mod groups;
mod headers;
mod kept_index;
mod merges;
mod on_disk;
mod once;
mod position_index;
pub mod referenced;
mod searched;
mod spellings;
pub(crate) mod texts;
mod twins;
mod writable;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

pub use self::archived::{open_any, open_archived};
pub use self::convert::{Conversion, ConvertStop, Converted, Copied, Loss, Losses, copy_archived};
pub(crate) use self::counts::RecordCounts;
pub(crate) use self::description::append_description;
pub(crate) use self::explorer::{Explorer, Scope, Selection, Unanswered};
pub use self::family::AnyFamily;
pub(crate) use self::folder::bases_in;
pub(crate) use self::groups::Groups;
pub use self::headers::{HeaderNames, HeaderRow, HeadersTsv, append_names as append_header_names};
pub(crate) use self::kept_index::KeptIndex;
pub use self::merges::{ALL_GAMES, Merged, MergedPair, Merges};
pub use self::on_disk::Writer;
pub(crate) use self::on_disk::{BaseOnDisk, Opened};
pub use self::position_index::{
    FilesState, IndexMaking, IndexState, delete_index, index_file, index_of, make_index, open_index,
};
pub use self::searched::{FindError, Searched, find};
pub use self::spellings::{Alike, Likeness, alike_names};
pub use self::twins::{AllTwins, Sameness, Twins, twins};
pub use self::writable::{read_only_after, take};
pub use crate::cbh::Error;
use crate::cbh::{
    self, CodePage, Crossref, Decoded, EntityId, EntityKind, EntityNames, Entry, GameId,
    GameMention, Grouping, GuidingText, ListedRecord, Options, Summary,
};
use crate::cbh2;
use crate::game::{Defect, Glimpse, Moments};
use crate::pgn::Permit;
use crate::storage::{FolderTree, ReadBuffer};

/// A base of games, open for reading. Any number of threads can read at once.
///
/// A method that is not documented here works as the method of the same name of
/// [`cbh::Database`]. The errors are [`Error::Io`] and, where a number is
/// given, [`Error::NotUsed`].
pub trait Base: fmt::Debug + Send + Sync {
    /// Location of its files.
    #[doc(hidden)]
    fn location(&self) -> Location<'_>;

    /// Its files, with their present lengths.
    fn files(&self) -> Vec<NamedFile>;

    /// The name that messages show for the file with this extension, without
    /// the extension: that of the base, or of the archive that contains the
    /// file.
    #[doc(hidden)]
    fn name_for(&self, extension: &str) -> String;

    /// A note for the user about the format, if support for it is new.
    fn advice(&self) -> Option<&'static str>;

    /// Number of records. Games and texts are numbered from 1 to this.
    fn last_id(&self) -> u32;

    /// Time of the last change of the header file.
    fn modified(&self) -> SystemTime;

    /// Versions of the file formats, each with the extension of its file.
    fn versions(&self) -> Vec<(&'static str, u32)>;

    /// The code page of text that is not UTF-8, and whether the user has given
    /// it.
    fn code_page(&self) -> (CodePage, bool);

    /// Total length of all its files now, in bytes.
    fn size_on_disk(&self) -> u64;

    /// Returns whether something was saved since it was opened. Reads may then
    /// mix the old and the new state.
    fn is_superseded(&self) -> bool;

    /// Returns whether all that it shows is in its files, and nothing only in
    /// the journal.
    #[doc(hidden)]
    fn is_as_stored(&self) -> bool;

    /// Fails if another program changed its files since it was opened, as far as
    /// that can be seen: then what was read of many games is a mixture.
    #[doc(hidden)]
    fn ensure_unchanged(&self) -> io::Result<()> {
        Ok(())
    }

    /// Defects of the base as a whole.
    fn defects(&self) -> &[Defect];

    /// Reports all defects, decoding all games. `progress` is given the number
    /// of games checked so far.
    fn check(&self, progress: &dyn Fn(u64), report: &mut dyn FnMut(Defect)) -> Result<(), Error>;

    /// Reports all defects except those inside of games.
    fn check_whole(&self, report: &mut dyn FnMut(Defect)) -> Result<(), Error>;

    /// Appends the used records of a range of `count` numbers.
    fn entries(&self, first: GameId, count: u32, entries: &mut Vec<Entry>) -> Result<(), Error>;

    /// Appends the used records of a range with their times, those of games with
    /// their list entry.
    #[doc(hidden)]
    fn listed(
        &self,
        first: GameId,
        count: u32,
        listed: &mut Vec<ListedRecord>,
    ) -> Result<(), Error>;

    /// Returns the headers that the records of one game hold.
    fn summary(&self, id: GameId) -> Result<Summary, Error>;

    /// Appends the summaries of the games in a range.
    fn summaries(&self, first: GameId, count: u32, all: &mut Vec<Summary>) -> Result<(), Error>;

    /// Calls `take` with the summary of each game in a range. Teams are read
    /// only if `with_teams` is set.
    #[doc(hidden)]
    fn for_each_summary(
        &self,
        ids: Range<u32>,
        with_teams: bool,
        take: &mut dyn FnMut(&Summary),
    ) -> Result<(), Error>;

    /// Decodes one game into `decoded`.
    fn read_game(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error> {
        self.read_game_weighed(id, decoded, &mut |_| ())
    }

    /// As [`read_game`](Base::read_game), but tells `weigh` before how many bytes
    /// the moves and annotations of the game take in their files.
    #[doc(hidden)]
    fn read_game_weighed(
        &self,
        id: GameId,
        decoded: &mut Decoded,
        weigh: &mut dyn FnMut(u64),
    ) -> Result<(), Error>;

    /// As [`read_game`](Base::read_game), but for the start and the moves only: the
    /// headers of the game say nothing, and it has no annotations.
    #[doc(hidden)]
    fn read_moves_only(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error>;

    /// Shows the placements at these moments of the main line of one game, until
    /// `show` returns false; perhaps more, without a question whether moves are
    /// legal. Returns false if the game must be read instead: so it is in formats
    /// where a glance would save little.
    #[doc(hidden)]
    fn glance(
        &self,
        _id: GameId,
        _decoded: &mut Decoded,
        _moments: Moments,
        _show: &mut dyn FnMut(Glimpse<'_>) -> bool,
    ) -> bool {
        false
    }

    /// As [`read_game`](Base::read_game), once the game may be rendered; returns
    /// the permit to keep until it is.
    #[doc(hidden)]
    fn read_game_to_render(&self, id: GameId, decoded: &mut Decoded) -> Result<Permit, Error> {
        let mut permit = Permit::wait_to_render(0);
        let mut wait = |stored| permit = Permit::wait_to_render(stored);
        self.read_game_weighed(id, decoded, &mut wait)?;
        Ok(permit)
    }

    /// Returns a hash of the moves and annotations of one game as stored: another
    /// one if the moves that are read from them could be others.
    #[doc(hidden)]
    fn stored_fingerprint(&self, id: GameId, buffer: &mut ReadBuffer) -> Result<u64, Error>;

    /// Reads one guiding text into `text`.
    #[doc(hidden)]
    fn read_text(&self, id: GameId, text: &mut GuidingText) -> Result<(), Error>;

    /// Appends the numbers of all guiding texts.
    #[doc(hidden)]
    fn texts(&self, texts: &mut Vec<GameId>) -> Result<(), Error>;

    /// Returns the game of each mention that exactly one game fits.
    #[doc(hidden)]
    fn find_games<'m>(
        &self,
        mentions: &'m HashSet<GameMention>,
    ) -> Result<HashMap<&'m GameMention, GameId>, Error>;

    /// The names of all entities of a kind, such as players or tournaments.
    fn entity_names(&self, kind: EntityKind) -> Result<Arc<EntityNames>, Error>;

    /// Whether there is such a player, such a team …; in a format whose entities
    /// can be read one by one, without reading the names of all.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    #[doc(hidden)]
    fn has_entity(&self, kind: EntityKind, id: EntityId) -> Result<bool, Error> {
        Ok(self.entity_names(kind)?.contains(id))
    }

    /// Number of entities of a kind, as their file claims.
    fn entities_claimed(&self, kind: EntityKind) -> u32;

    /// Returns the games of each entity of a grouping, such as each player or
    /// each opening.
    #[doc(hidden)]
    fn crossref(&self, grouping: Grouping) -> Result<Arc<Crossref>, Error>;
}

/// Location of the files of a base.
#[derive(Clone, Debug)]
pub struct Location<'b> {
    /// Folder of the files, or path of the archive that contains them.
    pub directory: &'b Path,
    /// The name that the files share, for display.
    pub name: Cow<'b, str>,
    /// Folders that may hold the pictures of texts.
    pub media_folders: &'b [PathBuf],
    /// The content of the archive, if the files are in one.
    pub archive: Option<&'b Arc<dyn FolderTree>>,
}

/// A file of a base.
#[derive(Clone, Debug)]
pub struct NamedFile {
    /// Description of its content.
    pub holds: &'static str,
    /// Its extension, lower case.
    pub extension: &'static str,
    /// Path of the file, also if it does not exist.
    pub path: PathBuf,
    /// Length in bytes; `None` if the file does not exist.
    pub bytes: Option<u64>,
    /// Whether most bases have no such file, so that its absence is normal.
    pub is_rare: bool,
}

/// Returns the path of the file with this extension, or that of the header
/// file, the first, if no file has it.
pub fn path_of<'f>(files: &'f [NamedFile], extension: &str) -> &'f Path {
    let mut all = files.iter();
    let file = all.find(|file| file.extension.eq_ignore_ascii_case(extension));
    file.or(files.first())
        .map_or(Path::new(""), |file| &file.path)
}

/// Returns the extension of `path` if a file of the base has it, or else that
/// of the header file.
pub fn extension_of(files: &[NamedFile], path: &Path) -> &'static str {
    let extension = path.extension().unwrap_or_default();
    let mut all = files.iter();
    let file = all.find(|file| extension.eq_ignore_ascii_case(file.extension));
    file.or(files.first()).map_or("", |file| file.extension)
}

/// Advice for users of the 2CBH format.
const YOUNG: &str = "2CBH is read by published descriptions, without a whole base of ChessBase to \
try it on: if something looks wrong, please report the line of `cbfs check` with the bytes at its \
offset, never games";

/// Opens a base for reading. `path` is any of its files.
///
/// # Errors
///
/// [`Error`]: see [`cbh::Database::open`], [`cbh2::Database::open`].
///
/// # Examples
///
/// ```
/// use std::path::Path;
///
/// use cbfs::cbh::{EntityKind, Options};
///
/// let path = Path::new("fixtures/cbh/sample/sample.cbh");
/// let base = cbfs::base::open(path, &Options::default())?;
/// let players = base.entity_names(EntityKind::Player)?;
/// assert!(players.iter().any(|(_, name)| name == "Anderssen, Adolf"));
/// # Ok::<(), cbfs::cbh::Error>(())
/// ```
pub fn open(path: &Path, options: &Options) -> Result<Box<dyn Base>, Error> {
    if cbh2::Family::owns(path) {
        return Ok(Box::new(cbh2::Database::open(path, options)?));
    }
    Ok(Box::new(cbh::Database::open(path, options)?))
}

/// The methods that both formats have under the same name: each calls the
/// inherent one.
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

        fn listed(
            &self,
            first: GameId,
            count: u32,
            listed: &mut Vec<ListedRecord>,
        ) -> Result<(), Error> {
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

        fn for_each_summary(
            &self,
            ids: Range<u32>,
            with_teams: bool,
            take: &mut dyn FnMut(&Summary),
        ) -> Result<(), Error> {
            self.for_each_summary(ids, with_teams, take)
        }

        fn read_game_weighed(
            &self,
            id: GameId,
            decoded: &mut Decoded,
            weigh: &mut dyn FnMut(u64),
        ) -> Result<(), Error> {
            self.read_game_weighed(id, decoded, weigh)
        }

        fn read_moves_only(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error> {
            self.read_moves_only(id, decoded)
        }

        fn stored_fingerprint(&self, id: GameId, buffer: &mut ReadBuffer) -> Result<u64, Error> {
            self.stored_fingerprint(id, buffer)
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
    fn has_entity(&self, kind: EntityKind, id: EntityId) -> Result<bool, Error> {
        self.has_entity(kind, id)
    }

    fn glance(
        &self,
        id: GameId,
        decoded: &mut Decoded,
        moments: Moments,
        show: &mut dyn FnMut(Glimpse<'_>) -> bool,
    ) -> bool {
        self.glance(id, decoded, moments, show)
    }

    fn files(&self) -> Vec<NamedFile> {
        let family = self.family();
        let kinds = cbh::FileKind::ALL.into_iter();
        let file = |kind: cbh::FileKind| NamedFile {
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

    fn is_superseded(&self) -> bool {
        self.is_superseded()
    }

    fn is_as_stored(&self) -> bool {
        self.store()
            .is_none_or(|store| store.pending() == 0 && store.ensure_unchanged_outside().is_ok())
    }

    fn ensure_unchanged(&self) -> io::Result<()> {
        let checked = self.store().map(|store| store.ensure_unchanged_outside());
        checked.unwrap_or(Ok(())).map_err(|error| {
            let why = format!("the games are a mixture of before and after: {error}");
            io::Error::other(why)
        })
    }

    same_in_both!();
}

impl Base for cbh2::Database {
    fn files(&self) -> Vec<NamedFile> {
        let family = self.family();
        let kinds = cbh2::FileKind::ALL.into_iter();
        let file = |kind: cbh2::FileKind| NamedFile {
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

    fn is_superseded(&self) -> bool {
        false
    }

    fn is_as_stored(&self) -> bool {
        true
    }

    same_in_both!();
}
