//! Locks of games, and files reopened by their descriptors, on a real mount.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use common::daemon::{Daemon, close, save};
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The sample, mounted; nothing without FUSE, which is said then.
fn sample() -> Option<Daemon> {
    common::has_fuse().then(|| Daemon::of_fixture("cbh/sample/sample.cbh"))
}

fn to_update(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap()
}

fn is_locked(file: &File) -> bool {
    match file.try_lock() {
        Ok(()) => {
            file.unlock().unwrap();
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(error) => panic!("{error}"),
    }
}

/// Whether a lock ends after its holder was closed. The kernel tells a filesystem
/// of that after `close` has returned.
fn is_unlocked_soon(file: &File) -> bool {
    let begin = Instant::now();
    while is_locked(file) {
        if begin.elapsed() > Duration::from_secs(10) {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// The text of a game with another round.
fn numbered(text: &str, round: u32) -> String {
    let is_other = |line: &&str| !line.starts_with("[Round ");
    let mut lines: Vec<&str> = text.lines().filter(is_other).collect();
    let round = format!("[Round \"{round}\"]");
    lines.insert(1, &round);
    lines.join("\n") + "\n"
}

fn round_of(text: &str) -> u32 {
    let line = text.lines().find_map(|line| line.strip_prefix("[Round \""));
    line.map_or(0, |line| line.trim_end_matches("\"]").parse().unwrap_or(0))
}

#[test]
fn a_lock_excludes_others_whichever_text_they_have_open() {
    let Some(mut daemon) = sample() else { return };
    let (game, text) = (daemon.game(1), daemon.text(1));
    let writer = to_update(&game);
    writer.lock().unwrap();
    let (reader, other) = (File::open(&game).unwrap(), to_update(&game));
    assert!(is_locked(&reader) && is_locked(&other));
    assert!(!is_locked(&File::open(daemon.game(2)).unwrap()));
    // Another text is another file to the kernel.
    save(&game, &numbered(&text, 7)).unwrap();
    let after = File::open(&game).unwrap();
    assert!(is_locked(&after) && is_locked(&to_update(&game)));
    drop(writer);
    for file in [&reader, &other, &after] {
        assert!(is_unlocked_soon(file));
    }
    reader.lock_shared().unwrap();
    after.lock_shared().unwrap();
    assert!(is_locked(&other));
    drop((reader, after, other));
    daemon.end();
}

#[test]
fn two_programs_with_locks_lose_no_saves() {
    let Some(mut daemon) = sample() else { return };
    let (game, text) = (daemon.game(1), daemon.text(1));
    save(&game, &numbered(&text, 1)).unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let lock = File::open(&game).unwrap();
                    lock.lock().unwrap();
                    let text = fs::read_to_string(&game).unwrap();
                    save(&game, &numbered(&text, round_of(&text) + 1)).unwrap();
                }
            });
        }
    });
    assert_eq!(round_of(&daemon.text(1)), 31);
    daemon.end();
}

fn flock(game: &Path) -> Child {
    Command::new("flock").arg(game).arg("true").spawn().unwrap()
}

fn ends_within(child: &mut Child, time: Duration) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < time {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn a_process_waiting_for_a_lock_can_be_killed() {
    let Some(mut daemon) = sample() else { return };
    let game = daemon.game(1);
    let lock = to_update(&game);
    lock.lock().unwrap();
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let mut waiting = flock(&game);
        assert!(!ends_within(&mut waiting, Duration::from_millis(300)));
        kill(Pid::from_raw(waiting.id().cast_signed()), signal).unwrap();
        assert!(
            ends_within(&mut waiting, Duration::from_secs(5)),
            "{signal}"
        );
    }
    let mut waiting = flock(&game);
    assert!(!ends_within(&mut waiting, Duration::from_millis(300)));
    drop(lock);
    assert!(ends_within(&mut waiting, Duration::from_secs(5)));
    daemon.end();
}

#[test]
fn locks_of_both_kinds_exclude_other_programs() {
    let Some(mut daemon) = sample() else { return };
    let game = daemon.game(1);
    let file = to_update(&game);
    let whole = nix::libc::flock {
        l_type: i16::try_from(nix::libc::F_WRLCK).unwrap(),
        l_whence: i16::try_from(nix::libc::SEEK_SET).unwrap(),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_SETLK(&whole)).unwrap();
    file.lock().unwrap();
    file.unlock().unwrap();
    let mut waiting = flock(&game);
    assert!(!ends_within(&mut waiting, Duration::from_millis(300)));
    // A process gives back these locks when it closes the file, once.
    drop(to_update(&game));
    assert!(ends_within(&mut waiting, Duration::from_secs(5)));
    daemon.end();
}

fn descriptor(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[test]
fn an_open_file_can_be_reopened_by_its_descriptor() {
    let Some(mut daemon) = sample() else { return };
    let (game, text) = (daemon.game(1), daemon.text(1));
    let reader = File::open(&game).unwrap();
    save(&game, &numbered(&text, 77)).unwrap();
    // The text that it has open, which the file has no longer.
    assert_eq!(fs::read_to_string(descriptor(&reader)).unwrap(), text);
    let mut writer = to_update(&game);
    let draft = numbered(&text, 78);
    writer.write_all(draft.as_bytes()).unwrap();
    writer.set_len(draft.len() as u64).unwrap();
    assert_eq!(fs::read_to_string(descriptor(&writer)).unwrap(), draft);
    assert_eq!(round_of(&daemon.text(1)), 77);
    let again = to_update(&descriptor(&writer));
    let last = numbered(&text, 79);
    again.write_all_at(last.as_bytes(), 0).unwrap();
    again.set_len(last.len() as u64).unwrap();
    drop(writer);
    close(again).unwrap();
    assert_eq!(round_of(&daemon.text(1)), 79);
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn two_writers_of_one_draft_see_each_others_bytes() {
    let Some(mut daemon) = sample() else { return };
    let (game, text) = (daemon.game(1), numbered(&daemon.text(1), 80));
    let half = text.len() / 2;
    let options = |truncate| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).truncate(truncate).clone()
    };
    let mut first = options(true).open(&game).unwrap();
    let second = options(false).open(&game).unwrap();
    let is_read = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Others read what is stored.
            assert_ne!(round_of(&fs::read_to_string(&game).unwrap()), 80);
            is_read.store(true, SeqCst);
        });
    });
    assert!(is_read.load(SeqCst));
    first.write_all(&text.as_bytes()[..half]).unwrap();
    let mut seen = vec![0; text.len()];
    assert_eq!(second.read_at(&mut seen, 0).unwrap(), half);
    second
        .write_all_at(&text.as_bytes()[half..], half as u64)
        .unwrap();
    let mut rest = Vec::new();
    first.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, &text.as_bytes()[half..]);
    assert_eq!(first.metadata().unwrap().len(), text.len() as u64);
    close(first).unwrap();
    close(second).unwrap();
    let stored = daemon.text(1);
    assert_eq!(round_of(&stored), 80);
    assert_eq!(stored.lines().count(), text.lines().count());
    assert_eq!(stored.lines().last(), text.lines().last());
    daemon.end();
}
