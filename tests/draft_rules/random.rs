//! No sequence of requests loses a game.

use std::collections::HashSet;

use proptest::prelude::*;

use crate::mock::*;
use cbfs::vfs::{Access, Error, Handle, Ino, RenameMode};

const NAMES: [&str; 9] = [
    "000001.pgn",
    "000002.pgn",
    "000003.pgn",
    "000004.pgn",
    "new.pgn",
    "tmp",
    "000001.pgn~",
    ".x.pgn",
    "new.pgn.log",
];
const DIRECTORIES: [Ino; 5] = [GAMES, GAMES, PLAYER, IMPORT, DELETED];
const TEXTS: [&str; 7] = ["one *", "X two *", "no end", " *", "", "a * b *", "x\n"];

#[derive(Clone, Debug)]
enum Step {
    Open(usize, usize, Access),
    Create(usize, usize),
    Write(usize, u64, usize),
    Truncate(usize, u64),
    Flush(usize),
    Fsync(usize),
    Release(usize),
    Close(usize),
    Rename((usize, usize), (usize, usize), bool),
    Unlink(usize, usize),
    Link(u32, usize, usize),
    Cut(usize, usize, u64),
    Fail(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (0..DIRECTORIES.len(), 0..NAMES.len());
    let access = (any::<bool>(), any::<bool>()).prop_map(|(truncate, append)| Access {
        truncate,
        append,
        ..UPDATE
    });
    prop_oneof![
        4 => (place(), access).prop_map(|((d, n), access)| Step::Open(d, n, access)),
        2 => place().prop_map(|(d, n)| Step::Create(d, n)),
        6 => (0..4_usize, 0..12_u64, 0..TEXTS.len()).prop_map(|(h, o, t)| Step::Write(h, o, t)),
        1 => (0..4_usize, 0..12_u64).prop_map(|(h, l)| Step::Truncate(h, l)),
        3 => (0..4_usize).prop_map(Step::Flush),
        1 => (0..4_usize).prop_map(Step::Fsync),
        1 => (0..4_usize).prop_map(Step::Release),
        3 => (0..4_usize).prop_map(Step::Close),
        4 => (place(), place(), any::<bool>()).prop_map(|(a, b, n)| Step::Rename(a, b, n)),
        2 => place().prop_map(|(d, n)| Step::Unlink(d, n)),
        1 => (1..6_u32, 0..DIRECTORIES.len(), 0..NAMES.len())
            .prop_map(|(g, d, n)| Step::Link(g, d, n)),
        1 => (place(), 0..12_u64).prop_map(|((d, n), l)| Step::Cut(d, n, l)),
        1 => any::<bool>().prop_map(Step::Fail),
    ]
}

/// A mount, what is open, and all texts that somebody saved.
struct World {
    mount: Mount,
    open: Vec<Handle>,
    offered: HashSet<String>,
}

impl World {
    fn new() -> World {
        let mount = mount();
        let texts = mount.stored.lock().unwrap().games.clone();
        World {
            mount,
            open: Vec::new(),
            offered: texts.into_iter().map(|game| game.text).collect(),
        }
    }

    fn handle(&self, place: usize) -> Option<Handle> {
        self.open.get(place % self.open.len().max(1)).copied()
    }

    /// Notes that a text may be saved now.
    fn offer(&mut self, text: &str) {
        for text in text.trim().split_inclusive('*').chain([text]) {
            self.offered.extend(parse(text));
        }
    }

    fn offer_open(&mut self, handle: Handle) {
        let bytes = self.mount.vfs.drafts().read_open(handle, 0, 1 << 20);
        if let Ok(bytes) = bytes {
            self.offer(&String::from_utf8_lossy(&bytes));
        }
    }

