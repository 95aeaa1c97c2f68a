//! A part of a segment: what is reached of positions whose digests begin with the
//! same bits.
//!
//! | piece | content |
//! |---|---|
//! | rare starts | u32 for each bucket, and one more: where its games begin |
//! | rare games | numbers of games, each once in a bucket, ascending |
//! | popular starts | as the first |
//! | popular positions | digest u64, place of the list u32; ascending |
//! | lists | |
//!
//! A list:
//!
//! | piece | content |
//! |---|---|
//! | counts | varints: how many games, how many moves |
//! | moves | u16 each, see [`PackedMove`] |
//! | totals | if there are [`MANY`] games: of all of them, and of those of each move, deleted ones left out |
//! | marks | for each [`STRIDE`] games but the last: the last of them u32, where the next one is u32 |
//! | games | varints: the difference to the last game, times how many moves there are, plus which one it is |

use std::collections::HashMap;
use std::io;

use super::{GameBits, damaged};
use crate::bytes::append_varint;
use crate::search::game_set::GameSet;
use crate::search::moves::Statistics;
use crate::search::reach::{PackedMove, Reach};
use crate::search::source::SearchedHeader;
use crate::storage::Cursor;

/// A position that as many games reach has a list.
pub(super) const POPULAR: usize = 32;

/// A list of as many games has totals.
const MANY: usize = 256;

/// So many games of a list are between two places to begin at.
const STRIDE: usize = 1024;

/// Positions in a bucket, about.
const IN_BUCKET: usize = 24;

/// More moves are not to be had in a position, with the null move and the end.
const MOST_MOVES: u64 = 300;

/// Entry of a part in the table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartEntry {
    pub(super) place: u64,
    /// Entries of rare positions, and popular positions.
    counts: [u32; 2],
    /// Bits by which their buckets are told apart.
    bits: [u8; 2],
}

/// Result of a lookup of a position in a segment.
#[derive(Debug)]
pub(in crate::search) enum SegmentLookup {
    /// Only these games may reach it.
    Candidates(Vec<u32>),
    /// These reach it.
    List(List),
}

/// The games of a popular position.
#[derive(Debug)]
pub(in crate::search) struct List {
    pub(in crate::search) count: u32,
    pub(in crate::search) moves: Vec<PackedMove>,
    /// Of all games, and of those of each move.
    pub(in crate::search) totals: Option<Vec<Totals>>,
    marks: u64,
}

/// Statistics of a set of games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::search) struct Totals {
    pub(in crate::search) statistics: Statistics,
    /// How many of them are of the last year.
    of_last: u32,
}

impl Totals {
    fn add_game(&mut self, header: &SearchedHeader) {
        if header.date.year > self.statistics.last {
            self.of_last = 0;
        }
        self.statistics.add_game(header);
        self.of_last += u32::from(header.date.year == self.statistics.last);
    }

    /// Takes a game away that was added; whether it is still known which year was
    /// the last.
    #[must_use]
    pub(in crate::search) fn take_game(&mut self, header: &SearchedHeader) -> bool {
        self.statistics.take_game(header);
        self.of_last -= u32::from(header.date.year == self.statistics.last).min(self.of_last);
        if self.statistics.games == 0 {
            self.statistics.last = 0;
        }
        self.of_last > 0 || self.statistics.games == 0
    }

    fn append(&self, bytes: &mut Vec<u8>) {
        let all = &self.statistics;
        let [white, black] = all.rated;
        for count in [
            all.games,
            all.white,
            all.draws,
            all.black,
            white,
            black,
            self.of_last,
        ] {
            append_varint(count.into(), bytes);
        }
        for sum in all.ratings {
            append_varint(sum, bytes);
        }
        append_varint(all.last.into(), bytes);
    }

