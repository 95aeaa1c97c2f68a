//! Names of players, tournaments and other entities: different names stay
//! different, and each is read as it was written, whatever its characters.

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

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cbfs::cbh::{
    CodePage, Database, Decoded, Entity, EntityEditor, EntityId, EntityKind, FileKind, GameId,
    Importer, NameForm, OpenBase, Options, PreparedGame, Saver,
};
use cbfs::game::{Game, PlayerName, Source, Team};
use cbfs::storage::MemoryFile;
use proptest::prelude::*;

use common::command::{cbfs, copy_of, defects_of, said, succeeds};
use common::daemon::{Daemon, errno, save, with_tag};
use common::{fixture, games_of, has_fuse, shared};

/// Last names of players in many scripts; `e` and its accent in one character
/// and in two.
const LAST: [&str; 14] = [
    "Иванчук",
    "Андреев",
    "Świercz",
    "Łukasz",
    "Müller",
    "Παπαϊώνου",
    "丁立人",
    "İpatoğlu",
    "Sébag",
    "Se\u{301}bag",
    "😀😃",
    "ÀÁÂÃ",
    "¿Quién?",
    "Ã¼",
];

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn text_path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn game(white: &str, black: &str) -> String {
    format!(
        "[Event \"?\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"?\"]\n\
         [White \"{white}\"]\n[Black \"{black}\"]\n[Result \"*\"]\n[PlyCount \"0\"]\n\n*\n\n"
    )
}

/// Imports a text, with these arguments.
fn import(base: &Path, text: &str, arguments: &[&str]) -> String {
    let pgn = tempfile::NamedTempFile::new().unwrap();
    fs::write(pgn.path(), text).unwrap();
    let command = ["import", text_path(base), text_path(pgn.path())];
    let output = cbfs(&[&command[..], arguments].concat());
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

fn entity_names(base: &Path, kind: EntityKind) -> Vec<String> {
    let database = Database::open(base, &Options::default()).unwrap();
    let names = database.entity_names(kind).unwrap();
    names.iter().map(|(_, name)| name.to_owned()).collect()
}

/// The strings that the records of players begin with.
fn stored_last_names(base: &Path) -> BTreeSet<Vec<u8>> {
    let bytes = fs::read(base.with_extension("cbp")).unwrap();
    let begin = 28 + usize::from(bytes[24]);
    let records = bytes[begin..].chunks_exact(67);
    let name = |record: &[u8]| {
        record[9..39]
            .split(|byte| *byte == 0)
            .next()
            .unwrap()
            .to_vec()
    };
    records.map(name).collect()
}

fn sample(path: &str) -> (tempfile::TempDir, PathBuf) {
    let base = fixture(path);
    let copy = copy_of(&base);
    let at = copy.path().join(base.file_name().unwrap());
    (copy, at)
}

#[test]
fn names_beyond_the_code_page_stay_different_players() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new.cbh");
    let mut bases = vec![(None, new, vec!["--create"])];
    let linares = shared().map(|shared| shared.join("bases/linares/linares.cbh"));
    let fixtures = ["names-1251", "names-1252", "names-utf8", "sample"];
    let fixtures = fixtures.map(|name| fixture(&format!("cbh/{name}/{name}.cbh")));
    for base in linares.into_iter().chain(fixtures) {
        let copy = copy_of(&base);
        let at = copy.path().join(base.file_name().unwrap());
        bases.push((Some(copy), at, vec![]));
    }
    let text: Vec<String> = (LAST.iter())
        .map(|last| game(&format!("{last}, A"), &format!("X, {last}")))
        .collect();
    for (_copy, base, arguments) in bases {
        let before = if arguments.is_empty() {
            games_of(&base)
        } else {
            BTreeMap::new()
        };
        let sound = if arguments.is_empty() {
            defects_of(&base)
        } else {
            vec![]
        };
        import(&base, &text.concat(), &arguments);
        // A second time, in a process that tells the page anew.
        import(&base, &text.concat(), &[]);
        let games = games_of(&base);
        assert_eq!(games.len(), before.len() + 2 * LAST.len());
        for (id, game) in &before {
            assert_eq!(games.get(id), Some(game), "{base:?}");
        }
        let wanted = text.iter().chain(&text);
        for (found, wanted) in games.values().skip(before.len()).zip(wanted) {
            assert_eq!(found.1.trim_end(), wanted.trim_end(), "{base:?}");
        }
        let players = entity_names(&base, EntityKind::Player);
        for last in LAST {
            for name in [format!("{last}, A"), format!("X, {last}")] {
                let same = players.iter().filter(|player| **player == name);
                assert_eq!(same.count(), 1, "{base:?}: {name}");
            }
        }
        // What was damaged may be mended on the way.
        let mut left = defects_of(&base);
        left.retain(|defect| !sound.contains(defect));
        assert_eq!(left, [""; 0], "{base:?}");
    }
}

