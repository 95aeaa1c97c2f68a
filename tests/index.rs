//! The index of positions in a file: its answers are those of a search, whatever
//! became of the base or of the file since it was written.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test says what is wrong by panicking"
)]

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use cbfs::base::{self, Base, Searched};
use cbfs::cbh::{Decoded, GameId, Options};
use cbfs::game::{PlyId, Position};
use cbfs::search::{
    Counter, Filter, GameSet, NewSegment, PositionTable, Query, Reached, ScanEvent, SearchedGames,
    Segment, scan, select,
};
use common::fixture_bases;
use common::numbers::Numbers;
use shakmaty::{Chess, Position as _, san::SanPlus};
use tempfile::TempDir;

const CBFS: &str = env!("CARGO_BIN_EXE_cbfs");

/// As many games, the first moves of which are few.
fn pgn(games: u32, numbers: &mut Numbers) -> String {
    let mut text = String::new();
    for game in 0..games {
        let result = ["1-0", "0-1", "1/2-1/2", "*"][numbers.below(4)];
        let (year, white) = (1900 + numbers.below(120), 1500 + numbers.below(1300));
        writeln!(
            text,
            "[Event \"E\"]\n[White \"W{game}\"]\n[Black \"B\"]\n[Date \"{year}.??.??\"]\n\
             [WhiteElo \"{white}\"]\n[Result \"{result}\"]\n"
        )
        .unwrap();
        let mut position = Chess::default();
        for ply in 0..numbers.below(14) {
            let moves = position.legal_moves();
            let choices = if ply < 6 {
                2.min(moves.len())
            } else {
                moves.len()
            };
            let m = moves[numbers.below(choices)];
            write!(
                text,
                "{} ",
                SanPlus::from_move_and_play_unchecked(&mut position, m)
            )
            .unwrap();
            if position.is_game_over() {
                break;
            }
        }
        writeln!(text, "{result}\n").unwrap();
    }
    text
}

fn cbfs(arguments: &[&str], cache: &Path) -> Output {
    let mut command = Command::new(CBFS);
    let command = command.env("XDG_CACHE_HOME", cache).args(arguments);
    command.output().unwrap()
}

struct Case {
    folder: TempDir,
    base: PathBuf,
}

impl Case {
    fn of(pgn: &str) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let case = Case {
            base: folder.path().join("b.cbh"),
            folder,
        };
        case.import(pgn);
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn import(&self, pgn: &str) {
        let file = self.path("new.pgn");
        fs::write(&file, pgn).unwrap();
        let mut arguments = vec!["import", "-q", self.base.to_str().unwrap()];
        arguments.extend(file.to_str());
        arguments.extend((!self.base.exists()).then_some("--create"));
        let imported = cbfs(&arguments, self.folder.path());
        assert!(imported.status.success(), "{imported:?}");
    }
}

fn opened(path: &Path) -> Box<dyn Base> {
    base::open(path, &Options::default()).unwrap()
}

fn write(base: &dyn Base, path: &Path) {
    let folder = path.parent().unwrap();
    let made = NewSegment::make(&Searched(base), folder, &mut |_| true);
    made.unwrap().unwrap().keep(path, 7).unwrap();
}

/// The positions of some games with their variations, and some that none reaches.
fn positions(base: &dyn Base, numbers: &mut Numbers) -> Vec<Position> {
    let mut all = vec![Position::default()];
    let mut decoded = Decoded::default();
    for _ in 0..6 {
        let id = GameId(1 + numbers.below(base.last_id() as usize) as u32);
        if base.read_game(id, &mut decoded).is_err() {
            continue;
        }
        let (tree, start) = (&decoded.game.tree, &decoded.game.start.position);
        let mut open = vec![(PlyId::START, start.clone())];
        while let Some((at, position)) = open.pop() {
            let mut next = tree.first_child(at);
            while let Some(id) = next {
                let mut after = position.clone();
                match tree.ply(id).unwrap().mv {
                    Some(m) => drop(after.play(m).unwrap()),
                    None => after.play_null(),
                }
                open.push((id, after));
                next = tree.next_sibling(id);
            }
            all.push(position);
        }
        all.last_mut().unwrap().play_null();
    }
    let mut seen = BTreeSet::new();
    all.retain(|position| seen.insert(position.key()));
    all
}

