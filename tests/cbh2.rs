//! Bases in the newer format, 2CBH.
//!
//! The fixtures were made by an encoder that shares no code with cbfs, from the
//! same recipes as those of the older format.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "helpers of tests fail and speak as tests do"
)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cbfs::base::{self, Base};
use cbfs::cbh::{
    Decoded, EntityKind, GameId, GameMention, Grouping, GuidingText, Options, RecordKind,
};
use cbfs::cbh2;
use proptest::prelude::*;

use cbfs::archive::{PackInput, pack};
use cbfs::storage::DiskFile;
use cbfs::vfs::{BasesFolder, Vfs};
use common::command::files_in;
use common::mounted::Mount;
use common::{fixture, text_of};

const FILES: [&str; 4] = ["2cbh", "2cbg", "2cba", "2lid"];

fn open(path: &Path) -> Box<dyn Base> {
    base::open(path, &Options::default()).unwrap()
}

fn mixed() -> PathBuf {
    fixture("2cbh/mixed/mixed.2cbh")
}

/// The text of each game, and what is wrong with it.
fn games(base: &dyn Base) -> BTreeMap<u32, (String, Vec<String>)> {
    let mut games = BTreeMap::new();
    let mut decoded = Decoded::default();
    for id in 1..=base.last_id() {
        if base.read_game(GameId(id), &mut decoded).is_ok() {
            let defects = decoded.defects.iter().map(ToString::to_string);
            games.insert(id, (text_of(&decoded), defects.collect()));
        }
    }
    games
}

/// All that is asked of a base, of whatever bytes.
fn ask_everything(base: &dyn Base) {
    games(base);
    let (mut text, mut all) = (GuidingText::default(), Vec::new());
    for id in 0..=base.last_id() + 1 {
        let _ = base.read_text(GameId(id), &mut text);
        let _ = base.summary(GameId(id));
    }
    base.texts(&mut all).unwrap();
    for kind in EntityKind::ALL {
        base.entity_names(kind).unwrap();
        base.crossref(Grouping::Entity(kind)).unwrap();
    }
    base.crossref(Grouping::Eco).unwrap();
    base.check(&|_| {}, &mut |_| {}).unwrap();
}

/// A copy of a base, with other bytes in one of its files.
fn copy_with(folder: &Path, extension: &str, content: &[u8]) -> PathBuf {
    for file in FILES {
        let from = mixed().with_extension(file);
        fs::copy(from, folder.join("mixed").with_extension(file)).unwrap();
    }
    let file = folder.join("mixed").with_extension(extension);
    fs::write(&file, content).unwrap();
    file.with_extension("2cbh")
}

#[test]
fn a_base_has_the_same_games_in_both_formats() {
    let [newer, older] = ["2cbh/sample/sample.2cbh", "cbh/sample/sample.cbh"].map(fixture);
    let (newer, older) = (open(&newer), open(&older));
    assert_eq!(games(newer.as_ref()), games(older.as_ref()));
    let mut texts = [GuidingText::default(), GuidingText::default()];
    let (mut ids, mut others) = (Vec::new(), Vec::new());
    newer.texts(&mut ids).unwrap();
    older.texts(&mut others).unwrap();
    assert!(ids == others && !ids.is_empty());
    for id in ids {
        newer.read_text(id, &mut texts[0]).unwrap();
        older.read_text(id, &mut texts[1]).unwrap();
        assert_eq!(texts[0].titles, texts[1].titles);
        assert_eq!(texts[0].contents, texts[1].contents);
        assert!(texts[0].defects.is_empty());
    }
}

#[test]
fn groups_are_the_same_in_both_formats() {
    let [newer, older] = ["2cbh/sample/sample.2cbh", "cbh/sample/sample.cbh"].map(fixture);
    for kind in EntityKind::ALL {
        let [newer, older] = [&newer, &older].map(|path| {
            let base = open(path);
            let names = base.entity_names(kind).unwrap();
            let games = base.crossref(Grouping::Entity(kind)).unwrap();
            let groups =
                games
                    .groups()
                    .unwrap()
                    .into_iter()
                    .filter_map(|(group, count)| match group {
                        cbfs::cbh::GameGroup::Entity(_, id) => {
                            Some((names.get(id)?.to_owned(), count))
                        }
                        _ => None,
                    });
            let groups: BTreeMap<String, usize> = groups.collect();
            groups
        });
        assert_eq!(newer, older, "{kind:?}");
    }
}

