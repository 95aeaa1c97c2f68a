//! The fields of a record's data, written over those that are there.

use crate::bytes::{BytePatch, Malformed};
use crate::cbh::{CodePage, date};
use crate::game::Date;

/// How the names of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameForm {
    /// The page that names are read with which are not UTF-8.
    pub page: CodePage,
    /// Whether new names are UTF-8, as in bases of today, or in the page.
    pub is_utf8: bool,
}

impl NameForm {
    /// The bytes of a name, one `?` for each character that the page lacks.
    fn encode(self, name: &str) -> Vec<u8> {
        if self.is_utf8 {
            return name.as_bytes().to_vec();
        }
        if let Some(bytes) = self.page.encode_exactly(name) {
            return bytes;
        }
        let mut buffer = [0; 4];
        name.chars()
            .flat_map(|character| {
                let character = character.encode_utf8(&mut buffer);
                let bytes = self.page.encode_exactly(character);
                bytes.unwrap_or_else(|| b"?".to_vec())
            })
            .collect()
    }

    /// As much of a name as `room` bytes hold, cut between characters.
    fn cut(self, mut bytes: Vec<u8>, room: usize) -> Vec<u8> {
        let mut end = bytes.len().min(room);
        let continues = |byte: &u8| byte & 0xc0 == 0x80;
        while self.is_utf8 && end > 0 && bytes.get(end).is_some_and(continues) {
            end -= 1;
        }
        bytes.truncate(end);
        bytes
    }

    fn decode(self, bytes: &[u8]) -> String {
        let mut text = String::new();
        self.page.decode_into(bytes, &mut text);
        text
    }
}

/// A name that its field cannot hold as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Which field, in words.
    pub field: &'static str,
    /// What is read from the file now.
    pub stored: String,
    /// What should have been stored.
    pub whole: String,
}

/// How much of a field a name may fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// All but the last byte, which stays 0: so ChessBase writes nearly all.
    BeforeZero,
    /// All: such names occur.
    Full,
}

/// Writes the data of a record, front to back.
#[derive(Debug)]
pub(in crate::cbh) struct Fields<'a> {
    pub(super) patch: BytePatch<'a>,
    form: NameForm,
    room: Room,
    unfit: &'a mut Vec<Unfit>,
}

impl<'a> Fields<'a> {
    /// Begins at the front of `data`; notes what does not fit in `unfit`.
    pub(super) fn new(
        data: &'a mut [u8],
        form: NameForm,
        room: Room,
        unfit: &'a mut Vec<Unfit>,
    ) -> Fields<'a> {
        Fields {
            patch: BytePatch::new(data),
            form,
            room,
            unfit,
        }
    }

    /// Writes a name into a field of `size` bytes. A field that says the same
    /// keeps its bytes, with the garbage behind the zero.
    pub(super) fn string(
        &mut self,
        field: &'static str,
        size: usize,
        name: &str,
    ) -> Result<(), Malformed> {
        let place = self.patch.take(size)?;
        let stored = place.split(|&byte| byte == 0).next().unwrap_or_default();
        if self.form.decode(stored) == name {
            return Ok(());
        }
        let room = match self.room {
            Room::BeforeZero => size.saturating_sub(1),
            Room::Full => size,
        };
        let bytes = self.form.cut(self.form.encode(name), room);
        let until_zero = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        place.fill(0);
        for (place, byte) in place.iter_mut().zip(until_zero) {
            *place = *byte;
        }
        let stored = self.form.decode(until_zero);
        if stored != name {
            self.unfit.push(Unfit {
                field,
                stored,
                whole: name.to_owned(),
            });
        }
        Ok(())
    }

    /// Writes a date of four bytes; what stands beside it stays.
    pub(super) fn date(&mut self, day: Date) -> Result<(), Malformed> {
        let place = self.patch.array()?;
        *place = date::encode(day, u32::from_le_bytes(*place))?.to_le_bytes();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(old: &[u8], name: &str, is_utf8: bool) -> (Vec<u8>, Option<String>) {
        let form = NameForm {
            page: CodePage::default(),
            is_utf8,
        };
        let (mut data, mut unfit) = (old.to_vec(), Vec::new());
        Fields::new(&mut data, form, Room::BeforeZero, &mut unfit)
            .string("name", old.len(), name)
            .unwrap();
        let stored = unfit.pop().map(|unfit| {
            assert_eq!((unfit.field, unfit.whole.as_str()), ("name", name));
            unfit.stored
        });
        (data, stored)
    }

    #[test]
    fn a_name_is_cut_between_characters_and_the_caller_learns_of_it() {
        for (name, is_utf8, bytes, stored) in [
            ("abcd", true, &b"abcd\0\0"[..], None),
            ("abcde", true, b"abcde\0", None),
            ("abcdef", true, b"abcde\0", Some("abcde")),
            ("abc\u{e9}", true, b"abc\xc3\xa9\0", None),
            ("abcd\u{e9}", true, b"abcd\0\0", Some("abcd")),
            ("abc\u{4e2d}", true, b"abc\0\0\0", Some("abc")),
            (
                "\u{1f600}\u{1f600}",
                true,
                b"\xf0\x9f\x98\x80\0\0",
                Some("\u{1f600}"),
            ),
            ("abcd\u{e9}", false, b"abcd\xe9\0", None),
            ("abcd\u{e9}f", false, b"abcd\xe9\0", Some("abcd\u{e9}")),
            ("a\u{142}b", false, b"a?b\0\0\0", Some("a?b")),
            ("a\0b", true, b"a\0\0\0\0\0", Some("a")),
            // Bytes of the page that would be read as UTF-8.
            ("\u{c3}\u{a9}", false, b"\xc3\xa9\0\0\0\0", Some("\u{e9}")),
        ] {
            let (data, found) = written(b"xyz\0\xaa\xaa", name, is_utf8);
            assert_eq!((&data[..], found.as_deref()), (bytes, stored), "{name:?}");
        }
    }

    #[test]
    fn a_name_that_stays_keeps_its_bytes() {
        for (old, name) in [
            (&b"abc\0\xaa\xbb"[..], "abc"),
            (b"abcdef", "abcdef"),
            (b"M\xfcll\0x", "M\u{fc}ll"),
            (b"\0garba", ""),
        ] {
            for is_utf8 in [false, true] {
                assert_eq!(written(old, name, is_utf8), (old.to_vec(), None));
            }
        }
    }
}
