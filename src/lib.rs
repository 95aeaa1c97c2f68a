//! cbfs shows ChessBase databases as directories of files.
//!
//! This page is the map. A *room* is a top-level module, named after what it handles.
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

pub mod archive;
pub mod base;
pub mod book;
pub mod bytes;
mod calendar;
pub mod cbh;
pub mod cbh2;
pub mod cli;
pub mod drafts;
pub mod escape;
pub mod fs;
pub mod fuse;
pub mod game;
pub mod html;
pub mod import;
mod names;
pub mod openings;
pub mod pages;
pub mod pgn;
pub mod picture;
pub mod search;
pub mod storage;
#[cfg_attr(not(feature = "parquet"), path = "tables/absent.rs")]
pub mod tables;
pub mod vfs;
pub mod views;
