//! Words of a text in a page, by which a reader judges the guess.

use std::fmt;

use crate::pgn::{EightBitPage, InPage, Trust};

/// No more characters of a name are shown.
const MOST: usize = 40;

/// A name or a word of a text that is no UTF-8: as it was read, and as the next
/// likely page has it.
#[derive(Debug)]
pub(in crate::import) struct Sample {
    read: String,
    otherwise: Option<(EightBitPage, String)>,
}

impl Sample {
    /// That of a text whose page was guessed: what the next likely page has
    /// otherwise, a whole name if one is in a tag.
    pub(in crate::import) fn of(text: &[u8], in_page: InPage) -> Option<Sample> {
        let InPage { page, rival, trust } = in_page;
        if trust == Trust::Given {
            return None;
        }
        let differs =
            |bytes: &&[u8]| rival.is_some_and(|rival| rival.decode(bytes) != page.decode(bytes));
        let any = |_: &&[u8]| true;
        let bytes = first_of(text, differs).or_else(|| first_of(text, any))?;
        let read = shown(bytes, page);
        let otherwise = rival.map(|rival| (rival, shown(bytes, rival)));
        let otherwise = otherwise.filter(|(_, other)| *other != read);
        Some(Sample { read, otherwise })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.read)?;
        match &self.otherwise {
            Some((page, other)) => write!(f, " (as {page} it would be {other:?})"),
            None => Ok(()),
        }
    }
}

/// The first name in a tag, else the first word, that is no UTF-8 and is wanted.
fn first_of(text: &[u8], is_wanted: impl Fn(&&[u8]) -> bool) -> Option<&[u8]> {
    let lines = || {
        let lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
        lines.filter(|line| std::str::from_utf8(line).is_err())
    };
    let words = lines().flat_map(|line| line.split(u8::is_ascii_whitespace));
    let mut words = words.filter(|word| std::str::from_utf8(word).is_err());
    let name = lines().filter_map(tag_value).find(&is_wanted);
    name.or_else(|| words.find(is_wanted))
}

/// The value of the tag in a line.
fn tag_value(line: &[u8]) -> Option<&[u8]> {
    let mut parts = line.splitn(2, |byte| *byte == b'"');
    let is_tag = parts.next()?.trim_ascii_start().starts_with(b"[");
    let value = parts.next().filter(|_| is_tag)?;
    let end = value.iter().rposition(|byte| *byte == b'"')?;
    value.get(..end)
}

fn shown(bytes: &[u8], page: EightBitPage) -> String {
    let text = page.decode(bytes);
    let characters = text.chars().filter(|c| !c.is_control());
    characters.take(MOST).collect()
}
