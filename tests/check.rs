//! `cbfs check` on sound and on damaged bases.

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

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use cbfs::cbh::{Database, Error, Options};
use cbfs::game::Defect;

use common::{copy_of_base, long_base};

const CBH_RECORD: usize = 46;
const CBJ_HEADER: usize = 32;
const CBJ_RECORD: usize = 120;

/// All that a check reports of a base; it must end, and count all records.
fn try_check(base: &Path) -> Result<Vec<String>, Error> {
    let database = Database::open(base, &Options::default())?;
    let mut defects = Vec::new();
    let mut report = |defect: Defect| defects.push(defect.to_string());
    let seen = Cell::new(0);
    database.check(&|records| seen.set(seen.get() + records), &mut report)?;
    assert_eq!(seen.get(), u64::from(database.last_id()));
    Ok(defects)
}

fn check(base: &Path) -> Vec<String> {
    try_check(base).unwrap()
}

/// What is known to be wrong with real bases.
fn known_defects(base: &str) -> &'static [&'static str] {
    match base {
        "linares" => &[
            ".cbh at 0x1f0f: game 172 has no texts, though flagged so",
            ".cbp at 0x1337: record 73 is in use without a game (it counts 104281944)",
            ".cbp at 0x14: 80 records in use claimed, 79 found",
            ".cbp at 0xcac: record 48 is deleted but on no chain",
            ".cbp at 0x778: balance of record 28 is 1, should be 0",
            ".cbp at 0x6af: balance of record 25 is 0, should be -1",
        ],
        "Mate2" => &[
            ".cbg at 0x105: game 7: an opcode to ignore",
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
        "StandardMissingPop" => &[
            ".cbg at 0x89: game 1: a move of a piece that is not there as ply 108 of the stream",
            ".cbg at 0xf1: game 2: no end marker",
        ],
        "test-annotations" => &[
            ".cba at 0x1a: game 1: the record is that of game 0",
            ".cba at 0x36: game 2: the record is that of game 0",
            ".cba at 0x55: game 3: the record is that of game 0",
            ".cba at 0x7d: game 4: the record is that of game 0",
            ".cba at 0x93: game 5: the record is that of game 0",
            ".cba at 0xbf: game 6: the record is that of game 0",
        ],
        _ => &[],
    }
}

/// What the recipes of fixtures have broken.
fn broken_by_recipe(base: &str) -> &'static [&'static str] {
    match base {
        "annotations" => {
            &[".cba at 0xe5: game 6: annotations on moves that the game does not have: 1"]
        }
        "encodings" => &[
            ".cbg at 0x986: game 34: an opcode to ignore",
            ".cbg at 0x996: game 35: no end marker",
            ".cbg at 0x9a3: game 36: 3 bytes after the end marker",
        ],
        "damage" => &[
            ".cbh at 0x6: 11 records claimed, 10 found",
            ".cbg at 0x7fffffff: the blob of record 2 begins past the end of the file, which has \
             167 bytes",
            ".cbg at 0x39: game 3: blob size is 0",
            ".cbg at 0x4b: game 4: an illegal move as ply 11 of the stream",
            ".cbg at 0x62: game 6: encoding mode 12 is not supported",
            ".cbg at 0x7d: game 8: encoding mode 63 (an illegal position) is not supported",
            ".cbh at 0xe6: game 5 refers to record 16777215 of .cbp, which does not exist",
            ".cbp at 0x20: record 0 counts 8 references, there are 7",
            ".cbp at 0x63: record 1 counts 10 references, there are 9",
            ".cbp at 0xa6: record 2 is in use without a game (it counts 1)",
            ".cbp at 0xe9: record 3 is deleted, but game 7 refers to it",
            ".cbp at 0x14: 4 records in use claimed, 3 found",
            ".cbp at 0xe9: record 3 is deleted but on no chain",
            ".cbp at 0x63: record 1 leads to 3, which is deleted",
            ".cbp at 0x6b: balance of record 1 is 1, should be 0",
            ".cbp at 0xae: balance of record 2 is -1, should be 0",
            ".cbt at 0x39b: record 9 is in use without a game (it counts 1)",
            ".cbc at 0x20: record 0 counts 10 references, there are 9",
            ".cbs at 0x20: record 0 counts 10 references, there are 9",
        ],
        "misplaced" => MISPLACED,
        // Several players of one name are what it is for.
        "namesakes" => &[
            ".cbp at 0x16f: record 5 does not sort after 4, which it follows",
            ".cbp at 0x27b: record 9 does not sort after 8, which it follows",
            ".cbp at 0x3ca: record 14 does not sort after 12, which it follows",
            ".cbp at 0xa6: record 2 does not sort after 0, which it follows",
        ],
        _ => &[],
    }
}