fn search(base: &dyn Base, position: &Position, in_variations: bool) -> Reached {
    let source = Searched(base);
    let filter = Filter::new(&Query::default(), &source).unwrap();
    let mut reached = Reached::default();
    scan(
        &source,
        &filter,
        &Counter::new(position, in_variations),
        &mut |told| {
            if let ScanEvent::Piece(piece) = told {
                reached.add(piece);
            }
            Ok(())
        },
    )
    .unwrap();
    reached
}

/// The index answers as a search does; how many positions were asked for.
fn agree(base: &dyn Base, file: &Path, numbers: &mut Numbers) -> usize {
    let all = positions(base, numbers);
    for in_variations in [false, true] {
        let index = index_of(base, file, in_variations);
        agree_in(base, &index, in_variations, &all);
    }
    all.len()
}

fn agree_in(base: &dyn Base, index: &PositionTable, in_variations: bool, all: &[Position]) {
    let source = Searched(base);
    for position in all {
        let expected = search(base, position, in_variations);
        let played = index.played(position, &source, None).unwrap();
        assert_eq!(played.here, expected.played.here, "{position:?}");
        assert_eq!(played.table(position), expected.played.table(position));
        let games = index.games(position, &source, None).unwrap();
        assert_eq!(games, expected.games, "{position:?}");
        let some = games.from(0).step_by(2).collect();
        let few = index.games(position, &source, Some(&some)).unwrap();
        assert_eq!(few, some, "{position:?}");
        let played = index.played(position, &source, Some(&some)).unwrap();
        assert_eq!(played.here.games, some.count());
    }
}

fn index_of(base: &dyn Base, path: &Path, in_variations: bool) -> PositionTable {
    let (source, segment) = (Searched(base), Arc::new(Segment::open(path).unwrap()));
    let changed = segment.changed(&source, usize::MAX, &|| true);
    let changed = changed.unwrap().unwrap();
    let index = PositionTable::of_segment(&segment, &source, &changed, in_variations);
    index.unwrap().unwrap()
}

#[test]
fn a_file_answers_as_a_search_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut numbers = Numbers::of(5);
    let mut asked = 0;
    for path in fixture_bases() {
        let base = opened(&path);
        let file = folder.path().join("index");
        write(base.as_ref(), &file);
        asked += agree(base.as_ref(), &file, &mut numbers);
    }
    assert!(asked > 100, "{asked}");
}

#[test]
fn a_file_answers_for_what_the_base_became() {
    let mut numbers = Numbers::of(6);
    let case = Case::of(&pgn(800, &mut numbers));
    let file = case.path("index");
    write(opened(&case.base).as_ref(), &file);
    let check = |numbers: &mut Numbers| {
        let base = opened(&case.base);
        agree(base.as_ref(), &file, numbers);
        // As it was written it does not answer for what came later.
        let source = Searched(base.as_ref());
        let segment = Segment::open(&file).unwrap();
        segment
            .changed(&source, usize::MAX, &|| true)
            .unwrap()
            .unwrap()
            .count()
    };
    assert_eq!(check(&mut numbers), 0);
    case.import(&pgn(30, &mut numbers));
    assert_eq!(check(&mut numbers), 30);
    // Other programs delete games, change results, and write other moves.
    let mut headers = fs::read(&case.base).unwrap();
    for game in [3, 400, 799] {
        headers[game * 46] |= 0x80;
    }
    for game in [4, 401, 798] {
        headers[game * 46 + 27] = (headers[game * 46 + 27] + 1) % 3;
    }
    fs::write(&case.base, &headers).unwrap();
    assert_eq!(check(&mut numbers), 36);
    let (one, other) = (5 * 46, 600 * 46);
    for at in 1..5 {
        headers.swap(one + at, other + at);
    }
    fs::write(&case.base, &headers).unwrap();
    assert_eq!(check(&mut numbers), 38);
}

