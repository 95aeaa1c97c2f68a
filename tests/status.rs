//! The directory `.cbfs/`: the status of a mount.

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

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cbfs::cbh::{Database, Options as Reading};
use cbfs::vfs::{BasesFolder, DatabaseSource, Ino, Options, Vfs};
use common::mounted::{Changing, Mount, SOON, open};
use common::volume::{DAMAGED, PANICS, Shared, TestVolume};
use serde_json::Value;

/// What is read of a path, looked up name by name.
fn read(vfs: &Vfs, path: &str) -> String {
    let mut ino = Ino::ROOT;
    let mut size = 0;
    for name in path.split('/') {
        let attr = vfs.lookup(ino, name.as_bytes()).unwrap();
        (ino, size) = (attr.ino, attr.size);
    }
    let bytes = vfs.read(ino, 0, u32::MAX).unwrap();
    assert_eq!(bytes.len() as u64, size, "{path}");
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn status(vfs: &Vfs) -> Value {
    serde_json::from_str(&read(vfs, ".cbfs/status.json")).unwrap()
}

/// Fills in all that is done beside the requests.
fn fill(vfs: &Arc<Vfs>) {
    let filler = Arc::clone(vfs);
    let filling = thread::spawn(move || filler.fill());
    let start = Instant::now();
    while status(vfs)["all_games_looked_at"] != true {
        assert!(start.elapsed() < 5 * SOON, "it does not end");
        thread::sleep(Duration::from_millis(5));
    }
    vfs.background().stop();
    filling.join().unwrap();
}

/// The lines of `defects.txt` of a base when all was looked at.
fn defects_of(base: &Path) -> Vec<String> {
    let vfs = Arc::new(open(base));
    fill(&vfs);
    let lines = read(&vfs, ".cbfs/defects.txt");
    assert_eq!(status(&vfs)["defects"], lines.lines().count());
    lines.lines().map(str::to_owned).collect()
}

#[test]
fn status_and_json_say_what_is_in_a_base() {
    let base = common::fixture("cbh/texts/texts.cbh");
    let vfs = open(&base);
    let before = status(&vfs);
    assert_eq!(before["source"], base.to_str().unwrap());
    assert_eq!(before["kind"], "database");
    assert_eq!(before["all_games_looked_at"], false);
    assert_eq!(before["error"], Value::Null);
    let games = before["games"].as_u64().unwrap();
    let deleted = before["deleted"].as_u64().unwrap();
    assert_eq!(vfs.statistics().files, games);
    assert_eq!(before["lengths"], games + deleted);
    assert!(before["texts"].as_u64().unwrap() > 0);
    assert_eq!(before["code_page_is"], "detected");
    assert_eq!(before["changes"], 0);
    let database = Database::open(&base, &Reading::default()).unwrap();
    let bytes = database.size_on_disk();
    assert_eq!(before["bytes"], bytes);
    let text = read(&vfs, ".cbfs/status");
    for line in text.lines() {
        let (key, value) = line.split_once(": ").unwrap();
        assert!(!key.is_empty() && !value.trim().is_empty(), "{line}");
    }
    let game_line = format!("games:{games:>w$}", w = 15 + games.to_string().len());
    assert!(text.lines().any(|line| line == game_line), "{text}");
    let vfs = Arc::new(vfs);
    fill(&vfs);
    let after = status(&vfs);
    assert_eq!(after["lengths_known"], games + deleted);
    assert!(after["cache_bytes"].as_u64() > before["cache_bytes"].as_u64());
}

#[test]
fn the_status_shows_that_the_code_page_was_given() {
    let base = common::fixture("cbh/sample/sample.cbh");
    let page = cbfs::cbh::CodePage::from_label("1251");
    let options = Reading { code_page: page };
    let source = DatabaseSource::new(&base, options, None);
    let vfs = Vfs::open(Box::new(source), &Options::default()).unwrap();
    let status = status(&vfs);
    assert_eq!(status["code_page_is"], "given");
    assert_eq!(status["code_page"], "windows-1251");
}

#[test]
fn a_sound_base_has_no_defects() {
    for base in ["sample", "texts", "headers", "setups", "remarks-1251"] {
        let path = common::fixture(&format!("cbh/{base}/{base}.cbh"));
        assert_eq!(defects_of(&path), [""; 0], "{base}");
    }
}

#[test]
fn defects_are_listed_in_order_and_once() {
    let base = common::fixture("cbh/damage/damage.cbh");
    let vfs = Arc::new(open(&base));
    // Games that were read before, one of them twice.
    for game in ["000004", "000002", "000004"] {
        read(&vfs, &format!("games/{game}.pgn"));
    }
    let met = read(&vfs, ".cbfs/defects.txt");
    let met: Vec<&str> = met.lines().collect();
    assert_eq!(met.len(), 3, "{met:?}");
    assert!(met[0].starts_with("damage.cbh at 0x6: "), "{met:?}");
    assert!(met[1].starts_with("game 2: damage.cbg at 0x"), "{met:?}");
    assert!(met[2].starts_with("game 4: damage.cbg at 0x"), "{met:?}");
    let all = defects_of(&base);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    assert!(met.iter().all(|line| all.iter().any(|other| other == line)));
    let truth = fs::read_to_string(base.with_file_name("expected.jsonl")).unwrap();
    let mut games = 0;
    for line in truth.lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let Some(part) = expected["defect"].as_str() else {
            continue;
        };
        let begin = format!("game {}: ", expected["id"]);
        let told = all
            .iter()
            .any(|line| line.starts_with(&begin) && line.contains(part));
        assert!(told, "{begin}{part}: {all:#?}");
        games += 1;
    }
    assert!(games > 3);
    let of_games = all.iter().filter(|line| line.starts_with("game "));
    let numbers = of_games.map(|line| line[5..line.find(':').unwrap()].parse::<u32>().unwrap());
    assert!(numbers.is_sorted());
    let whole = all
        .iter()
        .take_while(|line| line.starts_with("damage."))
        .count();
    assert!(all[whole..].iter().all(|line| line.starts_with("game ")));
    assert!(all.iter().any(|line| line.contains("refers to record")));
}

