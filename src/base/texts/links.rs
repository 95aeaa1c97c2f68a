//! Where the links of texts lead.
//!
//! Links name games by players and texts by title. All links of all texts
//! are looked up together when the first of them is met: that takes one pass
//! over the texts, the players and the headers, and holds in memory what the
//! links themselves say, not what the base holds.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::{TextFile, files};
use crate::base::{Base, Error};
use crate::cbh::{Body, GameId, GameMention, GuidingText, Link, RecordKind, TextLanguage};
use crate::html;

/// A text that a title leads to.
#[derive(Debug)]
struct LinkTarget {
    id: GameId,
    /// The languages of the title.
    languages: Vec<TextLanguage>,
    files: Vec<TextFile>,
}

/// The links that lead to one game or text that is not deleted.
#[derive(Debug, Default)]
pub(super) struct Links {
    games: HashMap<GameMention, GameId>,
    /// By title; `None` if several texts have it.
    texts: HashMap<String, Option<LinkTarget>>,
}

impl Links {
    /// Looks up the links of all texts. What cannot be read leads nowhere.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] that may pass; what is damaged has no links.
    pub(super) fn of(base: &dyn Base, ids: &[GameId]) -> Result<Links, Error> {
        let mut links = Links::default();
        let mut mentions = HashSet::new();
        let mut entries = Vec::new();
        let mut text = GuidingText::default();
        for id in ids {
            entries.clear();
            let read = base.read_text(*id, &mut text);
            match read.and_then(|()| base.entries(*id, 1, &mut entries)) {
                Err(error) if error.may_pass() => return Err(error),
                Err(_) => continue,
                Ok(()) => {}
            }
            collect_mentions(&text, &mut mentions);
            let is_shown =
                |entry: crate::cbh::Entry| entry.kind == RecordKind::Text && !entry.is_deleted;
            if entries.first().copied().is_some_and(is_shown) {
                links.add_titles(*id, &text);
            }
        }
        let found = base.find_games(&mentions)?.into_iter();
        links.games = found.map(|(mention, id)| (mention.clone(), id)).collect();
        Ok(links)
    }

    fn add_titles(&mut self, id: GameId, text: &GuidingText) {
        for (language, title) in &text.titles {
            let title = title.trim();
            if title.is_empty() {
                continue;
            }
            match self.texts.entry(title.to_owned()) {
                Entry::Vacant(place) => {
                    place.insert(Some(LinkTarget {
                        id,
                        languages: vec![*language],
                        files: files(id, text),
                    }));
                }
                Entry::Occupied(mut place) => match place.get_mut() {
                    Some(target) if target.id == id => target.languages.push(*language),
                    several => *several = None,
                },
            }
        }
    }

    /// The game that is meant.
    pub(super) fn game(&self, mention: &GameMention) -> Option<GameId> {
        self.games.get(mention).copied()
    }

    /// The file of the text with this title: in `language` if there is one,
    /// else in that of the title, else the first.
    pub(super) fn text(&self, title: &str, language: TextLanguage) -> Option<&str> {
        let target = self.texts.get(title)?.as_ref()?;
        let wanted = std::iter::once(&language).chain(&target.languages);
        let file = wanted
            .filter_map(|language| {
                let mut files = target.files.iter();
                files.find(|file| file.language == *language)
            })
            .chain(&target.files)
            .next()?;
        Some(&file.name)
    }
}

fn collect_mentions(text: &GuidingText, mentions: &mut HashSet<GameMention>) {
    for content in &text.contents {
        let Body::Html(page) = &content.body else {
            continue;
        };
        html::for_each_address(page, &mut |address| {
            if let Some(Link::Game(mention)) = Link::parse(address) {
                mentions.insert(mention);
            }
        });
    }
}
