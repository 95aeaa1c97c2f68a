//! Reading of guiding texts.

use std::io;

use super::headers::Lookup;
use super::{
    Database, Error, FileKind, GameId, RECORD_BYTES, ReadBuffer, RecordKind, blob_size, defect,
    record_offset, with_blob,
};
use crate::bytes::Malformed;
use crate::cbh::record::{self, TextRecord};
use crate::cbh::texts::{self, GuidingText};

/// Records looked at in one read when all are.
const RECORDS_AT_ONCE: u32 = 4096;

impl Database {
    /// Reads one guiding text into `text`.
    ///
    /// # Errors
    ///
    /// [`Error::NotUsed`] if no text has the number; [`Error::Io`] if its
    /// record cannot be read, or the medium fails. Damage in the text or an
    /// entity is no error: `text` has what could be read and says what not.
    pub fn read_text(&self, id: GameId, text: &mut GuidingText) -> Result<(), Error> {
        *text = GuidingText::default();
        let buffer = &mut ReadBuffer::default();
        let record = TextRecord::decode(self.record(id, RecordKind::Text, buffer)?)
            .map_err(|fault| self.malformed(FileKind::Headers, record_offset(id.0), fault))?;
        self.read_text_record(&record, buffer, text)?;
        let extended = self.extended_record(id, buffer)?;
        let io = |source| self.io(FileKind::Moves, source);
        let offset = self.moves_offset(record.offset, &extended).map_err(io)?;
        text.defects.extend(self.unsure_offset(offset, &extended));
        if let Err(fault) = self.read_text_body(offset, buffer, text).map_err(io)? {
            text.defects.push(defect("cbg", offset, fault));
        }
        Ok(())
    }

    fn read_text_record(
        &self,
        record: &TextRecord,
        buffer: &mut ReadBuffer,
        text: &mut GuidingText,
    ) -> Result<(), Error> {
        text.round = record.round;
        text.subround = record.subround;
        let mut lookup = Lookup {
            database: self,
            buffer,
            defects: &mut text.defects,
        };
        lookup.read(
            FileKind::Tournaments,
            &self.tournaments,
            record.tournament,
            &mut text.tournament,
        )?;
        lookup.read(
            FileKind::Sources,
            &self.sources,
            record.source,
            &mut text.source,
        )?;
        lookup.read(
            FileKind::Annotators,
            &self.annotators,
            record.annotator,
            &mut text.annotator,
        )
    }

    /// Reads the blob at `offset`; of one that ended past the file when the base
    /// was opened, what is there.
    pub(in crate::cbh) fn read_text_body(
        &self,
        offset: u64,
        buffer: &mut ReadBuffer,
        text: &mut GuidingText,
    ) -> io::Result<Result<(), Malformed>> {
        let decode = |blob: &[u8]| texts::decode(blob, self.page, text);
        with_blob(self.moves.as_ref(), offset, blob_size, buffer, decode)
    }

    /// Appends the numbers of all guiding texts, deleted ones too, by looking
    /// at each record of `.cbh`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; `texts` has those before the place.
    pub fn texts(&self, texts: &mut Vec<GameId>) -> Result<(), Error> {
        self.for_each_record(&mut |id, bytes| {
            if let Some((RecordKind::Text, _)) = record::decode_kind(bytes) {
                texts.push(id);
            }
        })
    }

    /// Gives each record of `.cbh` to `take`.
    pub(super) fn for_each_record(&self, take: &mut dyn FnMut(GameId, &[u8])) -> Result<(), Error> {
        let mut buffer = ReadBuffer::default();
        let mut first = 1;
        while first <= self.last_id {
            let count = RECORDS_AT_ONCE.min(self.last_id - first + 1);
            let length = RECORD_BYTES * count as usize;
            let records = self
                .headers
                .read(record_offset(first), length, &mut buffer)
                .map_err(|source| self.io(FileKind::Headers, source))?;
            for (id, bytes) in (first..).zip(records.chunks_exact(RECORD_BYTES)) {
                take(GameId(id), bytes);
            }
            let Some(next) = first.checked_add(count) else {
                break;
            };
            first = next;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::cbh::base::samples::copy_of;
    use crate::cbh::{Body, Options, TextLanguage};

    fn fixture(path: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures/cbh")
            .join(path)
    }

    fn text(database: &Database, id: u32) -> GuidingText {
        let mut text = GuidingText::default();
        database.read_text(GameId(id), &mut text).unwrap();
        text
    }

    #[test]
    fn texts_of_all_versions_are_read_with_their_record() {
        let database = Database::open(&fixture("texts/texts.cbh"), &Options::default()).unwrap();
        let [one, two, three] = [1, 2, 3].map(|id| text(&database, id));
        let plain = Body::Plain("Plain text,\nin an 8-bit page: café.".to_owned());
        assert_eq!(one.contents[0].body, plain);
        assert_eq!(two.title(TextLanguage::ENGLISH), "Version two");
        assert_eq!(three.tournament.title, "A report");
        assert_eq!(
            (three.source.title.as_str(), three.round),
            ("A magazine", 3)
        );
        assert_eq!(three.annotator, "A Writer");
        let languages = three.contents.iter().map(|content| content.language.0);
        assert_eq!(languages.collect::<Vec<_>>(), [0, 1]);
        assert!(three.defects.is_empty());
        assert!(text(&database, 7).contents.is_empty());
    }

    #[test]
    fn games_are_no_texts() {
        let database = Database::open(&fixture("texts/texts.cbh"), &Options::default()).unwrap();
        let mut text = GuidingText::default();
        for id in [0, 4, 10_000] {
            let read = database.read_text(GameId(id), &mut text);
            assert!(matches!(read, Err(Error::NotUsed(GameId(no))) if no == id));
        }
        let mut texts = Vec::new();
        database.texts(&mut texts).unwrap();
        assert!(texts.contains(&GameId(6)), "deleted ones are listed");
        assert!(!texts.contains(&GameId(4)));
    }

    #[test]
    fn a_text_truncated_by_end_of_file_is_read_up_to_it() {
        let (_directory, path) = copy_of("texts");
        let moves = path.with_extension("cbg");
        // The first text begins at 26 and takes 67 bytes.
        let bytes = fs::read(&moves).unwrap();
        fs::write(&moves, &bytes[..26 + 50]).unwrap();
        let database = Database::open(&path, &Options::default()).unwrap();
        let one = text(&database, 1);
        assert_eq!(
            one.contents[0].body,
            Body::Plain("Plain text,\nin an 8-".to_owned())
        );
        assert_eq!(
            one.defects[0].to_string(),
            ".cbg at 0x1a: blob of 67 bytes ends past the file (50 left)"
        );
        let two = text(&database, 2);
        assert!(two.contents.is_empty());
        assert_eq!(two.defects.len(), 1);
    }

    #[test]
    fn a_text_cut_short_since_the_base_was_opened_is_an_error() {
        let (_directory, path) = copy_of("texts");
        let database = Database::open(&path, &Options::default()).unwrap();
        let moves = fs::File::options()
            .write(true)
            .open(path.with_extension("cbg"));
        // Inside of the text, of its size, and before it.
        for left in [26 + 50, 26 + 2, 20] {
            moves.as_ref().unwrap().set_len(left).unwrap();
            let read = database.read_text(GameId(1), &mut GuidingText::default());
            assert!(matches!(read, Err(Error::Io { .. })), "{left}: {read:?}");
            let checked = database.check(&|_| {}, &mut |_| {});
            assert!(matches!(checked, Err(Error::Io { .. })), "{left}");
        }
    }
}
