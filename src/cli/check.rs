//! `cbfs check`: a line for everything that is wrong with a base.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use super::{Failure, book, progress};
use crate::book::walk::DEFAULT_POSITIONS;
use crate::cbh::{self, Database, Family, FileKind};
use crate::game::Defect;

/// The base has defects.
pub(super) const DEFECTS: u8 = 1;

/// It could not be checked.
pub(super) const NOT_CHECKED: u8 = 2;

/// What `cbfs check` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base or book
    source: PathBuf,

    /// Of an opening book: look for positions that no moves lead to if it has
    /// at most so many
    #[arg(long, value_name = "POSITIONS", default_value_t = DEFAULT_POSITIONS)]
    export_limit: u32,
}

/// Says what is wrong with a base, each fact when it is found, and how much
/// that is; unless `quiet`, also if it is nothing.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    if let Some(opened) = book::open(&args.source) {
        return book::check(opened, args.export_limit, quiet);
    }
    let mut out = BufWriter::new(io::stdout());
    let found = match Database::open(&args.source, &cbh::Options::default()) {
        Ok(database) => check(&database, &mut out, quiet)?,
        // Nothing else can be read; but this much is known.
        Err(error @ cbh::Error::Malformed { .. }) => {
            writeln!(out, "{error}").map_err(|error| Failure::output(&error))?;
            1
        }
        Err(error) => return Err(not_checked(&error)),
    };
    out.flush().map_err(|error| Failure::output(&error))?;
    if found > 0 {
        return Err(Failure::quiet(DEFECTS));
    }
    Ok(())
}

/// Checks an open base; gives the number of defects.
fn check(database: &Database, out: &mut impl Write, quiet: bool) -> Result<u64, Failure> {
    let bar = progress::bar(database.last_id(), quiet);
    let family = database.family();
    let mut found: u64 = 0;
    let mut written = Ok(());
    let checked = database.check(&|records| bar.inc(records), &mut |defect| {
        found += 1;
        if written.is_ok() {
            written = bar.suspend(|| write_defect(out, family, &defect));
        }
    });
    bar.finish_and_clear();
    let summary = match found {
        0 => "sound".to_owned(),
        1 => "1 defect".to_owned(),
        many => format!("{many} defects"),
    };
    let output = |error| Failure::output(&error);
    written.map_err(output)?;
    // What was found stands there, though the rest is not known.
    out.flush().map_err(output)?;
    checked.map_err(|error| not_checked(&error))?;
    if !quiet {
        let records = database.last_id();
        let base = family.default_path(FileKind::Headers);
        writeln!(out, "{}: {summary} ({records} records)", base.display()).map_err(output)?;
    }
    Ok(found)
}

fn write_defect(out: &mut impl Write, family: &Family, defect: &Defect) -> io::Result<()> {
    let Defect { file, offset, what } = defect;
    let kind = FileKind::ALL
        .into_iter()
        .find(|kind| kind.extension() == *file);
    let path = family.default_path(kind.unwrap_or(FileKind::Headers));
    writeln!(out, "{} at {offset:#x}: {what}", path.display())?;
    // Between two pictures of the bar, not under one.
    if io::stdout().is_terminal() {
        out.flush()?;
    }
    Ok(())
}

fn not_checked(error: &cbh::Error) -> Failure {
    Failure {
        code: NOT_CHECKED,
        ..Failure::new(error)
    }
}
