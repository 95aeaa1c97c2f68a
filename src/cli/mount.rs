//! `cbfs mount`: mounts a base, a book, an archive or a directory of them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use nix::sys::signal::{SigSet, Signal};
use rustix::process::{Resource, getrlimit, setrlimit};
use sd_notify::NotifyState;

use super::options::{MountOptions, Writing, parse_code_page, parse_size, parse_source_map};
use super::password::{self, PasswordFile};
use super::{Failure, daemon, places, signals, user_service};
use crate::archive::{self, BlockCache};
use crate::base::referenced::{GamesOptions, SourceMap};
use crate::book::belongs_to_book;
use crate::cbh::{self, CodePage};
use crate::fuse::{
    self, MountInfo, Mounted, Outcome, Stopper, descriptor_of, ensure_is_fuse, mount_at,
};
use crate::vfs::{
    self, BasesFolder, BookOptions, BookSource, DatabaseSource, Messages, Shown, Vfs, Writer,
};

/// Exit code for a command line that makes no sense.
const WRONG_COMMAND_LINE: u8 = 2;

/// Part of the cache memory that is used for blocks of archives: one of this
/// many.
const BLOCKS_SHARE: usize = 8;

/// Interval of checking whether another daemon has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Arguments of `cbfs mount`.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = "\
Options of -o: ro, rw (by itself a mount can be written where the base can),
allow_other, allow_root, auto_unmount, nonempty, uid=N, gid=N, cache_size=SIZE,
scratch_size=SIZE, codepage=PAGE, password_file=FILE, clean, drop_foreign_tags,
export_limit=N, hide=DIRECTORY,DIRECTORY (of the root, as hide=pgn,years),
html=list (the folders of html/ list their pages), names=long (names of games say
who plays), merge (a player renamed to another is merged into that one),
source_map=FROM=TO, readdirplus=auto|on|off, fsname=NAME, xattr (games have
extended attributes user.cbh.white and so on), and those of mount(8). A comma
in a value is written \\, and a backslash before a comma or another one \\\\.

The mount ends with `cbfs umount`, `umount`, `fusermount3 -u`, or when the
daemon gets SIGTERM or SIGINT; also while it is in use. SIGHUP is ignored.")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option that was given or not"
)]
pub(super) struct Args {
    /// Any file of the base or opening book, an archive (.cbv, .cbz), or a
    /// directory of them
    pub(super) source: PathBuf,

    /// An empty directory
    pub(super) mountpoint: PathBuf,

    /// Stay in the foreground and log to stderr
    #[arg(short, long)]
    pub(super) foreground: bool,

    /// Mount options, separated by commas
    #[arg(short, value_name = "OPTIONS")]
    pub(super) options: Vec<String>,

    /// Memory for rendered games, such as 64M (the default) or 1G
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) cache_size: Option<usize>,

    /// Space for unsaved edits and for files that editors create beside a game,
    /// such as 256M (the default)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) scratch_size: Option<usize>,

    /// Show games without tags and commands that only cbfs reads; the mount is
    /// read-only
    #[arg(long)]
    pub(super) clean: bool,

    /// Drop tags that a base has no field for, instead of storing them in a
    /// comment
    #[arg(long)]
    pub(super) drop_foreign_tags: bool,

    /// Code page of names and texts that are not UTF-8, such as 1251 or cp1250;
    /// detected from the names otherwise
    #[arg(long, value_name = "PAGE", value_parser = parse_code_page)]
    pub(super) codepage: Option<CodePage>,

    /// Maximum number of positions in an export of a book
    #[arg(long, value_name = "N")]
    pub(super) export_limit: Option<u32>,

    /// Location on this computer of a folder that a book names by its path on
    /// another computer
    #[arg(long, value_name = "FROM=TO", value_parser = parse_source_map)]
    pub(super) source_map: Vec<SourceMap>,

    #[command(flatten)]
    pub(super) password: password::PasswordFile,

    /// Log file of the daemon, instead of the system log
    #[arg(long, value_name = "FILE", conflicts_with = "foreground")]
    pub(super) log_file: Option<PathBuf>,

    /// Mount now and after each login, by a service of the user's systemd;
    /// `cbfs umount --user-service` takes that back
    #[arg(long, conflicts_with_all = ["foreground", "log_file"])]
    pub(super) user_service: bool,

    /// Run as the daemon: report on standard output when the mount is ready
    #[arg(long, hide = true)]
    pub(super) as_daemon: bool,
}

