//! Games that a base has twice.
//!
//! Two games are the same if their players are (by the letters of their names), their
//! dates and results do not contradict each other, and the moves of the main line from
//! the same position are the same, or those of the one begin those of the other. Short
//! games are so only with the same moves, in one round of one event: the same players
//! may well have agreed to a draw twice.
//!
//! First the records tell which games have the same players in the same year. Of these
//! the beginnings are read, and only games that begin alike are compared. What is held
//! of all games is packed, so that ten million take less than 300 MiB.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::{Hash as _, Hasher as _};
use std::iter;
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

use super::{Base, Error};
use crate::book::export::polyglot_move;
use crate::cbh::{Decoded, EntityKind, EntityNames, GameFacts, GameId, Summary};
use crate::game::{Date, GameResult};
use crate::pgn;
use crate::search::{GameSet, fold};

/// Games of fewer half-moves are short.
const SHORT_PLIES: usize = 20;

/// So many games are read by a thread one after the other, and so many groups of them
/// compared.
const GAMES_AT_ONCE: usize = 1024;
const GROUPS_AT_ONCE: usize = 64;

/// Stands for the number of a game where there is none.
const NO_GAME: u32 = 0;

/// The number of a null move, which is that of no other.
const NULL_MOVE: u16 = u16::MAX;

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
    /// Whether nothing is lost with the first: it has no variations and no remarks, and
    /// its headers leave out what those of the other do.
    pub is_plain: bool,
}

/// The games that a base has twice.
#[derive(Debug)]
pub struct AllTwins {
    /// For each number of a game the one that stays, or [`NO_GAME`].
    stays: Vec<u32>,
    /// The games that have fewer moves than the one that stays.
    shorter: GameSet,
    plain: GameSet,
}

impl AllTwins {
    fn none_of(base: &dyn Base) -> AllTwins {
        AllTwins {
            stays: vec![NO_GAME; base.last_id() as usize + 1],
            shorter: GameSet::default(),
            plain: GameSet::default(),
        }
    }

    fn add(&mut self, twins: &Twins) {
        let game = twins.game.0;
        let Some(stays) = self.stays.get_mut(game as usize) else {
            return;
        };
        *stays = twins.stays.0;
        if twins.sameness == Sameness::Begin {
            self.shorter.add(game);
        }
        if twins.is_plain {
            self.plain.add(game);
        }
    }

    /// The game that is the same as this one and stays, if there is one.
    pub fn of(&self, game: GameId) -> Option<Twins> {
        let stays = *self.stays.get(game.0 as usize)?;
        (stays != NO_GAME).then(|| Twins {
            game,
            stays: GameId(stays),
            sameness: if self.shorter.contains(game.0) {
                Sameness::Begin
            } else {
                Sameness::Moves
            },
            is_plain: self.plain.contains(game.0),
        })
    }
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

/// Returns the games that are there twice; deleted ones do not count. A game that
/// cannot be read is the same as none. `progress` is told the number of games that
/// were looked at.
///
/// # Errors
///
/// [`Error`] if the records or names cannot be read.
pub fn twins(base: &dyn Base, progress: &(dyn Fn(u64) + Sync)) -> Result<AllTwins, Error> {
    let players = Players::of(&*base.entity_names(EntityKind::Player)?);
    let names = HeaderNames::of(base)?;
    let candidates = candidates(base, &players)?;
    let read = candidates.len() as u64;
    progress(u64::from(base.last_id()).saturating_sub(read));
    let games = begin_alike(base, candidates, progress);
    let mut groups = several_of_each(&games);
    let parts = iter::from_fn(|| {
        let part: Vec<&[Keyed]> = groups.by_ref().take(GROUPS_AT_ONCE).collect();
        (!part.is_empty()).then_some(part)
    });
    let found = Mutex::new(AllTwins::none_of(base));
    on_all_processors(parts, |groups, decoded| {
        let mut twins = Vec::new();
        for group in groups {
            compare(base, (&players, &names), group, decoded, &mut twins);
        }
        let mut found = found.lock();
        for twins in &twins {
            found.add(twins);
        }
    });
    Ok(found.into_inner())
}

/// The groups of several games with one digest, of games in the order of digests.
fn several_of_each(games: &[Keyed]) -> impl Iterator<Item = &[Keyed]> {
    let groups = games.chunk_by(|one, other| one.key == other.key);
    groups.filter(|group| group.len() > 1)
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
                    let next = parts.lock().next();
                    let Some(part) = next else { return };
                    work(part, &mut decoded);
                }
            });
        }
    });
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

/// The names in headers beside those of players.
struct HeaderNames {
    events: Arc<EntityNames>,
    annotators: Arc<EntityNames>,
    sources: Arc<EntityNames>,
}

impl HeaderNames {
    fn of(base: &dyn Base) -> Result<HeaderNames, Error> {
        Ok(HeaderNames {
            events: base.entity_names(EntityKind::Tournament)?,
            annotators: base.entity_names(EntityKind::Annotator)?,
            sources: base.entity_names(EntityKind::Source)?,
        })
    }

