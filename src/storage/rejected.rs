//! Drafts that were refused, on disk until they are removed or the file is
//! saved after all.
//!
//! Each is a file with the name of what it was to become, and beside it one
//! ending in `.txt` that says why it was refused. They lie in a directory of
//! the user's for each base, and are shown as `.cbfs/rejected/`.
//!
//! Several drafts of one game are `000123.pgn`, `000123-2.pgn` and so on: a
//! draft that is refused again takes the place of its own earlier text, that
//! of another draft does not, and a text that is kept already is not kept
//! twice. A save of the game removes all of them. Any other name may be that
//! of several files, in `games/` and in `import/`, on this mount and on an
//! earlier one: each gets a name that no other has, as `new ~2.pgn`.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use parking_lot::Mutex;

use super::{MOST_NAME, make_private_folder, open_plain_file, sync_folder};
use crate::escape::{push_line, without_numbers};
use crate::names::parse_game;

/// Maximum number of files kept: two for each draft.
const MOST_FILES: usize = 2000;

/// Maximum size of all files kept, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// Drafts of one game, at most: the next one takes the place of the oldest.
const MOST_OF_GAME: u32 = 100;

/// The name of the directory.
const NAME: &str = "rejected";

/// What a name begins with while its file is being written.
const UNFINISHED: &str = ".unfinished";

/// Whose draft it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// That of the game whose file has this name.
    Game(String),
    /// That of a file which was to become something else: the number of its
    /// directory, and its name there.
    File(u64, Box<str>),
}

impl Origin {
    /// Of the file with this name in a directory.
    pub(crate) fn file(directory: u64, name: &str) -> Origin {
        match parse_game(name.as_bytes()) {
            Some(_) => Origin::Game(name.to_owned()),
            None => Origin::File(directory, name.into()),
        }
    }

    /// The name of the file.
    pub(crate) fn name(&self) -> &str {
        match self {
            Origin::Game(name) => name,
            Origin::File(_, name) => name,
        }
    }
}

/// The rejected drafts of one base.
#[derive(Debug)]
pub(crate) struct Rejected {
    /// Where they lie: the first directory that can take one has it.
    directories: Vec<PathBuf>,
    /// Under which names drafts of this mount are kept that are of no game.
    files: Mutex<HashMap<Origin, String>>,
    /// Whose the drafts of games are that this mount kept, by their names.
    owners: Mutex<HashMap<String, Owner>>,
    /// The numbers of the names that were told, and the first of all.
    numbers: Mutex<BTreeMap<String, u32>>,
    first_number: u32,
    /// How many drafts this mount has kept, and how many it had when it last found
    /// none here: most saves need not look.
    kept: AtomicU64,
    kept_when_empty: AtomicU64,
}

/// The draft whose text a file has.
#[derive(Debug)]
struct Owner {
    /// The number of its buffer.
    buffer: u64,
    /// Whether another draft was refused with the same text.
    is_shared: bool,
}

/// A file in `rejected/`.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) name: String,
    pub(crate) number: u32,
    pub(crate) stat: Metadata,
    path: PathBuf,
}

impl Rejected {
    /// Those of a base that has these directories, which need not be there.
    /// Numbers of files begin at `first_number`.
    pub(crate) fn new(of_base: Vec<PathBuf>, first_number: u32) -> Rejected {
        let directories = of_base.into_iter();
        Rejected {
            directories: directories.map(|of_base| of_base.join(NAME)).collect(),
            files: Mutex::default(),
            owners: Mutex::default(),
            numbers: Mutex::default(),
            first_number,
            kept: AtomicU64::new(0),
            kept_when_empty: AtomicU64::new(u64::MAX),
        }
    }

    /// All files, in the order of their numbers.
    pub(crate) fn all(&self) -> Vec<Kept> {
        let names = self.names();
        let mut all: Vec<Kept> = names.iter().filter_map(|name| self.find(name)).collect();
        all.sort_by_key(|kept| kept.number);
        all
    }

