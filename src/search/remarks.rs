//! Contents of a game other than its moves, and words in its annotations.

use std::borrow::Cow;

use super::fold::{Pattern, fold};
use super::source::SearchedContent;
use crate::game::{Annotation, AnnotationText, Game, shown_in_comment, shown_in_quotes};

/// Returns whether the game has this content, including variations.
pub(super) fn has(game: &Game, content: SearchedContent) -> bool {
    let mut remarks = game.annotations.iter().map(|(_, remark)| remark);
    match content {
        SearchedContent::Variations => game.tree.len() > game.tree.main_line_len(),
        SearchedContent::Medals => game.headers.medals != 0,
        SearchedContent::Comments => {
            remarks.any(|remark| remark.text().is_some_and(AnnotationText::has_words))
        }
        SearchedContent::Symbols => remarks.any(|remark| matches!(remark, Annotation::Symbols(_))),
        SearchedContent::Arrows => remarks.any(|remark| matches!(remark, Annotation::Arrows(_))),
        SearchedContent::Clocks => {
            remarks.any(|remark| matches!(remark, Annotation::Clock(..) | Annotation::TimeSpent(_)))
        }
        SearchedContent::Evaluations => remarks
            .any(|remark| matches!(remark, Annotation::Evaluation(_) | Annotation::Profile(_))),
        SearchedContent::Training => {
            remarks.any(|remark| matches!(remark, Annotation::Training(_)))
        }
    }
}

/// Returns whether a text or training question of the game matches one of the
/// patterns.
pub(super) fn contain(game: &Game, patterns: &[Pattern]) -> bool {
    let mut folded = String::new();
    let mut fits = |text: &str, shown: fn(char) -> char| {
        folded.clear();
        fold(&as_shown(text, shown), &mut folded);
        patterns.iter().any(|pattern| pattern.fits(&folded))
    };
    game.annotations.iter().any(|(_, remark)| match remark {
        Annotation::TextBefore(text) | Annotation::TextAfter(text) => {
            text.has_words() && fits(&text.text, shown_in_comment)
        }
        Annotation::Training(training) => {
            let questions = training.texts.iter().flatten();
            let mut words =
                questions.chain(training.answers.iter().flat_map(|answer| &answer.text));
            words.any(|(_, text)| fits(text, shown_in_quotes) || fits(text, shown_in_comment))
        }
        _ => false,
    })
}

/// A text as PGN shows it: each character as `shown` says, one blank between words, none
/// at the ends.
pub(super) fn as_shown(text: &str, shown: fn(char) -> char) -> Cow<'_, str> {
    let is_same = text
        .chars()
        .all(|c| c == ' ' || !c.is_whitespace() && shown(c) == c);
    if is_same && text.trim() == text && !text.contains("  ") {
        return Cow::Borrowed(text);
    }
    let shown: String = text.chars().map(shown).collect();
    Cow::Owned(shown.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_as_they_are_shown() {
        for (stored, shown) in [
            ("usual  is", "usual is"),
            ("\tf\u{fc}r\r\n Zug ", "f\u{fc}r Zug"),
            ("{there}", "(there)"),
            ("as it is", "as it is"),
        ] {
            assert_eq!(as_shown(stored, shown_in_comment), shown);
        }
        assert_eq!(as_shown("[a] \"b\"", shown_in_quotes), "(a) 'b'");
    }
}
