//! `cbfs import`: appends all games of PGN files to a base, or none of them.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use indicatif::ProgressBar;

use super::games::GamesAsPgn;
use super::options::{parse_code_page, parse_text_page};
use super::password::PasswordFile;
use super::{
    Failure, INTERRUPTED, archive, change, print, print_done, progress, receipt, signals, tables,
};
use crate::archive::has_archive_extension;
use crate::base::open_any;
use crate::cbh::{
    self, ChangeError, CodePage, Importer, NewBase, OpenBase, Receipt, SaveError, Unfit,
};
use crate::escape::Escaped;
use crate::import::{
    BadGame, BadText, GamesInput, ImportOptions, ImportStop, Known, Session, Watch, cut_names,
    for_each_text,
};
use crate::pgn::EightBitPage;
use crate::storage::folder_of;
use crate::tables::is_table;

/// Appended to the message of a failed import.
const NOTHING_DONE: &str = "nothing was imported";

/// Number of bad games that are reported without --verbose.
const MOST_WARNINGS: usize = 100;

/// Extensions of files that ChessBase keeps for a PGN file, and for a base.
const SHARED_WITH_PGN: [&str; 3] = ["ini", "cko", "cpo"];

/// Block size for reading.
const READ_BYTES: usize = 1 << 18;

/// Arguments of `cbfs import`.
#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(super) struct Args {
    /// Any file of the base
    base: PathBuf,

    /// PGN files, also packed as .gz, .zst, .bz2 or .zip, archives (.cbv, .cbz)
    /// and folders of Parquet files, all games of which are taken; `-` is standard
    /// input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Create the base, which must not exist
    #[arg(long)]
    create: bool,

    /// Import all other games when some are bad, and write the bad ones to this
    /// file, each after a line with its place and the error
    #[arg(long, value_name = "FILE")]
    skip_bad: Option<PathBuf>,

    /// Change nothing; only report what would be imported and what is wrong
    #[arg(long)]
    dry_run: bool,

    /// Leave out tags that the base has no field for
    #[arg(long)]
    drop_foreign_tags: bool,

    /// Leave out games that the base already has (same players, date, result,
    /// position and moves of the main line; for fewer than ten moves also the same
    /// event and round), and duplicates in the files
    #[arg(long)]
    new_only: bool,

    /// Set the opening code of games without one from their moves
    #[arg(long)]
    eco: bool,

    /// Code page of PGN files that are not UTF-8, such as 1251, cp1250 or, of
    /// DOS, 437 or 850; detected from their games otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_text_page)]
    pgn_codepage: Option<EightBitPage>,

    /// Code page of names and texts in the base that are not UTF-8; detected
    /// from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,

    #[command(flatten)]
    password: PasswordFile,
}

/// Options of a base that is made of one file.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct TextOptions {
    /// Of a PGN file, leave out games that are bad, and write them to this file,
    /// each after a line with its place and what is wrong
    #[arg(long, value_name = "FILE")]
    skip_bad: Option<PathBuf>,

    /// Code page of a PGN file that is not UTF-8, as 1251, cp1250 or, of DOS, 437
    /// or 850; told from its games otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_text_page)]
    pgn_codepage: Option<EightBitPage>,
}

/// Makes the base `new` of all games in a file.
pub(super) fn create(
    file: &Path,
    new: &Path,
    options: &TextOptions,
    drop_foreign_tags: bool,
    origin: String,
    quiet: bool,
) -> Result<(), Failure> {
    let args = Args {
        base: new.to_path_buf(),
        files: vec![file.to_path_buf()],
        create: true,
        skip_bad: options.skip_bad.clone(),
        dry_run: false,
        drop_foreign_tags,
        new_only: false,
        eco: false,
        pgn_codepage: options.pgn_codepage,
        codepage: None,
        password: PasswordFile::default(),
    };
    import(&args, origin, quiet)
}

/// An input file.
struct InputFile {
    name: String,
    input: Box<dyn GamesInput>,
}

/// Imports the files, and prints the numbers of the new games.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let may_be_made = args.create && !args.dry_run;
    let origin = may_be_made.then(|| receipt::origin(args, &args.files));
    let origin = origin.flatten();
    if receipt::completes(&args.base, origin.as_deref(), quiet)? {
        return Ok(());
    }
    import(args, origin.unwrap_or_default(), quiet)
}

