//! Which games reach a position, kept in memory.
//!
//! For each game and each position that it reaches there is one entry: a hash of
//! the position, the game, and the move played there the first time. They are
//! sorted, so those of a position lie together. Games that change later are read
//! anew, and have entries of their own beside the first ones.
//!
//! Positions are told apart by 64 bits of a hash. Its seed is drawn anew in each
//! process, so nobody can make two positions that have the same; by chance two of
//! a million positions have it once in thirty million times.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Arc, LazyLock};

use shakmaty::{Move, Role, Square};

use super::filter::Filter;
use super::game_set::GameSet;
use super::moves::{Played, Sequel};
use super::parse::Query;
use super::scan::{Ended, Give, Maker, Told, scan};
use super::source::{Fault, Header, Reader, Source};
use super::walk::{Continue, walk};
use crate::game::{Game, Position, PositionKey};

/// That a game reaches a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reach {
    position: u64,
    game: u32,
    next: Next,
}

/// The move that a game played, in 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Next(u16);

/// Games and what they reach.
#[derive(Debug, Default)]
struct Part {
    /// By number.
    headers: Vec<Header>,
    /// By position, then by game.
    reaches: Vec<Reach>,
}

/// Positions of all games of a source, deleted ones too.
#[derive(Clone, Debug)]
pub struct Index {
    in_variations: bool,
    first: Arc<Part>,
    /// Games of the first part that are others now.
    changed: Arc<BTreeSet<u32>>,
    /// Those of them that are there.
    later: Arc<Part>,
}

/// What some games have of a position.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// The moves, with their numbers.
    pub played: Played,
    /// The games.
    pub games: GameSet,
}

impl Reached {
    /// Adds what other games have.
    pub fn add(&mut self, other: Reached) {
        self.played.add(other.played);
        other.games.from(0).for_each(|game| self.games.add(game));
    }
}

impl Index {
    /// Reads all games. `None` if they have more than `most` positions
    /// together.
    ///
    /// # Errors
    ///
    /// [`Fault`] if the headers cannot be read.
    pub fn build(
        source: &dyn Source,
        in_variations: bool,
        most: usize,
    ) -> Result<Option<Index>, Fault> {
        let query = Query {
            in_deleted: true,
            ..Query::default()
        };
        let filter = Filter::new(&query, source)?;
        let mut part = Part::default();
        let scanned = scan(source, &filter, &Reaches { in_variations }, &mut |told| {
            if let Told::Piece(piece) = told {
                part.add(piece);
            }
            if part.reaches.len() > most {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            Ok(())
        });
        match scanned {
            Ok(()) => {}
            Err(Ended::Source(fault)) => return Err(fault),
            Err(Ended::Taker(_)) => return Ok(None),
        }
        part.sort();
        Ok(Some(Index {
            in_variations,
            first: Arc::new(part),
            changed: Arc::default(),
            later: Arc::default(),
        }))
    }

    /// The same after these games came, went or changed. `None` if too many
    /// have changed by now: then it is to be built anew.
    ///
    /// # Errors
    ///
    /// [`Fault`] if the headers cannot be read.
    pub fn after(
        &self,
        games: &BTreeSet<u32>,
        source: &dyn Source,
    ) -> Result<Option<Index>, Fault> {
        let changed: BTreeSet<u32> = self.changed.union(games).copied().collect();
        if changed.len() > 1000.max(self.first.headers.len() / 64) {
            return Ok(None);
        }
        let mut later = self.later.without(games);
        let maker = Reaches {
            in_variations: self.in_variations,
        };
        let mut reader = source.reader();
        for &game in games {
            let mut found = None;
            if (1..=source.last()).contains(&game) {
                source.headers(game..game.saturating_add(1), false, &mut |header| {
                    found = Some(*header);
                })?;
            }
            if let Some(header) = found {
                maker.make(&[header], reader.as_mut(), &mut |told| {
                    if let Told::Piece(piece) = told {
                        later.add(piece);
                    }
                    true
                });
            }
        }
        later.sort();
        Ok(Some(Index {
            in_variations: self.in_variations,
            first: Arc::clone(&self.first),
            changed: Arc::new(changed),
            later: Arc::new(later),
        }))
    }

    /// What those games that `counts` gives played in a position.
    pub fn ask(&self, position: &Position, counts: &dyn Fn(&Header) -> bool) -> Reached {
        let mut reached = Reached::default();
        for (header, next) in self.of(position) {
            if counts(header) {
                reached.games.add(header.number);
                reached.played.add_game(next.in_position(position), header);
            }
        }
        let moves: Vec<Option<Move>> = reached.played.moves.keys().copied().collect();
        for m in moves {
            let mut after = position.clone();
            match m {
                Some(m) => drop(after.play(m)),
                None => after.play_null(),
            }
            let count = self.of(&after).filter(|(header, _)| counts(header)).count();
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            reached.played.children.insert(m, count);
        }
        reached
    }

    /// The games that reach a position, each with what it played there.
    fn of(&self, position: &Position) -> impl Iterator<Item = (&Header, Next)> {
        let hash = hash(&position.key());
        let first = self.first.of(hash);
        let first = first.filter(|(header, _)| !self.changed.contains(&header.number));
        first.chain(self.later.of(hash))
    }
}

impl Part {
    fn add(&mut self, piece: Part) {
        self.headers.extend(piece.headers);
        self.reaches.extend(piece.reaches);
    }

