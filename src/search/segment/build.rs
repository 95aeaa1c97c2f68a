//! Making a segment.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use tempfile::NamedTempFile;

use super::games::{GameBits, kept_mark};
use super::masks::{Mask, MaskWriter};
use super::part::{self, OldPart, PartEntry, Shape};
use super::{MAIN, Query, Segment, SegmentHead, TABLES, damaged, masks_file, part_of, width_of};
use crate::bytes::append_varint;
use crate::search::filter::Filter;
use crate::search::game_set::GameSet;
use crate::search::reach::{MOST_IN_PIECE, PackedMove, Reach, append_apart};
use crate::search::scan::{Collector, Ended, Give, ScanEvent, scan};
use crate::search::source::{GamesReader, SearchedGames, SearchedHeader, SourceError, may_pass};
use crate::storage::{PageWriter, new_own, sync_folder, write_head};

/// More parts are not made, by their bits.
pub(super) const MOST_BITS: u32 = 13;

/// Reaches of a part, about, and bytes of one that is put aside.
const IN_PART: u64 = 1 << 20;
const ASIDE: usize = 14;

/// Bytes of a part that are put aside at once.
const PIECE: usize = 16 << 10;

/// How far the making is.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// As many games of all were read.
    Reading(u32, u32),
    /// As many parts of all were written.
    Writing(u32, u32),
}

/// A segment that has no name yet.
#[derive(Debug)]
pub struct NewSegment {
    file: NamedTempFile,
    head: SegmentHead,
    seed: u64,
    pages: u64,
    masks: NewMasks,
}

/// The file of its masks, likewise.
#[derive(Debug)]
struct NewMasks {
    file: NamedTempFile,
    head: Vec<u8>,
    pages: u64,
}

/// Data read from some games.
#[derive(Debug, Default)]
struct ReadGames {
    /// Each with its mark.
    games: Vec<(u32, GameBits, u64)>,
    masks: Vec<(u32, Option<Mask>)>,
    /// Those that are as an older segment has them, and how many are not.
    same: Vec<u32>,
    others: u32,
    /// What their main lines reach, and what only variations do.
    reaches: [Vec<Reach>; 2],
}

impl ReadGames {
    fn add(&mut self, header: &SearchedHeader, seed: u64, reader: &mut dyn GamesReader) {
        let mut facts = GameBits::of(header);
        let mark = match reader.read_moves(header.number) {
            Ok(game) => {
                let [main, others] = &mut self.reaches;
                append_apart(header.number, game, seed, [main, others]);
                self.masks.push((header.number, Some(Mask::of(game))));
                reader.mark()
            }
            Err(error) => {
                facts = facts.unreadable();
                log::warn!("game {} is not indexed: {error}", header.number);
                // With a mark that no game has it is read again the next time.
                let mark = (!may_pass(&error)).then(|| reader.mark_of(header.number));
                mark.and_then(Result::ok).unwrap_or(0)
            }
        };
        self.games.push((header.number, facts, kept_mark(mark)));
        self.others += 1;
    }
}

/// Reads games with what they reach, but for those that an older segment has.
#[derive(Debug)]
struct IndexReading<'s> {
    seed: u64,
    old: Option<&'s Segment>,
}

impl Collector for IndexReading<'_> {
    type Collected = ReadGames;

    fn reads_games(&self) -> bool {
        true
    }

    fn make(
        &self,
        games: &[SearchedHeader],
        reader: &mut dyn GamesReader,
        give: Give<'_, ReadGames>,
    ) {
        let mut read = ReadGames::default();
        let mut old = self.old.map(|old| (old, old.cursor()));
        for header in games {
            let same = old.as_mut();
            let same = same.and_then(|(old, cursor)| old.same(header, reader, cursor));
            if let Some((mark, facts)) = same {
                read.games.push((header.number, facts, mark));
                read.same.push(header.number);
                read.masks.push((header.number, None));
                continue;
            }
            read.add(header, self.seed, reader);
            let count: usize = read.reaches.iter().map(Vec::len).sum();
            if count > MOST_IN_PIECE && !give(ScanEvent::Piece(std::mem::take(&mut read))) {
                return;
            }
        }
        give(ScanEvent::Piece(read));
    }
}

/// Reaches by parts, spilled to a file: first those of main lines, then those
/// of variations.
struct SpilledReaches {
    file: File,
    bits: u32,
    parts: Vec<SpilledPart>,
    end: u64,
}

/// The part of the data in memory, and the places of the rest in the file.
type SpilledPart = (Vec<u8>, Vec<(u64, usize)>);

impl SpilledReaches {
    fn new(folder: &Path, bits: u32) -> io::Result<SpilledReaches> {
        Ok(SpilledReaches {
            file: tempfile::tempfile_in(folder)?,
            bits,
            parts: vec![Default::default(); TABLES << bits],
            end: 0,
        })
    }

