//! A folder of bases, mounted as one directory.

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

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Instant, SystemTime};

use cbfs::cbh::Options as Reading;
use cbfs::vfs::{BasesFolder, Ino, Options, Vfs, Writer};
use common::mounted::{Mount, SOON};

fn shelf(directory: &Path) -> Vfs {
    let folder = BasesFolder::new(directory, Reading::default(), None);
    Vfs::folder(folder, &Options::default()).unwrap()
}

/// Puts a fixture base there under another name.
fn put(directory: &Path, base: &str, name: &str) {
    for entry in fs::read_dir(common::fixture(&format!("cbh/{base}"))).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().unwrap_or_default().to_owned();
        if path.is_file() && path.file_stem().unwrap() == base {
            common::copy_bytes(&path, &directory.join(name).with_extension(extension));
        }
    }
}

fn take(directory: &Path, name: &str) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().unwrap() == name {
            fs::remove_file(path).unwrap();
        }
    }
}

fn names(vfs: &Vfs, directory: Ino) -> BTreeMap<String, Ino> {
    let mut names = BTreeMap::new();
    vfs.list(directory, 0, &mut |entry| {
        names.insert(entry.name.to_owned(), entry.node.ino);
        true
    })
    .unwrap();
    names
}

#[test]
fn each_base_is_a_directory_with_numbers_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["one", "two", "Three"] {
        put(directory.path(), "sample", name);
    }
    fs::write(directory.path().join("book.ctg"), "").unwrap();
    let vfs = shelf(directory.path());
    let bases = names(&vfs, Ino::ROOT);
    let shown: Vec<&str> = bases.keys().map(String::as_str).collect();
    assert_eq!(shown, [".", "..", ".cbfs", "Three", "book", "one", "two"]);
    let mut numbers = Vec::new();
    let bases = bases.into_iter().skip(3);
    for (name, root) in bases.filter(|(name, _)| name != "book") {
        let attr = vfs.lookup(Ino::ROOT, name.as_bytes()).unwrap();
        assert_eq!(attr.ino, root);
        assert_eq!(attr.ino.base_number() << 40 | 1, root.0);
        assert_eq!(names(&vfs, root)[".."], Ino::ROOT);
        assert_eq!(names(&vfs, root)["."], root);
        assert_eq!(vfs.lookup(root, b"..").unwrap().ino, Ino::ROOT);
        let games = vfs.lookup(root, b"games").unwrap().ino;
        assert_eq!(names(&vfs, games)[".."], root);
        for (name, ino) in names(&vfs, games).into_iter().skip(2) {
            assert!(ino.0 < 1 << 53);
            let attr = vfs.lookup(games, name.as_bytes()).unwrap();
            assert_eq!(attr.ino, ino);
            assert_eq!(vfs.attr(ino).unwrap(), attr);
            let text = vfs.read(ino, 0, u32::MAX).unwrap();
            assert_eq!(text.len() as u64, attr.size);
            numbers.push(ino);
        }
    }
    let count = numbers.len();
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), count);
    assert!(count > 10);
    for number in [2, 9 << 40, (9 << 40) + 1, u64::MAX] {
        assert!(vfs.attr(Ino(number)).is_err());
    }
}

#[test]
fn bases_are_opened_on_first_access() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..500 {
        fs::write(directory.path().join(format!("{number}.cbh")), "nonsense").unwrap();
    }
    let start = Instant::now();
    let vfs = shelf(directory.path());
    let bases = names(&vfs, Ino::ROOT);
    assert_eq!(bases.len(), 503);
    assert!(start.elapsed() < SOON);
    assert_eq!(vfs.statistics().bytes, 0);
    put(directory.path(), "sample", "7");
    let root = bases["7"];
    assert!(
        vfs.lookup(root, b"games").is_ok(),
        "as it is when looked into"
    );
    assert!(vfs.statistics().files > 0);
}

