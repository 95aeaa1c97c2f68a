//! The command line.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | it could not be done; one line on stderr says why |
//! | 2 | the command line makes no sense |
//! | 141 | whoever read the output went away, as after `| head` |
//!
//! `cbfs check` exits with 0 if there are no defects, with 1 if there are some,
//! and with 2 if the check could not be done.
//!
//! Called as `mount.fuse.cbfs` or `mount.cbfs`, the program is the helper of
//! `mount -t fuse.cbfs`, with the exit codes of mount(8): 0, 1 for invalid
//! arguments, 32 if mounting failed.

mod archive;
mod book;
mod change;
mod check;
mod chosen;
mod compact;
mod completion;
mod convert;
mod daemon;
mod delete;
mod duplicates;
mod export;
mod find;
mod games;
mod helper;
mod import;
mod index;
mod info;
mod logging;
mod manual;
mod merge;
mod mount;
mod names;
mod open;
mod options;
mod pack;
mod password;
mod places;
mod progress;
mod prompt;
mod receipt;
mod reviewed;
mod server;
mod signals;
mod site;
mod tables;
mod umount;
mod unpack;
mod user_service;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser, Subcommand};

use crate::escape::{Escaped, without_numbers};
use crate::vfs::Messages;

/// Exit code of a program that was ended by SIGPIPE (13), as shells report it.
const BROKEN_PIPE: u8 = 128 + 13;

/// Exit code of a program that was ended by SIGINT (2).
const INTERRUPTED: u8 = 128 + 2;

/// Shows ChessBase databases as directories of PGN files.
#[derive(Debug, Parser)]
#[command(name = "cbfs", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Print more messages; twice: every failed request
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,

    /// Print errors only
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show a base, or a directory of bases, as a directory; returns when the
    /// mount is ready
    Mount(mount::Args),
    /// Mount a base and show its folder on the desktop
    ///
    /// The folder lies in `$XDG_RUNTIME_DIR`, is printed, and is unmounted with
    /// `cbfs umount` or at logout. A base that is open already is only shown.
    Open(open::Args),
    /// Unmount
    #[command(visible_alias = "unmount")]
    Umount(umount::Args),
    /// Describe a base, an opening book or an archive: its contents and its
    /// files
    Info(info::Args),
    /// Write all games of a base as PGN, or an opening book in another format,
    /// without mounting it
    Export(export::Args),
    /// Find games of a base by players, dates, ratings, openings, annotations,
    /// positions and material; or list the moves played in a position
    Find(find::Args),
    /// Make an index of all positions of a base, so that --tree of `cbfs find` need
    /// not read all games
    ///
    /// It lies in the user's cache directory, may be deleted at any time, and is
    /// believed only for games that are as they were: games that were changed since
    /// are read.
    Index(index::Args),
    /// Write the pages of a base, as html/ of a mount has them, to a new folder for
    /// a web server, completely or not at all
    Site(site::Args),
    /// Append all games of PGN files, or of the bases in archives, to a base, or
    /// none of them
    Import(import::Args),
    /// Mark the games that fit terms as deleted, after saying how many they are
    ///
    /// They are listed in deleted/ of a mount, and restored with --restore. Only
    /// `cbfs compact` leaves them out for good, in a copy.
    Delete(delete::Args),
    /// Make one player of two spellings, or one team, annotator or source, in all
    /// games at once
    ///
    /// What is merged is kept in a file in the user's state directory, so that --undo
    /// can take it back.
    Merge(merge::Args),
    /// List spellings that may be of one player, to be reviewed, and merge what the
    /// list says
    ///
    /// The list has a line for each pair. Those that begin with `merge` are merged by
    /// --apply, in one transaction; change `?` to that where it is one player.
    Names(names::Args),
    /// List games that are there twice, to be reviewed, and mark as deleted what the
    /// list says
    ///
    /// The list has a line for each game that another one is the same as, with players,
    /// date, result and moves. Those that begin with `delete` are marked by --apply; `?`
    /// stands where the game has remarks, or fewer moves than the other.
    Duplicates(duplicates::Args),
    /// Copy a base without gaps, deleted games and unused entities
    ///
    /// Games keep their order and get new numbers. The base itself is not
    /// changed.
    Compact(compact::Args),
    /// Make a new CBH base of a base in the 2CBH format, of the base in an
    /// archive, or of a PGN file
    ///
    /// Deleted games, guiding texts, remarks and names come along. What CBH
    /// cannot hold is told, a line for each kind. The source is not changed.
    /// Ends with 1 if games, texts or remarks are missing in the new base.
    Convert(convert::Args),
    /// Check a base or an opening book for damage: decode all games, and
    /// compare all files with each other
    ///
    /// Prints a line for each defect: file, offset and description. Nothing is
    /// changed. Exits with 0 if there are no defects, with 1 if there are some,
    /// with 2 if the check could not be done.
    Check(check::Args),
    /// Extract an archive (.cbv, .cbz): all its files, or none of them
    ///
    /// Creates only new files, and only in the given directory. A base in an
    /// archive can be mounted, exported and checked without unpacking it.
    Unpack(unpack::Args),
    /// Create an archive of all files of a base, completely or not at all
    Pack(pack::Args),
    /// Print completions for a shell, as for `source <(cbfs completions bash)`
    Completions {
        /// The shell
        #[arg(value_parser = ["bash", "zsh", "fish", "elvish"])]
        shell: String,
    },
    /// Print the manual page, or write all of them to a directory
    Man {
        /// Write cbfs.1, cbfs-mount.1, cbfs-tree.7 and so on to this directory
        #[arg(value_name = "DIRECTORY")]
        directory: Option<PathBuf>,
    },
}

