//! `cbfs export`: writes all games of a base, except deleted ones, as one PGN text or
//! as tables, or a book in another format.
//!
//! All cores decode and render ranges of [`STRETCH`] records in turn; the main
//! thread writes them in order, and gives their memory back to be filled again. A core that
//! is ahead waits while [`PIECES`] of its pieces are unwritten, so memory is bounded for
//! games of any length. One core alone needs no other thread.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

use indicatif::ProgressBar;

use super::options::parse_code_page;
use super::password::PasswordFile;
use super::{Failure, archive, book, progress, signals, tables};
use crate::archive::has_archive_extension;
use crate::base::Base;
use crate::book::belongs_to_book;
use crate::book::export::ExportFormat;
use crate::book::walk::DEFAULT_POSITIONS;
use crate::cbh::{self, CodePage, Decoded, GameId, RecordKind};
use crate::cbh2;
use crate::escape::Escaped;
use crate::pgn;
use crate::storage::folder_of;
use crate::tables::TableOptions;

/// Number of records that a core renders at a time.
const STRETCH: u32 = 512;

/// Length from which a piece is passed on, in bytes.
const PIECE_BYTES: usize = 1 << 20;

/// Number of pieces of one core that may wait to be written.
const PIECES: usize = 4;

/// Arguments of `cbfs export`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base or book, or an archive
    source: PathBuf,

    /// Write to this file, completely or not at all; otherwise to standard
    /// output. With --format parquet, a new folder
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Code page of names and texts that are not UTF-8, such as 1251 or cp1250;
    /// detected from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    codepage: Option<CodePage>,

    /// Output format
    #[arg(long, value_enum, default_value_t = ExportAs::Pgn)]
    format: ExportAs,

    /// Leave out tags and commands that only cbfs reads
    #[arg(long)]
    clean: bool,

    /// With --format parquet: also write the table of positions, a row for each
    #[arg(long)]
    positions: bool,

    /// With --format parquet: also write games that are marked deleted; the column
    /// `deleted` tells them
    #[arg(long)]
    deleted: bool,

    /// Of an opening book: write at most this many positions
    #[arg(long, value_name = "POSITIONS", default_value_t = DEFAULT_POSITIONS)]
    export_limit: u32,

    #[command(flatten)]
    password: PasswordFile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ExportAs {
    /// Portable Game Notation; a book is written as one game with variations
    Pgn,
    /// Of a book: PGN, a game for each first moves, none longer than Scid reads
    Openings,
    /// Of a book: one line of EPD for each position
    Epd,
    /// Of a book: one line of a table for each position
    Tsv,
    /// Of a book: a Polyglot book
    Polyglot,
    /// Of a base: tables for `DuckDB`, Polars, Spark and the like, in a folder
    Parquet,
}

impl Args {
    /// Checks that a base is exported in this format, and with these options.
    fn check_format(&self) -> Result<(), Failure> {
        match self.format {
            ExportAs::Pgn if self.positions || self.deleted => Err(Failure::new(
                "--positions and --deleted need --format parquet",
            )),
            ExportAs::Parquet if self.output.is_none() => Err(Failure::new(
                "tables are several files: name a new folder for them with -o",
            )),
            ExportAs::Pgn | ExportAs::Parquet => Ok(()),
            _ => Err(Failure::about(
                &self.source,
                "only opening books are exported in this format; a base is exported as PGN or \
                 parquet",
            )),
        }
    }

    fn wishes(&self) -> TableOptions {
        TableOptions {
            is_clean: self.clean,
            with_positions: self.positions,
            with_deleted: self.deleted,
        }
    }
}

impl ExportAs {
    /// As a format for books; `None` if it is one of games.
    fn of_book(self) -> Option<ExportFormat> {
        Some(match self {
            ExportAs::Pgn => ExportFormat::Pgn,
            ExportAs::Openings => ExportFormat::Openings,
            ExportAs::Epd => ExportFormat::Epd,
            ExportAs::Tsv => ExportFormat::Tsv,
            ExportAs::Polyglot => ExportFormat::Polyglot,
            ExportAs::Parquet => return None,
        })
    }
}

/// A part of the output of one core.
enum OutputPart {
    /// The text of some games.
    Text(Vec<u8>),
    /// The last text of a range.
    Last(Vec<u8>),
    /// A game that could not be read.
    Unreadable(GameId, cbh::Error),
}

