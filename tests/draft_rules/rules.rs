//! The rules of saving one by one, and the ways in which programs save.

use std::thread;

use crate::mock::*;
use cbfs::vfs::{Access, DirEntry, Handle, Ino, NodeKind, RenameMode};

const ONE: &str = "000001.pgn";
const TWO: &str = "000002.pgn";
const FOUR: &str = "000004.pgn";

#[test]
fn a_text_written_in_place_is_saved_at_close() {
    let mount = mount();
    let before = mount.lookup(GAMES, ONE).unwrap();
    let handle = mount.open(GAMES, ONE, REWRITE).unwrap();
    assert_eq!(mount.vfs.drafts().attr_open(handle).unwrap().size, 0);
    mount.put(handle, 0, "  edited ");
    mount.put(handle, 9, "X *  \n\n");
    let draft = mount.vfs.drafts().attr_open(handle).unwrap();
    assert_eq!(
        (draft.ino, draft.size, draft.version),
        (before.ino, 16, None)
    );
    // Who does not write it sees what is stored.
    let stored = mount.vfs.attr(before.ino).unwrap();
    assert_eq!((stored.size, stored.version), (8, before.version));
    assert_eq!(mount.read(GAMES, ONE).unwrap(), "one X *\n");
    assert_eq!(mount.games()[0], "one X *");
    mount.vfs.drafts().flush(handle).unwrap();
    assert_eq!(mount.games(), ["edited X *", "two *", "three X *"]);
    // Canonical within the flush.
    let saved = mount.vfs.attr(before.ino).unwrap();
    assert_eq!((saved.size, saved.version), (11, Some(1)));
    // Of what is read through the handle.
    assert_eq!(mount.vfs.drafts().attr_open(handle).unwrap().size, 16);
    mount.vfs.drafts().release(handle);
    assert_eq!(mount.read(GAMES, ONE).unwrap(), "edited X *\n");
    assert_eq!(mount.read(PLAYER, ONE).unwrap(), "edited X *\n");
    assert_eq!(mount.lookup(GAMES, ONE).unwrap().ino, before.ino);
    assert!(mount.rejected().is_empty());
}

#[test]
fn what_is_said_of_a_game_may_be_kept_unless_a_program_writes_it() {
    let mount = mount();
    let is_settled = |name| {
        mount.read(GAMES, name).unwrap();
        let attr = mount.lookup(GAMES, name).unwrap();
        mount.vfs.drafts().is_settled(&attr)
    };
    assert!(is_settled(ONE) && is_settled(TWO));
    let handle = mount.open(GAMES, ONE, UPDATE).unwrap();
    mount.put(handle, 0, "ONE");
    assert!(!is_settled(ONE) && is_settled(TWO));
    mount.close(handle).unwrap();
    assert!(is_settled(ONE) && is_settled(TWO));
}

#[test]
fn a_directory_is_listed_as_far_as_there_is_room() {
    let mount = mount();
    for name in ["a", "b", "c"] {
        mount.create(GAMES, name, true).unwrap();
    }
    let listed = |room| {
        let mut names = Vec::new();
        let mut add = |entry: &DirEntry<'_>| {
            names.push(entry.name.to_owned());
            names.len() < room
        };
        mount.vfs.list(GAMES, 2, &mut add).unwrap();
        names
    };
    let all = [ONE, TWO, "000003.pgn", "a", "b", "c"];
    for room in 1..=all.len() {
        assert_eq!(listed(room), all[..room]);
    }
}

#[test]
fn a_truncated_text_is_saved_at_close() {
    let mount = mount();
    let handle = mount.open(GAMES, ONE, WRITE).unwrap();
    mount.put(handle, 0, "ab *\n");
    let attr = mount
        .vfs
        .drafts()
        .truncate(game(1), Some(handle), 5)
        .unwrap();
    assert_eq!(attr.size, 5);
    mount.close(handle).unwrap();
    assert_eq!(mount.games()[0], "ab *");
    // vim's way: cut first, then write.
    let handle = mount.open(GAMES, TWO, UPDATE).unwrap();
    mount
        .vfs
        .drafts()
        .truncate(game(2), Some(handle), 0)
        .unwrap();
    mount.put(handle, 0, "c *\n");
    mount.close(handle).unwrap();
    assert_eq!(mount.games()[1], "c *");
}

#[test]
fn some_bytes_of_a_game_can_be_patched_and_others_appended() {
    let mount = mount();
    let handle = mount.open(GAMES, ONE, UPDATE).unwrap();
    mount.put(handle, 0, "ONE");
    assert_eq!(
        mount
            .vfs
            .drafts()
            .read_open(handle, 0, 100)
            .unwrap()
            .to_vec(),
        b"ONE X *\n"
    );
    mount.vfs.drafts().fsync(game(1), Some(handle)).unwrap();
    assert_eq!(mount.games()[0], "ONE X *");
    assert_eq!(mount.stored.lock().unwrap().syncs, 1);
    mount.close(handle).unwrap();
    let append = Access {
        append: true,
        ..WRITE
    };
    let handle = mount.open(GAMES, ONE, append).unwrap();
    // The kernel guesses where the end is.
    mount.put(handle, 3, " ");
    mount.close(handle).unwrap();
    assert_eq!(mount.games()[0], "ONE X *");
    assert_eq!(mount.stored.lock().unwrap().saves, 1, "it says the same");
}

#[test]
fn truncating_without_writing_changes_nothing() {
    let mount = mount();
    let handle = mount.open(GAMES, ONE, REWRITE).unwrap();
    assert_eq!(mount.vfs.drafts().attr_open(handle).unwrap().size, 0);
    mount.vfs.drafts().flush(handle).unwrap();
    assert_eq!(mount.vfs.attr(game(1)).unwrap().size, 8);
    mount.vfs.drafts().release(handle);
    assert_eq!(
        mount.vfs.drafts().truncate(game(1), None, 0).unwrap().size,
        8
    );
    assert_eq!(mount.read(GAMES, ONE).unwrap(), "one X *\n");
    assert_eq!(mount.stored.lock().unwrap().saves, 0);
    assert!(mount.rejected().is_empty());
}

#[test]
fn a_game_cut_by_its_name_is_saved_or_refused_at_once() {
    let mount = mount_of(&["one * \n"]);
    mount.vfs.drafts().truncate(game(1), None, 5).unwrap();
    assert_eq!(mount.games(), ["one *"]);
    let refused = mount.vfs.drafts().truncate(game(1), None, 3).errno();
    assert_eq!(refused.unwrap_err(), libc::EINVAL);
    assert_eq!(mount.games(), ["one *"]);
    assert_eq!(mount.rejected(), ["000001.pgn", "000001.txt"]);
}

#[test]
fn a_refused_save_loses_nothing() {
    let mut mount = mount();
    assert_eq!(mount.write(GAMES, ONE, "no end"), Err(libc::EINVAL));
    assert_eq!(mount.read(GAMES, ONE).unwrap(), "one X *\n");
    assert_eq!(mount.rejected(), ["000001.pgn", "000001.txt"]);
    assert_eq!(mount.rejected_text("000001.pgn"), "no end");
    let why = "line 1, column 6: found the end, expected *\n";
    assert_eq!(mount.rejected_text("000001.txt"), why);
    // It survives.
    mount = mount_in(&["one X *\n", "two *\n"], mount.state, 1 << 20);
    assert_eq!(mount.rejected_text("000001.pgn"), "no end");
    let rejected = mount.rejected_directory();
    assert_eq!(mount.open(rejected, ONE, WRITE), Err(libc::EACCES));
    assert_eq!(mount.create(rejected, "x", false), Err(libc::EPERM));
    // It goes when the game is saved, or removed.
    mount.write(GAMES, TWO, "wrong").unwrap_err();
    mount.write(GAMES, ONE, "right *").unwrap();
    assert_eq!(mount.rejected(), ["000002.pgn", "000002.txt"]);
    let kept = mount.lookup(rejected, TWO).unwrap().ino;
    mount.unlink(rejected, TWO).unwrap();
    assert!(mount.rejected().is_empty());
    assert_eq!(mount.vfs.attr(kept).errno(), Err(libc::ENOENT));
    assert_eq!(mount.unlink(rejected, TWO), Err(libc::ENOENT));
}

