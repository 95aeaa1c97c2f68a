//! Positions of a database as directories: `tree`, `fen/` and `line/`, through
//! the filesystem without a kernel, and the index that answers for them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::too_many_lines,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use cbfs::base::{self, Base, Searched};
use cbfs::cbh::{Decoded, GameId, Options as Reading};
use cbfs::game::{Position, PositionKey};
use cbfs::search::{
    Counter, Filter, PositionTable, Query, Reached, ScanEvent, SearchedGames, scan,
};
use cbfs::vfs::{Access, Attr, DatabaseSource, Error, Ino, NodeKind, Options, Shown, Vfs, Writer};
use common::numbers::Numbers;
use common::{fixture, fixture_bases};
use tempfile::TempDir;

const START: &str = "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_KQkq_-";

/// Five games; the third and the fourth reach one position by two ways.
const GAMES: &str = "\
[Event \"A\"]\n[White \"Adams\"]\n[Black \"Burn\"]\n[WhiteElo \"2600\"]\n[BlackElo \"2400\"]\n[Date \"1999.01.01\"]\n[Result \"1-0\"]\n\n\
1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 1-0\n\n\
[Event \"A\"]\n[White \"Burn\"]\n[Black \"Adams\"]\n[Date \"2005.01.01\"]\n[Result \"1/2-1/2\"]\n\n\
1. e4 c5 2. Nf3 (2. c3 d5) d6 1/2-1/2\n\n\
[Event \"B\"]\n[White \"Carls\"]\n[Black \"Adams\"]\n[Result \"0-1\"]\n\n\
1. e4 e6 2. d4 d5 0-1\n\n\
[Event \"B\"]\n[White \"Adams\"]\n[Black \"Carls\"]\n[Result \"*\"]\n\n\
1. d4 e6 2. e4 d5 *\n\n\
[Event \"B\"]\n[White \"Adams\"]\n[Black \"Carls\"]\n[Result \"1-0\"]\n\n\
1. Nf3 Nf6 2. Ng1 Ng8 3. e4 e5 1-0\n\n";

/// A base, mounted to be changed.
struct Mount {
    _folder: TempDir,
    base: PathBuf,
    vfs: Vfs,
}

fn source(base: &Path) -> DatabaseSource {
    source_with(base, None)
}

fn source_with(base: &Path, caches: Option<PathBuf>) -> DatabaseSource {
    let writer = Writer {
        label: "/mnt/first".to_owned(),
        clock: SystemTime::now,
        drops_foreign_tags: false,
        merges: None,
        is_ending: |_| false,
    };
    DatabaseSource::new(base, Reading::default(), caches).written_by(Some(writer))
}

impl Mount {
    fn of(pgn: &str) -> Mount {
        let folder = tempfile::tempdir().unwrap();
        let (base, file) = (folder.path().join("b.cbh"), folder.path().join("b.pgn"));
        fs::write(&file, pgn).unwrap();
        let mut import = Command::new(env!("CARGO_BIN_EXE_cbfs"));
        let import = import.args(["import", "--create", "--quiet"]);
        let imported = import.arg(&base).arg(&file).output().unwrap();
        assert!(imported.status.success(), "{imported:?}");
        Mount {
            vfs: Vfs::open(Box::new(source(&base)), &Options::default()).unwrap(),
            base,
            _folder: folder,
        }
    }

    fn of_games() -> Mount {
        Mount::of(GAMES)
    }

    /// What a path leads to, links followed as a kernel does.
    fn attr(&self, path: &str) -> Result<Attr, i32> {
        self.walk(path, true)
    }

    fn walk(&self, path: &str, follows_last: bool) -> Result<Attr, i32> {
        let errno = |error: Error| error.errno();
        let mut names: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut way = vec![self.vfs.attr(Ino::ROOT).map_err(errno)?];
        let mut links = 0;
        while let Some(name) = names.pop() {
            match name.as_str() {
                "" | "." => continue,
                ".." => {
                    way.pop();
                    continue;
                }
                _ => {}
            }
            let directory = way.last().unwrap().ino;
            let found = self.vfs.lookup(directory, name.as_bytes()).map_err(errno)?;
            if found.kind == NodeKind::Symlink && (follows_last || !names.is_empty()) {
                links += 1;
                assert!(links <= 40, "{path}");
                let target = self.vfs.target(found.ino).map_err(errno)?;
                let target = String::from_utf8(target).unwrap();
                names.extend(target.split('/').rev().map(str::to_owned));
            } else {
                way.push(found);
            }
        }
        Ok(*way.last().unwrap())
    }

