//! Decoding of a text blob into titles and contents.

use encoding_rs::UTF_8;

use super::{Body, Content, GuidingText, TextLanguage};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::CodePage;
use crate::html;

/// Bit of the first byte that marks a blob as a text.
const IS_TEXT: u8 = 0x80;

/// Placeholder of an object in a plain text, and how it is shown.
const OBJECT: (char, &str) = ('\u{4}', "[#]");

/// Adds the titles and contents of `blob` to `text`. Takes time and memory
/// linear in the length of the blob: stated lengths are limited to the bytes
/// left.
///
/// # Errors
///
/// [`Malformed`] with the first defect. `text` contains everything that could
/// be read, also after it.
pub(in crate::cbh) fn decode(
    blob: &[u8],
    page: CodePage,
    text: &mut GuidingText,
) -> Result<(), Malformed> {
    let mut reader = ByteReader::new(blob);
    if reader.u8()? & IS_TEXT == 0 {
        return Err(Malformed::new(0, "a game, not a guiding text"));
    }
    reader.skip(3)?;
    let version = reader.u16_le()?;
    let Some(version) = Version::of(version) else {
        return Err(Malformed::new(4, format!("unknown text version {version}")));
    };
    for _ in 0..reader.u16_le()? {
        let language = language(reader.u16_le()?);
        let length = reader.u16_le()?;
        let mut title = String::new();
        page.decode_into(reader.take(usize::from(length))?, &mut title);
        text.titles.push((language, title.replace('\0', "")));
    }
    reader.skip(1)?;
    let mut first_fault = Ok(());
    for _ in 0..reader.u16_le()? {
        let at = reader.position();
        let read = read_content(&mut reader, version, page, text);
        let is_cut = reader.rest().is_empty();
        first_fault = first_fault.and(read.map_err(|what| Malformed::new(at, what)));
        if is_cut && first_fault.is_err() {
            break;
        }
    }
    first_fault
}

/// Layout of contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    PlainShort,
    PlainLong,
    Html,
}

impl Version {
    fn of(number: u16) -> Option<Version> {
        match number {
            1 => Some(Version::PlainShort),
            2 => Some(Version::PlainLong),
            3 => Some(Version::Html),
            _ => None,
        }
    }

    fn length(self, reader: &mut ByteReader<'_>) -> Result<usize, Malformed> {
        Ok(match self {
            Version::PlainShort => usize::from(reader.u16_le()?),
            Version::PlainLong | Version::Html => reader.u32_le()? as usize,
        })
    }
}

/// Reads one content as far as possible. Returns a description of its defect.
fn read_content(
    reader: &mut ByteReader<'_>,
    version: Version,
    page: CodePage,
    text: &mut GuidingText,
) -> Result<(), String> {
    let (number, length) = match reader.u16_le().and_then(|number| {
        let length = version.length(reader)?;
        Ok((number, length))
    }) {
        Ok(head) => head,
        Err(fault) => {
            // Without a header, the position of the next content is unknown.
            let _ = reader.skip(reader.rest().len());
            return Err(format!("content without a header: {}", fault.what));
        }
    };
    let left = reader.rest().len();
    let bytes = reader.take(length.min(left)).unwrap_or_default();
    let added = add_content(number, version, bytes, page, text);
    if length > left {
        return Err(format!("content of {length} bytes, {left} left"));
    }
    // HTML ends with a zero, which can be read as a length.
    let skipped = version
        .length(reader)
        .and_then(|format_bytes| reader.skip(format_bytes));
    if let Err(fault) = skipped {
        let _ = reader.skip(reader.rest().len());
        return added.and(Err(format!("format data: {}", fault.what)));
    }
    added
}

fn add_content(
    number: u16,
    version: Version,
    bytes: &[u8],
    page: CodePage,
    text: &mut GuidingText,
) -> Result<(), String> {
    let body = match version {
        Version::Html => Some(html_text(bytes, page))
            .filter(|page| html::has_content(page))
            .map(Body::Html),
        Version::PlainShort | Version::PlainLong => Some(plain_text(bytes, page))
            .filter(|text| !text.trim().is_empty())
            .map(Body::Plain),
    };
    let Some(body) = body else {
        return Ok(());
    };
    let Ok(number) = u8::try_from(number) else {
        return Err(format!("content in unknown language {number}"));
    };
    let language = TextLanguage(number);
    if text.contents.iter().any(|has| has.language == language) {
        return Err(format!("a second content in language {number}"));
    }
    text.contents.push(Content { language, body });
    Ok(())
}

fn language(number: u16) -> TextLanguage {
    u8::try_from(number).map_or(TextLanguage::ANY, TextLanguage)
}

fn html_text(bytes: &[u8], page: CodePage) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut text = String::new();
    match html::declared_encoding(bytes) {
        Some(encoding) if encoding != UTF_8 => {
            text.push_str(&encoding.decode_without_bom_handling(bytes).0);
        }
        _ => page.decode_into(bytes, &mut text),
    }
    without_nul(text)
}

fn plain_text(bytes: &[u8], page: CodePage) -> String {
    let mut text = String::new();
    page.decode_into(bytes, &mut text);
    let lines = without_nul(text).replace("\r\n", "\n").replace('\r', "\n");
    lines.replace(OBJECT.0, OBJECT.1)
}

