//! Texts of all kinds, and what is read of them.

use super::*;
use crate::game::{Annotation, Evaluation, Position, Quotation, Training};
use crate::pgn::parse_move;

/// The whole game as text again, without its tags.
fn read(text: &str) -> String {
    match decode(text.as_bytes()) {
        Ok(game) => moves_of(&game),
        Err(error) => error.to_string(),
    }
}

fn moves_of(game: &Game) -> String {
    let mut out = Vec::new();
    crate::pgn::encode(game, &[], &mut out);
    let text = String::from_utf8(out).unwrap();
    let (_, moves) = text.split_once("\n\n").unwrap();
    moves.trim_end().replace('\n', " ")
}

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(read(text), *expected, "{text:?}");
    }
}

#[test]
fn long_words_of_remarks_come_back_whole() {
    let page = format!("https://example.org/{}", "path/".repeat(100));
    let chinese = "棋".repeat(300);
    let command = format!("[%foo {}]", "y".repeat(500));
    for remark in [
        &page,
        &chinese,
        &format!("see {page} and {chinese}, {page}"),
        &command,
        &format!("{command} {chinese}"),
    ] {
        let game =
            decode(format!("1. e4 {{{remark}}} ({{{remark}}} 1. d4) e5 *").as_bytes()).unwrap();
        let mut out = Vec::new();
        crate::pgn::encode(&game, &[], &mut out);
        let text = String::from_utf8(out).unwrap();
        let words = text.lines().filter(|line| !line.starts_with('['));
        let longest = words.flat_map(str::split_whitespace).map(str::len).max();
        // One brace or bracket may be glued to a word of 200 bytes.
        assert!(longest.is_some_and(|longest| longest <= 203), "{longest:?}");
        let again = decode(text.as_bytes()).unwrap();
        assert_eq!(again.annotations, game.annotations, "{remark}");
        let told = format!("{:?}", again.annotations);
        assert_eq!(told.matches(remark.as_str()).count(), 2, "{told}");
    }
}

#[test]
fn pgn_of_common_programs_is_read() {
    check(&[
        ("*", "*"),
        ("[White \"A\"]\n*", "*"),
        (
            "[WhiteClock \"1:07:00\"]\n[TimeControl \"40/7200:3600\"]\n1. e4 *",
            "1. e4 *",
        ),
        ("1. e4 e5 2. Nf3 *", "1. e4 e5 2. Nf3 *"),
        ("1.e4 e5 2.Nf3 1-0", "1. e4 e5 2. Nf3 1-0"),
        ("e4 e5 Nf3 *", "1. e4 e5 2. Nf3 *"),
        ("7. e4 1... e5 2 Nf3 ... *", "1. e4 e5 2. Nf3 *"),
        (
            "\u{feff}1. e4\r\ne5\r2. Nf3\u{a0}Nc6 *",
            "1. e4 e5 2. Nf3 Nc6 *",
        ),
        ("% a line\n1. e4\n% (\ne5 *", "1. e4 e5 *"),
        ("1. e4 ; good\n1... e5 *", "1. e4 {good} 1... e5 *"),
        ("1. e4 {a {b} c} e5 *", "1. e4 {a (b) c} 1... e5 *"),
        ("1. e4 {a { b} e5 {c} *", "1. e4 {a ( b} 1... e5 {c} *"),
        (
            "1. e4! e5 !? 2. Nf3 $1$14 *",
            "1. e4 $1 e5 $5 2. Nf3 $1 $14 *",
        ),
        (
            "1. e4 (1. d4 d5 1-0) e5 1/2",
            "1. e4 (1. d4 d5) 1... e5 1/2-1/2",
        ),
        (
            "1. e4 (1. d4 (1. c4)) (1. b3) e5 *",
            "1. e4 (1. d4) (1. c4) (1. b3) 1... e5 *",
        ),
        ("1. e4 () e5 *", "1. e4 e5 *"),
        (
            "1. -- Z0 2. null pass 3. @@@@ 0000 *",
            "1. -- -- 2. -- -- 3. -- -- *",
        ),
        (
            "1. e4 a6 2. e5 d5 3. exd6 e.p. *",
            "1. e4 a6 2. e5 d5 3. exd6 *",
        ),
        ("[Result \"1-0\"][White \"A\"] 1. e4 1-0", "1. e4 1-0"),
        ("1. e4 +:-", "1. e4 1-0"),
        ("1. Nf3 Nf6 0-0", "1. Nf3 Nf6 *"),
        ("1. e4 *\u{1a}", "1. e4 *"),
    ]);
}

