//! Games as tables in Parquet files, both directions, for engines such as
//! `DuckDB`, Polars, Spark and Trino.
//!
//! ```text
//! FOLDER/games/year=2016/part-00000.parquet      a row per game
//! FOLDER/positions/year=2016/part-00000.parquet  a row per position, if asked for
//! ```
//!
//! The folders are partitions as Hive names them: engines read the column
//! `year` from them. Games without a year are in
//! `year=__HIVE_DEFAULT_PARTITION__`, which engines read as NULL. Within a year
//! games are sorted by opening code, so that engines skip the row groups of
//! other openings.
//!
//! | module | part |
//! |---|---|
//! | [`asked`] | what is asked of an export, which paths are tables |
//! | [`schema`] | kinds of columns, the schema of a file |
//! | [`games`], [`positions`] | the columns of both tables |
//! | [`remark`] | evaluation, clocks and words of a position |
//! | [`uci`] | moves as they are stored |
//! | [`buffer`] | the rows of one row group |
//! | [`moves`], [`texts`] | columns of moves and of texts as they are stored |
//! | [`chunk`] | such a column of a row group, page by page |
//! | [`sorter`] | sorts more numbers than fit in memory |
//! | [`parts`] | which games are in which file |
//! | [`writing`] | a base into a folder, on all cores |
//! | [`reading`] | a folder into PGN |
//! | [`column`] | the values of one column of a file |
//! | [`guard`], [`footer`] | what a hostile file may claim |
//!
//! Memory is bounded by the size of a row group for each core, whatever the
//! number of games. The file format is
//! <https://parquet.apache.org/docs/file-format/>.

mod asked;
mod buffer;
mod chunk;
mod column;
mod footer;
mod games;
mod guard;
mod moves;
mod parts;
mod positions;
mod reading;
mod remark;
mod schema;
mod sorter;
mod texts;
mod uci;
mod writing;

pub use asked::{Progress, TableOptions, is_table};
pub use games::COLUMNS as GAME_COLUMNS;
pub use positions::COLUMNS as POSITION_COLUMNS;
pub use reading::TableAsPgn;
pub use schema::{Column, ColumnKind, SCHEMA_VERSION};
pub use writing::export;

/// The partition of games without a year.
const NO_YEAR: &str = "__HIVE_DEFAULT_PARTITION__";
