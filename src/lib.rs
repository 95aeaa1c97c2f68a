//! cbfs shows ChessBase databases as directories of files.
//!
//! # As a library
//!
//! [`open`] opens a base of either format, [`find`] searches it, [`open_book`]
//! opens an opening book; [`decode_pgn`] and [`encode_pgn`] read and write PGN.
//! Each gives and takes the same value, a [`Game`].
//!
//! ```
//! use std::path::Path;
//!
//! use cbfs::{Decoded, GameId, Options};
//!
//! let base = cbfs::open(Path::new("fixtures/cbh/sample/sample.cbh"), &Options::default())?;
//! let (mut decoded, mut text) = (Decoded::default(), Vec::new());
//! for number in 1..=base.last_id() {
//!     match base.read_game(GameId(number), &mut decoded) {
//!         Ok(()) => cbfs::encode_pgn(&decoded.game, &decoded.defects, &mut text),
//!         Err(cbfs::BaseError::NotUsed(_)) => {}
//!         Err(error) => return Err(error.into()),
//!     }
//! }
//! assert!(text.starts_with(b"[Event "));
//!
//! let game = cbfs::decode_pgn(b"1. e4 e5 2. Nf3 *")?;
//! let plies = game.tree.main_line().filter_map(|id| game.tree.ply(id));
//! assert_eq!(plies.map(|ply| ply.san.to_string()).collect::<Vec<_>>(), ["e4", "e5", "Nf3"]);
//!
//! let book = cbfs::open_book(Path::new("fixtures/book/small/small.ctg"), None);
//! let entry = book.ok_or("no book")??.look_up(&game.start.position)?.ok_or("no entry")?;
//! assert_eq!(entry.moves.len(), 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The items documented here are stable: they change only when the second number
//! of the version does, and the changelog says how. Bases are only read; what is
//! written goes through a mount or the command. The modules are public for the
//! program and its tests alone, and may change at any time.
//!
//! # The map
//!
//! This is the map of the source. A *room* is a top-level module, named after what it handles.
//! Each format has one room with its reader, its writer and the description of the
//! format.
//!
//! ```text
//!   kernel
//!     │  fuse              fuser adapter: unwrap the request, call, reply
//!     ▼
//!   vfs                    one mount: what a kernel asks
//!     │  drafts            what is being written, until it is saved or refused
//!     │  views             databases and books as directories
//!     │  fs                trees, texts and lengths, whatever is shown
//!     │  import            files of games into a base
//!     │  tables            games as tables in Parquet files, both directions
//!     │  pages             what pages tell of a base, and all of them as a folder
//!     │  openings          names of positions
//!     │  base              a base of games, whatever its format
//!     ▼
//!   search                 games that fit a query, moves of a position
//!   pgn   cbh2  book       formats, over &[u8] and &str
//!     │   cbh    archive   files packed into one, read as a folder
//!     ▼     ▼     ▼
//!   game                   one game as a value (shakmaty has the rules)
//!   picture                boards and pages of games
//!   bytes  storage  html   integers and strings  |  where bytes live, are saved  |  pages
//!   escape  names          messages without control characters  |  names of files
//!   calendar               dates as numbers of days, times for people
//! ```
//!
//! | room | may use |
//! |---|---|
//! | `bytes` | nothing |
//! | `html` | nothing |
//! | `escape` | nothing |
//! | `names` | nothing |
//! | `calendar` | nothing |
//! | `storage` | `names`, `escape`, `bytes` |
//! | `archive` | `storage`, `calendar` |
//! | `game` | nothing |
//! | `pgn` | `game` |
//! | `cbh` | `game`, `bytes`, `storage`, `html`, `calendar` |
//! | `cbh2` | `cbh`, `game`, `bytes`, `storage`, `html` |
//! | `book` | `openings`, `game`, `bytes`, `storage` |
//! | `openings` | `pgn`, `game` |
//! | `picture` | `game` |
//! | `import` | `openings`, `pgn`, `cbh`, `game`, `escape` |
//! | `search` | `openings`, `game`, `bytes`, `storage` |
//! | `base` | `search`, `pgn`, `archive`, `book`, `cbh2`, `cbh`, `game`, `storage`, `html`, `names` |
//! | `pages` | `base`, `picture`, `search`, `openings`, `pgn`, `cbh`, `game`, `storage` |
//! | `tables` | `base`, `cbh`, `book`, `openings`, `pgn`, `game`, `bytes`, `storage`, `calendar` |
//! | `fs` | `storage`, `names`, `escape`, `calendar` |
//! | `views` | `fs`, `import`, `pages`, `picture`, `openings`, `base`, `search`, `pgn`, `cbh`, `cbh2`, `book`, `archive`, `game`, `storage`, `html`, `names`, `escape` |
//! | `drafts` | `fs`, `storage`, `names`, `escape` |
//! | `vfs` | `drafts`, `fs`, `views`, `names`, `escape` |
//! | `fuse` | `vfs` |
//! | `cli` | `fuse`, `vfs`, `views`, `import`, `tables`, `base`, `search`, `cbh2`, `cbh`, `pgn`, `book`, `archive`, `game`, `storage`, `escape` |
//!
//! No room uses a room above it: `game` knows no format, `cbh` and `pgn` do not know
//! each other, `cbh2` shares the types of `cbh` but not its storage format, `vfs` does
//! not know the kernel. `tests/rooms.rs` checks the source against this table.
//!
//! # Invariants
//!
//! 1. No bytes from disk can panic, recurse without bound, or allocate more
//!    than a small multiple of the input.
//! 2. A game that cannot be fully read is shown as far as it goes, says so,
//!    and is never writable.
//! 3. Decoders see slices, not files. `vfs` sees no kernel. `game` sees no
//!    format.
//! 4. No lock is held while a game is decoded or rendered to be read. A save
//!    holds the lock of its base; a reader waits for it only if that save
//!    replaces the snapshot that the reader uses.
//! 5. A request is answered from one snapshot of a base, and all reads of a
//!    file after its lookup return one content.
//! 6. There is no `unsafe`.