#[test]
fn comments_stand_where_they_belong() {
    check(&[
        ("{a} 1. e4 {b} e5 *", "{a} 1. e4 {b} 1... e5 *"),
        ("1. e4 {a} $1 {b} *", "1. e4 $1 {a b} *"),
        ("1. e4 ({a} 1. d4 {b}) *", "1. e4 ({a} 1. d4 {b}) *"),
        ("1. e4 ({a}) *", "1. e4 {a} *"),
        ("1. e4 {[%cbpre 1] a} e5 *", "1. e4 {a} 1... e5 *"),
        (
            "1. e4 {a} {[%cbpre] b} e5 *",
            "1. e4 {a} {[%cbpre 1] b} 1... e5 *",
        ),
        ("{a[%cbpre 1] b} 1. e4 *", "{a} {[%cbpre 1] b} 1. e4 *"),
        (
            "1. e4 {a[%cbpre\n1] b} (1. d4) e5 *",
            "1. e4 {a} (1. d4) {[%cbpre 1] b} 1... e5 *",
        ),
        ("1. e4 {[%cbpre 1] a} *", "1. e4 {a} *"),
        (
            "1. e4 {a} {[%cblang de] [%cbpre 1] b} e5 *",
            "1. e4 {a} {[%cbpre 1] [%cblang de] b} 1... e5 *",
        ),
        (
            "1. e4 {a [%cblang de] [%cbpre 1] b} e5 *",
            "1. e4 {a} {[%cbpre 1] [%cblang de] b} 1... e5 *",
        ),
        ("{a} {[%cblang de] b} *", "{a} {[%cblang de] b} *"),
    ]);
}

/// The whole text of a game, tags of no matter left out.
fn with_tags(text: &str) -> String {
    let game = decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut out = Vec::new();
    crate::pgn::encode(&game, &[], &mut out);
    let text = String::from_utf8(out).unwrap();
    let is_told = |line: &&str| !line.starts_with('[') || line.starts_with("[Cbh");
    let lines: Vec<&str> = text.lines().filter(is_told).collect();
    lines.join(" ").trim().to_owned()
}

#[test]
fn tags_say_once_what_most_remarks_are() {
    for (text, expected) in [
        ("1. e4 {a} e5 {b} *", " 1. e4 {a} 1... e5 {b} *"),
        (
            "1. e4 {[%cblang en] a} e5 {[%cblang en] b} 2. d4 {[%cblang de] c} d5 {d} *",
            "[CbhLang \"en\"]  1. e4 {a} 1... e5 {b} 2. d4 {[%cblang de] c} 2... d5 \
             {[%cblang any] d} *",
        ),
        (
            "[CbhLang \"de\"] {x [%cblang en] y} 1. e4 {z} *",
            "[CbhLang \"de\"]  {x} {[%cblang en] y} 1. e4 {z} *",
        ),
        // A comment between the tags is of the language that they say.
        (
            "{x} [CbhLang \"de\"] 1. e4 *",
            "[CbhLang \"de\"]  {x} 1. e4 *",
        ),
        (
            "[CbhLead \"64\"] 1. e4 {a} e5 {[%cblead 0] b} 2. d4 {c} *",
            "[CbhLead \"64\"]  1. e4 {a} 1... e5 {[%cblead 0] b} 2. d4 {c} *",
        ),
        ("[CbhLang \"any\"] 1. e4 {a} *", " 1. e4 {a} *"),
        (
            "1. e4 {a} {[%cblang de] b} {[%cblang any] c} *",
            "1. e4 {a} {[%cblang de] b} {[%cblang any] c} *",
        ),
        (
            "1. e4 {[%cblang en] a [%cblang de] b} *",
            "[CbhLang \"en\"]  1. e4 {a} {[%cblang de] b} *",
        ),
    ] {
        let expected = expected.trim();
        assert_eq!(with_tags(text), expected, "{text}");
        assert_eq!(with_tags(&with_tags(text)), expected, "again: {text}");
    }
}

/// What ChessBase's command does not say of a question stands in tags.
#[test]
fn tags_say_what_is_stored_of_a_question() {
    let question = "[%tqu \"En\",\"Win?\",\"\",\"\",\"e7e5\",\"Yes\",10]";
    let game = decode(format!("1. e4 {{{question}}} *").as_bytes()).unwrap();
    let mut stored = game.clone();
    stored.annotations = crate::game::Annotations::default();
    for (ply, remark) in game.annotations.iter() {
        let mut remark = remark.clone();
        if let Annotation::Training(training) = &mut remark {
            training.payload = (0..=255).cycle().take(300).collect();
        }
        stored.annotations.add(ply, remark);
    }
    let mut text = Vec::new();
    crate::pgn::encode(&stored, &[], &mut text);
    let text = String::from_utf8(text).unwrap();
    let moves = |text: &str| text.split_once("\n\n").unwrap().1.to_owned();
    assert!(
        text.contains("[CbhExact1 \"09~") && text.contains("[CbhExact3 \""),
        "{text}"
    );
    assert!(
        !moves(&text).contains("[%cb") && moves(&text).contains("[%tqu"),
        "{text}"
    );
    let read = decode(text.as_bytes()).unwrap();
    assert_eq!(read.annotations, stored.annotations, "{text}");
    // A piece that is gone or another question has no such form.
    let lines = text.split_inclusive('\n');
    let lacking: String = lines
        .filter(|line| !line.starts_with("[CbhExact2"))
        .collect();
    for other in [lacking, text.replace("Win", "Why")] {
        let read = decode(other.as_bytes()).unwrap();
        assert!(read.foreign_tags.is_empty(), "{other}");
        let remarks = read.annotations.iter();
        let payload = |(_, remark): (_, &Annotation)| match remark {
            Annotation::Training(training) => training.payload.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            remarks.map(payload).collect::<Vec<_>>(),
            [Vec::<u8>::new()],
            "{other}"
        );
    }
}

