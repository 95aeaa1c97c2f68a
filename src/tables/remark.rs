//! What remarks say of one position: evaluation, clocks, words.

use super::buffer::Cell;
use crate::game::{Annotation, Game, PlyId, TextPart, TimeSpent, text_parts};

/// What the remarks on a ply say.
#[derive(Debug, Default)]
pub(super) struct Remark {
    /// Centipawns from White's point of view.
    pub(super) evaluation: Option<i32>,
    /// Moves to mate, negative if Black mates.
    pub(super) mate: Option<i32>,
    /// Seconds left to the player who moved.
    pub(super) clock: Option<f64>,
    /// Seconds that the player took.
    pub(super) elapsed: Option<f64>,
    words: String,
}

impl Remark {
    /// Reads the remarks of the ply that is number `ply` of the main line.
    pub(super) fn of(game: &Game, ply: i32, remarks: &[(PlyId, Annotation)]) -> Remark {
        let mut found = Remark::default();
        for (_, remark) in remarks {
            match remark {
                Annotation::TextBefore(text) | Annotation::TextAfter(text) => {
                    found.read(&text.text);
                }
                Annotation::Evaluation(said) => {
                    found.evaluate(i32::from(said.kind), said.value.into());
                }
                Annotation::TimeSpent(time) => found.elapsed = Some(seconds_of(*time)),
                _ => {}
            }
        }
        if found.evaluation.is_none() && found.mate.is_none() {
            found.look_up_profile(game, ply);
        }
        found
    }

    /// The words, if there are any.
    pub(super) fn text(&self) -> Cell<'_> {
        match self.words.as_str() {
            "" => Cell::Null,
            words => Cell::Text(words.as_bytes()),
        }
    }

    /// Takes an evaluation; `kind` is 0 for centipawns, 1 for moves to mate.
    fn evaluate(&mut self, kind: i32, value: i32) {
        match kind {
            0 => self.evaluation = Some(value),
            1 => self.mate = Some(value),
            _ => {}
        }
    }

    /// The profile of a game has a point for each ply of the main line, that of
    /// the start first.
    fn look_up_profile(&mut self, game: &Game, ply: i32) {
        let point = game.annotations.on(PlyId::START).find_map(|remark| {
            let Annotation::Profile(points) = remark else {
                return None;
            };
            points.get(usize::try_from(ply).ok()?)
        });
        if let Some(point) = point {
            self.evaluate(point.kind.into(), point.value.into());
        }
    }

    /// Appends the words of a text, and reads the clocks in it.
    fn read(&mut self, text: &str) {
        for part in text_parts(text) {
            match part {
                TextPart::Words(words) => self.append(words),
                TextPart::Command(command) => self.read_command(command),
            }
        }
    }

    /// Reads `clk 0:05:00`; other commands are passed over.
    fn read_command(&mut self, command: &str) {
        let Some((name, value)) = command.split_once(' ') else {
            return;
        };
        let place = match name {
            "clk" => &mut self.clock,
            "emt" => &mut self.elapsed,
            _ => return,
        };
        *place = clock(value.trim()).or(*place);
    }

    fn append(&mut self, words: &str) {
        let words = words.trim();
        if !words.is_empty() && !self.words.is_empty() {
            self.words.push(' ');
        }
        self.words.push_str(words);
    }
}

fn seconds_of(time: TimeSpent) -> f64 {
    let minutes = u32::from(time.hours) * 60 + u32::from(time.minutes);
    f64::from(minutes * 60 + u32::from(time.seconds))
}

/// Reads `1:05:00`, `1:05:00.3`, `5:00` or `300` as seconds.
fn clock(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    for (count, field) in text.split(':').enumerate() {
        let is_number = field
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        if !is_number || count > 2 {
            return None;
        }
        seconds = seconds * 60.0 + field.parse::<f64>().ok()?;
    }
    Some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_seconds() {
        for (text, seconds) in [
            ("0:05:00", Some(300.0)),
            ("1:00:00.5", Some(3600.5)),
            ("1:05", Some(65.0)),
            ("30", Some(30.0)),
            ("-1:05", None),
            ("1:2:3:4", None),
            ("", None),
        ] {
            assert_eq!(clock(text), seconds, "{text}");
        }
    }

    #[test]
    fn words_are_without_commands() {
        let mut remark = Remark::default();
        remark.read("[%clk 0:01:02] Better [%x 1] was");
        remark.read("a [%emt 0:00:03]");
        remark.read("b [%clk 1");
        assert_eq!(remark.words, "Better was a b [%clk 1");
        assert_eq!((remark.clock, remark.elapsed), (Some(62.0), Some(3.0)));
    }
}