    /// Does it; gives whether it may change the text of a game.
    fn run(&mut self, step: &Step) -> bool {
        match *step {
            Step::Open(d, n, access) => {
                let opened = self.mount.open(DIRECTORIES[d], NAMES[n], access);
                self.open.extend(opened);
                false
            }
            Step::Create(d, n) => {
                let made = self.mount.create(DIRECTORIES[d], NAMES[n], true);
                self.open.extend(made);
                false
            }
            Step::Write(h, offset, text) => {
                let text = TEXTS[text].as_bytes();
                let handle = self.handle(h);
                let written = handle.map(|h| self.mount.vfs.drafts().write(h, offset, text));
                assert!(!matches!(written, Some(Err(Error::Panicked(_)))));
                false
            }
            Step::Truncate(h, length) => {
                if let Some(handle) = self.handle(h) {
                    let _ = self
                        .mount
                        .vfs
                        .drafts()
                        .truncate(game(1), Some(handle), length);
                }
                false
            }
            Step::Flush(h) | Step::Fsync(h) | Step::Close(h) | Step::Release(h) => {
                let Some(handle) = self.handle(h) else {
                    return false;
                };
                self.offer_open(handle);
                if !matches!(step, Step::Release(_)) {
                    let _ = self.mount.vfs.drafts().flush(handle);
                }
                if let Step::Fsync(_) = step {
                    let _ = self.mount.vfs.drafts().fsync(game(1), Some(handle));
                }
                if matches!(step, Step::Release(_) | Step::Close(_)) {
                    self.mount.vfs.drafts().release(handle);
                    self.open.retain(|open| *open != handle);
                }
                !matches!(step, Step::Release(_))
            }
            Step::Rename((d, n), (e, m), is_careful) => {
                if let Ok(text) = self.mount.read(DIRECTORIES[d], NAMES[n]) {
                    self.offer(&text);
                }
                let mode = if is_careful {
                    RenameMode::NoReplace
                } else {
                    RenameMode::Plain
                };
                let names = (NAMES[n].as_bytes(), NAMES[m].as_bytes());
                let vfs = &self.mount.vfs;
                let _ = vfs
                    .drafts()
                    .rename(DIRECTORIES[d], names.0, DIRECTORIES[e], names.1, mode);
                true
            }
            Step::Unlink(d, n) => {
                let _ = self.mount.unlink(DIRECTORIES[d], NAMES[n]);
                false
            }
            Step::Link(number, d, n) => {
                let name = NAMES[n].as_bytes();
                let _ = self
                    .mount
                    .vfs
                    .drafts()
                    .link(game(number), DIRECTORIES[d], name);
                false
            }
            Step::Cut(d, n, length) => {
                let (directory, name) = (DIRECTORIES[d], NAMES[n]);
                if let Ok(text) = self.mount.read(directory, name) {
                    let end = usize::try_from(length).unwrap().min(text.len());
                    self.offer(text.get(..end).unwrap());
                }
                if let Ok(attr) = self.mount.lookup(directory, name) {
                    let _ = self.mount.vfs.drafts().truncate(attr.ino, None, length);
                }
                true
            }
            Step::Fail(is_full) => {
                self.mount.stored.lock().unwrap().is_full = is_full;
                false
            }
        }
    }

    fn texts(&self) -> Vec<String> {
        let stored = self.mount.stored.lock().unwrap();
        stored.games.iter().map(|game| game.text.clone()).collect()
    }

    fn check(&self) {
        for text in self.texts() {
            assert!(self.offered.contains(&text), "nobody saved {text:?}");
        }
        assert!(self.texts().len() >= 3, "a game went");
        for directory in [
            GAMES,
            PLAYER,
            IMPORT,
            DELETED,
            self.mount.rejected_directory(),
        ] {
            for name in self.mount.list(directory) {
                self.mount.read(directory, &name).unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn every_stored_text_was_saved_by_some_program(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut world = World::new();
        for step in &steps {
            let before = world.texts();
            let may_change = world.run(step);
            assert!(may_change || before == world.texts(), "{step:?} changed a game");
            world.check();
        }
        let before = world.texts();
        world.mount.vfs.drafts().end().unwrap();
        assert!(world.mount.vfs.drafts().create(GAMES, b"x", UPDATE, false).is_err());
        for handle in std::mem::take(&mut world.open) {
            world.mount.vfs.drafts().release(handle);
        }
        prop_assert_eq!(before, world.texts());
        world.check();
    }

    /// What is not deleted is listed under its number, unless it was renamed
    /// away, once nobody writes any more.
    #[test]
    fn each_game_is_shown_after_all_requests(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut world = World::new();
        for step in &steps {
            world.run(step);
        }
        world.mount.stored.lock().unwrap().is_full = false;
        for handle in std::mem::take(&mut world.open) {
            let _ = world.mount.close(handle);
        }
        for name in ["tmp", "000001.pgn~", ".x.pgn", "new.pgn.log"] {
            for directory in [GAMES, PLAYER, IMPORT] {
                let _ = world.mount.unlink(directory, name);
            }
        }
        let games = world.mount.stored.lock().unwrap().games.clone();
        let listed = world.mount.list(GAMES);
        for (number, game) in (1..).zip(&games) {
            let name = format!("{number:06}.pgn");
            prop_assert_eq!(listed.contains(&name), !game.is_deleted, "{}: {:?}", name, listed);
            if !game.is_deleted {
                prop_assert_eq!(&world.mount.read(GAMES, &name).unwrap(), &game.text);
            }
        }
    }
}
