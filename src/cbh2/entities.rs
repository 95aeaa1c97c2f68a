//! `.2lid`: players, tournaments, sources, teams and labels in one file. The
//! header is big-endian, the records are little-endian.
//!
//! Header:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 4 | bytes of the header: 184, 216, 228, 236 seen |
//! | 4 | 4 | number of types T, 6 |
//! | 8 + 20 t | 4 | bytes of a container of type t |
//! | 12 + 20 t | 8 | entities of the type, deleted ones too |
//! | 20 + 20 t | 8 | the first deleted one, −1 none |
//!
//! Then blocks: block *i* has a container for entity *i* of each type, one
//! after the other. The file ends behind the last record, inside a block.
//!
//! Container: length i32, then the record of this length; 0 is no entity. A
//! string is its length i32 and its bytes, in UTF-8 or else the base's page.
//!
//! | type | entity | record |
//! |---|---|---|
//! | 0 | player, annotator | family name, given name, 0 i32, 0 i32, id i32, 8 i32, FIDE id i64 |
//! | 1 | tournament | place, title, then [`tournament`] |
//! | 2 | source | title, publisher, publication i32, date i32, version u16, quality u16 |
//! | 4 | team | title, number u8, season u8, year u16, nation u8 |
//! | 5 | label, title of a text | count i32; each: nation of the language i32, title |
//!
//! A deleted entity is a record of 16 bytes: `22 33 44 55 66 77 88 99` and the
//! next deleted one, i64.

use std::io;

use crate::bytes::{ByteReader, Malformed};
use crate::cbh::{
    CodePage, EntityId, EntityKind, EntityNames, EventDetails, NamesBuilder, date, event_kind,
};
use crate::game::{Nation, PlayerName, Source, Speed, Team, Tournament};
use crate::storage::{ReadBuffer, Storage};

/// The entity types by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Player = 0,
    Tournament = 1,
    Source = 2,
    Team = 4,
    Tag = 5,
}

impl Type {
    /// The type that holds the entities of a kind: annotators are players.
    pub(super) fn of(kind: EntityKind) -> Type {
        match kind {
            EntityKind::Player | EntityKind::Annotator => Type::Player,
            EntityKind::Tournament => Type::Tournament,
            EntityKind::Source => Type::Source,
            EntityKind::Team => Type::Team,
        }
    }

    /// All types that are known.
    pub(super) const ALL: [Type; 5] = [
        Type::Player,
        Type::Tournament,
        Type::Source,
        Type::Team,
        Type::Tag,
    ];

    /// The name of the type in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Type::Player => "player",
            Type::Tournament => "tournament",
            Type::Source => "source",
            Type::Team => "team",
            Type::Tag => "label",
        }
    }
}

/// Maximum number of types in a file; 6 known.
const MOST_TYPES: u32 = 32;

/// Maximum length of the header; 236 known.
const MOST_HEADER_BYTES: u32 = 1 << 16;

/// Maximum length of a container; 1120 known.
const MOST_CONTAINER_BYTES: u32 = 1 << 20;

const DELETED: [u8; 8] = [0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99];

/// Maximum number of titles of a label; eight known.
const MOST_TITLES: u32 = 256;

/// The containers of a type.
#[derive(Clone, Copy, Debug, Default)]
struct Containers {
    /// Offset of the container in a block.
    offset: u64,
    /// Length of the container; 0 if there is none.
    size: usize,
    /// Number of entities according to the header.
    claimed: u64,
}

/// The open file of entities.
#[derive(Debug)]
pub(super) struct Entities {
    storage: Box<dyn Storage>,
    header_bytes: u64,
    block_bytes: u64,
    types: Vec<Containers>,
}

/// The reason why an entity cannot be read.
#[derive(Debug)]
pub(super) enum LookupError {
    Io(io::Error),
    /// Offset in the file, and description.
    Fault(u64, String),
}

impl From<io::Error> for LookupError {
    fn from(error: io::Error) -> LookupError {
        LookupError::Io(error)
    }
}

/// A stored record.
enum Stored<'b> {
    /// In use: its bytes, and their offset in the file.
    Used(&'b [u8], u64),
    Deleted,
    /// No entity has the id.
    Unused,
    /// Offset and description of the damage.
    Damaged(u64, String),
}

