//! Signals that end the program, waited for by a thread.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use nix::sys::signal::{SigSet, Signal, raise};

/// Blocks the signals that end a program, for this thread and those it starts.
pub(super) fn block() -> nix::Result<SigSet> {
    let signals: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .collect();
    signals.thread_block()?;
    Ok(signals)
}

/// As [`block`], but those that whoever started the program wants ignored, as
/// nohup does, stay so.
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

/// From now on one of the blocked `signals` removes the file at `path` and
/// ends the program as it would have without being blocked.
pub(super) fn remove_when_ended(signals: SigSet, path: PathBuf) {
    thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            // It may have its last name already.
            let _ = fs::remove_file(&path);
            // Neither fails for a signal that exists.
            let _ = SigSet::from_iter([signal]).thread_unblock();
            let _ = raise(signal);
        }
    });
}

/// A mark that the first of the blocked `signals` sets, so that work can be
/// left undone in order; the second one ends the program as it would have
/// without being blocked.
pub(super) fn mark_when_ended(signals: SigSet) -> Arc<AtomicBool> {
    let mark = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&mark);
    thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            if set.swap(true, Relaxed) {
                // Neither fails for a signal that exists.
                let _ = SigSet::from_iter([signal]).thread_unblock();
                let _ = raise(signal);
            }
        }
    });
    mark
}