impl Args {
    /// The same arguments, for the daemon.
    pub(super) fn for_daemon(&self, verbose: u8, quiet: bool) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["mount".into(), "--as-daemon".into()];
        arguments.extend((0..verbose).map(|_| "-v".into()));
        arguments.extend(quiet.then(|| "-q".into()));
        for options in &self.options {
            arguments.extend(["-o".into(), options.into()]);
        }
        if let Some(bytes) = self.cache_size {
            arguments.extend(["--cache-size".into(), bytes.to_string().into()]);
        }
        if let Some(bytes) = self.scratch_size {
            arguments.extend(["--scratch-size".into(), bytes.to_string().into()]);
        }
        arguments.extend(self.clean.then(|| "--clean".into()));
        arguments.extend(self.drop_foreign_tags.then(|| "--drop-foreign-tags".into()));
        if let Some(page) = self.codepage {
            arguments.extend(["--codepage".into(), page.name().into()]);
        }
        if let Some(limit) = self.export_limit {
            arguments.extend(["--export-limit".into(), limit.to_string().into()]);
        }
        for map in &self.source_map {
            let mut pair = OsString::from(&map.from);
            pair.push("=");
            pair.push(&map.to);
            arguments.extend(["--source-map".into(), pair]);
        }
        if let Some(file) = &self.log_file {
            arguments.extend(["--log-file".into(), file.into()]);
        }
        if let Some(file) = &self.password.password_file {
            arguments.extend(["--password-file".into(), file.into()]);
        }
        let places = [self.source.clone().into(), self.mountpoint.clone().into()];
        arguments.push("--".into());
        arguments.extend(places);
        arguments
    }
}

/// Mounts. Returns when the mount is ready, or, in the foreground, when it was
/// unmounted.
pub(super) fn run(
    args: &Args,
    messages: Arc<Messages>,
    (verbose, quiet): (u8, bool),
) -> Result<(), Failure> {
    if args.user_service {
        return user_service::install(args, (verbose, quiet));
    }
    if args.as_daemon {
        return serve(args, messages);
    }
    if args.foreground {
        daemon::restart_with_malloc_threshold();
        return serve(args, messages);
    }
    // Check the options before starting a process.
    let options = options_of(args)?;
    let file = args.password.password_file.as_ref();
    let file = file.or(options.password_file.as_ref());
    let input = password::for_daemon(&args.source, file.map(PathBuf::as_path))?;
    let mut args = args.clone();
    if input.is_some() {
        args.password.password_file = Some(PathBuf::from("-"));
    }
    daemon::start(&args.for_daemon(verbose, quiet), input.as_deref())
}

/// Checks the arguments as far as possible without mounting.
pub(super) fn check(args: &Args) -> Result<MountOptions, Failure> {
    let options = options_of(args)?;
    check_mountpoint(&args.mountpoint, options.nonempty)
        .map_err(|why| Failure::about(&args.mountpoint, why))?;
    Ok(options)
}

fn serve(args: &Args, messages: Arc<Messages>) -> Result<(), Failure> {
    let signals = signals::block().map_err(Failure::new)?;
    let options = check(args)?;
    // The daemon changes its working directory.
    let source =
        std::path::absolute(&args.source).map_err(|error| Failure::about(&args.source, error))?;
    let log_file = args.log_file.as_deref().map(daemon::open_log).transpose()?;
    let defaults = vfs::Options::default();
    let scratch_bytes = args.scratch_size.or(options.scratch_bytes);
    let vfs_options = vfs::Options {
        cache_bytes: args
            .cache_size
            .or(options.cache_bytes)
            .unwrap_or(defaults.cache_bytes),
        scratch_bytes: scratch_bytes.map_or(defaults.scratch_bytes, |bytes| bytes as u64),
        state: places::state(),
        messages,
    };
    let reading = cbh::Options {
        code_page: args.codepage.or(options.code_page),
    };
    check_not_covered(&source, &args.mountpoint)?;
    let books = book_options(args, &options);
    let is_clean = args.clean || options.is_clean;
    let writer = (options.writing != Writing::Off && !is_clean).then(|| writer(args, &options));
    let mut vfs_options = vfs_options;
    let blocks = vfs_options.cache_bytes / BLOCKS_SHARE;
    let file = PasswordFile {
        password_file: (args.password.password_file.clone()).or(options.password_file.clone()),
    };
    let archives = archive::Options {
        password: file.password_of(&source)?,
        blocks: BlockCache::new(blocks),
        ..archive::Options::default()
    };
    if source.is_dir() || archive::has_archive_extension(&source) {
        vfs_options.cache_bytes -= blocks;
    }
    let (shown, vfs) = open(
        &source,
        (reading, is_clean, options.shown),
        (books, writer, archives),
        &vfs_options,
    )?;
    let is_writable = is_writable(&options, is_clean, &source, &vfs)?;
    let outside = outside(args, &options, &shown, is_writable);
    let mounted = Mounted::new(Arc::new(vfs), &args.mountpoint, &outside).map_err(Failure::new)?;
    log::info!(
        "{}: mounted at {}",
        shown.display(),
        mounted.mountpoint().display()
    );
    if args.as_daemon {
        daemon::detach(log_file.as_ref())?;
    } else if let Err(error) = sd_notify::notify(&[NotifyState::Ready]) {
        log::warn!("cannot tell systemd: {error}");
    }
    let stopper = mounted.stopper();
    thread::spawn(move || watch_signals(signals, &stopper));
    match mounted.run() {
        Outcome::Unmounted => Ok(()),
        Outcome::Failed(why) => {
            if args.as_daemon {
                log::error!("{}: {why}", args.mountpoint.display());
            }
            Err(Failure::about(&args.mountpoint, why))
        }
    }
}

