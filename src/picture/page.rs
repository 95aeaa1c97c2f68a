//! What all pages have: head, links at the top, style and script.

use std::fmt::Write as _;

use super::text;

/// The style of all pages, `cbfs.css`.
pub const STYLE: &str = include_str!("cbfs.css");

/// The script of all pages, `cbfs.js`. It knows no rules of chess.
pub const SCRIPT: &str = include_str!("cbfs.js");

/// No page is longer than this, in bytes.
pub const MOST_BYTES: usize = 2_000_000;

/// What a browser may load for a page: its own script and style, and nothing
/// else from anywhere.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'";

/// Characters of a name that are shown, at most.
const MOST_OF_NAME: usize = 500;

/// A page under way.
#[derive(Debug)]
pub struct Page {
    pub(super) out: String,
}

/// A link at the top of a page: where it leads, and its words.
pub type Way<'a> = (&'a str, &'a str);

impl Page {
    /// Begins a page that lies `depth` folders below the index. `class` is for
    /// style and script.
    pub fn new(title: &str, class: &str, depth: usize) -> Page {
        let up = up(depth);
        let mut out = String::with_capacity(32 << 10);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"
        );
        text::append(&cut(title), &mut out);
        let _ = write!(
            out,
            "</title>\n<link rel=\"stylesheet\" href=\"{up}cbfs.css\">\n\
             <script src=\"{up}cbfs.js\" defer></script>\n</head>\n<body class=\"{class}\">\n\
             <nav aria-label=\"Site\"><a href=\"{up}index.html\">Index</a> \
             <a href=\"{up}players.html\">Players</a> \
             <a href=\"{up}tournaments.html\">Tournaments</a> \
             <a href=\"{up}eco.html\">Openings</a></nav>\n<main>\n"
        );
        Page { out }
    }

    /// Ends the page.
    pub fn end(mut self) -> String {
        self.out.push_str("</main>\n</body>\n</html>\n");
        self.out
    }

    /// Appends markup of this room.
    pub(super) fn markup(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    /// Appends an element that has a text.
    pub(super) fn element(&mut self, name: &str, words: &str) {
        let _ = write!(self.out, "<{name}>");
        text::append(words, &mut self.out);
        let _ = writeln!(self.out, "</{name}>");
    }

    /// Appends a name, which may be written in any direction, as a link if it
    /// leads anywhere.
    pub(super) fn name(&mut self, name: &str, address: Option<&str>) {
        append_name(name, address, &mut self.out);
    }

    /// Appends a box that tells what is wrong.
    pub fn warning(&mut self, words: &str) {
        self.out.push_str("<p class=\"warning\" role=\"note\">");
        text::append(&cut(words), &mut self.out);
        self.out.push_str("</p>\n");
    }
}

/// A page about something that cannot be read, and why.
pub fn unreadable(title: &str, why: &str, depth: usize) -> String {
    let mut page = Page::new(title, "unreadable", depth);
    page.element("h1", &cut(title));
    page.warning(why);
    page.end()
}

/// The way from a page `depth` folders below the index to the folder of that.
pub(super) fn up(depth: usize) -> String {
    "../".repeat(depth)
}

/// See [`Page::name`].
pub(super) fn append_name(name: &str, address: Option<&str>, out: &mut String) {
    if let Some(address) = address {
        out.push_str("<a href=\"");
        text::append(address, out);
        out.push_str("\">");
    }
    out.push_str("<bdi>");
    text::append(&cut(name), out);
    out.push_str("</bdi>");
    if address.is_some() {
        out.push_str("</a>");
    }
}

/// What of a name is shown.
pub(super) fn cut(name: &str) -> String {
    if name.len() <= MOST_OF_NAME {
        return name.to_owned();
    }
    let mut cut: String = name.chars().take(MOST_OF_NAME).collect();
    if cut.len() < name.len() {
        cut.push('…');
    }
    cut
}
