//! The behaviour of a `Vfs`, including what cannot be seen through a kernel.

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
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use cbfs::cbh::{Database, GameId, Options as DatabaseOptions, RecordKind};
use cbfs::vfs::{Attr, DatabaseVolume, DirEntry, Error, Ino, Options, Shown, Vfs};
use common::behaviours::{BEHAVIOURS, Tree};
use common::groups::{self, GROUP_BEHAVIOURS};
use common::texts::TEXT_BEHAVIOURS;
use common::trees::Direct;
use common::volume::{GAMES, LAST, Shared, TestVolume, text_of};

fn test_vfs(options: &Options) -> (Vfs, Arc<Shared>) {
    let volume = TestVolume::default();
    let shared = Arc::clone(&volume.0);
    (Vfs::new(Box::new(volume), options), shared)
}

#[test]
fn it_behaves() {
    let tree = Direct(test_vfs(&Options::default()).0);
    for (name, behaviour) in BEHAVIOURS {
        println!("{name}");
        behaviour(&tree);
    }
}

#[test]
fn a_volume_behaves_without_a_cache() {
    let options = Options {
        cache_bytes: 0,
        ..Options::default()
    };
    let tree = Direct(test_vfs(&options).0);
    for (name, behaviour) in BEHAVIOURS {
        println!("{name}");
        behaviour(&tree);
    }
}

#[test]
fn it_shows_texts() {
    for cache_bytes in [0, 1 << 20] {
        let options = Options {
            cache_bytes,
            ..Options::default()
        };
        let tree = Direct(Vfs::new(Box::new(common::texts::volume()), &options));
        for (name, behaviour) in TEXT_BEHAVIOURS {
            println!("{name}");
            behaviour(&tree);
        }
    }
}

#[test]
fn groups_are_shown() {
    for cache_bytes in [0, 1 << 20] {
        let options = Options {
            cache_bytes,
            ..Options::default()
        };
        let tree = Direct(Vfs::new(Box::new(groups::volume()), &options));
        for (name, behaviour) in GROUP_BEHAVIOURS {
            println!("{name}");
            behaviour(&tree);
        }
    }
}

/// What `vfs` lists in `directory`, `room` entries at a time.
fn paged(vfs: &Vfs, directory: Ino, room: usize) -> Vec<(String, u64)> {
    let mut paged: Vec<(String, u64)> = Vec::new();
    loop {
        let after = paged.last().map_or(0, |(_, cookie)| *cookie);
        let before = paged.len();
        vfs.list(directory, after, &mut |entry| {
            let fits = paged.len() < before + room;
            if fits {
                paged.push((entry.name.to_owned(), entry.cookie));
            }
            fits
        })
        .unwrap();
        if paged.len() == before {
            return paged;
        }
    }
}

#[test]
fn listings_of_texts_continue_from_any_cookie() {
    let vfs = Vfs::new(Box::new(common::texts::volume()), &Options::default());
    for path in ["", "games", "deleted", "texts", "texts/media"] {
        let mut ino = Ino::ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            ino = vfs.lookup(ino, name.as_bytes()).unwrap().ino;
        }
        let all = paged(&vfs, ino, usize::MAX);
        assert!(all.is_sorted_by_key(|(_, cookie)| *cookie), "{path}");
        for room in [1, 2, 3] {
            assert_eq!(paged(&vfs, ino, room), all, "{path}");
        }
        vfs.list(ino, u64::MAX, &mut |_| panic!("beyond the end"))
            .unwrap();
    }
}

/// The `Vfs` of a base, with the options that are usual.
fn tree_of(path: &Path) -> Direct {
    let database = Database::open(path, &DatabaseOptions::default()).unwrap();
    let volume = DatabaseVolume::new(database, "");
    Direct(Vfs::new(Box::new(volume), &Options::default()))
}

fn names_in(tree: &Direct, directory: &str) -> Vec<String> {
    let listed = tree.list(directory).unwrap().into_iter();
    listed.map(|(name, _)| name).collect()
}

