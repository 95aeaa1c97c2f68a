//! Memory is bounded by the length of the input, whatever it contains. It is
//! measured by a counting allocator, so the tests run one after another.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use cbfs::cbh::{self, Importer, NewBase, OpenBase, PreparedGame, compact, repair};
use cbfs::pgn::{self, Prepared};
use cbfs::storage::StoreAccess;
use cbfs::vfs::{self, Access, DatabaseSource, Ino, Vfs, Writer};
use common::copy_of_base;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The longest text of one game.
const GAME: usize = 16 << 20;

/// What such a text may cost.
const MOST_OF_GAME: usize = 200 << 20;

/// What a file with large numbers and few bytes may cost.
const MOST_OF_NUMBERS: usize = 16 << 20;

/// Lets one test run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most memory that `work` takes, in bytes, and what it gives.
fn peak_of<T>(about: &str, work: impl FnOnce() -> T) -> (usize, T) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let begun = Instant::now();
    let done = work();
    let peak = MEMORY.peak_usage().saturating_sub(before);
    let seconds = begun.elapsed().as_secs_f64();
    println!("{:7.1} MiB {seconds:6.2} s  {about}", mebibytes(peak));
    (peak, done)
}

#[expect(clippy::cast_precision_loss, reason = "to be printed")]
fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// A text of one game that is as long as a game may be: `head`, then `parts`
/// in turn, then the result.
struct Kind {
    name: &'static str,
    head: &'static str,
    parts: Parts,
}

enum Parts {
    /// The same ones again and again.
    Same(&'static [&'static str]),
    /// The one of each number.
    Numbered(fn(usize) -> String),
    /// Half of one kind, half of the other.
    Halves(&'static str, &'static str),
}

/// The headers of a game and its first moves.
const BEGUN: &str = "[White \"A\"]\n[Black \"B\"]\n[Result \"*\"]\n\n1. e4 ";

