//! Kvetka's opening books: their content equals the known one, and defects of
//! broken ones are reported.

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

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cbfs::book::kvetka::{KvetkaBook, KvetkaOptions};
use cbfs::book::{Book, BookEntry, CanonicalBoard, Error, GameReference, SourceKind};
use cbfs::game::{GameResult, Position};
use shakmaty::CastlingMode;
use shakmaty::fen::Fen;

fn open(path: &Path) -> Result<KvetkaBook, Error> {
    KvetkaBook::open(path, KvetkaOptions::default())
}

fn position(fen: &str) -> Position {
    let fen: Fen = fen.parse().unwrap();
    Position::from_setup(fen.into_setup(), CastlingMode::Standard)
}

/// The folder of books that are not part of the project.
fn shared_books() -> Option<PathBuf> {
    Some(common::shared()?.join("books"))
}

/// A line of a file of expectations. Numbers are those of the side to move.
#[derive(Debug)]
struct Expected {
    fen: String,
    is_in_the_book: bool,
    /// Wins, draws, losses.
    numbers: [u32; 3],
    moves: BTreeSet<String>,
}

fn expectations(path: &Path) -> Vec<Expected> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t'));
    let names: Vec<&str> = lines.next().unwrap().collect();
    let line = |values: std::str::Split<'_, char>| {
        let fields: BTreeMap<&str, &str> = names.iter().copied().zip(values).collect();
        let is_in_the_book = fields["total"] != "MISS";
        let number = |name: &str| {
            let stored = is_in_the_book.then(|| fields[name].parse().unwrap());
            stored.unwrap_or(0)
        };
        let moves = fields.get("moves(uci:code:annotation)").unwrap_or(&"");
        let moves = moves.split_whitespace();
        Expected {
            fen: fields["fen"].to_owned(),
            is_in_the_book,
            numbers: [number("wins_stm"), number("draws"), number("losses_stm")],
            moves: moves
                .map(|m| m.split(':').next().unwrap().to_owned())
                .collect(),
        }
    };
    lines.map(line).collect()
}

fn moves_of(entry: &BookEntry) -> BTreeSet<String> {
    let moves = entry.moves.iter();
    moves
        .map(|book_move| book_move.m.to_uci(CastlingMode::Standard).to_string())
        .collect()
}

