use crate::pgn::Trust;
use crate::pgn::stream::InPage;

use super::*;

/// The games of a text without their tags, with the liberties taken, or the
/// error.
fn read(text: &str) -> Vec<(String, Vec<Liberty>)> {
    let mut games = GameTexts::new(text.as_bytes());
    let mut read = Vec::new();
    while let Some(next) = games.next_leniently() {
        read.push(match next {
            Ok(understood) => (moves_of(&understood.game), understood.taken.liberties()),
            Err(error) => (error.to_string(), Vec::new()),
        });
    }
    read
}

fn moves_of(game: &Game) -> String {
    let mut out = Vec::new();
    crate::pgn::encode(game, &[], &mut out);
    let text = String::from_utf8(out).unwrap();
    let (_, moves) = text.split_once("\n\n").unwrap();
    moves.trim_end().replace('\n', " ")
}

/// Forums have games between these.
#[test]
fn marks_of_forums_are_no_part_of_a_game() {
    for text in ["[pgn]1. e4 e5 *[/pgn]", "[PGN]\n1. e4 e5 *\n[/PGN]\n"] {
        assert_eq!(
            read(text),
            [("1. e4 e5 *".to_owned(), Vec::new())],
            "{text}"
        );
    }
}

fn check(cases: &[(&str, &str, &[Liberty])]) {
    for (text, expected, liberties) in cases {
        let expected = ((*expected).to_owned(), liberties.to_vec());
        assert_eq!(read(text), [expected], "{text:?}");
        assert_eq!(
            crate::pgn::decode(text.as_bytes()).is_ok(),
            liberties.is_empty(),
            "read strictly: {text:?}"
        );
    }
}

#[test]
fn results_are_understood_however_they_are_written() {
    use Liberty::{NoResult, OpenEnd, OpenResultTag, ResultSpelling};
    check(&[
        ("1. e4 e5 1-0", "1. e4 e5 1-0", &[]),
        ("1. e4 e5", "1. e4 e5 *", &[NoResult]),
        ("[Result \"1-0\"]\n\n1. e4 e5", "1. e4 e5 1-0", &[NoResult]),
        ("[Result \"0-1\"]\n", "0-1", &[NoResult]),
        ("[Result \"*\"]\n\n1. e4 1-0", "1. e4 1-0", &[OpenResultTag]),
        ("[Result \"1-0\"]\n\n1. e4 *", "1. e4 1-0", &[OpenEnd]),
        ("1. e4 1:0", "1. e4 1-0", &[ResultSpelling]),
        ("1. e4 ½-½", "1. e4 1/2-1/2", &[ResultSpelling]),
        ("1. e4 0–1", "1. e4 0-1", &[Liberty::Signs, ResultSpelling]),
        ("+-", "1-0", &[ResultSpelling]),
        ("1. e4 1 - 0", "1. e4 1-0", &[ResultSpelling]),
        ("1. e4 1/2 - 1/2", "1. e4 1/2-1/2", &[ResultSpelling]),
        (
            "[Result \"½:½\"]\n\n1. e4 1/2-1/2",
            "1. e4 1/2-1/2",
            &[ResultSpelling],
        ),
        ("1. e4 O-1", "1. e4 0-1", &[ResultSpelling]),
        ("1. e4 l-0", "1. e4 1-0", &[ResultSpelling]),
        ("1. e4 0.5-0.5", "1. e4 1/2-1/2", &[ResultSpelling]),
        (
            "[Result \"0,5-0,5\"]\n\n1. e4 .5-.5",
            "1. e4 1/2-1/2",
            &[ResultSpelling],
        ),
        (
            "1. e4 (1. d4 0:1) e5 1-0",
            "1. e4 (1. d4) 1... e5 1-0",
            &[Liberty::ResultInVariation, ResultSpelling],
        ),
    ]);
    let contradicts = "[Result \"1-0\"]\n\n1. e4 0-1";
    assert!(
        read(contradicts)[0]
            .0
            .contains("the result 0-1, where the tag says 1-0")
    );
    let unequal = "[Result \"1-0\"]\n\n1. e4 1/2-0";
    assert!(read(unequal)[0].0.contains("where the tag says 1-0"));
}

#[test]
fn a_plus_and_a_minus_are_a_result_a_forfeit_or_a_judgement() {
    use Liberty::{Judgement, Marks, NoResult, OpenEnd, ResultSpelling};
    let forfeit = GameResult::WhiteWonByForfeit;
    let won = GameResult::WhiteWon;
    for (text, expected, moves, liberties) in [
        (
            "[Result \"+-\"]\n\n+-",
            forfeit,
            "1-0",
            vec![ResultSpelling],
        ),
        (
            "[Result \"+-\"]\n\n*",
            forfeit,
            "1-0",
            vec![ResultSpelling, OpenEnd],
        ),
        (
            "1. e4 +-",
            GameResult::Line,
            "1. e4 $18 *",
            vec![Judgement, NoResult],
        ),
        (
            "[Result \"0-1\"]\n\n1. e4 +-",
            GameResult::BlackWon,
            "1. e4 $18 0-1",
            vec![Judgement, NoResult],
        ),
        (
            "[Result \"1-0\"]\n\n1. e4 +-",
            won,
            "1. e4 1-0",
            vec![ResultSpelling],
        ),
        (
            "[Result \"+-\"]\n\n1. e4 +-",
            won,
            "1. e4 1-0",
            vec![ResultSpelling],
        ),
        (
            "[Result \"+-\"]\n\n1. e4 1-0",
            won,
            "1. e4 1-0",
            vec![ResultSpelling],
        ),
        (
            "[Result \"+:-\"]\n\n1. e4 +:-",
            forfeit,
            "1. e4 1-0",
            vec![],
        ),
        ("1. e4 +- e5 1-0", won, "1. e4 $18 e5 1-0", vec![Marks]),
        (
            "1. e4 --+ 0-1",
            GameResult::BlackWon,
            "1. e4 $21 0-1",
            vec![Marks],
        ),
    ] {
        let mut games = GameTexts::new(text.as_bytes());
        let read = games.next_leniently().unwrap().unwrap();
        assert_eq!(read.game.headers.result, expected, "{text}");
        assert_eq!(moves_of(&read.game), moves, "{text}");
        assert_eq!(read.taken.liberties(), liberties, "{text}");
        assert!(games.next_leniently().is_none(), "{text}");
    }
}

#[test]
fn a_result_twice_makes_no_second_game() {
    for (text, expected) in [
        ("1. e4 1-0 1-0", "1. e4 1-0"),
        ("1. e4 1-0\n\n1-0\n", "1. e4 1-0"),
        ("1. e4 1-0 * {end} *", "1. e4 {end} 1-0"),
        ("1. e4 * 1-0", "1. e4 1-0"),
        ("1. e4 * 0-0", "1. e4 *"),
    ] {
        let games = read(text);
        assert_eq!(games.len(), 1, "{text}: {games:?}");
        assert_eq!(games[0].0, expected, "{text}");
        assert!(games[0].1.contains(&Liberty::ResultTwice), "{text}");
    }
    let two = read("1. e4 1-0 0-1");
    let expected = "1:11: the result 0-1 behind 1-0; expected one result, and the next game";
    assert_eq!(two[0].0, expected);
    for text in [
        "1. e4 1-0 0-0",
        "1. e4 1-0\n0-0\n",
        "1. e4 1-0 0-0\n\n[White \"A\"]\n*",
    ] {
        let games = read(text);
        let expected = "the result 0-0 behind 1-0; expected one result, and the next game";
        assert!(games[0].0.ends_with(expected), "{text}: {games:?}");
    }
    assert_eq!(read("1. e4 1-0 1. d4 0-1").len(), 2);
}

