//! Escapes of control characters in messages.
//!
//! Names, paths and remarks come from files of any origin. A raw control
//! character in a message can move the cursor of a terminal, forge a line of a
//! log, or reverse the order of the text. So each is written as an escape of a
//! Rust string, `\n` or `\u{1b}`: no information is lost, and the terminal does
//! nothing.

use std::fmt::{self, Display, Write};

/// Returns whether a character controls the terminal or the layout of the text
/// around it: the C0 and C1 controls and DEL; the line and paragraph
/// separators; the explicit bidirectional embeddings, overrides and isolates of
/// Unicode (UAX #9). The implicit bidirectional marks are not among them:
/// Hebrew and Arabic names have them.
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Displays a message on one line, its control characters escaped.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

/// A writer that escapes control characters and writes to the formatter.
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

/// The message without the numbers that the system has for its errors, as
/// ` (os error 2)`; the words before say the same. What tells more about limits of the
/// process and of file systems is added.
pub fn without_numbers(message: impl Display) -> String {
    const HEAD: &str = " (os error ";
    let message = message.to_string();
    let mut parts = message.split(HEAD);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let after = part.trim_start_matches(|c: char| c.is_ascii_digit());
        match after.strip_prefix(')') {
            Some(after) if after.len() + 1 < part.len() => {
                let number = part
                    .split(')')
                    .next()
                    .and_then(|number| number.parse().ok());
                out.push_str(match number {
                    Some(libc::EMFILE) => " (see `ulimit -n`, or LimitNOFILE= of a service)",
                    Some(libc::EFBIG) => " (see `ulimit -f`, or LimitFSIZE= of a service)",
                    Some(libc::ENOSPC) => " (see `df` and `df -i`)",
                    Some(libc::EDQUOT) => " (see `quota`)",
                    Some(libc::ENOLCK) => " (see `local_lock` in `man nfs`)",
                    _ => "",
                });
                out.push_str(after);
            }
            _ => {
                out.push_str(HEAD);
                out.push_str(part);
            }
        }
    }
    out
}

/// Appends a message to `text` as one line, its control characters escaped.
pub fn push_line(text: &mut String, message: impl Display) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}", Escaped(message));
}

/// Escapes the control characters in `text`, a JSON document, and keeps its
/// line feeds. Outside of strings, JSON has no control character but white
/// space; in strings `\u009b` has the same meaning as the character itself.
/// JSON demands the escape only below U+0020.
pub fn json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || !is_control(c) {
            escaped.push(c);
        } else {
            // Each control character is one UTF-16 unit, so one `\u` is enough.
            // Writing to a string does not fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_of_the_system_are_left_out() {
        for (message, shown) in [
            ("a: no (os error 2)", "a: no"),
            ("a (os error 2); b (os error 13) c", "a; b c"),
            (
                "a: much (os error 24)",
                "a: much (see `ulimit -n`, or LimitNOFILE= of a service)",
            ),
            (
                "a: large (os error 27)",
                "a: large (see `ulimit -f`, or LimitFSIZE= of a service)",
            ),
            ("a: full (os error 28)", "a: full (see `df` and `df -i`)"),
            ("a: quota (os error 122)", "a: quota (see `quota`)"),
            (
                "a: no locks (os error 37)",
                "a: no locks (see `local_lock` in `man nfs`)",
            ),
            ("a (os error ) b (os error 2", "a (os error ) b (os error 2"),
        ] {
            assert_eq!(without_numbers(message), shown);
        }
    }

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