#[test]
fn each_refused_draft_of_a_game_is_kept_until_the_game_is_saved() {
    let mut mount = mount();
    mount.write(GAMES, ONE, "hours of work").unwrap_err();
    mount.write(GAMES, ONE, "another program").unwrap_err();
    let two = ["000001.pgn", "000001.txt", "000001-2.pgn", "000001-2.txt"];
    assert_eq!(mount.rejected(), two);
    assert_eq!(mount.rejected_text("000001.pgn"), "hours of work");
    assert_eq!(mount.rejected_text("000001-2.pgn"), "another program");
    // The same text is no second one, and its first reason stays.
    mount.write(GAMES, ONE, "hours of work").unwrap_err();
    assert_eq!(mount.rejected(), two);
    // Nor does the next mount write over what an earlier one kept.
    mount = mount_in(&["one X *\n", "two *\n"], mount.state, 1 << 20);
    mount.write(GAMES, ONE, "hours of work").unwrap_err();
    mount.write(GAMES, ONE, "a third").unwrap_err();
    assert_eq!(mount.rejected_text("000001.pgn"), "hours of work");
    assert_eq!(mount.rejected_text("000001-3.pgn"), "a third");
    mount.write(GAMES, TWO, "wrong").unwrap_err();
    mount.write(GAMES, ONE, "right *").unwrap();
    assert_eq!(mount.rejected(), ["000002.pgn", "000002.txt"]);
}

#[test]
fn a_draft_that_is_refused_again_replaces_its_own_text() {
    let mount = mount();
    mount.write(GAMES, ONE, "another").unwrap_err();
    let handle = mount.open(GAMES, ONE, REWRITE).unwrap();
    for (at, part) in [(0, "no"), (2, " end"), (6, " at all")] {
        mount.put(handle, at, part);
        mount
            .vfs
            .drafts()
            .fsync(game(1), Some(handle))
            .errno()
            .unwrap_err();
    }
    assert_eq!(mount.rejected().len(), 4);
    assert_eq!(mount.rejected_text("000001.pgn"), "another");
    assert_eq!(mount.rejected_text("000001-2.pgn"), "no end at all");
    mount.close(handle).unwrap_err();
    assert_eq!(mount.rejected().len(), 4);
}

#[test]
fn refused_drafts_of_a_game_are_bounded_and_the_oldest_gives_way() {
    let mount = mount();
    for number in 1..=101 {
        let text = format!("draft {number}");
        mount.write(GAMES, ONE, &text).unwrap_err();
    }
    assert_eq!(mount.rejected().len(), 200);
    let texts = mount.rejected().into_iter();
    let texts: Vec<String> = texts
        .filter(|name| name.rsplit('.').next() == Some("pgn"))
        .map(|name| mount.rejected_text(&name))
        .collect();
    assert!(texts.contains(&"draft 101".to_owned()));
    assert!(texts.contains(&"draft 2".to_owned()));
    assert!(!texts.contains(&"draft 1".to_owned()));
}

#[test]
fn fsync_and_close_fail_until_the_text_is_valid() {
    let mount = mount();
    let handle = mount.open(GAMES, ONE, REWRITE).unwrap();
    mount.put(handle, 0, "no end");
    let synced = mount.vfs.drafts().fsync(game(1), Some(handle)).errno();
    assert_eq!(synced, Err(libc::EINVAL));
    assert_eq!(mount.vfs.drafts().flush(handle).errno(), Err(libc::EINVAL));
    assert_eq!(mount.rejected().len(), 2);
    assert_eq!(mount.read(GAMES, ONE).unwrap(), "one X *\n");
    mount.put(handle, 6, " *");
    mount.close(handle).unwrap();
    assert_eq!(mount.games()[0], "no end *");
    assert!(mount.rejected().is_empty(), "withdrawn");
}

#[test]
fn a_partial_text_flushed_early_is_replaced_by_the_complete_one() {
    let mount = mount();
    for (directory, name) in [(GAMES, ONE), (GAMES, "new.pgn"), (IMPORT, "a.pgn")] {
        let count = mount.games().len();
        let handle = mount.open(directory, name, REWRITE).unwrap();
        mount.put(handle, 0, "half * ");
        mount.vfs.drafts().flush(handle).unwrap();
        assert!(mount.games().contains(&"half *".to_owned()));
        // At the offset where the writer is, whatever is shown.
        mount
            .vfs
            .drafts()
            .truncate(mount.lookup(directory, name).unwrap().ino, Some(handle), 5)
            .unwrap();
        mount.put(handle, 5, "whole *");
        mount.close(handle).unwrap();
        let games = mount.games();
        assert!(!games.contains(&"half *".to_owned()), "{games:?}");
        assert!(games.contains(&"half whole *".to_owned()));
        assert_eq!(games.len(), count + usize::from(name != ONE));
    }
}

#[test]
fn a_refused_flush_keeps_an_earlier_save() {
    let mount = mount();
    for (directory, name) in [(GAMES, ONE), (GAMES, "new.pgn")] {
        let handle = mount.open(directory, name, REWRITE).unwrap();
        mount.put(handle, 0, "half *");
        mount.vfs.drafts().flush(handle).unwrap();
        mount.put(handle, 6, " and no end");
        assert_eq!(mount.close(handle), Err(libc::EINVAL));
        assert_eq!(mount.rejected_text(name), "half * and no end");
        assert_eq!(mount.read(directory, name).unwrap(), "half *\n");
    }
    assert_eq!(mount.games(), ["half *", "two *", "three X *", "half *"]);
    assert_eq!(mount.list(GAMES), [ONE, TWO, "000003.pgn", FOUR, "new.pgn"]);
}

#[test]
fn a_refused_later_flush_withdraws_an_import() {
    let mount = mount();
    let handle = mount.open(IMPORT, "a.pgn", REWRITE).unwrap();
    mount.put(handle, 0, "half *");
    mount.vfs.drafts().flush(handle).unwrap();
    assert_eq!(mount.games()[3..], ["half *"]);
    mount.put(handle, 6, " and no end");
    assert_eq!(mount.close(handle), Err(libc::EINVAL));
    assert_eq!(mount.games()[3..], ["half * deleted"]);
    assert_eq!(mount.rejected_text("a.pgn"), "half * and no end");
}

#[test]
fn fsync_confirms_an_import() {
    let mount = mount();
    let handle = mount.open(IMPORT, "a.pgn", REWRITE).unwrap();
    mount.put(handle, 0, "a * b *");
    mount.vfs.drafts().fsync(IMPORT, Some(handle)).unwrap();
    mount.put(handle, 7, " no end");
    assert_eq!(mount.vfs.drafts().flush(handle).errno(), Err(libc::EINVAL));
    assert_eq!(mount.games()[3..], ["a *", "b *"]);
    assert_eq!(mount.rejected_text("a.pgn"), "a * b * no end");
    mount.stored.lock().unwrap().is_full = true;
    mount.put(handle, 14, " *");
    assert_eq!(mount.vfs.drafts().flush(handle).errno(), Err(libc::ENOSPC));
    assert_eq!(mount.games()[3..], ["a *", "b *"]);
    mount.stored.lock().unwrap().is_full = false;
    mount.close(handle).unwrap();
    assert_eq!(mount.games()[3..], ["a *", "b *", "no end *"]);
    assert!(mount.rejected().is_empty());
}

#[test]
fn close_confirms_an_import_to_the_program_that_closed() {
    let mount = mount();
    let first = mount.open(IMPORT, "a.pgn", REWRITE).unwrap();
    let second = mount.open(IMPORT, "a.pgn", WRITE).unwrap();
    mount.put(first, 0, "a *");
    mount.close(first).unwrap();
    mount.put(second, 3, " no end");
    assert_eq!(mount.close(second), Err(libc::EINVAL));
    assert_eq!(mount.games()[3..], ["a *"]);
    assert_eq!(mount.rejected_text("a.pgn"), "a * no end");
}

