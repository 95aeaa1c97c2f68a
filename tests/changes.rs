//! Changes of a mounted base are shown: on a `Vfs`, and on a real mount with
//! the caches of the kernel.

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

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use cbfs::fuse::ReadDirPlus;
use cbfs::vfs::{Ino, Vfs};
use common::mounted::{Changing, LONG, Mount, SOON, open, text};

const GAMES: Ino = Ino(2);

fn read(vfs: &Vfs, ino: Ino) -> String {
    let bytes = vfs.read(ino, 0, u32::MAX).unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_changed_base_is_shown_from_the_next_lookup_on() {
    let changing = Changing::new(false);
    let vfs = changing.vfs();
    let before = vfs.lookup(GAMES, b"3").unwrap();
    let same = vfs.lookup(GAMES, b"4").unwrap();
    assert!(vfs.refresh().directories.is_empty(), "nothing changed");
    changing.change();
    let changes = vfs.refresh();
    assert!(changes.directories.is_empty(), "nobody saw a directory");
    // Who was told of the old content still gets that.
    assert_eq!(read(&vfs, before.ino), text(3, 1));
    assert_eq!(vfs.attr(before.ino).unwrap(), before);
    let after = vfs.lookup(GAMES, b"3").unwrap();
    assert_eq!(after.ino, before.ino);
    assert_ne!(after.generation, before.generation);
    assert_eq!(after.size, text(3, 2).len() as u64);
    assert_eq!(read(&vfs, before.ino), text(3, 2));
    assert_eq!(vfs.lookup(GAMES, b"4").unwrap(), same);
}

#[test]
fn names_are_invalidated_when_a_lookup_returns_too_late() {
    let changing = Changing::new(false);
    let vfs = changing.vfs();
    let before = vfs.lookup(GAMES, b"3").unwrap();
    changing.change();
    assert_eq!(vfs.refresh().names, Some(vec![(GAMES, b"3"[..].into())]));
    // As a look-up does that began before the change and took long.
    for _ in 0..100 {
        vfs.refresh();
    }
    vfs.lookup(GAMES, b"4").unwrap();
    assert_eq!(vfs.refresh().names, Some(Vec::new()));
    let late = vfs.read(before.ino, 0, 100).unwrap_err();
    assert_eq!(late.errno(), libc::ESTALE);
    assert_eq!(vfs.refresh().names, Some(vec![(GAMES, b"4"[..].into())]));
    assert_eq!(vfs.refresh().names, Some(Vec::new()));
}

#[test]
fn listed_directories_are_invalidated() {
    let changing = Changing::new(false);
    let vfs = changing.vfs();
    vfs.lookup(Ino::ROOT, b"games").unwrap();
    vfs.list(Ino::ROOT, 0, &mut |_| true).unwrap();
    vfs.lookup(GAMES, b"5").unwrap();
    changing.change();
    let changes = vfs.refresh();
    assert_eq!(changes.directories, [Ino::ROOT, GAMES]);
    assert_eq!(changes.names, Some(vec![(GAMES, b"5"[..].into())]));
    assert_eq!(vfs.refresh().directories, [Ino::ROOT, GAMES], "once more");
    assert_eq!(vfs.refresh().directories, []);
}

#[test]
fn a_reader_gets_one_consistent_text() {
    for in_place in [false, true] {
        let changing = Changing::new(in_place);
        let vfs = changing.vfs();
        let ino = vfs.lookup(GAMES, LONG.to_string().as_bytes()).unwrap().ino;
        let mut seen = vfs.read(ino, 0, 100_000).unwrap().to_vec();
        for _ in 0..3 {
            changing.change();
            vfs.refresh();
            let more = vfs.read(ino, seen.len() as u64, 100_000).unwrap();
            seen.extend_from_slice(&more);
        }
        let rest = vfs.read(ino, seen.len() as u64, 1 << 20).unwrap();
        seen.extend_from_slice(&rest);
        assert!(seen == text(LONG, 1).as_bytes(), "{in_place}");
    }
}

#[test]
fn overwritten_text_is_an_error_until_the_next_lookup() {
    let changing = Changing::new(true);
    let vfs = changing.vfs();
    let three = vfs.lookup(GAMES, b"3").unwrap();
    changing.change();
    changing.change();
    vfs.refresh();
    // The text itself was kept, but not for ever.
    for _ in 0..30 {
        vfs.refresh();
    }
    let error = vfs.read(three.ino, 0, 4096).unwrap_err();
    assert_eq!(error.errno(), libc::ESTALE);
    assert_eq!(vfs.attr(three.ino).unwrap_err().errno(), libc::ESTALE);
    vfs.lookup(GAMES, b"3").unwrap();
    assert_eq!(read(&vfs, three.ino), text(3, 3));
}

/// Waits until `path` reads so.
fn soon_reads(path: &Path, expected: &str) {
    let start = Instant::now();
    while fs::read_to_string(path).unwrap() != expected {
        assert!(start.elapsed() < SOON, "{}", path.display());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_mount_shows_changes_and_keeps_the_rest_cached() {
    if !common::has_fuse() {
        return;
    }
    for readdirplus in [ReadDirPlus::On, ReadDirPlus::Auto, ReadDirPlus::Off] {
        let changing = Changing::new(false);
        let mount = Mount::listed(changing.vfs(), readdirplus);
        let pages = "fincore -nbo PAGES games/3 games/4 games/7 | tr -s ' \\n' ' '";
        // Twice, so that the kernel has all it can have.
        for _ in 0..2 {
            assert_eq!(mount.shell("cat games/* | wc -l; ls games"), expected(1));
        }
        assert_eq!(mount.shell("test -e games/10 || echo none"), "none");
        assert_eq!(mount.shell(pages), "1 1 98", "{readdirplus:?}");
        let held = File::open(mount.path("games/5")).unwrap();
        for version in 2..5 {
            changing.change();
            mount.soon_prints("cat games/* | wc -l; ls games", &expected(version));
            assert_eq!(
                fs::read_to_string(mount.path("games/4")).unwrap(),
                text(4, 1)
            );
            for id in [1, 3, 5, LONG] {
                let path = mount.path(&format!("games/{id}"));
                assert_eq!(fs::read_to_string(&path).unwrap(), text(id, version));
                assert_eq!(
                    fs::metadata(&path).unwrap().size(),
                    text(id, version).len() as u64
                );
            }
        }
        drop(held);
        // What did not change was not read again.
        thread::sleep(Duration::from_millis(1200));
        changing.change();
        mount.soon_prints(
            "head -1 games/3; ls games",
            "version 5\n1\n2\n3\n4\n5\n6\n7\n8\n9",
        );
        assert_eq!(mount.shell(pages), "1 1 0", "{readdirplus:?}");
    }
}

fn expected(version: u64) -> String {
    let last = if version % 2 == 1 { 9 } else { 8 };
    let lines = (1..=last).map(|id| text(id, version).lines().count());
    let names: Vec<String> = (1..=last).map(|id| id.to_string()).collect();
    format!("{}\n{}", lines.sum::<usize>(), names.join("\n"))
}

/// Ends a thread's work when dropped.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn readers_never_see_a_mixture_nor_an_error_while_files_are_replaced() {
    if !common::has_fuse() {
        return;
    }
    let changing = Changing::new(false);
    let mount = Mount::new(changing.vfs());
    let is_done = AtomicBool::new(false);
    let read_whole = |id: u32| {
        let text = fs::read_to_string(mount.path(&format!("games/{id}"))).unwrap();
        let version = text.lines().next().unwrap()["version ".len()..]
            .parse()
            .unwrap();
        assert!(
            text == self::text(id, version),
            "a mixture of {id}: {version}"
        );
        version
    };
    let versions = thread::scope(|scope| {
        let readers: Vec<_> = [3, 5, LONG]
            .into_iter()
            .map(|id| {
                let (is_done, read_whole) = (&is_done, &read_whole);
                scope.spawn(move || {
                    let mut versions = Vec::new();
                    while !is_done.load(SeqCst) {
                        versions.push(read_whole(id));
                    }
                    versions.dedup();
                    versions
                })
            })
            .collect();
        let done = Done(&is_done);
        for _ in 0..25 {
            changing.change();
            thread::sleep(Duration::from_millis(270));
        }
        drop(done);
        readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .collect::<Vec<Vec<u64>>>()
    });
    for seen in versions {
        println!("{seen:?}");
        assert!(seen.is_sorted() && seen.len() > 5, "{seen:?}");
    }
}

#[test]
fn a_slow_reader_gets_the_old_text_or_an_error() {
    if !common::has_fuse() {
        return;
    }
    for (in_place, is_looked_at) in [(false, false), (true, false), (false, true), (true, true)] {
        let changing = Changing::new(in_place);
        let mount = Mount::new(changing.vfs());
        let path = mount.path(&format!("games/{LONG}"));
        let mut file = File::open(&path).unwrap();
        let mut seen = vec![0; 5000];
        file.read_exact(&mut seen).unwrap();
        changing.change();
        thread::sleep(Duration::from_millis(1300));
        if is_looked_at {
            soon_reads(&path, &text(LONG, 2));
        }
        let mut error = None;
        let mut buffer = [0; 10_000];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => seen.extend_from_slice(&buffer[..count]),
                Err(failed) => {
                    error = failed.raw_os_error();
                    break;
                }
            }
        }
        let whole = text(LONG, 1);
        if is_looked_at {
            // The kernel has begun another file under this name.
            assert_eq!(error, Some(libc::EIO));
            assert!(whole.as_bytes().starts_with(&seen));
        } else {
            assert_eq!(error, None);
            assert!(seen == whole.as_bytes());
        }
        soon_reads(&path, &text(LONG, 2));
    }
}

