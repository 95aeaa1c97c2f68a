//! Which games reach a position.
//!
//! For each game and each position that it reaches there is one entry: a digest of
//! the position, the game, and the move played there the first time. They are kept
//! in memory, or in a file ([`Segment`]). Games that change later are read anew,
//! and have entries of their own in memory beside the first ones.
//!
//! Positions are told apart by 64 bits of a hash, whose seed is drawn anew in each
//! process or for each file, so nobody can make two positions that have the same;
//! by chance two of a million positions have it once in thirty million times.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Arc, LazyLock};

use shakmaty::Move;

use super::filter::Filter;
use super::game_set::GameSet;
use super::moves::{Played, Sequel};
use super::parse::Query;
use super::reach::{PackedMove, ReachPart, Reaches};
use super::scan::{Collector, Ended, ScanEvent, scan};
use super::segment::{List, MAIN, MaskAnswer, Segment, SegmentLookup, Totals, VARIATIONS};
use super::source::{GamesReader, SHORT_ANSWER, SearchedGames, SearchedHeader, SourceError};
use super::term::Wanted;
use super::walk::{Continue, walk};
use crate::game::{Placement, Position, PositionKey};
use crate::storage::Cursor;

/// So many games may have changed since a segment was written, at most.
pub const MOST_CHANGED: usize = 20_000;

/// Positions of all games of a source, deleted ones too.
#[derive(Clone, Debug)]
pub struct PositionTable {
    in_variations: bool,
    first: IndexBase,
    /// Games of the first part that are others now.
    changed: GameSet,
    /// Those of them that are there.
    later: Arc<ReachPart>,
}

/// Base of the index: in memory, or a file.
#[derive(Clone, Debug)]
enum IndexBase {
    Memory(Arc<ReachPart>),
    File(Arc<Segment>),
}

/// Moves and games of some games in a position.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// The moves, with their numbers.
    pub played: Played,
    /// The games.
    pub games: GameSet,
}

impl Reached {
    /// Adds what other games have.
    pub fn add(&mut self, other: Reached) {
        self.played.add(other.played);
        other.games.from(0).for_each(|game| self.games.add(game));
    }
}

fn memory_seed() -> u64 {
    static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));
    *SEED
}

impl PositionTable {
    /// Whether games that it lacks may be read now: they could not be for an error that
    /// may have passed.
    pub fn is_outworn(&self) -> bool {
        let first = match &self.first {
            IndexBase::Memory(part) => part.short_since,
            IndexBase::File(_) => None,
        };
        let since = first.or(self.later.short_since);
        since.is_some_and(|since| since.elapsed() > SHORT_ANSWER)
    }

