//! PGN of any size, game by game, in bounded memory.
//!
//! A text is split into [`Section`]s: one game with its tags, or several games of which
//! only the first has tags. A new section begins
//! * before a tag pair at the start of a line that follows moves; comments that an
//!   empty line parts from the result belong to the new section;
//! * before a tag of the roster, or `FEN`, that the present game, which has no moves
//!   yet, has already: if an empty line stands between, or if the tag is `Event` and
//!   the tag after it is there already, too;
//! * before any tag after an empty line, if players or a `FEN` follow that the present
//!   game has already; such a game may lack even its result;
//! * before a line that begins with [`BAD_GAME`];
//! * in an open comment, before a tag `Event` that follows an empty line, if another
//!   tag or the first move comes next; if the comment never ends otherwise, before any
//!   tag pair that follows an empty line. So one bad game does not swallow the next
//!   ones.
//!
//! Text before all tags and moves is a section of its own. No byte is left out, and
//! nothing is parsed here: [`Section::games`] reports what is not PGN, with its place
//! in the whole text. A game of more than 16 MiB is split into [`GamePart`]s.

mod parallel;
mod prose;
mod words;

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::ops::Range;

use super::GameTexts;
use super::braces::{begins_game_after_blank, begins_loose_tag, begins_tag_pair, ends_tag_pair};
use super::decode::MAX_BYTES;
use super::error::{Error, quoted};
use super::lenient::{
    VariantName, loose_result, place_of_name, place_of_tag, players_of, variant_of,
};
use super::lexer::{self, is_plain, line_begin, plain_tag_parts, without_mark};
use super::page::EightBitPage;
use super::place::{TextPlace, characters, doubtful};
use memchr::memchr2;
use words::{Signs, words_before_tags};

pub use parallel::{BATCH_BYTES, Prepared, for_each_game_in_order, for_each_game_of_short};
pub use words::Skipped;
pub(super) use words::{are_words, goes_on_with_words, is_move, without_dots};

/// So much of a game that is too long is given at once.
const LONG_BYTES: usize = 1 << 20;

/// Nearly all games are shorter.
const USUAL_BYTES: usize = 1 << 14;

/// So many bytes of a line are looked at before the first of them can decide.
const MOVES_AT_ONCE: usize = 64;

/// No more of a text is shown in a message.
const MOST_SHOWN: usize = 1 << 10;

/// Start of a line that gives the source of a bad game. Files of bad games are
/// always split there.
pub const BAD_GAME: &str = "% bad game, ";

/// A part of a text that a game begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The line of the text that its first byte stands in, from 1.
    pub line: usize,
    /// The bytes, line ends as they were.
    pub text: Vec<u8>,
    /// Which part of a game it is.
    pub part: GamePart,
    /// Code page of the text; `None` if it is UTF-8, or if it was not detected.
    pub page: Option<InPage>,
}

/// In which page a text is that is no UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPage {
    /// The page.
    pub page: EightBitPage,
    /// The page that is next likely of those that read it otherwise.
    pub rival: Option<EightBitPage>,
    /// How sure that is.
    pub trust: Trust,
}

/// How sure the page of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The user chose the code page.
    Given,
    /// The text is far less plausible in all other code pages.
    Certain,
    /// Not certain: an unexpected sign inside a word shows that the text has
    /// another code page.
    Guessed,
}

/// Where a game stands in a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The bytes of the section's text.
    pub bytes: Range<usize>,
    /// The line of the whole text that it begins in, from 1.
    pub line: usize,
}

/// A place in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Line of the whole text, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Offset in the section.
    offset: usize,
}

impl Spot {
    fn new(place: TextPlace, text: &[u8]) -> Spot {
        Spot {
            line: place.line,
            column: place.column(text),
            offset: place.offset,
        }
    }
}

/// Which part of a game a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GamePart {
    /// All of one game or more.
    Whole,
    /// The begin of a game of more than 16 MiB.
    Begin,
    /// More of it.
    Middle,
    /// The last of it, which may be nothing.
    End,
}

impl Section {
    fn whole(line: usize, text: Vec<u8>) -> Section {
        Section {
            line,
            text,
            part: GamePart::Whole,
            page: None,
        }
    }

    /// Whether a text of it seems to be in another page than it is read in.
    pub fn is_of_another_page(&self, text: &[u8]) -> bool {
        self.page.is_some_and(|page| doubtful(text, page).is_some())
    }

    /// The page of what of it is no UTF-8.
    fn encoding(&self) -> EightBitPage {
        self.page.map_or(EightBitPage::WESTERN, |page| page.page)
    }

