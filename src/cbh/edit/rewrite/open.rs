//! Restores properties of annotations that an edited text leaves open, from the
//! stored game.
//!
//! One tag says which language most annotations have, and which texts are about
//! the next move. A program or a person that drops the tag must not change the
//! annotations by that. So a text keeps language and place if the same words
//! had them before. A text with new words gets language and place of the one
//! that it replaces, unless the text is of another game. Other new texts have
//! no language.

mod places;
mod usual;

use std::borrow::Cow;

use super::Matched;
use crate::game::{Annotation, Annotations, Game, Nation, PlyId, Unspecified};
use places::TextPlaces;
use usual::Usual;

/// Returns the edited game with nothing left open.
pub(in crate::cbh) fn settled<'g>(read: &Game, edited: &'g Game) -> Cow<'g, Game> {
    let open = &edited.open;
    let (language, lead) = read.annotations.main_style();
    let usual = Usual {
        language: Some(language).filter(|language| open.language && *language != Nation::NONE),
        lead: Some(lead).filter(|lead| open.lead && *lead != 0),
    };
    let mut remarks = read.annotations.iter();
    let moves_texts = remarks.any(|(_, remark)| remark.is_text_before());
    if usual == Usual::default() && !moves_texts {
        return Cow::Borrowed(edited);
    }
    let matched = Matched::new(&read.tree, &edited.tree);
    let remarks = edited.annotations.iter();
    let mut remarks: Vec<(PlyId, Annotation)> =
        remarks.map(|(ply, remark)| (ply, remark.clone())).collect();
    if moves_texts {
        remarks = TextPlaces::new(read, edited, &matched).restore(remarks);
    }
    usual.restore(read, &matched, &mut remarks);
    remarks.dedup_by(|(ply, remark), (before, last)| ply == before && last.join(remark));
    let mut game = edited.clone();
    game.open = Unspecified::default();
    game.annotations = Annotations::default();
    game.annotations.append(remarks);
    for (position, remark) in edited.annotations.stray() {
        game.annotations.add_stray(position, remark.clone());
    }
    Cow::Owned(game)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{AnnotationText, TreeBuilder};

    /// A game of six null moves, and a seventh in place of the second, with texts
    /// such as `1>42.3 words`: after ply 1 in language 42 with lead 3. With `<` a
    /// text stands before its ply.
    fn game(texts: &str) -> Game {
        let mut game = Game::default();
        let mut line = TreeBuilder::new(&mut game.tree, &game.start.position);
        line.play_null();
        let after_first = line.branch();
        for _ in 2..=6 {
            line.play_null();
        }
        line.resume(after_first);
        line.play_null();
        for text in texts.split("; ").filter(|text| !text.is_empty()) {
            let (place, words) = text.split_once(' ').unwrap();
            let (ply, mark) = place.split_once(['<', '>']).unwrap();
            let (language, lead) = mark.split_once('.').unwrap();
            let text = AnnotationText {
                text: words.to_owned(),
                language: Nation(language.parse().unwrap()),
                lead: lead.parse().unwrap(),
            };
            let remark = if place.contains('<') {
                Annotation::TextBefore(text)
            } else {
                Annotation::TextAfter(text)
            };
            let ply = game.tree.place(ply.parse().unwrap()).unwrap();
            game.annotations.add(ply, remark);
        }
        game
    }

    fn texts(game: &Game) -> String {
        let texts = game.annotations.iter().map(|(ply, remark)| {
            let is_before = remark.is_text_before();
            let side = if is_before { '<' } else { '>' };
            let text = remark.text().unwrap();
            let (language, lead) = (text.language.0, text.lead);
            format!("{}{side}{language}.{lead} {}", ply.index(), text.text)
        });
        texts.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn texts_keep_the_language_and_lead_that_they_had() {
        let two = "1>42.3 one; 2>42.3 two";
        let other = "1>42.3 one; 2>7.5 two; 3>42.3 three";
        let unsaid = "1>0.0 one; 1>42.3 two; 3>42.3 three";
        for (stored, edited, wanted) in [
            // Of the same words, there or elsewhere, or in place of others.
            (two, "1>0.0 one; 3>0.0 two", "1>42.3 one; 3>42.3 two"),
            (two, "1>0.0 new; 3>0.0 more", "1>42.3 new; 3>0.0 more"),
            // What is said stays.
            (two, "1>7.0 one; 2>0.5 two", "1>7.3 one; 2>42.5 two"),
            // Those that had another one are not said to have it still.
            (
                other,
                "1>0.0 one; 2>0.0 two; 3>0.0 new",
                "1>42.3 one; 2>0.0 two; 3>42.3 new",
            ),
            (other, "1>0.0 one; 2>0.0 new", "1>42.3 one; 2>0.0 new"),
            (unsaid, "1>0.0 one; 3>0.0 three", "1>0.0 one; 3>42.3 three"),
            (unsaid, "1>0.0 new; 3>0.0 three", "1>0.0 new; 3>42.3 three"),
            (unsaid, "1>42.3 new; 3>0.0 new", "1>42.3 new; 3>42.3 new"),
            // Texts of the same words are paired in order.
            (
                "1>42.3 one; 1>7.5 one; 2>42.3 x",
                "1>0.0 one; 1>0.0 one",
                "1>42.3 one; 1>0.0 one",
            ),
            (
                "1>7.5 one; 1>42.3 one; 2>42.3 x",
                "1>0.0 one; 1>0.0 one",
                "1>0.0 one; 1>42.3 one",
            ),
            (
                "1>7.1 one; 2>42.3 one; 3>42.3 x",
                "4>7.0 one; 5>0.0 one",
                "4>7.0 one; 5>42.3 one",
            ),
            // Before and after are two places.
            (
                "2<42.3 one; 2>7.5 two; 3>42.3 x",
                "2<0.0 new; 2>0.0 other",
                "2<42.3 new; 2>0.0 other",
            ),
            (
                "1>7.1 one; 1>42.3 two; 3>42.3 x",
                "1>0.0 new; 1>7.0 newer",
                "1>42.3 new; 1>7.0 newer",
            ),
        ] {
            let read = game(stored);
            let mut edited = game(edited);
            assert_eq!(texts(&settled(&read, &edited)), texts(&edited));
            (edited.open.language, edited.open.lead) = (true, true);
            assert_eq!(
                texts(&settled(&read, &edited)),
                wanted,
                "{stored} | {}",
                texts(&edited)
            );
        }
        let mut edited = game("1>0.0 new; 2>0.0 two");
        edited.open.language = true;
        assert_eq!(
            texts(&settled(&game(two), &edited)),
            "1>42.0 new; 2>42.0 two"
        );
        (edited.open.language, edited.open.lead) = (false, true);
        assert_eq!(texts(&settled(&game(two), &edited)), "1>0.3 new; 2>0.3 two");
    }

    #[test]
    fn texts_stay_before_the_moves_that_they_are_about() {
        let first = "1>0.0 first; 2<0.0 one two three";
        for (stored, edited, wanted) in [
            ("2<0.0 one", "1>0.0 one", "2<0.0 one"),
            (
                "2<0.0 one two three",
                "1>0.0 one two three four",
                "2<0.0 one two three four",
            ),
            (
                "2<0.0 one two three",
                "1>0.0 quite another text",
                "2<0.0 quite another text",
            ),
            (
                "2<0.0 one; 4<0.0 two",
                "1>0.0 one; 3>0.0 two",
                "2<0.0 one; 4<0.0 two",
            ),
            (
                "2<0.0 one; 2<0.0 two",
                "1>0.0 one; 1>0.0 two",
                "2<0.0 one two",
            ),
            // Another text stood after the move before.
            (
                first,
                "1>0.0 first one two three",
                "1>0.0 first; 2<0.0 one two three",
            ),
            (
                first,
                "1>0.0 first; 1>0.0 one two three",
                "1>0.0 first; 2<0.0 one two three",
            ),
            (
                first,
                "1>0.0 one two three; 1>0.0 first",
                "1>0.0 first; 2<0.0 one two three",
            ),
            (first, "1>0.0 first", "1>0.0 first"),
            (
                first,
                "1>0.0 quite another text",
                "1>0.0 quite another text",
            ),
            (first, "1>0.0 first; 1>0.0 a b c d", "1>0.0 first a b c d"),
            // At least half of the words.
            (
                first,
                "1>0.0 first; 1>0.0 one two x y",
                "1>0.0 first; 2<0.0 one two x y",
            ),
            (
                first,
                "1>0.0 first; 1>0.0 one x y z",
                "1>0.0 first one x y z",
            ),
            // A variation's first text needs no name.
            ("7<0.0 one", "1>0.0 one", "1>0.0 one"),
        ] {
            let mut edited = game(edited);
            edited.open.places = true;
            let found = texts(&settled(&game(stored), &edited));
            assert_eq!(found, wanted, "{stored} | {}", texts(&edited));
        }
        let edited = game("1>0.0 one");
        assert_eq!(texts(&settled(&game("2<0.0 one"), &edited)), "1>0.0 one");
    }

    #[test]
    fn a_text_whose_move_another_text_names_now_is_told_from_it() {
        for (stored, edited, named, wanted) in [
            ("2<0.0 one", "1>0.0 one; 2<0.0 new", 2, "2<0.0 one new"),
            (
                "2<0.0 one",
                "1>0.0 glued one; 2<0.0 new",
                2,
                "1>0.0 glued; 2<0.0 one new",
            ),
            (
                "2<0.0 one",
                "1>0.0 other; 2<0.0 new",
                2,
                "1>0.0 other; 2<0.0 new",
            ),
            ("2<0.0 one", "2<0.0 one", 2, "2<0.0 one"),
            // A move of the same name and depth has none.
            ("2<0.0 one", "7<0.0 new", 7, "1>0.0 new"),
            ("2<0.0 one", "7<0.0 one", 7, "7<0.0 one"),
            ("2<0.0 one; 7<0.0 two", "7<0.0 new", 7, "7<0.0 new"),
            ("4<0.0 one", "2<0.0 new", 2, "2<0.0 new"),
            ("4<0.0 one", "2<0.0 one", 2, "2<0.0 one"),
        ] {
            let mut edited = game(edited);
            edited.open.named.extend(edited.tree.place(named));
            let found = texts(&settled(&game(stored), &edited));
            assert_eq!(found, wanted, "{stored} | {}", texts(&edited));
        }
    }
}