impl Entities {
    /// Reads the header.
    ///
    /// # Errors
    ///
    /// Errors of the medium; inside, [`Malformed`] if there is no header.
    pub(super) fn open(storage: Box<dyn Storage>) -> io::Result<Result<Entities, Malformed>> {
        let mut buffer = ReadBuffer::default();
        let bytes = storage.read_up_to(0, MOST_HEADER_BYTES as usize, &mut buffer)?;
        let read = header(bytes);
        Ok(read.map(|(header_bytes, types)| Entities {
            header_bytes,
            block_bytes: types.iter().map(|of| of.size as u64).sum(),
            types,
            storage,
        }))
    }

    /// A file without entities.
    pub(super) fn none(storage: Box<dyn Storage>) -> Entities {
        Entities {
            storage,
            header_bytes: 0,
            block_bytes: 0,
            types: Vec::new(),
        }
    }

    fn containers(&self, of: Type) -> Containers {
        self.types.get(of as usize).copied().unwrap_or_default()
    }

    /// Number of entities of a type according to the header.
    pub(super) fn claimed(&self, of: Type) -> u64 {
        self.containers(of).claimed
    }

    /// Upper limit of the ids of a type: the number of blocks in the file,
    /// whatever the header claims.
    ///
    /// # Errors
    ///
    /// The medium's.
    pub(super) fn count(&self, of: Type) -> io::Result<u32> {
        let containers = self.containers(of);
        if containers.size == 0 || self.block_bytes == 0 {
            return Ok(0);
        }
        let begin = self.header_bytes + containers.offset;
        let present = self.storage.len()?.saturating_sub(begin);
        let blocks = present.div_ceil(self.block_bytes).min(containers.claimed);
        // The last number means "none".
        Ok(u32::try_from(blocks).unwrap_or(u32::MAX - 1))
    }

    /// Offset of the container of an entity.
    pub(super) fn place(&self, of: Type, id: EntityId) -> u64 {
        let block = u64::from(id.0) * self.block_bytes;
        self.header_bytes + block + self.containers(of).offset
    }

