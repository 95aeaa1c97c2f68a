//! Opening books as directories, on a `Vfs` and on a real mount.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use cbfs::fuse::ReadDirPlus;
use cbfs::vfs::{
    Access, BasesFolder, BookOptions, BookSource, BookVolume, Error, Ino, Options, RenameMode, Vfs,
    Writer,
};
use common::behaviours::{Answer, Tree};
use common::books::{BOOK_BEHAVIOURS, FILES, Gate, GatedBook, LinkedTree, MemoryBook, START, walk};
use common::mounted::Mount;
use common::trees::{Direct, OnDisk, answer, system};
use serde_json::Value;

fn time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

fn sample() -> Vfs {
    let book = Arc::new(MemoryBook::sample());
    let volume = BookVolume::new(book, BookOptions::default(), time());
    Vfs::new(Box::new(volume), &Options::default())
}

impl LinkedTree for Direct {
    fn target(&self, path: &str) -> Answer<String> {
        let ino = self.attr(path)?.ino;
        let target = answer(|| self.0.target(ino))?;
        Ok(String::from_utf8(target).unwrap())
    }
}

/// A mount, through the system.
struct Through(Mount);

impl OnDisk for Through {
    fn place(&self, path: &str) -> PathBuf {
        self.0.path(path)
    }
}

impl LinkedTree for Through {
    fn target(&self, path: &str) -> Answer<String> {
        let target = system(fs::read_link(self.0.path(path)))?;
        Ok(String::from_utf8(target.as_os_str().as_bytes().into()).unwrap())
    }
}

#[test]
fn a_book_behaves_without_a_kernel() {
    for (name, behaviour) in BOOK_BEHAVIOURS {
        println!("{name}");
        behaviour(&Direct(sample()));
    }
}

#[test]
fn a_book_behaves_however_it_is_listed() {
    if !common::has_fuse() {
        return;
    }
    for listed in [ReadDirPlus::BySize, ReadDirPlus::Off] {
        let tree = Through(Mount::listed(sample(), listed));
        for (name, behaviour) in BOOK_BEHAVIOURS {
            println!("{name}, {listed:?}");
            behaviour(&tree);
        }
    }
}

#[test]
fn programs_walk_a_book_to_its_end_and_agree_on_sizes() {
    if !common::has_fuse() {
        return;
    }
    let mount = Mount::new(sample());
    let mut paths = BTreeMap::new();
    walk(&Direct(sample()), "", &mut paths);
    let count = paths.len();
    assert_eq!(
        mount.shell("find . -mindepth 1 -not -path './.cbfs*' | wc -l"),
        count.to_string()
    );
    let by_stat =
        "find . -type f -not -path './.cbfs*' -printf '%s\\n' | awk '{n+=$1} END {print n}'";
    let by_reading = "find . -type f -not -path './.cbfs*' -print0 | xargs -0 cat | wc -c";
    let by_tar = "tar -cf - --exclude=.cbfs . | tar -xOf - | wc -c";
    let bytes = mount.shell(by_stat);
    assert_eq!(mount.shell(by_reading), bytes);
    assert_eq!(mount.shell(by_tar), bytes);
    // However the start is reached, its moves lead on and it ends there.
    for start in ["tree/", "uci/", "line/e4/", "tree/Nf3/Nf6/Ng1/Ng8/"] {
        let walked = mount.shell(&format!("find '{start}' | wc -l"));
        let listed = mount.shell(&format!("ls '{start}' | wc -l"));
        let listed: u32 = listed.parse().unwrap();
        assert_eq!(walked, (listed + 1).to_string());
    }
    assert_eq!(
        mount.shell("grep -c 'Qxf7#' tree/e4/e5/Bc4/Nc6/Qh5/Nf6/Qxf7/line.pgn"),
        "1"
    );
    assert_eq!(
        mount.shell(
            r#"cd tree/Nf3/Nf6/Ng1/Ng8/e4 && cat "../$(basename "$(pwd -P)")/position.fen""#
        ),
        mount.shell("cat tree/e4/position.fen")
    );
}

