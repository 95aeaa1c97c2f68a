//! One mount from mounting to unmounting.
//!
//! fuser mounts and serves, but unmounting is done here. fuser 0.18 unmounts
//! without detaching (a busy mount then stays), tries only once, does nothing
//! with `auto_unmount`, and after an external unmount it unmounts the path
//! again, whatever is mounted there by then. So its handle of the mount is
//! dropped as soon as the mount serves, and the path is detached only while the
//! same mount is still the topmost one.

use std::fmt;
use std::fs;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvError, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use fuser::{Config, MountOption, Session, SessionACL};
use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};

use super::handed_over::{descriptor_of, duplicate};
use super::kernel::Kernel;
use super::mounts::{MountInfo, mount_at};
use super::{Adapter, Ownership, ReadDirPlus};
use crate::vfs::{Mounting, Vfs};

/// Time for which requests are answered after detaching.
const GRACE: Duration = Duration::from_secs(1);

/// Maximum number of threads that render ahead of readers.
const MOST_READERS_AHEAD: usize = 16;

/// Without known lengths from an earlier mount, all processors compute lengths
/// for this long before the mount is ready. The delay is not noticeable; half
/// of the lengths of a small base are known then.
const HEAD_START: Duration = Duration::from_millis(12);

/// Background work starts after the first lengths, or after this time.
const LATEST_FILL: Duration = Duration::from_secs(1);

/// Interval of checking whether a base has changed.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// Interval of checking whether saves have to be synced.
const SYNC_INTERVAL: Duration = Duration::from_millis(500);

/// Minimum interval between two checks.
const MIN_INTERVAL: Duration = Duration::from_millis(20);

/// The users that can access a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Only the user who mounted it.
    #[default]
    Owner,
    /// Also root: option `allow_root`.
    OwnerAndRoot,
    /// All users, subject to the file modes: option `allow_other`.
    AllUsers,
}

/// External properties of a mount.
#[derive(Clone, Debug)]
pub struct Options {
    /// The source that `findmnt` shows.
    pub source: String,
    /// The users that can access it.
    pub access: Audience,
    /// Whether it is writable.
    pub is_writable: bool,
    /// Owner of all files.
    pub uid: u32,
    /// Group of all files.
    pub gid: u32,
    /// Whether listings include attributes.
    pub readdirplus: ReadDirPlus,
    /// Whether files have extended attributes.
    pub xattr: bool,
    /// Unmount when the daemon dies.
    pub auto_unmount: bool,
    /// Flags of mount(8): noexec, noatime and so on.
    pub flags: Vec<MountOption>,
    /// Other options that were given, as `.cbfs/status` shows them.
    pub others: Vec<String>,
}

/// Error of mounting.
#[derive(Debug)]
pub struct MountError {
    what: String,
    why: String,
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl std::error::Error for MountError {}

/// The way a mount ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was unmounted.
    Unmounted,
    /// The connection to the kernel failed.
    Failed(String),
}

/// An active mount.
#[derive(Debug)]
pub struct Mounted {
    vfs: Arc<Vfs>,
    mountpoint: PathBuf,
    /// Identity of this mount; `None` if `/proc` does not show it.
    ours: Option<MountInfo>,
    serving: JoinHandle<io::Result<()>>,
    background: Vec<JoinHandle<()>>,
    events: (Sender<Event>, Receiver<Event>),
}

#[derive(Debug)]
enum Event {
    /// A request to end the mount.
    Stop,
    /// The mount has ended.
    Ended(Outcome),
}

/// Handle to end a mount from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Event>);

impl Stopper {
    /// Makes [`Mounted::run`] end the mount.
    pub fn stop(&self) {
        // Without a receiver, the mount is ending already.
        let _ = self.0.send(Event::Stop);
    }
}

impl Mounted {
    /// Mounts `vfs` at `mountpoint`, or serves what another program has mounted if
    /// that is `/dev/fd/N`. The mount is ready when this returns. On failure, `vfs`
    /// is closed.
    ///
    /// # Errors
    ///
    /// [`MountError`], with advice for the user where possible.
    pub fn new(vfs: Arc<Vfs>, mountpoint: &Path, options: &Options) -> Result<Mounted, MountError> {
        let kept = Arc::clone(&vfs);
        Mounted::start(vfs, mountpoint, options).inspect_err(|_| kept.close())
    }

