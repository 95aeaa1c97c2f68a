//! A position as a picture, in SVG.

use std::fmt::Write as _;

use shakmaty::{Color, File, Move, Rank, Role, Square};

use super::{pieces, text};
use crate::game::{Board, Position};

/// The side of a square, in the units of the picture.
const SIDE: i32 = 45;

/// The side of the board.
const BOARD: i32 = 8 * SIDE;

/// Room for the letters and numbers at the left and below.
const MARGIN: i32 = 20;

/// An arrow on a board.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrow {
    /// Where it begins.
    pub from: Square,
    /// The square that it points to.
    pub to: Square,
    /// Colour, as CSS has it.
    pub color: String,
    /// Its width; 45 is a square's.
    pub width: f64,
    /// A text about it; may be empty.
    pub title: String,
}

/// A square with a colour, as CSS has it.
pub type Mark = (Square, &'static str);

/// A position with what is drawn on it.
#[derive(Clone, Debug)]
pub struct Picture<'p> {
    /// The position.
    pub position: &'p Position,
    /// Squares that are marked.
    pub marks: Vec<Mark>,
    /// Arrows, the uppermost last.
    pub arrows: Vec<Arrow>,
    /// The squares of the last move.
    pub last_move: Option<(Square, Square)>,
}

impl<'p> Picture<'p> {
    /// The position alone.
    pub fn of(position: &'p Position) -> Picture<'p> {
        Picture {
            position,
            marks: Vec::new(),
            arrows: Vec::new(),
            last_move: None,
        }
    }

    /// A file of its own: White below, letters and numbers at the edges, the side
    /// to move marked by a disc.
    pub fn file(&self) -> String {
        let mut out = String::with_capacity(8192);
        let (width, height) = (BOARD + 2 * MARGIN, BOARD + MARGIN + 4);
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{} -4 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\">",
            -MARGIN
        );
        let _ = write!(out, "<title>{}</title><defs>", described(self.position));
        append_used(self.position.board(), &mut out);
        append_squares(&mut out);
        out.push_str("</defs>");
        let _ = write!(
            out,
            "<rect x=\"{}\" y=\"-4\" width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>",
            -MARGIN
        );
        self.append_board("", &mut out);
        append_edges(&mut out);
        append_turn(self.position.turn(), &mut out);
        out.push_str("</svg>\n");
        out
    }

    /// A part of a page that has the symbols of [`append_symbols`].
    pub fn append_to_page(&self, class: &str, out: &mut String) {
        self.append_with(class, "", out);
    }

    /// As [`append_to_page`](Picture::append_to_page), with the names of files and
    /// ranks in the squares at the edges.
    pub fn append_to_page_with_names(&self, class: &str, out: &mut String) {
        let mut names = "<g class=\"names\">".to_owned();
        for (file, name) in ('a'..='h').enumerate() {
            let x = file * 45 + 38;
            let _ = write!(names, "<text x=\"{x}\" y=\"357\">{name}</text>");
        }
        for rank in 0..8 {
            let (y, name) = (rank * 45 + 10, 8 - rank);
            let _ = write!(names, "<text x=\"2\" y=\"{y}\">{name}</text>");
        }
        names.push_str("</g>");
        self.append_with(class, &names, out);
    }

    fn append_with(&self, class: &str, names: &str, out: &mut String) {
        let _ = write!(
            out,
            "<svg class=\"{class}\" viewBox=\"0 0 {BOARD} {BOARD}\" role=\"img\" \
             aria-label=\"{}\">",
            described(self.position)
        );
        self.append_board(names, out);
        out.push_str("</svg>");
    }

    /// Appends the board with names of files and ranks, which are under the pieces.
    fn append_board(&self, names: &str, out: &mut String) {
        out.push_str("<use href=\"#bd\"/>");
        self.append_marks(out);
        out.push_str(names);
        append_pieces(self.position.board(), out);
        out.push_str("<g class=\"arrows\">");
        for arrow in &self.arrows {
            arrow.append_to(out);
        }
        out.push_str("</g>");
    }

