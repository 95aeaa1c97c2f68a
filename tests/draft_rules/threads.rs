//! Saves by many threads: each is complete, no confirmed one is lost, and each
//! game ends with the text that was saved last.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

use crate::mock::*;
use cbfs::vfs::{Access, Ino};

/// Threads that write, and games that each of them has alone.
const WRITERS: usize = 6;

/// Saves of each thread.
const SAVES: usize = 150;

/// The game that all of them write.
const COMMON: usize = WRITERS;

/// How a text is saved.
#[derive(Clone, Copy, Debug)]
enum Way {
    InPlace,
    Renamed,
    BackedUp,
    Recreated,
    ThroughPlayer,
}

const WAYS: [Way; 5] = [
    Way::InPlace,
    Way::Renamed,
    Way::BackedUp,
    Way::Recreated,
    Way::ThroughPlayer,
];

fn name(place: usize) -> String {
    format!("{:06}.pgn", place + 1)
}

/// A text that nobody else saves, as long as all others; it is `X`'s.
fn text(writer: usize, save: usize) -> String {
    format!("X by {writer:02} number {save:04} *\n")
}

fn save(mount: &Mount, writer: usize, game: &str, way: Way, text: &str) -> Answer<()> {
    let temporary = format!(".{writer}.tmp");
    match way {
        Way::InPlace => mount.write(GAMES, game, text),
        Way::Renamed => rename_over(mount, GAMES, &temporary, game, text),
        Way::BackedUp => {
            let backup = format!("{game}~{writer}");
            mount.rename((GAMES, game), (GAMES, &backup))?;
            let written = mount.write(GAMES, game, text);
            mount.unlink(GAMES, &backup)?;
            written
        }
        Way::Recreated => {
            mount.unlink(GAMES, game)?;
            mount.write(GAMES, game, text)
        }
        Way::ThroughPlayer => rename_over(mount, PLAYER, &temporary, game, text),
    }
}

fn rename_over(mount: &Mount, at: Ino, temporary: &str, game: &str, text: &str) -> Answer<()> {
    mount.write(at, temporary, text)?;
    mount.rename((at, temporary), (at, game))
}

/// What a reader gets; nothing where the file is being made anew.
fn read(mount: &Mount, directory: Ino, name: &str) -> Option<String> {
    let attr = mount.lookup(directory, name).ok()?;
    let handle = mount.vfs.drafts().open_file(attr.ino, Access::READ).ok()?;
    let bytes = mount.vfs.drafts().read_open(handle, 0, 1 << 20);
    mount.vfs.drafts().release(handle);
    let bytes = bytes.ok()?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

/// Saves of the game that is everybody's: each with the times when it began
/// and when it was confirmed.
#[derive(Debug, Default)]
struct Race {
    clock: AtomicU64,
    saves: Mutex<Vec<(u64, u64, String)>>,
}

impl Race {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, SeqCst)
    }

    /// Sees that no save was begun after this one had been confirmed: else
    /// that one would be the last.
    fn assert_last(&self, text: &str) {
        let saves = self.saves.lock().unwrap();
        let found = saves.iter().find(|(_, _, saved)| saved == text);
        let (_, confirmed, _) = found.unwrap_or_else(|| panic!("nobody saved {text:?}"));
        let later = saves.iter().find(|(begun, ..)| begun > confirmed);
        assert_eq!(later, None, "it was saved after {text:?}");
    }
}

/// As when two processes that have a file open close it at once.
fn write_and_flush_twice(mount: &Mount, directory: Ino, name: &str, text: &str) {
    let handle = mount.create(directory, name, true).unwrap();
    mount.put(handle, 0, text);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| mount.vfs.drafts().flush(handle).unwrap());
        }
    });
    mount.vfs.drafts().release(handle);
}

fn write_for_a_while(mount: &Mount, writer: usize, race: &Race, appended: &AtomicU64) {
    let own = name(writer);
    for number in 0..SAVES {
        let way = WAYS[(number + writer) % WAYS.len()];
        let written = text(writer, number);
        save(mount, writer, &own, way, &written).unwrap();
        for directory in [GAMES, PLAYER] {
            let found = read(mount, directory, &own);
            assert_eq!(found.as_ref(), Some(&written), "{way:?}");
        }
        // Nobody's file may be missing while another takes its place.
        let way = [Way::InPlace, Way::Renamed, Way::ThroughPlayer][(number + writer) % 3];
        let begun = race.now();
        match save(mount, writer, &name(COMMON), way, &written) {
            Ok(()) => {
                let save = (begun, race.now(), written);
                race.saves.lock().unwrap().push(save);
            }
            // It was replaced while it was written.
            Err(errno) => assert_eq!(errno, libc::EINVAL, "{way:?}"),
        }
        if number % 10 == 0 {
            let new = format!("new {writer} {number}.pgn");
            write_and_flush_twice(mount, GAMES, &new, &format!("{new} *"));
            let import = format!("two {writer} {number}.pgn");
            write_and_flush_twice(mount, IMPORT, &import, &format!("{import} * and *"));
            appended.fetch_add(3, SeqCst);
        }
    }
}

/// Reads whatever there is; a text is one that somebody saved, or one that
/// is just begun.
fn read_for_a_while(mount: &Mount, is_over: &AtomicBool) {
    let known: HashSet<String> = (0..WRITERS)
        .flat_map(|writer| (0..SAVES).map(move |save| text(writer, save)))
        .chain(["first X *\n".to_owned(), String::new()])
        .collect();
    while !is_over.load(SeqCst) {
        for place in 0..=COMMON {
            for directory in [GAMES, PLAYER] {
                if let Some(text) = read(mount, directory, &name(place)) {
                    assert!(known.contains(&text), "a mixture: {text:?}");
                }
            }
        }
        let mut names = HashSet::new();
        let listed = mount.vfs.list(GAMES, 2, &mut |entry| {
            assert!(names.insert(entry.name.to_owned()), "{} twice", entry.name);
            true
        });
        listed.unwrap();
    }
}

#[test]
fn concurrent_saves_of_many_threads_are_all_stored() {
    let mount = mount_of(&["first X *\n"; COMMON + 1]);
    let (race, appended) = (Race::default(), AtomicU64::new(0));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (mount, race, appended, is_over) = (&mount, &race, &appended, &is_over);
        for _ in 0..2 {
            scope.spawn(|| read_for_a_while(mount, is_over));
        }
        let write = |writer| move || write_for_a_while(mount, writer, race, appended);
        let writers: Vec<_> = (0..WRITERS).map(|w| scope.spawn(write(w))).collect();
        let ends: Vec<_> = writers
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        is_over.store(true, SeqCst);
        for end in ends {
            end.unwrap();
        }
    });
    let games = mount.games();
    for (writer, game) in games.iter().enumerate().take(WRITERS) {
        assert_eq!(*game, text(writer, SAVES - 1).trim());
    }
    race.assert_last(&format!("{}\n", games[COMMON]));
    assert_eq!(
        (games.len() - COMMON - 1) as u64,
        appended.load(SeqCst),
        "each new game is there once"
    );
    // Nothing is left on the desk but the names of the new games.
    let left = mount.list(GAMES).into_iter();
    let left: Vec<_> = left
        .filter(|name| name.starts_with('.') || name.contains('~'))
        .collect();
    assert_eq!(left, [""; 0]);
    assert_eq!(
        read(&mount, GAMES, &name(COMMON)).unwrap().trim(),
        games[COMMON]
    );
    mount.vfs.drafts().end().unwrap();
    assert_eq!(mount.games(), games);
}
