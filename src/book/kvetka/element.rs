//! Decoding of an element: the data of one position.

use super::block::{Element, compact};
use super::move_code::relative_move;
use super::strings::{ByteOrder, unicode};
use crate::book::{GameReference, PositionRecord, StoredMove};
use crate::bytes::{ByteReader, Malformed};

/// Bits of the flags byte.
const HAS_COMMENT: u8 = 1;
const HAS_LAST_HERE: u8 = 2;
const HAS_SAMPLE: u8 = 4;

/// Length of a reference: source and game.
const REFERENCE_BYTES: usize = 6;

/// Properties that the header sets for all elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Whether elements can reference games.
    pub(super) has_games: bool,
    /// Byte order of the characters in comments.
    pub(super) order: ByteOrder,
}

impl Element<'_> {
    /// Decodes the element. If it is malformed, returns the part read before
    /// with the error.
    pub(super) fn decode(&self, layout: Layout) -> (PositionRecord, Option<Malformed>) {
        let mut record = PositionRecord::default();
        let read = read(&mut ByteReader::new(self.rest), layout, &mut record);
        let fault = read.err().map(|Malformed { offset, what }| Malformed {
            offset: self.rest_offset + offset,
            what,
        });
        (record, fault)
    }

    /// Returns the stored bytes of the comment.
    pub(super) fn comment(&self, has_games: bool) -> Option<&[u8]> {
        let mut reader = ByteReader::new(self.rest);
        let mut numbers = || {
            for _ in 0..3 {
                compact(&mut reader)?;
            }
            let moves = reader.u8()?;
            reader.skip(moves.into())?;
            let flags = reader.u8()?;
            if has_games && flags & HAS_SAMPLE != 0 {
                reader.skip(REFERENCE_BYTES)?;
            }
            Ok::<_, Malformed>(flags & HAS_COMMENT != 0)
        };
        let has_comment = numbers().ok()?;
        has_comment.then(|| unicode(&mut reader).ok()).flatten()
    }
}

fn read(
    reader: &mut ByteReader<'_>,
    layout: Layout,
    record: &mut PositionRecord,
) -> Result<(), Malformed> {
    record.wins = compact(reader)?;
    record.draws = compact(reader)?;
    record.losses = compact(reader)?;
    let won = record.wins.saturating_add(record.losses);
    // Games without a result are in none of the three counters.
    record.games = won.saturating_add(record.draws);
    let count = reader.u8()?;
    let moves = reader.take(count.into())?;
    record.moves = moves.iter().map(|&code| stored_move(code)).collect();
    let flags = reader.u8()?;
    if layout.has_games && flags & HAS_SAMPLE != 0 {
        record.sample = Some(reference(reader)?);
    }
    if flags & HAS_COMMENT != 0 {
        let text = layout.order.decode(unicode(reader)?);
        record.text = (!text.is_empty()).then_some(text);
    }
    if layout.has_games && flags & HAS_LAST_HERE != 0 {
        record.last_here = references(reader)?;
    }
    Ok(())
}

fn stored_move(code: u8) -> StoredMove {
    StoredMove {
        code,
        meaning: relative_move(code),
        alternative: None,
        annotation: 0,
    }
}

fn reference(reader: &mut ByteReader<'_>) -> Result<GameReference, Malformed> {
    Ok(GameReference {
        source: reader.u16_be()?,
        game: reader.u32_be()?,
    })
}