    fn start(vfs: Arc<Vfs>, mountpoint: &Path, options: &Options) -> Result<Mounted, MountError> {
        let failed = |why: String| MountError {
            what: mountpoint.display().to_string(),
            why,
        };
        let descriptor = descriptor_of(mountpoint);
        let place = match descriptor {
            Some(_) => Ok(mountpoint.to_path_buf()),
            None => mountpoint.canonicalize(),
        };
        let place = place.map_err(|error| failed(error.to_string()))?;
        let ownership = Ownership {
            uid: options.uid,
            gid: options.gid,
            // The kernel answers from its cache without checking the user, so
            // the modes have to exclude others.
            mask: match options.access {
                Audience::OwnerAndRoot => 0o700,
                Audience::Owner | Audience::AllUsers => 0o777,
            },
        };
        vfs.set_mounting(mounting(&place, options));
        let mut background = start_background(&vfs).map_err(|error| failed(error.to_string()))?;
        vfs.background().wait_for_first_lengths(HEAD_START);
        let kernel_cell = Arc::new(OnceLock::new());
        let adapter = Adapter::new(
            Arc::clone(&vfs),
            ownership,
            options,
            Arc::clone(&kernel_cell),
        );
        let session = match descriptor {
            Some(descriptor) => duplicate(descriptor).and_then(|connection| {
                let config = config(options);
                Session::from_fd(adapter, connection, config.acl, config)
            }),
            None => Session::new(adapter, &place, &config(options)),
        };
        let served = session
            .and_then(|session| {
                let kernel = Kernel::of(&session, options.is_writable)?;
                let _ = kernel_cell.set(kernel);
                background.push(start_watching(&vfs, kernel_cell)?);
                if options.is_writable {
                    background.push(start_syncing(&vfs)?);
                }
                session.spawn()
            })
            .and_then(|mut session| {
                let placeholder = thread::Builder::new().spawn(|| Ok(()))?;
                let serving = mem::replace(&mut session.guard, placeholder);
                // Dropping the session would unmount.
                mem::forget(session);
                Ok(serving)
            });
        let serving = match served {
            Ok(serving) => serving,
            Err(error) => {
                stop_background(&vfs, background);
                return Err(failed(match descriptor {
                    Some(_) => format!("no mount is served through it: {error}"),
                    None => explain(&error),
                }));
            }
        };
        Ok(Mounted {
            vfs,
            ours: match descriptor {
                None => mount_at(&place).ok().flatten(),
                // The program that mounted it unmounts it.
                Some(_) => None,
            },
            mountpoint: place,
            serving,
            background,
            events: mpsc::channel(),
        })
    }

    /// The mount point, absolute and without symbolic links.
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// Returns a handle to end this mount from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.events.0.clone())
    }

    /// Serves until the mount is unmounted or the [`Stopper`] is used. In the
    /// latter case the mount is detached at once, even if it is busy, and this
    /// returns within a second.
    pub fn run(self) -> Outcome {
        let Mounted {
            vfs,
            mountpoint,
            ours,
            serving,
            background,
            events: (sender, events),
        } = self;
        thread::spawn(move || {
            // The receiver is gone when the grace period is over.
            let _ = sender.send(Event::Ended(outcome(serving.join())));
        });
        let mut event = events.recv();
        if !matches!(event, Ok(Event::Ended(_))) {
            // Sync before unmounting, for processes that wait for it.
            end_writing(&vfs);
            detach_if_ours(&mountpoint, ours.as_ref());
            event = events.recv_timeout(GRACE).map_err(|_| RecvError);
        }
        stop_background(&vfs, background);
        end_writing(&vfs);
        vfs.close();
        vfs.save_sizes();
        let Ok(Event::Ended(outcome)) = event else {
            log::info!("{}: still in use, ending anyway", mountpoint.display());
            return Outcome::Unmounted;
        };
        if outcome != Outcome::Unmounted {
            detach_if_ours(&mountpoint, ours.as_ref());
        }
        outcome
    }
}

