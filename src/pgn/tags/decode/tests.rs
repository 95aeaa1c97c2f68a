//! Tag pairs of all kinds, and the headers they become.

use crate::game::{Annotation, Game, Nation, PlyId};
use crate::pgn;

fn game(tags: &str) -> Game {
    pgn::decode(format!("{tags}\n\n*").as_bytes()).unwrap()
}

#[test]
fn a_name_is_split_at_its_first_comma() {
    for (tags, last, first) in [
        (r#"[White "Carlsen, Magnus"]"#, "Carlsen", "Magnus"),
        (r#"[White "Carlsen,Magnus"]"#, "Carlsen", "Magnus"),
        (r#"[White "Deep Blue"]"#, "Deep Blue", ""),
        (r#"[White "Hornung, Hans, Dr."]"#, "Hornung", "Hans, Dr."),
        (r#"[White "?"]"#, "", ""),
        (r#"[White "Anna"][CbhWhite "|Anna"]"#, "", "Anna"),
        (r#"[White "A, B"][CbhWhite "A, B|"]"#, "A, B", ""),
        (r#"[White "a|b, c"][CbhWhite "a|b|c"]"#, "a|b", "c"),
        (r#"[White "?"][CbhWhite "?|"]"#, "?", ""),
        // Somebody has edited White: the parts are those of another name.
        (r#"[White "Eva"][CbhWhite "|Anna"]"#, "Eva", ""),
    ] {
        let white = game(tags).headers.white;
        assert_eq!(
            (white.last.as_str(), white.first.as_str()),
            (last, first),
            "{tags}"
        );
    }
}

#[test]
fn quotes_and_backslashes_need_not_be_escaped() {
    for (value, expected) in [
        (r#"say \"x\" \\ y"#, r#"say "x" \ y"#),
        (r#"say "x" y"#, r#"say "x" y"#),
        (r"C:\bases\", r"C:\bases\"),
        (r#"a "] b"#, r#"a "] b"#),
        ("a ] { ; %", "a ] { ; %"),
    ] {
        let read = game(&format!("[Event \"{value}\"]"));
        assert_eq!(read.headers.tournament.title, expected);
        if !value.ends_with('\\') {
            let read = game(&format!("[Event \"{value}\"] [Site \"z\"]"));
            assert_eq!(read.headers.tournament.place, "z", "{value}");
        }
    }
}

#[test]
fn a_private_result_counts_if_it_agrees() {
    for (tags, ending, expected) in [
        (r#"[Result "1-0"][CbhResult "+:-"]"#, "1-0", "+:-"),
        (r#"[Result "0-1"][CbhResult "+:-"]"#, "0-1", "0-1"),
        (r#"[Result "*"][CbhResult "0-0"]"#, "*", "0-0"),
        (r#"[Result "1/2"]"#, "1/2-1/2", "1/2-1/2"),
        (r#"[Result "?"]"#, "1-0", "1-0"),
        ("", "-:+", "-:+"),
    ] {
        let game = pgn::decode(format!("{tags} {ending}").as_bytes()).unwrap();
        let result = game.headers.result;
        assert_eq!(
            result.beyond_pgn().unwrap_or(result.pgn()),
            expected,
            "{tags}"
        );
    }
}

#[test]
fn a_team_keeps_its_number_with_its_title() {
    for (tags, title, number, year) in [
        (
            r#"[WhiteTeam "Ork II"][CbhWhiteTeam "2 2015/16"]"#,
            "Ork",
            2,
            2015,
        ),
        (r#"[WhiteTeam "Ork II"]"#, "Ork II", 0, 0),
        (
            r#"[WhiteTeam "Elf"][CbhWhiteTeam "2 2015"]"#,
            "Elf",
            0,
            2015,
        ),
        (r#"[CbhWhiteTeam "2 0"]"#, "", 2, 0),
        (r#"[WhiteTeam "Ork"][CbhWhiteTeam "1 0"]"#, "Ork", 1, 0),
    ] {
        let team = game(tags).headers.white_team;
        assert_eq!(
            (team.title.as_str(), team.number, team.year),
            (title, number, year)
        );
        assert!(team.is_given);
    }
    assert!(!game("").headers.white_team.is_given);
}

#[test]
fn values_without_a_header_field_stay_tags() {
    let tags = r#"[Opening "Ruy Lopez"] [ECO "C89a"] [PlyCount "3"] [WhiteElo "?"]
        [BlackElo "1500P"] [Variant "Standard"] [Round "Final"] [TimeControl "?"]"#;
    let expected = [
        ("Round", "Final"),
        ("Opening", "Ruy Lopez"),
        ("ECO", "C89a"),
        ("BlackElo", "1500P"),
        ("Variant", "Standard"),
        ("TimeControl", "?"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(game(tags).foreign_tags, expected);
}

#[test]
fn a_second_tag_is_kept_if_foreign_and_refused_if_a_header_says_another_thing() {
    let game = game(r#"[WhiteElo "1"] [X "1"] [WhiteElo "1"] [X "2"] [Y ""] [X "1"]"#);
    assert_eq!(game.headers.white_elo, 1);
    let expected = [("X", "1"), ("X", "2"), ("Y", ""), ("X", "1")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(game.foreign_tags, expected);
    for name in ["WhiteElo", "ECO", "FEN", "PlyCount", "Source"] {
        let value = if name == "FEN" {
            "4k3/8/8/8/8/8/8/8 w - - 0 "
        } else {
            ""
        };
        let tags = format!("[{name} \"{value}1\"]\n[{name} \"{value}2\"]\n\n*");
        let read = pgn::decode(tags.as_bytes());
        if name == "ECO" {
            assert_eq!(
                read.unwrap().foreign_tags.len(),
                2,
                "no code: both are foreign"
            );
            continue;
        }
        let error = read.unwrap_err();
        assert_eq!(error.line, 2, "{error}");
        assert!(error.found.contains(name), "{error}");
    }
}

/// Foreign tags whose names are those of headers do not become headers.
#[test]
fn a_foreign_tag_with_the_name_of_a_header_comes_back() {
    let foreign = [
        ("White", "Cut|Off"),
        ("ECO", "B90a"),
        ("ECO", "B90"),
        ("WhiteElo", "2700"),
        ("WhiteElo", "2700?"),
        ("Round", "Final"),
        ("Round", "7"),
        ("FEN", "none"),
        ("EventType", "swiss"),
        ("TimeControl", "40/7200"),
        ("WhiteClock", "1:29:59"),
        ("Variant", "Chess960"),
        ("PlyCount", "7"),
        ("CbhMedals", "1"),
        ("CbhOtherX", "1"),
        ("Cbh", "1"),
    ];
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let game = Game {
        foreign_tags: foreign.map(owned).to_vec(),
        ..Game::default()
    };
    let mut text = Vec::new();
    pgn::encode(&game, &[], &mut text);
    let read = pgn::decode(&text).unwrap();
    let sorted = |game: &Game| {
        let mut tags = game.foreign_tags.clone();
        tags.sort();
        tags
    };
    assert_eq!(sorted(&read), sorted(&game));
    let mut again = Vec::new();
    pgn::encode(&read, &[], &mut again);
    assert_eq!(again, text);
    let text = String::from_utf8(text).unwrap();
    for shown in [
        "[Round \"Final\"]",
        "[ECO \"B90a\"]",
        "[CbhOtherWhite \"Cut|Off\"]",
    ] {
        assert!(text.contains(shown), "{shown} {text}");
    }
}

#[test]
fn repeated_roster_tags_are_refused() {
    for name in ["Event", "Site", "Date", "Round", "White", "Black"] {
        let tags = format!("[{name} \"1\"]\n[X \"1\"]\n [{name} \"1\"]\n\n*");
        let error = pgn::decode(tags.as_bytes()).unwrap_err();
        assert_eq!((error.line, error.column), (3, name.len() + 5), "{error}");
        assert!(error.found.contains(name), "{error}");
    }
}

#[test]
fn a_date_that_is_none_is_an_error() {
    for name in [
        "Date",
        "EventDate",
        "EventEndDate",
        "SourceDate",
        "SourceVersionDate",
    ] {
        let text = |value: &str| format!("[X \"1\"]\n [{name} \"{value}\"]\n\n*");
        for value in ["yesterday", "26.07.2016", "2016.07.26 18:00"] {
            let error = pgn::decode(text(value).as_bytes()).unwrap_err();
            assert_eq!((error.line, error.column), (2, name.len() + 5), "{error}");
            assert!(error.found.contains(value), "{error}");
        }
        for value in ["", "?", "-", "????.??.??", " ????.??.?? "] {
            let game = pgn::decode(text(value).as_bytes()).unwrap();
            assert_eq!(game.foreign_tags.len(), 1, "{name} {value}");
        }
    }
}

#[test]
fn a_position_may_be_set_up() {
    let chess960 = "bnrkrbnq/pppppppp/8/8/8/8/PPPPPPPP/BNRKRBNQ w";
    for (tags, fen, is_chess960) in [
        (
            "[FEN \"4k3/8/8/8/8/8/8/4K3 b - - 7 9\"]",
            "4k3/8/8/8/8/8/8/4K3 b - - 7 9",
            false,
        ),
        (
            "[SetUp \"1\"][FEN \"8/8/3p4/8/8/4P3/8/8 w KQ - 0 1\"]",
            "8/8/3p4/8/8/4P3/8/8 w KQ - 0 1",
            false,
        ),
        (
            &format!("[Variant \"chess 960\"][FEN \"{chess960} ECec - 0 1\"]"),
            &format!("{chess960} KQkq - 0 1"),
            true,
        ),
    ] {
        let start = game(tags).start;
        let mut canonical = Vec::new();
        start.append_fen_to(&mut canonical);
        let canonical = String::from_utf8(canonical).unwrap();
        assert_eq!(start.written_fen.unwrap_or(canonical), fen);
        assert_eq!((start.is_set_up, start.is_chess960), (true, is_chess960));
    }
}

#[test]
fn clocks_and_time_controls_are_remarks() {
    let game = game("[WhiteClock \"1:29:59\"] [TimeControl \"40/7200:3600\"] [BlackClock \"?\"]");
    let remarks: Vec<_> = game.annotations.on(PlyId::START).collect();
    assert!(matches!(
        remarks[..],
        [
            Annotation::Clock(shakmaty::Color::White, 539_900),
            Annotation::TimeControl(_)
        ]
    ));
    assert_eq!(
        game.foreign_tags,
        [("BlackClock".to_owned(), "?".to_owned())]
    );
}

#[test]
fn a_country_is_a_number_only_where_it_has_no_letters() {
    let nation = |country: &str| {
        let text = format!("[EventCountry \"{country}\"]\n\n1. e4 *");
        let game = crate::pgn::decode(text.as_bytes());
        game.map(|game| game.headers.tournament.nation)
    };
    let argentina = nation("ARG").unwrap();
    assert_eq!(argentina.code(), Some("ARG"));
    assert!(nation(&argentina.0.to_string()).is_err());
    let unknown = (0..=u8::MAX).find(|number| *number > 0 && Nation(*number).code().is_none());
    let unknown = unknown.unwrap();
    assert_eq!(nation(&unknown.to_string()).unwrap(), Nation(unknown));
}