#[test]
fn a_save_that_another_program_confirmed_stays_when_this_one_is_refused() {
    for is_synced in [false, true] {
        let mount = mount();
        let first = mount.open(GAMES, ONE, REWRITE).unwrap();
        mount.put(first, 0, "first text of it *");
        if is_synced {
            mount.vfs.drafts().fsync(game(1), Some(first)).unwrap();
        }
        let second = mount.open(GAMES, ONE, REWRITE).unwrap();
        mount.put(second, 0, "second *");
        if is_synced {
            mount.vfs.drafts().fsync(game(1), Some(second)).unwrap();
        }
        mount.close(second).unwrap();
        mount.put(first, 18, "oops");
        assert_eq!(mount.close(first), Err(libc::EINVAL));
        assert_eq!(mount.games(), ["second *", "two *", "three X *"]);
        assert_eq!(mount.read(GAMES, ONE).unwrap(), "second *\n");
    }
}

#[test]
fn a_killed_writer_loses_nothing_that_fsync_confirmed() {
    for (directory, name, at) in [(GAMES, ONE, 0), (GAMES, "new.pgn", 3), (IMPORT, "a.pgn", 3)] {
        let mount = mount();
        let handle = mount.open(directory, name, REWRITE).unwrap();
        mount.put(handle, 0, "confirmed *");
        mount.vfs.drafts().fsync(game(1), Some(handle)).unwrap();
        mount.put(handle, 11, " half");
        // The system flushes and releases what a killed program had open.
        assert_eq!(mount.close(handle), Err(libc::EINVAL));
        assert_eq!(mount.games()[at], "confirmed *");
        assert_eq!(mount.rejected_text(name), "confirmed * half");
    }
}

#[test]
fn a_rename_moves_a_confirmed_append_or_leaves_it() {
    let mount = mount();
    let handle = mount.open(GAMES, "tmp.pgn", REWRITE).unwrap();
    mount.put(handle, 0, "appended *");
    mount.vfs.drafts().fsync(game(1), Some(handle)).unwrap();
    mount.close(handle).unwrap();
    assert_eq!(mount.games()[3..], ["appended *"]);
    mount.stored.lock().unwrap().is_full = true;
    let renamed = mount.rename((GAMES, "tmp.pgn"), (GAMES, ONE));
    assert_eq!(renamed, Err(libc::ENOSPC));
    assert_eq!(mount.read(GAMES, "tmp.pgn").unwrap(), "appended *\n");
    mount.stored.lock().unwrap().is_full = false;
    mount.rename((GAMES, "tmp.pgn"), (GAMES, ONE)).unwrap();
    let moved = ["appended *", "two *", "three X *", "appended * deleted"];
    assert_eq!(mount.games(), moved);
    assert_eq!(mount.list(GAMES), [ONE, TWO, "000003.pgn"]);
}

#[test]
fn a_temporary_file_renamed_over_a_game_is_that_game() {
    let mount = mount();
    for (number, temporary) in ["sedX1", ".000001.pgn.AbC", "tmp.pgn"].iter().enumerate() {
        let text = format!("text {number} *");
        let old = mount.open(GAMES, ONE, WRITE).unwrap();
        let handle = mount.create(GAMES, temporary, true).unwrap();
        mount.put(handle, 0, &text);
        let own = mount.lookup(GAMES, temporary).unwrap().ino;
        let _ = mount
            .vfs
            .drafts()
            .set_attributes(own, Some(0o600), None)
            .unwrap();
        mount.close(handle).unwrap();
        mount.rename((GAMES, temporary), (GAMES, ONE)).unwrap();
        assert_eq!(mount.lookup(GAMES, ONE).unwrap().ino, game(1));
        assert_eq!(mount.games()[..3], [&text, "two *", "three X *"]);
        assert_eq!(mount.read(GAMES, ONE).unwrap(), format!("{text}\n"));
        assert_eq!(mount.list(GAMES), [ONE, TWO, "000003.pgn"]);
        // The kernel still knows it by its old number.
        let size = mount.vfs.attr(own).unwrap().size;
        assert_eq!(size, 9, "{temporary}");
        // GLib closes the old one last; it was not written.
        mount.close(old).unwrap();
        assert_eq!(mount.games()[0], text);
    }
}

#[test]
fn an_invalid_temporary_file_is_refused_when_renamed_to_a_game() {
    let mount = mount();
    mount.write(GAMES, "sedX", "no end").unwrap();
    let renamed = mount.rename((GAMES, "sedX"), (GAMES, ONE));
    assert_eq!(renamed, Err(libc::EINVAL));
    assert_eq!(mount.read(GAMES, ONE).unwrap(), "one X *\n");
    assert_eq!(mount.read(GAMES, "sedX").unwrap(), "no end");
    assert_eq!(mount.rejected_text(ONE), "no end");
    mount.write(GAMES, "empty", "").unwrap();
    let renamed = mount.rename((GAMES, "empty"), (GAMES, ONE));
    assert_eq!(renamed, Err(libc::EINVAL));
    assert_eq!(mount.games()[0], "one X *");
}

#[test]
fn a_temporary_file_written_on_after_it_was_renamed_is_the_game() {
    let mount = mount();
    let handle = mount.create(GAMES, "tmpX", true).unwrap();
    mount.put(handle, 0, "first *");
    mount.rename((GAMES, "tmpX"), (GAMES, ONE)).unwrap();
    assert_eq!(mount.games()[0], "first *");
    mount.close(handle).unwrap();
    let handle = mount.create(GAMES, "tmpX", true).unwrap();
    mount.put(handle, 0, "first *");
    mount.rename((GAMES, "tmpX"), (GAMES, ONE)).unwrap();
    mount.put(handle, 0, "other *");
    mount.close(handle).unwrap();
    assert_eq!(mount.games()[0], "other *");
}

#[test]
fn a_game_renamed_to_a_backup_and_rewritten_is_the_same_game() {
    let mount = mount();
    for directory in [GAMES, PLAYER] {
        // vim
        let probe = mount.create(directory, "4913", true).unwrap();
        mount.close(probe).unwrap();
        mount.unlink(directory, "4913").unwrap();
        let old = mount.read(directory, ONE).unwrap();
        mount
            .rename((directory, ONE), (directory, "000001.pgn~"))
            .unwrap();
        assert_eq!(mount.lookup(directory, ONE), Err(libc::ENOENT));
        assert!(!mount.list(directory).contains(&ONE.to_owned()));
        assert_eq!(mount.read(directory, "000001.pgn~").unwrap(), old);
        let handle = mount.create(directory, ONE, false).unwrap();
        assert_eq!(mount.lookup(directory, ONE).unwrap().ino, game(1));
        mount.put(handle, 0, "anew X *");
        mount.vfs.drafts().fsync(game(1), Some(handle)).unwrap();
        mount.close(handle).unwrap();
        assert_eq!(mount.read(directory, "000001.pgn~").unwrap(), old);
        mount.unlink(directory, "000001.pgn~").unwrap();
        assert_eq!(mount.games(), ["anew X *", "two *", "three X *"]);
        assert!(mount.list(directory).contains(&ONE.to_owned()));
        mount.write(GAMES, ONE, "one X *").unwrap();
    }
}

#[test]
fn a_renamed_game_is_restored_with_or_without_its_backup() {
    let mount = mount();
    let names = mount.list(GAMES);
    mount.rename((GAMES, ONE), (GAMES, "old")).unwrap();
    assert_eq!(mount.list(GAMES), [TWO, "000003.pgn", "old"]);
    assert_eq!(mount.unlink(GAMES, ONE), Err(libc::ENOENT));
    mount.rename((GAMES, "old"), (GAMES, "older")).unwrap();
    mount.unlink(GAMES, "older").unwrap();
    assert_eq!(mount.list(GAMES), names);
    mount.rename((GAMES, ONE), (GAMES, "old")).unwrap();
    mount.rename((GAMES, "old"), (GAMES, ONE)).unwrap();
    assert_eq!(mount.list(GAMES), names);
    mount.rename((GAMES, ONE), (GAMES, "old")).unwrap();
    mount.write(GAMES, "tmp", "new *").unwrap();
    mount.rename((GAMES, "tmp"), (GAMES, ONE)).unwrap();
    assert_eq!(mount.read(GAMES, "old").unwrap(), "one X *\n");
    assert_eq!(mount.games(), ["new *", "two *", "three X *"]);
    // Other names of it are no more affected than those of other files.
    mount.rename((GAMES, "000003.pgn"), (GAMES, "old")).unwrap();
    assert!(mount.lookup(PLAYER, "000003.pgn").is_ok());
    assert_eq!(mount.stored.lock().unwrap().saves, 1);
}

