//! A guiding text in one language, as the content of its file.

use std::fmt::Write as _;

use super::{Body, GuidingText, TextLanguage};
use crate::game::Tournament;
use crate::html::DocumentFrame;

impl GuidingText {
    /// Appends the text in `language` as the content of a file: a whole page,
    /// or plain text. Each address in it becomes what `rewrite` returns for it,
    /// if anything.
    pub fn append_page(
        &self,
        language: TextLanguage,
        rewrite: &mut dyn FnMut(&str) -> Option<String>,
        out: &mut String,
    ) {
        let mut contents = self.contents.iter();
        let content = contents.find(|content| content.language == language);
        match content.map(|content| &content.body) {
            Some(Body::Html(page)) => render_html(self, language, page, rewrite, out),
            Some(Body::Plain(body)) => render_plain(self, language, body, out),
            None => render_html(self, language, "", rewrite, out),
        }
    }
}

/// The properties of a text in its record, with their names; blank if not
/// given.
fn properties(text: &GuidingText) -> [(&'static str, String); 4] {
    let round = match (text.round, text.subround) {
        (0, _) => String::new(),
        (round, 0) => round.to_string(),
        (round, subround) => format!("{round}.{subround}"),
    };
    [
        ("author", text.annotator.clone()),
        ("tournament", tournament_name(&text.tournament)),
        ("round", round),
        ("source", text.source.title.clone()),
    ]
}

/// `Title (Place) Year` with the parts it has.
fn tournament_name(tournament: &Tournament) -> String {
    let place = tournament.place.trim();
    let parts = [
        tournament.title.trim().to_owned(),
        match place {
            "" => String::new(),
            place => format!("({place})"),
        },
        match tournament.start.year {
            0 => String::new(),
            year => year.to_string(),
        },
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// Notes for the reader about parts that could not be read.
fn notes(text: &GuidingText) -> Vec<String> {
    let note = |defect| format!("[cbfs: not all of this text could be read: {defect}]");
    text.defects.iter().map(note).collect()
}

fn render_html(
    text: &GuidingText,
    language: TextLanguage,
    page: &str,
    rewrite: &mut dyn FnMut(&str) -> Option<String>,
    out: &mut String,
) {
    let properties = properties(text);
    let properties = properties
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    DocumentFrame {
        title: text.title(language),
        properties: &properties,
        notes: &notes(text),
    }
    .complete(page, rewrite, out);
}

/// The title, what the record says, and the text, with empty lines between.
fn render_plain(text: &GuidingText, language: TextLanguage, body: &str, out: &mut String) {
    let title = text.title(language);
    if !title.is_empty() {
        out.extend([title, "\n\n"]);
    }
    let head = out.len();
    for (name, value) in properties(text) {
        if !value.trim().is_empty() {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{name}: {}", value.trim());
        }
    }
    if out.len() > head {
        out.push('\n');
    }
    out.push_str(body.trim_end());
    out.push('\n');
    for note in notes(text) {
        out.extend(["\n", note.as_str(), "\n"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::texts::Content;
    use crate::game::{Date, Defect};

    fn rendered(text: &GuidingText) -> String {
        let mut out = String::new();
        text.append_page(TextLanguage::ENGLISH, &mut |_| None, &mut out);
        out
    }

    fn text(body: Body) -> GuidingText {
        GuidingText {
            titles: vec![(TextLanguage::ENGLISH, "A <title>".to_owned())],
            contents: vec![Content {
                language: TextLanguage::ENGLISH,
                body,
            }],
            ..GuidingText::default()
        }
    }

    fn with_record(mut text: GuidingText) -> GuidingText {
        text.annotator = "A Writer".to_owned();
        text.tournament.title = "Open".to_owned();
        text.tournament.place = "Graz".to_owned();
        text.tournament.start = Date {
            year: 2003,
            ..Date::UNKNOWN
        };
        (text.round, text.subround) = (3, 1);
        text
    }

    #[test]
    fn a_plain_text_begins_with_its_title() {
        let plain = || Body::Plain("a < b\n\n".to_owned());
        assert_eq!(rendered(&text(plain())), "A <title>\n\na < b\n");
        assert_eq!(
            rendered(&with_record(text(plain()))),
            "A <title>\n\nauthor: A Writer\ntournament: Open (Graz) 2003\nround: 3.1\n\na < b\n"
        );
    }

    #[test]
    fn a_page_carries_title_and_record_in_its_head() {
        let page = rendered(&with_record(text(Body::Html("<p>x".to_owned()))));
        for part in [
            "<title>A &lt;title&gt;</title>",
            "<meta name=\"author\" content=\"A Writer\">",
            "<meta name=\"tournament\" content=\"Open (Graz) 2003\">",
            "<meta name=\"round\" content=\"3.1\">",
            "<body><p>x</body>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("source"));
    }

    #[test]
    fn damage_is_told_at_the_end() {
        let defect = Defect {
            file: "cbg",
            offset: 26,
            what: "it ends early".to_owned(),
        };
        for body in [Body::Html("x".to_owned()), Body::Plain("x".to_owned())] {
            let mut text = text(body);
            text.defects.push(defect.clone());
            let told = "x\n";
            let out = rendered(&text);
            let end = out.split_once(told).unwrap().1;
            assert!(end.contains(".cbg at 0x1a: it ends early]"), "{out}");
        }
    }
}
