//! A question on the terminal whose answer is not shown.
//!
//! Signals that end or stop the program wait until the terminal is as it was.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

/// Longer answers end here.
const MOST_BYTES: usize = 1 << 16;

/// Returns the line that is typed, without its end.
///
/// # Errors
///
/// Errors of the system, also if there is no terminal.
pub(super) fn ask(question: &str) -> io::Result<Vec<u8>> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    loop {
        terminal.write_all(question.as_bytes())?;
        match unseen(&mut terminal)? {
            Typed::Line(line) => return Ok(line),
            // A program that was only stopped asks again.
            Typed::Signal(signal) => raise(signal)?,
        }
    }
}

enum Typed {
    Line(Vec<u8>),
    Signal(Signal),
}

fn unseen(terminal: &mut File) -> io::Result<Typed> {
    let waiting: SigSet = [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGTSTP,
    ]
    .into_iter()
    .collect();
    let before = waiting.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let typed = without_echo(terminal, &waiting);
    before.thread_set_mask()?;
    typed
}

fn without_echo(terminal: &mut File, waiting: &SigSet) -> io::Result<Typed> {
    let signals = SignalFd::with_flags(waiting, SfdFlags::SFD_CLOEXEC)?;
    let before = tcgetattr(&*terminal)?;
    let mut unseen = before.clone();
    unseen.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(&*terminal, SetArg::TCSAFLUSH, &unseen)?;
    let typed = line_or_signal(terminal, &signals);
    tcsetattr(&*terminal, SetArg::TCSAFLUSH, &before)?;
    // The end of the line was not shown either.
    terminal.write_all(b"\n")?;
    typed
}

fn line_or_signal(terminal: &mut File, signals: &SignalFd) -> io::Result<Typed> {
    let mut line = Vec::new();
    loop {
        let mut ready = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(terminal.as_fd(), PollFlags::POLLIN),
        ];
        poll(&mut ready, PollTimeout::NONE)?;
        let is_signal = ready.first().and_then(PollFd::any).unwrap_or(false);
        if is_signal && let Some(signal) = signals.read_signal()? {
            let signal = i32::try_from(signal.ssi_signo).unwrap_or(libc::SIGINT);
            return Ok(Typed::Signal(Signal::try_from(signal)?));
        }
        let mut bytes = [0; 1024];
        let count = terminal.read(&mut bytes)?;
        let (typed, _) = bytes.split_at_checked(count).unwrap_or_default();
        let end = typed.iter().position(|byte| *byte == b'\n');
        line.extend(typed.iter().take(end.unwrap_or(count)));
        if end.is_some() || count == 0 || line.len() > MOST_BYTES {
            return Ok(Typed::Line(line));
        }
    }
}