#[test]
fn two_games_do_not_change_places() {
    let mount = mount();
    mount.rename((GAMES, ONE), (GAMES, "old")).unwrap();
    assert_eq!(mount.rename((GAMES, TWO), (GAMES, ONE)), Err(libc::EPERM));
    mount.rename((GAMES, "old"), (GAMES, "older")).unwrap();
    assert_eq!(
        mount.rename((GAMES, "older"), (GAMES, TWO)),
        Err(libc::EPERM)
    );
    mount.rename((GAMES, "older"), (GAMES, ONE)).unwrap();
    assert_eq!(mount.games(), ["one X *", "two *", "three X *"]);
    // A backup of what is another text by now is a file like any other.
    mount.rename((GAMES, ONE), (GAMES, "old")).unwrap();
    mount.write(GAMES, ONE, "new *").unwrap();
    mount.rename((GAMES, "old"), (GAMES, TWO)).unwrap();
    assert_eq!(mount.games(), ["new *", "one X *", "three X *"]);
}

#[test]
fn a_refused_text_under_the_name_of_a_renamed_game_leaves_the_game() {
    let mount = mount();
    mount.rename((GAMES, ONE), (GAMES, "000001.pgn~")).unwrap();
    let handle = mount.create(GAMES, ONE, false).unwrap();
    mount.put(handle, 0, "no end");
    assert_eq!(mount.close(handle), Err(libc::EINVAL));
    assert_eq!(mount.read(GAMES, ONE).unwrap(), "one X *\n");
    // vim puts the backup back.
    mount.unlink(GAMES, ONE).unwrap();
    mount.rename((GAMES, "000001.pgn~"), (GAMES, ONE)).unwrap();
    assert_eq!(mount.games(), ["one X *", "two *", "three X *"]);
    assert_eq!(mount.list(GAMES), [ONE, TWO, "000003.pgn"]);
}

#[test]
fn a_game_removed_and_recreated_is_the_same_game() {
    let mount = mount();
    assert_eq!(mount.create(GAMES, ONE, true), Err(libc::EEXIST));
    mount.unlink(GAMES, ONE).unwrap();
    assert_eq!(mount.games()[0], "one X * deleted");
    assert_eq!(mount.list(DELETED), [ONE]);
    let handle = mount.create(GAMES, ONE, true).unwrap();
    assert_eq!(mount.games()[0], "one X *");
    mount.put(handle, 0, "anew *");
    mount.close(handle).unwrap();
    assert_eq!(mount.games(), ["anew *", "two *", "three X *"]);
    mount.unlink(GAMES, ONE).unwrap();
    assert_eq!(mount.write(GAMES, ONE, "no end"), Err(libc::EINVAL));
    assert_eq!(mount.games()[0], "anew *");
    mount.unlink(GAMES, ONE).unwrap();
    mount.write(GAMES, "tmp", "renamed *").unwrap();
    mount.rename((GAMES, "tmp"), (GAMES, ONE)).unwrap();
    assert_eq!(mount.games()[0], "renamed *");
}

#[test]
fn writing_to_a_removed_game_does_not_restore_it() {
    let mount = mount();
    let handle = mount.open(GAMES, ONE, WRITE).unwrap();
    let begun = mount.open(GAMES, TWO, REWRITE).unwrap();
    mount.put(begun, 0, "begun *");
    mount.unlink(GAMES, ONE).unwrap();
    mount.unlink(GAMES, TWO).unwrap();
    mount.put(handle, 0, "ONE");
    assert_eq!(mount.close(handle), Err(libc::EINVAL));
    assert_eq!(mount.close(begun), Err(libc::EINVAL));
    assert_eq!(mount.games()[..2], ["one X * deleted", "two * deleted"]);
    assert_eq!(mount.rejected_text(TWO), "begun *");
}

#[test]
fn any_other_name_is_a_scratch_file() {
    let mount = mount();
    for name in [".swp", "4913", "#x#", "x~", "sedXXXX", "1.pgn.tmp"] {
        mount.write(GAMES, name, "anything").unwrap();
        assert_eq!(mount.read(GAMES, name).unwrap(), "anything");
        let attr = mount.lookup(GAMES, name).unwrap();
        assert_eq!(mount.vfs.drafts().permissions(&attr).unwrap(), 0o644);
        mount
            .vfs
            .drafts()
            .set_attributes(attr.ino, Some(0o600), None)
            .unwrap();
        assert_eq!(mount.vfs.drafts().permissions(&attr).unwrap(), 0o600);
        assert_eq!(
            mount.vfs.drafts().truncate(attr.ino, None, 3).unwrap().size,
            3
        );
    }
    assert_eq!(mount.list(GAMES).len(), 9);
    mount.rename((GAMES, ".swp"), (GAMES, "4913")).unwrap();
    mount.unlink(GAMES, "x~").unwrap();
    assert_eq!(mount.list(GAMES).len(), 7);
    assert_eq!(mount.stored.lock().unwrap().saves, 0);
    // An open one without a name is still a file.
    let handle = mount.open(GAMES, "4913", UPDATE).unwrap();
    mount.unlink(GAMES, "4913").unwrap();
    mount.put(handle, 0, "x");
    assert_eq!(
        mount.vfs.drafts().read_open(handle, 0, 1).unwrap().to_vec(),
        b"x"
    );
    mount.close(handle).unwrap();
}

#[test]
fn a_new_name_or_the_next_number_is_a_new_game() {
    let mount = mount();
    mount.write(GAMES, "new.pgn", "new *").unwrap();
    assert_eq!(mount.games().last().unwrap(), "new *");
    assert_eq!(mount.list(GAMES), [ONE, TWO, "000003.pgn", FOUR, "new.pgn"]);
    let link = mount.lookup(GAMES, "new.pgn").unwrap();
    assert_eq!(link, mount.lookup(GAMES, FOUR).unwrap());
    mount.write(GAMES, "new.pgn", "edited *").unwrap();
    assert_eq!(mount.games()[3..], ["edited *"]);
    mount.write(GAMES, "000005.pgn", "next *").unwrap();
    assert_eq!(mount.games()[3..], ["edited *", "next *"]);
    assert_eq!(mount.list(GAMES).len(), 6);
    assert_eq!(mount.write(GAMES, "000009.pgn", "x *"), Err(libc::EPERM));
    assert_eq!(mount.write(GAMES, "two.pgn", "a * b *"), Err(libc::EINVAL));
    assert_eq!(mount.lookup(GAMES, "two.pgn"), Err(libc::ENOENT));
    assert_eq!(mount.rejected_text("two.pgn"), "a * b *");
    mount.write(GAMES, "two.pgn", "a *").unwrap();
    assert!(mount.rejected().is_empty());
    // Its further name goes, the game stays.
    mount.unlink(GAMES, "new.pgn").unwrap();
    assert_eq!(mount.games()[3], "edited *");
    // touch
    let handle = mount.create(GAMES, "empty.pgn", false).unwrap();
    mount.close(handle).unwrap();
    assert_eq!(mount.read(GAMES, "empty.pgn").unwrap(), "");
    assert_eq!(mount.games().len(), 6);
}

#[test]
fn a_new_game_can_be_renamed_away_and_written_anew() {
    let mount = mount();
    mount.write(GAMES, "new.pgn", "new *").unwrap();
    mount
        .rename((GAMES, "new.pgn"), (GAMES, "new.pgn~"))
        .unwrap();
    assert_eq!(mount.lookup(GAMES, "new.pgn"), Err(libc::ENOENT));
    let handle = mount.create(GAMES, "new.pgn", false).unwrap();
    mount.put(handle, 0, "newer *");
    mount.close(handle).unwrap();
    mount.unlink(GAMES, "new.pgn~").unwrap();
    assert_eq!(mount.games()[3..], ["newer *"]);
    assert_eq!(mount.read(GAMES, "new.pgn").unwrap(), "newer *\n");
    mount
        .rename((GAMES, "new.pgn"), (GAMES, "other.pgn"))
        .unwrap();
    assert_eq!(mount.read(GAMES, "other.pgn").unwrap(), "newer *\n");
    mount.rename((GAMES, "other.pgn"), (GAMES, FOUR)).unwrap();
    assert_eq!(mount.list(GAMES), [ONE, TWO, "000003.pgn", FOUR]);
}

