//! Game quotations. Big-endian: payload size u16; 1 header only, 2 with
//! moves u16; flags u16 (0x40: a start position of 28 bytes follows); White,
//! Black (each length u8, text, 0); ratings u16 u16; opening u16; event,
//! site; date u32; tournament type, nation, category, rounds u16 each;
//! subround, round, result u8 each; u16; then the moves in the simple
//! encoding. The bytes are kept; header and moves are shown on one line.

use crate::bytes::{ByteReader, Malformed};
use crate::cbh::moves::{decode_quoted, quoted_start};
use crate::cbh::record::result_of;
use crate::cbh::{CodePage, date};
use crate::game::{GameResult, Quotation, Start, append_quoted};

/// The flag of a start position.
const SETUP: u16 = 0x40;

/// What is shown of the header of a quoted game.
#[derive(Debug)]
pub(crate) struct QuotedHeader {
    /// White and Black, `last,first`.
    pub(crate) players: [String; 2],
    /// Their ratings, 0 for none.
    pub(crate) ratings: [u16; 2],
    /// The event, and its place.
    pub(crate) places: [String; 2],
    /// The date as stored.
    pub(crate) date: u32,
    /// The round, 0 for none.
    pub(crate) round: u8,
    /// The result as stored.
    pub(crate) result: u8,
}

impl QuotedHeader {
    /// `1-0 Tal,Mihail (2700)-Petrosian,T Candidates Bled 1959 (2)`: result,
    /// players with ratings, event, site, year and round, as far as they are
    /// given.
    pub(crate) fn caption(self) -> String {
        let players = self.players.iter().zip(self.ratings);
        let players = players.map(|(name, elo)| match (name.trim_end_matches(','), elo) {
            (name, 0) => name.to_owned(),
            (name, elo) => format!("{name} ({elo})"),
        });
        let players: Vec<String> = players.collect();
        let result = result_of(self.result).map_or("*", GameResult::pgn);
        let mut parts = vec![result.to_owned(), players.join("-")];
        parts.extend(self.places.into_iter().filter(|place| !place.is_empty()));
        let year = date::decode(self.date).year;
        parts.extend((year != 0).then(|| year.to_string()));
        parts.extend((self.round != 0).then(|| format!("({})", self.round)));
        parts.join(" ")
    }
}

/// What a quotation shows; `None` if its header is damaged.
pub(super) fn decode(payload: &[u8], page: CodePage) -> Option<Quotation> {
    Some(Quotation {
        caption: quoted_caption(payload, page)?,
        payload: payload.to_vec(),
    })
}

/// The line that is shown of a stored quotation, its moves included; `None` if
/// its header is damaged.
pub(crate) fn quoted_caption(payload: &[u8], page: CodePage) -> Option<String> {
    let mut reader = ByteReader::new(payload);
    let (start, header) = read(&mut reader, page).ok()?;
    let mut caption = header.caption();
    append_quoted(&start, &decode_quoted(reader.rest()), &mut caption);
    Some(caption)
}

fn read(reader: &mut ByteReader<'_>, page: CodePage) -> Result<(Start, QuotedHeader), Malformed> {
    reader.skip(4)?;
    let start = match reader.u16_be()? & SETUP {
        0 => Start::default(),
        _ => quoted_start(reader)?,
    };
    let players = [string(reader, page)?, string(reader, page)?];
    let ratings = [reader.u16_be()?, reader.u16_be()?];
    reader.skip(2)?;
    let places = [string(reader, page)?, string(reader, page)?];
    let date = reader.u32_be()?;
    reader.skip(8)?;
    let [_, round, result] = reader.array()?;
    reader.skip(2)?;
    let header = QuotedHeader {
        players,
        ratings,
        places,
        date,
        round,
        result,
    };
    Ok((start, header))
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
    #[test]
    fn the_moves_of_a_quotation_are_shown() {
        // source: a quotation of a real base.
        let payload = "005a000200000d4de572\
            64656c6c2c4a696d6d79000e4361726c73656e2c4d61676e75730008340af08000045465737400\
            0000000000000000000000000000010200000adf936cd8f8590dc648b80a5a920e727da54a9d46bfb9";
        let payload: String = payload.split_whitespace().collect();
        let payload = data_encoding::HEXLOWER.decode(payload.as_bytes()).unwrap();
        let quotation = decode(&payload, CodePage::default()).unwrap();
        let caption = "0-1 Mårdell,Jimmy (2100)-Carlsen,Magnus (2800) Test (2) 1.e4 e5 2.Nf3 Nc6 \
                       3.Bc4 Nf6 4.d3 Be7 5.O-O O-O";
        assert_eq!(quotation.caption, caption);
    }

    #[test]
    fn what_a_quotation_does_not_say_is_not_shown() {
        let header = QuotedHeader {
            players: ["Tal,".to_owned(), "Petrosian,T".to_owned()],
            ratings: [0, 2700],
            places: [String::new(), "Bled".to_owned()],
            date: 0,
            round: 0,
            result: 99,
        };
        assert_eq!(header.caption(), "* Tal-Petrosian,T (2700) Bled");
    }
}
