//! Contents of a game other than its moves, and words in its annotations.

use super::fold::{Pattern, fold};
use super::source::SearchedContent;
use crate::game::{Annotation, AnnotationText, Game};

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
