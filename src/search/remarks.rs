//! Contents of a game other than its moves, and words in its annotations.

use std::borrow::Cow;

use super::fold::{Pattern, fold};
use super::source::SearchedContent;
use crate::game::{
    Annotation, AnnotationText, Game, TextPart, shown_in_comment, shown_in_quotes, text_parts,
};

/// Returns whether the game has this content, including variations.
pub(super) fn has(game: &Game, content: SearchedContent) -> bool {
    let mut remarks = remarks_of(game);
    match content {
        SearchedContent::Variations => game.tree.len() > game.tree.main_line_len(),
        SearchedContent::Medals => game.headers.medals != 0,
        SearchedContent::Comments => remarks.any(|remark| remark.text().is_some_and(is_comment)),
        SearchedContent::Symbols => remarks.any(|remark| matches!(remark, Annotation::Symbols(_))),
        SearchedContent::Arrows => remarks.any(|remark| matches!(remark, Annotation::Arrows(_))),
        SearchedContent::Clocks => remarks.any(|remark| {
            matches!(remark, Annotation::Clock(..) | Annotation::TimeSpent(_))
                || remark.text().is_some_and(has_clock)
        }),
        SearchedContent::Evaluations => remarks
            .any(|remark| matches!(remark, Annotation::Evaluation(_) | Annotation::Profile(_))),
        SearchedContent::Training => {
            remarks.any(|remark| matches!(remark, Annotation::Training(_)))
        }
    }
}

/// All remarks, those at positions that the game does not have too.
fn remarks_of(game: &Game) -> impl Iterator<Item = &Annotation> {
    let remarks = game.annotations.iter().map(|(_, remark)| remark);
    remarks.chain(game.annotations.stray().map(|(_, remark)| remark))
}

/// Whether a text has words besides commands.
fn is_comment(text: &AnnotationText) -> bool {
    let mut parts = text_parts(&text.text);
    let is_said = |words: &str| !as_shown(words, shown_in_comment).is_empty();
    parts.any(|part| matches!(part, TextPart::Words(words) if is_said(words)))
}

/// Whether a text has a clock as other programs write it: `[%clk 0:05:00]`, `[%emt 0:00:03]`.
fn has_clock(text: &AnnotationText) -> bool {
    let is_clock = |command: &str| {
        matches!(command.split_once(' '), Some(("clk" | "emt", time))
            if time.trim_start().starts_with(|c: char| c.is_ascii_digit()))
    };
    let mut parts = text_parts(&text.text);
    parts.any(|part| matches!(part, TextPart::Command(command) if is_clock(command)))
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
    remarks_of(game).any(|remark| match remark {
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
    fn clocks_of_other_programs_are_clocks_and_no_comments() {
        for (remark, has_clocks, has_comments) in [
            ("[%clk 0:05:00]", true, false),
            ("[%emt 0:00:03] good", true, true),
            ("[%csl Ge4] [%foo 1]", false, false),
            ("[%clk 0:01", false, true),
            ("clk 1", false, true),
        ] {
            let mut game = Game::default();
            let text = AnnotationText {
                text: remark.to_owned(),
                ..AnnotationText::default()
            };
            game.annotations
                .add(crate::game::PlyId::START, Annotation::TextAfter(text));
            let found = [SearchedContent::Clocks, SearchedContent::Comments];
            let found = found.map(|content| has(&game, content));
            assert_eq!(found, [has_clocks, has_comments], "{remark}");
        }
    }

    #[test]
    fn a_remark_past_the_last_move_is_found() {
        let mut game = Game::default();
        let text = AnnotationText {
            text: "Lost".to_owned(),
            ..AnnotationText::default()
        };
        game.annotations.add_stray(40, Annotation::TextAfter(text));
        assert!(has(&game, SearchedContent::Comments));
    }

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
