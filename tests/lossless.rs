//! Round trip without loss: bytes → game → text → game → bytes gives the same
//! bytes for every game of every base.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "helpers of tests fail and speak as tests do"
)]

mod common;

use std::path::Path;

use cbfs::cbh::{
    CodePage, Database, Decoded, GameId, Options, RecordKind, StoredGame, rewrite, write,
};
use cbfs::game::{Annotation, Game, PlyId, Position, TreeBuilder};
use cbfs::pgn;
use proptest::prelude::*;
use shakmaty::{Move, Square};

use common::{fixture_bases, real_bases, text_of};

/// Calls `with` for every game that could be read completely, and whose remarks
/// are all shown as remarks: tags that are kept in one are put there by a save.
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
        if decoded.defects.is_empty() && decoded.game.foreign_tags.is_empty() {
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
fn the_text_and_record_of_every_game_give_its_bytes() {
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
fn the_text_of_every_game_gives_the_same_game() {
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

/// A clean text has all moves and words, and nothing that only cbfs reads.
#[test]
fn a_clean_text_has_the_same_moves_and_words() {
    for base in real_bases().into_iter().chain(fixture_bases()) {
        for_each_game(&base, |id, _, _, decoded| {
            let mut clean = Vec::new();
            pgn::encode_clean(&decoded.game, &mut clean);
            let clean = String::from_utf8(clean).unwrap();
            let place = format!("{} game {}:\n{clean}", base.display(), id.0);
            let is_private = clean.contains("[%cb") || clean.contains("[Cbh");
            assert!(!is_private && !clean.contains("{}"), "{place}");
            let read = pgn::decode(clean.as_bytes()).unwrap_or_else(|why| panic!("{why} {place}"));
            assert_eq!(read.tree.len(), decoded.game.tree.len(), "{place}");
            let texts = decoded.game.annotations.iter();
            for text in texts.filter_map(|(_, remark)| remark.text()) {
                let mut words = text.text.split(|c: char| !c.is_alphanumeric());
                let first = words.next().unwrap();
                assert!(
                    first.len() > 200 || clean.contains(first),
                    "{first:?} {place}"
                );
            }
        });
    }
}

fn text_of_game(game: &Game) -> String {
    let mut text = Vec::new();
    pgn::encode(game, &[], &mut text);
    String::from_utf8(text).unwrap()
}

/// Every remark of the base that has one of each kind.
fn all_remarks() -> Vec<Annotation> {
    let base = common::fixtures().join("cbh/annotations/annotations.cbh");
    let mut remarks = Vec::new();
    for_each_game(&base, |_, _, _, decoded| {
        let found = decoded.game.annotations.iter();
        remarks.extend(found.map(|(_, remark)| remark.clone()));
    });
    remarks
}

/// A game of legal moves with variations, and remarks anywhere.
fn generated(choices: &[(u8, u16)], remarks: &[Annotation]) -> Game {
    let mut game = Game::default();
    let start = Position::default();
    let mut line = TreeBuilder::new(&mut game.tree, &start);
    let mut branches = vec![line.branch()];
    let mut chosen = Vec::new();
    for &(what, which) in choices {
        let which = usize::from(which);
        match what % 8 {
            0 => line.resume(branches[which % branches.len()].clone()),
            1 => {
                line.play_null();
            }
            2..4 => chosen.push((line.at(), remarks[which % remarks.len()].clone())),
            _ => {
                let moves = legal_moves(line.position());
                if let Some(&m) = moves.get(which % moves.len().max(1)) {
                    branches.push(line.branch());
                    line.play(m).unwrap();
                }
            }
        }
    }
    for (ply, remark) in chosen {
        // ChessBase has one remark of a kind on a ply, and no text before
        // the whole game.
        let kind = std::mem::discriminant(&remark);
        let has_one = game
            .annotations
            .iter()
            .any(|(other, there)| other == ply && std::mem::discriminant(there) == kind);
        let is_out_of_place = ply == PlyId::START
            && matches!(remark, Annotation::TextBefore(_) | Annotation::Symbols(_));
        if !has_one && !is_out_of_place {
            game.annotations.add(ply, remark);
        }
    }
    game.annotations.sort();
    game.headers.medals = 0;
    game
}

fn legal_moves(position: &Position) -> Vec<Move> {
    let squares = || Square::ALL.into_iter();
    let pairs = squares().flat_map(|from| squares().map(move |to| (from, to)));
    let normal = pairs.filter_map(|(from, to)| {
        Some(Move::Normal {
            role: position.board().role_at(from)?,
            from,
            capture: position.board().role_at(to),
            to,
            promotion: None,
        })
    });
    normal.filter(|&m| position.is_legal(m)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Generated games have plies and remarks in any order; once written and
    /// read, text and bytes lead to each other.
    #[test]
    fn generated_games_are_preserved_as_text_and_as_bytes(
        choices in prop::collection::vec(any::<(u8, u16)>(), 0..120),
    ) {
        let page = CodePage::default();
        let remarks = all_remarks();
        let made = generated(&choices, &remarks);
        let stored = write(GameId(1), &made, page).unwrap();
        let mut game = Game::default();
        stored.decode(page, &mut game).unwrap();
        let text = text_of_game(&game);
        let read = pgn::decode(text.as_bytes()).map_err(|error| {
            TestCaseError::fail(format!("{error}:\n{text}"))
        })?;
        prop_assert_eq!(text_of_game(&read), text.clone());
        let again = rewrite(GameId(1), &stored, &game, &read, page).unwrap();
        prop_assert_eq!(&again, &stored, "{}", text);
    }
}
