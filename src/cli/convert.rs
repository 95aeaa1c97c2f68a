//! `cbfs convert`: a new CBH base of another kind of base.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use super::import::{self, TextOptions};
use super::options::parse_code_page;
use super::password::PasswordFile;
use super::{Failure, INTERRUPTED, archive, print_done, progress, receipt, signals};
use crate::archive::{Archive, ArchiveMember, has_archive_extension};
use crate::base::{AnyFamily, Conversion, ConvertStop, Converted, Copied, copy_archived};
use crate::cbh::{self, ChangeError, CodePage, NewBase};
use crate::cbh2;
use crate::escape::Escaped;

/// What follows each reason.
const NOTHING_MADE: &str = "nothing was made";

/// What `cbfs convert` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of a 2CBH base, an archive (.cbv, .cbz), or a PGN file, also
    /// packed; `-` is PGN from standard input
    source: PathBuf,

    /// The `.cbh` of the new base, which must not be there
    new: PathBuf,

    /// Leave out tags that the new base has no field for
    #[arg(long)]
    drop_foreign_tags: bool,

    /// Code page of names and texts in a 2CBH base that are not UTF-8; told from
    /// the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,

    #[command(flatten)]
    texts: TextOptions,

    #[command(flatten)]
    password: PasswordFile,
}

/// Converts, and says what it came to and what is lost.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    if let Some(failure) = refused(&args.source) {
        return Err(failure);
    }
    let origin = receipt::origin(args, std::slice::from_ref(&args.source));
    if receipt::completes(&args.new, origin.as_deref(), quiet)? {
        return Ok(());
    }
    let origin = origin.unwrap_or_default();
    if has_archive_extension(&args.source) {
        let opened = archive::open(&args.source, &args.password, args.codepage)?;
        let family = AnyFamily::inside(opened.path(), opened.root()).map_err(Failure::new)?;
        return match family {
            AnyFamily::Older(family) => {
                let headers = family.default_path(cbh::FileKind::Headers);
                copy(args, &opened, &headers, origin, quiet)
            }
            AnyFamily::Newer(family) => convert(args, *family, origin, quiet),
        };
    }
    if cbh2::Family::owns(&args.source) {
        let family = cbh2::Family::locate(&args.source).map_err(Failure::new)?;
        return convert(args, family, origin, quiet);
    }
    let drops = args.drop_foreign_tags;
    import::create(&args.source, &args.new, &args.texts, drops, origin, quiet)
}

/// Why a source is not converted, with advice; `None` if it may be.
fn refused(source: &Path) -> Option<Failure> {
    let about = |why| Some(Failure::about(source, why));
    if source.is_dir() {
        return about("a directory; name a base in it");
    }
    if crate::book::belongs_to_book(source) {
        return about("an opening book, which has no games to be converted");
    }
    if !cbh::Family::is_file_of(source, source) {
        return None;
    }
    match cbh::Family::locate(source) {
        Ok(_) => about(
            "a CBH base already; `cbfs compact` makes a tidy copy of it, and `cp` one with all its files",
        ),
        Err(error) => Some(Failure::new(error)),
    }
}