/// Imports the files. A base that is created is said to be made of `origin`.
fn import(args: &Args, origin: String, quiet: bool) -> Result<(), Failure> {
    let bar = bar(&args.files, quiet);
    let sources: Vec<InputFile> = (args.files.iter())
        .map(|file| InputFile::open(file, args, &bar))
        .collect::<Result<_, _>>()?;
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let is_ended = signals::flag_on_signal(ending);
    let mut job = ImportJob {
        args,
        bar: &bar,
        is_ended: &is_ended,
        name: String::new(),
        bad: BadGames::new(args)?,
        left_out: 0,
        eco_set: 0,
    };
    let appended = if args.dry_run {
        job.try_out(sources)?
    } else if args.create {
        job.create(sources, origin)?
    } else {
        job.append(&args.base, sources)?
    };
    bar.finish_and_clear();
    let kept = job.bad.finish();
    let summary = summary(&appended, &job, kept.is_ok());
    match (quiet, args.dry_run) {
        (true, _) => {}
        (false, true) => print(summary.as_bytes())?,
        (false, false) => print_done(&summary),
    }
    kept?;
    if job.bad.count > 0 && args.skip_bad.is_none() {
        // The bad games were reported; without --dry-run nothing would be
        // imported.
        return Err(Failure::quiet(1));
    }
    if job.is_in_vain(&appended) {
        let what = if job.bad.count > 0 {
            "none of the games could be imported"
        } else {
            "there is no game in what was to be imported"
        };
        return Err(Failure::new(what));
    }
    Ok(())
}

/// The result of an import, in one or more lines.
fn summary(appended: &Range<u32>, job: &ImportJob<'_>, are_kept: bool) -> String {
    let (bad, args) = (&job.bad, job.args);
    let count = appended.len();
    let ends = args.dry_run && bad.count > 0 && args.skip_bad.is_none();
    let done = match (args.dry_run, ends) {
        (_, true) => "are sound",
        (true, _) => "would be appended",
        _ => "appended",
    };
    let mut summary = match (appended.start, appended.end.saturating_sub(1)) {
        _ if count == 0 => format!("0 games {done}\n"),
        _ if ends && count == 1 => "1 game is sound\n".to_owned(),
        _ if ends => format!("{count} games {done}\n"),
        (first, _) if count == 1 => format!("1 game {done} as {first}\n"),
        (first, last) => format!("{count} games {done} as {first}\u{2013}{last}\n"),
    };
    let games = |count: usize| if count == 1 { "game" } else { "games" };
    if job.left_out > 0 {
        let what = games(job.left_out);
        let _ = writeln!(summary, "{} known {what} left out", job.left_out);
    }
    if job.eco_set > 0 {
        let what = games(job.eco_set);
        let _ = writeln!(summary, "{} {what} given an opening code", job.eco_set);
    }
    if bad.count > 0 {
        let games = if bad.count == 1 { "game" } else { "games" };
        let _ = match &args.skip_bad {
            Some(file) if !args.dry_run && are_kept => writeln!(
                summary,
                "{} bad {games} written to {}",
                bad.count,
                Escaped(file.display())
            ),
            _ => writeln!(summary, "{} bad {games}", bad.count),
        };
    }
    if ends {
        summary.push_str("nothing would be imported; --skip-bad would leave out the bad games\n");
    }
    summary
}

/// The file for bad games.
struct BadGames {
    /// The temporary file, and the path that it gets at the end.
    file: Option<(tempfile::NamedTempFile, PathBuf)>,
    /// Whether a bad game ends the import.
    is_fatal: bool,
    count: usize,
}

impl BadGames {
    fn new(args: &Args) -> Result<BadGames, Failure> {
        let file = args.skip_bad.as_ref().filter(|_| !args.dry_run);
        let file = file.map(|file| {
            BadGames::check(file, args)?;
            let mode = fs::Permissions::from_mode(0o666);
            let mut builder = tempfile::Builder::new();
            let made = builder
                .prefix(".cbfs-bad-")
                .permissions(mode)
                .tempfile_in(folder_of(file));
            let made = made.map_err(|error| Failure::about(file, error))?;
            Ok((made, file.clone()))
        });
        Ok(BadGames {
            file: file.transpose()?,
            is_fatal: args.skip_bad.is_none() && !args.dry_run,
            count: 0,
        })
    }

