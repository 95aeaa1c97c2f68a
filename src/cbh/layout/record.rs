//! `.cbh`: a header of 46 bytes, then a record of 46 bytes per game or text.
//! Big-endian throughout.
//!
//! Header:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 1 | 2 | bytes of the header in use: 44, 36 in old bases |
//! | 3 | 2 | record size, 46 |
//! | 5 | 1 | version |
//! | 6 | 4 | next game id: number of records + 1 |
//!
//! Record of a game (record *n* lies at `46 * n`):
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 1 | bit 0 used, bit 1 text, bit 7 deleted |
//! | 1 | 4 | offset of the moves in `.cbg` |
//! | 5 | 4 | offset of the annotations in `.cba`, 0 none |
//! | 9 | 3+3 | white player, black player |
//! | 15 | 3 | tournament |
//! | 18 | 3 | annotator |
//! | 21 | 3 | source |
//! | 24 | 3 | date |
//! | 27 | 1+1 | result, evaluation of a line |
//! | 29 | 1+1 | round, subround |
//! | 31 | 2+2 | white rating, black rating |
//! | 35 | 2 | opening code, or number of the Chess960 start |
//! | 37 | 2 | medals |
//! | 39 | 4 | which annotations there are |
//! | 43 | 2 | how many of them |
//! | 45 | 1 | number of moves of the main line |
//!
//! Record of a guiding text:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 1 | as for games |
//! | 1 | 4 | offset of the text in `.cbg` |
//! | 7 | 3 | tournament |
//! | 10 | 3 | source |
//! | 13 | 3 | annotator: the author |
//! | 16 | 1+1 | round, subround |
//! | 18 | 4 | which media it uses |
//!
//! Other bytes are kept as they are.

use std::ops::Range;

use crate::bytes::{BytePatch, ByteReader, Malformed};
use crate::cbh::layout::date;
use crate::cbh::moves::start_number;
use crate::game::{Board, Date, Eco, GameResult};

/// Length of the header, and of each record, in bytes.
pub const RECORD_BYTES: usize = 46;

/// Where a game has its date, result, round and ratings.
pub(in crate::cbh) const CIRCUMSTANCES: Range<usize> = 24..35;

/// Maximum number of records: other files store a game number in three bytes.
pub(in crate::cbh) const MOST_GAMES: u32 = (1 << 24) - 1;

/// Number of a game or text in its base, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GameId(pub u32);

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A game.
    Game,
    /// A guiding text.
    Text,
}

/// A used record: its number, its kind and its deleted flag.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its number.
    pub id: GameId,
    /// Game or text.
    pub kind: RecordKind,
    /// Whether the deleted flag is set.
    pub is_deleted: bool,
}

/// The fields of the `.cbh` header that are used.
#[derive(Clone, Copy, Debug)]
pub struct FileHeader {
    /// 1 in nearly all bases.
    pub version: u8,
    /// Number of records + 1.
    pub next_id: u32,
}

/// Number of header bytes used in old bases, which store the next id only once.
const OLD_HEADER_BYTES: u16 = 36;

impl FileHeader {
    /// Decodes the 46 bytes.
    pub fn decode(bytes: &[u8]) -> Result<FileHeader, Malformed> {
        let mut reader = ByteReader::new(bytes);
        reader.skip(3)?;
        let record_bytes = reader.u16_be()?;
        if usize::from(record_bytes) != RECORD_BYTES {
            return Err(Malformed::new(
                3,
                format!("record size is {record_bytes}, not 46: not a .cbh file"),
            ));
        }
        Ok(FileHeader {
            version: reader.u8()?,
            next_id: reader.u32_be()?,
        })
    }

    /// Writes the next id into the header of a file, at both places where the
    /// file has both. Other bytes stay.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if `header` is shorter than 46 bytes.
    pub fn encode(&self, header: &mut [u8]) -> Result<(), Malformed> {
        let mut reader = ByteReader::new(header);
        reader.skip(1)?;
        let is_old = reader.u16_be()? == OLD_HEADER_BYTES;
        let mut patch = BytePatch::new(header);
        patch.skip(6)?;
        patch.put(self.next_id.to_be_bytes())?;
        patch.skip(30)?;
        let again = patch.array()?;
        if !is_old {
            *again = self.next_id.to_be_bytes();
        }
        patch.skip(2)
    }
}

/// The kind and the deleted flag of a record; `None` if the record is unused.
pub fn decode_kind(bytes: &[u8]) -> Option<(RecordKind, bool)> {
    let first = *bytes.first()?;
    let kind = match first & 0b11 {
        0b01 => RecordKind::Game,
        0b11 => RecordKind::Text,
        _ => return None,
    };
    Some((kind, first & 0x80 != 0))
}

/// Mask of the deleted flag in the first byte of a record.
const DELETED: u8 = 0x80;

