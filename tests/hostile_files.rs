//! Files beside a base that another user may have put there: none makes cbfs
//! write elsewhere or change data shared with another folder, and reading
//! commands write nothing.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::SystemTime;

use cbfs::cbh::Options as Reading;
use cbfs::fuse::{self, Audience, Mounted, ReadDirPlus};
use cbfs::vfs::{BasesFolder, DatabaseSource, Ino, Options, Vfs, Writer};
use common::command::{cbfs, said, succeeds};
use common::copy_of_base;
use common::planted::{Step, journal, plant_journal, plant_note};
use tempfile::TempDir;

const GAME: &str = "[White \"New, One\"]\n[Black \"New, Two\"]\n[Result \"1-0\"]\n\n1. e4 e5 1-0\n";

/// Every extension of a file that a save may change.
const EXTENSIONS: [&str; 18] = [
    "cbh", "cbg", "cba", "cbp", "cbt", "cbc", "cbs", "cbj", "cbe", "cbl", "cbtt", "flags", "cbgi",
    "cbb", "cit", "cib", "cit2", "cib2",
];

/// Puts something beside a base.
type Plant<'a> = &'a dyn Fn(&Scene);

/// A base, and beside its folder a file that is none of its business.
struct Scene {
    folder: TempDir,
    cbh: PathBuf,
    victim: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base");
        fs::rename(copy_of_base("cbh/sample").keep(), &base).unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "years of work").unwrap();
        Scene {
            cbh: base.join("sample.cbh"),
            folder,
            victim,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.cbh.with_file_name(name)
    }

    fn journal(&self) -> PathBuf {
        self.at(".sample.cbfs-journal")
    }

    fn pgn(&self) -> PathBuf {
        let pgn = self.folder.path().join("new.pgn");
        fs::write(&pgn, GAME).unwrap();
        pgn
    }

    /// Puts a link to the victim in the place of a file.
    fn link(&self, name: &str) {
        let _ = fs::remove_file(self.at(name));
        symlink(&self.victim, self.at(name)).unwrap();
    }

    /// A journal with a save that deletes the first game.
    fn plant_save(&self) {
        let stored = fs::read(&self.cbh).unwrap();
        let flags = [stored[46]];
        let steps = [Step::Write(0, 46, &[flags[0] | 0x80], &flags)];
        plant_journal(&self.cbh, &[("sample.cbh", stored.len() as u64)], &steps);
    }

    /// Runs every command that opens a base, and both kinds of mount.
    fn try_everything(&self) -> String {
        let cbh = self.cbh.to_str().unwrap();
        let pgn = self.pgn();
        let new = self.folder.path().join("copy.cbh");
        let mut told = String::new();
        for arguments in [
            &["check", cbh][..],
            &["info", cbh],
            &["export", cbh, "-o", "/dev/null"],
            &["check", "--repair", cbh],
            &["import", cbh, pgn.to_str().unwrap()],
            &["compact", cbh, new.to_str().unwrap()],
        ] {
            told += &said(&cbfs(arguments));
        }
        if let Err(why) = open_to_write(&self.cbh).map(drop) {
            told += &why;
        }
        let folder = BasesFolder::new(self.cbh.parent().unwrap(), Reading::default(), None);
        let shelf = Vfs::folder(folder.written_by(Some(writer())), &Options::default()).unwrap();
        if let Ok(base) = shelf.lookup(Ino::ROOT, b"sample") {
            let _ = shelf.list(base.ino, 0, &mut |_| true);
        }
        shelf.close();
        told
    }

    fn assert_victim_untouched(&self, about: &str) {
        assert_eq!(fs::read(&self.victim).unwrap(), b"years of work", "{about}");
    }
}

fn writer() -> Writer {
    Writer {
        label: "/mnt/first".to_owned(),
        clock: SystemTime::now,
        drops_foreign_tags: false,
        merges: None,
        is_ending: |_| false,
    }
}

fn open_to_write(cbh: &Path) -> Result<Vfs, String> {
    let source = DatabaseSource::new(cbh, Reading::default(), None).written_by(Some(writer()));
    Vfs::open(Box::new(source), &Options::default())
}

/// Whether a mount could save to the base; it is closed again.
fn can_be_written(cbh: &Path) -> bool {
    let vfs = open_to_write(cbh).unwrap();
    let can_be_written = vfs.drafts().can_be_written();
    vfs.close();
    can_be_written
}

/// What `stat` says of all that is in a folder, but for when it was read.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (u64, u64, i64, i64)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let stat = |path: &Path| {
        let stat = fs::symlink_metadata(path).unwrap();
        (stat.ino(), stat.len(), stat.mtime_nsec(), stat.ctime_nsec())
    };
    let mut files: BTreeMap<_, _> = entries
        .map(|entry| (entry.path(), stat(&entry.path())))
        .collect();
    files.insert(folder.to_path_buf(), stat(folder));
    files
}

