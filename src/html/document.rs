//! Completes a page, or a part of one, to a document with rewritten links.

use super::entity::{escape, unescape};
use super::token::{Attribute, Tag, Token, Tokens};

/// Elements that are visible without text.
const PICTURES: [&str; 6] = ["img", "object", "embed", "video", "audio", "iframe"];

/// Elements that belong into the head.
const OF_HEAD: [&str; 6] = ["meta", "link", "style", "script", "title", "noscript"];

/// Attributes whose value is a URL.
const ADDRESSES: [&str; 3] = ["href", "src", "background"];

/// Title of a document without a known title.
const UNTITLED: &str = "Untitled";

/// Returns whether `page` has visible content: text or a picture.
pub fn has_content(page: &str) -> bool {
    Tokens::of(page).any(|token| match token {
        Token::Text(text) | Token::Broken(text) => is_visible(text),
        Token::Raw(name, text, _) => is_shown_raw(name) && is_visible(text),
        Token::Open(tag) => tag.is_one_of(&PICTURES),
        _ => false,
    })
}

fn is_shown_raw(name: &str) -> bool {
    name.eq_ignore_ascii_case("xmp") || name.eq_ignore_ascii_case("textarea")
}

fn is_visible(text: &str) -> bool {
    !unescape(text).trim().is_empty()
}

/// Calls `take` with each URL in `page`, its character references resolved.
pub fn for_each_address(page: &str, take: &mut dyn FnMut(&str)) {
    for token in Tokens::of(page) {
        let Token::Open(tag) = token else {
            continue;
        };
        for attribute in tag.attributes().filter(is_address) {
            let value = tag.source.get(attribute.value).unwrap_or_default();
            take(&unescape(value));
        }
    }
}

fn is_address(attribute: &Attribute<'_>) -> bool {
    ADDRESSES
        .iter()
        .any(|name| attribute.name.eq_ignore_ascii_case(name))
}

/// Additions that make a page a complete document.
#[derive(Clone, Copy, Debug, Default)]
pub struct DocumentFrame<'a> {
    /// Text of `<title>`. If blank, the title of the page itself is used, or
    /// "Untitled".
    pub title: &'a str,
    /// Name and content of further `<meta>` tags; those with blank content
    /// are left out.
    pub properties: &'a [(&'a str, &'a str)],
    /// Paragraphs appended to the body.
    pub notes: &'a [String],
}

impl DocumentFrame<'_> {
    /// Appends `source`, a page or a part of one, as a complete document in
    /// UTF-8. `rewrite` gets each URL, its character references resolved, and
    /// returns the URL to write instead, or `None` to keep it.
    ///
    /// An unfinished tag or comment in `source` does not swallow the end of the
    /// document.
    pub fn complete(
        &self,
        source: &str,
        rewrite: &mut dyn FnMut(&str) -> Option<String>,
        out: &mut String,
    ) {
        let own_title = title_of(source);
        let page = DocumentFrame {
            title: [self.title, own_title.as_str(), UNTITLED]
                .into_iter()
                .find(|title| !title.trim().is_empty())
                .unwrap_or_default(),
            ..*self
        };
        let mut writer = Writer {
            page,
            rewrite,
            out,
            part: DocumentPart::Start,
            is_in_title: false,
        };
        for token in Tokens::of(source) {
            writer.token(token);
        }
        writer.end();
    }
}

fn title_of(source: &str) -> String {
    let title = Tokens::of(source).find_map(|token| match token {
        Token::Raw(name, text, _) if name.eq_ignore_ascii_case("title") => Some(text),
        _ => None,
    });
    unescape(title.unwrap_or_default()).trim().to_owned()
}

/// The part of the document that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentPart {
    Start,
    Head,
    Body,
}

struct Writer<'a> {
    page: DocumentFrame<'a>,
    rewrite: &'a mut dyn FnMut(&str) -> Option<String>,
    out: &'a mut String,
    part: DocumentPart,
    /// Whether the tokens are inside of the page's own title, which is left
    /// out.
    is_in_title: bool,
}

