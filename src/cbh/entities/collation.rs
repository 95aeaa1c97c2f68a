//! Sort order of names.

use std::cmp::Ordering;

use crate::bytes::{ByteReader, Malformed};

/// Order of bytes from 0x80 on. Real files use both orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cbh) enum Collation {
    /// High bytes sort after ASCII.
    Unsigned,
    /// High bytes sort before ASCII.
    Signed,
}

impl Collation {
    /// Compares two strings byte by byte, including their terminating zero.
    pub(super) fn compare(self, one: &[u8], other: &[u8]) -> Ordering {
        match self {
            Collation::Unsigned => one.cmp(other),
            Collation::Signed => signed(one).cmp(signed(other)),
        }
    }
}

/// The bytes of a string as signed numbers. The terminating zero is included,
/// because negative bytes sort before it.
fn signed(text: &[u8]) -> impl Iterator<Item = i8> {
    text.iter().map(|byte| byte.cast_signed()).chain([0])
}

/// Compares two records by the strings at their start.
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
