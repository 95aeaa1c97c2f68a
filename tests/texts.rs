//! Guiding texts: their content equals the known one.

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

use std::fs;

use cbfs::cbh::{Database, GameId, GuidingText, Options, TextLanguage};
use cbfs::vfs::{DatabaseVolume, Ino, NodeKind, Options as VfsOptions, Vfs};
use serde_json::Value;

#[test]
fn known_titles_are_read_without_defects() {
    let bases = common::fixtures_with_truth().into_iter();
    let mut seen = 0;
    for (base, truth) in bases.chain(common::bases_with_truth()) {
        let database = Database::open(&base, &Options::default()).unwrap();
        let mut ids = Vec::new();
        database.texts(&mut ids).unwrap();
        let mut text = GuidingText::default();
        for line in fs::read_to_string(truth).unwrap().lines() {
            let expected: Value = serde_json::from_str(line).unwrap();
            if expected["kind"] != "text" {
                continue;
            }
            let id = GameId(u32::try_from(expected["id"].as_u64().unwrap()).unwrap());
            assert!(ids.contains(&id));
            database.read_text(id, &mut text).unwrap();
            let known = expected["titles"].as_array().unwrap().iter();
            let known: Vec<_> = known
                .map(|pair| {
                    let language = u8::try_from(pair[0].as_u64().unwrap()).unwrap();
                    (TextLanguage(language), pair[1].as_str().unwrap().to_owned())
                })
                .collect();
            assert_eq!(text.titles, known, "{}: {}", base.display(), id.0);
            assert_eq!(text.defects, [], "{}: {}", base.display(), id.0);
            seen += 1;
        }
    }
    assert!(seen >= 12, "only {seen} texts");
}

/// Lists and reads all there is; gives the number of files.
fn read_all(vfs: &Vfs, directory: Ino) -> usize {
    let mut nodes = Vec::new();
    vfs.list(directory, 0, &mut |entry| {
        if ![".", ".."].contains(&entry.name) {
            nodes.push(entry.node);
        }
        true
    })
    .unwrap();
    let read = |ino| match vfs.read(ino, 0, u32::MAX) {
        Ok(bytes) => assert_eq!(bytes.len() as u64, vfs.attr(ino).unwrap().size),
        // Damage is an error; a panic would have another message.
        Err(error) => assert!(!error.to_string().contains("a defect of cbfs"), "{error}"),
    };
    let mut files = 0;
    for node in nodes {
        if node.kind == NodeKind::Directory {
            files += read_all(vfs, node.ino);
        } else {
            read(node.ino);
            files += 1;
        }
    }
    files
}

/// Each byte of the texts and of their records, made wrong in two ways.
#[test]
fn any_changed_byte_gives_at_most_a_defect() {
    let directory = common::copy_of_base("cbh/texts");
    let path = directory.path().join("texts.cbh");
    let mut files = 0;
    for name in ["texts.cbg", "texts.cbh"] {
        let file = directory.path().join(name);
        let whole = fs::read(&file).unwrap();
        for at in 46..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= if at % 2 == 0 { 0x80 } else { 0x03 };
            fs::write(&file, bytes).unwrap();
            let database = Database::open(&path, &Options::default()).unwrap();
            let volume = DatabaseVolume::new(database, "");
            let vfs = Vfs::new(Box::new(volume), &VfsOptions::default());
            files += read_all(&vfs, Ino::ROOT);
        }
        fs::write(&file, whole).unwrap();
    }
    assert!(files > 10_000, "only {files} files were read");
}