    fn text(&self, path: &str) -> String {
        let attr = self
            .attr(path)
            .unwrap_or_else(|errno| panic!("{path}: {errno}"));
        let text = self.vfs.read(attr.ino, 0, u32::MAX);
        let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(
            text.len() as u64,
            self.vfs.attr(attr.ino).unwrap().size,
            "{path}"
        );
        String::from_utf8(text.to_vec()).unwrap()
    }

    fn target(&self, path: &str) -> String {
        let link = self.walk(path, false).unwrap();
        assert_eq!(link.kind, NodeKind::Symlink, "{path}");
        String::from_utf8(self.vfs.target(link.ino).unwrap()).unwrap()
    }

    fn names(&self, path: &str) -> Vec<String> {
        let directory = self.attr(path).unwrap().ino;
        let mut names = Vec::new();
        self.vfs
            .list(directory, 2, &mut |entry| {
                names.push(entry.name.to_owned());
                true
            })
            .unwrap();
        names
    }

    /// Some columns of `moves.tsv`.
    fn moves(&self, position: &str, columns: &[&str]) -> Vec<String> {
        columns_of(&self.text(&format!("{position}/moves.tsv")), columns)
    }

    /// Writes a file in place.
    fn write(&self, path: &str, text: &str) -> Result<(), Error> {
        let file = self.attr(path).unwrap().ino;
        let drafts = self.vfs.drafts();
        let access = Access {
            write: true,
            truncate: true,
            ..Access::default()
        };
        let handle = drafts.open_file(file, access)?;
        let written = drafts.write(handle, 0, text.as_bytes());
        let saved = written.and_then(|_| drafts.flush(handle).map(drop));
        drafts.release(handle);
        saved
    }
}

fn columns_of(table: &str, columns: &[&str]) -> Vec<String> {
    let mut lines = table
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let places = columns.iter().map(|column| {
        let place = names.iter().position(|name| name == column);
        place.unwrap_or_else(|| panic!("{column}"))
    });
    let places: Vec<usize> = places.collect();
    let row = |line: Vec<&str>| {
        let fields = places.iter().map(|place| line[*place]);
        fields.collect::<Vec<_>>().join(" ")
    };
    lines.map(row).collect()
}

#[test]
fn a_position_lists_its_files_and_the_moves_played_there() {
    let mount = Mount::of_games();
    let files = [
        "position.fen",
        "board.txt",
        "board.svg",
        "moves.tsv",
        "stats.json",
        "line.pgn",
        "games",
        "games.tsv",
        "games.pgn",
    ];
    let names = mount.names("tree");
    assert_eq!(names[..files.len()], files);
    assert_eq!(names[files.len()..], ["e4", "Nf3", "d4"]);
    assert_eq!(mount.names("tree/e4")[files.len()..], ["e5", "c5", "e6"]);
    assert_eq!(
        mount.text("tree/position.fen"),
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n"
    );
    assert!(mount.text("tree/e4/board.txt").ends_with("Black to move\n"));
    let picture = mount.text("tree/e4/board.svg");
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("<title>e5: "), "{picture}");
    let columns = [
        "san", "uci", "games", "white", "draws", "black", "score", "last", "eco",
    ];
    assert_eq!(
        mount.moves("tree", &columns),
        [
            "e4 e2e4 3 1 1 1 50.0 2005 B00",
            "Nf3 g1f3 1 1 0 0 100.0  A04",
            "d4 d2d4 1 0 0 0   A40"
        ]
    );
    // Two that are there are those of the mover: White's.
    assert_eq!(mount.moves("tree", &["avg", "perf"])[0], "2600 2400");
    assert_eq!(
        mount.names("tree/e4/games"),
        ["000001.pgn", "000002.pgn", "000003.pgn", "000005.pgn"]
    );
    let table = mount.text("tree/e4/games.tsv");
    assert_eq!(
        columns_of(&table, &["number", "white"]),
        ["1 Adams", "2 Burn", "3 Carls", "5 Adams"]
    );
    let all: String = (1..=3)
        .map(|id| mount.text(&format!("games/{id:06}.pgn")))
        .collect();
    assert_eq!(
        mount.text("tree/e4/games.pgn"),
        all + &mount.text("games/000005.pgn")
    );
    let json: serde_json::Value =
        serde_json::from_str(&mount.text("tree/e4/e5/stats.json")).unwrap();
    assert_eq!(json["position"]["games"], 2);
    assert_eq!(json["moves"][0]["san"], "Nf3");
    assert_eq!(json["to_move"], "white");
    assert_eq!(json["opening"]["eco"], "C20");
    let line = mount.text("tree/e4/e5/line.pgn");
    assert!(line.contains("\n1. e4 e5 *\n"), "{line}");
    // Nobody was there: a game that begins there.
    let line = mount.text("tree/a3/line.pgn");
    assert!(line.contains("[FEN \"rnbqkbnr/pppppppp/8/8/8/P7/1PPPPPPP/RNBQKBNR b KQkq - 0 1\"]"));
    assert_eq!(mount.moves("tree/a3", &["san"]), [""; 0]);
}

