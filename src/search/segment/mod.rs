//! Which games reach a position, kept in a file.
//!
//! A segment holds the positions that the main lines of all games of a base
//! reached when it was written, and separately those that only variations
//! reached. It is a cache: a file that is written completely under a temporary
//! name, and that may be deleted at any time. A reader that finds it damaged
//! continues without it.
//!
//! # Exactness
//!
//! For each game it has the [mark](super::GamesReader::mark) of the bytes that the game
//! was read from, and what of the header counts ([`GameBits`]). A game is believed
//! only if both are the same now ([`Segment::changed`]): which game was changed by
//! whom, and when, does not matter, and neither does what happened while the
//! segment was written. Games that are others, new or gone are the *changed* ones.
//! They are left out of all answers, and an [`Index`](super::PositionTable) has what they
//! reach now beside the segment, in memory.
//!
//! To compare all games, the bytes of all moves are read and hashed, but not
//! decoded. It can be left out if the *state*
//! is that of the files now: it stands for their inodes, lengths and times. Whoever
//! writes the segment gives the state, or none if the files are so young that
//! another write could leave the same times.
//!
//! # Format
//!
//! The file is one of [pages](crate::storage::PagedFile); integers are little-endian.
//!
//! | part | content |
//! |---|---|
//! | head | `cbfs positions 3\n`, state u64, seed of the digests u64, number of games u32, bits of a part u8, bytes of a number u8, place of the table u64, length u8 and text of the version of cbfs |
//! | games | for each number from 1 on: mark u64 (0: no game), facts u64 |
//! | parts | what main lines reach, by the highest bits of the digest of the position; then what only variations reach, as many parts |
//! | table | for each part: see [`part::PartEntry`]; then how many games cannot be read (varint), and their numbers u32 |
//!
//! The seed of the digests is drawn for each file that is made anew, so that nobody
//! can make two positions that have the same digest; by chance two of a billion
//! positions have one digest of 64 bits once in forty files.
//!
//! Most positions are reached by one game, and most games of a position by a
//! popular one, so these have different forms ([`part`]):
//!
//! * Of a **rare** position, reached by fewer than [`part::POPULAR`] games, there
//!   are only the numbers of the games, in a bucket with those of some twenty
//!   other positions that begin with the same bits. Who asks reads these games:
//!   their moves say what they reach. That takes 3 bytes for each.
//! * A **popular** one has its whole digest and a list: its moves, the games with
//!   the difference to the last number and the move in one integer, and, if there
//!   are many, what the games amount to for each move, so that the start of ten
//!   million games is answered without looking at them.
//!
//! Beside it lies another file, of what the games had on the board ([`masks`]).
//!
//! # Making it
//!
//! The games are read by all cores ([`super::scan()`]) in the order of their numbers.
//! What they reach is put aside by parts, in pieces, in an unnamed file; then each
//! part is read, sorted and written. Where there is a file already, only the games
//! that are not as there are read, and each part is written as it was, without what
//! these reached and with what they reach ([`part::OldPart`]); a rare position keeps its
//! bucket, as its digest is not known. Memory is needed for a part of each core and
//! eight bytes for each game. If the process is killed meanwhile, an unfinished file
//! with another name remains; it is never read, and the next build of the index removes it.

mod build;
mod games;
mod masks;
mod part;

pub use build::{NewSegment, Phase, positions_of_headers};

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use self::games::GAME_BYTES;
pub(super) use self::games::GameBits;
pub(super) use self::masks::{MaskAnswer, Masks};
use self::part::PartEntry;
pub(super) use self::part::{List, SegmentLookup, Totals};
use super::filter::Filter;
use super::game_set::GameSet;
use super::parse::Query;
use super::scan::{Collector, Ended, Give, ScanEvent, scan};
use super::source::{GamesReader, SearchedGames, SearchedHeader, SourceError};
use crate::storage::{Cursor, PagedFile, open_own};

const MAGIC: &[u8] = b"cbfs positions 3\n";

/// Indexes of the tables: positions of main lines, and positions only in
/// variations.
pub(super) const MAIN: usize = 0;
pub(super) const VARIATIONS: usize = 1;
const TABLES: usize = 2;

/// The part of a table that has a position.
fn part_of(digest: u64, table: usize, bits: u32) -> usize {
    let part = digest.checked_shr(64 - bits).unwrap_or(0);
    usize::try_from(part).unwrap_or(0) | table << bits
}

