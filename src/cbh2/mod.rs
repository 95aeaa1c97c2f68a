//! A ChessBase database of the newer format, 2CBH, as ChessBase writes it
//! since version 17. To be read only.
//!
//! | file | holds | module |
//! |---|---|---|
//! | `.2cbh` | a record of 192 bytes per game, text or analysis | [`record`] |
//! | `.2cbg` | moves, and the bodies of texts | [`frame`], [`moves`], [`texts`] |
//! | `.2cba` | remarks on the moves | [`frame`], [`annotations`] |
//! | `.2lid` | players, tournaments, sources, teams, labels | [`entities`] |
//!
//! `.2lgd`, `.2lcd` and `.ini` hold what can be worked out from these, and are
//! not read. Numbers are little-endian unless a module says otherwise.
//!
//! What a base consists of is as in [`cbh`](crate::cbh), and so are the words
//! for it: numbers of games and entities, names, groups, texts, code pages.
//! What differs is how it is stored.
//!
//! # How sure this is
//!
//! No whole base that ChessBase wrote was at hand. What is written here
//! follows two public descriptions, which were made from real bases, and the
//! bytes that they quote. So nothing is guessed: frames have a check sum and
//! two lengths, move words name the piece that moves and the one it takes,
//! remarks must fill their record. What does not fit is a defect, and what
//! was read before it is shown.

mod annotations;
mod database;
mod entities;
mod family;
mod frame;
mod moves;
mod record;
mod texts;

pub use database::Database;
pub use family::{Family, FileKind};