const KINDS: &[Kind] = &[
    kind("{a}", BEGUN, Parts::Same(&["{a}"])),
    kind("{a} before any move", "", Parts::Same(&["{a}"])),
    kind("{}", BEGUN, Parts::Same(&["{}"])),
    kind("[%csl Ga1]", BEGUN, Parts::Same(&["{[%csl Ga1]}"])),
    kind("{[%mdl 1]} --", BEGUN, Parts::Same(&["{[%mdl 1]} -- "])),
    kind("{[%mdl 1]}", BEGUN, Parts::Same(&["{[%mdl 1]}"])),
    kind(
        "{[%cblang de] a}",
        BEGUN,
        Parts::Same(&["{[%cblang de] a}{a}"]),
    ),
    kind("{[%cbpre] a} -- ", BEGUN, Parts::Same(&["{[%cbpre] a}-- "])),
    kind("{[%cbpre] a}", BEGUN, Parts::Same(&["{[%cbpre] a}"])),
    kind("[%cba 61 AAAA]", BEGUN, Parts::Same(&["{[%cba 61 AAAA]}"])),
    kind("[%cblink", BEGUN, Parts::Same(&["{[%cblink \"a\",\"b\"]}"])),
    kind(
        "[%tqu]",
        BEGUN,
        Parts::Same(&["{[%tqu \"En\",\"q\",\"\",\"\",\"e7e5\",\"\",1]}"]),
    ),
    kind("[%emt]", BEGUN, Parts::Same(&["{[%emt 0:00:01]}"])),
    kind("[%cbann", BEGUN, Parts::Same(&["{[%cbann aaaa]}"])),
    kind(
        "[%cbtag",
        "",
        Parts::Numbered(|at| format!("{{[%cbtag X{at} \"a\"]}}\n")),
    ),
    kind("(d4) (c4)", BEGUN, Parts::Same(&["(d4) ", "(c4) "])),
    kind("nested (d4 (d3", BEGUN, Parts::Halves("(d4 (d3 ", "))")),
    kind("(e5), which is illegal", BEGUN, Parts::Same(&["(e5)"])),
    kind("()", BEGUN, Parts::Same(&["()"])),
    kind("({a}--)", BEGUN, Parts::Same(&["({a}--)"])),
    kind("({aaaaaaa}--)", BEGUN, Parts::Same(&["({aaaaaaa}--)"])),
    kind("$1", BEGUN, Parts::Same(&["$1 "])),
    kind("!", BEGUN, Parts::Same(&["! "])),
    kind("--$1", BEGUN, Parts::Same(&["--$1 "])),
    kind("--!{a}", BEGUN, Parts::Same(&["--!{a}"])),
    kind("1. ", BEGUN, Parts::Same(&["1. "])),
    kind("{} behind the result", "1. e4 * ", Parts::Same(&["{}"])),
    kind("{a} behind the result", "1. e4 * ", Parts::Same(&["{a}"])),
    kind(";", BEGUN, Parts::Same(&[";\n"])),
    kind(";a", BEGUN, Parts::Same(&[";a\n"])),
    kind("%", BEGUN, Parts::Same(&["\n%"])),
    kind("tags", "", Parts::Numbered(|at| format!("[X{at} \"a\"]\n"))),
    kind("tags of one name", "", Parts::Same(&["[X \"a\"]"])),
    kind("one tag", "[X \"", Parts::Same(&["a"])),
    kind("escapes in a tag", "[X \"", Parts::Same(&["\\\""])),
    kind(
        "comments as long as a base stores",
        BEGUN,
        Parts::Numbered(|_| format!("{{{}}} -- ", "a ".repeat(32_000))),
    ),
    kind(
        "one comment, too long to be stored",
        "1. e4 {",
        Parts::Same(&["a "]),
    ),
    kind(
        "one word, too long to be stored",
        "1. e4 {",
        Parts::Same(&["a"]),
    ),
    kind(
        "marks in one comment",
        "1. e4 {[%csl Ga1",
        Parts::Same(&[",Ga1"]),
    ),
    kind("commands that are none", BEGUN, Parts::Same(&["{[%x]}"])),
    kind("braces in a comment", "1. e4 {", Parts::Halves("{", "}")),
    kind("not UTF-8", "1. e4 {", Parts::Same(&["\u{e9}\u{e4} "])),
    kind("--", BEGUN, Parts::Same(&["-- "])),
    kind(
        "Nf3 Nf6",
        BEGUN,
        Parts::Same(&["Nf6 ", "Nf3 ", "Ng8 ", "Ng1 "]),
    ),
    kind("-- {a}", BEGUN, Parts::Same(&["--{a}"])),
    kind("-- {[%emt]}", BEGUN, Parts::Same(&["--{[%emt 0:00:01]}"])),
    kind("a word that is no move", "", Parts::Same(&["x "])),
    kind(
        "as many moves as may be",
        BEGUN,
        Parts::Same(&["--               "]),
    ),
    kind(
        "as many remarks as may be",
        BEGUN,
        Parts::Same(&["--{[%emt 0:00:01]}                                              "]),
    ),
    kind("blanks", BEGUN, Parts::Same(&[" "])),
];

const fn kind(name: &'static str, head: &'static str, parts: Parts) -> Kind {
    Kind { name, head, parts }
}

impl Kind {
    /// What closes the head again.
    fn end(&self) -> &'static str {
        match self.head {
            head if head.starts_with('[') && !head.contains(']') => "\"]\n*\n",
            head if head.ends_with("* ") => "\n",
            head if head.ends_with("Ga1") => "]} *\n",
            head if head.ends_with('{') => "} *\n",
            _ => " *\n",
        }
    }

    fn write(&self, path: &Path) {
        let mut out = BufWriter::new(File::create(path).unwrap());
        out.write_all(self.head.as_bytes()).unwrap();
        // An import lays a tag pair between its texts.
        let room = GAME - self.head.len() - self.end().len() - 64;
        let mut written = 0;
        let mut put = |part: &str| {
            written += part.len();
            let fits = written <= room;
            if fits {
                out.write_all(part.as_bytes()).unwrap();
            }
            fits
        };
        match self.parts {
            Parts::Same(parts) => {
                let all = parts.concat();
                while put(&all) {}
            }
            Parts::Numbered(part) => {
                let mut at = 0;
                while put(&part(at)) {
                    at += 1;
                }
            }
            Parts::Halves(one, other) => {
                // Deeper is refused.
                let deepest = 1000 / one.matches('(').count().max(1);
                let times = (room / (one.len() + other.len())).min(deepest);
                while put(&(one.repeat(times) + &other.repeat(times))) {}
            }
        }
        out.write_all(self.end().as_bytes()).unwrap();
        out.flush().unwrap();
    }
}

