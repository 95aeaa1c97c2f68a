//! Saving the unchanged text of a game changes no byte. A game whose text does
//! not show everything that is stored says so, and is never written. Tags
//! without a header field are stored too.
//!
//! This is checked for every game of every base, sound or damaged, and for
//! thousands of games that are damaged here. The seeds are fixed, so that a
//! failure can be reproduced.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cbfs::cbh::{
    Database, Decoded, Family, FileKind, GameId, Options, Plan, RecordKind, SaveError, Saver,
};
use cbfs::pgn;
use cbfs::storage::{FileFilter, MemoryDirectory, MemoryFile, Store, StoreAccess, StoreOptions};

use common::numbers::Numbers;
use common::{bases_in, fixture_bases, real_bases, shared, text_of};

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// The files of a base, in memory.
#[derive(Clone)]
struct Files {
    cbh: PathBuf,
    files: BTreeMap<OsString, Vec<u8>>,
}

impl Files {
    fn read(base: &Path) -> Files {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(base.parent().unwrap()).unwrap() {
            let file = entry.unwrap().path();
            if file.is_file() && file.file_stem() == base.file_stem() {
                let name = file.file_name().unwrap().to_owned();
                files.insert(name, fs::read(&file).unwrap());
            }
        }
        let cbh = PathBuf::from(base.file_name().unwrap());
        Files { cbh, files }
    }

    fn name(&self, kind: FileKind) -> OsString {
        self.cbh.with_extension(kind.extension()).into()
    }

    fn get(&mut self, kind: FileKind) -> &mut Vec<u8> {
        let name = self.name(kind);
        self.files.get_mut(&name).unwrap()
    }

    fn database(&self) -> Database {
        let family = Family::among(&self.cbh, self.files.keys().cloned()).unwrap();
        Database::open_with(family, &Options::default(), &|path| {
            let bytes = self.files[path.file_name().unwrap()].clone();
            Ok(Box::new(MemoryFile::from(bytes)))
        })
        .unwrap()
    }

    /// The files after a save.
    fn with(&self, plan: &Plan) -> Files {
        let directory = MemoryDirectory::new();
        for (name, bytes) in &self.files {
            directory.put(name, bytes.clone());
        }
        let opening = StoreOptions {
            journal: OsStr::new(".journal"),
            label: "",
            access: StoreAccess::ReadWrite,
            file_filter: FileFilter::new(|_| true),
        };
        let store = Store::open(Arc::new(directory.clone()), &opening).unwrap();
        store.commit(&plan.transaction).unwrap();
        store.close().unwrap();
        let mut files = directory.files();
        files.retain(|name, _| name != opening.journal);
        Files {
            cbh: self.cbh.clone(),
            files,
        }
    }
}

/// What became of the text of one game, saved as it was read.
#[derive(Debug, PartialEq, Eq)]
enum Saved {
    /// No game could be read, so there is no text.
    Unreadable,
    /// The game says what is wrong with it, and was not written.
    Refused,
    /// Nothing is to be written.
    Nothing,
}

/// Saves the text of a game as it was read; what must not be is an error.
fn save_unedited(database: &Database, id: GameId) -> Result<Saved, String> {
    let mut decoded = Decoded::default();
    if database.read_game(id, &mut decoded).is_err() {
        return Ok(Saved::Unreadable);
    }
    let text = text_of(&decoded);
    let game = pgn::decode(text.as_bytes());
    let mut saver = Saver::new(database, now());
    if !decoded.defects.is_empty() {
        let game = game.unwrap_or_default();
        if !text.contains("[%cbdefect") {
            return Err(format!("the text hides {:?}:\n{text}", decoded.defects));
        }
        return match saver.replace(id, &game) {
            Err(SaveError::Defective(..)) => Ok(Saved::Refused),
            other => Err(format!("{other:?}, though {:?}", decoded.defects)),
        };
    }
    let game = game.map_err(|error| format!("{error}:\n{text}"))?;
    let saved = saver.replace(id, &game);
    saved.map_err(|error| format!("{error}:\n{text}"))?;
    let plan = saver.finish().map_err(|error| error.to_string())?;
    if !plan.transaction.is_empty() {
        return Err(format!("{:?}:\n{text}", plan.transaction));
    }
    Ok(Saved::Nothing)
}

fn games(database: &Database) -> Vec<GameId> {
    let mut entries = Vec::new();
    let all = database.last_id();
    database.entries(GameId(1), all, &mut entries).unwrap();
    let games = entries
        .iter()
        .filter(|entry| entry.kind == RecordKind::Game);
    games.map(|entry| entry.id).collect()
}