#[test]
fn a_new_name_uses_the_encoding_of_its_file() {
    let names = ["Meißner", "Łukasz", "ÀÁÂÃ", "¿Quién?", "Ã¼"];
    let text: String = names.iter().map(|name| game(name, "?")).collect();
    for (path, page) in [
        ("cbh/names-1252/names-1252.cbh", &["Meißner"][..]),
        ("cbh/names-utf8/names-utf8.cbh", &[]),
        ("cbh/names-1251/names-1251.cbh", &[]),
        ("cbh/headers/headers.cbh", &["Meißner"]),
    ] {
        let (_copy, base) = sample(path);
        import(&base, &text, &[]);
        let stored = stored_last_names(&base);
        for name in names {
            let bytes = if page.contains(&name) {
                let bytes: Result<Vec<u8>, _> =
                    name.chars().map(|c| u8::try_from(u32::from(c))).collect();
                bytes.unwrap()
            } else {
                name.as_bytes().to_vec()
            };
            assert!(stored.contains(&bytes), "{path}: {name}");
        }
    }
    let (_copy, base) = sample("cbh/names-1251/names-1251.cbh");
    import(&base, &game("Сидоров", "Ли"), &[]);
    let stored = stored_last_names(&base);
    assert!(stored.contains(&b"\xd1\xe8\xe4\xee\xf0\xee\xe2"[..]));
    assert!(stored.contains(&b"\xcb\xe8"[..]));
}

#[test]
fn a_base_created_by_import_has_utf_8_names() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    import(&base, &game("Carlsen, M", "Nepo, I"), &["--create"]);
    import(&base, &game("Müller", "Sébag"), &[]);
    let again = folder.path().join("tidy.cbh");
    succeeds(&["compact", text_path(&base), text_path(&again)]);
    import(&again, &game("Jäger", "Łukasz"), &[]);
    let stored = stored_last_names(&again);
    for name in ["Müller", "Sébag", "Jäger", "Łukasz"] {
        assert!(stored.contains(name.as_bytes()), "{name}");
    }
    assert_eq!(defects_of(&again), [""; 0]);
}

#[test]
fn a_name_too_long_for_its_field_is_truncated_kept_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let long = |tail: &str| format!("{}{tail}", "Длинный".repeat(5));
    let (one, other) = (long("один"), long("два"));
    let tags = [
        ("Event", "é".repeat(150)),
        ("Site", "界".repeat(100)),
        ("White", one.clone()),
        ("Black", format!("{other}, {}", "я".repeat(30))),
        ("Annotator", "Ж".repeat(60)),
        ("SourceTitle", "ü".repeat(40)),
        ("WhiteTeam", "名".repeat(30)),
        ("BlackTeam", "x".repeat(300)),
    ];
    let text: String = tags.iter().fold(game("?", "?"), |text, (name, value)| {
        with_tag(&text, name, value)
    });
    let told = import(&base, &text, &["--create"]);
    let games = games_of(&base);
    for (name, value) in &tags {
        let line = format!("[{name} \"{value}\"]");
        assert!(games[&1].1.contains(&line), "{line}\n{}", games[&1].1);
    }
    // One name of each kind is told, by its tag and at its place.
    for (at, what) in [
        (0, "8:9: an Event"),
        (1, "7:8: a Site"),
        (2, "6:9: a last name"),
        (3, "5:9: a first name"),
        (4, ": an Annotator"),
        (5, ": a SourceTitle"),
        (6, ": a team"),
    ] {
        let (name, value) = &tags[at];
        let value = value.rsplit(", ").next().unwrap_or_default();
        // A message shows the beginning of a long one.
        let value: String = value.chars().take(120).collect();
        let line = told.lines().find(|line| line.contains(what));
        let line = line.unwrap_or_else(|| panic!("{what}: {told}"));
        assert!(line.contains(&value), "{name}: {line}");
    }
    assert_eq!(told.matches("(1 game)").count(), 7, "{told}");
    assert!(
        !entity_names(&base, EntityKind::Player)
            .concat()
            .contains('\u{fffd}')
    );
    // Those that differ beyond the field are one, which is told.
    let told = import(&base, &game(&other, "?"), &[]);
    assert!(told.contains(&other), "{told}");
    let players = entity_names(&base, EntityKind::Player);
    assert_eq!(
        players
            .iter()
            .filter(|name| **name == "Длинный".repeat(2))
            .count(),
        1,
        "{players:?}"
    );
    assert!(
        games_of(&base)[&2]
            .1
            .contains(&format!("[White \"{other}\"]"))
    );
    assert_eq!(defects_of(&base), [""; 0]);
    assert_unchanged_when_saved_again(&base);
}