    /// Checks that the file does not exist, and that it is not one of the files
    /// that the import creates.
    fn check(file: &Path, args: &Args) -> Result<(), Failure> {
        if fs::symlink_metadata(file).is_ok() {
            let why = "exists already; bad games need a new file";
            return Err(Failure::about(file, why));
        }
        let named = fs::canonicalize(&args.base);
        let bases = [Some(&args.base), named.as_ref().ok()];
        let mut bases = bases.into_iter().flatten();
        if bases.any(|base| cbh::Family::is_file_of(base, file) || is_hidden_of(base, file)) {
            return Err(Failure::about(file, "this is a file of the base"));
        }
        Ok(())
    }

    /// Moves the file with the bad games to its final path. The good games are
    /// in the base already.
    fn finish(&mut self) -> Result<(), Failure> {
        let Some((temporary, file)) = self.file.take() else {
            return Ok(());
        };
        let synced = temporary.as_file().sync_all();
        let failed = match synced {
            Ok(()) => match temporary.persist_noclobber(&file) {
                Ok(_) => return Ok(()),
                Err(failed) => failed,
            },
            Err(error) => tempfile::PersistError {
                error,
                file: temporary,
            },
        };
        let (_, kept) = failed.file.keep().map_err(Failure::new)?;
        let (file, why, kept) = (file.display(), failed.error, kept.display());
        Err(Failure::new(format!(
            "{file}: {why}; the other games are imported, the bad ones are in {kept}"
        )))
    }
}

/// Returns whether a file has the name of the journal of a base, or a similar
/// one.
fn is_hidden_of(base: &Path, file: &Path) -> bool {
    let lower = |name: Option<&OsStr>| name.unwrap_or_default().to_string_lossy().to_lowercase();
    let hidden = format!(".{}.cbfs-", lower(base.file_stem()));
    lower(file.file_name()).starts_with(&hidden)
}

/// A running import.
struct ImportJob<'a> {
    args: &'a Args,
    bar: &'a ProgressBar,
    is_ended: &'a AtomicBool,
    /// The text that is read.
    name: String,
    bad: BadGames,
    /// Number of games that were left out because they are known.
    left_out: usize,
    /// Number of games whose opening code was set.
    eco_set: usize,
}

impl Watch for ImportJob<'_> {
    fn appended(&mut self, appended: &cbh::Appended) {
        log(appended);
    }

    fn bad(&mut self, bad: BadGame, text: BadText<'_>) -> Result<(), ImportStop> {
        if self.bad.is_fatal {
            return Err(ImportStop::Bad(bad));
        }
        self.bad.count += 1;
        let place = format!("{}:{}:{}", self.name, bad.line, bad.column);
        if self.bad.count <= MOST_WARNINGS {
            log::warn!("{place}: {bad}; not imported");
        } else {
            log::info!("{place}: {bad}; not imported");
        }
        if let Some((file, _)) = &mut self.bad.file {
            text.write(file, &place, &bad)?;
        }
        Ok(())
    }

    fn more_of_bad(&mut self, text: BadText<'_>) -> Result<(), ImportStop> {
        if let Some((file, _)) = &mut self.bad.file {
            text.write_more(file)?;
        }
        Ok(())
    }
}