#[test]
fn numbers_are_the_same_at_the_next_mount() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..300 {
        fs::write(directory.path().join(format!("base {number}.cbh")), "").unwrap();
    }
    let first = names(&shelf(directory.path()), Ino::ROOT);
    assert_eq!(names(&shelf(directory.path()), Ino::ROOT), first);
    let numbers: std::collections::BTreeSet<u64> =
        first.values().map(|ino| ino.base_number()).collect();
    assert_eq!(numbers.len(), 301);
    fs::remove_file(directory.path().join("base 17.cbh")).unwrap();
    let others = names(&shelf(directory.path()), Ino::ROOT);
    let same = others.iter().filter(|(name, ino)| first[*name] == **ino);
    assert!(same.count() >= others.len() - 1, "but for collisions");
}

#[test]
fn more_bases_than_numbers_are_handled() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..8200 {
        fs::write(directory.path().join(format!("{number}.cbh")), "").unwrap();
    }
    let vfs = shelf(directory.path());
    assert_eq!(names(&vfs, Ino::ROOT).len(), 3 + 8191);
    vfs.refresh();
    assert_eq!(names(&vfs, Ino::ROOT).len(), 3 + 8191);
}

#[test]
fn a_removed_base_is_stale_and_returns_with_its_number() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), "sample", "one");
    put(directory.path(), "sample", "two");
    let vfs = shelf(directory.path());
    let root = vfs.lookup(Ino::ROOT, b"one").unwrap().ino;
    let games = vfs.lookup(root, b"games").unwrap().ino;
    take(directory.path(), "one");
    assert_eq!(vfs.refresh().directories, [root, games, Ino::ROOT]);
    assert_eq!(
        vfs.lookup(Ino::ROOT, b"one").unwrap_err().errno(),
        libc::ENOENT
    );
    assert_eq!(vfs.attr(games).unwrap_err().errno(), libc::ESTALE);
    put(directory.path(), "sample", "one");
    vfs.refresh();
    assert_eq!(vfs.lookup(Ino::ROOT, b"one").unwrap().ino, root);
    assert!(vfs.lookup(games, b"000001.pgn").is_ok());
}

#[test]
fn saves_of_a_base_that_was_moved_away_are_not_called_durable() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), "sample", "one");
    put(directory.path(), "sample", "two");
    let folder = BasesFolder::new(directory.path(), Reading::default(), None);
    let folder = folder.written_by(Some(Writer {
        label: "/mnt".to_owned(),
        clock: SystemTime::now,
        drops_foreign_tags: false,
        merges: None,
        is_ending: |_| false,
    }));
    let vfs = Vfs::folder(folder, &Options::default()).unwrap();
    let root = vfs.lookup(Ino::ROOT, b"one").unwrap().ino;
    vfs.list(root, 0, &mut |_| true).unwrap();
    let text = b"[White \"New\"]\n\n1. e4 *\n";
    vfs.edit(root, &mut |editor| editor.append(text, &[]))
        .unwrap();
    take(directory.path(), "one");
    vfs.refresh();
    assert!(vfs.sync().is_err());
    // One that went away without saves in its journal has none to lose.
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), "sample", "one");
    let vfs = shelf(directory.path());
    assert!(vfs.lookup(Ino::ROOT, b"one").is_ok());
    take(directory.path(), "one");
    vfs.refresh();
    vfs.sync().unwrap();
}

