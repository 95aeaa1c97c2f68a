//! Where a comment with braces inside ends.
//!
//! In the standard braces do not nest: a comment ends at the first `}`, and
//! a `{` inside means nothing. ChessBase writes `{a {b} c}` all the same. Both
//! are read: a comment ends at the brace that matches its first one, if there
//! is one, else at the first `}`. A comment of the standard is read as the
//! standard says, since its matching brace would have to be a `}` outside of
//! comments, where the standard has no use for one (a `}` after `;` aside).

/// The braces of one game, matched.
#[derive(Clone, Debug, Default)]
pub(super) struct Braces {
    /// How far the text was looked at.
    end: usize,
    /// Each `{` with the `}` that matches it, in order.
    pairs: Vec<(usize, Option<usize>)>,
}

impl Braces {
    /// The brace that matches the `{` at `open`. Looks at each part of the
    /// text once, however often it is asked with growing `open`.
    pub(super) fn matching(&mut self, text: &[u8], open: usize) -> Option<usize> {
        if open >= self.end {
            self.look(text, open);
        }
        let at = self.pairs.binary_search_by_key(&open, |pair| pair.0).ok()?;
        self.pairs.get(at)?.1
    }

    /// Matches the braces from `start` to the end of the game.
    fn look(&mut self, text: &[u8], start: usize) {
        self.pairs.clear();
        self.end = game_end(text, start);
        let mut open = Vec::new();
        let game = text.get(start..self.end).unwrap_or_default();
        for (offset, byte) in game.iter().enumerate() {
            match byte {
                b'{' => {
                    open.push(self.pairs.len());
                    self.pairs.push((start + offset, None));
                }
                b'}' => {
                    let matched = open.pop().and_then(|at| self.pairs.get_mut(at));
                    if let Some(pair) = matched {
                        pair.1 = Some(start + offset);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Where the next tag pair at the begin of a line begins, or the text ends.
fn game_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    let rest = text.get(start..).unwrap_or_default();
    for line in rest.split_inclusive(|&byte| byte == b'\n' || byte == b'\r') {
        if at > start && begins_tag_pair(line) {
            return at;
        }
        at += line.len();
    }
    text.len()
}

/// Whether a tag pair begins here: `[`, a name, a blank, a quote.
pub(super) fn begins_tag_pair(text: &[u8]) -> bool {
    let Some(inside) = text.strip_prefix(b"[") else {
        return false;
    };
    let inside = inside.trim_ascii_start();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let len = inside.iter().take_while(|byte| is_name(byte)).count();
    let value = inside.get(len..).unwrap_or_default().trim_ascii_start();
    len > 0 && value.first() == Some(&b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> Option<usize> {
        Braces::default().matching(text.as_bytes(), 0)
    }

    #[test]
    fn braces_match_where_they_can() {
        for (text, expected) in [
            ("{a {b} c}", Some(8)),
            ("{a {b} c {d} e} e4 {f}", Some(14)),
            ("{a { b} e4 {c}", None),
            ("{a { b} e4 {c {d} e}", None),
            ("{a { b}\n[Event \"}\"]", None),
        ] {
            assert_eq!(end(text), expected, "{text}");
        }
    }

    #[test]
    fn a_later_comment_is_matched_for_itself() {
        let text = "{a { b} e4 {c {d} e}";
        let mut braces = Braces::default();
        assert_eq!(braces.matching(text.as_bytes(), 0), None);
        assert_eq!(braces.matching(text.as_bytes(), 11), Some(19));
    }
}
