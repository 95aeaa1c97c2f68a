//! Games deleted by a query, and names merged, on the command line.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test says what is wrong by panicking"
)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::fixture;

const CBFS: &str = env!("CARGO_BIN_EXE_cbfs");

/// A base that is changed, and where its merges are kept.
struct Case {
    folder: tempfile::TempDir,
    base: PathBuf,
}

impl Case {
    fn of_pgn(pgn: &str) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let case = Case {
            base: folder.path().join("base.cbh"),
            folder,
        };
        let file = case.folder.path().join("games.pgn");
        fs::write(&file, pgn).unwrap();
        let file = file.to_str().unwrap().to_owned();
        let base = case.base.to_str().unwrap().to_owned();
        done(&case.run(&["import", "-q", "--create", &base, &file]));
        case
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(CBFS)
            .args(arguments)
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .output()
            .unwrap()
    }

    /// A command about the base, which does what it should.
    fn does(&self, command: &str, arguments: &[&str]) -> String {
        done(&self.ran(command, arguments))
    }

    fn ran(&self, command: &str, arguments: &[&str]) -> Output {
        let mut all = vec![command, self.base.to_str().unwrap()];
        all.extend(arguments);
        self.run(&all)
    }

    /// One that fails and says this.
    fn refuses(&self, command: &str, arguments: &[&str], why: &str) {
        let ran = self.ran(command, arguments);
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(why), "{arguments:?}: {said}");
    }

    fn is_sound(&self) {
        self.does("check", &[]);
    }
}

fn done(ran: &Output) -> String {
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    String::from_utf8(ran.stdout.clone()).unwrap()
}

fn game(white: &str, black: &str, more: &str) -> String {
    format!("[White \"{white}\"]\n[Black \"{black}\"]\n{more}[Result \"1-0\"]\n\n1. e4 e5 1-0\n\n")
}

fn of_kasparov() -> Case {
    let teams =
        "[WhiteTeam \"SV A\"]\n[BlackTeam \"SV B\"]\n[Annotator \"N, N\"]\n[SourceTitle \"CB\"]\n";
    Case::of_pgn(
        &[
            game("Kasparov, G", "Karpov, Anatoly", ""),
            game("Karpov, Anatoly", "Kasparov, Garry", teams),
            game("Short, Nigel", "Kasparov, G", teams),
            game("Kasparov, G", "Kasparov, Garry", ""),
        ]
        .concat(),
    )
}

#[test]
fn games_are_deleted_once_that_is_agreed_to_and_restored() {
    let case = of_kasparov();
    let before = case.does("export", &[]);
    let files = bytes_of(&case);
    case.refuses("delete", &["player:Karpov"], "would mark 2 games");
    let said = case.does("delete", &["player:Karpov", "--dry-run"]);
    assert!(said.starts_with("would mark 2 games"), "{said}");
    assert_eq!(bytes_of(&case), files);
    let said = case.does("delete", &["player:Karpov", "--yes"]);
    assert!(said.starts_with("2 games marked as deleted"), "{said}");
    assert_eq!(case.does("find", &["--numbers"]), "3\n4\n");
    case.refuses("delete", &["player:Karpov", "--yes"], "no game fits");
    // What is deleted otherwise stays so.
    case.does("delete", &["number:3", "--yes"]);
    let said = case.does("delete", &["player:Karpov", "--restore", "--yes"]);
    assert_eq!(said, "2 games restored\n");
    assert_eq!(case.does("find", &["--numbers"]), "1\n2\n4\n");
    case.does("delete", &["number:1-", "--restore", "--yes"]);
    assert_eq!(case.does("export", &[]), before);
    case.refuses("delete", &["nonsense:1", "--yes"], "no term is called");
    case.is_sound();
}

