//! Words of moves and results in other forms than PGN has them.

use std::borrow::Cow;

use crate::game::GameResult;
use crate::pgn::page::EightBitPage;
use crate::pgn::place::characters;

/// Whether a word has letters that languages differ in.
pub(super) fn may_have_letters(word: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_uppercase() || !byte.is_ascii();
    word.iter().any(is_letter) && !is_castling(word)
}

/// Whether a word is castling in capital letters, which are no piece's.
pub(super) fn is_castling(word: &[u8]) -> bool {
    word.starts_with(b"O-O") || word.starts_with(b"OO")
}

/// `–` and its like as `-`, `×` as `x`; without what selects how a figurine
/// looks.
pub(in crate::pgn) fn with_plain_signs(word: &[u8]) -> Cow<'_, [u8]> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let Ok(text) = std::str::from_utf8(word) else {
        return Cow::Borrowed(word);
    };
    let is_other = |c: char| {
        matches!(
            c,
            '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{d7}' | '\u{fe0e}' | '\u{fe0f}'
        )
    };
    if !text.contains(is_other) {
        return Cow::Borrowed(word);
    }
    let plain = text.chars().filter_map(|c| match c {
        '\u{d7}' => Some('x'),
        '\u{fe0e}' | '\u{fe0f}' => None,
        c if is_other(c) => Some('-'),
        c => Some(c),
    });
    Cow::Owned(plain.collect::<String>().into_bytes())
}

/// A result of two sides that do not add up to one, as the tag `CbhResult`
/// keeps it.
pub(in crate::pgn) fn unequal_result(word: &[u8]) -> Option<&'static str> {
    let word = with_plain_result(word);
    ["1/2-0", "0-1/2"]
        .into_iter()
        .find(|unequal| word == *unequal)
}

fn with_plain_result(word: &[u8]) -> String {
    let text = characters(word, EightBitPage::WESTERN);
    let plain = with_plain_signs(text.as_bytes());
    String::from_utf8_lossy(&plain)
        .replace('½', "1/2")
        .replace(':', "-")
        .replace(' ', "")
}

pub(in crate::pgn) fn loose_result(word: &[u8]) -> Option<GameResult> {
    if word.len() > LONGEST_RESULT {
        return None;
    }
    let plain = with_plain_result(word);
    Some(match with_digits(&plain).as_ref() {
        "1-0" => GameResult::WhiteWon,
        "0-1" => GameResult::BlackWon,
        "1/2-1/2" | "1/2" | "0.5-0.5" | ".5-.5" | "0,5-0,5" => GameResult::Draw,
        "+-" | "+--" => GameResult::WhiteWonByForfeit,
        "-+" | "--+" => GameResult::BlackWonByForfeit,
        "=-=" => GameResult::DrawByForfeit,
        _ => return None,
    })
}

/// A result with the digits that letters stand for in it, if that is a result:
/// `O-1`, `l-0`.
fn with_digits(word: &str) -> Cow<'_, str> {
    if !word.contains(['O', 'o', 'l', 'I']) {
        return Cow::Borrowed(word);
    }
    let digits = word.replace(['O', 'o'], "0").replace(['l', 'I'], "1");
    let is_result = ["1-0", "0-1", "1/2-1/2"].contains(&digits.as_str());
    if is_result {
        Cow::Owned(digits)
    } else {
        Cow::Borrowed(word)
    }
}

/// The NAG that a sign of Informants stands for.
pub(in crate::pgn) fn nag_of(word: &[u8]) -> Option<u8> {
    let word = std::str::from_utf8(word).ok()?;
    let sign = SIGNS.iter().find(|(sign, _)| *sign == word);
    sign.map(|(_, nag)| *nag)
}

