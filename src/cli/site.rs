//! `cbfs site`: the pages of a base as a folder for a web server.

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use super::password::PasswordFile;
use super::{Failure, archive, progress, signals};
use crate::archive::{Options, has_archive_extension};
use crate::base::open_any;
use crate::cbh;
use crate::views::database::write_site;

/// The arguments of `cbfs site`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base, or an archive
    base: PathBuf,

    /// The folder to make, which must not be there
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,

    #[command(flatten)]
    password: PasswordFile,
}

/// Writes all pages, or none.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let archives = if has_archive_extension(&args.base) {
        archive::options(&args.base, &args.password, None)?
    } else {
        Options::default()
    };
    let base = open_any(&args.base, &cbh::Options::default(), &archives).map_err(Failure::new)?;
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let is_ended = signals::flag_on_signal(ending);
    let bar = progress::bar(base.last_id(), quiet);
    let written = write_site(base, &args.output, &mut |done| {
        bar.set_position(done.into());
        !is_ended.load(Relaxed)
    });
    bar.finish_and_clear();
    written.map_err(|error| Failure::about(&args.output, format!("{error}; nothing was made")))?;
    Ok(())
}