/// Saving what is read changes no byte.
fn assert_unchanged_when_saved_again(base: &Path) {
    let open = OpenBase::to_change(base, &Options::default(), "a test").unwrap();
    let database = &open.database;
    for id in 1..=database.last_id() {
        let mut decoded = Decoded::default();
        database.read_game(GameId(id), &mut decoded).unwrap();
        let text = common::text_of(&decoded);
        let again = cbfs::pgn::decode(text.as_bytes()).unwrap();
        let mut saver = Saver::new(database, now());
        saver.replace(GameId(id), &again).unwrap();
        let plan = saver.finish().unwrap();
        assert!(plan.transaction.is_empty(), "game {id}\n{text}");
    }
    open.store.close().unwrap();
}

/// A part of a name of at most so many bytes of UTF-8.
fn a_name(most: usize) -> impl Strategy<Value = String> {
    let script = prop_oneof![
        Just('a'..='d'),
        Just('à'..='ý'),
        Just('¢'..='¿'),
        Just('Ą'..='ž'),
        Just('а'..='я'),
        Just('Ё'..='Я'),
        Just('α'..='ω'),
        Just('一'..='丞'),
        Just('\u{300}'..='\u{304}'),
        Just('😀'..='😄'),
        Just('?'..='?'),
    ];
    let character = script.prop_flat_map(|range| {
        (u32::from(*range.start())..=u32::from(*range.end()))
            .prop_filter_map("a character", char::from_u32)
    });
    proptest::collection::vec(character, 0..9).prop_map(move |characters| {
        let mut name = "N".to_owned();
        for c in characters {
            if name.len() + c.len_utf8() <= most {
                name.push(c);
            }
        }
        name
    })
}

fn a_page() -> impl Strategy<Value = CodePage> {
    let labels = ["1250", "1251", "1252", "1253", "koi8-r"];
    proptest::sample::select(labels.to_vec()).prop_map(|label| CodePage::from_label(label).unwrap())
}