    /// Returns a bit for each header, set if a game has it.
    fn told(&self, game: &Summary) -> u32 {
        let is_name = |name: Option<&str>| name.is_some_and(|name| !name.is_empty());
        let told = [
            game.date.year > 0,
            game.date.month > 0,
            game.date.day > 0,
            pgn_result(game.result) != "*",
            game.line_evaluation > 0,
            game.round > 0,
            game.subround > 0,
            game.white_elo > 0,
            game.black_elo > 0,
            game.eco.is_some(),
            game.eco.is_some_and(|eco| eco.sub_code() > 0),
            game.medals > 0,
            game.white_team.is_some(),
            game.black_team.is_some(),
            is_name(self.events.title(game.tournament)),
            is_name(self.events.place(game.tournament)),
            is_name(self.annotators.get(game.annotator)),
            is_name(self.sources.get(game.source)),
        ];
        told.into_iter()
            .fold(0, |all, is_told| all << 1 | u32::from(is_told))
    }
}

/// The upper half of a digest.
fn short(digest: u64) -> u32 {
    (digest >> 32) as u32
}

/// A game with digests of what it may share with others, in the order of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Keyed {
    /// Of players and year; once the game is read, of its start and first moves too.
    key: u32,
    id: u32,
    /// Of its start and all moves; 0 before it is read.
    line: u64,
}

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
    let mut games: Vec<Keyed> = Vec::with_capacity(base.last_id() as usize);
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
        let (id, line) = (game.id.0, 0);
        games.push(Keyed { key, id, line });
    })?;
    games.sort_unstable();
    for group in games.chunk_by_mut(|one, other| one.key == other.key) {
        if let [alone] = group {
            alone.id = NO_GAME;
        }
    }
    games.retain(|game| game.id != NO_GAME);
    games.sort_unstable_by_key(|game| game.id);
    Ok(games)
}

