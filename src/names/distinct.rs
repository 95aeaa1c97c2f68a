//! The file names of the entities of one kind.
//!
//! Several players may have one name, and names that differ in the base may
//! be the same as file names. The lowest id then keeps the plain name, each
//! later one ends in ` ~` and its id. Since a name that ends so by itself gets
//! its id as well, no plain name ends so, and no two names are the same.
//!
//! All live entities count, whether they are listed or not: a name does not
//! change when another's games come and go.

use std::hash::{BuildHasher, RandomState};

use crate::names;

/// Which entities have which file names. The names themselves are made when
/// they are wanted: this holds eight bytes of each entity, and four more of
/// each that is told apart by its id.
#[derive(Debug, Default)]
pub(crate) struct FileNames {
    /// Keyed anew in each process, so that no base can be made whose names
    /// all hash alike.
    hasher: RandomState,
    /// The high half of each file name's hash, above the id; ascending.
    by_hash: Vec<u64>,
    /// The entities whose file names end in their ids, ascending.
    with_id: Vec<u32>,
}

impl FileNames {
    /// Those of the entities that `entities` gives each time it is asked:
    /// ids, and names as the base has them.
    pub(crate) fn new<'n, I>(entities: impl Fn() -> I) -> FileNames
    where
        I: Iterator<Item = (u32, &'n str)>,
    {
        let hasher = RandomState::new();
        let mut plain = Vec::new();
        let mut with_id = Vec::new();
        for (id, name) in entities() {
            let shown = names::shown(name);
            if names::ends_in_id(&shown) {
                with_id.push(id);
            } else {
                plain.push((hasher.hash_one(&shown), id));
            }
        }
        plain.sort_unstable();
        // Two names of one hash of 64 bits are taken for the same. Were they
        // not, one would be told apart without need.
        plain.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                with_id.push(later.1);
            }
            is_same
        });
        with_id.sort_unstable();
        with_id.shrink_to_fit();
        let mut file_names = FileNames {
            hasher,
            by_hash: plain.iter().map(|(hash, id)| key(*hash, *id)).collect(),
            with_id,
        };
        file_names.by_hash.reserve_exact(file_names.with_id.len());
        for (id, name) in entities() {
            if file_names.with_id.binary_search(&id).is_ok() {
                let hash = file_names.hasher.hash_one(file_names.of(id, name));
                file_names.by_hash.push(key(hash, id));
            }
        }
        file_names.by_hash.sort_unstable();
        file_names
    }

    /// The file name of entity `id`, whose name in the base is `name`.
    pub(crate) fn of(&self, id: u32, name: &str) -> String {
        let mut shown = names::shown(name);
        if self.with_id.binary_search(&id).is_ok() {
            names::append_id(&mut shown, id);
        }
        shown
    }

    /// The entity of this file name; `name_of` tells names in the base.
    pub(crate) fn find<'n>(
        &self,
        file_name: &str,
        name_of: impl Fn(u32) -> Option<&'n str>,
    ) -> Option<u32> {
        let first = key(self.hasher.hash_one(file_name), 0);
        let from = self.by_hash.partition_point(|key| *key < first);
        let keys = self.by_hash.get(from..)?.iter();
        keys.take_while(|key| *key >> 32 == first >> 32)
            .filter_map(|key| u32::try_from(*key & u64::from(u32::MAX)).ok())
            .find(|id| name_of(*id).is_some_and(|name| self.of(*id, name) == file_name))
    }
}

/// The high half of a hash, above an id.
fn key(hash: u64, id: u32) -> u64 {
    hash >> 32 << 32 | u64::from(id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The file names of entities that are called so, by ascending id.
    fn file_names(names: &[&str]) -> Vec<String> {
        let entities = || (0..).zip(names.iter().copied());
        let index = FileNames::new(entities);
        let name_of = |id: u32| names.get(id as usize).copied();
        let made: Vec<_> = entities().map(|(id, name)| index.of(id, name)).collect();
        for (id, file_name) in (0..).zip(&made) {
            assert_eq!(index.find(file_name, name_of), Some(id), "{file_name}");
        }
        made
    }

    #[test]
    fn the_first_keeps_the_plain_name_and_the_others_say_their_ids() {
        let made = file_names(&["Lee", "Li", "Lee", "Lee", "lee"]);
        assert_eq!(made, ["Lee", "Li", "Lee ~2", "Lee ~3", "lee"]);
    }

    #[test]
    fn a_name_that_ends_as_if_told_apart_is_told_apart() {
        let made = file_names(&["Lee ~2", "Lee", "Lee", "Lee ~2", "Lee ~", "Lee ~0007"]);
        assert_eq!(
            made,
            [
                "Lee ~2 ~0",
                "Lee",
                "Lee ~2",
                "Lee ~2 ~3",
                "Lee ~",
                "Lee ~0007 ~5"
            ]
        );
    }

    #[test]
    fn names_that_become_the_same_are_told_apart() {
        let made = file_names(&["", "\u{1}", "(none)", "a/b", "a／b", "é", "e\u{301}", " é "]);
        assert_eq!(
            made,
            [
                "(none)",
                "(none) ~1",
                "(none) ~2",
                "a／b",
                "a／b ~4",
                "é",
                "é ~6",
                "é ~7"
            ]
        );
        let long = ["x".repeat(255), "x".repeat(256), "é".repeat(200)];
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let made = file_names(&long);
        assert_eq!(made[1], format!("{} ~1", "x".repeat(252)));
        assert!(made.iter().all(|name| name.len() <= 255));
    }

    #[test]
    fn only_file_names_are_found() {
        let names = ["Lee", "Lee", "Foo ~7", ""];
        let index = FileNames::new(|| (0..).zip(names));
        let find = |name: &str| index.find(name, |id| names.get(id as usize).copied());
        for name in ["Lee ~0", "Lee ~2", "Lee ~01", "Foo ~7", "lee", "", "Lee "] {
            assert_eq!(find(name), None, "{name}");
        }
        assert_eq!(find("Foo ~7 ~2"), Some(2));
    }

    #[test]
    fn a_name_does_not_change_when_another_comes() {
        let before = file_names(&["Lee", "Li", "Lee"]);
        let after = file_names(&["Lee", "Li", "Lee", "Lee ~2", "Lee", "Li"]);
        assert_eq!(after[..3], before);
    }

    #[test]
    fn many_of_one_name_are_found_at_once() {
        let names = vec!["Same"; 100_000];
        let index = FileNames::new(|| (0..).zip(names.iter().copied()));
        for id in (0..100_000).step_by(7) {
            let file_name = index.of(id, "Same");
            assert_eq!(index.find(&file_name, |_| Some("Same")), Some(id));
        }
        assert_eq!(index.by_hash.capacity(), 100_000);
    }

    proptest! {
        /// From few letters, so that names meet.
        #[test]
        fn no_two_file_names_are_the_same(
            names in prop::collection::vec("(a|b|é|e\u{301}| ~1| ~12|/|\u{7}| ){0,4}", 0..40),
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let made = file_names(&names);
            let distinct: BTreeSet<_> = made.iter().collect();
            prop_assert_eq!(distinct.len(), made.len(), "{:?}", made);
        }
    }
}