/// A copy of the sample, and a text beside it.
fn sample_with(kind: &Kind) -> tempfile::TempDir {
    let folder = copy_of_base("cbh/sample");
    kind.write(&folder.path().join("text.pgn"));
    folder
}

/// As `cbfs import` reads texts; whether the games were stored, or why not.
fn import(folder: &Path, texts: usize) -> Result<(), String> {
    let cbh = folder.join("sample.cbh");
    let base = OpenBase::to_change(&cbh, &cbh::Options::default(), "test").unwrap();
    let imported = append_all(&base, &folder.join("text.pgn"), texts);
    base.store.close().unwrap();
    imported
}

struct Why(String);

impl From<std::io::Error> for Why {
    fn from(error: std::io::Error) -> Why {
        Why(error.to_string())
    }
}

fn append_all(base: &OpenBase, text: &Path, texts: usize) -> Result<(), String> {
    let mut importer = Importer::new(&base.database, &base.store, SystemTime::now());
    // One after the other in one stream, so that each core has one.
    let mut reader: Box<dyn Read + Send> = Box::new(std::io::empty());
    for _ in 0..texts {
        let next = File::open(text).unwrap();
        reader = Box::new(reader.chain(&b"\n\n[Event \"x\"]\n"[..]).chain(next));
    }
    let take = |section: &mut Prepared<Result<PreparedGame, cbh::SaveError>>| {
        for (_, game) in section.games.drain(..) {
            let read = game.map_err(|error| Why(error.to_string()))?;
            let game = read.map_err(|error| Why(error.to_string()))?;
            importer
                .append(&game)
                .map_err(|error| Why(error.to_string()))?;
        }
        Ok(())
    };
    let prepare = PreparedGame::new;
    let page = |_: &[u8]| pgn::InPage {
        page: pgn::EightBitPage::WESTERN,
        trust: pgn::Trust::Guessed,
        rival: None,
    };
    let is_over = AtomicBool::new(false);
    let reader = BufReader::new(reader);
    let read = pgn::for_each_game_in_order(reader, page, prepare, &is_over, take);
    read.map_err(|why: Why| why.0)?;
    importer.commit().map_err(|error| error.to_string())?;
    Ok(())
}

fn mounted(folder: &Path) -> Vfs {
    let writer = Writer {
        label: "/mnt/test".to_owned(),
        clock: SystemTime::now,
        drops_foreign_tags: false,
        merges: None,
        is_ending: |_| false,
    };
    let base = folder.join("sample.cbh");
    let source = DatabaseSource::new(&base, cbh::Options::default(), None);
    let source = source.written_by(Some(writer));
    Vfs::open(Box::new(source), &vfs::Options::default()).unwrap()
}