    fn stored<'b>(
        &'b self,
        of: Type,
        id: EntityId,
        buffer: &'b mut ReadBuffer,
    ) -> io::Result<Stored<'b>> {
        let containers = self.containers(of);
        if containers.size < 4 || u64::from(id.0) >= containers.claimed {
            return Ok(Stored::Unused);
        }
        let place = self.place(of, id);
        let bytes = self.storage.read_up_to(place, containers.size, buffer)?;
        let Some(length) = bytes.first_chunk().copied().map(u32::from_le_bytes) else {
            self.storage.ensure_kept(place + 4)?;
            return Ok(Stored::Unused);
        };
        let length = length as usize;
        if length > containers.size - 4 {
            let size = containers.size;
            let what = format!("a record of {length} bytes in a container of {size}");
            return Ok(Stored::Damaged(place, what));
        }
        let Some(record) = bytes.get(4..4 + length) else {
            self.storage.ensure_kept(place + 4 + length as u64)?;
            let what = format!("a record of {length} bytes ends past the file");
            return Ok(Stored::Damaged(place, what));
        };
        Ok(match record {
            [] => Stored::Unused,
            deleted if deleted.len() == 16 && deleted.starts_with(&DELETED) => Stored::Deleted,
            record => Stored::Used(record, place + 4),
        })
    }

    /// Reads the record of an entity with `read`.
    ///
    /// # Errors
    ///
    /// [`LookupError`], also if it is deleted or does not exist.
    pub(super) fn read(
        &self,
        of: Type,
        id: EntityId,
        buffer: &mut ReadBuffer,
        read: impl FnOnce(&mut ByteReader<'_>) -> Result<(), Malformed>,
    ) -> Result<(), LookupError> {
        let fault = |what: &str| {
            let what = format!("{} {} {what}", of.name(), id.0);
            LookupError::Fault(self.place(of, id), what)
        };
        match self.stored(of, id, buffer)? {
            Stored::Used(record, place) => {
                let in_file =
                    |fault: Malformed| LookupError::Fault(place + fault.offset as u64, fault.what);
                read(&mut ByteReader::new(record)).map_err(in_file)
            }
            Stored::Damaged(place, what) => Err(LookupError::Fault(place, what)),
            Stored::Deleted => Err(fault("is deleted")),
            Stored::Unused => Err(fault("is not there")),
        }
    }

    /// The names of all entities of a kind.
    ///
    /// # Errors
    ///
    /// The medium's.
    pub(super) fn names(&self, kind: EntityKind, page: CodePage) -> io::Result<EntityNames> {
        let of = Type::of(kind);
        let count = self.count(of)?;
        let mut names = NamesBuilder::below(count);
        let mut buffer = ReadBuffer::ahead();
        for id in (0..count).map(EntityId) {
            let read = self.read(of, id, &mut buffer, |reader| {
                add_name(kind, id, reader, page, &mut names)
            });
            match read {
                Ok(()) | Err(LookupError::Fault(..)) => {}
                Err(LookupError::Io(error)) => return Err(error),
            }
        }
        Ok(names.build())
    }

    /// Stored names of players and tournaments in the first blocks.
    ///
    /// # Errors
    ///
    /// The medium's.
    pub(super) fn sample(&self, most: u32) -> io::Result<Vec<Vec<u8>>> {
        let mut strings = Vec::new();
        let mut buffer = ReadBuffer::default();
        for of in [Type::Player, Type::Tournament] {
            for id in (0..self.count(of)?.min(most)).map(EntityId) {
                let read = self.read(of, id, &mut buffer, |reader| {
                    strings.push(bytes(reader)?.to_vec());
                    strings.push(bytes(reader)?.to_vec());
                    Ok(())
                });
                if let Err(LookupError::Io(error)) = read {
                    return Err(error);
                }
            }
        }
        Ok(strings)
    }

    /// Reports the defects of the file: damaged records, and chains of deleted
    /// ones that miss some.
    ///
    /// # Errors
    ///
    /// The medium's.
    pub(super) fn verify(
        &self,
        page: CodePage,
        report: &mut dyn FnMut(u64, String),
    ) -> io::Result<()> {
        let mut buffer = ReadBuffer::ahead();
        for of in Type::ALL {
            let (count, claimed) = (self.count(of)?, self.claimed(of));
            if u64::from(count) < claimed {
                let name = of.name();
                let what = format!("{claimed} records claimed of type {name}, {count} found");
                report(12 + 20 * of as u64, what);
            }
            for id in (0..count).map(EntityId) {
                match self.stored(of, id, &mut buffer)? {
                    Stored::Used(record, place) => {
                        let mut reader = ByteReader::new(record);
                        if let Err(fault) = read_any(of, &mut reader, page) {
                            report(place + fault.offset as u64, fault.what);
                        }
                    }
                    Stored::Damaged(place, what) => report(place, what),
                    Stored::Deleted | Stored::Unused => {}
                }
            }
        }
        Ok(())
    }
}

/// Bytes of the header, and the types.
fn header(bytes: &[u8]) -> Result<(u64, Vec<Containers>), Malformed> {
    let mut reader = ByteReader::new(bytes);
    let (size, count) = (reader.u32_be()?, reader.u32_be()?);
    let needed = 8 + 20 * count.min(MOST_TYPES);
    if !(1..=MOST_TYPES).contains(&count) || !(needed..=MOST_HEADER_BYTES).contains(&size) {
        let what = format!("a header of {size} bytes for {count} types: no .2lid file");
        return Err(Malformed::new(0, what));
    }
    let mut types = Vec::new();
    let mut offset = 0;
    for number in 0..count {
        let at = reader.position();
        let size = reader.u32_be()?;
        let claimed = reader.u64_be()?;
        reader.skip(8)?;
        if size > MOST_CONTAINER_BYTES || claimed.cast_signed() < 0 {
            let what = format!("type {number} has {claimed} containers of {size} bytes");
            return Err(Malformed::new(at, what));
        }
        types.push(Containers {
            offset,
            size: size as usize,
            claimed,
        });
        offset += u64::from(size);
    }
    Ok((size.into(), types))
}

fn bytes<'a>(reader: &mut ByteReader<'a>) -> Result<&'a [u8], Malformed> {
    let length = reader.u32_le()?;
    reader.take(length as usize)
}

fn string(reader: &mut ByteReader<'_>, page: CodePage, out: &mut String) -> Result<(), Malformed> {
    page.decode_into(bytes(reader)?, out);
    Ok(())
}

