//! Archives: reading, unpacking and creation.

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

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use cbfs::archive::{Archive, ArchiveMember, BlockCache, Error, Options, Password, unpack};
use cbfs::base::open_archived;
use cbfs::cbh::{self, Decoded, GameId, GuidingText};
use cbfs::storage::{FolderTree, ReadBuffer};
use cbfs::vfs::{BasesFolder, DatabaseSource, Vfs};
use common::command::{CBFS, cbfs, files_in, said, succeeds};
use common::mounted::Mount;

const PASSWORD: &str = "a knight on the rim";

fn fixture(name: &str) -> PathBuf {
    common::fixtures().join("archive").join(name)
}

fn with_password(password: &str) -> Options {
    Options {
        password: Password::new(password),
        ..Options::default()
    }
}

fn opened(path: &Path) -> Arc<Archive> {
    Archive::open(path, &with_password(PASSWORD)).unwrap()
}

/// All files of a folder of an archive by their paths, as far as they can be
/// read.
fn contents(root: &Arc<dyn FolderTree>) -> BTreeMap<String, io::Result<Vec<u8>>> {
    let mut contents = BTreeMap::new();
    let mut folders = vec![(String::new(), Arc::clone(root))];
    while let Some((prefix, folder)) = folders.pop() {
        for name in folder.names() {
            let path = format!("{prefix}{}", name.to_str().unwrap());
            if let Some(inner) = folder.folder(&name) {
                folders.push((format!("{path}/"), inner));
            } else {
                let file = folder.open(&name).unwrap();
                let len = usize::try_from(file.len().unwrap().min(1 << 24)).unwrap();
                let mut buffer = ReadBuffer::default();
                let read = file.read(0, len, &mut buffer).map(<[u8]>::to_vec);
                contents.insert(path, read);
            }
        }
    }
    contents
}

/// The same of an archive that is whole.
fn whole(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let archive = opened(path);
    assert_eq!(archive.faults().count(), 0, "{}", path.display());
    let contents = contents(&archive.root()).into_iter();
    contents.map(|(path, read)| (path, read.unwrap())).collect()
}

/// The files of a fixture base.
fn base(name: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = files_in(&common::fixtures().join("cbh").join(name));
    files.remove("expected.jsonl");
    files
}

#[test]
fn members_equal_the_files_that_were_packed() {
    assert!(whole(&fixture("sample.cbv")) == base("sample"));
    assert!(whole(&fixture("secret.cbz")) == base("sample"));
    let mut texts = whole(&fixture("texts.cbv"));
    let large = texts.remove("texts.html/large.txt").unwrap();
    let line = |line: usize| format!("{} {}\n", line % 211, "=".repeat(line % 7));
    assert!(large == (0..9000).map(line).collect::<String>().into_bytes());
    assert!(texts == base("texts"));
}

#[test]
fn any_part_of_a_member_is_read_by_itself() {
    let options = Options {
        blocks: BlockCache::new(0),
        ..Options::default()
    };
    let archive = Archive::open(&fixture("texts.cbv"), &options).unwrap();
    let folder = archive.root().folder(OsStr::new("texts.html")).unwrap();
    let file = folder.open(OsStr::new("large.txt")).unwrap();
    let len = usize::try_from(file.len().unwrap()).unwrap();
    assert!(len > 61_440 + 100, "more than a block");
    let mut all = Vec::new();
    file.fill(0, len, &mut all).unwrap();
    for (from, count) in [
        (len - 10, 100),
        (61_439, 2),
        (61_440, 1),
        (61_435, 500),
        (0, 61_440),
        (len, 5),
        (len + 5, 5),
        (7, 0),
    ] {
        let mut part = Vec::new();
        file.fill(from as u64, count, &mut part).unwrap();
        let expected = all.get(from..).unwrap_or_default();
        assert_eq!(
            part,
            expected[..count.min(expected.len())],
            "{from} {count}"
        );
    }
}

/// Changes an archive, and holds what can be read of it against what was in
/// it: right bytes, or an error. Gives what is wrong.
fn judge(bytes: &[u8], right: &[Vec<u8>], place: &Path, what: &str) {
    fs::write(place, bytes).unwrap();
    let archive = match Archive::open(place, &Options::default()) {
        Ok(archive) => archive,
        Err(error @ (Error::NotAnArchive { .. } | Error::Password { .. })) => {
            let line = error.to_string();
            assert!(line.contains(place.to_str().unwrap()), "{what}: {line}");
            return;
        }
        Err(error) => panic!("{what}: {error}"),
    };
    for (path, read) in contents(&archive.root()) {
        match read {
            Ok(read) => assert!(right.contains(&read), "{what}: {path} has other bytes"),
            Err(error) => {
                let kinds = [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof];
                assert!(kinds.contains(&error.kind()), "{what}: {path}: {error}");
            }
        }
    }
}

