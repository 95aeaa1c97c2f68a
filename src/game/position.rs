//! Positions, and playing moves in them.
//!
//! The rules are those of shakmaty. Two things are added. First, positions that
//! shakmaty refuses but that occur in bases: without a king, with the wrong
//! side to move, or with a null move played in check. Second, speed: shakmaty
//! generates moves to find whether a move is legal, what its notation is, and
//! whether it mates. Here the attack tables answer these questions, which is
//! five times as fast; the tests compare the answers with those of shakmaty.

use std::sync::LazyLock;

use shakmaty::{
    Bitboard, Castles, CastlingMode, CastlingSide, Chess, Color, EnPassantMode, Move,
    Position as _, PositionError, Rank, Role, Setup, Square,
};

use super::attacks::{attacked, on_empty_board, passed_by_pawn};
use super::{Board, San};

/// A position, regular or irregular.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    pub(super) board: Board,
    /// The squares of the rooks that may still castle.
    pub(super) castling_rights: Bitboard,
    pub(super) castling_mode: CastlingMode,
    pub(super) turn: Color,
    /// The square that a pawn has just passed over.
    pub(super) en_passant_square: Option<Square>,
    /// Whether shakmaty accepts the position. In an irregular one, a move is
    /// legal if the piece can go there and leaves its king, if there is one,
    /// safe.
    pub(super) is_regular: bool,
    /// Whether the side to move is in check.
    pub(super) in_check: bool,
    /// The queens, rooks and bishops of the other side that would attack its
    /// king if nothing else stood on the board.
    pub(super) aimed: Bitboard,
}

/// Error: the move is not legal in this position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalMove;

impl Default for Position {
    fn default() -> Position {
        static USUAL: LazyLock<Position> =
            LazyLock::new(|| Position::of(Setup::initial(), CastlingMode::Standard, true));
        USUAL.clone()
    }
}

impl Position {
    /// Returns the position of a set-up. Castling rights and an en passant
    /// square that do not fit the pieces are dropped.
    pub fn from_setup(setup: Setup, mode: CastlingMode) -> Position {
        let checked = setup
            .clone()
            .position::<Chess>(mode)
            .or_else(PositionError::ignore_invalid_castling_rights)
            .or_else(PositionError::ignore_invalid_ep_square)
            .or_else(PositionError::ignore_too_much_material)
            .or_else(PositionError::ignore_impossible_check);
        match checked {
            Ok(chess) => Position::of(chess.to_setup(EnPassantMode::Always), mode, true),
            Err(_) => Position::of(fitting(setup, mode), mode, false),
        }
    }

    /// Returns the position of a set-up that was checked.
    fn of(setup: Setup, castling_mode: CastlingMode, is_regular: bool) -> Position {
        let mut position = Position {
            board: Board::from(setup.board),
            castling_rights: setup.castling_rights,
            castling_mode,
            turn: setup.turn,
            en_passant_square: setup.ep_square,
            is_regular,
            in_check: false,
            aimed: Bitboard::EMPTY,
        };
        position.look_at_king();
        position
    }

    /// The placement of the pieces.
    #[inline]
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// The side to move.
    #[inline]
    pub fn turn(&self) -> Color {
        self.turn
    }

    /// Returns whether the position is possible by the rules of chess.
    pub fn is_regular(&self) -> bool {
        self.is_regular
    }

    /// Returns whether castling follows the rules of Chess960.
    pub fn castling_mode(&self) -> CastlingMode {
        self.castling_mode
    }

    /// The squares of the rooks that may still castle.
    pub fn castling_rights(&self) -> Bitboard {
        self.castling_rights
    }

    /// The square that a pawn has just passed over.
    pub fn en_passant_square(&self) -> Option<Square> {
        self.en_passant_square
    }

    /// Returns whether an en passant capture is legal.
    pub fn can_take_en_passant(&self) -> bool {
        let square = self.en_passant_square;
        square.is_some_and(|square| self.can_take_en_passant_on(square))
    }

