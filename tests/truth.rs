//! Every game of every real base equals the result of an independent decoder.
//!
//! The text that cbfs renders is parsed by the crate pgn-reader; its moves,
//! start position and headers are compared with the expected ones. The bases
//! are not part of the project: they are in `../shared`, or where `CBFS_SHARED`
//! points. Without them, the test prints a message and checks the fixtures
//! alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "helpers of tests fail and speak as tests do"
)]

mod common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use cbfs::base;
use cbfs::cbh::{Decoded, GameId, Options};
use pgn_reader::{RawTag, Reader, SanPlus, Skip, Visitor};
use serde_json::Value;
use shakmaty::fen::Fen;
use shakmaty::san::San;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Move, Position, PositionError};

use common::{bases_with_truth, fixture, fixtures_with_truth, text_of};

#[test]
fn every_game_of_every_real_base_equals_an_independent_decoding() {
    let checked = compare_all(bases_with_truth());
    println!("{checked} games of real bases equal the truth");
}

#[test]
fn every_game_of_the_fixtures_equals_their_recipe() {
    let checked = compare_all(fixtures_with_truth());
    assert!(checked > 40, "only {checked} games in fixtures/cbh");
}

#[test]
fn every_game_of_the_newer_fixtures_equals_its_recipe() {
    let bases = ["sample", "mixed"].map(|name| {
        let folder = fixture("2cbh").join(name);
        let base = folder.join(name).with_extension("2cbh");
        (base, folder.join("expected.jsonl"))
    });
    let checked = compare_all(bases.to_vec());
    assert!(checked > 40, "only {checked} games in fixtures/2cbh");
}

fn compare_all(bases: Vec<(std::path::PathBuf, std::path::PathBuf)>) -> usize {
    let mut checked = 0;
    for (base, truth) in bases {
        let differences = compare(&base, &truth, &mut checked);
        assert!(
            differences.is_empty(),
            "{} differs from {}:\n{}",
            base.display(),
            truth.display(),
            differences.join("\n")
        );
    }
    checked
}

fn compare(base: &Path, truth: &Path, checked: &mut usize) -> Vec<String> {
    let database = base::open(base, &Options::default()).unwrap();
    let mut decoded = Decoded::default();
    let mut differences = Vec::new();
    for line in std::fs::read_to_string(truth).unwrap().lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        if expected["kind"] == "text" {
            continue;
        }
        let id = GameId(u32::try_from(expected["id"].as_u64().unwrap()).unwrap());
        let text = match database.read_game(id, &mut decoded) {
            Ok(()) => text_of(&decoded),
            Err(error) => {
                differences.push(format!("game {}: {error}", id.0));
                continue;
            }
        };
        let mut facts = Facts::of(&text);
        if let Some(part) = expected["defect"].as_str() {
            let told = decoded
                .defects
                .iter()
                .any(|defect| defect.to_string().contains(part));
            if !told {
                differences.push(format!("game {}: no defect tells of {part:?}", id.0));
            }
        } else if !decoded.defects.is_empty() && expected["err"].is_null() {
            differences.push(format!("game {}: {:?}", id.0, decoded.defects));
        }
        facts.errors.extend(facts.differences(&expected));
        facts.errors.extend(not_shown(&text, &expected));
        for difference in facts.errors {
            differences.push(format!("game {}: {difference}", id.0));
        }
        *checked += 1;
    }
    differences
}

/// What pgn-reader finds in the text of one game.
#[derive(Default)]
struct Facts {
    tags: BTreeMap<String, String>,
    tree: String,
    plies: usize,
    errors: Vec<String>,
}

impl Facts {
    fn of(text: &str) -> Facts {
        let mut reader = Reader::new(text.as_bytes());
        let mut collector = Collector;
        let facts = reader.read_game(&mut collector).unwrap().expect("a game");
        assert!(!reader.has_more().unwrap(), "more than one game:\n{text}");
        facts
    }

    fn tag(&self, name: &str) -> &str {
        self.tags.get(name).map_or("", String::as_str)
    }