#[test]
fn defects_are_listed_at_the_next_mount_without_rendering() {
    let caches = tempfile::tempdir().unwrap();
    let base = common::fixture("cbh/damage/damage.cbh");
    let mount = || {
        let caches = Some(caches.path().to_path_buf());
        let source = DatabaseSource::new(&base, Reading::default(), caches);
        // Without room for texts, so that none is rendered for that.
        let options = Options {
            cache_bytes: 0,
            ..Options::default()
        };
        let vfs = Arc::new(Vfs::open(Box::new(source), &options).unwrap());
        fill(&vfs);
        read(&vfs, ".cbfs/defects.txt")
    };
    let first = mount();
    assert!(first.lines().count() > 10);
    assert_eq!(fs::read_dir(caches.path()).unwrap().count(), 1);
    assert_eq!(mount(), first);
}

#[test]
fn a_real_base_has_its_known_defects() {
    let Some(shared) = common::shared() else {
        return;
    };
    let lines = defects_of(&shared.join("bases/linares/linares.cbh"));
    assert_eq!(lines.len(), 5, "{lines:#?}");
    for known in [
        "80 records in use claimed, 79 found",
        "balance of record 25",
        "balance of record 28",
        "record 48 is deleted but on no chain",
        "record 73",
    ] {
        assert!(lines.iter().any(|line| line.contains(known)), "{known}");
    }
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("linares.cbp at 0x"))
    );
}

