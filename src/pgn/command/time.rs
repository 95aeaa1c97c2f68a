//! Time spent, clocks and time controls, as commands and as tags.

use std::fmt::Write as _;

use super::numbers;
use crate::game::{Annotation, Stage, TimeSpent};

pub(super) fn encode_time(time: TimeSpent, commands: &mut Vec<String>) {
    let TimeSpent {
        hours,
        minutes,
        seconds,
        extra,
    } = time;
    commands.push(format!("[%emt {hours}:{minutes:02}:{seconds:02}]"));
    if extra != 0 {
        commands.push(format!("[%cbemt {hours},{minutes},{seconds},{extra}]"));
    }
}

/// Hours, minutes and seconds, of which the first ones may be absent; of parts
/// of a second, as servers write them, nothing is kept; see [`has_parts`].
pub(super) fn parse_time(text: &str) -> Option<TimeSpent> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = whole.split(':').collect();
    if !is_number(decimals) || !parts.iter().all(|part| is_number(part)) {
        return None;
    }
    let [hours, minutes, seconds] = match parts[..] {
        [hours, minutes, seconds] => [
            hours.parse().ok()?,
            minutes.parse().ok()?,
            seconds.parse().ok()?,
        ],
        [minutes, seconds] => [0, minutes.parse().ok()?, seconds.parse().ok()?],
        [seconds] => in_parts(seconds.parse().ok()?)?,
        _ => return None,
    };
    Some(TimeSpent {
        hours,
        minutes,
        seconds,
        extra: 0,
    })
}

/// Whether a time that was read has parts of a second.
pub(super) fn has_parts(text: &str) -> bool {
    let parts = text.split_once('.').map(|(_, parts)| parts);
    parts.is_some_and(|parts| parts.bytes().any(|byte| matches!(byte, b'1'..=b'9')))
}

fn in_parts(seconds: u32) -> Option<[u8; 3]> {
    let hours = u8::try_from(seconds / 3600).ok()?;
    Some([hours, (seconds / 60 % 60) as u8, (seconds % 60) as u8])
}

/// The stages with their numbers as stored.
pub(super) fn exact_time_control(stages: &[Stage; 3]) -> String {
    let numbers = |stage: &Stage| {
        let Stage {
            time,
            increment,
            moves,
            kind,
        } = stage;
        format!("{time},{increment},{moves},{kind}")
    };
    format!("[%cbtc {}]", stages.each_ref().map(numbers).join(";"))
}

/// The PGN tag of a time control, `40/7200+30:900+30`, if reading it would
/// give the same stages.
pub(in crate::pgn) fn time_control_tag(stages: &[Stage; 3]) -> Option<String> {
    let used = stages
        .iter()
        .take_while(|stage| **stage != Stage::default());
    let mut parts = Vec::new();
    for stage in used {
        let mut part = String::new();
        if stage.kind == 1 {
            let _ = write!(part, "{}/", stage.moves);
        }
        let _ = write!(part, "{}", stage.time / 100);
        if stage.increment != 0 {
            let _ = write!(part, "+{}", stage.increment / 100);
        }
        parts.push(part);
    }
    let tag = parts.join(":");
    (parse_time_control(&tag).as_ref() == Some(stages)).then_some(tag)
}

/// The stages of a PGN time control; `None` if it is of another form.
pub(in crate::pgn) fn parse_time_control(tag: &str) -> Option<[Stage; 3]> {
    let mut stages = [Stage::default(); 3];
    let mut parts = tag.split(':');
    for (place, part) in stages.iter_mut().zip(&mut parts) {
        *place = parse_stage(part)?;
    }
    parts.next().is_none().then_some(stages)
}

fn parse_stage(part: &str) -> Option<Stage> {
    let (moves, time) = match part.split_once('/') {
        Some((moves, time)) => (Some(moves.parse().ok()?), time),
        None => (None, part),
    };
    let (time, increment) = time.split_once('+').unwrap_or((time, "0"));
    let hundredths = |seconds: &str| seconds.parse::<u32>().ok()?.checked_mul(100);
    let increment = hundredths(increment)?;
    Some(Stage {
        time: hundredths(time)?,
        increment,
        moves: moves.unwrap_or(1000),
        kind: match (moves, increment) {
            (Some(_), _) => 1,
            (None, 0) => 0,
            (None, _) => 3,
        },
    })
}

/// `1:29:59` or `1:29:59.50`; `None` for times below zero.
pub(in crate::pgn) fn clock_tag(hundredths: i32) -> Option<String> {
    let hundredths = u32::try_from(hundredths).ok()?;
    let seconds = hundredths / 100;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut tag = format!("{hours}:{minutes:02}:{seconds:02}");
    if !hundredths.is_multiple_of(100) {
        let _ = write!(tag, ".{:02}", hundredths % 100);
    }
    Some(tag)
}

pub(super) fn parse_exact_time_control(text: &str) -> Option<Annotation> {
    let stage = |part: &str| {
        let [time, increment, moves, kind]: [u32; 4] = numbers(part)?;
        Some(Stage {
            time,
            increment,
            moves: u16::try_from(moves).ok()?,
            kind: u8::try_from(kind).ok()?,
        })
    };
    let stages: Option<Vec<Stage>> = text.split(';').map(stage).collect();
    stages?.try_into().ok().map(Annotation::TimeControl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_seconds_and_what_is_above_them() {
        let found = |text| {
            parse_time(text).map(|time| (time.hours, time.minutes, time.seconds, time.extra))
        };
        for (text, expected) in [
            ("0:01:30", Some((0, 1, 30, 0))),
            ("1:30", Some((0, 1, 30, 0))),
            ("0.000", Some((0, 0, 0, 0))),
            ("5.123", Some((0, 0, 5, 0))),
            ("3661.5", Some((1, 1, 1, 0))),
            ("0:00:07.25", Some((0, 0, 7, 0))),
            ("", None),
            ("x", None),
            ("-1", None),
            ("1.", None),
            ("1:2:3:4", None),
            ("999999999", None),
            ("+5", None),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
