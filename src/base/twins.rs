//! Games that a base has twice.
//!
//! Two games are the same if their players are (by the letters of their names), their
//! dates and results do not contradict each other, and the moves of the main line from
//! the same position are the same, or those of the one begin those of the other. Short
//! games are so only with the same moves, in one round of one event: the same players
//! may well have agreed to a draw twice.
//!
//! First the records tell which games have the same players in the same year. Of these
//! the beginnings are read, and only games that begin alike are compared, so that ten
//! million games take some hundred megabytes.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use shakmaty::Move;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{Base, Error};
use crate::cbh::{Decoded, EntityKind, EntityNames, GameFacts, GameId, Summary};
use crate::game::{Date, Game, GameResult};
use crate::search::fold;

/// Games of fewer half-moves are short.
const SHORT_PLIES: usize = 20;

/// So many games are read by a thread one after the other, and so many groups of them
/// compared.
const GAMES_AT_ONCE: usize = 1024;
const GROUPS_AT_ONCE: usize = 64;

/// Stands for the number of a game that cannot be read.
const UNREAD: u32 = 0;

/// Of more games that begin alike, each is compared with so many others only, and with
/// those of the same moves.
const MOST_COMPARED: usize = 200;

/// Why two games are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sameness {
    /// They have the same moves.
    Moves,
    /// The moves of the first begin those of the other.
    Begin,
}

impl Sameness {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Sameness::Moves => "the same moves",
            Sameness::Begin => "the same moves, fewer of them",
        }
    }
}

/// Two games that are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twins {
    /// The game that says less.
    pub game: GameId,
    /// The one that says more, or as much and is there longer.
    pub stays: GameId,
    /// In what they are the same.
    pub sameness: Sameness,
    /// Whether the first has nothing beside its moves: no variations, no remarks.
    pub is_plain: bool,
}

/// Flags of a game that has more than its moves.
const CONTENTS: u32 = GameFacts::VARIATIONS
    | GameFacts::TEXTS
    | GameFacts::SYMBOLS
    | GameFacts::ARROWS
    | GameFacts::CLOCKS
    | GameFacts::TRAINING
    | OTHER_CONTENTS;

/// Coloured squares, sounds, pictures and the like.
const OTHER_CONTENTS: u32 = 1 << 4 | 1 << 8 | 0b111_1111 << 16 | 1 << 24 | 1 << 28;

/// Returns the games that are there twice, by their numbers; deleted ones do not count.
/// A game that cannot be read is the same as none. `progress` is told the number of
/// games that were looked at.
///
/// # Errors
///
/// [`Error`] if the records or names cannot be read.
pub fn twins(base: &dyn Base, progress: &(dyn Fn(u64) + Sync)) -> Result<Vec<Twins>, Error> {
    let names = base.entity_names(EntityKind::Player)?;
    let players = Players::of(&names);
    let candidates = candidates(base, &players)?;
    let read = candidates.len() as u64;
    progress(u64::from(base.last_id()).saturating_sub(read));
    let games = begin_alike(base, candidates, progress);
    let groups = games.chunk_by(|one, other| one.0 == other.0);
    let groups: Vec<&[Keyed]> = groups.filter(|group| group.len() > 1).collect();
    let found = Mutex::new(Vec::new());
    on_all_processors(groups.chunks(GROUPS_AT_ONCE), |groups, decoded| {
        let mut twins = Vec::new();
        for group in groups {
            compare(base, &players, group, decoded, &mut twins);
        }
        lock(&found).extend(twins);
    });
    let mut twins = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    twins.sort_by_key(|twins: &Twins| twins.game);
    Ok(twins)
}

/// Does some work for each part of it, by as many threads as there are processors.
fn on_all_processors<P: Send>(
    parts: impl Iterator<Item = P> + Send,
    work: impl Fn(P, &mut Decoded) + Sync,
) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let parts = Mutex::new(parts);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut decoded = Decoded::reading_ahead();
                loop {
                    let next = lock(&parts).next();
                    let Some(part) = next else { return };
                    work(part, &mut decoded);
                }
            });
        }
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A digest of the letters of each player.
struct Players(Vec<u32>);

