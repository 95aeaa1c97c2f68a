//! Engines' judgements: `[%eval 0.25,18]` of one position, `[%evp 0,80,25,…]`
//! of all positions of the main line.

use super::WORD_BYTES;
use crate::game::{Evaluation, ProfilePoint};

/// Centipawns as pawns with two decimals, moves to mate after `#`.
pub(super) fn encode_evaluation(evaluation: Evaluation, commands: &mut Vec<String>) {
    let Evaluation { value, kind, depth } = evaluation;
    let public = match kind {
        0 => Some(pawns(value)),
        1 => Some(format!("#{value}")),
        _ => None,
    };
    if let Some(public) = &public {
        let depth = if depth > 0 {
            format!(",{depth}")
        } else {
            String::new()
        };
        commands.push(format!("[%eval {public}{depth}]"));
    }
    if public.is_none() || depth < 0 {
        commands.push(format!("[%cbeval {value},{kind},{depth}]"));
    }
}

/// An evaluation as edited, with the depth below 0 that `exact` has and no public command
/// says; `None` if it has none.
pub(super) fn evaluation_over(shown: Evaluation, exact: Evaluation) -> Option<Evaluation> {
    let says_depth = exact.depth < 0 && matches!(exact.kind, 0 | 1) && shown.depth == 0;
    says_depth.then_some(Evaluation {
        depth: exact.depth,
        ..shown
    })
}

fn pawns(centipawns: i16) -> String {
    let sign = if centipawns < 0 { "-" } else { "" };
    let size = centipawns.unsigned_abs();
    format!("{sign}{}.{:02}", size / 100, size % 100)
}

/// Pawns or `#` moves to mate, then the depth. An integer with a depth is
/// ChessBase's: centipawns.
pub(super) fn parse_evaluation(text: &str) -> Option<Evaluation> {
    let (value, depth) = match text.split_once(',') {
        Some((value, depth)) => (value, Some(depth.parse().ok()?)),
        None => (text, None),
    };
    let (value, kind) = if let Some(mate) = value.strip_prefix('#') {
        (mate.parse().ok()?, 1)
    } else if value.contains('.') || depth.is_none() {
        (centipawns(value)?, 0)
    } else {
        (value.parse().ok()?, 0)
    };
    Some(Evaluation {
        value,
        kind,
        depth: depth.unwrap_or(0),
    })
}