    /// Reads all games. `None` if they have more than `most` positions
    /// together.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if the headers cannot be read.
    pub fn build(
        source: &dyn SearchedGames,
        in_variations: bool,
        most: usize,
    ) -> Result<Option<PositionTable>, SourceError> {
        let query = Query {
            in_deleted: true,
            ..Query::default()
        };
        let filter = Filter::new(&query, source)?;
        let mut part = ReachPart::default();
        let maker = Reaches {
            in_variations,
            seed: memory_seed(),
        };
        let scanned = scan(source, &filter, &maker, &mut |told| {
            if let ScanEvent::Piece(piece) = told {
                part.add(piece);
            }
            if part.reaches.len() > most {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            Ok(())
        });
        match scanned {
            Ok(()) => {}
            Err(Ended::Source(fault)) => return Err(fault),
            Err(Ended::Taker(_)) => return Ok(None),
        }
        part.sort();
        Ok(Some(PositionTable {
            in_variations,
            first: IndexBase::Memory(Arc::new(part)),
            changed: GameSet::default(),
            later: Arc::default(),
        }))
    }

    /// The games of a source: what a segment has of them, and those that have
    /// [changed](Segment::changed) since it was written. `None` if these are too
    /// many.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if the headers cannot be read.
    pub fn of_segment(
        segment: &Arc<Segment>,
        source: &dyn SearchedGames,
        changed: &GameSet,
        in_variations: bool,
    ) -> Result<Option<PositionTable>, SourceError> {
        let index = PositionTable {
            in_variations,
            first: IndexBase::File(Arc::clone(segment)),
            changed: GameSet::default(),
            later: Arc::default(),
        };
        index.after(&changed.from(0).collect(), source)
    }

    /// The games that cannot be read.
    pub fn unreadable(&self) -> GameSet {
        let of_memory = match &self.first {
            IndexBase::Memory(part) => &*part.unreadable,
            IndexBase::File(_) => &[],
        };
        let of_file = self
            .segment()
            .map(|(segment, _)| segment.unreadable().from(0));
        let first = of_file
            .into_iter()
            .flatten()
            .chain(of_memory.iter().copied());
        first
            .filter(|game| !self.changed.contains(*game))
            .chain(self.later.unreadable.iter().copied())
            .collect()
    }

    /// The segment that it has, and the games that are not as there.
    pub fn segment(&self) -> Option<(&Arc<Segment>, &GameSet)> {
        match &self.first {
            IndexBase::File(segment) => Some((segment, &self.changed)),
            IndexBase::Memory(_) => None,
        }
    }

    /// Asks the masks which games can meet one of these conditions on moments
    /// of main lines. Returns `None` if there are no masks.
    ///
    /// # Errors
    ///
    /// If their file is damaged or cannot be read.
    pub(super) fn ask_masks(&self, wanted: &[Wanted]) -> io::Result<Option<MaskAnswer>> {
        let masks = self.segment().and_then(|(segment, _)| segment.masks());
        let Some(masks) = masks.filter(|_| !self.in_variations) else {
            return Ok(None);
        };
        let Some(mut said) = masks.ask(wanted)? else {
            return Ok(None);
        };
        let unreadable = self.unreadable();
        for game in self.changed.from(0).chain(unreadable.from(0)) {
            said.open.add(game);
        }
        Ok(Some(said))
    }

    fn seed(&self) -> u64 {
        match &self.first {
            IndexBase::Memory(_) => memory_seed(),
            IndexBase::File(segment) => segment.seed(),
        }
    }

    /// The same after these games came, went or changed. `None` if too many
    /// have changed by now: then it is to be built anew.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if the headers cannot be read.
    pub fn after(
        &self,
        games: &BTreeSet<u32>,
        source: &dyn SearchedGames,
    ) -> Result<Option<PositionTable>, SourceError> {
        let mut changed = self.changed.clone();
        for game in games {
            changed.add(*game);
        }
        let most = match &self.first {
            IndexBase::Memory(part) => 1000.max(part.headers.len() / 64),
            IndexBase::File(_) => MOST_CHANGED,
        };
        if changed.count() as usize > most {
            return Ok(None);
        }
        let mut later = self.later.without(|game| games.contains(&game));
        let maker = Reaches {
            in_variations: self.in_variations,
            seed: self.seed(),
        };
        let mut reader = source.reader();
        for &game in games {
            let mut found = None;
            if (1..=source.last()).contains(&game) {
                source.headers(game..game.saturating_add(1), false, &mut |header| {
                    found = Some(*header);
                })?;
            }
            if let Some(header) = found {
                maker.make(&[header], reader.as_mut(), &mut |told| {
                    if let ScanEvent::Piece(piece) = told {
                        later.add(piece);
                    }
                    true
                });
            }
        }
        later.sort();
        Ok(Some(PositionTable {
            in_variations: self.in_variations,
            first: self.first.clone(),
            changed,
            later: Arc::new(later),
        }))
    }

    /// Returns the moves that games played in a position: all games but the
    /// deleted ones, or `these`.
    ///
    /// # Errors
    ///
    /// If the file of the index is damaged or cannot be read.
    pub fn played(
        &self,
        position: &Position,
        source: &dyn SearchedGames,
        these: Option<&GameSet>,
    ) -> io::Result<Played> {
        let mut asking = IndexQuery::new(self, source, these);
        let mut played = Played::default();
        if !asking.add_totals(position, &mut played)? {
            asking.for_each(position, &mut |header, next| {
                played.add_game(next.in_position(position), header);
            })?;
        }
        let moves: Vec<Option<Move>> = played.moves.keys().copied().collect();
        for m in moves {
            let mut after = position.clone();
            match m {
                Some(m) => drop(after.play(m)),
                None => after.play_null(),
            }
            let count = asking.count(&after)?;
            played.children.insert(m, count);
        }
        Ok(played)
    }

    /// The games that reach a position, of those that are not deleted, or of these.
    ///
    /// # Errors
    ///
    /// If the file of the index is damaged or cannot be read.
    pub fn games(
        &self,
        position: &Position,
        source: &dyn SearchedGames,
        these: Option<&GameSet>,
    ) -> io::Result<GameSet> {
        IndexQuery::new(self, source, these).games(position)
    }

    /// The games that reach a position, deleted ones too.
    ///
    /// # Errors
    ///
    /// If the file of the index is damaged or cannot be read.
    pub fn all_games(
        &self,
        position: &Position,
        source: &dyn SearchedGames,
    ) -> io::Result<GameSet> {
        let mut asking = IndexQuery::new(self, source, None);
        asking.with_deleted = true;
        asking.games(position)
    }
}

/// A query of an index.
struct IndexQuery<'a> {
    index: &'a PositionTable,
    source: &'a dyn SearchedGames,
    these: Option<&'a GameSet>,
    with_deleted: bool,
    reader: Option<Box<dyn GamesReader + 'a>>,
    /// Where the segment is read, and where its facts.
    cursors: Option<(&'a Segment, Cursor<'a>, Cursor<'a>)>,
    /// Entries of positions in the segment.
    found: HashMap<(u64, usize), Arc<SegmentLookup>>,
}

impl<'a> IndexQuery<'a> {
    fn new(
        index: &'a PositionTable,
        source: &'a dyn SearchedGames,
        these: Option<&'a GameSet>,
    ) -> IndexQuery<'a> {
        let cursors = match &index.first {
            IndexBase::Memory(_) => None,
            IndexBase::File(segment) => Some((&**segment, segment.cursor(), segment.cursor())),
        };
        IndexQuery {
            index,
            source,
            these,
            with_deleted: false,
            reader: None,
            cursors,
            found: HashMap::new(),
        }
    }

