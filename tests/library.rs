//! The stable items at the root of the library read bases, books and PGN.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

use std::path::Path;

use cbfs::{BaseError, Book, Decoded, EntityKind, GameId, GameResult, Options, RecordKind};

const SAMPLE: &str = "fixtures/cbh/sample/sample.cbh";

#[test]
fn a_base_is_read_whole() {
    let base = cbfs::open(Path::new(SAMPLE), &Options::default()).unwrap();
    let mut entries = Vec::new();
    base.entries(GameId(1), base.last_id(), &mut entries)
        .unwrap();
    let players = base.entity_names(EntityKind::Player).unwrap();
    let mut decoded = Decoded::default();
    let mut games = 0;
    for entry in entries
        .iter()
        .filter(|entry| entry.kind == RecordKind::Game)
    {
        base.read_game(entry.id, &mut decoded).unwrap();
        assert!(decoded.defects.is_empty());
        let summary = base.summary(entry.id).unwrap();
        let white = players.get(summary.white).unwrap_or_default();
        assert_eq!(white, decoded.game.headers.white.joined());
        let mut text = Vec::new();
        cbfs::encode_pgn(&decoded.game, &[], &mut text);
        let read = cbfs::decode_pgn(&text).unwrap();
        assert_eq!(read.tree.len(), decoded.game.tree.len());
        assert_eq!(
            read.annotations.iter().count(),
            decoded.game.annotations.iter().count()
        );
        games += 1;
    }
    assert!(games > 10);
    let beyond = base.read_game(GameId(base.last_id() + 1), &mut decoded);
    assert!(matches!(beyond, Err(BaseError::NotUsed(_))));
}

#[test]
fn games_are_found_as_the_command_finds_them() {
    let base = cbfs::open(Path::new(SAMPLE), &Options::default()).unwrap();
    let won = cbfs::find(base.as_ref(), &["result:1-0"]).unwrap();
    for number in 1..=base.last_id() {
        let id = GameId(number);
        let Ok(summary) = base.summary(id) else {
            continue;
        };
        let fits = summary.result == Some(GameResult::WhiteWon) && !summary.is_deleted;
        assert_eq!(won.contains(&id), fits, "game {number}");
    }
    let error = cbfs::find(base.as_ref(), &["frob:1"]).unwrap_err();
    assert!(error.to_string().starts_with("frob:1"), "{error}");
}

#[test]
fn a_book_is_looked_up() {
    let book = cbfs::open_book(Path::new("fixtures/book/small/small.ctg"), None);
    let book = book.unwrap().unwrap();
    let entry = Book::look_up(book.as_ref(), &cbfs::Position::default());
    assert_eq!(entry.unwrap().unwrap().moves.len(), 5);
    assert!(cbfs::open_book(Path::new(SAMPLE), None).is_none());
}
