//! The `.ksf`: sources of games, and the data of each game.
//!
//! The file has a table of contents, then the sources, each followed by its
//! games. Games have variable lengths, so the offset of every 64th is stored in
//! memory at the first access to a source.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, OnceLock};

use encoding_rs::Encoding;
use parking_lot::Mutex;

use super::strings::{ByteOrder, decode_8_bit, unicode};
use crate::book::{GameReference, GameSource, ReferencedGame, SourceKind};
use crate::bytes::{ByteReader, Malformed};
use crate::game::{Defect, GameResult};
use crate::storage::{ReadBuffer, Storage};

/// Maximum number of sources: a reference has 16 bits for the source.
const MAX_SOURCES: u64 = 1 << 16;

/// Maximum length of a path, URL or name.
const MAX_TEXT_BYTES: usize = 1 << 16;

/// Length of a source without its address: type, mark, length of the address,
/// number of games.
const SOURCE_BYTES: usize = 1 + 1 + 4 + 4;

/// Length of the shortest record of a game.
const MIN_GAME_BYTES: u64 = 21;

/// Maximum length of a record of a game.
const MAX_GAME_BYTES: usize = 21 + 2 * MAX_TEXT_BYTES;

/// Number of bytes of a game read first.
const USUAL_GAME_BYTES: usize = 256;

/// Distance, in games, of the stored offsets.
const STRIDE: usize = 64;

/// Maximum number of stored offsets without those of the present source: 8 MiB.
const MAX_PLACES: usize = 1 << 20;

/// The sources with their games.
#[derive(Debug)]
pub(super) struct Ksf {
    file: Box<dyn Storage>,
    len: u64,
    /// Offset of each source; `None` if it is invalid.
    offsets: Vec<Option<u64>>,
    sources: OnceLock<Vec<SourceRecord>>,
    places: Mutex<HashMap<u16, Arc<Vec<u64>>>>,
}

#[derive(Clone, Debug)]
struct SourceRecord {
    shown: GameSource,
    /// Offset of its first game.
    games_at: u64,
}

/// The record of a game, not decoded.
struct StoredGame<'a> {
    address: u32,
    length: u32,
    white: &'a [u8],
    black: &'a [u8],
    elo: [u16; 2],
    result: u8,
    bytes: usize,
}

/// The reason why a part of the file cannot be read.
#[derive(Debug)]
pub(super) enum KsfDamage {
    Io(io::Error),
    /// The file violates its format.
    Malformed(Defect),
}

impl From<io::Error> for KsfDamage {
    fn from(error: io::Error) -> KsfDamage {
        KsfDamage::Io(error)
    }
}

fn fault(offset: u64, what: String) -> Defect {
    Defect {
        file: "ksf",
        offset,
        what,
    }
}

