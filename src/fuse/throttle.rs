//! A log that a medium which fails cannot fill.

use std::time::{Duration, Instant};

/// So many lines are logged in a span of time, the first ones.
const MOST_LINES: u32 = 20;

/// After so long it begins anew.
const SPAN: Duration = Duration::from_mins(1);

/// How much was logged lately.
#[derive(Debug)]
pub(super) struct Throttle {
    since: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Throttle {
    /// No line yet.
    pub(super) const fn new() -> Throttle {
        Throttle {
            since: None,
            lines: 0,
            left_out: 0,
        }
    }

    /// Whether a line may be logged `now`; if so, how many before it were not.
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
    fn lines_beyond_the_first_are_counted_and_told_of_later() {
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