/// Gives a file to somebody else; only root can.
fn give_away(path: &Path) -> bool {
    let given = chown(path, Some(65_534), Some(65_534));
    if given.is_err() {
        println!("NOT CHECKED: only root can give a file away");
    }
    given.is_ok()
}

#[test]
fn a_planted_journal_changes_nothing_outside_the_folder() {
    for extension in EXTENSIONS {
        let scene = Scene::new();
        let name = format!("sample.{extension}");
        let len = fs::metadata(&scene.victim).unwrap().len();
        scene.link(&name);
        let any_length = [
            Step::SetLen(0, 1 << 40),
            Step::SetLen(0, 0),
            Step::Write(0, 0, b"PAYLOAD", b""),
            Step::SetLen(0, 7),
        ];
        let right_bytes = [Step::Write(0, 0, b"PAYLOAD", b"years o")];
        for (before, steps) in [(0, &any_length[..]), (len, &right_bytes)] {
            plant_journal(&scene.cbh, &[(&name, before)], steps);
            scene.try_everything();
            scene.assert_victim_untouched(extension);
        }
    }
}

#[test]
fn a_journal_without_the_overwritten_bytes_is_refused() {
    let scene = Scene::new();
    let cbh = scene.cbh.to_str().unwrap();
    let stored = fs::read(scene.at("sample.cbg")).unwrap();
    let len = stored.len() as u64;
    let any_length = [
        Step::SetLen(0, 1 << 40),
        Step::SetLen(0, 0),
        Step::Write(0, 0, b"PAYLOAD", b""),
        Step::SetLen(0, 7),
    ];
    let unknown = [Step::Write(0, 30, b"PAYLOAD", b"")];
    let wrong = [Step::Write(0, 30, b"PAYLOAD", b"payload")];
    let cut_and_wrong = [
        Step::SetLen(0, 0),
        Step::Write(0, 0, b"PAYLOAD", b"payload"),
    ];
    let plants = [
        (0, &any_length[..]),
        (len, &unknown),
        (len, &wrong),
        (len, &cut_and_wrong),
    ];
    for (at, (before, steps)) in plants.into_iter().enumerate() {
        plant_journal(&scene.cbh, &[("sample.cbg", before)], steps);
        let planted = fs::read(scene.journal()).unwrap();
        let output = cbfs(&["check", "--repair", cbh]);
        assert_eq!(output.status.code(), Some(2), "{at}: {}", said(&output));
        assert!(!can_be_written(&scene.cbh), "{at}");
        assert_eq!(fs::read(scene.at("sample.cbg")).unwrap(), stored, "{at}");
        assert_eq!(fs::read(scene.journal()).unwrap(), planted, "{at}");
    }
    // One that knows is replayed, also where it was done in part before.
    let steps = [
        Step::Write(0, 30, b"PAYLOAD", &stored[30..37]),
        Step::Write(0, len, b"behind", b""),
    ];
    for done in [0, 3, 6] {
        let mut partly = stored.clone();
        partly.extend(&b"behind"[..done]);
        partly[30..30 + done].copy_from_slice(&b"PAYLOAD"[..done]);
        fs::write(scene.at("sample.cbg"), partly).unwrap();
        plant_journal(&scene.cbh, &[("sample.cbg", len)], &steps);
        cbfs(&["check", "--repair", cbh]);
        let whole = fs::read(scene.at("sample.cbg")).unwrap();
        assert!(whole.ends_with(b"behind") && whole[30..].starts_with(b"PAYLOAD"));
        assert!(!scene.journal().exists());
    }
}

#[test]
fn a_planted_import_note_truncates_nothing_outside_the_folder() {
    for extension in EXTENSIONS {
        for (len, first_bytes) in [(0, &b""[..]), (5, b"years")] {
            let scene = Scene::new();
            let name = format!("sample.{extension}");
            scene.link(&name);
            plant_note(&scene.cbh, &name, len, first_bytes);
            scene.try_everything();
            scene.assert_victim_untouched(extension);
        }
    }
}

