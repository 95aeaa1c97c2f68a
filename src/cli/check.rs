//! `cbfs check`: reports the defects of a base, a book or an archive, one line
//! each.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use super::password::PasswordFile;
use super::{Failure, archive, book, progress};
use crate::archive::{Member, has_archive_extension};
use crate::base::{self, Base, Family, File, path_of};
use crate::book::walk::DEFAULT_POSITIONS;
use crate::cbh::{self, ChangeError, OpenBase, SaveError};
use crate::cbh2;
use crate::escape::Escaped;
use crate::game::Defect;

/// Exit code: there are defects.
pub(super) const DEFECTS: u8 = 1;

/// Exit code: the check could not be done.
pub(super) const NOT_CHECKED: u8 = 2;

/// Arguments of `cbfs check`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base or book, or an archive
    source: PathBuf,

    /// Of an opening book: look for positions that no moves lead to if it has
    /// at most this many positions
    #[arg(long, value_name = "POSITIONS", default_value_t = DEFAULT_POSITIONS)]
    export_limit: u32,

    /// Repair what can be derived from other data: counts, trees and chains of
    /// names, lengths in headers, data about games in records. Each file is
    /// copied to NAME.before-repair before it is changed
    #[arg(long)]
    repair: bool,

    #[command(flatten)]
    password: PasswordFile,
}

/// Checks `args.source`. Prints each defect as it is found, and a summary;
/// `quiet` leaves out the summary if there are no defects.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    if let Some(opened) = crate::book::open(&args.source, None) {
        if args.repair {
            let why = "an opening book cannot be repaired; check it without --repair";
            return Err(Failure {
                code: NOT_CHECKED,
                ..Failure::about(&args.source, why)
            });
        }
        return book::check(opened, args.export_limit, quiet);
    }
    if has_archive_extension(&args.source) {
        return check_archive(args, quiet);
    }
    let mut out = BufWriter::new(io::stdout());
    let found = match open(args, &mut out, quiet)? {
        Ok(base) => check(base.as_ref(), &mut out, quiet)?,
        // The rest cannot be read, but this defect is known.
        Err(error @ cbh::Error::Malformed { .. }) => {
            writeln!(out, "{}", Escaped(error)).map_err(|error| Failure::output(&error))?;
            1
        }
        Err(error) => return Err(not_checked(error)),
    };
    out.flush().map_err(|error| Failure::output(&error))?;
    if found > 0 {
        return Err(Failure::quiet(DEFECTS));
    }
    Ok(())
}

/// Checks an archive: all its members, and the base in it.
fn check_archive(args: &Args, quiet: bool) -> Result<(), Failure> {
    let not_checked = |failure: Failure| Failure {
        code: NOT_CHECKED,
        ..failure
    };
    if args.repair {
        let why = "an archive is read-only; unpack it with `cbfs unpack` and repair the base";
        return Err(not_checked(Failure::about(&args.source, why)));
    }
    let archive = archive::open(&args.source, &args.password, None).map_err(not_checked)?;
    let bytes = archive.members().iter().map(Member::size).sum();
    let bar = progress::bytes_bar(Some(bytes), quiet);
    let mut out = BufWriter::new(io::stdout());
    let (mut damaged, mut written) = (0_u64, Ok(()));
    let progress = &mut |bytes| {
        bar.inc(bytes);
        true
    };
    let examined = archive.examine(progress, &mut |fault| {
        damaged += 1;
        if written.is_ok() {
            let (path, offset) = (archive.path().display(), fault.offset);
            let line = format_args!("{path} at {offset:#x}: {}", fault.what);
            written = bar.suspend(|| writeln!(out, "{}", Escaped(line)));
        }
    });
    bar.finish_and_clear();
    written
        .and_then(|()| out.flush())
        .map_err(|error| Failure::output(&error))?;
    examined.map_err(|error| not_checked(Failure::about(&args.source, error)))?;
    // Defects of the table of contents were reported already.
    let family = Family::inside(archive.path(), archive.root());
    let opened = family.and_then(|family| family.open(&cbh::Options::default(), Vec::new()));
    let checked = match opened {
        Ok(database) => check(database.as_ref(), &mut out, quiet),
        Err(error) => Err(not_checked(Failure::new(error))),
    };
    match checked {
        // Report the defects of the archive and the reason why the base was not
        // checked.
        Err(failure) if damaged > 0 => Err(Failure {
            code: DEFECTS,
            ..failure
        }),
        Err(failure) => Err(failure),
        Ok(0) if damaged == 0 => Ok(()),
        Ok(_) => Err(Failure::quiet(DEFECTS)),
    }
}