/// Bases that once lost remarks by a save of what they showed.
fn hostile_bases() -> Vec<PathBuf> {
    shared().map_or_else(Vec::new, |shared| bases_in(&shared.join("hostile")))
}

#[test]
fn saving_any_game_unedited_changes_no_byte_or_is_refused() {
    let (mut kept, mut refused) = (0, 0);
    for base in [real_bases(), fixture_bases(), hostile_bases()].concat() {
        let database = Files::read(&base).database();
        for id in games(&database) {
            let saved = save_unedited(&database, id);
            match saved.unwrap_or_else(|why| panic!("{} game {}: {why}", base.display(), id.0)) {
                Saved::Unreadable => {}
                Saved::Refused => refused += 1,
                Saved::Nothing => kept += 1,
            }
        }
    }
    assert!(kept > 50 && refused > 4, "{kept} kept, {refused} refused");
    println!("{kept} games keep their bytes, {refused} are refused");
}

fn number(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .fold(0, |all, byte| all << 8 | usize::from(*byte))
}

/// Where the records of one game lie: in `.cbh`, in `.cbg`, in `.cba`.
#[derive(Clone, Debug)]
struct Places {
    header: usize,
    moves: std::ops::Range<usize>,
    /// Nothing if the game has no remarks.
    remarks: std::ops::Range<usize>,
}

impl Places {
    fn of(files: &mut Files, id: GameId) -> Places {
        let header = 46 * id.0 as usize;
        let record = files.get(FileKind::Headers)[header..][..46].to_vec();
        let (moves, remarks) = (number(&record[1..5]), number(&record[5..9]));
        let size = number(&files.get(FileKind::Moves)[moves + 1..moves + 4]);
        let moves = moves..moves + size;
        let remarks = match remarks {
            0 => 0..0,
            at => at..at + number(&files.get(FileKind::Annotations)[at + 10..at + 14]),
        };
        Places {
            header,
            moves,
            remarks,
        }
    }
}

/// Where the remarks of a record begin, in the record.
fn remarks_in(record: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut at = 14;
    while at + 6 <= record.len() {
        places.push(at);
        at += number(&record[at + 4..at + 6]).max(6);
    }
    places
}

/// Kinds of remarks, and one that nobody knows.
const KINDS: [u8; 22] = [
    0x02, 0x82, 0x03, 0x04, 0x05, 0x07, 0x09, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x1c, 0x20, 0x21,
    0x22, 0x23, 0x24, 0x25, 0x26, 0x61,
];

/// Damages the moves of a game.
fn damage_moves(blob: &mut [u8], numbers: &mut Numbers) {
    if numbers.below(4) == 0 {
        let size = numbers.below(blob.len() + 2);
        blob[1..4].copy_from_slice(&u32::try_from(size).unwrap().to_be_bytes()[1..]);
        return;
    }
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(blob.len());
        blob[at] = match numbers.below(3) {
            0 => blob[at] ^ 1 << numbers.below(8),
            1 => blob[numbers.below(blob.len())],
            _ => numbers.byte(),
        };
    }
}

/// Damages the remarks of a game: places, kinds and sizes as well as payloads.
fn damage_remarks(record: &mut [u8], numbers: &mut Numbers) {
    let places = remarks_in(record);
    for _ in 0..=numbers.below(3) {
        let remark = *numbers.one(&places);
        let other = *numbers.one(&places);
        let at = numbers.below(record.len());
        match numbers.below(9) {
            0 => record.copy_within(other..other + 3, remark),
            1 => record.copy_within(other..other + 4, remark),
            2 => record[remark..remark + 3].copy_from_slice(&[0xff; 3]),
            3 => {
                record[remark + 2] =
                    record[remark + 2].wrapping_add(*numbers.one(&[1, 2, 50, 255]));
            }
            4 => record[remark + 3] = *numbers.one(&KINDS),
            5 => {
                record[remark + 5] =
                    record[remark + 5].wrapping_add(*numbers.one(&[1, 255, 6, 30]));
            }
            6 => record[at] ^= 1 << numbers.below(8),
            7 => {
                record[at] =
                    *numbers.one(&[0, 1, b'\r', b'\n', b' ', b'{', b'}', b'[', b'%', 0xff]);
            }
            _ => record[13] = record[13].wrapping_add(*numbers.one(&[1, 255, 248, 8])),
        }
    }
}

