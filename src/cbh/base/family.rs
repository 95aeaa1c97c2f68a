//! The set of files of one base, with their paths.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::stray_journal;
use crate::cbh::Error;
use crate::storage::{
    self, DiskDirectory, FileFilter, FolderTree, LeftOut, MOST_NAME, Store, StoreAccess,
    StoreOptions, folder_of, is_same_stem, join_name, length_and_time, names_in, split_name,
};

/// How the name of a journal ends.
const JOURNAL_ENDING: &str = ".cbfs-journal";

/// A file of a base, by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum FileKind {
    /// `.cbh`: a record per game or text.
    Headers,
    /// `.cbg`: moves and texts.
    Moves,
    /// `.cba`: annotations.
    Annotations,
    /// `.cbp`: players.
    Players,
    /// `.cbt`: tournaments.
    Tournaments,
    /// `.cbc`: annotators.
    Annotators,
    /// `.cbs`: sources.
    Sources,
    /// `.cbj`: more of each game.
    Extended,
    /// `.cbe`: teams.
    Teams,
    /// `.cbl`: labels of games.
    Tags,
    /// `.cbtt`: more of each tournament.
    TournamentExtras,
    /// `.flags`: which games are top games.
    TopGames,
}

impl FileKind {
    /// All kinds that cbfs reads, the required ones first.
    pub const ALL: [FileKind; 12] = [
        FileKind::Headers,
        FileKind::Moves,
        FileKind::Annotations,
        FileKind::Players,
        FileKind::Tournaments,
        FileKind::Annotators,
        FileKind::Sources,
        FileKind::Extended,
        FileKind::Teams,
        FileKind::Tags,
        FileKind::TournamentExtras,
        FileKind::TopGames,
    ];

    /// The extension, lower case.
    pub fn extension(self) -> &'static str {
        match self {
            FileKind::Headers => "cbh",
            FileKind::Moves => "cbg",
            FileKind::Annotations => "cba",
            FileKind::Players => "cbp",
            FileKind::Tournaments => "cbt",
            FileKind::Annotators => "cbc",
            FileKind::Sources => "cbs",
            FileKind::Extended => "cbj",
            FileKind::Teams => "cbe",
            FileKind::Tags => "cbl",
            FileKind::TournamentExtras => "cbtt",
            FileKind::TopGames => "flags",
        }
    }

    /// Description of its content, for messages.
    pub fn holds(self) -> &'static str {
        match self {
            FileKind::Headers => "game headers",
            FileKind::Moves => "moves",
            FileKind::Annotations => "annotations",
            FileKind::Players => "players",
            FileKind::Tournaments => "tournaments",
            FileKind::Annotators => "annotators",
            FileKind::Sources => "sources",
            FileKind::Extended => "extended headers",
            FileKind::Teams => "teams",
            FileKind::Tags => "labels",
            FileKind::TournamentExtras => "tournament details",
            FileKind::TopGames => "top games",
        }
    }

    /// Returns whether a base cannot be read without it.
    pub fn is_required(self) -> bool {
        (self as u8) < FileKind::Extended as u8
    }
}

/// Further extensions of files of a base. The name of such a file names the
/// base, too.
const COMPANIONS: [&str; 12] = [
    "cbm", "cbgi", "cbb", "cit", "cib", "cit2", "cib2", "ini", "cko", "cpo", "cbi", "ico",
];

/// Extensions of ChessBase's search caches. They are stale as soon as a game
/// changes; ChessBase makes missing ones again.
const BOOSTERS: [&str; 6] = ["cbgi", "cbb", "cit", "cib", "cit2", "cib2"];

/// Similar kinds of files that are none of a CBH base, with a description.
const FOREIGN: [(&str, &str); 17] = [
    (
        "2cbh",
        "a base in the 2CBH format of ChessBase 17, which cbfs reads and does not change or pack; `cbfs convert` makes a CBH base of it",
    ),
    (
        "cbv",
        "a ChessBase archive, which is read-only: unpack it with `cbfs unpack` and name the .cbh in it",
    ),
    (
        "cbz",
        "a ChessBase archive with a password, which is read-only: unpack it with `cbfs unpack` and name the .cbh in it",
    ),
    (
        "cbf",
        "a base in the old CBF format, which cbfs does not read; convert it to CBH in ChessBase",
    ),
    (
        "cbone",
        "a ChessBase single-file base, which cbfs does not read; convert it to CBH in ChessBase",
    ),
    (
        "pgn",
        "a PGN file, not a base; `cbfs convert` makes a base of it, `cbfs import` appends its games to one",
    ),
    ("si4", OF_SCID),
    ("sg4", OF_SCID),
    ("sn4", OF_SCID),
    ("si5", OF_SCID),
    ("ctg", OF_BOOK),
    ("cto", OF_BOOK),
    ("ctb", OF_BOOK),
    ("kob", OF_BOOK),
    ("kin", OF_BOOK),
    ("ksf", OF_BOOK),
    (
        "bin",
        "a Polyglot book, which cbfs does not read; `cbfs export --format polyglot` writes one",
    ),
];