    fn add(&mut self, table: usize, reach: &Reach) -> io::Result<()> {
        let part = part_of(reach.position, table, self.bits);
        let Some((bytes, places)) = self.parts.get_mut(part) else {
            return Ok(());
        };
        bytes.extend(reach.position.to_le_bytes());
        bytes.extend(reach.game.to_le_bytes());
        bytes.extend(reach.next.0.to_le_bytes());
        if bytes.len() + ASIDE > PIECE {
            self.file.write_all_at(bytes, self.end)?;
            places.push((self.end, bytes.len()));
            self.end += bytes.len() as u64;
            bytes.clear();
        }
        Ok(())
    }

    /// What is in a part, sorted.
    fn part(&self, number: usize) -> io::Result<Vec<Reach>> {
        let Some((last, places)) = self.parts.get(number) else {
            return Ok(Vec::new());
        };
        let bytes = last.len() + places.iter().map(|(_, length)| length).sum::<usize>();
        let mut reaches = Vec::with_capacity(bytes / ASIDE);
        let mut piece = Vec::new();
        for &(place, length) in places {
            piece.resize(length, 0);
            self.file.read_exact_at(&mut piece, place)?;
            reaches.extend(piece.as_chunks().0.iter().map(reach_of));
        }
        reaches.extend(last.as_chunks().0.iter().map(reach_of));
        reaches.sort_unstable();
        Ok(reaches)
    }
}

fn reach_of(bytes: &[u8; ASIDE]) -> Reach {
    let (position, rest) = bytes.split_first_chunk().unwrap_or((&[0; 8], &[]));
    let (game, rest) = rest.split_first_chunk().unwrap_or((&[0; 4], &[]));
    let next = rest.first_chunk().copied().unwrap_or_default();
    Reach {
        position: u64::from_le_bytes(*position),
        game: u32::from_le_bytes(*game),
        next: PackedMove(u16::from_le_bytes(next)),
    }
}

/// The games of the file, written as they are read.
struct GamesTable<'w, 'f> {
    pages: &'w mut PageWriter<'f>,
    /// By number, from 0 on.
    facts: Vec<GameBits>,
    unreadable: Vec<u32>,
}

impl GamesTable<'_, '_> {
    fn add(&mut self, number: u32, facts: GameBits, mark: u64) -> io::Result<()> {
        self.unreadable
            .extend(facts.is_unreadable().then_some(number));
        while self.facts.len() < number as usize {
            self.put(GameBits::default(), 0)?;
        }
        self.put(facts, mark)
    }

    fn put(&mut self, facts: GameBits, mark: u64) -> io::Result<()> {
        if !self.facts.is_empty() {
            self.pages.write(&mark.to_le_bytes())?;
            self.pages.write(&facts.0.to_le_bytes())?;
        }
        self.facts.push(facts);
        Ok(())
    }
}

impl NewSegment {
    /// Reads all games of a source, and puts what they reach into a file in this
    /// folder. `None` once `goes_on` says that it shall not be.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if the headers cannot be read, or the file not written.
    pub fn make(
        source: &dyn SearchedGames,
        folder: &Path,
        goes_on: &mut dyn FnMut(Phase) -> bool,
    ) -> Result<Option<NewSegment>, SourceError> {
        NewSegment::make_in_parts_of(IN_PART, source, folder, goes_on)
    }

    pub(super) fn make_in_parts_of(
        reaches: u64,
        source: &dyn SearchedGames,
        folder: &Path,
        goes_on: &mut dyn FnMut(Phase) -> bool,
    ) -> Result<Option<NewSegment>, SourceError> {
        NewSegment::write(&Plan::new(reaches, source)?, source, folder, goes_on)
    }

    /// The same, but what an older segment has of games that are as they were is
    /// taken from there.
    ///
    /// # Errors
    ///
    /// As [`make`](NewSegment::make), and if the older one is damaged, or too
    /// much is different.
    pub fn make_from(
        old: &Segment,
        source: &dyn SearchedGames,
        folder: &Path,
        goes_on: &mut dyn FnMut(Phase) -> bool,
    ) -> Result<Option<NewSegment>, SourceError> {
        if old.is_worn(source.last()) {
            return Err("its buckets have become too large".into());
        }
        NewSegment::write(&Plan::of(old), source, folder, goes_on)
    }

