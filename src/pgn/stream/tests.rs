use std::io::BufReader;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::game::Game;

fn sections(text: &[u8], at_once: usize) -> Vec<Section> {
    let reader = BufReader::with_capacity(at_once, text);
    Sections::new(reader).map(Result::unwrap).collect()
}

fn shown(text: &str) -> Vec<(usize, String)> {
    let whole = sections(text.as_bytes(), 1 << 16);
    for at_once in [1, 2, 3, 7] {
        assert_eq!(sections(text.as_bytes(), at_once), whole, "{at_once}");
    }
    let joined: Vec<u8> = whole.iter().flat_map(|part| part.text.clone()).collect();
    assert_eq!(joined, text.as_bytes());
    whole
        .into_iter()
        .map(|part| (part.line, String::from_utf8(part.text).unwrap()))
        .collect()
}

fn lines(text: &str) -> Vec<usize> {
    shown(text).into_iter().map(|(line, _)| line).collect()
}

const PAGE: InPage = InPage {
    page: EightBitPage::WESTERN,
    rival: None,
    trust: Trust::Guessed,
};

const GAME: &str = "[Event \"A\"]\n[Site \"B\"]\n\n1. e4 e5 *\n\n";

#[test]
fn a_section_begins_with_each_first_tag_pair_after_moves() {
    let text = GAME.repeat(3);
    assert_eq!(shown(&text)[1], (6, GAME.to_owned()));
    assert_eq!(lines(&text), [1, 6, 11]);
    assert_eq!(lines(&text.replace('\n', "\r\n")), [1, 6, 11]);
    assert_eq!(lines(&text.replace('\n', "\r")), [1, 6, 11]);
    assert_eq!(lines(&format!("\u{feff}{text}")), [1, 6, 11]);
    assert_eq!(lines(text.trim_end()), [1, 6, 11]);
    assert_eq!(lines(""), [0; 0]);
    assert_eq!(shown("").len(), 0);
}

#[test]
fn a_line_that_passes_is_read_as_every_other() {
    const LINES: [&str; 14] = [
        "[Event \"A\"]\n",
        "[Site \"[B]\"]\r\n",
        "[White \"C\"]\n",
        "[WhiteElo \"2700\"] \n",
        "[Broken \"no end\n",
        "[Other \"a\\\"b\"]\n",
        "\n",
        "1. e4 e5 *\n",
        "2. Nf3 1-0\r\n",
        "{ words\n",
        "more } ; words\n",
        "% escaped\n",
        "> Nf3 é\n",
        "end\"]\n",
    ];
    let mut passed = [false; LINES.len()];
    for mut choice in 0..LINES.len().pow(4) {
        let (mut state, mut text) = (ScanState::default(), String::new());
        for _ in 0..4 {
            let (at, line) = (choice % LINES.len(), LINES[choice % LINES.len()]);
            choice /= LINES.len();
            let start = text.len();
            text.push_str(line);
            let (line, text) = (line.as_bytes(), text.as_bytes());
            let mut quick = state;
            let passes = quick.passes(line, text.len());
            if passes {
                passed[at] = true;
                assert!(state.games_begun_within(line).is_empty());
                assert!(!state.begins_game(line, text));
                assert!(state.may_begin_game(line, text, start).is_none());
            }
            state.look_at(line, text.len());
            state.look_behind(text);
            if passes {
                let text = String::from_utf8_lossy(text);
                assert_eq!(format!("{quick:?}"), format!("{state:?}"), "{text}");
            }
        }
    }
    let expected = [0, 1, 2, 7, 8, 13];
    assert_eq!(
        passed,
        std::array::from_fn(|at| expected.contains(&at)),
        "lines of the list that pass"
    );
}