/// Description of the files of a database of Scid.
const OF_SCID: &str = "a database of Scid, which cbfs does not read; export it as PGN in Scid, then `cbfs convert` makes a base of that";

/// Description of the files of an opening book.
const OF_BOOK: &str =
    "an opening book, not a base; `cbfs mount` shows its positions, `cbfs export` writes them";

/// Extensions of the folders with the pictures of texts: since `ChessBase` 9,
/// and before.
pub(crate) const MEDIA_FOLDERS: [&str; 2] = ["html", "bmp"];

/// What a folder of pictures is that does not count, for messages.
pub(crate) const SPARE_FOLDER: &str = "a second folder of this name, in other letter case";

/// Paths of the files of a base, in any letter case.
///
/// If several `.cbh` in a folder have names that are equal except for letter
/// case, each base has only the files with exactly the name of its `.cbh`. No
/// file belongs to two bases.
#[derive(Clone, Debug)]
pub struct Family {
    directory: PathBuf,
    stem: OsString,
    /// Whether another `.cbh` has the same stem in another letter case.
    has_twin: bool,
    paths: [Option<PathBuf>; FileKind::ALL.len()],
    boosters: Vec<PathBuf>,
    media_folders: Vec<PathBuf>,
    spare_folders: LeftOut,
    /// The folder of the files at `directory`, if it is not on disk.
    inside: Option<Arc<dyn FolderTree>>,
}

impl Family {
    /// Locates the base of the file `path`, in any letter case, following
    /// links.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for files of another kind, [`Error::Missing`]
    /// if there is no such base or a required file is absent, [`Error::Io`]
    /// if the directory cannot be listed.
    pub fn locate(path: &Path) -> Result<Family, Error> {
        if path.is_dir() {
            return Err(unsupported(path, "a directory; name the .cbh of a base"));
        }
        let path = &resolved(path)?;
        // A file of another kind is rejected before the folder is read.
        ensure_known(path)?;
        let directory = folder_of(path);
        let names = names_in(directory).map_err(|source| Error::Io {
            file: path.clone(),
            source,
        })?;
        Family::among(path, names).map_err(|error| as_named(path, error))
    }

    /// As [`locate`](Family::locate), with the files that `store` shows: some
    /// may be in its journal only.
    ///
    /// # Errors
    ///
    /// As [`locate`](Family::locate).
    pub fn in_store(path: &Path, store: &Store) -> Result<Family, Error> {
        let mut family = Family::locate(path)?;
        family.keep(|name| Ok(store.file(name)?.is_some()))?;
        Ok(family)
    }

    /// Keeps only the files that exist according to `is_there`.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if a required file does not exist; errors of
    /// `is_there`.
    pub(in crate::cbh) fn keep(
        &mut self,
        is_there: impl Fn(&OsStr) -> Result<bool, storage::Error>,
    ) -> Result<(), Error> {
        for kind in FileKind::ALL {
            let usual = self.default_path(kind);
            let name = usual.file_name().unwrap_or_default();
            let is_there = is_there(name).map_err(self.store_error())?;
            if let Some(place) = self.paths.get_mut(kind as usize) {
                *place = is_there.then_some(usual);
            }
        }
        self.ensure_complete()
    }

    /// As [`locate`](Family::locate), in a folder with files of these names.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for files of another kind, [`Error::Missing`]
    /// if there is no such base or a required file is absent.
    pub fn among(path: &Path, names: impl IntoIterator<Item = OsString>) -> Result<Family, Error> {
        ensure_known(path)?;
        let mut family = Family {
            paths: [const { None }; FileKind::ALL.len()],
            boosters: Vec::new(),
            media_folders: Vec::new(),
            spare_folders: LeftOut::new(),
            inside: None,
            directory: folder_of(path).to_path_buf(),
            stem: split_name(path).0,
            has_twin: false,
        };
        family.find_members(names);
        family.ensure_complete()?;
        Ok(family)
    }

    /// Locates the base in `tree`, the read-only content of the archive `path`.
    /// `headers` is its `.cbh`.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if a required file is absent.
    pub fn inside(
        path: &Path,
        headers: &OsStr,
        tree: Arc<dyn FolderTree>,
    ) -> Result<Family, Error> {
        let mut family = Family::among(&path.join(headers), tree.names())?;
        family.inside = Some(tree);
        Ok(family)
    }

    /// The folder of the files, if it is not on disk.
    pub fn tree(&self) -> Option<&Arc<dyn FolderTree>> {
        self.inside.as_ref()
    }

    /// Length of a file and time of its last change; `None` if it does not
    /// exist.
    pub fn length_and_time(&self, kind: FileKind) -> Option<(u64, SystemTime)> {
        length_and_time(self.path(kind)?, self.inside.as_deref())
    }