    fn read(cursor: &mut Cursor<'_>) -> io::Result<Totals> {
        let mut count = || small(cursor.varint()?);
        let [games, white, draws, black] = [count()?, count()?, count()?, count()?];
        let rated = [count()?, count()?];
        let of_last = count()?;
        Ok(Totals {
            statistics: Statistics {
                games,
                white,
                draws,
                black,
                rated,
                ratings: [cursor.varint()?, cursor.varint()?],
                last: u16::try_from(cursor.varint()?).unwrap_or(0),
            },
            of_last,
        })
    }
}

fn small(number: u64) -> io::Result<u32> {
    u32::try_from(number).map_err(|_| damaged("a number in it is too large"))
}

/// Bytes of a popular position.
const POPULAR_BYTES: usize = 12;

/// Bytes of where so many buckets begin.
fn starts_bytes(bits: u8) -> u64 {
    ((1_u64 << bits) + 1) * 4
}

/// The bits of a digest that are after the first `skipped` ones.
fn bucket(digest: u64, skipped: u32, bits: u8) -> usize {
    let rest = digest.checked_shl(skipped).unwrap_or(0);
    let number = rest.checked_shr(64 - u32::from(bits)).unwrap_or(0);
    usize::try_from(number).unwrap_or(0)
}

/// How many bits make buckets of the right size.
fn bits_for(count: usize) -> u8 {
    let buckets = count / IN_BUCKET;
    u8::try_from(buckets.checked_ilog2().unwrap_or(0)).unwrap_or(0)
}

/// Appends where each bucket begins among things in these buckets, ascending.
fn append_starts(buckets: impl Iterator<Item = usize>, bits: u8, bytes: &mut Vec<u8>) {
    let mut at = 0_u32;
    let mut buckets = buckets.peekable();
    for number in 0..1_usize << bits {
        bytes.extend(at.to_le_bytes());
        while buckets.next_if(|bucket| *bucket <= number).is_some() {
            at += 1;
        }
    }
    bytes.extend(at.to_le_bytes());
}

/// Parameters that all parts of a segment share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape<'f> {
    /// So many bits of the digests of a part are the same.
    pub(super) skipped: u32,
    /// Bytes of the number of a game.
    pub(super) width: usize,
    /// What of each game counts, by its number.
    pub(super) facts: &'f [GameBits],
}

/// Contents of a part before it is written.
#[derive(Debug, Default)]
struct Making {
    /// Bucket and game.
    rare: Vec<(usize, u32)>,
    popular: Vec<(u64, u32)>,
    lists: Vec<u8>,
}

fn too_large() -> io::Error {
    io::Error::other("too many positions for an index")
}

impl Making {
    /// Adds a popular position and the games that reach it, ascending.
    fn add_list(&mut self, position: u64, group: &[Reach], facts: &[GameBits]) -> io::Result<()> {
        let place = u32::try_from(self.lists.len()).map_err(|_| too_large())?;
        self.popular.push((position, place));
        append_list(group, facts, &mut self.lists);
        Ok(())
    }

    /// Appends it; as many bits tell the buckets of rare positions apart.
    fn append(
        mut self,
        rare_bits: u8,
        shape: Shape<'_>,
        bytes: &mut Vec<u8>,
    ) -> io::Result<PartEntry> {
        let popular_bits = bits_for(self.popular.len());
        // What is in a bucket has no order but that of the games, and none is in it twice.
        self.rare.sort_unstable();
        self.rare.dedup();
        append_starts(self.rare.iter().map(|one| one.0), rare_bits, bytes);
        for (_, game) in &self.rare {
            bytes.extend(game.to_le_bytes().get(..shape.width).unwrap_or_default());
        }
        let buckets = self.popular.iter();
        let buckets = buckets.map(|one| bucket(one.0, shape.skipped, popular_bits));
        append_starts(buckets, popular_bits, bytes);
        for (position, place) in &self.popular {
            bytes.extend(position.to_le_bytes());
            bytes.extend(place.to_le_bytes());
        }
        bytes.append(&mut self.lists);
        let count = |count: usize| u32::try_from(count).map_err(|_| too_large());
        Ok(PartEntry {
            place: 0,
            counts: [count(self.rare.len())?, count(self.popular.len())?],
            bits: [rare_bits, popular_bits],
        })
    }
}

