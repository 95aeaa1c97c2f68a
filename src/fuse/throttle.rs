//! Rate limit for log messages, so that a failing disk does not fill the log.

use std::time::{Duration, Instant};

/// Maximum number of lines logged per time span.
const MOST_LINES: u32 = 20;

/// The time span.
const SPAN: Duration = Duration::from_secs(60);

/// State of the rate limit.
#[derive(Debug)]
pub(super) struct Throttle {
    since: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Throttle {
    /// A limit without any lines so far.
    pub(super) const fn new() -> Throttle {
        Throttle {
            since: None,
            lines: 0,
            left_out: 0,
        }
    }

    /// Returns `None` if a line must not be logged `now`, or else the number of
    /// lines left out before it.
    pub(super) fn admit(&mut self, now: Instant) -> Option<u64> {
        let is_over = |since| now.saturating_duration_since(since) >= SPAN;
        if self.since.is_none_or(is_over) {
            self.since = Some(now);
            self.lines = 0;
        }
        if self.lines == MOST_LINES {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_lines_are_counted_and_reported_later() {
        let mut throttle = Throttle::new();
        let begin = Instant::now();
        for _ in 0..MOST_LINES {
            assert_eq!(throttle.admit(begin), Some(0));
        }
        for second in 1..60 {
            assert_eq!(throttle.admit(begin + Duration::from_secs(second)), None);
        }
        assert_eq!(throttle.admit(begin + SPAN), Some(59));
        assert_eq!(throttle.admit(begin + SPAN), Some(0));
    }
}
