//! `cbfs import`: all games of all files, or none.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cbfs::cbh::{self, Importer, OpenBase};
use cbfs::import::{BadGame, BadText, ImportOptions, ImportStop, Session, Watch, for_each_text};
use common::command::{
    CBFS, assert_same_files, cbfs, copy_of, defects_of, files_in, said, succeeds,
};
use common::games::{bad_texts, many_games};
use common::pack::{bzip2, gzip, utf16, zip, zstd};
use common::{copy_of_base, fixture_bases, games_of, real_bases};

/// The games of a base that PGN can carry: not deleted, and without damage.
fn sound_games(cbh: &Path) -> Vec<String> {
    let games = games_of(cbh).into_values();
    games
        .filter(|(is_deleted, text)| !is_deleted && !text.contains("[%cbdefect"))
        .map(|(_, text)| text)
        .collect()
}

fn text_path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn exported_games_are_imported_unchanged() {
    let mut count = 0;
    for base in fixture_bases().into_iter().chain(real_bases()) {
        let folder = tempfile::tempdir().unwrap();
        let games = sound_games(&base);
        let (pgn, new) = (folder.path().join("all.pgn"), folder.path().join("new.cbh"));
        fs::write(&pgn, games.concat()).unwrap();
        let output = cbfs(&["import", "--create", text_path(&new), text_path(&pgn)]);
        assert!(
            output.status.success(),
            "{}: {}",
            base.display(),
            said(&output)
        );
        let again: Vec<String> = games_of(&new).into_values().map(|(_, text)| text).collect();
        assert_eq!(again.len(), games.len(), "{}", base.display());
        for (number, (game, again)) in games.iter().zip(&again).enumerate() {
            if shared_facts_gone(game) == shared_facts_gone(again) {
                continue;
            }
            panic!("{} {}:\n{game}\n{again}", base.display(), number + 1);
        }
        assert_eq!(defects_of(&new), [""; 0], "{}", base.display());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 14);
        count += games.len();
    }
    assert!(count > 50, "{count}");
}

/// A text without what a base has once for all games of a tournament or
/// source, and without what ChessBase decides.
fn shared_facts_gone(text: &str) -> String {
    let gone = [
        "[EventEndDate ",
        "[EventType ",
        "[EventRounds ",
        "[EventCountry ",
        "[EventCategory ",
        "[Source ",
        "[SourceDate ",
        "[SourceVersion ",
        "[SourceVersionDate ",
        "[SourceQuality ",
        "[CbhTopGame ",
    ];
    let lines = text.lines();
    lines
        .filter(|line| !gone.iter().any(|gone| line.starts_with(gone)))
        .fold(String::new(), |text, line| text + line + "\n")
}

#[test]
fn games_are_appended_after_the_existing_ones() {
    let mut bases = fixture_bases();
    bases.extend(real_bases());
    for base in bases {
        let folder = copy_of(&base);
        let copy = folder.path().join(base.file_name().unwrap());
        let (before, defects) = (games_of(&copy), defects_of(&copy));
        let last = cbfs::cbh::Database::open(&copy, &cbfs::cbh::Options::default())
            .unwrap()
            .last_id();
        let pgn = folder.path().join("more.pgn");
        fs::write(&pgn, many_games(3000)).unwrap();
        let output = cbfs(&["import", text_path(&copy), text_path(&pgn)]);
        if !output.status.success() {
            // A damaged base may refuse, and is as it was then.
            assert!(!defects.is_empty(), "{}: {}", base.display(), said(&output));
            assert!(games_of(&copy) == before, "{}", base.display());
            continue;
        }
        let told = format!(
            "3000 games appended as {}\u{2013}{}\n",
            last + 1,
            last + 3000
        );
        assert_eq!(String::from_utf8(output.stdout.clone()).unwrap(), told);
        let mut after = games_of(&copy);
        let new = after.split_off(&(last + 1));
        for (id, game) in &before {
            // What a damaged game refers to may be there now.
            let is_sound = !game.1.contains("[%cbdefect");
            assert!(!is_sound || after[id] == *game, "{} {id}", base.display());
        }
        assert_eq!((after.len(), new.len()), (before.len(), 3000));
        for (number, (_, text)) in new.values().enumerate() {
            assert!(text.contains(&format!("{{{number}}}")), "{text}");
        }
        let new_defects: Vec<String> = defects_of(&copy)
            .into_iter()
            .filter(|defect| !defects.contains(defect))
            .collect();
        if defects.is_empty() {
            assert_eq!(new_defects, [""; 0], "{}", base.display());
        }
    }
}

#[test]
fn an_error_in_the_last_game_is_located_and_nothing_is_imported() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let good = folder.path().join("good.pgn");
    let bad = folder.path().join("bad.pgn");
    fs::write(&good, many_games(2000)).unwrap();
    let text = many_games(3000);
    let lines = text.lines().count();
    fs::write(&bad, text.trim_end().to_owned() + " 3. Ke4\n").unwrap();
    let before = files_in(folder.path());
    let (base, good, bad) = (text_path(&base), text_path(&good), text_path(&bad));
    for files in [vec![bad], vec![good, bad], vec![bad, good]] {
        let output = cbfs(&[vec!["import", base], files].concat());
        let errors = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(
            (output.status.code(), errors.lines().count()),
            (Some(1), 1),
            "{errors}"
        );
        let place = format!("cbfs: {bad}:{}:", lines - 1);
        assert!(errors.starts_with(&place), "{errors} {place}");
        assert!(errors.ends_with("; nothing was imported\n"), "{errors}");
        assert_same_files(&files_in(folder.path()), &before, "after");
    }
}

#[test]
fn a_game_that_cannot_be_stored_is_reported_with_its_line() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let before = files_in(folder.path());
    let crowd = "kppppppp/pppppppp/pppppppp/pppppppp/PPPPPPPP/8/8/K7 w - - 0 1";
    let text = many_games(2) + &format!("[White \"A\"]\n[FEN \"{crowd}\"]\n\n*\n");
    let output = import_from_stdin(&[text_path(&base)], text.as_bytes());
    let errors = said(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.starts_with("cbfs: standard input:2"), "{errors}");
    assert!(
        errors.contains("cannot be stored") && errors.contains("pieces"),
        "{errors}"
    );
    assert_same_files(&files_in(folder.path()), &before, "after");
}

#[test]
fn invalid_games_are_located_and_valid_ones_stored_completely() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let before = files_in(folder.path());
    for bad in bad_texts() {
        let text = [many_games(3).as_bytes(), &bad.text].concat();
        let output = import_from_stdin(&[text_path(&base)], &text);
        let errors = said(&output);
        assert_eq!(output.status.code(), Some(1), "{}: {errors}", bad.what);
        let is_told = errors.to_lowercase().contains(bad.reason);
        assert!(is_told, "{}: {errors}", bad.what);
        let place = errors.strip_prefix("cbfs: standard input:").unwrap();
        assert!(place.starts_with(|c: char| c.is_ascii_digit()), "{errors}");
        assert_same_files(&files_in(folder.path()), &before, bad.what);
    }
}

fn import_from_stdin(arguments: &[&str], text: &[u8]) -> std::process::Output {
    let mut child = start_import(&[arguments, &["-"]].concat());
    // It may end before it has read all.
    let _ = child.stdin.take().unwrap().write_all(text);
    child.wait_with_output().unwrap()
}

