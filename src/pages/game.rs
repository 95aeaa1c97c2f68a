//! Pages of games.

use super::Maker;
use crate::cbh::{Decoded, EntityKind, Error, GameId};
use crate::game::Game;
use crate::openings;
use crate::pgn;
use crate::picture::game::{GamePage, Links};
use crate::picture::page;
use crate::picture::tables::code;

impl Maker<'_> {
    /// The page of a game. Of one that cannot be read it says why; that error, too.
    pub fn page_of_game(&self, id: GameId) -> (String, Option<Error>) {
        let mut decoded = Decoded::default();
        let _permit = match self.base.read_game_to_render(id, &mut decoded) {
            Ok(permit) => permit,
            Err(error) => {
                let why = format!("This game cannot be read. {error}");
                let page = page::unreadable(&format!("Game {}", id.0), &why, 1);
                return (page, Some(error));
            }
        };
        let mut pgn = Vec::new();
        pgn::encode_as(self.is_clean, &decoded.game, &decoded.defects, &mut pgn);
        let page = GamePage {
            number: id.0,
            game: &decoded.game,
            defects: &decoded.defects,
            pgn: &String::from_utf8_lossy(&pgn),
            links: self.links_of_game(id, &decoded.game),
        };
        (page.render(), None)
    }

    /// The pages that belong to a game. What cannot be read has none.
    fn links_of_game(&self, id: GameId, game: &Game) -> Links {
        let Ok(summary) = self.base.summary(id) else {
            return Links::default();
        };
        let player = |id| self.path_of_entity(EntityKind::Player, id);
        Links {
            white: player(summary.white),
            black: player(summary.black),
            tournament: self.path_of_entity(EntityKind::Tournament, summary.tournament),
            eco: summary.eco.map(|eco| format!("eco/{}.html", code(eco))),
            // A base may have given the game to another opening.
            opening: openings::of_game(game)
                .filter(|found| summary.eco.map(code) == Some(code(found.eco)))
                .map(|found| found.name),
        }
    }
}
