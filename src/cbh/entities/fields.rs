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

/// A name as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spelling {
    pub(super) bytes: Vec<u8>,
    /// Whether that is all of the name.
    pub(super) is_whole: bool,
}

impl NameForm {
    /// A new name in at most `room` bytes, cut between characters: in the page
    /// if the file's names are and it is read back from it, else in UTF-8.
    fn encode(self, name: &str, room: usize) -> Vec<u8> {
        let in_page = (!self.is_utf8).then(|| self.page.encode_new_name(name, room));
        in_page
            .flatten()
            .unwrap_or_else(|| cut(name, room).as_bytes().to_vec())
    }

    /// All ways in which a field of `size` bytes may have a name: what it
    /// should be first, and what has all of it before what has a part. Fields
    /// are found that have no zero, or end within a character.
    pub(super) fn spellings(self, name: &str, size: usize) -> Vec<Spelling> {
        let until_zero = name.split('\0').next().unwrap_or_default();
        if until_zero.is_ascii() && until_zero.len() < size {
            let (bytes, is_whole) = (until_zero.as_bytes().to_vec(), until_zero == name);
            return vec![Spelling { bytes, is_whole }];
        }
        let in_page = |room| self.page.encode_name(until_zero, room);
        let in_utf8 = until_zero.as_bytes();
        let rooms = [size.saturating_sub(1), size];
        let mut all = Vec::new();
        for room in rooms {
            all.push(self.encode(until_zero, room));
            all.push(cut(until_zero, room).as_bytes().to_vec());
            all.push(in_utf8.get(..room).unwrap_or(in_utf8).to_vec());
            all.extend(in_page(room));
        }
        let mut spellings: Vec<Spelling> = Vec::new();
        for bytes in all {
            let is_whole = self.decode(&bytes) == name;
            let spelling = Spelling { bytes, is_whole };
            if !spellings.contains(&spelling) {
                spellings.push(spelling);
            }
        }
        spellings.sort_by_key(|spelling| !spelling.is_whole);
        spellings
    }

    fn decode(self, bytes: &[u8]) -> String {
        let mut text = String::new();
        self.page.decode_into(bytes, &mut text);
        text
    }
}

/// As much of a name as `room` bytes hold, cut between characters.
fn cut(name: &str, room: usize) -> &str {
    name.get(..name.floor_char_boundary(room)).unwrap_or(name)
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

/// Writes the data of a record, front to back.
#[derive(Debug)]
pub(in crate::cbh) struct Fields<'a> {
    pub(super) patch: BytePatch<'a>,
    form: NameForm,
    unfit: &'a mut Vec<Unfit>,
}

impl<'a> Fields<'a> {
    /// Begins at the front of `data`; notes what does not fit in `unfit`.
    pub(super) fn new(data: &'a mut [u8], form: NameForm, unfit: &'a mut Vec<Unfit>) -> Fields<'a> {
        Fields {
            patch: BytePatch::new(data),
            form,
            unfit,
        }
    }

    /// Writes a name into a field of `size` bytes, of which the last one stays
    /// 0: so `ChessBase` writes nearly all. A field that says the same keeps its
    /// bytes, with the garbage behind the zero.
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
        let until_zero = name.split('\0').next().unwrap_or_default();
        let bytes = self.form.encode(until_zero, size.saturating_sub(1));
        place.fill(0);
        for (place, byte) in place.iter_mut().zip(&bytes) {
            *place = *byte;
        }
        let stored = self.form.decode(&bytes);
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
        Fields::new(&mut data, form, &mut unfit)
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
            // A character that the page lacks.
            ("a\u{142}b", false, b"a\xc5\x82b\0\0", None),
            (
                "\u{142}\u{e9}\u{e9}",
                false,
                b"\xc5\x82\xc3\xa9\0\0",
                Some("\u{142}\u{e9}"),
            ),
            ("a\0b", true, b"a\0\0\0\0\0", Some("a")),
            // Bytes of the page that would be read as UTF-8.
            ("\u{c3}\u{a9}", false, b"\xc3\x83\xc2\xa9\0\0", None),
            // Cut, they would be.
            (
                "ab\u{c3}\u{a9}\u{e9}\u{e8}",
                false,
                b"ab\xc3\x83\0\0",
                Some("ab\u{c3}"),
            ),
            // They would speak for another page.
            (
                "\u{c0}\u{c1}\u{c2}",
                false,
                b"\xc3\x80\xc3\x81\0\0",
                Some("\u{c0}\u{c1}"),
            ),
            ("\u{bf}e?", false, b"\xc2\xbfe?\0\0", None),
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
