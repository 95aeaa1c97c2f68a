//! `cbfs duplicates`: lists games that are there twice, to be reviewed, and marks as
//! deleted what the list says.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use super::reviewed::{self, Lines};
use super::{Failure, change, progress};
use crate::base::{Base, Sameness, Twins, twins};
use crate::cbh::{EntityKind, EntityNames, GameId, Summary};
use crate::search::GameSet;

/// The columns of the list.
const COLUMNS: &str = "action\tgame\tstays\twhy\twhite\tblack\tdate\tresult\tevent\tevent_of_stays";

/// Value of the first column: mark this game as deleted.
const DELETE: &str = "delete";

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
    if let Some((lines, base)) = list.to_apply(COLUMNS, "cbfs duplicates")? {
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
    let names = Names::of(base).map_err(about)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut line = format!("{COLUMNS}\n");
    for twins in &found {
        let written = out.write_all(line.as_bytes());
        written.map_err(|error| Failure::output(&error))?;
        line.clear();
        let games = (base.summary(twins.game), base.summary(twins.stays));
        let (Ok(game), Ok(stays)) = games else {
            continue;
        };
        names.write_line(twins, &game, &stays, &mut line);
    }
    let written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::output(&error))
}

/// The names that a list shows.
struct Names {
    players: Arc<EntityNames>,
    events: Arc<EntityNames>,
}

impl Names {
    fn of(base: &dyn Base) -> Result<Names, crate::cbh::Error> {
        Ok(Names {
            players: base.entity_names(EntityKind::Player)?,
            events: base.entity_names(EntityKind::Tournament)?,
        })
    }

    /// White and Black, without what would end a field.
    fn players(&self, game: &Summary) -> [String; 2] {
        [game.white, game.black].map(|id| field(self.players.get(id).unwrap_or_default()))
    }

    fn event(&self, game: &Summary) -> String {
        field(self.events.title(game.tournament).unwrap_or_default())
    }

    fn write_line(&self, twins: &Twins, game: &Summary, stays: &Summary, line: &mut String) {
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
            line,
            "{action}\t{}\t{}\t{}\t{white}\t{black}\t{}\t{}\t{}\t{}",
            game.id.0,
            stays.id.0,
            twins.sameness.words(),
            String::from_utf8_lossy(&date),
            game.result.unwrap_or_default().pgn(),
            self.event(game),
            self.event(stays),
        );
    }
}

fn field(name: &str) -> String {
    name.replace(['\t', '\n', '\r'], " ")
}

/// The games that a list says, of which none is one that stays for another.
fn chosen(args: &Args, base: &dyn Base, list: Lines) -> Result<GameSet, Failure> {
    let names = Names::of(base).map_err(|error| args.list.failed(error))?;
    let (mut games, mut stay) = (GameSet::default(), GameSet::default());
    for line in list {
        let (number, line) = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let [DELETE, game, stays, _, white, black, ..] = fields.as_slice() else {
            continue;
        };
        let wrong = |why| Failure::new(format_args!("line {number} of the list: {why}"));
        let is_game = |id: &u32| (1..=base.last_id()).contains(id);
        let number_of = |field: &str| field.parse().ok().filter(is_game);
        let (Some(game), Some(stays)) = (number_of(game), number_of(stays)) else {
            return Err(wrong("no numbers of two games"));
        };
        let is_listed = |game: &Summary| names.players(game) == [*white, *black];
        let summary = base.summary(GameId(game)).ok().filter(is_listed);
        let summary =
            summary.ok_or_else(|| wrong("the game is another one now; make the list anew"))?;
        stay.add(stays);
        if summary.is_deleted == args.restore {
            games.add(game);
        }
    }
    if let Some(both) = games.from(0).find(|game| stay.contains(*game)) {
        let why = "is to be deleted, and is the one that stays for another";
        return Err(Failure::new(format_args!("game {both} of the list {why}")));
    }
    if games.count() == 0 {
        let why = "the list names no game that is not so already; nothing was changed";
        return Err(Failure::new(why));
    }
    Ok(games)
}
