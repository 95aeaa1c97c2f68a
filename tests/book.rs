//! Opening books: their content equals the known one.

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
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cbfs::book::check::{BookCounts, check};
use cbfs::book::ctg::CtgBook;
use cbfs::book::export::{
    ExportFormat, PgnOptions, polyglot_key, write_openings, write_pgn, write_together,
};
use cbfs::book::position_files::{book_pgn, line_pgn, moves_tsv, stats_json};
use cbfs::book::walk::{BookWalk, Limits, shortest_line};
use cbfs::book::{Book, BookEntry, BookLine, CanonicalBoard, board_fields};
use cbfs::game::{Defect, Position};
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess};

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
fn compare(expected: &Expected, position: &Position, entry: &BookEntry) {
    let turn = position.turn();
    let BookEntry { statistics, .. } = entry;
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
    let moves: Vec<String> = entry.moves.iter().copied().map(written).collect();
    let known: Vec<&str> = expected.fields[MOVES].split_whitespace().collect();
    assert_eq!(moves, known, "{fen}");
    assert_eq!(entry.refused, [], "{fen}");
}

const MOVES: &str = "moves(uci:code:annotation)";

fn written(book_move: cbfs::book::BookMove) -> String {
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
fn real_and_generated_books_have_their_known_content() {
    let Some(shared) = common::shared() else {
        return;
    };
    let folders = ["real", "generated"].map(|folder| shared.join("books").join(folder));
    let books = folders
        .iter()
        .flat_map(|folder| books_with_expectations(folder));
    let books: Vec<_> = books.collect();
    assert!(books.len() >= 4, "{books:?}");
    for (book, vectors) in books {
        assert!(agree_with_expectations(&book, &vectors) >= 4);
    }
}

fn fixture_books() -> Vec<(PathBuf, PathBuf)> {
    let folder = common::fixtures().join("book");
    let names = ["onepage", "small"];
    let books = names.map(|name| books_with_expectations(&folder.join(name)));
    let books = books.concat();
    assert_eq!(books.len(), names.len());
    books
}

#[test]
fn sample_books_have_the_content_of_their_recipes() {
    for (book, vectors) in fixture_books() {
        let found = agree_with_expectations(&book, &vectors);
        assert_eq!(found, expectations(&vectors).len());
        let book = CtgBook::open(&book).unwrap();
        assert_eq!(everything_scanned(&book), (found, vec![]));
        let (checked, defects) = checked(&book);
        assert_eq!(defects, [] as [String; 0]);
        assert_eq!(checked.positions, found as u64);
    }
}

/// How many records a scan comes to, and what is wrong with them.
fn everything_scanned(book: &dyn Book) -> (usize, Vec<String>) {
    let (mut count, mut defects) = (0, Vec::new());
    let scanned = book.scan(
        &mut |scanned| {
            count += 1;
            assert_eq!(
                book.find(scanned.board).unwrap().as_ref(),
                Some(scanned.record)
            );
            ControlFlow::Continue(())
        },
        &mut |defect| defects.push(defect.to_string()),
    );
    scanned.unwrap();
    (count, defects)
}

fn checked(book: &dyn Book) -> (BookCounts, Vec<String>) {
    let mut defects = Vec::new();
    let mut add = |defect: Defect| defects.push(defect.to_string());
    let checked = check(book, Limits::positions(1_000_000), &|_| {}, &mut add);
    (checked.unwrap(), defects)
}

#[test]
fn positions_that_no_moves_lead_to_are_counted_and_scanned() {
    let book = CtgBook::open(&common::fixtures().join("book/small/small.ctg")).unwrap();
    let (checked, _) = checked(&book);
    assert_eq!(checked.unreachable, Some(3));
    let mirrored = position("3k4/8/8/8/8/8/6P1/5K2 w - - 0 1");
    let twin = position("2k5/6p1/8/8/8/8/8/4K3 b - - 0 1");
    let entry = book.look_up(&mirrored).unwrap().unwrap();
    assert_eq!((entry.statistics.games, entry.statistics.white), (2, 1));
    assert_eq!(entry.moves[0].m.to_string(), "g2-g4");
    assert!(book.look_up(&twin).unwrap().is_none());
}

#[test]
fn a_comment_is_shown_from_the_right_side() {
    let book = CtgBook::open(&common::fixtures().join("book/small/small.ctg")).unwrap();
    let comment = |moves: &[&str]| {
        let line = line(moves);
        book.look_up(line.position()).unwrap().unwrap().comment
    };
    // Stored as "the opponent is slightly better", and it is Black's turn.
    assert_eq!(comment(&["e2e4"]), 14);
    assert_eq!(comment(&["c2c4"]), 19, "the side to move wins: Black");
    assert_eq!(comment(&["e2e4", "c7c5"]), 14, "White to move: as stored");
}

fn line(moves: &[&str]) -> BookLine {
    let mut line = BookLine::default();
    for written in moves {
        let uci: UciMove = written.parse().unwrap();
        let board = CanonicalBoard::of(line.position()).unwrap();
        assert!(!board.is_mirrored());
        let fen: Fen = format!("{} 0 1", board_fields(line.position()))
            .parse()
            .unwrap();
        let rules: Chess = fen.into_position(CastlingMode::Standard).unwrap();
        line.play(uci.to_move(&rules).unwrap()).unwrap();
    }
    line
}

#[test]
fn a_table_of_moves_has_white_and_black_and_the_most_played_first() {
    let book = CtgBook::open(&common::fixtures().join("book/small/small.ctg")).unwrap();
    let table = moves_tsv(&book, &Position::default()).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split('\t').collect()).collect();
    assert_eq!(rows[0].len(), 18);
    assert_eq!(
        rows[1],
        [
            "e4",
            "e2e4",
            "7",
            "3",
            "2",
            "2",
            "57.1",
            "2500",
            "2580",
            "99",
            "100.0",
            "green",
            "!",
            "$14",
            "1",
            "B00",
            "King's Pawn Game",
            ""
        ]
    );
    let red = rows.iter().find(|row| row[0] == "d4").unwrap();
    assert_eq!((red[10], red[11], red[13]), ("0.0", "red", "$11"));
    let bad = rows.iter().find(|row| row[0] == "a4").unwrap();
    assert_eq!((bad[10], bad[12]), ("0.0", "?"));
    let games: Vec<u32> = rows[1..]
        .iter()
        .map(|row| row[2].parse().unwrap())
        .collect();
    assert!(games.is_sorted_by(|a, b| a >= b), "{games:?}");
}