#[test]
fn two_spellings_become_one_in_all_games_and_two_again() {
    let case = of_kasparov();
    let before = case.does("export", &[]);
    let files = bytes_of(&case);
    let names = ["players", "Kasparov, G", "Kasparov, Garry"];
    case.refuses("merge", &names, "(3 games); --yes");
    assert_eq!(bytes_of(&case), files);
    let said = case.does("merge", &[&names[..], &["--yes"]].concat());
    assert!(said.contains("(3 games)"), "{said}");
    let merged = case.does("export", &[]);
    assert_eq!(
        merged,
        before.replace("\"Kasparov, G\"", "\"Kasparov, Garry\"")
    );
    case.is_sound();
    case.refuses(
        "merge",
        &[&names[..], &["--yes"]].concat(),
        "there is \"Kasparov, Garry\"",
    );
    case.does("merge", &["--undo", "--yes"]);
    assert_eq!(case.does("export", &[]), before);
    case.is_sound();
    case.refuses("merge", &["--undo", "--yes"], "no merge");
}

#[test]
fn every_kind_is_merged() {
    let teams =
        "[WhiteTeam \"SV A\"]\n[BlackTeam \"SV B\"]\n[Annotator \"N, N\"]\n[SourceTitle \"CB\"]\n";
    let others =
        "[WhiteTeam \"SV B\"]\n[BlackTeam \"SV C\"]\n[Annotator \"M\"]\n[SourceTitle \"CBM\"]\n";
    let case = Case::of_pgn(&[game("A", "B", teams), game("B", "C", others)].concat());
    let before = case.does("export", &[]);
    for (kind, from, into) in [
        ("teams", "SV B", "SV A"),
        ("annotators", "M", "N, N"),
        ("sources", "CB", "CBM"),
    ] {
        let merged = case.does("export", &[]);
        let quoted = |name: &str| format!("\"{name}\"");
        case.does("merge", &[kind, from, into, "-y"]);
        let now = case.does("export", &[]);
        assert_eq!(now, merged.replace(&quoted(from), &quoted(into)), "{kind}");
        assert_ne!(now, merged, "{kind}");
        case.is_sound();
    }
    for _ in 0..3 {
        case.does("merge", &["--undo", "-y"]);
        case.is_sound();
    }
    assert_eq!(case.does("export", &[]), before);
}

#[test]
fn undo_keeps_changes_made_after_the_merge() {
    let case = of_kasparov();
    case.does(
        "merge",
        &["players", "Kasparov, G", "Kasparov, Garry", "-y"],
    );
    case.does(
        "merge",
        &["players", "Kasparov, Garry", "Karpov, Anatoly", "-y"],
    );
    let merges = case.folder.path().join("state/cbfs/merges");
    let of_base = fs::read_dir(merges).unwrap().next().unwrap().unwrap();
    fs::remove_file(of_base.path().join("2.txt")).unwrap();
    let before = case.does("export", &[]);
    case.refuses(
        "merge",
        &["--undo", "-y"],
        "no game is as its last merge left it",
    );
    assert_eq!(case.does("export", &[]), before);
    case.is_sound();
}

#[test]
fn an_undo_that_could_not_remove_its_record_takes_back_no_other_merge() {
    let case = of_kasparov();
    let before = case.does("export", &[]);
    case.does(
        "merge",
        &["players", "Kasparov, G", "Kasparov, Garry", "-y"],
    );
    let once = case.does("export", &[]);
    case.does(
        "merge",
        &["players", "Kasparov, Garry", "Karpov, Anatoly", "-y"],
    );
    let merges = case.folder.path().join("state/cbfs/merges");
    let of_base = fs::read_dir(merges).unwrap().next().unwrap().unwrap();
    let record = of_base.path().join("2.txt");
    let kept = fs::read(&record).unwrap();
    case.does("merge", &["--undo", "-y"]);
    assert_eq!(case.does("export", &[]), once);
    fs::write(&record, kept).unwrap();
    for arguments in [&["--undo", "--dry-run"], &["--undo", "-y"]] {
        let said = case.does("merge", arguments);
        assert!(said.contains("is in no game any more"), "{said}");
        assert_eq!(case.does("export", &[]), once);
    }
    assert!(!record.exists());
    case.does("merge", &["--undo", "-y"]);
    assert_eq!(case.does("export", &[]), before);
}

