//! Helpers that several tests use: locations of bases, and texts of games.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses a part of this module"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper of tests fails and speaks as a test does"
)]

pub(crate) mod behaviours;
pub(crate) mod books;
pub(crate) mod command;
pub(crate) mod daemon;
pub(crate) mod games;
pub(crate) mod groups;
pub(crate) mod mounted;
pub(crate) mod numbers;
pub(crate) mod pack;
pub(crate) mod planted;
pub(crate) mod texts;
pub(crate) mod trees;
pub(crate) mod volume;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cbfs::cbh::{Database, Decoded, GameId, Options};

/// The PGN text of a decoded game.
pub(crate) fn text_of(decoded: &Decoded) -> String {
    let mut text = Vec::new();
    cbfs::pgn::encode(&decoded.game, &decoded.defects, &mut text);
    String::from_utf8(text).unwrap()
}

/// The texts of all games, with their numbers and whether they are deleted.
pub(crate) fn games_of(cbh: &Path) -> BTreeMap<u32, (bool, String)> {
    let database = Database::open(cbh, &Options::default()).unwrap();
    let mut entries = Vec::new();
    database
        .entries(GameId(1), database.last_id(), &mut entries)
        .unwrap();
    let mut decoded = Decoded::default();
    let mut games = BTreeMap::new();
    for entry in entries {
        if database.read_game(entry.id, &mut decoded).is_ok() {
            games.insert(entry.id.0, (entry.is_deleted, text_of(&decoded)));
        }
    }
    games
}

/// The folder of real bases, which is not part of the project. Without it,
/// tests on real bases print a message and check nothing.
pub(crate) fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = std::env::var_os("CBFS_SHARED").map_or_else(beside, PathBuf::from);
    if folder.join("bases").is_dir() {
        return Some(folder);
    }
    println!(
        "NOT CHECKED: there are no real bases at {}; set CBFS_SHARED to their folder",
        folder.display()
    );
    // A machine that ought to have them can ask for a failure.
    assert!(
        std::env::var_os("CBFS_REQUIRE_BASES").is_none(),
        "the real bases are required"
    );
    None
}

/// Every real base, by its `.cbh`.
pub(crate) fn real_bases() -> Vec<PathBuf> {
    shared().map_or_else(Vec::new, |shared| bases_in(&shared.join("bases")))
}

/// Every base of the fixtures.
pub(crate) fn fixture_bases() -> Vec<PathBuf> {
    bases_in(&fixtures().join("cbh"))
}

/// The folder of fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Real bases, each with the file of its known content.
pub(crate) fn bases_with_truth() -> Vec<(PathBuf, PathBuf)> {
    let Some(shared) = shared() else {
        return Vec::new();
    };
    let truth = |base: &PathBuf| {
        let folder = base.parent()?.file_name()?;
        let truth = shared.join("truth").join(folder).with_extension("jsonl");
        truth.is_file().then_some(truth)
    };
    let bases = real_bases().into_iter();
    bases
        .filter_map(|base| Some((base.clone(), truth(&base)?)))
        .collect()
}

/// Fixtures, each with the file of the content in its recipe. `misplaced` is
/// left out, because a header counts moves that are gone;
/// `tests/nothing_lost.rs` reads it.
pub(crate) fn fixtures_with_truth() -> Vec<(PathBuf, PathBuf)> {
    let truth = |base: &Path| base.with_file_name("expected.jsonl");
    let bases = fixture_bases().into_iter();
    bases
        .map(|base| (base.clone(), truth(&base)))
        .filter(|(base, truth)| truth.is_file() && !base.ends_with("misplaced.cbh"))
        .collect()
}

pub(crate) fn bases_in(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(folder) else {
            return Vec::new();
        };
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let mut bases: Vec<PathBuf> = entries(folder)
        .iter()
        .flat_map(|folder| entries(folder))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cbh"))
        .collect();
    bases.sort();
    bases
}

/// A file of the fixtures.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(path)
}

/// Returns whether a mount can be tested here; prints a message if not.
pub(crate) fn has_fuse() -> bool {
    let device = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse");
    match device {
        Ok(_) => true,
        Err(error) => {
            eprintln!("\n*** NOT TESTED: /dev/fuse: {error}; no mount was made ***\n");
            // A machine that ought to have it can ask for a failure.
            assert!(
                std::env::var_os("CBFS_REQUIRE_FUSE").is_none(),
                "/dev/fuse is required"
            );
            false
        }
    }
}

/// Copies the bytes of a file. The copy is writable, whatever the mode of the
/// original.
pub(crate) fn copy_bytes(from: &Path, to: &Path) {
    fs::write(to, fs::read(from).unwrap()).unwrap();
}

/// A copy of a fixture base, for a test that damages it.
pub(crate) fn copy_of_base(base: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture(base)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            copy_bytes(&path, &directory.path().join(path.file_name().unwrap()));
        }
    }
    directory
}

/// A base that contains the first game of the sample many times.
pub(crate) fn long_base(games: u32) -> tempfile::TempDir {
    let directory = copy_of_base("cbh/sample");
    let headers = directory.path().join("sample.cbh");
    let mut bytes = fs::read(&headers).unwrap();
    bytes.truncate(2 * 46);
    bytes[6..10].copy_from_slice(&(games + 1).to_be_bytes());
    let record = bytes[46..].to_vec();
    bytes.extend(record.repeat(games as usize - 1));
    fs::write(&headers, bytes).unwrap();
    directory
}
