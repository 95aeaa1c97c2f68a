//! Reproducible random numbers.

/// A sequence that is determined by its seed.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The sequence of a seed, or another one if `CBFS_SEED` is set.
    pub(crate) fn of(seed: u64) -> Numbers {
        let given = std::env::var("CBFS_SEED").ok();
        let given: u64 = given.and_then(|seed| seed.parse().ok()).unwrap_or(0);
        Numbers(seed ^ given.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next number below `limit`; 0 if `limit` is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }

    /// A random element.
    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A random element, if there is one.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        (!all.is_empty()).then(|| *self.one(all))
    }
}
