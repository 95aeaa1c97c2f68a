//! The behaviours on a `Vfs`, and what can only be seen without a kernel.

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

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;

use cbfs::cbh::{Database, Options as DatabaseOptions};
use cbfs::vfs::{Attr, DatabaseVolume, Error, Ino, NodeKind, Options, Vfs};
use common::behaviours::{Answer, BEHAVIOURS, Stat, Tree};
use common::texts::TEXT_BEHAVIOURS;
use common::volume::{GAMES, LAST, Shared, TestVolume, text_of};

/// A `Vfs`, walked as a kernel walks it.
struct Direct(Vfs);

fn answer<T>(ask: impl FnOnce() -> Result<T, Error>) -> Answer<T> {
    Error::unless_panic(ask).map_err(|error| error.errno())
}

impl Direct {
    fn attr(&self, path: &str) -> Answer<Attr> {
        let mut attr = answer(|| self.0.attr(Ino::ROOT))?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            attr = answer(|| self.0.lookup(attr.ino, name.as_bytes()))?;
        }
        Ok(attr)
    }
}

impl Tree for Direct {
    fn list(&self, path: &str) -> Answer<Vec<(String, u64)>> {
        let directory = self.attr(path)?.ino;
        let mut names = Vec::new();
        answer(|| {
            self.0.list(directory, 0, &mut |entry| {
                names.push((entry.name.to_owned(), entry.node.ino.0));
                true
            })
        })?;
        assert_eq!(names[0].0, ".");
        assert_eq!(names[1].0, "..");
        Ok(names.split_off(2))
    }

    fn stat(&self, path: &str) -> Answer<Stat> {
        let attr = self.attr(path)?;
        let mtime = attr
            .modified
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        Ok(Stat {
            ino: attr.ino.0,
            size: attr.size,
            links: u64::from(attr.links),
            is_directory: attr.kind == NodeKind::Directory,
            mtime: mtime.as_secs(),
        })
    }

    fn read(&self, path: &str) -> Answer<Vec<u8>> {
        self.read_at(path, 0, u32::MAX)
    }

    fn read_at(&self, path: &str, offset: u64, length: u32) -> Answer<Vec<u8>> {
        let ino = self.attr(path)?.ino;
        answer(|| self.0.read(ino, offset, length)).map(|bytes| bytes.to_vec())
    }
}

fn test_vfs(options: &Options) -> (Vfs, Arc<Shared>) {
    let volume = TestVolume::default();
    let shared = Arc::clone(&volume.0);
    (Vfs::new(Box::new(volume), options), shared)
}

#[test]
fn it_behaves() {
    let tree = Direct(test_vfs(&Options::default()).0);
    for (name, behaviour) in BEHAVIOURS {
        println!("{name}");
        behaviour(&tree);
    }
}

#[test]
fn it_behaves_without_a_cache() {
    let options = Options { cache_bytes: 0 };
    let tree = Direct(test_vfs(&options).0);
    for (name, behaviour) in BEHAVIOURS {
        println!("{name}");
        behaviour(&tree);
    }
}

#[test]
fn it_shows_texts() {
    for cache_bytes in [0, 1 << 20] {
        let options = Options { cache_bytes };
        let tree = Direct(Vfs::new(Box::new(common::texts::volume()), &options));
        for (name, behaviour) in TEXT_BEHAVIOURS {
            println!("{name}");
            behaviour(&tree);
        }
    }
}

/// What `vfs` lists in `directory`, `room` entries at a time.
fn paged(vfs: &Vfs, directory: Ino, room: usize) -> Vec<(String, u64)> {
    let mut paged: Vec<(String, u64)> = Vec::new();
    loop {
        let after = paged.last().map_or(0, |(_, cookie)| *cookie);
        let before = paged.len();
        vfs.list(directory, after, &mut |entry| {
            let fits = paged.len() < before + room;
            if fits {
                paged.push((entry.name.to_owned(), entry.cookie));
            }
            fits
        })
        .unwrap();
        if paged.len() == before {
            return paged;
        }
    }
}

