//! A position as people look at it.

use shakmaty::{Color, File, Rank, Role, Square};

use super::Position;

/// Draws the board from White's side in figurines, and says who is to move: ten
/// lines, the content of `board.txt` of a position.
pub fn board_text(position: &Position) -> String {
    let mut text = String::new();
    for rank in Rank::ALL.into_iter().rev() {
        text.push(rank.char());
        for file in File::ALL {
            let square = Square::from_coords(file, rank);
            let piece = position.board().piece_at(square);
            text.push(' ');
            text.push(piece.map_or('·', |piece| figurine(piece.color, piece.role)));
        }
        text.push('\n');
    }
    text += "  a b c d e f g h\n";
    text += position
        .turn()
        .fold_wb("White to move\n", "Black to move\n");
    text
}

fn figurine(color: Color, role: Role) -> char {
    let (white, black) = match role {
        Role::King => ('♔', '♚'),
        Role::Queen => ('♕', '♛'),
        Role::Rook => ('♖', '♜'),
        Role::Bishop => ('♗', '♝'),
        Role::Knight => ('♘', '♞'),
        Role::Pawn => ('♙', '♟'),
    };
    color.fold_wb(white, black)
}
