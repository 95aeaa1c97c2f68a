//! Damaged bases: for any bytes, each game is shown as far as possible or
//! refused with a reason, without panics, in bounded time.
//!
//! Each file of each fixture is truncated at many places and changed byte by
//! byte. The seeds are fixed, so that a failure can be reproduced.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use cbfs::cbh::{Database, Decoded, Entry, Error, GameId, Options};
use tempfile::TempDir;

use common::{fixture_bases, text_of};

/// A copy of a base, to damage.
struct Copy {
    directory: TempDir,
    stem: PathBuf,
}

impl Copy {
    fn of(base: &Path) -> Copy {
        let directory = tempfile::tempdir().unwrap();
        for file in fs::read_dir(base.parent().unwrap()).unwrap() {
            let file = file.unwrap().path();
            if file.is_file() {
                common::copy_bytes(&file, &directory.path().join(file.file_name().unwrap()));
            }
        }
        let stem = directory.path().join(base.file_name().unwrap());
        Copy { directory, stem }
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.directory.path()).unwrap();
        let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|kind| kind != "jsonl"));
        files.sort();
        files
    }

    /// Opens the base and reads all of it; how many games were readable.
    fn read(&self) -> Result<usize, Error> {
        let database = Database::open(&self.stem, &Options::default())?;
        let mut entries = Vec::new();
        let last = database.last_id();
        assert!(last < 1000, "{last} records are more than the file holds");
        database.entries(GameId(1), last, &mut entries)?;
        let mut decoded = Decoded::default();
        let mut readable = 0;
        for Entry { id, .. } in entries {
            if database.read_game(id, &mut decoded).is_ok() {
                assert!(text_of(&decoded).ends_with("\n\n"));
                readable += 1;
            }
        }
        Ok(readable)
    }
}

/// A sequence of numbers that looks random and is the same in every run.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |last| {
        Some(
            last.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    })
    .map(|number| number >> 33)
}

#[test]
fn a_base_cut_short_anywhere_is_read_or_refused() {
    for base in fixture_bases() {
        let copy = Copy::of(&base);
        for file in copy.files() {
            let whole = fs::read(&file).unwrap();
            let step = (whole.len() / 40).max(1);
            for length in (0..whole.len()).step_by(step) {
                fs::write(&file, &whole[..length]).unwrap();
                if let Err(error) = copy.read() {
                    let line = error.to_string();
                    assert!(!line.contains('\n') && line.contains('/'), "{line}");
                }
            }
            fs::write(&file, &whole).unwrap();
        }
        assert!(copy.read().is_ok(), "{}", base.display());
    }
}

#[test]
fn a_base_with_any_byte_changed_is_read_or_refused() {
    for (base, seed) in fixture_bases().iter().zip(1..) {
        let copy = Copy::of(base);
        for file in copy.files() {
            let mut bytes = fs::read(&file).unwrap();
            if bytes.is_empty() {
                continue;
            }
            for number in numbers(seed).take(120) {
                let at = usize::try_from(number).unwrap() % bytes.len();
                let before = bytes[at];
                bytes[at] = (number >> 8 & 0xff) as u8;
                fs::write(&file, &bytes).unwrap();
                let _ = copy.read();
                bytes[at] = before;
            }
            fs::write(&file, &bytes).unwrap();
        }
        assert!(copy.read().is_ok(), "{}", base.display());
    }
}

#[test]
fn damage_to_one_game_does_not_affect_others() {
    let base = common::fixtures().join("cbh/sample/sample.cbh");
    let copy = Copy::of(&base);
    let whole = copy.read().unwrap();
    let moves = copy.directory.path().join("sample.cbg");
    let mut bytes = fs::read(&moves).unwrap();
    // Moves of the first game, behind the file header and that of the blob.
    for byte in &mut bytes[32..36] {
        *byte = !*byte;
    }
    fs::write(&moves, &bytes).unwrap();
    assert_eq!(copy.read().unwrap(), whole, "all games are still shown");
    let database = Database::open(&copy.stem, &Options::default()).unwrap();
    let mut decoded = Decoded::default();
    let damaged: Vec<u32> = (1..=database.last_id())
        .filter(|&id| {
            let read = database.read_game(GameId(id), &mut decoded).is_ok();
            read && !decoded.defects.is_empty()
        })
        .collect();
    assert_eq!(damaged, [1]);
}

#[test]
fn a_header_with_too_many_games_is_not_believed() {
    let base = common::fixtures().join("cbh/sample/sample.cbh");
    let copy = Copy::of(&base);
    let sound = Database::open(&copy.stem, &Options::default()).unwrap();
    let mut bytes = fs::read(&copy.stem).unwrap();
    bytes[6..10].copy_from_slice(&u32::MAX.to_be_bytes());
    fs::write(&copy.stem, &bytes).unwrap();
    let database = Database::open(&copy.stem, &Options::default()).unwrap();
    assert_eq!(database.last_id(), sound.last_id());
    let defect = database.defects()[0].to_string();
    assert!(
        defect.starts_with(".cbh at 0x6: 4294967294 records claimed"),
        "{defect}"
    );
}
