//! Laws of `cbfs convert`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "helpers of tests fail and speak as tests do"
)]

mod common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use cbfs::archive::{PackInput, pack};
use cbfs::base;
use cbfs::cbh::{Entry, FileKind, GameId, Options, TournamentExtras};
use cbfs::storage::{DiskFile, MemoryFile};
use common::command::{CBFS, cbfs, defects_of, files_in, said, succeeds};
use common::mounted::Mount;
use common::{fixture, games_of};

const FILES: [&str; 5] = ["2cbh", "2cbg", "2cba", "2lid", "ini"];

/// Length of the header of `.2cbh`, and of each record.
const RECORD: usize = 192;

fn run(source: &Path, new: &Path) -> Output {
    cbfs(&[OsStr::new("convert"), source.as_os_str(), new.as_os_str()])
}

fn converts(source: &Path, new: &Path) -> String {
    succeeds(&[OsStr::new("convert"), source.as_os_str(), new.as_os_str()])
}

fn export(base: &Path) -> String {
    succeeds(&[OsStr::new("export"), base.as_os_str()])
}

fn entries(path: &Path) -> Vec<Entry> {
    let base = base::open(path, &Options::default()).unwrap();
    let mut entries = Vec::new();
    base.entries(GameId(1), base.last_id(), &mut entries)
        .unwrap();
    entries
}

/// A copy of a base of the fixtures in the newer format.
fn copy_of(name: &str, folder: &Path) -> PathBuf {
    let from = fixture("2cbh").join(name).join(name);
    for extension in FILES {
        let to = folder.join(name).with_extension(extension);
        fs::copy(from.with_extension(extension), &to).unwrap();
    }
    folder.join(name).with_extension("2cbh")
}

/// Names of what is in a folder, hidden or not.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// What a mount shows of games and texts, but not by positions.
fn shown(mount: &Mount) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for name in names(&mount.path("")) {
        let path = mount.path(&name);
        if [".cbfs", "tree", "fen", "line", "find", "html"].contains(&name.as_str()) {
            continue;
        }
        if path.is_file() {
            files.insert(name, fs::read(path).unwrap());
            continue;
        }
        let inside = files_in(&path).into_iter();
        files.extend(inside.map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
    }
    assert!(files.len() > 40, "{:?}", files.keys());
    files
}

/// An archive of all files of a folder.
fn packed(folder: &Path, archive: &Path) {
    let paths: Vec<String> = files_in(folder).into_keys().collect();
    let files: Vec<DiskFile> = paths
        .iter()
        .map(|path| DiskFile::open(&folder.join(path)).unwrap())
        .collect();
    let inputs: Vec<PackInput<'_>> = paths
        .iter()
        .zip(&files)
        .map(|(path, file)| PackInput {
            path: path.clone(),
            file,
            modified: None,
        })
        .collect();
    let options = cbfs::archive::Options::default();
    pack(archive, &inputs, &options, None, &mut |_| true, &|| Ok(())).unwrap();
}

#[test]
fn a_base_without_its_remarks_is_not_sound_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let base = copy_of("sample", folder.path());
    fs::remove_file(base.with_extension("2cba")).unwrap();
    let line = ".2cba at 0x0: not found, so that no game has its remarks";
    let output = run(&base, &folder.path().join("new.cbh"));
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains(line), "{}", said(&output));
    let output = cbfs(&[OsStr::new("check"), base.as_os_str()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("1 defect"), "{}", said(&output));
    let output = cbfs(&[OsStr::new("export"), base.as_os_str()]);
    assert!(said(&output).contains(line), "{}", said(&output));
}

#[test]
fn a_converted_base_says_all_that_its_source_says() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["sample", "mixed"] {
        let source = fixture("2cbh").join(name).join(name).with_extension("2cbh");
        let new = folder.path().join(name).with_extension("cbh");
        let output = run(&source, &new);
        assert!(output.status.success(), "{}", said(&output));
        let told = String::from_utf8_lossy(&output.stderr);
        let lines = told.lines().filter_map(|line| line.split("2cbh: ").nth(1));
        let expected = [
            "no field in CBH: Round, kept in a remark: 1, first in 1",
            "no field in CBH: WhiteFideId, kept in a remark: 1, first in 1",
        ];
        let expected = if name == "mixed" { &expected[..] } else { &[] };
        assert_eq!(lines.collect::<Vec<_>>(), expected);
        assert_eq!(defects_of(&new), [""; 0]);
        assert_eq!(export(&new), export(&source));
        let all = |path: &Path| format!("{:?}", entries(path));
        assert_eq!(
            all(&source),
            all(&new),
            "numbers, kinds, deleted flags, dates"
        );
        let [source, new] = [&source, &new].map(|path| Mount::of_base(path));
        let [source, new] = [&source, &new].map(shown);
        assert!(source.keys().eq(new.keys()));
        for (path, bytes) in &source {
            // A round above 255 stands in a remark, which is not in the table.
            if path == "headers.tsv" && name == "mixed" {
                continue;
            }
            let [one, other] = [bytes, &new[path]].map(|bytes| String::from_utf8_lossy(bytes));
            assert_eq!(one, other, "{path}");
        }
    }
}