#[test]
fn a_letter_in_parentheses_is_the_piece_of_a_pawn_alone() {
    let promotion = "4k3/P7/8/8/8/8/8/K7 w - - 0 1";
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    for (fen, moves, expected) in [
        (promotion, "a8(D)+ Ke7 Da7+", "1. a8=Q+ Ke7 2. Qa7+"),
        (promotion, "a8(\u{2655})+ ♔e7", "1. a8=Q+ Ke7"),
        (promotion, "a8=(Q)+ Ke7", "1. a8=Q+ Ke7"),
        (
            promotion,
            "a8(T)+ (a8(D)+) Ke7",
            "1. a8=R+ (1. a8=Q+) 1... Ke7",
        ),
        (
            start,
            "e4 e5 Qe2 Qe7 Qd1(D)",
            "1. e4 e5 2. Qe2 Qe7 3. Qd1 $201",
        ),
        (
            start,
            "e4 e5 Qe2 Qe7 Qd1(\u{b1})",
            "1. e4 e5 2. Qe2 Qe7 3. Qd1 $16",
        ),
    ] {
        let found = read(&format!("[FEN \"{fen}\"]\n\n1. {moves} *"));
        assert_eq!(found.len(), 1, "{moves}");
        assert_eq!(found[0].0, format!("{expected} *"), "{moves}");
    }
}

#[test]
fn moves_are_understood_in_the_forms_that_are_written() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let castling = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
    let promotion = "7k/P7/8/8/8/8/8/7K w - - 0 1";
    let passing = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1";
    for (fen, moves, expected) in [
        (start, "E4 E7E5 nf3 nb8-c6", "1. e4 e5 2. Nf3 Nc6"),
        (
            start,
            "e4 d5 ed Qd8Xd5 Nc3 Qd5:a2",
            "1. e4 d5 2. exd5 Qxd5 3. Nc3 Qxa2",
        ),
        (start, "e4 d5 exd Qd5: Nc3", "1. e4 d5 2. exd5 Qxd5 3. Nc3"),
        (
            start,
            "e4= e5+/= Nf3N Nc6\u{b1} Bb5D a6 inf",
            "1. e4 $10 e5 $14 2. Nf3 $146 Nc6 $16 3. Bb5 $201 a6 $13",
        ),
        (start, "e4!!! e5??? Nf3!!?", "1. e4 $3 e5 $4 2. Nf3 $5"),
        (
            start,
            "e4 \u{21c6} e5 =/\u{221e} Nf3 $300",
            "1. e4 $132 e5 $44 2. Nf3 {$300}",
        ),
        (start, "е4 е5 Кf3 Кс6", "1. e4 e5 2. Nf3 Nc6"),
        (
            start,
            "e4 <> d4 <null> c4 <diagram>",
            "1. e4 -- 2. d4 -- 3. c4 {diagram}",
        ),
        (start, "e4 1\u{2026} e5 2) Nf3", "1. e4 e5 2. Nf3"),
        (castling, "OO 000", "1. O-O O-O-O"),
        (castling, "O-0 О-О-О", "1. O-O O-O-O"),
        (promotion, "a8=(Q)+ Kg7", "1. a8=Q+ Kg7"),
        (promotion, "a8Qch Kg7 Qa1 +", "1. a8=Q+ Kg7 2. Qa1+"),
        (passing, "e5xd6/ep Kd8", "1. exd6 Kd8"),
        (passing, "exd6 (ep) Kd8 (=)", "1. exd6 Kd8 {(=)}"),
        (passing, "exd6 e. p. Kd8", "1. exd6 Kd8"),
        (passing, "exd6 E.P.+ Kd8", "1. exd6 Kd8"),
        (
            start,
            "e4 e5 Nf3 d6 bb5 dis ch Bd7",
            "1. e4 e5 2. Nf3 d6 3. Bb5+ Bd7",
        ),
        (
            start,
            "e4 e5 Nf3 d6 Bb5 dbl. ch. Bd7",
            "1. e4 e5 2. Nf3 d6 3. Bb5+ Bd7",
        ),
        (start, "e4 e5 l. Nf3 Nc6", "1. e4 e5 2. Nf3 Nc6"),
    ] {
        let text = format!("[FEN \"{fen}\"]\n\n1. {moves} *");
        let found = read(&text);
        assert_eq!(found.len(), 1, "{moves}");
        assert_eq!(found[0].0, format!("{expected} *"), "{moves}");
        assert!(!found[0].1.is_empty(), "{moves}");
        assert!(crate::pgn::decode(text.as_bytes()).is_err(), "{moves}");
    }
    // None is guessed.
    for moves in [
        "e4 e5 Nf3 Nc6 d4 ed4 Nd4: Nd4: Nd4:",
        "e4e5",
        "e5 d5 ef",
        "b4 cb",
        "bc3",
    ] {
        let found = &read(&format!("1. {moves} *"))[0].0;
        assert!(found.contains("expected"), "{moves}: {found}");
    }
    for (text, why) in [
        ("1. P-K4 P-K4", "\"P-K4\" is a move in descriptive notation"),
        ("1. e4 e5 2. KtKB3", "descriptive"),
        ("1. e4 e5 2. BxPch", "descriptive"),
        ("1. e4 e5 2. P-K8=Q", "descriptive"),
        ("1. e4 e5 2. QN-Q2", "descriptive"),
        ("1. e4 e5 2. Castles", "descriptive"),
        ("1. e4 e5 2. B-b9", "not a move"),
        ("1. e4 e5 2. Nf33", "not a move"),
        // A pawn or a bishop, beside a knight in a small letter.
        (
            "[FEN \"4k3/8/8/8/8/2p5/1P6/4B1KN w - - 0 1\"]\n\n1. bxc3 Kd8 2. nf2",
            "small letters",
        ),
    ] {
        let found = &read(&format!("{text} *"))[0].0;
        assert!(found.contains(why), "{text}: {found}");
    }
    let lacking = &read("[FEN \"7k/P7/8/8/8/8/8/7K w - - 0 1\"]\n\n1. a8 *")[0].0;
    assert!(
        lacking.contains("expected the piece that the pawn becomes"),
        "{lacking}"
    );
}