    fn ensure_complete(&self) -> Result<(), Error> {
        let mut kinds = FileKind::ALL.into_iter();
        match kinds.find(|kind| kind.is_required() && self.path(*kind).is_none()) {
            Some(kind) => Err(Error::Missing {
                file: self.default_path(kind),
                holds: kind.holds(),
            }),
            None => Ok(()),
        }
    }

    /// Opens the files of the base with the saves in its journal. `label` is
    /// what a second writer is told about this one, such as a mountpoint. A
    /// reader ignores a journal that is unreadable, does not belong to the base
    /// or was left by another user; the log says so.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]; [`Error::Io`].
    pub fn store(&self, access: StoreAccess, label: &str) -> Result<Store, Error> {
        if let Some(tree) = &self.inside {
            return self.store_inside(Arc::clone(tree), access);
        }
        let directory = self.open_directory().map_err(|source| Error::Io {
            file: self.directory.clone(),
            source,
        })?;
        if access == StoreAccess::ReadWrite {
            self.ensure_sole_names(&directory)?;
            self.ensure_room_for_journal()?;
        }
        let opened = match self.open_store(&directory, access, label) {
            Err(error)
                if access == StoreAccess::ReadOnly && is_left_aside(&error, &self.journal()) =>
            {
                let error = self.store_error()(error);
                log::warn!("{error}; the base is read without it");
                self.open_store(&directory, StoreAccess::WithoutJournal, label)
            }
            opened => opened,
        };
        opened.map_err(self.store_error())
    }

    /// As [`store`](Family::store), for reading all saves: an unusable journal
    /// is an error.
    ///
    /// # Errors
    ///
    /// As [`store`](Family::store).
    pub fn store_with_journal(&self) -> Result<Store, Error> {
        let directory = self.open_directory().map_err(|source| Error::Io {
            file: self.directory.clone(),
            source,
        })?;
        let opened = self.open_store(&directory, StoreAccess::ReadOnly, "");
        opened.map_err(self.store_error())
    }

    fn open_store(
        &self,
        directory: &DiskDirectory,
        access: StoreAccess,
        label: &str,
    ) -> Result<Store, storage::Error> {
        // A base whose name is too long for a journal has none.
        let access = match access {
            StoreAccess::ReadOnly if self.journal().len() > MOST_NAME => {
                StoreAccess::WithoutJournal
            }
            access => access,
        };
        let opening = StoreOptions {
            journal: &self.journal(),
            label,
            access,
            file_filter: self.file_filter(),
        };
        let lost = stray_journal::lost_in(&self.directory, directory);
        stray_journal::warn(&self.directory, &lost);
        let is_of_this = |former: &&OsString| {
            let journal = Family::journal_of(former);
            storage::has_saves_for(directory, &journal, &|name| self.renamed(name, former))
        };
        match lost.iter().find(is_of_this) {
            Some(former) if access == StoreAccess::ReadWrite => Err(storage::Error::Renamed {
                journal: Family::journal_of(former),
                former: former.clone(),
            }),
            _ => Store::open(Arc::new(directory.clone()), &opening),
        }
    }

    /// The name that a file has if the base was named `former` and was renamed since.
    fn renamed(&self, name: &OsStr, former: &OsStr) -> OsString {
        match name.as_bytes().strip_prefix(former.as_bytes()) {
            Some(rest @ [b'.', ..]) => {
                let mut renamed = self.stem.clone();
                renamed.push(OsStr::from_bytes(rest));
                renamed
            }
            _ => name.to_owned(),
        }
    }

    /// As [`store`](Family::store), for a base in an archive: it has no
    /// journal.
    fn store_inside(&self, tree: Arc<dyn FolderTree>, access: StoreAccess) -> Result<Store, Error> {
        if access == StoreAccess::ReadWrite {
            return Err(self.store_error()(storage::Error::ReadOnly));
        }
        let opening = StoreOptions {
            journal: &self.journal(),
            label: "",
            access: StoreAccess::WithoutJournal,
            file_filter: self.file_filter(),
        };
        Store::open(tree, &opening).map_err(self.store_error())
    }

    fn open_directory(&self) -> io::Result<DiskDirectory> {
        let headers = self.default_path(FileKind::Headers);
        DiskDirectory::open(&self.directory, headers.file_name().unwrap_or_default())
    }

    /// Checks that no file has several names: the save could not be completed,
    /// since such a file is not written.
    fn ensure_sole_names(&self, directory: &DiskDirectory) -> Result<(), Error> {
        for path in self.paths.iter().flatten() {
            let name = path.file_name().unwrap_or_default();
            directory
                .ensure_sole_name(name)
                .map_err(|source| Error::Io {
                    file: path.clone(),
                    source,
                })?;
        }
        Ok(())
    }