impl Players {
    fn of(names: &EntityNames) -> Players {
        let mut digests = vec![0; names.bound() as usize];
        let (mut folded, mut letters) = (String::new(), String::new());
        for (id, name) in names.iter() {
            folded.clear();
            letters.clear();
            fold(name, &mut folded);
            letters.extend(folded.chars().filter(|c| c.is_alphanumeric()));
            if let Some(digest) = digests.get_mut(id.0 as usize) {
                *digest = short(xxh3_64(letters.as_bytes()));
            }
        }
        Players(digests)
    }

    fn pair(&self, game: &Summary) -> [u32; 2] {
        [game.white, game.black].map(|id| self.0.get(id.0 as usize).copied().unwrap_or(0))
    }
}

/// The upper half of a digest.
fn short(digest: u64) -> u32 {
    (digest >> 32) as u32
}

/// A digest of players and year, and a game, in the order of the digests.
type Keyed = (u32, u32);

fn key_of(pair: [u32; 2], year: u16) -> u32 {
    let mut hasher = Xxh3::new();
    (pair, year).hash(&mut hasher);
    short(hasher.finish())
}

/// The games that have the same players in the same year as another one, each with a
/// digest of that, by their numbers. Games without a year go with those of all years.
fn candidates(base: &dyn Base, players: &Players) -> Result<Vec<Keyed>, Error> {
    let all = 1..base.last_id().saturating_add(1);
    let mut undated = HashSet::new();
    base.for_each_summary(all.clone(), false, &mut |game| {
        if game.date.year == 0 && !game.is_deleted {
            undated.insert(key_of(players.pair(game), 0));
        }
    })?;
    // Packed, so that they take eight bytes each.
    let mut keyed: Vec<u64> = Vec::new();
    base.for_each_summary(all, false, &mut |game| {
        if game.is_deleted {
            return;
        }
        let pair = players.pair(game);
        let of_all_years = key_of(pair, 0);
        let key = if undated.contains(&of_all_years) {
            of_all_years
        } else {
            key_of(pair, game.date.year)
        };
        keyed.push(u64::from(key) << 32 | u64::from(game.id.0));
    })?;
    keyed.sort_unstable();
    let groups = keyed.chunk_by(|one, other| one >> 32 == other >> 32);
    let several = groups.filter(|group| group.len() > 1).flatten();
    let mut games: Vec<Keyed> = several
        .map(|packed| (short(*packed), short(packed << 32)))
        .collect();
    drop(keyed);
    games.sort_unstable_by_key(|(_, id)| *id);
    Ok(games)
}

/// Reads the beginnings of games, on all processors; returns those that begin as
/// another one of their key, with a digest, in the order of the digests.
fn begin_alike(
    base: &dyn Base,
    mut games: Vec<Keyed>,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<Keyed> {
    on_all_processors(games.chunks_mut(GAMES_AT_ONCE), |chunk, decoded| {
        for (key, id) in &mut *chunk {
            match begin_of(base, *id, *key, decoded) {
                Some(digest) => *key = digest,
                None => *id = UNREAD,
            }
        }
        progress(chunk.len() as u64);
    });
    games.retain(|(_, id)| *id != UNREAD);
    games.sort_unstable();
    games
}

/// A digest of the key, the start and the first moves; `None` if the game cannot be
/// read.
fn begin_of(base: &dyn Base, id: u32, key: u32, decoded: &mut Decoded) -> Option<u32> {
    let game = read(base, id, decoded)?;
    let mut hasher = Xxh3::with_seed(key.into());
    start_of(game, &mut hasher);
    for ply in game.tree.main_line().take(SHORT_PLIES) {
        game.tree.ply(ply).and_then(|ply| ply.mv).hash(&mut hasher);
    }
    Some(short(hasher.finish()))
}

fn read<'d>(base: &dyn Base, id: u32, decoded: &'d mut Decoded) -> Option<&'d Game> {
    base.read_moves_only(GameId(id), decoded).ok()?;
    decoded.defects.is_empty().then_some(&decoded.game)
}

fn start_of(game: &Game, hasher: &mut Xxh3) {
    if game.start.is_set_up {
        let mut fen = Vec::new();
        game.start.append_fen_to(&mut fen);
        fen.hash(hasher);
    }
}

