//! The listings of players, openings and the like equal those computed from the
//! records of all games.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail and speak as tests do"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cbfs::cbh::{
    Database, EntityId, EntityKind, EntityNames, Error, GameGroup, GameId, Grouping, Options,
    Summary,
};
use cbfs::game::Defect;
use cbfs::game::GameResult;
use serde_json::Value;

use common::{bases_with_truth, fixtures_with_truth};

fn open(base: &Path) -> Database {
    Database::open(base, &Options::default()).unwrap()
}

/// The games of each group by the name it has in a listing.
type Listings = BTreeMap<String, BTreeSet<u64>>;

/// Stands for an entity that is referred to and whose record is deleted.
const DELETED: &str = "(deleted)";

/// What the truth says: games of this header that are not deleted.
fn expected_listings(truth: &Path, name: impl Fn(&Value) -> Vec<String>) -> Listings {
    let mut listings = Listings::new();
    for line in fs::read_to_string(truth).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if record["kind"] == "text" || record["deleted"] == true {
            continue;
        }
        for name in name(&record) {
            let games = listings.entry(name).or_default();
            games.insert(record["id"].as_u64().unwrap());
        }
    }
    listings
}

/// The players; without the one that a damaged game of the recipe lacks.
fn players(record: &Value) -> Vec<String> {
    let is_damaged = record["defect"] == "cbp";
    let names = ["White", "Black"].map(|side| text(&record["headers"][side]));
    let names = names.into_iter();
    names
        .filter(|name| !is_damaged || !name.is_empty())
        .collect()
}

/// What the base says.
fn listings(
    database: &Database,
    grouping: Grouping,
    name: impl Fn(GameGroup) -> String,
) -> Listings {
    let crossref = database.crossref(grouping).unwrap();
    let mut listings = Listings::new();
    for (group, count) in crossref.groups().unwrap() {
        let games = crossref.games(group).unwrap();
        assert_eq!(games.len(), count);
        assert!(games.is_sorted_by(|one, next| one < next));
        let games = games.iter().map(|id| u64::from(id.0));
        let name = name(group);
        if name != DELETED {
            listings.entry(name).or_default().extend(games);
        }
    }
    listings
}