#[test]
fn a_comment_behind_a_variation_is_about_the_next_move() {
    for (text, expected) in [
        (
            "1. e4 (1. d4) {a} e5 *",
            "[CbhBefore \"1...e5\"]  1. e4 (1. d4) {a} 1... e5 *",
        ),
        (
            "1. e4 {a} (1. d4) {[%csl Ge4] b} {c} e5 *",
            "1. e4 {[%csl Ge4] a} (1. d4) {[%cbpre 1] b c} 1... e5 *",
        ),
        (
            "1. e4 {a} (1. d4) {b} (1. c4) {c} e5 2. Nf3 *",
            "1. e4 {a} (1. d4) (1. c4) {[%cbpre 1] b c} 1... e5 2. Nf3 *",
        ),
        // There is none.
        ("1. e4 {a} (1. d4) {b} *", "1. e4 {a b} (1. d4) *"),
        (
            "1. e4 (1. d4 d5 (1... Nf6) {b}) e5 *",
            "1. e4 (1. d4 d5 {b} (1... Nf6)) 1... e5 *",
        ),
        // Where other moves have names.
        (
            "[CbhBefore \"2.Nf3\"] 1. e4 {a} (1. d4) {b} e5 {c} 2. Nf3 *",
            "[CbhBefore \"2.Nf3\"]  1. e4 {a} (1. d4) {[%cbpre 1] b} 1... e5 {c} 2. Nf3 *",
        ),
    ] {
        assert_eq!(with_tags(text), expected, "{text}");
        assert_eq!(with_tags(expected), expected, "again: {text}");
    }
}

#[test]
fn a_tag_names_the_moves_that_texts_in_front_are_about() {
    for (text, expected) in [
        (
            "1. e4 {[%cbpre 1] a} e5 {[%csl Ge4] [%cbpre 1] b} 2. Nf3 *",
            "[CbhBefore \"1...e5 2.Nf3\"]  1. e4 {a} 1... e5 {[%csl Ge4]} {b} 2. Nf3 *",
        ),
        (
            "{[%cbpre 1] a} 1. e4 *",
            "[CbhBefore \"1.e4\"]  {a} 1. e4 *",
        ),
        // The commands stay with the move that they follow.
        (
            "1. e4 {[%csl Ge4]} {[%csl Rd5] [%cal Ge2e4]} {[%cal Rd7d5]} *",
            "1. e4 {[%csl Ge4,Rd5] [%cal Ge2e4,Rd7d5]} *",
        ),
        (
            "[CbhBefore \"1...e5\"] 1. e4 {[%csl Ge4] a} e5 *",
            "[CbhBefore \"1...e5\"]  1. e4 {[%csl Ge4]} {a} 1... e5 *",
        ),
        // Where a program put it before the variation.
        (
            "[CbhBefore \"1...e5\"] 1. e4 {a} (1. d4 e5 {x}) e5 *",
            "[CbhBefore \"1...e5\"]  1. e4 (1. d4 e5 {x}) {a} 1... e5 *",
        ),
        // A move of the same name has the text of the move before it in front.
        (
            "1. e4 {[%cbpre 1] a} (1. d4 {b} e5) e5 *",
            "1. e4 (1. d4 {b} 1... e5) {[%cbpre 1] a} 1... e5 *",
        ),
        // A name without its move is for no other.
        (
            "[CbhBefore \"1...e5\"] 1. e4 {a} e6 2. d4 {b} d5 *",
            "1. e4 {a} 1... e6 2. d4 {b} 2... d5 *",
        ),
        // It is for the last text.
        (
            "[CbhBefore \"1...e5\"] 1. e4 {new} {[%cblang de] a} e5 *",
            "1. e4 {new} {[%cbpre 1] [%cblang de] a} 1... e5 *",
        ),
        (
            "[CbhBefore \"1...e5\"] 1. e4 {a} {[%csl Ge4]} e5 *",
            "[CbhBefore \"1...e5\"]  1. e4 {[%csl Ge4]} {a} 1... e5 *",
        ),
        (
            "[CbhBefore \"7.Ra5 e9 7\"] 1. e4 {a} e6 *",
            "1. e4 {a} 1... e6 *",
        ),
        (
            "[CbhBefore \"1...e5\"] 1. e4 {[%cblang de] a} {[%cbpre 1] [%cblang en] b} e5 {x} *",
            "1. e4 {[%cbpre 1] [%cblang de] a} {[%cbpre 1] [%cblang en] b} 1... e5 {x} *",
        ),
    ] {
        assert_eq!(with_tags(text), expected, "{text}");
        assert_eq!(with_tags(&with_tags(text)), expected, "again: {text}");
    }
}