#[test]
fn a_temporary_file_renamed_to_a_new_name_is_a_new_game() {
    let mount = mount();
    mount.write(GAMES, ".new.pgn.part", "new *").unwrap();
    assert_eq!(mount.games().len(), 3);
    mount
        .rename((GAMES, ".new.pgn.part"), (GAMES, "new.pgn"))
        .unwrap();
    assert_eq!(mount.games()[3..], ["new *"]);
    assert_eq!(mount.read(GAMES, "new.pgn").unwrap(), "new *\n");
    mount.write(GAMES, ".x", "no end").unwrap();
    assert_eq!(
        mount.rename((GAMES, ".x"), (GAMES, "x.pgn")),
        Err(libc::EINVAL)
    );
    assert_eq!(mount.rejected_text("x.pgn"), "no end");
    assert_eq!(mount.read(GAMES, ".x").unwrap(), "no end");
}

#[test]
fn an_import_appends_all_games_or_none() {
    let mount = mount();
    mount.write(IMPORT, "a.pgn", "a * b * c *").unwrap();
    assert_eq!(mount.games()[3..], ["a *", "b *", "c *"]);
    assert_eq!(mount.read(IMPORT, "a.pgn").unwrap(), "a * b * c *");
    let log = mount.read(IMPORT, "a.pgn.log").unwrap();
    assert_eq!(log, "a.pgn: 3 games: 000004.pgn to 000006.pgn\n");
    assert_eq!(mount.open(IMPORT, "a.pgn.log", WRITE), Err(libc::EACCES));
    assert_eq!(mount.write(IMPORT, "b.pgn", "d * e"), Err(libc::EINVAL));
    assert_eq!(mount.games().len(), 6);
    assert!(
        mount
            .read(IMPORT, "b.pgn.log")
            .unwrap()
            .contains("expected *")
    );
    assert_eq!(mount.read(IMPORT, "b.pgn").unwrap(), "d * e");
    assert_eq!(mount.rejected_text("b.pgn"), "d * e");
    // The same once more is nothing new; another text is.
    mount.write(IMPORT, "a.pgn", "a * b * c *").unwrap();
    assert_eq!(mount.games().len(), 6);
    mount.write(IMPORT, "a.pgn", "d *").unwrap();
    assert_eq!(mount.games().len(), 7);
    mount.write(IMPORT, ".hidden.pgn", "h *").unwrap();
    assert_eq!(mount.games().len(), 7);
    mount
        .rename((IMPORT, ".hidden.pgn"), (IMPORT, "h.pgn"))
        .unwrap();
    assert_eq!(mount.games()[7..], ["h *"]);
    mount.rename((IMPORT, "h.pgn"), (IMPORT, "i.pgn")).unwrap();
    assert_eq!(mount.games().len(), 8);
    mount.unlink(IMPORT, "a.pgn").unwrap();
    assert_eq!(
        mount.list(IMPORT),
        ["b.pgn", "b.pgn.log", "h.pgn.log", "i.pgn"]
    );
    assert_eq!(mount.games().len(), 8);
}

#[test]
fn a_later_flush_of_an_import_replaces_an_earlier_one() {
    let mount = mount();
    let handle = mount.create(IMPORT, "a.pgn", true).unwrap();
    for (text, made) in [("a * b *", 2), (" c *", 3), (" d", 0), (" *", 4), ("\n", 4)] {
        let attr = mount.lookup(IMPORT, "a.pgn").unwrap();
        mount.put(handle, attr.size, text);
        let flushed = mount.vfs.drafts().flush(handle).errno();
        assert_eq!(flushed.is_ok(), made > 0, "{text}");
        let is_there = |game: &String| !game.ends_with("deleted");
        let games = mount.games().into_iter().filter(is_there);
        assert_eq!(games.count(), 3 + made, "{text}");
        assert_eq!(mount.rejected().is_empty(), made > 0, "{text}");
    }
    mount.close(handle).unwrap();
    assert_eq!(mount.games()[3..], ["a *", "b *", "c *", "d *"]);
    // Whatever it is called from now on, it is imported.
    mount.rename((IMPORT, "a.pgn"), (IMPORT, ".a")).unwrap();
    mount.rename((IMPORT, ".a"), (IMPORT, "b.pgn")).unwrap();
    assert_eq!(mount.games().len(), 7);
}

#[test]
fn a_text_written_during_its_import_is_imported_when_complete() {
    let mount = mount();
    let handle = mount.create(IMPORT, "a.pgn", true).unwrap();
    mount.put(handle, 0, "a * b *");
    let (is_begun, go_on) = mount.pause_import();
    thread::scope(|scope| {
        let flush = scope.spawn(|| mount.vfs.drafts().flush(handle).errno());
        is_begun.recv().unwrap();
        mount.put(handle, 7, " c *");
        go_on.send(()).unwrap();
        assert_eq!(flush.join().unwrap(), Err(libc::EINVAL));
    });
    assert_eq!(mount.games().len(), 3);
    mount.close(handle).unwrap();
    assert_eq!(mount.games()[3..], ["a *", "b *", "c *"]);
    assert!(mount.rejected().is_empty());
}

#[test]
fn other_requests_continue_during_an_import() {
    let mount = mount();
    let (is_begun, go_on) = mount.pause_import();
    thread::scope(|scope| {
        let import = scope.spawn(|| mount.write(IMPORT, "a.pgn", "a * b *"));
        is_begun.recv().unwrap();
        assert_eq!(mount.read(GAMES, ONE).unwrap(), "one X *\n");
        assert_eq!(mount.read(IMPORT, "a.pgn").unwrap(), "a * b *");
        assert_eq!(mount.list(GAMES), [ONE, TWO, "000003.pgn"]);
        mount.write(GAMES, ".x.swp", "of an editor").unwrap();
        assert!(mount.vfs.refresh().directories.is_empty());
        // Who saves waits.
        assert!(mount.vfs.drafts().may_take_long(game(1), None));
        let save = scope.spawn(|| mount.write(GAMES, ONE, "uno *"));
        go_on.send(()).unwrap();
        import.join().unwrap().unwrap();
        save.join().unwrap().unwrap();
    });
    assert!(!mount.vfs.drafts().may_take_long(game(1), None));
    assert_eq!(mount.games()[0], "uno *");
    assert_eq!(mount.games()[3..], ["a *", "b *"]);
}

#[test]
fn unmounting_cancels_an_import() {
    let mount = mount();
    let (is_begun, go_on) = mount.pause_import();
    thread::scope(|scope| {
        let import = scope.spawn(|| mount.write(IMPORT, "a.pgn", "a * b *"));
        is_begun.recv().unwrap();
        let end = scope.spawn(|| mount.vfs.drafts().end().errno());
        // Nothing can be made any more.
        while mount.create(GAMES, ".y", false) != Err(libc::EROFS) {
            thread::yield_now();
        }
        go_on.send(()).unwrap();
        assert_eq!(import.join().unwrap(), Err(libc::EINVAL));
        end.join().unwrap().unwrap();
    });
    assert_eq!(mount.games().len(), 3);
    assert_eq!(mount.rejected_text("a.pgn"), "a * b *");
}

#[test]
fn a_deleted_game_is_brought_back_by_a_rename_and_cannot_be_edited() {
    let mount = mount();
    mount.unlink(GAMES, ONE).unwrap();
    assert_eq!(mount.list(GAMES), [TWO, "000003.pgn"]);
    assert_eq!(mount.open(DELETED, ONE, WRITE), Err(libc::EPERM));
    let attr = mount.lookup(DELETED, ONE).unwrap();
    assert_eq!(mount.vfs.drafts().permissions(&attr).unwrap(), 0o444);
    assert_eq!(mount.unlink(DELETED, ONE), Err(libc::EPERM));
    mount.rename((DELETED, ONE), (GAMES, ONE)).unwrap();
    assert_eq!(mount.games()[0], "one X *");
    assert!(mount.list(DELETED).is_empty());
}

