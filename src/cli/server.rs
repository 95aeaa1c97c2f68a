//! The process that serves a mount.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// What `/proc/N/fdinfo/` says since Linux 6.15 of a connection to the kernel.
const CONNECTION: &str = "fuse_connection:";

/// The process that serves a mount, held by a descriptor: its number may become
/// another's when it has ended, the descriptor never does.
#[derive(Debug)]
pub(super) struct Server {
    number: i32,
    process: OwnedFd,
}

impl Server {
    /// The process that serves the connection of this number: the one that the
    /// mount has `told`, or one that the system says it of. Where the system
    /// does not say, the one that was told, if it mounts and serves something.
    pub(super) fn find(connection: &str, told: Option<i32>) -> Option<Server> {
        let told = told.and_then(Server::open);
        let told = told.filter(|server| server.serves(connection).unwrap_or(true));
        // The checks were of this process if it has not ended since.
        if let Some(server) = told.filter(Server::is_running) {
            return Some(server);
        }
        let entries = fs::read_dir("/proc").ok()?.flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut mounts = numbers.filter(|number| is_mount(*number));
        mounts.find_map(|number| {
            let server = Server::open(number)?;
            let is_it = server.serves(connection) == Some(true) && server.is_running();
            is_it.then_some(server)
        })
    }

    fn open(number: i32) -> Option<Server> {
        let process = pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()?;
        Some(Server { number, process })
    }

    /// The number of the process.
    pub(super) fn number(&self) -> i32 {
        self.number
    }

    /// Whether it serves the connection of this number; `None` if it serves
    /// one, and the system does not say which.
    fn serves(&self, connection: &str) -> Option<bool> {
        let process = Path::new("/proc").join(self.number.to_string());
        let Ok(descriptors) = fs::read_dir(process.join("fd")) else {
            return Some(false);
        };
        let mut is_known = true;
        for descriptor in descriptors.flatten() {
            let target = fs::read_link(descriptor.path()).unwrap_or_default();
            if target != Path::new("/dev/fuse") {
                continue;
            }
            let info = process.join("fdinfo").join(descriptor.file_name());
            let info = fs::read_to_string(info).unwrap_or_default();
            match info.lines().find_map(|line| line.strip_prefix(CONNECTION)) {
                Some(number) if number.trim() == connection => return Some(true),
                Some(_) => {}
                None => is_known = false,
            }
        }
        is_known.then_some(false)
    }

    /// Whether it has not ended.
    pub(super) fn is_running(&self) -> bool {
        let ours = format!("/proc/self/fdinfo/{}", self.process.as_raw_fd());
        let ours = fs::read_to_string(ours).unwrap_or_default();
        let number = ours.lines().find_map(|line| line.strip_prefix("Pid:"));
        // Nobody has asked yet how it ended, perhaps.
        is_mount(self.number) && number.is_some_and(|n| n.trim() == self.number.to_string())
    }

    /// Tells it to end, if it has not.
    ///
    /// # Errors
    ///
    /// The system's, as when the process is somebody else's.
    pub(super) fn terminate(&self) -> io::Result<()> {
        match pidfd_send_signal(&self.process, Signal::TERM) {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            sent => Ok(sent?),
        }
    }
}

/// Whether a process mounts something, and has not ended.
fn is_mount(number: i32) -> bool {
    // One that has ended has no arguments any more.
    let arguments = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    let mut arguments = arguments.split(|byte| *byte == 0);
    arguments.any(|argument| argument == b"mount")
}
