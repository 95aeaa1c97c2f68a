//! One mount from beginning to end.
//!
//! fuser mounts and serves; ending is done here, because fuser 0.18 unmounts
//! without detaching (a busy mount then stays), tries only once, does nothing
//! at all with `auto_unmount`, and after an unmount from outside unmounts once
//! more, whatever lies there by then. So its own handle of the mount is given
//! up as soon as it serves, and the path is detached only while the very
//! mount that was made is still the topmost there.

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

use super::kernel::Kernel;
use super::mounts::{Mount, mount_at};
use super::{Adapter, Ownership, ReadDirPlus};
use crate::vfs::{Mounting, Vfs};

/// After detaching, requests of whoever is still inside are answered for this
/// long.
const GRACE: Duration = Duration::from_secs(1);

/// Threads that render ahead of readers, however many processors there are.
const MOST_READERS_AHEAD: usize = 16;

/// Where lengths are not known from an earlier mount, all processors work on
/// them for so long before the mount can be used. Who mounts does not notice;
/// who lists a week of games then finds the lengths of half of them.
const HEAD_START: Duration = Duration::from_millis(12);

/// What has time begins after the haste, or after so long if that is slow.
const LATEST_FILL: Duration = Duration::from_secs(1);

/// Between two looks whether a base has changed.
const TICK: Duration = Duration::from_millis(500);

/// Between two looks whether saves are to be brought to the disk.
const SYNC_TICK: Duration = Duration::from_millis(500);

/// Not to look all the time, however much hurry there is.
const BREATH: Duration = Duration::from_millis(20);

/// Who may look into the mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Who mounted it.
    #[default]
    Owner,
    /// Also root: `allow_root`.
    OwnerAndRoot,
    /// Everybody, as far as the modes allow: `allow_other`.
    Everybody,
}

/// How a mount looks from outside.
#[derive(Clone, Debug)]
pub struct Options {
    /// What `findmnt` shows as the source.
    pub source: String,
    /// Who may look into it.
    pub access: Audience,
    /// Whether files can be written.
    pub is_writable: bool,
    /// Owner of all files.
    pub uid: u32,
    /// Group of all files.
    pub gid: u32,
    /// Whether names are listed with attributes.
    pub readdirplus: ReadDirPlus,
    /// Whether files have extended attributes.
    pub xattr: bool,
    /// Unmount when the daemon dies, however it dies.
    pub auto_unmount: bool,
    /// Flags of mount(8): noexec, noatime and so on.
    pub flags: Vec<MountOption>,
    /// Other options that were given, as the mount tells them of itself.
    pub others: Vec<String>,
}

/// Why it could not be mounted.
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

/// How a mount ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was unmounted, by whomever.
    Unmounted,
    /// The connection to the kernel broke.
    Failed(String),
}

/// A mount that serves.
#[derive(Debug)]
pub struct Mounted {
    vfs: Arc<Vfs>,
    mountpoint: PathBuf,
    /// Identity of this mount; `None` where the system does not tell.
    ours: Option<Mount>,
    serving: JoinHandle<io::Result<()>>,
    background: Vec<JoinHandle<()>>,
    events: (Sender<Event>, Receiver<Event>),
}

#[derive(Debug)]
enum Event {
    /// Somebody wants it to end.
    Stop,
    /// It has ended.
    Ended(Outcome),
}

/// Ends a mount from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Event>);

impl Stopper {
    /// Makes [`Mounted::run`] end the mount.
    pub fn stop(&self) {
        // Without a receiver the end is under way.
        let _ = self.0.send(Event::Stop);
    }
}

impl Mounted {
    /// Mounts `vfs` at `mountpoint`. When this returns, it can be used. If it
    /// fails, `vfs` is closed.
    ///
    /// # Errors
    ///
    /// Says what to do about it, where there is something.
    pub fn new(vfs: Arc<Vfs>, mountpoint: &Path, options: &Options) -> Result<Mounted, MountError> {
        let kept = Arc::clone(&vfs);
        Mounted::start(vfs, mountpoint, options).inspect_err(|_| kept.close())
    }

    fn start(vfs: Arc<Vfs>, mountpoint: &Path, options: &Options) -> Result<Mounted, MountError> {
        let failed = |why: String| MountError {
            what: mountpoint.display().to_string(),
            why,
        };
        let place = mountpoint
            .canonicalize()
            .map_err(|error| failed(error.to_string()))?;
        let ownership = Ownership {
            uid: options.uid,
            gid: options.gid,
            // The kernel answers from what it keeps without asking who asks,
            // so that others stay outside is up to the modes.
            mask: match options.access {
                Audience::OwnerAndRoot => 0o700,
                Audience::Owner | Audience::Everybody => 0o777,
            },
        };
        vfs.set_mounting(mounting(&place, options));
        let mut background = start_background(&vfs).map_err(|error| failed(error.to_string()))?;
        vfs.background().wait_for_haste(HEAD_START);
        let told = Arc::new(OnceLock::new());
        let adapter = Adapter::new(Arc::clone(&vfs), ownership, options, Arc::clone(&told));
        let served = Session::new(adapter, &place, &config(options))
            .and_then(|session| {
                let kernel = Kernel::of(&session, options.is_writable)?;
                let _ = told.set(kernel);
                background.push(start_watching(&vfs, told)?);
                if options.is_writable {
                    background.push(start_syncing(&vfs)?);
                }
                session.spawn()
            })
            .and_then(|mut session| {
                let placeholder = thread::Builder::new().spawn(|| Ok(()))?;
                let serving = mem::replace(&mut session.guard, placeholder);
                // What is left of it would only unmount.
                mem::forget(session);
                Ok(serving)
            });
        let serving = match served {
            Ok(serving) => serving,
            Err(error) => {
                stop_background(&vfs, background);
                return Err(failed(explain(&error)));
            }
        };
        Ok(Mounted {
            vfs,
            ours: mount_at(&place).ok().flatten(),
            mountpoint: place,
            serving,
            background,
            events: mpsc::channel(),
        })
    }

