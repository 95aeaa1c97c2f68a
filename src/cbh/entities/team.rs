//! Teams, `.cbe`: title (45 bytes), number (u32), bit 0 of a byte: a season
//! of two years, year (u32; 9999 is "none"), nation (u8).

use std::cmp::Ordering;

use super::collation::{Collation, compare_strings};
use super::{EntityLayout, Fields, read_string};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::CodePage;
use crate::game::{Nation, Team};

/// The records of `.cbe`.
#[derive(Debug)]
pub(crate) enum Teams {}

/// Number that means "no year", as 0 does.
const NO_YEAR: u32 = 9999;

/// The year of a stored number, 0 if none.
fn year_of(stored: u32) -> u32 {
    if stored == NO_YEAR { 0 } else { stored }
}

impl EntityLayout for Teams {
    type Value = Team;

    const DATA_BYTES: usize = 63;

    const STRINGS: &'static [usize] = &[45];

    fn decode(data: &[u8], page: CodePage, team: &mut Team) -> Result<(), Malformed> {
        let mut reader = ByteReader::new(data);
        read_string(&mut reader, 45, page, &mut team.title)?;
        team.number = reader.u32_le()?;
        team.is_season = reader.u8()? & 1 != 0;
        team.year = year_of(reader.u32_le()?);
        team.nation = Nation(reader.u8()?);
        team.is_given = true;
        Ok(())
    }

    fn encode(team: &Team, fields: &mut Fields<'_>) -> Result<(), Malformed> {
        fields.string("team", 45, &team.title)?;
        fields.patch.put(team.number.to_le_bytes())?;
        let [season] = fields.patch.array()?;
        *season = *season & !1 | u8::from(team.is_season);
        let year = fields.patch.array()?;
        if year_of(u32::from_le_bytes(*year)) != team.year {
            *year = team.year.to_le_bytes();
        }
        fields.patch.put([team.nation.0])
    }

    /// Sorted by title, number, season before year, year, nation.
    fn compare(one: &[u8], other: &[u8], collation: Collation) -> Result<Ordering, Malformed> {
        let (mut one, mut other) = (ByteReader::new(one), ByteReader::new(other));
        let titles = compare_strings(&mut one, &mut other, Self::STRINGS, collation)?;
        let key = |reader: &mut ByteReader<'_>| {
            let number = reader.i32_le()?;
            let is_season = reader.u8()? & 1 != 0;
            Ok((number, !is_season, reader.i32_le()?, reader.u8()?))
        };
        Ok(titles.then(key(&mut one)?.cmp(&key(&mut other)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::NameForm;

    #[test]
    fn two_numbers_say_that_a_team_has_no_year() {
        assert_eq!([0, 9999, 1999].map(year_of), [0, 0, 1999]);
    }

    #[test]
    fn a_team_keeps_bits_and_a_year_that_say_the_same() {
        let form = NameForm {
            page: CodePage::WESTERN,
            is_utf8: false,
        };
        for (stored, year, is_season, written) in [
            ([0xfe, 15, 39, 0, 0], 0, true, [0xff, 15, 39, 0, 0]),
            ([0xff, 15, 39, 0, 0], 1999, false, [0xfe, 207, 7, 0, 0]),
            ([0, 0, 0, 0, 0], 0, false, [0; 5]),
            ([1, 207, 7, 0, 0], 0, true, [1, 0, 0, 0, 0]),
        ] {
            let mut data = [0; 63];
            data[49..54].copy_from_slice(&stored);
            let team = Team {
                title: "Hastings".to_owned(),
                number: 258,
                is_season,
                year,
                nation: Nation(42),
                is_given: true,
            };
            let mut unfit = Vec::new();
            Teams::encode(&team, &mut Fields::new(&mut data, form, &mut unfit)).unwrap();
            assert_eq!(
                (&data[..8], &data[45..49]),
                (&b"Hastings"[..], &[2, 1, 0, 0][..])
            );
            assert_eq!(data[49..54], written);
            let mut read = Team::default();
            Teams::decode(&data, CodePage::WESTERN, &mut read).unwrap();
            assert_eq!(format!("{read:?}"), format!("{team:?}"));
        }
    }

    #[test]
    fn teams_are_sorted_by_title_number_season_year_and_nation() {
        let data = |title: u8, number, season, year, nation| {
            let mut data = [0; 63];
            (data[0], data[45], data[49]) = (title, number, season);
            (data[50], data[54]) = (year, nation);
            data
        };
        let sorted = [
            data(b'A', 9, 0, 9, 9),
            data(b'B', 1, 0, 9, 9),
            data(b'B', 2, 3, 5, 9),
            data(b'B', 2, 1, 6, 9),
            data(b'B', 2, 2, 4, 1),
            data(b'B', 2, 0, 4, 2),
        ];
        for (at, one) in sorted.iter().enumerate() {
            for (other_at, other) in sorted.iter().enumerate() {
                let found = Teams::compare(one, other, Collation::Unsigned).unwrap();
                assert_eq!(found, at.cmp(&other_at), "{at} {other_at}");
            }
        }
    }
}
