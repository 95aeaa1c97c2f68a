//! The encoding that a page declares in a `<meta>` tag.

use encoding_rs::{Encoding, UTF_8};

use super::token::{Token, Tokens};

/// Only this many first bytes are searched for a declaration, as in browsers.
const DECLARED_WITHIN: usize = 1024;

/// Returns the encoding of the first `<meta charset="…">` or `<meta
/// http-equiv="Content-Type" content="…; charset=…">` of `page`.
pub fn declared_encoding(page: &[u8]) -> Option<&'static Encoding> {
    let start = page.get(..DECLARED_WITHIN).unwrap_or(page);
    let start = String::from_utf8_lossy(start);
    let encoding = Tokens::of(&start).find_map(|token| match token {
        Token::Open(tag) if tag.is("meta") => {
            let label = tag
                .attribute("charset")
                .or_else(|| charset_in(tag.attribute("content")?));
            Encoding::for_label(label?.as_bytes())
        }
        _ => None,
    })?;
    // ASCII bytes cannot declare an encoding that ASCII is not part of.
    Some(if encoding.is_ascii_compatible() {
        encoding
    } else {
        UTF_8
    })
}

/// Extracts `iso-8859-2` from `text/html; charset=iso-8859-2`.
fn charset_in(content: &str) -> Option<&str> {
    let at = content.to_ascii_lowercase().find("charset=")?;
    let label = content.get(at + "charset=".len()..)?;
    label.split([';', ' ', ',']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_its_encoding_in_two_ways() {
        for (page, name) in [
            ("<html><META Charset='utf-8'>", Some("UTF-8")),
            ("<meta charset=ISO-8859-1>", Some("windows-1252")),
            (
                "<meta http-equiv=Content-Type content=\"text/html; Charset=windows-1251\">",
                Some("windows-1251"),
            ),
            ("<meta charset=utf-16le>", Some("UTF-8")),
            ("<meta name=x><p>charset=utf-8", None),
            ("<meta charset=nonsense>", None),
            ("<!-- <meta charset=utf-8> -->", None),
            ("<meta charset=", None),
        ] {
            let encoding = declared_encoding(page.as_bytes());
            assert_eq!(encoding.map(Encoding::name), name, "{page}");
        }
    }
}