#[test]
fn undo_leaves_games_alone_that_have_the_numbers_of_merged_ones() {
    let case = of_kasparov();
    let names = ["players", "Kasparov, G", "Kasparov, Garry"];
    case.does("merge", &[&names[..], &["-y"]].concat());
    case.does("delete", &["number:1", "-y"]);
    // A copy without the first game takes the place of the base.
    let copy = case.folder.path().join("copy.cbh");
    case.does("compact", &[copy.to_str().unwrap()]);
    for entry in fs::read_dir(case.folder.path()).unwrap() {
        let from = entry.unwrap().path();
        if from.file_stem() == Some("copy".as_ref()) {
            let name = case.base.with_extension(from.extension().unwrap());
            fs::rename(&from, name).unwrap();
        }
    }
    let before = case.does("export", &[]);
    case.refuses("merge", &["--undo", "-y"], "nothing was changed");
    assert_eq!(case.does("export", &[]), before);
}

#[test]
fn three_spellings_of_one_name_become_one() {
    let spellings = ["Carlsen, Magnus", "carlsen, magnus", "CARLSEN,  Magnus"];
    let case = Case::of_pgn(&spellings.map(|name| game(name, "B", "")).concat());
    let file = case.folder.path().join("list.tsv");
    let path = file.to_str().unwrap();
    let list = case.does("names", &[]);
    assert_eq!(list.matches("\nmerge\t").count(), 3, "{list}");
    // Without the third line two names are left that the first could become.
    let lines: Vec<&str> = list.lines().collect();
    let sources = |at: usize| lines[at].split('\t').nth(1).unwrap();
    let twice =
        (1..4).find(|at| (1..4).any(|other| other != *at && sources(*at) == sources(other)));
    let twice = sources(twice.unwrap());
    let only = lines
        .iter()
        .filter(|line| line.split('\t').nth(1) != Some(twice));
    let parted: Vec<&str> = lines
        .iter()
        .filter(|line| !only.clone().skip(1).any(|it| it == *line))
        .copied()
        .collect();
    fs::write(&file, parted.join("\n")).unwrap();
    case.refuses("names", &["--apply", path, "-y"], "merged into two others");
    fs::write(&file, &list).unwrap();
    case.does("names", &["--apply", path, "-y"]);
    assert_eq!(case.does("names", &[]).lines().count(), 1);
    case.is_sound();
}

#[test]
fn a_list_of_spellings_is_reviewed_and_applied() {
    let case = of_kasparov();
    let before = case.does("export", &[]);
    let list = case.does("names", &[]);
    let expected = "action\tname\tgames\tinto\tgames_of_into\twhy\n\
        ?\tKasparov, G\t3\tKasparov, Garry\t2\ta first name shortened\n";
    assert_eq!(list, expected);
    let file = case.folder.path().join("list.tsv");
    let path = file.to_str().unwrap();
    fs::write(&file, &list).unwrap();
    case.refuses(
        "names",
        &["--apply", path, "-y"],
        "no line that begins with merge",
    );
    let circle = list.replace('?', "merge") + "merge\tKasparov, Garry\t2\tKasparov, G\t3\tx\n";
    fs::write(&file, circle).unwrap();
    case.refuses("names", &["--apply", path, "-y"], "circle");
    let chain = list.replace('?', "merge") + "merge\tKasparov, Garry\t2\tShort, Nigel\t3\tx\n";
    fs::write(&file, chain).unwrap();
    case.refuses(
        "names",
        &["--apply", path],
        "merge 2 names into others (4 games)",
    );
    assert_eq!(case.does("export", &[]), before);
    case.does("names", &["--apply", path, "-y"]);
    let merged = case.does("export", &[]);
    assert!(!merged.contains("Kasparov") && merged.matches("Short, Nigel").count() == 6);
    case.is_sound();
    case.does("merge", &["--undo", "-y"]);
    assert_eq!(case.does("export", &[]), before);
    case.is_sound();
    fs::write(&file, "name\tinto\n").unwrap();
    case.refuses("names", &["--apply", path, "-y"], "no such list");
}

/// A game of two players, with these moves.
fn played(players: (&str, &str), tags: &str, moves: &str) -> String {
    let (white, black) = players;
    format!("[White \"{white}\"]\n[Black \"{black}\"]\n{tags}\n{moves}\n\n")
}

const LONG: &str = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 \
                    8. c3 O-O 9. h3 Nb8 10. d4 Nbd7";