#[test]
fn a_shell_in_a_directory_continues_to_work() {
    if !common::has_fuse() {
        return;
    }
    let changing = Changing::new(false);
    let mount = Mount::new(changing.vfs());
    let mut shell = Command::new("sh")
        .current_dir(mount.path("games"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = shell.stdin.take().unwrap();
    let mut output = BufReader::new(shell.stdout.take().unwrap());
    let mut ask = |question: &str| {
        writeln!(input, "echo $({question} 2>&1)").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        answer.trim().to_owned()
    };
    let games = mount.path("games");
    for version in 1..4 {
        if version > 1 {
            changing.change();
            thread::sleep(Duration::from_millis(1500));
        }
        let last = if version % 2 == 1 { " 9" } else { "" };
        assert_eq!(ask("/bin/pwd -P"), games.to_str().unwrap());
        assert_eq!(ask("head -1 3"), format!("version {version}"));
        assert_eq!(ask("ls"), format!("1 2 3 4 5 6 7 8{last}"));
    }
    drop(input);
    shell.wait().unwrap();
}

#[test]
fn an_open_or_mapped_file_stays_as_it_was() {
    if !common::has_fuse() {
        return;
    }
    let changing = Changing::new(false);
    let mount = Mount::new(changing.vfs());
    let script = "import mmap, sys\n\
        f = open('games/5', 'rb')\n\
        m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)\n\
        before = m[:]\n\
        print('ready', flush=True)\n\
        sys.stdin.readline()\n\
        print(m[:] == before, open('games/5').readline(), m[:] == before)\n";
    let mut python = Command::new("python3")
        .args(["-c", script])
        .current_dir(mount.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(python.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    changing.change();
    soon_reads(&mount.path("games/5"), &text(5, 2));
    python.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.trim(), "True version 2\n True");
    assert!(python.wait().unwrap().success());
}

/// Bytes of the header of `.cbh`, and of each record.
const RECORD: u64 = 46;

fn patch(base: &Path, offset: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(base).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

#[test]
fn changes_in_place_are_detected() {
    if !common::has_fuse() {
        return;
    }
    let directory = common::copy_of_base("cbh/sample");
    let headers = directory.path().join("sample.cbh");
    let mount = Mount::of_base(&headers);
    let count: u32 = mount.shell("ls games | wc -l").parse().unwrap();
    let result = "grep -h '^.Result' games/000001.pgn";
    mount.soon_prints(result, "[Result \"1-0\"]");
    let unchanged = mount.shell("cat games/000002.pgn");
    // The result of the first game.
    patch(&headers, RECORD + 27, &[0]);
    mount.soon_prints(result, "[Result \"0-1\"]");
    mount.soon_prints(
        "wc -c < games/000001.pgn",
        &mount.shell("stat -c %s games/000001.pgn"),
    );
    // Its moves: the first one is another.
    let whole = mount.shell("cat games/000001.pgn");
    let moves = directory.path().join("sample.cbg");
    let mut bytes = fs::read(&moves).unwrap();
    let at = fs::read(&headers).unwrap()[47..51].try_into().unwrap();
    let at = u32::from_be_bytes(at) as usize;
    bytes[at + 4] ^= 0x5a;
    fs::write(&moves, bytes).unwrap();
    let start = Instant::now();
    while mount.shell("cat games/000001.pgn") == whole {
        assert!(start.elapsed() < SOON);
    }
    // It is deleted.
    let ls = "ls games | head -1; ls deleted | head -1; test -e games/000001.pgn || echo gone";
    let deleted = mount.shell("ls deleted");
    assert!(!deleted.contains("000001"));
    patch(&headers, RECORD, &[0x81]);
    mount.soon_prints(ls, "000002.pgn\n000001.pgn\ngone");
    patch(&headers, RECORD, &[0x01]);
    mount.soon_prints(
        "ls games | head -1; ls deleted",
        &format!("000001.pgn\n{deleted}"),
    );
    // One more game, which is the second one again.
    let all = fs::read(&headers).unwrap();
    let records = u32::try_from(all.len() as u64 / RECORD).unwrap() - 1;
    let second = &all[92..138];
    let name = format!("games/{:06}.pgn", records + 1);
    assert_eq!(mount.shell(&format!("test -e {name} || echo none")), "none");
    patch(&headers, all.len() as u64, second);
    patch(&headers, 6, &(records + 2).to_be_bytes());
    mount.soon_prints("ls games | wc -l", &(count + 1).to_string());
    mount.soon_prints(
        &format!("grep -c ^.White {name}"),
        &mount.shell("grep -c ^.White games/000002.pgn"),
    );
    assert_eq!(mount.shell("cat games/000002.pgn"), unchanged);
}

#[test]
fn a_replaced_base_is_shown_when_it_is_complete() {
    if !common::has_fuse() {
        return;
    }
    let directory = common::copy_of_base("cbh/sample");
    let other = common::copy_of_base("cbh/sample");
    patch(&other.path().join("sample.cbh"), RECORD + 27, &[0]);
    let mount = Mount::of_base(&directory.path().join("sample.cbh"));
    let result = "grep -h '^.Result' games/000001.pgn";
    mount.soon_prints(result, "[Result \"1-0\"]");
    // Away with one of its files: what is open goes on.
    let players = directory.path().join("sample.cbp");
    let aside = directory.path().join("aside");
    fs::rename(&players, &aside).unwrap();
    thread::sleep(Duration::from_millis(1200));
    assert_eq!(mount.shell(result), "[Result \"1-0\"]");
    assert_eq!(mount.shell("cat games/* deleted/* > /dev/null"), "");
    fs::rename(&aside, &players).unwrap();
    for entry in fs::read_dir(other.path()).unwrap() {
        let entry = entry.unwrap();
        fs::rename(entry.path(), directory.path().join(entry.file_name())).unwrap();
    }
    mount.soon_prints(result, "[Result \"0-1\"]");
    // A file that cannot be what it should be.
    let headers = directory.path().join("sample.cbh");
    let whole = fs::read(&headers).unwrap();
    fs::write(&headers, b"nonsense").unwrap();
    thread::sleep(Duration::from_millis(1200));
    assert_eq!(mount.shell("ls -d games deleted | wc -l"), "2");
    fs::write(&headers, whole).unwrap();
    mount.soon_prints(result, "[Result \"0-1\"]");
}

#[test]
fn lengths_kept_for_the_next_mount_are_current() {
    let directory = common::copy_of_base("cbh/sample");
    let headers = directory.path().join("sample.cbh");
    let caches = tempfile::tempdir().unwrap();
    let sized = || {
        let source = cbfs::vfs::DatabaseSource::new(
            &headers,
            cbfs::cbh::Options::default(),
            Some(caches.path().to_path_buf()),
        );
        let vfs = Vfs::open(Box::new(source), &cbfs::vfs::Options::default()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| vfs.fill());
            thread::sleep(Duration::from_millis(300));
            vfs.background().stop();
        });
        vfs.save_sizes();
        let one = vfs.lookup(GAMES, b"000001.pgn").unwrap();
        (one.generation, read(&vfs, one.ino).len() as u64 == one.size)
    };
    let first = sized();
    assert_eq!(fs::read_dir(caches.path()).unwrap().count(), 1);
    assert_eq!(sized(), first);
    patch(&headers, RECORD + 27, &[1]);
    let changed = sized();
    assert!(first.1 && changed.1);
    assert_ne!(first.0, changed.0);
    drop(open(&headers));
}