#[test]
fn the_longest_comment_or_tag_has_its_place() {
    for (text, place) in [
        (
            "[A \"b\"]\n\n1. e4 {a}\ne5 \u{e9} {longer than this} {x} *\n",
            (4, 6),
        ),
        ("{x}\n[A \"longer than this\"]\r\n{y [z]} *\n", (2, 1)),
    ] {
        let section = &sections(text.as_bytes(), 64)[0];
        let game = Extent {
            bytes: 0..text.len(),
            line: 1,
        };
        assert_eq!(section.place_of_longest(&game), Some(place), "{text}");
    }
}

#[test]
fn players_behind_an_empty_line_are_those_of_the_next_game() {
    let first = "[White \"A\"]\n[Black \"B\"]\n[Result \"1-0\"]\n";
    let players = "[White \"C\"]\n[Black \"D\"]\n\n1. e4 *\n";
    for (between, line) in [
        ("\n[Site \"S\"]\n", 5),
        ("\n[ECO \"C20\"]\n[WhiteTitle \"GM\"]\n", 5),
        ("\n\n\n[Event \"E\"]\n[Date \"?\"]\n", 7),
        ("\n{moves lost}\n\n[Event \"E\"]\n", 7),
    ] {
        let text = format!("{first}{between}{players}");
        assert_eq!(lines(&text), [1, line], "{text}");
    }
    // More of the same game.
    for more in ["\n[Site \"S\"]\n", "\n[ECO \"C20\"]\n[Event \"E\"]\n"] {
        assert_eq!(lines(&format!("{first}{more}\n1. e4 *\n")), [1], "{more}");
    }
}

#[test]
fn a_second_start_behind_an_empty_line_is_that_of_the_next_game() {
    let start = |row| format!("[FEN \"8/8/8/8/8/{row}/8/k6Q w - - 0 1\"]\n");
    let (first, next) = (start("1K6"), start("2K5"));
    for (between, line) in [
        ("\n", 3),
        ("\n[SetUp \"1\"]\n", 3),
        ("\n{Mate in one}\n", 4),
        ("\n[Title \"B\"]\n[SetUp \"1\"]\n", 3),
    ] {
        let text = format!("{first}{between}{next}\n1. Qa8 *\n");
        assert_eq!(lines(&text), [1, line], "{text}");
    }
    // One game that has it twice.
    assert_eq!(lines(&format!("{first}{next}\n1. Qa8 *\n")), [1]);
    assert_eq!(lines(&format!("{first}\n1. Qa8\n{next} *\n")), [1]);
}

#[test]
fn comments_behind_a_result_belong_to_the_next_game_after_an_empty_line() {
    let first = "[Event \"A\"]\n\n1. e4 e5 1-0\n";
    for (between, line) in [
        ("{time}\n\n", 6),
        ("; time\n", 5),
        ("{time,\n\nlost}\n{by\nme}\n\n", 10),
        ("{time}\n\n{Next}\n", 5),
        ("{time}\r\n\r\n{Next}\r\n", 5),
        ("\n{Next}\n", 4),
        ("{Next\n} ", 4),
    ] {
        let text = format!("{first}{between}[Event \"B\"]\n\n1. d4 *\n");
        assert_eq!(lines(&text), [1, line], "{text}");
    }
}

