//! What games reach: positions, and the moves played there.

use shakmaty::{Move, Role, Square};

use std::time::Instant;

use super::moves::Sequel;
use super::scan::{Collector, Give, ScanEvent};
use super::source::{GamesReader, SearchedHeader, may_pass};
use super::walk::{Continue, walk};
use crate::game::{Game, Position};

/// An entry of the index: a game reaches a position and plays a move there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reach {
    /// Digest of the key of the position.
    pub(super) position: u64,
    pub(super) game: u32,
    pub(super) next: PackedMove,
}

/// The move that a game played, in 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PackedMove(pub(super) u16);

/// Appends all positions that a game reaches, by their digests with this seed.
pub(super) fn append_reaches(
    number: u32,
    game: &Game,
    in_variations: bool,
    seed: u64,
    reaches: &mut Vec<Reach>,
) {
    let start = reaches.len();
    walk(game, in_variations, |moment, at, _| {
        let ply = game.tree.first_child(at).and_then(|id| game.tree.ply(id));
        reaches.push(Reach {
            position: moment.key().digest(seed),
            game: number,
            next: ply.map_or(PackedMove::END, |ply| PackedMove::of(ply.mv)),
        });
        Continue::Go
    });
    // It counts once, with the move that it played the first time.
    let mut own = reaches.split_off(start);
    own.sort_by_key(|reach| reach.position);
    own.dedup_by_key(|reach| reach.position);
    reaches.append(&mut own);
}

/// Appends the positions of the main line of a game, and those that only its
/// variations reach.
pub(super) fn append_apart(
    number: u32,
    game: &Game,
    seed: u64,
    [main, others]: [&mut Vec<Reach>; 2],
) {
    append_reaches(number, game, false, seed, main);
    if game.tree.len() == game.tree.main_line_len() {
        return;
    }
    let mut all = Vec::new();
    append_reaches(number, game, true, seed, &mut all);
    let start = main.partition_point(|reach| reach.game < number);
    let own = main.get(start..).unwrap_or_default();
    let is_own = |reach: &Reach| own.binary_search_by_key(&reach.position, |one| one.position);
    others.extend(all.into_iter().filter(|reach| is_own(reach).is_err()));
}

/// Games and what they reach, in memory.
#[derive(Debug, Default)]
pub(super) struct ReachPart {
    /// By number.
    pub(super) headers: Vec<SearchedHeader>,
    /// By position, then by game.
    pub(super) reaches: Vec<Reach>,
    /// The games that cannot be read, which reach nothing.
    pub(super) unreadable: Vec<u32>,
    /// When one of them could not be read for an error that may pass.
    pub(super) short_since: Option<Instant>,
}

impl ReachPart {
    pub(super) fn add(&mut self, piece: ReachPart) {
        self.headers.extend(piece.headers);
        self.reaches.extend(piece.reaches);
        self.unreadable.extend(piece.unreadable);
        self.short_since = self.short_since.or(piece.short_since);
    }

    pub(super) fn sort(&mut self) {
        self.headers.sort_unstable_by_key(|header| header.number);
        self.reaches.sort_unstable();
        self.reaches.shrink_to_fit();
    }

    /// The same but for some games.
    pub(super) fn without(&self, are_out: impl Fn(u32) -> bool) -> ReachPart {
        let headers = self.headers.iter().copied();
        let reaches = self.reaches.iter().copied();
        let unreadable = self.unreadable.iter().copied();
        ReachPart {
            headers: headers.filter(|one| !are_out(one.number)).collect(),
            reaches: reaches.filter(|one| !are_out(one.game)).collect(),
            unreadable: unreadable.filter(|one| !are_out(*one)).collect(),
            short_since: self.short_since,
        }
    }

    /// The games that reach a position, each with what it played there.
    pub(super) fn of(&self, position: u64) -> impl Iterator<Item = (&SearchedHeader, PackedMove)> {
        let all = &self.reaches;
        let start = all.partition_point(|reach| reach.position < position);
        let rest = all.get(start..).unwrap_or_default().iter();
        rest.take_while(move |reach| reach.position == position)
            .filter_map(|reach| {
                let at = self
                    .headers
                    .binary_search_by_key(&reach.game, |header| header.number);
                Some((self.headers.get(at.ok()?)?, reach.next))
            })
    }
}

/// Notes what games reach.
#[derive(Debug)]
pub(super) struct Reaches {
    pub(super) in_variations: bool,
    pub(super) seed: u64,
}

impl Collector for Reaches {
    type Collected = ReachPart;

    fn reads_games(&self) -> bool {
        true
    }

    fn make(
        &self,
        games: &[SearchedHeader],
        reader: &mut dyn GamesReader,
        give: Give<'_, ReachPart>,
    ) {
        let mut part = ReachPart::default();
        for header in games {
            match reader.read_moves(header.number) {
                Ok(game) => {
                    part.headers.push(*header);
                    let reaches = &mut part.reaches;
                    append_reaches(header.number, game, self.in_variations, self.seed, reaches);
                }
                Err(error) => {
                    part.unreadable.push(header.number);
                    if may_pass(&error) {
                        part.short_since = Some(Instant::now());
                    }
                }
            }
            if part.reaches.len() > MOST_IN_PIECE
                && !give(ScanEvent::Piece(std::mem::take(&mut part)))
            {
                return;
            }
        }
        give(ScanEvent::Piece(part));
    }
}

/// A piece of more positions is handed over.
pub(super) const MOST_IN_PIECE: usize = 1 << 16;

impl PackedMove {
    /// The game ends there.
    pub(super) const END: PackedMove = PackedMove(u16::MAX);
    const NULL: PackedMove = PackedMove(u16::MAX - 1);
    const CASTLE: u16 = 6;
    const EN_PASSANT: u16 = 7;

    pub(super) fn of(m: Option<Move>) -> PackedMove {
        let (from, to, kind) = match m {
            Some(Move::Normal {
                from,
                to,
                promotion,
                ..
            }) => (from, to, promotion.map_or(0, |role| role as u16 - 1)),
            Some(Move::EnPassant { from, to }) => (from, to, PackedMove::EN_PASSANT),
            Some(Move::Castle { king, rook }) => (king, rook, PackedMove::CASTLE),
            Some(Move::Put { .. }) | None => return PackedMove::NULL,
        };
        PackedMove(kind << 12 | u16::from(from) << 6 | u16::from(to))
    }

    /// What it means in the position that it was played in.
    pub(super) fn in_position(self, position: &Position) -> Sequel {
        match self {
            PackedMove::END => Sequel::End,
            PackedMove::NULL => Sequel::Move(None),
            // One that was played has a piece to move.
            _ => self
                .played(position)
                .map_or(Sequel::End, |m| Sequel::Move(Some(m))),
        }
    }

    fn played(self, position: &Position) -> Option<Move> {
        let square = |shift: u16| Square::new(u32::from(self.0 >> shift & 63));
        let (from, to) = (square(6), square(0));
        Some(match self.0 >> 12 {
            PackedMove::EN_PASSANT => Move::EnPassant { from, to },
            PackedMove::CASTLE => Move::Castle {
                king: from,
                rook: to,
            },
            kind => Move::Normal {
                role: position.board().role_at(from)?,
                from,
                capture: position.board().role_at(to),
                to,
                promotion: Role::ALL
                    .into_iter()
                    .find(|role| kind != 0 && *role as u16 - 1 == kind),
            },
        })
    }
}