#[test]
fn a_converted_base_has_the_entities_of_its_older_form() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("sample.cbh");
    converts(&fixture("2cbh/sample/sample.2cbh"), &new);
    assert_eq!(games_of(&new), games_of(&fixture("cbh/sample/sample.cbh")));
    let info = |path: &Path| {
        let info = succeeds(&[OsStr::new("info"), path.as_os_str()]);
        let lines = info.lines().filter(|line| {
            ["  games", "  deleted", "  texts"]
                .iter()
                .any(|word| line.ends_with(word))
        });
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(info(&new), info(&fixture("2cbh/sample/sample.2cbh")));
}

/// Puts a picture into the text of the sample, in place of its words.
fn show_picture(base: &Path) {
    let file = base.with_extension("2cbg");
    let mut bytes = fs::read(&file).unwrap();
    let find =
        |bytes: &[u8], wanted: &[u8]| bytes.windows(wanted.len()).position(|at| at == wanted);
    let words = "Games by Morphy, Réti and others, known to every player.".as_bytes();
    let at = find(&bytes, words).unwrap();
    let mut picture = br#"<img src="Sample.html\a.jpg">"#.to_vec();
    picture.resize(words.len(), b' ');
    bytes[at..at + words.len()].copy_from_slice(&picture);
    let mark = [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11];
    let frame = bytes[..at].windows(8).rposition(|at| at == mark).unwrap();
    let length = u32::from_le_bytes(bytes[frame + 8..frame + 12].try_into().unwrap());
    let content = frame + 26;
    let eighth = length as usize / 8;
    for number in 0..8 {
        let part = &bytes[content + eighth * number..][..eighth];
        let sum = part.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        bytes[frame + 23 - number] = sum;
    }
    fs::write(&file, bytes).unwrap();
}