/// Damages what the header of a game says.
fn damage_header(record: &mut [u8], numbers: &mut Numbers) {
    let at = 24 + numbers.below(22);
    record[at] = numbers.byte();
}

/// The small bases with those of their games that can be saved.
fn sound_games() -> Vec<(Files, Vec<GameId>)> {
    let is_small = |base: &PathBuf| fs::metadata(base).unwrap().len() < 3000;
    let bases = real_bases().into_iter().filter(is_small);
    let mut sound = Vec::new();
    for base in fixture_bases().into_iter().chain(bases) {
        let files = Files::read(&base);
        let database = files.database();
        let is_sound = |id: &GameId| save_unedited(&database, *id) == Ok(Saved::Nothing);
        let ids: Vec<_> = games(&database).into_iter().filter(is_sound).collect();
        if !ids.is_empty() {
            sound.push((files, ids));
        }
    }
    sound
}

/// Damages a game, `false` if it has nothing to damage there.
fn damage(files: &mut Files, id: GameId, numbers: &mut Numbers) -> bool {
    let places = Places::of(files, id);
    match numbers.below(8) {
        0..3 => damage_moves(&mut files.get(FileKind::Moves)[places.moves], numbers),
        3 => damage_header(
            &mut files.get(FileKind::Headers)[places.header..][..46],
            numbers,
        ),
        _ if places.remarks.len() < 20 => return false,
        _ => damage_remarks(
            &mut files.get(FileKind::Annotations)[places.remarks],
            numbers,
        ),
    }
    true
}

#[test]
fn saving_a_damaged_game_unedited_changes_no_byte_or_is_refused() {
    let sources = sound_games();
    let (mut kept, mut refused, mut errors) = (0, 0, Vec::new());
    let mut numbers = Numbers(1);
    while kept + refused + errors.len() < 20_000 {
        let (files, sound) = &sources[numbers.below(sources.len())];
        let (mut files, id) = (files.clone(), *numbers.one(sound));
        if !damage(&mut files, id, &mut numbers) {
            continue;
        }
        match save_unedited(&files.database(), id) {
            Ok(Saved::Nothing) => kept += 1,
            Ok(Saved::Refused | Saved::Unreadable) => refused += 1,
            Err(why) => errors.push(format!("{} game {}: {why}", files.cbh.display(), id.0)),
        }
    }
    println!("{kept} damaged games keep their bytes, {refused} are refused");
    assert!(errors.is_empty(), "{}: {}", errors.len(), errors[0]);
    assert!(kept > 3000 && refused > 3000);
}

/// Games that once lost bytes: two bytes for the length of the moves, the moves,
/// a record of remarks.
#[test]
fn saving_once_corrupted_games_changes_no_byte_or_is_refused() {
    let Some(shared) = shared() else { return };
    let sample = Files::read(&common::fixture("cbh/sample/sample.cbh"));
    let mut tried = 0;
    for entry in fs::read_dir(shared.join("hostile/strict-game")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let (length, rest) = bytes.split_at(2);
        let (moves, remarks) = rest.split_at(number(length).min(rest.len()));
        for sized in [false, true] {
            let (mut moves, mut remarks) = (moves.to_vec(), remarks.to_vec());
            if sized && moves.len() >= 4 {
                let size = u32::try_from(moves.len()).unwrap().to_be_bytes();
                moves[1..4].copy_from_slice(&size[1..]);
            }
            if sized && remarks.len() >= 14 {
                let size = u32::try_from(remarks.len()).unwrap().to_be_bytes();
                remarks[10..14].copy_from_slice(&size);
            }
            let mut files = sample.clone();
            for (kind, blob, field) in [
                (FileKind::Moves, &moves, 1),
                (FileKind::Annotations, &remarks, 5),
            ] {
                let file = files.get(kind);
                let at = u32::try_from(file.len()).unwrap().to_be_bytes();
                file.extend(blob);
                files.get(FileKind::Headers)[46 + field..][..4].copy_from_slice(&at);
            }
            let saved = save_unedited(&files.database(), GameId(1));
            saved.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
            tried += 1;
        }
    }
    assert!(tried > 40, "{tried}");
}

