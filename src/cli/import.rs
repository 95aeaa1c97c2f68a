//! `cbfs import`: all games of some PGN files are appended to a base, or none.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::SystemTime;

use indicatif::ProgressBar;

use super::options::parse_code_page;
use super::{Failure, print, progress, signals};
use crate::cbh::{
    self, ChangeError, CodePage, Importer, OpenBase, PreparedGame, SaveError, Unfit, Workshop,
};
use crate::escape::Escaped;
use crate::import::{Input, Text, for_each_text};
use crate::pgn::{self, Prepared, StreamError};

/// As the shell tells of a program that a signal ended: SIGINT is 2.
const INTERRUPTED: u8 = 128 + 2;

/// What follows each reason.
const NOTHING_DONE: &str = "nothing was imported";

/// Of so many names that do not fit it is said without being asked.
const MOST_TOLD: usize = 100;

/// How much of a text is read at once.
const READ_BYTES: usize = 1 << 18;

/// What `cbfs import` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base
    base: PathBuf,

    /// PGN files, also packed as .gz, .zst, .bz2 or .zip; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Make the base, which must not be there
    #[arg(long)]
    create: bool,

    /// Code page of names and texts that are not UTF-8, as 1251 or cp1250;
    /// told from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,
}

/// A file to be read.
struct Source {
    name: String,
    input: Box<dyn Input>,
}

/// A prepared game, with the line of its section.
type Game = (Result<PreparedGame, SaveError>, usize);

/// Why reading a text ends early.
enum Stop {
    Text(StreamError),
    /// What cannot be saved, and the line.
    Game(usize, ChangeError),
    Interrupted,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Text(error.into())
    }
}

impl From<StreamError> for Stop {
    fn from(error: StreamError) -> Stop {
        Stop::Text(error)
    }
}

/// Appends, and says which numbers the games have.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    let bar = bar(&args.files, quiet);
    let sources: Vec<Source> = (args.files.iter())
        .map(|file| Source::open(file, &bar))
        .collect::<Result<_, _>>()?;
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let is_ended = signals::mark_when_ended(ending);
    let options = cbh::Options {
        code_page: args.codepage,
    };
    let appended = if args.create {
        create(&args.base, options, sources, &bar, &is_ended)?
    } else {
        append(&args.base, &args.base, options, sources, &bar, &is_ended)?
    };
    bar.finish_and_clear();
    if quiet {
        return Ok(());
    }
    let count = appended.len();
    let said = match (appended.start, appended.end.saturating_sub(1)) {
        _ if count == 0 => "0 games appended\n".to_owned(),
        (first, _) if count == 1 => format!("1 game appended as {first}\n"),
        (first, last) => format!("{count} games appended as {first}\u{2013}{last}\n"),
    };
    print(said.as_bytes())
}

/// Makes the base with all games in it.
fn create(
    path: &Path,
    options: cbh::Options,
    sources: Vec<Source>,
    bar: &ProgressBar,
    is_ended: &AtomicBool,
) -> Result<std::ops::Range<u32>, Failure> {
    let workshop = Workshop::begin(path).map_err(Failure::new)?;
    workshop
        .make_empty(SystemTime::now())
        .map_err(Failure::new)?;
    let appended = append(&workshop.path(), path, options, sources, bar, is_ended)?;
    workshop.finish().map_err(Failure::new)?;
    Ok(appended)
}

/// Appends to the base at `path`, which users know as `name`.
fn append(
    path: &Path,
    name: &Path,
    options: cbh::Options,
    sources: Vec<Source>,
    bar: &ProgressBar,
    is_ended: &AtomicBool,
) -> Result<std::ops::Range<u32>, Failure> {
    let failed = |error: ChangeError| match error {
        ChangeError::Save(SaveError::Base(error @ cbh::Error::Missing { .. }))
            if Workshop::is_free(path) =>
        {
            Failure::new(format_args!("{error}; --create makes a new base"))
        }
        // Such an error names the file by itself.
        ChangeError::Save(error @ SaveError::Base(_)) => Failure::new(error),
        error => Failure::about(name, error),
    };
    let base = OpenBase::to_change(path, &options, "cbfs import").map_err(failed)?;
    let import = || {
        let mut importer = Importer::new(&base.database, &base.store, SystemTime::now());
        let mut told = BTreeSet::new();
        for source in sources {
            bar.set_message(Escaped(&source.name).to_string());
            read_all(source, &mut importer, &mut told, is_ended)?;
        }
        let imported = importer.commit().map_err(failed)?;
        for unfit in &imported.unfit {
            log::warn!("{}", not_stored_whole(unfit));
        }
        Ok(imported.games)
    };
    let appended = import();
    let closed = base.store.close().map_err(|error| failed(error.into()));
    let appended = appended?;
    closed?;
    Ok(appended)
}

