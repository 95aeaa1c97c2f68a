//! The side to move, and what it may do.
//!
//! The questions of a game's every ply, asked of the attack tables: whether a
//! move is legal, how it is written, whether it checks. Generating all moves
//! to answer them takes five times as long.

use shakmaty::{Bitboard, Board, CastlingSide, Color, Move, Rank, Role, Square, attacks};

use super::San;

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

    /// Whether the other side's last move, of a piece that is now a `role`,
    /// gave check, if there was none before.
    #[inline]
    pub(super) fn is_checked_by(&self, role: Role, from: Square, to: Square) -> bool {
        let Some(king) = self.king else {
            return false;
        };
        let is_direct = match role {
            Role::Pawn => attacks::pawn_attacks(!self.turn, to).contains(king),
            Role::Knight => attacks::knight_attacks(to).contains(king),
            Role::King => false,
            Role::Bishop | Role::Rook | Role::Queen => {
                shares_line(to, king) && self.board.attacks_from(to).contains(king)
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

    /// Whether the piece is there, goes that way, and takes what is said.
    #[inline]
    pub(super) fn is_pseudo_legal(
        &self,
        role: Role,
        from: Square,
        capture: Option<Role>,
        to: Square,
        promotion: Option<Role>,
    ) -> bool {
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
    #[inline]
    pub(super) fn leaves_king_safe(
        &self,
        role: Role,
        from: Square,
        to: Square,
        taken: Bitboard,
    ) -> bool {
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
    fn is_safe_after(&self, king: Square, from: Square, to: Square, taken: Bitboard) -> bool {
        let board = self.board;
        let occupied = board.occupied().without(from).without(taken).with(to);
        (board.attacks_to(king, !self.turn, occupied) & !taken).is_empty()
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

    /// The shortest notation that tells `m` from the other legal moves.
    pub(super) fn san_without_mark(&self, m: Move) -> San {
        let mut san = San::EMPTY;
        match m {
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_king_side(king < rook);
                let text: &[u8] = match side {
                    CastlingSide::KingSide => b"O-O",
                    CastlingSide::QueenSide => b"O-O-O",
                };
                for &byte in text {
                    san.push(byte);
                }
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
        let occupied = self.board.occupied();
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

fn file_letter(square: Square) -> u8 {
    b'a' + square.file() as u8
}

fn rank_digit(square: Square) -> u8 {
    b'1' + square.rank() as u8
}