fn start_import(arguments: &[&str]) -> Child {
    // Whoever runs the tests in the background ignores what ends one.
    Command::new("env")
        .args(["--default-signal=INT", CBFS, "import"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn standard_input_marks_line_ends_and_other_encodings_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let text = many_games(1).replace("White, 0", "Hübner, Robert");
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend(text.replace('\n', "\r\n").bytes());
    let output = import_from_stdin(&["--create", text_path(&base)], &bytes);
    assert_eq!(said(&output), "1 game appended as 1\n");
    assert!(games_of(&base)[&1].1.contains("[White \"Hübner, Robert\"]"));
    let western = text.replace('ü', "\u{1}").into_bytes();
    let western: Vec<u8> = western
        .into_iter()
        .map(|byte| if byte == 1 { 0xfc } else { byte })
        .collect();
    let output = import_from_stdin(&[text_path(&base)], &western);
    let told = said(&output);
    assert!(told.contains("standard input:5:10: not UTF-8"), "{told}");
    let games = games_of(&base);
    assert_eq!(games[&1].1, games[&2].1);
}

#[test]
fn packed_files_and_every_member_of_an_archive_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let text = many_games(40);
    let file = |name: &str, bytes: Vec<u8>| {
        let file = folder.path().join(name);
        fs::write(&file, bytes).unwrap();
        file
    };
    let files = [
        file("a.pgn.gz", gzip(&text)),
        file("b.pgn.bz2", bzip2(&text)),
        file("c.pgn.zst", zstd(&text)),
        file(
            "d.zip",
            zip(&[("x/1.pgn", &text), ("2.txt", "no"), ("3.pgn", &text)]),
        ),
        file("e.pgn", utf16(&text)),
    ];
    let base = folder.path().join("new.cbh");
    let arguments: Vec<&str> = ["import", "--create", text_path(&base)]
        .into_iter()
        .chain(files.iter().map(|file| text_path(file)))
        .collect();
    let output = cbfs(&arguments);
    let told = said(&output);
    assert!(told.contains("e.pgn:1:1: read as UTF-16"), "{told}");
    assert!(
        told.contains("240 games appended as 1\u{2013}240\n"),
        "{told}"
    );
    let games = games_of(&base);
    for (number, (_, game)) in games.values().enumerate() {
        let remark = format!("{{{}}}", number % 40);
        assert!(game.contains(&remark), "{number}: {game}");
    }
    // An archive comes through no pipe; all else does.
    for (file, count) in files.iter().zip([40, 40, 40, 0, 40]) {
        let output = import_from_stdin(&[text_path(&base)], &fs::read(file).unwrap());
        let told = said(&output);
        assert_eq!(output.status.success(), count > 0, "{told}");
        assert!(count > 0 || told.contains("must be a file"), "{told}");
    }
}

#[test]
fn errors_in_a_compressed_file_are_located() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let text = many_games(3000);
    let bad = text.clone() + "1. e5 *\n";
    let line = bad.lines().count();
    let cut = |mut packed: Vec<u8>| {
        packed.truncate(packed.len() - 3);
        packed
    };
    let elsewhere = tempfile::tempdir().unwrap();
    for (name, bytes, expected) in [
        (
            "a.pgn.gz",
            gzip(&bad),
            format!("a.pgn.gz:{line}:4: game 3001: \"e5\""),
        ),
        (
            "a.zip",
            zip(&[("b.pgn", &text), ("c.pgn", &bad)]),
            format!("a.zip: c.pgn:{line}:4: "),
        ),
        (
            "a.zip",
            zip(&[("b.txt", &text)]),
            "a.zip: no member of this zip archive".to_owned(),
        ),
        (
            "a.pgn.gz",
            cut(gzip(&text)),
            "a.pgn.gz: gzip data damaged or cut short".to_owned(),
        ),
        (
            "a.pgn.bz2",
            cut(bzip2(&text)),
            "a.pgn.bz2: bzip2 data damaged or cut short".to_owned(),
        ),
        (
            "a.pgn.zst",
            cut(zstd(&text)),
            "a.pgn.zst: Zstandard data damaged".to_owned(),
        ),
    ] {
        let file = elsewhere.path().join(name);
        fs::write(&file, bytes).unwrap();
        let before = files_in(folder.path());
        let output = cbfs(&["import", text_path(&base), text_path(&file)]);
        let told = said(&output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(&expected), "{told} {expected}");
        assert!(told.ends_with("; nothing was imported\n"), "{told}");
        assert_same_files(&files_in(folder.path()), &before, name);
    }
}

const BAD: &str = "\
[Event \"A\"]\n[White \"Moe\"]\n[Black \"Curly\"]\n\n1. e4 e5 2. Ke3 *\n\n\
[Event \"B\"]\n[White \"Y\"]\n[Result \"1-0\"]\n\n1. e4 0-1\n\n";

/// Without a brace behind it.
const UNCLOSED: &str = "[Event \"C\"]\n\n1. e4 {open\n\n";

/// What is found out only while a game is stored must leave nothing of it.
#[test]
fn a_game_that_cannot_be_stored_leaves_no_names() {
    let folder = tempfile::tempdir().unwrap();
    let (pgn, bad) = (folder.path().join("a.pgn"), folder.path().join("bad.pgn"));
    let base = folder.path().join("new.cbh");
    let remark = "word ".repeat(14_000);
    let unstorable = |number| {
        format!(
            "[Event \"{}{number}\"]\n[White \"New, Name{number}\"]\n[WhiteTeam \"T{number}\"]\n[Source \"S{number}\"]\n\n1. e4 {{{remark}}} *\n\n",
            "E".repeat(5000)
        )
    };
    let good = |number| format!("[White \"Known, Name{number}\"]\n\n1. d4 *\n\n");
    let text = [
        unstorable(1),
        good(1),
        unstorable(2),
        unstorable(1),
        good(2),
    ]
    .concat();
    fs::write(&pgn, text).unwrap();
    let paths = [text_path(&bad), text_path(&base), text_path(&pgn)];
    let output = cbfs(&[&["import", "--create", "--skip-bad"][..], &paths].concat());
    let told = said(&output);
    assert!(
        told.contains("2 games appended as 1\u{2013}2\n3 bad games"),
        "{told}"
    );
    assert!(
        told.contains(
            "a.pgn:6:7: game 1 (New, Name1 \u{2013} ?): this game cannot be stored: a remark takes"
        ),
        "{told}"
    );
    assert!(!told.contains("its field cannot hold"), "{told}");
    assert_eq!(defects_of(&base), [""; 0]);
    let players = fs::read(base.with_extension("cbp")).unwrap();
    assert!(!players.windows(3).any(|name| name == b"New"));
}

#[test]
fn a_long_name_is_told_by_its_begin() {
    let folder = tempfile::tempdir().unwrap();
    let (pgn, base) = (folder.path().join("a.pgn"), folder.path().join("new.cbh"));
    fs::write(
        &pgn,
        format!("[Event \"{}\"]\n\n1. e4 *\n", "E".repeat(5000)),
    )
    .unwrap();
    let output = cbfs(&["import", "--create", text_path(&base), text_path(&pgn)]);
    let told = said(&output);
    assert!(told.contains("E\u{2026}\" as \"EEE"), "{told}");
    assert!(told.len() < 1000, "{told}");
}

#[test]
fn a_list_of_positions_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (list, base) = (folder.path().join("a.epd"), folder.path().join("new.cbh"));
    fs::write(&list, "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;\n".repeat(3)).unwrap();
    let output = cbfs(&["import", "--create", text_path(&base), text_path(&list)]);
    let told = said(&output);
    let expected = "a.epd:1:1: \"4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;\" is a position, as in an EPD file; expected a game";
    assert!(told.contains(expected), "{told}");
}

/// As they stay where a machine went down amid writing.
#[test]
fn nuls_behind_a_short_text_are_no_reason_to_refuse_it() {
    let folder = tempfile::tempdir().unwrap();
    let (pgn, base) = (folder.path().join("a.pgn"), folder.path().join("new.cbh"));
    let text = "[White \"A\"]\n[Black \"B\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 1-0\n";
    fs::write(&pgn, [text.as_bytes(), &[0; 4000]].concat()).unwrap();
    let output = cbfs(&["import", "--create", text_path(&base), text_path(&pgn)]);
    assert!(
        said(&output).contains("1 game appended"),
        "{}",
        said(&output)
    );
    assert_eq!(games_of(&base).len(), 1);
}

