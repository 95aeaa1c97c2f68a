//! Appends of guiding texts.

use super::{CopiedMetadata, SaveError, Saver};
use crate::cbh::entities::Entity;
use crate::cbh::record::{NEW_TEXT, TextRecord};
use crate::cbh::texts;
use crate::cbh::{Body, FileKind, GameId, GuidingText};

/// Flag of a text that shows pictures.
const HAS_PICTURES: u32 = 0x0002_0000;

/// A guiding text in the form in which a base stores it, as a copy of another
/// base has it.
#[derive(Debug)]
pub struct PreparedText {
    text: GuidingText,
    blob: Vec<u8>,
    past: CopiedMetadata,
}

impl PreparedText {
    /// Encodes titles and contents.
    ///
    /// # Errors
    ///
    /// [`SaveError::DoesNotFit`].
    pub fn new(text: GuidingText, past: CopiedMetadata) -> Result<PreparedText, SaveError> {
        let blob = texts::encode(&text).map_err(|(field, length)| SaveError::DoesNotFit {
            field,
            value: length.to_string(),
            limit: "a guiding text has at most 16 MiB, its titles 64 KiB each".to_owned(),
        })?;
        Ok(PreparedText { text, blob, past })
    }
}

impl Saver<'_> {
    /// Appends a guiding text. Returns its id.
    ///
    /// # Errors
    ///
    /// [`SaveError`].
    pub(super) fn append_text(&mut self, prepared: &PreparedText) -> Result<GameId, SaveError> {
        let PreparedText { text, blob, past } = prepared;
        let id = self.next_free()?;
        self.event = past.event;
        let annotator = Entity::Annotator(text.annotator.clone());
        let record = TextRecord {
            tournament: self.tournament(&text.tournament)?,
            source: self.source(&text.source)?,
            annotator: self.find_or_add(&annotator)?.id,
            offset: self.append_moves(blob)?,
            round: text.round,
            subround: text.subround,
            flags: if has_pictures(text) { HAS_PICTURES } else { 0 },
        };
        let mut bytes = NEW_TEXT;
        let encoded = record.encode(&mut bytes);
        encoded.map_err(SaveError::malformed(FileKind::Headers))?;
        self.records.insert(id.0, bytes);
        self.is_changed = true;
        self.next_id += 1;
        let entities = vec![
            (FileKind::Tournaments, record.tournament),
            (FileKind::Sources, record.source),
            (FileKind::Annotators, record.annotator),
        ];
        self.entities.change_references(id, Vec::new(), entities);
        let extended = self.new_extended(Some(past))?;
        self.put_new_extended(id, &extended)?;
        self.put_past(id, Some(past))?;
        Ok(id)
    }
}

fn has_pictures(text: &GuidingText) -> bool {
    let shows = |page: &str| page.to_ascii_lowercase().contains("<img");
    let mut bodies = text.contents.iter().map(|content| &content.body);
    bodies.any(|body| matches!(body, Body::Html(page) if shows(page)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::{Content, TextLanguage};

    #[test]
    fn a_text_shows_pictures_if_one_of_its_pages_does() {
        for (pages, wanted) in [
            (&[][..], false),
            (&["<p>img</p>"], false),
            (&["<p>a</p>", "<p><IMG src=\"a.jpg\"></p>"], true),
            (&["<img>", "b"], true),
        ] {
            let content = |page: &&str| Content {
                language: TextLanguage::ENGLISH,
                body: Body::Html((*page).to_owned()),
            };
            let text = GuidingText {
                contents: pages.iter().map(content).collect(),
                ..GuidingText::default()
            };
            assert_eq!(has_pictures(&text), wanted, "{pages:?}");
        }
    }
}