/// Where the sum of a block leaves out its odd last byte: nothing can tell
/// when that is changed.
fn unsummed(archive: &[u8], table_end: usize) -> BTreeSet<usize> {
    let mut at = table_end;
    let mut places = BTreeSet::new();
    while let Some(head) = archive.get(at..at + 2) {
        let len = usize::from(u16::from_le_bytes([head[0], head[1]]));
        at += 4 + len;
        if len % 2 == 1 {
            places.insert(at - 1);
        }
    }
    places
}

#[test]
fn every_truncation_is_an_error_or_leaves_the_right_bytes() {
    let bytes = fs::read(fixture("sample.cbv")).unwrap();
    let right: Vec<Vec<u8>> = base("sample").into_values().collect();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("cut.cbv");
    for len in (0..bytes.len()).step_by(7).chain(0..40) {
        judge(&bytes[..len], &right, &place, &format!("cut to {len}"));
    }
}

#[test]
fn every_changed_byte_is_an_error_or_leaves_the_right_bytes() {
    let bytes = fs::read(fixture("sample.cbv")).unwrap();
    let right: Vec<Vec<u8>> = base("sample").into_values().collect();
    let table_end = 8 + 173 * right.len();
    let unsummed = unsummed(&bytes, table_end);
    assert!(unsummed.len() < 10, "{unsummed:?}");
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("changed.cbv");
    for at in (0..bytes.len()).filter(|at| !unsummed.contains(at)) {
        // Leftovers behind names, the date and the like say nothing.
        let flip = [0x01, 0x80, 0x24, 0xff][at % 4];
        let mut changed = bytes.clone();
        changed[at] ^= flip;
        judge(
            &changed,
            &right,
            &place,
            &format!("{at:#x} changed by {flip:#x}"),
        );
    }
}

