//! The PGN parser, compared with pgn-reader and with rendered texts, and tested
//! with arbitrary bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "helpers of tests fail and speak as tests do"
)]

mod common;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cbfs::cbh::{Database, Decoded, GameId, Options, RecordKind};
use cbfs::game::{Game, GameResult, MoveTree, PlyId, RatingType};
use cbfs::pgn;
use pgn_reader::{RawTag, Reader, SanPlus, Skip, Visitor};
use proptest::prelude::*;

use common::{fixture_bases, real_bases, shared};

#[test]
fn the_reader_agrees_with_pgn_reader_on_every_base() {
    let mut checked = 0;
    for_each_game(|game, place| {
        let text = text_of(game);
        let ours = pgn::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{place}:{error}"));
        assert_eq!(
            tree_of(&ours.tree),
            trees_of_pgn_reader(&text)[0],
            "{place}"
        );
        checked += 1;
    });
    assert!(checked > 40, "only {checked} games");
    println!("{checked} games are read as pgn-reader reads them");
}

#[test]
fn the_reader_agrees_with_pgn_reader_on_every_pgn_file() {
    for file in pgn_files() {
        let text = fs::read(&file).unwrap();
        let ours: Vec<String> = pgn::GameTexts::new(&text)
            .map(|game| game.unwrap_or_else(|error| panic!("{}:{error}", file.display())))
            .map(|game| tree_of(&game.tree))
            .collect();
        let theirs = trees_of_pgn_reader(&String::from_utf8_lossy(&text));
        assert_eq!(ours, theirs, "{}", file.display());
    }
}

#[test]
fn rendered_games_are_parsed_and_rendered_identically() {
    let mut checked = 0;
    for_each_game(|game, place| {
        let text = text_of(game);
        let read = pgn::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{place}:{error}"));
        assert_eq!(text_of(&read), text, "{place}");
        checked += 1;
    });
    println!("{checked} texts became the same text");
}

#[test]
fn the_headers_of_every_game_are_preserved() {
    for_each_game(|game, place| {
        let read = pgn::decode(text_of(game).as_bytes()).unwrap();
        assert_eq!(told(&read), told(game), "{place}");
    });
}

/// The headers, but for what PGN does not tell: the two spellings of "no
/// kind of rating", and the judgement of a line where a game was played to
/// its end.
fn told(game: &Game) -> String {
    let mut headers = game.headers.clone();
    for kind in [&mut headers.white_elo_type, &mut headers.black_elo_type] {
        if kind.is_usual() {
            *kind = RatingType::default();
        }
    }
    if headers.result != GameResult::Line {
        headers.line_evaluation = 0;
    }
    format!("{headers:#?}")
}

#[test]
fn the_text_of_a_foreign_game_keeps_its_tags() {
    let text = "[Event \"?\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"5.0.1\"]\n[White \"A\"]\n\
        [Black \"B\"]\n[Result \"*\"]\n[PlyCount \"0\"]\n[WhiteFideId \"1503014\"]\n\
        [EventType \"round-robin\"]\n[Opening \"\"]\n[Opening \"\"]\n\n*\n\n";
    assert_eq!(text_of(&pgn::decode(text.as_bytes()).unwrap()), text);
}

#[test]
fn changed_bytes_never_panic_and_errors_are_located_in_the_text() {
    let bytes = b"\0\"\\%({})[]$;!?.*0-1eN\n\r \xa0\xc2\xff";
    for text in good_games() {
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            for &byte in bytes {
                changed[at] = byte;
                read_anything(&changed);
            }
            read_anything(&text.as_bytes()[..at]);
            changed.remove(at);
            read_anything(&changed);
        }
    }
}

