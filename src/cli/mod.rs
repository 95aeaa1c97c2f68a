//! The command line.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | it could not be done; one line on stderr says why |
//! | 2 | the command line makes no sense |
//! | 141 | whoever read the output went away, as after `| head` |
//!
//! `cbfs check` ends with 0 for a sound base, 1 for one that has defects, and
//! 2 if it could not look.
//!
//! Called as `mount.fuse.cbfs` or `mount.cbfs`, the program is the helper of
//! `mount -t fuse.cbfs` and ends with the codes of mount(8): 0, 1 for a
//! command line that makes no sense, 32 if it could not be mounted.

mod archive;
mod book;
mod check;
mod compact;
mod convert;
mod daemon;
mod export;
mod find;
mod games;
mod helper;
mod import;
mod info;
mod logging;
mod mount;
mod options;
mod pack;
mod password;
mod places;
mod progress;
mod server;
mod signals;
mod umount;
mod unpack;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser, Subcommand};

use crate::escape::Escaped;
use crate::vfs::Messages;

/// As the shell tells of a program that a closed pipe ended.
const BROKEN_PIPE: u8 = 128 + 13;

/// Shows ChessBase databases as directories of PGN files.
#[derive(Debug, Parser)]
#[command(name = "cbfs", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Say more; twice: every request that fails
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,

    /// Say nothing but errors
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show a base, or a directory of bases, as a directory; returns when it can
    /// be used
    Mount(mount::Args),
    /// End a mount
    #[command(visible_alias = "unmount")]
    Umount(umount::Args),
    /// Say what a base or an opening book is: what is in it, and its files
    Info(info::Args),
    /// Write all games of a base as one PGN, or an opening book in another
    /// format, without mounting it
    Export(export::Args),
    /// Find games of a base: by players, dates, ratings, openings, remarks,
    /// positions and material; or say what was played in a position
    Find(find::Args),
    /// Append all games of PGN files, or of the bases in archives, to a base, or
    /// none of them
    Import(import::Args),
    /// Make a tidy copy of a base: without holes, deleted games and unused
    /// entities
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
    /// Look for damage: decode all games and hold all files of a base, or of an
    /// opening book, against each other
    ///
    /// Prints a line for each defect: the file, the offset in it, the fact.
    /// Nothing is changed. Ends with 0 if the base is sound, with 1 if it has
    /// defects, with 2 if it could not be checked.
    Check(check::Args),
    /// Take an archive (.cbv, .cbz) apart: all its files, or none of them
    ///
    /// Only new files are made, and only in that directory. A base in an archive
    /// can be mounted, exported and checked without being unpacked.
    Unpack(unpack::Args),
    /// Make an archive of all files of a base, whole or not at all
    Pack(pack::Args),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them to a directory
    Man {
        /// Write cbfs.1, cbfs-mount.1 and so on to this directory
        #[arg(value_name = "DIRECTORY")]
        directory: Option<PathBuf>,
    },
}

/// Why a command ends early.
#[derive(Debug)]
struct Failure {
    /// The line on stderr, without `cbfs: `; none if all was said.
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

    /// All was said already.
    fn quiet(code: u8) -> Failure {
        Failure {
            message: None,
            code,
        }
    }

    /// What failed writing to standard output.
    fn output(error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::quiet(BROKEN_PIPE)
        } else {
            Failure::new(format_args!("standard output: {error}"))
        }
    }
}

/// Runs the command that `arguments`, the program's own name first, ask for.
pub fn main(arguments: &[OsString]) -> ExitCode {
    if helper::is_called_so(arguments) {
        return finish(helper::run(arguments));
    }
    match parse(arguments) {
        Ok(cli) => {
            let messages = logging::start(cli.verbose, cli.quiet);
            finish(run(cli, messages))
        }
        Err(error) => {
            // Help and version are no errors and come here too.
            let printed = error.print();
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            match printed {
                Err(broken) if code == 0 => finish(Err(Failure::output(&broken))),
                _ => ExitCode::from(code),
            }
        }
    }
}

/// Understands the command line. An error, which quotes it, has no control
/// characters.
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
        Command::Umount(args) => umount::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Export(args) => export::run(&args, cli.quiet),
        Command::Find(args) => find::run(&args, cli.quiet),
        Command::Import(args) => import::run(&args, cli.quiet),
        Command::Compact(args) => compact::run(&args, cli.quiet),
        Command::Convert(args) => convert::run(&args, cli.quiet),
        Command::Check(args) => check::run(&args, cli.quiet),
        Command::Unpack(args) => unpack::run(&args, cli.quiet),
        Command::Pack(args) => pack::run(&args, cli.quiet),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "cbfs", &mut script);
            print(&script)
        }
        Command::Man { directory: None } => {
            let mut page = Vec::new();
            let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
            rendered.map_err(Failure::new)?;
            print(&page)
        }
        Command::Man {
            directory: Some(directory),
        } => clap_mangen::generate_to(Cli::command(), &directory)
            .map_err(|error| Failure::about(&directory, error)),
    }
}

fn finish(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code }) => {
            if let Some(message) = message {
                // If this fails too there is nobody to tell.
                let _ = writeln!(io::stderr(), "cbfs: {}", Escaped(message.trim()));
            }
            ExitCode::from(code)
        }
    }
}

fn print(text: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text)
        .and_then(|()| out.flush())
        .map_err(|error| Failure::output(&error))
}
