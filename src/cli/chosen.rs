//! Games that fit terms, for commands that work on some games of a base.

use std::path::Path;

use super::{Failure, places, progress};
use crate::base::{Base, FilesState, IndexState, Searched, index_file, open_index};
use crate::search::{
    self, Ended, Filter, GameSet, Give, Header, Index, Maker, Query, Reader, Told,
};

/// The games that fit the terms, and how many could not be looked at.
pub(super) fn games(
    base: &dyn Base,
    path: &Path,
    query: &Query,
    quiet: bool,
) -> Result<(GameSet, u64), Failure> {
    let opened = FilesState::of(base);
    let source = Searched(base);
    let filter = Filter::new(query, &source);
    let mut filter = filter.map_err(|fault| Failure::about(path, fault))?;
    let index = filter.asks_positions();
    let index = index.then(|| usable_index(base, opened, query.in_variations));
    if let Some(index) = index.flatten()
        && let Err(error) = filter.ask_index(&index, &source)
    {
        log::info!("the index of positions: {error}");
    }
    let bar = progress::bar(base.last_id(), quiet);
    let (mut games, mut unreadable) = (GameSet::default(), 0);
    let searched = search::scan(&source, &filter, &Fitting, &mut |told| {
        match told {
            Told::Piece(numbers) => numbers.into_iter().for_each(|number| games.add(number)),
            Told::Unreadable(number, fault) => {
                unreadable += 1;
                log::error!("game {number}: {fault}");
            }
            Told::Searched(count) => bar.inc(count.into()),
        }
        Ok(())
    });
    bar.finish_and_clear();
    searched.map_err(|ended| match ended {
        Ended::Source(fault) => Failure::about(path, fault),
        Ended::Taker(error) => Failure::new(error),
    })?;
    Ok((games, unreadable))
}

/// The index of a base, if there is one that can be used.
pub(super) fn usable_index(
    base: &dyn Base,
    opened: FilesState,
    in_variations: bool,
) -> Option<Index> {
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

/// Gives the numbers of games.
pub(super) struct Fitting;

impl Maker for Fitting {
    type Piece = Vec<u32>;

    fn reads_games(&self) -> bool {
        false
    }

    fn make(&self, games: &[Header], _: &mut dyn Reader, give: Give<'_, Vec<u32>>) {
        give(Told::Piece(games.iter().map(|game| game.number).collect()));
    }
}
