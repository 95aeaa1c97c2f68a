//! Control characters, made visible.
//!
//! Names, paths and remarks come from anywhere. Shown raw, a control
//! character in one moves the cursor of a terminal, begins a line in a log
//! that nobody wrote, or turns the order of what is read. So each is written
//! as Rust writes it in a string, `\n` or `\u{1b}`: nothing is lost, and
//! nothing happens.

use std::fmt::{self, Display, Write};

/// Whether a character does something to a terminal or to the text around it
/// instead of being shown: the C0 and C1 controls and DEL; the separators of
/// lines and paragraphs; the explicit bidirectional embeddings, overrides and
/// isolates of Unicode (UAX #9). Its implicit marks, which Hebrew and Arabic
/// names have, stay.
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A message as one line without control characters.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

/// Passes on what is written to it, without control characters.
struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((plain, control)) = rest
            .find(is_control)
            .and_then(|place| rest.split_at_checked(place))
        {
            self.0.write_str(plain)?;
            let mut chars = control.chars();
            if let Some(c) = chars.next() {
                write!(self.0, "{}", c.escape_default())?;
            }
            rest = chars.as_str();
        }
        self.0.write_str(rest)
    }
}

/// Appends a message to `text` as one line without control characters.
pub fn push_line(text: &mut String, message: impl Display) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}", Escaped(message));
}

/// The text of a JSON value on several lines, without control characters but
/// the ends of those lines. They can only stand in its strings, where `\u009b`
/// means the same; JSON itself demands that only of those below U+0020.
pub fn json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || !is_control(c) {
            escaped.push(c);
        } else {
            // All of them are one unit of UTF-16. Writing to a string does
            // not fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_all_else_is_left() {
        for (text, expected) in [
            ("", ""),
            ("/a b/Łukasz \\ \"x\" ½.cbh", "/a b/Łukasz \\ \"x\" ½.cbh"),
            ("a\u{1b}[31mb\u{7}", "a\\u{1b}[31mb\\u{7}"),
            ("\ta\r\nb\0", "\\ta\\r\\nb\\u{0}"),
            ("\u{7f}\u{80}\u{9f}\u{a0}", "\\u{7f}\\u{80}\\u{9f}\u{a0}"),
            ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
            (
                "\u{202a}\u{202e}\u{2066}\u{2069}",
                "\\u{202a}\\u{202e}\\u{2066}\\u{2069}",
            ),
            (
                "\u{2027}\u{202f}\u{2065}\u{206a}",
                "\u{2027}\u{202f}\u{2065}\u{206a}",
            ),
        ] {
            assert_eq!(Escaped(text).to_string(), expected);
            assert!(!expected.contains(is_control));
        }
        assert_eq!(Escaped(format_args!("{}{}", "a\n", 7)).to_string(), "a\\n7");
    }

    #[test]
    fn json_means_what_it_meant() {
        let value = serde_json::json!({"a\u{9b}": ["\u{1b}\n\u{7f}\u{202e}\"\\½"]});
        let text = json(&format!("{value:#}\n"));
        assert!(!text.replace('\n', "").contains(is_control), "{text:?}");
        assert_eq!(text.lines().count(), 5);
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed, value);
    }
}