    /// Where it is mounted, absolute and without links.
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// What ends this mount from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.events.0.clone())
    }

    /// Serves until it is unmounted, or until the [`Stopper`] says so: then
    /// the mount is taken from its place at once, even if busy, and the end
    /// follows within a second.
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
            // Nobody listens any more if the grace is over.
            let _ = sender.send(Event::Ended(outcome(serving.join())));
        });
        let mut event = events.recv();
        if !matches!(event, Ok(Event::Ended(_))) {
            // Who waits for the mount to go finds all saves on the disk.
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

/// What the mount says of itself.
fn mounting(mountpoint: &Path, options: &Options) -> Mounting {
    let access = match options.access {
        Audience::Owner => None,
        Audience::OwnerAndRoot => Some("allow_root".to_owned()),
        Audience::Everybody => Some("allow_other".to_owned()),
    };
    let auto_unmount = options.auto_unmount.then(|| "auto_unmount".to_owned());
    let owner = [
        format!("uid={}", options.uid),
        format!("gid={}", options.gid),
    ];
    // They are called as mount(8) calls them, but for the case.
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

/// Whether this is how the kernel says that nothing is mounted any more.
fn is_end(error: &io::Error) -> bool {
    let ends = [libc::ENODEV, libc::ENOTCONN, libc::ECONNABORTED];
    error
        .raw_os_error()
        .is_some_and(|errno| ends.contains(&errno))
}

/// Lends threads to the work beside the requests: one for each processor, and
/// one for what has time.
fn start_background(vfs: &Arc<Vfs>) -> io::Result<Vec<JoinHandle<()>>> {
    let filler = Arc::clone(vfs);
    let mut threads = vec![
        thread::Builder::new()
            .name("fill".to_owned())
            .spawn(move || {
                filler.background().wait_for_haste(LATEST_FILL);
                // On Linux this is the niceness of this thread alone.
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
            reader.hasten();
            reader.read_ahead();
        })?;
        threads.push(thread);
    }
    Ok(threads)
}

pub(super) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Lends a thread that notices when what is mounted changes, and tells the
/// kernel. It answers no requests: the kernel may wait for those.
fn start_watching(vfs: &Arc<Vfs>, kernel: Arc<OnceLock<Kernel>>) -> io::Result<JoinHandle<()>> {
    let vfs = Arc::clone(vfs);
    thread::Builder::new()
        .name("watch".to_owned())
        .spawn(move || {
            let Some(kernel) = kernel.get() else { return };
            while vfs.background().pause(TICK) {
                kernel.tell(&vfs.refresh());
                thread::sleep(BREATH);
            }
        })
}

/// Lends a thread that brings saves to the disk.
fn start_syncing(vfs: &Arc<Vfs>) -> io::Result<JoinHandle<()>> {
    let vfs = Arc::clone(vfs);
    thread::Builder::new()
        .name("sync".to_owned())
        .spawn(move || {
            while vfs.background().pass(SYNC_TICK) {
                vfs.sync_if_due(Instant::now());
            }
        })
}

/// Keeps what was not saved, and brings to the disk what was.
fn end_writing(vfs: &Vfs) {
    if let Err(error) = vfs.drafts().end() {
        log::error!("saves are not in the base's files yet, but in its journal: {error}");
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
        // fusermount3 takes all options as one line.
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
        // The kernel checks modes by itself and asks less.
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
        Audience::Everybody => SessionACL::All,
    };
    config.n_threads = Some(cores().clamp(4, 16));
    config
}

/// Commas would begin another option.
fn escape(source: &str) -> String {
    source.replace('\\', r"\\").replace(',', r"\,")
}

/// Whether this process may mount by itself, without fusermount3.
fn may_mount() -> bool {
    const SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set >> SYS_ADMIN & 1 == 1)
}

/// What the system's reason means for who wanted to mount.
fn explain(error: &io::Error) -> String {
    let fuse = "/dev/fuse";
    let text = error.to_string();
    let text = text.trim().trim_start_matches("fusermount3: ");
    if !Path::new(fuse).exists() {
        return format!(
            "{fuse} is not there; load the module with `modprobe fuse`, or give it to the container"
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

/// Takes the mount away unless something else sits there now. Numbers of
/// devices and mounts are given again, so all that is known must agree.
fn detach_if_ours(mountpoint: &Path, ours: Option<&Mount>) {
    let present = mount_at(mountpoint).ok().flatten();
    if ours.is_none() || present.as_ref() != ours {
        return;
    }
    if let Err(error) = detach(mountpoint) {
        log::error!("{}: {error}", mountpoint.display());
    }
}

/// Takes what is mounted at `mountpoint` from there, even if it is in use:
/// who has files of it open may finish.
///
/// # Errors
///
/// The system's, or that of fusermount3.
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
    fn a_path_cannot_smuggle_options_in() {
        assert_eq!(escape("/my,rw/a\\b.cbh"), "/my\\,rw/a\\\\b.cbh");
    }
}