#[test]
fn bad_games_are_written_to_a_file_that_can_be_corrected_and_imported() {
    let folder = copy_of_base("cbh/sample");
    let elsewhere = tempfile::tempdir().unwrap();
    let base = folder.path().join("sample.cbh");
    let before = games_of(&base).len();
    let (pgn, bad) = (
        elsewhere.path().join("a.pgn"),
        elsewhere.path().join("bad.pgn"),
    );
    let text = format!("{}{BAD}{}{UNCLOSED}", many_games(3), many_games(2000));
    fs::write(&pgn, text).unwrap();
    let untouched = files_in(folder.path());
    let import = |more: &[&str], pgn: &Path| {
        cbfs(&[&["import", text_path(&base), text_path(pgn)], more].concat())
    };
    let output = import(&[], &pgn);
    let expected = "a.pgn:35:13: game 4 (Moe \u{2013} Curly): \"Ke3\" is illegal here; expected a legal move; nothing was imported\n";
    assert!(said(&output).ends_with(expected), "{}", said(&output));
    let output = import(&["--dry-run"], &pgn);
    let told = said(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("2003 games are sound\n3 bad games\nnothing would be imported"),
        "{told}"
    );
    for place in [
        "a.pgn:35:13: game 4",
        "a.pgn:41:7: game 5 (Y \u{2013} ?): the result 0-1, where the tag says 1-0",
        "a.pgn:20045:7: game 2006",
    ] {
        assert!(told.contains(place), "{told} {place}");
    }
    assert_same_files(&files_in(folder.path()), &untouched, "after a dry run");
    let output = import(&["--skip-bad", text_path(&bad)], &pgn);
    let told = said(&output);
    assert!(output.status.success(), "{told}");
    assert!(
        told.contains("2003 games appended as 16\u{2013}2018\n3 bad games written to"),
        "{told}"
    );
    assert_eq!(games_of(&base).len(), before + 2003);
    assert_eq!(defects_of(&base), [""; 0]);
    let kept = fs::read_to_string(&bad).unwrap();
    assert!(
        kept.contains("a.pgn:35:13: game 4 (Moe \u{2013} Curly): \"Ke3\""),
        "{kept}"
    );
    let mended = kept
        .replace("Ke3", "Ke2")
        .replace("e4 0-1", "e4 1-0")
        .replace("{open", "*");
    fs::write(&bad, mended).unwrap();
    let output = import(&[], &bad);
    assert!(
        said(&output).starts_with("3 games appended"),
        "{}",
        said(&output)
    );
    // Nothing is written over, and no file of the base is made.
    std::os::unix::fs::symlink(&base, folder.path().join("link.cbh")).unwrap();
    let untouched = files_in(folder.path());
    for (named, name) in [
        ("sample", "elsewhere"),
        ("sample", "sample.cbg"),
        ("sample", "sample.flags"),
        ("sample", ".sample.cbfs-journal"),
        ("link", "sample.cbg"),
        ("link", "sample.flags"),
        ("new", "new.cbp"),
    ] {
        let named = folder.path().join(named).with_extension("cbh");
        let taken = match name {
            "elsewhere" => bad.clone(),
            name => folder.path().join(name),
        };
        let mut arguments = vec!["import"];
        arguments.extend(named.ends_with("new.cbh").then_some("--create"));
        let rest =
            [&named, &pgn, Path::new("--skip-bad"), &taken].map(|path| path.to_str().unwrap());
        arguments.extend(rest);
        let output = cbfs(&arguments);
        assert!(!output.status.success(), "{name}: {}", said(&output));
        assert_same_files(&files_in(folder.path()), &untouched, name);
    }
}

/// A Chess960 game without FEN starts from the usual position, number 518.
#[test]
fn a_game_of_chess960_needs_no_fen() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let text =
        "[White \"A\"]\n[Variant \"Chess960\"]\n\n1. e4 e5 2. Nf3 Nf6 3. Be2 Be7 4. O-O O-O *\n";
    let output = import_from_stdin(&["--create", text_path(&base)], text.as_bytes());
    assert_eq!(said(&output), "1 game appended as 1\n");
    let game = &games_of(&base)[&1].1;
    let fen = "[FEN \"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\"]";
    for part in ["[Variant \"Chess960\"]", fen, "4. O-O O-O *"] {
        assert!(game.contains(part), "{game}");
    }
    assert_eq!(defects_of(&base), [""; 0]);
}

#[test]
fn an_unclosed_comment_loses_no_other_game() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (base, pgn, bad) = (file("new.cbh"), file("a.pgn"), file("bad.pgn"));
    let open = "[Event \"B\"]\n\n1. e4 {open e5 *\n\n";
    for (end, gap) in [("\n", ""), ("\r\n", ""), ("\n", "% a line of no game\n")] {
        let text = format!("{}{open}{gap}{}", many_games(2), many_games(3)).replace('\n', end);
        fs::write(&pgn, &text).unwrap();
        let output = cbfs(&["import", "--create", text_path(&base), text_path(&pgn)]);
        let told = said(&output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        let why = "a.pgn:23:7: game 3: a comment without end; expected } before the next game";
        assert!(told.contains(why), "{told}");
        let output = cbfs(&[
            "import",
            "--create",
            text_path(&base),
            text_path(&pgn),
            "--skip-bad",
            text_path(&bad),
        ]);
        let told = said(&output);
        assert!(
            told.contains("5 games appended as 1\u{2013}5\n1 bad game"),
            "{told}"
        );
        let kept = fs::read_to_string(&bad).unwrap();
        assert!(
            kept.contains(open.trim_end().replace('\n', end).as_str()),
            "{kept}"
        );
        for entry in fs::read_dir(folder.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

/// Texts of bad games, each of which is one.
const ALL_BAD: [&str; 9] = [
    "[Event \"A\"]\n\n1. e4 {open e5 *",
    "1. e4 {open",
    "[White \"A\"]\n1. e4 e5 2. Ke3 *",
    "1. Ke2 *\n\ne4 e5 *\n\nd4 *",
    "Dear reader,\n\n{this is no game",
    "[Site \"A\"]\n\n1. e4 (1. d4",
    "[\"A\"]\n\n1. e4 *",
    "} *",
    "\u{fffd}\u{7f} *",
];

#[test]
fn bad_games_are_split_again_in_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (base, pgn) = (file("new.cbh"), file("a.pgn"));
    let good = many_games(1);
    let text = ALL_BAD.map(|bad| format!("{good}{bad}\n\n")).concat();
    fs::write(&pgn, text).unwrap();
    let mut input = pgn;
    let mut games = "9 games appended as 1\u{2013}9".to_owned();
    let mut kept: Option<Vec<String>> = None;
    for round in 0..3 {
        let bad = file(&format!("bad{round}.pgn"));
        let create: &[&str] = if round == 0 { &["--create"] } else { &[] };
        let arguments = [
            text_path(&base),
            text_path(&input),
            "--skip-bad",
            text_path(&bad),
        ];
        let output = cbfs(&[&["import"], create, &arguments].concat());
        let told = said(&output);
        assert!(
            told.contains(&format!("{games}\n9 bad games")),
            "{round}: {told}"
        );
        let text = fs::read_to_string(&bad).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('%'));
        let now: Vec<String> = lines.map(str::to_owned).collect();
        assert_eq!(*kept.get_or_insert_with(|| now.clone()), now, "{round}");
        let code = i32::from(round > 0);
        assert_eq!(output.status.code(), Some(code), "{round}: {told}");
        (input, games) = (bad, "0 games appended".to_owned());
    }
    // Mended, each is the game that it was to be.
    let mended = fs::read_to_string(&input).unwrap();
    let (first, rest) = mended.split_once("{open").unwrap();
    fs::write(&input, format!("{first}{{open}}{rest}")).unwrap();
    let bad = file("bad.pgn");
    let output = cbfs(&[
        "import",
        text_path(&base),
        text_path(&input),
        "--skip-bad",
        text_path(&bad),
    ]);
    let told = said(&output);
    assert!(
        told.contains("1 game appended as 10\n8 bad games"),
        "{told}"
    );
}

#[test]
fn a_bad_game_of_any_length_goes_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (base, pgn, bad) = (file("new.cbh"), file("a.pgn"), file("bad.pgn"));
    let good = many_games(2);
    let long = format!(
        "[Event \"long\"]\n\n1. e4 {{{}}} e5 *",
        "word ".repeat(8 << 20)
    );
    fs::write(
        &pgn,
        format!("{good}{long}\n\n{good}[Event \"x\"]\n\n1. e5 *\n"),
    )
    .unwrap();
    for round in 0..2 {
        let create: &[&str] = if round == 0 { &["--create"] } else { &[] };
        let input = if round == 0 {
            pgn.clone()
        } else {
            file("bad0.pgn")
        };
        let arguments = [
            text_path(&base),
            text_path(&input),
            "--skip-bad",
            text_path(&bad),
        ];
        let output = cbfs(&[&["import"], create, &arguments].concat());
        let told = said(&output);
        let games = ["4 games appended as 1\u{2013}4", "0 games appended"][round];
        assert!(told.contains(&format!("{games}\n2 bad games")), "{told}");
        assert!(told.contains("a game of more than 16 MiB"), "{told}");
        let kept = fs::read_to_string(&bad).unwrap();
        assert!(kept.contains(&long) && kept.len() < long.len() + 1000);
        fs::rename(&bad, file("bad0.pgn")).unwrap();
    }
    let strict = cbfs(&["import", text_path(&base), text_path(&pgn)]);
    assert!(
        said(&strict).contains("a.pgn:21:1: game 3: a game of more than 16 MiB"),
        "{}",
        said(&strict)
    );
}

