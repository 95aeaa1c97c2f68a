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
    Bitboard, Board, Castles, CastlingMode, CastlingSide, Chess, Color, EnPassantMode, Move,
    Position as _, PositionError, Rank, Role, Setup, Square, attacks,
};

use super::San;
use super::mover::Mover;

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
        let mover = self.mover();
        if !self.allows(&mover, m) {
            return Err(IllegalMove);
        }
        let mut san = mover.san_without_mark(m);
        self.play_unchecked(m);
        self.in_check = self.is_check_after(m);
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
        self.allows(&self.mover(), m)
    }

    #[inline]
    fn allows(&self, mover: &Mover<'_>, m: Move) -> bool {
        match m {
            Move::Normal {
                role,
                from,
                capture,
                to,
                promotion,
            } => {
                mover.is_pseudo_legal(role, from, capture, to, promotion)
                    && mover.leaves_king_safe(role, from, to, Bitboard::from_square(to))
            }
            Move::EnPassant { from, to } => {
                self.en_passant_square() == Some(to) && mover.takes_en_passant(from, to)
            }
            Move::Castle { king, rook } => {
                self.castling_move(CastlingSide::from_king_side(king < rook)) == Some(m)
                    && mover.castles_safely(king, rook)
            }
            Move::Put { .. } => false,
        }
    }

    #[inline]
    fn mover(&self) -> Mover<'_> {
        match &self.rules {
            Rules::Regular(chess) => Mover::new(chess.board(), chess.turn(), self.in_check),
            Rules::Irregular(setup, _) => Mover::new(&setup.board, setup.turn, self.in_check),
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

    fn checkers(&self) -> Bitboard {
        self.mover().checkers()
    }

    /// Whether the side to move is in check after `m` was played: by the
    /// piece that moved, or by one that its way uncovered.
    #[inline]
    fn is_check_after(&self, m: Move) -> bool {
        match (&self.rules, m) {
            (
                Rules::Regular(chess),
                Move::Normal {
                    role,
                    from,
                    to,
                    promotion,
                    ..
                },
            ) => Mover::new(chess.board(), chess.turn(), false).is_checked_by(
                promotion.unwrap_or(role),
                from,
                to,
            ),
            _ => self.checkers().any(),
        }
    }

    /// Asked only in check, where few moves are left to generate, and mostly
    /// the king can simply step aside.
    #[cold]
    fn is_mate(&self) -> bool {
        let Rules::Regular(chess) = &self.rules else {
            return false;
        };
        let (board, turn) = (chess.board(), chess.turn());
        let can_step_aside = board.king_of(turn).is_some_and(|king| {
            let others = board.occupied().without(king);
            let is_safe = |to| board.attacks_to(to, !turn, others).is_empty();
            (attacks::king_attacks(king) & !board.by_color(turn))
                .into_iter()
                .any(is_safe)
        });
        !can_step_aside && chess.legal_moves().is_empty()
    }

    #[inline]
    fn play_unchecked(&mut self, m: Move) {
        match &mut self.rules {
            Rules::Regular(chess) => chess.play_unchecked(m),
            Rules::Irregular(..) => self.play_irregular(m),
        }
    }

    /// Plays on a copy of the set-up; the position may become regular.
    #[cold]
    fn play_irregular(&mut self, m: Move) {
        let mut setup = self.to_setup();
        apply(&mut setup, m);
        *self = Position::from_setup(setup, self.castling_mode());
    }
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
                setup
                    .castling_rights
                    .discard(Bitboard::from_rank(backrank(color)));
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
            setup
                .board
                .set_piece_at(to(side.king_to_file()), color.king());
            setup
                .board
                .set_piece_at(to(side.rook_to_file()), color.rook());
            setup
                .castling_rights
                .discard(Bitboard::from_rank(backrank(color)));
        }
        Move::Put { .. } => {}
    }
    setup.swap_turn();
    setup.ep_square = en_passant;
}