#[test]
fn any_bytes_in_an_archive_give_text_or_an_error() {
    let whole = fs::read(fixture("texts.cbv")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("wild.cbv");
    let mut state = 20_260_102_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut decoded = (Decoded::default(), GuidingText::default());
    let mut bases = 0;
    for _ in 0..150 {
        let mut bytes = whole.clone();
        for _ in 0..=next(6) {
            // The table as often as the rest.
            let near = [3300, bytes.len()][next(2)];
            let (at, len) = (next(near), 1 + next(8));
            let fill = [0, 0xff, u8::try_from(next(256)).unwrap()][next(3)];
            let end = bytes.len().min(at + len);
            bytes[at..end].fill(fill);
        }
        fs::write(&place, &bytes).unwrap();
        let Ok(archive) = Archive::open(&place, &Options::default()) else {
            continue;
        };
        let mut faults = 0;
        archive
            .examine(&mut |_| true, &mut |_| faults += 1)
            .unwrap();
        contents(&archive.root());
        let Ok(database) = open_archived(&archive, &cbh::Options::default()) else {
            continue;
        };
        bases += 1;
        for id in 1..=database.last_id().min(1000) {
            let _ = database.read_game(GameId(id), &mut decoded.0);
            let _ = database.read_text(GameId(id), &mut decoded.1);
        }
    }
    assert!(bases > 20, "{bases}");
}

#[test]
fn hostile_names_are_left_out_and_nothing_is_written_outside() {
    let archive = opened(&fixture("hostile.cbv"));
    assert_eq!(archive.faults().count(), 16);
    let read = contents(&archive.root());
    let read: BTreeMap<_, _> = read
        .into_iter()
        .map(|(path, read)| (path, read.unwrap()))
        .collect();
    assert!(read == base("sample"), "{:?}", read.keys());
    for name in [
        "..",
        ".",
        "../evil.txt",
        "/etc/passwd",
        "",
        "sample.html/..",
    ] {
        let name = OsStr::new(name);
        assert!(archive.root().open(name).is_err(), "{name:?}");
        assert!(archive.root().folder(name).is_none(), "{name:?}");
    }
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("a/b");
    fs::create_dir(outside.path().join("a")).unwrap();
    let refused = unpack(&archive, &target, false, &mut |_| true).unwrap_err();
    assert!(refused.to_string().contains("--skip-damaged"), "{refused}");
    assert_eq!(files_in(outside.path()), BTreeMap::new());
    let unpacked = unpack(&archive, &target, true, &mut |_| true).unwrap();
    assert_eq!((unpacked.files, unpacked.left_out.len()), (13, 16));
    let expected = base("sample").into_iter();
    let expected: BTreeMap<_, _> = expected
        .map(|(name, bytes)| (format!("a/b/{name}"), bytes))
        .collect();
    assert!(files_in(outside.path()) == expected);
    assert!(!Path::new("/tmp/evil.txt").exists());
    // No name brings a control character to a terminal.
    let shown = said(&cbfs(&[
        OsString::from("info"),
        fixture("hostile.cbv").into(),
    ]));
    assert!(shown.contains("evil\\n"), "{shown}");
}

#[test]
fn an_archive_is_unpacked_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new");
    let told = succeeds(&[
        OsStr::new("unpack"),
        fixture("texts.cbv").as_os_str(),
        target.as_os_str(),
    ]);
    let count = whole(&fixture("texts.cbv")).len();
    assert!(
        told.starts_with(&format!("{count} files unpacked to ")),
        "{told}"
    );
    let files = files_in(&target);
    assert!(files == whole(&fixture("texts.cbv")));
    let modified = fs::metadata(target.join("texts.cbh"))
        .unwrap()
        .modified()
        .unwrap();
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
    // 2026-01-02 03:04:05.06 UTC.
    assert_eq!(since.as_millis(), 1_767_323_045_060);

    // Nothing that is there is written over, in any letter case.
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("SAMPLE.cbg"), "mine").unwrap();
    fs::write(other.join("note"), "mine too").unwrap();
    let before = files_in(&other);
    let output = cbfs(&[
        OsStr::new("unpack"),
        fixture("sample.cbv").as_os_str(),
        other.as_os_str(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("\"SAMPLE.cbg\", which is there already"),
        "{}",
        said(&output)
    );
    assert_eq!(files_in(&other), before);
    assert_eq!(
        fs::read_dir(&other).unwrap().count(),
        2,
        "nothing is left behind"
    );
    fs::remove_file(other.join("SAMPLE.cbg")).unwrap();
    succeeds(&[
        OsStr::new("unpack"),
        fixture("sample.cbv").as_os_str(),
        other.as_os_str(),
    ]);
    let mut expected = base("sample");
    expected.insert("note".to_owned(), b"mine too".to_vec());
    assert!(files_in(&other) == expected);

    // Nor does a base that is there get a file, or its saves, out of an archive.
    for (number, name) in ["Sample.cit", ".sample.cbfs-journal"]
        .into_iter()
        .enumerate()
    {
        let place = folder.path().join(format!("base {number}"));
        fs::create_dir(&place).unwrap();
        fs::write(place.join(name), "mine").unwrap();
        let output = cbfs(&[
            OsStr::new("unpack"),
            fixture("sample.cbv").as_os_str(),
            place.as_os_str(),
        ]);
        assert_eq!(output.status.code(), Some(1));
        let told = said(&output);
        assert!(
            told.contains("would belong to the same base or book as"),
            "{told}"
        );
        assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
        fs::remove_dir_all(place).unwrap();
    }

    // A damaged block: nothing, unless that is asked for.
    let mut bytes = fs::read(fixture("texts.cbv")).unwrap();
    let end = bytes.len();
    bytes[end - 900] ^= 1;
    let damaged = folder.path().join("damaged.cbv");
    fs::write(&damaged, bytes).unwrap();
    let place = folder.path().join("damaged");
    let arguments = [OsStr::new("unpack"), damaged.as_os_str(), place.as_os_str()];
    let output = cbfs(&arguments);
    assert_eq!(output.status.code(), Some(1));
    let line = said(&output);
    assert!(
        line.contains("texts.html/large.txt: block 1 of its archive, at 0x"),
        "{line}"
    );
    assert!(!place.exists());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        3,
        "nothing is left behind"
    );
    let output = cbfs(&[&arguments[..], &[OsStr::new("--skip-damaged")]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let mut rest = whole(&fixture("texts.cbv"));
    rest.remove("texts.html/large.txt");
    assert!(files_in(&place) == rest);
}

#[test]
fn what_is_made_of_private_files_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, bytes) in base("sample") {
        let path = at(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let run = |command: &str, from: &str, to: &str| {
        succeeds(&[OsString::from(command), at(from).into(), at(to).into()]);
    };
    run("pack", "sample.cbh", "new.cbv");
    run("unpack", "new.cbv", "out");
    run("convert", "new.cbv", "new.cbh");
    for name in [
        "new.cbv",
        "out/sample.cbh",
        "out/sample.cbg",
        "new.cbh",
        "new.cbp",
    ] {
        let mode = fs::metadata(at(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn packed_files_are_unpacked_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    fs::write(&password, "grün\nsecond line").unwrap();
    for (name, extension) in [
        ("sample", "cbv"),
        ("texts", "cbv"),
        ("names-1251", "cbv"),
        ("texts", "cbz"),
    ] {
        let cbh = common::fixture(&format!("cbh/{name}/{name}.cbh"));
        let archive = folder.path().join(name).with_extension(extension);
        let (pack, file) = (OsStr::new("pack"), OsStr::new("--password-file"));
        let mut arguments = vec![pack, cbh.as_os_str(), archive.as_os_str()];
        if extension == "cbz" {
            arguments.extend([file, password.as_os_str()]);
        }
        succeeds(&arguments);
        let options = with_password("grün");
        let packed = Archive::open(&archive, &options).unwrap();
        assert_eq!(packed.faults().count(), 0);
        assert_eq!(packed.is_enciphered(), extension == "cbz");
        assert_eq!(packed.members()[0].path(), format!("{name}.cbh"));
        let read = contents(&packed.root()).into_iter();
        let read: BTreeMap<_, _> = read.map(|(path, read)| (path, read.unwrap())).collect();
        assert!(read == base(name), "{name}");
        // What is there is not written over.
        let before = fs::read(&archive).unwrap();
        let output = cbfs(&arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            said(&output).contains("exists already"),
            "{}",
            said(&output)
        );
        assert_eq!(fs::read(&archive).unwrap(), before);
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        5,
        "nothing is left behind"
    );
}

/// A copy of the sample in `folder`, with a folder of pictures.
fn sample_with_pictures(folder: &Path) -> PathBuf {
    for (path, bytes) in base("sample") {
        let to = folder.join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, bytes).unwrap();
    }
    fs::create_dir_all(folder.join("sample.html")).unwrap();
    folder.join("sample.cbh")
}

#[test]
fn special_files_are_skipped_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let cbh = sample_with_pictures(folder.path());
    let link = |name: &str| std::os::unix::fs::symlink("/etc/hostname", folder.path().join(name));
    link("sample.html/linked.jpg").unwrap();
    link("sample.cko").unwrap();
    link("sample.bmp").unwrap();
    let pipe = folder.path().join("sample.html/pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let archive = folder.path().join("sample.cbv");
    let output = cbfs(&[OsStr::new("pack"), cbh.as_os_str(), archive.as_os_str()]);
    assert!(output.status.success(), "{}", said(&output));
    for told in [
        "sample.html/linked.jpg: a link, not packed",
        "sample.html/pipe: a pipe, not packed",
        "sample.cko: a link, not packed",
        "sample.bmp: a link, not packed",
    ] {
        assert!(said(&output).contains(told), "{}", said(&output));
    }
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 4);
    let packed = opened(&archive);
    assert!(
        packed
            .members()
            .iter()
            .all(|member| !member.path().contains("pipe"))
    );
}

/// Runs a command, kills it when the file `begun` is there, and says whether it
/// was in time.
fn kills_when_begun(arguments: &[&OsStr], begun: &Path) -> bool {
    let mut command = Command::new(CBFS);
    command.args(arguments);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    while !begun.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

#[test]
fn a_folder_of_the_user_with_the_name_of_a_temporary_one_stays() {
    let folder = tempfile::tempdir().unwrap();
    let cbh = sample_with_pictures(&folder.path().join("inside"));
    let archive = folder.path().join("new.cbv");
    let pack = |to: &Path| cbfs(&[OsStr::new("pack"), cbh.as_os_str(), to.as_os_str()]);
    assert!(pack(&archive).status.success());
    let [other, out, new] = ["other.cbv", "out", "new.cbh"].map(|name| folder.path().join(name));
    let [unpack, convert] = ["unpack", "convert"].map(OsStr::new);
    for (hidden, run) in [
        (
            ".other.cbv.cbfs-new",
            [OsStr::new("pack"), cbh.as_os_str(), other.as_os_str()],
        ),
        (
            ".out.cbfs-new",
            [unpack, archive.as_os_str(), out.as_os_str()],
        ),
        (
            ".new.cbfs-new",
            [convert, archive.as_os_str(), new.as_os_str()],
        ),
    ] {
        let mine = folder.path().join(hidden).join("mydir/f");
        fs::create_dir_all(mine.parent().unwrap()).unwrap();
        fs::write(&mine, "x").unwrap();
        let output = cbfs(&run);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(hidden), "{}", said(&output));
        assert_eq!(fs::read(&mine).unwrap(), b"x");
        let entries = fs::read_dir(folder.path().join(hidden)).unwrap();
        assert_eq!(entries.count(), 1);
    }
    assert!(![other, out, new].iter().any(|made| made.exists()));
}

#[test]
fn leftovers_of_a_killed_command_are_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    let cbh = sample_with_pictures(&inside);
    let picture: Vec<u8> = (0..3_000_000_u32)
        .map(|at| at.wrapping_mul(at).to_be_bytes()[1])
        .collect();
    fs::write(inside.join("sample.html/large.bmp"), &picture).unwrap();
    let names = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names: BTreeSet<String> = names.collect();
        names
    };
    let archive = folder.path().join("new.cbv");
    let hidden = folder.path().join(".new.cbv.cbfs-new/new.cbv");
    let pack = [OsStr::new("pack"), cbh.as_os_str(), archive.as_os_str()];
    assert!(kills_when_begun(&pack, &hidden), "it was too fast");
    assert!(
        names().iter().eq([".new.cbv.cbfs-new", "inside"]),
        "{:?}",
        names()
    );
    succeeds(&pack);
    assert!(names().iter().eq(["inside", "new.cbv"]), "{:?}", names());
    let out = folder.path().join("out");
    let hidden = folder.path().join(".out.cbfs-new/new/sample.cbh");
    let unpack = [OsStr::new("unpack"), archive.as_os_str(), out.as_os_str()];
    assert!(kills_when_begun(&unpack, &hidden), "it was too fast");
    assert!(names().contains(".out.cbfs-new") && !names().contains("out"));
    succeeds(&unpack);
    assert!(
        names().iter().eq(["inside", "new.cbv", "out"]),
        "{:?}",
        names()
    );
    assert_eq!(
        fs::read(out.join("sample.html/large.bmp")).unwrap(),
        picture
    );
}

#[test]
fn an_archive_needs_its_password_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let [right, wrong] = ["right", "wrong"].map(|name| folder.path().join(name));
    fs::write(&right, format!("{PASSWORD}\r\n")).unwrap();
    fs::write(&wrong, "a bishop").unwrap();
    let secret = fixture("secret.cbz");
    for command in ["info", "export", "check"] {
        let run = |file: Option<&Path>| {
            let mut run = Command::new(CBFS);
            run.arg(command).arg(&secret).stdin(Stdio::null());
            if let Some(file) = file {
                run.arg("--password-file").arg(file);
            }
            run.output().unwrap()
        };
        let missing = run(None);
        assert!(
            said(&missing).contains("has a password"),
            "{}",
            said(&missing)
        );
        assert!(
            said(&missing).contains("--password-file"),
            "{}",
            said(&missing)
        );
        let refused = run(Some(&wrong));
        assert!(
            said(&refused).contains("not its password"),
            "{}",
            said(&refused)
        );
        assert!(!missing.status.success() && !refused.status.success());
        let done = run(Some(&right));
        assert!(done.status.success(), "{}", said(&done));
        assert!(!said(&done).contains(PASSWORD));
    }
    // The cipher leaves out the lowest bit of each byte of the key, so a
    // password that differs in that alone opens it too.
    assert!(Archive::open(&secret, &with_password("a knight on the ril")).is_ok());
    assert!(Archive::open(&secret, &with_password("A knight on the rim")).is_err());
}

