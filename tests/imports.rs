//! Files written to `import/` of a real mount.

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
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::daemon::{Daemon, close, errno, save, with_tag};
use common::games::{bad_texts, many_games};
use common::pack::{gzip, utf16, zip};

const SAMPLE: &str = "cbh/sample/sample.cbh";

/// So many games are laid behind the ends of the files.
const MANY: usize = 6000;

/// Records of the sample.
const LAST: usize = 15;

/// The sample, mounted; nothing without FUSE, which is said then.
fn sample() -> Option<Daemon> {
    common::has_fuse().then(|| Daemon::of_fixture(SAMPLE))
}

fn count(daemon: &Daemon, directory: &str) -> usize {
    fs::read_dir(daemon.at(directory)).unwrap().count()
}

fn log_of(daemon: &Daemon, name: &str) -> String {
    fs::read_to_string(daemon.at(&format!("import/{name}.log"))).unwrap()
}

#[test]
fn a_long_text_is_imported_completely_or_not_at_all() {
    let Some(mut daemon) = sample() else { return };
    let before = count(&daemon, "games");
    let text = many_games(MANY);
    save(&daemon.at("import/many.pgn"), &text).unwrap();
    assert_eq!(
        log_of(&daemon, "many.pgn"),
        format!(
            "many.pgn: {MANY} games: 000016.pgn to {:06}.pgn
",
            LAST + MANY
        )
    );
    assert_eq!(count(&daemon, "games"), before + MANY);
    assert!(daemon.text(16).contains("{0}"));
    let last = u32::try_from(LAST + MANY).unwrap();
    assert!(daemon.text(last).contains(&format!("{{{}}}", MANY - 1)));
    let read = fs::read_to_string(daemon.at("import/many.pgn")).unwrap();
    assert!(read == text);

    // One game in the middle is none.
    let line = text.lines().position(|line| line.contains("{ 3000 }"));
    let bad = text.replace("1. e4 { 3000 }", "1. e4 { 3000 } Ke4");
    let closed = errno(save(&daemon.at("import/bad.pgn"), &bad));
    assert_eq!(closed, Some(libc::EINVAL));
    let log = log_of(&daemon, "bad.pgn");
    let place = format!("line {}, column 16: ", line.unwrap() + 1);
    assert!(log.starts_with("bad.pgn: nothing was imported: "), "{log}");
    assert!(log.contains(&place), "{log} {place}");
    let why = fs::read_to_string(daemon.at(".cbfs/rejected/bad.txt")).unwrap();
    assert!(why.starts_with(&place), "{why}");
    let kept = fs::read_to_string(daemon.at(".cbfs/rejected/bad.pgn")).unwrap();
    assert!(kept == bad);
    assert_eq!(count(&daemon, "games"), before + MANY);
    daemon.restart();
    assert_eq!(count(&daemon, "games"), before + MANY);
    assert_eq!(count(&daemon, "import"), 1);
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn lenient_imports_all_but_the_bad_games_and_keeps_those_beside() {
    let Some(mut daemon) = sample() else { return };
    let before = count(&daemon, "games");
    let bad = "[Event \"A\"]\n[White \"Moe\"]\n\n1. e4 e5 2. Ke3 *\n\n";
    let text = format!("{}{bad}{}", many_games(3), many_games(20));
    let strict = save(&daemon.at("import/a.pgn"), &text);
    assert_eq!(errno(strict), Some(libc::EINVAL));
    save(&daemon.at("import/lenient/a.pgn"), &text).unwrap();
    assert_eq!(count(&daemon, "games"), before + 23);
    let log = log_of(&daemon, "lenient/a.pgn");
    assert!(log.contains("23 games: 000016.pgn to 000038.pgn"), "{log}");
    let place = "line 34, column 13: game 4 (Moe \u{2013} ?): \"Ke3\" is illegal here";
    assert!(log.contains(place), "{log}");
    let kept = fs::read_to_string(daemon.at("import/lenient/a.pgn.bad.pgn")).unwrap();
    assert!(kept.ends_with(bad), "{kept}");
    save(&daemon.at("import/b.pgn"), &kept.replace("Ke3", "Ke2")).unwrap();
    assert_eq!(count(&daemon, "games"), before + 24);
    // Without bad games nothing lies beside.
    // Where it is after the mount too.
    let rejected = daemon.at(".cbfs/rejected/a.pgn.bad.pgn");
    assert_eq!(fs::read_to_string(rejected).unwrap(), kept);
    save(&daemon.at("import/lenient/c.pgn"), &many_games(2)).unwrap();
    assert_eq!(count(&daemon, "import/lenient"), 5);
    fs::remove_file(daemon.at("import/lenient/a.pgn.bad.pgn")).unwrap();
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn compressed_files_are_imported_and_stay_unchanged() {
    let Some(mut daemon) = sample() else { return };
    let before = count(&daemon, "games");
    let text = many_games(20);
    let archive = zip(&[("1.pgn", &text), ("2.txt", "no"), ("3.pgn", &text)]);
    for (name, bytes, new) in [
        ("a.pgn.gz", gzip(&text), 20),
        ("b.zip", archive.clone(), 40),
        ("c.pgn", utf16(&text), 20),
    ] {
        let before = count(&daemon, "games");
        fs::write(daemon.at(&format!("import/{name}")), &bytes).unwrap();
        assert!(log_of(&daemon, name).contains(&format!("{new} games: ")));
        assert_eq!(count(&daemon, "games"), before + new, "{name}");
        assert!(fs::read(daemon.at(&format!("import/{name}"))).unwrap() == bytes);
    }
    for (name, bytes, why) in [
        (
            "cut.zip",
            archive[..archive.len() / 2].to_vec(),
            "zip archive",
        ),
        (
            "bad.zip",
            zip(&[("1.pgn", &text), ("2.pgn", "1. e5 *")]),
            "2.pgn: line 1, column 4",
        ),
    ] {
        let mut file = File::create(daemon.at(&format!("import/{name}"))).unwrap();
        file.write_all(&bytes).unwrap();
        assert_eq!(errno(close(file)), Some(libc::EINVAL), "{name}");
        let log = log_of(&daemon, name);
        assert!(
            log.contains("nothing was imported") && log.contains(why),
            "{log}"
        );
    }
    assert_eq!(count(&daemon, "games"), before + 80);
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn an_import_at_an_early_close_is_replaced_by_the_complete_one() {
    let Some(mut daemon) = sample() else { return };
    let before = count(&daemon, "games");
    let deleted = count(&daemon, "deleted");
    let text = many_games(MANY);
    let at = text.find("{ 2000 }").unwrap();
    let game = at + text[at..].find("\n\n").unwrap() + 2;
    for (cut, early) in [(game, 2001), (at + 3, 0)] {
        let mut file = File::create(daemon.at("import/x.pgn")).unwrap();
        file.write_all(&text.as_bytes()[..cut]).unwrap();
        let closed = errno(close(file.try_clone().unwrap()));
        assert_eq!(closed, (early == 0).then_some(libc::EINVAL));
        assert_eq!(count(&daemon, "games"), before + early);
        file.write_all(&text.as_bytes()[cut..]).unwrap();
        close(file).unwrap();
        assert_eq!(count(&daemon, "games"), before + MANY);
        assert_eq!(count(&daemon, "deleted"), deleted);
        assert_eq!(count(&daemon, ".cbfs/rejected"), 0);
        daemon.end();
        daemon.assert_sound();
        let sample = Daemon::of_fixture(SAMPLE);
        daemon = sample;
    }
}

/// There are few threads that answer requests; those that save are others
/// while something is imported.
#[test]
fn games_are_read_while_many_are_imported_and_others_wait_to_save() {
    let Some(mut daemon) = sample() else { return };
    let before = count(&daemon, "games");
    let text = many_games(20_000);
    let is_done = AtomicBool::new(false);
    let reads = AtomicU32::new(0);
    let stage = daemon.base().with_file_name(".sample.cbfs-stage");
    let texts: Vec<String> = (1..=10).map(|number| daemon.text(number)).collect();
    thread::scope(|scope| {
        let imports: Vec<_> = ["a.pgn", "b.pgn"]
            .map(|name| {
                scope.spawn({
                    let (daemon, text) = (&daemon, &text);
                    move || save(&daemon.at(&format!("import/{name}")), text)
                })
            })
            .into();
        while !stage.exists() {
            assert!(imports.iter().any(|import| !import.is_finished()));
            thread::sleep(Duration::from_millis(1));
        }
        for (number, text) in (1..=10).zip(&texts) {
            let edited = with_tag(text, "Annotator", "Patient");
            let game = daemon.game(number);
            scope.spawn(move || save(&game, &edited).unwrap());
        }
        scope.spawn(|| {
            while !is_done.load(SeqCst) {
                assert!(!daemon.text(11).is_empty());
                assert!(count(&daemon, "games") >= before);
                reads.fetch_add(1, SeqCst);
            }
        });
        for import in imports {
            import.join().unwrap().unwrap();
        }
        is_done.store(true, SeqCst);
    });
    assert!(reads.load(SeqCst) > 2, "nobody could read");
    assert_eq!(count(&daemon, "games"), before + 40_000);
    assert!(daemon.text(10).contains("Patient"));
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn an_import_of_a_killed_daemon_is_complete_or_absent() {
    let Some(mut daemon) = sample() else { return };
    let before = count(&daemon, "games");
    let text = many_games(MANY);
    let mut found = [0; 2];
    for delay in [0, 50, 100, 200, 400, 800] {
        let stage = daemon.base().with_file_name(".sample.cbfs-stage");
        let file = daemon.at("import/many.pgn");
        let import = thread::spawn({
            let text = text.clone();
            move || save(&file, &text).is_ok()
        });
        while !stage.exists() && !import.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(delay));
        daemon.kill();
        let is_confirmed = import.join().unwrap();
        daemon.start(&["rw"]);
        let new = count(&daemon, "games") - before;
        assert!(new == MANY || (new == 0 && !is_confirmed), "{new} games");
        found[usize::from(new > 0)] += 1;
        daemon.end();
        daemon.assert_sound();
        let names = fs::read_dir(daemon.base().parent().unwrap()).unwrap();
        for name in names.map(|entry| entry.unwrap().file_name()) {
            assert!(!name.to_string_lossy().starts_with('.'), "{name:?}");
        }
        daemon = Daemon::of_fixture(SAMPLE);
    }
    println!("killed before the commit and after it: {found:?}");
}

#[test]
fn invalid_games_are_located_and_nothing_is_imported() {
    let Some(mut daemon) = sample() else { return };
    let before = count(&daemon, "games");
    for bad in bad_texts() {
        let text = [many_games(3).as_bytes(), &bad.text].concat();
        let mut file = File::create(daemon.at("import/bad.pgn")).unwrap();
        file.write_all(&text).unwrap();
        assert_eq!(errno(close(file)), Some(libc::EINVAL), "{}", bad.what);
        let log = log_of(&daemon, "bad.pgn").to_lowercase();
        assert!(
            log.starts_with("bad.pgn: nothing was imported: line "),
            "{log}"
        );
        assert!(log.contains(bad.reason), "{}: {log}", bad.what);
        assert_eq!(count(&daemon, "games"), before, "{}", bad.what);
        let kept = fs::read(daemon.at(".cbfs/rejected/bad.pgn")).unwrap();
        assert!(kept == text, "{}", bad.what);
    }
    // What is a game is stored whole, however it gets there.
    let name = format!("{}, Long", "Verylongname".repeat(10));
    let text = format!(
        "[White \"{name}\"]\n[Black \"Ωmega, 象棋\"]\n[OurOwnTag \"kept\"]\n\n1. e4 *\n\n{} *\n",
        "Nf3 Nf6 Ng1 Ng8 ".repeat(15_000)
    );
    save(&daemon.at("import/good.pgn"), &text).unwrap();
    let log = log_of(&daemon, "good.pgn");
    assert!(
        log.contains("a last name that its field cannot hold whole"),
        "{log}"
    );
    assert!(log.contains("(1 game)"), "{log}");
    daemon.restart();
    let stored = daemon.text(16);
    for line in text.lines().take(3) {
        assert!(stored.contains(line), "{stored}");
    }
    assert_eq!(daemon.text(17).matches("Nf3").count(), 15_000);
    daemon.end();
    daemon.assert_sound();
}