#[test]
fn listings_of_texts_continue_from_any_cookie() {
    let vfs = Vfs::new(Box::new(common::texts::volume()), &Options::default());
    for path in ["", "games", "deleted", "texts", "texts/media"] {
        let mut ino = Ino::ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            ino = vfs.lookup(ino, name.as_bytes()).unwrap().ino;
        }
        let all = paged(&vfs, ino, usize::MAX);
        assert!(all.is_sorted_by_key(|(_, cookie)| *cookie), "{path}");
        for room in [1, 2, 3] {
            assert_eq!(paged(&vfs, ino, room), all, "{path}");
        }
        vfs.list(ino, u64::MAX, &mut |_| panic!("beyond the end"))
            .unwrap();
    }
}

#[test]
fn a_base_without_texts_has_no_directory_for_them() {
    let path = common::fixture("cbh/encodings/encodings.cbh");
    let database = Database::open(&path, &DatabaseOptions::default()).unwrap();
    let volume = DatabaseVolume::new(database, "");
    let tree = Direct(Vfs::new(Box::new(volume), &Options::default()));
    let names: Vec<_> = tree
        .list("")
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["games", "deleted"]);
    assert_eq!(tree.stat("texts"), Err(libc::ENOENT));
    for number in [4, 5, (64 << 32) + 1, 17 << 32] {
        let error = tree.0.attr(Ino(number)).unwrap_err();
        assert_eq!(error.errno(), libc::ENOENT);
    }
}

#[test]
fn a_damaged_text_shows_what_is_left_and_the_others_are_whole() {
    let directory = common::copy_of_base("cbh/texts");
    let moves = directory.path().join("texts.cbg");
    let mut bytes = std::fs::read(&moves).unwrap();
    // The first text: version 9 of the format.
    bytes[26 + 4] = 9;
    std::fs::write(&moves, bytes).unwrap();
    let path = directory.path().join("texts.cbh");
    let database = Database::open(&path, &DatabaseOptions::default()).unwrap();
    let volume = DatabaseVolume::new(database, "");
    let tree = Direct(Vfs::new(Box::new(volume), &Options::default()));
    let names: Vec<_> = tree
        .list("texts")
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names[..2], ["000001.html", "000002.txt"], "and no media");
    let text = String::from_utf8(tree.read("texts/000001.html").unwrap()).unwrap();
    assert!(text.contains(".cbg at 0x1e: version 9 of texts]"), "{text}");
    assert_eq!(
        tree.stat("texts/000001.html").unwrap().size,
        text.len() as u64
    );
}

#[test]
fn a_listing_continues_from_any_cookie() {
    let (vfs, _) = test_vfs(&Options::default());
    let mut all = Vec::new();
    vfs.list(GAMES, 0, &mut |entry| {
        all.push((entry.name.to_owned(), entry.cookie));
        true
    })
    .unwrap();
    assert_eq!(all.len(), 2 + LAST as usize - 1);
    for room in [1, 2, 7] {
        assert_eq!(paged(&vfs, GAMES, room), all);
    }
    vfs.list(GAMES, u64::from(LAST) + 2, &mut |_| {
        panic!("beyond the end")
    })
    .unwrap();
}

#[test]
fn listing_names_renders_nothing() {
    let (vfs, shared) = test_vfs(&Options::default());
    vfs.list(GAMES, 0, &mut |_| true).unwrap();
    vfs.lookup(Ino::ROOT, b"games").unwrap();
    assert_eq!(shared.renderings.load(Relaxed), 0);
}

#[test]
fn a_game_is_rendered_once_for_its_size_and_its_text() {
    let (vfs, shared) = test_vfs(&Options::default());
    let attr = vfs.lookup(GAMES, b"000100.pgn").unwrap();
    assert_eq!(
        vfs.read(attr.ino, 0, u32::MAX).unwrap().len() as u64,
        attr.size
    );
    vfs.attr(attr.ino).unwrap();
    assert_eq!(shared.renderings.load(Relaxed), 1);
}

#[test]
fn the_idle_pass_works_out_what_was_not_asked_for() {
    let (vfs, shared) = test_vfs(&Options::default());
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("fill".to_owned());
        thread.spawn_scoped(scope, || vfs.fill()).unwrap();
        // Beyond the game that panics.
        while shared.renderings.load(Relaxed) < 15 {
            std::thread::yield_now();
        }
        vfs.background().stop();
    });
    let rendered = shared.renderings.load(Relaxed);
    for id in 1..=6 {
        let bytes = vfs.read(Ino::new(1, id), 0, u32::MAX).unwrap();
        assert_eq!(&bytes[..], text_of(id));
    }
    assert_eq!(
        shared.renderings.load(Relaxed),
        rendered,
        "all of these were here"
    );
}

