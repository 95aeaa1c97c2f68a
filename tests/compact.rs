//! `cbfs compact`: copies have the same games and no wasted bytes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::command::{assert_same_files, cbfs, copy_of, defects_of, files_in, said, succeeds};
use common::{copy_of_base, fixture_bases, games_of, real_bases};

fn text_path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Makes a tidy copy in a folder of its own.
fn compacted(base: &Path) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("tidy.cbh");
    let told = succeeds(&["compact", text_path(base), text_path(&new)]);
    println!("{}: {told}", base.display());
    (folder, new)
}

/// Makes the tidy copy `new`, which must succeed and say all of these.
fn assert_told(base: &Path, new: &Path, wanted: &[&str]) {
    let output = cbfs(&["compact", text_path(base), text_path(new)]);
    let told = said(&output);
    assert!(output.status.success(), "{told}");
    for part in wanted {
        assert!(told.contains(part), "{told}");
    }
}

/// The texts of the games that are not deleted, without numbers that a copy
/// changes: offsets in what is told of damage.
fn kept_games(cbh: &Path) -> Vec<String> {
    let games = games_of(cbh).into_values();
    games
        .filter(|(is_deleted, _)| !is_deleted)
        .map(|(_, text)| match text.split_once("[%cbdefect") {
            Some((before, _)) => before.to_owned(),
            None => text,
        })
        .collect()
}

/// Defects without the numbers in them.
fn kinds_of_defects(cbh: &Path) -> BTreeSet<String> {
    let defects = defects_of(cbh).into_iter();
    defects
        .map(|defect| {
            let words = defect.split(' ').map(|word| {
                let is_number = word.contains(|c: char| c.is_ascii_digit());
                if is_number { "#" } else { word }
            });
            words.collect::<Vec<_>>().join(" ")
        })
        .collect()
}

#[test]
fn a_copy_has_the_same_games_and_no_new_defects() {
    let bases: Vec<PathBuf> = fixture_bases().into_iter().chain(real_bases()).collect();
    for base in &bases {
        let before = files_in(base.parent().unwrap());
        let (_folder, new) = compacted(base);
        assert_same_files(&files_in(base.parent().unwrap()), &before, "the source");
        let (wanted, found) = (kept_games(base), kept_games(&new));
        assert_eq!(wanted.len(), found.len(), "{}", base.display());
        for (number, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
            assert!(
                wanted == found,
                "{} {number}:\n{wanted}\n{found}",
                base.display()
            );
        }
        let (old, new) = (kinds_of_defects(base), kinds_of_defects(&new));
        let more: Vec<_> = new.difference(&old).collect();
        assert!(more.is_empty(), "{}: {more:?}", base.display());
    }
    assert!(bases.len() > 5);
}

#[test]
fn a_copy_of_a_copy_is_identical() {
    for base in fixture_bases().into_iter().chain(real_bases()) {
        let (first, tidy) = compacted(&base);
        let (second, _) = compacted(&tidy);
        let (first, second) = (files_in(first.path()), files_in(second.path()));
        assert_same_files(&second, &first, text_path(&base));
    }
}

/// Sets the deleted flag of some games.
fn delete(cbh: &Path, ids: &[usize]) {
    let mut bytes = fs::read(cbh).unwrap();
    for id in ids {
        bytes[46 * id] |= 0x80;
    }
    fs::write(cbh, bytes).unwrap();
}

#[test]
fn deleted_games_and_their_unused_names_are_left_out() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let all = games_of(&base);
    let gone = [1, 3, 8];
    delete(&base, &gone);
    let (copy, new) = compacted(&base);
    let kept: Vec<&String> = all
        .iter()
        .filter(|(id, game)| !gone.contains(&(**id as usize)) && !game.0)
        .map(|(_, (_, text))| text)
        .collect();
    let games = games_of(&new);
    assert_eq!(
        games.values().map(|(_, text)| text).collect::<Vec<_>>(),
        kept
    );
    let ids: Vec<u32> = games.keys().copied().collect();
    assert!(ids[0] == 1 && *ids.last().unwrap() as usize <= all.len());
    assert_eq!(defects_of(&new), [""; 0]);
    let (old, new) = (files_in(folder.path()), files_in(copy.path()));
    for file in ["cbp", "cbt", "cbg", "cbh", "cbj"] {
        let [old, new] = [
            &old[&format!("sample.{file}")],
            &new[&format!("tidy.{file}")],
        ];
        assert!(new.len() < old.len(), "{file}");
    }
}

#[test]
fn wasted_bytes_are_left_out() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let (tidy, _) = compacted(&base);
    // A hole behind the header: everything lies later.
    for file in ["cbg", "cba"] {
        let path = base.with_extension(file);
        let mut bytes = fs::read(&path).unwrap();
        bytes.splice(26..26, [7; 1000]);
        let len = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        bytes[2..6].copy_from_slice(&len);
        bytes[14..18].copy_from_slice(&len);
        bytes[8..10].copy_from_slice(&1000_u16.to_be_bytes());
        bytes[24..26].copy_from_slice(&1000_u16.to_be_bytes());
        fs::write(path, bytes).unwrap();
    }
    let mut headers = fs::read(&base).unwrap();
    for record in headers[46..].chunks_exact_mut(46) {
        for at in [1, 5] {
            let offset = u32::from_be_bytes(record[at..at + 4].try_into().unwrap());
            if offset != 0 && (at == 1 || record[0] & 2 == 0) {
                record[at..at + 4].copy_from_slice(&(offset + 1000).to_be_bytes());
            }
        }
    }
    fs::write(&base, headers).unwrap();
    let (again, _) = compacted(&base);
    let (again, tidy) = (files_in(again.path()), files_in(tidy.path()));
    assert_same_files(&again, &tidy, "without the hole");
}