#[test]
fn files_that_are_not_archives_are_identified() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("x.cbv");
    let sample = fs::read(fixture("sample.cbv")).unwrap();
    for (bytes, name, expected) in [
        (&b""[..], "x.cbv", "too short"),
        (b"\x08\0\x0c\0", "x.cbv", "too short"),
        (
            b"PK\x03\x04 and so on",
            "x.cbz",
            "a ZIP file, as comic books are",
        ),
        (b"Rar!\x1a\x07\x00 and so on", "x.cbv", "a RAR file"),
        (b"<!DOCTYPE html><html>", "x.cbv", "a page of the web"),
        (
            b"something else",
            "x.cbv",
            "it begins with 736f6d657468696e",
        ),
        (b"something else", "x.cbz", "has a password"),
        (
            &sample[..2000],
            "x.cbv",
            "cut short, or one part of several",
        ),
        (b"\x08\0\0\0\xad\0\x03\0", "x.cbv", "without members"),
        (
            b"\x08\0\x01\0\x10\0\x03\0",
            "x.cbv",
            "cannot have less than 140",
        ),
    ] {
        let place = place.with_file_name(name);
        fs::write(&place, bytes).unwrap();
        let error = Archive::open(&place, &Options::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.starts_with(place.to_str().unwrap()), "{error}");
    }
}

