//! Contents of a game other than its moves, and words in its annotations.

use super::fold::{Pattern, fold};
use super::source::Content;
use crate::game::{Annotation, Game, Text};

/// Returns whether the game has this content, including variations.
pub(super) fn has(game: &Game, content: Content) -> bool {
    let mut remarks = game.annotations.iter().map(|(_, remark)| remark);
    match content {
        Content::Variations => game.tree.len() > game.tree.main_line_len(),
        Content::Medals => game.headers.medals != 0,
        Content::Comments => remarks.any(|remark| remark.text().is_some_and(Text::has_words)),
        Content::Symbols => remarks.any(|remark| matches!(remark, Annotation::Symbols(_))),
        Content::Arrows => remarks.any(|remark| matches!(remark, Annotation::Arrows(_))),
        Content::Clocks => {
            remarks.any(|remark| matches!(remark, Annotation::Clock(..) | Annotation::TimeSpent(_)))
        }
        Content::Evaluations => remarks
            .any(|remark| matches!(remark, Annotation::Evaluation(_) | Annotation::Profile(_))),
        Content::Training => remarks.any(|remark| matches!(remark, Annotation::Training(_))),
    }
}

/// Returns whether a text or training question of the game matches one of the
/// patterns.
pub(super) fn contain(game: &Game, patterns: &[Pattern]) -> bool {
    let mut folded = String::new();
    let mut fits = |text: &str| {
        folded.clear();
        fold(text, &mut folded);
        patterns.iter().any(|pattern| pattern.fits(&folded))
    };
    game.annotations.iter().any(|(_, remark)| match remark {
        Annotation::TextBefore(text) | Annotation::TextAfter(text) => {
            text.has_words() && fits(&text.text)
        }
        Annotation::Training(training) => {
            let questions = training.texts.iter().flatten();
            let mut words =
                questions.chain(training.answers.iter().flat_map(|answer| &answer.text));
            words.any(|(_, text)| fits(text))
        }
        _ => false,
    })
}