fn without_nul(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A blob with this body, which starts with the version.
    fn blob(body: &[&[u8]]) -> Vec<u8> {
        let body = body.concat();
        let size = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[0x80], &size[1..], &body].concat()
    }

    fn decoded(blob: &[u8]) -> (GuidingText, Option<Malformed>) {
        let mut text = GuidingText::default();
        let fault = decode(blob, CodePage::default(), &mut text).err();
        (text, fault)
    }

    fn bodies(text: &GuidingText) -> Vec<(u8, &str)> {
        text.contents
            .iter()
            .map(|content| match &content.body {
                Body::Html(body) | Body::Plain(body) => (content.language.0, body.as_str()),
            })
            .collect()
    }

    #[test]
    fn version_1_is_plain_text_with_short_lengths() {
        let blob = blob(&[
            &[1, 0, 1, 0], // version, one title
            &[1, 0, 3, 0],
            b"F\xfcr",  // German
            &[0, 2, 0], // two contents
            &[1, 0, 8, 0],
            b"a\rb\r\n\x04\xe9c",
            &[2, 0],
            b"!!", // with format data
            &[0, 0, 1, 0],
            b" ",
            &[0, 0], // blank
        ]);
        let (text, fault) = decoded(&blob);
        assert_eq!(fault, None);
        assert_eq!(text.titles, [(TextLanguage(1), "Für".to_owned())]);
        assert_eq!(bodies(&text), [(1, "a\nb\n[#]éc")]);
        assert!(matches!(text.contents[0].body, Body::Plain(_)));
    }

    #[test]
    fn version_2_has_longer_lengths() {
        let blob = blob(&[
            &[2, 0, 0, 0, 1, 1, 0],
            &[7, 0, 2, 0, 0, 0],
            b"ab",
            &[1, 0, 0, 0],
            b"!",
        ]);
        let (text, fault) = decoded(&blob);
        assert_eq!((bodies(&text), fault), (vec![(7, "ab")], None));
    }

    fn page(language: u8, html: &[u8]) -> Vec<u8> {
        let length = u8::try_from(html.len()).unwrap();
        [&[language, 0, length, 0, 0, 0], html, &[0; 4]].concat()
    }

    #[test]
    fn version_3_is_html_in_its_declared_encoding() {
        let blob = blob(&[
            &[3, 0, 0, 0, 1, 6, 0],
            &page(0, b"<meta charset=utf-8>\xc3\xa9"),
            &page(1, b"<meta charset=windows-1251>\xca"),
            &page(2, b"\xef\xbb\xbf\xc3\xa9\0"),
            &page(3, b"\xe9t\xe9"),
            &page(4, b"<html><body> </body></html>"),
            &page(5, b"<img src=x>"),
        ]);
        let (text, fault) = decoded(&blob);
        assert_eq!(fault, None);
        assert_eq!(
            bodies(&text),
            [
                (0, "<meta charset=utf-8>é"),
                (1, "<meta charset=windows-1251>К"),
                (2, "é"),
                (3, "été"),
                (5, "<img src=x>"),
            ]
        );
    }

    #[test]
    fn a_page_that_wrongly_claims_utf8_is_in_the_page_of_the_base() {
        let blob = blob(&[
            &[3, 0, 0, 0, 1, 1, 0],
            &page(0, b"<meta charset=utf-8>\xe9t"),
        ]);
        assert_eq!(bodies(&decoded(&blob).0), [(0, "<meta charset=utf-8>ét")]);
    }

    #[test]
    fn the_present_part_of_a_truncated_text_is_read() {
        let whole = blob(&[
            &[3, 0, 1, 0],
            &[0, 0, 1, 0],
            b"T",
            &[1, 2, 0],
            &page(0, b"one"),
            &page(1, b"two"),
        ]);
        let (text, fault) = decoded(&whole[..whole.len() - 5]);
        assert_eq!(bodies(&text), [(0, "one"), (1, "tw")]);
        assert_eq!(fault.unwrap().what, "content of 3 bytes, 2 left");
        for length in 0..whole.len() {
            let (text, fault) = decoded(&whole[..length]);
            assert!(fault.is_some(), "{length}");
            assert!(length < 13 || text.titles.len() == 1, "{length}");
        }
    }

    #[test]
    fn a_fault_of_one_content_leaves_the_others() {
        let blob = blob(&[
            &[3, 0, 0, 0, 1, 4, 0],
            &page(0, b"one"),
            &page(0, b"again"),
            &[0, 1, 1, 0, 0, 0],
            b"x",
            &[0; 4], // language 256
            &page(1, b"two"),
        ]);
        let (text, fault) = decoded(&blob);
        assert_eq!(bodies(&text), [(0, "one"), (1, "two")]);
        assert_eq!(fault.unwrap().what, "a second content in language 0");
    }

    #[test]
    fn games_and_unknown_versions_are_no_texts() {
        let (_, fault) = decoded(&[0, 0, 0, 8, 1, 0, 0, 0]);
        assert_eq!(fault.unwrap().what, "a game, not a guiding text");
        let (_, fault) = decoded(&[0x80, 0, 0, 8, 4, 0, 0, 0]);
        assert_eq!(fault.unwrap().what, "unknown text version 4");
    }

    #[test]
    fn wrong_counts_cost_no_time() {
        let blob = blob(&[&[3, 0, 0, 0, 1, 0xff, 0xff], &page(0, b"x")]);
        let (text, fault) = decoded(&blob);
        assert_eq!(text.contents.len(), 1);
        assert!(fault.unwrap().what.starts_with("content without a header"));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_to_a_text_or_a_fault(
            version in 0..5u8,
            bytes in prop::collection::vec(prop_oneof![0..8u8, any::<u8>()], 0..200),
        ) {
            let (text, _) = decoded(&blob(&[&[version, 0], &bytes]));
            let all: usize = bodies(&text).iter().map(|(_, body)| body.len()).sum();
            prop_assert!(all <= 3 * bytes.len());
        }
    }
}
