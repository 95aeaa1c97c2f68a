//! The directories of players, tournaments, openings and the like, checked on a
//! `Vfs` by `tests/vfs.rs` and on a real mount by `tests/mount.rs`, both with
//! the base `fixtures/cbh/namesakes`.

use std::collections::BTreeMap;

use cbfs::cbh::{Database, Options};
use cbfs::vfs::DatabaseVolume;

use super::behaviours::{Behaviour, Tree};
use super::fixture;

pub const GROUP_BEHAVIOURS: &[Behaviour] = &[
    (
        "the root lists what games can have in common",
        the_root_lists_all,
    ),
    (
        "whoever has a game is listed by id and name",
        names_are_listed,
    ),
    (
        "a directory holds the games that have it in common",
        directories_hold_their_games,
    ),
    (
        "a game is one file wherever it is listed",
        a_game_is_one_file,
    ),
    (
        "a file in pgn/ is a directory in one piece",
        pieces_are_whole,
    ),
    ("only listed names can be looked up", only_listed_names),
    (
        "directories tell times and links",
        directories_tell_times_and_links,
    ),
];

/// The directories in the root, before `headers.tsv`.
pub const DIRECTORIES: [&str; 11] = [
    "games",
    "players",
    "tournaments",
    "annotators",
    "sources",
    "teams",
    "eco",
    "years",
    "pgn",
    "texts",
    "deleted",
];

/// The content of the directories that contain directories, in order.
const LISTED: [(&str, &[&str]); 11] = [
    (
        "players",
        &[
            "Lee",
            "Li",
            "Lee ~2",
            "Lee ~0 ~3",
            "(none)",
            "(none) ~5",
            "A／B",
            "．hidden",
            "Bell",
            "Bell ~9",
            "José",
            "José ~11",
            "Kim ~14",
        ],
    ),
    (
        "tournaments",
        &["Open (Paris) 2001", "Open (Paris) 2001 ~1", "(none)"],
    ),
    ("annotators", &["Anna", "．.", "(none)"]),
    ("sources", &["Paper", "(none)"]),
    ("teams", &["Club", "Club ~1"]),
    ("eco", &["A", "B", "E", "none"]),
    ("eco/A", &["A00"]),
    ("eco/B", &["B90", "B91"]),
    ("eco/E", &["E99"]),
    ("years", &["unknown", "0476", "1999", "2001"]),
    ("texts", &["000011.html"]),
];

/// The game numbers in some of the other directories.
const HELD: [(&str, &[u32]); 20] = [
    ("players/Lee", &[1, 2, 3, 9, 10]),
    ("players/Lee ~2", &[2]),
    ("players/Lee ~0 ~3", &[3]),
    ("players/(none)", &[4]),
    ("players/(none) ~5", &[4]),
    ("players/A／B", &[5]),
    ("players/José ~11", &[7]),
    ("players/Kim ~14", &[9]),
    ("tournaments/Open (Paris) 2001", &[1, 3, 5, 6, 7, 9, 10]),
    ("tournaments/Open (Paris) 2001 ~1", &[2]),
    ("tournaments/(none)", &[4]),
    ("annotators/．.", &[5]),
    ("annotators/(none)", &[6]),
    ("sources/(none)", &[6]),
    ("teams/Club", &[1, 3]),
    ("teams/Club ~1", &[1, 9]),
    ("eco/B/B90", &[1, 6, 7, 9, 10]),
    ("eco/none", &[3]),
    ("years/unknown", &[4, 7]),
    ("years/2001", &[1, 2, 5, 6, 9]),
];

/// The base for these checks.
pub fn volume() -> DatabaseVolume {
    let path = fixture("cbh/namesakes/namesakes.cbh");
    let database = Database::open(&path, &Options::default()).unwrap();
    DatabaseVolume::new(database, "")
}

fn names(tree: &dyn Tree, directory: &str) -> Vec<String> {
    let listed = tree.list(directory).unwrap().into_iter();
    listed.map(|(name, _)| name).collect()
}

/// Paths with their inode numbers.
pub type Paths = Vec<(String, u64)>;

/// All files, and all directories.
pub fn walk(tree: &dyn Tree) -> (Paths, Paths) {
    let mut files = Vec::new();
    let mut directories = Vec::new();
    let mut waiting = vec![(String::new(), 1)];
    while let Some((path, ino)) = waiting.pop() {
        let Ok(listed) = tree.list(&path) else {
            assert_eq!(tree.list(&path), Err(libc::ENOTDIR), "{path}");
            files.push((path, ino));
            continue;
        };
        for (name, ino) in listed {
            let path = match path.as_str() {
                // A link.
                "" if name == "tree" => continue,
                "" => name,
                directory => format!("{directory}/{name}"),
            };
            waiting.push((path, ino));
        }
        directories.push((path, ino));
    }
    (files, directories)
}

