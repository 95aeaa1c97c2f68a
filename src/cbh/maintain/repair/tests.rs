use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::*;
use crate::cbh::base::samples;
use crate::cbh::{Decoded, Family, GameId, Importer, Options, PreparedGame};
use crate::game::{Defect, Game, RatingType};
use crate::storage::{
    Directory, FileFilter, MemoryDirectory, SimulatedFailure, Storage, Store, StoreAccess,
    StoreOptions,
};

const JOURNAL: &str = ".sample.cbfs-journal";

const POWER_OFF: SimulatedFailure = SimulatedFailure {
    errno: libc::EIO,
    writes_half: true,
    lasts: true,
};

type Files = BTreeMap<OsString, Vec<u8>>;

/// A base with damaged file headers, records and trees.
fn damaged() -> MemoryDirectory {
    let directory = changed(&|extension| match extension {
        // Next record number, and moves of game 5.
        "cbh" => &[43, 46 * 5 + 45],
        "cbg" => &[5, 17],
        "cbj" => &[8],
        // Roots, live records, counts and first games.
        "cbp" => &[4, 20, 32 + 59, 32 + 67 * 3 + 63],
        "cbt" => &[20, 32 + 91],
        _ => &[],
    });
    directory.put("sample.CIT", *b"stale");
    directory
}

/// The sample base with other bytes at some places of its files.
fn changed<'p>(places: &dyn Fn(&str) -> &'p [usize]) -> MemoryDirectory {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/cbh/sample");
    let directory = MemoryDirectory::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_owned();
        let mut bytes = fs::read(&path).unwrap();
        for at in places(path.extension().unwrap().to_str().unwrap()) {
            bytes[*at] ^= 0x15;
        }
        directory.put(name, bytes);
    }
    directory
}

fn opened(directory: &MemoryDirectory) -> Result<OpenBase, ChangeError> {
    let opening = StoreOptions {
        journal: OsStr::new(JOURNAL),
        label: "",
        access: StoreAccess::ReadWrite,
        file_filter: FileFilter::new(|_| true),
    };
    let store = Arc::new(Store::open(Arc::new(directory.clone()), &opening)?);
    let names = directory.files().into_keys();
    let family = Family::among(Path::new("sample.cbh"), names)?;
    let database = Database::open_with(family, &Options::default(), &|path| {
        let file = store.file(path.file_name().unwrap()).unwrap().unwrap();
        Ok(Box::new(file) as Box<dyn Storage>)
    })?;
    Ok(OpenBase { database, store })
}

/// Runs a repair and returns its report.
fn run(directory: &MemoryDirectory, at_once: usize) -> Result<Vec<String>, ChangeError> {
    let base = opened(directory)?;
    let mut told = Vec::new();
    repair_by_parts(&base, at_once, &|_| {}, &mut |defect| {
        told.push(defect.to_string());
    })?;
    base.store.close()?;
    Ok(told)
}

/// The files of the base, and their backups.
fn files_of(directory: &MemoryDirectory) -> (Files, Files) {
    let mut files = directory.files();
    files.remove(OsStr::new(JOURNAL));
    let is_copy = |name: &OsString| name.to_string_lossy().contains(".before-repair");
    files.into_iter().partition(|(name, _)| !is_copy(name))
}

/// Simulates a power cut at each operation of a repair, with each prefix of the
/// unsynced changes and with each single change missing.
fn for_each_cut(at_once: usize, mut check: impl FnMut(&MemoryDirectory)) -> u64 {
    for operation in 0.. {
        let directory = damaged();
        directory.fail_at(operation, POWER_OFF);
        let done = run(&directory, at_once);
        let count = directory.unsynced();
        for at in 0..=count {
            check(&directory.after_power_cut(|other| other < at));
            check(&directory.after_power_cut(|other| other != at));
        }
        if directory.operations() <= operation {
            done.unwrap();
            return operation;
        }
    }
    0
}

