//! What was found wrong, each fault once.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use crate::escape::push_line;
use crate::fs::volume::{Fault, Ino};
use crate::storage::SparseWords;

/// Faults remembered; of more, those that come first.
const MOST: usize = 10_000;

/// The faults of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// The files whose faults have been told.
    reported: SparseWords,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    faults: BTreeSet<Fault>,
    /// How many there are besides.
    more: u64,
}

impl Faults {
    /// Notes one. Of those that do not fit, each call counts.
    pub(crate) fn add(&self, fault: Fault) {
        let mut list = self.list.lock();
        if !list.faults.insert(fault) || list.faults.len() <= MOST {
            return;
        }
        list.faults.pop_last();
        list.more += 1;
    }

    /// Whether the faults of this file have not been asked for until now.
    pub(crate) fn begin(&self, ino: Ino) -> bool {
        self.reported.set(ino.0, 1) == 0
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        let list = self.list.lock();
        list.faults.len() as u64 + list.more
    }

    /// Appends a line for each, `before` in front of it; and one for those
    /// that are not remembered.
    pub(crate) fn write(&self, before: &str, lines: &mut String) {
        let list = self.list.lock();
        for fault in &list.faults {
            push_line(lines, format_args!("{before}{}", fault.line));
        }
        if list.more > 0 {
            push_line(lines, format_args!("{before}and {} more", list.more));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(record: u32) -> Fault {
        Fault {
            record,
            file: "cbg",
            offset: 0,
            line: format!("game {record}: twic.cbg at 0x0: a\nb"),
        }
    }

    fn lines(faults: &Faults) -> String {
        let mut lines = String::new();
        faults.write("", &mut lines);
        lines
    }

    #[test]
    fn each_is_told_once_in_order() {
        let faults = Faults::default();
        for record in [10, 9, 10] {
            faults.add(fault(record));
        }
        faults.add(Fault {
            record: 0,
            line: "twic.cbp at 0x4: c".to_owned(),
            ..fault(0)
        });
        assert_eq!(faults.count(), 3);
        assert_eq!(
            lines(&faults),
            "twic.cbp at 0x4: c\n\
             game 9: twic.cbg at 0x0: a\\nb\n\
             game 10: twic.cbg at 0x0: a\\nb\n"
        );
        assert!(faults.begin(Ino(7)));
        assert!(!faults.begin(Ino(7)));
    }

    #[test]
    fn too_many_are_counted() {
        let faults = Faults::default();
        for record in (1..=10_100).rev() {
            faults.add(fault(record));
        }
        assert_eq!(faults.count(), 10_100);
        let lines = lines(&faults);
        assert_eq!(lines.lines().count(), 10_001);
        assert!(lines.starts_with("game 1: "));
        assert!(lines.contains("\ngame 10000: "));
        assert!(lines.ends_with("\nand 100 more\n"));
    }
}
