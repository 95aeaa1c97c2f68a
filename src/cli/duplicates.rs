//! `cbfs duplicates`: lists games that are there twice, to be reviewed, and marks as
//! deleted what the list says.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::change::{self, Consent};
use super::names::read_list;
use super::options::parse_code_page;
use super::password::PasswordFile;
use super::{Failure, archive, progress};
use crate::base::{Base, Sameness, Twins, twins};
use crate::cbh::{CodePage, EntityKind, EntityNames, GameId, Summary};

/// The columns of the list.
const COLUMNS: &str = "action\tgame\tstays\twhy\twhite\tblack\tdate\tresult\tevent\tevent_of_stays";

/// Value of the first column: mark this game as deleted.
const DELETE: &str = "delete";

/// The arguments of `cbfs duplicates`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base, or an archive
    base: PathBuf,

    /// Mark the games as deleted whose lines in this list begin with `delete`; `-` is
    /// standard input
    #[arg(long, value_name = "LIST")]
    apply: Option<PathBuf>,

    /// Take back what --apply did with the list
    #[arg(long, requires = "apply")]
    restore: bool,

    #[command(flatten)]
    consent: Consent,

    /// Code page of names and texts that are not UTF-8, such as 1251 or cp1250;
    /// detected from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,

    #[command(flatten)]
    password: PasswordFile,
}

/// Prints the list, or applies one.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    if let Some(list) = &args.apply {
        let list = read_list(list, COLUMNS)?;
        let base = change::open(&args.base, args.codepage, "cbfs duplicates")?;
        let games = chosen(args, &base.database, &list);
        return change::mark(
            (base, &args.base),
            games,
            args.restore,
            &args.consent,
            quiet,
        );
    }
    let base = archive::open_base(&args.base, &args.password, args.codepage)?;
    let base = base.as_ref();
    let about = |error| Failure::about(&args.base, error);
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
fn chosen(args: &Args, base: &dyn Base, list: &[(usize, String)]) -> Result<Vec<GameId>, Failure> {
    let names = Names::of(base).map_err(|error| Failure::about(&args.base, error))?;
    let (mut games, mut stay) = (BTreeSet::new(), HashSet::new());
    for (number, line) in list {
        let fields: Vec<&str> = line.split('\t').collect();
        let [DELETE, game, stays, _, white, black, ..] = fields.as_slice() else {
            continue;
        };
        let wrong = |why| Failure::new(format_args!("line {number} of the list: {why}"));
        let numbers = (game.parse().map(GameId), stays.parse().map(GameId));
        let (Ok(game), Ok(stays)) = numbers else {
            return Err(wrong("no numbers of two games"));
        };
        let is_listed = |game: &Summary| names.players(game) == [*white, *black];
        let summary = base.summary(game).ok().filter(is_listed);
        let summary =
            summary.ok_or_else(|| wrong("the game is another one now; make the list anew"))?;
        stay.insert(stays);
        if summary.is_deleted == args.restore {
            games.insert(game);
        }
    }
    if let Some(both) = games.iter().find(|game| stay.contains(game)) {
        let why = "is to be deleted, and is the one that stays for another";
        return Err(Failure::new(format_args!(
            "game {} of the list {why}",
            both.0
        )));
    }
    if games.is_empty() {
        let why = "the list names no game that is not so already; nothing was changed";
        return Err(Failure::new(why));
    }
    Ok(games.into_iter().collect())
}