    /// Returns the castling move of the side to move on one side, if it has the
    /// right.
    pub fn castling_move(&self, side: CastlingSide) -> Option<Move> {
        let king = self.board.king_of(self.turn)?;
        let rooks = self.castling_rights & self.board.by_color(self.turn);
        let is_there = |rook: &Square| (king < *rook) == side.is_king_side();
        let rook = rooks.into_iter().find(is_there)?;
        Some(Move::Castle { king, rook })
    }

    /// Plays a move. Returns its notation with check or mate mark. `m` needs no
    /// validation by the caller: its piece, capture and promotion are checked
    /// against the board.
    ///
    /// # Errors
    ///
    /// [`IllegalMove`] if the move is not legal; the position is unchanged
    /// then.
    pub fn play(&mut self, m: Move) -> Result<San, IllegalMove> {
        let san = self.play_and_check(m)?;
        Ok(if self.is_mate() { san.mating() } else { san })
    }

    /// As [`play`](Position::play), but a mate has the mark of a check.
    fn play_and_check(&mut self, m: Move) -> Result<San, IllegalMove> {
        match m {
            Move::Normal {
                role,
                from,
                capture,
                to,
                promotion,
            } if self.board.role_at(to) == capture => match (role, promotion) {
                (role, None) => {
                    // Code for each side, made by the compiler.
                    let played = match self.turn {
                        Color::White => self.play_step(Color::White, role, from, to),
                        Color::Black => self.play_step(Color::Black, role, from, to),
                    };
                    played.map(|(_, san)| san)
                }
                (Role::Pawn, Some(promotion)) => self.play_promotion(from, to, promotion),
                _ => Err(IllegalMove),
            },
            _ => self.play_special(m),
        }
    }