impl Writer<'_> {
    fn token(&mut self, token: Token<'_>) {
        match token {
            Token::Text(text) if text.trim().is_empty() && self.part != DocumentPart::Body => {}
            Token::Text(text) => {
                self.begin_body(None);
                // A lone `<` must not form a tag with the text behind it when a
                // tag between them is left out.
                let lonely = text.strip_prefix('<');
                self.out.push_str(lonely.map_or("", |_| "&lt;"));
                self.out.push_str(lonely.unwrap_or(text));
            }
            Token::Broken(text) => {
                self.begin_body(None);
                escape(text, self.out);
            }
            Token::Declaration => {}
            Token::Comment(comment, is_closed) => {
                self.begin_head(None);
                self.out.push_str(comment);
                self.out.push_str(if is_closed { "" } else { "-->" });
            }
            Token::Raw(..) if self.is_in_title => {}
            Token::Raw(name, content, is_closed) => {
                self.out.push_str(content);
                if !is_closed {
                    self.out.extend(["</", name, ">"]);
                }
            }
            Token::Open(tag) => self.open(&tag),
            Token::Close(tag) => self.close(&tag),
        }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        if tag.is("html") {
            self.begin_head(Some(tag));
        } else if tag.is("body") {
            self.begin_body(Some(tag));
        } else if tag.is("title") {
            self.is_in_title = true;
        } else if !tag.is_one_of(&["head", "base"]) && !declares_charset(tag) {
            if tag.is_one_of(&OF_HEAD) {
                self.begin_head(None);
            } else {
                self.begin_body(None);
            }
            self.tag(tag);
        }
    }

    fn close(&mut self, tag: &Tag<'_>) {
        if tag.is("title") {
            self.is_in_title = false;
        } else if !tag.is_one_of(&["html", "head", "body", "base", "meta"]) {
            if !tag.is_one_of(&OF_HEAD) {
                self.begin_body(None);
            }
            self.out.push_str(tag.source);
        }
    }

    fn begin_head(&mut self, html: Option<&Tag<'_>>) {
        if self.part != DocumentPart::Start {
            return;
        }
        self.part = DocumentPart::Head;
        self.out.push_str("<!DOCTYPE html>\n");
        match html {
            Some(html) => self.tag(html),
            None => self.out.push_str("<html>"),
        }
        self.out
            .push_str("<head>\n<meta charset=\"utf-8\">\n<title>");
        escape(self.page.title.trim(), self.out);
        self.out.push_str("</title>\n");
        for (name, content) in self.page.properties {
            if !content.trim().is_empty() {
                self.out.extend(["<meta name=\"", name, "\" content=\""]);
                escape(content.trim(), self.out);
                self.out.push_str("\">\n");
            }
        }
    }

    fn begin_body(&mut self, body: Option<&Tag<'_>>) {
        self.begin_head(None);
        if self.part == DocumentPart::Body {
            return;
        }
        self.part = DocumentPart::Body;
        self.out.push_str("</head>\n");
        match body {
            Some(body) => self.tag(body),
            None => self.out.push_str("<body>"),
        }
    }

    /// Writes a tag, its URLs rewritten.
    fn tag(&mut self, tag: &Tag<'_>) {
        let mut copied = 0;
        for attribute in tag.attributes().filter(is_address) {
            let value = tag.source.get(attribute.value.clone()).unwrap_or_default();
            let Some(address) = (self.rewrite)(&unescape(value)) else {
                continue;
            };
            let quote = usize::from(attribute.is_quoted);
            let before = copied..attribute.value.start - quote;
            self.out
                .push_str(tag.source.get(before).unwrap_or_default());
            self.out.push('"');
            escape(&address, self.out);
            self.out.push('"');
            copied = attribute.value.end + quote;
        }
        self.out
            .push_str(tag.source.get(copied..).unwrap_or_default());
    }

    fn end(mut self) {
        self.begin_body(None);
        for note in self.page.notes {
            self.out.push_str("\n<p>");
            escape(note, self.out);
            self.out.push_str("</p>");
        }
        self.out.push_str("</body>\n</html>\n");
    }
}

