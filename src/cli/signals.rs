//! Handling of the signals that end the program, by a thread that waits for
//! them.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal, raise};

/// Blocks the signals that end a program, for this thread and the threads it
/// starts.
pub(super) fn block() -> nix::Result<SigSet> {
    let signals: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .collect();
    signals.thread_block()?;
    Ok(signals)
}

/// As [`block`], but signals that are ignored, as with nohup, stay ignored.
pub(super) fn block_unless_ignored() -> nix::Result<SigSet> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0);
    let signals: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .filter(|&signal| ignored >> (signal as u32 - 1) & 1 == 0)
        .collect();
    signals.thread_block()?;
    Ok(signals)
}

/// Lets a write behind the largest size that a file may have fail, as it does on a
/// full disk, instead of ending the program.
pub(super) fn let_long_files_fail() -> nix::Result<()> {
    SigSet::from_iter([Signal::SIGXFSZ]).thread_block()
}

/// Starts a thread: on one of the blocked `signals`, it clears up by `finish` and ends
/// the program as the signal would. A second signal, later than [`AT_ONCE`], does not
/// wait for that.
pub(super) fn before_end(signals: SigSet, finish: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        let Ok(signal) = signals.wait() else {
            return;
        };
        let first = Instant::now();
        thread::spawn(move || {
            finish();
            end_by(signal);
        });
        while let Ok(signal) = signals.wait() {
            if first.elapsed() > AT_ONCE {
                end_by(signal);
            }
        }
    });
}

/// Ends the program as a signal does.
fn end_by(signal: Signal) {
    // Both cannot fail for an existing signal.
    let _ = SigSet::from_iter([signal]).thread_unblock();
    let _ = raise(signal);
}

/// `timeout` sends a signal twice, to a program and to its group.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Starts a thread that sets the returned flag on the first of the blocked
/// `signals`, so that work can be stopped cleanly. A second signal, later than
/// [`AT_ONCE`], ends the program.
pub(super) fn flag_on_signal(signals: SigSet) -> Arc<AtomicBool> {
    let mark = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&mark);
    thread::spawn(move || {
        let mut first = None;
        while let Ok(signal) = signals.wait() {
            set.store(true, Relaxed);
            if first.get_or_insert_with(Instant::now).elapsed() > AT_ONCE {
                end_by(signal);
            }
        }
    });
    mark
}
