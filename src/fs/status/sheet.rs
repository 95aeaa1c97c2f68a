//! Facts, for people and for programs at once.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use crate::escape::{self, push_line};

/// Facts one by one, each said in words and as a value.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    lines: Vec<(String, String)>,
    values: Map<String, Value>,
}

impl Sheet {
    /// A line for people.
    pub(super) fn line(&mut self, what: impl Into<String>, shown: impl Into<String>) {
        self.lines.push((what.into(), shown.into()));
    }

    /// A value for programs.
    pub(super) fn value(&mut self, key: &str, value: impl Into<Value>) {
        self.values.insert(key.to_owned(), value.into());
    }

    /// The same for both.
    pub(super) fn both(&mut self, what: &str, value: impl Into<Value>) {
        let value = value.into();
        let shown = match &value {
            Value::String(text) => text.clone(),
            Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            Value::Null => "not known".to_owned(),
            other => other.to_string(),
        };
        self.value(&what.replace(' ', "_"), value);
        self.line(what, shown);
    }

    /// For people: `what: how`, one beneath the other. A line of one fact
    /// stays one line.
    pub(super) fn as_text(&self) -> String {
        let widths = self.lines.iter().map(|(what, _)| what.chars().count());
        let width = widths.max().unwrap_or(0) + 2;
        let mut text = String::new();
        for (what, shown) in &self.lines {
            let what = format!("{what}:");
            push_line(&mut text, format_args!("{what:width$}{shown}"));
        }
        text
    }

    /// For programs: one JSON object.
    pub(super) fn as_json(&self) -> String {
        // It has no floats and no keys but strings, so writing cannot fail.
        let text = serde_json::to_string_pretty(&self.values);
        text.map(|text| escape::json(&text) + "\n")
            .unwrap_or_default()
    }
}

/// `2026-11-21 23:05:39 UTC`
pub(super) fn date(time: SystemTime) -> String {
    const DAY: u64 = 86_400;
    let seconds = unix(time);
    let (days, rest) = (seconds / DAY, seconds % DAY);
    // A year that begins in March has its leap day at the end. 719468 days
    // lie between 0000-03-01 and 1970-01-01, 146097 in 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month < 3);
    format!("{year:04}-{month:02}-{day:02} {} UTC", clock(rest))
}

/// Seconds since 1970.
pub(super) fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// `3 d 02:03:04`
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 86_400 {
        0 => clock(seconds),
        days => format!("{days} d {}", clock(seconds % 86_400)),
    }
}

fn clock(seconds: u64) -> String {
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    format!("{:02}:{:02}:{seconds:02}", minutes / 60, minutes % 60)
}

/// `11.8 MiB`
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut tenths = u128::from(bytes) * 10 / 1024;
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut units = UNITS.into_iter();
    let mut unit = units.next();
    while tenths >= 10_240
        && let Some(next) = units.next()
    {
        tenths /= 1024;
        unit = Some(next);
    }
    format!(
        "{}.{} {}",
        tenths / 10,
        tenths % 10,
        unit.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_read_well() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(at(951_868_799), "2000-02-29 23:59:59 UTC");
        assert_eq!(at(1_704_067_199), "2023-12-31 23:59:59 UTC");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00:00 UTC");
        assert_eq!(duration(Duration::from_secs(3_723)), "01:02:03");
        assert_eq!(duration(Duration::from_secs(266_584)), "3 d 02:03:04");
        assert_eq!(size(1023), "1023 bytes");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(64 << 20), "64.0 MiB");
        assert_eq!(size(u64::MAX), "16777215.9 TiB");
    }

    #[test]
    fn both_say_the_same() {
        let mut sheet = Sheet::default();
        sheet.both("pid", 12);
        sheet.both("read only", true);
        sheet.line("source", "/a\nb");
        sheet.value("source", "/a\nb");
        assert_eq!(
            sheet.as_text(),
            "pid:       12\n\
             read only: yes\n\
             source:    /a\\nb\n"
        );
        let json: Value = serde_json::from_str(&sheet.as_json()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"pid": 12, "read_only": true, "source": "/a\nb"})
        );
    }
}