#[doc(inline)]
pub use crate::base::{Base, Error as BaseError, FindError, NamedFile, find, open};
#[doc(inline)]
pub use crate::book::{
    Book, BookEntry, BookMove, BookStatistics, Error as BookError, open as open_book,
};
#[doc(inline)]
pub use crate::cbh::{
    CodePage, Decoded, EntityId, EntityKind, EntityNames, Entry, GameId, Options, RecordKind,
    Summary,
};
#[doc(inline)]
pub use crate::game::{
    Annotation, AnnotationText, Annotations, Date, Defect, Eco, Game, GameResult, Headers,
    MoveTree, Nation, PlayerName, Ply, PlyId, Position, San, Start, Team, Tournament,
};
#[doc(inline)]
pub use crate::pgn::{Error as PgnError, decode as decode_pgn, encode as encode_pgn};

#[doc(hidden)]
pub mod archive;
#[doc(hidden)]
pub mod base;
#[doc(hidden)]
pub mod book;
#[doc(hidden)]
pub mod bytes;
mod calendar;
#[doc(hidden)]
pub mod cbh;
#[doc(hidden)]
pub mod cbh2;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod drafts;
#[doc(hidden)]
pub mod escape;
#[doc(hidden)]
pub mod fs;
#[doc(hidden)]
pub mod fuse;
#[doc(hidden)]
pub mod game;
#[doc(hidden)]
pub mod html;
#[doc(hidden)]
pub mod import;
mod names;
#[doc(hidden)]
pub mod openings;
#[doc(hidden)]
pub mod pages;
#[doc(hidden)]
pub mod pgn;
#[doc(hidden)]
pub mod picture;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod storage;
#[cfg_attr(not(feature = "parquet"), path = "tables/absent.rs")]
#[doc(hidden)]
pub mod tables;
#[doc(hidden)]
pub mod vfs;
#[doc(hidden)]
pub mod views;