#[test]
fn links_lead_to_the_games_of_their_players() {
    let base = open(&fixture("2cbh/sample/sample.2cbh"));
    let mention = GameMention {
        white: ["Réti", "Richard"].map(str::to_owned),
        black: ["Tartakower", "Savielly"].map(str::to_owned),
        ..GameMention::default()
    };
    let mentions = [mention].into();
    let found = base.find_games(&mentions).unwrap();
    assert_eq!(found.into_values().collect::<Vec<_>>(), [GameId(7)]);
}

#[test]
fn deleted_games_are_marked_and_files_are_sound() {
    for name in ["sample", "mixed"] {
        let base = open(&fixture("2cbh").join(name).join(name).with_extension("2cbh"));
        let mut defects = Vec::new();
        base.check(&|_| {}, &mut |defect| defects.push(defect.to_string()))
            .unwrap();
        assert_eq!(defects, Vec::<String>::new(), "{name}");
    }
    let mut entries = Vec::new();
    open(&mixed()).entries(GameId(1), 3, &mut entries).unwrap();
    let deleted: Vec<bool> = entries.iter().map(|entry| entry.is_deleted).collect();
    assert_eq!(deleted, [false, true, false]);
    assert!(entries.iter().all(|entry| entry.kind == RecordKind::Game));
    let mut listed = Vec::new();
    open(&mixed()).listed(GameId(1), 3, &mut listed).unwrap();
    assert!(listed[0].modified.is_some(), "a game has a stamp");
}

#[test]
fn a_base_without_annotations_has_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_with(directory.path(), "2cba", &[]);
    fs::remove_file(path.with_extension("2cba")).unwrap();
    let without = games(open(&path).as_ref());
    assert_eq!(without.len(), games(open(&mixed()).as_ref()).len());
    assert!(without.values().all(|(_, defects)| defects.is_empty()));
}

#[test]
fn files_behind_links_are_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_with(directory.path(), "2cbg", &[]);
    fs::remove_file(path.with_extension("2cbg")).unwrap();
    std::os::unix::fs::symlink(mixed().with_extension("2cbg"), path.with_extension("2cbg"))
        .unwrap();
    assert!(cbh2::Database::open(&path, &Options::default()).is_err());
}

/// What a mount shows, but for `.cbfs/`.
fn shown(mount: &Mount) -> BTreeMap<String, Vec<u8>> {
    let mut files = files_in(&mount.path(""));
    files.retain(|path, _| !path.starts_with(".cbfs/"));
    files
}

#[test]
fn a_mounted_base_shows_the_same_as_its_older_form() {
    let [newer, older] = ["2cbh/sample/sample.2cbh", "cbh/sample/sample.cbh"].map(fixture);
    let [newer, older] = [newer, older].map(|path| Mount::of_base(&path));
    let [shown_newer, mut shown_older] = [&newer, &older].map(shown);
    // Its pictures lie in a folder that the other has no copy of.
    shown_older.retain(|path, _| !path.starts_with("texts/media/"));
    assert!(shown_newer.len() > 100, "{}", shown_newer.len());
    assert!(shown_newer.keys().eq(shown_older.keys()));
    for (path, bytes) in &shown_newer {
        assert_eq!(
            String::from_utf8_lossy(bytes),
            String::from_utf8_lossy(&shown_older[path]),
            "{path}"
        );
    }
    assert_eq!(newer.shell("ls"), older.shell("ls"));
    let status = fs::read_to_string(newer.path(".cbfs/status")).unwrap();
    for said in ["a base in the 2CBH format is read-only", "please report"] {
        assert!(status.contains(said), "{said}: {status}");
    }
    assert!(fs::write(newer.path("games/000001.pgn"), "x").is_err());
}

#[test]
fn a_mounted_base_that_changes_is_reopened() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_with(
        directory.path(),
        "2cba",
        &fs::read(mixed().with_extension("2cba")).unwrap(),
    );
    let mount = Mount::of_base(&path);
    let count = |mount: &Mount| mount.shell("cat games/*.pgn | grep -c '^.Event '");
    let before = count(&mount);
    mount.soon_prints("cat .cbfs/defects.txt | wc -l", "0");
    let headers = fs::read(&path).unwrap();
    fs::write(&path, &headers[..headers.len() - 192]).unwrap();
    mount.soon_prints("test -s .cbfs/defects.txt && echo told", "told");
    assert_ne!(count(&mount), before);
}