#[test]
fn pictures_of_texts_come_along_under_the_new_name() {
    let folder = tempfile::tempdir().unwrap();
    let source = copy_of("sample", folder.path());
    show_picture(&source);
    let pictures = folder.path().join("sample.html");
    fs::create_dir(&pictures).unwrap();
    fs::write(pictures.join("a.jpg"), "picture").unwrap();
    let new = folder.path().join("other name.cbh");
    let output = run(&source, &new);
    assert!(output.status.success(), "{}", said(&output));
    let copied = files_in(&folder.path().join("other name.html"));
    assert_eq!(files_in(&pictures), copied);
    let moves = fs::read(new.with_extension("cbg")).unwrap();
    let moves = String::from_utf8_lossy(&moves);
    assert!(moves.contains(r#"src="other name.html\a.jpg""#));
    let [source, new] = [&source, &new].map(|path| Mount::of_base(path));
    let texts = |mount: &Mount| files_in(&mount.path("texts"));
    assert_eq!(texts(&source), texts(&new));
    assert_eq!(new.shell("cat texts/media/a.jpg"), "picture");
}

/// Changes bytes of a record of `.2cbh`.
fn patch(base: &Path, id: usize, at: usize, bytes: &[u8]) {
    let mut content = fs::read(base).unwrap();
    let at = RECORD * id + at;
    content[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(base, content).unwrap();
}

#[test]
fn losses_are_reported_by_kind_with_count_and_first_game() {
    let folder = tempfile::tempdir().unwrap();
    let source = copy_of("mixed", folder.path());
    let before = games_of_newer(&source);
    for id in [5, 7, 9] {
        // A rating of lichess.
        patch(&source, id, 0x62, b"\x03\0\x0e\0\xc4\0LiChess\0");
    }
    patch(&source, 11, 0x60, &5000_u16.to_le_bytes());
    patch(&source, 12, 0x5a, &[3, 0, 2, 0, 1, 0]);
    let new = folder.path().join("new.cbh");
    let output = run(&source, &new);
    assert!(output.status.success(), "{}", said(&output));
    let told = String::from_utf8_lossy(&output.stderr);
    for line in [
        "type of a rating (of a server, or bullet), of which the name is kept: 3, first in 5",
        "Round, kept in a remark: 2, first in 1",
        "WhiteElo, kept in a remark: 1, first in 11",
    ] {
        assert!(told.contains(line), "{told}");
    }
    assert_eq!(told.lines().count(), 4, "{told}");
    let games = games_of(&new);
    assert!(
        games[&11].1.contains("WhiteElo \"5000\"]"),
        "{}",
        games[&11].1
    );
    assert!(
        games[&12].1.contains("[Round \"3.2.1\"]"),
        "{}",
        games[&12].1
    );
    assert_eq!(games[&1], before[&1]);
    assert_eq!(defects_of(&new), [""; 0]);
    // Without the tags that it has no field for.
    let bare = folder.path().join("bare.cbh");
    let [convert, drop] = ["convert", "--drop-foreign-tags"].map(OsStr::new);
    let output = cbfs(&[convert, drop, source.as_os_str(), bare.as_os_str()]);
    assert!(
        said(&output).contains("Round, left out: 2, first in 1"),
        "{}",
        said(&output)
    );
    assert!(games_of(&bare)[&12].1.contains("[Round \"3.2\"]"));
}

/// Content of eight bytes or more, in the frame in which `.2cba` holds it.
fn frame(content: &[u8]) -> Vec<u8> {
    let eighth = content.len() / 8;
    let parts = content.chunks(eighth).take(8);
    let sums = parts.map(|part| part.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
    let sums: Vec<u8> = sums.collect();
    let length = u32::try_from(content.len()).unwrap();
    let mut frame = vec![0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11];
    frame.extend(length.to_le_bytes());
    frame.extend([0; 4]);
    frame.extend(sums.iter().rev());
    frame.extend(0x2000_u16.to_le_bytes());
    frame.extend(content);
    frame.extend(u64::from(length + 34).to_le_bytes());
    frame
}

/// Gives a game other remarks: those on the game, and on its first move.
fn remark(base: &Path, id: usize, of_game: &[Vec<u8>], of_move: &[Vec<u8>]) {
    let path = base.with_extension("2cba");
    let mut file = fs::read(&path).unwrap();
    let mut content = Vec::new();
    for (position, remarks) in [(-1_i32, of_game), (0, of_move)] {
        content.extend(position.to_le_bytes());
        content.extend(i32::try_from(remarks.len()).unwrap().to_le_bytes());
        content.extend(remarks.concat());
    }
    content.extend(i32::MAX.to_le_bytes());
    patch(base, id, 16, &file.len().to_le_bytes());
    file.extend(frame(&content));
    let size = file.len().to_le_bytes();
    file[..8].copy_from_slice(&size);
    fs::write(path, file).unwrap();
}

/// A string behind its length.
fn counted(text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    [&length.to_le_bytes(), text].concat()
}

/// A quoted game with the move e2-e4 of a White of this last and first name.
fn quotation(white: &[u8], first: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x13, 0, 1, 2, 0, 0, 0, 1, 0, 0, 0, 0];
    for name in [white, first, b"Tal", b"M", b"Riga", b"Match"] {
        bytes.push(u8::try_from(name.len() + 1).unwrap());
        bytes.extend(name);
        bytes.push(0);
    }
    bytes.extend([0; 79]);
    for _ in 0..2 {
        bytes.extend([1, 0, 1, 0, 0, 0, 0, 0, 0]);
    }
    bytes.extend([0; 26]);
    bytes.extend([1, 0, 0, 1, 0, 0, 0, 33, 35, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

/// A text of the game, in English.
fn text(kind: u8, words: &[u8]) -> Vec<u8> {
    [&[kind, 0, 0, 0, 0, 0][..], &counted(words)].concat()
}

#[test]
fn remarks_come_along_as_they_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let source = copy_of("sample", folder.path());
    let question = |seconds: u32| {
        let mut bytes = vec![9, 0, 1, 1, 1, 0, 0, 0];
        bytes.extend(seconds.to_le_bytes());
        bytes.extend([5, 0, 1, 0, 0, 0]);
        bytes.extend(counted(b"Why?"));
        bytes.extend([0; 7]);
        bytes
    };
    let squares = |square| [&[4, 0][..], &counted(&[2, square])].concat();
    remark(
        &source,
        1,
        &[text(0x82, b"Before all"), text(0x02, b"the game")],
        &[
            squares(1),
            vec![3, 0, 1, 0, 0],
            question(100_000),
            squares(64),
            vec![3, 0, 0, 14, 0],
            quotation("Кор".as_bytes(), b""),
        ],
    );
    let new = folder.path().join("new.cbh");
    let output = run(&source, &new);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        said(&output)
    );
    assert_eq!(defects_of(&new), [""; 0]);
    let [before, after] = [games_of_newer(&source), games_of(&new)];
    assert_eq!(before[&1], after[&1]);
    let (_, game) = &after[&1];
    let game = game.split_whitespace().collect::<Vec<_>>().join(" ");
    for shown in [
        "{Before all} {[%cblang en] the game} 1. e4",
        "$1 $14 {",
        "[%csl Ga1,Gh8]",
        "[CbhExact1 \"09~",
        "[%cbgame 0-1 Кор-Tal,M Match Riga 1.e4]",
    ] {
        assert!(game.contains(shown), "{shown}: {game}");
    }
}

#[test]
fn remarks_that_cbh_cannot_hold_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let source = copy_of("sample", folder.path());
    let address = format!("https://{}", "a".repeat(300));
    let link = [
        &[0x1c, 0, 1][..],
        &counted(address.as_bytes()),
        &counted(b"here"),
    ]
    .concat();
    let points = [&20_000_u16.to_le_bytes()[..], &[1, 0, 0, 0].repeat(20_000)].concat();
    let profile = [&[0x26, 0, 1][..], &counted(&points)].concat();
    let seconds = [vec![0x14, 0, 3], vec![0x14, 0, 4]];
    let name = [b'W'; 200];
    let long = [link, text(2, &b"x".repeat(70_000)), quotation(&name, &name)];
    remark(&source, 1, &[profile], &[&seconds[..], &long].concat());
    let new = folder.path().join("new.cbh");
    let output = run(&source, &new);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told = String::from_utf8_lossy(&output.stderr);
    for line in [
        "remark longer than CBH can hold, left out: 1, first in 1",
        "web link longer than its field, kept as a text: 1, first in 1",
        "evaluation profile longer than CBH can hold, cut: 1, first in 1",
        "quoted game with a name or moves longer than CBH can hold, cut: 1, first in 1",
        "second remark of one kind on a move, kept as it is stored, [%cba …] in PGN: 1, first in 1",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert_eq!(told.lines().count(), 5, "{told}");
    assert_eq!(defects_of(&new), [""; 0]);
    let (_, game) = &games_of(&new)[&1];
    let game: String = game.split_whitespace().collect();
    assert!(game.contains(&format!("{address}here")), "{game}");
}

fn games_of_newer(path: &Path) -> BTreeMap<u32, (bool, String)> {
    let base = base::open(path, &Options::default()).unwrap();
    let mut decoded = cbfs::cbh::Decoded::default();
    let mut games = BTreeMap::new();
    for entry in entries(path) {
        if base.read_game(entry.id, &mut decoded).is_ok() {
            games.insert(entry.id.0, (entry.is_deleted, common::text_of(&decoded)));
        }
    }
    games
}

#[test]
fn unreadable_games_are_reported_and_the_rest_converted() {
    let folder = tempfile::tempdir().unwrap();
    let source = copy_of("mixed", folder.path());
    let before = games_of_newer(&source);
    patch(&source, 3, 2, &[9]);
    // The moves of a game lie nowhere.
    patch(&source, 8, 8, &u64::MAX.to_le_bytes());
    let new = folder.path().join("new.cbh");
    let output = run(&source, &new);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("left out: 1, first in 3"), "{told}");
    assert!(
        told.contains("as far as it can be read: 1, first in 8"),
        "{told}"
    );
    let games = games_of(&new);
    assert_eq!(games.len(), before.len() - 1);
    assert_eq!(games[&2], before[&2]);
    // A number is lower behind the record that is none.
    assert_eq!(games[&3], before[&4]);
    assert_eq!(games[&47], before[&48]);
    assert_eq!(defects_of(&new), [""; 0]);
}

#[test]
fn no_damage_makes_a_base_with_defects() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = 0;
    for file in &FILES[..4] {
        let whole = fs::read(copy_of("mixed", folder.path()).with_extension(file)).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 12) {
            let source = copy_of("mixed", folder.path());
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            fs::write(source.with_extension(file), bytes).unwrap();
            let new = folder.path().join(format!("{file}{at}.cbh"));
            let output = run(&source, &new);
            let code = output.status.code();
            assert!(
                matches!(code, Some(0 | 1)),
                "{file} {at}: {}",
                said(&output)
            );
            if new.exists() {
                made += 1;
                assert_eq!(defects_of(&new), [""; 0], "{file} {at}");
            } else {
                assert!(said(&output).contains("cbfs: "), "{}", said(&output));
            }
        }
    }
    println!("{made} bases");
    assert!(made > 20, "only {made} bases were made");
}

#[test]
fn details_of_tournaments_come_along() {
    let folder = tempfile::tempdir().unwrap();
    let source = copy_of("mixed", folder.path());
    // The tournament of game 1: latitude, longitude and flags behind its names.
    let lid = source.with_extension("2lid");
    let mut bytes = fs::read(&lid).unwrap();
    let be = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (header, kinds) = (be(0), be(4));
    let sizes: Vec<usize> = (0..kinds).map(|kind| be(8 + 20 * kind)).collect();
    let headers = fs::read(&source).unwrap();
    let id = usize::from(headers[RECORD + 0x28]);
    let container = header + id * sizes.iter().sum::<usize>() + sizes[0];
    let length = |at: usize| usize::from(bytes[at]);
    let place = container + 4;
    let title = place + 4 + length(place);
    let tail = title + 4 + length(title);
    bytes[tail + 9] = 5;
    bytes[tail + 12..tail + 16].copy_from_slice(&51.5_f32.to_le_bytes());
    bytes[tail + 16..tail + 20].copy_from_slice(&(-0.25_f32).to_le_bytes());
    fs::write(&lid, bytes).unwrap();
    let new = folder.path().join("new.cbh");
    converts(&source, &new);
    assert_eq!(defects_of(&new), [""; 0]);
    let record = fs::read(&new).unwrap()[46 + 15..46 + 18].to_vec();
    let id = u32::from_be_bytes([0, record[0], record[1], record[2]]);
    let extras = fs::read(new.with_extension("cbtt")).unwrap();
    assert!(TournamentExtras::open(Box::new(MemoryFile::from(extras.clone()))).is_ok());
    let at = 32 + 65 * id as usize;
    assert_eq!(extras[at..at + 8], 51.5_f64.to_be_bytes());
    assert_eq!(extras[at + 8..at + 16], (-0.25_f64).to_be_bytes());
    let tournaments = fs::read(new.with_extension("cbt")).unwrap();
    assert_eq!(tournaments[32 + 99 * id as usize + 9 + 79], 5);
    assert_eq!(FileKind::Tournaments.extension(), "cbt");
}

#[test]
fn an_archive_of_a_base_is_copied_byte_for_byte_under_the_new_name() {
    let folder = tempfile::tempdir().unwrap();
    let [inside, out] = ["inside", "out"].map(|name| folder.path().join(name));
    fs::create_dir(&out).unwrap();
    fs::create_dir_all(inside.join("sample.html/more")).unwrap();
    for file in fs::read_dir(fixture("cbh/sample")).unwrap() {
        let from = file.unwrap().path();
        if from.is_file() {
            fs::copy(&from, inside.join(from.file_name().unwrap())).unwrap();
        }
    }
    fs::remove_file(inside.join("expected.jsonl")).unwrap();
    fs::write(inside.join("sample.html/more/a.jpg"), "picture").unwrap();
    fs::write(inside.join("sample.cbgi"), "cache").unwrap();
    fs::write(inside.join("sample.json"), "of no kind that is known").unwrap();
    let archive = folder.path().join("sample.cbv");
    packed(&inside, &archive);
    let new = out.join("new.cbh");
    let output = run(&archive, &new);
    assert!(output.status.success(), "{}", said(&output));
    assert!(output.stderr.is_empty(), "{}", said(&output));
    let renamed = files_in(&inside).into_iter();
    let renamed = renamed.map(|(path, bytes)| (path.replacen("sample.", "new.", 1), bytes));
    let expected: BTreeMap<String, Vec<u8>> = renamed.collect();
    assert_eq!(files_in(&out), expected);
    assert_eq!(export(&new), export(&fixture("cbh/sample/sample.cbh")));
    // Files of others are named.
    fs::write(inside.join("readme.txt"), "x").unwrap();
    let other = folder.path().join("other.cbv");
    packed(&inside, &other);
    let output = run(&other, &out.join("two.cbh"));
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).contains("left out: 1, first readme.txt"),
        "{}",
        said(&output)
    );
    assert!(!out.join("readme.txt").exists());
}