/// Exports all games that are not deleted, or a book.
pub(super) fn run(args: &Args, quiet: bool) -> Result<(), Failure> {
    if let Some(opened) = crate::book::open(&args.source, None) {
        let (book, output) = (opened.map_err(Failure::new)?, args.output.as_deref());
        let Some(format) = args.format.of_book() else {
            return Err(Failure::about(
                &args.source,
                "an opening book has no games; it is exported as pgn, openings, epd, tsv or polyglot",
            ));
        };
        return book::export(book.as_ref(), format, args.export_limit, output);
    }
    args.check_format()?;
    let base = archive::open_base(&args.source, &args.password, args.codepage)?;
    let base = base.as_ref();
    tell_defects(base, &args.source);
    let bar = progress::bar(base.last_id(), quiet);
    let is_clean = args.clean;
    let unreadable = match &args.output {
        Some(folder) if args.format == ExportAs::Parquet => {
            tables::export(base, folder, args.wishes(), &bar)?
        }
        None => write_games(base, is_clean, &mut io::stdout().lock(), &bar)
            .map_err(|error| Failure::output(&error))?,
        Some(path) => write_file(path, |out| write_games(base, is_clean, out, &bar))
            .map_err(|error| Failure::about(path, error))?,
    };
    bar.finish_and_clear();
    if unreadable > 0 {
        return Err(Failure::about(
            &args.source,
            format_args!("{unreadable} games cannot be read and are not in the output"),
        ));
    }
    Ok(())
}

/// Follows the symbolic link `path`, if it is one, also to a file that does not exist.
fn target_of(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut target = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_) => return Ok(fs::canonicalize(&target).unwrap_or(target)),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

/// Calls `write` with a new file, which replaces `path` when it is complete.
pub(super) fn write_file<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    let path = target_of(path)?;
    if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
        // A pipe or a device cannot be replaced; write to it directly.
        return write(&mut File::options().write(true).open(&path)?);
    }
    if path.exists() && is_of_a_source(&path) {
        return Err(io::Error::other(
            "this is a file of a database, book or archive; an export takes the place of none: \
             name another file",
        ));
    }
    let ending = signals::block_unless_ignored()?;
    let mut temporary = tempfile::Builder::new()
        .prefix(".cbfs-export-")
        // This error does not name the temporary file, in contrast to that of
        // `tempfile_in`.
        .make_in(folder_of(&path), |path| {
            let mut options = File::options();
            options.read(true).write(true).create_new(true).mode(0o666);
            options.open(path)
        })?;
    let made = temporary.path().to_path_buf();
    signals::before_end(ending, move || {
        // It may have been renamed to its final name.
        let _ = fs::remove_file(made);
    });
    let written = write(temporary.as_file_mut())?;
    temporary.as_file().sync_all()?;
    temporary.persist(&path)?;
    Ok(written)
}

/// Warns of what is wrong with the whole base, such as a file that is missing.
fn tell_defects(base: &dyn Base, source: &Path) {
    /// A list of all is what `cbfs check` is for.
    const MOST: usize = 20;
    let (source, defects) = (Escaped(source.display()), base.defects());
    for defect in defects.iter().take(MOST) {
        log::warn!("{source}: {defect}");
    }
    let more = defects.len().saturating_sub(MOST);
    if more > 0 {
        log::warn!("{source}: {more} more defects; `cbfs check` lists them");
    }
}

/// Whether a file is one of those that cbfs reads, going by its name.
fn is_of_a_source(path: &Path) -> bool {
    cbh::Family::is_file_of(path, path)
        || cbh2::Family::owns(path)
        || belongs_to_book(path)
        || has_archive_extension(path)
}

/// Writes the games in order; returns the number of games that could not be
/// read.
fn write_games(
    base: &dyn Base,
    is_clean: bool,
    out: &mut dyn Write,
    bar: &ProgressBar,
) -> io::Result<u64> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let ranges = base.last_id().div_ceil(STRETCH);
    let mut output = Output {
        out,
        bar,
        unreadable: 0,
    };
    if cores > 1 {
        write_by_threads(base, is_clean, cores, ranges, &mut output)?;
    } else {
        let mut renderer = Renderer::new(base, is_clean);
        for range in 0..ranges {
            let write = &mut |part| output.take(part).map(|taken| taken.spare);
            renderer.render(range, write)?;
        }
    }
    output.out.flush()?;
    base.ensure_unchanged()?;
    Ok(output.unreadable)
}

/// As [`write_games`], by a thread for each core.
fn write_by_threads(
    base: &dyn Base,
    is_clean: bool,
    cores: usize,
    ranges: u32,
    output: &mut Output<'_>,
) -> io::Result<()> {
    thread::scope(|scope| {
        let ends: Vec<(Receiver<OutputPart>, Sender<Vec<u8>>)> = (0..cores)
            .map(|core| {
                let (sender, receiver) = sync_channel(PIECES);
                let (spare_sender, spare) = channel::<Vec<u8>>();
                scope.spawn(move || {
                    let mut renderer = Renderer::new(base, is_clean);
                    let mut mine = (0..ranges).skip(core).step_by(cores);
                    let pass_on = &mut |part| {
                        let sent = sender.send(part);
                        sent.map(|()| spare.try_recv().unwrap_or_default())
                    };
                    // The receiver has ended after a write error.
                    mine.try_for_each(|range| renderer.render(range, pass_on))
                });
                (receiver, spare_sender)
            })
            .collect();
        for (_, (receiver, spare_sender)) in (0..ranges).zip(ends.iter().cycle()) {
            loop {
                let ended = |_| io::Error::other("a thread ended early");
                let taken = output.take(receiver.recv().map_err(ended)?)?;
                // After its last part a thread needs none.
                let _ = spare_sender.send(taken.spare);
                if taken.was_last {
                    break;
                }
            }
        }
        Ok(())
    })
}

