//! `cbfs umount`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};

use super::Failure;
use crate::fuse::{Mount, canonical, detach, mount_at};

/// How long to wait for the daemon where nothing was said.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait for saves to be on the disk.
const SYNC_PATIENCE: Duration = Duration::from_mins(1);

/// Between two looks.
const BREATH: Duration = Duration::from_millis(5);

/// What `cbfs umount` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where it is mounted
    mountpoint: PathBuf,

    /// Wait so long for the daemon to end, then break its connection
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u64>,
}

/// Takes the mount away, even if it is in use, and gives the daemon time to
/// end. A copy of the mount in another namespace may keep it alive.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let failed = |why: &str| Failure::about(&args.mountpoint, why);
    let (place, mount) = find(&args.mountpoint)
        .map_err(|error| Failure::about(&args.mountpoint, error))?
        .ok_or_else(|| failed("nothing is mounted there"))?;
    if mount.kind != "fuse.cbfs" {
        return Err(failed("not a mount of cbfs; use umount"));
    }
    let patience = args.wait.map_or(PATIENCE, Duration::from_secs);
    let daemon = sync(&place, args.wait.map_or(SYNC_PATIENCE, Duration::from_secs));
    match umount2(&place, MntFlags::UMOUNT_NOFOLLOW) {
        Ok(()) => {}
        Err(Errno::EBUSY | Errno::EPERM) => {
            detach(&place).map_err(|error| Failure::about(&args.mountpoint, error))?;
        }
        Err(error) => return Err(Failure::about(&args.mountpoint, error.desc())),
    }
    let connection = mount
        .device
        .split(':')
        .nth(1)
        .map(|minor| Path::new("/sys/fs/fuse/connections").join(minor));
    let start = Instant::now();
    if let Some(connection) = connection.filter(|path| path.exists()) {
        while connection.exists() {
            if start.elapsed() >= patience {
                return match args.wait {
                    Some(_) => fs::write(connection.join("abort"), "1")
                        .map_err(|error| Failure::about(&connection.join("abort"), error)),
                    None => Ok(()),
                };
            }
            thread::sleep(BREATH);
        }
    }
    // Until then it may hold the base, which could not be mounted again.
    while daemon.is_some_and(is_running) && start.elapsed() < patience {
        thread::sleep(BREATH);
    }
    Ok(())
}

/// Lets the daemon bring all saves to the disk, which it does in any case; but
/// once the mount is gone nobody waits for that. Gives the number of its
/// process. A daemon that does not answer keeps nobody from unmounting.
fn sync(place: &Path, patience: Duration) -> Option<u64> {
    let (done, synced) = mpsc::channel();
    let place = place.to_path_buf();
    thread::spawn(move || {
        // What fails is told by the daemon.
        let _ = File::open(&place).and_then(|root| root.sync_all());
        let _ = done.send(process_of(&place));
    });
    synced.recv_timeout(patience).ok().flatten()
}

/// The process that a mount says it is served by.
fn process_of(place: &Path) -> Option<u64> {
    let status = fs::read(place.join(".cbfs/status.json")).ok()?;
    let status: serde_json::Value = serde_json::from_slice(&status).ok()?;
    status.get("process")?.as_u64()
}

/// Whether a process of this number serves a mount, and has not ended.
fn is_running(process: u64) -> bool {
    // One that has ended has no arguments any more.
    let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut arguments = arguments.split(|byte| *byte == 0);
    arguments.any(|argument| argument == b"mount")
}

/// The mount at this place, without asking its daemon if that can be avoided.
fn find(mountpoint: &Path) -> io::Result<Option<(PathBuf, Mount)>> {
    let place = canonical(mountpoint)?;
    if let Some(mount) = mount_at(&place)? {
        return Ok(Some((place, mount)));
    }
    // The last part may be a link.
    let place = mountpoint.canonicalize()?;
    Ok(mount_at(&place)?.map(|mount| (place, mount)))
}