#[test]
fn unsupported_operations_are_refused() {
    let mount = mount();
    assert_eq!(mount.rename((GAMES, ONE), (GAMES, TWO)), Err(libc::EPERM));
    assert_eq!(mount.rename((GAMES, ONE), (DELETED, ONE)), Err(libc::EPERM));
    assert_eq!(mount.rename((GAMES, ONE), (PLAYER, ONE)), Ok(()));
    assert_eq!(mount.unlink(PLAYER, ONE), Err(libc::EPERM));
    assert_eq!(mount.create(PLAYER, "000009.pgn", false), Err(libc::EPERM));
    assert_eq!(mount.create(DELETED, "x", false), Err(libc::EPERM));
    assert_eq!(mount.create(Ino::ROOT, "x", false), Err(libc::EPERM));
    assert_eq!(
        mount.vfs.drafts().make(GAMES, b"x").errno(),
        Err(libc::EPERM)
    );
    assert_eq!(
        mount.vfs.drafts().make(GAMES, ONE.as_bytes()).errno(),
        Err(libc::EEXIST)
    );
    assert_eq!(
        mount
            .vfs
            .drafts()
            .remove_directory(Ino::ROOT, b"games")
            .errno(),
        Err(libc::EPERM)
    );
    assert_eq!(mount.unlink(Ino::ROOT, "games"), Err(libc::EISDIR));
    mount.write(GAMES, "a", "a *").unwrap();
    for (mode, errno) in [
        (RenameMode::Exchange, libc::EINVAL),
        (RenameMode::NoReplace, libc::EEXIST),
    ] {
        let renamed = mount
            .vfs
            .drafts()
            .rename(GAMES, b"a", GAMES, ONE.as_bytes(), mode);
        assert_eq!(renamed.errno(), Err(errno));
    }
    let renamed = mount
        .vfs
        .drafts()
        .rename(GAMES, b"a", GAMES, b"b", RenameMode::NoReplace);
    renamed.unwrap();
    assert_eq!(mount.rename((GAMES, "a"), (GAMES, "c")), Err(libc::ENOENT));
    assert_eq!(mount.games(), ["one X *", "two *", "three X *"]);
}

#[test]
fn the_oldest_of_more_than_ten_thousand_further_names_of_games_goes() {
    let mount = mount();
    mount.write(GAMES, "oldest.pgn", "new *").unwrap();
    mount.write(GAMES, "0.pgn", "newer *").unwrap();
    let rename = |at: u32| {
        let names = [at, at + 1].map(|at| format!("{at}.pgn"));
        mount.rename((GAMES, &names[0]), (GAMES, &names[1]))
    };
    (0..9998).for_each(|at| rename(at).unwrap());
    let game = mount.lookup(GAMES, FOUR);
    assert_eq!(mount.lookup(GAMES, "oldest.pgn"), game);
    rename(9998).unwrap();
    assert_eq!(mount.lookup(GAMES, "oldest.pgn"), Err(libc::ENOENT));
    assert_eq!(mount.lookup(GAMES, FOUR), game);
    assert_eq!(mount.read(GAMES, "9999.pgn").unwrap(), "newer *\n");
}

#[test]
fn a_scratch_file_of_up_to_16_mib_can_be_linked() {
    let mount = mount_in(&[], tempfile::tempdir().unwrap(), 64 << 20);
    mount.write(GAMES, "long", "x").unwrap();
    let ino = mount.lookup(GAMES, "long").unwrap().ino;
    let link = |length: u64, name: &str| {
        let drafts = mount.vfs.drafts();
        drafts.truncate(ino, None, length).unwrap();
        let linked = drafts.link(ino, GAMES, name.as_bytes()).errno();
        linked.map(|attr| attr.size)
    };
    assert_eq!(link(16 << 20, "copy"), Ok(16 << 20));
    assert_eq!(link((16 << 20) + 1, "other"), Err(libc::EPERM));
    // As a game it is read up to that length, too.
    let save = |name: &str| mount.rename((GAMES, name), (GAMES, "x.pgn"));
    assert_eq!(save("copy"), Err(libc::EINVAL));
    assert_eq!(save("long"), Err(libc::EFBIG));
}

#[test]
fn a_pgn_file_that_is_no_game_is_kept_unless_it_is_empty() {
    let mount = mount();
    for (length, is_kept) in [(0, false), (1, true)] {
        let handle = mount.create(PLAYER, "x.PGN", false).unwrap();
        mount.put(handle, 0, "text");
        let ino = mount.lookup(PLAYER, "x.PGN").unwrap().ino;
        mount
            .vfs
            .drafts()
            .truncate(ino, Some(handle), length)
            .unwrap();
        mount.close(handle).unwrap();
        assert_eq!(!mount.rejected().is_empty(), is_kept);
        mount.unlink(PLAYER, "x.PGN").unwrap();
        assert!(mount.rejected().is_empty());
    }
}

#[test]
fn a_game_cut_by_its_name_is_saved_by_a_program_that_has_it_open() {
    let mount = mount();
    let [one, other] = [(); 2].map(|()| mount.open(GAMES, ONE, UPDATE).unwrap());
    mount.put(one, 0, "ONE");
    let ino = mount.lookup(GAMES, ONE).unwrap().ino;
    mount.vfs.drafts().truncate(ino, None, 3).unwrap();
    mount.vfs.drafts().release(one);
    assert!(mount.rejected().is_empty());
    assert_eq!(mount.close(other), Err(libc::EINVAL));
    assert_eq!(mount.rejected_text(ONE), "ONE");
    assert_eq!(mount.games()[0], "one X *");
}

#[test]
fn only_refused_drafts_can_be_removed_beside_the_games_and_appear_by_themselves() {
    let mount = mount();
    assert_eq!(mount.write(GAMES, ONE, "x"), Err(libc::EINVAL));
    assert!(mount.state.path().join("base").is_dir());
    let drafts = mount.vfs.drafts();
    let about = mount.vfs.lookup(Ino::ROOT, b".cbfs").unwrap();
    let rejected = mount.vfs.lookup(about.ino, b"rejected").unwrap();
    let status = mount.vfs.lookup(about.ino, b"status").unwrap();
    let permissions = [about, rejected, status].map(|attr| drafts.permissions(&attr).unwrap());
    assert_eq!(permissions, [0o555, 0o755, 0o444]);
    assert!(
        [about.ino, rejected.ino]
            .into_iter()
            .all(|ino| drafts.may_appear(ino))
    );
    assert!(
        ![Ino::ROOT, GAMES]
            .into_iter()
            .any(|ino| drafts.may_appear(ino))
    );
    assert_eq!(mount.unlink(about.ino, "status"), Err(libc::EPERM));
}

#[test]
fn readers_keep_32_mib_of_texts_that_have_changed() {
    let long = format!("{}*\n", "x".repeat((1 << 20) - 2));
    let mount = mount_of(&[&long]);
    let drafts = mount.vfs.drafts();
    let ino = mount.lookup(GAMES, ONE).unwrap().ino;
    let open = |count: usize| -> Vec<Handle> {
        let opened = (0..count).map(|_| drafts.open_file(ino, Access::READ).unwrap());
        opened.collect()
    };
    let (kept, beyond) = (open(32), open(1));
    drafts.release(kept[0]);
    let again = open(1);
    mount.write(GAMES, ONE, "new *").unwrap();
    for handle in kept[1..].iter().chain(&again) {
        assert_eq!(drafts.attr_open(*handle).unwrap().size, 1 << 20);
    }
    assert_eq!(drafts.attr_open(beyond[0]).errno(), Err(libc::ESTALE));
}

#[test]
fn a_link_to_a_scratch_name_is_a_copy() {
    let mount = mount();
    let attr = mount
        .vfs
        .drafts()
        .link(game(1), GAMES, b"000001.pgn~")
        .unwrap();
    assert_eq!(attr.size, 8);
    mount.write(GAMES, "tmp", "new *").unwrap();
    mount.rename((GAMES, "tmp"), (GAMES, ONE)).unwrap();
    assert_eq!(mount.read(GAMES, "000001.pgn~").unwrap(), "one X *\n");
    assert_eq!(mount.games()[0], "new *");
    let link = |name: &str| {
        mount
            .vfs
            .drafts()
            .link(game(1), GAMES, name.as_bytes())
            .errno()
    };
    assert_eq!(link("000001.pgn~"), Err(libc::EEXIST));
    assert_eq!(link("x.pgn"), Err(libc::EPERM));
}