/// Appends a part of these, which are sorted.
pub(super) fn append(
    reaches: &[Reach],
    shape: Shape<'_>,
    bytes: &mut Vec<u8>,
) -> io::Result<PartEntry> {
    let mut making = Making::default();
    let mut rare = Vec::new();
    for group in groups(reaches) {
        let Some(position) = group.first().map(|one| one.position) else {
            continue;
        };
        if group.len() < POPULAR {
            rare.extend(group.iter().map(|one| (position, one.game)));
        } else {
            making.add_list(position, group, shape.facts)?;
        }
    }
    let bits = bits_for(rare.len());
    let rare = rare.into_iter();
    let rare = rare.map(|(position, game)| (bucket(position, shape.skipped, bits), game));
    making.rare = rare.collect();
    making.append(bits, shape, bytes)
}

/// Those of each position.
fn groups(reaches: &[Reach]) -> impl Iterator<Item = &[Reach]> {
    reaches.chunk_by(|one, other| one.position == other.position)
}

/// A part as it was, and what became of its games.
pub(super) struct OldPart<'a, 'p> {
    pub(super) line: PartEntry,
    pub(super) cursor: Cursor<'p>,
    /// The games that are as they were.
    pub(super) same: &'a GameSet,
    /// What a game played in the position of a digest, if it reaches it.
    pub(super) next_at: &'a mut dyn FnMut(u64, u32) -> Option<PackedMove>,
}

impl OldPart<'_, '_> {
    /// Appends the part as it is with these, which are sorted, of games that are
    /// not as they were.
    pub(super) fn append(
        mut self,
        reaches: &[Reach],
        shape: Shape<'_>,
        bytes: &mut Vec<u8>,
    ) -> io::Result<PartEntry> {
        let [rare_bits, _] = self.line.bits;
        let mut making = Making {
            rare: self.rare(shape)?,
            ..Making::default()
        };
        let count = making.rare.len();
        let popular = self.popular(shape)?;
        let mut new = groups(reaches).peekable();
        let mut add_new = |group: &[Reach], making: &mut Making| {
            let Some(position) = group.first().map(|one| one.position) else {
                return Ok(());
            };
            let bucket = bucket(position, shape.skipped, rare_bits);
            if group.len() < POPULAR {
                let games = group.iter().map(|one| (bucket, one.game));
                making.rare.extend(games);
                return Ok(());
            }
            let old = making.rare.get(..count).unwrap_or_default();
            let start = old.partition_point(|one| one.0 < bucket);
            let old = old.get(start..).unwrap_or_default().iter();
            let mut all = group.to_vec();
            for &(_, game) in old.take_while(|one| one.0 == bucket) {
                let next = (self.next_at)(position, game);
                all.extend(next.map(|next| Reach {
                    position,
                    game,
                    next,
                }));
            }
            all.sort_unstable();
            making.add_list(position, &all, shape.facts)
        };
        let is_at = |group: &[Reach], position| group.first().map(|one| one.position) == position;
        for (position, list) in popular {
            while let Some(group) = new.next_if(|group| {
                let first = group.first();
                first.is_some_and(|one| one.position < position)
            }) {
                add_new(group, &mut making)?;
            }
            let mut group = Vec::new();
            let list = List::read(list, &mut self.cursor)?;
            list.for_each(&mut self.cursor, |game, number| {
                let next = list.moves.get(number).filter(|_| self.same.contains(game));
                group.extend(next.map(|next| Reach {
                    position,
                    game,
                    next: *next,
                }));
                Ok(())
            })?;
            if let Some(more) = new.next_if(|group| is_at(group, Some(position))) {
                group.extend(more);
                group.sort_unstable();
            }
            if !group.is_empty() {
                making.add_list(position, &group, shape.facts)?;
            }
        }
        for group in new {
            add_new(group, &mut making)?;
        }
        making.append(rare_bits, shape, bytes)
    }