/// More requests than threads that answer requests.
const MANY: usize = 24;

/// A mount of a book whose walks wait at a gate, and threads of which each
/// has asked for something that takes a walk.
fn asked_for_walks() -> (Through, Opener, Vec<JoinHandle<()>>) {
    let (book, gate) = GatedBook::sample();
    let volume = BookVolume::new(Arc::new(book), BookOptions::default(), time());
    let tree = Through(Mount::new(Vfs::new(Box::new(volume), &Options::default())));
    let wanted = [
        "export/book.pgn",
        "export/openings.pgn",
        "export/book.epd",
        "export/positions.tsv",
        "export/book.bin",
        "tree/e4/book.pgn",
        "tree/e4/line.pgn",
        "unreachable/x",
        "warnings.txt",
    ];
    let paths = wanted.iter().cycle().take(MANY);
    let asking = paths.map(|path| {
        let path = tree.0.path(path);
        thread::spawn(move || {
            // The length, before it is read, and as it is read.
            if let (Ok(stat), Ok(text)) = (fs::metadata(&path), fs::read(&path)) {
                assert_eq!(stat.len(), text.len() as u64);
            }
        })
    });
    let asking = asking.collect();
    // All work has begun that will begin: both walks for exports, and others.
    gate.wait_for(4);
    (tree, Opener(gate), asking)
}

/// Opens a gate at the latest when a test fails.
struct Opener(Arc<Gate>);

impl Drop for Opener {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[test]
fn slow_exports_do_not_delay_other_requests() {
    if !common::has_fuse() {
        return;
    }
    let (tree, gate, asking) = asked_for_walks();
    let (answered, answers) = mpsc::channel();
    let place = tree.0.path("");
    thread::spawn(move || {
        // Names, attributes and texts, none of which the kernel knows yet.
        let moves = fs::read(place.join("tree/e4/Nf6/e5/moves.tsv")).unwrap();
        assert!(moves.starts_with(b"san\t"), "{moves:?}");
        assert_eq!(fs::read_dir(place.join("export")).unwrap().count(), 5);
        assert!(fs::metadata(place.join("uci/g1f3")).unwrap().is_dir());
        assert!(!place.join("tree/d5").exists());
        answered.send(()).unwrap();
    });
    // Who waits for the gate would wait for ever.
    answers.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(asking.iter().any(|thread| !thread.is_finished()));
    drop(gate);
    for thread in asking {
        thread.join().unwrap();
    }
    let direct = Direct(sample());
    for path in ["export/book.bin", "export/book.epd", "tree/e4/book.pgn"] {
        assert_eq!(tree.read(path), direct.read(path), "{path}");
    }
}

#[test]
fn a_mount_ends_while_exports_are_being_made() {
    if !common::has_fuse() {
        return;
    }
    let (tree, gate, asking) = asked_for_walks();
    // It returns when the mount has ended.
    drop(tree);
    assert!(asking.iter().any(|thread| !thread.is_finished()));
    drop(gate);
    for thread in asking {
        thread.join().unwrap();
    }
}

#[test]
fn reading_continues_during_listings() {
    if !common::has_fuse() {
        return;
    }
    let mount = Mount::new(sample());
    for path in ["tree/e4/moves.tsv", "export/book.epd", "warnings.txt"] {
        let file = fs::File::open(mount.path(path)).unwrap();
        let listed = mount.path(path).parent().unwrap().to_path_buf();
        assert!(fs::read_dir(&listed).unwrap().count() > 3);
        assert!(fs::metadata(mount.path(path)).is_ok());
        let text = fs::read(mount.path(path)).unwrap();
        let mut bytes = vec![0; text.len()];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes, text, "{path}");
    }
}