#[test]
fn a_damaged_archive_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("sample.cbv");
    let whole = fs::read(fixture("archive/sample.cbv")).unwrap();
    for at in [whole.len() - 30, whole.len() / 2, 20] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&archive, bytes).unwrap();
        let output = run(&archive, &folder.path().join("new.cbh"));
        if at != 20 {
            assert_eq!(output.status.code(), Some(1), "{}", said(&output));
            assert!(
                said(&output).contains("nothing was made"),
                "{}",
                said(&output)
            );
            assert_eq!(names(folder.path()), ["sample.cbv"]);
        }
    }
    fs::write(&archive, &whole[..whole.len() - 1]).unwrap();
    let output = run(&archive, &folder.path().join("cut.cbh"));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(!folder.path().join("cut.cbh").exists());
}

#[test]
fn a_base_in_the_newer_format_is_converted_out_of_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    fs::create_dir_all(inside.join("sample.html")).unwrap();
    copy_of("sample", &inside);
    fs::write(inside.join("sample.html/a.jpg"), "picture").unwrap();
    let archive = folder.path().join("sample.cbv");
    packed(&inside, &archive);
    let new = folder.path().join("new.cbh");
    converts(&archive, &new);
    assert_eq!(export(&new), export(&fixture("2cbh/sample/sample.2cbh")));
    assert_eq!(
        fs::read(folder.path().join("new.html/a.jpg")).unwrap(),
        b"picture"
    );
    let ini = fs::read_to_string(new.with_extension("ini")).unwrap();
    assert!(ini.contains("[DescrCBG]") && !ini.contains("2CBG"), "{ini}");
}

