//! Copies of the bases of `fixtures/cbh` for tests, and all that can be read of one.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::database::lists::RecordPair;
use crate::cbh::{Database, Decoded, GuidingText, RecordKind};
use crate::game::Defect;

/// A copy of the sample base, for a test that changes it, in a folder of its own.
pub(in crate::cbh) fn copy_of_sample() -> TempDir {
    copy_of("sample").0
}

/// The same of another base, and the path of its `.cbh`.
pub(in crate::cbh) fn copy_of(base: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for file in fs::read_dir(format!("fixtures/cbh/{base}")).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
    }
    let path = folder.path().join(base).with_extension("cbh");
    (folder, path)
}

/// A `.cbg` or `.cba` of 40 bytes that states this length of its header, its length
/// and wasted bytes, and both again in 64 bits.
pub(in crate::cbh) fn blob_header(header: u16, len: u32, wasted: u32, long: [u64; 2]) -> Vec<u8> {
    let mut bytes = header.to_be_bytes().to_vec();
    bytes.extend(len.to_be_bytes());
    bytes.extend(wasted.to_be_bytes());
    bytes.extend(long.iter().flat_map(|number| number.to_be_bytes()));
    bytes.resize(40, 0);
    bytes
}

/// The names of all bases.
pub(in crate::cbh) fn names() -> Vec<String> {
    let entries = fs::read_dir("fixtures/cbh").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// All that can be read of each record of a base that is not deleted.
pub(in crate::cbh) fn told(database: &Database) -> Vec<String> {
    let (mut told, mut decoded) = (Vec::new(), Decoded::default());
    let mut take = |record: &RecordPair<'_>| {
        if record.is_deleted {
            return;
        }
        if record.kind == RecordKind::Text {
            let mut text = GuidingText::default();
            database.read_text(record.id, &mut text).unwrap();
            told.push(format!("{text:?}"));
            return;
        }
        let is_read = database.read_game(record.id, &mut decoded).is_ok();
        let stored = database.stored_game(record.id).ok();
        let moves = stored.filter(|_| is_read).map(|stored| stored.moves);
        let game = &decoded.game;
        let content = (&game.annotations, &game.foreign_tags);
        told.push(format!("{:?} {content:?} {moves:?}", game.headers));
    };
    database.scan(1..u32::MAX, true, &mut take).unwrap();
    told
}

/// Kinds of defects, without places and numbers.
pub(in crate::cbh) fn defects(database: &Database) -> BTreeSet<String> {
    let mut defects = BTreeSet::new();
    let has_digit = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    let mut take = |defect: Defect| {
        let told = defect.to_string();
        let words: Vec<&str> = told.split(' ').filter(|word| !has_digit(word)).collect();
        defects.insert(words.join(" "));
    };
    database.check(&|_| {}, &mut take).unwrap();
    defects
}