    fn counts(&self, header: &SearchedHeader) -> bool {
        self.these
            .map_or(self.with_deleted || !header.is_deleted, |these| {
                these.contains(header.number)
            })
    }

    fn games(&mut self, position: &Position) -> io::Result<GameSet> {
        let mut games = GameSet::default();
        self.for_each(position, &mut |header, _| games.add(header.number))?;
        Ok(games)
    }

    /// The games that reach a position and count, each with what it played there.
    fn for_each(
        &mut self,
        position: &Position,
        take: &mut dyn FnMut(&SearchedHeader, PackedMove),
    ) -> io::Result<()> {
        let index = self.index;
        if let IndexBase::Memory(part) = &index.first {
            let first = part.of(position.key().digest(index.seed()));
            let first = first.filter(|(header, _)| !index.changed.contains(header.number));
            first
                .filter(|(header, _)| self.counts(header))
                .for_each(|(header, next)| take(header, next));
        } else {
            self.for_each_in_table(MAIN, position, take)?;
            self.for_each_in_variations(position, take)?;
        }
        self.for_each_later(position, take);
        Ok(())
    }

    /// Those of the segment where only variations reach it, if these count.
    fn for_each_in_variations(
        &mut self,
        position: &Position,
        take: &mut dyn FnMut(&SearchedHeader, PackedMove),
    ) -> io::Result<()> {
        if !self.index.in_variations {
            return Ok(());
        }
        self.for_each_in_table(VARIATIONS, position, take)
    }

    /// Those that have changed since the first part was made.
    fn for_each_later(
        &self,
        position: &Position,
        take: &mut dyn FnMut(&SearchedHeader, PackedMove),
    ) {
        let digest = position.key().digest(self.index.seed());
        let later = self.index.later.of(digest);
        later
            .filter(|(header, _)| self.counts(header))
            .for_each(|(header, next)| take(header, next));
    }

    fn for_each_in_table(
        &mut self,
        table: usize,
        position: &Position,
        take: &mut dyn FnMut(&SearchedHeader, PackedMove),
    ) -> io::Result<()> {
        match &*self.find(position, table)? {
            SegmentLookup::List(list) => self.for_each_in(list, take),
            SegmentLookup::Candidates(games) => self.for_each_of(games, table, position, take),
        }
    }

    fn find(&mut self, position: &Position, table: usize) -> io::Result<Arc<SegmentLookup>> {
        let digest = position.key().digest(self.index.seed());
        if let Some(found) = self.found.get(&(digest, table)) {
            return Ok(Arc::clone(found));
        }
        let Some((segment, cursor, _)) = &mut self.cursors else {
            return Ok(Arc::new(SegmentLookup::Candidates(Vec::new())));
        };
        let found = Arc::new(segment.find(digest, table, cursor)?);
        self.found.insert((digest, table), Arc::clone(&found));
        Ok(found)
    }

    /// The header of a game of the segment as far as it is kept there, if the game
    /// is as it was and counts.
    fn header(&mut self, game: u32) -> io::Result<Option<SearchedHeader>> {
        if self.index.changed.contains(game) {
            return Ok(None);
        }
        if self.these.is_some_and(|these| !these.contains(game)) {
            return Ok(None);
        }
        let Some((segment, _, cursor)) = &mut self.cursors else {
            return Ok(None);
        };
        let facts = segment.facts(game, cursor)?;
        let header = facts.header(game);
        Ok((facts.is_there() && self.counts(&header)).then_some(header))
    }