    /// The games in it; places are those in the whole text.
    pub fn games(&self) -> GameTexts<'_> {
        GameTexts::from_line(&self.text, self.line).in_page(self.encoding())
    }

    /// Why the game that it begins is none, if that is because of its length.
    fn too_long(&self) -> Option<Error> {
        (self.part == GamePart::Begin).then(|| Error {
            line: self.line,
            column: 1,
            found: "a game of more than 16 MiB".to_owned(),
            expected: "a shorter text",
        })
    }

    /// Line and column of the value of a tag, in a game of it.
    pub fn place_of_tag(&self, game: &Extent, name: &str) -> Option<(usize, usize)> {
        place_of_tag(self.text_of(game), game.line, name)
    }

    /// What stands at a place, for a message: a comment, the value of a tag or a
    /// word. `None` if nothing does.
    pub fn shown_at(&self, spot: Spot) -> Option<String> {
        let (before, rest) = self.text.split_at_checked(spot.offset)?;
        let is_end = |byte: &u8| match (before.last(), rest.first()) {
            (Some(b'"'), _) => matches!(byte, b'"' | b'\n' | b'\r'),
            (_, Some(b'{')) => *byte == b'}',
            (_, Some(b';' | b'(' | b'<' | b'[')) => matches!(byte, b'\n' | b'\r'),
            _ => byte.is_ascii_whitespace(),
        };
        let end = rest.iter().position(is_end).unwrap_or(rest.len());
        let end = end + usize::from(rest.get(end) == Some(&b'}'));
        let shown = rest
            .get(..end.min(MOST_SHOWN))
            .filter(|shown| !shown.is_empty())?;
        Some(quoted(characters(shown, self.encoding()).as_bytes()))
    }

    /// Line and column of the longest comment or tag of a game of it.
    pub fn place_of_longest(&self, game: &Extent) -> Option<(usize, usize)> {
        let text = self.text_of(game);
        let mut place = TextPlace {
            line: game.line,
            ..TextPlace::START
        };
        let mut open = None;
        let (mut most, mut longest) = (0, None);
        for (at, &byte) in text.iter().enumerate() {
            place.offset = at;
            match (byte, open) {
                (b'{', None) => open = Some((place, b'}')),
                (b'[', None) if at == place.line_start => open = Some((place, b']')),
                (_, Some((begin, end))) if byte == end => {
                    let len = at - begin.offset;
                    if len > most {
                        (most, longest) = (len, Some(begin));
                    }
                    open = None;
                }
                _ => {}
            }
            if ends_line(byte, text.get(at + 1).copied()) {
                place = place.next_line(at + 1);
            }
        }
        longest.map(|place| (place.line, place.column(text)))
    }

    /// Line and column of a name, in a game of it: of the tag with that name as
    /// value, or as a part of it.
    pub fn place_of_name(&self, game: &Extent, tag: &str, name: &str) -> Option<(usize, usize)> {
        place_of_name(self.text_of(game), game.line, self.encoding(), tag, name)
    }

    /// Who plays in a game of it, as `White – Black`, if its tags say so.
    pub fn players_of(&self, game: &Extent) -> Option<String> {
        players_of(self.text_of(game), self.encoding())
    }

    /// The variant of a game of it, if it is none that a base has.
    pub fn variant_of(&self, game: &Extent) -> Option<VariantName> {
        variant_of(self.text_of(game), self.encoding())
    }

    /// The text of a game of it.
    pub fn text_of(&self, game: &Extent) -> &[u8] {
        self.text.get(game.bytes.clone()).unwrap_or_default()
    }

    /// Line and column of the first byte that is no UTF-8, if there is one.
    pub fn not_utf8(&self) -> Option<(usize, usize)> {
        let valid = std::str::from_utf8(&self.text).err()?.valid_up_to();
        let before = self.text.get(..valid).unwrap_or_default();
        let mut place = TextPlace {
            line: self.line,
            ..TextPlace::START
        };
        for (at, &byte) in before.iter().enumerate() {
            if ends_line(byte, self.text.get(at + 1).copied()) {
                place = place.next_line(at + 1);
            }
        }
        place.offset = valid;
        Some((place.line, place.column(&self.text)))
    }
}

/// Splits a text into sections; none after an error of the medium. Memory is
/// that of one section, 16 MiB at most, and the reader's.
#[derive(Debug)]
pub struct Sections<R> {
    reader: R,
    /// What was read of the next section.
    text: Vec<u8>,
    /// What was read and is to be looked at again, from an offset on. No
    /// comment ends in it.
    again: Vec<u8>,
    again_at: usize,
    /// Lengths of the pieces of a line, which come next in `again`: a game
    /// begins in its midst.
    pieces: VecDeque<usize>,
    /// The line that `text` begins with, and the one that is read next.
    line: usize,
    next_line: usize,
    state: ScanState,
    /// Where a game may begin.
    perhaps: Option<PossibleStart>,
    /// How far a game is read that is too long.
    long: Option<Long>,
    is_finished: bool,
}

/// Progress through a game that is too long.
#[derive(Clone, Copy, Debug, Default)]
struct Long {
    /// Whether a line begins with what is read next.
    is_at_line: bool,
    /// Whether the line before it is empty.
    is_after_blank: bool,
}

/// A game that begins if what follows says so.
#[derive(Clone, Copy, Debug)]
struct PossibleStart {
    /// The offset of its first line.
    start: usize,
    /// Whether a comment is open there.
    in_comment: bool,
    /// The tags of [`ONCE`] that say so if the game before has them already.
    telling: u8,
}