/// The output of an export, which takes the parts in their order.
struct Output<'a> {
    out: &'a mut dyn Write,
    bar: &'a ProgressBar,
    /// The number of games that could not be read.
    unreadable: u64,
}

/// The emptied text of a part that was written.
struct Taken {
    /// The text, whose memory is to be filled again.
    spare: Vec<u8>,
    /// Whether it was the last one of its range.
    was_last: bool,
}

impl Output<'_> {
    /// Writes a part.
    fn take(&mut self, part: OutputPart) -> io::Result<Taken> {
        let (mut spare, was_last) = match part {
            OutputPart::Text(text) => (text, false),
            OutputPart::Last(text) => (text, true),
            OutputPart::Unreadable(GameId(id), error) => {
                self.unreadable += 1;
                log::error!("game {id}: {error}");
                (Vec::new(), false)
            }
        };
        self.out.write_all(&spare)?;
        spare.clear();
        // A game may have made it long.
        spare.shrink_to(4 * PIECE_BYTES);
        if was_last {
            self.bar.inc(u64::from(STRETCH));
        }
        Ok(Taken { spare, was_last })
    }
}

/// A thread's buffers for the games of one range after the other.
struct Renderer<'b> {
    base: &'b dyn Base,
    is_clean: bool,
    decoded: Decoded,
    /// Texts of games that have not been passed on.
    text: Vec<u8>,
}

impl Renderer<'_> {
    fn new(base: &dyn Base, is_clean: bool) -> Renderer<'_> {
        Renderer {
            base,
            is_clean,
            decoded: Decoded::reading_many(),
            text: Vec::new(),
        }
    }

    /// Renders the games of one range, the first of which is range 0. `pass_on` takes
    /// each part, and gives an empty text for the next one.
    ///
    /// # Errors
    ///
    /// Those of `pass_on`.
    fn render<E>(
        &mut self,
        range: u32,
        pass_on: &mut dyn FnMut(OutputPart) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        let first = 1 + range * STRETCH;
        let mut entries = Vec::new();
        let count = STRETCH.min(self.base.last_id() - first + 1);
        if let Err(error) = self.base.entries(GameId(first), count, &mut entries) {
            pass_on(OutputPart::Unreadable(GameId(first), error))?;
        }
        let mut encoder = pgn::Encoder::new(self.is_clean);
        for entry in entries {
            if entry.is_deleted || entry.kind != RecordKind::Game {
                continue;
            }
            let permit = match self.base.read_game_to_render(entry.id, &mut self.decoded) {
                Ok(permit) => permit,
                Err(error) => {
                    pass_on(OutputPart::Unreadable(entry.id, error))?;
                    continue;
                }
            };
            let Decoded { game, defects, .. } = &self.decoded;
            encoder.encode(game, defects, &mut self.text);
            // Give up the permit while passing on, because the receiver may take long.
            if self.text.len() > 16 * PIECE_BYTES {
                self.decoded = Decoded::reading_many();
            }
            drop(permit);
            if self.text.len() > PIECE_BYTES {
                self.text = pass_on(OutputPart::Text(std::mem::take(&mut self.text)))?;
            }
        }
        self.text = pass_on(OutputPart::Last(std::mem::take(&mut self.text)))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::change::tests::copy_of_sample;

    /// Changes a file when the first text arrives.
    struct Meddler(PathBuf);

    impl Write for Meddler {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            fs::write(&self.0, fs::read(&self.0)?)?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_export_fails_if_the_base_is_changed_meanwhile() {
        let (_folder, path) = copy_of_sample();
        let exported = |out: &mut dyn Write| {
            let base = archive::open_base(&path, &PasswordFile::default(), None);
            write_games(base.unwrap().as_ref(), false, out, &ProgressBar::hidden())
        };
        assert_eq!(exported(&mut io::sink()).unwrap(), 0);
        for extension in ["cbh", "cbg", "cbp"] {
            let changed = exported(&mut Meddler(path.with_extension(extension)));
            assert!(
                changed.unwrap_err().to_string().contains("mixture"),
                "{extension}"
            );
        }
    }
}