/// Returns the first byte of a record with the deleted flag set or cleared.
/// Other bits stay.
pub fn with_deleted_flag(first: u8, is_deleted: bool) -> u8 {
    if is_deleted {
        first | DELETED
    } else {
        first & !DELETED
    }
}

/// The initial record of a new game.
pub const NEW_GAME: [u8; RECORD_BYTES] = new_record(0b01);

/// The initial record of a new guiding text.
pub const NEW_TEXT: [u8; RECORD_BYTES] = new_record(0b11);

const fn new_record(kind: u8) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    let [first, ..] = &mut record;
    *first = kind;
    record
}

/// The record of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameRecord {
    /// Offset of the moves in `.cbg`; its low 32 bits if the file is larger.
    pub moves_offset: u32,
    /// Offset of the annotations in `.cba`, 0 for none.
    pub annotations_offset: u32,
    /// White's id.
    pub white: u32,
    /// Black's id.
    pub black: u32,
    /// The tournament's id.
    pub tournament: u32,
    /// The annotator's id.
    pub annotator: u32,
    /// The source's id.
    pub source: u32,
    /// Date of the game.
    pub date: Date,
    /// The result, see [`result_of`].
    pub result: u8,
    /// A NAG that evaluates the line.
    pub line_evaluation: u8,
    /// Round, 0 if not given.
    pub round: u8,
    /// Game within the round.
    pub subround: u8,
    /// White's rating.
    pub white_elo: u16,
    /// Black's rating.
    pub black_elo: u16,
    /// The opening code, see [`eco_of`] and [`chess960_word`].
    pub opening: u16,
    /// Medals, one bit each.
    pub medals: u16,
    /// Kinds of annotations in the game, one bit each.
    pub flags: u32,
    /// Number of annotations of each kind, in classes.
    pub magnitudes: u16,
    /// Number of moves in the main line; 255 means 255 or more.
    pub move_count: u8,
}

impl GameRecord {
    /// Decodes the 46 bytes of a game.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<GameRecord, Malformed> {
        // With a length known to the compiler, reading the fields needs no length
        // checks.
        let bytes: [u8; RECORD_BYTES] = ByteReader::new(bytes).array()?;
        let mut reader = ByteReader::new(&bytes);
        reader.skip(1)?;
        let record = GameRecord {
            moves_offset: reader.u32_be()?,
            annotations_offset: reader.u32_be()?,
            white: reader.u24_be()?,
            black: reader.u24_be()?,
            tournament: reader.u24_be()?,
            annotator: reader.u24_be()?,
            source: reader.u24_be()?,
            date: date::decode(reader.u24_be()?),
            result: reader.u8()?,
            line_evaluation: reader.u8()?,
            round: reader.u8()?,
            subround: reader.u8()?,
            white_elo: reader.u16_be()?,
            black_elo: reader.u16_be()?,
            opening: reader.u16_be()?,
            medals: reader.u16_be()?,
            flags: reader.u32_be()?,
            magnitudes: reader.u16_be()?,
            move_count: reader.u8()?,
        };
        Ok(record)
    }

    /// Writes the fields into a record; start from [`NEW_GAME`] for a new one.
    /// The kind and all other bytes stay.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if `record` is shorter than 46 bytes, an id has more
    /// than 24 bits, or the date cannot be stored.
    pub fn encode(&self, record: &mut [u8]) -> Result<(), Malformed> {
        let mut patch = BytePatch::new(record);
        patch.skip(1)?;
        patch.put(self.moves_offset.to_be_bytes())?;
        patch.put(self.annotations_offset.to_be_bytes())?;
        for id in [
            self.white,
            self.black,
            self.tournament,
            self.annotator,
            self.source,
        ] {
            patch.u24_be(id)?;
        }
        let day = patch.array::<3>()?;
        let old = ByteReader::new(day).u24_be()?;
        BytePatch::new(day).u24_be(date::encode(self.date, old)?)?;
        patch.put([self.result, self.line_evaluation, self.round, self.subround])?;
        for word in [self.white_elo, self.black_elo, self.opening, self.medals] {
            patch.put(word.to_be_bytes())?;
        }
        patch.put(self.flags.to_be_bytes())?;
        patch.put(self.magnitudes.to_be_bytes())?;
        patch.put([self.move_count])
    }

    /// Sets the opening code. A stored word with the same meaning stays.
    pub fn set_eco(&mut self, eco: Option<Eco>) {
        if self.eco() != eco {
            self.opening = eco_word(eco);
        }
    }

    /// The result; `None` if the number is unknown.
    pub fn result(&self) -> Option<GameResult> {
        result_of(self.result)
    }

    /// The opening code. In Chess960 games the field contains the number of the
    /// start position instead, which is larger than any code.
    pub fn eco(&self) -> Option<Eco> {
        eco_of(self.opening)
    }
}

