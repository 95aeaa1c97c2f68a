//! How a mount goes on in the background.
//!
//! `cbfs mount` starts itself again. The daemon opens the base and mounts it,
//! still in the terminal's session, with stderr as it was: whatever goes wrong
//! is said there, and its exit code becomes ours. When the mount can be used,
//! it leaves the terminal and writes a line to its standard output, a pipe to
//! us.

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

/// A mount that takes longer than this will not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// glibc's malloc keeps large pieces that are freed once it has seen some, for
/// each thread: texts of 16 MiB that were read one after the other then stay in
/// memory all together. With a fixed threshold, in bytes, pieces above it go back
/// to the system at once. It can be given in the environment only, before a
/// program begins; whoever set it is left alone.
const MALLOC: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "1048576");

/// Begins this program anew, if it has to be, so that it gives back memory.
pub(super) fn give_back_memory() {
    if env::var_os(MALLOC.0).is_some() {
        return;
    }
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| "cbfs".into());
    // It goes on without if that fails.
    let error = Command::new("/proc/self/exe")
        .arg0(name)
        .args(arguments)
        .env(MALLOC.0, MALLOC.1)
        .exec();
    log::debug!("/proc/self/exe: {error}");
}

/// Starts this program with `arguments`, and `input` on its standard input, and
/// waits until it says that the mount can be used.
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
        // One that ended already has said why.
        let _ = pipe.write_all(input);
    }
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            let mut line = String::new();
            // An error reads as an early end.
            let _ = BufReader::new(output).read_line(&mut line);
            // Nobody listens if patience ended first.
            let _ = sender.send(line == READY);
        });
    }
    match receiver.recv_timeout(PATIENCE) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let status = child.wait().map_err(Failure::new)?;
            match (status.code(), status.signal()) {
                (Some(code), _) => Err(Failure::quiet(u8::try_from(code).unwrap_or(1).max(1))),
                (None, Some(signal)) => Err(Failure::new(format_args!(
                    "the daemon was ended by signal {signal}"
                ))),
                (None, None) => Err(Failure::new("the daemon ended")),
            }
        }
        Err(_) => {
            // If it ended at this very moment, all the better.
            let _ = child.kill();
            Err(Failure::new(format_args!(
                "the daemon did not mount within {} seconds",
                PATIENCE.as_secs()
            )))
        }
    }
}

/// Opens the file that the daemon logs to.
pub(super) fn open_log(path: &Path) -> Result<File, Failure> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|error| Failure::about(path, error))
}

/// Leaves the terminal and the directory it was started from, says that the
/// mount can be used, and logs to `log` from now on, or to the system's log.
pub(super) fn detach(log: Option<&File>) -> Result<(), Failure> {
    nix::unistd::setsid().map_err(Failure::new)?;
    nix::unistd::chdir("/").map_err(Failure::new)?;
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(|error| Failure::about(Path::new("/dev/null"), error))?;
    let mut output = std::io::stdout();
    // If nobody waits any more, the mount is there all the same.
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