#[test]
fn a_game_begins_behind_whatever_else_is_on_its_line() {
    let first = "[Event \"A\"]\n[White \"B\"]\n\n1. e4 e5 1-0";
    let next = "[Event \"C\"]\n[White \"D\"]\n\n1. d4 *\n";
    // What files that were joined have between them, or programs write there.
    for (between, line) in [
        ("\n\n\u{feff}", 6),
        ("\n\u{feff}\u{feff}", 5),
        ("\n\u{1a}", 5),
        ("\n\0\u{200b}\u{a0}", 5),
        ("", 4),
        (" ", 4),
        (" {End} ", 4),
        ("\n\n{Next} ", 5),
        ("\n{a\nb} ", 5),
    ] {
        let text = format!("{first}{between}{next}");
        let shown = shown(&text);
        let [_, (begins_in, second)] = shown.as_slice() else {
            panic!("{shown:?}");
        };
        assert!(second.ends_with(next), "{second}");
        assert_eq!(*begins_in, line, "{between:?}");
    }
    // All on one line, as text from the web is.
    let on_one = |text: &str| text.replace('\n', " ");
    let text = format!("{}{}", on_one(&format!("{first}\n{next}").repeat(3)), "\n");
    let games: Vec<_> = shown(&text).into_iter().map(|(_, text)| text).collect();
    assert_eq!(games.len(), 6, "{games:?}");
    assert_eq!(games[0], on_one(&format!("{first}\n")));
    // No game: a tag in a comment or in a value, one amid moves.
    for text in [
        "[Event \"A\"]\n\n1. e4 {[Event \"B\"]} e5 ;[Event \"C\"]\n2. Nf3 *\n",
        "[Event \"[Event \\\"A\\\"] 1. e4\"]\n\n1. e4 *\n",
        "[Event \"A\"]\n\n1. e4 [White \"B\"] e5 *\n",
    ] {
        assert_eq!(shown(text).len(), 1, "{text}");
    }
}