    fn append_marks(&self, out: &mut String) {
        out.push_str("<g class=\"marks\">");
        let last = self.last_move.into_iter().flat_map(|(from, to)| [from, to]);
        let last = last.map(|square| (square, "#f5d442"));
        for (square, color) in last.chain(self.marks.iter().copied()) {
            let (x, y) = corner(square);
            let _ = write!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{SIDE}\" height=\"{SIDE}\" \
                 fill=\"{color}\" fill-opacity=\".55\"/>"
            );
        }
        out.push_str("</g>");
    }
}

/// A move that was played in a position, and how it did.
#[derive(Clone, Debug)]
pub struct Popular {
    /// The move; `None` is a null move.
    pub m: Option<Move>,
    /// Its notation.
    pub san: String,
    /// Games with it.
    pub games: u32,
    /// White's score in them, 0 to 1.
    pub score: Option<f64>,
}

/// Moves that have arrows, at most.
const MOST_ARROWS: usize = 16;

/// `board.svg` of a position: the moves that were played there as arrows, as
/// wide as they are popular, in the colours of White's score. `moves` are in the
/// order of games, most first.
pub fn of_moves(position: &Position, moves: &[Popular]) -> String {
    let sum: f64 = moves.iter().map(|played| f64::from(played.games)).sum();
    let arrow = |played: &Popular| {
        let (from, to) = squares_of(played.m?)?;
        let share = f64::from(played.games) / sum.max(1.0);
        let score = played.score;
        let score_words = score.map(|score| format!(", White scores {:.1} %", 100.0 * score));
        Some(Arrow {
            from,
            to,
            color: color_of_score(score),
            width: 1.5 + 14.0 * share,
            title: format!(
                "{}: {} ({:.1} %){}",
                played.san,
                match played.games {
                    1 => "1 game".to_owned(),
                    games => format!("{games} games"),
                },
                100.0 * share,
                score_words.unwrap_or_default()
            ),
        })
    };
    let arrows = moves.iter().filter_map(arrow).take(MOST_ARROWS);
    Picture {
        arrows: arrows.collect(),
        ..Picture::of(position)
    }
    .file()
}

/// The squares that a piece moves from and to; those of the king in castling.
pub fn squares_of(m: Move) -> Option<(Square, Square)> {
    let from = m.from()?;
    match m.castling_side() {
        Some(side) => Some((from, side.king_to(side_of(from)))),
        None => Some((from, m.to())),
    }
}

/// The side whose king castles from this square.
fn side_of(king: Square) -> Color {
    Color::from_white(king.rank() == Rank::First)
}

impl Arrow {
    /// A shaft with a head that ends in the middle of its square.
    fn append_to(&self, out: &mut String) {
        let ((x, y), (to_x, to_y)) = (middle(self.from), middle(self.to));
        let (dx, dy) = (to_x - x, to_y - y);
        let length = dx.hypot(dy);
        if length < 1.0 {
            return;
        }
        let (ux, uy) = (dx / length, dy / length);
        let half = self.width / 2.0;
        let (head, wing) = (self.width * 1.2 + 8.0, self.width * 0.8 + 5.0);
        let start = 12.0_f64.min(length / 4.0);
        let neck = (length - head).max(start);
        let mut path = String::new();
        let corners = [
            (start, half),
            (neck, half),
            (neck, wing),
            (length, 0.0),
            (neck, -wing),
            (neck, -half),
            (start, -half),
        ];
        for (index, (along, aside)) in corners.into_iter().enumerate() {
            let (px, py) = (x + ux * along - uy * aside, y + uy * along + ux * aside);
            let _ = write!(
                path,
                "{}{px:.1} {py:.1}",
                if index == 0 { 'M' } else { 'L' }
            );
        }
        let color = text::escaped(&self.color);
        let _ = write!(
            out,
            "<path d=\"{path}z\" fill=\"{color}\" fill-opacity=\".8\">"
        );
        if !self.title.is_empty() {
            out.push_str("<title>");
            text::append(&self.title, out);
            out.push_str("</title>");
        }
        out.push_str("</path>");
    }
}

/// The colour of an arrow by White's score, 0 to 1: orange where Black scores,
/// grey, blue where White does.
pub fn color_of_score(score: Option<f64>) -> String {
    let from_middle = (score.unwrap_or(0.5).clamp(0.0, 1.0) - 0.5) * 4.0;
    let share = from_middle.abs().min(1.0);
    let (red, green, blue) = if from_middle < 0.0 {
        (214.0, 96.0, 0.0)
    } else {
        (20.0, 98.0, 190.0)
    };
    let mixed = |end: f64| (125.0 + (end - 125.0) * share).round();
    format!("rgb({},{},{})", mixed(red), mixed(green), mixed(blue))
}