/// Opens the base for reading, after repairing it if requested.
fn open(
    args: &Args,
    out: &mut impl Write,
    quiet: bool,
) -> Result<Result<Box<dyn Base>, cbh::Error>, Failure> {
    let options = cbh::Options::default();
    if cbh2::Family::owns(&args.source) {
        if args.repair {
            let why = "a base in the 2CBH format is read-only; check it without --repair, or make a CBH base of it with `cbfs convert`";
            return Err(not_checked(format_args!(
                "{}: {why}",
                args.source.display()
            )));
        }
        return Ok(base::open(&args.source, &options));
    }
    if args.repair {
        repair(args, out, quiet)?;
    }
    match OpenBase::to_read(&args.source, &options) {
        Ok(base) => Ok(Ok(Box::new(base.database))),
        Err(ChangeError::Save(SaveError::Base(error))) => Ok(Err(error)),
        Err(error) => Err(not_opened(args, error)),
    }
}

/// Checks an open base; returns the number of defects.
fn check(database: &dyn Base, out: &mut impl Write, quiet: bool) -> Result<u64, Failure> {
    let bar = progress::bar(database.last_id(), quiet);
    let files = database.files();
    let mut found: u64 = 0;
    let mut written = Ok(());
    let checked = database.check(&|records| bar.inc(records), &mut |defect| {
        found += 1;
        if written.is_ok() {
            written = bar.suspend(|| write_defect(out, database, &files, &defect));
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
    // Keep the defects that were printed before an error.
    out.flush().map_err(output)?;
    checked.map_err(not_checked)?;
    if !quiet {
        let records = database.last_id();
        let base = path_of(&files, "");
        let line = format_args!("{}: {summary} ({records} records)", base.display());
        writeln!(out, "{}", Escaped(line)).map_err(output)?;
    }
    Ok(found)
}

fn write_defect(
    out: &mut impl Write,
    base: &dyn Base,
    files: &[File],
    defect: &Defect,
) -> io::Result<()> {
    let Defect { file, offset, what } = defect;
    let is_known = files.iter().any(|of| of.extension == *file);
    let directory = base.location().directory;
    let path = if !is_known && has_archive_extension(directory) {
        directory
    } else {
        path_of(files, file)
    };
    let line = format_args!("{} at {offset:#x}: {what}", path.display());
    writeln!(out, "{}", Escaped(line))?;
    // Suspend the progress bar while printing, so that they do not mix.
    if io::stdout().is_terminal() {
        out.flush()?;
    }
    Ok(())
}

/// Repairs the base, and prints each defect that was repaired.
fn repair(args: &Args, out: &mut impl Write, quiet: bool) -> Result<(), Failure> {
    let failed = |error| not_opened(args, error);
    let options = cbh::Options::default();
    let base = OpenBase::to_change(&args.source, &options, "cbfs check --repair");
    let base = base.map_err(failed)?;
    let bar = progress::bar(base.database.last_id(), quiet);
    let files = Base::files(&base.database);
    let mut written = Ok(());
    let repaired = cbh::repair(&base, &|records| bar.inc(records), &mut |defect| {
        if written.is_ok() {
            written = bar.suspend(|| {
                write!(out, "repaired: ")?;
                write_defect(out, &base.database, &files, &defect)
            });
        }
    });
    bar.finish_and_clear();
    let closed = base.store.close().map_err(|error| failed(error.into()));
    repaired.map_err(failed)?;
    closed?;
    written
        .and_then(|()| out.flush())
        .map_err(|error| Failure::output(&error))
}

fn not_opened(args: &Args, error: ChangeError) -> Failure {
    let is_without_room = error.is_without_room();
    let failure = repair_failure(args, error);
    if !is_without_room {
        return failure;
    }
    let message = failure.message.unwrap_or_default();
    not_checked(format_args!(
        "{message}; nothing is lost: saves that are not in the base yet wait in its journal; make \
         room and run the same command again"
    ))
}

fn repair_failure(args: &Args, error: ChangeError) -> Failure {
    match error {
        // This error includes the name of the file.
        ChangeError::Save(SaveError::Base(error)) => not_checked(error),
        error => not_checked(format_args!("{}: {error}", args.source.display())),
    }
}

fn not_checked(error: impl std::fmt::Display) -> Failure {
    Failure {
        code: NOT_CHECKED,
        ..Failure::new(error)
    }
}
