//! Calendar dates with unknown parts.

use std::fmt;

/// A date. Year, month and day may each be unknown (0).
///
/// In PGN `2004.??.??`, or `????.??.??` if all parts are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Date {
    /// 1 to 4095, or 0 if unknown.
    pub year: u16,
    /// 1 to 12, or 0 if unknown. Values up to 15 occur in damaged records.
    pub month: u8,
    /// 1 to 31, or 0 if unknown.
    pub day: u8,
}

impl Date {
    /// The date with all parts unknown.
    pub const UNKNOWN: Date = Date {
        year: 0,
        month: 0,
        day: 0,
    };

    /// Returns whether all parts are unknown.
    pub fn is_unknown(self) -> bool {
        self == Date::UNKNOWN
    }

    /// Reads what [`append_to`](Date::append_to) writes, and nothing else.
    pub fn read(text: &[u8]) -> Option<Date> {
        let &[y1, y2, y3, y4, b'.', m1, m2, b'.', d1, d2] = text else {
            return None;
        };
        Some(Date {
            year: number(&[y1, y2, y3, y4])?,
            month: u8::try_from(number(&[m1, m2])?).ok()?,
            day: u8::try_from(number(&[d1, d2])?).ok()?,
        })
    }

    /// Appends the date in PGN form: always ten bytes.
    pub fn append_to(self, out: &mut Vec<u8>) {
        let mut text = *b"????.??.??";
        let [y1, y2, y3, y4, _, m1, m2, _, d1, d2] = &mut text;
        if self.year > 0 {
            [*y1, *y2] = two_digits((self.year / 100 % 100) as u8);
            [*y3, *y4] = two_digits((self.year % 100) as u8);
        }
        if self.month > 0 {
            [*m1, *m2] = two_digits(self.month);
        }
        if self.day > 0 {
            [*d1, *d2] = two_digits(self.day);
        }
        out.extend_from_slice(&text);
    }
}

/// A number as digits: 0 if all of them are question marks.
fn number(digits: &[u8]) -> Option<u16> {
    if digits.iter().all(|&digit| digit == b'?') {
        return Some(0);
    }
    let digits = digits.iter().map(|digit| digit.checked_sub(b'0'));
    let read = digits.map(|digit| digit.filter(|&digit| digit < 10));
    let read = read.map(|digit| digit.map(u16::from));
    read.reduce(|number, digit| Some(number? * 10 + digit?))?
        .filter(|&number| number > 0)
}

/// A number below 100 as two digits.
fn two_digits(number: u8) -> [u8; 2] {
    [b'0' + number / 10 % 10, b'0' + number % 10]
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(10);
        self.append_to(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_read_as_it_is_written() {
        for (year, month, day) in [(0, 0, 0), (2004, 0, 0), (476, 12, 31), (0, 5, 1)] {
            let date = Date { year, month, day };
            assert_eq!(Date::read(date.to_string().as_bytes()), Some(date));
        }
        for text in [
            "2004.2.24",
            "2004-02-24",
            "2004.00.24",
            "200?.02.24",
            "200:.02.24",
            "2004.0/.24",
            "2004.02.24 ",
            "",
        ] {
            assert_eq!(Date::read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn unknown_parts_are_question_marks() {
        let date = |year, month, day| Date { year, month, day }.to_string();
        assert_eq!(date(0, 0, 0), "????.??.??");
        assert_eq!(date(2004, 0, 0), "2004.??.??");
        assert_eq!(date(1889, 2, 24), "1889.02.24");
        assert_eq!(date(0, 5, 1), "????.05.01");
        assert_eq!(date(476, 12, 31), "0476.12.31");
    }
}