#[test]
fn a_power_cut_leaves_the_old_or_the_repaired_base_and_its_backups() {
    let whole = damaged();
    let old = files_of(&whole).0;
    let told = run(&whole, MOST_AT_ONCE).unwrap();
    assert!(told.len() > 7, "{told:?}");
    let new = files_of(&whole).0;
    assert!(!new.contains_key(OsStr::new("sample.CIT")));
    let mut outcomes = BTreeSet::new();
    let operations = for_each_cut(MOST_AT_ONCE, |after| {
        opened(after).unwrap().store.close().unwrap();
        let (files, copies) = files_of(after);
        let is_new = files == new;
        assert!(is_new || files == old);
        for name in new.keys().filter(|name| is_new && new[*name] != old[*name]) {
            let copy = OsString::from(format!("{}.before-repair", name.display()));
            assert_eq!(copies.get(&copy), old.get(name), "{}", name.display());
        }
        outcomes.insert(is_new);
    });
    assert!(operations > 30 && outcomes.len() == 2, "{operations}");
}

#[test]
fn a_large_repair_is_split_into_transactions() {
    let whole = damaged();
    let told = run(&whole, MOST_AT_ONCE).unwrap();
    let new = files_of(&whole).0;
    for at_once in [1, 300, 2000, 5000] {
        let parts = damaged();
        assert_eq!(run(&parts, at_once).unwrap(), told, "{at_once}");
        assert!(files_of(&parts).0 == new, "{at_once}");
    }
    // Wherever the repair was interrupted, the next one completes it.
    let (old, mut between) = (files_of(&damaged()).0, 0);
    for_each_cut(3000, |after| {
        opened(after).unwrap().store.close().unwrap();
        between += u32::from(![&old, &new].contains(&&files_of(after).0));
        run(after, MOST_AT_ONCE).unwrap();
        assert!(files_of(after).0 == new);
    });
    assert!(between > 50, "{between}");
}

#[test]
fn bytes_behind_the_records_of_entities_are_no_defect() {
    let directory = damaged();
    run(&directory, MOST_AT_ONCE).unwrap();
    let name = OsStr::new("sample.cbp");
    let mut players = directory.files()[name].clone();
    players.extend([7; 2 * 67]);
    directory.put(name, players.clone());
    assert_eq!(run(&directory, MOST_AT_ONCE).unwrap(), [""; 0]);
    assert_eq!(directory.files()[name], players);
}

#[test]
fn a_repair_leaves_nothing_to_repair() {
    for name in samples::names() {
        let (_folder, path) = samples::copy_of(&name);
        // The last player states another first game.
        let players = path.with_extension("cbp");
        let mut bytes = fs::read(&players).unwrap();
        let end = bytes.len();
        bytes[end - 4] ^= 0x15;
        fs::write(&players, bytes).unwrap();
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let known = samples::defects(&base.database);
        let before = samples::told(&base.database);
        for rounds in [2, 1] {
            let (mut repaired, checked) = (0, Cell::new(0));
            let progress = |records| checked.set(checked.get() + records);
            repair(&base, &progress, &mut |_| repaired += 1).unwrap();
            base.reopen(&path).unwrap();
            assert_eq!(repaired > 0, rounds == 2, "{name} {repaired}");
            let last = u64::from(base.database.last_id());
            assert!(name == "damage" || checked.get() == rounds * last, "{name}");
            let is_same = samples::told(&base.database) == before;
            assert!(is_same || name == "damage", "{name}");
            let left = samples::defects(&base.database);
            assert!(left.is_subset(&known), "{name} {left:?}");
        }
    }
}

#[test]
fn a_damaged_byte_of_a_header_is_repaired() {
    let sound = files_of(&changed(&|_| &[])).0;
    // Of each byte: unseen (.), refused (x), as before (=), or other than before,
    // but sound (~).
    for (file, wanted) in [
        ("cbh", "...xx.====..............................====.."),
        ("cbg", "======~~~~================"),
        ("cba", "======~~~~================"),
        ("cbp", "====~~~~====================...."),
        ("cbt", "====~~~~====================...."),
        ("cbj", "....========...................."),
        ("cbtt", "....~...====...................."),
    ] {
        let outcome = |at| {
            let place = [at];
            let directory = changed(&|extension| if extension == file { &place } else { &[] });
            match run(&directory, MOST_AT_ONCE) {
                Err(_) => 'x',
                Ok(told) if told.is_empty() => '.',
                Ok(_) if files_of(&directory).0 == sound => '=',
                Ok(_) => {
                    assert_eq!(
                        run(&directory, MOST_AT_ONCE).unwrap(),
                        [""; 0],
                        "{file} {at}"
                    );
                    '~'
                }
            }
        };
        let found: String = (0..wanted.len()).map(outcome).collect();
        assert_eq!(found, wanted, "{file}");
    }
}

