//! `.2cbh`: a header of 192 bytes, then a record of 192 bytes per game, text
//! or analysis. Record *n* lies at `192 * n`; there are no holes.
//!
//! Header:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 8 | 2 | 38 in bases of version 5, 34 in those of version 3 |
//! | 10 | 2 | record size, 192 |
//! | 13 | 1 | version: 5 or 3 |
//! | 16 | 4 | next number: records + 1 |
//!
//! Every record:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 1 | bit 0 always, bit 1 text, bit 7 deleted |
//! | 2 | 1 | 1 game or text, 2 analysis |
//! | 3 | 1 | the first byte without bit 7 |
//! | 8 | 8 | place of the moves, or of the text, in `.2cbg` |
//!
//! Game, numbers of entities and places i64:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 16 | 8 | place of the annotations in `.2cba` |
//! | 24 | 8 × 2 | players |
//! | 40 | 8 × 3 | tournament, annotator (a player), source |
//! | 64 | 8 × 2 | teams, −1 none |
//! | 80 | 8 | label |
//! | 88 | 1 + 1 | result, evaluation of a line |
//! | 90 | 2 × 3 | round, subround, board |
//! | 96 | 2 + 14 | White's rating, its type |
//! | 112 | 2 + 14 | Black's |
//! | 128 | 2 + 2 | opening code or number of the Chess960 start, medals |
//! | 132 | 4 + 2 | which annotations there are, how many |
//! | 138 | 2 | moves of the main line |
//! | 152 | 8 + 8 | stamps of making and of saving |
//! | 184 | 4 | how often it was saved |
//! | 188 | 4 | date |
//!
//! Text: 16 tournament, 24 source, 32 annotator, 40 title (a label), 48 stamp
//! of making, 64 how often it was saved.
//!
//! Analysis: 16 place of the annotations, 24 title (a label), 32 source, 40
//! annotator. It is a game without players.

use std::time::SystemTime;

use crate::bytes::{ByteReader, Malformed};
use crate::cbh::record::{Entry, GameId, RecordKind, eco_of, result_of};
use crate::cbh::{CopiedMetadata, EntityId, Summary, date, extended};
use crate::game::{Date, RatingType};

/// Length of the header and of each record.
pub(super) const RECORD_BYTES: usize = 192;

/// The id for "none", and for ids beyond all records.
pub(super) const NONE: EntityId = EntityId(u32::MAX);

/// The `.2cbh` header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cbh2Header {
    /// A number that distinguishes versions besides the version.
    pub(super) used: u16,
    /// 5 or 3.
    pub(super) version: u8,
    /// Number of records + 1.
    pub(super) next_id: u32,
}

impl Cbh2Header {
    /// Reads the 192 bytes.
    pub(super) fn decode(bytes: &[u8]) -> Result<Cbh2Header, Malformed> {
        let mut reader = ByteReader::new(bytes);
        reader.skip(8)?;
        let used = reader.u16_le()?;
        let size = reader.u16_le()?;
        if usize::from(size) != RECORD_BYTES {
            let what = format!("record size is {size}, not {RECORD_BYTES}: no .2cbh file");
            return Err(Malformed::new(10, what));
        }
        reader.skip(1)?;
        let version = reader.u8()?;
        reader.skip(2)?;
        Ok(Cbh2Header {
            used,
            version,
            next_id: reader.u32_le()?,
        })
    }

    /// Returns whether the descriptions cover this version.
    pub(super) fn is_known(self) -> bool {
        matches!((self.used, self.version), (38, 5) | (34, 3))
    }
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordType {
    Game,
    Text,
    Analysis,
}

impl RecordType {
    /// The kind for display: an analysis is a game without players.
    pub(super) fn shown(self) -> RecordKind {
        match self {
            RecordType::Text => RecordKind::Text,
            RecordType::Game | RecordType::Analysis => RecordKind::Game,
        }
    }
}

/// A record of any kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cbh2Record<'a> {
    pub(super) id: GameId,
    bytes: &'a [u8],
}

/// The entities that a record refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct References {
    pub(super) white: EntityId,
    pub(super) black: EntityId,
    pub(super) tournament: EntityId,
    pub(super) annotator: EntityId,
    pub(super) source: EntityId,
    pub(super) white_team: EntityId,
    pub(super) black_team: EntityId,
    /// The label, or the title.
    pub(super) tag: EntityId,
}

impl<'a> Cbh2Record<'a> {
    /// The record of these 192 bytes.
    pub(super) fn new(id: GameId, bytes: &'a [u8]) -> Cbh2Record<'a> {
        Cbh2Record { id, bytes }
    }

    fn field<const N: usize>(&self, offset: usize) -> [u8; N] {
        let field = self.bytes.get(offset..).and_then(<[u8]>::first_chunk);
        field.copied().unwrap_or([0; N])
    }

    fn byte(&self, offset: usize) -> u8 {
        let [byte] = self.field(offset);
        byte
    }

    fn word(&self, offset: usize) -> u16 {
        u16::from_le_bytes(self.field(offset))
    }

    /// Reads a number that is not negative.
    fn count(&self, offset: usize) -> u16 {
        let number = i16::from_le_bytes(self.field(offset));
        u16::try_from(number).unwrap_or(0)
    }

    fn place(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.field(offset))
    }