/// Brings the file up to date; how many games had changed.
fn merge(base: &dyn Base, path: &Path) -> u32 {
    let (source, old) = (Searched(base), Segment::open(path).unwrap());
    let changed = old.changed(&source, usize::MAX, &|| true);
    let folder = path.parent().unwrap();
    let made = NewSegment::make_from(&old, &source, folder, &mut |_| true);
    made.unwrap().unwrap().keep(path, 7).unwrap();
    let new = Segment::open(path).unwrap();
    assert_ne!(new.id(), old.id());
    let left = new.changed(&source, usize::MAX, &|| true);
    assert_eq!(left.unwrap().unwrap().count(), 0);
    changed.unwrap().unwrap().count()
}

#[test]
fn a_file_takes_in_what_changed() {
    let mut numbers = Numbers::of(12);
    let case = Case::of(&pgn(300, &mut numbers));
    let file = case.path("index");
    write(opened(&case.base).as_ref(), &file);
    let mut all = 0;
    for round in 0..3 {
        match round {
            0 => case.import(&pgn(40, &mut numbers)),
            1 => {
                // What few games reached many do now.
                let number = format!("number:{}", 1 + numbers.below(300));
                let arguments = ["find", case.base.to_str().unwrap(), &number, "--pgn"];
                let text = cbfs(&arguments, case.folder.path()).stdout;
                case.import(&String::from_utf8(text).unwrap().repeat(40));
            }
            _ => {
                let mut headers = fs::read(&case.base).unwrap();
                for _ in 0..15 {
                    let [one, other] = [1, 2].map(|_| (1 + numbers.below(300)) * 46);
                    (1..5).for_each(|at| headers.swap(one + at, other + at));
                    headers[(1 + numbers.below(300)) * 46] ^= 0x80;
                    let at = (1 + numbers.below(300)) * 46 + 27;
                    headers[at] = (headers[at] + 1) % 3;
                }
                fs::write(&case.base, &headers).unwrap();
            }
        }
        let base = opened(&case.base);
        let changed = merge(base.as_ref(), &file);
        assert!((20..=80).contains(&changed), "{changed}");
        all += changed;
        agree(base.as_ref(), &file, &mut numbers);
    }
    assert!(all > 100, "{all}");
}

#[test]
fn variations_of_games_that_changed_are_taken_in() {
    let mut numbers = Numbers::of(13);
    let of = |move_text: &str, games: usize| {
        format!("[Event \"E\"]\n[Result \"*\"]\n\n{move_text} *\n\n").repeat(games)
    };
    let few = of("1. e4 (1. d4 d5 2. c4) 1... e5", 20) + &of("1. c4 (1. d4 f5)", 60);
    let case = Case::of(&(few + &pgn(100, &mut numbers)));
    let file = case.path("index");
    write(opened(&case.base).as_ref(), &file);
    for more in [
        of("1. b3 (1. d4 d5 2. c4 e6)", 40),
        of("1. d4 d5 2. c4 (2. Nf3)", 12) + &of("1. d4 (1. e4 e5)", 50),
    ] {
        case.import(&more);
        let base = opened(&case.base);
        merge(base.as_ref(), &file);
        agree(base.as_ref(), &file, &mut numbers);
        let all: Vec<_> = [["d4", "d5", "c4", "e6"], ["e4", "e5", "f3", "f6"]]
            .iter()
            .flat_map(|line| (0..=4).map(|count| after(&line[..count])))
            .collect();
        for in_variations in [false, true] {
            let index = index_of(base.as_ref(), &file, in_variations);
            agree_in(base.as_ref(), &index, in_variations, &all);
        }
    }
}