#[test]
fn a_tag_beside_the_moves_refuses_no_game() {
    use Liberty::{DateOrder, NoSetUp, TagAgain, TagForm, TagKept};
    let read = |tags: &str| {
        let text = format!("{tags}\n\n1. e4 *");
        let mut games = GameTexts::new(text.as_bytes());
        let read = games.next_leniently().unwrap();
        read.map(|read| (read.game, read.taken.liberties()))
            .map_err(|error| error.to_string())
    };
    for (tag, name) in [
        ("[EventDate \"junk\"]", "EventDate"),
        ("[SourceDate \"2004.99.99\"]", "SourceDate"),
        ("[EventCategory \"999\"]", "EventCategory"),
        ("[WhiteElo \"99999\"]", "WhiteElo"),
        ("[BlackElo \"5000\"]", "BlackElo"),
        ("[Date \"1.1.24\"]", "Date"),
        ("[Result \"White wins\"]", "Result"),
        ("[CbhMedals \"x\"]", "CbhMedals"),
        ("[EventRounds \"300\"] [EventRounds \"300\"]", "EventRounds"),
    ] {
        let (game, liberties) = read(tag).unwrap();
        assert_eq!(liberties, [TagKept(name)], "{tag}");
        assert_eq!(game.foreign_tags[0].0, name, "{tag}");
        // What is shown of it is strict PGN, and says the same.
        let mut ours = Vec::new();
        crate::pgn::encode(&game, &[], &mut ours);
        let again = crate::pgn::decode(&ours).unwrap();
        assert_eq!(again.foreign_tags, game.foreign_tags, "{tag}");
        let save = format!("{tag}\n\n1. e4 *");
        let is_elo = tag.contains("5000");
        assert_eq!(crate::pgn::decode(save.as_bytes()).is_ok(), is_elo, "{tag}");
    }
    for (tag, liberty) in [
        ("[SetUp \"1\"]", NoSetUp),
        ("[FEN \"\"]", NoSetUp),
        ("[FEN \"?\"] [SetUp \"1\"]", NoSetUp),
        ("[Round \"1\"] [Round \"2\"]", TagAgain),
        ("[White \"A\"] [White \"B\"]", TagAgain),
        ("[Event \"A\"] [Site \"B\"] [Event \"C\"]", TagAgain),
        ("[WhiteElo \"1\"] [WhiteElo \"1\"]", Liberty::TagTwice),
        ("[WhiteElo \"1\"] [WhiteElo \"2\"]", TagAgain),
        ("[Date \"24.12.2004\"]", DateOrder),
        ("[white \"Carlsen\"]", TagForm),
        ("[WHITE \"Carlsen\"]", TagForm),
        ("[White Carlsen]", TagForm),
        ("[White 'Carlsen']", TagForm),
        ("[White \"Carlsen]", TagForm),
        ("[White \"Carlsen\"", TagForm),
        ("[Foo-Bar \"x\"] [White \"Carlsen\"]", TagForm),
        ("[White: \"Carlsen\"]", TagForm),
        ("[White = \"Carlsen\"]", TagForm),
        ("[White\u{a0}\"Carlsen\"]", TagForm),
        ("[White Elo \"2000\"] [White \"Carlsen\"]", TagForm),
        ("[event date \"2000.01.01\"] [White \"Carlsen\"]", TagForm),
    ] {
        let (game, liberties) = read(tag).unwrap();
        assert_eq!(liberties, [liberty], "{tag}");
        if liberty == TagForm {
            assert_eq!(game.headers.white.last, "Carlsen", "{tag}");
        }
        let mut ours = Vec::new();
        crate::pgn::encode(&game, &[], &mut ours);
        assert!(crate::pgn::decode(&ours).is_ok(), "{tag}");
    }
    // From where must be known.
    for (fen, expected) in [
        ("8/8", "eight ranks"),
        (
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPP/RNBQKBNR w KQkq - 0 1",
            "eight squares in each rank",
        ),
        ("4k3/8/8/8/8/8/4P3/4K3 W - - 0 1", "w or b"),
        ("4k3/8/8/8/8/8/4P3/4K3 w x - 0 1", "castling rights"),
        ("4k3/8/8/8/8/8/4P3/4K3 w - e9 0 1", "an en passant square"),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - -1 1", "half-moves"),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 70000", "a move number"),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 more", "six fields"),
    ] {
        let error = read(&format!("[FEN \"{fen}\"]")).unwrap_err();
        assert!(error.contains(expected), "{fen}: {error}");
    }
    let amid = &super::tests::read("1. e4 e5\n[Foo \"x\"]\n2. Nf3 *")[0].0;
    assert!(amid.contains("2:1: a tag \"Foo\" amid the moves"), "{amid}");
}

#[test]
fn a_game_of_chess960_is_told_by_its_fen_too() {
    let liberties = |tags: &str, moves: &str| {
        let found = read(&format!("{tags}\n\n{moves} *"));
        assert_eq!(found[0].0, format!("{moves} *"), "{tags}");
        found[0].1.clone()
    };
    let fen = |fen: &str| format!("[FEN \"{fen}\"]");
    let array = "bqnbrkrn/pppppppp/8/8/8/8/PPPPPPPP/BQNBRKRN w";
    for castling in ["KQkq", "GEge"] {
        let told = liberties(&fen(&format!("{array} {castling} - 0 1")), "1. O-O O-O");
        assert!(told.contains(&Liberty::Chess960), "{castling} {told:?}");
    }
    // Rights that are not there are often written.
    for castling in [
        "5rk1/8/8/8/8/8/8/R4RK1 w KQkq - 0 1",
        "r3k2r/8/8/8/8/8/8/R3K2R w HAha - 0 1",
    ] {
        let told = liberties(&fen(castling), "1. Ra2");
        assert!(!told.contains(&Liberty::Chess960), "{castling} {told:?}");
    }
    let told = liberties("[Variant \"Atomic\"]", "1. e4");
    let atomic = Liberty::OtherVariant(VariantName::of("Atomic"));
    assert_eq!(told, [atomic]);
    let says = atomic.to_string();
    assert!(
        says.starts_with("\"Atomic\" as Variant") && says.ends_with("with the tag"),
        "{says}"
    );
    assert!(
        format!("{atomic:#}").ends_with("stored as chess"),
        "{atomic:#}"
    );
    let long = VariantName::of(&"\u{e9}".repeat(20)).to_string();
    assert_eq!(long, format!("\"{}\"", "\u{e9}".repeat(12)));
    let code = liberties("[Variant \"Chess960\"]\n[ECO \"A00\"]", "1. e4");
    assert_eq!(code, [Liberty::TagKept("ECO")]);
}

#[test]
fn the_error_of_the_longest_reading_is_reported() {
    // Good in English up to the end, which German does not come to.
    let open = &read("1. e4 e5 (1... c5 2. Nf3 Nc6 3. Bb5) 2. Nf3 (2. d4 *")[0].0;
    assert!(open.contains("1:45: a variation without end"), "{open}");
}

#[test]
fn bytes_that_the_page_has_not_are_told() {
    let read = |text: &[u8], is_guessed: bool| {
        let mut games = GameTexts::new(text);
        let trust = if is_guessed {
            Trust::Guessed
        } else {
            Trust::Given
        };
        let page = EightBitPage::WESTERN;
        games.doubted = Some(InPage {
            page,
            rival: None,
            trust,
        });
        let read = games.next_leniently().unwrap();
        read.map(|read| read.game.headers.white.last)
            .map_err(|error| error.to_string())
    };
    let dos = b"[White \"M\x81ller\"]\n\n1. e4 *";
    let error = read(dos, true).unwrap_err();
    assert!(
        error.contains("1:10: the byte 0x81, which is no character of windows-1252"),
        "{error}"
    );
    assert!(error.contains("--pgn-codepage"), "{error}");
    assert!(read(dos, false).is_ok());
    let letter = b"[White \"K\x94hler\"]\n\n1. e4 *";
    assert!(
        read(letter, true)
            .unwrap_err()
            .contains("0x94, which is no letter")
    );
    for fine in [
        &b"[White \"O\x92Kelly\"]\n\n1. e4 {\x93good\x94 \x96 a\x85} *"[..],
        b"[White \"\xd0\x90\"]\n\n1. e4 *",
        b"[White \"\xd0\x90 H\xfcbner\"]\n\n1. e4 *",
    ] {
        assert!(read(fine, true).is_ok(), "{fine:?}");
    }
}

