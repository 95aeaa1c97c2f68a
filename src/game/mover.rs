//! Legality, notation and check of the moves of the side to move.
//!
//! These questions arise for each ply of a game. The answers come from a few
//! tables; generating all moves instead would take ten times as long. Rare
//! cases, such as king moves and pieces that may be pinned, are in separate
//! functions, which keeps the common path short.

use shakmaty::{Bitboard, CastlingSide, Color, Rank, Role, Square};

use super::attacks::{between, king_attacks, line, on_empty_board, pawn_attacks, steps};
use super::board::with_free_path;
use super::{Position, San};

impl Position {
    /// The square of the king of the side to move, if it has exactly one.
    #[inline]
    fn king(&self) -> Option<Square> {
        self.board.king_of(self.turn)
    }

    /// The pieces that give check.
    pub(super) fn checkers(&self) -> Bitboard {
        self.king().map_or(Bitboard::EMPTY, |king| {
            self.board
                .attacks_to(king, !self.turn, self.board.occupied())
        })
    }

    /// Finds whether the side to move is in check, and the pieces that aim at
    /// its king.
    pub(super) fn look_at_king(&mut self) {
        self.in_check = self.checkers().any();
        let aimed_at = |king| self.board.aimed_at(king, !self.turn);
        self.aimed = self.king().map_or(Bitboard::EMPTY, aimed_at);
    }

