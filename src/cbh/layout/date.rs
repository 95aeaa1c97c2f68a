//! Packed dates.
//!
//! `.cbh`, `.cbt`, `.cbs` and `.cbtt` store a date as `year << 9 | month << 5 |
//! day`, 21 bits. A part that is 0 is unknown.

use crate::bytes::Malformed;
use crate::game::Date;

/// Mask of the bits of a date.
pub(crate) const BITS: u32 = 0x1f_ffff;

/// Decodes a date from the low 21 bits.
pub(crate) fn decode(packed: u32) -> Date {
    Date {
        year: (packed >> 9 & 0xfff) as u16,
        month: (packed >> 5 & 0xf) as u8,
        day: (packed & 0x1f) as u8,
    }
}

/// Encodes a date into the low 21 bits of `old`; the other bits stay.
///
/// # Errors
///
/// [`Malformed`] if year, month or day exceeds its bits.
pub(crate) fn encode(date: Date, old: u32) -> Result<u32, Malformed> {
    let packed = u32::from(date.year) << 9 | u32::from(date.month) << 5 | u32::from(date.day);
    if decode(packed) != date {
        return Err(Malformed::new(0, format!("{date:?} cannot be stored")));
    }
    Ok(old & !BITS | packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twic_1134_began_in_july_2016() {
        let date = decode(0x000f_c0fa);
        assert_eq!((date.year, date.month, date.day), (2016, 7, 26));
        assert!(decode(0).is_unknown());
        assert_eq!(encode(date, 0), Ok(0x000f_c0fa));
        assert_eq!(encode(Date::UNKNOWN, 0x000f_c0fa), Ok(0));
    }

    #[test]
    fn bits_beside_a_date_stay_and_a_date_beyond_its_bits_is_refused() {
        let date = decode(0x000f_c0fa);
        assert_eq!(encode(date, 0xffff_ffff), Ok(0xffef_c0fa));
        assert_eq!(encode(decode(BITS), 0), Ok(BITS));
        let too_late = Date { year: 4096, ..date };
        let no_month = Date { month: 16, ..date };
        let no_day = Date { day: 32, ..date };
        for date in [too_late, no_month, no_day] {
            assert!(encode(date, 0).is_err(), "{date:?}");
        }
    }
}
