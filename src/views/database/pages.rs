//! Pages for browsers: what their files are called, and what of them is kept.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::DatabaseVolume;
use super::directories::{Eco, most_pieces};
use crate::base::Base;
use crate::cbh::{EntityId, EntityKind, GameGroup};
use crate::fs::content::once::Once;
use crate::fs::{Error, TextCache};
use crate::game;
use crate::names;
use crate::pages::{FileNaming, GamesOf, Maker, Section, site};
use crate::search::GameSet;

/// Memory for pages that were made.
const PAGE_BYTES: usize = 8 << 20;

/// What is on each section, by name, worked out when first asked.
pub(super) type Sections = [Once<Arc<Vec<u32>>>; Section::ALL.len()];

/// An empty store of pages.
pub(super) fn cache() -> TextCache {
    TextCache::new(PAGE_BYTES)
}

/// Writes the pages of a base to the new folder `to`, all or none: those of some
/// games, or of all.
///
/// # Errors
///
/// See [`site::write`].
pub fn write_site(
    base: Box<dyn Base>,
    chosen: Option<&GameSet>,
    to: &Path,
    progress: &mut dyn FnMut(u32) -> bool,
) -> io::Result<site::Written> {
    let volume = DatabaseVolume::alone(Arc::from(base), "");
    let maker = Maker {
        chosen,
        ..volume.maker()
    };
    site::write(maker, to, progress)
}

impl FileNaming for DatabaseVolume {
    fn file_of_entity(&self, kind: EntityKind, id: EntityId) -> Option<String> {
        let named = self.groups.named(self.base.as_ref(), kind).ok()?;
        Some(names::page(named.file_name(id)?, id.0))
    }

    fn most_pieces(&self, section: Section, id: u32) -> usize {
        most_pieces(section, id)
    }
}

impl DatabaseVolume {
    /// Makes pages of this state.
    pub(super) fn maker(&self) -> Maker<'_> {
        Maker {
            base: self.base.as_ref(),
            files: self,
            is_clean: self.is_clean,
            chosen: None,
        }
    }

    /// The number on a section of what has this page.
    pub(super) fn id_of_page(&self, section: Section, page: &str) -> Option<u32> {
        let stem = names::stem_of_page(page)?;
        let Some(kind) = section.kind() else {
            return match Eco::parse(stem.as_bytes())? {
                GameGroup::Eco(code) => {
                    Some(code.map_or(game::Eco::COUNT, game::Eco::index).into())
                }
                _ => None,
            };
        };
        let named = self.groups.named(self.base.as_ref(), kind).ok()?;
        let is_named = |id: &EntityId| {
            let name = named.file_name(*id);
            name.is_some_and(|name| names::page(name, id.0) == page)
        };
        let same = named.find(stem.as_bytes()).filter(is_named);
        // If the name was cut, it ends in the id.
        let cut = || names::last_id(stem).map(EntityId).filter(is_named);
        same.or_else(cut).map(|id| id.0)
    }

    /// The games of what has a page.
    pub(super) fn games_of_page(&self, section: Section, id: u32) -> Result<GamesOf, Error> {
        if self.maker().file(section, id).is_none() {
            return Err(Error::NotFound);
        }
        Ok(self.maker().games(section, id)?)
    }

    /// What is on a section, by name.
    pub(super) fn listed_on(&self, section: Section) -> Result<Arc<Vec<u32>>, Error> {
        let place = Section::ALL.iter().position(|one| *one == section);
        let known = place.and_then(|place| self.sections.get(place));
        known.ok_or(Error::NotFound)?.get_or_work_out(|| {
            let listed = self.maker().listed(section)?;
            self.ensure_present()?;
            Ok(Arc::new(listed))
        })
    }
}
