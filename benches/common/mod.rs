//! Helpers of the benchmarks: the games of a base, and their rendering.

use std::hint::black_box;

use cbfs::cbh::{Database, Decoded, GameId, RecordKind};

/// The games of a base, except deleted ones.
pub(crate) fn games_of(database: &Database) -> Vec<GameId> {
    let mut entries = Vec::new();
    database
        .entries(GameId(1), database.last_id(), &mut entries)
        .expect("the headers can be read");
    let games = entries
        .iter()
        .filter(|entry| entry.kind == RecordKind::Game && !entry.is_deleted);
    games.map(|entry| entry.id).collect()
}

/// Renders every game; returns the total length in bytes.
pub(crate) fn render_all(database: &Database, games: &[GameId]) -> usize {
    let (mut decoded, mut text) = (Decoded::default(), Vec::new());
    let mut bytes = 0;
    for &id in games {
        database
            .read_game(id, &mut decoded)
            .expect("the game can be read");
        text.clear();
        cbfs::pgn::encode(&decoded.game, &decoded.defects, &mut text);
        bytes += black_box(&text).len();
    }
    bytes
}
