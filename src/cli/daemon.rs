//! Start of the background process that serves a mount.
//!
//! `cbfs mount` starts the program again as a daemon. The daemon opens the base
//! and mounts it while it is still in the session of the terminal, with the
//! same stderr, so errors are printed there, and its exit code becomes that of
//! the command. When the mount is ready, the daemon leaves the terminal and
//! writes a line to its standard output, which is a pipe to the first process.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::Failure;

const READY: &str = "ready\n";

/// Time after which a mount counts as failed.
const MOUNT_TIMEOUT: Duration = Duration::from_secs(30);

/// Environment variable for glibc, and its value in bytes. By default, malloc
/// raises its threshold when large blocks are freed, and then keeps freed
/// blocks, for each thread: several texts of 16 MiB, read one after the other,
/// all stay in memory. With a fixed threshold, larger blocks are returned to
/// the system at once. The variable must be set before the program starts; a
/// value set by the user is kept.
const MALLOC: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "1048576");

/// Restarts the program with [`MALLOC`] set, unless it is set already, so that
/// freed memory returns to the system.
pub(super) fn restart_with_malloc_threshold() {
    if env::var_os(MALLOC.0).is_some() {
        return;
    }
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| "cbfs".into());
    // Continue without it if that fails.
    let error = Command::new("/proc/self/exe")
        .arg0(name)
        .args(arguments)
        .env(MALLOC.0, MALLOC.1)
        .exec();
    log::debug!("/proc/self/exe: {error}");
}

/// Starts the program with `arguments`, writes `input` to its standard input,
/// and waits until it reports that the mount is ready.
pub(super) fn start(arguments: &[std::ffi::OsString], input: Option<&[u8]>) -> Result<(), Failure> {
    let stdin = if input.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    };
    let threshold = env::var_os(MALLOC.0).unwrap_or_else(|| MALLOC.1.into());
    let mut child = Command::new("/proc/self/exe")
        .arg0("cbfs")
        .args(arguments)
        .env(MALLOC.0, threshold)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::new(format_args!("cannot start the daemon: {error}")))?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // If the daemon has ended already, it has printed an error.
        let _ = pipe.write_all(input);
    }
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            let mut line = String::new();
            // A read error is treated as the end of the daemon.
            let _ = BufReader::new(output).read_line(&mut line);
            // The receiver is gone after the timeout.
            let _ = sender.send(line == READY);
        });
    }
    match receiver.recv_timeout(MOUNT_TIMEOUT) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let status = child.wait().map_err(Failure::new)?;
            match (status.code(), status.signal()) {
                (Some(code), _) => Err(Failure::quiet(u8::try_from(code).unwrap_or(1).max(1))),
                (None, Some(signal)) => Err(Failure::new(format_args!(
                    "the daemon was ended by signal {signal}"
                ))),
                (None, None) => Err(Failure::new("the daemon ended without a message")),
            }
        }
        Err(_) => {
            // It may have ended just now.
            let _ = child.kill();
            Err(Failure::new(format_args!(
                "the daemon did not mount within {} seconds",
                MOUNT_TIMEOUT.as_secs()
            )))
        }
    }
}

/// Opens the log file of the daemon.
pub(super) fn open_log(path: &Path) -> Result<File, Failure> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|error| Failure::about(path, error))
}

/// Leaves the terminal and the working directory, reports that the mount is
/// ready, and logs from now on to `log` or else to the system log.
pub(super) fn detach(log: Option<&File>) -> Result<(), Failure> {
    nix::unistd::setsid().map_err(Failure::new)?;
    nix::unistd::chdir("/").map_err(Failure::new)?;
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(|error| Failure::about(Path::new("/dev/null"), error))?;
    let mut output = std::io::stdout();
    // The mount stays even if the first process has ended.
    let _ = output.write_all(READY.as_bytes());
    let _ = output.flush();
    nix::unistd::dup2_stdin(&null).map_err(Failure::new)?;
    nix::unistd::dup2_stdout(&null).map_err(Failure::new)?;
    nix::unistd::dup2_stderr(log.unwrap_or(&null)).map_err(Failure::new)?;
    if log.is_none() {
        super::logging::use_system();
    }
    Ok(())
}