/// Whether a game begins.
#[derive(Clone, Copy, Debug)]
enum Begins {
    /// At this offset.
    Surely(usize),
    Perhaps(PossibleStart),
    Not,
}

impl PossibleStart {
    /// Returns what the next line shows: the game begins, may begin, or does
    /// not. `before` is the state of the game before it.
    fn goes_on(self, line: &[u8], before: &ScanState) -> Begins {
        let begin = line_begin(line);
        let is_tag = begins_tag_pair(begin);
        if self.in_comment {
            return match begin {
                [] => Begins::Perhaps(self),
                _ if is_tag || begin.starts_with(b"1.") => Begins::Surely(self.start),
                _ => Begins::Not,
            };
        }
        match once_bit(begin) {
            tag if tag & self.telling & before.once != 0 => Begins::Surely(self.start),
            _ if is_tag => Begins::Perhaps(self),
            _ => Begins::Not,
        }
    }
}

/// Result of reading from a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamRead {
    Line,
    /// More than what may be read at once, perhaps up to the end of a line.
    Part,
    Nothing,
}

/// State of the scan of a section.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct ScanState {
    in_comment: bool,
    /// Whether something stands there that is neither tag pair nor comment.
    has_moves: bool,
    /// Where the last line ends that has moves, or the last of a comment that
    /// began there.
    moves_end: usize,
    is_beside_moves: bool,
    /// Where the line ends that the present comment began in.
    comment_line_end: usize,
    /// The tags of [`ONCE`] that were seen, a bit each.
    once: u8,
    /// Whether an empty line follows the last tag pair or move.
    is_apart: bool,
    /// In how many lines the value of a broken tag pair may still end.
    value_lines: u8,
    /// Whether the moves end in a result, as far as it was asked.
    has_result: Option<bool>,
    seen: Seen,
}

/// Whether a section is a game, as far as it was read.
#[derive(Clone, Copy, Debug, Default)]
enum Seen {
    /// No word of it.
    #[default]
    Nothing,
    /// Words, which have no signs of a game so far.
    Words(Signs),
    Game,
}

impl Seen {
    /// The same with one more line, which stands in no comment.
    fn with(self, line: &[u8], has_words: bool) -> Seen {
        let mut signs = match self {
            Seen::Game => return self,
            Seen::Nothing if !has_words => return self,
            Seen::Nothing => Signs::default(),
            Seen::Words(signs) => signs,
        };
        if signs.are_in(line) {
            return Seen::Game;
        }
        Seen::Words(signs)
    }
}

/// Tags that a game has once: the roster, and its start.
const ONCE: [&str; 8] = [
    "Event", "Site", "Date", "Round", "White", "Black", "Result", "FEN",
];

const EVENT: u8 = 1;
const PLAYERS: u8 = 1 << 4 | 1 << 5;
const START: u8 = 1 << 7;

impl<R: BufRead> Sections<R> {
    /// Begins at the first line.
    pub fn new(reader: R) -> Sections<R> {
        Sections {
            reader,
            text: Vec::new(),
            again: Vec::new(),
            again_at: 0,
            pieces: VecDeque::new(),
            line: 1,
            next_line: 1,
            state: ScanState::default(),
            perhaps: None,
            long: None,
            is_finished: false,
        }
    }

