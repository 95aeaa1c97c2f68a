//! Saving of games: only the edited parts change, and the base stays sound.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cbfs::cbh::{
    ChangeError, Database, Decoded, EditError, Entity, EntityId, Family, FileKind, GameId,
    Importer, Options, Plan, PreparedGame, RecordKind, SaveError, Saver,
};
use cbfs::game::{Game, PlayerName};
use cbfs::pgn;
use cbfs::storage::{
    Directory, FileFilter, MemoryDirectory, MemoryFile, SimulatedFailure, Storage, Store,
    StoreAccess, StoreOptions,
};

use common::{fixture_bases, real_bases, text_of};

const JOURNAL: &str = ".base.cbfs-journal";

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// A base whose files lie in memory.
#[derive(Clone)]
struct Base {
    directory: MemoryDirectory,
    cbh: PathBuf,
}

impl Base {
    fn copy(path: &Path) -> Base {
        let directory = MemoryDirectory::new();
        for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
            let file = entry.unwrap().path();
            if file.is_file() && file.file_stem() == path.file_stem() {
                directory.put(file.file_name().unwrap(), fs::read(&file).unwrap());
            }
        }
        let cbh = PathBuf::from(path.file_name().unwrap());
        Base { directory, cbh }
    }

    fn fixture(path: &str) -> Base {
        Base::copy(&common::fixture(path))
    }

    fn store(&self) -> Store {
        let opening = StoreOptions {
            journal: OsStr::new(JOURNAL),
            label: "",
            access: StoreAccess::ReadWrite,
            file_filter: FileFilter::new(|_| true),
        };
        Store::open(Arc::new(self.directory.clone()), &opening).unwrap()
    }

    /// The base as a store shows it.
    fn database(&self, store: &Store) -> Database {
        let mut names: Vec<OsString> = self.directory.files().into_keys().collect();
        names.extend(FileKind::ALL.map(|kind| self.cbh.with_extension(kind.extension()).into()));
        names.retain(|name| store.file(name).unwrap().is_some());
        let family = Family::among(&self.cbh, names).unwrap();
        Database::open_with(family, &Options::default(), &|path| {
            let file = store.file(path.file_name().unwrap()).unwrap().unwrap();
            Ok(Box::new(file) as Box<dyn Storage>)
        })
        .unwrap()
    }

    /// Plans a save.
    fn plan(
        &self,
        tell: impl FnOnce(&mut Saver<'_>) -> Result<(), SaveError>,
    ) -> Result<Plan, SaveError> {
        let database = self.database(&self.store());
        let mut saver = Saver::new(&database, now());
        tell(&mut saver)?;
        saver.finish()
    }

    /// The base with a save in its files.
    fn with(&self, plan: &Plan) -> Base {
        let base = Base {
            directory: self.directory.after_kill(),
            cbh: self.cbh.clone(),
        };
        let store = base.store();
        store.commit(&plan.transaction).unwrap();
        store.close().unwrap();
        base
    }

    /// The texts of all games that can be read wholly, and which are deleted.
    fn texts(&self) -> BTreeMap<u32, (bool, String)> {
        let store = self.store();
        let database = self.database(&store);
        let mut texts = BTreeMap::new();
        for_each_game(&database, |id, is_deleted, decoded| {
            texts.insert(id.0, (is_deleted, text_of(decoded)));
        });
        texts
    }

    fn text(&self, id: u32) -> String {
        self.texts().remove(&id).unwrap().1
    }

    fn defects(&self) -> Vec<String> {
        let store = self.store();
        let mut defects = Vec::new();
        self.database(&store)
            .check(&|_| {}, &mut |defect| {
                // How long a file is now is not what is wrong with it.
                let defect = defect.to_string();
                let what = defect.split(", which has").next().unwrap();
                // A count that was wrong is as wrong after one more or less.
                let what = what.split(" counts ").next().unwrap();
                defects.push(what.to_owned());
            })
            .unwrap();
        defects
    }

    /// The files of both that differ, by extension.
    fn differing(&self, other: &Base) -> Vec<String> {
        let (one, other) = (self.directory.files(), other.directory.files());
        let mut names: BTreeSet<_> = one.keys().chain(other.keys()).collect();
        names.remove(&OsString::from(JOURNAL));
        let names = names
            .into_iter()
            .filter(|name| one.get(*name) != other.get(*name));
        names
            .map(|name| {
                Path::new(name)
                    .extension()
                    .unwrap()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    }
}

fn for_each_game(database: &Database, mut with: impl FnMut(GameId, bool, &Decoded)) {
    let mut entries = Vec::new();
    database
        .entries(GameId(1), database.last_id(), &mut entries)
        .unwrap();
    let mut decoded = Decoded::default();
    for entry in entries {
        if entry.kind == RecordKind::Game
            && database.read_game(entry.id, &mut decoded).is_ok()
            && decoded.defects.is_empty()
        {
            with(entry.id, entry.is_deleted, &decoded);
        }
    }
}

fn encoded(game: &Game) -> String {
    let mut text = Vec::new();
    pgn::encode(game, &[], &mut text);
    String::from_utf8(text).unwrap()
}

fn decoded(text: &str) -> Game {
    pgn::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Saves an edited text of a game, and holds the base against the one before:
/// the game reads as edited, all others as before, and nothing new is wrong.
fn edit(base: &Base, id: u32, change: impl FnOnce(String) -> String) -> Base {
    let (after, plan) = edit_as(base, id, change);
    assert!(plan.unfit.is_empty() && plan.kept.is_empty(), "{plan:?}");
    after
}

fn edit_as(base: &Base, id: u32, change: impl FnOnce(String) -> String) -> (Base, Plan) {
    let before = base.text(id);
    let text = change(before.clone());
    assert_ne!(text, before, "the edit does nothing");
    let edited = decoded(&text);
    let plan = base
        .plan(|saver| saver.replace(GameId(id), &edited))
        .unwrap();
    let after = base.with(&plan);
    let mut expected = base.texts();
    if plan.unfit.is_empty() && plan.kept.is_empty() {
        expected.get_mut(&id).unwrap().1 = encoded(&edited);
    } else {
        let text = after.text(id);
        expected.get_mut(&id).unwrap().1 = text;
    }
    ensure_sound(base, &after, &expected);
    // What was saved is what is stored: saving it again changes nothing.
    let again = decoded(&after.text(id));
    let nothing = after
        .plan(|saver| saver.replace(GameId(id), &again))
        .unwrap();
    assert!(nothing.transaction.is_empty(), "{:?}", nothing.transaction);
    (after, plan)
}

fn ensure_sound(before: &Base, after: &Base, expected: &BTreeMap<u32, (bool, String)>) {
    let found = after.texts();
    assert_eq!(found.len(), expected.len());
    for (id, text) in expected {
        assert_eq!(&found[id], text, "game {id}");
    }
    let known = before.defects();
    // What no game has is known as soon as a save has made the missing file.
    let lacked = known
        .iter()
        .any(|defect| defect.starts_with(".cbj at 0x0:"));
    let is_of_lacked =
        |defect: &String| lacked && [".cbe", ".cbl"].iter().any(|file| defect.starts_with(file));
    let new: Vec<_> = after
        .defects()
        .into_iter()
        .filter(|defect| !known.contains(defect) && !is_of_lacked(defect))
        .collect();
    assert!(new.is_empty(), "{new:#?}");
}

/// A tag pair in place of the one with its name.
fn with_tag(text: &str, name: &str, value: &str) -> String {
    let line = format!("[{name} \"{value}\"]");
    let start = format!("[{name} \"");
    if !text.contains(&start) {
        return format!("{line}\n{text}");
    }
    let lines = text.lines().map(|old| {
        if old.starts_with(&start) {
            line.as_str()
        } else {
            old
        }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn saving_the_text_of_a_game_changes_no_byte() {
    let mut games = 0;
    for path in real_bases().into_iter().chain(fixture_bases()) {
        let database = Database::load(&path, &Options::default()).unwrap();
        for_each_game(&database, |id, _, stored| {
            let place = format!("{} game {}", path.display(), id.0);
            for edited in [&decoded(&text_of(stored)), &stored.game] {
                let mut saver = Saver::new(&database, now());
                saver
                    .replace(id, edited)
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                let plan = saver.finish().unwrap();
                assert!(
                    plan.transaction.is_empty(),
                    "{place}: {plan:?}\n{}",
                    text_of(stored)
                );
                assert!(
                    plan.unfit.is_empty() && plan.kept.is_empty(),
                    "{place}: {plan:?}"
                );
            }
            games += 1;
        });
    }
    assert!(games > 100, "only {games} games");
    println!("{games} games come to nothing");
}

/// Small bases of all kinds, and some games of each.
fn samples() -> Vec<(Base, Vec<u32>)> {
    let bases = real_bases().into_iter().chain(fixture_bases());
    let bases = bases.filter(|path| fs::metadata(path).unwrap().len() < 20_000);
    let samples = bases.map(|path| {
        let base = Base::copy(&path);
        let games: Vec<u32> = base.texts().into_keys().collect();
        let step = games.len().div_ceil(3).max(1);
        (base, games.into_iter().step_by(step).collect())
    });
    samples
        .filter(|(_, games): &(Base, Vec<u32>)| !games.is_empty())
        .collect()
}

/// The tag pairs and the moves of a text.
fn parts(text: &str) -> (&str, &str) {
    text.split_once("\n\n").unwrap()
}

/// The result at the end of a text.
fn result(text: &str) -> &str {
    text.split_whitespace().last().unwrap()
}

fn commented(text: &str) -> String {
    let end = text.trim_end().rfind(result(text)).unwrap();
    format!("{}\n{{A new remark.}} {}", &text[..end], &text[end..])
}

fn with_moves(text: &str, moves: &str) -> String {
    let (tags, _) = parts(text);
    format!("{tags}\n\n{moves} {}\n\n", result(text))
}

/// What is edited, and the edit of a text.
type Edit = (&'static str, fn(&str) -> String);

/// All edits that can be made to any game.
fn edits() -> Vec<Edit> {
    vec![
        ("comment", commented),
        ("result", |text| {
            let new = if result(text) == "1-0" { "0-1" } else { "1-0" };
            let end = text.trim_end().rfind(result(text)).unwrap();
            with_tag(&format!("{}{new}\n", &text[..end]), "Result", new)
        }),
        ("rating", |text| with_tag(text, "WhiteElo", "2811")),
        ("new player", |text| {
            with_tag(text, "White", "Newcomer, Ann")
        }),
        ("same player", |text| {
            with_tag(
                &with_tag(text, "White", "Newcomer, Ann"),
                "Black",
                "Newcomer, Ann",
            )
        }),
        ("tournament", |text| with_tag(text, "Event", "A new event")),
        ("place", |text| with_tag(text, "Site", "Elsewhere")),
        ("end of tournament", |text| {
            let text = with_tag(text, "EventDate", "1987.06.05");
            with_tag(&text, "EventEndDate", "1987.06.15")
        }),
        ("annotator", |text| {
            with_tag(text, "Annotator", "Somebody Else")
        }),
        ("source", |text| {
            with_tag(text, "SourceTitle", "A new source")
        }),
        ("teams", |text| {
            with_tag(
                &with_tag(text, "WhiteTeam", "A new team"),
                "BlackTeam",
                "The others",
            )
        }),
        ("label", |text| with_tag(text, "CbhTag", "Worth a look")),
        ("round and date", |text| {
            with_tag(&with_tag(text, "Round", "99.3"), "Date", "2001.02.03")
        }),
        ("medals", |text| with_tag(text, "CbhMedals", "32768")),
        ("foreign tags", |text| {
            with_tag(
                &with_tag(text, "WhiteFideId", "1503014"),
                "Note",
                "a \\\"b\\\"",
            )
        }),
    ]
}

/// Nothing but the last day of a tournament may have no place: old versions
/// of `.cbtt` have none. A game without a source shows what others without one do.
fn ensure_fits(plan: &Plan) {
    let mut kept = plan.kept.iter();
    assert!(
        kept.all(|kept| kept.field.starts_with("Source")
            && matches!(kept.whole.as_str(), "" | "????.??.??")),
        "{:?}",
        plan.kept
    );
    let mut unfit = plan.unfit.iter();
    assert!(
        unfit.all(|unfit| unfit.field == "EventEndDate"),
        "{:?}",
        plan.unfit
    );
}

#[test]
fn an_edit_changes_its_game_and_no_other() {
    let mut saves = 0;
    for (base, games) in samples() {
        for &id in &games {
            for (what, change) in edits() {
                println!("{} game {id}: {what}", base.cbh.display());
                let (_, plan) = edit_as(&base, id, |text| change(&text));
                ensure_fits(&plan);
                saves += 1;
            }
        }
    }
    assert!(saves > 300, "only {saves} saves");
}

#[test]
fn other_moves_and_variations_are_saved() {
    for (base, games) in samples() {
        let texts = base.texts();
        for &id in games.iter().filter(|id| !texts[id].1.contains("[FEN ")) {
            println!("{} game {id}", base.cbh.display());
            let moves = "1. e4 {One} e5 (1... c5 2. Nf3 (2. c3) 2... d6) 2. Nf3 $1 Nc6";
            edit(&base, id, |text| with_moves(&text, moves));
        }
    }
}

#[test]
fn edits_one_after_the_other_leave_a_sound_base() {
    let mut base = Base::fixture("cbh/sample/sample.cbh");
    for _ in 0..2 {
        let games: Vec<u32> = base.texts().into_keys().collect();
        for (id, (_, change)) in games.iter().cycle().zip(edits()) {
            let before = base.text(*id);
            if change(&before) != before && encoded(&decoded(&change(&before))) != before {
                base = edit(&base, *id, |text| change(&text));
            }
        }
    }
}

#[test]
fn an_edited_comment_leaves_the_moves_alone() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let after = edit(&base, 1, |text| commented(&text));
    assert_eq!(base.differing(&after), ["cba", "cbh", "cbj"]);
    let after = edit(&base, 1, |text| with_tag(&text, "WhiteElo", "2811"));
    assert_eq!(base.differing(&after), ["cbh", "cbj"]);
}

#[test]
fn search_caches_are_removed_and_top_game_decisions_reset() {
    let bases = real_bases();
    let Some(path) = bases
        .iter()
        .find(|path| path.ends_with("test-annotations.cbh"))
    else {
        return;
    };
    let base = Base::copy(path);
    let mut flags = base.directory.files()[OsStr::new("test-annotations.flags")].clone();
    // The header, then two bits for each game from game 0 on.
    flags[12] = 0b1111_1100;
    base.directory.put("test-annotations.flags", flags.clone());
    assert!(base.text(1).contains("[CbhTopGame \"1\"]"));
    let without = |text: String| text.replace("[CbhTopGame \"1\"]\n", "");
    let judged = edit(&base, 1, without);
    assert_eq!(base.differing(&judged).last().unwrap(), "flags");
    let after = edit(&base, 1, |text| {
        with_tag(&without(text), "WhiteElo", "2811")
    });
    let files = after.directory.files();
    flags[12] = 0b1111_0000;
    assert_eq!(files[OsStr::new("test-annotations.flags")], flags);
    for extension in ["cbgi", "cbb", "cit", "cib", "cit2", "cib2"] {
        assert!(!files.contains_key(OsStr::new(&format!("test-annotations.{extension}"))));
    }
    let deleted = base.with(
        &base
            .plan(|saver| saver.set_deleted(GameId(1), true))
            .unwrap(),
    );
    assert_eq!(base.differing(&deleted), ["cbh"]);
}

fn players(base: &Base) -> Vec<String> {
    let store = base.store();
    let database = base.database(&store);
    let mut saver = Saver::new(&database, now());
    let live =
        (0..100).filter_map(
            |id| match saver.entity(FileKind::Players, EntityId(id)).ok()? {
                Entity::Player(name) => Some(name.joined()),
                _ => None,
            },
        );
    live.collect()
}

#[test]
fn a_player_without_games_is_removed() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let added = edit(&base, 1, |text| with_tag(&text, "White", "Newcomer, Ann"));
    assert!(players(&added).contains(&"Newcomer, Ann".to_owned()));
    let back = edit(&added, 1, |text| with_tag(&text, "White", "Newcomer, Bea"));
    assert!(!players(&back).contains(&"Newcomer, Ann".to_owned()));
    assert!(players(&back).contains(&"Newcomer, Bea".to_owned()));
}

#[test]
fn the_deleted_flag_is_set_and_cleared() {
    for (base, games) in samples() {
        let id = GameId(games[0]);
        let mut expected = base.texts();
        let was = expected[&id.0].0;
        let mut after = base.clone();
        for is_deleted in [!was, was] {
            let plan = after
                .plan(|saver| saver.set_deleted(id, is_deleted))
                .unwrap();
            let next = after.with(&plan);
            assert_eq!(after.differing(&next), ["cbh"]);
            expected.get_mut(&id.0).unwrap().0 = is_deleted;
            ensure_sound(&base, &next, &expected);
            after = next;
        }
        assert!(base.differing(&after).is_empty());
        let nothing = base.plan(|saver| saver.set_deleted(id, was)).unwrap();
        assert!(nothing.transaction.is_empty());
    }
}

fn new_games(texts: &BTreeMap<u32, (bool, String)>) -> Vec<Game> {
    let foreign = "[Event \"A new event\"]\n[Site \"Here\"]\n[White \"Newcomer, Ann\"]\n\
                   [Black \"Kasparov, Garry\"]\n[Result \"1-0\"]\n[WhiteTeam \"A new team\"]\n\
                   [EventEndDate \"1987.06.15\"]\n[WhiteFideId \"12\"]\n\n1. e4 e5 {!} 1-0\n";
    let bare = "1. d4 *\n";
    let known = texts.values().take(3).map(|(_, text)| decoded(text));
    let new = [foreign, bare, foreign].map(decoded);
    new.into_iter().chain(known).collect()
}

/// A text but for its source: that without a title is one for all games, and
/// in some bases has a date.
fn without_source(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("[Source"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn games_are_added_at_the_end() {
    for (base, _) in samples() {
        println!("{}", base.cbh.display());
        let mut expected = base.texts();
        let games = new_games(&expected);
        let mut ids = Vec::new();
        let plan = base
            .plan(|saver| {
                for game in &games {
                    ids.push(saver.append(game)?.0);
                }
                Ok(())
            })
            .unwrap();
        ensure_fits(&plan);
        let after = base.with(&plan);
        let read = after.texts();
        for (id, game) in ids.iter().zip(&games) {
            let mut game = game.clone();
            // That is for ChessBase to say.
            game.headers.is_top_game = false;
            if plan.kept.is_empty() && plan.unfit.is_empty() {
                assert_eq!(without_source(&read[id].1), without_source(&encoded(&game)));
            }
            expected.insert(*id, (false, read[id].1.clone()));
        }
        ensure_sound(&base, &after, &expected);
    }
}

#[test]
fn a_renamed_player_has_the_new_name_everywhere() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let name = |last: &str, first: &str| PlayerName {
        last: last.to_owned(),
        first: first.to_owned(),
    };
    let old = players(&base);
    for id in 0..3 {
        let rename = |to: &PlayerName| {
            let entity = Entity::Player(to.clone());
            base.plan(|saver| saver.rename_entity(EntityId(id), &entity))
        };
        let after = base.with(&rename(&name("Zzz", "Renamed")).unwrap());
        assert_eq!(base.differing(&after), ["cbp"]);
        assert!(players(&after).contains(&"Zzz, Renamed".to_owned()));
        assert_eq!(players(&after).len(), old.len());
        let known = base.defects();
        assert!(after.defects().iter().all(|defect| known.contains(defect)));
        let other = &old[(id as usize + 1) % old.len()];
        let (last, first) = other.split_once(", ").unwrap_or((other, ""));
        let taken = rename(&name(last, first));
        assert!(
            matches!(
                taken,
                Err(SaveError::Entity(FileKind::Players, EditError::Exists(_)))
            ),
            "{taken:?}"
        );
    }
}

#[test]
fn a_shared_tournament_stays_unchanged_for_other_games() {
    let base = Base::fixture("cbh/namesakes/namesakes.cbh");
    let texts = base.texts();
    let event = |id: u32| parts(&texts[&id].1).0.lines().take(2).collect::<String>();
    let shared = |id: &&u32| {
        texts
            .keys()
            .any(|other| other != *id && event(*other) == event(**id))
    };
    let id = texts.keys().find(shared).unwrap();
    let (_, plan) = edit_as(&base, *id, |text| with_tag(&text, "EventRounds", "77"));
    assert_eq!(plan.kept[0].field, "EventRounds");
    assert!(plan.transaction.is_empty());
    // A tournament of one game alone is changed.
    let alone = edit(&base, *id, |text| with_tag(&text, "Event", "All alone"));
    edit(&alone, *id, |text| with_tag(&text, "EventRounds", "77"));
}

#[test]
fn a_game_that_moves_to_another_event_says_what_it_loses() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let event = |text: &str, of: &str| {
        let names = ["Event", "Site", "EventDate"];
        let value = |name: &str| {
            let line = of
                .lines()
                .find_map(|line| line.strip_prefix(&format!("[{name} \"")));
            line.and_then(|line| line.strip_suffix("\"]"))
                .unwrap()
                .to_owned()
        };
        names.iter().fold(text.to_owned(), |text, name| {
            with_tag(&text, name, &value(name))
        })
    };
    let (_, plan) = edit_as(&base, 9, |text| event(&text, &base.text(5)));
    let told = plan
        .kept
        .iter()
        .map(|kept| (kept.field, &*kept.stored, &*kept.whole));
    assert!(
        told.clone()
            .any(|told| told == ("EventCountry", "ENG", "GER")),
        "{:?}",
        plan.kept
    );
}

#[test]
fn tags_without_a_field_stay_tags_whatever_line_becomes_the_main_one() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let tags = "[Event \"x\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"?\"]\n[White \"A\"]\n\
                [Black \"B\"]\n[Result \"*\"]\n[Termination \"normal\"]\n\n";
    for (stored, saved) in [
        ("1. e4 ({x} 1. d4)", "1. d4 {x}"),
        ("1. e4 ({x} 1. d4)", "1. d4 ({x} 1. e4)"),
        ("1. d4 ({x} 1. e4)", "1. e4"),
        ("1. d4 ({x} 1. e4)", "1. e4 {x} (1. d4)"),
    ] {
        let stored = edit(&base, 1, |_| format!("{tags}{stored} *\n"));
        let after = edit(&stored, 1, |_| format!("{tags}{saved} *\n"));
        let text = after.text(1);
        assert!(
            text.contains("[Termination \"normal\"]") && !text.contains("%cbtag"),
            "{text}"
        );
    }
}

#[test]
fn values_that_do_not_fit_are_refused_or_reported() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let replace = |change: &dyn Fn(&str) -> String| {
        let edited = decoded(&change(&base.text(1)));
        base.plan(|saver| saver.replace(GameId(1), &edited))
    };
    let refused = replace(&|text| with_tag(text, "WhiteElo", "5000"));
    let error = refused.unwrap_err().to_string();
    assert_eq!(
        error,
        "WhiteElo: 5000 does not fit, a rating is at most 4095"
    );
    let long = "A name that is far too long for a field of thirty bytes";
    for (base, name, value) in [
        ("cbh/sample/sample.cbh", "White", long),
        ("cbh/sample/sample.cbh", "Annotator", long),
        (
            "cbh/names-1251/names-1251.cbh",
            "Site",
            "Ürümqi, ganz weit im fernen Westen",
        ),
    ] {
        let base = Base::fixture(base);
        let (after, plan) = edit_as(&base, 1, |text| with_tag(&text, name, value));
        assert_eq!(plan.unfit[0].whole, value);
        // The whole stands in the text about the game.
        assert!(after.text(1).contains(&format!("[{name} \"{value}\"]")));
        let edited = edit_as(&after, 1, |text| with_tag(&text, name, "Short")).0;
        assert!(!edited.text(1).contains(value));
    }
    let missing = base.plan(|saver| saver.replace(GameId(10_000), &Game::default()));
    assert!(matches!(missing, Err(SaveError::Base(_))));
    let texts = Base::fixture("cbh/texts/texts.cbh");
    let text = texts.plan(|saver| saver.replace(GameId(1), &Game::default()));
    assert!(matches!(text, Err(SaveError::Base(_))));
    let damage = Base::fixture("cbh/damage/damage.cbh");
    let sound = damage.texts();
    let damaged = (1..100).filter(|id| !sound.contains_key(id));
    let refused =
        damaged.map(|id| damage.plan(|saver| saver.replace(GameId(id), &Game::default())));
    let is_defective =
        |plan: &Result<Plan, SaveError>| matches!(plan, Err(SaveError::Defective(..)));
    let refused: Vec<_> = refused.collect();
    assert!(refused.iter().all(Result::is_err) && refused.iter().any(is_defective));
    let twice = base.plan(|saver| {
        saver.replace(GameId(1), &decoded(&commented(&base.text(1))))?;
        saver.replace(GameId(1), &decoded(&base.text(1)))
    });
    assert!(matches!(twice, Err(SaveError::Again(GameId(1)))));
}

/// The sample with records of `.cbj` that have teams only.
fn old_sample() -> Base {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let name = OsStr::new("sample.cbj");
    let bytes = base.directory.files()[name].clone();
    let mut old: Vec<u8> = [1_u32, 8].into_iter().flat_map(u32::to_le_bytes).collect();
    old.extend(&bytes[8..32]);
    for record in bytes[32..].chunks(120) {
        old.extend(&record[..8]);
    }
    base.directory.put(name, old);
    base
}

#[test]
fn records_of_an_old_version_keep_their_size() {
    let base = old_sample();
    edit(&base, 1, |text| with_tag(&text, "WhiteTeam", "A new team"));
    edit(&base, 1, |text| commented(&text));
    for (name, value) in [
        ("CbhWhiteEloType", "00020064860000000000000000000000"),
        ("CbhTag", "Worth a look"),
    ] {
        let edited = decoded(&with_tag(&base.text(1), name, value));
        let refused = base.plan(|saver| saver.replace(GameId(1), &edited));
        match refused {
            Err(SaveError::NoPlace { field, .. }) => assert_eq!(field, name),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_game_of_chess960_has_the_number_of_its_start_or_an_opening() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let start = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 0 1";
    let usual = base
        .texts()
        .into_iter()
        .find(|(_, (_, text))| !text.contains("[FEN ") && text.contains("[ECO "));
    let id = usual.unwrap().0;
    let other = edit(&base, id, |text| {
        let eco: Vec<_> = text
            .lines()
            .filter(|line| !line.contains("ECO ") && !line.contains("SubEco"))
            .collect();
        let text = with_moves(&(eco.join("\n") + "\n"), "1. e4");
        let text = with_tag(&with_tag(&text, "FEN", start), "SetUp", "1");
        with_tag(&text, "Variant", "Chess960")
    });
    // An opening code has no place beside the number.
    let (_, plan) = edit_as(&other, id, |text| with_tag(&text, "ECO", "B33"));
    assert_eq!(plan.unfit[0].field, "ECO");
    edit(&other, id, |text| {
        let tags = text.lines().filter(|line| {
            !["[FEN", "[SetUp", "[Variant"]
                .iter()
                .any(|tag| line.starts_with(tag))
        });
        let text = with_moves(&(tags.collect::<Vec<_>>().join("\n") + "\n"), "1. e4");
        with_tag(&text, "ECO", "B00")
    });
}

/// A base with other bytes at a place of one of its files.
fn patched(base: &Base, extension: &str, at: usize, bytes: &[u8]) -> Base {
    let name = base.cbh.with_extension(extension);
    let directory = base.directory.after_kill();
    let mut file = directory.files()[name.as_os_str()].clone();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    directory.put(name, file);
    Base {
        directory,
        cbh: base.cbh.clone(),
    }
}

/// What is shown of each game, and whether it is damaged.
fn shown(base: &Base) -> BTreeMap<u32, (String, bool)> {
    let store = base.store();
    let database = base.database(&store);
    let mut shown = BTreeMap::new();
    for id in 1..=database.last_id() {
        let mut decoded = Decoded::default();
        if database.read_game(GameId(id), &mut decoded).is_ok() {
            let is_damaged = !decoded.defects.is_empty();
            shown.insert(id, (encoded(&decoded.game), is_damaged));
        }
    }
    shown
}

/// Saves a newcomer, and other games are what they were.
fn ensure_no_other_is_recast(base: &Base, id: u32, name: &str) -> Base {
    let edited = decoded(&with_tag(&base.text(id), name, "Newcomer, Zoe"));
    let plan = base.plan(|saver| {
        saver.append(&edited)?;
        saver.replace(GameId(id), &edited)
    });
    let after = base.with(&plan.unwrap());
    assert!(after.text(id).contains("Newcomer, Zoe"));
    let mut now = shown(&after);
    for (other, was) in shown(base) {
        let is = now.remove(&other).unwrap();
        assert!(other == id || is == was, "game {other}: {is:?} {was:?}");
    }
    after
}

#[test]
fn a_game_with_a_missing_player_never_gets_a_new_one() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let count = u32::try_from(players(&base).len()).unwrap();
    // One that was deleted is used again first.
    let added = edit(&base, 1, |text| with_tag(&text, "White", "Newcomer, Ann"));
    let deleted = edit(&added, 1, |text| with_tag(&text, "White", "Newcomer, Bea"));
    for (base, lost) in [
        (&base, vec![count]),
        (&base, vec![count, count + 1, count + 3]),
        (&base, vec![(1 << 24) - 1]),
        (&deleted, vec![count]),
        (&deleted, vec![count, count + 2]),
    ] {
        let mut damaged = base.clone();
        for (game, lost) in (2_usize..).zip(&lost) {
            damaged = patched(&damaged, "cbh", 46 * game + 9, &lost.to_be_bytes()[1..]);
        }
        for name in ["White", "Black"] {
            let id = u32::try_from(lost.len()).unwrap() + 2;
            let after = ensure_no_other_is_recast(&damaged, id, name);
            // Nor later, when what was found out is not known any more.
            let later = edit_as(&after, id, |text| with_tag(&text, "White", "Newcomer, Dan")).0;
            for game in 2..id {
                assert_eq!(shown(&later)[&game], shown(&after)[&game], "{lost:?}");
            }
        }
    }
}

#[test]
fn a_game_with_a_missing_team_never_gets_a_new_one() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let teams = |base: &Base| {
        let texts = shown(base).into_values();
        texts.filter(|(text, _)| text.contains("Team \"")).count()
    };
    let base = edit(&base, 1, |text| with_tag(&text, "WhiteTeam", "One"));
    let base = edit(&base, 2, |text| with_tag(&text, "BlackTeam", "Two"));
    assert!(teams(&base) > 1);
    base.directory.remove(OsStr::new("sample.cbe")).unwrap();
    assert_eq!(teams(&base), 0);
    // The file may come back, so none is made in its place.
    for id in [1, 3] {
        for name in ["WhiteTeam", "CbhTag"] {
            let edited = decoded(&with_tag(&base.text(id), name, "Newcomers"));
            let refused = base.plan(|saver| saver.replace(GameId(id), &edited));
            if name == "CbhTag" {
                refused.unwrap();
                continue;
            }
            let error = refused.unwrap_err().to_string();
            assert_eq!(
                error,
                "WhiteTeam or BlackTeam: there is no place for Newcomers: games have teams, but \
                 .cbe, which had them, is missing"
            );
        }
        ensure_no_other_is_recast(&base, id, "White");
    }
}

#[test]
fn shared_entities_stay_despite_a_wrong_count() {
    let base = Base::fixture("cbh/namesakes/namesakes.cbh");
    let texts = base.texts();
    let event = |id: u32| parts(&texts[&id].1).0.lines().take(2).collect::<String>();
    let is_shared = |id: &&u32| {
        let mut others = texts.keys().filter(|other| other != id);
        others.any(|other| event(*other) == event(**id))
    };
    let id = *texts.keys().find(is_shared).unwrap();
    let file = base.directory.files()[OsStr::new("namesakes.cbh")].clone();
    let tournament = usize::try_from(number(&file, 46 * id as usize + 15, 3)).unwrap();
    let damaged = patched(&base, "cbt", 32 + 99 * tournament + 91, &[1, 0, 0, 0]);
    let (after, plan) = edit_as(&damaged, id, |text| with_tag(&text, "EventRounds", "77"));
    assert_eq!(plan.kept[0].field, "EventRounds");
    assert_eq!(shown(&after), shown(&damaged));
}

/// A reproducible stream of numbers (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Makes a save to a base that a store shows; whether it was made.
type Save = Box<dyn Fn(&Base, &Store) -> bool>;

fn planned(plan: Result<Plan, SaveError>) -> Save {
    let plan = plan.unwrap();
    Box::new(move |_, store| store.commit(&plan.transaction).is_ok())
}

/// Imports games, of which so many are held in memory.
fn import(base: &Base, store: &Store, games: &[Game], held: usize) -> Result<(), ChangeError> {
    let database = base.database(store);
    let mut importer = Importer::new(&database, store, now()).holding(held);
    for game in games {
        importer.append(&PreparedGame::new(game.clone())?)?;
    }
    importer.commit().map(drop)
}

/// One save of each kind, by name.
fn kinds_of_saves(base: &Base) -> Vec<(&'static str, Save)> {
    let text = base.text(1);
    let replace = |text: String| {
        let edited = decoded(&text);
        planned(base.plan(|saver| saver.replace(GameId(1), &edited)))
    };
    let edits = edits();
    let edits = edits
        .iter()
        .map(|(what, change)| (*what, replace(change(&text))));
    let mut saves: Vec<_> = edits.collect();
    let games = new_games(&base.texts());
    let append = base.plan(|saver| {
        games
            .iter()
            .try_for_each(|game| saver.append(game).map(drop))
    });
    saves.push(("append", planned(append)));
    for (what, held) in [("import", usize::MAX), ("import of many", 1)] {
        let games = games.clone();
        let imported = move |base: &Base, store: &Store| import(base, store, &games, held).is_ok();
        saves.push((what, Box::new(imported)));
    }
    let is_deleted = base.texts()[&1].0;
    let flag = base.plan(|saver| saver.set_deleted(GameId(1), !is_deleted));
    saves.push(("delete", planned(flag)));
    let name = PlayerName {
        last: "Zzz".to_owned(),
        first: "Renamed".to_owned(),
    };
    let rename = base.plan(|saver| saver.rename_entity(EntityId(0), &Entity::Player(name)));
    saves.push(("rename", planned(rename)));
    saves
}

/// Bases in which saves concern other files: of today and old ones, one with
/// a deleted game, one of which optional files are missing, one whose `.cbj`
/// is short.
fn kinds_of_bases() -> Vec<Base> {
    let sample = Base::fixture("cbh/sample/sample.cbh");
    let flag = sample.plan(|saver| saver.set_deleted(GameId(1), true));
    let deleted = sample.with(&flag.unwrap());
    let bare = Base {
        directory: MemoryDirectory::new(),
        cbh: sample.cbh.clone(),
    };
    for (name, bytes) in sample.directory.files() {
        let is_optional = ["cbj", "cbe", "cbl", "cbtt"]
            .map(|extension| OsString::from(format!("sample.{extension}")))
            .contains(&name);
        if !is_optional {
            bare.directory.put(name, bytes);
        }
    }
    let short = patched(&sample, "cbj", 8, &[4]);
    let name = OsStr::new("sample.cbj");
    let whole = short.directory.files()[name].clone();
    short.directory.put(name, &whole[..32 + 4 * 120]);
    let old = Base::fixture("cbh/oldheaders/oldheaders.cbh");
    vec![sample, old, deleted, bare, short]
}

fn try_to_open(base: &Base) -> Option<Store> {
    let opening = StoreOptions {
        journal: OsStr::new(JOURNAL),
        label: "",
        access: StoreAccess::ReadWrite,
        file_filter: FileFilter::new(|_| true),
    };
    Store::open(Arc::new(base.directory.clone()), &opening).ok()
}

/// A base amid or after a save in which an operation failed.
struct Failed {
    base: Base,
    /// Whether the save was said to be made, and all of it to be kept.
    is_made: bool,
    is_kept: bool,
}

/// Saves, and lets one operation fail; `None` if there are fewer.
fn failed_at(base: &Base, save: &Save, operation: u64, fault: SimulatedFailure) -> Option<Failed> {
    let base = Base {
        directory: base.directory.after_kill(),
        cbh: base.cbh.clone(),
    };
    base.directory.fail_at(operation, fault);
    let store = try_to_open(&base);
    let is_made = store.as_ref().is_some_and(|store| save(&base, store));
    let is_kept = store.is_some_and(|store| store.close().is_ok());
    (base.directory.operations() > operation).then_some(Failed {
        base,
        is_made,
        is_kept,
    })
}

fn files_of(base: &Base) -> BTreeMap<OsString, Vec<u8>> {
    let mut files = base.directory.files();
    files.remove(OsStr::new(JOURNAL));
    files
}

/// The files before and after a save.
fn states(base: &Base, save: &Save) -> [BTreeMap<OsString, Vec<u8>>; 2] {
    let after = Base {
        directory: base.directory.after_kill(),
        cbh: base.cbh.clone(),
    };
    let store = after.store();
    assert!(save(&after, &store));
    store.close().unwrap();
    [files_of(base), files_of(&after)]
}

/// What a power cut keeps of so many writes: every prefix, all but one, one
/// alone, and random parts.
fn parts_kept(count: usize, dice: &mut Dice) -> Vec<Vec<bool>> {
    let part = |keeps: &dyn Fn(usize) -> bool| (0..count).map(keeps).collect();
    let mut parts = Vec::new();
    for at in 0..=count {
        parts.push(part(&|other| other < at));
        parts.push(part(&|other| other != at));
        parts.push(part(&|other| other == at));
    }
    for _ in 0..20 {
        parts.push((0..count).map(|_| dice.roll().is_multiple_of(2)).collect());
    }
    parts
}

/// Which of the states a base has when it is opened again.
fn state_of(base: &Base, states: &[BTreeMap<OsString, Vec<u8>>; 2], what: &str) -> usize {
    base.store().close().unwrap();
    let files = files_of(base);
    let state = states.iter().position(|state| *state == files);
    state.unwrap_or_else(|| panic!("{what}: neither old nor new"))
}

/// The texts of the games that a reader finds who knows nothing of journals;
/// damaged ones too.
fn texts_without_journal(base: &Base) -> BTreeMap<u32, String> {
    let files = base.directory.files();
    let family = Family::among(&base.cbh, files.keys().cloned()).unwrap();
    let database = Database::open_with(family, &Options::default(), &|path| {
        let bytes = files[path.file_name().unwrap()].clone();
        Ok(Box::new(MemoryFile::from(bytes)) as Box<dyn Storage>)
    })
    .unwrap();
    let mut texts = BTreeMap::new();
    let mut decoded = Decoded::default();
    for id in 1..=database.last_id() {
        if database.read_game(GameId(id), &mut decoded).is_ok() {
            texts.insert(id, text_of(&decoded));
        }
    }
    texts
}

/// Whoever knows nothing of journals opens the base too, and finds all games
/// that were not edited as they were, or as they are.
fn ensure_others_untouched(after: &Base, texts: &[BTreeMap<u32, String>; 2], what: &str) {
    let found = texts_without_journal(after);
    for (id, old) in texts[0].iter().filter(|(id, _)| **id != 1) {
        let is = found.get(id);
        assert!(
            is == Some(old) || is == texts[1].get(id),
            "{what}: game {id}: {is:?} {old:?}"
        );
    }
}

/// Cuts the power at each operation of a save: the base is as before the save
/// or as after.
fn ensure_whole_after_cuts(base: &Base, what: &str, save: &Save) {
    let states = states(base, save);
    let texts = states.each_ref().map(|files| {
        let directory = MemoryDirectory::new();
        for (name, bytes) in files {
            directory.put(name, bytes.clone());
        }
        let cbh = base.cbh.clone();
        texts_without_journal(&Base { directory, cbh })
    });
    let fault = SimulatedFailure {
        errno: libc::EIO,
        writes_half: true,
        lasts: true,
    };
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut operation, mut outcomes) = (0, BTreeSet::new());
    while let Some(failed) = failed_at(base, save, operation, fault) {
        let directory = &failed.base.directory;
        for kept in parts_kept(directory.unsynced(), &mut dice) {
            let after = Base {
                directory: directory.after_power_cut(|at| kept[at]),
                cbh: base.cbh.clone(),
            };
            ensure_others_untouched(
                &after,
                &texts,
                &format!("{what} {} at {operation}", base.cbh.display()),
            );
            let state = state_of(&after, &states, what);
            assert!(state == 1 || !failed.is_kept, "{what}: lost at {operation}");
            outcomes.insert(state);
        }
        operation += 1;
    }
    assert!(operation > 10, "{what}: {operation} operations");
    let amid = "the power never went amid the save";
    assert_eq!(outcomes.len(), 2, "{what}: {amid}");
}

/// Lets each operation of a save fail, for once: it was made or not, as was
/// said.
fn ensure_whole_after_failures(base: &Base, what: &str, save: &Save) {
    let states = states(base, save);
    for fault in SimulatedFailure::PASSING {
        let mut operation = 0;
        while let Some(failed) = failed_at(base, save, operation, fault) {
            let after = Base {
                directory: failed.base.directory.after_kill(),
                cbh: base.cbh.clone(),
            };
            let is_new = state_of(&after, &states, what) == 1;
            assert_eq!(is_new, failed.is_made, "{what}: at {operation}");
            operation += 1;
        }
        assert!(operation > 10, "{what}: {operation} operations");
    }
}

#[test]
fn a_power_cut_leaves_the_old_game_or_the_new_one() {
    for base in kinds_of_bases() {
        let known = base.defects();
        for (what, save) in kinds_of_saves(&base) {
            ensure_whole_after_cuts(&base, what, &save);
            let after = Base {
                directory: base.directory.after_kill(),
                cbh: base.cbh.clone(),
            };
            let store = after.store();
            assert!(save(&after, &store));
            store.close().unwrap();
            let new = after
                .defects()
                .into_iter()
                .filter(|defect| !known.contains(defect));
            assert_eq!(new.collect::<Vec<_>>(), [""; 0], "{what}");
        }
    }
}

#[test]
fn a_failed_write_leaves_the_old_or_the_new_game_as_reported() {
    for base in kinds_of_bases() {
        for (what, save) in kinds_of_saves(&base) {
            ensure_whole_after_failures(&base, what, &save);
        }
    }
}

#[test]
fn games_in_large_bases_are_saved() {
    for path in real_bases() {
        if fs::metadata(&path).unwrap().len() < 20_000 {
            continue;
        }
        let base = Base::copy(&path);
        let mut texts = base.texts();
        let ids: Vec<u32> = texts.keys().copied().collect();
        let begin = std::time::Instant::now();
        let mut games = Vec::new();
        let plan = base.plan(|saver| {
            for id in ids.iter().step_by(20) {
                let text = with_tag(&texts[id].1, "White", &format!("Newcomer {id}"));
                let text = with_tag(&commented(&text), "Event", &format!("Event {id}"));
                games.push((*id, decoded(&text)));
                saver.replace(GameId(*id), &games.last().unwrap().1)?;
            }
            for id in ids.iter().step_by(10) {
                let game = decoded(&texts[id].1);
                games.push((saver.append(&game)?.0, game));
            }
            Ok(())
        });
        let plan = plan.unwrap();
        println!(
            "{}: {} saves in {:?}",
            base.cbh.display(),
            games.len(),
            begin.elapsed()
        );
        assert!(plan.unfit.is_empty(), "{:?}", plan.unfit);
        let after = base.with(&plan);
        for (id, game) in games {
            let is_deleted = texts.get(&id).is_some_and(|text| text.0);
            texts.insert(id, (is_deleted, encoded(&game)));
        }
        if plan.kept.is_empty() {
            ensure_sound(&base, &after, &texts);
        }
    }
}

fn number(bytes: &[u8], at: usize, count: usize) -> u64 {
    bytes[at..at + count]
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[test]
fn replaced_bytes_are_counted_as_wasted() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let file = |base: &Base, extension: &str| {
        let name = format!("sample.{extension}");
        base.directory.files()[OsStr::new(&name)].clone()
    };
    let old = edit(&base, 1, |text| commented(&text));
    let moved = edit(&old, 1, |text| {
        with_moves(&text, "1. e4 {One} e5")
            .replace("[FEN", "[OldFen")
            .replace("[SetUp", "[OldSetUp")
    });
    for (extension, at) in [("cbg", 1), ("cba", 5)] {
        let (before, after) = (file(&old, extension), file(&moved, extension));
        let offset = usize::try_from(number(&file(&old, "cbh"), 46 + at, 4)).unwrap();
        let size = if extension == "cbg" {
            number(&before, offset + 1, 3)
        } else {
            number(&before, offset + 10, 4)
        };
        assert_eq!(
            number(&after, 6, 4),
            number(&before, 6, 4) + size,
            "{extension}"
        );
        assert_eq!(number(&after, 18, 8), number(&after, 6, 4));
        assert_eq!(number(&after, 2, 4), after.len() as u64);
        // What was there is there still.
        assert_eq!(after[26..before.len()], before[26..]);
        let moved_to = number(&file(&moved, "cbh"), 46 + at, 4);
        assert_eq!(moved_to, before.len() as u64);
    }
}

#[test]
fn saves_are_counted_and_stamped_and_creation_stamps_are_unique() {
    let base = Base::fixture("cbh/sample/sample.cbh");
    let record = |base: &Base, id: u32| {
        let file = base.directory.files()[OsStr::new("sample.cbj")].clone();
        file[32 + 120 * (id as usize - 1)..][..120].to_vec()
    };
    let after = edit(&base, 1, |text| with_tag(&text, "WhiteElo", "2811"));
    let (before, saved) = (record(&base, 1), record(&after, 1));
    assert_eq!(number(&saved, 78, 2), number(&before, 78, 2) + 1);
    assert_eq!(saved[80..88], before[80..88], "the stamp of creation");
    assert_ne!(number(&saved, 108, 8), number(&before, 108, 8));
    assert_eq!(saved[20..30], [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe]);
    let mut ids = Vec::new();
    let game = decoded(&base.text(1));
    let plan = base.plan(|saver| {
        for _ in 0..3 {
            ids.push(saver.append(&game)?.0);
        }
        Ok(())
    });
    let after = base.with(&plan.unwrap());
    let created: BTreeSet<u64> = (1..=*ids.last().unwrap())
        .map(|id| number(&record(&after, id), 80, 8))
        .collect();
    assert!(
        ids.iter()
            .all(|id| number(&record(&after, *id), 78, 2) == 1)
    );
    assert!(
        ids.iter()
            .all(|id| number(&record(&after, *id), 108, 8) == 0)
    );
    let known: BTreeSet<u64> = (1..ids[0])
        .map(|id| number(&record(&base, id), 80, 8))
        .collect();
    assert_eq!(created.len(), known.len() + 3);
}
