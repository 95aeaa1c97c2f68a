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

use std::fmt::Write as _;

use shakmaty::{CastlingSide, Role};

use super::{Read, Remarks, string};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::{QuotedMove, date, encode_quoted, record};
use crate::cbh2::moves::square;
use crate::game::{Annotation, Date, GameResult, PieceMove, Position, Quotation, San};

/// Number of moves for which a remark of the older format has room.
const MOST_MOVES: usize = 30_000;

/// The fields of a quotation except its moves.
struct Header<'a> {
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
pub(super) fn read(remarks: &mut Remarks<'_, '_>) -> Result<Read, Malformed> {
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
        return Ok(Read::Unknown);
    }
    if start == 0 {
        reader.skip(75)?;
    }
    reader.skip(2)?;
    let count = reader.u32_le()? as usize;
    let stored = reader.take(count.saturating_mul(5))?;
    reader.skip(4)?;
    let mut caption = caption(&header, remarks);
    let mut moves = Vec::new();
    let is_shown = if start == 1 {
        append_moves(stored, &mut caption, &mut moves)
    } else {
        stored.is_empty()
    };
    if !is_shown {
        let what = match start {
            1 => "a move of a game quotation that is not legal",
            _ => "moves of a game quotation from a set-up position, not shown",
        };
        remarks.fault(at, what);
    }
    let payload = older(&header, &moves);
    let quotation = Quotation { caption, payload };
    Ok(Read::Value(Annotation::Quotation(Box::new(quotation))))
}

fn header<'a>(reader: &mut ByteReader<'a>) -> Result<Header<'a>, Malformed> {
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
    Ok(Header {
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

/// Formats result, players with ratings, event, site, year and round, as far as
/// they are given.
fn caption(header: &Header<'_>, remarks: &Remarks<'_, '_>) -> String {
    let names = header.names.map(|name| {
        let mut text = String::new();
        remarks.page.decode_into(name, &mut text);
        text
    });
    let [white, white_first, black, black_first, site, event] = names;
    let player = |last: String, first: String, rating: u16| {
        let mut name = last;
        if !first.is_empty() {
            name = format!("{name},{first}");
        }
        match rating {
            0 => name,
            rating => format!("{name} ({rating})"),
        }
    };
    let [white_rating, black_rating] = header.ratings;
    let white = player(white, white_first, white_rating);
    let black = player(black, black_first, black_rating);
    let result = record::result_of(header.result).map_or("*", GameResult::pgn);
    let Date { year, .. } = date::decode(header.date);
    let mut parts = vec![result.to_owned(), format!("{white}-{black}")];
    parts.extend([event, site].into_iter().filter(|part| !part.is_empty()));
    parts.extend((year != 0).then(|| year.to_string()));
    parts.extend((header.round != 0).then(|| format!("({})", header.round)));
    parts.join(" ")
}

/// Appends the moves as in PGN, and to `read`. Returns whether all were legal.
fn append_moves(stored: &[u8], out: &mut String, read: &mut Vec<QuotedMove>) -> bool {
    let mut position = Position::default();
    let (moves, _) = stored.as_chunks();
    for (at, stored) in moves.iter().enumerate() {
        let Some((san, quoted)) = play(&mut position, *stored) else {
            return false;
        };
        read.push(quoted);
        if at % 2 == 0 {
            let _ = write!(out, " {}.{san}", at / 2 + 1);
        } else {
            let _ = write!(out, " {san}");
        }
    }
    true
}

fn play(position: &mut Position, stored: [u8; 5]) -> Option<(San, QuotedMove)> {
    let [from, to, ..] = stored;
    let becomes = match to >> 6 {
        0 => Role::Queen,
        1 => Role::Knight,
        2 => Role::Bishop,
        _ => Role::Rook,
    };
    let promotion = (from & 0x40 != 0).then_some(becomes);
    let [from, to] = [from, to].map(|number| square(u16::from(number & 63)));
    let role = position.board().piece_at(from)?.role;
    let files = from.file().distance(to.file());
    let m = if role == Role::King && files == 2 {
        let side = CastlingSide::from_king_side(from < to);
        position.castling_move(side)?
    } else {
        let wanted = PieceMove {
            role,
            file: Some(from.file()),
            rank: Some(from.rank()),
            to,
            promotion,
        };
        position.find_move(wanted).ok()?
    };
    let san = position.play(m).ok()?;
    Some((san, (from, to, promotion)))
}

/// Encodes a quotation as the older format does, big-endian. Moves that do not
/// fit are left out.
fn older(header: &Header<'_>, moves: &[QuotedMove]) -> Vec<u8> {
    let [white, white_first, black, black_first, site, event] = header.names;
    let moves = moves.get(..MOST_MOVES).unwrap_or(moves);
    let kind = if moves.is_empty() { 1 } else { 2 };
    let mut payload = vec![0, 0, 0, kind, 0, 0];
    let string = |payload: &mut Vec<u8>, parts: &[&[u8]]| {
        let joined = parts.join(&b','.to_owned());
        let text = joined.get(..usize::from(u8::MAX)).unwrap_or(&joined);
        payload.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        payload.extend(text);
        payload.push(0);
    };
    string(&mut payload, &[white, white_first]);
    string(&mut payload, &[black, black_first]);
    let [white, black] = header.ratings;
    for word in [white, black, header.opening] {
        payload.extend(word.to_be_bytes());
    }
    string(&mut payload, &[event]);
    string(&mut payload, &[site]);
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
