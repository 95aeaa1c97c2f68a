//! Packed dates.
//!
//! `.cbh`, `.cbt`, `.cbs` and `.cbtt` hold a date as
//! `year << 9 | month << 5 | day`, 21 bits; a part of 0 is unknown.

use crate::game::Date;

/// The date of the low 21 bits.
pub(crate) fn decode(packed: u32) -> Date {
    Date {
        year: (packed >> 9 & 0xfff) as u16,
        month: (packed >> 5 & 0xf) as u8,
        day: (packed & 0x1f) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twic_1134_began_in_july_2016() {
        let date = decode(0x000f_c0fa);
        assert_eq!((date.year, date.month, date.day), (2016, 7, 26));
        assert!(decode(0).is_unknown());
    }
}
