//! Nothing is lost: bytes → game → text → game → bytes gives the same bytes,
//! for every game of every base.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail and speak as tests do"
)]

mod common;

use std::path::Path;

use cbfs::cbh::{Database, Decoded, GameId, Options, RecordKind, StoredGame, rewrite, write};
use cbfs::game::Game;
use cbfs::pgn;

use common::{fixture_bases, real_bases, text_of};

/// Calls `with` for every game that could be read completely.
fn for_each_game(base: &Path, mut with: impl FnMut(GameId, &Database, &StoredGame, &Decoded)) {
    let database = Database::open(base, &Options::default()).unwrap();
    let mut entries = Vec::new();
    database
        .entries(GameId(1), database.last_id(), &mut entries)
        .unwrap();
    let mut decoded = Decoded::default();
    for entry in entries {
        if entry.kind != RecordKind::Game || database.read_game(entry.id, &mut decoded).is_err() {
            continue;
        }
        if decoded.defects.is_empty() {
            let stored = database.stored_game(entry.id).unwrap();
            with(entry.id, &database, &stored, &decoded);
        }
    }
}

#[test]
fn an_edit_that_changes_nothing_changes_no_byte() {
    let mut games = 0;
    for base in real_bases().into_iter().chain(fixture_bases()) {
        for_each_game(&base, |id, database, stored, decoded| {
            let game = &decoded.game;
            let again = rewrite(id, stored, game, game, database.code_page()).unwrap();
            assert_eq!(&again, stored, "{} game {}", base.display(), id.0);
            games += 1;
        });
    }
    assert!(games > 100, "only {games} games");
    println!("{games} games keep their bytes");
}

#[test]
fn the_text_of_every_game_gives_its_bytes_back() {
    let mut games = 0;
    for base in real_bases().into_iter().chain(fixture_bases()) {
        for_each_game(&base, |id, database, stored, decoded| {
            let place = format!("{} game {}", base.display(), id.0);
            let text = text_of(decoded);
            let read =
                pgn::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{place}:{error}"));
            assert_eq!(text_of_game(&read), text, "{place}");
            let again = rewrite(id, stored, &decoded.game, &read, database.code_page()).unwrap();
            assert_eq!(&again, stored, "{place}:\n{text}");
            games += 1;
        });
    }
    assert!(games > 100, "only {games} games");
    println!("{games} games come back byte for byte");
}

/// Without the stored game at hand, a text gives the same moves, remarks and
/// headers: what is written from it alone shows the same text.
#[test]
fn the_text_of_every_game_alone_gives_the_same_game() {
    for base in real_bases().into_iter().chain(fixture_bases()) {
        for_each_game(&base, |id, database, _, decoded| {
            let place = format!("{} game {}", base.display(), id.0);
            let text = text_of(decoded);
            let read = pgn::decode(text.as_bytes()).unwrap();
            let page = database.code_page();
            let written = write(id, &read, page).unwrap();
            let mut again = Game {
                headers: read.headers.clone(),
                foreign_tags: read.foreign_tags.clone(),
                ..Game::default()
            };
            written.decode(page, &mut again).unwrap();
            assert_eq!(text_of_game(&again), text, "{place}");
        });
    }
}

fn text_of_game(game: &Game) -> String {
    let mut text = Vec::new();
    pgn::encode(game, &[], &mut text);
    String::from_utf8(text).unwrap()
}