#[test]
fn the_root_of_a_large_base_is_told_before_all_records_were_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let mixed = common::fixture("2cbh/mixed/mixed.2cbh");
    let path = folder.path().join("many.2cbh");
    for extension in ["2cbg", "2cba", "2lid"] {
        let from = mixed.with_extension(extension);
        std::fs::copy(from, path.with_extension(extension)).unwrap();
    }
    // Its records again and again.
    let content = std::fs::read(&mixed).unwrap();
    let (header, records) = content.split_at(192);
    let times = 50_000 / (records.len() / 192) + 1;
    let mut many = header.to_vec();
    let next = u32::try_from(records.len() / 192 * times + 1).unwrap();
    many[16..20].copy_from_slice(&next.to_le_bytes());
    (0..times).for_each(|_| many.extend(records));
    std::fs::write(&path, many).unwrap();
    let [small, large] = [&mixed, &path].map(|path| {
        let database = cbfs::cbh2::Database::open(path, &DatabaseOptions::default()).unwrap();
        let volume = DatabaseVolume::new(database, "");
        Direct(Vfs::new(Box::new(volume), &Options::default()))
    });
    let links = |tree: &Direct| tree.attr("").unwrap().links;
    assert!(links(&small) > 10);
    assert_eq!(links(&large), 1);
    // To list it, the records are looked at.
    assert_eq!(names_in(&large, ""), names_in(&small, ""));
    assert_eq!(links(&large), links(&small));
}

#[test]
fn hidden_directories_are_not_there_and_do_not_count() {
    let mut hidden = Shown::default();
    for name in ["players", "years", "headers.tsv"] {
        hidden.hide(name).unwrap();
    }
    let path = common::fixture("cbh/sample/sample.cbh");
    let database = Database::open(&path, &DatabaseOptions::default()).unwrap();
    let volume = DatabaseVolume::new(database, "").showing(hidden);
    let [shown, all] = [
        Direct(Vfs::new(Box::new(volume), &Options::default())),
        tree_of(&path),
    ];
    let mut expected = names_in(&all, "");
    expected.retain(|name| !["players", "years", "headers.tsv"].contains(&name.as_str()));
    assert_eq!(names_in(&shown, ""), expected);
    for name in ["players", "years", "headers.tsv"] {
        assert!(all.attr(name).is_ok(), "{name}");
        assert_eq!(shown.attr(name).unwrap_err(), libc::ENOENT);
    }
    // Three links fewer: two players and a year; the root has two directories fewer.
    let links = |tree: &Direct, path: &str| tree.attr(path).unwrap().links;
    assert_eq!(
        links(&shown, "games/000001.pgn") + 3,
        links(&all, "games/000001.pgn")
    );
    assert_eq!(links(&shown, "") + 2, links(&all, ""));
    assert_eq!(
        shown.read("pgn/all.pgn").unwrap(),
        all.read("pgn/all.pgn").unwrap()
    );
}

#[test]
fn every_listing_continues_from_any_cookie_and_knows_its_parent() {
    let tree = Direct(Vfs::new(Box::new(groups::volume()), &Options::default()));
    let vfs = &tree.0;
    let (_, directories) = groups::walk(&tree);
    for (path, ino) in directories {
        let all = paged(vfs, Ino(ino), usize::MAX);
        let cookies: Vec<_> = all.iter().map(|(_, cookie)| *cookie).collect();
        assert!(
            cookies.is_sorted_by(|one, next| one < next),
            "{path}: {cookies:?}"
        );
        assert!(cookies.iter().skip(2).all(|cookie| *cookie >= 3), "{path}");
        for room in [1, 2, 3] {
            assert_eq!(paged(vfs, Ino(ino), room), all, "{path}");
        }
        vfs.list(Ino(ino), u64::MAX, &mut |_| panic!("beyond the end"))
            .unwrap();
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        let parent = vfs.lookup(Ino(ino), b"..").unwrap().ino;
        assert_eq!(parent, tree.attr(above).unwrap().ino, "{path}");
        let mut dots = Vec::new();
        vfs.list(Ino(ino), 0, &mut |entry| {
            dots.push(entry.node.ino);
            dots.len() < 2
        })
        .unwrap();
        assert_eq!(dots, [Ino(ino), parent], "{path}");
    }
}

#[test]
fn unlisted_directories_have_no_number() {
    let tree = Direct(Vfs::new(Box::new(groups::volume()), &Options::default()));
    // Gone, of a deleted game only; players and codes that are not there.
    for (kind, index) in [
        (2, 13),
        (2, 15),
        (2, u32::MAX),
        (3, 3),
        (7, 2),
        (7, 5),
        (8, 1),
        (8, 501),
        (9, 2000),
        (9, 4096),
        (28, 0),
    ] {
        let error = tree.0.attr(Ino::new(kind, index)).unwrap_err();
        assert_eq!(error.errno(), libc::ENOENT, "{kind} {index}");
        let listed = tree.0.list(Ino::new(kind, index), 0, &mut |_| true);
        assert!(listed.is_err(), "{kind} {index}");
    }
}

