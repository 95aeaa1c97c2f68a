//! Facts, for people and for programs at once.

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

/// `11.8 MiB`
pub(super) fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let (mut tenths, mut unit) = (u128::from(bytes) * 10 / 1024, "KiB");
    for larger in ["MiB", "GiB", "TiB"] {
        if tenths < 10_240 {
            break;
        }
        (tenths, unit) = (tenths / 1024, larger);
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
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