#[test]
fn a_symbolic_link_instead_of_a_file_is_reported_and_not_followed() {
    for extension in ["cba", "cbj", "flags"] {
        let scene = Scene::new();
        let name = format!("sample.{extension}");
        let elsewhere = scene.folder.path().join(&name);
        match fs::rename(scene.at(&name), &elsewhere) {
            Ok(()) => {}
            Err(_) => fs::write(&elsewhere, [0; 40]).unwrap(),
        }
        let before = fs::read(&elsewhere).unwrap();
        symlink(&elsewhere, scene.at(&name)).unwrap();
        let told = scene.try_everything();
        assert!(
            told.contains(&name) && told.contains("symbolic link"),
            "{told}"
        );
        assert_eq!(fs::read(&elsewhere).unwrap(), before, "{extension}");
        assert!(open_to_write(&scene.cbh).is_err(), "{extension}");
    }
}

#[test]
fn a_journal_that_is_not_a_regular_file_is_ignored() {
    let mode = nix::sys::stat::Mode::S_IRWXU;
    let plants: [(&str, Plant<'_>); 4] = [
        ("link", &|scene| scene.link(".sample.cbfs-journal")),
        ("pipe", &|scene| {
            nix::unistd::mkfifo(&scene.journal(), mode).unwrap();
        }),
        ("folder", &|scene| fs::create_dir(scene.journal()).unwrap()),
        ("second name", &|scene| {
            scene.plant_save();
            fs::rename(scene.journal(), scene.at("kept")).unwrap();
            fs::hard_link(scene.at("kept"), scene.journal()).unwrap();
        }),
    ];
    for (about, plant) in plants {
        let scene = Scene::new();
        plant(&scene);
        let before = snapshot(scene.cbh.parent().unwrap());
        scene.try_everything();
        scene.assert_victim_untouched(about);
        assert_eq!(snapshot(scene.cbh.parent().unwrap()), before, "{about}");
        assert!(!can_be_written(&scene.cbh), "{about}");
        succeeds(&["info", scene.cbh.to_str().unwrap()]);
    }
}

#[test]
fn an_import_note_that_is_not_a_regular_file_is_ignored() {
    let scene = Scene::new();
    scene.link(".sample.cbfs-stage");
    scene.try_everything();
    scene.assert_victim_untouched("note");
    assert!(!can_be_written(&scene.cbh));
}

#[test]
fn a_journal_of_another_user_is_neither_replayed_nor_shown() {
    let scene = Scene::new();
    scene.plant_save();
    if !give_away(&scene.journal()) {
        return;
    }
    let cbh = scene.cbh.to_str().unwrap();
    let before = snapshot(scene.cbh.parent().unwrap());
    let told = scene.try_everything();
    assert!(
        told.contains(".sample.cbfs-journal: belongs to user 65534"),
        "{told}"
    );
    assert!(told.contains("no copy is made without its saves"), "{told}");
    assert!(!scene.folder.path().join("copy.cbh").exists());
    assert!(told.contains("cbfs check --repair"), "{told}");
    assert_eq!(snapshot(scene.cbh.parent().unwrap()), before);
    assert!(!can_be_written(&scene.cbh));
    let exported = succeeds(&["export", cbh]);
    fs::remove_file(scene.journal()).unwrap();
    assert_eq!(exported, succeeds(&["export", cbh]));
    // Of the owner of the base it counts.
    scene.plant_save();
    give_away(&scene.journal());
    give_away(&scene.cbh);
    succeeds(&["check", "--repair", cbh]);
    assert!(!scene.journal().exists());
}

#[test]
fn an_import_note_of_another_user_is_ignored() {
    let scene = Scene::new();
    let moves = scene.at("sample.cbg");
    let stored = fs::read(&moves).unwrap();
    plant_note(&scene.cbh, "sample.cbg", 30, &stored[..26]);
    if !give_away(&scene.at(".sample.cbfs-stage")) {
        return;
    }
    scene.try_everything();
    assert_eq!(fs::read(&moves).unwrap(), stored);
    assert!(!can_be_written(&scene.cbh));
}

#[test]
fn a_file_with_several_hard_links_is_never_changed() {
    let scene = Scene::new();
    let backup = scene.folder.path().join("backup");
    fs::create_dir(&backup).unwrap();
    let bytes = fs::read(scene.at("sample.cbg")).unwrap();
    let vfs = open_to_write(&scene.cbh).unwrap();
    assert!(vfs.drafts().can_be_written());
    fs::hard_link(scene.at("sample.cbg"), backup.join("sample.cbg")).unwrap();
    let refused = vfs.edit(Ino::ROOT, &mut |editor| editor.append(GAME.as_bytes(), &[]));
    assert!(refused.is_err());
    vfs.close();
    assert!(!scene.journal().exists());
    let cbh = scene.cbh.to_str().unwrap();
    let pgn = scene.pgn();
    for arguments in [
        &["import", cbh, pgn.to_str().unwrap()][..],
        &["check", "--repair", cbh],
    ] {
        let output = cbfs(arguments);
        let told = said(&output);
        assert!(!output.status.success(), "{told}");
        assert!(told.contains("sample.cbg: has 2 names"), "{told}");
        assert!(told.contains("copy the folder"), "{told}");
    }
    assert!(!can_be_written(&scene.cbh));
    assert!(!scene.journal().exists());
    assert_eq!(fs::read(backup.join("sample.cbg")).unwrap(), bytes);
    fs::remove_file(backup.join("sample.cbg")).unwrap();
    succeeds(&["import", cbh, pgn.to_str().unwrap()]);
}

/// What was saved before stays in the journal, and nobody is told that it is in
/// the base: a backup made by `cp -al` came between.
#[test]
fn saves_blocked_by_a_hard_link_do_not_count_as_synced() {
    let scene = Scene::new();
    let backup = scene.folder.path().join("backup");
    let vfs = open_to_write(&scene.cbh).unwrap();
    let append = |vfs: &Vfs| vfs.edit(Ino::ROOT, &mut |editor| editor.append(GAME.as_bytes(), &[]));
    append(&vfs).unwrap();
    fs::hard_link(scene.at("sample.cbg"), &backup).unwrap();
    let bytes = fs::read(&backup).unwrap();
    vfs.refresh();
    assert!(!vfs.drafts().can_be_written());
    // A save that was begun before is told why it is refused.
    let refused = vfs.edit(Ino::ROOT, &mut |editor| editor.append(GAME.as_bytes(), &[]));
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("sample.cbg: has 2 names"), "{told}");
    let error = vfs.sync().unwrap_err();
    assert_eq!(error.errno(), libc::EROFS);
    let told = error.to_string();
    assert!(told.contains("sample.cbg: has 2 names"), "{told}");
    assert!(told.contains("hidden"), "{told}");
    assert_eq!(fs::read(&backup).unwrap(), bytes);
    // It goes on as soon as the second name is gone.
    fs::remove_file(&backup).unwrap();
    vfs.sync().unwrap();
    assert_ne!(fs::read(scene.at("sample.cbg")).unwrap(), bytes);
    vfs.close();
    assert!(!scene.journal().exists());
}

