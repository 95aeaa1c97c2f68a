//! Opening books: what is known to be in them is found in them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::string_slice,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cbfs::book::ctg::CtgBook;
use cbfs::book::{Book, CanonicalBoard, Entry};
use cbfs::game::Position;
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Color};

fn position(fen: &str) -> Position {
    let fen: Fen = fen.parse().unwrap();
    Position::from_setup(fen.into_setup(), CastlingMode::Standard)
}

/// A line of a file of expectations: what a book has of one position, or that
/// it has nothing. Numbers are those of the side to move.
struct Expected {
    fen: String,
    fields: BTreeMap<String, String>,
}

impl Expected {
    fn is_in_the_book(&self) -> bool {
        self.fields["total"] != "MISS"
    }

    fn number(&self, field: &str) -> u32 {
        self.fields[field].parse().unwrap()
    }

    fn byte(&self, field: &str) -> u8 {
        u8::from_str_radix(self.fields[field].trim_start_matches("0x"), 16).unwrap()
    }
}

fn expectations(path: &Path) -> Vec<Expected> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t'));
    let names: Vec<&str> = lines.next().unwrap().collect();
    let line = |values: std::str::Split<'_, char>| {
        let pairs = names.iter().zip(values);
        let fields: BTreeMap<String, String> = pairs
            .map(|(name, value)| ((*name).to_owned(), value.to_owned()))
            .collect();
        Expected {
            fen: fields["fen"].clone(),
            fields,
        }
    };
    lines.map(line).collect()
}

/// Every number and move of an entry, seen by the side to move.
fn compare(expected: &Expected, position: &Position, entry: &Entry) {
    let turn = position.turn();
    let Entry { statistics, .. } = entry;
    let fen = &expected.fen;
    let number = |field: &str| expected.number(field);
    assert_eq!(statistics.games, number("total"), "{fen}");
    assert_eq!(statistics.wins_of(turn), number("wins_stm"), "{fen}");
    assert_eq!(statistics.wins_of(!turn), number("losses_stm"), "{fen}");
    assert_eq!(statistics.draws, number("draws"), "{fen}");
    let all = 10 * statistics.games;
    let white = turn.fold_wb(number("score10"), all - number("score10"));
    assert_eq!(statistics.score, Some(white), "{fen}");
    let ratings = statistics.ratings.unwrap();
    for (color, players, sum) in [(turn, "r1_games", "r1_sum"), (!turn, "r2_games", "r2_sum")] {
        let ratings = ratings.get(color);
        assert_eq!(ratings.players, number(players), "{fen}");
        assert_eq!(ratings.sum, number(sum), "{fen}");
    }
    assert_eq!(entry.flags.0, expected.byte("flags"), "{fen}");
    let weight: i8 = expected.fields["factor"].parse().unwrap();
    assert_eq!(entry.weight, Some(weight), "{fen}");
    let comment = cbfs::book::turned_nag(expected.byte("comment"), turn);
    assert_eq!(entry.comment, comment, "{fen}");
    let moves: Vec<String> = entry.moves.iter().map(written).collect();
    let known: Vec<&str> = expected.fields[MOVES].split_whitespace().collect();
    assert_eq!(moves, known, "{fen}");
    assert_eq!(entry.refused, [], "{fen}");
}

const MOVES: &str = "moves(uci:code:annotation)";

fn written(book_move: &cbfs::book::BookMove) -> String {
    let uci = book_move.m.to_uci(CastlingMode::Standard);
    format!("{uci}:{:02x}:{:02x}", book_move.code, book_move.annotation)
}

/// Every book beside which a file says what is in it.
fn books_with_expectations(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut books = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if let Some(stem) = path.to_str().unwrap().strip_suffix(".vectors.tsv") {
            books.push((PathBuf::from(format!("{stem}.ctg")), path.clone()));
        }
    }
    books.sort();
    books
}

fn agree_with_expectations(book: &Path, vectors: &Path) -> usize {
    let book = CtgBook::open(book).unwrap();
    let mut found = 0;
    for expected in expectations(vectors) {
        let position = position(&expected.fen);
        let fast = CanonicalBoard::from_fen(expected.fen.as_bytes()).unwrap();
        assert_eq!(
            CanonicalBoard::of(&position),
            Some(fast),
            "{}",
            expected.fen
        );
        match book.look_up(&position).unwrap() {
            Some(entry) => {
                found += 1;
                assert!(expected.is_in_the_book(), "{}", expected.fen);
                compare(&expected, &position, &entry);
            }
            None => assert!(!expected.is_in_the_book(), "{}", expected.fen),
        }
    }
    assert_eq!(book.defects(), []);
    println!("{}: {found} positions", vectors.display());
    found
}

#[test]
fn real_and_generated_books_say_what_is_known_to_be_in_them() {
    let Some(shared) = common::shared() else {
        return;
    };
    let folders = ["real", "generated"].map(|folder| shared.join("books").join(folder));
    let books: Vec<_> = folders
        .iter()
        .flat_map(|folder| books_with_expectations(folder))
        .collect();
    assert!(books.len() >= 4, "{books:?}");
    for (book, vectors) in books {
        assert!(agree_with_expectations(&book, &vectors) >= 4);
    }
    assert_eq!(Color::White, Color::White);
}