#[test]
fn a_book_is_read_only() {
    if !common::has_fuse() {
        return;
    }
    let mount = Mount::new(sample());
    let refused = |result: std::io::Result<()>| {
        let error = result.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EROFS), "{error}");
    };
    let in_position = format!("fen/{START}/x");
    for path in [
        "tree/e4/position.fen",
        "README.txt",
        "tree/x",
        &in_position,
        "x",
    ] {
        refused(fs::write(mount.path(path), "x"));
    }
    refused(fs::create_dir(mount.path("tree/new")));
    refused(fs::remove_file(mount.path("tree/e4/board.txt")));
    refused(fs::remove_file(mount.path("tree/e4")));
    refused(fs::rename(mount.path("tree/e4"), mount.path("tree/new")));
}

#[test]
fn a_listing_of_names_looks_up_one_position() {
    use std::sync::atomic::Ordering::SeqCst;
    let book = MemoryBook::sample();
    let finds = Arc::clone(&book.finds);
    let volume = BookVolume::new(Arc::new(book), BookOptions::default(), time());
    let tree = Direct(Vfs::new(Box::new(volume), &Options::default()));
    let directory = tree.followed("tree").unwrap().ino;
    let before = finds.load(SeqCst);
    let mut count = 0;
    for after in [0, 0, 5] {
        tree.0
            .list_with_attrs(directory, after, &mut |_, _| {
                count += 1;
                true
            })
            .unwrap();
    }
    assert!(count > 2 * FILES.len());
    // Once for each part of it.
    assert_eq!(finds.load(SeqCst) - before, 3);
}

#[test]
fn the_start_position_is_read_in_advance() {
    use std::sync::atomic::Ordering::SeqCst;
    let book = MemoryBook::sample();
    let finds = Arc::clone(&book.finds);
    let volume = BookVolume::new(Arc::new(book), BookOptions::default(), time());
    let tree = Direct(Vfs::new(Box::new(volume), &Options::default()));
    tree.0.measure_first_files();
    let before = finds.load(SeqCst);
    assert!(before > 0);
    assert!(tree.read("tree/moves.tsv").unwrap().starts_with(b"san\t"));
    assert_eq!(finds.load(SeqCst), before);
}

#[test]
fn a_listing_continues_at_any_offset() {
    let tree = Direct(sample());
    for path in [
        "",
        "tree",
        "tree/e4/e5/Nf3/Nc6/Bb5/a6",
        "unreachable",
        "fen",
    ] {
        let directory = tree.followed(path).unwrap().ino;
        let whole = tree.list(path).unwrap();
        let mut found = Vec::new();
        let mut after = 2;
        loop {
            let mut next = None;
            tree.0
                .list(directory, after, &mut |entry| {
                    if next.is_some() {
                        return false;
                    }
                    next = Some((entry.name.to_owned(), entry.node.ino.0, entry.cookie));
                    true
                })
                .unwrap();
            let Some((name, ino, cookie)) = next else {
                break;
            };
            assert!(cookie > after);
            after = cookie;
            found.push((name, ino));
        }
        assert_eq!(found, whole, "{path}");
    }
}

#[test]
fn the_number_of_a_directory_is_the_same_at_the_next_mount() {
    let [one, other] = [Direct(sample()), Direct(sample())];
    for path in [
        "tree/e4/e5",
        "uci/e2e4",
        "tree/e4/e5/board.txt",
        &format!("fen/{START}"),
    ] {
        assert_eq!(one.attr(path).unwrap().ino, other.attr(path).unwrap().ino);
    }
    assert_eq!(one.stat("tree/e4").unwrap().mtime, 1_000_000_000);
}

