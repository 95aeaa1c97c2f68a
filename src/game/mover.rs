//! The side to move, and what it may do.
//!
//! The questions of a game's every ply, asked of the attack tables: whether a
//! move is legal, how it is written, whether it checks. Generating all moves
//! to answer them takes five times as long.

use shakmaty::{Bitboard, CastlingSide, Color, Move, Rank, Role, Square, attacks};

use super::{Board, San};

/// A piece goes from one square to another, taking what stands there: every
/// move but castling and taking in passing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) role: Role,
    pub(super) from: Square,
    pub(super) capture: Option<Role>,
    pub(super) to: Square,
    pub(super) promotion: Option<Role>,
}

impl Step {
    #[inline]
    pub(super) fn of(m: Move) -> Option<Step> {
        match m {
            Move::Normal {
                role,
                from,
                capture,
                to,
                promotion,
            } => Some(Step {
                role,
                from,
                capture,
                to,
                promotion,
            }),
            _ => None,
        }
    }

    /// What stands on `to` afterwards.
    #[inline]
    pub(super) fn becomes(self) -> Role {
        self.promotion.unwrap_or(self.role)
    }
}

/// A board seen by the side to move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mover<'b> {
    board: &'b Board,
    turn: Color,
    /// Its king, if it has exactly one.
    king: Option<Square>,
    in_check: bool,
}