#[test]
fn each_move_is_a_link_and_a_transposition_one_directory() {
    let mount = Mount::of_games();
    let after = "rnbqkbnr:pppp1ppp:4p3:8:3PP3:8:PPP2PPP:RNBQKBNR_b_KQkq_-";
    assert_eq!(mount.target("tree"), format!("fen/{START}"));
    assert_eq!(mount.target("tree/e4/e6/d4"), format!("../{after}"));
    assert_eq!(mount.target("line/1.e4 e6 2.d4"), format!("../fen/{after}"));
    assert_eq!(mount.target(&format!("fen/{after}_0_2")), after);
    let one = mount.attr("tree/e4/e6/d4").unwrap().ino;
    for path in [
        "tree/d4/e6/e4",
        "line/d4 e6/e4",
        "tree/d2d4/e7e6 e2e4",
        "line/d4 e6 e4",
    ] {
        assert_eq!(mount.attr(path).unwrap().ino, one, "{path}");
    }
    assert_eq!(
        mount.names("tree/d4/e6/e4/games"),
        ["000003.pgn", "000004.pgn"]
    );
    assert_eq!(
        mount.moves("tree/d4/e6", &["san", "games", "transposes"]),
        ["e4 1 1"]
    );
    // A game that comes back counts once, with its first move.
    assert_eq!(
        mount.moves("tree/Nf3/Nf6/Ng1", &["san", "games"]),
        ["Ng8 1"]
    );
    assert_eq!(mount.moves("tree", &["games"]).len(), 3);
    // It has the number that it had, and leads where it lies.
    let parent = mount.vfs.lookup(one, b"..").unwrap().ino;
    assert_eq!(parent, mount.attr("fen").unwrap().ino);
    let games = mount.attr("tree/e4/games").unwrap().ino;
    let position = mount.vfs.lookup(games, b"..").unwrap().ino;
    assert_eq!(position, mount.attr("tree/e4").unwrap().ino);
    let again = Vfs::open(
        Box::new(DatabaseSource::new(&mount.base, Reading::default(), None)),
        &Options::default(),
    )
    .unwrap();
    let fen = again.lookup(Ino::ROOT, b"fen").unwrap().ino;
    assert_eq!(again.lookup(fen, after.as_bytes()).unwrap().ino, one);
}

#[test]
fn moves_have_many_spellings_and_what_is_no_move_is_not_there() {
    let mount = Mount::of_games();
    let one = mount.attr("line/e4 e5 Nf3").unwrap().ino;
    for path in [
        "line/1.e4 e5 2.Nf3",
        "line/1. e4 e5 2. Nf3",
        "line/e2e4 e7e5 g1f3",
        "tree/e4+/e5/Nf3#",
        "tree/e2e4/e7e5/Ng1f3",
    ] {
        assert_eq!(
            mount.attr(path),
            Ok(mount.attr("line/e4 e5 Nf3").unwrap()),
            "{path}"
        );
        assert_eq!(mount.attr(path).unwrap().ino, one);
    }
    for path in [
        "tree/e5",
        "tree/.e4",
        "tree/e4/x",
        "line/e4 e4",
        "line/ ",
        "tree/games.pg",
        "tree/O-O",
        "fen/.Trash",
        "line/.e4",
    ] {
        assert_eq!(
            mount.attr(path).map(|attr| attr.ino),
            Err(libc::ENOENT),
            "{path}"
        );
    }
    let long = "e4 ".repeat(100);
    assert_eq!(
        mount.attr(&format!("line/{long}")).map(|attr| attr.ino),
        Err(libc::ENAMETOOLONG)
    );
    let slash = START.replace(':', "\u{ff0f}");
    for name in [
        "startpos",
        &format!("{START}_0_1"),
        &START.replace('_', " "),
        &START.replace(':', "%2F"),
        &slash,
    ] {
        assert_eq!(mount.target(&format!("fen/{name}")), START);
    }
    for name in [
        "x",
        "e4",
        "8:8:8:8:8:8:8:8_w_-_-",
        "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_KQkq_e3",
    ] {
        assert_eq!(
            mount.attr(&format!("fen/{name}")).map(|attr| attr.ino),
            Err(libc::EINVAL),
            "{name}"
        );
    }
    assert!(
        mount
            .vfs
            .lookup(mount.attr("fen").unwrap().ino, b"\xff\xfe")
            .is_err()
    );
    assert!(mount.names("fen").is_empty() && mount.names("line").is_empty());
}