#[test]
fn exports_equal_those_of_the_book_and_report_truncation() {
    use cbfs::book::export::{ExportFormat, write_together};
    use cbfs::book::walk::Limits;
    let book = MemoryBook::sample();
    let mut whole = [Vec::new(), Vec::new(), Vec::new()];
    let limits = Limits::positions(1000);
    let [epd, table, polyglot] = &mut whole;
    let outputs: &mut [(ExportFormat, &mut dyn Write)] = &mut [
        (ExportFormat::Epd, epd),
        (ExportFormat::Tsv, table),
        (ExportFormat::Polyglot, polyglot),
    ];
    write_together(&book, limits, outputs).unwrap();
    let cut = BookOptions {
        export_limit: 3,
        ..BookOptions::default()
    };
    let volume = BookVolume::new(Arc::new(MemoryBook::sample()), cut, time());
    let cut = Direct(Vfs::new(Box::new(volume), &Options::default()));
    let tree = Direct(sample());
    for (name, whole) in ["book.epd", "positions.tsv", "book.bin"].iter().zip(&whole) {
        let path = format!("export/{name}");
        assert_eq!(tree.read(&path).unwrap(), *whole, "{name}");
        assert!(cut.read(&path).unwrap().len() < whole.len(), "{name}");
    }
    for path in [
        "export/book.pgn",
        "export/openings.pgn",
        "export/book.epd",
        "export/positions.tsv",
        "tree/e4/book.pgn",
    ] {
        let said =
            "The book has more positions than these 3; a larger --export-limit allows more\n";
        let read = |tree: &Direct| String::from_utf8(tree.read(path).unwrap()).unwrap();
        assert!(read(&cut).ends_with(said), "{path}");
        assert!(!read(&tree).contains("--export-limit"), "{path}");
        assert_eq!(cut.stat(path).unwrap().size, read(&cut).len() as u64);
    }
    // A walk that was cut cannot tell what no line reaches.
    assert!(cut.list("unreachable").unwrap().is_empty());
}

/// A copy of the sample book, and where its lengths are kept.
fn copied_book() -> (tempfile::TempDir, PathBuf, BookOptions) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.ctg");
    copy_book(&common::fixtures().join("book/small/small.ctg"), &path);
    let options = BookOptions {
        caches: Some(folder.path().join("caches")),
        ..BookOptions::default()
    };
    (folder, path, options)
}

/// The files that need a walk through the whole book.
const WALKED: [&str; 7] = [
    "export/book.pgn",
    "export/openings.pgn",
    "export/book.epd",
    "export/positions.tsv",
    "export/book.bin",
    "book.json",
    "warnings.txt",
];

#[test]
fn lengths_of_exports_are_kept_for_the_next_mount() {
    let (folder, path, options) = copied_book();
    let mount = |options: &BookOptions| {
        let source = BookSource::new(&path, options.clone());
        Direct(Vfs::open(Box::new(source), &Options::default()).unwrap())
    };
    let texts = |tree: &Direct| WALKED.map(|path| tree.read(path).unwrap());
    let first = texts(&mount(&options));
    let kept = fs::read_dir(folder.path().join("caches")).unwrap();
    let [kept] = &kept.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()[..] else {
        panic!("one file for the book");
    };
    let good = fs::read(kept).unwrap();
    // What is kept, nothing, half of it, and that of another book.
    let half = good[..good.len() / 2].to_vec();
    let other = String::from_utf8(good.clone()).unwrap();
    let other = other.replacen("\"epd\":", "\"epd\":1", 1).into_bytes();
    assert_ne!(other, good);
    for known in [good, Vec::new(), half, other] {
        fs::write(kept, known).unwrap();
        let tree = mount(&options);
        let sizes = WALKED.map(|path| tree.stat(path).unwrap().size);
        assert_eq!(sizes, first.each_ref().map(|text| text.len() as u64));
        assert_eq!(texts(&tree), first);
    }
    // With another limit, the exports are others.
    let cut = BookOptions {
        export_limit: 3,
        ..options.clone()
    };
    let tree = mount(&cut);
    assert!(tree.stat("export/book.epd").unwrap().size < first[2].len() as u64);
    // So are they of a book that has changed.
    let book = fs::OpenOptions::new().write(true).open(&path).unwrap();
    book.set_len(4096).unwrap();
    let tree = mount(&options);
    for path in WALKED {
        let text = tree.read(path).unwrap();
        assert_eq!(tree.stat(path).unwrap().size, text.len() as u64, "{path}");
    }
    assert_eq!(tree.read("export/book.epd").unwrap(), b"");
}