/// What `cbfs info --json` says is wrong with a base, as lines of
/// `defects.txt`.
fn defects_by_info(base: &Path) -> Vec<String> {
    let output = common::command::cbfs(&["info", "--json", base.to_str().unwrap()]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["games_looked_at"], true);
    let stem = base.file_stem().unwrap().to_str().unwrap();
    let line = |defect: &Value| {
        let of = match defect["game"].as_u64() {
            None => String::new(),
            Some(number) => format!("game {number}: "),
        };
        let (file, what) = (&defect["file"], &defect["what"]);
        let (file, what) = (file.as_str().unwrap(), what.as_str().unwrap());
        let offset = defect["offset"].as_u64().unwrap();
        format!("{of}{stem}.{file} at {offset:#x}: {what}")
    };
    report["defects"]
        .as_array()
        .unwrap()
        .iter()
        .map(line)
        .collect()
}

#[test]
fn info_and_defects_txt_agree() {
    let mut count = 0;
    for base in common::fixture_bases()
        .into_iter()
        .chain(common::real_bases())
    {
        let mut told = defects_of(&base);
        let mut by_info = defects_by_info(&base);
        told.sort();
        by_info.sort();
        assert_eq!(told, by_info, "{}", base.display());
        count += told.len();
    }
    assert!(count > 15, "{count}");
}

#[test]
fn games_that_cannot_be_shown_are_listed_as_defects() {
    let shared: Arc<Shared> = Arc::default();
    let volume = TestVolume(Arc::clone(&shared));
    let vfs = Vfs::new(Box::new(volume), &Options::default());
    assert_eq!(read(&vfs, ".cbfs/defects.txt"), "");
    let games = vfs.lookup(Ino::ROOT, b"games").unwrap().ino;
    for id in [PANICS, DAMAGED] {
        let name = format!("{id:06}.pgn");
        assert!(vfs.lookup(games, name.as_bytes()).is_err());
    }
    let lines = read(&vfs, ".cbfs/defects.txt");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(lines.starts_with("file 11: test.cbg at 0x1a: game 11 ends early\n"));
    assert!(lines.contains("file 13: a defect of cbfs: "), "{lines}");
}

#[test]
fn each_change_is_counted_once() {
    let changing = Changing::new(false);
    let vfs = changing.vfs();
    for changes in 0..3 {
        assert_eq!(status(&vfs)["changes"], changes);
        changing.change();
        vfs.refresh();
        // Opened once more, to be sure.
        vfs.refresh();
        vfs.refresh();
    }
}

#[test]
fn a_base_that_cannot_be_opened_is_reported_in_its_status_and_that_of_its_folder() {
    let directory = common::copy_of_base("cbh/sample");
    fs::write(directory.path().join("bad.cbh"), "nonsense").unwrap();
    let folder = BasesFolder::new(directory.path(), Reading::default(), None);
    let vfs = Vfs::folder(folder, &Options::default()).unwrap();
    let state = |vfs: &Vfs, name: &str| {
        let status = status(vfs);
        assert_eq!(status["kind"], "directory of bases");
        let bases = status["bases"].as_array().unwrap().clone();
        bases.into_iter().find(|base| base["name"] == name).unwrap()
    };
    assert_eq!(state(&vfs, "bad")["is_open"], false);
    assert_eq!(state(&vfs, "bad")["error"], Value::Null);
    let text = read(&vfs, ".cbfs/status");
    assert_eq!(text.matches("not looked into").count(), 2, "{text}");
    assert!(read(&vfs, "bad/ERROR").contains("bad.cbg: not found"));
    read(&vfs, "sample/headers.tsv");
    let why = state(&vfs, "bad")["error"].as_str().unwrap().to_owned();
    assert!(why.contains("bad.cbg: not found"), "{why}");
    assert_eq!(state(&vfs, "sample")["is_open"], true);
    let text = read(&vfs, ".cbfs/status");
    assert!(text.contains(&format!("ERROR {why}\n")), "{text}");
    assert!(read(&vfs, "bad/.cbfs/status").contains(&format!("ERROR {why}\n")));
    assert_eq!(read(&vfs, "bad/.cbfs/defects.txt"), "");
    // Once it can be opened, it is.
    for entry in fs::read_dir(common::fixture("cbh/sample")).unwrap() {
        let path = entry.unwrap().path();
        let name = Path::new("bad").with_extension(path.extension().unwrap());
        common::copy_bytes(&path, &directory.path().join(name));
    }
    vfs.refresh();
    assert_eq!(state(&vfs, "bad")["error"], Value::Null);
    assert_eq!(state(&vfs, "bad")["changes"], 1);
}