#[test]
fn a_pgn_becomes_what_an_import_makes_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let pgn = folder.path().join("games.pgn");
    fs::write(&pgn, export(&fixture("cbh/sample/sample.cbh"))).unwrap();
    let [new, imported] = ["new.cbh", "imported.cbh"].map(|name| folder.path().join(name));
    converts(&pgn, &new);
    let [import, create] = ["import", "--create"].map(OsStr::new);
    succeeds(&[import, create, imported.as_os_str(), pgn.as_os_str()]);
    assert_eq!(games_of(&new), games_of(&imported));
    assert!(games_of(&new).len() > 10);
}

#[test]
fn a_pgn_is_converted_beside_the_description_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let games = export(&fixture("cbh/sample/sample.cbh"));
    let description = "[DescrPGN]\r\nType=1\r\n";
    for name in ["games.pgn", "packed.pgn.gz"] {
        let source = folder.path().join(name);
        let stem = name.split('.').next().unwrap();
        let ini = folder.path().join(stem).with_extension("ini");
        fs::write(&source, &games).unwrap();
        fs::write(&ini, description).unwrap();
        let new = folder.path().join(stem).with_extension("cbh");
        let [import, create, dry] = ["import", "--create", "--dry-run"].map(OsStr::new);
        succeeds(&[import, create, dry, new.as_os_str(), source.as_os_str()]);
        converts(&source, &new);
        assert_eq!(fs::read_to_string(&ini).unwrap(), description);
        assert_eq!(defects_of(&new), [""; 0]);
        let converted = games_of(&new);
        assert_eq!(converted.len(), 13);
        assert!(converted[&1].1.contains("Légal"), "{}", converted[&1].1);
    }
    // The description of another file is none of the new base.
    let other = folder.path().join("other.ini");
    fs::write(&other, description).unwrap();
    let output = run(
        &folder.path().join("games.pgn"),
        &other.with_extension("cbh"),
    );
    assert!(said(&output).contains("other.ini, exists already"));
}