    fn next_section(&mut self) -> io::Result<Option<Section>> {
        if let Some(long) = self.long {
            return self.more_of_long(long).map(Some);
        }
        loop {
            self.take_plain_lines()?;
            let start = self.text.len();
            match self.read_line(MAX_BYTES)? {
                StreamRead::Line => {}
                StreamRead::Part => {
                    let ended = self.end_of_comment();
                    return Ok(ended.or_else(|| Some(self.begin_of_long())));
                }
                StreamRead::Nothing => {
                    return Ok(self.end_of_comment().or_else(|| self.last_section()));
                }
            }
            self.part_line(start);
            let line = self.text.get(start..).unwrap_or_default();
            let ends_line = is_whole_line(line);
            let line = if start == 0 { without_mark(line) } else { line };
            let is_bad_game = start > 0 && line.starts_with(BAD_GAME.as_bytes());
            let begins_game = is_bad_game || self.state.begins_game(line, &self.text);
            let begins_game = begins_game || self.ends_comment(start);
            let begun = self.perhaps.take().filter(|_| !begins_game);
            let begun = begun.map(|perhaps| perhaps.goes_on(line, &self.state));
            let cut = match begun {
                Some(Begins::Surely(at)) => Some(at),
                _ if is_bad_game => Some(start),
                _ => begins_game.then(|| self.begin_of_next(start)),
            };
            self.perhaps = match begun {
                Some(Begins::Perhaps(perhaps)) => Some(perhaps),
                _ if cut.is_none() => self.state.may_begin_game(line, &self.text, start),
                _ => None,
            };
            if let Some(cut) = cut {
                self.state = ScanState::default();
                // What of it was read before has tag pairs only.
                let before = self.text.get(cut..start).unwrap_or_default();
                if matches!(begun, Some(Begins::Surely(_))) {
                    for line in before.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
                        self.state.look_at(line, 0);
                    }
                }
            }
            let end = self.text.len() - cut.unwrap_or_default();
            self.state.look_at(line, end);
            self.state.look_behind(&self.text);
            let number = self.next_line;
            self.next_line += usize::from(ends_line);
            if let Some(cut) = cut {
                let between = self.text.get(cut..start).unwrap_or_default();
                return Ok(Some(self.cut_at(cut, number - lines_in(between))));
            }
        }
    }

    /// Takes the next lines together as far as they are as nearly all are, and were
    /// read from the text already.
    fn take_plain_lines(&mut self) -> io::Result<()> {
        if self.perhaps.is_some() || self.again_at < self.again.len() {
            return Ok(());
        }
        let available = match self.reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            available => available?,
        };
        let mut taken = 0;
        while let Some(rest) = available.get(taken..)
            && let Some(at) = memchr2(b'\n', b'\r', rest)
            && let Some(line) = rest.get(..=at + usize::from(rest.get(at) == Some(&b'\r')))
        {
            let end = self.text.len() + taken + line.len();
            if end > MAX_BYTES || !self.state.passes(line, end) {
                break;
            }
            taken += line.len();
            self.next_line += 1;
        }
        let lines = available.get(..taken).unwrap_or_default();
        self.text.extend_from_slice(lines);
        self.reader.consume(taken);
        Ok(())
    }

    /// Keeps of the line at `start` what stands before a game that begins in
    /// its midst; the rest is read as lines of their own.
    fn part_line(&mut self, start: usize) {
        if !self.pieces.is_empty() {
            return;
        }
        let line = self.text.get(start..).unwrap_or_default();
        let begins = self.state.games_begun_within(line);
        let Some(&first) = begins.first() else {
            return;
        };
        let ends = begins.iter().skip(1).copied().chain([line.len()]);
        let lengths = begins.iter().zip(ends).map(|(begin, end)| end - begin);
        self.pieces = lengths.collect();
        let rest = self.text.split_off(start + first);
        if self.again_at < self.again.len() {
            // The line was read there.
            self.again_at = self.again_at.saturating_sub(rest.len());
        } else {
            self.again = rest;
            self.again_at = 0;
        }
    }

    /// Gives what was read of a game that is too long.
    fn begin_of_long(&mut self) -> Section {
        let is_at_line = is_whole_line(&self.text);
        self.long = Some(Long {
            is_at_line,
            is_after_blank: false,
        });
        self.next_line += usize::from(is_at_line);
        let next = self.next_line;
        Section {
            part: GamePart::Begin,
            ..self.cut_at(self.text.len(), next)
        }
    }

    /// Gives more of a game that is too long. It ends where a tag pair follows
    /// an empty line.
    fn more_of_long(&mut self, mut long: Long) -> io::Result<Section> {
        loop {
            let start = self.text.len();
            let read = self.read_line(LONG_BYTES)?;
            if read == StreamRead::Nothing {
                self.long = None;
                return Ok(self.part_of_long(start, GamePart::End));
            }
            let line = self.text.get(start..).unwrap_or_default();
            let is_tag = long.is_after_blank && begins_tag_pair(line);
            if long.is_at_line && (is_tag || line.starts_with(BAD_GAME.as_bytes())) {
                return Ok(self.end_of_long(start));
            }
            let is_line = read == StreamRead::Line || is_whole_line(line);
            long = Long {
                is_after_blank: long.is_at_line && is_line && line.trim_ascii().is_empty(),
                is_at_line: is_line,
            };
            self.next_line += usize::from(is_line);
            if self.text.len() >= LONG_BYTES {
                self.long = Some(long);
                return Ok(self.part_of_long(self.text.len(), GamePart::Middle));
            }
        }
    }

    /// Ends a game that is too long before the line at `start`, which is read
    /// again as the first of the next one.
    fn end_of_long(&mut self, start: usize) -> Section {
        self.long = None;
        let section = self.part_of_long(start, GamePart::End);
        let mut again = std::mem::take(&mut self.text);
        again.extend_from_slice(self.again.get(self.again_at..).unwrap_or_default());
        self.again = again;
        self.again_at = 0;
        self.pieces.clear();
        self.state = ScanState::default();
        section
    }

    fn part_of_long(&mut self, end: usize, part: GamePart) -> Section {
        let next = self.next_line;
        Section {
            part,
            ..self.cut_at(end, next)
        }
    }

    /// Gives what stands before an offset, which the next section begins at,
    /// in the line `next`.
    fn cut_at(&mut self, offset: usize, next: usize) -> Section {
        // The next game is often as long.
        let mut rest = Vec::with_capacity(self.text.len().min(USUAL_BYTES));
        rest.extend_from_slice(self.text.get(offset..).unwrap_or_default());
        self.text.truncate(offset);
        let text = std::mem::replace(&mut self.text, rest);
        let line = std::mem::replace(&mut self.line, next);
        Section::whole(line, text)
    }

    fn last_section(&mut self) -> Option<Section> {
        self.is_finished = true;
        let text = std::mem::take(&mut self.text);
        let is_nothing = |byte: &u8| byte.is_ascii_whitespace() || byte.is_ascii_control();
        let is_blank = text.iter().all(is_nothing);
        let line = self.line;
        (!is_blank).then(|| Section::whole(line, text))
    }

    /// Where a game begins whose first tag pair stands in the line at `start`: at
    /// the comments before it that an empty line parts from the result, or of which
    /// one ends in that line.
    fn begin_of_next(&self, start: usize) -> usize {
        let before = self.state;
        let moves = self.text.get(..before.moves_end).unwrap_or_default();
        let between = self.text.get(before.moves_end..start).unwrap_or_default();
        let is_beside_tag = !is_whole_line(between);
        let begin = empty_line(between).or(is_beside_tag.then_some(0));
        let has_words = |at: &usize| {
            let words = between.get(*at..).unwrap_or_default();
            !words.trim_ascii().is_empty()
        };
        match begin.filter(has_words) {
            Some(at) if !before.in_comment && ends_in_result(moves) => before.moves_end + at,
            _ => start,
        }
    }

    /// Whether the line at `start` begins a game although a comment is open,
    /// which is known not to end.
    fn ends_comment(&self, start: usize) -> bool {
        let is_endless = self.again_at < self.again.len();
        self.state.in_comment && is_endless && begins_game_after_blank(&self.text, start, &[])
    }

    /// If the text is over, or too long, in a comment, ends it where the next
    /// game seems to begin; what follows is looked at again.
    fn end_of_comment(&mut self) -> Option<Section> {
        if !self.state.in_comment {
            return None;
        }
        let first = self.state.comment_line_end;
        let lines = self
            .text
            .get(first..)?
            .split_inclusive(|&byte| byte == b'\n');
        let mut at = first;
        for line in lines {
            if begins_game_after_blank(&self.text, at, &[]) {
                break;
            }
            at += line.len();
        }
        if at >= self.text.len() {
            return None;
        }
        let mut again = self.text.split_off(at);
        again.extend_from_slice(self.again.get(self.again_at..).unwrap_or_default());
        self.again = again;
        self.again_at = 0;
        self.pieces.clear();
        self.state = ScanState::default();
        self.perhaps = None;
        let text = std::mem::take(&mut self.text);
        let next = self.line + lines_in(&text);
        let line = std::mem::replace(&mut self.line, next);
        self.next_line = next;
        Some(Section::whole(line, text))
    }

    /// Appends one line with its end to the text, or what of it is read when
    /// the text comes to more than `most` bytes.
    fn read_line(&mut self, most: usize) -> io::Result<StreamRead> {
        let start = self.text.len();
        if let Some(len) = self.pieces.pop_front() {
            let end = self.again_at + len;
            let piece = self.again.get(self.again_at..end).unwrap_or_default();
            self.text.extend_from_slice(piece);
            self.again_at = end;
            let is_much = self.text.len() > most;
            return Ok(if is_much {
                StreamRead::Part
            } else {
                StreamRead::Line
            });
        }
        loop {
            let is_again = self.again_at < self.again.len();
            let available = match self.again.get(self.again_at..) {
                Some(again) if is_again => again,
                _ => match self.reader.fill_buf() {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    available => available?,
                },
            };
            let after_cr = self.text.len() > start && self.text.last() == Some(&b'\r');
            let Some(&first) = available.first() else {
                let is_empty = self.text.len() == start;
                return Ok(if is_empty {
                    StreamRead::Nothing
                } else {
                    StreamRead::Line
                });
            };
            if after_cr {
                // The line feed belongs to the line that the return ended.
                if first == b'\n' {
                    self.text.push(first);
                    self.consume(1, is_again);
                }
                let is_much = self.text.len() > most;
                return Ok(if is_much {
                    StreamRead::Part
                } else {
                    StreamRead::Line
                });
            }
            let end = memchr2(b'\n', b'\r', available);
            let part = available.get(..end.map_or(available.len(), |end| end + 1));
            let part = part.unwrap_or_default();
            self.text.extend_from_slice(part);
            let read = part.len();
            self.consume(read, is_again);
            let last = self.text.last();
            if self.text.len() > most && last != Some(&b'\r') {
                return Ok(StreamRead::Part);
            }
            if last == Some(&b'\n') {
                return Ok(StreamRead::Line);
            }
        }
    }

    fn consume(&mut self, count: usize, is_again: bool) {
        if is_again {
            self.again_at += count;
        } else {
            self.reader.consume(count);
        }
    }
}

