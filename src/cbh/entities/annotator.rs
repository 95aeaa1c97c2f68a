//! Annotators, `.cbc`: name (45 bytes).

use super::{EntityLayout, Fields, read_string};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::CodePage;

/// The records of `.cbc`.
#[derive(Debug)]
pub(crate) enum Annotators {}

impl EntityLayout for Annotators {
    type Value = String;

    const DATA_BYTES: usize = 53;

    const STRINGS: &'static [usize] = &[45];

    fn decode(data: &[u8], page: CodePage, name: &mut String) -> Result<(), Malformed> {
        read_string(&mut ByteReader::new(data), 45, page, name)
    }

    fn encode(name: &String, fields: &mut Fields<'_>) -> Result<(), Malformed> {
        fields.string("Annotator", 45, name)
    }
}
