//! What `src/lib.rs` says of locks and of states of a base.

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

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use cbfs::vfs::{Access, Ino, Options, Vfs};
use common::mounted::{Changing, LONG, SOON, text};

const GAMES: Ino = Ino(2);

fn file(id: u32) -> Ino {
    Ino::new(1, id)
}

/// All that a kernel asks for, but the text of file 3.
fn ask_for_everything_else(vfs: &Vfs, changing: &Changing) {
    for id in (1..=9).filter(|id| *id != 3) {
        assert!(!vfs.read(file(id), 0, 100).unwrap().is_empty());
    }
    vfs.list_with_attrs(GAMES, 0, &mut |_, attr| attr.unwrap().is_ok())
        .unwrap();
    assert!(vfs.lookup(GAMES, b"3").unwrap().size > 0);
    assert!(vfs.attr(file(3)).unwrap().size > 0);
    let status = vfs.lookup(Ino::ROOT, b".cbfs").unwrap();
    let status = vfs.lookup(status.ino, b"status").unwrap();
    assert!(!vfs.read(status.ino, 0, 100).unwrap().is_empty());
    let handle = vfs.drafts().open_file(file(4), Access::READ).unwrap();
    assert!(!vfs.drafts().read_open(handle, 0, 100).unwrap().is_empty());
    vfs.drafts().release(handle);
    vfs.statistics();
    changing.change();
    vfs.refresh();
    assert!(vfs.lookup(GAMES, b"4").unwrap().size > 0);
}

/// Invariant 4.
#[test]
fn no_lock_is_held_while_a_text_is_rendered_to_be_read() {
    let changing = &Changing::new(false);
    let options = Options {
        cache_bytes: 0,
        ..Options::default()
    };
    let vfs = &Vfs::open(Box::new(changing.clone()), &options).unwrap();
    // All lengths are known, and no text but the last is kept.
    for id in 1..=9 {
        vfs.read(file(id), 0, 10).unwrap();
    }
    changing.gate.shut(Some(3));
    thread::scope(|scope| {
        let reader = scope.spawn(|| vfs.read(file(3), 0, 10));
        let is_held_up = changing.gate.holds_one_soon();
        let (tell, done) = mpsc::channel();
        scope.spawn(move || {
            ask_for_everything_else(vfs, changing);
            tell.send(()).unwrap();
        });
        let answered = done.recv_timeout(10 * SOON);
        changing.gate.shut(None);
        assert!(is_held_up, "it was not rendered");
        assert!(
            answered.is_ok(),
            "a request waits for a text that is not its own"
        );
        assert_eq!(&*reader.join().unwrap().unwrap(), b"version 1\n");
    });
}

/// Invariant 5, of a listing: all lengths in it are those of one state.
fn check_listing(vfs: &Vfs) {
    let mut sizes = Vec::new();
    vfs.list_with_attrs(GAMES, 2, &mut |entry, attr| {
        let id = entry.node.ino.index();
        if id % 2 == 1 && id != LONG {
            sizes.push(attr.unwrap().unwrap().size);
        }
        true
    })
    .unwrap();
    // The last file is there in every other state.
    assert!((3..=4).contains(&sizes.len()), "{sizes:?}");
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
}

/// Reads a file piece by piece; gives whether it stayed there to its end.
fn check_reading(vfs: &Vfs, id: u32) -> bool {
    let piece = if id == LONG { 30_000 } else { 50 };
    let told = vfs.lookup(GAMES, id.to_string().as_bytes()).unwrap();
    let mut all = Vec::new();
    while (all.len() as u64) < told.size {
        match vfs.read(told.ino, all.len() as u64, piece) {
            Ok(bytes) if bytes.is_empty() => panic!("{id}: shorter than was told"),
            Ok(bytes) => all.extend_from_slice(&bytes),
            Err(error) => {
                assert_eq!(error.errno(), libc::ESTALE, "{id}: {error}");
                return false;
            }
        }
        thread::yield_now();
    }
    let all = String::from_utf8(all).unwrap();
    let version = all.lines().next().unwrap().split(' ').nth(1).unwrap();
    assert!(all == text(id, version.parse().unwrap()), "{id}: a mixture");
    assert_eq!(all.len() as u64, told.size);
    true
}

/// Invariant 5.
#[test]
fn a_request_is_of_one_state_and_a_file_of_one_content_while_the_base_changes() {
    let changing = &Changing::new(false);
    // What a listing tells of a file is what is read of it from then on.
    let (vfs, listed) = (&changing.vfs(), &changing.vfs());
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let readers = [1, 3, 5, LONG].map(|id| {
            scope.spawn(move || {
                let mut whole = 0;
                while whole < 4 && !is_over.load(SeqCst) {
                    whole += usize::from(check_reading(vfs, id));
                }
                whole
            })
        });
        let lister = scope.spawn(|| {
            while !is_over.load(SeqCst) {
                check_listing(listed);
            }
        });
        let start = Instant::now();
        // A machine that has much else to do takes longer.
        while !readers.iter().all(thread::ScopedJoinHandle::is_finished)
            && start.elapsed() < 30 * SOON
        {
            changing.change();
            vfs.refresh();
            listed.refresh();
            thread::sleep(Duration::from_millis(20));
        }
        is_over.store(true, SeqCst);
        lister.join().unwrap();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), 4, "files read to their end");
        }
    });
}