#[test]
fn games_that_are_there_twice_are_listed_and_deleted() {
    let tags = "[Event \"Linares\"]\n[Date \"1999.02.21\"]\n[Round \"1\"]\n";
    let other_event = "[Event \"WCh\"]\n[Date \"1999.??.??\"]\n[Round \"?\"]\n";
    let players = ("Kasparov, Garry", "Anand, V");
    let whole = format!("{LONG} 11. c4 c6 1-0");
    let case = Case::of_pgn(
        &[
            // 1, and 2 to 5 that are the same.
            played(players, &format!("{tags}[Result \"1-0\"]\n"), &whole),
            played(players, other_event, &whole),
            played(("KASPAROV,GARRY", "Anand, V."), tags, &format!("{LONG} *")),
            played(players, tags, &whole.replace("c6", "c6 {Novelty}")),
            played(players, tags, &whole),
            // Others: another date, player, result, move, start, colour.
            played(players, "[Date \"1999.02.22\"]\n", &whole),
            played(("Kasparov, Sergey", "Anand, V"), tags, &whole),
            played(players, tags, &whole.replace("1-0", "0-1")),
            played(players, tags, &whole.replace("c6 1", "c5 1")),
            played(("Anand, V", "Kasparov, Garry"), tags, &whole),
            // Short ones are the same only in one round.
            played(("A", "B"), tags, "1. e4 e5 1/2-1/2"),
            played(
                ("A", "B"),
                &tags.replace("\"1\"", "\"2\""),
                "1. e4 e5 1/2-1/2",
            ),
            played(("A", "B"), tags, "1. e4 e5 1/2-1/2"),
            played(("A", "B"), tags, "1. e4 1/2-1/2"),
        ]
        .concat(),
    );
    let before = case.does("export", &[]);
    let list = case.does("duplicates", &[]);
    let lines: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(lines[0][..4], ["action", "game", "stays", "why"]);
    let found: Vec<&[&str]> = lines[1..].iter().map(|line| &line[..4]).collect();
    assert_eq!(
        found,
        [
            ["delete", "1", "4", "the same moves"],
            ["delete", "2", "4", "the same moves"],
            ["?", "3", "4", "the same moves, fewer of them"],
            ["delete", "5", "4", "the same moves"],
            ["delete", "13", "11", "the same moves"],
        ]
    );
    assert_eq!(lines[2][6..], ["1999.??.??", "1-0", "WCh", "Linares"]);
    let file = case.folder.path().join("list.tsv");
    let path = file.to_str().unwrap();
    fs::write(&file, &list).unwrap();
    case.refuses("duplicates", &["--apply", path], "would mark 4 games");
    assert_eq!(case.does("export", &[]), before);
    let said = case.does("duplicates", &["--apply", path, "-y"]);
    assert!(said.starts_with("4 games marked"), "{said}");
    assert_eq!(
        case.does("find", &["--numbers"]),
        "3\n4\n6\n7\n8\n9\n10\n11\n12\n14\n"
    );
    case.is_sound();
    case.refuses("duplicates", &["--apply", path, "-y"], "no change");
    assert_eq!(case.does("duplicates", &[]).lines().count(), 2);
    case.does("duplicates", &["--apply", path, "--restore", "-y"]);
    assert_eq!(case.does("export", &[]), before);
    for (wrong, why) in [
        (list.replace("\t4\t", "\t5\t"), "stays for another"),
        (
            list.replace("Kasparov, Garry", "Karpov"),
            "not those of the list",
        ),
        (list.replace("delete\t1\t", "delete\tx\t"), "line 2"),
        // Another game of the same players; one with fewer moves that stays.
        (list.replace("delete\t1\t", "delete\t9\t"), "lacks moves"),
        (list.replace("delete\t1\t4", "delete\t1\t3"), "lacks moves"),
        (list.replace("delete", "?"), "no change"),
        (
            list.replace("delete", "del"),
            "line 2 begins neither with delete",
        ),
        (list.replace("why", "reason"), "no such list"),
    ] {
        fs::write(&file, wrong).unwrap();
        case.refuses("duplicates", &["--apply", path, "-y"], why);
    }
    assert_eq!(case.does("export", &[]), before);
    // The list is older than this.
    fs::write(&file, &list).unwrap();
    case.does("delete", &["number:4", "-y"]);
    case.refuses("duplicates", &["--apply", path, "-y"], "is deleted");
}

