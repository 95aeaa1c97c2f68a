//! A killed daemon loses no save that it has confirmed.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::daemon::{Daemon, save, with_tag};

const GAMES: u32 = 13;
const WRITERS: u32 = 3;

/// How often the daemon is killed, if `CBFS_KILLS` does not say.
const KILLS: u64 = 200;

/// A generator of numbers that are good enough to choose by.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What a game may say: the last save that was confirmed, and the one that
/// was begun after it.
#[derive(Clone, Debug, Default)]
struct Saves {
    confirmed: Option<String>,
    begun: Option<String>,
}

type Book = Arc<Mutex<BTreeMap<u32, Saves>>>;

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Saves games until the daemon is gone; each game has one writer.
fn write(game: &std::path::Path, number: u32, mark: &str, saves: &Book) -> bool {
    let Ok(text) = std::fs::read_to_string(game) else {
        return false;
    };
    saves.lock().unwrap().entry(number).or_default().begun = Some(mark.to_owned());
    if save(game, &with_tag(&text, "Annotator", mark)).is_err() {
        return false;
    }
    let mut saves = saves.lock().unwrap();
    let entry = saves.entry(number).or_default();
    entry.confirmed = entry.begun.take();
    true
}

/// Lets writers work until so many saves are confirmed, and kills the daemon
/// amid the next ones.
fn kill_amid_saves(
    daemon: &mut Daemon,
    round: u64,
    wanted: u64,
    pause: Duration,
    book: &Book,
) -> u64 {
    let confirmed = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let games: Vec<_> = (1..=GAMES).map(|number| daemon.game(number)).collect();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (games, confirmed, is_over) = (&games, &confirmed, &is_over);
            scope.spawn(move || {
                for step in 0.. {
                    let own: Vec<u32> = (1..=GAMES).filter(|n| n % WRITERS == writer).collect();
                    let number = own[step % own.len()];
                    let mark = format!("{round}-{writer}-{step}");
                    if is_over.load(SeqCst)
                        || !write(&games[number as usize - 1], number, &mark, book)
                    {
                        return;
                    }
                    confirmed.fetch_add(1, SeqCst);
                }
            });
        }
        for _ in 0..60_000 {
            if confirmed.load(SeqCst) >= wanted {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(pause);
        daemon.kill();
        is_over.store(true, SeqCst);
    });
    confirmed.into_inner()
}

fn annotator(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("[Annotator "))?;
    line.split('"').nth(1).map(str::to_owned)
}

fn without_annotator(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .filter(|line| !line.starts_with("[Annotator "))
        .collect()
}

#[test]
fn a_daemon_killed_during_saves_loses_no_confirmed_one() {
    if !common::has_fuse() {
        return;
    }
    let kills = variable("CBFS_KILLS", KILLS);
    let seed = variable("CBFS_SEED", u64::from(std::process::id()));
    println!("seed {seed}");
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut daemon = Daemon::of_fixture("cbh/sample/sample.cbh");
    let before: Vec<String> = (1..=GAMES).map(|number| daemon.text(number)).collect();
    let book = Book::default();
    for (number, text) in (1..=GAMES).zip(&before) {
        let confirmed = annotator(text);
        let begun = None;
        book.lock()
            .unwrap()
            .insert(number, Saves { confirmed, begun });
    }
    let mut confirmed = 0;
    for round in 0..kills {
        let wanted = chance.below(60);
        let pause = Duration::from_micros(chance.below(3000));
        confirmed += kill_amid_saves(&mut daemon, round, wanted, pause, &book);
        if chance.below(2) == 0 {
            // Whoever looks first brings the base to a whole state.
            daemon.assert_sound();
        }
        daemon.start(&["rw"]);
        for number in 1..=GAMES {
            let text = daemon.text(number);
            let found = annotator(&text);
            let mut book = book.lock().unwrap();
            let saves = book.entry(number).or_default();
            let is_one = found == saves.confirmed || (found.is_some() && found == saves.begun);
            assert!(
                is_one,
                "round {round}, game {number}: {found:?} is none of {saves:?}"
            );
            let original = &before[number as usize - 1];
            assert_eq!(
                without_annotator(&text),
                without_annotator(original),
                "game {number}"
            );
            *saves = Saves {
                confirmed: found,
                begun: None,
            };
        }
    }
    daemon.end();
    daemon.assert_sound();
    println!("{kills} kills, {confirmed} confirmed saves");
}
