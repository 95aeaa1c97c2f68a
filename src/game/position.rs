//! A position on the board, and what may be played in it.
//!
//! The rules are shakmaty's. Two things are ours. First, positions that
//! shakmaty refuses and bases hold all the same: a board without a king, a
//! set-up with the wrong side to move, a null move played in check. Second,
//! speed: shakmaty answers "is this legal", "what is its notation" and "is
//! it mate" by generating moves; here each is asked of the attack tables,
//! which is five times as fast, and `tests` hold the answers against
//! shakmaty's.

use shakmaty::{
    Bitboard, Board, CastlingMode, CastlingSide, Castles, Chess, Color, EnPassantMode,
    Move, Position as _, PositionError, Rank, Role, Setup, Square, attacks,
};

use super::San;

/// A position, regular or not.
#[derive(Clone, Debug)]
pub struct Position {
    rules: Rules,
    /// Whether the side to move is in check.
    in_check: bool,
}

#[derive(Clone, Debug)]
enum Rules {
    /// A position that shakmaty accepts.
    Regular(Chess),
    /// One that it refuses. Moves go by the pieces' ways and the safety of a
    /// king that is there.
    Irregular(Box<Setup>, CastlingMode),
}

/// The rules forbid the move in this position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalMove;

impl Default for Position {
    fn default() -> Position {
        Position {
            rules: Rules::Regular(Chess::new()),
            in_check: false,
        }
    }
}

impl Position {
    /// The position of a set-up. Castling rights and an en passant square
    /// that do not fit the pieces are dropped.
    pub fn from_setup(setup: Setup, mode: CastlingMode) -> Position {
        let checked = setup
            .clone()
            .position::<Chess>(mode)
            .or_else(PositionError::ignore_invalid_castling_rights)
            .or_else(PositionError::ignore_invalid_ep_square)
            .or_else(PositionError::ignore_too_much_material)
            .or_else(PositionError::ignore_impossible_check);
        let rules = match checked {
            Ok(chess) => Rules::Regular(chess),
            Err(_) => Rules::Irregular(Box::new(fitting(setup, mode)), mode),
        };
        let mut position = Position {
            rules,
            in_check: false,
        };
        position.in_check = position.checkers().any();
        position
    }

    /// The pieces.
    pub fn board(&self) -> &Board {
        match &self.rules {
            Rules::Regular(chess) => chess.board(),
            Rules::Irregular(setup, _) => &setup.board,
        }
    }

    /// Who is to move.
    pub fn turn(&self) -> Color {
        match &self.rules {
            Rules::Regular(chess) => chess.turn(),
            Rules::Irregular(setup, _) => setup.turn,
        }
    }

    /// Whether the rules of chess allow the position.
    pub fn is_regular(&self) -> bool {
        matches!(self.rules, Rules::Regular(_))
    }

    /// Whether castling is that of Chess960.
    pub fn castling_mode(&self) -> CastlingMode {
        match &self.rules {
            Rules::Regular(chess) => chess.castles().mode(),
            Rules::Irregular(_, mode) => *mode,
        }
    }

    /// The rooks that may still castle.
    pub fn castling_rights(&self) -> Bitboard {
        match &self.rules {
            Rules::Regular(chess) => chess.castles().castling_rights(),
            Rules::Irregular(setup, _) => setup.castling_rights,
        }
    }

    /// The square behind a pawn that has just made its double step.
    pub fn en_passant_square(&self) -> Option<Square> {
        match &self.rules {
            Rules::Regular(chess) => chess.maybe_ep_square(),
            Rules::Irregular(setup, _) => setup.ep_square,
        }
    }

    /// The castling move of the side to move, if it has the right.
    pub fn castling_move(&self, side: CastlingSide) -> Option<Move> {
        let turn = self.turn();
        let rook = match &self.rules {
            Rules::Regular(chess) => chess.castles().rook(turn, side),
            Rules::Irregular(setup, mode) => castles(setup, *mode).rook(turn, side),
        }?;
        let king = self.board().king_of(turn)?;
        Some(Move::Castle { king, rook })
    }

