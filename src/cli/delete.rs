//! `cbfs delete`: marks the games that fit terms as deleted.

use std::path::PathBuf;

use super::Failure;
use super::change::{self, Consent, SAME_AGAIN};
use super::chosen::QuerySearch;
use super::options::parse_code_page;
use crate::base::Base;
use crate::cbh::{CodePage, OpenBase};
use crate::search::{self, GameSet, Query};

/// The arguments of `cbfs delete`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = search::TERM_HELP)]
pub(super) struct Args {
    /// Any file of the base
    base: PathBuf,

    /// Conditions that the games must all fulfil, as of `cbfs find`, such as
    /// number:17 or player:Svensson year:-1990
    #[arg(value_name = "TERM", required = true)]
    terms: Vec<String>,

    /// Take back the deletion of the games that fit
    #[arg(long)]
    restore: bool,

    #[command(flatten)]
    consent: Consent,

    /// Code page of names and texts that are not UTF-8, such as 1251 or cp1250;
    /// detected from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,
}

/// Marks games, once the user agrees.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let mut terms = args.terms.clone();
    if args.restore {
        terms.push("in:deleted".to_owned());
    }
    let query = Query::parse(&terms).map_err(Failure::new)?;
    let base = change::open(
        &args.base,
        args.codepage,
        &args.consent,
        ("cbfs delete", SAME_AGAIN),
    )?;
    let games = choose(args, &base, &query, quiet);
    change::mark(
        (base, &args.base),
        games,
        args.restore,
        &args.consent,
        quiet,
    )
}

/// The games that are meant.
fn choose(args: &Args, base: &OpenBase, query: &Query, quiet: bool) -> Result<GameSet, Failure> {
    let database: &dyn Base = &base.database;
    let search = QuerySearch::new((database, &args.base), query, false, quiet)?;
    let (found, unreadable) = search.games()?;
    if unreadable > 0 {
        return Err(Failure::about(
            &args.base,
            format_args!("{unreadable} games cannot be read, so nothing was changed"),
        ));
    }
    let mut games = GameSet::default();
    let all = 1..database.last_id().saturating_add(1);
    let told = database.for_each_summary(all, false, &mut |game| {
        if game.is_deleted == args.restore && found.contains(game.id.0) {
            games.add(game.id.0);
        }
    });
    told.map_err(|error| Failure::about(&args.base, error))?;
    if games.count() == 0 {
        let why = "no game fits; nothing was changed";
        return Err(Failure::about(&args.base, why));
    }
    Ok(games)
}
