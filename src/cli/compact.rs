//! `cbfs compact`: copies a base without its unused parts.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use super::{Failure, change, print_done, progress, receipt, signals};
use crate::cbh::{self, ChangeError, Compacted, Family, NewBase, OpenBase};
use crate::storage::{is_same_stem, names_in, split_name};

/// Arguments of `cbfs compact`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base
    base: PathBuf,

    /// The `.cbh` of the copy, which must not exist
    new: PathBuf,
}

/// Error for a base that cannot be opened. An unusable journal may contain
/// saves; without them no copy is made.
fn not_opened(args: &Args, error: ChangeError) -> Failure {
    if !error.is_of_journal() {
        return change::failed(&args.base, error);
    }
    let base = args.base.display();
    let advice = format!(
        "{error}; no copy is made without its saves: bring them into the base with `cbfs check \
         --repair {base}`, or move the journal away, then copy again"
    );
    Failure::about(&args.base, advice)
}

/// Error for a copy that was not made.
fn not_copied(args: &Args, error: ChangeError) -> Failure {
    if error.is_without_room() {
        return Failure::about(&args.new, "there is no room for the copy; none was made");
    }
    if error.is_of_other_process() {
        let why = "the base was changed while it was copied; no copy was made; try again when \
                   no program saves into it";
        return Failure::about(&args.base, why);
    }
    if error.io_kind() == Some(ErrorKind::Interrupted) {
        return Failure::not_made(&args.new, &ErrorKind::Interrupted.into());
    }
    change::failed(&args.base, error)
}

/// The sources of a copy: all that has the name of the base, and the journal with saves
/// that are not in its files yet.
fn sources(base: &Path) -> Option<Vec<PathBuf>> {
    let family = Family::locate(base).ok()?;
    let (stem, journal) = (split_name(base).0, family.journal());
    let is_of_base =
        |name: &OsString| is_same_stem(&split_name(Path::new(name)).0, &stem) || *name == journal;
    let mut names = names_in(family.directory()).ok()?;
    names.retain(is_of_base);
    names.sort_unstable();
    let paths = names.iter().map(|name| family.directory().join(name));
    Some(paths.collect())
}

/// The warnings about a copy.
fn warnings(args: &Args, done: &Compacted) -> Vec<String> {
    let left_out = done.left_out.iter();
    let left_out = left_out.map(|(path, kind)| format!("{}: {kind}, not copied", path.display()));
    let mut lines: Vec<String> = left_out.collect();
    if done.cut > 0 {
        let (base, count) = (args.base.display(), done.cut);
        lines.push(format!(
            "{base}: the moves or remarks of games are cut off in {count} places, and so they are in \
             the copy; `cbfs check {base}` names them"
        ));
    }
    if let Some(page) = done.untold_page {
        let (copy, page) = (args.new.display(), page.name());
        lines.push(format!(
            "{copy}: nothing in the copy tells that names are in {page}: open it with --codepage {page}"
        ));
    }
    lines
}

/// Makes the copy, completely or not at all, and prints a summary.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    if crate::book::open(&args.base, None).is_some() {
        let why = "an opening book, which is read-only and has nothing to be compacted";
        return Err(Failure::about(&args.base, why));
    }
    let sources = sources(&args.base);
    let origin = sources.and_then(|sources| receipt::origin(args, &sources));
    if receipt::completes(&args.new, origin.as_deref(), quiet)? {
        return Ok(());
    }
    let options = cbh::Options::default();
    let base = OpenBase::to_copy(&args.base, &options);
    let base = base.map_err(|error| not_opened(args, error))?;
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let is_ended = signals::flag_on_signal(ending);
    let new_base = NewBase::begin(&args.new).map_err(Failure::new)?;
    let bar = progress::bar(base.database.last_id(), quiet);
    let done = cbh::compact(&base, &new_base, &|records| {
        bar.inc(records);
        !is_ended.load(Relaxed)
    });
    let done = done.map_err(|error| not_copied(args, error))?;
    if is_ended.load(Relaxed) {
        return Err(Failure::not_made(&args.new, &ErrorKind::Interrupted.into()));
    }
    bar.finish_and_clear();
    receipt::finish(
        new_base,
        origin.unwrap_or_default(),
        0,
        warnings(args, &done),
    )?;
    if quiet {
        return Ok(());
    }
    let Compacted {
        kept,
        dropped,
        unused,
        bytes: [before, after],
        cut: _,
        left_out: _,
        untold_page: _,
    } = done;
    print_done(&format!(
        "{kept} games and texts copied, {dropped} left out, {unused} unused names left out; \
         {before} bytes before, {after} after\n"
    ));
    Ok(())
}
