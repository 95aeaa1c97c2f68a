//! Texts of games to be saved, valid and invalid ones.

use std::fmt::Write as _;

/// Games with new and known names, with their numbers as comments.
pub fn many_games(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let (white, black) = (number % 37, number % 11);
        write!(
            text,
            "[Event \"Open {}\"]\n[Site \"Gent\"]\n[Date \"2020.01.{:02}\"]\n[Round \"{}\"]\n\
             [White \"White, {white}\"]\n[Black \"Black, {black}\"]\n[Result \"1-0\"]\n\n\
             1. e4 {{ {number} }} e5 2. Nf3 (2. f4 exf4) 2... Nc6 1-0\n\n",
            number % 5,
            1 + number % 28,
            1 + number % 9,
        )
        .unwrap();
    }
    text
}

/// An invalid text, or one that no base can store.
pub struct BadText {
    pub what: &'static str,
    pub text: Vec<u8>,
    /// A word of the expected error, in lower case.
    pub reason: &'static str,
}

/// Texts that no base can store, whichever way they arrive.
pub fn bad_texts() -> Vec<BadText> {
    let head = "[Event \"x\"]\n\n";
    let bad = |what, text: String, reason| BadText {
        what,
        text: text.into_bytes(),
        reason,
    };
    vec![
        BadText {
            what: "binary",
            text: (0..=255).cycle().take(10_000).collect(),
            reason: "expected",
        },
        bad(
            "a million brackets",
            format!("{head}1. e4 {} *\n", "(".repeat(1_000_000)),
            "expected",
        ),
        bad(
            "a million variations in each other",
            format!("{head}1. e4 {}\n", "(1. d4 ".repeat(1_000_000)),
            "expected",
        ),
        bad(
            "100 MB",
            format!("{head}1. e4 {{{}}} *\n", "word ".repeat(20_000_000)),
            "16 mib",
        ),
        bad(
            "two results",
            "[Result \"1-0\"]\n\n1. e4 0-1\n".to_owned(),
            "where the tag says",
        ),
        bad(
            "an unclosed comment",
            format!("{head}1. e4 {{never\n"),
            "comment",
        ),
    ]
}