#[test]
fn a_journal_with_a_hard_link_takes_no_more_saves() {
    let scene = Scene::new();
    let vfs = open_to_write(&scene.cbh).unwrap();
    let append = || vfs.edit(Ino::ROOT, &mut |editor| editor.append(GAME.as_bytes(), &[]));
    append().unwrap();
    let backup = scene.folder.path().join("backup");
    fs::hard_link(scene.journal(), &backup).unwrap();
    let kept = fs::read(&backup).unwrap();
    assert!(append().is_err());
    assert_eq!(fs::read(&backup).unwrap(), kept);
    fs::remove_file(&backup).unwrap();
    append().unwrap();
    vfs.close();
}

#[test]
fn reading_commands_write_nothing_and_see_the_journal() {
    let scene = Scene::new();
    let cbh = scene.cbh.to_str().unwrap();
    let folder = scene.cbh.parent().unwrap();
    let sound = succeeds(&["check", cbh]);
    // As an import leaves the base that was killed amid it.
    let moves = scene.at("sample.cbg");
    let stored = fs::read(&moves).unwrap();
    fs::write(&moves, [&stored[..], &[7; 100]].concat()).unwrap();
    plant_note(&scene.cbh, "sample.cbg", stored.len() as u64, &stored[..26]);
    let before = snapshot(folder);
    assert_eq!(succeeds(&["check", cbh]), sound);
    assert_eq!(snapshot(folder), before);
    assert!(can_be_written(&scene.cbh));
    assert_eq!(fs::read(&moves).unwrap(), stored);
    // A game is deleted by a save in the journal only.
    let deleted = fs::read(&scene.cbh).unwrap()[46];
    let steps = [Step::Write(0, 46, &[deleted | 0x80], &[deleted])];
    let len = fs::metadata(&scene.cbh).unwrap().len();
    let all = succeeds(&["export", cbh]);
    plant_journal(&scene.cbh, &[("sample.cbh", len)], &steps);
    let before = snapshot(folder);
    let export = succeeds(&["export", cbh]);
    assert!(export.len() < all.len());
    for command in ["check", "info"] {
        cbfs(&[command, cbh]);
    }
    let source = DatabaseSource::new(&scene.cbh, Reading::default(), None);
    drop(Vfs::open(Box::new(source), &Options::default()).unwrap());
    assert_eq!(snapshot(folder), before);
    succeeds(&["check", "--repair", cbh]);
    assert_eq!(succeeds(&["export", cbh]), export);
    assert!(!scene.journal().exists());
}