#[test]
fn parents_and_children_have_consistent_numbers() {
    let directory = common::copy_of_base("cbh/sample");
    let folder = BasesFolder::new(directory.path(), Reading::default(), None);
    let shelf = Vfs::folder(folder, &Options::default()).unwrap();
    let base = shelf.lookup(Ino::ROOT, b"sample").unwrap().ino;
    let mut numbers = BTreeSet::new();
    for root in [Ino::ROOT, base] {
        let about = shelf.lookup(root, b".cbfs").unwrap().ino;
        assert_eq!(shelf.lookup(about, b"..").unwrap().ino, root);
        assert_eq!(shelf.lookup(about, b".").unwrap().ino, about);
        let rejected = shelf.lookup(about, b"rejected").unwrap();
        assert_eq!(rejected.links, 2);
        assert_eq!(shelf.lookup(rejected.ino, b"..").unwrap().ino, about);
        let mut empty = Vec::new();
        shelf
            .list(rejected.ino, 0, &mut |entry| {
                empty.push(entry.name.to_owned());
                true
            })
            .unwrap();
        assert_eq!(empty, [".", ".."]);
        shelf
            .list_with_attrs(about, 2, &mut |entry, attr| {
                let attr = attr.unwrap().unwrap();
                assert_eq!(attr.ino, entry.node.ino);
                assert!(numbers.insert(attr.ino));
                let found = shelf.lookup(about, entry.name.as_bytes()).unwrap();
                assert_eq!(found.ino, attr.ino);
                true
            })
            .unwrap();
        let errno = |result: Result<_, cbfs::vfs::Error>| result.unwrap_err().errno();
        assert_eq!(errno(shelf.lookup(about, b"games")), libc::ENOENT);
        let status = shelf.lookup(about, b"status").unwrap().ino;
        assert_eq!(errno(shelf.lookup(status, b"x")), libc::ENOTDIR);
    }
    assert_eq!(numbers.len(), 10);
}

/// Reads a file as a program does: opened, measured, read to its end.
fn read_open(path: &Path) -> (u64, String) {
    let mut file = File::open(path).unwrap();
    let size = file.metadata().unwrap().size();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(file.metadata().unwrap().size(), size, "{}", path.display());
    (size, text)
}

#[test]
fn a_mounted_status_is_complete_and_exact_during_updates() {
    if !common::has_fuse() {
        return;
    }
    let mount = Mount::of_base(&common::fixture("cbh/damage/damage.cbh"));
    let names = ["status", "status.json", "defects.txt", "find.txt"];
    let readers: Vec<_> = names
        .into_iter()
        .map(|name| {
            let path = mount.path(".cbfs").join(name);
            thread::spawn(move || {
                let start = Instant::now();
                let mut texts = BTreeSet::new();
                while start.elapsed() < Duration::from_millis(4500) {
                    let (size, text) = read_open(&path);
                    assert_eq!(size, text.len() as u64, "{}", path.display());
                    assert!(text.ends_with('\n'));
                    if name == "status.json" {
                        let _: Value = serde_json::from_str(&text).unwrap();
                    }
                    texts.insert(text);
                    thread::sleep(Duration::from_millis(170));
                }
                texts.len()
            })
        })
        .collect();
    let seen: Vec<usize> = readers.into_iter().map(|r| r.join().unwrap()).collect();
    println!("{seen:?}");
    assert!((3..=6).contains(&seen[0]), "{seen:?}");
    assert!((3..=6).contains(&seen[1]), "{seen:?}");
    // What has not changed is not made anew: nothing was added later.
    assert!(seen[2] <= 2, "{seen:?}");
}