#[test]
fn reinterpretations_are_reported_once_with_a_count() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let german = "[White \"A\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Sf3 Sc6 3. Lb5 1:0\n\n";
    let text =
        many_games(2) + &german.repeat(3) + "{about the last}\n\n[White \"B\"]\n\n1. e2-e4 e7e5";
    let output = import_from_stdin(&["--create", text_path(&base)], text.as_bytes());
    let told = said(&output);
    assert!(told.contains("6 games appended"), "{told}");
    for line in [
        "standard input:24:13: German letters; read as piece letters (3 games); first \"Sf3\"",
        "standard input:24:28: a result in other words",
        "no result at the end; that of the tag is taken, or * (1 game)",
    ] {
        assert_eq!(told.matches(line).count(), 1, "{told} {line}");
    }
    let games = games_of(&base);
    assert!(
        games[&3].1.contains("2. Nf3 Nc6 3. Bb5 1-0"),
        "{}",
        games[&3].1
    );
    assert!(
        games[&6].1.contains("{about the last} 1. e4 e5 *"),
        "{}",
        games[&6].1
    );
}

#[test]
fn cyrillic_code_pages_are_detected_or_given() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let name = "Карпов, Анатолий";
    let game = |white: &str| format!("[White \"{white}\"]\n[Black \"B\"]\n\n1. e4 *\n\n");
    let page = |label: &str, text: &str| {
        let page = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        page.encode(text).0.into_owned()
    };
    let cyrillic = page("windows-1251", &game(name));
    let text = [
        &cyrillic[..],
        &page("windows-1252", &game("Hübner, Robert")),
    ]
    .concat();
    let output = import_from_stdin(&["--create", text_path(&base)], &text);
    let told = said(&output);
    for line in [
        "standard input:1:9: not UTF-8; read as windows-1251, such as \"Карпов, Анатолий\" (as ",
        "standard input:6:10: not UTF-8; read as windows-1252, such as \"Hübner, Robert\" (as ",
    ] {
        assert!(told.contains(line), "{told}");
    }
    let dos = page("ibm866", &game(name));
    let output = import_from_stdin(&["--pgn-codepage", "866", text_path(&base)], &dos);
    assert!(
        said(&output).contains("read as IBM866 (1 game)"),
        "{}",
        said(&output)
    );
    let games = games_of(&base);
    let white = |number: u32| {
        games[&number]
            .1
            .lines()
            .find(|line| line.starts_with("[White "))
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        [white(1), white(2), white(3)],
        [name, "Hübner, Robert", name].map(|name| format!("[White \"{name}\"]"))
    );
    // What is bad is kept in UTF-8.
    let bad = folder.path().join("bad.pgn");
    let text = [
        &cyrillic[..],
        &page("windows-1251", &game(name).replace("e4", "e5")),
    ]
    .concat();
    let output = import_from_stdin(&[text_path(&base), "--skip-bad", text_path(&bad)], &text);
    assert!(output.status.success(), "{}", said(&output));
    let kept = fs::read_to_string(&bad).unwrap();
    assert!(kept.contains(&game(name).replace("e4", "e5")), "{kept}");
}

#[test]
fn dos_code_pages_are_detected_or_given() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let text = b"[Event \"L\x84nderkampf\"]\n[White \"M\x81ller\"]\n[Black \"H\xc3\xbcbner\"]\n\n1. e4 {Wei\xe1} *\n";
    let read = [
        "[Event \"Länderkampf\"]",
        "[White \"Müller\"]",
        "[Black \"Hübner\"]",
        "{Weiß}",
    ];
    let output = import_from_stdin(&["--create", text_path(&base)], text);
    let told = said(&output);
    assert!(
        told.contains("such as \"Länderkampf\" (as ")
            && told.contains("`cbfs import --pgn-codepage` names another page"),
        "{told}"
    );
    let game = &games_of(&base)[&1].1;
    assert!(read.iter().all(|line| game.contains(line)), "{game}");
    let output = import_from_stdin(&["--pgn-codepage", "437", text_path(&base)], text);
    let told = said(&output);
    assert!(
        told.contains("not UTF-8; read as page 437 of DOS (1 game)"),
        "{told}"
    );
    let game = &games_of(&base)[&2].1;
    assert!(read.iter().all(|line| game.contains(line)), "{game}");
    // Whoever says that it is 1252 has it so.
    let output = import_from_stdin(&["--pgn-codepage", "1252", text_path(&base)], text);
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn bytes_that_no_page_explains_are_told_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let bad = folder.path().join("bad.pgn");
    let text = b"[White \"a\x81\x8d\xb2\xb3\xdb\x81b\"]\n\n1. e4 *\n";
    let create = ["--create", text_path(&base), "--skip-bad", text_path(&bad)];
    let output = import_from_stdin(&create, text);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told = said(&output);
    let place = "standard input:1:12: game 1";
    assert!(
        told.contains(place) && told.contains("--pgn-codepage"),
        "{told}"
    );
    // Its bytes are those that came.
    let kept = fs::read(&bad).unwrap();
    assert!(kept.windows(text.len()).any(|part| part == text));
    // A byte that the given page has not is none of a text.
    let text = b"[White \"a\xe7b\"]\n\n1. e4 *\n";
    let given = ["--create", "--pgn-codepage", "857", text_path(&base)];
    let told = said(&import_from_stdin(&given, text));
    assert!(
        told.contains("the byte 0xe7, which is no character of page 857 of DOS"),
        "{told}"
    );
}

#[test]
fn an_import_without_games_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let bad = folder.path().join("bad.pgn");
    for (text, why) in [
        ("", "there is no game in what was to be imported"),
        ("\n\n", "there is no game in what was to be imported"),
        (
            "Dear friend,\nthis is a letter.\n",
            "none of the games could be imported",
        ),
        (
            "Dear friend,\nthis is 1. Ke4.\n",
            "none of the games could be imported",
        ),
    ] {
        let _ = fs::remove_file(&bad);
        let lenient = ["--create", text_path(&base), "--skip-bad", text_path(&bad)];
        let output = import_from_stdin(&lenient, text.as_bytes());
        assert_eq!(output.status.code(), Some(1), "{text:?}");
        assert!(said(&output).contains(why), "{}", said(&output));
        let all: Vec<_> = files_in(folder.path()).into_keys().collect();
        for file in all {
            fs::remove_file(folder.path().join(file)).unwrap();
        }
    }
}