#[test]
fn a_journal_of_another_base_makes_the_mount_read_only() {
    let scene = Scene::new();
    plant_journal(&scene.cbh, &[("sample.cbh", 46)], &[Step::SetLen(0, 0)]);
    let before = snapshot(scene.cbh.parent().unwrap());
    assert!(!can_be_written(&scene.cbh));
    fs::write(scene.journal(), journal(".other.cbfs-journal", &[], &[])).unwrap();
    assert!(!can_be_written(&scene.cbh));
    assert_eq!(snapshot(scene.cbh.parent().unwrap()).len(), before.len());
}

#[test]
fn new_files_beside_a_base_have_its_mode_and_group() {
    let scene = Scene::new();
    let cbh = scene.cbh.to_str().unwrap();
    let is_root = chown(&scene.cbh, None, Some(12_345)).is_ok();
    fs::set_permissions(&scene.cbh, fs::Permissions::from_mode(0o640)).unwrap();
    let assert_like = |path: &Path| {
        let stat = fs::symlink_metadata(path).unwrap();
        let mode = stat.mode() & 0o777;
        assert!(
            [0o640, 0o750].contains(&mode),
            "{}: {mode:o}",
            path.display()
        );
        assert!(!is_root || stat.gid() == 12_345, "{}", path.display());
    };
    let vfs = open_to_write(&scene.cbh).unwrap();
    assert_like(&scene.journal());
    vfs.close();
    // The length in its header is wrong.
    let moves = scene.at("sample.cbg");
    let mut bytes = fs::read(&moves).unwrap();
    bytes[5] ^= 1;
    fs::write(&moves, bytes).unwrap();
    succeeds(&["check", "--repair", cbh]);
    let copies = fs::read_dir(scene.cbh.parent().unwrap()).unwrap();
    let copies = copies.map(|entry| entry.unwrap().path());
    let is_copy = |path: &PathBuf| path.to_str().unwrap().contains("before-repair");
    let copies: Vec<PathBuf> = copies.filter(is_copy).collect();
    assert!(!copies.is_empty());
    for copy in &copies {
        assert_like(copy);
    }
    let tidy = scene.folder.path().join("tidy");
    fs::create_dir(&tidy).unwrap();
    succeeds(&["compact", cbh, tidy.join("tidy.cbh").to_str().unwrap()]);
    for entry in fs::read_dir(&tidy).unwrap() {
        assert_like(&entry.unwrap().path());
    }
}