impl<R: BufRead> Iterator for Sections<R> {
    type Item = io::Result<Section>;

    fn next(&mut self) -> Option<io::Result<Section>> {
        if self.is_finished {
            return None;
        }
        let next = self.next_section();
        self.is_finished |= next.is_err();
        next.transpose()
    }
}

impl ScanState {
    /// Takes note of a line, which ends at an offset of the section with a line feed, if
    /// it is as nearly all are: one whole tag pair below others, or moves of a game that
    /// has some. No game begins in it. All other lines are left to
    /// [`look_at`](ScanState::look_at).
    fn passes(&mut self, line: &[u8], end: usize) -> bool {
        if self.in_comment || self.is_apart || self.value_lines > 0 {
            return false;
        }
        if !self.has_moves {
            let tag = once_bit(line);
            let passes = tag & self.once == 0
                && plain_tag_parts(line).is_some_and(|(name, value)| {
                    let behind = line.get(name.len() + value.len() + 5..);
                    matches!(behind, Some(b"\n" | b"\r\n"))
                });
            if passes {
                self.once |= tag;
                self.seen = Seen::Game;
            }
            return passes;
        }
        let Some(line) = line.strip_suffix(b"\n") else {
            return false;
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let passes = matches!(self.seen, Seen::Game)
            && line.first().is_some_and(|byte| *byte != b' ')
            && has_plain_moves(line);
        if passes {
            (self.moves_end, self.has_result) = (end, None);
            self.is_beside_moves = false;
        }
        passes
    }

    /// Whether a line begins another game than what came before it in the
    /// text.
    fn begins_game(&mut self, line: &[u8], text: &[u8]) -> bool {
        if self.in_comment {
            return false;
        }
        let line = line_begin(line);
        if !line.starts_with(b"[") {
            return false;
        }
        if !self.has_moves {
            return self.is_apart && self.once & once_bit(line) != 0;
        }
        let is_of_roster = roster_bit(line) != 0;
        if !begins_tag_pair(line) {
            if self.is_apart {
                return is_of_roster || (begins_loose_tag(line) && self.has_result(text));
            }
            let is_tag = is_of_roster || begins_loose_tag(line);
            return is_tag && self.has_result(text) && self.has_plain_result(text);
        }
        // A tag amid moves begins no game.
        self.is_apart
            || matches!(self.seen, Seen::Words(_))
            || is_of_roster
            || self.has_result(text)
    }

    /// The game that may begin with the line at `start` of a text: with a second
    /// tag `Event`, with any tag behind an empty line if players follow that are
    /// named already, or a start, or with `Event` in a comment behind an empty line.
    fn may_begin_game(&self, line: &[u8], text: &[u8], start: usize) -> Option<PossibleStart> {
        let in_comment = self.in_comment;
        let telling = if in_comment {
            begins_game_after_blank(text, start, &["Event"]).then_some(0)
        } else if self.has_moves {
            None
        } else {
            let begin = line_begin(line);
            let is_event = roster_bit(begin) == EVENT;
            // A game has more tags than that.
            let is_again = self.once & EVENT != 0 && self.once != EVENT;
            let is_apart = self.is_apart && begins_tag_pair(begin);
            match (is_event && is_again, is_apart) {
                (true, _) => Some(!EVENT),
                (false, true) => Some(PLAYERS | START),
                (false, false) => None,
            }
        };
        Some(PossibleStart {
            start,
            in_comment,
            telling: telling?,
        })
    }

    /// Whether the moves in a text end in a result.
    fn has_result(&mut self, text: &[u8]) -> bool {
        let moves = || text.get(..self.moves_end).unwrap_or_default();
        let has_result = self.has_result.unwrap_or_else(|| ends_in_result(moves()));
        self.has_result = Some(has_result);
        has_result
    }

    /// Whether the moves end in a result, and in nothing that looks like one, such as
    /// castling in zeros.
    fn has_plain_result(&self, text: &[u8]) -> bool {
        let word = last_word(text.get(..self.moves_end).unwrap_or_default());
        word == b"*" || lexer::result(word).or_else(|| loose_result(word)).is_some()
    }

    /// Takes note of what stands in a line, which ends at an offset of the
    /// section.
    fn look_at(&mut self, line: &[u8], end: usize) {
        let was_open = self.in_comment;
        let begin = line_begin(line);
        let is_tag = !was_open && begin.starts_with(b"[");
        let has_moves = self.look_into(line);
        if is_tag {
            self.once |= once_bit(begin);
        }
        if is_tag || has_moves {
            self.is_apart = false;
        } else if !was_open && begin.is_empty() {
            self.is_apart = true;
        }
        if is_tag {
            self.seen = Seen::Game;
        } else if !was_open {
            self.seen = self.seen.with(line, has_moves);
        }
        if self.in_comment && !was_open {
            self.comment_line_end = end;
        }
        self.has_moves |= has_moves;
        if has_moves || self.is_beside_moves {
            self.moves_end = end;
            self.has_result = None;
            self.is_beside_moves = self.in_comment;
        }
    }

    /// Forgets that a section is a game where that ends with a result and an empty
    /// line: words that follow are none.
    fn look_behind(&mut self, text: &[u8]) {
        let is_game = matches!(self.seen, Seen::Game) && self.has_moves;
        if is_game && self.is_apart && !self.in_comment && self.has_result(text) {
            self.seen = Seen::Nothing;
        }
    }

    fn is_between_games(&self) -> bool {
        !matches!(self.seen, Seen::Game)
    }

    /// Where in a line games begin whose first tag stands behind something else:
    /// `Event`, one of the roster behind a result, or any behind words that are no
    /// game.
    fn games_begun_within(&self, line: &[u8]) -> Vec<usize> {
        let mut begins = Vec::new();
        let brackets = line.get(1..).unwrap_or_default();
        if !brackets.contains(&b'[') {
            return begins;
        }
        let mut in_comment = self.in_comment;
        let mut at = 0;
        if !in_comment {
            // A quotation begins no game either: its other lines are no PGN.
            if is_escaped(line) || line.trim_ascii_start().starts_with(b">") {
                return begins;
            }
            if let Some(at) = words_before_tags(line).filter(|_| self.is_between_games()) {
                return vec![at];
            }
            at = tag_pairs_len(line).unwrap_or(line.len());
        }
        // Whether something stands before, and whether its last word is a result.
        let (mut is_behind, mut is_word, mut is_result) = (false, false, false);
        while let Some(&byte) = line.get(at) {
            let rest = line.get(at..).unwrap_or_default();
            match byte {
                b'}' if in_comment => (in_comment, is_behind, is_word) = (false, true, false),
                _ if in_comment => {}
                b'{' => (in_comment, is_word) = (true, false),
                b';' => break,
                b'[' if is_behind && begins_tag_pair(rest) => {
                    let tag = roster_bit(rest);
                    if tag == EVENT || (tag != 0 && is_result) {
                        begins.push(at);
                        at += tag_pairs_len(rest).unwrap_or(rest.len());
                        (is_behind, is_word, is_result) = (false, false, false);
                        continue;
                    }
                    is_word = false;
                }
                _ if byte.is_ascii_whitespace() || byte.is_ascii_control() => is_word = false,
                _ => {
                    is_result = (is_result || !is_word) && is_of_result(byte);
                    (is_behind, is_word) = (true, true);
                }
            }
            at += 1;
        }
        begins
    }

    /// Whether a line goes on with the value of a broken tag pair; takes note of
    /// one that begins.
    fn is_of_value(&mut self, line: &[u8]) -> bool {
        const MOST_LINES: u8 = 3;
        if line.starts_with(b"[") || line.is_empty() || self.has_moves || self.in_comment {
            let is_open = begins_tag_pair(line) && has_open_value(line);
            self.value_lines = if is_open { MOST_LINES } else { 0 };
            return false;
        }
        let is_of_value = self.value_lines > 0;
        self.value_lines = self.value_lines.saturating_sub(1);
        if line.ends_with(b"\"]") {
            self.value_lines = 0;
        }
        // Marks of HTML.
        is_of_value || lacks_bracket(line) || (line.starts_with(b"<") && line.ends_with(b">"))
    }

    /// Whether there is something in a line that is neither tag pair nor
    /// comment.
    fn look_into(&mut self, line: &[u8]) -> bool {
        let mut has_moves = false;
        let mut rest = line;
        if self.is_of_value(line.trim_ascii()) {
            return false;
        }
        if !self.in_comment {
            if is_escaped(line) {
                return false;
            }
            rest = line_begin(rest);
            let is_loose = || begins_loose_tag(rest) || roster_bit(rest) != 0;
            if begins_tag_pair(rest) || (!self.has_moves && rest.starts_with(b"[") && is_loose()) {
                rest = after_tag_pairs(rest);
            }
        }
        if !self.in_comment && !rest.contains(&b'{') && !rest.contains(&b';') {
            return rest.iter().any(|byte| is_of_moves(*byte));
        }
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'}' if self.in_comment => self.in_comment = false,
                _ if self.in_comment => {}
                b'{' => self.in_comment = true,
                b';' => return has_moves,
                _ => has_moves |= is_of_moves(byte),
            }
        }
        has_moves
    }
}