    fn for_each_in(
        &mut self,
        list: &List,
        take: &mut dyn FnMut(&SearchedHeader, PackedMove),
    ) -> io::Result<()> {
        let Some((segment, ..)) = &self.cursors else {
            return Ok(());
        };
        list.for_each(&mut segment.cursor(), |game, number| {
            if let Some(header) = self.header(game)?
                && let Some(next) = list.moves.get(number)
            {
                take(&header, *next);
            }
            Ok(())
        })
    }

    fn for_each_of(
        &mut self,
        games: &[u32],
        table: usize,
        position: &Position,
        take: &mut dyn FnMut(&SearchedHeader, PackedMove),
    ) -> io::Result<()> {
        let sought = (Placement::of(position), position.key());
        for &game in games {
            if let Some(header) = self.header(game)?
                && let Some(next) = self.next_at(game, table, &sought)
            {
                take(&header, next);
            }
        }
        Ok(())
    }

    /// Returns the move that a game played in a position, if it reaches it: in
    /// its main line or, in the table of variations, only in a variation.
    fn next_at(
        &mut self,
        game: u32,
        table: usize,
        (placement, key): &(Placement, PositionKey),
    ) -> Option<PackedMove> {
        let reader = self.reader.get_or_insert_with(|| self.source.reader());
        // What cannot be read reaches nothing.
        let game = reader.read_moves(game).ok()?;
        let mut of_main_line = game.tree.main_line_len() + 1;
        let mut found = None;
        walk(game, table == VARIATIONS, |moment, at, _| {
            let is_main = of_main_line > 0;
            of_main_line = of_main_line.saturating_sub(1);
            if moment.placement != *placement || moment.key() != *key {
                return Continue::Go;
            }
            if is_main == (table == MAIN) {
                let ply = game.tree.first_child(at).and_then(|id| game.tree.ply(id));
                found = Some(ply.map_or(PackedMove::END, |ply| PackedMove::of(ply.mv)));
            }
            Continue::End
        });
        found
    }

    /// Adds what the games amount to, if that is kept ready.
    fn add_totals(&mut self, position: &Position, played: &mut Played) -> io::Result<bool> {
        let Some((totals, found)) = self.totals(position)? else {
            return Ok(false);
        };
        let SegmentLookup::List(list) = &*found else {
            return Ok(false);
        };
        let mut all = totals.iter();
        if let Some(here) = all.next() {
            played.here.add(&here.statistics);
        }
        for (next, totals) in list.moves.iter().zip(all) {
            if let Sequel::Move(m) = next.in_position(position)
                && totals.statistics.games > 0
            {
                played.moves.entry(m).or_default().add(&totals.statistics);
            }
        }
        let mut add = |header: &SearchedHeader, next: PackedMove| {
            played.add_game(next.in_position(position), header);
        };
        self.for_each_in_variations(position, &mut add)?;
        self.for_each_later(position, &mut add);
        Ok(true)
    }

    /// Returns the stored statistics of a position, of all moves and by move,
    /// over the unchanged games of the segment; `None` if they are not stored.
    fn totals(
        &mut self,
        position: &Position,
    ) -> io::Result<Option<(Vec<Totals>, Arc<SegmentLookup>)>> {
        if self.these.is_some() || self.cursors.is_none() {
            return Ok(None);
        }
        let found = self.find(position, MAIN)?;
        let (SegmentLookup::List(list), Some((segment, cursor, facts))) =
            (&*found, &mut self.cursors)
        else {
            return Ok(None);
        };
        let Some(mut totals) = list.totals.clone() else {
            return Ok(None);
        };
        for game in self.index.changed.from(0) {
            let before = segment.facts(game, facts)?;
            if !before.counts() {
                continue;
            }
            let Some(number) = list.move_of(game, cursor)? else {
                continue;
            };
            for at in [0, number + 1] {
                let taken = totals
                    .get_mut(at)
                    .map(|all| all.take_game(&before.header(game)));
                if taken != Some(true) {
                    return Ok(None);
                }
            }
        }
        Ok(Some((totals, Arc::clone(&found))))
    }

    /// How many games that count reach a position.
    fn count(&mut self, position: &Position) -> io::Result<u32> {
        if let Some((totals, _)) = self.totals(position)? {
            let mut count = totals.first().map_or(0, |all| all.statistics.games);
            let mut add = |_: &SearchedHeader, _| count = count.saturating_add(1);
            self.for_each_in_variations(position, &mut add)?;
            self.for_each_later(position, &mut add);
            return Ok(count);
        }
        let mut count = 0_u32;
        self.for_each(position, &mut |_, _| count = count.saturating_add(1))?;
        Ok(count)
    }
}