#[test]
fn more_moves_than_a_tag_holds_are_named_in_their_texts() {
    let moves = "{[%cbpre 1] a} Nf3 {[%cbpre 1] b} Nf6 {[%cbpre 1] c} Ng1 {[%cbpre 1] d} Ng8 ";
    let text = with_tags(&format!("{} *", moves.repeat(20)));
    let tag = text.split(']').next().unwrap();
    assert!((180..=215).contains(&tag.len()), "{tag}");
    assert!(text.contains("{[%cbpre 1] a}") && text.contains("{a}"));
    assert_eq!(with_tags(&text), text);
}

/// The moves of a game in the text that only other programs read.
fn clean(text: &str) -> String {
    let game = decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut out = Vec::new();
    crate::pgn::encode_clean(&game, &mut out);
    let text = String::from_utf8(out).unwrap();
    let (_, moves) = text.split_once("\n\n").unwrap();
    moves.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is said of a text to be saved.
fn told(text: &str) -> Vec<Liberty> {
    decode_with_liberties(text.as_bytes()).unwrap().1
}

#[test]
fn a_save_tells_what_is_stored_in_another_form() {
    for (text, expected) in [
        ("1. e4 {a { b} e5 *", Liberty::Braces),
        ("1. e4 {a {b} c} e5 *", Liberty::Braces),
        ("1. e4 e5 5. Nf3 Nc6 *", Liberty::Numbers),
        ("1. e4 e5 2. Nf3 Nc6 5. Bb5 *", Liberty::Numbers),
        ("1... e4 e5 2. Nf3 *", Liberty::Numbers),
        ("1. e4 $0 e5 *", Liberty::NagTwice),
        ("1. e4 $1 $1 e5 *", Liberty::NagTwice),
        ("1. e4 ! $1 e5 *", Liberty::NagTwice),
        ("1. e4 ( ) e5 *", Liberty::NoMoves),
        ("1. e4 ({a}) e5 *", Liberty::NoMoves),
    ] {
        assert!(told(text).contains(&expected), "{text}: {:?}", told(text));
    }
    for text in [
        "1. e4 (1. d4 {a}) 1... e5 $1 (1... c5 $1) 2. Nf3 *",
        "e4 e5 Nf3 *",
    ] {
        assert_eq!(told(text), [], "{text}");
    }
    // What the numbers prove to be missing is not made up.
    let gap = decode(b"1. d4 d5 2. c4 3. c6 Nf3 4. Nf6 *").unwrap_err();
    assert!(gap.found.contains("half-move"), "{gap}");
}

#[test]
fn nags_beyond_the_places_of_a_ply_stay_nags() {
    for text in [
        "1. e4 $1 $14 $140 $36 $138 *",
        "1. e4 $1 $14 $140 $36 {good} *",
        "1. e4 $7 $16 $32 $146 {a} {[%cblang de] b} *",
        // The last place is not that of its class.
        "1. e4 $1 $14 $36 $138 $146 *",
    ] {
        assert_eq!(with_tags(&with_tags(text)), with_tags(text), "{text}");
        assert!(!clean(text).contains("%cb"), "{}", clean(text));
        let [nags, clean, again] = [text, &clean(text), &with_tags(text)].map(|text| {
            let words = text.split_whitespace();
            words
                .filter(|word| word.starts_with('$'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        assert_eq!((&nags, &nags), (&clean, &again), "{text}");
        assert_eq!(told(text), [], "{text}");
    }
    assert_eq!(
        with_tags("1. e4 $7 $16 $140 $32 {good} *"),
        "1. e4 $7 $16 $140 $32 {good} *"
    );
    assert_eq!(
        with_tags("[CbhLang \"en\"] 1. e4 $7 $16 $140 $32 {good} *"),
        "[CbhLang \"en\"]  1. e4 $7 $16 $140 $32 {good} *"
    );
    // Several of one class keep their order.
    for nags in [
        "$16 $36",
        "$36 $16",
        "$2 $1",
        "$141 $140",
        "$14 $15 $16",
        "$51 $50",
    ] {
        let text = format!("1. e4 {nags} {{good}} *");
        assert_eq!(with_tags(&text), text);
        assert_eq!(told(&text), [], "{text}");
    }
    // A program that sorts them changes nothing.
    let sorted = with_tags("1. e4 $14 $1 {[%cbsym 14,1,0]} *");
    assert_eq!(with_tags(&sorted.replace("$14 $1", "$1 $14")), sorted);
    assert_eq!(told("1. e4 $14 $1 *"), [Liberty::NagOrder]);
    assert_eq!(told("1. e4 $1 $0 $14 $1 *"), [Liberty::NagTwice]);
    // What a person wrote is no NAG where there is room for one.
    assert_eq!(
        with_tags("1. e4 $1 {a [%cbnag 50]} *"),
        "1. e4 $1 {a [%cbnag 50]} *"
    );
}

#[test]
fn only_what_cbfs_writes_is_taken_for_it() {
    let own = "1. e4 {see [%cbfoo] and [%cb 1] and [%clk 0:01:00]} *";
    assert_eq!(
        (with_tags(own), clean(own)),
        (own.to_owned(), own.to_owned())
    );
    assert_eq!(told(own), []);
    for (text, expected) in [
        ("1. e4 {[%cblang sv] a} *", "1. e4 {[ %cblang sv] a} *"),
        ("1. e4 {[%cblead 999] a} *", "1. e4 {[ %cblead 999] a} *"),
        ("1. e4 {a [%cba xy]} *", "1. e4 {a [ %cba xy]} *"),
        ("1. e4 {[%cbcrit end]} *", "1. e4 {[ %cbcrit end]} *"),
        ("1. e4 {[%cbgame Tal]} *", "1. e4 {[ %cbgame Tal]} *"),
    ] {
        assert_eq!(with_tags(text), expected, "{text}");
        assert_eq!(told(text), [Liberty::Misread], "{text}");
        assert_eq!(told(expected), [], "{text}");
    }
}

#[test]
fn commands_before_a_variation_stay_there() {
    for text in [
        "1. e4 ({[%csl Ge4] a} 1. d4) *",
        "1. e4 ({[%cal Gd2d4]} 1. d4 {[%csl Rd4]} 1... d5) *",
        "1. e4 {a} {[%cbpre 1] b [%eval 0.25]} 1... e5 *",
    ] {
        assert_eq!(with_tags(text), text);
    }
    // In the front of a move that a tag names commands are about the move before.
    let named = with_tags("1. e4 {[%cbpre 1] b [%eval 0.25]} e5 *");
    assert_eq!(with_tags(&named), named);
}

#[test]
fn a_question_is_said_once() {
    let text = "1. e4 {[%tqu \"En\",\"Win?\",\"\",\"\",\"e7e5\",\"\",10]} *";
    assert_eq!(with_tags(text), text);
}

#[test]
fn quotes_within_a_question_are_words_of_it() {
    let text = "1. e4 {[%tqu \"En\",\"say \"hi\", then \"no\" now\",\"\",\"\",\"e7e5\",\"\",10]} *";
    let shown = "1. e4 {[%tqu \"En\",\"say 'hi', then 'no' now\",\"\",\"\",\"e7e5\",\"\",10]} *";
    assert_eq!(with_tags(text), shown);
    let game = decode(text.as_bytes()).unwrap();
    let mut remarks = game.annotations.iter();
    let question = remarks.find_map(|(_, remark)| match remark {
        Annotation::Training(question) => Some(question.texts[0][0].1.clone()),
        _ => None,
    });
    assert_eq!(question.as_deref(), Some("say \"hi\", then \"no\" now"));
}

fn encoded(game: &Game) -> String {
    let mut text = Vec::new();
    crate::pgn::encode(game, &[], &mut text);
    String::from_utf8(text).unwrap()
}

/// A text behind it may hold half a command.
#[test]
fn what_a_tag_says_of_a_question_is_no_part_of_a_text() {
    let question = Training {
        texts: [
            vec![(0, "Win?".to_owned())],
            Vec::new(),
            Vec::new(),
            Vec::new(),
        ],
        payload: vec![1, 2, 3],
        ..Training::default()
    };
    for half in ["[%", "[%clk 0:01", "[%eval 0.3, \"", "[%cba 3f"] {
        let mut game = decode(format!("1. e4 {{see {half}}} *").as_bytes()).unwrap();
        let ply = game.tree.main_line().next().unwrap();
        let question = Annotation::Training(Box::new(question.clone()));
        game.annotations.add(ply, question.clone());
        game.annotations.sort();
        let text = encoded(&game);
        assert!(text.contains("[CbhExact1 "), "{text}");
        let again = decode(text.as_bytes()).unwrap();
        let remarks = || again.annotations.on(ply);
        assert!(remarks().any(|remark| *remark == question), "{text}");
        let texts: Vec<_> = remarks().filter_map(|remark| remark.text()).collect();
        assert_eq!(texts.len(), 1);
        assert_eq!(texts[0].text, format!("see {half}"));
        assert_eq!(encoded(&again), text);
        assert_eq!(told(&text), []);
        let edited = text.replace("Win?", "Draw?");
        assert_eq!(told(&edited), [], "a save keeps what is stored");
        let mut games = GameTexts::new(edited.as_bytes());
        let liberties = games.next_leniently().unwrap().unwrap().taken.liberties();
        assert!(liberties.contains(&Liberty::QuestionForm), "{liberties:?}");
    }
}

#[test]
fn questions_that_say_the_same_keep_what_each_has_besides() {
    let mut game = decode(b"1. e4 e5 *").unwrap();
    let plies: Vec<_> = game.tree.main_line().collect();
    let question = |payload: &[u8]| {
        Annotation::Training(Box::new(Training {
            texts: [vec![(0, "Win?".to_owned())], vec![], vec![], vec![]],
            payload: payload.to_vec(),
            ..Training::default()
        }))
    };
    // Also one of which the command says all.
    for others in [[4, 5, 6].as_slice(), &[]] {
        let questions = [question(&[1, 2, 3]), question(others)];
        game.annotations.clear();
        for (ply, question) in plies.iter().zip(&questions) {
            game.annotations.add(*ply, question.clone());
        }
        let again = decode(encoded(&game).as_bytes()).unwrap();
        for (ply, question) in plies.iter().zip(&questions) {
            assert!(again.annotations.on(*ply).eq([question]));
        }
    }
}

#[test]
fn the_line_of_a_quoted_game_is_not_edited() {
    let text = "1. e4 {[%cbgame 1-0 Tal] [%cba 13 ~8ea8ac1e AQID]} *";
    let quoted = with_tags("1. e4 {[%cba 13 AQID]} *");
    assert_eq!(quoted, "1. e4 {[%cba 13 AQID]} *");
    let error = decode(text.as_bytes()).unwrap_err();
    assert!(
        error.found.starts_with("the line of a quoted game"),
        "{error}"
    );
    let mut games = GameTexts::new(text.as_bytes());
    let understood = games.next_leniently().unwrap().unwrap();
    assert_eq!(understood.taken.liberties(), [Liberty::QuotedGame]);
    let mut remarks = understood.game.annotations.iter();
    assert!(remarks.any(|(_, remark)| matches!(
        remark,
        Annotation::Quotation(quotation) if quotation.payload == [1, 2, 3]
    )));
}

#[test]
fn a_question_in_two_languages_is_one() {
    let (one, other) = (
        "\"En\",\"Win?\",\"\",\"\",\"e7e5\",\"\",10",
        "\"De\",\"Gewinn?\",\"\",\"\",\"e7e5\",\"Ja\",10",
    );
    let written = with_tags(&format!("1. e4 {{[%tqu {one},{other}]}} *"));
    assert_eq!(
        written.split_whitespace().collect::<Vec<_>>().join(" "),
        format!("1. e4 {{[%tqu {one}] [%tqu {other}]}} *")
    );
    assert_eq!(with_tags(&written), written);
}

#[test]
fn a_question_that_is_not_understood_stays_as_it_is() {
    for text in [
        "1. e4 {[%tqu see note]} *",
        "1. e4 {[%tqu \"En\",\"a\"]} *",
        "1. e4 {[%tqu \"En\",\"q\",\"\",\"\",\"e7e5\",\"\",10,\"De\",\"q\",\"\",\"\",\"e7e5\",\"\",5]} *",
    ] {
        assert_eq!(with_tags(text), text);
    }
}

/// An export of a damaged game is not that game.
#[test]
fn marks_of_damage_are_no_text() {
    for text in [
        "1. e4 {[%cbdefect .cbg at 0x4b: no more] [%cbdefect .cba]} *",
        "1. e4 {after [%cbpos 12] text [%cblang de] more} *",
        "1. e4 {[%cbpos 12]} {[%cbpre 1] x} e5 *",
    ] {
        let error = decode(text.as_bytes()).unwrap_err();
        assert!(
            error
                .found
                .ends_with("marks a game that was exported damaged"),
            "{error}"
        );
        let mut games = GameTexts::new(text.as_bytes());
        let understood = games.next_leniently().unwrap().unwrap();
        assert_eq!(understood.taken.liberties(), [Liberty::Damage], "{text}");
        let texts = understood.game.annotations.iter();
        let texts = texts.filter_map(|(_, remark)| remark.text());
        let texts: Vec<&str> = texts.map(|text| text.text.as_str()).collect();
        assert!(
            texts.iter().all(|text| ["after", "x"].contains(text)),
            "{texts:?}"
        );
    }
}

#[test]
fn changed_forms_are_reported() {
    let text = "[Round \"01\"] [White \"A\tB\"] 1. e4 *";
    assert_eq!(told(text), [Liberty::TagBlanks, Liberty::RoundForm]);
    assert_eq!(told("[Round \"1\"] [White \"A B\"] 1. e4 *"), []);
}

const RESULT: &str = "1-0, 0-1, 1/2-1/2 or *";

/// A wrong text, where its error is, what was found and expected.
const WRONG: &[(&str, &str, &str, &str)] = &[
    ("", "1:1", "nothing more", "a game"),
    (
        "1. e4\ne5 Nf33 *",
        "2:4",
        "\"Nf33\" is not a move",
        MOVE_OR_RESULT,
    ),
    ("1. é4 *", "1:4", "\"é4\" is not a move", MOVE_OR_RESULT),
    (
        "{é} e4 e4 *",
        "1:8",
        "\"e4\" is illegal here",
        "a legal move",
    ),
    (
        "1. e4 e5 {a",
        "1:10",
        "a comment without end",
        "} before the next game",
    ),
    (
        "1. e4 {a\n\n% b\n[Event \"c\"]\n\n1. e4 {d} *",
        "1:7",
        "a comment without end",
        "} before the next game",
    ),
    (
        "1. e4 {a\n\n[White \"c\"]\n[Black \"e\"]\n\n1. e4 {d} *",
        "1:7",
        "a comment without end",
        "} before the next game",
    ),
    (
        "1. e4 {a} e5 2. d3 {b d5 3. Nd2 {c} Nf6 4. g3 g6 *",
        "1:20",
        "a comment with a { in it, and behind it \"4.\", which shows that moves are missing",
        "} before the moves",
    ),
    (
        "1. e4 {a} e5 2. Nf3 {{b} Nc6 3. Bb5 {c}} a6 *",
        "1:40",
        "a \"}\" that closes nothing",
        MOVE_OR_RESULT,
    ),
    (
        "1. e4 (1. d4 *",
        "1:7",
        "a variation without end",
        "\")\" somewhere after it",
    ),
    (
        "1. e4 ) *",
        "1:7",
        "a \")\" that closes nothing",
        MOVE_OR_RESULT,
    ),
    (
        "1. e4 } *",
        "1:7",
        "a \"}\" that closes nothing",
        MOVE_OR_RESULT,
    ),
    ("(1. e4) *", "1:1", "a variation before any move", "a move"),
    ("$1 e4 *", "1:1", "a NAG ($1) before any move", "a move"),
    (
        "1. e4 $256 *",
        "1:7",
        "\"$256\" is not a NAG",
        "a number from $0 to $255",
    ),
    (
        "1. e4 !!! *",
        "1:7",
        "\"!!!\" is not a mark",
        "one of ! ? !! ?? !? ?!",
    ),
    (
        "1. e4 e5",
        "1:9",
        "the end of a game without its result",
        RESULT,
    ),
    (
        "1. e4\n[White \"A\"]",
        "2:1",
        "the end of a game without its result",
        RESULT,
    ),
    (
        "[Result \"1-0\"] e4 0-1",
        "1:19",
        "the result 0-1, where the tag says 1-0",
        "the same result in both",
    ),
    (
        "e4 * e4 *",
        "1:6",
        "\"e4 *\"",
        "the end of the text after one game",
    ),
    ("e4 \0 *", "1:4", "the control character 0x00", "text"),
    ("{a\n\x08} *", "2:1", "the control character 0x08", "text"),
    (
        "e4 {don\u{92}t} *",
        "1:4",
        "the control character U+0092",
        "text",
    ),
    (
        "[White \"A] *",
        "1:13",
        "a tag pair without end",
        "\"] on the same line",
    ),
    (
        "[White A] *",
        "1:8",
        "\"A] *\"",
        "\" and the value of the tag",
    ),
    (
        "[WhiteElo \"99999\"] *",
        "1:12",
        "\"99999\" as WhiteElo",
        "a smaller number",
    ),
    (
        "[FEN \"9/8\"] *",
        "1:7",
        "\"9/8\" as FEN",
        "eight ranks with / between them, and five more fields",
    ),
    (
        "[Event \"x\"]\n[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"] *",
        "2:7",
        "\"8/8/8/8/8/8/8/8 w - - 0 1\" as FEN",
        "a position with pieces",
    ),
    (
        "[Result \"2-0\"] *",
        "1:10",
        "\"2-0\" as Result",
        "1-0, 0-1, 1/2-1/2 or *",
    ),
];

#[test]
fn errors_have_line_and_column() {
    for (text, place, found, expected) in WRONG {
        assert_eq!(
            read(text),
            format!("{place}: {found}; expected {expected}"),
            "{text:?}"
        );
    }
}

#[test]
fn zeros_are_castling_where_that_is_legal() {
    let moves = "1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. 0-0";
    assert!(read(&format!("{moves} *")).ends_with("4. O-O *"));
    assert!(read(moves).contains("without its result"));
    let both_lost = format!("[Result \"0-0\"] {moves}");
    let game = decode(both_lost.as_bytes()).unwrap();
    assert_eq!(game.headers.result, GameResult::BothLost);
    assert!(moves_of(&game).ends_with("3. Bg2 Bg7 *"));
}

#[test]
fn a_text_has_any_number_of_games() {
    let text = b"1. e4 1-0\n\n[White \"A\"]\n\n1. d4 *\n{b} c4 *\n1. e5 *\n*";
    let games: Vec<_> = GameTexts::new(text).collect();
    let texts: Vec<_> = games
        .iter()
        .map(|game| game.as_ref().map_or_else(Error::to_string, moves_of))
        .collect();
    assert_eq!(
        texts,
        [
            "1. e4 1-0",
            "1. d4 *",
            "{b} 1. c4 *",
            "7:4: \"e5\" is illegal here; expected a legal move",
        ]
    );
    assert_eq!(GameTexts::new(b" \n").count(), 0);
}

#[test]
fn one_game_is_utf8_and_others_may_be_windows_1252() {
    let text = b"[White \"H\xfcbner\"] 1. e4 {sch\xf6n}\xa0e5 *";
    let error = decode(text).unwrap_err().to_string();
    assert_eq!(
        error,
        "1:10: the byte 0xfc, which is no UTF-8; expected a text in UTF-8"
    );
    assert!(decode("[White \"H\u{fc}bner\"] 1. e4 {sch\u{f6}n} e5 *".as_bytes()).is_ok());
    let game = GameTexts::new(text).next().unwrap().unwrap();
    assert_eq!(game.headers.white.last, "Hübner");
    let texts: Vec<_> = game.annotations.iter().map(|(_, remark)| remark).collect();
    assert!(matches!(texts[..], [Annotation::TextAfter(text)] if text.text == "schön"));
}

#[test]
fn deep_nesting_ends_with_an_error() {
    let nested = |depth: usize| format!("e4 {}{} *", "(d4 ".repeat(depth), ")".repeat(depth));
    assert!(decode(nested(MAX_DEPTH).as_bytes()).is_ok());
    let error = decode(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err();
    assert!(error.found.contains("nested deeper"), "{error}");
    let open = "e4 ".to_owned() + &"(".repeat(100_000);
    assert!(decode(open.as_bytes()).is_err());
}

#[test]
fn a_game_has_at_most_16_mib() {
    let long = format!("{{{}}} *", "a ".repeat(MAX_BYTES / 2));
    let error = decode(long.as_bytes()).unwrap_err();
    assert!(error.found.contains("16 MiB"), "{error}");
}

#[test]
fn an_evaluation_as_stored_is_read_exactly() {
    for (value, kind, depth) in [(35, 0, 12), (-120, 3, 18), (5, 1, 0), (7, 9, -1)] {
        let mut game = decode(b"1. e4 *").unwrap();
        let evaluation = Annotation::Evaluation(Evaluation { value, kind, depth });
        let e4 = game.tree.main_line().next().unwrap();
        game.annotations.add(e4, evaluation.clone());
        let mut whole = Vec::new();
        crate::pgn::encode(&game, &[], &mut whole);
        let read = decode(&whole).unwrap();
        assert_eq!(read.annotations.iter().next(), Some((e4, &evaluation)));
    }
}

#[test]
fn a_quotation_is_shown_and_kept_as_stored() {
    let mut game = decode(b"1. e4 *").unwrap();
    let quotation = Annotation::Quotation(Box::new(Quotation {
        caption: "Anand - Topalov, Sofia 2010 0-1".to_owned(),
        payload: vec![1, 2, 250],
    }));
    let e4 = game.tree.main_line().next().unwrap();
    game.annotations.add(e4, quotation.clone());
    let text = moves_of(&game);
    let shown = "[%cbgame Anand - Topalov, Sofia 2010 0-1]";
    assert!(text.contains(shown), "{text}");
    let mut whole = Vec::new();
    crate::pgn::encode(&game, &[], &mut whole);
    let read = decode(&whole).unwrap();
    assert_eq!(read.annotations.iter().next(), Some((e4, &quotation)));
}

#[test]
fn texts_in_several_languages_come_back_in_their_order() {
    for texts in [
        "{first} {[%cblang de] zweite} {[%cblang fr] troisième}",
        "{[%cblang de] erste} {second}",
        "{one} {[%cblang en] two}",
    ] {
        let game = decode(format!("1. e4 {texts} *").as_bytes()).unwrap();
        let mut whole = Vec::new();
        crate::pgn::encode(&game, &[], &mut whole);
        let read = decode(&whole).unwrap();
        assert_eq!(read.annotations, game.annotations, "{texts}");
    }
}

#[test]
fn a_word_is_a_move_in_any_notation_of_pgn() {
    let start = Position::default();
    let is_move = |word: &str| parse_move(&start, word.as_bytes()).map(|m| m.is_some());
    for word in ["e4", "Nf3", "Ng1f3", "e2-e4", "g1f3", "P-K4"] {
        let expected = (word != "P-K4").then_some(true);
        assert_eq!(is_move(word), expected, "{word}");
    }
    assert_eq!(is_move("--"), Some(false));
    assert_eq!(is_move("Nf6"), None);
}

#[test]
fn more_remarks_than_a_game_may_have_are_refused_wherever_they_stand() {
    let many = "{a}".repeat(MAX_ANNOTATIONS + 1);
    for text in [
        format!("[CbhBefore \"2.Nf3\"]\n\n1. e4 {many} e5 2. Nf3 *"),
        format!("1. e4 ({many} 1. d4) e5 *"),
    ] {
        let found = read(&text);
        assert!(found.contains("more than 262144 remarks"), "{found:.100}");
    }
}