/// Whether a line has a first quote, no other, and no bracket that ends a tag pair.
fn has_open_value(line: &[u8]) -> bool {
    let mut parts = line.split(|&byte| byte == b'"').skip(1);
    parts.next().is_some() && parts.next().is_none() && !line.contains(&b']')
}

/// Whether a line is a tag pair but for its first bracket.
fn lacks_bracket(line: &[u8]) -> bool {
    line.ends_with(b"\"]") && begins_tag_pair(&[b"[", line].concat())
}

/// Returns what follows the tag pairs of a line, which may be broken.
fn after_tag_pairs(line: &[u8]) -> &[u8] {
    let last = || Some(line.iter().rposition(|&byte| byte == b']')? + 1);
    let end = tag_pairs_len(line).filter(|len| *len > 0).or_else(last);
    end.and_then(|end| line.get(end..)).unwrap_or_default()
}

/// How much of a line is tag pairs that it begins with; `None` if one of them
/// does not end.
fn tag_pairs_len(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = line_begin(line.get(at..)?);
        if !begins_tag_pair(rest) {
            return Some(at);
        }
        at = line.len() - rest.len() + tag_pair_len(rest)?;
    }
}

/// How long the tag pair is that a line begins with: up to the quote and `]`
/// that another one, a move or nothing follows.
fn tag_pair_len(line: &[u8]) -> Option<usize> {
    let mut at = line.iter().position(|&byte| byte == b'"')? + 1;
    loop {
        match line.get(at..)? {
            [b'\\', b'"' | b'\\', ..] => at += 2,
            [b'"', rest @ ..] => {
                at += 1;
                let blanks = rest.len() - rest.trim_ascii_start().len();
                let after = rest.get(blanks..).unwrap_or_default().strip_prefix(b"]");
                if after.is_some_and(|after| line_begin(after).is_empty() || ends_tag_pair(after)) {
                    return Some(at + blanks + 1);
                }
            }
            [_, ..] => at += 1,
            [] => return None,
        }
    }
}