    /// Buckets and games of rare positions, as they were, of games that still are.
    fn rare(&mut self, shape: Shape<'_>) -> io::Result<Vec<(usize, u32)>> {
        let [bits, _] = self.line.bits;
        let [count, _] = self.line.counts;
        self.cursor.seek(self.line.place);
        let starts = self.read(starts_bytes(bits))?;
        let games = self.read(u64::from(count) * shape.width as u64)?;
        let mut games = games.chunks_exact(shape.width.max(1)).map(|bytes| {
            let mut number = [0; 4];
            for (to, from) in number.iter_mut().zip(bytes) {
                *to = *from;
            }
            u32::from_le_bytes(number)
        });
        let ends = starts.as_chunks().0.iter().skip(1);
        let mut rare = Vec::new();
        let mut at = 0;
        for (bucket, end) in ends.enumerate() {
            let end = u32::from_le_bytes(*end);
            if end < at || end > count {
                return Err(damaged("the bounds of a bucket are wrong"));
            }
            let games = games.by_ref().take((end - at) as usize);
            rare.extend(
                games
                    .filter(|game| self.same.contains(*game))
                    .map(|game| (bucket, game)),
            );
            at = end;
        }
        Ok(rare)
    }

    /// The popular positions, and where their lists are.
    fn popular(&mut self, shape: Shape<'_>) -> io::Result<Vec<(u64, u64)>> {
        let [_, positions, lists] = self.line.places(shape.width);
        let [_, count] = self.line.counts;
        self.cursor.seek(positions);
        let positions = self.read(u64::from(count) * POPULAR_BYTES as u64)?;
        let all = positions.as_chunks::<POPULAR_BYTES>().0.iter();
        Ok(all
            .map(|bytes| {
                let (position, place) = bytes.split_first_chunk().unwrap_or((&[0; 8], &[]));
                let place = place.first_chunk().copied().unwrap_or_default();
                let place = u64::from(u32::from_le_bytes(place));
                (u64::from_le_bytes(*position), lists.saturating_add(place))
            })
            .collect())
    }

    /// So many bytes, which a damaged number cannot make too many.
    fn read(&mut self, count: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < count {
            let more = (count - bytes.len() as u64).min(1 << 16);
            let start = bytes.len();
            bytes.resize(start + usize::try_from(more).unwrap_or(0), 0);
            self.cursor
                .read(bytes.get_mut(start..).unwrap_or_default())?;
        }
        Ok(bytes)
    }
}

fn append_list(group: &[Reach], facts: &[GameBits], bytes: &mut Vec<u8>) {
    let mut moves: Vec<PackedMove> = Vec::new();
    let mut numbers: HashMap<PackedMove, usize> = HashMap::new();
    for reach in group {
        numbers.entry(reach.next).or_insert_with(|| {
            moves.push(reach.next);
            moves.len() - 1
        });
    }
    append_varint(group.len() as u64, bytes);
    append_varint(moves.len() as u64, bytes);
    for next in &moves {
        bytes.extend(next.0.to_le_bytes());
    }
    if group.len() >= MANY {
        let mut totals = vec![Totals::default(); moves.len() + 1];
        for reach in group {
            let facts = facts.get(reach.game as usize).copied().unwrap_or_default();
            if facts.counts() {
                let header = facts.header(reach.game);
                let number = numbers.get(&reach.next).map_or(0, |number| number + 1);
                for at in [0, number] {
                    if let Some(totals) = totals.get_mut(at) {
                        totals.add_game(&header);
                    }
                }
            }
        }
        for totals in &totals {
            totals.append(bytes);
        }
    }
    let mut games = Vec::new();
    let mut last = 0_u32;
    for (at, reach) in group.iter().enumerate() {
        if at > 0 && at % STRIDE == 0 {
            bytes.extend(last.to_le_bytes());
            let place = u32::try_from(games.len()).unwrap_or(u32::MAX);
            bytes.extend(place.to_le_bytes());
        }
        let number = numbers.get(&reach.next).copied().unwrap_or(0);
        let step = u64::from(reach.game - last) * moves.len() as u64;
        append_varint(step + number as u64, &mut games);
        last = reach.game;
    }
    bytes.append(&mut games);
}