/// Appends the games of all texts in a file.
fn read_all(
    source: Source,
    importer: &mut Importer<'_>,
    told: &mut BTreeSet<String>,
    is_ended: &AtomicBool,
) -> Result<(), Failure> {
    let Source { name, mut input } = source;
    let mut at = name.clone();
    let read = for_each_text(Path::new(&name), &mut *input, &mut |text| {
        at = match &text.member {
            Some(member) => format!("{name}: {member}"),
            None => name.clone(),
        };
        read(text, &at, importer, told, is_ended)
    });
    read.map_err(|stop: Stop| stop.failure(&at))
}

/// Appends the games of one text.
fn read(
    text: Text<'_>,
    name: &str,
    importer: &mut Importer<'_>,
    told: &mut BTreeSet<String>,
    is_ended: &AtomicBool,
) -> Result<(), Stop> {
    if text.was_utf16 {
        log::warn!("{name}: read as UTF-16");
    }
    let mut is_foreign = false;
    pgn::for_each_game_in_order(
        text.reader,
        |game, line| (PreparedGame::new(game), line),
        |section: Prepared<Game>| {
            if is_ended.load(Relaxed) {
                return Err(Stop::Interrupted);
            }
            if let Some((line, column)) = section.not_utf8.filter(|_| !is_foreign) {
                is_foreign = true;
                log::warn!("{name}:{line}:{column}: not UTF-8; read as Windows-1252");
            }
            for (game, line) in section.games {
                let appended = game.map_err(ChangeError::from);
                let appended = appended.and_then(|game| importer.append(game));
                let appended = appended.map_err(|error| Stop::Game(line, error))?;
                log(&appended, told);
            }
            section
                .error
                .map_or(Ok(()), |error| Err(Stop::Text(error.into())))
        },
    )
}

/// Says what of a game is not stored as it stands in the text: of each name
/// once, and of no more than [`MOST_TOLD`].
fn log(appended: &cbh::Appended, told: &mut BTreeSet<String>) {
    let id = appended.id.0;
    for unfit in &appended.unfit {
        let what = not_stored_whole(unfit);
        if told.len() < MOST_TOLD && told.insert(what.clone()) {
            log::warn!("game {id}: {what}");
        } else {
            log::info!("game {id}: {what}");
        }
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

fn not_stored_whole(unfit: &Unfit) -> String {
    let Unfit {
        field,
        stored,
        whole,
    } = unfit;
    format!("{field} {whole:?} is stored as {stored:?}")
}

impl Stop {
    /// The line on stderr about the text `name`.
    fn failure(self, name: &str) -> Failure {
        match self {
            Stop::Text(StreamError::Pgn(error)) => {
                Failure::new(format_args!("{name}:{error}; {NOTHING_DONE}"))
            }
            Stop::Text(StreamError::Io(error)) => {
                Failure::new(format_args!("{name}: {error}; {NOTHING_DONE}"))
            }
            Stop::Game(line, error) => Failure::new(format_args!(
                "{name}:{line}:1: this game cannot be stored: {error}; {NOTHING_DONE}"
            )),
            Stop::Interrupted => Failure {
                code: INTERRUPTED,
                ..Failure::new(format_args!("interrupted; {NOTHING_DONE}"))
            },
        }
    }
}

impl Source {
    fn open(file: &Path, bar: &ProgressBar) -> Result<Source, Failure> {
        if file == Path::new("-") {
            return Ok(Source {
                name: "standard input".to_owned(),
                input: buffered(bar.wrap_read(Pipe(io::stdin()))),
            });
        }
        let opened = File::open(file).map_err(|error| Failure::about(file, error))?;
        Ok(Source {
            name: file.display().to_string(),
            input: buffered(bar.wrap_read(opened)),
        })
    }
}

fn buffered(reader: impl Read + Seek + Send + 'static) -> Box<dyn Input> {
    Box::new(BufReader::with_capacity(READ_BYTES, reader))
}

/// What is read once, from its begin to its end.
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

/// A bar over the bytes of all files; without an end if one is a pipe.
fn bar(files: &[PathBuf], quiet: bool) -> ProgressBar {
    let len = |file: &PathBuf| {
        let metadata = file.metadata().ok()?;
        metadata.is_file().then_some(metadata.len())
    };
    progress::bytes_bar(files.iter().map(len).sum(), quiet)
}