    /// Returns a function that adds the path of the base to an error of its
    /// store.
    pub(in crate::cbh) fn store_error(&self) -> impl Fn(storage::Error) -> Error {
        let base = self.default_path(FileKind::Headers);
        move |error| match error {
            storage::Error::Io { file, source } => Error::Io {
                file: base.with_file_name(file),
                source,
            },
            source => Error::Store {
                base: base.clone(),
                source,
            },
        }
    }

    /// The names of the files that the base may have.
    fn file_filter(&self) -> FileFilter {
        let family = self.clone();
        FileFilter::new(move |name| family.owns(name))
    }

    /// Returns whether a file of this name may belong to the base.
    fn owns(&self, name: &OsStr) -> bool {
        let (stem, extension) = split_name(Path::new(name));
        let mut kinds = FileKind::ALL.into_iter();
        self.has_stem(&stem)
            && (kinds.any(|kind| kind.extension() == extension)
                || BOOSTERS.contains(&extension.as_str()))
    }

    /// Returns why the base cannot be changed; `None` if it can. All its files
    /// must be writable, also by their modes, and its folder; and no file may
    /// have a second name.
    pub fn read_only_because(&self) -> Option<String> {
        if self.inside.is_some() {
            return Some(format!(
                "{}: an archive is read-only; unpack it with `cbfs unpack` to change the base",
                self.directory.display()
            ));
        }
        let (path, why) = match self.open_directory() {
            Ok(directory) => self.unwritable_because(&directory)?,
            Err(error) => (self.directory.clone(), error.to_string()),
        };
        Some(format!("{}: {why}", path.display()))
    }

    /// Fails if the name is too long to add the suffix of the journal.
    fn ensure_room_for_journal(&self) -> Result<(), Error> {
        let because = self.too_long_because();
        because.map_or(Ok(()), |why| {
            Err(Error::Io {
                file: self.default_path(FileKind::Headers),
                source: io::Error::new(io::ErrorKind::PermissionDenied, why),
            })
        })
    }

    fn too_long_because(&self) -> Option<String> {
        let len = self.journal().len();
        (len > MOST_NAME).then(|| {
            let most = MOST_NAME - (len - self.stem.len());
            format!(
                "its name is too long to be changed, since the journal beside it has a longer \
                 one; give its files a name of at most {most} bytes"
            )
        })
    }

    /// Returns the first file that prevents changes, with the reason.
    fn unwritable_because(&self, directory: &DiskDirectory) -> Option<(PathBuf, String)> {
        if let Some(why) = self.too_long_because() {
            return Some((self.default_path(FileKind::Headers), why));
        }
        let journal = self.journal();
        let note = storage::stage_note(&journal);
        let beside = [journal, note].map(|name| self.directory.join(name));
        for path in self.paths.iter().flatten().chain(&beside) {
            let name = path.file_name().unwrap_or_default();
            if let Some(why) = directory.unwritable_because(name) {
                return Some((path.clone(), why));
            }
        }
        let closed = directory.closed_because();
        closed.map(|why| (self.directory.clone(), why))
    }

    /// Returns whether files of this stem belong to the base.
    pub(in crate::cbh) fn has_stem(&self, stem: &OsStr) -> bool {
        stem == self.stem || (!self.has_twin && is_same_stem(stem, &self.stem))
    }

    /// Finds the files of the base in any letter case. Files in the letter case
    /// of the `.cbh` are preferred.
    fn find_members(&mut self, names: impl IntoIterator<Item = OsString>) {
        let alike = names.into_iter().filter_map(|name| {
            let (stem, extension) = split_name(Path::new(&name));
            is_same_stem(&stem, &self.stem).then_some((name, stem, extension))
        });
        let mut alike: Vec<_> = alike.collect();
        // The order must not depend on the folder: extensions in lower case
        // come first.
        alike.sort_by(|one, other| other.0.cmp(&one.0));
        let mut stems: Vec<&OsString> = alike
            .iter()
            .filter(|(_, _, extension)| extension == FileKind::Headers.extension())
            .map(|(_, stem, _)| stem)
            .collect();
        stems.dedup();
        self.has_twin = stems.len() > 1;
        if let Some(first) = stems.first().copied()
            && !stems.contains(&&self.stem)
        {
            self.stem.clone_from(first);
        }
        let mut folders = [const { None }; MEDIA_FOLDERS.len()];
        // Exact ones first.
        alike.sort_by_key(|(_, stem, _)| *stem != self.stem);
        for (name, stem, extension) in alike {
            let path = self.directory.join(name);
            if !self.has_stem(&stem) {
                continue;
            }
            if BOOSTERS.contains(&extension.as_str()) {
                self.boosters.push(path);
                continue;
            }
            let kinds = FileKind::ALL.into_iter().map(FileKind::extension);
            let files = kinds.zip(&mut self.paths);
            for (known, place) in files.chain(MEDIA_FOLDERS.into_iter().zip(&mut folders)) {
                if known == extension && place.is_none() {
                    *place = Some(path.clone());
                } else if known == extension && MEDIA_FOLDERS.contains(&known) {
                    self.spare_folders.push((path.clone(), SPARE_FOLDER));
                }
            }
        }
        self.media_folders = folders.into_iter().flatten().collect();
    }

