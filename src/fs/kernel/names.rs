//! Names that the kernel may have cached.
//!
//! They are invalidated when a base changes, and when a reply was built from a
//! snapshot that was replaced meanwhile; otherwise the kernel would keep them
//! for a day.
//!
//! Most are names of games, which are numbers. Of a listing, only the first and
//! the last number of each run are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::fs::Ino;
use crate::names::{format_game, parse_game};

/// Maximum number of names. Beyond it, invalidating all names at once is
/// faster.
const MOST: usize = 16_384;

/// Names of files, each with its directory.
#[derive(Debug, Default)]
pub(crate) struct KernelNames {
    known: Mutex<KnownNames>,
    are_outdated: AtomicBool,
}

#[derive(Debug, Default)]
struct KnownNames {
    /// Games with names next to each other: the directory and the first of
    /// them, and the last. No two stretches touch.
    games: BTreeMap<(Ino, u32), u32>,
    /// All other names.
    others: BTreeSet<(Ino, Box<[u8]>)>,
    /// How many names that are.
    count: usize,
    are_too_many: bool,
}

/// Collects the names of one directory that one reply reports. They are added
/// when this is dropped, also after a panic, because the reply may have been
/// sent.
#[derive(Debug)]
pub(crate) struct ReportedNames<'n> {
    names: &'n KernelNames,
    directory: Ino,
    /// Games one after the other that are not noted yet.
    games: Option<RangeInclusive<u32>>,
}

impl KernelNames {
    /// Requests an invalidation of all names.
    pub(crate) fn request_invalidation(&self) {
        self.are_outdated.store(true, Relaxed);
    }

    /// Returns whether an invalidation was requested since the last call.
    pub(crate) fn take_invalidation_request(&self) -> bool {
        self.are_outdated.swap(false, Relaxed)
    }

    /// Notes that the kernel is told of `name` in `directory`.
    pub(crate) fn add(&self, directory: Ino, name: &[u8]) {
        self.page(directory).add(name);
    }

    /// Notes names of `directory`, of which the kernel is told together.
    pub(crate) fn page(&self, directory: Ino) -> ReportedNames<'_> {
        ReportedNames {
            names: self,
            directory,
            games: None,
        }
    }

    /// Returns and clears the names since the last call; `None` if there were
    /// too many.
    pub(crate) fn take(&self) -> Option<Vec<(Ino, Box<[u8]>)>> {
        let reported = std::mem::take(&mut *self.known.lock());
        (!reported.are_too_many).then(|| reported.into_names())
    }
}

impl ReportedNames<'_> {
    /// Notes that the kernel is told of `name`.
    pub(crate) fn add(&mut self, name: &[u8]) {
        let Some(number) = parse_game(name) else {
            self.names.known.lock().add_other(self.directory, name);
            return;
        };
        self.games = match self.games.take() {
            Some(games) if games.end().checked_add(1) == Some(number) => {
                Some(*games.start()..=number)
            }
            games => {
                self.note(games);
                Some(number..=number)
            }
        };
    }

    fn note(&self, games: Option<RangeInclusive<u32>>) {
        if let Some(games) = games {
            self.names.known.lock().add_games(self.directory, games);
        }
    }
}

impl Drop for ReportedNames<'_> {
    fn drop(&mut self) {
        let games = self.games.take();
        self.note(games);
    }
}

impl KnownNames {
    fn add_games(&mut self, directory: Ino, games: RangeInclusive<u32>) {
        if self.are_too_many {
            return;
        }
        let (mut first, mut last) = games.into_inner();
        // Those that touch it become one with it.
        loop {
            let before = (directory, 0)..=(directory, last.saturating_add(1));
            match self.games.range(before).next_back() {
                Some((&(_, from), &to)) if to.saturating_add(1) >= first => {
                    self.games.remove(&(directory, from));
                    self.count -= count(from, to);
                    (first, last) = (first.min(from), last.max(to));
                }
                _ => break,
            }
        }
        self.games.insert((directory, first), last);
        self.count += count(first, last);
        self.give_up_if_too_many();
    }