/// Every number and move; gives how many positions were found.
fn agree(book: &KvetkaBook, expectations: &[Expected]) -> usize {
    let mut found = 0;
    for expected in expectations {
        let position = position(&expected.fen);
        let Some(entry) = book.look_up(&position).unwrap() else {
            assert!(!expected.is_in_the_book, "{}", expected.fen);
            continue;
        };
        found += 1;
        assert!(expected.is_in_the_book, "{}", expected.fen);
        let turn = position.turn();
        let numbers = &entry.statistics;
        assert_eq!(
            [numbers.wins_of(turn), numbers.draws, numbers.wins_of(!turn)],
            expected.numbers,
            "{}",
            expected.fen
        );
        assert_eq!(moves_of(&entry), expected.moves, "{}", expected.fen);
        assert_eq!(entry.refused, [], "{}", expected.fen);
    }
    found
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Walked {
    positions: usize,
    references: usize,
    texts: BTreeSet<String>,
    defects: Vec<String>,
}

/// Everything in a book, each position found by itself too.
fn walk(book: &KvetkaBook) -> Walked {
    let mut walked = Walked::default();
    let mut defects = Vec::new();
    book.scan(
        &mut |scanned| {
            walked.positions += 1;
            let named = scanned
                .record
                .last_here
                .iter()
                .chain(&scanned.record.sample);
            walked.references += named.count();
            walked.texts.extend(scanned.record.text.clone());
            let found = book.find(scanned.board).unwrap();
            assert_eq!(found.as_ref(), Some(scanned.record));
            ControlFlow::Continue(())
        },
        &mut |defect| defects.push(defect.to_string()),
    )
    .unwrap();
    walked.defects = defects;
    walked
}

#[test]
fn fixture_books_have_the_content_of_their_recipe() {
    let expectations = expectations(&common::fixture("book/kvetka.vectors.tsv"));
    assert!(expectations.iter().any(|line| !line.is_in_the_book));
    let mut both = Vec::new();
    for name in ["book/kvetka_1.kob", "book/kvetka-le.ksf"] {
        let book = open(&common::fixture(name)).unwrap();
        assert_eq!(
            agree(&book, &expectations),
            expectations.len() - 1,
            "{name}"
        );
        assert_eq!(book.facts().title.as_deref(), Some("Маленькая книга"));
        let mut defects = book.defects();
        book.check(&mut |defect| defects.push(defect)).unwrap();
        assert_eq!(defects, [], "{name}");
        both.push((walk(&book), book.sources().unwrap()));
    }
    let (walked, sources) = &both[0];
    assert_eq!(both[0], both[1]);
    assert_eq!(walked.positions, expectations.len() - 1);
    let texts = BTreeSet::from(["C20|King's Pawn Game".to_owned()]);
    assert_eq!(walked.texts, texts);
    assert_eq!(sources[0].address, "%currentdirkvetka.pgn");
}

#[test]
fn a_book_whose_index_is_of_another_book_is_read_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let expectations = expectations(&common::fixture("book/kvetka.vectors.tsv"));
    for name in ["kvetka_0.kob", "kvetka_1.kob", "kvetka.ksf"] {
        fs::copy(common::fixture("book").join(name), folder.path().join(name)).unwrap();
    }
    let kin = fs::read(common::fixture("book/kvetka.kin")).unwrap();
    let path = folder.path().join("kvetka.kin");
    let mut middle = kin.clone();
    middle[22..44].fill(0xB0);
    let mut early = kin.clone();
    early[22..44].fill(0x01);
    for (wrong, is_told) in [
        (kin.clone(), false),
        (kin[..44].to_vec(), true),
        (kin[..60].to_vec(), true),
        (vec![0; 66], true),
        (middle, true),
        (early, true),
    ] {
        fs::write(&path, &wrong).unwrap();
        let book = open(&path).unwrap();
        assert_eq!(
            agree(&book, &expectations),
            expectations.len() - 1,
            "{wrong:x?}"
        );
        let is_kin = |defect: &cbfs::game::Defect| defect.file == "kin";
        assert_eq!(book.defects().iter().any(is_kin), is_told, "{wrong:x?}");
    }
    fs::remove_file(&path).unwrap();
    let book = open(&folder.path().join("kvetka_0.kob")).unwrap();
    assert_eq!(agree(&book, &expectations), expectations.len() - 1);
    assert_eq!(book.defects(), []);
}

#[test]
fn an_unsorted_book_is_searched_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let expectations = expectations(&common::fixture("book/kvetka.vectors.tsv"));
    let first = fs::read(common::fixture("book/kvetka_0.kob")).unwrap();
    let rest = fs::read(common::fixture("book/kvetka_1.kob")).unwrap();
    let (header, block) = first.split_at(first.len() - 2048);
    let turned = [header, &rest[2048..], &rest[..2048], block].concat();
    let path = folder.path().join("turned_0.kob");
    fs::write(&path, turned).unwrap();
    let book = open(&path).unwrap();
    assert_eq!(agree(&book, &expectations), expectations.len() - 1);
    let defects = book.defects();
    assert!(
        defects
            .iter()
            .any(|defect| defect.what.contains("not after the one before"))
    );
}

#[test]
fn generated_books_have_their_known_content() {
    let Some(books) = shared_books() else {
        return;
    };
    let generated = books.join("generated");
    for (names, vectors, least) in [
        (
            &["kvtiny.kin", "kvtiny-le_0.kob", "kvtiny-nosrc.ksf"][..],
            "tiny.vectors.tsv",
            150,
        ),
        (&["kvtwic_2.kob"], "twic1134.vectors.tsv", 2000),
    ] {
        let expectations = expectations(&generated.join(vectors));
        for name in names {
            let book = open(&generated.join(name)).unwrap();
            let found = agree(&book, &expectations);
            println!("{name}: {found} positions");
            assert!(found >= least, "{name}: {found}");
            let mut defects = book.defects();
            book.check(&mut |defect| defects.push(defect)).unwrap();
            assert_eq!(defects, [], "{name}");
        }
    }
}