/// Reads games, on all processors; returns those whose digests could be made, in the
/// order of these.
fn begin_alike(
    base: &dyn Base,
    mut games: Vec<Keyed>,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<Keyed> {
    on_all_processors(games.chunks_mut(GAMES_AT_ONCE), |chunk, decoded| {
        let mut line = TwinLine::default();
        for game in &mut *chunk {
            if line.read(base, game.id, decoded) {
                game.key = line.digest_of_beginning(game.key);
                game.line = line.digest();
            } else {
                game.id = NO_GAME;
            }
        }
        progress(chunk.len() as u64);
    });
    games.retain(|game| game.id != NO_GAME);
    // Those of the same moves come one after the other.
    games.sort_unstable_by_key(|game| (game.key, game.line, game.id));
    games
}

/// The start and the main line of a game.
#[derive(Default)]
struct TwinLine {
    /// 0 for the usual start.
    start: u64,
    /// Each move as a number.
    moves: Vec<[u8; 2]>,
}

impl TwinLine {
    /// Reads the line of a game; false if it cannot be read.
    fn read(&mut self, base: &dyn Base, id: u32, decoded: &mut Decoded) -> bool {
        let read = base.read_moves_only(GameId(id), decoded);
        if read.is_err() || !decoded.defects.is_empty() {
            return false;
        }
        let game = &decoded.game;
        self.start = 0;
        if game.start.is_set_up {
            let mut fen = Vec::new();
            game.start.append_fen_to(&mut fen);
            self.start = xxh3_64(&fen);
        }
        let moves = game.tree.main_moves();
        self.moves.clear();
        self.moves
            .extend(moves.map(|mv| mv.map_or(NULL_MOVE, polyglot_move).to_le_bytes()));
        true
    }

    fn digest_of_beginning(&self, key: u32) -> u32 {
        let moves = self.moves.get(..SHORT_PLIES).unwrap_or(&self.moves);
        let seed = self.start ^ u64::from(key);
        short(xxh3_64_with_seed(moves.as_flattened(), seed))
    }

    fn digest(&self) -> u64 {
        xxh3_64_with_seed(self.moves.as_flattened(), self.start)
    }

    /// Whether this line begins another one, or is the same.
    fn begins(&self, other: &TwinLine) -> bool {
        self.start == other.start && other.moves.starts_with(&self.moves)
    }
}

/// A game, to be compared with others.
struct TwinCandidate {
    summary: Summary,
    pair: [u32; 2],
    /// Which of the lines it has.
    line: usize,
    /// Its headers, see [`HeaderNames::told`].
    told: u32,
}

impl TwinCandidate {
    fn contents(&self) -> u32 {
        let flags = self.summary.flags.unwrap_or(CONTENTS);
        (flags & CONTENTS).count_ones()
    }
}

/// Games that begin alike.
struct LikeGames {
    games: Vec<TwinCandidate>,
    lines: Vec<TwinLine>,
}

impl LikeGames {
    /// Reads the records of games, and of those with the same moves the moves of the
    /// first.
    fn read(
        base: &dyn Base,
        (players, names): (&Players, &HeaderNames),
        games: &[Keyed],
        decoded: &mut Decoded,
    ) -> LikeGames {
        let (mut group, mut lines) = (Vec::with_capacity(games.len()), Vec::new());
        for of_line in games.chunk_by(|one, other| one.line == other.line) {
            let mut line = TwinLine::default();
            let mut ids = of_line.iter().map(|game| game.id);
            if !ids.clone().any(|id| line.read(base, id, decoded)) {
                continue;
            }
            let number = lines.len();
            lines.push(line);
            ids.try_for_each(|id| {
                base.for_each_summary(id..id + 1, true, &mut |summary| {
                    group.push(TwinCandidate {
                        pair: players.pair(summary),
                        told: names.told(summary),
                        summary: *summary,
                        line: number,
                    });
                })
            })
            .unwrap_or_default();
        }
        LikeGames {
            games: group,
            lines,
        }
    }

    /// Games that say more come first.
    fn sort(&mut self) {
        let LikeGames { games, lines } = self;
        let moves = |game: &TwinCandidate| lines.get(game.line).map(|line| line.moves.len());
        games.sort_by_key(|game| {
            let said = (moves(game), game.contents(), game.told.count_ones());
            (Reverse(said), game.summary.id)
        });
    }

    /// In what a game is the same as another one that says more.
    fn sameness(&self, game: &TwinCandidate, other: &TwinCandidate) -> Option<Sameness> {
        let (one, two) = (&game.summary, &other.summary);
        let (line, other_line) = (self.lines.get(game.line)?, self.lines.get(other.line)?);
        let is_same = game.line == other.line;
        let is_of_one = game.pair == other.pair
            && are_one_date(one.date, two.date)
            && are_one_result(one.result, two.result)
            && (is_same || line.begins(other_line));
        if !is_of_one {
            return None;
        }
        if line.moves.len() < SHORT_PLIES {
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
    let (one, other) = (pgn_result(one), pgn_result(other));
    one == other || one == "*" || other == "*"
}

fn pgn_result(result: Option<GameResult>) -> &'static str {
    result.unwrap_or_default().pgn()
}

/// Whether the text of a game has moves alone, and no tag that another lacks. Records do
/// not tell all of that: the days of an event, a label, the country of a team and
/// evaluations stand elsewhere.
fn says_no_more(base: &dyn Base, game: GameId, other: GameId, decoded: &mut Decoded) -> bool {
    let mut tags_of = |id| tags_told(base, id, decoded);
    let (Some((tags, true)), Some((others, _))) = (tags_of(game), tags_of(other)) else {
        return false;
    };
    tags.is_subset(&others)
}

/// The names of the tags of a game that say something, and whether its text has neither
/// remarks nor variations besides; `None` if it cannot be read.
fn tags_told(
    base: &dyn Base,
    id: GameId,
    decoded: &mut Decoded,
) -> Option<(HashSet<Vec<u8>>, bool)> {
    base.read_game(id, decoded).ok()?;
    let mut text = Vec::new();
    pgn::encode(&decoded.game, &[], &mut text);
    let mut lines = text.split(|byte| *byte == b'\n');
    let tags = lines.by_ref().take_while(|line| !line.is_empty());
    let told = tags.filter_map(|line| {
        let (name, value) = line.split_at(line.iter().position(|byte| *byte == b' ')?);
        let says_something = value.iter().any(|byte| !b" \"?.-*]".contains(byte));
        says_something.then(|| name.to_vec())
    });
    let told = told.collect();
    let has_moves_alone = lines.flatten().all(|byte| !b"{($".contains(byte));
    Some((told, has_moves_alone))
}

/// Compares games that begin alike.
fn compare(
    base: &dyn Base,
    names: (&Players, &HeaderNames),
    games: &[Keyed],
    decoded: &mut Decoded,
    twins: &mut Vec<Twins>,
) {
    for part in games.chunks(MOST_COMPARED * MOST_COMPARED) {
        let mut group = LikeGames::read(base, names, part, decoded);
        group.sort();
        // Of each line, and of all, the last ones that stay.
        let mut of_lines = vec![Vec::new(); group.lines.len()];
        let mut stay: Vec<usize> = Vec::new();
        for (at, game) in group.games.iter().enumerate() {
            let Some(alike) = of_lines.get_mut(game.line) else {
                continue;
            };
            let before = alike.iter().rev().take(MOST_COMPARED);
            let before = before.chain(stay.iter().rev().take(MOST_COMPARED));
            let found = before.filter_map(|other| {
                let other = group.games.get(*other)?;
                Some((group.sameness(game, other)?, other.summary.id, other.told))
            });
            // Of several the one that is most the same, and there longest.
            if let Some((sameness, stays, told)) = found.min() {
                let id = game.summary.id;
                let may_be_plain = game.contents() == 0 && game.told & !told == 0;
                twins.push(Twins {
                    game: id,
                    stays,
                    sameness,
                    is_plain: may_be_plain && says_no_more(base, id, stays, decoded),
                });
            } else {
                alike.push(at);
                stay.push(at);
            }
        }
    }
}
