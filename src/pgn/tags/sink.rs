//! Where the tags of a game go: into its PGN, or wherever else they are wanted.

use std::collections::HashSet;

use super::append_escaped;
use crate::game::{Headers, Source, Tournament};

/// Takes the tags of a game, in order.
pub trait TagSink {
    /// Begins the tag with this name.
    fn begin(&mut self, name: &str);

    /// Where the value of the tag is written.
    fn value(&mut self) -> &mut Vec<u8>;

    /// Ends the tag.
    fn end(&mut self);

    /// Appends text to a value, with the escapes that the sink needs.
    fn append(text: &str, value: &mut Vec<u8>);

    /// The names of all tags so far.
    fn names(&self) -> HashSet<Vec<u8>>;

    /// Lets `give` give tags that follow from event and source alone.
    fn of_event(&mut self, part: EventPart, give: impl FnOnce(&mut Self)) {
        let _ = part;
        give(self);
    }
}

/// The tags that follow from event and source alone.
#[derive(Clone, Copy, Debug)]
pub enum EventPart {
    /// Those of the seven tag roster.
    Roster,
    /// All others.
    Details,
}

/// The lines on event and source of the game that was written last, which the next one
/// mostly has too.
#[derive(Debug, Default)]
pub(in crate::pgn) struct EventLines {
    tournament: Tournament,
    source: Source,
    /// The lines of each part; empty if they were not written yet.
    lines: [Vec<u8>; 2],
}

impl EventLines {
    /// Forgets the lines unless they are of the event and source of this game.
    fn keep_those_of(&mut self, headers: &Headers) {
        let is_same = self.tournament.is_same(&headers.tournament);
        if !is_same || !self.source.is_same(&headers.source) {
            self.tournament.clone_from(&headers.tournament);
            self.source.clone_from(&headers.source);
            self.lines.iter_mut().for_each(Vec::clear);
        }
    }

    fn part(&mut self, part: EventPart) -> &mut Vec<u8> {
        let [roster, details] = &mut self.lines;
        match part {
            EventPart::Roster => roster,
            EventPart::Details => details,
        }
    }
}

/// Text, in which each tag has a line.
pub(super) struct TagLines<'o> {
    out: &'o mut Vec<u8>,
    /// Where the first line begins.
    first: usize,
    event: Option<&'o mut EventLines>,
}

impl<'o> TagLines<'o> {
    /// The lines go behind what is in `out`; of a game with these headers, if `event` is
    /// given, which is used and brought up to date.
    pub(super) fn new(
        headers: &Headers,
        mut event: Option<&'o mut EventLines>,
        out: &'o mut Vec<u8>,
    ) -> TagLines<'o> {
        if let Some(event) = &mut event {
            event.keep_those_of(headers);
        }
        let first = out.len();
        TagLines { out, first, event }
    }
}

impl TagSink for TagLines<'_> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "so a name that is known costs a copy of fixed size"
    )]
    fn begin(&mut self, name: &str) {
        self.out.push(b'[');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b" \"");
    }

    #[inline]
    fn value(&mut self) -> &mut Vec<u8> {
        self.out
    }

    #[inline]
    fn end(&mut self) {
        self.out.extend_from_slice(b"\"]\n");
    }

    #[inline]
    fn append(text: &str, value: &mut Vec<u8>) {
        append_escaped(text, value);
    }

    fn of_event(&mut self, part: EventPart, give: impl FnOnce(&mut Self)) {
        let known = self.event.as_mut().map(|event| event.part(part));
        if let Some(lines) = known.filter(|lines| !lines.is_empty()) {
            return self.out.extend_from_slice(lines);
        }
        let begin = self.out.len();
        give(self);
        if let Some(event) = &mut self.event {
            let lines = self.out.get(begin..).unwrap_or_default();
            event.part(part).extend_from_slice(lines);
        }
    }

    fn names(&self) -> HashSet<Vec<u8>> {
        let text = self.out.get(self.first..).unwrap_or_default();
        let names = text.split(|&byte| byte == b'\n').filter_map(|line| {
            let name = line.strip_prefix(b"[")?;
            name.split(|&byte| byte == b' ').next()
        });
        names.map(<[u8]>::to_vec).collect()
    }
}