impl ImportJob<'_> {
    fn options(&self) -> cbh::Options {
        cbh::Options {
            code_page: self.args.codepage,
        }
    }

    /// Returns whether bad games were to be left out, and there are no others.
    fn is_in_vain(&self, appended: &Range<u32>) -> bool {
        self.args.skip_bad.is_some() && appended.is_empty() && self.left_out == 0
    }

    /// Creates the base with all games in it.
    fn create(&mut self, sources: Vec<InputFile>, origin: String) -> Result<Range<u32>, Failure> {
        let Args { base, files, .. } = self.args;
        let new_base = NewBase::begin_beside(base, files, &SHARED_WITH_PGN);
        let new_base = new_base.map_err(Failure::new)?;
        new_base
            .make_empty(SystemTime::now())
            .map_err(Failure::new)?;
        let appended = self.append_with(&new_base.path(), self.options(), None, sources)?;
        // A base without games is not what was asked for.
        if !self.is_in_vain(&appended) {
            let receipt = Receipt {
                origin,
                ..Receipt::default()
            };
            new_base.finish_with(&receipt).map_err(Failure::new)?;
        }
        Ok(appended)
    }

    /// Imports into a temporary base that is deleted afterwards. Returns the
    /// numbers that the games would have.
    fn try_out(&mut self, sources: Vec<InputFile>) -> Result<Range<u32>, Failure> {
        let folder = tempfile::tempdir().map_err(Failure::new)?;
        let new_base = NewBase::begin(&folder.path().join("dry-run.cbh")).map_err(Failure::new)?;
        new_base
            .make_empty(SystemTime::now())
            .map_err(Failure::new)?;
        let mut options = self.options();
        let mut last = 0;
        let mut real = None;
        if self.args.create {
            let Args { base, files, .. } = self.args;
            let unused = NewBase::ensure_unused(base, files, &SHARED_WITH_PGN);
            unused.map_err(Failure::new)?;
        } else {
            let base = OpenBase::to_read(&self.args.base, &options);
            let base = base.map_err(|error| self.failed(&self.args.base, error))?;
            options.code_page = Some(base.database.code_page());
            last = base.database.last_id();
            real = Some(base);
        }
        let real = real.as_ref().map(|base| &base.database);
        let appended = self.append_with(&new_base.path(), options, real, sources)?;
        Ok(appended.start + last..appended.end + last)
    }

    /// Appends to the base at `path`.
    fn append(&mut self, path: &Path, sources: Vec<InputFile>) -> Result<Range<u32>, Failure> {
        self.append_with(path, self.options(), None, sources)
    }

    fn append_with(
        &mut self,
        path: &Path,
        options: cbh::Options,
        // The base with the known games, if it is another one.
        real: Option<&cbh::Database>,
        sources: Vec<InputFile>,
    ) -> Result<Range<u32>, Failure> {
        change::ensure_writable(path)?;
        let base = OpenBase::to_change(path, &options, "cbfs import");
        let base = base.map_err(|error| self.failed(path, error))?;
        let appended = self.append_all(&base, real, sources);
        let closed = base.store.close();
        let appended = appended?;
        match closed {
            Err(error) if path == self.args.base && !appended.is_empty() => {
                let mut waiting = self.waiting(&appended, &error);
                if let Err(failure) = self.bad.finish()
                    && let (Some(what), Some(more)) = (&mut waiting.message, failure.message)
                {
                    *what = format!("{what}; {more}");
                }
                Err(waiting)
            }
            closed => {
                closed.map_err(|error| self.failed(path, error.into()))?;
                Ok(appended)
            }
        }
    }

    fn append_all(
        &mut self,
        base: &OpenBase,
        real: Option<&cbh::Database>,
        sources: Vec<InputFile>,
    ) -> Result<Range<u32>, Failure> {
        let importer = Importer::new(&base.database, &base.store, SystemTime::now());
        let wishes = ImportOptions {
            drops_foreign_tags: self.args.drop_foreign_tags,
            sets_eco: self.args.eco,
            page: self.args.pgn_codepage,
        };
        let mut session = Session::new(importer, wishes, self.is_ended);
        if self.args.new_only {
            let known = Known::new(Some(real.unwrap_or(&base.database)));
            session = session.without(known.map_err(|stop| self.stopped(stop))?);
        }
        for source in sources {
            self.bar.set_message(Escaped(&source.name).to_string());
            self.read_all(source, &mut session)?;
        }
        (self.left_out, self.eco_set) = (session.left_out(), session.eco_set());
        let imported = session.commit();
        let imported = imported.map_err(|error| self.failed(&self.args.base, error))?;
        for line in cut_names(&imported.unfit) {
            log::warn!("{line}");
        }
        Ok(imported.games)
    }

    /// Appends the games of all texts in a file.
    fn read_all(&mut self, source: InputFile, session: &mut Session<'_>) -> Result<(), Failure> {
        let InputFile { name, mut input } = source;
        self.name.clone_from(&name);
        let read = for_each_text(Path::new(&name), &mut *input, &mut |text| {
            self.name = match &text.member {
                Some(member) => format!("{name}: {member}"),
                None => name.clone(),
            };
            for summary in session.read(text, self)? {
                log::warn!(
                    "{}:{}:{}: {}",
                    self.name,
                    summary.line,
                    summary.column,
                    summary.what
                );
            }
            Ok::<(), ImportStop>(())
        });
        read.map_err(|stop| self.stopped(stop))
    }

    /// The error for games that are in the journal but could not be written to
    /// the files of the base.
    fn waiting(&self, games: &Range<u32>, error: &dyn std::fmt::Display) -> Failure {
        let count = games.len();
        let base = self.args.base.display();
        let what = format!(
            "{error}; nothing is lost: {count} games are saved and wait in the journal of the base; \
             do not import them again, but run `cbfs check --repair {base}` when this is solved"
        );
        Failure::about(&self.args.base, what)
    }

    /// The error for a base that cannot be changed.
    fn failed(&self, path: &Path, error: ChangeError) -> Failure {
        match error {
            ChangeError::Save(SaveError::Base(error @ cbh::Error::Missing { .. }))
                if NewBase::is_free(path) =>
            {
                Failure::new(format_args!("{error}; --create makes a new base"))
            }
            // This error includes the name of the file.
            ChangeError::Save(error @ SaveError::Base(_)) => Failure::new(error),
            error => Failure::about(&self.args.base, error),
        }
    }

    /// The error for an import that was stopped.
    fn stopped(&self, stop: ImportStop) -> Failure {
        let name = &self.name;
        match stop {
            ImportStop::Bad(bad) => {
                let (line, column) = (bad.line, bad.column);
                Failure::new(format_args!(
                    "{name}:{line}:{column}: {bad}; {NOTHING_DONE}"
                ))
            }
            ImportStop::Medium(error) => {
                Failure::new(format_args!("{name}: {error}; {NOTHING_DONE}"))
            }
            ImportStop::Base(error) => {
                let failure = self.failed(&self.args.base, error);
                let message = failure.message.unwrap_or_default();
                Failure::new(format_args!("{message}; {NOTHING_DONE}"))
            }
            ImportStop::Interrupted => Failure {
                code: INTERRUPTED,
                ..Failure::new(format_args!("interrupted; {NOTHING_DONE}"))
            },
        }
    }
}

