//! Numbers of games.

/// A set of numbers of games, a bit for each number up to the highest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GameSet {
    words: Vec<u64>,
    count: u32,
}

impl GameSet {
    /// Adds a game.
    pub fn add(&mut self, number: u32) {
        let (at, bit) = (number as usize / 64, 1_u64 << (number % 64));
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        if let Some(word) = self.words.get_mut(at) {
            self.count += u32::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// Whether a game is one of them.
    pub fn contains(&self, number: u32) -> bool {
        let word = self.words.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Those from `first` on, ascending.
    pub fn from(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let start = first as usize / 64;
        let words = self.words.iter().zip(0_u32..).skip(start);
        words.flat_map(move |(&word, at)| {
            let mut rest = word;
            if at == first / 64 {
                rest &= u64::MAX << (first % 64);
            }
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(at * 64 + bit)
            })
        })
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }
}

impl FromIterator<u32> for GameSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> GameSet {
        let mut set = GameSet::default();
        for number in numbers {
            set.add(number);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_what_was_added_from_any_number_on() {
        let numbers = [1, 2, 63, 64, 65, 200, 640];
        let set: GameSet = numbers.into_iter().chain(numbers).collect();
        assert_eq!(set.count(), 7);
        for first in 0..700 {
            let expected: Vec<u32> = numbers.into_iter().filter(|one| *one >= first).collect();
            assert_eq!(set.from(first).collect::<Vec<_>>(), expected, "{first}");
            assert_eq!(set.contains(first), numbers.contains(&first), "{first}");
        }
        assert!(!set.contains(u32::MAX) && set.from(u32::MAX).next().is_none());
        assert_eq!(GameSet::default().from(0).next(), None);
    }
}
