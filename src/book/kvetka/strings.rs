//! Strings of a Kvetka book.
//!
//! The published format says that integers are big-endian, but not the byte
//! order of the characters in Unicode strings. So it is guessed from the
//! strings themselves: in the wrong order, Latin and Cyrillic letters become
//! characters of other scripts.

use encoding_rs::{Encoding, WINDOWS_1251};

use crate::bytes::{ByteReader, Malformed};

/// The byte order of characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ByteOrder {
    #[default]
    Big,
    Little,
}

impl ByteOrder {
    fn unit(self, pair: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Big => u16::from_be_bytes(pair),
            ByteOrder::Little => u16::from_le_bytes(pair),
        }
    }

    /// Decodes UTF-16. Invalid characters become U+FFFD, and a byte order mark
    /// is omitted.
    pub(super) fn decode(self, bytes: &[u8]) -> String {
        let (pairs, _) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|&pair| self.unit(pair)).collect();
        let text = units.strip_prefix(&[0xFEFF]).unwrap_or(&units);
        String::from_utf16_lossy(text)
    }

    /// Returns the order that gives more characters of the Latin, Greek and
    /// Cyrillic scripts; big-endian if both give equally many.
    pub(super) fn of<'a>(strings: impl IntoIterator<Item = &'a [u8]>) -> ByteOrder {
        let (mut big, mut little) = (0_usize, 0_usize);
        for string in strings {
            for &pair in string.as_chunks::<2>().0 {
                let is_usual = |order: ByteOrder| (0x0009..0x0500).contains(&order.unit(pair));
                big += usize::from(is_usual(ByteOrder::Big));
                little += usize::from(is_usual(ByteOrder::Little));
            }
        }
        if little > big {
            ByteOrder::Little
        } else {
            ByteOrder::Big
        }
    }
}

/// Reads a Unicode string: a number of characters, then their bytes.
///
/// # Errors
///
/// [`Malformed`] if fewer bytes are left.
pub(super) fn unicode<'a>(reader: &mut ByteReader<'a>) -> Result<&'a [u8], Malformed> {
    let start = reader.position();
    let units = usize::try_from(reader.u32_be()?).unwrap_or(usize::MAX);
    let left = reader.rest().len();
    let bytes = units.checked_mul(2).filter(|&bytes| bytes <= left);
    let Some(bytes) = bytes else {
        let what = format!("a string of {units} characters, {left} bytes are left");
        return Err(Malformed::new(start, what));
    };
    reader.take(bytes)
}

/// Decodes an 8-bit string: as UTF-8 if valid, else in a code page.
pub(super) fn decode_8_bit(bytes: &[u8], page: &'static Encoding) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => page.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

/// The default code page: the program is Russian.
pub(super) const USUAL_PAGE: &Encoding = WINDOWS_1251;

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, order: ByteOrder) -> Vec<u8> {
        let units = text.encode_utf16();
        let bytes = units.map(|unit| match order {
            ByteOrder::Big => unit.to_be_bytes(),
            ByteOrder::Little => unit.to_le_bytes(),
        });
        bytes.flatten().collect()
    }

    #[test]
    fn strings_tell_their_byte_order() {
        for text in [
            "Дебютная книга",
            "E98|King's Indian",
            "Ä",
            "%currentdirx.pgn",
        ] {
            for order in [ByteOrder::Big, ByteOrder::Little] {
                let bytes = utf16(text, order);
                assert_eq!(ByteOrder::of([&*bytes]), order, "{text}");
                assert_eq!(order.decode(&bytes), text);
            }
        }
        assert_eq!(ByteOrder::of([&[][..]]), ByteOrder::Big);
        assert_eq!(ByteOrder::of([&[4, 4][..]]), ByteOrder::Big);
    }

    #[test]
    fn what_is_no_character_is_marked_and_a_byte_order_mark_left_out() {
        let order = ByteOrder::Big;
        assert_eq!(order.decode(&[0xFE, 0xFF, 0, 0x41]), "A");
        assert_eq!(order.decode(&[0, 0x41, 0xD8, 0, 0, 0x42]), "A\u{FFFD}B");
    }

    #[test]
    fn a_string_longer_than_its_place_is_refused() {
        let strings: [&[u8]; 3] = [&[0, 0, 0, 2, 0, 65, 0], &[0xFF; 12], &[0, 0]];
        for bytes in strings {
            assert!(unicode(&mut ByteReader::new(bytes)).is_err());
        }
        let mut reader = ByteReader::new(&[0, 0, 0, 1, 0, 65, 9]);
        assert_eq!(unicode(&mut reader).unwrap(), [0, 65]);
        assert_eq!(reader.rest(), [9]);
    }

    #[test]
    fn eight_bit_names_are_utf_8_or_of_the_code_page() {
        let name = |bytes: &[u8]| decode_8_bit(bytes, USUAL_PAGE);
        assert_eq!(name(b"\xca\xee\xf0\xf7\xed\xee\xe9"), "Корчной");
        assert_eq!(name("Müller".as_bytes()), "Müller");
        assert_eq!(
            decode_8_bit(b"M\xfcller", encoding_rs::WINDOWS_1252),
            "Müller"
        );
    }
}