    fn write(
        plan: &Plan<'_>,
        source: &dyn SearchedGames,
        folder: &Path,
        goes_on: &mut dyn FnMut(Phase) -> bool,
    ) -> Result<Option<NewSegment>, SourceError> {
        let mut head = SegmentHead {
            state: 0,
            digests: plan.digests,
            last: source.last(),
            bits: plan.bits,
            width: width_of(source.last()),
            table: 0,
        };
        let seed = RandomState::new().hash_one(0);
        let file = new_own(folder)?;
        let masks_file = new_own(folder)?;
        let mut pages = PageWriter::new(file.as_file(), seed)?;
        let mut aside = SpilledReaches::new(folder, plan.bits)?;
        let masks = PageWriter::new(masks_file.as_file(), !seed)?;
        let mut masks = MaskWriter::new(masks, plan.old.and_then(Segment::masks));
        let mut writing = SegmentWriting {
            pages: &mut pages,
            masks: &mut masks,
            aside: &mut aside,
        };
        let Some(read) = read_games(source, plan, &mut writing, goes_on)? else {
            return Ok(None);
        };
        let (masks_head, masks_pages) = masks.end(seed)?;
        let parts = PendingParts {
            plan,
            aside: &aside,
            source,
            shape: Shape {
                skipped: head.bits,
                width: head.width,
                facts: &read.facts,
            },
            same: &read.same,
        };
        let Some(lines) = write_parts(&parts, &mut pages, goes_on)? else {
            return Ok(None);
        };
        let unreadable = &read.unreadable;
        head.table = pages.position();
        let mut table = Vec::new();
        for line in &lines {
            line.append_to(&mut table);
        }
        append_varint(unreadable.len() as u64, &mut table);
        for game in unreadable {
            table.extend(game.to_le_bytes());
        }
        pages.write(&table)?;
        let pages = pages.end()?;
        Ok(Some(NewSegment {
            file,
            head,
            seed,
            pages,
            masks: NewMasks {
                file: masks_file,
                head: masks_head,
                pages: masks_pages,
            },
        }))
    }

    /// Gives it its name, and its masks theirs, and the state of the files, if that is known.
    ///
    /// # Errors
    ///
    /// Errors of the system; then nothing is there that was not before.
    pub fn keep(mut self, path: &Path, state: u64) -> io::Result<()> {
        self.head.state = state;
        write_head(
            self.file.as_file(),
            self.seed,
            self.pages,
            &self.head.encode(),
        )?;
        let masks = self.masks;
        write_head(masks.file.as_file(), !self.seed, masks.pages, &masks.head)?;
        let masks = masks.file.persist(masks_file(path));
        masks.map_err(|error| error.error)?;
        self.file.persist(path).map_err(|error| error.error)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        sync_folder(folder)
    }
}

/// How many positions the games of a source reach, about.
///
/// # Errors
///
/// [`SourceError`] if the headers cannot be read.
pub fn positions_of_headers(source: &dyn SearchedGames) -> Result<u64, SourceError> {
    let mut count = 0;
    let numbers = 1..source.last().saturating_add(1);
    source.headers(numbers, false, &mut |header| {
        count += u64::from(header.moves) * 2 + 1;
    })?;
    Ok(count)
}

/// How a segment is made.
#[derive(Debug)]
struct Plan<'s> {
    /// The seed of the digests.
    digests: u64,
    bits: u32,
    /// Segment whose unchanged games are taken over.
    old: Option<&'s Segment>,
}

impl<'s> Plan<'s> {
    /// Anew, with as many reaches in a part, about.
    fn new(reaches: u64, source: &dyn SearchedGames) -> Result<Plan<'s>, SourceError> {
        let bits = (positions_of_headers(source)? / reaches).checked_ilog2();
        Ok(Plan {
            digests: RandomState::new().hash_one(1),
            bits: bits.map_or(0, |bits| (bits + 1).min(MOST_BITS)),
            old: None,
        })
    }

    fn of(old: &'s Segment) -> Plan<'s> {
        Plan {
            digests: old.seed(),
            bits: old.bits,
            old: Some(old),
        }
    }

    /// So many games may be others than in an older segment.
    fn most_others(&self, last: u32) -> u32 {
        self.old.map_or(u32::MAX, |_| last / 4 + 1000)
    }
}

/// Where what is read of games is put.
struct SegmentWriting<'w, 'f, 'o> {
    pages: &'w mut PageWriter<'f>,
    masks: &'w mut MaskWriter<'f, 'o>,
    aside: &'w mut SpilledReaches,
}

/// Data of all games.
#[derive(Debug, Default)]
struct AllRead {
    /// By number.
    facts: Vec<GameBits>,
    unreadable: Vec<u32>,
    /// Those that an older segment has as they are.
    same: GameSet,
}