/// Bytes of a number of a game, if this is the highest.
fn width_of(last: u32) -> usize {
    if last < 1 << 24 { 3 } else { 4 }
}

/// Returns the error for damaged content.
fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// A file of what games reach.
#[derive(Debug)]
pub struct Segment {
    pages: PagedFile,
    state: u64,
    digests: u64,
    last: u32,
    bits: u32,
    width: usize,
    parts: Vec<PartEntry>,
    unreadable: GameSet,
    /// What its games had on the board, if that is known.
    masks: Option<Masks>,
}

/// The file of the masks of the segment in `path`.
pub fn masks_file(path: &Path) -> PathBuf {
    path.with_extension("masks")
}

/// The head of the file.
#[derive(Debug)]
struct SegmentHead {
    state: u64,
    /// The seed of the digests.
    digests: u64,
    last: u32,
    bits: u32,
    width: usize,
    table: u64,
}

impl SegmentHead {
    fn encode(&self) -> Vec<u8> {
        let version = env!("CARGO_PKG_VERSION");
        let byte = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.state.to_le_bytes());
        bytes.extend(self.digests.to_le_bytes());
        bytes.extend(self.last.to_le_bytes());
        bytes.extend([byte(self.bits as usize), byte(self.width)]);
        bytes.extend(self.table.to_le_bytes());
        bytes.push(byte(version.len()));
        bytes.extend(version.as_bytes());
        bytes
    }

    /// Other versions of cbfs may read other moves from the same bytes.
    fn decode(bytes: &[u8]) -> Option<SegmentHead> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (state, rest) = rest.split_first_chunk()?;
        let (digests, rest) = rest.split_first_chunk()?;
        let (last, rest) = rest.split_first_chunk()?;
        let ([bits, width], rest) = rest.split_first_chunk()?;
        let (table, _) = rest.split_first_chunk()?;
        let head = SegmentHead {
            state: u64::from_le_bytes(*state),
            digests: u64::from_le_bytes(*digests),
            last: u32::from_le_bytes(*last),
            bits: u32::from(*bits),
            width: usize::from(*width),
            table: u64::from_le_bytes(*table),
        };
        let is_ours = bytes.starts_with(&head.encode()) && head.bits <= build::MOST_BITS;
        (is_ours && (1..=4).contains(&head.width)).then_some(head)
    }
}

impl Segment {
    /// Opens the segment at `path`.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none; `InvalidData` if it is none that this user and
    /// this version of cbfs has written, or is damaged; errors of the system.
    pub fn open(path: &Path) -> io::Result<Segment> {
        let mut segment = Segment::read(open_own(path)?)?;
        let masks = open_own(&masks_file(path)).and_then(PagedFile::open);
        match masks.and_then(|pages| Masks::read(pages, segment.id(), segment.last)) {
            Ok(masks) => segment.masks = Some(masks),
            Err(error) => log::info!("{}: {error}", masks_file(path).display()),
        }
        Ok(segment)
    }

    fn read(file: File) -> io::Result<Segment> {
        let pages = PagedFile::open(file)?;
        let head = SegmentHead::decode(pages.head());
        let head = head.ok_or_else(|| damaged("it is of another version of cbfs"))?;
        let mut cursor = pages.cursor(head.table);
        let lines = (0..TABLES << head.bits).map(|_| PartEntry::read(&mut cursor));
        let parts = lines.collect::<io::Result<_>>()?;
        let mut unreadable = GameSet::default();
        for _ in 0..cursor.varint()? {
            let number = u32::try_from(cursor.integer::<4>()?).unwrap_or(u32::MAX);
            if number > head.last {
                return Err(damaged("a game in it has no number"));
            }
            unreadable.add(number);
        }
        Ok(Segment {
            parts,
            unreadable,
            masks: None,
            pages,
            state: head.state,
            digests: head.digests,
            last: head.last,
            bits: head.bits,
            width: head.width,
        })
    }

    /// The state that it was written with, 0 if none.
    pub fn state(&self) -> u64 {
        self.state
    }

    /// Bytes that it takes on disk.
    pub fn bytes(&self) -> u64 {
        self.pages.bytes() + self.masks.as_ref().map_or(0, Masks::bytes)
    }

    /// What its games had on the board.
    pub(super) fn masks(&self) -> Option<&Masks> {
        self.masks.as_ref()
    }