/// The options of `-o`. Those that make no sense are a wrong command line.
fn options_of(args: &Args) -> Result<MountOptions, Failure> {
    MountOptions::parse(&args.options).map_err(|error| Failure {
        code: WRONG_COMMAND_LINE,
        ..Failure::new(error)
    })
}

fn book_options(args: &Args, options: &MountOptions) -> BookOptions {
    let usual = BookOptions::default();
    BookOptions {
        export_limit: args
            .export_limit
            .or(options.export_limit)
            .unwrap_or(usual.export_limit),
        games: GamesOptions {
            maps: [&args.source_map[..], &options.source_maps].concat(),
            code_page: args.codepage.or(options.code_page),
        },
        caches: places::cache(),
    }
}

/// Opens what is to be mounted, and returns its name: the `.cbh`, the given
/// file of a book, or the directory of bases.
fn open(
    source: &Path,
    (reading, is_clean, showing): (cbh::Options, bool, Shown),
    (books, writer, archives): (BookOptions, Option<Writer>, archive::Options),
    options: &vfs::Options,
) -> Result<(PathBuf, Vfs), Failure> {
    if source.is_dir() {
        allow_many_files();
        let folder = BasesFolder::new(source, reading, places::cache());
        let folder = folder.with_books(books).with_archives(archives);
        let folder = folder.written_by(writer).clean(is_clean).showing(showing);
        let vfs = Vfs::folder(folder, options).map_err(Failure::new)?;
        if !vfs.has_bases() {
            log::warn!(
                "{}: contains no base, archive or opening book, so nothing is shown yet",
                source.display()
            );
        }
        return Ok((source.to_path_buf(), vfs));
    }
    if belongs_to_book(source) {
        let book = BookSource::new(source, books);
        let vfs = Vfs::open(Box::new(book), options).map_err(Failure::new)?;
        return Ok((source.to_path_buf(), vfs));
    }
    let headers = DatabaseSource::new(source, reading, None)
        .headers()
        .map_err(Failure::new)?;
    let base = DatabaseSource::new(&headers, reading, places::cache());
    let base = base
        .with_archives(archives)
        .written_by(writer)
        .clean(is_clean)
        .showing(showing);
    let vfs = Vfs::open(Box::new(base), options).map_err(Failure::new)?;
    Ok((headers, vfs))
}

/// Raises the limit of open files. Each base that is open needs a dozen.
fn allow_many_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        log::debug!("limit of open files: {error}");
    }
}

/// Returns whether the mount is writable: if possible, unless read-only was
/// requested. In a directory, this is decided for each base when it is opened.
fn is_writable(
    options: &MountOptions,
    is_clean: bool,
    source: &Path,
    vfs: &Vfs,
) -> Result<bool, Failure> {
    let is_possible = (source.is_dir() || vfs.drafts().can_be_written()) && !is_clean;
    match options.writing {
        Writing::Off => Ok(false),
        Writing::IfPossible => Ok(is_possible),
        Writing::Needed if is_possible => Ok(true),
        Writing::Needed if is_clean => Err(Failure::about(
            source,
            "cannot be written with -o clean, whose texts leave out what a save needs",
        )),
        Writing::Needed => Err(Failure::about(
            source,
            "cannot be written; mount it with -o ro",
        )),
    }
}

fn outside(args: &Args, options: &MountOptions, shown: &Path, is_writable: bool) -> fuse::Options {
    fuse::Options {
        source: options
            .source_name
            .clone()
            .unwrap_or_else(|| shown.to_string_lossy().into_owned()),
        access: options.access,
        is_writable,
        uid: options
            .uid
            .unwrap_or_else(|| nix::unistd::getuid().as_raw()),
        gid: options
            .gid
            .unwrap_or_else(|| nix::unistd::getgid().as_raw()),
        readdirplus: options.readdirplus,
        xattr: options.xattr,
        auto_unmount: options.auto_unmount,
        flags: options.flags.clone(),
        others: given_options(args, options),
    }
}

