//! What the kernel holds of numbers that mean something only meanwhile.
//!
//! Most numbers are computed from what they stand for. Those of a volume that
//! has to remember what its numbers stand for are counted here: how often the
//! kernel was told of each, less what it has forgotten. When it holds a number
//! no more, the volume may forget it too.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::fs::{Attr, Ino, NodeKind};

/// Numbers counted, at most: some 60 MB. What comes beyond them is not
/// counted, and the volume forgets it when it has to.
const MOST: usize = 1 << 20;

/// Numbers that the kernel holds.
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<HashMap<Ino, Holding>>);

#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    /// How often the kernel was told of it.
    lookups: u64,
    /// The mark of the content that was told last; 0 if none was.
    mark: u32,
    /// Which of the contents that were told it is, counted from 0.
    version: u32,
    is_directory: bool,
}

impl Holding {
    fn show(&mut self, attr: &Attr) {
        let is_other = self.mark != 0 && self.mark != attr.generation;
        self.version = self.version.wrapping_add(u32::from(is_other));
        self.mark = attr.generation;
        self.is_directory = attr.kind == NodeKind::Directory;
    }
}

impl Held {
    /// Notes that the kernel is told of `ino`, and of `attr` if not of the
    /// name alone; gives which of the contents that it was told of that is.
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

    /// As [`tell`](Held::tell), by who asks of a number that the kernel holds.
    pub(crate) fn tell_again(&self, attr: &Attr) -> u32 {
        let mut held = self.0.lock();
        let holding = held.get_mut(&attr.ino);
        holding.map_or(0, |holding| {
            holding.show(attr);
            holding.version
        })
    }

    /// Which content it is if it is told next.
    pub(crate) fn would_be(&self, attr: &Attr) -> u32 {
        let mut holding = self.0.lock().get(&attr.ino).copied().unwrap_or_default();
        holding.show(attr);
        holding.version
    }

    /// Counts the present content as another one from now on.
    pub(crate) fn renew(&self, ino: Ino) {
        if let Some(holding) = self.0.lock().get_mut(&ino) {
            holding.version = holding.version.wrapping_add(1);
        }
    }

    /// Which of the contents of a number was told last.
    pub(crate) fn version(&self, ino: Ino) -> u32 {
        self.0.lock().get(&ino).map_or(0, |holding| holding.version)
    }

    /// The mark of the content that was told last, if one was.
    pub(crate) fn told(&self, ino: Ino) -> Option<u32> {
        let mark = self.0.lock().get(&ino)?.mark;
        (mark > 0).then_some(mark)
    }

    /// Notes that the kernel has forgotten so many of the times it was told;
    /// gives whether that was all.
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

    /// The directories among them.
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
        let held = Held::default();
        held.tell(Ino(7), Some(&attr(5)));
        held.tell(Ino(7), None);
        assert_eq!(held.told(Ino(7)), Some(5));
        assert_eq!(held.directories(), [Ino(7)]);
        assert!(!held.forget(Ino(7), 1));
        assert!(!held.forget(Ino(8), 1));
        assert!(held.forget(Ino(7), 3));
        assert_eq!(held.told(Ino(7)), None);
        assert!(!held.forget(Ino(7), 1));
        assert!(held.directories().is_empty());
    }

    #[test]
    fn contents_of_a_number_are_counted_while_it_is_held() {
        let held = Held::default();
        let versions = [5, 5, 6, 5].map(|mark| held.tell(Ino(7), Some(&attr(mark))));
        assert_eq!(versions, [0, 0, 1, 2]);
        assert_eq!(held.tell_again(&attr(8)), 3);
        held.renew(Ino(7));
        assert_eq!((held.version(Ino(7)), held.version(Ino(8))), (4, 0));
        assert!(held.forget(Ino(7), 4));
        assert_eq!(held.tell(Ino(7), Some(&attr(9))), 0);
    }

    #[test]
    fn of_a_name_alone_no_content_was_told() {
        let held = Held::default();
        held.tell(Ino(7), None);
        assert_eq!(held.told(Ino(7)), None);
        assert!(held.directories().is_empty());
        assert!(held.forget(Ino(7), 1));
    }
}
