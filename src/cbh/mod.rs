//! A ChessBase database: `base.cbh` and its siblings.
//!
//! | file | holds | module |
//! |---|---|---|
//! | `.cbh` | a record of 46 bytes per game or text | [`record`] |
//! | `.cbj` | more of each game: teams, rating types, stamps | [`extended`] |
//! | `.cbg` | moves, and the bodies of texts | [`moves`], `texts` |
//! | `.cba` | remarks on the moves | `annotations` |
//! | `.cbp` `.cbt` `.cbc` `.cbs` `.cbe` `.cbl` | players, tournaments, annotators, sources, teams, labels | `entities` |
//! | `.flags` | which games are top games | `layout/top_games.rs` |
//! | `.cbtt` | more of each tournament | `entities` |
//!
//! | folder | does |
//! |---|---|
//! | `layout` | records, small files, how text stands in them: both directions |
//! | `base` | finds, opens and reads all files together |
//! | `edit` | plans one save |
//! | `maintain` | checks, repairs and compacts a whole base |
//!
//! [`Crossref`] lists the games of each player, event, opening or year;
//! [`References`] counts the references to each entity. A [`Summary`] holds the
//! header fields of a game that its records store, [`GameFacts`] the fields
//! that follow from its moves and annotations. A [`Saver`] plans a save.
//!
//! Terms: a **game id** is the number of a record in `.cbh`, from 1, texts
//! included; an **entity id** is the number of a record in one entity file,
//! from 0.

mod annotations;
mod base;
mod edit;
mod entities;
mod error;
mod layout;
mod maintain;
pub mod moves;
mod texts;

pub(crate) use annotations::{
    CommentText, MOST_ANSWERS, MOST_POINTS, QuotedHeader, encode_remark, encode_training,
    quoted_caption, remark_fits,
};
pub(crate) use base::crossref::CrossrefBuilder;
pub use base::crossref::{Crossref, GameGroup, Grouping};
pub(crate) use base::database::MOST_INI_BYTES;
pub(crate) use base::database::find::{MentionCandidate, MentionSearch};
pub(crate) use base::database::lists::CachedLists;
pub use base::database::{
    Changes, Database, Decoded, Effects, GameChange, ListedRecord, Opener, Options, StoredGame,
};
pub use base::facts::GameFacts;
pub use base::family::{Family, FileKind};
pub(crate) use base::family::{MEDIA_FOLDERS, SPARE_FOLDER, as_named, resolved};
pub use base::new_base::{NewBase, Receipt};
pub use base::opening::{ChangeError, OpenBase};
pub use base::parts::{BaseFile, BaseFiles};
pub use base::references::{ReferenceCount, References};
pub use base::summary::Summary;
pub use edit::history::SaveHistory;
pub use edit::rewrite::{rewrite, write};
pub use edit::save::{
    Appended, CopiedMetadata, Imported, Importer, Knowledge, Plan, PreparedGame, PreparedText,
    ReferenceSite, SaveError, Saver,
};
pub use entities::{
    EditError, EncodedEntity, Entity, EntityEditor, EntityId, EntityKind, EntityNames,
    EventDetails, ExtraChange, ExtraWrites, NameForm, TournamentExtras, TreeOrder, Unfit, Write,
};
pub(crate) use entities::{NamesBuilder, event_kind};
pub use error::Error;
pub use layout::codepage::CodePage;
pub(crate) use layout::date;
pub(crate) use layout::foreign_tags::lift as lift_foreign_tags;
pub use layout::record::{Entry, GameId, RecordKind};
pub use layout::top_games::TopGames;
pub use layout::{extended, record};
pub(crate) use maintain::compact::copy_folder;
pub use maintain::compact::{Compacted, compact};
pub use maintain::repair::repair;
pub(crate) use moves::{encode_quoted, first_rank as chess960_rank};
pub use texts::{Body, Content, GameMention, GuidingText, Link, TextLanguage};
