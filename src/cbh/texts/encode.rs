//! Titles and contents → blob.

use encoding_rs::UTF_8;

use super::{Body, Content, GuidingText};
use crate::html;

/// The versions that are written: plain text with long lengths, and HTML.
const PLAIN: u16 = 2;
const HTML: u16 = 3;

/// Most bytes of a blob: its size has 24 bits.
const MOST_BYTES: usize = (1 << 24) - 1;

/// Returns the blob of a text. A page that declares an encoding is written in
/// it, with references for characters that it lacks; everything else is UTF-8.
///
/// # Errors
///
/// The field that does not fit, and its length.
pub(in crate::cbh) fn encode(text: &GuidingText) -> Result<Vec<u8>, (&'static str, usize)> {
    let is_plain = |content: &Content| matches!(content.body, Body::Plain(_));
    let version = if text.contents.iter().any(is_plain) {
        PLAIN
    } else {
        HTML
    };
    let mut blob = vec![0x80, 0, 0, 0];
    blob.extend(version.to_le_bytes());
    blob.extend(count("titles", text.titles.len())?.to_le_bytes());
    for (language, title) in &text.titles {
        blob.extend([language.0, 0]);
        blob.extend(count("title", title.len())?.to_le_bytes());
        blob.extend(title.as_bytes());
    }
    blob.push(1);
    blob.extend(count("contents", text.contents.len())?.to_le_bytes());
    for Content { language, body } in &text.contents {
        let bytes = stored(body);
        let length = u32::try_from(bytes.len()).map_err(|_| ("text", bytes.len()))?;
        blob.extend([language.0, 0]);
        blob.extend(length.to_le_bytes());
        blob.extend(bytes);
        // Of plain text, the length of format data.
        blob.extend([0; 4]);
    }
    if blob.len() > MOST_BYTES {
        return Err(("text", blob.len()));
    }
    let size = u32::try_from(blob.len()).unwrap_or(0).to_be_bytes();
    for (place, byte) in blob.iter_mut().zip(size).skip(1) {
        *place = byte;
    }
    Ok(blob)
}

fn count(field: &'static str, number: usize) -> Result<u16, (&'static str, usize)> {
    u16::try_from(number).map_err(|_| (field, number))
}

fn stored(body: &Body) -> Vec<u8> {
    match body {
        Body::Plain(text) => text.replace('\n', "\r").into_bytes(),
        Body::Html(page) => match html::declared_encoding(page.as_bytes()) {
            Some(encoding) if encoding != UTF_8 => encoding.encode(page).0.into_owned(),
            _ => page.clone().into_bytes(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::texts::decode;
    use crate::cbh::{CodePage, TextLanguage};

    fn text(titles: &[(u8, &str)], contents: &[(u8, Body)]) -> GuidingText {
        GuidingText {
            titles: titles
                .iter()
                .map(|(language, title)| (TextLanguage(*language), (*title).to_owned()))
                .collect(),
            contents: contents
                .iter()
                .map(|(language, body)| Content {
                    language: TextLanguage(*language),
                    body: body.clone(),
                })
                .collect(),
            ..GuidingText::default()
        }
    }

    #[test]
    fn a_text_is_read_as_it_was_written() {
        let html = |page: &str| Body::Html(page.to_owned());
        for text in [
            text(&[], &[]),
            text(
                &[(0, "One"), (1, "Köln"), (7, "")],
                &[
                    (0, html("<p>Grünfeld ½</p>")),
                    (1, html("<meta charset=windows-1251>Каспаров")),
                    (6, html("<meta charset=utf-8>Каспаров é")),
                ],
            ),
            text(&[(3, "Título")], &[(7, Body::Plain("a\nb é".to_owned()))]),
        ] {
            let blob = encode(&text).unwrap();
            let mut again = GuidingText::default();
            decode(&blob, CodePage::default(), &mut again).unwrap();
            assert_eq!(again.titles, text.titles);
            assert_eq!(again.contents, text.contents);
        }
    }

    #[test]
    fn values_that_do_not_fit_are_reported() {
        let long = "x".repeat(1 << 16);
        let many = Body::Html(long.repeat(256));
        let fault = |text: &GuidingText| encode(text).unwrap_err().0;
        assert_eq!(fault(&text(&[(0, &long)], &[])), "title");
        assert_eq!(fault(&text(&[], &[(0, many)])), "text");
    }
}