    /// How many numbers of games it knows.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// The seed of its digests.
    pub(super) fn seed(&self) -> u64 {
        self.digests
    }

    /// A number that no other file has.
    pub fn id(&self) -> u64 {
        self.pages.seed()
    }

    /// Whether it should be made anew rather than have more games.
    fn is_worn(&self, last: u32) -> bool {
        self.masks.is_none()
            || width_of(last) != self.width
            || self.parts.iter().any(PartEntry::is_worn)
    }

    /// Reads in it.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        self.pages.cursor(0)
    }

    /// The mark and the facts of a game.
    fn game(&self, number: u32, cursor: &mut Cursor<'_>) -> io::Result<(u64, GameBits)> {
        if number == 0 || number > self.last {
            return Ok((0, GameBits::default()));
        }
        cursor.seek(u64::from(number - 1) * GAME_BYTES);
        Ok((cursor.integer::<8>()?, GameBits(cursor.integer::<8>()?)))
    }

    /// What it has of a game, if the game is as it was.
    fn same(
        &self,
        header: &SearchedHeader,
        reader: &mut dyn GamesReader,
        cursor: &mut Cursor<'_>,
    ) -> Option<(u64, GameBits)> {
        let (mark, facts) = self.game(header.number, cursor).ok()?;
        let now = reader.mark_of(header.number).unwrap_or(0);
        (mark == games::kept_mark(now) && facts.are_of(header)).then_some((mark, facts))
    }

    /// What of the header of a game counts.
    pub(super) fn facts(&self, number: u32, cursor: &mut Cursor<'_>) -> io::Result<GameBits> {
        Ok(self.game(number, cursor)?.1)
    }

    /// The games that could not be read.
    pub(super) fn unreadable(&self) -> &GameSet {
        &self.unreadable
    }

    /// What a table has of a position.
    pub(super) fn find(
        &self,
        digest: u64,
        table: usize,
        cursor: &mut Cursor<'_>,
    ) -> io::Result<SegmentLookup> {
        let line = self.parts.get(part_of(digest, table, self.bits));
        let line = line.ok_or_else(|| damaged("a part is missing"))?;
        line.find(digest, self.bits, self.width, cursor)
    }

    /// The games that are not as they were when it was written, came or went.
    /// `None` if there are more than `most`, or `goes_on` says that it is not
    /// needed any more.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if the segment or the headers cannot be read.
    pub fn changed(
        &self,
        source: &dyn SearchedGames,
        most: usize,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<GameSet>, SourceError> {
        let query = Query {
            in_deleted: true,
            ..Query::default()
        };
        let filter = Filter::new(&query, source)?;
        let (mut same, mut changed) = (GameSet::default(), GameSet::default());
        let scanned = scan(source, &filter, &Compare(self), &mut |told| {
            if let ScanEvent::Piece([are_same, are_others]) = told {
                for (set, games) in [(&mut same, are_same), (&mut changed, are_others)] {
                    for game in games {
                        set.add(game);
                    }
                }
            }
            if changed.count() as usize > most || !goes_on() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok(())
        });
        match scanned {
            Ok(()) => {}
            Err(Ended::Source(fault)) => return Err(fault),
            Err(Ended::Taker(_)) => return Ok(None),
        }
        let mut cursor = self.cursor();
        for number in 1..=self.last {
            if !same.contains(number) && self.facts(number, &mut cursor)?.is_there() {
                changed.add(number);
            }
        }
        Ok((changed.count() as usize <= most).then_some(changed))
    }
}

/// Tells of games whether they are as a segment has them.
#[derive(Debug)]
struct Compare<'s>(&'s Segment);

impl Collector for Compare<'_> {
    /// Those that are, and those that are not.
    type Collected = [Vec<u32>; 2];

    fn reads_games(&self) -> bool {
        true
    }

    fn make(
        &self,
        games: &[SearchedHeader],
        reader: &mut dyn GamesReader,
        give: Give<'_, [Vec<u32>; 2]>,
    ) {
        let mut cursor = self.0.cursor();
        let mut is_same =
            |header: &SearchedHeader| self.0.same(header, reader, &mut cursor).is_some();
        let (same, others): (Vec<SearchedHeader>, Vec<SearchedHeader>) =
            games.iter().partition(|one| is_same(one));
        give(ScanEvent::Piece([same, others].map(|some| {
            some.into_iter().map(|header| header.number).collect()
        })));
    }
}