#[test]
fn existing_files_stay_and_other_sources_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = copy_of("mixed", folder.path());
    fs::create_dir(folder.path().join("mixed.html")).unwrap();
    for taken in ["new.cbh", "new.CBT", "new.flags"] {
        let file = folder.path().join(taken);
        fs::write(&file, "mine").unwrap();
        let before = names(folder.path());
        let output = run(&source, &folder.path().join("new.cbh"));
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("already"), "{}", said(&output));
        assert_eq!(names(folder.path()), before);
        assert_eq!(fs::read(&file).unwrap(), b"mine");
        fs::remove_file(&file).unwrap();
    }
    // The folder of the pictures too.
    fs::create_dir(folder.path().join("new.html")).unwrap();
    let before = names(folder.path());
    let output = run(&source, &folder.path().join("new.cbh"));
    assert!(said(&output).contains("new.html"), "{}", said(&output));
    assert_eq!(names(folder.path()), before);
    let cbh = fixture("cbh/sample/sample.cbh");
    for (source, why) in [
        (cbh.as_path(), "a CBH base already"),
        (folder.path(), "a directory"),
        (Path::new("book.ctg"), "an opening book"),
        (Path::new("nowhere.2cbh"), "nowhere.2cbh"),
        (Path::new("nowhere.2CBH"), "nowhere.2CBH: not found"),
        (Path::new("nowhere.CBH"), "nowhere.CBH: not found"),
        (Path::new("nodir/x.cbh"), "nodir/x.cbh: No such file"),
        (Path::new("nodir/x.2cbh"), "nodir/x.2cbh: No such file"),
        (Path::new("nowhere.pgn"), "nowhere.pgn"),
    ] {
        let output = run(source, &folder.path().join("other.cbh"));
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(why), "{}", said(&output));
        assert_eq!(names(folder.path()), before);
    }
    let output = run(
        &folder.path().join("mixed.2cbh"),
        &folder.path().join("x.pgn"),
    );
    assert!(said(&output).contains("ends in .cbh"), "{}", said(&output));
}

