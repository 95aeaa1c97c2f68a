//! Operations of programs on the files of a real mount, and their effects on
//! the base.

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
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use common::daemon::{Daemon, cbfs, close, errno, save, stderr, with_tag};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

const SAMPLE: &str = "cbh/sample/sample.cbh";

/// The sample, mounted; nothing without FUSE, which is said then.
fn sample() -> Option<Daemon> {
    common::has_fuse().then(|| Daemon::of_fixture(SAMPLE))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Sees that a game has this annotator, now and in the base, and that its
/// size is what it says.
fn assert_annotated(daemon: &mut Daemon, number: u32, annotator: &str) {
    let line = format!("[Annotator \"{annotator}\"]\n");
    for _ in 0..2 {
        let text = daemon.text(number);
        assert!(text.contains(&line), "{text}");
        assert!(
            text.starts_with("[Event "),
            "not the canonical text: {text}"
        );
        assert_eq!(
            fs::metadata(daemon.game(number)).unwrap().len(),
            text.len() as u64
        );
        daemon.restart();
    }
    daemon.end();
    daemon.assert_sound();
    daemon.start(&["rw"]);
}

fn edited(daemon: &Daemon, number: u32, annotator: &str) -> String {
    with_tag(&daemon.text(number), "Annotator", annotator)
}

/// The value of a tag of a game.
fn tag<'t>(text: &'t str, name: &str) -> &'t str {
    let start = format!("[{name} \"");
    let value = text.lines().find_map(|line| line.strip_prefix(&start));
    value.unwrap().trim_end_matches("\"]")
}

#[test]
fn a_file_that_is_written_and_closed_is_saved() {
    let Some(mut daemon) = sample() else { return };
    let others: Vec<_> = (2..=13).map(|number| daemon.text(number)).collect();
    let text = edited(&daemon, 1, "Writer");
    save(&daemon.game(1), &text).unwrap();
    assert_annotated(&mut daemon, 1, "Writer");
    let now: Vec<_> = (2..=13).map(|number| daemon.text(number)).collect();
    assert_eq!(now, others);
}

#[test]
fn saving_unchanged_text_changes_no_byte() {
    let Some(mut daemon) = sample() else { return };
    daemon.end();
    let before = daemon.files();
    daemon.start(&["rw"]);
    for number in 1..=13 {
        let text = daemon.text(number);
        save(&daemon.game(number), &text).unwrap();
        // As an editor that does not care for line ends and line lengths.
        save(&daemon.game(number), &text.replace('\n', "\r\n")).unwrap();
    }
    daemon.end();
    assert!(before == daemon.files());
}

#[test]
fn a_temporary_that_is_renamed_over_a_game_is_saved_as_that_game() {
    let Some(mut daemon) = sample() else { return };
    for (number, name) in [(2, "sedAbCdEf"), (3, ".000003.pgn.XyZ123"), (4, "tmp.pgn")] {
        let inode = fs::metadata(daemon.game(number)).unwrap().ino();
        let text = edited(&daemon, number, name);
        let temporary = daemon.at(&format!("games/{name}"));
        save(&temporary, &text).unwrap();
        fs::rename(&temporary, daemon.game(number)).unwrap();
        assert_eq!(fs::metadata(daemon.game(number)).unwrap().ino(), inode);
        assert_eq!(names(&daemon.at("games")).len(), 13, "{name}");
        assert_annotated(&mut daemon, number, name);
    }
}

#[test]
fn a_game_renamed_away_and_rewritten_is_the_same_game() {
    let Some(mut daemon) = sample() else { return };
    let old = daemon.text(5);
    let text = edited(&daemon, 5, "Backed up");
    let backup = daemon.at("games/000005.pgn~");
    fs::rename(daemon.game(5), &backup).unwrap();
    assert!(!daemon.game(5).exists());
    save(&daemon.game(5), &text).unwrap();
    assert_eq!(fs::read_to_string(&backup).unwrap(), old);
    fs::remove_file(&backup).unwrap();
    assert_annotated(&mut daemon, 5, "Backed up");
}

#[test]
fn a_game_renamed_away_is_restored_if_nothing_replaces_it() {
    let Some(mut daemon) = sample() else { return };
    let old = daemon.text(5);
    let backup = daemon.at("games/000005.pgn.old");
    fs::rename(daemon.game(5), &backup).unwrap();
    fs::remove_file(&backup).unwrap();
    assert_eq!(daemon.text(5), old);
    fs::rename(daemon.game(5), &backup).unwrap();
    fs::rename(&backup, daemon.game(5)).unwrap();
    assert_eq!(daemon.text(5), old);
    fs::rename(daemon.game(5), &backup).unwrap();
    daemon.restart();
    assert_eq!(daemon.text(5), old);
    assert!(!backup.exists());
}

#[test]
fn a_game_that_is_unlinked_and_created_is_the_same_game() {
    let Some(mut daemon) = sample() else { return };
    let text = edited(&daemon, 6, "Unpacked");
    fs::remove_file(daemon.game(6)).unwrap();
    assert!(daemon.at("deleted/000006.pgn").exists());
    let mut file = File::create_new(daemon.game(6)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    close(file).unwrap();
    assert!(!daemon.at("deleted/000006.pgn").exists());
    assert_annotated(&mut daemon, 6, "Unpacked");
}

#[test]
fn a_refused_text_after_unlinking_leaves_the_old_game_undeleted() {
    let Some(mut daemon) = sample() else { return };
    let old = daemon.text(6);
    fs::remove_file(daemon.game(6)).unwrap();
    assert_eq!(errno(save(&daemon.game(6), "no game")), Some(libc::EINVAL));
    daemon.restart();
    assert_eq!(daemon.text(6), old);
}

#[test]
fn an_emptied_file_is_never_saved() {
    let Some(mut daemon) = sample() else { return };
    let old = daemon.text(1);
    close(File::create(daemon.game(1)).unwrap()).unwrap();
    assert_eq!(daemon.text(1), old);
    let file = OpenOptions::new().write(true).open(daemon.game(1)).unwrap();
    file.set_len(0).unwrap();
    close(file).unwrap();
    daemon.restart();
    assert_eq!(daemon.text(1), old);
}

#[test]
fn scratch_files_of_editors_last_until_unmount() {
    let Some(mut daemon) = sample() else { return };
    for name in [
        "4913",
        ".000001.pgn.swp",
        "#000001.pgn#",
        "000001.pgn~",
        "notes.txt",
    ] {
        let path = daemon.at(&format!("games/{name}"));
        fs::write(&path, name.repeat(3000)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), name.repeat(3000));
        assert!(names(&daemon.at("games")).contains(&name.to_owned()));
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }
    daemon.end();
    daemon.assert_sound();
    daemon.start(&["rw"]);
    assert_eq!(names(&daemon.at("games")).len(), 13);
}

