//! The latest warnings and errors of a daemon, which may have no terminal.

use std::collections::VecDeque;
use std::time::SystemTime;

use parking_lot::Mutex;

/// Messages kept; the oldest go first.
const MOST: usize = 20;

/// Characters of one message.
const LONGEST: usize = 1000;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// When it was logged last.
    pub(super) time: SystemTime,
    /// `warning` or `error`.
    pub(super) level: &'static str,
    /// Its text, which may have any character.
    pub(super) text: String,
    /// How often it was logged in a row.
    pub(super) times: u64,
}

/// The latest warnings and errors, the oldest first.
#[derive(Debug, Default)]
pub struct Messages(Mutex<VecDeque<Message>>);

impl Messages {
    /// Adds one that was logged at `time`.
    pub fn add(&self, time: SystemTime, level: log::Level, text: &str) {
        let level = match level {
            log::Level::Error => "error",
            _ => "warning",
        };
        let text: String = text.chars().take(LONGEST).collect();
        let mut messages = self.0.lock();
        if let Some(last) = messages.back_mut()
            && (last.level, &last.text) == (level, &text)
        {
            last.time = time;
            last.times = last.times.saturating_add(1);
            return;
        }
        if messages.len() >= MOST {
            messages.pop_front();
        }
        messages.push_back(Message {
            time,
            level,
            text,
            times: 1,
        });
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Message> {
        self.0.lock().iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn the_latest_messages_are_kept() {
        let messages = Messages::default();
        for number in 0..30 {
            let time = UNIX_EPOCH + Duration::from_secs(number);
            messages.add(time, log::Level::Warn, &number.to_string());
        }
        let again = UNIX_EPOCH + Duration::from_secs(99);
        messages.add(again, log::Level::Warn, "29");
        messages.add(again, log::Level::Error, &"é".repeat(5000));
        let all = messages.all();
        assert_eq!(all.len(), MOST);
        assert_eq!(all[0].text, "11");
        assert_eq!((all[18].times, all[18].time), (2, again));
        assert_eq!((all[19].level, all[19].text.len()), ("error", 2 * LONGEST));
    }
}