    /// The file of this name.
    pub(crate) fn find(&self, name: &str) -> Option<Kept> {
        let (path, stat) = self.paths(name).find_map(|path| {
            let stat = fs::symlink_metadata(&path).ok();
            Some((path, stat.filter(Metadata::is_file)?))
        })?;
        Some(Kept {
            name: name.to_owned(),
            number: self.number_of(name)?,
            stat,
            path,
        })
    }

    /// The number of a name, the same for as long as the mount lives.
    fn number_of(&self, name: &str) -> Option<u32> {
        let mut numbers = self.numbers.lock();
        if let Some(number) = numbers.get(name) {
            return Some(*number);
        }
        let next = u32::try_from(numbers.len())
            .ok()?
            .checked_add(self.first_number)?;
        numbers.insert(name.to_owned(), next);
        Some(next)
    }

    /// The file of this number.
    pub(crate) fn get(&self, number: u32) -> io::Result<Kept> {
        let name = {
            let numbers = self.numbers.lock();
            let mut numbers = numbers.iter();
            let found = numbers.find(|(_, other)| **other == number);
            found.map(|(name, _)| name.clone())
        };
        let kept = name.and_then(|name| self.find(&name));
        kept.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens the file of this number for reading.
    pub(crate) fn open(&self, number: u32) -> io::Result<File> {
        open_plain_file(&self.get(number)?.path)
    }

    /// Removes a draft, and the reason that lies beside it, or a reason alone.
    ///
    /// # Errors
    ///
    /// `NotFound`, or that of the medium.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        self.remove_one(name)?;
        unless_missing(self.remove_one(&reason_of(name)))
    }