#[test]
fn answers_are_those_of_what_was_saved_last() {
    let mount = Mount::of_games();
    assert_eq!(
        mount.moves("tree", &["san", "games"]),
        ["e4 3", "Nf3 1", "d4 1"]
    );
    let size = mount.attr("tree/moves.tsv").unwrap().size;
    // In place, among the games of a position.
    let text = mount.text("tree/e4/games/000001.pgn");
    let text = text.replace("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6", "1. c4 c5");
    mount.write("tree/e4/games/000001.pgn", &text).unwrap();
    assert_eq!(
        mount.names("tree/e4/games"),
        ["000002.pgn", "000003.pgn", "000005.pgn"]
    );
    assert_eq!(mount.names("tree/c4/c5/games"), ["000001.pgn"]);
    assert_eq!(
        mount.moves("tree", &["san", "games"]),
        ["e4 2", "Nf3 1", "c4 1", "d4 1"]
    );
    assert_ne!(mount.attr("tree/moves.tsv").unwrap().size, size);
    // Deleted, taken back, appended.
    let drafts = mount.vfs.drafts();
    let games = mount.attr("games").unwrap().ino;
    drafts.unlink(games, b"000004.pgn").unwrap();
    assert_eq!(mount.moves("tree", &["san"]), ["e4", "Nf3", "c4"]);
    let deleted = mount.attr("deleted").unwrap().ino;
    let rename = |from, to| {
        drafts.rename(
            from,
            b"000004.pgn",
            to,
            b"000004.pgn",
            cbfs::vfs::RenameMode::Plain,
        )
    };
    rename(deleted, games).unwrap();
    assert_eq!(mount.moves("tree", &["san"]), ["e4", "Nf3", "c4", "d4"]);
    let handle = drafts
        .create(
            games,
            b"new.pgn",
            Access {
                write: true,
                ..Access::default()
            },
            false,
        )
        .unwrap()
        .1;
    drafts.write(handle, 0, text.as_bytes()).unwrap();
    drafts.flush(handle).unwrap();
    drafts.release(handle);
    assert_eq!(
        mount.names("tree/c4/c5/games"),
        ["000001.pgn", "000006.pgn"]
    );
    let new = Mount {
        vfs: Vfs::open(
            Box::new(DatabaseSource::new(&mount.base, Reading::default(), None)),
            &Options::default(),
        )
        .unwrap(),
        base: mount.base.clone(),
        _folder: tempfile::tempdir().unwrap(),
    };
    for path in [
        "tree/moves.tsv",
        "tree/e4/games.tsv",
        "tree/c4/c5/stats.json",
        "tree/c4/line.pgn",
    ] {
        assert_eq!(mount.text(path), new.text(path), "{path}");
    }
}

#[test]
fn games_of_a_position_are_edited_in_place_and_nothing_else() {
    let mount = Mount::of_games();
    let drafts = mount.vfs.drafts();
    let mode = |path: &str| drafts.permissions(&mount.attr(path).unwrap()).unwrap();
    assert_eq!(mode("tree/e4/games/000002.pgn"), 0o644);
    for path in ["fen", "line", "tree", "tree/e4/games"] {
        assert_eq!(mode(path), 0o555, "{path}");
    }
    assert_eq!(mode("tree/moves.tsv"), 0o444);
    let games = mount.attr("tree/e4/games").unwrap().ino;
    let same = mount.attr("games/000002.pgn").unwrap();
    let listed = mount.attr("tree/e4/games/000002.pgn").unwrap();
    assert_eq!((same.ino, same.links), (listed.ino, listed.links));
    assert_eq!(
        mount.attr("tree/e4/games/000004.pgn").map(|attr| attr.ino),
        Err(libc::ENOENT)
    );
    let write = Access {
        write: true,
        ..Access::default()
    };
    for name in [&b"new.pgn"[..], b"000004.pgn", b"000006.pgn", b".x.swp"] {
        let made = drafts.create(games, name, write, false).unwrap_err();
        assert!(matches!(made, Error::NotPermitted), "{made}");
    }
    assert!(matches!(
        drafts.unlink(games, b"000002.pgn").unwrap_err(),
        Error::NotPermitted
    ));
    assert!(mount.write("tree/moves.tsv", "x").is_err());
    assert_eq!(mount.names("tree/e4/games").len(), 4);
}

