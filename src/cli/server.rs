//! Identification of the process that serves a mount.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Key of the FUSE connection number in `/proc/N/fdinfo/`, since Linux 6.15.
const CONNECTION: &str = "fuse_connection:";

/// The process that serves a mount, as a pidfd. In contrast to its number, the
/// descriptor never refers to another process later.
#[derive(Debug)]
pub(super) struct Server {
    number: i32,
    process: OwnedFd,
}

impl Server {
    /// Finds the process that serves the connection with this number: the
    /// process `reported` by the mount, or one that the system reports. If the
    /// system reports nothing, the reported process is accepted if it is a mount of
    /// cbfs and serves some connection.
    pub(super) fn find(connection: &str, reported: Option<i32>) -> Option<Server> {
        let reported = reported.and_then(Server::open);
        let reported = reported.filter(|server| server.serves(connection).unwrap_or(true));
        // The checks concern the same process if it is still running.
        if let Some(server) = reported.filter(Server::is_running) {
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

    /// The process number.
    pub(super) fn number(&self) -> i32 {
        self.number
    }

    /// Returns whether the process serves the connection with this number;
    /// `None` if it serves some connection and the system does not report
    /// which.
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

    /// Returns whether the process is running.
    pub(super) fn is_running(&self) -> bool {
        let ours = format!("/proc/self/fdinfo/{}", self.process.as_raw_fd());
        let ours = fs::read_to_string(ours).unwrap_or_default();
        let number = ours.lines().find_map(|line| line.strip_prefix("Pid:"));
        // The process may be a zombie.
        is_mount(self.number) && number.is_some_and(|n| n.trim() == self.number.to_string())
    }

    /// Sends SIGTERM to the process if it is running.
    ///
    /// # Errors
    ///
    /// Errors of the system, such as missing permission.
    pub(super) fn terminate(&self) -> io::Result<()> {
        match pidfd_send_signal(&self.process, Signal::TERM) {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            sent => Ok(sent?),
        }
    }
}

/// Returns whether a process is a running `cbfs mount`.
fn is_mount(number: i32) -> bool {
    // A zombie has no arguments.
    let arguments = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    let mut arguments = arguments.split(|byte| *byte == 0);
    arguments.any(|argument| argument == b"mount")
}
