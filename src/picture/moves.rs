//! The moves of a game in a page: each a link with the position after it, so
//! that the script needs no rules of chess.
//!
//! Main line first, the plies are numbered: those of the main line from 1, those
//! of variations from there on in the order of the page. `#12` in an address is
//! the position after ply 12, `#0` the start.

use std::fmt::Write as _;

use shakmaty::Color;

use super::board::{Picture, squares_of};
use super::game::step;
use super::{symbol, text};
use crate::game::{
    Annotation, AnnotationText, ByPly, Evaluation, Game, Nation, Phase, Ply, PlyId, Position,
    Training, cut,
};

/// The mark of a diagram in a text.
const DIAGRAM: &str = "[#]";

/// Diagrams of a page, at most.
const MOST_DIAGRAMS: usize = 100;

/// Bytes of one text that are shown, at most.
const MOST_OF_TEXT: usize = 100_000;

/// Variations this deep are blocks of their own; deeper ones stand in brackets,
/// and those deeper than the second number are no elements either: browsers
/// limit their nesting.
const BLOCKS: usize = 2;
const ELEMENTS: usize = 60;

/// Writes the moves of a game.
#[derive(Debug)]
pub(super) struct Moves<'g> {
    game: &'g Game,
    remarks: ByPly<'g>,
    room: Room,
    written: Written,
    stack: Vec<WritingStep>,
    next_number: u32,
    depth: usize,
    diagrams: usize,
    /// Whether the next move of Black needs its number.
    is_interrupted: bool,
    is_in_item: bool,
}

/// How long a page may become.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Until it is so long, moves have boards.
    pub(super) with_boards: usize,
    /// Until then, moves are written.
    pub(super) whole: usize,
}

/// How the moves were written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written {
    /// Moves that are there without a board.
    pub(super) without_boards: usize,
    /// Moves and remarks that are left out.
    pub(super) left_out: usize,
}

/// A pending step of writing.
#[derive(Debug)]
enum WritingStep {
    /// A ply, with the alternatives to it, and what follows.
    Ply(PlyId, Point),
    /// An alternative and those after it.
    Others(PlyId, Point),
    Close,
}

/// A place in the game before a ply.
#[derive(Clone, Debug)]
struct Point {
    position: Position,
    /// Number of the ply before it.
    parent: u32,
    /// Twice the number of the move, and one for Black's.
    half: u32,
    is_main: bool,
    is_alternative: bool,
}

