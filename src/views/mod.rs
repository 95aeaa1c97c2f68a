//! What databases and opening books look like as directories.

pub mod book;
pub mod database;
mod positions;
mod texts;

use crate::cbh;
use crate::fs::Error;

impl From<cbh::Error> for Error {
    fn from(error: cbh::Error) -> Error {
        match error {
            cbh::Error::NotUsed(_) => Error::NotFound,
            other => Error::Damaged(other.to_string()),
        }
    }
}