    fn entity(&self, offset: usize) -> EntityId {
        u32::try_from(self.place(offset)).map_or(NONE, EntityId)
    }

    /// Returns the kind; `None` if it is unknown.
    pub(super) fn kind(&self) -> Option<RecordType> {
        match (self.byte(2), self.byte(0) & 2 != 0) {
            (1, false) => Some(RecordType::Game),
            (1, true) => Some(RecordType::Text),
            (2, _) => Some(RecordType::Analysis),
            _ => None,
        }
    }

    /// Returns whether its first bytes are as in all known records.
    pub(super) fn has_usual_marks(&self) -> bool {
        self.byte(0) & 1 != 0 && self.byte(3) == self.byte(0) & 0x7f
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.byte(0) & 0x80 != 0
    }

    /// Returns the entry for a listing; `None` if the kind is unknown.
    pub(super) fn entry(&self) -> Option<Entry> {
        let kind = self.kind()?;
        Some(Entry {
            id: self.id,
            kind: kind.shown(),
            is_deleted: self.is_deleted(),
        })
    }

    /// Time of the last save, or else of the creation.
    pub(super) fn modified(&self) -> Option<SystemTime> {
        let (saved, created) = match self.kind()? {
            RecordType::Game => (self.place(160), self.place(152)),
            RecordType::Text => (0, self.place(48)),
            RecordType::Analysis => (0, 0),
        };
        // The unit is 2^-22 s, or 2^-10 s in converted bases.
        let ticks = if created < 1 << 40 {
            created
        } else {
            created >> 12
        };
        extended::saved_or_made(saved, ticks)
    }

    /// Returns what a copy in the older format takes over besides the content,
    /// but for the tournament.
    pub(super) fn past(&self, kind: RecordType) -> CopiedMetadata {
        let (saved, created, saves) = match kind {
            RecordType::Game => {
                let saves = u32::from_le_bytes(self.field(184));
                (self.place(160), self.place(152), u64::from(saves))
            }
            RecordType::Text => (0, self.place(48), self.place(64)),
            RecordType::Analysis => (0, 0, 1),
        };
        CopiedMetadata {
            is_deleted: self.is_deleted(),
            // `.cbj` takes numbers from 2^48 on for those of the finer unit.
            created: if (1 << 40..1 << 48).contains(&created) {
                created >> 12
            } else {
                created
            },
            saved,
            saves: u16::try_from(saves).unwrap_or(u16::MAX).max(1),
            ..CopiedMetadata::default()
        }
    }

    /// Returns whether a rating is of a type that the older format lacks.
    pub(super) fn has_newer_rating(&self) -> bool {
        [98, 114].into_iter().any(|offset| {
            let [kind] = self.field(offset);
            kind & 7 > 2 || matches!(kind >> 3, 1 | 5..)
        })
    }

    /// Offset in `.2cbg` of the moves or the text.
    pub(super) fn moves(&self) -> u64 {
        self.place(8)
    }

    /// Offset in `.2cba` of the annotations; not for texts.
    pub(super) fn annotations(&self) -> u64 {
        self.place(16)
    }

    /// The number of the result, of a game.
    pub(super) fn result(&self) -> u8 {
        self.byte(88)
    }

    /// Number of the board in the round, 0 if not given.
    pub(super) fn board(&self) -> u16 {
        self.count(94)
    }

    /// Types of White's and Black's ratings, as stored.
    pub(super) fn rating_types(&self) -> [RatingType; 2] {
        [98, 114].map(|offset| rating_type(&self.field(offset)))
    }

    /// The referenced entities, [`NONE`] where the record has no field for one.
    pub(super) fn references(&self, kind: RecordType) -> References {
        let none = References {
            white: NONE,
            black: NONE,
            tournament: NONE,
            annotator: NONE,
            source: NONE,
            white_team: NONE,
            black_team: NONE,
            tag: NONE,
        };
        match kind {
            RecordType::Game => References {
                white: self.entity(24),
                black: self.entity(32),
                tournament: self.entity(40),
                annotator: self.entity(48),
                source: self.entity(56),
                white_team: self.entity(64),
                black_team: self.entity(72),
                tag: self.entity(80),
            },
            RecordType::Text => References {
                tournament: self.entity(16),
                source: self.entity(24),
                annotator: self.entity(32),
                tag: self.entity(40),
                ..none
            },
            RecordType::Analysis => References {
                tag: self.entity(24),
                source: self.entity(32),
                annotator: self.entity(40),
                ..none
            },
        }
    }