#[test]
fn a_missing_or_damaged_file_of_teams_leaves_their_directory_empty() {
    let directory = common::copy_of_base("cbh/namesakes");
    let teams = directory.path().join("namesakes.cbe");
    for damaged in [true, false] {
        if damaged {
            std::fs::write(&teams, "no teams").unwrap();
        } else {
            std::fs::remove_file(&teams).unwrap();
        }
        let tree = tree_of(&directory.path().join("namesakes.cbh"));
        assert_eq!(names_in(&tree, "teams"), [""; 0]);
        assert_eq!(names_in(&tree, "players/Lee").len(), 5);
        assert_eq!(tree.stat("games/000003.pgn").unwrap().links, 8);
        assert_eq!(groups::every_game_is_one_file(&tree), 11);
    }
}

#[test]
fn a_game_with_a_missing_player_keeps_its_path() {
    let directory = common::copy_of_base("cbh/namesakes");
    let headers = directory.path().join("namesakes.cbh");
    let mut bytes = std::fs::read(&headers).unwrap();
    // Game 5: White is number 1000, Black the highest there can be.
    bytes[46 * 5 + 9..46 * 5 + 15].copy_from_slice(&[0, 3, 0xe8, 0xff, 0xff, 0xff]);
    std::fs::write(&headers, bytes).unwrap();
    let players = directory.path().join("namesakes.cbp");
    let mut bytes = std::fs::read(&players).unwrap();
    // Li, number 1, is a deleted record.
    bytes[32 + 67..32 + 67 + 4].copy_from_slice(&(-999_i32).to_le_bytes());
    std::fs::write(&players, bytes).unwrap();
    let tree = tree_of(&headers);
    let players = names_in(&tree, "players");
    for gone in ["Li", "A／B", "．hidden"] {
        assert!(!players.contains(&gone.to_owned()), "{gone}");
        assert_eq!(tree.stat(&format!("players/{gone}")), Err(libc::ENOENT));
    }
    // games/, tournament, annotator, source, eco/E/E99, years/2001
    assert_eq!(tree.stat("games/000005.pgn").unwrap().links, 6);
    assert_eq!(tree.stat("eco/E/E99/000005.pgn").unwrap().links, 6);
    assert_eq!(groups::every_game_is_one_file(&tree), 11);
}

#[test]
fn names_in_another_code_page_are_file_names_in_utf_8() {
    let tree = tree_of(&common::fixture("cbh/names-1251/names-1251.cbh"));
    let players = names_in(&tree, "players");
    let expected = [
        "Ботвинник, Михаил",
        "Смыслов, Василий",
        "Петросян, Тигран",
        "Чигорин, Михаил",
    ];
    assert_eq!(players, expected);
    let botvinnik = names_in(&tree, "players/Ботвинник, Михаил");
    assert_eq!(botvinnik, ["000001.pgn", "000004.pgn"]);
    let tournaments = names_in(&tree, "tournaments");
    assert_eq!(tournaments, ["Москва (Москва) 1948"]);
}

#[test]
fn control_characters_in_names_are_ignored() {
    let directory = common::copy_of_base("cbh/namesakes");
    let players = directory.path().join("namesakes.cbp");
    let mut bytes = std::fs::read(&players).unwrap();
    // Li, number 1, and the second player without a name.
    for (id, name) in [(1, "\x07\n\x01\0"), (5, "\x1bLee\0")] {
        let at = 32 + 67 * id + 9;
        bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
    }
    std::fs::write(&players, bytes).unwrap();
    let tree = tree_of(&directory.path().join("namesakes.cbh"));
    let names = names_in(&tree, "players");
    assert_eq!(
        names[..6],
        [
            "Lee",
            "(none)",
            "Lee ~2",
            "Lee ~0 ~3",
            "(none) ~4",
            "Lee ~5"
        ]
    );
    assert_eq!(names_in(&tree, "players/Lee ~5"), ["000004.pgn"]);
    assert_eq!(groups::every_game_is_one_file(&tree), 11);
}

#[test]
fn a_base_without_games_has_empty_directories() {
    let directory = common::copy_of_base("cbh/namesakes");
    let headers = directory.path().join("namesakes.cbh");
    let mut bytes = std::fs::read(&headers).unwrap();
    bytes.truncate(46);
    bytes[6..10].copy_from_slice(&1_u32.to_be_bytes());
    std::fs::write(&headers, bytes).unwrap();
    let tree = tree_of(&headers);
    for directory in groups::DIRECTORIES {
        if !["texts", "pgn"].contains(&directory) {
            assert_eq!(names_in(&tree, directory), [""; 0], "{directory}");
        }
    }
}