/// The description of the mount for `.cbfs/status`.
fn mounting(mountpoint: &Path, options: &Options) -> Mounting {
    let access = match options.access {
        Audience::Owner => None,
        Audience::OwnerAndRoot => Some("allow_root".to_owned()),
        Audience::AllUsers => Some("allow_other".to_owned()),
    };
    let auto_unmount = options.auto_unmount.then(|| "auto_unmount".to_owned());
    let owner = [
        format!("uid={}", options.uid),
        format!("gid={}", options.gid),
    ];
    // Names of flags in mount(8), except for upper case.
    let flags = options.flags.iter().map(|flag| format!("{flag:?}"));
    let flags = flags.map(|flag| flag.to_lowercase());
    Mounting {
        mountpoint: mountpoint.to_path_buf(),
        is_writable: options.is_writable,
        options: access
            .into_iter()
            .chain(auto_unmount)
            .chain(owner)
            .chain(flags)
            .chain(options.others.iter().cloned())
            .collect(),
        readdirplus: match options.readdirplus {
            ReadDirPlus::BySize => "by size",
            ReadDirPlus::Auto => "auto",
            ReadDirPlus::On => "on",
            ReadDirPlus::Off => "off",
        },
        has_xattr: options.xattr,
        process: std::process::id(),
        started: SystemTime::now(),
        since: Instant::now(),
        clock: Instant::now,
    }
}

fn outcome(served: thread::Result<io::Result<()>>) -> Outcome {
    match served {
        Ok(Ok(())) => Outcome::Unmounted,
        Ok(Err(error)) if is_end(&error) => Outcome::Unmounted,
        Ok(Err(error)) => Outcome::Failed(error.to_string()),
        Err(_) => Outcome::Failed("a thread panicked".to_owned()),
    }
}

/// Returns whether the error means that the mount was unmounted.
fn is_end(error: &io::Error) -> bool {
    let ends = [libc::ENODEV, libc::ENOTCONN, libc::ECONNABORTED];
    error
        .raw_os_error()
        .is_some_and(|errno| ends.contains(&errno))
}

/// Starts the background threads: one per processor for urgent work, and one
/// for the rest.
fn start_background(vfs: &Arc<Vfs>) -> io::Result<Vec<JoinHandle<()>>> {
    let filler = Arc::clone(vfs);
    let mut threads = vec![
        thread::Builder::new()
            .name("fill".to_owned())
            .spawn(move || {
                filler.background().wait_for_first_lengths(LATEST_FILL);
                // On Linux, this sets the niceness of the current thread only.
                if let Err(error) = rustix::process::nice(19) {
                    log::debug!("nice: {error}");
                }
                filler.fill();
            })?,
    ];
    for _ in 0..cores().min(MOST_READERS_AHEAD) {
        let reader = Arc::clone(vfs);
        let thread = thread::Builder::new().name("read-ahead".to_owned());
        let thread = thread.spawn(move || {
            reader.measure_first_files();
            reader.read_ahead();
        })?;
        threads.push(thread);
    }
    Ok(threads)
}

pub(super) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Starts a thread that detects changes of the base and invalidates the caches
/// of the kernel. It answers no requests, because the kernel may wait for
/// replies.
fn start_watching(vfs: &Arc<Vfs>, kernel: Arc<OnceLock<Kernel>>) -> io::Result<JoinHandle<()>> {
    let vfs = Arc::clone(vfs);
    thread::Builder::new()
        .name("watch".to_owned())
        .spawn(move || {
            let Some(kernel) = kernel.get() else { return };
            while vfs.background().pause(WATCH_INTERVAL) {
                kernel.tell(&vfs.refresh());
                thread::sleep(MIN_INTERVAL);
            }
        })
}

/// Starts a thread that syncs saves to disk.
fn start_syncing(vfs: &Arc<Vfs>) -> io::Result<JoinHandle<()>> {
    let vfs = Arc::clone(vfs);
    thread::Builder::new()
        .name("sync".to_owned())
        .spawn(move || {
            while vfs.background().pass(SYNC_INTERVAL) {
                vfs.sync_if_due(Instant::now());
            }
        })
}

