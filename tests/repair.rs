//! `cbfs check --repair`: derivable data are restored, and nothing else is
//! changed.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use cbfs::cbh::{OpenBase, Options, repair};
use cbfs::storage::StoreAccess;
use common::command::{assert_same_files, cbfs, copy_of, defects_of, files_in, said, succeeds};
use common::{copy_of_base, fixture_bases, games_of, real_bases};

fn text_path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Mends a base; what it said.
fn repaired(base: &Path) -> Vec<String> {
    let options = Options::default();
    let open = OpenBase::open(base, &options, StoreAccess::ReadWrite, "test").unwrap();
    let mut found = Vec::new();
    repair(&open, &|_| {}, &mut |defect| {
        found.push(defect.to_string());
    })
    .unwrap();
    open.store.close().unwrap();
    found
}

/// What no repair can mend.
fn is_beyond_repair(defect: &str) -> bool {
    let blobs = [".cbg", ".cba"].iter().any(|file| defect.starts_with(file));
    let rest = [
        "which does not exist",
        "has no meaning",
        "is neither game nor text",
        "does not sort after",
        "impossible",
        "of an older kind",
        "the file is missing",
    ];
    blobs || rest.iter().any(|known| defect.contains(known))
}

#[test]
fn a_repair_leaves_only_what_cannot_be_repaired_and_shows_the_same_games() {
    let mut count = 0;
    for base in fixture_bases().into_iter().chain(real_bases()) {
        let folder = copy_of(&base);
        let copy = folder.path().join(base.file_name().unwrap());
        let (games, blobs) = (games_of(&copy), blobs_of(&copy));
        let before = defects_of(&copy);
        let said = repaired(&copy);
        let left = defects_of(&copy);
        let more: Vec<_> = left
            .iter()
            .filter(|defect| !is_beyond_repair(defect))
            .collect();
        assert!(more.is_empty(), "{}: {more:?}", base.display());
        // But for the numbers of their games, remarks are as they were.
        let is_renumbered = said
            .iter()
            .any(|line| line.contains("record is that of game"));
        let remarks_of = |[_, remarks]: &[Vec<u8>; 2]| remarks.len();
        let now = blobs_of(&copy);
        assert_eq!(now[0], blobs[0], "{}", base.display());
        assert_eq!(remarks_of(&now), remarks_of(&blobs), "{}", base.display());
        assert!(now == blobs || is_renumbered, "{}", base.display());
        for (id, game) in games_of(&copy) {
            // An entity that was taken back may be shown now.
            let was = &games[&id];
            let is_sound = !was.1.contains("[%cbdefect");
            assert!(
                !is_sound || game == *was,
                "{} {id}: {game:?} {was:?}",
                base.display()
            );
        }
        assert_eq!(
            said.is_empty(),
            before == left,
            "{}: {said:?}",
            base.display()
        );
        assert_eq!(repaired(&copy), [""; 0], "{}", base.display());
        count += said.len();
    }
    println!("{count} things repaired");
}

/// What `.cbg` and `.cba` hold behind their headers.
fn blobs_of(base: &Path) -> [Vec<u8>; 2] {
    ["cbg", "cba"].map(|file| {
        let bytes = fs::read(base.with_extension(file)).unwrap();
        bytes.get(26..).unwrap_or_default().to_vec()
    })
}

/// A sound base whose files are damaged one byte at a time.
struct Patient {
    _folder: tempfile::TempDir,
    base: PathBuf,
    games: std::collections::BTreeMap<u32, (bool, String)>,
}

impl Patient {
    fn new() -> Patient {
        let folder = copy_of_base("cbh/sample");
        let base = folder.path().join("sample.cbh");
        assert_eq!(defects_of(&base), [""; 0]);
        let games = games_of(&base);
        Patient {
            _folder: folder,
            base,
            games,
        }
    }

    /// Damages one byte of a file, mends the base and looks at it.
    fn treat(&self, file: &str, at: usize, change: u8) {
        let path = self.base.with_extension(file);
        let sound = fs::read(&path).unwrap();
        let mut bytes = sound.clone();
        bytes[at] ^= change;
        fs::write(&path, &bytes).unwrap();
        let about = format!(".{file} {at} ^ {change:#04x}");
        let was_defective = !defects_of(&self.base).is_empty();
        let told = repaired(&self.base);
        assert_eq!(defects_of(&self.base), [""; 0], "{about}: {told:?}");
        assert!(games_of(&self.base) == self.games, "{about}: {told:?}");
        assert!(!was_defective || !told.is_empty(), "{about}");
        // Other files may have been repaired after this one.
        for entry in fs::read_dir(self.base.parent().unwrap()).unwrap() {
            let kept = entry.unwrap().path();
            if kept
                .extension()
                .is_some_and(|extension| extension == "before-repair")
            {
                fs::rename(&kept, kept.with_extension("")).unwrap();
            }
        }
        fs::write(&path, sound).unwrap();
        assert_eq!(defects_of(&self.base), [""; 0], "{about}");
    }
}

