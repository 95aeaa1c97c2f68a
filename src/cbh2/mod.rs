//! A ChessBase database in the 2CBH format, which ChessBase writes since
//! version 17. It is read-only here.
//!
//! | file | holds | module |
//! |---|---|---|
//! | `.2cbh` | a record of 192 bytes per game, text or analysis | [`record`] |
//! | `.2cbg` | moves, and the bodies of texts | [`frame`], [`moves`], [`texts`] |
//! | `.2cba` | remarks on the moves | [`frame`], [`annotations`] |
//! | `.2lid` | players, tournaments, sources, teams, labels | [`entities`] |
//!
//! `.2lgd`, `.2lcd` and `.ini` hold data that can be derived from these files,
//! and are not read. Numbers are little-endian unless a module says otherwise.
//!
//! The content of a base is that of [`cbh`](crate::cbh), and so are the terms
//! and types: ids of games and entities, names, groups, texts, code pages. Only
//! the storage differs.
//!
//! # Reliability
//!
//! No whole base written by ChessBase was available. The code follows two
//! public descriptions, which were made from real bases, and the bytes that
//! they quote. Nothing is guessed: frames have a checksum and two lengths, move
//! words name the moving and the captured piece, annotations must fill their
//! record. Any violation is a defect, and the part read before it is shown.

mod annotations;
mod database;
mod entities;
mod family;
mod frame;
mod moves;
mod record;
mod texts;

pub use database::{Database, Lost, Original};
pub use family::{Family, FileKind, SHARED_EXTENSIONS};
