//! Errors of planning a save.

use std::fmt;

use crate::bytes::Malformed;
use crate::cbh::entities::{EditError, Unfit};
use crate::cbh::moves::EncodeError;
use crate::cbh::{Error, FileKind, GameId};
use crate::game::Defect;

/// An error of planning a save. Nothing was changed.
#[derive(Debug)]
pub enum SaveError {
    /// The stored data cannot be read, or no game has the id.
    Base(Error),
    /// An entity file cannot be changed, or another entity has the name.
    Entity(FileKind, EditError),
    /// The format cannot hold the moves or annotations.
    Moves(EncodeError),
    /// The stored game has defects, so it is not overwritten.
    Defective(GameId, Defect),
    /// A value is out of the range of its field.
    DoesNotFit {
        /// Name of the field in PGN.
        field: &'static str,
        /// The value.
        value: String,
        /// The range of the field.
        limit: String,
    },
    /// A name is longer than its field.
    Name(Unfit),
    /// The base cannot store a value.
    NoPlace {
        /// Name of the field in PGN.
        field: &'static str,
        /// The value.
        value: String,
        /// The reason.
        why: &'static str,
    },
    /// The encoded start position or moves would be decoded as others.
    ReadsBackOtherwise,
    /// The damage of a file prevents the change.
    Damaged(FileKind, String),
    /// The same save has changed the game already.
    Again(GameId),
}

impl SaveError {
    /// Returns a function that adds the file to an error of changing its
    /// entities.
    pub(in crate::cbh) fn entity(file: FileKind) -> impl Fn(EditError) -> SaveError {
        move |error| SaveError::Entity(file, error)
    }

    /// Returns whether the error is a name that is too long.
    pub fn is_too_long(&self) -> bool {
        matches!(self, SaveError::Name(_))
    }

    /// Returns whether the fault is in the game, not in the base.
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

    /// Returns a function that adds the file to an error of its format.
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
                "the base cannot store its start position and moves so that they are read back unchanged",
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