#[test]
fn of_games_that_are_there_twice_the_one_that_says_more_stays() {
    let tags = "[Event \"City Open\"]\n[Date \"2001.02.03\"]\n[WhiteElo \"2400\"]\n";
    let case = Case::of_pgn(
        &[
            played(("Smith, J", "Jones, K"), "", &format!("{LONG} *")),
            played(("Smith, J", "Jones, K"), tags, &format!("{LONG} *")),
            // Each says what the other does not.
            played(("A", "B"), "[WhiteElo \"2400\"]\n", &format!("{LONG} *")),
            played(
                ("A", "B"),
                "[SourceTitle \"Bulletin\"]\n",
                &format!("{LONG} *"),
            ),
        ]
        .concat(),
    );
    let list = case.does("duplicates", &[]);
    let begins: Vec<String> = list
        .lines()
        .skip(1)
        .map(|line| line.split('\t').take(3).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(begins, ["delete 1 2", "? 4 3"]);
}

#[test]
fn a_game_with_a_tag_that_no_record_tells_is_not_to_be_deleted() {
    let plain = "[Event \"City Open\"]\n[Date \"2001.02.03\"]\n[WhiteTeam \"Club\"]\n";
    for more in [
        "[EventDate \"2001.02.01\"]",
        "[TimeControl \"60\"]",
        "[CbhTag \"Brilliancy\"]",
        "[WhiteTeamCountry \"GER\"]",
        "[Opening \"Ruy Lopez\"]",
    ] {
        let game = |tags: &str| played(("A", "B"), tags, &format!("{LONG} *"));
        let case = Case::of_pgn(&[game(plain), game(&format!("{plain}{more}\n"))].concat());
        let list = case.does("duplicates", &[]);
        let line = list.lines().nth(1).unwrap_or_default();
        assert!(!line.starts_with("delete\t2"), "{more}: {line}");
        let remark = game(plain).replace("1. e4", "1. e4 {[%eval 0.35]}");
        let list = Case::of_pgn(&[game(plain), remark].concat()).does("duplicates", &[]);
        assert!(!list.contains("delete\t2"), "{list}");
        let twice = game(&format!("{plain}{more}\n")).repeat(2);
        let list = Case::of_pgn(&twice).does("duplicates", &[]);
        let line = list.lines().nth(1).unwrap_or_default();
        let is_plain = line.starts_with("delete\t2\t1");
        // Those that no field holds are remarks.
        assert!(
            is_plain || more.contains("Opening") || more.contains("Time"),
            "{line}"
        );
    }
}

#[test]
fn names_that_cannot_be_merged_are_said_so() {
    let case = of_kasparov();
    for (arguments, why) in [
        (
            &["players", "Nobody", "Short, Nigel"][..],
            "called \"Nobody\"",
        ),
        (
            &["players", "Kasparov", "Short, Nigel"],
            "there is \"Kasparov, G\", \"Kasparov, Garry\"",
        ),
        (&["players", "Short, Nigel", "Short, Nigel"], "the same"),
        (&["players", "Short, Nigel ~99", "Short, Nigel"], "called"),
        (&["--undo"], "no merge"),
    ] {
        case.refuses("merge", arguments, why);
    }
    let wrong = case.ran("merge", &["games", "a", "b"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn read_only_files_stay_read_only() {
    let case = of_kasparov();
    for (path, why) in [
        ("book/small/small.ctg", "opening book"),
        ("2cbh/sample/sample.2cbh", "cbfs convert"),
    ] {
        let path = fixture(path);
        let ran = case.run(&["delete", path.to_str().unwrap(), "number:1", "-y"]);
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1));
        assert!(said.contains(why) && said.contains("read-only"), "{said}");
    }
}

/// Nothing is left in a journal either, which would change the base later.
#[test]
fn a_base_whose_files_cannot_be_written_is_left_as_it_is() {
    let case = of_kasparov();
    let list = case.folder.path().join("list.tsv");
    let names = "action\tname\tgames\tinto\tgames_of_into\twhy\n\
        merge\tKasparov, G\t3\tKasparov, Garry\t2\tx\n";
    fs::write(&list, names).unwrap();
    fs::set_permissions(&case.base, fs::Permissions::from_mode(0o444)).unwrap();
    let files = bytes_of(&case);
    let list = list.to_str().unwrap();
    for (command, arguments) in [
        ("delete", &["number:1", "-y"][..]),
        (
            "merge",
            &["players", "Kasparov, G", "Kasparov, Garry", "-y"],
        ),
        ("names", &["--apply", list, "-y"]),
    ] {
        case.refuses(command, arguments, "base.cbh: ");
        case.refuses(command, arguments, "nothing was changed");
        assert_eq!(bytes_of(&case), files, "{command}");
    }
    let base = case.base.to_str().unwrap();
    let file = case.folder.path().join("games.pgn");
    for (arguments, code) in [
        (&["import", base, file.to_str().unwrap()][..], 1),
        (&["check", "--repair", base], 2),
    ] {
        let ran = case.run(arguments);
        let said = String::from_utf8(ran.stderr).unwrap();
        assert!(said.contains("nothing was changed"), "{said}");
        assert_eq!(ran.status.code(), Some(code), "{arguments:?}");
        assert_eq!(bytes_of(&case), files, "{arguments:?}");
    }
    fs::set_permissions(&case.base, fs::Permissions::from_mode(0o644)).unwrap();
    let players = case.base.with_extension("cbp");
    fs::remove_file(&players).unwrap();
    fs::create_dir(&players).unwrap();
    case.refuses("delete", &["number:1", "-y"], "not a regular file");
}

#[test]
fn many_players_keep_their_names() {
    let name = |number: u32| format!("Player, Number {number}");
    // Twice, the second time in another order: those that lie 512 apart are kept in
    // one place.
    let numbers = (0..700).chain((0..700).rev());
    let expected: Vec<[String; 2]> = numbers
        .map(|number| [name(number), name((number + 512) % 700)])
        .collect();
    let games = expected.iter().map(|[white, black]| game(white, black, ""));
    let case = Case::of_pgn(&games.collect::<String>());
    let exported = case.does("export", &[]);
    let tag = |name: &str| -> Vec<String> {
        let lines = exported.lines();
        let values = lines.filter_map(|line| line.strip_prefix(name));
        values
            .map(|value| value.trim_end_matches("\"]").to_owned())
            .collect()
    };
    let found = tag("[White \"").into_iter().zip(tag("[Black \""));
    let found: Vec<[String; 2]> = found.map(|(white, black)| [white, black]).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_list_is_read_as_spreadsheets_write_it_and_wrong_lines_are_named() {
    let twice = game("Short, Nigel", "Karpov, Anatoly", "[Round \"1\"]\n").repeat(2);
    let case = Case::of_pgn(&twice);
    let list = case.does("duplicates", &[]);
    assert_eq!(list.lines().count(), 2, "{list}");
    let file = case.folder.path().join("list.tsv");
    let path = file.to_str().unwrap();
    let head = list.lines().next().unwrap();
    for (line, why) in [
        (&b"delete\t2"[..], "line 2 of the list: fewer columns"),
        (b"delete\t4294967296\t1\tx\ta\tb", "no numbers of two games"),
        (b"delete\t2\t1\tx\tM\xfcller\tb", "line 2 is not UTF-8"),
        (&[b'a'].repeat(1 << 17), "line 2 is too long"),
    ] {
        fs::write(&file, [head.as_bytes(), b"\n", line, b"\n"].concat()).unwrap();
        case.refuses("duplicates", &["--apply", path, "-y"], why);
    }
    fs::write(&file, format!("\u{feff}{}", list.replace('\n', "\r\n"))).unwrap();
    let said = case.does("duplicates", &["--apply", path, "-y"]);
    assert!(said.starts_with("1 game marked"), "{said}");
    assert_eq!(case.does("find", &["--numbers"]), "1\n");
}

fn bytes_of(case: &Case) -> Vec<(PathBuf, Vec<u8>)> {
    let folder: &Path = case.folder.path();
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}
