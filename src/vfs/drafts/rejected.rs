//! Drafts that were refused, on disk until they are removed or the file is
//! saved after all.
//!
//! Each is a file with the name of what it was to become, and beside it one
//! ending in `.txt` that says why it was refused. They lie in a directory of
//! the user's for each base, and are shown as `.cbfs/rejected/`.
//!
//! A game has one draft at most, the latest. Any other name may be that of
//! several files, in `games/` and in `import/`, on this mount and on an
//! earlier one: each gets a name that no other has, as `new ~2.pgn`.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::names::Place;
use crate::escape::push_line;
use crate::vfs::Error;
use crate::vfs::names::parse_game;

/// Files kept, at most: two for each draft,
const MOST_FILES: usize = 2000;

/// and the bytes of all.
const MOST_BYTES: u64 = 1 << 30;

/// Numbers of the files begin here.
pub(super) const FIRST: u32 = 16;

/// What a name begins with while its file is being written.
const UNFINISHED: &str = ".unfinished";

/// The longest name of a file, in bytes.
const MOST_NAME: usize = 255;

/// Whose draft it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// That of the game whose file has this name.
    Game(String),
    /// That of a file which was to become something else.
    File(Place),
}

impl Origin {
    /// Of the file at `place`.
    pub(super) fn file(place: &Place) -> Origin {
        match parse_game(place.1.as_bytes()) {
            Some(_) => Origin::Game(place.1.to_string()),
            None => Origin::File(place.clone()),
        }
    }

    /// The name of the file.
    pub(super) fn name(&self) -> &str {
        match self {
            Origin::Game(name) => name,
            Origin::File((_, name)) => name,
        }
    }
}

/// The rejected drafts of one base.
#[derive(Debug)]
pub(super) struct Rejected {
    directory: PathBuf,
    /// Under which names drafts of this mount are kept that are of no game.
    files: Mutex<HashMap<Place, String>>,
    /// The names that were told, each at its number.
    numbers: Mutex<Numbers>,
}

#[derive(Debug, Default)]
struct Numbers {
    names: Vec<String>,
    by_name: HashMap<String, u32>,
}

impl Numbers {
    fn of(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.by_name.get(name) {
            return Some(*number);
        }
        let number = u32::try_from(self.names.len()).ok()?.checked_add(FIRST)?;
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), number);
        Some(number)
    }

    fn name(&self, number: u32) -> Option<&str> {
        let place = usize::try_from(number.checked_sub(FIRST)?).ok()?;
        self.names.get(place).map(String::as_str)
    }
}

/// A file in `rejected/`.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) name: String,
    pub(super) number: u32,
    pub(super) stat: Metadata,
}

impl Rejected {
    /// Those in `directory`, which need not be there.
    pub(super) fn new(directory: PathBuf) -> Rejected {
        Rejected {
            directory,
            files: Mutex::default(),
            numbers: Mutex::default(),
        }
    }

