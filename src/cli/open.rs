//! `cbfs open`: mounts a base where the desktop finds it, and shows the folder.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::{Failure, mount, print};
use crate::base::AnyFamily;
use crate::book::belongs_to_book;
use crate::fuse::{MountInfo, detach, mount_at};
use crate::vfs::Messages;

/// Names that are tried for one base: others of its name may be open.
const MOST_NAMES: usize = 100;

/// Arguments of `cbfs open`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Any file of the base or opening book, an archive (.cbv, .cbz), or a
    /// directory of them
    source: PathBuf,

    /// Never write
    #[arg(long)]
    read_only: bool,
}

/// Mounts the base, unless it is open already, and shows its folder.
pub(super) fn run(args: &Args, messages: Arc<Messages>, told: (u8, bool)) -> Result<(), Failure> {
    let about = |error: io::Error| Failure::about(&args.source, error);
    let source = args.source.canonicalize().map_err(about)?;
    let (place, is_open) = place_for(&source, &root()?)?;
    if !is_open {
        let options = args.read_only.then(|| "ro".to_owned());
        let mount = mount::Args {
            source,
            mountpoint: place.clone(),
            options: options.into_iter().collect(),
            ..mount::Args::default()
        };
        mount::run(&mount, messages, told)?;
    }
    let line = [place.as_os_str().as_encoded_bytes(), b"\n"].concat();
    print(&line)?;
    show(&place);
    Ok(())
}

/// The folder of what is open, which goes at logout.
fn root() -> Result<PathBuf, Failure> {
    let why = "XDG_RUNTIME_DIR is not set, so nobody is logged in to a desktop; use cbfs mount";
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|path| path.is_absolute());
    let root = runtime.ok_or_else(|| Failure::new(why))?;
    let root = root.join("cbfs-open");
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(&root);
    made.map_err(|error| Failure::about(&root, error))?;
    root.canonicalize()
        .map_err(|error| Failure::about(&root, error))
}

/// Where the base is mounted, or can be; and whether it is.
fn place_for(source: &Path, root: &Path) -> Result<(PathBuf, bool), Failure> {
    let stem = source.file_stem().unwrap_or(OsStr::new("base"));
    for number in 1..=MOST_NAMES {
        let mut name = OsString::from(stem);
        if number > 1 {
            name.push(format!(" {number}"));
        }
        let place = root.join(name);
        let mounted = mount_at(&place).map_err(Failure::new)?;
        match mounted {
            Some(_) if is_dead(&place) => detach(&place).map_err(Failure::new)?,
            Some(mounted) if shows(&mounted, source) => return Ok((place, true)),
            Some(_) => continue,
            None => {}
        }
        match fs::create_dir(&place) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Failure::about(&place, error));
            }
            _ => return Ok((place, false)),
        }
    }
    Err(Failure::about(
        root,
        "too many bases of this name are open; use cbfs mount",
    ))
}

/// Whether the mount is that of a daemon that was killed.
fn is_dead(place: &Path) -> bool {
    let error = fs::metadata(place).err();
    error.is_some_and(|error| error.raw_os_error() == Some(libc::ENOTCONN))
}

/// Whether this base is mounted there, by whichever of its files.
fn shows(mounted: &MountInfo, source: &Path) -> bool {
    let shown = Path::new(&mounted.source);
    let headers = || AnyFamily::locate(source).map(|family| family.headers());
    shown == source || !belongs_to_book(source) && headers().is_ok_and(|path| path == shown)
}

/// Has the desktop show the folder; without one the line on stdout says where
/// it is.
fn show(place: &Path) {
    let shown = Command::new("xdg-open")
        .arg(place)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = shown {
        log::info!("xdg-open: {error}");
    }
}