#[test]
fn each_damaged_byte_of_an_entity_header_is_repaired() {
    let patient = Patient::new();
    for file in ["cbp", "cbt", "cbc", "cbs", "cbe"] {
        let places = (0..8).chain(16..24);
        for at in places {
            patient.treat(file, at, if at % 2 == 0 { 0x01 } else { 0xff });
        }
        patient.treat(file, 24, 0x03);
        patient.treat(file, 24, 0x04);
    }
}

#[test]
fn each_damaged_byte_of_a_link_or_count_is_repaired() {
    let patient = Patient::new();
    for (file, size, step) in [
        ("cbp", 67, 4),
        ("cbt", 99, 4),
        ("cbc", 62, 1),
        ("cbs", 68, 1),
    ] {
        let len = fs::metadata(patient.base.with_extension(file))
            .unwrap()
            .len();
        let records = (usize::try_from(len).unwrap() - 32) / size;
        for record in (0..records).step_by(step) {
            let begin = 32 + record * size;
            for at in (begin..begin + 9).chain(begin + size - 8..begin + size) {
                patient.treat(file, at, if at % 2 == 0 { 0xff } else { 0x01 });
            }
        }
    }
}

#[test]
fn each_damaged_byte_of_a_length_or_game_property_is_repaired() {
    let patient = Patient::new();
    for at in (6..10).chain(40..44) {
        patient.treat("cbh", at, 0x01);
    }
    for file in ["cbg", "cba"] {
        for at in (2..6).chain(10..18) {
            patient.treat(file, at, 0x01);
        }
    }
    for at in 8..12 {
        patient.treat("cbj", at, 0x01);
    }
    for record in [1, 5] {
        patient.treat("cbh", 46 * record + 45, 0x07);
        for at in [14, 19, 33, 37] {
            patient.treat("cbj", 32 + 120 * (record - 1) + at, 0x01);
        }
    }
}

#[test]
fn changed_files_are_backed_up_and_older_backups_kept() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let sound = files_in(folder.path());
    let damage = |at: usize| {
        let mut bytes = fs::read(base.with_extension("cbp")).unwrap();
        bytes[at] ^= 0x55;
        fs::write(base.with_extension("cbp"), &bytes).unwrap();
        bytes
    };
    let first = damage(20);
    let told = succeeds(&["check", "--repair", text_path(&base)]);
    assert!(told.starts_with("repaired: "), "{told}");
    assert!(
        told.ends_with("sound (15 records)\n") || told.contains(": sound ("),
        "{told}"
    );
    assert_eq!(told.lines().count(), 2, "{told}");
    let second = damage(32);
    succeeds(&["check", "--repair", text_path(&base)]);
    let mut files = files_in(folder.path());
    assert_eq!(files.remove("sample.cbp.before-repair"), Some(first));
    assert_eq!(files.remove("sample.cbp.before-repair.2"), Some(second));
    files.remove("sample.cbp");
    let mut others = sound;
    others.remove("sample.cbp");
    assert_same_files(&files, &others, "the other files");
}

#[test]
fn a_sound_base_is_unchanged_and_remaining_damage_is_reported() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let before = files_in(folder.path());
    let told = succeeds(&["check", "--repair", text_path(&base)]);
    assert_eq!(told.lines().count(), 1, "{told}");
    assert_same_files(&files_in(folder.path()), &before, "a sound base");
    let mut moves = fs::read(base.with_extension("cbg")).unwrap();
    moves[40] ^= 0xff;
    fs::write(base.with_extension("cbg"), moves).unwrap();
    let output = cbfs(&["check", "--repair", text_path(&base)]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("sample.cbg at 0x"),
        "{}",
        said(&output)
    );
}

#[test]
fn unused_names_are_deleted_and_used_deleted_ones_restored() {
    let patient = Patient::new();
    let path = patient.base.with_extension("cbp");
    let sound = fs::read(&path).unwrap();
    let mut bytes = sound.clone();
    // Record 3 is marked as deleted, though games refer to it.
    bytes[32 + 67 * 3..32 + 67 * 3 + 4].copy_from_slice(&(-999_i32).to_le_bytes());
    // And one more record is there that no game refers to.
    let capacity = u32::from_le_bytes(bytes[..4].try_into().unwrap());
    bytes[..4].copy_from_slice(&(capacity + 1).to_le_bytes());
    let mut stranger = [0xff; 67];
    stranger[8..].fill(b'x');
    bytes.extend(stranger);
    fs::write(&path, bytes).unwrap();
    let told = repaired(&patient.base);
    for part in ["restored", "deleted", "rebuilt"] {
        assert!(
            told.iter().any(|line| line.contains(part)),
            "{part}: {told:?}"
        );
    }
    assert_eq!(defects_of(&patient.base), [""; 0]);
    assert!(games_of(&patient.base) == patient.games);
}