/// Checks that each game has one inode number, as many names as its link count,
/// and one text, and that no other file shares the number. Returns the number
/// of games.
pub fn every_game_is_one_file(tree: &dyn Tree) -> usize {
    let (files, directories) = walk(tree);
    let mut games: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (path, ino) in files {
        if !["headers.tsv", "find/README.txt"].contains(&path.as_str())
            && !path.starts_with("pgn/")
            && !path.starts_with("html/")
            && !path.starts_with(".cbfs/")
        {
            games.entry(ino).or_default().push(path);
        }
    }
    for (path, ino) in directories {
        let stat = tree.stat(&path).unwrap();
        assert!(stat.is_directory, "{path}");
        assert_eq!(stat.ino, ino, "{path}");
        games.entry(ino).or_default().push(path);
        assert_eq!(games[&ino].len(), 1, "{:?}", games[&ino]);
        games.remove(&ino);
    }
    for (ino, paths) in &games {
        let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        let first = tree.stat(&paths[0]);
        for path in paths {
            assert_eq!(name(path), name(&paths[0]), "number {ino}");
            let stat = tree.stat(path);
            assert_eq!(stat, first, "{path}");
            if let Ok(stat) = stat {
                assert_eq!(stat.ino, *ino, "{path}");
                assert_eq!(stat.links, paths.len() as u64, "{paths:?}");
            }
        }
    }
    games.len()
}

fn the_root_lists_all(tree: &dyn Tree) {
    let mut top = DIRECTORIES.to_vec();
    top.extend([
        "headers.tsv",
        "tree",
        "fen",
        "line",
        "find",
        "html",
        ".cbfs",
    ]);
    assert_eq!(names(tree, ""), top);
    assert_eq!(tree.stat("").unwrap().links, 7 + DIRECTORIES.len() as u64);
}

fn names_are_listed(tree: &dyn Tree) {
    for _ in 0..2 {
        for (directory, listed) in LISTED {
            assert_eq!(names(tree, directory), listed, "{directory}");
        }
    }
}

fn directories_hold_their_games(tree: &dyn Tree) {
    for _ in 0..2 {
        for (directory, games) in HELD {
            let expected: Vec<_> = games.iter().map(|id| format!("{id:06}.pgn")).collect();
            assert_eq!(names(tree, directory), expected, "{directory}");
        }
    }
}

fn a_game_is_one_file(tree: &dyn Tree) {
    assert_eq!(every_game_is_one_file(tree), 11);
    let games = tree.stat("games/000003.pgn").unwrap();
    // games/, two players, tournament, annotator, source, one team, eco, year
    assert_eq!(games.links, 9);
    // The same player, no team.
    assert_eq!(tree.stat("games/000010.pgn").unwrap().links, 7);
    assert_eq!(tree.stat("deleted/000008.pgn").unwrap().links, 1);
    let text = tree.read("games/000003.pgn").unwrap();
    for path in ["players/Lee", "teams/Club", "eco/none", "years/1999"] {
        assert_eq!(tree.read(&format!("{path}/000003.pgn")), Ok(text.clone()));
    }
}

/// Checks that each file in `pgn/` contains the texts of a directory in order.
/// Returns the number of files.
pub fn every_piece_is_its_directory(tree: &dyn Tree) -> usize {
    let (files, _) = walk(tree);
    let pieces = files.iter().filter(|(path, _)| path.starts_with("pgn/"));
    let pieces: Vec<_> = pieces.collect();
    for (path, ino) in &pieces {
        let stat = tree.stat(path).unwrap();
        assert_eq!((stat.ino, stat.links), (*ino, 1), "{path}");
        let name = path.strip_prefix("pgn/").unwrap();
        let name = name.strip_suffix(".pgn").unwrap();
        let directory = match name.strip_prefix("eco/") {
            Some("none") => name.to_owned(),
            Some(code) => format!("eco/{}/{code}", code.chars().next().unwrap()),
            None if name == "all" => "games".to_owned(),
            None => name.to_owned(),
        };
        let mut expected = Vec::new();
        for game in names(tree, &directory) {
            // What cannot be read is left out.
            expected.extend(
                tree.read(&format!("{directory}/{game}"))
                    .unwrap_or_default(),
            );
        }
        assert_eq!(stat.size, expected.len() as u64, "{path}");
        assert_eq!(tree.read(path).unwrap(), expected, "{path}");
        let offset = stat.size / 3;
        let part = tree.read_at(path, offset, 100).unwrap();
        assert!(expected[usize::try_from(offset).unwrap()..].starts_with(&part));
    }
    pieces.len()
}