/// Each player's directory has the games that the truth says he played, each
/// year's those of that year, and each opening's those with that code.
#[test]
fn groups_of_real_bases_are_the_known_ones() {
    let bases = common::bases_with_truth().into_iter();
    for (base, truth) in bases.chain(common::fixtures_with_truth()) {
        let tree = tree_of(&base);
        let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut games = 0;
        for line in std::fs::read_to_string(truth).unwrap().lines() {
            let game: serde_json::Value = serde_json::from_str(line).unwrap();
            let headers = &game["headers"];
            if game["deleted"] == true || !headers.is_object() {
                continue;
            }
            games += 1;
            let name = format!("{:06}.pgn", game["id"].as_u64().unwrap());
            let text = |key: &str| headers[key].as_str().unwrap();
            let year = match &text("Date")[..4] {
                "????" => "unknown",
                year => year,
            };
            let code = headers["eco"].as_u64().unwrap() >> 7;
            let eco = match code {
                1..=500 => {
                    let letter = ["A", "B", "C", "D", "E"][(code as usize - 1) / 100];
                    format!("eco/{letter}/{letter}{:02}", (code - 1) % 100)
                }
                _ => "eco/none".to_owned(),
            };
            for directory in [format!("years/{year}"), eco] {
                expected.entry(directory).or_default().insert(name.clone());
            }
            for side in ["White", "Black"] {
                let directory = format!("player {}", shown_player(text(side)));
                expected.entry(directory).or_default().insert(name.clone());
            }
        }
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let (files, _) = groups::walk(&tree);
        for (path, _) in files {
            let Some((directory, name)) = path.rsplit_once('/') else {
                continue;
            };
            // Players of one name are one in the truth.
            let directory = match directory.strip_prefix("players/") {
                Some(player) => format!("player {}", without_id(player)),
                None => directory.to_owned(),
            };
            if ["player ", "eco/", "years/"]
                .iter()
                .any(|start| directory.starts_with(start))
            {
                found.entry(directory).or_default().insert(name.to_owned());
            }
        }
        println!("{}: {games} games, {} groups", base.display(), found.len());
        if base.ends_with("damage.cbh") {
            // Players that are not there have no name.
            expected.retain(|key, _| key != "player (none)");
        }
        for (key, games) in &expected {
            assert_eq!(found.get(key), Some(games), "{}: {key}", base.display());
        }
        let known = |key: &&String| !expected.contains_key(*key);
        let unexpected: Vec<_> = found.keys().filter(known).collect();
        assert!(unexpected.is_empty(), "{}: {unexpected:?}", base.display());
    }
}

/// A player as the truth spells him, as a file name without the id.
fn shown_player(name: &str) -> String {
    let name = name.trim().replace('/', "／").replace("e\u{301}", "é");
    match name.strip_prefix('.') {
        Some(rest) => format!("．{rest}"),
        None if ["", "?"].contains(&name.as_str()) => "(none)".to_owned(),
        None => without_id(&name).to_owned(),
    }
}

/// A file name without the id that tells it from others.
fn without_id(name: &str) -> &str {
    match name.rsplit_once(" ~") {
        Some((plain, id)) if id.parse::<u32>().is_ok() => without_id(plain),
        _ => name,
    }
}

#[test]
fn a_base_with_a_damaged_tree_of_players_lists_them_all() {
    let Some(shared) = common::shared() else {
        return;
    };
    let tree = tree_of(&shared.join("bases/linares/linares.cbh"));
    let mut played = BTreeSet::new();
    let truth = std::fs::read_to_string(shared.join("truth/linares.jsonl")).unwrap();
    for line in truth.lines() {
        let game: serde_json::Value = serde_json::from_str(line).unwrap();
        for side in ["White", "Black"] {
            if let Some(name) = game["headers"][side].as_str()
                && game["deleted"] == false
            {
                played.insert(name.to_owned());
            }
        }
    }
    let players: BTreeSet<_> = names_in(&tree, "players").into_iter().collect();
    assert!(players.len() > 50, "{}", players.len());
    assert_eq!(players, played);
}

#[test]
fn games_of_real_bases_are_one_file_each() {
    for base in common::real_bases() {
        let tree = tree_of(&base);
        let games = groups::every_game_is_one_file(&tree);
        println!("{}: {games} files", base.display());
    }
}