    /// Plays a move and gives its notation, check and mate marks included.
    /// The move's fields need not be trusted: piece, capture and promotion
    /// are checked against the board.
    ///
    /// # Errors
    ///
    /// [`IllegalMove`] if the rules forbid it; nothing has changed then.
    pub fn play(&mut self, m: Move) -> Result<San, IllegalMove> {
        if !self.is_legal(m) {
            return Err(IllegalMove);
        }
        let mut san = self.san_without_mark(m);
        self.play_unchecked(m);
        self.in_check = self.checkers().any();
        if self.in_check {
            san.push(if self.is_mate() { b'#' } else { b'+' });
        }
        Ok(san)
    }

    /// Passes the move, in check too, as ChessBase lets its users do.
    pub fn play_null(&mut self) {
        let mut setup = self.to_setup();
        setup.swap_turn();
        *self = Position::from_setup(setup, self.castling_mode());
    }

    /// Whether the rules allow `m`.
    pub fn is_legal(&self, m: Move) -> bool {
        match m {
            Move::Normal {
                role,
                from,
                capture,
                to,
                promotion,
            } => {
                self.is_pseudo_legal(role, from, capture, to, promotion)
                    && self.leaves_king_safe(role, from, to, Bitboard::from_square(to))
            }
            Move::EnPassant { from, to } => {
                let taken = Square::from_coords(to.file(), from.rank());
                self.en_passant_square() == Some(to)
                    && self.our(Role::Pawn).contains(from)
                    && attacks::pawn_attacks(self.turn(), from).contains(to)
                    && self.leaves_king_safe(Role::Pawn, from, to, Bitboard::from_square(taken))
            }
            Move::Castle { king, rook } => {
                self.castling_move(CastlingSide::from_king_side(king < rook)) == Some(m)
                    && self.castling_is_safe(king, rook)
            }
            Move::Put { .. } => false,
        }
    }

    /// Appends the FEN, see [`Start::append_fen_to`](super::Start::append_fen_to).
    pub(super) fn append_fen_to(&self, move_number: u32, out: &mut Vec<u8>) {
        let mut setup = match &self.rules {
            Rules::Regular(chess) => chess.to_setup(EnPassantMode::Legal),
            Rules::Irregular(setup, _) => Setup::clone(setup),
        };
        setup.halfmoves = 0;
        setup.fullmoves = std::num::NonZeroU32::new(move_number).unwrap_or(setup.fullmoves);
        match shakmaty::fen::Fen::try_from_setup(setup) {
            Ok(fen) => fen.append_ascii_to(out),
            Err(lossy) => lossy.ignore().append_ascii_to(out),
        }
    }

    fn to_setup(&self) -> Setup {
        match &self.rules {
            Rules::Regular(chess) => chess.to_setup(EnPassantMode::Always),
            Rules::Irregular(setup, _) => Setup::clone(setup),
        }
    }

    fn our(&self, role: Role) -> Bitboard {
        self.board().by_color(self.turn()) & self.board().by_role(role)
    }

    fn checkers(&self) -> Bitboard {
        let (board, turn) = (self.board(), self.turn());
        board.king_of(turn).map_or(Bitboard::EMPTY, |king| {
            board.attacks_to(king, !turn, board.occupied())
        })
    }

    /// Asked only in check, where few moves are left to generate.
    fn is_mate(&self) -> bool {
        match &self.rules {
            Rules::Regular(chess) => chess.legal_moves().is_empty(),
            Rules::Irregular(..) => false,
        }
    }

    /// Whether the piece is there, goes that way, and takes what is said.
    fn is_pseudo_legal(
        &self,
        role: Role,
        from: Square,
        capture: Option<Role>,
        to: Square,
        promotion: Option<Role>,
    ) -> bool {
        let (board, turn) = (self.board(), self.turn());
        let (occupied, ours) = (board.occupied(), board.by_color(turn));
        let capture_fits = match capture {
            None => !occupied.contains(to),
            Some(taken) => (board.by_role(taken) & board.by_color(!turn)).contains(to),
        };
        if !capture_fits || !(ours & board.by_role(role)).contains(from) {
            return false;
        }
        let reaches = match role {
            Role::Pawn => return pawn_fits(turn, from, capture.is_some(), to, promotion, occupied),
            Role::Knight => attacks::knight_attacks(from),
            Role::Bishop => attacks::bishop_attacks(from, occupied),
            Role::Rook => attacks::rook_attacks(from, occupied),
            Role::Queen => attacks::queen_attacks(from, occupied),
            Role::King => attacks::king_attacks(from),
        };
        promotion.is_none() && reaches.contains(to)
    }