/// The bit of the tag of the roster that a line begins with; 0 if it is none.
fn roster_bit(line: &[u8]) -> u8 {
    once_bit(line) & !START
}

/// The bit of the tag of [`ONCE`] that a line begins with, in whatever letters; 0
/// if it is none.
fn once_bit(line: &[u8]) -> u8 {
    let Some(inside) = line.strip_prefix(b"[") else {
        return 0;
    };
    let inside = inside.trim_ascii_start();
    let len = inside
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric());
    let (name, after) = inside.split_at(len.count());
    if !after
        .first()
        .is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'"' | b']'))
    {
        return 0;
    }
    let at = ONCE
        .iter()
        .position(|tag| tag.as_bytes().eq_ignore_ascii_case(name));
    at.map_or(0, |at| 1 << at)
}

/// Whether what was read of a line is all of it.
fn is_whole_line(line: &[u8]) -> bool {
    matches!(line.last(), Some(b'\n' | b'\r'))
}

/// Whether a line is none of PGN: it begins with `%`.
pub(super) fn is_escaped(line: &[u8]) -> bool {
    without_mark(line).first() == Some(&b'%')
}

fn lines_in(text: &[u8]) -> usize {
    let ends = |at: &usize| {
        let byte = text.get(*at).copied().unwrap_or_default();
        ends_line(byte, text.get(at + 1).copied())
    };
    (0..text.len()).filter(ends).count()
}

