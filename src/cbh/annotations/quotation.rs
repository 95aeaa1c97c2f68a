//! Game quotations. Big-endian: payload size u16; 1 header only, 2 with
//! moves u16; flags u16 (0x40: a start position of 28 bytes follows); White,
//! Black (each length u8, text, 0); ratings u16 u16; opening u16; event,
//! site; date u32; tournament type, nation, category, rounds u16 each;
//! subround, round, result u8 each; u16; then the moves in the simple
//! encoding. The moves are kept as they are.

use crate::bytes::{ByteReader, Malformed};
use crate::cbh::record::result_of;
use crate::cbh::{CodePage, date};
use crate::game::{GameResult, Quotation};

/// The flag of a start position, and its size.
const SETUP: (u16, usize) = (0x40, 28);

/// What a quotation shows; `None` if its header is damaged.
pub(super) fn decode(payload: &[u8], page: CodePage) -> Option<Quotation> {
    let caption = caption(&mut ByteReader::new(payload), page).ok()?;
    Some(Quotation {
        caption,
        payload: payload.to_vec(),
    })
}

/// `1-0 Tal,Mihail (2700)-Petrosian,T Candidates Bled 1959 (2)`: result,
/// players with ratings, event, site, year and round, as far as they are
/// given.
fn caption(reader: &mut ByteReader<'_>, page: CodePage) -> Result<String, Malformed> {
    reader.skip(4)?;
    if reader.u16_be()? & SETUP.0 != 0 {
        reader.skip(SETUP.1)?;
    }
    let names = [string(reader, page)?, string(reader, page)?];
    let ratings = [reader.u16_be()?, reader.u16_be()?];
    reader.skip(2)?;
    let places = [string(reader, page)?, string(reader, page)?];
    let date = date::decode(reader.u32_be()?);
    reader.skip(8)?;
    let [_, round, result] = reader.array()?;
    reader.skip(2)?;
    let players: Vec<String> = names
        .iter()
        .zip(ratings)
        .map(|(name, elo)| match (name.trim_end_matches(','), elo) {
            (name, 0) => name.to_owned(),
            (name, elo) => format!("{name} ({elo})"),
        })
        .collect();
    let mut parts = vec![result_of(result).map_or("*", GameResult::pgn).to_owned()];
    parts.push(players.join("-"));
    parts.extend(places.into_iter().filter(|place| !place.is_empty()));
    parts.extend((date.year != 0).then(|| date.year.to_string()));
    parts.extend((round != 0).then(|| format!("({round})")));
    Ok(parts.join(" "))
}

/// Length u8, text, a zero byte.
fn string(reader: &mut ByteReader<'_>, page: CodePage) -> Result<String, Malformed> {
    let length = usize::from(reader.u8()?);
    let mut text = String::new();
    page.decode_into(reader.take(length)?, &mut text);
    reader.skip(1)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_quotation_is_shown() {
        let mut payload = vec![0, 60, 0, 1, 0, 0, 4];
        payload.extend(b"Tal,\0\x0aPetrosian,\0");
        payload.extend([0x0a, 0x28, 0x0a, 0x8c, 0x91, 0x00, 5]);
        payload.extend(b"Bled \0\x04Bled\0");
        payload.extend([
            0x00, 0x0f, 0x4f, 0x20, 0, 3, 0, 149, 0, 0, 0, 28, 2, 1, 2, 0, 0,
        ]);
        payload.extend([0xb5, 0xaf]);
        let quotation = decode(&payload, CodePage::default()).unwrap();
        let caption = "1-0 Tal (2600)-Petrosian (2700) Bled  Bled 1959 (1)";
        assert_eq!(quotation.caption, caption);
        assert_eq!(quotation.payload, payload);
        assert!(decode(&payload[..30], CodePage::default()).is_none());
    }
}