    /// Returns the summary of a game; `None` if it is none.
    pub(super) fn summary(&self) -> Option<Summary> {
        let kind = self.kind().filter(|kind| *kind != RecordType::Text)?;
        let of = self.references(kind);
        let team = |id| Some(id).filter(|id| *id != NONE);
        let is_game = kind == RecordType::Game;
        // An analysis has other fields there.
        let number = |number: u16| if is_game { number } else { 0 };
        let date = u32::from_le_bytes(self.field(188));
        Some(Summary {
            id: self.id,
            is_deleted: self.is_deleted(),
            white: of.white,
            black: of.black,
            tournament: of.tournament,
            annotator: of.annotator,
            source: of.source,
            white_team: team(of.white_team),
            black_team: team(of.black_team),
            date: if is_game {
                date::decode(date)
            } else {
                Date::UNKNOWN
            },
            result: if is_game {
                result_of(self.result())
            } else {
                result_of(3)
            },
            line_evaluation: if is_game { self.byte(89) } else { 0 },
            round: number(self.count(90)),
            subround: number(self.count(92)),
            white_elo: number(self.count(96)),
            black_elo: number(self.count(112)),
            eco: eco_of(number(self.word(128))),
            medals: number(self.word(130)),
            flags: None,
            move_count: number(self.count(138)),
        })
    }
}

/// Converts a rating type from the 14 bytes here to the 16 of `.cbj`.
///
/// | offset | bytes | meaning |
/// |---|---|---|
/// | 0 | 2 | bits 0–2: 1 international, 2 national, 3 of a server; from bit 3: 0 normal, 1 bullet, 2 blitz, 3 rapid, 4 correspondence |
/// | 2 | 2 | which list |
/// | 4 | 2 | nation |
/// | 6 | 8 | name |
///
/// The older form has neither servers nor bullet: those keep only the name.
fn rating_type(stored: &[u8; 14]) -> RatingType {
    let mut bytes = [0; 16];
    let [low, _, _, _, nation, _, name @ ..] = stored;
    // Normal 0, bullet -, blitz 1, rapid 2, correspondence 3.
    let speed = match low >> 3 {
        2 => Some(1),
        3 | 5 => Some(2),
        4 => Some(3),
        _ => None,
    };
    let [_, kind, national, international, country, text @ ..] = &mut bytes;
    match low & 7 {
        1 => {
            *kind = 1;
            *international = speed.unwrap_or(0) + 1;
        }
        2 => {
            *kind = 2;
            *national = speed.unwrap_or(0);
            *international = 100;
            *country = *nation;
        }
        _ => {}
    }
    if let Some(text) = text.first_chunk_mut() {
        *text = *name;
    }
    RatingType { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_of_fide_are_the_usual_ones() {
        // source: records of real bases, quoted in tests of a description.
        let kind = |hex: &str| {
            let stored = data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap();
            rating_type(stored.as_slice().try_into().unwrap())
        };
        assert!(kind("0100010000004649444500000000").is_usual());
        assert!(kind("0000000000000000000000000000").is_usual());
        let blitz = kind("1100020000004649444500000000").bytes;
        assert_eq!(&blitz[..9], b"\0\x01\0\x02\0FIDE");
        let iccf = kind("2100040000004943434600000000").bytes;
        assert_eq!(&iccf[..9], b"\0\x01\0\x04\0ICCF");
        let server = kind("03000e00c4004c69436865737300").bytes;
        assert_eq!(&server[..12], b"\0\0\0\0\0LiChess");
    }

    #[test]
    fn headers_of_both_versions_are_known() {
        // source: the base MyPGNDownloads, of 110120 games.
        let start = data_encoding::HEXLOWER
            .decode(b"00000000000000002200c0000003000029ae010000000000")
            .unwrap();
        let header = Cbh2Header::decode(&start).unwrap();
        assert_eq!((header.version, header.next_id), (3, 110_121));
        assert!(header.is_known());
        let mut other = start;
        other[10] = 46;
        let fault = Cbh2Header::decode(&other).unwrap_err();
        assert!(fault.what.contains("not 192"));
    }

    #[test]
    fn a_record_is_a_game_a_text_or_an_analysis() {
        let mut bytes = [0; RECORD_BYTES];
        let mut kind = |first, third| {
            (bytes[0], bytes[2], bytes[3]) = (first, third, first & 0x7f);
            let record = Cbh2Record::new(GameId(7), &bytes);
            let entry = record.entry();
            (record.kind(), entry.map(|entry| entry.is_deleted))
        };
        assert_eq!(kind(1, 1), (Some(RecordType::Game), Some(false)));
        assert_eq!(kind(0x83, 1), (Some(RecordType::Text), Some(true)));
        assert_eq!(kind(1, 2), (Some(RecordType::Analysis), Some(false)));
        assert_eq!(kind(0, 0), (None, None));
        assert_eq!(kind(1, 3), (None, None));
    }
}