#[test]
fn texts_of_a_position_fit_the_line_that_led_to_it() {
    let book = CtgBook::open(&common::fixtures().join("book/small/small.ctg")).unwrap();
    let ruy = line(&["e2e4", "e7e5", "g1f3", "b8c6", "f1b5"]);
    let board = cbfs::game::board_text(ruy.position());
    assert!(
        board.starts_with("8 ♜ · ♝ ♛ ♚ ♝ ♞ ♜\n7 ♟ ♟ ♟ ♟ · ♟ ♟ ♟\n"),
        "{board}"
    );
    assert!(
        board.ends_with("  a b c d e f g h\nBlack to move\n"),
        "{board}"
    );
    let written = line_pgn(&book, &ruy);
    assert!(
        written.contains("\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 *\n"),
        "{written}"
    );
    let stats: serde_json::Value =
        serde_json::from_str(&stats_json(&book, ruy.position()).unwrap()).unwrap();
    assert_eq!(stats["to_move"], "black");
    assert_eq!(stats["position"]["games"], 3);
    assert_eq!(stats["position"]["white"], 1);
    assert_eq!(stats["position"]["own_losses"], 1);
    let mut text = Vec::new();
    book_pgn(&book, &ruy, 1000, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap().replace('\n', " ");
    assert!(
        text.contains("3. Bb5 a6 {[%cbfs games=2 w=1 d=1 b=0]} (3... Nf6"),
        "{text}"
    );
}

/// Moves that a text of games has, with the number that each stands under.
fn moves_of(pgn: &[u8]) -> BTreeMap<String, usize> {
    let mut moves = BTreeMap::new();
    for game in std::str::from_utf8(pgn).unwrap().split("[Event ").skip(1) {
        let game = cbfs::pgn::decode(format!("[Event {game}").as_bytes()).unwrap();
        let mut open = vec![(cbfs::game::PlyId::START, game.start.position.clone())];
        while let Some((at, position)) = open.pop() {
            let first = game.tree.first_child(at);
            for next in std::iter::successors(first, |next| game.tree.next_sibling(*next)) {
                let mut after = position.clone();
                let m = game.tree.ply(next).and_then(|ply| ply.mv).unwrap();
                after.play(m).unwrap();
                let fields = [board_fields(&position), board_fields(&after)].join(" > ");
                *moves.entry(fields).or_insert(0) += 1;
                open.push((next, after));
            }
        }
    }
    moves
}

#[test]
fn a_book_is_games_of_first_moves_for_programs_that_read_no_long_one() {
    let book = CtgBook::open(&common::fixtures().join("book/small/small.ctg")).unwrap();
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    let limits = Limits::positions(1_000_000);
    let options = PgnOptions {
        limits,
        has_numbers: true,
    };
    write_pgn(&book, &BookLine::default(), options, &mut whole).unwrap();
    let exported = write_openings(&book, &BookLine::default(), options, 1500, &mut parts).unwrap();
    assert!(exported.positions > 20 && !exported.is_cut);
    let games = std::str::from_utf8(&parts)
        .unwrap()
        .split("[Event ")
        .skip(1);
    let lengths: Vec<usize> = games.map(str::len).collect();
    assert!(lengths.len() > 3, "{lengths:?}");
    assert!(lengths.iter().all(|length| *length < 2000), "{lengths:?}");
    let widest = parts.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
    assert!(widest <= Some(79), "{widest:?}");
    let known = moves_of(&whole).into_keys().collect::<Vec<_>>();
    let found = moves_of(&parts).into_keys().collect::<Vec<_>>();
    assert_eq!(known, found);
}

#[test]
fn the_shortest_line_to_a_position_is_found() {
    let book = CtgBook::open(&common::fixtures().join("book/small/small.ctg")).unwrap();
    let all = BookWalk::new(&book, &book.start(), Limits::positions(1000)).unwrap();
    let (reached, _) = all.finish().unwrap();
    let mut walk = BookWalk::new(&book, &book.start(), Limits::positions(1000)).unwrap();
    let mut count = 0;
    while let Some(visit) = walk.next_visit().unwrap() {
        let found = shortest_line(&book, &visit.position, 1000).unwrap();
        let found = found.found().unwrap();
        assert_eq!(found.position().key(), visit.position.key());
        // The main line comes first in a walk, and may be longer.
        assert!(found.plies().len() <= reached.line(visit.number).len());
        count += 1;
    }
    assert!(count > 20, "{count}");
    // A legal move that the book has not is no line of it.
    let other = position("rnbqkbnr/pppppppp/8/8/8/7P/PPPPPPP1/RNBQKBNR b KQkq - 0 1");
    let found = shortest_line(&book, &other, 1000).unwrap().found();
    assert!(found.is_none());
}

#[test]
fn a_book_is_one_game_with_marked_transpositions() {
    let book = CtgBook::open(&common::fixtures().join("book/small/small.ctg")).unwrap();
    let mut text = Vec::new();
    let options = PgnOptions {
        limits: Limits::positions(1000),
        has_numbers: false,
    };
    let exported = write_pgn(&book, &BookLine::default(), options, &mut text).unwrap();
    assert!(!exported.is_cut);
    let text = String::from_utf8(text).unwrap();
    assert!(text.lines().all(|line| line.len() < 80), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    let flat = words.join(" ");
    assert!(flat.contains("1. e4 $1 $14 (1. Nf3 $146"), "{flat}");
    assert!(flat.contains("2... Ng8 {-> the start}"), "{flat}");
    assert!(flat.contains("{-> 1. d4 d5 2. c4 e6 3. Nc3 Nf6}"), "{flat}");
    assert_eq!(flat.matches('(').count(), flat.matches(')').count());
    let short = PgnOptions {
        limits: Limits {
            positions: 1000,
            plies: 1,
        },
        ..options
    };
    let mut text = Vec::new();
    write_pgn(&book, &BookLine::default(), short, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("1. e4 $1 $14 (1. Nf3 $146)"), "{text}");
}

const ALL_FORMATS: [ExportFormat; 5] = [
    ExportFormat::Pgn,
    ExportFormat::Openings,
    ExportFormat::Epd,
    ExportFormat::Tsv,
    ExportFormat::Polyglot,
];

#[test]
fn formats_written_together_are_as_each_alone() {
    let book = CtgBook::open(&common::fixtures().join("book/small/small.ctg")).unwrap();
    let limits = Limits::positions(1000);
    let mut together = ALL_FORMATS.map(|format| (format, Vec::new()));
    let mut outputs: Vec<(ExportFormat, &mut dyn Write)> = together
        .iter_mut()
        .map(|(format, out)| (*format, out as &mut dyn Write))
        .collect();
    write_together(&book, limits, &mut outputs).unwrap();
    for (format, text) in together {
        let mut alone = Vec::new();
        format.write(&book, limits, &mut alone).unwrap();
        assert!(!alone.is_empty() && alone == text, "{format:?}");
    }
}

#[test]
fn exports_stop_at_their_limit_and_report_it() {
    let book = CtgBook::open(&common::fixtures().join("book/small/small.ctg")).unwrap();
    let limits = Limits::positions(10);
    for format in ALL_FORMATS {
        let mut text = Vec::new();
        let exported = format.write(&book, limits, &mut text).unwrap();
        assert_eq!((exported.positions, exported.is_cut), (10, true));
        let limits = Limits::positions(5000);
        let exported = format.write(&book, limits, &mut text).unwrap();
        assert!(!exported.is_cut && exported.positions > 50, "{exported:?}");
    }
}

#[test]
fn a_polyglot_book_is_sorted_and_has_every_move_once() {
    let book = CtgBook::open(&common::fixtures().join("book/small/small.ctg")).unwrap();
    let mut bytes = Vec::new();
    let limits = Limits::positions(1000);
    ExportFormat::Polyglot
        .write(&book, limits, &mut bytes)
        .unwrap();
    let (entries, rest) = bytes.as_chunks::<16>();
    assert_eq!(rest, [] as [u8; 0]);
    assert!(entries.is_sorted_by_key(|entry| entry[..8].to_vec()));
    let start = polyglot_key(&Position::default()).to_be_bytes();
    let of_start: Vec<_> = entries.iter().filter(|entry| entry[..8] == start).collect();
    let listed = book.look_up(&Position::default()).unwrap().unwrap();
    assert_eq!(of_start.len(), listed.moves.len());
    let weight = |entry: &[u8; 16]| u16::from_be_bytes([entry[10], entry[11]]);
    // 1. e4: three games won, two drawn; most weight first, red moves none.
    assert_eq!(of_start[0][8..10], 0x031C_u16.to_be_bytes());
    assert_eq!(weight(of_start[0]), 8);
    assert_eq!(weight(of_start.last().unwrap()), 0);
}

/// A copy of the sample book whose files have been changed.
fn changed(change: impl FnOnce(&Path)) -> (tempfile::TempDir, CtgBook) {
    let folder = tempfile::tempdir().unwrap();
    for extension in ["ctg", "cto", "ctb"] {
        let from = common::fixtures()
            .join("book/small/small")
            .with_extension(extension);
        // Any letter case will do.
        fs::copy(
            from,
            folder
                .path()
                .join(format!("SMALL.{}", extension.to_uppercase())),
        )
        .unwrap();
    }
    change(folder.path());
    let book = CtgBook::open(&folder.path().join("small.CTG")).unwrap();
    (folder, book)
}

/// What is done to a copy of the sample book.
type Change<'a> = &'a dyn Fn(&Path);

/// How many of the sample book's positions are found.
fn found(book: &dyn Book) -> usize {
    let vectors = common::fixtures().join("book/small/small.vectors.tsv");
    let expected = expectations(&vectors);
    let found = expected.iter().filter(|expected| {
        let position = position(&expected.fen);
        let entry = book.look_up(&position).unwrap();
        entry.is_some_and(|entry| entry.statistics.games == expected.number("total"))
    });
    found.count()
}

#[test]
fn everything_is_found_without_a_directory_or_with_a_wrong_one() {
    let all = found(&changed(|_| ()).1);
    assert!(all > 100, "{all}");
    let zeros = |folder: &Path, name: &str, from: usize| {
        let path = folder.join(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[from..].fill(0);
        fs::write(path, bytes).unwrap();
    };
    let cut = |folder: &Path, name: &str, len: u64| {
        let file = fs::File::options()
            .write(true)
            .open(folder.join(name))
            .unwrap();
        file.set_len(len).unwrap();
    };
    let changes: [(&str, Change<'_>); 9] = [
        ("no .ctb", &|at| {
            fs::remove_file(at.join("SMALL.CTB")).unwrap();
        }),
        ("no .cto", &|at| {
            fs::remove_file(at.join("SMALL.CTO")).unwrap();
        }),
        ("neither", &|at| {
            fs::remove_file(at.join("SMALL.CTB")).unwrap();
            fs::remove_file(at.join("SMALL.CTO")).unwrap();
        }),
        ("no bits", &|at| zeros(at, "SMALL.CTB", 12)),
        (".ctb cut", &|at| cut(at, "SMALL.CTB", 13)),
        (".ctb without a header", &|at| cut(at, "SMALL.CTB", 11)),
        (".cto cut", &|at| cut(at, "SMALL.CTO", 40)),
        (".cto without a header", &|at| cut(at, "SMALL.CTO", 0)),
        ("one page for all", &|at| zeros(at, "SMALL.CTO", 16)),
    ];
    for (what, change) in changes {
        let (_folder, book) = changed(change);
        assert_eq!(found(&book), all, "{what}");
        assert!(!book.defects().is_empty(), "{what}");
        assert!(!checked(&book).1.is_empty(), "{what}");
    }
}

#[test]
fn a_changed_byte_loses_one_page_at_most() {
    let whole = changed(|_| ()).0;
    let path = whole.path().join("SMALL.CTG");
    let bytes = fs::read(&path).unwrap();
    let all = found(&CtgBook::open(&path).unwrap());
    let (count, _) = everything_scanned(&CtgBook::open(&path).unwrap());
    for at in (0..bytes.len()).filter(|at| at % 4096 < 500).step_by(61) {
        for mask in [0xFF, 0x01, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= mask;
            fs::write(&path, changed).unwrap();
            let book = CtgBook::open(&path).unwrap();
            let mut scanned = 0;
            let scan = book.scan(
                &mut |_| {
                    scanned += 1;
                    ControlFlow::Continue(())
                },
                &mut |_| (),
            );
            scan.unwrap();
            assert!(scanned + 10 >= count, "{at:#x}: {scanned}");
            let _ = checked(&book);
        }
        let book = CtgBook::open(&path).unwrap();
        let left = found(&book);
        assert!(left + 10 >= all, "{at:#x}: {left}");
    }
}

#[test]
fn pages_beyond_four_gibibytes_are_read() {
    const PAGE: u32 = 1_100_000;
    let folder = tempfile::tempdir().unwrap();
    let from = |extension: &str| {
        common::fixtures()
            .join("book/onepage/onepage")
            .with_extension(extension)
    };
    let at = |extension: &str| folder.path().join("large").with_extension(extension);
    let ctg = fs::read(from("ctg")).unwrap();
    let file = fs::File::create(at("ctg")).unwrap();
    file.write_all_at(&ctg[..4096], 0).unwrap();
    file.write_all_at(&ctg[4096..], (u64::from(PAGE) + 1) * 4096)
        .unwrap();
    assert!(file.metadata().unwrap().len() > 1 << 32);
    let mut cto = fs::read(from("cto")).unwrap();
    cto[16..20].copy_from_slice(&PAGE.to_be_bytes());
    fs::write(at("cto"), cto).unwrap();
    fs::copy(from("ctb"), at("ctb")).unwrap();
    let book = CtgBook::open(&at("ctg")).unwrap();
    let entry = book.look_up(&Position::default()).unwrap().unwrap();
    assert_eq!(entry.moves.len(), 2);
    assert_eq!(book.defects(), []);
    fs::remove_file(at("cto")).unwrap();
    let book = CtgBook::open(&at("ctg")).unwrap();
    let refused = book.look_up(&Position::default()).unwrap_err();
    assert!(refused.to_string().contains("too many"), "{refused}");
}

/// What of the good book's 159 is found at least in each broken one, and what
/// is said of it. The move of `move-illegal` is legal there, but leads out of
/// the book. A list of moves of a wrong length costs the rest of its page.
const BROKEN: [(&str, usize, &str); 23] = [
    ("ctb-8-bytes", 159, "shorter than its header"),
    ("ctb-empty", 159, "shorter than its header"),
    ("ctb-all-ones", 159, "the bits do not lead"),
    ("ctb-no-bitmap", 159, "bits"),
    ("cto-missing", 159, "not there"),
    ("ctb-missing", 159, "not there"),
    ("cto-truncated", 159, "entries"),
    ("cto-page-out-of-range", 159, "a page that is not there"),
    ("cto-swapped-pages", 159, "elsewhere"),
    ("page-len-5000", 159, "5000"),
    ("page-count-65535", 159, "65535"),
    ("ctg-truncated", 55, "ends inside a page"),
    ("page-len-2", 142, "2 of its bytes"),
    ("sig-len-0", 142, "rest of the page is lost"),
    ("sig-len-31", 142, "runs out of its page"),
    ("sig-all-ones", 158, "ends before its board"),
    ("sig-all-zero", 158, "bits follow the board"),
    ("moves-len-0", 142, "rest of the page is lost"),
    ("moves-len-even", 143, "without meaning"),
    ("moves-len-255", 143, "runs out of its page"),
    ("move-unknown-code", 159, "has no meaning"),
    ("move-illegal", 159, "is not in the book"),
    ("stats-inconsistent", 159, "games ended, of 1"),
];

#[test]
fn broken_books_are_read_as_far_as_they_go() {
    let Some(shared) = common::shared() else {
        return;
    };
    let bad = shared.join("books/bad");
    let vectors = expectations(&shared.join("books/generated/tiny.vectors.tsv"));
    let vectors: Vec<_> = vectors
        .iter()
        .filter(|line| line.is_in_the_book())
        .collect();
    let empty = CtgBook::open(&bad.join("ctg-empty.ctg")).unwrap_err();
    assert!(empty.to_string().contains("is no book"), "{empty}");
    let header_only = CtgBook::open(&bad.join("ctg-header-only.ctg")).unwrap();
    assert!(header_only.look_up(&Position::default()).unwrap().is_none());
    assert_eq!(header_only.defects(), []);
    assert_eq!(checked(&header_only).1, Vec::<String>::new());
    for (stem, least, said) in BROKEN {
        let book = CtgBook::open(&bad.join(stem).with_extension("ctg")).unwrap();
        let found = vectors
            .iter()
            .filter(|line| book.look_up(&position(&line.fen)).unwrap().is_some())
            .count();
        let (_, defects) = checked(&book);
        println!("{stem}: {found} found; {:?}", defects.first());
        assert!(found >= least, "{stem}: {found}");
        assert!(
            defects.iter().any(|defect| defect.contains(said)),
            "{stem}: {defects:#?}"
        );
    }
}