    fn differences(&self, expected: &Value) -> Vec<String> {
        let mut found = Vec::new();
        let mut same = |what: &str, ours: &str, theirs: &str| {
            if ours != theirs {
                found.push(format!("{what} is {ours:?}, not {theirs:?}"));
            }
        };
        if let Some(tree) = expected["tree"].as_str() {
            same("tree", &self.tree, &normal(tree));
        }
        if !expected["tree"].is_null() {
            let theirs = start(expected["fen"].as_str().unwrap_or(""));
            same("start", &start(self.tag("FEN")), &theirs);
            same(
                "PlyCount",
                self.tag("PlyCount"),
                &expected["plies"].to_string(),
            );
            same(
                "main line",
                &self.plies.to_string(),
                &expected["plies"].to_string(),
            );
        }
        let (headers, tags) = (&expected["headers"], &expected["tags"]);
        if let Some(headers) = headers.as_object() {
            for (name, value) in headers {
                let expected = expected_tag(name, value, headers);
                // What a recipe says of a tag itself goes before.
                let is_told = |tag| !tags[tag].is_null();
                if let Some((tag, value)) = expected.filter(|(tag, _)| !is_told(*tag)) {
                    same(tag, self.tag(tag), &value);
                }
            }
        }
        if let Some(tags) = tags.as_object() {
            for (name, value) in tags {
                same(name, self.tag(name), value.as_str().unwrap_or_default());
            }
        }
        found
    }
}

/// What the recipe of a game says that its text must show, and it does not.
fn not_shown(text: &str, expected: &Value) -> Vec<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = expected["shows"].as_array().into_iter().flatten();
    let parts = parts.filter_map(Value::as_str);
    parts
        .filter(|part| !line.contains(part))
        .map(|part| format!("{part:?} is not in {line}"))
        .collect()
}

/// The tag that a header of the truth must become.
fn expected_tag(
    name: &str,
    value: &Value,
    headers: &serde_json::Map<String, Value>,
) -> Option<(&'static str, String)> {
    let text = || value.as_str().unwrap_or_default().to_owned();
    let or_unknown = |text: String| {
        if text.is_empty() {
            "?".to_owned()
        } else {
            text
        }
    };
    let or_absent = |number: u64| {
        if number == 0 {
            String::new()
        } else {
            number.to_string()
        }
    };
    let number = || value.as_u64().unwrap_or_default();
    Some(match name {
        "White" => ("White", or_unknown(text())),
        "Black" => ("Black", or_unknown(text())),
        "Event" => ("Event", or_unknown(text())),
        "Site" => ("Site", or_unknown(text())),
        "Annotator" => ("Annotator", text()),
        "Date" => ("Date", text()),
        "Result" => {
            let result = match text().as_str() {
                "line" | "0-0" => "*".to_owned(),
                "-:+" => "0-1".to_owned(),
                "=:=" => "1/2-1/2".to_owned(),
                "+:-" => "1-0".to_owned(),
                other => other.to_owned(),
            };
            ("Result", result)
        }
        "Round" => {
            let sub = headers["Sub"].as_u64().unwrap_or_default();
            let round = or_unknown(or_absent(number()));
            (
                "Round",
                if sub == 0 {
                    round
                } else {
                    format!("{round}.{sub}")
                },
            )
        }
        "WElo" => ("WhiteElo", or_absent(number())),
        "BElo" => ("BlackElo", or_absent(number())),
        "eco" => ("ECO", expected_eco(number())),
        "medals" => ("CbhMedals", or_absent(number())),
        "eval" if headers["Result"] == "line" => ("CbhLineEval", or_absent(number())),
        _ => return None,
    })
}

fn expected_eco(field: u64) -> String {
    match field >> 7 {
        code @ 1..=500 => {
            let letter = (b'A' + u8::try_from((code - 1) / 100).unwrap()) as char;
            format!("{letter}{:02}", (code - 1) % 100)
        }
        _ => String::new(),
    }
}

