//! The Gregorian calendar: dates as numbers of days since 1970-01-01, and times
//! as people read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds of a day.
pub(crate) const DAY: u64 = 86_400;

/// Days of 400 years.
const ERA_DAYS: i32 = 146_097;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i32 = 719_468;

/// Returns the number of days from 1970-01-01 to a year, month and day; `None` if the date is not complete, or not one of the calendar.
pub(crate) fn days_of(date: (u16, u8, u8)) -> Option<i32> {
    let (year, month, day) = (i32::from(date.0), i32::from(date.1), i32::from(date.2));
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

/// Returns year, month and day of a number of days since 1970-01-01; `None` before the
/// year 1 and after 9999.
pub(crate) fn date_of(days: i32) -> Option<(u16, u8, u8)> {
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
    let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
    Some((u16::try_from(year).ok()?, month, day))
}

/// The date of a time in UTC; 9999-12-31 for a later one.
pub(crate) fn date_at(time: SystemTime) -> (u16, u8, u8) {
    let days = i32::try_from(unix(time) / DAY).ok();
    days.and_then(date_of).unwrap_or((9999, 12, 31))
}

/// Seconds since 1970.
pub(crate) fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// `2026-11-21 23:05:39 UTC`
pub(crate) fn utc(time: SystemTime) -> String {
    let (year, month, day) = date_at(time);
    let clock = clock(unix(time) % DAY);
    format!("{year:04}-{month:02}-{day:02} {clock} UTC")
}

/// `3 d 02:03:04`
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / DAY {
        0 => clock(seconds),
        days => format!("{days} d {}", clock(seconds % DAY)),
    }
}

fn clock(seconds: u64) -> String {
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    format!("{:02}:{:02}:{seconds:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(at(951_868_799), "2000-02-29 23:59:59 UTC");
        assert_eq!(at(1_704_067_199), "2023-12-31 23:59:59 UTC");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00:00 UTC");
        assert_eq!(at(1 << 50), "9999-12-31 18:57:04 UTC");
        assert_eq!(duration(Duration::from_secs(3_723)), "01:02:03");
        assert_eq!(duration(Duration::from_secs(266_584)), "3 d 02:03:04");
    }

    #[test]
    fn days_and_dates_are_inverse_and_consecutive() {
        // Known from `date -d … +%s`.
        for (known, days) in [
            ((1970, 1, 1), 0),
            ((2016, 7, 26), 17_008),
            ((2000, 2, 29), 11_016),
            ((1851, 6, 21), -43_293),
        ] {
            assert_eq!(days_of(known), Some(days));
        }
        for days in days_of((1, 1, 1)).unwrap()..=days_of((2200, 12, 31)).unwrap() {
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
            assert_eq!(days_of((year, month, day)), None);
        }
        assert_eq!(date_of(i32::MAX), None);
        assert_eq!(date_of(i32::MIN), None);
    }
}