    /// Returns whether the last move gave check, if there was no check before:
    /// by the moved piece, which attacks the squares `reached` on an empty
    /// board, or by a piece that the move from `from` to `to` uncovered. Finds
    /// the pieces that aim at the king.
    #[expect(
        clippy::inline_always,
        reason = "once in the loop over the moves of a game"
    )]
    #[inline(always)]
    pub(super) fn meets_check(
        &mut self,
        us: Color,
        reached: Bitboard,
        from: Square,
        to: Square,
    ) -> bool {
        let Some(king) = self.board.king_of(us) else {
            self.aimed = Bitboard::EMPTY;
            return false;
        };
        self.aimed = self.board.aimed_at(king, !us);
        if reached.contains(king) && (between(to, king) & self.board.occupied()).is_empty() {
            return true;
        }
        self.aimed.intersects(line(king, from)) && self.is_uncovered(king)
    }

    /// Returns whether nothing stands between the king and one of the pieces that aim
    /// at it.
    #[inline(never)]
    fn is_uncovered(&self, king: Square) -> bool {
        with_free_path(self.aimed, king, self.board.occupied()).any()
    }

    /// Returns whether a pawn on `from` can capture en passant on `to`.
    pub(super) fn takes_en_passant(&self, from: Square, to: Square) -> bool {
        let taken = Square::from_coords(to.file(), from.rank());
        let occupied = self.board.occupied().without(from).without(taken).with(to);
        let attackers = |king| self.board.attacks_to(king, !self.turn, occupied);
        let is_safe = |king| attackers(king).without(taken).is_empty();
        self.our(Role::Pawn).contains(from)
            && pawn_attacks(self.turn, from).contains(to)
            && self.king().is_none_or(is_safe)
    }

    #[inline]
    fn our(&self, role: Role) -> Bitboard {
        self.board.by_piece(role.of(self.turn))
    }

    /// Returns whether a move is legal that is no castling, no promotion and not en
    /// passant.
    #[expect(
        clippy::inline_always,
        reason = "once in the loop over the moves of a game"
    )]
    #[inline(always)]
    pub(super) fn is_legal_step(&self, us: Color, role: Role, from: Square, to: Square) -> bool {
        let occupied = self.board.occupied();
        let is_free = (between(from, to) & occupied).is_empty();
        let takes = occupied.contains(to);
        let reaches = steps(us, role, takes, from).contains(to);
        self.may_leave(us, role, from, to) & is_free & reaches
            && self.leaves_king_safe(us, role, from, to)
    }

    /// Returns whether the promotion of a pawn is legal.
    pub(super) fn is_legal_promotion(&self, from: Square, to: Square, promotion: Role) -> bool {
        Bitboard::BACKRANKS.contains(to)
            && !matches!(promotion, Role::Pawn | Role::King)
            && self.may_leave(self.turn, Role::Pawn, from, to)
            && self.pawn_reach(from).contains(to)
            && self.leaves_king_safe(self.turn, Role::Pawn, from, to)
    }

    /// Returns whether this piece of ours is on `from`, and neither one of ours
    /// nor a king on `to`.
    #[inline]
    fn may_leave(&self, us: Color, role: Role, from: Square, to: Square) -> bool {
        let ours = self.board.by_color(us);
        let closed = ours | self.board.by_role(Role::King);
        (self.board.role_at(from) == Some(role)) & ours.contains(from) & !closed.contains(to)
    }

    /// The squares that a pawn can go to, except en passant.
    #[inline]
    fn pawn_reach(&self, from: Square) -> Bitboard {
        let free = !self.board.occupied();
        let ahead = |Bitboard(one)| Bitboard(self.turn.fold_wb(one << 8, one >> 8)) & free;
        let one = ahead(from.into());
        let passed = Bitboard::from_rank(self.turn.fold_wb(Rank::Third, Rank::Sixth));
        let takes = pawn_attacks(self.turn, from) & self.board.by_color(!self.turn);
        takes | one | ahead(one & passed)
    }

    /// Returns whether our king is safe after a piece of ours has moved from
    /// `from` to `to`.
    #[expect(
        clippy::inline_always,
        reason = "once in the loop over the moves of a game"
    )]
    #[inline(always)]
    fn leaves_king_safe(&self, us: Color, role: Role, from: Square, to: Square) -> bool {
        let Some(king) = self.board.king_of(us) else {
            return true;
        };
        // Most moves uncover nothing: no piece behind the moving one aims at
        // the king.
        let is_unpinned = self.aimed.is_disjoint(line(king, from));
        let uncovers_nothing = !self.in_check && role != Role::King && is_unpinned;
        uncovers_nothing || self.is_safe_after(role, from, to)
    }

    /// As [`leaves_king_safe`](Position::leaves_king_safe), by the pieces on the
    /// board after the move.
    #[inline(never)]
    fn is_safe_after(&self, role: Role, from: Square, to: Square) -> bool {
        let Some(king) = self.king() else {
            return true;
        };
        let occupied = self.board.occupied().without(from).with(to);
        if role != Role::King && !self.in_check {
            // Only what aims at the king through `from` can be uncovered.
            let behind = (self.aimed & line(king, from)).without(to);
            return with_free_path(behind, king, occupied).is_empty();
        }
        let king = if role == Role::King { to } else { king };
        let attackers = self.board.attacks_to(king, !self.turn, occupied);
        attackers.without(to).is_empty()
    }

    /// Returns whether any pawn can capture en passant on `to`.
    pub(super) fn can_take_en_passant_on(&self, to: Square) -> bool {
        let pawns = pawn_attacks(!self.turn, to) & self.our(Role::Pawn);
        pawns
            .into_iter()
            .any(|from| self.takes_en_passant(from, to))
    }

    /// Returns whether the side to move, which has a king in check, has a legal
    /// move: a king move, a capture of the only checking piece, or a block.
    pub(super) fn can_answer_check(&self) -> bool {
        let Some(king) = self.king() else {
            return true;
        };
        let ours = self.board.by_color(self.turn);
        let mut aside = (king_attacks(king) & !ours).into_iter();
        if aside.any(|to| self.is_safe_after(Role::King, king, to)) {
            return true;
        }
        let Some(checker) = self.checkers().single_square() else {
            return false;
        };
        let targets = between(king, checker).with(checker);
        let others = ours.without(king).into_iter();
        let mut pieces = others.filter_map(|from| Some((self.board.role_at(from)?, from)));
        pieces.any(|(role, from)| {
            let mut reached = (self.reach(role, from) & targets).into_iter();
            reached.any(|to| self.is_safe_after(role, from, to))
        }) || self
            .en_passant_square
            .is_some_and(|to| self.can_take_en_passant_on(to))
    }

    /// The squares that a piece of ours can go to, regardless of the safety of
    /// the king.
    fn reach(&self, role: Role, from: Square) -> Bitboard {
        if role == Role::Pawn {
            return self.pawn_reach(from);
        }
        let reached = on_empty_board(role, from);
        with_free_path(reached, from, self.board.occupied())
    }

    /// Returns whether castling is possible: the paths of king and rook are
    /// free, and the king crosses no attacked square.
    pub(super) fn castles_safely(&self, king: Square, rook: Square) -> bool {
        let (board, turn) = (&self.board, self.turn);
        let side = CastlingSide::from_king_side(king < rook);
        let king_to = Square::from_coords(side.king_to_file(), king.rank());
        let rook_to = Square::from_coords(side.rook_to_file(), king.rank());
        let others = board.occupied().without(king).without(rook);
        let king_way = between(king, king_to).with(king_to);
        let rook_way = between(rook, rook_to).with(rook_to);
        if self.in_check || ((king_way | rook_way) & others).any() {
            return false;
        }
        let safe = |square, occupied| board.attacks_to(square, !turn, occupied).is_empty();
        let walking = board.occupied().without(king);
        // A rook that leaves a corner uncovers nothing.
        king_way.into_iter().all(|square| safe(square, walking))
            && (self.castling_mode.is_standard()
                || safe(king_to, others.with(rook_to).with(king_to)))
    }

    /// The shortest unambiguous notation of a move that is no castling and no
    /// promotion, without a check mark.
    #[expect(
        clippy::inline_always,
        reason = "once in the loop over the moves of a game"
    )]
    #[inline(always)]
    pub(super) fn san_of_step(&self, us: Color, role: Role, from: Square, to: Square) -> San {
        let takes = self.board.occupied().contains(to);
        let kind = self.board.by_piece(role.of(us)).without(from);
        let rivals = kind & on_empty_board(role, to);
        if rivals.any() {
            return self.san_among(rivals, role, from, to);
        }
        San::of_step(role, from.file(), takes, to)
    }

    /// As [`san_of_step`](Position::san_of_step), with the file, the rank or
    /// both of `from` if one of the `rivals` can legally go there too. Rivals
    /// are other pieces of this kind that attack `to` on an empty board.
    #[inline(never)]
    fn san_among(&self, rivals: Bitboard, role: Role, from: Square, to: Square) -> San {
        let mut san = San::letter(role);
        let rivals = with_free_path(rivals, to, self.board.occupied()).into_iter();
        let rivals = rivals.filter(|rival| self.leaves_king_safe(self.turn, role, *rival, to));
        let rivals: Bitboard = rivals.collect();
        let shares_file = (rivals & Bitboard::from_file(from.file())).any();
        let shares_rank = (rivals & Bitboard::from_rank(from.rank())).any();
        if rivals.any() && (!shares_file || shares_rank) {
            san.push_file(from.file());
        }
        if shares_file {
            san.push_rank(from.rank());
        }
        san.push_target(self.board.role_at(to).is_some(), to);
        san
    }
}
