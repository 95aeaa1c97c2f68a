//! Coloured squares and arrows: `[%csl Ge4,Rd5]`, `[%cal Ge2e4]`; with
//! colours that other programs do not know all of them again as
//! `[%cbcsl 7e4]`, `[%cbcal 7e2e4]`, the colours as numbers.

use std::collections::HashMap;
use std::hash::Hash;

use shakmaty::Square;

use crate::game::{Arrow, ColoredSquare};

/// Squares or arrows in one command: so many fit on a line.
const MARKS_PER_COMMAND: usize = 10;

/// The colours that other programs know, by ChessBase's number.
fn color_letter(color: u8) -> Option<char> {
    match color {
        2 => Some('G'),
        3 => Some('Y'),
        4 => Some('R'),
        _ => None,
    }
}

pub(super) fn encode_squares(squares: &[ColoredSquare], commands: &mut Vec<String>) {
    let public =
        |mark: &ColoredSquare| Some(format!("{}{}", color_letter(mark.color)?, mark.square));
    let exact = |mark: &ColoredSquare| format!("{}{}", mark.color, mark.square);
    encode_marks(["csl", "cbcsl"], squares, public, exact, commands);
}

pub(super) fn encode_arrows(arrows: &[Arrow], commands: &mut Vec<String>) {
    let ends = |arrow: &Arrow| format!("{}{}", arrow.from, arrow.to);
    let public = |arrow: &Arrow| Some(format!("{}{}", color_letter(arrow.color)?, ends(arrow)));
    let exact = |arrow: &Arrow| format!("{}{}", arrow.color, ends(arrow));
    encode_marks(["cal", "cbcal"], arrows, public, exact, commands);
}

/// The marks that all programs know; if there are others, all marks again
/// with their numbers.
fn encode_marks<T>(
    [public_name, exact_name]: [&str; 2],
    marks: &[T],
    public: impl Fn(&T) -> Option<String>,
    exact: impl Fn(&T) -> String,
    commands: &mut Vec<String>,
) {
    encode_list(public_name, marks.iter().filter_map(&public), commands);
    if marks.iter().any(|mark| public(mark).is_none()) {
        encode_list(exact_name, marks.iter().map(exact), commands);
    }
}

/// Marks that all programs know, as edited, with those of `all` that they do not know, in
/// the order in which they stood; `None` if there are none.
pub(super) fn marks_over<T: Copy + Eq + Hash>(
    mut shown: Vec<T>,
    mut all: Vec<T>,
    color: impl Fn(&T) -> u8,
) -> Option<Vec<T>> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    for mark in &shown {
        *counts.entry(*mark).or_default() += 1;
    }
    let mut takes = |mark: &T| {
        let count = counts.get_mut(mark).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    };
    all.retain(|mark| takes(mark) || color_letter(color(mark)).is_none());
    shown.retain(takes);
    all.append(&mut shown);
    (!all.is_empty()).then_some(all)
}

/// A list that is too long for one word becomes several commands.
fn encode_list(name: &str, mut items: impl Iterator<Item = String>, commands: &mut Vec<String>) {
    loop {
        let part: Vec<String> = items.by_ref().take(MARKS_PER_COMMAND).collect();
        if part.is_empty() {
            return;
        }
        commands.push(format!("[%{name} {}]", part.join(",")));
    }
}

/// All items of a list; `None` if it is empty or one is not understood.
pub(super) fn marks<T>(list: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    list.split(',').map(item).collect()
}

pub(super) fn letter_color(text: &str) -> Option<(u8, &str)> {
    let color = match text.bytes().next()? {
        b'G' => 2,
        b'Y' => 3,
        b'R' => 4,
        _ => return None,
    };
    Some((color, text.get(1..)?))
}

pub(super) fn digit_color(text: &str) -> Option<(u8, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (color, rest) = text.split_at_checked(end)?;
    Some((color.parse().ok()?, rest))
}

pub(super) fn square_of(
    mark: &str,
    color: impl Fn(&str) -> Option<(u8, &str)>,
) -> Option<ColoredSquare> {
    let (color, square) = color(mark)?;
    let square = square.parse().ok()?;
    Some(ColoredSquare { color, square })
}

pub(super) fn arrow_of(mark: &str, color: impl Fn(&str) -> Option<(u8, &str)>) -> Option<Arrow> {
    let (color, squares) = color(mark)?;
    let (from, to) = squares.split_at_checked(2)?;
    let parse = |square: &str| square.parse::<Square>().ok();
    Some(Arrow {
        color,
        from: parse(from)?,
        to: parse(to)?,
    })
}