impl Ksf {
    /// Reads the table of contents. Defects go to `say`.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    pub(super) fn open(file: Box<dyn Storage>, say: &mut dyn FnMut(Defect)) -> io::Result<Ksf> {
        let len = file.len()?;
        let mut buffer = ReadBuffer::default();
        let first = file.read_up_to(0, 4, &mut buffer)?.first_chunk().copied();
        let mut claimed = u64::from(first.map_or(0, u32::from_be_bytes));
        let fit = (len / 4).saturating_sub(1);
        if first.is_none() || claimed > fit {
            let what = format!("a table of {claimed} sources, {fit} fit; none is read");
            say(fault(0, what));
            claimed = 0;
        }
        let begin = 4 + 4 * claimed;
        if claimed > MAX_SOURCES {
            let what = format!("{claimed} sources; the first {MAX_SOURCES} are read");
            say(fault(0, what));
            claimed = MAX_SOURCES;
        }
        let bytes = usize::try_from(4 * claimed).unwrap_or(0);
        let table = file.read(4, bytes, &mut buffer)?.as_chunks::<4>().0;
        let mut offsets = Vec::with_capacity(table.len());
        for (number, &offset) in (0_u64..).zip(table) {
            let offset = u64::from(u32::from_be_bytes(offset));
            let is_inside = (begin..len).contains(&offset);
            if !is_inside {
                let what = format!("source {number} is at {offset:#x}, where no source can be");
                say(fault(4 + 4 * number, what));
            }
            offsets.push(is_inside.then_some(offset));
        }
        Ok(Ksf {
            file,
            len,
            offsets,
            sources: OnceLock::new(),
            places: Mutex::default(),
        })
    }

    /// Returns the stored addresses of the first sources.
    pub(super) fn addresses(&self, count: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut addresses = Vec::new();
        for offset in self.offsets.iter().take(count).flatten() {
            match self.read_source(0, *offset) {
                Ok((_, address)) => addresses.push(address),
                Err(KsfDamage::Io(error)) => return Err(error),
                Err(KsfDamage::Malformed(_)) => {}
            }
        }
        Ok(addresses)
    }

    /// Reads the source at an offset. Returns it with its raw address.
    fn read_source(
        &self,
        number: usize,
        offset: u64,
    ) -> Result<(SourceRecord, Vec<u8>), KsfDamage> {
        let mut buffer = ReadBuffer::default();
        let most = SOURCE_BYTES + MAX_TEXT_BYTES;
        let usual = SOURCE_BYTES + USUAL_GAME_BYTES;
        let mut bytes = self.file.read_up_to(offset, usual, &mut buffer)?;
        if parse_source(bytes).is_err() {
            bytes = self.file.read_up_to(offset, most, &mut buffer)?;
        }
        let parsed = parse_source(bytes).map_err(|Malformed { offset: at, what }| {
            let what = format!("source {number}: {what}");
            KsfDamage::Malformed(fault(offset + at as u64, what))
        })?;
        let (mut source, address, length) = parsed;
        source.games_at = offset + length as u64;
        Ok((source, address.to_vec()))
    }

    /// Returns all sources in order. Unreadable ones are empty.
    fn all(&self, order: ByteOrder, say: &mut dyn FnMut(Defect)) -> io::Result<&[SourceRecord]> {
        if let Some(sources) = self.sources.get() {
            return Ok(sources);
        }
        let mut sources = Vec::with_capacity(self.offsets.len());
        let mut room = self.len;
        for (number, &offset) in self.offsets.iter().enumerate() {
            sources.push(self.source(number, offset, order, &mut room, say)?);
        }
        Ok(self.sources.get_or_init(|| sources))
    }

    /// Reads one source. `room` is the number of bytes left for addresses: no
    /// two of them share bytes, so their sum is bounded by the file.
    fn source(
        &self,
        number: usize,
        offset: Option<u64>,
        order: ByteOrder,
        room: &mut u64,
        say: &mut dyn FnMut(Defect),
    ) -> io::Result<SourceRecord> {
        let nothing = || SourceRecord {
            shown: GameSource {
                kind: SourceKind::Empty,
                is_bad: true,
                address: String::new(),
                games: 0,
            },
            games_at: self.len,
        };
        let Some(offset) = offset else {
            return Ok(nothing());
        };
        let (mut source, address) = match self.read_source(number, offset) {
            Ok(read) => read,
            Err(KsfDamage::Io(error)) => return Err(error),
            Err(KsfDamage::Malformed(defect)) => {
                say(defect);
                return Ok(nothing());
            }
        };
        let Some(left) = room.checked_sub(address.len() as u64) else {
            say(fault(offset, format!("source {number} overlaps others")));
            return Ok(nothing());
        };
        *room = left;
        source.shown.address = order.decode(&address);
        let fit = self.len.saturating_sub(source.games_at) / MIN_GAME_BYTES;
        if u64::from(source.shown.games) > fit {
            let games = source.shown.games;
            let what = format!("source {number} has {games} games, {fit} fit");
            say(fault(source.games_at.saturating_sub(4), what));
            source.shown.games = u32::try_from(fit).unwrap_or(u32::MAX);
        }
        Ok(source)
    }

    /// Returns the sources.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    pub(super) fn sources(
        &self,
        order: ByteOrder,
        say: &mut dyn FnMut(Defect),
    ) -> io::Result<Vec<GameSource>> {
        let sources = self.all(order, say)?.iter();
        Ok(sources.map(|source| source.shown.clone()).collect())
    }

    /// Returns the data of a game; `None` if there is no such game, or it is
    /// unreadable.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    pub(super) fn game(
        &self,
        GameReference { source, game }: GameReference,
        (order, page): (ByteOrder, &'static Encoding),
        say: &mut dyn FnMut(Defect),
    ) -> io::Result<Option<ReferencedGame>> {
        let known = self.all(order, say)?.get(usize::from(source));
        let Some(known) = known.filter(|known| game < known.shown.games) else {
            return Ok(None);
        };
        let game = usize::try_from(game).unwrap_or(usize::MAX);
        match self.read_game(source, known, game, page) {
            Ok(found) => Ok(found),
            Err(KsfDamage::Io(error)) => Err(error),
            Err(KsfDamage::Malformed(defect)) => {
                say(defect);
                Ok(None)
            }
        }
    }

    fn read_game(
        &self,
        number: u16,
        source: &SourceRecord,
        game: usize,
        page: &'static Encoding,
    ) -> Result<Option<ReferencedGame>, KsfDamage> {
        let places = self.places(number, source)?;
        let Some(&near) = places.get(game / STRIDE) else {
            return Ok(None);
        };
        let mut buffer = ReadBuffer::ahead();
        let mut at = near;
        for _ in 0..game % STRIDE {
            at += self.stored_game(at, &mut buffer, |game| game.bytes as u64)?;
        }
        self.stored_game(at, &mut buffer, |game| Some(game.decode(page)))
    }

    /// Returns the offset of every [`STRIDE`]th game of a source, up to the
    /// first unreadable one.
    fn places(&self, number: u16, source: &SourceRecord) -> Result<Arc<Vec<u64>>, KsfDamage> {
        let lock = || self.places.lock();
        if let Some(places) = lock().get(&number) {
            return Ok(Arc::clone(places));
        }
        let mut places = Vec::new();
        let mut buffer = ReadBuffer::ahead();
        let mut at = source.games_at;
        for game in 0..usize::try_from(source.shown.games).unwrap_or(0) {
            if game % STRIDE == 0 {
                places.push(at);
            }
            match self.stored_game(at, &mut buffer, |game| game.bytes as u64) {
                Ok(bytes) => at += bytes,
                Err(KsfDamage::Malformed(_)) => break,
                Err(error) => return Err(error),
            }
        }
        let places = Arc::new(places);
        let mut known = lock();
        let all: usize = known.values().map(|places| places.len()).sum();
        if all + places.len() > MAX_PLACES {
            known.clear();
        }
        known.insert(number, Arc::clone(&places));
        Ok(places)
    }

    /// Calls `look` with the record of the game at an offset.
    fn stored_game<T>(
        &self,
        at: u64,
        buffer: &mut ReadBuffer,
        look: impl Fn(&StoredGame<'_>) -> T,
    ) -> Result<T, KsfDamage> {
        let bytes = self.file.read_up_to(at, USUAL_GAME_BYTES, buffer)?;
        if let Ok(game) = parse_game(bytes) {
            return Ok(look(&game));
        }
        let mut exact = ReadBuffer::default();
        let bytes = self.file.read_up_to(at, MAX_GAME_BYTES, &mut exact)?;
        let game = parse_game(bytes).map_err(|Malformed { offset, what }| {
            let what = format!("a game of a source: {what}");
            KsfDamage::Malformed(fault(at + offset as u64, what))
        })?;
        Ok(look(&game))
    }

    /// Checks all sources and their games.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    pub(super) fn check(
        &self,
        order: ByteOrder,
        say: &mut dyn FnMut(Defect),
    ) -> io::Result<Vec<GameSource>> {
        // The first read of all sources has reported their defects.
        let mut room = self.len;
        let mut sources = Vec::with_capacity(self.offsets.len());
        // The games share no bytes, so their number is bounded by the file.
        let mut left = self.len / MIN_GAME_BYTES;
        for (number, &offset) in self.offsets.iter().enumerate() {
            let source = self.source(number, offset, order, &mut room, say)?;
            let mut buffer = ReadBuffer::ahead();
            let mut at = source.games_at;
            for _ in 0..source.shown.games {
                let Some(fewer) = left.checked_sub(1) else {
                    say(fault(at, format!("source {number} overlaps others")));
                    break;
                };
                left = fewer;
                match self.stored_game(at, &mut buffer, |game| game.bytes as u64) {
                    Ok(bytes) => at += bytes,
                    Err(KsfDamage::Io(error)) => return Err(error),
                    Err(KsfDamage::Malformed(defect)) => {
                        say(defect);
                        break;
                    }
                }
            }
            sources.push(source.shown);
        }
        Ok(sources)
    }
}