    fn add_other(&mut self, directory: Ino, name: &[u8]) {
        if !self.are_too_many && self.others.insert((directory, name.into())) {
            self.count += 1;
            self.give_up_if_too_many();
        }
    }

    fn give_up_if_too_many(&mut self) {
        if self.count > MOST {
            *self = KnownNames {
                are_too_many: true,
                ..KnownNames::default()
            };
        }
    }

    fn into_names(self) -> Vec<(Ino, Box<[u8]>)> {
        let mut names = Vec::with_capacity(self.count);
        let mut name = String::new();
        for ((directory, first), last) in self.games {
            for number in first..=last {
                format_game(number, &mut name);
                names.push((directory, name.as_bytes().into()));
            }
        }
        names.extend(self.others);
        names
    }
}

/// How many names a stretch has.
fn count(first: u32, last: u32) -> usize {
    (last - first) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(names: &KernelNames) -> Vec<(u64, String)> {
        let taken = names.take().unwrap().into_iter();
        let text = |name: Box<[u8]>| String::from_utf8(name.into()).unwrap();
        taken.map(|(Ino(of), name)| (of, text(name))).collect()
    }

    #[test]
    fn names_are_told_once_and_too_many_are_told_as_such() {
        let names = KernelNames::default();
        assert!(!names.take_invalidation_request());
        names.request_invalidation();
        assert!(names.take_invalidation_request() && !names.take_invalidation_request());
        names.add(Ino(2), b"a");
        names.add(Ino(2), b"a");
        names.add(Ino(3), b"a");
        assert_eq!(names.take().unwrap().len(), 2);
        assert_eq!(names.take(), Some(Vec::new()));
        for number in 0..=MOST {
            names.add(Ino(2), number.to_string().as_bytes());
        }
        names.add(Ino(2), b"a");
        assert_eq!(names.take(), None);
        assert_eq!(names.take(), Some(Vec::new()));
    }

    #[test]
    fn games_told_in_any_order_are_told_once_by_name() {
        let names = KernelNames::default();
        // 7919 has no divisor in common with 1000.
        for number in (0..2000).map(|step| step * 7919 % 1000 + 1) {
            names.add(Ino(2), format!("{number:06}.pgn").as_bytes());
        }
        assert_eq!(names.known.lock().games.len(), 1, "they are one stretch");
        names.add(Ino(3), b"000500.pgn");
        names.add(Ino(2), b"0000500.pgn");
        let taken = taken(&names);
        let games = (1..=1000).map(|number| (2, format!("{number:06}.pgn")));
        let others = [(3, "000500.pgn".into()), (2, "0000500.pgn".into())];
        assert_eq!(taken, games.chain(others).collect::<Vec<_>>());
    }

    #[test]
    fn a_page_is_noted_when_it_is_dropped() {
        let names = KernelNames::default();
        let mut page = names.page(Ino(2));
        for name in ["000007.pgn", "000008.pgn", "000010.pgn", "a", "000009.pgn"] {
            page.add(name.as_bytes());
        }
        drop(page);
        names.add(Ino(2), b"4294967295.pgn");
        let expected = ["000007.pgn", "000008.pgn", "000009.pgn", "000010.pgn"];
        let expected = expected.iter().chain(&["4294967295.pgn", "a"]);
        let expected: Vec<_> = expected.map(|name| (2, (*name).to_owned())).collect();
        assert_eq!(taken(&names), expected);
    }

    #[test]
    fn one_name_beyond_the_limit_invalidates_all() {
        let names = KernelNames::default();
        let mut page = names.page(Ino(2));
        for number in 1..=MOST {
            page.add(format!("{number:06}.pgn").as_bytes());
        }
        drop(page);
        names.add(Ino(2), b"000001.pgn");
        assert_eq!(names.known.lock().count, MOST);
        assert_eq!(taken(&names).len(), MOST);
        names.add(Ino(2), b"000001.pgn");
        let mut page = names.page(Ino(3));
        for number in 1..=MOST {
            page.add(format!("{number:06}.pgn").as_bytes());
        }
        drop(page);
        assert_eq!(names.take(), None);
    }
}
