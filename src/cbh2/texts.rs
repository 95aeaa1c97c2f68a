//! The bodies of guiding texts, in `.2cbg`.
//!
//! | bytes | type | meaning |
//! |---|---|---|
//! | 2 | u16 | 5 |
//! | 4 | i32 | bytes that follow |
//! | 4 | i32 | number of languages |
//! | … | | each: nation of the language i32, length i32, HTML |
//!
//! Titles are labels, see [`entities`](super::entities).

use super::entities::language_of;
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::{Body, CodePage, Content, GuidingText, TextLanguage};
use crate::html;

const VERSION: u16 = 5;

/// Adds the contents to `text`, without those that show nothing.
///
/// # Errors
///
/// [`Malformed`] for the first fault. `text` has the part read before it.
pub(super) fn decode(
    content: &[u8],
    page: CodePage,
    text: &mut GuidingText,
) -> Result<(), Malformed> {
    let mut reader = ByteReader::new(content);
    let version = reader.u16_le()?;
    if version != VERSION {
        return Err(Malformed::new(0, format!("version {version} of texts")));
    }
    let claimed = reader.u32_le()? as usize;
    let left = reader.rest().len();
    let mut second = None;
    for _ in 0..reader.u32_le()? {
        let language = TextLanguage(language_of(reader.u32_le()?));
        let length = reader.u32_le()? as usize;
        let mut body = String::new();
        page.decode_into(reader.take(length)?, &mut body);
        if !html::has_content(&body) {
            continue;
        }
        if text.contents.iter().any(|has| has.language == language) {
            second = second.or(Some(language));
            continue;
        }
        let body = Body::Html(body);
        text.contents.push(Content { language, body });
    }
    let surplus = reader.rest().len();
    if surplus > 0 || claimed != left {
        let what =
            format!("a text of {claimed} bytes has {left}, of which {surplus} follow its end");
        return Err(Malformed::new(2, what));
    }
    if let Some(TextLanguage(language)) = second {
        let what = format!("a second content in language {language}");
        return Err(Malformed::new(6, what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_content_in_a_language_is_named_and_left_out() {
        let mut content = vec![5, 0, 0, 0, 0, 0, 2, 0, 0, 0];
        for page in [b"<p>one", b"<p>two"] {
            content.extend([42, 0, 0, 0, 6, 0, 0, 0]);
            content.extend(page);
        }
        content[2] = u8::try_from(content.len() - 6).unwrap();
        let mut text = GuidingText::default();
        let fault = decode(&content, CodePage::WESTERN, &mut text).unwrap_err();
        assert_eq!(fault.what, "a second content in language 0");
        let bodies: Vec<_> = text.contents.iter().map(|content| &content.body).collect();
        assert_eq!(bodies, [&Body::Html("<p>one".to_owned())]);
    }

    #[test]
    fn a_text_that_chessbase_wrote_is_read_in_both_its_languages() {
        // source: a whole record of the base "probe".
        let content = "050002010000070000002a000000740000003c21444f43545950452048544d4c3e3c68746d6c3e3c686561643e3c2f686561643e3c626f64793e3c703e546869732069732061207465787420696e20456e676c6973682e203c7374726f6e673e426f6c64207374796c65213c2f7374726f6e673e3c2f703e3c2f626f64793e3c2f68746d6c3e2b00000000000000310000000000000035000000520000003c21444f43545950452048544d4c3e3c68746d6c3e3c686561643e3c2f686561643e3c626f64793e3c703e45696e20626973736368656e2044657574736368213c2f703e3c2f626f64793e3c2f68746d6c3e460000000000000067000000000000007500000000000000";
        let content = data_encoding::HEXLOWER.decode(content.as_bytes()).unwrap();
        let mut text = GuidingText::default();
        decode(&content, CodePage::WESTERN, &mut text).unwrap();
        let languages: Vec<u8> = text
            .contents
            .iter()
            .map(|content| content.language.0)
            .collect();
        assert_eq!(languages, [0, 1]);
        assert!(
            matches!(&text.contents[1].body, Body::Html(page) if page.contains("Ein bisschen"))
        );
        for end in 0..content.len() {
            let mut cut = GuidingText::default();
            assert!(
                decode(&content[..end], CodePage::WESTERN, &mut cut).is_err(),
                "{end}"
            );
        }
        let mut longer = content.clone();
        longer.push(0);
        assert!(decode(&longer, CodePage::WESTERN, &mut GuidingText::default()).is_err());
    }
}