#[test]
fn a_base_without_texts_has_no_directory_for_them() {
    let path = common::fixture("cbh/encodings/encodings.cbh");
    let database = Database::open(&path, &DatabaseOptions::default()).unwrap();
    let volume = DatabaseVolume::new(database, "");
    let tree = Direct(Vfs::new(Box::new(volume), &Options::default()));
    let names: Vec<_> = tree
        .list("")
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let mut expected = groups::DIRECTORIES.to_vec();
    expected.retain(|name| *name != "texts");
    expected.extend([
        "headers.tsv",
        "tree",
        "fen",
        "line",
        "find",
        "html",
        ".cbfs",
    ]);
    assert_eq!(names, expected);
    assert_eq!(tree.stat("").unwrap().links, 17);
    assert_eq!(tree.stat("texts"), Err(libc::ENOENT));
    for number in [4, 5, (64 << 32) + 1, 17 << 32] {
        let error = tree.0.attr(Ino(number)).unwrap_err();
        assert_eq!(error.errno(), libc::ENOENT);
    }
}

#[test]
fn a_damaged_text_is_shown_in_part_and_others_completely() {
    let directory = common::copy_of_base("cbh/texts");
    let moves = directory.path().join("texts.cbg");
    let mut bytes = std::fs::read(&moves).unwrap();
    // The first text: version 9 of the format.
    bytes[26 + 4] = 9;
    std::fs::write(&moves, bytes).unwrap();
    let path = directory.path().join("texts.cbh");
    let database = Database::open(&path, &DatabaseOptions::default()).unwrap();
    let volume = DatabaseVolume::new(database, "");
    let tree = Direct(Vfs::new(Box::new(volume), &Options::default()));
    let names: Vec<_> = tree
        .list("texts")
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names[..2], ["000001.html", "000002.txt"], "and no media");
    let text = String::from_utf8(tree.read("texts/000001.html").unwrap()).unwrap();
    assert!(
        text.contains(".cbg at 0x1e: unknown text version 9]"),
        "{text}"
    );
    assert_eq!(
        tree.stat("texts/000001.html").unwrap().size,
        text.len() as u64
    );
}

#[test]
fn a_listing_continues_from_any_cookie() {
    let (vfs, _) = test_vfs(&Options::default());
    let mut all = Vec::new();
    vfs.list(GAMES, 0, &mut |entry| {
        all.push((entry.name.to_owned(), entry.cookie));
        true
    })
    .unwrap();
    assert_eq!(all.len(), 2 + LAST as usize - 1);
    for room in [1, 2, 7] {
        assert_eq!(paged(&vfs, GAMES, room), all);
    }
    vfs.list(GAMES, u64::from(LAST) + 2, &mut |_| {
        panic!("beyond the end")
    })
    .unwrap();
}

#[test]
fn listing_names_renders_nothing() {
    let (vfs, shared) = test_vfs(&Options::default());
    vfs.list(GAMES, 0, &mut |_| true).unwrap();
    vfs.lookup(Ino::ROOT, b"games").unwrap();
    assert_eq!(shared.renderings.load(Relaxed), 0);
}

#[test]
fn a_game_is_rendered_once_for_its_size_and_its_text() {
    let (vfs, shared) = test_vfs(&Options::default());
    let attr = vfs.lookup(GAMES, b"000100.pgn").unwrap();
    assert_eq!(
        vfs.read(attr.ino, 0, u32::MAX).unwrap().len() as u64,
        attr.size
    );
    vfs.attr(attr.ino).unwrap();
    assert_eq!(shared.renderings.load(Relaxed), 1);
}

#[test]
fn the_background_pass_prepares_edits_and_computes_missing_lengths() {
    let (vfs, shared) = test_vfs(&Options::default());
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("fill".to_owned());
        thread.spawn_scoped(scope, || vfs.fill()).unwrap();
        // Beyond the game that panics.
        while shared.renderings.load(Relaxed) < 15 {
            std::thread::yield_now();
        }
        vfs.background().stop();
    });
    assert_eq!(shared.prepared.load(Relaxed), 1);
    let rendered = shared.renderings.load(Relaxed);
    for id in 1..=6 {
        let bytes = vfs.read(Ino::new(1, id), 0, u32::MAX).unwrap();
        assert_eq!(&bytes[..], text_of(id));
    }
    assert_eq!(
        shared.renderings.load(Relaxed),
        rendered,
        "all of these were here"
    );
}

#[test]
fn a_game_that_disappears_after_stat_is_eio() {
    let options = Options {
        cache_bytes: 0,
        ..Options::default()
    };
    let (vfs, shared) = test_vfs(&options);
    let one = vfs.lookup(GAMES, b"000001.pgn").unwrap();
    let two = vfs.lookup(GAMES, b"000002.pgn").unwrap();
    shared.is_gone.store(true, Relaxed);
    let error = vfs.read(one.ino, 0, 4096).unwrap_err();
    assert_eq!(error.errno(), libc::EIO);
    assert_eq!(error.to_string(), "test.cbg at 0x1a: game 1 ends early");
    assert_eq!(vfs.attr(two.ino).unwrap().size, two.size);
}