#[test]
fn a_line_of_many_games_takes_linear_time() {
    let line = "[Event \"A\"] 1. e4 * ".repeat(100_000);
    let started = std::time::Instant::now();
    assert_eq!(sections(line.as_bytes(), 1 << 16).len(), 100_000);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn a_game_of_tags_only_takes_no_other_with_it() {
    let tags = "[Event \"A\"]\n[White \"B\"]\n[Result \"*\"]\n";
    for (text, expected) in [
        (format!("{tags}\n\n{GAME}"), vec![1, 6]),
        (format!("{tags}\n{tags}\n{tags}"), vec![1, 5, 9]),
        (format!("{GAME}{tags}\n{GAME}"), vec![1, 6, 10]),
        (format!("{tags}\n{{nothing}}\n\n{GAME}"), vec![1, 7]),
        // No empty line: a second tag Event, and another one twice.
        (format!("{tags}{tags}\n"), vec![1, 4]),
        (format!("{tags}{}", tags.repeat(2)), vec![1, 4, 7]),
        (
            format!("{tags}[Event \"B\"]\n[ECO \"A00\"]\n[White \"C\"]\n\n1. e4 *\n"),
            vec![1, 4],
        ),
        // One of tags in another order, or with one twice.
        (
            format!("{tags}[Event \"B\"]\n[Black \"C\"]\n\n1. e4 *\n"),
            vec![1],
        ),
        (
            format!("{tags}[Event \"B\"]\n\n1. e4 *\n{GAME}"),
            vec![1, 7],
        ),
        // Tags apart from the others belong to them.
        (format!("[ECO \"A00\"]\n\n{GAME}"), vec![1]),
        (
            "[Event \"A\"]\n\n[Site \"B\"]\n\n1. e4 *".to_owned(),
            vec![1],
        ),
        ("[Event \"A\"]\n[Event \"A\"]\n1. e4 *".to_owned(), vec![1]),
    ] {
        assert_eq!(lines(&text), expected, "{text}");
        assert_eq!(lines(&text.replace('\n', "\r\n")), expected, "{text}");
    }
}

#[test]
fn a_tag_in_another_form_begins_a_game_right_below_a_result() {
    for tag in ["[White z]", "[X:Y \"1\"]", "[my-tag \"1\"]"] {
        let text = format!("[Event \"A\"]\n\n1. d4 1-0\n{tag}\n[Event \"L\"]\n\n1. e4 0-1\n");
        assert_eq!(lines(&text), [1, 4], "{tag}");
    }
    for moves in ["1. d4", "1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. 0-0 0-0"] {
        let amid =
            format!("[Event \"A\"]\n\n{moves}\n[my-tag \"1\"]\n[White could go on]\nd5 1-0\n");
        assert_eq!(lines(&amid), [1], "{moves}");
    }
}

#[test]
fn an_escaped_line_is_none_behind_the_mark_of_a_text_too() {
    let text = format!("\u{feff}% 1. d4 of x\n{GAME}");
    let games = read_in_both_ways(&text);
    let games: Vec<_> = games.iter().map(|(line, _, game)| (*line, game)).collect();
    assert_eq!(games, [(2, &Ok("A".to_owned()))]);
}

#[test]
fn a_broken_tag_pair_takes_no_game_apart() {
    for tag in [
        "[Foo-Bar \"x\"]",
        "[White Carlsen]",
        "[White \"Carlsen]",
        "[White \"Carlsen\"",
        "[White 'x']",
        "[White \"x\n y\"]",
    ] {
        let text = GAME.replace("[Site \"B\"]", tag).repeat(2);
        let more = tag.lines().count() - 1;
        assert_eq!(lines(&text), [1, 6 + more], "{tag}");
        let first = format!("{tag}\n{GAME}").repeat(2);
        assert_eq!(lines(&first), [1, 7 + more], "{tag}");
    }
    let lacking = "[Event \"A\"]\nSite \"B\"]\n[White \"x\"]\n\n1. e4 e5 *\n\n";
    assert_eq!(lines(&lacking.repeat(2)), [1, 7]);
    // Amid the moves no game begins.
    for moves in [
        "1. e4\n[Foo \"x\"]\ne5 *",
        "1. e4\n[Foo x]\ne5 *",
        "1. e4\n\n[d4 d5]\ne5 *",
    ] {
        let text = format!("[Event \"A\"]\n\n{moves}\n\n{GAME}");
        assert_eq!(lines(&text).len(), 2, "{moves}");
    }
}

#[test]
fn a_tag_pair_in_a_comment_starts_no_game() {
    for comment in [
        "{\n[Event \"x\"]\n}",
        "{a\n\n[Event \"x\"]\nb}",
        "{a\n\n[White \"x\"]\n[Black \"x\"]\nb}",
        "{ a } {\n[Event \"x\"]}",
        "; { \n",
        "[%cal Ge2e4]",
    ] {
        let text = format!("[Event \"A\"]\n1. e4 {comment} e5 *\n{GAME}");
        assert_eq!(lines(&text).len(), 2, "{comment}");
    }
}

#[test]
fn comments_and_escaped_lines_before_the_tags_belong_to_them() {
    let text = format!("{GAME}{{a}}\n{GAME}");
    assert_eq!(lines(&text), [1, 5]);
    let beside = GAME.replace('*', "* {a\nb} {c}\n") + "{d}\n% e\n" + GAME;
    assert_eq!(lines(&beside), [1, 6]);
    let open = GAME.replace('*', "{a}\n\n{b}") + GAME;
    assert_eq!(lines(&open), [1, 8]);
    assert_eq!(lines(&format!("{{a}}\n% 1. e4\n; b\n{GAME}{GAME}")), [1, 9]);
}

#[test]
fn games_on_one_line_and_games_without_tags_are_all_read() {
    let line = "[Event \"A\"] [Site \"{\"] 1. e4 *\n";
    assert_eq!(lines(&line.repeat(3)), [1, 2, 3]);
    let text = format!("{GAME}1. d4 *\n\n1. c4 *\n{GAME}");
    let sections = sections(text.as_bytes(), 100);
    let games: Vec<usize> = sections.iter().map(|part| part.games().count()).collect();
    assert_eq!(games, [3, 1]);
}

#[test]
fn an_error_has_its_place_in_the_whole_text() {
    for end in ["\n", "\r\n", "\r"] {
        let text = format!("{GAME}{GAME}{}", GAME.replace("e5", "Nf33")).replace('\n', end);
        let sections = sections(text.as_bytes(), 10);
        let error = sections[2].games().next().unwrap().unwrap_err();
        assert_eq!((error.line, error.column), (14, 7), "{error}");
    }
}

#[test]
fn it_is_told_where_a_text_is_no_utf8() {
    let mut text = GAME.repeat(2).replace("1. e4", "1. é4").into_bytes();
    assert!(
        sections(&text, 10)
            .iter()
            .all(|part| part.not_utf8().is_none())
    );
    let at = text.iter().rposition(|&byte| byte == b'4').unwrap();
    text[at] = 0xe9;
    let places: Vec<_> = sections(&text, 10).iter().map(Section::not_utf8).collect();
    assert_eq!(places, [None, Some((9, 5))]);
}

#[test]
fn a_game_that_is_too_long_is_given_in_parts_and_ends_before_the_next() {
    for (filler, end) in [("x", "\n"), ("x\r\n", "\r\n"), ("\n", "\n")] {
        let long = filler.repeat(3 * MAX_BYTES / (2 * filler.len()));
        let bad = format!("[Site \"A\"]\n1. e4 {{{long}");
        let text = format!("{GAME}{bad}\n\n{GAME}")
            .replace("\r\n", "\n")
            .replace('\n', end);
        let read = sections(text.as_bytes(), 1000);
        let parts: Vec<GamePart> = read.iter().map(|section| section.part).collect();
        let (first, rest) = parts.split_at(2);
        assert_eq!(first, [GamePart::Whole, GamePart::Begin]);
        let (middle, last) = rest.split_at(rest.len() - 2);
        assert_eq!(last, [GamePart::End, GamePart::Whole]);
        assert!(middle.len() > 6 && middle.iter().all(|part| *part == GamePart::Middle));
        let longest = read.iter().map(|section| section.text.len()).max();
        assert!(longest <= Some(MAX_BYTES + 2000), "{longest:?}");
        let joined: Vec<&[u8]> = read.iter().map(|section| &section.text[..]).collect();
        assert!(joined.concat() == text.as_bytes());
        assert_eq!(read[1].too_long().map(|error| error.line), Some(6));
        let line = text.split_inclusive(end).count() - 4;
        assert_eq!(read.last().map(|section| section.line), Some(line));
    }
}

#[test]
fn a_comment_that_never_ends_takes_no_other_game_with_it() {
    let bad = GAME.replace("e5 *", "{never");
    let text = format!("{GAME}{bad}{GAME}{bad}{GAME}{GAME}");
    assert_eq!(lines(&text), [1, 6, 11, 16, 21, 26]);
    assert_eq!(lines(&text.replace('\n', "\r\n")), [1, 6, 11, 16, 21, 26]);
    // A brace behind the next game does not end it; any other tag pair begins no
    // game in a comment that ends.
    assert_eq!(lines(&format!("{bad}{GAME}}} *\n\n{GAME}")), [1, 6, 13]);
    let site = GAME.replace("Event", "Round");
    assert_eq!(lines(&format!("{bad}{site}}} *\n\n{GAME}")), [1, 13]);
    let long = GAME.repeat(MAX_BYTES / GAME.len() + 1);
    let text = format!("{bad}{long}");
    let read = Sections::new(text.as_bytes()).map(Result::unwrap);
    let found: Vec<usize> = read.map(|section| section.line).collect();
    assert_eq!(found.len(), 1 + MAX_BYTES / GAME.len() + 1);
    assert_eq!(found.last(), Some(&(5 * found.len() - 4)));
}

/// The line, the text and the event of each game, or what is wrong with it: read by all
/// cores as by one.
fn read_in_both_ways(text: &str) -> Vec<(usize, Vec<u8>, Result<String, String>)> {
    let (mut by_all, mut by_one) = (Vec::new(), Vec::new());
    let prepare = |game: Game| game.headers.tournament.title;
    let is_over = AtomicBool::new(false);
    let found = |prepared: &Prepared<String>| -> Vec<_> {
        let games = prepared.games.iter();
        let found = games.map(|(extent, game)| {
            let text = prepared.section.text_of(extent).to_vec();
            (
                extent.line,
                text,
                game.clone().map_err(|error| error.to_string()),
            )
        });
        found.collect()
    };
    for_each_game_in_order::<_, io::Error>(
        BufReader::new(text.as_bytes()),
        |_| PAGE,
        prepare,
        &is_over,
        |prepared| {
            by_all.extend(found(prepared));
            Ok(())
        },
    )
    .unwrap();
    let take = |prepared: &mut Prepared<String>| {
        by_one.extend(found(prepared));
        Ok(())
    };
    for_each_game_of_short::<_, io::Error>(text.as_bytes(), |_| PAGE, prepare, &is_over, take)
        .unwrap();
    assert_eq!(by_all, by_one);
    by_one
}

#[test]
fn what_stops_the_taker_of_a_short_text_is_told() {
    let mut taken = 0;
    let result = for_each_game_of_short(
        GAME.repeat(2000).as_bytes(),
        |_| PAGE,
        |_| (),
        &AtomicBool::new(false),
        |_| {
            taken += 1;
            Err(io::Error::other("enough"))
        },
    );
    assert_eq!(
        (result.unwrap_err().to_string().as_str(), taken),
        ("enough", 1)
    );
    let is_over = AtomicBool::new(true);
    let take = |_: &mut Prepared<()>| Ok::<(), io::Error>(());
    let result = for_each_game_of_short(GAME.as_bytes(), |_| PAGE, |_| (), &is_over, take);
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::Interrupted);
}

