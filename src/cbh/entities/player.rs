//! Players, `.cbp`: last name (30 bytes), first name (20).

use super::{EntityLayout, Fields, read_string};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::CodePage;
use crate::game::PlayerName;

/// The records of `.cbp`.
#[derive(Debug)]
pub(crate) enum Players {}

impl EntityLayout for Players {
    type Value = PlayerName;

    const DATA_BYTES: usize = 58;

    const STRINGS: &'static [usize] = &[30, 20];

    fn decode(data: &[u8], page: CodePage, name: &mut PlayerName) -> Result<(), Malformed> {
        let mut reader = ByteReader::new(data);
        read_string(&mut reader, 30, page, &mut name.last)?;
        read_string(&mut reader, 20, page, &mut name.first)
    }

    fn encode(name: &PlayerName, fields: &mut Fields<'_>) -> Result<(), Malformed> {
        fields.string("last name", 30, &name.last)?;
        fields.string("first name", 20, &name.first)
    }
}