#[test]
fn a_query_has_its_games_and_their_positions() {
    let mount = Mount::of_games();
    assert_eq!(mount.names("find"), ["README.txt"]);
    let readme = mount.text("find/README.txt");
    assert!(readme.contains("material:KRPKR") && readme.contains("in:deleted"));
    let query = "find/white:Adams/result:1-0";
    let listed = [
        "count",
        "games",
        "games.tsv",
        "games.pgn",
        "tree",
        "fen",
        "line",
    ];
    assert_eq!(mount.names(query), listed);
    assert_eq!(mount.text(&format!("{query}/count")), "2\n");
    assert_eq!(
        mount.names(&format!("{query}/games")),
        ["000001.pgn", "000005.pgn"]
    );
    let table = mount.text(&format!("{query}/games.tsv"));
    assert_eq!(
        columns_of(&table, &["number", "result"]),
        ["1 1-0", "5 1-0"]
    );
    let pgn = ["1", "5"].map(|id| mount.text(&format!("games/00000{id}.pgn")));
    assert_eq!(mount.text(&format!("{query}/games.pgn")), pgn.concat());
    // Of just these games.
    let tree = format!("{query}/tree");
    assert_eq!(mount.moves(&tree, &["san", "games"]), ["Nf3 1", "e4 1"]);
    assert_eq!(
        mount.names(&format!("{tree}/e4/e5/games")),
        ["000001.pgn", "000005.pgn"]
    );
    assert_eq!(mount.names(&format!("{query}/line/e4 e5/games")).len(), 2);
    assert_eq!(mount.names("find/white:Adams/result:0-1/games"), [""; 0]);
    assert_eq!(mount.target(&tree), format!("fen/{START}"));
    let parent = |path: &str| {
        let directory = mount.attr(path).unwrap().ino;
        mount.vfs.lookup(directory, b"..").unwrap().ino
    };
    for (path, above) in [
        (query, "find/white:Adams"),
        ("find/white:Adams", "find"),
        ("find", ""),
        ("find/white:Adams/games", "find/white:Adams"),
        ("find/white:Adams/fen", "find/white:Adams"),
        ("find/white:Adams/tree", "find/white:Adams/fen"),
    ] {
        assert_eq!(parent(path), mount.attr(above).unwrap().ino, "{path}");
    }
    // What widens the search.
    let scan = |query: &str| mount.text(&format!("find/{query}/count"));
    let sicilian = "position:rnbqkbnr:pp1ppppp:8:2p5:4P3:2P5:PP1P1PPP:RNBQKBNR_b_KQkq_-";
    assert_eq!(scan(sicilian), "0\n");
    assert_eq!(scan(&format!("in:variations/{sicilian}")), "1\n");
    let names = mount.names("find/in:variations/line/e4 c5 c3");
    assert_eq!(names.last().unwrap(), "d5");
    let line = mount.text("find/in:variations/line/e4 c5 c3/line.pgn");
    assert!(line.contains("\n1. e4 c5 2. c3 *\n"), "{line}");
    // Exact after a save, and edited in place.
    let text = mount.text("games/000004.pgn").replace('*', "1-0");
    mount
        .write("find/black:Carls/result:none/games/000004.pgn", &text)
        .unwrap();
    assert_eq!(mount.text(&format!("{query}/count")), "3\n");
    assert_eq!(mount.names("find/black:Carls/result:none/games"), [""; 0]);
    assert_eq!(
        mount.moves(&tree, &["san", "games"]),
        ["Nf3 1", "d4 1", "e4 1"]
    );
    let games = mount.attr("games").unwrap().ino;
    mount.vfs.drafts().unlink(games, b"000004.pgn").unwrap();
    assert_eq!(mount.text(&format!("{query}/count")), "2\n");
    let deleted = format!("{query}/in:deleted/games");
    assert_eq!(
        mount.names(&deleted),
        ["000001.pgn", "000004.pgn", "000005.pgn"]
    );
    assert!(
        mount
            .write(&format!("{deleted}/000004.pgn"), &text)
            .is_err()
    );
}

#[test]
fn invalid_terms_are_refused_and_their_log_is_bounded() {
    let mount = Mount::of_games();
    let errno = |path: &str| mount.attr(&format!("find/{path}")).map(|attr| attr.ino);
    for unknown in [
        "Carlsen",
        "whit:Carlsen",
        ".hidden",
        ".white:x",
        "desktop.ini",
        "count",
        "white:x/README.txt",
    ] {
        assert_eq!(errno(unknown), Err(libc::ENOENT), "{unknown}");
    }
    for bad in [
        "elo:25oo",
        "white:",
        "opponent:x",
        "squares:Nd9",
        "position:e4",
        "white:x/elo:-",
        "not-in:deleted",
    ] {
        assert_eq!(errno(bad), Err(libc::EINVAL), "{bad}");
    }
    assert!(errno("player:Adams/opponent:Burn").is_ok());
    let find = mount.attr("find").unwrap().ino;
    assert!(matches!(
        mount.vfs.lookup(find, b"white:\xff"),
        Err(Error::NotFound)
    ));
    let mut path = String::new();
    let mut deepest = 0;
    for _ in 0..1000 {
        path.push_str("/year:1900-");
        match errno(&path) {
            Ok(_) => deepest += 1,
            Err(errno) => {
                assert_eq!(errno, libc::EINVAL);
                break;
            }
        }
    }
    assert_eq!(deepest, 64);
    let long = format!("/white:{}", "x".repeat(240)).repeat(17);
    assert_eq!(errno(&long), Err(libc::EINVAL));
    // Why is told, the latest first.
    let why = mount.text(".cbfs/find.txt");
    let first = why.lines().next().unwrap();
    assert!(
        first.starts_with("find/white:xxx") && first.len() < 500,
        "{why}"
    );
    assert!(errno("/year:abc").is_err());
    let why = mount.text(".cbfs/find.txt");
    assert!(why.starts_with("find/year:abc: "), "{why}");
}

