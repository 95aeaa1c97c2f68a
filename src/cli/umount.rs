//! `cbfs umount`: unmounts and ends the daemon.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};

use super::server::Server;
use super::{Failure, user_service};
use crate::fuse::{MountInfo, canonical, detach, mount_at};

/// Default time to wait for the daemon.
const DEFAULT_WAIT: Duration = Duration::from_secs(5);

/// Time limit for syncing saves to disk.
const SYNC_TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit for a daemon to end after SIGTERM.
const END_TIMEOUT: Duration = Duration::from_secs(60);

/// Interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Arguments of `cbfs umount`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The mount point
    mountpoint: PathBuf,

    /// Seconds to wait for the daemon to end, before its connection is closed
    /// by force
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u64>,

    /// Remove the service that mounts there after each login
    #[arg(long)]
    user_service: bool,
}

/// Detaches the mount even if it is in use, and makes sure that its daemon
/// ends: by itself, or by SIGTERM if processes inside, or a copy of the mount
/// in another namespace, keep it alive.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.user_service {
        return user_service::remove(&args.mountpoint);
    }
    let failed = |why: &str| Failure::about(&args.mountpoint, why);
    let (place, mount) = find(&args.mountpoint)
        .map_err(|error| Failure::about(&args.mountpoint, error))?
        .ok_or_else(|| failed("nothing is mounted there"))?;
    if !mount.is_cbfs() {
        return Err(failed("not a mount of cbfs; use umount"));
    }
    let daemon = sync(&place, args.wait.map_or(SYNC_TIMEOUT, Duration::from_secs));
    let connection = mount.device.split(':').nth(1).unwrap_or_default();
    let server = Server::find(connection, daemon.status.process());
    match umount2(&place, MntFlags::UMOUNT_NOFOLLOW) {
        Ok(()) => {}
        Err(Errno::EBUSY | Errno::EPERM) => {
            detach(&place).map_err(|error| Failure::about(&args.mountpoint, error))?;
        }
        Err(error) => return Err(Failure::about(&args.mountpoint, error.desc())),
    }
    let connection = Path::new("/sys/fs/fuse/connections").join(connection);
    let ended = wait_for_end(args, &connection, server, daemon.is_dead);
    ended.map_err(|why| failed(&why))?;
    let Some(error) = daemon.sync_error else {
        return Ok(());
    };
    let bases = match daemon.status.unsaved_bases().join(", ") {
        names if names.is_empty() => "the base".to_owned(),
        names => names,
    };
    // The daemon tries once more when it ends, which this command does not hear of.
    Err(failed(&format!(
        "it is unmounted, but saves were not in the files of {bases} before: {error}; the next \
         mount brings in what is still in a journal beside them, or says why it cannot"
    )))
}

/// Waits until the daemon has ended, and ends it if it does not by itself.
fn wait_for_end(
    args: &Args,
    connection: &Path,
    server: Option<Server>,
    is_dead: bool,
) -> Result<(), String> {
    // While it runs it may hold the lock of the base, which then cannot be
    // mounted again.
    let is_over = || !connection.exists() && !server.as_ref().is_some_and(Server::is_running);
    if wait_until(args.wait.map_or(DEFAULT_WAIT, Duration::from_secs), is_over) {
        return Ok(());
    }
    if args.wait.is_some() && connection.exists() {
        let abort = connection.join("abort");
        fs::write(&abort, "1").map_err(|error| format!("{}: {error}", abort.display()))?;
    }
    match server {
        Some(server) => end(&server),
        None if is_dead || args.wait.is_some() => Ok(()),
        None => Err(
            "the process that serves it was not found; it ends when nothing uses the mount any more"
                .to_owned(),
        ),
    }
}

/// Ends a daemon with SIGTERM: unsaved edits are kept in `.cbfs/rejected/`, and
/// saves are synced to disk.
fn end(server: &Server) -> Result<(), String> {
    let number = server.number();
    server
        .terminate()
        .map_err(|error| format!("process {number} serves it and cannot be ended: {error}"))?;
    if wait_until(END_TIMEOUT, || !server.is_running()) {
        return Ok(());
    }
    Err(format!(
        "process {number} has not ended {} seconds after SIGTERM; it may still hold the base",
        END_TIMEOUT.as_secs()
    ))
}

/// Polls `is_so` until it is true or the time is over. Returns whether it
/// became true.
fn wait_until(timeout: Duration, is_so: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() >= timeout {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

/// State of the daemon as the mount reports it.
#[derive(Debug, Default)]
struct DaemonState {
    /// Its `.cbfs/status.json`.
    status: Status,
    /// Whether the daemon has died.
    is_dead: bool,
    /// Why saves could not be synced.
    sync_error: Option<io::Error>,
}

/// Syncs all saves to disk. The daemon does that in any case, but after
/// unmounting the command would not wait for it. A daemon that does not answer
/// does not prevent unmounting.
fn sync(place: &Path, timeout: Duration) -> DaemonState {
    let (done, synced) = mpsc::channel();
    let place = place.to_path_buf();
    thread::spawn(move || {
        let synced = File::open(&place).and_then(|root| root.sync_all());
        let is_end = |error: &io::Error| error.raw_os_error() == Some(libc::ENOTCONN);
        let _ = done.send(DaemonState {
            is_dead: synced.as_ref().is_err_and(is_end),
            sync_error: synced.err().filter(|error| !is_end(error)),
            status: Status::read(&place),
        });
    });
    synced.recv_timeout(timeout).unwrap_or_default()
}

/// The content of `.cbfs/status.json`; null if the file cannot be read.
#[derive(Debug, Default)]
struct Status(serde_json::Value);

impl Status {
    fn read(place: &Path) -> Status {
        let text = fs::read(place.join(".cbfs/status.json")).unwrap_or_default();
        Status(serde_json::from_slice(&text).unwrap_or_default())
    }

    /// The process number of the daemon.
    fn process(&self) -> Option<i32> {
        i32::try_from(self.0.get("process")?.as_i64()?).ok()
    }

    /// The names of the bases in a mount of a directory whose saves are not in their files.
    fn unsaved_bases(&self) -> Vec<&str> {
        let bases = self.0.get("bases").and_then(serde_json::Value::as_array);
        let unsaved = |base: &&serde_json::Value| {
            let problem = base.get("problem");
            problem.is_some_and(serde_json::Value::is_string)
        };
        let unsaved = bases.into_iter().flatten().filter(unsaved);
        unsaved
            .filter_map(|base| base.get("name")?.as_str())
            .collect()
    }
}

/// Finds the mount at a path, without requests to its daemon if possible.
fn find(mountpoint: &Path) -> io::Result<Option<(PathBuf, MountInfo)>> {
    let place = canonical(mountpoint)?;
    if let Some(mount) = mount_at(&place)? {
        return Ok(Some((place, mount)));
    }
    // The last component may be a symbolic link.
    let place = mountpoint.canonicalize()?;
    Ok(mount_at(&place)?.map(|mount| (place, mount)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_names_the_bases_whose_saves_are_in_a_journal() {
        for (status, names) in [
            ("{}", &[][..]),
            (r#"{"problem": "disk full"}"#, &[]),
            (
                r#"{"bases": [{"name": "a", "problem": null}, {"name": "b", "problem": "gone"}]}"#,
                &["b"],
            ),
        ] {
            let status = Status(serde_json::from_str(status).unwrap());
            assert_eq!(status.unsaved_bases(), names);
        }
    }
}