fn by_entity(
    database: &Database,
    kind: EntityKind,
    name: fn(&EntityNames, EntityId) -> String,
) -> Listings {
    let names = database.entity_names(kind).unwrap();
    listings(database, Grouping::Entity(kind), |group| match group {
        GameGroup::Entity(of, id) if of == kind => name(&names, id),
        other => panic!("{other:?} among {kind:?}"),
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn compare(base: &Path, truth: &Path) {
    let database = open(base);
    let name = |names: &EntityNames, id| names.get(id).unwrap_or(DELETED).to_owned();
    let expected = |name: fn(&Value) -> Vec<String>| expected_listings(truth, name);
    let what = base.display();
    let players = expected(players);
    assert_eq!(
        by_entity(&database, EntityKind::Player, name),
        players,
        "{what}"
    );
    let events = expected(|game| vec![text(&game["headers"]["Event"])]);
    let title = |names: &EntityNames, id| names.title(id).unwrap_or(DELETED).to_owned();
    assert_eq!(
        by_entity(&database, EntityKind::Tournament, title),
        events,
        "{what}"
    );
    let sites = expected(|game| vec![text(&game["headers"]["Site"])]);
    let place = |names: &EntityNames, id| names.place(id).unwrap_or(DELETED).to_owned();
    assert_eq!(
        by_entity(&database, EntityKind::Tournament, place),
        sites,
        "{what}"
    );
    let annotators = expected(|game| vec![text(&game["headers"]["Annotator"])]);
    assert_eq!(
        by_entity(&database, EntityKind::Annotator, name),
        annotators,
        "{what}"
    );
    let openings = expected(|game| vec![opening(game["headers"]["eco"].as_u64().unwrap())]);
    let by_eco = listings(&database, Grouping::Eco, |group| match group {
        GameGroup::Eco(eco) => eco.map_or_else(|| "none".to_owned(), |eco| eco.to_string()),
        other => panic!("{other:?} among openings"),
    });
    assert_eq!(by_eco, openings, "{what}");
    let years = expected(|game| vec![text(&game["headers"]["Date"]).chars().take(4).collect()]);
    let by_year = listings(&database, Grouping::Year, |group| match group {
        GameGroup::Year(0) => "????".to_owned(),
        GameGroup::Year(year) => format!("{year:04}"),
        other => panic!("{other:?} among years"),
    });
    assert_eq!(by_year, years, "{what}");
}

/// The code of a stored word.
fn opening(word: u64) -> String {
    match (word >> 7).checked_sub(1) {
        Some(index) if index < 500 => {
            let letter = char::from(b"ABCDE"[usize::try_from(index / 100).unwrap()]);
            format!("{letter}{:02}", index % 100)
        }
        _ => "none".to_owned(),
    }
}

/// What the entity files of a base disagree in.
fn entity_defects(base: &Path) -> Vec<String> {
    let mut defects = Vec::new();
    let mut report = |defect: Defect| defects.push(defect.to_string());
    open(base).verify_entities(&mut report).unwrap();
    defects
}

/// What is known to be wrong with the entities of real bases.
fn known_defects(base: &str) -> &'static [&'static str] {
    match base {
        "linares" => &[
            ".cbp at 0x1337: record 73 is in use without a game (it counts 104281944)",
            ".cbp at 0x14: 80 records in use claimed, 79 found",
            ".cbp at 0xcac: record 48 is deleted but on no chain",
            ".cbp at 0x778: balance of record 28 is 1, should be 0",
            ".cbp at 0x6af: balance of record 25 is 0, should be -1",
        ],
        "Mate2" => &[
            ".cbt at 0x14: 6 records in use claimed, 7 found",
            ".cbc at 0x14: 0 records in use claimed, 1 found",
            ".cbs at 0x14: 0 records in use claimed, 1 found",
        ],
        "cbh_test" => {
            &[".cbj at 0x0: the file is missing, which says what games have teams and labels"]
        }
        // With a short `.cbj`, the other games have no team or tag.
        "shorter_cbj_test" => &[
            ".cbe at 0xb0: record 2 is in use without a game (it counts 1)",
            ".cbe at 0xf8: record 3 is in use without a game (it counts 1)",
            ".cbl at 0x20: record 0 counts 3 references, there are 2",
        ],
        _ => &[],
    }
}

#[test]
fn real_bases_have_exactly_their_known_defects() {
    for base in common::real_bases() {
        let name = base.file_stem().unwrap().to_str().unwrap();
        assert_eq!(entity_defects(&base), known_defects(name), "{name}");
    }
}

#[test]
fn fixtures_agree_with_themselves_unless_they_are_damaged() {
    for base in common::fixture_bases() {
        let defects = entity_defects(&base);
        if base.ends_with("namesakes.cbh") {
            // Four players have the name of one before them.
            let is_twin = |defect: &&String| defect.contains(" does not sort after ");
            assert_eq!(defects.iter().filter(is_twin).count(), 4);
            assert_eq!(defects.len(), 4, "{defects:#?}");
            continue;
        }
        if !base.ends_with("damage.cbh") {
            assert_eq!(defects, [""; 0], "{}", base.display());
            continue;
        }
        for fact in [
            ".cbh at 0xe6: game 5 refers to record 16777215 of .cbp, which does not exist",
            ".cbp at 0xe9: record 3 is deleted, but game 7 refers to it",
            ".cbp at 0xe9: record 3 is deleted but on no chain",
            ".cbp at 0x63: record 1 leads to 3, which is deleted",
            ".cbp at 0xa6: record 2 is in use without a game (it counts 1)",
        ] {
            assert!(defects.iter().any(|defect| defect == fact), "{defects:#?}");
        }
    }
}

/// Deleted games and texts refer to entities, but are in no group.
#[test]
fn deleted_games_and_texts_are_counted_and_not_listed() {
    let (mut deleted, mut texts) = (0, 0);
    for (base, truth) in fixtures_with_truth() {
        let database = open(&base);
        let references = database.references().unwrap();
        for line in fs::read_to_string(truth).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let id = GameId(u32::try_from(record["id"].as_u64().unwrap()).unwrap());
            if record["kind"] == "text" {
                texts += 1;
                assert!(matches!(database.summary(id), Err(Error::NotUsed(of)) if of == id));
            } else if record["deleted"] == true {
                deleted += 1;
                let game = database.summary(id).unwrap();
                assert!(game.is_deleted);
                for player in [game.white, game.black] {
                    let players = references.of(EntityKind::Player, player);
                    assert!(players.first.unwrap() <= id);
                }
            } else {
                continue;
            }
            for grouping in groupings() {
                let crossref = database.crossref(grouping).unwrap();
                let mut groups = crossref.groups().unwrap().into_iter();
                let is_listed = groups.any(|(group, _)| crossref.contains(group, id).unwrap());
                assert!(!is_listed, "{}: {id:?}", base.display());
            }
        }
    }
    assert!(deleted > 0 && texts > 0);
}

fn groupings() -> impl Iterator<Item = Grouping> {
    let kinds = EntityKind::ALL.into_iter().map(Grouping::Entity);
    kinds.chain([Grouping::Eco, Grouping::Year])
}

/// The numbers that the truth has of a game.
fn compare_summary(game: &Summary, record: &Value) {
    let headers = &record["headers"];
    assert_eq!(record["deleted"], game.is_deleted);
    assert_eq!(headers["WElo"], game.white_elo);
    assert_eq!(headers["BElo"], game.black_elo);
    assert_eq!(headers["Round"], game.round);
    assert_eq!(headers["Sub"], game.subround);
    assert_eq!(headers["Date"], game.date.to_string());
    assert_eq!(headers["medals"], game.medals);
    assert_eq!(headers["nmoves"], game.move_count);
    let eco = game.eco.map_or("none".to_owned(), |eco| eco.to_string());
    assert_eq!(opening(headers["eco"].as_u64().unwrap()), eco);
    let result = game.result.unwrap();
    if let Some(evaluation) = headers["eval"]
        .as_u64()
        .filter(|_| result == GameResult::Line)
    {
        assert_eq!(evaluation, u64::from(game.line_evaluation));
    }
}

#[test]
fn summaries_have_the_known_numbers() {
    let mut compared = 0;
    for (base, truth) in bases_with_truth().into_iter().chain(fixtures_with_truth()) {
        let database = open(&base);
        let mut games = Vec::new();
        // In two parts, and beyond the end.
        database.summaries(GameId(0), 3, &mut games).unwrap();
        database.summaries(GameId(3), u32::MAX, &mut games).unwrap();
        let mut games = games.iter();
        for line in fs::read_to_string(truth).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            if record["kind"] == "text" || record["headers"].is_null() {
                continue;
            }
            let game = games.next().unwrap();
            assert_eq!(record["id"], game.id.0, "{}", base.display());
            compare_summary(game, &record);
            assert_eq!(database.summary(game.id).unwrap(), *game);
            compared += 1;
        }
        assert_eq!(games.next(), None, "{}", base.display());
    }
    assert!(compared > 80, "only {compared}");
}