#[test]
fn a_mounted_folder_follows_its_directory() {
    if !common::has_fuse() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), "sample", "one");
    let mount = Mount::new(shelf(directory.path()));
    assert_eq!(
        mount.shell("ls; ls one | grep -xE 'deleted|games|texts' | tr '\\n' ' '"),
        "one\ndeleted games texts"
    );
    assert_eq!(mount.shell("test -e two || echo none"), "none");
    put(directory.path(), "texts", "two");
    mount.soon_prints(
        "ls; ls two | grep -xE 'deleted|games|texts' | tr '\\n' ' '",
        "one\ntwo\ndeleted games texts",
    );
    // One that cannot be opened says why, until it can.
    fs::write(directory.path().join("bad.cbh"), "nonsense").unwrap();
    mount.soon_prints("ls; ls bad", "bad\none\ntwo\nERROR");
    let why = mount.shell("cat bad/ERROR");
    let missing = directory.path().join("bad.cbg");
    assert_eq!(
        why,
        format!(
            "{}: not found; a base cannot be read without its moves",
            missing.display()
        )
    );
    assert_eq!(
        mount.shell("stat -c %s bad/ERROR"),
        (why.len() + 1).to_string()
    );
    put(directory.path(), "sample", "bad");
    mount.soon_prints(
        "ls bad | grep -xE 'deleted|games|texts' | tr '\\n' ' '",
        "deleted games texts",
    );
    assert_eq!(
        mount.shell("cmp bad/games/000001.pgn one/games/000001.pgn && echo same"),
        "same"
    );
    take(directory.path(), "one");
    mount.soon_prints(
        "ls; test -e one/games/000001.pgn || echo gone",
        "bad\ntwo\ngone",
    );
}

#[test]
fn find_cp_grep_and_tar_walk_a_folder_of_bases() {
    if !common::has_fuse() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for base in ["sample", "texts", "headers", "encodings"] {
        put(directory.path(), base, base);
    }
    fs::write(directory.path().join("bad.cbh"), "nonsense").unwrap();
    let mount = Mount::new(shelf(directory.path()));
    let copy = tempfile::tempdir().unwrap();
    let to = copy.path().join("copy");
    assert_eq!(mount.shell(&format!("cp -r . {}", to.display())), "");
    assert_eq!(
        mount.shell(&format!(
            "diff -r --no-dereference -x .cbfs . {}",
            to.display()
        )),
        ""
    );
    let found: u32 = mount.shell("find . -type f | wc -l").parse().unwrap();
    assert!(found > 20, "{found}");
    assert_eq!(
        mount.shell("find . -size +0 -type f -o -name defects.txt -size 0 | wc -l"),
        found.to_string()
    );
    assert_eq!(
        mount.shell("tar c . | tar tv | grep -vc '^[dl]'"),
        found.to_string()
    );
    assert_eq!(
        mount.shell("grep -rl --exclude-dir=.cbfs 'not found' . "),
        "./bad/ERROR"
    );
    assert_eq!(mount.shell("ls -f | grep -c ."), "8");
    assert_eq!(
        mount.shell("cd sample/games && ls ../../texts | grep -xE 'deleted|games|texts'"),
        "deleted\ngames\ntexts"
    );
    let inodes = |mount: &Mount| mount.shell("find . -printf '%p %i\\n' | sort");
    let before = inodes(&mount);
    drop(mount);
    assert_eq!(inodes(&Mount::new(shelf(directory.path()))), before);
}

#[test]
fn a_base_keeps_its_name_when_another_with_that_name_appears() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), "sample", "a");
    let vfs = shelf(directory.path());
    let games = |name: &str| {
        let root = vfs.lookup(Ino::ROOT, name.as_bytes()).unwrap().ino;
        let games = vfs.lookup(root, b"games").unwrap().ino;
        let mut count = 0;
        let counted = vfs.list(games, 2, &mut |_| {
            count += 1;
            true
        });
        counted.unwrap();
        (root, count)
    };
    let (root, sample) = games("a");
    // It sorts first, and its blank at the end is not shown.
    put(directory.path(), "texts", "a ");
    vfs.refresh();
    assert_eq!(games("a"), (root, sample));
    let (other, texts) = games("a ~2");
    assert!(other != root && texts != sample);
    take(directory.path(), "a");
    vfs.refresh();
    assert!(vfs.lookup(Ino::ROOT, b"a").is_err());
    assert_eq!(games("a ~2"), (other, texts));
}