/// Saves the text as a file of a mount and reads it again; why not, if not.
fn save(vfs: &Vfs, folder: &Path, directory: &[u8], name: &[u8]) -> Result<(), String> {
    let directory = vfs.lookup(Ino::ROOT, directory).unwrap().ino;
    let access = Access {
        write: true,
        truncate: true,
        ..Access::READ
    };
    let (_, handle) = vfs.drafts().create(directory, name, access, false).unwrap();
    let mut text = File::open(folder.join("text.pgn")).unwrap();
    let mut bytes = vec![0; 1 << 17];
    let mut at = 0;
    loop {
        let read = text.read(&mut bytes).unwrap();
        if read == 0 {
            break;
        }
        vfs.drafts().write(handle, at, &bytes[..read]).unwrap();
        at += read as u64;
    }
    let saved = vfs
        .drafts()
        .flush(handle)
        .map_err(|error| format!("{error:?}"));
    vfs.drafts().release(handle);
    saved?;
    let ino = vfs.lookup(directory, name).unwrap().ino;
    let mut at = 0;
    while let Ok(bytes) = vfs.read(ino, at, 1 << 17) {
        at += bytes.len() as u64;
        if bytes.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Those kinds that are saved in a mount too, and over one another.
const SAVED: [&str; 4] = [
    "as many moves as may be",
    "as many remarks as may be",
    "[%csl Ga1]",
    "$1",
];

/// What was said, if it was not stored.
fn said(done: Result<(), String>) -> String {
    match done {
        Ok(()) => "stored".to_owned(),
        Err(why) => why.chars().take(100).collect(),
    }
}

#[test]
fn a_game_of_16_mib_takes_less_than_200_mib_whatever_it_consists_of() {
    let _alone = alone();
    let only = std::env::var("CBFS_MEMORY_OF").ok();
    let mut costly = Vec::new();
    for kind in KINDS {
        if only.as_ref().is_some_and(|only| kind.name != only) {
            continue;
        }
        let folder = sample_with(kind);
        let (peak, done) = peak_of(&format!("import {}", kind.name), || {
            import(folder.path(), 1)
        });
        println!("    {}", said(done));
        if peak >= MOST_OF_GAME {
            costly.push(format!("import {}: {} MiB", kind.name, peak >> 20));
        }
    }
    assert_eq!(costly, [""; 0]);
}

#[test]
fn a_draft_of_16_mib_takes_less_than_200_mib_to_save_and_to_show() {
    let _alone = alone();
    let only = std::env::var("CBFS_MEMORY_OF").ok();
    let mut costly = Vec::new();
    for kind in KINDS {
        let is_wanted = match &only {
            Some(only) => kind.name == only,
            None => SAVED.contains(&kind.name),
        };
        if !is_wanted {
            continue;
        }
        let folder = sample_with(kind);
        let vfs = mounted(folder.path());
        for (directory, name) in [
            ("import", "text.pgn"),
            ("games", "new.pgn"),
            ("games", "000001.pgn"),
            ("games", "000001.pgn"),
        ] {
            let about = format!("{directory}/{name} {}", kind.name);
            let (peak, done) = peak_of(&about, || {
                save(&vfs, folder.path(), directory.as_bytes(), name.as_bytes())
            });
            println!("    {}", said(done));
            if peak >= MOST_OF_GAME {
                costly.push(format!("{about}: {} MiB", peak >> 20));
            }
        }
        vfs.drafts().end().unwrap();
    }
    assert_eq!(costly, [""; 0]);
}

#[test]
fn large_games_are_rendered_one_at_a_time() {
    let _alone = alone();
    let kind = KINDS
        .iter()
        .find(|kind| kind.name == "as many remarks as may be")
        .unwrap();
    let folder = sample_with(kind);
    let (one, done) = peak_of("one game", || import(folder.path(), 1));
    println!("    {}", said(done));
    let (four, done) = peak_of("four games", || import(folder.path(), 4));
    println!("    {}", said(done));
    // The next text is read meanwhile.
    assert!(four < one + 3 * GAME, "{} {}", one >> 20, four >> 20);
    let folders = [sample_with(kind), sample_with(kind)];
    let mounts = folders.each_ref().map(|folder| mounted(folder.path()));
    let (both, ()) = peak_of("two mounts", || {
        std::thread::scope(|scope| {
            for (vfs, folder) in mounts.iter().zip(&folders) {
                scope.spawn(|| save(vfs, folder.path(), b"games", b"new.pgn"));
            }
        });
    });
    assert!(both < MOST_OF_GAME, "{}", both >> 20);
    for vfs in &mounts {
        vfs.drafts().end().unwrap();
    }
}

#[test]
fn a_large_game_waits_for_another_one_to_be_rendered() {
    let _alone = alone();
    let folder = copy_of_base("cbh/sample");
    let text = BEGUN.to_owned() + &"--{[%emt 0:00:01]} ".repeat(5000) + "*\n";
    fs::write(folder.path().join("text.pgn"), text).unwrap();
    import(folder.path(), 1).unwrap();
    let vfs = mounted(folder.path());
    let games = vfs.lookup(Ino::ROOT, b"games").unwrap().ino;
    let ino_of = |name: &str| vfs.lookup(games, name.as_bytes()).unwrap().ino;
    let read = |name: &str| vfs.read(ino_of(name), 0, 10).unwrap().len();
    let another = pgn::Permit::wait_to_render(u64::MAX);
    assert_eq!(read("000001.pgn"), 10);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read("000016.pgn"));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!reader.is_finished());
        drop(another);
        assert_eq!(reader.join().unwrap(), 10);
    });
    vfs.drafts().end().unwrap();
}