/// Options that `.cbfs/status` does not show otherwise, if they were given, in
/// the syntax of `-o`.
fn given_options(args: &Args, options: &MountOptions) -> Vec<String> {
    let page = args.codepage.or(options.code_page);
    let scratch = args.scratch_size.or(options.scratch_bytes);
    let name = options.source_name.as_deref();
    let drops = args.drop_foreign_tags || options.drops_foreign_tags;
    let hidden = options.shown.hidden().map(|name| format!("hide={name}"));
    let given = [
        page.map(|page| format!("codepage={}", page.name())),
        (args.clean || options.is_clean).then(|| "clean".to_owned()),
        drops.then(|| "drop_foreign_tags".to_owned()),
        options.merges.then(|| "merge".to_owned()),
        scratch.map(|bytes| format!("scratch_size={bytes}")),
        name.map(|name| format!("fsname={name}")),
        options.shown.lists_pages().then(|| "html=list".to_owned()),
        (options.shown.describes_games()).then(|| "names=long".to_owned()),
    ];
    given.into_iter().flatten().chain(hidden).collect()
}

fn watch_signals(signals: SigSet, stopper: &Stopper) {
    loop {
        match signals.wait() {
            Ok(Signal::SIGHUP) => log::info!("SIGHUP: changes are noticed anyway"),
            Ok(signal) => {
                log::info!("{signal}: ending");
                stopper.stop();
            }
            Err(error) => {
                log::error!("cannot wait for signals: {error}");
                return;
            }
        }
    }
}

/// Returns the settings for changing a base. The label, the mountpoint, is
/// shown to a process that finds the base locked.
fn writer(args: &Args, options: &MountOptions) -> Writer {
    let place = args.mountpoint.canonicalize();
    let place = place.unwrap_or_else(|_| args.mountpoint.clone());
    Writer {
        label: place.display().to_string(),
        clock: SystemTime::now,
        drops_foreign_tags: args.drop_foreign_tags || options.drops_foreign_tags,
        merges: options
            .merges
            .then(places::state)
            .and_then(|all| all.into_iter().next()),
        is_ending,
    }
}

/// Returns whether the mount that another daemon claims to serve is gone
/// already. umount(8) returns before the daemon has released the base. `text`
/// is what the other program wrote about itself.
fn is_ending(text: &str) -> bool {
    let mountpoint = Path::new(text);
    let is_cbfs = |mount: Option<MountInfo>| mount.is_some_and(|mount| mount.is_cbfs());
    let is_gone = mountpoint.is_absolute() && mount_at(mountpoint).is_ok_and(|m| !is_cbfs(m));
    if is_gone {
        thread::sleep(POLL_INTERVAL);
    }
    is_gone
}

/// A mount over the directory of the base would hide changes to its files.
fn check_not_covered(source: &Path, mountpoint: &Path) -> Result<(), Failure> {
    let Ok(covered) = mountpoint.canonicalize() else {
        return Ok(());
    };
    match source.canonicalize() {
        Ok(place) if place.starts_with(&covered) => Err(Failure::about(
            source,
            "lies in the directory it would be mounted over; name another one",
        )),
        // A missing source is reported when it is opened.
        _ => Ok(()),
    }
}

fn check_mountpoint(mountpoint: &Path, nonempty: bool) -> Result<(), String> {
    if let Some(descriptor) = descriptor_of(mountpoint) {
        return ensure_is_fuse(descriptor);
    }
    let shown = mountpoint.display();
    let metadata = match fs::metadata(mountpoint) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!(
                "no such directory; make it with `mkdir -p {shown}`"
            ));
        }
        Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => {
            return Err(format!(
                "the daemon of the mount there has died; end it with `cbfs umount {shown}`"
            ));
        }
        Err(error) => return Err(error.to_string()),
    };
    if !metadata.is_dir() {
        return Err("not a directory".to_owned());
    }
    let is_empty = fs::read_dir(mountpoint)
        .map_err(|error| error.to_string())?
        .next()
        .is_none();
    if is_empty || nonempty {
        return Ok(());
    }
    let present = mountpoint
        .canonicalize()
        .and_then(|place| mount_at(&place))
        .ok()
        .flatten()
        .filter(MountInfo::is_cbfs);
    Err(match present {
        Some(mount) => format!("{} is mounted there already", mount.source.display()),
        None => "not empty; name an empty directory, or mount over it with -o nonempty".to_owned(),
    })
}
