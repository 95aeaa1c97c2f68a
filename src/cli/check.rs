//! `cbfs check`: reports the defects of a base, a book or an archive, one line
//! each.

mod report;

use std::path::PathBuf;

use indicatif::ProgressBar;
use serde_json::json;

pub(super) use self::report::{CheckReport, FoundDefect};
use super::password::PasswordFile;
use super::{Failure, archive, book, change, progress, signals};
use crate::archive::{ArchiveMember, has_archive_extension};
use crate::base::{self, AnyFamily, Base, NamedFile, path_of};
use crate::book::walk::DEFAULT_POSITIONS;
use crate::cbh::{self, ChangeError, OpenBase, SaveError};
use crate::cbh2;
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

    /// Print one JSON document: the defects, what was checked, and whether it is
    /// sound
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    password: PasswordFile,
}

/// Checks `args.source`. Prints each defect as it is found, and a summary;
/// `quiet` leaves out the summary.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let mut report = CheckReport::begin(args.json, quiet);
    let checked = check_source(args, &mut report, quiet);
    report.end(checked)
}

fn check_source(args: &Args, report: &mut CheckReport, quiet: bool) -> Result<(), Failure> {
    if let Some(opened) = crate::book::open(&args.source, None) {
        if args.repair {
            let why = "an opening book cannot be repaired; check it without --repair";
            return Err(Failure {
                code: NOT_CHECKED,
                ..Failure::about(&args.source, why)
            });
        }
        return book::check(opened, args.export_limit, report, quiet);
    }
    if has_archive_extension(&args.source) {
        return check_archive(args, report, quiet);
    }
    match open(args, report, quiet)? {
        Ok(base) => check(base.as_ref(), report, quiet),
        // The rest cannot be read, but this defect is known.
        Err(cbh::Error::Malformed { file, offset, what }) => {
            report.malformed(&file, offset, &what);
            Ok(())
        }
        Err(error) => Err(not_checked(error)),
    }
}

/// Checks an archive: all its members, and the base in it.
fn check_archive(args: &Args, report: &mut CheckReport, quiet: bool) -> Result<(), Failure> {
    let not_checked = |failure: Failure| Failure {
        code: NOT_CHECKED,
        ..failure
    };
    if args.repair {
        let why = "an archive is read-only; unpack it with `cbfs unpack` and repair the base";
        return Err(not_checked(Failure::about(&args.source, why)));
    }
    let archive = archive::open(&args.source, &args.password, None).map_err(not_checked)?;
    let bytes = archive.members().iter().map(ArchiveMember::size).sum();
    let bar = progress::bytes_bar(Some(bytes), quiet);
    let progress = &mut |bytes| {
        bar.inc(bytes);
        true
    };
    let examined = archive.examine(progress, &mut |fault| {
        report.defect(
            &bar,
            FoundDefect {
                file: &archive.path().display(),
                offset: fault.offset,
                what: &fault.what,
                is_repaired: false,
            },
        );
    });
    bar.finish_and_clear();
    examined.map_err(|error| not_checked(Failure::about(&args.source, error)))?;
    let is_damaged = report.found() > 0;
    // Defects of the table of contents were reported already.
    let family = AnyFamily::inside(archive.path(), archive.root());
    let opened = family.and_then(|family| family.open(&cbh::Options::default(), Vec::new()));
    let checked = match opened {
        Ok(database) => check(database.as_ref(), report, quiet),
        Err(error) => Err(not_checked(Failure::new(error))),
    };
    checked.map_err(|failure| match failure {
        // The defects of the archive are told, and why the base was not checked.
        failure if is_damaged => Failure {
            code: DEFECTS,
            ..failure
        },
        failure => failure,
    })
}

/// Opens the base for reading, after repairing it if requested.
fn open(
    args: &Args,
    report: &mut CheckReport,
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
        repair(args, report, quiet)?;
    }
    match OpenBase::to_read(&args.source, &options) {
        Ok(base) => Ok(Ok(Box::new(base.database))),
        Err(ChangeError::Save(SaveError::Base(error))) => Ok(Err(error)),
        Err(error) => Err(not_opened(args, error)),
    }
}

/// Checks an open base.
fn check(database: &dyn Base, report: &mut CheckReport, quiet: bool) -> Result<(), Failure> {
    let records = database.last_id();
    let bar = progress::bar(records, quiet);
    let files = database.files();
    let checked = database.check(&|records| bar.inc(records), &mut |defect| {
        tell(report, &bar, (database, &files), &defect, false);
    });
    bar.finish_and_clear();
    checked.map_err(not_checked)?;
    report.sum_up(
        &path_of(&files, "").display(),
        &format_args!("{records} records"),
        vec![("records", json!(records))],
    );
    Ok(())
}

/// Reports a defect of a base.
fn tell(
    report: &mut CheckReport,
    bar: &ProgressBar,
    (base, files): (&dyn Base, &[NamedFile]),
    defect: &Defect,
    is_repaired: bool,
) {
    let Defect { file, offset, what } = defect;
    let is_known = files.iter().any(|of| of.extension == *file);
    let directory = base.location().directory;
    let path = if !is_known && has_archive_extension(directory) {
        directory
    } else {
        path_of(files, file)
    };
    report.defect(
        bar,
        FoundDefect {
            file: &path.display(),
            offset: *offset,
            what,
            is_repaired,
        },
    );
}

/// Repairs the base, and reports each defect that was repaired.
fn repair(args: &Args, report: &mut CheckReport, quiet: bool) -> Result<(), Failure> {
    let failed = |error| not_opened(args, error);
    change::ensure_writable(&args.source).map_err(|failure| Failure {
        code: NOT_CHECKED,
        ..failure
    })?;
    let options = cbh::Options::default();
    let ending = signals::block_unless_ignored().map_err(not_checked)?;
    let base = OpenBase::to_change(&args.source, &options, "cbfs check --repair");
    let base = base.map_err(failed)?;
    change::close_on_signal(ending, &base, &args.source, change::SAME_AGAIN);
    let bar = progress::bar(base.database.last_id(), quiet);
    let files = Base::files(&base.database);
    let repaired = cbh::repair(&base, &|records| bar.inc(records), &mut |defect| {
        tell(report, &bar, (&base.database, &files), &defect, true);
    });
    bar.finish_and_clear();
    let closed = base.store.close().map_err(|error| {
        let why = change::waiting(&error, &args.source);
        not_checked(format_args!("{}: {why}", args.source.display()))
    });
    let repaired = repaired.map_err(|error| not_repaired(args, error));
    match (repaired, closed) {
        (Err(one), Err(other)) => {
            let messages = [one, other].map(|failure| failure.message.unwrap_or_default());
            Err(not_checked(messages.join("; ")))
        }
        (repaired, closed) => closed.and(repaired),
    }
}

/// The failure of a repair of a base whose saves are in its files.
fn not_repaired(args: &Args, error: ChangeError) -> Failure {
    failure_of(args, error, "make room and run the same command again")
}

fn not_opened(args: &Args, error: ChangeError) -> Failure {
    let advice = "nothing is lost: saves that are not in the base yet wait in its journal; make \
                  room and run the same command again";
    failure_of(args, error, advice)
}

/// The failure for an error, with what to do if there is no room.
fn failure_of(args: &Args, error: ChangeError, without_room: &str) -> Failure {
    let is_without_room = error.is_without_room();
    let failure = repair_failure(args, error);
    if !is_without_room {
        return failure;
    }
    let message = failure.message.unwrap_or_default();
    not_checked(format_args!("{message}; {without_room}"))
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