/// Signs and their NAGs; no sign ends in one before it.
const SIGNS: [(&str, u8); 48] = [
    ("=/\u{221e}", 44),
    ("\u{221e}=", 44),
    ("=/~", 44),
    ("~/=", 44),
    ("\u{2bf9}", 44),
    ("+/=", 14),
    ("=/+", 15),
    ("+/-", 16),
    ("-/+", 17),
    ("+--", 20),
    ("--+", 21),
    ("+=", 14),
    ("=+", 15),
    ("+-", 18),
    ("-+", 19),
    ("=", 10),
    ("\u{221e}", 13),
    ("~", 13),
    ("\u{2a72}", 14),
    ("\u{2a71}", 15),
    ("\u{b1}", 16),
    ("\u{2213}", 17),
    ("\u{25a1}", 7),
    ("\u{2a00}", 22),
    ("\u{25cb}", 26),
    ("\u{27f3}", 32),
    ("\u{21bb}", 32),
    ("\u{2191}", 36),
    ("\u{2192}", 40),
    ("\u{21c4}", 132),
    ("\u{21c6}", 132),
    ("\u{2295}", 138),
    ("\u{2206}", 140),
    ("\u{25b3}", 140),
    ("\u{25bd}", 141),
    ("\u{2207}", 141),
    ("\u{2313}", 142),
    ("\u{2264}", 143),
    ("\u{21d4}", 239),
    ("\u{21d7}", 240),
    ("\u{27eb}", 242),
    ("\u{27ea}", 243),
    ("\u{22a5}", 245),
    ("inf", 13),
    ("RR", 145),
    ("N", 146),
    // A diagram, as Scid writes it.
    ("D", 201),
    ("(=)", 10),
];

/// Whether a word says of the move before it that it gives check: `ch`, or one of
/// `dis. ch.`, `dbl ch`.
pub(in crate::pgn) fn is_of_check(word: &[u8]) -> bool {
    const WORDS: [&str; 11] = [
        "ch",
        "check",
        "mate",
        "checkmate",
        "dis",
        "disc",
        "disch",
        "dis.ch",
        "dbl",
        "dblch",
        "dbl.ch",
    ];
    let plain = word.strip_suffix(b".").unwrap_or(word);
    matches!(word, b"+" | b"++" | b"#")
        || WORDS
            .iter()
            .any(|known| plain.eq_ignore_ascii_case(known.as_bytes()))
}

/// What a word says of a move behind which it stands that took a pawn in passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pgn) enum InPassing {
    /// `e.p.`
    Whole,
    /// The first word of `e. p.`
    Begin,
}

pub(in crate::pgn) fn in_passing(word: &[u8]) -> Option<InPassing> {
    let plain = word.to_ascii_lowercase();
    let marks = plain.iter().rev().take_while(|byte| b"+#".contains(byte));
    let plain = plain.get(..plain.len() - marks.count())?;
    match plain {
        b"e.p." | b"e.p" | b"ep." | b"ep" | b"p." | b"p" | b"e.p.ch" | b"passant" => {
            Some(InPassing::Whole)
        }
        b"e." | b"e" | b"en" => Some(InPassing::Begin),
        _ => None,
    }
}

/// Whether a text begins with the board of a FEN, as each line of an EPD file
/// does.
pub(in crate::pgn) fn is_position(text: &[u8]) -> bool {
    let board = text.split(u8::is_ascii_whitespace).next();
    let board = board.unwrap_or_default();
    let is_sign = |sign: &u8| b"pnbrqkPNBRQK12345678/".contains(sign);
    board.iter().all(is_sign) && board.split(|sign| *sign == b'/').count() == 8
}

/// Whether a word puts a piece on the board, as in Crazyhouse: `N@f3`, `@e4`.
pub(in crate::pgn) fn is_drop(word: &[u8]) -> bool {
    let goal = word.strip_prefix(b"@").or(match word {
        [b'P' | b'N' | b'B' | b'R' | b'Q', b'@', goal @ ..] => Some(goal),
        _ => None,
    });
    matches!(goal, Some([b'a'..=b'h', b'1'..=b'8', ..]))
}