#[test]
fn a_folder_and_an_archive_show_the_bases_of_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["2cbh", "cbh"] {
        for file in fs::read_dir(fixture(&format!("{format}/sample"))).unwrap() {
            let from = file.unwrap().path();
            if from.is_file() {
                fs::copy(&from, folder.path().join(from.file_name().unwrap())).unwrap();
            }
        }
    }
    let members: Vec<(String, DiskFile)> = FILES
        .iter()
        .map(|extension| {
            let file = DiskFile::open(&mixed().with_extension(extension)).unwrap();
            (format!("mixed.{extension}"), file)
        })
        .collect();
    let inputs: Vec<PackInput<'_>> = members
        .iter()
        .map(|(path, file)| PackInput {
            path: path.clone(),
            file,
            modified: None,
        })
        .collect();
    let archive = folder.path().join("packed.cbv");
    let options = cbfs::archive::Options::default();
    pack(&archive, &inputs, &options, None, &mut |_| true, &|| Ok(())).unwrap();
    let shelf = BasesFolder::new(folder.path(), Options::default(), None);
    let vfs = Vfs::folder(shelf, &cbfs::vfs::Options::default()).unwrap();
    let mount = Mount::new(vfs);
    assert_eq!(mount.shell("ls"), "packed\nsample\nsample.2cbh");
    let games = |name: &str| fs::read_to_string(mount.path(name).join("pgn/all.pgn")).unwrap();
    assert_eq!(games("sample"), games("sample.2cbh"));
    let on_disk = Mount::of_base(&mixed());
    assert_eq!(
        games("packed"),
        fs::read_to_string(on_disk.path("pgn/all.pgn")).unwrap()
    );
    let status = fs::read_to_string(mount.path("packed/.cbfs/status")).unwrap();
    assert!(status.contains("an archive is read-only"), "{status}");
}

#[test]
fn a_changed_byte_of_moves_or_annotations_is_detected() {
    let directory = tempfile::tempdir().unwrap();
    let whole = games(open(&mixed()).as_ref());
    let (mut told, mut harmless) = (0, 0);
    for file in ["2cbg", "2cba"] {
        let content = fs::read(mixed().with_extension(file)).unwrap();
        for at in (12..content.len()).step_by(23) {
            let mut changed = content.clone();
            changed[at] ^= 1 << (at % 8);
            let path = copy_with(directory.path(), file, &changed);
            for (id, (text, defects)) in games(open(&path).as_ref()) {
                if defects.is_empty() {
                    assert_eq!(text, whole[&id].0, "game {id}, byte {at} of {file}");
                    harmless += 1;
                } else {
                    told += 1;
                }
            }
        }
    }
    println!("{told} games told, {harmless} the same");
    assert!(told > 100, "only {told} changes were told");
}

#[test]
fn a_file_cut_anywhere_is_read_as_far_as_it_goes() {
    let directory = tempfile::tempdir().unwrap();
    for file in FILES {
        let content = fs::read(mixed().with_extension(file)).unwrap();
        for end in (0..content.len()).step_by(content.len() / 40 + 1) {
            let path = copy_with(directory.path(), file, &content[..end]);
            match base::open(&path, &Options::default()) {
                Ok(base) => {
                    ask_everything(base.as_ref());
                    let mut defects = 0;
                    base.check(&|_| {}, &mut |_| defects += 1).unwrap();
                    assert!(defects > 0, "{file} cut at {end} is not told");
                }
                Err(error) => {
                    assert_eq!(file, "2cbh", "{error}");
                    assert!(end < 16, "{error}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_bytes_are_read_without_panic_in_bounded_memory(
        file in 0..FILES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        large in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut content = fs::read(mixed().with_extension(FILES[file])).unwrap();
        let len = content.len();
        for (at, byte) in changes {
            content[at.index(len)] = byte;
        }
        // Lengths and numbers of four bytes and of eight.
        for at in large {
            let at = at.index(len - 8) & !3;
            content[at..at + 4].fill(0xff);
        }
        let path = copy_with(directory.path(), FILES[file], &content);
        if let Ok(base) = base::open(&path, &Options::default()) {
            ask_everything(base.as_ref());
        }
    }
}