/// The position after these moves.
fn after(moves: &[&str]) -> Position {
    let mut position = Position::default();
    let mut rules = Chess::default();
    for san in moves {
        let m = san.parse::<SanPlus>().unwrap().san.to_move(&rules).unwrap();
        rules.play_unchecked(m);
        position.play(m).unwrap();
    }
    position
}

/// Games of any length, with captures and promotions.
fn long_pgn(games: u32, numbers: &mut Numbers) -> String {
    let mut text = String::new();
    for _ in 0..games {
        writeln!(text, "[Event \"E\"]\n[Result \"*\"]\n").unwrap();
        let mut position = Chess::default();
        for _ in 0..numbers.below(200) {
            let moves = position.legal_moves();
            if moves.is_empty() {
                break;
            }
            let taking: Vec<_> = moves
                .iter()
                .filter(|m| m.is_capture() || m.is_promotion())
                .collect();
            let m = match numbers.one_of(&taking) {
                Some(m) if numbers.below(2) == 0 => *m,
                _ => moves[numbers.below(moves.len())],
            };
            let san = SanPlus::from_move_and_play_unchecked(&mut position, m);
            write!(text, "{san} ").unwrap();
        }
        writeln!(text, "*\n").unwrap();
    }
    text
}

/// Terms about what stands on the board at some moment of a game.
fn terms_of_a_moment(base: &dyn Base, numbers: &mut Numbers) -> Vec<String> {
    let mut decoded = Decoded::default();
    let id = GameId(1 + numbers.below(base.last_id() as usize) as u32);
    if base.read_game(id, &mut decoded).is_err() {
        return Vec::new();
    }
    let mut position = decoded.game.start.position.clone();
    let line: Vec<_> = decoded.game.tree.main_line().collect();
    for id in &line[..numbers.below(line.len() + 1)] {
        match decoded.game.tree.ply(*id).unwrap().mv {
            Some(m) => drop(position.play(m).unwrap()),
            None => position.play_null(),
        }
    }
    let board = position.board().clone();
    let occupied = board.occupied().into_iter();
    let pieces: Vec<_> = occupied
        .map(|square| (square, board.piece_at(square).unwrap()))
        .collect();
    let mut squares: Vec<String> = (0..=numbers.below(3))
        .map(|_| {
            let (square, piece) = pieces[numbers.below(pieces.len())];
            format!("{}{square}", piece.char())
        })
        .collect();
    let empty = shakmaty::Square::new(numbers.below(64) as u32);
    if board.piece_at(empty).is_none() && numbers.below(2) == 0 {
        squares.push(format!("-{empty}"));
    }
    let army = |side| -> String {
        let of = |role: shakmaty::Role| {
            let count = (board.by_role(role) & board.by_color(side)).count();
            role.upper_char().to_string().repeat(count)
        };
        let roles = shakmaty::Role::ALL.into_iter().rev();
        roles.map(of).collect()
    };
    let [white, black] = [shakmaty::Color::White, shakmaty::Color::Black].map(army);
    let stars = [["", ""], ["*", ""], ["", "*"]][numbers.below(3)];
    vec![
        format!("squares:{}", squares.join(",")),
        format!("not-squares:{}", squares[0]),
        format!("material:{white}{}{black}{}", stars[0], stars[1]),
    ]
}

#[test]
fn squares_and_material_are_those_of_a_search() {
    let mut numbers = Numbers::of(15);
    let case = Case::of(&long_pgn(25, &mut numbers));
    let file = case.path("index");
    let (mut found, mut spared) = (0, 0);
    write(opened(&case.base).as_ref(), &file);
    for round in 0..3 {
        let base = opened(&case.base);
        if round == 2 {
            merge(base.as_ref(), &file);
        }
        let source = Searched(base.as_ref());
        let index = index_of(base.as_ref(), &file, false);
        for _ in 0..6 {
            for term in terms_of_a_moment(base.as_ref(), &mut numbers) {
                let query = Query::parse(std::slice::from_ref(&term)).unwrap();
                let mut filter = Filter::new(&query, &source).unwrap();
                let expected = select(&source, &filter).unwrap().games;
                let all = filter.bytes();
                filter.ask_index(&index, &source).unwrap();
                spared += u32::from(filter.bytes() > all);
                assert_eq!(select(&source, &filter).unwrap().games, expected, "{term}");
                found += expected.count();
            }
        }
        if round < 2 {
            case.import(&long_pgn(5, &mut numbers));
        }
    }
    assert!(found > 100 && spared > 40, "{found} {spared}");
}

