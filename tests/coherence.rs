//! Reads during saves, on a real mount: opening a game after a save gives the
//! new text, and no read gives a mixture.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use common::daemon::{Daemon, close, errno, save};

const SAMPLE: &str = "cbh/sample/sample.cbh";

/// Pages of some 4 KiB that a text takes.
const PAGES: usize = 3;

/// The sample, mounted; nothing without FUSE, which is said then.
fn sample() -> Option<Daemon> {
    common::has_fuse().then(|| Daemon::of_fixture(SAMPLE))
}

/// A game of several pages that says at its beginning, in each page and at its
/// end which one it is; two that follow each other are not of one length.
fn marked(serial: u32) -> String {
    let word = format!("k{serial}{} ", "z".repeat(serial as usize % 9));
    let remark = word.repeat(4096 * PAGES / word.len());
    let mut text = String::from("[Event \"Here\"]\n[Site \"There\"]\n[Date \"2024.05.06\"]\n");
    text.push_str("[Round \"3\"]\n[White \"One\"]\n[Black \"Other\"]\n[Result \"1-0\"]\n");
    writeln!(text, "[Annotator \"{}\"]\n", word.trim_end()).unwrap();
    writeln!(text, "1. e4 {{{}}} e5 2. Qh5 1-0", remark.trim_end()).unwrap();
    text
}

/// Which game a text is; panics if it is a part of one, or of several.
fn serial_of(text: &str) -> u32 {
    let mut words = text.split(|sign: char| !sign.is_ascii_alphanumeric());
    let mut serials = Vec::new();
    for word in words.by_ref().filter_map(|word| word.strip_prefix('k')) {
        serials.push(word.trim_end_matches('z').parse::<u32>().unwrap());
    }
    let first = *serials
        .first()
        .unwrap_or_else(|| panic!("no mark: {text:?}"));
    assert!(serials.iter().all(|serial| *serial == first), "a mixture");
    assert!(
        text.trim_end().ends_with("2. Qh5 1-0"),
        "cut: {}",
        text.len()
    );
    let word = format!("k{first}{}", "z".repeat(first as usize % 9));
    assert_eq!(
        serials.len(),
        1 + 4096 * PAGES / (word.len() + 1),
        "a part is gone"
    );
    first
}

fn save_by_rename(game: &Path, text: &str) -> io::Result<()> {
    let temporary = game.with_file_name(".tmp1");
    save(&temporary, text)?;
    fs::rename(&temporary, game)
}