fn vfs_of(path: &Path) -> Vfs {
    let source = DatabaseSource::new(path, cbh::Options::default(), None);
    let source = source.with_archives(with_password(PASSWORD));
    Vfs::open(Box::new(source), &cbfs::vfs::Options::default()).unwrap()
}

#[test]
fn a_base_in_an_archive_is_mounted_as_if_it_lay_on_disk() {
    for (archive, name) in [
        ("sample.cbv", "sample"),
        ("secret.cbz", "sample"),
        ("texts.cbv", "texts"),
    ] {
        let packed = Mount::new(vfs_of(&fixture(archive)));
        let cbh = common::fixture(&format!("cbh/{name}/{name}.cbh"));
        let on_disk = Mount::new(vfs_of(&cbh));
        let mut files = [&packed, &on_disk].map(|mount| {
            let mut files = files_in(&mount.path(""));
            files.retain(|path, _| !path.starts_with(".cbfs/") && !path.starts_with("import/"));
            files
        });
        if name == "texts" {
            let large = files[0].remove("texts/media/large.txt").unwrap();
            assert_eq!(
                large.len(),
                whole(&fixture("texts.cbv"))["texts.html/large.txt"].len()
            );
            assert!(files[1].keys().any(|path| path.starts_with("texts/media/")));
        }
        assert!(files[0].len() > 10);
        let names = files
            .each_ref()
            .map(|files| files.keys().collect::<Vec<_>>());
        assert_eq!(names[0], names[1], "{archive}");
        assert!(files[0] == files[1], "{archive}");
        let status = fs::read_to_string(packed.path(".cbfs/status")).unwrap();
        assert!(status.contains("an archive is read-only"), "{status}");
        assert_eq!(
            fs::read_to_string(packed.path(".cbfs/defects.txt")).unwrap(),
            ""
        );
        let written = fs::write(packed.path("games/000001.pgn"), "x").unwrap_err();
        assert!(written.raw_os_error().is_some());
    }
}