impl<'g> Moves<'g> {
    pub(super) fn new(game: &'g Game, room: Room) -> Moves<'g> {
        let main = u32::try_from(game.tree.main_line_len()).unwrap_or(u32::MAX);
        Moves {
            game,
            remarks: game.annotations.by_ply(game.tree.len()),
            room,
            written: Written::default(),
            stack: Vec::new(),
            next_number: main.saturating_add(1),
            depth: 0,
            diagrams: 0,
            is_interrupted: true,
            is_in_item: false,
        }
    }

    /// Appends the list of moves.
    pub(super) fn append_to(mut self, out: &mut String) -> Written {
        let start = &self.game.start;
        let turn = u32::from(start.position.turn() == Color::Black);
        let point = Point {
            position: start.position.clone(),
            parent: 0,
            half: start.first_move_number().saturating_mul(2) + turn,
            is_main: true,
            is_alternative: false,
        };
        self.append_start(&point.position, out);
        out.push_str("<ol class=\"moves\">\n");
        if let Some(first) = self.game.tree.first_child(PlyId::START) {
            self.stack.push(WritingStep::Ply(first, point));
        }
        while let Some(next) = self.stack.pop() {
            if matches!(next, WritingStep::Close) || self.has_room(out) {
                self.take(next, out);
            }
        }
        out.push_str(if self.is_in_item {
            "</li>\n</ol>\n"
        } else {
            "</ol>\n"
        });
        self.written
    }

    /// Whether more may be written; what is not is counted.
    fn has_room(&mut self, out: &str) -> bool {
        let has_room = out.len() < self.room.whole;
        self.written.left_out += usize::from(!has_room);
        has_room
    }

    /// The start, and what is said of the whole game.
    fn append_start(&mut self, position: &Position, out: &mut String) {
        out.push_str("<p class=\"start\"><a id=\"0\" href=\"#0\"");
        append_position(position, out);
        self.append_marks(PlyId::START, out);
        out.push_str(">Start</a>");
        self.append_remarks(PlyId::START, position, out);
        out.push_str("</p>\n");
    }

    fn take(&mut self, next: WritingStep, out: &mut String) {
        match next {
            WritingStep::Ply(id, point) => self.ply(id, point, out),
            WritingStep::Others(id, point) => {
                if let Some(next) = self.game.tree.next_sibling(id) {
                    self.stack.push(WritingStep::Others(next, point.clone()));
                }
                self.stack.push(WritingStep::Close);
                self.stack.push(WritingStep::Ply(id, point));
                self.open(out);
            }
            WritingStep::Close => self.close(out),
        }
    }

    fn open(&mut self, out: &mut String) {
        self.depth += 1;
        self.is_interrupted = true;
        out.push_str(match self.depth {
            depth if depth <= BLOCKS => "<div class=\"v\">",
            depth if depth <= ELEMENTS => "<span class=\"v\">(",
            _ => "(",
        });
    }

    fn close(&mut self, out: &mut String) {
        out.push_str(match self.depth {
            depth if depth <= BLOCKS => "</div>\n",
            depth if depth <= ELEMENTS => ")</span> ",
            _ => ") ",
        });
        self.depth -= 1;
        self.is_interrupted = true;
    }

    fn ply(&mut self, id: PlyId, point: Point, out: &mut String) {
        let Some(ply) = self.game.tree.ply(id) else {
            return;
        };
        let number = self.number_of(&point);
        self.begin_item(&point, out);
        self.append_before(id, &point.position, out);
        append_move_number(point.half, std::mem::take(&mut self.is_interrupted), out);
        let mut after = point.position.clone();
        step(&mut after, ply.mv);
        self.append_link(id, ply, number, &point, &after, out);
        self.append_remarks(id, &after, out);
        out.push(' ');
        let next = Point {
            position: after,
            parent: number,
            half: point.half.saturating_add(1),
            is_main: point.is_main,
            is_alternative: false,
        };
        if let Some(child) = self.game.tree.first_child(id) {
            self.stack.push(WritingStep::Ply(child, next));
        }
        if !point.is_alternative
            && let Some(other) = self.game.tree.next_sibling(id)
        {
            let others = Point {
                is_main: false,
                is_alternative: true,
                ..point
            };
            self.stack.push(WritingStep::Others(other, others));
        }
    }

    fn number_of(&mut self, point: &Point) -> u32 {
        if point.is_main {
            return point.parent.saturating_add(1);
        }
        let number = self.next_number;
        self.next_number = number.saturating_add(1);
        number
    }

    /// A move of both sides of the main line is an item of the list.
    fn begin_item(&mut self, point: &Point, out: &mut String) {
        let is_first = point.parent == 0 && point.is_main;
        if point.is_main && (is_first || point.half.is_multiple_of(2)) {
            out.push_str(if self.is_in_item {
                "</li>\n<li>"
            } else {
                "<li>"
            });
            self.is_in_item = true;
            self.is_interrupted = self.is_interrupted || is_first;
        }
    }

    fn append_link(
        &mut self,
        id: PlyId,
        ply: &Ply,
        number: u32,
        point: &Point,
        after: &Position,
        out: &mut String,
    ) {
        if out.len() >= self.room.with_boards {
            self.written.without_boards += 1;
            return self.append_san(id, ply, out);
        }
        let _ = write!(out, "<a id=\"{number}\" href=\"#{number}\"");
        append_position(after, out);
        if let Some((from, to)) = ply.mv.and_then(squares_of) {
            let _ = write!(out, " data-m=\"{from}{to}\"");
        }
        if point.parent.saturating_add(1) != number {
            let _ = write!(out, " data-u=\"{}\"", point.parent);
        }
        self.append_marks(id, out);
        out.push('>');
        self.append_san(id, ply, out);
        out.push_str("</a>");
    }

    /// A move with its signs.
    fn append_san(&self, id: PlyId, ply: &Ply, out: &mut String) {
        text::append(&ply.san.to_string(), out);
        let symbols = self.on(id).filter_map(|remark| match remark {
            Annotation::Symbols([on_move, on_position, _]) => Some([*on_move, *on_position]),
            _ => None,
        });
        for nag in symbols.flatten().filter(|nag| *nag != 0) {
            append_symbol(nag, out);
        }
    }

    fn on(&self, id: PlyId) -> impl Iterator<Item = &'g Annotation> + use<'g> {
        self.remarks.on(id).iter().map(|(_, remark)| remark)
    }

    /// Marked squares, arrows, time and evaluation, for the script.
    fn append_marks(&self, id: PlyId, out: &mut String) {
        let (mut squares, mut arrows) = (String::new(), String::new());
        for remark in self.on(id) {
            match remark {
                Annotation::Squares(marks) => {
                    for mark in marks {
                        let _ = write!(squares, "{}{} ", mark.color, mark.square);
                    }
                }
                Annotation::Arrows(marks) => {
                    for mark in marks {
                        let _ = write!(arrows, "{}{}{} ", mark.color, mark.from, mark.to);
                    }
                }
                Annotation::TimeSpent(time) => {
                    let (hours, minutes, seconds) = (time.hours, time.minutes, time.seconds);
                    let _ = write!(out, " data-t=\"{hours}:{minutes:02}:{seconds:02}\"");
                }
                Annotation::Evaluation(evaluation) => {
                    if let Some(words) = evaluation_words(*evaluation) {
                        let _ = write!(out, " data-e=\"{words}\"");
                    }
                }
                _ => {}
            }
        }
        for (name, marks) in [("s", squares), ("a", arrows)] {
            if !marks.is_empty() {
                let _ = write!(out, " data-{name}=\"{}\"", marks.trim_end());
            }
        }
    }

    /// What stands before a move: texts, and signs such as "better is".
    fn append_before(&mut self, id: PlyId, position: &Position, out: &mut String) {
        for remark in self.on(id) {
            match remark {
                Annotation::TextBefore(text) => self.append_text(text, position, out),
                Annotation::Symbols([_, _, prefix]) if *prefix != 0 => {
                    append_symbol(*prefix, out);
                    out.push(' ');
                }
                _ => {}
            }
        }
    }

    /// What stands behind a move.
    fn append_remarks(&mut self, id: PlyId, position: &Position, out: &mut String) {
        for remark in self.on(id) {
            match remark {
                Annotation::TextAfter(text) => self.append_text(text, position, out),
                // That before the first ply.
                Annotation::TextBefore(text) if id == PlyId::START => {
                    self.append_text(text, position, out);
                }
                other => self.append_other(other, out),
            }
        }
    }

    fn append_text(&mut self, words: &AnnotationText, position: &Position, out: &mut String) {
        if !words.has_words() || !self.has_room(out) {
            return;
        }
        self.is_interrupted = true;
        out.push_str(" <span class=\"c\"");
        if let Some(language) = language(words.language) {
            let _ = write!(out, " lang=\"{language}\"");
        }
        out.push_str(" dir=\"auto\">");
        for (index, part) in cut(&words.text, MOST_OF_TEXT).split(DIAGRAM).enumerate() {
            if index > 0 {
                self.append_diagram(position, out);
            }
            text::append(part.trim_matches(' '), out);
        }
        if words.text.len() > MOST_OF_TEXT {
            out.push_str(" … (The rest of this remark is in the PGN file.)");
        }
        out.push_str("</span> ");
    }

    fn append_diagram(&mut self, position: &Position, out: &mut String) {
        self.diagrams += 1;
        if self.diagrams <= MOST_DIAGRAMS {
            Picture::of(position).append_to_page("diagram", out);
        }
    }

    fn append_other(&mut self, remark: &Annotation, out: &mut String) {
        let before = out.len();
        if before >= self.room.whole {
            return;
        }
        match remark {
            Annotation::Training(training) => append_training(training, out),
            Annotation::Quotation(quotation) => append_note("", &quotation.caption, out),
            Annotation::Video { caption, .. } => append_note("Video: ", caption, out),
            Annotation::WebLink { url, caption } => append_web_link(url, caption, out),
            Annotation::Critical(phase) => append_note("", critical_words(*phase), out),
            _ => {}
        }
        self.is_interrupted |= out.len() > before;
    }
}

/// The placement of the pieces as FEN has it, and who is to move.
fn append_position(position: &Position, out: &mut String) {
    let board = shakmaty::Board::from(position.board());
    let placement = board.board_fen();
    let turn = position.turn().char();
    let _ = write!(out, " data-f=\"{placement} {turn}\"");
}

fn append_move_number(half: u32, is_interrupted: bool, out: &mut String) {
    let number = half / 2;
    let _ = match (half % 2, is_interrupted) {
        (0, _) => write!(out, "<span class=\"n\">{number}.\u{a0}</span>"),
        (_, true) => write!(out, "<span class=\"n\">{number}…\u{a0}</span>"),
        (_, false) => Ok(()),
    };
}

fn append_symbol(nag: u8, out: &mut String) {
    let _ = match symbol::sign(nag) {
        Some((sign, meaning)) => {
            write!(
                out,
                "<span class=\"s\" title=\"{meaning}\">{}</span>",
                text::escaped(sign)
            )
        }
        None => write!(out, "<span class=\"s\">${nag}</span>"),
    };
}

fn append_note(what: &str, words: &str, out: &mut String) {
    if words.trim().is_empty() {
        return;
    }
    let _ = write!(out, " <span class=\"c\" dir=\"auto\">{what}");
    text::append(cut(words, MOST_OF_TEXT), out);
    out.push_str("</span> ");
}

fn append_web_link(url: &str, caption: &str, out: &mut String) {
    let (url, caption) = (cut(url, MOST_OF_TEXT), cut(caption, MOST_OF_TEXT));
    let words = if caption.trim().is_empty() {
        url
    } else {
        caption
    };
    if !text::is_followed(url) {
        append_note("", words, out);
        return;
    }
    out.push_str(" <a class=\"web\" rel=\"noopener noreferrer nofollow\" href=\"");
    text::append(url, out);
    out.push_str("\"><bdi>");
    text::append(words, out);
    out.push_str("</bdi></a> ");
}

fn append_training(training: &Training, out: &mut String) {
    let [question, _, hint, second_hint] = &training.texts;
    let first = |texts: &[(u16, String)]| {
        let text = texts.first().map(|(_, text)| text.clone());
        text.unwrap_or_default()
    };
    append_note("Question: ", &first(question), out);
    out.push_str("<span class=\"answers\" tabindex=\"0\">Answer: <span>");
    for text in [hint, second_hint] {
        append_note("Hint: ", &first(text), out);
    }
    for answer in training.answers.iter().take(50) {
        let _ = write!(out, "{}–{} ", answer.from, answer.to);
        append_note("", &first(&answer.text), out);
    }
    out.push_str("</span></span> ");
}

fn critical_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Opening => "Critical position of the opening",
        Phase::Middlegame => "Critical position of the middlegame",
        Phase::Endgame => "Critical position of the endgame",
    }
}

/// An evaluation as pages show it; `None` of a kind that is not known.
pub(super) fn evaluation_words(evaluation: Evaluation) -> Option<String> {
    match evaluation.kind {
        0 => Some(format!("{:+.2}", f64::from(evaluation.value) / 100.0)),
        1 => Some(format!("#{}", evaluation.value)),
        _ => None,
    }
}

/// The language of a text as HTML names it.
fn language(nation: Nation) -> Option<&'static str> {
    Some(match nation.code()? {
        "ENG" | "USA" => "en",
        "GER" => "de",
        "FRA" => "fr",
        "ESP" => "es",
        "ITA" => "it",
        "NED" => "nl",
        "POR" | "BRA" => "pt",
        "RUS" => "ru",
        "POL" => "pl",
        "HUN" => "hu",
        "CZE" => "cs",
        "SWE" => "sv",
        "DEN" => "da",
        "NOR" => "no",
        "FIN" => "fi",
        "TUR" => "tr",
        "GRE" => "el",
        "CHN" => "zh",
        "JPN" => "ja",
        _ => return None,
    })
}
