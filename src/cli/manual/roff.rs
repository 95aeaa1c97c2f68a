//! Markdown, as in `docs/`, as the source of a manual page (man(7)).

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// Longest line of the source; mandoc complains from 81 on, and counts what is
/// not ASCII as it names it, `\[u00B7]`.
const LINE_COLUMNS: usize = 78;

/// A manual page in the making.
#[derive(Debug)]
pub(super) struct ManualPage {
    source: String,
    /// The paragraph that is being read, with escapes for fonts.
    paragraph: String,
}

impl ManualPage {
    pub(super) fn new(name: &str, section: u8, date: &str) -> ManualPage {
        let title = name.to_uppercase();
        let version = env!("CARGO_PKG_VERSION");
        ManualPage {
            source: format!(".TH {title} {section} {date} \"cbfs {version}\" \"cbfs manual\"\n"),
            paragraph: String::new(),
        }
    }

    /// The source of the page.
    pub(super) fn finish(mut self) -> String {
        self.end_paragraph();
        self.source
    }

    /// Begins a section.
    pub(super) fn heading(&mut self, heading: &str) {
        self.end_paragraph();
        self.line(&format!(".SH {}", escaped(&heading.to_uppercase())));
    }

    /// A paragraph of plain text, of which words in backticks are bold.
    pub(super) fn text(&mut self, text: &str) {
        for paragraph in text.split("\n\n") {
            self.paragraph_break();
            self.plain(paragraph);
            self.end_paragraph();
        }
    }

    fn plain(&mut self, text: &str) {
        for (at, part) in text.split('`').enumerate() {
            let is_code = !at.is_multiple_of(2);
            self.in_font(part, if is_code { 'B' } else { 'R' });
        }
    }