/// A header that is edited leaves moves and remarks as they are.
#[test]
fn editing_a_header_keeps_all_bytes_of_moves_and_remarks() {
    for base in [real_bases(), fixture_bases()].concat() {
        let files = Files::read(&base);
        let database = files.database();
        let mut saver = Saver::new(&database, now());
        let mut decoded = Decoded::default();
        for id in games(&database) {
            if database.read_game(id, &mut decoded).is_err() || !decoded.defects.is_empty() {
                continue;
            }
            let mut game = pgn::decode(text_of(&decoded).as_bytes()).unwrap();
            game.headers.subround ^= 1;
            saver.replace(id, &game).unwrap();
        }
        let after = files.with(&saver.finish().unwrap());
        for kind in [FileKind::Moves, FileKind::Annotations] {
            let name = files.name(kind);
            let is_same = files.files[&name] == after.files[&name];
            assert!(is_same, "{} {kind:?}", base.display());
        }
    }
}

/// The tags of a text, but for those that every text has.
fn tags(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('['));
    let pairs = lines.map(|line| {
        let (name, value) = line.split_once(" \"").unwrap();
        let value = value.strip_suffix("\"]").unwrap();
        let plain = value.replace("\\\"", "\"").replace("\\\\", "\\");
        (name.to_owned(), plain)
    });
    pairs.filter(|pair| !is_usual(pair)).collect()
}

fn is_usual((name, value): &(String, String)) -> bool {
    match name.as_str() {
        "PlyCount" => true,
        "Event" | "SourceTitle" if value == "Sweep" => true,
        "Event" | "Site" | "Date" | "Round" | "White" | "Black" | "Result" => {
            matches!(value.as_str(), "?" | "????.??.??" | "*")
        }
        _ => false,
    }
}

/// The tags of a game with these tags once it is in a base, and after its text
/// was saved again, which changes nothing.
fn appended(given: &str) -> Result<Vec<(String, String)>, String> {
    let base = Files::read(&common::fixture("cbh/sample/sample.cbh"));
    // A tournament and a source of its own, of which all can be told.
    let own = ["Event", "SourceTitle"].map(|name| (name, format!("[{name} ")));
    let own = own.iter().filter(|(_, begin)| !given.contains(begin));
    let own: Vec<String> = own
        .map(|(name, _)| format!("[{name} \"Sweep\"]\n"))
        .collect();
    let own = own.concat();
    let text = format!("{own}{given}\n\n*\n");
    let game = pgn::decode(text.as_bytes()).map_err(|error| error.to_string())?;
    let database = base.database();
    let mut saver = Saver::new(&database, now());
    let id = saver.append(&game).map_err(|error| error.to_string())?;
    let plan = saver.finish().unwrap();
    assert!(
        plan.unfit.is_empty() && plan.kept.is_empty(),
        "{given}: {plan:?}"
    );
    let database = base.with(&plan).database();
    let mut decoded = Decoded::default();
    database.read_game(id, &mut decoded).unwrap();
    assert_eq!(save_unedited(&database, id), Ok(Saved::Nothing), "{given}");
    Ok(tags(&text_of(&decoded)))
}

/// Tags that come back as they are, one a line.
const KEPT: &str = r#"
[Round "Final"]
[Round "-"]
[Round "0"]
[Round "5"]
[Round "5.2"]
[Round "?.2"]
[Round "5.2.1"]
[Round "5.0"]
[Round "300"]
[Round "1/8 final"]
[Round "Final \ "A""]
[ECO "B90a"]
[ECO "B90/05"]
[ECO "b90"]
[ECO "B9"]
[ECO "F00"]
[ECO "B90"]
[WhiteElo "2700+"]
[WhiteElo "c. 2700"]
[BlackElo "unrated"]
[EventType "round-robin"]
[EventType "league"]
[EventType "swiss"]
[EventRounds "nine"]
[EventCountry "XYZ"]
[EventCategory "high"]
[WhiteTeamCountry "Nowhere"]
[SourceVersion "2a"]
[SourceQuality "good"]
[TimeControl "40/7200:3600"]
[TimeControl "*180"]
[TimeControl "-"]
[TimeControl "?"]
[WhiteClock "1:29:59"]
[WhiteClock "90 minutes"]
[BlackClock "0:00:00.5"]
[Variant "Standard"]
[Variant "From Position"]
[Termination "normal"]
[StoreOptions ""]
[StoreOptions "Ruy Lopez: Morphy Defense"]
[WhiteFideId "1503014"]
[WhiteTitle "-"]
[UTCDate "2024.01.01"]
[Mode "OTB"]
[Annotator "?"]
[Annotator "N. N. (§ 5)"]
[Board "1.2"]
[event "lower case"]
[Note "braces {a} and [b] and ]"]
[Note "Иванчук Łódź 日本 ♔ £"]
[Note "two  blanks"]
[CbhFoo "1"]
[_x "1"]
[Event "Open {A} [B]"]
[Site "St. Petersburg"]
[Date "2004.??.??"]
[Date "????.05.01"]
[EventDate "2004.02.??"]
[Source "?"]
"#;