    /// Plays a move that is no castling, no promotion and not en passant. Returns the
    /// captured piece, and the notation as [`play`](Position::play), but a mate has the
    /// mark of a check: a legal move that follows spares the question.
    #[expect(
        clippy::inline_always,
        reason = "once in the loop over the moves of a game"
    )]
    #[inline(always)]
    pub(super) fn play_step(
        &mut self,
        us: Color,
        role: Role,
        from: Square,
        to: Square,
    ) -> Result<(Option<Role>, San), IllegalMove> {
        if !self.is_legal_step(us, role, from, to) {
            return Err(IllegalMove);
        }
        let san = self.san_of_step(us, role, from, to);
        let taken = self.make_step(us, role, from, to);
        let gives_check = self.meets_check(!us, attacked(us, role, to), from, to);
        Ok((taken, self.marked(san, gives_check)))
    }

    #[cold]
    fn play_promotion(&mut self, from: Square, to: Square, role: Role) -> Result<San, IllegalMove> {
        if !self.is_legal_promotion(from, to, role) {
            return Err(IllegalMove);
        }
        let taken = self.make_promotion(from, to, role);
        let mut san = San::of_step(Role::Pawn, from.file(), taken.is_some(), to);
        san.push_promotion(role);
        let gives_check = self.meets_check(self.turn, on_empty_board(role, to), from, to);
        Ok(self.marked(san, gives_check))
    }

    /// Makes a move as [`play_step`](Position::play_step), without any question;
    /// returns what it takes.
    #[expect(
        clippy::inline_always,
        reason = "once in the loop over the moves of a game"
    )]
    #[inline(always)]
    fn make_step(&mut self, us: Color, role: Role, from: Square, to: Square) -> Option<Role> {
        let taken = self.take(!us, to);
        self.board.relocate(role.of(us), from, to);
        self.castling_rights = self.castling_rights.without(from).without(to);
        if role == Role::King {
            self.lose_castling();
        }
        let passed = passed_by_pawn(from, to);
        self.en_passant_square = passed.filter(|_| role == Role::Pawn);
        self.turn = !us;
        taken
    }

    /// Makes a pawn on `from` a piece of a kind on `to`; returns what it takes.
    fn make_promotion(&mut self, from: Square, to: Square, role: Role) -> Option<Role> {
        let taken = self.take(!self.turn, to);
        self.board.remove(self.turn.pawn(), from);
        self.board.put(role.of(self.turn), to);
        self.castling_rights = self.castling_rights.without(to);
        self.en_passant_square = None;
        self.turn = !self.turn;
        taken
    }

    /// Removes the opponent's piece on a square; returns its kind.
    #[inline]
    fn take(&mut self, them: Color, on: Square) -> Option<Role> {
        let taken = self.board.role_at(on);
        if let Some(role) = taken {
            self.board.remove(role.of(them), on);
        }
        taken
    }

    /// Adds the mark of a check to the notation of the move just played, if it gives one.
    /// `gives_check` is valid only in a regular position.
    #[inline]
    fn marked(&mut self, mut san: San, gives_check: bool) -> San {
        self.in_check = gives_check;
        if !self.is_regular {
            self.update_state();
        }
        if self.in_check {
            san.push(San::CHECK);
        }
        san
    }

    /// Whether the side to move is in check and has no legal move. There is no mate in an
    /// irregular position.
    pub(super) fn is_mate(&self) -> bool {
        self.in_check && self.is_regular && !self.can_answer_check()
    }

    /// Castles or captures en passant, as [`play_step`](Position::play_step).
    #[cold]
    fn play_special(&mut self, m: Move) -> Result<San, IllegalMove> {
        if !self.is_legal(m) {
            return Err(IllegalMove);
        }
        let san = match m {
            Move::Castle { king, rook } => San::castling(CastlingSide::from_king_side(king < rook)),
            _ => San::of_step(Role::Pawn, m.from().unwrap_or(m.to()).file(), true, m.to()),
        };
        self.apply_special(m);
        self.look_at_king();
        Ok(self.marked(san, self.in_check))
    }

    /// Plays moves that are known to be legal, as those of a tree from its start on
    /// are: as [`play`](Position::play) for each, but several times as fast, because
    /// nothing is asked about them.
    pub fn follow(&mut self, moves: impl IntoIterator<Item = Move>) {
        for m in moves {
            if !self.is_regular {
                // Whether it becomes regular must be asked.
                let _ = self.play(m);
                continue;
            }
            match m {
                Move::Normal {
                    from,
                    to,
                    promotion: Some(role),
                    ..
                } => self.make_promotion(from, to, role),
                Move::Normal { role, from, to, .. } => self.make_step(self.turn, role, from, to),
                _ => {
                    self.apply_special(m);
                    None
                }
            };
        }
        if self.is_regular {
            self.look_at_king();
        }
    }

    /// Plays a null move. It is allowed in check too, as in ChessBase.
    pub fn play_null(&mut self) {
        self.turn = !self.turn;
        self.en_passant_square = None;
        self.update_state();
    }

    /// Returns whether `m` is legal.
    pub fn is_legal(&self, m: Move) -> bool {
        match m {
            Move::Normal {
                role,
                from,
                capture,
                to,
                promotion,
            } if self.board.role_at(to) == capture => match (role, promotion) {
                (role, None) => self.is_legal_step(self.turn, role, from, to),
                (Role::Pawn, Some(promotion)) => self.is_legal_promotion(from, to, promotion),
                _ => false,
            },
            Move::Normal { .. } | Move::Put { .. } => false,
            Move::EnPassant { from, to } => {
                self.en_passant_square == Some(to) && self.takes_en_passant(from, to)
            }
            Move::Castle { king, rook } => {
                self.castling_move(CastlingSide::from_king_side(king < rook)) == Some(m)
                    && self.castles_safely(king, rook)
            }
        }
    }

    /// Appends the FEN, see [`Start::append_fen_to`](super::Start::append_fen_to).
    pub(super) fn append_fen_to(&self, move_number: u32, out: &mut Vec<u8>) {
        let mut setup = self.to_setup();
        if self.is_regular {
            let can_take = |square: &Square| self.can_take_en_passant_on(*square);
            setup.ep_square = setup.ep_square.filter(can_take);
        }
        setup.fullmoves = std::num::NonZeroU32::new(move_number).unwrap_or(setup.fullmoves);
        match shakmaty::fen::Fen::try_from_setup(setup) {
            Ok(fen) => fen.append_ascii_to(out),
            Err(lossy) => lossy.ignore().append_ascii_to(out),
        }
    }

    fn to_setup(&self) -> Setup {
        let mut setup = Setup::empty();
        setup.board = (&self.board).into();
        setup.turn = self.turn;
        setup.castling_rights = self.castling_rights;
        setup.ep_square = self.en_passant_square;
        setup
    }

    /// Moves the pieces of a legal castling or en passant capture.
    fn apply_special(&mut self, m: Move) {
        let (us, them, board) = (self.turn, !self.turn, &mut self.board);
        match m {
            Move::EnPassant { from, to } => {
                board.remove(them.pawn(), Square::from_coords(to.file(), from.rank()));
                board.remove(us.pawn(), from);
                board.put(us.pawn(), to);
            }
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_king_side(king < rook);
                let to = |file| Square::from_coords(file, king.rank());
                // In Chess960 either may come from where the other goes.
                board.remove(us.rook(), rook);
                board.relocate(us.king(), king, to(side.king_to_file()));
                board.put(us.rook(), to(side.rook_to_file()));
                self.lose_castling();
            }
            Move::Normal { .. } | Move::Put { .. } => {}
        }
        self.en_passant_square = None;
        self.turn = them;
    }

    fn lose_castling(&mut self) {
        let rank = self.turn.fold_wb(Rank::First, Rank::Eighth);
        self.castling_rights.discard(Bitboard::from_rank(rank));
    }

    /// Updates `is_regular` and `in_check`. A move can make an irregular
    /// position regular, and a null move a regular one irregular.
    #[cold]
    fn update_state(&mut self) {
        *self = Position::from_setup(self.to_setup(), self.castling_mode);
    }
}