    /// Bold lines.
    pub(super) fn bold_lines(&mut self, lines: &[&str]) {
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                self.line(".br");
            }
            self.in_font(line, 'B');
            self.end_paragraph();
        }
    }

    /// A command line of these parts, which are Markdown without blocks.
    pub(super) fn synopsis(&mut self, parts: &[String]) {
        self.line(".nh");
        self.inline(&parts.join(" "));
        self.end_paragraph();
        self.line(".hy");
    }

    /// An entry of a list: bold `head` and the name of a `value`, then `text`
    /// as in [`text`](ManualPage::text).
    pub(super) fn item(&mut self, head: &str, value: &str, text: &str) {
        self.line(".TP");
        self.in_font(head, 'B');
        if !head.is_empty() && !value.is_empty() {
            self.paragraph.push(' ');
        }
        self.in_font(value, 'I');
        self.end_line();
        let mut paragraphs = text.split("\n\n");
        self.plain(paragraphs.next().unwrap_or_default());
        self.end_paragraph();
        for further in paragraphs {
            self.line(".IP");
            self.plain(further);
            self.end_paragraph();
        }
    }

    /// Lines as they are.
    pub(super) fn preformatted(&mut self, text: &str) {
        self.line(".nf");
        for line in text.trim_end().lines() {
            self.fixed_line(line);
        }
        self.line(".fi");
    }

    /// Text with blocks, below a heading that is there already.
    pub(super) fn markdown(&mut self, text: &str) {
        let mut state = RoffState::default();
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            self.event(event, &mut state);
        }
        self.end_paragraph();
    }

    fn inline(&mut self, text: &str) {
        let mut state = RoffState {
            is_in_item: true,
            ..RoffState::default()
        };
        for event in Parser::new(text) {
            self.event(event, &mut state);
        }
    }

    fn event(&mut self, event: Event<'_>, state: &mut RoffState) {
        match event {
            Event::Start(tag) => self.start(&tag, state),
            Event::End(tag) => self.end(tag, state),
            Event::Text(text) if state.is_code_block => {
                for line in text.lines() {
                    self.fixed_line(line);
                }
            }
            Event::Text(_) if state.is_image => {}
            Event::Text(text) => {
                let font = state.font;
                self.in_font(&text, font);
            }
            Event::Code(code) => self.in_font(&code, 'B'),
            Event::SoftBreak | Event::HardBreak => self.paragraph.push(' '),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, state: &mut RoffState) {
        match tag {
            Tag::Paragraph if state.is_in_item => state.is_in_item = false,
            Tag::Paragraph => self.paragraph_break(),
            Tag::CodeBlock(_) => {
                state.is_code_block = true;
                self.paragraph_break();
                for line in [".RS 4", ".nf"] {
                    self.line(line);
                }
            }
            Tag::Item => {
                state.is_in_item = true;
                self.end_paragraph();
                self.line(".IP \\(bu 2");
            }
            Tag::Heading { level, .. } => {
                self.end_paragraph();
                state.is_section = *level == HeadingLevel::H2;
            }
            Tag::TableHead => state.is_table_head = true,
            Tag::TableRow => {
                state.cell = 0;
                self.line(".TP");
            }
            Tag::Image { .. } => state.is_image = true,
            Tag::Strong => state.font = 'B',
            Tag::Emphasis => state.font = 'I',
            Tag::Link { dest_url, .. } => state.link = dest_url.to_string(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, state: &mut RoffState) {
        match tag {
            TagEnd::Paragraph if self.paragraph.is_empty() => self.take_break_back(),
            TagEnd::Paragraph | TagEnd::Item => self.end_paragraph(),
            TagEnd::CodeBlock => {
                state.is_code_block = false;
                for line in [".fi", ".RE"] {
                    self.line(line);
                }
            }
            TagEnd::Heading(_) => {
                let text = std::mem::take(&mut self.paragraph);
                let heading = if state.is_section {
                    format!(".SH {}", text.to_uppercase())
                } else {
                    format!(".SS {text}")
                };
                self.line(&heading);
            }
            // A list has no head.
            TagEnd::TableHead => {
                state.is_table_head = false;
                self.paragraph.clear();
            }
            TagEnd::TableCell if !state.is_table_head => {
                if state.cell == 0 {
                    self.end_line();
                } else {
                    self.paragraph.push_str("; ");
                }
                state.cell += 1;
            }
            TagEnd::TableRow => {
                let text = self.paragraph.trim_end_matches("; ").to_owned();
                self.paragraph = text;
                self.end_paragraph();
            }
            TagEnd::Image => state.is_image = false,
            TagEnd::Strong | TagEnd::Emphasis => state.font = 'R',
            TagEnd::Link => self.link(&std::mem::take(&mut state.link)),
            _ => {}
        }
    }

    /// What a link leads to, behind its text.
    fn link(&mut self, target: &str) {
        let is_web = target.contains("://");
        if is_web && !self.paragraph.ends_with(target) {
            self.paragraph.push_str(" <");
            self.paragraph.push_str(&escaped(target));
            self.paragraph.push('>');
        }
    }

    fn paragraph_break(&mut self) {
        self.end_paragraph();
        // A heading begins a paragraph by itself.
        let last = self.source.lines().last().unwrap_or_default();
        if !last.starts_with(".S") {
            self.line(".PP");
        }
    }

    /// Nothing follows the break: the paragraph was a picture.
    fn take_break_back(&mut self) {
        if let Some(before) = self.source.strip_suffix(".PP\n") {
            self.source.truncate(before.len());
        }
    }

    fn in_font(&mut self, text: &str, font: char) {
        let text = escaped(text);
        if font == 'R' || text.is_empty() {
            self.paragraph.push_str(&text);
        } else {
            let parts = ["\\f", font.encode_utf8(&mut [0; 4]), &text, "\\fR"].concat();
            self.paragraph.push_str(&parts);
        }
    }

    /// Writes the paragraph, each sentence from a line of its own on.
    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && columns(&line) + 1 + columns(word) > LINE_COLUMNS {
                self.text_line(&std::mem::take(&mut line));
            }
            if columns(word) > LINE_COLUMNS {
                self.broken_line(word);
                continue;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            if ends_sentence(word) {
                self.text_line(&std::mem::take(&mut line));
            }
        }
        self.text_line(&line);
    }

    /// Writes the paragraph as one line: the head of an entry.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.paragraph);
        let line = line.trim().to_owned();
        self.broken_line(if line.is_empty() { "\\&" } else { &line });
    }

    /// Writes a line that is shown as it is.
    fn fixed_line(&mut self, line: &str) {
        self.broken_line(&escaped(line.trim_end()));
    }

    /// Writes a line that is one, however long: `\c` goes on with the next.
    fn broken_line(&mut self, line: &str) {
        let mut rest = line;
        while columns(rest) > LINE_COLUMNS {
            // A blank at the end of a line would be lost, an escape cut.
            let fits = |at: &usize| {
                let before = rest.get(..*at).unwrap_or_default();
                columns(before) <= LINE_COLUMNS - 4
                    && !before.ends_with([' ', '\\'])
                    && !cuts_escape(before)
            };
            let places = rest.char_indices().map(|(at, _)| at).skip(1);
            let Some(at) = places.filter(fits).last() else {
                break;
            };
            let (first, further) = rest.split_at(at);
            self.text_line(&format!("{first}\\c"));
            rest = further;
        }
        if rest.is_empty() {
            // An empty line is a warning; a request for one is not.
            self.line(".sp");
        } else {
            self.text_line(rest);
        }
    }

    /// A line of text, never a request.
    fn text_line(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        if line.starts_with(['.', '\'']) {
            self.source.push_str("\\&");
        }
        self.line(line);
    }

    fn line(&mut self, line: &str) {
        self.source.push_str(line);
        self.source.push('\n');
    }
}