#[test]
fn a_game_that_was_sized_and_is_gone_is_eio() {
    let options = Options { cache_bytes: 0 };
    let (vfs, shared) = test_vfs(&options);
    let one = vfs.lookup(GAMES, b"000001.pgn").unwrap();
    let two = vfs.lookup(GAMES, b"000002.pgn").unwrap();
    shared.is_gone.store(true, Relaxed);
    let error = vfs.read(one.ino, 0, 4096).unwrap_err();
    assert_eq!(error.errno(), libc::EIO);
    assert_eq!(error.to_string(), "test.cbg at 0x1a: game 1 ends early");
    assert_eq!(vfs.attr(two.ino).unwrap().size, two.size);
}

#[test]
fn what_is_cut_away_from_an_open_base_is_eio() {
    // All of it, or what comes after the first game.
    for (file, left, readable) in [
        ("cbh", 46, 0),
        ("cbh", 92, 1),
        ("cbg", 0, 0),
        ("cbp", 32, 0),
        ("cbt", 32, 0),
        ("cbj", 32, 0),
        ("cbj", 32 + 120, 1),
    ] {
        let directory = common::copy_of_base("cbh/sample");
        let path = directory.path().join("sample.cbh");
        let database = Database::open(&path, &DatabaseOptions::default()).unwrap();
        let volume = Box::new(DatabaseVolume::new(database, ""));
        let tree = Direct(Vfs::new(volume, &Options { cache_bytes: 0 }));
        let names = tree.list("games").unwrap();
        let cut = std::fs::File::options()
            .write(true)
            .open(path.with_extension(file));
        cut.unwrap().set_len(left).unwrap();
        let read = |(name, _): &(String, u64)| tree.read(&format!("games/{name}"));
        let texts: Vec<_> = names.iter().map(read).collect();
        assert!(
            texts
                .iter()
                .all(|text| text.is_ok() || *text == Err(libc::EIO))
        );
        let count = texts.iter().filter(|text| text.is_ok()).count();
        assert_eq!(count, readable, "{file} {left}");
    }
}

#[test]
fn nothing_is_at_numbers_that_were_never_given() {
    let (vfs, _) = test_vfs(&Options::default());
    for number in [
        0,
        4,
        63,
        1 << 32,
        (1 << 32) + 301,
        2 << 32,
        (1 << 40) + 1,
        u64::MAX,
    ] {
        assert_eq!(vfs.attr(Ino(number)).unwrap_err().errno(), libc::ENOENT);
        assert_eq!(
            vfs.read(Ino(number), 0, 1).unwrap_err().errno(),
            libc::ENOENT
        );
    }
}

/// Every fixture base, whatever is in it: lists, sizes and texts agree, and no
/// game is in both directories.
#[test]
fn every_fixture_base_is_shown_without_contradiction() {
    let bases = std::fs::read_dir(common::fixture("cbh")).unwrap();
    let mut games = 0;
    for base in bases.map(|base| base.unwrap().path()) {
        let name = base.file_name().unwrap().to_string_lossy().into_owned();
        let headers = base.join(format!("{name}.cbh"));
        if !headers.exists() {
            continue;
        }
        let database = Database::open(&headers, &DatabaseOptions::default()).unwrap();
        let tree = Direct(Vfs::new(
            Box::new(DatabaseVolume::new(database, "")),
            &Options::default(),
        ));
        let listed = tree.list("games").unwrap();
        let deleted = tree.list("deleted").unwrap();
        assert!(
            !listed.iter().any(|entry| deleted.contains(entry)),
            "{name}"
        );
        for (directory, names) in [("games", &listed), ("deleted", &deleted)] {
            for (file, ino) in names {
                let path = format!("{directory}/{file}");
                // Games without a readable header are EIO.
                let Ok(stat) = tree.stat(&path) else {
                    assert_eq!(tree.read(&path), Err(libc::EIO), "{name}: {path}");
                    continue;
                };
                assert_eq!(stat.ino, *ino);
                assert_eq!(
                    stat.size,
                    tree.read(&path).unwrap().len() as u64,
                    "{name}: {path}"
                );
            }
        }
        assert_eq!(tree.0.statistics().files, listed.len() as u64);
        games += listed.len();
    }
    assert!(games > 10, "only {games} games in all fixtures");
}