#[test]
fn a_base_in_an_archive_is_shown_without_private_tags_too() {
    let texts = [false, true].map(|is_clean| {
        let source = DatabaseSource::new(&fixture("sample.cbv"), cbh::Options::default(), None);
        let source = Box::new(source.clean(is_clean));
        let mount = Mount::new(Vfs::open(source, &cbfs::vfs::Options::default()).unwrap());
        mount.shell("cat games/*.pgn")
    });
    let private = |text: &String| text.contains("[Cbh") || text.contains("[%cb");
    assert_eq!(texts.each_ref().map(private), [true, false]);
}

#[test]
fn a_folder_of_archives_and_bases_is_mounted_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, bytes) in base("sample") {
        fs::write(at(&name), bytes).unwrap();
    }
    for name in ["sample.cbv", "texts.cbv", "secret.cbz"] {
        fs::copy(fixture(name), at(name)).unwrap();
    }
    fs::write(at("broken.cbv"), "no archive at all").unwrap();
    let shelf = BasesFolder::new(folder.path(), cbh::Options::default(), None);
    let vfs = Vfs::folder(shelf, &cbfs::vfs::Options::default()).unwrap();
    let mount = Mount::new(vfs);
    let listed = mount.shell("ls");
    let expected = ["broken", "sample", "sample.cbv", "secret", "texts"];
    assert_eq!(listed.split_whitespace().collect::<Vec<_>>(), expected);
    assert_eq!(
        fs::read(mount.path("sample/pgn/all.pgn")).unwrap(),
        fs::read(mount.path("sample.cbv/pgn/all.pgn")).unwrap()
    );
    assert!(mount.shell("ls texts/texts/media").contains("large.txt"));
    let error = fs::read_to_string(mount.path("broken/ERROR")).unwrap();
    assert!(error.contains("not an archive of ChessBase"), "{error}");
    let error = fs::read_to_string(mount.path("secret/ERROR")).unwrap();
    assert!(error.contains("has a password"), "{error}");
}

#[test]
fn commands_read_a_base_in_an_archive() {
    let archive = fixture("sample.cbv");
    let cbh = common::fixture("cbh/sample/sample.cbh");
    let run = |command: &str, path: &Path| succeeds(&[OsStr::new(command), path.as_os_str()]);
    assert_eq!(run("export", &archive), run("export", &cbh));
    let info = run("info", &archive);
    assert!(
        info.starts_with("sample.cbv: ChessBase archive\n"),
        "{info}"
    );
    for line in run("info", &cbh).lines().skip(1) {
        assert!(info.contains(line), "{line}");
    }
    let check = run("check", &archive);
    assert!(check.contains("sample.cbv/sample.cbh: sound"), "{check}");
    // Damage is told with its place.
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged.cbv");
    let mut bytes = fs::read(&archive).unwrap();
    let end = bytes.len();
    bytes[end - 30] ^= 4;
    fs::write(&damaged, bytes).unwrap();
    let output = cbfs(&[OsStr::new("check"), damaged.as_os_str()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("damaged.cbv at 0x"),
        "{}",
        said(&output)
    );
    assert!(said(&output).contains("has the sum"), "{}", said(&output));
    // It is not changed.
    for arguments in [
        vec![
            OsStr::new("check"),
            OsStr::new("--repair"),
            archive.as_os_str(),
        ],
        vec![
            OsStr::new("import"),
            archive.as_os_str(),
            OsStr::new("x.pgn"),
        ],
        vec![OsStr::new("pack"), archive.as_os_str(), OsStr::new("x.cbv")],
    ] {
        let output = cbfs(&arguments);
        assert!(!output.status.success());
        assert!(!Path::new("x.cbv").exists());
    }
}

#[test]
fn games_are_imported_from_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    fs::write(&password, PASSWORD).unwrap();
    let export = |path: &Path| succeeds(&[OsStr::new("export"), path.as_os_str()]);
    let expected = export(&common::fixture("cbh/sample/sample.cbh"));
    for archive in ["sample.cbv", "secret.cbz"] {
        let new = folder.path().join(archive).with_extension("cbh");
        let told = succeeds(&[
            OsStr::new("import"),
            OsStr::new("--create"),
            OsStr::new("--password-file"),
            password.as_os_str(),
            new.as_os_str(),
            fixture(archive).as_os_str(),
        ]);
        assert!(told.starts_with("13 games appended as 1"), "{told}");
        assert!(export(&new) == expected, "{archive}");
    }
    // A game that cannot be read keeps all out.
    let damaged = folder.path().join("damaged.cbv");
    let mut bytes = fs::read(fixture("sample.cbv")).unwrap();
    let moves = opened(&fixture("sample.cbv"));
    let before: u64 = moves.members()[..4].iter().map(ArchiveMember::packed).sum();
    let table_end = 8 + 173 * moves.members().len();
    bytes[table_end + usize::try_from(before).unwrap() + 100] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let new = folder.path().join("new.cbh");
    let output = cbfs(&[
        OsStr::new("import"),
        OsStr::new("--create"),
        new.as_os_str(),
        damaged.as_os_str(),
    ]);
    assert!(
        !output.status.success() && !new.exists(),
        "{}",
        said(&output)
    );
    assert!(said(&output).contains("sample.cbg"), "{}", said(&output));
}

