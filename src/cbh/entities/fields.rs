//! Writing of the fields of a record over its existing data.

use crate::bytes::{BytePatch, Malformed};
use crate::cbh::{CodePage, date};
use crate::game::{Date, cut};

/// Encoding of the names of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameForm {
    /// Code page of names that are not UTF-8.
    pub page: CodePage,
    /// Whether new names are written as UTF-8, as in current bases, or in the
    /// code page.
    pub is_utf8: bool,
}

/// An encoded name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spelling {
    pub(super) bytes: Vec<u8>,
    /// Whether the name is complete.
    pub(super) is_whole: bool,
}

impl NameForm {
    /// Encodes a name in at most `room` bytes, truncated between characters.
    /// The code page is used if the file uses it and the bytes decode to the
    /// same name; otherwise UTF-8.
    fn encode(self, name: &str, room: usize) -> Vec<u8> {
        let in_page = (!self.is_utf8).then(|| self.page.encode_new_name(name, room));
        in_page
            .flatten()
            .unwrap_or_else(|| cut(name, room).as_bytes().to_vec())
    }

    /// All possible contents of a field of `size` bytes for a name: first the
    /// one that would be written, and complete names before truncated ones.
    /// Real files contain fields without a terminating zero, and names cut
    /// within a character.
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

/// A name that had to be changed to fit its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Name of the field, for messages.
    pub field: &'static str,
    /// The name that is stored now.
    pub stored: String,
    /// The name that was to be stored.
    pub whole: String,
}

impl Unfit {
    /// Says that the name was cut.
    pub(crate) fn note_if_cut(&self) -> String {
        let Unfit {
            field,
            stored,
            whole,
        } = self;
        format!("{field}: \"{whole}\" does not fit and is stored as \"{stored}\"")
    }

    /// Says that other games share the stored name, which stays.
    pub(crate) fn note_if_kept(&self) -> String {
        let Unfit {
            field,
            stored,
            whole,
        } = self;
        let stays = if stored.is_empty() {
            "none".to_owned()
        } else {
            format!("\"{stored}\"")
        };
        format!("{field} stays {stays} for the games that share it, not \"{whole}\"")
    }
}

/// Writer of the data of a record, from front to back.
#[derive(Debug)]
pub(in crate::cbh) struct Fields<'a> {
    pub(super) patch: BytePatch<'a>,
    form: NameForm,
    unfit: &'a mut Vec<Unfit>,
}

impl<'a> Fields<'a> {
    /// Starts at the beginning of `data`. Names that do not fit are added to
    /// `unfit`.
    pub(super) fn new(data: &'a mut [u8], form: NameForm, unfit: &'a mut Vec<Unfit>) -> Fields<'a> {
        Fields {
            patch: BytePatch::new(data),
            form,
            unfit,
        }
    }

    /// Writes a name into a field of `size` bytes. The last byte stays 0, as
    /// nearly always in files by `ChessBase`. If the field has this name
    /// already, its bytes stay, including those after the zero.
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

    /// Writes a date into four bytes. Bits that are not part of the date stay.
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
    fn a_name_is_truncated_between_characters_and_reported() {
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
            // A letter that the code page lacks.
            ("a\u{142}b", false, b"a\xc5\x82b\0\0", None),
            (
                "\u{142}\u{e9}\u{e9}",
                false,
                b"\xc5\x82\xc3\xa9\0\0",
                Some("\u{142}\u{e9}"),
            ),
            ("a\0b", true, b"a\0\0\0\0\0", Some("a")),
            // Bytes of the code page that would be decoded as UTF-8.
            ("\u{c3}\u{a9}", false, b"\xc3\x83\xc2\xa9\0\0", None),
            // Their truncated form would be decoded as UTF-8.
            (
                "ab\u{c3}\u{a9}\u{e9}\u{e8}",
                false,
                b"ab\xc3\x83\0\0",
                Some("ab\u{c3}"),
            ),
            // They would indicate another code page.
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
    fn an_unchanged_name_keeps_its_bytes() {
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

    #[test]
    fn a_name_that_is_not_stored_is_told_with_what_is() {
        let unfit = Unfit {
            field: "Annotator",
            stored: "short".to_owned(),
            whole: "shorter".to_owned(),
        };
        assert_eq!(
            [unfit.note_if_cut(), unfit.note_if_kept()],
            [
                "Annotator: \"shorter\" does not fit and is stored as \"short\"",
                "Annotator stays \"short\" for the games that share it, not \"shorter\"",
            ]
        );
    }
}