#[test]
fn nothing_is_walked_for_lengths_that_are_kept() {
    let (_folder, path, options) = copied_book();
    let mount = || {
        let source = BookSource::new(&path, options.clone());
        Vfs::open(Box::new(source), &Options::default()).unwrap()
    };
    let lengths_known = |tree: &Direct| {
        let directory = tree.attr("export").unwrap().ino;
        let names = tree.list("export").unwrap().into_iter();
        let sized = names.map(|(name, _)| {
            let attr = tree.0.lookup_at_once(directory, name.as_bytes());
            attr.unwrap().is_sized
        });
        sized.collect::<Vec<_>>()
    };
    let tree = Direct(mount());
    assert_eq!(lengths_known(&tree), [false; 5]);
    // Those that are written together are known together.
    tree.stat("export/book.bin").unwrap();
    assert_eq!(lengths_known(&tree), [false, false, true, true, true]);
    tree.stat("export/book.pgn").unwrap();
    assert_eq!(lengths_known(&tree), [true; 5]);
    // The next mount knows them, and who reads does not delay others.
    let tree = Direct(mount());
    assert_eq!(lengths_known(&tree), [true; 5]);
    let epd = tree.list("export").unwrap();
    let epd = epd
        .into_iter()
        .find(|(name, _)| name == "book.epd")
        .unwrap();
    assert!(tree.0.long_work(Ino(epd.1), None).is_some());
    tree.read("export/book.epd").unwrap();
    assert!(tree.0.long_work(Ino(epd.1), None).is_none());
}

/// Books that are not part of the project.
fn shared_books() -> Vec<PathBuf> {
    let Some(shared) = common::shared() else {
        return Vec::new();
    };
    let books = [
        "real/simple.ctg",
        "generated/tiny.ctg",
        "generated/onepage.ctg",
    ];
    books.map(|book| shared.join("books").join(book)).into()
}

/// FEN and moves of each position, of which `None` are those the book has not.
fn vectors(book: &Path) -> Vec<(String, Option<Vec<String>>)> {
    let table = fs::read_to_string(book.with_extension("vectors.tsv")).unwrap();
    let rows = table.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let moves = fields[17].split(' ').filter(|known| !known.is_empty());
        let names = moves.map(|known| known.split(':').next().unwrap().to_owned());
        (
            fields[0].to_owned(),
            (fields[5] != "MISS").then(|| names.collect()),
        )
    });
    rows.collect()
}

fn open_book(path: &Path) -> Direct {
    let source = BookSource::new(path, BookOptions::default());
    Direct(Vfs::open(Box::new(source), &Options::default()).unwrap())
}

#[test]
fn each_position_of_a_real_book_is_found_by_its_fen() {
    for path in shared_books() {
        let tree = open_book(&path);
        let mut count = 0;
        for (fen, moves) in vectors(&path) {
            let fields: Vec<&str> = fen.split(' ').take(4).collect();
            let name = fields.join("_").replace('/', ":");
            let directory = format!("fen/{name}");
            let stats = tree.read(&format!("{directory}/stats.json")).unwrap();
            let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
            assert_eq!(stats["in_book"], moves.is_some(), "{fen}");
            let table = tree.read(&format!("{directory}/moves.tsv")).unwrap();
            let lines = table.split(|byte| *byte == b'\n').count() - 2;
            let listed = tree.list(&directory).unwrap().len() - FILES.len();
            assert_eq!(listed, lines, "{fen}");
            for name in moves.iter().flatten() {
                count += usize::from(tree.stat(&format!("{directory}/{name}")).is_ok());
            }
            assert!(listed <= moves.map_or(0, |moves| moves.len()), "{fen}");
        }
        assert!(count > 0, "{}", path.display());
    }
}