fn backrank(color: Color) -> Rank {
    color.fold_wb(Rank::First, Rank::Eighth)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shakmaty::san::SanPlus;

    use super::*;

    fn position(fen: &str, mode: CastlingMode) -> Position {
        let fen: shakmaty::fen::Fen = fen.parse().unwrap();
        Position::from_setup(fen.into_setup(), mode)
    }

    fn chess(position: &Position) -> &Chess {
        match &position.rules {
            Rules::Regular(chess) => chess,
            Rules::Irregular(..) => panic!("{position:?}"),
        }
    }

    fn fen(position: &Position) -> String {
        let mut fen = Vec::new();
        position.append_fen_to(1, &mut fen);
        String::from_utf8(fen).unwrap()
    }

    /// Every move that could be written down, legal or not.
    fn all_moves() -> impl Iterator<Item = Move> {
        let squares = || Square::ALL.into_iter();
        let pairs = move || squares().flat_map(move |from| squares().map(move |to| (from, to)));
        let normal = pairs().flat_map(|(from, to)| {
            let captures = [None, Some(Role::Pawn), Some(Role::Rook), Some(Role::King)];
            Role::ALL.into_iter().flat_map(move |role| {
                captures.into_iter().flat_map(move |capture| {
                    [None, Some(Role::Queen), Some(Role::King)]
                        .into_iter()
                        .map(move |promotion| Move::Normal {
                            role,
                            from,
                            capture,
                            to,
                            promotion,
                        })
                })
            })
        });
        let special = pairs().flat_map(|(from, to)| {
            let castle = Move::Castle {
                king: from,
                rook: to,
            };
            [Move::EnPassant { from, to }, castle]
        });
        normal.chain(special)
    }

    /// Holds every answer of ours against shakmaty's.
    fn agree(position: &Position) {
        let legal = chess(position).legal_moves();
        for m in all_moves() {
            assert_eq!(
                position.is_legal(m),
                legal.contains(&m),
                "{m:?} in {}",
                fen(position)
            );
        }
        for &m in &legal {
            let expected = SanPlus::from_move(chess(position).clone(), m).to_string();
            let mut after = position.clone();
            assert_eq!(
                after.play(m).unwrap().to_string(),
                expected,
                "{}",
                fen(position)
            );
        }
    }

    #[test]
    fn pins_checks_castling_and_en_passant_agree_with_shakmaty() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "8/8/8/K2pP2r/8/8/8/7k w - d6 0 1",
            "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1",
            "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
            "4k3/8/8/8/8/8/4r3/R3K2R w KQ - 0 1",
            "3rk3/1P6/8/8/8/8/1p6/R3K3 w Q - 0 1",
            "6k1/2Q1n3/2n5/1Q3Qn1/3n4/4Qn2/1K5Q/8 w - - 0 1",
            "1k6/8/8/8/R6R/8/8/R3K2R w KQ - 0 1",
            "7k/8/8/1N1N4/2K5/1N1N4/8/q7 w - - 0 1",
        ] {
            agree(&position(fen, CastlingMode::Standard));
        }
        for fen in [
            "bnrkrbnq/pppppppp/8/8/8/8/PPPPPPPP/BNRKRBNQ w KQkq - 0 1",
            "1rk3r1/8/8/8/8/8/8/1RK3R1 w GBgb - 0 1",
            "8/8/8/4k3/8/8/8/qR1K1R2 w FB - 0 1",
            "4k3/8/8/8/8/8/8/rRK5 w B - 0 1",
        ] {
            agree(&position(fen, CastlingMode::Chess960));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn random_games_agree_with_shakmaty(choices in prop::collection::vec(any::<u16>(), 1..120)) {
            let mut position = Position::default();
            for choice in choices {
                let legal = chess(&position).legal_moves();
                if legal.is_empty() {
                    break;
                }
                position.play(legal[usize::from(choice) % legal.len()]).unwrap();
            }
            agree(&position);
        }

        #[test]
        fn any_board_is_a_position(
            pieces in prop::collection::vec((0_u32..64, 0_u32..12), 0..40),
            castling in any::<u64>(),
            en_passant in 0_u32..64,
            black in any::<bool>(),
            choices in prop::collection::vec(any::<u16>(), 0..10),
        ) {
            let mut setup = Setup::empty();
            for (square, piece) in pieces {
                let role = Role::ALL[piece as usize % 6];
                let color = Color::from_white(piece < 6);
                setup.board.set_piece_at(Square::new(square), role.of(color));
            }
            setup.castling_rights = Bitboard(castling);
            setup.ep_square = Some(Square::new(en_passant));
            setup.turn = Color::from_white(!black);
            for mode in [CastlingMode::Standard, CastlingMode::Chess960] {
                let mut position = Position::from_setup(setup.clone(), mode);
                for &choice in &choices {
                    let legal: Vec<Move> = all_moves().filter(|&m| position.is_legal(m)).collect();
                    match legal.get(usize::from(choice) % legal.len().max(1)) {
                        Some(&m) => prop_assert!(position.play(m).is_ok()),
                        None => position.play_null(),
                    }
                    fen(&position);
                }
            }
        }
    }

    #[test]
    fn a_null_move_in_check_goes_on() {
        let mut position = position("4k3/8/8/8/8/8/4r3/4K3 w - - 0 1", CastlingMode::Standard);
        position.play_null();
        assert!(!position.is_regular(), "White is in check and not to move");
        let away = Move::Normal {
            role: Role::Rook,
            from: Square::E2,
            capture: None,
            to: Square::A2,
            promotion: None,
        };
        assert_eq!(position.play(away).unwrap().to_string(), "Ra2");
        assert!(position.is_regular());
        let takes_king = Move::Normal {
            role: Role::Rook,
            from: Square::E2,
            capture: Some(Role::King),
            to: Square::E1,
            promotion: None,
        };
        let mut checked = super::Position::from_setup(
            "4k3/8/8/8/8/8/4r3/4K3 b - - 0 1"
                .parse::<shakmaty::fen::Fen>()
                .unwrap()
                .into_setup(),
            CastlingMode::Standard,
        );
        assert!(checked.play(takes_king).is_err(), "kings are never taken");
    }
}
