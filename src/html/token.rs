//! Splits a page into tags, texts and comments.

use std::ops::Range;

/// Elements whose content is raw text: no tag but their own end tag counts.
const RAW: [&str; 8] = [
    "script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes",
];

/// A token of a page. The tokens together make up the whole page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Characters between tags.
    Text(&'a str),
    /// A start tag.
    Open(Tag<'a>),
    /// An end tag.
    Close(Tag<'a>),
    /// The raw content of the element of this name, and whether its end tag
    /// follows.
    Raw(&'a str, &'a str, bool),
    /// A comment, and whether it is closed.
    Comment(&'a str, bool),
    /// `<!doctype …>`, `<?xml …>` and the like.
    Declaration,
    /// A tag that is never closed: the rest of the page.
    Broken(&'a str),
}

/// A tag as written in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// The whole tag, from `<` to `>`.
    pub(super) source: &'a str,
    /// The name, in its original letter case.
    pub(super) name: &'a str,
}

impl<'a> Tag<'a> {
    /// Returns whether the tag has this name, given in lower case.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns whether the tag has one of these names, given in lower case.
    pub(super) fn is_one_of(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is(name))
    }

    /// Its attributes, in order.
    pub(super) fn attributes(&self) -> Attributes<'a> {
        Attributes {
            source: self.source,
            at: self.source.len() - self.source.trim_start_matches(['<', '/']).len()
                + self.name.len(),
            end: None,
        }
    }

    /// Returns the raw value of the attribute `name`, given in lower case.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes()
            .find(|attribute| attribute.name.eq_ignore_ascii_case(name))
            .and_then(|attribute| self.source.get(attribute.value))
    }
}

/// An attribute of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    pub(super) name: &'a str,
    /// Byte range of its value in the tag, without quotes.
    pub(super) value: Range<usize>,
    /// Whether quotes surround the value.
    pub(super) is_quoted: bool,
}

/// Iterates over the attributes of a tag.
#[derive(Clone, Debug)]
pub(super) struct Attributes<'a> {
    source: &'a str,
    at: usize,
    /// Offset of the end of the tag, once found.
    end: Option<usize>,
}

impl Attributes<'_> {
    fn byte(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    /// Skips the bytes for which `wanted` is true.
    fn skip(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.byte().is_some_and(&wanted) {
            self.at += 1;
        }
    }

    /// Reads the value after `=` and whether it is quoted; `None` if a quote is
    /// never closed.
    fn value(&mut self) -> Option<(Range<usize>, bool)> {
        self.skip(|byte| byte.is_ascii_whitespace());
        if let Some(quote @ (b'"' | b'\'')) = self.byte() {
            self.at += 1;
            let from = self.at;
            self.skip(|byte| byte != quote);
            let to = self.at;
            self.byte()?;
            self.at += 1;
            return Some((from..to, true));
        }
        let from = self.at;
        self.skip(|byte| !byte.is_ascii_whitespace() && byte != b'>');
        Some((from..self.at, false))
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        self.skip(|byte| byte.is_ascii_whitespace() || byte == b'/');
        if self.byte()? == b'>' {
            self.end = Some(self.at + 1);
            return None;
        }
        let from = self.at;
        self.at += 1;
        self.skip(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'='));
        let name = self.source.get(from..self.at).unwrap_or_default();
        self.skip(|byte| byte.is_ascii_whitespace());
        let (value, is_quoted) = if self.byte() == Some(b'=') {
            self.at += 1;
            self.value()?
        } else {
            (self.at..self.at, false)
        };
        Some(Attribute {
            name,
            value,
            is_quoted,
        })
    }
}

