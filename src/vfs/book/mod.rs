//! Opening books as directories.

mod games;

pub use games::{Games, GamesOptions, ListedSource, SourceMap};