/// Texts that would cost quadratic time if anything were looked at twice.
#[test]
fn hostile_texts_take_linear_time() {
    let times = |piece: &str, count: usize| piece.repeat(count);
    let many = 200_000;
    let texts = [
        times("[A \"x\"]", many),
        times("[A \"x\"] \"]", many),
        format!("[A \"{}", times("\"] [b ", many)),
        format!("[A \"{}", times("\" ", many)),
        (0..many).fold(String::new(), |text, at| text + &format!("[A{at} \"x\"]\n")),
        format!("[White \"{0}\"][CbhWhite \"{0}\"]*", times("|", many)),
        times("{{}", many),
        times("{ { } ", many),
        times("{", many),
        format!("{}{}", times("{", many), times("}", many)),
        format!("e4 {}", times("{a} $1 $2 ", many)),
        format!("e4 {} *", times("{[%cbpre] a} ", many)),
        format!("e4 {{{}}} *", times("[%cbpre 1] a ", many)),
        format!("[CbhBefore \"{}\"] e4 {{a}} *", times("1.a ", many)),
        format!(
            "[CbhBefore \"{}\"] {}*",
            times("2.a ", many),
            times("{a} -- ", many)
        ),
        format!("e4 {} *", times("(d4) ", many)),
        format!("e4 {} *", times("$255 $254 $253 $252 $251 ", many)),
        format!("{{{}}} *", times("[%cblang ", many)),
        format!("{{{}}} *", times("[%cblang de] a ", many)),
        times("%\n", many),
        times("0-0 ", many),
        times("-- ", many),
        times("1. ", many),
        format!("e4 {}", times("e8(Q)", many)),
        times("\u{a0}", many),
        times("* ", many),
    ];
    for text in texts {
        let begin = Instant::now();
        read_anything(text.as_bytes());
        let seconds = begin.elapsed().as_secs_f32();
        assert!(seconds < 10.0, "{seconds} s for {text:.40}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn arbitrary_bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..300)) {
        read_anything(&text);
    }

    #[test]
    fn arbitrary_words_never_panic(words in prop::collection::vec(word(), 0..60)) {
        read_anything(words.concat().as_bytes());
    }
}

/// Pieces that PGN is made of, in any order.
fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        " ",
        "\n",
        "\r\n",
        "[",
        "]",
        "[White \"",
        "\"]",
        "\"",
        "\\",
        "[FEN \"",
        "[Date \"",
        "[Result \"",
        "{",
        "}",
        "(",
        ")",
        ";",
        "%",
        "$",
        "$1",
        "!",
        "1.",
        "e4",
        "e5",
        "d4",
        "Nf3",
        "0-0",
        "--",
        "1-0",
        "*",
        "1/2",
        "é",
        "\u{a0}",
        "\u{feff}",
        "[%cbpre]",
        "[%cbpre 1]",
        "[CbhLang \"de\"]",
        "[CbhBefore \"1...e5 1.e4\"]",
        "[%cblang de]",
        "8/8/8/8/8/8/8/8 w - - 0 1",
        "[Variant \"Chess960\"]",
        "e8(Q)",
        "[CbhOtherRound \"",
        "|",
        ",",
        "[CbhWhite \"",
        "[CbhWhiteTeam \"2 2015/16\"]",
    ])
}

/// Reads a text both ways; an error must point inside it.
fn read_anything(text: &[u8]) {
    let games = pgn::GameTexts::new(text).map(|game| game.map(|game| text_of(&game)));
    let errors = games.filter_map(Result::err).chain(pgn::decode(text).err());
    let lines = lines_of(text);
    for error in errors {
        let line = lines.get(error.line - 1).expect("a line of the text");
        assert!((1..=line.len() + 1).contains(&error.column), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

/// The lines of a text, ended as on any system.
fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = vec![Vec::new()];
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'\r' if text.get(at + 1) == Some(&b'\n') => {}
            b'\n' | b'\r' => lines.push(Vec::new()),
            _ => lines.last_mut().unwrap().push(byte),
        }
    }
    lines
}

/// Small games with everything in them.
fn good_games() -> Vec<String> {
    let mut games = vec![
        "[White \"A, B\"]\n[Round \"5(2)\"]\n[FEN \"4k3/P7/8/8/8/8/8/4K2R w K - 0 9\"]\n\n\
         {a {b} c} 9. a8=Q+ $1 (9. O-O! {[%cbpre] x} Kd7) 9... Ke7 1-0\n"
            .to_owned(),
    ];
    let sample = fixture_bases()
        .into_iter()
        .find(|base| base.ends_with("sample.cbh"));
    let mut add = |game: &Game, _: &str| {
        let text = text_of(game);
        if text.len() < 700 && games.len() < 4 {
            games.push(text);
        }
    };
    for_each_game_of(&sample.expect("a sample"), &mut add);
    games
}