#[test]
fn a_missing_entity_header_is_rebuilt_from_the_records() {
    for base in fixture_bases().into_iter().chain(real_bases()) {
        let folder = copy_of(&base);
        let copy = folder.path().join(base.file_name().unwrap());
        repaired(&copy);
        let (games, left) = (games_of(&copy), defects_of(&copy));
        let kinds = ["cbp", "cbt", "cbc", "cbs", "cbe", "cbl"];
        for (extension, fill) in kinds.into_iter().zip([0, 0xff, 0x20].repeat(2)) {
            let file = copy.with_extension(extension);
            let about = format!("{} {extension}", base.display());
            let Ok(sound) = fs::read(&file) else {
                continue;
            };
            let mut bytes = sound.clone();
            bytes[..28].fill(fill);
            fs::write(&file, &bytes).unwrap();
            let told = repaired(&copy);
            if ["cbe", "cbl"].contains(&extension) && !copy.with_extension("cbj").exists() {
                // Nothing says which of the records games have.
                assert_eq!(told, [""; 0], "{about}");
                assert!(fs::read(&file).unwrap() == bytes, "{about}");
                fs::write(&file, sound).unwrap();
                continue;
            }
            let is_header = |line: &String| line.contains("the header is rebuilt");
            assert!(told.iter().any(is_header), "{about}: {told:?}");
            assert_eq!(defects_of(&copy), left, "{about}: {told:?}");
            // An empty file may have another root.
            let is_empty = sound.len() <= 32;
            assert!(is_empty || fs::read(&file).unwrap() == sound, "{about}");
        }
        assert!(games_of(&copy) == games, "{}", base.display());
    }
}

#[test]
fn an_entity_file_without_records_stays_and_others_are_repaired() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let (players, tournaments) = (base.with_extension("cbp"), base.with_extension("cbt"));
    let mut lost = fs::read(&players).unwrap();
    lost[..400].fill(0);
    fs::write(&players, &lost).unwrap();
    let sound = fs::read(&tournaments).unwrap();
    let mut bytes = sound.clone();
    bytes[20] ^= 1;
    fs::write(&tournaments, bytes).unwrap();
    let output = cbfs(&["check", "--repair", text_path(&base)]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told = said(&output);
    assert_eq!(told.matches("it stays as it is").count(), 1, "{told}");
    assert!(
        told.contains("sample.cbp at 0x8: not an entity file"),
        "{told}"
    );
    assert_eq!(fs::read(&tournaments).unwrap(), sound);
    assert_eq!(fs::read(&players).unwrap(), lost);
    // A save that needs a name says why it cannot be.
    let text = folder.path().join("new.pgn");
    fs::write(&text, "[White \"New, Name\"]\n\n1. e4 *\n").unwrap();
    let output = cbfs(&["import", text_path(&base), text_path(&text)]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("signature is missing"),
        "{}",
        said(&output)
    );
    assert_eq!(fs::read(&players).unwrap(), lost);
}

/// Where the record of remarks of a game lies.
fn remarks_at(base: &Path, game: usize) -> usize {
    let headers = fs::read(base).unwrap();
    let at = 46 * game + 5;
    u32::from_be_bytes(headers[at..at + 4].try_into().unwrap()) as usize
}

#[test]
fn annotations_with_a_wrong_game_number_are_repaired() {
    let folder = copy_of_base("cbh/annotations");
    let base = folder.path().join("annotations.cbh");
    let remarks = base.with_extension("cba");
    let (sound, known) = (fs::read(&remarks).unwrap(), defects_of(&base));
    let annotated = (1..=3).filter(|game| remarks_at(&base, *game) != 0);
    let annotated: Vec<usize> = annotated.collect();
    assert!(annotated.len() > 1);
    let mut bytes = sound.clone();
    for game in &annotated {
        let at = remarks_at(&base, *game);
        bytes[at..at + 3].copy_from_slice(&[0x12, 0, 0x34]);
    }
    fs::write(&remarks, &bytes).unwrap();
    let told = succeeds_or_told(&["check", "--repair", text_path(&base)]);
    let fixes = told.matches("repaired: ").count();
    assert_eq!(fixes, annotated.len(), "{told}");
    assert_eq!(fs::read(&remarks).unwrap(), sound);
    assert_eq!(defects_of(&base), known);
    let kept = folder.path().join("annotations.cba.before-repair");
    assert_eq!(fs::read(kept).unwrap(), bytes);
}

/// What a check says of a base that has defects of another kind or none.
fn succeeds_or_told(arguments: &[&str]) -> String {
    let output = cbfs(arguments);
    assert!(output.status.code().is_some_and(|code| code < 2));
    said(&output)
}

#[test]
fn annotations_shared_by_two_games_belong_to_neither() {
    let folder = copy_of_base("cbh/annotations");
    let base = folder.path().join("annotations.cbh");
    let remarks = base.with_extension("cba");
    let mut headers = fs::read(&base).unwrap();
    let at = |game: usize| 46 * game + 5;
    let first = headers[at(1)..at(1) + 4].to_vec();
    assert!(remarks_at(&base, 1) != 0);
    headers[at(2)..at(2) + 4].copy_from_slice(&first);
    fs::write(&base, headers).unwrap();
    let mut bytes = fs::read(&remarks).unwrap();
    let place = remarks_at(&base, 1);
    bytes[place..place + 3].copy_from_slice(&[0, 0, 99]);
    fs::write(&remarks, &bytes).unwrap();
    repaired(&base);
    assert_eq!(fs::read(&remarks).unwrap(), bytes);
}