#[test]
fn reading_a_truncated_part_of_an_open_base_is_eio() {
    // All of it, or what comes after the first game.
    for (file, left, readable) in [
        ("cbh", 46, 0),
        ("cbh", 92, 1),
        ("cbg", 0, 0),
        ("cbp", 32, 0),
        ("cbt", 32, 0),
        ("cbj", 32, 0),
        ("cbj", 32 + 120, 1),
    ] {
        let directory = common::copy_of_base("cbh/sample");
        let path = directory.path().join("sample.cbh");
        let database = Database::open(&path, &DatabaseOptions::default()).unwrap();
        let volume = Box::new(DatabaseVolume::new(database, ""));
        let tree = Direct(Vfs::new(
            volume,
            &Options {
                cache_bytes: 0,
                ..Options::default()
            },
        ));
        let names = tree.list("games").unwrap();
        let cut = std::fs::File::options()
            .write(true)
            .open(path.with_extension(file));
        cut.unwrap().set_len(left).unwrap();
        let read = |(name, _): &(String, u64)| tree.read(&format!("games/{name}"));
        let texts: Vec<_> = names.iter().map(read).collect();
        assert!(
            texts
                .iter()
                .all(|text| text.is_ok() || *text == Err(libc::EIO))
        );
        let count = texts.iter().filter(|text| text.is_ok()).count();
        assert_eq!(count, readable, "{file} {left}");
    }
}

#[test]
fn unknown_numbers_are_enoent() {
    let (vfs, _) = test_vfs(&Options::default());
    for number in [
        0,
        4,
        63,
        1 << 32,
        (1 << 32) + 301,
        2 << 32,
        (1 << 40) + 1,
        u64::MAX,
    ] {
        assert_eq!(vfs.attr(Ino(number)).unwrap_err().errno(), libc::ENOENT);
        assert_eq!(
            vfs.read(Ino(number), 0, 1).unwrap_err().errno(),
            libc::ENOENT
        );
    }
}

/// Every fixture base, whatever is in it: lists, sizes and texts agree, and no
/// game is in both directories.
#[test]
fn every_fixture_base_is_shown_consistently() {
    let bases = std::fs::read_dir(common::fixture("cbh")).unwrap();
    let mut games = 0;
    for base in bases.map(|base| base.unwrap().path()) {
        let name = base.file_name().unwrap().to_string_lossy().into_owned();
        let headers = base.join(format!("{name}.cbh"));
        if !headers.exists() {
            continue;
        }
        let database = Database::open(&headers, &DatabaseOptions::default()).unwrap();
        let tree = Direct(Vfs::new(
            Box::new(DatabaseVolume::new(database, "")),
            &Options::default(),
        ));
        let listed = tree.list("games").unwrap();
        let deleted = tree.list("deleted").unwrap();
        assert!(
            !listed.iter().any(|entry| deleted.contains(entry)),
            "{name}"
        );
        for (directory, names) in [("games", &listed), ("deleted", &deleted)] {
            for (file, ino) in names {
                let path = format!("{directory}/{file}");
                // Games without a readable header are EIO.
                let Ok(stat) = tree.stat(&path) else {
                    assert_eq!(tree.read(&path), Err(libc::EIO), "{name}: {path}");
                    continue;
                };
                assert_eq!(stat.ino, *ino);
                assert_eq!(
                    stat.size,
                    tree.read(&path).unwrap().len() as u64,
                    "{name}: {path}"
                );
            }
        }
        assert_eq!(tree.0.statistics().files, listed.len() as u64);
        assert!(groups::every_piece_is_its_directory(&tree) > 0, "{name}");
        games += listed.len();
    }
    assert!(games > 10, "only {games} games in all fixtures");
}

const TABLE: &str = "headers.tsv";

const COLUMNS: &str = "number white black white_elo black_elo result date eco event site round \
    subround annotator source white_team black_team moves medals deleted";

type Fields = BTreeMap<&'static str, String>;