fn text_of(game: &Game) -> String {
    let mut text = Vec::new();
    pgn::encode(game, &[], &mut text);
    String::from_utf8(text).unwrap()
}

/// Every readable game of every base, without its remarks.
fn for_each_game(mut check: impl FnMut(&Game, &str)) {
    for base in fixture_bases().into_iter().chain(real_bases()) {
        for_each_game_of(&base, &mut check);
    }
}

fn for_each_game_of(base: &Path, check: &mut impl FnMut(&Game, &str)) {
    let database = Database::open(base, &Options::default()).unwrap();
    let mut entries = Vec::new();
    database
        .entries(GameId(1), database.last_id(), &mut entries)
        .unwrap();
    let mut decoded = Decoded::default();
    for entry in entries
        .iter()
        .filter(|entry| entry.kind == RecordKind::Game)
    {
        if database.read_game(entry.id, &mut decoded).is_ok() {
            // Commands in comments are not read yet.
            decoded.game.annotations.clear();
            let place = format!("{} game {}", base.display(), entry.id.0);
            check(&decoded.game, &place);
        }
    }
}

fn pgn_files() -> Vec<PathBuf> {
    let Some(shared) = shared() else {
        return Vec::new();
    };
    let folders = fs::read_dir(shared.join("bases")).unwrap();
    let files = folders
        .filter_map(|folder| fs::read_dir(folder.unwrap().path()).ok())
        .flat_map(|files| files.map(|file| file.unwrap().path()));
    files
        .filter(|file| file.extension().is_some_and(|extension| extension == "pgn"))
        .collect()
}

/// The moves of a tree with their variations in parentheses, castling and
/// check marks included.
fn tree_of(tree: &MoveTree) -> String {
    let mut nodes = Nodes::default();
    let mut index = vec![0];
    // Ids follow the order in which plies were read.
    for at in 1..=tree.len() {
        let id = tree.place(at).unwrap();
        let parent = tree.parent(id).map_or(0, PlyId::index);
        index.push(nodes.add(index[parent], tree.ply(id).unwrap().san.to_string()));
    }
    nodes.text()
}

/// A tree as a list of plies, each with its parent and notation.
#[derive(Default)]
struct Nodes(Vec<(usize, String)>);

impl Nodes {
    fn add(&mut self, parent: usize, san: String) -> usize {
        self.0.push((parent, san));
        self.0.len()
    }

    fn text(&self) -> String {
        let lines: Vec<String> = self
            .0
            .iter()
            .map(|(parent, san)| format!("{parent} {san}"))
            .collect();
        lines.join("\n")
    }
}

fn trees_of_pgn_reader(text: &str) -> Vec<String> {
    let mut reader = Reader::new(text.as_bytes());
    let mut trees = Vec::new();
    while let Some(tree) = reader.read_game(&mut Collector).unwrap() {
        trees.push(tree);
    }
    trees
}

struct Collector;

/// What pgn-reader has read; `lines` are the open lines, each with the last
/// ply and the one before.
struct Moves {
    nodes: Nodes,
    lines: Vec<(usize, usize)>,
}

impl Visitor for Collector {
    type Tags = ();
    type Movetext = Moves;
    type Output = String;

    fn begin_tags(&mut self) -> ControlFlow<String> {
        ControlFlow::Continue(())
    }

    fn tag(&mut self, (): &mut (), _: &[u8], _: RawTag<'_>) -> ControlFlow<String> {
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, (): ()) -> ControlFlow<String, Moves> {
        ControlFlow::Continue(Moves {
            nodes: Nodes::default(),
            lines: vec![(0, 0)],
        })
    }

    fn san(&mut self, moves: &mut Moves, san: SanPlus) -> ControlFlow<String> {
        let (before, last) = moves.lines.last_mut().unwrap();
        *before = *last;
        *last = moves.nodes.add(*before, san.to_string());
        ControlFlow::Continue(())
    }

    fn begin_variation(&mut self, moves: &mut Moves) -> ControlFlow<String, Skip> {
        let (before, _) = *moves.lines.last().unwrap();
        moves.lines.push((before, before));
        ControlFlow::Continue(Skip(false))
    }

    fn end_variation(&mut self, moves: &mut Moves) -> ControlFlow<String> {
        moves.lines.pop();
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, moves: Moves) -> String {
        moves.nodes.text()
    }
}