#[test]
fn a_command_that_fails_leaves_no_journal() {
    let scene = Scene::new();
    let cbh = scene.cbh.to_str().unwrap();
    fs::write(&scene.cbh, "no headers").unwrap();
    let output = cbfs(&["check", "--repair", cbh]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(!scene.journal().exists());
    assert!(open_to_write(&scene.cbh).is_err());
    assert!(!scene.journal().exists());
    let scene = Scene::new();
    let vfs = open_to_write(&scene.cbh).unwrap();
    let options = fuse::Options {
        xattr: false,
        source: "test".to_owned(),
        access: Audience::Owner,
        is_writable: true,
        uid: 0,
        gid: 0,
        readdirplus: ReadDirPlus::BySize,
        auto_unmount: false,
        flags: Vec::new(),
        others: Vec::new(),
    };
    let nowhere = scene.folder.path().join("nowhere");
    assert!(Mounted::new(Arc::new(vfs), &nowhere, &options).is_err());
    assert!(!scene.journal().exists());
}

#[test]
fn a_link_to_a_base_leads_to_it() {
    let scene = Scene::new();
    let links = scene.folder.path().join("links");
    fs::create_dir(&links).unwrap();
    symlink(&scene.cbh, links.join("Other.cbh")).unwrap();
    symlink(links.join("Other.cbh"), links.join("again.cbh")).unwrap();
    for name in ["Other.cbh", "again.cbh", "OTHER.CBH"] {
        succeeds(&["info", links.join(name).to_str().unwrap()]);
        let pgn = scene.pgn();
        let link = links.join(name);
        succeeds(&["import", link.to_str().unwrap(), pgn.to_str().unwrap()]);
        assert!(can_be_written(&link), "{name}");
    }
    assert_eq!(fs::read_dir(&links).unwrap().count(), 2);
    // A base that two links lead to is shown once, and can be changed.
    let folder = BasesFolder::new(&links, Reading::default(), None).written_by(Some(writer()));
    let shelf = Vfs::folder(folder, &Options::default()).unwrap();
    let mut names = Vec::new();
    shelf
        .list(Ino::ROOT, 0, &mut |entry| {
            names.push(entry.name.to_owned());
            true
        })
        .unwrap();
    names.retain(|name| !name.starts_with('.'));
    assert_eq!(names, ["Other"]);
    shelf.lookup(Ino::ROOT, b"Other").unwrap();
    shelf.close();
    symlink(links.join("nothing.cbh"), links.join("broken.cbh")).unwrap();
    let output = cbfs(&["info", links.join("broken.cbh").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}

#[test]
fn a_folder_in_the_way_of_a_new_base_is_not_cleared() {
    let scene = Scene::new();
    let precious = scene.folder.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("work"), "years of work").unwrap();
    symlink(&precious, scene.at(".new.cbfs-new")).unwrap();
    let pgn = scene.pgn();
    let new = scene.at("new.cbh");
    let new = new.to_str().unwrap();
    for arguments in [
        &["compact", scene.cbh.to_str().unwrap(), new][..],
        &["import", "--create", new, pgn.to_str().unwrap()],
    ] {
        let output = cbfs(arguments);
        assert!(!output.status.success());
        assert!(said(&output).contains(".new.cbfs-new"), "{}", said(&output));
        assert_eq!(fs::read_dir(&precious).unwrap().count(), 1);
    }
    fs::remove_file(scene.at(".new.cbfs-new")).unwrap();
    // One that says it is ready puts nothing in the place of other files.
    fs::create_dir(scene.at(".new.cbfs-new")).unwrap();
    for name in [".ready", "new.cbh", "sample.cbh", ".profile"] {
        fs::write(scene.at(".new.cbfs-new").join(name), "planted").unwrap();
    }
    fs::write(scene.at(".profile"), "mine").unwrap();
    let before = fs::read(&scene.cbh).unwrap();
    cbfs(&["import", "--create", new, pgn.to_str().unwrap()]);
    assert_eq!(fs::read(scene.at(".profile")).unwrap(), b"mine");
    assert_eq!(fs::read(&scene.cbh).unwrap(), before);
}

#[test]
fn symbolic_links_beside_a_base_are_not_copied() {
    let scene = Scene::new();
    scene.link("sample.ini");
    let secret = scene.folder.path().join("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("key"), "private").unwrap();
    symlink(&secret, scene.at("sample.html")).unwrap();
    let new = scene.folder.path().join("copy.cbh");
    succeeds(&[
        "compact",
        scene.cbh.to_str().unwrap(),
        new.to_str().unwrap(),
    ]);
    assert!(!new.with_extension("ini").exists());
    assert!(!new.with_extension("html").exists());
}

/// Copies the base of a scene under another name into its folder.
fn copy_under(scene: &Scene, stem: &[u8]) -> PathBuf {
    for extension in EXTENSIONS {
        let from = scene.cbh.with_extension(extension);
        if from.is_file() {
            let name = [stem, b".", extension.as_bytes()].concat();
            fs::copy(&from, scene.cbh.with_file_name(OsStr::from_bytes(&name))).unwrap();
        }
    }
    let name = [stem, b".cbh"].concat();
    scene.cbh.with_file_name(OsStr::from_bytes(&name))
}

#[test]
fn games_go_into_one_base_where_names_are_nearly_the_same() {
    let stems: [[&[u8]; 2]; 3] = [
        [b"b\xe8", b"b\xe9"],
        [b"base", b"BASE"],
        ["\u{fc}b".as_bytes(), "\u{dc}B".as_bytes()],
    ];
    for [one, other] in stems {
        let scene = Scene::new();
        let pgn = scene.pgn();
        let (one, other) = (copy_under(&scene, one), copy_under(&scene, other));
        fs::remove_file(one.with_extension("cbe")).unwrap();
        for path in [&one, &other] {
            fs::write(path.with_extension("cbgi"), "found faster").unwrap();
        }
        let folder = scene.cbh.parent().unwrap();
        let before = snapshot(folder);
        let output = cbfs(&["import".as_ref(), one.as_os_str(), pgn.as_os_str()]);
        assert!(output.status.success(), "{}", said(&output));
        let after = snapshot(folder);
        assert_ne!(before[&one], after[&one]);
        let of_other = before
            .iter()
            .filter(|(path, _)| path.file_stem() != one.file_stem() && *path != folder);
        for (path, stamp) in of_other {
            assert_eq!(after.get(path), Some(stamp), "{path:?}");
        }
        assert!(!one.with_extension("cbgi").exists());
        let output = cbfs(&["check".as_ref(), other.as_os_str()]);
        assert!(output.status.success(), "{}", said(&output));
        let copy = scene.folder.path().join("copy.cbh");
        let arguments = ["compact".as_ref(), one.as_os_str(), copy.as_os_str()];
        let output = cbfs(&arguments);
        assert!(output.status.success(), "{}", said(&output));
    }
}

#[test]
fn a_folder_that_is_named_like_a_search_cache_stays() {
    let scene = Scene::new();
    for name in ["sample.cbgi", "SAMPLE.cit"] {
        fs::create_dir(scene.at(name)).unwrap();
        fs::write(scene.at(name).join("mine"), "").unwrap();
    }
    fs::write(scene.at("sample.cbb"), "found faster").unwrap();
    let (cbh, pgn) = (scene.cbh.clone(), scene.pgn());
    let before = fs::metadata(&cbh).unwrap().len();
    succeeds(&["import".as_ref(), cbh.as_os_str(), pgn.as_os_str()]);
    assert!(fs::metadata(&cbh).unwrap().len() > before);
    assert!(can_be_written(&cbh));
    for name in ["sample.cbgi", "SAMPLE.cit"] {
        assert!(scene.at(name).join("mine").exists(), "{name}");
    }
    assert!(!scene.at("sample.cbb").exists());
    let copy = scene.folder.path().join("copy.cbh");
    succeeds(&["compact".as_ref(), cbh.as_os_str(), copy.as_os_str()]);
    succeeds(&["check".as_ref(), copy.as_os_str()]);
}

#[test]
fn an_invalid_journal_does_not_prevent_reading() {
    let other = journal(
        ".other.cbfs-journal",
        &[("other.cbh", 1)],
        &[Step::SetLen(0, 0)],
    );
    let mut damaged = journal(
        ".sample.cbfs-journal",
        &[("sample.cbh", 46)],
        &[Step::SetLen(0, 0)],
    );
    damaged[500] ^= 1;
    let misfit = journal(
        ".sample.cbfs-journal",
        &[("sample.cbh", 46)],
        &[Step::SetLen(0, 0)],
    );
    for (about, junk) in [
        ("junk", b"my shopping list\n".repeat(100)),
        ("another's", other),
        ("damaged", damaged),
        ("misfit", misfit),
    ] {
        let scene = Scene::new();
        let cbh = scene.cbh.to_str().unwrap();
        let export = succeeds(&["export", cbh]);
        fs::write(scene.journal(), junk).unwrap();
        let before = snapshot(scene.cbh.parent().unwrap());
        assert_eq!(succeeds(&["export", cbh]), export, "{about}");
        for command in ["info", "check", "export"] {
            let output = cbfs(&[command, cbh]);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{about}: {told}");
            assert!(told.contains(".sample.cbfs-journal"), "{about}: {told}");
            assert!(told.contains("move it away"), "{about}: {told}");
        }
        let source = DatabaseSource::new(&scene.cbh, Reading::default(), None);
        drop(Vfs::open(Box::new(source), &Options::default()).unwrap());
        let vfs = open_to_write(&scene.cbh).unwrap();
        assert!(!vfs.drafts().can_be_written(), "{about}");
        let status = vfs.lookup(Ino::ROOT, b".cbfs").unwrap();
        let status = vfs.lookup(status.ino, b"status").unwrap();
        let status = vfs.read(status.ino, 0, 1 << 16).unwrap();
        let status = String::from_utf8_lossy(&status).into_owned();
        assert!(status.contains("and mount again"), "{about}: {status}");
        drop(vfs);
        let copy = scene.folder.path().join("copy.cbh");
        let output = cbfs(&["compact", cbh, copy.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{about}: {}", said(&output));
        let advice = format!("`cbfs check --repair {cbh}`");
        assert!(
            said(&output).contains(&advice),
            "{about}: {}",
            said(&output)
        );
        assert!(!copy.exists(), "{about}");
        assert_eq!(snapshot(scene.cbh.parent().unwrap()), before, "{about}");
        fs::remove_file(scene.journal()).unwrap();
        succeeds(&["compact", cbh, copy.to_str().unwrap()]);
    }
}

/// A small disk, unmounted when dropped.
struct Disk(TempDir);

impl Disk {
    /// `None` where none can be mounted.
    fn mount(size: &str) -> Option<Disk> {
        let place = tempfile::tempdir().unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
        if !command.arg(place.path()).status().unwrap().success() {
            println!("*** NOT TESTED: a full disk: no tmpfs can be mounted ***");
            return None;
        }
        Some(Disk(place))
    }

    /// Fills it but for so many pages; gives the file that does.
    fn fill(&self, free_pages: u64) -> PathBuf {
        let filler = self.0.path().join("filler");
        let mut file = fs::File::create(&filler).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        let full = file.metadata().unwrap().len();
        file.set_len(full.saturating_sub(free_pages * 4096))
            .unwrap();
        filler
    }

    fn take_base(&self, scene: &Scene) -> PathBuf {
        for entry in fs::read_dir(scene.cbh.parent().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            common::copy_bytes(&path, &self.0.path().join(path.file_name().unwrap()));
        }
        self.0.path().join("sample.cbh")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_repair_on_a_full_disk_loses_nothing_and_reports_it() {
    let Some(disk) = Disk::mount("1m") else {
        return;
    };
    let scene = Scene::new();
    let cbh = disk.take_base(&scene);
    let moves = fs::metadata(cbh.with_extension("cbg")).unwrap().len();
    // What a killed process left.
    let bytes = vec![0; 40_000];
    plant_journal(
        &cbh,
        &[("sample.cbg", moves)],
        &[Step::Write(0, moves, &bytes, &[])],
    );
    let filler = disk.fill(1);
    let export = succeeds(&["export".as_ref(), cbh.as_os_str()]);
    let output = cbfs(&["check".as_ref(), "--repair".as_ref(), cbh.as_os_str()]);
    let told = said(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("No space left"), "{told}");
    assert!(told.contains("nothing is lost"), "{told}");
    assert!(told.contains("make room"), "{told}");
    fs::remove_file(filler).unwrap();
    cbfs(&["check".as_ref(), "--repair".as_ref(), cbh.as_os_str()]);
    assert!(!cbh.with_file_name(".sample.cbfs-journal").exists());
    assert_eq!(succeeds(&["export".as_ref(), cbh.as_os_str()]), export);
}

#[test]
fn an_import_in_the_journal_is_not_reported_as_failed() {
    let scene = Scene::new();
    let pgn = scene.folder.path().join("many.pgn");
    fs::write(&pgn, GAME.repeat(300)).unwrap();
    let count = |cbh: &Path| {
        succeeds(&["export".as_ref(), cbh.as_os_str()])
            .matches("[Event ")
            .count()
    };
    let before = count(&scene.cbh);
    let mut waited = 0;
    for free_pages in 0..80 {
        let Some(disk) = Disk::mount("1m") else {
            return;
        };
        let cbh = disk.take_base(&scene);
        let filler = disk.fill(free_pages);
        let output = cbfs(&["import".as_ref(), cbh.as_os_str(), pgn.as_os_str()]);
        let told = said(&output);
        let expected = if told.contains("300 games are saved and wait in the journal") {
            assert_eq!(output.status.code(), Some(1), "{told}");
            assert!(told.contains("do not import them again"), "{told}");
            waited += 1;
            before + 300
        } else if output.status.success() {
            before + 300
        } else {
            before
        };
        assert_eq!(count(&cbh), expected, "{free_pages} pages: {told}");
        fs::remove_file(filler).unwrap();
        let output = cbfs(&["check".as_ref(), "--repair".as_ref(), cbh.as_os_str()]);
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(count(&cbh), expected, "{free_pages} pages: {told}");
        if output.status.success() && told.starts_with("300 games") {
            break;
        }
    }
    assert!(waited > 0);
}

/// The mode tells all to leave a base alone: mounts, which write for others, and commands
/// of root, whom the system would let.
#[test]
fn mounts_and_commands_of_root_respect_the_modes_of_files() {
    let scene = Scene::new();
    let pgn = scene.pgn();
    let players = scene.at("sample.cbp");
    fs::set_permissions(&players, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(!can_be_written(&scene.cbh));
    let output = cbfs(&["import".as_ref(), scene.cbh.as_os_str(), pgn.as_os_str()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("nothing was changed"));
}

#[test]
fn a_base_with_a_name_too_long_for_its_journal_is_read_only() {
    let scene = Scene::new();
    let pgn = scene.pgn();
    let longest = copy_under(&scene, &[b'x'; 241]);
    succeeds(&["import".as_ref(), longest.as_os_str(), pgn.as_os_str()]);
    let moves = longest.with_extension("cbg");
    let mut bytes = fs::read(&moves).unwrap();
    bytes[5] ^= 1;
    fs::write(&moves, bytes).unwrap();
    succeeds(&["check".as_ref(), "--repair".as_ref(), longest.as_os_str()]);
    succeeds(&["check".as_ref(), longest.as_os_str()]);
    let longer = copy_under(&scene, &[b'y'; 242]);
    for command in ["info", "check", "export"] {
        succeeds(&[command.as_ref(), longer.as_os_str()]);
    }
    assert!(!can_be_written(&longer));
    let new = longer.with_file_name(format!("{}.cbh", "z".repeat(242)));
    for arguments in [
        ["import".as_ref(), longer.as_os_str(), pgn.as_os_str()],
        ["compact".as_ref(), scene.cbh.as_os_str(), new.as_os_str()],
    ] {
        let told = said(&cbfs(&arguments));
        assert!(told.contains("at most 241 bytes"), "{told}");
    }
}