#[test]
fn tools_read_the_status_of_a_mount() {
    if !common::has_fuse() {
        return;
    }
    let mount = Mount::of_base(&common::fixture("cbh/sample/sample.cbh"));
    for (script, expected) in [
        ("ls -a | grep -c cbfs; ls | grep -c cbfs", "1\n0"),
        (
            "ls .cbfs | tr '\\n' ' '",
            "defects.txt find.txt rejected status status.json",
        ),
        ("ls -A .cbfs/rejected", ""),
        (
            "stat -c '%A %h' .cbfs .cbfs/rejected .cbfs/status",
            "dr-xr-xr-x 3\ndr-xr-xr-x 2\n-r--r--r-- 1",
        ),
        (
            "python3 -m json.tool .cbfs/status.json > /dev/null && echo valid",
            "valid",
        ),
        ("wc -c < .cbfs/defects.txt", "0"),
        (
            "for i in 1 2 3 4 5; do tail -c 5 .cbfs/status.json | od -An -c | tr -d ' '; sleep 0.4; done | sort -u | wc -l",
            "1",
        ),
        (
            "d=$(mktemp -d); cp -r .cbfs \"$d\" && tail -c 2 \"$d/.cbfs/status.json\"; chmod -R u+w \"$d\"; rm -r \"$d\"",
            "}",
        ),
        (
            "for i in 1 2 3 4 5 6; do tar cf - .cbfs | tar xOf - .cbfs/status.json | tail -1; sleep 0.3; done | sort -u",
            "}",
        ),
        ("grep -rl 'kind: *database' . | sort", "./.cbfs/status"),
        (
            "echo x 2>&1 > .cbfs/status; touch .cbfs/rejected/x; rm .cbfs/status; true",
            "",
        ),
    ] {
        let printed = mount.shell(script);
        if expected.is_empty() && script.contains("touch") {
            assert_eq!(
                printed.matches("Read-only file system").count(),
                3,
                "{printed}"
            );
        } else {
            assert_eq!(printed, expected, "{script}");
        }
    }
    let json: Value = serde_json::from_str(&mount.shell("cat .cbfs/status.json")).unwrap();
    assert_eq!(
        json["games"],
        mount.shell("ls games | wc -l").parse::<u64>().unwrap()
    );
    assert_eq!(json["process"], std::process::id());
    assert_eq!(json["mountpoint"], mount.shell("pwd -P"));
    assert_eq!(json["read_only"], true);
    assert_eq!(json["readdirplus"], "by size");
}

#[test]
fn a_mount_counts_how_often_its_base_was_reopened() {
    if !common::has_fuse() {
        return;
    }
    let directory = common::copy_of_base("cbh/sample");
    let base = directory.path().join("sample.cbh");
    let mount = Mount::of_base(&base);
    let changes = "sed -n 's/^changes: *//p' .cbfs/status";
    assert_eq!(mount.shell(changes), "0");
    assert_eq!(
        mount.shell("grep '\"deleted\": 1,' .cbfs/status.json | wc -l"),
        "1"
    );
    let mut bytes = fs::read(&base).unwrap();
    // The first game is deleted.
    bytes[46] |= 0x80;
    fs::write(&base, &bytes).unwrap();
    let start = Instant::now();
    while mount.shell(changes) == "0" {
        assert!(start.elapsed() < 3 * SOON);
        thread::sleep(Duration::from_millis(100));
    }
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(mount.shell(changes), "1");
    let json: Value = serde_json::from_str(&mount.shell("cat .cbfs/status.json")).unwrap();
    assert!(json["last_change"].as_u64().unwrap() >= json["started"].as_u64().unwrap());
    assert_eq!(json["deleted"], 2);
}
