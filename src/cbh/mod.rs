//! A ChessBase database: `base.cbh` and its siblings.
//!
//! | file | holds | module |
//! |---|---|---|
//! | `.cbh` | a record of 46 bytes per game or text | [`record`] |
//! | `.cbj` | more of each game: teams, rating types, stamps | [`extended`] |
//! | `.cbg` | moves, and the bodies of texts | [`moves`], [`texts`] |
//! | `.cba` | remarks on the moves | [`annotations`] |
//! | `.cbp` `.cbt` `.cbc` `.cbs` `.cbe` `.cbl` | players, tournaments, annotators, sources, teams, labels | [`entities`] |
//! | `.flags` | which games are top games | [`top_games`] |
//! | `.cbtt` | more of each tournament | [`entities`] |
//!
//! [`crossref`] tells which games have a player, an event, an opening or a
//! year in common, [`references`] how often records refer to each entity;
//! [`Summary`] is a game as its records alone tell it, [`GameFacts`] what its
//! record must say of its moves and remarks. [`save`] plans what a save comes
//! to.
//!
//! The words: a **game id** counts the records of `.cbh` from 1, texts
//! included; an **entity id** counts the records of one entity file from 0.

mod annotations;
mod codepage;
mod compact;
mod crossref;
mod database;
pub(crate) mod date;
mod diff;
mod entities;
mod error;
pub mod extended;
mod facts;
mod family;
mod foreign_tags;
pub mod moves;
mod opening;
mod parts;
pub mod record;
mod references;
mod repair;
mod rewrite;
mod save;
mod summary;
mod texts;
mod top_games;
mod workshop;

pub(crate) use annotations::CommentText;
pub use codepage::CodePage;
pub use compact::{Compacted, compact};
pub(crate) use crossref::CrossrefBuilder;
pub use crossref::{Crossref, Group, Grouping};
pub(crate) use database::find::{Candidate, Search};
pub(crate) use database::lists::Lists;
pub use database::{
    Changes, Database, Decoded, Effects, GameChange, Listed, Opener, Options, StoredGame,
};
pub use entities::{
    EditError, EncodedEntity, Entity, EntityEditor, EntityId, EntityKind, EntityNames, ExtraChange,
    ExtraWrites, NameForm, TournamentExtras, TreeOrder, Unfit, Write,
};
pub(crate) use entities::{NamesBuilder, event_kind};
pub use error::Error;
pub use facts::GameFacts;
pub(crate) use family::resolved;
pub use family::{Family, FileKind};
pub(crate) use foreign_tags::lift as lift_foreign_tags;
pub(crate) use moves::first_rank as chess960_rank;
pub use opening::{ChangeError, OpenBase};
pub use parts::{Part, Parts};
pub use record::{Entry, GameId, RecordKind};
pub use references::{Reference, References};
pub use repair::repair;
pub use rewrite::{rewrite, write};
pub use save::{Appended, Imported, Importer, Knowledge, Plan, PreparedGame, SaveError, Saver};
pub use summary::Summary;
pub use texts::{Body, Content, GameMention, GuidingText, Link, TextLanguage};
pub use top_games::TopGames;
pub use workshop::Workshop;