/// Logs, for --verbose, what of a game is not stored as it stands in the text. A
/// summary of each text is logged separately.
fn log(appended: &cbh::Appended) {
    let id = appended.id.0;
    for unfit in &appended.unfit {
        let Unfit {
            field,
            stored,
            whole,
        } = unfit;
        log::info!("game {id}: {field} {whole:?} is stored as {stored:?}");
    }
    for kept in &appended.kept {
        log::info!(
            "game {id}: {} stays {:?}, not {:?}",
            kept.field,
            kept.stored,
            kept.whole
        );
    }
}

impl InputFile {
    fn open(file: &Path, args: &Args, bar: &ProgressBar) -> Result<InputFile, Failure> {
        if file == Path::new("-") {
            return Ok(InputFile {
                name: "standard input".to_owned(),
                input: buffered(bar.wrap_read(Pipe(io::stdin()))),
            });
        }
        if has_archive_extension(file) {
            return InputFile::of_archive(file, args);
        }
        if is_table(file) {
            return InputFile::of_table(file, bar);
        }
        let opened = File::open(file).map_err(|error| Failure::about(file, error))?;
        Ok(InputFile {
            name: file.display().to_string(),
            input: buffered(bar.wrap_read(opened)),
        })
    }

    /// The games of a folder of tables, or of one of its files.
    fn of_table(file: &Path, bar: &ProgressBar) -> Result<InputFile, Failure> {
        Ok(InputFile {
            name: file.display().to_string(),
            input: buffered(Pipe(tables::read(file, bar)?)),
        })
    }

    /// The games of the base in an archive.
    fn of_archive(file: &Path, args: &Args) -> Result<InputFile, Failure> {
        // The code page option applies to the base that is imported into.
        let archives = archive::options(file, &args.password, None)?;
        let database = open_any(file, &cbh::Options::default(), &archives).map_err(Failure::new)?;
        let mut texts = Vec::new();
        database.texts(&mut texts).map_err(Failure::new)?;
        if !texts.is_empty() {
            let count = texts.len();
            log::warn!(
                "{}: guiding texts are not imported: {count}",
                file.display()
            );
        }
        Ok(InputFile {
            name: file.display().to_string(),
            input: buffered(Pipe(GamesAsPgn::of(database))),
        })
    }
}

fn buffered(reader: impl Read + Seek + Send + 'static) -> Box<dyn GamesInput> {
    Box::new(BufReader::with_capacity(READ_BYTES, reader))
}

/// An input that can be read only once, from its start.
struct Pipe<R>(R);

impl<R: Read> Read for Pipe<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl<R> Seek for Pipe<R> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::NotSeekable.into())
    }
}

/// Progress bar over the bytes of all files; without a length if one is a pipe.
fn bar(files: &[PathBuf], quiet: bool) -> ProgressBar {
    let len = |file: &PathBuf| {
        let metadata = file.metadata().ok()?;
        metadata.is_file().then_some(metadata.len())
    };
    progress::bytes_bar(files.iter().map(len).sum(), quiet)
}