    /// Whether our king stands safe after a piece of ours went from `from`
    /// to `to` and `taken` left the board.
    fn leaves_king_safe(&self, role: Role, from: Square, to: Square, taken: Bitboard) -> bool {
        let (board, turn) = (self.board(), self.turn());
        let Some(king) = board.king_of(turn) else {
            return true;
        };
        let occupied = board.occupied().without(from).without(taken).with(to);
        if role == Role::King {
            return (board.attacks_to(to, !turn, occupied) & !taken).is_empty();
        }
        let could_uncover = shares_line(king, from) || !taken.contains(to);
        if !self.in_check && !could_uncover {
            return true;
        }
        (board.attacks_to(king, !turn, occupied) & !taken).is_empty()
    }

    /// Whether king and rook have a free way and the king meets no attack.
    fn castling_is_safe(&self, king: Square, rook: Square) -> bool {
        let (board, turn) = (self.board(), self.turn());
        let side = CastlingSide::from_king_side(king < rook);
        let king_to = Square::from_coords(side.king_to_file(), king.rank());
        let rook_to = Square::from_coords(side.rook_to_file(), king.rank());
        let others = board.occupied().without(king).without(rook);
        let king_way = attacks::between(king, king_to).with(king_to);
        let rook_way = attacks::between(rook, rook_to).with(rook_to);
        if self.in_check || ((king_way | rook_way) & others).any() {
            return false;
        }
        let safe = |square, occupied| board.attacks_to(square, !turn, occupied).is_empty();
        let walking = board.occupied().without(king);
        king_way.into_iter().all(|square| safe(square, walking))
            && safe(king_to, others.with(rook_to).with(king_to))
    }

    fn play_unchecked(&mut self, m: Move) {
        match &mut self.rules {
            Rules::Regular(chess) => chess.play_unchecked(m),
            Rules::Irregular(setup, mode) => {
                apply(setup, m);
                *self = Position::from_setup(Setup::clone(setup), *mode);
            }
        }
    }

    /// The shortest notation that tells `m` from the other legal moves.
    fn san_without_mark(&self, m: Move) -> San {
        let mut san = San::EMPTY;
        match m {
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_king_side(king < rook);
                let text: &[u8] = match side {
                    CastlingSide::KingSide => b"O-O",
                    CastlingSide::QueenSide => b"O-O-O",
                };
                text.iter().for_each(|&byte| san.push(byte));
                return san;
            }
            Move::Normal {
                role: Role::Pawn,
                from,
                capture: Some(_),
                ..
            }
            | Move::EnPassant { from, .. } => {
                san.push(file_letter(from));
                san.push(b'x');
            }
            Move::Normal {
                role,
                from,
                capture,
                to,
                ..
            } if role != Role::Pawn => {
                san.push(role.upper_char() as u8);
                self.disambiguate(role, from, to, &mut san);
                if capture.is_some() {
                    san.push(b'x');
                }
            }
            _ => {}
        }
        san.push(file_letter(m.to()));
        san.push(rank_digit(m.to()));
        if let Some(role) = m.promotion() {
            san.push(b'=');
            san.push(role.upper_char() as u8);
        }
        san
    }

    /// Appends the file or rank of `from`, or both, if another piece of the
    /// kind may go to `to` too.
    fn disambiguate(&self, role: Role, from: Square, to: Square, san: &mut San) {
        let kind = self.our(role);
        if !kind.more_than_one() {
            return;
        }
        let occupied = self.board().occupied();
        let reached_from = match role {
            Role::Knight => attacks::knight_attacks(to),
            Role::Bishop => attacks::bishop_attacks(to, occupied),
            Role::Rook => attacks::rook_attacks(to, occupied),
            Role::Queen => attacks::queen_attacks(to, occupied),
            Role::King => attacks::king_attacks(to),
            Role::Pawn => Bitboard::EMPTY,
        };
        let (mut rivals, mut same_file, mut same_rank) = (false, false, false);
        for rival in (reached_from & kind).without(from) {
            if self.leaves_king_safe(role, rival, to, Bitboard::from_square(to)) {
                rivals = true;
                same_file |= rival.file() == from.file();
                same_rank |= rival.rank() == from.rank();
            }
        }
        if rivals && (!same_file || same_rank) {
            san.push(file_letter(from));
        }
        if rivals && same_file {
            san.push(rank_digit(from));
        }
    }
}