    fn remove_one(&self, name: &str) -> io::Result<()> {
        let mut removed = Err(io::ErrorKind::NotFound.into());
        let mut failed = None;
        for path in self.paths(name) {
            match fs::remove_file(path) {
                Ok(()) => removed = Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(removed, Err)
    }

    /// Forgets the draft of `origin`, since that was saved.
    pub(crate) fn forget_saved(&self, origin: &Origin) {
        let names: Vec<String> = match origin {
            Origin::Game(game) => {
                let names = self.names_if_any().into_iter();
                let is_its = |name: &String| game_of(name).is_some_and(|of| of == *game);
                names.filter(is_its).collect()
            }
            file @ Origin::File(..) => self.files.lock().remove(file).into_iter().collect(),
        };
        for name in names {
            if let Err(error) = unless_missing(self.remove(&name)) {
                log::warn!("rejected/{name}: {error}");
            }
        }
    }

    /// The names of all files, in order; not looked for if there were none before
    /// and none was kept since.
    fn names_if_any(&self) -> Vec<String> {
        let kept = self.kept.load(SeqCst);
        if self.kept_when_empty.load(SeqCst) == kept {
            return Vec::new();
        }
        if self.directories.iter().all(|directory| is_empty(directory)) {
            self.kept_when_empty.store(kept, SeqCst);
            return Vec::new();
        }
        self.names()
    }

    /// The names of all files, in order.
    fn names(&self) -> Vec<String> {
        let directories = self.directories.iter();
        let entries = directories.filter_map(|directory| fs::read_dir(directory).ok());
        let mut names: Vec<String> = entries
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with(UNFINISHED))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Keeps a draft that was refused, and `why`; gives its name here, and
    /// where it lies. It survives a power cut. `buffer` is the
    /// number of the one that has the text: it tells a draft of a game from others.
    ///
    /// # Errors
    ///
    /// That of the first directory, if none can take it.
    pub(crate) fn keep<R: Read>(
        &self,
        origin: &Origin,
        buffer: u64,
        text: &dyn Fn() -> R,
        why: &str,
    ) -> io::Result<(String, PathBuf)> {
        let kept = self.keep_uncounted(origin, buffer, text, why);
        // Where that failed, the text may be there without its reason.
        self.kept.fetch_add(1, SeqCst);
        kept
    }

    fn keep_uncounted<R: Read>(
        &self,
        origin: &Origin,
        buffer: u64,
        text: &dyn Fn() -> R,
        why: &str,
    ) -> io::Result<(String, PathBuf)> {
        let name = match origin {
            Origin::Game(game) => match self.name_for_game(game, buffer, text)? {
                Named::Free(name) => name,
                Named::Kept(name, path) => return Ok((name, path)),
            },
            file @ Origin::File(..) => self.name_for(file)?,
        };
        self.check_room(&name)?;
        let mut failed = None;
        for directory in &self.directories {
            match keep_in(directory, &name, &mut text(), why) {
                Ok(path) => {
                    self.remove_outdated(directory, &name);
                    return Ok((name, path));
                }
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        Err(failed.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    /// Sees that there is room for a draft of this name.
    fn check_room(&self, name: &str) -> io::Result<()> {
        let others = self.all();
        let is_other = |kept: &&Kept| kept.name != name && kept.name != reason_of(name);
        let others = others.iter().filter(is_other);
        let (count, bytes) = others.fold((0, 0), |(count, bytes), kept| {
            (count + 1, bytes + kept.stat.len())
        });
        if count + 2 > MOST_FILES || bytes >= MOST_BYTES {
            let full = ".cbfs/rejected/ is full; remove what is not needed";
            return Err(io::Error::new(io::ErrorKind::StorageFull, full));
        }
        Ok(())
    }

    /// Removes what another directory than `directory` has of this name.
    fn remove_outdated(&self, directory: &Path, name: &str) {
        let others = self.directories.iter().filter(|other| *other != directory);
        for other in others {
            for name in [name, &reason_of(name)] {
                // It is hidden by the other one, or not there.
                let _ = fs::remove_file(other.join(name));
            }
        }
    }

    /// Where the text of a draft of `game` is kept: under the name that the
    /// draft has, else where the same text lies, else under a free name.
    fn name_for_game<R: Read>(
        &self,
        game: &str,
        buffer: u64,
        text: &dyn Fn() -> R,
    ) -> io::Result<Named> {
        let mut owners = self.owners.lock();
        // Some were removed by hand, or since the game was saved.
        owners.retain(|name, _| self.find(name).is_some());
        let mut kept = Vec::new();
        let mut free = None;
        for number in 1..=MOST_OF_GAME {
            let name = name_of_draft(game, number);
            match self.find(&name) {
                Some(found) => kept.push(found),
                None if self.find(&reason_of(&name)).is_none() => free = free.or(Some(name)),
                None => {}
            }
        }
        let is_same = |kept: &&Kept| is_same_text(&kept.path, &mut text());
        let is_own = |owner: &Owner| owner.buffer == buffer && !owner.is_shared;
        let own = kept
            .iter()
            .find(|kept| owners.get(&kept.name).is_some_and(is_own));
        if let Some(own) = own {
            return Ok(Named::Free(own.name.clone()));
        }
        if let Some(place) = kept.iter().position(|kept| is_same(&kept)) {
            let found = kept.swap_remove(place);
            if let Some(owner) = owners.get_mut(&found.name) {
                owner.is_shared |= owner.buffer != buffer;
            }
            return Ok(Named::Kept(found.name, found.path));
        }
        let name = match free {
            Some(name) => name,
            None => oldest(&kept)?,
        };
        let owner = Owner {
            buffer,
            is_shared: false,
        };
        owners.insert(name.clone(), owner);
        Ok(Named::Free(name))
    }

    /// The name of the draft of a file: that which it has, or a free one.
    fn name_for(&self, file: &Origin) -> io::Result<String> {
        let is_there = |name: &str| self.find(name).is_some();
        let mut files = self.files.lock();
        // Some were removed by hand.
        files.retain(|_, name| is_there(name));
        if let Some(name) = files.get(file) {
            return Ok(name.clone());
        }
        let mut names = (1..=MOST_FILES).map(|number| numbered(file.name(), number));
        let is_free = |name: &String| {
            !is_there(name) && !is_there(&reason_of(name)) && game_of(name).is_none()
        };
        let name = names.find(is_free);
        let name = name.ok_or(io::ErrorKind::StorageFull)?;
        files.insert(file.clone(), name.clone());
        Ok(name)
    }

    /// Returns the paths that a file of this name can have; none unless it is a plain name.
    fn paths(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let directories = self.directories.iter().filter(|_| is_plain(name));
        directories.map(move |directory| directory.join(name))
    }
}

/// Where a draft of a game goes.
enum Named {
    /// Under this name, in the place of what has it.
    Free(String),
    /// The same text is kept already.
    Kept(String, PathBuf),
}

/// The name of the oldest of these, which gives way.
fn oldest(kept: &[Kept]) -> io::Result<String> {
    let age = |kept: &&Kept| kept.stat.modified().ok();
    let oldest = kept.iter().min_by_key(age);
    let oldest = oldest.ok_or(io::ErrorKind::StorageFull)?;
    let name = oldest.name.clone();
    log::warn!(
        ".cbfs/rejected/{name}: the oldest of {MOST_OF_GAME} refused texts of this game gives \
         way to a new one; remove what is not needed"
    );
    Ok(name)
}

/// The name of a draft of `game`: `000123.pgn`, `000123-2.pgn` and so on.
fn name_of_draft(game: &str, number: u32) -> String {
    match game.rsplit_once('.') {
        Some((stem, extension)) if number > 1 => format!("{stem}-{number}.{extension}"),
        _ => game.to_owned(),
    }
}

/// The name of the game that a file, a draft or a reason, is of.
fn game_of(name: &str) -> Option<String> {
    let stem = name
        .strip_suffix(".pgn")
        .or_else(|| name.strip_suffix(".txt"))?;
    let is_number = |digits: &str| {
        let number = digits.parse::<u32>();
        number.is_ok_and(|number| number > 1 && number.to_string() == digits)
    };
    let stem = match stem.rsplit_once('-') {
        Some((stem, digits)) if is_number(digits) => stem,
        _ => stem,
    };
    let game = format!("{stem}.pgn");
    parse_game(game.as_bytes()).map(|_| game)
}

/// Whether a file holds exactly this text.
fn is_same_text(path: &Path, text: &mut dyn Read) -> bool {
    let Ok(kept) = open_plain_file(path) else {
        return false;
    };
    let mut kept = io::BufReader::new(kept);
    let mut text = io::BufReader::new(text);
    loop {
        let (Ok(one), Ok(other)) = (kept.fill_buf(), text.fill_buf()) else {
            return false;
        };
        let len = one.len().min(other.len());
        if len == 0 {
            return one.is_empty() && other.is_empty();
        }
        if one.get(..len) != other.get(..len) {
            return false;
        }
        kept.consume(len);
        text.consume(len);
    }
}

fn is_plain(name: &str) -> bool {
    let is_plain = !name.is_empty() && !name.contains(['/', '\0']);
    is_plain && !name.starts_with(UNFINISHED) && name != "." && name != ".."
}

/// Keeps a draft in `directory`, made if need be; gives where it lies.
fn keep_in(directory: &Path, name: &str, text: &mut dyn Read, why: &str) -> io::Result<PathBuf> {
    if !is_plain(name) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if let Some(of_base) = directory.parent() {
        make_private_folder(of_base)?;
    }
    make_private_folder(directory)?;
    let path = directory.join(name);
    write(directory, &path, text)?;
    let mut line = String::new();
    push_line(&mut line, without_numbers(why.trim_end()));
    let reason = directory.join(reason_of(name));
    write(directory, &reason, &mut line.as_bytes())?;
    sync_folder(directory)?;
    Ok(path)
}

/// Writes a file so that it is there whole or not at all, for its owner alone.
fn write(directory: &Path, path: &Path, bytes: &mut dyn Read) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(directory)?;
    io::copy(bytes, &mut file)?;
    file.flush()?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// `000123.txt` for `000123.pgn`.
fn reason_of(name: &str) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    format!("{stem}.txt")
}

/// `new.pgn`, or `new ~2.pgn`; it ends in `.pgn` whatever the name does, so
/// that the reason has another.
fn numbered(name: &str, number: usize) -> String {
    let is_pgn = |(_, kind): &(&str, &str)| kind.eq_ignore_ascii_case("pgn");
    let stem = name.rsplit_once('.').filter(is_pgn);
    let mut stem = stem.map_or(name, |(stem, _)| stem).to_owned();
    let ending = match number {
        1 => ".pgn".to_owned(),
        number => format!(" ~{number}.pgn"),
    };
    while stem.len() + ending.len() > MOST_NAME {
        stem.pop();
    }
    stem + &ending
}

/// That there is nothing to remove is no error.
fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// Whether a directory has no entries, or is not there; not if it cannot be read.
fn is_empty(directory: &Path) -> bool {
    match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAME: &str = "000123.pgn";

    fn keep(rejected: &Rejected, origin: &Origin, buffer: u64, text: &str) -> String {
        let kept = rejected.keep(origin, buffer, &|| text.as_bytes(), "no\nmove ");
        let (name, path) = kept.unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), text);
        name
    }

    fn text_of(rejected: &Rejected, name: &str) -> String {
        let number = rejected.find(name).unwrap().number;
        assert_eq!(rejected.get(number).unwrap().name, name);
        io::read_to_string(rejected.open(number).unwrap()).unwrap()
    }

    #[test]
    fn drafts_of_a_game_have_names_of_their_own_until_it_is_saved() {
        let folder = tempfile::tempdir().unwrap();
        let rejected = Rejected::new(vec![folder.path().join("base")], 40);
        let game = Origin::file(7, GAME);
        assert_eq!(game, Origin::Game(GAME.to_owned()));
        assert_eq!(keep(&rejected, &game, 1, "a"), GAME);
        assert_eq!(keep(&rejected, &game, 1, "b"), GAME);
        assert_eq!(keep(&rejected, &game, 2, "c"), "000123-2.pgn");
        assert_eq!(keep(&rejected, &game, 3, "c"), "000123-2.pgn");
        // The draft of buffer 3 has that text, too.
        assert_eq!(keep(&rejected, &game, 2, "d"), "000123-3.pgn");
        assert_eq!(keep(&rejected, &game, 2, "e"), "000123-3.pgn");
        let other = Origin::file(7, "000124.pgn");
        assert_eq!(keep(&rejected, &other, 4, "b"), "000124.pgn");
        let texts = [GAME, "000123-2.pgn", "000123-3.pgn", "000123.txt"];
        let found = texts.map(|name| text_of(&rejected, name));
        assert_eq!(found, ["b", "c", "e", "no\\nmove\n"]);
        let all = rejected.all();
        assert_eq!(all.len(), 8);
        assert!(all.iter().map(|kept| kept.number).eq(40..48));
        assert!(rejected.get(39).is_err() && rejected.get(48).is_err());
        rejected.forget_saved(&game);
        let left: Vec<_> = rejected.all().into_iter().map(|kept| kept.name).collect();
        assert_eq!(left.len(), 2);
        assert!(left.contains(&"000124.pgn".to_owned()));
        rejected.remove("000124.pgn").unwrap();
        assert!(rejected.all().is_empty());
        assert!(rejected.remove("000124.pgn").is_err());
        // Where none is found, the next is one to look for.
        rejected.forget_saved(&game);
        assert_eq!(keep(&rejected, &game, 5, "f"), GAME);
        rejected.forget_saved(&game);
        assert!(rejected.all().is_empty());
        // So is one that another mount kept, and this one the same.
        keep(
            &Rejected::new(vec![folder.path().join("base")], 0),
            &game,
            1,
            "g",
        );
        assert_eq!(keep(&rejected, &game, 6, "g"), GAME);
        rejected.forget_saved(&game);
        assert!(rejected.all().is_empty());
    }

    #[test]
    fn a_reason_alone_keeps_its_name_and_one_that_stays_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join("rejected").join(name);
        let rejected = Rejected::new(vec![folder.path().to_owned()], 0);
        let game = Origin::file(7, GAME);
        keep(&rejected, &game, 1, "a");
        fs::remove_file(at(GAME)).unwrap();
        assert_eq!(keep(&rejected, &game, 2, "b"), "000123-2.pgn");
        fs::remove_file(at("000123-2.txt")).unwrap();
        fs::create_dir(at("000123-2.txt")).unwrap();
        let error = rejected.remove("000123-2.pgn").unwrap_err();
        assert_ne!(error.kind(), io::ErrorKind::NotFound);
        // Also if there was another to remove.
        let second = folder.path().join("second/rejected");
        fs::create_dir_all(&second).unwrap();
        fs::write(second.join("000123-2.txt"), "no").unwrap();
        let of_both = [folder.path().to_owned(), folder.path().join("second")];
        let both = Rejected::new(of_both.into(), 0);
        assert!(both.remove("000123-2.txt").is_err());
        assert!(!second.join("000123-2.txt").exists());
    }

    #[test]
    fn a_reason_is_removed_alone_and_its_draft_later() {
        let folder = tempfile::tempdir().unwrap();
        let rejected = Rejected::new(vec![folder.path().to_owned()], 0);
        keep(&rejected, &Origin::file(7, GAME), 1, "a");
        rejected.remove("000123.txt").unwrap();
        rejected.remove(GAME).unwrap();
        assert!(rejected.all().is_empty());
    }

    #[test]
    fn files_of_one_name_are_kept_under_several() {
        let folder = tempfile::tempdir().unwrap();
        let rejected = Rejected::new(vec![folder.path().join("base")], 0);
        let (first, second) = (Origin::file(1, "new.pgn"), Origin::file(2, "new.pgn"));
        assert_eq!(keep(&rejected, &first, 1, "a"), "new.pgn");
        assert_eq!(keep(&rejected, &second, 2, "a"), "new ~2.pgn");
        assert_eq!(keep(&rejected, &first, 3, "b"), "new.pgn");
        assert_eq!(
            keep(&rejected, &Origin::file(1, "notes"), 4, "c"),
            "notes.pgn"
        );
        let long = Origin::file(1, &"x".repeat(MOST_NAME + 9));
        assert_eq!(keep(&rejected, &long, 5, "d").len(), MOST_NAME);
        rejected.forget_saved(&first);
        assert!(rejected.find("new.pgn").is_none() && rejected.find("new.txt").is_none());
        assert_eq!(text_of(&rejected, "new ~2.pgn"), "a");
        // On a later mount a name is free that has neither text nor reason.
        let later = Rejected::new(vec![folder.path().join("base")], 0);
        fs::remove_file(folder.path().join("base/rejected/new ~2.pgn")).unwrap();
        assert_eq!(keep(&later, &second, 1, "e"), "new.pgn");
        assert_eq!(keep(&later, &first, 2, "f"), "new ~3.pgn");
    }

    #[test]
    fn the_first_directory_that_can_take_a_draft_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("first"), "no folder").unwrap();
        let rejected = Rejected::new(vec![at("first"), at("second")], 0);
        let game = Origin::file(1, GAME);
        keep(&rejected, &game, 1, "a");
        assert!(at("second/rejected/000123.pgn").exists());
        fs::remove_file(at("first")).unwrap();
        keep(&rejected, &game, 1, "b");
        assert!(at("first/rejected/000123.pgn").exists());
        assert_eq!(fs::read_dir(at("second/rejected")).unwrap().count(), 0);
        // That the other one has none is no error.
        rejected.remove(GAME).unwrap();
        assert!(rejected.all().is_empty());
        let nowhere = Rejected::new(Vec::new(), 0);
        assert!(nowhere.keep(&game, 1, &|| &b"a"[..], "").is_err());
    }