#[test]
fn masks_of_games_that_begin_otherwise_are_those_of_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let mut numbers = Numbers::of(16);
    for path in fixture_bases() {
        let base = opened(&path);
        let source = Searched(base.as_ref());
        let file = folder.path().join("index");
        write(base.as_ref(), &file);
        let index = index_of(base.as_ref(), &file, false);
        for _ in 0..4 {
            for term in terms_of_a_moment(base.as_ref(), &mut numbers) {
                let Ok(query) = Query::parse(std::slice::from_ref(&term)) else {
                    continue;
                };
                let mut filter = Filter::new(&query, &source).unwrap();
                let expected = select(&source, &filter).unwrap().games;
                filter.ask_index(&index, &source).unwrap();
                assert_eq!(
                    select(&source, &filter).unwrap().games,
                    expected,
                    "{path:?} {term}"
                );
            }
        }
    }
}

#[test]
fn a_file_of_which_too_much_changed_is_made_anew() {
    let mut numbers = Numbers::of(14);
    let case = Case::of(&pgn(100, &mut numbers));
    let cache = case.path("cache");
    let base = case.base.to_str().unwrap();
    assert!(cbfs(&["index", "-q", base], &cache).status.success());
    let find = || {
        let files = fs::read_dir(cache.join("cbfs")).unwrap();
        let mut files = files.map(|file| file.unwrap().path());
        files.find(|file| file.extension().is_some_and(|end| end == "positions"))
    };
    case.import(&pgn(1500, &mut numbers));
    for round in 0..3 {
        assert!(cbfs(&["index", "-q", base], &cache).status.success());
        let file = find().unwrap();
        let base = opened(&case.base);
        let all = [after(&["a3"]), after(&["a4", "a5"]), Position::default()];
        let index = index_of(base.as_ref(), &file, false);
        agree_in(base.as_ref(), &index, false, &all);
        // A file that is damaged, or cut, is not taken over.
        let mut bytes = fs::read(&file).unwrap();
        match round {
            0 => bytes[3 * 4096 + 5] ^= 1,
            _ => bytes.truncate(bytes.len() / 2),
        }
        fs::write(&file, bytes).unwrap();
    }
}

#[test]
fn a_file_of_another_base_or_too_old_is_not_used_and_never_wrong() {
    let mut numbers = Numbers::of(7);
    let case = Case::of(&pgn(300, &mut numbers));
    let other = Case::of(&pgn(300, &mut numbers));
    let file = case.path("index");
    write(opened(&other.base).as_ref(), &file);
    let base = opened(&case.base);
    agree(base.as_ref(), &file, &mut numbers);
    let segment = Segment::open(&file).unwrap();
    let changed = segment.changed(&Searched(base.as_ref()), 100, &|| true);
    assert!(changed.unwrap().is_none());
}