#[test]
fn a_listing_goes_on_after_any_game() {
    let database = open(&common::fixture("cbh/encodings/encodings.cbh"));
    let crossref = database.crossref(Grouping::Year).unwrap();
    for (group, _) in crossref.groups().unwrap() {
        let all = crossref.games(group).unwrap();
        for after in 0..=database.last_id() + 1 {
            let rest: Vec<_> = all.iter().filter(|id| id.0 > after).copied().collect();
            assert_eq!(crossref.games_after(group, GameId(after)).unwrap(), rest);
        }
        let other = GameGroup::Entity(EntityKind::Player, EntityId(0));
        assert!(crossref.games(other).unwrap().is_empty());
    }
}

/// Bytes of the header of an entity file of the fixtures, and of a record of
/// `.cbp`.
const HEADER: usize = 32;
const PLAYER: usize = 67;

/// A copy of the sample of which a file was changed.
fn damaged(extension: &str, change: impl FnOnce(&mut Vec<u8>)) -> (tempfile::TempDir, PathBuf) {
    let copy = common::copy_of_base("cbh/sample");
    let file = copy.path().join("sample").with_extension(extension);
    let mut bytes = fs::read(&file).unwrap();
    change(&mut bytes);
    fs::write(file, bytes).unwrap();
    let base = copy.path().join("sample.cbh");
    (copy, base)
}

fn put(bytes: &mut [u8], offset: usize, number: i32) {
    bytes[offset..offset + 4].copy_from_slice(&number.to_le_bytes());
}

fn assert_tells(defects: &[String], part: &str) {
    let is_told = defects.iter().any(|defect| defect.contains(part));
    assert!(is_told, "{part:?} is not in {defects:#?}");
}

#[test]
fn a_cyclic_tree_is_reported_and_harmless() {
    let sound = open(&common::fixture("cbh/sample/sample.cbh"));
    let names = sound.entity_names(EntityKind::Player).unwrap();
    let (_copy, base) = damaged("cbp", |bytes| {
        for record in bytes[HEADER..].chunks_exact_mut(PLAYER) {
            put(record, 0, 0);
            put(record, 4, 1);
        }
    });
    let defects = entity_defects(&base);
    assert_tells(&defects, "as another link does");
    assert_tells(&defects, "cannot be reached from the root");
    let same = open(&base).entity_names(EntityKind::Player).unwrap();
    assert!(same.iter().eq(names.iter()));
}