/// The record of a guiding text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRecord {
    /// Offset of the text in `.cbg`.
    pub offset: u32,
    /// The tournament's id.
    pub tournament: u32,
    /// The source's id.
    pub source: u32,
    /// The annotator's id.
    pub annotator: u32,
    /// Round, 0 if not given.
    pub round: u8,
    /// Game within the round.
    pub subround: u8,
    /// Kinds of media in the text, one bit each.
    pub flags: u32,
}

/// The ids of White, Black, tournament, annotator and source in the record of a game,
/// as [`GameRecord::decode`] reads them beside the rest; `None` if it is too short.
#[inline]
pub fn entities_of_game(bytes: &[u8]) -> Option<[u32; 5]> {
    let (ids, _) = bytes.get(9..24)?.as_chunks::<3>();
    let ids: [[u8; 3]; 5] = ids.try_into().ok()?;
    Some(ids.map(|[high, middle, low]| u32::from_be_bytes([0, high, middle, low])))
}

impl TextRecord {
    /// Decodes the 46 bytes of a text.
    pub fn decode(bytes: &[u8]) -> Result<TextRecord, Malformed> {
        let mut reader = ByteReader::new(bytes);
        reader.skip(1)?;
        let offset = reader.u32_be()?;
        reader.skip(2)?;
        Ok(TextRecord {
            offset,
            tournament: reader.u24_be()?,
            source: reader.u24_be()?,
            annotator: reader.u24_be()?,
            round: reader.u8()?,
            subround: reader.u8()?,
            flags: reader.u32_be()?,
        })
    }

    /// Writes the fields into a record; start from [`NEW_TEXT`] for a new one.
    /// The kind and all other bytes stay.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if `record` is too short or an id has more than 24 bits.
    pub fn encode(&self, record: &mut [u8]) -> Result<(), Malformed> {
        let mut patch = BytePatch::new(record);
        patch.skip(1)?;
        patch.put(self.offset.to_be_bytes())?;
        patch.skip(2)?;
        patch.u24_be(self.tournament)?;
        patch.u24_be(self.source)?;
        patch.u24_be(self.annotator)?;
        patch.put([self.round, self.subround])?;
        patch.put(self.flags.to_be_bytes())
    }
}

/// The result with this number.
pub fn result_of(number: u8) -> Option<GameResult> {
    Some(match number {
        0 => GameResult::BlackWon,
        1 => GameResult::Draw,
        2 => GameResult::WhiteWon,
        3 => GameResult::Line,
        4 => GameResult::BlackWonByForfeit,
        5 => GameResult::DrawByForfeit,
        6 => GameResult::WhiteWonByForfeit,
        7 => GameResult::BothLost,
        _ => return None,
    })
}

/// The number of a result.
pub fn number_of(result: GameResult) -> u8 {
    match result {
        GameResult::BlackWon => 0,
        GameResult::Draw => 1,
        GameResult::WhiteWon => 2,
        GameResult::Line => 3,
        GameResult::BlackWonByForfeit => 4,
        GameResult::DrawByForfeit => 5,
        GameResult::WhiteWonByForfeit => 6,
        GameResult::BothLost => 7,
    }
}

/// The stored word of an opening code, 0 for none.
pub fn eco_word(eco: Option<Eco>) -> u16 {
    eco.map_or(0, |eco| (eco.index() + 1) << 7 | u16::from(eco.sub_code()))
}

/// The stored word, in place of an opening code, of Chess960 start position 0.
pub(in crate::cbh) const CHESS960_WORDS: u16 = 64_576;

/// The stored word of a Chess960 start position, in place of an opening code.
/// It is larger than any opening code.
pub fn chess960_word(start: &Board) -> u16 {
    CHESS960_WORDS + start_number(start)
}