#[test]
fn renaming_a_directory_renames_the_entity() {
    let mount = mount();
    let renamed = mount.rename((Ino::ROOT, "X"), (Ino::ROOT, "YY"));
    assert_eq!(renamed, Err(libc::ENOTEMPTY));
    mount.rename((Ino::ROOT, "X"), (Ino::ROOT, "Y")).unwrap();
    assert_eq!(mount.games(), ["one Y *", "two *", "three Y *"]);
    assert_eq!(
        mount.rename((Ino::ROOT, "X"), (GAMES, "X")),
        Err(libc::EPERM)
    );
}

#[test]
fn an_incomplete_game_cannot_be_written() {
    let mount = mount_of(&["partial one *\n"]);
    assert_eq!(mount.open(GAMES, ONE, WRITE), Err(libc::EACCES));
    assert_eq!(mount.open(GAMES, ONE, REWRITE), Err(libc::EACCES));
    let attr = mount.lookup(GAMES, ONE).unwrap();
    assert_eq!(mount.vfs.drafts().permissions(&attr).unwrap(), 0o444);
    mount.write(GAMES, "tmp", "new *").unwrap();
    let renamed = mount.rename((GAMES, "tmp"), (GAMES, ONE));
    assert_eq!(renamed, Err(libc::EINVAL));
    assert_eq!(mount.games(), ["partial one *"]);
    assert_eq!(mount.rejected_text(ONE), "new *");
}

#[test]
fn a_concurrent_save_is_not_overwritten() {
    let mount = mount();
    let slow = mount.open(GAMES, ONE, UPDATE).unwrap();
    mount.write(GAMES, ONE, "quick *").unwrap();
    mount.put(slow, 0, "ONE");
    assert_eq!(mount.close(slow), Err(libc::EINVAL));
    assert_eq!(mount.games()[0], "quick *");
    assert_eq!(mount.rejected_text(ONE), "ONE X *\n");
    assert!(
        mount
            .rejected_text("000001.txt")
            .contains("another program")
    );
}

#[test]
fn a_draft_that_was_saved_does_not_overwrite_a_later_change_of_its_game() {
    let mount = mount();
    let stored = mount.open(GAMES, ONE, UPDATE).unwrap();
    let new = mount.create(GAMES, "new.pgn", false).unwrap();
    for (handle, text) in [(stored, "ONE"), (new, "new X *\n")] {
        mount.put(handle, 0, text);
        mount.vfs.drafts().flush(handle).unwrap();
    }
    mount.rename((Ino::ROOT, "X"), (Ino::ROOT, "Y")).unwrap();
    for handle in [stored, new] {
        mount.put(handle, 0, "off");
        assert_eq!(mount.close(handle), Err(libc::EINVAL));
    }
    let games = ["ONE Y *", "two *", "three Y *", "new Y *"];
    assert_eq!(mount.games(), games);
}

#[test]
fn a_reader_continues_with_the_text_it_opened() {
    let mount = mount();
    let ino = mount.lookup(GAMES, ONE).unwrap().ino;
    let reader = mount.vfs.drafts().open_file(ino, Access::READ).unwrap();
    mount.write(GAMES, ONE, "quick *").unwrap();
    assert_eq!(
        mount.vfs.drafts().read_open(reader, 0, 3).unwrap().to_vec(),
        b"one"
    );
    mount.unlink(GAMES, ONE).unwrap();
    assert_eq!(
        mount.vfs.drafts().read_open(reader, 3, 9).unwrap().to_vec(),
        b" X *\n"
    );
    assert_eq!(
        mount.vfs.drafts().write(reader, 0, b"x").errno(),
        Err(libc::EBADF)
    );
    assert_eq!(mount.close(reader), Ok(()));
    assert_eq!(
        mount
            .vfs
            .drafts()
            .read_open(reader, 0, 1)
            .errno()
            .unwrap_err(),
        libc::EBADF
    );
    let writer = mount.open(GAMES, TWO, WRITE).unwrap();
    assert_eq!(
        mount
            .vfs
            .drafts()
            .read_open(writer, 0, 1)
            .errno()
            .unwrap_err(),
        libc::EBADF
    );
    mount.close(writer).unwrap();
}

#[test]
fn drafts_that_were_never_closed_are_kept() {
    let mount = mount();
    let handle = mount.open(GAMES, ONE, UPDATE).unwrap();
    mount.put(handle, 0, "ONE");
    mount.vfs.drafts().release(handle);
    assert_eq!(mount.games()[0], "one X *");
    assert_eq!(mount.rejected_text(ONE), "ONE X *\n");
    let _open = mount.open(GAMES, TWO, REWRITE).unwrap();
    let handle = mount.open(GAMES, "new.pgn", REWRITE).unwrap();
    mount.put(handle, 0, "unfinished");
    mount.write(GAMES, "scratch", "gone").unwrap();
    mount.vfs.drafts().end().unwrap();
    assert_eq!(mount.rejected_text("new.pgn"), "unfinished");
    assert_eq!(mount.rejected().len(), 4);
    assert_eq!(
        mount.vfs.drafts().write(handle, 0, b"x").errno(),
        Err(libc::EROFS)
    );
    assert!(mount.stored.lock().unwrap().syncs > 0);
}

#[test]
fn refused_drafts_of_different_files_do_not_replace_each_other() {
    let mount = mount();
    let refuse = |directory, name: &str, text: &str| {
        assert_eq!(mount.write(directory, name, text), Err(libc::EINVAL));
    };
    refuse(GAMES, "x.pgn", "a game");
    refuse(IMPORT, "x.pgn", "an import");
    assert_eq!(mount.rejected_text("x.pgn"), "a game");
    assert_eq!(mount.rejected_text("x ~2.pgn"), "an import");
    // Once more the same.
    refuse(IMPORT, "x.pgn", "an import, edited");
    assert_eq!(mount.rejected_text("x ~2.pgn"), "an import, edited");
    assert_eq!(mount.rejected().len(), 4);
    mount.write(IMPORT, "x.pgn", "an * import *").unwrap();
    assert_eq!(mount.rejected(), ["x.pgn", "x.txt"]);
    // One of an earlier mount may be of anything.
    let mount = mount_in(&["one X *\n"], mount.state, 1 << 20);
    assert_eq!(mount.write(GAMES, "x.pgn", "other"), Err(libc::EINVAL));
    assert_eq!(mount.rejected_text("x.pgn"), "a game");
    assert_eq!(mount.rejected_text("x ~2.pgn"), "other");
    mount.write(GAMES, "x.pgn", "other *").unwrap();
    assert_eq!(mount.rejected(), ["x.pgn", "x.txt"]);
}

#[test]
fn every_refused_draft_has_a_file_with_the_reason() {
    let mount = mount();
    let long = format!("{}.pgn", "é".repeat(125));
    for name in ["list.txt", "list", &long] {
        let text = format!("refused: {name}");
        for directory in [IMPORT, GAMES] {
            if directory == IMPORT || name == long {
                assert_eq!(mount.write(directory, name, &text), Err(libc::EINVAL));
            }
        }
    }
    let second = format!("{} ~2", "é".repeat(124));
    let expected = [
        ("list.txt.pgn", "list.txt.txt", "list.txt"),
        ("list.pgn", "list.txt", "list"),
        (&long, &long.replace(".pgn", ".txt"), &long),
        (&format!("{second}.pgn"), &format!("{second}.txt"), &long),
    ];
    for (draft, reason, name) in expected {
        assert_eq!(mount.rejected_text(draft), format!("refused: {name}"));
        let why = mount.rejected_text(reason);
        assert!(!why.contains("refused: "), "{reason}: {why}");
    }
    assert_eq!(mount.rejected().len(), 2 * expected.len());
}

#[test]
fn an_io_error_is_reported_and_the_save_is_retried() {
    let mount = mount();
    mount.stored.lock().unwrap().is_full = true;
    let handle = mount.open(GAMES, ONE, REWRITE).unwrap();
    mount.put(handle, 0, "new *");
    assert_eq!(mount.vfs.drafts().flush(handle).errno(), Err(libc::ENOSPC));
    assert_eq!(mount.rejected_text(ONE), "new *");
    mount.stored.lock().unwrap().is_full = false;
    mount.close(handle).unwrap();
    assert_eq!(mount.games()[0], "new *");
    assert!(mount.rejected().is_empty());
}