/// Where a game without tags seems to begin behind the one that begins at
/// `start`: behind a result and an empty line, with a first move.
fn next_game(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut is_apart = false;
    let end = if text.contains(&b'\n') { b'\n' } else { b'\r' };
    for line in text.get(start..)?.split_inclusive(|&byte| byte == end) {
        let begin = line.trim_ascii_start();
        if is_apart && begin.starts_with(b"1.") && ends_in_result(text.get(start..at)?) {
            return Some(at);
        }
        is_apart = begin.is_empty();
        at += line.len();
    }
    None
}

/// Where the first empty line begins that stands in no comment.
fn empty_line(text: &[u8]) -> Option<usize> {
    let mut lines = ScanState::default();
    let mut at = 0;
    for line in text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        // The second half of a line end is no line.
        let is_half = line == b"\n" && at > 0 && text.get(at - 1) == Some(&b'\r');
        if !lines.in_comment && !is_half && line.trim_ascii().is_empty() {
            return Some(at);
        }
        lines.look_into(line);
        at += line.len();
    }
    None
}

/// Whether moves end in a result, and a comment perhaps.
fn ends_in_result(moves: &[u8]) -> bool {
    let word = last_word(moves);
    !word.is_empty() && word.iter().copied().all(is_of_result)
}

/// The last word of moves that is in no comment.
fn last_word(moves: &[u8]) -> &[u8] {
    /// A result and the comments behind it are not longer: this is asked at many lines.
    const TAIL: usize = 1 << 14;
    let tail = moves.get(moves.len().saturating_sub(TAIL)..);
    let mut rest = tail.unwrap_or_default().trim_ascii_end();
    while rest.last() == Some(&b'}') {
        let at = rest.iter().rposition(|&byte| byte == b'{');
        rest = at.and_then(|at| rest.get(..at)).unwrap_or_default();
        rest = rest.trim_ascii_end();
    }
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'}';
    let begin = rest.iter().rposition(is_blank).map_or(0, |at| at + 1);
    rest.get(begin..).unwrap_or_default()
}

/// Whether a line has signs of ASCII only, none of which begins a tag pair or a comment.
fn has_plain_moves(line: &[u8]) -> bool {
    let is_of_moves = |byte: u8| is_plain(byte) & !matches!(byte, b'[' | b'{' | b';' | b'%');
    // Without a branch for each byte, compilers look at many at once.
    let all_are = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(true, |all, byte| all & is_of_moves(*byte))
    };
    line.chunks(MOVES_AT_ONCE).all(all_are)
}

/// Whether a byte outside of comments is of moves, or of words.
fn is_of_moves(byte: u8) -> bool {
    !(byte.is_ascii_whitespace() || byte.is_ascii_control())
}

fn is_of_result(byte: u8) -> bool {
    b"012/:-*\xc2\xbd".contains(&byte)
}

fn ends_line(byte: u8, next: Option<u8>) -> bool {
    byte == b'\n' || (byte == b'\r' && next != Some(b'\n'))
}

#[cfg(test)]
mod tests;
