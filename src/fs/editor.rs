//! What can be edited: the seam between drafts and what they are saved into.
//!
//! A [`Volume`] is one state of what is mounted and never changes. Its editor
//! holds an edit against that state, saves it, and gives the next state; if
//! the edit says what is stored already, nothing is saved and there is none.

use std::fmt;
use std::io::{BufRead, Seek, Write};
use std::sync::atomic::AtomicBool;

use crate::fs::{Error, Ino, Volume};

/// A file that is imported.
pub trait Input: BufRead + Seek + Send {}

impl<I: BufRead + Seek + Send> Input for I {}

/// Meaning of a name in a directory, for a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A file that is shown there.
    File(Ino),
    /// A file that was deleted: writing it brings it back.
    Deleted(Ino),
    /// The number after the last, or a name for a new file: what is written
    /// becomes that.
    New,
    /// Any number of new files in one text.
    Import,
    /// None of these: an editor's own file.
    Scratch,
    /// Nothing can be written there by this name.
    Refused,
}

/// Why an edit was not saved; nothing has changed then.
#[derive(Debug)]
pub enum Refusal {
    /// The text is at fault; line, column, what was found and what was
    /// expected, for people.
    Text(String),
    /// Another program changed the base since this state of it was opened.
    Outdated,
    /// Anything else.
    Failed(Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Text(why) => f.write_str(why),
            Refusal::Outdated => f.write_str("another program changed the base"),
            Refusal::Failed(error) => write!(f, "{error}"),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Failed(error)
    }
}

/// The result of a save.
#[derive(Debug)]
pub struct Saved {
    /// Whether something was saved.
    pub is_change: bool,
    /// The next state; none if nothing has changed, or if it cannot be read now, in
    /// which case the present one is superseded.
    pub volume: Option<Box<dyn Volume>>,
    /// Files of [`Size::Rendered`](crate::fs::volume::Size::Rendered) whose text is
    /// another now, that came or went. What is not among them has the text
    /// it had.
    pub touched: ChangedTexts,
    /// The files that it is about: the one edited, or all that were made.
    pub files: Vec<Ino>,
    /// Lines for the log: what is stored otherwise than it was written.
    pub notes: Vec<String>,
}

impl Saved {
    /// Returns a save that changes nothing.
    pub(crate) fn nothing(files: Vec<Ino>, notes: Vec<String>) -> Saved {
        Saved {
            is_change: false,
            volume: None,
            touched: ChangedTexts::Of(Vec::new()),
            files,
            notes,
        }
    }
}

/// Files whose text a save changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedTexts {
    /// These files.
    Of(Vec<Ino>),
    /// Unknown files: finding them out would take long.
    Unknown,
}

/// A function that saves one edit.
pub type Edit<'a> = dyn FnMut(&dyn Editor) -> Result<Saved, Refusal> + 'a;

/// Saves edits. All methods may be called by any thread; one edit at a time.
///
/// A text takes the place of the `earlier` files, which an earlier save of a
/// part of it made, in one step: what it makes has their numbers, as far as they
/// go, and those that are left are deleted.
pub trait Editor {
    /// What `name` in `directory` means.
    fn role(&self, directory: Ino, name: &[u8]) -> Role;

    /// Whether the text of `file`, one of the many, may be replaced where it
    /// lies; not so if it was deleted.
    fn is_editable(&self, _: Ino) -> bool {
        true
    }

    /// Whether a file that other names mean, too, is listed by this one.
    fn is_listed_as(&self, _file: Ino, _name: &[u8]) -> bool {
        true
    }

    /// Whether to remove a name from `directory` is to delete the file; where
    /// it is listed for another reason, it cannot be removed.
    fn deletes_in(&self, directory: Ino) -> bool {
        self.role(directory, b"new.pgn") == Role::New
    }

    /// Whether `directory` lists the files that are deleted: to move one there
    /// is to delete it.
    fn lists_deleted(&self, _: Ino) -> bool {
        false
    }

    /// Whether the directories in `directory` can be renamed.
    fn renames_in(&self, _: Ino) -> bool {
        false
    }

    /// Puts the game that `text` is in the place of `file`, which comes back
    /// if it was deleted.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    fn replace(&self, file: Ino, text: &[u8], earlier: &[Ino]) -> Result<Saved, Refusal>;

    /// Makes a new file of the one game that `text` is.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    fn append(&self, text: &[u8], earlier: &[Ino]) -> Result<Saved, Refusal>;

    /// Makes new files of all games in `text`, or none; with a place for bad
    /// ones, of all others. It may be long, and packed. None when `is_interrupted` is
    /// set meanwhile.
    ///
    /// # Errors
    ///
    /// [`Refusal`]; [`Refusal::Failed`] with [`Error::Damaged`] if it cannot be
    /// read.
    fn import(
        &self,
        text: &mut dyn Input,
        bad: Option<&mut dyn Write>,
        is_interrupted: &AtomicBool,
        earlier: &[Ino],
    ) -> Result<Saved, Refusal>;

    /// Whether what is written in `directory` is imported without its bad
    /// games.
    fn skips_bad(&self, _: Ino) -> bool {
        false
    }

    /// Deletes `file`, or brings it back.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    fn set_deleted(&self, file: Ino, is_deleted: bool) -> Result<Saved, Refusal>;

    /// Renames what the directory `from` in `directory` stands for.
    ///
    /// # Errors
    ///
    /// [`Refusal`]: [`Error::NotEmpty`] if there is another of that name,
    /// [`Error::NotPermitted`] where nothing can be renamed.
    fn rename(&self, directory: Ino, from: &[u8], to: &[u8]) -> Result<Saved, Refusal>;

    /// Merges the entity of the directory `from` in `directory` into that of `into`,
    /// another directory in it: all games then name the latter. Only if merging is
    /// enabled.
    ///
    /// # Errors
    ///
    /// As [`rename`](Editor::rename), if `into` were the name.
    fn merge(&self, _: Ino, _: &[u8], _: Ino) -> Result<Saved, Refusal> {
        Err(Error::NotPermitted.into())
    }

    /// Deletes files that an earlier save made of a text which is refused now.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    fn withdraw(&self, files: &[Ino]) -> Result<Saved, Refusal>;

    /// Returns when all that was saved survives a power cut.
    ///
    /// # Errors
    ///
    /// That of the medium; all is still there, and a later call tries again.
    fn sync(&self) -> Result<(), Error>;
}
