//! Guiding texts as files, and where their links lead.
//!
//! A text is a file per language that it says anything in: `000005.html` if
//! that is one, else `000005.en.html`, `000005.de.html` and, for what is in
//! no language, `000005.html`. Texts of the old plain kind end in `.txt`. One
//! that says nothing, or cannot be read, is a page of its title.
//!
//! Which files a text has can only be told by reading it, so each listing
//! and look-up reads the texts it is about. Texts are few; games are not
//! touched by that.

mod links;
mod media;

pub(crate) use media::{Media, MediaFile};

use std::sync::{Arc, OnceLock};

use super::once::ReadOnce;
use super::{Base, Error};
use crate::cbh::{Body, GameId, GuidingText, Link, TextLanguage};
use crate::names;
use links::Links;

/// Files of one text, at most. `ChessBase` knows seven languages.
pub(crate) const MOST_FILES: usize = 192;

/// Goes up whenever the same text comes out differently.
pub(crate) const RENDER_VERSION: u32 = 1;

/// One file of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextFile {
    pub(crate) language: TextLanguage,
    pub(crate) name: String,
}

/// The files of this text, by language.
pub(crate) fn files_of(base: &dyn Base, id: GameId) -> Vec<TextFile> {
    let mut text = GuidingText::default();
    if let Err(error) = base.read_text(id, &mut text) {
        // The one file it has then says so when it is read.
        log::debug!("text {}: {error}", id.0);
    }
    files(id, &text)
}

fn files(id: GameId, text: &GuidingText) -> Vec<TextFile> {
    let named = |language, code: Option<&str>, is_html| {
        let extension = if is_html { "html" } else { "txt" };
        (language, names::format_text(id.0, code, extension))
    };
    let is_html = |body: &Body| matches!(body, Body::Html(_));
    let mut files = match &text.contents[..] {
        [] => vec![named(TextLanguage::ANY, None, true)],
        [one] => vec![named(one.language, None, is_html(&one.body))],
        all => all
            .iter()
            .map(|content| {
                let TextLanguage(number) = content.language;
                let code = match content.language {
                    TextLanguage::ANY => None,
                    known => Some(known.code().map_or(number.to_string(), str::to_owned)),
                };
                named(content.language, code.as_deref(), is_html(&content.body))
            })
            .collect(),
    };
    files.sort_by_key(|(language, _)| *language);
    let files = files.into_iter().take(MOST_FILES);
    files
        .map(|(language, name)| TextFile { language, name })
        .collect()
}

/// What is known of a base's texts as a whole, worked out when first asked.
#[derive(Debug, Default)]
pub(crate) struct GuidingTexts {
    ids: ReadOnce<Arc<[GameId]>>,
    links: ReadOnce<Arc<Links>>,
    media: OnceLock<Arc<Media>>,
}

impl GuidingTexts {
    /// The same after a save of games; where links to games lead is looked up
    /// anew, if they may lead elsewhere.
    pub(crate) fn after(&self, keeps_links: bool) -> GuidingTexts {
        let links = if keeps_links {
            self.links.clone()
        } else {
            ReadOnce::default()
        };
        GuidingTexts {
            ids: self.ids.clone(),
            links,
            media: self.media.clone(),
        }
    }

    /// The numbers of all texts, deleted ones too, ascending. To find them,
    /// every record is looked at, once.
    pub(crate) fn ids(&self, base: &dyn Base) -> Result<&[GameId], Error> {
        let ids = self.ids.get_or_read(|| {
            let mut ids = Vec::new();
            base.texts(&mut ids)?;
            Ok::<_, Error>(ids.into())
        });
        ids.map(AsRef::as_ref)
    }

    /// Whether all texts have been looked for.
    pub(crate) fn are_found(&self) -> bool {
        self.ids.get().is_some()
    }

    /// The files of the media folder.
    pub(crate) fn media(&self, base: &dyn Base) -> &Media {
        self.media
            .get_or_init(|| Arc::new(Media::of(&base.location(), base.code_page().0)))
    }

    fn links(&self, base: &dyn Base) -> Result<&Links, Error> {
        let links = self
            .links
            .get_or_read(|| Links::of(base, self.ids(base)?).map(Arc::new));
        links.map(AsRef::as_ref)
    }

    /// Returns the replacement for `address` in a text in `language`: a
    /// relative path. Returns `None` if the address stays.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(crate) fn rewrite(
        &self,
        base: &dyn Base,
        address: &str,
        language: TextLanguage,
        is_deleted: bool,
    ) -> Result<Option<String>, Error> {
        let to_texts = if is_deleted { "../texts/" } else { "" };
        if let Some(link) = Link::parse(address) {
            let links = self.links(base)?;
            return Ok(match link {
                Link::Game(mention) => links.game(&mention).map(|id| {
                    let mut name = String::new();
                    names::format_game(id.0, &mut name);
                    format!("../games/{name}")
                }),
                Link::Text(title) => {
                    let name = links.text(&title, language);
                    name.map(|name| format!("{to_texts}{name}"))
                }
            });
        }
        let stem = base.location().name;
        let name = self.media(base).address(address, &stem);
        Ok(name.map(|name| format!("{to_texts}media/{name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::Content;

    fn names_of(contents: &[(u8, bool)]) -> Vec<(u8, String)> {
        let body = |is_html| {
            let of = if is_html { Body::Html } else { Body::Plain };
            of(String::new())
        };
        let contents = contents.iter().map(|(language, is_html)| Content {
            language: TextLanguage(*language),
            body: body(*is_html),
        });
        let text = GuidingText {
            contents: contents.collect(),
            ..GuidingText::default()
        };
        files(GameId(5), &text)
            .into_iter()
            .map(|file| (file.language.0, file.name))
            .collect()
    }

    #[test]
    fn a_text_has_a_file_per_language() {
        let named = |names: &[(u8, &str)]| -> Vec<(u8, String)> {
            names
                .iter()
                .map(|(language, name)| (*language, (*name).to_owned()))
                .collect()
        };
        for (contents, expected) in [
            (&[][..], &[(7, "000005.html")][..]),
            (&[(1, true)], &[(1, "000005.html")]),
            (&[(0, false)], &[(0, "000005.txt")]),
            (
                &[(7, true), (1, true), (0, true), (9, true)],
                &[
                    (0, "000005.en.html"),
                    (1, "000005.de.html"),
                    (7, "000005.html"),
                    (9, "000005.9.html"),
                ],
            ),
            (
                &[(5, false), (6, false)],
                &[(5, "000005.nl.txt"), (6, "000005.pt.txt")],
            ),
        ] {
            assert_eq!(names_of(contents), named(expected));
        }
    }

    #[test]
    fn a_text_has_only_so_many_files() {
        let contents = (0..=u8::MAX).map(|language| Content {
            language: TextLanguage(language),
            body: Body::Html(String::new()),
        });
        let text = GuidingText {
            contents: contents.collect(),
            ..GuidingText::default()
        };
        assert_eq!(files(GameId(u32::MAX), &text).len(), MOST_FILES);
    }
}
