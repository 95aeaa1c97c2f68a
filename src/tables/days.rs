//! Dates as numbers of days since 1970-01-01, as Parquet stores them.

use crate::game::Date;

/// Days of 400 years.
const ERA_DAYS: i32 = 146_097;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i32 = 719_468;

/// Returns the number of days from 1970-01-01 to `date` in the Gregorian
/// calendar; `None` if the date is not complete, or not one of the calendar.
pub(super) fn days_of(date: Date) -> Option<i32> {
    let (year, month, day) = (
        i32::from(date.year),
        i32::from(date.month),
        i32::from(date.day),
    );
    if year == 0 || month == 0 || day == 0 {
        return None;
    }
    // Years begin in March here, so a leap day is the last of its year.
    let shifted = if month > 2 { year } else { year - 1 };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let (era, year_of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * ERA_DAYS + day_of_era - EPOCH;
    // Not of the calendar: the 31st of a month with 30 days.
    (date_of(days) == Some(date)).then_some(days)
}

/// Returns the date of a number of days since 1970-01-01; `None` before the
/// year 1 and after 9999.
pub(super) fn date_of(days: i32) -> Option<Date> {
    let days = days.checked_add(EPOCH)?;
    let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i32::from(month <= 2);
    if !(1..=9999).contains(&year) {
        return None;
    }
    Some(Date {
        year: u16::try_from(year).ok()?,
        month: u8::try_from(month).ok()?,
        day: u8::try_from(day).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: u16, month: u8, day: u8) -> Date {
        Date { year, month, day }
    }

    #[test]
    fn days_and_dates_are_inverse_and_consecutive() {
        // Known from `date -d … +%s`.
        for (known, days) in [
            (date(1970, 1, 1), 0),
            (date(2016, 7, 26), 17_008),
            (date(2000, 2, 29), 11_016),
            (date(1851, 6, 21), -43_293),
        ] {
            assert_eq!(days_of(known), Some(days));
        }
        for days in days_of(date(1, 1, 1)).unwrap()..=days_of(date(2200, 12, 31)).unwrap() {
            assert_eq!(days_of(date_of(days).unwrap()), Some(days));
        }
    }

    #[test]
    fn invalid_dates_have_no_day_number() {
        for (year, month, day) in [
            (2016, 0, 0),
            (2016, 7, 0),
            (0, 7, 26),
            (2016, 2, 30),
            (1900, 2, 29),
            (2016, 13, 1),
        ] {
            assert_eq!(days_of(date(year, month, day)), None);
        }
        assert_eq!(date_of(i32::MAX), None);
        assert_eq!(date_of(i32::MIN), None);
    }
}
