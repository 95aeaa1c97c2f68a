//! Encoding of records: decoded records are encoded to the same bytes, and
//! records inserted into an empty file give the tree that ChessBase built.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail and speak as tests do"
)]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cbfs::cbh::extended::{self, ExtendedRecord};
use cbfs::cbh::record::{self, GameRecord, RECORD_BYTES, TextRecord, decode_kind};
use cbfs::cbh::{
    CodePage, Database, EditError, Entity, EntityEditor, EntityId, EntityKind, FileKind, NameForm,
    Options, RecordKind, Write,
};
use cbfs::storage::MemoryFile;

use common::numbers::Numbers;
use common::{fixture_bases, real_bases};

const FILES: [FileKind; 6] = [
    FileKind::Players,
    FileKind::Tournaments,
    FileKind::Annotators,
    FileKind::Sources,
    FileKind::Teams,
    FileKind::Tags,
];

/// Files without deleted records that are not those of insertion: one has a
/// history that made another tree, one several players of one name.
const OTHER_SHAPE: &[&str] = &["linares.cbt", "namesakes.cbp"];

fn bases() -> impl Iterator<Item = PathBuf> {
    real_bases().into_iter().chain(fixture_bases())
}

/// The entity files of a base.
fn entity_files(base: &Path) -> Vec<(FileKind, PathBuf)> {
    let path = |kind: FileKind| (kind, base.with_extension(kind.extension()));
    let files = FILES.into_iter().map(path);
    files.filter(|(_, path)| path.is_file()).collect()
}

fn number(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn header_bytes(file: &[u8]) -> usize {
    28 + usize::try_from(number(file, 24)).unwrap()
}

/// The records of an entity file, links included.
fn records(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let size = 9 + usize::try_from(number(file, 12)).unwrap();
    let count = usize::try_from(number(file, 0)).unwrap();
    file[header_bytes(file)..].chunks_exact(size).take(count)
}

fn is_deleted(record: &[u8]) -> bool {
    number(record, 0) == -999
}

fn apply(file: &mut Vec<u8>, writes: &[Write]) {
    for (offset, bytes) in writes {
        let from = usize::try_from(*offset).unwrap();
        let to = from + bytes.len();
        file.resize(file.len().max(to), 0);
        file[from..to].copy_from_slice(bytes);
    }
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn an_entity_is_there_if_it_has_a_name() {
    for path in bases() {
        let base = Database::open(&path, &Options::default()).unwrap();
        for kind in EntityKind::ALL {
            let names = base.entity_names(kind).unwrap();
            for id in (0..names.bound() + 2).chain([u32::MAX]).map(EntityId) {
                let has_entity = base.has_entity(kind, id).unwrap();
                assert_eq!(has_entity, names.contains(id), "{path:?}: {kind:?} {id:?}");
            }
        }
    }
}

#[test]
fn records_put_into_an_empty_file_give_the_bytes_that_chessbase_wrote() {
    let (mut files, mut built) = (0, 0);
    for base in bases() {
        for (kind, path) in entity_files(&base) {
            let mut wanted = fs::read(&path).unwrap();
            if records(&wanted).any(is_deleted) || OTHER_SHAPE.contains(&name_of(&path)) {
                continue;
            }
            let live = number(&wanted, 0);
            if live == 0 {
                continue;
            }
            let mut empty = wanted[..header_bytes(&wanted)].to_vec();
            empty[..8].fill(0);
            empty[20..24].fill(0);
            // Old files may count too few records in use.
            wanted[20..24].copy_from_slice(&live.to_le_bytes());
            let storage = MemoryFile::from(empty.clone());
            let mut editor = EntityEditor::open(kind, &storage).unwrap();
            for (id, record) in (0..).zip(records(&wanted)) {
                let inserted = editor.insert(&record[9..]);
                let inserted = inserted.unwrap_or_else(|error| panic!("{path:?} {id}: {error}"));
                assert_eq!(inserted, EntityId(id), "{path:?}");
                built += 1;
            }
            apply(&mut empty, &editor.writes().unwrap());
            assert!(empty == wanted, "{} differs", path.display());
            files += 1;
        }
    }
    assert!(files >= 20, "only {files} files");
    println!("{files} files with {built} records are the same bytes again");
}

#[test]
fn record_data_are_encoded_to_the_same_bytes() {
    let mut count = 0;
    for base in bases() {
        for (kind, path) in entity_files(&base) {
            let file = fs::read(&path).unwrap();
            for (id, record) in (0..).zip(records(&file)) {
                for is_utf8 in [false, true] {
                    let page = CodePage::default();
                    let entity = Entity::decode(kind, &record[9..], page).unwrap();
                    let form = NameForm { page, is_utf8 };
                    let encoded = entity.encode(Some(&record[9..]), form).unwrap();
                    assert_eq!(encoded.data, &record[9..], "{path:?} {id}");
                    assert_eq!(encoded.unfit, [], "{path:?} {id}");
                }
                count += 1;
            }
        }
    }
    assert!(count > 50, "only {count} records");
    println!("{count} records of entities are the same bytes again");
}

#[test]
fn records_and_headers_of_games_are_encoded_to_the_same_bytes() {
    let (mut games, mut texts) = (0, 0);
    for base in bases() {
        let file = fs::read(&base).unwrap();
        for (id, bytes) in file.chunks_exact(RECORD_BYTES).enumerate() {
            let mut again = bytes.to_vec();
            match decode_kind(bytes).map(|(kind, _)| kind) {
                _ if id == 0 => {
                    let header = record::FileHeader::decode(bytes).unwrap();
                    header.encode(&mut again).unwrap();
                }
                Some(RecordKind::Game) => {
                    let record = GameRecord::decode(bytes).unwrap();
                    record.encode(&mut again).unwrap();
                    let mut eco = record;
                    eco.set_eco(record.eco());
                    assert_eq!(eco, record, "{base:?} {id}");
                    games += 1;
                }
                Some(RecordKind::Text) => {
                    let record = TextRecord::decode(bytes).unwrap();
                    record.encode(&mut again).unwrap();
                    texts += 1;
                }
                None => {}
            }
            assert_eq!(again, bytes, "{base:?} {id}");
        }
    }
    assert!(games > 100 && texts > 5, "only {games} and {texts}");
    println!("{games} records of games and {texts} of texts are the same bytes again");
}

#[test]
fn extended_records_are_encoded_to_the_same_bytes() {
    let mut count = 0;
    for base in bases() {
        let Ok(file) = fs::read(base.with_extension("cbj")) else {
            continue;
        };
        let header = extended::ExtendedHeader::decode(&file).unwrap();
        let mut again = file.clone();
        header.encode(&mut again).unwrap();
        assert_eq!(again, file, "{base:?}");
        let size = usize::try_from(header.record_bytes).unwrap();
        for bytes in file[extended::HEADER_BYTES..].chunks_exact(size) {
            let mut again = bytes.to_vec();
            ExtendedRecord::decode(bytes).encode(&mut again);
            assert_eq!(again, bytes, "{base:?} {count}");
            count += 1;
        }
    }
    assert!(count > 100, "only {count} records");
    println!("{count} extended records are the same bytes again");
}

/// What is wrong with the entity files of a base, references aside.
fn damage(base: &Path) -> BTreeSet<String> {
    let database = Database::open(base, &Options::default()).unwrap();
    let mut found = BTreeSet::new();
    let of_trees = ["leads to", "balance", "reached", "sort", "chain", "claimed"];
    database
        .verify_entities(&mut |defect| {
            if of_trees.iter().any(|word| defect.what.contains(word)) {
                found.insert(format!("{}: {}", defect.file, defect.what));
            }
        })
        .unwrap();
    found
}

/// A copy of a base.
fn copy(base: &Path) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(base.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            fs::write(folder.path().join(path.file_name().unwrap()), bytes).unwrap();
        }
    }
    let copy = folder.path().join(base.file_name().unwrap());
    (folder, copy)
}