#[test]
fn a_new_name_or_the_next_number_is_a_new_game() {
    let Some(mut daemon) = sample() else { return };
    let text = edited(&daemon, 1, "New");
    save(&daemon.at("games/mine.pgn"), &text).unwrap();
    assert!(daemon.text(16).contains("[Annotator \"New\"]"));
    let inode = |path| fs::metadata(path).unwrap().ino();
    assert_eq!(inode(daemon.at("games/mine.pgn")), inode(daemon.game(16)));
    save(&daemon.game(17), &edited(&daemon, 2, "Next")).unwrap();
    assert!(daemon.text(17).contains("[Annotator \"Next\"]"));
    assert_eq!(errno(save(&daemon.game(99), &text)), Some(libc::EPERM));
    let two = format!("{text}\n{text}");
    assert_eq!(
        errno(save(&daemon.at("games/two.pgn"), &two)),
        Some(libc::EINVAL)
    );
    assert!(!daemon.game(18).exists());
    assert!(
        daemon
            .log()
            .contains("; import/ takes files of several games")
    );
    assert_annotated(&mut daemon, 16, "New");
    assert!(!daemon.at("games/mine.pgn").exists());
    assert_eq!(names(&daemon.at("games")).len(), 15);
}

#[test]
fn all_games_of_a_file_are_imported_or_none() {
    let Some(mut daemon) = sample() else { return };
    let three: String = (1..=3)
        .map(|n| edited(&daemon, n, "Imported") + "\n")
        .collect();
    save(&daemon.at("import/three.pgn"), &three).unwrap();
    assert_eq!(names(&daemon.at("games")).len(), 16);
    assert_eq!(
        fs::read_to_string(daemon.at("import/three.pgn")).unwrap(),
        three
    );
    let log = fs::read_to_string(daemon.at("import/three.pgn.log")).unwrap();
    assert!(log.contains('3'), "{log}");
    let broken = format!("{three}\n[Event \"x\"]\n\n1. e5 *\n");
    assert_eq!(
        errno(save(&daemon.at("import/broken.pgn"), &broken)),
        Some(libc::EINVAL)
    );
    let log = fs::read_to_string(daemon.at("import/broken.pgn.log")).unwrap();
    assert!(log.contains("e5"), "{log}");
    assert_eq!(names(&daemon.at("games")).len(), 16);
    // A file that comes under another name first.
    save(&daemon.at("import/.rsync.AbC"), &three).unwrap();
    assert_eq!(names(&daemon.at("games")).len(), 16);
    fs::rename(
        daemon.at("import/.rsync.AbC"),
        daemon.at("import/again.pgn"),
    )
    .unwrap();
    assert_eq!(names(&daemon.at("games")).len(), 19);
    assert_annotated(&mut daemon, 21, "Imported");
    assert_eq!(names(&daemon.at("import")), ["lenient"]);
}

