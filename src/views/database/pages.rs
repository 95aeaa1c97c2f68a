//! Pages about what is in a database, as `html/` has them.

use super::DatabaseVolume;
use crate::cbh::{Decoded, GameId};
use crate::fs::{Error, TextCache};
use crate::pgn;
use crate::picture::game::{GamePage, Links};
use crate::picture::page;

/// Memory for pages that were made.
const PAGE_BYTES: usize = 8 << 20;

/// An empty store of pages.
pub(super) fn cache() -> TextCache {
    TextCache::new(PAGE_BYTES)
}

impl DatabaseVolume {
    /// The page of a game; of one that cannot be read, why not.
    pub(super) fn page_of_game(&self, id: GameId) -> Result<String, Error> {
        let mut decoded = Decoded::default();
        let read = self.base.read_game_to_render(id, &mut decoded);
        self.ensure_present()?;
        let _permit = match read {
            Ok(permit) => permit,
            Err(error) => {
                let why = format!("This game cannot be read. {error}");
                return Ok(page::unreadable(&format!("Game {}", id.0), &why, 1));
            }
        };
        let mut pgn = Vec::new();
        if self.is_clean {
            pgn::encode_clean(&decoded.game, &mut pgn);
        } else {
            pgn::encode(&decoded.game, &decoded.defects, &mut pgn);
        }
        let page = GamePage {
            number: id.0,
            game: &decoded.game,
            defects: &decoded.defects,
            pgn: &String::from_utf8_lossy(&pgn),
            links: Links::default(),
        };
        Ok(page.render())
    }
}