/// Reads the list of references that fills the rest of an element. The
/// published format omits how the list begins. So the bytes that remain without
/// whole references must be their number, in one, two or four bytes.
fn references(reader: &mut ByteReader<'_>) -> Result<Vec<GameReference>, Malformed> {
    let start = reader.position();
    let left = reader.rest().len();
    let count = left / REFERENCE_BYTES;
    let said = match left % REFERENCE_BYTES {
        0 => Some(count),
        1 => Some(usize::from(reader.u8()?)),
        2 => Some(usize::from(reader.u16_be()?)),
        4 => usize::try_from(reader.u32_be()?).ok(),
        _ => None,
    };
    if said != Some(count) {
        let what = format!("{left} bytes are no list of games");
        return Err(Malformed::new(start, what));
    }
    (0..count).map(|_| reference(reader)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::kvetka::block::{BLOCK_BYTES, KvetkaBlock};

    const LAYOUT: Layout = Layout {
        has_games: true,
        order: ByteOrder::Big,
    };

    fn decode(rest: &[u8], layout: Layout) -> (PositionRecord, Option<Malformed>) {
        let length = u8::try_from(22 + rest.len()).unwrap();
        let used = u16::from(length) + 3;
        let mut bytes = [&used.to_be_bytes()[..], &[length], &[1; 22], rest].concat();
        bytes.resize(BLOCK_BYTES, 0xAA);
        let element = KvetkaBlock::new(&bytes).elements().next().unwrap().unwrap();
        let comment = element.comment(layout.has_games).map(<[u8]>::to_vec);
        let (record, fault) = element.decode(layout);
        if fault.is_none() {
            let text = comment.map(|bytes| layout.order.decode(&bytes));
            assert_eq!(text.filter(|text| !text.is_empty()), record.text);
        }
        (record, fault)
    }

    fn game(source: u16, game: u32) -> GameReference {
        GameReference { source, game }
    }

    /// Numbers, two moves, and these flags.
    fn head(flags: u8) -> Vec<u8> {
        vec![0x81, 0x00, 5, 7, 2, 0x0D, 0xC4, flags]
    }

    const FIRST: [u8; 6] = [0, 1, 0, 0, 0, 9];
    const SECOND: [u8; 6] = [0, 0, 0, 1, 0, 0];

    #[test]
    fn an_element_has_numbers_moves_sample_comment_and_games() {
        let comment = [0, 0, 0, 2, 0x04, 0x14, 0, b'!'];
        let rest = [&head(7)[..], &FIRST, &comment, &[2], &FIRST, &SECOND].concat();
        let (record, fault) = decode(&rest, LAYOUT);
        assert_eq!(fault, None);
        assert_eq!((record.wins, record.draws, record.losses), (128, 5, 7));
        assert_eq!(record.games, 140);
        let codes: Vec<u8> = record.moves.iter().map(|stored| stored.code).collect();
        assert_eq!(codes, [0x0D, 0xC4]);
        assert_eq!(record.sample, Some(game(1, 9)));
        assert_eq!(record.text.as_deref(), Some("Д!"));
        assert_eq!(record.last_here, [game(1, 9), game(0, 0x1_0000)]);
    }

    #[test]
    fn without_games_in_the_book_no_games_are_in_its_elements() {
        let layout = Layout {
            has_games: false,
            ..LAYOUT
        };
        let comment = [0, 0, 0, 1, 0, b'!'];
        let rest = [&head(7)[..], &comment, &[1, 2, 3]].concat();
        let (record, fault) = decode(&rest, layout);
        assert_eq!(fault, None);
        assert_eq!(record.text.as_deref(), Some("!"));
        assert_eq!((record.sample, record.last_here.len()), (None, 0));
    }

    #[test]
    fn the_number_of_games_may_stand_before_them_in_four_ways() {
        for prefix in [&[][..], &[2], &[0, 2], &[0, 0, 0, 2]] {
            let rest = [&head(2)[..], prefix, &FIRST, &SECOND].concat();
            let (record, fault) = decode(&rest, LAYOUT);
            assert_eq!(fault, None);
            assert_eq!(record.last_here, [game(1, 9), game(0, 0x1_0000)]);
        }
        for prefix in [&[3][..], &[0, 1], &[0, 0, 2], &[0, 0, 1, 2], &[0; 5]] {
            let rest = [&head(2)[..], prefix, &FIRST, &SECOND].concat();
            let (record, fault) = decode(&rest, LAYOUT);
            assert!(fault.unwrap().what.contains("no list of games"));
            assert_eq!((record.games, record.last_here.len()), (140, 0));
        }
    }

    #[test]
    fn elements_before_damage_are_kept() {
        let (record, fault) = decode(&[1, 2, 3, 200, 0x0D, 0], LAYOUT);
        assert_eq!(fault.unwrap().offset, 2 + 1 + 22 + 4);
        assert_eq!((record.games, record.moves.len()), (6, 0));
        let endless = [&head(1)[..], &[0xFF, 0xFF, 0xFF, 0xFF]].concat();
        let (record, fault) = decode(&endless, LAYOUT);
        assert!(fault.unwrap().what.contains("a string of"));
        assert_eq!(record.moves.len(), 2);
        assert_eq!(record.text, None);
    }
}