/// Puts all games into the file, and what those that are not in an older one
/// reach aside. Returns `None` if it was stopped.
fn read_games(
    source: &dyn SearchedGames,
    plan: &Plan<'_>,
    writing: &mut SegmentWriting<'_, '_, '_>,
    goes_on: &mut dyn FnMut(Phase) -> bool,
) -> Result<Option<AllRead>, SourceError> {
    let query = Query {
        in_deleted: true,
        ..Query::default()
    };
    let filter = Filter::new(&query, source)?;
    let last = source.last();
    let SegmentWriting {
        pages,
        masks,
        aside,
    } = writing;
    let mut games = GamesTable {
        pages,
        facts: Vec::new(),
        unreadable: Vec::new(),
    };
    let reading = IndexReading {
        seed: plan.digests,
        old: plan.old,
    };
    let (mut searched, mut is_stopped) = (0_u32, false);
    let (mut same, mut others) = (GameSet::default(), 0_u32);
    let scanned = scan(source, &filter, &reading, &mut |told| {
        match told {
            ScanEvent::Piece(read) => {
                for (number, facts, mark) in &read.games {
                    games.add(*number, *facts, *mark)?;
                }
                for (number, mask) in &read.masks {
                    masks.add(*number, mask.as_ref())?;
                }
                read.same.iter().for_each(|number| same.add(*number));
                others = others.saturating_add(read.others);
                if others > plan.most_others(last) {
                    return Err(io::Error::other("too many games are others"));
                }
                for (table, reaches) in read.reaches.iter().enumerate() {
                    reaches
                        .iter()
                        .try_for_each(|reach| aside.add(table, reach))?;
                }
                return Ok(());
            }
            ScanEvent::Unreadable(..) => {}
            ScanEvent::Searched(count) => {
                searched = searched.saturating_add(count).min(last);
                is_stopped = !goes_on(Phase::Reading(searched, last));
            }
        }
        if is_stopped {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    });
    match scanned {
        Ok(()) => {}
        Err(Ended::Source(fault)) => return Err(fault),
        Err(Ended::Taker(_)) if is_stopped => return Ok(None),
        Err(Ended::Taker(error)) => return Err(error.into()),
    }
    if games.facts.len() <= last as usize {
        games.add(last, GameBits::default(), 0)?;
    }
    Ok(Some(AllRead {
        facts: games.facts,
        unreadable: games.unreadable,
        same,
    }))
}

/// The parts that are about to be written.
struct PendingParts<'a> {
    plan: &'a Plan<'a>,
    aside: &'a SpilledReaches,
    source: &'a dyn SearchedGames,
    shape: Shape<'a>,
    same: &'a GameSet,
}

impl PendingParts<'_> {
    /// What a part is in the file.
    fn make(&self, number: usize) -> io::Result<(PartEntry, Vec<u8>)> {
        let mut bytes = Vec::new();
        let reaches = self.aside.part(number)?;
        let Some(old) = self.plan.old else {
            let line = part::append(&reaches, self.shape, &mut bytes)?;
            return Ok((line, bytes));
        };
        let table = number >> self.plan.bits;
        let mut reader = None;
        let mut next_at = |position, game| {
            let reader = reader.get_or_insert_with(|| self.source.reader());
            let game_read = reader.read_moves(game).ok()?;
            let (mut main, mut others) = (Vec::new(), Vec::new());
            append_apart(game, game_read, old.seed(), [&mut main, &mut others]);
            let all = if table == MAIN { main } else { others };
            all.into_iter()
                .find(|reach| reach.position == position)
                .map(|reach| reach.next)
        };
        let line = old.parts.get(number);
        let before = OldPart {
            line: *line.ok_or_else(|| damaged("a part is missing"))?,
            cursor: old.cursor(),
            same: self.same,
            next_at: &mut next_at,
        };
        let line = before.append(&reaches, self.shape, &mut bytes)?;
        Ok((line, bytes))
    }
}

/// Sorts and writes the parts, each core one at a time.
fn write_parts(
    parts: &PendingParts<'_>,
    pages: &mut PageWriter<'_>,
    goes_on: &mut dyn FnMut(Phase) -> bool,
) -> io::Result<Option<Vec<PartEntry>>> {
    let count = parts.aside.parts.len();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let receivers: Vec<_> = (0..cores.min(count))
            .map(|core| {
                let (sender, receiver) = sync_channel(1);
                let numbers = (core..count).step_by(cores);
                scope.spawn(move || {
                    for number in numbers {
                        if sender.send(parts.make(number)).is_err() {
                            return;
                        }
                    }
                });
                receiver
            })
            .collect();
        let mut lines = Vec::with_capacity(count);
        for (receiver, number) in receivers.iter().cycle().zip(1_u32..).take(count) {
            let made = receiver.recv();
            let made = made.map_err(|_| io::Error::other("a thread ended early"));
            let (mut line, bytes) = made.flatten()?;
            line.place = pages.position();
            pages.write(&bytes)?;
            lines.push(line);
            let all = u32::try_from(count).unwrap_or(u32::MAX);
            if !goes_on(Phase::Writing(number, all)) {
                return Ok(None);
            }
        }
        Ok(Some(lines))
    })
}