/// The position in words: who is to move, and where the pieces are.
pub fn described(position: &Position) -> String {
    let mut words = position
        .turn()
        .fold_wb("White to move.", "Black to move.")
        .to_owned();
    for color in [Color::White, Color::Black] {
        let _ = write!(words, " {}:", color.fold_wb("White", "Black"));
        let mut separator = "";
        for role in Role::ALL.into_iter().rev() {
            for square in position.board().by_piece(role.of(color)) {
                let _ = write!(words, "{separator} {}{square}", short(role));
                separator = ",";
            }
        }
        if separator.is_empty() {
            words.push_str(" no pieces");
        }
        words.push('.');
    }
    words
}

fn short(role: Role) -> &'static str {
    match role {
        Role::Pawn => "",
        Role::Knight => "N",
        Role::Bishop => "B",
        Role::Rook => "R",
        Role::Queen => "Q",
        Role::King => "K",
    }
}

/// Appends the symbols of all pieces, for a page with boards.
pub fn append_symbols(out: &mut String) {
    out.push_str("<svg class=\"symbols\" aria-hidden=\"true\" width=\"0\" height=\"0\"><defs>");
    for color in [Color::White, Color::Black] {
        for role in Role::ALL {
            pieces::append_symbol(role.of(color), out);
        }
    }
    append_squares(out);
    out.push_str("</defs></svg>\n");
}

fn append_used(board: &Board, out: &mut String) {
    for color in [Color::White, Color::Black] {
        for role in Role::ALL {
            let piece = role.of(color);
            if !board.by_piece(piece).is_empty() {
                pieces::append_symbol(piece, out);
            }
        }
    }
}

/// The empty board, as the symbol `bd`.
fn append_squares(out: &mut String) {
    let _ = write!(
        out,
        "<g id=\"bd\"><rect width=\"{BOARD}\" height=\"{BOARD}\" fill=\"#eed9b6\"/><path fill=\"#a97f5a\" d=\""
    );
    for row in 0..8 {
        for column in (0..8).filter(|column| (row + column) % 2 == 1) {
            let _ = write!(
                out,
                "M{} {}h{SIDE}v{SIDE}h-{SIDE}z",
                column * SIDE,
                row * SIDE
            );
        }
    }
    out.push_str("\"/></g>");
}

fn append_pieces(board: &Board, out: &mut String) {
    out.push_str("<g class=\"pieces\">");
    for square in board.occupied() {
        if let Some(piece) = board.piece_at(square) {
            let (x, y) = corner(square);
            let letter = pieces::letter(piece);
            let _ = write!(out, "<use href=\"#p{letter}\" x=\"{x}\" y=\"{y}\"/>");
        }
    }
    out.push_str("</g>");
}

fn append_edges(out: &mut String) {
    out.push_str(
        "<g font-family=\"sans-serif\" font-size=\"13\" fill=\"#444\" text-anchor=\"middle\">",
    );
    for file in File::ALL {
        let x = i32::from(file) * SIDE + SIDE / 2;
        let _ = write!(
            out,
            "<text x=\"{x}\" y=\"{}\">{}</text>",
            BOARD + 14,
            file.char()
        );
    }
    for rank in Rank::ALL {
        let y = (7 - i32::from(rank)) * SIDE + SIDE / 2 + 5;
        let _ = write!(out, "<text x=\"-10\" y=\"{y}\">{}</text>", rank.char());
    }
    out.push_str("</g>");
}

fn append_turn(turn: Color, out: &mut String) {
    let (y, fill) = turn.fold_wb((BOARD - SIDE / 2, "#fff"), (SIDE / 2, "#333"));
    let _ = write!(
        out,
        "<circle cx=\"{}\" cy=\"{y}\" r=\"6\" fill=\"{fill}\" stroke=\"#111\" stroke-width=\"1.5\"/>",
        BOARD + MARGIN / 2
    );
}

/// The upper left corner of a square.
fn corner(square: Square) -> (i32, i32) {
    let (file, rank) = (i32::from(square.file()), i32::from(square.rank()));
    (file * SIDE, (7 - rank) * SIDE)
}