#[test]
fn a_base_is_converted_beside_its_source_and_shares_its_description_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let source = copy_of("sample", folder.path());
    show_picture(&source);
    let pictures = folder.path().join("sample.html");
    fs::create_dir(&pictures).unwrap();
    fs::write(pictures.join("a.jpg"), "picture").unwrap();
    let before = files_in(folder.path());
    let new = source.with_extension("cbh");
    converts(&source, &new);
    let after = files_in(folder.path());
    for (path, bytes) in &before {
        assert_eq!(after.get(path), Some(bytes), "{path}");
    }
    assert_eq!(defects_of(&new), [""; 0]);
    assert_eq!(export(&new), export(&source));
    let mount = Mount::of_base(&new);
    assert_eq!(mount.shell("cat texts/media/a.jpg"), "picture");
    // In another folder the name is taken all the same.
    let elsewhere = tempfile::tempdir().unwrap();
    let new = elsewhere.path().join("sample.cbh");
    fs::write(new.with_extension("ini"), "mine").unwrap();
    let output = run(&source, &new);
    assert!(said(&output).contains("sample.ini"), "{}", said(&output));
    assert_eq!(names(elsewhere.path()), ["sample.ini"]);
}

#[test]
fn non_pictures_are_reported_and_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let source = copy_of("sample", folder.path());
    let pictures = folder.path().join("sample.html");
    fs::create_dir(&pictures).unwrap();
    fs::create_dir(folder.path().join("SAMPLE.html")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", pictures.join("linked.jpg")).unwrap();
    let pipe = Command::new("mkfifo").arg(pictures.join("pipe")).status();
    assert!(pipe.unwrap().success());
    let new = source.with_extension("cbh");
    converts(&source, &new);
    let compact = OsStr::new("compact");
    for (output, of) in [
        (run(&source, &folder.path().join("other.cbh")), "other"),
        (
            cbfs(&[
                compact,
                new.as_os_str(),
                folder.path().join("tidy.cbh").as_os_str(),
            ]),
            "tidy",
        ),
    ] {
        assert!(output.status.success(), "{}", said(&output));
        for told in [
            "sample.html/linked.jpg: a link, not copied",
            "sample.html/pipe: a pipe, not copied",
            "SAMPLE.html: a second folder of this name, in other letter case, not copied",
        ] {
            assert!(said(&output).contains(told), "{}", said(&output));
        }
        let copied = folder.path().join(of).with_extension("html");
        assert_eq!(names(&copied), [""; 0]);
    }
    // A folder that is a link.
    fs::remove_dir_all(&pictures).unwrap();
    std::os::unix::fs::symlink("/etc", &pictures).unwrap();
    let output = run(&source, &folder.path().join("third.cbh"));
    assert!(
        said(&output).contains("sample.html: a link, not copied"),
        "{}",
        said(&output)
    );
    assert!(!folder.path().join("third.html").exists());
}

