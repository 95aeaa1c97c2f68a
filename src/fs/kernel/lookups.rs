//! Kernel lookup counts of temporary inodes.
//!
//! Most inode numbers are computed from what they stand for. Some volumes give
//! out numbers that they must remember, such as those of positions and queries.
//! This counts the kernel's lookups of each such number, less its forgets. When
//! the count is 0, the volume may forget the number.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::fs::{Attr, Ino, NodeKind};

/// Maximum number of counted inodes, about 60 MB. Further ones are not counted;
/// the volume forgets them when it needs room.
const MOST: usize = 1 << 20;

/// Lookup counts by inode.
#[derive(Debug, Default)]
pub(crate) struct LookupCounts(Mutex<HashMap<Ino, LookupCount>>);

#[derive(Clone, Copy, Debug, Default)]
struct LookupCount {
    /// Number of lookups that the kernel has not forgotten.
    lookups: u64,
    /// Mark of the content in the last reply; 0 if no reply had attributes.
    mark: u32,
    /// Number of that content among those reported for the inode, from 0.
    version: u32,
    is_directory: bool,
}

impl LookupCount {
    fn show(&mut self, attr: &Attr) {
        let is_other = self.mark != 0 && self.mark != attr.generation;
        self.version = self.version.wrapping_add(u32::from(is_other));
        self.mark = attr.generation;
        self.is_directory = attr.kind == NodeKind::Directory;
    }
}

impl LookupCounts {
    /// Counts a lookup of `ino`, reported with `attr` unless the reply had only
    /// its name. Returns the number of the reported content.
    pub(crate) fn tell(&self, ino: Ino, attr: Option<&Attr>) -> u32 {
        let mut held = self.0.lock();
        if held.len() >= MOST && !held.contains_key(&ino) {
            return 0;
        }
        let holding = held.entry(ino).or_default();
        holding.lookups += 1;
        if let Some(attr) = attr {
            holding.show(attr);
        }
        holding.version
    }

    /// Reports new attributes of an inode that the kernel has already. Returns
    /// the number of the content, as [`tell`](LookupCounts::tell).
    pub(crate) fn tell_again(&self, attr: &Attr) -> u32 {
        let mut held = self.0.lock();
        let holding = held.get_mut(&attr.ino);
        holding.map_or(0, |holding| {
            holding.show(attr);
            holding.version
        })
    }

    /// Returns the number that the content would get in the next reply.
    pub(crate) fn would_be(&self, attr: &Attr) -> u32 {
        let mut holding = self.0.lock().get(&attr.ino).copied().unwrap_or_default();
        holding.show(attr);
        holding.version
    }

    /// Makes the present content count as a new one.
    pub(crate) fn renew(&self, ino: Ino) {
        if let Some(holding) = self.0.lock().get_mut(&ino) {
            holding.version = holding.version.wrapping_add(1);
        }
    }

    /// Returns the number of the content in the last reply; 0 if the inode is
    /// not counted.
    pub(crate) fn version(&self, ino: Ino) -> u32 {
        self.0.lock().get(&ino).map_or(0, |holding| holding.version)
    }

    /// Returns the mark of the content in the last reply, if it had attributes.
    pub(crate) fn reported(&self, ino: Ino) -> Option<u32> {
        let mark = self.0.lock().get(&ino)?.mark;
        (mark > 0).then_some(mark)
    }

    /// Subtracts forgotten lookups. Returns whether none are left.
    pub(crate) fn forget(&self, ino: Ino, lookups: u64) -> bool {
        let mut held = self.0.lock();
        let Some(holding) = held.get_mut(&ino) else {
            return false;
        };
        holding.lookups = holding.lookups.saturating_sub(lookups);
        let is_gone = holding.lookups == 0;
        if is_gone {
            held.remove(&ino);
            // What a walk over everything took is given back.
            if held.capacity() > 1024 && held.len() < held.capacity() / 8 {
                held.shrink_to_fit();
            }
        }
        is_gone
    }

    /// Returns the counted inodes that are directories.
    pub(crate) fn directories(&self) -> Vec<Ino> {
        let held = self.0.lock();
        let directories = held.iter().filter(|(_, holding)| holding.is_directory);
        directories.map(|(ino, _)| *ino).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn attr(generation: u32) -> Attr {
        Attr {
            ino: Ino(7),
            kind: NodeKind::Directory,
            size: 0,
            is_sized: true,
            links: 1,
            modified: UNIX_EPOCH,
            generation,
            version: Some(0),
        }
    }

    #[test]
    fn a_number_is_held_until_it_was_forgotten_as_often_as_told() {
        let held = LookupCounts::default();
        held.tell(Ino(7), Some(&attr(5)));
        held.tell(Ino(7), None);
        assert_eq!(held.reported(Ino(7)), Some(5));
        assert_eq!(held.directories(), [Ino(7)]);
        assert!(!held.forget(Ino(7), 1));
        assert!(!held.forget(Ino(8), 1));
        assert!(held.forget(Ino(7), 3));
        assert_eq!(held.reported(Ino(7)), None);
        assert!(!held.forget(Ino(7), 1));
        assert!(held.directories().is_empty());
    }

    #[test]
    fn contents_of_a_number_are_counted_while_it_is_held() {
        let held = LookupCounts::default();
        let versions = [5, 5, 6, 5].map(|mark| held.tell(Ino(7), Some(&attr(mark))));
        assert_eq!(versions, [0, 0, 1, 2]);
        assert_eq!(held.tell_again(&attr(8)), 3);
        held.renew(Ino(7));
        assert_eq!((held.version(Ino(7)), held.version(Ino(8))), (4, 0));
        assert!(held.forget(Ino(7), 4));
        assert_eq!(held.tell(Ino(7), Some(&attr(9))), 0);
    }

    #[test]
    fn a_name_without_attributes_reports_no_content() {
        let held = LookupCounts::default();
        held.tell(Ino(7), None);
        assert_eq!(held.reported(Ino(7)), None);
        assert!(held.directories().is_empty());
        assert!(held.forget(Ino(7), 1));
    }
}