/// The opening code of a stored word: index + 1 in the high nine bits, the
/// sub-code in the low seven.
pub fn eco_of(word: u16) -> Option<Eco> {
    let index = (word >> 7).checked_sub(1)?;
    Eco::new(index, (word & 0x7f) as u8).or_else(|| Eco::new(index, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first game of a base from 2016: Vachier-Lagrave – Svidler, Biel.
    const RECORD: [u8; RECORD_BYTES] = [
        0x01, 0x00, 0x00, 0x00, 0x1a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x0f, 0xc0, 0xfa, 0x02, 0x00, 0x02,
        0x00, 0x0a, 0xee, 0x0a, 0xc7, 0x91, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x2f,
    ];

    #[test]
    fn a_record_has_its_fields_in_place() {
        assert_eq!(decode_kind(&RECORD), Some((RecordKind::Game, false)));
        let record = GameRecord::decode(&RECORD).unwrap();
        assert_eq!(record.moves_offset, 26);
        assert_eq!((record.white, record.black, record.source), (0, 1, 1));
        let bytes = std::array::from_fn::<u8, RECORD_BYTES, _>(|at| u8::try_from(3 * at).unwrap());
        let GameRecord {
            white,
            black,
            tournament,
            annotator,
            source,
            ..
        } = GameRecord::decode(&bytes).unwrap();
        let ids = [white, black, tournament, annotator, source];
        assert_eq!(entities_of_game(&bytes), Some(ids));
        assert_eq!(entities_of_game(&bytes[..23]), None);
        assert_eq!(record.date.to_string(), "2016.07.26");
        assert_eq!(record.result(), Some(GameResult::WhiteWon));
        assert_eq!((record.round, record.subround), (2, 0));
        assert_eq!((record.white_elo, record.black_elo), (2798, 2759));
        assert_eq!(record.eco().unwrap().to_string(), "C89");
        assert_eq!(record.move_count, 47);
    }

    #[test]
    fn a_record_of_a_text_has_the_source_before_the_annotator() {
        let mut bytes = [0; RECORD_BYTES];
        let fields = [
            0x03, 0, 0, 0x0d, 0xf1, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 4, 5,
        ];
        bytes[..fields.len()].copy_from_slice(&fields);
        let record = TextRecord::decode(&bytes).unwrap();
        assert_eq!(record.offset, 0xdf1);
        let ids = (record.tournament, record.source, record.annotator);
        assert_eq!(ids, (1, 2, 3));
        assert_eq!((record.round, record.subround), (4, 5));
        let mut again = bytes;
        record.encode(&mut again).unwrap();
        assert_eq!(again, bytes);
        let mut new = NEW_TEXT;
        record.encode(&mut new).unwrap();
        assert_eq!(new, bytes);
    }

    #[test]
    fn bytes_outside_of_the_fields_stay() {
        let mut bytes = RECORD;
        bytes[0] = 0x99;
        bytes[24] |= 0xe0;
        let stored = bytes;
        let mut record = GameRecord::decode(&bytes).unwrap();
        record.encode(&mut bytes).unwrap();
        assert_eq!(bytes, stored);
        record.date.day = 27;
        record.white = 0x0012_3456;
        record.flags = 0x0800_0006;
        record.encode(&mut bytes).unwrap();
        assert_eq!(GameRecord::decode(&bytes).unwrap(), record);
        assert_eq!((bytes[0], bytes[24] & 0xe0), (0x99, 0xe0));
        record.white = 1 << 24;
        assert!(record.encode(&mut bytes).is_err());
        let mut new = NEW_GAME;
        GameRecord::decode(&RECORD)
            .unwrap()
            .encode(&mut new)
            .unwrap();
        assert_eq!(new, RECORD);
    }

    #[test]
    fn the_number_of_games_is_stored_twice_except_in_old_headers() {
        for (used, again) in [(44_u8, 7_u32), (36, 0)] {
            let mut header = [0; RECORD_BYTES];
            header[..10].copy_from_slice(&[0, 0, used, 0, 46, 1, 0, 0, 0, 1]);
            header[16] = 9;
            let next = FileHeader {
                next_id: 7,
                ..FileHeader::decode(&header).unwrap()
            };
            let mut wanted = header;
            wanted[9] = 7;
            wanted[40..44].copy_from_slice(&again.to_be_bytes());
            next.encode(&mut header).unwrap();
            assert_eq!(header, wanted);
        }
    }

    #[test]
    fn results_and_openings_are_encoded_as_they_were_decoded() {
        for number in 0..8 {
            assert_eq!(number_of(result_of(number).unwrap()), number);
        }
        let mut record = GameRecord::decode(&RECORD).unwrap();
        let code = record.eco();
        assert_eq!(eco_word(code), 0x9100);
        // An invalid sub-code is read as 0, and kept.
        record.opening = 0x9165;
        record.set_eco(code);
        assert_eq!(record.opening, 0x9165);
        record.set_eco(None);
        assert_eq!(record.opening, 0);
        let usual = Board::from(shakmaty::Board::new());
        assert_eq!(chess960_word(&usual), 64_576 + 518);
        assert_eq!(eco_of(chess960_word(&usual)), None);
    }

    #[test]
    fn the_deleted_flag_is_one_bit() {
        assert_eq!(with_deleted_flag(0x03, true), 0x83);
        assert_eq!(with_deleted_flag(0x83, false), 0x03);
        assert_eq!(with_deleted_flag(0x41, false), 0x41);
    }

    #[test]
    fn unused_records_have_no_kind() {
        assert_eq!(decode_kind(&[0; RECORD_BYTES]), None);
        assert_eq!(decode_kind(&[]), None);
        assert_eq!(decode_kind(&[0x83]), Some((RecordKind::Text, true)));
    }
}
