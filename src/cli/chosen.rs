//! Games that fit terms, for commands that work on some games of a base.

use std::io;
use std::path::Path;

use indicatif::ProgressBar;

use super::{Failure, places, progress};
use crate::base::{Base, FilesState, IndexState, Searched, index_file, open_index};
use crate::search::{
    self, Collector, Ended, Filter, Fitting, GameSet, PositionTable, Query, ScanEvent,
};

/// A search for the games of a base that fit the terms of a query.
pub(super) struct QuerySearch<'a> {
    pub(super) base: &'a dyn Base,
    /// The base, as the user named it.
    pub(super) path: &'a Path,
    filter: Filter,
    /// The index of positions, if it helps and there is one that can be used.
    pub(super) index: Option<PositionTable>,
    pub(super) bar: ProgressBar,
}

impl<'a> QuerySearch<'a> {
    /// Prepares a search. `is_of_position` tells that the index of positions is
    /// to be asked later, whatever the terms are.
    pub(super) fn new(
        (base, path): (&'a dyn Base, &'a Path),
        query: &Query,
        is_of_position: bool,
        quiet: bool,
    ) -> Result<QuerySearch<'a>, Failure> {
        let opened = FilesState::of(base);
        let source = Searched(base);
        let filter = Filter::new(query, &source);
        let mut filter = filter.map_err(|fault| Failure::about(path, fault))?;
        let asks_index = is_of_position || filter.asks_positions() || filter.asks_masks();
        let index = asks_index.then(|| usable_index(base, opened, query.in_variations));
        let index = index.flatten();
        if let Some(index) = &index
            && let Err(error) = filter.ask_index(index, &source)
        {
            log::info!("the index of positions: {error}");
        }
        Ok(QuerySearch {
            base,
            path,
            filter,
            index,
            bar: progress::bar(base.last_id(), quiet),
        })
    }

    /// Searches; returns the number of games that could not be read. An error of
    /// `take` is one of standard output.
    pub(super) fn run<M: Collector>(
        &self,
        maker: &M,
        take: &mut dyn FnMut(M::Collected) -> io::Result<()>,
    ) -> Result<u64, Failure> {
        let mut unreadable = 0;
        let source = Searched(self.base);
        let searched = search::scan(&source, &self.filter, maker, &mut |told| {
            match told {
                ScanEvent::Piece(piece) => return take(piece),
                ScanEvent::Unreadable(number, fault) => {
                    unreadable += 1;
                    log::error!("game {number}: {fault}");
                }
                ScanEvent::Searched(count) => {
                    let end = self.bar.length().unwrap_or(u64::MAX);
                    let searched = self.bar.position() + u64::from(count);
                    self.bar.set_position(searched.min(end));
                }
            }
            Ok(())
        });
        self.bar.finish_and_clear();
        searched.map_err(|ended| match ended {
            Ended::Source(fault) => Failure::about(self.path, fault),
            Ended::Taker(error) => Failure::output(&error),
        })?;
        Ok(unreadable)
    }

    /// The games that fit, and how many could not be read.
    pub(super) fn games(&self) -> Result<(GameSet, u64), Failure> {
        let mut games = GameSet::default();
        let unreadable = self.run(&Fitting, &mut |numbers| {
            for number in numbers {
                games.add(number);
            }
            Ok(())
        })?;
        Ok((games, unreadable))
    }
}

/// The index of a base, if there is one that can be used.
fn usable_index(base: &dyn Base, opened: FilesState, in_variations: bool) -> Option<PositionTable> {
    let path = index_file(base, &places::cache()?);
    let why = match open_index(base, opened, &path, in_variations) {
        Ok(IndexState::Usable(index)) => return Some(index),
        Ok(IndexState::Missing) => return None,
        Ok(IndexState::Unusable(why)) => why,
        Err(fault) => fault.to_string(),
    };
    log::info!("{}: {why}", path.display());
    None
}
