//! The drawings of the pieces, made for this project: each an outline in a box
//! of 45 by 45, filled with the colour of the side, and lines on it.

use std::fmt::Write as _;

use shakmaty::{Color, Piece, Role};

/// The outline of a piece of either side.
fn outline(role: Role) -> &'static str {
    match role {
        Role::Pawn => {
            "M22.5 8.5a5.8 5.8 0 0 1 4 10c2.7 1.4 4.3 3.7 4.3 6.6 0 2.4-1 4.4-2.7 5.8 4.1 1.6 6.4 \
             4.3 6.7 8.6H10.2c.3-4.3 2.6-7 6.7-8.6-1.7-1.4-2.7-3.4-2.7-5.8 0-2.9 1.6-5.2 4.3-6.6a\
             5.8 5.8 0 0 1 4-10z"
        }
        Role::Knight => {
            "M35 39.5H12.5c-.3-6.6 3.4-9.9 7.9-13.6l-.2-2.3c-2.2 1.9-4.5 2.3-5.9 4.4-.9 1.4-2.3 \
             2.1-3.8 1.3-1.9-1-3.3-2.9-2.6-5 1-3.1 3.2-6.1 4.8-9.4.8-1.7 1.1-3.3 2.2-4.8L14.2 5.5\
             l5.2 3c.9-.4 1.8-.6 2.8-.7l2.5-3.2 1.6 3.7c6.6 2.3 9.9 8.5 10 15.6.1 6.1-.8 10.6-\
             1.3 15.6z"
        }
        Role::Bishop => {
            "M22.5 9.8c4.9 3.7 8 7.9 8 12.2 0 2.9-1.5 5.3-3.8 6.7l1.3 4.1c3.6\
             .2 6.4.9 8.5 2.4l-1.3 4.3H9.8l-1.3-4.3c2.1-1.5 4.9-2.2 8.5-2.4\
             l1.3-4.1c-2.3-1.4-3.8-3.8-3.8-6.7 0-4.3 3.1-8.5 8-12.2z"
        }
        Role::Rook => {
            "M10 39.5v-4.5l4-3 1.3-12.5-3.8-3.7V7.5h5.3v3.5h3.2V7.5h5v3.5h3.2V\
             7.5h5.3v8.3l-3.8 3.7 1.3 12.5 4 3v4.5z"
        }
        Role::Queen => {
            "M8.2 14l6 11.2 1.3-14.7 4.7 13.7 2.3-15.7 2.3 15.7 4.7-13.7 1.3 \
             14.7 6-11.2-3.6 17.3 2 4.2-.7 4H10.5l-.7-4 2-4.2z"
        }
        Role::King => {
            "M22.5 20.5c1.6-3.2 4.1-5.2 7.4-5.7 4.3-.6 8 1.9 8.3 5.9.3 3.6-2 7.2-\
             5.7 10.3l1 4.5-.5 4H12l-.5-4 1-4.5c-3.7-3.1-6-6.7-5.7-10.3.3-4 4-6.5 \
             8.3-5.9 3.3.5 5.8 2.5 7.4 5.7z"
        }
    }
}

/// What lies under the outline, of which only a part is seen.
fn beneath(role: Role) -> &'static str {
    match role {
        Role::King => {
            "M20.9 4h3.2v2.9h2.9v3.2h-2.9V13c1.5 1.5 2 3.5 1 6l-2.6 3-2.6-3c-1-2.5-.5-4.5 1-6v-2.9H18V6.9h2.9z"
        }
        Role::Queen => {
            "M8.2 14.2a2.3 2.3 0 1 1 .1 0zM15.5 10.7a2.3 2.3 0 1 1 .1 0zM22.5 8.7a\
             2.3 2.3 0 1 1 .1 0zM29.5 10.7a2.3 2.3 0 1 1 .1 0zM36.8 14.2a2.3 2.3 0 \
             1 1 .1 0z"
        }
        Role::Bishop => "M22.5 10.2a2.7 2.7 0 1 1 .1 0z",
        _ => "",
    }
}

/// The lines on a piece.
fn lines(role: Role) -> &'static str {
    match role {
        Role::Pawn => "",
        Role::Knight => "M16 15.8l1.6-1.3M10.8 25.2l.9-1M27.5 13.5c3.5 5 4.3 11.5 3.7 20",
        Role::Bishop => "M22.5 15.5v9M18.5 19.5h8M16.8 32.8h11.4",
        Role::Rook => "M15.3 19.5h14.4M14 32h17",
        Role::Queen => "M12 31.3c7-1.8 14-1.8 21 0M10.5 35.5c8-1.7 16-1.7 24 0",
        Role::King => "M12.5 31c6.5-2 13.5-2 20 0M11.7 35.5c7-1.8 14.6-1.8 21.6 0M22.5 20.5v8.5",
    }
}

/// The letter of a piece in FEN.
pub(super) fn letter(piece: Piece) -> char {
    piece.char()
}

/// Appends a piece as a symbol that `<use href="#pK"/>` and the like show.
pub(super) fn append_symbol(piece: Piece, out: &mut String) {
    let (fill, stroke, line) = match piece.color {
        Color::White => ("#fff", "#222", "#222"),
        Color::Black => ("#333", "#111", "#ddd"),
    };
    let (under, outline, lines) = (beneath(piece.role), outline(piece.role), lines(piece.role));
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "<g id=\"p{}\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.5\" \
         stroke-linejoin=\"round\" stroke-linecap=\"round\">",
        letter(piece)
    );
    for path in [under, outline] {
        if !path.is_empty() {
            let _ = write!(out, "<path d=\"{path}\"/>");
        }
    }
    if !lines.is_empty() {
        let _ = write!(out, "<path d=\"{lines}\" fill=\"none\" stroke=\"{line}\"/>");
    }
    out.push_str("</g>");
}