#[test]
fn all_cores_give_the_games_in_order() {
    let event = |number: usize| GAME.replace("\"A\"", &format!("\"{number}\""));
    let text: String = (0..5000).map(event).collect();
    let read = read_in_both_ways(&text).into_iter();
    let read: Vec<_> = read
        .map(|(line, _, title)| (line, title.unwrap()))
        .collect();
    let expected: Vec<_> = (0..5000)
        .map(|number| (1 + 5 * number, number.to_string()))
        .collect();
    assert_eq!(read, expected);
}

#[test]
fn a_bad_game_without_tags_takes_no_other_with_it() {
    let good = "1. e4 e5\n2. Nf3 1-0\n\n";
    let bad = "1. e4 Ke5 {a\n\n1. b} *\n\n";
    let open = "1. e4 (1. d4 d5\n\n2. c4 *\n\n";
    let text = [good, bad, good, open, good, bad].concat();
    let read = read_in_both_ways(&text).into_iter();
    let mut read: Vec<_> = read
        .map(|(line, text, game)| (line, text, game.is_ok()))
        .collect();
    let expected = [
        (1, good),
        (4, bad),
        (8, good),
        (11, open),
        (15, good),
        (18, bad),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(line, text)| (*line, text.trim_end().as_bytes().to_vec(), *text == good))
        .collect();
    for (line, text, _) in &mut read {
        assert!(*line > 0);
        *text = text.trim_ascii_end().to_vec();
    }
    assert_eq!(read, expected);
}