#[test]
fn teams_and_labels_stay_where_the_cbj_cannot_be_read() {
    let sound = files_of(&changed(&|_| &[])).0;
    let cbj = OsStr::new("sample.cbj");
    let mut stored: Vec<Option<Vec<u8>>> = vec![None];
    // The size with the version, with the number of records, or in a file that
    // was cut short; and a cut header.
    for at in 4..8 {
        for and in [Some(0), Some(8), None] {
            let mut bytes = sound[cbj].clone();
            for at in [Some(at), and].into_iter().flatten() {
                bytes[at] ^= 0x15;
            }
            bytes.truncate(bytes.len() - usize::from(and.is_none()));
            stored.push(Some(bytes));
        }
    }
    stored.push(Some(sound[cbj][..11].to_vec()));
    for bytes in stored {
        let directory = changed(&|extension| if extension == "cbp" { &[20] } else { &[] });
        let mut wanted = sound.clone();
        if let Some(bytes) = &bytes {
            directory.put(cbj, bytes.clone());
            wanted.insert(cbj.to_owned(), bytes.clone());
        } else {
            directory.remove(cbj).unwrap();
            wanted.remove(cbj);
        }
        // All else is repaired.
        assert_eq!(run(&directory, MOST_AT_ONCE).unwrap().len(), 1);
        assert!(files_of(&directory).0 == wanted, "{bytes:?}");
        assert_eq!(run(&directory, MOST_AT_ONCE).unwrap(), [""; 0]);
    }
}

#[test]
fn a_damaged_byte_of_a_record_is_told_at_its_place() {
    let told = |file: &str, at: u64| {
        let place = [usize::try_from(at).unwrap()];
        let base = opened(&changed(&|extension| {
            if extension == file { &place } else { &[] }
        }));
        let mut told = Vec::new();
        let report = &mut |defect: Defect| told.push((defect.file, defect.offset));
        base.unwrap().database.check(&|_| {}, report).unwrap();
        told
    };
    // Game 4: its record, that of `.cbj`, and those of players, event, annotator
    // and source.
    let (here, extended) = (4 * 46, 32 + 3 * 120);
    let (white, black, event, annotator, source) = (367, 434, 329, 94, 32);
    for (of_record, wanted) in [
        (1..5, vec![("cbj", extended + 30)]),
        (5..9, vec![("cbj", extended + 12)]),
        (9..11, vec![("cbh", here), ("cbp", white)]),
        (11..12, vec![("cbp", white)]),
        (12..14, vec![("cbh", here), ("cbp", black)]),
        (14..15, vec![("cbp", black)]),
        (15..18, vec![("cbh", here), ("cbt", event)]),
        (18..21, vec![("cbh", here), ("cbc", annotator)]),
        (21..24, vec![("cbh", here), ("cbs", source)]),
        (24..27, vec![]),
        (27..28, vec![("cbh", here + 27)]),
        (28..39, vec![]),
        (39..43, vec![("cbh", here + 39)]),
        (43..44, vec![]),
        (44..45, vec![("cbh", here + 43)]),
        (45..46, vec![("cbh", here + 45)]),
    ] {
        for at in of_record {
            let mut found = told("cbh", here + at);
            // What is there now instead of a blob or name is another defect.
            found.truncate(wanted.len());
            assert_eq!(found, wanted, "{at}");
        }
    }
    for at in [12, 30] {
        for byte in at..at + 8 {
            assert_eq!(told("cbj", extended + byte), [("cbj", extended + at)]);
        }
    }
}

#[test]
fn records_behind_an_unused_one_are_no_games() {
    let directory = changed(&|_| &[]);
    let name = OsStr::new("sample.cbh");
    let mut headers = directory.files()[name].clone();
    let first = headers[46..92].to_vec();
    headers.extend([0; 46]);
    headers.extend(&first);
    directory.put(name, headers.clone());
    assert_eq!(run(&directory, MOST_AT_ONCE).unwrap(), [""; 0]);
    // One that follows at once belongs to a save that was cut off.
    let unused = headers.len() - 92;
    headers.drain(unused..unused + 46);
    directory.put(name, headers);
    let told = run(&directory, MOST_AT_ONCE).unwrap();
    assert!(
        told[0].contains("the number of the next record"),
        "{told:?}"
    );
}