#[test]
fn a_read_after_a_save_is_that_save() {
    type Save = fn(&Path, &str) -> io::Result<()>;
    let Some(daemon) = sample() else { return };
    let game = daemon.game(1);
    save(&game, &marked(0)).unwrap();
    let serial = AtomicU32::new(0);
    for save_as in [save_by_rename as Save, |game, text| save(game, text)] {
        let is_over = AtomicBool::new(false);
        let (reads, failures) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            let reader = || {
                while !is_over.load(SeqCst) {
                    let saved = serial.load(SeqCst);
                    match fs::read_to_string(&game) {
                        Ok(text) => {
                            let read = serial_of(&text);
                            assert!(read >= saved, "{read} was read after {saved} was saved");
                            reads.fetch_add(1, SeqCst);
                        }
                        // It was saved twice while it was opened.
                        Err(error) if error.raw_os_error() == Some(libc::ESTALE) => {
                            failures.fetch_add(1, SeqCst);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            };
            let readers: Vec<_> = (0..3).map(|_| scope.spawn(reader)).collect();
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(4) {
                let next = serial.load(SeqCst) + 1;
                save_as(&game, &marked(next)).unwrap();
                serial.store(next, SeqCst);
                let stat = fs::metadata(&game).unwrap();
                let text = fs::read_to_string(&game).unwrap();
                assert_eq!(serial_of(&text), next, "read back");
                assert_eq!(stat.len(), text.len() as u64);
            }
            is_over.store(true, SeqCst);
            let ended: Vec<_> = readers
                .into_iter()
                .map(thread::ScopedJoinHandle::join)
                .collect();
            assert!(ended.iter().all(Result::is_ok), "a reader panicked");
        });
        let (reads, failures) = (reads.load(SeqCst), failures.load(SeqCst));
        eprintln!(
            "{} saves, {reads} reads, {failures} failed",
            serial.load(SeqCst)
        );
        assert!(reads > 20 && failures * 100 <= reads);
    }
}

#[test]
fn an_open_old_text_can_be_read_to_its_end() {
    let Some(daemon) = sample() else { return };
    let game = daemon.game(1);
    save(&game, &marked(1)).unwrap();
    let number = fs::metadata(&game).unwrap().ino();
    let texts: Vec<_> = (2..=4).map(marked).collect();
    for (serial, text) in (2..).zip(&texts) {
        let before = daemon.text(1);
        let mut open = File::open(&game).unwrap();
        let mut half = vec![0; 5000];
        open.read_exact(&mut half).unwrap();
        if serial == 3 {
            save_by_rename(&game, text).unwrap();
        } else {
            save(&game, text).unwrap();
        }
        let old = open.metadata().unwrap();
        assert_eq!((old.len(), old.ino()), (before.len() as u64, number));
        let now = fs::metadata(&game).unwrap();
        assert_eq!(now.ino(), number, "it is the same game");
        assert_ne!(now.len(), old.len());
        assert_eq!(serial_of(&daemon.text(1)), serial);
        open.read_to_end(&mut half).unwrap();
        assert!(String::from_utf8(half).unwrap() == before);
        open.seek(SeekFrom::Start(0)).unwrap();
        let mut again = String::new();
        open.read_to_string(&mut again).unwrap();
        assert!(again == before, "from the beginning");
        let white = daemon.at("players/One/000001.pgn");
        assert!(fs::read_to_string(&white).unwrap() == daemon.text(1));
        assert_eq!(fs::metadata(white).unwrap().ino(), number);
    }
}

#[test]
fn a_draft_is_invisible_to_others_until_it_is_saved() {
    let Some(daemon) = sample() else { return };
    let game = daemon.game(1);
    save(&game, &marked(1)).unwrap();
    let stored = daemon.text(1);
    let open = || {
        OpenOptions::new()
            .read(true)
            .write(true)
            .truncate(true)
            .open(&game)
            .unwrap()
    };
    let reader = File::open(&game).unwrap();
    let mut draft = open();
    let sees = |text: &str| {
        assert!(daemon.text(1) == text, "opened by its name");
        assert_eq!(fs::metadata(&game).unwrap().len(), text.len() as u64);
    };
    sees(&stored);
    let text = marked(2);
    let (first, rest) = text.split_at(7000);
    draft.write_all(first.as_bytes()).unwrap();
    sees(&stored);
    // Who writes it sees that.
    assert_eq!(draft.metadata().unwrap().len(), 7000);
    draft.seek(SeekFrom::Start(0)).unwrap();
    assert!(io::read_to_string(&mut draft).unwrap() == first);
    draft.write_all(rest.as_bytes()).unwrap();
    sees(&stored);
    close(draft).unwrap();
    let saved = daemon.text(1);
    assert_eq!(serial_of(&saved), 2);
    sees(&saved);
    assert!(io::read_to_string(reader).unwrap() == stored);
    let mut draft = open();
    draft.write_all(b"1. e4 and then").unwrap();
    sees(&saved);
    assert_eq!(errno(close(draft)), Some(libc::EINVAL));
    sees(&saved);
    // It may also be opened by a name that leads to what is open.
    let script = format!("{{ cat > /dev/stdout; }} > {}", game.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let mut input = shell.stdin.take().unwrap();
    input.write_all(marked(3).as_bytes()).unwrap();
    drop(input);
    assert!(shell.wait().unwrap().success());
    assert_eq!(serial_of(&daemon.text(1)), 3);
}