#[test]
fn unreachable_positions_of_a_real_book_are_listed() {
    use cbfs::book::CanonicalBoard;
    use common::books::{position, uci};
    let key = |position: &cbfs::game::Position| CanonicalBoard::of(position).unwrap().key();
    for path in shared_books() {
        let known = vectors(&path).into_iter();
        let known: BTreeMap<u128, (String, Vec<String>)> = known
            .filter_map(|(fen, moves)| Some((key(&position(&fen)), (fen, moves?))))
            .collect();
        let mut reached = BTreeSet::new();
        let mut open = vec![cbfs::game::Position::default()];
        while let Some(next) = open.pop() {
            let Some((fen, moves)) = known.get(&key(&next)) else {
                continue;
            };
            if !reached.insert(key(&next)) {
                continue;
            }
            let at = position(fen);
            for name in moves {
                let mut after = at.clone();
                let is_legal = std::panic::catch_unwind(|| uci(&at, name));
                if let Ok(m) = is_legal
                    && after.play(m).is_ok()
                {
                    open.push(after);
                }
            }
        }
        let all = known.keys();
        let expected: Vec<String> = all
            .filter(|key| !reached.contains(key))
            .map(|key| format!("{key:032x}"))
            .collect();
        let found = open_book(&path).list("unreachable").unwrap().into_iter();
        let is_told = |name: &String| {
            let key = u128::from_str_radix(name, 16).unwrap();
            known.contains_key(&key)
        };
        let (found, others): (Vec<String>, Vec<String>) =
            found.map(|(name, _)| name).partition(is_told);
        // A capture in passing that a pin forbids has no FEN of its own, so
        // one position of a set-up game is not among the vectors.
        assert!(others.len() <= 1, "{others:?}");
        assert_eq!(found, expected, "{}", path.display());
    }
}

#[test]
fn what_is_stored_and_what_the_table_lists_is_counted() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    // From 2.Nf3 and 3...Nf6 on the sides are changed.
    let book = MemoryBook::of([(start, "e2e4 e7e5 g1f3"), (start, "e2e3 e7e5 e3e4 g8f6")]);
    let volume = BookVolume::new(Arc::new(book), BookOptions::default(), time());
    let tree = Direct(Vfs::new(Box::new(volume), &Options::default()));
    let json: Value = serde_json::from_slice(&tree.read("book.json").unwrap()).unwrap();
    assert_eq!(
        (&json["positions"], &json["reached"]),
        (&6.into(), &8.into())
    );
    let table = String::from_utf8(tree.read("export/positions.tsv").unwrap()).unwrap();
    assert_eq!(table.lines().count(), 1 + 8, "{table}");
}

/// Names in a tree and all below, without links; each file is as long as it
/// says.
fn count_names(tree: &Direct, path: &str) -> usize {
    let mut count = 0;
    for (name, _) in tree.list(path).unwrap() {
        let path = format!("{path}/{name}");
        count += 1;
        if tree.target(&path).is_ok() {
            continue;
        }
        let stat = tree.stat(&path).unwrap();
        if stat.is_directory {
            count += count_names(tree, &path);
        } else {
            assert_eq!(tree.read(&path).unwrap().len() as u64, stat.size, "{path}");
        }
    }
    count
}