/// A game, to be compared with others.
struct Candidate {
    summary: Summary,
    pair: [u32; 2],
    start: u64,
    moves: Vec<Option<Move>>,
}

impl Candidate {
    fn read(
        base: &dyn Base,
        players: &Players,
        id: u32,
        decoded: &mut Decoded,
    ) -> Option<Candidate> {
        let summary = base.summary(GameId(id)).ok()?;
        let game = read(base, id, decoded)?;
        let mut hasher = Xxh3::new();
        start_of(game, &mut hasher);
        let plies = game.tree.main_line();
        Some(Candidate {
            pair: players.pair(&summary),
            start: hasher.finish(),
            moves: plies
                .map(|ply| game.tree.ply(ply).and_then(|ply| ply.mv))
                .collect(),
            summary,
        })
    }

    fn contents(&self) -> u32 {
        let flags = self.summary.flags.unwrap_or(CONTENTS);
        (flags & CONTENTS).count_ones()
    }

    /// Games that say more come first.
    fn rank(&self) -> impl Ord + use<> {
        let (moves, contents) = (self.moves.len(), self.contents());
        (Reverse(moves), Reverse(contents), self.summary.id)
    }

    fn digest(&self) -> u64 {
        let mut hasher = Xxh3::with_seed(self.start);
        self.moves.hash(&mut hasher);
        hasher.finish()
    }

    /// In what a game is the same as another one that says more.
    fn sameness(&self, other: &Candidate) -> Option<Sameness> {
        let (one, two) = (&self.summary, &other.summary);
        let is_of_one = self.pair == other.pair
            && self.start == other.start
            && are_one_date(one.date, two.date)
            && are_one_result(one.result, two.result)
            && other.moves.starts_with(&self.moves);
        if !is_of_one {
            return None;
        }
        let is_same = self.moves.len() == other.moves.len();
        if self.moves.len() < SHORT_PLIES {
            let round = |game: &Summary| (game.tournament, game.round, game.subround);
            return (is_same && round(one) == round(two)).then_some(Sameness::Moves);
        }
        Some(if is_same {
            Sameness::Moves
        } else {
            Sameness::Begin
        })
    }
}

/// Whether two dates may be one: what both say is the same.
fn are_one_date(one: Date, other: Date) -> bool {
    let parts = |date: Date| [date.year, date.month.into(), date.day.into()];
    let mut pairs = parts(one).into_iter().zip(parts(other));
    pairs.all(|(one, other)| one == other || one == 0 || other == 0)
}

/// Whether two results may be one: that of a line says nothing.
fn are_one_result(one: Option<GameResult>, other: Option<GameResult>) -> bool {
    let pgn = |result: Option<GameResult>| result.unwrap_or_default().pgn();
    let (one, other) = (pgn(one), pgn(other));
    one == other || one == "*" || other == "*"
}

/// Compares games that begin alike.
fn compare(
    base: &dyn Base,
    players: &Players,
    group: &[Keyed],
    decoded: &mut Decoded,
    twins: &mut Vec<Twins>,
) {
    for part in group.chunks(MOST_COMPARED * MOST_COMPARED) {
        let read = |(_, id): &Keyed| Candidate::read(base, players, *id, decoded);
        let mut games: Vec<Candidate> = part.iter().filter_map(read).collect();
        games.sort_by_key(Candidate::rank);
        // By their moves, and the last ones that stay.
        let mut of_moves: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut stay: Vec<usize> = Vec::new();
        for (at, game) in games.iter().enumerate() {
            let alike = of_moves.entry(game.digest()).or_default();
            let before = alike.iter().rev().take(MOST_COMPARED);
            let before = before.chain(stay.iter().rev().take(MOST_COMPARED));
            let found = before.filter_map(|other| {
                let other = games.get(*other)?;
                Some((game.sameness(other)?, other.summary.id))
            });
            // Of several the one that is most the same, and there longest.
            if let Some((sameness, stays)) = found.min() {
                twins.push(Twins {
                    game: game.summary.id,
                    stays,
                    sameness,
                    is_plain: game.contents() == 0,
                });
            } else {
                alike.push(at);
                stay.push(at);
            }
        }
    }
}