#[test]
fn a_removed_game_is_in_deleted_and_can_be_restored() {
    let Some(mut daemon) = sample() else { return };
    let text = daemon.text(7);
    fs::remove_file(daemon.game(7)).unwrap();
    assert!(!daemon.game(7).exists());
    daemon.restart();
    assert_eq!(
        fs::read_to_string(daemon.at("deleted/000007.pgn")).unwrap(),
        text
    );
    fs::rename(daemon.at("deleted/000007.pgn"), daemon.game(7)).unwrap();
    daemon.restart();
    assert_eq!(daemon.text(7), text);
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn a_game_that_is_moved_to_deleted_is_deleted() {
    let Some(mut daemon) = sample() else { return };
    let text = daemon.text(7);
    let deleted = daemon.at("deleted/000007.pgn");
    let other = daemon.at("deleted/000008.pgn");
    assert_eq!(
        errno(fs::rename(daemon.game(7), other)),
        Some(libc::EPERM),
        "it is not that one"
    );
    let player = daemon.at("players").join(tag(&text, "White"));
    assert_eq!(
        errno(fs::rename(player.join("000007.pgn"), &deleted)),
        Some(libc::EPERM),
        "it is deleted in games/ alone"
    );
    fs::rename(daemon.game(7), &deleted).unwrap();
    for _ in 0..2 {
        assert!(!daemon.game(7).exists());
        assert_eq!(fs::read_to_string(&deleted).unwrap(), text);
        assert!(names(&daemon.at("deleted")).contains(&"000007.pgn".to_owned()));
        daemon.restart();
    }
    fs::rename(&deleted, daemon.game(7)).unwrap();
    assert_eq!(daemon.text(7), text);
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn a_directory_of_a_player_is_renamed_with_the_player() {
    let Some(mut daemon) = sample() else { return };
    let players = names(&daemon.at("players"));
    let [first, second, ..] = players.as_slice() else {
        panic!("{players:?}")
    };
    let at = |name: &str| daemon.at("players").join(name);
    assert_eq!(
        errno(fs::rename(at(first), at(second))),
        Some(libc::ENOTEMPTY)
    );
    let games = names(&at(first));
    fs::rename(at(first), at("Newname, Nobody")).unwrap();
    assert_eq!(names(&at("Newname, Nobody")), games);
    assert!(!at(first).exists());
    daemon.restart();
    let text = fs::read_to_string(daemon.at("players/Newname, Nobody").join(&games[0])).unwrap();
    assert!(text.contains(" \"Newname, Nobody\"]"), "{text}");
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn a_player_renamed_to_another_is_merged_where_that_is_wished_for() {
    let Some(mut daemon) = sample() else { return };
    daemon.end();
    daemon.start(&["merge"]);
    let at = |name: &str| daemon.at("players").join(name);
    let of = |name: &str| names(&at(name));
    let (morphy, lasker) = ("Morphy, Paul", "Lasker, Edward");
    let all: Vec<String> = [of(morphy), of(lasker), of("Thomas, George Alan")].concat();
    let all: BTreeSet<String> = all.into_iter().collect();
    // As rename(2) names it, and as mv(1) does where the directory is there.
    fs::rename(at(morphy), at(lasker)).unwrap();
    fs::rename(
        at("Thomas, George Alan"),
        at(lasker).join("Thomas, George Alan"),
    )
    .unwrap();
    for gone in [morphy, "Thomas, George Alan"] {
        assert!(!at(gone).exists() && !at(lasker).join(gone).exists());
        assert!(!names(&daemon.at("players")).contains(&gone.to_owned()));
    }
    assert_eq!(of(lasker).into_iter().collect::<BTreeSet<_>>(), all);
    assert!(daemon.text(4).contains("[White \"Lasker, Edward\"]"));
    let tournaments = names(&daemon.at("tournaments"));
    let renamed = fs::rename(
        daemon.at("tournaments").join(&tournaments[0]),
        daemon.at("tournaments").join(&tournaments[1]),
    );
    assert_eq!(errno(renamed), Some(libc::ENOTEMPTY));
    let elsewhere = fs::rename(
        at("Réti, Richard"),
        daemon.at("eco/B").join("Réti, Richard"),
    );
    assert!(errno(elsewhere).is_some());
    daemon.end();
    daemon.assert_sound();
}

/// The output of one process of Python, which is given the path of `games/`.
fn said_in_games(daemon: &Daemon, script: &str) -> String {
    let ran = Command::new("python3")
        .args(["-c", script])
        .arg(daemon.at("games"))
        .output()
        .unwrap();
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// As rclone does, which takes the file for half written.
#[test]
fn a_program_that_clears_up_after_a_refused_save_deletes_no_game() {
    let Some(mut daemon) = sample() else { return };
    let text = daemon.text(5);
    let script = "import os, sys, threading\n\
        def save(name, text):\n\
        \x20   file = open(name, 'w'); file.write(text)\n\
        \x20   try: file.close()\n\
        \x20   except OSError as error: print('close', error.errno)\n\
        def remove(name):\n\
        \x20   try: os.remove(name)\n\
        \x20   except OSError as error: print('remove', error.errno)\n\
        os.chdir(sys.argv[1])\n\
        save('000005.pgn', 'no game')\n\
        thread = threading.Thread(target=remove, args=['000005.pgn']); thread.start(); thread.join()\n\
        save('new.pgn', 'no game')\n\
        save('000006.pgn', 'no game'); save('000006.pgn', open('000007.pgn').read()); remove('000006.pgn')\n\
        print(*sorted(os.listdir()))";
    let said = said_in_games(&daemon, script);
    let lines: Vec<&str> = said.lines().collect();
    let (left, lines) = lines.split_last().unwrap();
    assert_eq!(
        lines,
        ["close 22", "remove 1", "close 22", "close 22"],
        "{said}"
    );
    assert!(
        left.starts_with("000001.pgn") && left.contains("000005.pgn"),
        "{said}"
    );
    assert!(
        !left.contains("000006.pgn") && !left.contains("new.pgn"),
        "{said}"
    );
    assert_eq!(daemon.text(5), text);
    assert!(
        daemon.log().contains("000005.pgn is not removed"),
        "{}",
        daemon.log()
    );
    // Another program means it, and so does who asks once more.
    assert_eq!(errno(save(&daemon.game(5), "no game")), Some(libc::EINVAL));
    assert_eq!(errno(fs::remove_file(daemon.game(5))), Some(libc::EPERM));
    fs::remove_file(daemon.game(5)).unwrap();
    assert_eq!(errno(save(&daemon.game(7), "no game")), Some(libc::EINVAL));
    let removed = Command::new("rm").arg(daemon.game(7)).status().unwrap();
    assert!(removed.success());
    assert!(daemon.at("deleted/000005.pgn").exists() && daemon.at("deleted/000007.pgn").exists());
    daemon.end();
    daemon.assert_sound();
}

/// As rclone does, which compares sizes or digests after it has written.
#[test]
fn a_program_that_finds_another_text_than_it_wrote_removes_no_game() {
    let Some(mut daemon) = sample() else { return };
    let script = "import os, sys\n\
        def save(name, text):\n\
        \x20   with open(name, 'w') as file: file.write(text)\n\
        def remove(name):\n\
        \x20   try: os.remove(name)\n\
        \x20   except OSError as error: print('remove', name, error.errno)\n\
        os.chdir(sys.argv[1])\n\
        text = open('000005.pgn').read()\n\
        wrapped = text.replace(' 2. ', '\\n2. ', 1)\n\
        save('000005.pgn', text + '\\n'); remove('000005.pgn')\n\
        save('000006.pgn', wrapped); remove('000006.pgn')\n\
        save('new.pgn', text + '\\n'); remove('new.pgn')\n\
        save('new.pgn', text + '\\n'); remove('new.pgn')\n\
        save('000007.pgn', text); remove('000007.pgn')\n\
        print(*sorted(os.listdir()))";
    let before = names(&daemon.at("games")).len();
    let said = said_in_games(&daemon, script);
    let lines: Vec<&str> = said.lines().collect();
    let (left, lines) = lines.split_last().unwrap();
    let refused = ["000005.pgn", "000006.pgn", "new.pgn", "new.pgn"];
    let refused = refused.map(|name| format!("remove {name} 1"));
    assert_eq!(lines, refused, "{said}");
    // One game that is new, and one that was written as it is stored and removed.
    assert_eq!(left.matches(".pgn").count(), before + 1, "{said}");
    assert!(!left.contains("000007.pgn"), "{said}");
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn the_reason_why_a_directory_cannot_be_renamed_is_logged() {
    let Some(mut daemon) = sample() else { return };
    save(
        &daemon.at("games/new.pgn"),
        "[Event \"Open\"]\n[Site \"Graz\"]\n[EventDate \"2016.07.01\"]\n\
         [White \"Nobody\"]\n[Result \"*\"]\n\n*\n",
    )
    .unwrap();
    let rename = |from: &str, to: &str| errno(fs::rename(daemon.at(from), daemon.at(to)));
    let long = format!("players/{}", "x".repeat(40));
    assert_eq!(rename("players/Nobody", &long), Some(libc::ENAMETOOLONG));
    assert_eq!(
        rename("tournaments/Open (Graz) 2016", "tournaments/Open"),
        Some(libc::EPERM)
    );
    assert!(daemon.at("players/Nobody").exists());
    assert!(daemon.at("tournaments/Open (Graz) 2016").exists());
    daemon.end();
    for line in [
        "Nobody is not renamed: ",
        "Open (Graz) 2016 is not renamed: ",
    ] {
        assert!(daemon.log().contains(line), "{}", daemon.log());
    }
}

/// What a save stores in another form than it was written is in the log, as an
/// import tells it.
#[test]
fn changed_forms_are_logged() {
    let Some(mut daemon) = sample() else { return };
    let text = fs::read_to_string(daemon.game(8)).unwrap();
    let (round, rest) = (text.find("[Round").unwrap(), text.find("[White").unwrap());
    let edited = [
        &text[..round],
        "[Round \"01\"]\n[Note \"a\tb\"]\n",
        &text[rest..],
    ]
    .concat();
    save(&daemon.game(8), &edited).unwrap();
    let new = "[White \"A\"]\n\n1. e4 $14 $1 {[%cblang sv] Hej} *\n";
    save(&daemon.at("games/new.pgn"), new).unwrap();
    // What cannot be read of another game is no text of this one.
    let mark = "{[%cbdefect .cbg at 0x4b: no more]} *";
    let refused = save(&daemon.game(8), &format!("1. e4 {mark}\n"));
    assert_eq!(errno(refused), Some(libc::EINVAL));
    daemon.end();
    for line in [
        "game 8: a tab",
        "game 8: a round such as 01",
        "NAGs in another order",
        "a command that says nothing there",
        "marks a game that was exported damaged",
    ] {
        assert!(daemon.log().contains(line), "{line}: {}", daemon.log());
    }
}

#[test]
fn forbidden_operations_fail_with_eperm() {
    let Some(daemon) = sample() else { return };
    fs::remove_file(daemon.game(8)).unwrap();
    let deleted = daemon.at("deleted/000008.pgn");
    let player = daemon.at("players").join(&names(&daemon.at("players"))[0]);
    let listed = player.join(&names(&player)[0]);
    let before = (daemon.text(1), daemon.text(2));
    let refused = [
        (
            "a game over another",
            errno(fs::rename(daemon.game(1), daemon.game(2))),
        ),
        ("removal from deleted/", errno(fs::remove_file(&deleted))),
        ("an edit in deleted/", errno(fs::write(&deleted, "x"))),
        ("removal under players/", errno(fs::remove_file(&listed))),
        ("a directory", errno(fs::create_dir(daemon.at("games/new")))),
        (
            "a symlink",
            errno(std::os::unix::fs::symlink("x", daemon.at("games/.#lock"))),
        ),
    ];
    for (what, errno) in refused {
        assert_eq!(errno, Some(libc::EPERM), "{what}");
    }
    assert_eq!((daemon.text(1), daemon.text(2)), before);
    assert!(listed.exists() && deleted.exists());
}

#[test]
fn flags_of_renames_are_honoured() {
    let Some(daemon) = sample() else { return };
    let scratch = daemon.at("games/scratch");
    fs::write(&scratch, edited(&daemon, 1, "Renamed")).unwrap();
    let rename = |flags| renameat2(AT_FDCWD, &scratch, AT_FDCWD, &daemon.game(1), flags);
    assert_eq!(
        rename(RenameFlags::RENAME_NOREPLACE),
        Err(nix::Error::EEXIST)
    );
    assert_eq!(
        rename(RenameFlags::RENAME_EXCHANGE),
        Err(nix::Error::EINVAL)
    );
    rename(RenameFlags::empty()).unwrap();
    assert!(daemon.text(1).contains("[Annotator \"Renamed\"]"));
}

#[test]
fn a_link_to_a_file_of_an_editor_is_a_copy() {
    let Some(daemon) = sample() else { return };
    let old = daemon.text(1);
    fs::hard_link(daemon.game(1), daemon.at("games/000001.pgn~")).unwrap();
    save(&daemon.game(1), &edited(&daemon, 1, "After")).unwrap();
    assert_eq!(
        fs::read_to_string(daemon.at("games/000001.pgn~")).unwrap(),
        old
    );
}

#[test]
fn attributes_are_accepted_and_change_nothing() {
    let Some(mut daemon) = sample() else { return };
    daemon.end();
    let before = daemon.files();
    daemon.start(&["rw"]);
    let game = daemon.game(1);
    fs::set_permissions(&game, Permissions::from_mode(0o600)).unwrap();
    let metadata = fs::metadata(&game).unwrap();
    std::os::unix::fs::chown(&game, Some(metadata.uid()), Some(metadata.gid())).unwrap();
    File::options()
        .write(true)
        .open(&game)
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    File::open(daemon.at("games")).unwrap().sync_all().unwrap();
    daemon.end();
    assert!(before == daemon.files());
}

#[test]
fn a_game_is_edited_wherever_it_is_listed() {
    let Some(mut daemon) = sample() else { return };
    let folder = daemon.at("players").join(tag(&daemon.text(9), "White"));
    let text = edited(&daemon, 9, "Through players");
    let temporary = folder.join(".000009.pgn.tmp");
    save(&temporary, &text).unwrap();
    fs::rename(&temporary, folder.join("000009.pgn")).unwrap();
    assert_annotated(&mut daemon, 9, "Through players");
}

#[test]
fn a_text_is_saved_when_complete_however_it_was_written() {
    let Some(mut daemon) = sample() else { return };
    let text = edited(&daemon, 1, "In pieces");
    let (first, second) = text.split_at(text.len() / 2);
    let mut file = File::create(daemon.game(1)).unwrap();
    file.write_all(first.as_bytes()).unwrap();
    // As when a program that inherited the file ends: half a text is flushed.
    let _ = close(file.try_clone().unwrap());
    file.write_all(second.as_bytes()).unwrap();
    close(file).unwrap();
    assert_annotated(&mut daemon, 1, "In pieces");
    assert!(names(&daemon.at(".cbfs/rejected")).is_empty());

    let text = edited(&daemon, 2, "At offsets");
    let file = File::create(daemon.game(2)).unwrap();
    for (place, piece) in text
        .as_bytes()
        .chunks(100)
        .enumerate()
        .collect::<Vec<_>>()
        .iter()
        .rev()
    {
        file.write_all_at(piece, *place as u64 * 100).unwrap();
    }
    close(file).unwrap();
    assert_annotated(&mut daemon, 2, "At offsets");

    let text = edited(&daemon, 3, "Appended");
    let mut file = OpenOptions::new()
        .append(true)
        .open(daemon.game(3))
        .unwrap();
    file.set_len(0).unwrap();
    for line in text.split_inclusive('\n') {
        file.write_all(line.as_bytes()).unwrap();
    }
    close(file).unwrap();
    assert_annotated(&mut daemon, 3, "Appended");

    let text = edited(&daemon, 4, "Read back");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(daemon.game(4))
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.set_len(text.len() as u64).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut back = String::new();
    file.read_to_string(&mut back).unwrap();
    assert_eq!(back, text);
    file.sync_all().unwrap();
    close(file).unwrap();
    assert_annotated(&mut daemon, 4, "Read back");
}

#[test]
fn side_effects_of_a_save_are_visible_at_once() {
    let Some(daemon) = sample() else { return };
    for turn in 0..20 {
        let (player, year) = (format!("Nobody, Number {turn}"), 1601 + turn);
        let listed = daemon.at(&format!("players/{player}/000001.pgn"));
        let dated = daemon.at(&format!("years/{year}/000001.pgn"));
        let collected = daemon.at(&format!("pgn/players/{player}.pgn"));
        let (all, headers) = (daemon.at("pgn/all.pgn"), daemon.at("headers.tsv"));
        // The kernel knows all of it as it is before.
        for path in [&listed, &dated, &collected] {
            assert!(!path.exists());
        }
        names(&daemon.at("players"));
        fs::read(&all).unwrap();
        fs::read(&headers).unwrap();
        let text = with_tag(&daemon.text(1), "White", &player);
        let text = with_tag(&text, "Date", &format!("{year}.??.??"));
        save(&daemon.game(1), &text).unwrap();
        for path in [&all, &headers, &listed, &dated, &collected] {
            let size = fs::metadata(path).unwrap().len();
            let text = fs::read_to_string(path).unwrap();
            assert_eq!(size, text.len() as u64, "{}", path.display());
            assert!(text.contains(&player), "{}: {text}", path.display());
        }
        assert!(names(&daemon.at("players")).contains(&player));
        fs::remove_file(daemon.game(2)).unwrap();
        assert!(daemon.at("deleted/000002.pgn").exists());
        fs::rename(daemon.at("deleted/000002.pgn"), daemon.game(2)).unwrap();
        assert!(!daemon.at("deleted/000002.pgn").exists());
    }
}

#[test]
fn readers_continue_with_the_text_they_opened() {
    let Some(daemon) = sample() else { return };
    let old = daemon.text(1);
    let mut reader = File::open(daemon.game(1)).unwrap();
    save(&daemon.game(1), &edited(&daemon, 1, "Meanwhile")).unwrap();
    let mut whole = String::new();
    reader.read_to_string(&mut whole).unwrap();
    assert!(
        whole == old || whole == daemon.text(1),
        "a mixture: {whole}"
    );
}

#[test]
fn an_open_old_text_is_not_shown_to_others() {
    let Some(daemon) = sample() else { return };
    for turn in 0..5 {
        let mut reader = File::open(daemon.game(1)).unwrap();
        let name = format!("Meanwhile {turn}");
        save(&daemon.game(1), &edited(&daemon, 1, &name)).unwrap();
        // The kernel may keep what is read from now on.
        drop(File::open(daemon.game(1)).unwrap());
        let mut whole = String::new();
        reader.read_to_string(&mut whole).unwrap();
        assert_eq!(tag(&daemon.text(1), "Annotator"), name);
    }
}

#[test]
fn a_refused_text_is_kept_until_the_game_is_saved() {
    let Some(mut daemon) = sample() else { return };
    let old = daemon.text(1);
    let refused = old.replacen("e4", "e5", 1);
    assert_ne!(refused, old);
    assert_eq!(errno(save(&daemon.game(1), &refused)), Some(libc::EINVAL));
    assert_eq!(daemon.text(1), old);
    let file = File::create(daemon.game(1)).unwrap();
    file.write_all_at(refused.as_bytes(), 0).unwrap();
    assert_eq!(errno(file.sync_all()), Some(libc::EINVAL));
    let _ = close(file);
    for ending in [Daemon::restart, |daemon: &mut Daemon| {
        daemon.kill();
        daemon.start(&["rw"]);
    }] {
        assert_eq!(daemon.text(1), old);
        let kept = daemon.at(".cbfs/rejected");
        assert_eq!(names(&kept), ["000001.pgn", "000001.txt"]);
        assert_eq!(
            fs::read_to_string(kept.join("000001.pgn")).unwrap(),
            refused
        );
        let why = fs::read_to_string(kept.join("000001.txt")).unwrap();
        assert!(why.contains("line") && why.contains("e5"), "{why}");
        ending(&mut daemon);
    }
    // An editor that was refused may put back what was there.
    save(&daemon.game(1), &old).unwrap();
    assert_eq!(names(&daemon.at(".cbfs/rejected")).len(), 2);
    save(&daemon.game(1), &edited(&daemon, 1, "At last")).unwrap();
    assert!(names(&daemon.at(".cbfs/rejected")).is_empty());
    // Or until it is removed.
    let _ = save(&daemon.game(2), "nonsense");
    assert_eq!(
        names(&daemon.at(".cbfs/rejected")),
        ["000002.pgn", "000002.txt"]
    );
    fs::remove_file(daemon.at(".cbfs/rejected/000002.pgn")).unwrap();
    daemon.restart();
    assert!(names(&daemon.at(".cbfs/rejected")).is_empty());
}

#[test]
fn a_new_game_where_games_are_only_listed_is_kept() {
    let Some(mut daemon) = sample() else { return };
    let player = daemon.at("players").join(tag(&daemon.text(1), "White"));
    let kept = daemon.at(".cbfs/rejected");
    let listed = player.join("mine.pgn");
    let text = edited(&daemon, 1, "Mine");
    // What a program gives another name, or removes, was its own file.
    save(&listed, &text).unwrap();
    assert_eq!(names(&kept), ["mine.pgn", "mine.txt"]);
    fs::rename(&listed, player.join("000001.pgn")).unwrap();
    assert!(names(&kept).is_empty());
    assert_annotated(&mut daemon, 1, "Mine");
    save(&listed, &text).unwrap();
    fs::remove_file(&listed).unwrap();
    assert!(names(&kept).is_empty());
    save(&listed, &text).unwrap();
    assert_eq!(fs::read_to_string(&listed).unwrap(), text);
    daemon.kill();
    daemon.start(&["rw"]);
    assert!(!listed.exists());
    assert_eq!(fs::read_to_string(kept.join("mine.pgn")).unwrap(), text);
    let why = fs::read_to_string(kept.join("mine.txt")).unwrap();
    assert!(why.contains("games/ or import/"), "{why}");
}

#[test]
fn an_open_draft_is_kept_when_the_daemon_ends() {
    let Some(mut daemon) = sample() else { return };
    let old = daemon.text(1);
    let text = edited(&daemon, 1, "Unfinished");
    let half = &text[..text.len() / 2];
    let file = File::create(daemon.game(1)).unwrap();
    file.write_all_at(half.as_bytes(), 0).unwrap();
    daemon.terminate();
    drop(file);
    daemon.assert_sound();
    daemon.start(&["rw"]);
    assert_eq!(daemon.text(1), old);
    assert_eq!(
        fs::read_to_string(daemon.at(".cbfs/rejected/000001.pgn")).unwrap(),
        half
    );
}

#[test]
fn a_second_mount_is_refused_and_names_the_first() {
    let Some(daemon) = sample() else { return };
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cbfs"));
    command
        .args(["mount", "-o", "rw"])
        .arg(daemon.base())
        .arg(elsewhere.path());
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let why = stderr(&output);
    let first = daemon.at("");
    assert!(
        why.contains(first.to_str().unwrap().trim_end_matches('/')),
        "{why}"
    );
    assert_eq!(why.trim_end().lines().count(), 1, "{why}");
}

#[test]
fn a_base_is_mounted_again_right_after_umount() {
    let Some(mut daemon) = sample() else { return };
    for turn in 0..20 {
        save(&daemon.game(1), &edited(&daemon, 1, &format!("{turn}"))).unwrap();
        // The daemon has the base for as long as it takes to end.
        daemon.detach();
        daemon.start(&["rw"]);
        assert_eq!(tag(&daemon.text(1), "Annotator"), turn.to_string());
    }
}

#[test]
fn a_game_that_was_read_incompletely_cannot_be_written() {
    if !common::has_fuse() {
        return;
    }
    let base = common::fixture("cbh/damage");
    let base = fs::read_dir(base)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut base = base;
    let base = base
        .find(|path| path.extension().is_some_and(|kind| kind == "cbh"))
        .unwrap();
    let daemon = Daemon::of_copy(&base);
    let mut refused = 0;
    for name in names(&daemon.at("games")) {
        let path = daemon.at("games").join(&name);
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        if !text.contains("[%cbdefect") {
            continue;
        }
        refused += 1;
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o444);
        assert_eq!(
            errno(OpenOptions::new().write(true).open(&path)),
            Some(libc::EACCES)
        );
        let beside = daemon.at("games").join("beside.tmp");
        fs::write(&beside, format!("{text}% edited\n")).unwrap();
        assert_eq!(errno(fs::rename(&beside, &path)), Some(libc::EINVAL));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let reason = format!(".cbfs/rejected/{}", name.replace(".pgn", ".txt"));
        let reason = fs::read_to_string(daemon.at(&reason)).unwrap();
        assert!(
            reason.contains("is damaged and not written over"),
            "{reason}"
        );
        assert!(reason.contains("check --repair"), "{reason}");
    }
    assert!(refused > 0);
}

#[test]
fn a_game_that_was_removed_comes_back_when_what_takes_its_place_is_refused() {
    let Some(daemon) = sample() else { return };
    let (game, own) = (daemon.game(7), daemon.at("games/.tmp"));
    let old = daemon.text(7);
    for bad in ["1. e4 e6 2. Ke3", ""] {
        fs::write(&own, bad).unwrap();
        fs::remove_file(&game).unwrap();
        assert_eq!(errno(fs::rename(&own, &game)), Some(libc::EINVAL));
        assert_eq!(daemon.text(7), old);
    }
}

#[test]
fn a_deleted_game_is_kept_when_another_takes_its_number() {
    let Some(daemon) = sample() else { return };
    let deleted = names(&daemon.at("deleted")).remove(0);
    let text = fs::read_to_string(daemon.at("deleted").join(&deleted)).unwrap();
    let game = daemon.at("games").join(&deleted);
    let rejected = daemon.at(".cbfs/rejected");
    // As of a backup that is put back.
    save(&game, &text).unwrap();
    assert_eq!(names(&rejected), [""; 0]);
    fs::rename(&game, daemon.at("deleted").join(&deleted)).unwrap();
    let other = with_tag(&with_tag(&text, "White", "Mine"), "Black", "Own");
    save(&game, &other).unwrap();
    assert_eq!(names(&rejected), [""; 0], "it was removed in this mount");
    drop(daemon);
    let Some(daemon) = sample() else { return };
    let game = daemon.at("games").join(&deleted);
    save(&game, &other).unwrap();
    let kept = names(&daemon.at(".cbfs/rejected"));
    assert_eq!(
        kept,
        [
            format!("deleted {deleted}"),
            format!("deleted {}", deleted.replace("pgn", "txt"))
        ]
    );
    let kept = daemon.at(".cbfs/rejected").join(&kept[0]);
    assert_eq!(fs::read_to_string(kept).unwrap(), text);
}

#[test]
fn a_second_file_of_a_name_is_not_lost() {
    let Some(mut daemon) = sample() else { return };
    // As lf makes them, and ranger.
    let made = fs::write(daemon.at("import/week.pgn.~1~"), daemon.text(1));
    assert_eq!(errno(made), Some(libc::EPERM));
    let other = with_tag(&daemon.text(7), "White", "Mine");
    fs::write(daemon.at("games/000007.pgn_"), &other).unwrap();
    fs::write(daemon.at("games/000007.pgn.~1~"), daemon.text(7)).unwrap();
    daemon.restart();
    let kept = names(&daemon.at(".cbfs/rejected"));
    assert_eq!(kept, ["000007.pgn_.pgn", "000007.pgn_.txt"]);
    let kept = daemon.at(".cbfs/rejected").join(&kept[0]);
    assert_eq!(fs::read_to_string(kept).unwrap(), other);
}

/// Texts that are no game, or none that a base can hold as it is: what closing
/// says, and a word of the reason.
#[test]
fn bad_texts_are_refused_with_the_reason() {
    let Some(mut daemon) = sample() else { return };
    let old = daemon.text(1);
    let moves = "Nf3 Nf6 Ng1 Ng8 ".repeat(15_000);
    let two = format!("{old}\n{old}");
    let bad: [(&str, Vec<u8>, &str); 7] = [
        ("binary", (0..=255).cycle().take(10_000).collect(), "line 1"),
        (
            "brackets",
            format!("[Event \"x\"]\n\n1. e4 {} *\n", "(".repeat(1_000_000)).into(),
            "line 3",
        ),
        ("two games", two.into(), "game"),
        (
            "60,000 plies",
            format!("[Event \"x\"]\n\n{moves} *\n").into(),
            "long",
        ),
        ("Elo", with_tag(&old, "WhiteElo", "99999").into(), "99999"),
        (
            "unclosed comment",
            old.replacen("1. e4", "1. e4 {never", 1).into(),
            "comment",
        ),
        (
            "another result",
            with_tag(&old, "Result", "0-1").into(),
            "result",
        ),
    ];
    for (what, text, reason) in bad {
        let mut file = File::create(daemon.game(1)).unwrap();
        file.write_all(&text).unwrap();
        let closed = errno(close(file));
        let is_stored = closed.is_none();
        if is_stored {
            // What can be stored is stored whole.
            assert_eq!(what, "60,000 plies");
            assert_eq!(daemon.text(1).matches("Nf3").count(), 15_000);
            save(&daemon.game(1), &old).unwrap();
            continue;
        }
        assert_eq!(closed, Some(libc::EINVAL), "{what}");
        assert_eq!(daemon.text(1), old, "{what}");
        let why = fs::read_to_string(daemon.at(".cbfs/rejected/000001.txt")).unwrap();
        assert!(why.to_lowercase().contains(reason), "{what}: {why}");
        let kept = daemon.at(".cbfs/rejected/000001.pgn");
        assert_eq!(fs::read(&kept).unwrap(), text);
        // The next one would be kept beside it.
        fs::remove_file(kept).unwrap();
    }
    let mut file = File::create(daemon.game(1)).unwrap();
    let piece = vec![b' '; 1 << 20];
    let written = (0..100).find_map(|_| file.write_all(&piece).err());
    assert_eq!(written.unwrap().raw_os_error(), Some(libc::EFBIG));
    let _ = close(file);
    assert_eq!(daemon.text(1), old);
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn values_too_long_for_a_field_are_stored_completely() {
    let Some(mut daemon) = sample() else { return };
    let name = format!("{}, Long", "Verylongname".repeat(10));
    save(&daemon.game(1), &with_tag(&daemon.text(1), "White", &name)).unwrap();
    save(
        &daemon.game(2),
        &with_tag(&daemon.text(2), "Black", "Ωmega, 象棋"),
    )
    .unwrap();
    save(
        &daemon.game(3),
        &with_tag(&daemon.text(3), "OurOwnTag", "kept"),
    )
    .unwrap();
    daemon.restart();
    assert!(
        daemon.text(1).contains(&format!("[White \"{name}\"]")),
        "{}",
        daemon.text(1)
    );
    assert!(
        daemon.text(2).contains("[Black \"Ωmega, 象棋\"]"),
        "{}",
        daemon.text(2)
    );
    assert!(
        daemon.text(3).contains("[OurOwnTag \"kept\"]"),
        "{}",
        daemon.text(3)
    );
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn a_full_disk_refuses_a_save_and_keeps_the_base_whole() {
    if !common::has_fuse() {
        return;
    }
    if !nix::unistd::geteuid().is_root() {
        eprintln!("*** NOT TESTED: a full disk needs root ***");
        return;
    }
    let disk = tempfile::tempdir().unwrap();
    let mut command = Command::new("mount");
    command
        .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
        .arg(disk.path());
    if !command.status().unwrap().success() {
        eprintln!("*** NOT TESTED: a full disk: no tmpfs can be mounted ***");
        return;
    }
    let mut daemon = Daemon::idle(&common::fixture(SAMPLE));
    for (file, bytes) in daemon.files() {
        fs::write(disk.path().join(file.file_name().unwrap()), bytes).unwrap();
    }
    daemon.set_base(disk.path().join("sample.cbh"));
    daemon.start(&["rw"]);
    let free = free_bytes(&daemon.at(""));
    assert_eq!(free, free_bytes(disk.path()), "the disk of the base");
    save(&daemon.game(1), &edited(&daemon, 1, "Before")).unwrap();
    let expected = daemon.text(1);
    let mut filler = File::create(disk.path().join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    let remark = format!("{{{}}} 1. e4", "word ".repeat(4000));
    let mut file = File::create(daemon.game(1)).unwrap();
    file.write_all(expected.replacen("1. e4", &remark, 1).as_bytes())
        .unwrap();
    let refused = close(file.try_clone().unwrap()).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::ENOSPC));
    // Not even while the file is still open, which shows nothing of it later.
    for _ in 0..3 {
        assert_eq!(daemon.text(1), expected);
    }
    assert_eq!(errno(close(file)), Some(libc::ENOSPC));
    assert_eq!(daemon.text(1), expected);
    let reason = fs::read_to_string(daemon.at(".cbfs/rejected/000001.txt")).unwrap();
    assert!(reason.contains("No space left on device"), "{reason}");
    let status = fs::read_to_string(daemon.at(".cbfs/status")).unwrap();
    assert!(
        status.contains("000001.pgn is not saved: No space"),
        "{status}"
    );
    // The daemon may hear of the last close late, and would save the draft then if there
    // were room.
    daemon.end();
    drop(filler);
    fs::remove_file(disk.path().join("filler")).unwrap();
    daemon.start(&["ro"]);
    assert_eq!(daemon.text(1), expected);
    daemon.end();
    // What fits into the journal but not into the base besides is kept there, and told.
    daemon.start(&["rw"]);
    let mut filler = File::create(disk.path().join("filler")).unwrap();
    while free_bytes(disk.path()) > 220_000 {
        filler.write_all(&[0; 4096]).unwrap();
    }
    let remark = format!("{{{}}} 1. ", "word ".repeat(12_000));
    for number in 1..=3 {
        let text = daemon.text(number).replacen("1. ", &remark, 1);
        save(&daemon.game(number), &text).unwrap();
    }
    let expected = [1, 2, 3].map(|number| daemon.text(number));
    let output = cbfs(["umount".into(), daemon.at("")]);
    assert_eq!(output.status.code(), Some(1));
    let told = "saves were not in the files of the base before: No space left on device";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
    daemon.wait();
    drop(filler);
    fs::remove_file(disk.path().join("filler")).unwrap();
    daemon.start(&["rw"]);
    assert_eq!([1, 2, 3].map(|number| daemon.text(number)), expected);
    daemon.end();
    daemon.assert_sound();
    drop(daemon);
    assert!(
        Command::new("umount")
            .arg(disk.path())
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn a_base_that_is_not_writable_is_mounted_read_only() {
    if !common::has_fuse() {
        return;
    }
    let mut daemon = Daemon::idle(&common::fixture(SAMPLE));
    let files: Vec<_> = daemon.files().into_iter().map(|(path, _)| path).collect();
    for file in &files {
        fs::set_permissions(file, Permissions::from_mode(0o444)).unwrap();
    }
    let output = daemon.command(&["rw"]).output().unwrap();
    assert!(!output.status.success());
    assert!(stderr(&output).contains("-o ro"), "{}", stderr(&output));
    daemon.start(&["defaults"]);
    assert_eq!(errno(fs::write(daemon.game(1), "x")), Some(libc::EROFS));
    assert_eq!(free_bytes(&daemon.at("")), 0);
    let status = fs::read_to_string(daemon.at(".cbfs/status")).unwrap();
    let is_why = |line: &&str| line.starts_with("read only because:");
    let why = status.lines().find(is_why).unwrap_or(&status);
    assert!(why.contains("sample.cb"), "{why}");
    let mode = |path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(
        (mode(daemon.game(1)), mode(daemon.at("games"))),
        (0o444, 0o555)
    );
    daemon.end();
    for file in &files {
        fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    }
    daemon.start(&["defaults"]);
    assert_eq!(
        (mode(daemon.game(1)), mode(daemon.at("games"))),
        (0o644, 0o755)
    );
}

#[test]
fn the_journal_is_gone_when_a_mount_has_ended() {
    let Some(mut daemon) = sample() else { return };
    save(&daemon.game(1), &edited(&daemon, 1, "Once")).unwrap();
    let folder = daemon.base().parent().unwrap().to_path_buf();
    assert!(names(&folder).iter().any(|name| name.ends_with("-journal")));
    daemon.terminate();
    let left = names(&folder);
    assert!(
        left.iter().all(|name| name.starts_with("sample.")),
        "{left:?}"
    );
    let output = cbfs(["export".into(), daemon.base().to_path_buf()]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("[Annotator \"Once\"]"));
}

/// Bytes that a filesystem says are free.
fn free_bytes(path: &Path) -> u64 {
    let disk = nix::sys::statvfs::statvfs(path).unwrap();
    disk.blocks_available() * disk.fragment_size()
}

#[test]
fn text_confirmed_by_fsync_stays_whatever_is_written_later() {
    let Some(mut daemon) = sample() else { return };
    let text = edited(&daemon, 3, "Confirmed");
    let mut file = File::create(daemon.game(3)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.sync_all().unwrap();
    file.write_all(b"1. e4 garbage (").unwrap();
    assert_eq!(errno(close(file)), Some(libc::EINVAL));
    assert_annotated(&mut daemon, 3, "Confirmed");
    // A program that is killed.
    let text = edited(&daemon, 4, "Killed");
    let mut child = Command::new("python3")
        .args(["-c", WRITER])
        .args([daemon.game(4).as_os_str(), text.as_ref()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut synced = [0];
    child
        .stdout
        .take()
        .unwrap()
        .read_exact(&mut synced)
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_annotated(&mut daemon, 4, "Killed");
    // Another program that has the same game open.
    let texts = [edited(&daemon, 5, "First"), edited(&daemon, 5, "Second")];
    let mut first = File::create(daemon.game(5)).unwrap();
    first.write_all(texts[0].as_bytes()).unwrap();
    first.sync_all().unwrap();
    let mut second = File::create(daemon.game(5)).unwrap();
    second.write_all(texts[1].as_bytes()).unwrap();
    second.sync_all().unwrap();
    close(second).unwrap();
    first.write_all(b"oops (").unwrap();
    assert_eq!(errno(close(first)), Some(libc::EINVAL));
    assert_annotated(&mut daemon, 5, "Second");
}

/// Writes and syncs a file, says so, writes on and waits to be killed.
const WRITER: &str = "import os, sys, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
os.write(file, sys.argv[2].encode())
os.fsync(file)
os.write(file, b'half (')
print('x', end='', flush=True)
time.sleep(100)
";

#[test]
fn an_import_that_fsync_confirmed_is_not_withdrawn() {
    let Some(mut daemon) = sample() else { return };
    let count = names(&daemon.at("games")).len();
    let games = [daemon.text(1), daemon.text(2)].concat();
    let mut file = File::create(daemon.at("import/a.pgn")).unwrap();
    file.write_all(games.as_bytes()).unwrap();
    file.sync_all().unwrap();
    assert_eq!(names(&daemon.at("games")).len(), count + 2);
    file.write_all(b"1. e4 e9 (").unwrap();
    assert_eq!(errno(close(file)), Some(libc::EINVAL));
    assert_eq!(names(&daemon.at("games")).len(), count + 2);
    daemon.end();
    daemon.assert_sound();
}

#[test]
fn a_save_into_a_base_without_headers_is_an_io_error() {
    let Some(mut daemon) = sample() else { return };
    let text = edited(&daemon, 1, "Late");
    let kept = daemon.base().with_extension("away");
    fs::rename(daemon.base(), &kept).unwrap();
    assert_eq!(errno(save(&daemon.game(1), &text)), Some(libc::EIO));
    assert_eq!(errno(fs::remove_file(daemon.game(2))), Some(libc::EIO));
    assert!(daemon.at(".cbfs/rejected/000001.pgn").exists());
    fs::rename(&kept, daemon.base()).unwrap();
    save(&daemon.game(1), &text).unwrap();
    assert_annotated(&mut daemon, 1, "Late");
}

#[test]
fn without_a_home_refused_texts_are_kept_in_the_system_directory() {
    if !common::has_fuse() {
        return;
    }
    let is_private = ["unshare", "-m", "--propagation", "private"];
    let mut probe = Command::new(is_private[0]);
    if !probe
        .args(&is_private[1..])
        .arg("true")
        .status()
        .is_ok_and(|it| it.success())
    {
        eprintln!("*** NOT TESTED: a mount at boot needs root and unshare(1) ***");
        return;
    }
    let daemon = Daemon::idle(&common::fixture(SAMPLE));
    let mut command = Command::new(is_private[0]);
    command
        .args(&is_private[1..])
        .args(["sh", "-c", AT_BOOT, "sh"]);
    command.args([
        Path::new(env!("CARGO_BIN_EXE_cbfs")),
        daemon.base(),
        &daemon.at(""),
    ]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    let expected = "no game\n700 /var/lib/cbfs\n700 /var/lib/cbfs/B\n700 /var/lib/cbfs/B/rejected\n\
                    600 /var/lib/cbfs/B/rejected/000001.pgn\n600 /var/lib/cbfs/B/rejected/000001.txt\n";
    assert_eq!(said, expected);
}

/// Mounts as mount(8) does at boot, where nothing of this stays.
const AT_BOOT: &str = r#"
mount -t tmpfs tmpfs /var/lib || exit 1
cd /var/lib && ln -s "$1" mount.fuse.cbfs && echo "no game" > text || exit 1
env -i PATH="$PATH" /var/lib/mount.fuse.cbfs "$2" "$3" -o rw || exit 1
cp text "$3/games/000001.pgn" 2> /dev/null && exit 1
cat "$3/.cbfs/rejected/000001.pgn"
find /var/lib/cbfs | sort | xargs stat -c '%a %n' | sed 's|sample-[0-9a-f]*|B|'
"$1" umount "$3"
"#;

/// Each thread that read one kept what it had freed, some 70 MB of memory.
#[test]
fn memory_of_large_drafts_is_freed() {
    let Some(daemon) = sample() else { return };
    let text = format!(
        "[Event \"x\"]\n\n1. e4 {{{}}} *\n",
        "a b ".repeat(2_000_000)
    );
    std::thread::scope(|scope| {
        for number in 1..=5 {
            let (daemon, text) = (&daemon, &text);
            scope.spawn(move || {
                let written = fs::write(daemon.game(number), text);
                assert_eq!(errno(written), None);
                assert!(
                    daemon
                        .at(&format!(".cbfs/rejected/{number:06}.txt"))
                        .exists()
                );
            });
        }
    });
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.process())).unwrap();
    let anonymous = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = anonymous.unwrap().trim().strip_suffix(" kB").unwrap();
    let kilobytes: u64 = kilobytes.parse().unwrap();
    assert!(kilobytes < 64 << 10, "{kilobytes} kB");
}

#[test]
fn another_user_than_root_deletes_restores_and_renames() {
    if !common::has_fuse() || !nix::unistd::geteuid().is_root() {
        // The other tests are of such a user then.
        return;
    }
    let mut daemon = Daemon::idle(&common::fixture(SAMPLE));
    let folder = daemon.at("").parent().unwrap().to_path_buf();
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    daemon.start(&["rw,allow_other,uid=65534,gid=65534"]);
    let script = "set -e
        rm games/000001.pgn; mv deleted/000001.pgn games/
        mv games/000002.pgn deleted/; mv deleted/000002.pgn games/
        sed -i 's/Morphy, Paul/Morphy, P./' players/*Morphy*/*.pgn
        mv 'players/Anderssen, Adolf' players/Adolf
        mv annotators/cbfs annotators/Nobody
        mv 'sources/Old masters' sources/Masters
        mv 'teams/SK Köln' teams/Köln
        mv 'tournaments/Hastings (Hastings) 1895' 'tournaments/Hastings (England) 1895'
        ! touch eco/x; ! touch players/x; ! mkdir players/x";
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", script]).current_dir(daemon.at(""));
    let output = shell.uid(65_534).gid(65_534).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    for path in [
        "games/000001.pgn",
        "games/000002.pgn",
        "players/Adolf",
        "annotators/Nobody",
        "sources/Masters",
        "teams/Köln",
        "tournaments/Hastings (England) 1895",
    ] {
        assert!(daemon.at(path).exists(), "{path}");
    }
}

#[test]
fn a_small_file_that_is_open_stays_as_it_was_when_a_game_is_saved() {
    let Some(mut daemon) = sample() else { return };
    let files = [
        "tree/e4/stats.json",
        "tree/board.svg",
        "find/number:1-5/count",
        "html/games/000002.html",
        "html/index.html",
    ];
    for round in 0..4 {
        let texts = files.map(|path| fs::read_to_string(daemon.at(path)).unwrap());
        let open = files.map(|path| File::open(daemon.at(path)).unwrap());
        save(
            &daemon.game(1),
            &edited(&daemon, 1, &format!("Round {round}")),
        )
        .unwrap();
        for ((path, mut file), before) in files.iter().zip(open).zip(texts) {
            let size = file.metadata().map(|metadata| metadata.len());
            assert_eq!(size.ok(), Some(before.len() as u64), "{path}");
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, before, "{path}");
        }
    }
    daemon.end();
}