#[test]
fn a_damaged_byte_of_a_header_is_told_at_its_place() {
    // Where each field begins, how long it is, and where its damage is told.
    for (file, fields) in [
        (
            "cbh",
            &[
                (0, 3, None),
                (6, 3, Some(6)),
                (9, 1, Some(40)),
                (40, 4, Some(40)),
            ][..],
        ),
        (
            "cbg",
            &[
                (0, 2, Some(0)),
                (2, 4, Some(2)),
                (6, 4, Some(18)),
                (10, 8, Some(10)),
                (22, 4, Some(18)),
            ],
        ),
        (
            "cba",
            &[
                (0, 2, Some(0)),
                (2, 4, Some(2)),
                (6, 4, Some(18)),
                (10, 8, Some(10)),
                (22, 4, Some(18)),
            ],
        ),
        (
            "cbj",
            &[
                (0, 4, None),
                (5, 3, Some(4)),
                (8, 4, Some(8)),
                (12, 20, None),
            ],
        ),
        (
            "cbl",
            &[
                (0, 4, Some(0)),
                (4, 4, Some(4)),
                (8, 4, Some(8)),
                (12, 4, Some(12)),
                (16, 4, Some(16)),
                (20, 4, Some(20)),
                (28, 4, None),
            ],
        ),
        (
            "cbtt",
            &[
                (0, 4, None),
                (5, 3, Some(4)),
                (8, 4, Some(8)),
                (12, 20, None),
            ],
        ),
    ] {
        for &(first, len, wanted) in fields {
            for at in first..first + len {
                let place = [at];
                let damaged = changed(&|extension| if extension == file { &place } else { &[] });
                let mut told = Vec::new();
                let report = &mut |defect: Defect| told.push((defect.file, defect.offset));
                let base = opened(&damaged).unwrap();
                base.database.check(&|_| {}, report).unwrap();
                let wanted = wanted.map(|offset| (file, offset));
                assert_eq!(told.first().copied(), wanted, "{file} {at}");
            }
        }
    }
}

#[test]
fn a_list_of_top_games_claims_what_it_has_and_one_of_an_older_form_stays() {
    for (mark, claimed, repaired) in [(11, 16, 0), (11, 99, 1), (10, 99, 0)] {
        let directory = changed(&|_| &[]);
        let mut flags = vec![0x0f, 1, mark, 9, 0, 0, 0, claimed, 0, 0, 0, 2];
        flags.resize(12 + 64, 0);
        directory.put("sample.flags", flags.clone());
        let told = run(&directory, MOST_AT_ONCE).unwrap();
        assert_eq!(told.len(), repaired, "{told:?}");
        if repaired > 0 {
            flags[7] = 16;
        }
        let now = &directory.files()[OsStr::new("sample.flags")];
        assert_eq!(*now, flags);
    }
}

/// Reads each game: its number, its content, and whether it has no defects.
fn games_of(path: &Path) -> Vec<(GameId, String, bool)> {
    let database = Database::open(path, &Options::default()).unwrap();
    let mut decoded = Decoded::default();
    let ids = (1..=database.last_id()).map(GameId);
    ids.filter_map(|id| {
        database.read_game(id, &mut decoded).ok()?;
        let game = &mut decoded.game;
        for kind in [
            &mut game.headers.white_elo_type,
            &mut game.headers.black_elo_type,
        ] {
            // A record of its own says so of a game that has none.
            if kind.is_usual() {
                *kind = RatingType::default();
            }
        }
        let read = (
            &game.headers,
            &game.tree,
            &game.annotations,
            &game.foreign_tags,
        );
        Some((id, format!("{read:?}"), decoded.defects.is_empty()))
    })
    .collect()
}

/// Appends a game with remarks; whether it was not refused.
fn append(path: &Path, game: &Game) -> bool {
    let base = OpenBase::to_change(path, &Options::default(), "").unwrap();
    let mut importer = Importer::new(&base.database, &base.store, SystemTime::UNIX_EPOCH);
    let prepared = PreparedGame::new(game.clone()).unwrap();
    let appended = importer.append(&prepared).is_ok() && importer.commit().is_ok();
    base.store.close().unwrap();
    appended
}