/// Text that is no game, as it stands in files of games.
const WORDS: [&str; 12] = [
    "From: a@b.example (Ann)\nDate: Mon, 11 May 1998 10:12:33 +0200\nMessage-ID: <3.0.1.32@b>\n\nHello!\n",
    "In 1999 he won 3. prize; on 24.02.2004 (round 5.2) he drew.\n1. Kasparov 9.5\n2. Anand 8\n",
    "-- \nJohn Smith\n",
    "-- \n",
    "-----------------------\n",
    "***\n",
    "* * *\n",
    "<html><body>\n<pre>\n",
    "</pre>\n</body></html>\n",
    "* the first point\n* the second point\n",
    "> Dear Bob,\n> I won 1-0.\n",
    "- 12 -\n\n        Tournament of 1999\n\n",
];

/// Two games whose first tags are one or many, and what they are in a base.
fn two_games() -> [String; 2] {
    let game = |number: usize| format!("[White \"W{number}\"]\n[Black \"B\"]\n");
    let moves = "\n1. e4 e5 2. Nf3 1-0\n";
    [
        format!("[Event \"x\"]\n{}{moves}", game(1)),
        format!("[ECO \"C20\"]\n{}{moves}", game(2)),
    ]
}

#[test]
fn text_around_games_is_skipped_and_told_and_no_game_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let import = |text: &str| {
        let base = tempfile::tempdir_in(folder.path()).unwrap();
        let new = base.path().join("new.cbh");
        let output = import_from_stdin(&["--create", text_path(&new)], text.as_bytes());
        assert!(output.status.success(), "{text}\n{}", said(&output));
        let games: Vec<String> = games_of(&new).into_values().map(|(_, text)| text).collect();
        (games, said(&output))
    };
    let [one, two] = two_games();
    let (games, told) = import(&format!("{one}\n{two}"));
    assert_eq!(
        (games.len(), told.contains("no game")),
        (2, false),
        "{told}"
    );
    for (at, words) in WORDS.into_iter().enumerate() {
        for end in if at < 2 { &["\n", "\r\n"][..] } else { &["\n"] } {
            let gap = |text: String| text.replace('\n', end);
            for (text, first) in [
                (format!("{words}\n{one}\n{two}"), 1),
                (format!("{words}{one}\n{two}"), 1),
                (format!("{words}{two}\n{one}"), 1),
                (format!("\n\n{words}\n{one}\n{two}"), 3),
                (format!("{one}\n{words}\n{two}"), 7),
                (format!("{one}\n{two}\n{words}"), 13),
            ] {
                let (mut read, told) = import(&gap(text.clone()));
                read.sort_by_key(|game| game.contains("W2"));
                assert_eq!(read, games, "{text}\n{told}");
                let last = first + words.trim_end().lines().count() - 1;
                let lines = if first == last {
                    format!(":{first}:1: line {first} is no game: skipped; \"")
                } else {
                    format!(
                        ":{first}:1: lines {first}\u{2013}{last} are no game: skipped; first \""
                    )
                };
                assert!(told.contains(&lines), "{text}\n{told}\n{lines}");
                assert_eq!(told.matches("no game").count(), 1, "{text}\n{told}");
            }
        }
    }
    let many = format!("Hello\n\n{one}\n").repeat(12);
    let told = import(&many).1;
    assert_eq!(
        told.matches("is no game: skipped; \"Hello\"").count(),
        10,
        "{told}"
    );
    assert!(told.contains(":73:1: 2 more places"), "{told}");
}

#[test]
fn words_between_games_are_skipped_before_any_tag() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = two_games();
    let style = "<style>\nbody {\n  color: red;\n}\n</style>\n\n";
    for (number, words) in [
        "Some text.\n",
        "He played e4 e5 and then lost (Nf3 Nc6).\n\n",
        "He laughed :-} and left.\n\n",
        style,
    ]
    .into_iter()
    .enumerate()
    {
        for (first, text) in [
            (7, format!("{one}\n{words}{two}")),
            (1, format!("{words}{one}\n{two}")),
        ] {
            let base = folder.path().join(format!("{number}-{first}.cbh"));
            let output = import_from_stdin(&["--create", text_path(&base)], text.as_bytes());
            let told = said(&output);
            assert!(output.status.success(), "{text}\n{told}");
            assert_eq!(games_of(&base).len(), 2, "{text}\n{told}");
            assert!(
                told.contains(&format!(":{first}:1: line")),
                "{text}\n{told}"
            );
        }
    }
}

#[test]
fn text_in_front_of_moves_without_tags_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let moves = "1. e4 e5 2. Nf3 *\n";
    for (number, (text, count)) in [
        (format!("Hello\n\n{moves}"), 1),
        (format!("{moves}\nHello\n\n{moves}\n-- \nBob\n"), 2),
        (moves.to_owned(), 1),
        ("e4 e5 Nf3 *".to_owned(), 1),
        ("{a note}\n*\n".to_owned(), 1),
    ]
    .into_iter()
    .enumerate()
    {
        let base = folder.path().join(format!("{number}.cbh"));
        let output = import_from_stdin(&["--create", text_path(&base)], text.as_bytes());
        assert!(output.status.success(), "{text}\n{}", said(&output));
        assert_eq!(games_of(&base).len(), count, "{text}\n{}", said(&output));
    }
}

#[test]
fn a_possible_game_is_refused_not_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let [one, two] = two_games();
    for (bad, why) in [
        (
            "> [Event \"q\"]\n> [White \"Q\"]\n>\n> 1. e4 e5 *\n",
            "quotation",
        ),
        ("Bob wrote:\n> 1. e4 e5 *\n", "quotation"),
        ("Look at this:\n1. e4 e5 Ke5 *\n", "expected"),
        ("hite \"Q\"]\n\n1. e4 *\n", "expected"),
        ("c4 2. Nf3 Kg4\n", "expected"),
        ("[Event \"q\"]\n\nHello\n", "expected"),
        ("1. P-K4 P-K4\n", "expected"),
        ("e4 e5 Nf9\n", "expected"),
        ("[\"Q\"]\n\n1. e4 *\n", "expected"),
        ("is a mistake} *\n", "expected"),
        ("bin\u{3}ary\n", "expected"),
    ] {
        for (text, line) in [
            (format!("{bad}\n{one}\n{two}"), 1),
            (format!("{one}\n{bad}\n{two}"), 7),
            (format!("{one}\n{two}\n{bad}"), 13),
        ] {
            let output = import_from_stdin(&["--create", text_path(&base)], text.as_bytes());
            let told = said(&output);
            assert_eq!(output.status.code(), Some(1), "{text}\n{told}");
            assert!(
                told.contains(why) && !told.contains("skipped"),
                "{text}\n{told}"
            );
            let lines = line..line + bad.lines().count();
            let places = lines.map(|line| format!("standard input:{line}:"));
            assert!(
                places.into_iter().any(|place| told.contains(&place)),
                "{text}\n{told}"
            );
        }
    }
}

#[test]
fn a_dry_run_reports_that_one_bad_game_stops_the_import() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let text = many_games(3) + "[White \"A\"]\n\n1. Ke4 *\n";
    let try_out = |more: &[&str]| {
        let wishes = [&["--create", "--dry-run", text_path(&base)], more].concat();
        let output = import_from_stdin(&wishes, text.as_bytes());
        (output.status.code(), said(&output))
    };
    let (code, told) = try_out(&[]);
    assert_eq!(code, Some(1));
    assert!(
        told.contains("3 games are sound\n1 bad game\nnothing would be imported"),
        "{told}"
    );
    let bad = folder.path().join("bad.pgn");
    let (code, told) = try_out(&["--skip-bad", text_path(&bad)]);
    assert_eq!(code, Some(0));
    assert!(
        told.contains("3 games would be appended as 1\u{2013}3\n1 bad game\n"),
        "{told}"
    );
    assert!(!told.contains("nothing"), "{told}");
}

#[test]
fn a_game_without_moves_is_imported_and_affects_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let tags = "[Event \"aborted\"]\n[White \"A\"]\n[Black \"B\"]\n[Result \"*\"]\n\n\n";
    let text = format!("{tags}{}{tags}", many_games(1));
    let output = import_from_stdin(&["--create", text_path(&base)], text.as_bytes());
    assert!(
        said(&output).contains("3 games appended"),
        "{}",
        said(&output)
    );
}