fn add_name(
    kind: EntityKind,
    id: EntityId,
    reader: &mut ByteReader<'_>,
    page: CodePage,
    names: &mut NamesBuilder,
) -> Result<(), Malformed> {
    match kind {
        EntityKind::Player | EntityKind::Annotator => {
            let mut name = PlayerName::default();
            player(reader, page, &mut name)?;
            names.add(id, |out| name.append_to(out));
        }
        EntityKind::Tournament => {
            let mut event = Tournament::default();
            tournament(reader, page, &mut event)?;
            names.add_tournament(id, &event);
        }
        EntityKind::Source => {
            let mut title = String::new();
            string(reader, page, &mut title)?;
            names.add(id, |out| out.push_str(&title));
        }
        EntityKind::Team => {
            let mut club = Team::default();
            team(reader, page, &mut club)?;
            names.add_team(id, &club);
        }
    }
    Ok(())
}

fn read_any(of: Type, reader: &mut ByteReader<'_>, page: CodePage) -> Result<(), Malformed> {
    match of {
        Type::Player => player(reader, page, &mut PlayerName::default()).map(drop),
        Type::Tournament => tournament(reader, page, &mut Tournament::default()),
        Type::Source => source(reader, page, &mut Source::default()).map(drop),
        Type::Team => team(reader, page, &mut Team::default()),
        Type::Tag => titles(reader, page).map(drop),
    }
}

/// Returns whether the record of an entity has a name, not only a field for
/// one: a game without a player refers to one without a name.
pub(super) fn has_name(of: Type, reader: &mut ByteReader<'_>) -> Result<bool, Malformed> {
    match of {
        Type::Player | Type::Tournament | Type::Source => {
            let first = bytes(reader)?;
            Ok(!first.is_empty() || !bytes(reader)?.is_empty())
        }
        Type::Team => Ok(!bytes(reader)?.is_empty()),
        Type::Tag => Ok(reader.u32_le()? > 0),
    }
}

/// Reads a player. Returns the FIDE id, if there is one.
pub(super) fn player(
    reader: &mut ByteReader<'_>,
    page: CodePage,
    name: &mut PlayerName,
) -> Result<Option<u64>, Malformed> {
    string(reader, page, &mut name.last)?;
    string(reader, page, &mut name.first)?;
    if reader.rest().is_empty() {
        return Ok(None);
    }
    reader.skip(16)?;
    let fide = reader.u64_le()?;
    Ok(Some(fide).filter(|fide| *fide > 0 && fide.cast_signed() > 0))
}

/// Reads a tournament. Behind place and title:
///
/// | offset | bytes | meaning |
/// |---|---|---|
/// | 0 | 4 | first day |
/// | 4 | 1 | type in five bits, 0x20 blitz, 0x40 rapid, 0x80 correspondence |
/// | 5 | 1 | bit 0 teams |
/// | 6 | 1 | nation |
/// | 8 | 1 | category |
/// | 10 | 1 | rounds |
/// | 58 | 2 + 2 k | k rules of tie-breaks |
/// | 60 + 2 k | 4 | last day |
pub(super) fn tournament(
    reader: &mut ByteReader<'_>,
    page: CodePage,
    event: &mut Tournament,
) -> Result<(), Malformed> {
    string(reader, page, &mut event.place)?;
    string(reader, page, &mut event.title)?;
    event.start = date::decode(reader.u32_le()?);
    let [kind, team, nation, _, category, _, rounds] = reader.array()?;
    event.kind = event_kind(kind & 0x1f);
    event.speed = Speed {
        blitz: kind & 0x20 != 0,
        rapid: kind & 0x40 != 0,
        correspondence: kind & 0x80 != 0,
    };
    event.is_team_event = team & 1 != 0;
    event.nation = Nation(nation);
    event.category = category;
    event.rounds = rounds;
    if reader.rest().is_empty() {
        return Ok(());
    }
    reader.skip(58 - 11)?;
    let rules = reader.u16_le()?;
    reader.skip(2 * usize::from(rules))?;
    event.end = date::decode(reader.u32_le()?);
    Ok(())
}