impl PartEntry {
    pub(super) fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.place.to_le_bytes());
        bytes.extend(self.counts.map(u32::to_le_bytes).as_flattened());
        bytes.extend(self.bits);
    }

    pub(super) fn read(cursor: &mut Cursor<'_>) -> io::Result<PartEntry> {
        let place = cursor.integer::<8>()?;
        let counts = [
            small(cursor.integer::<4>()?)?,
            small(cursor.integer::<4>()?)?,
        ];
        let mut bits = [0; 2];
        cursor.read(&mut bits)?;
        if bits.iter().any(|bits| *bits > 32) {
            return Err(damaged("a part has too many buckets"));
        }
        Ok(PartEntry {
            place,
            counts,
            bits,
        })
    }

    /// Where it has the starts of popular positions, these, and the lists.
    fn places(&self, width: usize) -> [u64; 3] {
        let [rare, popular] = self.counts.map(u64::from);
        let [rare_bits, popular_bits] = self.bits;
        let games = self.place.saturating_add(starts_bytes(rare_bits));
        let popular_starts = games.saturating_add(rare * width as u64);
        let positions = popular_starts.saturating_add(starts_bytes(popular_bits));
        let lists = positions.saturating_add(popular * POPULAR_BYTES as u64);
        [popular_starts, positions, lists]
    }

    /// Whether its buckets have become so large that it should be made anew.
    pub(super) fn is_worn(&self) -> bool {
        let ([rare, _], [bits, _]) = (self.counts, self.bits);
        u64::from(rare) >> bits > 4 * IN_BUCKET as u64
    }

    /// What it has of a position.
    pub(super) fn find(
        &self,
        digest: u64,
        skipped: u32,
        width: usize,
        cursor: &mut Cursor<'_>,
    ) -> io::Result<SegmentLookup> {
        let [rare, popular] = self.counts.map(u64::from);
        let [rare_bits, popular_bits] = self.bits;
        let [popular_starts, positions, lists] = self.places(width);
        let games = self.place.saturating_add(starts_bytes(rare_bits));
        let number = bucket(digest, skipped, popular_bits);
        for at in range(popular_starts, number, popular, cursor)? {
            cursor.seek(positions.saturating_add(at * POPULAR_BYTES as u64));
            if cursor.integer::<8>()? == digest {
                let place = cursor.integer::<4>()?;
                return Ok(SegmentLookup::List(List::read(
                    lists.saturating_add(place),
                    cursor,
                )?));
            }
        }
        let number = bucket(digest, skipped, rare_bits);
        let range = range(self.place, number, rare, cursor)?;
        cursor.seek(games.saturating_add(range.start * width as u64));
        let candidates = range.map(|_| {
            let mut number = [0; 4];
            cursor.read(number.get_mut(..width).unwrap_or_default())?;
            Ok(u32::from_le_bytes(number))
        });
        Ok(SegmentLookup::Candidates(
            candidates.collect::<io::Result<_>>()?,
        ))
    }
}

/// What a bucket has, of the `count` things whose starts are there.
fn range(
    starts: u64,
    number: usize,
    count: u64,
    cursor: &mut Cursor<'_>,
) -> io::Result<std::ops::Range<u64>> {
    cursor.seek(starts.saturating_add(number as u64 * 4));
    let (start, end) = (cursor.integer::<4>()?, cursor.integer::<4>()?);
    if start > end || end > count {
        return Err(damaged("the bounds of a bucket are wrong"));
    }
    Ok(start..end)
}