impl StoredGame<'_> {
    fn decode(&self, page: &'static Encoding) -> ReferencedGame {
        let [white_elo, black_elo] = self.elo;
        ReferencedGame {
            address: self.address,
            length: self.length,
            white: decode_8_bit(self.white, page),
            black: decode_8_bit(self.black, page),
            white_elo,
            black_elo,
            result: match self.result {
                0 => GameResult::BlackWon,
                1 => GameResult::WhiteWon,
                2 => GameResult::Draw,
                _ => GameResult::Line,
            },
        }
    }
}

/// Parses a source. Returns it, its address, and the length of both.
fn parse_source(bytes: &[u8]) -> Result<(SourceRecord, &[u8], usize), Malformed> {
    let mut reader = ByteReader::new(bytes);
    let kind = match reader.u8()? {
        0 => SourceKind::Empty,
        1 => SourceKind::Pgn,
        2 => SourceKind::Web,
        3 => SourceKind::Cbh,
        other => SourceKind::Other(other),
    };
    let is_bad = reader.u8()? != 0;
    let address = unicode(&mut reader)?;
    let shown = GameSource {
        kind,
        is_bad,
        address: String::new(),
        games: reader.u32_be()?,
    };
    let source = SourceRecord { shown, games_at: 0 };
    Ok((source, address, reader.position()))
}