#[test]
fn every_position_of_a_large_book_is_found_with_and_without_its_index() {
    let Some(books) = shared_books() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for name in ["kvtwic_0.kob", "kvtwic_1.kob", "kvtwic_2.kob"] {
        let from = books.join("generated").join(name);
        std::os::unix::fs::symlink(from, folder.path().join(name)).unwrap();
    }
    let with = walk(&open(&books.join("generated/kvtwic.kin")).unwrap());
    let without = walk(&open(&folder.path().join("kvtwic_0.kob")).unwrap());
    assert_eq!(with, without);
    assert_eq!((with.positions, with.defects.len()), (278_676, 0));
    assert!(with.references > 6000, "{}", with.references);
}

#[test]
fn titles_comments_and_names_are_read_in_both_byte_orders() {
    let Some(books) = shared_books() else {
        return;
    };
    let generated = books.join("generated");
    let big = open(&generated.join("kvtiny.kin")).unwrap();
    let little = open(&generated.join("kvtiny-le.kin")).unwrap();
    for book in [&big, &little] {
        let title = "Тестовая книга cbfs (tiny)";
        assert_eq!(book.facts().title.as_deref(), Some(title));
        let sources = book.sources().unwrap();
        assert_eq!(sources.len(), 4);
        let kinds: Vec<_> = sources.iter().map(|source| source.kind).collect();
        let known = [
            SourceKind::Pgn,
            SourceKind::Web,
            SourceKind::Empty,
            SourceKind::Cbh,
        ];
        for kind in known {
            assert!(kinds.contains(&kind), "{kinds:?}");
        }
        let addresses: Vec<_> = sources.iter().map(|source| &*source.address).collect();
        assert!(addresses.contains(&"%currentdirtiny.pgn"), "{addresses:?}");
        assert!(addresses.contains(&"C:\\bases\\twic1134.cbh"));
    }
    let texts = walk(&big).texts;
    assert!(!texts.is_empty());
    assert_eq!(texts, walk(&little).texts);
    println!("{texts:?}");
    let game = GameReference { source: 0, game: 0 };
    let first = big.game(game).unwrap().unwrap();
    assert_eq!(
        (first.white.as_str(), first.black.as_str()),
        ("White 1", "Чёрный 1")
    );
    assert_eq!((first.white_elo, first.black_elo), (2700, 2650));
    assert_eq!(first.result, GameResult::WhiteWon);
    let western = KvetkaOptions {
        code_page: Some(encoding_rs::WINDOWS_1252),
    };
    let western = KvetkaBook::open(&generated.join("kvtiny.kin"), western).unwrap();
    assert_eq!(western.game(game).unwrap().unwrap().black, "×¸ðíûé 1");
}

#[test]
fn every_game_reference_is_resolved() {
    let Some(books) = shared_books() else {
        return;
    };
    let book = open(&books.join("generated/kvtwic.ksf")).unwrap();
    let sources = book.sources().unwrap();
    assert_eq!(sources[0].games, 6117);
    let mut seen = 0;
    for game in (0..6117).rev().step_by(7).chain([0, 1, 63, 64, 65]) {
        let game = book.game(GameReference { source: 0, game }).unwrap();
        let game = game.unwrap();
        assert!(!game.white.is_empty() && game.length > 50, "{game:?}");
        seen += 1;
    }
    assert!(seen > 800);
    for (source, game) in [(0, 6117), (1, 0), (u16::MAX, u32::MAX)] {
        assert_eq!(book.game(GameReference { source, game }).unwrap(), None);
    }
    assert_eq!(book.defects(), []);
}