#[test]
fn broken_books_are_mounted_as_expected() {
    let Some(shared) = common::shared() else {
        return;
    };
    let bad = shared.join("books/bad");
    let list = fs::read_to_string(bad.join("MANIFEST.tsv")).unwrap();
    let lines = list.lines().filter(|line| line.contains('\t'));
    let mut count = 0;
    for line in lines {
        let mut fields = line.split('\t');
        let (name, promise) = (fields.next().unwrap(), fields.next_back().unwrap());
        let member = if name.starts_with("kv-") {
            "_0.kob"
        } else {
            ".ctg"
        };
        let path = bad.join(format!("{name}{member}"));
        count += 1;
        let source = BookSource::new(&path, BookOptions::default());
        let opened = Vfs::open(Box::new(source), &Options::default());
        assert_eq!(opened.is_err(), promise.starts_with("refuse"), "{name}");
        let Ok(vfs) = opened else { continue };
        let tree = Direct(vfs);
        let warnings = tree.read("warnings.txt").unwrap();
        let is_silent = promise.contains("silent");
        let text = String::from_utf8(warnings).unwrap();
        // Where the sources of its games lie is no matter of the book.
        let mut of_book = text.lines().filter(|line| !line.contains("--source-map"));
        assert_eq!(of_book.next().is_none(), is_silent, "{name}: {text}");
        for path in ["tree", "unreachable", "export"] {
            count_names(&tree, path);
        }
        let table = String::from_utf8(tree.read("export/positions.tsv").unwrap()).unwrap();
        let reached = table.lines().count() - 1;
        let json: Value = serde_json::from_slice(&tree.read("book.json").unwrap()).unwrap();
        assert_eq!(json["reached"], reached, "{name}");
        let others = tree.list("unreachable").unwrap().len();
        // What a scan finds is all there, and of the rest most is.
        let least = match promise {
            _ if promise.contains("mounts empty") => 0,
            _ if promise.contains("found") => 137 + 35,
            _ if promise.contains("whole") => 50,
            _ => 100,
        };
        assert!(reached + others >= least, "{name}: {reached} and {others}");
    }
    assert_eq!(count, 40);
}

fn copy_book(from: &Path, to: &Path) {
    for extension in ["ctg", "cto", "ctb"] {
        let source = from.with_extension(extension);
        // What is shared may be read-only.
        fs::write(to.with_extension(extension), fs::read(source).unwrap()).unwrap();
    }
}

#[test]
fn a_replaced_book_is_reopened_and_keeps_its_numbers() {
    let books = shared_books();
    let [simple, tiny, ..] = &books[..] else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ctg");
    copy_book(simple, &path);
    let tree = open_book(&path);
    let before = tree.list("tree").unwrap();
    let number = tree.followed("tree/e4").unwrap().ino;
    let unchanged = tree.0.refresh();
    assert!(unchanged.directories.is_empty());
    copy_book(tiny, &path);
    let changed = tree.0.refresh();
    assert!(changed.directories.contains(&number));
    let after = tree.list("tree").unwrap();
    assert!(after.len() > before.len());
    assert_eq!(tree.followed("tree/e4").unwrap().ino, number);
    assert!(
        tree.list("tree/e4")
            .unwrap()
            .iter()
            .any(|(name, _)| name == "d5")
    );
}

#[test]
fn a_book_beside_a_base_has_its_extension() {
    let books = shared_books();
    let Some(tiny) = books.get(1) else { return };
    let folder = common::copy_of_base("cbh/sample");
    copy_book(tiny, &folder.path().join("sample.ctg"));
    copy_book(tiny, &folder.path().join("other.ctg"));
    fs::write(folder.path().join("broken.ctg"), "x").unwrap();
    let bases = BasesFolder::new(folder.path(), cbfs::cbh::Options::default(), None);
    let tree = Direct(Vfs::folder(bases, &Options::default()).unwrap());
    let mut names: Vec<String> = tree
        .list("")
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    names.sort();
    assert_eq!(names, [".cbfs", "broken", "other", "sample", "sample.ctg"]);
    assert!(tree.read("sample.ctg/tree/e4/position.fen").is_ok());
    assert!(tree.stat("sample/games").unwrap().is_directory);
    assert!(tree.read("broken/ERROR").unwrap().starts_with(b"/"));
    let status = tree.read("other/.cbfs/status").unwrap();
    assert!(
        String::from_utf8(status)
            .unwrap()
            .contains("ChessBase book (CTG)")
    );
    let numbers: Vec<u64> = ["other", "sample.ctg"]
        .map(|name| tree.followed(&format!("{name}/tree/e4")).unwrap().ino.0)
        .into();
    assert_ne!(numbers[0], numbers[1]);
    assert!(numbers.iter().all(|number| *number < 1 << 53));
}