    fn sort(&mut self) {
        self.headers.sort_unstable_by_key(|header| header.number);
        self.reaches.sort_unstable();
        self.reaches.shrink_to_fit();
    }

    fn without(&self, games: &BTreeSet<u32>) -> Part {
        let headers = self.headers.iter().copied();
        let reaches = self.reaches.iter().copied();
        Part {
            headers: headers.filter(|one| !games.contains(&one.number)).collect(),
            reaches: reaches.filter(|one| !games.contains(&one.game)).collect(),
        }
    }

    fn of(&self, position: u64) -> impl Iterator<Item = (&Header, Next)> {
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

    /// Adds a game and all positions that it reaches.
    fn add_game(&mut self, header: &Header, game: &Game, in_variations: bool) {
        self.headers.push(*header);
        let start = self.reaches.len();
        walk(game, in_variations, |moment, at, _| {
            if let Some(key) = moment.key() {
                let ply = game.tree.first_child(at).and_then(|id| game.tree.ply(id));
                self.reaches.push(Reach {
                    position: hash(&key),
                    game: header.number,
                    next: ply.map_or(Next::END, |ply| Next::of(ply.mv)),
                });
            }
            Continue::Go
        });
        // It counts once, with the move that it played the first time.
        let mut own = self.reaches.split_off(start);
        own.sort_by_key(|reach| reach.position);
        own.dedup_by_key(|reach| reach.position);
        self.reaches.append(&mut own);
    }
}

/// Notes what games reach.
#[derive(Debug)]
struct Reaches {
    in_variations: bool,
}

impl Maker for Reaches {
    type Piece = Part;

    fn reads_games(&self) -> bool {
        true
    }

    fn make(&self, games: &[Header], reader: &mut dyn Reader, give: Give<'_, Part>) {
        let mut part = Part::default();
        for header in games {
            // What cannot be read reaches nothing.
            if let Ok(game) = reader.read(header.number) {
                part.add_game(header, game, self.in_variations);
            }
            if part.reaches.len() > MOST_IN_PIECE && !give(Told::Piece(std::mem::take(&mut part))) {
                return;
            }
        }
        give(Told::Piece(part));
    }
}

/// A piece of more positions is handed over.
const MOST_IN_PIECE: usize = 1 << 16;

fn hash(key: &PositionKey) -> u64 {
    static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));
    key.digest(*SEED)
}

impl Next {
    /// The game ends there.
    const END: Next = Next(u16::MAX);
    const NULL: Next = Next(u16::MAX - 1);
    const CASTLE: u16 = 6;
    const EN_PASSANT: u16 = 7;

    fn of(m: Option<Move>) -> Next {
        let (from, to, kind) = match m {
            Some(Move::Normal {
                from,
                to,
                promotion,
                ..
            }) => (from, to, promotion.map_or(0, |role| role as u16 - 1)),
            Some(Move::EnPassant { from, to }) => (from, to, Next::EN_PASSANT),
            Some(Move::Castle { king, rook }) => (king, rook, Next::CASTLE),
            Some(Move::Put { .. }) | None => return Next::NULL,
        };
        Next(kind << 12 | u16::from(from) << 6 | u16::from(to))
    }

    /// What it means in the position that it was played in.
    fn in_position(self, position: &Position) -> Sequel {
        match self {
            Next::END => Sequel::End,
            Next::NULL => Sequel::Move(None),
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
            Next::EN_PASSANT => Move::EnPassant { from, to },
            Next::CASTLE => Move::Castle {
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