fn parse_game(bytes: &[u8]) -> Result<StoredGame<'_>, Malformed> {
    let mut reader = ByteReader::new(bytes);
    let (address, length) = (reader.u32_be()?, reader.u32_be()?);
    let (white, black) = (name(&mut reader)?, name(&mut reader)?);
    let elo = [reader.u16_be()?, reader.u16_be()?];
    Ok(StoredGame {
        address,
        length,
        white,
        black,
        elo,
        result: reader.u8()?,
        bytes: reader.position(),
    })
}

fn name<'a>(reader: &mut ByteReader<'a>) -> Result<&'a [u8], Malformed> {
    let start = reader.position();
    let length = usize::try_from(reader.u32_be()?).unwrap_or(usize::MAX);
    if length > MAX_TEXT_BYTES {
        return Err(Malformed::new(start, format!("a name of {length} bytes")));
    }
    reader.take(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    /// A source with an address of so many bytes, and this many games.
    fn source(address: usize, games: u32) -> Vec<u8> {
        let characters = u32::try_from(address / 2).unwrap().to_be_bytes();
        let games = games.to_be_bytes();
        [&[1, 0][..], &characters, &vec![b'x'; address], &games].concat()
    }

    /// A game with names of so many bytes, won by White.
    fn game(name: usize) -> Vec<u8> {
        let length = u32::try_from(name).unwrap().to_be_bytes();
        let name = [&length[..], &vec![b'n'; name]].concat();
        let elo = [2700_u16, 2650].map(u16::to_be_bytes).concat();
        [&[0, 0, 0, 9, 0, 0, 0, 7][..], &name, &name, &elo, &[1]].concat()
    }

    /// The file of one source and its games, and the defects known at opening.
    fn opened(content: &[u8]) -> (Ksf, Vec<Defect>) {
        let bytes = [&[0, 0, 0, 1, 0, 0, 0, 8][..], content].concat();
        let mut defects = Vec::new();
        let file = Box::new(MemoryFile::from(bytes));
        let ksf = Ksf::open(file, &mut |defect| defects.push(defect)).unwrap();
        (ksf, defects)
    }

    #[test]
    fn an_address_has_up_to_64_kib() {
        for (bytes, count) in [
            (0, 1),
            (600, 1),
            (MAX_TEXT_BYTES, 1),
            (MAX_TEXT_BYTES + 2, 0),
        ] {
            let (ksf, defects) = opened(&[source(bytes, 0), game(9)].concat());
            assert_eq!(defects, []);
            let addresses = ksf.addresses(9).unwrap();
            assert_eq!(addresses, vec![vec![b'x'; bytes]; count], "{bytes}");
        }
    }

    #[test]
    fn no_more_sources_are_read_than_an_element_can_name() {
        for (count, told) in [(65_536_u32, 0), (65_537, 1)] {
            let begin = 4 + 4 * count;
            let table = std::iter::once(count).chain(std::iter::repeat_n(begin, count as usize));
            let mut bytes: Vec<u8> = table.flat_map(u32::to_be_bytes).collect();
            bytes.extend(source(0, 0));
            let mut defects = Vec::new();
            let file = Box::new(MemoryFile::from(bytes));
            let ksf = Ksf::open(file, &mut |defect| defects.push(defect.what)).unwrap();
            assert_eq!((ksf.offsets.len(), defects.len()), (65_536, told));
            assert!(ksf.offsets.iter().all(Option::is_some));
        }
    }

    #[test]
    fn sources_are_where_the_table_says_or_none() {
        let mut defects = Vec::new();
        let table = [3_u32, 16, 26, 15].map(u32::to_be_bytes).concat();
        let file = Box::new(MemoryFile::from([table, source(0, 0)].concat()));
        let ksf = Ksf::open(file, &mut |defect| defects.push(defect.offset)).unwrap();
        assert_eq!(ksf.offsets, [Some(16), None, None]);
        assert_eq!(defects, [8, 12]);
        for (bytes, is_table) in [
            (&[0, 0, 0, 0][..], true),
            (&[0, 0, 0, 1], false),
            (&[0], false),
        ] {
            let mut told = 0;
            let file = Box::new(MemoryFile::from(bytes.to_vec()));
            let ksf = Ksf::open(file, &mut |_| told += 1).unwrap();
            assert_eq!((ksf.offsets.len(), told == 0), (0, is_table), "{bytes:?}");
        }
    }

    #[test]
    fn a_source_has_no_more_games_than_fit() {
        let games = [game(0), game(0)].concat();
        for (claimed, fit) in [(1, 1), (2, 2), (3, 2)] {
            let (ksf, _) = opened(&[source(6, claimed), games.clone()].concat());
            let mut defects = Vec::new();
            let sources = ksf.sources(ByteOrder::Big, &mut |defect| defects.push(defect));
            assert_eq!(sources.unwrap()[0].games, fit);
            let told: Vec<_> = defects.iter().map(|it| (it.offset, &*it.what)).collect();
            let what = "source 0 has 3 games, 2 fit";
            assert_eq!(
                told,
                if claimed > fit {
                    vec![(20, what)]
                } else {
                    Vec::new()
                }
            );
        }
    }

    #[test]
    fn a_game_has_one_of_four_results() {
        let results = [0, 1, 2, 3].map(|result| {
            let mut bytes = game(3);
            *bytes.last_mut().unwrap() = result;
            let game = parse_game(&bytes).unwrap();
            game.decode(encoding_rs::WINDOWS_1251).result
        });
        let expected = [
            GameResult::BlackWon,
            GameResult::WhiteWon,
            GameResult::Draw,
            GameResult::Line,
        ];
        assert_eq!(results, expected);
    }

    #[test]
    fn names_have_up_to_64_kib() {
        let page = encoding_rs::WINDOWS_1251;
        let names = [3, MAX_TEXT_BYTES, 0, MAX_TEXT_BYTES + 1];
        let games = names.map(game).concat();
        let (ksf, _) = opened(&[source(6, 4), games].concat());
        let mut defects = Vec::new();
        for (at, length) in (0..).zip(names) {
            let game = GameReference {
                source: 0,
                game: at,
            };
            let mut say = |defect| defects.push(defect);
            let game = ksf.game(game, (ByteOrder::Big, page), &mut say).unwrap();
            let Some(game) = game else {
                assert_eq!(length, MAX_TEXT_BYTES + 1);
                continue;
            };
            assert_eq!((game.white.len(), game.black.len()), (length, length));
            let numbers = (game.address, game.length, game.white_elo, game.black_elo);
            assert_eq!(numbers, (9, 7, 2700, 2650));
            assert_eq!(game.result, GameResult::WhiteWon);
        }
        let [defect] = &defects[..] else {
            panic!("{defects:?}");
        };
        let last = 8 + 16 + 3 * 21 + 2 * (3 + MAX_TEXT_BYTES) + 8;
        assert_eq!(defect.offset, last as u64);
        assert_eq!(defect.what, "a game of a source: a name of 65537 bytes");
    }

    #[test]
    fn each_game_of_a_source_is_found_by_its_number() {
        let numbered = |number: u32| {
            let mut bytes = game(number as usize % 5);
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            bytes
        };
        let games: Vec<u8> = (0..130).flat_map(numbered).collect();
        let (mut ksf, _) = opened(&[source(6, 130), games].concat());
        ksf.offsets.push(ksf.offsets[0]);
        let strings = (ByteOrder::Big, encoding_rs::WINDOWS_1251);
        for (source, game) in (0..2).flat_map(|source| (0..131).map(move |game| (source, game))) {
            let reference = GameReference { source, game };
            // One that the source has not is not looked for.
            let mut say = |defect| panic!("{defect:?}");
            let found = ksf.game(reference, strings, &mut say).unwrap();
            let address = found.map(|game| game.address);
            assert_eq!(address, Some(game).filter(|game| *game < 130));
        }
        let places = ksf.places.lock();
        assert!([0, 1].iter().all(|source| places[source].len() == 3));
    }

    #[test]
    fn sources_that_share_addresses_or_games_are_told() {
        let told = |address, games| {
            let content = [source(address, games), game(0), game(0)].concat();
            let (mut ksf, _) = opened(&content);
            ksf.offsets.push(ksf.offsets[0]);
            let mut defects = Vec::new();
            let mut say = |defect: Defect| defects.push((defect.offset, defect.what));
            let sources = ksf.check(ByteOrder::Big, &mut say).unwrap();
            assert_eq!(sources[0].games, games);
            defects
        };
        assert_eq!(told(0, 1), []);
        let overlaps = "source 1 overlaps others".to_owned();
        // The file has room for two games of both.
        assert_eq!(told(0, 2), [(8 + 10, overlaps.clone())]);
        assert_eq!(told(60, 0), []);
        assert_eq!(told(62, 0), [(8, overlaps)]);
    }
}