/// Where in a text the events are.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a block that the text is in or not"
)]
struct RoffState {
    font: char,
    is_code_block: bool,
    /// A picture, which a page in a terminal leaves out.
    is_image: bool,
    /// The next paragraph is the first of an entry.
    is_in_item: bool,
    is_section: bool,
    is_table_head: bool,
    cell: usize,
    link: String,
}

impl Default for RoffState {
    fn default() -> RoffState {
        RoffState {
            font: 'R',
            is_code_block: false,
            is_image: false,
            is_in_item: false,
            is_section: false,
            is_table_head: false,
            cell: 0,
            link: String::new(),
        }
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '\'' => out.push_str("\\(aq"),
            '`' => out.push_str("\\(ga"),
            '^' => out.push_str("\\(ha"),
            '~' => out.push_str("\\(ti"),
            '"' => out.push_str("\\(dq"),
            other => out.push(other),
        }
    }
    out
}

fn columns(text: &str) -> usize {
    let of = |letter: char| {
        if letter.is_ascii() {
            1
        } else {
            "\\[u00B7]".len()
        }
    };
    text.chars().map(of).sum()
}

/// Whether text ends within an escape such as `\(aq` or `\fB`.
fn cuts_escape(text: &str) -> bool {
    let Some(at) = text.rfind('\\') else {
        return false;
    };
    let escape = text.get(at + 1..).unwrap_or_default();
    match escape.chars().next() {
        Some('(') => escape.len() < 3,
        Some('f') => escape.len() < 2,
        _ => false,
    }
}

fn ends_sentence(word: &str) -> bool {
    let word = word.trim_end_matches("\\fR").trim_end_matches([')', '"']);
    word.ends_with(['.', '?', '!']) && !word.ends_with("…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> String {
        let mut page = ManualPage::new("x", 7, "2000-01-01");
        page.heading("Description");
        page.markdown(text);
        let source = page.finish();
        source.split_once(".SH DESCRIPTION\n").unwrap().1.to_owned()
    }

    #[test]
    fn no_text_is_a_request() {
        assert_eq!(page(".cbh is one."), "\\&.cbh is one.\n");
        assert_eq!(
            page("    $ 'a' \\\n"),
            ".RS 4\n.nf\n$ \\(aqa\\(aq \\e\n.fi\n.RE\n"
        );
    }

    #[test]
    fn a_table_is_a_list() {
        let table = "| a | b |\n|---|---|\n| `x` | one |\n| y | two |\n";
        assert_eq!(page(table), ".TP\n\\fBx\\fR\none\n.TP\ny\ntwo\n");
    }

    #[test]
    fn long_lines_are_continued() {
        let long = "    ".to_owned() + &"ab-c ".repeat(40);
        let source = page(&long);
        assert!(source.lines().all(|line| line.len() <= 80), "{source}");
        let joined = source.replace("\\c\n", "").replace("\\-", "-");
        assert!(joined.contains(long.trim()), "{joined}");
    }

    #[test]
    fn sentences_begin_a_line() {
        assert_eq!(
            page("One *two*. Three\nfour."),
            "One \\fItwo\\fR.\nThree four.\n"
        );
    }
}