/// Reads of a tournament what [`tournament`] leaves out. Behind place and
/// title:
///
/// | offset | bytes | meaning |
/// |---|---|---|
/// | 6 | 1 | nation then |
/// | 9 | 1 | bits 0, 1 all games are there, 2 board points, 3 three points for a win |
/// | 12 | 4 + 4 | latitude, longitude, f32 |
/// | 20 | 1 | nation of the place today |
/// | 58 | 2 | number of rules of tie-breaks |
pub(super) fn tournament_details(
    reader: &mut ByteReader<'_>,
    details: &mut TournamentDetails,
) -> Result<(), Malformed> {
    bytes(reader)?;
    bytes(reader)?;
    reader.skip(6)?;
    let [nation, _, _, flags, _, _] = reader.array()?;
    let place = [reader.array()?, reader.array()?].map(f32::from_le_bytes);
    let place = place.map(|degrees| if degrees.is_finite() { degrees } else { 0.0 });
    let [today] = reader.array()?;
    details.event = EventDetails {
        flags,
        place: place.map(f64::from),
    };
    details.has_other_nation = today != 0 && today != nation;
    reader.skip(58 - 21)?;
    details.has_tie_breaks = reader.u16_le()? > 0;
    Ok(())
}

/// What [`tournament_details`] reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TournamentDetails {
    pub(super) event: EventDetails,
    /// Whether the place is in another country today.
    pub(super) has_other_nation: bool,
    pub(super) has_tie_breaks: bool,
}

/// Reads a source. Returns the version, which may exceed that of a [`Source`].
pub(super) fn source(
    reader: &mut ByteReader<'_>,
    page: CodePage,
    source: &mut Source,
) -> Result<u16, Malformed> {
    string(reader, page, &mut source.title)?;
    string(reader, page, &mut source.publisher)?;
    source.published = date::decode(reader.u32_le()?);
    source.version_date = date::decode(reader.u32_le()?);
    let (version, quality) = (reader.u16_le()?, reader.u16_le()?);
    source.version = u8::try_from(version).unwrap_or(0);
    source.quality = u8::try_from(quality).unwrap_or(0);
    Ok(version)
}

/// Reads a team.
pub(super) fn team(
    reader: &mut ByteReader<'_>,
    page: CodePage,
    team: &mut Team,
) -> Result<(), Malformed> {
    team.is_given = true;
    string(reader, page, &mut team.title)?;
    let [number, season] = reader.array()?;
    team.number = number.into();
    team.is_season = season & 1 != 0;
    team.year = reader.u16_le()?.into();
    team.nation = Nation(reader.u8()?);
    Ok(())
}

/// Reads a label. Returns its titles, each with the nation of the language.
pub(super) fn titles(
    reader: &mut ByteReader<'_>,
    page: CodePage,
) -> Result<Vec<(u32, String)>, Malformed> {
    let count = reader.u32_le()?;
    if count > MOST_TITLES {
        return Err(Malformed::new(0, format!("a label in {count} languages")));
    }
    let mut titles = Vec::new();
    for _ in 0..count {
        let language = reader.u32_le()?;
        let mut title = String::new();
        string(reader, page, &mut title)?;
        titles.push((language, title));
    }
    Ok(titles)
}

