//! `cbfs site`: the pages of a base as a folder for a web server.

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use super::chosen::QuerySearch;
use super::options::parse_code_page;
use super::password::PasswordFile;
use super::{Failure, archive, progress, signals};
use crate::cbh::CodePage;
use crate::search::{self, Query};
use crate::views::database::write_site;

/// The arguments of `cbfs site`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = search::TERM_HELP)]
pub(super) struct Args {
    /// Any file of the base, or an archive
    base: PathBuf,

    /// Conditions that the games must all fulfil, such as event:Linares
    /// year:2001; without any, there are pages of all games
    #[arg(value_name = "TERM")]
    terms: Vec<String>,

    /// The folder to make, which must not be there
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,

    /// Code page of names and texts that are not UTF-8, such as 1251 or cp1250;
    /// detected from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,

    #[command(flatten)]
    password: PasswordFile,
}

/// Writes all pages, or none.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let query = Query::parse(&args.terms).map_err(Failure::new)?;
    let base = archive::open_base(&args.base, &args.password, args.codepage)?;
    let (mut games, mut skipped) = (None, 0);
    if !args.terms.is_empty() {
        let of = (base.as_ref(), args.base.as_path());
        let (found, unreadable) = QuerySearch::new(of, &query, false, quiet)?.games()?;
        if found.count() == 0 {
            return Err(Failure::about(
                &args.base,
                "no game fits the terms; nothing was made",
            ));
        }
        (games, skipped) = (Some(found), unreadable);
    }
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let is_ended = signals::flag_on_signal(ending);
    let bar = progress::bar(base.last_id(), quiet);
    let written = write_site(base, games.as_ref(), &args.output, &mut |done| {
        bar.set_position(done.into());
        !is_ended.load(Relaxed)
    });
    bar.finish_and_clear();
    let written = written.map_err(|error| Failure::not_made(&args.output, &error))?;
    if written.unreadable > 0 {
        let count = written.unreadable;
        let what = format_args!("{count} games cannot be read; their pages say why");
        return Err(Failure::about(&args.base, what));
    }
    if skipped > 0 {
        let what = format_args!("{skipped} games cannot be read and were not looked at");
        return Err(Failure::about(&args.base, what));
    }
    Ok(())
}
