//! Pages of a `.ctg` and the records on them.
//!
//! | offset in page | size | meaning |
//! |---|---|---|
//! | 0 | 2 | number of records |
//! | 2 | 2 | used length, these four bytes included |
//! | 4 | | records without order and gaps; garbage behind them |
//!
//! A record is a [`signature`], a list of moves and
//! [`DATA_BYTES`]. The list begins with a byte with its own length, that byte
//! included; two bytes follow for each move: its [code](super::opcode) and a
//! NAG.
//!
//! | offset in data | size | meaning, "we" being the side to move |
//! |---|---|---|
//! | 0 | 3 | games |
//! | 3 | 3 | won by us |
//! | 6 | 3 | lost by us |
//! | 9 | 3 | drawn |
//! | 12 | 4 | our points in tenths, evaluated lines included |
//! | 16 | 3, 4 | our players: how many with a rating, sum of the ratings |
//! | 23 | 3, 4 | the same of the players who just moved |
//! | 30 | 1 | flags |
//! | 31 | 1 | weight, signed |
//! | 32 | 1 | a NAG, as if we were White |
//!
//! All numbers are big-endian.

use super::opcode::{alternative_move, relative_move};
use super::signature;
use crate::book::{PositionRecord, RatingSum, StoredMove};
use crate::bytes::{ByteReader, Malformed};

/// Length of a page.
pub(super) const PAGE_BYTES: usize = 4096;

/// Length of the header of a page.
const HEADER_BYTES: usize = 4;

/// Length of the data behind the moves of a record.
pub(super) const DATA_BYTES: usize = 33;

/// One page.
#[derive(Clone, Copy, Debug)]
pub(super) struct CtgPage<'a> {
    /// The used part of the page.
    bytes: &'a [u8],
    /// Number of records according to the page.
    records: usize,
    /// Used length according to the page.
    stored_len: usize,
}

/// A record before decoding.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawRecord<'a> {
    /// Offset in the page.
    pub(super) offset: usize,
    pub(super) signature: &'a [u8],
    /// Pairs of a code and an annotation.
    moves: &'a [u8],
    data: &'a [u8],
    /// Whether the list of moves has an even length, so that one byte has no
    /// meaning.
    pub(super) is_even: bool,
}

impl<'a> CtgPage<'a> {
    /// Returns the page in `bytes`. A used length that is too long means the
    /// whole page, one that is too short an empty page. [`fault`](CtgPage::fault)
    /// reports both.
    pub(super) fn new(bytes: &'a [u8]) -> CtgPage<'a> {
        let mut reader = ByteReader::new(bytes);
        let records = reader.u16_be().unwrap_or(0).into();
        let stored_len = reader.u16_be().unwrap_or(0).into();
        CtgPage {
            bytes: bytes.get(..stored_len).unwrap_or(bytes),
            records: if stored_len < HEADER_BYTES {
                0
            } else {
                records
            },
            stored_len,
        }
    }

    /// The defect of the header of the page, if any.
    pub(super) fn fault(&self) -> Option<Malformed> {
        let len = self.stored_len;
        (!(HEADER_BYTES..=PAGE_BYTES).contains(&len))
            .then(|| Malformed::new(2, format!("a page says that {len} of its bytes are used")))
    }

    /// The records. An error ends the iteration.
    pub(super) fn records(&self) -> Records<'a> {
        Records {
            bytes: self.bytes,
            at: HEADER_BYTES,
            left: self.records,
            number: self.records,
            stored_len: self.stored_len,
        }
    }

    /// Returns the record with this signature. Damage before it is passed to
    /// `damage`.
    pub(super) fn find(
        &self,
        signature: &[u8],
        damage: impl FnOnce(Malformed),
    ) -> Option<RawRecord<'a>> {
        for record in self.records() {
            match record {
                Ok(record) if record.signature == signature => return Some(record),
                Ok(_) => {}
                Err(malformed) => {
                    damage(malformed);
                    return None;
                }
            }
        }
        None
    }
}

/// Iterates over the records of a page.
#[derive(Clone, Debug)]
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    left: usize,
    number: usize,
    stored_len: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RawRecord<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        if self.left == 0 || at >= self.bytes.len() {
            return self.end().map(Err);
        }
        let record = raw_record(self.bytes, at);
        if let Some((record, next)) = record {
            self.at = next;
            self.left -= 1;
            return Some(Ok(record));
        }
        self.left = 0;
        self.at = 0;
        Some(Err(Malformed::new(
            at,
            "a record that runs out of its page, or whose lengths are wrong; the rest of the page is lost",
        )))
    }
}

impl Records<'_> {
    /// Returns once the defect of records that do not end where the header
    /// says.
    fn end(&mut self) -> Option<Malformed> {
        let (at, left) = (self.at, std::mem::take(&mut self.left));
        self.at = 0;
        let read = self.number - left;
        if at == 0 || !(HEADER_BYTES..=PAGE_BYTES).contains(&self.stored_len) {
            return None;
        }
        if left > 0 {
            let what = format!(
                "a page says that it has {} records and has {read}",
                self.number
            );
            return Some(Malformed::new(0, what));
        }
        (at != self.stored_len).then(|| {
            let what = format!(
                "the records of a page end at {at}, not at {}",
                self.stored_len
            );
            Malformed::new(2, what)
        })
    }
}

