//! Labels of games, `.cbl`: eight titles of 200 bytes each, in English,
//! German, French, Spanish, Italian, Dutch and two spare languages.

use super::{EntityLayout, Fields, read_string};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::CodePage;
use crate::game::GameLabel;

/// The records of `.cbl`.
#[derive(Debug)]
pub(crate) enum TagRecords {}

impl EntityLayout for TagRecords {
    type Value = GameLabel;

    const DATA_BYTES: usize = 1608;

    const STRINGS: &'static [usize] = &[200; 8];

    fn decode(data: &[u8], page: CodePage, tag: &mut GameLabel) -> Result<(), Malformed> {
        let mut reader = ByteReader::new(data);
        tag.titles
            .iter_mut()
            .try_for_each(|title| read_string(&mut reader, 200, page, title))
    }

    fn encode(tag: &GameLabel, fields: &mut Fields<'_>) -> Result<(), Malformed> {
        tag.titles
            .iter()
            .try_for_each(|title| fields.string("title", 200, title))
    }
}