/// Tags that are shown in another form that says the same.
const CANONICAL: &[(&str, &str)] = &[
    ("[Round \"05\"]", "5"),
    ("[Round \"5(2)\"]", "5.2"),
    ("[Round \" 5 \"]", "5"),
    ("[Date \"2004-2-24\"]", "2004.02.24"),
    ("[WhiteElo \"02700\"]", "2700"),
    ("[EventType \"Swiss (Blitz)\"]", "swiss (blitz)"),
    ("[EventCategory \"XIV\"]", "14"),
    ("[White \"Carlsen,Magnus\"]", "Carlsen, Magnus"),
];

/// Tags that say that nothing is known are not shown.
const UNKNOWN: &[&str] = &[
    "[Event \"?\"]",
    "[Round \"\"]",
    "[WhiteElo \"-\"]",
    "[WhiteElo \"0\"]",
    "[EventDate \"????.??.??\"]",
    "[SetUp \"0\"]",
    "[PlyCount \"99\"]",
];

/// Tags that are refused, since their header cannot hold them.
const REFUSED: &[&str] = &[
    "[WhiteElo \"99999\"]",
    "[WhiteElo \"5000\"]",
    "[Date \"yesterday\"]",
    "[EventCategory \"300\"]",
    "[SetUp \"1\"]",
    "[Result \"won\"]",
    "[WhiteElo \"2700\"]\n[WhiteElo \"2701\"]",
    "[Source \"a\"]\n[Source \"b\"]",
    "[White \"A\"]\n[White \"B\"]",
];