/// Reads the record at `at`. Returns it and the offset of its end.
#[inline]
fn raw_record(page: &[u8], at: usize) -> Option<(RawRecord<'_>, usize)> {
    let signature_len = signature::len(*page.get(at)?);
    if signature_len < 2 {
        return None;
    }
    let moves_at = at + signature_len;
    let moves_len = usize::from(*page.get(moves_at)?).checked_sub(1)?;
    let data_at = moves_at + 1 + moves_len;
    let next = data_at + DATA_BYTES;
    let record = RawRecord {
        offset: at,
        data: page.get(data_at..next)?,
        moves: page.get(moves_at + 1..data_at)?,
        signature: page.get(at..moves_at)?,
        is_even: moves_len % 2 == 1,
    };
    Some((record, next))
}

impl RawRecord<'_> {
    /// Decodes the record.
    pub(super) fn decode(&self) -> PositionRecord {
        let (pairs, _) = self.moves.as_chunks();
        let moves = pairs.iter().map(|&[code, annotation]| StoredMove {
            code,
            meaning: relative_move(code),
            alternative: alternative_move(code),
            annotation,
        });
        let mut record = PositionRecord {
            moves: moves.collect(),
            ..PositionRecord::default()
        };
        // The length was checked when the record was found.
        let _ = self.decode_data(&mut record);
        record
    }

    /// The defect of a list of moves with an even length.
    pub(super) fn odd_byte(&self) -> Malformed {
        let at = self.offset + self.signature.len();
        let what = format!(
            "a list of moves of {} bytes, the last one without meaning",
            self.moves.len() + 1
        );
        Malformed::new(at, what)
    }

    fn decode_data(&self, record: &mut PositionRecord) -> Result<(), Malformed> {
        let mut data = ByteReader::new(self.data);
        record.games = data.u24_be()?;
        record.wins = data.u24_be()?;
        record.losses = data.u24_be()?;
        record.draws = data.u24_be()?;
        record.score = Some(data.u32_be()?);
        for ratings in [&mut record.our_ratings, &mut record.their_ratings] {
            *ratings = Some(RatingSum {
                players: data.u24_be()?,
                sum: data.u32_be()?,
            });
        }
        record.flags = data.u8()?;
        record.weight = Some(data.u8()?.cast_signed());
        record.comment = data.u8()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of these records, each of a signature and the bytes of its moves.
    fn page(records: &[(&[u8], &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (signature, moves) in records {
            bytes.extend(*signature);
            bytes.push(u8::try_from(moves.len() + 1).unwrap());
            bytes.extend(*moves);
            bytes.extend(0..u8::try_from(DATA_BYTES).unwrap());
        }
        let count = u16::try_from(records.len()).unwrap();
        let len = u16::try_from(HEADER_BYTES + bytes.len()).unwrap();
        [&count.to_be_bytes()[..], &len.to_be_bytes(), &bytes].concat()
    }

    #[test]
    fn a_record_is_found_by_its_signature_and_read() {
        let bytes = page(&[(&[2, 7], &[]), (&[3, 1, 2], &[0x5F, 1, 0xE6, 0])]);
        let page = CtgPage::new(&bytes);
        let record = page.find(&[3, 1, 2], |_| unreachable!()).unwrap();
        assert_eq!(record.offset, HEADER_BYTES + 2 + 1 + DATA_BYTES);
        let record = record.decode();
        let moves: Vec<_> = record
            .moves
            .iter()
            .map(|m| (m.code, m.annotation))
            .collect();
        assert_eq!(moves, [(0x5F, 1), (0xE6, 0)]);
        assert_eq!(record.games, 0x00_01_02);
        assert_eq!(record.draws, 0x09_0A_0B);
        assert_eq!(record.score, Some(0x0C0D_0E0F));
        let ratings = record.their_ratings.unwrap();
        assert_eq!((ratings.players, ratings.sum), (0x17_18_19, 0x1A1B_1C1D));
        assert_eq!(
            (record.flags, record.weight, record.comment),
            (30, Some(31), 32)
        );
        assert!(page.find(&[2, 8], |_| unreachable!()).is_none());
    }

    #[test]
    fn a_byte_too_many_after_the_moves_is_told_with_its_place() {
        let bytes = page(&[(&[3, 1, 2], &[0x5F, 1, 0xE6])]);
        let record = CtgPage::new(&bytes).records().next().unwrap().unwrap();
        assert!(record.is_even);
        let Malformed { offset, what } = record.odd_byte();
        assert_eq!((offset, bytes[offset]), (HEADER_BYTES + 3, 4));
        assert!(what.starts_with("a list of moves of 4 bytes,"), "{what}");
        assert_eq!(record.decode().moves.len(), 1);
    }

    #[test]
    fn records_that_do_not_fill_their_page_are_told() {
        let told = |bytes: &[u8]| {
            let faults = CtgPage::new(bytes).records().filter_map(Result::err);
            faults.map(|fault| fault.what).collect::<Vec<_>>()
        };
        let whole = page(&[(&[2, 7], &[]), (&[2, 8], &[])]);
        assert_eq!(told(&whole), Vec::<String>::new());
        let mut fewer = whole.clone();
        fewer[1] = 1;
        assert_eq!(told(&fewer), ["the records of a page end at 40, not at 76"]);
        let mut more = whole.clone();
        more[1] = 3;
        assert_eq!(told(&more), ["a page says that it has 3 records and has 2"]);
        let cut = &whole[..whole.len() - 1];
        assert!(
            told(cut)[0].starts_with("a record that runs out"),
            "{cut:?}"
        );
    }
}