/// Returns the language number of a nation, as in guiding texts of the older
/// format.
pub(super) fn language_of(nation: u32) -> u8 {
    const LANGUAGES: [u32; 7] = [42, 53, 49, 43, 70, 103, 117];
    let known = LANGUAGES.iter().position(|known| *known == nation);
    match (known.and_then(|number| u8::try_from(number).ok()), nation) {
        (Some(number), _) => number,
        (None, 0) => 7,
        // Smaller numbers are those of languages.
        (None, nation) => u8::try_from(nation).unwrap_or(u8::MAX).max(8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded<T>(hex: &str, read: impl Fn(&mut ByteReader<'_>) -> Result<T, Malformed>) -> T {
        let record = data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap();
        let mut reader = ByteReader::new(&record);
        let length = reader.u32_le().unwrap() as usize;
        assert_eq!(reader.rest().len(), length);
        read(&mut reader).unwrap()
    }

    // source: records of real bases, quoted in the notes of the descriptions.
    const PLAYER: &str = "2d000000080000004dc3a57264656c6c050000004a696d6d790000000000000000ffffffff08000000ffffffffffffffff";
    const SOURCE: &str =
        "25000000080000004d61696e4261736509000000436865737342617365e19e0f00e19e0f0002000100";
    const TAG: &str = "33000000020000002a00000011000000546f75726e616d656e74205265706f7274350000000e0000005475726e69657262657269636874";
    const TOURNAMENT: &str = "9e00000006000000486176616e6124000000576f726c642d6368303220537465696e69747a2d436869676f72696e202b31302d363d3134c20e0002002200000311008e29b941c3dba4c20000000000000000000000000000070000000000000000000007000000000000000000000700000058c20e000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";

    #[test]
    fn entities_of_real_bases_are_read() {
        let page = CodePage::WESTERN;
        let mut name = PlayerName::default();
        let fide = decoded(PLAYER, |reader| player(reader, page, &mut name.clone()));
        decoded(PLAYER, |reader| {
            player(reader, page, &mut PlayerName::default())
        });
        let record = data_encoding::HEXLOWER.decode(PLAYER.as_bytes()).unwrap();
        player(&mut ByteReader::new(&record[4..]), page, &mut name).unwrap();
        assert_eq!((name.joined().as_str(), fide), ("Mårdell, Jimmy", None));
        let source_of = |reader: &mut ByteReader<'_>| {
            let mut value = Source::default();
            source(reader, page, &mut value).map(|version| (value, version))
        };
        let (value, version) = decoded(SOURCE, source_of);
        assert_eq!(
            (value.title.as_str(), version, value.quality),
            ("MainBase", 2, 1)
        );
        assert_eq!(value.published.to_string(), "1999.07.01");
        let event = decoded(TOURNAMENT, |reader| {
            let mut value = Tournament::default();
            tournament(reader, page, &mut value).map(|()| value)
        });
        assert_eq!(event.place, "Havana");
        assert_eq!(event.title, "World-ch02 Steinitz-Chigorin +10-6=1");
        assert_eq!(
            (event.start.to_string(), event.end.to_string()),
            ("1889.01.20".to_owned(), "1889.02.24".to_owned())
        );
        assert_eq!(
            (event.rounds, event.nation, event.kind),
            (17, Nation(34), event_kind(2))
        );
        let titles = decoded(TAG, |reader| titles(reader, page));
        let expected = [
            (42, "Tournament Report".to_owned()),
            (53, "Turnierbericht".to_owned()),
        ];
        assert_eq!(titles, expected);
    }

    #[test]
    fn languages_are_told_from_nations() {
        let all = [42, 53, 49, 43, 70, 103, 117, 0, 3, 300].map(language_of);
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7, 8, 255]);
    }

    #[test]
    fn headers_that_claim_the_impossible_are_none() {
        let file = |size: u32, count: u32, container: u32, entities: u64| {
            let mut bytes = size.to_be_bytes().to_vec();
            bytes.extend(count.to_be_bytes());
            for _ in 0..count.min(40) {
                bytes.extend(container.to_be_bytes());
                bytes.extend(entities.to_be_bytes());
                bytes.extend([0xff; 8]);
            }
            bytes.resize(bytes.len().max(900), 0);
            header(&bytes).is_ok()
        };
        assert!(file(184, 6, 1024, 5));
        assert!(!file(100, 6, 1024, 5), "too short for its types");
        assert!(!file(184, 0, 1024, 5) && !file(800, 33, 1024, 5));
        assert!(!file(u32::MAX, 6, 1024, 5) && !file(184, u32::MAX, 1024, 5));
        assert!(!file(184, 6, u32::MAX, 5) && !file(184, 6, 1024, u64::MAX));
        assert!(!header(&[0; 5]).is_ok_and(|_| true));
    }

    #[test]
    fn a_file_that_claims_more_than_it_has_costs_no_more() {
        let mut bytes = 184_u32.to_be_bytes().to_vec();
        bytes.extend(6_u32.to_be_bytes());
        for size in [1024_u32, 1120, 220, 0, 314, 532] {
            bytes.extend(size.to_be_bytes());
            bytes.extend((1_u64 << 62).to_be_bytes());
            bytes.extend([0xff; 8]);
        }
        bytes.resize(184, 0);
        let player = data_encoding::HEXLOWER.decode(PLAYER.as_bytes()).unwrap();
        bytes.extend(&player);
        let storage = Box::new(crate::storage::MemoryFile::from(bytes));
        let entities = Entities::open(storage).unwrap().unwrap();
        assert_eq!(entities.count(Type::Player).unwrap(), 1);
        assert_eq!(entities.count(Type::Tournament).unwrap(), 0);
        let names = entities
            .names(EntityKind::Player, CodePage::WESTERN)
            .unwrap();
        assert_eq!(names.get(EntityId(0)), Some("Mårdell, Jimmy"));
        assert_eq!(names.iter().count(), 1);
    }
}
