//! Why something cannot be saved.

use std::fmt;

use crate::bytes::Malformed;
use crate::cbh::entities::{EditError, Unfit};
use crate::cbh::moves::EncodeError;
use crate::cbh::{Error, FileKind, GameId};
use crate::game::Defect;

/// Why something cannot be saved. Nothing has been changed then.
#[derive(Debug)]
pub enum SaveError {
    /// What is stored cannot be read; no game has the number.
    Base(Error),
    /// A file of entities cannot be changed so; also a name that another has.
    Entity(FileKind, EditError),
    /// The format cannot hold the moves or remarks.
    Moves(EncodeError),
    /// The stored game could not be read wholly, so it is not written over.
    Defective(GameId, Defect),
    /// A value is beyond what its field can hold.
    DoesNotFit {
        /// The field, as PGN calls it.
        field: &'static str,
        /// The value.
        value: String,
        /// What the field can hold.
        limit: String,
    },
    /// A name is longer than its field.
    Name(Unfit),
    /// The base has no place for a value.
    NoPlace {
        /// The field, as PGN calls it.
        field: &'static str,
        /// The value.
        value: String,
        /// What is missing.
        why: &'static str,
    },
    /// What would be stored of the start position and moves would be read as
    /// others.
    ReadsBackOtherwise,
    /// A file is not as it must be for a change.
    Damaged(FileKind, String),
    /// The game has been changed already by the same save.
    Again(GameId),
}

impl SaveError {
    /// Names the file whose entities cannot be changed so.
    pub(in crate::cbh) fn entity(file: FileKind) -> impl Fn(EditError) -> SaveError {
        move |error| SaveError::Entity(file, error)
    }

    /// Whether it is that a name is longer than its field.
    pub fn is_too_long(&self) -> bool {
        matches!(self, SaveError::Name(_))
    }

    /// Whether a game is at fault, not the base: nothing of it was saved.
    pub fn is_of_game(&self) -> bool {
        matches!(
            self,
            SaveError::Moves(_)
                | SaveError::DoesNotFit { .. }
                | SaveError::Name(_)
                | SaveError::NoPlace { .. }
                | SaveError::ReadsBackOtherwise
        )
    }

    /// Names the file that has other bytes than it must.
    pub(in crate::cbh) fn malformed(file: FileKind) -> impl Fn(Malformed) -> SaveError {
        move |fault| SaveError::Damaged(file, fault.what)
    }
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SaveError::Base(error) => write!(f, "{error}"),
            SaveError::Entity(file, error) => write!(f, ".{}: {error}", file.extension()),
            SaveError::Moves(error) => write!(f, "{error}"),
            SaveError::Defective(id, defect) => {
                write!(f, "game {} is damaged and not written over: {defect}", id.0)
            }
            SaveError::DoesNotFit {
                field,
                value,
                limit,
            } => write!(f, "{field}: {value} does not fit, {limit}"),
            SaveError::Name(Unfit { field, whole, .. }) => {
                write!(f, "{field}: \"{whole}\" is longer than its field")
            }
            SaveError::NoPlace { field, value, why } => {
                write!(f, "{field}: there is no place for {value}: {why}")
            }
            SaveError::ReadsBackOtherwise => f.write_str(
                "its start position and moves have no form in a base that is read back the same",
            ),
            SaveError::Damaged(file, what) => {
                write!(f, ".{} is damaged: {what}", file.extension())
            }
            SaveError::Again(id) => write!(f, "game {} is changed twice by one save", id.0),
        }
    }
}

impl std::error::Error for SaveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SaveError::Base(error) => Some(error),
            SaveError::Entity(_, error) => Some(error),
            SaveError::Moves(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Error> for SaveError {
    fn from(error: Error) -> SaveError {
        SaveError::Base(error)
    }
}

impl From<EncodeError> for SaveError {
    fn from(error: EncodeError) -> SaveError {
        SaveError::Moves(error)
    }
}
