//! How names sort.

use std::cmp::Ordering;

use crate::bytes::{ByteReader, Malformed};

/// How bytes from 0x80 on sort in names: both occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cbh) enum Collation {
    /// After ASCII.
    Unsigned,
    /// Before ASCII.
    Signed,
}

impl Collation {
    /// The order of two strings: that of their bytes and a final zero.
    pub(super) fn compare(self, one: &[u8], other: &[u8]) -> Ordering {
        match self {
            Collation::Unsigned => one.cmp(other),
            Collation::Signed => signed(one).cmp(signed(other)),
        }
    }
}

/// The bytes of a string as signed numbers, and the final zero, which counts
/// where there are negative ones.
fn signed(text: &[u8]) -> impl Iterator<Item = i8> {
    text.iter().map(|byte| byte.cast_signed()).chain([0])
}

/// The order of two records by the strings that they begin with.
pub(super) fn compare_strings(
    one: &mut ByteReader<'_>,
    other: &mut ByteReader<'_>,
    sizes: &[usize],
    collation: Collation,
) -> Result<Ordering, Malformed> {
    let mut order = Ordering::Equal;
    for &size in sizes {
        let (one, other) = (one.string_field(size)?, other.string_field(size)?);
        order = order.then_with(|| collation.compare(one, other));
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_sorts_before_longer_ones_and_high_bytes_as_the_collation_says() {
        use Collation::{Signed, Unsigned};
        use Ordering::{Greater, Less};
        for (collation, one, other, order) in [
            (Unsigned, &b"Larsen"[..], &b"L\xe9k\xf3"[..], Less),
            (Signed, b"Larsen", b"L\xe9k\xf3", Greater),
            (Unsigned, b"L", b"L\xe9", Less),
            (Signed, b"L", b"L\xe9", Greater),
            (Signed, b"L", b"La", Less),
            (Unsigned, b"a", b"B", Greater),
        ] {
            assert_eq!(collation.compare(one, other), order, "{one:?} {other:?}");
        }
    }
}
