//! Teams, `.cbe`: title (45 bytes), number (u32), bit 0 of a byte: a season
//! of two years, year (u32; 9999 is "none"), nation (u8).

use super::{Kind, read_string};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::CodePage;
use crate::game::{Nation, Team};

/// The records of `.cbe`.
#[derive(Debug)]
pub(crate) enum Teams {}

/// Stands for "no year" beside 0.
const NO_YEAR: u32 = 9999;

impl Kind for Teams {
    type Value = Team;

    const DATA_BYTES: usize = 63;

    const STRINGS: &'static [usize] = &[45];

    fn decode(data: &[u8], page: CodePage, team: &mut Team) -> Result<(), Malformed> {
        let mut reader = ByteReader::new(data);
        read_string(&mut reader, 45, page, &mut team.title)?;
        team.number = reader.u32_le()?;
        team.is_season = reader.u8()? & 1 != 0;
        let year = reader.u32_le()?;
        team.year = if year == NO_YEAR { 0 } else { year };
        team.nation = Nation(reader.u8()?);
        team.is_given = true;
        Ok(())
    }
}