#[test]
fn a_save_refused_for_a_full_disk_is_never_shown_and_the_first_reason_stays() {
    let mount = mount();
    mount.stored.lock().unwrap().is_full = true;
    for (directory, name) in [(GAMES, ONE), (GAMES, "new.pgn")] {
        let handle = mount.open(directory, name, REWRITE).unwrap();
        mount.put(handle, 0, "new *");
        assert_eq!(mount.vfs.drafts().flush(handle).errno(), Err(libc::ENOSPC));
        // Before the handle is released, and after.
        assert_eq!(mount.read(GAMES, ONE).unwrap(), "one X *\n");
        mount.vfs.drafts().release(handle);
        assert_eq!(mount.read(GAMES, ONE).unwrap(), "one X *\n");
        assert_eq!(mount.rejected_text(name), "new *");
        let reason = mount.rejected_text(&name.replace(".pgn", ".txt"));
        assert_eq!(reason, "No space left on device (see `df` and `df -i`)\n");
    }
    assert_eq!(mount.list(GAMES), [ONE, TWO, "000003.pgn"]);
    // An import stays readable, and is given up once.
    assert_eq!(mount.write(IMPORT, "a.pgn", "a *"), Err(libc::ENOSPC));
    mount.vfs.drafts().end().unwrap();
    let reason = mount.rejected_text("a.txt");
    assert_eq!(reason, "No space left on device (see `df` and `df -i`)\n");
}

#[test]
fn the_reason_of_a_refusal_is_updated_with_the_text() {
    let mount = mount();
    mount.stored.lock().unwrap().is_full = true;
    let handle = mount.open(GAMES, ONE, REWRITE).unwrap();
    mount.put(handle, 0, "new *");
    assert_eq!(mount.vfs.drafts().flush(handle).errno(), Err(libc::ENOSPC));
    mount.stored.lock().unwrap().is_full = false;
    mount.put(handle, 5, "x");
    assert_eq!(mount.close(handle), Err(libc::EINVAL));
    assert!(mount.rejected_text("000001.txt").contains("expected *"));
}

#[test]
fn drafts_are_bounded() {
    let mount = mount();
    let handle = mount.create(GAMES, "big", false).unwrap();
    let piece = vec![b'x'; 1 << 20];
    mount.vfs.drafts().write(handle, 0, &piece).unwrap();
    assert_eq!(
        mount.vfs.drafts().write(handle, 1 << 20, b"x").errno(),
        Err(libc::ENOSPC)
    );
    assert_eq!(mount.write(GAMES, ONE, ""), Ok(()));
    mount.close(handle).unwrap();
    mount.unlink(GAMES, "big").unwrap();
    mount.write(GAMES, ONE, "new *").unwrap();
    let handle = mount.open(GAMES, ONE, WRITE).unwrap();
    let far = mount.vfs.drafts().write(handle, 16 << 20, b"x").errno();
    assert_eq!(far, Err(libc::EFBIG));
    // What is not all there is not saved.
    assert_eq!(mount.close(handle), Err(libc::EINVAL));
    assert_eq!(mount.games()[0], "new *");
    let handle = mount.create(IMPORT, "a.pgn", false).unwrap();
    let text = "a *".repeat(100_000);
    mount.put(handle, 0, &text);
    let mut offset = text.len() as u64;
    while mount
        .vfs
        .drafts()
        .write(handle, offset, text.as_bytes())
        .is_ok()
    {
        offset += text.len() as u64;
    }
    assert_eq!(mount.close(handle), Err(libc::EINVAL));
    assert_eq!(mount.games().len(), 3);
    mount.unlink(IMPORT, "a.pgn").unwrap();
    for number in 0..10_000 {
        let handle = mount.create(GAMES, &format!("s{number}"), true).unwrap();
        mount.vfs.drafts().release(handle);
    }
    assert_eq!(mount.create(GAMES, "more", true), Err(libc::ENOSPC));
    mount.unlink(GAMES, "s0").unwrap();
    mount.write(GAMES, "more", "").unwrap();
}

#[test]
fn scratch_files_keep_their_attributes() {
    let mount = mount();
    let before = mount.lookup(GAMES, ONE).unwrap();
    let time = before.modified + std::time::Duration::from_secs(60);
    let set = mount
        .vfs
        .drafts()
        .set_attributes(game(1), Some(0o600), Some(time));
    assert_eq!(set.unwrap(), before);
    assert_eq!(mount.vfs.drafts().permissions(&before).unwrap(), 0o644);
    mount.write(GAMES, "x", "y").unwrap();
    let own = mount.lookup(GAMES, "x").unwrap().ino;
    let set = mount
        .vfs
        .drafts()
        .set_attributes(own, None, Some(time))
        .unwrap();
    assert_eq!(set.modified, time);
    assert_eq!(mount.lookup(GAMES, "x").unwrap().modified, time);
    let root = mount.vfs.attr(Ino::ROOT).unwrap();
    assert_eq!(root.kind, NodeKind::Directory);
    assert_eq!(mount.vfs.drafts().permissions(&root).unwrap(), 0o555);
    let games = mount.vfs.attr(GAMES).unwrap();
    assert_eq!(mount.vfs.drafts().permissions(&games).unwrap(), 0o755);
}

#[test]
fn changes_are_reported_to_the_kernel() {
    let mount = mount();
    mount.vfs.lookup(Ino::ROOT, b"games").unwrap();
    assert!(!mount.vfs.drafts().take_name_changes());
    mount.write(GAMES, "tmp", "new *").unwrap();
    mount.rename((GAMES, "tmp"), (GAMES, ONE)).unwrap();
    assert!(mount.vfs.drafts().take_name_changes() && !mount.vfs.drafts().take_name_changes());
    mount.read(GAMES, ONE).unwrap();
    assert!(!mount.vfs.drafts().take_name_changes());
    let handle = mount.open(GAMES, TWO, REWRITE).unwrap();
    mount.put(handle, 0, "new *");
    assert!(
        !mount.vfs.drafts().take_name_changes(),
        "a draft is shown to nobody"
    );
    mount.vfs.drafts().flush(handle).unwrap();
    assert!(mount.vfs.drafts().take_name_changes());
    mount.vfs.drafts().release(handle);
    let changes: [&dyn Fn() -> Answer<()>; 4] = [
        &|| mount.rename((GAMES, ONE), (GAMES, "backup")),
        &|| mount.unlink(GAMES, "backup"),
        &|| mount.unlink(GAMES, ONE),
        &|| mount.rename((Ino::ROOT, "X"), (Ino::ROOT, "Y")),
    ];
    for change in changes {
        change().unwrap();
        assert!(mount.vfs.drafts().take_name_changes());
    }
}

#[test]
fn an_empty_file_does_not_hide_the_game_that_got_its_number() {
    let mount = mount();
    mount.write(GAMES, FOUR, "").unwrap();
    let waiting = mount.open(GAMES, FOUR, WRITE).unwrap();
    mount.write(GAMES, "new.pgn", "new *").unwrap();
    mount.close(waiting).unwrap();
    assert_eq!(mount.read(GAMES, FOUR).unwrap(), "new *\n");
    mount.write(GAMES, "000005.pgn", "").unwrap();
    mount.write(IMPORT, "a.pgn", "a *").unwrap();
    assert_eq!(mount.read(GAMES, "000005.pgn").unwrap(), "a *\n");
}

#[test]
fn failed_syncs_are_reported_until_one_succeeds() {
    let mount = mount();
    mount.write(GAMES, ONE, "new *").unwrap();
    let status = || {
        let about = mount.vfs.lookup(Ino::ROOT, b".cbfs").unwrap().ino;
        mount.read(about, "status").unwrap()
    };
    assert!(!status().contains("PROBLEM"));
    mount.stored.lock().unwrap().is_sync_failing = true;
    assert_eq!(
        mount.vfs.drafts().fsync_directory(GAMES).errno(),
        Err(libc::ENOSPC)
    );
    let told = status();
    assert!(
        told.contains("PROBLEM:") && told.contains("free some space"),
        "{told}"
    );
    mount.stored.lock().unwrap().is_sync_failing = false;
    mount.vfs.drafts().fsync_directory(GAMES).unwrap();
    assert!(!status().contains("PROBLEM"));
}
