//! What CBH has no room for among the remarks of a game.

use super::Loss;
use crate::cbh::{CodePage, MOST_ANSWERS, MOST_POINTS, encode_remark, quoted_caption, remark_fits};
use crate::game::{Annotation, AnnotationText, Game, PlyId};

/// Makes the remarks of `game` such as a base with this code page can hold, and
/// notes what is lost by that, with an example.
pub(super) fn fit(game: &mut Game, page: CodePage, losses: &mut Vec<(Loss, String)>) {
    note_stored(game, losses);
    for (_, remark) in game.annotations.iter() {
        if is_cut(remark, page) {
            losses.push((Loss::Quotation, String::new()));
        }
    }
    let fits = |(_, remark): (PlyId, &Annotation)| remark_fits(remark, page);
    if game.annotations.iter().all(fits) {
        return;
    }
    let all: Vec<(PlyId, Annotation)> = game
        .annotations
        .iter()
        .map(|(ply, remark)| (ply, remark.clone()))
        .collect();
    let mut fitting = Vec::with_capacity(all.len());
    for (ply, remark) in all {
        let remark = made_fit(remark, page, losses);
        fitting.extend(remark.map(|remark| (ply, remark)));
    }
    game.annotations.clear();
    game.annotations.append(fitting);
}

/// The remark, or what can be held of it; `None` for nothing.
fn made_fit(
    remark: Annotation,
    page: CodePage,
    losses: &mut Vec<(Loss, String)>,
) -> Option<Annotation> {
    if remark_fits(&remark, page) {
        return Some(remark);
    }
    let (loss, less) = match remark {
        Annotation::WebLink { url, caption } => {
            let text = format!("{url} {caption}").trim_end().to_owned();
            let text = AnnotationText {
                text,
                ..AnnotationText::default()
            };
            (Loss::Link, Annotation::TextAfter(text))
        }
        Annotation::Profile(mut points) => {
            points.truncate(MOST_POINTS);
            (Loss::Profile, Annotation::Profile(points))
        }
        Annotation::Training(mut training) => {
            training.answers.truncate(MOST_ANSWERS);
            (Loss::Training, Annotation::Training(training))
        }
        remark => (Loss::Remark, remark),
    };
    let held = Some(less).filter(|less| remark_fits(less, page));
    let loss = if held.is_some() { loss } else { Loss::Remark };
    losses.push((loss, String::new()));
    held
}

/// Whether a quotation shows more than is stored of it.
fn is_cut(remark: &Annotation, page: CodePage) -> bool {
    let Annotation::Quotation(quotation) = remark else {
        return false;
    };
    quoted_caption(&quotation.payload, page).is_none_or(|stored| stored != quotation.caption)
}

/// Notes the remarks that stand in their stored form, because their move has
/// one of that kind already.
fn note_stored(game: &Game, losses: &mut Vec<(Loss, String)>) {
    let mut taken: Option<(PlyId, [bool; 256])> = None;
    for (ply, remark) in game.annotations.iter() {
        if remark.text().is_some() {
            continue;
        }
        let (_, kinds) = match &mut taken {
            Some(taken) if taken.0 == ply => taken,
            taken => taken.insert((ply, [false; 256])),
        };
        let kind = encode_remark(remark, CodePage::WESTERN).0;
        let Some(is_taken) = kinds.get_mut(usize::from(kind)) else {
            continue;
        };
        let is_second = std::mem::replace(is_taken, true);
        if is_second && matches!(remark, Annotation::Opaque { .. }) {
            losses.push((Loss::Second, String::new()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Training;

    #[test]
    fn a_question_keeps_as_many_answers_as_there_is_room_for() {
        for (answers, kept, lost) in [(255, 255, 0), (256, 255, 1)] {
            let question = Annotation::Training(Box::new(Training::of_answers(answers)));
            let mut losses = Vec::new();
            let held = made_fit(question, CodePage::WESTERN, &mut losses);
            let Some(Annotation::Training(held)) = held else {
                panic!("{held:?}");
            };
            assert_eq!(held.answers.len(), kept);
            assert_eq!(losses, vec![(Loss::Training, String::new()); lost]);
        }
    }
}