/// Changes a file: two records more, one renamed, one removed, one counted.
fn change(kind: FileKind, file: &mut Vec<u8>) -> Result<(), EditError> {
    let storage = MemoryFile::from(file.clone());
    let mut editor = EntityEditor::open(kind, &storage)?;
    let size = usize::try_from(number(file, 12)).unwrap();
    let data = |name: &[u8]| {
        let mut data = name.to_vec();
        data.resize(size, 0);
        data
    };
    editor.insert(&data(b"A new name"))?;
    let last = editor.insert(&data(b"\xe9 new name"))?;
    assert_eq!(editor.find(&data(b"\xe9 new name"))?, Some(last));
    let live: Vec<u32> = (0..editor.capacity())
        .filter(|&id| editor.data(EntityId(id)).is_ok())
        .collect();
    editor.rename(EntityId(live[0]), &data(b"Renamed"))?;
    editor.remove(EntityId(live[live.len() / 2]))?;
    editor.set_references(EntityId(live[0]), 7, 7)?;
    apply(file, &editor.writes()?);
    Ok(())
}

#[test]
fn edits_leave_bases_sound_and_other_records_unchanged() {
    let mut files = 0;
    for base in bases() {
        let before = damage(&base);
        let (_folder, copy) = copy(&base);
        for (kind, path) in entity_files(&copy) {
            let old = fs::read(&path).unwrap();
            let mut new = old.clone();
            change(kind, &mut new).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            let pairs = records(&old).zip(records(&new));
            let changed = pairs.filter(|(old, new)| !is_deleted(old) && old[9..] != new[9..]);
            assert!(changed.count() <= 3, "{path:?}");
            fs::write(&path, new).unwrap();
            files += 1;
        }
        let after = damage(&copy);
        let worse: Vec<_> = after.difference(&before).collect();
        assert!(worse.is_empty(), "{base:?}: {worse:?}");
    }
    assert!(files >= 20, "only {files} files");
}

#[test]
fn edits_of_any_bytes_do_not_panic_and_leave_sound_trees() {
    let mut numbers = Numbers(7);
    let (mut changed, mut refused) = (0, 0);
    for base in bases() {
        for (kind, path) in entity_files(&base) {
            let sound = fs::read(&path).unwrap();
            for _ in 0..40 {
                let mut file = sound.clone();
                let size = 9 + usize::try_from(number(&file, 12)).unwrap();
                let count = usize::try_from(number(&file, 0)).unwrap();
                for _ in 0..=numbers.below(4) {
                    let link =
                        header_bytes(&sound) + numbers.below(count + 1) * size + numbers.below(9);
                    let at = match numbers.below(8) {
                        0 => numbers.below(28),
                        1 => numbers.below(file.len()),
                        _ => link.min(file.len() - 1),
                    };
                    let small = u8::try_from(numbers.below(8)).unwrap();
                    file[at] = [small, 0xff, 0x19, file[at] ^ 1 << small][numbers.below(4)];
                }
                if change(kind, &mut file).is_err() {
                    refused += 1;
                    continue;
                }
                changed += 1;
                let storage = MemoryFile::from(file);
                let mut editor = EntityEditor::open(kind, &storage).unwrap();
                assert!(!editor.is_damaged().unwrap(), "{path:?}");
            }
        }
    }
    assert!(changed > 100, "only {changed}, {refused} refused");
    println!("{changed} damaged files were changed, {refused} refused");
}