/// What `MANIFEST.tsv` promises of each broken Kvetka book.
fn broken_books(bad: &Path) -> Vec<(String, String)> {
    let manifest = fs::read_to_string(bad.join("MANIFEST.tsv")).unwrap();
    let lines = manifest.lines().filter(|line| line.starts_with("kv-"));
    lines
        .map(|line| {
            let mut fields = line.split('\t');
            let name = fields.next().unwrap().to_owned();
            (name, fields.next_back().unwrap().to_owned())
        })
        .collect()
}

#[test]
fn broken_books_report_their_defects_and_give_the_rest() {
    let Some(books) = shared_books() else {
        return;
    };
    let expectations = expectations(&books.join("generated/tiny.vectors.tsv"));
    let known = expectations.iter().filter(|line| line.is_in_the_book);
    let all = known.count();
    let broken = broken_books(&books.join("bad"));
    assert_eq!(broken.len(), 15);
    for (name, promise) in broken {
        let path = books.join("bad").join(format!("{name}_0.kob"));
        let (kind, what) = promise.split_once(':').unwrap_or((&promise, ""));
        let book = match open(&path) {
            Ok(book) => book,
            Err(error) => {
                println!("{name}: {error}");
                assert_eq!(kind, "refuse", "{name}: {error}");
                assert!(what != " unsupported book type" || error.to_string().contains(what));
                continue;
            }
        };
        assert_ne!(kind, "refuse", "{name}");
        let found = expectations.iter().filter(|line| {
            let entry = book.look_up(&position(&line.fen)).unwrap();
            entry.is_some()
        });
        let found = found.count();
        let walked = walk(&book);
        let sources = book.sources().unwrap();
        let mut defects: Vec<_> = book.defects().iter().map(ToString::to_string).collect();
        book.check(&mut |defect| defects.push(defect.to_string()))
            .unwrap();
        println!("{name}: {found} of {all}, {walked:?}\n    {defects:#?}");
        match kind {
            "silent" => assert_eq!(defects, Vec::<String>::new(), "{name}"),
            _ => assert!(!defects.is_empty(), "{name}"),
        }
        let loses_a_block =
            ["kv-block-n-1", "kv-kob-truncated"].contains(&&*name) || name.starts_with("kv-elem");
        assert_eq!(found < all, loses_a_block, "{name}: {found} of {all}");
        assert!(found > 20, "{name}");
        let readable = match &*name {
            "kv-no-ksf" | "kv-ksf-count-huge" => 0,
            "kv-ksf-offset-past-end" => 3,
            _ => 4,
        };
        let whole = sources
            .iter()
            .filter(|source| source.kind != SourceKind::Empty || !source.is_bad);
        assert_eq!(whole.count(), readable, "{name}: {sources:?}");
    }
}

#[test]
fn any_changed_byte_of_a_book_is_tolerated() {
    let Some(books) = shared_books() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let names = ["kvtiny_0.kob", "kvtiny.kin", "kvtiny.ksf"];
    let files = names.map(|name| fs::read(books.join("generated").join(name)).unwrap());
    let starts = ["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"];
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).unwrap() % below
    };
    for round in 0..300 {
        for (name, bytes) in names.iter().zip(&files) {
            let mut bytes = bytes.clone();
            for _ in 0..random(4) {
                let at = random(bytes.len());
                bytes[at] = [0, 0xFF, 0x7F, 0x80, 1][random(5)];
            }
            if random(20) == 0 {
                bytes.truncate(random(bytes.len()));
            }
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let Ok(book) = open(&folder.path().join(names[0])) else {
            continue;
        };
        for fen in starts {
            book.look_up(&position(fen)).unwrap();
        }
        let mut boards: Vec<CanonicalBoard> = Vec::new();
        let mut visit = |scanned: cbfs::book::Scanned<'_>| {
            boards.push(*scanned.board);
            ControlFlow::Continue(())
        };
        book.scan(&mut visit, &mut |_| ()).unwrap();
        for board in &boards {
            let found = book.find(board).unwrap();
            assert!(found.is_some(), "round {round}");
        }
        for (source, known) in (0..).zip(book.sources().unwrap()) {
            for game in 0..known.games.min(100) {
                book.game(GameReference { source, game }).unwrap();
            }
        }
        book.check(&mut |_| ()).unwrap();
    }
}