fn opened(folder: &Path) -> OpenBase {
    let cbh = folder.join("sample.cbh");
    OpenBase::open(
        &cbh,
        &cbh::Options::default(),
        StoreAccess::ReadWrite,
        "test",
    )
    .unwrap()
}

/// Repairs a base and makes a tidy copy of it; the memory that took.
fn repaired_and_compacted(folder: &Path) -> usize {
    let (compacting, ()) = peak_of("compact", || {
        let base = opened(folder);
        let target = tempfile::tempdir().unwrap();
        let new_base = NewBase::begin(&target.path().join("tidy.cbh")).unwrap();
        compact(&base, &new_base, &|_| true).unwrap();
        base.store.close().unwrap();
    });
    let (repairing, ()) = peak_of("repair", || {
        let base = opened(folder);
        repair(&base, &|_| {}, &mut |_| {}).unwrap();
        base.store.close().unwrap();
    });
    compacting.max(repairing)
}

#[test]
fn a_large_id_in_a_record_costs_nothing() {
    let _alone = alone();
    for name in ["cbh", "cbj as games have it", "cbj turned"] {
        let folder = copy_of_base("cbh/sample");
        let path = |extension: &str| folder.path().join("sample").with_extension(extension);
        if name == "cbh" {
            // White, Black, tournament, annotator and source of the first.
            let headers = File::options().write(true).open(path("cbh")).unwrap();
            for at in [9, 12, 15, 18, 21] {
                headers.write_all_at(&[0xff, 0xff, 0xfe], 46 + at).unwrap();
            }
        } else {
            let teams = File::options().write(true).open(path("cbj")).unwrap();
            let id = i32::MAX - 1;
            let id = if name.ends_with("turned") {
                id.to_le_bytes()
            } else {
                id.to_be_bytes()
            };
            teams.write_all_at(&[id, id].concat(), 32).unwrap();
        }
        let peak = repaired_and_compacted(folder.path());
        assert!(peak < MOST_OF_NUMBERS, "{name}: {} MiB", peak >> 20);
    }
}

#[test]
fn a_count_in_a_header_costs_nothing() {
    let _alone = alone();
    for (extension, offset, count) in [
        ("cbp", 0, i32::MAX.to_le_bytes()),
        ("cbt", 0, i32::MAX.to_le_bytes()),
        ("cbe", 0, i32::MAX.to_le_bytes()),
        ("cbp", 20, i32::MAX.to_le_bytes()),
        ("cbh", 6, u32::MAX.to_be_bytes()),
        ("cbj", 8, i32::MAX.to_be_bytes()),
        ("cbtt", 8, i32::MAX.to_le_bytes()),
    ] {
        let folder = copy_of_base("cbh/sample");
        let path = folder.path().join("sample").with_extension(extension);
        let file = File::options().write(true).open(path).unwrap();
        file.write_all_at(&count, offset).unwrap();
        let (peak, _) = peak_of(&format!(".{extension} at {offset}"), || {
            let base = opened(folder.path());
            let mut count = 0;
            let _ = repair(&base, &|_| {}, &mut |_| count += 1);
            let _ = base.store.close();
            count
        });
        assert!(peak < MOST_OF_NUMBERS, ".{extension}: {} MiB", peak >> 20);
    }
}