#[test]
fn real_archives_hold_the_bases_that_were_packed() {
    let Some(shared) = common::shared() else {
        return;
    };
    let archives = shared.join("archives");
    for (archive, password, name, expected) in [
        ("real/twic1134.cbv", "", "twic1134", 13),
        ("real/decrypted_small.cbv", "", "small", 12),
        ("real/small.cbz", "password", "small", 12),
        ("real/small2.cbz", "pass", "small", 12),
        ("made/small-149.cbv", "", "small", 12),
        ("made/small-folded.cbz", "my long password", "small", 12),
        ("made/small-stored.cbv", "", "small", 12),
        ("made/linares-mix.cbv", "", "linares", 14),
        ("made/mate2-lz.cbv", "", "mate2", 8),
        ("made/text-best.cbv", "", "text", 19),
    ] {
        let opened = Archive::open(&archives.join(archive), &with_password(password)).unwrap();
        assert_eq!(opened.faults().count(), 0, "{archive}");
        let files = files_in(&shared.join("bases").join(name));
        let contents = contents(&opened.root());
        assert_eq!(contents.len(), expected, "{archive}");
        for (path, read) in contents {
            assert!(read.unwrap() == files[&path], "{archive}: {path}");
        }
        open_archived(&opened, &cbh::Options::default()).unwrap();
    }
}

/// Broken archives, judged as a list beside them says.
#[test]
fn broken_archives_give_their_sound_parts_only() {
    let Some(shared) = common::shared() else {
        return;
    };
    let folder = shared.join("archives/bad");
    let expected = fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let mut by_digest: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let archives = expected.as_object().unwrap();
    assert!(archives.len() > 60, "{}", archives.len());
    for (name, expected) in archives {
        let password = expected["password"].as_str().unwrap_or_default();
        let opened = Archive::open(&folder.join(name), &with_password(password));
        if expected["outcome"] == "refuse" {
            let line = opened.expect_err(name).to_string();
            assert!(
                line.contains(name.as_str()) && !line.contains('\n'),
                "{line}"
            );
            continue;
        }
        let archive = opened.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut faults = Vec::new();
        archive
            .examine(&mut |_| true, &mut |fault| faults.push(fault))
            .unwrap();
        assert_eq!(
            faults.is_empty(),
            expected["outcome"] == "silent",
            "{name}: {faults:?}"
        );
        let mut contents: BTreeMap<String, _> = BTreeMap::new();
        for member in archive.members() {
            let (parent, leaf) = member
                .path()
                .rsplit_once('/')
                .unwrap_or(("", member.path()));
            let folders = parent.split('/').filter(|part| !part.is_empty());
            let folder = folders.fold(archive.root(), |at, part| {
                at.folder(OsStr::new(part)).unwrap()
            });
            contents.insert(
                member.path().to_owned(),
                folder.open(OsStr::new(leaf)).unwrap(),
            );
        }
        for member in expected["members"].as_array().unwrap() {
            let path = member["name"].as_str().unwrap().replace('\\', "/");
            let size = usize::try_from(member["size"].as_u64().unwrap()).unwrap();
            let file = contents.remove(&path);
            if member["state"] == "refused" {
                continue;
            }
            let file = file.unwrap_or_else(|| panic!("{name}: {path} is missing"));
            assert_eq!(file.len().unwrap(), size as u64, "{name}: {path}");
            let mut bytes = Vec::new();
            if member["state"] == "ok" {
                file.fill(0, size, &mut bytes).unwrap();
                let digest = member["sha256"].as_str().unwrap().to_owned();
                let known = by_digest.entry(digest).or_insert_with(|| bytes.clone());
                assert!(*known == bytes && bytes.len() == size, "{name}: {path}");
                continue;
            }
            for (key, is_good) in [("good_blocks", true), ("bad_blocks", false)] {
                for block in member[key].as_array().into_iter().flatten() {
                    let at = block.as_u64().unwrap() * 61_440;
                    let read = file.fill(at, 10, &mut bytes);
                    assert_eq!(read.is_ok(), is_good, "{name}: {path} block {block}");
                }
            }
        }
    }
    // The same digest was the same bytes, another one others.
    let distinct: BTreeSet<&Vec<u8>> = by_digest.values().collect();
    assert_eq!(distinct.len(), by_digest.len());
}