#[test]
fn unusual_tags_are_preserved() {
    let mut wrong = Vec::new();
    for line in KEPT.lines().filter(|line| !line.is_empty()) {
        match appended(line) {
            Ok(found) if found == tags(line) => {}
            other => wrong.push(format!("{line}: {other:?}")),
        }
    }
    for (line, shown) in CANONICAL {
        match appended(line) {
            Ok(found) if found.len() == 1 && found[0].1 == *shown => {}
            other => wrong.push(format!("{line}: {other:?}")),
        }
    }
    for line in UNKNOWN {
        match appended(line) {
            Ok(found) if found.is_empty() => {}
            other => wrong.push(format!("{line}: {other:?}")),
        }
    }
    for line in REFUSED {
        if let Ok(found) = appended(line) {
            wrong.push(format!("{line}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_long_value_is_preserved_where_other_tags_stand_already() {
    let mut base = Files::read(&common::fixture("cbh/sample/sample.cbh"));
    let long = "y".repeat(250);
    let texts = [
        "[First \"a b\"]".to_owned(),
        format!("[First \"a b\"]\n[Link \"{long}\"]"),
        format!("[First \"a b\"]\n[Link \"{long}{long}\"]\n[Tag \"c\"]"),
    ];
    let mut id = None;
    for text in &texts {
        let database = base.database();
        let game = pgn::decode(format!("{text}\n\n*\n").as_bytes()).unwrap();
        let mut saver = Saver::new(&database, now());
        let saved = match id {
            None => saver.append(&game).unwrap(),
            Some(id) => {
                saver.replace(id, &game).unwrap();
                id
            }
        };
        base = base.with(&saver.finish().unwrap());
        let mut decoded = Decoded::default();
        base.database().read_game(saved, &mut decoded).unwrap();
        let foreign = &decoded.game.foreign_tags;
        assert_eq!(*foreign, tags(text), "{text}");
        id = Some(saved);
    }
}

#[test]
fn foreign_tags_of_one_name_are_preserved_in_order() {
    let given = "[Foo \"1\"]\n[Bar \"x\"]\n[Foo \"2\"]\n[Foo \"1\"]";
    assert_eq!(appended(given), Ok(tags(given)));
}

/// FENs that come back as they are.
const FENS: &[&str] = &[
    "4k3/8/8/8/8/8/8/4K3 w - - 12 34",
    "4k3/8/8/8/8/8/8/4K3 b - - 99 100",
    "4k3/8/8/8/8/8/8/4K3 w - - 0 255",
    "4k3/8/8/8/8/8/8/4K3 w - - 0 256",
    "4k3/8/8/8/8/8/8/4K3 b - - 7 5000",
    "4k3/8/8/8/8/8/8/4K3 w - - 1 65535",
    "4k3/8/8/8/8/8/8/4K3 w KQkq - 0 1",
    "4k3/8/8/8/8/8/8/4K2R w KQ - 3 9",
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R w Kq - 5 1",
    "1r2k1r1/8/8/8/8/8/8/1R2K1R1 w KQkq - 0 1",
    "1r2k1r1/8/8/8/8/8/8/1R2K1R1 w GBgb - 0 1",
    "5k2/8/8/8/8/8/8/R4K1R b KQ - 0 1",
    "bnrkrbnq/pppppppp/8/8/8/8/PPPPPPPP/BNRKRBNQ w KQkq - 0 1",
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 3 40",
    "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 10",
    "4k3/8/8/3pP3/8/8/8/4K3 w - d6 5 10",
    "8/8/3p4/8/8/4P3/8/8 w - - 0 1",
    "8/8/3p4/8/8/4P3/8/8 w KQ - 4 1",
    "k7/8/8/8/8/8/8/RRRRRRRR w - - 0 1",
    "QQQQkQQQ/8/8/8/8/8/8/4K3 b - - 10 10",
];

/// FENs that come back in the form that is usual, which says the same.
const USUAL_FENS: &[(&str, &str)] = &[
    ("4k3/8/8/8/8/8/8/4K3 w", "4k3/8/8/8/8/8/8/4K3 w - - 0 1"),
    ("4k3/8/8/8/8/8/8/4K3 w - -", "4k3/8/8/8/8/8/8/4K3 w - - 0 1"),
    (
        "4k3/8/8/8/8/8/8/4K3 w - - 0 0",
        "4k3/8/8/8/8/8/8/4K3 w - - 0 1",
    ),
    (
        "4k3/8/8/3p4/8/8/8/4K3 w - d6 0 1",
        "4k3/8/8/3p4/8/8/8/4K3 w - - 0 1",
    ),
    (
        "4k3/8/8/3p4/8/8/8/4K3 w - d6 4 1",
        "4k3/8/8/3p4/8/8/8/4K3 w - - 4 1",
    ),
    (
        "4k3/8/8/8/8/8/8/4K2R w H - 2 1",
        "4k3/8/8/8/8/8/8/4K2R w K - 2 1",
    ),
    (
        "4k3/8/8/8/8/8/8/4K2R  w  K  -  2  1",
        "4k3/8/8/8/8/8/8/4K2R w K - 2 1",
    ),
    (
        "r3k2r/8/8/8/8/8/8/R3K2R w qkQK - 0 1",
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
    ),
];

/// FENs that are refused.
const NO_FENS: &[&str] = &[
    "",
    "none",
    "8/8/8/8/8/8/8/8 w - - 0 1",
    "4k3/8/8/8/8/8/8/4K3 w - - 0 65536",
    "4k3/8/8/8/8/8/8/4K3 w - - 0 99999999999",
    "4k3/8/8/8/8/8/8/4K3 x - - 0 1",
    "4k3/8/8/8/8/8/8/4K3 w X - 0 1",
    "4k3/8/8/8/8/8/8/4K3 w - z9 0 1",
    "4k3/8/8/8/8/8/4K3 w - - 0 1",
    "4k3/9/8/8/8/8/8/4K3 w - - 0 1",
    "PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP/8/8/K6k w - - 0 1",
];

#[test]
fn every_part_of_a_fen_is_preserved() {
    let read = |fen: &str, rules: &str| {
        let found = appended(&format!("{rules}[FEN \"{fen}\"]"))?;
        let fen = found.into_iter().find(|(name, _)| name == "FEN");
        fen.map(|(_, fen)| fen).ok_or_else(|| "no FEN".to_owned())
    };
    let chess960 = "[Variant \"Chess960\"]\n";
    let mut wrong = Vec::new();
    let kept = FENS.iter().map(|fen| (*fen, *fen));
    for (fen, shown) in kept.chain(USUAL_FENS.iter().copied()) {
        for rules in ["", chess960] {
            let found = read(fen, rules);
            // Letters of files are needed where others would be ambiguous.
            let is_letters = rules == chess960 && fen.contains(" GBgb ");
            if found.as_deref() != Ok(shown) && !is_letters {
                wrong.push(format!("{rules}{fen}: {found:?}"));
            }
        }
    }
    for fen in NO_FENS {
        if let Ok(found) = read(fen, "") {
            wrong.push(format!("{fen}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