#[test]
fn a_result_that_does_not_add_up_is_kept_in_a_tag() {
    for text in [
        "[Result \"1/2-0\"]\n\n1. e4 1/2-0",
        "[Result \"*\"]\n\n1. e4 ½-0",
        "1. e4 1/2-0",
        "[Result \"1/2-0\"]\n\n1. e4 *",
    ] {
        let mut games = GameTexts::new(text.as_bytes());
        let game = games.next_leniently().unwrap().unwrap().game;
        assert_eq!(game.headers.result, GameResult::Line, "{text}");
        let kept = [("CbhResult".to_owned(), "1/2-0".to_owned())];
        assert_eq!(game.foreign_tags, kept, "{text}");
        // Our own text of it is strict PGN, and says the same.
        let mut ours = Vec::new();
        crate::pgn::encode(&game, &[], &mut ours);
        let again = crate::pgn::decode(&ours).unwrap();
        assert_eq!(again.foreign_tags, kept, "{text}");
        let edited = String::from_utf8(ours).unwrap();
        let edited = edited.replace("\"*\"", "\"1-0\"").replace("e4 *", "e4 1-0");
        let edited = crate::pgn::decode(edited.as_bytes()).unwrap();
        assert!(edited.foreign_tags.is_empty());
    }
}

#[test]
fn piece_letters_of_other_languages_are_read_where_a_whole_game_has_them() {
    let english = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Bxc6 dxc6 5. O-O Qf6 6. Re1 Kd8 *";
    let games = [
        ("figurines", "♔♕♖♗♘"),
        ("German letters", "KDTLS"),
        ("French letters", "RDTFC"),
        ("Spanish or Italian letters", "RDTAC"),
        ("Portuguese letters", "RDTBC"),
        ("Dutch letters", "KDTLP"),
        ("Russian letters", "кФЛСК"),
        ("Polish letters", "KHWGS"),
        ("Czech letters", "KDVSJ"),
        ("Hungarian letters", "KVBFH"),
        ("Finnish letters", "KDTLR"),
        ("Romanian letters", "RDTNC"),
        ("Estonian letters", "KLVOR"),
        ("Icelandic letters", "KDHBR"),
        ("Turkish letters", "ŞVKFA"),
        ("Greek letters", "ΡΒΠΑΙ"),
        ("Bulgarian letters", "ЦДТОК"),
        ("Serbian letters", "КДТЛС"),
        ("Latvian letters", "KDTLZ"),
        ("Lithuanian letters", "KVBRŽ"),
    ];
    for (language, letters) in games {
        let letters: Vec<char> = letters.chars().collect();
        let other: String = english
            .chars()
            .map(|c| match "KQRBN".find(c) {
                Some(at) => letters[at],
                None => c,
            })
            .collect();
        let other = other.replace('к', "Кр");
        let expected = (english.to_owned(), vec![Liberty::Letters(language)]);
        assert_eq!(read(&other), [expected], "{other}");
    }
    // One English letter makes it no game of another language.
    let mixed = "1. e4 e5 2. Sf3 Nc6 *";
    assert!(read(mixed)[0].0.contains("\"Nc6\" is not a move"));
    assert_eq!(read("1. ♘f3\u{fe0e} ♞f6 *")[0].0, "1. Nf3 Nf6 *");
    let promotion = "[FEN \"7k/4P3/8/8/8/8/8/K7 w - - 0 1\"]\n\n1. e8=D+ Kg7 2. De5+ *";
    assert_eq!(read(promotion)[0].0, "1. e8=Q+ Kg7 2. Qe5+ *");
}

#[test]
fn a_game_that_two_languages_read_differently_is_refused() {
    // S is the knight of German and the bishop of Czech.
    let with = |pieces: &str| format!("[FEN \"7k/8/8/8/8/{pieces}/K7 w - - 0 1\"]\n\n1. Sd5 *");
    let knight = (
        "1. Nd5 *".to_owned(),
        vec![Liberty::Letters("German letters")],
    );
    assert_eq!(read(&with("4N3/8")), [knight]);
    let bishop = (
        "1. Bd5 *".to_owned(),
        vec![Liberty::Letters("Czech letters")],
    );
    assert_eq!(read(&with("8/B7")), [bishop]);
    let both = &read(&with("4N3/B7"))[0].0;
    assert!(both.contains("more than one language"), "{both}");
}

#[test]
fn signs_and_comments_that_stand_elsewhere_are_kept() {
    check(&[
        ("1. e4 += e5 *", "1. e4 $14 e5 *", &[Liberty::Marks]),
        ("1. e4 ± e5 N *", "1. e4 $16 e5 $146 *", &[Liberty::Marks]),
        ("1. e4 RR e5 D *", "1. e4 $145 e5 $201 *", &[Liberty::Marks]),
        ("1. e2–e4 *", "1. e4 *", &[Liberty::Signs]),
        (
            "1. e4 1-0 {resigns}",
            "1. e4 {resigns} 1-0",
            &[Liberty::CommentBehind],
        ),
        (
            "1. e4 1-0\n\n{the end}\n; of all",
            "1. e4 {the end of all} 1-0",
            &[Liberty::CommentBehind],
        ),
        (
            "[White \"A\"]\n[White \"A\"]\n\n1. e4 *",
            "1. e4 *",
            &[Liberty::TagTwice],
        ),
    ]);
    let two = read("1. e4 1-0 {beside}\n\n{before} 1. d4 *");
    assert_eq!(
        two[0],
        (
            "1. e4 {beside} 1-0".to_owned(),
            vec![Liberty::CommentBehind]
        )
    );
    assert_eq!(two[1], ("{before} 1. d4 *".to_owned(), Vec::new()));
    let bad = read("1. e4 1-0 {beside}{open");
    assert_eq!(bad[0].0, "1. e4 {beside} 1-0");
    assert!(bad[1].0.contains("1:19: a comment without end"), "{bad:?}");
    let many = "{[%emt 0:00:01]}".repeat(crate::game::MAX_ANNOTATIONS + 1);
    let bad = &read(&format!("1. e4 *{many}"))[0].0;
    assert!(bad.contains("more than 262144 remarks"), "{bad}");
}

#[test]
fn words_behind_a_result_are_the_last_remark_and_no_game() {
    let told = &[Liberty::WordsBehind][..];
    check(&[
        (
            "1. e4 e5 1-0 Black resigns",
            "1. e4 e5 {Black resigns} 1-0",
            told,
        ),
        ("1. e4 e5 1-0 (time)", "1. e4 e5 {(time)} 1-0", told),
        (
            "1. e4 e5 1-0 (1... c5 2. Nf3\n d6 (2... Nc6)) ",
            "1. e4 e5 {(1... c5 2. Nf3 d6 (2... Nc6))} 1-0",
            told,
        ),
        (
            "1. e4 e5 1-0 (open\n\n; x",
            "1. e4 e5 {(open x} 1-0",
            &[Liberty::WordsBehind, Liberty::CommentBehind],
        ),
        (
            "1. e4 e5 1-0 Black {who has} lost",
            "1. e4 e5 {Black who has lost} 1-0",
            &[Liberty::WordsBehind, Liberty::CommentBehind],
        ),
        ("1. e4 e5 1-0 12 minutes", "1. e4 e5 {12 minutes} 1-0", told),
        (
            "1. e4 e5 1-0 Black saw that he\nhad to lose a piece,\r\nor more.\n",
            "1. e4 e5 {Black saw that he had to lose a piece, or more.} 1-0",
            told,
        ),
        (
            "1. e4 e5 1-0 [comment \"x\"]",
            "1. e4 e5 {[comment \"x\"]} 1-0",
            told,
        ),
        ("1. e4 e5 1-0 )", "1. e4 e5 1-0", &[Liberty::SignsBehind]),
        ("1. e4 e5 1-0 (", "1. e4 e5 1-0", &[Liberty::SignsBehind]),
        ("1. e4 e5 1-0 $20", "1. e4 e5 $20 1-0", told),
    ]);
    for (text, games) in [
        (
            "1. e4 1-0 White forfeits\n[White \"A\"]\n\n1. d4 0-1",
            &["1. e4 {White forfeits} 1-0", "1. d4 0-1"][..],
        ),
        (
            "1. e4 1-0 mate 1. d4 0-1 time\n1. c4 *",
            &["1. e4 {mate} 1-0", "1. d4 {time} 0-1", "1. c4 *"],
        ),
        (
            "e4 e5 1-0 (time)\nd4 d5 0-1",
            &["1. e4 e5 {(time)} 1-0", "1. d4 d5 0-1"],
        ),
        ("e4 1-0 time\nd4 0-1", &["1. e4 {time} 1-0", "1. d4 0-1"]),
        (
            "1. e4 1-0 [time] [White \"A\"]\n\n1. d4 *",
            &["1. e4 {[time]} 1-0", "1. d4 *"],
        ),
    ] {
        let read: Vec<String> = read(text).into_iter().map(|(moves, _)| moves).collect();
        assert_eq!(read, games, "{text}");
    }
    let bad = &read("1. e4 e5 1-0 Nf3 Nc6 *")[1].0;
    assert!(bad.contains("moves behind the result"), "{bad}");
}