fn middle(square: Square) -> (f64, f64) {
    let (x, y) = corner(square);
    let half = f64::from(SIDE) / 2.0;
    (f64::from(x) + half, f64::from(y) + half)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shakmaty::CastlingMode;

    use super::*;
    use crate::game::Start;

    fn position(fen: &str) -> Position {
        Start::from_fen(fen, CastlingMode::Standard)
            .unwrap()
            .position
    }

    /// The pieces that a picture shows, by the squares they are drawn on.
    fn shown(picture: &str) -> BTreeSet<(char, Square)> {
        let number = |part: &str, name: &str| -> i32 {
            let rest = part.split_once(name).unwrap().1;
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let uses = picture.split("<use href=\"#p").skip(1);
        uses.map(|part| {
            let letter = part.chars().next().unwrap();
            let (x, y) = (number(part, "x=\""), number(part, "y=\""));
            let file = File::new(u32::try_from(x / SIDE).unwrap());
            let rank = Rank::new(u32::try_from(7 - y / SIDE).unwrap());
            (letter, Square::from_coords(file, rank))
        })
        .collect()
    }

    #[test]
    fn each_piece_is_drawn_on_its_square() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
            "8/8/8/3q4/8/8/8/8 w - - 0 1",
            "8/8/8/8/8/8/8/8 b - - 0 1",
        ] {
            let position = position(fen);
            let picture = Picture::of(&position).file();
            let board = position.board();
            let pieces = board.occupied().into_iter();
            let expected = pieces.map(|square| (board.piece_at(square).unwrap().char(), square));
            assert_eq!(shown(&picture), expected.collect());
            for letter in "KQRBNPkqrbnp".chars() {
                let is_used = picture.contains(&format!("href=\"#p{letter}\""));
                assert_eq!(picture.contains(&format!("id=\"p{letter}\"")), is_used);
            }
        }
    }

    #[test]
    fn a_position_is_told_in_words() {
        let position = position("4k3/8/8/8/8/8/4PP2/8 b - - 0 1");
        let words = described(&position);
        assert_eq!(words, "Black to move. White: e2, f2. Black: Ke8.");
        assert!(Picture::of(&position).file().contains(&words));
    }

    #[test]
    fn an_arrow_points_from_square_to_square() {
        let position = Position::default();
        let mut picture = Picture::of(&position);
        picture.arrows.push(Arrow {
            from: Square::A1,
            to: Square::A8,
            color: color_of_score(Some(0.5)),
            width: 10.0,
            title: "<a>".to_owned(),
        });
        let file = picture.file();
        assert!(file.contains("M27.5 325.5"), "{file}");
        assert!(file.contains("L22.5 22.5"), "{file}");
        assert!(file.contains("<title>&lt;a&gt;</title>"), "{file}");
        assert!(file.contains("rgb(125,125,125)"), "{file}");
    }

    #[test]
    fn moves_are_arrows_as_wide_as_they_are_popular() {
        let position = position("4k3/8/8/8/8/8/4P3/4K2R w K - 0 1");
        let castling = Move::Castle {
            king: Square::E1,
            rook: Square::H1,
        };
        let popular = |m, san: &str, games, score| Popular {
            m,
            san: san.to_owned(),
            games,
            score,
        };
        let picture = of_moves(
            &position,
            &[
                popular(Some(castling), "O-O", 3, Some(1.0)),
                popular(None, "--", 1, None),
            ],
        );
        let title = "<title>O-O: 3 games (75.0 %), White scores 100.0 %</title>";
        assert!(picture.contains(title), "{picture}");
        assert!(
            picture.contains("L292.5 337.5"),
            "the king goes to g1: {picture}"
        );
        assert_eq!(picture.matches("fill-opacity=\".8\"").count(), 1);
        assert_eq!(squares_of(castling), Some((Square::E1, Square::G1)));
    }

    #[test]
    fn scores_have_colours() {
        assert_eq!(color_of_score(None), "rgb(125,125,125)");
        assert_eq!(color_of_score(Some(1.0)), "rgb(20,98,190)");
        assert_eq!(color_of_score(Some(0.0)), "rgb(214,96,0)");
    }
}
