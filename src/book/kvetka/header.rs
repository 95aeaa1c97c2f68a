//! The header at the start of the first `.kob`.

use std::path::Path;

use super::strings::unicode;
use crate::book::{Error, HeaderField};
use crate::bytes::{ByteReader, Malformed};
use crate::storage::{ReadBuffer, Storage};

/// The only known type of book.
const TYPE: u8 = 1;

/// Number of bytes read first; few titles are longer.
const USUAL_BYTES: usize = 1024;

/// Maximum length of a header: a title may have 1 MiB.
const MAX_BYTES: usize = (1 << 20) + 64;

/// Bit of `element_type`: elements can reference games.
const HAS_GAMES: u8 = 1;

/// A header.
#[derive(Clone, Debug)]
pub(super) struct KvetkaHeader {
    /// Title of the book, not decoded.
    pub(super) caption: Vec<u8>,
    /// Filters of the import, and other fields to show.
    pub(super) fields: Vec<HeaderField>,
    /// Whether elements can reference games.
    pub(super) has_games: bool,
    /// Number of blocks of the book.
    pub(super) blocks: u32,
    /// Length of the header in bytes.
    pub(super) bytes: usize,
}

/// Reads the header of a book from `file`; `path` is for messages.
///
/// # Errors
///
/// [`Error::Io`]; errors of [`parse`].
pub(super) fn read(file: &dyn Storage, path: &Path) -> Result<KvetkaHeader, Error> {
    let mut buffer = ReadBuffer::default();
    let mut parsed = |most| {
        let bytes = file.read_up_to(0, most, &mut buffer);
        let bytes = bytes.map_err(|source| Error::Io {
            file: path.to_path_buf(),
            source,
        })?;
        parse(bytes, path)
    };
    match parsed(USUAL_BYTES) {
        Err(Error::Malformed { .. }) => parsed(MAX_BYTES),
        read => read,
    }
}

/// Parses the header in `bytes`, the begin of the file `path`.
///
/// # Errors
///
/// [`Error::Unsupported`] for another type of book, [`Error::Malformed`] if
/// the file ends before its header.
fn parse(bytes: &[u8], path: &Path) -> Result<KvetkaHeader, Error> {
    let malformed = |Malformed { offset, what }| Error::Malformed {
        file: path.to_path_buf(),
        offset: offset as u64,
        what: format!("no header of a Kvetka book: {what}"),
    };
    let mut reader = ByteReader::new(bytes);
    let kind = reader.u8().map_err(malformed)?;
    if kind != TYPE {
        return Err(Error::Unsupported {
            file: path.to_path_buf(),
            what: format!("unsupported book type {kind}; Kvetka's books have type {TYPE}"),
        });
    }
    read_rest(reader, kind).map_err(malformed)
}

fn read_rest(mut reader: ByteReader<'_>, kind: u8) -> Result<KvetkaHeader, Malformed> {
    let caption = unicode(&mut reader)?.to_vec();
    let mut fields = Vec::new();
    let mut field = |name, value: u64| {
        fields.push(HeaderField {
            file: "kob",
            name,
            value,
        });
    };
    field("type", kind.into());
    for name in [
        "least_white_elo",
        "least_black_elo",
        "least_strong_elo",
        "least_weak_elo",
    ] {
        field(name, reader.u16_be()?.into());
    }
    field("max_half_moves", reader.u8()?.into());
    let element_type = reader.u8()?;
    field("element_type", element_type.into());
    field("links", reader.u8()?.into());
    let blocks = reader.u32_be()?;
    field("blocks", blocks.into());
    Ok(KvetkaHeader {
        caption,
        fields,
        has_games: element_type & HAS_GAMES != 0,
        blocks,
        bytes: reader.position(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    fn bytes(caption: &[u8]) -> Vec<u8> {
        let units = u32::try_from(caption.len() / 2).unwrap();
        let elo = [0x08, 0xFC, 0, 0, 0, 0, 0, 1];
        [
            &[1][..],
            &units.to_be_bytes(),
            caption,
            &elo,
            &[0xFF, 1, 0],
            &[0, 0, 1, 2],
        ]
        .concat()
    }

    #[test]
    fn a_header_is_read() {
        let bytes = bytes(&[0, 65]);
        let header = parse(&bytes, Path::new("x_0.kob")).unwrap();
        assert_eq!(header.caption, [0, 65]);
        assert!(header.has_games);
        assert_eq!(header.blocks, 0x102);
        assert_eq!(header.bytes, bytes.len());
        let values: Vec<u64> = header.fields.iter().map(|field| field.value).collect();
        assert_eq!(values, [1, 0x8FC, 0, 0, 1, 0xFF, 1, 0, 0x102]);
        let mut without = bytes;
        let place = without.len() - 6;
        without[place] = 2;
        let header = parse(&without, Path::new("x_0.kob")).unwrap();
        assert!(!header.has_games);
    }

    #[test]
    fn a_header_that_is_cut_or_of_another_type_is_refused() {
        let whole = bytes(&[0, 65, 0, 66]);
        for end in 0..whole.len() {
            let error = parse(&whole[..end], Path::new("x_0.kob")).unwrap_err();
            assert!(matches!(error, Error::Malformed { .. }), "{error}");
        }
        let other = [&[2][..], &whole[1..]].concat();
        let error = parse(&other, Path::new("x_0.kob")).unwrap_err().to_string();
        assert!(error.contains("unsupported book type 2"), "{error}");
    }

    #[test]
    fn a_long_title_is_read_whole() {
        let bytes = bytes(&[0x41; 5000]);
        let header = read(&MemoryFile::from(bytes), Path::new("x_0.kob")).unwrap();
        assert_eq!(header.caption.len(), 5000);
    }

    #[test]
    fn a_title_of_more_than_a_mib_is_refused() {
        let read = |length| {
            let bytes = bytes(&vec![0x41; length]);
            read(&MemoryFile::from(bytes), Path::new("x_0.kob"))
        };
        assert!(read(MAX_BYTES - 20).is_ok_and(|header| header.bytes == (1 << 20) + 64));
        assert!(matches!(read(MAX_BYTES - 18), Err(Error::Malformed { .. })));
    }
}