#[test]
fn the_first_error_ends_the_reading_on_all_cores() {
    let text = GAME.repeat(20_000).replacen("e5", "e5 }", 15_000);
    let mut games = 0;
    let result = for_each_game_in_order::<_, io::Error>(
        BufReader::new(text.as_bytes()),
        |_| PAGE,
        |_| (),
        &AtomicBool::new(false),
        |prepared| {
            for (_, game) in prepared.games.drain(..) {
                game.map_err(io::Error::other)?;
                games += 1;
            }
            Ok(())
        },
    );
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with("4:10: "), "{error}");
    assert_eq!(games, 0);
}

#[test]
fn games_of_a_section_are_given_in_parts() {
    let text = "1. e4 *\n".repeat(2000);
    let (mut lines, mut most) = (Vec::new(), 0);
    for_each_game_in_order::<_, io::Error>(
        BufReader::new(text.as_bytes()),
        |_| PAGE,
        |game| assert_eq!(game.tree.len(), 1),
        &AtomicBool::new(false),
        |prepared| {
            most = most.max(prepared.games.len());
            for (extent, game) in &prepared.games {
                assert_eq!(prepared.section.text_of(extent).trim_ascii(), b"1. e4 *");
                assert!(game.is_ok());
                lines.push(extent.line);
            }
            Ok(())
        },
    )
    .unwrap();
    assert!(lines.iter().copied().eq(1..=2000));
    assert!(most <= 512, "{most}");
}