    /// Paths of ChessBase's search caches, existing or not, which must be
    /// removed before a game changes.
    pub fn boosters(&self) -> Vec<PathBuf> {
        let usual = BOOSTERS.map(|extension| {
            let name = join_name(&self.stem, extension);
            self.directory.join(name)
        });
        let mut boosters = self.boosters.clone();
        boosters.extend(usual);
        boosters.sort();
        boosters.dedup();
        boosters
    }

    /// Paths of the folders with the pictures of texts, if something has their
    /// name.
    pub fn media_folders(&self) -> &[PathBuf] {
        &self.media_folders
    }

    /// Those whose names differ from one of the media folders only in letter
    /// case. They do not count.
    pub(crate) fn spare_folders(&self) -> &[(PathBuf, &'static str)] {
        &self.spare_folders
    }

    /// Path of a file; `None` if the base has none.
    pub fn path(&self, kind: FileKind) -> Option<&Path> {
        self.paths.get(kind as usize)?.as_deref()
    }

    /// Path of a file, also if it does not exist.
    pub fn default_path(&self, kind: FileKind) -> PathBuf {
        self.path(kind).map_or_else(
            || self.directory.join(join_name(&self.stem, kind.extension())),
            Path::to_path_buf,
        )
    }

    /// Name of the journal beside the base. It is the same for all letter cases
    /// of the name of the base.
    pub fn journal(&self) -> OsString {
        Family::journal_of(&self.stem)
    }

    /// The name of the journal of a base with this stem.
    pub(in crate::cbh) fn journal_of(stem: &OsStr) -> OsString {
        let mut name = OsString::from(".");
        name.push(stem);
        name.push(JOURNAL_ENDING);
        name
    }

    /// The stem of the base whose journal has this name, if it is one of a journal.
    pub(super) fn stem_of_journal(name: &OsStr) -> Option<&OsStr> {
        let stem = name.as_bytes().strip_prefix(b".")?;
        stem.strip_suffix(JOURNAL_ENDING.as_bytes())
            .map(OsStr::from_bytes)
    }

    /// Returns whether a save of the base may change a file, judged by its
    /// name.
    pub fn is_file_of(cbh: &Path, file: &Path) -> bool {
        let (stem, extension) = split_name(file);
        let mut kinds = FileKind::ALL.iter().map(|kind| kind.extension());
        is_same_stem(&stem, &split_name(cbh).0)
            && (kinds.any(|known| known == extension) || COMPANIONS.contains(&extension.as_str()))
    }

    /// Returns whether a base with this `.cbh` would take something for its own
    /// that is none of its files: a folder of pictures, or a journal or its note.
    pub(in crate::cbh) fn would_inherit(cbh: &Path, path: &Path) -> bool {
        let (stem, extension) = split_name(path);
        let own = split_name(cbh).0;
        let journal = Family::journal_of(&own);
        let note = storage::stage_note(&journal);
        let is_hidden = [journal, note].iter().any(|name| path.ends_with(name));
        is_hidden
            || (is_same_stem(&stem, &own)
                && MEDIA_FOLDERS.contains(&extension.as_str())
                && path.is_dir())
    }

    /// The name that the files share, for display: bytes that are not UTF-8 are
    /// replaced.
    pub fn name(&self) -> Cow<'_, str> {
        self.stem.to_string_lossy()
    }

    /// The name that messages show before the extension of a file: that of the
    /// base, or of the archive that contains it.
    pub fn name_for(&self, extension: &str) -> String {
        let outer = split_name(&self.directory);
        match &self.inside {
            Some(_) if outer.1 == extension => outer.0.to_string_lossy().into_owned(),
            _ => self.name().into_owned(),
        }
    }

    /// The directory of the base.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Returns whether a base can be read in spite of this error: it is about a
/// journal or note that does not belong to the base or was left by another
/// user.
fn is_left_aside(error: &storage::Error, journal: &OsStr) -> bool {
    use storage::Error::{DoesNotFit, Unreadable, Untrusted};
    match error {
        Untrusted { .. } | Unreadable { .. } | DoesNotFit { .. } => true,
        storage::Error::Io { file, source } => {
            let is_kept_secret = source.kind() == io::ErrorKind::PermissionDenied;
            is_kept_secret && (file == journal || *file == storage::stage_note(journal))
        }
        _ => false,
    }
}

/// Resolves a path given by the user: follows links, also if the name is in
/// another letter case.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf, Error> {
    let named = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => in_any_case(path),
        _ => Some(path.to_path_buf()),
    };
    let named = named.unwrap_or_else(|| path.to_path_buf());
    if !named.is_symlink() {
        return Ok(path.to_path_buf());
    }
    let led = named.canonicalize();
    led.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            let to = fs::read_link(&named).unwrap_or_default();
            let what = format!("a link to {}, which is not there", to.display());
            unsupported(&named, &what)
        }
        _ => Error::Io {
            file: named,
            source,
        },
    })
}