/// Copies the files of the CBH base in an archive.
fn copy(
    args: &Args,
    source: &Arc<Archive>,
    headers: &Path,
    origin: String,
    quiet: bool,
) -> Result<(), Failure> {
    // A member that is left out may be one of the base.
    if let Some(fault) = source.faults().next() {
        let what = format!(
            "{}; {NOTHING_MADE}; `cbfs unpack --skip-damaged` takes out what is whole",
            fault.what
        );
        return Err(Failure::about(&args.source, what));
    }
    let new_base = NewBase::begin(&args.new).map_err(Failure::new)?;
    let is_ended = is_ended()?;
    let bytes = source.members().iter().map(ArchiveMember::size).sum();
    let bar = progress::bytes_bar(Some(bytes), quiet);
    let copied = copy_archived(source, headers, &new_base, &mut |bytes| {
        bar.inc(bytes);
        !is_ended.load(Relaxed)
    });
    bar.finish_and_clear();
    let Copied { files, left_out } = copied.map_err(|error| match &error {
        cbh::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::Interrupted => {
            interrupted()
        }
        error => Failure::new(format_args!("{error}; {NOTHING_MADE}")),
    })?;
    let source = args.source.display();
    let count = left_out.len();
    let lines = left_out.first().map(|first| {
        format!("{source}: file that is no part of the base, left out: {count}, first {first}")
    });
    let made = new_base.make_as_private(&args.source);
    made.map_err(Failure::new)?;
    receipt::finish(new_base, origin, 0, lines.into_iter().collect())?;
    if quiet {
        return Ok(());
    }
    let new = Escaped(args.new.display());
    print_done(&format!(
        "{files} files of the base copied to {new}, byte for byte\n"
    ));
    Ok(())
}

/// Converts a 2CBH base.
fn convert(args: &Args, family: cbh2::Family, origin: String, quiet: bool) -> Result<(), Failure> {
    let options = cbh::Options {
        code_page: args.codepage,
    };
    let base = cbh2::Database::open_family(family, &options).map_err(Failure::new)?;
    let source = (base.family().tree().is_none())
        .then(|| base.family().default_path(cbh2::FileKind::Headers));
    let source: Vec<PathBuf> = source.into_iter().collect();
    let new_base = NewBase::begin_beside(&args.new, &source, &cbh2::SHARED_EXTENSIONS);
    let new_base = new_base.map_err(Failure::new)?;
    let is_ended = is_ended()?;
    let bar = progress::bar(base.last_id(), quiet);
    let conversion = Conversion {
        drops_foreign_tags: args.drop_foreign_tags,
        progress: &|records| bar.inc(records),
        is_interrupted: &is_ended,
    };
    let converted = conversion.run(&base, &new_base);
    bar.finish_and_clear();
    let Converted {
        games,
        texts,
        losses,
        left_out,
    } = converted.map_err(|stop| stopped(args, stop))?;
    let named = args.source.display();
    let defects = base.defects();
    let defects = defects.iter().map(|defect| format!("{named}: {defect}"));
    let left_out = left_out.iter();
    let left_out = left_out.map(|(path, kind)| format!("{}: {kind}, not copied", path.display()));
    let lost = losses.lines().map(|line| format!("{named}: {line}"));
    let lines = defects.chain(left_out).chain(lost).collect();
    let code = u8::from(losses.has_content() || base.lacks_remarks());
    // The name that was given may have other letter case; an archive has its own.
    let made_of = source.first().unwrap_or(&args.source);
    let made = new_base.make_as_private(made_of);
    made.map_err(Failure::new)?;
    receipt::finish(new_base, origin, code, lines)?;
    if !quiet {
        let new = Escaped(args.new.display());
        print_done(&format!(
            "{games} games and {texts} texts converted to {new}\n"
        ));
    }
    if code != 0 {
        return Err(Failure::quiet(code));
    }
    Ok(())
}

fn is_ended() -> Result<Arc<AtomicBool>, Failure> {
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    Ok(signals::flag_on_signal(ending))
}

fn interrupted() -> Failure {
    Failure {
        code: INTERRUPTED,
        ..Failure::new(format_args!("interrupted; {NOTHING_MADE}"))
    }
}

fn stopped(args: &Args, stop: ConvertStop) -> Failure {
    match stop {
        ConvertStop::Interrupted => interrupted(),
        // Such an error names the file by itself.
        ConvertStop::Base(ChangeError::Save(error @ cbh::SaveError::Base(_))) => {
            Failure::new(format_args!("{error}; {NOTHING_MADE}"))
        }
        ConvertStop::Base(error) => {
            Failure::about(&args.new, format_args!("{error}; {NOTHING_MADE}"))
        }
    }
}