fn declares_charset(tag: &Tag<'_>) -> bool {
    let is_content_type = |value: &str| value.trim().eq_ignore_ascii_case("content-type");
    tag.is("meta")
        && (tag.attribute("charset").is_some()
            || tag.attribute("http-equiv").is_some_and(is_content_type))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn completed(page: DocumentFrame<'_>, source: &str) -> String {
        let mut out = String::new();
        let mut rewrite = |address: &str| address.strip_prefix("old:").map(str::to_owned);
        page.complete(source, &mut rewrite, &mut out);
        out
    }

    fn titled(title: &str, source: &str) -> String {
        let page = DocumentFrame {
            title,
            ..DocumentFrame::default()
        };
        completed(page, source)
    }

    fn document(title: &str, head: &str, body: &str) -> String {
        format!(
            "<!DOCTYPE html>\n<html><head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
             {head}</head>\n{body}</body>\n</html>\n"
        )
    }

    #[test]
    fn a_page_of_chessbase_becomes_a_document() {
        let source = "<html><head><title></title><meta charset=\"iso-8859-1\">\
            <meta name=\"GENERATOR\" content=\"x\"></head><body link=\"#b70801\">Text</body></html>";
        assert_eq!(
            titled("a < b", source),
            document(
                "a &lt; b",
                "<meta name=\"GENERATOR\" content=\"x\">",
                "<body link=\"#b70801\">Text"
            )
        );
    }

    #[test]
    fn parts_of_a_page_become_documents_too() {
        for (source, head, body) in [
            ("", "", "<body>"),
            ("words", "", "<body>words"),
            (" <p>a</head></p></html>b", "", "<body><p>a</p>b"),
            ("<!-- c --><b>x", "<!-- c -->", "<body><b>x"),
            ("<style>p{}</style>x", "<style>p{}</style>", "<body>x"),
            ("<style>p{}", "<style>p{}</style>", "<body>"),
            ("x<!-- never", "", "<body>x<!-- never-->"),
            ("x<a href=\"y", "", "<body>x&lt;a href=&quot;y"),
            ("<base href=\"file:///C:/\">x<body>y", "", "<body>xy"),
        ] {
            assert_eq!(titled("T", source), document("T", head, body), "{source}");
        }
    }

    #[test]
    fn the_title_is_the_given_one_or_the_pages_own() {
        for (given, source, expected) in [
            ("A", "<title>B &amp; C</title>", "A"),
            (" ", "<title> B &amp; C </title>", "B &amp; C"),
            ("", "<title>  </title>", "Untitled"),
            ("", "x<title>late</title>", "late"),
            ("", "<title>never ends", "Untitled"),
        ] {
            let text = titled(given, source);
            assert!(
                text.contains(&format!("<title>{expected}</title>")),
                "{text}"
            );
            assert_eq!(text.matches("<title>").count(), 1);
        }
    }

    #[test]
    fn addresses_are_rewritten_and_nothing_else_changes() {
        let body = |source| {
            let text = titled("T", source);
            let body = text.split("</head>\n").nth(1).unwrap();
            body.strip_suffix("</body>\n</html>\n").unwrap().to_owned()
        };
        for (source, expected) in [
            ("<a HREF='old:x&amp;y' b=1>", "<a HREF=\"x&amp;y\" b=1>"),
            (
                "<img src=old:p.jpg alt=\"old:\">",
                "<img src=\"p.jpg\" alt=\"old:\">",
            ),
            ("<img alt=a src=\"new\">", "<img alt=a src=\"new\">"),
            ("<a href=\"old:&quot;>\">", "<a href=\"&quot;&gt;\">"),
            ("old:x <b title=old:y>", "old:x <b title=old:y>"),
        ] {
            assert_eq!(body(source), format!("<body>{expected}"));
        }
        assert_eq!(
            body("<body background=old:b.gif text=red>"),
            "<body background=\"b.gif\" text=red>"
        );
    }

    #[test]
    fn added_text_is_escaped_and_blank_properties_are_omitted() {
        let page = DocumentFrame {
            title: "T",
            notes: &["1 < 2".to_owned()],
            properties: &[("author", "A \"B\""), ("source", " ")],
        };
        let text = completed(page, "x");
        assert!(text.contains("<meta name=\"author\" content=\"A &quot;B&quot;\">"));
        assert!(!text.contains("source"));
        assert!(text.ends_with("<body>x\n<p>1 &lt; 2</p></body>\n</html>\n"));
    }

    #[test]
    fn only_text_and_pictures_are_content() {
        for (page, expected) in [
            (
                "<html><head><title>t</title><style>p{}</style></head><body> </body></html>",
                false,
            ),
            ("<body><p>&nbsp;<br>&#160;</p><!-- c --></body>", false),
            ("<body>x", true),
            ("<body><IMG src=x>", true),
            ("", false),
        ] {
            assert_eq!(has_content(page), expected, "{page}");
        }
    }

    proptest! {
        #[test]
        fn any_page_becomes_one_document(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "<", ">", "\"", "'", "=", "a", "é", " ", "/", "<!--", "-->", "<title>",
                    "</title>", "<style>", "<body ", "</body>", "<html>", "<head>", "&", ";",
                    "<a href=", "old:", "<meta charset=x>", "<!", "\0",
                ]),
                0..40,
            ),
        ) {
            let source: String = pieces.concat();
            has_content(&source);
            let text = titled("T", &source);
            prop_assert!(text.starts_with("<!DOCTYPE html>\n<html"));
            prop_assert!(text.ends_with("</body>\n</html>\n"));
            // Nothing swallows the end.
            let ends = Tokens::of(&text).filter(|token| matches!(
                token,
                Token::Close(tag) if tag.is_one_of(&["body", "html"])
            ));
            prop_assert_eq!(ends.count(), 2);
        }
    }
}