#[test]
fn a_file_that_is_cut_or_has_another_byte_is_an_error() {
    let mut numbers = Numbers::of(8);
    let case = Case::of(&pgn(400, &mut numbers));
    let (file, bad) = (case.path("index"), case.path("bad"));
    let base = opened(&case.base);
    let source = Searched(base.as_ref());
    write(base.as_ref(), &file);
    let good = fs::read(&file).unwrap();
    let asked = positions(base.as_ref(), &mut numbers);
    let expected: Vec<_> = asked
        .iter()
        .map(|one| search(base.as_ref(), one, false))
        .collect();
    let mut refused = 0;
    for round in 0..200 {
        let mut bytes = good.clone();
        let at = numbers.below(good.len());
        if round % 2 == 0 {
            bytes[at] ^= 1 << numbers.below(8);
        } else {
            bytes.truncate(at);
        }
        fs::write(&bad, &bytes).unwrap();
        fs::set_permissions(&bad, fs::metadata(&file).unwrap().permissions()).unwrap();
        // As whoever trusts the state of the files.
        let index = Segment::open(&bad).map_err(Into::into).and_then(|segment| {
            PositionTable::of_segment(&Arc::new(segment), &source, &GameSet::default(), false)
        });
        let Ok(Some(index)) = index else {
            refused += 1;
            continue;
        };
        for (position, expected) in asked.iter().zip(&expected).step_by(7) {
            match index.played(position, &source, None) {
                Ok(played) => assert_eq!(played.table(position), expected.played.table(position)),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 120, "{refused}");
}

#[test]
fn nothing_is_left_of_a_file_that_was_not_kept() {
    let case = Case::of(&pgn(600, &mut Numbers::of(9)));
    let folder = case.path("cache");
    fs::create_dir(&folder).unwrap();
    let base = opened(&case.base);
    for stop in 1..4 {
        let mut left = stop;
        let made = NewSegment::make(&Searched(base.as_ref()), &folder, &mut |_| {
            left -= 1;
            left > 0
        });
        assert!(made.unwrap().is_none(), "{stop}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
    assert!(Searched(base.as_ref()).last() == 600);
}

#[test]
fn find_asks_the_index_and_needs_none() {
    let mut numbers = Numbers::of(10);
    let case = Case::of(&pgn(500, &mut numbers));
    let (cache, base) = (case.path("cache"), case.base.to_str().unwrap());
    let run = |arguments: &[&str]| {
        let output = cbfs(arguments, &cache);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let trees = || {
        let questions: [&[&str]; 4] = [
            &["--tree"],
            &["result:1-0", "--tree"],
            &[
                "--tree",
                "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_KQkq_-",
            ],
            &["in:deleted", "year:1950-", "--tree"],
        ];
        questions.map(|words| run(&[&["find", base], words].concat()))
    };
    let expected = trees();
    assert!(
        expected
            .iter()
            .all(|(code, table, _)| *code == Some(0) && table.lines().count() > 1)
    );
    assert_eq!(run(&["index", "--status", base]).0, Some(1));
    assert_eq!(
        run(&["index", base]),
        (Some(0), String::new(), String::new())
    );
    let (code, status, _) = run(&["index", "--status", base]);
    assert!(
        code == Some(0) && status.ends_with("bytes, in use\n"),
        "{status}"
    );
    assert_eq!(trees(), expected);
    let mut files = fs::read_dir(cache.join("cbfs")).unwrap();
    // Beside it lie its masks.
    let file = files.find_map(|file| {
        let path = file.unwrap().path();
        let is_index = path.extension().is_none_or(|kind| kind != "masks");
        is_index.then_some(path)
    });
    let file = file.unwrap();
    // Where it lies: what is wrong with it is no matter of who asks.
    let good = fs::read(&file).unwrap();
    for bytes in [&good[..100], &good[..good.len() - 4096], b"", &[0; 9000]] {
        fs::write(&file, bytes).unwrap();
        assert_eq!(run(&["index", "--status", base]).0, Some(1));
        assert_eq!(trees(), expected);
    }
    // That of another base is of no use, and said to be none.
    let other = Case::of(&pgn(500, &mut numbers));
    write(opened(&other.base).as_ref(), &file);
    assert_eq!(run(&["index", "--status", base]).0, Some(1));
    assert_eq!(trees(), expected);
    assert_eq!(run(&["index", base]).0, Some(0));
    case.import(&pgn(5, &mut numbers));
    let with = trees();
    assert_ne!(with, expected);
    assert_eq!(run(&["index", "--delete", base]).0, Some(0));
    assert!(!file.exists());
    assert_eq!(trees(), with);
}