impl List {
    fn read(place: u64, cursor: &mut Cursor<'_>) -> io::Result<List> {
        cursor.seek(place);
        let count = small(cursor.varint()?)?;
        let moves = cursor.varint()?;
        if moves == 0 || moves > MOST_MOVES {
            return Err(damaged("a list has no moves"));
        }
        let next = |_| {
            Ok(PackedMove(
                u16::try_from(cursor.integer::<2>()?).unwrap_or(0),
            ))
        };
        let moves: Vec<PackedMove> = (0..moves).map(next).collect::<io::Result<_>>()?;
        let totals = (0..=moves.len()).map(|_| Totals::read(cursor));
        let totals = if count as usize >= MANY {
            Some(totals.collect::<io::Result<_>>()?)
        } else {
            None
        };
        Ok(List {
            count,
            moves,
            totals,
            marks: cursor.position(),
        })
    }

    /// Where the games begin.
    fn games(&self) -> u64 {
        self.marks + (u64::from(self.count).saturating_sub(1) / STRIDE as u64) * 8
    }

    /// All its games, each with which of the moves it played.
    pub(in crate::search) fn for_each(
        &self,
        cursor: &mut Cursor<'_>,
        mut take: impl FnMut(u32, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        cursor.seek(self.games());
        let mut last = 0;
        for _ in 0..self.count {
            let number = self.next_game(&mut last, cursor)?;
            take(last, number)?;
        }
        Ok(())
    }

    fn next_game(&self, last: &mut u32, cursor: &mut Cursor<'_>) -> io::Result<usize> {
        let moves = self.moves.len() as u64;
        let step = cursor.varint()?;
        let game = u64::from(*last).saturating_add(step / moves);
        *last = small(game)?;
        usize::try_from(step % moves).map_err(io::Error::other)
    }

    /// Which of the moves a game played; `None` if it is not in the list.
    pub(in crate::search) fn move_of(
        &self,
        game: u32,
        cursor: &mut Cursor<'_>,
    ) -> io::Result<Option<usize>> {
        // The stretch begins with the last mark of a game before it.
        let mut stretches = 0..(u64::from(self.count).saturating_sub(1) / STRIDE as u64) + 1;
        let (mut last, mut place) = (0, 0);
        while stretches.end - stretches.start > 1 {
            let middle = u64::midpoint(stretches.start, stretches.end);
            cursor.seek(self.marks + (middle - 1) * 8);
            let before = small(cursor.integer::<4>()?)?;
            if before < game {
                (last, place) = (before, cursor.integer::<4>()?);
                stretches.start = middle;
            } else {
                stretches.end = middle;
            }
        }
        cursor.seek(self.games().saturating_add(place));
        let left = u64::from(self.count).saturating_sub(stretches.start * STRIDE as u64);
        for _ in 0..left.min(STRIDE as u64) {
            let number = self.next_game(&mut last, cursor)?;
            if last >= game {
                return Ok((last == game).then_some(number));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Date;

    #[test]
    fn totals_subtract_exactly_what_was_added() {
        let game = |number: u16, year| SearchedHeader {
            number: number.into(),
            elo: [2000 + number, 0],
            date: Date {
                year,
                ..Date::default()
            },
            ..SearchedHeader::default()
        };
        let (old, new, newest) = (game(1, 1990), game(2, 2000), game(3, 2010));
        let of = |games: &[&SearchedHeader]| {
            let mut totals = Totals::default();
            for game in games {
                totals.add_game(game);
            }
            totals
        };
        let mut totals = of(&[&new, &old, &new]);
        assert!(totals.take_game(&new));
        assert_eq!(totals, of(&[&old, &new]));
        assert!(totals.take_game(&old));
        assert_eq!(totals, of(&[&new]));
        assert!(totals.take_game(&new));
        assert_eq!(totals, Totals::default());
        // Which year comes next nobody knows.
        assert!(!of(&[&newest, &old]).take_game(&newest));
    }
}