/// Pawns with any decimals, of which those behind the second are zeros.
fn centipawns(pawns: &str) -> Option<i16> {
    let (sign, size) = match pawns.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, pawns.strip_prefix('+').unwrap_or(pawns)),
    };
    let (whole, decimals) = size.split_once('.').unwrap_or((size, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let beyond = decimals.get(2..).unwrap_or_default();
    if beyond.bytes().any(|byte| byte != b'0') {
        return None;
    }
    if !digits(whole) || !digits(decimals) || (whole.is_empty() && decimals.is_empty()) {
        return None;
    }
    let two: String = decimals.chars().chain("00".chars()).take(2).collect();
    let whole: i32 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let size = whole.checked_mul(100)?.checked_add(two.parse().ok()?)?;
    i16::try_from(sign * size).ok()
}

/// ChessBase's number of a point: centipawns; mate in n plies is 30000 - n, no value 32767.
fn public_value(point: ProfilePoint) -> i32 {
    match point.kind {
        0 => i32::from(point.value),
        1 if point.value >= 0 => 30_000 - i32::from(point.value),
        1 => -30_000 - i32::from(point.value),
        _ => 32_767,
    }
}

/// A profile as edited; the points that were not are those of `exact`, which has as many.
pub(super) fn profile_over(
    shown: Vec<ProfilePoint>,
    exact: Vec<ProfilePoint>,
) -> Vec<ProfilePoint> {
    let points = shown.into_iter().zip(exact);
    let point = |(shown, exact)| {
        if public_value(shown) == public_value(exact) {
            exact
        } else {
            shown
        }
    };
    points.map(point).collect()
}

/// ChessBase's profile: the number of points less one, then their numbers. Where that does
/// not say all, as another depth than 1, the exact form stands beside it.
pub(super) fn encode_profile(points: &[ProfilePoint], commands: &mut Vec<String>) {
    let last = points.len().saturating_sub(1);
    let values: Vec<i32> = points.iter().copied().map(public_value).collect();
    let shown: Vec<String> = values.iter().map(i32::to_string).collect();
    commands.push(listed(&format!("[%evp 0,{last}"), &shown));
    if profile_of(&values).as_deref() == Some(points) {
        return;
    }
    let exact: Vec<String> = points
        .iter()
        .map(|point| format!("{}:{}:{}", point.kind, point.depth, point.value))
        .collect();
    commands.push(listed("[%cbevp", &exact));
}

/// A command with a list of any length: commas, and a blank before a word
/// would grow too long.
fn listed(head: &str, items: &[String]) -> String {
    let mut command = head.to_owned();
    let mut word = command.len();
    for (at, item) in items.iter().enumerate() {
        let is_first = at == 0 && !head.contains(' ');
        command.push(if is_first { ' ' } else { ',' });
        word += 1 + item.len();
        if word > WORD_BYTES {
            command.push(' ');
            word = item.len();
        }
        command.push_str(item);
    }
    command.push(']');
    command
}

/// The profile of a list that begins with the numbers of its first and last
/// point; `None` if it has not just these.
pub(super) fn parse_public_profile(list: &str) -> Option<Vec<ProfilePoint>> {
    let values: Option<Vec<i32>> = list.split(',').map(|value| value.parse().ok()).collect();
    let values = values?;
    let [0, last, values @ ..] = values.as_slice() else {
        return None;
    };
    let is_whole = usize::try_from(*last) == Ok(values.len().saturating_sub(1));
    profile_of(values).filter(|_| is_whole)
}

/// The profile that ChessBase's numbers say.
fn profile_of(values: &[i32]) -> Option<Vec<ProfilePoint>> {
    let point = |value: &i32| {
        let (kind, value) = match *value {
            32_767 => (u8::MAX, 0),
            mate @ 29_000..=30_000 => (1, 30_000 - mate),
            mate @ -30_000..=-29_000 => (1, -30_000 - mate),
            value => (0, value),
        };
        Some(ProfilePoint {
            kind,
            depth: u8::from(kind != u8::MAX),
            value: i16::try_from(value).ok()?,
        })
    };
    values.iter().map(point).collect()
}

pub(super) fn parse_exact_profile(list: &str) -> Option<Vec<ProfilePoint>> {
    if list.is_empty() {
        return Some(Vec::new());
    }
    let point = |text: &str| {
        let mut parts = text.split(':');
        let point = ProfilePoint {
            kind: parts.next()?.parse().ok()?,
            depth: parts.next()?.parse().ok()?,
            value: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(point)
    };
    list.split(',').map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evaluation_has_the_command_that_others_know_and_ours_for_the_rest() {
        for ((value, kind, depth), expected) in [
            ((25, 0, 18), &["[%eval 0.25,18]"][..]),
            ((-105, 0, 0), &["[%eval -1.05]"]),
            ((3, 1, 20), &["[%eval #3,20]"]),
            ((7, 2, 5), &["[%cbeval 7,2,5]"]),
            ((0, 0, -1), &["[%eval 0.00]", "[%cbeval 0,0,-1]"]),
        ] {
            let evaluation = Evaluation { value, kind, depth };
            let mut commands = Vec::new();
            encode_evaluation(evaluation, &mut commands);
            assert_eq!(commands, expected);
            if let [only] = expected
                && let Some(text) = only.strip_prefix("[%eval ")
            {
                let read = text.strip_suffix(']').and_then(parse_evaluation);
                assert_eq!(read, Some(evaluation));
            }
        }
    }
}
