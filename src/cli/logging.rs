//! Logging: to stderr, and once a daemon has left its terminal, to the system
//! log. The latest messages are kept for `.cbfs/status`.

use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use log::{Level, Log, Metadata, Record};

use crate::escape::{Escaped, without_numbers};
use crate::vfs::Messages;

/// Socket of syslog; the journal of systemd listens there too.
const SOCKET: &str = "/dev/log";

/// The facility of daemons, RFC 3164, 4.1.1.
const LOG_DAEMON: u8 = 3;

/// Time after which a message is dropped that the system log does not accept.
const SEND_TIMEOUT: Duration = Duration::from_millis(200);

/// The system log, once messages go there.
static SYSTEM: OnceLock<System> = OnceLock::new();

/// Starts logging. Returns the list that keeps the latest warnings and errors.
pub(super) fn start(verbose: u8, quiet: bool) -> Arc<Messages> {
    use log::LevelFilter::{Debug, Error, Info, Off, Warn};
    let (own, fuser) = match (quiet, verbose) {
        (true, _) => (Error, Off),
        (false, 0) => (Warn, Off),
        (false, 1) => (Info, Off),
        (false, 2) => (Debug, Warn),
        (false, _) => (Debug, Debug),
    };
    let mut builder = env_logger::Builder::new();
    builder
        .filter_module("cbfs", own)
        .filter_module("fuser", fuser)
        .parse_default_env()
        .format(|line, record| writeln!(line, "cbfs: {}", Escaped(text_of(record))));
    let messages = Arc::new(Messages::default());
    let logger = Logger {
        stderr: builder.build(),
        messages: Arc::clone(&messages),
    };
    let most = logger.stderr.filter().max(Warn);
    // Fails only if a logger is set already.
    if log::set_boxed_logger(Box::new(logger)).is_ok() {
        log::set_max_level(most);
    }
    messages
}

/// Sends messages to the system log from now on.
pub(super) fn use_system() {
    // Fails only if it is set already.
    let _ = SYSTEM.set(System::new(Path::new(SOCKET)));
}

struct Logger {
    stderr: env_logger::Logger,
    messages: Arc<Messages>,
}

/// Returns whether a message is kept, regardless of the verbosity.
fn is_kept(metadata: &Metadata<'_>) -> bool {
    metadata.level() <= Level::Warn && metadata.target().starts_with("cbfs")
}

fn text_of(record: &Record<'_>) -> String {
    without_numbers(record.args())
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_kept(metadata) || self.stderr.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if is_kept(record.metadata()) {
            let text = text_of(record);
            self.messages.add(SystemTime::now(), record.level(), &text);
        }
        if !self.stderr.matches(record) {
            return;
        }
        match SYSTEM.get() {
            // Without a system log, the message is lost.
            Some(system) => drop(system.send(record.level(), &text_of(record))),
            None => self.stderr.log(record),
        }
    }

    fn flush(&self) {
        self.stderr.flush();
    }
}

/// The system log. Each message opens the socket anew, because the log may be
/// restarted.
#[derive(Debug)]
struct System {
    socket: Box<Path>,
}

impl System {
    fn new(socket: &Path) -> System {
        System {
            socket: socket.into(),
        }
    }

    fn send(&self, level: Level, text: &str) -> io::Result<()> {
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        let message = message(level, std::process::id(), text);
        socket.send_to(message.as_bytes(), &self.socket)?;
        Ok(())
    }
}

/// Formats a message as in RFC 3164, without the time, which the receiver adds.
fn message(level: Level, process: u32, text: &str) -> String {
    let severity = match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    };
    let text = Escaped(text);
    format!("<{}>cbfs[{process}]: {text}", LOG_DAEMON * 8 + severity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_to_the_system_is_one_line_with_its_severity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let system = System::new(&path);
        assert!(system.send(Level::Error, "nobody listens").is_err());
        let listener = UnixDatagram::bind(&path).unwrap();
        system.send(Level::Warn, "a\nb").unwrap();
        let mut received = [0; 100];
        let length = listener.recv(&mut received).unwrap();
        let expected = format!("<28>cbfs[{}]: a\\nb", std::process::id());
        assert_eq!(received[..length], *expected.as_bytes());
        assert!(message(Level::Error, 1, "").starts_with("<27>"));
    }
}