/// Whether a word is a move as books once wrote it: `P-K4`, `KtxP`, `QN-Q2ch`,
/// `PK4`, `Castles`.
pub(in crate::pgn) fn is_descriptive(word: &[u8]) -> bool {
    if word.len() > LONGEST_MOVE {
        return false;
    }
    let Ok(word) = std::str::from_utf8(word) else {
        return false;
    };
    let word = word.trim_end_matches(['+', '.', '!', '?']);
    let word = ["dis.ch", "disch", "dblch", "ch", "mate"]
        .iter()
        .find_map(|check| word.strip_suffix(check))
        .unwrap_or(word);
    if word.eq_ignore_ascii_case("castles") {
        return true;
    }
    let parts = word.split_once(['-', 'x']);
    let (piece, goal) = parts.unwrap_or_else(|| word.split_at(pieces_len(word, 1)));
    let piece = piece.split('(').next().unwrap_or_default();
    let goal = goal.split(['(', '=', '/']).next().unwrap_or_default();
    let is_piece = |piece: &str| {
        let first = pieces_len(piece, 3);
        first > 0
            && piece
                .get(first..)
                .is_some_and(|rest| rest.is_empty() || is_rank(rest))
    };
    let is_square = |goal: &str| {
        let len = pieces_len(goal, 2);
        len > 0 && goal.get(len..).is_some_and(is_rank)
    };
    let takes = word.contains('x');
    is_piece(piece) && (is_square(goal) || (takes && is_piece(goal)))
}

fn is_rank(text: &str) -> bool {
    matches!(text.as_bytes(), [b'1'..=b'8'])
}

/// How long the letters of at most so many pieces are that a word begins with.
fn pieces_len(word: &str, most: usize) -> usize {
    let mut rest = word;
    for _ in 0..most {
        let pieces = ["Kt", "K", "Q", "R", "B", "N", "P"];
        let after = pieces.iter().find_map(|piece| rest.strip_prefix(piece));
        rest = match after {
            Some(after) => after,
            None => break,
        };
    }
    word.len() - rest.len()
}

/// The longest word that can be a result: `½–½` in UTF-8 has fewer bytes.
pub(in crate::pgn) const LONGEST_RESULT: usize = 16;

/// The longest word that can be a move in another form.
const LONGEST_MOVE: usize = 24;

/// A word that is no move without what programs glue to one: a sign, or what
/// says of a check in words. Gives the NAG of the sign.
pub(super) fn without_sign(word: &[u8]) -> Option<(&[u8], Option<u8>)> {
    const CHECKS: [&str; 10] = [
        "dis.ch.", "dbl.ch.", "ch.", "ch", "mate", "mt", "\u{2020}", "\u{2021}", "/e.p.", "/ep",
    ];
    if word.len() > LONGEST_MOVE {
        return None;
    }
    let check = CHECKS
        .iter()
        .find_map(|check| word.strip_suffix(check.as_bytes()));
    let signs = || SIGNS.iter();
    let sign =
        || signs().find_map(|(sign, nag)| Some((word.strip_suffix(sign.as_bytes())?, Some(*nag))));
    let bare = check.map(|rest| (rest, None)).or_else(sign)?;
    (bare.0.len() >= 2).then_some(bare)
}