/// Keeps unsaved edits as rejected drafts in `.cbfs/rejected/`, and syncs
/// saves.
fn end_writing(vfs: &Vfs) {
    if let Err(error) = vfs.drafts().end() {
        log::error!("sync failed: saves are not durable yet: {error}");
    }
}

fn stop_background(vfs: &Vfs, threads: Vec<JoinHandle<()>>) {
    vfs.background().stop();
    for thread in threads {
        if thread.join().is_err() {
            log::error!("a background thread panicked");
        }
    }
}

fn config(options: &Options) -> Config {
    let source = if may_mount() && !options.auto_unmount {
        options.source.clone()
    } else {
        // fusermount3 takes all options in one argument.
        escape(&options.source)
    };
    let mut mount_options = vec![
        if options.is_writable {
            MountOption::RW
        } else {
            MountOption::RO
        },
        MountOption::FSName(source),
        MountOption::CUSTOM("subtype=cbfs".to_owned()),
        // The kernel checks the modes.
        MountOption::DefaultPermissions,
    ];
    if options.auto_unmount {
        mount_options.push(MountOption::AutoUnmount);
    }
    mount_options.extend(options.flags.iter().cloned());
    let mut config = Config::default();
    config.mount_options = mount_options;
    config.acl = match options.access {
        Audience::Owner => SessionACL::Owner,
        Audience::OwnerAndRoot => SessionACL::RootAndOwner,
        Audience::AllUsers => SessionACL::All,
    };
    config.n_threads = Some(cores().clamp(4, 16));
    config
}

/// Escapes commas, which would start another option.
fn escape(source: &str) -> String {
    source.replace('\\', r"\\").replace(',', r"\,")
}

/// Returns whether this process has the right to mount without fusermount3.
fn may_mount() -> bool {
    const SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set >> SYS_ADMIN & 1 == 1)
}

/// Explains an error of mounting to the user.
fn explain(error: &io::Error) -> String {
    let fuse = "/dev/fuse";
    let text = error.to_string();
    let text = text.trim().trim_start_matches("fusermount3: ");
    if !Path::new(fuse).exists() {
        return format!(
            "{fuse} does not exist; load the kernel module with `modprobe fuse`; in a container, pass the device to it (--device {fuse})"
        );
    }
    let device = fs::File::options().read(true).write(true).open(fuse);
    if let Err(refused) = device {
        return format!(
            "{fuse}: {refused}; it should be readable and writable by everybody (mode 0666)"
        );
    }
    if text.contains("user_allow_other") {
        return "allow_other and allow_root need the line `user_allow_other` in /etc/fuse.conf"
            .to_owned();
    }
    if !may_mount() && !has_fusermount() {
        return "the program fusermount3 is not there; install the package fuse3".to_owned();
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("{text}; mounting needs fusermount3 or root"),
        _ => text.replace('\n', " "),
    }
}

fn has_fusermount() -> bool {
    ["fusermount3", "fusermount"].iter().any(|program| {
        Command::new(program)
            .arg("-V")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok()
    })
}

/// Detaches the mount unless another one is topmost now. Device numbers and
/// mount ids are reused, so all known properties must agree.
fn detach_if_ours(mountpoint: &Path, ours: Option<&MountInfo>) {
    let present = mount_at(mountpoint).ok().flatten();
    if ours.is_none() || present.as_ref() != ours {
        return;
    }
    if let Err(error) = detach(mountpoint) {
        log::error!("{}: {error}", mountpoint.display());
    }
}

/// Detaches the mount at `mountpoint`, even if it is busy. Open files stay
/// usable.
///
/// # Errors
///
/// Errors of umount2(2) or fusermount3.
pub fn detach(mountpoint: &Path) -> io::Result<()> {
    match umount2(mountpoint, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW) {
        Err(Errno::EPERM) => fusermount(mountpoint),
        other => Ok(other?),
    }
}

fn fusermount(mountpoint: &Path) -> io::Result<()> {
    let output = Command::new("fusermount3")
        .args(["-u", "-z", "--"])
        .arg(mountpoint)
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(message.trim().replace('\n', "; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_commas_adds_no_options() {
        assert_eq!(escape("/my,rw/a\\b.cbh"), "/my\\,rw/a\\\\b.cbh");
    }
}
