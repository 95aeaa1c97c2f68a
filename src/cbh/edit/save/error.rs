//! Errors of planning a save.

use std::fmt;

use crate::bytes::Malformed;
use crate::cbh::entities::{EditError, Unfit};
use crate::cbh::moves::EncodeError;
use crate::cbh::{CodePage, Error, FileKind, GameId};
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
    /// The names that are left would be read in another page than now.
    PageLost(CodePage, CodePage),
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
            SaveError::PageLost(page, other) => {
                let (page, other) = (page.name(), other.name());
                write!(
                    f,
                    "nothing else tells that names are in {page}, and others would be read in {other} \
                     from then on: open the database with --codepage {page} to change this"
                )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::ChangeError;
    use crate::cbh::entities::EntityId;

    #[test]
    fn errors_say_what_is_wrong_and_whether_it_is_the_game() {
        let (field, value) = ("White", "x".to_owned());
        let limit = "1 at most".to_owned();
        let name = Unfit {
            field,
            whole: value.clone(),
            stored: String::new(),
        };
        let defect = Defect {
            file: "cbg",
            offset: 16,
            what: "bad".to_owned(),
        };
        let unused = Error::NotUsed(GameId(3));
        let file = FileKind::Players;
        for (error, told, is_of_game) in [
            (unused.into(), "no game or text has the number 3", false),
            (
                SaveError::entity(file)(EditError::Damaged(18, "bad".to_owned())),
                ".cbp: bad at 0x12",
                false,
            ),
            (
                EncodeError::TooDeep.into(),
                &*EncodeError::TooDeep.to_string(),
                true,
            ),
            (
                SaveError::Defective(GameId(3), defect),
                "game 3 is damaged and not written over: .cbg at 0x10: bad",
                false,
            ),
            (
                SaveError::DoesNotFit {
                    field,
                    value: value.clone(),
                    limit,
                },
                "White: x does not fit, 1 at most",
                true,
            ),
            (
                SaveError::Name(name),
                "White: \"x\" is longer than its field",
                true,
            ),
            (
                SaveError::NoPlace {
                    field,
                    value,
                    why: "so",
                },
                "White: there is no place for x: so",
                true,
            ),
            (
                SaveError::ReadsBackOtherwise,
                "the base cannot store its start position and moves so that they are read back unchanged",
                true,
            ),
            (
                SaveError::malformed(file)(Malformed::new(1, "bad")),
                ".cbp is damaged: bad",
                false,
            ),
            (
                SaveError::Again(GameId(3)),
                "game 3 is changed twice by one save",
                false,
            ),
        ] {
            assert_eq!(error.to_string(), told);
            assert_eq!(error.is_of_game(), is_of_game, "{told}");
            assert_eq!(error.is_too_long(), told.contains("longer"), "{told}");
            let source = std::error::Error::source(&error).map(ToString::to_string);
            assert!(
                source.is_none_or(|source| told.ends_with(&source)),
                "{told}"
            );
        }
    }

    #[test]
    fn errors_of_moves_and_names_say_what_is_wrong() {
        for (error, told) in [
            (
                EncodeError::TooManyPieces(33),
                "the set-up position has 33 pieces",
            ),
            (EncodeError::TooDeep, "variations nest deeper than "),
            (
                EncodeError::RemarkTooLong(70_000),
                "a remark takes 70000 bytes",
            ),
            (
                EncodeError::RemarksTooLong(70_000),
                "the remarks take 70000 bytes",
            ),
            (EncodeError::TooLong(70_000), "the moves take 70000 bytes"),
        ] {
            let found = error.to_string();
            assert!(found.starts_with(told), "{found}");
        }
        for (error, told) in [
            (EditError::Exists(EntityId(7)), "record 7 has this name"),
            (EditError::NotThere(EntityId(7)), "there is no record 7"),
            (EditError::Full, "the file holds as many records as it can"),
        ] {
            assert_eq!(error.to_string(), told);
            let whole = ChangeError::Save(SaveError::Entity(FileKind::Teams, error));
            assert_eq!(whole.to_string(), format!(".cbe: {told}"));
        }
    }
}