#[test]
fn a_file_that_was_cut_is_repaired_and_appended_to_and_each_game_reads_as_before() {
    let (_folder, sound) = samples::copy_of("sample");
    let whole = games_of(&sound);
    let base = Database::open(&sound, &Options::default()).unwrap();
    let mut decoded = Decoded::default();
    let mut annotated = whole.iter().map(|(id, ..)| {
        base.read_game(*id, &mut decoded).unwrap();
        decoded.game.clone()
    });
    let new = annotated.find(|game| !game.annotations.is_empty()).unwrap();
    for extension in ["cbh", "cbg", "cba", "cbj"] {
        let len = fs::metadata(sound.with_extension(extension)).unwrap().len();
        for cut in (1..50).chain((50..len - 40).step_by(37)) {
            let (_folder, path) = samples::copy_of("sample");
            let file = fs::File::options()
                .write(true)
                .open(path.with_extension(extension));
            file.unwrap().set_len(len - cut).unwrap();
            let before = games_of(&path);
            let same = |after: &[(GameId, String, bool)], when| {
                for (one, other) in before.iter().zip(after) {
                    assert!(one.1 == other.1, "{extension} {cut}, {when}: {:?}", one.0);
                    // A game that lost something must keep its defect.
                    let sound = whole.iter().find(|sound| sound.0 == one.0);
                    let is_lost = sound.is_none_or(|sound| sound.1 != one.1);
                    assert!(
                        !is_lost || !other.2 || one.2,
                        "{extension} {cut}, {when}: {:?}",
                        one.0
                    );
                }
                assert!(before.len() <= after.len());
            };
            if append(&path, &new) {
                same(&games_of(&path), "appended");
                continue;
            }
            same(&games_of(&path), "refused");
            let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
            repair(&base, &|_| {}, &mut |_| {}).unwrap();
            base.store.close().unwrap();
            let repaired = games_of(&path);
            same(&repaired, "repaired");
            assert!(append(&path, &new), "{extension} {cut}");
            let after = games_of(&path);
            same(&after, "repaired and appended");
            assert_eq!(after.len(), repaired.len() + 1);
        }
    }
}

#[test]
fn a_blob_that_seems_to_be_cut_inside_of_another_is_left() {
    let (_folder, sound) = samples::copy_of("sample");
    let before = games_of(&sound);
    for (extension, field) in [("cbg", 1), ("cba", 5)] {
        let len = fs::metadata(sound.with_extension(extension)).unwrap().len();
        for at in len - 80..len {
            let (_folder, path) = samples::copy_of("sample");
            let mut headers = fs::read(&path).unwrap();
            // Game 1 has its moves, or remarks, in the last ones.
            let offset = u32::try_from(at).unwrap().to_be_bytes();
            headers[46 + field..46 + field + 4].copy_from_slice(&offset);
            fs::write(&path, headers).unwrap();
            let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
            repair(&base, &|_| {}, &mut |_| {}).unwrap();
            base.store.close().unwrap();
            assert!(games_of(&path)[1..] == before[1..], "{extension} {at}");
            // The damage of one game does not keep others from being saved.
            assert!(append(&path, &Game::default()), "{extension} {at}");
            assert!(
                games_of(&path)[1..before.len()] == before[1..],
                "{extension} {at}"
            );
        }
    }
}

#[test]
fn a_game_is_not_read_as_one_that_an_older_copy_of_a_file_lacks() {
    let mut decoded = Decoded::default();
    let mut games: Vec<Game> = Vec::new();
    for name in samples::names() {
        let (_folder, path) = samples::copy_of(&name);
        let base = Database::open(&path, &Options::default()).unwrap();
        for (id, _, is_sound) in games_of(&path) {
            base.read_game(id, &mut decoded).unwrap();
            if is_sound && !decoded.game.annotations.is_empty() {
                games.push(decoded.game.clone());
            }
        }
    }
    games.sort_by_key(|game| game.tree.len());
    for (extension, is_long_first) in [("cbg", true), ("cbg", false), ("cba", true), ("cba", false)]
    {
        let (_folder, path) = samples::copy_of("sample");
        let file = path.with_extension(extension);
        let older = fs::read(&file).unwrap();
        let mut new: Vec<&Game> = games.iter().step_by(games.len() / 4).take(4).collect();
        if is_long_first {
            new.reverse();
        }
        for game in &new[..2] {
            assert!(append(&path, game));
        }
        fs::write(&file, older).unwrap();
        let before = games_of(&path);
        assert!(!append(&path, new[2]), "{extension}");
        let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        repair(&base, &|_| {}, &mut |_| {}).unwrap();
        base.store.close().unwrap();
        for game in &new[2..] {
            assert!(append(&path, game), "{extension}");
        }
        let after = games_of(&path);
        assert!(after[..before.len()] == before[..], "{extension}");
    }
}