/// What the recipe of remarks at odd places has broken.
const MISPLACED: &[&str] = &[
    ".cba at 0x44: game 1: annotations on moves that the game does not have: 1",
    ".cba at 0x5e: game 2: annotations are not in order of their moves",
    ".cba at 0x6a: game 2: annotations on moves that the game does not have: 2",
    ".cba at 0x93: game 3: annotation of 5 bytes, 18 left",
    ".cba at 0xbf: game 4: annotation of 65535 bytes, 15 left",
    ".cba at 0xd5: game 5: the count of annotations is 9, should be 3",
    ".cba at 0x109: game 6: 6 bytes expected, 3 left",
    ".cba at 0x125: game 7: the count of annotations is 1, should be 3",
    ".cba at 0x13f: game 8: the record is that of game 1",
    ".cba at 0x167: game 9: annotations are not in order of their moves",
    ".cbg at 0xfb: game 15: 1 bytes after the end marker",
    ".cbg at 0x107: game 16: the data end after 4 moves of 5",
    ".cbg at 0x11f: game 17: 1 bytes after the end marker",
];

#[test]
fn real_bases_have_exactly_their_known_defects() {
    for base in common::real_bases() {
        let name = base.file_stem().unwrap().to_str().unwrap();
        assert_eq!(check(&base), known_defects(name), "{name}");
    }
}

#[test]
fn fixtures_have_only_the_defects_of_their_recipes() {
    for base in common::fixture_bases() {
        let name = base.file_stem().unwrap().to_str().unwrap();
        assert_eq!(check(&base), broken_by_recipe(name), "{name}");
    }
}

/// A copy of the sample with some bytes of one file replaced.
fn changed(extension: &str, offset: usize, bytes: &[u8]) -> Vec<String> {
    let directory = copy_of_base("cbh/sample");
    let base = directory.path().join("sample.cbh");
    put(&base.with_extension(extension), offset, bytes);
    check(&base)
}

fn put(file: &Path, offset: usize, bytes: &[u8]) {
    let mut content = fs::read(file).unwrap();
    content[offset..offset + bytes.len()].copy_from_slice(bytes);
    fs::write(file, content).unwrap();
}

/// A change of the sample — file, offset, bytes — and a part of what is told
/// of it.
type Change<'a> = (&'a str, usize, &'a [u8], &'a str);

