//! `cbfs duplicates`: lists games that are there twice, to be reviewed, and marks as
//! deleted what the list says.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use super::change::{self, SAME_AGAIN};
use super::reviewed::{self, ReviewedLines};
use super::{Failure, progress};
use crate::base::{AllTwins, Base, Sameness, Twins, twins};
use crate::cbh::{Decoded, EntityId, EntityKind, EntityNames, GameId, Summary};
use crate::search::GameSet;

/// The columns of the list.
const COLUMNS: &str = "action\tgame\tstays\twhy\twhite\tblack\tdate\tresult\tevent\tevent_of_stays";

/// Value of the first column: mark this game as deleted.
const DELETE: &str = "delete";

/// So many games are read and written at once.
const GAMES_AT_ONCE: u32 = 1 << 16;

/// An event that no game has.
const NO_EVENT: EntityId = EntityId(u32::MAX);

/// The arguments of `cbfs duplicates`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    list: reviewed::ListArgs,

    /// Take back what --apply did with the list
    #[arg(long, requires = "apply")]
    restore: bool,
}

/// Prints the list, or applies one.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let list = &args.list;
    if let Some((lines, base)) = list.to_apply(COLUMNS, DELETE, ("cbfs duplicates", SAME_AGAIN))? {
        let games = chosen(args, &base.database, lines);
        let (base, consent) = ((base, list.base.as_path()), &list.consent);
        return change::mark(base, games, args.restore, consent, quiet);
    }
    let base = list.to_print()?;
    let base = base.as_ref();
    let about = |error| list.failed(error);
    let bar = progress::bar(base.last_id(), quiet);
    let found = twins(base, &|games| bar.inc(games));
    bar.finish_and_clear();
    let found = found.map_err(about)?;
    print_list(base, &found, about)
}

/// Prints the list, in the order of the games, whose records are read in their order
/// too.
fn print_list(
    base: &dyn Base,
    found: &AllTwins,
    about: impl Fn(crate::cbh::Error) -> Failure,
) -> Result<(), Failure> {
    let names = ShownNames::of(base).map_err(&about)?;
    let events = events_of(base).map_err(&about)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut lines = format!("{COLUMNS}\n");
    let end = base.last_id().saturating_add(1);
    for first in (1..end).step_by(GAMES_AT_ONCE as usize) {
        let ids = first..end.min(first.saturating_add(GAMES_AT_ONCE));
        let told = base.for_each_summary(ids, false, &mut |game| {
            if let Some(twins) = found.of(game.id) {
                let event = events.get(twins.stays.0 as usize).copied();
                names.append_line(&twins, game, event.unwrap_or(NO_EVENT), &mut lines);
            }
        });
        told.map_err(&about)?;
        let written = out.write_all(lines.as_bytes());
        written.map_err(|error| Failure::output(&error))?;
        lines.clear();
    }
    let written = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::output(&error))
}

/// The event of each game, by its number.
fn events_of(base: &dyn Base) -> Result<Vec<EntityId>, crate::cbh::Error> {
    let end = base.last_id().saturating_add(1);
    let mut events = vec![NO_EVENT; end as usize];
    base.for_each_summary(1..end, false, &mut |game| {
        if let Some(event) = events.get_mut(game.id.0 as usize) {
            *event = game.tournament;
        }
    })?;
    Ok(events)
}

/// The names that a list shows.
struct ShownNames {
    players: Arc<EntityNames>,
    events: Arc<EntityNames>,
}

impl ShownNames {
    fn of(base: &dyn Base) -> Result<ShownNames, crate::cbh::Error> {
        Ok(ShownNames {
            players: base.entity_names(EntityKind::Player)?,
            events: base.entity_names(EntityKind::Tournament)?,
        })
    }

    /// White and Black, without what would end a field.
    fn players(&self, game: &Summary) -> [String; 2] {
        [game.white, game.black].map(|id| field(self.players.get(id).unwrap_or_default()))
    }

    fn event(&self, id: EntityId) -> String {
        field(self.events.title(id).unwrap_or_default())
    }

    /// Appends the line for two games, of which the one that stays is of an event.
    fn append_line(&self, twins: &Twins, game: &Summary, event: EntityId, lines: &mut String) {
        // What has remarks, or is shorter, is not deleted without a look.
        let action = if twins.is_plain && twins.sameness == Sameness::Moves {
            DELETE
        } else {
            "?"
        };
        let mut date = Vec::new();
        game.date.append_to(&mut date);
        let [white, black] = self.players(game);
        let _ = writeln!(
            lines,
            "{action}\t{}\t{}\t{}\t{white}\t{black}\t{}\t{}\t{}\t{}",
            game.id.0,
            twins.stays.0,
            twins.sameness.words(),
            String::from_utf8_lossy(&date),
            game.result.unwrap_or_default().pgn(),
            self.event(game.tournament),
            self.event(event),
        );
    }
}

fn field(name: &str) -> String {
    name.replace(['\t', '\n', '\r'], " ")
}

/// The games that a list says, of which none is one that stays for another.
fn chosen(args: &Args, base: &dyn Base, list: ReviewedLines) -> Result<GameSet, Failure> {
    let names = ShownNames::of(base).map_err(|error| args.list.failed(error))?;
    let (mut games, mut stay) = (GameSet::default(), GameSet::default());
    let mut decoded = [Decoded::default(), Decoded::default()];
    for line in list {
        let (number, line) = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let wrong = |why| Failure::new(format_args!("line {number} of the list: {why}"));
        let [_, game, stays, _, white, black, ..] = fields.as_slice() else {
            return Err(wrong("fewer columns than the first line names"));
        };
        let is_game = |id: &u32| (1..=base.last_id()).contains(id);
        let number_of = |field: &str| field.parse().ok().filter(is_game);
        let (Some(game), Some(stays)) = (number_of(game), number_of(stays)) else {
            return Err(wrong("no numbers of two games"));
        };
        let is_listed = |game: &Summary| names.players(game) == [*white, *black];
        let summary = base.summary(GameId(game)).ok().filter(is_listed);
        let summary = summary.ok_or_else(|| {
            wrong("the players of the game are not those of the list; make the list anew")
        })?;
        stay.add(stays);
        if summary.is_deleted != args.restore {
            continue;
        }
        let is_there = || base.summary(GameId(stays)).is_ok_and(|it| !it.is_deleted);
        let ids = [game, stays].map(GameId);
        let is_same = args.restore || (is_there() && begins(base, ids, &mut decoded));
        if !is_same {
            return Err(wrong(
                "the game that stays is deleted, or lacks moves of the other now; make the list anew",
            ));
        }
        games.add(game);
    }
    if let Some(both) = games.from(0).find(|game| stay.contains(*game)) {
        let why = "is to be deleted, and is the one that stays for another";
        return Err(Failure::new(format_args!("game {both} of the list {why}")));
    }
    if games.count() == 0 {
        let why = "the list requires no change; nothing was changed";
        return Err(Failure::new(why));
    }
    Ok(games)
}

/// Whether the moves of the first game begin those of the other.
fn begins(base: &dyn Base, ids: [GameId; 2], decoded: &mut [Decoded; 2]) -> bool {
    let mut pairs = ids.into_iter().zip(decoded.iter_mut());
    if !pairs.all(|(id, decoded)| base.read_moves_only(id, decoded).is_ok()) {
        return false;
    }
    let [one, other] = decoded.each_ref().map(|decoded| &decoded.game);
    let (mut moves, mut others) = (one.tree.main_moves(), other.tree.main_moves());
    one.start.position == other.start.position && moves.all(|m| others.next() == Some(m))
}
