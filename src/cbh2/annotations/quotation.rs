//! Game quotations.
//!
//! | bytes | meaning |
//! |---|---|
//! | 1, 2, 2, 4, 1 | 1; 1 header only, 2 with moves; ?; 1; 0 |
//! | 6 × | length u8, text, 0 (counted): White last, first, Black last, first, site, event |
//! | 35 | 0 date i32, 4 type, 6 nation, 10 rounds, 28 ratings i16 × 2, 32 opening u16, 34 result |
//! | 44 | 8 round, 9 subround |
//! | 2 × | 5 bytes, string: name of the rating list |
//! | 26, 1 | ?; 1 usual start, 0 set-up |
//! | 75 | of a set-up only |
//! | 2, 4 | ?; number of moves |
//! | 5 n | from in the low six bits, 0x40 promotion; to in the low six bits, above it 0 queen, 1 knight, 2 bishop, 3 rook; 0 |
//! | 4 | 0 |
//!
//! The game is shown on one line, with its moves. For bases of the older
//! format, all of it is kept in that format, too.

use shakmaty::Role;

use super::{ReadData, Remarks, string};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::{CodePage, QuotedHeader, encode_quoted};
use crate::cbh2::moves::square;
use crate::game::{Annotation, Quotation, QuotedMove, Start, append_quoted, cut};

/// Number of moves for which a remark of the older format has room.
const MOST_MOVES: usize = 30_000;

/// The fields of a quotation except its moves.
struct QuotationHeader<'a> {
    /// White last, first, Black last, first, site, event.
    names: [&'a [u8]; 6],
    date: u32,
    kind: u8,
    nation: u8,
    rounds: u8,
    ratings: [u16; 2],
    opening: u16,
    result: u8,
    round: u8,
    subround: u8,
}

/// Reads the data of a quotation.
pub(super) fn read(remarks: &mut Remarks<'_, '_>) -> Result<ReadData, Malformed> {
    let at = remarks.reader.position();
    let reader = &mut remarks.reader;
    let one = reader.u8()?;
    reader.skip(9)?;
    let header = header(reader)?;
    for _ in 0..2 {
        reader.skip(5)?;
        string(reader)?;
    }
    reader.skip(26)?;
    let start = reader.u8()?;
    if one != 1 || start > 1 {
        return Ok(ReadData::Unknown);
    }
    if start == 0 {
        reader.skip(75)?;
    }
    reader.skip(2)?;
    let count = reader.u32_le()? as usize;
    let stored = reader.take(count.saturating_mul(5))?;
    reader.skip(4)?;
    let page = remarks.page;
    let mut caption = header.shown(page).caption();
    let mut moves = moves(stored);
    let what = if start == 1 {
        let legal = append_quoted(&Start::default(), &moves, &mut caption);
        let is_legal = legal == moves.len();
        moves.truncate(legal);
        (!is_legal).then_some("a move of a game quotation that is not legal")
    } else {
        moves.clear();
        Some("a game quotation from a set-up position, of which the moves are not shown")
    };
    if let Some(what) = what {
        remarks.fault(at, what);
    }
    let payload = older(&header, &moves, page);
    let quotation = Quotation { caption, payload };
    Ok(ReadData::Value(Annotation::Quotation(Box::new(quotation))))
}

fn header<'a>(reader: &mut ByteReader<'a>) -> Result<QuotationHeader<'a>, Malformed> {
    let mut names = [&[][..]; 6];
    for name in &mut names {
        let length = reader.u8()?;
        let field = reader.take(length.into())?;
        *name = field.strip_suffix(&[0]).unwrap_or(field);
    }
    let date = reader.u32_le()?;
    let [kind, _, nation, _, _, _, rounds] = reader.array()?;
    reader.skip(17)?;
    let ratings = [reader.u16_le()?, reader.u16_le()?];
    let (opening, result) = (reader.u16_le()?, reader.u8()?);
    reader.skip(8)?;
    let [round, subround] = reader.array()?;
    reader.skip(34)?;
    Ok(QuotationHeader {
        names,
        date,
        kind,
        nation,
        rounds,
        ratings,
        opening,
        result,
        round,
        subround,
    })
}

impl QuotationHeader<'_> {
    /// What is shown of it.
    fn shown(&self, page: CodePage) -> QuotedHeader {
        let [white, white_first, black, black_first, site, event] = self.names;
        let name = |parts: &[&[u8]]| {
            let parts = parts.iter().map(|part| {
                let mut text = String::new();
                page.decode_into(part, &mut text);
                text
            });
            parts.collect::<Vec<_>>().join(",")
        };
        QuotedHeader {
            players: [name(&[white, white_first]), name(&[black, black_first])],
            ratings: self.ratings,
            places: [name(&[event]), name(&[site])],
            date: self.date,
            round: self.round,
            result: self.result,
        }
    }
}

fn moves(stored: &[u8]) -> Vec<QuotedMove> {
    let (moves, _) = stored.as_chunks();
    let squares = |&[from, to, ..]: &[u8; 5]| {
        let becomes = match to >> 6 {
            0 => Role::Queen,
            1 => Role::Knight,
            2 => Role::Bishop,
            _ => Role::Rook,
        };
        let [from, to] = [from, to].map(|number| square(u16::from(number & 63)));
        (from, to, becomes)
    };
    moves.iter().map(squares).collect()
}

/// Encodes a quotation as the older format does, big-endian, with its names in
/// UTF-8, which is read whatever the page of a base. Moves that do not fit are
/// left out, and the ends of names.
fn older(header: &QuotationHeader<'_>, moves: &[QuotedMove], page: CodePage) -> Vec<u8> {
    let moves = moves.get(..MOST_MOVES).unwrap_or(moves);
    let kind = if moves.is_empty() { 1 } else { 2 };
    let mut payload = vec![0, 0, 0, kind, 0, 0];
    let QuotedHeader {
        players, places, ..
    } = header.shown(page);
    let string = |payload: &mut Vec<u8>, name: &str| {
        let name = cut(name, usize::from(u8::MAX));
        payload.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        payload.extend(name.bytes());
        payload.push(0);
    };
    for player in &players {
        string(&mut payload, player);
    }
    let [white, black] = header.ratings;
    for word in [white, black, header.opening] {
        payload.extend(word.to_be_bytes());
    }
    for place in &places {
        string(&mut payload, place);
    }
    payload.extend(header.date.to_be_bytes());
    payload.extend([0, header.kind, 0, header.nation, 0, 0, 0, header.rounds]);
    payload.extend([header.subround, header.round, header.result, 0, 0]);
    payload.extend(encode_quoted(moves));
    let size = u16::try_from(payload.len()).unwrap_or(u16::MAX);
    if let Some(place) = payload.first_chunk_mut() {
        *place = size.to_be_bytes();
    }
    payload
}