/// The same error, with a missing file called as the user named it.
pub(crate) fn as_named(path: &Path, error: Error) -> Error {
    match error {
        Error::Missing { file, holds } if split_name(&file) == split_name(path) => Error::Missing {
            file: path.to_path_buf(),
            holds,
        },
        error => error,
    }
}

/// Returns the existing path with this name in any letter case.
fn in_any_case(path: &Path) -> Option<PathBuf> {
    let wanted = split_name(path);
    let directory = folder_of(path);
    let mut names = names_in(directory).ok()?;
    names.sort();
    let name = names.into_iter().find(|name| {
        let (stem, extension) = split_name(Path::new(name));
        extension == wanted.1 && is_same_stem(&stem, &wanted.0)
    })?;
    Some(directory.join(name))
}

/// Rejects a path that is not a file of a base.
fn ensure_known(path: &Path) -> Result<(), Error> {
    let (_, extension) = split_name(path);
    if let Some((_, what)) = FOREIGN.iter().find(|(foreign, _)| *foreign == extension) {
        return Err(unsupported(path, what));
    }
    let mut kinds = FileKind::ALL.iter().map(|kind| kind.extension());
    if kinds.any(|known| known == extension) || COMPANIONS.contains(&extension.as_str()) {
        return Ok(());
    }
    Err(unsupported(
        path,
        "not a file of a ChessBase base; name its .cbh",
    ))
}