#[test]
fn differences_to_shared_entities_are_reported_once_with_a_count() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let game = |rounds: u32, source: &str| {
        format!(
            "[Event \"Open\"]\n[White \"A\"]\n[SourceTitle \"T\"]\n[Source \"{source}\"]\n[EventRounds \"{rounds}\"]\n\n1. e4 *\n\n"
        )
    };
    let text = game(9, "") + &game(11, "").repeat(3) + &game(9, "Ω");
    let output = import_from_stdin(&["--create", text_path(&base)], text.as_bytes());
    let told = said(&output);
    for line in [
        "standard input:13:15: EventRounds differs from that of the same tournament in the base, which stays, such as \"9\" instead of \"11\" (3 games)",
        "standard input:36:10: Source differs from that of the same source in the base, which stays, such as none instead of \"Ω\" (1 game)",
    ] {
        assert_eq!(told.matches(line).count(), 1, "{told} {line}");
    }
}

#[test]
fn a_source_without_a_title_is_not_that_of_other_games() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let game = |tags: &str| format!("[Event \"Open\"]\n{tags}\n1. e4 *\n\n");
    let dated = game("[SourceDate \"1951.??.??\"]\n");
    let games = [
        game("[Source \"The Times\"]\n"),
        game(""),
        game("[Source \"BCM\"]\n"),
        game("[Source \"The Times\"]\n"),
    ];
    let output = import_from_stdin(&["--create", text_path(&base)], games.concat().as_bytes());
    assert!(!said(&output).contains("differs"), "{}", said(&output));
    let exported = succeeds(&["export", text_path(&base)]);
    let sources = exported.lines().filter(|line| line.contains("Source"));
    assert!(
        sources.eq([
            "[SourceTitle \"The Times\"]",
            "[Source \"The Times\"]",
            "[SourceTitle \"BCM\"]",
            "[Source \"BCM\"]",
            "[SourceTitle \"The Times\"]",
            "[Source \"The Times\"]",
        ]),
        "{exported}"
    );
    // What all games without a source share is told of one that gets it.
    let other = folder.path().join("other.cbh");
    let text = dated + &game("");
    let output = import_from_stdin(&["--create", text_path(&other)], text.as_bytes());
    let line = "SourceDate differs from that of the same source in the base, which stays, such as \"1951.??.??\" instead";
    assert!(said(&output).contains(line), "{}", said(&output));
}

#[test]
fn new_only_leaves_out_known_games_and_duplicates() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let game = |white: &str, date: &str, moves: &str| {
        format!("[White \"{white}\"]\n[Black \"B\"]\n[Date \"{date}\"]\n\n{moves} *\n\n")
    };
    let long = "Longer-Than-Any-Field-Of-A-Name-Could-Hold, Anna";
    let many_moves = "Nf3 Nf6 Ng1 Ng8 ".repeat(5);
    let fen = |fen| format!("[FEN \"{fen}\"]\n{}", game("A", "2020.01.01", "1. e4 e5"));
    let known = game("A", "2020.01.01", "1. e4 e5")
        + &game(long, "2020.01.01", "1. d4 (1. c4)")
        + &game("L", "2020.01.01", &many_moves);
    let import = |more: &[&str], text: &str| {
        let output = import_from_stdin(&[&[text_path(&base)], more].concat(), text.as_bytes());
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    };
    import(&["--create"], &known);
    for (text, is_new) in [
        (game("A", "2020.01.01", "1. e4 { known } e5"), false),
        (game(long, "2020.01.01", "1. d4 (1. c4)"), false),
        (
            game(
                long,
                "2020.01.01",
                "1. d4 {variations} ({do not count} 1. c4 e5) (1. Nf3)",
            ),
            false,
        ),
        (game(long, "2020.01.01", "1. d4"), false),
        (game(long, "2020.01.01", "1. c4"), true),
        (
            fen("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
            false,
        ),
        (
            fen("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1"),
            true,
        ),
        (
            "[Round \"2\"]\n".to_owned() + &game("A", "2020.01.01", "1. e4 e5"),
            true,
        ),
        (
            "[Round \"Final\"]\n".to_owned() + &game("A", "2020.01.01", "1. e4 e5"),
            true,
        ),
        (
            "[Event \"Other\"]\n".to_owned() + &game("A", "2020.01.01", "1. e4 e5"),
            true,
        ),
        (
            "[Event \"Other\"]\n[Round \"2\"]\n".to_owned() + &game("L", "2020.01.01", &many_moves),
            false,
        ),
        (game("A", "2020.01.02", "1. e4 e5"), true),
        (game("A", "2020.01.01", "1. e4 e6"), true),
        (game("A", "2020.01.01", "1. e4 e5 2. Nf3"), true),
        (game("C", "2020.01.01", "1. e4 e5"), true),
        (
            game("A", "2020.01.01", "1. e4 e5")
                .replace("[Date", "[Result \"1-0\"]\n[Date")
                .replace('*', "1-0"),
            true,
        ),
    ] {
        // The second one in the file is never new.
        let told = import(&["--new-only", "--dry-run"], &text.repeat(2));
        let games = usize::from(is_new);
        let expected = match games {
            0 => "0 games would be appended\n2 known games left out\n".to_owned(),
            _ => "1 game would be appended as 4\n1 known game left out\n".to_owned(),
        };
        assert!(told.contains(&expected), "{text}: {told}");
    }
    let text = many_games(50);
    let told = import(&["--new-only"], &(known.clone() + &text + &text));
    assert!(
        told.contains("50 games appended as 4\u{2013}53\n53 known games left out\n"),
        "{told}"
    );
    let told = import(&["--new-only"], &(known + &text));
    assert!(
        told.contains("0 games appended\n53 known games left out\n"),
        "{told}"
    );
    assert_eq!(defects_of(&base), [""; 0]);
}

#[test]
fn missing_opening_codes_are_computed_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let moves = "1. Nf3 d6 2. e4 c5 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6 6. Be3 *\n\n";
    let text = format!(
        "[White \"A\"]\n\n{moves}[White \"B\"]\n[ECO \"A00\"]\n\n{moves}[White \"C\"]\n\n*\n"
    );
    for (option, code) in [("--eco", Some("B90")), ("--drop-foreign-tags", None)] {
        let base = folder.path().join(format!("new{option}.cbh"));
        let output = import_from_stdin(&["--create", option, text_path(&base)], text.as_bytes());
        let told = said(&output);
        assert_eq!(
            told.contains("1 game given an opening code\n"),
            code.is_some(),
            "{told}"
        );
        let games = games_of(&base);
        let eco = |number: u32| {
            let lines = games[&number].1.lines();
            let mut codes =
                lines.filter_map(|line| line.strip_prefix("[ECO \"")?.strip_suffix("\"]"));
            codes.next().map(str::to_owned)
        };
        assert_eq!(
            [eco(1), eco(2), eco(3)],
            [code.map(str::to_owned), Some("A00".to_owned()), None]
        );
    }
}

#[test]
fn foreign_tags_are_left_out_on_request() {
    let folder = tempfile::tempdir().unwrap();
    for (option, is_kept) in [("--quiet", true), ("--drop-foreign-tags", false)] {
        let base = folder.path().join(format!("new{is_kept}.cbh"));
        let text = "[White \"A\"]\n[Opening \"Réti\"]\n\n1. Nf3 *\n".as_bytes();
        let output = import_from_stdin(&["--create", option, text_path(&base)], text);
        assert!(output.status.success(), "{}", said(&output));
        let game = &games_of(&base)[&1].1;
        assert_eq!(game.contains("[Opening \"Réti\"]"), is_kept, "{game}");
    }
}