fn pieces_are_whole(tree: &dyn Tree) {
    assert_eq!(
        names(tree, "pgn"),
        [
            "all.pgn",
            "players",
            "tournaments",
            "annotators",
            "sources",
            "teams",
            "eco",
            "years"
        ]
    );
    let listed = |directory: &str| names(tree, &format!("pgn/{directory}"));
    let named = |names: &[&str]| -> Vec<String> {
        names.iter().map(|name| format!("{name}.pgn")).collect()
    };
    for (directory, names) in &LISTED[..5] {
        assert_eq!(listed(directory), named(names), "{directory}");
    }
    assert_eq!(listed("eco"), named(&["A00", "B90", "B91", "E99", "none"]));
    assert_eq!(listed("years"), named(&["unknown", "0476", "1999", "2001"]));
    assert_eq!(every_piece_is_its_directory(tree), 1 + 23 + 5 + 4);
}

fn only_listed_names(tree: &dyn Tree) {
    for path in [
        "players/lee",
        "players/Lee ~0",
        "players/Lee ~3",
        "players/Lee ~02",
        "players/Li ~1",
        "players/A",
        "players/.hidden",
        "players/Kim",
        "players/Gone",
        "players/Jose\u{301}",
        "players/Lee/000004.pgn",
        "players/Lee/000011.pgn",
        "players/Lee/000011.html",
        "players/Lee/1.pgn",
        "players/Kim ~14/000008.pgn",
        "players/Lee/Li",
        "tournaments/Gone",
        "tournaments/Texts only",
        "tournaments/Open (Paris) 2001 ~0",
        "teams/(none)",
        "eco/a",
        "eco/C",
        "eco/F",
        "eco/AA",
        "eco/A00",
        "eco/unknown",
        "eco/A/A01",
        "eco/A/B90",
        "eco/B/90",
        "eco/B/B9",
        "eco/B/B900",
        "eco/B/b90",
        "eco/none/none",
        "eco/none/000001.pgn",
        "years/none",
        "years/476",
        "years/00476",
        "years/0000",
        "years/2000",
        "years/+476",
        "years/4096",
        "years/67535",
        "years/2001/000003.pgn",
        "pgn/all",
        "pgn/games.pgn",
        "pgn/Lee.pgn",
        "pgn/players/Lee",
        "pgn/players/Lee ~0.pgn",
        "pgn/players/Lee ~3.pgn",
        "pgn/players/Gone.pgn",
        "pgn/players/.pgn",
        "pgn/tournaments/Texts only.pgn",
        "pgn/eco/A",
        "pgn/eco/A.pgn",
        "pgn/eco/A01.pgn",
        "pgn/eco/A/A00.pgn",
        "pgn/eco/é.pgn",
        "pgn/years/0000.pgn",
        "pgn/years/476.pgn",
        "pgn/years/none.pgn",
    ] {
        for _ in 0..2 {
            assert_eq!(tree.stat(path), Err(libc::ENOENT), "{path}");
        }
    }
    for path in ["players/Lee/000001.pgn/x", "eco/B/B90/000001.pgn/x"] {
        assert_eq!(tree.stat(path), Err(libc::ENOTDIR), "{path}");
    }
    for path in ["players", "players/Lee", "eco/B", "years/2001"] {
        assert_eq!(tree.read(path), Err(libc::EISDIR), "{path}");
    }
}

fn directories_tell_times_and_links(tree: &dyn Tree) {
    let games = tree.stat("games").unwrap();
    let (_, directories) = walk(tree);
    assert!(directories.len() > 40);
    for (path, _) in directories {
        let stat = tree.stat(&path).unwrap();
        assert_eq!(stat.mtime, games.mtime, "{path}");
        if path.is_empty() {
            continue;
        }
        if path == ".cbfs" {
            assert_eq!(stat.links, 3);
            continue;
        }
        // 1 says that subdirectories are not counted, 2 that there are none.
        let holds_directories = tree.list(&path).unwrap().iter().any(|(name, _)| {
            tree.stat(&format!("{path}/{name}"))
                .is_ok_and(|stat| stat.is_directory)
        });
        // A folder of pages does not count its subdirectories, even if it has none.
        if path.starts_with("html/") && stat.links == 1 {
            continue;
        }
        assert_eq!(stat.links, if holds_directories { 1 } else { 2 }, "{path}");
    }
}