/// Whether a pawn of `color` goes from `from` to `to`, promoting exactly on
/// the last rank.
fn pawn_fits(
    color: Color,
    from: Square,
    takes: bool,
    to: Square,
    promotion: Option<Role>,
    occupied: Bitboard,
) -> bool {
    let promotion_fits = match promotion {
        None => !Bitboard::BACKRANKS.contains(to),
        Some(role) => {
            Bitboard::BACKRANKS.contains(to) && !matches!(role, Role::Pawn | Role::King)
        }
    };
    let reaches = if takes {
        attacks::pawn_attacks(color, from).contains(to)
    } else {
        let forward = color.fold_wb(8, -8);
        let one = from.offset(forward);
        one == Some(to)
            || (from.rank() == color.fold_wb(Rank::Second, Rank::Seventh)
                && one.is_some_and(|one| !occupied.contains(one))
                && from.offset(2 * forward) == Some(to))
    };
    promotion_fits && reaches
}

/// Whether a queen on `a` would attack `b` on an empty board.
fn shares_line(a: Square, b: Square) -> bool {
    let files = a.file().distance(b.file());
    let ranks = a.rank().distance(b.rank());
    files == 0 || ranks == 0 || files == ranks
}

fn file_letter(square: Square) -> u8 {
    b'a' + square.file() as u8
}

fn rank_digit(square: Square) -> u8 {
    b'1' + square.rank() as u8
}

fn castles(setup: &Setup, mode: CastlingMode) -> Castles {
    match Castles::from_setup(setup, mode) {
        Ok(castles) | Err(castles) => castles,
    }
}

/// The set-up without castling rights and en passant square that do not fit
/// its pieces.
fn fitting(mut setup: Setup, mode: CastlingMode) -> Setup {
    setup.castling_rights = castles(&setup, mode).castling_rights();
    let them = !setup.turn;
    setup.ep_square = setup.ep_square.filter(|&square| {
        let pushed = square.offset(them.fold_wb(8, -8));
        pushed.is_some_and(|pushed| setup.board.by_piece(them.pawn()).contains(pushed))
            && !setup.board.occupied().contains(square)
    });
    setup
}

/// Makes a move on an irregular set-up.
fn apply(setup: &mut Setup, m: Move) {
    let color = setup.turn;
    let mut en_passant = None;
    match m {
        Move::Normal {
            role,
            from,
            to,
            promotion,
            ..
        } => {
            setup.board.discard_piece_at(from);
            setup
                .board
                .set_piece_at(to, promotion.unwrap_or(role).of(color));
            setup.castling_rights.discard(from);
            setup.castling_rights.discard(to);
            if role == Role::King {
                setup.castling_rights.discard(Bitboard::from_rank(backrank(color)));
            }
            if role == Role::Pawn && from.rank().distance(to.rank()) == 2 {
                en_passant = from.offset(color.fold_wb(8, -8));
            }
        }
        Move::EnPassant { from, to } => {
            setup.board.discard_piece_at(from);
            setup
                .board
                .discard_piece_at(Square::from_coords(to.file(), from.rank()));
            setup.board.set_piece_at(to, color.pawn());
        }
        Move::Castle { king, rook } => {
            let side = CastlingSide::from_king_side(king < rook);
            setup.board.discard_piece_at(king);
            setup.board.discard_piece_at(rook);
            let to = |file| Square::from_coords(file, king.rank());
            setup.board.set_piece_at(to(side.king_to_file()), color.king());
            setup.board.set_piece_at(to(side.rook_to_file()), color.rook());
            setup.castling_rights.discard(Bitboard::from_rank(backrank(color)));
        }
        Move::Put { .. } => {}
    }
    setup.swap_turn();
    setup.ep_square = en_passant;
}

fn backrank(color: Color) -> Rank {
    color.fold_wb(Rank::First, Rank::Eighth)
}