/// A move as it is usually written, of one that is written in another way:
/// `OO`, `nf3`, `E2E4`, `Qd8Xd5`, `Qd5:`, `e8=(Q)`, Cyrillic letters for files.
pub(super) fn usual_form(word: &[u8]) -> Option<Vec<u8>> {
    if word.len() > LONGEST_MOVE {
        return None;
    }
    let plain = with_latin_files(std::str::from_utf8(word).ok()?).replace("=(", "(");
    if let Some(castling) = castling(&plain) {
        return Some(castling.as_bytes().to_vec());
    }
    let plain = match plain.strip_suffix(':') {
        Some(body) => {
            let (piece, square) = body.split_at_checked(body.len().checked_sub(2)?)?;
            format!("{piece}x{square}")
        }
        None => plain,
    };
    let mut chars = plain.chars();
    let first = chars.next()?;
    let rest = chars.as_str();
    // The letter of a new piece stays.
    let square = rest
        .rfind(|c: char| c.is_ascii_digit())
        .map_or(0, |at| at + 1);
    let (squares, new) = rest.split_at_checked(square)?;
    // In `Cc3` the capital is a piece of another language, in `CXD4` it is a file.
    let is_small = squares.contains(|c: char| matches!(c, 'a'..='h'));
    // No pawn is told by the file that it goes to, so `CC3` is none either.
    let is_told_again = squares.starts_with(first);
    let is_capital = matches!(first, 'A'..='H') && !is_small && !is_told_again;
    let is_file = !squares.is_empty() && (matches!(first, 'a'..='h') || is_capital);
    let begin = if is_file && !matches!(first, 'B') || squares.len() == 1 {
        first.to_ascii_lowercase()
    } else {
        first.to_ascii_uppercase()
    };
    let usual = format!("{begin}{}{new}", squares.to_ascii_lowercase());
    Some(usual.into_bytes())
}

/// The move of a bishop that a word in small letters may be: `bb5`.
pub(super) fn bishop_in_small(word: &[u8]) -> Option<Vec<u8>> {
    let rest = word.strip_prefix(b"b")?;
    let has_square = rest.len() >= 2 && rest.len() <= LONGEST_MOVE;
    has_square.then(|| [b"B", rest].concat())
}

/// The move of the pawn on the b file that a word in capitals may be: `BXC3`.
pub(super) fn pawn_in_capitals(word: &[u8]) -> Option<Vec<u8>> {
    let is_plain = !word.iter().any(u8::is_ascii_lowercase);
    (word.first() == Some(&b'B') && is_plain).then(|| word.to_ascii_lowercase())
}

/// `x`, `a`, `c`, `e`, `o` that are written in Cyrillic.
fn with_latin_files(word: &str) -> String {
    let latin = |c: char| match c {
        '\u{430}' => 'a',
        '\u{441}' => 'c',
        '\u{435}' => 'e',
        '\u{445}' => 'x',
        '\u{41e}' | '\u{43e}' => 'O',
        c => c,
    };
    word.chars().map(latin).collect()
}

/// The move that digits say in the notation of correspondence chess, in
/// letters: `5254` is `e2e4`, `57581` is `e7e8q`.
pub(in crate::pgn) fn in_letters(number: u32) -> Option<Vec<u8>> {
    let digits = number.to_string().into_bytes();
    let (squares, new) = digits.split_at_checked(4)?;
    let new = match new {
        [] => None,
        [digit] => Some(*b"qrbn".get(usize::from(digit.checked_sub(b'1')?))?),
        _ => return None,
    };
    if !squares.iter().all(|digit| matches!(digit, b'1'..=b'8')) {
        return None;
    }
    let letter = |(at, digit): (usize, &u8)| match at % 2 {
        0 => digit - b'1' + b'a',
        _ => *digit,
    };
    Some(squares.iter().enumerate().map(letter).chain(new).collect())
}

fn castling(word: &str) -> Option<&'static str> {
    let is_of_castling = |c: char| matches!(c, 'O' | 'o' | '0' | '-' | '+' | '#');
    // In small letters it may be the sign of an unclear position.
    if !word.chars().all(is_of_castling) || word == "oo" {
        return None;
    }
    let zeros = word.chars().filter(|c| matches!(c, 'O' | 'o' | '0'));
    match zeros.count() {
        2 => Some("O-O"),
        3 => Some("O-O-O"),
        _ => None,
    }
}

/// The files of a pawn that takes, of `ed`, `exd`, `e:d`.
pub(super) fn pawn_files(word: &[u8]) -> Option<[u8; 2]> {
    let word = word.strip_suffix(b"+").unwrap_or(word);
    match word {
        [from @ b'a'..=b'h', to @ b'a'..=b'h']
        | [from @ b'a'..=b'h', b'x' | b':', to @ b'a'..=b'h'] => {
            (from.abs_diff(*to) == 1).then_some([*from, *to])
        }
        _ => None,
    }
}