#[test]
fn queries_of_a_mount_are_those_of_the_command() {
    let base = fixture("cbh/sample/sample.cbh");
    let source = DatabaseSource::new(&base, Reading::default(), None);
    let mount = Mount {
        vfs: Vfs::open(Box::new(source), &Options::default()).unwrap(),
        base: base.clone(),
        _folder: tempfile::tempdir().unwrap(),
    };
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cbfs"));
        let output = command
            .arg("find")
            .arg(&base)
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let mut fitting = 0;
    for query in [
        &["year:1850-1990"][..],
        &["result:1-0", "not-has:variations"],
        &["has:comments", "in:variations"],
        &["moves:10-", "in:deleted"],
        &["material:KQP*KQ|KRP*KR"],
        &["not-text:zugzwang", "eco:none|A*|C*"],
    ] {
        let path = format!("find/{}", query.join("/"));
        let numbers = command(&[query, &["--numbers"]].concat());
        let games = mount.names(&format!("{path}/games"));
        let games: Vec<u32> = games
            .iter()
            .map(|name| name[..6].parse().unwrap())
            .collect();
        let expected: Vec<u32> = numbers.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(games, expected, "{path}");
        let table = command(&[query, &["--tsv"]].concat());
        assert_eq!(mount.text(&format!("{path}/games.tsv")), table, "{path}");
        for moves in ["", "e4", "e4 e5", "d4 d5 c4"] {
            let tree = command(&[query, &["--tree", moves]].concat());
            let place = if moves.is_empty() {
                "tree".to_owned()
            } else {
                format!("line/{moves}")
            };
            assert_eq!(
                mount.text(&format!("{path}/{place}/moves.tsv")),
                tree,
                "{path} {moves}"
            );
        }
        fitting += games.len();
    }
    assert!(fitting > 20, "{fitting}");
}

#[test]
fn a_walk_over_directories_ends() {
    let mount = Mount::of_games();
    let mut open = vec![String::new()];
    let mut count = 0;
    while let Some(path) = open.pop() {
        count += 1;
        assert!(count < 200, "{path}");
        for name in mount.names(&path) {
            let path = format!("{path}/{name}");
            let attr = mount.walk(&path, false).unwrap();
            if attr.kind == NodeKind::Directory {
                open.push(path);
            }
        }
    }
}

#[test]
fn positions_can_be_hidden() {
    let mount = Mount::of_games();
    let mut hidden = Shown::default();
    for name in ["tree", "line"] {
        hidden.hide(name).unwrap();
    }
    let source = DatabaseSource::new(&mount.base, Reading::default(), None).showing(hidden);
    let vfs = Vfs::open(Box::new(source), &Options::default()).unwrap();
    assert!(vfs.lookup(Ino::ROOT, b"tree").is_err() && vfs.lookup(Ino::ROOT, b"line").is_err());
    let fen = vfs.lookup(Ino::ROOT, b"fen").unwrap().ino;
    assert!(vfs.lookup(fen, START.as_bytes()).is_ok());
}

/// All positions of the games of a base, of variations too.
fn positions_of(base: &dyn Base) -> BTreeMap<PositionKey, Position> {
    let mut all = BTreeMap::new();
    let mut decoded = Decoded::default();
    for id in (1..=base.last_id()).map(GameId) {
        if base.read_game(id, &mut decoded).is_err() {
            continue;
        }
        let game = &decoded.game;
        let start = game.start.position.clone();
        let mut places = vec![start.clone()];
        for at in 1..=game.tree.len() {
            let at = game.tree.place(at).unwrap();
            let before = game.tree.parent(at).map_or(0, cbfs::game::PlyId::index);
            let mut position = places[before].clone();
            match game.tree.ply(at).unwrap().mv {
                Some(m) => drop(position.play(m)),
                None => position.play_null(),
            }
            places.push(position);
        }
        all.extend(
            places
                .into_iter()
                .map(|position| (position.key(), position)),
        );
    }
    all
}