fn player((last, first): &(String, String)) -> Entity {
    Entity::Player(PlayerName {
        last: last.clone(),
        first: first.clone(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn two_names_are_two_entities_and_each_is_found_and_read(
        names in proptest::collection::btree_set((a_name(29), a_name(19)), 1..20),
        page in a_page(),
        is_utf8: bool,
    ) {
        let header = [0, 0, 1_234_567_890, 58, -1, 0, 4, 0];
        let bytes: Vec<u8> = header.into_iter().flat_map(i32::to_le_bytes).collect();
        let file = MemoryFile::from(bytes);
        let mut editor = EntityEditor::open(FileKind::Players, &file).unwrap();
        for (id, name) in (0..).zip(&names) {
            // Old and new programs wrote it.
            let form = NameForm { page, is_utf8: is_utf8 ^ (id % 3 == 0) };
            prop_assert_eq!(editor.find_entity(&player(name), form).unwrap(), None);
            let encoded = player(name).encode(None, form).unwrap();
            prop_assert_eq!(&encoded.unfit, &[]);
            prop_assert_eq!(editor.insert(&encoded.data).unwrap(), EntityId(id));
        }
        for (id, name) in (0..).zip(&names) {
            for is_utf8 in [false, true] {
                let found = editor.find_entity(&player(name), NameForm { page, is_utf8 });
                prop_assert_eq!(found.unwrap(), Some(EntityId(id)));
            }
            let data = editor.data(EntityId(id)).unwrap();
            let Entity::Player(read) = Entity::decode(FileKind::Players, data, page).unwrap() else {
                panic!("a player was stored");
            };
            prop_assert_eq!(&(read.last, read.first), name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn all_names_of_a_game_are_preserved_across_processes(
        games in proptest::collection::vec(
            (a_name(29), a_name(19), a_name(39), a_name(24), a_name(44), a_name(199)), 1..12),
        base in proptest::sample::select(vec!["names-1251", "names-1252", "names-utf8", "headers"]),
    ) {
        let (_copy, base) = sample(&format!("cbh/{base}/{base}.cbh"));
        let games: Vec<Game> = games.into_iter().map(game_of).collect();
        let open = OpenBase::to_change(&base, &Options::default(), "a test").unwrap();
        let before = games_of(&base);
        let last = open.database.last_id();
        let mut importer = Importer::new(&open.database, &open.store, now());
        for game in &games {
            let appended = importer.append(&PreparedGame::new(game.clone()).unwrap()).unwrap();
            prop_assert_eq!(appended.unfit, vec![]);
        }
        importer.commit().unwrap();
        open.store.close().unwrap();
        let database = Database::open(&base, &Options::default()).unwrap();
        for (id, game) in (last + 1..).zip(&games) {
            let mut decoded = Decoded::default();
            database.read_game(GameId(id), &mut decoded).unwrap();
            let mut wanted = Vec::new();
            cbfs::pgn::encode(game, &[], &mut wanted);
            prop_assert_eq!(common::text_of(&decoded), String::from_utf8(wanted).unwrap());
        }
        let after = games_of(&base);
        for (id, game) in before {
            prop_assert_eq!(&after[&id], &game);
        }
    }
}

fn game_of(
    (last, first, title, source, team, label): (String, String, String, String, String, String),
) -> Game {
    let mut game = Game::default();
    let headers = &mut game.headers;
    headers.white = PlayerName { last, first };
    headers.tournament.title.clone_from(&title);
    headers.annotator = title;
    headers.source = Source {
        title: source,
        ..Source::default()
    };
    headers.white_team = Team {
        is_given: true,
        title: team,
        ..Team::default()
    };
    headers.tag.titles[0] = label;
    game
}

fn listed(daemon: &Daemon, directory: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(daemon.at(directory)).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn names_beyond_the_code_page_can_be_saved_and_renamed_in_a_mount() {
    if !has_fuse() {
        return;
    }
    let mut daemon = Daemon::of_fixture("cbh/names-1252/names-1252.cbh");
    let first = fs::read_dir(daemon.at("games")).unwrap().next().unwrap();
    let number: u32 = first.unwrap().file_name().to_str().unwrap()[..6]
        .parse()
        .unwrap();
    let mut wanted = BTreeSet::new();
    for last in LAST {
        save(&daemon.at("games/new.pgn"), &game(last, "Иванчук, Василий")).unwrap();
        fs::remove_file(daemon.at("games/new.pgn")).ok();
        save(
            &daemon.at("import/in.pgn"),
            &game(&format!("{last}, B"), "?"),
        )
        .unwrap();
        fs::remove_file(daemon.at("import/in.pgn")).ok();
        wanted.insert(format!("{last}, B"));
    }
    let edited = with_tag(&daemon.text(number), "White", "Андреев, Дмитрий");
    save(&daemon.game(number), &edited).unwrap();
    wanted.insert("Андреев, Дмитрий".to_owned());
    fs::rename(
        daemon.at("players/Иванчук, B"),
        daemon.at("players/Łukasz, Ż"),
    )
    .unwrap();
    wanted.remove("Иванчук, B");
    wanted.insert("Łukasz, Ż".to_owned());
    // Composed, two of them would be one: such names are told by their ids.
    wanted.retain(|name| !name.starts_with('S'));
    for _ in 0..2 {
        let players = listed(&daemon, "players");
        let missing: Vec<_> = wanted.difference(&players).collect();
        assert!(missing.is_empty(), "{missing:?} of {players:?}");
        let text = daemon.text(number);
        assert!(text.contains("[White \"Андреев, Дмитрий\"]"), "{text}");
        daemon.restart();
    }
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn a_tournament_is_renamed_exactly_or_not_at_all() {
    if !has_fuse() {
        return;
    }
    let mut daemon = Daemon::of_fixture("cbh/sample/sample.cbh");
    for (event, site, date) in [
        ("Open Group 3", "?", ""),
        ("Cup 23", "?", ""),
        ("Linares", "Linares", "1999.02.20"),
        ("Cup (Men)", "Graz (Austria)", "2001.??.??"),
        ("Match (A) 12", "?", ""),
    ] {
        let mut text = with_tag(&with_tag(&game("A", "B"), "Event", event), "Site", site);
        if !date.is_empty() {
            text = with_tag(&text, "EventDate", date);
        }
        save(&daemon.at("import/in.pgn"), &text).unwrap();
        fs::remove_file(daemon.at("import/in.pgn")).ok();
    }
    let at = |daemon: &Daemon, name: &str| daemon.at("tournaments").join(name);
    for (from, to) in [
        ("Open Group 3", "Open Group 4"),
        ("Cup 23", "Cup 24"),
        ("Cup 24", "Cup 1999"),
        ("Cup 1999", "Cup 23"),
        ("Linares (Linares) 1999", "Linares 2 (Linares) 1999"),
        ("Linares 2 (Linares) 1999", "Linares (Jaén) 2000"),
        (
            "Cup (Men) (Graz (Austria)) 2001",
            "Cup (Women) (Graz (Austria)) 2001",
        ),
        ("Match (A) 12", "Match (Б) 13"),
    ] {
        let games = listed(&daemon, &format!("tournaments/{from}"));
        fs::rename(at(&daemon, from), at(&daemon, to))
            .unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
        assert!(listed(&daemon, "tournaments").contains(to), "{to}");
        assert!(!at(&daemon, from).exists(), "{from}");
        assert_eq!(listed(&daemon, &format!("tournaments/{to}")), games, "{to}");
    }
    let before = listed(&daemon, "tournaments");
    for (from, to) in [
        ("Linares (Jaén) 2000", "Linares"),
        ("Linares (Jaén) 2000", "Linares(Jaén) 2000"),
        ("Linares (Jaén) 2000", "Linares (Jaén) 20"),
        ("Cup 23", "Cup  ~4"),
        ("Cup 23", "Cup 23 "),
        ("Cup 23", "Cu\u{308}p"),
    ] {
        let renamed = fs::rename(at(&daemon, from), at(&daemon, to));
        assert_eq!(errno(renamed), Some(libc::EPERM), "{to}");
        assert!(
            daemon.log().contains(&format!("{from} is not renamed: ")),
            "{to}"
        );
    }
    daemon.restart();
    assert_eq!(listed(&daemon, "tournaments"), before);
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn a_file_name_longer_than_255_bytes_is_refused_everywhere() {
    if !has_fuse() {
        return;
    }
    let mut daemon = Daemon::of_fixture("cbh/sample/sample.cbh");
    let long = "ж".repeat(128); // 256 bytes
    let too_long = Some(libc::ENAMETOOLONG);
    let file = daemon.game(1);
    for directory in [
        "",
        "games",
        "players",
        "tournaments",
        "import",
        "deleted",
        "eco",
        "years",
        "pgn",
        "texts",
        ".cbfs",
    ] {
        let path = daemon.at(directory).join(&long);
        assert_eq!(errno(fs::metadata(&path)), too_long, "{directory}");
        assert_eq!(errno(fs::write(&path, "x")), too_long, "{directory}");
        assert_eq!(errno(fs::create_dir(&path)), too_long, "{directory}");
        assert_eq!(errno(fs::remove_file(&path)), too_long, "{directory}");
        assert_eq!(errno(fs::hard_link(&file, &path)), too_long, "{directory}");
        assert_eq!(
            errno(std::os::unix::fs::symlink(&file, &path)),
            too_long,
            "{directory}"
        );
        assert_eq!(errno(fs::rename(&file, &path)), too_long, "{directory}");
    }
    let most = "ж".repeat(127);
    assert_eq!(
        errno(fs::metadata(daemon.at("players").join(&most))),
        Some(libc::ENOENT)
    );
    fs::write(daemon.at("import").join(format!(".{most}")), "x").unwrap();
    daemon.end();
}