#[test]
fn blocks_that_chessbase_wrote_are_decoded() {
    let Some(shared) = common::shared() else {
        return;
    };
    // Blocks of a newer archive, made into archives of one member.
    for (name, len) in [
        ("twic1616.cbl.block", 1649_u32),
        ("twic1616.cbtt.block", 17_852),
    ] {
        let block = fs::read(shared.join("archives/real").join(name)).unwrap();
        let mut bytes = vec![8, 0, 1, 0, 149, 0, 3, 0];
        let mut record = vec![0; 149];
        record[..5].copy_from_slice(b"x.bin");
        record[128..132].copy_from_slice(&157_u32.to_le_bytes());
        record[132..136].copy_from_slice(&u32::try_from(block.len()).unwrap().to_le_bytes());
        record[136..140].copy_from_slice(&len.to_le_bytes());
        bytes.extend(record);
        bytes.extend(block);
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("x.cbv");
        fs::write(&place, bytes).unwrap();
        let archive = Archive::open(&place, &Options::default()).unwrap();
        let read = contents(&archive.root()).remove("x.bin").unwrap().unwrap();
        assert_eq!(
            crc32(&read),
            if len == 1649 {
                0xc5a6_81ad
            } else {
                0xb007_79cb
            }
        );
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _: u8| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
    let fold = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    !bytes.iter().fold(u32::MAX, fold)
}

/// What a terminal shows while a shell runs `script`, where `typed` is typed at
/// the first question.
fn on_a_terminal(script: &str, typed: &str) -> String {
    // Who runs the tests may have interrupts ignored, as in the background of a script.
    let mut terminal = Command::new("env")
        .args(["--default-signal=INT", "script", "-q", "-e", "-c"])
        .args([script, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script of util-linux makes a terminal");
    let mut shown = Vec::new();
    let mut out = terminal.stdout.take().unwrap();
    let mut keys = terminal.stdin.take().unwrap();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&shown).contains(": ") {
        let count = out.read(&mut buffer).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&shown));
        shown.extend(&buffer[..count]);
    }
    // The question is shown first.
    std::thread::sleep(Duration::from_millis(300));
    keys.write_all(typed.as_bytes()).unwrap();
    keys.flush().unwrap();
    out.read_to_end(&mut shown).unwrap();
    terminal.wait().unwrap();
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn a_password_that_is_typed_is_not_shown_and_the_terminal_is_as_before() {
    let secret = fixture("secret.cbz");
    let run = format!(
        "trap : INT; {CBFS} info {}; echo rc=$?; stty -a",
        secret.display()
    );
    let shown = on_a_terminal(&run, &format!("{PASSWORD}\n"));
    assert!(
        shown.contains("rc=0") && !shown.contains(PASSWORD),
        "{shown}"
    );
    assert!(shown.contains(" echo "), "{shown}");
    let shown = on_a_terminal(&run, "something else\n");
    assert!(
        shown.contains("rc=1") && shown.contains("not its password"),
        "{shown}"
    );
    let shown = on_a_terminal(&run, "half of it\u{3}");
    assert!(shown.contains("rc=130"), "{shown}");
    assert!(
        shown.contains(" echo ") && !shown.contains("half"),
        "{shown}"
    );
}

#[test]
fn a_password_is_the_first_line_of_what_is_still_open() {
    let mut command = Command::new(CBFS);
    command.arg("info").arg(fixture("secret.cbz"));
    command.args(["--password-file", "-"]);
    let mut info = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = info.stdin.take().unwrap();
    writeln!(input, "{PASSWORD}").unwrap();
    // Others wait for the end of what they read.
    let mut told = String::new();
    info.stdout
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    assert!(told.contains("ChessBase archive"), "{told}");
    drop(input);
    assert!(info.wait().unwrap().success());
}

#[test]
fn a_password_that_others_can_read_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open");
    fs::write(&file, PASSWORD).unwrap();
    for (mode, is_told) in [(0o644, true), (0o600, false)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let secret = fixture("secret.cbz");
        let option = OsStr::new("--password-file");
        let output = cbfs(&[
            OsStr::new("info"),
            secret.as_os_str(),
            option,
            file.as_os_str(),
        ]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(told.contains("other users can read"), is_told, "{told}");
        assert!(output.status.success(), "{told}");
    }
}