/// The lines of the table, each as what it says in which column.
fn table(tree: &Direct) -> Vec<Fields> {
    let text = String::from_utf8(tree.read(TABLE).unwrap()).unwrap();
    assert_eq!(tree.stat(TABLE).unwrap().size, text.len() as u64);
    assert!(text.ends_with('\n'));
    let mut lines = text.lines();
    let names: Vec<&str> = COLUMNS.split_whitespace().collect();
    assert_eq!(lines.next().unwrap(), names.join("\t"));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), names.len(), "{line}");
            let named = names.iter().zip(fields);
            named
                .map(|(name, field)| (*name, field.to_owned()))
                .collect()
        })
        .collect()
}

/// The tags of a game's text, the first of each name.
fn tags(text: &str) -> BTreeMap<&str, String> {
    let mut tags = BTreeMap::new();
    for line in text.lines().take_while(|line| line.starts_with('[')) {
        let (name, value) = line[1..].split_once(' ').unwrap();
        let value = value
            .strip_prefix('"')
            .unwrap()
            .strip_suffix("\"]")
            .unwrap();
        let value = value.replace("\\\"", "\"").replace("\\\\", "\\");
        tags.entry(name).or_insert(value);
    }
    tags
}

/// What a line of the table should say after the tags of the game.
fn differences(fields: &Fields, tags: &BTreeMap<&str, String>) -> Vec<String> {
    let round = match (fields["round"].as_str(), fields["subround"].as_str()) {
        ("", "") => "?".to_owned(),
        (round, "") => round.to_owned(),
        ("", subround) => format!("?.{subround}"),
        (round, subround) => format!("{round}.{subround}"),
    };
    let field = |name| fields[name].clone();
    let told = [
        ("White", field("white")),
        ("Black", field("black")),
        ("WhiteElo", field("white_elo")),
        ("BlackElo", field("black_elo")),
        ("Result", field("result")),
        ("Date", field("date")),
        ("ECO", field("eco")),
        ("Event", field("event")),
        ("Site", field("site")),
        ("Round", round),
        ("Annotator", field("annotator")),
        ("SourceTitle", field("source")),
        ("WhiteTeam", field("white_team")),
        ("BlackTeam", field("black_team")),
    ];
    let differ = |(name, told): &(&str, String)| tags.get(name).map_or("", String::as_str) != told;
    told.iter()
        .filter(|pair| differ(pair))
        .map(|(name, told)| format!("{name} is {told:?}, not {:?}", tags.get(name)))
        .collect()
}

#[test]
fn the_table_of_headers_agrees_with_the_games() {
    let mut compared = 0;
    for base in [common::fixture_bases(), common::real_bases()].concat() {
        // A tag of the text keeps the whole of a name there.
        if base.ends_with("misplaced.cbh") {
            continue;
        }
        let tree = tree_of(&base);
        let records = Database::open(&base, &DatabaseOptions::default()).unwrap();
        let mut entries = Vec::new();
        records
            .entries(GameId(1), records.last_id(), &mut entries)
            .unwrap();
        let games = entries
            .iter()
            .filter(|entry| entry.kind == RecordKind::Game);
        let table = table(&tree);
        assert_eq!(table.len(), games.clone().count(), "{}", base.display());
        for (game, fields) in games.zip(&table) {
            let place = format!("{}: game {}", base.display(), game.id.0);
            assert_eq!(fields["number"], game.id.0.to_string(), "{place}");
            let deleted = if game.is_deleted { "1" } else { "0" };
            assert_eq!(fields["deleted"], deleted, "{place}");
            let ino = Ino::new(1, game.id.0);
            let text = tree.0.read(ino, 0, u32::MAX).unwrap();
            let text = std::str::from_utf8(&text).unwrap();
            let differences = differences(fields, &tags(text));
            assert!(differences.is_empty(), "{place}: {differences:?}\n{text}");
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} games");
}

#[test]
fn the_table_has_the_counts_and_medals_of_the_headers() {
    let bases = [common::bases_with_truth(), common::fixtures_with_truth()].concat();
    for (base, truth) in bases {
        let table = table(&tree_of(&base));
        let by_number: BTreeMap<&str, &Fields> = table
            .iter()
            .map(|fields| (fields["number"].as_str(), fields))
            .collect();
        for line in std::fs::read_to_string(truth).unwrap().lines() {
            let expected: serde_json::Value = serde_json::from_str(line).unwrap();
            let number = expected["id"].to_string();
            let Some(fields) = by_number.get(number.as_str()) else {
                assert_eq!(expected["kind"], "text", "{number} is missing");
                continue;
            };
            for (name, column) in [("nmoves", "moves"), ("medals", "medals")] {
                let value = &expected["headers"][name];
                if !value.is_null() {
                    let place = format!("{}: {column} of {number}", base.display());
                    assert_eq!(fields[column], value.to_string(), "{place}");
                }
            }
        }
    }
}

#[test]
fn any_range_of_the_table_equals_that_of_the_whole() {
    let directory = common::long_base(3000);
    let tree = tree_of(&directory.path().join("sample.cbh"));
    let whole = tree.read(TABLE).unwrap();
    assert_eq!(tree.stat(TABLE).unwrap().size, whole.len() as u64);
    let size = whole.len() as u64;
    let mut random: u64 = 1;
    let mut next = |below: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % below
    };
    let ends = [
        (0, 1),
        (size - 1, 1),
        (size - 1, 9),
        (size, 1),
        (u64::MAX, u32::MAX),
    ];
    let pieces = (0..300).map(|_| (next(size), u32::try_from(next(100_000)).unwrap()));
    for (offset, length) in ends.into_iter().chain(pieces) {
        let from = usize::try_from(offset.min(size)).unwrap();
        let to = whole.len().min(from.saturating_add(length as usize));
        let piece = tree.read_at(TABLE, offset, length).unwrap();
        assert!(piece == whole[from..to], "{length} bytes at {offset}");
    }
}