#[test]
fn a_cyclic_chain_of_deleted_records_is_reported() {
    let (_copy, base) = damaged("cbp", |bytes| {
        put(bytes, 16, 2);
        for (record, next) in [(2, 5), (5, 2)] {
            put(bytes, HEADER + record * PLAYER, -999);
            put(bytes, HEADER + record * PLAYER + 4, next);
        }
    });
    let defects = entity_defects(&base);
    assert_tells(&defects, "the chain of deleted records leads to 2, twice");
    assert!(!defects.iter().any(|defect| defect.contains("on no chain")));
    let names = open(&base).entity_names(EntityKind::Player).unwrap();
    assert_eq!(names.get(EntityId(2)), None);
    assert!(names.iter().all(|(id, _)| id != EntityId(5)));
    let (_copy, base) = damaged("cbp", |bytes| put(bytes, 16, 1));
    assert_tells(&entity_defects(&base), "leads to 1, which is in use");
    let (_copy, base) = damaged("cbp", |bytes| put(bytes, 16, i32::MAX));
    assert_tells(&entity_defects(&base), "which does not exist");
}

#[test]
fn a_wrong_capacity_costs_no_memory() {
    let sound = open(&common::fixture("cbh/sample/sample.cbh"));
    let names = sound.entity_names(EntityKind::Player).unwrap();
    let (_copy, base) = damaged("cbp", |bytes| put(bytes, 0, i32::MAX));
    let defects = entity_defects(&base);
    assert_tells(&defects, "2147483647 records claimed");
    let same = open(&base).entity_names(EntityKind::Player).unwrap();
    assert_eq!(same.bound(), names.bound());
    let crossref = open(&base).crossref(Grouping::Entity(EntityKind::Player));
    assert!(crossref.unwrap().size() < 10_000);
}

#[test]
fn ids_of_missing_entities_are_reported_and_in_no_group() {
    let (_copy, base) = damaged("cbh", |bytes| bytes[46 + 9..46 + 24].fill(0xff));
    let defects = entity_defects(&base);
    for file in ["cbp", "cbt", "cbc", "cbs"] {
        let fact = format!("game 1 refers to record 16777215 of .{file}, which does not exist");
        assert_tells(&defects, &fact);
    }
    let database = open(&base);
    for kind in EntityKind::ALL {
        let crossref = database.crossref(Grouping::Entity(kind)).unwrap();
        let lost = GameGroup::Entity(kind, EntityId(0x00ff_ffff));
        assert!(crossref.games(lost).unwrap().is_empty());
        let names = database.entity_names(kind).unwrap();
        assert_eq!(names.get(EntityId(0x00ff_ffff)), None);
        assert!(crossref.size() < 10_000);
    }
    let by_year = database.crossref(Grouping::Year).unwrap();
    let has_game = |&(group, _): &_| by_year.contains(group, GameId(1)).unwrap();
    assert!(by_year.groups().unwrap().iter().any(has_game));
}

#[test]
fn a_game_against_oneself_is_listed_once_with_two_references() {
    let (_copy, base) = damaged("cbh", |bytes| bytes.copy_within(46 + 9..46 + 12, 46 + 12));
    let database = open(&base);
    let game = database.summary(GameId(1)).unwrap();
    assert_eq!(game.white, game.black);
    let crossref = database
        .crossref(Grouping::Entity(EntityKind::Player))
        .unwrap();
    let games = crossref.games(GameGroup::Entity(EntityKind::Player, game.white));
    let games = games.unwrap();
    assert_eq!(games.iter().filter(|id| id.0 == 1).count(), 1);
    let count = database
        .references()
        .unwrap()
        .of(EntityKind::Player, game.white)
        .count;
    let sound = open(&common::fixture("cbh/sample/sample.cbh"))
        .references()
        .unwrap();
    assert_eq!(count, sound.of(EntityKind::Player, game.white).count + 1);
}

#[test]
fn truncating_a_file_during_reading_is_an_error() {
    let (copy, base) = damaged("cbh", |_| {});
    let database = open(&base);
    let file = fs::File::options().write(true).open(&base).unwrap();
    file.set_len(100).unwrap();
    let cut = database.crossref(Grouping::Year);
    assert!(matches!(cut, Err(Error::Io { .. })));
    assert!(database.references().is_err());
    fs::copy(common::fixture("cbh/sample/sample.cbh"), &base).unwrap();
    database.crossref(Grouping::Year).unwrap();
    let extended = copy.path().join("sample.cbj");
    let file = fs::File::options().write(true).open(extended).unwrap();
    file.set_len(100).unwrap();
    assert!(
        database
            .crossref(Grouping::Entity(EntityKind::Team))
            .is_err()
    );
}

#[test]
fn listings_of_real_bases_equal_the_known_ones() {
    for (base, truth) in bases_with_truth() {
        compare(&base, &truth);
    }
}

#[test]
fn listings_of_the_fixtures_equal_their_recipe() {
    let bases = fixtures_with_truth();
    assert!(bases.len() > 8);
    for (base, truth) in bases {
        compare(&base, &truth);
    }
}