    #[test]
    fn names_that_lead_elsewhere_or_are_unfinished_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let rejected = Rejected::new(vec![folder.path().to_owned()], 0);
        fs::create_dir(folder.path().join("rejected")).unwrap();
        fs::write(folder.path().join("mine"), "").unwrap();
        let unfinished = format!("{UNFINISHED}x");
        fs::write(folder.path().join("rejected").join(&unfinished), "").unwrap();
        for name in ["../mine", &unfinished, "", ".", "..", "a\0"] {
            assert!(rejected.find(name).is_none(), "{name:?}");
            assert!(!is_plain(name), "{name:?}");
        }
        assert!(rejected.all().is_empty());
        assert!(rejected.remove("../mine").is_err());
        assert!(is_plain("..."));
    }

    #[test]
    fn drafts_are_kept_until_there_is_no_room_for_a_text_and_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let rejected = Rejected::new(vec![folder.path().to_owned()], 0);
        let game = Origin::file(1, GAME);
        let name = keep(&rejected, &game, 1, "first");
        let directory = folder.path().join("rejected");
        for other in 1..MOST_FILES - 3 {
            File::create(directory.join(format!("{other}.txt"))).unwrap();
        }
        let next = keep(&rejected, &Origin::file(2, "000124.pgn"), 2, "next");
        assert_eq!(next, "000124.pgn");
        let game = Origin::file(3, "000125.pgn");
        let full = rejected.keep(&game, 3, &|| "last".as_bytes(), "no");
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        // It takes the place of a text that is there.
        assert_eq!(keep(&rejected, &Origin::file(1, GAME), 1, "again"), name);
    }

    #[test]
    fn drafts_are_kept_until_those_there_take_too_many_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let rejected = Rejected::new(vec![folder.path().to_owned()], 0);
        keep(&rejected, &Origin::file(1, GAME), 1, "first");
        let large = File::create(folder.path().join("rejected/large")).unwrap();
        for (bytes, has_room) in [(MOST_BYTES - 1, true), (MOST_BYTES, false)] {
            large.set_len(bytes).unwrap();
            let again = rejected.keep(&Origin::file(1, GAME), 1, &|| "again".as_bytes(), "no");
            assert_eq!(again.is_ok(), has_room, "{bytes}");
        }
    }

    #[test]
    fn the_oldest_of_too_many_drafts_of_a_game_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        let rejected = Rejected::new(vec![folder.path().to_owned()], 0);
        let game = Origin::file(1, GAME);
        let now = std::time::SystemTime::now();
        for buffer in 1..=u64::from(MOST_OF_GAME) {
            let name = keep(&rejected, &game, buffer, &buffer.to_string());
            // The third is the oldest.
            let age = std::time::Duration::from_secs(if buffer == 3 { 48 } else { 24 } * 3600);
            let file = File::options()
                .write(true)
                .open(folder.path().join("rejected").join(name))
                .unwrap();
            file.set_modified(now - age).unwrap();
        }
        assert_eq!(keep(&rejected, &game, 0, "new"), "000123-3.pgn");
        assert_eq!(text_of(&rejected, "000123-2.pgn"), "2");
    }

    #[test]
    fn a_draft_or_reason_is_of_the_game_that_its_name_begins_with() {
        for name in ["000123.pgn", "000123.txt", "000123-2.pgn", "000123-100.txt"] {
            assert_eq!(game_of(name).as_deref(), Some(GAME), "{name}");
        }
        for name in [
            "000123-1.pgn",
            "000123-02.pgn",
            "000123-x.pgn",
            "000123.cbh",
            "new.pgn",
        ] {
            assert_eq!(game_of(name), None, "{name}");
        }
    }

    #[test]
    fn texts_are_the_same_that_end_at_the_same_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        let long = "0123456789".repeat(3000);
        fs::write(&path, &long).unwrap();
        let is_same = |text: &str| is_same_text(&path, &mut text.as_bytes());
        // Pieces that are read of both need not begin at the same byte.
        let (first, last) = long.split_at(12_345);
        assert!(is_same_text(
            &path,
            &mut first.as_bytes().chain(last.as_bytes())
        ));
        assert!(!is_same(first) && !is_same(&format!("{long}0")) && !is_same(""));
        assert!(!is_same(&format!("{first}{}", last.replacen('5', "x", 1))));
        fs::write(&path, "").unwrap();
        assert!(is_same("") && !is_same("0"));
        fs::remove_file(&path).unwrap();
        assert!(!is_same(""));
    }
}