#[test]
fn a_hole_in_an_entity_file_costs_nothing() {
    let _alone = alone();
    for (extension, last) in [("cbp", 0), ("cbl", 0), ("cbl", 1)] {
        let folder = copy_of_base("cbh/sample");
        let path = folder.path().join("sample").with_extension(extension);
        let file = File::options().write(true).open(&path).unwrap();
        let length = 64 << 20;
        file.write_all_at(&[last], length - 1).unwrap();
        file.write_all_at(&i32::MAX.to_le_bytes(), 0).unwrap();
        let (checking, told) = peak_of(&format!("check .{extension}"), || {
            let base = opened(folder.path());
            let mut told = Vec::new();
            let database = &base.database;
            database
                .check(&|_| {}, &mut |defect| told.push(defect.what))
                .unwrap();
            base.store.close().unwrap();
            told
        });
        assert!(told.iter().any(|what| what.contains("zeros")), "{told:?}");
        assert!(told.len() < 10, "{told:?}");
        let repairing = repaired_and_compacted(folder.path());
        let peak = checking.max(repairing);
        assert!(peak < MOST_OF_NUMBERS, ".{extension}: {} MiB", peak >> 20);
        let copy = path.with_extension(format!("{extension}.before-repair"));
        let copy = fs::metadata(copy).unwrap();
        assert_eq!(copy.len(), length);
        assert!(copy.blocks() * 512 < 4 << 20);
    }
}

/// A journal beside the sample whose only record claims to be so long.
fn plant_journal(folder: &Path, length: u64) {
    let name = b".sample.cbfs-journal";
    let mut header = b"cbfsjrnl".to_vec();
    header.extend(1_u32.to_le_bytes());
    header.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
    header.extend(name);
    header.resize(496, 0);
    header.extend(7_u64.to_le_bytes());
    header.extend(xxhash_rust::xxh3::xxh3_64(&header).to_le_bytes());
    header.resize(1024, 0);
    header.extend(0_u64.to_le_bytes());
    header.extend(1_u64.to_le_bytes());
    header.extend(length.to_le_bytes());
    let path = folder.join(std::str::from_utf8(name).unwrap());
    fs::write(&path, header).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(1024 + length).unwrap();
}

#[test]
fn a_journal_record_of_zeros_is_not_read_into_memory() {
    let _alone = alone();
    let folder = copy_of_base("cbh/sample");
    plant_journal(folder.path(), 256 << 20);
    let (peak, ()) = peak_of("a record of 256 MiB", || {
        opened(folder.path()).store.close().unwrap();
    });
    assert!(peak < MOST_OF_NUMBERS, "{} MiB", peak >> 20);
}

#[test]
fn a_sparse_base_has_at_most_the_maximum_of_games() {
    let _alone = alone();
    let folder = copy_of_base("cbh/sample");
    let headers = File::options()
        .write(true)
        .open(folder.path().join("sample.cbh"));
    let headers = headers.unwrap();
    headers.set_len(46 * (1 << 32)).unwrap();
    headers.write_all_at(&u32::MAX.to_be_bytes(), 6).unwrap();
    let (peak, ()) = peak_of("a .cbh of 197 GB", || {
        let cbh = folder.path().join("sample.cbh");
        let database = cbh::Database::open(&cbh, &cbh::Options::default()).unwrap();
        assert_eq!(database.last_id(), (1 << 24) - 1);
        let told = database.defects().iter().map(ToString::to_string);
        let told: Vec<String> = told.collect();
        assert!(
            told.iter()
                .any(|told| told.contains("a base can have 16777215")),
            "{told:?}"
        );
    });
    assert!(peak < MOST_OF_NUMBERS, "{} MiB", peak >> 20);
}