/// An error that ends a command.
#[derive(Debug)]
struct Failure {
    /// The line for stderr, without `cbfs: `; `None` if it was printed already.
    message: Option<String>,
    code: u8,
}

impl Failure {
    fn new(message: impl Display) -> Failure {
        Failure {
            message: Some(message.to_string()),
            code: 1,
        }
    }

    fn about(what: &Path, why: impl Display) -> Failure {
        Failure::new(format_args!("{}: {why}", what.display()))
    }

    /// A failure that was reported already.
    fn quiet(code: u8) -> Failure {
        Failure {
            message: None,
            code,
        }
    }

    /// The failure for an error that left nothing at `place`.
    fn not_made(place: &Path, error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::Interrupted {
            return Failure {
                code: INTERRUPTED,
                ..Failure::about(place, "interrupted; nothing was made")
            };
        }
        Failure::about(place, format_args!("{error}; nothing was made"))
    }

    /// The failure for an error of standard output.
    fn output(error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::quiet(BROKEN_PIPE)
        } else {
            Failure::new(format_args!("standard output: {error}"))
        }
    }
}

/// Runs the program. `arguments` begin with the name of the program.
pub fn main(arguments: &[OsString]) -> ExitCode {
    // Without it a limit of the size of files ends the program where one is reached.
    let _ = signals::let_long_files_fail();
    if helper::is_called_as_helper(arguments) {
        return finish(helper::run(arguments));
    }
    match completion::answer(Cli::command, arguments) {
        Ok(false) => {}
        answered => return finish(answered.map(|_| ())),
    }
    match parse(arguments) {
        Ok(cli) => {
            let messages = logging::start(cli.verbose, cli.quiet);
            finish(run(cli, messages))
        }
        Err(error) => {
            // Help and version are reported as errors by clap.
            let printed = error.print();
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            match printed {
                Err(broken) if code == 0 => finish(Err(Failure::output(&broken))),
                _ => ExitCode::from(code),
            }
        }
    }
}

/// Parses the command line. Control characters in the error, which quotes the
/// command line, are escaped.
fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(arguments).map_err(|error| {
        let arguments = arguments.iter();
        let visible = arguments.map(|argument| Escaped(argument.to_string_lossy()).to_string());
        Cli::try_parse_from(visible).err().unwrap_or(error)
    })
}

fn run(cli: Cli, messages: Arc<Messages>) -> Result<(), Failure> {
    match cli.command {
        Command::Mount(args) => mount::run(&args, messages, (cli.verbose, cli.quiet)),
        Command::Open(args) => open::run(&args, messages, (cli.verbose, cli.quiet)),
        Command::Umount(args) => umount::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Export(args) => export::run(&args, cli.quiet),
        Command::Find(args) => find::run(&args, cli.quiet),
        Command::Index(args) => index::run(&args, cli.quiet),
        Command::Site(args) => site::run(&args, cli.quiet),
        Command::Import(args) => import::run(&args, cli.quiet),
        Command::Delete(args) => delete::run(&args, cli.quiet),
        Command::Merge(args) => merge::run(&args, cli.quiet),
        Command::Names(args) => names::run(&args, cli.quiet),
        Command::Duplicates(args) => duplicates::run(&args, cli.quiet),
        Command::Compact(args) => compact::run(&args, cli.quiet),
        Command::Convert(args) => convert::run(&args, cli.quiet),
        Command::Check(args) => check::run(&args, cli.quiet),
        Command::Unpack(args) => unpack::run(&args, cli.quiet),
        Command::Pack(args) => pack::run(&args, cli.quiet),
        Command::Completions { shell } => print(&completion::script(&shell)?),
        Command::Man { directory: None } => print(manual::main_page(Cli::command()).as_bytes()),
        Command::Man {
            directory: Some(directory),
        } => manual::write_all(Cli::command(), &directory),
    }
}

fn finish(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code }) => {
            if let Some(message) = message {
                // If writing to stderr fails too, nothing can be reported.
                let message = without_numbers(message.trim());
                let _ = writeln!(io::stderr(), "cbfs: {}", Escaped(message));
            }
            ExitCode::from(code)
        }
    }
}

fn print(text: &[u8]) -> Result<(), Failure> {
    write_out(text).map_err(|error| Failure::output(&error))
}

/// Prints what a command has done. That it cannot be printed is told, and is no failure:
/// who tried again would do it twice.
fn print_done(text: &str) {
    match write_out(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            log::warn!("standard output: {error}; done: {}", text.trim_end());
        }
        _ => {}
    }
}

fn write_out(text: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush())
}
