//! Games that Kvetka's opening books reference, from their sources.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::string_slice,
    reason = "a test says what is wrong by panicking"
)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cbfs::base::referenced::{BookGames, GamesOptions};
use cbfs::book::GameReference;
use cbfs::book::kvetka::{KvetkaBook, KvetkaOptions};

fn open(path: &Path) -> KvetkaBook {
    KvetkaBook::open(path, KvetkaOptions::default()).unwrap()
}

fn games(book: &str, maps: &[&str]) -> BookGames {
    let book = open(&common::fixture(book));
    let maps = maps.iter().map(|map| map.parse().unwrap()).collect();
    let options = GamesOptions {
        maps,
        code_page: None,
    };
    BookGames::new(Arc::new(book), options)
}

fn text(games: &BookGames, source: u16, game: u32) -> Result<String, String> {
    let text = games.render(GameReference { source, game });
    text.map(|text| String::from_utf8(text).unwrap())
        .map_err(|error| error.to_string())
}

#[test]
fn games_of_a_pgn_file_are_shown_verbatim() {
    let games = games("book/kvetka.kin", &[]);
    let whole = fs::read_to_string(common::fixture("book/kvetka.pgn")).unwrap();
    let read: Vec<String> = (0..5).map(|game| text(&games, 0, game).unwrap()).collect();
    assert_eq!(read.concat(), whole);
    assert!(text(&games, 0, 5).is_err());
    assert!(text(&games, 9, 0).is_err());
    let listed = games.list().unwrap();
    assert_eq!(listed.len(), 4);
    assert_eq!(listed[0].source.games, 5);
    assert_eq!(listed[0].path, Some(common::fixture("book/kvetka.pgn")));
    let table = games.table().unwrap();
    assert!(table.contains("\n1\tweb\t1\t1\thttp://www.example.org/live/game1.htm\t\n"));
    assert_eq!(table.lines().count(), 5);
}

#[test]
fn games_of_a_database_and_of_the_web_are_shown() {
    let folder = common::fixture("cbh/sample").display().to_string();
    let games = games("book/kvetka.kin", &[&format!("c:/Bases={folder}")]);
    let database = cbfs::cbh::Database::open(
        &common::fixture("cbh/sample/sample.cbh"),
        &cbfs::cbh::Options::default(),
    );
    let mut decoded = cbfs::cbh::Decoded::default();
    let id = cbfs::cbh::GameId(1);
    database.unwrap().read_game(id, &mut decoded).unwrap();
    assert_eq!(text(&games, 2, 0).unwrap(), common::text_of(&decoded));
    let web = text(&games, 1, 0).unwrap();
    assert!(web.contains("[White \"Корчной\"]"), "{web}");
    assert!(
        web.contains("http://www.example.org/live/game1.htm"),
        "{web}"
    );
}

#[test]
fn a_missing_source_is_reported_with_the_paths_tried() {
    let games = games("book/kvetka.kin", &["C:\\other=/none"]);
    let why = text(&games, 2, 0).unwrap_err();
    let looked = common::fixture("book/sample.cbh").display().to_string();
    for part in [
        "source 2: C:\\bases\\sample.cbh is not found",
        &looked,
        "--source-map 'C:\\bases=/FOLDER'",
    ] {
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn every_game_of_a_large_source_is_in_its_pgn_file() {
    let Some(shared) = common::shared() else {
        return;
    };
    let books = shared.join("books");
    let book = open(&books.join("generated/kvtwic.kin"));
    let games = BookGames::new(Arc::new(book), GamesOptions::default());
    let whole = fs::read_to_string(books.join("generated/twic1134.pgn")).unwrap();
    let mut at = 0;
    for game in 0..6117 {
        let text = text(&games, 0, game).unwrap();
        let known = games_after(&whole, at);
        assert!(known.starts_with(text.trim_end()), "{game}");
        at = whole.len() - known.len() + text.trim_end().len();
    }
    assert_eq!(whole[at..].trim(), "");
}

fn games_after(text: &str, at: usize) -> &str {
    text[at..].trim_start_matches(['\u{FEFF}', '\n', '\r', ' '])
}