    /// Where they lie.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All files, in the order of their numbers.
    pub(super) fn all(&self) -> Vec<Kept> {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with(UNFINISHED))
            .collect();
        names.sort();
        let mut all: Vec<Kept> = names.iter().filter_map(|name| self.find(name)).collect();
        all.sort_by_key(|kept| kept.number);
        all
    }

    /// The file of this name.
    pub(super) fn find(&self, name: &str) -> Option<Kept> {
        let path = self.path(name)?;
        let stat = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
        Some(Kept {
            name: name.to_owned(),
            number: self.numbers().of(name)?,
            stat,
        })
    }

    /// The file of this number.
    pub(super) fn get(&self, number: u32) -> Result<Kept, Error> {
        let name = self.numbers().name(number).map(str::to_owned);
        let kept = name.and_then(|name| self.find(&name));
        kept.ok_or(Error::NotFound)
    }

    /// Opens the file of this number for reading.
    pub(super) fn open(&self, number: u32) -> Result<File, Error> {
        let path = self.path(&self.get(number)?.name).ok_or(Error::NotFound)?;
        File::open(path).map_err(|error| failed(&error))
    }

    /// Removes a draft, and the reason that lies beside it, or a reason alone.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or that of the medium.
    pub(super) fn remove(&self, name: &str) -> Result<(), Error> {
        self.remove_one(name)?;
        match self.remove_one(&reason_of(name)) {
            Err(Error::NotFound) => Ok(()),
            removed => removed,
        }
    }

    fn remove_one(&self, name: &str) -> Result<(), Error> {
        let path = self.path(name).ok_or(Error::NotFound)?;
        fs::remove_file(path).map_err(|error| failed(&error))
    }

    /// Forgets the draft of `origin`, since that was saved.
    pub(super) fn withdraw(&self, origin: &Origin) {
        let name = match origin {
            Origin::Game(name) => Some(name.clone()),
            Origin::File(place) => self.files().remove(place),
        };
        let Some(name) = name else { return };
        for name in [reason_of(&name), name] {
            match self.remove_one(&name) {
                Ok(()) | Err(Error::NotFound) => {}
                Err(error) => log::warn!("rejected/{name}: {error}"),
            }
        }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<Place, String>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a draft that was refused, and `why`; gives its name here. It
    /// survives a power cut.
    pub(super) fn keep(
        &self,
        origin: &Origin,
        text: &mut dyn Read,
        why: &str,
    ) -> io::Result<String> {
        fs::create_dir_all(&self.directory)?;
        let name = self.name_for(origin)?;
        let no_name = || io::Error::from(io::ErrorKind::InvalidInput);
        let path = self.path(&name).ok_or_else(no_name)?;
        let reason = self.path(&reason_of(&name)).ok_or_else(no_name)?;
        let others = self.all();
        let is_other = |kept: &&Kept| kept.name != name && kept.name != reason_of(&name);
        let others = others.iter().filter(is_other);
        let (count, bytes) = others.fold((0, 0), |(count, bytes), kept| {
            (count + 1, bytes + kept.stat.len())
        });
        if count + 2 > MOST_FILES || bytes >= MOST_BYTES {
            let full = format!(
                "{} is full; remove what is not needed",
                self.directory.display()
            );
            return Err(io::Error::new(io::ErrorKind::StorageFull, full));
        }
        self.write(&path, text)?;
        let mut line = String::new();
        push_line(&mut line, why.trim_end());
        self.write(&reason, &mut line.as_bytes())?;
        File::open(&self.directory)?.sync_all()?;
        Ok(name)
    }

    /// The name of the draft of `origin`: that which it has, or a free one.
    fn name_for(&self, origin: &Origin) -> io::Result<String> {
        let place = match origin {
            Origin::Game(name) => return Ok(name.clone()),
            Origin::File(place) => place,
        };
        let is_there = |name: &str| self.find(name).is_some();
        let mut files = self.files();
        // Some were removed by hand.
        files.retain(|_, name| is_there(name));
        if let Some(name) = files.get(place) {
            return Ok(name.clone());
        }
        let mut names = (1..=MOST_FILES).map(|number| numbered(&place.1, number));
        let name = names.find(|name| !is_there(name) && !is_there(&reason_of(name)));
        let name = name.ok_or(io::ErrorKind::StorageFull)?;
        files.insert(place.clone(), name.clone());
        Ok(name)
    }

    /// Writes a file so that it is there whole or not at all.
    fn write(&self, path: &Path, bytes: &mut dyn Read) -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.directory)?;
        io::copy(bytes, &mut file)?;
        file.flush()?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Where the file of this name lies; names of elsewhere lie nowhere.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let is_plain = !name.is_empty() && !name.contains(['/', '\0']);
        let is_ours = !name.starts_with(UNFINISHED) && name != "." && name != "..";
        (is_plain && is_ours).then(|| self.directory.join(name))
    }
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

fn failed(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound,
        _ => Error::Damaged(format!("a rejected draft: {error}")),
    }
}
