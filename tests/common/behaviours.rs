//! The behaviour of a mount of [`TestVolume`], checked on a `Vfs` by
//! `tests/vfs.rs` and on a real mount by `tests/mount.rs`.
//!
//! [`TestVolume`]: super::volume::TestVolume

use std::collections::BTreeSet;
use std::thread;

use super::volume::{DAMAGED, EMPTY, GAP, LAST, LONG, PANICS, TOGETHER, text_of};

/// Attributes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub ino: u64,
    pub size: u64,
    pub links: u64,
    pub is_directory: bool,
    pub mtime: u64,
}

/// Errors are errno values.
pub type Answer<T> = Result<T, i32>;

/// A tree of files to be tested.
pub trait Tree: Sync {
    fn list(&self, path: &str) -> Answer<Vec<(String, u64)>>;
    fn stat(&self, path: &str) -> Answer<Stat>;
    fn read(&self, path: &str) -> Answer<Vec<u8>>;
    fn read_at(&self, path: &str, offset: u64, length: u32) -> Answer<Vec<u8>>;
}

pub type Behaviour = (&'static str, fn(&dyn Tree));

pub const BEHAVIOURS: &[Behaviour] = &[
    (
        "the root lists its directories",
        the_root_lists_its_directories,
    ),
    (
        "four readers never wait for one another",
        four_readers_never_wait,
    ),
    (
        "a damaged game is EIO and the others are not",
        a_damaged_game_is_eio,
    ),
    ("a game whose reading panics is EIO", a_panic_is_eio),
    (
        "every game is listed once in order",
        every_game_is_listed_once,
    ),
    (
        "each listed name can be looked up and has its number",
        listed_names_are_there,
    ),
    ("only listed names can be looked up", other_names_are_not),
    ("the size is exact before the first read", sizes_are_exact),
    ("any part of a game can be read", any_part_can_be_read),
    (
        "a file is no directory and a directory no file",
        kinds_are_told_apart,
    ),
    ("times and links are those of the game", times_and_links),
];

pub fn path(id: u32) -> String {
    format!("games/{id:06}.pgn")
}

fn readable() -> impl Iterator<Item = u32> {
    (1..=LAST).filter(|id| ![GAP, DAMAGED, PANICS].contains(id))
}

fn the_root_lists_its_directories(tree: &dyn Tree) {
    let names: Vec<_> = tree
        .list("")
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["games", ".cbfs"]);
    assert!(tree.stat("").unwrap().is_directory);
    assert_eq!(tree.stat("").unwrap().ino, 1);
}

fn four_readers_never_wait(tree: &dyn Tree) {
    // Rendering each of these ends only when all of them have begun.
    thread::scope(|scope| {
        for id in TOGETHER {
            scope.spawn(move || assert_eq!(tree.read(&path(id)), Ok(text_of(id))));
        }
    });
}

fn a_damaged_game_is_eio(tree: &dyn Tree) {
    for _ in 0..2 {
        assert_eq!(tree.read(&path(DAMAGED)), Err(libc::EIO));
        assert_eq!(tree.read(&path(DAMAGED + 1)), Ok(text_of(DAMAGED + 1)));
    }
}

fn a_panic_is_eio(tree: &dyn Tree) {
    for _ in 0..10 {
        assert_eq!(tree.read(&path(PANICS)), Err(libc::EIO));
    }
    assert_eq!(tree.read(&path(PANICS + 1)), Ok(text_of(PANICS + 1)));
}

fn every_game_is_listed_once(tree: &dyn Tree) {
    let expected: Vec<_> = (1..=LAST)
        .filter(|id| *id != GAP)
        .map(|id| format!("{id:06}.pgn"))
        .collect();
    for _ in 0..2 {
        let names: Vec<_> = tree
            .list("games")
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, expected);
    }
}

fn listed_names_are_there(tree: &dyn Tree) {
    let mut numbers = BTreeSet::new();
    for (name, ino) in tree.list("games").unwrap() {
        assert!(numbers.insert(ino), "{name}: {ino} twice");
        assert!(ino < 1 << 53);
        if name != format!("{DAMAGED:06}.pgn") && name != format!("{PANICS:06}.pgn") {
            assert_eq!(tree.stat(&format!("games/{name}")).unwrap().ino, ino);
        }
    }
}

fn other_names_are_not(tree: &dyn Tree) {
    for name in [
        "1.pgn",
        "000007.pgn",
        "000301.pgn",
        "000000.pgn",
        "000001.PGN",
        "x",
        "0000001.pgn",
    ] {
        for _ in 0..2 {
            assert_eq!(
                tree.stat(&format!("games/{name}")),
                Err(libc::ENOENT),
                "{name}"
            );
        }
    }
    assert_eq!(tree.stat("games2"), Err(libc::ENOENT));
    assert_eq!(tree.stat("games/000001.pgn/x"), Err(libc::ENOTDIR));
}

fn sizes_are_exact(tree: &dyn Tree) {
    for id in readable() {
        let before = tree.stat(&path(id)).unwrap();
        let text = tree.read(&path(id)).unwrap();
        assert_eq!(text, text_of(id));
        assert_eq!(before.size, text.len() as u64, "game {id}");
        assert_eq!(tree.stat(&path(id)).unwrap(), before);
    }
    assert_eq!(tree.stat(&path(EMPTY)).unwrap().size, 0);
}

fn any_part_can_be_read(tree: &dyn Tree) {
    let all = text_of(LONG);
    let end = all.len() as u64;
    for (offset, length) in [
        (0, 1),
        (4095, 2),
        (131_071, 4096),
        (end - 3, 3),
        (end - 3, 100),
        (end, 1),
        (end + 5000, 10),
    ] {
        let from = usize::try_from(offset.min(end)).unwrap();
        let to = (from + length as usize).min(all.len());
        assert_eq!(
            tree.read_at(&path(LONG), offset, length).unwrap(),
            &all[from..to]
        );
    }
}

fn kinds_are_told_apart(tree: &dyn Tree) {
    assert_eq!(tree.list(&path(1)), Err(libc::ENOTDIR));
    assert_eq!(tree.read("games"), Err(libc::EISDIR));
    assert!(!tree.stat(&path(1)).unwrap().is_directory);
}

fn times_and_links(tree: &dyn Tree) {
    let stat = tree.stat(&path(5)).unwrap();
    assert_eq!((stat.mtime, stat.links), (1_000_000_005, 1));
    assert_eq!(tree.stat("").unwrap().links, 4);
    assert_eq!(tree.stat("games").unwrap().links, 2);
}