/// Many blanks in few bytes: a game has 16 MiB at most, however it is packed.
#[test]
fn reports_on_tags_and_names_say_how_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let game = |tags: &str, moves: &str| format!("{tags}\n\n{moves} *\n\n");
    let long = |number| format!("[Event \"{}{number}\"]", "A title of many words ".repeat(4));
    let text = [
        game("[Variant \"Atomic\"]", "1. e4"),
        game("[WhiteElo \"99999\"]", "1. e4"),
        game("[Variant \"Chess960\"]\n[ECO \"A00\"]", "1. e4"),
        (1..=20)
            .map(|number| game(&long(number), "1. e4"))
            .collect(),
    ]
    .concat();
    for (drops, expected) in [
        (
            &[][..],
            "\"Atomic\" as Variant, and moves that are legal in chess; stored as chess, with the tag (1 game)",
        ),
        (
            &["--drop-foreign-tags"],
            "\"Atomic\" as Variant, and moves that are legal in chess; stored as chess (1 game)",
        ),
    ] {
        let base = folder.path().join(format!("{}.cbh", drops.len()));
        let arguments = [&["--create", text_path(&base)], drops].concat();
        let told = said(&import_from_stdin(&arguments, text.as_bytes()));
        assert!(told.contains(expected), "{told}");
        assert_eq!(
            told.matches("an Event that its field cannot hold whole")
                .count(),
            1,
            "{told}"
        );
        assert!(told.contains("20 games"), "{told}");
        let elo = if drops.is_empty() {
            "kept as another tag"
        } else {
            "left out"
        };
        for name in ["an ECO", "a WhiteElo"] {
            let kept = format!("{name} that its field cannot hold; {elo} (1 game)");
            assert!(told.contains(&kept), "{told}");
        }
        let exported = games_of(&base)
            .into_values()
            .map(|(_, text)| text)
            .collect::<String>();
        assert_eq!(
            exported.contains("[CbhOtherECO \"A00\"]"),
            drops.is_empty(),
            "{exported}"
        );
    }
    let horde = "[Variant \"Horde\"]\n[FEN \"rnbqkbnr/pppppppp/8/1PP2PP1/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP w kq - 0 1\"]";
    let base = folder.path().join("horde.cbh");
    let told = said(&import_from_stdin(
        &["--create", text_path(&base)],
        game(horde, "1. e5").as_bytes(),
    ));
    assert!(
        told.contains("\"Horde\" as Variant, which is not chess"),
        "{told}"
    );
}

#[test]
fn a_decompression_bomb_is_refused_in_little_memory() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let bomb = folder.path().join("bomb.pgn.gz");
    fs::write(&bomb, gzip(&" ".repeat(200 << 20))).unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh", CBFS, "import"])
        .args([text_path(&base), text_path(&bomb)])
        .output()
        .unwrap();
    let told = said(&output);
    assert!(told.contains("more than 16 MiB"), "{told}");
}

#[test]
fn a_base_is_created_completely_or_not_at_all_and_overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let output = import_from_stdin(&["--create", text_path(&base)], b"no game");
    assert_eq!(output.status.code(), Some(1));
    assert!(files_in(folder.path()).is_empty());
    let output = import_from_stdin(&["--create", text_path(&base)], b"");
    assert_eq!(said(&output), "0 games appended\n");
    let empty = files_in(folder.path());
    assert_eq!(empty.len(), 13);
    assert_eq!(empty["new.cbh"].len(), 46);
    assert_eq!(defects_of(&base), [""; 0]);
    let output = import_from_stdin(&["--create", text_path(&base)], many_games(1).as_bytes());
    let advice = "new.cbh: a base of this name exists already; choose another name";
    assert!(said(&output).contains(advice), "{}", said(&output));
    assert_same_files(&files_in(folder.path()), &empty, "after");
}

#[test]
fn an_import_without_a_base_suggests_create() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.cbh");
    let output = import_from_stdin(&[text_path(&missing)], many_games(1).as_bytes());
    let said_of_missing = said(&output);
    assert!(
        said_of_missing.contains("missing.cbh: not found"),
        "{said_of_missing}"
    );
    assert!(
        said_of_missing
            .trim_end()
            .ends_with("; --create makes a new base"),
        "{said_of_missing}"
    );
    let nowhere = folder.path().join("nowhere");
    let base = nowhere.join("new.cbh");
    let output = import_from_stdin(&["--create", text_path(&base)], many_games(1).as_bytes());
    let folder_first = format!("cbfs: {}: No such file", nowhere.display());
    assert!(
        said(&output).starts_with(&folder_first),
        "{}",
        said(&output)
    );
}

#[test]
fn a_missing_input_is_reported_before_any_change() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let output = cbfs(&["import", "--create", text_path(&base), "/nowhere.pgn"]);
    assert!(
        said(&output).starts_with("cbfs: /nowhere.pgn: "),
        "{}",
        said(&output)
    );
    assert!(files_in(folder.path()).is_empty());
}

/// Files of the base, search caches and what others left aside.
fn base_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = files_in(folder).into_iter();
    files
        .filter(|(name, _)| name.starts_with("sample."))
        .collect()
}

#[test]
fn a_killed_import_leaves_the_old_or_the_new_base_and_no_other_files() {
    let text = many_games(4000);
    let new = {
        let folder = copy_of_base("cbh/sample");
        let base = folder.path().join("sample.cbh");
        import_from_stdin(&[text_path(&base)], text.as_bytes());
        games_of(&base)
    };
    let mut found = [0; 2];
    for delay in [0, 3, 10, 20, 40, 60, 80, 100, 130, 160, 200, 300, 450] {
        let folder = copy_of_base("cbh/sample");
        let base = folder.path().join("sample.cbh");
        let (old, old_files) = (games_of(&base), base_files(folder.path()));
        let pgn = folder.path().join("games.pgn");
        fs::write(&pgn, &text).unwrap();
        let mut child = start_import(&[text_path(&base), text_path(&pgn)]);
        thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        recover(&base);
        let games = games_of(&base);
        assert!(
            games == old || games == new,
            "{delay}: {} games",
            games.len()
        );
        found[usize::from(games == new)] += 1;
        if games == old {
            assert_same_files(&base_files(folder.path()), &old_files, "after the kill");
        }
        assert_eq!(hidden_files(folder.path()), [""; 0], "{delay}");
        assert_eq!(defects_of(&base), [""; 0], "{delay}");
    }
    println!("killed before the commit and after it: {found:?}");
}

/// Opens a base to change it, which brings it to a whole state.
fn recover(base: &Path) {
    let output = import_from_stdin(&[text_path(base)], b"");
    assert_eq!(said(&output), "0 games appended\n");
}