#[test]
fn blanks_of_any_width_part_words() {
    for blank in [
        "\u{200b}", "\u{feff}", "\u{2009}", "\u{2003}", "\u{3000}", "\u{202f}", "\u{2060}",
    ] {
        let text = format!("1.{blank}e4{blank}e5 2. Nf3{blank} *");
        assert_eq!(read(&text)[0].0, "1. e4 e5 2. Nf3 *", "{blank:?}");
    }
}

#[test]
fn words_that_are_no_utf_8_are_of_the_page() {
    for (page, text, expected) in [
        (
            encoding_rs::WINDOWS_1251,
            &b"1. e4 e5 2. \xcaf3 \xcac6 3. \xd1b5 \xcb\xe0 *"[..],
            "\"Ла\"",
        ),
        (
            encoding_rs::WINDOWS_1251,
            b"1. e4 e5 2. \xcaf3 \xcac6 3. \xd1b5 *",
            "1. e4 e5 2. Nf3 Nc6 3. Bb5 *",
        ),
        (
            encoding_rs::WINDOWS_1252,
            b"1. e4 \xb1 e5\xb1 2. d4\xd7 *",
            "\"d4×\"",
        ),
        (
            encoding_rs::WINDOWS_1252,
            b"1. e4 \xb1 e5\xb1 2. Nf3 *",
            "1. e4 $16 e5 $16 2. Nf3 *",
        ),
    ] {
        let page = EightBitPage::of_encoding(page).unwrap();
        let mut games = GameTexts::new(text).in_page(page);
        let found = match games.next_leniently().unwrap() {
            Ok(read) => moves_of(&read.game),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn arrows_and_squares_of_neighbouring_comments_are_one_list() {
    check(&[
        (
            "1. e4 {[%cal Ge2e4]} {[%csl Ra1]} {[%cal Rd2d4]} e5 *",
            "1. e4 {[%cal Ge2e4,Rd2d4] [%csl Ra1]} 1... e5 *",
            &[],
        ),
        (
            "1. e4 {[%csl Ga1]} {so} {[%csl Rb1]} e5 {[%csl Rc1]} *",
            "1. e4 {[%csl Ga1,Rb1] so} 1... e5 {[%csl Rc1]} *",
            &[],
        ),
    ]);
}

#[test]
fn a_nag_before_the_first_move_is_that_moves() {
    use Liberty::NagBefore;
    check(&[
        ("$10 1. e4 *", "1. e4 $10 *", &[NagBefore]),
        ("1. ! e4 $14 *", "1. e4 $1 $14 *", &[NagBefore]),
        (
            "1. e4 ( $1 d4) e5 *",
            "1. e4 (1. d4 $1) 1... e5 *",
            &[NagBefore],
        ),
        (
            "1. e4 ($6) e5 *",
            "1. e4 $6 e5 *",
            &[NagBefore, Liberty::NoMoves],
        ),
        (
            "1. e4 $1 (D) (!) e5 *",
            "1. e4 $1 $201 e5 *",
            &[Liberty::Marks, NagBefore, Liberty::NoMoves],
        ),
        ("$10 *", "{$10} *", &[NagBefore]),
    ]);
    let many = "$10 ".repeat(crate::game::MAX_ANNOTATIONS + 1);
    assert!(read(&many)[0].0.contains("more than 262144 remarks"));
}

#[test]
fn unreadable_words_are_refused_with_their_position() {
    for (text, expected) in [
        ("1. e4 e5 2. Ke3 *", "1:13: \"Ke3\" is illegal here"),
        ("1. Sf3 Sf6 2. Sf9 *", "1:15: \"Sf9\""),
        ("Dear reader, 1. e4 *", "1:1: \"Dear\" is not a move"),
        ("{only this}", "the end of a game without its result"),
        ("1. e4 {open", "1:7: a comment without end"),
        ("1. e4 (1. d4", "1:7: a variation without end"),
        ("1. e4 e5 2. N", "1:13: \"N\" is not a move"),
        (
            "8/8/8/8/8/4k3/8/4K3 w - - bm Kd1; id \"1. e4\";",
            "1:1: \"8/8/8/8/8/4k3/8/4K3\" is a position, as in an EPD file",
        ),
        (
            "1. e4 d5 2. exd5 Qxd5 3. P@e4 *",
            "1:26: \"P@e4\" is a drop, as in Crazyhouse; expected a move of chess",
        ),
        (
            "1. e4 [%clk 0:01:00] e5 *",
            "expected a command such as %clk in a comment, within { and }",
        ),
        (
            "[x",
            "1:3: nothing more; expected \" and the value of the tag",
        ),
        ("[White \"A\"]\n[Black \"B", "2:10: a tag pair without end"),
        (
            "[Variant \"Crazyhouse\"]\n\n1. e4 e5 2. N@f3 *",
            "1:11: \"Crazyhouse\" as Variant; expected chess or Chess960",
        ),
    ] {
        let found = &read(text)[0].0;
        assert!(found.contains(expected), "{text}: {found}");
    }
    let kept = read("[Variant \"From Position\"]\n\n1. e4 e5 *");
    assert_eq!(kept[0].0, "1. e4 e5 *");
}

#[test]
fn changed_forms_are_reported_for_strict_pgn_too() {
    use Liberty::{DateForm, FenForm, NoSetUp, PartsOfSeconds, RoundForm};
    for (time, is_cut) in [
        ("0:00:01.5", true),
        ("1.0", false),
        ("0:01:30", false),
        ("x.5", false),
    ] {
        let told = &read(&format!("1. e4 {{[%emt {time}]}} *"))[0].1;
        assert_eq!(told.contains(&PartsOfSeconds), is_cut, "{time}: {told:?}");
    }
    let fen = |fen: &str| format!("[FEN \"{fen}\"]");
    for (tags, expected) in [
        ("[Round \"01\"]".to_owned(), Some(RoundForm)),
        ("[Round \"5(2)\"]".to_owned(), Some(RoundForm)),
        ("[Round \"\"]".to_owned(), Some(RoundForm)),
        ("[Round \"5.2\"]".to_owned(), None),
        ("[Round \"?\"]".to_owned(), None),
        ("[Round \"-\"]".to_owned(), None),
        ("[Date \"-\"]".to_owned(), Some(DateForm)),
        ("[Date \"????.??.??\"]".to_owned(), None),
        ("[SetUp \"0\"]".to_owned(), Some(NoSetUp)),
        (fen("4k3/8/8/8/8/8/8/4K3 w - - 0 0"), Some(FenForm)),
        (fen("4k3/8/8/3p4/8/8/8/4K3 w - d6 0 1"), Some(FenForm)),
        (fen("4k3/8/8/8/8/8/8/4K3 w - - 12 34"), None),
        (fen("4k3/8/8/8/8/8/8/4K3 w - - 0 1"), None),
        (
            "[Variant \"Chess960\"]".to_owned() + &fen("1r2k1r1/8/8/8/8/8/8/1R2K1R1 w GBgb - 0 1"),
            Some(FenForm),
        ),
    ] {
        let text = format!("{tags}\n\n*");
        assert!(crate::pgn::decode(text.as_bytes()).is_ok(), "{tags}");
        let told = &read(&text)[0].1;
        assert!(told.iter().copied().eq(expected), "{tags}: {told:?}");
    }
}

#[test]
fn a_game_is_read_again_only_in_languages_that_say_another_legal_move() {
    let apart = |text: &str, language: Option<usize>, others: u32| {
        let begin = GameTexts::new(text.as_bytes()).lexer;
        let reading = LenientReading {
            language: language.map(|at| &LANGUAGES[at]),
            others,
            follows: None,
        };
        read_in(&begin, reading).others.apart
    };
    let all = (1 << LANGUAGES.len()) - 1;
    let german = 1 << 1;
    // The queen of ten languages, which is all that the game has.
    let queen = apart("1. e4 e5 2. Dh5 Dh4 *", None, all);
    assert_eq!(queen.count_ones(), 10);
    assert_eq!(apart("1. e4 e5 2. Dh5 Dh4 *", Some(1), queen & !german), 0);
    for (text, languages) in [
        ("1. e4 e5 2. Nf3 Nc6 3. Ke3 *", 0),
        ("1. e4 e5 2. d9 *", 0),
        ("1. e4 e5 2. e5 *", 0),
        ("1. e4 Nf6 {a} } *", 0),
        // The rook of Hungarian cannot go to d4; a7 says nothing of it.
        (
            "[FEN \"4k3/8/8/8/8/2B5/8/R3K3 w - - 0 1\"]\n\n1. Bd4 Kd8 2. Ba7 *",
            0,
        ),
        // The knight of German and Polish; the bishop of Czech cannot.
        ("1. Sf3 Sf6 *", 2),
    ] {
        assert_eq!(apart(text, None, all).count_ones(), languages, "{text}");
    }
}

#[test]
fn moves_in_digits_are_moves() {
    use Liberty::{MoveForm, Numbers};
    let told = &[MoveForm][..];
    check(&[
        (
            "1. 5254 5755 2. 7163 2836 1/2-1/2",
            "1. e4 e5 2. Nf3 Nc6 1/2-1/2",
            told,
        ),
        ("1 5254 5755 2 7163 2836 *", "1. e4 e5 2. Nf3 Nc6 *", told),
        (
            "1. 5254 5755 (3735) 2. 7163 2836 3. 6134 6857 4. 5171 *",
            "1. e4 e5 (1... c5) 2. Nf3 Nc6 3. Bc4 Be7 4. O-O *",
            told,
        ),
        (
            "[FEN \"7k/4P3/8/8/8/8/8/K7 w - - 0 1\"]\n\n57582 *",
            "1. e8=R+ *",
            told,
        ),
        // Numbers that no move follows.
        (
            "1. e4 e5 12345 2. Nf3 7 8. Nc6 *",
            "1. e4 e5 2. Nf3 Nc6 *",
            &[Numbers],
        ),
        ("1 e4 e5 2 Nf3 {x} *", "1. e4 e5 2. Nf3 {x} *", &[]),
        ("1 . e4 e5 2 {x} Nf3 *", "1. e4 e5 {x} 2. Nf3 *", &[]),
        // The number that is due.
        (
            "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 5254\"]\n\n5254 e4 *",
            "5254. e4 *",
            &[],
        ),
    ]);
    for text in ["1. 5254 5755 2. 5256 *", "1. 1111 5755 *"] {
        assert!(read(text)[0].0.contains("is illegal here"), "{text}");
    }
}

#[test]
fn a_save_refuses_numbers_without_dots_that_are_not_due() {
    for (text, why) in [
        (
            "1. e4 e5 12345 2. Nf3 *",
            "1:10: \"12345\" is a number that no move follows",
        ),
        (
            "1. e4 e5 2. Nf3 7 2... Nc6 *",
            "1:17: \"7\" is a number that no move follows",
        ),
        (
            "1. e4 e5 3 Nf3 *",
            "1:10: \"3\" is not the number of the next move",
        ),
        ("1. e4 e5 (1... c5 7) *", "1:19: \"7\" is a number"),
        ("1. e4 e5 99999999999 Nf3 *", "1:10: \"99999999999\" is not"),
        ("1. 5254 5755 *", "1:4: \"5254\" is a number that"),
        ("1. 5254 *", "1:4: \"5254\" is a number that"),
    ] {
        let error = crate::pgn::decode(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(why), "{text}: {error}");
    }
}

#[test]
fn a_variation_with_whites_number_is_of_whites_move() {
    use Liberty::{Numbers, OtherSide};
    let queens = "1. e4 e5 2. Qh5 Qh4 3. Qxe5+ Qe7 4. Qd4 Qe5";
    assert!(crate::pgn::decode(format!("{queens} *").as_bytes()).is_ok());
    check(&[
        (
            &format!("{queens} (4. Qd5 Qd6 5. Qb3) 5. Qe3 *"),
            "1. e4 e5 2. Qh5 Qh4 3. Qxe5+ Qe7 4. Qd4 (4. Qd5 Qd6 5. Qb3) 4... Qe5 5. Qe3 *",
            &[OtherSide],
        ),
        // Black's own, though numbered so; and where all are.
        (
            "1. e4 e5 (1. c5 2. Nf3) 2. Nf3 *",
            "1. e4 e5 (1... c5 2. Nf3) 2. Nf3 *",
            &[Numbers],
        ),
        (
            "1. e4 e5 (1... c5) (1... d5 2. exd5) *",
            "1. e4 e5 (1... c5) (1... d5 2. exd5) *",
            &[],
        ),
    ]);
    for text in [
        "1. e4 e5 (1. Qd9) *",
        "1. e4 e5 (1. Kb4) 2. Nf3 *",
        "1. e4 e5 2. d4 (2. Nf3 d6 (2. Ke8)) *",
    ] {
        let error = &read(text)[0].0;
        assert!(error.contains("with the number of White's move"), "{error}");
    }
    // Where Black's moves have numbers with one dot.
    let own = "1. e4 1. e5 2. Nf3 2. Nf6 3. Bc4 3. Bc5 4. O-O 4. d6 (4. d5) *";
    assert!(
        read(own)[0].0.ends_with("d6 (4... d5) *"),
        "{:?}",
        read(own)
    );
}

#[test]
fn moves_in_capitals_are_of_a_pawn_or_a_bishop() {
    let start = "1. E4 D5 2. NC3 D4 3. A3 DXC3 4.";
    let read_as = "1. e4 d5 2. Nc3 d4 3. a3 dxc3 4.";
    check(&[(
        &format!("{start} BXC3 *"),
        &format!("{read_as} bxc3 *"),
        &[Liberty::MoveForm],
    )]);
    let fen = |bishop: &str| format!("[FEN \"4k3/8/8/8/8/2p5/1P6/{bishop} w - - 0 1\"]\n\n");
    for board in ["4K3", "4B1K1"] {
        let text = format!("{}1. BXC3 *", fen(board));
        let is_clear = board == "4K3";
        let found = &read(&text)[0].0;
        assert_eq!(found.starts_with("1. bxc3"), is_clear, "{found}");
        assert_eq!(found.contains("ambiguous"), !is_clear, "{found}");
    }
}

#[test]
fn a_few_letters_that_english_has_tell_no_language() {
    for (set_up, moves, found) in [
        (
            "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1",
            "1. Kg1 *",
            "\"Kg1\" is illegal",
        ),
        (
            "8/8/8/8/3k4/8/4K2R/8 w - - 0 1",
            "1. Rd2 Re4 *",
            "\"Rd2\" is illegal",
        ),
        (
            "4k3/P7/8/8/8/8/8/4K3 w - - 0 1",
            "1. a8=K *",
            "\"a8=K\" is not a move",
        ),
        (
            "8/8/8/8/3k4/8/4K2R/8 w - - 0 1",
            "1. Rd2!? Re4?! 2. Re2 *",
            "\"Rd2\" is illegal",
        ),
    ] {
        let read = read(&format!("[FEN \"{set_up}\"]\n\n{moves}\n"));
        assert!(read[0].0.contains(found), "{moves}: {read:?}");
    }
    let kings = "[FEN \"8/8/8/8/3k4/8/4K2R/8 w - - 0 1\"]\n\n1. Rd2 Re4 2. Re2 Rd4 *\n";
    assert_eq!(read(kings)[0].0, "1. Kd2 Ke4 2. Ke2 Kd4 *");
    let one_of_its_own = "[FEN \"8/8/8/8/3k4/8/4K2R/8 w - - 0 1\"]\n\n1. Th1 *\n";
    assert_eq!(read(one_of_its_own)[0].0, "1. Rh1 *");
}

#[test]
fn results_in_variations_are_left_out_and_told() {
    for (text, expected) in [
        ("1. e4 (1. d4 1-0) e5 1-0", "1. e4 (1. d4) 1... e5 1-0"),
        ("1. e4 (1. d4 1-0 d5) e5 *", "1. e4 (1. d4 d5) 1... e5 *"),
    ] {
        let expected = (expected.to_owned(), vec![Liberty::ResultInVariation]);
        assert_eq!(read(text), [expected], "{text}");
    }
    assert_eq!(read("1. e4 (1. d4 *) e5 *")[0].1, []);
    let amid = crate::pgn::decode(b"1. e4 (1. d4 1-0 d5) e5 *").unwrap_err();
    let told = "the result 1-0 amid a variation; expected a move or )";
    assert!(amid.to_string().ends_with(told), "{amid}");
    assert!(crate::pgn::decode(b"1. e4 (1. d4 1-0) e5 *").is_ok());
}

#[test]
fn a_capital_before_small_letters_is_a_piece_of_another_language() {
    // Each is legal for the pawn of that file, too.
    for (text, language, read_as) in [
        (
            "1. e4 e6 2. d4 d5 3. Cc3 c5 4. exd5 exd5 *",
            "French letters",
            "1. e4 e6 2. d4 d5 3. Nc3 c5 4. exd5 exd5 *",
        ),
        (
            "1. d4 f5 2. Cc3 d5 3. Ff4 e6 *",
            "French letters",
            "1. d4 f5 2. Nc3 d5 3. Bf4 e6 *",
        ),
        (
            "1. e4 d5 2. exd5 Dxd5 3. Cc3 Da5 4. d4 c6 *",
            "French letters",
            "1. e4 d5 2. exd5 Qxd5 3. Nc3 Qa5 4. d4 c6 *",
        ),
    ] {
        check(&[(text, read_as, &[Liberty::Letters(language)])]);
    }
    let capitals = "1. E4 E5 2. NF3 NC6 3. D4 EXD4 4. C3 DxC3 *";
    let read_as = "1. e4 e5 2. Nf3 Nc6 3. d4 exd4 4. c3 dxc3 *";
    check(&[(capitals, read_as, &[Liberty::MoveForm])]);
    assert!(
        read("1. e4 Cc6 2. Ac4 *")[0]
            .0
            .starts_with("1. e4 Nc6 2. Bc4")
    );
    // No pawn is written so.
    assert!(!read("1. e4 e5 2. CC3 *")[0].0.starts_with("1. e4 e5 2. c3"));
}

#[test]
fn letters_of_pawns_are_told_from_knights_of_dutch() {
    let dutch = &[Liberty::Letters("Dutch letters")][..];
    let pawns = &[Liberty::Letters("letters for pawns, too")][..];
    check(&[
        (
            "1. d4 Pf6 2. Pc3 d5 3. Lf4 *",
            "1. d4 Nf6 2. Nc3 d5 3. Bf4 *",
            dutch,
        ),
        ("1. Pe4 Pe5 2. Nf3 Nc6 *", "1. e4 e5 2. Nf3 Nc6 *", pawns),
    ]);
    let either = &read("1. d4 Pf6 2. c4 e6 3. Pf3 d5 *")[0].0;
    assert!(either.contains("more than one language"), "{either}");
}

#[test]
fn games_on_one_line_are_told_apart_by_their_comments_and_results() {
    let text = "[Event \"a\"] [White \"A\"] [Result \"*\"] 1.e4 e5 * [Event \"b\"] [White \"B\"] \
        [Result \"*\"] {x} 1.d4 * [Event \"c\"] [Result \"0-1\"] 0-1 [Event \"d\"] [White \"D\"] \
        1.c4 *\n";
    let moves: Vec<String> = crate::pgn::Sections::new(text.as_bytes())
        .flat_map(|section| {
            let section = section.unwrap();
            read(std::str::from_utf8(&section.text).unwrap())
        })
        .map(|(moves, _)| moves)
        .collect();
    assert_eq!(moves, ["1. e4 e5 *", "{x} 1. d4 *", "0-1", "1. c4 *"]);
}

#[test]
fn a_date_in_another_order_is_told_as_that() {
    for date in ["03.04.2020", "04/13/2020"] {
        let text = format!("[Date \"{date}\"]\n\n1. e4 *");
        assert_eq!(read(&text)[0].1, [Liberty::DateOrder], "{date}");
    }
}

#[test]
fn moves_behind_a_game_of_tags_alone_are_told() {
    let tags = "[White \"A\"]\n[Result \"1-0\"]";
    for (moves, expected) in [
        ("\n1-0\n\n1. e4 e5 1-0\n", [true, false].as_slice()),
        ("\n\n1-0 1. e4 e5 1-0\n", &[true, false]),
        (" 1-0\n\ne4 e5 1-0\n", &[true, false]),
        (
            "\n\n1-0\n\n[White \"B\"]\n\n1. e4 e5 1-0\n",
            &[false, false],
        ),
        ("\n\n1. e4 1-0\n\n1. e4 e5 1-0\n", &[false, false]),
        ("\n\n1-0\n", &[false]),
    ] {
        let text = format!("{tags}{moves}");
        let mut texts = GameTexts::new(text.as_bytes());
        let mut told = Vec::new();
        while let Some(read) = texts.next_leniently() {
            let taken = read.unwrap().taken;
            let mut liberties = taken.list().iter();
            told.push(liberties.any(|(taken, _)| *taken == Liberty::ResultInFront));
        }
        assert_eq!(told, expected, "{text}");
    }
}

#[test]
fn liberties_are_reported_at_their_position() {
    for (text, liberty, place) in [
        ("[White A]\n\n1. e4 *", Liberty::TagForm, (1, 1)),
        (
            "[White \"A\"]\n[WHITE \"B\"]\n[Date \"1/2/2004\"]\n\n*",
            Liberty::DateUnsure,
            (3, 8),
        ),
        (
            "[White \"A\"]\n[Round \"01\"]\n\n*",
            Liberty::RoundForm,
            (2, 9),
        ),
        (
            "[White \"A\"]\n[White \"A\"]\n\n*",
            Liberty::TagTwice,
            (2, 9),
        ),
        ("1. e4 e5\n2. Nf3 !!? Nc6 *", Liberty::Marks, (2, 8)),
        ("1. e4 e5\n2. Nf3 += Nc6 *", Liberty::Marks, (2, 8)),
        ("1. e4 e5\n2. nf3 *", Liberty::MoveForm, (2, 4)),
        ("1. e4 e5\n2. Nf3 {a} <x> *", Liberty::Angles, (2, 12)),
        ("1. e4 e5\n2. Nf3 1:0", Liberty::ResultSpelling, (2, 8)),
        ("1. e4 e5\n2. Nf3\n{end}", Liberty::NoResult, (3, 6)),
        ("1. e4 e5\n2. Nf3 $ 2... Nc6 *", Liberty::OtherNag, (2, 8)),
        ("1. e4 e5\n1-0 {a}", Liberty::CommentBehind, (2, 5)),
        ("1. e4 e5\n1-0 1-0", Liberty::ResultTwice, (2, 5)),
        (
            "[White \"A\"]\n\n1-0\n1. e4 e5 1-0",
            Liberty::ResultInFront,
            (3, 1),
        ),
        ("1. e4 e5\n1-0 time", Liberty::WordsBehind, (2, 5)),
        (
            "1. e4 e5\n2. Sf3 *",
            Liberty::Letters("German letters"),
            (2, 4),
        ),
        ("1. e4 e5\n5. Nf3 *", Liberty::Numbers, (2, 1)),
        ("1. e4 {a}\n{[%cblang xx] b} e5 *", Liberty::Misread, (2, 1)),
        (
            "1. e4 {a} e5\n{[%emt 0:00:01.5] b} *",
            Liberty::PartsOfSeconds,
            (2, 1),
        ),
        ("1. e4\n{a \u{1} b} e5 *", Liberty::Controls, (2, 1)),
        ("1. e4\n{don\u{92}t} e5 *", Liberty::Controls, (2, 1)),
    ] {
        let mut games = GameTexts::new(text.as_bytes());
        let read = games.next_leniently().unwrap().unwrap();
        let taken = read
            .taken
            .list()
            .iter()
            .find(|(taken, _)| *taken == liberty);
        let found = taken.map(|(_, at)| (at.line, at.column(text.as_bytes())));
        assert_eq!(found, Some(place), "{text}: {:?}", read.taken);
    }
}

#[test]
fn a_fen_that_is_not_all_of_chess_is_told() {
    use Liberty::{FenOfVariant, NoKing, VoidCastling};
    let kings = "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1";
    let usual = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";
    for (fen, told, kept) in [
        (kings.to_owned(), &[][..], false),
        (kings.replace("4K3", "8"), &[NoKing], false),
        (kings.replace("- -", "Kq -"), &[VoidCastling], false),
        (format!("{usual} w KQkq - 3+3 0 1"), &[FenOfVariant], true),
        (format!("{usual}[Qn] w KQkq - 0 1"), &[FenOfVariant], true),
    ] {
        let text = format!("[FEN \"{fen}\"]\n\n1. e4 *");
        let read = GameTexts::new(text.as_bytes()).next_leniently().unwrap();
        let read = read.unwrap();
        assert_eq!(read.taken.liberties(), told, "{fen}");
        let foreign = [("FEN".to_owned(), fen.clone())];
        let foreign = if kept { &foreign[..] } else { &[] };
        assert_eq!(read.game.foreign_tags, foreign, "{fen}");
        let mut ours = Vec::new();
        crate::pgn::encode(&read.game, &[], &mut ours);
        let again = crate::pgn::decode(&ours).unwrap();
        assert_eq!(again.foreign_tags, foreign, "{fen}");
    }
}

#[test]
fn players_are_named_if_one_of_them_is_known() {
    let players = |text: &str| players_of(text.as_bytes(), EightBitPage::WESTERN);
    let named = "{a}\n[Event \"E\"]\n[White \"Tal\"]\n[black \"Botvinnik\"]\n\n*";
    assert_eq!(players(named).as_deref(), Some("Tal \u{2013} Botvinnik"));
    assert_eq!(
        players("[White \"Tal\"]\n*").as_deref(),
        Some("Tal \u{2013} ?")
    );
    let black = "[White \"?\"]\n[Black \"Tal\"]\n*";
    assert_eq!(players(black).as_deref(), Some("? \u{2013} Tal"));
    let long = format!("[White \"{}\"]\n*", "x".repeat(50));
    let cut = format!("{} \u{2013} ?", "x".repeat(40));
    assert_eq!(players(&long), Some(cut));
    for none in [
        "*",
        "[White \"?\"]\n[Black \"\"]\n*",
        "1. e4 [White \"Tal\"] *",
    ] {
        assert_eq!(players(none), None, "{none}");
    }
}

/// Each of these would take hours if what follows were searched for each of its tokens.
#[test]
fn a_long_text_is_walked_once() {
    let many = |token: &str| token.repeat(1 << 16);
    for (front, token, end) in [
        ("1. e4 e5 ", "1.", ""),
        ("1. e4 ", "< ", " *"),
        ("1. e4 ", "<> ", " *"),
        ("[Foo \"", "\"]", "\"]\n\n1. e4 *"),
        ("[Foo \"", "\t", "\n[White \"y\"]\n\n1. e4 *"),
        ("[Event \"a\"]\n", "[A x] ", "\n\n1. e4 *"),
        ("[Event \"a\"]\n", "[A \"x] ", "\n\n1. e4 *"),
        ("1. e4 1-0 x ", "1. [A \"b ", "\n"),
    ] {
        let text = format!("{front}{}{end}", many(token));
        assert!(!read(&text).is_empty(), "{token:?}");
    }
}

#[test]
fn three_dots_are_three_dots_in_each_page() {
    for (page, byte) in [
        (encoding_rs::WINDOWS_1252, 0x85),
        (encoding_rs::WINDOWS_1251, 0x85),
        (encoding_rs::MACINTOSH, 0xc9),
    ] {
        let mut text = b"1. e4 {x} 1? e5 2.? Nf3 ? Nc6 *".to_vec();
        text.iter_mut()
            .filter(|byte| **byte == b'?')
            .for_each(|mark| *mark = byte);
        let page = EightBitPage::of_encoding(page).unwrap();
        let mut games = GameTexts::new(&text).in_page(page);
        let game = games.next_leniently().unwrap().unwrap().game;
        assert_eq!(moves_of(&game), "1. e4 {x} 1... e5 2. Nf3 Nc6 *");
    }
    // There it is a part of a letter.
    assert_eq!(read("1. e4 {Å} e5 Åx *").len(), 1);
}