#[test]
fn listing_the_root_does_not_measure_the_table() {
    let directory = common::long_base(10);
    let tree = tree_of(&directory.path().join("sample.cbh"));
    let listed = || {
        let mut size = None;
        let mut take = |entry: &DirEntry<'_>, attr: Option<Result<Attr, Error>>| {
            if entry.name == TABLE {
                size = Some(attr.map(|attr| attr.unwrap().size));
            }
            true
        };
        tree.0.list_with_attrs(Ino::ROOT, 0, &mut take).unwrap();
        size.unwrap()
    };
    assert_eq!(listed(), None);
    let size = tree.stat(TABLE).unwrap().size;
    assert_eq!(listed(), Some(size));
}

#[test]
fn the_missing_part_of_a_truncated_table_is_eio() {
    let directory = common::long_base(3000);
    let base = directory.path().join("sample.cbh");
    let (measured, unmeasured) = (tree_of(&base), tree_of(&base));
    let whole = measured.read(TABLE).unwrap();
    let file = std::fs::File::options().write(true).open(&base).unwrap();
    file.set_len(46 * 1000).unwrap();
    assert_eq!(measured.read_at(TABLE, 0, 9000).unwrap(), whole[..9000]);
    let end = whole.len() as u64;
    assert_eq!(measured.read_at(TABLE, end - 99, 99), Err(libc::EIO));
    assert_eq!(measured.read(TABLE), Err(libc::EIO));
    assert_eq!(unmeasured.stat(TABLE), Err(libc::EIO));
}

#[test]
fn a_table_without_its_names_is_eio() {
    for (file, left) in [("cbp", 32), ("cbt", 32), ("cbs", 40), ("cbj", 32)] {
        let directory = common::copy_of_base("cbh/sample");
        let base = directory.path().join("sample.cbh");
        let tree = tree_of(&base);
        let cut = base.with_extension(file);
        let cut = std::fs::File::options().write(true).open(cut).unwrap();
        cut.set_len(left).unwrap();
        assert_eq!(tree.stat(TABLE), Err(libc::EIO), "{file}");
        let attribute = tree.0.attribute(Ino::new(1, 1), b"user.cbh.white");
        assert_eq!(attribute.unwrap_err().errno(), libc::EIO, "{file}");
    }
}

#[test]
fn the_attributes_of_a_game_equal_its_fields_in_the_table() {
    let tree = tree_of(&common::fixture("cbh/headers/headers.cbh"));
    for fields in table(&tree) {
        let ino = Ino::new(1, fields["number"].parse().unwrap());
        let mut names = Vec::new();
        tree.0
            .list_attributes(ino, &mut |name| names.push(name.to_owned()))
            .unwrap();
        for (column, field) in &fields {
            let name = format!("user.cbh.{column}");
            let value = tree.0.attribute(ino, name.as_bytes()).unwrap();
            if field.is_empty() || *column == "number" {
                assert_eq!(value, None, "{name}");
                assert!(!names.contains(&name), "{name}");
            } else {
                assert_eq!(value.as_deref(), Some(field.as_bytes()), "{name}");
                names.retain(|listed| *listed != name);
            }
        }
        assert!(names.is_empty(), "{names:?}");
        for other in [
            "user.cbh.",
            "user.cbh",
            "white",
            "user.white",
            "security.selinux",
        ] {
            assert_eq!(tree.0.attribute(ino, other.as_bytes()).unwrap(), None);
        }
    }
}