#[test]
fn the_index_answers_as_a_search_does() {
    let mut asked = 0;
    for path in fixture_bases() {
        let base = base::open(&path, &Reading::default()).unwrap();
        let searched = Searched(base.as_ref());
        let positions = positions_of(base.as_ref());
        for in_variations in [false, true] {
            let query = Query {
                in_variations,
                ..Query::default()
            };
            let filter = Filter::new(&query, &searched).unwrap();
            let index = PositionTable::build(&searched, in_variations, usize::MAX)
                .unwrap()
                .unwrap();
            // Read anew, game by game, it is the same.
            let some: BTreeSet<u32> = (1..=searched.last().min(20)).step_by(3).collect();
            let later = index.after(&some, &searched).unwrap().unwrap();
            for position in positions.values().step_by(1 + positions.len() / 60) {
                let counter = Counter::new(position, in_variations);
                let mut expected = Reached::default();
                scan(&searched, &filter, &counter, &mut |told| {
                    if let ScanEvent::Piece(piece) = told {
                        expected.add(piece);
                    }
                    Ok(())
                })
                .unwrap();
                for index in [&index, &later] {
                    let games = index.games(position, &searched, None).unwrap();
                    assert_eq!(games, expected.games, "{path:?} {position:?}");
                    let played = index.played(position, &searched, None).unwrap();
                    let [found, expected] =
                        [&played, &expected.played].map(|one| one.table(position));
                    assert_eq!(found, expected, "{path:?}");
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 500, "{asked}");
}

#[test]
fn an_index_of_too_many_positions_is_not_made() {
    let base = base::open(&fixture("cbh/sample/sample.cbh"), &Reading::default()).unwrap();
    assert!(
        PositionTable::build(&Searched(base.as_ref()), false, 10)
            .unwrap()
            .is_none()
    );
}

/// A mount whose index of positions is in a file; of games with these first moves.
fn mount_with_file(caches: &Path) -> Mount {
    let mut mount = Mount::of(&GAMES.repeat(12));
    mount.open_with_file(caches);
    mount
}

impl Mount {
    fn open_with_file(&mut self, caches: &Path) {
        self.vfs.close();
        let source = source_with(&self.base, Some(caches.to_path_buf())).keeping_in_memory(10);
        self.vfs = Vfs::open(Box::new(source), &Options::default()).unwrap();
    }

    /// Waits until `.cbfs/status` says this of the index.
    fn wait_for_index(&self, state: &str) {
        let mut told = String::new();
        for _ in 0..600 {
            told = self.text(".cbfs/status");
            if told.contains(state) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("{told}");
    }

    /// What is told of some positions is what a search through the base finds.
    fn agrees(&self) {
        let base = base::open(&self.base, &Reading::default()).unwrap();
        let searched = Searched(base.as_ref());
        let start = Position::default();
        for (path, in_variations, moves) in [
            ("tree", false, vec![]),
            ("tree/e4", false, vec!["e2e4"]),
            ("tree/e4/c5", false, vec!["e2e4", "c7c5"]),
            ("find/in:variations/tree/e4/c5", true, vec!["e2e4", "c7c5"]),
            ("tree/d4", false, vec!["d2d4"]),
        ] {
            let mut position = start.clone();
            for m in moves {
                let uci: shakmaty::uci::UciMove = m.parse().unwrap();
                let rules: shakmaty::Chess =
                    shakmaty::fen::Fen::from_ascii(text_of(&position).as_bytes())
                        .unwrap()
                        .into_position(shakmaty::CastlingMode::Standard)
                        .unwrap();
                let _ = position.play(uci.to_move(&rules).unwrap());
            }
            let query = Query {
                in_variations,
                ..Query::default()
            };
            let filter = Filter::new(&query, &searched).unwrap();
            let counter = Counter::new(&position, in_variations);
            let mut expected = Reached::default();
            scan(&searched, &filter, &counter, &mut |told| {
                if let ScanEvent::Piece(piece) = told {
                    expected.add(piece);
                }
                Ok(())
            })
            .unwrap();
            let table = expected.played.table(&position);
            assert_eq!(self.text(&format!("{path}/moves.tsv")), table, "{path}");
            let games: Vec<String> = expected
                .games
                .from(0)
                .map(|id| format!("{id:06}.pgn"))
                .collect();
            assert_eq!(self.names(&format!("{path}/games")), games, "{path}");
        }
        let fen = "rnbqkbnr:pp1ppppp:8:2p5:4P3:8:PPPP1PPP:RNBQKBNR_w_KQkq_-";
        let count = self.text(&format!("find/position:{fen}/count"));
        assert_eq!(
            count.trim(),
            self.names("tree/e4/c5/games").len().to_string()
        );
    }
}

/// The FEN of a position.
fn text_of(position: &Position) -> String {
    let mut fen = Vec::new();
    cbfs::game::Start {
        position: position.clone(),
        ..cbfs::game::Start::default()
    }
    .append_fen_to(&mut fen);
    String::from_utf8(fen).unwrap()
}

#[test]
fn the_index_in_a_file_is_exact_whatever_becomes_of_the_base_and_of_the_file() {
    let caches = tempfile::tempdir().unwrap();
    let mut numbers = Numbers::of(31);
    let mut mount = mount_with_file(caches.path());
    mount.agrees();
    mount.wait_for_index("in use");
    for round in 0..60 {
        let id = 1 + numbers.below(60);
        let name = format!("{id:06}.pgn");
        let drafts = mount.vfs.drafts();
        match numbers.below(8) {
            0..4 => {
                let path = format!("games/{name}");
                if mount.attr(&path).is_ok() {
                    let line = *numbers.one(&[
                        "1. e4 c5 2. c3 *",
                        "1. d4 d5 *",
                        "1. e4 (1. d4 e6) 1... e5 (1... c5 2. Nf3) *",
                        "1. c4 *",
                    ]);
                    let text = mount.text(&path);
                    let tags = text.split("\n\n").next().unwrap();
                    let result = tags.split("[Result \"").nth(1).unwrap();
                    let line = line.replace('*', result.split('"').next().unwrap());
                    let text = format!("{tags}\n\n{line}\n");
                    mount.write(&path, &text).unwrap();
                }
            }
            4 => {
                let games = mount.attr("games").unwrap().ino;
                let _ = drafts.unlink(games, name.as_bytes());
            }
            5 => {
                let _ = drafts.rename(
                    mount.attr("deleted").unwrap().ino,
                    name.as_bytes(),
                    mount.attr("games").unwrap().ino,
                    name.as_bytes(),
                    cbfs::vfs::RenameMode::Plain,
                );
            }
            6 => {
                let players = mount.attr("players").unwrap().ino;
                let (from, to) = *numbers.one(&[("Carls", "Carlsen"), ("Carlsen", "Carls")]);
                let _ = drafts.rename(
                    players,
                    from.as_bytes(),
                    players,
                    to.as_bytes(),
                    cbfs::vfs::RenameMode::Plain,
                );
            }
            _ => {
                // The file goes, or is cut, or one of nonsense; or all is mounted anew.
                let files: Vec<_> = fs::read_dir(caches.path()).unwrap().collect();
                if let Some(file) = numbers.one_of(&(0..files.len()).collect::<Vec<_>>()) {
                    let path = files[file].as_ref().unwrap().path();
                    let bytes = fs::read(&path).unwrap();
                    match numbers.below(3) {
                        0 => fs::remove_file(&path).unwrap(),
                        1 => fs::write(&path, &bytes[..numbers.below(bytes.len())]).unwrap(),
                        _ => fs::write(&path, vec![7; bytes.len()]).unwrap(),
                    }
                }
                mount.open_with_file(caches.path());
            }
        }
        mount.agrees();
        if round % 20 == 19 {
            // Another program takes a game away.
            mount.vfs.close();
            let mut bytes = fs::read(&mount.base).unwrap();
            bytes[id * 46] ^= 0x80;
            fs::write(&mount.base, bytes).unwrap();
            mount.open_with_file(caches.path());
            mount.agrees();
        }
    }
    mount.wait_for_index("in use");
    mount.vfs.close();
    let left = fs::read_dir(caches.path()).unwrap();
    let names = left.map(|file| file.unwrap().file_name().into_string().unwrap());
    let strange: Vec<String> = names
        .filter(|name| {
            !["positions", "masks", "changed", "sizes"]
                .iter()
                .any(|end| name.ends_with(end))
        })
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn an_open_position_text_stays_the_same_to_its_end() {
    let mount = Mount::of_games();
    let paths = [
        "tree/moves.tsv",
        "find/white:Adams/count",
        "tree/e4/stats.json",
    ];
    let before: Vec<_> = paths
        .map(|path| (mount.attr(path).unwrap(), mount.text(path)))
        .into();
    for number in 0..3 {
        let text = mount.text("games/000001.pgn").replace("Adams", "Burns");
        let tags = text.split("\n\n").next().unwrap();
        let line = ["1. c4 e5 1-0", "1. e4 1-0", "1. b3 1-0"][number];
        mount
            .write("games/000001.pgn", &format!("{tags}\n\n{line}\n"))
            .unwrap();
        for (attr, text) in &before {
            let read = mount.vfs.read(attr.ino, 0, u32::MAX).unwrap();
            assert_eq!(String::from_utf8_lossy(&read), *text, "{number}");
        }
    }
}

#[test]
fn an_index_that_cannot_be_made_is_said_so_and_answers_come_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let no_folder = folder.path().join("file");
    fs::write(&no_folder, "").unwrap();
    let mount = mount_with_file(&no_folder);
    mount.agrees();
    mount.wait_for_index("cannot be made");
    mount.agrees();
}
