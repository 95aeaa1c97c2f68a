//! Queries that were refused, for who wonders why nothing was found.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Queries that are remembered.
const MOST: usize = 20;

/// The queries that were refused last, and why.
#[derive(Debug, Default)]
pub struct RefusedQueries(Mutex<VecDeque<String>>);

impl RefusedQueries {
    /// Remembers one, with the reason in the same line.
    pub fn note(&self, line: String) {
        let mut lines = self.0.lock();
        lines.retain(|known| *known != line);
        lines.truncate(MOST - 1);
        lines.push_front(line);
    }

    /// A line for each, the latest first.
    pub fn lines(&self) -> String {
        let lines = self.0.lock();
        lines.iter().map(|line| line.to_owned() + "\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_queries_are_remembered_once_each() {
        let refused = RefusedQueries::default();
        for number in (0..30).chain([25]) {
            refused.note(number.to_string());
        }
        let lines = refused.lines();
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!((lines.len(), &lines[..3]), (MOST, &["25", "29", "28"][..]));
    }
}
