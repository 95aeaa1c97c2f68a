//! The listings of players, openings … equal what the records of all games
//! say.

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
use std::path::Path;

use cbfs::cbh::{Database, EntityId, EntityKind, EntityNames, Group, Grouping, Options};
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
fn listings(database: &Database, grouping: Grouping, name: impl Fn(Group) -> String) -> Listings {
    let crossref = database.crossref(grouping).unwrap();
    let mut listings = Listings::new();
    for (group, count) in crossref.groups() {
        let games = crossref.games(group);
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
        Group::Entity(of, id) if of == kind => name(&names, id),
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
        Group::Eco(eco) => eco.map_or_else(|| "none".to_owned(), |eco| eco.to_string()),
        other => panic!("{other:?} among openings"),
    });
    assert_eq!(by_eco, openings, "{what}");
    let years = expected(|game| vec![text(&game["headers"]["Date"]).chars().take(4).collect()]);
    let by_year = listings(&database, Grouping::Year, |group| match group {
        Group::Year(0) => "????".to_owned(),
        Group::Year(year) => format!("{year:04}"),
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

#[test]
fn listings_of_real_bases_equal_the_truth() {
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