fn hidden_files(folder: &Path) -> Vec<String> {
    let names = files_in(folder).into_keys();
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn a_killed_import_is_undone_when_the_base_is_opened() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let (before, old) = (files_in(folder.path()), games_of(&base));
    let mut child = start_import(&[text_path(&base), "-"]);
    let mut stdin = child.stdin.take().unwrap();
    // The first MiB is looked through for its page before a game is read.
    stdin.write_all(many_games(12_000).as_bytes()).unwrap();
    let moves = folder.path().join("sample.cbg");
    let is_longer = || fs::metadata(&moves).unwrap().len() > before["sample.cbg"].len() as u64;
    for _ in 0..600 {
        if is_longer() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(is_longer(), "nothing was laid behind the file");
    assert_eq!(hidden_files(folder.path()).len(), 2);
    // Whoever reads meanwhile sees the old base.
    assert_eq!(games_of(&base), old);
    child.kill().unwrap();
    child.wait().unwrap();
    recover(&base);
    assert_same_files(&files_in(folder.path()), &before, "after");
}

#[test]
fn a_killed_creation_leaves_no_base_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("new.cbh");
    let mut child = start_import(&["--create", text_path(&base), "-"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(many_games(3000).as_bytes()).unwrap();
    for _ in 0..600 {
        if files_in(folder.path()).len() > 12 {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!base.exists());
    let output = import_from_stdin(&["--create", text_path(&base)], many_games(5).as_bytes());
    assert_eq!(said(&output), "5 games appended as 1\u{2013}5\n");
    assert_eq!(files_in(folder.path()).len(), 13);
}

#[test]
fn an_import_that_is_interrupted_undoes_itself() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let before = files_in(folder.path());
    let mut child = start_import(&[text_path(&base), "-"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(many_games(3000).as_bytes()).unwrap();
    for _ in 0..600 {
        if files_in(folder.path()).len() > before.len() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    kill(
        Pid::from_raw(i32::try_from(child.id()).unwrap()),
        Signal::SIGINT,
    )
    .unwrap();
    thread::sleep(Duration::from_millis(200));
    let _ = stdin.write_all(many_games(3000).as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    assert_eq!(said(&output), "cbfs: interrupted; nothing was imported\n");
    assert_same_files(&files_in(folder.path()), &before, "after");
}

#[test]
fn a_second_import_is_refused() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let mut child = start_import(&[text_path(&base), "-"]);
    for _ in 0..600 {
        if !hidden_files(folder.path()).is_empty() {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(100));
    let output = import_from_stdin(&[text_path(&base)], b"");
    let errors = said(&output);
    assert!(
        errors.contains("has opened the base for writing"),
        "{errors}"
    );
    assert!(errors.contains("cbfs import"), "{errors}");
    child.stdin.take();
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_old_base_gets_extended_headers_with_the_first_team() {
    let old = PathBuf::from("cbh/oldheaders");
    let folder = copy_of_base(old.to_str().unwrap());
    let base = folder.path().join("oldheaders.cbh");
    for extension in ["cbj", "cbe"] {
        let _ = fs::remove_file(base.with_extension(extension));
    }
    let before = games_of(&base);
    let text = many_games(3000) + "[White \"A\"]\n[WhiteTeam \"Gent\"]\n\n1. e4 *\n";
    let output = import_from_stdin(&[text_path(&base)], text.as_bytes());
    assert!(output.status.success(), "{}", said(&output));
    let after = games_of(&base);
    assert_eq!(after.len(), before.len() + 3001);
    assert!(
        after
            .last_key_value()
            .unwrap()
            .1
            .1
            .contains("[WhiteTeam \"Gent\"]")
    );
    assert_eq!(defects_of(&base), [""; 0]);
    let told = succeeds(&["info", text_path(&base)]);
    assert!(!told.is_empty());
}

/// Appends a game without players, an event or anything.
fn import_nameless(base: &Path) {
    let output = import_from_stdin(&[text_path(base)], b"1. e4 e5 *\n");
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn the_references_to_a_damaged_record_are_recounted() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    import_nameless(&base);
    let players = base.with_extension("cbp");
    let sound = fs::read(&players).unwrap();
    let records = sound[32..].chunks_exact(67);
    let nameless = records
        .clone()
        .position(|record| record[9] == 0 && record[39] == 0);
    let at = 32 + 67 * nameless.unwrap() + 59;
    assert_eq!(sound[at..at + 8], [2, 0, 0, 0, 16, 0, 0, 0]);
    for damage in [
        [0x18, 0x3d, 0x37, 0x06, 0xff, 0xff, 0xff, 0xff],
        [200, 0, 0, 0, 16, 0, 0, 0],
        [2, 0, 0, 0, 0, 0, 0, 0],
        [0xff, 0xff, 0xff, 0xff, 16, 0, 0, 0],
    ] {
        let folder = copy_of(&base);
        let base = folder.path().join("sample.cbh");
        let players = base.with_extension("cbp");
        let mut bytes = sound.clone();
        bytes[at..at + 8].copy_from_slice(&damage);
        fs::write(&players, bytes).unwrap();
        assert_eq!(defects_of(&base).len(), 1);
        import_nameless(&base);
        assert_eq!(defects_of(&base), [""; 0], "{damage:?}");
        let now = fs::read(&players).unwrap();
        assert_eq!(now[at..at + 8], [4, 0, 0, 0, 16, 0, 0, 0]);
    }
}

#[test]
fn games_without_a_player_add_no_defect_to_a_damaged_base() {
    let Some(shared) = common::shared() else {
        return;
    };
    let folder = copy_of(&shared.join("bases/linares/linares.cbh"));
    let base = folder.path().join("linares.cbh");
    let known = defects_of(&base);
    import_nameless(&base);
    let left = defects_of(&base);
    assert!(
        left.iter().all(|defect| known.contains(defect)),
        "{left:#?}"
    );
    assert!(
        !left.iter().any(|defect| defect.contains("record 73")),
        "{left:#?}"
    );
}

#[test]
fn an_empty_board_is_refused_and_one_without_kings_accepted() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let before = files_in(folder.path());
    let of = |fen: &str| format!("[Event \"x\"]\n[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n*\n");
    let empty = of("8/8/8/8/8/8/8/8 w - - 0 1");
    let output = import_from_stdin(&[text_path(&base)], empty.as_bytes());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("standard input:3:7: "),
        "{}",
        said(&output)
    );
    assert_same_files(&files_in(folder.path()), &before, "an empty board");
    let pawns = of("8/8/3p4/8/8/4P3/8/8 w - - 0 1");
    let output = import_from_stdin(&[text_path(&base)], pawns.as_bytes());
    assert!(output.status.success(), "{}", said(&output));
}

/// Reads the games of a text and appends them, as long as it is not over.
fn read_and_append(
    text: &str,
    is_over: &AtomicBool,
    watch: &mut dyn Watch,
) -> Result<(), ImportStop> {
    let folder = copy_of_base("cbh/sample");
    let cbh = folder.path().join("sample.cbh");
    let base = OpenBase::to_change(&cbh, &cbh::Options::default(), "test").unwrap();
    let importer = Importer::new(&base.database, &base.store, SystemTime::now());
    let mut session = Session::new(importer, ImportOptions::default(), is_over);
    let mut input = io::Cursor::new(text.as_bytes());
    let read = for_each_text(Path::new("text.pgn"), &mut input, &mut |text| {
        session.read(text, watch).map(|_| ())
    });
    drop(session);
    base.store.close().unwrap();
    read
}

/// Counts games, and ends the import at the third.
#[derive(Default)]
struct Counting<'a> {
    games: usize,
    is_over: Option<&'a AtomicBool>,
}

impl Watch for Counting<'_> {
    fn appended(&mut self, _: &cbh::Appended) {
        self.games += 1;
        if let Some(is_over) = self.is_over {
            is_over.store(self.games >= 3, SeqCst);
        }
    }

    fn bad(&mut self, bad: BadGame, _: BadText<'_>) -> Result<(), ImportStop> {
        Err(ImportStop::Bad(bad))
    }

    fn more_of_bad(&mut self, _: BadText<'_>) -> Result<(), ImportStop> {
        Ok(())
    }
}

#[test]
fn an_interrupted_import_ends_before_the_next_game() {
    let is_over = AtomicBool::new(false);
    let mut counting = Counting {
        is_over: Some(&is_over),
        ..Counting::default()
    };
    let read = read_and_append(&"1. e4 *\n".repeat(100), &is_over, &mut counting);
    assert!(matches!(read, Err(ImportStop::Interrupted)), "{read:?}");
    assert_eq!(counting.games, 3);
}

#[test]
fn the_time_of_a_game_is_independent_of_its_neighbours() {
    for (game, last) in [
        ("* a\n", "1. e4 *\n"),
        ("e4 * {a}\n", "e4 *\n"),
        ("e4 1:0\n", "e4 *\n"),
        ("e4 1:0 ", "e4 *\n"),
        ("e4 { {b} a} 1:0\n", "e4 *\n"),
    ] {
        let of = |games: usize| {
            let text = format!("[Event \"x\"]\n\ne4 *\n{}{last}", game.repeat(games));
            let mut counting = Counting::default();
            let begun = Instant::now();
            read_and_append(&text, &AtomicBool::new(false), &mut counting).unwrap();
            assert_eq!(counting.games, games + 2);
            begun.elapsed()
        };
        let (some, many) = (of(1000), of(8000));
        println!("{some:?} {many:?} {game:?}");
        // 64 times as long if each game looked at all others.
        assert!(many < some * 24, "{game:?}: {some:?}, {many:?}");
    }
}