fn assert_told(changes: &[Change<'_>]) {
    for (extension, offset, bytes, part) in changes {
        let defects = changed(extension, *offset, bytes);
        let told = defects.iter().any(|defect| defect.contains(part));
        assert!(told, "no {part:?} in {defects:#?}");
    }
}

#[test]
fn wrong_file_headers_are_reported() {
    assert_told(&[
        (
            "cbh",
            40,
            &[9],
            ".cbh at 0x28: the next record has the number 150994960 here, 16 at 0x6",
        ),
        (
            "cbg",
            0,
            &[0, 27],
            ".cbg at 0x0: a header of 27 bytes, neither 10 nor 26",
        ),
        (
            "cbg",
            2,
            &[1],
            ".cbg at 0x2: 16778067 bytes claimed, the file has 851",
        ),
        (
            "cbg",
            6,
            &[0, 0, 0, 3],
            ".cbg at 0x12: 0 wasted bytes, but 3 at 0x6",
        ),
        (
            "cbg",
            10,
            &[1],
            ".cbg at 0xa: 72057594037928787 bytes claimed, the file has 851",
        ),
        (
            "cba",
            2,
            &[1],
            ".cba at 0x2: 16777371 bytes claimed, the file has 155",
        ),
        (
            "cbj",
            8,
            &[16],
            ".cbj at 0x8: 16 records for 15 games and texts",
        ),
        ("cbj", 8, &[16], ".cbj at 0x8: 16 records claimed, 15 found"),
        (
            "cbtt",
            4,
            &[60],
            ".cbtt at 0x4: record size 60 is impossible",
        ),
        (
            "cbtt",
            8,
            &[99],
            ".cbtt at 0x8: record 99 is the last one claimed, 15 found",
        ),
        (
            "cbe",
            24,
            &[255, 255],
            ".cbe at 0x18: the header claims 65563 bytes, the file has ",
        ),
    ]);
}

#[test]
fn records_that_contradict_their_data_are_reported() {
    let extended = |game: usize, field| CBJ_HEADER + (game - 1) * CBJ_RECORD + field;
    assert_told(&[
        (
            "cbh",
            46,
            &[0x40],
            ".cbh at 0x2e: record 1 is neither game nor text (0x40)",
        ),
        (
            "cbh",
            46 + 27,
            &[9],
            ".cbh at 0x49: game 1: result 9 has no meaning",
        ),
        (
            "cbh",
            46 + 39,
            &[8],
            ".cbh at 0x55: game 1 has no unusual rules, though flagged so",
        ),
        (
            "cbh",
            46 + 45,
            &[200],
            ".cbh at 0x5b: game 1 claims 200 moves, there are ",
        ),
        (
            "cbh",
            46 + 1,
            &[0, 0, 0, 4],
            ".cbg at 0x4: the blob of record 1 begins in the header",
        ),
        ("cba", 26, &[9], ".cba at 0x1a: game "),
        ("cba", 29, &[9], ": the mark of annotations is missing"),
        (
            "cba",
            26 + 9,
            &[99],
            ": the count of annotations is 99, should be ",
        ),
        (
            "cbj",
            extended(2, 12),
            &[1],
            ".cbj at 0xa4: offset of record 2 in .cba is ",
        ),
        (
            "cbj",
            extended(2, 30),
            &[1],
            ".cbj at 0xb6: offset of record 2 in .cbg is ",
        ),
    ]);
}

#[test]
fn overlapping_games_are_reported() {
    let base = long_base(3);
    let defects = check(&base.path().join("sample.cbh"));
    for fact in [
        ".cbg at 0x1a: the blob of record 2 overlaps that of record 1",
        ".cbg at 0x1a: the blob of record 3 overlaps that of record 1",
    ] {
        assert!(defects.iter().any(|defect| defect == fact), "{defects:#?}");
    }
}

#[test]
fn a_record_after_the_last_one_is_reported_unless_empty() {
    let directory = copy_of_base("cbh/sample");
    let base = directory.path().join("sample.cbh");
    let whole = fs::read(&base).unwrap();
    fs::write(&base, [&whole[..], &[0; CBH_RECORD]].concat()).unwrap();
    assert_eq!(check(&base), [""; 0]);
    let first = &whole[CBH_RECORD..2 * CBH_RECORD];
    fs::write(&base, [&whole[..], first].concat()).unwrap();
    assert_eq!(
        check(&base),
        [".cbh at 0x2e0: a record in use follows the last one, 15"]
    );
}

#[test]
fn truncating_a_file_during_a_check_is_an_error() {
    let directory = copy_of_base("cbh/sample");
    let base = directory.path().join("sample.cbh");
    let database = Database::open(&base, &Options::default()).unwrap();
    fs::File::options()
        .write(true)
        .open(base.with_extension("cbg"))
        .unwrap()
        .set_len(100)
        .unwrap();
    let checked = database.check(&|_| {}, &mut |_| {});
    assert!(matches!(checked, Err(Error::Io { .. })), "{checked:?}");
}

/// A sequence of numbers that looks random and is the same in every run.
fn numbers(seed: u64) -> impl Iterator<Item = usize> {
    let next = |last: &u64| {
        let next = last.wrapping_mul(6_364_136_223_846_793_005);
        Some(next.wrapping_add(1_442_695_040_888_963_407))
    };
    std::iter::successors(Some(seed), next).map(|number| usize::try_from(number >> 33).unwrap())
}

/// Every file of a copy of the base, with the base itself.
fn files_of(base: &str) -> (tempfile::TempDir, PathBuf, Vec<PathBuf>) {
    let directory = copy_of_base(base);
    let entries = fs::read_dir(directory.path()).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let base = files.iter().find(|file| file.extension().unwrap() == "cbh");
    (directory, base.unwrap().clone(), files)
}

/// Whether `.cbh` and what it leads to is never read: not part of a check.
fn is_beside(file: &Path) -> bool {
    let extension = file.extension().unwrap().to_str().unwrap();
    ["cbm", "ini", "jsonl"].contains(&extension)
}

#[test]
fn a_base_cut_short_anywhere_has_defects_or_is_refused() {
    for base in ["cbh/sample", "cbh/annotations", "cbh/texts"] {
        let (_directory, base, files) = files_of(base);
        for file in files.iter().filter(|file| !is_beside(file)) {
            let whole = fs::read(file).unwrap();
            for length in (0..whole.len()).step_by((whole.len() / 25).max(1)) {
                fs::write(file, &whole[..length]).unwrap();
                let found = try_check(&base);
                assert!(
                    found.is_err() || !found.unwrap().is_empty(),
                    "{} cut to {length} of {}",
                    file.display(),
                    whole.len()
                );
            }
            fs::write(file, &whole).unwrap();
        }
    }
}

#[test]
fn a_base_with_any_byte_changed_is_checked_to_the_end() {
    for (base, seed) in ["cbh/sample", "cbh/annotations", "cbh/chess960", "cbh/texts"]
        .into_iter()
        .zip(1..)
    {
        let (_directory, base, files) = files_of(base);
        for file in files.iter().filter(|file| !is_beside(file)) {
            let whole = fs::read(file).unwrap();
            for number in numbers(seed).take(60) {
                let mut bytes = whole.clone();
                bytes[number % whole.len()] ^= 1 << (number % 7);
                bytes[number / 3 % whole.len()] = 0xff;
                fs::write(file, &bytes).unwrap();
                let _ = try_check(&base);
            }
            fs::write(file, &whole).unwrap();
        }
    }
}

#[test]
fn a_damaged_first_page_of_entities_is_reported_and_the_games_stay() {
    for extension in ["cbp", "cbt", "cbc", "cbs", "cbe", "cbl"] {
        for (len, fill) in [(28, 0), (32, 0xff), (4096, 0)] {
            let directory = copy_of_base("cbh/sample");
            let base = directory.path().join("sample.cbh");
            let file = base.with_extension(extension);
            let len = len.min(usize::try_from(fs::metadata(&file).unwrap().len()).unwrap());
            put(&file, 0, &vec![fill; len]);
            put(&base, 46 + 45, &[200]);
            let about = format!("{extension} {len}");
            let defects = check(&base);
            let told = |part: &str| defects.iter().filter(|line| line.contains(part)).count();
            let place =
                format!(".{extension} at 0x8: not an entity file: the signature is missing");
            assert_eq!(told(&place), 1, "{about}: {defects:#?}");
            assert_eq!(told("game 1 claims 200 moves"), 1, "{about}: {defects:#?}");
            let is_whole_lost = len > 32;
            assert!(defects.len() == 2 || is_whole_lost, "{about}: {defects:#?}");
            let games = common::games_of(&base);
            assert_eq!(games.len(), 14, "{about}");
            let sound = common::games_of(&common::fixture("cbh/sample/sample.cbh"));
            assert!(games == sound || is_whole_lost, "{about}");
        }
    }
}