#[test]
fn blobs_that_games_share_are_copied_once() {
    let folder = common::long_base(500);
    let base = folder.path().join("sample.cbh");
    let (_copy, new) = compacted(&base);
    let (old, new_len) = (
        fs::metadata(base.with_extension("cbg")).unwrap().len(),
        fs::metadata(new.with_extension("cbg")).unwrap().len(),
    );
    assert!(new_len < old, "{new_len}");
    assert_eq!(games_of(&new).len(), 500);
}

#[test]
fn media_and_description_are_copied_and_search_caches_are_not() {
    let folder = copy_of_base("cbh/texts");
    let base = folder.path().join("texts.cbh");
    let media = folder.path().join("texts.html");
    let _ = fs::create_dir(&media);
    fs::create_dir_all(media.join("deep")).unwrap();
    fs::write(media.join("deep/a.jpg"), "a picture").unwrap();
    for (extension, content) in [("ini", "x"), ("cbgi", "y"), ("cit", "z"), ("cko", "k")] {
        fs::write(base.with_extension(extension), content).unwrap();
    }
    let (copy, _) = compacted(&base);
    let files = files_in(copy.path());
    assert_eq!(files["tidy.html/deep/a.jpg"], b"a picture");
    assert_eq!(files["tidy.ini"], b"x");
    assert_eq!(files["tidy.cko"], b"k");
    assert!(!files.contains_key("tidy.cbgi") && !files.contains_key("tidy.cit"));
}

#[test]
fn a_copy_overwrites_nothing_and_a_failed_one_leaves_no_files() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let before = files_in(folder.path());
    let output = cbfs(&["compact", text_path(&base), text_path(&base)]);
    let advice = "sample.cbh: a base of this name exists already; choose another name";
    assert!(said(&output).contains(advice), "{}", said(&output));
    let new = folder.path().join("new.pgn");
    let output = cbfs(&["compact", text_path(&base), text_path(&new)]);
    assert_eq!(output.status.code(), Some(1));
    let missing = folder.path().join("missing.cbh");
    let output = cbfs(&["compact", text_path(&missing), text_path(&new)]);
    assert_eq!(output.status.code(), Some(1));
    assert_same_files(&files_in(folder.path()), &before, "after refusals");
}

#[test]
fn saves_in_the_journal_are_copied_and_the_base_is_unchanged() {
    use cbfs::cbh::{GameId, OpenBase, Options, Saver};
    use cbfs::storage::StoreAccess;
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let open = OpenBase::open(&base, &Options::default(), StoreAccess::ReadWrite, "test").unwrap();
    let mut saver = Saver::new(&open.database, std::time::SystemTime::now());
    saver.set_deleted(GameId(2), true).unwrap();
    let plan = saver.finish().unwrap();
    open.store.commit(&plan.transaction).unwrap();
    let other = copy_of(&base);
    let journal = ".sample.cbfs-journal";
    fs::copy(folder.path().join(journal), other.path().join(journal)).unwrap();
    let copied = other.path().join("sample.cbh");
    let before = files_in(other.path());
    let games = games_of(&base);
    let (_tidy, new) = compacted(&copied);
    assert_same_files(&files_in(other.path()), &before, "the source");
    let kept = games.values().filter(|game| !game.0).count();
    assert_eq!(games_of(&new).len(), kept);
}

#[test]
fn games_are_copied_despite_a_damaged_entity_header() {
    let games = kept_games(&common::fixture("cbh/sample/sample.cbh"));
    for extension in ["cbp", "cbt", "cbc", "cbs", "cbe", "cbl"] {
        let folder = copy_of_base("cbh/sample");
        let base = folder.path().join("sample.cbh");
        let file = base.with_extension(extension);
        let mut bytes = fs::read(&file).unwrap();
        bytes[..28].fill(0);
        fs::write(&file, &bytes).unwrap();
        let (_kept, new) = compacted(&base);
        assert_eq!(defects_of(&new), [""; 0], "{extension}");
        assert!(kept_games(&new) == games, "{extension}");
    }
    // The names of some players are lost, and nothing else.
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let file = base.with_extension("cbp");
    let mut bytes = fs::read(&file).unwrap();
    bytes[..400].fill(0);
    fs::write(&file, &bytes).unwrap();
    let new = folder.path().join("tidy.cbh");
    assert_told(&base, &new, &["it is copied unchanged"]);
    assert_eq!(fs::read(new.with_extension("cbp")).unwrap(), bytes);
    assert_eq!(kept_games(&new).len(), games.len());
}

#[test]
fn a_copy_of_a_file_that_was_cut_short_says_so() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let file = base.with_extension("cbg");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let cut = defects_of(&base);
    let is_lost = |defect: &&String| defect.contains("past the end of the file");
    let lost = cut.iter().filter(is_lost).count();
    assert!(lost > 1, "{cut:?}");
    let new = folder.path().join("tidy.cbh");
    assert_told(&base, &new, &["are cut off in", "`cbfs check "]);
}