#[test]
fn saving_a_base_leaves_the_book_beside_it_unchanged() {
    let books = shared_books();
    let Some(tiny) = books.get(1) else { return };
    let folder = common::copy_of_base("cbh/sample");
    copy_book(tiny, &folder.path().join("sample.ctg"));
    let writer = Writer {
        label: "here".to_owned(),
        clock: time,
        drops_foreign_tags: false,
        merges: None,
        is_ending: |_| false,
    };
    let bases = BasesFolder::new(folder.path(), cbfs::cbh::Options::default(), None);
    let bases = bases.written_by(Some(writer));
    let tree = Direct(Vfs::folder(bases, &Options::default()).unwrap());
    assert!(tree.stat("sample/games").unwrap().is_directory);
    assert!(tree.0.drafts().can_be_written());
    let e4 = tree.followed("sample.ctg/tree/e4").unwrap().ino;
    let above = tree.attr("sample.ctg/fen").unwrap().ino;
    let file = tree.attr("sample.ctg/tree/e4/moves.tsv").unwrap().ino;
    let write = Access {
        write: true,
        ..Access::default()
    };
    for refused in [
        tree.0.drafts().make(e4, b"d9").map(|_| ()),
        tree.0.drafts().remove_directory(above, b"e4"),
        tree.0.drafts().unlink(e4, b"moves.tsv"),
        tree.0
            .drafts()
            .rename(e4, b"moves.tsv", e4, b"x", RenameMode::Plain),
        tree.0.drafts().link(file, e4, b"x").map(|_| ()),
        tree.0.drafts().create(e4, b"x", write, false).map(|_| ()),
        tree.0.drafts().open_file(file, write).map(|_| ()),
    ] {
        assert!(matches!(refused, Err(Error::ReadOnly)), "{refused:?}");
    }
}

#[test]
fn the_games_that_a_book_names_are_files() {
    let Some(shared) = common::shared() else {
        return;
    };
    let tree = open_book(&shared.join("books/generated/kvtiny.kin"));
    let table = String::from_utf8(tree.read("games/sources.tsv").unwrap()).unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert!(rows.len() > 1, "{table}");
    let mut whole = 0;
    for row in &rows[1..] {
        let listed = tree.list(&format!("games/{}", row[0])).unwrap();
        let is_there = row[1] == "web" || !row[5].is_empty();
        let games = row[3].parse::<usize>().unwrap();
        assert_eq!(listed.len(), if is_there { games } else { 0 });
        for (name, ino) in listed {
            let path = format!("games/{}/{name}", row[0]);
            let Ok(text) = tree.read(&path) else {
                continue;
            };
            let stat = tree.stat(&path).unwrap();
            assert_eq!((stat.size, stat.ino), (text.len() as u64, ino), "{path}");
            assert!(text.starts_with(b"[Event "), "{path}");
            whole += 1;
        }
    }
    assert!(whole > 0, "{table}");
    for path in [
        "games/0/0.pgn",
        "games/0/999999.pgn",
        "games/00",
        "games/99999",
    ] {
        assert_eq!(tree.stat(path).unwrap_err(), libc::ENOENT, "{path}");
    }
    // What CTG and Kvetka have of the same games are the same lines.
    let ctg = open_book(&shared.join("books/generated/tiny.ctg"));
    let names = |tree: &Direct| {
        let listed = tree.list("tree/e4").unwrap().into_iter();
        let mut names: Vec<String> = listed.map(|(name, _)| name).collect();
        names.sort();
        names
    };
    assert_eq!(names(&tree), names(&ctg));
}