impl<'b> Mover<'b> {
    /// `in_check` is trusted.
    #[inline]
    pub(super) fn new(board: &'b Board, turn: Color, in_check: bool) -> Mover<'b> {
        Mover {
            board,
            turn,
            king: board.king_of(turn),
            in_check,
        }
    }

    /// The pieces that give check.
    pub(super) fn checkers(&self) -> Bitboard {
        self.king.map_or(Bitboard::EMPTY, |king| {
            self.board
                .attacks_to(king, !self.turn, self.board.occupied())
        })
    }

    /// Whether the other side's last move gave check, if there was none
    /// before: by the piece that moved, or by one that its way uncovered.
    #[inline]
    pub(super) fn is_checked_by(&self, step: Step) -> bool {
        let Some(king) = self.king else {
            return false;
        };
        let (role, from, to) = (step.becomes(), step.from, step.to);
        let is_direct = match role {
            Role::Pawn => attacks::pawn_attacks(!self.turn, to).contains(king),
            Role::Knight => attacks::knight_attacks(to).contains(king),
            Role::King => false,
            Role::Bishop | Role::Rook | Role::Queen => {
                shares_line(to, king) && self.reach(role, to).contains(king)
            }
        };
        is_direct || (shares_line(from, king) && self.checkers().any())
    }

    /// Whether a pawn on `from` may take a pawn that stepped over `to`.
    pub(super) fn takes_en_passant(&self, from: Square, to: Square) -> bool {
        let taken = Square::from_coords(to.file(), from.rank());
        self.our(Role::Pawn).contains(from)
            && attacks::pawn_attacks(self.turn, from).contains(to)
            && self.leaves_king_safe(Role::Pawn, from, to, Bitboard::from_square(taken))
    }

    fn our(&self, role: Role) -> Bitboard {
        self.board.by_color(self.turn) & self.board.by_role(role)
    }

    /// Whether the rules allow the step.
    #[inline]
    pub(super) fn may_go(&self, step: Step) -> bool {
        let taken = Bitboard::from_square(step.to);
        self.is_pseudo_legal(step) && self.leaves_king_safe(step.role, step.from, step.to, taken)
    }

    /// Whether the piece is there, goes that way, and takes what is said.
    #[inline]
    fn is_pseudo_legal(&self, step: Step) -> bool {
        let Step {
            role,
            from,
            capture,
            to,
            promotion,
        } = step;
        let (board, turn) = (self.board, self.turn);
        let (occupied, ours) = (board.occupied(), board.by_color(turn));
        let capture_fits = match capture {
            None => !occupied.contains(to),
            Some(Role::King) => false,
            Some(taken) => (board.by_role(taken) & board.by_color(!turn)).contains(to),
        };
        if !capture_fits || !(ours & board.by_role(role)).contains(from) {
            return false;
        }
        if role == Role::Pawn {
            return pawn_fits(turn, from, capture.is_some(), to, promotion, occupied);
        }
        promotion.is_none() && self.reach(role, from).contains(to)
    }

    /// The squares that a piece, which is no pawn, attacks from `square`.
    #[inline]
    fn reach(&self, role: Role, square: Square) -> Bitboard {
        let occupied = self.board.occupied();
        match role {
            Role::Knight => attacks::knight_attacks(square),
            Role::Bishop => attacks::bishop_attacks(square, occupied),
            Role::Rook => attacks::rook_attacks(square, occupied),
            Role::Queen => attacks::queen_attacks(square, occupied),
            Role::King => attacks::king_attacks(square),
            Role::Pawn => Bitboard::EMPTY,
        }
    }

    /// Whether our king stands safe after a piece of ours went from `from`
    /// to `to` and `taken` left the board.
    #[inline]
    fn leaves_king_safe(&self, role: Role, from: Square, to: Square, taken: Bitboard) -> bool {
        let Some(king) = self.king else {
            return true;
        };
        // Most moves uncover nothing: the piece left no line of the king.
        let uncovers_nothing = role != Role::King && !shares_line(king, from);
        if uncovers_nothing && !self.in_check && taken.contains(to) {
            return true;
        }
        let king = if role == Role::King { to } else { king };
        self.is_safe_after(king, from, to, taken)
    }

    /// Whether `king` is attacked on the board as it will be.
    #[inline(never)]
    fn is_safe_after(&self, king: Square, from: Square, to: Square, taken: Bitboard) -> bool {
        let board = self.board;
        let occupied = board.occupied().without(from).without(taken).with(to);
        (board.attacks_to(king, !self.turn, occupied) & !taken).is_empty()
    }

    /// Whether any pawn may take one that stepped over `to`.
    pub(super) fn can_take_en_passant(&self, to: Square) -> bool {
        let pawns = attacks::pawn_attacks(!self.turn, to) & self.our(Role::Pawn);
        pawns
            .into_iter()
            .any(|from| self.takes_en_passant(from, to))
    }

    /// Whether the side to move, in check and with a king, has an answer: the
    /// king steps aside, or the one checking piece is taken or its way
    /// blocked.
    pub(super) fn can_parry(&self, en_passant: Option<Square>) -> bool {
        let Some(king) = self.king else {
            return true;
        };
        let (ours, checkers) = (self.board.by_color(self.turn), self.checkers());
        let may_go =
            |role, from, to| self.leaves_king_safe(role, from, to, Bitboard::from_square(to));
        let mut aside = (attacks::king_attacks(king) & !ours).into_iter();
        if aside.any(|to| may_go(Role::King, king, to)) {
            return true;
        }
        let Some(checker) = checkers.single_square() else {
            return false;
        };
        let targets = attacks::between(king, checker).with(checker);
        let others = ours.without(king).into_iter();
        let mut pieces = others.filter_map(|from| Some((self.board.role_at(from)?, from)));
        pieces.any(|(role, from)| {
            let reached = if role == Role::Pawn {
                self.pawn_reach(from)
            } else {
                self.reach(role, from)
            };
            (reached & targets)
                .into_iter()
                .any(|to| may_go(role, from, to))
        }) || en_passant.is_some_and(|to| self.can_take_en_passant(to))
    }

    /// Where a pawn may go, but for taking in passing.
    fn pawn_reach(&self, from: Square) -> Bitboard {
        let occupied = self.board.occupied();
        let forward = self.turn.fold_wb(8, -8);
        let free = |to: &Square| !occupied.contains(*to);
        let one = from.offset(forward).filter(free);
        let is_at_home = from.rank() == self.turn.fold_wb(Rank::Second, Rank::Seventh);
        let two = one
            .and_then(|one| one.offset(forward))
            .filter(|to| is_at_home && free(to));
        let takes = attacks::pawn_attacks(self.turn, from) & self.board.by_color(!self.turn);
        takes | one.into_iter().chain(two).collect::<Bitboard>()
    }

    /// Whether king and rook have a free way and the king meets no attack.
    pub(super) fn castles_safely(&self, king: Square, rook: Square) -> bool {
        let (board, turn) = (self.board, self.turn);
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

    /// The shortest notation that tells a step from the other legal moves,
    /// without a mark.
    #[inline]
    pub(super) fn san(&self, step: Step) -> San {
        let Step { role, from, to, .. } = step;
        let mut san = San::EMPTY;
        if role != Role::Pawn {
            san.push(role.upper_char() as u8);
            self.disambiguate(role, from, to, &mut san);
            if step.capture.is_some() {
                san.push(b'x');
            }
            san.push_square(to);
        } else if step.capture.is_some() {
            san = San::pawn_takes(from, to);
        } else {
            san.push_square(to);
        }
        if let Some(role) = step.promotion {
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
        let (mut rivals, mut same_file, mut same_rank) = (false, false, false);
        for rival in (self.reach(role, to) & kind).without(from) {
            if self.leaves_king_safe(role, rival, to, Bitboard::from_square(to)) {
                rivals = true;
                same_file |= rival.file() == from.file();
                same_rank |= rival.rank() == from.rank();
            }
        }
        if rivals && (!same_file || same_rank) {
            san.push_file(from.file());
        }
        if rivals && same_file {
            san.push_rank(from.rank());
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
        Some(role) => Bitboard::BACKRANKS.contains(to) && !matches!(role, Role::Pawn | Role::King),
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
    attacks::ray(a, b).any()
}