#[test]
fn a_new_base_takes_over_nothing_that_lies_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let pgn = at("games.pgn");
    fs::write(&pgn, export(&fixture("cbh/sample/sample.cbh"))).unwrap();
    let new = at("new.cbh");
    let [import, create, dry] = ["import", "--create", "--dry-run"].map(OsStr::new);
    for (taken, is_folder) in [
        ("new.html", true),
        ("New.BMP", true),
        (".new.cbfs-journal", false),
        (".new.cbfs-stage", false),
    ] {
        let path = at(taken);
        if is_folder {
            fs::create_dir(&path).unwrap();
        } else {
            fs::write(&path, "mine").unwrap();
        }
        let before = names(folder.path());
        for output in [
            run(&pgn, &new),
            cbfs(&[import, create, new.as_os_str(), pgn.as_os_str()]),
            cbfs(&[import, create, dry, new.as_os_str(), pgn.as_os_str()]),
        ] {
            assert_eq!(output.status.code(), Some(1), "{}", said(&output));
            assert!(said(&output).contains(taken), "{}", said(&output));
            assert_eq!(names(folder.path()), before);
        }
        if is_folder {
            fs::remove_dir(&path).unwrap();
        } else {
            assert_eq!(fs::read(&path).unwrap(), b"mine");
            fs::remove_file(&path).unwrap();
        }
    }
    // Others have nothing to do with the base.
    fs::write(at("new.html"), "a page").unwrap();
    fs::write(at(".other.cbfs-journal"), "").unwrap();
    fs::create_dir(at("other.html")).unwrap();
    converts(&pgn, &new);
}

#[test]
fn no_base_is_made_of_bad_games_only() {
    let folder = tempfile::tempdir().unwrap();
    let [pgn, new, bad] = ["bad.pgn", "new.cbh", "kept.pgn"].map(|name| folder.path().join(name));
    fs::write(&pgn, "[Event \"x\"]\n\n1. e4 e4 *\n").unwrap();
    let lenient = [OsStr::new("--skip-bad"), bad.as_os_str()];
    let [convert, import, create] = ["convert", "import", "--create"].map(OsStr::new);
    for arguments in [
        [
            &[convert][..],
            &lenient,
            &[pgn.as_os_str(), new.as_os_str()],
        ]
        .concat(),
        [
            &[import, create][..],
            &lenient,
            &[new.as_os_str(), pgn.as_os_str()],
        ]
        .concat(),
    ] {
        let output = cbfs(&arguments);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        let why = "none of the games could be imported";
        assert!(said(&output).contains(why), "{}", said(&output));
        assert_eq!(names(folder.path()), ["bad.pgn", "kept.pgn"]);
        fs::remove_file(&bad).unwrap();
    }
}

/// A base of many games: the records of another, again and again.
fn many_games(folder: &Path, times: usize) -> PathBuf {
    let source = copy_of("mixed", folder);
    let bytes = fs::read(&source).unwrap();
    let (header, records) = bytes.split_at(RECORD);
    let mut many = header.to_vec();
    let count = records.len() / RECORD * times;
    many[16..20].copy_from_slice(&u32::try_from(count + 1).unwrap().to_le_bytes());
    for _ in 0..times {
        many.extend(records);
    }
    fs::write(&source, many).unwrap();
    source
}

#[test]
fn a_conversion_that_is_ended_leaves_nothing_that_looks_like_a_base() {
    let folder = tempfile::tempdir().unwrap();
    let source = many_games(folder.path(), 150);
    let before = names(folder.path());
    let new = folder.path().join("new.cbh");
    let start = || {
        let mut command = Command::new(CBFS);
        command.arg("convert").arg(&source).arg(&new);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let begun = || folder.path().join(".new.cbfs-new/new.cbh").exists();
    for signal in ["TERM", "KILL"] {
        let mut child = start();
        while !begun() {
            thread::sleep(Duration::from_millis(1));
            assert!(child.try_wait().unwrap().is_none(), "it was too fast");
        }
        thread::sleep(Duration::from_millis(10));
        let pid = child.id().to_string();
        Command::new("kill")
            .args(["-s", signal, &pid])
            .status()
            .unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success(), "it was too fast");
        let mut left = names(folder.path());
        // What was killed cannot clean up.
        left.retain(|name| signal == "TERM" || name != ".new.cbfs-new");
        assert_eq!(left, before, "{signal}");
    }
    converts(&source, &new);
    assert_eq!(games_of(&new).len(), 48 * 150);
    assert!(!folder.path().join(".new.cbfs-new").exists());
    assert_eq!(defects_of(&new), [""; 0]);
}