/// Iterates over the tokens of a page.
#[derive(Clone, Debug)]
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// The element whose raw content comes next, if any.
    raw: Option<&'a str>,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(page: &'a str) -> Tokens<'a> {
        Tokens {
            rest: page,
            raw: None,
        }
    }

    /// Takes the next `length` bytes of the page.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Takes all up to and including `end`; `None` if `end` does not occur.
    fn take_through(&mut self, end: &str) -> Option<&'a str> {
        let at = self.rest.find(end)?;
        Some(self.take(at + end.len()))
    }

    fn broken(&mut self) -> Token<'a> {
        Token::Broken(self.take(usize::MAX))
    }

    fn raw(&mut self, name: &'a str) -> Token<'a> {
        let ends_here = |at: &usize| {
            let after = self.rest.get(at + 2..).unwrap_or_default().as_bytes();
            let has_name = after
                .get(..name.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()));
            let next = after.get(name.len());
            has_name && next.is_none_or(|byte| !byte.is_ascii_alphanumeric())
        };
        let end = self.rest.match_indices("</").map(|(at, _)| at);
        let end = end.into_iter().find(ends_here);
        if end.is_none() && name.eq_ignore_ascii_case("title") {
            // Otherwise the whole page would be a title.
            return self.broken();
        }
        let content = self.take(end.unwrap_or(usize::MAX));
        Token::Raw(name, content, end.is_some())
    }

    fn markup(&mut self) -> Token<'a> {
        if self.rest.starts_with("<!--") {
            return match self.take_through("-->") {
                Some(comment) => Token::Comment(comment, true),
                None => Token::Comment(self.take(usize::MAX), false),
            };
        }
        if self.rest.starts_with("<!") || self.rest.starts_with("<?") {
            return match self.take_through(">") {
                Some(_) => Token::Declaration,
                None => self.broken(),
            };
        }
        let marks = if self.rest.starts_with("</") { 2 } else { 1 };
        let name = self.name_after(marks);
        let mut attributes = Attributes {
            source: self.rest,
            at: marks + name.len(),
            end: None,
        };
        attributes.by_ref().for_each(drop);
        let Some(end) = attributes.end else {
            return self.broken();
        };
        let tag = Tag {
            source: self.take(end),
            name,
        };
        if marks == 2 {
            return Token::Close(tag);
        }
        if tag.is_one_of(&RAW) {
            self.raw = Some(name);
        }
        Token::Open(tag)
    }

    fn name_after(&self, marks: usize) -> &'a str {
        let from = self.rest.get(marks..).unwrap_or_default();
        let end = from.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
        from.get(..end.unwrap_or(from.len())).unwrap_or_default()
    }
}

/// Returns whether markup begins here, and not a lone `<`.
fn is_markup(rest: &str) -> bool {
    match rest.as_bytes() {
        [b'<', b'!' | b'?', ..] => true,
        [b'<', b'/', letter, ..] | [b'<', letter, ..] => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if let Some(name) = self.raw.take() {
            return Some(self.raw(name));
        }
        if self.rest.is_empty() {
            return None;
        }
        if is_markup(self.rest) {
            return Some(self.markup());
        }
        let end = self
            .rest
            .match_indices('<')
            .map(|(at, _)| at)
            .find(|&at| at > 0);
        Some(Token::Text(self.take(end.unwrap_or(usize::MAX))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(page: &str) -> Vec<Token<'_>> {
        Tokens::of(page).collect()
    }

    fn attributes(tag: &str) -> Vec<(&str, &str)> {
        let [Token::Open(tag)] = tokens(tag)[..] else {
            panic!("{tag} is no tag");
        };
        tag.attributes()
            .map(|attribute| (attribute.name, tag.source.get(attribute.value).unwrap()))
            .collect()
    }

    #[test]
    fn a_page_is_cut_into_its_pieces() {
        let tag = |source, name| Tag { source, name };
        assert_eq!(
            tokens("<!doctype html><P a=1>1 < 2<br/></p ><!-- > -->x"),
            [
                Token::Declaration,
                Token::Open(tag("<P a=1>", "P")),
                Token::Text("1 "),
                Token::Text("< 2"),
                Token::Open(tag("<br/>", "br")),
                Token::Close(tag("</p >", "p")),
                Token::Comment("<!-- > -->", true),
                Token::Text("x"),
            ]
        );
    }

    #[test]
    fn attributes_are_found_however_they_are_written() {
        assert_eq!(
            attributes("<a href=\"x>y\" b = 'c\"' d e=f/g/>"),
            [("href", "x>y"), ("b", "c\""), ("d", ""), ("e", "f/g/")]
        );
        assert_eq!(attributes("<a b= >"), [("b", "")]);
        assert_eq!(attributes("<a\"b\" =c>"), [("=c", "")]);
    }

    #[test]
    fn scripts_and_titles_are_no_markup() {
        assert_eq!(
            tokens("<style>a<b</styles></STYLE>")[1],
            Token::Raw("style", "a<b</styles>", true)
        );
        assert_eq!(
            tokens("<script>a</b")[1],
            Token::Raw("script", "a</b", false)
        );
        assert_eq!(tokens("<title>a</b")[1], Token::Broken("a</b"));
    }

    #[test]
    fn an_unterminated_token_takes_the_rest_of_the_page() {
        for page in ["<a href=\"x>y", "<a ", "</a b", "<!d", "<?x"] {
            assert_eq!(tokens(page), [Token::Broken(page)], "{page}");
        }
        assert_eq!(tokens("<!-- a"), [Token::Comment("<!-- a", false)]);
    }

    #[test]
    fn a_page_of_beginnings_takes_linear_time() {
        for part in [
            "<a ",
            "<a b=\"",
            "<!--",
            "</",
            "<title>",
            "<",
            "<a b='\">",
            "<x y=",
        ] {
            let page = part.repeat(200_000);
            assert!(tokens(&page).len() <= 200_001, "{part}");
        }
    }
}