/// Null moves are spelled in two ways, and parentheses may have blanks.
fn normal(tree: &str) -> String {
    let spaced = tree
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace("0000", "--");
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A start position however its castling letters are spelled; one that the
/// rules forbid as it stands.
fn start(fen: &str) -> String {
    match position(fen) {
        Some(position) => Fen::from_position(&position, EnPassantMode::Legal).to_string(),
        None => fen.to_owned(),
    }
}

fn position(fen: &str) -> Option<Chess> {
    if fen.is_empty() {
        return Some(Chess::default());
    }
    let fen: Fen = fen.parse().unwrap();
    let mode = CastlingMode::detect(fen.as_setup());
    fen.into_position(mode)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .ok()
}

/// Reads one game with pgn-reader; castling in UCI as king takes rook where
/// the game is Chess960.
struct Collector;

struct MoveText {
    facts: Facts,
    mode: CastlingMode,
    /// Positions before and after the last move, per open line.
    lines: Vec<(Chess, Chess)>,
    words: Vec<String>,
    /// The last move was a null move in check.
    in_check_passed: bool,
}

impl Visitor for Collector {
    type Tags = Facts;
    type Movetext = MoveText;
    type Output = Facts;

    fn begin_tags(&mut self) -> ControlFlow<Facts, Facts> {
        ControlFlow::Continue(Facts::default())
    }

    fn tag(&mut self, facts: &mut Facts, name: &[u8], value: RawTag<'_>) -> ControlFlow<Facts> {
        let name = String::from_utf8(name.to_vec()).unwrap();
        facts
            .tags
            .insert(name, value.decode_utf8_lossy().into_owned());
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, facts: Facts) -> ControlFlow<Facts, MoveText> {
        // A position that the rules forbid has no moves in any of our bases.
        let start = position(facts.tag("FEN")).unwrap_or_default();
        let mode = CastlingMode::from_chess960(facts.tag("Variant") == "Chess960");
        ControlFlow::Continue(MoveText {
            facts,
            mode,
            lines: vec![(start.clone(), start)],
            words: Vec::new(),
            in_check_passed: false,
        })
    }

    fn san(&mut self, text: &mut MoveText, san: SanPlus) -> ControlFlow<Facts> {
        text.play(san);
        ControlFlow::Continue(())
    }

    fn begin_variation(&mut self, text: &mut MoveText) -> ControlFlow<Facts, Skip> {
        let before = text.lines.last().unwrap().0.clone();
        text.lines.push((before.clone(), before));
        text.words.push("(".to_owned());
        ControlFlow::Continue(Skip(false))
    }

    fn end_variation(&mut self, text: &mut MoveText) -> ControlFlow<Facts> {
        text.lines.pop();
        text.words.push(")".to_owned());
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, mut text: MoveText) -> Facts {
        text.facts.tree = text.words.join(" ");
        text.facts
    }
}

impl MoveText {
    fn play(&mut self, san: SanPlus) {
        let is_main = self.lines.len() == 1;
        let (before, now) = self.lines.last_mut().unwrap();
        *before = now.clone();
        self.facts.plies += usize::from(is_main);
        if san.san == San::Null {
            self.words.push("--".to_owned());
            match now.clone().swap_turn() {
                Ok(after) => *now = after,
                Err(_) => self.in_check_passed = true,
            }
            return;
        }
        if std::mem::take(&mut self.in_check_passed) {
            let m = play_after_passing_in_check(now, san.san);
            self.words.push(m.to_uci(self.mode).to_string());
            return;
        }
        match san.san.to_move(now) {
            Ok(m) => {
                let plain = matches!(m, Move::Castle { .. }) && self.mode == CastlingMode::Standard;
                let mode = CastlingMode::from_chess960(!plain);
                self.words.push(m.to_uci(mode).to_string());
                now.play_unchecked(m);
                let mark = if now.is_checkmate() {
                    Some(shakmaty::san::Suffix::Checkmate)
                } else {
                    now.is_check().then_some(shakmaty::san::Suffix::Check)
                };
                let shortest = San::from_move(before, m);
                if shortest != san.san || mark != san.suffix {
                    self.facts
                        .errors
                        .push(format!("{san} is not the shortest notation"));
                }
            }
            Err(error) => self.facts.errors.push(format!("{san}: {error}")),
        }
    }
}

/// Plays a move after the other side passed in check, a position that
/// shakmaty refuses: the move is found on a board where the checked king
/// stands out of the way, and made on the real one.
fn play_after_passing_in_check(now: &mut Chess, san: San) -> Move {
    let mut setup = now.to_setup(EnPassantMode::Legal);
    let passer = setup.turn;
    setup.swap_turn();
    let king = setup.board.king_of(passer).unwrap();
    let elsewhere = |square| {
        let mut setup = setup.clone();
        setup.board.discard_piece_at(king);
        setup.castling_rights = shakmaty::Bitboard::EMPTY;
        setup.board.set_piece_at(square, passer.king());
        setup.position::<Chess>(CastlingMode::Standard).ok()
    };
    let empty = shakmaty::Square::ALL.into_iter();
    let m = empty
        .filter(|&square| !setup.board.occupied().contains(square))
        .filter_map(elsewhere)
        .find_map(|position| san.to_move(&position).ok())
        .expect("a legal move");
    setup.board.discard_piece_at(m.from().unwrap());
    setup.board.set_piece_at(m.to(), m.role().of(!passer));
    setup.swap_turn();
    *now = setup.position(CastlingMode::Standard).unwrap();
    m
}