/// Returns the set-up without castling rights and en passant square that do not
/// fit the pieces.
fn fitting(mut setup: Setup, mode: CastlingMode) -> Setup {
    let (Ok(castles) | Err(castles)) = Castles::from_setup(&setup, mode);
    setup.castling_rights = castles.castling_rights();
    let them = !setup.turn;
    setup.ep_square = setup.ep_square.filter(|&square| {
        let pushed = square.offset(them.fold_wb(8, -8));
        pushed.is_some_and(|pushed| setup.board.by_piece(them.pawn()).contains(pushed))
            && !setup.board.occupied().contains(square)
    });
    setup
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

    fn chess(position: &Position) -> Chess {
        assert!(position.is_regular(), "{position:?}");
        let chess = position.to_setup().position(position.castling_mode());
        chess
            .or_else(PositionError::ignore_too_much_material)
            .or_else(PositionError::ignore_impossible_check)
            .unwrap()
    }

    fn fen(position: &Position) -> String {
        let mut fen = Vec::new();
        position.append_fen_to(1, &mut fen);
        String::from_utf8(fen).unwrap()
    }

    /// All moves that can be expressed, legal or not.
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

    /// Compares all answers with those of shakmaty.
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
            let expected = SanPlus::from_move(chess(position), m).to_string();
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

    /// The legality of a move without castling and en passant, computed with
    /// shakmaty's board; for any position, regular or not.
    fn may_step(board: &shakmaty::Board, us: Color, m: Move) -> bool {
        let (Some(from), to) = (m.from(), m.to()) else {
            return false;
        };
        let is_taken = board.piece_at(to).is_some();
        let is_free = board
            .piece_at(to)
            .is_none_or(|piece| piece.color != us && piece.role != Role::King);
        let reaches = if m.role() == Role::Pawn && !is_taken {
            let forward = us.fold_wb(8, -8);
            let one = from.offset(forward);
            let is_open = one.is_some_and(|one| board.piece_at(one).is_none());
            let is_at_home = from.rank() == us.fold_wb(Rank::Second, Rank::Seventh);
            one == Some(to) || is_at_home && is_open && from.offset(2 * forward) == Some(to)
        } else {
            shakmaty::attacks::attacks(from, m.role().of(us), board.occupied()).contains(to)
        };
        let promotes = m.role() == Role::Pawn && Bitboard::BACKRANKS.contains(to);
        let becomes = m.promotion();
        let fits = promotes == becomes.is_some();
        is_free && reaches && fits && !is_in_check(&after(board, us, m), us)
    }

    fn after(board: &shakmaty::Board, us: Color, m: Move) -> shakmaty::Board {
        let mut board = board.clone();
        board.discard_piece_at(m.from().unwrap());
        board.set_piece_at(m.to(), m.promotion().unwrap_or(m.role()).of(us));
        board
    }

    fn is_in_check(board: &shakmaty::Board, us: Color) -> bool {
        let king = board.by_piece(us.king()).single_square();
        king.is_some_and(|king| board.attacks_to(king, !us, board.occupied()).any())
    }

    /// The notation by its definition: disambiguated by all other pieces that
    /// could legally go there.
    fn notation(board: &shakmaty::Board, us: Color, m: Move) -> String {
        let (from, to) = (m.from().unwrap(), m.to());
        let takes = if m.is_capture() { "x" } else { "" };
        if m.role() == Role::Pawn {
            let file = from.file().char().to_string();
            let becomes = m.promotion().map(|role| format!("={}", role.upper_char()));
            let file = if m.is_capture() { file } else { String::new() };
            return format!("{file}{takes}{to}{}", becomes.unwrap_or_default());
        }
        let others = board.by_piece(m.role().of(us)).without(from).into_iter();
        let others =
            others.filter(|other| may_step(board, us, step(m.role(), *other, m.capture(), to)));
        let others: Vec<Square> = others.collect();
        let origin = if others.is_empty() {
            String::new()
        } else if others.iter().all(|other| other.file() != from.file()) {
            from.file().char().to_string()
        } else if others.iter().all(|other| other.rank() != from.rank()) {
            from.rank().char().to_string()
        } else {
            from.to_string()
        };
        format!("{}{origin}{takes}{to}", m.role().upper_char())
    }

    fn step(role: Role, from: Square, capture: Option<Role>, to: Square) -> Move {
        Move::Normal {
            role,
            from,
            capture,
            to,
            promotion: None,
        }
    }

    /// Compares moves without castling and en passant with the rules, one by
    /// one.
    fn steps_agree(position: &Position) {
        let us = position.turn();
        let board = shakmaty::Board::from(position.board());
        let pairs = Square::ALL
            .into_iter()
            .flat_map(|from| Square::ALL.map(|to| (from, to)));
        for (from, to) in pairs {
            let role = board.role_at(from).unwrap_or(Role::Rook);
            let mut m = step(role, from, board.role_at(to), to);
            if role == Role::Pawn && Bitboard::BACKRANKS.contains(to) {
                let Move::Normal { promotion, .. } = &mut m else {
                    continue;
                };
                *promotion = Some(Role::Knight);
            }
            let is_ours = board.color_at(from) == Some(us);
            let is_legal = is_ours && may_step(&board, us, m);
            assert_eq!(position.is_legal(m), is_legal, "{m:?} in {}", fen(position));
            let mut played = position.clone();
            let san = played.play(m);
            assert_eq!(san.is_ok(), is_legal);
            let Ok(san) = san.map(|san| san.to_string()) else {
                continue;
            };
            let board_after = after(&board, us, m);
            assert_eq!(shakmaty::Board::from(played.board()), board_after);
            let gives_check = is_in_check(&board_after, !us);
            assert_eq!(
                san.ends_with(['+', '#']),
                gives_check,
                "{san} in {}",
                fen(position)
            );
            let written = san.trim_end_matches(['+', '#']);
            assert_eq!(written, notation(&board, us, m), "{}", fen(position));
        }
    }

    /// Number of random boards to try; thousands are possible with
    /// `CBFS_LAW_BOARDS`.
    fn boards() -> u32 {
        let given = std::env::var("CBFS_LAW_BOARDS").ok();
        given.and_then(|count| count.parse().ok()).unwrap_or(40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(boards()))]

        #[test]
        fn moves_on_any_board_follow_the_rules(
            pieces in prop::collection::vec((0_u32..64, 0_usize..12), 0..40),
            kings in prop::collection::vec((0_u32..64, any::<bool>()), 0..3),
            black in any::<bool>(),
        ) {
            let mut setup = Setup::empty();
            for (square, piece) in pieces {
                // Kings are drawn separately: none, one for each side, or
                // several.
                let role = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::Queen][piece % 6];
                let color = Color::from_white(piece < 6);
                setup.board.set_piece_at(Square::new(square), role.of(color));
            }
            for (square, white) in kings {
                setup.board.set_piece_at(Square::new(square), Color::from_white(white).king());
            }
            setup.turn = Color::from_white(!black);
            steps_agree(&Position::from_setup(setup, CastlingMode::Standard));
        }

        #[test]
        fn moves_after_any_moves_follow_the_rules(
            start in 0_u32..960,
            choices in prop::collection::vec(any::<u16>(), 1..60),
        ) {
            let mut position = if start < 480 {
                Position::default()
            } else {
                let row: [Role; 8] = [Role::Rook, Role::King, Role::Rook, Role::Bishop, Role::Queen, Role::Knight, Role::Knight, Role::Bishop];
                let mut setup = Setup::initial();
                for (at, role) in row.into_iter().enumerate() {
                    let file = shakmaty::File::new((u32::try_from(at).unwrap() + start) % 8);
                    for (color, rank) in [(Color::White, Rank::First), (Color::Black, Rank::Eighth)] {
                        setup.board.set_piece_at(Square::from_coords(file, rank), role.of(color));
                    }
                }
                setup.castling_rights = setup.board.rooks();
                Position::from_setup(setup, CastlingMode::Chess960)
            };
            let (mut followed, mut played) = (position.clone(), Vec::new());
            for choice in choices {
                let setup = position.to_setup();
                let chess = setup.position::<Chess>(position.castling_mode());
                let chess = chess.or_else(PositionError::ignore_too_much_material);
                let legal = chess.or_else(PositionError::ignore_impossible_check).unwrap().legal_moves();
                if legal.is_empty() {
                    break;
                }
                let m = legal[usize::from(choice) % legal.len()];
                prop_assert!(position.play(m).is_ok());
                played.push(m);
            }
            followed.follow(played);
            prop_assert_eq!(&followed, &position);
            steps_agree(&position);
        }
    }

    #[test]
    fn a_check_left_by_a_null_move_must_be_answered() {
        let mut position = position("4k3/8/8/8/8/8/P3r3/4K3 w - - 0 1", CastlingMode::Standard);
        position.play_null();
        let step = |role, from, to| Move::Normal {
            role,
            from,
            capture: None,
            to,
            promotion: None,
        };
        let aside = position.play(step(Role::King, Square::E8, Square::D8));
        assert_eq!(aside.unwrap().to_string(), "Kd8+");
        agree(&position);
        let elsewhere = step(Role::Pawn, Square::A2, Square::A3);
        assert_eq!(position.play(elsewhere), Err(IllegalMove));
    }

    #[test]
    fn an_en_passant_square_of_an_irregular_position_needs_a_pawn_that_passed_it() {
        let square = |fen| position(fen, CastlingMode::Standard).en_passant_square();
        assert_eq!(square("8/8/8/3pP3/8/8/8/8 w - d6 0 1"), Some(Square::D6));
        assert_eq!(square("8/8/8/4P3/8/8/8/8 w - d6 0 1"), None);
        assert_eq!(square("8/8/3n4/3pP3/8/8/8/8 w - d6 0 1"), None);
    }

    #[test]
    fn a_null_move_in_check_is_allowed() {
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
