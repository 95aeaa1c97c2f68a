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
use super::server::Server;
use crate::fuse::{Mount, canonical, detach, mount_at};

/// How long to wait for the daemon where nothing was said.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait for saves to be on the disk.
const SYNC_PATIENCE: Duration = Duration::from_mins(1);

/// How long a daemon that was told to end may take.
const END_PATIENCE: Duration = Duration::from_mins(1);

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

/// Takes the mount away, even if it is in use, and sees that its daemon ends:
/// by itself if it soon does, told to if whoever is still inside, or a copy of
/// the mount in another namespace, keeps it alive.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let failed = |why: &str| Failure::about(&args.mountpoint, why);
    let (place, mount) = find(&args.mountpoint)
        .map_err(|error| Failure::about(&args.mountpoint, error))?
        .ok_or_else(|| failed("nothing is mounted there"))?;
    if mount.kind != "fuse.cbfs" {
        return Err(failed("not a mount of cbfs; use umount"));
    }
    let told = sync(&place, args.wait.map_or(SYNC_PATIENCE, Duration::from_secs));
    let connection = mount.device.split(':').nth(1).unwrap_or_default();
    let server = Server::find(connection, told.process);
    match umount2(&place, MntFlags::UMOUNT_NOFOLLOW) {
        Ok(()) => {}
        Err(Errno::EBUSY | Errno::EPERM) => {
            detach(&place).map_err(|error| Failure::about(&args.mountpoint, error))?;
        }
        Err(error) => return Err(Failure::about(&args.mountpoint, error.desc())),
    }
    let connection = Path::new("/sys/fs/fuse/connections").join(connection);
    // For as long as it runs it may hold the base, which could not be mounted
    // again.
    let is_over = || !connection.exists() && !server.as_ref().is_some_and(Server::is_running);
    if wait_until(args.wait.map_or(PATIENCE, Duration::from_secs), is_over) {
        return Ok(());
    }
    if args.wait.is_some() && connection.exists() {
        let abort = connection.join("abort");
        fs::write(&abort, "1").map_err(|error| Failure::about(&abort, error))?;
    }
    match server {
        Some(server) => end(&server).map_err(|why| failed(&why)),
        None if told.is_dead || args.wait.is_some() => Ok(()),
        None => Err(failed(
            "the process that serves it is not found, and goes on until nobody uses it",
        )),
    }
}

/// Lets a daemon end as SIGTERM does: what is not saved is kept, and what is
/// saved brought to the disk.
fn end(server: &Server) -> Result<(), String> {
    let number = server.number();
    server
        .terminate()
        .map_err(|error| format!("process {number} serves it and cannot be ended: {error}"))?;
    if wait_until(END_PATIENCE, || !server.is_running()) {
        return Ok(());
    }
    Err(format!(
        "process {number} has not ended {} seconds after SIGTERM; it may still hold what was mounted",
        END_PATIENCE.as_secs()
    ))
}

/// Whether something comes to be so in time.
fn wait_until(patience: Duration, is_so: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() >= patience {
            return false;
        }
        thread::sleep(BREATH);
    }
    true
}

/// What a mount says of its daemon.
#[derive(Debug, Default)]
struct Told {
    /// The number of its process.
    process: Option<i32>,
    /// Whether there is none any more.
    is_dead: bool,
}

/// Lets the daemon bring all saves to the disk, which it does in any case; but
/// once the mount is gone nobody waits for that. A daemon that does not answer
/// keeps nobody from unmounting.
fn sync(place: &Path, patience: Duration) -> Told {
    let (done, synced) = mpsc::channel();
    let place = place.to_path_buf();
    thread::spawn(move || {
        let root = File::open(&place);
        let is_dead = root
            .as_ref()
            .is_err_and(|error| error.raw_os_error() == Some(libc::ENOTCONN));
        // What fails is told by the daemon.
        let _ = root.and_then(|root| root.sync_all());
        let process = process_of(&place);
        let _ = done.send(Told { process, is_dead });
    });
    synced.recv_timeout(patience).unwrap_or_default()
}

/// The process that a mount says it is served by.
fn process_of(place: &Path) -> Option<i32> {
    let status = fs::read(place.join(".cbfs/status.json")).ok()?;
    let status: serde_json::Value = serde_json::from_slice(&status).ok()?;
    i32::try_from(status.get("process")?.as_i64()?).ok()
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