fn unsupported(path: &Path, what: &str) -> Error {
    Error::Unsupported {
        file: path.to_path_buf(),
        what: what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::storage::MemoryDirectory;

    #[test]
    fn a_base_inside_an_archive_has_its_own_name_and_that_of_the_archive() {
        let tree = MemoryDirectory::new();
        for kind in FileKind::ALL {
            tree.put(format!("Base.{}", kind.extension()), *b"four");
        }
        let (archive, headers) = (Path::new("/a/Games.cbv"), OsStr::new("Base.cbh"));
        let family = Family::inside(archive, headers, Arc::new(tree)).unwrap();
        let names = ["cbv", "cbh"].map(|extension| family.name_for(extension));
        assert_eq!(names, ["Games", "Base"]);
        assert_eq!(family.length_and_time(FileKind::Moves).unwrap().0, 4);
        assert!(family.tree().is_some());
        let store = family.store(StoreAccess::ReadOnly, "").unwrap();
        assert!(store.file(headers).unwrap().is_some());
        let refused = family.store(StoreAccess::ReadWrite, "").unwrap_err();
        let source = storage::Error::ReadOnly;
        assert!(refused.to_string().ends_with(&source.to_string()));
        let folder = tempfile::tempdir().unwrap();
        let alone = Family::locate(&plant(folder.path(), b"Other")).unwrap();
        assert_eq!(alone.name_for("cbh"), "Other");
    }

    #[test]
    fn a_base_has_one_journal_in_whatever_case_it_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for kind in FileKind::ALL.into_iter().filter(|kind| kind.is_required()) {
            fs::write(at("Base.").with_extension(kind.extension()), "").unwrap();
        }
        for name in ["Base.cbh", "BASE.CBH", "base.cbg"] {
            let family = Family::locate(&at(name)).unwrap();
            assert_eq!(family.journal(), ".Base.cbfs-journal", "{name}");
            assert!(family.has_stem(OsStr::new("BASE")), "{name}");
            assert!(!family.has_stem(OsStr::new("Bases")), "{name}");
            assert_eq!(family.default_path(FileKind::Teams), at("Base.cbe"));
        }
    }

    fn plant(directory: &Path, stem: &[u8]) -> PathBuf {
        let file = |kind: FileKind| {
            let name = join_name(OsStr::from_bytes(stem), kind.extension());
            directory.join(name)
        };
        for kind in FileKind::ALL {
            fs::write(file(kind), "").unwrap();
        }
        file(FileKind::Headers)
    }

    #[test]
    fn names_that_are_not_utf8_are_names_of_different_bases() {
        let directory = tempfile::tempdir().unwrap();
        let stems = [
            &b"b\xe9"[..],
            b"b\xe8",
            b"b\xe8\xff",
            "b\u{fffd}".as_bytes(),
        ];
        let paths = stems.map(|stem| plant(directory.path(), stem));
        for (stem, path) in stems.into_iter().zip(&paths) {
            let family = Family::locate(path).unwrap();
            for kind in FileKind::ALL {
                let file = family.path(kind).unwrap();
                assert_eq!(file.file_stem().unwrap().as_bytes(), stem);
            }
            let journal = [b".", stem, b".cbfs-journal"].concat();
            assert_eq!(family.journal().as_bytes(), journal);
            for other in paths.iter().filter(|other| *other != path) {
                assert!(!family.owns(other.file_name().unwrap()), "{other:?}");
                assert!(!Family::is_file_of(path, other), "{other:?}");
            }
            let mut boosters = family.boosters().into_iter();
            assert!(boosters.all(|path| path.file_stem().unwrap().as_bytes() == stem));
        }
        fs::remove_file(paths[0].with_extension("cbe")).unwrap();
        let family = Family::locate(&paths[0]).unwrap();
        assert_eq!(family.path(FileKind::Teams), None);
        assert_eq!(
            family.default_path(FileKind::Teams),
            paths[0].with_extension("cbe")
        );
    }

    #[test]
    fn twins_in_letter_case_have_no_file_in_common() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let [small, large] = [b"ab", b"AB"].map(|stem| plant(directory.path(), stem));
        for name in ["ab.cbgi", "AB.CIT", "Ab.cib"] {
            fs::write(at(name), "").unwrap();
        }
        fs::remove_file(at("ab.cbe")).unwrap();
        fs::remove_file(at("AB.cbj")).unwrap();
        fs::create_dir(at("AB.html")).unwrap();
        let of_small = Family::locate(&small).unwrap();
        assert_eq!(of_small.path(FileKind::Teams), None);
        assert_eq!(of_small.path(FileKind::Extended), Some(&*at("ab.cbj")));
        assert_eq!(of_small.media_folders(), [""; 0].map(PathBuf::from));
        let of_large = Family::locate(&large).unwrap();
        assert_eq!(of_large.path(FileKind::Teams), Some(&*at("AB.cbe")));
        assert_eq!(of_large.path(FileKind::Extended), None);
        assert_eq!(of_large.media_folders(), [at("AB.html")]);
        assert_ne!(of_small.journal(), of_large.journal());
        for name in ["AB.cbe", "AB.CIT", "Ab.cib"] {
            assert!(!of_small.owns(OsStr::new(name)), "{name}");
            assert!(!of_small.boosters().contains(&at(name)), "{name}");
        }
        assert!(of_small.boosters().contains(&at("ab.cbgi")));
        assert!(of_large.boosters().contains(&at("AB.CIT")));
        // A base without a twin has its files in any letter case.
        fs::remove_file(&small).unwrap();
        let alone = Family::locate(&large).unwrap();
        assert_eq!(alone.path(FileKind::Extended), Some(&*at("ab.cbj")));
        assert!(alone.boosters().contains(&at("Ab.cib")));
    }

    #[test]
    fn a_base_has_the_same_files_however_it_was_named() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        plant(directory.path(), b"a");
        for name in ["a.CBH", "a.Cbg", "A.cbg"] {
            fs::write(at(name), "").unwrap();
        }
        for name in ["a.CBH", "a.cbh", "A.cbg", "a.Cbg"] {
            let family = Family::locate(&at(name)).unwrap();
            assert_eq!(family.default_path(FileKind::Headers), at("a.cbh"));
            assert_eq!(family.default_path(FileKind::Moves), at("a.cbg"));
        }
    }

    #[test]
    fn what_keeps_a_base_from_being_changed_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let path = plant(directory.path(), b"Base");
        let because = |path: &Path| Family::locate(path).unwrap().read_only_because();
        assert_eq!(because(&path), None);
        let why = |name: &str, why| Some(format!("{}: {why}", at(name).display()));
        let set_mode = |name, mode| fs::set_permissions(at(name), Permissions::from_mode(mode));
        let to_nobody = "its mode lets nobody write it";
        for name in ["Base.cbg", ".Base.cbfs-journal"] {
            fs::write(at(name), "").unwrap();
            set_mode(name, 0o444).unwrap();
            assert_eq!(because(&path), why(name, to_nobody));
            set_mode(name, 0o644).unwrap();
        }
        set_mode(".", 0o555).unwrap();
        let folder = directory.path().display();
        assert_eq!(because(&path), Some(format!("{folder}: {to_nobody}")));
        set_mode(".", 0o755).unwrap();
        assert_eq!(because(&path), None);
        // With the journal's name the longest one is full.
        let most = MOST_NAME - Family::journal_of(OsStr::new("")).len();
        for (len, is_writable) in [(most, true), (most + 1, false)] {
            let path = plant(directory.path(), &vec![b'x'; len]);
            assert_eq!(because(&path).is_none(), is_writable);
            let told = because(&path).unwrap_or_default();
            let most = format!("at most {most} bytes");
            assert!(is_writable || told.contains(&most), "{told}");
            let family = Family::locate(&path).unwrap();
            assert_eq!(family.ensure_room_for_journal().is_ok(), is_writable);
        }
    }

    #[test]
    fn a_base_is_read_without_a_journal_that_is_of_no_use() {
        let folder = crate::cbh::base::copy_of_sample();
        let family = Family::locate(&folder.path().join("sample.cbh")).unwrap();
        let journal = family.journal();
        let opens = |access| family.store(access, "").is_ok();
        let all = || {
            let accesses = [StoreAccess::ReadOnly, StoreAccess::ReadWrite];
            (accesses.map(opens), family.store_with_journal().is_ok())
        };
        assert_eq!(all(), ([true, true], true));
        fs::write(folder.path().join(&journal), "no journal").unwrap();
        assert_eq!(all(), ([true, false], false));
        let is_left_aside = |file: &OsStr, kind: io::ErrorKind| {
            let (file, source) = (file.to_owned(), kind.into());
            super::is_left_aside(&storage::Error::Io { file, source }, &journal)
        };
        let (denied, other) = (io::ErrorKind::PermissionDenied, io::ErrorKind::NotFound);
        for name in [&journal, &storage::stage_note(&journal)] {
            assert_eq!(
                [denied, other].map(|kind| is_left_aside(name, kind)),
                [true, false]
            );
        }
        assert!(!is_left_aside(OsStr::new("sample.cbh"), denied));
    }

    #[test]
    fn names_tell_what_belongs_to_a_base() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let path = plant(folder.path(), b"Base");
        fs::create_dir(at("base.html")).unwrap();
        fs::write(at("base.bmp"), "no folder").unwrap();
        let family = Family::locate(&path).unwrap();
        // Whether a save may change it, the store has it, and a new base would take it.
        for (name, wanted) in [
            ("Base.cbh", [true, true, false]),
            ("bASE.CBTT", [true, true, false]),
            ("Base.ini", [true, false, false]),
            ("Base.cit", [true, true, false]),
            ("Base.pgn", [false; 3]),
            ("Bases.cbh", [false; 3]),
            ("base.html", [false, false, true]),
            ("base.bmp", [false; 3]),
            (".Base.cbfs-journal", [false, false, true]),
            (".Other.cbfs-journal", [false; 3]),
        ] {
            let found = [
                Family::is_file_of(&path, &at(name)),
                family.owns(OsStr::new(name)),
                Family::would_inherit(&path, &at(name)),
            ];
            assert_eq!(found, wanted, "{name}");
        }
        let note = storage::stage_note(&family.journal());
        assert!(Family::would_inherit(&path, &folder.path().join(note)));
        for (name, is_known) in [("x.cbh", true), ("x.CBTT", true), ("x.ini", true)] {
            assert_eq!(ensure_known(Path::new(name)).is_ok(), is_known, "{name}");
        }
        for (name, told) in [
            ("x.txt", "name its .cbh"),
            ("x.2cbh", "2CBH"),
            ("x", ".cbh"),
        ] {
            let why = ensure_known(Path::new(name)).unwrap_err().to_string();
            assert!(why.contains(told), "{why}");
        }
    }

    #[test]
    fn a_link_leads_to_the_base_in_any_letter_case() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("there")).unwrap();
        let path = plant(&at("there"), b"Base");
        std::os::unix::fs::symlink(&path, at("Link.cbh")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("Lost.cbh")).unwrap();
        let there = path.canonicalize().unwrap();
        for name in ["Link.cbh", "link.CBH"] {
            assert_eq!(resolved(&at(name)).unwrap(), there);
        }
        for name in ["links.cbh", "link.cbg", "there/base.cbh"] {
            assert_eq!(resolved(&at(name)).unwrap(), at(name));
        }
        let lost = resolved(&at("lost.cbh")).unwrap_err().to_string();
        assert!(
            lost.contains("a link to nowhere, which is not there"),
            "{lost}"
        );
        let missing = |file: &str| Error::Missing {
            file: at(file),
            holds: FileKind::Moves.holds(),
        };
        for (found, named) in [("a.cbg", "a.CBG"), ("a.cbh", "a.CBG")] {
            let Error::Missing { file, .. } = as_named(&at(named), missing(found)) else {
                panic!();
            };
            assert_eq!(file, at(if found == "a.cbg" { named } else { found }));
        }
    }

    #[test]
    fn media_folders_are_found_in_any_letter_case() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for kind in FileKind::ALL {
            fs::write(at("Base.").with_extension(kind.extension()), "").unwrap();
        }
        for name in ["BASE.bmp", "base.HTML", "other.html", "base.html.d"] {
            fs::create_dir(at(name)).unwrap();
        }
        let folders = |name| Family::locate(&at(name)).unwrap().media_folders;
        assert_eq!(folders("Base.cbh"), [at("base.HTML"), at("BASE.bmp")]);
        let spare = || {
            Family::locate(&at("Base.cbh"))
                .unwrap()
                .spare_folders()
                .to_vec()
        };
        assert_eq!(spare(), []);
        fs::create_dir(at("Base.html")).unwrap();
        assert_eq!(spare(), [(at("base.HTML"), SPARE_FOLDER)]);
        assert_eq!(folders("base.cbh").len(), 2);
        assert_eq!(folders("Base.cbg"), [at("Base.html"), at("BASE.bmp")]);
    }
}