#[test]
fn an_error_ends_the_reading_while_long_texts_wait_for_one_another() {
    let long = format!("{GAME}{{{}}} *\n\n", "x".repeat(1 << 22)).repeat(12);
    let result = for_each_game_in_order::<_, io::Error>(
        BufReader::new(long.as_bytes()),
        |_| PAGE,
        |_| (),
        &AtomicBool::new(false),
        |_| Err(io::Error::other("no more")),
    );
    assert_eq!(result.unwrap_err().to_string(), "no more");
}

#[test]
fn the_reading_ends_before_the_next_game_when_it_is_over() {
    let text = "1. e4 *\n".repeat(1000);
    let is_interrupted = AtomicBool::new(false);
    let games = AtomicUsize::new(0);
    let result = for_each_game_in_order::<_, io::Error>(
        BufReader::new(text.as_bytes()),
        |_| PAGE,
        |_| is_interrupted.store(games.fetch_add(1, Relaxed) == 2, Relaxed),
        &is_interrupted,
        |_| panic!("a section that is not whole"),
    );
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::Interrupted);
    assert_eq!(games.into_inner(), 3);
}

#[test]
fn words_in_front_of_any_tag_are_of_no_game() {
    let rest = "[Event \"E\"]\n\n1. e4 *\n";
    for words in ["Some text. ", "p {a:b}</style>", "By </style>: "] {
        let tags = format!("[Annotator \"x\"]\n{rest}");
        let text = format!("{words}{tags}\n{words}{tags}");
        let texts: Vec<_> = shown(&text).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, [words, &format!("{tags}\n{words}"), &tags]);
    }
    // A remark has what looks like a tag.
    let text = "1. e4 {\nSo. [Annotator \"x\"]\n} e5\nSo. [Annotator \"x\"]\n*\n";
    assert_eq!(shown(text).len(), 1);
}

#[test]
fn a_first_tag_without_value_or_twice_begins_one_game() {
    for tags in [
        "[Event]\n[White \"A\"]",
        "[Event \"a\"]\n[Event \"a\"]\n[White \"x\"]\n[White \"y\"]",
    ] {
        let game = format!("{tags}\n\n1. e4 *\n\n");
        assert_eq!(shown(&game.repeat(2)).len(), 2, "{tags}");
    }
}

#[test]
fn a_section_knows_bytes_that_its_page_does_not_have() {
    let section = Section {
        page: Some(PAGE),
        ..Section::whole(1, Vec::new())
    };
    assert!(!section.is_of_another_page(b"M\xfcller"));
    assert!(section.is_of_another_page(b"M\x81ller"));
    assert!(!section.is_of_another_page("M\u{fc}ller".as_bytes()));
    assert!(!Section::whole(1, Vec::new()).is_of_another_page(b"M\x81ller"));
}

#[test]
fn words_right_below_a_result_are_of_the_game() {
    let tags = "[Annotator \"x\"]\n[Event \"E\"]\n\n1. d4 *\n";
    for between in ["", "\n"] {
        let text = format!("[Event \"E\"]\n\n1. e4 *\n{between}Black resigns.\nSo. {tags}");
        let first = &shown(&text)[0].1;
        let has_words = first.ends_with("So. [Annotator \"x\"]\n");
        assert_eq!(has_words, between.is_empty(), "{first}");
    }
}
