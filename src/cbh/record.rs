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

use std::time::SystemTime;

use super::date;
use crate::bytes::{ByteReader, Malformed};
use crate::game::{Date, Eco, GameResult};

/// Size of the header and of each record.
pub(crate) const RECORD_BYTES: usize = 46;

/// Number of a game or text in its base, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GameId(pub u32);

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A game.
    Game,
    /// A guiding text.
    Text,
}

/// What a listing needs to know of a record.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its number.
    pub id: GameId,
    /// Game or text.
    pub kind: RecordKind,
    /// Whether it carries the deleted flag.
    pub is_deleted: bool,
    /// When it was last saved, or else made, if the base tells.
    pub modified: Option<SystemTime>,
}

/// The `.cbh` header as far as reading needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileHeader {
    /// 1 in nearly all bases.
    pub(crate) version: u8,
    /// Number of records + 1.
    pub(crate) next_id: u32,
}

impl FileHeader {
    /// Reads the 46 bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<FileHeader, Malformed> {
        let mut reader = ByteReader::new(bytes);
        reader.skip(3)?;
        let record_bytes = reader.u16_be()?;
        if usize::from(record_bytes) != RECORD_BYTES {
            return Err(Malformed::new(
                3,
                format!("record size is {record_bytes}, not 46: no .cbh file"),
            ));
        }
        Ok(FileHeader {
            version: reader.u8()?,
            next_id: reader.u32_be()?,
        })
    }
}

/// Kind and deleted flag of a record; `None` if it is not in use.
pub(crate) fn decode_kind(bytes: &[u8]) -> Option<(RecordKind, bool)> {
    let first = *bytes.first()?;
    let kind = match first & 0b11 {
        0b01 => RecordKind::Game,
        0b11 => RecordKind::Text,
        _ => return None,
    };
    Some((kind, first & 0x80 != 0))
}

/// A game's record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GameRecord {
    pub(crate) moves_offset: u32,
    pub(crate) annotations_offset: u32,
    pub(crate) white: u32,
    pub(crate) black: u32,
    pub(crate) tournament: u32,
    pub(crate) annotator: u32,
    pub(crate) source: u32,
    pub(crate) date: Date,
    pub(crate) result: u8,
    pub(crate) line_evaluation: u8,
    pub(crate) round: u8,
    pub(crate) subround: u8,
    pub(crate) white_elo: u16,
    pub(crate) black_elo: u16,
    pub(crate) opening: u16,
    pub(crate) medals: u16,
    pub(crate) move_count: u8,
}

impl GameRecord {
    /// Reads the 46 bytes of a game.
    pub(crate) fn decode(bytes: &[u8]) -> Result<GameRecord, Malformed> {
        let mut reader = ByteReader::new(bytes);
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
            move_count: {
                reader.skip(6)?;
                reader.u8()?
            },
        };
        Ok(record)
    }

    /// The result; `None` for numbers that stand for none.
    pub(crate) fn result(&self) -> Option<GameResult> {
        result_of(self.result)
    }

    /// The opening code. In Chess960 games the field holds the number of the
    /// start position instead, which lies beyond all codes.
    pub(crate) fn eco(&self) -> Option<Eco> {
        eco_of(self.opening)
    }
}

/// A guiding text's record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRecord {
    pub(crate) offset: u32,
    pub(crate) tournament: u32,
    pub(crate) source: u32,
    pub(crate) annotator: u32,
    pub(crate) round: u8,
    pub(crate) subround: u8,
}

impl TextRecord {
    /// Reads the 46 bytes of a text.
    pub(crate) fn decode(bytes: &[u8]) -> Result<TextRecord, Malformed> {
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
        })
    }
}

/// The result of this number.
pub(super) fn result_of(number: u8) -> Option<GameResult> {
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

/// The opening code of a stored word: index + 1 in the high nine bits, the
/// sub-code in the low seven.
pub(super) fn eco_of(word: u16) -> Option<Eco> {
    let index = (word >> 7).checked_sub(1)?;
    Eco::new(index, (word & 0x7f) as u8).or_else(|| Eco::new(index, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first game of a base of 2016: Vachier-Lagrave – Svidler, Biel.
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
    }

    #[test]
    fn unused_records_have_no_kind() {
        assert_eq!(decode_kind(&[0; RECORD_BYTES]), None);
        assert_eq!(decode_kind(&[]), None);
        assert_eq!(decode_kind(&[0x83]), Some((RecordKind::Text, true)));
    }
}
